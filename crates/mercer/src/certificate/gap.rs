//! The duality gap of an answer, recomputed from the answer alone: no solver grades itself.
//!
//! For min (1/W) Σ w ℓ(y, f + b) + λ‖f‖ᵐ every a with Σ wᵢaᵢ = 0 (if there is an offset) gives a lower bound,
//!
//! > D(a) = (1/W) Σ wᵢ c(yᵢ, aᵢ) − (m−1) λ (s/(mλ))^(m/(m−1)),  s = (1/W)‖Σ wᵢaᵢ k(·, xᵢ)‖,
//!
//! c the loss's [dual](crate::loss::Shape::dual); at m = 1 the last term is 0 and s ≤ λ must hold. The a that belongs to an
//! answer f = Σ αᵢk(·, xᵢ) of the ridge μ is aᵢ = 2Wμαᵢ/wᵢ.

use crate::kernel::{Kernel, Points};
use crate::learn::log_sum_exp;
use crate::linalg::Matrix;
use crate::loss::margin::entropy_term;
use crate::solver::convex::linear::values;
use crate::solver::convex::{Problem, RidgePoint};
use crate::solver::dual::{KernelPoints, KernelRows};
use crate::space;

/// Bounds of the least objective.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Gap {
    /// The objective of the answer.
    pub primal: f64,
    /// What no function can be below.
    pub dual: f64,
    /// ‖f‖.
    pub norm: f64,
    /// (1/W) Σ w ℓ.
    pub mean_loss: f64,
}

impl Gap {
    /// (primal − dual)/primal; 0 when both are 0.
    pub fn relative(&self) -> f64 {
        let gap = (self.primal - self.dual).max(0.0);
        if gap == 0.0 { 0.0 } else { gap / self.primal.abs().max(f64::MIN_POSITIVE) }
    }
}

/// An answer: f = Σ αᵢk(·, xᵢ) and b, found at the ridge μ.
pub(crate) struct Answer<'a> {
    pub alpha: &'a [f64],
    pub offset: f64,
    pub ridge: f64,
    /// The relative gap that was asked for.
    pub tolerance: f64,
    /// For f = 0: a point of the path whose slopes bound the objective from below.
    pub witness: Option<&'a RidgePoint>,
}

/// From so many rows on, values come from distances by way of products, where a kernel has them.
const MANY_ROWS: usize = 2000;
/// One row in so many is compared with values from the formula itself, within these limits.
const COMPARED_SHARE: usize = 64;
const COMPARED: (usize, usize) = (32, 256);
/// Gaps above this do not notice whether sums are made in twice the precision.
const PLAIN_SUMS: f64 = 1e-8;

/// f at the points, the quick way, if that agrees with the formula at some of them; what differs is a reason to take the long way.
fn quick_values(
    kernel: &dyn Kernel,
    points: &Points,
    answer: &Answer<'_>,
    direct: &dyn Fn(&Points) -> Vec<f64>,
) -> Option<Vec<f64>> {
    let n = points.rows();
    if n < MANY_ROWS || kernel.linear_scale().is_some() {
        return None;
    }
    let source = KernelPoints::in_double(kernel, points);
    let quick =
        if answer.tolerance >= PLAIN_SUMS { source.plain_product(answer.alpha) } else { source.product(answer.alpha) };
    let count = (n / COMPARED_SHARE).clamp(COMPARED.0, COMPARED.1);
    let some: Vec<usize> = (0..count).map(|i| i * (n - 1) / (count - 1)).collect();
    let compared = direct(&points.subset(&some));
    let size: f64 = answer.alpha.iter().map(|a| a.abs()).sum();
    let mut diagonal = vec![0.0; n];
    kernel.diagonal(points, 0, &mut diagonal);
    let height = diagonal.iter().fold(0.0, |max: f64, k| max.max(*k));
    let agrees = |(row, value): (&usize, &f64)| (quick[*row] - value).abs() <= 1e-11 * size * height;
    some.iter().zip(&compared).all(agrees).then_some(quick)
}

