//! Linear models f(x) = xᵀw + b, with an offset b that no penalty touches.
//!
//! All minimise
//!
//! > (1/W) Σᵢ wᵢ loss(yᵢ, xᵢᵀw + b) + penalty(w),
//!
//! W = Σ wᵢ, or the number of rows without weights: weight 2 is the row twice. X is dense or sparse.
//!
//! | | loss | penalty |
//! |---|---|---|
//! | [`least_squares`] | r² | none; of all minimisers the one of least ‖w‖ |
//! | [`tikhonov`] | r² | λ‖Γw‖², Γ the identity (ridge), differences, or any matrix |
//! | [`lasso()`], [`lasso_path`] | r² | λ(ratio‖w‖₁ + (1 − ratio)‖w‖²) |
//! | [`kernel_lasso_path`] | r² of y − Kα | λ‖α‖₁ |
//! | [`margin`](fn@margin) | logistic, hinge, ε-insensitive, and squares of the last two | λ‖w‖² |
//!
//! # Other conventions
//!
//! There is no ½ anywhere. scikit-learn's `Lasso(alpha)` and glmnet minimise (1/2n)‖r‖² + alpha‖w‖₁: alpha = λ/2.
//! `ElasticNet(alpha, l1_ratio)` has alpha(l1_ratio‖w‖₁ + (1 − l1_ratio)/2·‖w‖²), half
//! of our objective when alpha·l1_ratio = λ·ratio/2 and alpha(1 − l1_ratio) = λ(1 − ratio): see
//! [`lasso::to_alpha_and_l1_ratio`]. glmnet's (lambda, alpha) are those of y divided by its deviation: [`lasso::to_glmnet`]. `Ridge(alpha)`: alpha = nλ. LIBLINEAR, `LinearSVC(C)`, `LinearSVR(C)` and
//! `LogisticRegression(C)` minimise ½‖w‖² + C Σ loss: C = 1/(2nλ).

pub mod cross_validation;
pub(crate) mod design;
pub mod features;
pub mod gap;
mod kernel_lasso;
pub mod lasso;
mod least_squares;
pub(crate) mod left_out;
pub mod margin;
pub(crate) mod softmax;
mod solve;
mod sparse;
mod sparse_ridge;
mod tikhonov;

use crate::base::error::{Error, Result};

pub(crate) use cross_validation::validated;
pub use cross_validation::{CrossValidated, cross_validate};
pub use features::{Features, Sparse};
pub use kernel_lasso::kernel_lasso_path;
pub use lasso::{LassoSettings, lambda_max, lasso, lasso_path};
pub use least_squares::{LeastSquares, least_squares, least_squares_precise};
pub use margin::{MarginLoss, MarginSettings, margin};
pub(crate) use tikhonov::observed_tikhonov;
pub use tikhonov::tikhonov;

/// A linear function and what was measured on it.
#[derive(Debug, Clone, PartialEq)]
pub struct LinearSolution {
    /// w.
    pub coefficients: Vec<f64>,
    /// b; 0 without an offset.
    pub intercept: f64,
    /// The objective at (w, b).
    pub objective: f64,
    /// A bound of (objective − least objective)/objective, from a point of the dual problem.
    pub relative_gap: f64,
    /// Coefficients that are not zero.
    pub nonzero: usize,
    /// Degrees of freedom, the offset counted; `None` where they were not computed.
    pub dof: Option<f64>,
    /// Whether the relative gap is at most what was asked for.
    pub converged: bool,
    /// Passes of the solver.
    pub iterations: usize,
}

impl LinearSolution {
    /// xᵀw + b for every row.
    pub fn predict(&self, x: &Features) -> Result<Vec<f64>> {
        if x.cols() != self.coefficients.len() {
            return Err(Error::shape("the rows", format!("{} columns", self.coefficients.len()), x.cols()));
        }
        let mut out = x.multiply(&self.coefficients);
        out.iter_mut().for_each(|f| *f += self.intercept);
        Ok(out)
    }
}

/// Solutions along decreasing λ.
#[derive(Debug, Clone, PartialEq)]
pub struct LassoPath {
    /// λ, decreasing.
    pub lambdas: Vec<f64>,
    /// The minimiser at every λ.
    pub solutions: Vec<LinearSolution>,
    /// The least λ at which w = 0.
    pub lambda_max: f64,
}

