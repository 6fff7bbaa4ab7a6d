//! What a fit knew beside its model, as plain numbers.

use mercer::select::Surface;
use mercer::{Curve, Fitted, Judged, Note, Tried, auto};
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
    /// Of any fit.
    pub fn of(fitted: &Fitted) -> Self {
        let loo = &fitted.leave_one_out;
        let residuals = || loo.iter().map(|loo| loo.as_ref().map(|loo| loo.residuals.clone())).collect();
        let trials = |tried: &Tried| match &tried.judged {
            Judged::Surfaces(surfaces) => {
                surfaces.iter().flat_map(|surface| of_surface(tried, surface, &fitted.design.targets)).collect()
            }
            Judged::Curve(curve) => vec![of_curve(tried, curve)],
        };
        Found {
            leave_one_out: if loo.is_empty() { None } else { residuals() },
            trials: fitted.tried.iter().flat_map(trials).collect::<Vec<Trial>>(),
            search: fitted.search.as_ref().map(SearchFacts::of),
            notes: fitted.notes().iter().map(Note::to_string).collect(),
        }
    }
}

impl SearchFacts {
    fn of(found: &auto::Found) -> Self {
        let candidate = |trial: &auto::Trial| Candidate {
            family: trial.family.clone(),
            metric: trial.metric.name().into(),
            rmse: trial.rmse,
            judged_by: trial.judged_by.clone(),
            evidence: trial.evidence,
            seconds: trial.seconds,
            is_chosen: trial.is_chosen,
        };
        let columns = found.importance.iter().flat_map(|importance| &importance.columns);
        SearchFacts {
            candidates: found.trials.iter().map(candidate).collect(),
            importance: columns.map(|column| (column.column.clone(), column.share)).collect(),
            ran_out: found.ran_out,
        }
    }
}

fn of_curve(tried: &Tried, curve: &Curve) -> Trial {
    // Penalties count the coefficients; with other losses points may be dropped.
    let is_penalty = !curve.support.is_empty();
    Trial {
        target: curve.target.clone(),
        kernel: tried.kernel.spec(),
        loss: curve.loss.clone(),
        exponent: curve.exponent,
        lambdas: curve.lambdas.clone(),
        scores: curve.scores.clone(),
        standard_errors: curve.standard_errors.clone(),
        support: is_penalty.then(|| curve.support.clone()),
        dropped_after_folds: (!is_penalty).then(|| curve.dropped.clone()),
    }
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
