//! K ≈ F Fᵀ from a few of its columns: randomly pivoted Cholesky, in blocks.
//!
//! Pivots are drawn with probabilities proportional to the diagonal of what is left of K; a block of them is factored at
//! once, and those that the others of the block explain already are put back. tr(K − FFᵀ) is known exactly at any time:
//! it is what is said about the approximation, and what ends it.

mod centres;
mod landmarks;

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use rayon::prelude::*;

use crate::linalg::{Matrix, solve_lower_for_rows, subtract_product};
use crate::term::kernel::{Kernel, Points};

pub use landmarks::Landmarks;
pub(crate) use landmarks::{Basis, Spanned, span};

/// Pivots that are drawn at a time.
const BLOCK: usize = 64;
/// A pivot of which less than this share is left once the others of its block are taken out waits for a later block.
const WORTHWHILE: f64 = 0.2;

/// F, n × r, with K − FFᵀ positive semidefinite.
#[derive(Debug, Clone)]
pub struct Factor {
    /// F.
    pub matrix: Matrix,
    /// The rows whose columns of K span it; F at these rows is lower triangular.
    pub pivots: Vec<usize>,
    /// The diagonal of K − FFᵀ.
    pub residual: Vec<f64>,
    /// tr(K − FFᵀ)/n: the mean of what is left of the diagonal.
    pub mean_residual: f64,
    /// Whether the residual is below what was asked for.
    pub is_reached: bool,
}

/// Draws pivots until the mean residual diagonal is at most `tolerance` times the mean diagonal, if that can be expected
/// within `most` columns: gives up early when the residual falls too slowly for it.
pub fn factor_if_possible(
    kernel: &dyn Kernel,
    points: &Points,
    tolerance: f64,
    most: usize,
    seed: u64,
) -> Option<Factor> {
    let found = grow(kernel, points, tolerance, most, seed, true);
    found.is_reached.then_some(found)
}

/// Draws pivots until the mean residual diagonal is at most `tolerance` times the mean diagonal, or `most` columns are
/// there.
pub fn factor(kernel: &dyn Kernel, points: &Points, tolerance: f64, most: usize, seed: u64) -> Factor {
    grow(kernel, points, tolerance, most, seed, false)
}

fn grow(kernel: &dyn Kernel, points: &Points, tolerance: f64, most: usize, seed: u64, may_give_up: bool) -> Factor {
    let n = points.rows();
    let mut diagonal = vec![0.0; n];
    kernel.diagonal(points, 0, &mut diagonal);
    let start: Vec<f64> = diagonal.clone();
    let goal = tolerance * start.iter().sum::<f64>();
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut columns: Vec<f64> = Vec::new();
    let mut taken: Vec<usize> = Vec::new();
    let mut course: Vec<(usize, f64)> = Vec::new();
    if !may_give_up {
        // Pages that are not written are not taken: growing would copy all of F again and again.
        columns.reserve_exact(n * most.min(n));
    }
    let mut rank = 0;
    while rank < most.min(n) && diagonal.iter().sum::<f64>() > goal {
        if may_give_up {
            course.push((rank, diagonal.iter().sum::<f64>() / start.iter().sum::<f64>()));
            if is_hopeless(&course, most, tolerance) {
                break;
            }
        }
        let pivots = draw(&diagonal, BLOCK.min(most - rank), &mut random);
        if pivots.is_empty() {
            break;
        }
        let mut block = Matrix::zeros(n, pivots.len());
        block.as_mut_slice().par_chunks_mut(n).zip(&pivots).for_each(|(column, pivot)| {
            points.with_point(*pivot, |x| kernel.values(x, points, 0, column));
        });
        // What is left of these columns.
        let known = Matrix::from_columns(n, rank, std::mem::take(&mut columns)).unwrap_or_default();
        if rank > 0 {
            let rows = Matrix::from_fn(pivots.len(), rank, |i, k| known.get(pivots[i], k));
            subtract_product(&mut block, &known, &rows);
        }
        columns = known.into_vec();
        let accepted = orthogonalise(&mut block, &pivots, &diagonal);
        for (index, pivot) in accepted.iter().enumerate() {
            // No more of the block than is asked for.
            if diagonal.iter().sum::<f64>() <= goal {
                break;
            }
            let column = block.col(index);
            diagonal.iter_mut().zip(column).for_each(|(d, f)| *d = (*d - f * f).max(0.0));
            columns.extend_from_slice(column);
            taken.push(pivots[*pivot]);
            rank += 1;
        }
        for pivot in &pivots {
            // Rounding, once the pivot itself was taken; a pivot that was put back and is that small will not return.
            if diagonal[*pivot] <= 1e-15 * start[*pivot] {
                diagonal[*pivot] = 0.0;
            }
        }
        if accepted.is_empty() {
            break;
        }
    }
    let residual: f64 = diagonal.iter().sum();
    Factor {
        matrix: Matrix::from_columns(n, rank, columns).unwrap_or_default(),
        pivots: taken,
        mean_residual: residual / n.max(1) as f64,
        is_reached: residual <= goal,
        residual: diagonal,
    }
}

impl Factor {
    /// F at the pivots, L with φ(x) = L⁻¹k(x): lower triangular.
    pub(crate) fn at_pivots(&self) -> Matrix {
        let at = |i: usize, k: usize| if k <= i { self.matrix.get(self.pivots[i], k) } else { 0.0 };
        Matrix::from_fn(self.pivots.len(), self.pivots.len(), at)
    }
}

