//! Q: how much of every direction each row has.
//!
//! With many rows its numbers are single: leave-one-out needs sums over a row's numbers, and where those of some rows differ from the
//! sums of double ones by more than leave-one-out may show, Q is made again in double precision.

use rayon::prelude::*;

use super::Target;
use crate::linalg::{Matrix, SingleTile, SingleTiles, multiply, multiply_transposed};

/// By how much 1 − h, the part of a row's error that a fit without it undoes, may be off, in whatever way directions are weighed.
const OF_LEVERAGE: f64 = 5e-5;
/// By how much a row's error may be off, in units of the target's spread, if all differences added up; with their signs a tenth is left.
const OF_ERRORS: f64 = 1e-3;

/// Q, n × r.
#[derive(Debug, Clone)]
pub(super) enum Basis {
    Double(Matrix),
    Single(SingleTiles),
}

impl Basis {
    /// Whether leave-one-out of these targets can be read off it, given what some rows are in double precision.
    pub fn is_enough(&self, sample: &[usize], exact: &Matrix, targets: &[Target]) -> bool {
        let spread = |target: &Target| {
            (target.centred.iter().map(|c| c * c).sum::<f64>() / target.centred.len().max(1) as f64).sqrt()
        };
        let spreads: Vec<f64> = targets.iter().map(spread).collect();
        let is_enough = |(i, row): (usize, &usize)| {
            let pairs = || (0..exact.cols()).map(|k| (exact.get(i, k), self.get(*row, k)));
            let of_errors = |target: &Target| -> f64 {
                pairs().zip(&target.z).map(|((q, own), z)| ((q - own) * z).abs()).sum::<f64>()
            };
            pairs().map(|(q, own)| (q * q - own * own).abs()).sum::<f64>() <= OF_LEVERAGE
                && targets.iter().zip(&spreads).all(|(target, spread)| of_errors(target) <= OF_ERRORS * spread)
        };
        sample.par_iter().enumerate().all(is_enough)
    }

    pub fn cols(&self) -> usize {
        match self {
            Basis::Double(matrix) => matrix.cols(),
            Basis::Single(tiles) => tiles.cols(),
        }
    }

    pub fn get(&self, row: usize, col: usize) -> f64 {
        match self {
            Basis::Double(matrix) => matrix.get(row, col),
            Basis::Single(tiles) => tiles.get(row, col),
        }
    }

    /// Q c.
    pub fn apply(&self, c: &Matrix) -> Matrix {
        match self {
            Basis::Double(matrix) => multiply(matrix, c),
            Basis::Single(tiles) => {
                let parts = by_tile(tiles, |tile| multiply(&tile.to_double(tiles.cols()), c));
                Matrix::stacked(&parts.iter().collect::<Vec<&Matrix>>())
            }
        }
    }

    /// Qᵀ v.
    pub fn apply_transposed(&self, v: &Matrix) -> Matrix {
        match self {
            Basis::Double(matrix) => multiply_transposed(matrix, v),
            Basis::Single(tiles) => {
                let parts = by_tile(tiles, |tile| {
                    let part = Matrix::from_fn(tile.height, v.cols(), |i, l| v.get(tile.start + i, l));
                    multiply_transposed(&tile.to_double(tiles.cols()), &part)
                });
                let mut sum = Matrix::zeros(tiles.cols(), v.cols());
                for part in &parts {
                    sum.as_mut_slice().iter_mut().zip(part.as_slice()).for_each(|(sum, x)| *sum += x);
                }
                sum
            }
        }
    }

    /// Some rows, in the first directions.
    pub fn block(&self, start: usize, height: usize, directions: usize) -> Matrix {
        match self {
            Basis::Double(matrix) => {
                let mut data = Vec::with_capacity(height * directions);
                (0..directions).for_each(|k| data.extend_from_slice(&matrix.col(k)[start..start + height]));
                Matrix::from_columns(height, directions, data).unwrap_or_default()
            }
            Basis::Single(tiles) => {
                let tile = tiles.tile(start / SingleTiles::TILE);
                if (start, height) == (tile.start, tile.height) {
                    return tile.to_double(directions);
                }
                Matrix::from_fn(height, directions, |i, k| tiles.get(start + i, k))
            }
        }
    }

    /// Σ q² of every row.
    pub fn row_squares(&self) -> Vec<f64> {
        match self {
            Basis::Double(matrix) => {
                let mut sums = vec![0.0; matrix.rows()];
                sums.par_chunks_mut(super::ROW_TILE).enumerate().for_each(|(tile, sums)| {
                    let start = tile * super::ROW_TILE;
                    // Column by column, as they lie in memory.
                    for k in 0..matrix.cols() {
                        let column = &matrix.col(k)[start..start + sums.len()];
                        sums.iter_mut().zip(column).for_each(|(sum, q)| *sum += q * q);
                    }
                });
                sums
            }
            Basis::Single(tiles) => by_tile(tiles, |tile| tile.row_squares()).concat(),
        }
    }
}

fn by_tile<R: Send>(tiles: &SingleTiles, body: impl Fn(SingleTile<'_>) -> R + Sync) -> Vec<R> {
    (0..tiles.count()).into_par_iter().map(|index| body(tiles.tile(index))).collect()
}
