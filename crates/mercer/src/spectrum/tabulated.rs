//! The paths of the data without a row or a group of rows, tabulated over γ.
//!
//! The curves γ ↦ (held-out residual, N₋, R₋) know nothing of λ and the exponent; once they stand in a table,
//! every (m, λ) is a root between two of its points. For single rows the whole table is four matrix products.
//!
//! In log γ the curves are sums of logistic functions, analytic in a strip of half-width π. A polynomial through
//! [`STENCIL`] points a tenth apart therefore errs by about 1e-12.

use rayon::prelude::*;

use super::path::Curve;
use super::{DeletedGroup, Spectrum, Target, forget_rounding_squares};
use crate::linalg::{Matrix, multiply, multiply_both_transposed};

/// Points that one interpolation uses.
pub(crate) const STENCIL: usize = 10;

/// Equidistant values of log γ.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Grid {
    pub start: f64,
    pub step: f64,
    pub points: usize,
}

impl Grid {
    /// From `low` to `high`, both relative to the logarithm of the largest eigenvalue.
    pub fn around(largest: f64, low: f64, high: f64, step: f64) -> Self {
        let points = ((high - low) / step).ceil().max(0.0) as usize + 1;
        Grid { start: libm::log(largest) + low, step, points: points.max(STENCIL) }
    }

    pub fn log_gamma(&self, g: usize) -> f64 {
        self.start + self.step * g as f64
    }

    pub fn end(&self) -> f64 {
        self.log_gamma(self.points - 1)
    }

    /// The weights of the polynomial through the points nearest to `log_gamma`, from point `lowest` on.
    pub fn stencil(&self, log_gamma: f64, lowest: usize) -> Stencil {
        let position = ((log_gamma - self.start) / self.step).clamp(lowest as f64, (self.points - 1) as f64);
        // Positions are positive: a conversion truncates, and is quicker than floor where the baseline has none.
        let cell = (position as usize).min(self.points - 2);
        let first = (cell + 1).saturating_sub(STENCIL / 2).max(lowest).min(self.points - STENCIL);
        let s = position - first as f64;
        let nearest = ((s + 0.5) as usize).min(STENCIL - 1);
        let mut weights = [0.0; STENCIL];
        if (s - nearest as f64).abs() < 1e-13 {
            weights[nearest] = 1.0;
            return Stencil { first, weights, scale: 1.0 };
        }
        // Barycentric form: (−1)ʲ binomial(p − 1, j)/(s − j).
        let mut sum = 0.0;
        for (j, weight) in weights.iter_mut().enumerate() {
            *weight = BINOMIALS[j] / (s - j as f64);
            sum += *weight;
        }
        Stencil { first, weights, scale: 1.0 / sum }
    }
}

const BINOMIALS: [f64; STENCIL] = [1.0, -9.0, 36.0, -84.0, 126.0, -126.0, 84.0, -36.0, 9.0, -1.0];

pub(crate) struct Stencil {
    first: usize,
    weights: [f64; STENCIL],
    /// What the weights are multiplied by to sum to 1.
    scale: f64,
}

impl Stencil {
    #[inline(always)]
    pub fn of(&self, values: &[f64]) -> f64 {
        let values = &values[self.first..self.first + STENCIL];
        self.scale * self.weights.iter().zip(values).map(|(w, v)| w * v).sum::<f64>()
    }
}

/// The path without a row or a group of rows, at the points of a [`Grid`].
#[derive(Debug, Clone)]
pub(crate) struct Tabulated {
    /// log(W − W_B): γ = (W − W_B)μ.
    pub log_weight_left: f64,
    /// log N₋, in the targets' own units.
    pub log_norm: Vec<f64>,
    /// R₋, in units of 4ᵏ.
    pub train: Vec<f64>,
    pub log_unit: f64,
    /// `[target][point]`: √w times the residual of a single row (own units), or the weighted sum of squares of a
    /// group.
    pub errors: Vec<Vec<f64>>,
    /// The same for the zero function.
    pub zero_errors: Vec<f64>,
    pub zero_train: f64,
    /// Whether any f could follow the targets that are left.
    pub has_energy: bool,
    pub is_single: bool,
    /// The first point that can be told from rounding; below it nothing changes any more.
    pub first: usize,
}

