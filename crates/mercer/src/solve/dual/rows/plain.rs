//! Kα in double precision with plain sums, for answers that are measured: every pair of points with a coefficient is
//! computed once, or, where sums are quicker than values, twice.

use rayon::prelude::*;

use super::{GROUP, KernelPoints, SPAN};
use crate::linalg::simd::{self, vectorize};
use crate::term::kernel::{Decay, Formula};

/// Strips that share the work, whatever the number of threads: sums must not depend on it.
const STRIPS: usize = 32;
/// Sums side by side.
const LANES: usize = 32;
/// Columns that one task sums: their values with a group of rows stay in fast memory.
const WIDTH: usize = 128;

/// Writes kernel values of some rows and of the points from a start on, so many of them, row after row.
type Tile<'a> = dyn Fn(&[usize], usize, usize, &mut [f64]) + Sync + 'a;

impl KernelPoints<'_> {
    /// Kα. Rounding is that of plain sums of as many terms as α has entries other than 0.
    pub(crate) fn plain_product(&self, alpha: &[f64]) -> Vec<f64> {
        let (support, others): (Vec<usize>, Vec<usize>) = (0..alpha.len()).partition(|i| alpha[*i] != 0.0);
        let weights: Vec<f64> = support.iter().map(|i| alpha[*i]).collect();
        let points = self.points.subset(&support);
        let is_gaussian = matches!(self.kernel.formula(), Some(Formula::Radial { decay: Decay::Gaussian, .. }));
        if is_gaussian && self.shifted.is_none() {
            // Its sums take less than half of what its values do.
            let mut product = vec![0.0; alpha.len()];
            product.par_chunks_mut(WIDTH).enumerate().for_each(|(chunk, sums)| {
                self.kernel.add_sums(&points, &weights, self.points, chunk * WIDTH, sums);
            });
            return product;
        }
        let shifted = self.shifted.as_ref().map(|shifted| shifted.subset(&support));
        let tile = |rows: &[usize], start: usize, width: usize, out: &mut [f64]| {
            self.values(&points, shifted.as_ref(), rows, start, width, out);
        };
        let mut product = vec![0.0; alpha.len()];
        // No longer than needed: short buffers come from memory that is there already.
        let buffer = || vec![0.0; GROUP * SPAN.min(support.len())];

        let bounds = strips(support.len());
        let parts: Vec<Vec<f64>> = (1..bounds.len())
            .into_par_iter()
            .map_init(buffer, |buffer, strip| {
                triangle(&support, &weights, bounds[strip - 1], bounds[strip], &tile, buffer)
            })
            .collect();
        for (part, from) in parts.iter().zip(&bounds) {
            part.iter().zip(&support[*from..]).for_each(|(sum, row)| product[*row] += sum);
        }

        // The others are the columns here: their sums stand side by side, and none waits for another.
        let (columns, moved) = (self.points.subset(&others), self.shifted.as_ref().map(|s| s.subset(&others)));
        let mut sums = vec![0.0; others.len()];
        sums.par_chunks_mut(WIDTH).enumerate().for_each(|(chunk, sums)| {
            let from = chunk * WIDTH;
            if moved.is_none() {
                return self.kernel.add_sums(&points, &weights, &columns, from, sums);
            }
            let mut buffer = vec![0.0; GROUP * sums.len()];
            for (rows, weights) in support.chunks(GROUP).zip(weights.chunks(GROUP)) {
                let values = &mut buffer[..rows.len() * sums.len()];
                self.values(&columns, moved.as_ref(), rows, from, sums.len(), values);
                for (values, weight) in values.chunks_exact(sums.len()).zip(weights) {
                    add(sums, values, *weight);
                }
            }
        });
        others.iter().zip(sums).for_each(|(row, sum)| product[*row] = sum);
        product
    }
}

/// Where strips of the upper triangle of a square of this many rows begin and end, such that they are about equal.
fn strips(rows: usize) -> Vec<usize> {
    let mut bounds = vec![0];
    for strip in 1..=STRIPS {
        let share = 1.0 - (1.0 - strip as f64 / STRIPS as f64).sqrt();
        let bound = if strip == STRIPS { rows } else { ((rows as f64 * share) as usize).next_multiple_of(GROUP) };
        if bound.min(rows) > bounds[bounds.len() - 1] {
            bounds.push(bound.min(rows));
        }
    }
    bounds
}

