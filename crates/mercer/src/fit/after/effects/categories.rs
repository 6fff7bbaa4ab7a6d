//! First differences: what a category does in the place of the first one, at every row.

use super::rows::Rows;
use super::{Basis, Found, Function};
use crate::base::error::Result;
use crate::data::Feature;
use crate::data::Points;
use crate::linalg::Matrix;
use crate::model::linear_values;
use crate::space;

/// The effects of the categories of one feature; none for numbers.
pub(super) fn of(function: &Function<'_>, rows: &Rows<'_>, feature: usize) -> Result<Vec<Found>> {
    let Feature::Text { name, categories, .. } = &function.model.encoder.features[feature] else {
        return Ok(Vec::new());
    };
    let base = At::new(function, &rows.with_category(feature, 0)?);
    let mut found = Vec::new();
    for category in 1..categories.len() {
        let here = At::new(function, &rows.with_category(feature, category)?);
        let difference = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a - b).collect::<Vec<f64>>();
        found.push(Found {
            column: name.clone(),
            versus: Some((categories[category].clone(), categories[0].clone())),
            values: (0..here.values.cols()).map(|t| difference(here.values.col(t), base.values.col(t))).collect(),
            average: difference(&here.average, &base.average),
        });
    }
    Ok(found)
}

/// f at some rows, and the average of its basis there.
struct At {
    values: Matrix,
    average: Vec<f64>,
}

impl At {
    fn new(function: &Function<'_>, new: &Points) -> Self {
        let kernel = &**function.model.kernel();
        let (values, average) = match &function.basis {
            Basis::Kernel { points, alpha } if function.wants_averages => {
                (space::evaluate(kernel, points, alpha, new), space::mean_over(kernel, points, new, None))
            }
            Basis::Kernel { points, alpha } => (space::evaluate(kernel, points, alpha, new), Vec::new()),
            Basis::Linear { coefficients } => {
                let mean = |k: usize| new.feature(k).iter().sum::<f64>() / new.rows() as f64;
                (linear_values(coefficients, new), (0..new.features()).map(mean).collect())
            }
        };
        At { values, average }
    }
}
