//! Which engine solves a problem, what it refuses, and the fit itself.

use std::sync::Arc;

use super::Reduce;
use super::automatic::{Automatic, BUDGET};
use super::builder::{Choice, Fit, Limits, Problem, Reading, Space, Watch};
use super::fitted::Fitted;
use super::losses::{LossFit, usual_folds};
use super::penalties::PenaltyFit;
use super::plan::forecast::Outlook;
use super::squares::{Solver, SquaredFit};
use crate::base::error::{Error, Result};
use crate::data::{Design, Frame, Roles, Scale};
use crate::linalg::Matrix;
use crate::solve::linear::Sparse;
use crate::term::criterion::{Criterion, FoldRule};
use crate::term::loss::residual::Squared;
use crate::term::loss::{Shape, SharedLoss};
use crate::term::penalty::Penalty;

/// A solver family for one kind of problem.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Engine {
    /// Squared loss and λ‖f‖ᵐ: everything is read off one decomposition.
    Squared,
    /// Any other convex loss and λ‖f‖ᵐ, classes included.
    Loss,
    /// Squared loss and any other penalty.
    Penalty,
    /// The search for kernel, metric, exponent and λ.
    Automatic,
}

impl Engine {
    /// In words, for a message.
    pub fn describe(self) -> &'static str {
        match self {
            Engine::Squared => "a fit by the squared loss with the penalty λ‖f‖ᵐ",
            Engine::Loss => "a fit by another loss than the squared one",
            Engine::Penalty => "a fit with another penalty than λ‖f‖ᵐ",
            Engine::Automatic => "an automatic fit",
        }
    }
}

/// A setting that was given, the engines that have no use for it, and why.
struct Said {
    setting: &'static str,
    is_said: bool,
    useless_to: &'static [Engine],
    because: &'static str,
}

impl Fit {
    /// The engine that solves this problem. Refuses unsupported combinations of loss, penalty and space, and settings without
    /// effect.
    pub fn engine(&self) -> Result<Engine> {
        let engine = self.named_engine()?;
        for said in self.said() {
            if said.is_said && said.useless_to.contains(&engine) {
                return Err(Error::Combination {
                    setting: said.setting.into(),
                    with: engine.describe().into(),
                    because: said.because.into(),
                });
            }
        }
        Ok(engine)
    }

    pub(super) fn named_engine(&self) -> Result<Engine> {
        let Problem { space, losses, penalty, classify, .. } = &self.problem;
        let is_squared = !classify
            && losses.iter().all(|models| models.len() == 1)
            && losses.iter().flatten().all(|loss| matches!(loss.shape(), Shape::Quadratic));
        let refuse = |setting: &str, with: &str, because: &str| {
            Err(Error::Combination { setting: setting.into(), with: with.into(), because: because.into() })
        };
        match (space, penalty) {
            (Space::Automatic, _) if !is_squared => refuse(
                "the loss",
                Engine::Automatic.describe(),
                "the search judges kernels by the squared loss; name a kernel",
            ),
            (Space::Automatic, Penalty::NormPower) => Ok(Engine::Automatic),
            (Space::Automatic, _) => {
                refuse("the penalty", Engine::Automatic.describe(), "the search is for λ‖f‖ᵐ; name the function space")
            }
            (Space::Linear { degree }, Penalty::NormPower) if *degree > 1 => {
                refuse("polynomial features", "the penalty λ‖f‖ᵐ", "the polynomial kernel is the same space")
            }
            (_, Penalty::NormPower) => Ok(if is_squared { Engine::Squared } else { Engine::Loss }),
            (_, _) if !is_squared => {
                refuse("the loss", "this penalty", "penalties other than λ‖f‖ᵐ are solved for the squared loss")
            }
            (Space::Kernels(kernels), _) if kernels.len() != 1 => {
                refuse("several kernels", "this penalty", "it takes one")
            }
            _ => Ok(Engine::Penalty),
        }
    }

