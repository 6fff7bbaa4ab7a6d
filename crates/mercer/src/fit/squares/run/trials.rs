//! Many kernels on the same rows, each with its surface.
//!
//! A kernel is judged on a factor F of its Gram matrix where that says the same for less: a factor whose residual is at
//! rounding level *is* the matrix. With thousands of rows factors of limited rank tell which kernels are worth a full
//! decomposition, and those near the best get one. Smaller problems are decomposed two at a time, side by side.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use rayon::prelude::*;

use super::tridiagonal::{KeptForm, MOST};
use super::{Candidate, Stage, Winner, recorded};
use crate::base::error::{Error, Result};
use crate::choose::select::Extras;
use crate::data::Design;
use crate::fit::Tried;
use crate::fit::plan::Method;
use crate::fit::squares::SquaredFit;
use crate::linalg::side_by_side;
use crate::path::{Banded, Projector, Spectrum};
use crate::space::GramSource;
use crate::space::low_rank::{Factor, Landmarks, factor, factor_if_possible};
use crate::term::criterion::formula::Formula;
use crate::term::criterion::{Criterion, Folds};
use crate::term::kernel::{Points, SharedKernel};

/// A residual of this share of the diagonal is rounding.
const ROUNDING: f64 = 1e-14;
/// From this many rows on, kernels are compared on factors of limited rank.
const MANY: usize = 2500;
/// That rank.
const LIMITED: usize = 1000;
/// Kernels whose score on a factor is within this share of the best one's are decomposed.
const NEAR: f64 = 0.01;
/// Lengthscales between those of a range that are tried.
const BETWEEN: usize = 3;
/// Numbers of a basis from which only one is in memory: a quarter of a gigabyte.
const LARGE: usize = 1 << 25;
/// Up to so many rows, two kernels are decomposed side by side.
const SIDE_BY_SIDE: usize = 1500;

pub(super) struct Trials<'a> {
    pub(super) fit: &'a SquaredFit,
    /// As given, and those with lengthscales between that were added.
    kernels: Vec<SharedKernel>,
    pub(super) design: &'a Design,
    pub(super) method: Method,
    folds: Option<Folds>,
    unlabelled: Option<Points>,
    pub(super) source: GramSource<'a>,
    /// The point of each row, where equal ones are told apart from others.
    pub(super) places: Vec<usize>,
    /// Tridiagonal forms of the best kernels so far.
    pub(super) forms: Mutex<Vec<KeptForm>>,
    pub(super) stage: Stage<'a>,
}

impl<'a> Trials<'a> {
    pub fn new(
        fit: &'a SquaredFit,
        kernels: &[SharedKernel],
        design: &'a Design,
        method: Method,
        stage: Stage<'a>,
    ) -> Result<Self> {
        let folds = match &fit.criterion {
            Criterion::KFold(rule) if fit.fixed().is_none() => {
                Some(Folds::draw(rule, design.rows(), design.groups.as_deref(), fit.seed)?)
            }
            _ => None,
        };
        let unlabelled = match &fit.unlabelled {
            Some(_) if kernels.iter().any(|kernel| kernel.is_precomputed()) => {
                return Err(Error::argument(
                    "rows without target",
                    "used with a kernel that has a formula",
                    "precomputed",
                ));
            }
            Some(frame) => {
                let (points, complete) = design.encoder.encode(frame)?;
                Some(points.only(&complete))
            }
            None => None,
        };
        stage("Gram matrix")?;
        let source = match method {
            // Distances of all pairs are what landmarks are to avoid.
            Method::LowRank { .. } => GramSource::new(&design.points, &[]),
            _ => GramSource::new(&design.points, kernels),
        };
        let places = if design.rows() <= MOST { design.places_of_points() } else { Vec::new() };
        let (kernels, forms) = (kernels.to_vec(), Mutex::new(Vec::new()));
        Ok(Trials { fit, kernels, design, method, folds, unlabelled, source, places, forms, stage })
    }

