//! A primal-dual interior point for losses with corners, or with a bounded slope, and few columns.
//!
//! The problem times W is λW‖w‖² + Σᵢ Σₜ max {a(s·fᵢ + τ) − ½βa² : 0 ≤ a ≤ C = c·wᵢ}, s = ±1 (one term for the hinge, two for the
//! tube and for Huber's loss, which alone has a bend β = 1/wᵢ). Each term has its multiplier a and slacks ξ ≥ 0,
//! z = ξ − (s·f + τ) + βa ≥ 0 with a·z = 0 and (C − a)·ξ = 0; those products are driven to 0 together (Mehrotra). A step costs one p × p matrix XᵀDX and its factor.

use super::hessian::{factor, normal_matrix};
use super::{MarginSettings, Problem, State, row_sum};
use crate::base::error::{Error, Result};
use crate::linalg::{Cholesky, Matrix};

/// One term max a(s·f + τ) − ½βa² of a row.
struct Term {
    row: usize,
    sign: f64,
    start: f64,
    most: f64,
    bend: f64,
    a: f64,
    xi: f64,
    z: f64,
    /// The step.
    da: f64,
    dxi: f64,
    dz: f64,
}

pub(super) fn solve(problem: &Problem<'_>, settings: &MarginSettings<'_>) -> Result<State> {
    let (n, p) = (problem.x.rows(), problem.x.cols());
    let ridge = 2.0 * problem.lambda * problem.total;
    let mut terms = start(problem);
    let mut state = State::new(p, n);
    let mut f = vec![0.0; n];
    // Xᵀ of the pulls; between fresh computations it follows from the steps.
    let mut through = vec![0.0; p];
    let mut best = f64::INFINITY;
    let mut worse = 0;
    loop {
        if !(settings.go_on)() {
            return Err(Error::Interrupted);
        }
        let mut pulls = vec![0.0; n];
        terms.iter().for_each(|t| pulls[t.row] += t.sign * t.a);
        let loss = problem.loss;
        for i in 0..n {
            let weight = problem.weight(i);
            state.dual[i] = if weight > 0.0 { loss.project(problem.y[i], -pulls[i] / weight) } else { 0.0 };
        }
        state.gap = None;
        if state.iterations.is_multiple_of(8) {
            through = problem.x.multiply_transposed(&pulls);
        }
        let sum: f64 = if settings.offset { pulls.iter().sum() } else { 0.0 };
        let losses = row_sum(n, |i| problem.weight(i) * loss.value(problem.y[i], f[i]));
        let conjugates = row_sum(n, |i| problem.weight(i) * loss.negative_conjugate(problem.y[i], state.dual[i]));
        let rough = problem.rough_gap(losses, conjugates, &through, &state.w);
        let size: f64 = pulls.iter().map(|u| u.abs()).sum::<f64>().max(f64::MIN_POSITIVE);
        if rough.abs() <= 0.7 * settings.tolerance
            && sum.abs() <= 0.1 * settings.tolerance * size
            && problem.judge(&mut state, settings.offset)? <= settings.tolerance
        {
            return Ok(state);
        }
        if problem.is_nothing(losses / problem.total + problem.lambda * state.w.iter().map(|w| w * w).sum::<f64>()) {
            return Ok(state);
        }
        worse = if rough < 0.9 * best { 0 } else { worse + 1 };
        best = best.min(rough);
        if state.iterations >= settings.most_iterations.min(200) || worse > 15 {
            return Ok(state);
        }
        state.iterations += 1;

        let mut curvatures = vec![0.0; n];
        terms.iter().for_each(|t| curvatures[t.row] += t.weight());
        let matrix = normal_matrix(problem.x, &curvatures, ridge, settings.offset);
        let Some(factor) = factor(matrix) else { return Ok(state) };
        let mut rest: Vec<f64> = through.iter().zip(&state.w).map(|(g, w)| -(ridge * w + g)).collect();
        if settings.offset {
            rest.push(-sum);
        }
        let mu = complementarity(&terms, 0.0);
        // Predictor: straight to 0; its success decides how far the corrector aims.
        step(problem, &factor, &mut terms, &rest, 0.0, false, settings.offset);
        let reach = longest(&terms);
        let sigma = (complementarity(&terms, reach) / mu).powi(3).clamp(1e-6, 1.0);
        let (direction, change) = step(problem, &factor, &mut terms, &rest, sigma * mu, true, settings.offset);
        let reach = (0.995 * longest(&terms)).min(1.0);
        // Where distances and multipliers have vanished together, nothing is left to step by.
        if !reach.is_finite() || direction.iter().chain(&change).any(|d| !d.is_finite()) {
            return Ok(state);
        }
        state.w.iter_mut().zip(&direction).for_each(|(w, d)| *w += reach * d);
        // ridge·dw + Xᵀ(s·da) = rest is what the step was solved for.
        for (j, g) in through.iter_mut().enumerate() {
            *g += reach * (rest[j] - ridge * direction[j]);
        }
        if settings.offset {
            state.b += reach * direction[p];
        }
        f.iter_mut().zip(&change).for_each(|(f, c)| *f += reach * c);
        for t in &mut terms {
            t.a += reach * t.da;
            t.xi += reach * t.dxi;
            // From its definition while that keeps digits: the sum of steps would drift.
            let exact = t.xi - (t.sign * f[t.row] + t.start) + t.bend * t.a;
            let moved = t.z + reach * t.dz;
            t.z = if exact > 0.5 * moved && exact < 2.0 * moved { exact } else { moved };
        }
    }
}

