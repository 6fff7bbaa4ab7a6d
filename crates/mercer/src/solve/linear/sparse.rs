//! Sparse matrices: stored by columns, and by rows once rows are asked for.

use std::sync::OnceLock;

use rayon::prelude::*;

use crate::base::error::{Error, Result};
use crate::linalg::Matrix;

/// Lines (rows or columns) that one task works on.
const LINES: usize = 256;

/// A sparse matrix of f64; within a row or column, entries are in ascending order.
#[derive(Debug, Clone)]
pub struct Sparse {
    rows: usize,
    cols: usize,
    by_columns: Lines,
    by_rows: OnceLock<Lines>,
}

impl PartialEq for Sparse {
    fn eq(&self, other: &Self) -> bool {
        (self.rows, self.cols, &self.by_columns) == (other.rows, other.cols, &other.by_columns)
    }
}

/// Lines one after the other.
#[derive(Debug, Clone, PartialEq)]
struct Lines {
    starts: Vec<usize>,
    places: Vec<u32>,
    values: Vec<f64>,
}

impl Lines {
    fn line(&self, k: usize) -> (&[u32], &[f64]) {
        let range = self.starts[k]..self.starts[k + 1];
        (&self.places[range.clone()], &self.values[range])
    }

    /// The same entries in lines across, `across` of them; places ascend because lines are visited in order.
    fn turned(&self, across: usize) -> Lines {
        let mut starts = vec![0; across + 1];
        for place in &self.places {
            starts[*place as usize + 1] += 1;
        }
        for k in 0..across {
            starts[k + 1] += starts[k];
        }
        let mut next = starts.clone();
        let mut places = vec![0; self.places.len()];
        let mut values = vec![0.0; self.values.len()];
        for k in 0..self.starts.len() - 1 {
            let (line_places, line_values) = self.line(k);
            for (place, value) in line_places.iter().zip(line_values) {
                let slot = next[*place as usize];
                places[slot] = k as u32;
                values[slot] = *value;
                next[*place as usize] += 1;
            }
        }
        Lines { starts, places, values }
    }
}

impl Sparse {
    /// From rows of (column, value), columns ascending, values finite.
    pub fn from_rows<R: AsRef<[(usize, f64)]>>(cols: usize, rows: &[R]) -> Result<Self> {
        check_size(rows.len(), cols)?;
        let mut lines = Lines { starts: vec![0], places: Vec::new(), values: Vec::new() };
        for (i, row) in rows.iter().enumerate() {
            let mut previous = None;
            for (column, value) in row.as_ref() {
                check_entry(i, *column, *value, cols)?;
                if previous.is_some_and(|p| p >= *column) {
                    return Err(Error::cell(
                        i + 1,
                        format!("{}", column + 1),
                        "must come after the columns before it in its row, once only",
                    ));
                }
                previous = Some(*column);
                lines.places.push(*column as u32);
                lines.values.push(*value);
            }
            lines.starts.push(lines.places.len());
        }
        let by_columns = lines.turned(cols);
        Ok(Sparse { rows: rows.len(), cols, by_columns, by_rows: OnceLock::from(lines) })
    }

    /// From (row, column, value) in any order; no place may be named twice, values must be finite.
    pub fn from_triplets(rows: usize, cols: usize, entries: &[(usize, usize, f64)]) -> Result<Self> {
        check_size(rows, cols)?;
        let mut by_row: Vec<Vec<(usize, f64)>> = vec![Vec::new(); rows];
        for (row, column, value) in entries {
            let Some(line) = by_row.get_mut(*row) else {
                return Err(Error::argument("a row of a sparse matrix", format!("below {rows}"), row));
            };
            line.push((*column, *value));
        }
        by_row.iter_mut().for_each(|line| line.sort_by_key(|(column, _)| *column));
        Sparse::from_rows(cols, &by_row)
    }

