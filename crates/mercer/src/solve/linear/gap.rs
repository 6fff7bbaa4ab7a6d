//! Duality gaps, recomputed from nothing but the problem and the answer, in twice the precision.
//!
//! No solver grades itself: these functions share no code with them but the arithmetic.

use rayon::prelude::*;

use super::margin::MarginLoss;
use super::{Features, check, check_lambda};
use crate::base::error::{Error, Result};
use crate::linalg::double::{self, Double};
use crate::linalg::simd::vectorize;

/// A primal and a dual value; the least objective lies between them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Gap {
    /// The objective at the answer.
    pub primal: f64,
    /// A lower bound of every objective.
    pub dual: f64,
}

impl Gap {
    /// (primal − dual)/primal; 0 at an objective of 0.
    pub fn relative(&self) -> f64 {
        if self.primal > 0.0 { (self.primal - self.dual) / self.primal } else { 0.0 }
    }
}

/// Rows or columns that one task works on.
const CHUNK: usize = 256;

/// xᵢᵀw + b for every row.
pub(super) fn values(x: &Features, w: &[f64], b: f64) -> Vec<Double> {
    let mut out = vec![Double::new(b); x.rows()];
    out.par_chunks_mut(CHUNK).enumerate().for_each(|(chunk, out)| {
        let start = chunk * CHUNK;
        // Compiled for this processor: a fused multiplication is a function call elsewhere.
        vectorize(
            #[inline(always)]
            || match x {
                Features::Dense(x) => {
                    for (j, w) in w.iter().enumerate().filter(|(_, w)| **w != 0.0) {
                        for (out, x) in out.iter_mut().zip(&x.col(j)[start..]) {
                            *out = out.add_product(*x, *w);
                        }
                    }
                }
                Features::Sparse(x) => {
                    for (i, out) in out.iter_mut().enumerate() {
                        let (columns, entries) = x.row(start + i);
                        for (j, v) in columns.iter().zip(entries) {
                            *out = out.add_product(*v, w[*j as usize]);
                        }
                    }
                }
            },
        );
    });
    out
}

/// Xᵀ u for u = high + low; low may be empty.
pub(super) fn transposed(x: &Features, high: &[f64], low: &[f64]) -> Vec<f64> {
    let mut out = vec![0.0; x.cols()];
    out.par_chunks_mut(CHUNK / 8).enumerate().for_each(|(chunk, out)| {
        let start = chunk * (CHUNK / 8);
        vectorize(
            #[inline(always)]
            || {
                for (k, out) in out.iter_mut().enumerate() {
                    let sum = match x {
                        Features::Dense(x) => {
                            let column = x.col(start + k);
                            double::dot(column, high).plus(double::dot(&column[..low.len()], low))
                        }
                        Features::Sparse(x) => {
                            let (rows, entries) = x.col(start + k);
                            let mut sum = Double::default();
                            for (i, v) in rows.iter().zip(entries) {
                                sum = sum.add_product(*v, high[*i as usize]);
                            }
                            if !low.is_empty() {
                                for (i, v) in rows.iter().zip(entries) {
                                    sum = sum.add_product(*v, low[*i as usize]);
                                }
                            }
                            sum
                        }
                    };
                    *out = sum.value();
                }
            },
        );
    });
    out
}

/// Σ over rows in twice the precision, in chunks that are added in order.
fn row_sum(rows: usize, term: impl Fn(usize) -> f64 + Sync) -> f64 {
    let parts: Vec<Double> = (0..rows.div_ceil(CHUNK))
        .into_par_iter()
        .with_min_len(8)
        .map(|chunk| double::sum((chunk * CHUNK..((chunk + 1) * CHUNK).min(rows)).map(&term)))
        .collect();
    parts.into_iter().fold(Double::default(), Double::plus).value()
}

pub(super) fn split(values: &[Double]) -> (Vec<f64>, Vec<f64>) {
    values.iter().map(|v| v.normalised()).map(|v| (v.high, v.low)).unzip()
}

pub(super) fn weighted_sum(weights: Option<&[f64]>, terms: &[Double]) -> Double {
    terms
        .iter()
        .enumerate()
        .fold(Double::default(), |sum, (i, t)| sum.plus(t.scaled(weights.map_or(1.0, |w| w[i]))).normalised())
}

/// The gap of (1/W) Σ w(y − xᵀw − b)² + λ(ratio‖w‖₁ + (1 − ratio)‖w‖²).
///
/// The dual point is u = 2s·r, r the (weighted centred) residual: D(s) = (1/W) Σ w(2s·r·y − s²r²) − g*, where g* is
/// 0 for s·max|2xⱼᵀ(w∘r)/W| ≤ λ·ratio and beyond it, with a squared part, Σ(|·| − λ·ratio)₊²/(4λ(1 − ratio)). s is
/// the best one on the line.
#[allow(clippy::too_many_arguments)]
pub fn lasso_gap(
    x: &Features,
    y: &[f64],
    weights: Option<&[f64]>,
    offset: bool,
    lambda: f64,
    ratio: f64,
    coefficients: &[f64],
    intercept: f64,
) -> Result<Gap> {
    let total = check(x, y, weights)?;
    check_lambda(lambda)?;
    if coefficients.len() != x.cols() {
        return Err(Error::shape("the coefficients", format!("{} entries", x.cols()), coefficients.len()));
    }
    let (absolute, squared) = (lambda * ratio, lambda * (1.0 - ratio));
    let mut r: Vec<Double> =
        values(x, coefficients, intercept).iter().zip(y).map(|(f, y)| f.negated().add(*y).normalised()).collect();
    let norm_one = double::sum(coefficients.iter().map(|w| w.abs())).value();
    let norm_two = double::dot(coefficients, coefficients).value();
    let squares: Vec<Double> = r.iter().map(|r| r.times(*r)).collect();
    let loss = weighted_sum(weights, &squares).value() / total;
    let primal = loss + absolute * norm_one + squared * norm_two;
    // The dual point must be centred; the answer's residual is so only up to rounding.
    if offset {
        let mean = weighted_sum(weights, &r).scaled(1.0 / total);
        r.iter_mut().for_each(|r| *r = r.minus(mean).normalised());
    }
    let weighted: Vec<Double> = r.iter().enumerate().map(|(i, r)| r.scaled(weights.map_or(1.0, |w| w[i]))).collect();
    let (high, low) = split(&weighted);
    let slopes: Vec<f64> = transposed(x, &high, &low).into_iter().map(|c| 2.0 * c.abs() / total).collect();
    let along = high
        .iter()
        .zip(&low)
        .zip(y)
        .fold(Double::default(), |s, ((h, l), y)| s.add_product(*h, *y).add_product(*l, *y));
    let along = along.value() / total;
    let own = {
        let squares: Vec<Double> = r.iter().map(|r| r.times(*r)).collect();
        weighted_sum(weights, &squares).value() / total
    };
    Ok(Gap { primal, dual: best_dual(along, own, &slopes, absolute, squared) })
}

