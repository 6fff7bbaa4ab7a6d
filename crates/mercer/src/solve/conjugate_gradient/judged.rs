//! What is known of an answer: its residual, its ridge and rounding, made into an error of predictions.

use super::{Group, System, unit};
use crate::linalg::double;
use crate::linalg::norm;
use crate::path::power::{Minimum, shift_of_ridge};
use crate::solve::certain::Floor;
use crate::solve::refine::Problem;
use crate::solve::{Solution, spectral};

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
            floor: Floor::default(),
            truncated_by: None,
        }
    }

    /// The solutions with what their residuals and their ridge leave open added to their errors: an offset moves with f, and for
    /// m ≠ 2 the ridge with the norm of all targets.
    pub(super) fn certified(&self, solutions: Vec<Solution>, group: &Group<'_>, minimum: &Minimum) -> Vec<Solution> {
        let Some(t) = minimum.log_ridge else { return solutions };
        let reach = if self.settings.offset { 2.0 * self.height } else { self.height };
        let spread = |solution: &Solution, y: &[f64]| {
            let errors: Vec<f64> = (0..y.len()).map(|i| self.root_weight(i) * (y[i] - solution.offset)).collect();
            norm(&errors) / self.weight_sum.sqrt()
        };
        let spreads: Vec<f64> = solutions.iter().zip(&group.targets).map(|(s, y)| spread(s, y)).collect();
        let distance = |(s, spread): (&Solution, &f64)| {
            s.solve_residual * spread * self.weight_sum.sqrt() / (2.0 * self.gamma(t).sqrt())
        };
        let distances: Vec<f64> = solutions.iter().zip(&spreads).map(distance).collect();
        let norms: Vec<f64> = solutions.iter().map(|solution| solution.norm).collect();
        let share = if norm(&distances) > 0.0 { norm(&distances) / norm(&norms) } else { 0.0 };
        let shift = shift_of_ridge(group.exponent, share, minimum.root_residual);
        let parts = solutions.into_iter().zip(spreads.into_iter().zip(distances));
        parts
            .map(|(solution, (spread, distance))| {
                let moved = distance + shift * (solution.norm + distance);
                let proved = reach * moved / spread.max(f64::MIN_POSITIVE);
                let relative_error = solution.relative_error.max(if proved.is_finite() { proved } else { 1.0 });
                Solution { relative_error, minimum: minimum.clone(), ..solution }
            })
            .collect()
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
