//! What is said of predictions once they are made: of a whole table, or of its parts together.

use std::time::Duration;

use mercer::data::Outside;
use serde_json::{Value, json};

use super::intervals::Added;
use super::scores::{Score, Unscored};
use crate::args::PredictOptions;
use crate::report::{integer, rows};

/// Rows, and how the predictions did where that can be told.
pub struct Tally {
    pub rows: usize,
    /// Rows without a prediction.
    pub left_out: usize,
    pub scores: Vec<Score>,
    /// Targets that could not be compared with.
    pub unscored: Vec<Unscored>,
    /// Columns with categories that training did not know, and in how many rows.
    pub unknown: Vec<(String, usize)>,
    /// Columns of plain numbers that had a unit in training, and what they are taken for.
    pub plain: Vec<(String, String)>,
    /// Rows outside the range of the training rows, where that is known.
    pub outside: Option<Outside>,
    pub intervals: Option<Added>,
}

impl Tally {
    /// This part of a table and the next one together.
    pub fn joined(mut self, next: Tally) -> Self {
        for unscored in next.unscored {
            if !self.unscored.iter().any(|own| own.target == unscored.target) {
                self.unscored.push(unscored.below(self.rows));
            }
        }
        self.rows += next.rows;
        self.left_out += next.left_out;
        for score in next.scores {
            match self.scores.iter_mut().find(|own| own.name == score.name) {
                Some(own) => own.join(&score),
                None => self.scores.push(score),
            }
        }
        self.scores.retain(|score| !self.unscored.iter().any(|unscored| unscored.target == score.target));
        for (column, count) in next.unknown {
            match self.unknown.iter_mut().find(|(own, _)| *own == column) {
                Some((_, own)) => *own += count,
                None => self.unknown.push((column, count)),
            }
        }
        for plain in next.plain {
            if !self.plain.contains(&plain) {
                self.plain.push(plain);
            }
        }
        self.outside = match (self.outside, next.outside) {
            (Some(own), Some(next)) => Some(own.joined(next)),
            _ => None,
        };
        self.intervals = match (self.intervals, next.intervals) {
            (Some(own), Some(next)) => Some(own.joined(&next)),
            (own, next) => own.or(next),
        };
        self
    }

    /// Forgets what was compared with columns that turned out not to be numbers.
    pub fn without(&mut self, columns: &[String]) {
        self.scores.retain(|score| !columns.contains(&score.target));
        self.intervals.iter_mut().for_each(|intervals| intervals.without(columns));
    }

    /// What is odd about the table.
    pub fn notes(&self, quiet: bool) {
        for (column, count) in &self.unknown {
            say!("note: column {column:?} has a category that training did not know in {}", rows(*count));
        }
        for unscored in &self.unscored {
            say!("note: {unscored}");
        }
        for (column, reading) in &self.plain {
            say!("note: column {column:?} has plain numbers here; they are taken for what training had: {reading}");
        }
        if let Some(outside) = self.outside.as_ref().filter(|outside| !outside.is_empty() && !quiet) {
            let intervals = if self.intervals.is_some() { "; intervals promise nothing there" } else { "" };
            say!("note: {outside}{intervals}");
        }
    }

    /// Rows outside the training range, for programs; null where the ranges are not known.
    pub fn outside_to_json(&self) -> Value {
        let Some(outside) = &self.outside else { return Value::Null };
        let columns = outside.columns.iter().map(|column| {
            let (row, value) = column.farthest;
            json!({
                "column": column.column,
                "rows": column.rows,
                "unit": column.reading.unit(),
                "range": column.range,
                "farthest": { "row": row + 1, "value": value },
            })
        });
        json!({
            "rows": outside.rows.iter().map(|row| row + 1).collect::<Vec<usize>>(),
            "columns": columns.collect::<Vec<Value>>(),
            "within_tolerance": outside.within_tolerance,
        })
    }

    /// On standard error: standard output may be the table.
    pub fn report(&self, options: &PredictOptions, took: Option<Duration>) {
        let place = if options.output == "-" { "standard output" } else { &options.output };
        let without = if self.left_out > 0 {
            format!("; {} without prediction (a cell is missing)", integer(self.left_out))
        } else {
            String::new()
        };
        let pace = took.map_or_else(String::new, |took| {
            format!(" ({:.1} s, {} rows a second)", took.as_secs_f64(), pace(self.rows, took))
        });
        say!("{} predicted, to {place}{without}{pace}", rows(self.rows - self.left_out));
        for score in &self.scores {
            let of = if score.rows() < self.rows {
                format!(" (on {} of {} rows)", integer(score.rows()), integer(self.rows))
            } else {
                String::new()
            };
            say!("{score}{of}");
            if let Some(note) = score.note() {
                say!("{note}");
            }
        }
        if let Some(intervals) = &self.intervals {
            say!("{intervals}");
        }
    }
}

/// Rows a second.
fn pace(rows: usize, took: Duration) -> String {
    integer((rows as f64 / took.as_secs_f64().max(1e-3)).round() as usize)
}
