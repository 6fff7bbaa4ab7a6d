//! From a parameter to a point of the ridge path and back, on any path: that of all rows or of all but one.
//!
//! With t = log μ each algorithm is a curve log p(t): log p = log((2/m)) + t + (1 − m/2) log N for the powers,
//! ½ log N for Ivanov's bound, ½ log R for Morozov's, log factor ± t for the ridge under other names.

use super::algorithm::Algorithm;
use mercer::solver::constrained::{Constraint, Met};
use mercer::spectrum::{Curve, power};
use mercer::{Error, Result};

/// What a map needs of a training set beside its path.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Facts {
    /// |Z|, repeated rows counted.
    pub examples: f64,
    /// The standard deviation of the target around its mean, divided by W.
    pub deviation: f64,
}

/// Where a parameter of one algorithm lands among those of another.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Image {
    /// The logarithm of the other's parameter.
    At(f64),
    /// The solution is the zero function, which no finite ridge gives.
    Zero,
    /// The bound does not bind: the solution is least squares without any ridge.
    Unbound,
    /// The other is a power below 1 for which this point of the path is not a global minimum at any λ.
    NotAttained,
    /// The algorithm divides by something that is 0 on this set.
    Undefined,
}

impl Image {
    /// The other's parameter, if there is one.
    pub fn parameter(&self) -> Option<f64> {
        match self {
            Image::At(log) => Some(libm::exp(*log)),
            _ => None,
        }
    }

    /// Why there is none, in words.
    pub fn reason(&self) -> Option<&'static str> {
        match self {
            Image::At(_) => None,
            Image::Undefined => Some("the target is constant, and glmnet divides by its deviation"),
            Image::Zero => Some("f = 0, which no finite ridge gives"),
            Image::Unbound => Some("the bound does not bind: least squares without any ridge"),
            Image::NotAttained => Some("not attained: that point of the path is not a global minimum at any λ"),
        }
    }
}

/// A point of the path.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Place {
    /// log μ.
    Ridge(f64),
    /// The zero function.
    Zero,
    /// μ = 0.
    Unbound,
}

/// The part of a path in which bounds are looked for: from 1e-19 of the largest eigenvalue, below which nothing changes, to
/// where the norm is too small for a number.
fn window(curve: &impl Curve) -> (f64, f64) {
    let unit = curve.log_spread().0 - libm::log(curve.weight_sum());
    (unit - 44.0, unit + 600.0)
}

/// The point of the path that the algorithm chooses.
pub(crate) fn place(algorithm: Algorithm, log_parameter: f64, curve: &mut impl Curve, facts: Facts) -> Result<Place> {
    if !log_parameter.is_finite() {
        let name = format!("{} of {}", algorithm.symbol(), algorithm.spec());
        return Err(Error::argument(name, "above 0 and finite", libm::exp(log_parameter)));
    }
    if curve.log_energy() == f64::NEG_INFINITY {
        return Ok(Place::Zero);
    }
    Ok(match algorithm {
        Algorithm::Power { exponent } => {
            power::minimum_on(curve, exponent, log_parameter).log_ridge.map_or(Place::Zero, Place::Ridge)
        }
        Algorithm::Ivanov => bounded(Constraint::NormAtMost(libm::exp(log_parameter)), curve),
        Algorithm::Morozov => {
            // Without any f the error is already small enough.
            let most = 0.5 * (libm::log(curve.zero_train()) + curve.log_unit());
            if log_parameter >= most {
                return Ok(Place::Zero);
            }
            match bounded(Constraint::TrainErrorAtMost(libm::exp(log_parameter)), curve) {
                Place::Unbound => return Err(too_exact(log_parameter, curve)),
                place => place,
            }
        }
        Algorithm::Scaled(convention) => {
            let sign = f64::from(convention.ridge_power);
            Place::Ridge(sign * (log_parameter - convention.log_factor(facts.examples)))
        }
        Algorithm::Glmnet if facts.deviation == 0.0 => {
            let must = "one that varies, since glmnet divides by its deviation";
            return Err(Error::argument("the target", must, "a constant"));
        }
        Algorithm::Glmnet => Place::Ridge(log_parameter - libm::log(facts.deviation)),
    })
}