/// Whether a residual, given at some ranks, would miss its goal if it went on falling as it did from half the rank on: its logarithm as a
/// power of the rank, as it does for smooth kernels (until the rank is near the number of rows), to within an eighth.
fn is_hopeless(course: &[(usize, f64)], most: usize, tolerance: f64) -> bool {
    let Some((rank, residual)) = course.last().copied() else { return false };
    let Some((before, earlier)) = course.iter().rfind(|(before, _)| 2 * before <= rank).copied() else { return false };
    if rank < most / 10 {
        return false;
    }
    let log = |x: f64| libm::log(x.max(f64::MIN_POSITIVE));
    // What is not below its beginning has not begun to fall.
    let (now, then) = (-log(residual), -log(earlier));
    if before == 0 || then <= 0.0 {
        return false;
    }
    let power = libm::log(now / then) / libm::log(rank as f64 / before as f64);
    let expected = now * libm::pow(most as f64 / rank as f64, power);
    expected < -0.875 * log(tolerance)
}

/// Different rows, each drawn with a probability proportional to its diagonal.
fn draw(diagonal: &[f64], count: usize, random: &mut ChaCha8Rng) -> Vec<usize> {
    let sums: Vec<f64> = diagonal
        .iter()
        .scan(0.0, |sum, d| {
            *sum += d;
            Some(*sum)
        })
        .collect();
    let total = sums.last().copied().unwrap_or(0.0);
    if !(total > 0.0) {
        return Vec::new();
    }
    let mut pivots: Vec<usize> = Vec::with_capacity(count);
    for _ in 0..count {
        let share = random.next_u64() as f64 / u64::MAX as f64 * total;
        let row = sums.partition_point(|sum| *sum <= share).min(diagonal.len() - 1);
        if diagonal[row] > 0.0 && !pivots.contains(&row) {
            pivots.push(row);
        }
    }
    pivots
}

/// Turns residual columns into columns of F, which become the first of the block; returns which were worthwhile.
///
/// Which those are follows from the pivots' own rows alone: a Cholesky factorisation that leaves out pivots of which the others
/// leave too little. The columns then are R C⁻ᵀ.
fn orthogonalise(block: &mut Matrix, pivots: &[usize], diagonal: &[f64]) -> Vec<usize> {
    let n = block.rows();
    let mut accepted: Vec<usize> = Vec::new();
    // C, row after row, of the accepted pivots.
    let mut lower: Vec<Vec<f64>> = Vec::new();
    for (index, pivot) in pivots.iter().enumerate() {
        let mut row: Vec<f64> = Vec::with_capacity(accepted.len() + 1);
        for (k, other) in accepted.iter().enumerate() {
            let known: f64 = (0..k).map(|j| row[j] * lower[k][j]).sum();
            row.push((block.get(*pivot, *other) - known) / lower[k][k]);
        }
        let left = block.get(*pivot, index) - row.iter().map(|c| c * c).sum::<f64>();
        if left > WORTHWHILE * diagonal[*pivot] && left > 0.0 {
            row.push(left.sqrt());
            lower.push(row);
            accepted.push(index);
        }
    }
    let triangle = Matrix::from_fn(accepted.len(), accepted.len(), |i, j| if j <= i { lower[i][j] } else { 0.0 });
    let mut columns = Matrix::zeros(n, accepted.len());
    for (k, index) in accepted.iter().enumerate() {
        columns.col_mut(k).copy_from_slice(block.col(*index));
    }
    solve_lower_for_rows(&triangle, &mut columns);
    block.as_mut_slice()[..n * accepted.len()].copy_from_slice(columns.as_slice());
    accepted
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::multiply_by_transposed;
    use crate::term::kernel::parse;

    #[test]
    fn the_residual_is_what_is_said_and_vanishes_for_smooth_kernels() {
        let x = Matrix::from_fn(200, 2, |i, j| ((i * 37 + j * 11) % 101) as f64 / 50.0 + 0.001 * i as f64);
        let points = Points::new(&x);
        let kernel = parse("gaussian(lengthscale=1.5)").unwrap();
        let gram = crate::space::gram(&*kernel, &points);
        for (tolerance, most) in [(1e-3, 200), (1e-13, 200), (1e-13, 7)] {
            let found = factor(&*kernel, &points, tolerance, most, 1);
            let product = multiply_by_transposed(&found.matrix, &found.matrix);
            let trace: f64 = (0..200).map(|i| gram.get(i, i) - product.get(i, i)).sum();
            assert!((trace / 200.0 - found.mean_residual).abs() < 1e-13, "{trace} {}", found.mean_residual);
            assert_eq!(found.is_reached, most > 7);
            if most > 7 {
                let worst =
                    (0..200 * 200).map(|i| (gram.as_slice()[i] - product.as_slice()[i]).abs()).fold(0.0, f64::max);
                assert!(worst <= 200.0 * tolerance + 1e-12, "{worst}");
                assert!(found.matrix.cols() < 150, "rank {}", found.matrix.cols());
            }
        }
        let same = |seed: u64| factor(&*kernel, &points, 1e-6, 200, seed).matrix;
        assert_eq!(same(3), same(3));
    }

    #[test]
    fn repeated_rows_and_the_zero_kernel_end() {
        let x = Matrix::from_fn(50, 1, |i, _| (i % 3) as f64);
        let found = factor(&*parse("gaussian(lengthscale=1)").unwrap(), &Points::new(&x), 1e-14, 50, 1);
        assert!(found.matrix.cols() <= 3 && found.is_reached);
        let zero = factor(&*parse("linear").unwrap(), &Points::new(&Matrix::zeros(10, 1)), 1e-14, 10, 1);
        assert_eq!(zero.matrix.cols(), 0);
    }
}
