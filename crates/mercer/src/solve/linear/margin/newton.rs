//! Newton's method in the primal, for losses with a derivative (squares of corners have one: their curvature jumps,
//! and the method is then semismooth and ends after finitely many steps).

use rayon::prelude::*;

use super::super::features::{add_scaled, dot};
use super::hessian::{factor, normal_matrix};
use super::{MarginLoss, MarginSettings, Problem, State, row_sum};
use crate::base::error::{Error, Result};
use crate::linalg::Matrix;

/// Solves by factoring p × p Hessians, or by conjugate gradients if they would be too large.
pub(super) fn solve(problem: &Problem<'_>, settings: &MarginSettings<'_>, factored: bool) -> Result<State> {
    let (n, p) = (problem.x.rows(), problem.x.cols());
    let ridge = 2.0 * problem.lambda * problem.total;
    let mut state = State::new(p, n);
    if let (true, MarginLoss::Huber(_) | MarginLoss::Smooth(_)) = (settings.offset, problem.loss) {
        // Far from all targets the loss is straight, and nothing would hold the offset.
        state.b = middle(problem.y);
    }
    let mut f = vec![state.b; n];
    let mut stalled = 0;
    loop {
        if !(settings.go_on)() {
            return Err(Error::Interrupted);
        }
        let loss = problem.loss;
        let rows: Vec<(f64, f64, f64)> = (0..n)
            .into_par_iter()
            .with_min_len(2048)
            .map(|i| {
                let (u, h) = loss.slope_and_curvature(problem.y[i], f[i]);
                (loss.value(problem.y[i], f[i]), u, h)
            })
            .collect();
        state.gap = None;
        state.dual.iter_mut().zip(&rows).for_each(|(dual, (_, u, _))| *dual = *u);
        let forces: Vec<f64> = rows.iter().enumerate().map(|(i, (_, u, _))| problem.weight(i) * u).collect();
        let curvatures: Vec<f64> = rows.iter().enumerate().map(|(i, (.., h))| problem.weight(i) * h).collect();
        let losses = row_sum(n, |i| problem.weight(i) * rows[i].0);
        let conjugates = row_sum(n, |i| problem.weight(i) * loss.negative_conjugate(problem.y[i], rows[i].1));
        let through = problem.x.multiply_transposed(&forces);
        let push: f64 = if settings.offset { forces.iter().sum() } else { 0.0 };
        let rough = problem.rough_gap(losses, conjugates, &through, &state.w);
        let size: f64 = forces.iter().map(|u| u.abs()).sum::<f64>().max(f64::MIN_POSITIVE);
        let balanced = push.abs() <= 0.1 * settings.tolerance * size;
        if (rough <= 0.5 * settings.tolerance && balanced)
            || state.iterations >= settings.most_iterations
            || stalled > 2
        {
            let done = problem.judge(&mut state, settings.offset)? <= settings.tolerance;
            if done || state.iterations >= settings.most_iterations || stalled > 2 {
                return Ok(state);
            }
        }
        state.iterations += 1;
        let mut rhs: Vec<f64> = through.iter().zip(&state.w).map(|(g, w)| g - ridge * w).collect();
        if settings.offset {
            rhs.push(push);
        }
        let direction = if factored {
            let matrix = normal_matrix(problem.x, &curvatures, ridge, settings.offset);
            let Some(factor) = factor(matrix) else { return Ok(state) };
            let mut step = Matrix::column_vector(rhs.clone());
            factor.solve(&mut step);
            step.into_vec()
        } else {
            conjugate_gradients(problem, &curvatures, ridge, &rhs, settings)?
        };
        let (step, shift) = (&direction[..p], if settings.offset { direction[p] } else { 0.0 });
        let mut change = problem.x.multiply(step);
        change.iter_mut().for_each(|c| *c += shift);
        let before = |i: usize| rows[i].0;
        let t = line_search(problem, &f, &change, (&state.w, step), dot(&rhs, &direction), (before, losses));
        stalled = if t == 0.0 { stalled + 3 } else { stalled + usize::from(t * dot(&rhs, &direction) == 0.0) };
        state.b += t * shift;
        add_scaled(&mut f, t, &change);
        add_scaled(&mut state.w, t, step);
        // f is carried along; from time to time it is computed afresh.
        if state.iterations.is_multiple_of(8) {
            f = problem.x.multiply(&state.w);
            f.iter_mut().for_each(|f| *f += state.b);
        }
    }
}

