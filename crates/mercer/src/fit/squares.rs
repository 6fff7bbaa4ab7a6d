//! The squared loss with λ‖f‖ᵐ: kernel, exponent and λ, each given or chosen by a criterion, make a model.

mod checks;
mod method;
mod outlook;
mod run;

use super::{Fitted, Reduce};
use crate::base::error::Result;
use crate::base::journal::SharedJournal;
use crate::base::watch::Observer;
use crate::choose::metric::Rule;
use crate::data::{Design, Encoding, Frame, Missing, Roles, Scale, TextAs};
use crate::linalg::Matrix;
use crate::solve::constrained::Constraint;
use crate::space::low_rank::Landmarks;
use crate::term::criterion::Criterion;
use crate::term::kernel::SharedKernel;

/// What the front door knows of such a fit; [`Fit`](super::Fit) says what each setting means.
#[derive(Clone)]
pub(crate) struct SquaredFit {
    pub(in crate::fit) kernels: Vec<SharedKernel>,
    pub(in crate::fit) exponents: Vec<f64>,
    pub(in crate::fit) lambdas: Option<Vec<f64>>,
    pub(in crate::fit) criterion: Criterion,
    pub(in crate::fit) refine: bool,
    pub(in crate::fit) preferred: Option<f64>,
    pub(in crate::fit) one_standard_error: bool,
    pub(in crate::fit) unlabelled: Option<Frame>,
    pub(in crate::fit) seed: u64,
    pub(in crate::fit) journal: Option<SharedJournal>,
    pub(in crate::fit) offset: bool,
    pub(in crate::fit) scale: Option<Scale>,
    pub(in crate::fit) missing: Missing,
    pub(in crate::fit) text_as: TextAs,
    pub(in crate::fit) shared_ridge: bool,
    pub(in crate::fit) diagnostics: bool,
    pub(in crate::fit) clip: bool,
    pub(in crate::fit) keep_spectrum: bool,
    pub(in crate::fit) reduce: Reduce,
    pub(in crate::fit) solver: Solver,
    /// `None`: [`ACCURACY_OF_GRADIENTS`].
    pub(in crate::fit) accuracy_of_gradients: Option<f64>,
    pub(in crate::fit) landmarks_by: Option<Landmarks>,
    pub(in crate::fit) metric: Option<Rule>,
    pub(in crate::fit) constraint: Option<Constraint>,
    pub(in crate::fit) memory: Option<u64>,
    pub(in crate::fit) observer: Option<Observer>,
}

impl std::fmt::Debug for SquaredFit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let kernels: Vec<String> = self.kernels.iter().map(|kernel| kernel.spec()).collect();
        write!(f, "SquaredFit({}, exponents {:?}, lambdas {:?})", kernels.join(" | "), self.exponents, self.lambdas)
    }
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

impl SquaredFit {
    /// Fits several targets (the columns of `y`), with row weights if there are any.
    pub(super) fn fit_weighted(&self, x: &Matrix, y: &Matrix, weights: Option<&[f64]>) -> Result<Fitted> {
        self.check_settings()?;
        self.check_memory(&self.shape(x.rows(), x.cols(), y.cols(), weights.is_some()))?;
        self.fit_design(Design::from_matrix(x, y, weights, self.encoding())?)
    }

    /// Fits a table.
    pub(super) fn fit_frame(&self, frame: &Frame, roles: &Roles) -> Result<Fitted> {
        self.check_settings()?;
        self.fit_design(Design::new(frame, roles, self.encoding())?)
    }

    /// The choices that reading a table needs.
    pub(crate) fn encoding(&self) -> Encoding {
        Encoding::for_kernels(&self.kernels, self.scale, self.missing, self.text_as)
    }

    /// Whether b is part of the problem.
    pub(crate) fn has_offset(&self) -> bool {
        self.offset
    }

    /// The same fit with what is chosen but λ.
    pub(crate) fn at(&self, kernel: SharedKernel, exponent: f64) -> Self {
        SquaredFit { kernels: vec![kernel], exponents: vec![exponent], metric: None, journal: None, ..self.clone() }
    }
}
