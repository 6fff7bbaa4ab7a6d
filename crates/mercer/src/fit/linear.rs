//! The third front door: linear functions (and sparse kernel expansions) with penalties other than λ‖f‖ᵐ.

mod choose;
mod model;

use std::sync::Arc;

use crate::base::error::{Error, Result};
use crate::base::range::check_lambdas;
use crate::base::watch::Observer;
use crate::data::monomials;
use crate::data::{Design, Encoding, Frame, Missing, Roles, Scale, TextAs};
use crate::fit::plan;
use crate::linalg::Matrix;
use crate::model::notes::{self, Note};
use crate::model::{HeldOut, Model, Summary};
use crate::solve::linear::left_out::{LeftOut, Solved};
use crate::solve::linear::{Features, LeastSquares, LinearSolution, Sparse};
use crate::term::criterion::{Criterion, FoldRule, Folds, folds_of_groups, group_count};
use crate::term::kernel::SharedKernel;
use crate::term::kernel::kernel_for;
use crate::term::kernel::product::Linear;
use crate::term::penalty::Penalty;

/// Settings of a linear fit with the squared loss. Nothing is computed until one of the `fit` methods is called.
///
/// ```
/// use mercer::penalty::Penalty;
/// use mercer::prelude::*;
///
/// let x = Matrix::from_fn(40, 3, |i, j| ((i * (7 + 4 * j)) % 13) as f64);
/// let y: Vec<f64> = (0..40).map(|i| 2.0 * x.get(i, 1) + 1.0).collect();
/// let fitted = LinearFit::new(Penalty::Lasso).lambda(0.5).fit(&x, &y)?;
/// assert_eq!(fitted.summary().support, Some(1));
/// assert!(fitted.summary().certificate.duality_gap.unwrap() < 1e-8);
/// # Ok::<(), mercer::Error>(())
/// ```
#[derive(Clone)]
pub struct LinearFit {
    penalty: Penalty,
    lambdas: Option<Vec<f64>>,
    criterion: Criterion,
    one_standard_error: bool,
    kernel: Option<SharedKernel>,
    degree: usize,
    tolerance: f64,
    seed: u64,
    offset: bool,
    scale: Scale,
    missing: Missing,
    text_as: TextAs,
    memory: Option<u64>,
    observer: Option<Observer>,
}

impl std::fmt::Debug for LinearFit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "LinearFit({}, degree {}, lambdas {:?})", self.penalty.spec(), self.degree, self.lambdas)
    }
}

/// A linear model with everything that was found out on the way.
#[derive(Debug, Clone)]
pub struct LinearFitted {
    /// Predicts; can be saved.
    pub model: Model,
    /// xᵀw + b on the training rows, one vector per target.
    pub fitted: Vec<Vec<f64>>,
    /// What was tried along λ, one per target; empty when λ was given.
    pub tried: Vec<LinearTrial>,
    /// Statistics of least squares, one per target; empty with a penalty.
    pub least_squares: Vec<LeastSquares>,
    /// The names of the coefficients.
    pub names: Vec<String>,
    /// The rows that were used.
    pub design: Design,
    /// What the coefficients stand before: the features of the rows, or the kernel's values.
    x: Features,
    solutions: Vec<LinearSolution>,
    penalty: Penalty,
}

/// The criterion along λ.
#[derive(Debug, Clone, PartialEq)]
pub struct LinearTrial {
    /// The target.
    pub target: String,
    /// Rising.
    pub lambdas: Vec<f64>,
    /// The criterion: mean squared error of held-out rows, or AIC, BIC.
    pub scores: Vec<f64>,
    /// Standard errors, with folds.
    pub standard_errors: Option<Vec<f64>>,
    /// Coefficients that are not 0 at each λ.
    pub support: Vec<usize>,
    /// Which λ was chosen.
    pub chosen: usize,
}

impl LinearFitted {
    /// What was found for the (first) target.
    pub fn summary(&self) -> &Summary {
        &self.model.summaries[0]
    }

