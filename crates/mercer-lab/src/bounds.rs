//! What can be said of the risk E ℓ(y, f(x)) of a fitted function with a confidence, over the draw of the training rows.
//!
//! Rademacher bounds hold for all functions of a ball ‖f‖ ≤ Λ at once. With |y − f(x)| ≤ M on that ball, the loss
//! L-Lipschitz and at most B there, r² ≥ k(x, x), and probability at least 1 − δ:
//!
//! > R ≤ R̂ + 2L·rΛ/√n + B√(ln(1/δ)/2n) and R ≤ R̂ + 2L·Λ√(tr K)/n + 3B√(ln(2/δ)/2n)
//!
//! Squared loss: L = 2M, B = M²; ε-insensitive: L = 1, B = M − ε; its square: L = 2(M − ε), B = (M − ε)². Λ must not depend
//! on the rows. The penalty guarantees one, (max ℓ(y, 0)/λ)^(1/m); ‖f‖ itself is not allowed, but doubling balls are:
//! Λⱼ = 2ʲC_y/κ with δⱼ = δ/((j + 1)(j + 2)), Σδⱼ = δ, hold all at once, and the smallest that contains f may be taken.
//! Of the bounds here that one alone survives a λ and an exponent chosen on the same rows.
//!
//! A β-stable algorithm with a loss of at most B has R ≤ R̂ + 2β + (4nβ + B)√(ln(1/δ)/2n) (Bousquet and Elisseeff).

use mercer::loss::Loss;
use mercer::solver::deletion::Divisor;
use mercer::{Error, Result};

use crate::stability::Assumptions;

/// Which inequality.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Rademacher, rΛ/√n, Λ from the penalty.
    Radius,
    /// Rademacher, Λ√(tr K)/n, Λ from the penalty.
    Trace,
    /// Rademacher with the trace, Λ the smallest of doubling balls.
    Doubling,
    /// Rademacher with the trace and Λ = ‖f‖, which depends on the rows: not a bound.
    Optimistic,
    /// Uniform stability.
    Stability,
}

impl Kind {
    /// Every kind, in the order in which they are shown.
    pub const ALL: [Kind; 5] = [Kind::Radius, Kind::Trace, Kind::Doubling, Kind::Stability, Kind::Optimistic];

    /// As it is called in a table.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Radius => "Rademacher, radius",
            Kind::Trace => "Rademacher, trace",
            Kind::Doubling => "Rademacher, doubling balls",
            Kind::Optimistic => "optimistic: norm of f as radius, no bound",
            Kind::Stability => "stability",
        }
    }
}

/// What was measured on a fit whose assumptions are known.
#[derive(Debug, Clone)]
pub struct Evidence {
    /// The problem that f solves.
    pub assume: Assumptions,
    /// R̂, the mean of the judging loss over the training rows.
    pub train_loss: f64,
    /// The mean of the judging loss when the mean of y is predicted instead.
    pub baseline: f64,
    /// ‖f‖.
    pub norm: f64,
    /// tr K/n.
    pub mean_diagonal: f64,
    /// 1 − δ.
    pub confidence: f64,
}

/// What a bound says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// It is not below B, which no loss exceeds: nothing is said.
    Vacuous,
    /// It is not below what predicting the mean costs on the training rows.
    AboveMean,
    /// It is below both.
    Informative,
}

/// One bound of the risk.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bound {
    /// Which one.
    pub kind: Kind,
    /// Λ, where there is one.
    pub radius: Option<f64>,
    /// The bound: train loss + complexity + deviation.
    pub value: f64,
    /// What the set of functions, or the instability, costs.
    pub complexity: f64,
    /// What the confidence costs.
    pub deviation: f64,
    /// B, the largest loss.
    pub largest: f64,
    /// What it says.
    pub verdict: Verdict,
    /// The rows from which it would fall below the mean's loss, everything else equal; `None` for never.
    pub rows_needed: Option<f64>,
}

/// Lipschitz constant and largest value of a loss of residuals for |r| ≤ M; `None` for a loss of labels.
pub fn loss_bounds(loss: &dyn Loss, residual_bound: f64) -> Option<(f64, f64)> {
    let tube = loss.shape().tube()?;
    let reach = (residual_bound - tube.epsilon).max(0.0);
    let slope = match (tube.curvature > 0.0, reach > 0.0) {
        (true, _) => reach / tube.curvature,
        (false, true) => f64::INFINITY,
        // A tube wider than every residual costs nothing anywhere.
        (false, false) => 0.0,
    };
    let largest = [residual_bound, -residual_bound].map(|r| loss.value(r, 0.0));
    Some((slope.min(tube.upper.max(-tube.lower)), largest[0].max(largest[1])))
}

impl Evidence {
    /// All bounds of the risk under a loss that hold for this problem.
    pub fn bounds(&self, loss: &dyn Loss) -> Result<Vec<Bound>> {
        self.assume.check()?;
        if !(self.confidence > 0.0 && self.confidence < 1.0) {
            return Err(Error::argument("confidence", "between 0 and 1", self.confidence));
        }
        Ok(Kind::ALL.into_iter().filter_map(|kind| self.bound(kind, loss)).collect())
    }

