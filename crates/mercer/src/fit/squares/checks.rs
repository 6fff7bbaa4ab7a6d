//! What a fit refuses before it looks at any row.

use super::{Reduce, Solver, SquaredFit};
use crate::base::error::{Error, Result};
use crate::base::range::check_powers;
use crate::fit::plan::Shape;
use crate::term::criterion::Criterion;
use crate::term::criterion::formula::Formula;

impl SquaredFit {
    /// Refuses what makes no sense row by row.
    pub(crate) fn check_for_stream(&self) -> Result<()> {
        self.check_settings()?;
        if self.lambdas.as_ref().is_some_and(|lambdas| lambdas.len() > 1) {
            return Err(Error::argument("λ of a stream", "one number, or none to have it chosen", "several"));
        }
        if let Some(constraint) = &self.constraint {
            return Err(Error::argument("a stream", "penalised by λ‖f‖ᵐ, not constrained", constraint.describe()));
        }
        if self.criterion.needs_unlabelled() {
            let must = "one that needs no rows without target";
            return Err(Error::argument("the criterion of a stream", must, self.criterion.spec()));
        }
        match self.kernels.iter().find(|kernel| kernel.is_precomputed()) {
            Some(kernel) => Err(Error::argument("the kernel of a stream", "a function of two rows", kernel.spec())),
            None => Ok(()),
        }
    }

    /// Refuses more exact rows than there is memory for.
    pub(crate) fn check_stream_memory(&self, rows: usize, features: usize) -> Result<()> {
        self.check_memory(&Shape { is_linear: false, ..self.shape(rows, features, 1, false) }).map(|_| ())
    }

    pub(super) fn check_settings(&self) -> Result<()> {
        if self.kernels.is_empty() || self.exponents.is_empty() || self.lambdas.as_ref().is_some_and(Vec::is_empty) {
            return Err(Error::Empty(
                "there must be at least one kernel, one exponent and one λ to choose from".into(),
            ));
        }
        check_powers(&self.exponents, self.lambdas.as_deref().unwrap_or(&[]))?;
        if let Some(accuracy) = self.accuracy_of_gradients.filter(|accuracy| !(1e-13..=1e-3).contains(accuracy)) {
            let must = "from 1e-13 to 1e-3, an error in units of the target's spread";
            return Err(Error::argument("the accuracy of conjugate gradients", must, accuracy));
        }
        if self.solver == Solver::ConjugateGradients {
            if let Some((must, found)) = self.against_gradients() {
                return Err(Error::argument("conjugate gradients", must, found));
            }
            if let (Some(by), Some(_)) = (self.landmarks_by, self.fixed()) {
                let must = "left open where λ is given to conjugate gradients: there are no landmarks to choose it on";
                return Err(Error::argument("how landmarks are chosen", must, by.name()));
            }
        }
        match self.reduce {
            Reduce::ToRank(0) => return Err(Error::argument("rank", "at least 1", 0)),
            Reduce::ToAccuracy(accuracy) if !(accuracy > 0.0 && accuracy.is_finite()) => {
                return Err(Error::argument("accuracy", "above 0", accuracy));
            }
            Reduce::ToAccuracy(_) if self.exponents.iter().all(|m| *m <= 1.0) => {
                let must = "above 1 for an accuracy, since nothing is proved of others";
                return Err(Error::argument("the exponent", must, self.exponents[0]));
            }
            _ => {}
        }
        if let (Reduce::ToRank(_) | Reduce::ToAccuracy(_), Some((must, found))) =
            (self.reduce, self.against_landmarks())
        {
            return Err(Error::argument("a rank or an accuracy", must, found));
        }
        if self.metric.is_some() && self.kernels.len() > 1 {
            return Err(Error::argument("the kernel whose metric is learned", "a single one", self.kernels.len()));
        }
        if let Some(constraint) = &self.constraint {
            constraint.check()?;
            if self.lambdas.is_some() || self.exponents != [2.0] || self.kernels.len() > 1 {
                let must = "the only thing that decides λ: without a λ, with exponent 2 and a single kernel";
                return Err(Error::argument("the constraint", must, constraint.describe()));
            }
        }
        if self.criterion.needs_unlabelled() && self.unlabelled.is_none() {
            let got = format!("the criterion {} without any", self.criterion.spec());
            return Err(Error::argument("rows without target", "given for this criterion", got));
        }
        Ok(())
    }

    /// The first condition of conjugate gradients that does not hold, and what was found in its place.
    pub(super) fn against_gradients(&self) -> Option<(&'static str, String)> {
        if let Some(exponent) = self.exponents.iter().find(|m| !(**m > 1.0)) {
            return Some(("used with exponents above 1", format!("the exponent {exponent}")));
        }
        if let Some(constraint) = &self.constraint {
            return Some(("used with the penalty λ‖f‖ᵐ", constraint.describe()));
        }
        if self.keep_spectrum {
            return Some(("used where the spectrum is not kept", "a fit that keeps it".to_owned()));
        }
        self.against_landmarks()
    }

    /// The same for landmarks in the place of all rows.
    pub(super) fn against_landmarks(&self) -> Option<(&'static str, String)> {
        if self.criterion == Criterion::Formula(Formula::Likelihood) {
            let must = "used with a criterion that does not need the determinant of the whole kernel matrix";
            return Some((must, format!("the criterion {}", self.criterion.spec())));
        }
        if self.unlabelled.is_some() {
            let found = format!("such rows, for the criterion {}", self.criterion.spec());
            return Some(("used without rows that have no target", found));
        }
        let precomputed = self.kernels.iter().find(|kernel| kernel.is_precomputed());
        precomputed.map(|kernel| ("used with a kernel that has a formula", format!("the kernel {}", kernel.spec())))
    }
}
