//! Logarithms of skewed columns: a few large values otherwise decide the lengthscale, and all others look alike.

use super::encoder::mean_and_deviation;

/// log(1 + t) with t = (x − origin)/unit, with the sign of the unit; for t < 0, which training rows do not have, t itself:
/// a rising function of every number, smooth at its origin.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Logarithm {
    /// The end of the training range from which the column thins out.
    pub origin: f64,
    /// The distance of the median (or, where that is none, of the mean) from there; negative where the column thins out
    /// downwards.
    pub unit: f64,
}

/// Columns whose skewness exceeds this become logarithms.
const SKEWED: f64 = 1.0;
/// Columns with fewer different values are codes rather than sizes.
const FEWEST: usize = 5;

impl Logarithm {
    /// The function's value.
    pub fn of(self, x: f64) -> f64 {
        let t = x / self.unit - self.origin / self.unit;
        let value = if t < 0.0 { t } else { libm::log1p(t) };
        if self.unit < 0.0 { -value } else { value }
    }

    /// Its derivative where it has this value: 1/(|unit|(1 + t)), and 1/|unit| for t < 0.
    pub fn slope_at_value(self, value: f64) -> f64 {
        let log = if self.unit < 0.0 { -value } else { value };
        libm::exp(-log.max(0.0)) / self.unit.abs()
    }

    /// For values with their weights; `None` where they are not skewed.
    pub(super) fn for_skewed(values: &[(f64, f64)]) -> Option<Self> {
        let (mean, deviation) = mean_and_deviation(|| values.iter().copied());
        let total: f64 = values.iter().map(|(_, w)| w).sum();
        let skewness: f64 = values.iter().map(|(x, w)| ((x - mean) / deviation).powi(3) * (w / total)).sum();
        let mut sorted = values.to_vec();
        sorted.sort_by(|a, b| a.0.total_cmp(&b.0));
        let different = 1 + sorted.windows(2).filter(|pair| pair[0].0 < pair[1].0).count();
        if !(skewness.abs() > SKEWED) || different < FEWEST {
            return None;
        }
        let mut below = 0.0;
        let median = sorted.iter().find(|(_, w)| {
            below += w;
            below >= 0.5 * total
        })?;
        let origin = if skewness > 0.0 { sorted.first()?.0 } else { sorted.last()?.0 };
        let unit = if median.0 == origin { mean - origin } else { median.0 - origin };
        (unit.is_normal() && origin.is_finite()).then_some(Logarithm { origin, unit })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn skewed_columns_of_either_side_lose_their_skewness_and_keep_their_order() {
        let values: Vec<(f64, f64)> = (0..201).map(|i| (libm::exp(0.02 * f64::from(i)), 1.0)).collect();
        let mirrored: Vec<(f64, f64)> = values.iter().map(|(x, w)| (-x, *w)).collect();
        let [up, down] = [&values, &mirrored].map(|values| Logarithm::for_skewed(values).unwrap());
        assert!(up.unit > 0.0 && down.unit < 0.0);
        for (x, _) in &values {
            assert!((up.of(*x) + down.of(-x)).abs() < 1e-12);
        }
        // log(1 + t) by hand, a straight line before its origin.
        assert!((up.of(up.origin + 3.0 * up.unit) - libm::log(4.0)).abs() < 1e-12);
        assert!((up.of(up.origin - up.unit) + 1.0).abs() < 1e-12);
        let logs: Vec<(f64, f64)> = values.iter().map(|(x, w)| (up.of(*x), *w)).collect();
        assert!(logs.windows(2).all(|pair| pair[0].0 < pair[1].0));
        assert_eq!(Logarithm::for_skewed(&logs), None);
    }

    #[test]
    fn codes_and_even_columns_stay_as_they_are() {
        let even: Vec<(f64, f64)> = (0..100).map(|i| (f64::from(i), 1.0)).collect();
        assert_eq!(Logarithm::for_skewed(&even), None);
        let flag: Vec<(f64, f64)> = (0..100).map(|i| (f64::from(u8::from(i == 0)), 1.0)).collect();
        assert_eq!(Logarithm::for_skewed(&flag), None);
        assert_eq!(Logarithm::for_skewed(&[(1.0, 1.0); 50]), None);
        // Mostly zeros: the mean gives the unit.
        let rare: Vec<(f64, f64)> = (0..100).map(|i| (f64::from((i - 80).max(0)), 1.0)).collect();
        assert!(Logarithm::for_skewed(&rare).is_some_and(|log| log.origin == 0.0 && log.unit > 1.0));
    }
}
