//! A metric that was learned from a part of the rows, set right on all of them.

use super::candidates::Candidate;
use super::search::Clock;
use crate::base::clip::Clip;
use crate::base::error::Result;
use crate::choose::metric::learn::Learned;
use crate::choose::metric::ridge::{LeftOut, ridge_fit};
use crate::data::Design;
use crate::fit::Fitted;
use crate::model::Expansion;
use crate::term::criterion::Folds;

/// Lengthscales in common and λ by leave-one-out (of whole groups, where there are some) on all rows: each try is one factorisation.
pub(super) struct Polish<'a> {
    pub design: &'a Design,
    /// The kernel with all lengthscales multiplied by exp of a number.
    pub kernel: &'a dyn Fn(f64) -> Result<Learned>,
    pub offset: bool,
    pub clip: bool,
    pub clock: &'a Clock,
    /// Where rows have groups: the rows of each, which are left out together.
    pub groups: Option<Folds>,
}

/// How a search goes: steps of log λ (lengthscales move half as far), and tries at most.
pub(super) struct Steps {
    pub lengths: &'static [f64],
    pub most: usize,
    pub with_stretch: bool,
}

/// λ alone, quickly.
pub(super) const COARSE: Steps = Steps { lengths: &[2.0], most: 4, with_stretch: false };
/// Lengthscales and λ.
pub(super) const FINE: Steps = Steps { lengths: &[1.0, 0.5], most: 10, with_stretch: true };

/// What was learned, with all lengthscales multiplied by exp(`by`).
pub(super) fn stretched(learned: &Learned, candidate: &Candidate, features: usize, by: f64) -> Result<Learned> {
    if !candidate.is_learned || by == 0.0 {
        return Ok(learned.clone());
    }
    Ok(learned.stretched(&candidate.kernels()?, features, candidate.is_tied(), by))
}

impl Polish<'_> {
    /// The leave-one-out square of every row, the targets in units of their deviation; `None` when it cannot be computed.
    pub fn squares(&self, [stretch, log_lambda]: [f64; 2]) -> Option<Vec<f64>> {
        let Design { points, y, .. } = self.design;
        let units = self.design.deviations();
        let root_weights: Option<Vec<f64>> = self.design.weights.as_ref().map(|w| w.iter().map(|w| w.sqrt()).collect());
        let gamma = libm::exp(log_lambda) * self.design.weight_sum();
        let Learned { kernel, .. } = (self.kernel)(stretch).ok()?;
        let left_out = self.groups.as_ref().map_or(LeftOut::Rows, |folds| LeftOut::Groups(&folds.groups));
        let fit = ridge_fit(&*kernel, points, y, root_weights.as_deref(), self.offset, gamma, left_out)?;
        let mut residuals = fit.residuals?;
        for t in (0..residuals.cols()).filter(|_| self.clip) {
            let clip = Clip::of(y.col(t));
            match &self.groups {
                None => clip.keep_rows(residuals.col_mut(t)),
                Some(folds) => folds.groups.iter().for_each(|rows| {
                    let mut part: Vec<f64> = rows.iter().map(|row| residuals.get(*row, t)).collect();
                    clip.keep_group(rows, &mut part);
                    rows.iter().zip(part).for_each(|(row, e)| residuals.set(*row, t, e));
                }),
            }
        }
        let square = |row: usize, t: usize| residuals.get(row, t) / units[t] * (residuals.get(row, t) / units[t]);
        Some((0..residuals.rows()).map(|row| (0..units.len()).map(|t| square(row, t)).sum()).collect())
    }

    /// Steps along λ and the stretch in turn, then shorter ones, from (stretch, log λ): both, and the error.
    pub fn run(&self, start: [f64; 2], can_stretch: bool, steps: &Steps) -> [f64; 3] {
        let error = |at: [f64; 2]| self.squares(at).map_or(f64::INFINITY, |squares| squares.iter().sum());
        let mut at = start;
        let mut least = error(at);
        let mut tries = 1;
        let axes: &[usize] = if can_stretch && steps.with_stretch { &[1, 0] } else { &[1] };
        for length in steps.lengths {
            for axis in axes {
                for sign in [-1.0, 1.0] {
                    let mut has_moved = false;
                    while tries < steps.most && (tries < 3 || !self.clock.cuts(self.clock.left() <= 0.0)) {
                        let mut next = at;
                        next[*axis] += sign * length * if *axis == 1 { 1.0 } else { 0.5 };
                        tries += 1;
                        let found = error(next);
                        if !(found < least) {
                            break;
                        }
                        (at, least, has_moved) = (next, found, true);
                    }
                    if has_moved {
                        break;
                    }
                }
            }
        }
        [at[0], at[1], least]
    }
}

/// The share of each feature in the mean square of the derivatives of f; for a linear function of its coefficients.
pub(super) fn mean_gradient(fitted: &Fitted, chosen: &Candidate, learned: &Learned) -> Vec<(String, f64)> {
    let names = fitted.model.encoder().feature_names();
    let alpha = fitted.model.coefficients(0);
    let squares: Vec<f64> = if chosen.families == ["linear"] && alpha.len() == names.len() {
        alpha.iter().map(|w| w * w).collect()
    } else if chosen.is_learned {
        let Ok(families) = chosen.kernels() else { return Vec::new() };
        // At the points that the model carries: all rows, or its landmarks.
        let Expansion::Kernel { points, .. } = &fitted.model.expansion else { return Vec::new() };
        learned.squared_slopes(&families, &points.to_matrix(), alpha)
    } else {
        Vec::new()
    };
    let total: f64 = squares.iter().sum();
    if !(total > 0.0 && total.is_finite()) || squares.len() != names.len() {
        return Vec::new();
    }
    let mut shares: Vec<(String, f64)> = names.into_iter().zip(squares).map(|(name, s)| (name, s / total)).collect();
    shares.sort_by(|a, b| b.1.total_cmp(&a.1));
    shares
}
