//! Exact held-out errors for every exponent: nothing is refitted, and nothing is approximated either, since each
//! deletion finds its own effective ridge.

use rayon::prelude::*;

use super::Folds;
use crate::error::{Error, Result};
use crate::linalg::Matrix;
use crate::solver::power;
use crate::spectrum::{DeletedGroup, Grid, Remembered, Spectrum, Tabulated, Target};

/// Leave-one-out residuals yᵢ − f₋ᵢ(xᵢ) − b₋ᵢ and their weighted mean square.
#[derive(Debug, Clone, PartialEq)]
pub struct LeaveOneOut {
    /// One per training row.
    pub residuals: Vec<f64>,
    /// (1/W) Σ w e².
    pub mse: f64,
}

impl LeaveOneOut {
    pub(crate) fn new(residuals: Vec<f64>, weights: Option<&[f64]>) -> Self {
        let root = |i: usize| weights.map_or(1.0, |w| w[i].sqrt());
        let scaled: Vec<f64> = residuals.iter().enumerate().map(|(i, e)| root(i) * e).collect();
        let total = weights.map_or(residuals.len() as f64, |w| w.iter().sum());
        let size = crate::solver::refine::norm(&scaled) / total.sqrt();
        LeaveOneOut { mse: size * size, residuals }
    }

    /// The root of the mean square.
    pub fn rmse(&self) -> f64 {
        self.mse.sqrt()
    }
}

/// Leave-one-out residuals of the m-power problem, for each of several λ (best in rising order: each row's
/// ridge is then a good guess for its next one) and each of the targets, which share one effective ridge.
/// `None` with a single row and an offset: nothing would be left to learn from.
///
/// Result: `[λ][target][row]`.
pub fn leave_one_out(
    spectrum: &Spectrum,
    targets: &[&Target],
    exponent: f64,
    log_lambdas: &[f64],
) -> Option<Vec<Vec<Vec<f64>>>> {
    let rows = spectrum.for_each_deleted_row(targets, |mut row| {
        if !row.has_others() {
            return vec![row.residuals(None); log_lambdas.len()];
        }
        let mut guess = None;
        let mut remembered = Remembered::new(&mut row);
        log_lambdas
            .iter()
            .map(|log_lambda| {
                let minimum = power::minimise(&mut remembered, exponent, *log_lambda, guess);
                guess = minimum.log_ridge;
                remembered.curve().residuals(minimum.log_ridge)
            })
            .collect::<Vec<Vec<f64>>>()
    })?;
    let by_lambda = (0..log_lambdas.len())
        .map(|l| (0..targets.len()).map(|t| rows.iter().map(|row| row[l][t]).collect()).collect());
    Some(by_lambda.collect())
}

/// Residuals of the rows of each fold, predicted by the fit without that fold: `[fold][target][row of the fold]`.
pub fn k_fold(
    spectrum: &Spectrum,
    targets: &[&Target],
    exponent: f64,
    lambda: f64,
    folds: &Folds,
) -> Result<Vec<Vec<Vec<f64>>>> {
    check(folds, spectrum.rows())?;
    let residuals = folds.groups.iter().map(|rows| {
        let mut group = DeletedGroup::new(spectrum, targets, rows);
        let minimum = power::minimise(&mut group, exponent, libm::log(lambda), None);
        group.residuals(minimum.log_ridge)
    });
    Ok(residuals.collect())
}

fn check(folds: &Folds, rows: usize) -> Result<()> {
    for fold in &folds.groups {
        if fold.len() >= rows || fold.is_empty() || fold.iter().any(|row| *row >= rows) {
            return Err(Error::argument(
                "a fold",
                format!("from 1 to {} of the {rows} rows, so that something is left", rows.saturating_sub(1)),
                fold.len(),
            ));
        }
    }
    Ok(())
}

/// Mean squared errors at one (m, λ).
#[derive(Debug, Clone, PartialEq)]
pub struct HeldOutError {
    /// (1/W) Σ w e², one per target.
    pub mse: Vec<f64>,
    /// Its standard error over the deletions (rows, or folds).
    pub standard_error: Vec<f64>,
}

