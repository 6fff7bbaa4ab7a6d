//! Classes and probabilities from decision values.

use super::{Meaning, Model, Probability};
use crate::base::error::{Error, Result};
use crate::data::class_of;
use crate::data::{Classes, Frame};
use crate::linalg::Matrix;
use crate::linalg::log_sum_exp;
use crate::term::loss::margin::sigmoid;

impl Meaning {
    /// Refuses a meaning that the number of models contradicts.
    pub(crate) fn check(&self, models: usize) -> std::result::Result<(), String> {
        let expected = match self {
            Meaning::Numbers => return Ok(()),
            Meaning::Quantiles { per_target, .. } => {
                let fits = *per_target > 0 && models.is_multiple_of(*per_target);
                return if fits { Ok(()) } else { Err("its quantiles do not fit its models".into()) };
            }
            Meaning::Classes { classes, .. } if classes.len() < 2 => return Err("it has fewer than two classes".into()),
            Meaning::Classes { classes, .. } if classes.len() == 2 => 1,
            Meaning::Classes { classes, .. } => classes.len(),
        };
        let Meaning::Classes { probability, classes, class_weights, .. } = self else { return Ok(()) };
        if class_weights.iter().any(|w| w.len() != classes.len() || !w.iter().all(|x| x.is_finite() && *x > 0.0)) {
            return Err("the weights of its classes do not fit its classes".into());
        }
        if models != expected {
            return Err("its classes do not fit its models".into());
        }
        if classes.are_numbers && classes.names.iter().any(|name| name.parse::<f64>().is_err()) {
            return Err("a class that should be a number is none".into());
        }
        match probability {
            Probability::Calibrated { sigmoids } if sigmoids.len() != expected => {
                Err("its calibration does not fit its models".into())
            }
            Probability::Calibrated { sigmoids } if sigmoids.iter().flatten().any(|x| !x.is_finite()) => {
                Err("its calibration is not finite".into())
            }
            Probability::Softmax if expected == 1 => Err("two classes have one model".into()),
            _ => Ok(()),
        }
    }
}

impl Model {
    /// The classes it tells apart, if it does.
    pub fn classes(&self) -> Option<&Classes> {
        match &self.meaning {
            Meaning::Classes { classes, .. } => Some(classes),
            _ => None,
        }
    }

    /// The class of every row of a table, as a place in [`classes`](Self::classes).
    pub fn classes_of_frame(&self, frame: &Frame) -> Result<Vec<Option<usize>>> {
        self.classes_from(&self.predict_frame(frame)?)
    }

    /// The classes that decision values mean, which [`predict_frame`](Self::predict_frame) gave.
    pub fn classes_from(&self, values: &[Vec<Option<f64>>]) -> Result<Vec<Option<usize>>> {
        self.classes().ok_or_else(not_a_classifier)?;
        Ok(rows_of(values).into_iter().map(|row| row.map(|values| class_of(&values))).collect())
    }

    /// The class of every row of plain numbers.
    pub fn classes_of(&self, x: &Matrix) -> Result<Vec<Option<usize>>> {
        self.classes().ok_or_else(not_a_classifier)?;
        let values = self.predict(x)?;
        let row = |i: usize| -> Vec<f64> { (0..values.cols()).map(|t| values.get(i, t)).collect() };
        let class = |values: Vec<f64>| (!values[0].is_nan()).then(|| class_of(&values));
        Ok((0..values.rows()).map(|i| class(row(i))).collect())
    }

    /// The probability of every class for every row of a table: one vector per class.
    pub fn probabilities_of_frame(&self, frame: &Frame) -> Result<Vec<Vec<Option<f64>>>> {
        self.probabilities_from(&self.predict_frame(frame)?)
    }

    /// The probabilities that decision values mean, which [`predict_frame`](Self::predict_frame) gave.
    pub fn probabilities_from(&self, values: &[Vec<Option<f64>>]) -> Result<Vec<Vec<Option<f64>>>> {
        let Meaning::Classes { classes, probability, .. } = &self.meaning else { return Err(not_a_classifier()) };
        self.check_probabilities()?;
        let mut out = vec![Vec::new(); classes.len()];
        for row in rows_of(values) {
            let shares = row.map(|values| shares(probability, &values));
            for (class, column) in out.iter_mut().enumerate() {
                column.push(shares.as_ref().map(|shares| shares[class]));
            }
        }
        Ok(out)
    }

    /// Refuses a model of classes that knows no probabilities.
    pub(crate) fn check_probabilities(&self) -> Result<()> {
        match &self.meaning {
            Meaning::Classes { probability: Probability::Unknown, .. } => Err(Error::argument(
                "the model",
                "fitted with probabilities (--probability), or with the logistic loss, to state them",
                format!("one of the loss {}", self.summaries[0].loss),
            )),
            _ => Ok(()),
        }
    }
}

fn not_a_classifier() -> Error {
    Error::argument("the model", "one of classes", "one of numbers")
}

/// Row by row; `None` where a value is missing.
fn rows_of(columns: &[Vec<Option<f64>>]) -> Vec<Option<Vec<f64>>> {
    let rows = columns.first().map_or(0, Vec::len);
    (0..rows).map(|i| columns.iter().map(|column| column[i]).collect()).collect()
}

/// Probabilities of all classes from the decision values of a row.
pub(crate) fn shares(probability: &Probability, values: &[f64]) -> Vec<f64> {
    let single: Vec<f64> = match probability {
        Probability::Softmax => {
            let log_sum = log_sum_exp(values);
            return values.iter().map(|v| libm::exp(v - log_sum)).collect();
        }
        Probability::Calibrated { sigmoids } => {
            values.iter().zip(sigmoids).map(|(v, [slope, shift])| sigmoid(slope * v + shift)).collect()
        }
        Probability::Stated | Probability::Unknown => values.iter().map(|v| sigmoid(*v)).collect(),
    };
    if let [positive] = single[..] {
        return vec![1.0 - positive, positive];
    }
    let sum: f64 = single.iter().sum();
    if sum > 0.0 { single.iter().map(|p| p / sum).collect() } else { vec![1.0 / single.len() as f64; single.len()] }
}

/// ∂p_c/∂vₜ at the decision values of a row, classes × models; with a single model of the second class only.
pub(crate) fn probability_slopes(probability: &Probability, values: &[f64]) -> Matrix {
    let count = values.len();
    if let Probability::Softmax = probability {
        let p = shares(probability, values);
        return Matrix::from_fn(count, count, |c, t| p[c] * (f64::from(u8::from(c == t)) - p[t]));
    }
    let single: Vec<(f64, f64)> = match probability {
        Probability::Calibrated { sigmoids } => {
            values.iter().zip(sigmoids).map(|(v, [slope, shift])| (sigmoid(slope * v + shift), *slope)).collect()
        }
        _ => values.iter().map(|v| (sigmoid(*v), 1.0)).collect(),
    };
    let slope = |t: usize| single[t].1 * single[t].0 * (1.0 - single[t].0);
    if count == 1 {
        return Matrix::from_fn(1, 1, |_, _| slope(0));
    }
    let sum: f64 = single.iter().map(|(p, _)| p).sum();
    if sum <= 0.0 {
        return Matrix::zeros(count, count);
    }
    Matrix::from_fn(count, count, |c, t| slope(t) / sum * (f64::from(u8::from(c == t)) - single[c].0 / sum))
}
