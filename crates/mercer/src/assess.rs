//! An error estimate that selection did not touch: whole fits, choices included, on all folds but one.

use crate::criterion::{FoldRule, Folds};
use crate::data::{Column, Frame, Roles};
use crate::error::{Error, Result};
use crate::model::Model;

/// Errors on rows that the fit never saw, fold by fold.
#[derive(Debug, Clone, PartialEq)]
pub struct Assessment {
    /// The targets' names.
    pub targets: Vec<String>,
    /// Root mean squared error, `[target][fold]`.
    pub rmse: Vec<Vec<f64>>,
    /// The predictions of the held-out rows, `[target][row of the table]`; `None` for rows that were not used.
    pub predicted: Vec<Vec<Option<f64>>>,
    /// Seconds of each fit.
    pub seconds: Vec<f64>,
}

impl Assessment {
    /// Mean over the folds.
    pub fn mean(&self, target: usize) -> f64 {
        let rmse = &self.rmse[target];
        rmse.iter().sum::<f64>() / rmse.len().max(1) as f64
    }

    /// Standard deviation over the folds; 0 with a single one.
    pub fn deviation(&self, target: usize) -> f64 {
        let (rmse, mean) = (&self.rmse[target], self.mean(target));
        let sum: f64 = rmse.iter().map(|e| (e - mean) * (e - mean)).sum();
        if rmse.len() > 1 { (sum / (rmse.len() - 1) as f64).sqrt() } else { 0.0 }
    }
}

/// Draws outer folds over the rows of a table that have a target (and a weight, if there are weights); rows of one group
/// stay together.
pub fn outer_folds(frame: &Frame, roles: &Roles, rule: &FoldRule, seed: u64) -> Result<Folds> {
    let needed: Vec<&Column> =
        roles.targets.iter().chain(&roles.weight).map(|name| frame.column(name)).collect::<Result<_>>()?;
    let usable: Vec<usize> =
        (0..frame.rows()).filter(|row| needed.iter().all(|column| !column.is_missing(*row))).collect();
    let groups = match &roles.group {
        Some(name) => Some(crate::data::group_codes(frame, name, &usable)?),
        None => None,
    };
    let folds = Folds::draw(rule, usable.len(), groups.as_deref(), seed)?;
    let in_table = |rows: &Vec<usize>| rows.iter().map(|row| usable[*row]).collect();
    Ok(Folds { groups: folds.groups.iter().map(in_table).collect(), repeats: folds.repeats })
}

/// Fits on all rows but a fold's with `fit`, predicts the fold, and goes on to the next. Errors are weighted like the rows.
pub fn assess(
    frame: &Frame,
    roles: &Roles,
    folds: &Folds,
    mut fit: impl FnMut(&Frame, usize) -> Result<Model>,
) -> Result<Assessment> {
    let weights = match roles.weight.as_ref().map(|name| frame.column(name)).transpose()? {
        Some(Column::Number(cells)) => Some(cells),
        _ => None,
    };
    let mut found = Assessment {
        targets: roles.targets.clone(),
        rmse: vec![Vec::new(); roles.targets.len()],
        predicted: vec![vec![None; frame.rows()]; roles.targets.len()],
        seconds: Vec::new(),
    };
    for (index, fold) in folds.groups.iter().enumerate() {
        let mut is_held_out = vec![false; frame.rows()];
        fold.iter().for_each(|row| is_held_out[*row] = true);
        let kept: Vec<usize> = (0..frame.rows()).filter(|row| !is_held_out[*row]).collect();
        let started = std::time::Instant::now();
        let model = fit(&frame.select_rows(&kept), index)?;
        found.seconds.push(started.elapsed().as_secs_f64());
        let predictions = model.predict_frame(&frame.select_rows(fold))?;
        for (t, name) in roles.targets.iter().enumerate() {
            let Column::Number(truth) = frame.column(name)? else { continue };
            let (mut sum, mut total) = (0.0, 0.0);
            for (row, prediction) in fold.iter().zip(&predictions[t]) {
                let weight = weights.map_or(1.0, |w| w[*row]);
                if let Some(value) = prediction.filter(|_| weight > 0.0) {
                    sum += weight * (truth[*row] - value) * (truth[*row] - value);
                    total += weight;
                    found.predicted[t][*row] = Some(value);
                }
            }
            if total == 0.0 {
                return Err(Error::Empty(format!("fold {} has no row that could be predicted", index + 1)));
            }
            found.rmse[t].push((sum / total).sqrt());
        }
    }
    Ok(found)
}