/// Leave-one-out at exponent 2 without weights, where every deletion has the ridge (n − 1)λ.
pub(crate) fn leave_one_out_at(spectrum: &Spectrum, targets: &[&Target], log_lambdas: &[f64]) -> Vec<HeldOutError> {
    let n = spectrum.rows() as f64;
    let gammas: Vec<f64> = log_lambdas.iter().map(|log_lambda| libm::exp(*log_lambda) * (n - 1.0)).collect();
    let residuals = spectrum.residuals_at(targets, &gammas);
    (0..gammas.len())
        .map(|l| {
            let of = |residuals: &Matrix| {
                let squares = residuals.col(l).iter().map(|e| e * e);
                let (sum, square) = squares.fold((0.0, 0.0), |(sum, square), e| (sum + e, square + e * e));
                let mean = sum / n;
                (mean, ((square / n - mean * mean).max(0.0) / (n - 1.0).max(1.0)).sqrt())
            };
            let (mse, standard_error) = residuals.iter().map(of).unzip();
            HeldOutError { mse, standard_error }
        })
        .collect()
}

/// The curves of all deletions, from which any (m, λ) is read.
pub(crate) struct HeldOut {
    grid: Grid,
    deletions: Vec<Tabulated>,
    /// The weight of the rows of each deletion.
    weights: Vec<f64>,
    targets: usize,
}

/// Spacing of tables of single rows, and of folds, whose points are dearer.
const ROW_STEP: f64 = 0.1;
const FOLD_STEP: f64 = 0.2;

impl HeldOut {
    /// All single deletions; γ from `low` to `high`, logarithms relative to the largest eigenvalue.
    pub fn rows(spectrum: &Spectrum, targets: &[&Target], low: f64, high: f64) -> Option<Self> {
        let grid = Grid::around(spectrum.largest(), low, high, ROW_STEP);
        let deletions = spectrum.tabulate_rows(targets, &grid)?;
        let weights = (0..spectrum.rows()).map(|row| spectrum.weight(row)).collect();
        Some(HeldOut { grid, deletions, weights, targets: targets.len() })
    }

    /// Folds.
    pub fn folds(spectrum: &Spectrum, targets: &[&Target], folds: &Folds, low: f64, high: f64) -> Result<Self> {
        check(folds, spectrum.rows())?;
        let grid = Grid::around(spectrum.largest(), low, high, FOLD_STEP);
        let deletions = spectrum.tabulate_groups(targets, &folds.groups, &grid);
        let weights =
            folds.groups.iter().map(|rows| rows.iter().map(|row| spectrum.weight(*row)).sum()).collect::<Vec<f64>>();
        Ok(HeldOut { grid, deletions, weights, targets: targets.len() })
    }

    /// Errors for each of several λ, in rising order.
    pub fn errors(&self, exponent: f64, log_lambdas: &[f64]) -> Vec<HeldOutError> {
        const CHUNK: usize = 64;
        let width = log_lambdas.len() * self.targets;
        // Sums, and sums of squares of the mean error per deletion; chunks are added in their order.
        let chunks: Vec<(Vec<f64>, Vec<f64>)> = self
            .deletions
            .par_chunks(CHUNK)
            .zip(self.weights.par_chunks(CHUNK))
            .map(|(tables, weights)| {
                let (mut sums, mut squares) = (vec![0.0; width], vec![0.0; width]);
                let mut errors = vec![0.0; self.targets];
                let mut cells = vec![0; log_lambdas.len()];
                for (table, weight) in tables.iter().zip(weights) {
                    let ridges: Vec<Option<f64>> = if exponent >= 1.0 {
                        let near = |(cell, log_lambda): (&mut usize, &f64)| {
                            table.minimiser_near(&self.grid, exponent, *log_lambda, cell)
                        };
                        cells.iter_mut().zip(log_lambdas).map(near).collect()
                    } else {
                        table.minimisers(&self.grid, exponent, log_lambdas)
                    };
                    for (l, log_gamma) in ridges.into_iter().enumerate() {
                        table.squared_errors(&self.grid, log_gamma, &mut errors);
                        for (t, error) in errors.iter().enumerate() {
                            sums[l * self.targets + t] += error;
                            squares[l * self.targets + t] += error / weight * error;
                        }
                    }
                }
                (sums, squares)
            })
            .collect();
        let total: f64 = self.weights.iter().sum();
        let count = self.deletions.len() as f64;
        (0..log_lambdas.len())
            .map(|l| {
                let of = |t: usize| {
                    let index = l * self.targets + t;
                    let mean = chunks.iter().map(|(sums, _)| sums[index]).sum::<f64>() / total;
                    let square = chunks.iter().map(|(_, squares)| squares[index]).sum::<f64>() / total;
                    (mean, ((square - mean * mean).max(0.0) / (count - 1.0).max(1.0)).sqrt())
                };
                let (mse, standard_error) = (0..self.targets).map(of).unzip();
                HeldOutError { mse, standard_error }
            })
            .collect()
    }
}
