//! Prediction intervals: jackknife+ and CV+ from exact deletions, and the Gaussian process's.
//!
//! With e the held-out residuals of the n training rows and f₋ᵢ the fit without row i (CV+: without its fold), the interval
//! of level 1 − α at x goes
//!
//! > from the ⌊α(n+1)⌋-th smallest of f₋ᵢ(x) − |eᵢ| to the ⌈(1−α)(n+1)⌉-th smallest of f₋ᵢ(x) + |eᵢ|.
//!
//! Barber, Candès, Ramdas and Tibshirani (2021): rows that are drawn alike are covered with probability at least 1 − 2α
//! (CV+ with k folds: less at most min{2(1 − 1/k)/(n/k + 1), (1 − k/n)/(k + 1)}), whatever their distribution; 1 − α is what
//! one sees. The kernel and λ must have been fixed beforehand. Rows count alike whatever their weights: these enter the
//! fits only. For a model on landmarks the fits without rows have the same landmarks; these were chosen without a look at the
//! targets, but at the rows.
//!
//! Where rows have groups, whole groups are left out: with K groups of Nₖ rows and f₋ₖ the fit without group k, the interval goes
//!
//! > from the largest v with Σ {1/Nₖ : f₋ₖ(x) − |eₖᵢ| ≥ v} ≥ (1−α)(K+1) to the smallest v with Σ {1/Nₖ : f₋ₖ(x) + |eₖᵢ| ≤ v} ≥ (1−α)(K+1),
//!
//! the hierarchical jackknife+ of Lee, Barber and Willett (2023; Dunn, Wasserman and Ramdas 2022 for split samples): a row of a *new* group
//! drawn like the others is covered with probability at least 1 − 2α. Every group counts alike, however many rows it has; with one row
//! each it is the interval above. CV+ holds out folds of whole groups and weighs rows alike.
//!
//! [`Intervals`] reads the fits without rows off one decomposition: for the squared loss with λ‖f‖ᵐ. [`RefittedIntervals`] makes the fits of
//! CV+ one by one, for everything else.
//!
//! ```
//! use mercer::interval::{Intervals, Method};
//! use mercer::prelude::*;
//!
//! let x = Matrix::from_fn(60, 1, |i, _| 0.1 * i as f64);
//! let y: Vec<f64> = (0..60).map(|i| (0.1 * i as f64).sin() + 0.1 * (7.0 * i as f64).sin()).collect();
//! let model = Fit::new(Gaussian::lengthscale(1.0)).lambda(1e-3).fit(&x, &y)?.model;
//! let training = model.training().expect("kernel models hold their rows");
//! let intervals = Intervals::new(&model, training, &Method::JackknifePlus, 0.9, None)?;
//! let bounds = intervals.at(&x)?;
//! let inside = (0..60).filter(|i| bounds[0].contains(*i, y[*i]) == Some(true)).count();
//! assert!(inside >= 50);
//! # Ok::<(), mercer::Error>(())
//! ```

mod grouped;
mod process;
mod refits;
mod student;

use crate::base::clip::within;
use crate::base::error::{Error, Result};
use crate::base::watch::Observer;
use crate::data::Frame;
use crate::data::Points;
use crate::fit::after::training::{Refitted, Training, told};
use crate::linalg::Matrix;
use crate::model::{Model, Summary};
use crate::path::{Projector, Target};
use crate::solve::deletion::{Deletions, Divisor, GroupDeletions};
use crate::term::criterion::{Criterion, Folds};
use grouped::Shares;
use process::Process;

pub use refits::RefittedIntervals;

/// How intervals are made.
#[derive(Debug, Clone, PartialEq)]
pub enum Method {
    /// From the fits without one row.
    JackknifePlus,
    /// From the fits without one of these folds.
    CvPlus(Folds),
    /// f a Gaussian process with the kernel as covariance, up to a factor; y with independent noise. See `process.rs`.
    GaussianProcess,
}

impl Method {
    fn name(&self) -> &'static str {
        match self {
            Method::JackknifePlus => "jackknife+",
            Method::CvPlus(_) => "cv+",
            Method::GaussianProcess => "gaussian-process",
        }
    }
}