impl Spectrum {
    /// Tables of all single deletions; `None` where nothing would be left to learn from.
    pub(crate) fn tabulate_rows(&self, targets: &[&Target], grid: &Grid) -> Option<Vec<Tabulated>> {
        const BLOCK: usize = 256;
        let n = self.rows();
        if n < 2 {
            return None;
        }
        let visible = self.eigenvalues.iter().take_while(|d| **d > 0.0).count();
        let d = &self.eigenvalues[..visible];
        let gammas: Vec<f64> = (0..grid.points).map(|g| libm::exp(grid.log_gamma(g))).collect();
        let weights = |value: &(dyn Fn(usize, f64) -> f64 + Sync)| {
            Matrix::from_fn(visible, grid.points, |k, g| value(k, 1.0 / (d[k] + gammas[g])))
        };
        let first = weights(&|_, inverse| inverse);
        let second = weights(&|k, inverse| d[k] * inverse * inverse);
        let power = targets.iter().map(|target| target.power).max().unwrap_or(0);
        let sums: Vec<TargetSums> =
            targets.iter().map(|target| TargetSums::new(target, power, visible, &first, &second, &gammas)).collect();
        let log_unit = 2.0 * f64::from(power) * std::f64::consts::LN_2;
        let blocks: Vec<Vec<Tabulated>> = (0..n)
            .step_by(BLOCK)
            .map(|start| {
                let height = BLOCK.min(n - start);
                let rows = Matrix::from_fn(height, visible, |i, k| self.basis.get(start + i, k));
                let squares = Matrix::from_fn(height, visible, |i, k| rows.get(i, k) * rows.get(i, k));
                let diagonal = multiply_both_transposed(&first, &squares);
                let diagonal_norm = multiply_both_transposed(&second, &squares);
                let duals: Vec<[Matrix; 2]> = sums
                    .iter()
                    .map(|sums| [&sums.dual, &sums.norm].map(|weights| multiply_both_transposed(weights, &rows)))
                    .collect();
                (0..height)
                    .into_par_iter()
                    .map(|i| {
                        let row = start + i;
                        let root = self.root_weights.as_ref().map_or(1.0, |s| s[row]);
                        let weight_left = self.weight_sum - root * root;
                        let null_part: Vec<f64> =
                            (visible..self.basis.cols()).map(|k| self.basis.get(row, k)).collect();
                        let null = forget_rounding_squares(&null_part) + self.outside[row];
                        let mut table = Tabulated {
                            log_weight_left: libm::log(weight_left),
                            log_norm: vec![0.0; grid.points],
                            train: vec![0.0; grid.points],
                            log_unit,
                            errors: Vec::new(),
                            zero_errors: Vec::new(),
                            zero_train: 0.0,
                            has_energy: false,
                            is_single: true,
                            first: 0,
                        };
                        let own = if self.offset { weight_left / self.weight_sum } else { 1.0 };
                        for (t, sums) in sums.iter().enumerate() {
                            let null_target = if null == 0.0 {
                                0.0
                            } else {
                                let along: f64 = null_part.iter().zip(&sums.z[visible..]).map(|(q, z)| q * z).sum();
                                along + if self.outside[row] == 0.0 { 0.0 } else { sums.outside[row] }
                            };
                            let mut errors = vec![0.0; grid.points];
                            let parts = RowParts {
                                null,
                                null_target,
                                diagonal: diagonal.col(i),
                                diagonal_norm: diagonal_norm.col(i),
                                dual: duals[t][0].col(i),
                                dual_norm: duals[t][1].col(i),
                            };
                            parts.fill(sums, &gammas, &mut table.log_norm, &mut table.train, &mut errors);
                            errors.iter_mut().for_each(|c| *c = libm::ldexp(*c, power));
                            table.errors.push(errors);
                            let zero = sums.centred[row] / own;
                            table.zero_errors.push(libm::ldexp(zero, power));
                            table.zero_train += (sums.centred_energy - sums.centred[row] * zero).max(0.0) / weight_left;
                            let coordinates = rows_dot(&rows, i, d, &sums.z, zero);
                            table.has_energy |= coordinates > self.largest() * sums.rounding;
                        }
                        table.train.iter_mut().for_each(|r| *r /= weight_left);
                        table.finish(null, libm::log(self.largest()), grid);
                        table
                    })
                    .collect()
            })
            .collect();
        Some(blocks.into_iter().flatten().collect())
    }

