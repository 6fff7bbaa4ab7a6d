//! Follows the effective ridge from row to row.
//!
//! μ solves μ = (λm/2) N(μ)^(m/2−1), and both N and γ = nμ move with every row. Near a factor at γ₀ the path is known
//! from a few solves ([`Krylov`]); when γ has moved away from γ₀ by more than a tenth, the matrix is factored again.
//! For m ≤ 1 there may be several stationary points: the one of the last row is followed, and all of them are sought
//! again on a full decomposition whenever the number of rows has grown by a twentieth, or the quadrature says that the
//! zero function has become better, or no longer is.

use super::krylov::{Krylov, Node, solve};
use crate::base::error::{Error, Result};
use crate::path::Path;
use crate::path::power::{self, Minimum};

/// γ may differ from γ₀ by this factor.
const REACH: f64 = 1.1;
/// A new factor is made a little above γ, which grows with the rows.
const AHEAD: f64 = 1.08;
/// Up to this many rows stationary points are sought afresh with every row (m ≤ 1).
const FEW: usize = 40;
/// Otherwise when there are this many times as many rows.
const GROWTH: f64 = 1.05;
/// The residual of the linear system, relative to its right-hand side.
const TOLERANCE: f64 = 1e-15;

/// A matrix M (n × n, or as many as there are landmarks) whose ridge path (M + γ)⁻¹c is followed.
pub(super) trait System {
    /// n: γ = nμ.
    fn rows(&self) -> usize;
    /// c, divided by a power of two.
    fn right_side(&self) -> &[f64];
    /// The γ₀ of the factor, if there is one.
    fn shift(&self) -> Option<f64>;
    /// Factors M + γ₀; `false` if rounding does not allow it.
    fn factor_at(&mut self, shift: f64) -> Result<bool>;
    /// (M + γ₀)⁻¹ v.
    fn apply_inverse(&self, v: &[f64]) -> Vec<f64>;
    /// The ridge path with these eigenvalues of M and energies of c.
    fn path(&self, nodes: &[Node]) -> Path;
    /// The ridge path from a full decomposition.
    fn full_path(&self) -> Result<Path>;
    /// log of A in N → A/γ² for large γ, in the target's own units.
    fn log_tail(&self) -> f64;
    /// Whether γ is at the rounding level of M.
    fn is_at_rounding(&self, gamma: f64) -> bool;
    /// log N of a solution, in the target's own units. The solution is corrected by `solve` where it needs it.
    fn measure(&self, solution: &mut Vec<f64>, gamma: f64, solve: &dyn Fn(&[f64]) -> Result<Vec<f64>>) -> Result<f64>;
}

/// Where on the path the minimiser is.
pub(super) enum Found {
    /// The zero function.
    Zero,
    At {
        /// In the units of the right-hand side.
        solution: Vec<f64>,
        log_norm: f64,
    },
    /// γ is at the rounding level of M: only a decomposition can tell.
    Rounding,
}

/// The point of the path that is followed.
#[derive(Debug, Clone)]
pub(super) struct Follower {
    pub exponent: f64,
    lambda: f64,
    /// What is known of the present minimum; its `log_ridge` is where the next search starts.
    pub minimum: Minimum,
    /// Rows at the last full decomposition.
    isolated_at: usize,
    /// Whether the quadrature then saw the zero function as the best.
    zero_was_hinted: Option<bool>,
    /// Factors that were made, and full decompositions.
    pub factors: usize,
    pub decompositions: usize,
}

enum Search {
    Found(Found),
    /// The root is elsewhere.
    Drifted(f64),
    /// The quadrature cannot tell.
    Unclear,
}

impl Follower {
    pub fn new(exponent: f64, lambda: f64, minimum: Minimum) -> Self {
        Follower { exponent, lambda, minimum, isolated_at: 0, zero_was_hinted: None, factors: 0, decompositions: 0 }
    }