/// Whether rows that a criterion judged were in order of time.
fn is_of_time(spec: &str) -> bool {
    Criterion::parse(spec).is_ok_and(|criterion| criterion.is_forward())
}

/// The interval of one target at every row of a table.
#[derive(Debug, Clone, PartialEq)]
pub struct Bounds {
    /// Lower ends; `None` where a row has no prediction.
    pub lower: Vec<Option<f64>>,
    /// Upper ends.
    pub upper: Vec<Option<f64>>,
}

/// How intervals did on rows whose target is known.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Coverage {
    /// Rows with an interval and a target.
    pub rows: usize,
    /// The share of them whose target is inside.
    pub share: f64,
    /// The mean of upper − lower.
    pub mean_width: f64,
}

/// Intervals of a model, ready for new rows.
pub struct Intervals<'m> {
    refitted: Refitted<'m>,
    level: f64,
    source: Source,
    /// Where rows have groups: what each row weighs among the residuals.
    shares: Option<Shares>,
}

/// One entry per target.
enum Source {
    Rows(Vec<Deletions>),
    Groups(Vec<GroupDeletions>),
    Process(Vec<Process>),
}

/// Numbers in a block of kernel values or deleted predictions.
const BLOCK: usize = 1 << 22;

impl<'m> Intervals<'m> {
    /// Intervals that hold with probability `level`, from one decomposition of the training rows.
    pub fn new(
        model: &'m Model,
        training: Training,
        method: &Method,
        level: f64,
        observer: Option<&Observer>,
    ) -> Result<Self> {
        if !(level > 0.0 && level < 1.0) {
            return Err(Error::argument("the level of an interval", "above 0 and below 1", level));
        }
        let chosen_by = model.summaries().iter().find_map(|summary| summary.chosen_by.as_deref());
        if *method != Method::GaussianProcess && chosen_by.is_some_and(is_of_time) {
            let must = "gaussian-process for a model that was chosen in order of time: jackknife+ and CV+ predict rows from later \
                        ones and hold for rows that could come in any order";
            return Err(Error::argument("the method of an interval", must, method.name()));
        }
        let whole_groups = match method {
            Method::GaussianProcess => None,
            _ => training.folds_of_groups(model)?,
        };
        let shares = training.groups.as_deref().filter(|_| whole_groups.is_some()).map(Shares::new);
        if *method != Method::GaussianProcess {
            let needed = rows_needed(level);
            if let Some(few) = shares.as_ref().map(|shares| shares.groups).filter(|groups| *groups < needed) {
                let must = format!("at least {needed} for an interval of level {level} (with fewer it is infinite)");
                return Err(Error::argument("the number of groups of training rows", must, few));
            }
            if training.rows() < needed {
                let must = format!("at least {needed} for an interval of level {level} (with fewer it is infinite)");
                return Err(Error::argument("the number of training rows", must, training.rows()));
            }
        } else if model.kernel().is_precomputed() {
            let must = "one that knows k(x, x) of a new row";
            return Err(Error::argument("the kernel of a Gaussian process", must, model.kernel().spec()));
        } else if training.rows() < 2 {
            let must = "at least 2, to know the variance";
            return Err(Error::argument("the number of training rows", must, training.rows()));
        }
        let refitted = Refitted::new(model, training, observer)?;
        told(observer, "leaving out")?;
        let Refitted { spectrum, targets, .. } = &refitted;
        let all = || targets.iter().zip(model.summaries());
        let by_groups = |folds: &Folds| -> Result<Source> {
            let of = |(target, of): (&Target, &Summary)| {
                spectrum.group_deletions(target, of.exponent, of.lambda, &folds.groups)
            };
            Ok(Source::Groups(all().map(of).collect::<Result<_>>()?))
        };
        let source = match (method, &whole_groups) {
            (Method::JackknifePlus, Some(folds)) => by_groups(folds)?,
            (Method::JackknifePlus, None) => Source::Rows(
                all()
                    .map(|(target, of)| spectrum.deletions(target, of.exponent, of.lambda, Divisor::Remaining))
                    .collect::<Result<_>>()?,
            ),
            (Method::CvPlus(folds), _) => {
                let groups = refitted.training.groups.as_deref();
                groups.map_or(Ok(()), |groups| grouped::check_folds(folds, groups))?;
                by_groups(folds)?
            }
            (Method::GaussianProcess, _) => {
                Source::Process((0..targets.len()).map(|t| Process::new(&refitted, t)).collect())
            }
        };
        Ok(Intervals { refitted, level, source, shares })
    }

