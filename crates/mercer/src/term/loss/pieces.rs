//! Losses as the solvers on features see them: values, slopes, conjugates and ramps in closed form.

use super::Smooth;
use crate::base::error::{Error, Result};

/// loss(y, f), with m = yf for labels y = ±1 and r = y − f for numbers.
#[derive(Debug, Clone, Copy)]
pub enum MarginLoss {
    /// ln(1 + e⁻ᵐ).
    Logistic,
    /// max(0, 1 − m).
    Hinge,
    /// max(0, 1 − m)².
    SquaredHinge,
    /// max(0, |r| − ε).
    EpsilonInsensitive(f64),
    /// max(0, |r| − ε)².
    SquaredEpsilonInsensitive(f64),
    /// ½r² for |r| ≤ c, c|r| − ½c² beyond.
    Huber(f64),
    /// q·r for r ≥ 0, (q − 1)·r below.
    Pinball(f64),
    /// Any other loss of numbers with a derivative everywhere.
    Smooth(Smooth),
}

use MarginLoss::{EpsilonInsensitive, Hinge, Huber, Logistic, Pinball, SquaredEpsilonInsensitive, SquaredHinge};

/// max over 0 ≤ a ≤ height of a(sign·f + start) − ½ bend·a², a part of a loss that is linear in the end: height · max(0, sign·f + start)
/// without a bend.
pub(crate) struct Ramp {
    pub sign: f64,
    pub start: f64,
    pub height: f64,
    pub bend: f64,
}

impl MarginLoss {
    /// Whether labels ±1 are wanted.
    pub fn is_classification(self) -> bool {
        matches!(self, Logistic | Hinge | SquaredHinge)
    }

    /// Whether the loss has a derivative everywhere.
    pub fn is_smooth(self) -> bool {
        !matches!(self, Hinge | EpsilonInsensitive(_) | Pinball(_))
    }

    /// loss(y, f).
    pub fn value(self, y: f64, f: f64) -> f64 {
        match self {
            Logistic => {
                let m = y * f;
                if m > 0.0 { libm::log1p(libm::exp(-m)) } else { libm::log1p(libm::exp(m)) - m }
            }
            Hinge => (1.0 - y * f).max(0.0),
            SquaredHinge => (1.0 - y * f).max(0.0).powi(2),
            EpsilonInsensitive(epsilon) => ((y - f).abs() - epsilon).max(0.0),
            SquaredEpsilonInsensitive(epsilon) => ((y - f).abs() - epsilon).max(0.0).powi(2),
            Huber(threshold) => {
                let size = (y - f).abs();
                if size <= threshold { 0.5 * size * size } else { threshold * (size - 0.5 * threshold) }
            }
            Pinball(quantile) => {
                let r = y - f;
                if r >= 0.0 { quantile * r } else { (quantile - 1.0) * r }
            }
            MarginLoss::Smooth(smooth) => smooth.value(y, f),
        }
    }

    /// −∂loss/∂f, and ∂²loss/∂f² (where it jumps: the value outside).
    pub(crate) fn slope_and_curvature(self, y: f64, f: f64) -> (f64, f64) {
        match self {
            Logistic => {
                let m = y * f;
                let e = libm::exp(-m.abs());
                let likely = 1.0 / (1.0 + e);
                let share = if m > 0.0 { e * likely } else { likely };
                (y * share, e * likely * likely)
            }
            Hinge => (if y * f < 1.0 { y } else { 0.0 }, 0.0),
            SquaredHinge => {
                let missing = 1.0 - y * f;
                if missing > 0.0 { (2.0 * y * missing, 2.0) } else { (0.0, 0.0) }
            }
            EpsilonInsensitive(epsilon) => (if (y - f).abs() > epsilon { (y - f).signum() } else { 0.0 }, 0.0),
            SquaredEpsilonInsensitive(epsilon) => {
                let r = y - f;
                if r.abs() > epsilon { (2.0 * (r - epsilon * r.signum()), 2.0) } else { (0.0, 0.0) }
            }
            Huber(threshold) => {
                let r = y - f;
                if r.abs() <= threshold { (r, 1.0) } else { (threshold * r.signum(), 0.0) }
            }
            Pinball(quantile) => (if y > f { quantile } else { quantile - 1.0 }, 0.0),
            MarginLoss::Smooth(smooth) => (smooth.slope(y, f), smooth.curvature(y, f)),
        }
    }

