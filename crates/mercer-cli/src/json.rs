//! Reports for programs.

use mercer::{Fitted, Model, Summary};
use serde_json::{Map, Value, json};

/// What `fit --json` prints: one object, with the facts of a single target at its top level and those of
/// several in a list `targets`.
pub fn fit(fitted: &Fitted, seconds: f64) -> String {
    let mut object = model(&fitted.model);
    if let Some(map) = object.as_object_mut() {
        map.insert("method".into(), json!(fitted.plan.method.describe()));
        map.insert("memory_forecast".into(), json!(fitted.plan.bytes));
        map.insert("seconds".into(), json!(seconds));
        map.insert("rows_dropped_missing".into(), json!(fitted.design.dropped_missing));
        map.insert("rows_dropped_weightless".into(), json!(fitted.design.dropped_weightless));
    }
    format!("{object}\n")
}

/// What a model knows about itself.
pub fn model(model: &Model) -> Value {
    let mut object = Map::new();
    let rows = model.summaries().first().map_or(0, |summary| summary.rows);
    object.insert("n".into(), json!(rows));
    object.insert("features".into(), json!(model.encoder().feature_names()));
    object.insert("kernel".into(), json!(model.kernel().spec()));
    object.insert("scale".into(), json!(model.encoder().scale));
    match model.summaries() {
        [only] => object.extend(target(only)),
        several => {
            let list: Vec<Value> = several.iter().map(|summary| Value::Object(target(summary))).collect();
            object.insert("targets".into(), Value::Array(list));
        }
    }
    Value::Object(object)
}

fn target(summary: &Summary) -> Map<String, Value> {
    let facts = json!({
        "target": summary.target,
        "lambda": summary.lambda,
        "lambda_was_chosen": summary.lambda_was_chosen,
        "exponent": summary.exponent,
        "effective_ridge": summary.effective_ridge,
        "norm": summary.norm,
        "objective": summary.objective,
        "intercept": summary.intercept,
        "dof": summary.dof,
        "train_rmse": summary.train_rmse,
        "train_r2": summary.train_r2,
        "loo_rmse": summary.loo_rmse,
        "loo_r2": summary.loo_r2,
        "stationary_points": summary.certificate.stationary_points,
        "stationary_ridges": summary.stationary_ridges,
        "is_zero": summary.is_zero,
        "certificate": summary.certificate,
    });
    match facts {
        Value::Object(map) => map,
        _ => Map::new(),
    }
}