    /// The intervals of every target at the rows of a table.
    pub fn at_frame(&self, frame: &Frame, observer: Option<&Observer>) -> Result<Vec<Bounds>> {
        let (points, complete) = self.refitted.model.encoder().encode(frame)?;
        let ends = self.at_points(&points, observer)?;
        let shown = |ends: Vec<f64>| ends.into_iter().zip(&complete).map(|(end, ok)| ok.then_some(end)).collect();
        Ok(ends.into_iter().map(|(lower, upper)| Bounds { lower: shown(lower), upper: shown(upper) }).collect())
    }

    /// The intervals of every target at rows of plain numbers, columns in the order of the training features.
    pub fn at(&self, x: &Matrix) -> Result<Vec<Bounds>> {
        self.at_frame(&self.refitted.model.frame_of(x)?, None)
    }

    /// In blocks of rows, so that memory stays at a few numbers for each training row.
    fn at_points(&self, new: &Points, observer: Option<&Observer>) -> Result<Vec<(Vec<f64>, Vec<f64>)>> {
        let Refitted { model, training, spectrum, targets, .. } = &self.refitted;
        let projector = Projector::new(spectrum, &**model.kernel(), &training.points, training.weights.as_deref());
        // A power of two: parts of a table that are multiples of 512 rows are cut as the whole table is, to the same bits.
        let height = 1 << (BLOCK / training.rows().max(1)).clamp(1, 512).ilog2();
        let mut ends = vec![(Vec::new(), Vec::new()); targets.len()];
        for start in (0..new.rows()).step_by(height) {
            told(observer, "intervals")?;
            let rows: Vec<usize> = (start..(start + height).min(new.rows())).collect();
            let block = new.subset(&rows);
            let seen = self.refitted.seen(&block);
            let projected = projector.rows(&seen);
            let own: Vec<f64> = match &self.source {
                Source::Process(_) => {
                    let unseen = self.refitted.unseen(&block, &seen);
                    projector.diagonal(&seen).iter().zip(unseen).map(|(own, more)| own + more).collect()
                }
                _ => Vec::new(),
            };
            for (t, (lower, upper)) in ends.iter_mut().enumerate() {
                match &self.source {
                    Source::Rows(deletions) => {
                        let mut predicted = deletions[t].predict(&projected);
                        let mut residuals: Vec<f64> = deletions[t].fits.iter().map(|fit| fit.residual).collect();
                        if let Some(clip) = &targets[t].clip {
                            clip.keep_rows(&mut residuals);
                            keep_columns(&mut predicted, |i| clip.without_row(i));
                        }
                        order_statistics(self.level, &predicted, &residuals, |i| i, lower, upper);
                    }
                    Source::Groups(deletions) => {
                        let mut predicted = deletions[t].predict(&projected);
                        let group_of = &deletions[t].group_of;
                        let mut residuals = deletions[t].residuals.clone();
                        if let Some(clip) = &targets[t].clip {
                            let rows_of = |group: usize| -> Vec<usize> {
                                (0..group_of.len()).filter(|row| group_of[*row] == group).collect()
                            };
                            let ranges: Vec<[f64; 2]> =
                                (0..predicted.cols()).map(|group| clip.without(&rows_of(group))).collect();
                            clip.keep_rows_within(&mut residuals, |row| ranges[group_of[row]]);
                            keep_columns(&mut predicted, |group| ranges[group]);
                        }
                        match &self.shares {
                            Some(shares) => {
                                shares.ends(self.level, &predicted, &residuals, |i| group_of[i], lower, upper);
                            }
                            None => {
                                order_statistics(self.level, &predicted, &residuals, |i| group_of[i], lower, upper);
                            }
                        }
                    }
                    Source::Process(processes) => {
                        let half = student::two_sided(self.level, processes[t].freedom);
                        for (mean, deviation) in processes[t].at(spectrum, &projected, &own) {
                            lower.push(mean - half * deviation);
                            upper.push(mean + half * deviation);
                        }
                    }
                }
            }
        }
        for (summary, (lower, upper)) in model.summaries().iter().zip(&ends) {
            if let Some(row) = (0..lower.len()).find(|row| !(lower[*row].is_finite() && upper[*row].is_finite())) {
                let problem = "the interval leaves the range of numbers; the features of this row are too far from the \
                               training rows";
                return Err(Error::cell(row + 1, &summary.target, problem));
            }
        }
        Ok(ends)
    }
}

