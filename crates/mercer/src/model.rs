//! All that prediction needs, and nothing of how it was found.

mod classify;
pub mod format;
mod kept;
pub mod notes;
mod provenance;
mod single;

use serde::{Deserialize, Serialize};

use crate::base::clip::within;
use crate::base::error::{Error, Result};
use crate::data::{Classes, Column, Encoder, Feature, Frame, Outside};
use crate::linalg::{Matrix, Parts};
use crate::solve::Solution;
use crate::solve::certificate::Certificate;
use crate::space;
use crate::term::kernel::{Points, SharedKernel};
pub(crate) use classify::{probability_slopes, shares};
pub(crate) use kept::KeptTargets;
pub use provenance::{DataFile, Provenance};

/// A fitted model: reads a table as the training table was read, and predicts.
#[derive(Debug, Clone)]
pub struct Model {
    pub(crate) encoder: Encoder,
    pub(crate) kernel: SharedKernel,
    pub(crate) expansion: Expansion,
    pub(crate) summaries: Vec<Summary>,
    pub(crate) meaning: Meaning,
    /// Targets and weights of the points, for what needs the fit again: intervals and standard errors.
    pub(crate) kept: Option<KeptTargets>,
    /// How points and coefficients are stored.
    pub(crate) precision: Precision,
    /// How it was made.
    pub(crate) provenance: Provenance,
}

/// How the numbers of a model's function are stored; predictions are always computed in double precision.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Precision {
    /// As f64: what was fitted, bit for bit.
    Double,
    /// As f32: half the size.
    Single,
}

/// The function itself, for all targets.
#[derive(Debug, Clone)]
pub(crate) enum Expansion {
    /// f(x) = Σᵢ αᵢ k(x, xᵢ); α is n × targets.
    Kernel { points: Points, alpha: Matrix },
    /// f(x) = xᵀw; w is features × targets.
    Linear { coefficients: Matrix },
}

/// What the values of the models stand for.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Meaning {
    /// The targets themselves.
    #[default]
    Numbers,
    /// Quantiles, several for each target, rising.
    Quantiles {
        /// How many for each target.
        per_target: usize,
        /// Whether predictions are sorted, so that they never cross.
        sorted: bool,
    },
    /// Decision values of classes: one for two classes (positive: the second), else one each (the largest wins).
    Classes {
        /// The target's name.
        target: String,
        /// The classes.
        classes: Classes,
        /// What decision values say of probabilities.
        probability: Probability,
        /// The weights of the classes in the fit, unless all were equal. Probabilities that the loss states are then those of
        /// classes with these weights; calibrated ones are those of the table.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        class_weights: Option<Vec<f64>>,
    },
}

/// From decision values to probabilities.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Probability {
    /// Nothing is known of them.
    Unknown,
    /// The loss states them: log-odds (for several classes: of each against the rest, brought to the sum 1).
    Stated,
    /// The values of all classes are logarithms of probabilities, up to a constant.
    Softmax,
    /// 1/(1 + exp(−(slope·v + shift))), fitted to held-out values; one pair per model.
    Calibrated {
        /// Slope and shift of each model.
        sigmoids: Vec<[f64; 2]>,
    },
}

/// What held-out rows said of the chosen model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HeldOut {
    /// What was measured: `loss`, `error`, `absolute` or `squared`.
    pub measure: String,
    /// Its mean, rows counted by the weights of rows and classes.
    pub value: f64,
    /// The standard error of the mean.
    pub standard_error: f64,
    /// The share of rows whose class was not predicted, every row counted once: where there are weights, and shares of classes were measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unweighted: Option<f64>,
}

fn squared() -> String {
    "squared".into()
}

fn norm_power() -> String {
    "norm-power".into()
}

