//! CV+ for a model that no decomposition gives without its folds: one fit per fold.

use super::grouped::{self, Shares};
use super::{Bounds, order_statistics, rows_needed};
use crate::base::error::{Error, Result};
use crate::base::watch::Observer;
use crate::data::{Frame, plain_numbers};
use crate::fit::after::training::told;
use crate::linalg::Matrix;
use crate::model::{Meaning, Model};
use crate::term::criterion::{Folds, group_count};

/// Rows of a table that are predicted at a time.
const BLOCK: usize = 1 << 14;

/// CV+ intervals of any way to fit numbers.
///
/// ```
/// use mercer::criterion::Folds;
/// use mercer::data::Design;
/// use mercer::interval::RefittedIntervals;
/// use mercer::prelude::*;
///
/// let x = Matrix::from_fn(60, 1, |i, _| 0.1 * i as f64);
/// let y = Matrix::from_fn(60, 1, |i, _| (0.1 * i as f64).sin() + 0.1 * (7.0 * i as f64).sin());
/// let (frame, roles) = Design::frame_of(&x, &y, None)?;
/// let learn = Fit::new(Gaussian::lengthscale(1.0)).loss(mercer::loss::parse("absolute")?).lambda(1e-3);
/// let fit = |part: &Frame| Ok(learn.fit_frame(part, &roles)?.model);
/// let folds = Folds::random(60, 10, 1)?;
/// let bounds = RefittedIntervals::new(&frame, &roles.targets, &folds, 0.9, None, fit)?.at_frame(&frame, None)?;
/// assert!(bounds[0].coverage(y.col(0)).expect("all rows have one").share >= 0.85);
/// # Ok::<(), mercer::Error>(())
/// ```
pub struct RefittedIntervals {
    /// The fit without each fold.
    models: Vec<Model>,
    /// For every output, each training row's fold and residual.
    residuals: Vec<Vec<(usize, f64)>>,
    /// The training rows of those residuals.
    rows: Vec<Vec<usize>>,
    level: f64,
    groups: Option<Vec<u32>>,
}

impl RefittedIntervals {
    /// Fits without each fold of the rows of a table in turn. Rows without a prediction or a target have no say.
    pub fn new(
        frame: &Frame,
        targets: &[String],
        folds: &Folds,
        level: f64,
        observer: Option<&Observer>,
        fit: impl Fn(&Frame) -> Result<Model>,
    ) -> Result<Self> {
        if !(level > 0.0 && level < 1.0) {
            return Err(Error::argument("the level of an interval", "above 0 and below 1", level));
        }
        check_folds(folds, frame.rows())?;
        let needed = rows_needed(level);
        let (mut models, mut residuals, mut rows) = (Vec::new(), Vec::new(), Vec::new());
        for (fold, held) in folds.groups.iter().enumerate() {
            told(observer, "leaving out")?;
            let mut is_held = vec![false; frame.rows()];
            held.iter().for_each(|row| is_held[*row] = true);
            let kept: Vec<usize> = (0..frame.rows()).filter(|row| !is_held[*row]).collect();
            let model = fit(&frame.select_rows(&kept))?;
            let per_target = match &model.meaning {
                Meaning::Classes { .. } => {
                    return Err(Error::argument("the model", "of numbers for an interval", "one of classes"));
                }
                Meaning::Quantiles { per_target, .. } => *per_target,
                Meaning::Numbers => 1,
            };
            if targets.len() * per_target != model.summaries().len() {
                let must = format!("those that a fit predicts, {} of them", model.summaries().len() / per_target);
                return Err(Error::argument("the target columns", must, targets.len()));
            }
            let predicted = model.predict_frame(&frame.select_rows(held))?;
            residuals.resize(predicted.len(), Vec::new());
            rows.resize(predicted.len(), Vec::new());
            for (output, values) in predicted.iter().enumerate() {
                let truth = plain_numbers(frame, &targets[output / per_target])?;
                let known = held.iter().zip(values).filter_map(|(row, value)| Some((*row, truth[*row] - (*value)?)));
                for (row, residual) in known.filter(|(_, residual)| residual.is_finite()) {
                    residuals[output].push((fold, residual));
                    rows[output].push(row);
                }
            }
            models.push(model);
        }
        if let Some(few) = residuals.iter().map(Vec::len).find(|count| *count < needed) {
            let must = format!("at least {needed} for an interval of level {level} (with fewer it is infinite)");
            return Err(Error::argument("the number of training rows", must, few));
        }
        Ok(RefittedIntervals { models, residuals, rows, level, groups: None })
    }

