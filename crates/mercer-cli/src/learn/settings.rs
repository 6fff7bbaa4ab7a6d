//! From options to a decided run with a loss, and what does not go together.

use mercer::Fit;
use mercer::criterion::Criterion;
use mercer::data::{Column, Frame, Roles, Scale};
use mercer::kernel::SharedKernel;
use mercer::learn::Measure;
use mercer::loss::{Reads, SharedLoss};

use crate::args::{
    ClassWeightArgument, Common, FitOptions, LossArgument, ManyClassesArgument, RowOptions, ScaleArgument,
};
use crate::fit::kernels;
use crate::outcome::Usage;

/// Whether the options alone say that the spectrum of the squared loss will not do.
pub fn is_asked_for(options: &FitOptions) -> bool {
    !options.losses.is_squared() || options.losses.classify
}

/// Whether the table says it: classes with `--loss squared`.
pub fn is_meant(options: &FitOptions, frame: &Frame, roles: &Roles) -> bool {
    let is_text = |name: &String| matches!(frame.column(name), Ok(Column::Text(_)));
    options.losses.loss.is_some() && options.losses.is_squared() && roles.targets.iter().any(is_text)
}

/// Refuses what only a loss or classes give a meaning, for a fit by the squared loss to numbers.
pub fn refuse_without_loss(options: &FitOptions) -> anyhow::Result<()> {
    let losses = &options.losses;
    let for_classes = "is for classes: --loss hinge, squared-hinge or logistic, or --classify";
    refuse(&[
        ("--many-classes", for_classes, losses.many_classes.is_some()),
        ("--class-weight", for_classes, losses.class_weight.is_some()),
        ("--probability", for_classes, losses.probability),
        ("--non-crossing", "is for several quantiles: --loss \"pinball(quantile=[0.1,0.5,0.9])\"", losses.non_crossing),
        (
            "--tolerance",
            "is the duality gap of other losses, or the error of conjugate gradients (--solver conjugate-gradients, --exact or --rank with more than memory or a direct solution allows); the squared loss is solved exactly",
            losses.tolerance.is_some() && !options.may_descend(),
        ),
        (
            "--measure",
            "is for other losses; with the squared loss --criterion says what is minimised",
            losses.measure.is_some(),
        ),
        ("--every-point", "is for other losses; the squared loss judges every point anyway", losses.every_point),
    ])
}

/// Refuses options that do not go with a loss, before anything is read.
pub fn check(options: &FitOptions) -> anyhow::Result<()> {
    let losses = &options.losses;
    let choices = choices(options);
    let name = choices[0][0].spec();
    let squared_only = "needs the spectrum of the squared loss on numbers";
    refuse(&[
        (
            "--metric",
            "learns from the squared loss only: learn it there, or give lengthscales in --kernel",
            options.metric.is_some(),
        ),
        (
            "--budget",
            "is the time of the automatic search, which is for the squared loss on numbers",
            options.budget.is_some(),
        ),
        (
            "--journal",
            "keeps the work of the squared loss only; here every fit is made anew",
            options.journal.is_some(),
        ),
        ("--unlabelled", "is for criteria of the squared loss", options.unlabelled.is_some()),
        ("--shared-ridge", squared_only, options.shared_ridge),
        ("--clip", squared_only, options.clip),
        ("--no-diagnostics", squared_only, options.no_diagnostics),
        ("--solver", "is for the squared loss on numbers", options.solver.is_some()),
        (
            "--accuracy",
            "is a bound that is proved for the squared loss only: --rank says how many landmarks",
            options.accuracy.is_some(),
        ),
        (
            "--landmarks-by",
            "is for the squared loss on numbers: landmarks of other losses are random pivots",
            options.landmarks_by.is_some(),
        ),
        (
            "--rank",
            "goes with --criterion kfold: approximate leave-one-out needs the whole kernel matrix",
            options.rank.is_some() && options.criterion == Some(Criterion::LeaveOneOut),
        ),
        (
            "--rank",
            "goes with --many-classes one-vs-rest",
            options.rank.is_some() && losses.many_classes == Some(ManyClassesArgument::Multinomial),
        ),
    ])?;
    if let Some(other) = options.criterion.as_ref().filter(|criterion| !is_known(criterion)) {
        let text = format!("--criterion {} {squared_only}; with the loss {name}", other.spec());
        return Err(Usage(format!("{text} there are kfold:5 and loo (approximate)")).into());
    }
    if let Some(exponent) = options.exponent.iter().flat_map(|numbers| &numbers.0).find(|m| **m < 1.0) {
        let why = "below 1 the problem has several local minima, and only for the squared loss can they all be found";
        return Err(Usage(format!("--exponent must be at least 1 for the loss {name}; got {exponent}: {why}")).into());
    }
    let reads_classes = losses.classify || choices[0][0].reads() == Reads::Label;
    if !reads_classes {
        let for_classes = format!("is for classes; the loss {name} reads numbers (--classify makes classes of them)");
        refuse(&[
            ("--many-classes", &for_classes, losses.many_classes.is_some()),
            ("--class-weight", &for_classes, losses.class_weight.is_some()),
            ("--probability", &for_classes, losses.probability),
        ])?;
    }
    check_measure(options, reads_classes)?;
    check_multinomial(options, &name)?;
    let several = "is for several quantiles: --loss \"pinball(quantile=[0.1,0.5,0.9])\"";
    refuse(&[("--non-crossing", several, losses.non_crossing && (reads_classes || choices[0].len() == 1))])?;
    if losses.classify && choices[0].len() > 1 {
        let text = "--classify has no use for several quantiles: classes are no numbers that could have some";
        return Err(Usage(text.into()).into());
    }
    if options.is_fixed() && choices.len() == 1 {
        let something = "needs something to choose: leave --lambda out or give it a range such as 1e-7..1e3:25";
        refuse(&[
            ("--table", something, options.surface.is_some()),
            ("--one-standard-error", something, options.one_standard_error),
            ("--on-grid", something, options.on_grid),
            ("--every-point", something, losses.every_point),
            ("--criterion", something, options.criterion.is_some()),
            ("--measure", something, losses.measure.is_some()),
        ])?;
    }
    match (options.output.as_deref(), options.surface.as_deref()) {
        (Some("-"), Some("-")) => Err(Usage("--output and --table cannot both be standard output".into()).into()),
        _ => Ok(()),
    }
}

