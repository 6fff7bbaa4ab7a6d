//! What tables of deletions are made of: sums that all rows share, and those of a block of rows at one γ.

use super::Target;
use super::interpolation::{LANES, Lanes};
use super::row_tables::beside;
use crate::base::clip::Clip;
use crate::linalg::Matrix;

/// One target's part that all rows share.
pub(super) struct TargetSums {
    /// Where predictions are kept within the range of the target.
    pub clip: Option<Clip>,
    pub centred: Vec<f64>,
    /// The target along P_null eᵢ, row by row.
    pub null_target: Vec<f64>,
    pub centred_energy: f64,
    pub null_energy: f64,
    pub rounding: f64,
    /// Σ dz².
    pub limit: f64,
    /// Σ z²/(d + γ), N and γ²Σ z²/(d + γ)² of all rows.
    pub whole_pull: Vec<f64>,
    pub whole_norm: Vec<f64>,
    pub whole_train: Vec<f64>,
}

impl TargetSums {
    /// And z/(d + γ) beside d z/(d + γ)², r × samples each.
    pub fn new(
        target: &Target,
        power: i32,
        d: &[f64],
        first: &Matrix,
        second: &Matrix,
        gammas: &[f64],
        null_target: Vec<f64>,
    ) -> (Self, Matrix) {
        let by = target.power - power;
        let scaled = |values: &[f64]| values.iter().map(|v| libm::ldexp(*v, by)).collect::<Vec<f64>>();
        let (z, outside, centred) = (scaled(&target.z), scaled(&target.outside), scaled(&target.centred));
        let times_z = |m: &Matrix| Matrix::from_fn(d.len(), m.cols(), |k, g| m.get(k, g) * z[k]);
        let pull = beside(&times_z(first), &times_z(second));
        // Σ weight(d, γ) (z/(d + γ))².
        let sum = |weight: &dyn Fn(f64, f64) -> f64| -> Vec<f64> {
            let at = |gamma: &f64| {
                d.iter().zip(&z).map(|(d, z)| (z / (d + gamma)) * (z / (d + gamma)) * weight(*d, *gamma)).sum()
            };
            gammas.iter().map(at).collect()
        };
        let sums = TargetSums {
            clip: target.clip.clone(),
            centred_energy: square(&centred),
            null_energy: square(&outside) + square(&z[d.len()..]),
            rounding: rounding_of(&centred, target.mean, power),
            limit: d.iter().zip(&z).map(|(d, z)| d * z * z).sum(),
            whole_pull: sum(&|d, gamma| d + gamma),
            whole_norm: sum(&|d, _| d),
            whole_train: sum(&|_, gamma| gamma * gamma),
            centred,
            null_target,
        };
        (sums, pull)
    }
}

/// SquaredFit of a target that are rounding, in units of 4ᵏ.
pub(super) fn rounding_of(centred: &[f64], mean: f64, power: i32) -> f64 {
    let mean = 16.0 * f64::EPSILON * libm::ldexp(mean, -power);
    1e-28 * square(centred) + mean * mean
}

pub(super) fn square(values: &[f64]) -> f64 {
    values.iter().map(|v| v * v).sum()
}

/// What is known of the rows of a block at one γ.
pub(super) struct RowParts<'a> {
    /// ‖P_null eᵢ‖², and the target's part there.
    pub null: &'a Lanes,
    pub null_target: &'a Lanes,
    /// The square of the second over the first.
    pub null_square: &'a Lanes,
    /// Σ q²/(d + γ) and Σ q z/(d + γ).
    pub diagonal: Lanes,
    pub dual: Lanes,
    pub gamma: f64,
}

impl RowParts<'_> {
    /// c, the residual of each row without it.
    #[inline(always)]
    pub fn residual(&self) -> Lanes {
        let mut residual = [0.0; LANES];
        for l in 0..LANES {
            residual[l] =
                (self.dual[l] + self.null_target[l] / self.gamma) / (self.diagonal[l] + self.null[l] / self.gamma);
        }
        residual
    }

    /// Adds a target's Σ z²/(d + γ) of the rows that are left, given that of all rows: less the square of the row's dual over the
    /// diagonal, what has no eigenvalue being left out of all of them before anything cancels.
    #[inline(always)]
    pub fn add_energy(&self, whole: f64, energy: &mut Lanes) {
        for l in 0..LANES {
            let (dual, diagonal, gamma) = (self.dual[l], self.diagonal[l], self.gamma);
            let taken = gamma * dual * dual + 2.0 * dual * self.null_target[l] - self.null_square[l] * diagonal;
            energy[l] += whole - taken / (gamma * diagonal + self.null[l]);
        }
    }

    /// Adds a target's N₋ and (W − w)R₋, given c, Σ d q²/(d + γ)² and Σ d q z/(d + γ)².
    #[inline(always)]
    pub fn add(
        &self,
        sums: &TargetSums,
        g: usize,
        c: &Lanes,
        [diagonal_norm, dual_norm]: [Lanes; 2],
        norm: &mut Lanes,
        train: &mut Lanes,
    ) {
        for l in 0..LANES {
            let (c, dual, diagonal) = (c[l], self.dual[l], self.diagonal[l]);
            norm[l] += sums.whole_norm[g] - 2.0 * c * dual_norm[l] + c * c * diagonal_norm[l];
            // γ²Σ q z/(d + γ)² = γ(Σ q z/(d + γ) − Σ d q z/(d + γ)²), and so for q².
            let seen = sums.whole_train[g] - 2.0 * c * self.gamma * (dual - dual_norm[l])
                + c * c * self.gamma * (diagonal - diagonal_norm[l]);
            let unseen = sums.null_energy - 2.0 * c * self.null_target[l] + c * c * self.null[l];
            train[l] += seen.max(0.0) + unseen.max(0.0);
        }
    }
}
