//! One decomposition, from which every λ, every exponent, norms, degrees of freedom and leave-one-out follow.
//!
//! With row weights w, s = √w and W = Σw (n without weights), everything lives in scaled coordinates: the
//! matrix diag(s) K diag(s), the targets s∘y, and γ = Wμ in the place of nμ. An offset that no penalty touches
//! confines the problem to the directions orthogonal to s; the reduction to those is done *before* the
//! decomposition, since afterwards the constant direction's eigenvalue 0 mixes with K's own tiny ones.

mod banded;
mod basis;
mod build;
mod curve;
mod deleted;
mod deleted_group;
mod envelope;
mod far;
mod features;
mod grouped;
pub mod held_out;
pub(crate) mod interpolation;
pub mod power;
mod projection;
mod refitted;
mod row_sums;
pub(crate) mod row_tables;
mod streamed;
mod tabulated;
mod target;
mod tridiagonal;

pub(crate) use banded::Banded;
pub use curve::Path;
pub(crate) use curve::Remembered;
#[doc(hidden)]
pub use curve::{Curve, CurvePoint};
#[doc(hidden)]
pub use deleted::DeletedRow;
pub(crate) use deleted_group::DeletedGroup;
pub(crate) use grouped::residuals_without_folds;
pub use held_out::{HeldOutRows, LeaveOneOut, k_fold, leave_one_out};
pub(crate) use projection::Projector;
pub(crate) use refitted::PartOfRows;
pub(crate) use row_tables::RowTables;
pub(crate) use streamed::{Rows, is_long};
pub(crate) use tabulated::{Grid, Tabulated};
pub use target::Target;
pub(crate) use tridiagonal::{FormTarget, TridiagonalForm};

use rayon::prelude::*;

use crate::base::error::{Error, Result};
use crate::linalg::{DecompositionCheck, Matrix, multiply};
use basis::Basis;

/// Rows that a task treats together.
const ROW_TILE: usize = 1024;

/// The decomposition diag(s) K diag(s) = Q D Qᵀ on the directions that the offset leaves.
#[derive(Debug, Clone)]
pub struct Spectrum {
    /// d, descending; rounding noise around 0 is set to 0.
    eigenvalues: Vec<f64>,
    /// Q, n × r.
    basis: Basis,
    /// s = √w, or `None` for all ones.
    root_weights: Option<Vec<f64>>,
    weight_sum: f64,
    offset: bool,
    /// ‖P_null eᵢ‖²: the share of row i outside the basis (0 throughout when r is full).
    outside: Vec<f64>,
    check: DecompositionCheck,
    kind: Kind,
    /// With an offset: the constant direction's own entry of the matrix, and its entries with the basis.
    constant: Option<(f64, Vec<f64>)>,
}

/// What else is needed to come back from the basis to a function.
#[derive(Debug, Clone)]
enum Kind {
    /// A bound of the norm of the matrix before centring.
    Gram { size: f64 },
    /// V/σ, p × r: coefficients = V σ⁻¹ d/(d+γ) z; and the weighted mean of each feature.
    Linear { back: Matrix, mean_features: Vec<f64>, scale: f64 },
}

impl Spectrum {
    /// The eigenvalues d of the (weighted, centred) Gram matrix, descending.
    pub fn eigenvalues(&self) -> &[f64] {
        &self.eigenvalues
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.outside.len()
    }

    /// W = Σ wᵢ (n without weights).
    pub fn weight_sum(&self) -> f64 {
        self.weight_sum
    }

    /// Whether the model has an offset that no penalty touches.
    pub fn has_offset(&self) -> bool {
        self.offset
    }

    /// What the run-time check of the decomposition found.
    pub fn check(&self) -> DecompositionCheck {
        self.check
    }

    /// The largest eigenvalue.
    pub fn largest(&self) -> f64 {
        self.eigenvalues.first().copied().unwrap_or(0.0)
    }

