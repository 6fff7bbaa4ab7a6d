//! Least squares in the span of a few kernel functions, from moments: O(r²) operations per row, whatever came before.
//!
//! Landmarks x₁, …, x_r with K_LL = L Lᵀ give the features φ(x) = L⁻¹ k_L(x). φ(x)ᵀφ(x′) is what the landmarks can tell
//! of k(x, x′), and k(x, x) − ‖φ(x)‖² ≥ 0 is what they miss of the row x. A function wᵀφ has the norm ‖w‖, so that the
//! problem is (1/n) Σ (y − wᵀφ − b)² + λ‖w‖ᵐ, whose ridge path needs A = Σ (φ − φ̄)(φ − φ̄)ᵀ and c = Σ (φ − φ̄)(y − ȳ)
//! only. Both are kept around the running means, so that nothing cancels.

use super::follow::{Follower, Found, System, ridge_to_gamma};
use super::krylov::Node;
use super::triangle::{Triangle, add_multiple, dot};
use crate::base::error::{Error, Result};
use crate::linalg::{Cholesky, Matrix, eigen, exponent_of, multiply_lower, multiply_transposed, scale_by_power_of_two};
use crate::path::Path;
use crate::solve::Solution;
use crate::term::kernel::{Kernel, Point, Points, SharedKernel};

/// A row of which less than this share is left is no landmark: its column would be rounding.
const WORTHWHILE: f64 = 1e-10;
/// A ridge below this share of the trace of A is at the rounding level of the moments, and raised to it.
const ROUNDING: f64 = 1e-13;

#[derive(Debug, Clone)]
pub(super) struct Landmarks {
    kernel: SharedKernel,
    offset: bool,
    pub points: Points,
    /// L of K_LL.
    triangle: Triangle,
    rows: usize,
    /// φ̄, 0 without an offset.
    mean_features: Vec<f64>,
    /// A, both triangles.
    moments: Matrix,
    /// c, in units of 2ᵏ.
    cross: Vec<f64>,
    /// ȳ (0 without an offset) and Σ (y − ȳ)², in units of 2ᵏ.
    mean_target: f64,
    energy: f64,
    power: i32,
    /// Σ k(x, x) − ‖φ‖² and Σ k(x, x) over all rows.
    missed: f64,
    diagonal: f64,
    /// L Lᵀ = A + γ₀, and γ₀.
    factor: Option<(Triangle, f64)>,
    /// w, in units of 2ᵏ.
    weights: Vec<f64>,
    pub norm: f64,
}

/// A row as the landmarks see it.
pub(super) struct Seen {
    features: Vec<f64>,
    own: f64,
}

impl Landmarks {
    /// At most `budget` of the rows, each the one that the others before it tell least of; all rows are folded in.
    pub fn choose(kernel: SharedKernel, offset: bool, points: &Points, targets: &[f64], budget: usize) -> Self {
        let (pivots, features, diagonal) = pivot(&*kernel, points, budget);
        let (n, r) = (points.rows(), pivots.len());
        let lower = Matrix::from_fn(r, r, |i, j| if i >= j { features.get(pivots[i], j) } else { 0.0 });
        let size = targets.iter().fold(0.0, |max: f64, y| max.max(y.abs()));
        let power = if size > 0.0 { exponent_of(size) } else { 0 };
        let mut centred: Vec<f64> = targets.iter().map(|y| libm::ldexp(*y, -power)).collect();
        let mean_target = if offset { centred.iter().sum::<f64>() / n as f64 } else { 0.0 };
        centred.iter_mut().for_each(|y| *y -= mean_target);
        let mut around = features;
        let mut missed: f64 = diagonal.iter().sum();
        let mut mean_features = vec![0.0; r];
        for j in 0..r {
            let column = around.col_mut(j);
            missed -= dot(column, column);
            if offset {
                let mean = column.iter().sum::<f64>() / n as f64;
                column.iter_mut().for_each(|f| *f -= mean);
                mean_features[j] = mean;
            }
        }
        Landmarks {
            points: points.subset(&pivots),
            triangle: Triangle::of_lower(&lower),
            rows: n,
            mean_features,
            moments: multiply_transposed(&around, &around),
            cross: (0..r).map(|j| dot(around.col(j), &centred)).collect(),
            mean_target,
            energy: dot(&centred, &centred),
            power,
            missed: missed.max(0.0),
            diagonal: diagonal.iter().sum(),
            factor: None,
            weights: vec![0.0; r],
            norm: 0.0,
            kernel,
            offset,
        }
    }

    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Mean of what the landmarks miss of k(x, x) over all rows, and mean of k(x, x).
    pub fn mean_missed(&self) -> (f64, f64) {
        (self.missed / self.rows as f64, self.diagonal / self.rows as f64)
    }

