//! The squared loss with penalties other than λ‖f‖ᵐ: linear functions and sparse kernel expansions.

mod choose;
mod model;

use std::sync::Arc;

use super::losses::LeftOut;
use super::{Engaged, Fitted};
use crate::base::error::{Error, Result};
use crate::base::range::check_lambdas;
use crate::base::watch::Observer;
use crate::data::monomials;
use crate::data::{Design, Encoding, Frame, Missing, Roles, Scale, TextAs};
use crate::fit::plan;
use crate::linalg::Matrix;
use crate::solve::linear::left_out::{LeftOut as Without, Solved};
use crate::solve::linear::{Features, Sparse};
use crate::term::criterion::{Criterion, FoldRule, Folds, folds_of_groups, group_count};
use crate::term::kernel::SharedKernel;
use crate::term::kernel::kernel_for;
use crate::term::kernel::product::Linear;
use crate::term::penalty::Penalty;

/// What the front door knows of a fit with another penalty; [`Fit`](super::Fit) says what each setting means.
#[derive(Clone)]
pub(crate) struct PenaltyFit {
    pub(super) penalty: Penalty,
    pub(super) lambdas: Option<Vec<f64>>,
    pub(super) criterion: Criterion,
    pub(super) one_standard_error: bool,
    pub(super) kernel: Option<SharedKernel>,
    pub(super) degree: usize,
    pub(super) tolerance: f64,
    pub(super) seed: u64,
    pub(super) offset: bool,
    pub(super) scale: Scale,
    pub(super) missing: Missing,
    pub(super) text_as: TextAs,
    pub(super) memory: Option<u64>,
    pub(super) observer: Option<Observer>,
}

impl Fitted {
    pub(crate) fn left_out_of_penalty(&self, observer: Option<&Observer>) -> Result<LeftOut> {
        let Engaged::Penalty { x, solutions, penalty } = &self.engaged else {
            return Err(Error::argument("the fit", "one with another penalty", "one without"));
        };
        let go_on = || observer.is_none_or(|observer| observer("leaving out"));
        let groups = self.design.whole_groups().map(folds_of_groups).transpose()?;
        let of_target = |t: usize| {
            let solved = Solved {
                x,
                y: self.design.y.col(t),
                weights: self.design.weights.as_deref(),
                offset: self.model.summaries[t].has_offset,
                penalty,
                lambda: self.model.summaries[t].lambda,
                solution: &solutions[t],
            };
            match &groups {
                Some(folds) => solved.residuals_without(folds, &go_on),
                None => solved.residuals(&go_on),
            }
        };
        let found: Vec<Without> = (0..solutions.len()).map(of_target).collect::<Result<_>>()?;
        let is_exact = found.iter().all(|target| target.is_exact);
        let residuals = found.into_iter().map(|target| target.residuals).collect();
        Ok(LeftOut::of_residuals(&self.design, residuals, is_exact))
    }
}

impl PenaltyFit {
    /// Fits a table.
    pub(super) fn fit_frame(&self, frame: &Frame, roles: &Roles) -> Result<Fitted> {
        self.check_settings()?;
        let nonnegative = self.kernel.as_ref().is_some_and(|kernel| kernel.needs_nonnegative());
        let encoding = Encoding { scale: self.scale, missing: self.missing, text_as: self.text_as, nonnegative };
        let design = Design::new(frame, roles, encoding)?;
        if design.points.code_columns() > 0 && self.kernel.is_none() {
            let must = "one-hot for a linear function";
            return Err(Error::argument("how text columns are read", must, "equality"));
        }
        if self.degree > 1 {
            let width = monomials::count(design.points.features(), self.degree).unwrap_or(usize::MAX);
            self.check_memory(design.rows(), width)?;
        }
        let design = if self.degree > 1 { design.expanded(self.degree)? } else { design };
        let width = if self.kernel.is_some() { design.rows() } else { design.points.features() };
        self.check_memory(design.rows(), width)?;
        let kernel: SharedKernel = match &self.kernel {
            Some(kernel) => kernel_for(kernel, &design)?,
            None => Arc::new(Linear),
        };
        self.stage("reading")?;
        let x = self.features(&design, &kernel)?;
        self.run(design, x, kernel)
    }