    /// One of them; `None` where it does not apply.
    pub fn bound(&self, kind: Kind, loss: &dyn Loss) -> Option<Bound> {
        let n = self.assume.rows as f64;
        let terms = self.terms(kind, loss, n)?;
        let value = self.train_loss + terms.complexity + terms.deviation;
        let verdict = match value {
            value if value.is_nan() || (value >= terms.largest && value > 0.0) => Verdict::Vacuous,
            value if value >= self.baseline => Verdict::AboveMean,
            _ => Verdict::Informative,
        };
        let below = |n: f64| {
            let terms = self.terms(kind, loss, n);
            terms.is_some_and(|terms| self.train_loss + terms.complexity + terms.deviation < self.baseline)
        };
        let rows_needed = if below(n) { Some(n) } else { first_rows(n, below) };
        let Terms { radius, complexity, deviation, largest } = terms;
        Some(Bound { kind, radius, value, complexity, deviation, largest, verdict, rows_needed })
    }

    /// The terms with n rows, all else as it was measured.
    fn terms(&self, kind: Kind, loss: &dyn Loss, n: f64) -> Option<Terms> {
        let assume = &self.assume;
        let delta = 1.0 - self.confidence;
        let deviation = |delta: f64| (libm::log(1.0 / delta) / (2.0 * n)).sqrt();
        // rΛ/√n and Λ√(tr K)/n.
        let by_radius = |radius: f64| assume.kernel_bound * radius / n.sqrt();
        let by_trace = |radius: f64| radius * (self.mean_diagonal / n).sqrt();
        let ball = |radius: f64| loss_bounds(loss, assume.target_bound + assume.kernel_bound * radius);
        if kind == Kind::Stability {
            if !assume.is_squared() || loss.spec() != "squared" {
                return None;
            }
            let (_, largest) = ball(assume.norm_bound())?;
            // β is a power of n, so that it need not be a whole number.
            let rate = assume.rate()?;
            let beta = assume.bound(Divisor::All)? * libm::pow(assume.rows as f64 / n, rate);
            let spread = (4.0 * n * beta + largest) * deviation(delta);
            return Some(Terms { radius: None, complexity: 2.0 * beta, deviation: spread, largest });
        }
        let doublings = doublings(self.norm * assume.kernel_bound, assume.target_bound);
        let (radius, delta) = match kind {
            Kind::Doubling => {
                let j = doublings;
                (libm::exp2(j) * assume.target_bound / assume.kernel_bound, delta / ((j + 1.0) * (j + 2.0)))
            }
            Kind::Optimistic => (self.norm, delta),
            _ => (assume.norm_bound(), delta),
        };
        let (slope, largest) = ball(radius)?;
        let (complexity, deviation) = match kind {
            Kind::Radius => (2.0 * slope * by_radius(radius), largest * deviation(delta)),
            _ => (2.0 * slope * by_trace(radius), 3.0 * largest * deviation(delta / 2.0)),
        };
        Some(Terms { radius: Some(radius), complexity, deviation, largest })
    }
}

struct Terms {
    radius: Option<f64>,
    complexity: f64,
    deviation: f64,
    largest: f64,
}

/// The least whole j ≥ 0 with 2ʲC_y ≥ κ‖f‖.
fn doublings(reach: f64, target_bound: f64) -> f64 {
    if reach <= target_bound { 0.0 } else { libm::ceil(libm::log2(reach / target_bound)).max(0.0) }
}

/// The least n above `from` at which a test that only turns from false to true is true; `None` if that is beyond 10¹⁸.
fn first_rows(from: f64, holds: impl Fn(f64) -> bool) -> Option<f64> {
    let mut high = from;
    while !holds(high) {
        high *= 2.0;
        if high > 1e18 {
            return None;
        }
    }
    let mut low = high / 2.0;
    while high - low > 0.5_f64.max(1e-9 * high) {
        let middle = 0.5 * (low + high);
        if holds(middle) { high = middle } else { low = middle }
    }
    Some(high.ceil())
}

#[cfg(test)]
mod tests {
    use super::*;
    use mercer::loss;
    use mercer::loss::residual::Squared;
    use std::sync::Arc;

    /// C_y = 2, κ = ½, λ = ¼, m = 2: Λ = 4, M = 4, as in the theorem's own test.
    fn evidence() -> Evidence {
        let assume = Assumptions {
            rows: 100,
            exponent: 2.0,
            lambda: 0.25,
            target_bound: 2.0,
            kernel_bound: 0.5,
            loss: Arc::new(Squared),
        };
        // δ = e⁻², so that ln(1/δ)/2n = 0.01.
        let confidence = 1.0 - libm::exp(-2.0);
        Evidence { assume, train_loss: 0.1, baseline: 1.0, norm: 10.0, mean_diagonal: 0.16, confidence }
    }

    fn value(evidence: &Evidence, kind: Kind, spec: &str) -> f64 {
        evidence.bound(kind, &*loss::parse(spec).unwrap()[0]).unwrap().value
    }

