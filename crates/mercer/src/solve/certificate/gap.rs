//! The duality gap of an answer, recomputed from the answer alone: no solver grades itself.
//!
//! For min (1/W) Σ w ℓ(y, f + b) + λ‖f‖ᵐ every a with Σ wᵢaᵢ = 0 (if there is an offset) gives a lower bound,
//!
//! > D(a) = (1/W) Σ wᵢ c(yᵢ, aᵢ) − (m−1) λ (s/(mλ))^(m/(m−1)),  s = (1/W)‖Σ wᵢaᵢ k(·, xᵢ)‖,
//!
//! c the loss's [dual](crate::term::loss::Shape::dual); at m = 1 the last term is 0 and s ≤ λ must hold. The a that belongs to an
//! answer f = Σ αᵢk(·, xᵢ) of the ridge μ is aᵢ = 2Wμαᵢ/wᵢ.

use crate::linalg::{Matrix, double};
use crate::solve::convex::linear::{linear_values, values};
use crate::solve::convex::multinomial::shares::{entropy, loss_and_slopes, make_feasible};
use crate::solve::convex::{Problem, RidgePoint};
use crate::solve::dual::{KernelPoints, KernelRows};
use crate::space;
use crate::term::kernel::{Kernel, Points};

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
    /// For a linear kernel: w of f(x) = xᵀw, where the function is kept in this form. α then gives the bound alone.
    pub coefficients: Option<&'a [f64]>,
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
    if let (Some(w), Some(scale)) = (answer.coefficients, kernel.linear_scale()) {
        return linear_gap(problem, points, (w, scale), answer, exponent, lambda);
    }
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
    bounds(problem, (fitted, answer.offset, norm), (&weighted, length), exponent, lambda)
}

/// The gap of f(x) = xᵀw with the kernel s·xᵀx′: ‖f‖ = ‖w‖/√s and ‖Σ u k‖ = √s‖Xᵀu‖, in twice the precision. Neither divides what
/// is left of the gradient by λ.
fn linear_gap(
    problem: &Problem<'_>,
    points: &Points,
    (w, scale): (&[f64], f64),
    answer: &Answer<'_>,
    exponent: f64,
    lambda: f64,
) -> (Gap, Vec<f64>) {
    let fitted = linear_values(points, w);
    let norm = (double::dot(w, w).value() / scale).sqrt();
    let (weighted, _) = feasible(problem, answer);
    let through = (0..points.features()).map(|j| double::dot(points.feature(j), &weighted).value());
    let length = (scale * through.map(|g| g * g).sum::<f64>()).sqrt() / problem.total();
    let gap = bounds(problem, (&fitted, answer.offset, norm), (&weighted, length), exponent, lambda);
    (gap, fitted)
}

