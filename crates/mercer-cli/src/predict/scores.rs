//! How far predictions are from the columns they predict, when the table has them.

use std::fmt;

use mercer::data::{Column, Frame};
use mercer::{Meaning, Model};
use serde_json::{Value, json};

use super::{names, plain_target};
use crate::report::{integer, short};
use crate::score::{ClassScore, NumberScore, Predicted, QuantileScore, quantile_of, truth};

/// One column that was predicted.
pub struct Score {
    /// The column that was added.
    pub name: String,
    target: String,
    kind: Kind,
}

enum Kind {
    Numbers(NumberScore),
    Quantile(f64, QuantileScore),
    Classes(ClassScore),
}

/// Those that the table allows.
pub fn scores(model: &Model, frame: &Frame, name: &str, probability: bool) -> mercer::Result<Vec<Score>> {
    if let (Meaning::Classes { target, .. }, Some(mut predicted)) = (model.meaning(), Predicted::by(model, frame)?) {
        if !probability {
            predicted.probabilities = None;
        }
        let Ok(column) = frame.column(target) else { return Ok(Vec::new()) };
        let score = ClassScore::of(&predicted, &truth(column, &predicted.classes), None);
        let kind = score.map(Kind::Classes);
        return Ok(kind.map(|kind| Score { name: name.into(), target: target.clone(), kind }).into_iter().collect());
    }
    let of_quantiles = matches!(model.meaning(), Meaning::Quantiles { .. });
    let mut all = Vec::new();
    for ((summary, values), name) in model.summaries().iter().zip(model.predict_frame(frame)?).zip(names(model, name)) {
        let target = plain_target(&summary.target, &summary.loss).to_owned();
        let Ok(Column::Number(truth)) = frame.column(&target) else { continue };
        let kind = match quantile_of(&summary.loss).filter(|_| of_quantiles) {
            Some(quantile) => {
                QuantileScore::of(quantile, truth, &values, None).map(|score| Kind::Quantile(quantile, score))
            }
            None => NumberScore::of(truth, &values, None).map(Kind::Numbers),
        };
        all.extend(kind.map(|kind| Score { name, target, kind }));
    }
    Ok(all)
}

impl fmt::Display for Score {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "against column {:?}: ", self.target)?;
        match &self.kind {
            Kind::Numbers(score) => {
                let r2 = score.r2.map_or_else(String::new, |r2| format!(", R² {}", short(r2)));
                write!(f, "RMSE {}{r2}", short(score.rmse))
            }
            Kind::Quantile(quantile, score) => {
                let (below, loss) = (short(score.below), short(score.loss));
                write!(f, "{below} of the rows are below quantile {quantile}, mean pinball loss {loss}")
            }
            Kind::Classes(score) => {
                let log_loss = score.log_loss.map_or_else(String::new, |loss| format!(", log loss {}", short(loss)));
                write!(f, "accuracy {}{log_loss}", short(1.0 - score.error))
            }
        }
    }
}

impl Score {
    /// What is odd about it.
    pub fn note(&self) -> Option<String> {
        match &self.kind {
            Kind::Classes(score) if score.unknown > 0 => Some(format!(
                "note: {} rows have a class that training did not know; they count as wrong",
                integer(score.unknown)
            )),
            _ => None,
        }
    }

    pub fn to_json(&self) -> Value {
        match &self.kind {
            Kind::Numbers(score) => json!({ "rmse": score.rmse, "r2": score.r2, "rows": score.rows }),
            Kind::Quantile(quantile, score) => {
                json!({ "quantile": quantile, "below": score.below, "loss": score.loss, "rows": score.rows })
            }
            Kind::Classes(score) => json!({
                "accuracy": 1.0 - score.error,
                "log_loss": score.log_loss,
                "rows": score.rows,
                "unknown_classes": score.unknown,
            }),
        }
    }
}