    /// Every setting that not all engines have a use for.
    fn said(&self) -> Vec<Said> {
        use Engine::{Automatic as Searched, Loss, Penalty as Other, Squared};
        let Problem { exponents, shared_ridge, constraint, clip, classify: _, many_classes, .. } = &self.problem;
        let Problem { class_weights, probabilities, non_crossing, .. } = &self.problem;
        let Choice {
            lambdas, criterion: _, measure, on_grid, preferred, one_standard_error, every_point, metric, ..
        } = &self.choice;
        let Limits { reduce, landmarks_by, solver, accuracy_of_gradients, tolerance, .. } = &self.limits;
        let Limits { diagnostics, keep_spectrum, budget, .. } = &self.limits;
        let said = |setting, is_said, useless_to, because| Said { setting, is_said, useless_to, because };
        let searched = "it is searched";
        let of_losses = "it belongs to other losses and to classes";
        let of_squares = "it needs the decomposition of the squared loss with λ‖f‖ᵐ";
        vec![
            said("an exponent", exponents.is_some(), &[Other], "only λ‖f‖ᵐ has one"),
            said("λ", lambdas.is_some(), &[Searched], searched),
            said("a scaling", self.reading.scale.is_some(), &[Searched], "features are standardised"),
            said("a measure", measure.is_some(), &[Squared, Other, Searched], of_losses),
            said("every point of the grid", *every_point, &[Squared, Other, Searched], of_losses),
            said("the choice on the grid only", *on_grid, &[Other, Searched], "paths of it have a grid of their own"),
            said("a preferred exponent", preferred.is_some(), &[Loss, Other, Searched], of_squares),
            said("one standard error", *one_standard_error, &[Searched], searched),
            said("a learned metric", metric.is_some(), &[Loss, Other, Searched], of_squares),
            said("rows without target", self.choice.unlabelled.is_some(), &[Loss, Other, Searched], of_squares),
            said("a shared ridge", *shared_ridge, &[Loss, Other, Searched], of_squares),
            said("a constraint", constraint.is_some(), &[Loss, Other, Searched], of_squares),
            said("clipping", *clip, &[Loss, Other], of_squares),
            said("a way for many classes", many_classes.is_some(), &[Squared, Other, Searched], of_losses),
            said("class weights", *class_weights != Default::default(), &[Squared, Other, Searched], of_losses),
            said("calibrated probabilities", *probabilities, &[Squared, Other, Searched], of_losses),
            said("sorted quantiles", *non_crossing, &[Squared, Other, Searched], of_losses),
            said("a tolerance", tolerance.is_some(), &[Squared, Searched], "its certificate is not a duality gap"),
            said(
                "conjugate gradients",
                *solver == Solver::ConjugateGradients || accuracy_of_gradients.is_some(),
                &[Loss, Other, Searched],
                of_squares,
            ),
            said("a demand for all rows", *reduce == Reduce::Never, &[Other], "it always uses all of them"),
            said("landmarks", *reduce != Reduce::IfNeeded, &[Other], "it has none"),
            said(
                "an accuracy of landmarks",
                matches!(reduce, Reduce::ToAccuracy(_)),
                &[Loss],
                "nothing is proved of other losses",
            ),
            said("a way to choose landmarks", landmarks_by.is_some(), &[Loss, Other], "it has one only"),
            said("a fit without diagnostics", !diagnostics, &[Loss, Other, Searched], of_squares),
            said("a kept spectrum", *keep_spectrum, &[Loss, Other, Searched], of_squares),
            said("a budget", budget.is_some(), &[Squared, Loss, Other], "it is the time of the automatic search"),
            said("a journal", self.watch.journal.is_some(), &[Loss, Other], "it remembers decompositions"),
            said(
                "an observer of a search",
                self.watch.search_observer.is_some(),
                &[Squared, Loss, Other],
                "there is no search to follow",
            ),
        ]
    }

    /// Fits one target: `x` has one row per example. For classes the entries of `y` are their names.
    pub fn fit(&self, x: &Matrix, y: &[f64]) -> Result<Fitted> {
        self.fit_weighted(x, &Matrix::column_vector(y.to_vec()), None)
    }