    /// What is odd about the targets, or about the model's errors.
    pub fn notes(&self) -> Vec<Note> {
        let summaries = &self.model.summaries;
        let mut notes = notes::of_targets(&self.design, summaries);
        notes.extend(notes::of_features(&self.design));
        for (summary, deviation) in summaries.iter().zip(self.design.deviations()) {
            let squared = |held_out: &HeldOut| (held_out.measure == "squared").then_some(held_out.value);
            if let Some(value) = summary.held_out.as_ref().and_then(squared).filter(|_| deviation > 0.0) {
                notes.extend(notes::no_better(summary, 1.0 - value / (deviation * deviation), "cross-validation"));
            }
        }
        // A column of categories has one feature for each, of which one is too many beside the offset.
        let columns = (0..self.x.cols()).filter(|j| self.x.varies(*j)).count();
        for (found, summary) in self.least_squares.iter().zip(summaries).filter(|(found, _)| found.rank < columns) {
            notes.push(Note::Undetermined { target: summary.target.clone(), rank: found.rank, columns });
        }
        notes
    }
}

impl LinearFitted {
    /// yᵢ − f₋ᵢ(xᵢ) − b₋ᵢ of the fits without row i (of rows with groups: without its group, by refits), the scaling of the features held, one vector per target; and whether all are exact: with an
    /// ℓ₁ penalty on very large tables they are those of a row that does not decide which coefficients are 0.
    pub fn leave_one_out(&self, observer: Option<&Observer>) -> Result<(Vec<Vec<f64>>, bool)> {
        let go_on = || observer.is_none_or(|observer| observer("leaving out"));
        let groups = self.design.whole_groups().map(folds_of_groups).transpose()?;
        let of_target = |t: usize| {
            let solved = Solved {
                x: &self.x,
                y: self.design.y.col(t),
                weights: self.design.weights.as_deref(),
                offset: self.model.summaries[t].has_offset,
                penalty: &self.penalty,
                lambda: self.model.summaries[t].lambda,
                solution: &self.solutions[t],
            };
            match &groups {
                Some(folds) => solved.residuals_without(folds, &go_on),
                None => solved.residuals(&go_on),
            }
        };
        let found: Vec<LeftOut> = (0..self.solutions.len()).map(of_target).collect::<Result<_>>()?;
        let is_exact = found.iter().all(|target| target.is_exact);
        Ok((found.into_iter().map(|target| target.residuals).collect(), is_exact))
    }
}

impl LinearFit {
    /// A fit with this penalty: λ by ten folds, with offset, features as they are.
    pub fn new(penalty: Penalty) -> Self {
        LinearFit {
            penalty,
            lambdas: None,
            criterion: Criterion::KFold(FoldRule::random(10)),
            one_standard_error: false,
            kernel: None,
            degree: 1,
            tolerance: 1e-8,
            seed: 1,
            offset: true,
            scale: Scale::None,
            missing: Missing::Error,
            text_as: TextAs::OneHot,
            memory: None,
            observer: None,
        }
    }

    /// λ, above 0.
    pub fn lambda(self, lambda: f64) -> Self {
        self.lambdas(&[lambda])
    }

    /// λ to choose from, rising.
    pub fn lambdas(self, lambdas: &[f64]) -> Self {
        LinearFit { lambdas: Some(lambdas.to_vec()), ..self }
    }

    /// What λ is chosen by: `kfold`, or `aic` and `bic` for the Lasso and its kin.
    pub fn criterion(self, criterion: Criterion) -> Self {
        LinearFit { criterion, ..self }
    }

    /// Takes the largest λ within one standard error of the best.
    pub fn one_standard_error(self) -> Self {
        LinearFit { one_standard_error: true, ..self }
    }

    /// The kernel of a kernel Lasso.
    pub fn kernel(self, kernel: SharedKernel) -> Self {
        LinearFit { kernel: Some(kernel), ..self }
    }

    /// All monomials of the (scaled) features up to this degree become features.
    pub fn degree(self, degree: usize) -> Self {
        LinearFit { degree, ..self }
    }

    /// The relative duality gap of the final answer, from 1e-13 to 0.1.
    pub fn tolerance(self, tolerance: f64) -> Self {
        LinearFit { tolerance, ..self }
    }