/// Each column's numbers within its range.
fn keep_columns(values: &mut Matrix, range: impl Fn(usize) -> [f64; 2]) {
    for j in 0..values.cols() {
        let range = range(j);
        values.col_mut(j).iter_mut().for_each(|value| *value = within(*value, range));
    }
}

/// The order statistics of f₋ᵢ(x) ∓ |eᵢ|, row by row; `column(i)` is where the fit without row i stands.
fn order_statistics(
    level: f64,
    predicted: &Matrix,
    residuals: &[f64],
    column: impl Fn(usize) -> usize,
    lower: &mut Vec<f64>,
    upper: &mut Vec<f64>,
) {
    let n = residuals.len();
    let rank = rank(level, n);
    let mut values = vec![0.0; n];
    for row in 0..predicted.rows() {
        let mut order = |sign: f64, place: usize| {
            for (i, value) in values.iter_mut().enumerate() {
                *value = predicted.get(row, column(i)) + sign * residuals[i].abs();
            }
            *values.select_nth_unstable_by(place, f64::total_cmp).1
        };
        lower.push(order(-1.0, rank - 1));
        upper.push(order(1.0, n - rank));
    }
}

impl Bounds {
    /// Whether a value is inside the interval of a row; `None` where there is none.
    pub fn contains(&self, row: usize, value: f64) -> Option<bool> {
        let (lower, upper) = (self.lower.get(row).copied()??, self.upper.get(row).copied()??);
        Some(lower <= value && value <= upper)
    }

    /// How often the intervals hold the truth, over the rows that have both; `None` if none has.
    pub fn coverage(&self, truth: &[f64]) -> Option<Coverage> {
        let (mut rows, mut inside, mut width) = (0, 0, 0.0);
        for (row, y) in truth.iter().enumerate().filter(|(_, y)| !y.is_nan()) {
            if let (Some(hit), Some(lower), Some(upper)) = (self.contains(row, *y), self.lower[row], self.upper[row]) {
                rows += 1;
                inside += usize::from(hit);
                width += upper - lower;
            }
        }
        let count = rows as f64;
        (rows > 0).then(|| Coverage { rows, share: inside as f64 / count, mean_width: width / count })
    }
}

/// ⌊α(n+1)⌋, α = 1 − level; the rounding of 1 − 0.9 must not cost a row.
fn rank(level: f64, rows: usize) -> usize {
    (((1.0 - level) * (rows as f64 + 1.0) + 1e-9) as usize).min(rows)
}

/// The fewest rows with which the interval is finite: 1/α − 1, rounded up.
pub fn rows_needed(level: f64) -> usize {
    ((1.0 / (1.0 - level) - 1.0 - 1e-9).ceil().max(1.0)) as usize
}

#[cfg(test)]
mod tests {
    use super::{rank, rows_needed};

    #[test]
    fn ranks_are_those_of_exact_arithmetic() {
        for (level, rows, expected) in
            [(0.9, 9, 1), (0.9, 8, 0), (0.9, 18, 1), (0.9, 19, 2), (0.95, 19, 1), (0.5, 1, 1)]
        {
            assert_eq!(rank(level, rows), expected, "{level} {rows}");
        }
        for (level, rows) in [(0.9, 9), (0.95, 19), (0.99, 99), (0.8, 4), (0.5, 1)] {
            assert_eq!(rows_needed(level), rows);
            assert!(rank(level, rows) == 1 && rank(level, rows - 1) == 0);
        }
    }
}
