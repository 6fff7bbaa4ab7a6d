//! What is measured on held-out rows.

use super::targets::{Group, Kind};
use crate::base::error::{Error, Result, nearest};
use crate::linalg::{Matrix, log_sum_exp};
use crate::term::loss::Loss;

/// What is measured on held-out rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Measure {
    /// The mean of the loss itself (for several classes with the logistic loss: of −ln probability).
    Loss,
    /// The share of rows whose class is not predicted.
    Error,
    /// The mean of |y − v|.
    Absolute,
    /// The mean of (y − v)².
    Squared,
}

const NAMES: [(&str, Measure); 4] = [
    ("loss", Measure::Loss),
    ("error", Measure::Error),
    ("absolute", Measure::Absolute),
    ("squared", Measure::Squared),
];

impl Measure {
    /// Reads `loss`, `error`, `absolute` or `squared`.
    pub fn parse(name: &str) -> Result<Self> {
        NAMES.iter().find(|(known, _)| *known == name).map(|(_, measure)| *measure).ok_or_else(|| Error::UnknownName {
            axis: "measure",
            name: crate::base::error::abbreviated(name),
            known: NAMES.iter().map(|(known, _)| (*known).to_owned()).collect(),
            suggestion: nearest(name, NAMES.iter().map(|(known, _)| *known)),
        })
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        NAMES.iter().find(|(_, measure)| *measure == self).map_or("loss", |(name, _)| name)
    }

    /// In words.
    pub fn describe(self) -> &'static str {
        match self {
            Measure::Loss => "mean loss",
            Measure::Error => "share of wrong classes",
            Measure::Absolute => "mean absolute error",
            Measure::Squared => "mean squared error",
        }
    }

    /// What suits a group: classes are to be right, numbers near; one loss is its own measure.
    pub(super) fn default_for(group: &Group, choices: usize) -> Self {
        match (&group.kind, choices) {
            (Kind::Classes { .. }, _) if group.outputs[0].losses[0].probability(0.0).is_some() => Measure::Loss,
            (Kind::Classes { .. }, _) => Measure::Error,
            (Kind::Numbers, 1) => Measure::Loss,
            (Kind::Numbers, _) => Measure::Absolute,
        }
    }

    /// Refuses a measure that the targets do not have.
    pub(super) fn check(self, group: &Group) -> Result<()> {
        let of_classes = matches!(group.kind, Kind::Classes { .. });
        match (self, of_classes) {
            (Measure::Error, false) => Err(Error::argument("the measure", "one for numbers", "error")),
            (Measure::Absolute | Measure::Squared, true) => {
                Err(Error::argument("the measure", "loss or error for classes", self.name()))
            }
            _ => Ok(()),
        }
    }

    /// The measure of row `i` with these values of the group's models.
    pub(super) fn of_row(self, group: &Group, losses: &[&dyn Loss], i: usize, values: &[f64]) -> f64 {
        match (self, &group.kind) {
            (Measure::Error, Kind::Classes { codes, .. }) => f64::from(group.class_of(values) != codes[i]),
            (Measure::Loss, Kind::Classes { codes, is_multinomial: true, .. }) => {
                log_sum_exp(values) - values[codes[i]]
            }
            (Measure::Absolute, _) => mean(values, |t| (group.outputs[t].y[i] - values[t]).abs()),
            (Measure::Squared, _) => mean(values, |t| (group.outputs[t].y[i] - values[t]).powi(2)),
            _ => mean(values, |t| losses[t].value(group.outputs[t].y[i], values[t])),
        }
    }

    /// The weighted mean over all rows that have values, and its standard error.
    pub(super) fn of_rows(
        self,
        group: &Group,
        losses: &[&dyn Loss],
        values: &Matrix,
        weights: Option<&[f64]>,
    ) -> (f64, f64) {
        let weight = |i: usize| weights.map_or(1.0, |w| w[i]);
        let row = |i: usize| -> Vec<f64> { (0..values.cols()).map(|t| values.get(i, t)).collect() };
        let rows = (0..values.rows())
            .map(|i| (weight(i), row(i)))
            .enumerate()
            .filter(|(_, (_, row))| row.iter().all(|v| !v.is_nan()))
            .map(|(i, (weight, row))| (weight, self.of_row(group, losses, i, &row)));
        weighted_mean(rows)
    }

    /// The measure of each held-out row, whose values are the rows of `values`.
    pub(super) fn of_held_out(self, group: &Group, losses: &[&dyn Loss], held: &[usize], values: &Matrix) -> Vec<f64> {
        let row = |i: usize| -> Vec<f64> { (0..values.cols()).map(|t| values.get(i, t)).collect() };
        held.iter().enumerate().map(|(place, i)| self.of_row(group, losses, *i, &row(place))).collect()
    }
}

/// The mean of (weight, number), and its standard error.
pub(super) fn weighted_mean(rows: impl Iterator<Item = (f64, f64)>) -> (f64, f64) {
    let rows: Vec<(f64, f64)> = rows.collect();
    let total: f64 = rows.iter().map(|(w, _)| w).sum();
    let mean = rows.iter().map(|(w, m)| w * m).sum::<f64>() / total;
    // In units of the largest: the squares of squares may leave the range of numbers.
    let size = rows.iter().fold(0.0, |max: f64, (_, m)| max.max(m.abs())).max(f64::MIN_POSITIVE);
    let share = |w: f64, m: f64| w / total * ((m - mean) / size);
    let spread = rows.iter().map(|(w, m)| share(*w, *m).powi(2)).sum::<f64>();
    (mean, size * spread.sqrt())
}

fn mean(values: &[f64], of: impl Fn(usize) -> f64) -> f64 {
    (0..values.len()).map(of).sum::<f64>() / values.len() as f64
}