/// The gap of an answer to the problem with penalty λ‖f‖ᵐ, m ≥ 1, and its values f(xᵢ). Kernel values are computed anew.
pub(crate) fn duality_gap(
    problem: &Problem<'_>,
    kernel: &dyn Kernel,
    points: &Points,
    answer: &Answer<'_>,
    exponent: f64,
    lambda: f64,
) -> (Gap, Vec<f64>) {
    let support: Vec<usize> = (0..answer.alpha.len()).filter(|i| answer.alpha[*i] != 0.0).collect();
    let coefficients = Matrix::column_vector(support.iter().map(|i| answer.alpha[*i]).collect());
    let fitted = if support.is_empty() {
        vec![0.0; problem.rows()]
    } else if kernel.is_precomputed() {
        let mut all = Matrix::zeros(problem.rows(), 1);
        support.iter().for_each(|i| all.set(*i, 0, answer.alpha[*i]));
        space::evaluate(kernel, points, &all, points).into_vec()
    } else {
        let direct = |rows: &Points| values(kernel, &points.subset(&support), &coefficients, rows).into_vec();
        quick_values(kernel, points, answer, &direct).unwrap_or_else(|| direct(points))
    };
    let mut diagonal = vec![0.0; problem.rows()];
    kernel.diagonal(points, 0, &mut diagonal);
    (gap_of_values(problem, &fitted, &diagonal, answer, exponent, lambda), fitted)
}

/// The same from values f(xᵢ) and the kernel's diagonal.
pub(crate) fn gap_of_values(
    problem: &Problem<'_>,
    fitted: &[f64],
    diagonal: &[f64],
    answer: &Answer<'_>,
    exponent: f64,
    lambda: f64,
) -> Gap {
    let squared_norm: f64 = answer.alpha.iter().zip(fitted).map(|(a, f)| a * f).sum::<f64>().max(0.0);
    let norm = squared_norm.sqrt();
    let mean_loss = problem.mean_loss(fitted, answer.offset);
    let penalty = if norm > 0.0 { libm::exp(libm::log(lambda) + exponent * libm::log(norm)) } else { 0.0 };
    let primal = mean_loss + penalty;
    let (weighted, moved) = feasible(problem, answer);
    // ‖Σ u k‖ ≤ 2Wμ‖f‖ + ‖what was moved to make u feasible‖, the latter by the triangle inequality.
    let total = problem.total();
    let extra: f64 = moved.iter().zip(diagonal).map(|(d, k)| d.abs() * k.max(0.0).sqrt()).sum();
    let scale = match answer.witness {
        Some(witness) => 2.0 * total * witness.ridge * witness.squared_norm.sqrt(),
        None if norm > 0.0 => 2.0 * total * answer.ridge * norm,
        None => 0.0,
    };
    let length = (scale + extra) / total;
    let shrink = if exponent == 1.0 && length > lambda { lambda / length } else { 1.0 };
    let reads = problem.loss.reads();
    let shape = problem.loss.shape();
    let rows: f64 = (0..problem.rows())
        .map(|i| {
            let weight = problem.weight(i);
            weight * shape.dual(reads, problem.y[i], shrink * weighted[i] / weight)
        })
        .sum();
    let conjugate = if exponent == 1.0 || length == 0.0 {
        0.0
    } else {
        let power = exponent / (exponent - 1.0);
        (exponent - 1.0) * libm::exp(libm::log(lambda) + power * (libm::log(length) - libm::log(exponent * lambda)))
    };
    Gap { primal, dual: rows / total - conjugate, norm, mean_loss }
}

