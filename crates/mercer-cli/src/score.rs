//! How far predictions are from what was observed: numbers, quantiles and classes, on any table.

use mercer::data::{Classes, Column, Frame};
use mercer::{Meaning, Model, Probability, Result};

/// Of numbers, weighted.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NumberScore {
    pub rmse: f64,
    /// The mean of |y − v|.
    pub mae: f64,
    /// Share of the variance explained, if there is some.
    pub r2: Option<f64>,
    pub rows: usize,
    pub weight: f64,
    /// Of the observed numbers.
    mean: f64,
    variance: f64,
}

/// Of all rows, from those of two parts of them.
fn pooled(a: (f64, f64), b: (f64, f64)) -> f64 {
    let ((value, weight), (other, other_weight)) = (a, b);
    (value * weight + other * other_weight) / (weight + other_weight)
}

/// The weights of all rows, if a column has them.
pub type Weights<'a> = Option<&'a [f64]>;

impl NumberScore {
    /// `None` without a single row that has both.
    pub fn of(truth: &[f64], values: &[Option<f64>], weights: Weights<'_>) -> Option<Self> {
        let weight = |i: usize| weights.map_or(1.0, |w| w[i]);
        let all: Vec<(f64, f64, f64)> = (0..truth.len())
            .filter_map(|i| Some((truth[i], values[i]?, weight(i))))
            .filter(|(y, _, w)| y.is_finite() && *w > 0.0)
            .collect();
        let total: f64 = all.iter().map(|(_, _, w)| w).sum();
        if all.is_empty() {
            return None;
        }
        let mean = |of: &dyn Fn(f64, f64) -> f64| all.iter().map(|(y, v, w)| w / total * of(*y, *v)).sum::<f64>();
        let center = mean(&|y, _| y);
        let error = mean(&|y, v| (y - v) * (y - v));
        let variance = mean(&|y, _| (y - center) * (y - center));
        Some(NumberScore {
            rmse: error.sqrt(),
            mae: mean(&|y, v| (y - v).abs()),
            r2: (variance > 0.0).then(|| 1.0 - error / variance),
            rows: all.len(),
            weight: total,
            mean: center,
            variance,
        })
    }

    /// The score of both parts of a table together.
    pub fn joined(&self, other: &Self) -> Self {
        let pool = |of: &dyn Fn(&Self) -> f64| pooled((of(self), self.weight), (of(other), other.weight));
        let mean = pool(&|score| score.mean);
        let error = pool(&|score| score.rmse * score.rmse);
        let variance = pool(&|score| score.variance + (score.mean - mean) * (score.mean - mean));
        NumberScore {
            rmse: error.sqrt(),
            mae: pool(&|score| score.mae),
            r2: (variance > 0.0).then(|| 1.0 - error / variance),
            rows: self.rows + other.rows,
            weight: self.weight + other.weight,
            mean,
            variance,
        }
    }
}

/// The mean pinball loss of a quantile, and the share of rows below it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct QuantileScore {
    pub loss: f64,
    pub below: f64,
    pub rows: usize,
    weight: f64,
}

impl QuantileScore {
    pub fn of(quantile: f64, truth: &[f64], values: &[Option<f64>], weights: Weights<'_>) -> Option<Self> {
        let (mut loss, mut below, mut total, mut rows) = (0.0, 0.0, 0.0, 0);
        for (i, (y, value)) in truth.iter().zip(values).enumerate() {
            let weight = weights.map_or(1.0, |w| w[i]);
            let Some(v) = value.filter(|_| y.is_finite() && weight > 0.0) else { continue };
            let r = y - v;
            loss += weight * if r >= 0.0 { quantile * r } else { (quantile - 1.0) * r };
            // A row on the curve is half below it.
            below += weight * if r == 0.0 { 0.5 } else { f64::from(r < 0.0) };
            total += weight;
            rows += 1;
        }
        (rows > 0).then(|| QuantileScore { loss: loss / total, below: below / total, rows, weight: total })
    }

    /// The score of both parts of a table together.
    pub fn joined(&self, other: &Self) -> Self {
        let pool = |of: &dyn Fn(&Self) -> f64| pooled((of(self), self.weight), (of(other), other.weight));
        let (loss, below) = (pool(&|score| score.loss), pool(&|score| score.below));
        QuantileScore { loss, below, rows: self.rows + other.rows, weight: self.weight + other.weight }
    }
}

/// The quantile that a model's loss is about.
pub fn quantile_of(loss: &str) -> Option<f64> {
    loss.strip_prefix("pinball(quantile=")?.strip_suffix(')')?.parse().ok()
}

/// Predicted classes, and their probabilities if the model knows any.
pub struct Predicted {
    pub classes: Classes,
    pub codes: Vec<Option<usize>>,
    /// One vector per class.
    pub probabilities: Option<Vec<Vec<Option<f64>>>>,
}

