//! Dense linear algebra: the only chapter that names the backend.
//!
//! Work is always cut for two threads, however many there are, and combined in one order: the same
//! bits come out with 1, 2 or 8 threads.

pub(crate) mod band;
mod cholesky;
mod decomposition;
pub(crate) mod double;
mod norm;
mod qr;
pub(crate) mod simd;
mod single;
mod small_cholesky;
mod tall;
pub(crate) mod tile;
pub(crate) mod tridiagonal;

use faer::linalg::matmul::triangular::{self, BlockStructure};
use faer::linalg::{matmul, triangular_solve};
use faer::{Accum, MatMut, MatRef, Par};
use rayon::prelude::*;

use crate::base::error::{Error, Result};
use crate::linalg::simd::{LANES, vectorize};
pub(crate) use cholesky::Cholesky;
pub use decomposition::DecompositionCheck;
pub(crate) use decomposition::{Eigen, eigen, thin_svd};
#[doc(hidden)]
pub use norm::log_sum_exp;
pub(crate) use norm::norm;
pub(crate) use qr::{PivotedQr, add_gram_lower, block_products};
pub(crate) use single::{SingleColumns, SingleTile, SingleTiles};
pub(crate) use small_cholesky::QuickCholesky;
pub(crate) use tall::{add_lower_square, lower_square, multiply_in_place, solve_lower_for_rows};

/// Into how many shares the backend cuts its work, whatever the number of threads.
const SHARES: usize = 2;

fn shares() -> Par {
    if IS_ALONE.get() { Par::Seq } else { Par::rayon(SHARES) }
}

thread_local! {
    static IS_ALONE: std::cell::Cell<bool> = const { std::cell::Cell::new(false) };
}

/// Runs one of several large tasks that go on side by side: the backend then does not cut its work into shares, whose
/// meeting points would cost more than they bring.
pub(crate) fn side_by_side<R>(task: impl FnOnce() -> R) -> R {
    struct Restore(bool);
    impl Drop for Restore {
        fn drop(&mut self) {
            IS_ALONE.set(self.0);
        }
    }
    let _restore = Restore(IS_ALONE.replace(true));
    task()
}

/// A dense matrix of f64, stored by columns.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Matrix {
    rows: usize,
    cols: usize,
    data: Vec<f64>,
}

impl Matrix {
    /// A matrix of zeros.
    pub fn zeros(rows: usize, cols: usize) -> Self {
        Matrix { rows, cols, data: vec![0.0; rows * cols] }
    }

    /// The matrix whose entry in row `i` and column `j` is `entry(i, j)`.
    pub fn from_fn(rows: usize, cols: usize, mut entry: impl FnMut(usize, usize) -> f64) -> Self {
        let mut data = Vec::with_capacity(rows * cols);
        for j in 0..cols {
            for i in 0..rows {
                data.push(entry(i, j));
            }
        }
        Matrix { rows, cols, data }
    }

    /// A matrix from its rows, which must have one length.
    pub fn from_rows<R: AsRef<[f64]>>(rows: &[R]) -> Result<Self> {
        let cols = rows.first().map_or(0, |row| row.as_ref().len());
        for (i, row) in rows.iter().enumerate() {
            if row.as_ref().len() != cols {
                return Err(Error::shape(
                    format!("row {}", i + 1),
                    format!("{cols} numbers, as row 1 has"),
                    row.as_ref().len(),
                ));
            }
        }
        Ok(Matrix::from_fn(rows.len(), cols, |i, j| rows[i].as_ref()[j]))
    }

    /// A matrix from numbers stored by columns.
    pub fn from_columns(rows: usize, cols: usize, data: Vec<f64>) -> Result<Self> {
        if rows.checked_mul(cols) != Some(data.len()) {
            return Err(Error::shape("the data of a matrix", format!("{rows} × {cols} numbers"), data.len()));
        }
        Ok(Matrix { rows, cols, data })
    }

