//! The front door: a kernel, an exponent and a λ (each given, or chosen by a criterion) make a model.

pub mod after;
pub mod automatic;
mod checks;
pub mod learn;
pub mod linear;
mod method;
pub mod moments;
mod outlook;
pub mod plan;
mod run;
pub mod stream;

use std::sync::Arc;

use crate::base::error::{Error, Result};
use crate::base::journal::SharedJournal;
use crate::base::watch::Observer;
use crate::choose::metric::Rule;
use crate::choose::select::Surface;
use crate::data::{Design, Encoding, Frame, Missing, Roles, Scale, TextAs};
use crate::fit::plan::Plan;
use crate::linalg::Matrix;
use crate::model::notes::{self, Note};
use crate::model::{Model, Summary};
use crate::path::Spectrum;
use crate::path::{HeldOutRows, LeaveOneOut};
use crate::solve::Solution;
use crate::solve::constrained::Constraint;
use crate::space::low_rank::Landmarks;
use crate::term::criterion::Criterion;
use crate::term::kernel::{Kernel, SharedKernel};

/// Settings of a fit. Nothing is computed until one of the `fit` methods is called.
///
/// ```
/// use mercer::prelude::*;
///
/// let x = Matrix::from_fn(40, 1, |i, _| i as f64 / 10.0);
/// let y: Vec<f64> = (0..40).map(|i| (i as f64 / 10.0).sin()).collect();
/// let fitted = Fit::new(Gaussian::lengthscale(1.0)).exponent(1.5).fit(&x, &y)?;
/// assert!(fitted.summary().loo_rmse.unwrap() < 1e-3);
/// let at_two = fitted.model.predict(&Matrix::from_rows(&[[2.05]])?)?.get(0, 0);
/// assert!((at_two - 2.05_f64.sin()).abs() < 1e-3);
/// # Ok::<(), mercer::Error>(())
/// ```
#[derive(Clone)]
pub struct Fit {
    kernels: Vec<SharedKernel>,
    exponents: Vec<f64>,
    lambdas: Option<Vec<f64>>,
    criterion: Criterion,
    refine: bool,
    preferred: Option<f64>,
    one_standard_error: bool,
    unlabelled: Option<Frame>,
    seed: u64,
    journal: Option<SharedJournal>,
    offset: bool,
    scale: Option<Scale>,
    missing: Missing,
    text_as: TextAs,
    shared_ridge: bool,
    diagnostics: bool,
    clip: bool,
    keep_spectrum: bool,
    reduce: Reduce,
    solver: Solver,
    /// `None`: [`ACCURACY_OF_GRADIENTS`].
    accuracy_of_gradients: Option<f64>,
    landmarks_by: Option<Landmarks>,
    metric: Option<Rule>,
    constraint: Option<Constraint>,
    memory: Option<u64>,
    observer: Option<Observer>,
}

impl std::fmt::Debug for Fit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let kernels: Vec<String> = self.kernels.iter().map(|kernel| kernel.spec()).collect();
        write!(f, "Fit({}, exponents {:?}, lambdas {:?})", kernels.join(" | "), self.exponents, self.lambdas)
    }
}

/// A model with everything that was found out on the way.
#[derive(Debug, Clone)]
pub struct Fitted {
    /// Predicts; can be saved.
    pub model: Model,
    /// One per target: coefficients, fitted values, stationary points.
    pub solutions: Vec<Solution>,
    /// Leave-one-out residuals of each target, where they exist; of rows with groups, leave-one-group-out.
    pub leave_one_out: Vec<Option<LeaveOneOut>>,
    /// Where the criterion is forward chaining ([`crate::term::criterion::Forward`]): the residuals of the predicted rows of each target, in the place of
    /// leave-one-out residuals.
    pub forward: Vec<Option<HeldOutRows>>,
    /// The decomposition, if one was made ([`Fit::keep_spectrum`] sees to it): any other λ or exponent follows from it without a new one.
    pub spectrum: Option<Spectrum>,
    /// The method that was used, and the memory it was expected to take.
    pub plan: Plan,
    /// The rows that were used: targets and weights.
    pub design: Design,
    /// What was tried, in the order in which it was: kernels with the criterion over exponents and λ. Empty when
    /// nothing was to be chosen.
    pub tried: Vec<Tried>,
}

