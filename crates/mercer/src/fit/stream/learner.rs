//! What runs after the warm-up: rows are read as the first ones were, predicted, and learned.

use super::choose::by_cross_validation;
use super::exact::ExactRows;
use super::follow::{Follower, System};
use super::landmarks::Landmarks;
use super::scales::Scales;
use crate::base::error::{Error, Result};
use crate::data::{Design, Encoder, Frame, Missing, Roles, target_numbers};
use crate::fit::Fitted;
use crate::fit::squares::SquaredFit;
use crate::linalg::Matrix;
use crate::model::{Expansion, KeptTargets, Meaning, Model, Precision, Provenance, Summary};
use crate::solve::Solution;
use crate::solve::certificate::{Certificate, LowRank};
use crate::term::kernel::{Point, Points, SharedKernel};

/// Sizes that were asked for.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    pub exact_rows: usize,
    pub landmarks: usize,
}

/// How rows are learned at present.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Method {
    /// The exact minimiser over all rows so far.
    Exact,
    /// The exact minimiser in the span of landmarks.
    Landmarks {
        /// How many.
        count: usize,
        /// The mean of k(x, x) − ‖φ(x)‖² over all rows: what the landmarks miss of them.
        mean_missed: f64,
        /// The mean of k(x, x), beside which that is small or not.
        mean_diagonal: f64,
    },
}

/// Where the model stands after the last row.
#[derive(Debug, Clone, PartialEq)]
pub struct State {
    /// Rows that were learned.
    pub rows: usize,
    /// How rows are learned now.
    pub method: Method,
    /// The kernel's spec, with its numbers.
    pub kernel: String,
    /// λ in use.
    pub lambda: f64,
    /// m.
    pub exponent: f64,
    /// μ; `None` for the zero function.
    pub effective_ridge: Option<f64>,
    /// ‖f‖.
    pub norm: f64,
    /// Triangular factors made so far: each costs O(n³) operations, and there are O(log n) of them.
    pub factors: usize,
    /// Full decompositions made so far, those for choosing λ not counted.
    pub decompositions: usize,
}

#[derive(Debug, Clone)]
pub(super) struct Learner {
    fit: SquaredFit,
    encoder: Encoder,
    kernel: SharedKernel,
    target: String,
    /// Chosen again when there are this many rows; `None` if λ was given.
    choose_at: Option<usize>,
    chosen_by: Option<String>,
    follower: Follower,
    rows: Rows,
    limits: Limits,
    target_range: [f64; 2],
    is_settled: bool,
    scales: Scales,
    /// Rows of the warm-up that were left out.
    pub dropped: usize,
}

#[derive(Debug, Clone)]
enum Rows {
    Exact(Box<ExactRows>),
    Landmarks(Box<Landmarks>),
}

/// Rows as the model reads them.
pub(super) struct Read {
    points: Points,
    targets: Vec<f64>,
    complete: Vec<bool>,
    /// The cells of the columns whose scaling is watched.
    watched: Vec<Vec<f64>>,
    first: usize,
}

impl Read {
    /// The same without the first rows.
    pub fn without_first(self, rows: usize) -> Self {
        Read { first: rows, ..self }
    }

    pub fn rows(&self) -> std::ops::Range<usize> {
        self.first..self.targets.len()
    }

    /// A row and its target; `None` if a cell is missing.
    pub fn get(&self, row: usize) -> Option<(Points, f64)> {
        self.complete[row].then(|| (self.points.subset(&[row]), self.targets[row]))
    }
}

impl Learner {
    /// From the rows of the warm-up.
    pub fn start(fit: &SquaredFit, roles: &Roles, limits: Limits, first: &Frame) -> Result<Self> {
        let limits = Limits { exact_rows: limits.exact_rows.max(first.rows()), ..limits };
        let fitted = fit.fit_frame(first, roles)?;
        let Fitted { model, mut solutions, design, .. } = fitted;
        let (Some(solution), Some(summary)) = (solutions.pop(), model.summaries.first().cloned()) else {
            return Err(Error::Empty("the warm-up gave no solution".into()));
        };
        let kernel = model.kernel.clone();
        let fit = fit.at(kernel.clone(), summary.exponent);
        fit.check_stream_memory(limits.exact_rows, design.points.features())?;
        // A linear function in its primal form has no α; the first settling finds it.
        let solution = match solution.coefficients.len() == design.rows() {
            true => solution,
            false => Solution { coefficients: vec![0.0; design.rows()], ..solution },
        };
        let rows = ExactRows::new(kernel.clone(), fit.has_offset(), &design.points, design.y.col(0), &solution);
        let mut scales = Scales::of(&design.encoder);
        let cells = scales.read(&design.encoder, first)?;
        (0..first.rows()).for_each(|row| scales.add(&cells, row));
        let mut learner = Learner {
            fit,
            encoder: design.encoder.with_constants_read(),
            kernel,
            target: summary.target,
            choose_at: summary.lambda_was_chosen.then(|| 2 * design.points.rows()),
            chosen_by: summary.chosen_by,
            follower: Follower::new(summary.exponent, summary.lambda, solution.minimum),
            rows: Rows::Exact(Box::new(rows)),
            limits,
            target_range: summary.target_range,
            is_settled: false,
            scales,
            dropped: design.dropped_missing,
        };
        learner.settle()?;
        Ok(learner)
    }

