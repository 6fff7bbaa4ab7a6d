//! λ of a linear fit: along a path by folds, AIC or BIC.

use rayon::prelude::*;

use super::PenaltyFit;
use crate::base::error::{Error, Result};
use crate::fit::Curve;
use crate::linalg::side_by_side;
use crate::solve::linear::{
    Features, LassoSettings, Likelihood, LinearSolution, lasso, lasso_path, observed_tikhonov, validated,
};
use crate::term::criterion::Folds;
use crate::term::kernel::SharedKernel;
use crate::term::penalty::Gamma;
use crate::term::penalty::Penalty;

/// One target on its features.
pub(super) struct Problem<'a> {
    pub target: &'a str,
    pub x: &'a Features,
    pub y: &'a [f64],
    pub weights: Option<&'a [f64]>,
}

/// The criterion along rising λ.
pub(super) struct Along {
    target: String,
    lambdas: Vec<f64>,
    pub scores: Vec<f64>,
    pub standard_errors: Option<Vec<f64>>,
    /// Coefficients that are not 0 at each λ.
    support: Vec<usize>,
    pub chosen: usize,
    /// With folds: the mean squared error of the mean of each fold's training rows.
    mse_of_means: Option<f64>,
}

impl Along {
    /// As the result shows it.
    pub fn into_curve(self, kernel: &SharedKernel) -> Curve {
        let kernel = kernel.clone();
        let Along { target, lambdas, scores, standard_errors, support, chosen, mse_of_means } = self;
        let dropped = vec![None; lambdas.len()];
        let (loss, exponent, chosen) = ("squared".into(), 2.0, Some(chosen));
        Curve {
            kernel,
            target,
            loss,
            exponent,
            lambdas,
            scores,
            standard_errors,
            dropped,
            support,
            chosen,
            mse_of_means,
        }
    }
}

/// Points of a λ grid that is not given.
const POINTS: usize = 60;

impl PenaltyFit {
    /// The solution at the given or chosen λ.
    pub(super) fn choose(
        &self,
        problem: &Problem<'_>,
        folds: Option<&Folds>,
        go_on: &(dyn Fn() -> bool + Sync),
    ) -> Result<(f64, LinearSolution, Option<Along>)> {
        let settings = LassoSettings {
            offset: self.offset,
            ratio: match self.penalty {
                Penalty::ElasticNet { ratio } => ratio,
                _ => 1.0,
            },
            tolerance: self.tolerance,
            points: POINTS,
            go_on,
            ..LassoSettings::default()
        };
        let Problem { x, y, weights, .. } = *problem;
        let gamma = match &self.penalty {
            Penalty::Tikhonov { gamma } => Some(gamma),
            _ => None,
        };
        let solve = |lambda: f64| match gamma {
            Some(gamma) => observed_tikhonov(x, y, weights, lambda, gamma, self.offset, go_on),
            None => lasso(x, y, weights, lambda, &settings),
        };
        if let Some(lambda) = self.fixed_lambda() {
            return Ok((lambda, solve(lambda)?, None));
        }
        let trial = match (gamma, folds) {
            (Some(gamma), Some(folds)) => self.tikhonov_trial(problem, gamma, folds, go_on)?,
            (_, folds) => self.lasso_trial(problem, folds, &LassoSettings { tolerance: 1e-6, ..settings })?,
        };
        let trial = Along { mse_of_means: folds.map(|folds| folds.mse_of_means(y, weights)), ..trial };
        let lambda = trial.lambdas[trial.chosen];
        Ok((lambda, solve(lambda)?, Some(trial)))
    }

    fn lasso_trial(&self, problem: &Problem<'_>, folds: Option<&Folds>, settings: &LassoSettings<'_>) -> Result<Along> {
        let Problem { x, y, weights, .. } = *problem;
        let falling: Option<Vec<f64>> = self.lambdas.as_ref().map(|rising| rising.iter().rev().copied().collect());
        if let Some(folds) = folds {
            let found = validated(x, y, weights, falling.as_deref(), folds, settings)?;
            let chosen = if self.one_standard_error { found.one_standard_error } else { found.best };
            let support = found.path.solutions.iter().map(|solution| solution.nonzero).collect();
            return Ok(rising(problem, found.path.lambdas, found.mean, Some(found.standard_error), support, chosen));
        }
        let path = lasso_path(x, y, weights, falling.as_deref(), settings)?;
        let likelihood = Likelihood::of(weights, y.len());
        let is_bic = self.criterion.spec() == "bic";
        let score = |solution: &LinearSolution| -> Result<f64> {
            let predicted = solution.predict(x)?;
            let dof = solution.dof.unwrap_or(solution.nonzero as f64 + f64::from(self.offset));
            let (aic, bic) = likelihood.aic_bic(y.iter().zip(&predicted).map(|(y, f)| y - f), dof);
            // As many coefficients as rows explain everything and nothing.
            Ok(if dof >= likelihood.rows {
                f64::INFINITY
            } else if is_bic {
                bic
            } else {
                aic
            })
        };
        let scores: Vec<f64> = path.solutions.iter().map(score).collect::<Result<_>>()?;
        let best = (0..scores.len()).min_by(|a, b| scores[*a].total_cmp(&scores[*b])).unwrap_or(0);
        let support = path.solutions.iter().map(|solution| solution.nonzero).collect();
        Ok(rising(problem, path.lambdas, scores, None, support, best))
    }

