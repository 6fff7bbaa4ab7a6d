//! What a fit knew beside its model, as plain numbers.

use mercer::learn::LearnTrial;
use mercer::select::Surface;
use mercer::{Automated, Fitted, Learned, LinearFitted, LinearTrial, Note, Tried};
use pyo3::IntoPyObject;

/// Empty for a model that came from bytes.
#[derive(Default)]
pub struct Found {
    /// Residuals of every row when left out, one vector per target.
    pub leave_one_out: Option<Vec<Vec<f64>>>,
    /// The criterion wherever it was computed.
    pub trials: Vec<Trial>,
    /// The automatic search.
    pub search: Option<SearchFacts>,
    /// What is odd about the targets, or about the errors.
    pub notes: Vec<String>,
}

/// What an automatic search tried.
#[derive(Debug, Clone, IntoPyObject)]
pub struct SearchFacts {
    candidates: Vec<Candidate>,
    /// The share of each feature.
    importance: Vec<(String, f64)>,
    /// Whether the budget ended it.
    ran_out: bool,
}

/// A criterion along λ, for one kernel, loss and exponent.
#[derive(Debug, Clone, IntoPyObject)]
pub struct Trial {
    target: String,
    kernel: String,
    loss: String,
    exponent: f64,
    lambdas: Vec<f64>,
    scores: Vec<f64>,
    standard_errors: Option<Vec<f64>>,
    /// Coefficients that are not 0, where the penalty makes some of them 0.
    support: Option<Vec<usize>>,
    /// After how many folds a λ was dropped from the race, where one was held.
    dropped_after_folds: Option<Vec<Option<usize>>>,
}

/// One candidate of the automatic search.
#[derive(Debug, Clone, IntoPyObject)]
pub struct Candidate {
    family: String,
    metric: String,
    rmse: Option<f64>,
    judged_by: String,
    evidence: f64,
    seconds: f64,
    is_chosen: bool,
}

impl Found {
    /// Of a fit by the squared loss.
    pub fn of_power(fitted: &Fitted) -> Self {
        let loo = fitted.leave_one_out.iter().map(|loo| loo.as_ref().map(|loo| loo.residuals.clone()));
        let trials = fitted.tried.iter().flat_map(|tried| {
            tried.surfaces.iter().flat_map(move |surface| of_surface(tried, surface, &fitted.design.targets))
        });
        let notes = said(&fitted.notes());
        Found { leave_one_out: loo.collect(), trials: trials.collect(), notes, ..Found::default() }
    }

    /// Of a fit by another loss.
    pub fn of_loss(learned: &Learned) -> Self {
        let trial = |trial: &LearnTrial| Trial {
            target: trial.target.clone(),
            kernel: trial.kernel.spec(),
            loss: trial.loss.clone(),
            exponent: trial.exponent,
            lambdas: trial.lambdas.clone(),
            scores: trial.scores.clone(),
            standard_errors: Some(trial.standard_errors.clone()),
            support: None,
            dropped_after_folds: Some(trial.dropped.clone()),
        };
        let trials = learned.tried.iter().map(trial).collect();
        Found { trials, notes: said(&learned.notes()), ..Found::default() }
    }

    /// Of a fit with a penalty of its own.
    pub fn of_linear(fitted: &LinearFitted) -> Self {
        let trial = |trial: &LinearTrial| Trial {
            target: trial.target.clone(),
            kernel: fitted.model.kernel().spec(),
            loss: "squared".into(),
            exponent: 2.0,
            lambdas: trial.lambdas.clone(),
            scores: trial.scores.clone(),
            standard_errors: trial.standard_errors.clone(),
            support: Some(trial.support.clone()),
            dropped_after_folds: None,
        };
        let trials = fitted.tried.iter().map(trial).collect();
        Found { trials, notes: said(&fitted.notes()), ..Found::default() }
    }

    /// Of an automatic search.
    pub fn of_automatic(automated: &Automated) -> Self {
        let candidate = |trial: &mercer::auto::Trial| Candidate {
            family: trial.family.clone(),
            metric: trial.metric.name().into(),
            rmse: trial.rmse,
            judged_by: trial.judged_by.clone(),
            evidence: trial.evidence,
            seconds: trial.seconds,
            is_chosen: trial.is_chosen,
        };
        let search = SearchFacts {
            candidates: automated.trials.iter().map(candidate).collect(),
            importance: {
                let columns = automated.importance.iter().flat_map(|importance| &importance.columns);
                columns.map(|column| (column.column.clone(), column.share)).collect()
            },
            ran_out: automated.ran_out,
        };
        Found { search: Some(search), ..Found::of_power(&automated.fitted) }
    }
}

fn said(notes: &[Note]) -> Vec<String> {
    notes.iter().map(Note::to_string).collect()
}

fn of_surface(tried: &Tried, surface: &Surface, targets: &[String]) -> Vec<Trial> {
    let names: Vec<&str> = surface.targets.iter().filter_map(|t| targets.get(*t)).map(String::as_str).collect();
    let trial = |(e, exponent): (usize, &f64)| Trial {
        target: names.join(", "),
        kernel: tried.kernel.spec(),
        loss: "squared".into(),
        exponent: *exponent,
        lambdas: surface.lambdas[e].clone(),
        scores: surface.scores[e].iter().map(|score| score.value).collect(),
        standard_errors: surface.scores[e].iter().map(|score| score.standard_error).collect(),
        support: None,
        dropped_after_folds: None,
    };
    surface.exponents.iter().enumerate().map(trial).collect()
}
