//! From options to a linear fit, and what does not go together.

use anyhow::Context;
use mercer::criterion::Criterion;
use mercer::data::{Column, Frame, Scale};
use mercer::penalty::Gamma;
use mercer::penalty::Penalty;
use mercer::{Fit, Matrix};

use crate::args::{Common, FitOptions, RowOptions};
use crate::fit::kernels;
use crate::learn::refuse;
use crate::outcome::Usage;

/// Refuses options that do not go with this penalty, before anything is read.
pub fn check(options: &FitOptions, penalty: &Penalty) -> anyhow::Result<()> {
    let name = penalty.spec();
    let squared = "is for other losses; this penalty has the squared one, and least squares no other";
    let norm = "needs the penalty norm-power";
    let losses = &options.losses;
    let named: usize = options.kernel.iter().map(|argument| argument.0.len()).sum();
    let is_kernel = *penalty == Penalty::KernelLasso;
    let no_kernel = format!("has no use here: {name} is a penalty of linear functions (kernel-lasso takes a kernel)");
    let is_linear =
        options.kernel.iter().flat_map(|argument| &argument.0).all(|kernel| kernel.linear_scale().is_some());
    refuse(&[
        ("--loss", squared, !losses.is_squared()),
        ("--classify", squared, losses.classify),
        ("--many-classes", squared, losses.many_classes.is_some()),
        ("--class-weight", squared, losses.class_weight.is_some()),
        ("--probability", squared, losses.probability),
        ("--non-crossing", squared, losses.non_crossing),
        ("--measure", squared, losses.measure.is_some()),
        ("--every-point", squared, losses.every_point),
        ("--exponent", norm, options.exponent.is_some()),
        ("--metric", norm, options.metric.is_some()),
        ("--journal", norm, options.journal.is_some()),
        ("--unlabelled", norm, options.unlabelled.is_some()),
        ("--shared-ridge", norm, options.shared_ridge),
        ("--clip", norm, options.clip),
        ("--no-diagnostics", norm, options.no_diagnostics),
        (
            options.reduction().unwrap_or_default(),
            "is for the squared loss with the penalty norm-power so far",
            options.reduction().is_some(),
        ),
        ("--solver", "is for the squared loss with the penalty norm-power", options.solver.is_some()),
        ("--budget", "is the time of the automatic search, which has the penalty norm-power", options.budget.is_some()),
        ("--on-grid", "has no use here: λ is chosen among the points of its path", options.on_grid),
        ("--norm-at-most", norm, options.penalties.norm_at_most.is_some()),
        ("--train-error-at-most", norm, options.penalties.train_error_at_most.is_some()),
        ("--kernel", &no_kernel, !is_kernel && !is_linear),
        ("--kernel", "names several kernels; a kernel Lasso takes one", named > 1),
    ])?;
    if options.penalties.gamma.is_some() && !matches!(penalty, Penalty::Tikhonov { .. }) {
        return Err(Usage(format!("--gamma is the matrix of a tikhonov penalty; this one is {name}")).into());
    }
    let is_fixed = options.lambda.as_ref().is_some_and(|numbers| numbers.0.len() == 1);
    if *penalty == Penalty::None {
        refuse(&[
            ("--lambda", "has no use without a penalty", options.lambda.is_some()),
            (
                "--tolerance",
                "has no use without a penalty: least squares is solved to rounding",
                losses.tolerance.is_some(),
            ),
        ])?;
    }
    if is_fixed || *penalty == Penalty::None {
        let something = "needs something to choose: a penalty whose λ is left out, or a range such as 1e-7..1e3:25";
        refuse(&[
            ("--table", something, options.surface.is_some()),
            ("--one-standard-error", something, options.one_standard_error),
            ("--criterion", something, options.criterion.is_some()),
        ])?;
    }
    if let Some(other) = options.criterion.as_ref().filter(|criterion| !is_known(criterion, penalty)) {
        let known = if is_path(penalty) { "kfold:10, aic and bic" } else { "kfold:10" };
        return Err(
            Usage(format!("--criterion {} is not for the penalty {name}; there is {known}", other.spec())).into()
        );
    }
    match (options.output.as_deref(), options.surface.as_deref()) {
        (Some("-"), Some("-")) => Err(Usage("--output and --table cannot both be standard output".into()).into()),
        _ => Ok(()),
    }
}

fn is_path(penalty: &Penalty) -> bool {
    !matches!(penalty, Penalty::Tikhonov { .. })
}

fn is_known(criterion: &Criterion, penalty: &Penalty) -> bool {
    let by_formula = matches!(criterion.spec().as_str(), "aic" | "bic");
    matches!(criterion, Criterion::KFold(_)) || (by_formula && is_path(penalty))
}

/// The run that the options ask for.
pub fn fit(options: &FitOptions, common: &Common) -> anyhow::Result<Fit> {
    let mut penalty = options.penalties.penalty.clone().unwrap_or(Penalty::None);
    if let (Penalty::Tikhonov { gamma }, Some(path)) = (&mut penalty, &options.penalties.gamma) {
        let table = crate::files::read_table(path, &options.reading.to_read_options())?;
        *gamma = Gamma::Matrix(matrix(&table.frame).with_context(|| format!("cannot use {path} as Γ"))?);
    }
    // Least squares does not depend on the scale; its coefficients are wanted in the units of the table.
    let default = match penalty {
        Penalty::None => Scale::None,
        Penalty::KernelLasso if kernels(options).iter().any(|kernel| kernel.needs_nonnegative()) => Scale::Unit,
        _ => Scale::Standard,
    };
    let is_kernel = penalty == Penalty::KernelLasso;
    let mut fit = with(penalty, options.scale.map_or(default, Scale::from), &options.rows).seed(common.seed);
    if is_kernel {
        fit = fit.kernels(kernels(options).into_iter().take(1).collect());
    }
    if let Some(degree) = options.columns.degree() {
        fit = fit.degree(degree);
    }
    if let Some(lambdas) = &options.lambda {
        fit = fit.lambdas(&lambdas.0);
    }
    if let Some(criterion) = &options.criterion {
        fit = fit.criterion(criterion.clone());
    }
    if let Some(tolerance) = options.losses.tolerance {
        fit = fit.tolerance(tolerance);
    }
    if options.one_standard_error {
        fit = fit.one_standard_error();
    }
    Ok(fit)
}

/// A fit on rows that are read like this.
pub fn with(penalty: Penalty, scale: Scale, rows: &RowOptions) -> Fit {
    let mut fit = Fit::linear().penalty(penalty).scale(scale).missing(rows.missing.into()).text_as(rows.text.into());
    if rows.no_offset {
        fit = fit.without_offset();
    }
    if let Some(memory) = rows.memory {
        fit = fit.memory(memory);
    }
    fit
}

/// A table of numbers as a matrix.
fn matrix(frame: &Frame) -> mercer::Result<Matrix> {
    let mut cells = Vec::new();
    for (name, column) in frame.iter() {
        let Column::Number(numbers) = column else {
            return Err(mercer::Error::Column {
                column: name.into(),
                problem: "is text where numbers are needed".into(),
            });
        };
        if let Some(row) = numbers.iter().position(|x| !x.is_finite()) {
            return Err(mercer::Error::MissingCell { row: row + 1, column: name.into() });
        }
        cells.extend_from_slice(numbers);
    }
    Matrix::from_columns(frame.rows(), frame.names().len(), cells)
}
