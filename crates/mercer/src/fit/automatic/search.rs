//! The whole search: a part of the rows to learn from, all candidates judged by the same folds, the best one fitted.

use std::cell::Cell;
use std::collections::HashMap;
use std::time::{Duration, Instant};

use super::candidates::{Candidate, suitable};
use super::designs::Designs;
use super::polish::{COARSE, FINE, Polish, Steps, stretched};
use super::ranking::{exceeds_by_at_most, ranking};
use super::trial::{held_out_errors, learn};
use super::{Automatic, Found, Metric, Standing, Trial};
use crate::base::error::{Error, Result};
use crate::base::journal::remembered;
use crate::choose::metric::learn::Learned;
use crate::data::{Design, Encoding, Frame, Roles, Scale, TextAs};
use crate::fit::after::importance::{Importance, Permutation};
use crate::fit::plan::{self, Shape};
use crate::fit::squares::SquaredFit;
use crate::fit::{Fit, Fitted, Reduce};
use crate::space::low_rank::Landmarks;
use crate::term::criterion::{Criterion, FoldRule, Folds, Forward, Order, whole_groups};

/// Rows from which candidates learn; more would take longer and tell little more about the metric.
const LEARNING_ROWS: usize = 1000;
/// Tables of so many rows are learned from as a whole, rather than from a part that is nearly all of them.
const WHOLE_ROWS: usize = 1300;
/// Folds by which candidates are compared.
const FOLDS: usize = 5;
/// Fewer rows than this are held out one by one.
const FEW: usize = 20;
/// Candidates whose likelihood is this much worse than the best one's (penalised as BIC does) are not held out.
const HOPELESS: f64 = 25.0;
/// A learned baseline is held out first where that takes at most this share of the time left.
const BASELINE_SHARE: f64 = 0.25;
/// How many of the best candidates are tried with logarithms of skewed columns, too.
const WITH_LOGARITHMS: usize = 3;
/// Up to so many rows, λ and the exponent are chosen on an eigendecomposition of all of them.
pub(crate) const DECOMPOSED_ROWS: usize = 1500;

/// From so many rows on, candidates compete on a part of them, and the model is a sum over landmarks.
pub const MANY_ROWS: usize = 8000;
/// That part.
const COMPETING_ROWS: usize = 4000;
/// In order of time λ is chosen on a decomposition of at most so many rows; with more, on landmarks.
const FORWARD_ROWS: usize = 3000;
/// More rows favour shorter lengthscales than a part of them does: these, as shares of what the part says, are tried.
const SHORTER: [f64; 3] = [1.0, 0.8, 0.6];

/// The clock of one search. Work that a journal remembers counts with the seconds it took then.
pub(super) struct Clock {
    started: Instant,
    budget: Duration,
    remembered: Cell<f64>,
    /// Whether anything was left out for want of time.
    has_cut: Cell<bool>,
}

impl Clock {
    pub fn left(&self) -> f64 {
        self.budget.as_secs_f64() - self.started.elapsed().as_secs_f64() - self.remembered.get()
    }

    /// Passes on whether time is too short for a step, and remembers that one was left out.
    pub fn cuts(&self, is_short: bool) -> bool {
        self.has_cut.set(self.has_cut.get() || is_short);
        is_short
    }
}

/// A candidate with what was learned for it.
pub(super) struct Tried {
    pub candidate: Candidate,
    pub learned: Option<Learned>,
    /// Minus log likelihood, and half a log n for every number that was learned.
    pub evidence: f64,
    /// Weighted squared error of every row when it was held out, in units of the targets' deviation.
    pub squares: Option<Vec<f64>>,
    pub seconds: f64,
}

/// The candidate that became the model.
struct Best {
    index: usize,
    fitted: Fitted,
    learned: Learned,
    /// Leave-one-out mean squares of the candidates that were tried on all rows, in units of the targets' variance.
    on_all_rows: HashMap<usize, f64>,
}

