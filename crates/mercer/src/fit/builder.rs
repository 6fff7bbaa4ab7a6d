//! [`Fit`]: every setting once, with its meaning and its default.

use std::sync::Arc;
use std::time::Duration;

use super::automatic::SearchObserver;
use super::losses::{ClassWeights, ManyClasses, Measure};
use super::squares::Solver;
use super::{Engine, Reduce};
use crate::base::error::{Error, Result};
use crate::base::journal::SharedJournal;
use crate::base::watch::Observer;
use crate::choose::metric::Rule;
use crate::data::{Design, Frame, Missing, Roles, Scale, TextAs};
use crate::solve::constrained::Constraint;
use crate::space::low_rank::Landmarks;
use crate::term::criterion::Criterion;
use crate::term::kernel::product::Linear;
use crate::term::kernel::{Kernel, SharedKernel, kernel_for};
use crate::term::loss::SharedLoss;
use crate::term::penalty::Penalty;

/// A problem, and how its solution is chosen, computed and followed. Nothing is computed until one of the `fit` methods is
/// called.
///
/// ```
/// use mercer::prelude::*;
///
/// let x = Matrix::from_fn(40, 1, |i, _| i as f64 / 10.0);
/// let y: Vec<f64> = (0..40).map(|i| (i as f64 / 10.0).sin()).collect();
///
/// // Kernel ridge regression with exponent 1.5, λ by exact leave-one-out.
/// let fitted = Fit::new(Gaussian::lengthscale(1.0)).exponent(1.5).fit(&x, &y)?;
/// assert!(fitted.summary().loo_rmse.unwrap() < 1e-3);
///
/// // The same function space with another loss: λ by five folds, a duality gap as certificate.
/// let absolute = Fit::new(Gaussian::lengthscale(1.0)).loss(mercer::loss::parse("absolute")?).fit(&x, &y)?;
/// assert!(absolute.summary().certificate.duality_gap.unwrap() < 1e-6);
///
/// // A linear function with another penalty.
/// let lasso = Fit::linear().penalty(mercer::penalty::Penalty::Lasso).lambda(0.01).fit(&x, &y)?;
/// assert_eq!(lasso.summary().support, Some(1));
/// # Ok::<(), mercer::Error>(())
/// ```
#[derive(Clone)]
pub struct Fit {
    pub(super) problem: Problem,
    pub(super) choice: Choice,
    pub(super) reading: Reading,
    pub(super) limits: Limits,
    pub(super) watch: Watch,
}

/// What is minimised: (1/W) Σ w ℓ(y, f(x) + b) + Ω(f) over the functions f of a space and an offset b.
#[derive(Debug, Clone)]
pub struct Problem {
    /// Where f is sought.
    pub space: Space,
    /// ℓ: choices, each with one loss for every model (several quantiles); none means the squared loss.
    pub losses: Vec<Vec<SharedLoss>>,
    /// Ω.
    pub penalty: Penalty,
    /// m of the penalty λ‖f‖ᵐ; choices, rising. `None`: 2, or what the automatic search tries.
    pub exponents: Option<Vec<f64>>,
    /// Whether the offset b is part of the problem.
    pub offset: bool,
    /// With several targets: one effective ridge for all of them.
    pub shared_ridge: bool,
    /// A bound on the norm or the training error, instead of λ.
    pub constraint: Option<Constraint>,
    /// Whether predictions are kept within the range of the training targets.
    pub clip: bool,
    /// Whether the target is classes also where the loss is for numbers.
    pub classify: bool,
    /// More than two classes; `None`: one against the rest.
    pub many_classes: Option<ManyClasses>,
    /// Weights of whole classes.
    pub class_weights: ClassWeights,
    /// Whether probabilities are calibrated for losses that state none.
    pub probabilities: bool,
    /// Whether the quantiles of a prediction are sorted.
    pub non_crossing: bool,
}

/// Where f is sought.
#[derive(Debug, Clone)]
pub enum Space {
    /// The space of a kernel; several are choices.
    Kernels(Vec<SharedKernel>),
    /// Linear functions of the features, or of all their monomials up to a degree.
    Linear {
        /// 1 for the features themselves.
        degree: usize,
    },
    /// Kernel families and their metrics are searched.
    Automatic,
}

