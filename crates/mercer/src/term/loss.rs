//! Losses ℓ(y, v): what a prediction v costs when the target is y.
//!
//! A loss is written as a spec (`huber(threshold=0.5)`), read by [`parse`] and printed by [`Loss::spec`]. Solvers never
//! ask which loss they have: they see its [`Shape`]. All losses but `expectile`, `log-cosh` and `logistic` are *tubes*,
//!
//! > ℓ(y, v) = sup { a(y − v) − ε|a| − ½q a² : lower ≤ a ≤ upper },
//!
//! so one dual solver serves them all, and one formula ([`Shape::dual`]) gives every duality gap.
//!
//! | chapter | members |
//! |---|---|
//! | [`residual`] | functions of y − v: `squared`, `absolute`, `huber`, `epsilon-insensitive`, `squared-epsilon-insensitive`, `pinball` |
//! | [`curved`] | smooth functions of y − v: `expectile`, `log-cosh` |
//! | [`margin`] | functions of y·v for labels y = ±1: `hinge`, `squared-hinge`, `logistic` |

pub mod curved;
pub mod margin;
pub mod pieces;
pub mod residual;

use std::fmt::Debug;
use std::sync::Arc;

use crate::base::error::Result;
use crate::base::table::{self, Entry};
use pieces::MarginLoss;

/// A loss that can be shared between threads and models.
pub type SharedLoss = Arc<dyn Loss>;

/// A convex function of the prediction, for each target.
pub trait Loss: Debug + Send + Sync {
    /// The spec that [`parse`] reads back as this loss.
    fn spec(&self) -> String;

    /// Whether the targets are numbers or labels ±1.
    fn reads(&self) -> Reads;

    /// ℓ(y, v).
    fn value(&self, y: f64, v: f64) -> f64;

    /// What solvers need to know.
    fn shape(&self) -> Shape;

    /// What the solvers on features need to know.
    fn margin(&self) -> MarginLoss;

    /// For labels: the probability of y = +1 that the prediction v states, if the loss gives it a meaning.
    fn probability(&self, v: f64) -> Option<f64> {
        let _ = v;
        None
    }
}

/// What a target is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reads {
    /// Any number.
    Number,
    /// −1 or +1.
    Label,
}

/// What solvers see of a loss.
#[derive(Debug, Clone, Copy)]
pub enum Shape {
    /// (y − v)²: every λ and exponent from one decomposition.
    Quadratic,
    /// Piecewise linear and quadratic.
    Tube(Tube),
    /// Twice differentiable everywhere.
    Smooth(Smooth),
}

/// ℓ(y, v) = sup { a(y − v) − ε|a| − ½q a² : lower ≤ a ≤ upper }; for the label −1 the interval is mirrored.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Tube {
    /// At most 0.
    pub lower: f64,
    /// At least 0; infinite only with a curvature.
    pub upper: f64,
    /// ε.
    pub epsilon: f64,
    /// q.
    pub curvature: f64,
}

/// A loss that is differentiable everywhere, as functions of its parameter (0 where it has none) and two numbers.
#[derive(Debug, Clone, Copy)]
pub struct Smooth {
    /// What the functions get first.
    pub parameter: f64,
    /// ℓ(y, v).
    pub value: fn(f64, f64, f64) -> f64,
    /// a(y, v) = −∂ℓ/∂v.
    pub slope: fn(f64, f64, f64) -> f64,
    /// ∂²ℓ/∂v² at (y, v); where it jumps, the value of one side.
    pub curvature: fn(f64, f64, f64) -> f64,
    /// inf over v of ℓ(y, v) + a v, as a function of y and a; −∞ outside its domain.
    pub dual: fn(f64, f64, f64) -> f64,
    /// The slopes of a number's loss; for labels those of y·v.
    pub slopes: [f64; 2],
}

impl Smooth {
    /// ℓ(y, v).
    pub fn value(&self, y: f64, v: f64) -> f64 {
        (self.value)(self.parameter, y, v)
    }

    /// −∂ℓ/∂v.
    pub fn slope(&self, y: f64, v: f64) -> f64 {
        (self.slope)(self.parameter, y, v)
    }

    /// ∂²ℓ/∂v².
    pub fn curvature(&self, y: f64, v: f64) -> f64 {
        (self.curvature)(self.parameter, y, v)
    }

    /// inf over v of ℓ(y, v) + a v.
    pub fn dual(&self, y: f64, a: f64) -> f64 {
        (self.dual)(self.parameter, y, a)
    }
}

impl Tube {
    const QUADRATIC: Tube = Tube { lower: f64::NEG_INFINITY, upper: f64::INFINITY, epsilon: 0.0, curvature: 0.5 };

    /// The interval of a for a target.
    pub fn interval(&self, reads: Reads, y: f64) -> [f64; 2] {
        if reads == Reads::Label && y < 0.0 { [-self.upper, -self.lower] } else { [self.lower, self.upper] }
    }
}

impl Shape {
    /// The tube, if it is one.
    pub fn tube(&self) -> Option<Tube> {
        match self {
            Shape::Quadratic => Some(Tube::QUADRATIC),
            Shape::Tube(tube) => Some(*tube),
            Shape::Smooth(_) => None,
        }
    }

    /// The slopes −∂ℓ/∂v that the loss can have for a target; for the label −1 they are mirrored.
    pub fn interval(&self, reads: Reads, y: f64) -> [f64; 2] {
        let [lower, upper] = match self {
            Shape::Smooth(smooth) => smooth.slopes,
            Shape::Quadratic => [f64::NEG_INFINITY, f64::INFINITY],
            Shape::Tube(tube) => return tube.interval(reads, y),
        };
        if reads == Reads::Label && y < 0.0 { [-upper, -lower] } else { [lower, upper] }
    }