/// The median.
fn middle(y: &[f64]) -> f64 {
    let mut sorted = y.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied().unwrap_or(0.0)
}

/// The longest of 1, ½, ¼, … with a sufficient decrease of the objective (times W); 0 if there is none. `before` are
/// the losses at f and their sum.
fn line_search(
    problem: &Problem<'_>,
    f: &[f64],
    change: &[f64],
    (w, step): (&[f64], &[f64]),
    decrease: f64,
    (before, losses): (impl Fn(usize) -> f64 + Sync, f64),
) -> f64 {
    let ridge = problem.lambda * problem.total;
    let (along, own) = (dot(w, step), dot(step, step));
    // Differences row by row: the objective itself would drown the last decreases in rounding.
    let difference = |t: f64| {
        let term = |i: usize| problem.weight(i) * (problem.loss.value(problem.y[i], f[i] + t * change[i]) - before(i));
        row_sum(f.len(), term) + ridge * (2.0 * t * along + t * t * own)
    };
    let rounding = 1e-15 * (losses + ridge * dot(w, w));
    let mut t = 1.0;
    for _ in 0..40 {
        if difference(t) <= -1e-4 * t * decrease + rounding {
            return t;
        }
        t *= 0.5;
    }
    0.0
}

/// (XᵀDX + ridge)⁻¹ rhs to a hundredth, preconditioned by its diagonal.
fn conjugate_gradients(
    problem: &Problem<'_>,
    d: &[f64],
    ridge: f64,
    rhs: &[f64],
    settings: &MarginSettings<'_>,
) -> Result<Vec<f64>> {
    let p = problem.x.cols();
    let apply = |v: &[f64]| {
        let mut image = problem.x.multiply(&v[..p]);
        let shift = v.get(p).copied().unwrap_or(0.0);
        image.iter_mut().zip(d).for_each(|(f, d)| *f = (*f + shift) * d);
        let mut back = problem.x.multiply_transposed(&image);
        add_scaled(&mut back, ridge, &v[..p]);
        if v.len() > p {
            back.push(image.iter().sum());
        }
        back
    };
    let mut diagonal = match problem.x {
        super::super::Features::Dense(x) => {
            (0..p).map(|j| x.col(j).iter().zip(d).map(|(x, d)| x * x * d).sum::<f64>() + ridge).collect::<Vec<f64>>()
        }
        super::super::Features::Sparse(x) => (0..p)
            .map(|j| {
                let (rows, values) = x.col(j);
                rows.iter().zip(values).map(|(i, v)| v * v * d[*i as usize]).sum::<f64>() + ridge
            })
            .collect(),
    };
    if rhs.len() > p {
        diagonal.push(d.iter().sum::<f64>().max(f64::MIN_POSITIVE));
    }
    let mut x = vec![0.0; rhs.len()];
    let mut rest = rhs.to_vec();
    let mut z: Vec<f64> = rest.iter().zip(&diagonal).map(|(r, d)| r / d).collect();
    let mut direction = z.clone();
    let mut size = dot(&rest, &z);
    let target = 1e-4 * size;
    for _ in 0..500 {
        if size <= target || !(size > 0.0) {
            break;
        }
        if !(settings.go_on)() {
            return Err(Error::Interrupted);
        }
        let image = apply(&direction);
        let curvature = dot(&direction, &image);
        if !(curvature > 0.0) {
            break;
        }
        let step = size / curvature;
        add_scaled(&mut x, step, &direction);
        add_scaled(&mut rest, -step, &image);
        z.iter_mut().zip(&rest).zip(&diagonal).for_each(|((z, r), d)| *z = r / d);
        let next = dot(&rest, &z);
        let keep = next / size;
        direction.iter_mut().zip(&z).for_each(|(p, z)| *p = z + keep * *p);
        size = next;
    }
    Ok(x)
}
