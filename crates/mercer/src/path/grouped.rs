//! Residuals of whole groups, read off the decomposition of all rows.

use rayon::prelude::*;

use super::held_out::keep_group;
use super::power;
use super::{DeletedGroup, Spectrum, Target};
use crate::term::criterion::Folds;

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
        keep_group(targets, rows, &mut residuals);
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