impl Space {
    /// The kernels to choose from; a linear function has one.
    pub(super) fn kernels(&self) -> Vec<SharedKernel> {
        match self {
            Space::Kernels(kernels) => kernels.clone(),
            Space::Linear { .. } => vec![Arc::new(Linear)],
            Space::Automatic => Vec::new(),
        }
    }

    pub(super) fn degree(&self) -> usize {
        if let Space::Linear { degree } = self { *degree } else { 1 }
    }
}

/// What decides among candidates. `None` stands for the engine's default; `docs/selection.md` has the table of defaults.
#[derive(Clone)]
pub(super) struct Choice {
    pub lambdas: Option<Vec<f64>>,
    pub criterion: Option<Criterion>,
    pub measure: Option<Measure>,
    pub on_grid: bool,
    pub preferred: Option<f64>,
    pub one_standard_error: bool,
    pub every_point: bool,
    pub metric: Option<Rule>,
    pub unlabelled: Option<Frame>,
    pub seed: u64,
}

/// How a table is read.
#[derive(Clone)]
pub(super) struct Reading {
    pub scale: Option<Scale>,
    pub missing: Missing,
    pub text_as: TextAs,
}

/// What may be spent, and how closely is solved.
#[derive(Clone)]
pub(super) struct Limits {
    pub memory: Option<u64>,
    pub reduce: Reduce,
    pub landmarks_by: Option<Landmarks>,
    pub solver: Solver,
    pub accuracy_of_gradients: Option<f64>,
    pub tolerance: Option<f64>,
    pub diagnostics: bool,
    pub keep_spectrum: bool,
    pub budget: Option<Duration>,
}

/// Progress, cancellation and the journal.
#[derive(Clone, Default)]
pub(super) struct Watch {
    pub observer: Option<Observer>,
    pub search_observer: Option<SearchObserver>,
    pub journal: Option<SharedJournal>,
}

impl std::fmt::Debug for Fit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Fit")
            .field("problem", &self.problem)
            .field("lambdas", &self.choice.lambdas)
            .field("criterion", &self.choice.criterion)
            .finish_non_exhaustive()
    }
}

impl Fit {
    /// A fit in the space of this kernel: squared loss, penalty λ‖f‖², λ chosen, with offset, features as they are (splines:
    /// scaled to the unit range).
    pub fn new(kernel: impl Kernel + 'static) -> Self {
        Fit::with_shared(Arc::new(kernel))
    }

    /// Like [`new`](Self::new), for a kernel that is shared already, such as one from
    /// [`kernel::parse`](crate::kernel::parse).
    pub fn with_shared(kernel: SharedKernel) -> Self {
        Fit::of(Space::Kernels(vec![kernel]))
    }

    /// A fit of a linear function xᵀw + b.
    pub fn linear() -> Self {
        Fit::of(Space::Linear { degree: 1 })
    }

    /// A fit whose kernel, metric, exponent and λ are searched within a budget; features are standardised.
    pub fn automatic() -> Self {
        Fit::of(Space::Automatic)
    }

    fn of(space: Space) -> Self {
        Fit {
            problem: Problem {
                space,
                losses: Vec::new(),
                penalty: Penalty::NormPower,
                exponents: None,
                offset: true,
                shared_ridge: false,
                constraint: None,
                clip: false,
                classify: false,
                many_classes: None,
                class_weights: ClassWeights::default(),
                probabilities: false,
                non_crossing: false,
            },
            choice: Choice {
                lambdas: None,
                criterion: None,
                measure: None,
                on_grid: false,
                preferred: None,
                one_standard_error: false,
                every_point: false,
                metric: None,
                unlabelled: None,
                seed: 1,
            },
            reading: Reading { scale: None, missing: Missing::Error, text_as: TextAs::OneHot },
            limits: Limits {
                memory: None,
                reduce: Reduce::IfNeeded,
                landmarks_by: None,
                solver: Solver::Suitable,
                accuracy_of_gradients: None,
                tolerance: None,
                diagnostics: true,
                keep_spectrum: false,
                budget: None,
            },
            watch: Watch::default(),
        }
    }

    /// What is minimised.
    pub fn problem(&self) -> &Problem {
        &self.problem
    }

