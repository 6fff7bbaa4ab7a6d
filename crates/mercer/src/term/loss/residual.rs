//! Losses of the residual r = y − v.

use std::sync::Arc;

use super::pieces::MarginLoss;
use super::{Loss, Reads, Shape, SharedLoss, Tube};
use crate::base::error::Result;
use crate::base::table::{Arguments, Entry, Parameter, Value};

pub(super) const ENTRIES: &[Entry<Vec<SharedLoss>>] = &[
    Entry { name: "squared", formula: "r²", parameters: &[], build: |_| Ok(vec![Arc::new(Squared)]) },
    Entry { name: "absolute", formula: "|r|", parameters: &[], build: |_| Ok(vec![Arc::new(Absolute)]) },
    Entry {
        name: "huber",
        formula: "½r² up to |r| = threshold, then threshold·|r| − ½threshold²",
        parameters: &[Parameter { name: "threshold", default: "1", about: "above 0, in units of the target" }],
        build: |arguments| {
            let threshold = arguments.number("threshold", 1.0, "above 0", |x| x > 0.0)?;
            Ok(vec![Arc::new(Huber { threshold })])
        },
    },
    Entry {
        name: "epsilon-insensitive",
        formula: "max(0, |r| − epsilon): support vector regression",
        parameters: &[EPSILON],
        build: |arguments| Ok(vec![Arc::new(EpsilonInsensitive { epsilon: epsilon(arguments)? })]),
    },
    Entry {
        name: "squared-epsilon-insensitive",
        formula: "max(0, |r| − epsilon)²",
        parameters: &[EPSILON],
        build: |arguments| Ok(vec![Arc::new(SquaredEpsilonInsensitive { epsilon: epsilon(arguments)? })]),
    },
    Entry {
        name: "pinball",
        formula: "quantile·r for r ≥ 0, (quantile − 1)·r below: the conditional quantile",
        parameters: &[Parameter {
            name: "quantile",
            default: "0.5",
            about: "between 0 and 1, or a list [0.1,0.5,0.9]: one model each",
        }],
        build: |arguments| {
            let quantiles = match arguments.get("quantile") {
                None => vec![0.5],
                Some(Value::Number(x)) => vec![*x],
                Some(Value::List(list)) => list.clone(),
                Some(other) => return Err(arguments.refuse("quantile", BETWEEN, other)),
            };
            if let Some(wrong) = quantiles.iter().find(|x| !(**x > 0.0 && **x < 1.0)) {
                return Err(arguments.refuse("quantile", BETWEEN, &Value::Number(*wrong)));
            }
            if let Some(pair) = quantiles.windows(2).find(|pair| pair[0] >= pair[1]) {
                return Err(arguments.refuse("quantile", "in rising order", &Value::List(pair.to_vec())));
            }
            Ok(quantiles.into_iter().map(|quantile| -> SharedLoss { Arc::new(Pinball { quantile }) }).collect())
        },
    },
];

const BETWEEN: &str = "between 0 and 1, or a list of such numbers";
const EPSILON: Parameter = Parameter { name: "epsilon", default: "0.1", about: "at least 0, in units of the target" };

fn epsilon(arguments: &Arguments) -> Result<f64> {
    arguments.number("epsilon", 0.1, "at least 0", |x| x >= 0.0)
}

/// r².
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Squared;

impl Loss for Squared {
    fn spec(&self) -> String {
        "squared".into()
    }
    fn reads(&self) -> Reads {
        Reads::Number
    }
    fn value(&self, y: f64, v: f64) -> f64 {
        (y - v) * (y - v)
    }
    fn shape(&self) -> Shape {
        Shape::Quadratic
    }
    fn margin(&self) -> MarginLoss {
        MarginLoss::SquaredEpsilonInsensitive(0.0)
    }
}

/// |r|: the conditional median.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Absolute;

