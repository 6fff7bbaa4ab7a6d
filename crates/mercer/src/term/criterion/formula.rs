//! Criteria that are formulas in the training error R, the share p = tr H/n of the degrees of freedom, and sums over
//! the spectrum. n is the number of rows, also when rows have weights.

/// A criterion without held-out rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Formula {
    /// Generalised cross-validation.
    Gcv,
    /// Akaike's final prediction error.
    Fpe,
    /// Akaike's information criterion.
    Aic,
    /// The same, corrected for few rows.
    Aicc,
    /// The Bayesian information criterion.
    Bic,
    /// Schwarz's criterion as a factor on R.
    Schwarz,
    /// Shibata's model selector.
    Shibata,
    /// Vapnik's measure.
    Vapnik,
    /// Mallows's Cp, as an error.
    Mallows,
    /// Twice the negative logarithm of the evidence, the scale of the process at its best.
    Likelihood,
    /// The same without what the offset takes.
    Restricted,
    /// The direct eigenvalue estimator of Chapelle, Vapnik and Bengio, for ridge fits: a least-squares fit's ratio of
    /// expected test and training error, with the ridge fit's traces in the place of a projection's.
    Dee,
}

/// What the formulas are made of, at one point of the path.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Facts {
    /// Number of rows.
    pub rows: f64,
    /// R.
    pub train_mse: f64,
    /// tr H, the offset counted.
    pub dof: f64,
    /// σ² of the fit with the least gcv.
    pub noise: f64,
    /// yᵀG⁻¹y per unit of weight, ln det G, and ln det G on the directions that the offset leaves.
    pub quadratic: f64,
    /// ln det G.
    pub log_det: f64,
    /// ln det of G on the directions that the offset leaves.
    pub log_det_reduced: f64,
    /// Whether there is an offset.
    pub offset: bool,
    /// tr SᵀS/u and tr (I − H)²/n.
    pub spread_new: f64,
    /// tr (I − H)²/n.
    pub left_train: f64,
}

impl Formula {
    /// Its name in a spec.
    pub fn name(self) -> &'static str {
        match self {
            Formula::Gcv => "gcv",
            Formula::Fpe => "fpe",
            Formula::Aic => "aic",
            Formula::Aicc => "aicc",
            Formula::Bic => "bic",
            Formula::Schwarz => "schwarz",
            Formula::Shibata => "shibata",
            Formula::Vapnik => "vapnik",
            Formula::Mallows => "mallows",
            Formula::Likelihood => "likelihood",
            Formula::Restricted => "reml",
            Formula::Dee => "dee",
        }
    }

    /// Whether the value is a mean squared error.
    pub fn is_squared_error(self) -> bool {
        !matches!(self, Formula::Aic | Formula::Aicc | Formula::Bic | Formula::Likelihood | Formula::Restricted)
    }

    /// Whether the criterion falls without end towards interpolation, where R vanishes faster than 1 − p: then its minimum
    /// is the lowest of its valleys, not that end.
    pub fn favours_interpolation(self) -> bool {
        matches!(self, Formula::Fpe | Formula::Aic | Formula::Bic | Formula::Schwarz | Formula::Shibata)
    }

    /// The criterion's value; infinite where it excludes the model.
    pub fn value(self, facts: &Facts) -> f64 {
        let Facts { rows: n, train_mse: r, dof, .. } = *facts;
        let p = dof / n;
        let left = 1.0 - p;
        match self {
            Formula::Gcv => bounded(left, r / (left * left)),
            Formula::Fpe => bounded(left, r * (1.0 + p) / left),
            Formula::Aic => n * libm::log(r) + 2.0 * dof,
            Formula::Aicc => {
                let room = n - dof - 1.0;
                bounded(room, n * libm::log(r) + 2.0 * dof + 2.0 * dof * (dof + 1.0) / room)
            }
            Formula::Bic => n * libm::log(r) + libm::log(n) * dof,
            Formula::Schwarz => bounded(left, r * (1.0 + libm::log(n) / 2.0 * p / left)),
            Formula::Shibata => r * (1.0 + 2.0 * p),
            Formula::Vapnik => {
                let entropy = if p > 0.0 { p - p * libm::log(p) } else { 0.0 };
                let room = 1.0 - (entropy + libm::log(n) / (2.0 * n)).max(0.0).sqrt();
                bounded(room, r / room)
            }
            Formula::Mallows => r + 2.0 * facts.noise * p,
            Formula::Likelihood => n * libm::log(facts.quadratic / n) + facts.log_det,
            Formula::Restricted => {
                let m = n - f64::from(facts.offset);
                m * libm::log(facts.quadratic / m) + facts.log_det_reduced
            }
            Formula::Dee => bounded(facts.left_train, r * (1.0 + facts.spread_new) / facts.left_train),
        }
    }
}

/// Infinite where the room that a formula divides by is used up (to rounding).
fn bounded(room: f64, value: f64) -> f64 {
    if room > 1e-10 { value } else { f64::INFINITY }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// n = 10, tr H = 2, R = 3: by hand.
    #[test]
    fn values_known_by_hand() {
        let facts = Facts {
            rows: 10.0,
            train_mse: 3.0,
            dof: 2.0,
            noise: 4.0,
            quadratic: 20.0,
            log_det: 1.5,
            log_det_reduced: 1.25,
            offset: true,
            spread_new: 0.5,
            left_train: 0.75,
        };
        let ln10 = 10.0_f64.ln();
        let expected = [
            (Formula::Gcv, 3.0 / 0.64),
            (Formula::Fpe, 3.0 * 1.2 / 0.8),
            (Formula::Aic, 10.0 * 3.0_f64.ln() + 4.0),
            (Formula::Aicc, 10.0 * 3.0_f64.ln() + 4.0 + 12.0 / 7.0),
            (Formula::Bic, 10.0 * 3.0_f64.ln() + 2.0 * ln10),
            (Formula::Schwarz, 3.0 * (1.0 + ln10 / 2.0 * 0.25)),
            (Formula::Shibata, 3.0 * 1.4),
            (Formula::Vapnik, 3.0 / (1.0 - (0.2 - 0.2 * 0.2_f64.ln() + ln10 / 20.0).sqrt())),
            (Formula::Mallows, 3.0 + 1.6),
            (Formula::Likelihood, 10.0 * 2.0_f64.ln() + 1.5),
            (Formula::Restricted, 9.0 * (20.0_f64 / 9.0).ln() + 1.25),
            (Formula::Dee, 3.0 * 1.5 / 0.75),
        ];
        for (formula, value) in expected {
            assert!((formula.value(&facts) - value).abs() < 1e-12, "{formula:?}");
        }
        assert_eq!(Formula::Gcv.value(&Facts { dof: 10.0, ..facts }), f64::INFINITY);
        assert_eq!(Formula::Vapnik.value(&Facts { dof: 9.0, ..facts }), f64::INFINITY);
    }
}
