//! Rows of a [`BoxProblem`] side by side, without branches: what [`terms`](super::terms) says of one row, of several at once.

use std::hint::select_unpredictable as select;

use super::BoxProblem;
use super::terms::ROUNDING;

/// Rows that are looked at together.
pub(super) const LANES: usize = 16;

/// The next rows of a problem, and f there; past the end boxes without width, which ask for nothing.
pub(super) struct Lanes {
    target: [f64; LANES],
    lower: [f64; LANES],
    upper: [f64; LANES],
    epsilon: [f64; LANES],
    curvature: [f64; LANES],
    pub fitted: [f64; LANES],
}

/// The next numbers of a list, and zeros past its end.
#[inline(always)]
pub(super) fn lanes_of(list: &[f64], from: usize) -> [f64; LANES] {
    match list[from..].first_chunk() {
        Some(whole) => *whole,
        None => {
            let mut lanes = [0.0; LANES];
            lanes[..list.len() - from].copy_from_slice(&list[from..]);
            lanes
        }
    }
}

impl Lanes {
    #[inline(always)]
    pub fn of(problem: &BoxProblem<'_>, fitted: &[f64], from: usize) -> Self {
        Lanes {
            target: lanes_of(problem.target, from),
            lower: lanes_of(problem.lower, from),
            upper: lanes_of(problem.upper, from),
            epsilon: lanes_of(problem.epsilon, from),
            curvature: lanes_of(problem.curvature, from),
            fitted: lanes_of(fitted, from),
        }
    }

    /// A difference of target and value that is rounding.
    #[inline(always)]
    fn nothing(&self, l: usize, v: f64) -> f64 {
        ROUNDING * (self.target[l].abs() + v.abs())
    }

    /// The a in the box that gives ℓ its value at v: clip(soft(t − v, ε)/q).
    #[inline(always)]
    pub fn best_response(&self, l: usize, v: f64) -> f64 {
        let residual = self.target[l] - v;
        let beyond = residual - self.epsilon[l].copysign(residual);
        let bound = select(beyond > 0.0, self.upper[l], self.lower[l]);
        // Without curvature infinite, or nothing divided by nothing, which is no response at all.
        let free = beyond / self.curvature[l];
        let inside = select(free.abs() < bound.abs(), free, bound);
        let is_none = (beyond * residual <= 0.0) | (beyond.abs() <= self.nothing(l, v));
        select(is_none, 0.0, inside)
    }

    /// a(t − v) − ε|a| − ½qa².
    #[inline(always)]
    pub fn payoff(&self, l: usize, a: f64, v: f64) -> f64 {
        let payoff = a * (self.target[l] - v) - self.epsilon[l] * a.abs() - 0.5 * self.curvature[l] * a * a;
        select(a == 0.0, 0.0, payoff)
    }

    /// How much less than the best response an α pays: ≥ 0, and without cancellation when the two are close.
    #[inline(always)]
    pub fn shortfall(&self, l: usize, a: f64, best: f64, v: f64) -> f64 {
        let residual = self.target[l] - v;
        let nothing = self.nothing(l, v);
        // p(to) − p(from) along a straight piece of |·|.
        let piece = |from: f64, to: f64, sign: f64| {
            let slope = residual - self.epsilon[l] * sign - 0.5 * self.curvature[l] * (to + from);
            select((slope.abs() <= nothing) | (to == from), 0.0, (to - from) * slope)
        };
        let through_zero = piece(a, 0.0, 1.0_f64.copysign(a)) + piece(0.0, best, 1.0_f64.copysign(best));
        let straight = piece(a, best, 1.0_f64.copysign(select(a == 0.0, best, a)));
        select(a * best < 0.0, through_zero, straight).max(0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The same numbers as row by row: boxes of every kind, responses at bounds, inside, at the kink and beyond 0, rows past the end.
    #[test]
    fn lanes_say_what_single_rows_say() {
        let n = 37;
        let noise = |i: usize, j: u64| {
            let mixed = (i as u64 * 31 + j + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
            ((mixed ^ (mixed >> 29)) >> 11) as f64 / (1_u64 << 53) as f64 - 0.5
        };
        let list = |of: &dyn Fn(usize) -> f64| (0..n).map(of).collect::<Vec<f64>>();
        let curvature = list(&|i| if i % 3 == 0 { 0.0 } else { 0.7 });
        let lower = list(&|i| if i % 4 == 0 { 0.0 } else { -1.0 });
        // A box without an end has curvature.
        let upper = list(&|i| if i % 5 == 0 { 0.0 } else { [2.0, f64::INFINITY][usize::from(i % 3 == 1)] });
        let (target, epsilon) = (list(&|i| 4.0 * noise(i, 1)), list(&|i| if i % 2 == 0 { 0.3 } else { 0.0 }));
        let (mut fitted, alpha) = (list(&|i| 4.0 * noise(i, 2)), list(&|i| noise(i, 3).clamp(lower[i], upper[i])));
        fitted[7] = target[7] - 0.25;
        let problem = BoxProblem {
            target: &target,
            lower: &lower,
            upper: &upper,
            epsilon: &epsilon,
            curvature: &curvature,
            has_offset: true,
        };
        let offset = 0.25;
        let mut kinds = std::collections::HashSet::new();
        for from in (0..n).step_by(LANES) {
            let (rows, own) = (Lanes::of(&problem, &fitted, from), lanes_of(&alpha, from));
            for l in 0..LANES {
                let (i, v) = (from + l, rows.fitted[l] + offset);
                let best = rows.best_response(l, v);
                let (payoff, shortfall) = (rows.payoff(l, best, v), rows.shortfall(l, own[l], best, v));
                if i >= n {
                    assert_eq!([best, payoff, shortfall], [0.0; 3]);
                    continue;
                }
                assert_eq!(best, problem.best_response(i, v));
                assert_eq!(payoff, problem.loss(i, v));
                // What the best response pays, less what α does.
                let pays = |a: f64| a * (target[i] - v) - epsilon[i] * a.abs() - 0.5 * curvature[i] * a * a;
                assert!((shortfall - (pays(best) - pays(alpha[i]))).abs() < 1e-14, "row {i}");
                kinds.insert((best == 0.0, best == lower[i], best == upper[i], alpha[i] * best < 0.0));
            }
        }
        assert!(kinds.len() >= 6, "{kinds:?}");
    }
}
