//! What must hold for a fit, whatever went into it.

use mercer::format;
use mercer::prelude::*;

use crate::battery::Outcome;

/// Whether a message is a sentence for a person.
pub fn is_sentence(message: &str) -> bool {
    let words = message.split_whitespace().count();
    words >= 4
        && message.len() < 1000
        && !["Err(", "Some(", "None", "unwrap", "panicked"].iter().any(|w| message.contains(w))
}

pub fn refusal(error: &Error) -> Result<Outcome, String> {
    let message = error.to_string();
    if is_sentence(&message) { Ok(Outcome::Refused(message)) } else { Err(format!("not a sentence: {message:?}")) }
}

/// Every number of a summary, with its name.
fn numbers(summary: &Summary) -> Vec<(&'static str, f64)> {
    let certificate = &summary.certificate;
    let mut all = vec![
        ("lambda", summary.lambda),
        ("exponent", summary.exponent),
        ("norm", summary.norm),
        ("objective", summary.objective),
        ("intercept", summary.intercept),
        ("train_rmse", summary.train_rmse),
        ("target_range", summary.target_range[0]),
        ("target_range", summary.target_range[1]),
        ("root_residual", certificate.root_residual),
        ("solve_residual", certificate.solve_residual),
        ("digits", certificate.digits),
    ];
    all.extend(summary.stationary_ridges.iter().map(|ridge| ("stationary_ridges", *ridge)));
    let optional = [
        ("effective_ridge", summary.effective_ridge),
        ("dof", summary.dof),
        ("train_r2", summary.train_r2),
        ("loo_rmse", summary.loo_rmse),
        ("loo_r2", summary.loo_r2),
        ("decomposition_residual", certificate.decomposition_residual),
        ("orthogonality", certificate.orthogonality),
        ("condition", certificate.condition),
        ("duality_gap", certificate.duality_gap),
        ("train_loss", summary.train_loss),
        ("train_error", summary.train_error),
        ("held_out value", summary.held_out.as_ref().map(|held_out| held_out.value)),
        ("held_out standard_error", summary.held_out.as_ref().map(|held_out| held_out.standard_error)),
    ];
    all.extend(optional.into_iter().filter_map(|(name, number)| Some((name, number?))));
    all
}

/// Root mean square of y − b (weighted) for the b that suits the zero function best.
fn zero_rms(y: &[f64], weights: Option<&[f64]>, offset: bool) -> f64 {
    let size = y.iter().fold(0.0, |max: f64, v| max.max(v.abs()));
    if size == 0.0 {
        return 0.0;
    }
    let total: f64 = weights.map_or(y.len() as f64, |w| w.iter().sum());
    let share = |i: usize| weights.map_or(1.0, |w| w[i]) / total;
    let scaled: Vec<f64> = y.iter().map(|v| v / size).collect();
    let mean = if offset { scaled.iter().enumerate().map(|(i, v)| share(i) * v).sum::<f64>() } else { 0.0 };
    size * scaled.iter().enumerate().map(|(i, v)| share(i) * (v - mean) * (v - mean)).sum::<f64>().sqrt()
}

/// All that must hold for a fit, whatever went into it. `new` are rows it has not seen.
pub fn judge(result: Result<Fitted>, training: &Frame, new: &[Frame]) -> Result<Outcome, String> {
    let fitted = match result {
        Ok(fitted) => fitted,
        Err(error) => return refusal(&error),
    };
    for (t, summary) in fitted.model.summaries().iter().enumerate() {
        if summary.certificate.holds {
            let (y, weights) = (fitted.design.y.col(t), fitted.design.weights.as_deref());
            let zero = zero_rms(y, weights, summary.has_offset);
            // Roots, because the squares of tiny targets underflow.
            let slack = 1.0 + 4.0 * 10_f64.powf(-summary.certificate.digits) + 1e-9;
            let largest = y.iter().fold(0.0, |max: f64, v| max.max(v.abs()));
            let reached = summary.objective.sqrt().max(summary.train_rmse);
            if reached > zero * slack + 1e-13 * largest {
                return Err(format!("certified, but worse than the zero function: {reached:e} against {zero:e}"));
            }
        }
    }
    judge_model(&fitted.model, training, new)
}

/// The same for a fit with a loss, which must not be worse than the zero function either.
pub fn judge_learned(result: Result<Fitted>, training: &Frame, new: &[Frame]) -> Result<Outcome, String> {
    let learned = match result {
        Ok(learned) => learned,
        Err(error) => return refusal(&error),
    };
    let models = learned.model.summaries();
    for (t, summary) in models.iter().enumerate().filter(|(_, summary)| summary.certificate.holds) {
        let losses = mercer::loss::parse(&summary.loss).map_err(|error| error.to_string())?;
        let weights = learned.design.weights.as_deref();
        let total: f64 = weights.map_or(summary.rows as f64, |w| w.iter().sum());
        let is_label = learned.model.classes().is_some();
        let y = |i: usize| if is_label { 1.0 } else { learned.design.y.col(t.min(learned.design.y.cols() - 1))[i] };
        let at_zero = |i: usize| weights.map_or(1.0, |w| w[i]) / total * losses[0].value(y(i), 0.0);
        let zero: f64 = (0..summary.rows).map(at_zero).sum();
        if summary.objective > zero * (1.0 + 1e-5) + 1e-300 {
            return Err(format!(
                "certified, but worse than the zero function: {:e} against {zero:e}",
                summary.objective
            ));
        }
    }
    judge_model(&learned.model, training, new)
}

/// Finite numbers, finite predictions, and the same after saving.
fn judge_model(model: &Model, training: &Frame, new: &[Frame]) -> Result<Outcome, String> {
    for summary in model.summaries() {
        let infinite: Vec<(&str, f64)> = numbers(summary).into_iter().filter(|(_, v)| !v.is_finite()).collect();
        if !infinite.is_empty() {
            return Err(format!("summary of {} has {infinite:?}", summary.target));
        }
        if !summary.certificate.holds && summary.certificate.reason.as_ref().is_none_or(|reason| !is_sentence(reason)) {
            return Err(format!("without certificate and without reason: {:?}", summary.certificate));
        }
    }
    let own = model.predict_frame(training);
    let own = own.map_err(|error| format!("fitted, but cannot predict its own rows: {error}"))?;
    let mut predicted = 0;
    for value in own.iter().flatten().flatten() {
        if !value.is_finite() {
            return Err(format!("predicts {value} for a training row"));
        }
        predicted += 1;
    }
    if predicted == 0 {
        return Err("predicts nothing for its training rows".into());
    }
    for table in new {
        match model.predict_frame(table) {
            Ok(columns) => {
                if let Some(value) = columns.iter().flatten().flatten().find(|value| !value.is_finite()) {
                    return Err(format!("predicts {value} for a new row"));
                }
            }
            Err(error) => {
                let message = error.to_string();
                if !(message.contains("row ") && message.contains("column") && is_sentence(&message)) {
                    return Err(format!("refuses a new row without saying which: {message}"));
                }
            }
        }
    }
    let bytes = format::to_bytes(model).map_err(|error| format!("fitted, but cannot be saved: {error}"))?;
    let again = format::from_bytes(&bytes).map_err(|error| format!("saved, but does not load: {error}"))?;
    if again.predict_frame(training).ok().as_ref() != Some(&own) {
        return Err("predicts other numbers after saving".into());
    }
    Ok(Outcome::Finished)
}