fn bounded(constraint: Constraint, curve: &mut impl Curve) -> Place {
    let (low, high) = window(curve);
    match constraint.met(curve, low, high) {
        Met::At(t) => Place::Ridge(t),
        Met::BelowAll => Place::Unbound,
        Met::AboveAll => Place::Zero,
    }
}

fn too_exact(log_parameter: f64, curve: &mut impl Curve) -> Error {
    let low = window(curve).0;
    let least = libm::exp(0.5 * (libm::log(curve.at(low).train) + curve.log_unit()));
    let must = format!("at least {least:.4e}, which no function of this kernel's space is below");
    Error::argument("δ of morozov", must, format!("{:.4e}", libm::exp(log_parameter)))
}

/// The parameter at which the algorithm chooses this point of the path.
pub(crate) fn image(algorithm: Algorithm, place: Place, curve: &mut impl Curve, facts: Facts) -> Image {
    let t = match place {
        Place::Ridge(t) => t,
        Place::Zero => return Image::Zero,
        Place::Unbound => return Image::Unbound,
    };
    let log = log_parameter(algorithm, t, curve, facts);
    match algorithm {
        Algorithm::Glmnet if facts.deviation == 0.0 => Image::Undefined,
        Algorithm::Power { exponent } if exponent < 1.0 && !is_minimum(exponent, log, t, curve) => Image::NotAttained,
        _ => Image::At(log),
    }
}

/// log p(t).
pub(crate) fn log_parameter(algorithm: Algorithm, t: f64, curve: &mut impl Curve, facts: Facts) -> f64 {
    match algorithm {
        // Its own λ to the last bit.
        Algorithm::Power { .. } if algorithm == Algorithm::RIDGE => t,
        Algorithm::Power { exponent } => curve.at(t).log_lambda(t, exponent),
        Algorithm::Ivanov => 0.5 * curve.at(t).log_norm,
        Algorithm::Morozov => 0.5 * (libm::log(curve.at(t).train) + curve.log_unit()),
        Algorithm::Scaled(convention) => convention.log_factor(facts.examples) + f64::from(convention.ridge_power) * t,
        Algorithm::Glmnet => t + libm::log(facts.deviation),
    }
}

/// d log p/dt: near 0 the parameter hardly says which point of the path is meant.
pub(crate) fn slope(algorithm: Algorithm, t: f64, curve: &mut impl Curve) -> f64 {
    let point = curve.at(t);
    match algorithm {
        Algorithm::Power { exponent } => 1.0 - (2.0 - exponent) * point.slope,
        Algorithm::Ivanov => -point.slope,
        // dR = −μ dN along the path of minimisers of R + μN.
        Algorithm::Morozov => {
            let log_train = libm::log(point.train) + curve.log_unit();
            point.slope * libm::exp(t + point.log_norm - log_train)
        }
        Algorithm::Scaled(convention) => f64::from(convention.ridge_power),
        Algorithm::Glmnet => 1.0,
    }
}

/// Whether of all stationary points the one at t is the global minimum.
fn is_minimum(exponent: f64, log_lambda: f64, t: f64, curve: &mut impl Curve) -> bool {
    let minimum = power::minimum_on(curve, exponent, log_lambda);
    let far = |other: f64| (other - t).abs();
    let nearest = minimum.stationary.iter().map(|point| point.log_ridge).min_by(|a, b| far(*a).total_cmp(&far(*b)));
    match (minimum.log_ridge, nearest) {
        (Some(chosen), Some(nearest)) => chosen == nearest && far(chosen) < 1e-3,
        _ => false,
    }
}
