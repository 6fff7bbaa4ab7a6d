//! From a linear solution to a model with its certificate.

use super::PenaltyFit;
use super::choose::Problem;
use crate::base::error::{Error, Result};
use crate::data::Design;
use crate::data::monomials;
use crate::fit::plan::{Method, Plan};
use crate::fit::{Engaged, Fitted, Tried};
use crate::linalg::Matrix;
use crate::model::{Expansion, HeldOut, Meaning, Model, Precision, Provenance, Summary};
use crate::solve::certificate::Certificate;
use crate::solve::linear::{Features, LeastSquares, LinearSolution, least_squares, least_squares_precise};
use crate::space;
use crate::term::criterion::group_count;
use crate::term::kernel::SharedKernel;
use crate::term::penalty::Penalty;

impl PenaltyFit {
    /// What coefficients are sought for: the kernel's values, or the features themselves.
    pub(super) fn features(&self, design: &Design, kernel: &SharedKernel) -> Result<Features> {
        if self.penalty == Penalty::KernelLasso {
            self.stage("kernel matrix")?;
            return Ok(Features::Dense(space::gram(&**kernel, &design.points)));
        }
        Ok(Features::Dense(design.points.to_matrix()))
    }

    pub(super) fn run(&self, design: Design, x: Features, kernel: SharedKernel) -> Result<Fitted> {
        let is_kernel = self.penalty == Penalty::KernelLasso;
        let weights = design.weights.as_deref();
        let folds = self.folds(&design)?;
        let go_on = || self.observer.as_ref().is_none_or(|observer| observer("solving"));
        let (mut columns, mut fitted, mut summaries) = (Vec::new(), Vec::new(), Vec::new());
        let (mut tried, mut statistics, mut solutions) = (Vec::new(), Vec::new(), Vec::new());
        for t in 0..design.y.cols() {
            self.stage("solving")?;
            let problem = Problem { target: &design.targets[t], x: &x, y: design.y.col(t), weights };
            let (lambda, solution, trial, certificate) = if self.penalty == Penalty::None {
                let found = self.least_squares(&design, &x, t)?;
                let certificate = of_least_squares(&found);
                let solution = as_solution(&found, self.offset, design.weight_sum());
                statistics.push(found);
                (0.0, solution, None, certificate)
            } else {
                let (lambda, solution, trial) = self.choose(&problem, folds.as_ref(), &go_on)?;
                let certificate = self.certificate(&solution);
                (lambda, solution, trial, certificate)
            };
            if solution.coefficients.iter().any(|w| !w.is_finite()) || !solution.intercept.is_finite() {
                return Err(Error::Decomposition("the coefficients are not finite".into()));
            }
            let values = solution.predict(&x)?;
            let held_out = trial.as_ref().and_then(|trial| {
                let standard_error = trial.standard_errors.as_ref()?[trial.chosen];
                Some(HeldOut {
                    measure: "squared".into(),
                    value: trial.scores[trial.chosen],
                    standard_error,
                    unweighted: None,
                })
            });
            let facts = Facts { lambda, held_out, certificate, is_chosen: trial.is_some() };
            summaries.push(self.summary(&design, t, &solution, &values, facts));
            tried.extend(trial.map(|trial| Tried::along(trial.into_curve(&kernel))));
            columns.push(solution.coefficients.clone());
            solutions.push(solution);
            fitted.push(values);
        }
        let names = if is_kernel { Vec::new() } else { design.encoder.column_names() };
        let length = columns.first().map_or(0, Vec::len);
        let coefficients = Matrix::from_columns(length, columns.len(), columns.concat())?;
        let expansion = if is_kernel {
            sparse_expansion(&design, &kernel, coefficients)
        } else {
            Expansion::Linear { coefficients }
        };
        let model = Model {
            encoder: design.encoder.clone(),
            kernel,
            expansion,
            summaries,
            meaning: Meaning::Numbers,
            kept: None,
            precision: Precision::Double,
            provenance: Provenance::of_this_version(),
        };
        let penalty = self.penalty.clone();
        let plan = Plan { method: self.method(), bytes: super::memory_of(design.rows(), x.cols()) };
        let found = Fitted::new(model, plan, design, tried, Engaged::Penalty { x, solutions, penalty });
        Ok(Fitted { fitted, least_squares: statistics, names, ..found })
    }

    fn method(&self) -> Method {
        match self.penalty {
            Penalty::None => Method::LeastSquares,
            Penalty::Tikhonov { .. } => Method::Tikhonov,
            _ => Method::CoordinateDescent,
        }
    }