/// The gap of a multinomial answer, one column of α per class: the objective (1/W) Σ w (ln Σ exp v − v_y) + λ Σ ‖f_c‖², and the
/// dual at a = y − p, the mean entropy of p less Σ_c ‖(1/W) Σ w a_c k‖²/(4λ). With an offset Σ w a must vanish; what is
/// missing (rounding, at a solution) is charged as if the best offset were at most 1 away.
pub(crate) fn multinomial_gap(
    codes: &[usize],
    weights: Option<&[f64]>,
    kernel: &dyn Kernel,
    points: &Points,
    (alpha, offsets, has_offset): (&Matrix, &[f64], bool),
    lambda: f64,
) -> Gap {
    let (n, k) = (codes.len(), alpha.cols());
    let weight = |i: usize| weights.map_or(1.0, |w| w[i]);
    let total: f64 = (0..n).map(weight).sum();
    let fitted = space::evaluate(kernel, points, alpha, points);
    let (mut loss, mut entropy) = (0.0, 0.0);
    let mut slopes = Matrix::zeros(n, k);
    for i in 0..n {
        let v: Vec<f64> = (0..k).map(|c| fitted.get(i, c) + offsets[c]).collect();
        let log_sum = log_sum_exp(&v);
        loss += weight(i) * (log_sum - v[codes[i]]);
        for (c, v) in v.iter().enumerate() {
            let p = libm::exp(v - log_sum);
            entropy -= weight(i) * entropy_term(p);
            slopes.set(i, c, weight(i) * (f64::from(codes[i] == c) - p));
        }
    }
    let surplus: f64 = (0..k).map(|c| slopes.col(c).iter().sum::<f64>().abs()).sum();
    let images = space::evaluate(kernel, points, &slopes, points);
    let inner =
        |a: &Matrix, b: &Matrix| a.as_slice().iter().zip(b.as_slice()).map(|(a, b)| a * b).sum::<f64>().max(0.0);
    let squared_norm = inner(alpha, &fitted);
    let charged = if has_offset { surplus } else { 0.0 };
    let dual = (entropy - charged) / total - inner(&slopes, &images) / (4.0 * lambda * total * total);
    let mean_loss = loss / total;
    Gap { primal: mean_loss + lambda * squared_norm, dual, norm: squared_norm.sqrt(), mean_loss }
}

/// u = w∘a inside its intervals and, with an offset, with sum 0; and by how much it differs from 2Wμα.
fn feasible(problem: &Problem<'_>, answer: &Answer<'_>) -> (Vec<f64>, Vec<f64>) {
    let n = problem.rows();
    let total = problem.total();
    let shape = problem.loss.shape();
    let reads = problem.loss.reads();
    let bounds = |i: usize| -> [f64; 2] {
        let interval = match shape.tube() {
            Some(tube) => tube.interval(reads, problem.y[i]),
            // A smooth loss is one of labels: the slope has the label's sign and is at most 1.
            None if problem.y[i] < 0.0 => [-1.0, 0.0],
            None => [0.0, 1.0],
        };
        interval.map(|bound| bound * problem.weight(i))
    };
    let (alpha, ridge) = answer.witness.map_or((answer.alpha, answer.ridge), |point| (&point.alpha[..], point.ridge));
    let meant = |i: usize| if alpha[i] == 0.0 { 0.0 } else { 2.0 * total * ridge * alpha[i] };
    let mut u: Vec<f64> = (0..n)
        .map(|i| {
            let [lower, upper] = bounds(i);
            meant(i).clamp(lower, upper)
        })
        .collect();
    if problem.has_offset {
        let mut surplus: f64 = u.iter().sum();
        for i in 0..n {
            if surplus == 0.0 {
                break;
            }
            let [lower, upper] = bounds(i);
            let room = if surplus > 0.0 { (u[i] - lower).max(0.0) } else { (upper - u[i]).max(0.0) };
            // No row that stood still is moved away from 0 where its neighbour can give.
            let step = surplus.abs().min(room);
            u[i] -= step.copysign(surplus);
            surplus = if step == surplus.abs() { 0.0 } else { surplus - step.copysign(surplus) };
        }
    }
    let moved = (0..n).map(|i| u[i] - meant(i)).collect();
    (u, moved)
}
