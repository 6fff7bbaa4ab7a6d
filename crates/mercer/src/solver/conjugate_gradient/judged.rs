//! What is known of an answer: its residual, its ridge and rounding, made into an error of predictions.

use super::{Group, System, unit};
use crate::linalg::double;
use crate::solver::power::Minimum;
use crate::solver::refine::{Problem, norm};
use crate::solver::{Solution, spectral};

/// How much larger than asked for a residual may be and still count as reached.
const ROOM: f64 = 1.5;

impl System<'_> {
    /// Whether residuals are as small as the accuracy asks for, or as rounding allows.
    pub(super) fn are_reached(&self, solutions: &[Solution], group: &Group<'_>, t: f64) -> Vec<bool> {
        let enough = ROOM * self.enough(self.gamma(t));
        let pairs = solutions.iter().zip(&group.targets);
        pairs.map(|(s, y)| s.solve_residual <= enough.max(self.rounding(s, y))).collect()
    }

    pub(super) fn problem(&self, gamma: f64) -> Problem<'_> {
        Problem {
            kernel: self.settings.kernel,
            points: self.settings.points,
            root_weights: self.root_weights.as_deref(),
            weight_sum: self.weight_sum,
            offset: self.settings.offset,
            gamma,
            size: self.size,
            smallest: 0.0,
            truncated_by: None,
        }
    }

    /// The solution with what its residual and its ridge leave open added to its error: an offset moves with f, and for
    /// m ≠ 2 a change of ‖f‖ by δ moves log μ by at most |2 − m|·|log(1 − δ/‖f‖)|/min(1, m − 1).
    pub(super) fn certified(&self, solution: Solution, y: &[f64], minimum: &Minimum, exponent: f64) -> Solution {
        let Some(t) = minimum.log_ridge else { return solution };
        let errors: Vec<f64> = (0..y.len()).map(|i| self.root_weight(i) * (y[i] - solution.offset)).collect();
        let spread = norm(&errors) / self.weight_sum.sqrt();
        let residual = solution.solve_residual * spread * self.weight_sum.sqrt();
        let distance = residual / (2.0 * self.gamma(t).sqrt());
        let reach = if self.settings.offset { 2.0 * self.height } else { self.height };
        let shift = if exponent == 2.0 {
            0.0
        } else if distance < solution.norm {
            let open = (2.0 - exponent).abs() * -libm::log1p(-distance / solution.norm) + minimum.root_residual;
            libm::expm1(open / (exponent - 1.0).min(1.0)) * (solution.norm + distance)
        } else {
            f64::INFINITY
        };
        let proved = reach * (distance + shift) / spread.max(f64::MIN_POSITIVE);
        let relative_error = solution.relative_error.max(if proved.is_finite() { proved } else { 1.0 });
        Solution { relative_error, minimum: minimum.clone(), ..solution }
    }

    /// What the rounding of kernel values alone may leave of a right-hand side.
    fn rounding(&self, solution: &Solution, y: &[f64]) -> f64 {
        let dual: Vec<f64> = (0..y.len()).map(|i| solution.coefficients[i] / self.root_weight(i)).collect();
        let right: Vec<f64> = (0..y.len()).map(|i| self.root_weight(i) * (y[i] - solution.offset)).collect();
        8.0 * f64::EPSILON * self.size * norm(&dual) / norm(&right).max(f64::MIN_POSITIVE)
    }

    /// f = 0.
    pub(super) fn constant(&self, y: &[f64], minimum: &Minimum) -> Solution {
        let power = unit(y);
        let scaled = |i: usize| self.root_weight(i) * self.root_weight(i) * libm::ldexp(y[i], -power);
        let mean = double::sum((0..y.len()).map(scaled)).value() / self.weight_sum;
        let offset = if self.settings.offset { libm::ldexp(mean, power) } else { 0.0 };
        spectral::constant_function(&self.problem(f64::INFINITY), y.len(), offset, y, minimum)
    }
}
