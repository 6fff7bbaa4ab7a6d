//! Tubes in their dual form: see [`dual`](crate::solver::dual).

use super::{Problem, RidgePoint, RidgeSolver};
use crate::error::{Error, Result};
use crate::solver::dual::{self, BoxProblem, BoxSettings, KernelRows};

/// The dual solver on rows of K.
pub(crate) struct Dual<'a> {
    pub problem: Problem<'a>,
    pub rows: &'a dyn KernelRows,
    /// Bytes that rows of K may take.
    pub memory: u64,
    pub go_on: &'a (dyn Fn() -> bool + Sync),
}

impl RidgeSolver for Dual<'_> {
    fn at(&self, ridge: f64, tolerance: f64, start: Option<&RidgePoint>) -> Result<RidgePoint> {
        let problem = &self.problem;
        let Some(tube) = problem.loss.shape().tube() else {
            return Err(Error::argument("the loss", "a tube for the dual solver", problem.loss.spec()));
        };
        let n = problem.rows();
        let reads = problem.loss.reads();
        // α = C u with C = 1/(2Wμ) and u = w∘a in its interval.
        let scale = |i: usize| problem.weight(i) / (2.0 * problem.total() * ridge);
        let bound = |i: usize, side: usize| {
            let bound = tube.interval(reads, problem.y[i])[side];
            if bound == 0.0 { 0.0 } else { bound * scale(i) }
        };
        let lower: Vec<f64> = (0..n).map(|i| bound(i, 0)).collect();
        let upper: Vec<f64> = (0..n).map(|i| bound(i, 1)).collect();
        let epsilon = vec![tube.epsilon; n];
        let curvature: Vec<f64> =
            (0..n).map(|i| if tube.curvature == 0.0 { 0.0 } else { tube.curvature / scale(i) }).collect();
        let boxes = BoxProblem {
            target: problem.y,
            lower: &lower,
            upper: &upper,
            epsilon: &epsilon,
            curvature: &curvature,
            has_offset: problem.has_offset,
        };
        // Along the path u changes slowly, so α changes like 1/μ.
        let near: Option<Vec<f64>> = start.map(|point| point.alpha.iter().map(|a| a * (point.ridge / ridge)).collect());
        let settings = BoxSettings {
            tolerance,
            start: near.as_deref(),
            memory: self.memory,
            go_on: self.go_on,
            ..BoxSettings::default()
        };
        let found = dual::solve(self.rows, &boxes, &settings)?;
        let squared_norm = found.alpha.iter().zip(&found.fitted).map(|(a, f)| a * f).sum::<f64>().max(0.0);
        Ok(RidgePoint {
            ridge,
            alpha: found.alpha,
            offset: found.offset,
            fitted: found.fitted,
            squared_norm,
            converged: found.converged,
            iterations: found.iterations,
        })
    }
}