    /// The rows as this fit reads them, and its kernel, which must be the only one, with the numbers that they give it.
    #[doc(hidden)]
    pub fn prepared(&self, frame: &Frame, roles: &Roles) -> Result<(Design, SharedKernel)> {
        let engine = self.engine()?;
        if engine != Engine::Squared {
            return Err(Error::Combination {
                setting: "a split".into(),
                with: engine.describe().into(),
                because: "it reads every exponent and λ off one decomposition".into(),
            });
        }
        let kernels = self.problem.space.kernels();
        let [kernel] = &kernels[..] else {
            return Err(Error::argument("the kernel of a split", "a single one", kernels.len()));
        };
        let design = Design::new(frame, roles, self.squared().encoding())?;
        let kernel = kernel_for(kernel, &design)?;
        Ok((design, kernel))
    }
}

/// What is minimised.
impl Fit {
    /// Kernels to choose from. All must read the table alike: splines cannot be mixed with others unless the scaling is given.
    #[must_use]
    pub fn kernels(mut self, kernels: Vec<SharedKernel>) -> Self {
        self.problem.space = Space::Kernels(kernels);
        self
    }

    /// All monomials of the (scaled) features up to this degree become the features of a linear function.
    #[must_use]
    pub fn degree(mut self, degree: usize) -> Self {
        self.problem.space = Space::Linear { degree };
        self
    }

    /// The loss; several (see [`loss::parse`](crate::loss::parse)) give one model each, such as several quantiles. Without it
    /// the squared loss.
    #[must_use]
    pub fn loss(self, losses: Vec<SharedLoss>) -> Self {
        self.losses(vec![losses])
    }

    /// Losses to choose from, such as several ε; the measure must then be one that does not depend on them.
    #[must_use]
    pub fn losses(mut self, choices: Vec<Vec<SharedLoss>>) -> Self {
        self.problem.losses = choices;
        self
    }

    /// The penalty; λ‖f‖ᵐ without it. Lasso, elastic net, Tikhonov and none are for linear functions.
    #[must_use]
    pub fn penalty(mut self, penalty: Penalty) -> Self {
        self.problem.penalty = penalty;
        self
    }

    /// m in λ‖f‖ᵐ, above 0 (from 0.001 to 1000); at least 1 with other losses than the squared one.
    #[must_use]
    pub fn exponent(self, exponent: f64) -> Self {
        self.exponents(&[exponent])
    }

    /// Exponents to choose from, rising.
    #[must_use]
    pub fn exponents(mut self, exponents: &[f64]) -> Self {
        self.problem.exponents = Some(exponents.to_vec());
        self
    }

    /// Without the offset b.
    #[must_use]
    pub fn without_offset(mut self) -> Self {
        self.problem.offset = false;
        self
    }

    /// With several targets: one effective ridge for all, ‖f‖² = Σ‖f_t‖², instead of one each.
    #[must_use]
    pub fn shared_ridge(mut self) -> Self {
        self.problem.shared_ridge = true;
        self
    }

    /// The ridge solution that satisfies a constraint, instead of a λ: Ivanov's and Morozov's forms.
    #[must_use]
    pub fn subject_to(mut self, constraint: Constraint) -> Self {
        self.problem.constraint = Some(constraint);
        self.keep_spectrum()
    }

    /// Keeps predictions within the range of the training targets. Leave-one-out and folds, and with them what is chosen,
    /// count them so: each with the range of the rows that are left. Functions, norms and bounds are those of f itself.
    #[must_use]
    pub fn clip(mut self) -> Self {
        self.problem.clip = true;
        self
    }

    /// Reads the target as classes also with a loss for numbers: labels ±1 with the squared loss, for example.
    #[must_use]
    pub fn classify(mut self) -> Self {
        self.problem.classify = true;
        self
    }

    /// What is done about more than two classes.
    #[must_use]
    pub fn many_classes(mut self, many: ManyClasses) -> Self {
        self.problem.many_classes = Some(many);
        self
    }

    /// Weights of whole classes. Probabilities that a loss states (logistic) are then those of classes with these weights;
    /// [`with_probabilities`](Self::with_probabilities) calibrates on the rows' own weights.
    #[must_use]
    pub fn class_weights(mut self, weights: ClassWeights) -> Self {
        self.problem.class_weights = weights;
        self
    }

