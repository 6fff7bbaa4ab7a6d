//! Reports for programs. JSON has no infinity: values that are not finite are null.

pub mod learn;
pub mod linear;

use mercer::path::{HeldOutRows, LeaveOneOut};
use mercer::select::Surface;
use mercer::{Meaning, Model, Summary, Tried};
use serde_json::{Map, Value, json};

use crate::effects::importance::column;
use crate::fit::{Found, Search};
use crate::{again, coefficients, conversions};

/// What `fit --json` prints: one object, with the facts of a single target at its top level and those of
/// several in a list `targets`.
pub fn fit(found: &Found) -> String {
    let fitted = &found.fitted;
    let mut object = model(&fitted.model);
    if let Some(map) = object.as_object_mut() {
        map.insert("notes".into(), json!(found.notes()));
        map.insert("method".into(), json!(fitted.plan.method.describe()));
        map.insert("memory_forecast".into(), json!(fitted.plan.bytes));
        map.insert("seconds".into(), json!(found.seconds));
        map.insert("rows_dropped_missing".into(), json!(fitted.design.dropped_missing));
        map.insert("rows_dropped_weightless".into(), json!(fitted.design.dropped_weightless));
        let within = |loo: &Option<LeaveOneOut>| loo.as_ref().map(|loo| loo.within(0.9));
        let within: Vec<Option<f64>> = fitted.leave_one_out.iter().map(within).collect();
        let of_all = if let [only] = within[..] { json!(only) } else { json!(within) };
        let by_group = fitted.model.summaries().iter().any(|summary| summary.groups.is_some());
        let (own, other) = ("loo_within_90", "logo_within_90");
        let (own, other) = if by_group { (other, own) } else { (own, other) };
        map.insert(own.into(), of_all);
        map.insert(other.into(), Value::Null);
        // Rows in order of time: nothing is left out but by forward chaining.
        let forward: Vec<Value> =
            fitted.forward.iter().map(|found| found.as_ref().map_or(Value::Null, forward)).collect();
        map.insert("forward".into(), if let [only] = &forward[..] { only.clone() } else { Value::Array(forward) });
        map.insert("tried".into(), fitted.tried.iter().map(tried).collect());
        if let Some(search) = &found.search {
            map.extend(automatic(search));
            map.insert("fit_again".into(), json!(again::options(fitted)));
        }
        if let Some(assessment) = assessment(found) {
            map.insert("assessment".into(), assessment);
        }
    }
    format!("{object}\n")
}

/// What forward chaining said of the model.
fn forward(found: &HeldOutRows) -> Value {
    json!({
        "rmse": found.rmse(),
        "r2": found.r2,
        "within_90": found.within(0.9),
        "rows": found.rows.len(),
        "folds": found.folds,
    })
}

/// One kernel: the best point of its (first) surface, and all surfaces.
fn tried(tried: &Tried) -> Value {
    let best = tried.surfaces().first().map(|surface| surface.best);
    json!({
        "kernel": tried.kernel.spec(),
        "score": tried.score,
        "exponent": best.map(|best| best.exponent),
        "lambda": best.map(|best| best.lambda),
        "is_chosen": tried.is_chosen,
        // The factor on which the surfaces were computed; null: on all of the matrix.
        "low_rank": tried.low_rank.map(|(rank, left)| json!({ "rank": rank, "left": left })),
        "surfaces": tried.surfaces().iter().map(surface).collect::<Vec<Value>>(),
    })
}

/// `values[e][l]` belongs to `exponents[e]` and `lambdas[e][l]`.
pub fn surface(surface: &Surface) -> Value {
    let all = |read: &dyn Fn(&mercer::select::Score) -> Option<f64>| -> Vec<Vec<Option<f64>>> {
        surface.scores.iter().map(|row| row.iter().map(read).collect()).collect()
    };
    let best = &surface.best;
    json!({
        "exponents": surface.exponents,
        "lambdas": surface.lambdas,
        "values": all(&|score| Some(score.value)),
        "standard_errors": all(&|score| score.standard_error),
        "best": {
            "exponent": best.exponent,
            "lambda": best.lambda,
            "value": best.score.value,
            "standard_error": best.score.standard_error,
        },
    })
}

fn automatic(search: &Search) -> Map<String, Value> {
    let trials: Vec<Value> = search
        .trials
        .iter()
        .map(|trial| {
            json!({
                "family": trial.family,
                "metric": trial.metric.name(),
                "scale": trial.scale,
                "rmse": trial.rmse,
                "judged_by": trial.judged_by,
                "evidence": trial.evidence,
                "seconds": trial.seconds,
                "is_chosen": trial.is_chosen,
            })
        })
        .collect();
    let columns = search.importance.iter().flat_map(|importance| &importance.columns);
    let importance: Vec<Value> = columns.map(column).collect();
    let mean_gradient: Vec<Value> =
        search.mean_gradient.iter().map(|(feature, share)| json!({ "feature": feature, "share": share })).collect();
    let mut map = Map::new();
    map.insert("trials".into(), Value::Array(trials));
    map.insert("budget".into(), json!(search.budget));
    map.insert("budget_in_all".into(), json!(search.total));
    map.insert("ran_out".into(), json!(search.ran_out));
    // What was tried follows from data and seed, unless time decided.
    map.insert("is_reproducible".into(), json!(!search.ran_out));
    map.insert("importance".into(), Value::Array(importance));
    map.insert("mean_gradient".into(), Value::Array(mean_gradient));
    map
}

