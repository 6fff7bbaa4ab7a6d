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
mod parts;
mod solve;
mod sums;
mod tables;
#[cfg(test)]
mod tests;

use rayon::prelude::*;

use crate::base::error::{Error, Result};
use crate::data::Points;
use crate::linalg::{Matrix, side_by_side};

pub use features::LandmarkMap;
use parts::{Part, mixed};
pub use solve::{MomentFit, Solved};
use sums::{BlockSums, Sums};
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
    /// The largest k(x, x).
    height: f64,
    /// The column of row weights.
    weight: Option<String>,
    rows: u64,
    /// The parts that are in it, and the rows since the last of them.
    parts: Vec<Part>,
    open: Part,
}

/// Rows whose features are computed at a time, by one thread.
const BLOCK: usize = 2048;

impl Moments {
    /// Nothing yet. The pilot gives the means around which sums are taken, from rows like those to come.
    pub fn new(map: LandmarkMap, targets: Vec<String>, folds: usize, pilot: (&Points, &Matrix)) -> Result<Self> {
        let (points, y) = pilot;
        if !(2..=usize::from(u16::MAX)).contains(&folds) {
            return Err(Error::argument("the number of folds", "from 2 to 65,535", folds));
        }
        if points.rows() == 0 || points.rows() != y.rows() || y.cols() != targets.len() {
            return Err(Error::shape("the pilot", "rows with a value of every target", y.rows()));
        }
        let count = points.rows() as f64;
        let rows: Vec<usize> = (0..points.rows()).collect();
        let means: Vec<Vec<f64>> = rows
            .par_chunks(BLOCK)
            .map(|block| {
                let features = side_by_side(|| map.features(&points.subset(block)));
                let mut mean = vec![0.0; map.width()];
                let columns = features.as_slice().chunks_exact(map.width());
                columns.for_each(|column| mean.iter_mut().zip(column).for_each(|(sum, value)| *sum += value / count));
                mean
            })
            .collect();
        let mean = (0..map.width()).map(|k| means.iter().map(|part| part[k]).sum()).collect();
        let means = (0..y.cols()).map(|t| y.col(t).iter().map(|v| v / count).sum()).collect();
        let empty = Sums::new(map.width(), targets.len());
        Ok(Moments {
            pilot: (mean, means),
            folds: vec![empty; folds],
            ranges: vec![[f64::INFINITY, f64::NEG_INFINITY]; targets.len()],
            height: 0.0,
            weight: None,
            rows: 0,
            parts: Vec::new(),
            open: Part::default(),
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
            height: 0.0,
            rows: 0,
            parts: Vec::new(),
            open: Part::default(),
            map: self.map.clone(),
            targets: self.targets.clone(),
            pilot: self.pilot.clone(),
            weight: self.weight.clone(),
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

    /// The column of row weights, if rows have some.
    pub fn weight(&self) -> Option<&str> {
        self.weight.as_deref()
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
        for row in 0..n {
            let hash = hash_of(points, y, row);
            members[(hash % self.folds.len() as u64) as usize].push(row);
            self.open.add(hash, weights.map_or(1.0, |weights| weights[row]));
        }
        // Blocks go side by side, each on one thread; their sums are added in the order of the rows.
        let blocks: Vec<(usize, &[usize])> = (members.iter().enumerate())
            .flat_map(|(fold, rows)| rows.chunks(BLOCK).map(move |block| (fold, block)))
            .collect();
        let found: Vec<(usize, BlockSums)> = blocks
            .into_par_iter()
            .map(|(fold, block)| (fold, side_by_side(|| self.block(points, y, weights, block))))
            .collect();
        self.height = found.iter().fold(self.height, |height, (_, sums)| height.max(sums.largest_height));
        self.folds.par_iter_mut().enumerate().for_each(|(fold, sums)| {
            found.iter().filter(|(own, _)| *own == fold).for_each(|(_, block)| sums.add(block));
        });
        for (t, range) in self.ranges.iter_mut().enumerate() {
            y.col(t).iter().for_each(|v| *range = [range[0].min(*v), range[1].max(*v)]);
        }
        self.rows += n as u64;
        Ok(())
    }

    /// The rows added since the last call are a part of their own, which can be added once: an error if it was before.
    pub fn end_part(&mut self) -> Result<()> {
        let part = std::mem::take(&mut self.open);
        if part.rows > 0 && self.parts.contains(&part) {
            let got = format!("the same {} rows again", part.rows);
            return Err(Error::argument("a table that is added", "one that was not added before", got));
        }
        self.parts.extend(Some(part).filter(|part| part.rows > 0));
        Ok(())
    }

    /// All parts, the one that has not ended included.
    fn all_parts(&self) -> impl Iterator<Item = &Part> {
        self.parts.iter().chain(Some(&self.open).filter(|part| part.rows > 0))
    }

    /// Adds what was gathered elsewhere with the same map, from other rows: a part that is in both is refused.
    pub fn merge(&mut self, other: &Moments) -> Result<()> {
        let is_same = self.map.fingerprint() == other.map.fingerprint()
            && self.targets == other.targets
            && self.folds.len() == other.folds.len()
            && self.pilot == other.pilot
            && self.weight == other.weight;
        if !is_same {
            return Err(Error::argument(
                "moments that are merged",
                "gathered with the same landmarks, targets, folds and column of weights",
                "others (gather both parts like the first)",
            ));
        }
        let twice: u64 =
            other.all_parts().filter(|part| self.all_parts().any(|own| own == *part)).map(|part| part.rows).sum();
        if twice > 0 {
            let got = format!("{twice} rows that are in both and would count twice");
            return Err(Error::argument("moments that are merged", "gathered from different rows", got));
        }
        self.end_part()?;
        self.parts.extend(other.all_parts());
        self.folds.iter_mut().zip(&other.folds).for_each(|(own, other)| own.merge(other));
        for (range, other) in self.ranges.iter_mut().zip(&other.ranges) {
            *range = [range[0].min(other[0]), range[1].max(other[1])];
        }
        self.height = self.height.max(other.height);
        self.rows += other.rows;
        Ok(())
    }

    /// The sums of some rows of one fold.
    fn block(&self, points: &Points, y: &Matrix, weights: Option<&[f64]>, block: &[usize]) -> BlockSums {
        let part = points.subset(block);
        let root = |row: usize| weights.map_or(1.0, |w| w[row].sqrt());
        let roots: Vec<f64> = block.iter().map(|row| root(*row)).collect();
        let mut features = self.map.features(&part);
        for (column, root) in features.as_mut_slice().chunks_exact_mut(self.map.width()).zip(&roots) {
            column.iter_mut().zip(&self.pilot.0).for_each(|(value, mean)| *value = (*value - mean) * root);
        }
        let values =
            Matrix::from_fn(self.targets.len(), block.len(), |t, i| (y.get(block[i], t) - self.pilot.1[t]) * roots[i]);
        let mut heights = vec![0.0; block.len()];
        self.map.kernel().diagonal(&part, 0, &mut heights);
        BlockSums::new(&features, &values, &roots, &heights)
    }
}

/// A hash of a row's numbers, which tells its fold.
fn hash_of(points: &Points, y: &Matrix, row: usize) -> u64 {
    let mut state = 0x9E37_79B9_7F4A_7C15_u64;
    // −0 and 0 are the same number.
    (0..points.features()).for_each(|j| state = mixed(state, (points.feature(j)[row] + 0.0).to_bits()));
    (0..points.code_columns()).for_each(|j| state = mixed(state, u64::from(points.codes(j)[row])));
    (0..y.cols()).for_each(|t| state = mixed(state, (y.get(row, t) + 0.0).to_bits()));
    state
}
