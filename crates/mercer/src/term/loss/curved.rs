//! Smooth losses of the residual r = y − v: `expectile` and `log-cosh`.

use std::sync::Arc;

use super::pieces::MarginLoss;
use super::{Loss, Reads, Shape, SharedLoss, Smooth};
use crate::base::table::{Entry, Parameter};

pub(super) const ENTRIES: &[Entry<Vec<SharedLoss>>] = &[
    Entry {
        name: "expectile",
        formula: "level·r² for r ≥ 0, (1 − level)·r² below: the conditional expectile",
        parameters: &[Parameter { name: "level", default: "0.5", about: "between 0 and 1" }],
        build: |arguments| {
            let level = arguments.number("level", 0.5, "between 0 and 1", |x| x > 0.0 && x < 1.0)?;
            Ok(vec![Arc::new(Expectile { level })])
        },
    },
    Entry {
        name: "log-cosh",
        formula: "ln cosh r: a square near 0, |r| − ln 2 far away",
        parameters: &[],
        build: |_| Ok(vec![Arc::new(LogCosh)]),
    },
];

/// level·r² for r ≥ 0 and (1 − level)·r² below: minimised by the conditional expectile, at ½ the mean (Newey and Powell, 1987).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Expectile {
    /// Between 0 and 1.
    pub level: f64,
}

/// The weight of a residual.
fn side(level: f64, r: f64) -> f64 {
    if r >= 0.0 { level } else { 1.0 - level }
}

impl Loss for Expectile {
    fn spec(&self) -> String {
        format!("expectile(level={})", self.level)
    }
    fn reads(&self) -> Reads {
        Reads::Number
    }
    fn value(&self, y: f64, v: f64) -> f64 {
        let r = y - v;
        side(self.level, r) * r * r
    }
    fn shape(&self) -> Shape {
        Shape::Smooth(self.smooth())
    }
    fn margin(&self) -> MarginLoss {
        MarginLoss::Smooth(self.smooth())
    }
}

impl Expectile {
    fn smooth(&self) -> Smooth {
        Smooth {
            parameter: self.level,
            value: |level, y, v| Expectile { level }.value(y, v),
            slope: |level, y, v| 2.0 * side(level, y - v) * (y - v),
            curvature: |level, y, v| 2.0 * side(level, y - v),
            // a has the sign of the residual it belongs to.
            dual: |level, y, a| a * y - a * a / (4.0 * side(level, a)),
            slopes: [f64::NEG_INFINITY, f64::INFINITY],
        }
    }
}

/// ln cosh r: like ½r² near 0, like |r| far away, with all derivatives.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LogCosh;

impl Loss for LogCosh {
    fn spec(&self) -> String {
        "log-cosh".into()
    }
    fn reads(&self) -> Reads {
        Reads::Number
    }
    fn value(&self, y: f64, v: f64) -> f64 {
        let size = (y - v).abs();
        // The exponent is never positive; near 0 the logarithms would cancel.
        if size < 1e-4 {
            0.5 * size * size
        } else {
            size + libm::log1p(libm::exp(-2.0 * size)) - std::f64::consts::LN_2
        }
    }
    fn shape(&self) -> Shape {
        Shape::Smooth(self.smooth())
    }
    fn margin(&self) -> MarginLoss {
        MarginLoss::Smooth(self.smooth())
    }
}

impl LogCosh {
    fn smooth(&self) -> Smooth {
        Smooth {
            parameter: 0.0,
            value: |_, y, v| LogCosh.value(y, v),
            slope: |_, y, v| libm::tanh(y - v),
            curvature: |_, y, v| {
                let t = libm::tanh(y - v);
                (1.0 - t) * (1.0 + t)
            },
            // inf over r of ln cosh r − a r, at r = artanh a.
            dual: |_, y, a| {
                let half = |x: f64| if x > 0.0 { 0.5 * x * libm::log(x) } else { 0.0 };
                if a.abs() <= 1.0 { a * y - half(1.0 + a) - half(1.0 - a) } else { f64::NEG_INFINITY }
            },
            slopes: [-1.0, 1.0],
        }
    }
}
