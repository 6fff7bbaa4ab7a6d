//! What makes an answer trustworthy, as data: nothing here is a promise, everything was measured on the
//! answer itself.

pub(crate) mod gap;

use serde::{Deserialize, Serialize};

use self::gap::Gap;
use crate::linalg::DecompositionCheck;
use crate::solve::Solution;

/// What is known about one target's solution.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Certificate {
    /// Whether every line of this certificate is in order.
    pub holds: bool,
    /// The first line that is not.
    pub reason: Option<String>,
    /// Whether the solution is proved to be the global minimum: all stationary points are counted.
    pub is_global: bool,
    /// Number of stationary points other than the zero function.
    pub stationary_points: usize,
    /// Relative error of the effective ridge in its equation.
    pub root_residual: f64,
    /// Residual of the linear system, relative to its right-hand side, computed in twice the precision.
    pub solve_residual: f64,
    /// ‖A − QDQᵀ‖/(‖A‖ n·eps) of the decomposition, when one was made.
    pub decomposition_residual: Option<f64>,
    /// ‖I − QᵀQ‖/(n·eps).
    pub orthogonality: Option<f64>,
    /// Condition number of K + nμI, or an upper bound, where a linear system was solved.
    pub condition: Option<f64>,
    /// Decimal digits of the predictions that are certain, relative to the spread of the target (with a duality gap: of the
    /// objective). They hold at the training rows and at new rows whose k(x, x) is not above its largest value on the training rows, for
    /// every kernel matrix within the rounding of this one; 0 is no claim. They refer to
    /// the features as the model scales them; the scaling's own numbers are part of the model. Of a model that was rounded to
    /// single precision they are certain where [`Rounding::bound`] is there, and else as good as what was measured.
    pub digits: f64,
    /// (objective − lower bound)/objective, recomputed from the answer alone, for losses other than the squared one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duality_gap: Option<f64>,
    /// What is certain where a factor stood in the place of the kernel matrix.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub low_rank: Option<LowRank>,
    /// What it cost to store points and coefficients in single precision, where that was done. Then `digits` counts it, too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rounding: Option<Rounding>,
}

/// How far a model's predictions are from those of the model it was rounded from, in the units of the target.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rounding {
    /// The largest difference on the model's own points (a part of them, if there are many).
    pub largest_difference: Option<f64>,
    /// How many points that were.
    pub points: usize,
    /// No prediction anywhere differs by more; `None` for kernels that grow without bound.
    pub bound: Option<f64>,
}

/// How far a fit on a factor, K ≈ FFᵀ, can be from the fit on K with the same kernel, exponent and λ.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LowRank {
    /// Columns of F: the landmarks that the model carries.
    pub rank: usize,
    /// tr(K − FFᵀ)/tr K, exactly; where thousands of landmarks are solved for by conjugate gradients, on the sample that they
    /// were drawn from.
    pub residual_share: f64,
    /// No prediction at a training row is further from that of the exact fit, in units of the target's spread. `None` where no
    /// bound is known (exponents up to 1) or it is not finite.
    pub bound_at_rows: Option<f64>,
    /// The same at any point where k(x, x) is not above its largest value on the training rows.
    pub bound_anywhere: Option<f64>,
}

/// Digits below which predictions are not vouched for.
const FEWEST_DIGITS: f64 = 2.0;

/// Residuals that are no rounding: conjugate gradients were ended early.
const LOOSE: f64 = 1e-10;

/// Condition numbers from which rounding alone may take the digits.
const ROUNDING_CONDITION: f64 = 1e10;

/// Decimal digits up to a relative error. The fifteenth is never claimed: a bound to first order does not reach that far.
fn digits_of(error: f64) -> f64 {
    if error < 1.0 { (-libm::log10(error)).min(14.0) } else { 0.0 }
}

impl Certificate {
    pub(crate) fn new(solution: &Solution, check: Option<DecompositionCheck>) -> Self {
        let digits = digits_of(solution.relative_error);
        let minimum = &solution.minimum;
        let reason = if !solution.relative_error.is_finite() || digits < FEWEST_DIGITS {
            let certain = match (digits * 10.0).floor() / 10.0 {
                0.0 => "no digit is certain".to_owned(),
                digits => format!("only {digits:.1} digits are certain"),
            };
            Some(if solution.solve_residual > LOOSE {
                format!(
                    "{certain}: the equations are solved to {:.0e} only; a smaller tolerance is needed",
                    solution.solve_residual
                )
            } else if solution.condition < ROUNDING_CONDITION {
                format!(
                    "{certain}: the proved bound on rounding errors is too wide at this λ (condition number {:.0e}); \
                     a larger λ is needed",
                    solution.condition
                )
            } else {
                format!(
                    "{certain}: the ridge is at the rounding level of the kernel matrix (condition number {:.0e}); \
                     a larger λ is needed",
                    solution.condition
                )
            })
        } else if !minimum.is_counted {
            Some(
                "the global minimum is not proved: two stationary points meet to rounding, or one may hide below the rounding of the \
                 kernel matrix; a larger λ or an exponent of at least 1 is needed"
                    .to_owned(),
            )
        } else if minimum.root_residual > 1e-11 {
            Some(format!("the effective ridge is only known to {:.0e}", minimum.root_residual))
        } else {
            None
        };
        Certificate {
            holds: reason.is_none(),
            reason,
            is_global: minimum.is_counted,
            stationary_points: minimum.stationary.len(),
            root_residual: minimum.root_residual,
            solve_residual: solution.solve_residual,
            decomposition_residual: check.map(|check| check.residual),
            orthogonality: check.map(|check| check.orthogonality),
            condition: Some(solution.condition),
            // Rounded down: a claim may be too small but not too large.
            digits: (digits * 10.0).floor() / 10.0,
            duality_gap: None,
            low_rank: None,
            rounding: None,
        }
    }

    /// A certificate with nothing in it but whether it holds: for convex problems, whose stationary points are minima.
    pub(crate) fn of_convex(reason: Option<String>, duality_gap: Option<f64>) -> Self {
        Certificate {
            holds: reason.is_none(),
            reason,
            is_global: true,
            stationary_points: 1,
            root_residual: 0.0,
            solve_residual: 0.0,
            decomposition_residual: None,
            orthogonality: None,
            condition: None,
            digits: 0.0,
            duality_gap,
            low_rank: None,
            rounding: None,
        }
    }

    /// The certificate of a convex problem: its answer is within a gap of the least objective.
    pub(crate) fn of_gap(gap: &Gap, tolerance: f64, root_residual: f64, is_zero: bool) -> Self {
        let relative = gap.relative();
        // The gap is a difference of sums that agree to all but their last digits.
        let reason = (!(relative <= tolerance.max(1e-13))).then(|| {
            format!(
                "the duality gap is {relative:.1e} of the objective, above {tolerance:.0e}; a larger λ may be needed"
            )
        });
        let digits = digits_of(relative);
        Certificate {
            stationary_points: usize::from(!is_zero),
            root_residual: if root_residual.is_finite() { root_residual } else { f64::MAX },
            digits: (digits * 10.0).floor() / 10.0,
            // A bound that was lost to overflow is no bound; model files have no infinity.
            ..Certificate::of_convex(reason, Some(if relative.is_finite() { relative } else { f64::MAX }))
        }
    }
}
