//! The root search that the M-RLSR paper publishes for exponents m ≤ 1, compared with the global minimum.
//!
//! The paper applies Newton's method to F(C) = (Σ 4 d z²/(2d + λmnC)²)^(m/2−1) − C from ten starts between 1 and 10⁴, with at
//! most 500 steps each and precision 10⁻²⁰, and keeps the C with the smallest objective. It never considers f = 0, and it has
//! no test of whether all roots were found. [`minimum`](power::minimum) finds all roots and compares them with f = 0.

use mercer::Result;
use mercer::spectrum::{Path, Spectrum, power};

const STARTS: usize = 10;
const STEPS: usize = 500;
const PRECISION: f64 = 1e-20;
/// An objective that is higher than the least by this share is a miss.
const MISSED: f64 = 1e-6;

/// A target in the coordinates of a decomposition.
#[derive(Debug, Clone)]
pub struct Problem {
    eigenvalues: Vec<f64>,
    z: Vec<f64>,
    rows: f64,
    path: Path,
}

/// How the search ended.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Outcome {
    /// The global minimum.
    Found,
    /// A root, although f = 0 has a smaller objective.
    MissedZero,
    /// The minimum is at a root that was not found.
    MissedRoot,
    /// No root was found, and the minimum is f = 0.
    NoAnswer,
}

/// The outcomes for one target at several exponents and λ.
#[derive(Debug, Clone)]
pub struct Tally {
    /// How many problems ended in each [`Outcome`], in the order of the variants.
    pub counts: [usize; 4],
    /// The largest relative excess of the objective over the minimum.
    pub worst: f64,
    /// For each exponent the percentage of misses, and that of misses and problems without an answer.
    pub share: Vec<(f64, f64)>,
}

impl Tally {
    /// Runs the search at every exponent and λ.
    pub fn new(problem: &Problem, exponents: &[f64], lambdas: &[f64]) -> Self {
        let mut tally = Tally { counts: [0; 4], worst: 0.0, share: vec![(0.0, 0.0); exponents.len()] };
        for (exponent, share) in exponents.iter().zip(&mut tally.share) {
            for lambda in lambdas {
                let (outcome, excess) = problem.compare(*exponent, *lambda);
                tally.counts[outcome as usize] += 1;
                tally.worst = tally.worst.max(excess);
                let part = 100.0 / lambdas.len() as f64;
                share.0 += if matches!(outcome, Outcome::MissedZero | Outcome::MissedRoot) { part } else { 0.0 };
                share.1 += if outcome == Outcome::Found { 0.0 } else { part };
            }
        }
        tally
    }
}

impl Problem {
    /// One target, one number for each row of the decomposition.
    pub fn new(spectrum: &Spectrum, y: &[f64]) -> Result<Self> {
        let target = spectrum.target(y)?;
        Ok(Problem {
            eigenvalues: spectrum.eigenvalues().to_vec(),
            z: target.coordinates(),
            rows: spectrum.weight_sum(),
            path: spectrum.path(&[&target]),
        })
    }

    /// Number of rows.
    pub fn rows(&self) -> f64 {
        self.rows
    }

    /// F and F′ at C.
    fn function(&self, exponent: f64, lambda: f64, c: f64) -> (f64, f64) {
        let factor = lambda * exponent * self.rows;
        let (mut sum, mut slope) = (0.0, 0.0);
        for (d, z) in self.eigenvalues.iter().zip(&self.z) {
            let below = 2.0 * d + factor * c;
            let term = 4.0 * d * z * z / (below * below);
            sum += term;
            slope -= 2.0 * factor * term / below;
        }
        let power = exponent / 2.0 - 1.0;
        (sum.powf(power) - c, power * sum.powf(power - 1.0) * slope - 1.0)
    }

    /// The objective of the ridge solution that belongs to C.
    fn objective(&self, exponent: f64, lambda: f64, ridge: f64) -> f64 {
        self.path.train_mse(ridge) + lambda * self.path.norm(ridge).powf(exponent)
    }