impl Term {
    /// da/d(s·f).
    fn weight(&self) -> f64 {
        1.0 / (self.z / self.a + self.xi / (self.most - self.a) + self.bend)
    }
}

fn start(problem: &Problem<'_>) -> Vec<Term> {
    let mut terms = Vec::new();
    for (row, y) in problem.y.iter().enumerate() {
        let weight = problem.weight(row);
        for ramp in problem.loss.ramps(*y).into_iter().filter(|_| weight > 0.0) {
            let (sign, start, most) = (ramp.sign, ramp.start, weight * ramp.height);
            let (a, bend) = (0.5 * most, ramp.bend / weight);
            terms.push(Term { row, sign, start, most, bend, a, xi: 0.0, z: 0.0, da: 0.0, dxi: 0.0, dz: 0.0 });
        }
    }
    let room = terms.iter().map(|t| t.start.abs()).sum::<f64>() / terms.len().max(1) as f64;
    let room = if room > 0.0 { room } else { 1.0 };
    for t in &mut terms {
        t.xi = t.start.max(0.0) + room;
        t.z = t.xi - t.start + t.bend * t.a;
    }
    terms
}

/// Mean of a·z and (C − a)·ξ after a part of the step.
fn complementarity(terms: &[Term], reach: f64) -> f64 {
    let sum: f64 = terms
        .iter()
        .map(|t| {
            let (a, xi, z) = (t.a + reach * t.da, t.xi + reach * t.dxi, t.z + reach * t.dz);
            a * z + (t.most - a) * xi
        })
        .sum();
    sum / (2 * terms.len().max(1)) as f64
}

/// The longest step, at most 1, that leaves everything at least 0.
fn longest(terms: &[Term]) -> f64 {
    let mut t = 1.0_f64;
    for term in terms {
        for (value, change) in
            [(term.a, term.da), (term.most - term.a, -term.da), (term.xi, term.dxi), (term.z, term.dz)]
        {
            if value + t * change < 0.0 {
                t = -value / change;
            }
        }
    }
    t
}

/// Solves for a step towards products of `target`; the corrector subtracts the products of the steps known before.
fn step(
    problem: &Problem<'_>,
    factor: &Cholesky,
    terms: &mut [Term],
    rest: &[f64],
    target: f64,
    corrects: bool,
    offset: bool,
) -> (Vec<f64>, Vec<f64>) {
    let mut forces = vec![0.0; problem.x.rows()];
    let offsets: Vec<(f64, f64)> = terms
        .iter()
        .map(|t| {
            let (first, second) = if corrects { (t.da * t.dz, -t.da * t.dxi) } else { (0.0, 0.0) };
            (target - t.a * t.z - first, target - (t.most - t.a) * t.xi - second)
        })
        .collect();
    for (t, (e1, e2)) in terms.iter().zip(&offsets) {
        forces[t.row] += t.sign * t.weight() * (e1 / t.a - e2 / (t.most - t.a));
    }
    let mut rhs = problem.x.multiply_transposed(&forces);
    if offset {
        rhs.push(forces.iter().sum());
    }
    rhs.iter_mut().zip(rest).for_each(|(r, rest)| *r = rest - *r);
    let mut direction = Matrix::column_vector(rhs);
    factor.solve(&mut direction);
    let direction = direction.into_vec();
    let mut change = problem.x.multiply(&direction[..problem.x.cols()]);
    if offset {
        let shift = direction[problem.x.cols()];
        change.iter_mut().for_each(|c| *c += shift);
    }
    for (t, (e1, e2)) in terms.iter_mut().zip(&offsets) {
        t.da = t.weight() * (t.sign * change[t.row] + e1 / t.a - e2 / (t.most - t.a));
        t.dxi = (e2 + t.xi * t.da) / (t.most - t.a);
        t.dz = (e1 - t.z * t.da) / t.a;
    }
    (direction, change)
}