/// How an exact problem is solved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Solver {
    /// By what suits its size and what is asked for.
    Suitable,
    ConjugateGradients,
    /// By anything else.
    Factored,
}

/// The error of predictions at which conjugate gradients end, in units of the target's spread.
const ACCURACY_OF_GRADIENTS: f64 = 1e-8;

/// Whether landmarks stand for all rows.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Reduce {
    /// Where there are too many rows for memory or patience.
    IfNeeded,
    Never,
    /// As many as are usual and fit into memory.
    Always,
    ToRank(usize),
    ToAccuracy(f64),
}

impl Reduce {
    /// The rank that a plan can be made for, if one is known.
    pub(crate) fn rank(self) -> Option<usize> {
        match self {
            Reduce::ToRank(rank) => Some(rank),
            Reduce::ToAccuracy(_) => Some(run::FIRST_RANK),
            Reduce::IfNeeded | Reduce::Never | Reduce::Always => None,
        }
    }
}

/// One kernel that was tried.
#[derive(Debug, Clone)]
pub struct Tried {
    /// The kernel, with its numbers.
    pub kernel: SharedKernel,
    /// The criterion, one surface per target (one in all if they share their ridge).
    pub surfaces: Vec<Surface>,
    /// The sum of the best scores.
    pub score: f64,
    /// The rank of the factor on which the surfaces were computed, and the mean of what it leaves of the kernel's
    /// diagonal; `None` when they were computed on all of the matrix.
    pub low_rank: Option<(usize, f64)>,
    /// Whether it became the model.
    pub is_chosen: bool,
}

impl Fitted {
    /// What was found for the (first) target.
    pub fn summary(&self) -> &Summary {
        &self.model.summaries[0]
    }

    /// What is odd about the targets, or about the model's errors.
    pub fn notes(&self) -> Vec<Note> {
        let mut notes = notes::of_targets(&self.design, &self.model.summaries);
        notes.extend(notes::of_features(&self.design));
        notes.extend(notes::of_errors(&self.model.summaries, &self.forward));
        notes
    }
}

impl Fit {
    /// A fit with this kernel: exponent 2, λ by exact leave-one-out, with offset, features as they are
    /// (splines: scaled to the unit range).
    pub fn new(kernel: impl Kernel + 'static) -> Self {
        Fit::with_shared(Arc::new(kernel))
    }

    /// Like [`new`](Self::new), for a kernel that is shared already, such as one from
    /// [`kernel::parse`](crate::term::kernel::parse).
    pub fn with_shared(kernel: SharedKernel) -> Self {
        Fit {
            kernels: vec![kernel],
            exponents: vec![2.0],
            lambdas: None,
            criterion: Criterion::LeaveOneOut,
            refine: true,
            preferred: None,
            one_standard_error: false,
            unlabelled: None,
            seed: 1,
            journal: None,
            offset: true,
            scale: None,
            missing: Missing::Error,
            text_as: TextAs::OneHot,
            shared_ridge: false,
            diagnostics: true,
            clip: false,
            keep_spectrum: false,
            reduce: Reduce::IfNeeded,
            solver: Solver::Suitable,
            accuracy_of_gradients: None,
            landmarks_by: None,
            metric: None,
            constraint: None,
            memory: None,
            observer: None,
        }
    }

    /// m in λ‖f‖ᵐ, above 0 (from 0.001 to 1000).
    pub fn exponent(self, exponent: f64) -> Self {
        self.exponents(&[exponent])
    }

    /// Exponents to choose from, rising.
    pub fn exponents(self, exponents: &[f64]) -> Self {
        Fit { exponents: exponents.to_vec(), ..self }
    }

    /// λ, above 0. Without it, λ minimises the criterion.
    pub fn lambda(self, lambda: f64) -> Self {
        self.lambdas(&[lambda])
    }

