//! λ‖Γw‖² on sparse rows, whose zeros are never stored.
//!
//! With A the rows, centred and scaled by the roots of their weights, and H = AᵀA + λW·ΓᵀΓ, a step w − H⁻¹·(half the gradient)·W
//! is repeated until the objective cannot fall any further. The gradient is computed in twice the precision from the answer itself; H⁻¹ need
//! not be exact, so it is whatever is cheapest ([`inverse`]). What is left is bounded in [`certificate`].

mod certificate;
mod inverse;

use std::borrow::Cow;

use super::gap::{split, transposed, values, weighted_sum};
use super::solve::norm;
use super::{Features, LinearSolution, Sparse};
use crate::base::error::{Error, Result};
use crate::linalg::double::Double;
use crate::linalg::{Matrix, multiply};
use crate::term::penalty::Gamma;
use certificate::Unseen;
use inverse::Inverse;

/// Steps after which an answer is what it is.
const MOST_STEPS: usize = 40;
/// A relative gap at which nothing is left to gain.
const NOTHING: f64 = 1e-18;

/// A = √w∘(X − 1·meansᵀ), never formed.
pub(super) struct Centred<'a> {
    pub x: Cow<'a, Sparse>,
    /// Zeros without an offset.
    pub means: Vec<f64>,
    pub roots: Vec<f64>,
    /// W.
    pub total: f64,
}

impl<'a> Centred<'a> {
    fn new(x: &'a Features, sparse: &'a Sparse, weights: Option<&[f64]>, total: f64, offset: bool) -> Self {
        let means = if offset { x.means(weights) } else { vec![0.0; x.cols()] };
        let (x, roots) = match weights {
            None => (Cow::Borrowed(sparse), vec![1.0; sparse.rows()]),
            Some(weights) => {
                let roots: Vec<f64> = weights.iter().map(|w| w.sqrt()).collect();
                (Cow::Owned(sparse.scale_rows(&roots)), roots)
            }
        };
        Centred { x, means, roots, total }
    }

    /// A v.
    pub fn multiply(&self, v: &[f64]) -> Vec<f64> {
        let shift: f64 = self.means.iter().zip(v).map(|(m, v)| m * v).sum();
        let mut out = self.x.multiply(v);
        out.iter_mut().zip(&self.roots).for_each(|(out, root)| *out -= shift * root);
        out
    }

    /// Aᵀ u.
    pub fn multiply_transposed(&self, u: &[f64]) -> Vec<f64> {
        let shift: f64 = self.roots.iter().zip(u).map(|(r, u)| r * u).sum();
        let mut out = self.x.multiply_transposed(u);
        out.iter_mut().zip(&self.means).for_each(|(out, mean)| *out -= shift * mean);
        out
    }
}

/// ΓᵀΓ w.
pub(super) fn bend_twice(gamma: &Gamma, w: &[f64]) -> Vec<f64> {
    bend_back(gamma, &bend(gamma, w), w.len())
}

/// Γ w.
fn bend(gamma: &Gamma, w: &[f64]) -> Vec<f64> {
    match gamma {
        Gamma::Identity => w.to_vec(),
        Gamma::FirstDifferences => w.windows(2).map(|w| w[1] - w[0]).collect(),
        Gamma::SecondDifferences => w.windows(3).map(|w| (w[0] - w[1]) - (w[1] - w[2])).collect(),
        Gamma::Matrix(matrix) => multiply(matrix, &Matrix::column_vector(w.to_vec())).into_vec(),
    }
}

/// Γᵀ z.
fn bend_back(gamma: &Gamma, z: &[f64], columns: usize) -> Vec<f64> {
    let banded = |row: &[f64]| {
        let mut out = vec![0.0; columns];
        for (i, z) in z.iter().enumerate() {
            row.iter().enumerate().for_each(|(k, entry)| out[i + k] += entry * z);
        }
        out
    };
    match gamma {
        Gamma::Identity => z.to_vec(),
        Gamma::FirstDifferences => banded(&[-1.0, 1.0]),
        Gamma::SecondDifferences => banded(&[1.0, -2.0, 1.0]),
        Gamma::Matrix(matrix) => {
            crate::linalg::multiply_transposed(matrix, &Matrix::column_vector(z.to_vec())).into_vec()
        }
    }
}

