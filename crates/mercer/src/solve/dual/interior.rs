//! Primal-dual interior point with Mehrotra's predictor and corrector: what first-order steps do not finish when K is
//! ill-conditioned and the boxes are wide takes it 20 to 60 factorisations, whatever the conditioning.
//!
//! α is split at its kink: αᵢ = Σ v over its parts, each v in its own interval [l, u] with its own linear cost, so that
//! |αᵢ| becomes linear. A row without a kink is one part. With Θ = z/(v − l) + w/(u − v) per part and D = 1/Σ(1/Θ) per
//! row, a Newton step is one solution with K + diag(q + D), bordered by the offset's row of ones.

use super::{BoxProblem, KernelRows, terms};
use crate::base::error::{Error, Result};
use crate::linalg::{Cholesky, Matrix, double};
use rayon::prelude::*;

/// Steps at most.
const MOST_STEPS: usize = 150;
/// Steps without a smaller gap after which rounding has the last word.
const PATIENCE: usize = 5;
/// Steps beyond the tolerance for a solution with exact zeros.
const EXTRA_STEPS: usize = 4;
/// The share of the way to the nearest bound that a step may go.
const SHY: f64 = 0.995;

/// What is added to K, relative to its diagonal: about its rounding, so that no direction bends the wrong way.
const REGULAR: f64 = 1e-14;
/// Corrections of a solution at most.
const MOST_TURNS: usize = 10;
/// The share of the tolerance below which products of distances and multipliers are not pushed.
const ENOUGH: f64 = 1e-2;

/// One straight piece of a row's variable.
#[derive(Clone, Copy)]
struct Part {
    row: usize,
    low: f64,
    high: f64,
    cost: f64,
    v: f64,
    /// Multipliers of the two bounds; 0 for a bound at infinity.
    z: f64,
    w: f64,
}

impl Part {
    fn stiffness(&self) -> f64 {
        self.z / (self.v - self.low) + self.w / (self.high - self.v)
    }
}

/// The minimiser over all rows whose box is not a point.
pub(super) fn run(
    rows: &dyn KernelRows,
    problem: &BoxProblem<'_>,
    tolerance: f64,
    go_on: &(dyn Fn() -> bool + Sync),
) -> Result<Found> {
    let movable: Vec<usize> = (0..rows.len()).filter(|i| problem.lower[*i] < problem.upper[*i]).collect();
    let gram = rows.block(&movable, &movable);
    let pick = |list: &[f64]| -> Vec<f64> { movable.iter().map(|i| list[*i]).collect() };
    let (target, lower, upper) = (pick(problem.target), pick(problem.lower), pick(problem.upper));
    let (epsilon, curvature) = (pick(problem.epsilon), pick(problem.curvature));
    let smaller = BoxProblem {
        target: &target,
        lower: &lower,
        upper: &upper,
        epsilon: &epsilon,
        curvature: &curvature,
        has_offset: problem.has_offset,
    };
    let mut point = Point::new(&gram, &smaller);
    let steps = point.minimise(tolerance, go_on)?;
    let spread = |list: &[f64]| {
        let mut alpha = vec![0.0; rows.len()];
        movable.iter().zip(list).for_each(|(i, a)| alpha[*i] = *a);
        alpha
    };
    Ok(Found { alpha: spread(&point.best), snapped: spread(&point.best_snapped), steps })
}

/// What an interior point finds.
pub(super) struct Found {
    /// The α with the least gap.
    pub alpha: Vec<f64>,
    /// The same with its variables at the bounds to which they seem to go.
    pub snapped: Vec<f64>,
    pub steps: usize,
}

struct Point<'a> {
    gram: &'a Matrix,
    problem: &'a BoxProblem<'a>,
    parts: Vec<Part>,
    alpha: Vec<f64>,
    fitted: Vec<f64>,
    offset: f64,
    best: Vec<f64>,
    /// The best with its variables at the bounds to which they seem to go.
    best_snapped: Vec<f64>,
    best_gap: f64,
    /// Whether the best has its variables at their bounds and zeros exactly.
    is_sparse: bool,
    /// The mean of products below which none is aimed at.
    least_mean: f64,
}