impl Tried {
    pub fn mean_square(&self, weight: f64) -> Option<f64> {
        self.squares.as_ref().map(|squares| squares.iter().sum::<f64>() / weight)
    }
}

impl Automatic {
    pub(in crate::fit) fn fit_frame(&self, frame: &Frame, roles: &Roles) -> Result<Fitted> {
        if self.text_as == TextAs::Equality {
            return Err(Error::argument("text columns", "read one-hot in an automatic fit", "equality"));
        }
        let read = |scale: Scale| Design::new(frame, roles, self.encoding(scale));
        let (fitted, found) = self.search(Designs::read(&read)?)?;
        let importance = if found.trials.is_empty() { None } else { self.importance(&fitted, frame, roles)? };
        Ok(Fitted { search: Some(Found { importance, ..found }), ..fitted })
    }

    /// For the first target, as the report says; other targets are for whoever asks for them.
    fn importance(&self, fitted: &Fitted, frame: &Frame, roles: &Roles) -> Result<Option<Importance>> {
        self.stage("what matters")?;
        let first = Roles { targets: roles.targets[..1].to_vec(), ..roles.clone() };
        let folds = self.forward.unwrap_or(FoldRule::random(FOLDS));
        let settings = Permutation { folds, seed: self.seed, ..Permutation::default() };
        let mut model = fitted.model.clone();
        model.summaries.truncate(1);
        match settings.of_rows(&model, frame, &first, self.observer.as_ref()) {
            Ok(found) => Ok(found.into_iter().next()),
            Err(Error::Interrupted) => Err(Error::Interrupted),
            // Too few rows or groups for folds: nothing can be said.
            Err(_) => Ok(None),
        }
    }

    pub(crate) fn encoding(&self, scale: Scale) -> Encoding {
        Encoding { scale, missing: self.missing, text_as: self.text_as, nonnegative: scale == Scale::Unit }
    }

    fn search(&self, designs: Designs) -> Result<(Fitted, Found)> {
        let clock = Clock {
            started: Instant::now(),
            budget: self.budget,
            remembered: Cell::new(0.0),
            has_cut: Cell::new(false),
        };
        self.check_memory(&designs.standard)?;
        let part = match self.forward {
            Some(_) => designs.latest(learning_rows(designs.rows())),
            None => designs.part(self.seed),
        };
        let units = part.standard.deviations();
        let unit_of_all = designs.standard.deviations()[0];
        if part.rows() < 4 || units.contains(&0.0) {
            // Nothing to compare: a constant target, or too few rows to hold any out.
            let fitted = self.fit_of("gaussian(lengthscale=mean)", Scale::Standard)?.fit_design(designs.standard)?;
            return Ok((fitted, Found::default()));
        }
        let folds = self.folds(&part.standard)?;
        // In order of time nothing but these folds decides.
        let is_part = designs.rows() > WHOLE_ROWS && self.forward.is_none();
        let mut tried = self.learn_all(&part, &clock)?;
        self.hold_out(&mut tried, &part, &folds, &units, is_part, &clock)?;
        let has_groups = part.standard.groups.is_some();
        let left_out = if has_groups { "leave-one-group-out" } else { "leave-one-out" };
        let on_rows = match self.is_reduced(&designs.standard) && designs.rows() > COMPETING_ROWS {
            true => format!("{left_out}, {COMPETING_ROWS} rows"),
            false => format!("{left_out}, all rows"),
        };
        let held_out = folds.held_out_rows();
        let weight_of = |row: &usize| part.standard.weights.as_ref().map_or(1.0, |w| w[*row]);
        let weight = held_out.iter().map(weight_of).sum::<f64>() * units.len() as f64;
        let ranking = ranking(&tried, weight, has_groups);
        let Best { index: best, fitted, learned, on_all_rows } = self.fit_best(&tried, &ranking, designs, &clock)?;
        let judged_by = if folds.is_forward() {
            format!("{} blocks of later rows", folds.groups.len())
        } else if folds.groups.len() == part.rows() {
            "leaving out one row".into()
        } else {
            format!("{} folds{}", folds.groups.len(), if has_groups { " of whole groups" } else { "" })
        };
        let trials = tried
            .iter()
            .enumerate()
            .map(|(index, tried)| Trial {
                family: tried.candidate.name.into(),
                metric: tried.candidate.metric,
                scale: tried.candidate.scale,
                rmse: match on_all_rows.get(&index) {
                    Some(square) => Some(square.sqrt() * unit_of_all),
                    None => tried.mean_square(weight).map(|square| square.sqrt() * units[0]),
                },
                judged_by: match on_all_rows.contains_key(&index) {
                    true => on_rows.clone(),
                    false => judged_by.clone(),
                },
                evidence: tried.evidence,
                seconds: tried.seconds,
                is_chosen: index == best,
            })
            .collect();
        let mean_gradient = super::polish::mean_gradient(&fitted, &tried[best].candidate, &learned);
        let ran_out = clock.has_cut.get();
        Ok((fitted, Found { trials, ran_out, importance: None, mean_gradient }))
    }

