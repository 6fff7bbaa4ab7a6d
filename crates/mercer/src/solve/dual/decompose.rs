//! Many variables: the worst thousand at a time, minimised with the others held still.
//!
//! Half of a working set stays for the next one; the rest are the variables that want to move most. The gradient of all
//! variables follows by one product of the kept rows with the change, in fixed chunks on all cores.

use super::BoxProblem;
use super::pairs::Block;
use super::store::Store;
use super::subspace;
use super::terms::{self, Judgement};
use super::working_set::{View, add_rows, gather};
use crate::base::error::{Error, Result};

/// When to end.
#[derive(Clone, Copy)]
pub(super) struct Limits<'a> {
    pub tolerance: f64,
    pub max_iterations: usize,
    /// Multiplications and additions after which another method is cheaper.
    pub most_work: f64,
    /// Whether α is near enough to the minimiser to begin with a Newton step.
    pub newton_at_once: bool,
    pub go_on: &'a (dyn Fn() -> bool + Sync),
}

/// Variables in a working set, at most: it grows when more than half as many are inside their boxes.
const LARGEST_SET: usize = 2048;
/// Variables in the first working set, within these limits a sixteenth of all: few rows are all that small problems need.
const FIRST_SET: (usize, usize) = (128, 1024);
const FIRST_SHARE: usize = 16;
/// Steps per variable of a working set between two looks at the rest.
const STEPS_PER_VARIABLE: usize = 20;
/// Working sets between two measurements of the gap.
const JUDGE_EVERY: usize = 8;
/// Variables inside their boxes for which a Newton step is worth its factorisation.
const NEWTON_VARIABLES: usize = 3000;
/// A Newton step is tried when other steps have taken as much work as its factorisations, per cubed variable, and twice as much
/// after one that failed; with a gap below this, where most variables know their side, and with a larger one.
const NEWTON_GAP: f64 = 0.03;
const NEWTON_WORK: (f64, f64) = (0.15, 0.6);
/// What share of the tolerance a gap may have, a little being spared for the rounding of the kept rows; and how many times as large it
/// is for the offset not to matter.
const WITHIN: f64 = 0.9;
const FAR: f64 = 4.0;
/// Measurements without a gap less than nine tenths of the best that mean that no more is to be had.
const PATIENCE: usize = 40;

/// Minimises from α on; `fitted` is Kα before and after. Ends when the gap, as far as the kept rows tell it, is within
/// the tolerance, or when it does not fall any more. Returns the number of working sets.
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
    let most = LARGEST_SET.min(movable).min(store.capacity());
    let mut size = (movable / FIRST_SHARE).clamp(FIRST_SET.0, FIRST_SET.1).min(most);
    let mut gradient: Vec<f64> = (0..n).map(|i| fitted[i] - problem.target[i]).collect();
    let mut chosen: Vec<usize> = Vec::new();
    let mut block = Block::<S::Element>::new(size);
    let mut progress = Progress { tolerance: limits.tolerance, judge_below: 0.0, best: f64::INFINITY, since_best: 0 };
    let mut newton = Newton { steps: 0.0, patience: if limits.newton_at_once { 0.0 } else { 1.0 } };
    let mut work = 0.0;
    let mut iterations = 0;
    loop {
        if !(limits.go_on)() {
            return Err(Error::Interrupted);
        }
        let view = View::new(problem, alpha, &gradient);
        let is_last = size == 0 || iterations >= limits.max_iterations || work > limits.most_work;
        if is_last || iterations % JUDGE_EVERY == 0 || view.violation <= progress.judge_below {
            fitted.iter_mut().enumerate().for_each(|(i, f)| *f = gradient[i] + problem.target[i]);
            let judgement = judge(&view, problem, alpha, fitted, limits.tolerance);
            if is_last || progress.is_over(&judgement, view.violation) {
                break;
            }
        }
        if newton.step(store, problem, alpha, &mut gradient, progress.best) {
            continue;
        }
        let (next, keep) = view.choose(&chosen, size);
        store.need(&next);
        gather(store, problem, &next, (chosen.len(), keep), &diagonal, alpha, &gradient, &mut block);
        // The others will want to move too: more than a tenth of the violation is not worth removing yet.
        let steps = block.minimise(problem.has_offset, 0.1 * view.violation, STEPS_PER_VARIABLE * size, &|_, _| ());
        let changes: Vec<(usize, f64)> = next
            .iter()
            .enumerate()
            .map(|(k, i)| (*i, block.alpha[k] - alpha[*i]))
            .filter(|(_, change)| *change != 0.0)
            .collect();
        if changes.is_empty() {
            fitted.iter_mut().enumerate().for_each(|(i, f)| *f = gradient[i] + problem.target[i]);
            break;
        }
        next.iter().enumerate().for_each(|(k, i)| alpha[*i] = block.alpha[k]);
        add_rows(store, &changes, &mut gradient);
        let step_work = 8.0 * (steps * size) as f64;
        work += step_work + 2.0 * (changes.len() * n) as f64 + (size * size) as f64;
        newton.steps += step_work;
        chosen = next;
        iterations += 1;

        if iterations % JUDGE_EVERY == 0 && inside(problem, alpha).len() > size / 2 && size < most {
            size = (2 * size).min(most);
        }
    }
    Ok(iterations)
}

