//! Few support vectors among thousands of rows: a set of variables that grows until nobody outside wants to move.
//!
//! The first set is a sample, whose solution tells roughly where the others stand; each next one loses variables that are
//! settled, and gains those outside that want to move most. Rows of its part of K are made when a step needs them, fit into fast memory, and so do the steps. What a change does to all
//! the other gradients is computed once per set from kernel values that are never kept: with few features they
//! cost less than the memory that would hold them. Where a problem turns out to have more support vectors than such a set has room
//! for, or steps do not get on, the search goes on by [`decompose`](super::decompose).

use std::hint::select_unpredictable;

use super::decompose::{Limits, inside, moved};
use super::pairs::{Block, Make, rates};
use super::store::Store;
use super::subspace;
use super::terms::{self, Judgement};
use super::{BoxProblem, KernelRows};
use crate::base::error::{Error, Result};
use crate::linalg::simd::vectorize;

/// Variables in the first set.
const SAMPLE: usize = 256;
/// Variables in a set, at most: four megabytes of K.
const MOST: usize = 1024;
/// How far the sample is solved, in units of the first violation: it tells who comes next.
const FIRST: f64 = 0.05;
/// Variables that a set gains at most.
const MOST_NEW: usize = 256;
/// Rows for which it is worth the trouble, per variable of the sample.
const LEAST_SHARE: usize = 4;
/// Support vectors in all for which there is hope, judged by the sample, which has more of them than its share.
const MOST_SUPPORT: usize = 2 * MOST;
/// Sets, and steps per variable of a set and in all, after which other methods take over.
const MOST_SETS: usize = 40;
const STEPS_PER_VARIABLE: usize = 40;
const MOST_STEPS: usize = 100_000;
/// One in so many may want to come from outside when the gap is worth measuring, and when it is all that is left to lower.
const FEW_NEW: usize = 8;
const VERY_FEW_NEW: usize = 24;
/// Variables inside their boxes, at most, whose Newton step is worth its factorisation.
const MOST_FREE: usize = 512;
/// How far pairs of the last set go, in units of the violation, before a Newton step: the variables know their sides then.
const ALMOST: f64 = 0.03;
/// How far from moving a variable is settled, in units of the violation now and of the first one.
const SETTLED: (f64, f64) = (0.1, 0.05);

/// What share of the tolerance a gap from sums in single precision may have.
const WITHIN: f64 = 0.97;

/// How a search ended.
pub(super) struct Ended {
    pub sets: usize,
    /// The gap, as far as sums that were updated tell, if it is within the tolerance.
    pub judgement: Option<Judgement>,
}