impl Loss for Absolute {
    fn spec(&self) -> String {
        "absolute".into()
    }
    fn reads(&self) -> Reads {
        Reads::Number
    }
    fn value(&self, y: f64, v: f64) -> f64 {
        (y - v).abs()
    }
    fn shape(&self) -> Shape {
        Shape::Tube(Tube { lower: -1.0, upper: 1.0, epsilon: 0.0, curvature: 0.0 })
    }
    fn margin(&self) -> MarginLoss {
        MarginLoss::EpsilonInsensitive(0.0)
    }
}

/// ½r² up to the threshold, linear beyond: outliers pull with a bounded force.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Huber {
    /// Where the line begins.
    pub threshold: f64,
}

impl Loss for Huber {
    fn spec(&self) -> String {
        format!("huber(threshold={})", self.threshold)
    }
    fn reads(&self) -> Reads {
        Reads::Number
    }
    fn value(&self, y: f64, v: f64) -> f64 {
        let size = (y - v).abs();
        if size <= self.threshold { 0.5 * size * size } else { self.threshold * (size - 0.5 * self.threshold) }
    }
    fn shape(&self) -> Shape {
        Shape::Tube(Tube { lower: -self.threshold, upper: self.threshold, epsilon: 0.0, curvature: 1.0 })
    }
    fn margin(&self) -> MarginLoss {
        MarginLoss::Huber(self.threshold)
    }
}

/// max(0, |r| − ε).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct EpsilonInsensitive {
    /// Half the width of the tube in which nothing costs.
    pub epsilon: f64,
}

impl Loss for EpsilonInsensitive {
    fn spec(&self) -> String {
        format!("epsilon-insensitive(epsilon={})", self.epsilon)
    }
    fn reads(&self) -> Reads {
        Reads::Number
    }
    fn value(&self, y: f64, v: f64) -> f64 {
        ((y - v).abs() - self.epsilon).max(0.0)
    }
    fn shape(&self) -> Shape {
        Shape::Tube(Tube { lower: -1.0, upper: 1.0, epsilon: self.epsilon, curvature: 0.0 })
    }
    fn margin(&self) -> MarginLoss {
        MarginLoss::EpsilonInsensitive(self.epsilon)
    }
}

/// max(0, |r| − ε)².
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SquaredEpsilonInsensitive {
    /// Half the width of the tube in which nothing costs.
    pub epsilon: f64,
}

impl Loss for SquaredEpsilonInsensitive {
    fn spec(&self) -> String {
        format!("squared-epsilon-insensitive(epsilon={})", self.epsilon)
    }
    fn reads(&self) -> Reads {
        Reads::Number
    }
    fn value(&self, y: f64, v: f64) -> f64 {
        let beyond = ((y - v).abs() - self.epsilon).max(0.0);
        beyond * beyond
    }
    fn shape(&self) -> Shape {
        let (lower, upper) = (f64::NEG_INFINITY, f64::INFINITY);
        Shape::Tube(Tube { lower, upper, epsilon: self.epsilon, curvature: 0.5 })
    }
    fn margin(&self) -> MarginLoss {
        MarginLoss::SquaredEpsilonInsensitive(self.epsilon)
    }
}

/// τr for r ≥ 0 and (τ − 1)r below: minimised by the conditional τ-quantile.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pinball {
    /// τ.
    pub quantile: f64,
}

impl Loss for Pinball {
    fn spec(&self) -> String {
        format!("pinball(quantile={})", self.quantile)
    }
    fn reads(&self) -> Reads {
        Reads::Number
    }
    fn value(&self, y: f64, v: f64) -> f64 {
        let r = y - v;
        if r >= 0.0 { self.quantile * r } else { (self.quantile - 1.0) * r }
    }
    fn shape(&self) -> Shape {
        Shape::Tube(Tube { lower: self.quantile - 1.0, upper: self.quantile, epsilon: 0.0, curvature: 0.0 })
    }
    fn margin(&self) -> MarginLoss {
        MarginLoss::Pinball(self.quantile)
    }
}