    /// Derivatives, if it has two of them everywhere.
    pub fn smooth(&self) -> Option<Smooth> {
        match self {
            Shape::Smooth(smooth) => Some(*smooth),
            Shape::Quadratic => Some(Smooth {
                parameter: 0.0,
                value: |_, y, v| (y - v) * (y - v),
                slope: |_, y, v| 2.0 * (y - v),
                curvature: |_, _, _| 2.0,
                dual: |_, y, a| a * y - 0.25 * a * a,
                slopes: [f64::NEG_INFINITY, f64::INFINITY],
            }),
            Shape::Tube(_) => None,
        }
    }

    /// inf over v of ℓ(y, v) + a v: what the row adds to the dual at a. −∞ where a is not allowed.
    pub fn dual(&self, reads: Reads, y: f64, a: f64) -> f64 {
        match (self, self.tube()) {
            (Shape::Smooth(smooth), _) => smooth.dual(y, a),
            (_, Some(tube)) => {
                let [lower, upper] = tube.interval(reads, y);
                if a < lower || a > upper {
                    return f64::NEG_INFINITY;
                }
                a * y - tube.epsilon * a.abs() - 0.5 * tube.curvature * a * a
            }
            (_, None) => f64::NEG_INFINITY,
        }
    }
}

/// All losses that can be named in a spec, in the order in which they are listed to a person.
pub fn all() -> Vec<&'static Entry<Vec<SharedLoss>>> {
    [residual::ENTRIES, curved::ENTRIES, margin::ENTRIES].into_iter().flatten().collect()
}

/// Reads a spec. `pinball(quantile=[0.1,0.5,0.9])` stands for several losses, each for a model of its own; all others for
/// one.
///
/// ```
/// let losses = mercer::loss::parse("huber(threshold=0.5)")?;
/// assert_eq!(losses[0].value(0.0, 2.0), 0.5 * 2.0 - 0.5 * 0.25);
/// # Ok::<(), mercer::Error>(())
/// ```
pub fn parse(spec: &str) -> Result<Vec<SharedLoss>> {
    table::parse("loss", &all(), spec)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SPECS: [&str; 11] = [
        "squared",
        "absolute",
        "huber(threshold=0.7)",
        "epsilon-insensitive(epsilon=0.3)",
        "squared-epsilon-insensitive(epsilon=0.3)",
        "pinball(quantile=0.9)",
        "expectile(level=0.9)",
        "log-cosh",
        "hinge",
        "squared-hinge",
        "logistic",
    ];

    fn targets(loss: &dyn Loss) -> Vec<f64> {
        match loss.reads() {
            Reads::Number => vec![-1.3, 0.0, 2.0],
            Reads::Label => vec![-1.0, 1.0],
        }
    }

    #[test]
    fn every_member_is_listed_and_comes_back_from_its_spec() {
        assert_eq!(all().len(), SPECS.len());
        for spec in SPECS {
            let loss = parse(spec).unwrap().remove(0);
            assert_eq!(parse(&loss.spec()).unwrap()[0].spec(), loss.spec());
            assert!(all().iter().any(|entry| loss.spec().starts_with(entry.name)));
        }
        assert_eq!(parse("pinball(quantile=[0.1,0.9])").unwrap().len(), 2);
        for wrong in
            ["huber(threshold=0)", "epsilon-insensitive(epsilon=-1)", "pinball(quantile=1)", "hing", "hinge(c=1)"]
        {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }

    /// ℓ(y, v) = sup over a of dual(a) − a v, on a fine grid of a: the value and the shape are the same function.
    #[test]
    fn values_are_the_suprema_of_their_duals() {
        for spec in SPECS {
            let loss = parse(spec).unwrap().remove(0);
            for y in targets(&*loss) {
                for v in [-3.0, -1.0, -0.2, 0.0, 0.4, 1.0, 1.9, 4.0] {
                    let best = (-120_000..=120_000)
                        .map(|k| f64::from(k) / 10_000.0)
                        .map(|a| loss.shape().dual(loss.reads(), y, a) - a * v)
                        .fold(f64::NEG_INFINITY, f64::max);
                    let value = loss.value(y, v);
                    assert!(best <= value + 1e-12 && best >= value - 1e-3, "{spec} at {y}, {v}: {value} {best}");
                }
            }
        }
    }

    #[test]
    fn smooth_derivatives_are_those_of_the_value() {
        for spec in SPECS {
            let loss = parse(spec).unwrap().remove(0);
            let Shape::Smooth(smooth) = loss.shape() else { continue };
            for y in targets(&*loss) {
                for v in [-30.0, -2.0, 0.1, 3.0, 30.0] {
                    let h = 1e-5;
                    let slope = -(loss.value(y, v + h) - loss.value(y, v - h)) / (2.0 * h);
                    // The difference quotient loses digits where the value is large.
                    let close = 1e-9 * (1.0 + loss.value(y, v));
                    assert_eq!(smooth.value(y, v), loss.value(y, v));
                    assert!((slope - smooth.slope(y, v)).abs() < close, "{spec}");
                    let curvature = (smooth.slope(y, v - h) - smooth.slope(y, v + h)) / (2.0 * h);
                    assert!((curvature - smooth.curvature(y, v)).abs() < 1e-9, "{spec}");
                }
            }
        }
    }
}
