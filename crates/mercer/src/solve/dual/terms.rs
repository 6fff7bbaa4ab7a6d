//! The loss ℓᵢ that a box, a kink and a curvature stand for; the best offset; the duality gap.

use super::BoxProblem;
use super::lanes::{LANES, Lanes, lanes_of};
use crate::linalg::double;
use crate::linalg::simd::vectorize;

/// A point of the dual, measured.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Judgement {
    pub offset: f64,
    pub primal: f64,
    /// Primal plus dual objective: a sum of terms none of which is negative, so nothing cancels.
    pub gap: f64,
}

impl Judgement {
    pub fn relative_gap(&self) -> f64 {
        if self.gap == 0.0 { 0.0 } else { self.gap / self.primal.abs().max(f64::MIN_POSITIVE) }
    }
}

/// A residual that is beyond the kink by so little, relative to what it is the difference of, is on it: a wide box would
/// make a loss out of rounding.
pub(super) const ROUNDING: f64 = 4.0 * f64::EPSILON;

impl BoxProblem<'_> {
    /// The a in the box that gives ℓᵢ its value at v: clip(soft(t − v, ε)/q).
    #[inline(always)]
    pub(super) fn best_response(&self, i: usize, v: f64) -> f64 {
        let residual = self.target[i] - v;
        let beyond = residual - self.epsilon[i].copysign(residual);
        if beyond * residual <= 0.0 || beyond.abs() <= ROUNDING * (self.target[i].abs() + v.abs()) {
            return 0.0;
        }
        let bound = if beyond > 0.0 { self.upper[i] } else { self.lower[i] };
        let free = beyond / self.curvature[i];
        if free.abs() < bound.abs() { free } else { bound }
    }

    /// a(t − v) − ε|a| − ½qa².
    #[inline(always)]
    fn payoff(&self, i: usize, a: f64, v: f64) -> f64 {
        if a == 0.0 {
            return 0.0;
        }
        a * (self.target[i] - v) - self.epsilon[i] * a.abs() - 0.5 * self.curvature[i] * a * a
    }

    /// ℓᵢ(v).
    #[inline(always)]
    pub(super) fn loss(&self, i: usize, v: f64) -> f64 {
        self.payoff(i, self.best_response(i, v), v)
    }
}

/// Primal, gap and best offset at α, given Kα.
pub(crate) fn judge(problem: &BoxProblem<'_>, alpha: &[f64], fitted: &[f64]) -> Judgement {
    let offset = if problem.has_offset { best_offset(problem, fitted, asked_for(problem, alpha, fitted)) } else { 0.0 };
    judge_at(problem, alpha, fitted, offset)
}

/// Least and largest offset that variables inside their boxes ask for.
fn asked_for(problem: &BoxProblem<'_>, alpha: &[f64], fitted: &[f64]) -> Option<(f64, f64)> {
    let range = (0..alpha.len())
        .filter(|i| alpha[*i] != 0.0 && alpha[*i] > problem.lower[*i] && alpha[*i] < problem.upper[*i])
        .map(|i| {
            let a = alpha[i];
            problem.target[i] - fitted[i] - problem.epsilon[i].copysign(a) - problem.curvature[i] * a
        })
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), b| (low.min(b), high.max(b)));
    (range.0 <= range.1 && range.0.is_finite() && range.1.is_finite()).then_some(range)
}

/// Whether an offset alone (or nothing at all) may leave no loss: only then is the zero function a minimiser, for its dual objective is 0.
pub(super) fn is_constant_enough(problem: &BoxProblem<'_>) -> bool {
    let (mut least, mut most) = if problem.has_offset { (f64::NEG_INFINITY, f64::INFINITY) } else { (0.0, 0.0) };
    let mut size: f64 = 0.0;
    for i in 0..problem.target.len() {
        let (target, epsilon) = (problem.target[i], problem.epsilon[i]);
        if problem.upper[i] > 0.0 {
            least = f64::max(least, target - epsilon);
            size = size.max(target.abs());
        }
        if problem.lower[i] < 0.0 {
            most = f64::min(most, target + epsilon);
            size = size.max(target.abs());
        }
    }
    // A hair of loss may be rounding, or next to nothing beside nothing: measuring tells.
    least <= most + 1e-9 * size
}