    pub(crate) fn check_memory(&self, design: &Design) -> Result<()> {
        let is_large = design.rows() > DECOMPOSED_ROWS && design.weights.is_none();
        let shape = Shape {
            rows: design.rows(),
            features: design.points.features(),
            targets: design.y.cols(),
            is_linear: false,
            is_weighted: design.weights.is_some(),
            fixed_exponent: is_large.then_some(2.0),
            only_ridges: false,
            tabulates_rows: true,
        };
        let limit = self.memory.unwrap_or_else(plan::available_memory);
        match self.is_reduced(design) {
            true => plan::low_rank(&shape, self.reduce.rank(), Landmarks::default(), limit).map(|_| ()),
            false => plan::plan(&shape).check(&shape, limit),
        }
    }

    /// Whether the model is a sum over landmarks.
    pub(crate) fn is_reduced(&self, design: &Design) -> bool {
        match self.reduce {
            Reduce::Never => false,
            Reduce::IfNeeded => design.rows() > MANY_ROWS,
            Reduce::Always | Reduce::ToRank(_) | Reduce::ToAccuracy(_) => true,
        }
    }

    fn folds(&self, design: &Design) -> Result<Folds> {
        let rows = design.rows();
        if let Some(rule) = &self.forward {
            return Folds::draw(&self.forward_on_part(rule, rows), rows, design.groups.as_deref(), self.seed);
        }
        let count = if rows < FEW { rows } else { FOLDS };
        let groups = design.groups.as_deref();
        let units = groups.map_or(rows, |g| g.iter().collect::<std::collections::HashSet<_>>().len());
        Folds::draw(&FoldRule::random(count.min(units)), rows, groups, self.seed)
    }

    /// Blocks and windows that are longer than the part of the rows from which candidates learn are cut to it.
    fn forward_on_part(&self, rule: &FoldRule, rows: usize) -> FoldRule {
        match rule.order {
            Order::Forward(Forward { gap, window, block: Some(block) }) if rule.folds * block + gap + 2 > rows => {
                FoldRule { order: Order::Forward(Forward { gap, window, block: None }), ..*rule }
            }
            _ => *rule,
        }
    }