    /// The ridge path of one target, or of several that share one effective ridge.
    pub fn path(&self, targets: &[&Target]) -> Path {
        let mut energies = vec![0.0; self.eigenvalues.len()];
        // Targets of different size are brought to the largest one's unit.
        let power = targets.iter().map(|target| target.power).max().unwrap_or(0);
        let mut outside = 0.0;
        let mut centred = 0.0;
        for target in targets {
            let unit = libm::ldexp(1.0, target.power - power);
            for (energy, z) in energies.iter_mut().zip(&target.z) {
                *energy += (unit * z) * (unit * z);
            }
            outside += target.outside.iter().map(|v| (unit * v) * (unit * v)).sum::<f64>();
            centred += target.centred.iter().map(|v| (unit * v) * (unit * v)).sum::<f64>();
        }
        Path::new(&self.eigenvalues, &energies, outside, centred, self.weight_sum, self.offset, power)
    }

    /// G⁻¹ of a vector in scaled coordinates, restricted to the basis: Q (D + γ)⁻¹ Qᵀ v + (v outside)/γ.
    pub(crate) fn solve_scaled(&self, v: &[f64], gamma: f64) -> Vec<f64> {
        self.solve_in(v, gamma, self.is_truncated_at(gamma))
    }

    /// The same; directions without eigenvalue are left out if `truncated`.
    pub(crate) fn solve_in(&self, v: &[f64], gamma: f64, truncated: bool) -> Vec<f64> {
        let column = Matrix::column_vector(v.to_vec());
        let mut coordinates = self.basis.apply_transposed(&column);
        let full = self.basis.cols() + usize::from(self.offset) == self.rows();
        let outside: Option<Vec<f64>> = (!full).then(|| {
            let inside = self.basis.apply(&coordinates);
            v.iter().zip(inside.as_slice()).map(|(a, b)| (a - b) / gamma).collect()
        });
        for (c, d) in coordinates.as_mut_slice().iter_mut().zip(&self.eigenvalues) {
            *c = divide(*c, *d, gamma, truncated);
        }
        let mut solved = self.basis.apply(&coordinates).as_slice().to_vec();
        if let Some(outside) = outside {
            solved.iter_mut().zip(outside).for_each(|(a, b)| *a += b);
        }
        solved
    }

    /// α of the ridge solution at γ = Wμ (in the target's own units), original coordinates.
    #[doc(hidden)]
    pub fn dual(&self, target: &Target, gamma: f64) -> Vec<f64> {
        self.dual_in(target, gamma, self.is_truncated_at(gamma))
    }

    /// The same; directions without eigenvalue are left out if `truncated`.
    pub(crate) fn dual_in(&self, target: &Target, gamma: f64, truncated: bool) -> Vec<f64> {
        let coordinates: Vec<f64> =
            target.z.iter().zip(&self.eigenvalues).map(|(z, d)| divide(*z, *d, gamma, truncated)).collect();
        let mut beta = self.basis.apply(&Matrix::column_vector(coordinates)).as_slice().to_vec();
        if !truncated {
            beta.iter_mut().zip(&target.outside).for_each(|(b, o)| *b += o / gamma);
        }
        self.unscale(&mut beta);
        beta.iter_mut().for_each(|b| *b = libm::ldexp(*b, target.power));
        beta
    }

    /// α at several γ (none stands for the zero function), n × γ, without row weights: one product for all.
    #[doc(hidden)]
    pub fn duals(&self, target: &Target, gammas: &[Option<f64>]) -> Matrix {
        let coordinates = Matrix::from_fn(self.eigenvalues.len(), gammas.len(), |k, l| {
            gammas[l].map_or(0.0, |gamma| divide(target.z[k], self.eigenvalues[k], gamma, self.is_truncated_at(gamma)))
        });
        let mut alpha = self.basis.apply(&coordinates);
        for (l, gamma) in gammas.iter().enumerate() {
            let outside = gamma.filter(|gamma| !self.is_truncated_at(*gamma)).map_or(0.0, |gamma| 1.0 / gamma);
            for (a, o) in alpha.col_mut(l).iter_mut().zip(&target.outside) {
                *a = libm::ldexp(*a + o * outside, target.power);
            }
        }
        alpha
    }

