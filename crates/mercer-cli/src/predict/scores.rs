//! How far predictions are from the columns they predict, when the table has them.

use std::fmt;

use mercer::data::{Column, Frame, Reading, says_number};
use mercer::{Meaning, Model};
use serde_json::{Value, json};

use super::{names, plain_target};
use crate::report::{rows, short};
use crate::score::{ClassScore, NumberScore, Predicted, QuantileScore, quantile_of, truth};

/// A target that the table has and that predictions cannot be compared with.
#[derive(Debug, Clone, PartialEq)]
pub struct Unscored {
    /// The column.
    pub target: String,
    /// Where the trouble is, from 0, and what it is.
    pub row: Option<usize>,
    problem: String,
}

impl Unscored {
    /// In a table with this number of rows above.
    pub fn below(mut self, rows: usize) -> Self {
        self.row = self.row.map(|row| row + rows);
        self
    }
}

/// `y is not scored: row 2, "oops" is not a number`
impl fmt::Display for Unscored {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} is not scored: ", self.target)?;
        if let Some(row) = self.row {
            write!(f, "row {}, ", row + 1)?;
        }
        f.write_str(&self.problem)
    }
}

/// The targets of a model of numbers that are in the table and are no numbers as training had them.
pub fn unscored(model: &Model, frame: &Frame) -> Vec<Unscored> {
    let mut all: Vec<Unscored> = Vec::new();
    for summary in model.summaries() {
        let target = plain_target(&summary.target, &summary.loss).to_owned();
        let found = frame.reading(&target);
        let own = model.encoder().facts.reading(&target);
        let (row, problem) = match frame.column(&target) {
            _ if all.iter().any(|known| known.target == target) => continue,
            Ok(Column::Text(cells)) => {
                let is_number = |text: &str| text.trim().parse::<f64>().is_ok() || says_number(text, frame.marks());
                let is_wrong = |cell: &Option<String>| cell.as_deref().is_some_and(|text| !is_number(text));
                match cells.iter().position(is_wrong) {
                    Some(row) => {
                        let text: String = cells[row].iter().flat_map(|text| text.chars().take(60)).collect();
                        (Some(row), format!("{text:?} is not a number"))
                    }
                    None if cells.iter().all(Option::is_none) => continue,
                    None => (None, "its cells are not numbers of one kind".into()),
                }
            }
            Ok(Column::Number(_)) if found != Reading::Number && found != *own => {
                let own = if *own == Reading::Number { "plain numbers".into() } else { own.describe() };
                (None, format!("its numbers are {} here, and training had {own}", found.describe()))
            }
            _ => continue,
        };
        all.push(Unscored { target, row, problem });
    }
    all
}

/// One column that was predicted.
pub struct Score {
    /// The column that was added.
    pub name: String,
    /// The column it was compared with.
    pub target: String,
    kind: Kind,
}

enum Kind {
    Numbers(NumberScore),
    Quantile(f64, QuantileScore),
    Classes(ClassScore),
}

/// The score of a model of classes, if the table has the target.
pub fn of_classes(predicted: &Predicted, target: &str, frame: &Frame, name: &str) -> Option<Score> {
    let column = frame.as_labels(target).ok()?;
    let kind = Kind::Classes(ClassScore::of(predicted, &truth(&column, &predicted.classes), None)?);
    Some(Score { name: name.into(), target: target.into(), kind })
}

/// The same for a model of numbers and its values.
pub fn of_numbers(model: &Model, values: &[Vec<Option<f64>>], frame: &Frame, name: &str) -> Vec<Score> {
    let of_quantiles = matches!(model.meaning(), Meaning::Quantiles { .. });
    let mut all = Vec::new();
    for ((summary, values), name) in model.summaries().iter().zip(values).zip(names(model, name)) {
        let target = plain_target(&summary.target, &summary.loss).to_owned();
        let Ok(Column::Number(truth)) = frame.column(&target) else { continue };
        // Pounds are not compared with kilograms.
        let found = frame.reading(&target);
        if found != Reading::Number && found != *model.encoder().facts.reading(&target) {
            continue;
        }
        let kind = match quantile_of(&summary.loss).filter(|_| of_quantiles) {
            Some(quantile) => {
                QuantileScore::of(quantile, truth, values, None).map(|score| Kind::Quantile(quantile, score))
            }
            None => NumberScore::of(truth, values, None).map(Kind::Numbers),
        };
        all.extend(kind.map(|kind| Score { name, target, kind }));
    }
    all
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
    /// Becomes the score of this part of a table and of another part together.
    pub fn join(&mut self, other: &Score) {
        match (&mut self.kind, &other.kind) {
            (Kind::Numbers(own), Kind::Numbers(other)) => *own = own.joined(other),
            (Kind::Quantile(_, own), Kind::Quantile(_, other)) => *own = own.joined(other),
            (Kind::Classes(own), Kind::Classes(other)) => *own = own.joined(other),
            // The same model has the same kinds of scores in every part.
            _ => {}
        }
    }

    /// Rows that were compared.
    pub fn rows(&self) -> usize {
        match &self.kind {
            Kind::Numbers(score) => score.rows,
            Kind::Quantile(_, score) => score.rows,
            Kind::Classes(score) => score.rows,
        }
    }

    /// What is odd about it.
    pub fn note(&self) -> Option<String> {
        match &self.kind {
            Kind::Classes(score) if score.unknown > 0 => {
                Some(format!("note: {} with a class that training did not know; counted as wrong", rows(score.unknown)))
            }
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
