//! `--interval`: two more columns for every prediction.

use std::fmt;

use mercer::data::{Column, Frame};
use mercer::interval::{Bounds, Coverage, Intervals, Method};
use mercer::{Model, Observer, Training};
use serde_json::{Map, Value, json};

use super::{names, numbers};
use crate::args::{Common, IntervalMethod, PredictOptions, TrainingOptions};
use crate::progress::Progress;
use crate::report::{integer, short};

/// The intervals of one target.
struct Target {
    name: String,
    column: String,
    bounds: Bounds,
    /// Where the table has the target.
    coverage: Option<Coverage>,
}

/// All that was added, and what it promises.
pub struct Added {
    level: f64,
    method: IntervalMethod,
    folds: usize,
    rows: usize,
    is_weighted: bool,
    /// Number of groups of the training rows, where they have some.
    groups: Option<usize>,
    /// Whether kernel or λ were chosen on the same rows.
    was_chosen: bool,
    on_landmarks: bool,
    targets: Vec<Target>,
}

/// Makes intervals for one table after another.
pub struct Maker<'m> {
    model: &'m Model,
    intervals: Intervals<'m>,
    options: &'m PredictOptions,
    rows: usize,
    is_weighted: bool,
    groups: Option<usize>,
}

/// Nothing unless intervals were asked for.
pub fn maker<'m>(
    model: &'m Model,
    options: &'m PredictOptions,
    common: &Common,
    progress: &Progress,
) -> anyhow::Result<Option<Maker<'m>>> {
    let asked = &options.intervals;
    let Some(level) = asked.interval else { return Ok(None) };
    if let Some(reason) = model.is_not_spectral() {
        anyhow::bail!(
            "--interval is for models of the squared loss with the penalty λ‖f‖ᵐ, whose fits without a row are exact; as for {}, \
             {reason}. Quantiles of their own: mercer fit --loss 'pinball(quantile=[0.05,0.95])'",
            options.model
        );
    }
    let reading = options.reading.to_read_options();
    let Some(training) = training(model, &asked.training, &reading)? else {
        anyhow::bail!(
            "{} does not hold its training rows, from which intervals are made; --data TRAINING gives them (and --weight \
             NAME their weights)",
            options.model
        );
    };
    let (rows, is_weighted, groups) = (training.rows(), training.is_weighted(), training.groups());
    let fitted_groups = model.summaries().iter().find_map(|summary| summary.groups);
    if let (Some(count), None, true) = (fitted_groups, groups, asked.interval_method != IntervalMethod::GaussianProcess)
    {
        anyhow::bail!(
            "{} was fitted to {} groups of rows, and intervals leave out whole groups; --group NAME names their column in the \
             table of --data",
            options.model,
            integer(count)
        );
    }
    let method = match asked.interval_method {
        IntervalMethod::Jackknife => Method::JackknifePlus,
        IntervalMethod::CrossValidation => Method::CvPlus(training.folds(asked.folds, common.seed)?),
        IntervalMethod::GaussianProcess => Method::GaussianProcess,
    };
    let intervals = Intervals::new(model, training, &method, level, Some(&progress.observer()))?;
    Ok(Some(Maker { model, intervals, options, rows, is_weighted, groups }))
}

impl Maker<'_> {
    /// The intervals at the rows of a table.
    pub fn at(&self, frame: &Frame, observer: Option<&Observer>) -> mercer::Result<Added> {
        let (model, asked) = (self.model, &self.options.intervals);
        let bounds = self.intervals.at_frame(frame, observer)?;
        let targets = names(model, &self.options.name).into_iter().zip(bounds).zip(model.summaries());
        let targets = targets.map(|((name, bounds), summary)| {
            let coverage = match frame.column(&summary.target) {
                Ok(Column::Number(truth)) => bounds.coverage(truth),
                _ => None,
            };
            Target { name, column: summary.target.clone(), bounds, coverage }
        });
        Ok(Added {
            level: asked.interval.unwrap_or(f64::NAN),
            method: asked.interval_method,
            folds: asked.folds,
            rows: self.rows,
            is_weighted: self.is_weighted,
            groups: self.groups,
            on_landmarks: model.is_on_landmarks(),
            was_chosen: model.summaries().iter().any(|summary| summary.chosen_by.is_some()),
            targets: targets.collect(),
        })
    }
}

/// The training rows: from the table that was named, or the model's own.
pub fn training(
    model: &Model,
    options: &TrainingOptions,
    reading: &mercer_io::ReadOptions,
) -> anyhow::Result<Option<Training>> {
    match &options.data {
        Some(path) => {
            let table = crate::files::read_table(path, reading)?;
            let (weight, group) = (options.weight.as_deref(), options.group.as_deref());
            Ok(Some(model.training_with(&table.frame, weight, group)?))
        }
        None => Ok(model.training()),
    }
}