/// max over s ≥ 0 of 2s·along − s²·own − Σ(s·slope − absolute)₊²/(4·squared): concave, so halving on its slope serves.
/// Every s gives a valid bound; rounding in the choice of s costs nothing but sharpness.
pub(crate) fn best_dual(along: f64, own: f64, slopes: &[f64], absolute: f64, squared: f64) -> f64 {
    let steepest = slopes.iter().copied().fold(0.0, f64::max);
    let free = if own > 0.0 { (along / own).max(0.0) } else { 0.0 };
    let edge = if steepest > 0.0 { absolute / steepest } else { f64::INFINITY };
    let value = |s: f64| {
        let excess: f64 = if squared > 0.0 && s > edge {
            slopes.iter().map(|c| (s * c - absolute).max(0.0).powi(2)).sum::<f64>() / (4.0 * squared)
        } else {
            0.0
        };
        2.0 * s * along - s * s * own - excess
    };
    if free <= edge {
        return value(free);
    }
    if !(squared > 0.0) {
        return value(edge);
    }
    let (mut low, mut high) = (edge, free);
    for _ in 0..60 {
        let s = 0.5 * (low + high);
        let pull: f64 = slopes.iter().map(|c| c * (s * c - absolute).max(0.0)).sum::<f64>() / (2.0 * squared);
        if 2.0 * along - 2.0 * s * own - pull > 0.0 {
            low = s;
        } else {
            high = s;
        }
    }
    value(low).max(value(edge))
}

/// The gap of (1/W) Σ wᵢ loss(yᵢ, xᵢᵀw + b) + λ‖w‖² at a dual point u, one number a row: the negated slope of the loss.
///
/// D(u) = −(1/W) Σ wᵢ loss*(−uᵢ) − ‖Xᵀ(w∘u)‖²/(4λW²). u is first moved into the domain of loss* and, with an offset, to
/// Σ wᵢuᵢ = 0 by shrinking its positive or negative entries, so any u gives a valid bound.
#[allow(clippy::too_many_arguments)]
pub fn margin_gap(
    x: &Features,
    y: &[f64],
    weights: Option<&[f64]>,
    offset: bool,
    lambda: f64,
    loss: MarginLoss,
    coefficients: &[f64],
    intercept: f64,
    dual: &[f64],
) -> Result<Gap> {
    let total = check(x, y, weights)?;
    if !(lambda > 0.0 && lambda.is_finite()) {
        return Err(Error::argument("lambda", "positive", lambda));
    }
    if coefficients.len() != x.cols() || dual.len() != x.rows() {
        return Err(Error::shape(
            "an answer",
            format!("{} coefficients, {} dual entries", x.cols(), x.rows()),
            format!("{} and {}", coefficients.len(), dual.len()),
        ));
    }
    let weight = |i: usize| weights.map_or(1.0, |w| w[i]);
    let f: Vec<f64> = values(x, coefficients, intercept).into_iter().map(Double::value).collect();
    let losses = row_sum(y.len(), |i| weight(i) * loss.value(y[i], f[i])) / total;
    let primal = losses + lambda * double::dot(coefficients, coefficients).value();

    let mut u: Vec<f64> = dual.iter().zip(y).map(|(u, y)| loss.project(*y, *u)).collect();
    if offset {
        let side = |sign: f64| double::sum(u.iter().enumerate().map(|(i, u)| weight(i) * (sign * u).max(0.0))).value();
        let (up, down) = (side(1.0), side(-1.0));
        let (shrink, factor) =
            if up > down { (1.0, down / up) } else { (-1.0, if down > 0.0 { up / down } else { 1.0 }) };
        u.iter_mut().filter(|u| **u * shrink > 0.0).for_each(|u| *u *= factor);
    }
    let weighted: Vec<f64> = u.iter().enumerate().map(|(i, u)| weight(i) * u).collect();
    let through = transposed(x, &weighted, &[]);
    let squares = double::dot(&through, &through).value();
    let conjugates = row_sum(y.len(), |i| weight(i) * loss.negative_conjugate(y[i], u[i])) / total;
    // What rounding leaves of Σ w u is a force on b: it is charged as if b could be as large as the answer's values.
    let slack = if offset {
        let size = f.iter().fold(0.0, |max: f64, f| max.max(f.abs())) + intercept.abs();
        double::sum(weighted.iter().copied()).value().abs() / total * size
    } else {
        0.0
    };
    Ok(Gap { primal, dual: conjugates - squares / (4.0 * lambda * total * total) - slack })
}
