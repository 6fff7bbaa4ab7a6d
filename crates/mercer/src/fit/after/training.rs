//! The training rows of a model, and its fit made again from them: what intervals and standard errors are read off.

use crate::base::error::{Error, Result};
use crate::base::watch::Observer;
use crate::data::Points;
use crate::data::{Design, Frame, Roles};
use crate::fit::plan::{self, Method, Shape};
use crate::linalg::Matrix;
use crate::model::{Expansion, Meaning, Model};
use crate::path::power;
use crate::path::{Spectrum, Target};
use crate::space;
use crate::space::low_rank::{Basis, Landmarks};
use crate::term::criterion::{FoldRule, Folds, folds_of_groups, group_count};

/// The rows that a model was fitted to.
#[derive(Debug, Clone)]
pub struct Training {
    pub(crate) points: Points,
    pub(crate) y: Matrix,
    pub(crate) weights: Option<Vec<f64>>,
    /// The number of each row's group, where rows have groups.
    pub(crate) groups: Option<Vec<u32>>,
    /// Whether rows and their order are those of the model's expansion.
    pub(crate) is_own: bool,
}

impl Training {
    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.points.rows()
    }

    /// The rows as the kernel sees them.
    #[doc(hidden)]
    pub fn points(&self) -> &Points {
        &self.points
    }

    /// Their targets, a column each.
    #[doc(hidden)]
    pub fn targets(&self) -> &Matrix {
        &self.y
    }

    /// Number of groups, where rows have them.
    pub fn groups(&self) -> Option<usize> {
        self.groups.as_deref().map(group_count)
    }

    /// Folds for CV+, drawn with a seed, which keep groups whole.
    pub fn folds(&self, folds: usize, seed: u64) -> Result<Folds> {
        let rule = FoldRule::random(self.groups().map_or(folds, |groups| folds.min(groups)));
        Folds::draw(&rule, self.rows(), self.groups.as_deref(), seed)
    }

    /// Every group as a fold. `None` where rows have none; refused where the model's had some and these do not, and where there is one only.
    pub(crate) fn folds_of_groups(&self, model: &Model) -> Result<Option<Folds>> {
        let known = model.summaries.iter().find_map(|summary| summary.groups);
        match (&self.groups, known) {
            (Some(groups), _) => folds_of_groups(groups).map(Some),
            (None, None) => Ok(None),
            (None, Some(groups)) => {
                let must = format!("given with the column of their {groups} groups, which the fit had");
                Err(Error::argument("the training rows", must, "rows without groups"))
            }
        }
    }

    /// Whether rows have different weights.
    pub fn is_weighted(&self) -> bool {
        self.weights.is_some()
    }
}

impl Model {
    /// The rows that the model was fitted to, if it holds them with their targets. Linear functions, models of precomputed
    /// kernels, of other losses, and files of earlier versions do not.
    pub fn training(&self) -> Option<Training> {
        match (&self.expansion, &self.kept) {
            (Expansion::Kernel { points, .. }, Some(kept)) => Some(Training {
                points: points.clone(),
                y: kept.y.clone(),
                weights: kept.weights.clone(),
                groups: kept.groups.clone(),
                is_own: true,
            }),
            _ => None,
        }
    }

    /// Whether [`training`](Self::training) has them.
    pub fn holds_training(&self) -> bool {
        matches!(self.expansion, Expansion::Kernel { .. }) && self.kept.is_some()
    }

    /// The same from the training table, read as the model reads tables; `weight` is the column of row weights.
    pub fn training_from(&self, frame: &Frame, weight: Option<&str>) -> Result<Training> {
        self.training_with(frame, weight, None)
    }

    /// The same where rows have groups: `group` is their column.
    pub fn training_with(&self, frame: &Frame, weight: Option<&str>, group: Option<&str>) -> Result<Training> {
        let roles = Roles {
            targets: self.summaries.iter().map(|summary| summary.target.clone()).collect(),
            weight: weight.map(str::to_owned),
            group: group.map(str::to_owned),
            ..Roles::default()
        };
        let Design { points, y, weights, groups, .. } = Design::again(frame, &roles, &self.encoder)?;
        Ok(Training { points, y, weights, groups, is_own: false })
    }

    /// Why the fits of other rows are not read off one decomposition; `None` where they are.
    pub fn is_not_spectral(&self) -> Option<String> {
        let summary = self.summaries.first()?;
        match &self.meaning {
            _ if self.kernel.is_waves() => Some("it is a sum of random waves".into()),
            Meaning::Classes { .. } => Some("it predicts classes".into()),
            Meaning::Quantiles { .. } => Some("it predicts quantiles".into()),
            Meaning::Numbers if summary.loss != "squared" => Some(format!("its loss is {}", summary.loss)),
            Meaning::Numbers if summary.penalty != "norm-power" => Some(format!("its penalty is {}", summary.penalty)),
            Meaning::Numbers => None,
        }
    }

    /// Why fits of other rows are not those of sums over the rows; `None` where they are.
    pub fn is_not_a_sum_over_rows(&self) -> Option<String> {
        let on_landmarks = || "it is a sum over landmarks, not over its rows".to_owned();
        self.is_not_spectral().or_else(|| self.is_on_landmarks().then(on_landmarks))
    }

    /// What the model's points are if they are not the rows of its fit.
    pub fn points_are_not_its_rows(&self, count: usize) -> Option<&'static str> {
        let rows = self.summaries.first().map_or(0, |summary| summary.rows);
        match () {
            () if self.kernel.is_waves() => Some("random waves"),
            () if self.is_on_landmarks() => Some("landmarks"),
            () if count > 0 && count < rows => Some("support vectors"),
            () => None,
        }
    }

    /// Whether landmarks stand for the rows.
    pub fn is_on_landmarks(&self) -> bool {
        self.summaries.first().is_some_and(|summary| summary.certificate.low_rank.is_some())
    }
}