impl Added {
    /// The coverage of this part of a table and of another part together; the intervals themselves are let go.
    #[must_use]
    pub fn joined(mut self, other: &Added) -> Self {
        for (own, other) in self.targets.iter_mut().zip(&other.targets) {
            own.bounds = Bounds { lower: Vec::new(), upper: Vec::new() };
            own.coverage = match (own.coverage, other.coverage) {
                (Some(a), Some(b)) => {
                    let rows = a.rows + b.rows;
                    let pooled = |x: f64, y: f64| (x * a.rows as f64 + y * b.rows as f64) / rows as f64;
                    let (share, mean_width) = (pooled(a.share, b.share), pooled(a.mean_width, b.mean_width));
                    Some(Coverage { rows, share, mean_width })
                }
                (a, b) => a.or(b),
            };
        }
        self
    }

    /// Forgets how intervals did against columns that turned out not to be numbers.
    pub fn without(&mut self, columns: &[String]) {
        self.targets.iter_mut().filter(|target| columns.contains(&target.column)).for_each(|t| t.coverage = None);
    }

    pub fn columns(&self) -> Vec<(String, Column)> {
        let both = |target: &Target| {
            let name = |end: &str| format!("{}_{end}", target.name);
            [(name("lower"), numbers(&target.bounds.lower)), (name("upper"), numbers(&target.bounds.upper))]
        };
        self.targets.iter().flat_map(both).collect()
    }

    pub fn to_json(&self) -> Value {
        let coverage = |target: &Target| {
            let found = target.coverage.as_ref()?;
            let facts = json!({ "rows": found.rows, "share": found.share, "mean_width": found.mean_width });
            Some((target.name.clone(), facts))
        };
        let coverage: Map<String, Value> = self.targets.iter().filter_map(coverage).collect();
        json!({
            "level": self.level,
            "method": self.name(),
            "training_rows": self.rows,
            "groups": self.groups,
            "chosen_on_the_same_rows": self.was_chosen,
            "coverage": coverage,
        })
    }

    fn name(&self) -> &'static str {
        match self.method {
            IntervalMethod::Jackknife => "jackknife+",
            IntervalMethod::CrossValidation => "cv+",
            IntervalMethod::GaussianProcess => "gaussian-process",
        }
    }

    /// What may be relied on.
    fn promise(&self) -> String {
        let least = short((2.0 * self.level - 1.0).max(0.0));
        let level = short(self.level);
        let given = match (self.was_chosen, self.on_landmarks) {
            (true, false) => {
                "; that holds for a kernel and λ fixed beforehand, and here some were chosen on the same rows"
            }
            (true, true) => {
                "; that holds for a kernel, λ and landmarks fixed beforehand, and here they were chosen on the same rows"
            }
            (false, true) => "; that holds for landmarks fixed beforehand, and here they were chosen on the same rows",
            (false, false) => "",
        };
        let rows = if self.groups.is_some() { "rows of new groups drawn alike" } else { "rows drawn alike" };
        match self.method {
            IntervalMethod::Jackknife => {
                format!("holds at least {least} of {rows}, whatever their distribution, and usually {level}{given}")
            }
            IntervalMethod::CrossValidation => format!(
                "holds about {least} of {rows} at the least (less {}), whatever their distribution, and usually \
                 {level}{given}",
                short(self.shortfall())
            ),
            IntervalMethod::GaussianProcess => {
                let apart = if self.groups.is_some() { ", and independent within a group" } else { "" };
                format!(
                    "holds {level} of new rows if f is a Gaussian process with this kernel and the noise is normal{apart}"
                )
            }
        }
    }

    /// What folds may cost beyond 2α: the smaller of 2(1 − 1/k)/(n/k + 1) and (1 − k/n)/(k + 1).
    fn shortfall(&self) -> f64 {
        // Where rows have groups these are what is drawn.
        let (n, k) = (self.groups.unwrap_or(self.rows) as f64, self.folds as f64);
        (2.0 * (1.0 - 1.0 / k) / (n / k + 1.0)).min((1.0 - k / n) / (k + 1.0))
    }
}

impl fmt::Display for Added {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let level = short(self.level);
        let groups = self.groups.map_or_else(String::new, |groups| format!(" in {} groups", integer(groups)));
        let rows = integer(self.rows);
        write!(f, "interval {level} by {} on {rows} training rows{groups}: {}", self.name(), self.promise())?;
        if self.is_weighted && self.method != IntervalMethod::GaussianProcess {
            write!(f, "\nweights enter the fits; in the order of the residuals every row counts alike")?;
        }
        for target in &self.targets {
            if let Some(Coverage { rows, share, mean_width }) = target.coverage {
                let (share, width) = (short(share), short(mean_width));
                let rows = integer(rows);
                write!(f, "\nagainst column {:?}: coverage {share} on {rows} rows, mean width {width}", target.column)?;
            }
        }
        Ok(())
    }
}
