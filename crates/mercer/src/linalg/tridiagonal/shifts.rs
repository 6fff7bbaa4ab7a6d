//! Factors and solves of several shifts side by side: each step of one waits for the one before, and the others fill that time.

use super::{Factored, Tridiagonal};
use crate::linalg::simd::vectorize;

/// Shifts that are treated together: two registers.
pub(super) const TOGETHER: usize = 16;

type Lanes = [f64; TOGETHER];

/// The factors of up to [`TOGETHER`] shifts; `None` when a pivot is not positive.
pub(super) fn factored<'a>(form: &'a Tridiagonal, gammas: &[f64]) -> Option<Vec<Factored<'a>>> {
    let n = form.size();
    // Shifts that are missing repeat the first.
    let gamma: Lanes = std::array::from_fn(|s| gammas[if s < gammas.len() { s } else { 0 }]);
    let (mut lower, mut inverse) = (vec![[0.0; TOGETHER]; n], vec![[0.0; TOGETHER]; n]);
    let is_definite = vectorize(
        #[inline(always)]
        || {
            let (mut taken, mut least) = ([0.0; TOGETHER], [f64::INFINITY; TOGETHER]);
            for k in 0..n {
                let below = if k + 1 < n { form.below[k] } else { 0.0 };
                for s in 0..TOGETHER {
                    let pivot = form.diagonal[k] + gamma[s] - taken[s];
                    // Neither is true of what is not a number.
                    least[s] = if pivot >= least[s] { least[s] } else { pivot };
                    inverse[k][s] = 1.0 / pivot;
                    lower[k][s] = below * inverse[k][s];
                    taken[s] = below * lower[k][s];
                }
            }
            let mut is_definite = true;
            for s in 0..TOGETHER {
                is_definite &= least[s] > 0.0 && least[s].is_finite() && inverse[n - 1][s].is_finite();
            }
            is_definite
        },
    );
    let of_shift = |s: usize| Factored {
        form,
        gamma: gammas[s],
        lower: lower.iter().map(|lanes| lanes[s]).collect(),
        inverse: inverse.iter().map(|lanes| lanes[s]).collect(),
    };
    is_definite.then(|| (0..gammas.len()).map(of_shift).collect())
}

/// (T + γI)⁻¹x for each of up to [`TOGETHER`] shifts.
pub(super) fn solve(factors: &[Factored<'_>], x: &[f64]) -> Vec<Vec<f64>> {
    let n = x.len();
    let shift = |s: usize| &factors[if s < factors.len() { s } else { 0 }];
    let lower: [&[f64]; TOGETHER] = std::array::from_fn(|s| &shift(s).lower[..n]);
    let inverse: [&[f64]; TOGETHER] = std::array::from_fn(|s| &shift(s).inverse[..n]);
    let side_by_side = |of: &[&[f64]; TOGETHER], k: usize| -> Lanes { std::array::from_fn(|s| of[s][k]) };
    let numbers: Vec<[Lanes; 2]> = (0..n).map(|k| [side_by_side(&lower, k), side_by_side(&inverse, k)]).collect();
    let mut out: Vec<Lanes> = vec![[0.0; TOGETHER]; n];
    vectorize(
        #[inline(always)]
        || {
            let (mut last, mut before): (Lanes, Lanes) = ([0.0; TOGETHER], [0.0; TOGETHER]);
            for k in 0..n {
                for s in 0..TOGETHER {
                    last[s] = (-before[s]).mul_add(last[s], x[k]);
                }
                out[k] = last;
                before = numbers[k][0];
            }
            let mut after: Lanes = [0.0; TOGETHER];
            for k in (0..n).rev() {
                let [lower, inverse] = &numbers[k];
                for s in 0..TOGETHER {
                    after[s] = (-lower[s]).mul_add(after[s], out[k][s] * inverse[s]);
                }
                out[k] = after;
            }
        },
    );
    (0..factors.len()).map(|s| out.iter().map(|lanes| lanes[s]).collect()).collect()
}