impl<'a> Point<'a> {
    fn new(gram: &'a Matrix, problem: &'a BoxProblem<'a>) -> Self {
        let n = gram.rows();
        let mut parts = Vec::new();
        let size = problem.target.iter().chain(problem.epsilon).fold(0.0, |m: f64, t| m.max(t.abs())).max(1e-300);
        let spread = (0..n).map(|i| gram.get(i, i) + problem.curvature[i]).fold(0.0, f64::max).max(1e-300);
        let away = size / spread;
        for row in 0..n {
            let (low, high, epsilon) = (problem.lower[row], problem.upper[row], problem.epsilon[row]);
            if epsilon > 0.0 {
                parts.extend((high > 0.0).then(|| Part::new(row, 0.0, high, epsilon, away, size)));
                parts.extend((low < 0.0).then(|| Part::new(row, low, 0.0, -epsilon, away, size)));
            } else {
                parts.push(Part::new(row, low, high, 0.0, away, size));
            }
        }
        let mut point = Point {
            gram,
            problem,
            parts,
            alpha: vec![0.0; n],
            fitted: vec![0.0; n],
            offset: 0.0,
            best: vec![0.0; n],
            best_snapped: vec![0.0; n],
            best_gap: f64::INFINITY,
            is_sparse: false,
            least_mean: 0.0,
        };
        point.measure();
        point
    }

    /// α from its parts and Kα, summed in twice the precision.
    fn measure(&mut self) {
        self.alpha.fill(0.0);
        for part in &self.parts {
            self.alpha[part.row] += part.v;
        }
        let alpha = &self.alpha;
        self.fitted = (0..alpha.len()).into_par_iter().map(|i| double::dot(self.gram.col(i), alpha).value()).collect();
    }

    /// The mean of z(v − l) and w(u − v).
    fn complementarity(&self) -> f64 {
        let (mut sum, mut count) = (0.0, 0usize);
        for part in &self.parts {
            if part.low.is_finite() {
                sum += part.z * (part.v - part.low);
                count += 1;
            }
            if part.high.is_finite() {
                sum += part.w * (part.high - part.v);
                count += 1;
            }
        }
        sum / count.max(1) as f64
    }

    fn minimise(&mut self, tolerance: f64, go_on: &(dyn Fn() -> bool + Sync)) -> Result<usize> {
        let (mut since_best, mut since_enough) = (0, 0);
        for step in 0..MOST_STEPS {
            if !go_on() {
                return Err(Error::Interrupted);
            }
            if self.keep_if_better(tolerance) {
                since_best = 0;
            } else {
                since_best += 1;
            }
            let is_enough = self.best_gap <= 0.5 * tolerance && self.is_sparse;
            since_enough += usize::from(self.best_gap <= 0.5 * tolerance);
            if is_enough || since_best > PATIENCE || since_enough > EXTRA_STEPS {
                return Ok(step);
            }
            if !self.newton() {
                return Ok(step);
            }
            self.measure();
        }
        Ok(MOST_STEPS)
    }

    /// Measures the point, with variables that belong to a bound put there if that does no harm.
    fn keep_if_better(&mut self, tolerance: f64) -> bool {
        let mut alpha = self.alpha.clone();
        terms::project(self.problem, &mut alpha);
        let judgement = self.judged(&alpha);
        let gap = judgement.relative_gap();
        self.least_mean = ENOUGH * tolerance * judgement.primal.abs() / (2 * self.parts.len()) as f64;
        let is_better = gap < self.best_gap;
        if !is_better && gap > tolerance {
            return false;
        }
        let mut snapped = self.snapped();
        terms::project(self.problem, &mut snapped);
        if is_better {
            self.best_gap = gap;
            self.best = alpha;
            self.best_snapped.clone_from(&snapped);
        }
        if gap <= tolerance && self.judged(&snapped).relative_gap() <= tolerance {
            self.best = snapped;
            self.is_sparse = true;
        }
        is_better
    }

    fn judged(&self, alpha: &[f64]) -> terms::Judgement {
        let fitted: Vec<f64> =
            (0..alpha.len()).into_par_iter().map(|i| double::dot(self.gram.col(i), alpha).value()).collect();
        terms::judge(self.problem, alpha, &fitted)
    }

    /// α with every part at the bound to which it goes. Of a distance and its multiplier one goes to 0; the smaller one,
    /// each in units of its kind, tells which.
    fn snapped(&self) -> Vec<f64> {
        let problem = self.problem;
        let distance = self.alpha.iter().fold(0.0, |m: f64, a| m.max(a.abs()));
        let multiplier = problem.target.iter().chain(problem.epsilon).fold(0.0, |m: f64, t| m.max(t.abs()));
        let goes = |room: f64, own: f64| room.is_finite() && room * multiplier < 1e-2 * own * distance;
        let mut snapped = vec![0.0; self.alpha.len()];
        for part in &self.parts {
            snapped[part.row] += if goes(part.v - part.low, part.z) {
                part.low
            } else if goes(part.high - part.v, part.w) {
                part.high
            } else {
                part.v
            };
        }
        if problem.has_offset {
            // What that changed in the sum is shared by those that are still free.
            let inside: Vec<usize> = (0..snapped.len())
                .filter(|i| snapped[*i] != 0.0 && snapped[*i] > problem.lower[*i] && snapped[*i] < problem.upper[*i])
                .collect();
            let share = double::sum(snapped.iter().copied()).value() / inside.len().max(1) as f64;
            inside.iter().for_each(|i| snapped[*i] -= share);
        }
        snapped
    }