/// The same at an offset that is given: any offset bounds from above.
pub(crate) fn judge_at(problem: &BoxProblem<'_>, alpha: &[f64], fitted: &[f64], offset: f64) -> Judgement {
    let (losses, gap) = vectorize(
        #[inline(always)]
        || losses_and_gap(problem, alpha, fitted, offset),
    );
    // Σ α is 0 up to rounding; what is left of it belongs to the gap, for the dual objective has no offset.
    let rest = if problem.has_offset { double::sum(alpha.iter().copied()).value() * offset } else { 0.0 };
    let primal = 0.5 * double::dot(alpha, fitted).value() + losses;
    Judgement { offset, primal, gap: (gap + rest.abs()).max(0.0) }
}

/// Σ ℓᵢ and Σ of what each α pays less than its best response: no term is negative, so lanes lose nothing.
#[inline(always)]
fn losses_and_gap(problem: &BoxProblem<'_>, alpha: &[f64], fitted: &[f64], offset: f64) -> (f64, f64) {
    let (mut losses, mut gaps) = ([0.0; LANES], [0.0; LANES]);
    for from in (0..alpha.len()).step_by(LANES) {
        let row = Lanes::of(problem, fitted, from);
        let a = lanes_of(alpha, from);
        for l in 0..LANES {
            let v = row.fitted[l] + offset;
            let best = row.best_response(l, v);
            losses[l] += row.payoff(l, best, v);
            gaps[l] += row.shortfall(l, a[l], best, v);
        }
    }
    (losses.iter().sum(), gaps.iter().sum())
}

/// Σ of the best responses at an offset, to the accuracy of plain sums.
fn pull_of_all(problem: &BoxProblem<'_>, fitted: &[f64], offset: f64) -> f64 {
    vectorize(
        #[inline(always)]
        || {
            let mut sums = [0.0; LANES];
            for from in (0..fitted.len()).step_by(LANES) {
                let row = Lanes::of(problem, fitted, from);
                for l in 0..LANES {
                    sums[l] += row.best_response(l, row.fitted[l] + offset);
                }
            }
            sums.iter().sum()
        },
    )
}

/// An offset near `guess` that is as good as the best up to the accuracy that judging on the way needs: the pull changes
/// its sign there.
pub(super) fn near_offset(problem: &BoxProblem<'_>, fitted: &[f64], guess: f64, width: f64) -> f64 {
    let mut range = (guess, guess);
    let mut reach = width.abs().max(1e-12 * guess.abs()).max(f64::MIN_POSITIVE);
    let is_left = pull_of_all(problem, fitted, guess) > 0.0;
    for _ in 0..60 {
        let next = if is_left { guess + reach } else { guess - reach };
        if (pull_of_all(problem, fitted, next) > 0.0) != is_left {
            range = if is_left { (guess, next) } else { (next, guess) };
            break;
        }
        reach *= 4.0;
    }
    for _ in 0..12 {
        let middle = 0.5 * (range.0 + range.1);
        if pull_of_all(problem, fitted, middle) > 0.0 {
            range.0 = middle;
        } else {
            range.1 = middle;
        }
    }
    0.5 * (range.0 + range.1)
}

