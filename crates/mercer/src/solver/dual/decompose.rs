//! Many variables: the worst few hundred at a time, minimised with the others held still.
//!
//! Half of a working set stays for the next one; the rest are the variables that want to move most. The gradient of all
//! variables follows by one product of the kept rows with the change, in fixed chunks on all cores.

use rayon::prelude::*;

use super::BoxProblem;
use super::pairs::{Block, padded, rates};
use super::store::Store;
use super::terms::{self, Judgement};
use crate::error::{Error, Result};
use crate::simd::vectorize;

/// When to end.
pub(super) struct Limits<'a> {
    pub tolerance: f64,
    pub max_iterations: usize,
    pub memory: u64,
    /// Whether this is one of several tasks side by side, each on one core.
    pub is_sequential: bool,
    pub go_on: &'a (dyn Fn() -> bool + Sync),
}

/// Variables in a working set.
const WORKING_SET: usize = 1024;
/// Steps inside a working set between two looks at the rest.
const MOST_STEPS: usize = 20_000;
/// Variables whose gradient one task updates.
const CHUNK: usize = 1024;
/// Working sets between two measurements of the gap.
const JUDGE_EVERY: usize = 8;

/// Minimises from α on; `fitted` is Kα before and after. Ends when the gap, as far as the kept rows tell it, is within
/// the tolerance, or when it does not fall any more.
pub(super) fn run<S: Store>(
    store: &mut S,
    problem: &BoxProblem<'_>,
    alpha: &mut [f64],
    fitted: &mut [f64],
    limits: &Limits<'_>,
) -> Result<usize> {
    let n = store.len();
    let diagonal = store.diagonal();
    let movable = (0..n).filter(|i| problem.lower[*i] < problem.upper[*i]).count();
    let size = WORKING_SET.min(movable).min(store.capacity());
    if size == 0 {
        return Ok(0);
    }
    let mut gradient: Vec<f64> = (0..n).map(|i| fitted[i] - problem.target[i]).collect();
    let mut chosen: Vec<usize> = Vec::new();
    let mut block = Block::<S::Element>::new(size);
    let mut progress = Progress::new(limits.tolerance);
    let mut iterations = 0;
    while iterations < limits.max_iterations {
        if !(limits.go_on)() {
            return Err(Error::Interrupted);
        }
        let view = View::new(problem, alpha, &gradient);
        if iterations % JUDGE_EVERY == 0 || view.violation <= progress.judge_below {
            fitted.iter_mut().enumerate().for_each(|(i, f)| *f = gradient[i] + problem.target[i]);
            let judgement = view.judge(problem, alpha, fitted);
            if progress.is_over(&judgement, view.violation) {
                break;
            }
        }
        let kept = chosen.len();
        let next = view.choose(&chosen, size);
        let fresh = next.iter().filter(|i| !chosen.contains(*i)).count();
        let _ = (kept, fresh);
        store.need(&next);
        gather(store, problem, &next, &diagonal, alpha, &gradient, &mut block);
        let inner = (0.1 * view.violation).max(progress.least_violation);
        block.minimise(problem.has_offset, inner, MOST_STEPS);
        let changes: Vec<(usize, f64)> = next
            .iter()
            .enumerate()
            .map(|(k, i)| (*i, block.alpha[k] - alpha[*i]))
            .filter(|(_, change)| *change != 0.0)
            .collect();
        if changes.is_empty() {
            break;
        }
        next.iter().enumerate().for_each(|(k, i)| alpha[*i] = block.alpha[k]);
        add_rows(store, &changes, &mut gradient, limits.is_sequential);
        chosen = next;
        iterations += 1;
    }
    fitted.iter_mut().enumerate().for_each(|(i, f)| *f = gradient[i] + problem.target[i]);
    Ok(iterations)
}

/// Whether to go on.
struct Progress {
    tolerance: f64,
    /// A violation this small is worth a measurement.
    judge_below: f64,
    least_violation: f64,
    best: f64,
    since_best: usize,
}

/// Measurements without a gap less than nine tenths of the best that mean that no more is to be had.
const PATIENCE: usize = 40;

impl Progress {
    fn new(tolerance: f64) -> Self {
        Progress { tolerance, judge_below: 0.0, least_violation: 0.0, best: f64::INFINITY, since_best: 0 }
    }

    fn is_over(&mut self, judgement: &Judgement, violation: f64) -> bool {
        let gap = judgement.relative_gap();
        if gap <= 0.8 * self.tolerance {
            return true;
        }
        self.judge_below = 0.7 * violation;
        if gap < 0.9 * self.best {
            self.best = gap;
            self.since_best = 0;
        } else {
            self.since_best += 1;
        }
        self.since_best > PATIENCE
    }
}

/// How every variable wants to move.
struct View {
    up: Vec<f64>,
    down: Vec<f64>,
    has_offset: bool,
    /// How far the worst pair (or variable) is from optimal.
    violation: f64,
    offset: f64,
}

impl View {
    fn new(problem: &BoxProblem<'_>, alpha: &[f64], gradient: &[f64]) -> Self {
        let (up, down): (Vec<f64>, Vec<f64>) = (0..alpha.len())
            .map(|i| {
                let (up, down) =
                    rates(alpha[i], problem.lower[i], problem.upper[i], problem.epsilon[i], problem.curvature[i]);
                (gradient[i] + up, gradient[i] + down)
            })
            .unzip();
        let lowest = up.iter().copied().fold(f64::INFINITY, f64::min);
        let highest = down.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let violation = if problem.has_offset { highest - lowest } else { highest.max(-lowest).max(0.0) };
        View { up, down, has_offset: problem.has_offset, violation, offset: -0.5 * (lowest + highest) }
    }

