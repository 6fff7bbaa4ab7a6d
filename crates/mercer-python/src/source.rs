//! What a fit was made of: enough to make it again along λ, without a row, or without a fold.

use std::sync::Arc;

use mercer::criterion::Folds;
use mercer::data::{Frame, Roles};
use mercer::interval::{Bounds, RefittedIntervals};
use mercer::linear::Sparse;
use mercer::{Engine, Error, Fit, Fitted, Matrix, Meaning, Model, Observer, Result, Summary, loss};

use crate::found::{Found, Trial};

/// Rows and settings.
pub enum Source {
    /// A table.
    Table(Arc<Frame>, Roles, Box<Fit>),
    /// Sparse rows.
    Sparse(Arc<SparseRows>, Box<Fit>),
}

/// Rows of which only what is not zero is stored.
pub struct SparseRows {
    /// Features.
    pub x: Sparse,
    /// Targets, a column each.
    pub y: Matrix,
    /// Weights.
    pub weights: Option<Vec<f64>>,
    /// Rows of one number stay in one fold.
    pub groups: Option<Vec<u32>>,
}

impl SparseRows {
    /// A fit of these rows.
    pub fn fit(&self, fit: &Fit) -> Result<Fitted> {
        fit.fit_sparse(&self.x, &self.y, self.weights.as_deref(), self.groups.as_deref())
    }
}

impl Source {
    /// The table of the fit and its column of weights.
    pub fn table(&self) -> Option<(&Arc<Frame>, Option<&str>)> {
        match self {
            Source::Table(frame, roles, _) => Some((frame, roles.weight.as_deref())),
            Source::Sparse(..) => None,
        }
    }

    fn settings(&self) -> &Fit {
        match self {
            Source::Table(.., fit) | Source::Sparse(_, fit) => fit,
        }
    }

    /// Whether one decomposition of the rows says everything.
    fn is_squared(&self) -> Result<bool> {
        Ok(matches!(self.settings().engine()?, Engine::Squared | Engine::Automatic))
    }

    /// The criterion along λ, where λ was given and nothing tried.
    pub fn path(&self, model: &Model, observer: Observer) -> Result<Vec<Trial>> {
        if self.is_squared()? {
            return Ok(Vec::new());
        }
        let fit = self.settings().clone().along_path().observer(observer);
        let fitted = match self {
            Source::Table(frame, roles, _) if fit.engine()? == Engine::Loss => {
                fit.exponent(model.summaries()[0].exponent).fit_frame(frame, roles)?
            }
            Source::Table(frame, roles, _) => fit.fit_frame(frame, roles)?,
            Source::Sparse(rows, _) => rows.fit(&fit)?,
        };
        Ok(Found::of(&fitted).trials)
    }

    /// Residuals of every row when left out, one vector per target; for classes their decision values. And whether they are exact.
    pub fn leave_one_out(&self, model: &Model, observer: &Observer) -> Result<(Vec<Vec<f64>>, bool)> {
        if let (Source::Table(frame, roles, _), true) = (self, self.is_squared()?) {
            return Ok((model.leave_one_out(model.training_from(frame, roles.weight.as_deref())?)?, true));
        }
        if let (Source::Table(frame, roles, _), Meaning::Classes { .. }) = (self, model.meaning()) {
            let found = self.again(model, 0, observer)?.fit_frame(frame, roles)?.left_out(Some(observer))?;
            return Ok((found.values, found.is_exact));
        }
        let (mut residuals, mut is_exact) = (Vec::new(), true);
        for t in 0..model.summaries().len() {
            let fit = self.again(model, t, observer)?;
            let fitted = match self {
                Source::Table(frame, roles, _) => fit.fit_frame(frame, &only(roles, model, t))?,
                Source::Sparse(rows, _) => {
                    let y = Matrix::column_vector(rows.y.col(t).to_vec());
                    fit.fit_sparse(&rows.x, &y, rows.weights.as_deref(), None)?
                }
            };
            let mut found = fitted.left_out(Some(observer))?;
            residuals.push(found.residuals.swap_remove(0));
            is_exact &= found.is_exact;
        }
        Ok((residuals, is_exact))
    }

    /// CV+ intervals at the rows of a table, from a fit without each fold; λ, exponent, loss and kernel stay what they are.
    pub fn intervals(
        &self,
        model: &Model,
        (level, folds, seed): (f64, usize, u64),
        at: &Frame,
        observer: &Observer,
    ) -> Result<Vec<Bounds>> {
        if model.kernel().is_precomputed() {
            let must = "one with a formula for CV+: fits without a fold need its values anew";
            return Err(Error::argument("the kernel", must, "precomputed"));
        }
        let (frame, roles) = match self {
            Source::Table(frame, roles, _) if !self.is_squared()? => (frame, roles),
            _ => return Err(Error::argument("the rows of the fit", "dense for an interval", "sparse rows")),
        };
        let folds = Folds::random(frame.rows(), folds, seed)?;
        let mut out = Vec::new();
        for t in 0..model.summaries().len() {
            let (roles, settings) = (only(roles, model, t), self.again(model, t, observer)?);
            let fit = |part: &Frame| Ok(settings.fit_frame(part, &roles)?.model);
            let intervals = RefittedIntervals::new(frame, &roles.targets, &folds, level, Some(observer), fit)?;
            out.extend(intervals.at_frame(at, Some(observer))?);
        }
        Ok(out)
    }

    /// The fit of one of the models again, with what was chosen for it.
    fn again(&self, model: &Model, t: usize, observer: &Observer) -> Result<Fit> {
        let Summary { loss, exponent, lambda, .. } = &model.summaries()[t];
        let fit = self.settings().clone().lambda(*lambda).observer(observer.clone());
        Ok(match fit.engine()? {
            Engine::Loss => {
                fit.losses(vec![loss::parse(loss)?]).kernels(vec![model.kernel().clone()]).exponent(*exponent)
            }
            _ => fit,
        })
    }
}

/// The roles for one of the models alone: the columns that others predict are no features of it.
fn only(roles: &Roles, model: &Model, t: usize) -> Roles {
    let per_target = match model.meaning() {
        Meaning::Quantiles { per_target, .. } => *per_target,
        _ => 1,
    };
    let own = t / per_target;
    let (mut targets, mut drop) = (Vec::new(), roles.drop.clone());
    for (place, name) in roles.targets.iter().enumerate() {
        if place == own { &mut targets } else { &mut drop }.push(name.clone());
    }
    Roles { targets, drop, ..roles.clone() }
}
