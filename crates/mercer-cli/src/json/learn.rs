//! What `fit --json` prints of a fit with a loss.

use mercer::Curve;
use mercer::criterion::FoldRule;
use serde_json::{Value, json};

use super::model;
use crate::learn::Found;
use crate::learn::assess::Assessment;
use crate::report::edge;
use crate::score::spread;

/// One object: the facts of the model, what was tried, and how it did on rows that it had not seen.
pub fn fit(found: &Found) -> String {
    let learned = &found.learned;
    let mut object = model(&learned.model);
    if let Some(map) = object.as_object_mut() {
        map.insert("notes".into(), json!(found.notes()));
        map.insert("method".into(), json!(learned.plan.method.describe()));
        map.insert("memory_forecast".into(), json!(learned.plan.bytes));
        map.insert("seconds".into(), json!(found.seconds));
        map.insert("rows_dropped_missing".into(), json!(learned.design.dropped_missing));
        map.insert("rows_dropped_weightless".into(), json!(learned.design.dropped_weightless));
        map.insert("separated".into(), json!(learned.separated()));
        map.insert("tried".into(), learned.curves().map(trial).collect());
        if let Some(assessment) = assessment(found.assessment.as_ref()) {
            map.insert("assessment".into(), assessment);
        }
    }
    format!("{object}\n")
}

/// `values[l]` belongs to `lambdas[l]`; `chosen` is the place of the λ that became the model's, if one did. A number in
/// `dropped_after_folds` says that the λ was dropped, and its value is the mean over those folds; after 0 folds, over the
/// first one by a model of a quarter of its training rows; after all folds, over all of them at a loose gap.
fn trial(trial: &Curve) -> Value {
    json!({
        "target": trial.target,
        "kernel": trial.kernel.spec(),
        "loss": trial.loss,
        "exponent": trial.exponent,
        "lambdas": trial.lambdas,
        "values": trial.scores,
        "standard_errors": trial.standard_errors,
        "dropped_after_folds": trial.dropped,
        "is_chosen": trial.chosen.is_some(),
        "chosen": trial.chosen,
        "chosen_at_the_edge": trial.chosen.is_some_and(|chosen| edge(&trial.lambdas, chosen).is_some()),
    })
}

/// One object; with several targets a list of them.
pub fn assessment(found: Option<&(FoldRule, Assessment)>) -> Option<Value> {
    let (rule, assessment) = found?;
    let mut all: Vec<Value> = Vec::new();
    for target in &assessment.targets {
        let mut object = json!({ "target": target.target, "folds": rule.folds, "repeats": rule.repeats });
        for measure in &target.measures {
            let (mean, deviation) = spread(&measure.folds);
            object[measure.name.to_lowercase().replace(' ', "_")] =
                json!({ "mean": mean, "standard_deviation": deviation, "folds": measure.folds });
        }
        object["seconds"] = json!(assessment.seconds);
        all.push(object);
    }
    match all.len() {
        1 => all.pop(),
        _ => Some(Value::Array(all)),
    }
}
