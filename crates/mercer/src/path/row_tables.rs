//! The paths of the data without one row, tabulated over γ: all rows, sixteen side by side.
//!
//! The curves γ ↦ (residual, N₋, R₋) know nothing of λ and the exponent; once they stand in a table, every (m, λ) is a
//! root between two of its points. The whole table is four matrix products.
//!
//! In log γ the curves are sums of logistic functions, analytic in a strip of half-width π: polynomials through 22
//! points 0.36 apart err by about 1e-9. The logarithm of N₋ has singularities at half that distance, and is taken of
//! the polynomial. Beyond the spectrum the sums are polynomials in 1/γ, and a few columns of the products give all others.

use std::array;
use std::ops::Range;

use rayon::prelude::*;

use super::basis::Basis;
use super::envelope::{self, Differences};
use super::far::Samples;
use super::interpolation::{LANES, Lanes, MARGIN, POINTS, Weights};
use super::row_sums::{RowParts, TargetSums};
use super::{Grid, Spectrum, Target, forget_rounding_squares};
use crate::linalg::simd::{ln_lanes, vectorize};
use crate::linalg::{Matrix, SingleColumns, SingleTiles, multiply, side_by_side};

/// Rows whose products are made together: a whole number of blocks.
pub(super) const CHUNK: usize = SingleTiles::TILE;
const _: () = assert!(CHUNK.is_multiple_of(LANES));
/// Spacing in log γ.
pub(super) const STEP: f64 = 0.36;
/// The same with many rows, whose tables take memory: polynomials err by about 1e-7 then.
const WIDE_STEP: f64 = 0.5;
/// From so many rows on.
pub(crate) const MANY_ROWS: usize = 15_000;
/// Spacing around the ridge that was chosen.
pub(super) const CLOSE_STEP: f64 = 0.1;
/// How far from it, in log γ, deletions are looked for.
pub(super) const NEAR: f64 = 0.4;

/// Tables of all single deletions.
pub(crate) struct RowTables {
    pub grid: Grid,
    pub weights: Weights,
    pub blocks: Vec<RowBlock>,
    pub targets: usize,
    /// 2k·log 2: squares of the targets' own units are 4ᵏ times those of R₋.
    pub log_unit: f64,
}

impl RowTables {
    /// The last point that a cell ends in.
    pub fn last(&self) -> usize {
        self.grid.points - 1 - MARGIN
    }
}

/// Some rows; places without a row repeat the first one and have no weight.
pub(crate) struct RowBlock {
    pub rows: usize,
    /// The weight of each row.
    pub weight: Lanes,
    /// log(W − w): γ = (W − w)μ.
    pub log_weight_left: Lanes,
    /// N₋, in units of 4ᵏ, and its logarithm in the targets' own units; by points.
    pub norm: Vec<Lanes>,
    pub log_norm: Vec<Lanes>,
    /// Its least and its largest value of all rows here.
    pub log_norm_range: Vec<(f64, f64)>,
    /// R₋, in units of 4ᵏ; empty where the tables are for exponents from 1 on, which do not need it.
    pub train: Vec<Lanes>,
    /// `[target][point]`: √w times the residual, own units.
    pub errors: Vec<Vec<Lanes>>,
    /// The same for the zero function.
    pub zero_errors: Vec<Lanes>,
    /// Between which these are kept where predictions are clipped, by targets; else empty.
    pub limits: Vec<[Lanes; 2]>,
    pub zero_train: Lanes,
    /// The first point that can be told from rounding, below which nothing changes any more; infinite where no f could
    /// follow the targets that are left.
    pub first: Lanes,
}

impl RowBlock {
    /// A table's value at each row's first point.
    pub fn at_first(&self, table: &[Lanes]) -> Lanes {
        array::from_fn(|l| if self.first[l].is_finite() { table[self.first[l] as usize][l] } else { 0.0 })
    }
}

impl Spectrum {
    /// Tables of all single deletions, for γ from `low` to `high` (logarithms relative to the largest eigenvalue); `None`
    /// where nothing would be left to learn from.
    pub(crate) fn tabulate_rows(&self, targets: &[&Target], low: f64, high: f64, has_train: bool) -> Option<RowTables> {
        let step = if self.rows() < MANY_ROWS { STEP } else { WIDE_STEP };
        self.tabulate_rows_by(step, targets, low, high, has_train)
    }

