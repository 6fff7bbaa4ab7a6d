//! QR with column pivoting, and products that other chapters ask of dense matrices.

use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::{householder, matmul, qr, triangular_solve};
use faer::{Accum, Conj, Mat};

use super::{BlockStructure, Matrix, shares, triangular};
use crate::base::error::{Error, Result};

/// A P = Q R of a matrix with at least as many rows as columns, |R₁₁| ≥ |R₂₂| ≥ …
pub(crate) struct PivotedQr {
    /// R above and on the diagonal, Householder vectors below.
    packed: Matrix,
    coefficients: Mat<f64>,
    /// Column `order[k]` of A is column k of A P.
    order: Vec<usize>,
}

impl PivotedQr {
    /// Decomposes `a`, which must not be wider than tall.
    pub fn new(mut a: Matrix) -> Result<Self> {
        let (rows, cols) = (a.rows, a.cols);
        let block = qr::no_pivoting::factor::recommended_block_size::<f64>(rows, cols);
        let mut coefficients = Mat::zeros(block, cols);
        let (mut order, mut inverse) = (vec![0usize; cols], vec![0usize; cols]);
        let params = Default::default();
        let scratch = qr::col_pivoting::factor::qr_in_place_scratch::<usize, f64>(rows, cols, block, shares(), params);
        let mut buffer =
            MemBuffer::try_new(scratch).map_err(|_| Error::Decomposition("no memory for a QR decomposition".into()))?;
        qr::col_pivoting::factor::qr_in_place(
            a.view_mut(),
            coefficients.as_mut(),
            &mut order,
            &mut inverse,
            shares(),
            MemStack::new(&mut buffer),
            params,
        );
        Ok(PivotedQr { packed: a, coefficients, order })
    }

    /// |Rₖₖ|.
    pub fn diagonal(&self) -> Vec<f64> {
        (0..self.packed.cols).map(|k| self.packed.get(k, k).abs()).collect()
    }

    /// Qᵀ b, in the place of b (all rows).
    pub fn apply_transposed(&self, b: &mut [f64]) -> Result<()> {
        self.apply(b, true)
    }

    /// Q b, in the place of b (all rows).
    pub fn apply_q(&self, b: &mut [f64]) -> Result<()> {
        self.apply(b, false)
    }

    fn apply(&self, b: &mut [f64], transposed: bool) -> Result<()> {
        let rows = self.packed.rows;
        let scratch = householder::apply_block_householder_sequence_on_the_left_in_place_scratch::<f64>(
            rows,
            self.coefficients.nrows(),
            1,
        )
        .or(householder::apply_block_householder_sequence_transpose_on_the_left_in_place_scratch::<f64>(
            rows,
            self.coefficients.nrows(),
            1,
        ));
        let mut buffer =
            MemBuffer::try_new(scratch).map_err(|_| Error::Decomposition("no memory for a QR product".into()))?;
        let target = faer::MatMut::from_column_major_slice_mut(b, rows, 1);
        let stack = MemStack::new(&mut buffer);
        let (basis, factor) = (self.packed.view(), self.coefficients.as_ref());
        if transposed {
            householder::apply_block_householder_sequence_transpose_on_the_left_in_place_with_conj(
                basis,
                factor,
                Conj::No,
                target,
                faer::Par::Seq,
                stack,
            );
        } else {
            householder::apply_block_householder_sequence_on_the_left_in_place_with_conj(
                basis,
                factor,
                Conj::No,
                target,
                faer::Par::Seq,
                stack,
            );
        }
        Ok(())
    }

    /// P R⁻¹ b for b of as many entries as there are columns.
    pub fn solve_upper(&self, b: &[f64]) -> Vec<f64> {
        let cols = self.packed.cols;
        let mut x = Matrix::column_vector(b[..cols].to_vec());
        let triangle = self.packed.view().subrows(0, cols);
        triangular_solve::solve_upper_triangular_in_place(triangle, x.view_mut(), faer::Par::Seq);
        let mut out = vec![0.0; cols];
        for (k, j) in self.order.iter().enumerate() {
            out[*j] = x.data[k];
        }
        out
    }

