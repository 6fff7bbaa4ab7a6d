//! What the last fit of an automatic search would take.

use super::Outlook;
use crate::base::error::{Error, Result};
use crate::data::{Design, Frame, Roles, Scale};
use crate::fit::Reduce;
use crate::fit::automatic::{Automatic, DECOMPOSED_ROWS, MANY_ROWS};
use crate::fit::plan::fits;
use crate::fit::squares::SquaredFit;

impl Automatic {
    /// Bytes, seconds and certificate of every method for the fit to all rows that a search ends with, if it is the Gaussian kernel
    /// that it finds, and which one is taken. The search itself takes its budget.
    pub fn forecast(&self, frame: &Frame, roles: &Roles) -> Result<Outlook> {
        let design = Design::new(frame, roles, self.encoding(Scale::Standard))?;
        let (fit, reason) = self.last_fit(&design)?;
        let mut outlook = fit.forecast_design(&design)?;
        // The search needs more than the fit that it ends with.
        match self.check_memory(&design) {
            Err(error @ Error::Memory { .. }) => {
                outlook.methods.iter_mut().for_each(|method| method.is_chosen = false);
                return Ok(Outlook { reason: error.to_string(), ..outlook });
            }
            other => other?,
        }
        let reason = reason.filter(|_| outlook.chosen().is_some()).unwrap_or_else(|| outlook.reason.clone());
        Ok(Outlook { reason, ..outlook })
    }

    /// Whether a search on these rows, and the fit that it ends with, stay within the memory that they may use.
    pub fn fits_into_memory(&self, design: &Design) -> Result<bool> {
        Ok(fits(self.check_memory(design))? && self.last_fit(design)?.0.fits_into_memory(design)?)
    }

    /// The fit that a search ends with, if it finds the Gaussian kernel, and why it is this one.
    fn last_fit(&self, design: &Design) -> Result<(SquaredFit, Option<String>)> {
        let fit = self.fit_of("gaussian", Scale::Standard)?;
        if self.is_reduced(design) {
            let fit = SquaredFit { exponents: self.exponents_of_many(), ..fit };
            return Ok(match self.reduce {
                Reduce::IfNeeded => {
                    let reason = format!("a search ends on landmarks where there are more than {MANY_ROWS} rows");
                    (SquaredFit { reduce: Reduce::Always, ..fit }, Some(reason))
                }
                _ => (fit, None),
            });
        }
        if self.has_chosen_lambda(design) {
            // Any λ: the method does not depend on it.
            let reason = "λ is already chosen when this fit runs, so one factorisation suffices";
            let fit = SquaredFit { exponents: vec![2.0], lambdas: Some(vec![1.0]), ..fit };
            return Ok((fit, Some(reason.to_owned())));
        }
        Ok((fit, None))
    }

    /// Whether λ and the exponent are known before the last fit.
    fn has_chosen_lambda(&self, design: &Design) -> bool {
        design.rows() > DECOMPOSED_ROWS && design.weights.is_none() && self.exponents_of_many() == [2.0]
    }
}
