//! Choosing among many points by a race, where there are rows enough to tell them apart.
//!
//! Every kernel, loss, exponent and λ starts on the first fold, with a quarter of its training rows and a loose gap. A point
//! that its rivals beat clearly, row by row on the same held-out rows, is dropped and is listed with the folds it was judged on;
//! the others go on: all rows of the first fold, then fold by fold, and what is left in the end once more at the stated gap.
//! In the end the neighbours of the winner have been judged on a whole fold at least, whatever the quarter said of them.

mod entrant;
mod start;

use std::ops::Range;
use std::sync::Arc;

use rayon::prelude::*;

use self::entrant::{Entrant, Judged, Lane, Margin, Place, Work};
use super::LossFit;
use super::measure::Measure;
use super::part::Part;
use super::run::tested;
use super::run::{Candidate, Ground};
use super::select::default_lambdas;
use super::solve::Penalty;
use super::targets::{Group, Targets};
use crate::base::error::{Error, Result};
use crate::fit::Tried;
use crate::fit::plan::Plan;
use crate::term::criterion::Folds;
use crate::term::kernel::SharedKernel;

/// The relative duality gap of points that only have to be told from better ones, and of those that may be chosen.
const LOOSE: f64 = 3e-2;
pub(super) const STATED: f64 = 5e-4;
/// Held-out rows of the first fold, and points, from which a race is worth it.
const FEWEST_ROWS: usize = 100;
const FEWEST_POINTS: usize = 6;
/// Fits that are made side by side at least, whatever the number of threads: what is dropped must not depend on it.
const AT_LEAST: usize = 4;
/// On folds: the chance that the rest of them turns it round is that of three standard errors.
const FOLD_MARGIN: Margin = Margin { errors: 3.0, share: 0.0 };
/// A loose gap is no reason to be dropped: it moves the measures of points that are not far from the best by up to two and a half hundredths where that was
/// tried (kin40k, both losses, 100 points), and no more than a gap of 1e-2.
const LOOSE_SHARE: f64 = 0.03;

