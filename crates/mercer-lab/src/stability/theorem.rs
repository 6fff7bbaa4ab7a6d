//! What is assumed, and what follows from it for every training set and every point.

use mercer::loss::{Reads, SharedLoss};
use mercer::solver::deletion::Divisor;
use mercer::{Error, Result};

/// A problem (1/n) Σ ℓ(yᵢ, f(xᵢ)) + λ‖f‖ᵐ without offset, with bounds that must hold for every row there can be.
#[derive(Debug, Clone)]
pub struct Assumptions {
    /// n.
    pub rows: usize,
    /// m.
    pub exponent: f64,
    /// λ.
    pub lambda: f64,
    /// C_y: |y| never exceeds it.
    pub target_bound: f64,
    /// κ: k(x, x) never exceeds κ².
    pub kernel_bound: f64,
    /// ℓ, the loss that is minimised.
    pub loss: SharedLoss,
}

impl Assumptions {
    /// Refuses what no problem can have.
    pub fn check(&self) -> Result<()> {
        let positive = |x: f64| x > 0.0 && x.is_finite();
        let rules = [
            ("the number of rows", "at least 2", self.rows as f64, self.rows >= 2),
            ("exponent", "above 0 (from 0.001 to 1000)", self.exponent, (1e-3..=1000.0).contains(&self.exponent)),
            ("lambda", "above 0 and finite", self.lambda, positive(self.lambda)),
            (
                "the bound of |y|",
                "finite and at least 0",
                self.target_bound,
                (0.0..=f64::MAX).contains(&self.target_bound),
            ),
            ("the bound of k(x, x)", "above 0 and finite", self.kernel_bound, positive(self.kernel_bound)),
        ];
        if let Some((name, must, got, _)) = rules.into_iter().find(|(_, _, _, holds)| !holds) {
            return Err(Error::argument(name, must, got));
        }
        match self.loss.reads() {
            Reads::Number => Ok(()),
            Reads::Label => Err(Error::argument("the loss", "one of numbers, such as squared", self.loss.spec())),
        }
    }

    /// Whether ℓ is the squared loss, of which stability speaks.
    pub fn is_squared(&self) -> bool {
        self.loss.spec() == "squared"
    }

    /// ln Λ.
    fn log_norm_bound(&self) -> f64 {
        let worst = [self.target_bound, -self.target_bound].map(|y| self.loss.value(y, 0.0));
        (libm::log(worst[0].max(worst[1])) - libm::log(self.lambda)) / self.exponent
    }

    /// Λ = (max ℓ(y, 0)/λ)^(1/m): no minimiser has a larger norm, since f = 0 would have been better.
    pub fn norm_bound(&self) -> f64 {
        libm::exp(self.log_norm_bound())
    }

    /// M = C_y + κΛ: |y − f(x)| never exceeds it.
    pub fn residual_bound(&self) -> f64 {
        self.target_bound + self.kernel_bound * self.norm_bound()
    }

    /// C = 2M: the squared loss changes by at most C times the change of f(x).
    pub fn lipschitz(&self) -> f64 {
        2.0 * self.residual_bound()
    }

    /// The published bound β = Cκ(2^(m−2)Cκ/(λn))^(1/(m−1)), for m ≥ 2 and the deletion that keeps 1/n.
    pub fn published_bound(&self) -> Option<f64> {
        if !self.is_squared() || self.exponent < 2.0 {
            return None;
        }
        let change = self.lipschitz() * self.kernel_bound;
        let log = (self.exponent - 2.0) * std::f64::consts::LN_2 + libm::log(change)
            - libm::log(self.lambda)
            - libm::log(self.rows as f64);
        Some(change * libm::exp(log / (self.exponent - 1.0)))
    }

    /// A bound of ‖f − f₋ᵢ‖ for every training set and row, m > 1 (derived in docs/stability.md):
    ///
    /// > m ≥ 2: ((2^(m−2)/n)·(Cκ/(mλ) + S))^(1/(m−1)); 1 < m ≤ 2: Λ^(2−m)/((m−1)n)·(Cκ/(mλ) + S)
    ///
    /// with S = 0 where 1/n is kept and S = min(Λ^(m−1), 2κC_y/(mλ)) where the mean is taken over the n − 1 rows that are
    /// left. For m ≥ 2 neither exceeds the published bound, which therefore covers both deletions.
    pub fn norm_change_bound(&self, divisor: Divisor) -> Option<f64> {
        let m = self.exponent;
        if !self.is_squared() || m <= 1.0 {
            return None;
        }
        let log_norm = self.log_norm_bound();
        let pull = libm::log(self.lipschitz() * self.kernel_bound) - libm::log(m) - libm::log(self.lambda);
        let both = match divisor {
            Divisor::All => pull,
            Divisor::Remaining => {
                let sloped =
                    libm::log(2.0 * self.kernel_bound * self.target_bound) - libm::log(m) - libm::log(self.lambda);
                log_sum(pull, sloped.min((m - 1.0) * log_norm))
            }
        };
        let each = both - libm::log(self.rows as f64);
        Some(if m >= 2.0 {
            libm::exp(((m - 2.0) * std::f64::consts::LN_2 + each) / (m - 1.0))
        } else {
            libm::exp((2.0 - m) * log_norm - libm::log(m - 1.0) + each)
        })
    }

