//! The ridge path of the data without one row, from the decomposition of all rows.
//!
//! At fixed γ the fit without row i equals the fit of all rows to targets in which yᵢ is replaced by yᵢ − c,
//! c = aᵢ/(G⁻¹)ᵢᵢ, a = G⁻¹y: row i then lies on the fitted function and exerts no pull. So c is the
//! leave-one-out residual, and with z̃ = z − c·qᵢ (qᵢ the i-th row of Q) the norm without the row is
//! N₋ᵢ = Σ d z̃²/(d + γ)², a sum of squares that cancels nothing. γ = (W − wᵢ)μ.

use super::Target;
use super::curve::{Curve, CurvePoint};
use crate::linalg::simd::vectorize;

/// How far, in logarithms, γ may go from the largest eigenvalue: 80 powers of ten.
const LOG_RANGE: f64 = 184.0;

/// The same for a row whose part in the null directions is in doubt: 1e-11 of the largest eigenvalue.
pub(super) const LOG_MIXED: f64 = 25.3;

/// Sums over all rows that every deletion uses, one entry per target.
pub(crate) struct Totals {
    targets: Vec<TargetTotals>,
    power: i32,
}

struct TargetTotals {
    z: Vec<f64>,
    outside: Vec<f64>,
    centred: Vec<f64>,
    outside_energy: f64,
    centred_energy: f64,
    /// Energy below which a sum over the rows is rounding.
    rounding: f64,
    /// Own power of two, for handing residuals back.
    to_own_units: i32,
}

impl Totals {
    pub fn new(targets: &[&Target], power: i32) -> Self {
        let rescale = |values: &[f64], by: i32| values.iter().map(|v| libm::ldexp(*v, by)).collect::<Vec<f64>>();
        let square = |values: &[f64]| values.iter().map(|v| v * v).sum::<f64>();
        let targets = targets
            .iter()
            .map(|target| {
                let by = target.power - power;
                let (outside, centred) = (rescale(&target.outside, by), rescale(&target.centred, by));
                TargetTotals {
                    z: rescale(&target.z, by),
                    outside_energy: square(&outside),
                    centred_energy: square(&centred),
                    rounding: 1e-28 * square(&centred)
                        + square(&[16.0 * f64::EPSILON * libm::ldexp(target.mean, -power)]),
                    outside,
                    centred,
                    to_own_units: power,
                }
            })
            .collect();
        Totals { targets, power }
    }
}

/// The problem without one row.
pub struct DeletedRow<'a> {
    row: usize,
    eigenvalues: &'a [f64],
    /// qᵢ, the row of Q.
    basis_row: &'a [f64],
    /// ‖P_null eᵢ‖².
    outside: f64,
    weight: f64,
    weight_left: f64,
    /// ‖P eᵢ‖², what the offset leaves of row i.
    own: f64,
    totals: &'a Totals,
    /// The logarithm of the lowest γ at which this row's path can be told from rounding.
    log_floor: f64,
    /// 1/(d + γ), kept between the passes of one evaluation.
    inverse: Vec<f64>,
    /// z̃/(d + γ).
    coordinates: Vec<f64>,
}

impl<'a> DeletedRow<'a> {
    #[expect(clippy::too_many_arguments, reason = "built in one place, from one struct")]
    pub(super) fn new(
        row: usize,
        eigenvalues: &'a [f64],
        basis_row: &'a [f64],
        outside: f64,
        weight: f64,
        weight_sum: f64,
        offset: bool,
        totals: &'a Totals,
    ) -> Self {
        let weight_left = weight_sum - weight;
        let largest = eigenvalues.first().copied().unwrap_or(0.0).max(f64::MIN_POSITIVE);
        // A small part in directions without eigenvalue may be nothing but their mixing with those of tiny ones;
        // divided by a γ below rounding it would outweigh all else.
        let visible = eigenvalues.iter().take_while(|d| **d > 0.0).count();
        let null: f64 = basis_row[visible..].iter().map(|q| q * q).sum();
        let reach = if null > 0.0 && null < 1e-4 { LOG_MIXED } else { LOG_RANGE };
        DeletedRow {
            log_floor: libm::log(largest) - reach,
            row,
            eigenvalues,
            basis_row,
            outside,
            weight,
            weight_left,
            own: if offset { weight_left / weight_sum } else { 1.0 },
            totals,
            inverse: vec![0.0; eigenvalues.len()],
            coordinates: vec![0.0; eigenvalues.len()],
        }
    }