/// Numbers are near or far, classes right or wrong.
fn check_measure(options: &FitOptions, reads_classes: bool) -> anyhow::Result<()> {
    match (options.losses.measure, reads_classes) {
        (Some(Measure::Error), false) => Err(Usage(
            "--measure error is the share of wrong classes, but the target is numbers: loss, absolute or squared"
                .into(),
        )
        .into()),
        (Some(other @ (Measure::Absolute | Measure::Squared)), true) => {
            let text = format!("--measure {} is for numbers, but the target is classes: loss or error", other.name());
            Err(Usage(text).into())
        }
        _ => Ok(()),
    }
}

/// One model for all classes has its own rules.
fn check_multinomial(options: &FitOptions, loss: &str) -> anyhow::Result<()> {
    if options.losses.many_classes != Some(ManyClassesArgument::Multinomial) {
        return Ok(());
    }
    let one_by_one = "--many-classes one-vs-rest does without";
    let exponents = options.exponent.as_ref().map_or(&[2.0][..], |numbers| &numbers.0);
    let text = if loss != "logistic" {
        format!("--many-classes multinomial is the logistic loss of all classes at once; got --loss {loss}")
    } else if exponents != [2.0] {
        format!("--many-classes multinomial has exponent 2; {one_by_one}")
    } else if options.criterion == Some(Criterion::LeaveOneOut) {
        format!("--many-classes multinomial is chosen by kfold, not by loo; {one_by_one}")
    } else {
        return Ok(());
    };
    Err(Usage(text).into())
}

pub fn refuse(rules: &[(&str, &str, bool)]) -> anyhow::Result<()> {
    match rules.iter().find(|(_, _, is_given)| *is_given) {
        Some((option, why, _)) => Err(Usage(format!("{option} {why}")).into()),
        None => Ok(()),
    }
}

fn is_known(criterion: &Criterion) -> bool {
    matches!(criterion, Criterion::KFold(_) | Criterion::LeaveOneOut)
}

/// The losses to choose from, each with one per model.
fn choices(options: &FitOptions) -> Vec<Vec<SharedLoss>> {
    match &options.losses.loss {
        Some(LossArgument(choices)) => choices.clone(),
        None => vec![vec![std::sync::Arc::new(mercer::loss::residual::Squared)]],
    }
}

/// The run that the options ask for.
pub fn learner(options: &FitOptions, common: &Common) -> Fit {
    let losses = &options.losses;
    let mut learn = with(choices(options), kernels(options), options.scale, &options.rows).seed(common.seed);
    if let Some(exponents) = &options.exponent {
        learn = learn.exponents(&exponents.0);
    }
    if let Some(lambdas) = &options.lambda {
        learn = learn.lambdas(&lambdas.0);
    }
    if let Some(criterion) = &options.criterion {
        learn = learn.criterion(criterion.clone());
    }
    if let Some(measure) = losses.measure {
        learn = learn.measure(measure);
    }
    if let Some(many) = losses.many_classes {
        learn = learn.many_classes(many.into());
    }
    if let Some(ClassWeightArgument(weights)) = &losses.class_weight {
        learn = learn.class_weights(weights.clone());
    }
    if let Some(tolerance) = losses.tolerance {
        learn = learn.tolerance(tolerance);
    }
    if let Some(rank) = options.rank {
        learn = learn.rank(rank);
    }
    type Switch = fn(Fit) -> Fit;
    let switches: [(bool, Switch); 7] = [
        (losses.classify, Fit::classify),
        (options.exact, Fit::exact),
        (options.one_standard_error, Fit::one_standard_error),
        (options.on_grid, Fit::on_grid),
        (losses.every_point, Fit::every_point),
        (losses.probability, Fit::with_probabilities),
        (losses.non_crossing, Fit::non_crossing),
    ];
    switches.into_iter().filter(|(is_on, _)| *is_on).fold(learn, |learn, (_, switch)| switch(learn))
}

/// A fit with these losses and kernels, and what a person with a table expects.
pub fn with(
    losses: Vec<Vec<SharedLoss>>,
    kernels: Vec<SharedKernel>,
    scale: Option<ScaleArgument>,
    rows: &RowOptions,
) -> Fit {
    // Standardised like the fits by the squared loss; splines need features of at least 0.
    let is_spline = kernels.iter().any(|kernel| kernel.needs_nonnegative());
    let default = if is_spline { Scale::Unit } else { Scale::Standard };
    let mut learn = Fit::new(mercer::kernel::product::Linear)
        .losses(losses)
        .kernels(kernels)
        .scale(scale.map_or(default, Scale::from))
        .missing(rows.missing.into())
        .text_as(rows.text.into());
    if rows.no_offset {
        learn = learn.without_offset();
    }
    if let Some(memory) = rows.memory {
        learn = learn.memory(memory);
    }
    learn
}
