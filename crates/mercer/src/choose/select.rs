//! Choosing λ and the exponent: a grid over the whole useful part of the path, then a search between its best points.

mod band_judge;
pub(crate) mod judge;
mod lambdas;
mod landmarks;
mod narrow;
mod one_target;
mod tridiagonal_judge;

pub(crate) use band_judge::{BandJudge, suits as suits_band};
pub use judge::Score;
pub(crate) use judge::{Extras, Judge};
pub(crate) use lambdas::lambdas_along;
#[doc(hidden)]
pub use lambdas::useful_ridges;
pub(crate) use landmarks::compared_landmarks;
#[doc(hidden)]
pub use one_target::{best_for_target, scores_of_target};
pub(crate) use tridiagonal_judge::TridiagonalJudge;

use crate::path::Curve;
use crate::term::criterion::Criterion;
use judge::{HIGHEST, LOWEST};
use lambdas::lambdas_between;

/// What a search asks of a criterion on one decomposition.
pub(crate) trait Scorer {
    /// The criterion for several exponents, each with several log λ in rising order.
    fn scores(&self, asked: &[(f64, Vec<f64>)]) -> Vec<Vec<Score>>;
    /// The same for one exponent.
    fn scores_at(&self, exponent: f64, log_lambdas: &[f64]) -> Vec<Score> {
        self.scores(&[(exponent, log_lambdas.to_vec())]).swap_remove(0)
    }
    /// log λ over the whole useful part of the path.
    fn useful_lambdas(&self, exponent: f64) -> Vec<f64>;
    /// The criterion itself.
    fn criterion(&self) -> &Criterion;
    /// Whether so many rows were averaged that the criterion has no small valleys: a parabola through a few points finds the lowest one.
    fn is_smooth(&self) -> bool {
        false
    }
    /// log λ of the problem with the exponent `to` whose ridge is that of (`from`, `lambda`).
    fn same_ridge(&self, from: f64, lambda: f64, to: f64) -> f64;
}

impl Scorer for Judge<'_> {
    fn scores(&self, asked: &[(f64, Vec<f64>)]) -> Vec<Vec<Score>> {
        Judge::scores(self, asked)
    }

    fn useful_lambdas(&self, exponent: f64) -> Vec<f64> {
        let spectrum = self.spectrum();
        let point = &mut |t: f64| self.path().point(t);
        lambdas_between(point, spectrum.largest(), spectrum.weight_sum(), exponent, self.useful())
    }

    fn criterion(&self) -> &Criterion {
        Judge::criterion(self)
    }

    fn is_smooth(&self) -> bool {
        self.is_narrowed()
    }

    fn same_ridge(&self, from: f64, lambda: f64, to: f64) -> f64 {
        let t = crate::path::power::minimum(self.path(), from, lambda).log_ridge;
        t.map_or(libm::log(lambda), |t| self.path().log_lambda(t, to))
    }
}

/// A criterion over exponents and λ.
#[derive(Debug, Clone, PartialEq)]
pub struct Surface {
    /// The targets that it is about, which share one ridge.
    pub targets: Vec<usize>,
    /// The exponents.
    pub exponents: Vec<f64>,
    /// For each exponent the λ at which the criterion was computed, rising.
    pub lambdas: Vec<Vec<f64>>,
    /// The criterion, `[exponent][λ]`.
    pub scores: Vec<Vec<Score>>,
    /// What was chosen, between the points of the grid if that is better.
    pub best: Choice,
}

/// A point of a surface.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Choice {
    /// m.
    pub exponent: f64,
    /// λ.
    pub lambda: f64,
    /// The criterion there.
    pub score: Score,
}

/// What may be chosen.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Search {
    pub exponents: Vec<f64>,
    /// λ to choose from; without them, the whole path.
    pub lambdas: Option<Vec<f64>>,
    /// Whether points between those of the grid may be chosen.
    pub refine: bool,
    /// The exponent that is kept unless another is better by more than a hundredth.
    pub preferred: Option<f64>,
    /// Whether the most regularised model within one standard error of the best is taken.
    pub one_standard_error: bool,
}

/// How closely a bracket is searched: points of a grid in it, and rounds of [`SECTIONS`] points between the neighbours of the best.
#[derive(Clone, Copy)]
struct Effort {
    fine: usize,
    rounds: usize,
}

/// For the exponent that is kept.
const THOROUGH: Effort = Effort { fine: 15, rounds: 3 };
/// For exponents that are compared.
const QUICK: Effort = Effort { fine: 7, rounds: 1 };
/// The same for a smooth criterion and exponents above 1.
const THOROUGH_IF_SMOOTH: Effort = Effort { fine: 7, rounds: 1 };
const QUICK_IF_SMOOTH: Effort = Effort { fine: 3, rounds: 0 };
/// Exponents whose smooth criterion differs by less than this share of it are not told apart any further.
const FLAT: f64 = 1e-5;
/// Points of a round: asked for together they cost little more than one, and the bracket is two ninths as wide.
const SECTIONS: usize = 8;