    /// λ to choose from, rising (and between them, unless [`on_grid`](Self::on_grid)).
    pub fn lambdas(self, lambdas: &[f64]) -> Self {
        Fit { lambdas: Some(lambdas.to_vec()), ..self }
    }

    /// Kernels to choose from. All must read the table alike: splines cannot be mixed with others unless the
    /// scaling is given.
    pub fn kernels(self, kernels: Vec<SharedKernel>) -> Self {
        Fit { kernels, ..self }
    }

    /// What λ, exponent and kernel are chosen by; exact leave-one-out if nothing else is said. With rows that have groups
    /// ([`Roles::group`]) leave-one-out leaves out whole groups.
    pub fn criterion(self, criterion: Criterion) -> Self {
        Fit { criterion, ..self }
    }

    /// Chooses among the given exponents and λ only, not between them.
    pub fn on_grid(self) -> Self {
        Fit { refine: false, ..self }
    }

    /// Keeps to this exponent unless another is better by more than one per cent of the squared error.
    pub fn preferring(self, exponent: f64) -> Self {
        Fit { preferred: Some(exponent), ..self }
    }

    /// Takes the largest λ whose criterion is within one standard error of the best.
    pub fn one_standard_error(self) -> Self {
        Fit { one_standard_error: true, ..self }
    }

    /// Rows without target, for the criteria `dee`, `tri` and `adj`.
    pub fn unlabelled(self, frame: Frame) -> Self {
        Fit { unlabelled: Some(frame), ..self }
    }

    /// Remembers what was found for each kernel, so that a stopped selection can go on.
    pub fn journal(self, journal: SharedJournal) -> Self {
        Fit { journal: Some(journal), ..self }
    }

    /// The seed with which folds are drawn.
    pub fn seed(self, seed: u64) -> Self {
        Fit { seed, ..self }
    }

    /// Without the offset b.
    pub fn without_offset(self) -> Self {
        Fit { offset: false, ..self }
    }

    /// How features are scaled.
    pub fn scale(self, scale: Scale) -> Self {
        Fit { scale: Some(scale), ..self }
    }

    /// What is done about missing cells.
    pub fn missing(self, missing: Missing) -> Self {
        Fit { missing, ..self }
    }

    /// How text columns are read. With [`TextAs::Equality`] a kernel that does not mention `equality` is
    /// multiplied by it.
    pub fn text_as(self, text_as: TextAs) -> Self {
        Fit { text_as, ..self }
    }

    /// With several targets: one effective ridge for all, ‖f‖² = Σ‖f_t‖², instead of one each.
    pub fn shared_ridge(self) -> Self {
        Fit { shared_ridge: true, ..self }
    }

    /// Coefficients only: without degrees of freedom and leave-one-out where those cost extra (λ given,
    /// exponent 2, many rows).
    pub fn without_diagnostics(self) -> Self {
        Fit { diagnostics: false, ..self }
    }

    /// Keeps predictions within the range of the training targets. Leave-one-out and folds, and with them what is chosen, count them so: each with the
    /// range of the rows that are left. Functions, norms and bounds are those of f itself.
    pub fn clip(self) -> Self {
        Fit { clip: true, ..self }
    }

    /// Learns the metric of the kernel, which must be a function of a distance, before λ and the exponent are chosen; from
    /// 1,500 rows at most.
    pub fn learn_metric(self, rule: Rule) -> Self {
        Fit { metric: Some(rule), ..self }
    }

    /// The ridge solution that keeps a constraint, in the place of a λ: Ivanov's and Morozov's forms.
    pub fn subject_to(self, constraint: Constraint) -> Self {
        Fit { constraint: Some(constraint), keep_spectrum: true, ..self }
    }

    /// Decomposes fully, so that [`Fitted::spectrum`] and [`Fitted::path`] are there, also where something quicker would do.
    pub fn keep_spectrum(self) -> Self {
        Fit { keep_spectrum: true, ..self }
    }

    /// Whether landmarks stand for all rows.
    pub(crate) fn reduce(self, reduce: Reduce) -> Self {
        Fit { reduce, ..self }
    }