    /// One predictor and corrector; false when no factor or no step can be had.
    fn newton(&mut self) -> bool {
        let n = self.alpha.len();
        // D of each row.
        let mut flexibility = vec![0.0; n];
        for part in &self.parts {
            flexibility[part.row] += 1.0 / part.stiffness();
        }
        let stiff: Vec<f64> = flexibility.iter().map(|f| 1.0 / f).collect();
        let Some(system) = System::new(self.gram, self.problem, stiff) else { return false };
        let total = double::sum(self.alpha.iter().copied()).value();
        let mean = self.complementarity();

        let least = self.least_mean;
        let zero = vec![(0.0, 0.0); self.parts.len()];
        let predictor = self.direction(&system, 0.0, &zero, total);
        let reach = self.reach(&predictor);
        // Mehrotra's rule: the better the predictor does, the less centring.
        let after = self.mean_after(&predictor, reach);
        let ratio = after / mean;
        let centre = if mean > 0.0 { (ratio * ratio * ratio).min(1.0) } else { 0.0 };
        let products: Vec<(f64, f64)> = predictor.parts.iter().map(|d| (d.v * d.z, -d.v * d.w)).collect();
        let mut direction = self.direction(&system, (centre * mean).max(least), &products, total);
        let mut reach_now = self.reach(&direction);
        if reach_now < 0.1 * reach {
            // A corrector that blocks the way is left out.
            direction = self.direction(&system, (centre.max(0.1) * mean).max(least), &zero, total);
            reach_now = self.reach(&direction);
        }
        let size = (SHY * reach_now).min(1.0);
        if !(size > 1e-12) {
            return false;
        }
        for (part, d) in self.parts.iter_mut().zip(&direction.parts) {
            part.v += size * d.v;
            part.z += size * d.z;
            part.w += size * d.w;
        }
        self.offset += size * direction.offset;
        true
    }

    fn direction(&self, system: &System<'_>, goal: f64, products: &[(f64, f64)], total: f64) -> Direction {
        let n = self.alpha.len();
        let problem = self.problem;
        let mut right = vec![0.0; n];
        let wants: Vec<(f64, f64, f64)> = self
            .parts
            .iter()
            .zip(products)
            .map(|(part, (first, second))| {
                let i = part.row;
                let gradient = self.fitted[i] - problem.target[i] + problem.curvature[i] * self.alpha[i] + self.offset;
                let residual = gradient + part.cost - part.z + part.w;
                let z = if part.low.is_finite() { goal - part.z * (part.v - part.low) - first } else { 0.0 };
                let w = if part.high.is_finite() { goal - part.w * (part.high - part.v) - second } else { 0.0 };
                let mut want = -residual;
                if part.low.is_finite() {
                    want += z / (part.v - part.low);
                }
                if part.high.is_finite() {
                    want -= w / (part.high - part.v);
                }
                (want, z, w)
            })
            .collect();
        for (part, (want, _, _)) in self.parts.iter().zip(&wants) {
            let theta = part.stiffness();
            // A part without bounds is free: its row has D = 0 and no other part.
            right[part.row] += if theta > 0.0 { want / theta * system.stiff[part.row] } else { *want };
        }
        let (change, offset) = system.solve(&right, -total);
        let pull: Vec<f64> = (0..n).map(|i| right[i] - system.stiff[i] * change[i]).collect();
        let parts = self
            .parts
            .iter()
            .zip(&wants)
            .map(|(part, (want, z, w))| {
                let theta = part.stiffness();
                let v = if theta > 0.0 { (want - pull[part.row]) / theta } else { change[part.row] };
                let z = if part.low.is_finite() { (z - part.z * v) / (part.v - part.low) } else { 0.0 };
                let w = if part.high.is_finite() { (w + part.w * v) / (part.high - part.v) } else { 0.0 };
                Move { v, z, w }
            })
            .collect();
        Direction { parts, offset }
    }

    /// How far one may go before a distance or a multiplier is used up.
    fn reach(&self, direction: &Direction) -> f64 {
        let mut reach = 1.0 / SHY;
        let mut limit = |room: f64, change: f64| {
            if change < 0.0 {
                reach = f64::min(reach, room / -change);
            }
        };
        for (part, d) in self.parts.iter().zip(&direction.parts) {
            if part.low.is_finite() {
                limit(part.v - part.low, d.v);
                limit(part.z, d.z);
            }
            if part.high.is_finite() {
                limit(part.high - part.v, -d.v);
                limit(part.w, d.w);
            }
        }
        reach
    }

