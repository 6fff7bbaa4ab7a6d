//! The paths of the data without a group of rows, tabulated over γ.
//!
//! As for single rows (see `row_tables`), of which there are many more and whose tables are cheaper.

use super::curve::Curve;
use rayon::prelude::*;

use super::basis::Basis;
use super::{DeletedGroup, ROW_TILE, Spectrum, Target, forget_rounding_squares};
use crate::base::clip::within;
use crate::linalg::{Matrix, SingleColumns, SingleTiles, multiply, side_by_side};

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

/// The path without a group of rows, at the points of a [`Grid`].
#[derive(Debug, Clone)]
pub(crate) struct Tabulated {
    /// log(W − W_B): γ = (W − W_B)μ.
    pub log_weight_left: f64,
    /// log N₋, in the targets' own units.
    pub log_norm: Vec<f64>,
    /// R₋, in units of 4ᵏ.
    pub train: Vec<f64>,
    pub log_unit: f64,
    /// `[target][point]`: the weighted sum of squares of the group's residuals.
    pub errors: Vec<Vec<f64>>,
    /// The same for the zero function.
    pub zero_errors: Vec<f64>,
    /// Where predictions are clipped, the residuals row by row: their sum of squares has kinks, which no polynomial follows.
    pub clipped: Vec<Option<ClippedRows>>,
    pub zero_train: f64,
    /// Whether any f could follow the targets that are left.
    pub has_energy: bool,
    /// The first point that can be told from rounding; below it nothing changes any more.
    pub first: usize,
}

/// Residuals of a group's rows before predictions are clipped, and between what they are kept.
#[derive(Debug, Clone)]
pub(crate) struct ClippedRows {
    /// `[row][point]`.
    pub residuals: Vec<Vec<f64>>,
    /// Those of the zero function.
    pub zero: Vec<f64>,
    pub limits: Vec<[f64; 2]>,
    pub weights: Vec<f64>,
}

impl ClippedRows {
    /// Σ w e², given the residual of each row.
    pub fn squares(&self, residual: impl Fn(&[f64], f64) -> f64) -> f64 {
        let of = |i: usize| {
            let e = within(residual(&self.residuals[i], self.zero[i]), self.limits[i]);
            self.weights[i] * e * e
        };
        (0..self.residuals.len()).map(of).sum()
    }
}