    /// Fits rows of which only what is not zero is stored, as they are: unscaled, features called `x1`, `x2`, …. The
    /// zeros are never stored, except by least squares, where a matrix Γ leaves no other way, and in tables of at most 2²⁰ entries that need it.
    /// Rows of one entry of `groups` stay in one fold.
    pub(super) fn fit_sparse(
        &self,
        x: &Sparse,
        y: &Matrix,
        weights: Option<&[f64]>,
        groups: Option<&[u32]>,
    ) -> Result<Fitted> {
        self.check_settings()?;
        if self.kernel.is_some() || self.scale != Scale::None || self.degree > 1 {
            let must = "without kernel, scaling and polynomial features: each would fill in the zeros";
            return Err(Error::argument("a fit of sparse rows", must, "one of them"));
        }
        let is_dense = self.penalty == Penalty::None;
        self.check_memory(x.rows(), if is_dense { x.cols() } else { 1 + x.stored() / x.rows().max(1) })?;
        let design = Design::of_plain(x.rows(), x.cols(), y, weights)?;
        let design = Design { groups: groups.map(<[u32]>::to_vec), groups_are_folds: true, ..design };
        self.stage("reading")?;
        self.run(design, Features::Sparse(x.clone()), Arc::new(Linear))
    }

    fn stage(&self, name: &'static str) -> Result<()> {
        match &self.observer {
            Some(observer) if !observer(name) => Err(Error::Interrupted),
            _ => Ok(()),
        }
    }

    fn folds(&self, design: &Design) -> Result<Option<Folds>> {
        match (&self.criterion, self.fixed_lambda()) {
            (Criterion::KFold(rule), None) => {
                let units = design.groups.as_deref().map_or(design.rows(), group_count);
                let folds = rule.folds.min(units);
                let rule = FoldRule { folds, ..*rule };
                Folds::draw(&rule, design.rows(), design.groups.as_deref(), self.seed).map(Some)
            }
            _ => Ok(None),
        }
    }

    /// λ, when there is nothing to choose.
    fn fixed_lambda(&self) -> Option<f64> {
        match (&self.penalty, self.lambdas.as_deref()) {
            (Penalty::None, _) => Some(0.0),
            (_, Some([lambda])) => Some(*lambda),
            _ => None,
        }
    }

    fn check_memory(&self, rows: usize, width: usize) -> Result<()> {
        let needed = memory_of(rows, width);
        let available = self.memory.unwrap_or_else(plan::available_memory);
        if needed <= available {
            return Ok(());
        }
        let what = "features, their copies and a decomposition";
        Err(Error::Memory { rows, needed, available, what, hint: String::new() })
    }

    fn check_settings(&self) -> Result<()> {
        match (&self.penalty, &self.kernel) {
            (Penalty::KernelLasso, None) => {
                return Err(Error::argument("the kernel Lasso", "given a kernel", "none"));
            }
            (Penalty::KernelLasso, Some(_)) => {}
            (_, Some(kernel)) if kernel.linear_scale().is_none() => {
                let must = format!("linear for the penalty {}", self.penalty.spec());
                return Err(Error::argument("the kernel", must, kernel.spec()));
            }
            _ => {}
        }
        let lambdas = self.lambdas.as_deref().unwrap_or(&[]);
        check_lambdas(lambdas, 1e-100..=1e100)?;
        if self.lambdas.as_ref().is_some_and(Vec::is_empty) {
            return Err(Error::Empty("there must be at least one λ to choose from".into()));
        }
        if self.penalty == Penalty::None && self.lambdas.is_some() {
            return Err(Error::argument("λ", "left out without a penalty", format!("{lambdas:?}")));
        }
        if !(1e-13..=0.1).contains(&self.tolerance) {
            return Err(Error::argument("tolerance", "from 1e-13 to 0.1, a relative duality gap", self.tolerance));
        }
        if !(1..=monomials::HIGHEST).contains(&self.degree) {
            let must = format!("from 1 to {}", monomials::HIGHEST);
            return Err(Error::argument("the degree of the features", must, self.degree));
        }
        if self.degree > 1 && self.penalty == Penalty::KernelLasso {
            return Err(Error::argument("polynomial features", "used without a kernel", "kernel-lasso"));
        }
        let by_formula = matches!(self.criterion.spec().as_str(), "aic" | "bic");
        let is_sparse = !matches!(self.penalty, Penalty::Tikhonov { .. });
        match (&self.criterion, self.fixed_lambda()) {
            (_, Some(_)) | (Criterion::KFold(_), None) => Ok(()),
            (_, None) if by_formula && is_sparse => Ok(()),
            (other, None) => {
                let must = if is_sparse { "kfold, aic or bic for this penalty" } else { "kfold for this penalty" };
                Err(Error::argument("criterion", must, other.spec()))
            }
        }
    }
}

/// Bytes of features, their copies and a decomposition.
fn memory_of(rows: usize, width: usize) -> u64 {
    (rows as u64).saturating_mul(width as u64 + 16).saturating_mul(8 * 6)
}
