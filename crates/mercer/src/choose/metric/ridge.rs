//! One kernel, one ridge, one factorisation: coefficients, offset and leave-one-out.

use crate::linalg::{Cholesky, Matrix};
use crate::space;
use crate::term::kernel::{Kernel, Points};

/// Which held-out residuals are wanted.
#[derive(Debug, Clone, Copy)]
pub(crate) enum LeftOut<'a> {
    Nothing,
    Rows,
    /// These groups of rows, each as a whole; every row is in one.
    Groups(&'a [Vec<usize>]),
}

/// A ridge fit at γ = Wμ.
pub(crate) struct RidgeFit {
    /// α, n × targets.
    pub alpha: Matrix,
    /// b of each target.
    pub offsets: Vec<f64>,
    /// Held-out residuals at the same γ, n × targets, times √w.
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
    left_out: LeftOut<'_>,
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
    let mut diagonal = if let LeftOut::Rows = left_out { factor.inverse_diagonal() } else { Vec::new() };
    let mut inverse = match left_out {
        LeftOut::Groups(_) => Some(factor.inverse().ok()?),
        _ => None,
    };
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
        if let Some(inverse) = &mut inverse {
            for (j, other) in image.iter().enumerate() {
                inverse.col_mut(j).iter_mut().zip(image).for_each(|(g, c)| *g -= c * other / sum);
            }
        }
    }
    let residuals = match (left_out, &inverse) {
        (LeftOut::Rows, _) => Some(Matrix::from_fn(n, y.cols(), |i, t| beta.get(i, t) / diagonal[i])),
        (LeftOut::Groups(groups), Some(inverse)) => Some(without_groups(inverse, &beta, groups)?),
        _ => None,
    };
    let alpha = Matrix::from_fn(n, y.cols(), |i, t| root(i) * beta.get(i, t));
    alpha.as_slice().iter().all(|a| a.is_finite()).then_some(RidgeFit { alpha, offsets, residuals })
}

/// (G⁻¹_BB)⁻¹ (G⁻¹y)_B of every group B.
fn without_groups(inverse: &Matrix, dual: &Matrix, groups: &[Vec<usize>]) -> Option<Matrix> {
    let mut residuals = Matrix::zeros(dual.rows(), dual.cols());
    for rows in groups {
        let block = Matrix::from_fn(rows.len(), rows.len(), |i, j| inverse.get(rows[i], rows[j]));
        let mut part = Matrix::from_fn(rows.len(), dual.cols(), |i, t| dual.get(rows[i], t));
        Cholesky::new(block)?.solve(&mut part);
        for (i, row) in rows.iter().enumerate() {
            (0..dual.cols()).for_each(|t| residuals.set(*row, t, part.get(i, t)));
        }
    }
    Some(residuals)
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