/// One object; with several targets a list of them.
fn assessment(found: &Found) -> Option<Value> {
    let (rule, assessment) = found.assessment.as_ref()?;
    let one = |t: usize| {
        json!({
            "target": assessment.targets[t],
            "folds": assessment.rmse[t].len() / rule.repeats.max(1),
            "repeats": rule.repeats,
            "rmse": assessment.rmse[t],
            "pooled_rmse": assessment.pooled(t),
            "mean": assessment.mean(t),
            "standard_deviation": assessment.deviation(t),
            "seconds": assessment.seconds,
        })
    };
    match assessment.targets.len() {
        1 => Some(one(0)),
        n => Some((0..n).map(one).collect()),
    }
}

/// What a model knows about itself.
pub fn model(model: &Model) -> Value {
    let mut object = Map::new();
    let first = model.summaries().first();
    object.insert("n".into(), json!(first.map_or(0, |summary| summary.rows)));
    object.insert("features".into(), json!(model.encoder().feature_names()));
    object.insert("columns".into(), json!(model.encoder().columns_read()));
    object.insert("kernel".into(), json!(model.kernel().spec()));
    object.insert("has_learned_map".into(), json!(model.encoder().projection.is_some()));
    object.insert("scale".into(), json!(model.encoder().scale));
    object.insert("criterion".into(), json!(first.and_then(|summary| summary.chosen_by.clone())));
    object.insert("provenance".into(), json!(model.provenance()));
    if let Some(classes) = model.classes() {
        let numbers = || classes.names.iter().map(|name| name.parse::<f64>().ok()).collect::<Vec<_>>();
        let names = if classes.are_numbers { json!(numbers()) } else { json!(classes.names) };
        object.insert("classes".into(), names);
        if let Meaning::Classes { class_weights, .. } = model.meaning() {
            object.insert("class_weights".into(), json!(class_weights));
        }
    }
    match model.summaries() {
        [only] => object.extend(target(model, 0, only)),
        several => {
            let list = several.iter().enumerate().map(|(t, summary)| Value::Object(target(model, t, summary)));
            object.insert("targets".into(), list.collect());
            // Classes share all but their own solution.
            if let (Some(first), Some(_)) = (first, model.classes()) {
                object.insert("loss".into(), json!(first.loss));
                object.insert("lambda".into(), json!(first.lambda));
                object.insert("exponent".into(), json!(first.exponent));
                object.insert("train_error".into(), json!(first.train_error));
                object.insert("weighted_train_error".into(), json!(first.weighted_train_error));
                object.insert("held_out".into(), json!(first.held_out));
                let gap = several.iter().filter_map(|summary| summary.certificate.duality_gap).fold(0.0, f64::max);
                object.insert("duality_gap".into(), json!(gap));
            }
        }
    }
    Value::Object(object)
}

fn target(model: &Model, t: usize, summary: &Summary) -> Map<String, Value> {
    let by_group = summary.groups.is_some();
    let facts = json!({
        "target": summary.target,
        "unit": model.encoder().facts.reading(&summary.target).unit(),
        "loss": summary.loss,
        "penalty": summary.penalty,
        "lambda": summary.lambda,
        "lambda_was_chosen": summary.lambda_was_chosen,
        "chosen_on_landmarks": summary.chosen_on_landmarks,
        "exponent": summary.exponent,
        "effective_ridge": summary.effective_ridge,
        "norm": summary.norm,
        "objective": summary.objective,
        "intercept": summary.intercept,
        "dof": summary.dof,
        "train_rmse": summary.train_rmse,
        "train_r2": summary.train_r2,
        "groups": summary.groups,
        "loo_rmse": summary.loo_rmse.filter(|_| !by_group),
        "loo_r2": summary.loo_r2.filter(|_| !by_group),
        // Leave-one-group-out, where rows have groups.
        "logo_rmse": summary.loo_rmse.filter(|_| by_group),
        "logo_r2": summary.loo_r2.filter(|_| by_group),
        "criterion_value": summary.criterion_value,
        "train_loss": summary.train_loss,
        "train_error": summary.train_error,
        "weighted_train_error": summary.weighted_train_error,
        "held_out": summary.held_out,
        "support": summary.support,
        "duality_gap": summary.certificate.duality_gap,
        "conversions": conversions::to_json(&conversions::of(model, summary)),
        "stationary_points": summary.certificate.stationary_points,
        "stationary_ridges": summary.stationary_ridges,
        "is_zero": summary.is_zero,
        "certificate": summary.certificate,
    });
    let mut map = match facts {
        Value::Object(map) => map,
        _ => Map::new(),
    };
    map.extend(coefficients::of(model, t, summary).map(|linear| linear.to_json()).unwrap_or_default());
    map
}
