//! Tall matrices in single precision, tile of rows by tile of rows: products take half the time and half the memory.
//!
//! They serve where sums over many numbers are wanted to six digits; who uses them measures what they lose.

use faer::linalg::matmul;
use faer::{Accum, MatMut, MatRef, Par};
use rayon::prelude::*;

use super::Matrix;

/// A tall matrix: tiles of rows one after another, each by columns.
#[derive(Debug, Clone)]
pub(crate) struct SingleTiles {
    rows: usize,
    cols: usize,
    data: Vec<f32>,
}

/// Some rows of it.
#[derive(Clone, Copy)]
pub(crate) struct SingleTile<'a> {
    pub start: usize,
    pub height: usize,
    cols: usize,
    numbers: &'a [f32],
}

/// What tiles are multiplied by: columns in units of their largest number, so that none is out of range.
pub(crate) struct SingleColumns {
    rows: usize,
    numbers: Vec<f32>,
    units: Vec<f64>,
}

impl SingleTiles {
    /// Rows of a tile.
    pub const TILE: usize = 256;

    /// (A · unit) B.
    pub fn product(a: &Matrix, unit: f64, b: &Matrix) -> Self {
        let (rows, cols, depth) = (a.rows, b.cols, a.cols);
        let mut data = vec![0.0_f32; rows * cols];
        let right: Vec<f32> = b.data.iter().map(|x| *x as f32).collect();
        let right = MatRef::from_column_major_slice(&right, depth, cols);
        data.par_chunks_mut((Self::TILE * cols).max(1)).enumerate().for_each_init(
            || vec![0.0_f32; Self::TILE * depth],
            |scratch, (index, out)| {
                let (start, height) = (index * Self::TILE, out.len() / cols);
                for (k, column) in scratch[..height * depth].chunks_exact_mut(height).enumerate() {
                    let source = &a.col(k)[start..start + height];
                    column.iter_mut().zip(source).for_each(|(out, x)| *out = (x * unit) as f32);
                }
                let left = MatRef::from_column_major_slice(&scratch[..height * depth], height, depth);
                let out = MatMut::from_column_major_slice_mut(out, height, cols);
                matmul::matmul(out, Accum::Replace, left, right, 1.0, Par::Seq);
            },
        );
        SingleTiles { rows, cols, data }
    }

    pub fn rows(&self) -> usize {
        self.rows
    }

    pub fn cols(&self) -> usize {
        self.cols
    }

    /// Number of tiles.
    pub fn count(&self) -> usize {
        self.rows.div_ceil(Self::TILE)
    }

    pub fn tile(&self, index: usize) -> SingleTile<'_> {
        let start = index * Self::TILE;
        let height = Self::TILE.min(self.rows - start);
        let numbers = &self.data[start * self.cols..(start + height) * self.cols];
        SingleTile { start, height, cols: self.cols, numbers }
    }

    pub fn get(&self, row: usize, col: usize) -> f64 {
        let tile = self.tile(row / Self::TILE);
        f64::from(tile.numbers[col * tile.height + row - tile.start])
    }
}

impl SingleTile<'_> {
    /// Column `col` of these rows.
    pub fn col(&self, col: usize) -> &[f32] {
        &self.numbers[col * self.height..(col + 1) * self.height]
    }

    /// The first columns in double precision.
    pub fn to_double(self, cols: usize) -> Matrix {
        let data = self.numbers[..cols * self.height].iter().map(|x| f64::from(*x)).collect();
        Matrix { rows: self.height, cols, data }
    }

    /// These rows times as many columns as there are.
    pub fn times(self, columns: &SingleColumns) -> Matrix {
        columns.multiplied(&self.numbers[..columns.rows * self.height], self.height)
    }

    /// The squares of their numbers times as many columns as there are.
    pub fn squares_times(self, columns: &SingleColumns) -> Matrix {
        let squares: Vec<f32> = self.numbers[..columns.rows * self.height].iter().map(|x| x * x).collect();
        columns.multiplied(&squares, self.height)
    }

    /// The sums of their squares, row by row.
    pub fn row_squares(self) -> Vec<f64> {
        let mut sums = vec![0.0; self.height];
        for k in 0..self.cols {
            sums.iter_mut().zip(self.col(k)).for_each(|(sum, x)| *sum += f64::from(*x) * f64::from(*x));
        }
        sums
    }
}