impl LossFit {
    /// Whether points are dropped as soon as held-out rows tell.
    pub(super) fn races(&self, targets: &Targets, folds: &Folds) -> bool {
        let lambdas = self.lambdas.as_ref().map_or(FEWEST_POINTS, Vec::len);
        let points = self.kernels.len() * self.losses.len() * self.exponents.len() * lambdas;
        let first = folds.groups.first();
        self.race
            && !self.one_standard_error
            && !folds.is_forward()
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
    ) -> Result<(Candidate, Vec<Tried>)> {
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
    learn: &'a LossFit,
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
    /// All rows of the first fold for those that are left, at the loose gap, each λ from the solution of the last.
    fn first_fold(&mut self) -> Result<()> {
        let weights = self.weights_of(0);
        let start = |point: &Entrant| Margin::mean(&point.start, &weights);
        for batch in self.kernels_by(|point| point.folds[0].is_none().then(|| start(point))).chunks(self.together()) {
            let lanes = (0..self.lanes.len()).filter(|l| batch.contains(&self.lanes[*l].kernel));
            let waits = |l: usize, p: &usize| self.lanes[l].points[*p].folds[0].is_none();
            let work =
                |l: usize| Work { lane: l, points: self.lanes[l].left().filter(|p| waits(l, p)).collect(), fold: 0 };
            self.judge(batch, &lanes.map(work).collect::<Vec<Work>>(), LOOSE)?;
        }
        self.drop_behind(1);
        Ok(())
    }

    /// The other folds at the loose gap, where after each of them who is behind is dropped; then all folds at the stated gap
    /// for those who are left.
    fn other_folds(&mut self) -> Result<()> {
        let folds = self.folds.groups.len();
        let mut done = 1;
        while done < folds {
            let waits = |lane: &&Lane| lane.left().any(|p| lane.points[p].folds[done].is_none());
            let count = self.lanes.iter().filter(waits).count();
            if count == 0 {
                done += 1;
                continue;
            }
            // One lane at a time would leave a core idle; few lanes run several folds before they are compared.
            let next = (done + (AT_LEAST / count).max(1)).min(folds);
            self.judge_all(done..next, LOOSE, |point, fold| !point.is_out && point.folds[fold].is_none())?;
            done = next;
            self.drop_behind(done);
        }
        let is_loose = |judged: &Option<Judged>| judged.as_ref().is_some_and(|judged| judged.is_loose);
        self.judge_all(0..folds, STATED, |point, fold| !point.is_out && is_loose(&point.folds[fold]))
    }

    /// Judges all points that wait for one of these folds.
    fn judge_all(&mut self, folds: Range<usize>, gap: f64, waits: impl Fn(&Entrant, usize) -> bool) -> Result<()> {
        let is_waiting = |point: &Entrant| folds.clone().any(|fold| waits(point, fold));
        let scored = |point: &Entrant| is_waiting(point).then(|| self.score_of(point));
        for batch in self.kernels_by(scored).chunks(self.together()) {
            let mut work = Vec::new();
            for (l, lane) in self.lanes.iter().enumerate().filter(|(_, lane)| batch.contains(&lane.kernel)) {
                for fold in folds.clone() {
                    let points: Vec<usize> = (0..lane.points.len()).filter(|p| waits(&lane.points[*p], fold)).collect();
                    // What starts from a solution of its own does not need its neighbour's.
                    let is_alone = gap <= STATED && self.is_tube(lane.choice);
                    let size = if is_alone { 1 } else { points.len().max(1) };
                    work.extend(points.chunks(size).map(|some| Work { lane: l, points: some.to_vec(), fold }));
                }
            }
            self.judge(batch, &work, gap)?;
        }
        Ok(())
    }

    /// Judges points of some kernels, piece of work by piece of work side by side.
    fn judge(&mut self, kernels: &[usize], work: &[Work], gap: f64) -> Result<()> {
        self.learn.stage("choosing")?;
        let grounds: Vec<(usize, Arc<Ground>)> =
            kernels.iter().map(|k| Ok((*k, self.ground(*k)?))).collect::<Result<_>>()?;
        let found: Vec<Vec<Judged>> = work
            .par_iter()
            .with_max_len(1)
            .map(|piece| {
                let kernel = self.lanes[piece.lane].kernel;
                let ground = &grounds.iter().find(|(k, _)| *k == kernel).ok_or_else(missing)?.1;
                self.judged(piece, ground, gap)
            })
            .collect::<Result<_>>()?;
        for (piece, judged) in work.iter().zip(found) {
            for (p, judged) in piece.points.iter().zip(judged) {
                self.lanes[piece.lane].points[*p].folds[piece.fold] = Some(judged);
            }
        }
        Ok(())
    }

    fn judged(&self, work: &Work, ground: &Ground, gap: f64) -> Result<Vec<Judged>> {
        let lane = &self.lanes[work.lane];
        let go_on = || self.learn.go_on("choosing");
        let rows = self.rows(ground, &go_on);
        let losses = self.losses(lane.choice);
        let held = &self.folds.groups[work.fold];
        let mut part = Part::new(&rows, self.group, held);
        let one = |p: &usize| {
            let point = &lane.points[*p];
            if let Some(solved) = point.folds[work.fold].as_ref().and_then(|judged| judged.solved.as_ref()) {
                part.start_at(solved.clone());
            } else if part.solution().is_none() && self.is_tube(lane.choice) {
                part.start_from(&self.solutions(point));
            }
            let penalty = Penalty { exponent: lane.exponent, lambda: point.lambda, tolerance: gap };
            let values = part.advance(&rows, &losses, penalty)?;
            let measures = self.measure.of_held_out(self.group, &losses, held, &values);
            Ok(Judged { values, measures, solved: part.solution().cloned(), is_loose: gap > STATED })
        };
        work.points.iter().map(one).collect()
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

    fn finish(mut self) -> Result<(Candidate, Vec<Tried>)> {
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
            let best = (index == l).then_some(curve.best);
            tried.push(tested(self.group, &self.kernels[lane.kernel], &curve, best));
            if index == l {
                chosen = Some(curve);
            }
        }
        let near = self.on_all_rows((l, p));
        let ground = self.ground(self.lanes[l].kernel)?;
        self.grounds.clear();
        let ground = Arc::try_unwrap(ground).map_err(|_| missing())?;
        Ok((Candidate { ground, chosen: chosen.into_iter().collect(), score, near }, tried))
    }
}

/// Which cannot happen: a kernel that was prepared is there.
fn missing() -> Error {
    Error::Decomposition("a kernel of the race is missing".into())
}
