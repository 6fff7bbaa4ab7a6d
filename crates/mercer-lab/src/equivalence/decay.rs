//! How fast something falls with n: log C(n) = a − s log n by least squares.

/// The fitted power law C(n) ≈ eᵃ n⁻ˢ.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Decay {
    /// s.
    pub exponent: f64,
    /// The standard error of s.
    pub standard_error: f64,
    /// a.
    pub log_level: f64,
    /// Points that were used.
    pub points: usize,
}

impl Decay {
    /// Through points (n, C) with C > 0; nothing with fewer than three of them or a single n.
    pub fn fit(points: &[(f64, f64)]) -> Option<Self> {
        let logs: Vec<(f64, f64)> =
            points.iter().filter(|(n, c)| *n > 0.0 && *c > 0.0).map(|(n, c)| (n.ln(), c.ln())).collect();
        let count = logs.len() as f64;
        let mean = |of: &dyn Fn(&(f64, f64)) -> f64| logs.iter().map(of).sum::<f64>() / count;
        let (x, y) = (mean(&|p| p.0), mean(&|p| p.1));
        let spread: f64 = logs.iter().map(|p| (p.0 - x) * (p.0 - x)).sum();
        if logs.len() < 3 || !(spread > 1e-12) {
            return None;
        }
        let slope = logs.iter().map(|p| (p.0 - x) * (p.1 - y)).sum::<f64>() / spread;
        let left: f64 = logs.iter().map(|p| p.1 - y - slope * (p.0 - x)).map(|r| r * r).sum();
        Some(Decay {
            exponent: -slope,
            standard_error: (left / (count - 2.0) / spread).sqrt(),
            log_level: y - slope * x,
            points: logs.len(),
        })
    }

    /// Whether C(n) falls: s is above 0 by more than two standard errors.
    pub fn falls(&self) -> bool {
        self.exponent > 2.0 * self.standard_error && self.exponent > 0.05
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn power_laws_and_a_line_by_hand() {
        let exact: Vec<(f64, f64)> = [10.0, 20.0, 40.0, 80.0].map(|n: f64| (n, 3.0 * n.powf(-1.5))).to_vec();
        let decay = Decay::fit(&exact).unwrap();
        assert!((decay.exponent - 1.5).abs() < 1e-12 && decay.standard_error < 1e-7 && decay.falls());
        assert!((decay.log_level.exp() - 3.0).abs() < 1e-10);
        // x = 0, 1, 2 and y = 0, 1, 0: slope 0, residuals −1/3, 2/3, −1/3, so the error is √((6/9)/1/2).
        let bent = [0.0, 1.0, 2.0].map(f64::exp).into_iter().zip([1.0, 1.0_f64.exp(), 1.0]).collect::<Vec<_>>();
        let decay = Decay::fit(&bent).unwrap();
        assert!(decay.exponent.abs() < 1e-12 && (decay.standard_error - (1.0_f64 / 3.0).sqrt()).abs() < 1e-12);
        assert!(!decay.falls());
        assert!(Decay::fit(&exact[..2]).is_none() && Decay::fit(&[(5.0, 1.0); 4]).is_none());
    }
}