impl SingleColumns {
    pub fn of(columns: &Matrix) -> Self {
        let mut numbers = Vec::with_capacity(columns.data.len());
        let mut units = Vec::with_capacity(columns.cols);
        for column in (0..columns.cols).map(|k| columns.col(k)) {
            let unit = column.iter().fold(0.0, |max: f64, x| max.max(x.abs())).max(f64::MIN_POSITIVE);
            numbers.extend(column.iter().map(|x| (x / unit) as f32));
            units.push(unit);
        }
        SingleColumns { rows: columns.rows, numbers, units }
    }

    fn multiplied(&self, left: &[f32], height: usize) -> Matrix {
        let cols = self.units.len();
        let mut out = vec![0.0_f32; height * cols];
        let left = MatRef::from_column_major_slice(left, height, self.rows);
        let right = MatRef::from_column_major_slice(&self.numbers, self.rows, cols);
        let product = MatMut::from_column_major_slice_mut(&mut out, height, cols);
        matmul::matmul(product, Accum::Replace, left, right, 1.0, Par::Seq);
        let mut data = Vec::with_capacity(height * cols);
        for (column, unit) in out.chunks_exact(height.max(1)).zip(&self.units) {
            data.extend(column.iter().map(|x| f64::from(*x) * unit));
        }
        Matrix { rows: height, cols, data }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Against sums of products in double precision, at a size that leaves a part of a tile, with columns of very different size.
    #[test]
    fn products_of_tiles_have_six_digits() {
        let (rows, cols, depth) = (2 * SingleTiles::TILE + 77, 41, 53);
        let a = Matrix::from_fn(rows, depth, |i, j| ((i * 37 + j * 101 + i * j) % 89) as f64 / 44.0 - 1.0);
        let b = Matrix::from_fn(depth, cols, |i, j| ((i * 71 + j * 29 + i * j) % 97) as f64 / 48.0 - 1.0);
        let tiles = SingleTiles::product(&a, 0.5, &b);
        assert_eq!((tiles.rows(), tiles.cols(), tiles.count()), (rows, cols, 3));
        let sizes = [1e-70, 1.0, 1e60];
        let weights = Matrix::from_fn(cols - 1, 3, |k, l| sizes[l] * (1.0 + ((k * 7 + l) % 11) as f64));
        let columns = SingleColumns::of(&weights);
        for tile in (0..tiles.count()).map(|index| tiles.tile(index)) {
            let (plain, squared, sums) = (tile.times(&columns), tile.squares_times(&columns), tile.row_squares());
            let double = tile.to_double(cols);
            for i in 0..tile.height {
                let exact = |k: usize| 0.5 * (0..depth).map(|j| a.get(tile.start + i, j) * b.get(j, k)).sum::<f64>();
                let size: f64 = (0..cols).map(|k| exact(k) * exact(k)).sum();
                assert!((0..cols).all(|k| (double.get(i, k) - exact(k)).abs() < 1e-5), "row {}", tile.start + i);
                assert_eq!(tiles.get(tile.start + i, 7), double.get(i, 7));
                assert!((sums[i] / size - 1.0).abs() < 1e-5);
                for l in 0..3 {
                    let sum = |power: i32| (0..cols - 1).map(|k| exact(k).powi(power) * weights.get(k, l)).sum::<f64>();
                    let scale: f64 = (0..cols - 1).map(|k| exact(k).abs() * weights.get(k, l)).sum();
                    assert!((plain.get(i, l) - sum(1)).abs() < 1e-5 * scale);
                    assert!((squared.get(i, l) / sum(2) - 1.0).abs() < 1e-5);
                }
            }
        }
    }
}
