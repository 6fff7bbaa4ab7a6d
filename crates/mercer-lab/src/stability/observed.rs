//! How much the squared loss changed when each row was left out, from exact deletions.

use super::theorem::Assumptions;
use mercer::linalg::{Matrix, multiply};
use mercer::loss::Loss;
use mercer::solver::deletion::{Deletions, Divisor};
use mercer::spectrum::{Spectrum, Target};

/// The largest changes over all deletions of one training set, each taken over more than the one before it.
#[derive(Debug, Clone, PartialEq)]
pub struct Observed {
    /// What the mean of the losses was divided by.
    pub divisor: Divisor,
    /// max over i and the rows k of |(yₖ − f(xₖ))² − (yₖ − f₋ᵢ(xₖ))²|.
    pub at_rows: f64,
    /// The deletion i (counted from 0) at which that is reached.
    pub row: usize,
    /// The same at the rows' x with any |y| ≤ C_y: |f − f₋ᵢ|(2C_y + |f + f₋ᵢ|).
    pub any_target: f64,
    /// The same at any x: κ‖f − f₋ᵢ‖(2C_y + κ(‖f‖ + ‖f₋ᵢ‖)).
    pub anywhere: f64,
    /// max ‖f − f₋ᵢ‖.
    pub norm_change: f64,
    /// μ = Φ(λ, Z), the ridge that gives the same f; `None` for the zero function.
    pub ridge: Option<f64>,
    /// Φ(λ, Zⁱ): ridges in the same convention as the deletion, so that exponent 2 gives λ; `None` for the zero function.
    pub ridges: Vec<Option<f64>>,
    /// yᵢ − f₋ᵢ(xᵢ).
    pub held_out_residuals: Vec<f64>,
}

impl Observed {
    /// From deletions, the values of f, and rows in the spectrum's coordinates at which losses are compared.
    pub(super) fn new(
        deletions: &Deletions,
        divisor: Divisor,
        at: &Evaluation<'_>,
        fitted: &[f64],
        assume: &Assumptions,
    ) -> Self {
        let n = deletions.fits.len();
        let kept = match divisor {
            Divisor::All => (n as f64 - 1.0) / n as f64,
            Divisor::Remaining => 1.0,
        };
        let mut observed = Observed {
            divisor,
            at_rows: 0.0,
            row: 0,
            any_target: 0.0,
            anywhere: 0.0,
            norm_change: 0.0,
            ridge: deletions.log_ridge.map(libm::exp),
            ridges: deletions.fits.iter().map(|fit| fit.log_ridge.map(|t| kept * libm::exp(t))).collect(),
            held_out_residuals: deletions.fits.iter().map(|fit| fit.residual).collect(),
        };
        let predicted = deletions.predict(at.projected);
        for (i, fit) in deletions.fits.iter().enumerate() {
            for ((value, f), y) in predicted.col(i).iter().zip(fitted).zip(at.targets) {
                let change = (value - f).abs();
                let here = change * (2.0 * y - f - value).abs();
                if here > observed.at_rows {
                    (observed.at_rows, observed.row) = (here, i);
                }
                observed.any_target = observed.any_target.max(change * (2.0 * assume.target_bound + (f + value).abs()));
            }
            let reach = 2.0 * assume.target_bound + assume.kernel_bound * (deletions.norm + fit.norm);
            observed.anywhere = observed.anywhere.max(assume.kernel_bound * fit.distance * reach);
            observed.norm_change = observed.norm_change.max(fit.distance);
        }
        observed
    }

    /// The mean of a loss of residuals over the rows, each predicted by the fit without it.
    pub fn held_out_loss(&self, loss: &dyn Loss) -> f64 {
        let losses = self.held_out_residuals.iter().map(|residual| loss.value(*residual, 0.0));
        losses.sum::<f64>() / self.held_out_residuals.len() as f64
    }

    /// C(n) = max |Φ(λ, Z) − Φ(λ, Zⁱ)|; infinite where a deletion turns f into the zero function or back.
    pub fn ridge_change(&self) -> f64 {
        let Some(whole) = self.ridge else {
            return if self.ridges.iter().all(Option::is_none) { 0.0 } else { f64::INFINITY };
        };
        self.ridges.iter().map(|ridge| ridge.map_or(f64::INFINITY, |ridge| (ridge - whole).abs())).fold(0.0, f64::max)
    }
}

/// Rows at which losses are compared.
pub(super) struct Evaluation<'a> {
    /// In the coordinates of the spectrum.
    pub projected: &'a Matrix,
    /// Their targets.
    pub targets: &'a [f64],
}

/// z/(d + γ) in the target's own units: f in the basis of the spectrum.
pub(super) fn coordinates(spectrum: &Spectrum, target: &Target, log_ridge: Option<f64>) -> Vec<f64> {
    let (z, power) = target.scaled();
    let Some(t) = log_ridge else { return vec![0.0; z.len()] };
    let gamma = libm::exp(t + libm::log(spectrum.weight_sum()));
    let each = z.iter().zip(spectrum.eigenvalues());
    each.map(|(z, d)| if *d > 0.0 { libm::ldexp(z / (d + gamma), power) } else { 0.0 }).collect()
}

/// f at rows in the spectrum's coordinates.
pub(super) fn values(projected: &Matrix, coordinates: Vec<f64>) -> Vec<f64> {
    multiply(projected, &Matrix::column_vector(coordinates)).into_vec()
}