    fn close(a: f64, b: f64) {
        assert!((a - b).abs() <= 1e-12 * b.abs(), "{a} against {b}");
    }

    #[test]
    fn bounds_by_hand() {
        let evidence = evidence();
        // 4M√(r²Λ²/n) = 16·0.2; M²·0.1.
        close(value(&evidence, Kind::Radius, "squared"), 0.1 + 3.2 + 1.6);
        // 4MΛ√(tr K)/n = 64·4/100; 3M²√((2 + ln 2)/200).
        let wide = ((2.0 + std::f64::consts::LN_2) / 200.0).sqrt();
        close(value(&evidence, Kind::Trace, "squared"), 0.1 + 2.56 + 48.0 * wide);
        // 2√(r²Λ²/n) = 0.4; M·0.1, and as in the book with ε = 0; with ε the largest loss is M − ε.
        close(value(&evidence, Kind::Radius, "epsilon-insensitive(epsilon=0)"), 0.1 + 0.4 + 0.4);
        close(value(&evidence, Kind::Radius, "epsilon-insensitive(epsilon=1)"), 0.1 + 0.4 + 0.3);
        close(value(&evidence, Kind::Trace, "epsilon-insensitive(epsilon=1)"), 0.1 + 0.32 + 9.0 * wide);
        close(value(&evidence, Kind::Radius, "squared-epsilon-insensitive(epsilon=1)"), 0.1 + 2.4 + 0.9);
        close(value(&evidence, Kind::Trace, "squared-epsilon-insensitive(epsilon=1)"), 0.1 + 1.92 + 27.0 * wide);
        // β = 0.32: 0.64 + (128 + 16)·0.1.
        close(value(&evidence, Kind::Stability, "squared"), 0.1 + 0.64 + 14.4);
        // κ‖f‖ = 5 is within 2²·C_y: Λ = 16, M = 10, δ/12.
        let wider = ((2.0 + 24_f64.ln()) / 200.0).sqrt();
        close(value(&evidence, Kind::Doubling, "squared"), 0.1 + 4.0 * 10.0 * 16.0 * 4.0 / 100.0 + 300.0 * wider);
        // Λ = 10, M = 7.
        close(value(&evidence, Kind::Optimistic, "squared"), 0.1 + 4.0 * 7.0 * 10.0 * 4.0 / 100.0 + 147.0 * wide);
        assert!(evidence.bound(Kind::Stability, &*loss::parse("absolute").unwrap()[0]).is_none());
        assert!(evidence.bounds(&*loss::parse("logistic").unwrap()[0]).unwrap().is_empty());
    }

    #[test]
    fn verdicts_and_the_rows_that_would_do() {
        let evidence = evidence();
        let bound = evidence.bound(Kind::Radius, &Squared).unwrap();
        assert_eq!((bound.verdict, bound.largest), (Verdict::AboveMean, 16.0));
        // 0.1 + 48/√n < 1 from n = (48/0.9)² on.
        assert_eq!(bound.rows_needed, Some((48.0_f64 / 0.9).powi(2).ceil()));
        let vacuous = Evidence { train_loss: 12.0, baseline: 11.0, ..evidence.clone() };
        let bound = vacuous.bound(Kind::Radius, &Squared).unwrap();
        assert_eq!((bound.verdict, bound.rows_needed), (Verdict::Vacuous, None));
        let good = Evidence { baseline: 5.0, ..evidence.clone() };
        let bound = good.bound(Kind::Radius, &Squared).unwrap();
        assert_eq!((bound.verdict, bound.rows_needed), (Verdict::Informative, Some(100.0)));
        // From m = 3 on, nβ/√n does not fall.
        let high = Assumptions { exponent: 3.5, ..evidence.assume.clone() };
        let never = Evidence { assume: high, ..evidence.clone() };
        assert_eq!(never.bound(Kind::Stability, &Squared).unwrap().rows_needed, None);
        assert!(Evidence { confidence: 1.0, ..evidence }.bounds(&Squared).is_err());
    }

    #[test]
    fn losses_are_bounded_by_their_values_and_slopes() {
        for spec in [
            "squared",
            "absolute",
            "huber(threshold=0.7)",
            "epsilon-insensitive(epsilon=0.4)",
            "squared-epsilon-insensitive(epsilon=0.4)",
            "pinball(quantile=0.8)",
        ] {
            let loss = &loss::parse(spec).unwrap()[0];
            for bound in [0.3, 1.5] {
                let (slope, largest) = loss_bounds(&**loss, bound).unwrap();
                let at = |k: i32| bound * f64::from(k) / 1000.0;
                let values: Vec<f64> = (-1000..=1000).map(|k| loss.value(at(k), 0.0)).collect();
                let steepest = values.windows(2).map(|v| (v[1] - v[0]).abs() / at(1)).fold(0.0, f64::max);
                let highest = values.iter().copied().fold(0.0, f64::max);
                assert!(steepest <= slope * (1.0 + 1e-9) + 1e-9 && steepest > 0.99 * slope - 1e-9, "{spec} {bound}");
                assert_eq!(highest, largest, "{spec}");
            }
        }
    }
}
