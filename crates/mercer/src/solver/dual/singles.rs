//! Rows of K in single precision, computed in single precision: four times as fast, for rows whose rounding is corrected
//! later.

use rayon::prelude::*;

use super::shifted::frequent;
use crate::kernel::{Distance, Kernel, Points};
use crate::simd::vectorize;

/// Numbers per turn of a loop.
const WIDTH: usize = 64;
/// Columns that one task fills at a time.
const SPAN: usize = 2048;
/// Rows that one task fills.
const GROUP: usize = 16;
/// The share of numbers other than zero below which only they are multiplied.
const SPARSE: f64 = 0.3;
/// The largest ‖x‖²/ℓ² for which products keep six digits of a kernel value.
const FARTHEST: f64 = 10.0;

/// Points about a common shift, feature by feature.
#[derive(Debug)]
pub(super) struct Singles {
    features: usize,
    rows: usize,
    stride: usize,
    numbers: Vec<f32>,
    squares: Vec<f32>,
    /// Whether distances go by products over what is not zero.
    is_sparse: bool,
}

impl Singles {
    /// If the kernel is a function of the Euclidean distance, and single precision has room for it.
    pub fn if_possible(kernel: &dyn Kernel, points: &Points) -> Option<Self> {
        let (n, d) = (points.rows(), points.features());
        let area = kernel.single_lengthscale()?.powi(2);
        if kernel.distance() != Some(Distance::SquaredEuclidean) || !(1e-20..1e20).contains(&area) {
            return None;
        }
        let mut numbers = Vec::with_capacity((n + WIDTH) * d);
        let mut squares = vec![0.0; n];
        for j in 0..d {
            let column = points.feature(j);
            let shift = frequent(column).unwrap_or_else(|| column.iter().sum::<f64>() / n.max(1) as f64);
            column.iter().zip(&mut squares).for_each(|(x, s)| *s += (x - shift) * (x - shift));
            numbers.extend(column.iter().map(|x| (x - shift) as f32));
            numbers.extend([0.0; WIDTH]);
        }
        let farthest = squares.iter().copied().fold(0.0, f64::max);
        if !(farthest < 1e25) {
            return None;
        }
        let filled = numbers.iter().filter(|x| **x != 0.0).count();
        let is_sparse = (filled as f64) < SPARSE * (n * d) as f64 && farthest <= FARTHEST * area;
        let squares = squares.into_iter().map(|s| s as f32).collect();
        Some(Singles { features: d, rows: n, stride: n + WIDTH, numbers, squares, is_sparse })
    }

    /// Fills each slice with the row of that place.
    pub fn fill(&self, kernel: &dyn Kernel, rows: &[usize], out: &mut [&mut [f32]]) {
        rows.par_chunks(GROUP).zip(out.par_chunks_mut(GROUP)).for_each(|(rows, out)| {
            for start in (0..self.rows).step_by(SPAN) {
                let end = (start + SPAN).min(self.rows);
                for (row, out) in rows.iter().zip(out.iter_mut()) {
                    let own: Vec<f32> = (0..self.features).map(|j| self.numbers[j * self.stride + row]).collect();
                    let out = &mut out[start..end];
                    if self.is_sparse {
                        self.by_products(*row, &own, start, out);
                    } else {
                        self.by_differences(&own, start, out);
                    }
                    kernel.of_distances_single(out);
                }
            }
        });
    }

    fn by_differences(&self, own: &[f32], start: usize, out: &mut [f32]) {
        vectorize(
            #[inline(always)]
            || {
                for (turn, chunk) in out.chunks_mut(WIDTH).enumerate() {
                    let mut sums = [0.0_f32; WIDTH];
                    for (j, x) in own.iter().enumerate() {
                        let from = j * self.stride + start + turn * WIDTH;
                        let column = &self.numbers[from..from + WIDTH];
                        for l in 0..WIDTH {
                            let difference = column[l] - x;
                            sums[l] += difference * difference;
                        }
                    }
                    chunk.copy_from_slice(&sums[..chunk.len()]);
                }
            },
        );
    }

    fn by_products(&self, row: usize, own: &[f32], start: usize, out: &mut [f32]) {
        let entries: Vec<(usize, f32)> = own.iter().copied().enumerate().filter(|(_, x)| *x != 0.0).collect();
        let square = self.squares[row];
        let squares = &self.squares[start..start + out.len()];
        vectorize(
            #[inline(always)]
            || {
                for (turn, chunk) in out.chunks_mut(WIDTH).enumerate() {
                    let mut sums = [0.0_f32; WIDTH];
                    for (j, x) in &entries {
                        let from = j * self.stride + start + turn * WIDTH;
                        let column = &self.numbers[from..from + WIDTH];
                        for l in 0..WIDTH {
                            sums[l] += x * column[l];
                        }
                    }
                    chunk.copy_from_slice(&sums[..chunk.len()]);
                }
                for (x, other) in out.iter_mut().zip(squares) {
                    let distance = (square + other) - 2.0 * *x;
                    *x = if distance > 0.0 { distance } else { 0.0 };
                }
            },
        );
    }
}
