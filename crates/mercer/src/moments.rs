//! Statistics of rows that add up: what a fit on landmarks needs of a table that is larger than memory.
//!
//! Rows become features φ(x) = L⁻¹k(x) of a [`LandmarkMap`]; of each fold the sums of w, wφ, wφφᵀ, wφy and wy² are kept, around
//! the means of a pilot so that nothing cancels later. Sums of blocks are added in twice the precision: parts that were
//! gathered elsewhere, in any order, merge to the same statistics to rounding. From them follows the whole surface of exponents
//! and λ with its k-fold errors: the error of a fold is a quadratic form in the coefficients fitted to the others.
//!
//! A row belongs to the fold that its content says, so that it does not matter where and when it is read.

mod bytes;
mod features;
mod solve;
mod sums;
mod tables;
#[cfg(test)]
mod tests;

use crate::error::{Error, Result};
use crate::kernel::Points;
use crate::linalg::Matrix;

pub use features::LandmarkMap;
pub use solve::{MomentFit, Solved};
use sums::Sums;
pub use tables::Pilot;

/// Sums over rows, fold by fold.
#[derive(Debug, Clone)]
pub struct Moments {
    map: LandmarkMap,
    /// Names of the targets.
    targets: Vec<String>,
    /// Means of features and targets in the pilot.
    pilot: (Vec<f64>, Vec<f64>),
    folds: Vec<Sums>,
    /// Smallest and largest value of each target.
    ranges: Vec<[f64; 2]>,
    rows: u64,
}

/// Rows whose features are computed at a time.
const BLOCK: usize = 4096;

impl Moments {
    /// Nothing yet. The pilot gives the means around which sums are taken, from rows like those to come.
    pub fn new(map: LandmarkMap, targets: Vec<String>, folds: usize, pilot: (&Points, &Matrix)) -> Result<Self> {
        let (points, y) = pilot;
        if folds < 2 {
            return Err(Error::argument("the number of folds", "at least 2", folds));
        }
        if points.rows() == 0 || points.rows() != y.rows() || y.cols() != targets.len() {
            return Err(Error::shape("the pilot", "rows with a value of every target", y.rows()));
        }
        let features = map.features(points);
        let count = points.rows() as f64;
        let mut mean = vec![0.0; map.width()];
        (0..points.rows())
            .for_each(|i| mean.iter_mut().zip(features.col(i)).for_each(|(sum, value)| *sum += value / count));
        let means = (0..y.cols()).map(|t| y.col(t).iter().map(|v| v / count).sum()).collect();
        let empty = Sums::new(map.width(), targets.len());
        Ok(Moments {
            pilot: (mean, means),
            folds: vec![empty; folds],
            ranges: vec![[f64::INFINITY, f64::NEG_INFINITY]; targets.len()],
            rows: 0,
            map,
            targets,
        })
    }

    /// The same map, folds and pilot with nothing in it: what another machine fills.
    pub fn emptied(&self) -> Self {
        let empty = Sums::new(self.map.width(), self.targets.len());
        Moments {
            folds: vec![empty; self.folds.len()],
            ranges: vec![[f64::INFINITY, f64::NEG_INFINITY]; self.targets.len()],
            rows: 0,
            ..self.clone()
        }
    }

    /// The feature map.
    pub fn map(&self) -> &LandmarkMap {
        &self.map
    }

    /// The targets' names.
    pub fn targets(&self) -> &[String] {
        &self.targets
    }

    /// Number of rows so far.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// Number of folds.
    pub fn folds(&self) -> usize {
        self.folds.len()
    }

    /// Adds rows: their points as the map's encoder makes them, a column of `y` for each target, and weights if there are any.
    pub fn absorb(&mut self, points: &Points, y: &Matrix, weights: Option<&[f64]>) -> Result<()> {
        let n = points.rows();
        if y.rows() != n || y.cols() != self.targets.len() {
            let must = format!("{n} rows and {} targets", self.targets.len());
            return Err(Error::shape("y", must, format!("{} × {}", y.rows(), y.cols())));
        }
        if let Some(weights) = weights.filter(|weights| weights.len() != n) {
            return Err(Error::shape("weights", format!("one number per row ({n})"), weights.len()));
        }
        let mut members: Vec<Vec<usize>> = vec![Vec::new(); self.folds.len()];
        (0..n).for_each(|row| members[fold_of(points, y, row, self.folds.len())].push(row));
        for (fold, rows) in members.iter().enumerate() {
            for block in rows.chunks(BLOCK) {
                let part = points.subset(block);
                let mut features = self.map.features(&part);
                let root = |row: usize| weights.map_or(1.0, |w| w[row].sqrt());
                for (i, row) in block.iter().enumerate() {
                    let scale = root(*row);
                    let column = features.col_mut(i).iter_mut();
                    column.zip(&self.pilot.0).for_each(|(value, mean)| *value = (*value - mean) * scale);
                }
                let values = Matrix::from_fn(self.targets.len(), block.len(), |t, i| {
                    (y.get(block[i], t) - self.pilot.1[t]) * root(block[i])
                });
                let roots: Vec<f64> = block.iter().map(|row| root(*row)).collect();
                let mut heights = vec![0.0; block.len()];
                self.map.kernel().diagonal(&part, 0, &mut heights);
                let height = heights.iter().zip(&roots).map(|(k, s)| k * s * s).sum();
                self.folds[fold].add_block(&features, &values, &roots, height);
            }
        }
        for (t, range) in self.ranges.iter_mut().enumerate() {
            y.col(t).iter().for_each(|v| *range = [range[0].min(*v), range[1].max(*v)]);
        }
        self.rows += n as u64;
        Ok(())
    }

    /// Adds what was gathered elsewhere with the same map.
    pub fn merge(&mut self, other: &Moments) -> Result<()> {
        let is_same = self.map.fingerprint() == other.map.fingerprint()
            && self.targets == other.targets
            && self.folds.len() == other.folds.len()
            && self.pilot == other.pilot;
        if !is_same {
            return Err(Error::argument(
                "moments that are merged",
                "gathered with the same landmarks, targets and folds",
                "others (gather both parts like the first)",
            ));
        }
        self.folds.iter_mut().zip(&other.folds).for_each(|(own, other)| own.merge(other));
        for (range, other) in self.ranges.iter_mut().zip(&other.ranges) {
            *range = [range[0].min(other[0]), range[1].max(other[1])];
        }
        self.rows += other.rows;
        Ok(())
    }
}

/// The fold of a row: a hash of its numbers (splitmix64 over their bits).
fn fold_of(points: &Points, y: &Matrix, row: usize, folds: usize) -> usize {
    let mut state = 0x9E37_79B9_7F4A_7C15_u64;
    let mut mix = |bits: u64| {
        state = (state ^ bits).wrapping_add(0x9E37_79B9_7F4A_7C15);
        state = (state ^ (state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        state = (state ^ (state >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        state ^= state >> 31;
    };
    // −0 and 0 are the same number.
    (0..points.features()).for_each(|j| mix((points.feature(j)[row] + 0.0).to_bits()));
    (0..points.code_columns()).for_each(|j| mix(u64::from(points.codes(j)[row])));
    (0..y.cols()).for_each(|t| mix((y.get(row, t) + 0.0).to_bits()));
    (state % folds as u64) as usize
}
