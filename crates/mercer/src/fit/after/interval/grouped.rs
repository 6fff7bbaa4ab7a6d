//! Ends of intervals for rows of new groups: every group of training rows weighs alike (see [`interval`](super)).

use std::collections::HashMap;

use crate::base::error::{Error, Result};
use crate::linalg::Matrix;
use crate::term::criterion::Folds;

/// What each row weighs among the residuals: 1/Nₖ, one for every group.
pub(super) struct Shares {
    of_row: Vec<f64>,
    pub groups: usize,
}

impl Shares {
    /// From the number of each row's group.
    pub fn new(groups: &[u32]) -> Self {
        let mut sizes: HashMap<u32, usize> = HashMap::new();
        groups.iter().for_each(|code| *sizes.entry(*code).or_default() += 1);
        let of_row = groups.iter().map(|code| 1.0 / sizes[code] as f64).collect();
        Shares { of_row, groups: sizes.len() }
    }

    /// The ends for every row of `predicted`; `column(i)` is where the fit without training row i stands.
    pub fn ends(
        &self,
        level: f64,
        predicted: &Matrix,
        residuals: &[f64],
        column: impl Fn(usize) -> usize,
        lower: &mut Vec<f64>,
        upper: &mut Vec<f64>,
    ) {
        // 1 − 0.9 and sums of thirds are rounded; neither must cost a row.
        let enough = level * (self.groups as f64 + 1.0) - 1e-9 * self.groups as f64;
        let mut values: Vec<(f64, f64)> = Vec::with_capacity(residuals.len());
        for row in 0..predicted.rows() {
            // The smallest v with a share of at least `enough` at or below it, of ±f₋ + |e|.
            let mut end = |sign: f64| {
                let value = |i: usize| sign * predicted.get(row, column(i)) + residuals[i].abs();
                values.clear();
                values.extend(self.of_row.iter().enumerate().map(|(i, share)| (value(i), *share)));
                values.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
                let mut sum = 0.0;
                let place = values.iter().position(|(_, share)| {
                    sum += share;
                    sum >= enough
                });
                sign * place.map_or(f64::INFINITY, |place| values[place].0)
            };
            lower.push(end(-1.0));
            upper.push(end(1.0));
        }
    }
}

/// Refuses folds that part a group.
pub(super) fn check_folds(folds: &Folds, groups: &[u32]) -> Result<()> {
    let mut fold_of: HashMap<u32, usize> = HashMap::new();
    for (fold, rows) in folds.groups.iter().enumerate() {
        for row in rows {
            let group = groups.get(*row);
            if group.is_none_or(|group| *fold_of.entry(*group).or_insert(fold) != fold) {
                let must = "such that rows of one group are in one fold";
                return Err(Error::argument("the folds of an interval", must, format!("row {} elsewhere", row + 1)));
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fit::after::interval::order_statistics;

    #[test]
    fn groups_of_one_row_have_the_ends_of_single_rows() {
        for n in [9_usize, 10, 19, 25, 40] {
            let residuals: Vec<f64> = (0..n).map(|i| libm::sin(1.7 * i as f64)).collect();
            let predicted = Matrix::from_fn(5, n, |i, j| libm::cos((i * n + j) as f64));
            let groups: Vec<u32> = (0..n as u32).collect();
            for level in [0.5, 0.8, 0.9] {
                let (mut a, mut b) = ((Vec::new(), Vec::new()), (Vec::new(), Vec::new()));
                order_statistics(level, &predicted, &residuals, |i| i, &mut a.0, &mut a.1);
                Shares::new(&groups).ends(level, &predicted, &residuals, |i| i, &mut b.0, &mut b.1);
                assert_eq!(a, b, "{n} rows, level {level}");
            }
        }
    }

    #[test]
    fn a_group_counts_once_however_many_rows_it_has() {
        // Nine groups; the first has a hundred large residuals, which are one tenth of the shares.
        let groups: Vec<u32> = (0..108).map(|i: u32| i.saturating_sub(99)).collect();
        let residuals: Vec<f64> = groups.iter().map(|g| if *g == 0 { 50.0 } else { f64::from(*g) }).collect();
        let predicted = Matrix::zeros(1, 108);
        let (mut lower, mut upper) = (Vec::new(), Vec::new());
        Shares::new(&groups).ends(0.8, &predicted, &residuals, |i| i, &mut lower, &mut upper);
        assert_eq!((lower[0], upper[0]), (-8.0, 8.0));
        Shares::new(&groups).ends(0.9, &predicted, &residuals, |i| i, &mut lower, &mut upper);
        assert_eq!((lower[1], upper[1]), (-50.0, 50.0));
    }
}