    /// Learns every candidate that suits the table, and the best of them once more with logarithms of skewed columns, as far as
    /// there is time.
    fn learn_all(&self, part: &Designs, clock: &Clock) -> Result<Vec<Tried>> {
        let mut tried: Vec<Tried> = Vec::new();
        let candidates = suitable(part.rows(), part.standard.points.features());
        let count = candidates.len();
        let learn = |tried: &mut Vec<Tried>, candidate: Candidate| -> Result<()> {
            // Half of the budget is for learning; the first few are always tried.
            let longest = tried.iter().map(|known| known.seconds).fold(0.0, f64::max);
            if tried.len() > 3 && clock.cuts(clock.left() - longest < 0.5 * self.budget.as_secs_f64()) {
                return Ok(());
            }
            tried.push(self.learn_one(candidate, part, clock)?);
            self.tell(&Standing { candidates: count.max(tried.len()), learned: tried.len(), judged: 0, best: None });
            Ok(())
        };
        for candidate in candidates {
            learn(&mut tried, candidate)?;
        }
        if let Some(logarithms) = &part.logarithms {
            let mut order: Vec<&Tried> = tried.iter().filter(|known| known.candidate.is_learned).collect();
            order.sort_by(|a, b| a.evidence.total_cmp(&b.evidence));
            let best: Vec<Candidate> = order.iter().take(WITH_LOGARITHMS).map(|known| known.candidate).collect();
            for candidate in best {
                if candidate.suits(part.rows(), logarithms.points.features()) {
                    learn(&mut tried, candidate.with_logarithms())?;
                }
            }
        }
        Ok(tried)
    }

    fn tell(&self, standing: &Standing) {
        if let Some(observer) = &self.search_observer {
            observer(standing);
        }
    }

    fn learn_one(&self, candidate: Candidate, part: &Designs, clock: &Clock) -> Result<Tried> {
        let design = part.of(&candidate);
        let started = Instant::now();
        let numbers = self.remember(&format!("learn {}", candidate.key()), clock, || {
            let learned = learn(&candidate, design, self.offset, &|| self.goes_on(candidate.name))?;
            Ok(learned.map_or_else(Vec::new, |learned| learned.to_numbers()))
        })?;
        self.stage(candidate.name)?;
        let features = design.points.features();
        let learned = match &numbers[..] {
            [gamma, objective, ..] if !candidate.is_learned => {
                let kernel = candidate.kernels()?[0].fitted_to(&design.points, design.weights.as_deref())?;
                let (gamma, objective) = (*gamma, *objective);
                Some(Learned { kernel, map: None, gamma, objective, parameters: 1, point: Vec::new() })
            }
            rest => Learned::from_numbers(&candidate.kernels()?, features, candidate.is_tied(), rest),
        };
        // A column and its logarithm are two readings of one number, and count once.
        let twice = match candidate.metric {
            Metric::Each => candidate.families.len() * (features - part.standard.points.features().min(features)),
            Metric::One | Metric::Full => 0,
        };
        let evidence = learned.as_ref().map_or(f64::INFINITY, |learned| {
            learned.objective + 0.5 * (learned.parameters - twice) as f64 * libm::log(part.rows() as f64)
        });
        let seconds = started.elapsed().as_secs_f64();
        Ok(Tried { candidate, learned, evidence, squares: None, seconds })
    }

