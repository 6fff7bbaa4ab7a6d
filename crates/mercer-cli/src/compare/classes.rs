//! Methods that tell classes apart.

use mercer::criterion::Folds;
use mercer::data::{Classes, Frame, Roles};
use mercer::{Error, Model, Result, loss};

use super::losses::learner;
use super::methods::Task;
use super::score::Score;
use crate::score::{ClassScore, Predicted, truth, weights};

/// What was learned.
pub enum Classifier {
    Model(Box<Model>),
    Majority(Classes, usize),
}

impl Classifier {
    fn predict(&self, frame: &Frame) -> Result<Predicted> {
        match self {
            Classifier::Model(model) => Predicted::by(model, frame)?
                .ok_or_else(|| Error::Empty("the model is one of numbers and not of classes".into())),
            Classifier::Majority(classes, code) => {
                Ok(Predicted { classes: classes.clone(), codes: vec![Some(*code); frame.rows()], probabilities: None })
            }
        }
    }
}

pub fn by(task: &Task<'_>, spec: &str, kernel: &str) -> Result<Classifier> {
    let learn = learner(task, vec![loss::parse(spec)?], kernel, 1.0)?.classify();
    Ok(Classifier::Model(Box::new(learn.fit_frame(task.training, task.roles)?.model)))
}

/// The class of the greatest weight.
pub fn majority(task: &Task<'_>) -> Result<Classifier> {
    let (classes, codes) = Classes::read(task.training, &task.roles.targets[0])?;
    let weights = weights(task.training, task.roles.weight.as_ref())?;
    let mut sums = vec![0.0; classes.len()];
    for (row, code) in codes.iter().enumerate().filter(|(_, code)| !code.is_nan()) {
        let weight = weights.map_or(1.0, |w| w[row]);
        sums[*code as usize] += if weight > 0.0 { weight } else { 0.0 };
    }
    let best = (1..sums.len()).fold(0, |best, class| if sums[class] > sums[best] { class } else { best });
    Ok(Classifier::Majority(classes, best))
}

/// The error rate on every fold, and the log loss where there are probabilities.
pub fn assess(
    frame: &Frame,
    roles: &Roles,
    folds: &Folds,
    mut learn: impl FnMut(&Frame, usize) -> Result<Classifier>,
) -> Result<Score> {
    let target = frame.as_labels(&roles.targets[0])?;
    let (mut errors, mut log_losses, mut seconds) = (Vec::new(), Vec::new(), Vec::new());
    for (index, fold) in folds.groups.iter().enumerate() {
        let started = std::time::Instant::now();
        let classifier = learn(&frame.select_rows(&folds.kept(index, frame.rows())), index)?;
        seconds.push(started.elapsed().as_secs_f64());
        let held_out = frame.select_rows(fold);
        let predicted = classifier.predict(&held_out)?;
        let all = truth(&target, &predicted.classes);
        let observed: Vec<_> = fold.iter().map(|row| all[*row]).collect();
        let score = ClassScore::of(&predicted, &observed, weights(&held_out, roles.weight.as_ref())?)
            .ok_or_else(|| Error::Empty(format!("fold {} has no row that could be predicted", index + 1)))?;
        errors.push(score.error);
        log_losses.extend(score.log_loss);
    }
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let second = (log_losses.len() == errors.len()).then(|| mean(&log_losses));
    Ok(Score { errors, second, seconds: mean(&seconds), rank: 0.0 })
}