    /// Takes a row in that was learned; whether the scaling is wrong by now.
    pub fn watch(&mut self, read: &Read, row: usize) -> bool {
        self.scales.add(&read.watched, row);
        self.scales.wrong().next().is_some()
    }

    /// Columns whose scaling is wrong.
    pub fn wrongly_scaled(&self) -> Vec<String> {
        self.scales.wrong().map(str::to_owned).collect()
    }

    /// Goes on with the counts of the learner whose place this one takes.
    pub fn succeed(&mut self, before: &Learner) {
        let [low, high] = before.target_range;
        self.target_range = [self.target_range[0].min(low), self.target_range[1].max(high)];
        self.follower.factors += before.follower.factors;
        self.follower.decompositions += before.follower.decompositions;
    }

    /// Targets of the warm-up, before any other row.
    pub fn first_targets(&self) -> &[f64] {
        match &self.rows {
            Rows::Exact(rows) => &rows.targets,
            Rows::Landmarks(_) => &[],
        }
    }

    /// Reads a table as the warm-up was read; nothing is learned.
    pub fn read(&self, frame: &Frame) -> Result<Read> {
        let (points, mut complete) = self.encoder.encode(frame)?;
        let targets = target_numbers(frame, &self.target)?.to_vec();
        for (row, target) in targets.iter().enumerate() {
            if target.is_nan() {
                if self.encoder.missing != Missing::Drop {
                    return Err(Error::MissingCell { row: row + 1, column: self.target.clone() });
                }
                complete[row] = false;
            }
        }
        let watched = self.scales.read(&self.encoder, frame)?;
        Ok(Read { points, targets, complete, watched, first: 0 })
    }

    pub fn predict(&self, frame: &Frame) -> Result<Vec<Option<f64>>> {
        let (points, complete) = self.encoder.encode(frame)?;
        let value = |row: usize| {
            points.with_point(row, |x| match &self.rows {
                Rows::Exact(rows) => rows.predict(&rows.see(x)),
                Rows::Landmarks(rows) => rows.predict(&rows.see(x)),
            })
        };
        Ok((0..points.rows()).map(|row| complete[row].then(|| value(row))).collect())
    }

    /// Predicts one row (if asked to) and learns it.
    pub fn take(&mut self, row: Points, target: f64, is_predicted: bool) -> Result<Option<f64>> {
        if is_predicted {
            self.settle()?;
        }
        let prediction = row.with_point(0, |x| self.take_point(x, target, is_predicted));
        let [low, high] = self.target_range;
        self.target_range = [low.min(target), high.max(target)];
        self.is_settled = false;
        if self.choose_at.is_some_and(|rows| self.count() >= rows) {
            self.choose_lambda()?;
        }
        Ok(prediction)
    }

    fn take_point(&mut self, x: Point<'_>, target: f64, is_predicted: bool) -> Option<f64> {
        let mut exact_prediction = None;
        if let Rows::Exact(rows) = &mut self.rows {
            let seen = rows.see(x);
            let prediction = is_predicted.then(|| rows.predict(&seen));
            if rows.rows() < self.limits.exact_rows {
                rows.add(x, &seen, target);
                return prediction;
            }
            exact_prediction = prediction;
            let (offset, budget) = (self.fit.has_offset(), self.limits.landmarks);
            let landmarks = Landmarks::choose(self.kernel.clone(), offset, &rows.points, &rows.targets, budget);
            self.follower.forget();
            self.rows = Rows::Landmarks(Box::new(landmarks));
        }
        let Rows::Landmarks(rows) = &mut self.rows else { return exact_prediction };
        let seen = rows.see(x);
        let prediction = exact_prediction.or_else(|| is_predicted.then(|| rows.predict(&seen)));
        rows.add(&seen, target);
        prediction
    }

    pub fn count(&self) -> usize {
        match &self.rows {
            Rows::Exact(rows) => rows.rows(),
            Rows::Landmarks(rows) => rows.rows(),
        }
    }

    /// Solves the problem for the rows that are there.
    pub fn settle(&mut self) -> Result<()> {
        if !self.is_settled {
            match &mut self.rows {
                Rows::Exact(rows) => rows.settle(&mut self.follower)?,
                Rows::Landmarks(rows) => rows.settle(&mut self.follower)?,
            }
            self.is_settled = true;
        }
        Ok(())
    }

