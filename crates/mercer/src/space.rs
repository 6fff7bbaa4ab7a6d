//! Where f lives: Gram matrices and functions Σⱼ αⱼ k(·, xⱼ), in tiles and on all cores.

use rayon::prelude::*;

use crate::kernel::{Kernel, Points};
use crate::linalg::double::{self, Double};
use crate::linalg::{Matrix, Parts};

/// Columns of a Gram matrix that one task fills.
const STRIP: usize = 8;

/// Rows of new points that one task predicts.
const TILE: usize = 32;

/// The Gram matrix K, n × n, both triangles.
pub fn gram(kernel: &dyn Kernel, points: &Points) -> Matrix {
    fill(kernel, points, |_| 0)
}

/// The Gram matrix with its upper triangle left at 0.
pub(crate) fn gram_lower(kernel: &dyn Kernel, points: &Points) -> Matrix {
    fill(kernel, points, |j| j)
}

fn fill(kernel: &dyn Kernel, points: &Points, first: impl Fn(usize) -> usize + Sync) -> Matrix {
    let mut gram = Matrix::zeros(points.rows(), points.rows());
    fill_into(kernel, points, &mut gram, first);
    gram
}

/// Column j from row `first(j)` on: k is symmetric bit by bit, so a column is a row.
fn fill_into(kernel: &dyn Kernel, points: &Points, gram: &mut Matrix, first: impl Fn(usize) -> usize + Sync) {
    let n = points.rows();
    if n == 0 {
        return;
    }
    gram.as_mut_slice().par_chunks_mut(n * STRIP).enumerate().for_each(|(strip, columns)| {
        for (offset, column) in columns.chunks_mut(n).enumerate() {
            let j = strip * STRIP + offset;
            let from = first(j);
            points.with_point(j, |x| kernel.values(x, points, from, &mut column[from..]));
        }
    });
}

/// (Kα)ᵢ for every row i and every column of α, accumulated in twice the precision.
pub(crate) fn apply_precisely(kernel: &dyn Kernel, points: &Points, alpha: &Matrix) -> Vec<Vec<Double>> {
    let n = points.rows();
    let rows: Vec<Vec<Double>> = (0..n)
        .into_par_iter()
        .map_init(
            || vec![0.0; n],
            |buffer, i| {
                points.with_point(i, |x| kernel.values(x, points, 0, buffer));
                (0..alpha.cols()).map(|t| double::dot(buffer, alpha.col(t))).collect()
            },
        )
        .collect();
    (0..alpha.cols()).map(|t| rows.iter().map(|row| row[t]).collect()).collect()
}

/// Σⱼ αⱼ k(x, xⱼ) for new points x: rows × targets, with memory for one tile of kernel values per thread.
pub(crate) fn evaluate(kernel: &dyn Kernel, training: &Points, alpha: &Matrix, new: &Points) -> Matrix {
    let targets = alpha.cols();
    let mut out = Matrix::zeros(new.rows(), targets);
    let tiles: Vec<Vec<f64>> = (0..new.rows().div_ceil(TILE))
        .into_par_iter()
        .map_init(
            || vec![0.0; CHUNK],
            |buffer, tile| {
                let rows = tile * TILE..((tile + 1) * TILE).min(new.rows());
                rows.flat_map(|i| {
                    new.with_point(i, |x| {
                        let mut sums = vec![Parts::default(); targets];
                        for start in (0..training.rows()).step_by(CHUNK) {
                            let end = (start + CHUNK).min(training.rows());
                            let values = &mut buffer[..end - start];
                            kernel.values(x, training, start, values);
                            for (t, sum) in sums.iter_mut().enumerate() {
                                sum.add_products(values, &alpha.col(t)[start..end]);
                            }
                        }
                        sums.into_iter().map(Parts::total).collect::<Vec<f64>>()
                    })
                })
                .collect()
            },
        )
        .collect();
    for (tile, values) in tiles.into_iter().enumerate() {
        for (index, value) in values.into_iter().enumerate() {
            out.set(tile * TILE + index / targets, index % targets, value);
        }
    }
    out
}

/// Training points whose kernel values are held at a time.
const CHUNK: usize = 1024;
