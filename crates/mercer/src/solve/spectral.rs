//! From a spectrum to the minimiser: the m-power root, then α (or coefficients), refined and measured afresh.

use super::Solution;
use super::certain::{Floor, is_global, movement, shift_of_root};
use super::refine::{Problem, Uncertainty, refine};
use crate::linalg::Matrix;
use crate::linalg::double::Double;
use crate::linalg::norm;
use crate::path::power::{self, Minimum};
use crate::path::{Spectrum, Target};
use crate::term::kernel::{Kernel, Points};

/// Solves for one target, or for several that share one effective ridge.
pub(crate) fn solve(
    spectrum: &Spectrum,
    kernel: &dyn Kernel,
    points: &Points,
    targets: &[(&Target, &[f64])],
    exponent: f64,
    lambda: f64,
) -> Vec<Solution> {
    let parts: Vec<&Target> = targets.iter().map(|(target, _)| *target).collect();
    let mut path = spectrum.path(&parts);
    let mut minimum = power::minimise(&mut path, exponent, libm::log(lambda), None);
    let floor = Floor::of(spectrum, kernel, points);
    minimum.is_counted &= is_global(&mut path, exponent, libm::log(lambda), &minimum, &floor);
    let gamma = minimum.log_ridge.map_or(f64::INFINITY, |t| libm::exp(t + libm::log(spectrum.weight_sum())));
    let problem = Problem::of(spectrum, kernel, points, gamma, floor);
    // So far beyond the spectrum f is smaller than the smallest number; its square would be, at any rate.
    let is_negligible = gamma > 1e250 * spectrum.largest().max(1e-50);
    if minimum.log_ridge.is_none() || is_negligible {
        let length = if spectrum.linear_scale().is_some() { points.features() } else { points.rows() };
        return targets.iter().map(|(target, y)| zero_function(&problem, length, target, y, &minimum)).collect();
    }
    let dof = path.dof(gamma / spectrum.weight_sum());
    if let Some(scale) = spectrum.linear_scale() {
        return targets
            .iter()
            .map(|(target, y)| Solution {
                dof: Some(dof),
                ..linear(&problem, spectrum, scale, target, y, &minimum, exponent)
            })
            .collect();
    }
    let smallest = spectrum.eigenvalues().last().copied().unwrap_or(0.0);
    let condition = ((spectrum.largest() + gamma) / (smallest + gamma)).min(f64::MAX);
    let mut alpha = Matrix::zeros(points.rows(), targets.len());
    for (t, (target, _)) in targets.iter().enumerate() {
        alpha.col_mut(t).copy_from_slice(&spectrum.dual_in(target, gamma, problem.truncated_by.is_some()));
    }
    let y: Vec<&[f64]> = targets.iter().map(|(_, y)| *y).collect();
    let measured = refine(&problem, alpha, &y, 3, f64::EPSILON, |residual| {
        let mut change = spectrum.solve_in(residual, gamma, problem.truncated_by.is_some());
        spectrum.unscale(&mut change);
        change
    });
    // From the spectrum, which knows K's null space: αᵀKα would square what rounding puts there.
    let norms: Vec<f64> = parts.iter().map(|part| spectrum.path(&[part]).norm(gamma / spectrum.weight_sum())).collect();
    let pairs = measured.iter().zip(&norms);
    let share = pairs.map(|(one, norm)| problem.uncertainty(one, Some(*norm))).sum::<Uncertainty>().share();
    let complete = |measured| problem.solution_where(measured, share, &minimum, exponent, Some(dof), condition);
    measured.into_iter().zip(norms).map(|(measured, norm)| Solution { norm, ..complete(measured) }).collect()
}

/// f = 0: the offset alone.
pub(crate) fn zero_function(
    problem: &Problem<'_>,
    length: usize,
    target: &Target,
    y: &[f64],
    minimum: &Minimum,
) -> Solution {
    constant_function(problem, length, target.mean, y, minimum)
}

/// f = 0 with this offset.
pub(crate) fn constant_function(
    problem: &Problem<'_>,
    length: usize,
    offset: f64,
    y: &[f64],
    minimum: &Minimum,
) -> Solution {
    let errors: Vec<Double> = y.iter().map(|v| Double::new(*v).add(-offset)).collect();
    Solution {
        coefficients: vec![0.0; length],
        offset,
        fitted: vec![offset; y.len()],
        minimum: minimum.clone(),
        norm: 0.0,
        train_mse: problem.mean_square(&errors),
        dof: Some(f64::from(problem.offset)),
        solve_residual: 0.0,
        relative_error: rounding_of_constant(offset, &errors),
        condition: 1.0,
    }
}

