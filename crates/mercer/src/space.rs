//! Where f lives: Gram matrices and functions Σⱼ αⱼ k(·, xⱼ), in tiles and on all cores.

mod both_ways;
pub mod low_rank;

use rayon::prelude::*;

pub(crate) use both_ways::{BothWays, Function};

use crate::linalg::double::{self, Double};
use crate::linalg::simd::{WIDE, vectorize};
use crate::linalg::{Matrix, Parts};
use crate::term::kernel::{Distance, Kernel, Point, Points, SharedKernel};

/// Columns of a Gram matrix that one task fills.
const STRIP: usize = 8;

/// Rows of new points that one task predicts.
const TILE: usize = 32;

/// The Gram matrix K, n × n, both triangles.
pub fn gram(kernel: &dyn Kernel, points: &Points) -> Matrix {
    fill(kernel, points, |_| 0)
}

/// The Gram matrix with its upper triangle left at 0.
pub fn gram_lower(kernel: &dyn Kernel, points: &Points) -> Matrix {
    fill(kernel, points, |j| j)
}

/// Gram matrices of several kernels on the same points. Kernels of one distance share its matrix.
pub(crate) struct GramSource<'a> {
    points: &'a Points,
    distances: Option<(Distance, Matrix)>,
}

impl<'a> GramSource<'a> {
    /// For these kernels; distances are computed once if more than one kernel needs them.
    pub fn new(points: &'a Points, kernels: &[SharedKernel]) -> Self {
        let needed: Vec<Distance> = kernels.iter().filter_map(|kernel| kernel.distance()).collect();
        let most = [Distance::SquaredEuclidean, Distance::Absolute]
            .into_iter()
            .map(|distance| (needed.iter().filter(|known| **known == distance).count(), distance))
            .max_by_key(|(count, _)| *count)
            .filter(|(count, _)| *count > 1);
        let distances = most.map(|(_, distance)| (distance, distances_lower(distance, points)));
        GramSource { points, distances }
    }

    /// The lower triangle.
    pub fn lower(&self, kernel: &dyn Kernel) -> Matrix {
        let Some((_, known)) = self.distances.as_ref().filter(|(known, _)| kernel.distance() == Some(*known)) else {
            return gram_lower(kernel, self.points);
        };
        let n = self.points.rows();
        let mut gram = known.clone();
        gram.as_mut_slice().par_chunks_mut((n * STRIP).max(1)).enumerate().for_each(|(strip, columns)| {
            for (offset, column) in columns.chunks_mut(n).enumerate() {
                kernel.of_distances(&mut column[strip * STRIP + offset..]);
            }
        });
        gram
    }
}

/// Distances between all rows (squared, if Euclidean), lower triangle.
pub(crate) fn distances_lower(distance: Distance, points: &Points) -> Matrix {
    let n = points.rows();
    let mut out = Matrix::zeros(n, n);
    out.as_mut_slice().par_chunks_mut((n * STRIP).max(1)).enumerate().for_each(|(strip, columns)| {
        for (offset, column) in columns.chunks_mut(n).enumerate() {
            let j = strip * STRIP + offset;
            let column = &mut column[j..];
            vectorize(
                #[inline(always)]
                || {
                    for feature in 0..points.features() {
                        let values = &points.feature(feature)[j..];
                        let own = values[0];
                        for (q, x) in column.iter_mut().zip(values) {
                            let difference = x - own;
                            *q += match distance {
                                Distance::SquaredEuclidean => difference * difference,
                                Distance::Absolute => difference.abs(),
                            };
                        }
                    }
                },
            );
        }
    });
    out
}

/// k(new, training), u × n.
pub fn cross(kernel: &dyn Kernel, training: &Points, new: &Points) -> Matrix {
    let u = new.rows();
    let mut out = Matrix::zeros(u, training.rows());
    out.as_mut_slice().par_chunks_mut(u.max(1)).enumerate().for_each(|(j, column)| {
        training.with_point(j, |x| kernel.values(x, new, 0, column));
    });
    out
}

