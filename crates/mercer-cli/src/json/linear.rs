//! What `fit --json` prints of a linear fit.

use mercer::Curve;
use serde_json::{Value, json};

use super::learn::assessment;
use super::model;
use crate::linear::Found;
use crate::report::edge;

pub fn fit(found: &Found) -> String {
    let fitted = &found.fitted;
    let mut object = model(&fitted.model);
    if let Some(map) = object.as_object_mut() {
        map.insert("notes".into(), json!(found.notes()));
        map.insert("seconds".into(), json!(found.seconds));
        map.insert("rows_dropped_missing".into(), json!(fitted.design.dropped_missing));
        map.insert("rows_dropped_weightless".into(), json!(fitted.design.dropped_weightless));
        map.insert("tried".into(), fitted.curves().map(trial).collect());
        if !fitted.least_squares.is_empty() {
            let statistics = fitted.least_squares.iter().map(|found| {
                json!({
                    "rank": found.rank,
                    "condition": found.condition,
                    "residual_deviation": found.residual_deviation,
                    // Without the constants of the likelihood, as R's extractAIC; and with them, as R's AIC and BIC.
                    "aic": found.aic,
                    "bic": found.bic,
                    "full_aic": found.full_aic,
                    "full_bic": found.full_bic,
                    "log_likelihood": found.log_likelihood,
                    "standard_errors": found.deviations,
                    "intercept_standard_error": found.intercept_deviation,
                })
            });
            map.insert("least_squares".into(), statistics.collect());
        }
        if let Some(assessment) = assessment(found.assessment.as_ref()) {
            map.insert("assessment".into(), assessment);
        }
    }
    format!("{object}\n")
}

/// `values[l]` and `support[l]` belong to `lambdas[l]`.
fn trial(trial: &Curve) -> Value {
    json!({
        "target": trial.target,
        "lambdas": trial.lambdas,
        "values": trial.scores,
        "standard_errors": trial.standard_errors,
        "support": trial.support,
        "chosen": trial.chosen,
        "chosen_at_the_edge": trial.chosen.is_some_and(|chosen| edge(&trial.lambdas, chosen).is_some()),
    })
}
