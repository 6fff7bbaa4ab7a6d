//! Marginal effects: ∂f/∂xⱼ at every row in the units of the table, and for categories the difference to the first one.
//!
//! Standard errors of the averages are those of kernel regularised least squares (Hainmueller and Hazlett 2014), at fixed γ:
//! an average effect is gᵀα with g the average of the derivatives of k(·, xᵢ), and α = G⁺y, so that its variance is
//! σ̂²‖G⁺g‖². σ̂² = (n/W) Σ w(y − f − b)² / (n − tr(2H − H²)), the residual variance of a row of mean weight with the degrees of freedom
//! that make it unbiased where f is (H the hat matrix, offset included). Row weights are read as inverse variances.
//! Neither the choice of λ nor the bias that λ brings is part of these errors.
//!
//! ```
//! use mercer::prelude::*;
//!
//! // y = 3x₁ − x₂²
//! let x = Matrix::from_fn(80, 2, |i, j| ((i * (j + 3)) as f64).sin());
//! let y: Vec<f64> = (0..80).map(|i| 3.0 * x.get(i, 0) - x.get(i, 1).powi(2)).collect();
//! let model = Fit::new(Gaussian::lengthscale(2.0)).fit(&x, &y)?.model;
//! let found = model.effects(None, None, None)?;
//! let first = &found.targets[0].effects[0];
//! assert!((first.mean - 3.0).abs() < 0.05 && first.positive == 1.0);
//! # Ok::<(), mercer::Error>(())
//! ```

mod categories;
mod chain;
mod derivatives;
mod probability;
mod rows;

use crate::base::error::{Error, Result};
use crate::base::watch::Observer;
use crate::data::Frame;
use crate::data::Points;
use crate::fit::after::training::{Refitted, Training, told};
use crate::linalg::Matrix;
use crate::model::{Expansion, Meaning, Model, Probability};
use rows::Rows;

/// What each column does to the predictions.
#[derive(Debug, Clone, PartialEq)]
pub struct Effects {
    /// Rows over which averages and quantiles are taken.
    pub rows: usize,
    /// One per target (or per model, for classes and quantiles).
    pub targets: Vec<TargetEffects>,
    /// Why there are no standard errors, if there are none.
    pub without_errors: Option<String>,
}

/// What effects are effects on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Quantity {
    /// The prediction itself.
    Prediction,
    /// ln(p/(1 − p)) of a class.
    LogOdds,
    /// v of a class, where p = exp(v)/Σ exp(v): ln p up to a number that all classes share, which differs between rows.
    Score,
    /// The value whose sign, or size among those of the other classes, decides for a class.
    DecisionValue,
    /// The probability of a class.
    Probability,
}

impl Quantity {
    /// In words.
    pub fn name(self) -> &'static str {
        match self {
            Quantity::Prediction => "prediction",
            Quantity::LogOdds => "log-odds",
            Quantity::Score => "softmax score",
            Quantity::DecisionValue => "decision value",
            Quantity::Probability => "probability",
        }
    }
}

/// The effects on one target.
#[derive(Debug, Clone, PartialEq)]
pub struct TargetEffects {
    /// The target's name.
    pub target: String,
    /// What the effects are effects on.
    pub of: Quantity,
    /// Of models of classes: the class whose log-odds, decision value or probability that is. Of two classes it is the second.
    pub class: Option<String>,
    /// σ̂, the standard deviation of the noise, where it is known.
    pub noise: Option<f64>,
    /// One per column of numbers and per category but the first of each column of text.
    pub effects: Vec<Effect>,
}

/// The effect of one column, or of one category.
#[derive(Debug, Clone, PartialEq)]
pub struct Effect {
    /// The column.
    pub column: String,
    /// For a category: itself and the one it is compared with.
    pub versus: Option<(String, String)>,
    /// At every row of the table; NaN where a row is not read because a cell is missing.
    pub values: Vec<f64>,
    /// Their mean.
    pub mean: f64,
    /// Its standard error.
    pub standard_error: Option<f64>,
    /// Quartiles: 25, 50 and 75 %.
    pub quartiles: [f64; 3],
    /// The share of rows where the effect is positive.
    pub positive: f64,
}

/// A column with its effects on every target, and its average in the coordinates of the coefficients.
struct Found {
    column: String,
    versus: Option<(String, String)>,
    /// `[target][row]`.
    values: Vec<Vec<f64>>,
    /// g; empty unless standard errors are wanted.
    average: Vec<f64>,
}