/// Minimises from α on; `fitted` is Kα before and after. `None`, and nothing changed, if this is not a problem for it.
pub(super) fn run(
    rows: &dyn KernelRows,
    problem: &BoxProblem<'_>,
    alpha: &mut [f64],
    fitted: &mut [f64],
    limits: &Limits<'_>,
) -> Result<Option<Ended>> {
    let movable: Vec<usize> = (0..rows.len()).filter(|i| problem.lower[*i] < problem.upper[*i]).collect();
    if !rows.has_quick_singles() || movable.len() < LEAST_SHARE * SAMPLE {
        return Ok(None);
    }
    let support = alpha.iter().filter(|a| **a != 0.0).count();
    let is_cold = support == 0;
    let mut gradient: Vec<f64> = (0..alpha.len()).map(|i| fitted[i] - problem.target[i]).collect();
    let first = Look::new(problem, alpha, &gradient, &movable);
    let mut set = if is_cold { sample(&movable) } else { inside(problem, alpha) };
    if !is_cold {
        let new = first.worst_outside(&set);
        set.extend(new);
    }
    if support > MOST_SUPPORT || set.len() > MOST || set.is_empty() {
        return Ok(None);
    }

    let diagonal = rows.diagonal();
    let mut block = Block::<f32>::new(0);
    let (mut violation, mut tolerance, mut is_last) = (first.violation, FIRST * first.violation, false);
    let (mut steps, mut sets, mut found, mut is_new) = (0, 0, None, true);
    while sets < MOST_SETS && steps < MOST_STEPS && set.len() <= MOST {
        if !(limits.go_on)() {
            return Err(Error::Interrupted);
        }
        if is_new {
            block.restart(set.len());
        }
        let make = rows.part_single(&set);
        fill_lists(problem, &set, &diagonal, alpha, &gradient, &mut block);
        let most_steps = STEPS_PER_VARIABLE * set.len();
        if is_last {
            // Where variables stand is known but for very few: what is left of their way is one step.
            steps += block.minimise(problem.has_offset, (ALMOST * violation).max(tolerance), most_steps, &*make);
            newton(problem.has_offset, &mut block, alpha, &set, &*make);
        }
        steps += block.minimise(problem.has_offset, tolerance, most_steps, &*make);
        drop(make);
        if is_cold && sets == 0 {
            let found = (0..set.len()).filter(|k| block.alpha[*k] != 0.0).count();
            if found * movable.len() > MOST_SUPPORT * set.len() {
                return Ok(None);
            }
        }
        sets += 1;
        let changes: Vec<(usize, f64)> =
            set.iter().zip(&block.alpha).map(|(i, a)| (*i, a - alpha[*i])).filter(|(_, c)| *c != 0.0).collect();
        set.iter().zip(&block.alpha).for_each(|(i, a)| alpha[*i] = *a);
        rows.add_single(&changes, &mut gradient);

        let look = Look::new(problem, alpha, &gradient, &set);
        let new = look.worst_outside(&set);
        if changes.is_empty() && new.is_empty() {
            break;
        }
        (violation, tolerance) = (look.violation, 0.1 * look.violation);
        is_last = new.len() <= set.len() / VERY_FEW_NEW;
        if new.len() <= set.len() / FEW_NEW {
            fitted.iter_mut().enumerate().for_each(|(i, f)| *f = gradient[i] + problem.target[i]);
            let judgement = judge(&look, problem, alpha, fitted, limits.tolerance);
            let gap = judgement.relative_gap();
            if gap <= WITHIN * limits.tolerance {
                found = Some(judgement);
                break;
            }
            // A Newton step goes much further than the pairs before it.
            let (least, aim) = if is_last { (0.0, 1.0) } else { (0.02, 0.3) };
            tolerance = (aim * limits.tolerance / gap).clamp(least, 0.1) * look.violation;
        }
        is_new = !new.is_empty();
        if is_new {
            let settled = (SETTLED.0 * look.violation).max(SETTLED.1 * first.violation);
            set.retain(|i| look.scores[*i] < settled);
            set.extend(new);
        }
    }
    fitted.iter_mut().enumerate().for_each(|(i, f)| *f = gradient[i] + problem.target[i]);
    Ok(Some(Ended { sets, judgement: found }))
}