/// The objective at values f with an offset and a norm, and the dual value at w∘a with s = ‖Σ wᵢaᵢ k(·, xᵢ)‖/W.
fn bounds(
    problem: &Problem<'_>,
    (fitted, offset, norm): (&[f64], f64, f64),
    (weighted, length): (&[f64], f64),
    exponent: f64,
    lambda: f64,
) -> Gap {
    let total = problem.total();
    let mean_loss = problem.mean_loss(fitted, offset);
    let penalty = if norm > 0.0 { libm::exp(libm::log(lambda) + exponent * libm::log(norm)) } else { 0.0 };
    let primal = mean_loss + penalty;
    let shrink = if exponent == 1.0 && length > lambda { lambda / length } else { 1.0 };
    let reads = problem.loss.reads();
    let shape = problem.loss.shape();
    let rows: f64 = (0..problem.rows())
        .map(|i| {
            let weight = problem.weight(i);
            // w·bound/w may be above the bound by rounding, where the dual is −∞.
            let [lower, upper] = interval(problem, i);
            weight * shape.dual(reads, problem.y[i], (shrink * weighted[i] / weight).clamp(lower, upper))
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

/// The gap of a multinomial answer, one point per class: the objective (1/W) Σ w (ln Σ exp v − v_y) + λ Σ ‖f_c‖², and the dual
/// at a = e_y − p, the mean entropy of p less Σ_c ‖(1/W) Σ w a_c k‖²/(4λ). With an offset p is first mixed so that Σ w a = 0.
pub(crate) fn multinomial_gap(
    codes: &[usize],
    weights: Option<&[f64]>,
    (kernel, points): (&dyn Kernel, &Points),
    answer: &[&RidgePoint],
    has_offset: bool,
    lambda: f64,
) -> Gap {
    let (n, k) = (codes.len(), answer.len());
    let weight = |i: usize| weights.map_or(1.0, |w| w[i]);
    let total: f64 = (0..n).map(weight).sum();
    let inner =
        |a: &Matrix, b: &Matrix| a.as_slice().iter().zip(b.as_slice()).map(|(a, b)| a * b).sum::<f64>().max(0.0);
    let linear: Option<Vec<&[f64]>> = answer.iter().map(|point| point.coefficients.as_deref()).collect();
    let linear = linear.zip(kernel.linear_scale());
    let (fitted, squared_norm) = match &linear {
        Some((w, scale)) => {
            let values = w.iter().flat_map(|w| linear_values(points, w)).collect();
            let fitted = Matrix::from_columns(n, k, values).unwrap_or_default();
            (fitted, w.iter().map(|w| double::dot(w, w).value()).sum::<f64>() / scale)
        }
        None => {
            let alpha = Matrix::from_fn(n, k, |i, c| answer[c].alpha[i]);
            let fitted = space::evaluate(kernel, points, &alpha, points);
            let squared_norm = inner(&alpha, &fitted);
            (fitted, squared_norm)
        }
    };
    let mut slopes = Matrix::zeros(n, k);
    let mut loss = 0.0;
    let mut row = vec![0.0; k];
    for i in 0..n {
        row.iter_mut().enumerate().for_each(|(c, v)| *v = fitted.get(i, c) + answer[c].offset);
        loss += weight(i) * loss_and_slopes(&mut row, codes[i]);
        row.iter().enumerate().for_each(|(c, a)| slopes.set(i, c, *a));
    }
    if has_offset {
        make_feasible(&mut slopes, codes, weights);
    }
    let mut mean_entropy = 0.0;
    for i in 0..n {
        row.iter_mut().enumerate().for_each(|(c, a)| *a = slopes.get(i, c));
        mean_entropy += weight(i) * entropy(&row, codes[i]) / total;
        (0..k).for_each(|c| slopes.set(i, c, weight(i) * row[c]));
    }
    let squared_length = match &linear {
        Some((_, scale)) => {
            let through = |c: usize| (0..points.features()).map(move |j| (j, c));
            let entry = |(j, c): (usize, usize)| double::dot(points.feature(j), slopes.col(c)).value();
            scale * (0..k).flat_map(through).map(|place| entry(place).powi(2)).sum::<f64>()
        }
        None => inner(&slopes, &space::evaluate(kernel, points, &slopes, points)),
    };
    let dual = mean_entropy - squared_length / (4.0 * lambda * total * total);
    let mean_loss = loss / total;
    Gap { primal: mean_loss + lambda * squared_norm, dual, norm: squared_norm.sqrt(), mean_loss }
}

/// The interval of row i's dual variable.
fn interval(problem: &Problem<'_>, i: usize) -> [f64; 2] {
    problem.loss.shape().interval(problem.loss.reads(), problem.y[i])
}

/// u = w∘a inside its intervals and, with an offset, with sum 0; and by how much it differs from 2Wμα.
fn feasible(problem: &Problem<'_>, answer: &Answer<'_>) -> (Vec<f64>, Vec<f64>) {
    let n = problem.rows();
    let total = problem.total();
    let bounds = |i: usize| interval(problem, i).map(|bound| bound * problem.weight(i));
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