    /// Holds out fold after fold: the baselines first, with which everything is compared, then candidates with the most evidence.
    fn hold_out(
        &self,
        tried: &mut [Tried],
        part: &Designs,
        folds: &Folds,
        units: &[f64],
        is_part: bool,
        clock: &Clock,
    ) -> Result<()> {
        let mut order: Vec<usize> = (0..tried.len()).filter(|index| tried[*index].learned.is_some()).collect();
        let baselines: Vec<usize> =
            order.iter().copied().filter(|index| tried[*index].candidate.is_baseline()).collect();
        order.sort_by(|a, b| tried[*a].evidence.total_cmp(&tried[*b].evidence));
        let Some(least) = order.first().map(|index| tried[*index].evidence) else { return Ok(()) };
        let has_groups = part.standard.groups.is_some();
        if has_groups {
            // The likelihood takes the rows of a group for independent: the simplest first, as candidates are listed.
            order.sort_unstable();
        }
        let candidates = tried.len();
        let weight_of = |row: &usize| part.standard.weights.as_ref().map_or(1.0, |w| w[*row]);
        let weight = folds.held_out_rows().iter().map(weight_of).sum::<f64>() * units.len() as f64;
        let (mut judged, mut best): (usize, Option<(String, f64)>) = (0, None);
        let baselines = baselines.into_iter().map(|index| (None, index));
        let queue: Vec<_> = baselines.chain(order.into_iter().enumerate().map(|(rank, i)| (Some(rank), i))).collect();
        for (rank, index) in queue {
            if tried[index].squares.is_some() {
                continue;
            }
            let candidate = tried[index].candidate;
            let is_hopeless = tried[index].evidence > least + HOPELESS && candidate.is_learned && !has_groups;
            // A learned one takes about as long per fold as it took to learn.
            let forecast = tried[index].seconds * folds.groups.len() as f64;
            let is_skipped = match rank {
                // A baseline must leave most of the time to others, else it waits for its turn.
                None => candidate.is_learned && clock.left() * BASELINE_SHARE < forecast,
                Some(0) => false,
                // With many rows all of them will decide; folds of the part only tell how good the first few are.
                Some(rank) => is_hopeless || is_part && rank >= 3 || clock.cuts(clock.left() < forecast),
            };
            if is_skipped {
                continue;
            }
            let design = part.of(&candidate);
            let started = Instant::now();
            let numbers = self.remember(&format!("folds {}", candidate.key()), clock, || {
                let mut squares = vec![0.0; design.rows()];
                for (index, fold) in folds.groups.iter().enumerate() {
                    let goes_on = || self.goes_on(candidate.name);
                    let rows = (&folds.kept(index, design.rows())[..], &fold[..]);
                    match held_out_errors(&candidate, design, rows, units, (self.offset, self.clip), &goes_on)? {
                        Some(errors) => fold.iter().zip(errors).for_each(|(row, error)| squares[*row] = error),
                        None => return Ok(Vec::new()),
                    }
                }
                Ok(folds.held_out_rows().into_iter().map(|row| squares[row]).collect())
            })?;
            self.stage(candidate.name)?;
            tried[index].squares = (!numbers.is_empty()).then_some(numbers);
            tried[index].seconds += started.elapsed().as_secs_f64();
            if let Some(square) = tried[index].mean_square(weight) {
                let rmse = square.sqrt() * units[0];
                judged += 1;
                if best.as_ref().is_none_or(|(_, least)| rmse < *least) {
                    best = Some((candidate.title(), rmse));
                }
                self.tell(&Standing { candidates, learned: candidates, judged, best: best.clone() });
            }
        }
        Ok(())
    }