/// The middle of the offsets that minimise Σ ℓᵢ(fᵢ + b): where the sum of the best responses changes its sign, which is looked for about
/// a likely range first.
pub(super) fn best_offset(problem: &BoxProblem<'_>, fitted: &[f64], likely: Option<(f64, f64)>) -> f64 {
    let movable = || (0..fitted.len()).filter(|i| problem.lower[*i] < problem.upper[*i]);
    // Outside of this range all responses pull one way (or none pulls).
    let least = movable().map(|i| problem.target[i] - fitted[i] - problem.epsilon[i]).fold(f64::INFINITY, f64::min);
    let most = movable().map(|i| problem.target[i] - fitted[i] + problem.epsilon[i]).fold(f64::NEG_INFINITY, f64::max);
    if !(least <= most) {
        return 0.0;
    }
    let margin = 1e-9 * (most - least) + f64::MIN_POSITIVE;
    let mut pull = Pull { problem, fitted, rows: movable().collect(), settled: double::Double::default() };
    // Rounding in the sum must not look like a pull.
    let size: f64 = movable().map(|i| bound_size(problem, i)).fold(0.0, f64::max);
    let nothing = 1e-13 * size;
    let mut left = (least - margin, most + margin);
    if let Some((low, high)) = likely {
        let room = (high - low).max(1e-6 * (most - least));
        let near = (low - room, high + room);
        if near.0 > left.0 && near.1 < left.1 && pull.at(near.0) > nothing && pull.at(near.1) < -nothing {
            left = near;
            pull.narrow(near);
        }
    }
    let mut right = left;
    pull.clone().bisect(&mut left, |pull| pull > nothing);
    pull.bisect(&mut right, |pull| pull >= -nothing);
    let total = |b: f64| -> f64 { movable().map(|i| problem.loss(i, fitted[i] + b)).sum() };
    // A pull that never ends on one side leaves the edge where it is 0 first.
    let (low, high) = (left.1, right.0);
    let middle = if high > low && high < most + 0.5 * margin && low > least - 0.5 * margin {
        0.5 * (low + high)
    } else if high >= most + 0.5 * margin {
        low
    } else {
        high
    };
    [left.0, left.1, right.0, right.1, middle]
        .into_iter()
        .map(|b| (total(b), b))
        .fold((f64::INFINITY, middle), |best, next| {
            if next.0 < best.0 || (next.0 <= best.0 * (1.0 + 1e-15) && next.1 == middle) { next } else { best }
        })
        .1
}

/// Σ of the best responses at an offset, which falls with it, on a range that narrows: rows whose response is the same at both
/// ends are summed once.
#[derive(Clone)]
struct Pull<'a> {
    problem: &'a BoxProblem<'a>,
    fitted: &'a [f64],
    rows: Vec<usize>,
    settled: double::Double,
}

impl Pull<'_> {
    const NARROW_EVERY: usize = 3;

    fn at(&self, offset: f64) -> f64 {
        let mut sum = self.settled;
        for i in &self.rows {
            let response = self.problem.best_response(*i, self.fitted[*i] + offset);
            // Most are 0, and adding waits for the sum before.
            if response != 0.0 {
                sum = sum.add(response);
            }
        }
        sum.value()
    }

    fn narrow(&mut self, (low, high): (f64, f64)) {
        let (problem, fitted) = (self.problem, self.fitted);
        let mut settled = self.settled;
        self.rows.retain(|i| {
            let (first, last) =
                (problem.best_response(*i, fitted[*i] + low), problem.best_response(*i, fitted[*i] + high));
            if first == last {
                settled = settled.add(first);
            }
            first != last
        });
        self.settled = settled;
    }

    /// Narrows (low, high) to neighbouring numbers, `is_left` holding at low and not at high.
    fn bisect(mut self, range: &mut (f64, f64), is_left: impl Fn(f64) -> bool) {
        for step in 0..200 {
            if step % Pull::NARROW_EVERY == 0 && !self.rows.is_empty() {
                self.narrow(*range);
            }
            let middle = 0.5 * (range.0 + range.1);
            if !(middle > range.0 && middle < range.1) {
                break;
            }
            if is_left(self.at(middle)) {
                range.0 = middle;
            } else {
                range.1 = middle;
            }
        }
    }
}

fn bound_size(problem: &BoxProblem<'_>, i: usize) -> f64 {
    [problem.lower[i], problem.upper[i]].into_iter().filter(|x| x.is_finite()).fold(0.0, |m: f64, x| m.max(x.abs()))
}

/// Narrows (low, high) to neighbouring numbers, `is_left` holding at low and not at high.
fn bisect(range: &mut (f64, f64), is_left: impl Fn(f64) -> bool) {
    for _ in 0..200 {
        let middle = 0.5 * (range.0 + range.1);
        if !(middle > range.0 && middle < range.1) {
            break;
        }
        if is_left(middle) {
            range.0 = middle;
        } else {
            range.1 = middle;
        }
    }
}

