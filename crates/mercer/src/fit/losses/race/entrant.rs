//! Who takes part in a race, and who is behind whom.

use super::super::measure::weighted_mean;
use super::super::part::joined;
use super::super::select::Curve;
use super::super::solve::{Rows, Solved};
use super::{FOLD_MARGIN, Ground, LOOSE_SHARE, Race};
use crate::base::error::Result;
use crate::fit::plan::Method;
use crate::linalg::Matrix;
use crate::solve::dual::SingleGram;
use crate::term::kernel::SharedKernel;
use crate::term::loss::{Loss, Shape};
use std::sync::Arc;

/// Kernels that are worked on together where their matrices are copied.
const COPIED: usize = 2;

/// Lane and point.
pub(super) type Place = (usize, usize);

/// One kernel, loss and exponent.
pub(super) struct Lane {
    pub kernel: usize,
    pub choice: usize,
    pub exponent: f64,
    /// λ falling.
    pub points: Vec<Entrant>,
}

/// One λ of a lane, and how it did so far.
#[derive(Default)]
pub(super) struct Entrant {
    pub lambda: f64,
    /// Measures of the first fold's rows by a model of some of the training rows; empty if there is none.
    pub start: Vec<f64>,
    /// By all training rows of each fold.
    pub folds: Vec<Option<Judged>>,
    pub is_out: bool,
}

/// Held-out rows of a fold.
pub(super) struct Judged {
    /// Rows × models.
    pub values: Matrix,
    /// One a row.
    pub measures: Vec<f64>,
    /// The solution, as long as it may be of use.
    pub solved: Option<Solved>,
    /// Whether its gap is the loose one.
    pub is_loose: bool,
}

/// Points of a lane that one task judges on a fold.
pub(super) struct Work {
    pub lane: usize,
    pub points: Vec<usize>,
    pub fold: usize,
}

impl Lane {
    pub fn new(kernel: usize, choice: usize, exponent: f64, lambdas: &[f64], folds: usize) -> Self {
        let points = lambdas.iter().rev().map(|lambda| Entrant::new(*lambda, folds)).collect();
        Lane { kernel, choice, exponent, points }
    }

    /// Points that are still in the race.
    pub fn left(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.points.len()).filter(|p| !self.points[*p].is_out)
    }

    /// New points half way (in log λ) between a point and its neighbours.
    pub fn insert_between(&mut self, best: usize, folds: usize) {
        let middle =
            |a: usize, b: usize| libm::exp(0.5 * (libm::log(self.points[a].lambda) + libm::log(self.points[b].lambda)));
        let after = (best + 1 < self.points.len()).then(|| middle(best, best + 1));
        let before = (best > 0).then(|| middle(best - 1, best));
        if let Some(lambda) = after {
            self.points.insert(best + 1, Entrant::new(lambda, folds));
        }
        if let Some(lambda) = before {
            self.points.insert(best, Entrant::new(lambda, folds));
        }
    }
}

impl Entrant {
    fn new(lambda: f64, folds: usize) -> Self {
        Entrant { lambda, folds: (0..folds).map(|_| None).collect(), ..Entrant::default() }
    }

    /// On how many folds it was judged, at whatever gap.
    fn folds_done(&self) -> usize {
        self.folds.iter().flatten().count()
    }

    /// Out of the race: what its solutions could start is not needed any more.
    fn drop_out(&mut self) {
        self.is_out = true;
        self.folds.iter_mut().flatten().for_each(|judged| judged.solved = None);
    }

    fn was_tried(&self) -> bool {
        !self.start.is_empty() || self.folds[0].is_some()
    }
}

/// How much worse is clearly worse: by so many standard errors of the difference, and by so large a share of the best.
#[derive(Clone, Copy)]
pub(super) struct Margin {
    pub errors: f64,
    pub share: f64,
}

impl Margin {
    pub fn mean(measures: &[f64], weights: &[f64]) -> f64 {
        weighted_mean(measures.iter().zip(weights).map(|(m, w)| (*w, *m))).0
    }

    /// The margin on some of the folds: what is left of them would have to make up for what is missing so far. A difference d
    /// with standard error e on k of K folds becomes one of d ± e√((K − k)/K) on all, if it goes on like that.
    pub fn after(self, done: usize, folds: usize) -> Self {
        Margin { errors: self.errors * (folds.saturating_sub(done) as f64 / folds as f64).sqrt(), ..self }
    }

    /// Whether `own` is clearly worse than `best`, row by row on the same held-out rows.
    pub fn is_behind(self, own: &[f64], best: &[f64], weights: &[f64]) -> bool {
        let differences = own.iter().zip(best).zip(weights).map(|((o, b), w)| (*w, o - b));
        let (difference, error) = weighted_mean(differences);
        let level = Margin::mean(best, weights).abs();
        // Not a number is behind everything.
        !(difference <= self.errors * error || difference <= self.share * level)
    }
}

