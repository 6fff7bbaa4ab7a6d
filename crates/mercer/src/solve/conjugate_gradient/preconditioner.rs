//! (F̃F̃ᵀ + γI)⁻¹ by Woodbury's identity, and the ridge path of F̃F̃ᵀ.

use crate::linalg::{Cholesky, Matrix, eigen, largest_row_sum, lower_square, multiply, multiply_transposed};
use crate::path::Path;

pub(super) struct Preconditioner {
    /// F̃ = PSF, n × r.
    factor: Matrix,
    /// F̃ᵀF̃, lower triangle.
    square: Matrix,
    /// γI + F̃ᵀF̃, factored.
    inner: Option<Cholesky>,
    gamma: f64,
}

impl Preconditioner {
    pub fn new(mut factor: Matrix, root_weights: Option<&[f64]>, offset: bool) -> Self {
        let root = |i: usize| root_weights.map_or(1.0, |s| s[i]);
        let total: f64 = (0..factor.rows()).map(|i| root(i) * root(i)).sum();
        for k in 0..factor.cols() {
            let column = factor.col_mut(k);
            let mean = if offset {
                column.iter().enumerate().map(|(i, f)| root(i) * root(i) * f).sum::<f64>() / total
            } else {
                0.0
            };
            column.iter_mut().enumerate().for_each(|(i, f)| *f = root(i) * (*f - mean));
        }
        let square = lower_square(&factor);
        Preconditioner { factor, square, inner: None, gamma: 1.0 }
    }

    /// A bound of ‖F̃F̃ᵀ‖.
    pub fn size(&self) -> f64 {
        if self.square.cols() == 0 { 0.0 } else { largest_row_sum(&self.square) }
    }

    /// For the system at the ridge γ. Any larger ridge preconditions too: it is raised where rounding asks for it.
    pub fn set_ridge(&mut self, gamma: f64) {
        let least = gamma.max(4.0 * f64::EPSILON * self.size());
        (self.inner, self.gamma) = match Cholesky::with_ridge(&self.square, least) {
            Some((factor, ridge)) => (Some(factor), ridge),
            None => (None, least),
        };
    }

    /// (r − F̃(γI + F̃ᵀF̃)⁻¹F̃ᵀr)/γ.
    pub fn apply(&self, r: &Matrix) -> Matrix {
        let mut out = r.clone();
        if let Some(inner) = self.inner.as_ref().filter(|_| self.factor.cols() > 0) {
            let mut coordinates = multiply_transposed(&self.factor, r);
            inner.solve(&mut coordinates);
            let known = multiply(&self.factor, &coordinates);
            out.as_mut_slice().iter_mut().zip(known.as_slice()).for_each(|(r, k)| *r -= k);
        }
        out.as_mut_slice().iter_mut().for_each(|r| *r /= self.gamma);
        out
    }

    /// The ridge path of these landmarks for right-hand sides in units of 2ᵏ that share a ridge.
    pub fn path(&self, rhs: &Matrix, units: &[i32], weight_sum: f64) -> Path {
        let Ok(found) = eigen(self.square.clone()) else { return Path::from_parts(&[], &[], weight_sum) };
        let coordinates = multiply_transposed(&found.vectors, &multiply_transposed(&self.factor, rhs));
        let largest = found.values.last().copied().unwrap_or(0.0);
        let (mut values, mut z) = (Vec::new(), Vec::new());
        for (k, d) in found.values.iter().enumerate().filter(|(_, d)| **d > 1e-14 * largest) {
            let square: f64 = (0..rhs.cols()).map(|t| libm::ldexp(coordinates.get(k, t), units[t]).powi(2)).sum();
            values.push(*d);
            z.push((square / d).sqrt());
        }
        Path::from_parts(&values, &z, weight_sum)
    }
}