    /// (1/n) Σ (y − f − b)² of all rows, in the target's own units.
    pub fn train_mse(&self) -> f64 {
        let product = multiply_lower(&self.moments, &Matrix::column_vector(self.weights.clone()));
        let explained = 2.0 * dot(&self.cross, &self.weights) - dot(product.as_slice(), &self.weights);
        libm::ldexp((self.energy - explained).max(0.0) / self.rows as f64, 2 * self.power)
    }

    /// The variance of the target (its mean square, without an offset).
    pub fn target_variance(&self) -> f64 {
        libm::ldexp(self.energy / self.rows as f64, 2 * self.power)
    }

    /// φ(x) and k(x, x).
    pub fn see(&self, x: Point<'_>) -> Seen {
        let mut features = vec![0.0; self.points.rows()];
        self.kernel.values(x, &self.points, 0, &mut features);
        self.triangle.solve_lower(&mut features);
        let mut own = [0.0];
        self.kernel.diagonal(&Points::of_one(x), 0, &mut own);
        Seen { features, own: own[0] }
    }

    pub fn predict(&self, seen: &Seen) -> f64 {
        self.intercept() + libm::ldexp(dot(&seen.features, &self.weights), self.power)
    }

    /// b = ȳ − wᵀφ̄.
    pub fn intercept(&self) -> f64 {
        libm::ldexp(self.mean_target - dot(&self.mean_features, &self.weights), self.power)
    }

    /// α in f = Σ αⱼ k(·, xⱼ): L⁻ᵀ w.
    pub fn alpha(&self) -> Vec<f64> {
        let mut alpha = self.weights.clone();
        self.triangle.solve_upper(&mut alpha);
        scale_by_power_of_two(&mut alpha, self.power);
        alpha
    }

    /// Takes the row into the moments; the minimiser is the old one until [`settle`](Self::settle) is called.
    pub fn add(&mut self, seen: &Seen, target: f64) {
        self.make_room_for(target);
        let before = self.rows as f64;
        self.rows += 1;
        let n = self.rows as f64;
        self.missed += (seen.own - dot(&seen.features, &seen.features)).max(0.0);
        self.diagonal += seen.own;
        // Around the old means d, the new row adds d dᵀ·(n−1)/n to the moments around the new ones.
        let mut change = seen.features.clone();
        let mut step = libm::ldexp(target, -self.power);
        let mut share = 1.0;
        if self.offset {
            add_multiple(&mut change, -1.0, &self.mean_features);
            step -= self.mean_target;
            add_multiple(&mut self.mean_features, 1.0 / n, &change);
            self.mean_target += step / n;
            share = before / n;
        }
        for (j, value) in change.iter().enumerate() {
            add_multiple(self.moments.col_mut(j), share * value, &change);
        }
        add_multiple(&mut self.cross, share * step, &change);
        self.energy += share * step * step;
        if let Some((triangle, _)) = &mut self.factor {
            let root = share.sqrt();
            change.iter_mut().for_each(|v| *v *= root);
            triangle.add_square(&change);
        }
    }

    /// A target far beyond all before it changes the unit, so that squares stay in range.
    fn make_room_for(&mut self, target: f64) {
        let power = if target == 0.0 { self.power } else { exponent_of(target) };
        if power > self.power + 100 {
            let change = self.power - power;
            scale_by_power_of_two(&mut self.cross, change);
            scale_by_power_of_two(&mut self.weights, change);
            self.mean_target = libm::ldexp(self.mean_target, change);
            self.energy = libm::ldexp(self.energy, 2 * change);
            self.power = power;
        }
    }