    /// Whether any row is left.
    pub fn has_others(&self) -> bool {
        self.weight_left > 0.0
    }

    /// Residuals yᵢ − f₋ᵢ(xᵢ), one per target in its own units, of the fit with this log μ; `None` stands for
    /// the zero function.
    pub fn residuals(&mut self, log_ridge: Option<f64>) -> Vec<f64> {
        let gamma = log_ridge.map(|t| self.gamma(t));
        if let Some(gamma) = gamma {
            self.invert(gamma);
        }
        (0..self.totals.targets.len())
            .map(|t| {
                let target = &self.totals.targets[t];
                let scaled = match gamma {
                    Some(gamma) => self.residual(t, gamma),
                    None => target.centred[self.row] / self.own,
                };
                libm::ldexp(scaled / self.weight.sqrt(), target.to_own_units)
            })
            .collect()
    }

    /// z̃/(d + γ) of the first target, in units of 2ᵏ: what f₋ᵢ is in the basis. Zeros for the zero function.
    pub fn fit(&mut self, log_ridge: Option<f64>) -> Vec<f64> {
        let Some(gamma) = log_ridge.map(|t| self.gamma(t)) else { return vec![0.0; self.eigenvalues.len()] };
        self.invert(gamma);
        let c = self.residual(0, gamma);
        let z = &self.totals.targets[0].z;
        (0..z.len()).map(|k| (z[k] - c * self.basis_row[k]) * self.inverse[k]).collect()
    }

    /// Which row is left out, from 0.
    pub fn row(&self) -> usize {
        self.row
    }

    /// Σw without this row, and wᵢ.
    pub fn weights(&self) -> (f64, f64) {
        (self.weight_left, self.weight)
    }

    /// γ = (W − wᵢ)μ, kept where its square and its inverse's square are finite: below 1e-80 of the largest
    /// eigenvalue nothing changes any more.
    fn gamma(&self, t: f64) -> f64 {
        let largest = self.largest();
        let log = (t + libm::log(self.weight_left)).clamp(self.log_floor, libm::log(largest) + LOG_RANGE);
        libm::exp(log)
    }

    fn largest(&self) -> f64 {
        self.eigenvalues.first().copied().unwrap_or(0.0).max(f64::MIN_POSITIVE)
    }

    fn invert(&mut self, gamma: f64) {
        vectorize(
            #[inline(always)]
            || {
                for (inverse, d) in self.inverse.iter_mut().zip(self.eigenvalues) {
                    *inverse = 1.0 / (d + gamma);
                }
            },
        );
    }

    /// The part of this row's target outside the basis; 0 where the row itself has no such part.
    fn outside_value(&self, t: usize) -> f64 {
        if self.outside == 0.0 { 0.0 } else { self.totals.targets[t].outside[self.row] }
    }

    /// c for target `t`, in scaled coordinates, once `invert` has been called with this γ.
    fn residual(&self, t: usize, gamma: f64) -> f64 {
        let target = &self.totals.targets[t];
        let [dual, diagonal] = sums(
            [self.basis_row, &target.z, &self.inverse],
            #[inline(always)]
            |[q, z, inverse]| {
                let scaled = q * inverse;
                [scaled * z, scaled * q]
            },
        );
        let dual = dual + self.outside_value(t) / gamma;
        let diagonal = diagonal + self.outside / gamma;
        dual / diagonal
    }
}

/// Σₖ body(k-th entries of slices of one length), in eight lanes that are added up in one fixed order.
#[inline(always)]
fn sums<const S: usize, const M: usize>(of: [&[f64]; S], body: impl Fn([f64; S]) -> [f64; M]) -> [f64; M] {
    const WIDTH: usize = 8;
    vectorize(
        #[inline(always)]
        || {
            let mut lanes = [[0.0; WIDTH]; M];
            let len = of[0].len();
            let whole = len - len % WIDTH;
            for k in (0..whole).step_by(WIDTH) {
                // One check for eight entries, so that the loop below has none.
                let mut blocks = [[0.0; WIDTH]; S];
                for s in 0..S {
                    blocks[s].copy_from_slice(&of[s][k..k + WIDTH]);
                }
                for l in 0..WIDTH {
                    let mut entries = [0.0; S];
                    for s in 0..S {
                        entries[s] = blocks[s][l];
                    }
                    let terms = body(entries);
                    for m in 0..M {
                        lanes[m][l] += terms[m];
                    }
                }
            }
            for k in whole..len {
                let mut entries = [0.0; S];
                for s in 0..S {
                    entries[s] = of[s][k];
                }
                let terms = body(entries);
                for m in 0..M {
                    lanes[m][k - whole] += terms[m];
                }
            }
            lanes.map(|lane| lane.iter().sum())
        },
    )
}

