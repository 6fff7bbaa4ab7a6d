//! The second front door: any convex loss, for numbers, quantiles and classes.
//!
//! [`Fit`](crate::Fit) is for the squared loss, where one decomposition gives everything; [`Learn`] minimises
//! (1/W) Σ w ℓ(y, f(x) + b) + λ‖f‖ᵐ for every other [loss](crate::term::loss), m ≥ 1, with a duality gap on every answer, and
//! chooses λ, the loss's own numbers, the exponent and the kernel by folds or by approximate leave-one-out.

mod approximate;
mod calibrate;
mod finish;
mod forecast;
mod landmarks;
mod left_out;
mod measure;
mod notes_of_classes;
mod part;
mod race;
mod run;
mod select;
mod solve;
mod targets;

use std::sync::Arc;

use crate::base::error::{Error, Result};
use crate::base::range::{check_lambdas, check_rising};
use crate::base::watch::Observer;
use crate::data::{Design, Encoding, Frame, Missing, Roles, Scale, TextAs};
use crate::fit::Reduce;
use crate::fit::plan::Plan;
use crate::linalg::Matrix;
use crate::model::notes::{self, Note};
use crate::model::{Meaning, Model, Probability, Summary};
use crate::term::criterion::{Criterion, FoldRule};
use crate::term::kernel::{Kernel, SharedKernel};
use crate::term::loss::{Reads, SharedLoss};

pub use left_out::LeftOut;
pub use measure::Measure;

/// Settings; nothing is computed until one of the `fit` methods is called.
///
/// ```
/// use mercer::prelude::*;
///
/// // Two classes on a line; the support vector machine.
/// let x = Matrix::from_fn(40, 1, |i, _| i as f64 / 10.0);
/// let y: Vec<f64> = (0..40).map(|i| if (12..30).contains(&i) { 1.0 } else { -1.0 }).collect();
/// let learned = Learn::new(mercer::loss::parse("hinge")?, Gaussian::lengthscale(0.5)).lambda(1e-3).fit(&x, &y)?;
/// assert!(learned.summary().certificate.duality_gap.unwrap() < 1e-6);
/// assert_eq!(learned.model.classes_of(&x)?[20], Some(1));
/// # Ok::<(), mercer::Error>(())
/// ```
#[derive(Clone)]
pub struct Learn {
    /// Choices; each has one loss per model that is fitted (several quantiles).
    losses: Vec<Vec<SharedLoss>>,
    kernels: Vec<SharedKernel>,
    exponents: Vec<f64>,
    lambdas: Option<Vec<f64>>,
    criterion: Criterion,
    measure: Option<Measure>,
    one_standard_error: bool,
    refine: bool,
    race: bool,
    many: ManyClasses,
    class_weights: ClassWeights,
    classify: bool,
    probabilities: bool,
    non_crossing: bool,
    tolerance: f64,
    seed: u64,
    offset: bool,
    scale: Option<Scale>,
    missing: Missing,
    text_as: TextAs,
    reduce: Reduce,
    memory: Option<u64>,
    observer: Option<Observer>,
}

impl std::fmt::Debug for Learn {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let kernels: Vec<String> = self.kernels.iter().map(|kernel| kernel.spec()).collect();
        write!(f, "Learn({:?}, {}, lambdas {:?})", self.losses, kernels.join(" | "), self.lambdas)
    }
}

/// What is done about more than two classes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ManyClasses {
    /// One model per class, against all others; the largest value wins.
    #[default]
    OneVersusRest,
    /// One model for all, with the logistic loss: −ln softmax.
    Multinomial,
}

/// Weights of whole classes, times the weights of their rows.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum ClassWeights {
    /// All 1.
    #[default]
    Equal,
    /// Such that every class weighs the same.
    Balanced,
    /// By name or number (see [`Classes::place`](crate::data::Classes::place)); classes that are not named weigh 1.
    Named(Vec<(String, f64)>),
}

/// A model with everything that was found out on the way.
#[derive(Debug, Clone)]
pub struct Learned {
    /// Predicts; can be saved.
    pub model: Model,
    /// αᵢ of every training row, one vector per model.
    pub coefficients: Vec<Vec<f64>>,
    /// f(xᵢ) + b on the training rows, one vector per model.
    pub fitted: Vec<Vec<f64>>,
    /// The values of every row by a model that was fitted without it (approximately, with the criterion `loo`), one vector
    /// per model; empty when nothing was chosen.
    pub held_out: Vec<Vec<f64>>,
    /// What was tried, in the order in which it was. Empty when nothing was to be chosen.
    pub tried: Vec<LearnTrial>,
    /// The method that was used, and the memory it was expected to take.
    pub plan: Plan,
    /// The rows that were used; for classes the targets are their codes.
    pub design: Design,
    /// What each model was fitted to: numbers, or 1 for its class and −1 for the others.
    outputs: Vec<Vec<f64>>,
    /// Row weights times class weights.
    row_weights: Option<Vec<f64>>,
}