impl Race<'_> {
    pub(super) fn places(&self) -> impl Iterator<Item = Place> + '_ {
        self.lanes.iter().enumerate().flat_map(|(l, lane)| (0..lane.points.len()).map(move |p| (l, p)))
    }

    pub(super) fn entrant(&self, (l, p): Place) -> &Entrant {
        &self.lanes[l].points[p]
    }

    pub(super) fn losses(&self, choice: usize) -> Vec<&dyn Loss> {
        self.group.outputs.iter().map(|output| &*output.losses[choice]).collect()
    }

    pub(super) fn in_features(&self) -> bool {
        self.plan.method == Method::Features
    }

    pub(super) fn rows<'b>(&'b self, ground: &'b Ground, go_on: &'b (dyn Fn() -> bool + Sync)) -> Rows<'b> {
        let (gram, landmarks) = (ground.gram.as_ref(), ground.landmarks.as_ref());
        let rows =
            self.learn.rows(&ground.kernel, self.targets, gram, landmarks, self.memory, self.in_features(), go_on);
        Rows { single: ground.single.as_ref(), factor: ground.factor.as_ref(), ..rows }
    }

    /// The matrix of a kernel, or what stands for it; kept as long as memory allows.
    pub(super) fn ground(&mut self, kernel: usize) -> Result<Arc<Ground>> {
        if let Some(known) = &self.grounds[kernel] {
            return Ok(known.clone());
        }
        let size = 8 * (self.targets.design.rows() as u64).pow(2);
        let held = self.grounds.iter().filter(|ground| ground.is_some()).count() as u64;
        if (held + 1) * size > self.memory / 4 {
            self.grounds.iter_mut().for_each(|ground| *ground = None);
        }
        let shared = &self.kernels[kernel];
        let ground = if self.is_single() {
            self.learn.stage("kernel matrix")?;
            let single = SingleGram::new(&**shared, &self.targets.design.points);
            Ground { kernel: shared.clone(), gram: None, single: Some(single), factor: None, landmarks: None }
        } else {
            self.learn.ground(shared, self.targets, self.plan)?
        };
        let ground = Arc::new(ground);
        self.grounds[kernel] = Some(ground.clone());
        Ok(ground)
    }

    /// Whether single precision is enough while choosing: for the dual solver's gaps, and values that it can hold.
    pub(super) fn is_single(&self) -> bool {
        let points = &self.targets.design.points;
        let can_hold = |kernel: &SharedKernel| {
            let mut diagonal = vec![0.0; points.rows()];
            kernel.diagonal(points, 0, &mut diagonal);
            diagonal.iter().all(|d| (1e-6..1e6).contains(d))
        };
        self.plan.method == Method::Dual && self.kernels.iter().all(can_hold)
    }

    /// Weights of the rows that a fold holds out.
    pub(super) fn weights_of(&self, fold: usize) -> Vec<f64> {
        let weight = |row: &usize| self.targets.weights.as_ref().map_or(1.0, |w| w[*row]);
        self.folds.groups[fold].iter().map(weight).collect()
    }

    /// Kernels that are worked on together: as many as there is memory for, and few where solvers copy their rows of the matrix.
    pub(super) fn together(&self) -> usize {
        let size = 8 * (self.targets.design.rows() as u64).pow(2);
        let is_borrowed = (0..self.learn.losses.len()).all(|choice| self.is_tube(choice));
        let most = if is_borrowed { self.kernels.len().max(1) } else { COPIED };
        usize::try_from(self.memory / 4 / size.max(1)).unwrap_or(usize::MAX).clamp(1, most)
    }

    pub(super) fn is_tube(&self, choice: usize) -> bool {
        self.losses(choice).iter().all(|loss| matches!(loss.shape(), Shape::Tube(_)))
    }

    /// Solutions of a point, each with the rows that it does not know.
    pub(super) fn solutions<'b>(&'b self, point: &'b Entrant) -> Vec<(&'b [usize], &'b Solved)> {
        let known = self.folds.groups.iter().zip(&point.folds);
        known.filter_map(|(held, judged)| Some((&held[..], judged.as_ref()?.solved.as_ref()?))).collect()
    }

    /// From where the solution on all rows can start.
    pub(super) fn on_all_rows(&self, place: Place) -> Option<Solved> {
        let (lane, point) = (&self.lanes[place.0], self.entrant(place));
        let all: Vec<usize> = (0..self.targets.design.rows()).collect();
        self.is_tube(lane.choice).then(|| joined(&all, &self.solutions(point))).flatten()
    }

    /// Kernels with points left that have a score, the least first.
    pub(super) fn kernels_by(&self, score: impl Fn(&Entrant) -> Option<f64>) -> Vec<usize> {
        let mut order: Vec<(f64, usize)> = Vec::new();
        for kernel in 0..self.kernels.len() {
            let own = self.lanes.iter().filter(|lane| lane.kernel == kernel);
            let left = own.flat_map(|lane| lane.left().map(|p| &lane.points[p]));
            let scores: Vec<f64> = left.filter_map(&score).collect();
            if !scores.is_empty() {
                order.push((scores.into_iter().fold(f64::INFINITY, f64::min), kernel));
            }
        }
        order.sort_by(|a, b| a.0.total_cmp(&b.0));
        order.into_iter().map(|(_, kernel)| kernel).collect()
    }

    /// The best of those that have started on a part of the rows.
    pub(super) fn best_start(&self) -> Option<Place> {
        let weights = self.weights_of(0);
        let score = |place: &Place| Margin::mean(&self.entrant(*place).start, &weights);
        self.least(self.places().filter(|place| !self.entrant(*place).start.is_empty()), score)
    }

    /// The best of those that all folds have judged.
    pub(super) fn leader(&self) -> Option<Place> {
        self.least(self.places().filter(|place| self.is_full(self.entrant(*place))), |place| self.score(*place))
    }

    fn least(&self, places: impl Iterator<Item = Place>, score: impl Fn(&Place) -> f64) -> Option<Place> {
        let finite = places.map(|place| (score(&place), place)).filter(|(score, _)| score.is_finite());
        // Equal to nine digits is not better: the first, with the largest λ, stays.
        finite
            .fold(None, |best: Option<(f64, Place)>, next| match best {
                Some(best) if next.0 >= best.0 * (1.0 - 1e-9) => Some(best),
                _ => Some(next),
            })
            .map(|(_, place)| place)
    }

    /// Whether all folds have judged it at the stated gap.
    pub(super) fn is_full(&self, point: &Entrant) -> bool {
        point.folds.iter().all(|judged| judged.as_ref().is_some_and(|judged| !judged.is_loose))
    }

    /// Drops who is clearly worse than the best on the first folds, so many of them.
    pub(super) fn drop_behind(&mut self, done: usize) {
        let measures = |point: &Entrant| -> Option<Vec<f64>> {
            let own: Option<Vec<&Judged>> = point.folds[..done].iter().map(Option::as_ref).collect();
            own.map(|own| own.iter().flat_map(|judged| judged.measures.iter().copied()).collect())
        };
        let weights: Vec<f64> = (0..done).flat_map(|fold| self.weights_of(fold)).collect();
        let score = |place: &Place| measures(self.entrant(*place)).map_or(f64::NAN, |own| Margin::mean(&own, &weights));
        let Some(rival) = self.least(self.places(), score).and_then(|best| measures(self.entrant(best))) else {
            return;
        };
        let margin = Margin { share: LOOSE_SHARE, ..FOLD_MARGIN.after(done, self.folds.groups.len()) };
        for point in self.lanes.iter_mut().flat_map(|lane| &mut lane.points).filter(|point| !point.is_out) {
            let is_loose = point.folds.iter().any(|judged| judged.as_ref().is_none_or(|judged| judged.is_loose));
            if is_loose && measures(point).is_some_and(|own| margin.is_behind(&own, &rival, &weights)) {
                point.drop_out();
            }
        }
    }

    pub(super) fn score(&self, place: Place) -> f64 {
        self.score_of(self.entrant(place))
    }

    pub(super) fn score_of(&self, point: &Entrant) -> f64 {
        self.measured(point).0
    }

    /// Mean and standard error over the rows that a point has been judged on.
    fn measured(&self, point: &Entrant) -> (f64, f64) {
        let mut rows: Vec<(f64, f64)> = Vec::new();
        for (fold, judged) in point.folds.iter().enumerate() {
            if let Some(judged) = judged {
                rows.extend(self.weights_of(fold).into_iter().zip(judged.measures.iter().copied()));
            }
        }
        if rows.is_empty() {
            rows.extend(self.weights_of(0).into_iter().zip(point.start.iter().copied()));
        }
        let repeats = (point.folds_done() * self.folds.repeats / self.folds.groups.len()).max(1);
        let (mean, error) = weighted_mean(rows.into_iter());
        // Repeats judge the same rows again.
        (mean, error * (repeats as f64).sqrt())
    }

    /// What was found along λ, rising.
    pub(super) fn curve(&self, lane: usize) -> Curve {
        let own = &self.lanes[lane];
        let mut curve = Curve::empty(own.choice, own.exponent);
        for point in own.points.iter().rev().filter(|point| point.was_tried()) {
            let (score, error) = self.measured(point);
            let is_full = self.is_full(point);
            let dropped = (!is_full).then(|| point.folds_done());
            let values = if is_full { self.values(point) } else { Matrix::default() };
            curve.insert(point.lambda, (score, error), values, dropped);
        }
        curve
    }

    /// Held-out values of all rows, the mean over repeats.
    fn values(&self, point: &Entrant) -> Matrix {
        let models = self.group.outputs.len();
        let mut out = Matrix::zeros(self.targets.design.rows(), models);
        let share = 1.0 / self.folds.repeats.max(1) as f64;
        for (held, judged) in self.folds.groups.iter().zip(&point.folds) {
            let Some(judged) = judged else { continue };
            for (place, row) in held.iter().enumerate() {
                (0..models).for_each(|t| out.set(*row, t, out.get(*row, t) + share * judged.values.get(place, t)));
            }
        }
        out
    }
}
