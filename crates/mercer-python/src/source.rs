//! What a fit was made of: enough to make it again along λ, without a row, or without a fold.

use std::sync::Arc;

use mercer::criterion::Folds;
use mercer::data::{Frame, Roles};
use mercer::interval::{Bounds, RefittedIntervals};
use mercer::linear::Sparse;
use mercer::{Error, Learn, Learned, LinearFit, LinearFitted, Matrix, Meaning, Model, Observer, Result, Summary, loss};

use crate::found::{Found, Trial};

/// Rows and settings.
pub enum Source {
    /// A table, for the squared loss with λ‖f‖ᵐ: one decomposition of its rows says everything.
    Power(Arc<Frame>, Roles),
    /// A table, for another loss.
    Loss(Arc<Frame>, Roles, Box<Learn>),
    /// A table, for another penalty.
    Linear(Arc<Frame>, Roles, Box<LinearFit>),
    /// Sparse rows.
    Sparse(Arc<SparseRows>, Box<LinearFit>),
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
    pub fn fit(&self, fit: &LinearFit) -> Result<LinearFitted> {
        fit.fit_sparse(&self.x, &self.y, self.weights.as_deref(), self.groups.as_deref())
    }
}

impl Source {
    /// The table of the fit and its column of weights.
    pub fn table(&self) -> Option<(&Arc<Frame>, Option<&str>)> {
        match self {
            Source::Power(frame, roles) | Source::Loss(frame, roles, _) | Source::Linear(frame, roles, _) => {
                Some((frame, roles.weight.as_deref()))
            }
            Source::Sparse(..) => None,
        }
    }

    /// The criterion along λ, where λ was given and nothing tried.
    pub fn path(&self, model: &Model, observer: Observer) -> Result<Vec<Trial>> {
        let summary = &model.summaries()[0];
        match self {
            Source::Power(..) => Ok(Vec::new()),
            Source::Loss(frame, roles, learn) => {
                let settings = (**learn).clone().exponent(summary.exponent).along_path().observer(observer);
                Ok(Found::of_loss(&settings.fit_frame(frame, roles)?).trials)
            }
            Source::Linear(frame, roles, fit) => {
                let settings = (**fit).clone().along_path().observer(observer);
                Ok(Found::of_linear(&settings.fit_frame(frame, roles)?).trials)
            }
            Source::Sparse(rows, fit) => {
                Ok(Found::of_linear(&rows.fit(&(**fit).clone().along_path().observer(observer))?).trials)
            }
        }
    }

    /// Residuals of every row when left out, one vector per target; for classes their decision values. And whether they are exact.
    pub fn leave_one_out(&self, model: &Model, observer: &Observer) -> Result<(Vec<Vec<f64>>, bool)> {
        let one_by_one = |of: &dyn Fn(usize) -> Result<(Vec<f64>, bool)>| -> Result<(Vec<Vec<f64>>, bool)> {
            let found: Vec<(Vec<f64>, bool)> = (0..model.summaries().len()).map(of).collect::<Result<_>>()?;
            let is_exact = found.iter().all(|(_, is_exact)| *is_exact);
            Ok((found.into_iter().map(|(residuals, _)| residuals).collect(), is_exact))
        };
        let first = |(mut columns, is_exact): (Vec<Vec<f64>>, bool)| (columns.swap_remove(0), is_exact);
        match self {
            Source::Power(frame, roles) => {
                Ok((model.leave_one_out(model.training_from(frame, roles.weight.as_deref())?)?, true))
            }
            Source::Loss(frame, roles, _) => match model.meaning() {
                Meaning::Classes { .. } => {
                    let found = self.learned(model, 0, frame, roles, observer)?.leave_one_out(Some(observer))?;
                    Ok((found.values, found.is_exact))
                }
                _ => one_by_one(&|t| {
                    let learned = self.learned(model, t, frame, &only(roles, model, t), observer)?;
                    let found = learned.leave_one_out(Some(observer))?;
                    let residual = |(y, value): (&f64, &f64)| y - value;
                    Ok((learned.outputs()[0].iter().zip(&found.values[0]).map(residual).collect(), found.is_exact))
                }),
            },
            Source::Linear(frame, roles, fit) => one_by_one(&|t| {
                let settings = (**fit).clone().lambda(model.summaries()[t].lambda).observer(observer.clone());
                Ok(first(settings.fit_frame(frame, &only(roles, model, t))?.leave_one_out(Some(observer))?))
            }),
            Source::Sparse(rows, fit) => one_by_one(&|t| {
                let settings = (**fit).clone().lambda(model.summaries()[t].lambda).observer(observer.clone());
                let y = Matrix::column_vector(rows.y.col(t).to_vec());
                let fitted = settings.fit_sparse(&rows.x, &y, rows.weights.as_deref(), None)?;
                Ok(first(fitted.leave_one_out(Some(observer))?))
            }),
        }
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
            Source::Loss(frame, roles, _) | Source::Linear(frame, roles, _) => (frame, roles),
            _ => return Err(Error::argument("the rows of the fit", "dense for an interval", "sparse rows")),
        };
        let folds = Folds::random(frame.rows(), folds, seed)?;
        let mut out = Vec::new();
        for t in 0..model.summaries().len() {
            let roles = only(roles, model, t);
            let fit = |part: &Frame| match self {
                Source::Linear(_, _, fit) => {
                    let settings = (**fit).clone().lambda(model.summaries()[t].lambda).observer(observer.clone());
                    Ok(settings.fit_frame(part, &roles)?.model)
                }
                _ => Ok(self.learned(model, t, part, &roles, observer)?.model),
            };
            let intervals = RefittedIntervals::new(frame, &roles.targets, &folds, level, Some(observer), fit)?;
            out.extend(intervals.at_frame(at, Some(observer))?);
        }
        Ok(out)
    }

    /// The fit of one of the models again, with what was chosen for it.
    fn learned(&self, model: &Model, t: usize, frame: &Frame, roles: &Roles, observer: &Observer) -> Result<Learned> {
        let Source::Loss(_, _, learn) = self else {
            return Err(Error::argument("the model", "one of a loss", "another"));
        };
        let Summary { loss, exponent, lambda, .. } = &model.summaries()[t];
        (**learn)
            .clone()
            .losses(vec![loss::parse(loss)?])
            .kernels(vec![model.kernel().clone()])
            .exponent(*exponent)
            .lambda(*lambda)
            .observer(observer.clone())
            .fit_frame(frame, roles)
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
