//! Preconditioned conjugate gradients for several right-hand sides in step, so that one pass over the matrix serves them all.

use super::Watch;
use crate::base::error::Result;
use crate::linalg::Matrix;

/// Iterations at most.
const MOST_ITERATIONS: usize = 1000;
/// Iterations within which the residual must fall to nine tenths of its least.
const PATIENCE: usize = 100;

/// How far above the least a residual ends it.
const DIVERGED: f64 = 1e6;

/// When to stop: the residual of every column is at most its number.
pub(crate) struct Goal<'a> {
    rhs: &'a Matrix,
    share: f64,
}

impl<'a> Goal<'a> {
    /// This share of each right-hand side.
    pub fn share(rhs: &'a Matrix, share: f64) -> Self {
        Goal { rhs, share }
    }

    fn numbers(&self) -> Vec<f64> {
        (0..self.rhs.cols()).map(|t| self.share * size(self.rhs.col(t))).collect()
    }
}

/// What a person at a terminal is shown, by powers of ten of the residual.
const STAGES: [&str; 13] = [
    "conjugate gradients, residual 1",
    "conjugate gradients, residual 1e-1",
    "conjugate gradients, residual 1e-2",
    "conjugate gradients, residual 1e-3",
    "conjugate gradients, residual 1e-4",
    "conjugate gradients, residual 1e-5",
    "conjugate gradients, residual 1e-6",
    "conjugate gradients, residual 1e-7",
    "conjugate gradients, residual 1e-8",
    "conjugate gradients, residual 1e-9",
    "conjugate gradients, residual 1e-10",
    "conjugate gradients, residual 1e-11",
    "conjugate gradients, residual 1e-12",
];

/// Solves A x = rhs. Returns x and what is left of the right-hand side as the recurrence knows it. Ends at the goal, or where no progress is made: how good x is must be measured by the caller.
pub(crate) fn descend(
    apply: impl Fn(&Matrix) -> Result<Matrix>,
    precondition: impl Fn(&Matrix) -> Matrix,
    rhs: &Matrix,
    start: Option<Matrix>,
    goal: &Goal<'_>,
    watch: &Watch<'_>,
) -> Result<(Matrix, Matrix)> {
    let goals = goal.numbers();
    let sizes: Vec<f64> = (0..rhs.cols()).map(|t| size(rhs.col(t))).collect();
    let (mut x, mut rest) = match start {
        Some(start) => {
            let image = apply(&start)?;
            let mut rest = rhs.clone();
            rest.as_mut_slice().iter_mut().zip(image.as_slice()).for_each(|(r, a)| *r -= a);
            (start, rest)
        }
        None => (Matrix::zeros(rhs.rows(), rhs.cols()), rhs.clone()),
    };
    let mut direction = precondition(&rest);
    let mut energy: Vec<f64> = (0..rhs.cols()).map(|t| dot(rest.col(t), direction.col(t))).collect();
    // At the level of rounding residuals may grow again: the best point is what is returned.
    let mut best = (x.clone(), rest.clone());
    let (mut lowest, mut least, mut since) = (f64::INFINITY, f64::INFINITY, 0);
    for _ in 0..MOST_ITERATIONS {
        let left: Vec<f64> = (0..rhs.cols()).map(|t| size(rest.col(t))).collect();
        let relative =
            (0..rhs.cols()).map(|t| if sizes[t] > 0.0 { left[t] / sizes[t] } else { 0.0 }).fold(0.0, f64::max);
        if relative < lowest {
            lowest = relative;
            best = (x.clone(), rest.clone());
        }
        let is_open = |t: usize| left[t] > goals[t] && energy[t] > 0.0;
        if !(0..rhs.cols()).any(is_open) || !(relative <= DIVERGED * lowest) {
            break;
        }
        let decade = (-libm::log10(relative.max(1e-12))).max(0.0) as usize;
        watch.enter(STAGES[decade.min(STAGES.len() - 1)])?;
        if relative < 0.9 * least {
            (least, since) = (relative, 0);
        } else {
            since += 1;
            if since > PATIENCE {
                break;
            }
        }
        let image = apply(&direction)?;
        for t in 0..rhs.cols() {
            let curvature = dot(direction.col(t), image.col(t));
            // A column that has arrived, or in which rounding has the last word, stays where it is.
            if !(is_open(t) && curvature > 0.0) {
                continue;
            }
            let step = energy[t] / curvature;
            x.col_mut(t).iter_mut().zip(direction.col(t)).for_each(|(x, d)| *x += step * d);
            rest.col_mut(t).iter_mut().zip(image.col(t)).for_each(|(r, a)| *r -= step * a);
        }
        let next = precondition(&rest);
        for t in 0..rhs.cols() {
            let now = dot(rest.col(t), next.col(t));
            let keep = if energy[t] > 0.0 { now / energy[t] } else { 0.0 };
            direction.col_mut(t).iter_mut().zip(next.col(t)).for_each(|(d, z)| *d = z + keep * *d);
            energy[t] = now;
        }
    }
    Ok(best)
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(x, y)| x * y).sum()
}

fn size(a: &[f64]) -> f64 {
    dot(a, a).sqrt()
}
