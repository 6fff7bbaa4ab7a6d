//! A fit, step by step: Gram matrix, decomposition, choice, solution, model.

mod banded;
mod gradients;
mod landmarks;
mod learned;
mod recorded;
mod reduced;
mod trials;
mod tridiagonal;

use super::{Fitted, Reduce, Solver, SquaredFit};
use crate::base::clip::{self, Clip};
use crate::base::error::{Error, Result};
use crate::choose::select::{Choice, Extras, Judge, Score, Search, Surface, compared_landmarks};
use crate::data::Design;
use crate::fit::plan::{Method, Plan, Shape};
use crate::fit::{Engaged, FIRST_RANK, Tried};
use crate::linalg::{DecompositionCheck, Matrix};
use crate::model::{Expansion, HeldOut, KeptTargets, Meaning, Model, Precision, Provenance, Summary};
use crate::path::{HeldOutRows, LeaveOneOut, k_fold, leave_one_out, residuals_without_folds};
use crate::path::{Spectrum, Target};
use crate::solve::certificate::{Certificate, LowRank};
use crate::solve::{Solution, spectral};
use crate::term::criterion::{Criterion, Folds, group_count, whole_groups};
use crate::term::kernel::{Points, SharedKernel, kernel_for};
use reduced::Reduction;
use trials::Trials;

/// Rows times squared landmarks from which comparing ways to choose them costs little beside the fit.
const WORTH_COMPARING: f64 = 1e10;