impl Search {
    /// The range of γ (logarithms, relative to the largest eigenvalue) that given λ can lead to.
    pub fn range(&self, path: &mut impl Curve, largest: f64) -> Option<(f64, f64)> {
        let lambdas = self.lambdas.as_ref()?;
        let unit = libm::log(largest / path.weight_sum());
        // Deletions move the ridge; below exponent 1 they may jump anywhere.
        if self.exponents.iter().any(|m| *m < 1.5) {
            return Some((LOWEST, HIGHEST));
        }
        let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
        for exponent in &self.exponents {
            for lambda in [lambdas.first()?, lambdas.last()?] {
                match crate::path::power::minimise(path, *exponent, libm::log(*lambda), None).log_ridge {
                    Some(t) => {
                        low = low.min(t - unit);
                        high = high.max(t - unit);
                    }
                    None => high = HIGHEST,
                }
            }
        }
        const MARGIN: f64 = 2.0;
        Some(((low - MARGIN).clamp(LOWEST, HIGHEST), (high + MARGIN).clamp(LOWEST, HIGHEST)))
    }

    /// The surface of these targets and the best of it.
    pub fn run(&self, judge: &dyn Scorer, targets: &[usize]) -> Option<Surface> {
        let mut surface = Surface {
            targets: targets.to_vec(),
            exponents: self.exponents.clone(),
            lambdas: Vec::new(),
            scores: Vec::new(),
            best: Choice { exponent: 2.0, lambda: 1.0, score: Score { value: f64::INFINITY, standard_error: None } },
        };
        let mut best: Option<(usize, usize)> = None;
        let grid = |exponent: f64| match &self.lambdas {
            Some(lambdas) => lambdas.iter().map(|lambda| libm::log(*lambda)).collect(),
            None => judge.useful_lambdas(exponent),
        };
        let grids: Vec<(f64, Vec<f64>)> = self.exponents.iter().map(|exponent| (*exponent, grid(*exponent))).collect();
        for (e, ((exponent, grid), scores)) in grids.iter().zip(judge.scores(&grids)).enumerate() {
            if let Some(l) = chosen(judge, &scores) {
                let improves = |(be, bl): (usize, usize)| {
                    let known =
                        surface.scores[be][bl].value + self.handicap(self.exponents[be], &surface.scores[be][bl]);
                    let found = scores[l].value + self.handicap(*exponent, &scores[l]);
                    found < known - known.abs() * 1e-9
                };
                if best.is_none_or(improves) {
                    best = Some((e, l));
                }
            }
            surface.scores.push(scores);
            // Given numbers stay as they were given.
            surface.lambdas.push(match &self.lambdas {
                Some(lambdas) => lambdas.clone(),
                None => grid.iter().map(|log| libm::exp(*log)).collect(),
            });
        }
        let (e, l) = best?;
        surface.best =
            Choice { exponent: self.exponents[e], lambda: surface.lambdas[e][l], score: surface.scores[e][l] };
        if self.refine {
            self.refine(judge, &mut surface, e, l);
        }
        if self.one_standard_error {
            simplest_within_one_error(judge, &mut surface);
        }
        Some(surface)
    }

    /// What an exponent that is not preferred must make up for.
    fn handicap(&self, exponent: f64, score: &Score) -> f64 {
        if self.preferred.is_none_or(|preferred| preferred == exponent) { 0.0 } else { 0.01 * score.value.abs() }
    }

    fn refine(&self, judge: &dyn Scorer, surface: &mut Surface, e: usize, l: usize) {
        let around = |lambdas: &[f64], l: usize| {
            let log = |i: usize| libm::log(lambdas[i]);
            (log(l.saturating_sub(1)), log((l + 1).min(lambdas.len() - 1)))
        };
        let bracket = around(&surface.lambdas[e], l);
        let thorough = |exponent: f64| if exponent > 1.0 && judge.is_smooth() { THOROUGH_IF_SMOOTH } else { THOROUGH };
        let exponent = surface.exponents[e];
        let mut champion = between(judge, exponent, bracket, surface.best, thorough(exponent));
        // Exponents between those of the grid, each with its best λ.
        if self.exponents.len() > 2 && self.preferred.is_none() {
            let (mut low, mut high) =
                (self.exponents[e.saturating_sub(1)], self.exponents[(e + 1).min(self.exponents.len() - 1)]);
            for _ in 0..5 {
                let (a, b) = (low + 0.382 * (high - low), low + 0.618 * (high - low));
                let [left, right] = [a, b].map(|exponent| {
                    // The same point of the path, and a margin on both sides.
                    let centre = judge.same_ridge(champion.exponent, champion.lambda, exponent);
                    // For m ≤ 1 the curve jumps.
                    let effort = match (exponent > 1.0, judge.is_smooth()) {
                        (true, true) => QUICK_IF_SMOOTH,
                        (true, false) => QUICK,
                        (false, _) => THOROUGH,
                    };
                    let start = Choice { exponent, lambda: libm::exp(centre), ..champion };
                    between(judge, exponent, (centre - 1.0, centre + 1.0), start, effort)
                });
                let is_flat = judge.is_smooth()
                    && (left.score.value - right.score.value).abs() <= FLAT * champion.score.value.abs();
                if left.score.value < right.score.value {
                    high = b;
                } else {
                    low = a;
                }
                for found in [left, right] {
                    if found.score.value < champion.score.value && found.exponent != champion.exponent {
                        champion = found;
                    }
                }
                if is_flat {
                    break;
                }
            }
            if champion.exponent != surface.exponents[e] {
                let centre = libm::log(champion.lambda);
                let effort = thorough(champion.exponent);
                champion = between(judge, champion.exponent, (centre - 0.3, centre + 0.3), champion, effort);
            }
        }
        surface.best = champion;
    }
}