/// A model's decomposition, made again.
pub(crate) struct Refitted<'m> {
    pub model: &'m Model,
    pub training: Training,
    pub spectrum: Spectrum,
    pub targets: Vec<Target>,
    /// log μ of each target; `None` for the zero function.
    pub log_ridges: Vec<Option<f64>>,
    /// For a model on landmarks: the features on which it is a linear function.
    pub basis: Option<Basis>,
}

/// Norm and error on the training rows must agree so far: the model may have been fitted by another method.
pub(crate) const AGREEMENT: f64 = 1e-4;

impl<'m> Refitted<'m> {
    /// Refuses rows from which the model does not follow.
    pub fn new(model: &'m Model, training: Training, observer: Option<&Observer>) -> Result<Self> {
        if let Some(reason) = model.is_not_spectral() {
            let must = "of the squared loss with the penalty λ‖f‖ᵐ, whose fits follow from one decomposition";
            return Err(Error::argument("the model", must, reason));
        }
        let (points, weights) = (&training.points, training.weights.as_deref());
        let has_offset = model.summaries.iter().any(|summary| summary.has_offset);
        let primal = model.kernel.linear_scale().filter(|_| matches!(model.expansion, Expansion::Linear { .. }));
        let shape = Shape {
            rows: points.rows(),
            features: points.features(),
            targets: training.y.cols(),
            is_linear: primal.is_some(),
            is_weighted: true,
            fixed_exponent: None,
            only_ridges: false,
            tabulates_rows: false,
        };
        let basis = match &model.expansion {
            Expansion::Kernel { points: landmarks, .. } if model.is_on_landmarks() => {
                Some(Basis::of(&model.kernel, landmarks))
            }
            _ => None,
        };
        let plan = match &basis {
            // The features, the basis, and every row's own function.
            Some(basis) => {
                let shape = Shape { features: shape.features + 2 * basis.width(), ..shape };
                plan::low_rank(&shape, Some(basis.width()), Landmarks::default(), plan::available_memory())?
            }
            None => {
                let plan = plan::plan(&shape);
                plan.check(&shape, plan::available_memory())?;
                plan
            }
        };
        told(observer, "decomposing")?;
        let spectrum = match (&basis, primal.filter(|_| plan.method == Method::Primal)) {
            (Some(basis), _) => {
                model.kernel.check(points.features(), points.code_columns())?;
                Spectrum::from_factor(basis.features(points), weights, has_offset)?
            }
            (None, Some(scale)) => Spectrum::from_linear(&points.to_matrix(), scale, weights, has_offset)?,
            (None, None) => {
                model.kernel.check(points.features(), points.code_columns())?;
                Spectrum::from_gram(space::gram_lower(&*model.kernel, points), weights, has_offset)?
            }
        };
        let (mut targets, mut log_ridges) = (Vec::new(), Vec::new());
        for (t, summary) in model.summaries.iter().enumerate() {
            let target = spectrum.target(training.y.col(t))?;
            let mut path = spectrum.path(&[&target]);
            let log_ridge = power::minimise(&mut path, summary.exponent, libm::log(summary.lambda), None).log_ridge;
            let ridge = log_ridge.map_or(f64::INFINITY, libm::exp);
            let norm = if log_ridge.is_some() { path.norm(ridge) } else { 0.0 };
            let rmse = path.train_mse(ridge).sqrt();
            let spread = path.zero_mse().sqrt();
            let is_same = summary.rows == points.rows()
                && (norm - summary.norm).abs() <= AGREEMENT * summary.norm.max(norm)
                && (rmse - summary.train_rmse).abs() <= AGREEMENT * spread;
            if !is_same {
                let must = "those of the fit, with their weights, and targets must not share one ridge";
                let found = format!(
                    "{} rows on which {} has norm {norm:.6e} and training error {rmse:.6e}; the model says {} rows, \
                     {:.6e} and {:.6e}",
                    points.rows(),
                    summary.target,
                    summary.rows,
                    summary.norm,
                    summary.train_rmse
                );
                return Err(Error::argument("the training rows", must, found));
            }
            let is_clipped = summary.clip.is_some();
            targets.push(if is_clipped { target.clipped(training.y.col(targets.len())) } else { target });
            log_ridges.push(log_ridge);
        }
        Ok(Refitted { model, training, spectrum, targets, log_ridges, basis })
    }

    /// New rows as the decomposition knows them: themselves, or their features on landmarks.
    pub fn seen(&self, new: &Points) -> Points {
        match &self.basis {
            Some(basis) => Points::new(&basis.features(new)),
            None => new.clone(),
        }
    }

    /// What landmarks leave of k(x, x) at new rows.
    pub fn unseen(&self, new: &Points, seen: &Points) -> Vec<f64> {
        match &self.basis {
            Some(basis) => basis.residual(new, &seen.to_matrix()),
            None => vec![0.0; new.rows()],
        }
    }

    /// γ of a target; infinite for the zero function.
    pub fn gamma(&self, t: usize) -> f64 {
        self.log_ridges[t].map_or(f64::INFINITY, |log| libm::exp(log + libm::log(self.spectrum.weight_sum())))
    }
}

/// Tells of a stage, which may end the work.
pub(crate) fn told(observer: Option<&Observer>, stage: &'static str) -> Result<()> {
    match observer {
        Some(observer) if !observer(stage) => Err(Error::Interrupted),
        _ => Ok(()),
    }
}