    /// The entries of a dense matrix that are not zero.
    pub fn from_dense(x: &Matrix) -> Result<Self> {
        check_size(x.rows(), x.cols())?;
        let mut lines = Lines { starts: vec![0], places: Vec::new(), values: Vec::new() };
        for j in 0..x.cols() {
            for (i, value) in x.col(j).iter().enumerate().filter(|(_, value)| **value != 0.0) {
                check_entry(i, j, *value, x.cols())?;
                lines.places.push(i as u32);
                lines.values.push(*value);
            }
            lines.starts.push(lines.places.len());
        }
        Ok(Sparse { rows: x.rows(), cols: x.cols(), by_columns: lines, by_rows: OnceLock::new() })
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Number of columns.
    pub fn cols(&self) -> usize {
        self.cols
    }

    /// Number of stored entries.
    pub fn stored(&self) -> usize {
        self.by_columns.places.len()
    }

    /// Rows and values of column `j`, rows ascending.
    pub fn col(&self, j: usize) -> (&[u32], &[f64]) {
        self.by_columns.line(j)
    }

    /// Columns and values of row `i`, columns ascending.
    pub fn row(&self, i: usize) -> (&[u32], &[f64]) {
        self.lines_of_rows().line(i)
    }

    fn lines_of_rows(&self) -> &Lines {
        self.by_rows.get_or_init(|| self.by_columns.turned(self.rows))
    }

    /// Every entry multiplied by a factor of its row.
    pub(crate) fn scale_rows(&self, factors: &[f64]) -> Sparse {
        let mut by_columns = self.by_columns.clone();
        for (value, row) in by_columns.values.iter_mut().zip(&self.by_columns.places) {
            *value *= factors[*row as usize];
        }
        Sparse { rows: self.rows, cols: self.cols, by_columns, by_rows: OnceLock::new() }
    }

    /// X v.
    pub(crate) fn multiply(&self, v: &[f64]) -> Vec<f64> {
        products(self.lines_of_rows(), self.rows, v)
    }

    /// Xᵀ u.
    pub(crate) fn multiply_transposed(&self, u: &[f64]) -> Vec<f64> {
        products(&self.by_columns, self.cols, u)
    }

    pub(crate) fn select_rows(&self, keep: &[usize]) -> Sparse {
        let all = self.lines_of_rows();
        let mut lines = Lines { starts: vec![0], places: Vec::new(), values: Vec::new() };
        for i in keep {
            let (places, values) = all.line(*i);
            lines.places.extend_from_slice(places);
            lines.values.extend_from_slice(values);
            lines.starts.push(lines.places.len());
        }
        let by_columns = lines.turned(self.cols);
        Sparse { rows: keep.len(), cols: self.cols, by_columns, by_rows: OnceLock::from(lines) }
    }

    pub(crate) fn select_cols(&self, keep: &[usize]) -> Sparse {
        let mut lines = Lines { starts: vec![0], places: Vec::new(), values: Vec::new() };
        for j in keep {
            let (places, values) = self.col(*j);
            lines.places.extend_from_slice(places);
            lines.values.extend_from_slice(values);
            lines.starts.push(lines.places.len());
        }
        Sparse { rows: self.rows, cols: keep.len(), by_columns: lines, by_rows: OnceLock::new() }
    }

    /// XᵀX, lower triangle.
    pub(crate) fn square_of_columns(&self) -> Matrix {
        sum_of_squares(self.cols, self.lines_of_rows())
    }

    /// XXᵀ, lower triangle.
    pub(crate) fn square_of_rows(&self) -> Matrix {
        sum_of_squares(self.rows, &self.by_columns)
    }

    pub(crate) fn to_dense(&self) -> Matrix {
        let mut out = Matrix::zeros(self.rows, self.cols);
        for j in 0..self.cols {
            let (rows, values) = self.col(j);
            let column = out.col_mut(j);
            for (i, value) in rows.iter().zip(values) {
                column[*i as usize] = *value;
            }
        }
        out
    }
}

/// Σ l lᵀ over the lines, each of `size` places: lower triangle.
fn sum_of_squares(size: usize, lines: &Lines) -> Matrix {
    let mut out = Matrix::zeros(size, size);
    for k in 0..lines.starts.len() - 1 {
        let (places, values) = lines.line(k);
        for (first, (place, value)) in places.iter().zip(values).enumerate() {
            let column = out.col_mut(*place as usize);
            for (other, entry) in places[first..].iter().zip(&values[first..]) {
                column[*other as usize] += value * entry;
            }
        }
    }
    out
}

/// Σ over a line of value × v at its place.
pub(crate) fn gather((places, values): (&[u32], &[f64]), v: &[f64]) -> f64 {
    // Four sums: one alone waits for each addition.
    let mut sums = [0.0; 4];
    let (whole_places, rest_places) = places.split_at(places.len() & !3);
    let (whole_values, rest_values) = values.split_at(whole_places.len());
    for (p, x) in whole_places.chunks_exact(4).zip(whole_values.chunks_exact(4)) {
        for l in 0..4 {
            sums[l] += x[l] * v[p[l] as usize];
        }
    }
    for (p, x) in rest_places.iter().zip(rest_values) {
        sums[0] += x * v[*p as usize];
    }
    (sums[0] + sums[1]) + (sums[2] + sums[3])
}

fn products(lines: &Lines, count: usize, v: &[f64]) -> Vec<f64> {
    let mut out = vec![0.0; count];
    let fill = |(chunk, out): (usize, &mut [f64])| {
        for (k, out) in out.iter_mut().enumerate() {
            *out = gather(lines.line(chunk * LINES + k), v);
        }
    };
    if lines.places.len() < 1 << 14 {
        out.chunks_mut(LINES).enumerate().for_each(fill);
    } else {
        out.par_chunks_mut(LINES).enumerate().for_each(fill);
    }
    out
}

fn check_size(rows: usize, cols: usize) -> Result<()> {
    if rows.max(cols) > u32::MAX as usize {
        return Err(Error::argument("the size of a sparse matrix", "below 2³² rows and columns", rows.max(cols)));
    }
    Ok(())
}

fn check_entry(row: usize, column: usize, value: f64, cols: usize) -> Result<()> {
    if column >= cols {
        return Err(Error::cell(row + 1, format!("{}", column + 1), format!("is beyond the {cols} columns there are")));
    }
    if !value.is_finite() {
        return Err(Error::cell(row + 1, format!("{}", column + 1), format!("must be a finite number; got {value}")));
    }
    Ok(())
}
