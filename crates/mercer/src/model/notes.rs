//! What is odd about a target, or about what came of it: to be read before any number of a report.

use std::collections::HashMap;
use std::fmt;

use crate::data::{Design, OddCell};
use crate::model::Summary;
use crate::path::HeldOutRows;

/// More different values than this do not look like classes.
const FEW: usize = 10;
/// Rows for each different value, at least, of a target that looks like classes.
const ROWS_A_VALUE: usize = 5;
/// A target this many times the distance of the quartiles away from the median is an outlier.
const FAR: f64 = 1000.0;
/// A row with this share of the variance is one.
const MOST_OF_THE_VARIANCE: f64 = 0.9;
/// With fewer rows, one of them may well hold most of the variance.
const ENOUGH: usize = 10;

/// Something odd about a target or about the model of it.
#[derive(Debug, Clone, PartialEq)]
pub enum Note {
    /// All rows have the same target.
    Constant {
        /// The target's name.
        target: String,
        /// What every row has.
        value: f64,
        /// Whether the model has an offset, and so predicts that value.
        has_offset: bool,
    },
    /// Numbers that may be the names of classes.
    LikeClasses {
        /// The target's name.
        target: String,
        /// The different values, rising.
        values: Vec<f64>,
    },
    /// One row decides all averages.
    Outlier {
        /// The target's name.
        target: String,
        /// The row, from 1.
        row: usize,
        /// Its target.
        value: f64,
        /// Between the quartiles are half of the rows.
        quartiles: [f64; 2],
        /// The row's share of the variance.
        share: f64,
        /// How many other rows are far away, too.
        others: usize,
    },
    /// Held-out rows are predicted no better than by the mean of the rows that predict them.
    NoBetterThanTheMean {
        /// The target's name.
        target: String,
        /// R² of held-out rows.
        r2: f64,
        /// How rows were held out, such as `leave-one-out`.
        held_out: &'static str,
    },
    /// All training rows are predicted to be of one class.
    OneClass {
        /// The target's name.
        target: String,
        /// That class.
        class: String,
    },
    /// Held-out rows are predicted no better than by their most frequent class.
    NoBetterThanOneClass {
        /// The target's name.
        target: String,
        /// That class.
        class: String,
        /// The share of held-out rows whose class is not predicted, by the weights of the fit.
        error: f64,
        /// The share of held-out rows of other classes.
        share: f64,
    },
    /// The loss states probabilities, and the fit had class weights.
    ReweightedProbabilities {
        /// The target's name.
        target: String,
    },
    /// One cell of a feature decides its mean and its deviation.
    OutlyingCell {
        /// The feature's column.
        column: String,
        /// The row, from 1.
        row: usize,
        /// The cell.
        value: f64,
        /// Between the quartiles are half of the rows.
        quartiles: [f64; 2],
        /// The cell's share of the variance of its column.
        share: f64,
        /// How many other cells of the column are far away, too.
        others: usize,
    },
    /// Least squares on columns that depend on each other.
    Undetermined {
        /// The target's name.
        target: String,
        /// How many directions the columns have.
        rank: usize,
        /// How many columns vary.
        columns: usize,
    },
    /// Forward chaining on rows whose dates fall.
    BackInTime {
        /// The column of dates.
        column: String,
    },
}

