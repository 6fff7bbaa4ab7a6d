//! One kernel, one ridge, one factorisation: coefficients, offset and leave-one-out.

use crate::kernel::{Kernel, Points};
use crate::linalg::{Cholesky, Matrix};
use crate::space;

/// A ridge fit at γ = Wμ.
pub(crate) struct RidgeFit {
    /// α, n × targets.
    pub alpha: Matrix,
    /// b of each target.
    pub offsets: Vec<f64>,
    /// Leave-one-out residuals at the same γ, n × targets, times √w.
    pub residuals: Option<Matrix>,
}

/// `None` where G is singular to rounding. Leave-one-out doubles the work.
pub(crate) fn ridge_fit(
    kernel: &dyn Kernel,
    points: &Points,
    y: &Matrix,
    root_weights: Option<&[f64]>,
    offset: bool,
    gamma: f64,
    with_residuals: bool,
) -> Option<RidgeFit> {
    let n = points.rows();
    let mut gram = space::gram_lower(kernel, points);
    let root = |i: usize| root_weights.map_or(1.0, |s| s[i]);
    for j in 0..n {
        if root_weights.is_some() {
            gram.col_mut(j).iter_mut().enumerate().skip(j).for_each(|(i, k)| *k *= root(i) * root(j));
        }
        gram.set(j, j, gram.get(j, j) + gamma);
    }
    let factor = Cholesky::new(gram)?;
    let mut beta = Matrix::from_fn(n, y.cols(), |i, t| root(i) * y.get(i, t));
    factor.solve(&mut beta);
    let mut diagonal = if with_residuals { factor.inverse_diagonal() } else { Vec::new() };
    let mut offsets = vec![0.0; y.cols()];
    if offset {
        let mut constant = Matrix::from_fn(n, 1, |i, _| root(i));
        factor.solve(&mut constant);
        let image = constant.col(0);
        let sum: f64 = image.iter().enumerate().map(|(i, c)| root(i) * c).sum();
        for t in 0..y.cols() {
            // b = sᵀG⁻¹(s∘y)/sᵀG⁻¹s.
            offsets[t] = beta.col(t).iter().enumerate().map(|(i, b)| root(i) * b).sum::<f64>() / sum;
            let b = offsets[t];
            beta.col_mut(t).iter_mut().zip(image).for_each(|(v, c)| *v -= b * c);
        }
        diagonal.iter_mut().zip(image).for_each(|(g, c)| *g -= c * c / sum);
    }
    let residuals = with_residuals.then(|| Matrix::from_fn(n, y.cols(), |i, t| beta.get(i, t) / diagonal[i]));
    let alpha = Matrix::from_fn(n, y.cols(), |i, t| root(i) * beta.get(i, t));
    alpha.as_slice().iter().all(|a| a.is_finite()).then_some(RidgeFit { alpha, offsets, residuals })
}

impl RidgeFit {
    /// f + b at new points, u × targets.
    pub fn predict(&self, kernel: &dyn Kernel, training: &Points, new: &Points) -> Matrix {
        let mut values = space::evaluate(kernel, training, &self.alpha, new);
        for (t, offset) in self.offsets.iter().enumerate() {
            values.col_mut(t).iter_mut().for_each(|v| *v += offset);
        }
        values
    }
}
