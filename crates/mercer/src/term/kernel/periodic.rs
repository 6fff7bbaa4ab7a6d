//! Periodic functions: what repeats after a fixed distance in every feature.

use std::f64::consts::PI;
use std::sync::Arc;

use super::{Kernel, Point, Points, SharedKernel};
use crate::base::error::{Error, Result};
use crate::base::table::{Entry, Parameter};
use crate::linalg::Matrix;

pub(super) const ENTRIES: &[Entry<SharedKernel>] = &[Entry {
    name: "periodic",
    formula: "exp(−2 Σⱼ sin²(π(xⱼ−x′ⱼ)/period)/lengthscale²)",
    parameters: &[
        Parameter { name: "period", default: "1", about: "above 0, in units of the scaled features" },
        Parameter { name: "lengthscale", default: "1", about: "above 0, in units of the period's chord" },
    ],
    build: |arguments| {
        let period = arguments.number("period", 1.0, "above 0", |x| x > 0.0)?;
        let lengthscale = arguments.number("lengthscale", 1.0, "above 0", |x| x > 0.0)?;
        Ok(Arc::new(Periodic::new(period, lengthscale)))
    },
}];

/// exp(−2 Σⱼ sin²(π(xⱼ − x′ⱼ)/period)/ℓ²): a Gaussian kernel of the points on circles (MacKay, 1998). Multiplied by a kernel of a
/// distance it gives functions whose period drifts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Periodic {
    period: f64,
    lengthscale: f64,
}

impl Periodic {
    /// Functions that repeat after `period`; a small lengthscale lets them vary within it.
    pub fn new(period: f64, lengthscale: f64) -> Self {
        Periodic { period, lengthscale }
    }

    /// Σⱼ sin²(π dⱼ/period) of one pair. The difference is taken modulo the period first, which loses nothing.
    fn chord(&self, difference: f64) -> f64 {
        let sine = libm::sin(PI * libm::remainder(difference, self.period) / self.period);
        sine * sine
    }
}

impl Kernel for Periodic {
    fn spec(&self) -> String {
        format!("periodic(period={},lengthscale={})", self.period, self.lengthscale)
    }

    fn values(&self, x: Point<'_>, points: &Points, start: usize, out: &mut [f64]) {
        out.fill(0.0);
        for (j, own) in x.numbers.iter().enumerate() {
            for (sum, other) in out.iter_mut().zip(&points.feature(j)[start..]) {
                *sum += self.chord(own - other);
            }
        }
        let factor = -2.0 / (self.lengthscale * self.lengthscale);
        out.iter_mut().for_each(|value| *value = libm::exp(factor * *value));
    }

    fn diagonal(&self, _: &Points, _: usize, out: &mut [f64]) {
        out.fill(1.0);
    }

    fn largest_diagonal(&self) -> Option<f64> {
        Some(1.0)
    }

    fn fitted_to(&self, points: &Points, _: Option<&[f64]>) -> Result<SharedKernel> {
        self.check(points.features(), points.code_columns())?;
        Ok(Arc::new(*self))
    }

    fn check(&self, _: usize, _: usize) -> Result<()> {
        for (name, value) in [("period", self.period), ("lengthscale", self.lengthscale)] {
            if !(value > 0.0 && value.is_finite()) {
                return Err(Error::argument(format!("{name} of periodic"), "above 0", value));
            }
        }
        Ok(())
    }

    /// −(2π/(period ℓ²)) sin(2π d/period) k.
    fn gradients(&self, x: Point<'_>, points: &Points, out: &mut Matrix) {
        let mut values = vec![0.0; points.rows()];
        self.values(x, points, 0, &mut values);
        let factor = -2.0 * PI / (self.period * self.lengthscale * self.lengthscale);
        for (k, own) in x.numbers.iter().enumerate() {
            for ((slope, value), other) in out.col_mut(k).iter_mut().zip(&values).zip(points.feature(k)) {
                let turn = 2.0 * PI * libm::remainder(own - other, self.period) / self.period;
                *slope = factor * libm::sin(turn) * value;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::term::kernel::parse;

    fn one(kernel: &dyn Kernel, a: f64, b: f64) -> f64 {
        let points = Points::new(&Matrix::from_rows(&[[b]]).unwrap());
        let mut out = [0.0];
        kernel.values(Point { numbers: &[a], codes: &[] }, &points, 0, &mut out);
        out[0]
    }

    #[test]
    fn it_repeats_after_its_period_and_has_the_value_worked_out_by_hand() {
        let kernel = parse("periodic(period=7,lengthscale=0.8)").unwrap();
        assert!((one(&*kernel, 0.3, 2.05) - libm::exp(-2.0 * 0.5 / 0.64)).abs() < 1e-15, "a quarter of a period");
        for k in 1..5 {
            let shifted = one(&*kernel, 0.3 + 7.0 * f64::from(k), 1.1);
            assert!((shifted - one(&*kernel, 0.3, 1.1)).abs() < 1e-14);
        }
        assert_eq!(one(&*kernel, 0.3, 1.1), one(&*kernel, 1.1, 0.3));
        assert!(parse("periodic(period=0)").is_err());
    }
}