    /// One decomposition per λ and fold; the grid spans the squared sizes of the features.
    fn tikhonov_trial(
        &self,
        problem: &Problem<'_>,
        gamma: &Gamma,
        folds: &Folds,
        go_on: &(dyn Fn() -> bool + Sync),
    ) -> Result<Along> {
        let Problem { x, y, weights, .. } = *problem;
        let lambdas = match &self.lambdas {
            Some(lambdas) => lambdas.clone(),
            None => {
                let size = x.squared_norms().iter().copied().fold(0.0, f64::max) / x.rows() as f64;
                let size = if size > 0.0 { size } else { 1.0 };
                (0..19).map(|k| size * libm::pow(10.0, -6.0 + f64::from(k) / 2.0)).collect()
            }
        };
        let pick = |values: &[f64], rows: &[usize]| rows.iter().map(|i| values[*i]).collect::<Vec<f64>>();
        let of_fold = |fold: usize| -> Result<Vec<(f64, f64)>> {
            let (kept, held) = (folds.kept(fold, y.len()), &folds.groups[fold]);
            let (train, test) = (x.select_rows(&kept), x.select_rows(held));
            let train_weights = weights.map(|w| pick(w, &kept));
            let mut out = Vec::new();
            for lambda in &lambdas {
                if !go_on() {
                    return Err(Error::Interrupted);
                }
                let (train_y, train_weights) = (pick(y, &kept), train_weights.as_deref());
                let fit = observed_tikhonov(&train, &train_y, train_weights, *lambda, gamma, self.offset, go_on)?;
                let predicted = fit.predict(&test)?;
                let weight = |row: usize| weights.map_or(1.0, |w| w[row]);
                let total: f64 = held.iter().map(|row| weight(*row)).sum();
                let sum: f64 = held.iter().zip(&predicted).map(|(row, v)| weight(*row) * (y[*row] - v).powi(2)).sum();
                out.push((total, sum / total));
            }
            Ok(out)
        };
        let found: Vec<Vec<(f64, f64)>> = (0..folds.groups.len())
            .into_par_iter()
            .map(|fold| side_by_side(|| of_fold(fold)))
            .collect::<Result<_>>()?;
        let (mut mean, mut errors) = (Vec::new(), Vec::new());
        for l in 0..lambdas.len() {
            let total: f64 = found.iter().map(|fold| fold[l].0).sum();
            let average = found.iter().map(|fold| fold[l].0 * fold[l].1).sum::<f64>() / total;
            let spread = found.iter().map(|fold| fold[l].0 * (fold[l].1 - average).powi(2)).sum::<f64>() / total;
            mean.push(average);
            errors.push((spread / (found.len().max(2) - 1) as f64).sqrt());
        }
        // Among equals the largest λ.
        let best = (0..mean.len()).rev().min_by(|a, b| mean[*a].total_cmp(&mean[*b])).unwrap_or(0);
        let chosen = if self.one_standard_error {
            (best..mean.len()).rev().find(|l| mean[*l] <= mean[best] + errors[best]).unwrap_or(best)
        } else {
            best
        };
        let support = vec![x.cols(); lambdas.len()];
        let target = problem.target.to_owned();
        let standard_errors = Some(errors);
        Ok(Along { target, lambdas, scores: mean, standard_errors, support, chosen, mse_of_means: None })
    }
}

/// A trial from lists along falling λ.
fn rising(
    problem: &Problem<'_>,
    mut lambdas: Vec<f64>,
    mut scores: Vec<f64>,
    mut standard_errors: Option<Vec<f64>>,
    mut support: Vec<usize>,
    chosen: usize,
) -> Along {
    let chosen = lambdas.len() - 1 - chosen;
    lambdas.reverse();
    scores.reverse();
    support.reverse();
    if let Some(errors) = &mut standard_errors {
        errors.reverse();
    }
    let target = problem.target.to_owned();
    Along { target, lambdas, scores, standard_errors, support, chosen, mse_of_means: None }
}