    /// Fits several targets (the columns of `y`), with row weights if there are any.
    pub fn fit_weighted(&self, x: &Matrix, y: &Matrix, weights: Option<&[f64]>) -> Result<Fitted> {
        if self.engine()? == Engine::Squared {
            return self.squared().fit_weighted(x, y, weights);
        }
        let (frame, roles) = Design::frame_of(x, y, weights)?;
        self.fit_frame(&frame, &roles)
    }

    /// Fits a table.
    pub fn fit_frame(&self, frame: &Frame, roles: &Roles) -> Result<Fitted> {
        match self.engine()? {
            Engine::Squared => self.squared().fit_frame(frame, roles),
            Engine::Loss => self.of_loss().fit_frame(frame, roles),
            Engine::Penalty => self.of_penalty().fit_frame(frame, roles),
            Engine::Automatic => self.searched()?.fit_frame(frame, roles),
        }
    }

    /// Fits rows of which only what is not zero is stored, as they are: unscaled, features called `x1`, `x2`, …; for linear
    /// functions with penalties other than λ‖f‖ᵐ. Rows of one entry of `groups` stay in one fold.
    pub fn fit_sparse(
        &self,
        x: &Sparse,
        y: &Matrix,
        weights: Option<&[f64]>,
        groups: Option<&[u32]>,
    ) -> Result<Fitted> {
        match self.engine()? {
            Engine::Penalty => self.of_penalty().fit_sparse(x, y, weights, groups),
            engine => Err(Error::Combination {
                setting: "sparse rows".into(),
                with: engine.describe().into(),
                because: "they are for linear functions with other penalties".into(),
            }),
        }
    }

    /// Bytes, seconds and certificate of every method that could fit this table, and which one a fit would take. Reads the
    /// table and measures this machine for less than half a second; fits nothing.
    pub fn forecast(&self, frame: &Frame, roles: &Roles) -> Result<Outlook> {
        match self.engine()? {
            Engine::Squared => self.squared().forecast(frame, roles),
            Engine::Loss => self.of_loss().forecast(frame, roles),
            Engine::Automatic => self.searched()?.forecast(frame, roles),
            Engine::Penalty => Err(Error::Combination {
                setting: "a forecast".into(),
                with: Engine::Penalty.describe().into(),
                because: "its paths take as long as their supports are large".into(),
            }),
        }
    }

    /// Whether a fit to this table stays within the memory that it may use. Measures and fits nothing.
    pub fn fits_into_memory(&self, frame: &Frame, roles: &Roles) -> Result<bool> {
        match self.engine()? {
            Engine::Loss => self.of_loss().fits_into_memory(frame, roles),
            _ => self.design_fits_into_memory(&Design::new(frame, roles, self.squared().encoding())?),
        }
    }

    /// The same for rows that were read, with the squared loss.
    #[doc(hidden)]
    pub fn design_fits_into_memory(&self, design: &Design) -> Result<bool> {
        match self.engine()? {
            Engine::Automatic => self.searched()?.fits_into_memory(design),
            _ => self.squared().fits_into_memory(design),
        }
    }

    /// Whether sums over parts of the table (`mercer moments`) can take the place of a fit to these rows, and fit into its
    /// memory.
    #[doc(hidden)]
    pub fn moments_fit_into_memory(&self, design: &Design) -> bool {
        self.squared().moments_fit_into_memory(design)
    }