/// One kernel, loss and exponent with the criterion along λ.
#[derive(Debug, Clone)]
pub struct LearnTrial {
    /// The target (or class, or quantile) it was tried for.
    pub target: String,
    /// The kernel, with its numbers.
    pub kernel: SharedKernel,
    /// The loss, with its numbers.
    pub loss: String,
    /// m.
    pub exponent: f64,
    /// Rising.
    pub lambdas: Vec<f64>,
    /// The held-out measure at each λ.
    pub scores: Vec<f64>,
    /// Its standard error over the rows.
    pub standard_errors: Vec<f64>,
    /// After how many folds a λ was dropped because others were clearly better on the same rows: its score is the mean over those folds; after
    /// 0 folds, over the rows of the first by a model of some of its training rows. All folds: it was judged on them at a loose gap, and not within reach of
    /// the best. `None` for a λ that all folds judged closely.
    pub dropped: Vec<Option<usize>>,
    /// Which λ became the model's, if this trial did.
    pub chosen: Option<usize>,
}

impl Learned {
    /// What was found for the (first) model.
    pub fn summary(&self) -> &Summary {
        &self.model.summaries[0]
    }

    /// What is odd about the table, or about the model of it.
    pub fn notes(&self) -> Vec<Note> {
        let mut notes = match self.model.meaning() {
            Meaning::Classes { .. } => self.notes_of_classes(),
            Meaning::Numbers | Meaning::Quantiles { .. } => notes::of_targets(&self.design, &self.model.summaries),
        };
        notes.extend(notes::of_features(&self.design));
        notes
    }

    /// For linear functions with the logistic loss: the models (targets or classes) whose rows a linear function separates from all
    /// others. Without a penalty no coefficients are best then: they would grow without bound, and λ alone sets their size. Found
    /// from the function itself, which a penalty may keep from separating what could be.
    pub fn separated(&self) -> Vec<&str> {
        if self.model.kernel().linear_scale().is_none() {
            return Vec::new();
        }
        let rows = self.design.rows();
        let together = match self.model.meaning() {
            Meaning::Classes { probability: Probability::Softmax, .. } => self.fitted.len() as f64,
            _ => 0.0,
        };
        // Of a softmax only differences between classes mean something.
        let value = |t: usize, i: usize| {
            let own = self.fitted[t][i];
            if together > 0.0 { own - self.fitted.iter().map(|values| values[i]).sum::<f64>() / together } else { own }
        };
        let is_separated = |t: &usize| {
            let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
            for i in 0..rows {
                if self.outputs[*t][i] > 0.0 { low = low.min(value(*t, i)) } else { high = high.max(value(*t, i)) }
            }
            self.model.summaries[*t].loss == "logistic" && low > high && low.is_finite() && high.is_finite()
        };
        (0..self.fitted.len()).filter(is_separated).map(|t| self.model.summaries[t].target.as_str()).collect()
    }
}

/// The folds of a choice where nothing else is said.
fn usual_folds() -> FoldRule {
    FoldRule::random(5)
}

impl Learn {
    /// A fit with this loss and kernel: exponent 2, λ by five folds, with offset, features as they are (splines: scaled to
    /// the unit range). Several losses (see [`loss::parse`](crate::term::loss::parse)) give one model each.
    pub fn new(losses: Vec<SharedLoss>, kernel: impl Kernel + 'static) -> Self {
        Learn::with_shared(losses, Arc::new(kernel))
    }

    /// Like [`new`](Self::new), for a kernel that is shared already.
    pub fn with_shared(losses: Vec<SharedLoss>, kernel: SharedKernel) -> Self {
        Learn {
            losses: vec![losses],
            kernels: vec![kernel],
            exponents: vec![2.0],
            lambdas: None,
            criterion: Criterion::KFold(usual_folds()),
            measure: None,
            one_standard_error: false,
            refine: true,
            race: true,
            many: ManyClasses::default(),
            class_weights: ClassWeights::default(),
            classify: false,
            probabilities: false,
            non_crossing: false,
            tolerance: 1e-6,
            seed: 1,
            offset: true,
            scale: None,
            missing: Missing::Error,
            text_as: TextAs::OneHot,
            reduce: Reduce::IfNeeded,
            memory: None,
            observer: None,
        }
    }