impl Curve for DeletedRow<'_> {
    fn at(&mut self, t: f64) -> CurvePoint {
        let gamma = self.gamma(t);
        self.invert(gamma);
        let (mut norm, mut shrunk, mut train) = (0.0, 0.0, 0.0);
        for index in 0..self.totals.targets.len() {
            let c = self.residual(index, gamma);
            let target = &self.totals.targets[index];
            let (q, z, inverse, d) = (self.basis_row, &target.z[..], &self.inverse[..], self.eigenvalues);
            let coordinates = &mut self.coordinates[..];
            vectorize(
                #[inline(always)]
                || {
                    for (((u, z), q), inverse) in coordinates.iter_mut().zip(z).zip(q).zip(inverse) {
                        *u = (z - c * q) * inverse;
                    }
                },
            );
            let u = &self.coordinates[..];
            let [n, squares, pull, diagonal] = sums(
                [d, u, q, inverse],
                #[inline(always)]
                |[d, u, q, inverse]| [d * u * u, u * u, q * u * inverse, q * q * inverse],
            );
            // Row i's own entry of G⁻¹ã must vanish too: its multiple κ of G⁻¹eᵢ is taken out.
            let own_outside = self.outside_value(index);
            let null_row = (own_outside - c * self.outside) / gamma;
            let kappa = (pull + null_row / gamma) / (diagonal + self.outside / gamma);
            let [cross] = sums(
                [d, u, q, inverse],
                #[inline(always)]
                |[d, u, q, inverse]| [d * u * (u - kappa * q) * inverse],
            );
            let null = target.outside_energy - 2.0 * c * own_outside + c * c * self.outside;
            norm += n;
            shrunk += gamma * cross;
            train += gamma * gamma * squares + null.max(0.0);
        }
        CurvePoint {
            log_norm: libm::log(norm) + self.log_unit() + 2.0 * self.clamped_away(t),
            slope: (shrunk / norm).clamp(0.0, 1.0),
            train: train / self.weight_left,
        }
    }

    fn weight_sum(&self) -> f64 {
        self.weight_left
    }

    fn log_unit(&self) -> f64 {
        2.0 * f64::from(self.totals.power) * std::f64::consts::LN_2
    }

    fn zero_train(&self) -> f64 {
        let left: f64 = self
            .totals
            .targets
            .iter()
            .map(|target| {
                let own = target.centred[self.row];
                (target.centred_energy - own * own / self.own).max(0.0)
            })
            .sum();
        left / self.weight_left
    }

    fn log_tail(&self) -> f64 {
        let tail: f64 = self
            .totals
            .targets
            .iter()
            .map(|target| {
                let c = target.centred[self.row] / self.own;
                let [sum] = sums(
                    [self.eigenvalues, self.basis_row, &target.z],
                    #[inline(always)]
                    |[d, q, z]| {
                        let z = z - c * q;
                        [d * z * z]
                    },
                );
                sum
            })
            .sum();
        // What rounding leaves of a target that is constant without the row is not energy.
        let rounding: f64 = self.totals.targets.iter().map(|target| target.rounding).sum();
        if tail <= self.largest() * rounding { f64::NEG_INFINITY } else { libm::log(tail) + self.log_unit() }
    }

    fn log_spread(&self) -> (f64, f64) {
        // Eigenvalues interlace: the largest bounds them from above, but a zero of the whole may become
        // anything small without the row. Below the floor of γ they cannot be told from 0.
        let log_largest = libm::log(self.largest());
        (log_largest, self.log_floor)
    }

    /// There are as many roots as rows: the last digit of each would cost as much as all others.
    fn resolution(&self) -> Option<f64> {
        Some(64.0)
    }
}

impl DeletedRow<'_> {
    /// log γ_used − log γ where γ was kept from overflowing: N falls like 1/γ² there.
    fn clamped_away(&self, t: f64) -> f64 {
        let log_gamma = t + libm::log(self.weight_left);
        (libm::log(self.largest()) + LOG_RANGE - log_gamma).min(0.0)
    }
}