/// f without its offset: what is derived.
struct Function<'a> {
    model: &'a Model,
    basis: Basis<'a>,
    wants_averages: bool,
}

enum Basis<'a> {
    /// Σ αᵢ k(·, xᵢ).
    Kernel { points: &'a Points, alpha: Matrix },
    /// xᵀw.
    Linear { coefficients: &'a Matrix },
}

impl Model {
    /// The effects of every column at the rows of a table, or at the model's own points. `training` are the rows of the fit
    /// where the model does not hold them; without any there are no standard errors.
    pub fn effects(
        &self,
        at: Option<&Frame>,
        training: Option<Training>,
        observer: Option<&Observer>,
    ) -> Result<Effects> {
        self.effects_on(false, at, training, observer)
    }

    /// The same on the probabilities of classes, instead of log-odds or decision values: of the second of two classes, else of each. There are
    /// no standard errors.
    pub fn effects_on_probabilities(&self, at: Option<&Frame>, observer: Option<&Observer>) -> Result<Effects> {
        self.effects_on(true, at, None, observer)
    }

    fn effects_on(
        &self,
        probabilities: bool,
        at: Option<&Frame>,
        training: Option<Training>,
        observer: Option<&Observer>,
    ) -> Result<Effects> {
        if self.kernel.is_precomputed() {
            let must = "one of features; a precomputed one has none to derive by";
            return Err(Error::argument("the kernel", must, self.kernel.spec()));
        }
        let rows = match at {
            Some(frame) => Rows::of_frame(self, frame)?,
            None => Rows::of_points(self, training.as_ref())?,
        };
        let refitted = match (self.is_not_a_sum_over_rows(), training.or_else(|| self.training())) {
            (_, _) if probabilities => Err("they exist for predictions of numbers only".into()),
            (Some(reason), _) => {
                Err(format!("they exist for the squared loss with the penalty λ‖f‖ᵐ only; of this model {reason}"))
            }
            (None, None) => Err("the model does not hold its training rows".into()),
            (None, Some(training)) => {
                let is_own = training.is_own;
                match Refitted::new(self, training, observer) {
                    // Targets that share a ridge: the derivatives are known, their errors are not.
                    Err(Error::Argument { .. }) if is_own => {
                        Err("its fit does not follow from its rows alone (targets that share one ridge)".into())
                    }
                    refitted => Ok(refitted?),
                }
            }
        };
        let function = Function::new(self, refitted.as_ref().ok());
        told(observer, "derivatives")?;
        let mut found = derivatives::of(&function, &rows)?;
        for feature in 0..self.encoder.features.len() {
            told(observer, "categories")?;
            found.extend(categories::of(&function, &rows, feature)?);
        }
        if probabilities {
            found = probability::of(self, &rows, found)?;
        }
        let order = self.encoder.columns();
        found.sort_by_key(|effect| order.iter().position(|column| *column == effect.column));
        let names = self.summaries.iter().enumerate();
        let targets: Vec<TargetEffects> =
            names.map(|(t, summary)| summarised(&summary.target, t, &found, &rows, refitted.as_ref().ok())).collect();
        let of = if probabilities { Quantity::Probability } else { self.quantity() };
        let class = |t: usize| self.class_of_model(t).map(str::to_owned);
        let targets: Vec<TargetEffects> = targets
            .into_iter()
            .enumerate()
            .map(|(t, target)| TargetEffects { of, class: class(t), ..target })
            .collect();
        let without_errors = match refitted {
            Err(reason) => Some(reason),
            Ok(_) if targets.iter().any(|target| target.noise.is_none()) => {
                Some("the fit leaves no degrees of freedom from which the noise could be told".into())
            }
            Ok(_) => None,
        };
        Ok(Effects { rows: rows.used(), targets, without_errors })
    }
}

impl Model {
    /// What the values of the models are.
    fn quantity(&self) -> Quantity {
        match &self.meaning {
            Meaning::Numbers | Meaning::Quantiles { .. } => Quantity::Prediction,
            Meaning::Classes { probability: Probability::Stated, .. } => Quantity::LogOdds,
            Meaning::Classes { probability: Probability::Softmax, .. } => Quantity::Score,
            Meaning::Classes { .. } => Quantity::DecisionValue,
        }
    }

    /// The class that a high value of this model speaks for.
    fn class_of_model(&self, t: usize) -> Option<&str> {
        let names = &self.classes()?.names;
        names.get(if names.len() == 2 { 1 } else { t }).map(String::as_str)
    }
}

impl<'a> Function<'a> {
    /// On the rows of the refit where their order may differ from the model's.
    fn new(model: &'a Model, refitted: Option<&'a Refitted<'a>>) -> Self {
        let basis = match (&model.expansion, refitted) {
            (Expansion::Linear { coefficients }, _) => Basis::Linear { coefficients },
            (Expansion::Kernel { .. }, Some(refitted)) if !refitted.training.is_own => {
                let points = &refitted.training.points;
                let mut alpha = Matrix::zeros(points.rows(), refitted.targets.len());
                for (t, target) in refitted.targets.iter().enumerate() {
                    if refitted.log_ridges[t].is_some() {
                        alpha.col_mut(t).copy_from_slice(&refitted.spectrum.dual(target, refitted.gamma(t)));
                    }
                }
                Basis::Kernel { points, alpha }
            }
            (Expansion::Kernel { points, alpha }, _) => Basis::Kernel { points, alpha: alpha.clone() },
        };
        Function { model, basis, wants_averages: refitted.is_some() }
    }
}

/// One target's table.
fn summarised(
    name: &str,
    t: usize,
    found: &[Found],
    rows: &Rows<'_>,
    refitted: Option<&Refitted<'_>>,
) -> TargetEffects {
    let noise = refitted.and_then(|refitted| noise(refitted, t));
    // That of a row of weight 1, which the variances of the coefficients are in units of.
    let unit = refitted.map_or(1.0, |refitted| refitted.spectrum.weight_sum() / refitted.spectrum.rows() as f64).sqrt();
    let effect = |found: &Found| {
        let values = &found.values[t];
        let mut sorted = values.clone();
        sorted.sort_unstable_by(f64::total_cmp);
        let count = values.len() as f64;
        let error = refitted.zip(noise).map(|(refitted, noise)| {
            noise * unit * refitted.spectrum.response(&found.average, refitted.gamma(t)).sqrt()
        });
        Effect {
            column: found.column.clone(),
            versus: found.versus.clone(),
            mean: values.iter().sum::<f64>() / count,
            standard_error: error,
            quartiles: [0.25, 0.5, 0.75].map(|share| quantile(&sorted, share)),
            positive: values.iter().filter(|value| **value > 0.0).count() as f64 / count,
            values: rows.spread(values),
        }
    };
    let (of, class) = (Quantity::Prediction, None);
    TargetEffects { target: name.to_owned(), of, class, noise, effects: found.iter().map(effect).collect() }
}

/// σ̂ of a row of mean weight, with n − tr(2H − H²) degrees of freedom; `None` where they are used up.
fn noise(refitted: &Refitted<'_>, t: usize) -> Option<f64> {
    let spectrum = &refitted.spectrum;
    let gamma = refitted.gamma(t);
    let n = spectrum.rows() as f64;
    let share = |d: &f64| if gamma.is_finite() { gamma / (d + gamma) } else { 1.0 };
    // Σ (1 − h)² over all directions that the offset leaves.
    let known = spectrum.eigenvalues().iter().map(|d| share(d) * share(d)).sum::<f64>();
    let offset = f64::from(u8::from(spectrum.has_offset()));
    let left = known + (n - offset - spectrum.eigenvalues().len() as f64);
    let ridge = refitted.log_ridges[t].map_or(f64::INFINITY, libm::exp);
    let squares = spectrum.path(&[&refitted.targets[t]]).train_mse(ridge) * n;
    (left > 1e-6 * n).then(|| (squares / left).sqrt())
}

/// Between the two nearest values, as R and NumPy do by default.
fn quantile(sorted: &[f64], share: f64) -> f64 {
    let place = share * (sorted.len().max(1) - 1) as f64;
    let (low, part) = (place.floor() as usize, place.fract());
    let at = |index: usize| sorted.get(index).or(sorted.last()).copied().unwrap_or(f64::NAN);
    at(low) + part * (at(low + 1) - at(low))
}

#[cfg(test)]
mod tests {
    use super::quantile;

    #[test]
    fn quartiles_by_hand() {
        let values = [1.0, 2.0, 4.0, 8.0];
        assert_eq!([0.25, 0.5, 0.75].map(|share| quantile(&values, share)), [1.75, 3.0, 5.0]);
        assert_eq!(quantile(&[7.0], 0.25), 7.0);
    }
}
