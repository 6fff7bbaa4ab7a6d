//! N₋ and R₋ from the energy of a deletion alone.
//!
//! What is left at the ridge γ, P₋(γ) = min Σ (y − f)² + γ‖f‖² over the rows that are left, is γ Σ z²/(d + γ) in their own spectrum. By the
//! envelope theorem dP₋/dγ = ‖f₋‖², so with B = P₋/γ less what has no eigenvalue, E₋/γ,
//!
//! > N₋ = B + dB/d log γ,   R₋ = E₋ − γ dB/d log γ,
//!
//! and sums of first powers, which B is made of, are enough. In log γ it is analytic in a strip of half-width π, so that differences
//! of values on the grid of the tables give its slope to about 1e-8 of the part that changes there. Towards the low end of a table there
//! are ever fewer values on one side; what is less well known there is read with weights that fall as fast, since no root is looked for in
//! the margin.

use super::interpolation::{LANES, Lanes};

/// Values on either side of a point, at most.
const MOST: usize = 16;
/// Spacing so close that differences of few values are good enough.
const CLOSE: f64 = 0.15;
/// Points below the margin of a table, for differences.
pub(super) const BEYOND_MARGIN: usize = 3;

/// Values above a point that its slope needs, on a grid with this spacing.
pub(super) fn values_above(step: f64) -> usize {
    if step < CLOSE { 0 } else { 11 }
}

/// What values on both sides of a point are multiplied by to give the slope there.
pub(super) struct Differences {
    /// By the number of values on either side, from 1 on: the weights of those 1, 2, … points away.
    weights: Vec<Vec<f64>>,
    step: f64,
}

impl Differences {
    /// For points that are `step` apart.
    pub fn new(step: f64) -> Self {
        let of_reach = |reach: usize| {
            // ±(reach!)²/(j (reach − j)! (reach + j)!), each from the one before.
            let mut share = 1.0;
            let mut weight = |j: usize| {
                share *= -((reach + 1 - j) as f64) / (reach + j) as f64;
                -share / (j as f64 * step)
            };
            (1..=reach).map(&mut weight).collect()
        };
        Differences { weights: (1..=MOST).map(of_reach).collect(), step }
    }

    /// The slope of a table at a point, of as many values on both sides as there are; of three at an end.
    #[inline(always)]
    pub fn slope(&self, table: &[Lanes], point: usize) -> Lanes {
        let reach = MOST.min(point).min(table.len() - 1 - point);
        let mut slope = [0.0; LANES];
        if reach == 0 {
            let (next, second, step) = match point {
                0 => (&table[1], &table[2], self.step),
                _ => (&table[point - 1], &table[point - 2], -self.step),
            };
            for l in 0..LANES {
                slope[l] = (2.0 * next[l] - 1.5 * table[point][l] - 0.5 * second[l]) / step;
            }
            return slope;
        }
        for (j, weight) in self.weights[reach - 1].iter().enumerate() {
            let (left, right) = (&table[point - 1 - j], &table[point + 1 + j]);
            for l in 0..LANES {
                slope[l] = weight.mul_add(right[l] - left[l], slope[l]);
            }
        }
        slope
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Σ a/(d + γ) with eigenvalues everywhere, as far apart as tables are.
    #[test]
    fn differences_give_slopes_of_sums_over_a_spectrum() {
        let step = 0.36;
        let at = |g: usize| libm::exp(-20.0 + step * g as f64);
        let eigenvalues: Vec<f64> = (0..40).map(|k| libm::exp(-0.5 * f64::from(k))).collect();
        let sum = |gamma: f64, lane: usize, of: &dyn Fn(f64) -> f64| -> f64 {
            let part = |(k, d): (usize, &f64)| (1 + (k * 7 + lane) % 5) as f64 * d * of(d + gamma);
            eigenvalues.iter().enumerate().map(part).sum()
        };
        let table: Vec<Lanes> = (0..60).map(|g| std::array::from_fn(|lane| sum(at(g), lane, &|x| 1.0 / x))).collect();
        let differences = Differences::new(step);
        for g in 0..60 - values_above(step) {
            let slope = differences.slope(&table, g);
            for (lane, slope) in slope.iter().enumerate() {
                let wanted = -at(g) * sum(at(g), lane, &|x| 1.0 / (x * x));
                let close = match g {
                    0 => 0.1,
                    g if g < values_above(step) => 0.03 * 0.28_f64.powi(g as i32 - 1).max(2e-6),
                    g if (MOST..60 - MOST).contains(&g) => 5e-9,
                    _ => 5e-8,
                };
                assert!((slope / wanted - 1.0).abs() < close, "{g}: {slope} for {wanted}");
            }
        }
    }
}
