//! Constrained twins of the ridge problem: both are points of its path, found by one root search.
//!
//! Ivanov: min (1/W) Σ w(y − f − b)² subject to ‖f‖ ≤ τ. Morozov: min ‖f‖ subject to the root mean squared training error
//! being at most δ. ‖f_μ‖ falls with μ and the training error rises, so each has one ridge at which its constraint is met
//! with equality, if it binds at all.

use crate::base::error::{Error, Result};
use crate::path::{Curve, Path};

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

    /// Where between two log ridges of a path the constraint is met with equality, on the side on which it holds.
    #[doc(hidden)]
    pub fn met(&self, curve: &mut impl Curve, low: f64, high: f64) -> Met {
        let (mut low, mut high) = (low, high);
        let unit = curve.log_unit();
        // Whether the constraint asks for more smoothness than this ridge gives.
        let mut needs_more = |t: f64| match self {
            Constraint::NormAtMost(bound) => curve.at(t).log_norm > 2.0 * libm::log(*bound),
            Constraint::TrainErrorAtMost(bound) => libm::log(curve.at(t).train) + unit <= 2.0 * libm::log(*bound),
        };
        if !needs_more(low) {
            return Met::BelowAll;
        }
        if needs_more(high) {
            return Met::AboveAll;
        }
        for _ in 0..120 {
            let middle = 0.5 * (low + high);
            if middle <= low || middle >= high {
                break;
            }
            if needs_more(middle) { low = middle } else { high = middle }
        }
        Met::At(match self {
            Constraint::NormAtMost(_) => high,
            Constraint::TrainErrorAtMost(_) => low,
        })
    }

    /// The ridge of the solution; `largest` is the largest eigenvalue. Where the constraint does not bind, the smallest
    /// ridge that arithmetic can tell from none (Ivanov) or one that leaves nothing of f (Morozov).
    pub(crate) fn ridge(&self, path: &Path, largest: f64, weight_sum: f64) -> Result<f64> {
        let unit = libm::log(largest.max(f64::MIN_POSITIVE) / weight_sum);
        let (low, high) = (unit - 31.0, unit + 60.0);
        match (self.met(&mut path.clone(), low, high), self) {
            (Met::At(t), _) => Ok(libm::exp(t)),
            (Met::AboveAll, _) => Ok(libm::exp(high)),
            (Met::BelowAll, Constraint::NormAtMost(_)) => Ok(libm::exp(low)),
            (Met::BelowAll, Constraint::TrainErrorAtMost(bound)) => {
                let least = path.train_mse(libm::exp(low)).sqrt();
                let must = format!("at least {least:.4}, which no function of this kernel's space is below");
                Err(Error::argument("the bound of the training error", must, bound))
            }
        }
    }
}

/// Where a constraint is met on a part of a path.
#[doc(hidden)]
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Met {
    /// With equality at this log μ.
    At(f64),
    /// Only with less ridge than the part has.
    BelowAll,
    /// Only with more.
    AboveAll,
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