    /// Calibrates probabilities on held-out values, for losses that do not state them. Rows count by their own weights there,
    /// whatever the weights of their classes.
    #[must_use]
    pub fn with_probabilities(mut self) -> Self {
        self.problem.probabilities = true;
        self
    }

    /// Sorts the quantiles of each prediction, so that they never cross.
    #[must_use]
    pub fn non_crossing(mut self) -> Self {
        self.problem.non_crossing = true;
        self
    }
}

/// What chooses among candidates.
impl Fit {
    /// λ, above 0. Without it, λ minimises the criterion.
    #[must_use]
    pub fn lambda(self, lambda: f64) -> Self {
        self.lambdas(&[lambda])
    }

    /// λ to choose from, rising (and between them, unless [`on_grid`](Self::on_grid)).
    #[must_use]
    pub fn lambdas(mut self, lambdas: &[f64]) -> Self {
        self.choice.lambdas = Some(lambdas.to_vec());
        self
    }

    /// What λ, exponent, loss and kernel are chosen by. Without it exact leave-one-out; five folds with other losses, ten with
    /// other penalties. With rows that have groups ([`Roles::group`](crate::data::Roles::group)) whole groups are left out.
    #[must_use]
    pub fn criterion(mut self, criterion: Criterion) -> Self {
        self.choice.criterion = Some(criterion);
        self
    }

    /// What is measured on held-out rows with other losses; without it what suits the loss.
    #[must_use]
    pub fn measure(mut self, measure: Measure) -> Self {
        self.choice.measure = Some(measure);
        self
    }

    /// Chooses among the given exponents and λ only, not between them.
    #[must_use]
    pub fn on_grid(mut self) -> Self {
        self.choice.on_grid = true;
        self
    }

    /// Keeps to this exponent unless another is better by more than one per cent of the squared error.
    #[must_use]
    pub fn preferring(mut self, exponent: f64) -> Self {
        self.choice.preferred = Some(exponent);
        self
    }

    /// Takes the largest λ whose criterion is within one standard error of the best.
    #[must_use]
    pub fn one_standard_error(mut self) -> Self {
        self.choice.one_standard_error = true;
        self
    }

    /// Judges every point on every fold. Without it, points of other losses that held-out rows show to be clearly worse are
    /// dropped early, which [`Curve::dropped`](super::Curve::dropped) tells.
    #[must_use]
    pub fn every_point(mut self) -> Self {
        self.choice.every_point = true;
        self
    }

    /// Chooses λ along the whole path, whatever was given, and judges all of it: [`Fitted::tried`](super::Fitted::tried) then
    /// shows it. For other losses and penalties.
    #[must_use]
    pub fn along_path(mut self) -> Self {
        let is_loss = matches!(self.named_engine(), Ok(Engine::Loss));
        self.choice = Choice {
            lambdas: None,
            one_standard_error: false,
            on_grid: is_loss || self.choice.on_grid,
            every_point: is_loss || self.choice.every_point,
            ..self.choice
        };
        self
    }

    /// Learns the metric of the kernel, which must be a function of a distance, before λ and the exponent are chosen; from
    /// 1,500 rows at most.
    #[must_use]
    pub fn learn_metric(mut self, rule: Rule) -> Self {
        self.choice.metric = Some(rule);
        self
    }

    /// Rows without target, for the criteria `dee`, `tri` and `adj`.
    #[must_use]
    pub fn unlabelled(mut self, frame: Frame) -> Self {
        self.choice.unlabelled = Some(frame);
        self
    }

    /// The seed of folds, subsets and landmarks.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.choice.seed = seed;
        self
    }
}

/// How a table is read.
impl Fit {
    /// How features are scaled. Without it they are taken as they are; splines scale them to the unit range, and the automatic
    /// search standardises them.
    #[must_use]
    pub fn scale(mut self, scale: Scale) -> Self {
        self.reading.scale = Some(scale);
        self
    }

    /// What is done about missing cells.
    #[must_use]
    pub fn missing(mut self, missing: Missing) -> Self {
        self.reading.missing = missing;
        self
    }

    /// How text columns are read. With [`TextAs::Equality`] a kernel that does not mention `equality` is multiplied by it.
    #[must_use]
    pub fn text_as(mut self, text_as: TextAs) -> Self {
        self.reading.text_as = text_as;
        self
    }
}

