//! Seconds of every method: operations over rates. The shares of the peak rate that a method reaches were measured once, with
//! `checks/forecast.py`; what that machine's rates were does not enter.

use super::Calibration;
use crate::path::is_long;

/// Sizes of a problem.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sizes {
    pub rows: f64,
    pub features: f64,
    pub targets: f64,
    /// Kernels that are tried.
    pub kernels: f64,
    /// Whether λ (or more) is chosen.
    pub is_chosen: bool,
}

/// Entries of a basis that are read, and numbers that are looked up a row, when λ is chosen by leave-one-out.
const READ: f64 = 150.0;
const LOOKED_UP: f64 = 12_000.0;
/// Iterations of conjugate gradients that are typical.
const ITERATIONS: f64 = 25.0;
/// λ, times the four fifths of five folds, when a loss's λ is chosen.
const PROBLEMS: f64 = 15.0 * 4.0;
/// Steps of Newton's method or an interior point.
const STEPS: f64 = 18.0;

impl Calibration {
    /// Leave-one-out at all ridges from a basis of this width.
    fn choosing(&self, sizes: &Sizes, width: f64) -> f64 {
        let n = sizes.rows * sizes.targets;
        if sizes.is_chosen {
            n * (READ * width + LOOKED_UP) / self.kept_values
        } else {
            6.0 * n * width / self.products
        }
    }

    /// α measured and corrected, in twice the precision.
    fn refining(&self, sizes: &Sizes, passes: f64) -> f64 {
        passes * sizes.rows * sizes.rows / self.precise_values
    }

    pub(crate) fn spectral(&self, sizes: &Sizes) -> f64 {
        let n = sizes.rows;
        let one = 0.5 * n * n / self.values + n.powi(3) / self.decomposed + self.choosing(sizes, n);
        sizes.kernels * one + self.refining(sizes, 2.0)
    }

    pub(crate) fn primal(&self, sizes: &Sizes) -> f64 {
        let (n, p) = (sizes.rows, sizes.features);
        (14.0 * n * p * p) / self.products * 2.0 + self.choosing(sizes, p) + 20.0 * n * p / self.values
    }

    pub(crate) fn banded(&self, sizes: &Sizes) -> f64 {
        let n = sizes.rows;
        let shifts = 40.0 * 150.0 * n * n * sizes.targets;
        let one = 0.5 * n * n / self.values + (2.7 * 1.4 * n.powi(3) + shifts) / self.products;
        let chosen = Sizes { is_chosen: false, kernels: 1.0, ..*sizes };
        sizes.kernels * one + self.cholesky(&chosen)
    }

    pub(crate) fn cholesky(&self, sizes: &Sizes) -> f64 {
        let n = sizes.rows;
        0.5 * n * n / self.values + (0.67 * 1.5 * n.powi(3) + 250.0 * n * n) / self.products + self.refining(sizes, 3.0)
    }

    /// F: columns of the kernel, and what the earlier ones explain of them.
    fn pivoting(&self, sizes: &Sizes, rank: f64) -> f64 {
        sizes.rows * rank / self.values + 1.5 * sizes.rows * rank * (rank + 64.0) / self.products
    }

    pub(crate) fn low_rank(&self, sizes: &Sizes, rank: f64) -> f64 {
        let n = sizes.rows;
        // Long products of many rows are made in single precision, in half the time.
        let operations = if is_long(n, rank) { 3.0 } else { 4.0 };
        let decomposing = operations * n * rank * rank / self.products + rank.powi(3) / self.decomposed;
        let one = self.pivoting(sizes, rank) + decomposing + self.choosing(sizes, rank);
        let form = if n <= 10_000.0 { self.refining(sizes, 1.0) } else { 0.0 };
        sizes.kernels * one + 8.0 * n * rank * sizes.targets / self.values + form
    }

    /// `kept` is the share of the matrix that stays in memory. Choices are made on landmarks before.
    pub(crate) fn gradients(&self, sizes: &Sizes, rank: f64, kept: f64, chosen_on: Option<f64>) -> f64 {
        let n = sizes.rows;
        let product = 0.5 * n * n * ((1.0 - kept) / self.values) + n * n / self.kept_values;
        let preconditioning = (4.0 * n * rank * sizes.targets + rank * rank) / self.products;
        let first = kept * 0.5 * n * n / self.values;
        let setting_up = self.pivoting(sizes, rank) + n * rank * rank / self.products;
        let choosing = chosen_on.map_or(0.0, |rank| self.low_rank(sizes, rank));
        choosing + setting_up + first + ITERATIONS * (product + preconditioning) + self.refining(sizes, 2.0)
    }

    /// A sample of two rows a landmark is factored; then passes over all rows.
    pub(crate) fn many_landmarks(&self, sizes: &Sizes, rank: f64) -> f64 {
        let sample = Sizes { rows: 2.0 * rank, ..*sizes };
        let setting_up = self.pivoting(&sample, rank) + (2.0 + 0.4) * rank.powi(3) / self.products;
        let pass = sizes.rows * rank / self.values;
        setting_up + sizes.targets * (0.8 * ITERATIONS + 4.0) * (1.5 * pass + 60.0 * rank * rank / self.products)
    }

    /// One pass of sums, and the surface from them.
    pub(crate) fn moments(&self, sizes: &Sizes, rank: f64) -> f64 {
        let (n, folds) = (sizes.rows, 5.0);
        n * rank / self.values + 2.0 * n * rank * rank / self.products + (folds + 1.0) * rank.powi(3) / self.decomposed
    }

    /// The matrix, and working sets whose gradients are products with some of its columns.
    pub(crate) fn dual(&self, sizes: &Sizes) -> f64 {
        let n = sizes.rows;
        let one = 50.0 * n * n / self.kept_values;
        let problems = if sizes.is_chosen { PROBLEMS * 0.64 } else { 1.0 };
        sizes.kernels * (n * n / self.values + problems * sizes.targets * one)
    }

    /// Newton's steps with conjugate gradients on the matrix.
    pub(crate) fn newton(&self, sizes: &Sizes) -> f64 {
        let n = sizes.rows;
        let one = 8.0 * 2.0 * 12.0 * n * n / self.kept_values + 8.0 * n * 500.0 * 500.0_f64.min(n) / self.products;
        let problems = if sizes.is_chosen { PROBLEMS * 0.64 } else { 1.0 };
        sizes.kernels * (n * n / self.values + problems * sizes.targets * one)
    }

    /// Newton's steps or an interior point on features.
    pub(crate) fn on_features(&self, sizes: &Sizes, width: f64) -> f64 {
        let n = sizes.rows;
        let one = STEPS * (1.4 * n * width * (width + 16.0) + width.powi(3) / 3.0) / self.products;
        let problems = if sizes.is_chosen { 1.0 + PROBLEMS } else { 1.0 };
        sizes.kernels * problems * sizes.targets * one
    }

    pub(crate) fn loss_on_landmarks(&self, sizes: &Sizes, rank: f64) -> f64 {
        sizes.kernels * self.pivoting(sizes, rank) + self.on_features(sizes, rank)
    }
}
