//! Every exponent on a loss's own ridge path.
//!
//! The minimiser of (1/W) Σ w ℓ + λ‖f‖ᵐ is a ridge solution whose μ solves μ = (λm/2) N(μ)^(m/2−1), N = ‖f_μ‖². In
//! t = log μ: h(t) = t − log(λm/2) + (1 − m/2) log N(eᵗ). For every convex loss ‖f_μ‖ falls and μ‖f_μ‖ rises with μ (they
//! are a proximal point and a gradient of a Moreau envelope), so −2 ≤ d log N/dt ≤ 0 and h rises with a slope between
//! min(1, m−1) and max(1, m−1): for m > 1 one value brackets the only root. At m = 1 the slope may fall to 0 and f = 0 is
//! the minimiser if there is no root. For m < 1 nothing bounds h″, so roots cannot be counted: refused.

use super::{Problem, RidgePoint, RidgeSolver};
use crate::base::error::{Error, Result};

/// A minimiser, and how well its ridge solves its equation.
#[derive(Debug, Clone)]
pub(crate) struct PowerPoint {
    pub point: RidgePoint,
    /// |h|: the relative error of μ.
    pub root_residual: f64,
    /// Whether the minimiser is f = 0.
    pub is_zero: bool,
    /// If it is: a point of the path at a large ridge, whose slopes prove it.
    pub witness: Option<Box<RidgePoint>>,
}

/// Refuses exponents whose minimiser cannot be certified.
pub(crate) fn check(exponent: f64, loss: &str) -> Result<()> {
    if exponent >= 1.0 {
        return Ok(());
    }
    let must = format!(
        "at least 1 for the loss {loss}: below, the problem has several local minima, and only for the squared loss can they \
         all be found and counted"
    );
    Err(Error::argument("exponent", must, exponent))
}

/// More than any problem needs: the bracket shrinks at least by half every other step.
const MOST_STEPS: usize = 60;

/// Ridge problems that may be left unsolved before the search ends without a certificate.
const MOST_FAILURES: usize = 4;

pub(crate) fn minimise(
    problem: &Problem<'_>,
    solver: &dyn RidgeSolver,
    exponent: f64,
    lambda: f64,
    tolerance: f64,
    start: Option<&RidgePoint>,
) -> Result<PowerPoint> {
    check(exponent, &problem.loss.spec())?;
    if exponent == 2.0 {
        let point = solver.at(lambda, tolerance, start)?;
        let is_zero = point.squared_norm == 0.0;
        return Ok(PowerPoint { point, root_residual: 0.0, is_zero, witness: None });
    }
    let zero = |near: RidgePoint| {
        // The slopes that prove it are those at a ridge that leaves nothing of f.
        let witness = solver.at(near.ridge * 100.0, 0.1 * tolerance, Some(&near))?;
        let coefficients = near.coefficients.as_ref().map(|w| vec![0.0; w.len()]);
        let point = RidgePoint::zero(problem.rows(), f64::MAX, problem.best_constant().0);
        let point = RidgePoint { coefficients, ..point };
        Ok(PowerPoint { point, root_residual: 0.0, is_zero: true, witness: Some(Box::new(witness)) })
    };
    let constant = libm::log(lambda) + libm::log(exponent / 2.0);
    let height = |t: f64, squared_norm: f64| t - constant + (1.0 - exponent / 2.0) * libm::log(squared_norm);
    // The gap is of second order in t: a root to a hundredth of the tolerance's root is enough; near it solve tightly.
    // At m = 1 it is of first order.
    let enough = if exponent < 1.1 { 0.05 * tolerance } else { 1e-2 * tolerance.sqrt() }.max(1e-13);
    let (flat, steep) = ((exponent - 1.0).min(1.0), (exponent - 1.0).max(1.0));
    let mut t = start.map_or(constant, |point| libm::log(point.ridge)).clamp(-600.0, 600.0);
    let (mut low, mut high) = (f64::NEG_INFINITY, f64::INFINITY);
    let mut last: Option<(f64, f64)> = None;
    let mut point = solver.at(libm::exp(t), tolerance.clamp(1e-3, 1e-2), start)?;
    let mut tight = false;
    let mut failures = 0;
    for _ in 0..MOST_STEPS {
        // A ridge problem at the limits of arithmetic does not get better by being asked again.
        failures += usize::from(!point.converged);
        if failures > MOST_FAILURES {
            break;
        }
        if point.squared_norm == 0.0 {
            // f = 0 minimises the loss itself, so it does at every ridge.
            return zero(point);
        }
        let h = height(t, point.squared_norm);
        if tight && h.abs() <= enough {
            return Ok(PowerPoint { point, root_residual: h.abs(), is_zero: false, witness: None });
        }
        if h > 0.0 {
            high = high.min(t);
        } else {
            low = low.max(t);
        }
        if flat > 0.0 {
            // Values are inexact by their solver's tolerance; leave room for it.
            let (near, far) = (t - h / steep, t - h / flat);
            let room = 0.1 * h.abs() + if tight { 0.0 } else { 0.05 };
            low = low.max(near.min(far) - room);
            high = high.min(near.max(far) + room);
        } else if t > 600.0 || (h < 0.0 && last.is_some_and(|(s, g)| t > s + 1.0 && (h - g).abs() < 1e-9)) {
            // m = 1 and μ‖f_μ‖ has reached its limit below the root's height.
            return zero(point);
        }
        let secant = last.filter(|(s, g)| *s != t && *g != h).map(|(s, g)| t - h * (t - s) / (h - g));
        let mut next =
            secant.filter(|n| n.is_finite()).unwrap_or(t - h / if flat > 0.0 { 0.5 * (flat + steep) } else { 1.0 });
        if !(next > low && next < high) {
            next = match (low.is_finite(), high.is_finite()) {
                (true, true) => 0.5 * (low + high),
                // m = 1: onwards in growing steps.
                (true, false) => t + (2.0 * (t - low)).max(1.0) + 1.0,
                _ => t - h.abs().max(1.0),
            };
        }
        last = Some((t, h));
        if !tight && h.abs() < 0.05 {
            // What was learned from rough solutions may be off by more than is asked for now.
            (tight, low, high, last) = (true, f64::NEG_INFINITY, f64::INFINITY, None);
        }
        t = next.clamp(t - 8.0, t + 8.0).clamp(-600.0, 601.0);
        let accuracy = if tight { tolerance } else { tolerance.max(1e-4) };
        point = solver.at(libm::exp(t), accuracy, Some(&point))?;
    }
    let root_residual = height(t, point.squared_norm).abs();
    let converged = point.converged && root_residual <= 1e-6;
    Ok(PowerPoint { point: RidgePoint { converged, ..point }, root_residual, is_zero: false, witness: None })
}