    /// The smallest objective of the ten searches.
    fn published(&self, exponent: f64, lambda: f64) -> Option<f64> {
        let start = |index: usize| 10_f64.powf(4.0 * index as f64 / (STARTS - 1) as f64);
        let ends = (0..STARTS).filter_map(|index| {
            let mut c = start(index);
            for _ in 0..STEPS {
                let (value, slope) = self.function(exponent, lambda, c);
                let next = c - value / slope;
                let step = (next - c).abs();
                c = next;
                if !c.is_finite() || value.abs() < PRECISION || step < PRECISION {
                    break;
                }
            }
            (c > 0.0 && c.is_finite()).then_some(c)
        });
        ends.map(|c| self.objective(exponent, lambda, 0.5 * lambda * exponent * c))
            .filter(|v| v.is_finite())
            .reduce(f64::min)
    }

    /// How the published search ends, and the relative excess of its objective over the minimum.
    pub fn compare(&self, exponent: f64, lambda: f64) -> (Outcome, f64) {
        let minimum = power::minimum(&self.path, exponent, lambda);
        let ridge = minimum.log_ridge.map(f64::exp);
        let least = ridge.map_or(self.path.zero_mse(), |ridge| self.objective(exponent, lambda, ridge));
        match (self.published(exponent, lambda), ridge) {
            (Some(found), _) if found <= least * (1.0 + MISSED) => (Outcome::Found, 0.0),
            (Some(found), None) => (Outcome::MissedZero, found / least - 1.0),
            (Some(found), Some(_)) => (Outcome::MissedRoot, found / least - 1.0),
            (None, Some(_)) => (Outcome::MissedRoot, 0.0),
            (None, None) => (Outcome::NoAnswer, 0.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(eigenvalues: &[f64], z: &[f64], rows: f64) -> Problem {
        Problem { eigenvalues: eigenvalues.to_vec(), z: z.to_vec(), rows, path: Path::from_parts(eigenvalues, z, rows) }
    }

    /// The least objective on a fine grid of ridges, and f = 0.
    fn brute_force(problem: &Problem, exponent: f64, lambda: f64) -> f64 {
        let grid = (-4000..=2000).map(|i| problem.objective(exponent, lambda, (f64::from(i) * 0.01).exp()));
        grid.fold(problem.path.zero_mse(), f64::min)
    }

    #[test]
    fn a_large_penalty_makes_the_published_search_miss_zero() {
        let problem = problem(&[3.0, 1.0, 0.2], &[2.0, 1.0, 0.5], 3.0);
        // Some λ at which there are roots and f = 0 is better than all of them.
        let mut missed = 0;
        for step in 0..60 {
            let lambda = 0.05 * 1.1_f64.powi(step);
            let (outcome, excess) = problem.compare(0.5, lambda);
            if outcome == Outcome::MissedZero {
                missed += 1;
                let least = brute_force(&problem, 0.5, lambda);
                assert_eq!(least, problem.path.zero_mse());
                assert!((problem.published(0.5, lambda).unwrap() / least - 1.0 - excess).abs() < 1e-12 && excess > 0.0);
            }
        }
        assert!(missed > 0);
        assert_ne!(problem.compare(0.5, 50.0).0, Outcome::Found);
    }

    #[test]
    fn what_is_called_found_is_the_least_of_all() {
        let problem = problem(&[3.0, 1.0, 0.2], &[2.0, 1.0, 0.5], 3.0);
        let mut counts = [0; 4];
        for exponent in [0.2, 0.5, 0.8, 1.0] {
            for lambda in [1e-4, 1e-2, 0.1, 1.0, 10.0] {
                let (outcome, _) = problem.compare(exponent, lambda);
                counts[outcome as usize] += 1;
                let least = brute_force(&problem, exponent, lambda);
                if outcome == Outcome::Found {
                    let found = problem.published(exponent, lambda).unwrap();
                    assert!((found / least - 1.0).abs() < 1e-4, "{exponent} {lambda}: {found} {least}");
                }
            }
        }
        assert!(counts[0] > 0 && counts[0] < 20, "{counts:?}");
    }

    #[test]
    fn the_slope_is_the_derivative() {
        let problem = problem(&[3.0, 1.0, 0.2], &[2.0, 1.0, 0.5], 3.0);
        let (value, slope) = problem.function(0.6, 0.3, 2.0);
        let (near, _) = problem.function(0.6, 0.3, 2.0 + 1e-6);
        assert!(((near - value) / 1e-6 - slope).abs() < 1e-5, "{slope}");
    }
}
