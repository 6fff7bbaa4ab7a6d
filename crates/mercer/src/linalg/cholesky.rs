//! Cholesky factors.

use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::cholesky::llt;
use faer::linalg::triangular_solve;
use rayon::prelude::*;

use super::{Matrix, Par, mirror_lower, shares};
use crate::error::{Error, Result};

/// A = L Lᵀ, with L in the lower triangle of the storage it was given.
pub(crate) struct Cholesky {
    factor: Matrix,
}

impl Cholesky {
    /// Factors a symmetric positive definite matrix, of which only the lower triangle is read.
    /// `None` when a pivot is not positive.
    pub fn new(mut a: Matrix) -> Option<Self> {
        let n = a.rows;
        let params = Default::default();
        let scratch = llt::factor::cholesky_in_place_scratch::<f64>(n, shares(), params);
        let mut buffer = MemBuffer::try_new(scratch).ok()?;
        llt::factor::cholesky_in_place(a.view_mut(), Default::default(), shares(), MemStack::new(&mut buffer), params)
            .ok()?;
        Some(Cholesky { factor: a })
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.factor.rows
    }

    /// L, with anything above its diagonal.
    pub fn lower(&self) -> &Matrix {
        &self.factor
    }

    /// A⁻¹ b, in the place of b.
    pub fn solve(&self, b: &mut Matrix) {
        triangular_solve::solve_lower_triangular_in_place(self.factor.view(), b.view_mut(), shares());
        triangular_solve::solve_upper_triangular_in_place(self.factor.view().transpose(), b.view_mut(), shares());
    }

    /// A⁻¹, both triangles.
    pub fn inverse(&self) -> Result<Matrix> {
        let n = self.factor.rows;
        let mut out = Matrix::zeros(n, n);
        let scratch = llt::inverse::inverse_scratch::<f64>(n, shares());
        let mut buffer = MemBuffer::try_new(scratch)
            .map_err(|_| Error::Decomposition("no memory for the inverse of the Gram matrix".into()))?;
        llt::inverse::inverse(out.view_mut(), self.factor.view(), shares(), MemStack::new(&mut buffer));
        mirror_lower(&mut out);
        Ok(out)
    }

    /// ln det A.
    pub fn log_det(&self) -> f64 {
        (0..self.factor.rows).map(|i| 2.0 * libm::log(self.factor.get(i, i))).sum()
    }

    /// The diagonal of A⁻¹: (A⁻¹)ᵢᵢ = ‖L⁻¹eᵢ‖², from blocks of columns of L⁻¹ that are thrown away again.
    /// n³/3 operations and no second matrix.
    pub fn inverse_diagonal(&self) -> Vec<f64> {
        const BLOCK: usize = 128;
        let n = self.factor.rows;
        let starts: Vec<usize> = (0..n).step_by(BLOCK).collect();
        let blocks: Vec<Vec<f64>> = starts
            .par_iter()
            .map(|&start| {
                let width = BLOCK.min(n - start);
                let height = n - start;
                let mut columns = Matrix::from_fn(height, width, |i, j| f64::from(i == j));
                let lower = self.factor.view().submatrix(start, start, height, height);
                triangular_solve::solve_lower_triangular_in_place(lower, columns.view_mut(), Par::Seq);
                (0..width).map(|j| columns.col(j).iter().map(|x| x * x).sum()).collect()
            })
            .collect();
        blocks.concat()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::multiply;

    #[test]
    fn cholesky_solves_and_gives_the_diagonal_of_the_inverse() {
        let mut a = crate::linalg::tests::random_symmetric(300, 3);
        for i in 0..300 {
            a.set(i, i, a.get(i, i) + 1.0);
        }
        let factor = Cholesky::new(a.clone()).unwrap();
        let diagonal = factor.inverse_diagonal();
        let mut unit = Matrix::zeros(300, 1);
        unit.set(17, 0, 1.0);
        factor.solve(&mut unit);
        assert!((unit.get(17, 0) - diagonal[17]).abs() < 1e-12);
        let back = multiply(&a, &unit);
        assert!((back.get(17, 0) - 1.0).abs() < 1e-12 && back.get(3, 0).abs() < 1e-12);
        assert!(Cholesky::new(Matrix::from_rows(&[[-1.0]]).unwrap()).is_none());
    }
}