    /// The same around one γ, so closely that polynomials err by no more than rounding; for exponents from 1 on.
    pub(crate) fn tabulate_rows_near(&self, targets: &[&Target], log_gamma: f64) -> Option<RowTables> {
        let centre = log_gamma - libm::log(self.largest());
        self.tabulate_rows_by(CLOSE_STEP, targets, centre - NEAR, centre + NEAR, false)
    }

    fn tabulate_rows_by(
        &self,
        step: f64,
        targets: &[&Target],
        low: f64,
        high: f64,
        has_train: bool,
    ) -> Option<RowTables> {
        let n = self.rows();
        if n < 2 {
            return None;
        }
        let grid = grid_of(self.largest(), low, high, step);
        let visible = self.eigenvalues.iter().take_while(|d| **d > 0.0).count();
        let d = &self.eigenvalues[..visible];
        let gammas: Vec<f64> = (0..grid.points).map(|g| libm::exp(grid.log_gamma(g))).collect();
        // Sums that are read between points a wide step apart need no more digits than single precision has.
        let tiles = match &self.basis {
            Basis::Single(tiles) if step > STEP => Some(tiles),
            _ => None,
        };
        let samples = Samples::of(&gammas, self.largest());
        let samples = if step == STEP { samples.with_differences(step) } else { samples };
        let sampled = samples.gammas();
        let first = Matrix::from_fn(visible, sampled.len(), |k, g| 1.0 / (d[k] + sampled[g]));
        let with_seconds: Vec<usize> = samples.with_seconds(0..sampled.len()).collect();
        let second = |k: usize, g: usize| d[k] * first.get(k, with_seconds[g]) * first.get(k, with_seconds[g]);
        let second = Matrix::from_fn(visible, with_seconds.len(), second);
        let power = targets.iter().map(|target| target.power).max().unwrap_or(0);
        let (null, null_targets) = self.null_parts(visible, targets, power);
        let (mut sums, mut pulls) = (Vec::new(), Vec::new());
        for (target, null_target) in targets.iter().zip(null_targets) {
            let (own, pull) = TargetSums::new(target, power, d, &first, &second, &gammas, null_target);
            sums.push(own);
            pulls.push(pull);
        }
        let in_doubt: Vec<bool> = null.iter().map(|null| *null > 0.0 && *null < 1e-4).collect();
        let energy_left = |t: usize, start: usize, rows: usize, c: &Lanes| {
            let own = self.basis.block(start, rows, visible);
            let z = targets[t].z.iter().map(|z| libm::ldexp(*z, targets[t].power - power));
            let z: Vec<f64> = z.take(visible).collect();
            vectorize(
                #[inline(always)]
                || limit_energy(d, &z, c, &own, rows),
            )
        };
        let shared = Shared {
            grid,
            gammas: &gammas,
            sums: &sums,
            derived: samples.derived(),
            differences: Differences::new(step),
            power,
            has_train,
            largest: self.largest(),
            root_weights: self.root_weights.as_deref(),
            weight_sum: self.weight_sum,
            offset: self.offset,
            null: &null,
            in_doubt: &in_doubt,
            energy_left: &energy_left,
        };
        let weighings = beside(&first, &second);
        let single = tiles.map(|tiles| {
            let pulls: Vec<SingleColumns> = pulls.iter().map(SingleColumns::of).collect();
            (tiles, SingleColumns::of(&weighings), pulls)
        });
        let starts: Vec<usize> = (0..n).step_by(CHUNK).collect();
        let blocks: Vec<Vec<RowBlock>> = starts
            .into_par_iter()
            .map(|start| {
                let height = CHUNK.min(n - start);
                // Chunks go side by side: their products need no shares.
                let chunk = side_by_side(|| {
                    let (squared, plain) = match &single {
                        Some((tiles, weighings, pulls)) => {
                            let rows = tiles.tile(start / CHUNK);
                            (rows.squares_times(weighings), pulls.iter().map(|pulls| rows.times(pulls)).collect())
                        }
                        None => {
                            let mut rows = self.basis.block(start, height, visible);
                            let plain: Vec<Matrix> = pulls.iter().map(|pulls| multiply(&rows, pulls)).collect();
                            rows.as_mut_slice().iter_mut().for_each(|q| *q *= *q);
                            (multiply(&rows, &weighings), plain)
                        }
                    };
                    let at_all = |both: Matrix| -> [Matrix; 2] {
                        let [first, second] = apart(both, sampled.len());
                        [samples.first_at_all(first), samples.second_at_all(second)]
                    };
                    let diagonal = at_all(squared);
                    Chunk { start, height, diagonal, duals: plain.into_iter().map(at_all).collect() }
                });
                (0..height).step_by(LANES).map(|from| shared.block(&chunk, from)).collect()
            })
            .collect();
        Some(shared.tables(blocks.into_iter().flatten().collect()))
    }