    /// Leave-one-out residuals of all rows, which have no weights, at several γ: one matrix rows × γ per target, in its own
    /// units.
    pub(crate) fn residuals_at(&self, targets: &[&Target], gammas: &[f64]) -> Vec<Matrix> {
        let n = self.rows();
        let visible = self.eigenvalues.iter().take_while(|d| **d > 0.0).count();
        let d = &self.eigenvalues[..visible];
        let largest = self.largest();
        // As deletions are: below rounding nothing changes any more.
        let floor = largest * libm::exp(-super::deleted::LOG_MIXED);
        let inverse = |gammas: &[f64]| Matrix::from_fn(visible, gammas.len(), |k, l| 1.0 / (d[k] + gammas[l]));
        let null: Vec<f64> = (0..n)
            .map(|i| {
                let part: Vec<f64> = (visible..self.basis.cols()).map(|k| self.basis.get(i, k)).collect();
                forget_rounding_squares(&part) + self.outside[i]
            })
            .collect();
        let rows = Matrix::from_fn(n, visible, |i, k| self.basis.get(i, k));
        let squares = Matrix::from_fn(n, visible, |i, k| rows.get(i, k) * rows.get(i, k));
        let weights = inverse(gammas);
        let diagonal = multiply(&squares, &weights);
        let mixed: Vec<usize> = (0..n).filter(|i| null[*i] > 0.0 && null[*i] < 1e-4).collect();
        targets
            .iter()
            .map(|target| {
                let scaled = Matrix::from_fn(visible, gammas.len(), |k, l| target.z[k] * weights.get(k, l));
                let mut dual = multiply(&rows, &scaled);
                let null_target = |i: usize| -> f64 {
                    let along: f64 = (visible..self.basis.cols()).map(|k| self.basis.get(i, k) * target.z[k]).sum();
                    along + if self.outside[i] == 0.0 { 0.0 } else { target.outside[i] }
                };
                let null_targets: Vec<f64> =
                    (0..n).map(|i| if null[i] == 0.0 { 0.0 } else { null_target(i) }).collect();
                for (l, gamma) in gammas.iter().enumerate() {
                    for i in 0..n {
                        let c = (dual.get(i, l) + null_targets[i] / gamma) / (diagonal.get(i, l) + null[i] / gamma);
                        dual.set(i, l, libm::ldexp(c, target.power));
                    }
                    if *gamma < floor {
                        // Rows in doubt about their part without eigenvalue stay at the floor.
                        for i in &mixed {
                            let sum = |weight: &dyn Fn(usize) -> f64| {
                                (0..visible).map(|k| weight(k) / (d[k] + floor)).sum::<f64>()
                            };
                            let above = sum(&|k| rows.get(*i, k) * target.z[k]) + null_targets[*i] / floor;
                            let below = sum(&|k| squares.get(*i, k)) + null[*i] / floor;
                            dual.set(*i, l, libm::ldexp(above / below, target.power));
                        }
                    }
                }
                dual
            })
            .collect()
    }

    /// Tables of deleted groups, each of which leaves at least one row.
    pub(crate) fn tabulate_groups(&self, targets: &[&Target], groups: &[Vec<usize>], grid: &Grid) -> Vec<Tabulated> {
        groups
            .iter()
            .map(|rows| {
                let curve = DeletedGroup::new(self, targets, rows);
                let log_weight_left = libm::log(curve.weight_sum());
                let mut table = Tabulated {
                    log_weight_left,
                    log_norm: Vec::with_capacity(grid.points),
                    train: Vec::with_capacity(grid.points),
                    log_unit: curve.log_unit(),
                    errors: vec![Vec::with_capacity(grid.points); targets.len()],
                    zero_errors: self.squares(rows, &curve.residuals(None)),
                    zero_train: curve.zero_train(),
                    has_energy: curve.log_energy() > f64::NEG_INFINITY,
                    is_single: false,
                    first: 0,
                };
                for g in 0..grid.points {
                    let t = grid.log_gamma(g) - log_weight_left;
                    let (point, residuals) = curve.at_with_residuals(t);
                    table.log_norm.push(point.log_norm);
                    table.train.push(point.train);
                    for (errors, square) in table.errors.iter_mut().zip(self.squares(rows, &residuals)) {
                        errors.push(square);
                    }
                }
                table.forget_singular();
                table
            })
            .collect()
    }

    /// Σ w e² of each target.
    fn squares(&self, rows: &[usize], residuals: &[Vec<f64>]) -> Vec<f64> {
        let root = |row: usize| self.root_weights.as_ref().map_or(1.0, |s| s[row]);
        residuals.iter().map(|e| e.iter().zip(rows).map(|(e, row)| root(*row) * e).map(|e| e * e).sum()).collect()
    }
}

/// Σ d (z − c q)², what N₋ tends to for large γ, times γ².
fn rows_dot(rows: &Matrix, i: usize, d: &[f64], z: &[f64], c: f64) -> f64 {
    d.iter().enumerate().map(|(k, d)| (z[k] - c * rows.get(i, k), d)).map(|(v, d)| d * v * v).sum()
}

