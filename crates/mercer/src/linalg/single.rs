//! Tall matrices in single precision, tile of rows by tile of rows: products take half the time and half the memory.
//!
//! They serve where sums over many numbers are wanted to six digits; who uses them measures what they lose.

use faer::linalg::matmul;
use faer::{Accum, MatMut, MatRef, Par};
use rayon::prelude::*;

use super::Matrix;
use crate::linalg::simd::vectorize;

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

    pub fn zeros(rows: usize, cols: usize) -> Self {
        SingleTiles { rows, cols, data: vec![0.0; rows * cols] }
    }

    /// The rows from `start` on, the first of a tile, become those of A, times `unit`.
    pub fn fill(&mut self, start: usize, a: &Matrix, unit: f64) {
        let cols = self.cols.max(1);
        let own = &mut self.data[start * cols..(start + a.rows) * cols];
        own.par_chunks_mut(Self::TILE * cols).enumerate().for_each(|(index, tile)| {
            let (start, height) = (index * Self::TILE, tile.len() / cols);
            for (k, column) in tile.chunks_exact_mut(height).enumerate() {
                let source = &a.col(k)[start..start + height];
                vectorize(
                    #[inline(always)]
                    || {
                        for (own, x) in column.iter_mut().zip(source) {
                            *own = (x * unit) as f32;
                        }
                    },
                );
            }
        });
    }

    /// A − u vᵀ in the place of A.
    pub fn subtract_outer(&mut self, u: &[f64], v: &[f64]) {
        let cols = self.cols.max(1);
        self.data.par_chunks_mut(Self::TILE * cols).enumerate().for_each(|(index, tile)| {
            let (start, height) = (index * Self::TILE, tile.len() / cols);
            for (column, v) in tile.chunks_exact_mut(height).zip(v) {
                column.iter_mut().zip(&u[start..]).for_each(|(own, u)| *own -= (u * v) as f32);
            }
        });
    }

    /// A B in the place of A, for B that is not wider than tall.
    pub fn multiply_in_place(self, b: &Matrix) -> Self {
        let (rows, depth, cols) = (self.rows, self.cols, b.cols);
        let right: Vec<f32> = b.data.iter().map(|x| *x as f32).collect();
        let right = MatRef::from_column_major_slice(&right, depth, cols);
        let mut data = self.data;
        data.par_chunks_mut((Self::TILE * depth).max(1)).for_each_init(
            || vec![0.0_f32; Self::TILE * depth],
            |scratch, tile| {
                let height = tile.len() / depth;
                let left = &mut scratch[..height * depth];
                left.copy_from_slice(tile);
                let left = MatRef::from_column_major_slice(left, height, depth);
                let out = MatMut::from_column_major_slice_mut(&mut tile[..height * cols], height, cols);
                matmul::matmul(out, Accum::Replace, left, right, 1.0, Par::Seq);
            },
        );
        if cols < depth {
            // Tiles move together.
            for index in 1..rows.div_ceil(Self::TILE) {
                let height = Self::TILE.min(rows - index * Self::TILE);
                let from = index * Self::TILE * depth;
                data.copy_within(from..from + height * cols, index * Self::TILE * cols);
            }
            data.truncate(rows * cols);
        }
        SingleTiles { rows, cols, data }
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
        let mut squares = self.numbers[..columns.rows * self.height].to_vec();
        vectorize(
            #[inline(always)]
            || {
                for x in &mut squares {
                    *x *= *x;
                }
            },
        );
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
        let mut tiles = SingleTiles::zeros(rows, depth);
        let (first, rest) = (SingleTiles::TILE, rows - SingleTiles::TILE);
        tiles.fill(first, &Matrix::from_fn(rest, depth, |i, j| a.get(first + i, j)), 0.5);
        tiles.fill(0, &Matrix::from_fn(first, depth, |i, j| a.get(i, j)), 0.5);
        let u: Vec<f64> = (0..rows).map(|i| 0.5 + i as f64 / rows as f64).collect();
        let v = vec![0.25; depth];
        tiles.subtract_outer(&u, &v);
        let tiles = tiles.multiply_in_place(&b);
        assert_eq!((tiles.rows, tiles.cols(), tiles.count()), (rows, cols, 3));
        let sizes = [1e-70, 1.0, 1e60];
        let weights = Matrix::from_fn(cols - 1, 3, |k, l| sizes[l] * (1.0 + ((k * 7 + l) % 11) as f64));
        let columns = SingleColumns::of(&weights);
        for tile in (0..tiles.count()).map(|index| tiles.tile(index)) {
            let (plain, squared, sums) = (tile.times(&columns), tile.squares_times(&columns), tile.row_squares());
            let double = tile.to_double(cols);
            for i in 0..tile.height {
                let left = |j: usize| 0.5 * a.get(tile.start + i, j) - u[tile.start + i] * v[j];
                let exact = |k: usize| (0..depth).map(|j| left(j) * b.get(j, k)).sum::<f64>();
                let size: f64 = (0..cols).map(|k| exact(k) * exact(k)).sum();
                let terms = |k: usize| (0..depth).map(|j| (left(j) * b.get(j, k)).abs()).sum::<f64>();
                let is_near = |k: usize| (double.get(i, k) - exact(k)).abs() < 1e-6 * terms(k);
                assert!((0..cols).all(is_near), "row {}", tile.start + i);
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