/// What was found for one target; kept in the model file for whoever opens it later.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Summary {
    /// The target's name.
    pub target: String,
    /// Training rows.
    pub rows: usize,
    /// λ.
    pub lambda: f64,
    /// Whether λ was chosen.
    pub lambda_was_chosen: bool,
    /// The criterion by which λ, exponent or kernel were chosen, if any was.
    #[serde(default)]
    pub chosen_by: Option<String>,
    /// Where λ was chosen by the criterion on the model of so many landmarks, and the fit itself is of all rows (or of more landmarks).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chosen_on_landmarks: Option<usize>,
    /// m in λ‖f‖ᵐ.
    pub exponent: f64,
    /// μ, the ridge that gives the same f; `None` for the zero function.
    pub effective_ridge: Option<f64>,
    /// The ridges of all stationary points.
    pub stationary_ridges: Vec<f64>,
    /// ‖f‖.
    pub norm: f64,
    /// (1/W) Σ w(y − f − b)² + λ‖f‖ᵐ.
    pub objective: f64,
    /// b.
    pub intercept: f64,
    /// Whether b was part of the problem.
    pub has_offset: bool,
    /// Trace of the hat matrix.
    pub dof: Option<f64>,
    /// Root of (1/W) Σ w(y − f − b)².
    pub train_rmse: f64,
    /// Share of the variance explained on the training rows.
    pub train_r2: Option<f64>,
    /// Root of (1/W) Σ w e², e the leave-one-out residuals.
    pub loo_rmse: Option<f64>,
    /// Share of the variance explained, left out.
    pub loo_r2: Option<f64>,
    /// Number of groups, where rows have them: `loo_rmse` and `loo_r2` are then of fits without the whole group of a row.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub groups: Option<usize>,
    /// What the criterion was at the choice: a mean squared error, or what its formula says (of several targets with one ridge: the sum,
    /// each in units of its variance).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub criterion_value: Option<f64>,
    /// Whether the zero function is the minimiser.
    pub is_zero: bool,
    /// Smallest and largest training target.
    pub target_range: [f64; 2],
    /// Where predictions are kept within the range of the targets: that range.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clip: Option<[f64; 2]>,
    /// What was verified.
    pub certificate: Certificate,
    /// The loss.
    #[serde(default = "squared")]
    pub loss: String,
    /// The penalty.
    #[serde(default = "norm_power")]
    pub penalty: String,
    /// Number of coefficients that are not 0, where the solver makes some of them 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub support: Option<usize>,
    /// (1/W) Σ w ℓ(y, f + b), for losses other than the squared one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub train_loss: Option<f64>,
    /// For classes: the share of training rows whose class is not predicted, every row counted once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub train_error: Option<f64>,
    /// The same with rows counted by the weights of rows and classes, where there are some.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub weighted_train_error: Option<f64>,
    /// What held-out rows said of the choice, where they decided; without them, nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held_out: Option<HeldOut>,
}

impl Summary {
    /// What a solution by the squared loss with the penalty λ‖f‖ᵐ says of itself; what its fit knows besides is filled in there.
    pub(crate) fn of_solution(target: &str, exponent: f64, lambda: f64, solution: &Solution) -> Self {
        Summary {
            target: target.to_owned(),
            rows: solution.fitted.len(),
            lambda,
            lambda_was_chosen: false,
            chosen_by: None,
            chosen_on_landmarks: None,
            exponent,
            effective_ridge: solution.effective_ridge(),
            stationary_ridges: solution.minimum.stationary.iter().map(|point| point.ridge()).collect(),
            norm: solution.norm,
            objective: solution.objective(exponent, lambda),
            intercept: solution.offset,
            has_offset: true,
            dof: solution.dof,
            train_rmse: solution.train_mse.sqrt(),
            train_r2: None,
            loo_rmse: None,
            loo_r2: None,
            groups: None,
            criterion_value: None,
            is_zero: solution.is_zero(),
            target_range: [0.0; 2],
            clip: None,
            certificate: Certificate::new(solution, None),
            loss: squared(),
            penalty: norm_power(),
            support: None,
            train_loss: None,
            train_error: None,
            weighted_train_error: None,
            held_out: None,
        }
    }
}

impl Model {
    /// What was found, one per target.
    pub fn summaries(&self) -> &[Summary] {
        &self.summaries
    }

    /// The kernel, with its numbers.
    pub fn kernel(&self) -> &SharedKernel {
        &self.kernel
    }

    /// How tables are read.
    pub fn encoder(&self) -> &Encoder {
        &self.encoder
    }

    /// What the values that it predicts stand for.
    pub fn meaning(&self) -> &Meaning {
        &self.meaning
    }

    /// Number of training points that the model carries (0 for a linear function).
    pub fn points(&self) -> usize {
        match &self.expansion {
            Expansion::Kernel { points, .. } => points.rows(),
            Expansion::Linear { .. } => 0,
        }
    }

    /// The points x₁, …, xₙ of f(x) = Σ αᵢ k(x, xᵢ), as the kernel sees them; `None` for a linear function.
    pub fn centres(&self) -> Option<&Points> {
        match &self.expansion {
            Expansion::Kernel { points, .. } => Some(points),
            Expansion::Linear { .. } => None,
        }
    }

    /// How points and coefficients are stored.
    pub fn precision(&self) -> Precision {
        self.precision
    }