/// One target's part that all rows share.
struct TargetSums {
    z: Vec<f64>,
    outside: Vec<f64>,
    centred: Vec<f64>,
    centred_energy: f64,
    null_energy: f64,
    rounding: f64,
    /// z/(d + γ) and d z/(d + γ)², r × points.
    dual: Matrix,
    norm: Matrix,
    /// N and γ²Σ z²/(d + γ)² of all rows.
    whole_norm: Vec<f64>,
    whole_train: Vec<f64>,
}

impl TargetSums {
    fn new(target: &Target, power: i32, visible: usize, first: &Matrix, second: &Matrix, gammas: &[f64]) -> Self {
        let by = target.power - power;
        let scaled = |values: &[f64]| values.iter().map(|v| libm::ldexp(*v, by)).collect::<Vec<f64>>();
        let (z, outside, centred) = (scaled(&target.z), scaled(&target.outside), scaled(&target.centred));
        let square = |values: &[f64]| values.iter().map(|v| v * v).sum::<f64>();
        let times_z = |m: &Matrix| Matrix::from_fn(visible, m.cols(), |k, g| m.get(k, g) * z[k]);
        let (dual, norm) = (times_z(first), times_z(second));
        let mean = 16.0 * f64::EPSILON * libm::ldexp(target.mean, -power);
        TargetSums {
            centred_energy: square(&centred),
            null_energy: square(&outside) + square(&z[visible..]),
            rounding: 1e-28 * square(&centred) + mean * mean,
            whole_norm: (0..gammas.len()).map(|g| norm.col(g).iter().zip(&z).map(|(a, b)| a * b).sum()).collect(),
            whole_train: (0..gammas.len())
                .map(|g| dual.col(g).iter().map(|a| a * gammas[g]).map(|a| a * a).sum())
                .collect(),
            z,
            outside,
            centred,
            dual,
            norm,
        }
    }
}

/// What is known of one row at every γ.
struct RowParts<'a> {
    /// ‖P_null eᵢ‖², and the target's part there.
    null: f64,
    null_target: f64,
    /// Σ q²/(d + γ), Σ d q²/(d + γ)², Σ q z/(d + γ), Σ d q z/(d + γ)².
    diagonal: &'a [f64],
    diagonal_norm: &'a [f64],
    dual: &'a [f64],
    dual_norm: &'a [f64],
}

impl RowParts<'_> {
    /// Adds this target's N₋ and (W − w)R₋, and writes its c.
    fn fill(&self, sums: &TargetSums, gammas: &[f64], norm: &mut [f64], train: &mut [f64], errors: &mut [f64]) {
        for (g, gamma) in gammas.iter().enumerate() {
            let (dual, diagonal) = (self.dual[g], self.diagonal[g]);
            let c = (dual + self.null_target / gamma) / (diagonal + self.null / gamma);
            norm[g] += sums.whole_norm[g] - 2.0 * c * self.dual_norm[g] + c * c * self.diagonal_norm[g];
            // γ²Σ q z/(d + γ)² = γ(Σ q z/(d + γ) − Σ d q z/(d + γ)²), and so for q².
            let seen = sums.whole_train[g] - 2.0 * c * gamma * (dual - self.dual_norm[g])
                + c * c * gamma * (diagonal - self.diagonal_norm[g]);
            let unseen = sums.null_energy - 2.0 * c * self.null_target + c * c * self.null;
            train[g] += seen.max(0.0) + unseen.max(0.0);
            errors[g] = c;
        }
    }
}

impl Tabulated {
    /// From N₋ to its logarithm; a row in doubt about its part without eigenvalue starts where it matters little.
    fn finish(&mut self, null: f64, log_largest: f64, grid: &Grid) {
        self.log_norm.iter_mut().for_each(|n| *n = libm::log(n.max(f64::MIN_POSITIVE)) + self.log_unit);
        if null > 0.0 && null < 1e-4 {
            let floor = log_largest - super::deleted::LOG_MIXED;
            self.first = (((floor - grid.start) / grid.step).ceil().max(0.0) as usize).min(grid.points - STENCIL);
        }
    }

    /// A group starts above the last γ at which its block was singular to rounding.
    fn forget_singular(&mut self) {
        let is_fine = |g: usize| self.log_norm[g].is_finite() && self.errors.iter().all(|errors| errors[g].is_finite());
        let first = (0..self.log_norm.len()).rfind(|g| !is_fine(*g)).map_or(0, |g| g + 1);
        self.first = first.min(self.log_norm.len() - STENCIL);
    }
}