    /// Fits the best on all rows. When it was learned from a part of them, the two best compete once more.
    fn fit_best(&self, tried: &[Tried], ranking: &[usize], designs: Designs, clock: &Clock) -> Result<Best> {
        let first = *ranking.first().ok_or_else(|| Error::Decomposition("no candidate could be fitted".into()))?;
        self.stage("fitting")?;
        let rows = designs.rows();
        if let (Some(_), true) = (self.forward, rows > WHOLE_ROWS) {
            return self.fit_forward(first, &tried[first], designs);
        }
        if rows <= WHOLE_ROWS {
            let Tried { candidate, learned: Some(learned), .. } = &tried[first] else {
                return Err(Error::Decomposition("no candidate could be fitted".into()));
            };
            let mut design = designs.take(candidate).with_map(learned);
            let mut fit = self.fit_of(&learned.kernel.spec(), candidate.scale)?;
            if design.groups.is_none()
                && self.forward.is_none()
                && let Some(copies) = design.copies()
            {
                // A row is not held out while a copy of it stays.
                (design.groups, design.groups_are_folds) = (Some(copies), true);
                fit.criterion = Criterion::LeaveOneOut.for_groups();
            }
            let fitted = fit_certified(&fit, design)?;
            return Ok(Best { index: first, fitted, learned: learned.clone(), on_all_rows: HashMap::new() });
        }
        // Many rows favour rougher kernels than a part of them does: all candidates compete, coarsely, then the best two.
        let is_reduced = self.is_reduced(&designs.standard);
        let all = designs;
        let part;
        let designs = if is_reduced && rows > COMPETING_ROWS {
            part = all.some(COMPETING_ROWS, self.seed.wrapping_add(1));
            &part
        } else {
            &all
        };
        let mut order: Vec<usize> = (0..tried.len()).filter(|index| tried[*index].learned.is_some()).collect();
        order.sort_by(|a, b| tried[*a].evidence.total_cmp(&tried[*b].evidence));
        let mut found: Vec<(usize, [f64; 3])> = Vec::new();
        for index in order {
            if found.len() > 1 && clock.cuts(clock.left() < 0.25 * self.budget.as_secs_f64()) {
                break;
            }
            let start = [0.0, libm::log(gamma_of(&tried[index]) / learning_rows(rows) as f64)];
            found.extend(self.polish(&tried[index], "all rows", designs, clock, start, &COARSE)?.map(|at| (index, at)));
        }
        let total = designs.standard.weight_sum() * designs.standard.y.cols() as f64;
        let mut on_all_rows: HashMap<usize, f64> = found.iter().map(|(index, at)| (*index, at[2] / total)).collect();
        found.sort_by(|a, b| a.1[2].total_cmp(&b.1[2]));
        found.truncate(2);
        let mut finals: Vec<(usize, [f64; 3])> = Vec::new();
        for (index, at) in found {
            let fine =
                self.polish(&tried[index], "all rows, finer", designs, clock, [at[0], at[1]], &FINE)?.unwrap_or(at);
            on_all_rows.insert(index, fine[2] / total);
            finals.push((index, fine));
        }
        finals.sort_by(|a, b| a.1[2].total_cmp(&b.1[2]));
        if let [(first, at), (second, other), ..] = finals[..] {
            // Leave-one-out keeps the learned metric and flatters the larger model: within its error, evidence decides.
            if tried[second].evidence < tried[first].evidence && designs.standard.groups.is_none() {
                let of = |index: usize, at: [f64; 3]| self.squares(&tried[index], designs, clock, [at[0], at[1]]);
                let (first, second) = (of(first, at)?, of(second, other)?);
                if let (Some(first), Some(second)) = (first, second)
                    && exceeds_by_at_most(&second, &first, 1.0)
                {
                    finals.swap(0, 1);
                }
            }
        }
        let (index, [stretch, log_lambda, _]) =
            *finals.first().ok_or_else(|| Error::Decomposition("no candidate could be fitted to all rows".into()))?;
        let (candidate, Some(learned)) = (&tried[index].candidate, &tried[index].learned) else {
            return Err(Error::Decomposition("no candidate could be fitted to all rows".into()));
        };
        let design = all.take(candidate).with_map(learned);
        if is_reduced {
            return self.fit_reduced(index, candidate, learned, design, stretch, on_all_rows);
        }
        let learned = stretched(learned, candidate, design.points.features(), stretch)?;
        let fit = self.fit_of(&learned.kernel.spec(), candidate.scale)?;
        let is_large = rows > DECOMPOSED_ROWS && design.weights.is_none();
        let fit = match (is_large, &self.exponents_of_many()[..]) {
            (true, [2.0]) => SquaredFit { exponents: vec![2.0], lambdas: Some(vec![libm::exp(log_lambda)]), ..fit },
            _ => fit,
        };
        Ok(Best { index, fitted: fit_certified(&fit, design)?, learned, on_all_rows })
    }