    fn judge(&self, problem: &BoxProblem<'_>, alpha: &[f64], fitted: &[f64]) -> Judgement {
        if !problem.has_offset || !self.offset.is_finite() {
            return terms::judge(problem, alpha, fitted);
        }
        terms::judge(problem, alpha, fitted)
    }

    /// Up to `size` variables: the later half of the last set, then those that want to move most.
    fn choose(&self, last: &[usize], size: usize) -> Vec<usize> {
        let n = self.up.len();
        let mut is_taken = vec![false; n];
        // The last set has the older ones first.
        let keep = last.len().min(size / 2);
        let mut next: Vec<usize> = last[last.len() - keep..].to_vec();
        next.iter().for_each(|i| is_taken[*i] = true);
        let mut candidates: Vec<usize> = (0..n)
            .filter(|i| !is_taken[*i] && (self.up[*i] < f64::INFINITY || self.down[*i] > f64::NEG_INFINITY))
            .collect();
        if self.has_offset {
            let half = (size - next.len()) / 2;
            let rising = worst_of(&candidates, half, |i| self.up[i]);
            rising.iter().for_each(|i| is_taken[*i] = true);
            next.extend(rising);
            candidates.retain(|i| !is_taken[*i]);
            let falling = worst_of(&candidates, size - next.len(), |i| -self.down[i]);
            next.extend(falling);
        } else {
            let worst = worst_of(&candidates, size - next.len(), |i| self.up[i].min(-self.down[i]));
            next.extend(worst);
        }
        next
    }
}

/// The `count` candidates with the least finite score.
fn worst_of(candidates: &[usize], count: usize, score: impl Fn(usize) -> f64) -> Vec<usize> {
    let mut scored: Vec<(f64, usize)> =
        candidates.iter().map(|i| (score(*i), *i)).filter(|(score, _)| *score < f64::INFINITY).collect();
    let order = |a: &(f64, usize), b: &(f64, usize)| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1));
    if scored.len() > count {
        if count == 0 {
            return Vec::new();
        }
        scored.select_nth_unstable_by(count - 1, order);
        scored.truncate(count);
    }
    scored.sort_unstable_by(order);
    scored.into_iter().map(|(_, i)| i).collect()
}

/// Fills the block with what belongs to the chosen variables.
fn gather<S: Store>(
    store: &S,
    problem: &BoxProblem<'_>,
    chosen: &[usize],
    diagonal: &[f64],
    alpha: &[f64],
    gradient: &[f64],
    block: &mut Block<S::Element>,
) {
    let size = padded(chosen.len());
    if size != block.alpha.len() {
        *block = Block::new(chosen.len());
    }
    let fill = |k: usize, row: &mut [S::Element]| {
        let whole = store.row(chosen[k]);
        row.iter_mut().zip(chosen).for_each(|(x, j)| *x = whole[*j]);
    };
    block.gram.par_chunks_mut(size).enumerate().take(chosen.len()).for_each(|(k, row)| fill(k, row));
    for k in 0..size {
        let from = |list: &[f64], padding: f64| chosen.get(k).map_or(padding, |i| list[*i]);
        block.diagonal[k] = from(diagonal, 1.0);
        block.alpha[k] = from(alpha, 0.0);
        block.gradient[k] = from(gradient, 0.0);
        block.lower[k] = from(problem.lower, 0.0);
        block.upper[k] = from(problem.upper, 0.0);
        block.epsilon[k] = from(problem.epsilon, 0.0);
        block.curvature[k] = from(problem.curvature, 0.0);
    }
}

/// g += Σ change · row.
fn add_rows<S: Store>(store: &S, changes: &[(usize, f64)], gradient: &mut [f64], is_sequential: bool) {
    let one = |chunk: usize, out: &mut [f64]| {
        let from = chunk * CHUNK;
        let to = from + out.len();
        vectorize(
            #[inline(always)]
            || {
                for four in changes.chunks(4) {
                    if let [(a, s), (b, t), (c, u), (d, v)] = four {
                        let (a, b) = (&store.row(*a)[from..to], &store.row(*b)[from..to]);
                        let (c, d) = (&store.row(*c)[from..to], &store.row(*d)[from..to]);
                        for k in 0..out.len() {
                            let (w, x, y, z): (f64, f64, f64, f64) =
                                (a[k].into(), b[k].into(), c[k].into(), d[k].into());
                            out[k] += (s * w + t * x) + (u * y + v * z);
                        }
                    } else {
                        for (a, s) in four {
                            let a = &store.row(*a)[from..to];
                            for k in 0..out.len() {
                                let w: f64 = a[k].into();
                                out[k] += s * w;
                            }
                        }
                    }
                }
            },
        );
    };
    if is_sequential {
        gradient.chunks_mut(CHUNK).enumerate().for_each(|(chunk, out)| one(chunk, out));
    } else {
        gradient.par_chunks_mut(CHUNK).enumerate().for_each(|(chunk, out)| one(chunk, out));
    }
}
