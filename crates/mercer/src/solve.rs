//! Solvers: from a decomposition (or a factorisation) to the minimiser.

pub(crate) mod certain;
pub mod certificate;
pub(crate) mod cholesky;
pub(crate) mod conjugate_gradient;
pub mod constrained;
pub(crate) mod convex;
pub mod deletion;
pub mod dual;
pub mod linear;
pub(crate) mod many_landmarks;
pub(crate) mod on_form;
pub(crate) mod refine;
mod row_roots;
pub(crate) mod spectral;
mod tabulated;

use crate::path::power::Minimum;

/// A minimiser with what was measured on it, for one target.
#[derive(Debug, Clone, PartialEq)]
pub struct Solution {
    /// α for a kernel expansion, or the coefficients of a linear function.
    pub coefficients: Vec<f64>,
    /// b.
    pub offset: f64,
    /// f(xᵢ) + b on the training rows.
    pub fitted: Vec<f64>,
    /// The stationary points and the choice among them.
    pub minimum: Minimum,
    /// ‖f‖.
    pub norm: f64,
    /// (1/W) Σ w(y − f − b)².
    pub train_mse: f64,
    /// The trace of the hat matrix, the offset counted; `None` when it was not asked for.
    pub dof: Option<f64>,
    /// What the last solve left: ‖residual of the linear system‖ in units of its right-hand side.
    pub solve_residual: f64,
    /// A bound of the error of predictions, relative to the spread of the target.
    pub relative_error: f64,
    /// (largest eigenvalue + γ)/(smallest + γ), or an upper bound of it.
    pub condition: f64,
}

impl Solution {
    /// The effective ridge μ; `None` for the zero function.
    pub fn effective_ridge(&self) -> Option<f64> {
        self.minimum.log_ridge.map(|t| libm::exp(t).min(f64::MAX))
    }

    /// The solution for a target that was given in units of 2ᵏ, in the target's own.
    pub(crate) fn in_units(mut self, power: i32) -> Self {
        let numbers = self.coefficients.iter_mut().chain(&mut self.fitted);
        numbers.chain([&mut self.offset, &mut self.norm]).for_each(|x| *x = libm::ldexp(*x, power));
        self.train_mse = libm::ldexp(self.train_mse, 2 * power);
        self
    }

    /// An error that is not known is as large as the spread.
    fn with_finite_error(mut self) -> Self {
        if !self.relative_error.is_finite() {
            self.relative_error = 1.0;
        }
        self
    }

    /// Whether the zero function is the minimiser.
    pub fn is_zero(&self) -> bool {
        self.minimum.log_ridge.is_none()
    }

    /// (1/W) Σ w(y − f − b)² + λ‖f‖ᵐ, from the error and the norm that were measured.
    pub fn objective(&self, exponent: f64, lambda: f64) -> f64 {
        if self.norm == 0.0 {
            return self.train_mse;
        }
        // In logarithms: the power may overflow where its product with λ does not.
        self.train_mse + libm::exp(libm::log(lambda) + exponent * libm::log(self.norm))
    }
}