    /// The same for rows of new groups: `groups` has the number of each training row's group, which no fold may part.
    pub fn by_groups(self, folds: &Folds, groups: &[u32]) -> Result<Self> {
        grouped::check_folds(folds, groups)?;
        let (needed, count) = (rows_needed(self.level), group_count(groups));
        if count < needed {
            let must = format!("at least {needed} for an interval of level {} (with fewer it is infinite)", self.level);
            return Err(Error::argument("the number of groups of training rows", must, count));
        }
        Ok(RefittedIntervals { groups: Some(groups.to_vec()), ..self })
    }

    /// The intervals of every output at the rows of a table; `None` where any of the fits has no prediction.
    pub fn at_frame(&self, frame: &Frame, observer: Option<&Observer>) -> Result<Vec<Bounds>> {
        let empty = Bounds { lower: Vec::new(), upper: Vec::new() };
        let mut all = vec![empty; self.residuals.len()];
        for start in (0..frame.rows()).step_by(BLOCK) {
            let rows: Vec<usize> = (start..(start + BLOCK).min(frame.rows())).collect();
            let found = self.at_rows(&frame.select_rows(&rows), observer).map_err(|error| error.below(start))?;
            for (all, found) in all.iter_mut().zip(found) {
                all.lower.extend(found.lower);
                all.upper.extend(found.upper);
            }
        }
        Ok(all)
    }

    fn at_rows(&self, frame: &Frame, observer: Option<&Observer>) -> Result<Vec<Bounds>> {
        let mut predicted = Vec::new();
        for model in &self.models {
            told(observer, "intervals")?;
            predicted.push(model.predict_frame(frame)?);
        }
        let of_output = |output: usize| {
            let columns: Vec<&Vec<Option<f64>>> = predicted.iter().map(|model| &model[output]).collect();
            let values = Matrix::from_fn(frame.rows(), columns.len(), |row, k| columns[k][row].unwrap_or(f64::NAN));
            let residuals: Vec<f64> = self.residuals[output].iter().map(|(_, residual)| *residual).collect();
            let (mut lower, mut upper) = (Vec::new(), Vec::new());
            let fold_of = |i: usize| self.residuals[output][i].0;
            match &self.groups {
                Some(groups) => {
                    let own: Vec<u32> = self.rows[output].iter().map(|row| groups[*row]).collect();
                    Shares::new(&own).ends(self.level, &values, &residuals, fold_of, &mut lower, &mut upper);
                }
                None => order_statistics(self.level, &values, &residuals, fold_of, &mut lower, &mut upper),
            }
            let is_known = |row: usize| columns.iter().all(|column| column[row].is_some());
            let shown = |ends: Vec<f64>| {
                ends.into_iter()
                    .enumerate()
                    .map(|(row, end)| is_known(row).then_some(end))
                    .collect::<Vec<Option<f64>>>()
            };
            Bounds { lower: shown(lower), upper: shown(upper) }
        };
        Ok((0..self.residuals.len()).map(of_output).collect())
    }
}

/// Refuses folds that are not those of this many rows, each held out once.
fn check_folds(folds: &Folds, rows: usize) -> Result<()> {
    let mut counts = vec![0; rows];
    let fits = folds.groups.len() >= 2
        && folds.groups.iter().flatten().all(|row| counts.get_mut(*row).map(|count| *count += 1).is_some())
        && counts.iter().all(|count| *count == 1);
    if fits {
        return Ok(());
    }
    let must = format!("at least two that hold out each of the {rows} rows once");
    Err(Error::argument("the folds of an interval", must, format!("{} of other rows", folds.groups.len())))
}
