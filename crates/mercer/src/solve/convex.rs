//! Any convex loss: min (1/W) Σ wᵢ ℓ(yᵢ, f(xᵢ) + b) + λ‖f‖ᵐ.
//!
//! Solvers of the ridge problem (m = 2) share one interface, [`RidgeSolver`]; [`exponent`] finds the ridge that serves
//! another exponent. No solver grades itself: the duality gap is recomputed in [`certificate`](crate::solve::certificate).

pub(crate) mod exponent;
pub(crate) mod linear;
pub(crate) mod multinomial;
pub(crate) mod newton;
pub(crate) mod tube;

use crate::base::error::Result;
use crate::term::loss::Loss;

/// The rows of a problem: what is minimised but for the penalty.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Problem<'a> {
    pub loss: &'a dyn Loss,
    pub y: &'a [f64],
    pub weights: Option<&'a [f64]>,
    pub has_offset: bool,
}

/// A point of a loss's own ridge path: the minimiser of (1/W) Σ w ℓ(y, f + b) + μ‖f‖².
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct RidgePoint {
    /// μ.
    pub ridge: f64,
    /// f = Σ αᵢ k(·, xᵢ).
    pub alpha: Vec<f64>,
    /// b.
    pub offset: f64,
    /// f(xᵢ), without b.
    pub fitted: Vec<f64>,
    /// The same at the rows of a larger kernel matrix that are not the problem's, in order, where a solver knows it; else empty.
    pub elsewhere: Vec<f64>,
    /// w of f(x) = xᵀw, where a solver on the features found it. With a small μ it is closer to the minimiser than Σ αᵢxᵢ, in which
    /// what the solver left of the gradient is divided by μ.
    pub coefficients: Option<Vec<f64>>,
    /// ‖f‖².
    pub squared_norm: f64,
    /// Whether the solver reached its tolerance.
    pub converged: bool,
    /// Steps it took.
    pub iterations: usize,
}

/// Solves the ridge problem at any μ, from a neighbouring solution if there is one.
pub(crate) trait RidgeSolver {
    fn at(&self, ridge: f64, tolerance: f64, start: Option<&RidgePoint>) -> Result<RidgePoint>;
}

impl Problem<'_> {
    pub fn rows(&self) -> usize {
        self.y.len()
    }

    pub fn weight(&self, i: usize) -> f64 {
        self.weights.map_or(1.0, |weights| weights[i])
    }

    /// W.
    pub fn total(&self) -> f64 {
        self.weights.map_or(self.y.len() as f64, |weights| weights.iter().sum())
    }

    /// (1/W) Σ w ℓ(y, f + b).
    pub fn mean_loss(&self, fitted: &[f64], offset: f64) -> f64 {
        let row = |i: usize| self.weight(i) * self.loss.value(self.y[i], fitted[i] + offset);
        (0..self.rows()).map(row).sum::<f64>() / self.total()
    }

    /// The b that is best for f = 0, and its mean loss.
    pub fn best_constant(&self) -> (f64, f64) {
        let zeros = vec![0.0; self.rows()];
        if !self.has_offset {
            return (0.0, self.mean_loss(&zeros, 0.0));
        }
        // A convex function of one variable, least somewhere between the extremes of the targets; for labels the
        // log-odds of a logistic loss may lie beyond them, but not beyond the logarithm of the number of rows.
        let reach = 2.0 + libm::log1p(self.total() / self.smallest_weight());
        let (low, high) = self.y.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), y| (l.min(*y), h.max(*y)));
        let (mut low, mut high) = match self.loss.reads() {
            crate::term::loss::Reads::Number => (low, high),
            crate::term::loss::Reads::Label => (-reach, reach),
        };
        let at = |b: f64| self.mean_loss(&zeros, b);
        for _ in 0..200 {
            let (first, second) = (low + (high - low) * 0.382, low + (high - low) * 0.618);
            if at(first) <= at(second) { high = second } else { low = first }
        }
        // A kinked loss is least at a target or along a whole interval; the exact target is better than its neighbour.
        let found = 0.5 * (low + high);
        let best = self.y.iter().copied().find(|y| (y - found).abs() <= 1e-9 * (1.0 + found.abs()));
        let best = best.filter(|y| at(*y) <= at(found)).unwrap_or(found);
        (best, at(best))
    }

    fn smallest_weight(&self) -> f64 {
        self.weights.map_or(1.0, |weights| weights.iter().copied().fold(f64::INFINITY, f64::min))
    }
}

impl RidgePoint {
    /// f = 0 with this offset.
    pub fn zero(rows: usize, ridge: f64, offset: f64) -> Self {
        RidgePoint {
            ridge,
            alpha: vec![0.0; rows],
            offset,
            fitted: vec![0.0; rows],
            elsewhere: Vec::new(),
            coefficients: None,
            squared_norm: 0.0,
            converged: true,
            iterations: 0,
        }
    }
}
