//! The fits of all rows but a group: what cross-validation leaves, with predictions.

use rayon::prelude::*;

use super::Functions;
use crate::base::error::{Error, Result};
use crate::linalg::Matrix;
use crate::path::power;
use crate::path::{DeletedGroup, Spectrum, Target};

/// All fits without one group of rows.
#[derive(Debug, Clone)]
pub struct GroupDeletions {
    /// yᵢ − f₋B(xᵢ) − b₋B for every row i, B being its group.
    pub residuals: Vec<f64>,
    /// The group of every row.
    pub group_of: Vec<usize>,
    functions: Functions,
}

impl Spectrum {
    /// The fits of one target without each group, at the exponent and λ of the whole: what refits on the other rows would
    /// give. Every row must be in exactly one group.
    pub fn group_deletions(
        &self,
        target: &Target,
        exponent: f64,
        lambda: f64,
        groups: &[Vec<usize>],
    ) -> Result<GroupDeletions> {
        let group_of = group_of(groups, self.rows())?;
        let log_lambda = libm::log(lambda);
        let start = power::minimise(&mut self.path(&[target]), exponent, log_lambda, None).log_ridge;
        let found: Vec<(Vec<f64>, Vec<f64>)> = groups
            .par_iter()
            .map(|rows| {
                let mut group = DeletedGroup::new(self, &[target], rows);
                let log_ridge = power::minimise(&mut group, exponent, log_lambda, start).log_ridge;
                (group.fit(log_ridge), group.residuals(log_ridge).swap_remove(0))
            })
            .collect();
        let mut functions = Functions::none(self, groups.len());
        let mut residuals = vec![0.0; self.rows()];
        for (index, ((u, of_group), rows)) in found.into_iter().zip(groups).enumerate() {
            let weighted = rows.iter().zip(&of_group).map(|(row, e)| self.weight(*row) * e).sum();
            functions.add(self, target, index, &u, weighted);
            rows.iter().zip(of_group).for_each(|(row, e)| residuals[*row] = e);
        }
        if residuals.iter().any(|e| !e.is_finite()) {
            return Err(Error::Decomposition(
                "a fit without one of the folds is not finite; a larger λ is needed".into(),
            ));
        }
        Ok(GroupDeletions { residuals, group_of, functions })
    }
}

impl GroupDeletions {
    /// f₋B(x) + b₋B for every new row (rows of the result) and every group (its columns). `projected` are the new rows in
    /// the coordinates of the spectrum.
    pub(crate) fn predict(&self, projected: &Matrix) -> Matrix {
        self.functions.at(projected)
    }
}

/// The group of each row; refused unless every row has exactly one and every group leaves some.
fn group_of(groups: &[Vec<usize>], rows: usize) -> Result<Vec<usize>> {
    let mut of = vec![usize::MAX; rows];
    for (index, group) in groups.iter().enumerate() {
        for row in group {
            let place = of.get_mut(*row).filter(|place| **place == usize::MAX);
            let place = place.ok_or_else(|| {
                Error::argument("the folds", format!("such that each of the {rows} rows is in one"), row + 1)
            })?;
            *place = index;
        }
    }
    if groups.len() < 2 || of.contains(&usize::MAX) || groups.iter().any(Vec::is_empty) {
        let must = format!("two or more that hold each of the {rows} rows once");
        return Err(Error::argument("the folds", must, groups.len()));
    }
    Ok(of)
}
