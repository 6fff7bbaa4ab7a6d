//! k-fold cross-validation of λ.

use rayon::prelude::*;

use super::{Features, LassoPath, LassoSettings, lasso_path};
use crate::base::error::{Error, Result};
use crate::linalg::side_by_side;
use crate::term::criterion::Folds;

/// Held-out errors along λ, and the path on all rows.
#[derive(Debug, Clone, PartialEq)]
pub struct CrossValidated {
    /// The mean squared error on held-out rows at every λ, folds by their weight.
    pub mean: Vec<f64>,
    /// Its standard error: the folds' weighted spread over √(folds − 1).
    pub standard_error: Vec<f64>,
    /// The place of the least mean.
    pub best: usize,
    /// The place of the largest λ whose mean is within one standard error of the least.
    pub one_standard_error: usize,
    /// The fits on all rows.
    pub path: LassoPath,
}

/// Fits the path on all rows and, with the same λs, on all rows but each fold.
pub fn cross_validate(
    x: &Features,
    y: &[f64],
    weights: Option<&[f64]>,
    lambdas: Option<&[f64]>,
    folds: &[Vec<usize>],
    settings: &LassoSettings<'_>,
) -> Result<CrossValidated> {
    if folds.len() < 2 {
        return Err(Error::argument("folds", "at least 2", folds.len()));
    }
    let rows = x.rows();
    for fold in folds {
        if fold.is_empty() || fold.len() >= rows {
            return Err(Error::argument("a fold", format!("of 1 to {} rows", rows.saturating_sub(1)), fold.len()));
        }
        if let Some(row) = fold.iter().find(|row| **row >= rows) {
            return Err(Error::argument("a row of a fold", format!("below {rows}"), row));
        }
    }
    validated(x, y, weights, lambdas, &Folds::of(folds.to_vec(), 1), settings)
}

/// The same for folds that were drawn by a rule.
pub(crate) fn validated(
    x: &Features,
    y: &[f64],
    weights: Option<&[f64]>,
    lambdas: Option<&[f64]>,
    folds: &Folds,
    settings: &LassoSettings<'_>,
) -> Result<CrossValidated> {
    let path = lasso_path(x, y, weights, lambdas, settings)?;
    let inner = LassoSettings { dof: false, ..*settings };
    let of_fold = |fold: usize| {
        let rows = (&folds.kept(fold, y.len())[..], &folds.groups[fold][..]);
        side_by_side(|| fold_errors(x, y, weights, &path.lambdas, rows, &inner))
    };
    let results: Vec<(f64, Vec<f64>)> = (0..folds.groups.len()).into_par_iter().map(of_fold).collect::<Result<_>>()?;
    let total: f64 = results.iter().map(|(weight, _)| weight).sum();
    let mut mean = vec![0.0; path.lambdas.len()];
    let mut standard_error = mean.clone();
    for k in 0..mean.len() {
        mean[k] = results.iter().map(|(weight, errors)| weight * errors[k]).sum::<f64>() / total;
        let spread: f64 = results.iter().map(|(weight, e)| weight * (e[k] - mean[k]).powi(2)).sum::<f64>() / total;
        standard_error[k] = (spread / (folds.groups.len().max(2) - 1) as f64).sqrt();
    }
    let best = (0..mean.len()).min_by(|i, j| mean[*i].total_cmp(&mean[*j])).unwrap_or(0);
    let most = mean[best] + standard_error[best];
    // λs decrease: the first within reach is the largest.
    let one_standard_error = (0..=best).find(|k| mean[*k] <= most).unwrap_or(best);
    Ok(CrossValidated { mean, standard_error, best, one_standard_error, path })
}

/// The weight of a fold and its mean squared error at every λ.
fn fold_errors(
    x: &Features,
    y: &[f64],
    weights: Option<&[f64]>,
    lambdas: &[f64],
    (training, fold): (&[usize], &[usize]),
    settings: &LassoSettings<'_>,
) -> Result<(f64, Vec<f64>)> {
    let pick = |values: &[f64], rows: &[usize]| rows.iter().map(|i| values[*i]).collect::<Vec<f64>>();
    let training_weights = weights.map(|w| pick(w, training));
    let path =
        lasso_path(&x.select_rows(training), &pick(y, training), training_weights.as_deref(), Some(lambdas), settings)?;
    let (test, target) = (x.select_rows(fold), pick(y, fold));
    let test_weights = weights.map_or(vec![1.0; fold.len()], |w| pick(w, fold));
    let total: f64 = test_weights.iter().sum();
    let errors = path
        .solutions
        .iter()
        .map(|solution| {
            let predicted = solution.predict(&test)?;
            let sum: f64 = (0..target.len()).map(|i| test_weights[i] * (target[i] - predicted[i]).powi(2)).sum();
            Ok(if total > 0.0 { sum / total } else { 0.0 })
        })
        .collect::<Result<_>>()?;
    Ok((total, errors))
}