    fn mean_after(&self, direction: &Direction, reach: f64) -> f64 {
        let size = reach.min(1.0);
        let (mut sum, mut count) = (0.0, 0usize);
        for (part, d) in self.parts.iter().zip(&direction.parts) {
            let v = part.v + size * d.v;
            if part.low.is_finite() {
                sum += (part.z + size * d.z) * (v - part.low);
                count += 1;
            }
            if part.high.is_finite() {
                sum += (part.w + size * d.w) * (part.high - v);
                count += 1;
            }
        }
        sum / count.max(1) as f64
    }
}

impl Part {
    /// A little inside, nearest to 0, with multipliers of the size of the gradient.
    fn new(row: usize, low: f64, high: f64, cost: f64, away: f64, size: f64) -> Self {
        let width = high - low;
        let inside = if width.is_finite() { 0.5 * width } else { away };
        let v = f64::clamp(0.0, low + inside, (high - inside).max(low + inside));
        let over = |distance: f64| if distance.is_finite() { size } else { 0.0 };
        Part { row, low, high, cost, v, z: over(v - low), w: over(high - v) }
    }
}

struct Move {
    v: f64,
    z: f64,
    w: f64,
}

struct Direction {
    parts: Vec<Move>,
    offset: f64,
}

/// (K + diag(q + D)) x + 1·offset = r, 1ᵀx = s.
struct System<'a> {
    gram: &'a Matrix,
    stiff: Vec<f64>,
    diagonal: Vec<f64>,
    factor: Cholesky,
    /// The solution for a right-hand side of ones, if there is an offset.
    ones: Option<(Vec<f64>, f64)>,
}

impl<'a> System<'a> {
    fn new(gram: &'a Matrix, problem: &BoxProblem<'_>, stiff: Vec<f64>) -> Option<Self> {
        let n = gram.rows();
        let largest = (0..n).map(|i| gram.get(i, i)).fold(0.0, f64::max);
        let diagonal: Vec<f64> = (0..n).map(|i| problem.curvature[i] + stiff[i] + REGULAR * largest).collect();
        let mut extra = 1e-12 * largest;
        for _ in 0..6 {
            let mut matrix = gram.clone();
            for i in 0..n {
                matrix.set(i, i, gram.get(i, i) + diagonal[i] + extra);
            }
            if let Some(factor) = Cholesky::new(matrix) {
                let mut system = System { gram, stiff, diagonal, factor, ones: None };
                if problem.has_offset {
                    let ones = system.solve_plain(&vec![1.0; n]);
                    let sum = double::sum(ones.iter().copied()).value();
                    system.ones = Some((ones, sum));
                }
                return Some(system);
            }
            // Rounding made a pivot negative.
            extra *= 30.0;
        }
        None
    }

    fn solve(&self, right: &[f64], sum: f64) -> (Vec<f64>, f64) {
        let mut change = self.solve_plain(right);
        let Some((ones, weight)) = &self.ones else { return (change, 0.0) };
        let offset = (double::sum(change.iter().copied()).value() - sum) / weight;
        change.iter_mut().zip(ones).for_each(|(c, o)| *c -= offset * o);
        (change, offset)
    }

    /// Conjugate gradients with the factor as preconditioner and products in twice the precision: one or two turns where
    /// the factor is accurate, more where K is singular to rounding.
    fn solve_plain(&self, right: &[f64]) -> Vec<f64> {
        let n = right.len();
        let size = right.iter().fold(0.0, |m: f64, r| m.max(r.abs()));
        let by_factor = |r: &[f64]| {
            let mut z = Matrix::column_vector(r.to_vec());
            self.factor.solve(&mut z);
            z.into_vec()
        };
        let mut x = vec![0.0; n];
        let mut residual = right.to_vec();
        let mut preconditioned = by_factor(&residual);
        let mut direction = preconditioned.clone();
        let mut product = double::dot(&residual, &preconditioned).value();
        for _ in 0..MOST_TURNS {
            let image: Vec<f64> = (0..n)
                .into_par_iter()
                .map(|i| double::dot(self.gram.col(i), &direction).add_product(self.diagonal[i], direction[i]).value())
                .collect();
            let curvature = double::dot(&direction, &image).value();
            if !(curvature > 0.0 && product > 0.0) {
                break;
            }
            let length = product / curvature;
            for i in 0..n {
                x[i] += length * direction[i];
                residual[i] -= length * image[i];
            }
            if residual.iter().fold(0.0, |m: f64, r| m.max(r.abs())) <= 1e-13 * size {
                break;
            }
            preconditioned = by_factor(&residual);
            let next = double::dot(&residual, &preconditioned).value();
            let share = next / product;
            product = next;
            direction.iter_mut().zip(&preconditioned).for_each(|(d, z)| *d = z + share * *d);
        }
        x
    }
}