    /// α of target `t` (for a linear function: its coefficients).
    pub fn coefficients(&self, t: usize) -> &[f64] {
        match &self.expansion {
            Expansion::Kernel { alpha, .. } => alpha.col(t),
            Expansion::Linear { coefficients } => coefficients.col(t),
        }
    }

    /// Predicts every target for every row: one vector per target, `None` where a missing cell leaves the row
    /// without a prediction.
    pub fn predict_frame(&self, frame: &Frame) -> Result<Vec<Vec<Option<f64>>>> {
        let (points, complete) = self.encoder.encode(frame)?;
        let mut values = self.predict_points(&points)?;
        if let Meaning::Quantiles { per_target, sorted: true } = self.meaning {
            sort_within(&mut values, per_target);
        }
        let column = |t: usize| values.col(t).iter().zip(&complete).map(|(v, ok)| ok.then_some(*v)).collect();
        Ok((0..values.cols()).map(column).collect())
    }

    /// Predicts from plain numbers: one row per example, columns in the order of the training features; the
    /// result has one column per target.
    pub fn predict(&self, x: &Matrix) -> Result<Matrix> {
        let columns = self.predict_frame(&self.frame_of(x)?)?;
        let cells = columns.into_iter().flatten().map(|cell| cell.unwrap_or(f64::NAN)).collect();
        Matrix::from_columns(x.rows(), self.summaries.len(), cells)
    }

    /// Plain numbers as a table of the training features.
    pub(crate) fn frame_of(&self, x: &Matrix) -> Result<Frame> {
        let columns = self.encoder.columns();
        if x.cols() != columns.len() {
            return Err(Error::shape("x", format!("{} columns, as in training", columns.len()), x.cols()));
        }
        if let Some(Feature::Text { name, .. }) =
            self.encoder.features.iter().find(|feature| matches!(feature, Feature::Text { .. }))
        {
            return Err(Error::Column { column: name.clone(), problem: "is text; predict from a table".into() });
        }
        let mut frame = Frame::new(x.rows());
        for (j, name) in columns.into_iter().enumerate() {
            frame.push(name, Column::Number(x.col(j).to_vec()))?;
        }
        Ok(frame)
    }

    /// The rows of a table that are outside the range of the training rows; `None` where that is not known (see
    /// [`Encoder::outside`](crate::data::Encoder::outside)).
    pub fn outside(&self, frame: &Frame) -> Result<Option<Outside>> {
        if self.kernel.is_precomputed() { Ok(None) } else { self.encoder.outside(frame) }
    }

    /// Predicts encoded points.
    pub(crate) fn predict_points(&self, new: &Points) -> Result<Matrix> {
        let mut values = match &self.expansion {
            Expansion::Kernel { points, alpha } => space::evaluate(&*self.kernel, points, alpha, new),
            Expansion::Linear { coefficients } => linear_values(coefficients, new),
        };
        for (t, summary) in self.summaries.iter().enumerate() {
            for (row, value) in values.col_mut(t).iter_mut().enumerate() {
                *value += summary.intercept;
                if !value.is_finite() {
                    return Err(Error::Cell {
                        row: row + 1,
                        column: summary.target.clone(),
                        problem: "the prediction leaves the range of numbers; the features of this row are too far \
                                  from the training rows"
                            .into(),
                    });
                }
                if let Some(range) = summary.clip {
                    *value = within(*value, range);
                }
            }
        }
        Ok(values)
    }
}

/// Rearranges the values of each target in rising order, row by row.
fn sort_within(values: &mut Matrix, per_target: usize) {
    for first in (0..values.cols()).step_by(per_target.max(1)) {
        for i in 0..values.rows() {
            let places = first..(first + per_target).min(values.cols());
            let mut row: Vec<f64> = places.clone().map(|t| values.get(i, t)).collect();
            row.sort_unstable_by(f64::total_cmp);
            places.zip(row).for_each(|(t, v)| values.set(i, t, v));
        }
    }
}

/// xᵀw of new points.
pub(crate) fn linear_values(coefficients: &Matrix, new: &Points) -> Matrix {
    let mut row = vec![0.0; new.features()];
    let mut out = Matrix::zeros(new.rows(), coefficients.cols());
    for i in 0..new.rows() {
        for (j, x) in row.iter_mut().enumerate() {
            *x = new.feature(j)[i];
        }
        for t in 0..coefficients.cols() {
            let mut sum = Parts::default();
            sum.add_products(&row, coefficients.col(t));
            out.set(i, t, sum.total());
        }
    }
    out
}
