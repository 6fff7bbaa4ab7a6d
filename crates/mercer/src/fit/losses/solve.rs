//! One problem at one λ: the solver that suits the loss, and the gap of its answer.

use super::targets::{Group, Kind};
use crate::base::error::Result;
use crate::linalg::Matrix;
use crate::solve::convex::exponent::{self, PowerPoint};
use crate::solve::convex::linear::Primal;
use crate::solve::convex::multinomial::{Multinomial, MultinomialPoint};
use crate::solve::convex::newton::Newton;
use crate::solve::convex::tube::Dual;
use crate::solve::convex::{Problem, RidgePoint};
use crate::solve::dual::{GramRows, KernelPoints, KernelRows, SINGLE_PRECISION_GAP, SingleGram};
use crate::solve::linear::Features;
use crate::solve::linear::softmax::Softmax;
use crate::space;
use crate::space::low_rank;
use crate::term::kernel::{Kernel, Points};
use crate::term::loss::{Loss, Shape};

/// Rows of a table and where their kernel values come from.
pub(super) struct Rows<'a> {
    pub kernel: &'a dyn Kernel,
    pub points: &'a Points,
    /// K, both triangles; without it kernel values are computed when they are needed.
    pub gram: Option<&'a Matrix>,
    /// The same in single precision, for gaps that do not notice.
    pub single: Option<&'a SingleGram>,
    /// Which of its rows the points are, if K has more.
    pub of_gram: Option<&'a [usize]>,
    /// F with K ≈ FFᵀ, a row per point: preconditions Newton's steps.
    pub factor: Option<&'a Matrix>,
    pub weights: Option<&'a [f64]>,
    pub has_offset: bool,
    /// Whether solutions are measured anew, so that solvers need not be sure of the last digits of theirs.
    pub is_measured_after: bool,
    pub memory: u64,
    /// Whether a linear kernel's problem is solved in its features.
    pub in_features: bool,
    pub go_on: &'a (dyn Fn() -> bool + Sync),
}

/// λ‖f‖ᵐ and how closely it is to be minimised.
#[derive(Debug, Clone, Copy)]
pub(super) struct Penalty {
    pub exponent: f64,
    pub lambda: f64,
    pub tolerance: f64,
}

/// The models of a group: one solution each.
#[derive(Debug, Clone)]
pub(super) struct Solved {
    pub models: Vec<PowerPoint>,
    /// For a multinomial model, whose columns the models are.
    joint: Option<MultinomialPoint>,
}

/// What share of the tolerance is asked of solvers, which measure their gap in units of this objective or of another one.
const OWN_UNITS: f64 = 0.9;
pub(super) const OTHER_UNITS: f64 = 0.4;
/// Rows from which Newton's steps are solved by conjugate gradients.
const CONJUGATE_FROM: usize = 1000;
/// Most columns of the factor that preconditions them.
const PRECONDITIONER: usize = 500;

/// The factor that preconditions Newton's steps, where there are enough rows for it.
pub(super) fn preconditioner(kernel: &dyn Kernel, points: &Points, loss: &dyn Loss) -> Option<Matrix> {
    let suits = !matches!(loss.shape(), Shape::Tube(_)) && !kernel.is_precomputed() && points.rows() >= CONJUGATE_FROM;
    suits.then(|| low_rank::factor(kernel, points, 1e-7, PRECONDITIONER, 1).matrix)
}

impl Solved {
    /// Solutions of problems of their own.
    pub fn of_models(models: Vec<PowerPoint>) -> Self {
        Solved { models, joint: None }
    }
}