    /// The minimiser for the rows that the system holds now.
    pub fn settle(&mut self, system: &mut impl System) -> Result<Found> {
        const MOST_ROUNDS: usize = 60;
        if system.right_side().iter().all(|c| *c == 0.0) {
            self.minimum = nothing();
            return Ok(Found::Zero);
        }
        let mut is_fresh = self.must_isolate(system);
        if is_fresh {
            self.isolate(system)?;
        }
        for _ in 0..MOST_ROUNDS {
            let Some(t) = self.minimum.log_ridge else { return Ok(Found::Zero) };
            let gamma = ridge_to_gamma(t, system.rows());
            if system.is_at_rounding(gamma) {
                return Ok(Found::Rounding);
            }
            if !system.shift().is_some_and(|shift| is_near(shift, gamma)) {
                self.factors += 1;
                if !(gamma.is_finite() && system.factor_at(gamma * AHEAD)?) {
                    return Ok(Found::Rounding);
                }
            }
            match self.search(system, t, is_fresh)? {
                Search::Found(found) => return Ok(found),
                Search::Drifted(t) => self.minimum.log_ridge = Some(t),
                Search::Unclear if is_fresh => return Ok(Found::Rounding),
                Search::Unclear => {
                    self.isolate(system)?;
                    is_fresh = true;
                }
            }
        }
        Err(Error::Decomposition(format!("the effective ridge did not settle within {MOST_ROUNDS} factors")))
    }

    /// All stationary points, on a full decomposition.
    fn isolate(&mut self, system: &mut impl System) -> Result<()> {
        let mut path = system.full_path()?;
        self.minimum = power::minimise(&mut path, self.exponent, self.log_lambda(), self.minimum.log_ridge);
        self.isolated_at = system.rows();
        self.zero_was_hinted = None;
        self.decompositions += 1;
        Ok(())
    }

    /// Goes on with another λ.
    pub fn restart_at(&mut self, lambda: f64) {
        self.lambda = lambda;
        self.forget();
    }

    /// Stationary points (m ≤ 1) are sought afresh with the next row.
    pub fn forget(&mut self) {
        self.isolated_at = 0;
    }

    fn must_isolate(&mut self, system: &impl System) -> bool {
        let n = system.rows();
        if self.exponent == 2.0 {
            self.minimum = only(self.log_lambda(), 0.0, 1.0);
            return false;
        }
        if self.exponent > 1.0 {
            return self.minimum.log_ridge.is_none();
        }
        if n <= FEW || n as f64 >= GROWTH * self.isolated_at as f64 {
            return true;
        }
        // m = 1: f = 0 until the limit of h is positive, which takes one product to know.
        let limit = || 0.5 * system.log_tail() - self.constant() - libm::log(n as f64);
        self.minimum.log_ridge.is_none() && self.exponent == 1.0 && limit() > 0.0
    }

    pub fn lambda(&self) -> f64 {
        self.lambda
    }

    fn log_lambda(&self) -> f64 {
        libm::log(self.lambda)
    }

    /// log(λm/2).
    fn constant(&self) -> f64 {
        self.log_lambda() + libm::log(self.exponent / 2.0)
    }

    fn search(&mut self, system: &impl System, start: f64, is_fresh: bool) -> Result<Search> {
        const MOST_STEPS: usize = 60;
        let Some(shift) = system.shift() else { return Ok(Search::Unclear) };
        let mut krylov = Krylov::new(system.right_side());
        let mut before = start;
        for _ in 0..MOST_STEPS {
            krylov.step(|v| system.apply_inverse(v))?;
            let mut path = system.path(&krylov.nodes(shift));
            let Some((t, minimum)) = self.choose(&mut path, start, is_fresh) else {
                // Few steps see few stationary points.
                if krylov.steps() > 8 || krylov.is_exhausted() {
                    return Ok(Search::Unclear);
                }
                continue;
            };
            let gamma = ridge_to_gamma(t, system.rows());
            let has_settled = (t - before).abs() < 0.01 || krylov.steps() > 8 || krylov.is_exhausted();
            before = t;
            if !is_near(shift, gamma) {
                if has_settled {
                    return Ok(Search::Drifted(t));
                }
                continue;
            }
            if krylov.residual(gamma - shift) > TOLERANCE && krylov.steps() < MOST_STEPS {
                continue;
            }
            if self.exponent < 1.0 && self.zero_was_hinted.is_none() {
                self.zero_was_hinted = Some(minimum.log_ridge.is_none());
            }
            let is_counted = self.exponent >= 1.0 || is_fresh;
            let stationary = if is_fresh { std::mem::take(&mut self.minimum.stationary) } else { minimum.stationary };
            let found = self.polish(system, &krylov, &path, t)?;
            self.minimum = Minimum { stationary, is_counted, ..self.minimum.clone() };
            return Ok(Search::Found(found));
        }
        Ok(Search::Unclear)
    }