/// Some of the rows, from everywhere: neighbours in a table may be alike.
fn sample(movable: &[usize]) -> Vec<usize> {
    let mixed = |i: &usize| (*i as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let mut mixed_up = movable.to_vec();
    mixed_up.select_nth_unstable_by_key(SAMPLE, mixed);
    mixed_up.truncate(SAMPLE);
    mixed_up.sort_unstable();
    mixed_up
}

/// How all variables stand to a level of the gradient at which those of a set are at peace.
struct Look {
    /// How far from moving each variable is; negative where it wants to.
    scores: Vec<f64>,
    level: f64,
    /// How far the worst pair (or variable) of all is from optimal.
    violation: f64,
}

impl Look {
    fn new(problem: &BoxProblem<'_>, alpha: &[f64], gradient: &[f64], set: &[usize]) -> Self {
        let of_row = |i: usize| {
            let (up, down) =
                rates(alpha[i], problem.lower[i], problem.upper[i], problem.epsilon[i], problem.curvature[i]);
            (gradient[i] + up, gradient[i] + down)
        };
        let level = if problem.has_offset {
            let (lowest, highest) = set
                .iter()
                .map(|i| of_row(*i))
                .fold((f64::INFINITY, f64::NEG_INFINITY), |(lowest, highest), (up, down)| {
                    (f64::min(lowest, up), f64::max(highest, down))
                });
            match (lowest.is_finite(), highest.is_finite()) {
                (true, true) => 0.5 * (lowest + highest),
                (true, false) => lowest,
                (false, true) => highest,
                (false, false) => 0.0,
            }
        } else {
            0.0
        };
        let (scores, rise, fall) = vectorize(
            #[inline(always)]
            || scores(problem, alpha, gradient, level),
        );
        let violation = if problem.has_offset { -(rise + fall) } else { -f64::min(rise, fall) };
        Look { scores, level, violation }
    }

    /// Those outside of a set that want to move most.
    fn worst_outside(&self, set: &[usize]) -> Vec<usize> {
        let mut is_member = vec![false; self.scores.len()];
        set.iter().for_each(|i| is_member[*i] = true);
        let mut wanting: Vec<usize> =
            (0..is_member.len()).filter(|i| self.scores[*i] < 0.0 && !is_member[*i]).collect();
        if wanting.len() > MOST_NEW {
            wanting.select_nth_unstable_by(MOST_NEW, |a, b| self.scores[*a].total_cmp(&self.scores[*b]).then(a.cmp(b)));
            wanting.truncate(MOST_NEW);
            wanting.sort_unstable();
        }
        wanting
    }
}

/// How far from moving each variable is at a level, and how far the worst ones are from it above and below.
#[inline(always)]
fn scores(problem: &BoxProblem<'_>, alpha: &[f64], gradient: &[f64], level: f64) -> (Vec<f64>, f64, f64) {
    const LANES: usize = 16;
    let mut scores = vec![0.0; alpha.len()];
    let (mut rises, mut falls) = ([0.0; LANES], [0.0; LANES]);
    for (turn, scores) in scores.chunks_mut(LANES).enumerate() {
        let from = turn * LANES;
        let part = |list: &[f64]| -> [f64; LANES] {
            // Past the end: a box of no width, which asks for nothing.
            let mut lanes = [0.0; LANES];
            match list[from..].first_chunk() {
                Some(whole) => lanes = *whole,
                None => lanes[..scores.len()].copy_from_slice(&list[from..]),
            }
            lanes
        };
        let (a, g) = (part(alpha), part(gradient));
        let (lower, upper) = (part(problem.lower), part(problem.upper));
        let (epsilon, curvature) = (part(problem.epsilon), part(problem.curvature));
        let mut least = [0.0; LANES];
        for l in 0..LANES {
            let (up, down) = rates(a[l], lower[l], upper[l], epsilon[l], curvature[l]);
            let (above, below) = (g[l] + up - level, level - (g[l] + down));
            rises[l] = select_unpredictable(above < rises[l], above, rises[l]);
            falls[l] = select_unpredictable(below < falls[l], below, falls[l]);
            least[l] = select_unpredictable(above < below, above, below);
        }
        scores.copy_from_slice(&least[..scores.len()]);
    }
    let worst = |lanes: [f64; LANES]| lanes.into_iter().fold(0.0, f64::min);
    (scores, worst(rises), worst(falls))
}

/// The gap at the level's offset, and at the best one near it where that may decide.
fn judge(look: &Look, problem: &BoxProblem<'_>, alpha: &[f64], fitted: &[f64], tolerance: f64) -> Judgement {
    let offset = if problem.has_offset { -look.level } else { 0.0 };
    let judgement = terms::judge_at(problem, alpha, fitted, offset);
    let gap = judgement.relative_gap();
    if !problem.has_offset || gap <= WITHIN * tolerance || gap > 4.0 * tolerance {
        return judgement;
    }
    terms::judge_at(problem, alpha, fitted, terms::near_offset(problem, fitted, offset, 0.1 * look.violation))
}

/// A Newton step over the variables of the set that are inside their boxes; `before` has what the block started from.
fn newton(has_offset: bool, block: &mut Block<f32>, before: &[f64], set: &[usize], make: &Make<'_, f32>) {
    for (k, i) in set.iter().enumerate() {
        add_row(block, k, block.alpha[k] - before[*i], make);
    }
    let free = inside(&problem_of(block, has_offset), &block.alpha);
    if free.is_empty() || free.len() > MOST_FREE {
        return;
    }
    free.iter().for_each(|k| block.need(*k, make));
    let problem = problem_of(block, has_offset);
    let found = subspace::newton(&Part { block }, &problem, &free, &block.alpha, &block.gradient);
    let Some(changes) = found else { return };
    let moved: Vec<f64> = changes.iter().map(|(k, change)| moved(&problem, *k, block.alpha[*k], *change)).collect();
    for ((k, _), to) in changes.iter().zip(moved) {
        let change = to - block.alpha[*k];
        block.alpha[*k] = to;
        add_row(block, *k, change, make);
    }
}

/// What a block's variables are to minimise; only the gradient knows of targets.
fn problem_of(block: &Block<f32>, has_offset: bool) -> BoxProblem<'_> {
    BoxProblem {
        target: &block.gradient,
        lower: &block.lower,
        upper: &block.upper,
        epsilon: &block.epsilon,
        curvature: &block.curvature,
        has_offset,
    }
}

/// What the change of a variable does to the block's gradient.
fn add_row(block: &mut Block<f32>, k: usize, change: f64, make: &Make<'_, f32>) {
    if change == 0.0 {
        return;
    }
    block.need(k, make);
    let mut gradient = std::mem::take(&mut block.gradient);
    let row = block.row(k);
    vectorize(
        #[inline(always)]
        || {
            for (g, x) in gradient.iter_mut().zip(row) {
                *g += change * f64::from(*x);
            }
        },
    );
    block.gradient = gradient;
}