/// Told the name of each step; an error ends the fit.
type Stage<'a> = &'a (dyn Fn(&'static str) -> Result<()> + Sync);

/// A kernel with its decomposition and what was chosen on it, one choice per group of targets.
struct Candidate {
    kernel: SharedKernel,
    spectrum: Spectrum,
    targets: Vec<Target>,
    choices: Vec<Choice>,
    surfaces: Vec<Surface>,
    score: f64,
    /// Where the decomposition is that of a factor: its landmarks.
    reduction: Option<Reduction>,
}

/// The best of several kernels.
enum Winner {
    Decomposed(Candidate),
    /// Without eigenvectors.
    Solved(SharedKernel, Found),
}

impl SquaredFit {
    pub(crate) fn fit_design(&self, design: Design) -> Result<Fitted> {
        if self.criterion == Criterion::LeaveOneOut && design.whole_groups().is_some() {
            return SquaredFit { criterion: self.criterion.for_groups(), ..self.clone() }.fit_design(design);
        }
        if let Some(rule) = self.metric {
            let (kernel, design) = self.with_metric(rule, design)?;
            return SquaredFit { metric: None, kernels: vec![kernel], ..self.clone() }.fit_design(design);
        }
        let points = &design.points;
        let shape = self.shape_of(&design);
        let mut plan = self.check_memory(&shape)?;
        self.criterion.check(design.rows())?;
        let kernels: Vec<SharedKernel> =
            self.kernels.iter().map(|kernel| kernel_for(kernel, &design)).collect::<Result<_>>()?;
        let stage = |name: &'static str| match &self.observer {
            Some(observer) if !observer(name) => Err(Error::Interrupted),
            _ => Ok(()),
        };
        if let (Reduce::ToAccuracy(accuracy), Method::LowRank { .. }) = (self.reduce, plan.method) {
            return self.fit_to_accuracy(&design, accuracy);
        }
        if let Method::LowRank { rank, by } = &mut plan.method {
            *by = match self.landmarks_by {
                Some(by) => by.suited_to(points, *rank),
                // The middle one of the kernels speaks for all.
                None if shape.rows as f64 * (*rank * *rank) as f64 >= WORTH_COMPARING => {
                    let (kernel, how) = (&kernels[kernels.len() / 2], (self.offset, self.seed, self.clip));
                    compared_landmarks(&design, kernel, *rank, how, &|| stage("comparing landmarks"))?
                }
                None => by.suited_to(points, *rank),
            };
        }
        if let (Method::Cholesky, Some((_, lambda))) = (plan.method, self.fixed()) {
            let found = self.factorise(&*kernels[0], &design, &vec![lambda; design.y.cols()], &stage)?;
            return self.assemble(design, kernels[0].clone(), plan, found);
        }
        if let Method::ConjugateGradients { .. } | Method::ManyLandmarks { .. } = plan.method {
            let is_linear = false;
            return self.by_gradients(&kernels, design, &Shape { is_linear, ..shape }, plan, &stage);
        }
        if plan.method == Method::Band {
            let (kernel, found) = self.choose_banded(&kernels, &design, &stage)?;
            return self.assemble(design, kernel, plan, found);
        }
        let (kernel, found) = self.choose(&kernels, &design, plan.method, &stage)?;
        if found.is_tridiagonal {
            plan.method = Method::Tridiagonal;
        }
        self.assemble(design, kernel, plan, found)
    }

    /// Twice as many landmarks until the bound says that they suffice, or no more can be had.
    fn fit_to_accuracy(&self, design: &Design, accuracy: f64) -> Result<Fitted> {
        let mut rank = FIRST_RANK;
        let mut last: Option<Fitted> = None;
        loop {
            let landmarks_by = Some(self.landmarks());
            let with_rank =
                SquaredFit { reduce: Reduce::ToRank(rank), landmarks_by, solver: Solver::Factored, ..self.clone() };
            let mut fitted = match (with_rank.fit_design(design.clone()), last) {
                (Ok(fitted), _) => fitted,
                // There is no memory for more: what was found stays.
                (Err(Error::Memory { .. }), Some(last)) => return Ok(last),
                (Err(error), _) => return Err(error),
            };
            let reached = |summary: &Summary| {
                let low_rank = summary.certificate.low_rank.as_ref();
                low_rank.and_then(|low_rank| low_rank.bound_at_rows).is_some_and(|bound| bound <= accuracy)
            };
            if fitted.model.summaries.iter().all(reached) {
                return Ok(fitted);
            }
            for summary in fitted.model.summaries.iter_mut().filter(|summary| !reached(summary)) {
                summary.certificate.holds = false;
                summary.certificate.reason = Some(format!(
                    "with {} landmarks predictions are not certain to be within {accuracy} of the exact ones, in units of the target's spread",
                    summary.certificate.low_rank.as_ref().map_or(0, |low_rank| low_rank.rank)
                ));
            }
            if rank >= design.rows() {
                return Ok(fitted);
            }
            last = Some(fitted);
            rank = (2 * rank).min(design.rows());
        }
    }

    /// Tries every kernel, keeps the best, and solves on its decomposition.
    fn choose(
        &self,
        kernels: &[SharedKernel],
        design: &Design,
        method: Method,
        stage: Stage<'_>,
    ) -> Result<(SharedKernel, Found)> {
        let trials = Trials::new(self, kernels, design, method, stage)?;
        let (mut tried, winner) = trials.run()?;
        if self.fixed().is_some() || self.constraint.is_some() {
            tried.clear();
        }
        let (kernel, found) = match winner {
            Winner::Solved(kernel, found) => (kernel, found),
            Winner::Decomposed(candidate) => (candidate.kernel.clone(), self.solve_on(candidate, design, stage)?),
        };
        Ok((kernel, Found { tried, ..found }))
    }

    /// What may be chosen on one decomposition.
    fn search(&self) -> Search {
        Search {
            exponents: self.exponents.clone(),
            lambdas: self.lambdas.clone(),
            refine: self.refine,
            preferred: self.preferred,
            one_standard_error: self.one_standard_error,
        }
    }

    /// Groups of targets that share one effective ridge.
    fn target_groups(&self, count: usize) -> Vec<Vec<usize>> {
        if self.shared_ridge { vec![(0..count).collect()] } else { (0..count).map(|t| vec![t]).collect() }
    }

    /// The exponent and λ of every group of targets on one decomposition.
    fn judge(
        &self,
        kernel: SharedKernel,
        spectrum: Spectrum,
        targets: Vec<Target>,
        extras: &Extras,
    ) -> Result<Candidate> {
        let count = targets.len();
        let (mut choices, mut surfaces, mut total) = (Vec::new(), Vec::new(), 0.0);
        let search = self.search();
        let nothing_known = Score { value: 0.0, standard_error: None };
        for group in self.target_groups(count) {
            let members: Vec<&Target> = group.iter().map(|t| &targets[*t]).collect();
            if let Some((exponent, lambda)) = self.fixed() {
                choices.push(Choice { exponent, lambda, score: nothing_known });
                continue;
            }
            if let Some(constraint) = &self.constraint {
                let path = spectrum.path(&members);
                let lambda = constraint.ridge(&path, spectrum.largest(), spectrum.weight_sum())?;
                choices.push(Choice { exponent: 2.0, lambda, score: nothing_known });
                continue;
            }
            let range = search.range(&mut spectrum.path(&members), spectrum.largest());
            let surface = match Judge::new(&spectrum, &members, &self.criterion, extras, range)? {
                Some(judge) => search.run(&judge.narrowed_for(&search), &group),
                None => None,
            };
            match surface {
                Some(surface) => {
                    // With several targets each is in units of its variance, so that they can be added.
                    let unit = if count > 1 && group.len() == 1 && self.criterion.is_squared_error() {
                        spectrum.path(&members).zero_mse().max(f64::MIN_POSITIVE)
                    } else {
                        1.0
                    };
                    total += surface.best.score.value / unit;
                    choices.push(surface.best);
                    surfaces.push(surface);
                }
                // One row, or nothing to explain: every λ gives the same model.
                None => choices.push(self.any_choice()),
            }
        }
        Ok(Candidate { kernel, spectrum, targets, choices, surfaces, score: total, reduction: None })
    }

    /// Targets whose predictions are kept within their range, if that is asked for.
    fn clipped(&self, targets: Vec<Target>, y: &Matrix) -> Vec<Target> {
        if !self.clip {
            return targets;
        }
        targets.into_iter().enumerate().map(|(t, target)| target.clipped(y.col(t))).collect()
    }

    /// Solutions and leave-one-out of every target, from one decomposition.
    fn solve_on(&self, candidate: Candidate, design: &Design, stage: Stage<'_>) -> Result<Found> {
        let Candidate { kernel, spectrum, targets, choices, reduction, .. } = candidate;
        let weights = design.weights.as_deref();
        // A single group leaves nothing to learn from.
        let by_group = design.whole_groups().and_then(whole_groups);
        let mut found = Found::default();
        for (group, choice) in self.target_groups(targets.len()).into_iter().zip(choices) {
            let members: Vec<&Target> = group.iter().map(|t| &targets[*t]).collect();
            stage("leave-one-out")?;
            found.forward.extend(self.forward_chained(&spectrum, &members, choice, design)?);
            let log_lambda = libm::log(choice.lambda);
            let residuals = match &by_group {
                _ if self.criterion.is_forward() => vec![None; group.len()],
                Some(folds) => residuals_without_folds(&spectrum, &members, choice.exponent, log_lambda, folds)
                    .into_iter()
                    .map(|e| Some(LeaveOneOut::of_groups(e, weights, folds.groups.len())))
                    .map(|loo| loo.filter(|loo| loo.mse.is_finite()))
                    .collect(),
                None => match leave_one_out(&spectrum, &members, choice.exponent, &[log_lambda]) {
                    Some(mut by_lambda) => {
                        by_lambda.swap_remove(0).into_iter().map(|e| Some(LeaveOneOut::new(e, weights))).collect()
                    }
                    None => vec![None; group.len()],
                },
            };
            stage("solving")?;
            let pairs: Vec<(&Target, &[f64])> = group.iter().map(|t| (&targets[*t], design.y.col(*t))).collect();
            let solutions = match &reduction {
                Some(reduction) => {
                    let solved = reduction.solve(&spectrum, &*kernel, design, &pairs, choice.exponent, choice.lambda);
                    found.low_rank.extend(solved.iter().map(|(_, low_rank)| Some(low_rank.clone())));
                    solved.into_iter().map(|(solution, _)| solution).collect()
                }
                None => spectral::solve(&spectrum, &*kernel, &design.points, &pairs, choice.exponent, choice.lambda),
            };
            found.penalties.extend(vec![(choice.exponent, choice.lambda); group.len()]);
            found.solutions.extend(solutions);
            found.residuals.extend::<Vec<Option<LeaveOneOut>>>(residuals);
        }
        if found.solutions.len() != design.y.cols() {
            return Err(Error::Decomposition("the solution is not finite".into()));
        }
        let landmarks = reduction.map(Reduction::into_landmarks);
        Ok(Found { check: Some(spectrum.check()), spectrum: Some(spectrum), landmarks, ..found })
    }

    /// What forward chaining says of a choice, for each of these targets; `None` under any other criterion.
    fn forward_chained(
        &self,
        spectrum: &Spectrum,
        targets: &[&Target],
        choice: Choice,
        design: &Design,
    ) -> Result<Vec<Option<HeldOutRows>>> {
        let Criterion::KFold(rule) = &self.criterion else { return Ok(vec![None; targets.len()]) };
        if !rule.is_forward() {
            return Ok(vec![None; targets.len()]);
        }
        let folds = Folds::draw(rule, design.rows(), design.groups.as_deref(), self.seed)?;
        let found = k_fold(spectrum, targets, choice.exponent, choice.lambda, &folds)?;
        let of = |(t, target): (usize, &&Target)| {
            let residuals: Vec<Vec<f64>> = found.iter().map(|fold| fold[t].clone()).collect();
            let y = target.observed(spectrum);
            Some(HeldOutRows::new(&folds, &residuals, &y, design.weights.as_deref()))
        };
        Ok(targets.iter().enumerate().map(of).collect())
    }

    fn assemble(&self, design: Design, kernel: SharedKernel, plan: Plan, mut found: Found) -> Result<Fitted> {
        let groups = design.whole_groups().map(group_count);
        // A method that leaves out single rows only says nothing of new groups.
        found.residuals.iter_mut().for_each(|loo| *loo = loo.take().filter(|loo| loo.groups == groups));
        if self.clip {
            for (t, loo) in found.residuals.iter_mut().enumerate() {
                if let Some(loo) = loo {
                    Clip::of(design.y.col(t)).keep_rows(&mut loo.residuals);
                    let residuals = std::mem::take(&mut loo.residuals);
                    *loo = LeaveOneOut { groups, ..LeaveOneOut::new(residuals, design.weights.as_deref()) };
                }
            }
        }
        // In order of time no row is predicted from later ones.
        found.residuals.iter_mut().for_each(|loo| *loo = loo.take().filter(|_| !self.criterion.is_forward()));
        found.forward.resize(found.solutions.len(), None);
        let deviations = design.deviations();
        let mut summaries = Vec::new();
        for (t, solution) in found.solutions.iter().enumerate() {
            let y = design.y.col(t);
            let (exponent, lambda) = found.penalties[t];
            let explained = |mse: f64| (deviations[t] > 0.0).then(|| 1.0 - mse / (deviations[t] * deviations[t]));
            let loo = found.residuals[t].as_ref();
            let score = score_of(&found.tried, t).filter(|_| self.fixed().is_none());
            let target_range = clip::range(y.iter().copied()).unwrap_or_default();
            summaries.push(Summary {
                lambda_was_chosen: self.lambdas.as_ref().is_none_or(|lambdas| lambdas.len() > 1),
                chosen_by: match &self.constraint {
                    Some(constraint) => Some(constraint.describe()),
                    None if self.fixed().is_some() => None,
                    // Each row as often as it is there: the copies of a row leave with it.
                    None if design.groups_are_folds && self.criterion.leaves_out_groups() => {
                        Some(Criterion::LeaveOneOut.spec())
                    }
                    None => Some(self.criterion.spec()),
                },
                groups,
                criterion_value: score.map(|(score, _)| score.value),
                rows: design.rows(),
                has_offset: self.offset,
                train_r2: explained(solution.train_mse),
                loo_rmse: loo.map(LeaveOneOut::rmse),
                loo_r2: loo.and_then(|loo| explained(loo.mse)),
                target_range,
                held_out: match &found.forward[t] {
                    Some(forward) => Some(HeldOut {
                        measure: "squared".into(),
                        value: forward.mse,
                        standard_error: forward.standard_error,
                        unweighted: None,
                    }),
                    None => score.and_then(|(score, is_own)| self.held_out(score, is_own)),
                },
                clip: self.clip.then_some(target_range),
                certificate: Certificate {
                    low_rank: found.low_rank.get(t).cloned().flatten(),
                    ..Certificate::new(solution, found.check)
                },
                ..Summary::of_solution(&design.targets[t], exponent, lambda, solution)
            });
        }
        let length = found.solutions.first().map_or(0, |solution| solution.coefficients.len());
        let all: Vec<f64> = found.solutions.iter().flat_map(|solution| solution.coefficients.iter().copied()).collect();
        let coefficients = Matrix::from_columns(length, found.solutions.len(), all)?;
        if coefficients.as_slice().iter().any(|c| !c.is_finite()) {
            return Err(Error::Decomposition("the coefficients are not finite; a larger λ is needed".into()));
        }
        let expansion = if plan.method == Method::Primal {
            Expansion::Linear { coefficients }
        } else if kernel.is_precomputed() {
            // Kernel values come with every new row; only their number is needed.
            Expansion::Kernel { points: Points::new(&Matrix::zeros(design.rows(), 0)), alpha: coefficients }
        } else if let Some(landmarks) = &found.landmarks {
            Expansion::Kernel { points: landmarks.clone(), alpha: coefficients }
        } else {
            Expansion::Kernel { points: design.points.clone(), alpha: coefficients }
        };
        // Landmarks are not the rows; their targets alone would say nothing.
        let holds_rows = found.landmarks.is_none()
            && matches!(&expansion, Expansion::Kernel { points, .. } if points.features() + points.code_columns() > 0);
        let groups = design.groups.clone().filter(|_| groups.is_some());
        let kept = holds_rows.then(|| KeptTargets { y: design.y.clone(), weights: design.weights.clone(), groups });
        let encoder = design.encoder.clone();
        let model = Model {
            encoder,
            kernel,
            expansion,
            summaries,
            meaning: Meaning::Numbers,
            kept,
            precision: Precision::Double,
            provenance: Provenance::of_this_version(),
        };
        let fitted = found.solutions.iter().map(|solution| solution.fitted.clone()).collect();
        let (solutions, leave_one_out, forward) = (found.solutions, found.residuals, found.forward);
        let spectrum = found.spectrum;
        let found = Fitted::new(model, plan, design, found.tried, Engaged::Squared);
        Ok(Fitted { fitted, solutions, leave_one_out, forward, spectrum, ..found })
    }
}

impl SquaredFit {
    /// What held-out rows said of a choice for one target.
    fn held_out(&self, score: Score, is_own: bool) -> Option<HeldOut> {
        let standard_error = score.standard_error.filter(|_| is_own && self.criterion.holds_out())?;
        Some(HeldOut { measure: "squared".into(), value: score.value, standard_error, unweighted: None })
    }
}

/// The criterion at the choice for a target, and whether it is of this target alone.
fn score_of(tried: &[Tried], target: usize) -> Option<(Score, bool)> {
    let surfaces = tried.iter().find(|tried| tried.is_chosen)?.surfaces();
    let surface = surfaces.iter().find(|surface| surface.targets.contains(&target))?;
    let score = Some(surface.best.score).filter(|score| score.value.is_finite())?;
    Some((score, surface.targets.len() == 1))
}

/// What the solvers found, target by target.
#[derive(Default)]
struct Found {
    /// Exponent and λ of each target.
    penalties: Vec<(f64, f64)>,
    solutions: Vec<Solution>,
    residuals: Vec<Option<LeaveOneOut>>,
    /// Where the criterion is forward chaining.
    forward: Vec<Option<HeldOutRows>>,
    spectrum: Option<Spectrum>,
    /// What was found of the decomposition, or of the form that stood in its place.
    check: Option<DecompositionCheck>,
    tried: Vec<Tried>,
    /// With a factor in the place of the matrix: what is certain of it, and its landmarks.
    low_rank: Vec<Option<LowRank>>,
    landmarks: Option<Points>,
    /// Whether solutions were read off a tridiagonal form, without eigenvectors.
    is_tridiagonal: bool,
}