impl Predicted {
    /// `None` for a model of numbers.
    pub fn by(model: &Model, frame: &Frame) -> Result<Option<Self>> {
        if model.classes().is_none() {
            return Ok(None);
        }
        Predicted::from_values(model, &model.predict_frame(frame)?)
    }

    /// The same from the model's values.
    pub fn from_values(model: &Model, values: &[Vec<Option<f64>>]) -> Result<Option<Self>> {
        let Meaning::Classes { classes, probability, .. } = model.meaning() else { return Ok(None) };
        let has_probabilities = *probability != Probability::Unknown;
        Ok(Some(Predicted {
            classes: classes.clone(),
            codes: model.classes_from(values)?,
            probabilities: has_probabilities.then(|| model.probabilities_from(values)).transpose()?,
        }))
    }
}

/// Of classes, weighted.
#[derive(Debug, Clone, PartialEq)]
pub struct ClassScore {
    /// The share of rows whose class is not predicted.
    pub error: f64,
    /// The mean of −ln of the probability of the class that was observed.
    pub log_loss: Option<f64>,
    pub rows: usize,
    /// Rows of a class that training did not know; they count as wrong.
    pub unknown: usize,
    weight: f64,
}

/// Probabilities below this are taken for it: one row must not decide everything.
const LEAST: f64 = f64::EPSILON;

impl ClassScore {
    pub fn of(predicted: &Predicted, truth: &[Option<Truth>], weights: Weights<'_>) -> Option<Self> {
        let (mut wrong, mut log_loss, mut total, mut rows, mut unknown) = (0.0, 0.0, 0.0, 0, 0);
        for (i, (code, truth)) in predicted.codes.iter().zip(truth).enumerate() {
            let weight = weights.map_or(1.0, |w| w[i]);
            let (Some(code), Some(truth)) = (code, truth) else { continue };
            if !(weight > 0.0) {
                continue;
            }
            let (is_right, probability) = match truth {
                Truth::Known(class) => {
                    let shares = predicted.probabilities.as_ref();
                    (code == class, shares.and_then(|shares| shares[*class][i]).unwrap_or(0.0))
                }
                Truth::Unknown => {
                    unknown += 1;
                    (false, 0.0)
                }
            };
            wrong += if is_right { 0.0 } else { weight };
            log_loss -= weight * probability.max(LEAST).ln();
            total += weight;
            rows += 1;
        }
        let log_loss = predicted.probabilities.as_ref().map(|_| log_loss / total);
        (rows > 0).then(|| ClassScore { error: wrong / total, log_loss, rows, unknown, weight: total })
    }

    /// The score of both parts of a table together.
    pub fn joined(&self, other: &Self) -> Self {
        let pool = |a: f64, b: f64| pooled((a, self.weight), (b, other.weight));
        ClassScore {
            error: pool(self.error, other.error),
            log_loss: self.log_loss.zip(other.log_loss).map(|(a, b)| pool(a, b)),
            rows: self.rows + other.rows,
            unknown: self.unknown + other.unknown,
            weight: self.weight + other.weight,
        }
    }
}

/// The class of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Truth {
    /// Its place among the known ones.
    Known(usize),
    /// One that training did not know.
    Unknown,
}

/// The classes that a column holds; `None` where the cell is missing.
pub fn truth(column: &Column, classes: &Classes) -> Vec<Option<Truth>> {
    let known = |place: Option<usize>| place.map_or(Truth::Unknown, Truth::Known);
    match column {
        Column::Number(cells) => {
            cells.iter().map(|x| (!x.is_nan()).then(|| known(classes.place_of_number(*x)))).collect()
        }
        Column::Text(cells) => cells.iter().map(|cell| cell.as_ref().map(|text| known(classes.place(text)))).collect(),
    }
}

/// The row weights that a table has under this name.
pub fn weights<'a>(frame: &'a Frame, name: Option<&String>) -> Result<Weights<'a>> {
    match name.map(|name| frame.column(name)).transpose()? {
        Some(Column::Number(cells)) => Ok(Some(cells)),
        _ => Ok(None),
    }
}

