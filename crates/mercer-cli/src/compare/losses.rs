//! Methods with other losses, on grids that are small enough for every fold.

use mercer::criterion::{Criterion, FoldRule};
use mercer::kernel;
use mercer::learn::Measure;
use mercer::loss::{self, SharedLoss};
use mercer::{Fit, Result};

use super::methods::{Learned, Task};
use crate::learn::with;

/// λ in units of that at which one row may move f by about the target's spread.
const STEPS: [f64; 5] = [1e-3, 1e-2, 1e-1, 1.0, 10.0];
/// The same for numbers with losses that are linear in pieces: each step down takes them four times as long.
const FEWER_STEPS: [f64; 3] = [1e-2, 1e-1, 1.0];

/// A fit with these losses to choose from; `force` is what one row pulls with, in spreads of the target.
pub fn learner(task: &Task<'_>, losses: Vec<Vec<SharedLoss>>, kernel: &str, force: f64) -> Result<Fit> {
    let lambdas = lambdas(task, &STEPS, force);
    let folds = FoldRule::random(5.min(task.training.rows()));
    Ok(with(losses, vec![kernel::parse(kernel)?], None, task.rows)
        .lambdas(&lambdas)
        .criterion(Criterion::KFold(folds))
        .seed(task.seed)
        .observer(task.observer.clone()))
}

fn lambdas(task: &Task<'_>, steps: &[f64], force: f64) -> Vec<f64> {
    let middle = force / (2.0 * task.training.rows().max(1) as f64);
    steps.iter().map(|step| middle * step).collect()
}

fn straight(task: &Task<'_>, losses: Vec<Vec<SharedLoss>>, spread: f64) -> Result<Fit> {
    let force = 1.0 / spread;
    Ok(learner(task, losses, "gaussian", force)?.lambdas(&lambdas(task, &FEWER_STEPS, force)).on_grid())
}

fn finish(task: &Task<'_>, learn: &Fit) -> Result<Learned> {
    Ok(Learned::Model(Box::new(learn.fit_frame(task.training, task.roles)?.model)))
}

/// The target's standard deviation, or 1 if it does not vary.
fn deviation(task: &Task<'_>) -> Result<f64> {
    let design = task.design()?;
    let values: Vec<f64> = design.y.col(0).to_vec();
    let n = values.len() as f64;
    let mean = values.iter().map(|y| y / n).sum::<f64>();
    let variance = values.iter().map(|y| (y - mean) * (y - mean) / n).sum::<f64>();
    Ok(if variance > 0.0 && variance.is_finite() { variance.sqrt() } else { 1.0 })
}

fn choices(spec: impl Fn(f64) -> String, values: [f64; 3]) -> Result<Vec<Vec<SharedLoss>>> {
    values.iter().map(|value| loss::parse(&spec(*value))).collect()
}

pub fn svr(task: &Task<'_>) -> Result<Learned> {
    let spread = deviation(task)?;
    let losses =
        choices(|e| format!("epsilon-insensitive(epsilon={e})"), [0.02, 0.1, 0.3].map(|share| share * spread))?;
    finish(task, &straight(task, losses, spread)?.measure(Measure::Squared))
}

pub fn huber(task: &Task<'_>) -> Result<Learned> {
    let spread = deviation(task)?;
    let losses = choices(|t| format!("huber(threshold={t})"), [0.05, 0.2, 1.0].map(|share| share * spread))?;
    finish(task, &learner(task, losses, "gaussian", 1.0)?.measure(Measure::Squared))
}

/// A loss without numbers to choose.
pub fn single(task: &Task<'_>, spec: &str) -> Result<Learned> {
    let spread = deviation(task)?;
    finish(task, &straight(task, vec![loss::parse(spec)?], spread)?)
}