    /// What was tried, and the best candidate with its decomposition, or solved already.
    pub fn run(mut self) -> Result<(Vec<Tried>, Winner)> {
        let screened = self.screen()?;
        let mut decomposed: Vec<Option<Candidate>> = Vec::new();
        let mut tried: Vec<Tried> = Vec::new();
        let is_side_by_side =
            self.kernels.len() > 1 && self.design.rows() <= SIDE_BY_SIDE && self.method == Method::Spectral;
        let indices: Vec<usize> = (0..self.kernels.len()).collect();
        // Forms are small enough to keep only the best, and a kernel of low rank is done in no time: who is free takes the next.
        let together: usize = match (self.suits_tridiagonal(), is_side_by_side) {
            (true, true) => indices.len(),
            (false, true) => 2,
            _ => 1,
        };
        for pair in indices.chunks(together) {
            let results: Vec<Result<(Tried, Option<Candidate>)>> = if is_side_by_side {
                two_at_a_time(pair, |index| side_by_side(|| self.try_one(index, &screened)))
            } else {
                pair.iter().map(|index| self.try_one(*index, &screened)).collect()
            };
            for result in results {
                let (one, candidate) = result?;
                tried.push(one);
                decomposed.push(candidate);
                // Only the best one's decomposition is worth its memory.
                let best = best_of(&tried);
                decomposed
                    .iter_mut()
                    .enumerate()
                    .filter(|(index, _)| Some(*index) != best)
                    .for_each(|(_, kept)| *kept = None);
            }
        }
        while let Some(kernel) = self.between(&tried, screened.iter().any(Option::is_some)) {
            self.kernels.push(kernel);
            let one = || self.try_one(self.kernels.len() - 1, &[]);
            let (one, candidate) = if is_side_by_side { side_by_side(one)? } else { one()? };
            tried.push(one);
            decomposed.push(candidate);
        }
        let best = best_of(&tried).ok_or_else(nothing_to_choose)?;
        let winner = match decomposed.swap_remove(best) {
            Some(candidate) => Winner::Decomposed(candidate),
            // Its surface came from a form, a factor or the journal.
            None => match self.finish_form(best, &tried[best])? {
                Some(winner) => winner,
                None => {
                    let again = || self.candidate(&self.kernels[best]);
                    // As it is made in a run that was never stopped: the same bits.
                    Winner::Decomposed(if is_side_by_side { side_by_side(again)? } else { again()? })
                }
            },
        };
        tried[best].is_chosen = true;
        Ok((tried, winner))
    }

    /// The same on band forms: what was tried, and which is best.
    pub fn run_banded(mut self) -> Result<(Vec<Tried>, Vec<SharedKernel>, usize)> {
        let screened = self.screen()?;
        let is_screened = screened.iter().any(Option::is_some);
        let indices: Vec<usize> = (0..self.kernels.len()).collect();
        let is_side_by_side = self.kernels.len() > 1 && self.design.rows() <= SIDE_BY_SIDE;
        let mut tried: Vec<Tried> = Vec::new();
        for pair in indices.chunks(if is_side_by_side { indices.len().max(1) } else { 1 }) {
            let results: Vec<Result<Tried>> = if is_side_by_side {
                two_at_a_time(pair, |index| side_by_side(|| self.try_banded(index, &screened)))
            } else {
                pair.iter().map(|index| self.try_banded(*index, &screened)).collect()
            };
            for result in results {
                tried.push(result?);
            }
        }
        while let Some(kernel) = self.between(&tried, is_screened) {
            self.kernels.push(kernel);
            let one = || self.try_banded(self.kernels.len() - 1, &[]);
            tried.push(if is_side_by_side { side_by_side(one)? } else { one()? });
        }
        let best = best_of(&tried).ok_or_else(nothing_to_choose)?;
        tried[best].is_chosen = true;
        Ok((tried, self.kernels, best))
    }