/// The error of a constant prediction, relative to the target's spread around it.
fn rounding_of_constant(offset: f64, errors: &[Double]) -> f64 {
    let spread = norm(&errors.iter().map(|e| e.value()).collect::<Vec<f64>>()) / (errors.len() as f64).sqrt();
    if spread > 0.0 { 4.0 * f64::EPSILON * (1.0 + offset.abs() / spread) } else { f64::EPSILON }
}

/// The linear function of a primal spectrum.
fn linear(
    problem: &Problem<'_>,
    spectrum: &Spectrum,
    scale: f64,
    target: &Target,
    y: &[f64],
    minimum: &Minimum,
    exponent: f64,
) -> Solution {
    let points = problem.points;
    let (coefficients, offset) = spectrum.linear_coefficients(target, problem.gamma);
    let values: Vec<Double> = (0..points.rows())
        .map(|i| {
            let products = coefficients.iter().enumerate();
            products.fold(Double::default(), |sum, (j, c)| sum.add_product(points.feature(j)[i], *c))
        })
        .collect();
    let errors: Vec<Double> = values.iter().zip(y).map(|(f, v)| f.negated().add(*v).add(-offset)).collect();
    let f_norm = norm(&coefficients) / scale.sqrt();
    let train_mse = problem.mean_square(&errors);
    let spread = norm(&target.centred) / problem.weight_sum.sqrt() * libm::ldexp(1.0, target.power);
    let bound = LinearBound { problem, spectrum, norm: f_norm, residual: (problem.weight_sum * train_mse).sqrt() };
    let absolute = bound.error(minimum, exponent) + 4.0 * f64::EPSILON * (offset.abs() + spread);
    Solution {
        norm: f_norm,
        fitted: values.iter().map(|f| f.add(offset).value()).collect(),
        train_mse,
        dof: None,
        solve_residual: 0.0,
        relative_error: absolute / spread,
        condition: (spectrum.largest() + problem.gamma) / (spectrum.smallest_positive() + problem.gamma),
        minimum: minimum.clone(),
        coefficients,
        offset,
    }
    .with_finite_error()
}

/// What is certain of a linear function: X, centred, is known to within η‖X‖, and the singular values σ that are not 0 belong to K's
/// eigenvalues σ².
struct LinearBound<'a> {
    problem: &'a Problem<'a>,
    spectrum: &'a Spectrum,
    /// ‖f‖.
    norm: f64,
    /// ‖y − f − b‖.
    residual: f64,
}

impl LinearBound<'_> {
    /// ‖δf‖ ≤ η‖X‖(‖f‖ max σ/(σ² + γ) + ‖r‖ max 1/(σ² + γ)), and for singular values that may hide below η‖X‖ as much again.
    fn norm_error(&self) -> f64 {
        let Problem { gamma, floor, .. } = *self.problem;
        let disturbance = 0.5 * floor.noise / self.spectrum.largest().sqrt();
        let hidden = if floor.is_known() {
            0.0
        } else {
            let largest = disturbance.min(gamma.sqrt());
            self.residual * largest / (largest * largest + gamma)
        };
        disturbance * (self.norm * floor.steepness(gamma) + self.residual / (floor.smallest + gamma)) + hidden
    }

    /// The largest error of a prediction at a row that is not further from the mean of the training rows (from 0, without an offset)
    /// than they are.
    fn error(&self, minimum: &Minimum, exponent: f64) -> f64 {
        let points = self.problem.points;
        let scale = self.spectrum.linear_scale().unwrap_or(1.0);
        let means = self.spectrum.mean_features();
        let length = |i: usize, from: &dyn Fn(usize) -> f64| {
            let squares = (0..points.features()).map(|j| points.feature(j)[i] - from(j)).map(|x| x * x);
            (scale * squares.sum::<f64>()).sqrt()
        };
        let longest = |from: &dyn Fn(usize) -> f64| (0..points.rows()).map(|i| length(i, from)).fold(0.0, f64::max);
        let (reach, height) = (longest(&|j| means[j]), longest(&|_| 0.0));
        let norm_error = self.norm_error();
        let share = norm_error * (2.0 + norm_error / self.norm) / self.norm;
        let moved = match shift_of_root(minimum, exponent, share) {
            Some(shift) => movement(minimum, exponent, shift) * (self.norm + norm_error),
            None => f64::INFINITY,
        };
        let sum_error = 4.0 * f64::EPSILON * (points.features() as f64).sqrt() * height * self.norm;
        reach * (norm_error + moved) + sum_error
    }
}