    /// λ anew, from all rows so far.
    fn choose_lambda(&mut self) -> Result<()> {
        self.choose_at = Some(2 * self.count());
        let lambda = match &self.rows {
            Rows::Exact(rows) => {
                let fitted = self.fit.fit_design(self.design(rows))?;
                self.follower.minimum = fitted.solutions[0].minimum.clone();
                Some(fitted.summary().lambda)
            }
            Rows::Landmarks(rows) => {
                let path = rows.full_path()?;
                by_cross_validation(&path, self.follower.exponent, rows.rows(), path.largest())
                    .inspect(|_| self.chosen_by = Some("gcv".into()))
            }
        };
        if let Some(lambda) = lambda {
            self.follower.restart_at(lambda);
        }
        Ok(())
    }

    fn design(&self, rows: &ExactRows) -> Design {
        Design::of_encoded(self.encoder.clone(), rows.points.clone(), rows.targets.clone(), self.target.clone())
    }

    /// The fit of all rows at once.
    pub fn batch(&self) -> Option<Result<Fitted>> {
        let Rows::Exact(rows) = &self.rows else { return None };
        let fit = SquaredFit { lambdas: Some(vec![self.follower.lambda()]), ..self.fit.clone() };
        Some(fit.fit_design(self.design(rows)))
    }

    /// How far the fitted values of the batch fit are from this model's, in units of the target's spread.
    pub fn difference_from_batch(&mut self) -> Option<Result<f64>> {
        if let Err(error) = self.settle() {
            return Some(Err(error));
        }
        let Rows::Exact(rows) = &self.rows else { return None };
        Some(self.batch()?.map(|batch| rows.difference_from(&batch.solutions[0].fitted)))
    }

    pub fn state(&self) -> State {
        let (method, norm) = match &self.rows {
            Rows::Exact(rows) => (Method::Exact, rows.norm),
            Rows::Landmarks(rows) => {
                let (mean_missed, mean_diagonal) = rows.mean_missed();
                (Method::Landmarks { count: rows.points.rows(), mean_missed, mean_diagonal }, rows.norm)
            }
        };
        State {
            rows: self.count(),
            method,
            kernel: self.kernel.spec(),
            lambda: self.follower.lambda(),
            exponent: self.follower.exponent,
            effective_ridge: self.follower.minimum.log_ridge.map(libm::exp),
            norm,
            factors: self.follower.factors,
            decompositions: self.follower.decompositions,
        }
    }

    /// An ordinary model with what was measured on it.
    pub fn model(&mut self) -> Result<Model> {
        self.settle()?;
        let (points, solution, variance, missed) = match &mut self.rows {
            Rows::Exact(rows) => {
                (rows.points.clone(), rows.solution(&mut self.follower)?, rows.target_variance(), None)
            }
            Rows::Landmarks(rows) => {
                let (missed, diagonal) = rows.mean_missed();
                let share = if diagonal > 0.0 { missed / diagonal } else { 0.0 };
                (rows.points.clone(), rows.solution(&mut self.follower)?, rows.target_variance(), Some(share))
            }
        };
        let kept = match &self.rows {
            Rows::Exact(rows) => {
                Some(KeptTargets { y: Matrix::column_vector(rows.targets.clone()), weights: None, groups: None })
            }
            Rows::Landmarks(_) => None,
        };
        let low_rank = missed.map(|residual_share| LowRank {
            rank: points.rows(),
            residual_share,
            bound_at_rows: None,
            bound_anywhere: None,
        });
        let lambda = self.follower.lambda();
        let exponent = self.follower.exponent;
        let summary = Summary {
            rows: self.count(),
            lambda_was_chosen: self.choose_at.is_some(),
            chosen_by: self.chosen_by.clone(),
            has_offset: self.fit.has_offset(),
            train_r2: (variance > 0.0).then(|| 1.0 - solution.train_mse / variance),
            target_range: self.target_range,
            certificate: Certificate { low_rank, ..Certificate::new(&solution, None) },
            ..Summary::of_solution(&self.target, exponent, lambda, &solution)
        };
        let all: Vec<usize> = (0..points.rows()).collect();
        let expansion =
            Expansion::Kernel { points: points.subset(&all), alpha: Matrix::column_vector(solution.coefficients) };
        let (encoder, kernel) = (self.encoder.clone(), self.kernel.clone());
        let (summaries, meaning, precision) = (vec![summary], Meaning::Numbers, Precision::Double);
        let provenance = Provenance::of_this_version();
        Ok(Model { encoder, kernel, expansion, summaries, meaning, kept, precision, provenance })
    }
}