    fn try_banded(&self, index: usize, screened: &[Option<Tried>]) -> Result<Tried> {
        if let Some(known) = self.settled(screened, index) {
            return Ok(known);
        }
        let kernel = &self.kernels[index];
        self.remembered(&format!("kernel {index} {}", kernel.spec()), kernel, || {
            if let Some(found) = self.by_factor(kernel)? {
                return Ok(found);
            }
            if let Some(found) = self.by_tridiagonal(index, kernel)? {
                return Ok(found);
            }
            (self.stage)("Gram matrix")?;
            let gram = self.source.lower(&**kernel);
            (self.stage)("reducing to a band")?;
            let banded = Banded::new(gram, &self.design.y, self.fit.offset)?;
            (self.stage)("choosing")?;
            let (surfaces, score) = self.fit.surfaces_on(&banded, &self.design.y)?;
            Ok(Tried::on_surfaces(kernel.clone(), surfaces, score, None))
        })
    }

    /// The next lengthscale between those that were tried: where a parabola through the best and its neighbours is lowest.
    /// `None` when points between are not wanted (or were tried on factors already), the kernels are not of one family,
    /// or the parabola says nothing new.
    fn between(&self, tried: &[Tried], is_done: bool) -> Option<SharedKernel> {
        let given = self.fit.kernels.len();
        if !self.fit.refine || is_done || given < 3 || tried.len() >= given + BETWEEN {
            return None;
        }
        let mut points: Vec<(f64, f64)> = Vec::with_capacity(tried.len());
        for one in tried {
            points.push((libm::log(one.kernel.single_lengthscale()?), one.score));
        }
        let unit = |kernel: &SharedKernel| kernel.with_lengthscales(&[1.0]).map(|kernel| kernel.spec());
        if tried.iter().any(|one| unit(&one.kernel) != unit(&tried[0].kernel)) {
            return None;
        }
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        let best = (0..points.len()).min_by(|a, b| points[*a].1.total_cmp(&points[*b].1))?;
        let (left, right) = (points.get(best.checked_sub(1)?)?, points.get(best + 1)?);
        let (a, b) = (left.0 - points[best].0, right.0 - points[best].0);
        let (fa, fb) = (left.1 - points[best].1, right.1 - points[best].1);
        let step = (fb * a * a - fa * b * b) / (2.0 * (fb * a - fa * b));
        // The lowest point of the parabola, kept away from what is known.
        let at = points[best].0 + step.clamp(0.9 * a, 0.9 * b);
        let is_new = points.iter().all(|(known, _)| (known - at).abs() > 0.02);
        if !is_new || !at.is_finite() {
            return None;
        }
        let lengthscale = format!("{:.4e}", libm::exp(at)).parse().ok()?;
        tried[0].kernel.with_lengthscales(&[lengthscale])
    }

    fn try_one(&self, index: usize, screened: &[Option<Tried>]) -> Result<(Tried, Option<Candidate>)> {
        if let Some(known) = self.settled(screened, index) {
            return Ok((known, None));
        }
        let kernel = &self.kernels[index];
        let mut kept = None;
        let rank = match self.method {
            Method::LowRank { rank, by: Landmarks::Pivots } => format!(" rank {rank}"),
            Method::LowRank { rank, by } => format!(" rank {rank} {}", by.name()),
            _ => String::new(),
        };
        let one = self.remembered(&format!("kernel {index} {}{rank}", kernel.spec()), kernel, || {
            if let Some(found) = self.by_factor(kernel)? {
                return Ok(found);
            }
            if let Some(found) = self.by_tridiagonal(index, kernel)? {
                return Ok(found);
            }
            let candidate = self.candidate(kernel)?;
            let (surfaces, score) = (candidate.surfaces.clone(), candidate.score);
            let low_rank = candidate.reduction.as_ref().map(|reduction| (reduction.rank(), reduction.mean_residual()));
            // Two large decompositions at a time are more than was planned for: the best one's is made again.
            kept = Some(candidate).filter(|_| self.kernels.len() == 1 || !self.is_large());
            Ok(Tried::on_surfaces(kernel.clone(), surfaces, score, low_rank))
        })?;
        Ok((one, kept))
    }

    /// Whether a decomposition on landmarks is the greater part of the memory that was planned for.
    fn is_large(&self) -> bool {
        matches!(self.method, Method::LowRank { rank, .. } if rank * self.design.rows() > LARGE)
    }

