//! Losses of the margin y·v for labels y = ±1.

use std::sync::Arc;

use super::pieces::MarginLoss;
use super::{Loss, Reads, Shape, SharedLoss, Smooth, Tube};
use crate::base::table::Entry;

pub(super) const ENTRIES: &[Entry<Vec<SharedLoss>>] = &[
    Entry {
        name: "hinge",
        formula: "max(0, 1 − y·v): the support vector machine",
        parameters: &[],
        build: |_| Ok(vec![Arc::new(Hinge)]),
    },
    Entry {
        name: "squared-hinge",
        formula: "max(0, 1 − y·v)²",
        parameters: &[],
        build: |_| Ok(vec![Arc::new(SquaredHinge)]),
    },
    Entry {
        name: "logistic",
        formula: "ln(1 + exp(−y·v)): v is the log-odds of the label +1",
        parameters: &[],
        build: |_| Ok(vec![Arc::new(Logistic)]),
    },
];

/// max(0, 1 − yv).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Hinge;

impl Loss for Hinge {
    fn spec(&self) -> String {
        "hinge".into()
    }
    fn reads(&self) -> Reads {
        Reads::Label
    }
    fn value(&self, y: f64, v: f64) -> f64 {
        (1.0 - y * v).max(0.0)
    }
    fn shape(&self) -> Shape {
        Shape::Tube(Tube { lower: 0.0, upper: 1.0, epsilon: 0.0, curvature: 0.0 })
    }
    fn margin(&self) -> MarginLoss {
        MarginLoss::Hinge
    }
}

/// max(0, 1 − yv)².
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SquaredHinge;

impl Loss for SquaredHinge {
    fn spec(&self) -> String {
        "squared-hinge".into()
    }
    fn reads(&self) -> Reads {
        Reads::Label
    }
    fn value(&self, y: f64, v: f64) -> f64 {
        let short = (1.0 - y * v).max(0.0);
        short * short
    }
    fn shape(&self) -> Shape {
        Shape::Tube(Tube { lower: 0.0, upper: f64::INFINITY, epsilon: 0.0, curvature: 0.5 })
    }
    fn margin(&self) -> MarginLoss {
        MarginLoss::SquaredHinge
    }
}

/// ln(1 + exp(−yv)).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Logistic;

impl Loss for Logistic {
    fn spec(&self) -> String {
        "logistic".into()
    }
    fn reads(&self) -> Reads {
        Reads::Label
    }
    fn value(&self, y: f64, v: f64) -> f64 {
        let margin = y * v;
        // The exponent is never positive.
        (-margin).max(0.0) + libm::log1p(libm::exp(-margin.abs()))
    }
    fn shape(&self) -> Shape {
        Shape::Smooth(Smooth {
            parameter: 0.0,
            value: |_, y, v| Logistic.value(y, v),
            slope: |_, y, v| y * sigmoid(-y * v),
            curvature: |_, _, v| sigmoid(v) * sigmoid(-v),
            dual: |_, y, a| {
                // p = y·a is the probability that the model gives to the other label.
                let p = y * a;
                if (0.0..=1.0).contains(&p) { -(entropy_term(p) + entropy_term(1.0 - p)) } else { f64::NEG_INFINITY }
            },
            slopes: [0.0, 1.0],
        })
    }
    fn margin(&self) -> MarginLoss {
        MarginLoss::Logistic
    }
    fn probability(&self, v: f64) -> Option<f64> {
        Some(sigmoid(v))
    }
}

/// 1/(1 + e⁻ᵛ), to full relative accuracy on both sides.
pub(crate) fn sigmoid(v: f64) -> f64 {
    if v >= 0.0 {
        1.0 / (1.0 + libm::exp(-v))
    } else {
        let e = libm::exp(v);
        e / (1.0 + e)
    }
}

/// p ln p, 0 at 0.
pub(crate) fn entropy_term(p: f64) -> f64 {
    if p > 0.0 { p * libm::log(p) } else { 0.0 }
}
