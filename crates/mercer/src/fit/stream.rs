//! Rows one at a time: predicted before they are learned, and the m-power problem solved anew after each.
//!
//! After every row the model minimises (1/n) Σ (y − f(x) − b)² + λ‖f‖ᵐ over *all rows so far*:
//!
//! * **exactly** up to a number of rows, in O(n²) operations per row: it is the model that [`Fit`] would make of them;
//! * beyond it **in the span of landmarks** chosen from the exact rows, in O(r²) operations per row, exactly within that
//!   span for all rows ever seen. What the span misses is known and said ([`Method::Landmarks`]).
//!
//! The first rows, the *warm-up*, decide what must not change afterwards: scaling and categories of the features, the
//! kernel's numbers (`lengthscale=median`), an exponent that was to be chosen. Where later rows prove the scaling wrong (a
//! column that was constant varies, a deviation is three times what it was), all of that is decided anew, from the rows so far
//! or a sample of them ([`Online::revisions`]). A λ that is not given is chosen at the end
//! of the warm-up and again whenever the number of rows has doubled: by the fit's criterion (exact leave-one-out) as long
//! as the method is exact, by generalised cross-validation afterwards. The mathematics: `docs/online.md`.
//!
//! ```
//! use mercer::online::Online;
//! use mercer::prelude::*;
//!
//! let mut online = Online::of_numbers(Fit::new(Gaussian::lengthscale(1.0)).exponent(1.5).lambda(1e-6), 1)?.warm_up(10)?;
//! for i in 0..60 {
//!     let x = (i * 7 % 60) as f64 / 10.0;
//!     // The prediction knows nothing of this row.
//!     let _predicted: Option<f64> = online.observe_row(&[x], x.sin())?;
//! }
//! assert!(online.losses().rmse().unwrap() < 0.1 * online.losses().mean_rmse().unwrap());
//! let at_two = online.model()?.predict(&Matrix::from_rows(&[[2.05]])?)?.get(0, 0);
//! assert!((at_two - 2.05_f64.sin()).abs() < 1e-2);
//! # Ok::<(), mercer::Error>(())
//! ```

mod choose;
mod exact;
mod follow;
mod krylov;
mod landmarks;
mod learner;
mod losses;
mod scales;
mod triangle;

pub use learner::{Method, State};
pub use losses::Losses;

use crate::base::error::{Error, Result};
use crate::data::{Column, Frame, Roles};
use crate::fit::squares::SquaredFit;
use crate::fit::{Engine, Fit, Fitted, Reduce};
use crate::model::Model;
use learner::{Learner, Limits, Read};
use scales::Kept;

/// A model that learns row by row.
#[derive(Debug, Clone)]
pub struct Online {
    fit: SquaredFit,
    roles: Roles,
    warm_up: usize,
    limits: Limits,
    losses: Losses,
    /// Rows that were offered, and those of them that were left out because a cell is missing.
    offered: usize,
    dropped: usize,
    phase: Phase,
    /// What the scaling is revised from; `None` during the warm-up, or if the rows do not have the same columns.
    kept: Option<Kept>,
    revisions: Vec<Revision>,
    /// A revision that failed is not tried again before this many rows were offered.
    revise_from: usize,
}

/// The scaling of the warm-up turned out wrong, and everything was learned anew.
#[derive(Debug, Clone, PartialEq)]
pub struct Revision {
    /// The row after which it was, counted from the beginning of the stream.
    pub row: usize,
    /// The columns that were constant or spread differently.
    pub columns: Vec<String>,
    /// The rows that were learned until then.
    pub learned: usize,
    /// The rows that were learned anew: all of them, or a uniform sample where they are no longer kept.
    pub rows: usize,
}

#[derive(Debug, Clone)]
enum Phase {
    /// The rows so far, until they are enough.
    WarmUp(Frame),
    Running(Box<Learner>),
}

impl Online {
    /// A stream of tables whose columns have these roles: one target, without weights and groups. The fit says kernel,
    /// exponent, λ (one, or none: chosen), offset, scaling and what is done about text and missing cells.
    pub fn new(fit: Fit, roles: Roles) -> Result<Self> {
        let engine = fit.engine()?;
        if engine != Engine::Squared {
            let must = "one of a kernel with the squared loss and the penalty λ‖f‖ᵐ";
            return Err(Error::argument("the fit of a stream", must, engine.describe()));
        }
        let fit = fit.squared();
        fit.check_for_stream()?;
        if roles.targets.len() != 1 {
            return Err(Error::argument("the number of targets of a stream", "1", roles.targets.len()));
        }
        if let Some(name) = roles.weight.as_ref().or(roles.group.as_ref()) {
            let problem = "is a weight or group; a stream takes neither".into();
            return Err(Error::Column { column: name.clone(), problem });
        }
        let limits = Limits { exact_rows: 1000, landmarks: 300 };
        let (losses, phase) = (Losses::new(100), Phase::WarmUp(Frame::default()));
        Ok(Online {
            fit: SquaredFit { reduce: Reduce::Never, ..fit },
            roles,
            warm_up: 50,
            limits,
            losses,
            offered: 0,
            dropped: 0,
            phase,
            kept: None,
            revisions: Vec::new(),
            revise_from: 0,
        })
    }

