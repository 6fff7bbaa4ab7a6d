//! What a model is chosen by. Leave-one-out is exact for every exponent: nothing is refitted, and nothing is
//! approximated either, since each deleted row finds its own effective ridge.

use crate::solver::power;
use crate::spectrum::{Remembered, Spectrum, Target};

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