    /// A kernel's decomposition and what is chosen on it.
    fn candidate(&self, kernel: &SharedKernel) -> Result<Candidate> {
        let (spectrum, targets, extras, reduction) = match self.method {
            Method::LowRank { rank, by } => {
                let (spectrum, targets, reduction) = self.on_landmarks(kernel, rank, by)?;
                (spectrum, targets, Extras { folds: self.folds.clone(), unlabelled: None }, Some(reduction))
            }
            _ => {
                let (spectrum, extras) = self.decompose(kernel)?;
                let targets = spectrum.targets(&self.design.y)?;
                (spectrum, targets, extras, None)
            }
        };
        (self.stage)("choosing")?;
        let targets = self.fit.clipped(targets, &self.design.y);
        let candidate = self.fit.judge(kernel.clone(), spectrum, targets, &extras)?;
        Ok(Candidate { reduction, ..candidate })
    }

    pub(super) fn decompose(&self, kernel: &SharedKernel) -> Result<(Spectrum, Extras)> {
        let weights = self.design.weights.as_deref();
        let spectrum = match kernel.linear_scale() {
            Some(scale) if self.method == Method::Primal => {
                (self.stage)("decomposing")?;
                Spectrum::from_linear(&self.design.points.to_matrix(), scale, weights, self.fit.offset)?
            }
            _ => {
                let gram = self.source.lower(&**kernel);
                (self.stage)("decomposing")?;
                Spectrum::from_gram(gram, weights, self.fit.offset)?
            }
        };
        let new_rows = self
            .unlabelled
            .as_ref()
            .map(|new| Projector::new(&spectrum, &**kernel, &self.design.points, weights).rows(new));
        Ok((spectrum, Extras { folds: self.folds.clone(), unlabelled: new_rows }))
    }

    /// Whether there is anything to compare on factors, and a criterion that can be read off them.
    pub(super) fn suits_factors(&self) -> bool {
        let reads = self.unlabelled.is_none() && self.fit.criterion != Criterion::Formula(Formula::Likelihood);
        let is_precomputed = self.kernels.iter().any(|kernel| kernel.is_precomputed());
        let is_exact = !matches!(self.method, Method::Primal | Method::LowRank { .. });
        reads && self.kernels.len() > 1 && !is_precomputed && is_exact
    }

    /// The surfaces of a kernel on a factor of its matrix: one at rounding level, or one of limited rank with many rows.
    /// `None` where the whole matrix is needed, or there is no other kernel to compare with.
    fn by_factor(&self, kernel: &SharedKernel) -> Result<Option<Tried>> {
        let n = self.design.rows();
        if !self.suits_factors() || !(200..MANY).contains(&n) {
            return Ok(None);
        }
        (self.stage)("pivoting")?;
        // A basis made from FᵀF is orthogonal to eps·d₁/d only. Its rows' shares are set right by what is outside of it, of
        // which there is enough up to half of the rows: at 0.7 n leave-one-out at exponent 2 was off by 1e-5. Where there is a
        // tridiagonal form, which ends at such a rank, too, it is no slower from less than that on.
        let most = if self.suits_tridiagonal() { 9 * n / 20 } else { n / 2 };
        match factor_if_possible(&**kernel, &self.design.points, ROUNDING, most, self.fit.seed) {
            Some(found) => self.on_factor(kernel, found).map(Some),
            None => Ok(None),
        }
    }

    fn on_factor(&self, kernel: &SharedKernel, found: Factor) -> Result<Tried> {
        (self.stage)("choosing")?;
        let weights = self.design.weights.as_deref();
        let low_rank = Some((found.matrix.cols(), found.mean_residual));
        let spectrum = Spectrum::from_factor(found.matrix, weights, self.fit.offset)?;
        let targets = self.fit.clipped(spectrum.targets(&self.design.y)?, &self.design.y);
        let extras = Extras { folds: self.folds.clone(), unlabelled: None };
        let Candidate { surfaces, score, .. } = self.fit.judge(kernel.clone(), spectrum, targets, &extras)?;
        Ok(Tried::on_surfaces(kernel.clone(), surfaces, score, low_rank))
    }

