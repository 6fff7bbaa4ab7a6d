//! Leave-one-group-out: rows that belong together are held out together, so that the error is that of rows of a *new* group.
//!
//! Without the rows B of a group the fit is read off the decomposition of all rows (see `spectrum/deleted_group`), every deletion at
//! its own effective ridge: |B|²r operations for each γ. Groups of even size cost n²r/K in all, so that K groups are cheaper
//! than any smaller number of folds, and no number of groups asks for folds in their place.

use rayon::prelude::*;

use super::{Criterion, FoldRule, Folds, Order};
use crate::error::Result;
use crate::solver::power;
use crate::spectrum::{DeletedGroup, Spectrum, Target};

impl FoldRule {
    /// Every group once, a fold each.
    pub fn each_group() -> Self {
        FoldRule::random(0)
    }

    /// Whether every group is a fold of its own.
    pub fn is_each_group(&self) -> bool {
        self.folds == 0 && self.order == Order::Random
    }
}

impl Criterion {
    /// What the criterion means for rows that have groups: leave-one-out leaves out whole groups.
    #[must_use]
    pub fn for_groups(&self) -> Self {
        match self {
            Criterion::LeaveOneOut => Criterion::KFold(FoldRule::each_group()),
            other => other.clone(),
        }
    }

    /// Whether it leaves out every group in turn.
    pub fn leaves_out_groups(&self) -> bool {
        matches!(self, Criterion::KFold(rule) if rule.is_each_group())
    }
}

/// Rows that leave together, each group once; `None` for less than two groups.
pub(crate) fn whole_groups(groups: &[u32]) -> Option<Folds> {
    folds_of_groups(groups).ok()
}

/// The same; refused for less than two groups.
pub(crate) fn folds_of_groups(groups: &[u32]) -> Result<Folds> {
    Folds::draw(&FoldRule::each_group(), groups.len(), Some(groups), 0)
}

/// Number of different groups.
pub(crate) fn count(groups: &[u32]) -> usize {
    let mut codes = groups.to_vec();
    codes.sort_unstable();
    codes.dedup();
    codes.len()
}

/// Residuals of every row by the fit without its fold, `[target][row]`; targets share one effective ridge. Every row must be in one fold.
pub(crate) fn residuals_without_folds(
    spectrum: &Spectrum,
    targets: &[&Target],
    exponent: f64,
    log_lambda: f64,
    folds: &Folds,
) -> Vec<Vec<f64>> {
    let start = power::minimise(&mut spectrum.path(targets), exponent, log_lambda, None).log_ridge;
    let of_fold = |rows: &Vec<usize>| {
        let mut group = DeletedGroup::new(spectrum, targets, rows);
        let minimum = power::minimise(&mut group, exponent, log_lambda, start);
        let mut residuals = group.residuals(minimum.log_ridge);
        super::held_out::keep_group(targets, rows, &mut residuals);
        residuals
    };
    let found: Vec<Vec<Vec<f64>>> = folds.groups.par_iter().map(of_fold).collect();
    let mut all = vec![vec![f64::NAN; spectrum.rows()]; targets.len()];
    for (rows, residuals) in folds.groups.iter().zip(found) {
        for (all, residuals) in all.iter_mut().zip(residuals) {
            rows.iter().zip(residuals).for_each(|(row, e)| all[*row] = e);
        }
    }
    all
}
