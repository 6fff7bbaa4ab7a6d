//! An error estimate that selection did not touch: whole fits, choices included, on all folds but one.

use crate::base::error::{Error, Result};
use crate::data::{Column, Frame, Roles};
use crate::model::Model;
use crate::term::criterion::{FoldRule, Folds};

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
    /// Sums over all held-out rows, weighted, one per target.
    sums: Vec<Sums>,
}

/// Squared errors, weights, w·y and w·y².
#[derive(Debug, Clone, Copy, PartialEq, Default)]
struct Sums {
    errors: f64,
    weight: f64,
    first: f64,
    second: f64,
}

/// What can be assessed: anything that predicts a table as a [`Model`] does.
pub trait Predicts {
    /// One vector per target, `None` where a row cannot be predicted.
    fn predict_frame(&self, frame: &Frame) -> Result<Vec<Vec<Option<f64>>>>;
}

impl Predicts for Model {
    fn predict_frame(&self, frame: &Frame) -> Result<Vec<Vec<Option<f64>>>> {
        Model::predict_frame(self, frame)
    }
}

impl Assessment {
    /// Root mean squared error of all held-out rows together.
    pub fn pooled(&self, target: usize) -> f64 {
        let sums = &self.sums[target];
        if sums.weight > 0.0 { (sums.errors / sums.weight).sqrt() } else { f64::NAN }
    }

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

    /// Share of the variance explained, all held-out rows together; `None` if the target does not vary.
    pub fn r2(&self, target: usize) -> Option<f64> {
        let Sums { errors, weight, first, second } = self.sums[target];
        let variation = second - first * first / weight;
        (variation > 1e-12 * second).then(|| 1.0 - errors / variation)
    }

    /// Mean seconds of a fit.
    pub fn mean_seconds(&self) -> f64 {
        self.seconds.iter().sum::<f64>() / self.seconds.len().max(1) as f64
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
    Ok(folds.moved(&usable))
}

/// Fits on all rows but a fold's (of rows in order of time: on the earlier ones) with `fit`, predicts the fold, and goes on to the next. Errors are weighted like the rows.
pub fn assess<P: Predicts>(
    frame: &Frame,
    roles: &Roles,
    folds: &Folds,
    mut fit: impl FnMut(&Frame, usize) -> Result<P>,
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
        sums: vec![Sums::default(); roles.targets.len()],
    };
    for (index, fold) in folds.groups.iter().enumerate() {
        let kept = folds.kept(index, frame.rows());
        let started = std::time::Instant::now();
        let model = fit(&frame.select_rows(&kept), index)?;
        found.seconds.push(started.elapsed().as_secs_f64());
        let predictions = model.predict_frame(&frame.select_rows(fold))?;
        for (t, name) in roles.targets.iter().enumerate() {
            let Column::Number(truth) = frame.column(name)? else { continue };
            let mut fold_sums = Sums::default();
            for (row, prediction) in fold.iter().zip(&predictions[t]) {
                let weight = weights.map_or(1.0, |w| w[*row]);
                if let Some(value) = prediction.filter(|_| weight > 0.0) {
                    let y = truth[*row];
                    fold_sums.add(weight * (y - value) * (y - value), weight, weight * y, weight * y * y);
                    found.predicted[t][*row] = Some(value);
                }
            }
            if fold_sums.weight == 0.0 {
                return Err(Error::Empty(format!("fold {} has no row that could be predicted", index + 1)));
            }
            found.rmse[t].push((fold_sums.errors / fold_sums.weight).sqrt());
            let Sums { errors, weight, first, second } = fold_sums;
            found.sums[t].add(errors, weight, first, second);
        }
    }
    Ok(found)
}

impl Sums {
    fn add(&mut self, errors: f64, weight: f64, first: f64, second: f64) {
        self.errors += errors;
        self.weight += weight;
        self.first += first;
        self.second += second;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Constant(f64);
    impl Predicts for Constant {
        fn predict_frame(&self, frame: &Frame) -> Result<Vec<Vec<Option<f64>>>> {
            Ok(vec![vec![Some(self.0); frame.rows()]])
        }
    }

    #[test]
    fn errors_by_hand() {
        let mut frame = Frame::new(4);
        frame.push("y", Column::Number(vec![1.0, 2.0, 3.0, 4.0])).unwrap();
        let roles = Roles { targets: vec!["y".into()], ..Roles::default() };
        let folds = Folds::of(vec![vec![0, 1], vec![2, 3]], 1);
        let found = assess(&frame, &roles, &folds, |training, fold| {
            assert_eq!(training.rows(), 2);
            Ok(Constant(if fold == 0 { 1.0 } else { 3.0 }))
        })
        .unwrap();
        // Errors 0, 1, 0, 1.
        assert!((found.mean(0) - 0.5_f64.sqrt()).abs() < 1e-15 && found.deviation(0) < 1e-12);
        assert!((found.r2(0).unwrap() - (1.0 - 2.0 / 5.0)).abs() < 1e-12);
        assert_eq!(found.predicted[0], vec![Some(1.0), Some(1.0), Some(3.0), Some(3.0)]);
    }
}
