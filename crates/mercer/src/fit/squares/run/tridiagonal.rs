//! Surfaces of leave-one-out on tridiagonal forms: several kernels on one small table. The best one's solution is read off its form, too,
//! unless its ridge is near rounding or somebody wants the decomposition.

use super::trials::Trials;
use super::{Candidate, Found, Winner};
use crate::base::error::{Error, Result};
use crate::choose::select::{Choice, Score, Surface, TridiagonalJudge};
use crate::fit::Tried;
use crate::fit::plan::Method;
use crate::fit::squares::SquaredFit;
use crate::linalg::{Matrix, side_by_side};
use crate::path::LeaveOneOut;
use crate::path::{FormTarget, TridiagonalForm};
use crate::solve::on_form;
use crate::term::criterion::Criterion;
use crate::term::kernel::SharedKernel;

/// From so few rows on there is nothing to gain, and up to so many the reduction is no slower than one to a band.
const FEWEST: usize = 200;
pub(super) const MOST: usize = 1500;
/// Forms of kernels whose scores are as near as this to the lowest are kept: one of them is decomposed in the end.
const NEAR: f64 = 1e-8;

/// A form that may be that of the best kernel.
pub(super) struct KeptForm {
    index: usize,
    score: f64,
    form: TridiagonalForm,
}

impl Trials<'_> {
    /// Whether surfaces are read off tridiagonal forms.
    pub(super) fn suits_tridiagonal(&self) -> bool {
        let is_free = self.fit.fixed().is_none() && self.fit.constraint.is_none();
        let is_plain = self.design.weights.is_none() && !self.fit.clip && self.fit.criterion == Criterion::LeaveOneOut;
        let is_small = (FEWEST..=MOST).contains(&self.design.rows());
        let needs_them = matches!(self.method, Method::Spectral | Method::Band);
        self.suits_factors() && needs_them && is_free && is_plain && is_small
    }

    /// The surfaces of a kernel on its tridiagonal form; `None` where that does not give them.
    pub(super) fn by_tridiagonal(&self, index: usize, kernel: &SharedKernel) -> Result<Option<Tried>> {
        if !self.suits_tridiagonal() {
            return Ok(None);
        }
        let Some(form) = self.form(kernel)? else { return Ok(None) };
        (self.stage)("choosing")?;
        let Some((surfaces, score)) = self.fit.surfaces_on_form(&form, &self.design.y) else { return Ok(None) };
        // Ridges alone end with a Cholesky factor.
        if let (Method::Spectral, Ok(mut kept)) = (self.method, self.forms.lock()) {
            kept.push(KeptForm { index, score, form });
            let lowest = kept.iter().map(|kept| kept.score).fold(f64::INFINITY, f64::min);
            kept.retain(|kept| kept.score <= lowest + NEAR * lowest.abs());
        }
        Ok(Some(Tried::on_surfaces(kernel.clone(), surfaces, score, None)))
    }

    fn form(&self, kernel: &SharedKernel) -> Result<Option<TridiagonalForm>> {
        (self.stage)("Gram matrix")?;
        let gram = self.source.lower(&**kernel);
        (self.stage)("decomposing")?;
        match TridiagonalForm::new(gram, &self.places, self.fit.offset) {
            Err(Error::Decomposition(_)) => Ok(None),
            found => found,
        }
    }

    /// What follows from the form of the kernel whose surfaces came from it: solutions, or where those need eigenvectors, its
    /// decomposition with what was chosen.
    pub(super) fn finish_form(&self, index: usize, tried: &Tried) -> Result<Option<Winner>> {
        if !self.suits_tridiagonal() || tried.low_rank.is_some() {
            return Ok(None);
        }
        let known = self.forms.lock().ok().and_then(|mut kept| {
            let place = kept.iter().position(|kept| kept.index == index)?;
            Some(kept.swap_remove(place).form)
        });
        let form = match known {
            Some(form) => form,
            // Its surfaces came from the journal; the same bits as in a run that was never stopped.
            None => match side_by_side(|| self.form(&tried.kernel))? {
                Some(form) => form,
                None => return Ok(None),
            },
        };
        let groups = self.fit.target_groups(self.design.y.cols());
        let choice = |group: &Vec<usize>| {
            let surface = tried.surfaces().iter().find(|surface| surface.targets == *group);
            surface.map_or_else(|| self.fit.any_choice(), |surface| surface.best)
        };
        let choices: Vec<Choice> = groups.iter().map(choice).collect();
        if !self.fit.keep_spectrum {
            (self.stage)("solving")?;
            if let Some(found) = self.solve_on_form(&form, &tried.kernel, &groups, &choices) {
                return Ok(Some(Winner::Solved(tried.kernel.clone(), found)));
            }
        }
        (self.stage)("decomposing")?;
        let spectrum = match form.into_spectrum()? {
            Some(spectrum) => spectrum,
            None => self.decompose(&tried.kernel)?.0,
        };
        let targets = spectrum.targets(&self.design.y)?;
        Ok(Some(Winner::Decomposed(Candidate {
            kernel: tried.kernel.clone(),
            spectrum,
            targets,
            choices,
            surfaces: tried.surfaces().to_vec(),
            score: tried.score,
            reduction: None,
        })))
    }

    /// Solutions and leave-one-out of every target; `None` where one of them needs eigenvectors.
    fn solve_on_form(
        &self,
        form: &TridiagonalForm,
        kernel: &SharedKernel,
        groups: &[Vec<usize>],
        choices: &[Choice],
    ) -> Option<Found> {
        let (y, points) = (&self.design.y, &self.design.points);
        let mut found = Found { check: Some(form.check()), is_tridiagonal: true, ..Found::default() };
        for (group, choice) in groups.iter().zip(choices) {
            let targets: Vec<FormTarget> = group.iter().map(|t| form.target(y.col(*t))).collect();
            let pairs: Vec<(&FormTarget, &[f64])> = targets.iter().zip(group.iter().map(|t| y.col(*t))).collect();
            let solved = on_form::solve(form, &**kernel, points, &pairs, choice.exponent, choice.lambda)?;
            found.penalties.extend(vec![(choice.exponent, choice.lambda); group.len()]);
            found.solutions.extend(solved.solutions);
            found.residuals.extend(solved.residuals.into_iter().map(|e| Some(LeaveOneOut::new(e, None))));
        }
        Some(found)
    }
}

