//! Fits by conjugate gradients, on all rows or on thousands of landmarks; what is not given is chosen on fewer landmarks first.

use super::{Found, Stage};
use crate::base::error::{Error, Result};
use crate::data::Design;
use crate::fit::plan::{self, Method, Plan, Shape};
use crate::fit::squares::{Solver, SquaredFit};
use crate::fit::{Fitted, Reduce};
use crate::solve::conjugate_gradient::{Gradients, Group, System, Watch};
use crate::solve::many_landmarks::{self, ManyLandmarks};
use crate::term::kernel::SharedKernel;

impl SquaredFit {
    /// The exact problem at a given λ, or at what landmarks choose.
    pub(super) fn by_gradients(
        &self,
        kernels: &[SharedKernel],
        design: Design,
        shape: &Shape,
        plan: Plan,
        stage: Stage<'_>,
    ) -> Result<Fitted> {
        let count = design.y.cols();
        let (kernel, penalties, tried, chosen_on) = match self.fixed() {
            Some(penalty) => (kernels[0].clone(), vec![penalty; count], Vec::new(), None),
            None => {
                let (reduce, solver) = (Reduce::Always, Solver::Suitable);
                let on_landmarks = SquaredFit { reduce, solver, accuracy_of_gradients: None, ..self.clone() };
                let chosen = on_landmarks.fit_design(design.clone())?;
                let of = |t: usize| (chosen.model.summaries[t].exponent, chosen.model.summaries[t].lambda);
                let rank = chosen.summary().certificate.low_rank.as_ref().map(|low_rank| low_rank.rank);
                (chosen.model.kernel.clone(), (0..count).map(of).collect(), chosen.tried, rank)
            }
        };
        let (found, are_reached) = match plan.method {
            Method::ManyLandmarks { rank } => self.descend_on_landmarks(&kernel, &design, rank, &penalties, stage)?,
            _ => self.descend(&kernel, &design, shape, plan, &penalties, stage)?,
        };
        let mut fitted = self.assemble(design, kernel, plan, Found { penalties, tried, ..found })?;
        for (t, summary) in fitted.model.summaries.iter_mut().enumerate() {
            summary.chosen_on_landmarks = chosen_on;
            if summary.certificate.reason.is_none() && !are_reached[t] {
                summary.certificate.holds = false;
                summary.certificate.reason = Some(format!(
                    "conjugate gradients ended {:.0e} of the target's spread from the answer at most, not {:.0e}; a larger λ is needed",
                    fitted.solutions[t].relative_error,
                    self.end_of_gradients()
                ));
            }
        }
        Ok(fitted)
    }

    fn descend(
        &self,
        kernel: &SharedKernel,
        design: &Design,
        shape: &Shape,
        plan: Plan,
        penalties: &[(f64, f64)],
        stage: Stage<'_>,
    ) -> Result<(Found, Vec<bool>)> {
        let Method::ConjugateGradients { rank } = plan.method else {
            return Err(Error::argument("the method", "conjugate gradients", plan.method.describe()));
        };
        let watch = Watch::new(stage);
        let settings = Gradients {
            kernel: &**kernel,
            points: &design.points,
            weights: design.weights.as_deref(),
            offset: self.offset,
            accuracy: self.end_of_gradients(),
            rank,
            memory: plan.bytes.saturating_sub(plan::bytes_of_gradients(shape, rank)),
            seed: self.seed,
            watch: &watch,
        };
        let mut system = System::new(&settings)?;
        let (mut found, mut are_reached) = (Found::default(), Vec::new());
        let mut start = 0;
        while start < penalties.len() {
            let (exponent, lambda) = penalties[start];
            // One ridge for all, or the same one: they go in step.
            let goes_along =
                |penalty: &&(f64, f64)| self.shared_ridge || (exponent == 2.0 && **penalty == penalties[start]);
            let same = 1 + penalties[start + 1..].iter().take_while(goes_along).count();
            let targets = (start..start + same).map(|t| design.y.col(t)).collect();
            let solved = system.solve(&Group { targets, exponent, lambda })?;
            found.solutions.extend(solved.solutions);
            are_reached.extend(solved.are_reached);
            found.residuals.extend(vec![None; same]);
            start += same;
        }
        if found.solutions.len() != design.y.cols() {
            return Err(Error::Decomposition("the solution is not finite".into()));
        }
        Ok((found, are_reached))
    }

    fn descend_on_landmarks(
        &self,
        kernel: &SharedKernel,
        design: &Design,
        rank: usize,
        penalties: &[(f64, f64)],
        stage: Stage<'_>,
    ) -> Result<(Found, Vec<bool>)> {
        let watch = Watch::new(stage);
        let settings = ManyLandmarks {
            kernel: &**kernel,
            points: &design.points,
            weights: design.weights.as_deref(),
            offset: self.offset,
            accuracy: self.end_of_gradients(),
            rank,
            seed: self.seed,
            watch: &watch,
        };
        let system = many_landmarks::System::new(&settings)?;
        let (mut found, mut are_reached) = (Found::default(), Vec::new());
        for (t, (exponent, lambda)) in penalties.iter().enumerate() {
            let (solution, is_reached) = system.solve(design.y.col(t), *exponent, *lambda)?;
            found.solutions.push(solution);
            found.residuals.push(None);
            found.low_rank.push(Some(system.certificate()));
            are_reached.push(is_reached);
        }
        found.landmarks = Some(design.points.subset(&system.landmarks));
        Ok((found, are_reached))
    }
}