    /// A stream of plain numbers, for [`observe_row`](Self::observe_row): features `x1`, `x2`, … and the target `y`.
    pub fn of_numbers(fit: Fit, features: usize) -> Result<Self> {
        let names = (1..=features).map(|j| format!("x{j}")).collect();
        Online::new(fit, Roles { targets: vec!["y".into()], features: Some(names), ..Roles::default() })
    }

    /// How many rows decide the scaling (2 or more; 50 if nothing is said).
    pub fn warm_up(self, rows: usize) -> Result<Self> {
        match rows {
            0 | 1 => Err(Error::argument("the number of rows of the warm-up", "at least 2", rows)),
            _ => Ok(Online { warm_up: rows, ..self }),
        }
    }

    /// Up to how many rows the model is exact (1000 if nothing is said); not fewer than the warm-up has.
    pub fn exact_rows(mut self, rows: usize) -> Self {
        self.limits.exact_rows = rows;
        self
    }

    /// How many landmarks there are at most afterwards (300 if nothing is said).
    pub fn landmarks(mut self, count: usize) -> Result<Self> {
        match count {
            0 => Err(Error::argument("the number of landmarks", "at least 1", count)),
            _ => {
                self.limits.landmarks = count;
                Ok(self)
            }
        }
    }

    /// How many of the last rows [`Losses::recent_rmse`] is about (100 if nothing is said).
    pub fn recent(self, rows: usize) -> Self {
        Online { losses: Losses::new(rows.max(1)), ..self }
    }

    /// Predicts every row and then learns it, one after the other; `None` during the warm-up and for rows that a missing
    /// cell leaves out. What is refused is refused before any row of the table is learned; rows are counted from the
    /// beginning of the stream. A warm-up row that cannot be used is found when the warm-up ends.
    pub fn observe(&mut self, rows: &Frame) -> Result<Vec<Option<f64>>> {
        self.take(rows, true)
    }

    /// Learns the rows without predicting them: quicker, since the problem is solved once at the end.
    pub fn learn(&mut self, rows: &Frame) -> Result<()> {
        self.take(rows, false).map(|_| ())
    }

    /// [`observe`](Self::observe) for one row of numbers, in the order of the features.
    pub fn observe_row(&mut self, x: &[f64], y: f64) -> Result<Option<f64>> {
        let (Some(features), Some(target)) = (&self.roles.features, self.roles.targets.first()) else {
            return Err(Error::Empty("rows of numbers need a stream whose features were named".into()));
        };
        if x.len() != features.len() {
            return Err(Error::shape("a row", format!("{} numbers", features.len()), x.len()));
        }
        let mut row = Frame::new(1);
        for (name, value) in features.iter().zip(x) {
            row.push(name, Column::Number(vec![*value]))?;
        }
        row.push(target, Column::Number(vec![y]))?;
        Ok(self.observe(&row)?.pop().flatten())
    }

    /// Predicts rows without learning them; all `None` during the warm-up.
    pub fn predict(&self, rows: &Frame) -> Result<Vec<Option<f64>>> {
        match &self.phase {
            Phase::WarmUp(_) => Ok(vec![None; rows.rows()]),
            Phase::Running(learner) => learner.predict(rows),
        }
    }

    fn take(&mut self, rows: &Frame, is_scored: bool) -> Result<Vec<Option<f64>>> {
        let count = rows.rows();
        let mut joined_rows = None;
        let (mut read, before) = match &self.phase {
            Phase::Running(learner) => (learner.read(rows).map_err(|error| in_stream(error, self.offered))?, 0),
            Phase::WarmUp(buffer) => {
                let before = buffer.rows();
                let whole = joined(buffer, rows)?;
                if whole.rows() < self.warm_up {
                    whole.column(&self.roles.targets[0])?;
                    self.phase = Phase::WarmUp(whole);
                    self.offered += count;
                    return Ok(vec![None; count]);
                }
                let first = whole.select_rows(&(0..self.warm_up).collect::<Vec<usize>>());
                let learner = Learner::start(&self.fit, &self.roles, self.limits, &first)?;
                let read = learner.read(&whole)?.without_first(self.warm_up);
                self.begin(learner, first);
                joined_rows = Some(whole);
                (read, self.warm_up - before)
            }
        };
        // From here on nothing about the rows can be refused.
        let frame = joined_rows.as_ref().unwrap_or(rows);
        let rows_before = (self.offered + count) - frame.rows();
        self.offered += count;
        let mut predictions = vec![None; before];
        for row in read.rows() {
            let Phase::Running(learner) = &mut self.phase else { break };
            let Some((point, target)) = read.get(row) else {
                self.dropped += 1;
                predictions.push(None);
                continue;
            };
            let prediction = learner.take(point, target, is_scored)?;
            self.losses.add(target, prediction);
            predictions.push(prediction);
            if learner.watch(&read, row)
                && let Some(again) = self.revise(frame, row, rows_before + row + 1)
            {
                read = again;
            }
            if self.kept.as_mut().is_some_and(|kept| kept.add(frame, row).is_err()) {
                self.kept = None;
            }
        }
        if let Phase::Running(learner) = &mut self.phase {
            learner.settle()?;
        }
        Ok(predictions)
    }

