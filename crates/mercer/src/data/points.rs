//! Rows of a table as kernels like to read them: one feature after another.

use crate::linalg::Matrix;
use crate::linalg::simd::LANES;

/// Many rows: numbers feature by feature, padded so that a block of lanes may be read from any row on, and
/// codes of text columns for the kernels that compare them.
#[derive(Debug, Clone, PartialEq)]
pub struct Points {
    rows: usize,
    features: usize,
    stride: usize,
    numbers: Vec<f64>,
    codes: Vec<Vec<u32>>,
}

/// One row.
#[derive(Debug, Clone, Copy)]
pub struct Point<'a> {
    /// Its features.
    pub numbers: &'a [f64],
    /// Its categories, one per text column.
    pub codes: &'a [u32],
}

impl Points {
    /// Points from a matrix with one row per point.
    pub fn new(x: &Matrix) -> Self {
        Points::with_codes(x, Vec::new())
    }

    /// Points with text columns: `codes` has one vector per column, as long as the matrix has rows.
    pub fn with_codes(x: &Matrix, codes: Vec<Vec<u32>>) -> Self {
        let (rows, features) = (x.rows(), x.cols());
        let stride = rows + LANES;
        let mut numbers = vec![0.0; stride * features];
        for j in 0..features {
            numbers[j * stride..j * stride + rows].copy_from_slice(x.col(j));
        }
        Points { rows, features, stride, numbers, codes }
    }

    /// Number of points.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Number of numeric features.
    pub fn features(&self) -> usize {
        self.features
    }

    /// Number of text columns.
    pub fn code_columns(&self) -> usize {
        self.codes.len()
    }

    /// Feature `j` of all points.
    pub fn feature(&self, j: usize) -> &[f64] {
        &self.numbers[j * self.stride..j * self.stride + self.rows]
    }

    /// The codes of text column `j`.
    pub fn codes(&self, j: usize) -> &[u32] {
        &self.codes[j]
    }

    /// The points for which `keep` holds.
    pub fn only(&self, keep: &[bool]) -> Self {
        let rows: Vec<usize> = (0..self.rows).filter(|i| keep[*i]).collect();
        self.subset(&rows)
    }

    /// One more point. Room is doubled when it is used up, so that many cost little.
    pub(crate) fn push(&mut self, x: Point<'_>) {
        if self.rows + 1 + LANES > self.stride {
            let stride = 2 * (self.rows + LANES);
            let mut numbers = vec![0.0; stride * self.features];
            for j in 0..self.features {
                numbers[j * stride..j * stride + self.rows].copy_from_slice(self.feature(j));
            }
            (self.stride, self.numbers) = (stride, numbers);
        }
        for (j, value) in x.numbers.iter().enumerate() {
            self.numbers[j * self.stride + self.rows] = *value;
        }
        self.codes.iter_mut().zip(x.codes).for_each(|(column, code)| column.push(*code));
        self.rows += 1;
    }

    /// These points, in this order.
    pub fn subset(&self, rows: &[usize]) -> Self {
        let x = Matrix::from_fn(rows.len(), self.features, |i, j| self.numbers[j * self.stride + rows[i]]);
        let codes = self.codes.iter().map(|column| rows.iter().map(|row| column[*row]).collect()).collect();
        Points::with_codes(&x, codes)
    }

    /// The numbers as a matrix with one row per point.
    pub fn to_matrix(&self) -> Matrix {
        Matrix::from_fn(self.rows, self.features, |i, j| self.numbers[j * self.stride + i])
    }

    /// A full block of lanes of feature `j` from point `start` on; what lies past the last point is padding.
    #[inline(always)]
    pub(crate) fn block(&self, j: usize, start: usize) -> &[f64; LANES] {
        let from = j * self.stride + start;
        self.numbers[from..from + LANES].first_chunk().expect("columns are padded by one block")
    }

    /// N numbers of feature `j` from point `start` on, all of which must be points or padding.
    #[inline(always)]
    pub(crate) fn run<const N: usize>(&self, j: usize, start: usize) -> &[f64; N] {
        let from = j * self.stride + start;
        self.numbers[from..from + N].first_chunk().expect("as long as it was cut")
    }

    /// Runs `body` on point `i`, gathered into one slice.
    pub fn with_point<R>(&self, i: usize, body: impl FnOnce(Point<'_>) -> R) -> R {
        let numbers: Vec<f64> = (0..self.features).map(|j| self.numbers[j * self.stride + i]).collect();
        let codes: Vec<u32> = self.codes.iter().map(|column| column[i]).collect();
        body(Point { numbers: &numbers, codes: &codes })
    }
}

/// Fills `out` block by block: `block(at)` gives the values of the `LANES` points from `at` on.
#[inline(always)]
pub(crate) fn fill_blocks(start: usize, out: &mut [f64], mut block: impl FnMut(usize) -> [f64; LANES]) {
    let mut at = start;
    let (chunks, rest) = out.as_chunks_mut();
    for chunk in chunks {
        *chunk = block(at);
        at += LANES;
    }
    if !rest.is_empty() {
        rest.copy_from_slice(&block(at)[..rest.len()]);
    }
}

impl Points {
    /// A single point as points.
    pub(crate) fn of_one(x: Point<'_>) -> Self {
        let row = Matrix::from_fn(1, x.numbers.len(), |_, j| x.numbers[j]);
        Points::with_codes(&row, x.codes.iter().map(|code| vec![*code]).collect())
    }
}