    /// A matrix of one column.
    pub fn column_vector(values: Vec<f64>) -> Self {
        Matrix { rows: values.len(), cols: 1, data: values }
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Number of columns.
    pub fn cols(&self) -> usize {
        self.cols
    }

    /// The entry in row `i` and column `j`.
    pub fn get(&self, i: usize, j: usize) -> f64 {
        self.data[j * self.rows + i]
    }

    /// Sets the entry in row `i` and column `j`.
    pub fn set(&mut self, i: usize, j: usize, value: f64) {
        self.data[j * self.rows + i] = value;
    }

    /// Column `j`.
    pub fn col(&self, j: usize) -> &[f64] {
        &self.data[j * self.rows..(j + 1) * self.rows]
    }

    /// Column `j`, to be written.
    pub fn col_mut(&mut self, j: usize) -> &mut [f64] {
        &mut self.data[j * self.rows..(j + 1) * self.rows]
    }

    /// All entries, column after column.
    pub fn as_slice(&self) -> &[f64] {
        &self.data
    }

    /// All entries, column after column, as the vector that holds them.
    pub fn into_vec(self) -> Vec<f64> {
        self.data
    }

    /// All entries, column after column, to be written.
    pub fn as_mut_slice(&mut self) -> &mut [f64] {
        &mut self.data
    }

    /// The largest absolute value; NaN if any entry is NaN.
    pub fn max_abs(&self) -> f64 {
        let (largest, poison) = vectorize(
            #[inline(always)]
            || {
                let (mut largest, mut poison) = ([0.0_f64; LANES], [0.0_f64; LANES]);
                let blocks = self.data.chunks_exact(LANES);
                let rest = blocks.remainder();
                for block in blocks {
                    for l in 0..LANES {
                        let size = block[l].abs();
                        largest[l] = if size > largest[l] { size } else { largest[l] };
                        poison[l] += 0.0 * block[l];
                    }
                }
                for (l, x) in rest.iter().enumerate() {
                    largest[l] = if x.abs() > largest[l] { x.abs() } else { largest[l] };
                    poison[l] += 0.0 * x;
                }
                (largest, poison)
            },
        );
        // Neither infinite nor NaN anywhere: nothing was overlooked by a comparison.
        if poison.iter().all(|x| *x == 0.0) {
            return largest.iter().fold(0.0, |max: f64, x| max.max(*x));
        }
        self.data.iter().fold(0.0, |max: f64, x| if x.is_nan() || max.is_nan() { f64::NAN } else { max.max(x.abs()) })
    }

    /// Matrices with the same columns, one below the other.
    pub(crate) fn stacked(parts: &[&Matrix]) -> Self {
        let (rows, cols) = (parts.iter().map(|part| part.rows).sum(), parts.first().map_or(0, |part| part.cols));
        let mut data = Vec::with_capacity(rows * cols);
        for col in 0..cols {
            parts.iter().for_each(|part| data.extend_from_slice(part.col(col)));
        }
        Matrix { rows, cols, data }
    }

    fn view(&self) -> MatRef<'_, f64> {
        MatRef::from_column_major_slice(&self.data, self.rows, self.cols)
    }

    fn view_mut(&mut self) -> MatMut<'_, f64> {
        MatMut::from_column_major_slice_mut(&mut self.data, self.rows, self.cols)
    }
}

/// A b.
#[doc(hidden)]
pub fn multiply(a: &Matrix, b: &Matrix) -> Matrix {
    let mut out = Matrix::zeros(a.rows, b.cols);
    matmul::matmul(out.view_mut(), Accum::Replace, a.view(), b.view(), 1.0, shares());
    out
}

/// Aᵀ b.
pub(crate) fn multiply_transposed(a: &Matrix, b: &Matrix) -> Matrix {
    let mut out = Matrix::zeros(a.cols, b.cols);
    matmul::matmul(out.view_mut(), Accum::Replace, a.view().transpose(), b.view(), 1.0, shares());
    out
}

/// A bᵀ.
pub(crate) fn multiply_by_transposed(a: &Matrix, b: &Matrix) -> Matrix {
    let mut out = Matrix::zeros(a.rows, b.rows);
    matmul::matmul(out.view_mut(), Accum::Replace, a.view(), b.view().transpose(), 1.0, shares());
    out
}

/// target − A bᵀ, in the place of the target.
pub(crate) fn subtract_product(target: &mut Matrix, a: &Matrix, b: &Matrix) {
    matmul::matmul(target.view_mut(), Accum::Add, a.view(), b.view().transpose(), -1.0, shares());
}

/// A diag(w) Aᵀ for weights that are not negative; both triangles.
pub(crate) fn weighted_square(a: &Matrix, weights: &[f64]) -> Matrix {
    let n = a.rows;
    let mut scaled = a.clone();
    for (j, weight) in weights.iter().enumerate() {
        let root = weight.max(0.0).sqrt();
        scaled.col_mut(j).iter_mut().for_each(|x| *x *= root);
    }
    let mut out = Matrix::zeros(n, n);
    lower_product(&mut out, scaled.view(), scaled.view().transpose());
    mirror_lower(&mut out);
    out
}

/// AAᵀ, its lower triangle.
pub(crate) fn lower_square_of_rows(a: &Matrix) -> Matrix {
    let mut out = Matrix::zeros(a.rows, a.rows);
    lower_product(&mut out, a.view(), a.view().transpose());
    out
}

/// L⁻¹ b, in the place of b, for a lower triangular L.
pub(crate) fn solve_lower(lower: &Matrix, b: &mut Matrix) {
    triangular_solve::solve_lower_triangular_in_place(lower.view(), b.view_mut(), shares());
}

/// L⁻ᵀ b, sums in twice the precision.
pub(crate) fn solve_lower_transposed(lower: &Matrix, b: &[f64]) -> Vec<f64> {
    let mut x = b.to_vec();
    for k in (0..x.len()).rev() {
        let known = double::dot(&lower.col(k)[k + 1..], &x[k + 1..]).value();
        x[k] = (x[k] - known) / lower.get(k, k);
    }
    x
}

/// The lower triangle of a b.
fn lower_product(out: &mut Matrix, a: MatRef<'_, f64>, b: MatRef<'_, f64>) {
    triangular::matmul(
        out.view_mut(),
        BlockStructure::TriangularLower,
        Accum::Replace,
        a,
        BlockStructure::Rectangular,
        b,
        BlockStructure::Rectangular,
        1.0,
        shares(),
    );
}