    /// The smallest positive eigenvalue; 0 if there is none.
    pub(crate) fn smallest_positive(&self) -> f64 {
        self.eigenvalues.iter().rev().copied().find(|d| *d > 0.0).unwrap_or(0.0)
    }

    /// Whether γ is so small that directions without eigenvalue are left out of α. They are part of no
    /// function, but their coefficients z/γ would carry the rounding of K into the predictions.
    pub(crate) fn is_truncated_at(&self, gamma: f64) -> bool {
        gamma <= 1e-8 * self.largest()
    }

    /// The part of a vector in scaled coordinates that lies in directions with an eigenvalue.
    pub(crate) fn visible_part(&self, v: &[f64]) -> Vec<f64> {
        let mut coordinates = self.basis.apply_transposed(&Matrix::column_vector(v.to_vec()));
        for (c, d) in coordinates.as_mut_slice().iter_mut().zip(&self.eigenvalues) {
            *c = if *d == 0.0 { 0.0 } else { *c };
        }
        self.basis.apply(&coordinates).into_vec()
    }

    /// From scaled coordinates β to α = s∘β.
    pub(crate) fn unscale(&self, beta: &mut [f64]) {
        if let Some(s) = &self.root_weights {
            beta.iter_mut().zip(s).for_each(|(b, si)| *b *= si);
        }
    }

    /// The factor in k = factor · xᵀx′, for a primal spectrum.
    pub(crate) fn linear_scale(&self) -> Option<f64> {
        match &self.kind {
            Kind::Linear { scale, .. } => Some(*scale),
            Kind::Gram { .. } => None,
        }
    }

    /// A bound of ‖K‖ in scaled coordinates, before centring: what rounding is measured against.
    pub(crate) fn size(&self) -> f64 {
        match &self.kind {
            Kind::Gram { size } => *size,
            Kind::Linear { .. } => self.largest(),
        }
    }

    /// ε: how far K and this decomposition can be from each other, as a norm, given the rounding of values in units of epsilon.
    pub(crate) fn rounding(&self, of_values: f64) -> f64 {
        let n = self.rows();
        let decomposed = self.check.residual * n as f64 * f64::EPSILON + build::noise_level(n);
        of_values * f64::EPSILON * self.size() + decomposed * self.largest()
    }

    /// Q c.
    pub(crate) fn at_rows(&self, c: &Matrix) -> Matrix {
        self.basis.apply(c)
    }

    /// Q, n × r, its own copy.
    #[doc(hidden)]
    pub fn basis(&self) -> Matrix {
        self.basis.block(0, self.rows(), self.basis.cols())
    }

    /// wᵢ.
    #[doc(hidden)]
    pub fn weight(&self, row: usize) -> f64 {
        self.root_weights.as_ref().map_or(1.0, |s| s[row] * s[row])
    }

    /// With an offset: ln det G − ln det of G on the directions that it leaves, the logarithm of a Schur complement.
    pub(crate) fn log_constant_pivot(&self, gamma: f64) -> f64 {
        let Some((own, with_basis)) = &self.constant else { return 0.0 };
        let taken: f64 = with_basis.iter().zip(&self.eigenvalues).map(|(c, d)| c * c / (d + gamma)).sum();
        libm::log((own + gamma - taken).max(gamma))
    }