    /// Losses to choose from, such as several ε; the measure must then be one that does not depend on them.
    pub fn losses(self, choices: Vec<Vec<SharedLoss>>) -> Self {
        Learn { losses: choices, ..self }
    }

    /// Kernels to choose from.
    pub fn kernels(self, kernels: Vec<SharedKernel>) -> Self {
        Learn { kernels, ..self }
    }

    /// m in λ‖f‖ᵐ, at least 1.
    pub fn exponent(self, exponent: f64) -> Self {
        self.exponents(&[exponent])
    }

    /// Exponents to choose from, rising.
    pub fn exponents(self, exponents: &[f64]) -> Self {
        Learn { exponents: exponents.to_vec(), ..self }
    }

    /// λ, above 0.
    pub fn lambda(self, lambda: f64) -> Self {
        self.lambdas(&[lambda])
    }

    /// λ to choose from, rising.
    pub fn lambdas(self, lambdas: &[f64]) -> Self {
        Learn { lambdas: Some(lambdas.to_vec()), ..self }
    }

    /// What choices are made by: folds, or `loo`, which is approximate for these losses.
    pub fn criterion(self, criterion: Criterion) -> Self {
        Learn { criterion, ..self }
    }

    /// What is measured on held-out rows; without it what suits the loss.
    pub fn measure(self, measure: Measure) -> Self {
        Learn { measure: Some(measure), ..self }
    }

    /// Takes the largest λ within one standard error of the best.
    pub fn one_standard_error(self) -> Self {
        Learn { one_standard_error: true, ..self }
    }

    /// Chooses among the given λ only, not between them.
    pub fn on_grid(self) -> Self {
        Learn { refine: false, ..self }
    }

    /// Chooses λ along the whole path, whatever was given, and judges all of it: [`Learned::tried`] then shows it.
    pub fn along_path(self) -> Self {
        Learn { lambdas: None, one_standard_error: false, refine: false, race: false, ..self }
    }

    /// Judges every point on every fold. Without it points that held-out rows show to be clearly worse are dropped early, which
    /// [`LearnTrial::dropped`] tells.
    pub fn every_point(self) -> Self {
        Learn { race: false, ..self }
    }

    /// What is done about more than two classes.
    pub fn many_classes(self, many: ManyClasses) -> Self {
        Learn { many, ..self }
    }

    /// Weights of whole classes. Probabilities that a loss states (logistic) are then those of classes with these weights;
    /// [`with_probabilities`](Self::with_probabilities) calibrates on the rows' own weights.
    pub fn class_weights(self, class_weights: ClassWeights) -> Self {
        Learn { class_weights, ..self }
    }

    /// Reads the target as classes also with a loss for numbers: labels ±1 with the squared loss, for example.
    pub fn classify(self) -> Self {
        Learn { classify: true, ..self }
    }

    /// Calibrates probabilities on held-out values, for losses that do not state them. Rows count by their own weights there,
    /// whatever the weights of their classes.
    pub fn with_probabilities(self) -> Self {
        Learn { probabilities: true, ..self }
    }

    /// Sorts the quantiles of each prediction, so that they never cross.
    pub fn non_crossing(self) -> Self {
        Learn { non_crossing: true, ..self }
    }

    /// The relative duality gap of the final answer, from 1e-13 to 0.1; 1e-6 if nothing is said.
    pub fn tolerance(self, tolerance: f64) -> Self {
        Learn { tolerance, ..self }
    }

    /// The seed with which folds are drawn.
    pub fn seed(self, seed: u64) -> Self {
        Learn { seed, ..self }
    }

    /// Without the offset b.
    pub fn without_offset(self) -> Self {
        Learn { offset: false, ..self }
    }

    /// How features are scaled.
    pub fn scale(self, scale: Scale) -> Self {
        Learn { scale: Some(scale), ..self }
    }

    /// What is done about missing cells.
    pub fn missing(self, missing: Missing) -> Self {
        Learn { missing, ..self }
    }

    /// How text columns are read.
    pub fn text_as(self, text_as: TextAs) -> Self {
        Learn { text_as, ..self }
    }

    /// Landmarks in the place of all rows: f is a sum over at most this many of them, chosen by randomly pivoted Cholesky. The
    /// duality gap is then that of the problem over such sums.
    pub fn rank(self, rank: usize) -> Self {
        Learn { reduce: Reduce::ToRank(rank), ..self }
    }