/// What the rows from … to − 1 of the upper triangle, mirrored, add to the sums of rows from …
fn triangle(
    support: &[usize],
    weights: &[f64],
    from: usize,
    to: usize,
    tile: &Tile<'_>,
    buffer: &mut [f64],
) -> Vec<f64> {
    let mut sums = vec![0.0; support.len() - from];
    for first in (from..to).step_by(GROUP) {
        let last = (first + GROUP).min(to);
        let rows = &support[first..last];
        // Among themselves, both triangles.
        let square = &mut buffer[..rows.len() * rows.len()];
        tile(rows, first, rows.len(), square);
        for (row, values) in square.chunks_exact(rows.len()).enumerate() {
            sums[first + row - from] += dot(values, &weights[first..last]);
        }
        for start in (last..support.len()).step_by(SPAN) {
            let width = SPAN.min(support.len() - start);
            let values = &mut buffer[..rows.len() * width];
            tile(rows, start, width, values);
            for (row, values) in values.chunks_exact(width).enumerate() {
                let own = weights[first + row];
                let mirrored = &mut sums[start - from..start - from + width];
                let sum = dot_and_add(values, &weights[start..start + width], own, mirrored);
                sums[first + row - from] += sum;
            }
        }
    }
    sums
}

/// sums += weight · values.
fn add(sums: &mut [f64], values: &[f64], weight: f64) {
    vectorize(
        #[inline(always)]
        || {
            for (sum, x) in sums.iter_mut().zip(values) {
                *sum += weight * x;
            }
        },
    );
}

fn dot(values: &[f64], weights: &[f64]) -> f64 {
    vectorize(
        #[inline(always)]
        || simd::dot(values, weights),
    )
}

/// The same, and sums += own · values on the way.
fn dot_and_add(values: &[f64], weights: &[f64], own: f64, sums: &mut [f64]) -> f64 {
    vectorize(
        #[inline(always)]
        || {
            let mut lanes = [0.0; LANES];
            let (values, rest) = values.as_chunks::<LANES>();
            let (weights, other_rest) = weights.as_chunks::<LANES>();
            let (sums, sums_rest) = sums.as_chunks_mut::<LANES>();
            for ((x, w), s) in values.iter().zip(weights).zip(sums) {
                for l in 0..LANES {
                    lanes[l] += x[l] * w[l];
                    s[l] += own * x[l];
                }
            }
            let mut tail = 0.0;
            for ((x, w), s) in rest.iter().zip(other_rest).zip(sums_rest) {
                tail += x * w;
                *s += own * x;
            }
            tail + lanes.iter().sum::<f64>()
        },
    )
}

#[cfg(test)]
mod tests {
    use crate::data::Points;
    use crate::linalg::Matrix;
    use crate::solve::dual::{KernelPoints, KernelRows};
    use crate::term::kernel::radial::Gaussian;

    #[test]
    fn it_is_the_product_with_the_gram_matrix() {
        for (n, features) in [(3, 1), (40, 2), (700, 3), (300, 14)] {
            let x = Matrix::from_fn(n, features, |i, j| ((i * 7 + j * 13) % 29) as f64 / 10.0 + 0.01 * i as f64);
            let points = Points::new(&x);
            let kernel = Gaussian::lengthscale(1.3);
            let gram = crate::space::gram(&kernel, &points);
            let alpha: Vec<f64> = (0..n).map(|i| if i % 5 == 2 { 0.0 } else { (i as f64).sin() }).collect();
            let source = KernelPoints::new(&kernel, &points);
            let (plain, double) = (source.plain_product(&alpha), source.product(&alpha));
            for i in 0..n {
                let direct: f64 = gram.col(i).iter().zip(&alpha).map(|(k, a)| k * a).sum();
                assert!((plain[i] - direct).abs() < 1e-11 * n as f64, "{n} rows, row {i}: {} {direct}", plain[i]);
                assert!((plain[i] - double[i]).abs() < 1e-13 * n as f64);
            }
        }
        let (kernel, points) = (Gaussian::lengthscale(1.0), Points::new(&Matrix::from_fn(5, 1, |i, _| i as f64)));
        assert_eq!(KernelPoints::new(&kernel, &points).plain_product(&[0.0; 5]), vec![0.0; 5]);
    }
}