/// Copies the lower triangle to the upper one, in tiles that stay in the cache.
pub(crate) fn mirror_lower(a: &mut Matrix) {
    const TILE: usize = 32;
    let n = a.rows;
    for column in (0..n).step_by(TILE) {
        for row in (column..n).step_by(TILE) {
            for j in column..(column + TILE).min(n) {
                for i in row.max(j + 1)..(row + TILE).min(n) {
                    a.data[i * n + j] = a.data[j * n + i];
                }
            }
        }
    }
}

/// A b for a symmetric A of which the lower triangle is stored.
pub(crate) fn multiply_lower(a: &Matrix, b: &Matrix) -> Matrix {
    let mut out = Matrix::zeros(a.rows, b.cols);
    // One task per column of b; each entry of the triangle serves both its places.
    let columns: Vec<Vec<f64>> = (0..b.cols)
        .into_par_iter()
        .map(|t| {
            let x = b.col(t);
            let mut y = vec![0.0; a.rows];
            for j in 0..a.cols {
                let column = &a.col(j)[j..];
                add_multiple(&mut y[j + 1..], x[j], &column[1..]);
                y[j] += dot(column, &x[j..]);
            }
            y
        })
        .collect();
    for (t, column) in columns.into_iter().enumerate() {
        out.col_mut(t).copy_from_slice(&column);
    }
    out
}

/// y + factor · x, in the place of y.
pub(crate) fn add_multiple(y: &mut [f64], factor: f64, x: &[f64]) {
    vectorize(
        #[inline(always)]
        || {
            for (y, x) in y.iter_mut().zip(x) {
                *y += factor * x;
            }
        },
    );
}

/// Σ aᵢbᵢ.
pub(crate) fn dot(a: &[f64], b: &[f64]) -> f64 {
    let mut sum = Parts::default();
    sum.add_products(a, b);
    sum.total()
}

/// The largest row sum of |A|, which bounds ‖A‖, of a symmetric A of which the lower triangle is stored;
/// NaN if there is a NaN.
pub(crate) fn largest_row_sum(a: &Matrix) -> f64 {
    let mut sums = vec![0.0; a.rows];
    for j in 0..a.cols {
        let column = &a.col(j)[j..];
        let own = vectorize(
            #[inline(always)]
            || {
                let mut own = [0.0; LANES];
                for (sums, entries) in sums[j..].chunks_mut(LANES).zip(column.chunks(LANES)) {
                    for (l, (sum, entry)) in sums.iter_mut().zip(entries).enumerate() {
                        *sum += entry.abs();
                        own[l] += entry.abs();
                    }
                }
                own
            },
        );
        // The entry on the diagonal was counted by the row, too.
        sums[j] += own.iter().sum::<f64>() - column[0].abs();
    }
    Matrix::column_vector(sums).max_abs()
}

/// A sum of products in lanes that are added up in one fixed order: fast, and the same bits everywhere.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Parts {
    lanes: [f64; LANES],
}

impl Parts {
    /// Adds Σ aᵢbᵢ. All calls but the last must bring a multiple of the lanes' number of terms.
    pub fn add_products(&mut self, a: &[f64], b: &[f64]) {
        // A copy: through a reference the compiler must fear that sums and terms overlap, and adds one number at a time.
        let mut lanes = self.lanes;
        self.lanes = vectorize(
            #[inline(always)]
            move || {
                let (a_blocks, b_blocks) = (a.chunks_exact(LANES), b.chunks_exact(LANES));
                let (a_rest, b_rest) = (a_blocks.remainder(), b_blocks.remainder());
                for (x, y) in a_blocks.zip(b_blocks) {
                    for l in 0..LANES {
                        lanes[l] += x[l] * y[l];
                    }
                }
                for (l, (x, y)) in a_rest.iter().zip(b_rest).enumerate() {
                    lanes[l] += x * y;
                }
                lanes
            },
        );
    }

    /// The sum.
    pub fn total(self) -> f64 {
        let mut lanes = self.lanes;
        let mut width = LANES / 2;
        while width > 0 {
            for l in 0..width {
                lanes[l] += lanes[l + width];
            }
            width /= 2;
        }
        lanes[0]
    }
}

/// e such that 2ᵉ ≤ |x| < 2ᵉ⁺¹ (x finite and not zero).
pub(crate) fn exponent_of(x: f64) -> i32 {
    let (_, exponent) = libm::frexp(x);
    exponent - 1
}

/// Multiplies all by 2ᵖ, without error as long as nothing leaves the range of f64.
pub(crate) fn scale_by_power_of_two(data: &mut [f64], power: i32) {
    match power {
        0 => {}
        // One product is exact, and quicker.
        -1000..=1000 => {
            let factor = libm::ldexp(1.0, power);
            data.iter_mut().for_each(|x| *x *= factor);
        }
        _ => data.iter_mut().for_each(|x| *x = libm::ldexp(*x, power)),
    }
}