    /// ‖P_null eᵢ‖² of every row, and every target's part there in units of 2ᵏ.
    fn null_parts(&self, visible: usize, targets: &[&Target], power: i32) -> (Vec<f64>, Vec<Vec<f64>>) {
        let (n, hidden) = (self.rows(), self.basis.cols() - visible);
        let mut null = vec![0.0; n];
        let mut along = vec![vec![0.0; n]; targets.len()];
        let mut part = vec![0.0; hidden];
        for row in 0..n {
            part.iter_mut().enumerate().for_each(|(k, q)| *q = self.basis.get(row, visible + k));
            null[row] = forget_rounding_squares(&part) + self.outside[row];
            if null[row] == 0.0 {
                continue;
            }
            for (target, along) in targets.iter().zip(&mut along) {
                let inside: f64 = part.iter().zip(&target.z[visible..]).map(|(q, z)| q * z).sum();
                let outside = if self.outside[row] == 0.0 { 0.0 } else { target.outside[row] };
                along[row] = libm::ldexp(inside + outside, target.power - power);
            }
        }
        (null, along)
    }
}

/// The points of tables for γ from `low` to `high`, logarithms relative to the largest eigenvalue.
pub(super) fn grid_of(largest: f64, low: f64, high: f64, step: f64) -> Grid {
    // The floor of rows in doubt is one of the points.
    let floor = -super::deleted::LOG_MIXED;
    let start = floor - step * (((floor - low) / step).ceil() + margin_below(step) as f64);
    let mut grid = Grid::around(largest, start, high + step * MARGIN as f64, step);
    grid.points = grid.points.max(POINTS + 4);
    grid
}

/// Points below those that are used: differences reach further than polynomials.
fn margin_below(step: f64) -> usize {
    MARGIN + if step == STEP { envelope::BEYOND_MARGIN } else { 0 }
}

/// Two matrices as one: a product with both packs its other factor once.
pub(super) fn beside(left: &Matrix, right: &Matrix) -> Matrix {
    let data = [left.as_slice(), right.as_slice()].concat();
    Matrix::from_columns(left.rows(), left.cols() + right.cols(), data).unwrap_or_default()
}

/// And apart again, given how many columns the left one has.
pub(super) fn apart(both: Matrix, cols: usize) -> [Matrix; 2] {
    let (rows, others) = (both.rows(), both.cols() - cols);
    let mut left = both.into_vec();
    let right = left.split_off(rows * cols);
    [(left, cols), (right, others)].map(|(data, cols)| Matrix::from_columns(rows, cols, data).unwrap_or_default())
}

/// Products of some rows with what all rows share: rows × points, those of second powers only for points that have them.
pub(super) struct Chunk {
    pub start: usize,
    pub height: usize,
    /// Σ q²/(d + γ) and Σ d q²/(d + γ)².
    pub diagonal: [Matrix; 2],
    /// Σ q z/(d + γ) and Σ d q z/(d + γ)² of each target.
    pub duals: Vec<[Matrix; 2]>,
}

/// Σ d (z − c q)² of a target and some rows, given as (target, first row, rows, c): what N₋ tends to for large γ, times γ².
type EnergyLeft<'a> = dyn Fn(usize, usize, usize, &Lanes) -> Lanes + Sync + 'a;