/// What may be spent, and how closely is solved.
impl Fit {
    /// Bytes that may be used; without it, what the system says is available.
    #[must_use]
    pub fn memory(mut self, bytes: u64) -> Self {
        self.limits.memory = Some(bytes);
        self
    }

    /// The time that the automatic search may take (60 s without it); the final fit may add a little.
    #[must_use]
    pub fn budget(mut self, budget: Duration) -> Self {
        self.limits.budget = Some(budget);
        self
    }

    /// Landmarks instead of all rows: f is a sum over at most this many of them.
    #[must_use]
    pub fn rank(mut self, rank: usize) -> Self {
        self.limits.reduce = Reduce::ToRank(rank);
        self
    }

    /// As many landmarks as are needed for predictions within `accuracy` of the exact ones at the training rows, in units of the
    /// target's spread, as far as that can be certified.
    #[must_use]
    pub fn accuracy(mut self, accuracy: f64) -> Self {
        self.limits.reduce = Reduce::ToAccuracy(accuracy);
        self
    }

    /// All rows, however many there are. Where memory has no room for the kernel matrix, the squared loss is solved by conjugate
    /// gradients (up to 100,000 rows, exponents above 1); otherwise the fit is refused. Without this setting many rows are
    /// represented by landmarks.
    #[must_use]
    pub fn exact(mut self) -> Self {
        self.limits.reduce = Reduce::Never;
        self
    }

    /// How landmarks are chosen, where they stand for all rows. Without it: centres of clusters (k-means) where there are enough
    /// rows and they have means, random pivots otherwise and for an [`accuracy`](Self::accuracy).
    #[must_use]
    pub fn landmarks_by(mut self, by: Landmarks) -> Self {
        self.limits.landmarks_by = Some(by);
        self
    }

    /// All rows by conjugate gradients, without the Gram matrix: every exponent above 1. λ is given, or chosen on landmarks. No
    /// leave-one-out and no degrees of freedom: those need the matrix.
    #[must_use]
    pub fn conjugate_gradients(mut self) -> Self {
        self.limits.reduce = Reduce::Never;
        self.limits.solver = Solver::ConjugateGradients;
        self
    }

    /// The error of predictions, in units of the target's spread, at which conjugate gradients end, on all rows or on thousands
    /// of landmarks: from 1e-13 to 1e-3, 1e-8 without this setting. Refused where nothing is solved by them.
    #[must_use]
    pub fn accuracy_of_gradients(mut self, accuracy: f64) -> Self {
        self.limits.accuracy_of_gradients = Some(accuracy);
        self
    }

    /// The relative duality gap of the final answer, from 1e-13 to 0.1. Without it 1e-6 with other losses, 1e-8 with other
    /// penalties; the squared loss with λ‖f‖ᵐ has a certificate of digits instead.
    #[must_use]
    pub fn tolerance(mut self, tolerance: f64) -> Self {
        self.limits.tolerance = Some(tolerance);
        self
    }

    /// Coefficients only: without degrees of freedom and leave-one-out where those cost extra (λ given, exponent 2, many rows).
    #[must_use]
    pub fn without_diagnostics(mut self) -> Self {
        self.limits.diagnostics = false;
        self
    }

    /// Decomposes fully, so that [`Fitted::spectrum`](super::Fitted::spectrum) and [`Fitted::path`](super::Fitted::path) are
    /// there, also where something quicker would do.
    #[must_use]
    pub fn keep_spectrum(mut self) -> Self {
        self.limits.keep_spectrum = true;
        self
    }
}

/// Progress, cancellation and the journal.
impl Fit {
    /// Called with the name of every stage; returning `false` cancels the fit.
    #[must_use]
    pub fn observer(mut self, observer: Observer) -> Self {
        self.watch.observer = Some(observer);
        self
    }

    /// Called whenever the automatic search has learned or judged a candidate.
    #[must_use]
    pub fn search_observer(mut self, observer: SearchObserver) -> Self {
        self.watch.search_observer = Some(observer);
        self
    }

    /// Remembers finished pieces of work, so that a stopped selection can go on.
    #[must_use]
    pub fn journal(mut self, journal: SharedJournal) -> Self {
        self.watch.journal = Some(journal);
        self
    }
}