    /// All rows, however many there are: refused where memory does not suffice. Without it many rows are represented by
    /// landmarks.
    pub fn exact(self) -> Self {
        Learn { reduce: Reduce::Never, ..self }
    }

    /// Bytes that may be used; without it, what the system says is available.
    pub fn memory(self, bytes: u64) -> Self {
        Learn { memory: Some(bytes), ..self }
    }

    /// Told of every stage; may stop the fit.
    pub fn observer(self, observer: Observer) -> Self {
        Learn { observer: Some(observer), ..self }
    }

    /// Fits one target: `x` has one row per example. For classes the entries of `y` are their names.
    pub fn fit(&self, x: &Matrix, y: &[f64]) -> Result<Learned> {
        self.fit_weighted(x, &Matrix::column_vector(y.to_vec()), None)
    }

    /// Fits several targets (the columns of `y`), with row weights if there are any.
    pub fn fit_weighted(&self, x: &Matrix, y: &Matrix, weights: Option<&[f64]>) -> Result<Learned> {
        let (frame, roles) = Design::frame_of(x, y, weights)?;
        self.fit_frame(&frame, &roles)
    }

    /// Fits a table.
    pub fn fit_frame(&self, frame: &Frame, roles: &Roles) -> Result<Learned> {
        self.check_settings()?;
        if self.fixed().is_none() {
            return self.run(frame, roles);
        }
        // Among the threads that share the work: a caller from outside would wait for them, and wake them, at every step.
        rayon::scope(|_| self.run(frame, roles))
    }

    /// The choices that reading a table needs.
    fn encoding(&self) -> Encoding {
        Encoding::for_kernels(&self.kernels, self.scale, self.missing, self.text_as)
    }

    /// Whether the target is classes.
    fn reads_classes(&self) -> bool {
        self.classify || self.losses.iter().flatten().any(|loss| loss.reads() == Reads::Label)
    }

    /// λ and the exponent, when there is nothing to choose.
    fn fixed(&self) -> Option<(f64, f64)> {
        match (&self.exponents[..], self.lambdas.as_deref(), self.kernels.len(), self.losses.len()) {
            ([exponent], Some([lambda]), 1, 1) => Some((*exponent, *lambda)),
            _ => None,
        }
    }

    fn check_settings(&self) -> Result<()> {
        let is_empty = self.kernels.is_empty()
            || self.exponents.is_empty()
            || self.losses.is_empty()
            || self.losses.iter().any(Vec::is_empty)
            || self.lambdas.as_ref().is_some_and(Vec::is_empty);
        if is_empty {
            return Err(Error::Empty("there must be at least one kernel, loss, exponent and λ to choose from".into()));
        }
        let first = &self.losses[0];
        if self.losses.iter().any(|choice| choice.len() != first.len() || choice[0].reads() != first[0].reads()) {
            return Err(Error::argument("the losses to choose from", "all for numbers or all for classes", "both"));
        }
        if let Some(exponent) = self.exponents.iter().find(|m| !(1e-3..=1000.0).contains(*m)) {
            return Err(Error::argument("exponent", "at least 1 (to 1000)", exponent));
        }
        for exponent in &self.exponents {
            crate::solve::convex::exponent::check(*exponent, &first[0].spec())?;
        }
        check_rising("exponents", &self.exponents)?;
        check_lambdas(self.lambdas.as_deref().unwrap_or(&[]), 1e-100..=1e100)?;
        if !(1e-13..=0.1).contains(&self.tolerance) {
            return Err(Error::argument("tolerance", "from 1e-13 to 0.1, a relative duality gap", self.tolerance));
        }
        if !matches!(self.criterion, Criterion::KFold(_) | Criterion::LeaveOneOut) {
            let must = "kfold or loo (approximate) for this loss";
            return Err(Error::argument("criterion", must, self.criterion.spec()));
        }
        if self.reduce == Reduce::ToRank(0) {
            return Err(Error::argument("rank", "at least 1", 0));
        }
        if self.many == ManyClasses::Multinomial {
            if first[0].spec() != "logistic" {
                return Err(Error::argument("the loss of a multinomial model", "logistic", first[0].spec()));
            }
            if self.exponents != [2.0] {
                return Err(Error::argument("the exponent of a multinomial model", "2", self.exponents[0]));
            }
            if self.criterion == Criterion::LeaveOneOut {
                return Err(Error::argument("the criterion of a multinomial model", "kfold", "loo"));
            }
        }
        Ok(())
    }
}
