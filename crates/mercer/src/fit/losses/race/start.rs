//! The start of a race: a quarter of the first fold's training rows for everyone.

use rayon::prelude::*;

use super::super::part::{Part, part_of};
use super::super::solve::{Penalty, Rows};
use super::entrant::{Lane, Margin};
use super::{AT_LEAST, LOOSE, Race};
use crate::base::error::Result;
use crate::solve::dual::SingleGram;
use crate::space;

/// The share of the training rows that points start with, and the fewest rows that are.
const START_SHARE: usize = 4;
const START_ROWS: usize = 500;
/// The most training rows that points start with, and the most held-out rows with which they do.
const MOST_START_ROWS: usize = 4000;
/// Clearly worse on a quarter of the rows may still be best on all: only by this share of the best as well.
const START_MARGIN: Margin = Margin { errors: 3.0, share: 0.25 };
/// Along λ: twice in a row worse than this means that smaller ones are worse still.
const PATH_MARGIN: Margin = Margin { errors: 2.0, share: 0.03 };

impl Race<'_> {
    /// A quarter of the first fold's training rows for everyone, from the middle kernel outwards.
    pub(super) fn start(&mut self) -> Result<()> {
        let held = &self.folds.groups[0];
        let training = self.targets.design.rows() - held.len();
        if training / START_SHARE < START_ROWS || !self.plan.keeps_gram() || held.len() > MOST_START_ROWS {
            return Ok(());
        }
        for batch in from_the_middle(self.kernels.len()).chunks(AT_LEAST) {
            self.learn.stage("choosing")?;
            let rival = self.best_start().map(|place| self.entrant(place).start.clone());
            let lanes: Vec<usize> = (0..self.lanes.len()).filter(|l| batch.contains(&self.lanes[*l].kernel)).collect();
            let found: Vec<Vec<Vec<f64>>> = lanes
                .par_iter()
                .with_max_len(1)
                .map(|l| self.start_lane(&self.lanes[*l], rival.as_deref()))
                .collect::<Result<_>>()?;
            for (l, measures) in lanes.into_iter().zip(found) {
                let tried = measures.len();
                self.lanes[l].points.iter_mut().zip(measures).for_each(|(point, measures)| point.start = measures);
                self.lanes[l].points.iter_mut().skip(tried).for_each(|point| point.is_out = true);
            }
        }
        if let Some(best) = self.best_start() {
            let rival = self.entrant(best).start.clone();
            let weights = self.weights_of(0);
            for point in self.lanes.iter_mut().flat_map(|lane| &mut lane.points) {
                point.is_out = point.is_out || START_MARGIN.is_behind(&point.start, &rival, &weights);
            }
        }
        Ok(())
    }

    /// Measures of the first fold's rows along λ, from the largest down to where smaller ones only lose.
    fn start_lane(&self, lane: &Lane, rival: Option<&[f64]>) -> Result<Vec<Vec<f64>>> {
        let held = &self.folds.groups[0];
        let n = self.targets.design.rows();
        let mut is_held = vec![false; n];
        held.iter().for_each(|row| is_held[*row] = true);
        let step = START_SHARE.max((n - held.len()).div_ceil(MOST_START_ROWS));
        let some: Vec<usize> = (0..n).filter(|row| !is_held[*row]).step_by(step).collect();
        let chosen: Vec<usize> = some.iter().chain(held).copied().collect();
        let places: Vec<usize> = (some.len()..chosen.len()).collect();
        let points = self.targets.design.points.subset(&chosen);
        let kernel = &*self.kernels[lane.kernel];
        let is_single = self.is_single();
        let gram = (!is_single).then(|| space::gram(kernel, &points));
        let single = is_single.then(|| SingleGram::new(kernel, &points));
        let group = part_of(self.group, &chosen);
        let weights: Option<Vec<f64>> =
            self.targets.weights.as_ref().map(|w| chosen.iter().map(|row| w[*row]).collect());
        let go_on = || self.learn.go_on("choosing");
        let shared = &self.kernels[lane.kernel];
        let whole = self.learn.rows(shared, self.targets, None, None, self.memory, self.in_features(), &go_on);
        let rows = Rows {
            points: &points,
            gram: gram.as_ref(),
            single: single.as_ref(),
            weights: weights.as_deref(),
            ..whole
        };
        let losses = self.losses(lane.choice);
        let mut part = Part::new(&rows, &group, &places);
        let own_weights = self.weights_of(0);
        let mut found: Vec<Vec<f64>> = Vec::new();
        let (mut best, mut worse) = (0, 0);
        for point in &lane.points {
            let penalty = Penalty { exponent: lane.exponent, lambda: point.lambda, tolerance: LOOSE };
            let values = part.advance(&rows, &losses, penalty)?;
            let measures = self.measure.of_held_out(self.group, &losses, held, &values);
            let mean = |measures: &[f64]| Margin::mean(measures, &own_weights);
            let is_not_falling = found.last().is_some_and(|last| mean(&measures) >= mean(last));
            let is_lost = found.get(best).is_some_and(|best| PATH_MARGIN.is_behind(&measures, best, &own_weights))
                || is_not_falling && rival.is_some_and(|r| PATH_MARGIN.is_behind(&measures, r, &own_weights));
            worse = if is_lost { worse + 1 } else { 0 };
            found.push(measures);
            if mean(&found[found.len() - 1]) < mean(&found[best]) {
                best = found.len() - 1;
            }
            if worse >= 2 {
                break;
            }
        }
        Ok(found)
    }
}

/// 0 … count − 1 from the middle outwards.
fn from_the_middle(count: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..count).collect();
    order.sort_by_key(|k| (2 * k + 1).abs_diff(count));
    order
}