impl Note {
    /// The target (or the feature) that it is about, if it is about one.
    pub fn target(&self) -> Option<&str> {
        match self {
            Note::Constant { target, .. }
            | Note::LikeClasses { target, .. }
            | Note::Outlier { target, .. }
            | Note::NoBetterThanTheMean { target, .. }
            | Note::OneClass { target, .. }
            | Note::NoBetterThanOneClass { target, .. }
            | Note::ReweightedProbabilities { target }
            | Note::OutlyingCell { column: target, .. }
            | Note::Undetermined { target, .. } => Some(target),
            Note::BackInTime { .. } => None,
        }
    }
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Note::Constant { target, value, has_offset } => {
                write!(f, "{target} is {} in every row: there is nothing to learn", short(*value))?;
                if *has_offset { write!(f, ", and the model predicts {}", short(*value)) } else { Ok(()) }
            }
            Note::LikeClasses { target, values } => match &values[..] {
                [low, high] => write!(
                    f,
                    "{target} has only the values {} and {}, which are fitted as numbers; classes are fitted by the logistic \
                     or the hinge loss",
                    short(*low),
                    short(*high)
                ),
                [low, .., high] => write!(
                    f,
                    "{target} has only {} different values, whole numbers from {} to {}, which are fitted as numbers; if they \
                     name classes, fit them by the logistic or the hinge loss",
                    values.len(),
                    short(*low),
                    short(*high)
                ),
                _ => Ok(()),
            },
            Note::Outlier { target, row, value, quartiles: [low, high], share, others } => {
                write!(
                    f,
                    "{target} is {} in row {row}, and half of all rows are within {} … {}; that row has {} of the variance, so \
                     mean squared errors and R² say little about the others",
                    short(*value),
                    short(*low),
                    short(*high),
                    percent(*share)
                )?;
                write_others(f, *others)
            }
            Note::NoBetterThanTheMean { target, r2, held_out } => {
                let (rows, mean) = match *held_out {
                    FORWARD => ("later", "earlier rows"),
                    GROUPS => ("new", "other groups"),
                    _ => ("new", "target"),
                };
                write!(
                    f,
                    "{target}: R² is {} by {held_out}, so {rows} rows are predicted no better than by the mean of the {mean}",
                    short(*r2)
                )
            }
            Note::OutlyingCell { column, row, value, quartiles: [low, high], share, others } => {
                write!(
                    f,
                    "feature {column} is {} in row {row}, and half of all rows are within {} … {}; that row has {} of the \
                     column's variance, so the other rows look almost alike in it",
                    short(*value),
                    short(*low),
                    short(*high),
                    percent(*share)
                )?;
                write_others(f, *others)
            }
            Note::OneClass { target, class } => {
                write!(f, "{target}: the model predicts {class} for every training row")
            }
            Note::NoBetterThanOneClass { target, class, error, share } => write!(
                f,
                "{target}: {} of the held-out rows are classified wrongly, and {} would be if every row were predicted as {class}",
                percent(*error),
                percent(*share)
            ),
            Note::ReweightedProbabilities { target } => write!(
                f,
                "{target}: the classes were fitted with class weights, and probabilities are those of classes with these weights, not of \
                 the table"
            ),
            Note::Undetermined { target, rank, columns } => write!(
                f,
                "{target}: {columns} columns that vary have rank {rank}: the rows do not determine every coefficient, and those with the \
                 least sum of squares are shown; predictions are determined, single coefficients and their errors are not"
            ),
            Note::BackInTime { column } => write!(
                f,
                "{column} falls from row to row, so the rows run backwards in time and forward chaining predicts earlier rows from \
                 later ones; sort the table by {column}, the earliest row first"
            ),
        }
    }
}

/// What there is to say of the order of the rows.
pub(crate) fn of_order(design: &Design, summaries: &[Summary]) -> Option<Note> {
    let is_forward = |summary: &Summary| summary.chosen_by.as_deref().is_some_and(|spec| spec.starts_with("forward"));
    let column = design.runs_backwards.clone().filter(|_| summaries.iter().any(is_forward))?;
    Some(Note::BackInTime { column })
}

fn write_others(f: &mut fmt::Formatter<'_>, others: usize) -> fmt::Result {
    match others {
        0 => Ok(()),
        1 => write!(f, " (1 more row is as odd)"),
        n => write!(f, " ({n} more rows are as odd)"),
    }
}

/// Cells of features that are out of all proportion, one for each column.
pub(crate) fn of_features(design: &Design) -> Vec<Note> {
    let note = |cell: &OddCell| Note::OutlyingCell {
        column: cell.column.clone(),
        row: cell.row + 1,
        value: cell.value,
        quartiles: cell.quartiles,
        share: cell.share,
        others: cell.others,
    };
    design.odd_cells.iter().map(note).collect()
}

/// What there is to say of targets of numbers.
pub(crate) fn of_targets(design: &Design, summaries: &[Summary]) -> Vec<Note> {
    (0..design.y.cols()).flat_map(|t| of_target(design, t, summaries.get(t).is_none_or(|s| s.has_offset))).collect()
}

fn of_target(design: &Design, t: usize, has_offset: bool) -> Vec<Note> {
    let (y, target) = (design.y.col(t), design.targets[t].clone());
    let mut sorted = y.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let (Some(first), Some(last)) = (sorted.first().copied(), sorted.last().copied()) else { return Vec::new() };
    if first == last {
        // A single row says nothing of what a target is.
        return if y.len() > 1 { vec![Note::Constant { target, value: first, has_offset }] } else { Vec::new() };
    }
    let mut values = sorted.clone();
    values.dedup();
    let are_whole = values.iter().all(|value| value.fract() == 0.0);
    if values.len() <= FEW && ROWS_A_VALUE * values.len() <= y.len() && (values.len() == 2 || are_whole) {
        return vec![Note::LikeClasses { target, values }];
    }
    outlier(design, t, &sorted).into_iter().collect()
}

