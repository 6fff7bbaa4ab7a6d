//! Constrained twins of the ridge problem: both are points of its path, found by one root search.
//!
//! Ivanov: min (1/W) Σ w(y − f − b)² subject to ‖f‖ ≤ τ. Morozov: min ‖f‖ subject to the root mean squared training error
//! being at most δ. ‖f_μ‖ falls with μ and the training error rises, so each has one ridge at which its constraint is met
//! with equality, if it binds at all.

use crate::error::{Error, Result};
use crate::spectrum::Path;

/// What is held, in the place of a λ.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Constraint {
    /// Ivanov: ‖f‖ ≤ τ.
    NormAtMost(f64),
    /// Morozov: root of (1/W) Σ w(y − f − b)² ≤ δ.
    TrainErrorAtMost(f64),
}

impl Constraint {
    /// In words.
    pub fn describe(&self) -> String {
        match self {
            Constraint::NormAtMost(bound) => format!("norm at most {bound}"),
            Constraint::TrainErrorAtMost(bound) => format!("training RMSE at most {bound}"),
        }
    }

    /// Refuses bounds that are no bounds.
    pub(crate) fn check(&self) -> Result<()> {
        let (name, bound) = match self {
            Constraint::NormAtMost(bound) => ("the bound of the norm", *bound),
            Constraint::TrainErrorAtMost(bound) => ("the bound of the training error", *bound),
        };
        if bound > 0.0 && bound.is_finite() { Ok(()) } else { Err(Error::argument(name, "above 0", bound)) }
    }

    /// The ridge of the solution; `largest` is the largest eigenvalue. Where the constraint does not bind, the smallest
    /// ridge that arithmetic can tell from none (Ivanov) or one that leaves nothing of f (Morozov).
    pub(crate) fn ridge(&self, path: &Path, largest: f64, weight_sum: f64) -> Result<f64> {
        let unit = libm::log(largest.max(f64::MIN_POSITIVE) / weight_sum);
        // Whether the constraint asks for more smoothness than this ridge gives.
        let needs_more = |ridge: f64| match self {
            Constraint::NormAtMost(bound) => path.norm(ridge) > *bound,
            Constraint::TrainErrorAtMost(bound) => path.train_mse(ridge).sqrt() <= *bound,
        };
        let (mut low, mut high) = (unit - 31.0, unit + 60.0);
        if !needs_more(libm::exp(low)) {
            return match self {
                Constraint::NormAtMost(_) => Ok(libm::exp(low)),
                Constraint::TrainErrorAtMost(bound) => Err(Error::argument(
                    "the bound of the training error",
                    format!(
                        "at least {:.4}, which no function of this kernel's space is below",
                        path.train_mse(libm::exp(low)).sqrt()
                    ),
                    bound,
                )),
            };
        }
        if needs_more(libm::exp(high)) {
            return Ok(libm::exp(high));
        }
        for _ in 0..120 {
            let middle = 0.5 * (low + high);
            if needs_more(libm::exp(middle)) { low = middle } else { high = middle }
        }
        // The side on which the constraint holds.
        Ok(libm::exp(match self {
            Constraint::NormAtMost(_) => high,
            Constraint::TrainErrorAtMost(_) => low,
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_eigenvalue_by_hand() {
        // d = 1, z = 2, W = 1: ‖f‖ = 2/(1+μ), error 2μ/(1+μ).
        let path = Path::from_parts(&[1.0], &[2.0], 1.0);
        assert!((Constraint::NormAtMost(0.5).ridge(&path, 1.0, 1.0).unwrap() - 3.0).abs() < 1e-12);
        assert!((Constraint::TrainErrorAtMost(0.5).ridge(&path, 1.0, 1.0).unwrap() - 1.0 / 3.0).abs() < 1e-12);
        assert!(Constraint::NormAtMost(5.0).ridge(&path, 1.0, 1.0).unwrap() < 1e-12);
        assert!(Constraint::TrainErrorAtMost(3.0).ridge(&path, 1.0, 1.0).unwrap() > 1e20);
        assert!(Constraint::NormAtMost(0.0).check().is_err());
    }
}