/// The set's part of K as rows that are kept.
struct Part<'a> {
    block: &'a Block<f32>,
}

impl Store for Part<'_> {
    type Element = f32;

    fn len(&self) -> usize {
        self.block.alpha.len()
    }

    fn diagonal(&self) -> Vec<f64> {
        self.block.diagonal.clone()
    }

    fn capacity(&self) -> usize {
        self.len()
    }

    fn need(&mut self, _: &[usize]) {}

    fn row(&self, i: usize) -> &[f32] {
        self.block.row(i)
    }
}

/// What else belongs to the set; padding has the box [0, 0].
fn fill_lists(
    problem: &BoxProblem<'_>,
    set: &[usize],
    diagonal: &[f64],
    alpha: &[f64],
    gradient: &[f64],
    block: &mut Block<f32>,
) {
    for k in 0..block.alpha.len() {
        let from = |list: &[f64], padding: f64| set.get(k).map_or(padding, |i| list[*i]);
        block.diagonal[k] = from(diagonal, 1.0);
        block.alpha[k] = from(alpha, 0.0);
        block.gradient[k] = from(gradient, 0.0);
        block.lower[k] = from(problem.lower, 0.0);
        block.upper[k] = from(problem.upper, 0.0);
        block.epsilon[k] = from(problem.epsilon, 0.0);
        block.curvature[k] = from(problem.curvature, 0.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Points;
    use crate::linalg::Matrix;
    use crate::solve::dual::{BoxSettings, GramRows, KernelPoints, solve};
    use crate::space;
    use crate::term::kernel::radial::Gaussian;

    /// Two half-moons' worth of labels that a smooth boundary separates but for a few, and bounds: numbers that look random.
    struct Case {
        points: Points,
        target: Vec<f64>,
        lower: Vec<f64>,
        upper: Vec<f64>,
        epsilon: Vec<f64>,
        curvature: Vec<f64>,
    }

    impl Case {
        fn problem(&self, has_offset: bool) -> BoxProblem<'_> {
            BoxProblem {
                target: &self.target,
                lower: &self.lower,
                upper: &self.upper,
                epsilon: &self.epsilon,
                curvature: &self.curvature,
                has_offset,
            }
        }
    }

    fn noise(i: usize, j: usize) -> f64 {
        let mixed = (i as u64 * 31 + j as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        ((mixed ^ (mixed >> 29)).wrapping_mul(0xBF58_476D_1CE4_E5B9) >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Every `rare`-th label is of the second class at most; every tenth row is a copy of another one.
    fn labels(n: usize, bound: f64, rare: usize, weighted: bool) -> Case {
        let source = |i: usize| if i % 10 == 9 { i / 2 } else { i };
        let x = Matrix::from_fn(n, 3, |i, j| 4.0 * noise(source(i), j) - 2.0);
        let is_second = |i: usize| {
            let side = x.get(i, 0) + (2.0 * x.get(i, 1)).sin() + 0.3 * (noise(i, 7) - 0.5);
            side > 0.3 && i.is_multiple_of(rare)
        };
        let target: Vec<f64> = (0..n).map(|i| if is_second(i) { 1.0 } else { -1.0 }).collect();
        let size = |i: usize| bound * if weighted { 0.2 + noise(i, 9) } else { 1.0 };
        Case {
            points: Points::new(&x),
            lower: (0..n).map(|i| if target[i] > 0.0 { 0.0 } else { -size(i) }).collect(),
            upper: (0..n).map(|i| if target[i] > 0.0 { size(i) } else { 0.0 }).collect(),
            target,
            epsilon: vec![0.0; n],
            curvature: vec![0.0; n],
        }
    }

    fn numbers(n: usize, bound: (f64, f64), epsilon: f64, curvature: f64) -> Case {
        let x = Matrix::from_fn(n, 2, |i, j| 3.0 * noise(i, j));
        let target = (0..n).map(|i| (2.0 * x.get(i, 0)).sin() + x.get(i, 1) + 0.1 * (noise(i, 5) - 0.5)).collect();
        Case {
            points: Points::new(&x),
            target,
            lower: vec![-bound.0; n],
            upper: vec![bound.1; n],
            epsilon: vec![epsilon; n],
            curvature: vec![curvature; n],
        }
    }

    fn dual_objective(problem: &BoxProblem<'_>, gram: &Matrix, alpha: &[f64]) -> f64 {
        let n = alpha.len();
        (0..n)
            .filter(|i| alpha[*i] != 0.0)
            .map(|i| {
                let fitted: f64 = gram.col(i).iter().zip(alpha).map(|(k, a)| k * a).sum();
                let a = alpha[i];
                a * (0.5 * fitted - problem.target[i])
                    + problem.epsilon[i] * a.abs()
                    + 0.5 * problem.curvature[i] * a * a
            })
            .sum()
    }

    /// What is found is feasible and as good as what double precision and all of K give, and the set itself gets there where there
    /// are few support vectors.
    #[test]
    fn the_set_ends_where_all_of_k_does() {
        let kernel = Gaussian::lengthscale(0.7);
        let cases = [
            ("hinge", labels(1500, 10.0, 1, false), true),
            ("weighted", labels(2600, 3.0, 1, true), true),
            ("rare", labels(1500, 100.0, 20, false), true),
            ("hard", labels(1100, 1e6, 1, false), false),
            ("soft", labels(1100, 1e-2, 1, false), false),
            ("tube", numbers(1300, (5.0, 5.0), 0.1, 0.0), true),
            ("quantile", numbers(1100, (0.3, 2.7), 0.0, 0.0), false),
            ("squared", numbers(1100, (f64::INFINITY, f64::INFINITY), 0.2, 0.5), true),
        ];
        for (name, case, must_end) in &cases {
            let gram = space::gram(&kernel, &case.points);
            for has_offset in [true, false] {
                let problem = case.problem(has_offset);
                let exact =
                    solve(&GramRows(&gram), &problem, &BoxSettings { tolerance: 1e-8, ..BoxSettings::default() });
                let exact = exact.unwrap();
                let source = KernelPoints::new(&kernel, &case.points);
                let n = case.target.len();
                let (mut alpha, mut fitted) = (vec![0.0; n], vec![0.0; n]);
                let go_on = || true;
                let limits = Limits {
                    tolerance: 1e-5,
                    max_iterations: 100,
                    most_work: 1e15,
                    newton_at_once: false,
                    go_on: &go_on,
                };
                let ended = run(&source, &problem, &mut alpha, &mut fitted, &limits).unwrap();
                let is_over = ended.is_some_and(|ended| ended.judgement.is_some());
                assert!(is_over || !must_end, "{name}, offset {has_offset}");
                for (i, a) in alpha.iter().enumerate() {
                    assert!(*a >= case.lower[i] && *a <= case.upper[i]);
                }
                let size: f64 = alpha.iter().map(|a| a.abs()).sum();
                assert!(!has_offset || alpha.iter().sum::<f64>().abs() <= 1e-9 * size);
                if is_over {
                    let own = dual_objective(&problem, &gram, &alpha);
                    assert!((own - exact.dual).abs() <= 2e-5 * exact.primal, "{name}: {own} {}", exact.dual);
                }
                // Whatever became of the set, the search ends.
                let settings = BoxSettings { tolerance: 1e-5, ..BoxSettings::default() };
                let found = solve(&source, &problem, &settings).unwrap();
                assert!(found.converged, "{name}: {}", found.relative_gap);
                assert!((found.primal - exact.primal).abs() <= 2e-5 * exact.primal, "{name}");
                // And from a neighbouring solution it gets to the same place.
                let near: Vec<f64> = exact.alpha.iter().map(|a| 0.9 * a).collect();
                let warm = solve(&source, &problem, &BoxSettings { start: Some(&near), ..settings }).unwrap();
                assert!(warm.converged && (warm.primal - exact.primal).abs() <= 2e-5 * exact.primal, "{name}");
            }
        }
    }

    /// All points are one where there are no features: nothing to grow, and nothing to fall over.
    #[test]
    fn points_without_features_are_left_to_others() {
        let case = Case { points: Points::new(&Matrix::zeros(1100, 0)), ..labels(1100, 10.0, 1, false) };
        let kernel = Gaussian::lengthscale(0.7);
        let source = KernelPoints::new(&kernel, &case.points);
        let settings = BoxSettings { tolerance: 1e-5, ..BoxSettings::default() };
        let found = solve(&source, &case.problem(true), &settings).unwrap();
        assert!(found.converged, "{}", found.relative_gap);
    }

    #[test]
    fn the_number_of_threads_does_not_matter() {
        let case = labels(2000, 10.0, 1, true);
        let kernel = Gaussian::lengthscale(0.7);
        let source = KernelPoints::new(&kernel, &case.points);
        let with = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let settings = BoxSettings { tolerance: 1e-5, is_measured_after: true, ..BoxSettings::default() };
            pool.install(|| solve(&source, &case.problem(true), &settings).unwrap())
        };
        let one = with(1);
        assert!(one.converged);
        for threads in [2, 3, 8] {
            assert_eq!(with(threads), one);
        }
    }
}