/// The gap at the offset between those that the worst two ask for, and at the best one near it where that may decide.
fn judge(view: &View, problem: &BoxProblem<'_>, alpha: &[f64], fitted: &[f64], tolerance: f64) -> Judgement {
    if !problem.has_offset || !view.offset.is_finite() {
        return terms::judge(problem, alpha, fitted);
    }
    let judgement = terms::judge_at(problem, alpha, fitted, view.offset);
    let gap = judgement.relative_gap();
    if gap <= WITHIN * tolerance || gap > FAR * tolerance.max(NEWTON_GAP) {
        return judgement;
    }
    let offset = terms::near_offset(problem, fitted, view.offset, 0.1 * view.violation);
    terms::judge_at(problem, alpha, fitted, offset)
}

/// Variables that are neither at a bound nor at the kink.
pub(super) fn inside(problem: &BoxProblem<'_>, alpha: &[f64]) -> Vec<usize> {
    (0..alpha.len())
        .filter(|i| alpha[*i] != 0.0 && alpha[*i] > problem.lower[*i] && alpha[*i] < problem.upper[*i])
        .collect()
}

/// α plus its change, on the bound or on 0 exactly where the change was meant to end there.
pub(super) fn moved(problem: &BoxProblem<'_>, i: usize, alpha: f64, change: f64) -> f64 {
    for edge in [problem.lower[i], problem.upper[i], 0.0] {
        if edge - alpha == change {
            return edge;
        }
    }
    (alpha + change).clamp(problem.lower[i], problem.upper[i])
}

/// When a Newton step is worth its factorisations.
struct Newton {
    /// Work of other steps since the last one.
    steps: f64,
    patience: f64,
}

impl Newton {
    /// Takes a step if it is due and lowers the objective; whether it did.
    fn step<S: Store>(
        &mut self,
        store: &mut S,
        problem: &BoxProblem<'_>,
        alpha: &mut [f64],
        gradient: &mut [f64],
        gap: f64,
    ) -> bool {
        let free = inside(problem, alpha);
        let worth = if gap < NEWTON_GAP { NEWTON_WORK.0 } else { NEWTON_WORK.1 };
        let is_due = self.steps >= self.patience * worth * (free.len() as f64).powi(3);
        if !is_due || free.is_empty() || free.len() > NEWTON_VARIABLES.min(store.capacity()) {
            return false;
        }
        store.need(&free);
        let found = subspace::newton(store, problem, &free, alpha, gradient);
        self.steps = 0.0;
        self.patience = if found.is_some() { 1.0 } else { 2.0 * self.patience.max(1.0) };
        let Some(changes) = found else { return false };
        changes.iter().for_each(|(i, change)| alpha[*i] = moved(problem, *i, alpha[*i], *change));
        add_rows(store, &changes, gradient);
        true
    }
}

/// Whether to go on.
struct Progress {
    tolerance: f64,
    /// A violation this small is worth a measurement.
    judge_below: f64,
    best: f64,
    since_best: usize,
}

impl Progress {
    fn is_over(&mut self, judgement: &Judgement, violation: f64) -> bool {
        let gap = judgement.relative_gap();
        if gap <= WITHIN * self.tolerance {
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
