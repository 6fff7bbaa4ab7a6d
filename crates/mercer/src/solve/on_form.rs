//! From a tridiagonal form to the minimiser, where its ridge is well above rounding: no eigenvector is needed.

use super::Solution;
use super::certain::Floor;
use super::refine::{Problem, Uncertainty, refine};
use crate::linalg::Matrix;
use crate::path::held_out::leave_one_out_at_form;
use crate::path::power::{self, Minimum};
use crate::path::{FormTarget, TridiagonalForm};
use crate::term::kernel::{Kernel, Points};

/// Ridges below this share of the largest eigenvalue are left to eigenvectors, which tell directions without eigenvalue from others.
const LOWEST: f64 = 1e-6;
/// Beyond this one there is next to no function left.
const HIGHEST: f64 = 1e6;

/// Solutions of some targets that share one effective ridge, and their leave-one-out residuals.
pub(crate) struct SolvedOnForm {
    pub solutions: Vec<Solution>,
    pub residuals: Vec<Vec<f64>>,
}

/// Solves for one target, or for several that share one effective ridge. `None` for exponents below 1, for f = 0 and where the ridge is near
/// rounding: for eigenvectors.
pub(crate) fn solve(
    form: &TridiagonalForm,
    kernel: &dyn Kernel,
    points: &Points,
    targets: &[(&FormTarget, &[f64])],
    exponent: f64,
    lambda: f64,
) -> Option<SolvedOnForm> {
    let parts: Vec<&FormTarget> = targets.iter().map(|(target, _)| *target).collect();
    let (rows, log_lambda) = (form.rows() as f64, libm::log(lambda));
    if exponent < 1.0 || parts.iter().any(|part| form.path(&[part]).zero_mse() == 0.0) {
        return None;
    }
    let minimum = power::minimise(&mut form.path(&parts), exponent, log_lambda, None);
    let log_ridge = minimum.log_ridge?;
    let gamma = libm::exp(log_ridge + libm::log(rows));
    if !(LOWEST..HIGHEST).contains(&(gamma / form.largest())) {
        return None;
    }
    let residuals = leave_one_out_at_form(form, &parts, exponent, log_lambda, log_ridge)?;
    let solutions = solutions_at(form, kernel, points, targets, &minimum, exponent, gamma)?;
    (solutions.len() == targets.len()).then_some(SolvedOnForm { solutions, residuals })
}

fn solutions_at(
    form: &TridiagonalForm,
    kernel: &dyn Kernel,
    points: &Points,
    targets: &[(&FormTarget, &[f64])],
    minimum: &Minimum,
    exponent: f64,
    gamma: f64,
) -> Option<Vec<Solution>> {
    let smallest = form.smallest();
    let problem = Problem {
        kernel,
        points,
        root_weights: None,
        weight_sum: form.rows() as f64,
        offset: form.has_offset(),
        gamma,
        size: form.size(),
        // Ridges near rounding are left to eigenvectors; what lies above this one is well known.
        floor: Floor { smallest: if smallest > gamma { smallest } else { 0.0 }, ..Floor::default() },
        truncated_by: None,
    };
    let mut alpha = Matrix::zeros(form.rows(), targets.len());
    for (t, (target, _)) in targets.iter().enumerate() {
        alpha.col_mut(t).copy_from_slice(&form.dual(target, gamma)?);
    }
    let y: Vec<&[f64]> = targets.iter().map(|(_, y)| *y).collect();
    let correct =
        |residual: &[f64]| form.dual(&form.target(residual), gamma).unwrap_or_else(|| vec![0.0; residual.len()]);
    let (dof, condition) = (form.dof(gamma), (form.largest() + gamma) / (smallest + gamma));
    let measured = refine(&problem, alpha, &y, 3, f64::EPSILON, correct);
    let share = measured.iter().map(|one| problem.uncertainty(one, None)).sum::<Uncertainty>().share();
    let complete = |measured| problem.solution_where(measured, share, minimum, exponent, Some(dof), condition);
    Some(measured.into_iter().map(complete).collect())
}
