//! A function at the rows, and what the rows then say about it: both from kernel values that are made once.

use rayon::prelude::*;

use super::chunk_rows;
use crate::linalg::Parts;
use crate::linalg::double::{self, Double};
use crate::linalg::simd::vectorize;
use crate::term::kernel::{Kernel, Point, Points};

/// Rows whose kernel values are in memory together.
const TILE: usize = 16;
/// Into how many shares rows are cut, whatever the number of threads; their sums are added in order.
const SHARES: usize = 64;

/// What a function f = Σⱼ βⱼ k(·, zⱼ) leaves of targets.
pub(crate) struct BothWays {
    /// y − b − f(xᵢ).
    pub errors: Vec<Double>,
    /// Σᵢ wᵢ(y − b − f(xᵢ)) k(xᵢ, zⱼ).
    pub forces: Vec<Double>,
}

/// The function Σⱼ βⱼ k(·, zⱼ) + b.
pub(crate) struct Function<'a> {
    pub kernel: &'a dyn Kernel,
    pub landmarks: &'a Points,
    pub beta: &'a [f64],
    pub offset: f64,
}

impl Function<'_> {
    /// Its errors at the rows, and their sums against the kernel; in twice the precision, if that is asked for.
    pub fn both_ways(
        &self,
        rows: &Points,
        y: &[f64],
        weight: impl Fn(usize) -> f64 + Sync,
        precisely: bool,
    ) -> BothWays {
        let (n, rank) = (rows.rows(), self.landmarks.rows());
        let share = n.div_ceil(SHARES).max(1);
        let parts: Vec<(Vec<Double>, Vec<f64>, Vec<f64>)> = (0..n.div_ceil(share))
            .into_par_iter()
            .map(|part| {
                let end = ((part + 1) * share).min(n);
                let mut values = vec![0.0; TILE * rank];
                let (mut high, mut low) = (vec![0.0; rank], vec![0.0; if precisely { rank } else { 0 }]);
                let mut errors = Vec::with_capacity(share);
                for start in (part * share..end).step_by(TILE) {
                    let height = TILE.min(end - start);
                    self.fill(rows, start, &mut values[..height * rank]);
                    for (i, values) in values.chunks(rank.max(1)).take(height).enumerate() {
                        let row = start + i;
                        let value =
                            if precisely { double::dot(values, self.beta) } else { Double::new(self.at(values)) };
                        let error = Double::new(y[row]).add(-self.offset).minus(value);
                        let pull = weight(row) * error.value();
                        match precisely {
                            true => double::add_scaled(&mut high, &mut low, pull, values),
                            false => add_scaled(&mut high, pull, values),
                        }
                        errors.push(error);
                    }
                }
                (errors, high, low)
            })
            .collect();
        let mut found = BothWays { errors: Vec::with_capacity(n), forces: vec![Double::default(); rank] };
        for (errors, high, low) in parts {
            found.errors.extend(errors);
            for (j, force) in found.forces.iter_mut().enumerate() {
                *force = force.plus(Double { high: high[j], low: low.get(j).copied().unwrap_or(0.0) });
            }
        }
        found
    }

    /// k(x, landmarks) of some rows, row after row; landmarks come in chunks that stay in the first cache.
    fn fill(&self, rows: &Points, start: usize, values: &mut [f64]) {
        let rank = self.landmarks.rows().max(1);
        let gathered: Vec<(Vec<f64>, Vec<u32>)> = (0..values.len() / rank)
            .map(|i| rows.with_point(start + i, |x| (x.numbers.to_vec(), x.codes.to_vec())))
            .collect();
        let chunk = chunk_rows(self.landmarks.features());
        for from in (0..self.landmarks.rows()).step_by(chunk) {
            let to = (from + chunk).min(rank);
            for ((numbers, codes), values) in gathered.iter().zip(values.chunks_mut(rank)) {
                self.kernel.values(Point { numbers, codes }, self.landmarks, from, &mut values[from..to]);
            }
        }
    }

    fn at(&self, values: &[f64]) -> f64 {
        let mut sum = Parts::default();
        sum.add_products(values, self.beta);
        sum.total()
    }
}

fn add_scaled(sums: &mut [f64], factor: f64, values: &[f64]) {
    vectorize(
        #[inline(always)]
        || {
            for (sum, value) in sums.iter_mut().zip(values) {
                *sum += factor * value;
            }
        },
    );
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::Matrix;
    use crate::term::kernel::parse;

    #[test]
    fn errors_and_forces_are_the_sums_they_stand_for() {
        let rows = Points::new(&Matrix::from_fn(205, 2, |i, j| ((i * 37 + j * 11) % 101) as f64 / 50.0));
        let landmarks = Points::new(&Matrix::from_fn(37, 2, |i, j| ((i * 17 + j * 5) % 41) as f64 / 20.0));
        let kernel = parse("matern32(lengthscale=0.7)").unwrap();
        let beta: Vec<f64> = (0..37).map(|j| 1e3 * libm::sin(j as f64)).collect();
        let y: Vec<f64> = (0..205).map(|i| libm::cos(i as f64)).collect();
        let weight = |i: usize| 0.5 + 0.01 * i as f64;
        let function = Function { kernel: &*kernel, landmarks: &landmarks, beta: &beta, offset: 0.25 };
        let values = super::super::cross(&*kernel, &landmarks, &rows);
        let errors: Vec<f64> =
            (0..205).map(|i| y[i] - 0.25 - (0..37).map(|j| values.get(i, j) * beta[j]).sum::<f64>()).collect();
        for precisely in [false, true] {
            let found = function.both_ways(&rows, &y, weight, precisely);
            for i in 0..205 {
                assert!((found.errors[i].value() - errors[i]).abs() < 1e-9, "{i}");
            }
            for j in 0..37 {
                let expected: f64 = (0..205).map(|i| weight(i) * errors[i] * values.get(i, j)).sum();
                assert!((found.forces[j].value() / expected - 1.0).abs() < 1e-10, "{j}: {expected}");
            }
        }
    }
}