    /// β: the squared loss at any point changes by at most this when any row is left out; m > 1.
    pub fn bound(&self, divisor: Divisor) -> Option<f64> {
        self.norm_change_bound(divisor).map(|change| self.lipschitz() * self.kernel_bound * change)
    }

    /// s in β = O(n^(−s)): 1/(m − 1) for m ≥ 2, and 1 below.
    pub fn rate(&self) -> Option<f64> {
        (self.exponent > 1.0).then(|| 1.0 / (self.exponent - 1.0).max(1.0))
    }

    /// The same with another number of rows.
    pub fn with_rows(&self, rows: usize) -> Self {
        Assumptions { rows, ..self.clone() }
    }
}

/// ln(eᵃ + eᵇ).
fn log_sum(a: f64, b: f64) -> f64 {
    let largest = a.max(b);
    if largest == f64::NEG_INFINITY { largest } else { mercer::linalg::log_sum_exp(&[a, b]) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mercer::loss::residual::Squared;
    use std::sync::Arc;

    fn assume(exponent: f64) -> Assumptions {
        // Λ = (4/0.25)^(1/m): 4 for m = 2, 2 for m = 4, 16^(2/3) for m = 1.5.
        Assumptions { rows: 100, exponent, lambda: 0.25, target_bound: 2.0, kernel_bound: 0.5, loss: Arc::new(Squared) }
    }

    fn close(a: f64, b: f64) {
        assert!((a - b).abs() <= 1e-13 * b.abs(), "{a} against {b}");
    }

    #[test]
    fn bounds_by_hand() {
        let ridge = assume(2.0);
        // M = 2 + ½·4 = 4, C = 8, Cκ = 4: β = 16/(¼·100), half of it ours, and S = Λ = 2κC_y/(2λ) = 4 beside Cκ/(2λ) = 8.
        close(ridge.norm_bound(), 4.0);
        close(ridge.residual_bound(), 4.0);
        close(ridge.published_bound().unwrap(), 0.64);
        close(ridge.bound(Divisor::All).unwrap(), 0.32);
        close(ridge.bound(Divisor::Remaining).unwrap(), 4.0 * 12.0 / 100.0);
        let four = assume(4.0);
        // M = 3, C = 6, Cκ = 3: 3·(4·3/25)^(1/3), ours with 4 in the denominator; S = 2κC_y/(4λ) = 2 beside 3/(4·¼) = 3.
        close(four.published_bound().unwrap(), 3.0 * libm::cbrt(0.48));
        close(four.bound(Divisor::All).unwrap(), 3.0 * libm::cbrt(0.12));
        close(four.bound(Divisor::Remaining).unwrap(), 3.0 * libm::cbrt(0.04 * 5.0));
        let low = assume(1.5);
        let norm = libm::pow(16.0, 2.0 / 3.0);
        let change = 2.0 * (2.0 + 0.5 * norm) * 0.5;
        close(low.bound(Divisor::All).unwrap(), change * norm.sqrt() / 50.0 * change / 0.375);
        let with = change / 0.375 + norm.sqrt();
        close(low.bound(Divisor::Remaining).unwrap(), change * norm.sqrt() / 50.0 * with);
        assert!(low.published_bound().is_none() && assume(1.0).bound(Divisor::All).is_none());
    }

    #[test]
    fn the_two_formulas_meet_at_two_and_extremes_stay_numbers() {
        for divisor in [Divisor::All, Divisor::Remaining] {
            let at = |m: f64| assume(m).bound(divisor).unwrap();
            assert!((at(2.0 - 1e-9) - at(2.0 + 1e-9)).abs() < 1e-7 * at(2.0));
        }
        assert_eq!((assume(3.0).rate(), assume(1.5).rate(), assume(0.9).rate()), (Some(0.5), Some(1.0), None));
        let far = Assumptions { lambda: 1e-200, target_bound: 1e150, ..assume(1000.0) };
        assert!(far.bound(Divisor::Remaining).unwrap().is_finite());
        let zero = Assumptions { target_bound: 0.0, ..assume(3.0) };
        assert_eq!((zero.norm_bound(), zero.bound(Divisor::All), zero.published_bound()), (0.0, Some(0.0), Some(0.0)));
        assert!(zero.check().is_ok() && Assumptions { rows: 1, ..zero }.check().is_err());
    }
}