impl Spectrum {
    /// Leave-one-out residuals of rows, which have no weights, at several γ: one matrix rows × γ per target, in its own
    /// units. The rows are all of them, or one of `every` parts, spread over all.
    pub(crate) fn residuals_at(&self, every: usize, targets: &[&Target], gammas: &[f64]) -> Vec<Matrix> {
        let part = match &self.basis {
            Basis::Single(_) => SingleTiles::TILE,
            Basis::Double(_) => ROW_TILE,
        };
        let starts: Vec<usize> = (0..self.rows()).step_by(part * every).collect();
        let rows: Vec<usize> = starts.iter().flat_map(|start| *start..(start + part).min(self.rows())).collect();
        let n = rows.len();
        let visible = self.eigenvalues.iter().take_while(|d| **d > 0.0).count();
        let d = &self.eigenvalues[..visible];
        let largest = self.largest();
        // As deletions are: below rounding nothing changes any more.
        let floor = largest * libm::exp(-super::deleted::LOG_MIXED);
        let inverse = |gammas: &[f64]| Matrix::from_fn(visible, gammas.len(), |k, l| 1.0 / (d[k] + gammas[l]));
        let null: Vec<f64> = rows
            .iter()
            .map(|row| {
                let part: Vec<f64> = (visible..self.basis.cols()).map(|k| self.basis.get(*row, k)).collect();
                forget_rounding_squares(&part) + self.outside[*row]
            })
            .collect();
        let weights = inverse(gammas);
        let mut all_weights = vec![weights.clone()];
        all_weights
            .extend(targets.iter().map(|t| Matrix::from_fn(visible, gammas.len(), |k, l| t.z[k] * weights.get(k, l))));
        let mut products = self.row_products(&starts, &all_weights).into_iter();
        let diagonal = products.next().unwrap_or_default();
        let mixed: Vec<usize> = (0..n).filter(|i| null[*i] > 0.0 && null[*i] < 1e-4).collect();
        targets
            .iter()
            .zip(products)
            .map(|(target, mut dual)| {
                let null_target = |i: usize| -> f64 {
                    let row = rows[i];
                    let along: f64 = (visible..self.basis.cols()).map(|k| self.basis.get(row, k) * target.z[k]).sum();
                    along + if self.outside[row] == 0.0 { 0.0 } else { target.outside[row] }
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
                            let above = sum(&|k| self.basis.get(rows[*i], k) * target.z[k]) + null_targets[*i] / floor;
                            let below =
                                sum(&|k| self.basis.get(rows[*i], k) * self.basis.get(rows[*i], k)) + null[*i] / floor;
                            dual.set(*i, l, libm::ldexp(above / below, target.power));
                        }
                    }
                }
                if let Some(clip) = &target.clip {
                    let limits: Vec<[f64; 2]> = rows.iter().map(|row| clip.limits(*row)).collect();
                    for l in 0..gammas.len() {
                        dual.col_mut(l).iter_mut().zip(&limits).for_each(|(e, limits)| *e = within(*e, *limits));
                    }
                }
                dual
            })
            .collect()
    }

    /// (Q∘Q)W₀, QW₁, QW₂, …, rows × columns of W, for W with a row for every direction that has an eigenvalue, of the tiles that begin with these
    /// rows: they go side by side, so that nothing of the size of Q is needed beside it.
    fn row_products(&self, starts: &[usize], weights: &[Matrix]) -> Vec<Matrix> {
        let visible = weights[0].rows();
        let single: Vec<SingleColumns> = match &self.basis {
            Basis::Single(_) => weights.iter().map(SingleColumns::of).collect(),
            Basis::Double(_) => Vec::new(),
        };
        let tiles: Vec<Vec<Matrix>> = starts
            .par_iter()
            .map(|start| {
                if let Basis::Single(tiles) = &self.basis {
                    let rows = tiles.tile(start / SingleTiles::TILE);
                    let linear = single[1..].iter().map(|columns| rows.times(columns));
                    return std::iter::once(rows.squares_times(&single[0])).chain(linear).collect();
                }
                let mut rows = self.basis.block(*start, ROW_TILE.min(self.rows() - start), visible);
                side_by_side(|| {
                    let linear: Vec<Matrix> = weights[1..].iter().map(|w| multiply(&rows, w)).collect();
                    rows.as_mut_slice().iter_mut().for_each(|q| *q *= *q);
                    std::iter::once(multiply(&rows, &weights[0])).chain(linear).collect()
                })
            })
            .collect();
        let parts = |index: usize| tiles.iter().map(|tile| &tile[index]).collect::<Vec<&Matrix>>();
        (0..weights.len()).map(|index| Matrix::stacked(&parts(index))).collect()
    }

    /// Tables of deleted groups, each of which leaves at least one row.
    pub(crate) fn tabulate_groups(&self, targets: &[&Target], groups: &[Vec<usize>], grid: &Grid) -> Vec<Tabulated> {
        groups
            .iter()
            .map(|rows| {
                let curve = DeletedGroup::new(self, targets, rows);
                let zero = curve.residuals(None);
                let clipped_rows = |(t, target): (usize, &&Target)| {
                    let clip = target.clip.as_ref()?;
                    Some(ClippedRows {
                        residuals: vec![Vec::with_capacity(grid.points); rows.len()],
                        zero: zero[t].clone(),
                        limits: clip.limits_without(rows),
                        weights: rows.iter().map(|row| self.weight(*row)).collect(),
                    })
                };
                let log_weight_left = libm::log(curve.weight_sum());
                let mut table = Tabulated {
                    log_weight_left,
                    log_norm: Vec::with_capacity(grid.points),
                    train: Vec::with_capacity(grid.points),
                    log_unit: curve.log_unit(),
                    errors: vec![Vec::with_capacity(grid.points); targets.len()],
                    zero_errors: self.squares(rows, &zero),
                    clipped: targets.iter().enumerate().map(clipped_rows).collect(),
                    zero_train: curve.zero_train(),
                    has_energy: curve.log_energy() > f64::NEG_INFINITY,
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
                    for (clipped, residuals) in table.clipped.iter_mut().zip(&residuals) {
                        if let Some(clipped) = clipped {
                            clipped.residuals.iter_mut().zip(residuals).for_each(|(row, e)| row.push(*e));
                        }
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

impl Tabulated {
    /// A group starts above the last γ at which its block was singular to rounding.
    fn forget_singular(&mut self) {
        let is_fine = |g: usize| self.log_norm[g].is_finite() && self.errors.iter().all(|errors| errors[g].is_finite());
        let first = (0..self.log_norm.len()).rfind(|g| !is_fine(*g)).map_or(0, |g| g + 1);
        self.first = first.min(self.log_norm.len() - STENCIL);
    }
}
