//! The Lasso on kernel expansions.

use super::{Features, LassoPath, LassoSettings, lasso_path};
use crate::base::error::Result;
use crate::linalg::Matrix;
use crate::space;
use crate::term::kernel::{Kernel, Points};

/// Minimises (1/W) Σ wᵢ(yᵢ − (Kα)ᵢ − b)² + λ‖α‖₁ along λ, K the Gram matrix of the rows of `x`.
///
/// A coefficient belongs to a row: `solutions[k].coefficients[i]` multiplies k(·, xᵢ).
pub fn kernel_lasso_path(
    kernel: &dyn Kernel,
    x: &Matrix,
    y: &[f64],
    weights: Option<&[f64]>,
    lambdas: Option<&[f64]>,
    settings: &LassoSettings<'_>,
) -> Result<LassoPath> {
    Features::Dense(x.clone()).check_finite()?;
    let gram = space::gram(kernel, &Points::new(x));
    lasso_path(&Features::Dense(gram), y, weights, lambdas, settings)
}
