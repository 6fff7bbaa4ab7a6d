//! Sums and products in twice the precision of f64, for residuals: y − Kα loses all its digits to
//! cancellation exactly when they are wanted most.

use crate::linalg::simd::vectorize;

/// An unevaluated sum high + low.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct Double {
    pub high: f64,
    pub low: f64,
}

impl Double {
    pub fn new(value: f64) -> Self {
        Double { high: value, low: 0.0 }
    }

    pub fn value(self) -> f64 {
        self.high + self.low
    }

    #[inline(always)]
    pub fn add(self, x: f64) -> Self {
        let (sum, error) = two_sum(self.high, x);
        Double { high: sum, low: self.low + error }
    }

    #[inline(always)]
    pub fn add_product(self, a: f64, b: f64) -> Self {
        let (product, rest) = two_product(a, b);
        let (sum, error) = two_sum(self.high, product);
        Double { high: sum, low: self.low + (error + rest) }
    }

    pub fn negated(self) -> Self {
        Double { high: -self.high, low: -self.low }
    }

    #[inline(always)]
    pub fn plus(self, other: Double) -> Self {
        let (sum, error) = two_sum(self.high, other.high);
        Double { high: sum, low: self.low + other.low + error }
    }

    pub fn minus(self, other: Double) -> Self {
        self.plus(other.negated())
    }

    /// The same number with its low part below half a unit of its high part.
    #[inline(always)]
    pub fn normalised(self) -> Self {
        let (high, low) = two_sum(self.high, self.low);
        Double { high, low }
    }

    #[inline(always)]
    pub fn times(self, other: Double) -> Self {
        let (product, rest) = two_product(self.high, other.high);
        Double { high: product, low: rest + (self.high * other.low + self.low * other.high) }.normalised()
    }

    pub fn scaled(self, factor: f64) -> Self {
        self.times(Double::new(factor))
    }

    /// self / divisor, by long division.
    pub fn divided_by(self, divisor: Double) -> Self {
        let mut rest = self;
        let mut quotient = Double::default();
        for _ in 0..3 {
            let digit = rest.value() / divisor.value();
            quotient = quotient.add(digit).normalised();
            rest = rest.minus(divisor.scaled(digit)).normalised();
        }
        quotient
    }
}

/// a + b = sum + error, exactly.
#[inline(always)]
fn two_sum(a: f64, b: f64) -> (f64, f64) {
    let sum = a + b;
    let t = sum - a;
    (sum, (a - (sum - t)) + (b - t))
}

/// a · b = product + rest, exactly.
#[inline(always)]
fn two_product(a: f64, b: f64) -> (f64, f64) {
    let product = a * b;
    (product, a.mul_add(b, -product))
}

/// Σ aᵢbᵢ as if computed in twice the precision and rounded once (Ogita, Rump and Oishi's Dot2).
pub(crate) fn dot(a: &[f64], b: &[f64]) -> Double {
    const WIDTH: usize = 16;
    vectorize(
        #[inline(always)]
        || {
            let mut lanes = [Double::default(); WIDTH];
            let (whole_a, rest_a) = a.split_at(a.len() - a.len() % WIDTH);
            let (whole_b, rest_b) = b.split_at(whole_a.len());
            for (x, y) in whole_a.chunks_exact(WIDTH).zip(whole_b.chunks_exact(WIDTH)) {
                for l in 0..WIDTH {
                    lanes[l] = lanes[l].add_product(x[l], y[l]);
                }
            }
            for (l, (x, y)) in rest_a.iter().zip(rest_b).enumerate() {
                lanes[l] = lanes[l].add_product(*x, *y);
            }
            lanes.into_iter().fold(Double::default(), Double::plus)
        },
    )
}

/// high + low + factor·x, entry by entry, in twice the precision.
pub(crate) fn add_scaled(high: &mut [f64], low: &mut [f64], factor: f64, x: &[f64]) {
    vectorize(
        #[inline(always)]
        || {
            for ((high, low), x) in high.iter_mut().zip(low).zip(x) {
                let (product, rest) = two_product(factor, *x);
                let (sum, error) = two_sum(*high, product);
                *high = sum;
                *low += error + rest;
            }
        },
    );
}

/// Σ xᵢ in twice the precision.
pub(crate) fn sum(x: impl IntoIterator<Item = f64>) -> Double {
    x.into_iter().fold(Double::default(), Double::add)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cancellation_costs_nothing() {
        let a = [1e16, 1.0, -1e16, 1e-3];
        let b = [1.0, 1.0, 1.0, 1.0];
        assert_eq!(dot(&a, &b).value(), 1.001);
        assert_eq!(sum([1e100, 1.0, -1e100]).value(), 1.0);
        let third = 1.0 / 3.0;
        let exact = Double::default().add_product(third, 3.0).add(-1.0).value();
        assert_eq!(exact, -(2.0_f64.powi(-54)));
        let tenth = Double::new(1.0).divided_by(Double::new(10.0));
        assert!(tenth.scaled(10.0).add(-1.0).value().abs() < 1e-31);
        assert!(tenth.times(tenth).minus(tenth.divided_by(Double::new(10.0))).value().abs() < 1e-33);
    }
}