impl SquaredFit {
    fn surfaces_on_form(&self, form: &TridiagonalForm, y: &Matrix) -> Option<(Vec<Surface>, f64)> {
        let (search, count) = (self.search(), y.cols());
        let targets: Vec<FormTarget> = (0..count).map(|t| form.target(y.col(t))).collect();
        let (mut surfaces, mut total) = (Vec::new(), 0.0);
        for group in self.target_groups(count) {
            let members: Vec<&FormTarget> = group.iter().map(|t| &targets[*t]).collect();
            // A constant target has no surface; every λ gives the same model.
            let Some(judge) = TridiagonalJudge::new(form, &members, &search) else { continue };
            if !judge.is_possible(&search.exponents) {
                return None;
            }
            let Some(surface) = search.run(&judge, &group) else { continue };
            let is_one_of_many = count > 1 && group.len() == 1;
            let unit = if is_one_of_many { form.path(&members).zero_mse().max(f64::MIN_POSITIVE) } else { 1.0 };
            total += surface.best.score.value / unit;
            surfaces.push(surface);
        }
        Some((surfaces, total))
    }

    /// What is chosen where every λ gives the same model.
    pub(super) fn any_choice(&self) -> Choice {
        let lambda = self.lambdas.as_ref().and_then(|lambdas| lambdas.last().copied()).unwrap_or(1.0);
        let exponent = self.exponents[self.exponents.len() - 1];
        Choice { exponent, lambda, score: Score { value: 0.0, standard_error: None } }
    }
}
