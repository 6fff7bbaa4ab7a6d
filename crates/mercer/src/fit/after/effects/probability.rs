//! Effects on the probabilities of classes: ∂p_c/∂xⱼ = Σₜ ∂p_c/∂vₜ · ∂vₜ/∂xⱼ at decision values v, and for categories the difference of
//! probabilities itself.

use super::Found;
use super::rows::Rows;
use crate::base::error::{Error, Result};
use crate::data::Feature;
use crate::data::Points;
use crate::model::{Meaning, Model, Probability, probability_slopes, shares};

/// Effects on decision values become effects on probabilities: of the second of two classes, else of each.
pub(super) fn of(model: &Model, rows: &Rows<'_>, found: Vec<Found>) -> Result<Vec<Found>> {
    let Meaning::Classes { probability, .. } = model.meaning() else {
        return Err(Error::argument("effects on probabilities", "asked of a model of classes", "one of numbers"));
    };
    model.check_probabilities()?;
    let at = |points: &Points| -> Result<Vec<Vec<f64>>> {
        let values = model.predict_points(points)?;
        Ok((0..values.rows()).map(|i| (0..values.cols()).map(|t| values.get(i, t)).collect()).collect())
    };
    let decisions = at(&rows.points)?;
    let mut out = Vec::with_capacity(found.len());
    for effect in found {
        let values = match &effect.versus {
            None => of_derivatives(probability, &decisions, &effect.values),
            Some((category, base)) => {
                let (here, there) = (
                    at(&with(model, rows, &effect.column, category)?)?,
                    at(&with(model, rows, &effect.column, base)?)?,
                );
                differences(probability, &here, &there)
            }
        };
        out.push(Found { values, average: Vec::new(), ..effect });
    }
    Ok(out)
}

/// `[class][row]`
fn of_derivatives(probability: &Probability, decisions: &[Vec<f64>], derivatives: &[Vec<f64>]) -> Vec<Vec<f64>> {
    let models = derivatives.len();
    let mut out = vec![Vec::with_capacity(decisions.len()); models];
    for (row, values) in decisions.iter().enumerate() {
        let slopes = probability_slopes(probability, values);
        for (class, column) in out.iter_mut().enumerate() {
            column.push((0..models).map(|t| slopes.get(class, t) * derivatives[t][row]).sum());
        }
    }
    out
}

fn differences(probability: &Probability, here: &[Vec<f64>], there: &[Vec<f64>]) -> Vec<Vec<f64>> {
    let models = here.first().map_or(0, Vec::len);
    // Of two classes the second is the one that decision values speak of.
    let place = |class: usize| if models == 1 { 1 } else { class };
    let mut out = vec![Vec::with_capacity(here.len()); models];
    for (a, b) in here.iter().zip(there) {
        let (a, b) = (shares(probability, a), shares(probability, b));
        for (class, column) in out.iter_mut().enumerate() {
            column.push(a[place(class)] - b[place(class)]);
        }
    }
    out
}

/// The rows with a category throughout.
fn with(model: &Model, rows: &Rows<'_>, column: &str, category: &str) -> Result<Points> {
    let features = model.encoder().features.iter().enumerate();
    let mut places = features.filter_map(|(feature, known)| match known {
        Feature::Text { name, categories, .. } if name == column => {
            categories.iter().position(|known| known == category).map(|place| (feature, place))
        }
        _ => None,
    });
    let (feature, place) = places.next().ok_or_else(|| Error::Empty(format!("{column} has no category {category}")))?;
    rows.with_category(feature, place)
}
