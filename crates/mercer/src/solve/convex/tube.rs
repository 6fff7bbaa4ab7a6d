//! Tubes in their dual form: see [`dual`](crate::solve::dual).

use super::{Problem, RidgePoint, RidgeSolver};
use crate::base::error::{Error, Result};
use crate::solve::dual::{self, BoxProblem, BoxSettings, KernelRows};

/// The dual solver on rows of K.
pub(crate) struct Dual<'a> {
    pub problem: Problem<'a>,
    pub rows: &'a dyn KernelRows,
    /// Which rows of K the problem's are, if K has more: the others' boxes are shut, so that K need not be copied.
    pub places: Option<&'a [usize]>,
    /// Whether the answer is measured anew by whoever asks.
    pub is_measured_after: bool,
    /// Bytes that rows of K may take.
    pub memory: u64,
    pub go_on: &'a (dyn Fn() -> bool + Sync),
}

impl Dual<'_> {
    /// The rows of K that are not the problem's, in order.
    fn others(&self) -> Vec<usize> {
        let Some(places) = self.places else { return Vec::new() };
        let mut is_own = vec![false; self.rows.len()];
        places.iter().for_each(|place| is_own[*place] = true);
        (0..is_own.len()).filter(|place| !is_own[*place]).collect()
    }
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
        let spread = |values: &dyn Fn(usize) -> f64| -> Vec<f64> {
            match self.places {
                None => (0..n).map(values).collect(),
                Some(places) => {
                    let mut all = vec![0.0; self.rows.len()];
                    places.iter().enumerate().for_each(|(i, place)| all[*place] = values(i));
                    all
                }
            }
        };
        let lower = spread(&|i| bound(i, 0));
        let upper = spread(&|i| bound(i, 1));
        let target = spread(&|i| problem.y[i]);
        let epsilon = spread(&|_| tube.epsilon);
        let curvature = spread(&|i| if tube.curvature == 0.0 { 0.0 } else { tube.curvature / scale(i) });
        let boxes = BoxProblem {
            target: &target,
            lower: &lower,
            upper: &upper,
            epsilon: &epsilon,
            curvature: &curvature,
            has_offset: problem.has_offset,
        };
        let near = start.map(|point| spread(&|i| point.alpha[i]));
        let others = self.others();
        let mut near_fitted = start.filter(|point| point.fitted.len() == n).map(|point| spread(&|i| point.fitted[i]));
        // The solver's sums are of all rows of K; what it starts from must be, for those of the others to be right.
        let knows_others = match (&mut near_fitted, start) {
            (Some(fitted), Some(point)) if point.elsewhere.len() == others.len() => {
                others.iter().zip(&point.elsewhere).for_each(|(place, value)| fitted[*place] = *value);
                true
            }
            (near_fitted, _) => near_fitted.is_none(),
        };
        let settings = BoxSettings {
            tolerance,
            start: near.as_deref(),
            start_fitted: near_fitted.as_deref(),
            is_measured_after: self.is_measured_after,
            memory: self.memory,
            go_on: self.go_on,
            ..BoxSettings::default()
        };
        let found = dual::solve(self.rows, &boxes, &settings)?;
        let own = |values: Vec<f64>| match self.places {
            None => values,
            Some(places) => places.iter().map(|place| values[*place]).collect(),
        };
        let elsewhere =
            if knows_others { others.iter().map(|place| found.fitted[*place]).collect() } else { Vec::new() };
        let (alpha, fitted) = (own(found.alpha), own(found.fitted));
        let squared_norm = alpha.iter().zip(&fitted).map(|(a, f)| a * f).sum::<f64>().max(0.0);
        Ok(RidgePoint {
            ridge,
            alpha,
            offset: found.offset,
            fitted,
            elsewhere,
            coefficients: None,
            squared_norm,
            converged: found.converged,
            iterations: found.iterations,
        })
    }
}
