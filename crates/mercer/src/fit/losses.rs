//! Any convex loss but the squared one, for numbers, quantiles and classes.
//!
//! Minimises (1/W) Σ w ℓ(y, f(x) + b) + λ‖f‖ᵐ, m ≥ 1, with a duality gap on every answer, and chooses λ, the loss's own
//! numbers, the exponent and the kernel by folds or by approximate leave-one-out.

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

use crate::base::error::{Error, Result};
use crate::base::range::{check_lambdas, check_rising};
use crate::base::watch::Observer;
use crate::data::{Encoding, Frame, Missing, Roles, Scale, TextAs};
use crate::fit::{Engaged, Fitted, Reduce};
use crate::model::{Meaning, Probability};
use crate::term::criterion::{Criterion, FoldRule};
use crate::term::kernel::SharedKernel;
use crate::term::loss::{Reads, SharedLoss};

pub use left_out::LeftOut;
pub use measure::Measure;

/// What the front door knows of a fit with another loss; [`Fit`](super::Fit) says what each setting means.
#[derive(Clone)]
pub(crate) struct LossFit {
    /// Choices; each has one loss per model that is fitted (several quantiles).
    pub(super) losses: Vec<Vec<SharedLoss>>,
    pub(super) kernels: Vec<SharedKernel>,
    pub(super) exponents: Vec<f64>,
    pub(super) lambdas: Option<Vec<f64>>,
    pub(super) criterion: Criterion,
    pub(super) measure: Option<Measure>,
    pub(super) one_standard_error: bool,
    pub(super) refine: bool,
    pub(super) race: bool,
    pub(super) many: ManyClasses,
    pub(super) class_weights: ClassWeights,
    pub(super) classify: bool,
    pub(super) probabilities: bool,
    pub(super) non_crossing: bool,
    pub(super) tolerance: f64,
    pub(super) seed: u64,
    pub(super) offset: bool,
    pub(super) scale: Option<Scale>,
    pub(super) missing: Missing,
    pub(super) text_as: TextAs,
    pub(super) reduce: Reduce,
    pub(super) memory: Option<u64>,
    pub(super) observer: Option<Observer>,
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

impl Fitted {
    /// What each model of another loss was fitted to: numbers, or 1 for its class and −1 for the others; empty for the squared
    /// loss.
    pub fn outputs(&self) -> &[Vec<f64>] {
        if let Engaged::Loss { outputs, .. } = &self.engaged { outputs } else { &[] }
    }

    /// For linear functions with the logistic loss: the models (targets or classes) whose rows a linear function separates from all
    /// others. Without a penalty no coefficients are best then: they would grow without bound, and λ alone sets their size. Found
    /// from the function itself, which a penalty may keep from separating what could be.
    pub fn separated(&self) -> Vec<&str> {
        let outputs = self.outputs();
        if outputs.is_empty() || self.model.kernel().linear_scale().is_none() {
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
                if outputs[*t][i] > 0.0 { low = low.min(value(*t, i)) } else { high = high.max(value(*t, i)) }
            }
            self.model.summaries[*t].loss == "logistic" && low > high && low.is_finite() && high.is_finite()
        };
        (0..self.fitted.len()).filter(is_separated).map(|t| self.model.summaries[t].target.as_str()).collect()
    }
}

/// The folds of a choice where nothing else is said.
pub(super) fn usual_folds() -> FoldRule {
    FoldRule::random(5)
}

impl LossFit {
    /// Fits a table.
    pub(super) fn fit_frame(&self, frame: &Frame, roles: &Roles) -> Result<Fitted> {
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
