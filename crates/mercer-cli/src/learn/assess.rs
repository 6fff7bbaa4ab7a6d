//! Errors on rows that neither the fit nor its choices have seen, in the measures of what is predicted.

use mercer::criterion::Folds;
use mercer::data::{Column, Frame, Roles};
use mercer::{Error, Model, Result};

use crate::score::{ClassScore, NumberScore, Predicted, QuantileScore, quantile_of, truth, weights};

/// One measure, on each fold.
#[derive(Debug, Clone, PartialEq)]
pub struct Measured {
    pub name: &'static str,
    pub folds: Vec<f64>,
}

/// All measures of one target (or one of its quantiles).
#[derive(Debug, Clone, PartialEq)]
pub struct TargetAssessment {
    pub target: String,
    pub measures: Vec<Measured>,
}

/// What was measured on each fold.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Assessment {
    pub targets: Vec<TargetAssessment>,
    /// Seconds of each fit.
    pub seconds: Vec<f64>,
}

/// Fits on all rows but a fold's, scores the fold, and goes on to the next. Errors are weighted like the rows.
pub fn assess(
    frame: &Frame,
    roles: &Roles,
    folds: &Folds,
    mut fit: impl FnMut(&Frame, usize) -> Result<Model>,
) -> Result<Assessment> {
    let mut found = Assessment::default();
    for (index, fold) in folds.groups.iter().enumerate() {
        let started = std::time::Instant::now();
        let model = fit(&frame.select_rows(&folds.kept(index, frame.rows())), index)?;
        found.seconds.push(started.elapsed().as_secs_f64());
        for (place, (target, scores)) in scores(&model, &frame.select_rows(fold), roles)?.into_iter().enumerate() {
            let scores =
                scores.ok_or_else(|| Error::Empty(format!("fold {} has no row that could be predicted", index + 1)))?;
            if index == 0 {
                let measure = |(name, _): &(&'static str, f64)| Measured { name, folds: Vec::new() };
                found.targets.push(TargetAssessment { target, measures: scores.iter().map(measure).collect() });
            }
            for (measured, (_, value)) in found.targets[place].measures.iter_mut().zip(scores) {
                measured.folds.push(value);
            }
        }
    }
    Ok(found)
}

type Scores = Vec<(&'static str, f64)>;

/// Each target with its measures on a table; none where no row could be predicted.
fn scores(model: &Model, frame: &Frame, roles: &Roles) -> Result<Vec<(String, Option<Scores>)>> {
    let weights = weights(frame, roles.weight.as_ref())?;
    if let Some(predicted) = Predicted::by(model, frame)? {
        let target = &roles.targets[0];
        let score = ClassScore::of(&predicted, &truth(&*frame.as_labels(target)?, &predicted.classes), weights);
        let list = score.map(|score| {
            let log_loss = score.log_loss.map(|value| ("log loss", value));
            [("error rate", score.error)].into_iter().chain(log_loss).collect()
        });
        return Ok(vec![(target.clone(), list)]);
    }
    let values = model.predict_frame(frame)?;
    let per_target = values.len() / roles.targets.len().max(1);
    let mut all = Vec::new();
    for (index, (summary, values)) in model.summaries().iter().zip(&values).enumerate() {
        let Column::Number(truth) = frame.column(&roles.targets[index / per_target.max(1)])? else { continue };
        let list = match quantile_of(&summary.loss).filter(|_| per_target > 1) {
            Some(quantile) => QuantileScore::of(quantile, truth, values, weights)
                .map(|score| vec![("pinball loss", score.loss), ("share below", score.below)]),
            None => NumberScore::of(truth, values, weights).map(|score| vec![("RMSE", score.rmse), ("MAE", score.mae)]),
        };
        all.push((summary.target.clone(), list));
    }
    Ok(all)
}