/// An answer and its objective, half the gradient in w at the best offset, and the slope in b.
struct Point {
    w: Vec<f64>,
    b: f64,
    objective: f64,
    gradient: Vec<f64>,
    slope: f64,
}

/// The problem as it was given.
struct Problem<'a> {
    x: &'a Features,
    y: &'a [f64],
    weights: Option<&'a [f64]>,
    total: f64,
    lambda: f64,
    gamma: &'a Gamma,
    offset: bool,
}

impl Problem<'_> {
    fn at(&self, w: Vec<f64>) -> Point {
        let weight = |i: usize| self.weights.map_or(1.0, |w| w[i]);
        let predicted = values(self.x, &w, 0.0);
        let mut residuals: Vec<Double> =
            predicted.iter().zip(self.y).map(|(f, y)| Double::new(*y).minus(*f).normalised()).collect();
        let mean = |residuals: &[Double]| weighted_sum(self.weights, residuals).value() / self.total;
        let b = if self.offset { mean(&residuals) } else { 0.0 };
        residuals.iter_mut().for_each(|r| *r = r.add(-b).normalised());
        // What rounding b left over; the gradient in w is that at the offset without it.
        let slope = if self.offset { mean(&residuals) } else { 0.0 };
        let loss = (0..residuals.len()).map(|i| weight(i) * residuals[i].value().powi(2)).sum::<f64>() / self.total;
        let weighted: Vec<Double> =
            residuals.iter().enumerate().map(|(i, r)| r.add(-slope).scaled(weight(i) / self.total)).collect();
        let (high, low) = split(&weighted);
        let pull = transposed(self.x, &high, &low);
        let bent = bend(self.gamma, &w);
        let objective = loss + self.lambda * norm(&bent).powi(2);
        let back = bend_back(self.gamma, &bent, w.len());
        let gradient = pull.iter().zip(&back).map(|(pull, back)| self.lambda * back - pull).collect();
        Point { w, b, objective, gradient, slope }
    }
}

/// [`tikhonov`](super::tikhonov) for sparse rows and λ > 0; `None` if H cannot be inverted this way.
pub(super) fn sparse_tikhonov(
    x: &Features,
    y: &[f64],
    weights: Option<&[f64]>,
    lambda: f64,
    gamma: &Gamma,
    offset: bool,
    go_on: &(dyn Fn() -> bool + Sync),
) -> Result<Option<LinearSolution>> {
    let Features::Sparse(sparse) = x else { return Ok(None) };
    let total = super::check(x, y, weights)?;
    if let Gamma::Matrix(_) = gamma {
        gamma.matrix(x.cols())?;
    }
    let problem = Problem { x, y, weights, total, lambda, gamma, offset };
    let rows = Centred::new(x, sparse, weights, total, offset);
    let Some(inverse) = Inverse::new(&rows, gamma, lambda * total) else { return Ok(None) };
    let unseen = Unseen::new(&rows, gamma);
    let bound =
        |point: &Point| certificate::bound(&rows, (&inverse, &unseen), gamma, lambda, &point.gradient, point.slope);
    let mut best = problem.at(vec![0.0; x.cols()]);
    let mut gap = bound(&best);
    let mut steps = 0;
    while gap > NOTHING * best.objective && steps < MOST_STEPS {
        if !go_on() {
            return Err(Error::Interrupted);
        }
        steps += 1;
        let step = inverse.apply(&best.gradient, go_on);
        if !go_on() {
            return Err(Error::Interrupted);
        }
        let next = problem.at(unseen.shortest(best.w.iter().zip(&step).map(|(w, step)| w - total * step).collect()));
        let next_gap = bound(&next);
        // Rounding has the last word.
        if !(next_gap < 0.9 * gap) {
            break;
        }
        (best, gap) = (next, next_gap);
    }
    let relative_gap = if best.objective > 0.0 { gap / best.objective } else { 0.0 };
    Ok(Some(LinearSolution {
        nonzero: best.w.iter().filter(|w| **w != 0.0).count(),
        coefficients: best.w,
        intercept: best.b,
        objective: best.objective,
        relative_gap,
        dof: None,
        converged: relative_gap <= 1e-9,
        iterations: steps,
    }))
}
