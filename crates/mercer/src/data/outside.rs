//! Rows of a table that are outside the range of the training rows: what a model says of them is extrapolated.

use std::fmt;

use super::encoder::{Encoder, Feature};
use super::frame::Frame;
use super::reading::Reading;
use crate::base::error::Result;

/// A number counts as outside from this share of the range beyond its ends: of new rows that are drawn alike, some always exceed the
/// training rows by a little. Dates and times have no such tolerance.
pub const MARGIN: f64 = 0.1;
/// Rows and columns that a sentence names.
const NAMED: usize = 5;

/// What is outside.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Outside {
    /// Rows of the table that was looked at.
    pub of: usize,
    /// Places of the rows that have a cell outside, rising, from 0.
    pub rows: Vec<usize>,
    /// The columns that have one, in the order of the features.
    pub columns: Vec<OutsideColumn>,
    /// How many other rows have a number outside, none of them by more than [`MARGIN`].
    pub within_tolerance: usize,
}

/// A column with cells outside.
#[derive(Debug, Clone, PartialEq)]
pub struct OutsideColumn {
    /// Its name.
    pub column: String,
    /// What its numbers stand for.
    pub reading: Reading,
    /// The least and the largest number of the training rows.
    pub range: [f64; 2],
    /// How many rows are outside.
    pub rows: usize,
    /// The place of the row that is farthest outside, from 0, and its cell.
    pub farthest: (usize, f64),
}

impl OutsideColumn {
    fn is_moment(&self) -> bool {
        is_moment(&self.reading)
    }

    fn distance(&self) -> f64 {
        beyond(self.range, self.farthest.1)
    }
}

fn is_moment(reading: &Reading) -> bool {
    matches!(reading, Reading::Date | Reading::Instant | Reading::Time)
}

/// How far a number is beyond a range.
fn beyond([low, high]: [f64; 2], value: f64) -> f64 {
    (low - value).max(value - high)
}

impl Encoder {
    /// The rows of a table with a number farther beyond the training range of its column than a tenth of that range, or a
    /// date or time beyond it. `None` where the ranges are not
    /// known: of models from older files, and of those that were fitted to rows in parts. Constant columns, which a model ignores, do not count.
    pub fn outside(&self, frame: &Frame) -> Result<Option<Outside>> {
        if self.facts.ranges.is_empty() {
            return Ok(None);
        }
        let mut is_outside = vec![false; frame.rows()];
        let mut is_beyond = vec![false; frame.rows()];
        let mut columns = Vec::new();
        for feature in &self.features {
            let Feature::Number { name, log: None, .. } = feature else { continue };
            let Some(range) = self.facts.ranges.get(name).copied().filter(|_| !feature.is_constant()) else { continue };
            let reading = self.facts.reading(name);
            let margin = if is_moment(reading) { 0.0 } else { MARGIN * (range[1] - range[0]) };
            let (mut rows, mut farthest) = (0, (0, f64::NAN));
            for (row, cell) in self.numbers(frame, name)?.iter().enumerate() {
                // Cells that are missing are within.
                is_beyond[row] |= beyond(range, *cell) > 0.0;
                if beyond(range, *cell) > margin {
                    (rows, is_outside[row]) = (rows + 1, true);
                    if rows == 1 || beyond(range, *cell) > beyond(range, farthest.1) {
                        farthest = (row, *cell);
                    }
                }
            }
            if rows > 0 {
                columns.push(OutsideColumn { column: name.clone(), reading: reading.clone(), range, rows, farthest });
            }
        }
        let rows = (0..frame.rows()).filter(|row| is_outside[*row]).collect();
        let within_tolerance = (0..frame.rows()).filter(|row| is_beyond[*row] && !is_outside[*row]).count();
        Ok(Some(Outside { of: frame.rows(), rows, columns, within_tolerance }))
    }
}

impl Outside {
    /// Whether every row is within.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// This part of a table and the next one together.
    #[must_use]
    pub fn joined(mut self, next: Outside) -> Self {
        let above = self.of;
        self.of += next.of;
        self.within_tolerance += next.within_tolerance;
        self.rows.extend(next.rows.iter().map(|row| row + above));
        for mut column in next.columns {
            column.farthest.0 += above;
            match self.columns.iter_mut().find(|own| own.column == column.column) {
                Some(own) => {
                    own.rows += column.rows;
                    if column.distance() > own.distance() {
                        own.farthest = column.farthest;
                    }
                }
                None => self.columns.push(column),
            }
        }
        self
    }
}

/// `3 of 40 rows are outside the range of the training rows by more than a tenth of it, …`
impl fmt::Display for Outside {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rows = if self.of == 1 { "row" } else { "rows" };
        let are = if self.rows.len() == 1 { "is" } else { "are" };
        let tolerance = match self.columns.iter().filter(|column| column.is_moment()).count() {
            0 => " by more than a tenth of it",
            moments if moments < self.columns.len() => " (numbers by more than a tenth of it)",
            _ => "",
        };
        write!(
            f,
            "{} of {} {rows} {are} outside the range of the training rows{tolerance}, where predictions are extrapolated and no error was measured: ",
            self.rows.len(),
            self.of
        )?;
        for (place, column) in self.columns.iter().take(NAMED).enumerate() {
            let [low, high] = column.range;
            let (row, cell) = column.farthest;
            let comma = if place > 0 { "; " } else { "" };
            let in_all = match column.rows {
                1 => String::new(),
                rows => format!(" ({rows} rows in all)"),
            };
            write!(
                f,
                "{comma}{} is {} in row {}, training had {} … {}{in_all}",
                column.column,
                column.reading.shown(cell),
                row + 1,
                column.reading.shown(low),
                column.reading.shown(high)
            )?;
        }
        if self.columns.len() > NAMED {
            write!(f, "; {} more columns", self.columns.len() - NAMED)?;
        }
        if self.rows.len() > 1 {
            let named: Vec<String> = self.rows.iter().take(NAMED).map(|row| (row + 1).to_string()).collect();
            let more = if self.rows.len() > NAMED { ", …" } else { "" };
            write!(f, "; rows {}{more}", named.join(", "))?;
        }
        match self.within_tolerance {
            0 => Ok(()),
            1 => write!(f, "; 1 more row is outside by less"),
            more => write!(f, "; {more} more rows are outside by less"),
        }
    }
}