    /// Brings the minimiser to the moments that are there.
    pub fn settle(&mut self, follower: &mut Follower) -> Result<()> {
        let floor = ROUNDING * self.trace() / self.rows as f64;
        if follower.exponent == 2.0 && follower.lambda() < floor {
            follower.restart_at(floor);
        }
        match follower.settle(self)? {
            Found::Zero => {
                self.weights.fill(0.0);
                self.norm = 0.0;
            }
            Found::At { solution, log_norm } => {
                self.weights = solution;
                self.norm = libm::exp(0.5 * log_norm);
            }
            Found::Rounding => self.settle_at_rounding(follower)?,
        }
        match self.weights.iter().all(|w| w.is_finite()) {
            true => Ok(()),
            false => Err(Error::Decomposition("the coefficients are not finite; a larger λ is needed".into())),
        }
    }

    /// The ridge solution at the least ridge that the moments allow.
    fn settle_at_rounding(&mut self, follower: &mut Follower) -> Result<()> {
        let asked = follower.minimum.log_ridge.map_or(0.0, |t| ridge_to_gamma(t, self.rows));
        let least = ROUNDING * self.trace();
        let gamma = asked.max(least);
        if asked < least {
            follower.minimum.log_ridge = Some(libm::log(gamma / self.rows as f64));
        }
        let found = eigen(self.moments.clone())?;
        self.weights = vec![0.0; self.cross.len()];
        for (k, d) in found.values.iter().enumerate() {
            let vector = found.vectors.col(k);
            add_multiple(&mut self.weights, dot(vector, &self.cross) / (d.max(0.0) + gamma), vector);
        }
        self.norm = libm::ldexp(dot(&self.weights, &self.weights).sqrt(), self.power);
        Ok(())
    }

    /// The minimiser in the span of the landmarks with what was measured on it; for m < 1 a full decomposition counts the
    /// stationary points.
    pub fn solution(&mut self, follower: &mut Follower) -> Result<Solution> {
        if follower.exponent < 1.0 {
            follower.forget();
            self.settle(follower)?;
        }
        let minimum = follower.minimum.clone();
        let gamma = minimum.log_ridge.map_or(f64::INFINITY, |t| ridge_to_gamma(t, self.rows)).max(f64::MIN_POSITIVE);
        let coefficients = self.alpha();
        let spread = self.target_variance().sqrt();
        // The sum Σ αⱼ k(x, xⱼ) + b is rounded, and the moments are: A to a few units of its trace.
        let reach = self.mean_missed().1;
        let rounded = reach * (coefficients.len() as f64).sqrt() * dot(&coefficients, &coefficients).sqrt()
            + self.intercept().abs()
            + spread;
        let moved = self.trace() / gamma * reach.sqrt() * self.norm;
        let relative_error = 4.0 * f64::EPSILON * (rounded + moved) / spread;
        Ok(Solution {
            offset: self.intercept(),
            fitted: Vec::new(),
            norm: self.norm,
            train_mse: self.train_mse(),
            dof: None,
            solve_residual: 0.0,
            relative_error: if relative_error.is_finite() { relative_error } else { 1.0 },
            condition: ((self.trace() + gamma) / gamma).min(f64::MAX),
            minimum,
            coefficients,
        })
    }

    fn trace(&self) -> f64 {
        (0..self.moments.rows()).map(|i| self.moments.get(i, i)).sum()
    }
}