    /// How landmarks are chosen, where they stand for all rows. Without it: centres of clusters (k-means) where there are enough
    /// rows and they have means, random pivots otherwise and for an [`accuracy`](Self::accuracy).
    pub fn landmarks_by(self, by: Landmarks) -> Self {
        Fit { landmarks_by: Some(by), ..self }
    }

    /// Landmarks in the place of all rows: f is a sum over at most this many of them.
    pub fn rank(self, rank: usize) -> Self {
        Fit { reduce: Reduce::ToRank(rank), ..self }
    }

    /// As many landmarks as are needed for predictions within `accuracy` of the exact ones at the training rows, in units of the
    /// target's spread, as far as that can be certified.
    pub fn accuracy(self, accuracy: f64) -> Self {
        Fit { reduce: Reduce::ToAccuracy(accuracy), ..self }
    }

    /// All rows, however many there are. Where memory has no room for the kernel matrix they are solved by conjugate gradients (up
    /// to 100,000 rows, exponents above 1), and refused where those cannot be used. Without it many rows are represented by landmarks.
    pub fn exact(self) -> Self {
        Fit { reduce: Reduce::Never, ..self }
    }

    /// All rows by conjugate gradients, without the Gram matrix: every exponent above 1. λ is given, or chosen on landmarks. No
    /// leave-one-out and no degrees of freedom: those need the matrix.
    pub fn conjugate_gradients(self) -> Self {
        Fit { reduce: Reduce::Never, solver: Solver::ConjugateGradients, ..self }
    }

    /// The error of predictions, in units of the target's spread, at which conjugate gradients end, on all rows or on thousands of
    /// landmarks: from 1e-13 to 1e-3, 1e-8 if nothing is said. Refused where nothing is solved by them.
    pub fn accuracy_of_gradients(self, accuracy: f64) -> Self {
        Fit { accuracy_of_gradients: Some(accuracy), ..self }
    }

    /// Bytes that may be used; without it, what the system says is available.
    pub fn memory(self, bytes: u64) -> Self {
        Fit { memory: Some(bytes), ..self }
    }

    /// Told of every stage; may stop the fit.
    pub fn observer(self, observer: Observer) -> Self {
        Fit { observer: Some(observer), ..self }
    }

    /// Fits one target: `x` has one row per example.
    pub fn fit(&self, x: &Matrix, y: &[f64]) -> Result<Fitted> {
        self.fit_weighted(x, &Matrix::column_vector(y.to_vec()), None)
    }

    /// Fits several targets (the columns of `y`), with row weights if there are any.
    pub fn fit_weighted(&self, x: &Matrix, y: &Matrix, weights: Option<&[f64]>) -> Result<Fitted> {
        self.check_settings()?;
        self.check_memory(&self.shape(x.rows(), x.cols(), y.cols(), weights.is_some()))?;
        self.fit_design(Design::from_matrix(x, y, weights, self.encoding())?)
    }

    /// Fits a table.
    pub fn fit_frame(&self, frame: &Frame, roles: &Roles) -> Result<Fitted> {
        self.check_settings()?;
        self.fit_design(Design::new(frame, roles, self.encoding())?)
    }

    /// The choices that reading a table needs.
    pub(crate) fn encoding(&self) -> Encoding {
        Encoding::for_kernels(&self.kernels, self.scale, self.missing, self.text_as)
    }

    /// The kernel, where only one makes sense.
    pub(crate) fn only_kernel(&self) -> Result<&SharedKernel> {
        match &self.kernels[..] {
            [kernel] => Ok(kernel),
            others => Err(Error::argument("the kernel of a split", "a single one", others.len())),
        }
    }

    /// Whether b is part of the problem.
    pub(crate) fn has_offset(&self) -> bool {
        self.offset
    }

    /// The same fit with what is chosen but λ.
    pub(crate) fn at(&self, kernel: SharedKernel, exponent: f64) -> Self {
        Fit { kernels: vec![kernel], exponents: vec![exponent], metric: None, journal: None, ..self.clone() }
    }
}