    /// The engine of the squared loss.
    pub(crate) fn squared(&self) -> SquaredFit {
        let Fit { problem, choice, reading, limits, watch } = self.clone();
        SquaredFit {
            kernels: problem.space.kernels(),
            exponents: problem.exponents.unwrap_or_else(|| vec![2.0]),
            lambdas: choice.lambdas,
            criterion: choice.criterion.unwrap_or(Criterion::LeaveOneOut),
            refine: !choice.on_grid,
            preferred: choice.preferred,
            one_standard_error: choice.one_standard_error,
            unlabelled: choice.unlabelled,
            seed: choice.seed,
            journal: watch.journal,
            offset: problem.offset,
            scale: reading.scale,
            missing: reading.missing,
            text_as: reading.text_as,
            shared_ridge: problem.shared_ridge,
            diagnostics: limits.diagnostics,
            clip: problem.clip,
            keep_spectrum: limits.keep_spectrum,
            reduce: limits.reduce,
            solver: limits.solver,
            accuracy_of_gradients: limits.accuracy_of_gradients,
            landmarks_by: limits.landmarks_by,
            metric: choice.metric,
            constraint: problem.constraint,
            memory: limits.memory,
            observer: watch.observer,
        }
    }

    /// The engine of all other losses.
    pub(crate) fn of_loss(&self) -> LossFit {
        let Fit { problem, choice, reading, limits, watch } = self.clone();
        // Classes without a loss: labels ±1 with the squared one.
        let squared = || -> Vec<Vec<SharedLoss>> { vec![vec![Arc::new(Squared)]] };
        LossFit {
            kernels: problem.space.kernels(),
            losses: if problem.losses.is_empty() { squared() } else { problem.losses },
            exponents: problem.exponents.unwrap_or_else(|| vec![2.0]),
            lambdas: choice.lambdas,
            criterion: choice.criterion.unwrap_or(Criterion::KFold(usual_folds())),
            measure: choice.measure,
            one_standard_error: choice.one_standard_error,
            refine: !choice.on_grid,
            race: !choice.every_point,
            many: problem.many_classes.unwrap_or_default(),
            class_weights: problem.class_weights,
            classify: problem.classify,
            probabilities: problem.probabilities,
            non_crossing: problem.non_crossing,
            tolerance: limits.tolerance.unwrap_or(1e-6),
            seed: choice.seed,
            offset: problem.offset,
            scale: reading.scale,
            missing: reading.missing,
            text_as: reading.text_as,
            reduce: limits.reduce,
            memory: limits.memory,
            observer: watch.observer,
        }
    }

    fn of_penalty(&self) -> PenaltyFit {
        let Fit { problem, choice, reading, limits, watch } = self.clone();
        let degree = problem.space.degree();
        PenaltyFit {
            kernel: match problem.space {
                Space::Kernels(kernels) => kernels.into_iter().next(),
                Space::Linear { .. } | Space::Automatic => None,
            },
            penalty: problem.penalty,
            lambdas: choice.lambdas,
            criterion: choice.criterion.unwrap_or(Criterion::KFold(FoldRule::random(10))),
            one_standard_error: choice.one_standard_error,
            degree,
            tolerance: limits.tolerance.unwrap_or(1e-8),
            seed: choice.seed,
            offset: problem.offset,
            scale: reading.scale.unwrap_or(Scale::None),
            missing: reading.missing,
            text_as: reading.text_as,
            memory: limits.memory,
            observer: watch.observer,
        }
    }

    fn searched(&self) -> Result<Automatic> {
        let Fit { problem, choice, reading, limits, watch } = self.clone();
        let Watch { observer, search_observer, journal } = watch;
        let Reading { missing, text_as, .. } = reading;
        let forward = match choice.criterion {
            None | Some(Criterion::LeaveOneOut) => None,
            Some(Criterion::KFold(rule)) if rule.is_forward() => Some(rule),
            Some(other) => {
                let must = "left open, or forward chaining where rows are in order of time";
                return Err(Error::argument("the criterion of an automatic fit", must, other.spec()));
            }
        };
        Ok(Automatic {
            budget: limits.budget.unwrap_or(BUDGET),
            exponents: problem.exponents.unwrap_or_else(|| vec![1.0, 1.5, 2.0, 2.5]),
            offset: problem.offset,
            missing,
            text_as,
            memory: limits.memory,
            reduce: limits.reduce,
            landmarks_by: limits.landmarks_by,
            clip: problem.clip,
            forward,
            seed: choice.seed,
            observer,
            search_observer,
            journal,
        })
    }
}