/// Moves α into the box and, with an offset, to the sum 0: clip(α − shift) with the shift that does it.
pub(crate) fn project(problem: &BoxProblem<'_>, alpha: &mut [f64]) {
    let clip = |a: f64, i: usize| if a.is_nan() { 0.0 } else { a.clamp(problem.lower[i], problem.upper[i]) };
    for i in 0..alpha.len() {
        alpha[i] = clip(alpha[i], i);
        if !alpha[i].is_finite() {
            alpha[i] = 0.0;
        }
    }
    if !problem.has_offset {
        return;
    }
    let size = alpha.iter().fold(0.0, |m: f64, a| m.max(a.abs()));
    // Most are zero, and change no sum.
    let sum_of = |alpha: &[f64]| double::sum(alpha.iter().copied().filter(|a| *a != 0.0)).value();
    let sum = sum_of(alpha);
    if sum.abs() > 1e-9 * size {
        let at = |shift: f64| double::sum(alpha.iter().enumerate().map(|(i, a)| clip(a - shift, i))).value();
        let mut range = (-2.0 * size, 2.0 * size);
        bisect(&mut range, |shift| at(shift) > 0.0);
        let shift = range.0;
        alpha.iter_mut().enumerate().for_each(|(i, a)| *a = clip(*a - shift, i));
    }
    // What rounding left goes to rows with room for it, the ones farthest from their bounds first.
    for _ in 0..3 {
        let rest = sum_of(alpha);
        if rest == 0.0 {
            return;
        }
        let room = |i: usize| if rest > 0.0 { alpha[i] - problem.lower[i] } else { problem.upper[i] - alpha[i] };
        // Inside is better than at a bound: moving a row off its bound by a hair would cost a support vector.
        let inside = |i: usize| alpha[i] != 0.0 && alpha[i] > problem.lower[i] && alpha[i] < problem.upper[i];
        let by_room = |a: &usize, b: &usize| room(*a).partial_cmp(&room(*b)).unwrap_or(std::cmp::Ordering::Equal);
        let first = (0..alpha.len()).filter(|i| inside(*i)).max_by(by_room);
        let Some(i) = first.or_else(|| (0..alpha.len()).max_by(by_room)) else { return };
        alpha[i] = clip(alpha[i] - rest, i);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rows that are summed once give the pull that all rows give, and the offset has pulls of both signs beside it.
    #[test]
    fn a_pull_on_a_narrow_range_is_that_of_all_rows() {
        let target: Vec<f64> = (0..60).map(|i| (2.3 * f64::from(i)).sin()).collect();
        let fitted: Vec<f64> = (0..60).map(|i| 0.5 * (0.7 * f64::from(i)).cos()).collect();
        let (lower, upper, epsilon) = (vec![-0.3; 60], vec![0.7; 60], vec![0.1; 60]);
        for curvature in [vec![0.0; 60], vec![0.4; 60]] {
            let problem = BoxProblem {
                target: &target,
                lower: &lower,
                upper: &upper,
                epsilon: &epsilon,
                curvature: &curvature,
                has_offset: true,
            };
            let plain = |b: f64| -> f64 { (0..60).map(|i| problem.best_response(i, fitted[i] + b)).sum() };
            let mut pull = Pull {
                problem: &problem,
                fitted: &fitted,
                rows: (0..60).collect(),
                settled: double::Double::default(),
            };
            for range in [(-2.0, 2.0), (-0.2, 0.5), (0.1, 0.15)] {
                pull.narrow(range);
                for share in [0.0, 0.3, 1.0] {
                    let b = range.0 + share * (range.1 - range.0);
                    assert!((pull.at(b) - plain(b)).abs() < 1e-12);
                }
            }
            assert!(pull.rows.len() < 60);
            let best = best_offset(&problem, &fitted, None);
            assert!(plain(best - 1e-3) >= -1e-9 && plain(best + 1e-3) <= 1e-9);
            let near = near_offset(&problem, &fitted, best + 0.05, 0.1);
            assert!(plain(near - 1e-3) >= -1e-9 && plain(near + 1e-3) <= 1e-9);
        }
    }
}