    /// The warm-up is over; these were its rows.
    fn begin(&mut self, learner: Learner, first: Frame) {
        learner.first_targets().iter().for_each(|y| self.losses.add(*y, None));
        self.dropped += learner.dropped;
        self.kept = Some(Kept::new(first, self.limits.exact_rows.max(self.warm_up)));
        self.phase = Phase::Running(Box::new(learner));
    }

    /// Decides anew what the warm-up decided, from the rows that are kept and this one, the `number`th of the stream; the
    /// table as it is read then. `None` if that is not possible: the model stays as it is.
    fn revise(&mut self, frame: &Frame, row: usize, number: usize) -> Option<Read> {
        let Phase::Running(before) = &self.phase else { return None };
        if number < self.revise_from {
            return None;
        }
        let sample = self.kept.as_ref()?.sample_with(frame, row).ok()?;
        let revised = Learner::start(&self.fit, &self.roles, self.limits, &sample)
            .and_then(|learner| learner.read(frame).map(|read| (learner, read)));
        let Ok((mut learner, read)) = revised else {
            self.revise_from = 2 * number;
            return None;
        };
        learner.succeed(before);
        self.revisions.push(Revision {
            row: number,
            columns: before.wrongly_scaled(),
            learned: before.count(),
            rows: learner.count(),
        });
        if learner.count() < before.count() {
            // The sample is all that is known from now on, so that later rows are kept as rows after these.
            let others = (0..sample.rows() - 1).collect::<Vec<usize>>();
            let limit = self.limits.exact_rows.max(self.warm_up);
            self.kept = Some(Kept::new(sample.select_rows(&others), limit));
        }
        self.phase = Phase::Running(Box::new(learner));
        Some(read)
    }

    /// Where the scaling turned out wrong, and what was done about it.
    pub fn revisions(&self) -> &[Revision] {
        &self.revisions
    }

    /// Ends the warm-up with the rows that are there, if it has not ended yet.
    pub fn end_warm_up(&mut self) -> Result<()> {
        if let Phase::WarmUp(buffer) = &self.phase {
            let learner = Learner::start(&self.fit, &self.roles, self.limits, buffer)?;
            let first = buffer.clone();
            self.begin(learner, first);
        }
        Ok(())
    }

    /// Losses of all predictions so far.
    pub fn losses(&self) -> &Losses {
        &self.losses
    }

    /// Rows that were left out because a cell is missing.
    pub fn dropped(&self) -> usize {
        self.dropped
    }

    /// Where the model stands; `None` during the warm-up.
    pub fn state(&self) -> Option<State> {
        match &self.phase {
            Phase::WarmUp(_) => None,
            Phase::Running(learner) => Some(learner.state()),
        }
    }

    /// The model as it is now, which can be saved and predicts by itself. Ends the warm-up.
    pub fn model(&mut self) -> Result<Model> {
        self.end_warm_up()?;
        match &mut self.phase {
            Phase::Running(learner) => learner.model(),
            Phase::WarmUp(_) => Err(Error::Empty("there are no rows yet".into())),
        }
    }

    /// The fit of all rows so far at once, with the same scaling, kernel, exponent and λ: what the model must equal.
    /// `None` when the rows are no longer kept. Costs a decomposition.
    pub fn batch(&self) -> Option<Result<Fitted>> {
        match &self.phase {
            Phase::Running(learner) => learner.batch(),
            Phase::WarmUp(_) => None,
        }
    }

    /// The largest difference between this model and [`batch`](Self::batch) at the rows, in units of the target's
    /// spread; `None` when the rows are no longer kept.
    pub fn difference_from_batch(&mut self) -> Option<Result<f64>> {
        match &mut self.phase {
            Phase::Running(learner) => learner.difference_from_batch(),
            Phase::WarmUp(_) => None,
        }
    }
}

/// Both tables, one below the other.
fn joined(buffer: &Frame, rows: &Frame) -> Result<Frame> {
    if buffer.rows() == 0 {
        return Ok(rows.clone());
    }
    let mut whole = buffer.clone();
    whole.append(rows)?;
    Ok(whole)
}

/// The same error with rows counted from the beginning of the stream.
fn in_stream(error: Error, before: usize) -> Error {
    match error {
        Error::Cell { row, column, problem } => Error::Cell { row: row + before, column, problem },
        Error::MissingCell { row, column } => Error::MissingCell { row: row + before, column },
        other => other,
    }
}
