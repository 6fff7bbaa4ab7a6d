//! Choosing among many points by a race, where there are rows enough to tell them apart.
//!
//! Every kernel, loss, exponent and λ starts on the first fold, with a quarter of its training rows and a loose gap. A point
//! that its rivals beat clearly, row by row on the same held-out rows, is dropped and is listed with the folds it was judged on;
//! the others go on: all rows of the first fold, then the other folds at the stated gap, the most promising kernels first.
//! In the end the neighbours of the winner have been judged on a whole fold at least, whatever the quarter said of them.

mod entrant;
mod start;

use std::sync::Arc;

use rayon::prelude::*;

use self::entrant::{Entrant, Judged, Lane, Margin, Place};
use super::measure::Measure;
use super::part::Part;
use super::run::{Candidate, Ground};
use super::select::default_lambdas;
use super::solve::{Penalty, Rows};
use super::targets::{Group, Targets};
use super::{Learn, LearnTrial};
use crate::criterion::Folds;
use crate::error::{Error, Result};
use crate::kernel::SharedKernel;
use crate::loss::{Loss, Shape};
use crate::plan::Plan;

/// The relative duality gap of points that only have to be told from better ones, and of those that may be chosen.
const LOOSE: f64 = 1e-2;
const STATED: f64 = 5e-4;
/// Held-out rows of the first fold, and points, from which a race is worth it.
const FEWEST_ROWS: usize = 100;
const FEWEST_POINTS: usize = 6;
/// Kernels (or folds) that are worked on side by side, whatever the number of threads: what is dropped must not depend on it.
const SIDE_BY_SIDE: usize = 2;
/// On folds: the chance that the rest of them turns it round is that of three standard errors.
const FOLD_MARGIN: Margin = Margin { errors: 3.0, share: 0.0 };
/// A loose gap is no reason to be dropped.
const LOOSE_SHARE: f64 = 0.01;

impl Learn {
    /// Whether points are dropped as soon as held-out rows tell.
    pub(super) fn races(&self, targets: &Targets, folds: &Folds) -> bool {
        let lambdas = self.lambdas.as_ref().map_or(FEWEST_POINTS, Vec::len);
        let points = self.kernels.len() * self.losses.len() * self.exponents.len() * lambdas;
        let first = folds.groups.first();
        self.race
            && !self.one_standard_error
            && targets.groups.len() == 1
            && points >= FEWEST_POINTS
            && first.is_some_and(|held| held.len() >= FEWEST_ROWS && held.len() < targets.design.rows())
    }

    /// The winner, and how far all others came.
    pub(super) fn race(
        &self,
        kernels: &[SharedKernel],
        targets: &Targets,
        plan: &Plan,
        folds: &Folds,
        memory: u64,
    ) -> Result<(Candidate, Vec<LearnTrial>)> {
        let group = &targets.groups[0];
        let measure = self.measure.unwrap_or_else(|| Measure::default_for(group, self.losses.len()));
        measure.check(group)?;
        let mut lanes = Vec::new();
        for (kernel, shared) in kernels.iter().enumerate() {
            let go_on = || true;
            let rows = self.rows(shared, targets, None, None, memory, false, &go_on);
            for choice in 0..self.losses.len() {
                for exponent in &self.exponents {
                    let loss = &*group.outputs[0].losses[choice];
                    let given = self.lambdas.clone();
                    let lambdas = given.unwrap_or_else(|| default_lambdas(&rows, group, loss, *exponent));
                    lanes.push(Lane::new(kernel, choice, *exponent, &lambdas, folds.groups.len()));
                }
            }
        }
        let grounds = vec![None; kernels.len()];
        let mut race = Race { learn: self, targets, plan, folds, memory, kernels, group, measure, lanes, grounds };
        race.start()?;
        race.first_fold()?;
        race.other_folds()?;
        race.neighbours()?;
        if self.refine {
            race.between()?;
        }
        race.finish()
    }
}

struct Race<'a> {
    learn: &'a Learn,
    targets: &'a Targets,
    plan: &'a Plan,
    folds: &'a Folds,
    memory: u64,
    kernels: &'a [SharedKernel],
    group: &'a Group,
    measure: Measure,
    lanes: Vec<Lane>,
    grounds: Vec<Option<Arc<Ground>>>,
}