    /// log μ on a path that is known near `start`; `None` if another kind of minimum may have taken over.
    fn choose(&self, path: &mut Path, start: f64, is_fresh: bool) -> Option<(f64, Minimum)> {
        if self.exponent == 2.0 {
            return Some((self.log_lambda(), only(self.log_lambda(), 0.0, 1.0)));
        }
        let minimum = power::minimise(path, self.exponent, self.log_lambda(), Some(start));
        if self.exponent >= 1.0 {
            return minimum.log_ridge.map(|t| (t, minimum));
        }
        let is_zero = minimum.log_ridge.is_none();
        if !is_fresh && self.zero_was_hinted.is_some_and(|was| was != is_zero) {
            return None;
        }
        let minima = minimum.stationary.iter().filter(|point| point.is_minimum).map(|point| point.log_ridge);
        let nearest = minima.min_by(|a, b| (a - start).abs().total_cmp(&(b - start).abs()))?;
        ((nearest - start).abs() < 1.0).then_some((nearest, minimum))
    }

    /// Newton's method on h with the norm of the solution itself, until rounding.
    fn polish(&mut self, system: &impl System, krylov: &Krylov, path: &Path, start: f64) -> Result<Found> {
        let shift = system.shift().unwrap_or(f64::NAN);
        let mut t = start;
        let mut best: Option<(f64, f64, f64, Found)> = None;
        for _ in 0..6 {
            let gamma = ridge_to_gamma(t, system.rows());
            let mut solution = krylov.solution(gamma - shift);
            let correct = |rest: &[f64]| solve(rest, gamma - shift, 1e-6, |v| system.apply_inverse(v));
            let log_norm = system.measure(&mut solution, gamma, &correct)?;
            let found = Found::At { solution, log_norm };
            if self.exponent == 2.0 || !log_norm.is_finite() {
                self.minimum = only(t, 0.0, 1.0);
                return Ok(found);
            }
            let h = t - self.constant() + (1.0 - self.exponent / 2.0) * log_norm;
            let slope = 1.0 - (2.0 - self.exponent) * path.point(t).slope;
            let residual = (h / slope).abs();
            if best.as_ref().is_some_and(|(least, ..)| residual >= *least) {
                break;
            }
            best = Some((residual, t, slope, found));
            if residual <= 4.0 * f64::EPSILON * (1.0 + t.abs()) {
                break;
            }
            t -= h / slope;
        }
        let Some((residual, t, slope, found)) = best else { return Ok(Found::Rounding) };
        self.minimum = only(t, residual, slope);
        Ok(found)
    }
}

/// nμ.
pub(super) fn ridge_to_gamma(log_ridge: f64, rows: usize) -> f64 {
    libm::exp(log_ridge + libm::log(rows as f64))
}

fn is_near(shift: f64, gamma: f64) -> bool {
    gamma <= REACH * shift && shift <= REACH * gamma
}

/// One stationary point, the minimum.
fn only(log_ridge: f64, root_residual: f64, firmness: f64) -> Minimum {
    let stationary = vec![power::Stationary { log_ridge, is_minimum: true }];
    Minimum { log_ridge: Some(log_ridge), stationary, root_residual, firmness, is_counted: true }
}

/// The zero function, because there is nothing to follow.
pub(super) fn nothing() -> Minimum {
    Minimum { log_ridge: None, stationary: Vec::new(), root_residual: 0.0, firmness: 1.0, is_counted: true }
}