    /// The seed with which folds are drawn.
    pub fn seed(self, seed: u64) -> Self {
        LinearFit { seed, ..self }
    }

    /// Without the offset b.
    pub fn without_offset(self) -> Self {
        LinearFit { offset: false, ..self }
    }

    /// How features are scaled.
    pub fn scale(self, scale: Scale) -> Self {
        LinearFit { scale, ..self }
    }

    /// What is done about missing cells.
    pub fn missing(self, missing: Missing) -> Self {
        LinearFit { missing, ..self }
    }

    /// How text columns are read; a linear function needs them one-hot.
    pub fn text_as(self, text_as: TextAs) -> Self {
        LinearFit { text_as, ..self }
    }

    /// Bytes that may be used; without it, what the system says is available.
    pub fn memory(self, bytes: u64) -> Self {
        LinearFit { memory: Some(bytes), ..self }
    }

    /// Told of every stage; may stop the fit.
    pub fn observer(self, observer: Observer) -> Self {
        LinearFit { observer: Some(observer), ..self }
    }

    /// Chooses λ along the whole path, whatever was given: [`LinearFitted::tried`] then shows it.
    pub fn along_path(self) -> Self {
        LinearFit { lambdas: None, one_standard_error: false, ..self }
    }

    /// Fits one target: `x` has one row per example.
    pub fn fit(&self, x: &Matrix, y: &[f64]) -> Result<LinearFitted> {
        self.fit_weighted(x, &Matrix::column_vector(y.to_vec()), None)
    }

    /// Fits several targets (the columns of `y`), with row weights if there are any.
    pub fn fit_weighted(&self, x: &Matrix, y: &Matrix, weights: Option<&[f64]>) -> Result<LinearFitted> {
        let (frame, roles) = Design::frame_of(x, y, weights)?;
        self.fit_frame(&frame, &roles)
    }

    /// Fits a table.
    pub fn fit_frame(&self, frame: &Frame, roles: &Roles) -> Result<LinearFitted> {
        self.check_settings()?;
        let nonnegative = self.kernel.as_ref().is_some_and(|kernel| kernel.needs_nonnegative());
        let encoding = Encoding { scale: self.scale, missing: self.missing, text_as: self.text_as, nonnegative };
        let design = Design::new(frame, roles, encoding)?;
        if design.points.code_columns() > 0 && self.kernel.is_none() {
            let must = "one-hot for a linear function";
            return Err(Error::argument("how text columns are read", must, "equality"));
        }
        if self.degree > 1 {
            let width = monomials::count(design.points.features(), self.degree).unwrap_or(usize::MAX);
            self.check_memory(design.rows(), width)?;
        }
        let design = if self.degree > 1 { design.expanded(self.degree)? } else { design };
        let width = if self.kernel.is_some() { design.rows() } else { design.points.features() };
        self.check_memory(design.rows(), width)?;
        let kernel: SharedKernel = match &self.kernel {
            Some(kernel) => kernel_for(kernel, &design)?,
            None => Arc::new(Linear),
        };
        self.stage("reading")?;
        let x = self.features(&design, &kernel)?;
        self.run(design, x, kernel)
    }

    /// Fits rows of which only what is not zero is stored, as they are: unscaled, features called `x1`, `x2`, …. The
    /// zeros are never stored, except by least squares, where a matrix Γ leaves no other way, and in tables of at most 2²⁰ entries that need it.
    /// Rows of one entry of `groups` stay in one fold.
    pub fn fit_sparse(
        &self,
        x: &Sparse,
        y: &Matrix,
        weights: Option<&[f64]>,
        groups: Option<&[u32]>,
    ) -> Result<LinearFitted> {
        self.check_settings()?;
        if self.kernel.is_some() || self.scale != Scale::None || self.degree > 1 {
            let must = "without kernel, scaling and polynomial features: each would fill in the zeros";
            return Err(Error::argument("a fit of sparse rows", must, "one of them"));
        }
        let is_dense = self.penalty == Penalty::None;
        self.check_memory(x.rows(), if is_dense { x.cols() } else { 1 + x.stored() / x.rows().max(1) })?;
        let design = Design::of_plain(x.rows(), x.cols(), y, weights)?;
        let design = Design { groups: groups.map(<[u32]>::to_vec), groups_are_folds: true, ..design };
        self.stage("reading")?;
        self.run(design, Features::Sparse(x.clone()), Arc::new(Linear))
    }

