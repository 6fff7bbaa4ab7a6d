//! Cholesky factors.

use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::cholesky::llt;
use faer::linalg::triangular_solve;
use rayon::prelude::*;

use super::{Matrix, Par, mirror_lower, shares};
use crate::base::error::{Error, Result};

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

    /// Factors A + ρI, A positive semidefinite up to rounding with its lower triangle stored: ρ is `ridge`, or the first of ten
    /// times, a hundred times, … as much at which no pivot is lost. Returns ρ, too.
    pub fn with_ridge(a: &Matrix, mut ridge: f64) -> Option<(Self, f64)> {
        for _ in 0..20 {
            let mut matrix = a.clone();
            (0..matrix.cols()).for_each(|k| matrix.set(k, k, matrix.get(k, k) + ridge));
            if let Some(factor) = Cholesky::new(matrix) {
                return Some((factor, ridge));
            }
            ridge *= 10.0;
        }
        None
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.factor.rows
    }

    /// L, with anything above its diagonal.
    pub fn lower(&self) -> &Matrix {
        &self.factor
    }

    /// The same, on its own.
    pub fn into_lower(self) -> Matrix {
        self.factor
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
        let mut a = crate::linalg::decomposition::tests::random_symmetric(300, 3);
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

    #[test]
    fn the_ridge_is_raised_until_no_pivot_is_lost() {
        let a = Matrix::from_rows(&[[1.0, 2.0], [2.0, 3.9]]).unwrap();
        // Its smaller eigenvalue is -0.02.
        let (factor, ridge) = Cholesky::with_ridge(&a, 1e-3).unwrap();
        assert!((ridge - 0.1).abs() < 1e-15, "{ridge}");
        let mut x = Matrix::column_vector(vec![1.0, 0.0]);
        factor.solve(&mut x);
        let left = (1.0 + ridge) * x.get(0, 0) + 2.0 * x.get(1, 0) - 1.0;
        assert!(left.abs() < 1e-12, "{left}");
        assert_eq!(Cholesky::with_ridge(&a, 0.05).unwrap().1, 0.05);
        assert!(Cholesky::with_ridge(&Matrix::from_rows(&[[f64::NAN]]).unwrap(), 1.0).is_none());
    }
}
