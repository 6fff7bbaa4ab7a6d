//! Everything along λ at one exponent: what `mercer path` shows.

use crate::base::error::{Error, Result};
use crate::choose::select::Scorer;
use crate::choose::select::judge::{Extras, Judge};
use crate::fit::Fitted;
use crate::fit::after::training::{Refitted, Training};
use crate::model::{Model, Summary};
use crate::path::power;
use crate::path::residuals_without_folds;
use crate::path::{Spectrum, Target};
use crate::solve::deletion::Divisor;
use crate::term::criterion::{Criterion, FoldRule, Folds};

/// One λ.
#[derive(Debug, Clone, PartialEq)]
pub struct PathPoint {
    /// λ.
    pub lambda: f64,
    /// The effective ridge μ; `None` for the zero function.
    pub effective_ridge: Option<f64>,
    /// ‖f‖.
    pub norm: f64,
    /// Degrees of freedom, the offset counted.
    pub dof: f64,
    /// Root mean squared error on the training rows.
    pub train_rmse: f64,
    /// Each criterion: its root where it is a mean squared error, else as it is. Infinite where it excludes the model.
    pub criteria: Vec<f64>,
}

impl Fitted {
    /// The path of one target at one exponent: at these λ (rising), or along the whole useful part of it.
    ///
    /// Criteria that need folds draw them with `seed`; `tri` and `adj` are refused, since they need rows without target.
    pub fn path(
        &self,
        target: usize,
        exponent: f64,
        lambdas: Option<&[f64]>,
        criteria: &[Criterion],
        seed: u64,
    ) -> Result<Vec<PathPoint>> {
        let spectrum = self.spectrum.as_ref().ok_or_else(|| {
            Error::argument("the fit", "one whose λ was chosen, so that there is a decomposition", "one at a given λ")
        })?;
        let coordinates = spectrum.target(self.design.y.col(target))?;
        let is_clipped = self.model.summaries[target].clip.is_some();
        let coordinates = if is_clipped { coordinates.clipped(self.design.y.col(target)) } else { coordinates };
        let groups = self.design.groups.as_deref();
        let criteria = &meant(criteria, self.design.whole_groups().is_some());
        let draw = |rule: &FoldRule| Folds::draw(rule, self.design.rows(), groups, seed);
        along(spectrum, &coordinates, exponent, lambdas, criteria, &draw)
    }
}

impl Model {
    /// [`Fitted::path`] of a model whose rows are at hand: its own ([`Model::training`]) or those of its table.
    pub fn path(
        &self,
        training: Training,
        target: usize,
        exponent: f64,
        lambdas: Option<&[f64]>,
        criteria: &[Criterion],
        seed: u64,
    ) -> Result<Vec<PathPoint>> {
        if target >= self.summaries().len() {
            let must = format!("below the number of targets, {}", self.summaries().len());
            return Err(Error::argument("the target's place", must, target));
        }
        let again = Refitted::new(self, training, None)?;
        let groups = again.training.folds_of_groups(self)?.and(again.training.groups.as_deref());
        let criteria = &meant(criteria, groups.is_some());
        let draw = |rule: &FoldRule| Folds::draw(rule, again.training.rows(), groups, seed);
        along(&again.spectrum, &again.targets[target], exponent, lambdas, criteria, &draw)
    }

    /// The leave-one-out residuals of every target, exactly, from the model's rows; of rows with groups, leave-one-group-out.
    pub fn leave_one_out(&self, training: Training) -> Result<Vec<Vec<f64>>> {
        let folds = training.folds_of_groups(self)?;
        let again = Refitted::new(self, training, None)?;
        if let Some(folds) = folds {
            let of = |(target, of): (&Target, &Summary)| {
                let log_lambda = libm::log(of.lambda);
                residuals_without_folds(&again.spectrum, &[target], of.exponent, log_lambda, &folds).swap_remove(0)
            };
            return Ok(again.targets.iter().zip(self.summaries()).map(of).collect());
        }
        let of = |(target, summary): (&Target, &Summary)| {
            let deletions = again.spectrum.deletions(target, summary.exponent, summary.lambda, Divisor::Remaining)?;
            let mut residuals: Vec<f64> = deletions.fits.iter().map(|fit| fit.residual).collect();
            if let Some(clip) = &target.clip {
                clip.keep_rows(&mut residuals);
            }
            Ok(residuals)
        };
        again.targets.iter().zip(self.summaries()).map(of).collect()
    }
}

/// The criteria as rows with groups mean them.
fn meant(criteria: &[Criterion], has_groups: bool) -> Vec<Criterion> {
    criteria.iter().map(|criterion| if has_groups { criterion.for_groups() } else { criterion.clone() }).collect()
}

fn along(
    spectrum: &Spectrum,
    coordinates: &Target,
    exponent: f64,
    lambdas: Option<&[f64]>,
    criteria: &[Criterion],
    draw: &dyn Fn(&FoldRule) -> Result<Folds>,
) -> Result<Vec<PathPoint>> {
    crate::base::range::check_powers(&[exponent], lambdas.unwrap_or(&[]))?;
    let targets = [coordinates];
    let path = spectrum.path(&targets);
    let log_lambdas: Vec<f64> = match lambdas {
        Some(lambdas) => lambdas.iter().map(|lambda| libm::log(*lambda)).collect(),
        None => crate::choose::select::lambdas_along(&path, spectrum.largest(), spectrum.weight_sum(), exponent),
    };
    let mut points: Vec<PathPoint> = log_lambdas
        .iter()
        .enumerate()
        .map(|(index, log_lambda)| {
            // Given numbers stay as they were given.
            let lambda = lambdas.map_or_else(|| libm::exp(*log_lambda), |lambdas| lambdas[index]);
            let ridge = power::minimum(&path, exponent, lambda).log_ridge.map(libm::exp);
            PathPoint {
                lambda,
                effective_ridge: ridge,
                norm: ridge.map_or(0.0, |ridge| path.norm(ridge)),
                dof: ridge.map_or(f64::from(spectrum.has_offset()), |ridge| path.dof(ridge)),
                train_rmse: ridge.map_or_else(|| path.zero_mse(), |ridge| path.train_mse(ridge)).sqrt(),
                criteria: Vec::new(),
            }
        })
        .collect();
    for criterion in criteria {
        let folds = match criterion {
            Criterion::KFold(rule) => Some(draw(rule)?),
            _ => None,
        };
        let extras = Extras { folds, unlabelled: None };
        let judge = Judge::new(spectrum, &targets, criterion, &extras, None)?
            .ok_or_else(|| Error::argument("the target", "one that varies, in at least two rows", "a constant"))?;
        for (point, score) in points.iter_mut().zip(judge.scores_at(exponent, &log_lambdas)) {
            let root = criterion.is_squared_error();
            point.criteria.push(if root { score.value.sqrt() } else { score.value });
        }
    }
    Ok(points)
}