/// The best λ in a bracket of log λ: a finer grid (for m ≤ 1 the curve jumps), then points between the neighbours of the best one
/// again and again, and the lowest point of a parabola. `start` stays a candidate if it has this exponent, as the curve need
/// not be unimodal.
fn between(judge: &dyn Scorer, exponent: f64, bracket: (f64, f64), start: Choice, effort: Effort) -> Choice {
    let (low, high) = bracket;
    let last = (effort.fine + 1) as f64;
    let mut fine: Vec<f64> = (0..=effort.fine + 1).map(|i| low + (high - low) * i as f64 / last).collect();
    if start.exponent == exponent {
        fine.push(libm::log(start.lambda));
    }
    fine.sort_by(f64::total_cmp);
    fine.dedup();
    let scores = judge.scores_at(exponent, &fine);
    let Some(mut best) = chosen(judge, &scores) else { return start };
    let mut known: Vec<(f64, Score)> = fine.into_iter().zip(scores).collect();
    for _ in 0..effort.rounds {
        let (low, high) = (known[best.saturating_sub(1)].0, known[(best + 1).min(known.len() - 1)].0);
        if high - low < 1e-4 {
            break;
        }
        let inner: Vec<f64> = (1..=SECTIONS).map(|i| low + (high - low) * i as f64 / (SECTIONS + 1) as f64).collect();
        best = add_points(judge, exponent, &mut known, best, &inner);
    }
    if let Some(lowest) = lowest_of_parabola(&known, best) {
        best = add_points(judge, exponent, &mut known, best, &[lowest]);
    }
    let (log_lambda, score) = known[best];
    Choice { exponent, lambda: libm::exp(log_lambda), score }
}

/// Adds points to those that are known, which rise; returns the place of the best, which stays what it was unless another is below.
fn add_points(
    judge: &dyn Scorer,
    exponent: f64,
    known: &mut Vec<(f64, Score)>,
    best: usize,
    log_lambdas: &[f64],
) -> usize {
    let mut champion = known[best];
    known.extend(log_lambdas.iter().copied().zip(judge.scores_at(exponent, log_lambdas)));
    known.sort_by(|a, b| a.0.total_cmp(&b.0));
    for point in known.iter().filter(|(t, _)| log_lambdas.contains(t)) {
        if point.1.value < champion.1.value {
            champion = *point;
        }
    }
    known.iter().position(|point| point.0 == champion.0).unwrap_or(best)
}

/// Where the parabola through a point and its neighbours is lowest, if that is between them and away from what is known.
fn lowest_of_parabola(known: &[(f64, Score)], best: usize) -> Option<f64> {
    let (left, right) = (known.get(best.checked_sub(1)?)?, known.get(best + 1)?);
    let (a, b) = (left.0 - known[best].0, right.0 - known[best].0);
    let (fa, fb) = (left.1.value - known[best].1.value, right.1.value - known[best].1.value);
    let step = (fb * a * a - fa * b * b) / (2.0 * (fb * a - fa * b));
    let is_inside = step > 0.99 * a && step < 0.99 * b && step.abs() > 1e-6;
    is_inside.then_some(known[best].0 + step)
}

/// The largest λ, at the chosen exponent, whose score is within one standard error of the best.
fn simplest_within_one_error(judge: &dyn Scorer, surface: &mut Surface) {
    const POINTS: usize = 400;
    let best = surface.best;
    let Some(error) = best.score.standard_error else { return };
    let limit = best.score.value + error;
    let start = libm::log(best.lambda);
    // Far enough for the ridge to pass the whole spectrum, at any exponent.
    let end = judge.useful_lambdas(best.exponent).last().map_or(start, |last| last.max(start));
    let log_lambdas: Vec<f64> = (0..=POINTS).map(|i| start + (end - start) * i as f64 / POINTS as f64).collect();
    let scores = judge.scores_at(best.exponent, &log_lambdas);
    // The first stretch that stays within: beyond a ridge of the curve lies another model.
    let last = scores.iter().take_while(|score| score.value <= limit).count();
    if last > 1 {
        surface.best = Choice { lambda: libm::exp(log_lambdas[last - 1]), score: scores[last - 1], ..best };
    }
}

fn chosen(judge: &dyn Scorer, scores: &[Score]) -> Option<usize> {
    judge.criterion().choice(&scores.iter().map(|score| score.value).collect::<Vec<f64>>())
}