impl LassoPath {
    /// (AIC, BIC) of every solution on the rows it was fitted to; `None` where its degrees of freedom are not known.
    pub fn aic_bic(&self, x: &Features, y: &[f64], weights: Option<&[f64]>) -> Result<Vec<Option<(f64, f64)>>> {
        check(x, y, weights)?;
        self.solutions
            .iter()
            .map(|solution| {
                let predicted = solution.predict(x)?;
                let residuals = y.iter().zip(&predicted).map(|(y, f)| y - f);
                Ok(solution.dof.map(|dof| Likelihood::of(weights, y.len()).aic_bic(residuals, dof)))
            })
            .collect()
    }
}

/// n ln(train error) + 2 dof and n ln(train error) + ln n · dof, for n rows and a train error (1/n) Σ r².
pub fn aic_bic(train_error: f64, rows: f64, dof: f64) -> (f64, f64) {
    let fit = rows * libm::log(train_error);
    (fit + 2.0 * dof, fit + libm::log(rows) * dof)
}

/// What a weight says of the noise: Var(yᵢ) = σ²/wᵢ, so that a row of weight 0 says nothing, and n counts the others. In the
/// likelihood n ln(Σ w r²/n) − Σ ln wᵢ the unit of the weights cancels.
pub(crate) struct Likelihood<'a> {
    weights: Option<&'a [f64]>,
    /// How many rows have a weight.
    pub rows: f64,
    /// The geometric mean of the positive weights.
    unit: f64,
}

impl<'a> Likelihood<'a> {
    pub fn of(weights: Option<&'a [f64]>, rows: usize) -> Self {
        let logs: Vec<f64> = weights.unwrap_or_default().iter().filter(|w| **w > 0.0).map(|w| libm::log(*w)).collect();
        match weights {
            None => Likelihood { weights, rows: rows as f64, unit: 1.0 },
            Some(_) => {
                let unit = libm::exp(logs.iter().sum::<f64>() / logs.len().max(1) as f64);
                Likelihood { weights, rows: logs.len() as f64, unit }
            }
        }
    }

    pub fn aic_bic(&self, residuals: impl Iterator<Item = f64>, dof: f64) -> (f64, f64) {
        let weight = |i: usize| self.weights.map_or(1.0, |w| w[i]);
        self.aic_bic_of_sum(residuals.enumerate().map(|(i, r)| weight(i) * r * r).sum(), dof)
    }

    /// From Σ w r².
    pub fn aic_bic_of_sum(&self, sum: f64, dof: f64) -> (f64, f64) {
        aic_bic(sum / self.unit / self.rows, self.rows, dof)
    }
}

/// Refuses a target, weights or features that do not fit together, and returns W.
pub(crate) fn check(x: &Features, y: &[f64], weights: Option<&[f64]>) -> Result<f64> {
    if x.rows() == 0 {
        return Err(Error::Empty("a fit needs at least one row".into()));
    }
    if y.len() != x.rows() {
        return Err(Error::shape("the target", format!("{} entries, one a row", x.rows()), y.len()));
    }
    if let Some(i) = y.iter().position(|y| !y.is_finite()) {
        return Err(Error::cell(i + 1, "target", format!("must be a finite number; got {}", y[i])));
    }
    x.check_finite()?;
    let Some(weights) = weights else { return Ok(x.rows() as f64) };
    if weights.len() != x.rows() {
        return Err(Error::shape("the weights", format!("{} entries, one a row", x.rows()), weights.len()));
    }
    if let Some(i) = weights.iter().position(|w| !(*w >= 0.0 && w.is_finite())) {
        return Err(Error::cell(i + 1, "weight", format!("must be finite and not negative; got {}", weights[i])));
    }
    let total: f64 = weights.iter().sum();
    if !(total > 0.0 && total.is_finite()) {
        return Err(Error::argument("the sum of the weights", "be positive and finite", total));
    }
    Ok(total)
}

/// Refuses a λ that is negative or not finite.
pub(crate) fn check_lambda(lambda: f64) -> Result<()> {
    if lambda >= 0.0 && lambda.is_finite() { Ok(()) } else { Err(Error::argument("lambda", "be at least 0", lambda)) }
}
