//! The coefficients of linear models, on the features as the model scales them and in the units of the table.

use mercer::data::{Feature, TextAs};
use mercer::{Model, Summary};
use serde_json::{Map, Value, json};

/// xᵀw + b.
pub struct Linear {
    /// On scaled features.
    pub scaled: Vec<(String, f64)>,
    /// In the units of the table, with the offset that belongs to them; `None` if a learned map stands between.
    pub raw: Option<(Vec<(String, f64)>, f64)>,
}

/// Of the model of target `t`, if it is a linear function.
pub fn of(model: &Model, t: usize, summary: &Summary) -> Option<Linear> {
    if model.kernel().linear_scale().is_none() || model.points() > 0 {
        return None;
    }
    let encoder = model.encoder();
    let weights = model.coefficients(t);
    let names = encoder.column_names();
    if encoder.projection.is_some() || weights.len() != names.len() {
        return None;
    }
    let scaled: Vec<(String, f64)> = names.into_iter().zip(weights.iter().copied()).collect();
    if encoder.degree > 1 {
        let is_plain = |feature: &Feature| matches!(feature, Feature::Number { shift: 0.0, scale: 1.0, log: None, .. });
        let raw = encoder.features.iter().all(is_plain).then(|| (scaled.clone(), summary.intercept));
        return Some(Linear { scaled, raw });
    }
    let mut raw = Vec::with_capacity(scaled.len());
    let mut offset = summary.intercept;
    let mut rest = scaled.iter();
    for feature in &encoder.features {
        match feature {
            Feature::Number { shift, scale, .. } => {
                let (name, weight) = rest.next()?;
                raw.push((name.clone(), weight / scale));
                offset -= weight * (shift / scale);
            }
            Feature::Text { categories, text_as: TextAs::OneHot, .. } => {
                raw.extend(rest.by_ref().take(categories.len()).cloned());
            }
            Feature::Text { .. } => {}
        }
    }
    // Values below the training range are moved into it where the kernel asks for it: not linear any more.
    let is_finite = offset.is_finite() && raw.iter().all(|(_, weight)| weight.is_finite());
    let raw = (is_finite && !encoder.nonnegative && !encoder.has_logarithms()).then_some((raw, offset));
    Some(Linear { scaled, raw })
}

impl Linear {
    pub fn to_json(&self) -> Map<String, Value> {
        let object = |list: &[(String, f64)]| -> Value {
            Value::Object(list.iter().map(|(name, weight)| (name.clone(), json!(weight))).collect())
        };
        let mut map = Map::new();
        map.insert("coefficients".into(), object(&self.scaled));
        if let Some((raw, offset)) = &self.raw {
            map.insert("coefficients_raw".into(), object(raw));
            map.insert("intercept_raw".into(), json!(offset));
        }
        map
    }
}