/// What all rows share, wherever sums over the spectrum come from.
pub(super) struct Shared<'a> {
    pub grid: Grid,
    pub gammas: &'a [f64],
    pub sums: &'a [TargetSums],
    /// The points at which N₋ and R₋ follow from differences.
    pub derived: &'a Range<usize>,
    pub differences: Differences,
    pub power: i32,
    pub has_train: bool,
    pub largest: f64,
    pub root_weights: Option<&'a [f64]>,
    pub weight_sum: f64,
    pub offset: bool,
    /// ‖P_null eᵢ‖² of every row.
    pub null: &'a [f64],
    /// Rows of which it is not sure whether they have such a part at all.
    pub in_doubt: &'a [bool],
    pub energy_left: &'a EnergyLeft<'a>,
}

impl Shared<'_> {
    pub fn tables(&self, blocks: Vec<RowBlock>) -> RowTables {
        let log_unit = 2.0 * f64::from(self.power) * std::f64::consts::LN_2;
        RowTables { grid: self.grid, weights: Weights::new(), blocks, targets: self.sums.len(), log_unit }
    }

    /// The block that begins with row `from` of a chunk.
    pub fn block(&self, chunk: &Chunk, from: usize) -> RowBlock {
        let points = self.gammas.len();
        let rows = LANES.min(chunk.height - from);
        let place = |l: usize| from + if l < rows { l } else { 0 };
        let row = |l: usize| chunk.start + place(l);
        let lanes_of = |m: &Matrix, column: usize| -> Lanes {
            let column = &m.col(column)[from..];
            column.first_chunk().copied().unwrap_or_else(|| array::from_fn(|l| column[if l < rows { l } else { 0 }]))
        };
        let root: Lanes = array::from_fn(|l| self.root_weights.as_ref().map_or(1.0, |s| s[row(l)]));
        let weight_left: Lanes = array::from_fn(|l| self.weight_sum - root[l] * root[l]);
        let null: Lanes = array::from_fn(|l| self.null[row(l)]);
        let mut block = RowBlock {
            rows,
            weight: array::from_fn(|l| if l < rows { root[l] * root[l] } else { 0.0 }),
            log_weight_left: weight_left.map(libm::log),
            norm: vec![[0.0; LANES]; points],
            log_norm: Vec::with_capacity(points),
            log_norm_range: Vec::with_capacity(points),
            train: vec![[0.0; LANES]; if self.has_train { points } else { 0 }],
            errors: Vec::new(),
            zero_errors: Vec::new(),
            limits: Vec::new(),
            zero_train: [0.0; LANES],
            first: [f64::INFINITY; LANES],
        };
        let unit = libm::ldexp(1.0, self.power);
        let mut has_energy = [false; LANES];
        // P₋/γ without what has no eigenvalue, where N₋ follows from it, and that.
        let mut energies = vec![[0.0; LANES]; if self.derived.is_empty() { 0 } else { points }];
        let mut null_energy = [0.0; LANES];
        for (t, sums) in self.sums.iter().enumerate() {
            let null_target: Lanes = array::from_fn(|l| sums.null_target[row(l)]);
            let along = |l: usize| if null[l] > 0.0 { null_target[l] * null_target[l] / null[l] } else { 0.0 };
            let null_square: Lanes = array::from_fn(along);
            let mut errors = vec![[0.0; LANES]; points];
            vectorize(
                #[inline(always)]
                || {
                    for g in 0..points {
                        let parts = RowParts {
                            null: &null,
                            null_target: &null_target,
                            null_square: &null_square,
                            diagonal: lanes_of(&chunk.diagonal[0], g),
                            dual: lanes_of(&chunk.duals[t][0], g),
                            gamma: self.gammas[g],
                        };
                        let c = parts.residual();
                        errors[g] = c.map(|c| c * unit);
                        if let Some(energy) = energies.get_mut(g) {
                            parts.add_energy(sums.whole_pull[g], energy);
                        }
                        if self.derived.contains(&g) {
                            continue;
                        }
                        let column = if g < self.derived.start { g } else { g - self.derived.len() };
                        let seconds = [&chunk.diagonal[1], &chunk.duals[t][1]].map(|m| lanes_of(m, column));
                        let mut nowhere = [0.0; LANES];
                        let train = block.train.get_mut(g).unwrap_or(&mut nowhere);
                        parts.add(sums, g, &c, seconds, &mut block.norm[g], train);
                    }
                },
            );
            for l in 0..LANES {
                null_energy[l] += (sums.null_energy - null_square[l]).max(0.0);
            }
            block.errors.push(errors);
            if let Some(clip) = &sums.clip {
                let limits: [[f64; 2]; LANES] = array::from_fn(|l| clip.limits(row(l)).map(|limit| root[l] * limit));
                block.limits.push([0, 1].map(|end| limits.map(|limits| limits[end])));
            }
            let own = |l: usize| if self.offset { weight_left[l] / self.weight_sum } else { 1.0 };
            let zero: Lanes = array::from_fn(|l| sums.centred[row(l)] / own(l));
            block.zero_errors.push(zero.map(|zero| zero * unit));
            // √Σ d(z − cq)² ≥ √Σ dz² − |c|√d₁: with many rows that says it without a sum for each.
            let least = sums.limit.sqrt() - zero.iter().fold(0.0, |max: f64, c| max.max(c.abs())) * self.largest.sqrt();
            let energy = if least > 0.5 * sums.limit.sqrt() {
                [least * least; LANES]
            } else {
                (self.energy_left)(t, chunk.start + from, rows, &zero)
            };
            for l in 0..LANES {
                let left = (sums.centred_energy - sums.centred[row(l)] * zero[l]).max(0.0);
                block.zero_train[l] += left / weight_left[l];
                has_energy[l] |= l < rows && energy[l] > self.largest * sums.rounding;
            }
        }
        self.derive(&mut block, &energies, &null_energy);
        for train in &mut block.train {
            train.iter_mut().zip(&weight_left).for_each(|(r, weight)| *r /= weight);
        }
        self.finish(&mut block, chunk.start + from, &has_energy);
        block
    }

    /// N₋ and (W − w)R₋ where they follow from differences.
    fn derive(&self, block: &mut RowBlock, energies: &[Lanes], null_energy: &Lanes) {
        vectorize(
            #[inline(always)]
            || {
                for g in self.derived.clone() {
                    let slope = self.differences.slope(energies, g);
                    for l in 0..LANES {
                        block.norm[g][l] = energies[g][l] + slope[l];
                    }
                    if let Some(train) = block.train.get_mut(g) {
                        for l in 0..LANES {
                            train[l] = null_energy[l] + (-self.gammas[g] * slope[l]).max(0.0);
                        }
                    }
                }
            },
        );
    }

    /// Logarithms of N₋; a row in doubt about its part without eigenvalue starts where that matters little.
    fn finish(&self, block: &mut RowBlock, start: usize, has_energy: &[bool; LANES]) {
        let log_unit = 2.0 * f64::from(self.power) * std::f64::consts::LN_2;
        vectorize(
            #[inline(always)]
            || {
                for norm in &mut block.norm {
                    for n in norm.iter_mut() {
                        *n = if *n > f64::MIN_POSITIVE { *n } else { f64::MIN_POSITIVE };
                    }
                    let mut logarithms = ln_lanes(*norm);
                    for log in &mut logarithms {
                        *log += log_unit;
                    }
                    block.log_norm.push(logarithms);
                }
            },
        );
        for values in &block.log_norm {
            let range = values[..block.rows]
                .iter()
                .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), v| (low.min(*v), high.max(*v)));
            block.log_norm_range.push(range);
        }
        let floor = libm::log(self.largest) - super::deleted::LOG_MIXED;
        let at_floor = ((floor - self.grid.start) / self.grid.step).round();
        let (lowest, highest) = (margin_below(self.grid.step) as f64, (self.grid.points - 2 - MARGIN) as f64);
        for l in (0..block.rows).filter(|l| has_energy[*l]) {
            block.first[l] = if self.in_doubt[start + l] { at_floor.clamp(lowest, highest) } else { lowest };
        }
    }
}

/// Σ d (z − c q)² of some rows q.
#[inline(always)]
fn limit_energy(d: &[f64], z: &[f64], c: &Lanes, rows: &Matrix, count: usize) -> Lanes {
    let mut energy = [0.0; LANES];
    for (k, (d, z)) in d.iter().zip(z).enumerate() {
        let column = rows.col(k);
        for l in 0..LANES {
            let v = z - c[l] * column[if l < count { l } else { 0 }];
            energy[l] += d * v * v;
        }
    }
    energy
}
