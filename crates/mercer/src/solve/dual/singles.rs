//! Rows of K in single precision, computed in single precision: four times as fast, for rows whose rounding is corrected
//! later.

mod gaussian;

use rayon::prelude::*;

use super::shifted::frequent;
use crate::linalg::simd::vectorize;
use crate::term::kernel::{Decay, Distance, Formula, Kernel, Points};

/// Numbers per turn of a loop.
const WIDTH: usize = 64;
/// Columns that one task fills at a time.
const SPAN: usize = 2048;
/// Rows that one task fills.
const GROUP: usize = 16;
/// Tasks that add to sums, and the most columns of one: values stay in fast memory.
const SHARES: usize = 16;
const SHORT_SPAN: usize = 1024;
/// Features up to which computing a value again is no dearer than keeping it.
const FEW_FEATURES: usize = 32;
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
    how: How,
}

/// The way from numbers to values.
#[derive(Debug, Clone, Copy, PartialEq)]
enum How {
    /// Distances first, then the kernel of them.
    Differences,
    /// The same, distances by products over what is not zero.
    Products,
    /// A Gaussian at once: numbers are in such units that values are 2^(−‖x − x′‖²).
    Gaussian,
}

/// One point.
struct Own {
    numbers: Vec<f32>,
    square: f32,
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
        let is_gaussian = matches!(kernel.formula(), Some(Formula::Radial { decay: Decay::Gaussian, .. }));
        let how = match (is_sparse, is_gaussian) {
            (true, _) => How::Products,
            (false, true) => How::Gaussian,
            (false, false) => How::Differences,
        };
        if how == How::Gaussian {
            let unit = (0.5 * std::f64::consts::LOG2_E / area).sqrt() as f32;
            numbers.iter_mut().for_each(|x| *x *= unit);
        }
        let squares = squares.into_iter().map(|s| s as f32).collect();
        Some(Singles { features: d, rows: n, stride: n + WIDTH, numbers, squares, how })
    }

    /// Fills each slice with the row of that place.
    pub fn fill(&self, kernel: &dyn Kernel, rows: &[usize], out: &mut [&mut [f32]]) {
        rows.par_chunks(GROUP).zip(out.par_chunks_mut(GROUP)).for_each(|(rows, out)| {
            for start in (0..self.rows).step_by(SPAN) {
                let end = (start + SPAN).min(self.rows);
                for (row, out) in rows.iter().zip(out.iter_mut()) {
                    self.values(kernel, &self.own(*row), start, &mut out[start..end]);
                }
            }
        });
    }

    /// Fills a slice, which may be longer, with one row.
    pub fn row(&self, kernel: &dyn Kernel, row: usize, out: &mut [f32]) {
        self.values(kernel, &self.own(row), 0, &mut out[..self.rows]);
    }

    /// Some of the points.
    pub fn subset(&self, rows: &[usize]) -> Self {
        let mut numbers = Vec::with_capacity((rows.len() + WIDTH) * self.features);
        for j in 0..self.features {
            numbers.extend(rows.iter().map(|row| self.numbers[j * self.stride + row]));
            numbers.extend([0.0; WIDTH]);
        }
        let squares = rows.iter().map(|row| self.squares[*row]).collect();
        Singles { rows: rows.len(), stride: rows.len() + WIDTH, numbers, squares, ..*self }
    }

    /// sums += Σ change · row, without a row ever being kept.
    pub fn add(&self, kernel: &dyn Kernel, changes: &[(usize, f64)], sums: &mut [f64]) {
        if self.how == How::Gaussian {
            return self.add_gaussians(changes, sums);
        }
        let terms: Vec<(Own, f64)> = changes.iter().map(|(row, change)| (self.own(*row), *change)).collect();
        let span = self.rows.div_ceil(SHARES).next_multiple_of(WIDTH).min(SHORT_SPAN);
        sums.par_chunks_mut(span).enumerate().for_each(|(chunk, sums)| {
            let mut values = [0.0_f32; SHORT_SPAN];
            let values = &mut values[..sums.len()];
            for (own, change) in &terms {
                self.values(kernel, own, chunk * span, values);
                vectorize(
                    #[inline(always)]
                    || add_scaled(sums, values, *change),
                );
            }
        });
    }

    /// Whether a value takes little more than its exponential.
    pub fn are_few_numbers(&self) -> bool {
        self.how != How::Products && (1..=FEW_FEATURES).contains(&self.features)
    }

    fn own(&self, row: usize) -> Own {
        let numbers = (0..self.features).map(|j| self.numbers[j * self.stride + row]).collect();
        Own { numbers, square: self.squares[row] }
    }

    /// k(own, point) for the points from `start` on.
    fn values(&self, kernel: &dyn Kernel, own: &Own, start: usize, out: &mut [f32]) {
        match self.how {
            How::Gaussian => return self.gaussians(&own.numbers, start, out),
            How::Products => self.by_products(own, start, out),
            How::Differences => self.by_differences(&own.numbers, start, out),
        }
        kernel.of_distances_single(out);
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
                    put(&sums, chunk);
                }
            },
        );
    }

    fn by_products(&self, own: &Own, start: usize, out: &mut [f32]) {
        let entries: Vec<(usize, f32)> = own.numbers.iter().copied().enumerate().filter(|(_, x)| *x != 0.0).collect();
        let square = own.square;
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
                    put(&sums, chunk);
                }
                for (x, other) in out.iter_mut().zip(squares) {
                    let distance = (square + other) - 2.0 * *x;
                    *x = if distance > 0.0 { distance } else { 0.0 };
                }
            },
        );
    }
}

/// A whole chunk at once, the last one as far as it goes.
#[inline(always)]
fn put<const N: usize>(sums: &[f32; N], chunk: &mut [f32]) {
    match <&mut [f32; N]>::try_from(&mut *chunk) {
        Ok(whole) => *whole = *sums,
        Err(_) => chunk.copy_from_slice(&sums[..chunk.len()]),
    }
}

#[inline(always)]
fn add_scaled(sums: &mut [f64], values: &[f32], scale: f64) {
    for (sum, x) in sums.iter_mut().zip(values) {
        *sum += scale * f64::from(*x);
    }
}