/// Rows by the greedy rule, all rows' features φ (n × r), and k(x, x).
fn pivot(kernel: &dyn Kernel, points: &Points, budget: usize) -> (Vec<usize>, Matrix, Vec<f64>) {
    let n = points.rows();
    let mut diagonal = vec![0.0; n];
    kernel.diagonal(points, 0, &mut diagonal);
    let least = WORTHWHILE * diagonal.iter().fold(0.0, |max: f64, d| max.max(*d));
    let mut left = diagonal.clone();
    let mut pivots: Vec<usize> = Vec::new();
    let mut columns: Vec<Vec<f64>> = Vec::new();
    while pivots.len() < budget {
        let largest = (0..n).reduce(|best, i| if left[i] > left[best] { i } else { best });
        let Some(next) = largest.filter(|i| left[*i] > least) else { break };
        let mut column = vec![0.0; n];
        points.with_point(next, |x| kernel.values(x, points, 0, &mut column));
        for known in &columns {
            add_multiple(&mut column, -known[next], known);
        }
        let root = column[next].max(least).sqrt();
        column.iter_mut().for_each(|v| *v /= root);
        left.iter_mut().zip(&column).for_each(|(d, f)| *d = (*d - f * f).max(0.0));
        left[next] = 0.0;
        // Rows that are landmarks have nothing in later columns; what is there is rounding.
        pivots.iter().for_each(|known| column[*known] = 0.0);
        pivots.push(next);
        columns.push(column);
    }
    let rank = columns.len();
    (pivots, Matrix::from_columns(n, rank, columns.concat()).unwrap_or_default(), diagonal)
}

impl System for Landmarks {
    fn rows(&self) -> usize {
        self.rows
    }

    fn right_side(&self) -> &[f64] {
        &self.cross
    }

    fn shift(&self) -> Option<f64> {
        self.factor.as_ref().map(|(_, shift)| *shift)
    }

    fn factor_at(&mut self, shift: f64) -> Result<bool> {
        let mut shifted = self.moments.clone();
        for i in 0..shifted.rows() {
            shifted.set(i, i, shifted.get(i, i) + shift);
        }
        self.factor = Cholesky::new(shifted).map(|cholesky| (Triangle::of_lower(cholesky.lower()), shift));
        Ok(self.factor.is_some())
    }

    fn apply_inverse(&self, v: &[f64]) -> Vec<f64> {
        self.factor.as_ref().map_or_else(|| v.to_vec(), |(triangle, _)| triangle.solve(v))
    }

    /// c carries √d z: its energy divided by d is the target's.
    fn path(&self, nodes: &[Node]) -> Path {
        let least = 1e-14 * nodes.iter().fold(0.0, |max: f64, (d, _)| max.max(*d));
        let kept = nodes.iter().filter(|(d, _)| *d > least);
        let (eigenvalues, energies): (Vec<f64>, Vec<f64>) = kept.map(|(d, energy)| (*d, energy / d)).unzip();
        let outside = (self.energy - energies.iter().sum::<f64>()).max(0.0);
        Path::new(&eigenvalues, &energies, outside, self.energy, self.rows as f64, self.offset, self.power)
    }

    fn full_path(&self) -> Result<Path> {
        let found = eigen(self.moments.clone())?;
        let node = |k: usize| {
            let component = dot(found.vectors.col(k), &self.cross);
            (found.values[k].max(0.0), component * component)
        };
        Ok(self.path(&(0..found.values.len()).rev().map(node).collect::<Vec<Node>>()))
    }

    /// Σ d z² = ‖c‖².
    fn log_tail(&self) -> f64 {
        libm::log(dot(&self.cross, &self.cross)) + 2.0 * f64::from(self.power) * std::f64::consts::LN_2
    }

    fn is_at_rounding(&self, gamma: f64) -> bool {
        gamma < ROUNDING * self.trace()
    }

    fn measure(&self, weights: &mut Vec<f64>, gamma: f64, solve: &dyn Fn(&[f64]) -> Result<Vec<f64>>) -> Result<f64> {
        let mut rest = multiply_lower(&self.moments, &Matrix::column_vector(weights.clone())).into_vec();
        for i in 0..rest.len() {
            rest[i] = self.cross[i] - rest[i] - gamma * weights[i];
        }
        let change = solve(&rest)?;
        add_multiple(weights, 1.0, &change);
        Ok(2.0 * libm::log(dot(weights, weights).sqrt()) + 2.0 * f64::from(self.power) * std::f64::consts::LN_2)
    }
}