/// Mean and standard deviation (0 of a single number).
pub fn spread(values: &[f64]) -> (f64, f64) {
    let n = values.len().max(1) as f64;
    let mean = values.iter().sum::<f64>() / n;
    let sum: f64 = values.iter().map(|v| (v - mean) * (v - mean)).sum();
    (mean, if values.len() > 1 { (sum / (n - 1.0)).sqrt() } else { 0.0 })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn predicted(codes: &[usize]) -> Predicted {
        let classes = Classes { names: vec!["a".into(), "b".into()], are_numbers: false };
        let share = |class: usize| codes.iter().map(|c| Some(if *c == class { 0.75 } else { 0.25 })).collect();
        let probabilities = Some(vec![share(0), share(1)]);
        Predicted { classes, codes: codes.iter().map(|c| Some(*c)).collect(), probabilities }
    }

    #[test]
    fn classes_by_hand() {
        let text = ["a", "b", "b", "c"].map(|text| Some(text.to_owned()));
        let found = predicted(&[0, 1, 0, 0]);
        let truth = truth(&Column::Text(text.to_vec()), &found.classes);
        assert_eq!(truth[3], Some(Truth::Unknown));
        let score = ClassScore::of(&found, &truth, None).unwrap();
        assert_eq!((score.error, score.rows, score.unknown), (0.5, 4, 1));
        let want = -(2.0 * 0.75_f64.ln() + 0.25_f64.ln() + f64::EPSILON.ln()) / 4.0;
        assert!((score.log_loss.unwrap() - want).abs() < 1e-12);
        let weighted = ClassScore::of(&found, &truth, Some(&[1.0, 1.0, 0.0, 2.0])).unwrap();
        assert_eq!((weighted.error, weighted.rows), (0.5, 3));
        assert!(ClassScore::of(&found, &[None; 4], None).is_none());
    }

    #[test]
    fn parts_join_to_the_score_of_the_whole() {
        let truth: Vec<f64> = (0..90).map(|i| f64::from(i * i % 37) - 100.0).collect();
        let values: Vec<Option<f64>> = (0..90).map(|i| (i % 7 > 0).then(|| f64::from(i % 11) - 95.0)).collect();
        let whole = NumberScore::of(&truth, &values, None).unwrap();
        let part = |rows: std::ops::Range<usize>| NumberScore::of(&truth[rows.clone()], &values[rows], None).unwrap();
        let joined = part(0..20).joined(&part(20..22)).joined(&part(23..90)).joined(&part(22..23));
        assert_eq!(joined.rows, whole.rows);
        for (a, b) in [(joined.rmse, whole.rmse), (joined.mae, whole.mae), (joined.r2.unwrap(), whole.r2.unwrap())] {
            assert!((a - b).abs() <= 1e-13 * b.abs(), "{a} for {b}");
        }
        let whole = QuantileScore::of(0.3, &truth, &values, None).unwrap();
        let part =
            |rows: std::ops::Range<usize>| QuantileScore::of(0.3, &truth[rows.clone()], &values[rows], None).unwrap();
        let joined = part(0..31).joined(&part(31..90));
        assert!((joined.loss - whole.loss).abs() < 1e-13 && (joined.below - whole.below).abs() < 1e-13);
        let text = ["a", "b", "b", "c", "a"].map(|text| Some(text.to_owned()));
        let found = predicted(&[0, 1, 0, 0, 0]);
        let observed = truth_of(&text, &found);
        let whole = ClassScore::of(&found, &observed, None).unwrap();
        let first = ClassScore::of(&predicted(&[0, 1]), &observed[..2], None).unwrap();
        let rest = ClassScore::of(&predicted(&[0, 0, 0]), &observed[2..], None).unwrap();
        let joined = first.joined(&rest);
        assert_eq!((joined.rows, joined.unknown), (whole.rows, whole.unknown));
        assert!((joined.error - whole.error).abs() < 1e-15);
        assert!((joined.log_loss.unwrap() - whole.log_loss.unwrap()).abs() < 1e-13);
    }

    fn truth_of(text: &[Option<String>], found: &Predicted) -> Vec<Option<Truth>> {
        truth(&Column::Text(text.to_vec()), &found.classes)
    }

    #[test]
    fn numbers_and_quantiles_by_hand() {
        let truth = [1.0, 2.0, f64::NAN, 4.0];
        let values = [Some(1.0), Some(4.0), Some(0.0), None];
        let score = NumberScore::of(&truth, &values, None).unwrap();
        assert_eq!((score.rmse, score.mae, score.rows), (2.0_f64.sqrt(), 1.0, 2));
        assert_eq!(score.r2, Some(1.0 - 2.0 / 0.25));
        let score = QuantileScore::of(0.9, &truth, &values, None).unwrap();
        assert!((score.loss - 0.1).abs() < 1e-15);
        assert_eq!(score.below, 0.75);
        assert_eq!(quantile_of("pinball(quantile=0.9)"), Some(0.9));
        assert_eq!(quantile_of("hinge"), None);
        assert_eq!(spread(&[1.0, 3.0]), (2.0, 2.0_f64.sqrt()));
    }

    #[test]
    fn numbers_stay_classes_in_a_column_that_has_become_text() {
        let classes = Classes { names: vec!["-1".into(), "1".into()], are_numbers: true };
        let column = Column::Text(vec![Some("1.0".into()), Some("x".into()), None]);
        assert_eq!(truth(&column, &classes), [Some(Truth::Known(1)), Some(Truth::Unknown), None]);
        let column = Column::Text(vec![Some("01".into()), Some("+1".into())]);
        assert_eq!(truth(&column, &classes), [Some(Truth::Known(1)); 2]);
        let column = Column::Number(vec![-1.0, 2.0, f64::NAN]);
        assert_eq!(truth(&column, &classes), [Some(Truth::Known(0)), Some(Truth::Unknown), None]);
    }
}