    /// New rows in the coordinates of this spectrum: f − b = M z/(d + γ), from k(new, training) (u × n) and the
    /// training rows' own matrix, or from the features of a linear kernel.
    #[doc(hidden)]
    pub fn project(&self, cross: Matrix, training_mean: &[f64]) -> Matrix {
        let mut cross = cross;
        for j in 0..cross.cols() {
            let (mean, root) =
                (if self.offset { training_mean[j] } else { 0.0 }, self.root_weights.as_ref().map_or(1.0, |s| s[j]));
            cross.col_mut(j).iter_mut().for_each(|k| *k = (*k - mean) * root);
        }
        match &self.basis {
            Basis::Double(basis) => multiply(&cross, basis),
            Basis::Single(_) => multiply(&cross, &self.basis()),
        }
    }

    /// s = √w, or `None` without weights.
    pub(crate) fn root_weights(&self) -> Option<&[f64]> {
        self.root_weights.as_deref()
    }

    /// Calls `body` once per row with that row left out; rows go in blocks, in parallel, and the results come
    /// back in the rows' order. `None` where nothing would be left to learn an offset from.
    #[doc(hidden)]
    pub fn for_each_deleted_row<R: Send>(
        &self,
        targets: &[&Target],
        body: impl Fn(DeletedRow<'_>) -> R + Sync,
    ) -> Option<Vec<R>> {
        const BLOCK: usize = 32;
        let n = self.rows();
        if n < 2 && self.offset {
            return None;
        }
        let power = targets.iter().map(|target| target.power).max().unwrap_or(0);
        let totals = deleted::Totals::new(targets, power);
        let rank = self.eigenvalues.len();
        let starts: Vec<usize> = (0..n).step_by(BLOCK).collect();
        let blocks: Vec<Vec<R>> = starts
            .into_par_iter()
            .map(|start| {
                let height = BLOCK.min(n - start);
                let block = self.basis.block(start, height, rank);
                let mut rows = vec![0.0; height * rank];
                for k in 0..rank {
                    for (i, q) in block.col(k).iter().enumerate() {
                        rows[i * rank + k] = *q;
                    }
                }
                let visible = self.eigenvalues.iter().take_while(|d| **d > 0.0).count();
                for row in rows.chunks_mut(rank.max(1)) {
                    forget_rounding(&mut row[visible..]);
                }
                (0..height)
                    .map(|i| {
                        let row = start + i;
                        let weight = self.root_weights.as_ref().map_or(1.0, |s| s[row] * s[row]);
                        body(DeletedRow::new(
                            row,
                            &self.eigenvalues,
                            &rows[i * rank..(i + 1) * rank],
                            self.outside[row],
                            weight,
                            self.weight_sum,
                            self.offset,
                            &totals,
                        ))
                    })
                    .collect()
            })
            .collect();
        Some(blocks.into_iter().flatten().collect())
    }
}

/// c/(d + γ), or 0 in a direction that is left out.
fn divide(c: f64, d: f64, gamma: f64, truncated: bool) -> f64 {
    if d == 0.0 && truncated { 0.0 } else { c / (d + gamma) }
}

/// A row that has no part in the directions without eigenvalue has rounding there; divided by a tiny γ, that
/// would outweigh everything else.
fn forget_rounding(null_part: &mut [f64]) {
    if forget_rounding_squares(null_part) == 0.0 {
        null_part.fill(0.0);
    }
}

/// Its sum of squares, 0 where that is rounding.
fn forget_rounding_squares(null_part: &[f64]) -> f64 {
    let sum: f64 = null_part.iter().map(|q| q * q).sum();
    if sum < 1e-26 { 0.0 } else { sum }
}

/// The spectrum squares what it is given; sizes must leave room for that.
pub(crate) fn check_size(size: f64) -> Result<()> {
    if size.is_finite() && (size == 0.0 || (1e-60..=1e60).contains(&size)) {
        return Ok(());
    }
    Err(Error::NotAKernel(format!(
        "kernel values reach {size:e}; they must stay between 1e-60 and 1e60 (scale the features)"
    )))
}
