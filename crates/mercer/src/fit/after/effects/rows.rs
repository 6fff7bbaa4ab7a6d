//! The rows at which effects are taken.

use crate::base::error::{Error, Result};
use crate::data::Points;
use crate::data::{Encoder, Feature, Frame, Missing, TextAs};
use crate::fit::after::training::Training;
use crate::linalg::Matrix;
use crate::model::{Expansion, Model};

/// Encoded rows, and what is behind them as far as it is known.
pub(super) struct Rows<'a> {
    encoder: &'a Encoder,
    /// What the kernel sees.
    pub points: Points,
    /// The scaled features before clamping, a learned metric or monomials.
    pub scaled: Option<Matrix>,
    codes: Vec<Vec<u32>>,
    /// For each row of the table, whether it is among them.
    complete: Vec<bool>,
}

impl<'a> Rows<'a> {
    /// The rows of a table without missing cells (where those are not filled in).
    pub fn of_frame(model: &'a Model, frame: &Frame) -> Result<Self> {
        let encoder = &model.encoder;
        let mut complete = vec![true; frame.rows()];
        if encoder.missing == Missing::Drop {
            for name in encoder.columns() {
                let column = frame.column(name)?;
                complete.iter_mut().enumerate().for_each(|(row, whole)| *whole &= !column.is_missing(row));
            }
        } else {
            // Refuses what prediction refuses.
            encoder.encode(frame)?;
        }
        let kept: Vec<usize> = (0..frame.rows()).filter(|row| complete[*row]).collect();
        if kept.is_empty() {
            return Err(Error::Empty(
                "there is no row without a missing cell at which an effect could be taken".into(),
            ));
        }
        let (scaled, codes) = encoder.scaled_rows(frame, &kept, None)?;
        let points = to_points(encoder, &scaled, codes.clone())?;
        Ok(Rows { encoder, points, scaled: Some(scaled), codes, complete })
    }

    /// The model's own points, or the training rows that were given in their place.
    pub fn of_points(model: &'a Model, training: Option<&Training>) -> Result<Self> {
        let encoder = &model.encoder;
        if let (None, Expansion::Kernel { points, .. }) = (training, &model.expansion)
            && let Some(what) = model.points_are_not_its_rows(points.rows())
        {
            let must = format!("given: the model holds {what}, which are not a sample of its rows");
            return Err(Error::argument("a table at whose rows the effects are taken", must, "none"));
        }
        let points = match (training, &model.expansion) {
            (Some(training), _) => training.points.clone(),
            (None, Expansion::Kernel { points, .. }) if points.rows() > 0 => points.clone(),
            _ => {
                let must = "given: the model holds no rows of its own";
                return Err(Error::argument("a table at whose rows the effects are taken", must, "none"));
            }
        };
        let is_seen_through = encoder.projection.is_some() || encoder.degree > 1;
        let needs_scaled = encoder.features.iter().any(|feature| {
            matches!(feature, Feature::Text { .. } | Feature::Number { log: Some(_), .. }) || encoder.degree > 1
        });
        if is_seen_through && needs_scaled {
            let must = "given: the model's own rows cannot be read back through its learned metric or its monomials";
            return Err(Error::argument("a table at whose rows the effects are taken", must, "none"));
        }
        let scaled = (!is_seen_through).then(|| points.to_matrix());
        let codes = (0..points.code_columns()).map(|j| points.codes(j).to_vec()).collect();
        let complete = vec![true; points.rows()];
        Ok(Rows { encoder, points, scaled, codes, complete })
    }

    /// How many there are.
    pub fn used(&self) -> usize {
        self.points.rows()
    }

    /// The scaled features of one row.
    pub fn scaled_row(&self, row: usize) -> Option<Vec<f64>> {
        self.scaled.as_ref().map(|scaled| (0..scaled.cols()).map(|f| scaled.get(row, f)).collect())
    }

    /// The same rows with a category of a text column (a feature of the encoder) set throughout.
    pub fn with_category(&self, feature: usize, category: usize) -> Result<Points> {
        let (mut at, mut code_column) = (0, 0);
        for before in &self.encoder.features[..feature] {
            match before {
                Feature::Number { .. } => at += 1,
                Feature::Text { categories, text_as: TextAs::OneHot, .. } => at += categories.len(),
                Feature::Text { text_as: TextAs::Equality, .. } => code_column += 1,
            }
        }
        let no_rows = || Error::Empty("the rows behind a learned metric are not known".into());
        let mut scaled = self.scaled.clone().ok_or_else(no_rows)?;
        let mut codes = self.codes.clone();
        match &self.encoder.features[feature] {
            Feature::Text { categories, text_as: TextAs::OneHot, .. } => {
                for c in 0..categories.len() {
                    scaled.col_mut(at + c).fill(f64::from(u8::from(c == category)));
                }
            }
            _ => codes[code_column].fill(category as u32),
        }
        to_points(self.encoder, &scaled, codes)
    }

    /// Values of the rows in use, in the order of the table; NaN for the others.
    pub fn spread(&self, values: &[f64]) -> Vec<f64> {
        let mut values = values.iter();
        self.complete
            .iter()
            .map(|used| if *used { values.next().copied().unwrap_or(f64::NAN) } else { f64::NAN })
            .collect()
    }
}

fn to_points(encoder: &Encoder, scaled: &Matrix, codes: Vec<Vec<u32>>) -> Result<Points> {
    let mut scaled = scaled.clone();
    if encoder.nonnegative {
        scaled.as_mut_slice().iter_mut().for_each(|x| *x = x.max(0.0));
    }
    encoder.to_points(scaled, codes)
}
