//! The Lasso and the elastic net: (1/W) Σ wᵢ(yᵢ − xᵢᵀw − b)² + λ(ratio‖w‖₁ + (1 − ratio)‖w‖²).
//!
//! λ decreases along a path, each solution the start of the next. At every λ a working set of columns, grown by the
//! strong rule and by violations, is solved by coordinate descent that finds signs and Newton steps that find values;
//! columns that the gap proves to be inactive are left alone. One pass over all columns then gives the duality gap,
//! which alone decides whether to stop.

mod factor;
mod gram;
mod path;
mod residual;

use super::design::Design;
use super::{Features, LassoPath, LinearSolution, check_lambda};
use crate::base::error::{Error, Result};

/// How a Lasso or elastic net is solved.
#[derive(Clone, Copy)]
pub struct LassoSettings<'a> {
    /// Whether there is an offset b.
    pub offset: bool,
    /// The share of ‖w‖₁ in the penalty, above 0 and at most 1; 1 is the Lasso.
    pub ratio: f64,
    /// The relative duality gap at which a solution is good enough.
    pub tolerance: f64,
    /// λs of a path whose λs are not given.
    pub points: usize,
    /// The least λ of such a path, as a share of the λ above which w = 0.
    pub smallest: f64,
    /// Passes over all columns at one λ before giving up.
    pub most_passes: usize,
    /// Whether degrees of freedom are wanted.
    pub dof: bool,
    /// Asked every few milliseconds; `false` ends with [`Error::Interrupted`].
    pub go_on: &'a (dyn Fn() -> bool + Sync),
}

impl Default for LassoSettings<'_> {
    fn default() -> Self {
        LassoSettings {
            offset: true,
            ratio: 1.0,
            tolerance: 1e-6,
            points: 100,
            smallest: 1e-3,
            most_passes: 200,
            dof: true,
            go_on: &|| true,
        }
    }
}

impl LassoSettings<'_> {
    fn check(&self) -> Result<()> {
        if !(self.ratio > 0.0 && self.ratio <= 1.0) {
            return Err(Error::argument("ratio", "above 0 and at most 1 (ridge is `tikhonov`)", self.ratio));
        }
        if !(self.tolerance >= 0.0) {
            return Err(Error::argument("tolerance", "at least 0", self.tolerance));
        }
        if !(self.smallest > 0.0 && self.smallest < 1.0) {
            return Err(Error::argument("smallest", "between 0 and 1", self.smallest));
        }
        Ok(())
    }
}

/// scikit-learn's (alpha, l1_ratio) of our (λ, ratio).
pub fn to_alpha_and_l1_ratio(lambda: f64, ratio: f64) -> (f64, f64) {
    let alpha = lambda * ratio / 2.0 + lambda * (1.0 - ratio);
    (alpha, if alpha > 0.0 { lambda * ratio / 2.0 / alpha } else { 1.0 })
}

/// glmnet's (lambda, alpha) of our (λ, ratio), for a target of standard deviation s (divisor n): it divides y by s first, so that
/// lambda·alpha = λ·ratio/2 as above but lambda(1 − alpha) = s·λ(1 − ratio).
pub fn to_glmnet(lambda: f64, ratio: f64, deviation: f64) -> (f64, f64) {
    let (absolute, squared) = (lambda * ratio / 2.0, deviation * lambda * (1.0 - ratio));
    let sum = absolute + squared;
    (sum, if sum > 0.0 { absolute / sum } else { 1.0 })
}

/// The least λ at which w = 0: max |2x̃ⱼᵀ(w∘ỹ)/W|/ratio.
pub fn lambda_max(x: &Features, y: &[f64], weights: Option<&[f64]>, settings: &LassoSettings<'_>) -> Result<f64> {
    settings.check()?;
    Ok(path::Solver::new(&Design::new(x, y, weights, settings.offset)?).lambda_max(settings.ratio))
}

/// `points` values from `largest` down to `smallest`·`largest`, evenly spaced in the logarithm.
pub fn lambda_grid(largest: f64, points: usize, smallest: f64) -> Vec<f64> {
    let step = |k: usize| k as f64 / (points.max(2) - 1) as f64;
    (0..points).map(|k| largest * libm::exp(libm::log(smallest) * step(k))).collect()
}

/// The minimiser at one λ. λ = 0 is least squares of least norm.
pub fn lasso(
    x: &Features,
    y: &[f64],
    weights: Option<&[f64]>,
    lambda: f64,
    settings: &LassoSettings<'_>,
) -> Result<LinearSolution> {
    settings.check()?;
    check_lambda(lambda)?;
    if lambda == 0.0 {
        let fit = super::least_squares(x, y, weights, settings.offset)?;
        let total = weights.map_or(y.len() as f64, |w| w.iter().sum());
        return Ok(LinearSolution {
            objective: fit.residual_sum / total,
            relative_gap: 0.0,
            nonzero: fit.coefficients.iter().filter(|w| **w != 0.0).count(),
            dof: Some(fit.rank as f64 + f64::from(settings.offset)),
            converged: true,
            iterations: 1,
            coefficients: fit.coefficients,
            intercept: fit.intercept,
        });
    }
    let design = Design::new(x, y, weights, settings.offset)?;
    let mut solver = path::Solver::new(&design);
    // A few larger λs on the way: warm starts keep the working sets near the answer's size.
    let largest = solver.lambda_max(settings.ratio);
    let steps = if lambda < largest { libm::ceil(libm::log(largest / lambda) / 0.7) as usize } else { 0 };
    let rough = LassoSettings { tolerance: settings.tolerance.max(1e-2), dof: false, ..*settings };
    for k in 1..steps {
        let between = libm::exp(libm::log(lambda / largest) * k as f64 / steps as f64);
        // Below rounding no λ is easier than the one that is asked for.
        if !solver.solve(largest * between, &rough)?.converged {
            break;
        }
    }
    solver.solve(lambda, settings)
}

/// The minimisers along λs, each started from the one before. Without `lambdas`: [`LassoSettings::points`] of them from
/// the λ above which w = 0 down to [`LassoSettings::smallest`] of it.
pub fn lasso_path(
    x: &Features,
    y: &[f64],
    weights: Option<&[f64]>,
    lambdas: Option<&[f64]>,
    settings: &LassoSettings<'_>,
) -> Result<LassoPath> {
    settings.check()?;
    let design = Design::new(x, y, weights, settings.offset)?;
    let mut solver = path::Solver::new(&design);
    let lambda_max = solver.lambda_max(settings.ratio);
    let lambdas = match lambdas {
        Some(given) => {
            for lambda in given {
                if !(*lambda > 0.0 && lambda.is_finite()) {
                    return Err(Error::argument("lambda of a path", "positive", lambda));
                }
            }
            let mut sorted = given.to_vec();
            sorted.sort_by(|a, b| b.total_cmp(a));
            sorted
        }
        // Every λ that is a number gives w = 0 then; one shows it.
        None if lambda_max * settings.smallest < f64::MIN_POSITIVE => vec![1.0],
        None => lambda_grid(lambda_max, settings.points, settings.smallest),
    };
    let solutions = lambdas.iter().map(|lambda| solver.solve(*lambda, settings)).collect::<Result<_>>()?;
    Ok(LassoPath { lambdas, solutions, lambda_max })
}
