//! Which method a fit takes, and whether there is memory for it.

use super::{ACCURACY_OF_GRADIENTS, Reduce, Solver, SquaredFit};
use crate::base::error::{Error, Result};
use crate::choose::select::suits_band;
use crate::data::Design;
use crate::fit::plan::{self, Method, Plan, Shape};
use crate::space::low_rank::Landmarks;
use crate::term::criterion::Criterion;

/// Rows with groups up to which a given λ is worth a decomposition (some seconds), from which the errors without each group follow; beyond
/// it one factorisation gives the model without them.
const DECOMPOSED_GROUPS: usize = 4000;

impl SquaredFit {
    /// λ and the exponent, when there is nothing to choose.
    pub(super) fn fixed(&self) -> Option<(f64, f64)> {
        match (&self.exponents[..], self.lambdas.as_deref(), self.kernels.len()) {
            ([exponent], Some([lambda]), 1) => Some((*exponent, *lambda)),
            _ => None,
        }
    }

    /// The error of predictions at which conjugate gradients end.
    pub(super) fn end_of_gradients(&self) -> f64 {
        self.accuracy_of_gradients.unwrap_or(ACCURACY_OF_GRADIENTS)
    }

    /// What decides the method on these rows: text that is kept as a code makes a linear kernel a product.
    pub(super) fn shape_of(&self, design: &Design) -> Shape {
        let points = &design.points;
        let shape = self.shape(design.rows(), points.features(), design.y.cols(), design.weights.is_some());
        // The errors without each group are read off a decomposition.
        let by_group = design.whole_groups().is_some() && self.diagnostics && shape.rows <= DECOMPOSED_GROUPS;
        Shape {
            is_linear: shape.is_linear && points.code_columns() == 0,
            fixed_exponent: shape.fixed_exponent.filter(|_| !by_group),
            only_ridges: shape.only_ridges && !by_group,
            ..shape
        }
    }

    /// What decides the method.
    pub(super) fn shape(&self, rows: usize, features: usize, targets: usize, is_weighted: bool) -> Shape {
        Shape {
            rows,
            features,
            targets,
            is_linear: self.kernels.iter().all(|kernel| kernel.linear_scale().is_some()),
            is_weighted,
            // Forward chaining is read off a decomposition, also where λ is given, and a spectrum that is kept is one.
            fixed_exponent: self
                .fixed()
                .map(|(exponent, _)| exponent)
                .filter(|_| !self.criterion.is_forward() && !self.keep_spectrum),
            only_ridges: self.exponents == [2.0]
                && !self.shared_ridge
                && suits_band(&self.criterion)
                && !self.keep_spectrum,
            tabulates_rows: self.criterion == Criterion::LeaveOneOut
                && self.fixed().is_none()
                && (is_weighted || self.exponents != [2.0]),
        }
    }

    /// The gate before anything large is allocated. Refuses what was said about a method that is not the one taken.
    pub(super) fn check_memory(&self, shape: &Shape) -> Result<Plan> {
        let plan = self.planned(shape)?;
        let descends = matches!(plan.method, Method::ConjugateGradients { .. } | Method::ManyLandmarks { .. });
        if self.solver == Solver::ConjugateGradients && !descends {
            let must =
                "used where f is not a linear function of fewer features than there are rows, which is solved directly";
            let found = format!("{} features and {} rows", shape.features, shape.rows);
            return Err(Error::argument("conjugate gradients", must, found));
        }
        if self.accuracy_of_gradients.is_some() && !descends {
            let must = "given where a fit is solved by them";
            return Err(Error::argument("the accuracy of conjugate gradients", must, plan.method.describe()));
        }
        if let (Method::ManyLandmarks { rank }, Some(by)) = (plan.method, self.landmarks_by) {
            let must = format!(
                "left open for {rank} landmarks: beyond {} of them, or what memory allows, they are pivots of a sample",
                plan::MANY_LANDMARKS
            );
            return Err(Error::argument("how landmarks are chosen", must, by.name()));
        }
        Ok(plan)
    }

    /// How landmarks are chosen, as far as it is known before the rows are.
    pub(super) fn landmarks(&self) -> Landmarks {
        let usual = match self.reduce {
            // The bound is of factors, and knows what is left of every row: pivots look for those of which most is.
            Reduce::ToAccuracy(_) => Landmarks::Pivots,
            _ => Landmarks::default(),
        };
        self.landmarks_by.unwrap_or(usual)
    }

    /// The method that suits the shape and the memory that there is.
    pub(super) fn planned(&self, shape: &Shape) -> Result<Plan> {
        let plan = plan::plan(shape);
        let limit = self.memory.unwrap_or_else(plan::available_memory);
        if plan.method == Method::Primal || !self.may_reduce() {
            plan.check(shape, limit)?;
            return Ok(plan);
        }
        let by_gradients = || plan::gradients(shape, limit, self.memory.is_some());
        if self.solver == Solver::ConjugateGradients {
            return by_gradients();
        }
        if self.takes_gradients(shape, &plan, limit)
            && let Ok(plan) = by_gradients()
        {
            return Ok(plan);
        }
        let is_slow = matches!(plan.method, Method::Spectral | Method::Band) && shape.rows > plan::EXACT_ROWS;
        let by = self.landmarks();
        match self.reduce {
            Reduce::ToRank(rank) => {
                let factored = plan::low_rank(shape, Some(rank), by, limit);
                let is_many = rank > plan::MANY_LANDMARKS || factored.is_err();
                let may_descend = self.suits_gradients() && !self.shared_ridge && self.solver != Solver::Factored;
                // With more landmarks than half of the rows, the sample they come from would be all rows.
                if is_many && may_descend && rank <= shape.rows / 2 {
                    return plan::many_landmarks(shape, rank, limit);
                }
                factored
            }
            Reduce::ToAccuracy(_) | Reduce::Always => plan::low_rank(shape, self.reduce.rank(), by, limit),
            Reduce::IfNeeded if is_slow || plan.bytes > limit => plan::low_rank(shape, None, by, limit),
            _ => plan.check(shape, limit).map(|()| plan),
        }
    }

    /// Whether the exact problem is one for conjugate gradients without being said to be: where there is no other way that is as
    /// exact. Beyond [`plan::GRADIENT_ROWS`] they take hours, which is not what was meant.
    fn takes_gradients(&self, shape: &Shape, plan: &Plan, limit: u64) -> bool {
        let is_quicker = self.fixed().is_some() && !self.diagnostics && shape.rows > plan::EXACT_ROWS;
        self.reduce == Reduce::Never
            && self.suits_gradients()
            && shape.rows <= plan::GRADIENT_ROWS
            && (plan.bytes > limit || is_quicker)
    }

    /// Whether conjugate gradients can solve it.
    pub(super) fn suits_gradients(&self) -> bool {
        self.against_gradients().is_none()
    }

    /// Whether landmarks can stand for all rows.
    pub(super) fn may_reduce(&self) -> bool {
        self.against_landmarks().is_none()
    }
}