/// (1/W) Σᵢ wᵢ k(xᵢ, xⱼ) for every j.
pub fn mean_column(kernel: &dyn Kernel, points: &Points, weights: Option<&[f64]>) -> Vec<f64> {
    mean_over(kernel, points, points, weights)
}

/// (1/W) Σᵢ wᵢ k(xᵢ, tⱼ) over the rows xᵢ of `new`, for every training row tⱼ.
pub(crate) fn mean_over(kernel: &dyn Kernel, training: &Points, new: &Points, weights: Option<&[f64]>) -> Vec<f64> {
    let total = weights.map_or(new.rows() as f64, |w| w.iter().sum());
    (0..training.rows())
        .into_par_iter()
        .map_init(
            || vec![0.0; new.rows()],
            |buffer, j| {
                training.with_point(j, |x| kernel.values(x, new, 0, buffer));
                buffer.iter().enumerate().map(|(i, k)| weights.map_or(1.0, |w| w[i]) * k).sum::<f64>() / total
            },
        )
        .collect()
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
    evaluate_precisely(kernel, points, alpha, points)
}

/// [`evaluate`], accumulated in twice the precision: one vector for each column of α.
pub(crate) fn evaluate_precisely(
    kernel: &dyn Kernel,
    training: &Points,
    alpha: &Matrix,
    new: &Points,
) -> Vec<Vec<Double>> {
    let rows: Vec<Vec<Double>> = (0..new.rows())
        .into_par_iter()
        .map_init(
            || vec![0.0; training.rows()],
            |buffer, i| {
                new.with_point(i, |x| kernel.values(x, training, 0, buffer));
                (0..alpha.cols()).map(|t| double::dot(buffer, alpha.col(t))).collect()
            },
        )
        .collect();
    (0..alpha.cols()).map(|t| rows.iter().map(|row| row[t]).collect()).collect()
}

/// Σⱼ αⱼ k(x, xⱼ) for new points x: rows × targets, with memory for some kernel values per thread.
///
/// The training points come in chunks that stay in the first cache while a tile of rows passes over them.
pub(crate) fn evaluate(kernel: &dyn Kernel, training: &Points, alpha: &Matrix, new: &Points) -> Matrix {
    let targets = alpha.cols();
    let mut out = Matrix::zeros(new.rows(), targets);
    let chunk = chunk_rows(training.features());
    let tiles: Vec<Vec<f64>> = (0..new.rows().div_ceil(TILE))
        .into_par_iter()
        .map_init(
            || vec![0.0; chunk],
            |buffer, tile| {
                let rows = tile * TILE..((tile + 1) * TILE).min(new.rows());
                let gathered: Vec<(Vec<f64>, Vec<u32>)> =
                    rows.map(|i| new.with_point(i, |x| (x.numbers.to_vec(), x.codes.to_vec()))).collect();
                let mut sums = vec![Parts::default(); gathered.len() * targets];
                for start in (0..training.rows()).step_by(chunk) {
                    let end = (start + chunk).min(training.rows());
                    let values = &mut buffer[..end - start];
                    for ((numbers, codes), sums) in gathered.iter().zip(sums.chunks_mut(targets)) {
                        kernel.values(Point { numbers, codes }, training, start, values);
                        for (t, sum) in sums.iter_mut().enumerate() {
                            sum.add_products(values, &alpha.col(t)[start..end]);
                        }
                    }
                }
                sums.into_iter().map(Parts::total).collect()
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

/// Training points whose features, coefficients and kernel values fit into 32 KiB: a multiple of the lanes, so that sums are made in
/// the same order whatever the chunks.
fn chunk_rows(features: usize) -> usize {
    const NUMBERS: usize = (32 << 10) / 8;
    (NUMBERS / (features + 2)).clamp(128, 1024) / WIDE * WIDE
}
