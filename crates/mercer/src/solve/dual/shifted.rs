//! Squared distances by way of products, ‖x‖² + ‖x′‖² − 2xᵀx′, for many features.
//!
//! Distances do not change when all points are shifted. Shifted by the value that is most frequent, columns of categories,
//! counts and flags are mostly zero, and products take as long as there are other numbers; otherwise the mean keeps the
//! products small, and a matrix product does it.

use crate::linalg::simd::{LANES, vectorize};
use crate::linalg::tile;
use crate::term::kernel::{Distance, Kernel, Points};

/// Points about a common shift, feature by feature.
#[derive(Debug)]
pub(super) struct Shifted {
    features: usize,
    /// Feature after feature, each padded by one block of lanes.
    numbers: Vec<f64>,
    stride: usize,
    squares: Vec<f64>,
    /// Where each point is not zero, if that is seldom: (feature, number), one point after the other.
    sparse: Option<Sparse>,
}

#[derive(Debug)]
struct Sparse {
    starts: Vec<usize>,
    entries: Vec<(u32, f64)>,
}

/// Features from which on products are faster than differences.
const PRODUCTS_FROM: usize = 12;
/// The largest ‖x‖²/ℓ² for which that keeps twelve digits of a kernel value.
const FARTHEST: f64 = 1e3;
/// The share of numbers other than zero below which only they are multiplied.
const SPARSE: f64 = 0.3;
/// Rows that are looked at for the most frequent value.
const LOOK_AT: usize = 500;

impl Shifted {
    /// If the kernel is a smooth function of this distance and the points are near enough to each other.
    pub fn if_accurate(kernel: &dyn Kernel, points: &Points) -> Option<Self> {
        let (n, d) = (points.rows(), points.features());
        if kernel.distance() != Some(Distance::SquaredEuclidean) || d < PRODUCTS_FROM {
            return None;
        }
        let area = kernel.single_lengthscale()?.powi(2);
        // Rounding of a small distance must not be blown up, as a root would.
        let mut slope = [1e-12 * area];
        kernel.slopes_of_distances(&mut slope);
        if !(slope[0].abs() * area <= 10.0) {
            return None;
        }
        let mut numbers = Vec::with_capacity((n + LANES) * d);
        for j in 0..d {
            let column = points.feature(j);
            let shift = frequent(column).unwrap_or_else(|| column.iter().sum::<f64>() / n as f64);
            numbers.extend(column.iter().map(|x| x - shift));
            numbers.extend([0.0; LANES]);
        }
        let mut shifted = Shifted { features: d, numbers, stride: n + LANES, squares: vec![0.0; n], sparse: None };
        for column in shifted.numbers.chunks_exact(n + LANES) {
            shifted.squares.iter_mut().zip(column).for_each(|(s, x)| *s += x * x);
        }
        let filled = shifted.numbers.iter().filter(|x| **x != 0.0).count();
        if (filled as f64) < SPARSE * (n * d) as f64 {
            shifted.sparse = Some(shifted.entries());
        }
        let farthest = shifted.squares.iter().copied().fold(0.0, f64::max);
        (farthest <= FARTHEST * area).then_some(shifted)
    }

    fn entries(&self) -> Sparse {
        let mut sparse = Sparse { starts: vec![0], entries: Vec::new() };
        for i in 0..self.squares.len() {
            sparse.entries.extend(self.row(i).enumerate().filter(|(_, x)| *x != 0.0).map(|(j, x)| (j as u32, x)));
            sparse.starts.push(sparse.entries.len());
        }
        sparse
    }

    fn row(&self, i: usize) -> impl Iterator<Item = f64> + '_ {
        (0..self.features).map(move |j| self.numbers[j * self.stride + i])
    }

    /// Some of the points.
    pub fn subset(&self, rows: &[usize]) -> Self {
        let mut numbers = Vec::with_capacity((rows.len() + LANES) * self.features);
        for j in 0..self.features {
            numbers.extend(rows.iter().map(|row| self.numbers[j * self.stride + row]));
            numbers.extend([0.0; LANES]);
        }
        Shifted {
            features: self.features,
            numbers,
            stride: rows.len() + LANES,
            squares: rows.iter().map(|row| self.squares[*row]).collect(),
            sparse: None,
        }
    }

    /// Squared distances between these rows and the points start … start + width − 1 of `others`, row after row.
    pub fn distances(&self, others: &Shifted, rows: &[usize], start: usize, width: usize, out: &mut [f64]) {
        if self.sparse.is_none() {
            let near: Vec<f64> = rows.iter().flat_map(|row| self.row(*row)).collect();
            tile::product(width, self.features, &others.numbers[start..], others.stride, &near, out);
        }
        let squares = &others.squares[start..start + width];
        for (row, out) in rows.iter().zip(out.chunks_exact_mut(width)) {
            if let Some(sparse) = &self.sparse {
                let entries = &sparse.entries[sparse.starts[*row]..sparse.starts[row + 1]];
                others.sparse_products(entries, start, out);
            }
            let square = self.squares[*row];
            vectorize(
                #[inline(always)]
                || {
                    for (x, other) in out.iter_mut().zip(squares) {
                        let distance = (square + other) - 2.0 * *x;
                        *x = if distance > 0.0 { distance } else { 0.0 };
                    }
                },
            );
        }
    }

    fn sparse_products(&self, entries: &[(u32, f64)], start: usize, out: &mut [f64]) {
        vectorize(
            #[inline(always)]
            || {
                let mut at = start;
                for chunk in out.chunks_mut(LANES) {
                    let mut sums = [0.0; LANES];
                    for (feature, number) in entries {
                        let from = *feature as usize * self.stride + at;
                        let column = &self.numbers[from..from + LANES];
                        for l in 0..LANES {
                            sums[l] += number * column[l];
                        }
                    }
                    chunk.copy_from_slice(&sums[..chunk.len()]);
                    at += LANES;
                }
            },
        );
    }
}

/// The value that more than half of the rows have, if there is one, judged by some of them.
pub(super) fn frequent(column: &[f64]) -> Option<f64> {
    let step = column.len().div_ceil(LOOK_AT).max(1);
    let mut some: Vec<f64> = column.iter().copied().step_by(step).collect();
    // A value of more than half of them is their median.
    let middle = some.len() / 2;
    let median = *(!some.is_empty()).then(|| some.select_nth_unstable_by(middle, f64::total_cmp).1)?;
    (2 * some.iter().filter(|x| **x == median).count() > some.len()).then_some(median)
}