    fn stage(&self, name: &'static str) -> Result<()> {
        match &self.observer {
            Some(observer) if !observer(name) => Err(Error::Interrupted),
            _ => Ok(()),
        }
    }

    fn folds(&self, design: &Design) -> Result<Option<Folds>> {
        match (&self.criterion, self.fixed_lambda()) {
            (Criterion::KFold(rule), None) => {
                let units = design.groups.as_deref().map_or(design.rows(), group_count);
                let folds = rule.folds.min(units);
                let rule = FoldRule { folds, ..*rule };
                Folds::draw(&rule, design.rows(), design.groups.as_deref(), self.seed).map(Some)
            }
            _ => Ok(None),
        }
    }

    /// λ, when there is nothing to choose.
    fn fixed_lambda(&self) -> Option<f64> {
        match (&self.penalty, self.lambdas.as_deref()) {
            (Penalty::None, _) => Some(0.0),
            (_, Some([lambda])) => Some(*lambda),
            _ => None,
        }
    }

    fn check_memory(&self, rows: usize, width: usize) -> Result<()> {
        let needed = (rows as u64).saturating_mul(width as u64 + 16).saturating_mul(8 * 6);
        let available = self.memory.unwrap_or_else(plan::available_memory);
        if needed <= available {
            return Ok(());
        }
        let what = "features, their copies and a decomposition";
        Err(Error::Memory { rows, needed, available, what, hint: String::new() })
    }

    fn check_settings(&self) -> Result<()> {
        match (&self.penalty, &self.kernel) {
            (Penalty::NormPower, _) => {
                return Err(Error::argument(
                    "the penalty of a linear fit",
                    "another one; Fit and Learn have it",
                    "norm-power",
                ));
            }
            (Penalty::KernelLasso, None) => {
                return Err(Error::argument("the kernel Lasso", "given a kernel", "none"));
            }
            (Penalty::KernelLasso, Some(_)) => {}
            (_, Some(kernel)) if kernel.linear_scale().is_none() => {
                let must = format!("linear for the penalty {}", self.penalty.spec());
                return Err(Error::argument("the kernel", must, kernel.spec()));
            }
            _ => {}
        }
        let lambdas = self.lambdas.as_deref().unwrap_or(&[]);
        check_lambdas(lambdas, 1e-100..=1e100)?;
        if self.lambdas.as_ref().is_some_and(Vec::is_empty) {
            return Err(Error::Empty("there must be at least one λ to choose from".into()));
        }
        if self.penalty == Penalty::None && self.lambdas.is_some() {
            return Err(Error::argument("λ", "left out without a penalty", format!("{lambdas:?}")));
        }
        if !(1e-13..=0.1).contains(&self.tolerance) {
            return Err(Error::argument("tolerance", "from 1e-13 to 0.1, a relative duality gap", self.tolerance));
        }
        if !(1..=monomials::HIGHEST).contains(&self.degree) {
            let must = format!("from 1 to {}", monomials::HIGHEST);
            return Err(Error::argument("the degree of the features", must, self.degree));
        }
        if self.degree > 1 && self.penalty == Penalty::KernelLasso {
            return Err(Error::argument("polynomial features", "used without a kernel", "kernel-lasso"));
        }
        let by_formula = matches!(self.criterion.spec().as_str(), "aic" | "bic");
        let is_sparse = !matches!(self.penalty, Penalty::Tikhonov { .. });
        match (&self.criterion, self.fixed_lambda()) {
            (_, Some(_)) | (Criterion::KFold(_), None) => Ok(()),
            (_, None) if by_formula && is_sparse => Ok(()),
            (other, None) => {
                let must = if is_sparse { "kfold, aic or bic for this penalty" } else { "kfold for this penalty" };
                Err(Error::argument("criterion", must, other.spec()))
            }
        }
    }
}