    /// Many rows in order of time: what was learned from the latest ones, λ by forward chaining on all.
    fn fit_forward(&self, index: usize, tried: &Tried, designs: Designs) -> Result<Best> {
        let Tried { candidate, learned: Some(learned), .. } = tried else {
            return Err(Error::Decomposition("no candidate could be fitted".into()));
        };
        let is_reduced = self.is_reduced(&designs.standard);
        let design = designs.take(candidate).with_map(learned);
        let fit = self.fit_of(&learned.kernel.spec(), candidate.scale)?;
        let is_long = design.rows() > FORWARD_ROWS && self.reduce == Reduce::IfNeeded;
        let is_reduced = is_long || is_reduced && self.reduce == Reduce::IfNeeded;
        let reduce = if is_reduced { Reduce::Always } else { fit.reduce };
        let fitted = SquaredFit { exponents: self.exponents_of_many(), reduce, ..fit }.fit_design(design)?;
        Ok(Best { index, fitted, learned: learned.clone(), on_all_rows: HashMap::new() })
    }

    /// With many rows exponent 2 is enough, unless it is none of those to choose from.
    pub(crate) fn exponents_of_many(&self) -> Vec<f64> {
        if self.exponents.contains(&2.0) { vec![2.0] } else { self.exponents.clone() }
    }

    /// The best candidate on landmarks of all rows: λ, and how much shorter its lengthscales should be, by leave-one-out.
    fn fit_reduced(
        &self,
        index: usize,
        candidate: &Candidate,
        learned: &Learned,
        design: Design,
        stretch: f64,
        on_all_rows: HashMap<usize, f64>,
    ) -> Result<Best> {
        let features = design.points.features();
        let shares: &[f64] = if candidate.is_learned { &SHORTER } else { &SHORTER[..1] };
        let options: Vec<Learned> = shares
            .iter()
            .map(|share| stretched(learned, candidate, features, stretch + libm::log(*share)))
            .collect::<Result<_>>()?;
        let fit = self.fit_of("gaussian", candidate.scale)?;
        let reduce = if self.reduce == Reduce::IfNeeded { Reduce::Always } else { fit.reduce };
        let kernels = options.iter().map(|option| option.kernel.clone()).collect();
        let fit = SquaredFit { kernels, exponents: self.exponents_of_many(), refine: false, reduce, ..fit };
        let fitted = fit.fit_design(design)?;
        let chosen = fitted.tried.iter().position(|tried| tried.is_chosen).unwrap_or(0);
        let learned = options.into_iter().nth(chosen).unwrap_or_else(|| learned.clone());
        Ok(Best { index, fitted, learned, on_all_rows })
    }

    /// Stretch, log λ and leave-one-out error of a candidate on all rows.
    fn polish(
        &self,
        tried: &Tried,
        key: &str,
        designs: &Designs,
        clock: &Clock,
        start: [f64; 2],
        steps: &Steps,
    ) -> Result<Option<[f64; 3]>> {
        let Tried { candidate, learned: Some(learned), .. } = tried else { return Ok(None) };
        let numbers = self.remember(&format!("{key} {}", candidate.key()), clock, || {
            self.stage("all rows")?;
            let design = designs.of(candidate).with_map(learned);
            let kernel = |stretch: f64| stretched(learned, candidate, design.points.features(), stretch);
            let groups = design.groups.as_deref().and_then(whole_groups);
            let polish =
                Polish { design: &design, kernel: &kernel, offset: self.offset, clip: self.clip, clock, groups };
            Ok(polish.run(start, candidate.is_learned, steps).to_vec())
        })?;
        Ok(numbers.first_chunk().copied().filter(|at: &[f64; 3]| at[2].is_finite()))
    }

    /// The leave-one-out square of every row at a stretch and log λ.
    fn squares(&self, tried: &Tried, designs: &Designs, clock: &Clock, at: [f64; 2]) -> Result<Option<Vec<f64>>> {
        let Tried { candidate, learned: Some(learned), .. } = tried else { return Ok(None) };
        let numbers = self.remember(&format!("all rows, one by one {}", candidate.key()), clock, || {
            let design = designs.of(candidate).with_map(learned);
            let kernel = |stretch: f64| stretched(learned, candidate, design.points.features(), stretch);
            let groups = design.groups.as_deref().and_then(whole_groups);
            let polish =
                Polish { design: &design, kernel: &kernel, offset: self.offset, clip: self.clip, clock, groups };
            Ok(polish.squares(at).unwrap_or_default())
        })?;
        Ok((!numbers.is_empty()).then_some(numbers))
    }