    /// The u nearest to the one given at which loss*(−u) is finite.
    pub(crate) fn project(self, y: f64, u: f64) -> f64 {
        match self {
            Logistic | Hinge => y * (u * y).clamp(0.0, 1.0),
            SquaredHinge => y * (u * y).max(0.0),
            EpsilonInsensitive(_) => u.clamp(-1.0, 1.0),
            SquaredEpsilonInsensitive(_) => u,
            Huber(threshold) => u.clamp(-threshold, threshold),
            Pinball(quantile) => u.clamp(quantile - 1.0, quantile),
            MarginLoss::Smooth(smooth) => u.clamp(smooth.slopes[0], smooth.slopes[1]),
        }
    }

    /// −loss*(−u) = min over f of loss(y, f) + uf, for u in the domain.
    pub(crate) fn negative_conjugate(self, y: f64, u: f64) -> f64 {
        match self {
            Logistic => {
                let v = u * y;
                let entropy = |p: f64| if p > 0.0 { -p * libm::log(p) } else { 0.0 };
                let other = if v < 1.0 { -(1.0 - v) * libm::log1p(-v) } else { 0.0 };
                entropy(v) + other
            }
            Hinge => u * y,
            SquaredHinge => u * y - 0.25 * u * u,
            EpsilonInsensitive(epsilon) => u * y - epsilon * u.abs(),
            SquaredEpsilonInsensitive(epsilon) => u * y - epsilon * u.abs() - 0.25 * u * u,
            Huber(_) => u * y - 0.5 * u * u,
            Pinball(_) => u * y,
            MarginLoss::Smooth(smooth) => smooth.dual(y, u),
        }
    }

    /// The loss as a sum of ramps, for losses with corners and Huber's.
    pub(crate) fn ramps(self, y: f64) -> Vec<Ramp> {
        let ramp = |sign: f64, start: f64, height: f64| Ramp { sign, start, height, bend: 0.0 };
        match self {
            EpsilonInsensitive(epsilon) => vec![ramp(-1.0, y - epsilon, 1.0), ramp(1.0, -y - epsilon, 1.0)],
            Pinball(quantile) => vec![ramp(-1.0, y, quantile), ramp(1.0, -y, 1.0 - quantile)],
            Huber(threshold) => [-1.0, 1.0].map(|s| Ramp { bend: 1.0, ..ramp(s, -s * y, threshold) }).into(),
            _ => vec![ramp(-y, 1.0, 1.0)],
        }
    }

    pub(crate) fn check(self, y: &[f64]) -> Result<()> {
        if let EpsilonInsensitive(epsilon) | SquaredEpsilonInsensitive(epsilon) = self
            && !(epsilon >= 0.0 && epsilon.is_finite())
        {
            return Err(Error::argument("epsilon", "at least 0", epsilon));
        }
        match self {
            Huber(threshold) if !(threshold > 0.0 && threshold.is_finite()) => {
                return Err(Error::argument("threshold", "above 0", threshold));
            }
            Pinball(quantile) if !(quantile > 0.0 && quantile < 1.0) => {
                return Err(Error::argument("quantile", "between 0 and 1", quantile));
            }
            _ => {}
        }
        if self.is_classification()
            && let Some(i) = y.iter().position(|y| y.abs() != 1.0)
        {
            return Err(Error::cell(i + 1, "target", format!("must be 1 or -1 for a classifier; got {}", y[i])));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conjugates_meet_losses_at_their_slopes() {
        let numbers = [EpsilonInsensitive(0.3), SquaredEpsilonInsensitive(0.3), Huber(0.4), Pinball(0.8)];
        for loss in [Logistic, Hinge, SquaredHinge].into_iter().chain(numbers) {
            for y in if loss.is_classification() { [1.0, -1.0] } else { [0.7, -2.0] } {
                for k in -30..30 {
                    // No corner of a loss is among these.
                    let f = 0.171 * f64::from(k);
                    let (u, curvature) = loss.slope_and_curvature(y, f);
                    assert_eq!(loss.project(y, u), u);
                    // Fenchel: equality at the slope, inequality elsewhere.
                    let equal = loss.value(y, f) + u * f - loss.negative_conjugate(y, u);
                    assert!(equal.abs() < 1e-12, "{loss:?} {y} {f}: {equal}");
                    let other = loss.value(y, f + 0.9) + u * (f + 0.9) - loss.negative_conjugate(y, u);
                    assert!(other > -1e-12);
                    let step = 1e-5;
                    let numeric = (loss.value(y, f - step) - loss.value(y, f + step)) / (2.0 * step);
                    assert!((numeric - u).abs() < 1e-4, "{loss:?} {y} {f}");
                    if matches!(loss, Logistic) {
                        let change = loss.slope_and_curvature(y, f - step).0 - loss.slope_and_curvature(y, f + step).0;
                        assert!((change / (2.0 * step) - curvature).abs() < 1e-6);
                    }
                }
            }
        }
    }
}
