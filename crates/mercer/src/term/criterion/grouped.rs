//! Leave-one-group-out: rows that belong together are held out together, so that the error is that of rows of a *new* group.
//!
//! Without the rows B of a group the fit is read off the decomposition of all rows (see `path/deleted_group`), every deletion at
//! its own effective ridge: |B|²r operations for each γ. Groups of even size cost n²r/K in all, so that K groups are cheaper
//! than any smaller number of folds, and no number of groups asks for folds in their place.

use super::{Criterion, FoldRule, Folds, Order};
use crate::base::error::Result;

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
