//! From a spectrum to the minimiser: the m-power root, then α (or coefficients), refined and measured afresh.

use super::Solution;
use super::power::{self, Minimum};
use super::refine::{Judged, Problem, norm, refine};
use crate::kernel::{Kernel, Points};
use crate::linalg::Matrix;
use crate::linalg::double::Double;
use crate::spectrum::{Spectrum, Target};

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
    let minimum = power::minimise(&mut path, exponent, libm::log(lambda), None);
    let gamma = minimum.log_ridge.map_or(f64::INFINITY, |t| libm::exp(t + libm::log(spectrum.weight_sum())));
    let problem = Problem::of(spectrum, kernel, points, gamma);
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
        alpha.col_mut(t).copy_from_slice(&spectrum.dual(target, gamma));
    }
    let y: Vec<&[f64]> = targets.iter().map(|(_, y)| *y).collect();
    refine(&problem, alpha, &y, 3, f64::EPSILON, |residual| {
        let mut change = spectrum.solve_scaled(residual, gamma);
        spectrum.unscale(&mut change);
        change
    })
    .into_iter()
    .zip(&parts)
    .map(|(measured, target)| {
        // From the spectrum, which knows K's null space: αᵀKα would square what rounding puts there.
        let norm = spectrum.path(&[target]).norm(gamma / spectrum.weight_sum());
        Solution { norm, ..problem.solution(measured, &minimum, exponent, Some(dof), condition) }
    })
    .collect()
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
    let judged = Judged {
        minimum,
        exponent,
        norm: f_norm,
        dual_size: spectrum.visible_dual_size(target, problem.gamma),
        residual_size: 0.0,
        offset,
        spread: norm(&target.centred) / problem.weight_sum.sqrt() * libm::ldexp(1.0, target.power),
    };
    Solution {
        norm: f_norm,
        fitted: values.iter().map(|f| f.add(offset).value()).collect(),
        train_mse: problem.mean_square(&errors),
        dof: None,
        solve_residual: 0.0,
        relative_error: problem.error_bound(&judged),
        condition: (spectrum.largest() + problem.gamma) / (problem.smallest + problem.gamma),
        minimum: minimum.clone(),
        coefficients,
        offset,
    }
}
