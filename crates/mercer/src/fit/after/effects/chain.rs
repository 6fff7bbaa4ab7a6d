//! From derivatives by what the kernel sees to derivatives by the table's columns.

use crate::base::error::Result;
use crate::data::monomials;
use crate::data::{Encoder, Feature, TextAs};
use crate::linalg::Matrix;

/// The chain rule through scaling, logarithms, clamping, and a learned metric or monomials.
pub(super) struct Chain<'a> {
    encoder: &'a Encoder,
    /// The columns of numbers.
    pub columns: Vec<String>,
    /// For every column of numbers that is read as such (perhaps twice): its place among the scaled features, its feature,
    /// and its place in `columns`.
    numbers: Vec<(usize, &'a Feature, usize)>,
    terms: Option<Vec<Vec<(usize, usize)>>>,
}

impl<'a> Chain<'a> {
    pub fn new(encoder: &'a Encoder) -> Result<Self> {
        let (mut columns, mut numbers, mut at) = (Vec::<String>::new(), Vec::new(), 0);
        for feature in &encoder.features {
            match feature {
                Feature::Number { name, .. } => {
                    let known = columns.iter().position(|column| column == name);
                    let place = known.unwrap_or_else(|| {
                        columns.push(name.clone());
                        columns.len() - 1
                    });
                    numbers.push((at, feature, place));
                    at += 1;
                }
                Feature::Text { categories, text_as: TextAs::OneHot, .. } => at += categories.len(),
                Feature::Text { text_as: TextAs::Equality, .. } => {}
            }
        }
        let monomials = || monomials::monomials(encoder.width(), encoder.degree, usize::MAX);
        let terms = if encoder.degree > 1 { Some(monomials()?) } else { None };
        Ok(Chain { encoder, columns, numbers, terms })
    }

    /// Whether it is the same at every row.
    pub fn is_constant(&self) -> bool {
        self.terms.is_none() && !self.encoder.nonnegative && !self.encoder.has_logarithms()
    }

    /// ∂(what the kernel sees)/∂(columns of numbers), columns × points' features, at a row with these scaled features.
    pub fn at(&self, scaled: Option<&[f64]>) -> Matrix {
        let mut chain = Matrix::zeros(self.columns.len(), self.encoder.points_width());
        for (place, feature, column) in &self.numbers {
            let value = scaled.map_or(0.0, |row| row[*place]);
            let slope = self.slope(feature, value);
            match (&self.encoder.projection, &self.terms) {
                (Some(projection), _) => {
                    for k in 0..projection.cols() {
                        chain.set(*column, k, chain.get(*column, k) + slope * projection.get(*place, k));
                    }
                }
                (None, Some(terms)) => {
                    for (k, term) in terms.iter().enumerate() {
                        let partial = scaled.map_or(0.0, |row| partial(term, *place, row));
                        chain.set(*column, k, chain.get(*column, k) + slope * partial);
                    }
                }
                (None, None) => chain.set(*column, *place, chain.get(*column, *place) + slope),
            }
        }
        chain
    }

    /// ∂(scaled feature)/∂(cell).
    fn slope(&self, feature: &Feature, value: f64) -> f64 {
        let Feature::Number { log, shift, scale, .. } = feature else { return 0.0 };
        if self.encoder.nonnegative && value < 0.0 {
            // Clamped to the end of the training range.
            return 0.0;
        }
        log.map_or(1.0, |log| log.slope_at_value(value * scale + shift)) / scale
    }
}

/// ∂(Π xⱼ^eⱼ)/∂x_place.
fn partial(term: &[(usize, usize)], place: usize, row: &[f64]) -> f64 {
    if term.iter().all(|(column, _)| *column != place) {
        return 0.0;
    }
    term.iter()
        .map(|(column, exponent)| {
            if *column == place {
                *exponent as f64 * libm::pow(row[*column], *exponent as f64 - 1.0)
            } else {
                libm::pow(row[*column], *exponent as f64)
            }
        })
        .product()
}