    /// With many rows: all kernels on factors of limited rank, and lengthscales between them.
    fn screen(&mut self) -> Result<Vec<Option<Tried>>> {
        if !self.suits_factors() || self.design.rows() < MANY {
            return Ok(vec![None; self.kernels.len()]);
        }
        let mut screened = Vec::with_capacity(self.kernels.len());
        for index in 0..self.kernels.len() {
            screened.push(self.try_on_factor(index)?);
        }
        while let Some(kernel) = self.between(&screened, false) {
            self.kernels.push(kernel);
            screened.push(self.try_on_factor(self.kernels.len() - 1)?);
        }
        Ok(screened.into_iter().map(Some).collect())
    }

    fn try_on_factor(&self, index: usize) -> Result<Tried> {
        let kernel = &self.kernels[index];
        self.remembered(&format!("factor {index} {}", kernel.spec()), kernel, || {
            (self.stage)("pivoting")?;
            let found = factor(&**kernel, &self.design.points, ROUNDING, LIMITED, self.fit.seed);
            self.on_factor(kernel, found)
        })
    }

    /// A screened kernel that is not near enough to the best to be decomposed. What a factor leaves out of a kernel is held against it: one
    /// that is worse than the best although less of it was left out has nothing to gain.
    fn settled(&self, screened: &[Option<Tried>], index: usize) -> Option<Tried> {
        let own = screened.get(index)?.clone()?;
        let best = screened.iter().flatten().min_by(|a, b| a.score.total_cmp(&b.score))?;
        let left = |tried: &Tried| tried.low_rank.map_or(0.0, |(_, left)| left);
        let is_far = own.score > best.score + NEAR * best.score.abs();
        let has_nothing_to_gain = own.score > best.score && left(&own) < left(best);
        (is_far || has_nothing_to_gain).then_some(own)
    }

    /// A kernel's surfaces, from the journal if it knows them.
    fn remembered(&self, key: &str, kernel: &SharedKernel, compute: impl FnOnce() -> Result<Tried>) -> Result<Tried> {
        let key = &format!("{key}{}", if self.fit.clip { " clipped" } else { "" });
        let journal = self.fit.journal.as_ref();
        let known = journal.and_then(|journal| journal.recall(key));
        if let Some((rank, (surfaces, score))) =
            known.as_ref().and_then(|numbers| Some((numbers.first_chunk::<2>()?, recorded::read(numbers.get(2..)?)?)))
        {
            let low_rank = (rank[0] >= 0.0).then_some((rank[0] as usize, rank[1]));
            return Ok(Tried::on_surfaces(kernel.clone(), surfaces, score, low_rank));
        }
        let found = compute()?;
        if let Some(journal) = journal {
            let (rank, residual) = found.low_rank.map_or((-1.0, 0.0), |(rank, residual)| (rank as f64, residual));
            let mut numbers = vec![rank, residual];
            numbers.extend(recorded::write(found.surfaces(), found.score));
            journal.record(key, &numbers);
        }
        Ok(found)
    }
}

/// What a task makes of each index, in their order: two go on at a time, and who is done takes the next.
fn two_at_a_time<R: Send>(indices: &[usize], task: impl Fn(usize) -> R + Sync) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let take = |_: usize| -> Vec<(usize, R)> {
        std::iter::from_fn(|| {
            let place = next.fetch_add(1, Ordering::Relaxed);
            indices.get(place).map(|index| (place, task(*index)))
        })
        .collect()
    };
    let mut found: Vec<(usize, R)> = [0, 1].into_par_iter().flat_map_iter(take).collect();
    found.sort_by_key(|(place, _)| *place);
    found.into_iter().map(|(_, result)| result).collect()
}

fn nothing_to_choose() -> Error {
    Error::Empty("there is no kernel to choose from".into())
}

/// The kernel with the least score; equal to nine digits is not better.
fn best_of(tried: &[Tried]) -> Option<usize> {
    let margin = |score: f64| score - score.abs() * 1e-9;
    let mut best: Option<usize> = None;
    for (index, candidate) in tried.iter().enumerate() {
        if best.is_none_or(|best| candidate.score < margin(tried[best].score)) {
            best = Some(index);
        }
    }
    best
}