    /// R⁻ᵀ Pᵀ b.
    pub fn solve_upper_transposed(&self, b: &[f64]) -> Vec<f64> {
        let cols = self.packed.cols;
        let mut x = Matrix::column_vector(self.order.iter().map(|j| b[*j]).collect());
        let triangle = self.packed.view().subrows(0, cols);
        triangular_solve::solve_lower_triangular_in_place(triangle.transpose(), x.view_mut(), faer::Par::Seq);
        x.data
    }

    /// (R Pᵀ)ᵀ, so that Aᵀ = (this) Qᵀ.
    pub fn transposed_triangle(&self) -> Matrix {
        let cols = self.packed.cols;
        let mut out = Matrix::zeros(cols, cols);
        for (k, j) in self.order.iter().enumerate() {
            for i in 0..=k {
                out.set(*j, i, self.packed.get(i, k));
            }
        }
        out
    }

    /// The norms of the rows of A⁺ = P R⁻¹ Qᵀ, that is the square roots of the diagonal of (AᵀA)⁻¹.
    pub fn pseudo_inverse_row_norms(&self) -> Vec<f64> {
        let cols = self.packed.cols;
        let mut inverse = Matrix::from_fn(cols, cols, |i, j| f64::from(i == j));
        let triangle = self.packed.view().subrows(0, cols);
        triangular_solve::solve_upper_triangular_in_place(triangle, inverse.view_mut(), shares());
        let mut out = vec![0.0; cols];
        for j in 0..cols {
            for k in 0..=j {
                out[self.order[k]] += inverse.get(k, j) * inverse.get(k, j);
            }
        }
        out.into_iter().map(f64::sqrt).collect()
    }
}

/// Aᵀ B of two blocks of columns of one height, written by columns to `out`.
pub(crate) fn block_products(a: &[f64], b: &[f64], rows: usize, out: &mut Matrix) {
    let left = faer::MatRef::from_column_major_slice(a, rows, out.rows);
    let right = faer::MatRef::from_column_major_slice(b, rows, out.cols);
    matmul::matmul(out.view_mut(), Accum::Replace, left.transpose(), right, 1.0, shares());
}

/// target + Aᵀ A in its lower triangle, for a block of rows × target.rows() numbers stored by columns.
pub(crate) fn add_gram_lower(a: &[f64], rows: usize, target: &mut Matrix, alone: bool) {
    let block = faer::MatRef::from_column_major_slice(a, rows, target.rows);
    triangular::matmul(
        target.view_mut(),
        BlockStructure::TriangularLower,
        Accum::Add,
        block.transpose(),
        BlockStructure::Rectangular,
        block,
        BlockStructure::Rectangular,
        1.0,
        if alone { faer::Par::Seq } else { shares() },
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn qr_gives_back_the_matrix_and_solves() {
        let a = Matrix::from_fn(9, 4, |i, j| ((i * 7 + j * 3) % 11) as f64 - 4.0 + 0.1 * j as f64);
        let qr = PivotedQr::new(a.clone()).unwrap();
        let x = [1.0, -2.0, 3.0, 0.5];
        let mut b: Vec<f64> = (0..9).map(|i| (0..4).map(|j| a.get(i, j) * x[j]).sum()).collect();
        let original = b.clone();
        qr.apply_transposed(&mut b).unwrap();
        let solved = qr.solve_upper(&b);
        for (got, want) in solved.iter().zip(&x) {
            assert!((got - want).abs() < 1e-12);
        }
        qr.apply_q(&mut b).unwrap();
        for (got, want) in b.iter().zip(&original) {
            assert!((got - want).abs() < 1e-12);
        }
        let norms = qr.pseudo_inverse_row_norms();
        let mut unit = vec![0.0; 4];
        unit[2] = 1.0;
        let column: f64 = qr.solve_upper_transposed(&unit).iter().map(|v| v * v).sum();
        assert!((column.sqrt() - norms[2]).abs() < 1e-12);
    }
}