/// The row farthest from the median, if it is out of all proportion or has nearly all of the variance.
fn outlier(design: &Design, t: usize, sorted: &[f64]) -> Option<Note> {
    let (y, n) = (design.y.col(t), sorted.len());
    if n < ENOUGH {
        return None;
    }
    let [low, median, high] = [n / 4, n / 2, n - 1 - n / 4].map(|place| sorted[place]);
    let distance = |value: &f64| (value - median).abs();
    let place = (0..n).max_by(|a, b| distance(&y[*a]).total_cmp(&distance(&y[*b])))?;
    let weight = |i: usize| design.weights.as_ref().map_or(1.0, |w| w[i]);
    let mean = (0..n).map(|i| weight(i) * y[i]).sum::<f64>() / design.weight_sum();
    let square = |i: usize| weight(i) * (y[i] - mean).powi(2);
    let share = square(place) / (0..n).map(square).sum::<f64>();
    let is_far = |value: &f64| high > low && distance(value) > FAR * (high - low);
    let far = y.iter().filter(|value| is_far(value)).count();
    (far > 0 || share > MOST_OF_THE_VARIANCE).then(|| Note::Outlier {
        target: design.targets[t].clone(),
        row: design.table_rows[place] + 1,
        value: y[place],
        quartiles: [low, high],
        share,
        others: far.saturating_sub(1),
    })
}

/// How rows were held out.
pub(crate) const FORWARD: &str = "forward chaining";
const GROUPS: &str = "leave-one-group-out";

/// What held-out rows say of each model of numbers.
pub(crate) fn of_errors(design: &Design, summaries: &[Summary], forward: &[Option<HeldOutRows>]) -> Vec<Note> {
    let of = |(t, summary): (usize, &Summary)| {
        if let Some(forward) = forward.get(t).and_then(Option::as_ref) {
            return no_better(summary, forward.r2?, (forward.mse, forward.mse_of_means), FORWARD);
        }
        let (r2, rmse) = summary.loo_r2.zip(summary.loo_rmse)?;
        let groups = design.whole_groups();
        let held_out = if groups.is_some() { GROUPS } else { "leave-one-out" };
        // R² is relative to the mean of all rows, which the row itself or its group is part of.
        let of_means = if r2 <= 0.0 { mse_without(design, t, groups) } else { f64::INFINITY };
        no_better(summary, r2, (rmse * rmse, of_means), held_out)
    };
    summaries.iter().enumerate().filter_map(of).collect()
}

/// The weighted mean squared error of the mean of all rows but each, or but those of its group.
fn mse_without(design: &Design, t: usize, groups: Option<&[u32]>) -> f64 {
    let (y, n) = (design.y.col(t), design.rows());
    let weight = |i: usize| design.weights.as_ref().map_or(1.0, |w| w[i]);
    let total = design.weight_sum();
    let mean = (0..n).map(|i| weight(i) / total * y[i]).sum::<f64>();
    let unit = |i: usize| groups.map_or(i, |codes| codes[i] as usize);
    let mut sums: HashMap<usize, (f64, f64)> = HashMap::new();
    for i in 0..n {
        let (weights, values) = sums.entry(unit(i)).or_default();
        *weights += weight(i);
        *values += weight(i) * (y[i] - mean);
    }
    let square = |i: usize| {
        let (weights, values) = sums[&unit(i)];
        // The deviations of all rows sum to 0.
        weight(i) * (y[i] - mean + values / (total - weights)).powi(2)
    };
    (0..n).map(square).sum::<f64>() / total
}

/// Of a target that varies: where held-out rows are predicted no better than by the mean of the rows that predict them.
pub(crate) fn no_better(
    summary: &Summary,
    r2: f64,
    (mse, of_means): (f64, f64),
    held_out: &'static str,
) -> Option<Note> {
    let [low, high] = summary.target_range;
    let target = summary.target.clone();
    // The zero function is the mean itself, to rounding.
    (r2 <= 0.0 && mse >= (1.0 - 1e-9) * of_means && low < high).then_some(Note::NoBetterThanTheMean {
        target,
        r2,
        held_out,
    })
}

fn percent(share: f64) -> String {
    if share > 0.9999 { "more than 99.99 %".into() } else { format!("{} %", short(100.0 * share)) }
}

/// Four digits of what is not whole.
fn short(value: f64) -> String {
    if value.fract() == 0.0 && value.abs() < 1e15 {
        return format!("{}", value + 0.0);
    }
    let size = value.abs();
    if !(1e-3..1e7).contains(&size) {
        return format!("{value:.3e}");
    }
    let decimals = (3 - libm::floor(libm::log10(size)) as i32).max(0) as usize;
    let text = format!("{value:.decimals$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}