    /// The numbers under a key of the journal; what was remembered counts with the seconds it took.
    fn remember(&self, key: &str, clock: &Clock, compute: impl FnOnce() -> Result<Vec<f64>>) -> Result<Vec<f64>> {
        let started = Instant::now();
        let mut was_computed = false;
        let mut numbers = remembered(self.journal.as_ref(), key, || {
            was_computed = true;
            let mut numbers = compute()?;
            if !self.goes_on("stopping") {
                return Err(Error::Interrupted);
            }
            numbers.push(started.elapsed().as_secs_f64());
            Ok(numbers)
        })?;
        let seconds = numbers.pop().unwrap_or(0.0);
        if !was_computed {
            clock.remembered.set(clock.remembered.get() + seconds);
        }
        Ok(numbers)
    }

    fn goes_on(&self, name: &'static str) -> bool {
        self.observer.as_ref().is_none_or(|observer| observer(name))
    }

    fn stage(&self, name: &'static str) -> Result<()> {
        if self.goes_on(name) { Ok(()) } else { Err(Error::Interrupted) }
    }

    pub(crate) fn fit_of(&self, spec: &str, scale: Scale) -> Result<SquaredFit> {
        let fit = Fit::with_shared(crate::term::kernel::parse(spec)?).preferring(2.0).scale(scale).squared();
        Ok(SquaredFit {
            exponents: self.exponents.clone(),
            missing: self.missing,
            seed: self.seed,
            reduce: self.reduce,
            landmarks_by: self.landmarks_by,
            criterion: self.forward.map_or(Criterion::LeaveOneOut, Criterion::KFold),
            offset: self.offset,
            clip: self.clip,
            memory: self.memory,
            observer: self.observer.clone(),
            ..fit
        })
    }
}

fn gamma_of(tried: &Tried) -> f64 {
    tried.learned.as_ref().map_or(1.0, |learned| learned.gamma)
}

/// How many of the rows are learned from.
pub(super) fn learning_rows(rows: usize) -> usize {
    if rows <= WHOLE_ROWS { rows } else { LEARNING_ROWS }
}

/// How much larger the held-out error may be for a λ whose answer can be certified.
const PRICE_OF_CERTAINTY: f64 = 1.05;

/// A fit whose λ is raised where rounding leaves no digits of the best one and held-out errors hardly differ: targets without noise
/// draw λ down to where nothing can be verified.
fn fit_certified(fit: &SquaredFit, design: Design) -> Result<Fitted> {
    let found = fit.clone().fit_design(design.clone())?;
    let summary = found.summary();
    let (Some(best), false, 1) = (summary.loo_rmse, summary.certificate.holds, design.y.cols()) else {
        return Ok(found);
    };
    if !summary.lambda_was_chosen {
        return Ok(found);
    }
    for decades in [1, 2, 3, 4, 6, 8] {
        let least = libm::log10(summary.lambda) + f64::from(decades);
        let lambdas: Vec<f64> = (0..13).map(|k| libm::pow(10.0, least + 0.5 * f64::from(k))).collect();
        let raised =
            SquaredFit { exponents: vec![summary.exponent], lambdas: Some(lambdas), refine: false, ..fit.clone() }
                .fit_design(design.clone())?;
        let own = raised.summary();
        if own.loo_rmse.is_none_or(|rmse| rmse > PRICE_OF_CERTAINTY * best) {
            break;
        }
        if own.certificate.holds {
            return Ok(raised);
        }
    }
    Ok(found)
}