impl Rows<'_> {
    /// Solves for all models of a group, from a neighbouring solution if there is one.
    pub fn solve(
        &self,
        group: &Group,
        losses: &[&dyn Loss],
        penalty: Penalty,
        start: Option<&Solved>,
    ) -> Result<Solved> {
        if let Kind::Classes { codes, is_multinomial: true, .. } = &group.kind {
            return self.solve_jointly(codes, group.outputs.len(), penalty, start);
        }
        let one = |t: usize| {
            let near = start.map(|solved| &solved.models[t].point).filter(|point| point.squared_norm > 0.0);
            self.solve_one(losses[t], &group.outputs[t].y, penalty, near)
        };
        Ok(Solved { models: (0..group.outputs.len()).map(one).collect::<Result<_>>()?, joint: None })
    }

    fn solve_one(
        &self,
        loss: &dyn Loss,
        y: &[f64],
        penalty: Penalty,
        start: Option<&RidgePoint>,
    ) -> Result<PowerPoint> {
        let problem = Problem { loss, y, weights: self.weights, has_offset: self.has_offset };
        let Penalty { exponent, lambda, .. } = penalty;
        // The solvers measure their gap in units of a ridge problem's objective: this one's at exponent 2, else at most twice it.
        let tolerance = if exponent == 2.0 { OWN_UNITS } else { OTHER_UNITS } * penalty.tolerance;
        if let (true, Some(scale)) = (self.in_features, self.kernel.linear_scale()) {
            let x = Features::Dense(self.points.to_matrix());
            let solver = Primal { problem, x: &x, scale, loss: loss.margin(), go_on: self.go_on };
            return exponent::minimise(&problem, &solver, exponent, lambda, tolerance, start);
        }
        match (loss.shape(), self.gram) {
            (Shape::Tube(_), gram) => {
                let (all, points);
                let single = self.single.filter(|_| tolerance >= SINGLE_PRECISION_GAP);
                let rows: &dyn KernelRows = match (gram, single) {
                    (_, Some(single)) => single,
                    (Some(gram), None) => {
                        all = GramRows(gram);
                        &all
                    }
                    (None, None) => {
                        points = KernelPoints::new(self.kernel, self.points);
                        &points
                    }
                };
                let places = self.of_gram.filter(|_| gram.is_some() || single.is_some());
                let solver = Dual {
                    problem,
                    rows,
                    places,
                    is_measured_after: self.is_measured_after,
                    memory: self.memory,
                    go_on: self.go_on,
                };
                exponent::minimise(&problem, &solver, exponent, lambda, tolerance, start)
            }
            (Shape::Quadratic | Shape::Smooth(_), gram) => {
                let computed;
                let gram = match gram {
                    Some(gram) => gram,
                    None => {
                        computed = space::gram(self.kernel, self.points);
                        &computed
                    }
                };
                let solver = Newton { problem, gram, factor: self.factor, go_on: self.go_on };
                exponent::minimise(&problem, &solver, exponent, lambda, tolerance, start)
            }
        }
    }

    fn solve_jointly(
        &self,
        codes: &[usize],
        classes: usize,
        penalty: Penalty,
        start: Option<&Solved>,
    ) -> Result<Solved> {
        if let (true, Some(scale)) = (self.in_features, self.kernel.linear_scale()) {
            return self.solve_softmax(codes, classes, penalty, scale, start);
        }
        let computed;
        let gram = match self.gram {
            Some(gram) => gram,
            None => {
                computed = space::gram(self.kernel, self.points);
                &computed
            }
        };
        let problem =
            Multinomial { codes, classes, weights: self.weights, has_offset: self.has_offset, gram, go_on: self.go_on };
        let point = problem.at(penalty.lambda, penalty.tolerance, start.and_then(|solved| solved.joint.as_ref()))?;
        let model = |c: usize| {
            let (alpha, fitted) = (point.alpha.col(c).to_vec(), point.fitted.col(c).to_vec());
            let squared_norm = alpha.iter().zip(&fitted).map(|(a, f)| a * f).sum::<f64>().max(0.0);
            let ridge = penalty.lambda;
            let (converged, iterations) = (point.converged, point.iterations);
            let (offset, elsewhere, coefficients) = (point.offsets[c], Vec::new(), None);
            // αᵀKα of coefficients that are small beside those that K cancels may be rounding below 0.
            let is_zero = alpha.iter().all(|a| *a == 0.0);
            let point = RidgePoint {
                ridge,
                alpha,
                offset,
                fitted,
                elsewhere,
                coefficients,
                squared_norm,
                converged,
                iterations,
            };
            PowerPoint { is_zero, point, root_residual: 0.0, witness: None }
        };
        Ok(Solved { models: (0..classes).map(model).collect(), joint: Some(point) })
    }

    /// All classes at once, in the features of a kernel scale·xᵀx′.
    fn solve_softmax(
        &self,
        codes: &[usize],
        classes: usize,
        penalty: Penalty,
        scale: f64,
        start: Option<&Solved>,
    ) -> Result<Solved> {
        let x = Features::Dense(self.points.to_matrix());
        let total = self.weights.map_or(codes.len() as f64, |w| w.iter().sum());
        let near = start.and_then(|solved| {
            let points = || solved.models.iter().map(|model| &model.point);
            let w: Option<Vec<&[f64]>> = points().map(|point| point.coefficients.as_deref()).collect();
            let w = Matrix::from_columns(x.cols(), classes, w?.concat()).ok()?;
            Some((w, points().map(|point| point.offset).collect()))
        });
        let found = Softmax {
            x: &x,
            codes,
            classes,
            weights: self.weights,
            has_offset: self.has_offset,
            lambda: penalty.lambda / scale,
            tolerance: 0.5 * penalty.tolerance,
            go_on: self.go_on,
        }
        .solve(near)?;
        let unit = 2.0 * total * penalty.lambda;
        let model = |c: usize| {
            let weight = |i: usize| self.weights.map_or(1.0, |w| w[i]);
            let w = found.w.col(c).to_vec();
            let squared_norm = w.iter().map(|w| w * w).sum::<f64>() / scale;
            let point = RidgePoint {
                ridge: penalty.lambda,
                alpha: found.slopes.col(c).iter().enumerate().map(|(i, a)| weight(i) * a / unit).collect(),
                offset: found.b[c],
                fitted: found.fitted.col(c).to_vec(),
                elsewhere: Vec::new(),
                coefficients: Some(w),
                squared_norm,
                converged: found.converged,
                iterations: found.iterations,
            };
            PowerPoint { is_zero: squared_norm == 0.0, point, root_residual: 0.0, witness: None }
        };
        Ok(Solved::of_models((0..classes).map(model).collect()))
    }
}
