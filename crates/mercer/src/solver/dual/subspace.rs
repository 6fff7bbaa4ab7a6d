//! A Newton step over all variables that are inside their boxes: what pairs of variables need thousands of steps for when
//! K is ill-conditioned, one factorisation does.
//!
//! Each free variable stays on its side of the kink. Those that the step would carry over an edge are put on it and the
//! others are solved for again, a few times; the step is taken only if it lowers the objective.

use rayon::prelude::*;

use super::BoxProblem;
use super::store::Store;
use crate::linalg::{Cholesky, Matrix};

/// Times that variables are put on their edges.
const ROUNDS: usize = 8;

/// What is added to the diagonal, so that rounding of K does not make it indefinite.
const RIDGE_SINGLE: f64 = 1e-7;
const RIDGE_DOUBLE: f64 = 1e-13;

/// Changes of variables that lower the objective, or nothing.
pub(super) fn newton<S: Store>(
    store: &S,
    problem: &BoxProblem<'_>,
    free: &[usize],
    alpha: &[f64],
    gradient: &[f64],
) -> Option<Vec<(usize, f64)>> {
    let count = free.len();
    let ridge = if size_of::<S::Element>() == 4 { RIDGE_SINGLE } else { RIDGE_DOUBLE };
    // K of the free variables, curvature included.
    let mut gram = Matrix::zeros(count, count);
    gram.as_mut_slice().par_chunks_mut(count).enumerate().for_each(|(k, column)| {
        let row = store.row(free[k]);
        column.iter_mut().zip(free).for_each(|(x, j)| *x = row[*j].into());
        column[k] += problem.curvature[free[k]];
    });
    let sides: Vec<Side> = free.iter().map(|i| Side::new(problem, *i, alpha[*i])).collect();
    let slopes: Vec<f64> = free
        .iter()
        .zip(&sides)
        .map(|(i, side)| gradient[*i] + problem.curvature[*i] * alpha[*i] + side.sign * problem.epsilon[*i])
        .collect();
    let mut change = vec![0.0; count];
    let mut inside: Vec<usize> = (0..count).collect();
    for _ in 0..ROUNDS {
        solve(&gram, &slopes, &inside, &mut change, ridge, problem.has_offset)?;
        let crossed: Vec<usize> =
            inside.iter().copied().filter(|k| change[*k] < sides[*k].down || change[*k] > sides[*k].up).collect();
        if crossed.is_empty() {
            break;
        }
        for k in &crossed {
            change[*k] = change[*k].clamp(sides[*k].down, sides[*k].up);
        }
        inside.retain(|k| change[*k] > sides[*k].down && change[*k] < sides[*k].up);
        if inside.is_empty() {
            return None;
        }
    }
    // Out of rounds: go as far as the edges allow. The sum is still 0, for it was before the last crossing.
    let fits = change.iter().zip(&sides).all(|(c, side)| *c >= side.down && *c <= side.up);
    let is_balanced =
        !problem.has_offset || change.iter().sum::<f64>().abs() <= 1e-9 * change.iter().map(|c| c.abs()).sum::<f64>();
    if !(fits && is_balanced) {
        return None;
    }
    let is_lower = difference(&gram, &slopes, &change) < 0.0;
    is_lower.then(|| free.iter().copied().zip(change).filter(|(_, change)| *change != 0.0).collect())
}

/// The piece of its box on which a variable is.
struct Side {
    sign: f64,
    down: f64,
    up: f64,
}

impl Side {
    fn new(problem: &BoxProblem<'_>, i: usize, alpha: f64) -> Self {
        let has_kink = problem.epsilon[i] > 0.0;
        let low = if has_kink && alpha > 0.0 { 0.0 } else { problem.lower[i] };
        let high = if has_kink && alpha < 0.0 { 0.0 } else { problem.upper[i] };
        Side { sign: alpha.signum(), down: low - alpha, up: high - alpha }
    }
}

/// What the objective changes by.
fn difference(gram: &Matrix, slopes: &[f64], change: &[f64]) -> f64 {
    let bent: f64 = (0..change.len())
        .into_par_iter()
        .map(|k| change[k] * gram.col(k).iter().zip(change).map(|(x, c)| x * c).sum::<f64>())
        .collect::<Vec<f64>>()
        .iter()
        .sum();
    slopes.iter().zip(change).map(|(s, c)| s * c).sum::<f64>() + 0.5 * bent
}

/// The changes of the variables inside that minimise, the others' changes being fixed.
fn solve(
    gram: &Matrix,
    slopes: &[f64],
    inside: &[usize],
    change: &mut [f64],
    ridge: f64,
    has_offset: bool,
) -> Option<()> {
    let count = inside.len();
    let is_inside = {
        let mut flags = vec![false; slopes.len()];
        inside.iter().for_each(|k| flags[*k] = true);
        flags
    };
    let fixed: Vec<usize> = (0..slopes.len()).filter(|k| !is_inside[*k] && change[*k] != 0.0).collect();
    let mut right = Matrix::zeros(count, if has_offset { 2 } else { 1 });
    for (place, k) in inside.iter().enumerate() {
        let column = gram.col(*k);
        right.set(place, 0, -slopes[*k] - fixed.iter().map(|f| column[*f] * change[*f]).sum::<f64>());
        if has_offset {
            right.set(place, 1, 1.0);
        }
    }
    let mut extra = ridge;
    let factor = loop {
        let mut part = Matrix::zeros(count, count);
        part.as_mut_slice().par_chunks_mut(count).zip(inside).for_each(|(out, k)| {
            let column = gram.col(*k);
            out.iter_mut().zip(inside).for_each(|(x, j)| *x = column[*j]);
        });
        for place in 0..count {
            part.set(place, place, part.get(place, place) + extra);
        }
        if let Some(factor) = Cholesky::new(part) {
            break factor;
        }
        extra *= 30.0;
        if !(extra < 1e3 * ridge) {
            return None;
        }
    };
    factor.solve(&mut right);
    let sum: f64 = fixed.iter().map(|f| change[*f]).sum();
    let shift =
        if has_offset { (right.col(0).iter().sum::<f64>() + sum) / right.col(1).iter().sum::<f64>() } else { 0.0 };
    for (place, k) in inside.iter().enumerate() {
        change[*k] = right.get(place, 0) - if has_offset { shift * right.get(place, 1) } else { 0.0 };
    }
    change.iter().all(|c| c.is_finite()).then_some(())
}