    /// With monomials in twice the precision where there are some.
    fn least_squares(&self, design: &Design, x: &Features, t: usize) -> Result<LeastSquares> {
        let (y, weights) = (design.y.col(t), design.weights.as_deref());
        match &design.unexpanded {
            Some(points) => {
                let all = monomials::polynomial(&points.to_matrix(), self.degree, None)?;
                least_squares_precise(&all.high, &all.low, y, weights, self.offset)
            }
            None => least_squares(x, y, weights, self.offset),
        }
    }

    fn certificate(&self, solution: &LinearSolution) -> Certificate {
        let gap = solution.relative_gap;
        let reason = (!(gap <= self.tolerance.max(1e-9)))
            .then(|| format!("the duality gap is {gap:.1e} of the objective, above {:.0e}", self.tolerance));
        let digits = if gap > 0.0 { (-libm::log10(gap)).clamp(0.0, 14.0) } else { 14.0 };
        Certificate { digits: (digits * 10.0).floor() / 10.0, ..Certificate::of_convex(reason, Some(gap)) }
    }

    fn summary(&self, design: &Design, t: usize, solution: &LinearSolution, values: &[f64], facts: Facts) -> Summary {
        let y = design.y.col(t);
        let weight = |i: usize| design.weights.as_ref().map_or(1.0, |w| w[i]);
        let mse: f64 = (0..y.len()).map(|i| weight(i) * (y[i] - values[i]).powi(2)).sum::<f64>() / design.weight_sum();
        let deviation = design.deviations()[t];
        let norm = solution.coefficients.iter().map(|w| w * w).sum::<f64>().sqrt();
        Summary {
            target: design.targets[t].clone(),
            rows: y.len(),
            lambda: facts.lambda,
            lambda_was_chosen: facts.is_chosen,
            chosen_by: facts.is_chosen.then(|| self.criterion.spec()),
            chosen_on_landmarks: None,
            exponent: 2.0,
            effective_ridge: None,
            stationary_ridges: Vec::new(),
            norm,
            objective: solution.objective,
            intercept: solution.intercept,
            has_offset: self.offset,
            dof: solution.dof,
            train_rmse: mse.sqrt(),
            train_r2: (deviation > 0.0).then(|| 1.0 - mse / (deviation * deviation)),
            loo_rmse: None,
            loo_r2: None,
            groups: design.whole_groups().map(group_count),
            criterion_value: None,
            is_zero: solution.nonzero == 0,
            target_range: y.iter().fold([f64::INFINITY, f64::NEG_INFINITY], |[l, h], v| [l.min(*v), h.max(*v)]),
            clip: None,
            certificate: facts.certificate,
            loss: "squared".into(),
            penalty: self.penalty.spec(),
            support: Some(solution.nonzero),
            train_loss: Some(mse),
            train_error: None,
            weighted_train_error: None,
            held_out: facts.held_out,
        }
    }
}

/// What a summary needs beside the solution.
struct Facts {
    lambda: f64,
    held_out: Option<HeldOut>,
    certificate: Certificate,
    is_chosen: bool,
}

fn as_solution(found: &LeastSquares, offset: bool, total: f64) -> LinearSolution {
    LinearSolution {
        coefficients: found.coefficients.clone(),
        intercept: found.intercept,
        objective: found.residual_sum / total,
        relative_gap: 0.0,
        nonzero: found.coefficients.iter().filter(|w| **w != 0.0).count(),
        dof: Some(found.rank as f64 + f64::from(offset)),
        converged: true,
        iterations: 1,
    }
}

fn of_least_squares(found: &LeastSquares) -> Certificate {
    // With no digit certain, the given numbers themselves do not determine the coefficients.
    let reason = (!(found.digits >= 2.0)).then(|| {
        format!(
            "only {:.1} digits of the coefficients are certain: the columns are nearly dependent (condition number {:.0e})",
            found.digits.max(0.0),
            found.condition
        )
    });
    let digits = found.digits.clamp(0.0, 15.0);
    Certificate {
        solve_residual: found.gradient,
        condition: found.condition.is_finite().then_some(found.condition),
        digits: (digits * 10.0).floor() / 10.0,
        ..Certificate::of_convex(reason, None)
    }
}

/// Only the rows with a coefficient.
fn sparse_expansion(design: &Design, kernel: &SharedKernel, alpha: Matrix) -> Expansion {
    if kernel.is_precomputed() {
        let points = crate::data::Points::new(&Matrix::zeros(alpha.rows(), 0));
        return Expansion::Kernel { points, alpha };
    }
    let used: Vec<usize> = (0..alpha.rows()).filter(|i| (0..alpha.cols()).any(|t| alpha.get(*i, t) != 0.0)).collect();
    let kept = Matrix::from_fn(used.len(), alpha.cols(), |p, t| alpha.get(used[p], t));
    Expansion::Kernel { points: design.points.subset(&used), alpha: kept }
}