impl Race<'_> {
    /// All rows of the first fold for those that are left, at the loose gap.
    fn first_fold(&mut self) -> Result<()> {
        let weights = self.weights_of(0);
        let start = |point: &Entrant| Margin::mean(&point.start, &weights);
        let order = self.kernels_by(|point| point.folds[0].is_none().then(|| start(point)));
        for batch in order.chunks(self.side_by_side()) {
            self.learn.stage("choosing")?;
            let grounds: Vec<(usize, Arc<Ground>)> =
                batch.iter().map(|k| Ok((*k, self.ground(*k)?))).collect::<Result<_>>()?;
            let lanes: Vec<usize> = (0..self.lanes.len()).filter(|l| batch.contains(&self.lanes[*l].kernel)).collect();
            let found: Vec<Vec<(usize, Judged)>> = lanes
                .par_iter()
                .map(|l| {
                    let lane = &self.lanes[*l];
                    let ground = &grounds.iter().find(|(k, _)| *k == lane.kernel).ok_or_else(missing)?.1;
                    let left: Vec<usize> = lane.left().filter(|p| lane.points[*p].folds[0].is_none()).collect();
                    self.first_of_lane(lane, &left, ground)
                })
                .collect::<Result<_>>()?;
            for (l, judged) in lanes.into_iter().zip(found) {
                judged.into_iter().for_each(|(p, judged)| self.lanes[l].points[p].folds[0] = Some(judged));
            }
        }
        if let Some(best) = self.best_of_first() {
            self.drop_behind(best, 0);
        }
        Ok(())
    }

    fn first_of_lane(&self, lane: &Lane, points: &[usize], ground: &Ground) -> Result<Vec<(usize, Judged)>> {
        let go_on = || self.learn.go_on("choosing");
        let rows = self.rows(ground, &go_on);
        let losses = self.losses(lane.choice);
        let held = &self.folds.groups[0];
        let mut part = Part::new(&rows, self.group, held);
        let mut found = Vec::new();
        for p in points {
            let penalty = Penalty { exponent: lane.exponent, lambda: lane.points[*p].lambda, tolerance: LOOSE };
            let values = part.advance(&rows, &losses, penalty)?;
            let measures = self.measure.of_held_out(self.group, &losses, held, &values);
            found.push((*p, Judged { values, measures, solved: part.solution().cloned() }));
        }
        Ok(found)
    }

    /// All folds at the stated gap, kernel by kernel and point by point, the best first; a point that falls behind the best
    /// that has been judged in full is dropped on the way.
    fn other_folds(&mut self) -> Result<()> {
        let weights = self.weights_of(0);
        let first = |point: &Entrant| point.folds[0].as_ref().map(|judged| Margin::mean(&judged.measures, &weights));
        let order = self.kernels_by(|point| first(point).filter(|_| !self.is_full(point)));
        for k in order {
            let ground = self.ground(k)?;
            for l in 0..self.lanes.len() {
                if self.lanes[l].kernel == k {
                    self.judge_lane(l, &ground)?;
                }
            }
        }
        Ok(())
    }

    fn judge_lane(&mut self, l: usize, ground: &Ground) -> Result<()> {
        let weights = self.weights_of(0);
        let lane = &self.lanes[l];
        let mut left: Vec<usize> =
            lane.left().filter(|p| lane.points[*p].folds_done() < self.folds.groups.len()).collect();
        let first = |p: &usize| {
            lane.points[*p].folds[0].as_ref().map_or(f64::INFINITY, |j| Margin::mean(&j.measures, &weights))
        };
        left.sort_by(|a, b| first(a).total_cmp(&first(b)));
        if left.is_empty() {
            return Ok(());
        }
        let (learn, targets, group, folds, measure) = (self.learn, self.targets, self.group, self.folds, self.measure);
        let (choice, exponent) = (lane.choice, lane.exponent);
        let go_on = || learn.go_on("choosing");
        let (gram, landmarks) = (ground.gram.as_ref(), ground.landmarks.as_ref());
        let rows = learn.rows(&ground.kernel, targets, gram, landmarks, self.memory, self.in_features(), &go_on);
        let rows = Rows { single: ground.single.as_ref(), factor: ground.factor.as_ref(), ..rows };
        let losses: Vec<&dyn Loss> = group.outputs.iter().map(|output| &*output.losses[choice]).collect();
        let is_tube = losses.iter().all(|loss| matches!(loss.shape(), Shape::Tube(_)));
        let mut parts: Vec<Part> = folds.groups.iter().map(|held| Part::new(&rows, group, held)).collect();
        for p in left {
            learn.stage("choosing")?;
            let penalty = Penalty { exponent, lambda: self.lanes[l].points[p].lambda, tolerance: STATED };
            if let Some(solved) = self.lanes[l].points[p].folds[0].as_mut().and_then(|judged| judged.solved.take()) {
                let (first, others) = parts.split_at_mut(1);
                if is_tube {
                    others
                        .iter_mut()
                        .filter(|part| part.solution().is_none())
                        .for_each(|part| part.start_from(&first[0], &solved));
                }
                first[0].start_at(solved);
            }
            for batch in (0..folds.groups.len()).collect::<Vec<usize>>().chunks(SIDE_BY_SIDE) {
                let from = batch[0];
                let judged: Vec<Judged> = parts[from..from + batch.len()]
                    .par_iter_mut()
                    .zip(batch)
                    .map(|(part, fold)| {
                        let values = part.advance(&rows, &losses, penalty)?;
                        let measures = measure.of_held_out(group, &losses, &folds.groups[*fold], &values);
                        Ok(Judged { values, measures, solved: None })
                    })
                    .collect::<Result<_>>()?;
                let entrant = &mut self.lanes[l].points[p];
                judged.into_iter().zip(batch).for_each(|(judged, fold)| entrant.folds[*fold] = Some(judged));
                if !self.is_full(self.entrant((l, p)))
                    && let Some(best) = self.leader()
                    && self.is_behind((l, p), best)
                {
                    self.lanes[l].points[p].is_out = true;
                    break;
                }
            }
        }
        Ok(())
    }

    /// The winner's neighbours, along λ and on the kernels beside its own, that only the start has spoken about.
    fn neighbours(&mut self) -> Result<()> {
        while let Some(leader) = self.leader() {
            let (lane, own) = (&self.lanes[leader.0], &self.lanes[leader.0].points[leader.1]);
            let is_beside = |place: &Place| {
                let other = &self.lanes[place.0];
                let point = &other.points[place.1];
                let same = other.choice == lane.choice && other.exponent == lane.exponent;
                let along = place.0 == leader.0 && place.1.abs_diff(leader.1) == 1;
                let across = same && other.kernel.abs_diff(lane.kernel) == 1 && point.lambda == own.lambda;
                point.folds[0].is_none() && (along || across)
            };
            let beside: Vec<Place> = self.places().filter(is_beside).collect();
            if beside.is_empty() {
                return Ok(());
            }
            beside.iter().for_each(|(l, p)| self.lanes[*l].points[*p].is_out = false);
            self.first_fold()?;
            self.other_folds()?;
        }
        Ok(())
    }

    /// Between the best λ of a lane and its neighbours, once, on lanes whose best is not behind.
    fn between(&mut self) -> Result<()> {
        for l in 0..self.lanes.len() {
            let full: Vec<usize> =
                self.lanes[l].points.iter().enumerate().filter(|(_, p)| self.is_full(p)).map(|(p, _)| p).collect();
            let Some(best) = full.into_iter().min_by(|a, b| self.score((l, *a)).total_cmp(&self.score((l, *b)))) else {
                continue;
            };
            self.lanes[l].insert_between(best, self.folds.groups.len());
        }
        self.first_fold()?;
        self.other_folds()
    }

    fn finish(mut self) -> Result<(Candidate, Vec<LearnTrial>)> {
        let (l, p) = self.leader().ok_or_else(|| {
            Error::Decomposition(
                "no λ gave a finite error on held-out rows (scale the features if they are huge)".into(),
            )
        })?;
        let score = self.score((l, p));
        let mut tried = Vec::new();
        let mut chosen = None;
        for index in 0..self.lanes.len() {
            let mut curve = self.curve(index);
            if index == l {
                curve.best =
                    curve.lambdas.iter().position(|lambda| *lambda == self.lanes[l].points[p].lambda).unwrap_or(0);
            }
            let lane = &self.lanes[index];
            let trial = LearnTrial::of_curve(self.group, &self.kernels[lane.kernel], &curve);
            tried.push(LearnTrial { chosen: (index == l).then_some(curve.best), ..trial });
            if index == l {
                chosen = Some(curve);
            }
        }
        let ground = self.ground(self.lanes[l].kernel)?;
        self.grounds.clear();
        let ground = Arc::try_unwrap(ground).map_err(|_| missing())?;
        Ok((Candidate { ground, chosen: chosen.into_iter().collect(), score }, tried))
    }
}

/// Which cannot happen: a kernel that was prepared is there.
fn missing() -> Error {
    Error::Decomposition("a kernel of the race is missing".into())
}
