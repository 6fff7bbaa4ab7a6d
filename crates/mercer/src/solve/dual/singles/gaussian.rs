//! Gaussian values without a pass for distances, one for exponentials and one for sums: everything stays in registers.

use rayon::prelude::*;

use super::{SHARES, SHORT_SPAN, Singles, put};
use crate::linalg::simd::{exp2_single, vectorize};

/// Numbers per turn: four registers, so that no operation waits for the one before.
const TURN: usize = 64;
/// Terms that are added up in single precision, in units of the largest change, before they go to a sum in double.
const TOGETHER: usize = 8;

impl Singles {
    /// Values of one point with those from `start` on.
    pub(super) fn gaussians(&self, own: &[f32], start: usize, out: &mut [f32]) {
        vectorize(
            #[inline(always)]
            || {
                for (turn, chunk) in out.chunks_mut(TURN).enumerate() {
                    put(&self.gaussian_turn(own, start + turn * TURN), chunk);
                }
            },
        );
    }

    /// sums += Σ change · row.
    pub(super) fn add_gaussians(&self, changes: &[(usize, f64)], sums: &mut [f64]) {
        let changed = self.gathered(changes.iter().map(|(row, _)| *row));
        let largest = changes.iter().fold(0.0, |max: f64, (_, change)| max.max(change.abs()));
        let factors: Vec<f32> = changes.iter().map(|(_, change)| (change / largest) as f32).collect();
        let span = self.rows.div_ceil(SHARES).next_multiple_of(TURN).min(SHORT_SPAN);
        sums.par_chunks_mut(span).enumerate().for_each(|(chunk, sums)| {
            vectorize(
                #[inline(always)]
                || {
                    let (whole, rest) = sums.as_chunks_mut::<TURN>();
                    let mut from = chunk * span;
                    for sums in whole {
                        self.add_turn(&changed, &factors, largest, from, sums);
                        from += TURN;
                    }
                    if !rest.is_empty() {
                        let mut sums = [0.0; TURN];
                        self.add_turn(&changed, &factors, largest, from, &mut sums);
                        rest.iter_mut().zip(&sums).for_each(|(sum, x)| *sum += x);
                    }
                },
            );
        });
    }

    #[inline(always)]
    fn add_turn(&self, changed: &[f32], factors: &[f32], unit: f64, from: usize, sums: &mut [f64; TURN]) {
        for (changed, factors) in changed.chunks(TOGETHER * self.features).zip(factors.chunks(TOGETHER)) {
            let mut lanes = [0.0_f32; TURN];
            for (own, factor) in changed.chunks_exact(self.features).zip(factors) {
                let values = self.gaussian_turn(own, from);
                for l in 0..TURN {
                    lanes[l] = factor.mul_add(values[l], lanes[l]);
                }
            }
            for l in 0..TURN {
                sums[l] = unit.mul_add(f64::from(lanes[l]), sums[l]);
            }
        }
    }

    /// The numbers of some points, one point after the other.
    fn gathered(&self, rows: impl Iterator<Item = usize>) -> Vec<f32> {
        rows.flat_map(|row| (0..self.features).map(move |j| self.numbers[j * self.stride + row])).collect()
    }

    #[inline(always)]
    fn gaussian_turn(&self, own: &[f32], from: usize) -> [f32; TURN] {
        let mut values = [0.0_f32; TURN];
        for (j, x) in own.iter().enumerate() {
            let from = j * self.stride + from;
            let column = &self.numbers[from..from + TURN];
            for l in 0..TURN {
                let difference = column[l] - x;
                values[l] = (-difference).mul_add(difference, values[l]);
            }
        }
        for value in &mut values {
            *value = exp2_single(*value);
        }
        values
    }
}
