//! All rows so far, and the exact minimiser on them, kept up to date in O(n²) operations per row.
//!
//! M = K, or HKH with an offset (H takes the mean off). L Lᵀ = K + γ₀ grows by a row with each row. With an offset,
//! (HKH + γ₀)⁻¹ on vectors of sum 0 is G⁻¹ − g gᵀ/(1ᵀg), G = K + γ₀, g = G⁻¹1: no matrix is centred.

use super::follow::{Follower, Found, System, ridge_to_gamma};
use super::krylov::{self, Node};
use super::triangle::{Triangle, dot};
use crate::base::error::{Error, Result};
use crate::linalg::double::{self, Double};
use crate::linalg::{Cholesky, Matrix, exponent_of, scale_by_power_of_two};
use crate::path::{Path, Spectrum};
use crate::solve::certain::Floor;
use crate::solve::refine::{Problem, refine};
use crate::solve::{Solution, spectral};
use crate::space;
use crate::term::kernel::{Point, Points, SharedKernel};

/// Below this share of the largest eigenvalue a ridge is at the rounding level of K, as a fit sees it, too.
const ROUNDING: f64 = 1e-8;
/// Predictions may be off by this share of the target's spread before the solution is corrected.
const PRECISE_ENOUGH: f64 = 1e-12;

#[derive(Debug, Clone)]
pub(super) struct ExactRows {
    kernel: SharedKernel,
    offset: bool,
    pub points: Points,
    pub targets: Vec<f64>,
    /// Σᵢ K_ij.
    column_sums: Vec<f64>,
    /// tr K, and Σ K_ij²: their quotient is at most the largest eigenvalue.
    trace: f64,
    squares: f64,
    largest_diagonal: f64,
    /// L Lᵀ = K + γ₀, and γ₀.
    factor: Option<(Triangle, f64)>,
    /// G⁻¹1, with an offset.
    solved_ones: Vec<f64>,
    /// (y − mean)·2⁻ᵏ, and k.
    centred: Vec<f64>,
    power: i32,
    mean: f64,
    /// The minimiser, in the target's own units.
    pub alpha: Vec<f64>,
    pub intercept: f64,
    pub norm: f64,
}

/// A row as the rows so far see it.
pub(super) struct Seen {
    values: Vec<f64>,
    own: f64,
}

impl ExactRows {
    /// Rows that a first fit was made on.
    pub fn new(kernel: SharedKernel, offset: bool, points: &Points, targets: &[f64], solution: &Solution) -> Self {
        let mut rows = ExactRows {
            kernel,
            offset,
            points: points.clone(),
            targets: targets.to_vec(),
            column_sums: Vec::new(),
            trace: 0.0,
            squares: 0.0,
            largest_diagonal: 0.0,
            factor: None,
            solved_ones: Vec::new(),
            centred: Vec::new(),
            power: 0,
            mean: 0.0,
            alpha: solution.coefficients.clone(),
            intercept: solution.offset,
            norm: solution.norm,
        };
        let gram = space::gram(&*rows.kernel, points);
        for j in 0..points.rows() {
            rows.column_sums.push(gram.col(j).iter().sum());
            rows.squares += dot(gram.col(j), gram.col(j));
            rows.trace += gram.get(j, j);
            rows.largest_diagonal = rows.largest_diagonal.max(gram.get(j, j));
        }
        rows
    }

    pub fn rows(&self) -> usize {
        self.targets.len()
    }

    /// k(x, xᵢ) for all rows, and k(x, x).
    pub fn see(&self, x: Point<'_>) -> Seen {
        let mut values = vec![0.0; self.rows()];
        self.kernel.values(x, &self.points, 0, &mut values);
        let mut own = [0.0];
        self.kernel.diagonal(&Points::of_one(x), 0, &mut own);
        Seen { values, own: own[0] }
    }

    pub fn predict(&self, seen: &Seen) -> f64 {
        self.intercept + dot(&seen.values, &self.alpha)
    }

    /// Takes the row in; the minimiser is the old one until [`settle`](Self::settle) is called.
    pub fn add(&mut self, x: Point<'_>, seen: &Seen, target: f64) {
        let Seen { values, own } = seen;
        self.column_sums.iter_mut().zip(values).for_each(|(sum, k)| *sum += k);
        self.column_sums.push(values.iter().sum::<f64>() + own);
        self.squares += 2.0 * dot(values, values) + own * own;
        self.trace += own;
        self.largest_diagonal = self.largest_diagonal.max(*own);
        self.points.push(x);
        self.targets.push(target);
        self.alpha.push(0.0);
        if let Some((triangle, shift)) = &mut self.factor {
            // Less than rounding left: the matrix is factored afresh.
            if !triangle.border(values, own + *shift, 1e-15) {
                self.factor = None;
            }
        }
    }

    /// Brings the minimiser to the rows that are there.
    pub fn settle(&mut self, follower: &mut Follower) -> Result<()> {
        self.centre();
        self.solve_ones();
        match follower.settle(self)? {
            Found::Zero => {
                self.alpha.iter_mut().for_each(|a| *a = 0.0);
                (self.intercept, self.norm) = (self.mean, 0.0);
            }
            Found::At { mut solution, log_norm } => {
                scale_by_power_of_two(&mut solution, self.power);
                let lift = double::dot(&self.column_sums, &solution).value() / self.rows() as f64;
                self.intercept = if self.offset { self.mean - lift } else { 0.0 };
                self.alpha = solution;
                self.norm = libm::exp(0.5 * log_norm);
            }
            Found::Rounding => {
                let solution = self.decomposed(follower)?;
                follower.minimum = solution.minimum;
                follower.decompositions += 1;
                self.norm = solution.norm;
                self.intercept = solution.offset;
                self.alpha = solution.coefficients;
            }
        }
        match self.alpha.iter().chain([&self.intercept]).all(|a| a.is_finite()) {
            true => Ok(()),
            false => Err(Error::Decomposition("the coefficients are not finite; a larger λ is needed".into())),
        }
    }

    /// As a fit of all rows would do it.
    fn decomposed(&self, follower: &Follower) -> Result<Solution> {
        let spectrum = self.spectrum()?;
        let target = spectrum.target(&self.targets)?;
        let pair = [(&target, self.targets.as_slice())];
        let mut all =
            spectral::solve(&spectrum, &*self.kernel, &self.points, &pair, follower.exponent, follower.lambda());
        all.pop().ok_or_else(|| Error::Decomposition("the solution is not finite".into()))
    }

    /// The minimiser with everything that a fit measures on it: corrected in twice the precision, its error bounded. For
    /// m < 1 a full decomposition counts the stationary points.
    pub fn solution(&mut self, follower: &mut Follower) -> Result<Solution> {
        let gamma = follower.minimum.log_ridge.map(|t| ridge_to_gamma(t, self.rows()));
        let (Some(gamma), Some(shift), false) = (gamma, self.shift(), follower.exponent < 1.0) else {
            return self.decomposed(follower);
        };
        let problem = Problem {
            kernel: &*self.kernel,
            points: &self.points,
            root_weights: None,
            weight_sum: self.rows() as f64,
            offset: self.offset,
            gamma,
            size: self.squares.sqrt(),
            floor: Floor::default(),
            truncated_by: None,
        };
        let correct = |rest: &[f64]| {
            // Out of the target's units, in which squares may overflow.
            let mut scaled = rest.to_vec();
            scale_by_power_of_two(&mut scaled, -self.power);
            self.project(&mut scaled);
            let solved = krylov::solve(&scaled, gamma - shift, 1e-6, |v| self.apply_inverse(v));
            let mut change = solved.unwrap_or_else(|_| vec![0.0; rest.len()]);
            scale_by_power_of_two(&mut change, self.power);
            change
        };
        let alpha = Matrix::column_vector(self.alpha.clone());
        let measured = refine(&problem, alpha, &[&self.targets], 3, f64::EPSILON, correct).pop();
        let measured = measured.ok_or_else(|| Error::Decomposition("the solution is not finite".into()))?;
        let condition = ((self.squares.sqrt() + gamma) / gamma).min(f64::MAX);
        Ok(problem.solution(measured, &follower.minimum, follower.exponent, None, condition))
    }

    /// The largest difference of this model from other values at its rows, in units of the target's spread.
    pub fn difference_from(&self, values: &[f64]) -> f64 {
        let own =
            space::evaluate(&*self.kernel, &self.points, &Matrix::column_vector(self.alpha.clone()), &self.points);
        let differences = own.as_slice().iter().zip(values).map(|(f, other)| (f + self.intercept - other).abs());
        let largest = differences.fold(0.0, f64::max);
        if largest == 0.0 { 0.0 } else { largest / self.target_variance().sqrt() }
    }

    /// The variance of the target (its mean square, without an offset).
    pub fn target_variance(&self) -> f64 {
        libm::ldexp(dot(&self.centred, &self.centred) / self.rows() as f64, 2 * self.power)
    }

    fn spectrum(&self) -> Result<Spectrum> {
        Spectrum::from_gram(space::gram_lower(&*self.kernel, &self.points), None, self.offset)
    }

    /// y around its mean (with an offset), in a unit near its largest value.
    fn centre(&mut self) {
        let size = self.targets.iter().fold(0.0, |max: f64, y| max.max(y.abs()));
        self.power = if size > 0.0 { exponent_of(size) } else { 0 };
        self.centred = self.targets.iter().map(|y| libm::ldexp(*y, -self.power)).collect();
        self.mean = 0.0;
        if self.offset {
            let mean = double::sum(self.centred.iter().copied()).value() / self.rows() as f64;
            self.centred.iter_mut().for_each(|y| *y -= mean);
            // A constant target leaves rounding, not energy.
            if self.centred.iter().all(|y| y.abs() <= 16.0 * f64::EPSILON) {
                self.centred.fill(0.0);
            }
            self.mean = libm::ldexp(mean, self.power);
        }
    }

    fn solve_ones(&mut self) {
        self.solved_ones = match &self.factor {
            Some((triangle, _)) if self.offset => triangle.solve(&vec![1.0; self.rows()]),
            _ => Vec::new(),
        };
    }

    /// A lower bound of the largest eigenvalue: Σd²/Σd.
    pub fn largest(&self) -> f64 {
        if self.trace > 0.0 { self.squares / self.trace } else { 0.0 }
    }

    /// The part of a vector that the offset leaves.
    fn project(&self, v: &mut [f64]) {
        if self.offset {
            let mean = v.iter().sum::<f64>() / v.len() as f64;
            v.iter_mut().for_each(|x| *x -= mean);
        }
    }

    /// A first-order bound of what the factor's rounding does to predictions, in units of the target's spread.
    fn expected_error(&self, alpha: &[f64], gamma: f64) -> f64 {
        let spread = (dot(&self.centred, &self.centred) / self.rows() as f64).sqrt();
        let disturbance = 4.0 * f64::EPSILON * self.largest().max(self.trace / self.rows() as f64);
        0.5 * (self.largest_diagonal / gamma).sqrt() * disturbance * dot(alpha, alpha).sqrt() / spread
    }
}

impl System for ExactRows {
    fn rows(&self) -> usize {
        self.targets.len()
    }

    fn right_side(&self) -> &[f64] {
        &self.centred
    }

    fn shift(&self) -> Option<f64> {
        self.factor.as_ref().map(|(_, shift)| *shift)
    }

    fn factor_at(&mut self, shift: f64) -> Result<bool> {
        let mut gram = space::gram_lower(&*self.kernel, &self.points);
        for i in 0..self.rows() {
            gram.set(i, i, gram.get(i, i) + shift);
        }
        self.factor = Cholesky::new(gram).map(|cholesky| (Triangle::of_lower(cholesky.lower()), shift));
        self.solve_ones();
        Ok(self.factor.is_some())
    }

    fn apply_inverse(&self, v: &[f64]) -> Vec<f64> {
        let Some((triangle, _)) = &self.factor else { return v.to_vec() };
        let mut solved = triangle.solve(v);
        if self.offset {
            let share = dot(&self.solved_ones, v) / self.solved_ones.iter().sum::<f64>();
            solved.iter_mut().zip(&self.solved_ones).for_each(|(s, one)| *s -= share * one);
            self.project(&mut solved);
        }
        solved
    }

    fn path(&self, nodes: &[Node]) -> Path {
        let (eigenvalues, energies): (Vec<f64>, Vec<f64>) = nodes.iter().copied().unzip();
        let centred = dot(&self.centred, &self.centred);
        Path::new(&eigenvalues, &energies, 0.0, centred, self.rows() as f64, self.offset, self.power)
    }

    fn full_path(&self) -> Result<Path> {
        let spectrum = self.spectrum()?;
        Ok(spectrum.path(&[&spectrum.target(&self.targets)?]))
    }

    /// cᵀKc.
    fn log_tail(&self) -> f64 {
        let column = Matrix::column_vector(self.centred.clone());
        let product = space::evaluate(&*self.kernel, &self.points, &column, &self.points);
        libm::log(dot(product.as_slice(), &self.centred).max(0.0))
            + 2.0 * f64::from(self.power) * std::f64::consts::LN_2
    }

    fn is_at_rounding(&self, gamma: f64) -> bool {
        gamma <= ROUNDING * self.largest()
    }

    fn measure(&self, alpha: &mut Vec<f64>, gamma: f64, solve: &dyn Fn(&[f64]) -> Result<Vec<f64>>) -> Result<f64> {
        let log_unit = 2.0 * f64::from(self.power) * std::f64::consts::LN_2;
        self.project(alpha);
        // αᵀKα = αᵀ(c − γα), unless little of the difference is left.
        let with_target = double::dot(alpha, &self.centred).value();
        let norm = with_target - gamma * double::dot(alpha, alpha).value();
        if self.expected_error(alpha, gamma) <= PRECISE_ENOUGH && norm > 1e-3 * with_target {
            return Ok(libm::log(norm) + log_unit);
        }
        // Residuals in twice the precision, from kernel values made afresh.
        let right = dot(&self.centred, &self.centred).sqrt();
        let mut before = f64::INFINITY;
        let mut best = (alpha.clone(), norm);
        for _ in 0..4 {
            let column = Matrix::column_vector(alpha.clone());
            let Some(products) = space::apply_precisely(&*self.kernel, &self.points, &column).pop() else { break };
            let total = products.iter().fold(Double::default(), |sum, p| sum.plus(*p));
            let mean = if self.offset { total.value() / self.rows() as f64 } else { 0.0 };
            let rest: Vec<f64> = (0..self.rows())
                .map(|i| {
                    let open = products[i].negated().add(self.centred[i]).add(mean);
                    open.add_product(-gamma, alpha[i]).value()
                })
                .collect();
            let size = dot(&rest, &rest).sqrt() / right;
            if size >= before {
                break;
            }
            let weighted = alpha
                .iter()
                .zip(&products)
                .fold(Double::default(), |sum, (a, p)| sum.add_product(*a, p.high).add_product(*a, p.low));
            best = (alpha.clone(), weighted.value().max(0.0));
            if size <= 0.5 * f64::EPSILON || size > 0.5 * before {
                break;
            }
            before = size;
            let change = solve(&rest)?;
            alpha.iter_mut().zip(change).for_each(|(a, c)| *a += c);
            self.project(alpha);
        }
        let (corrected, norm) = best;
        *alpha = corrected;
        Ok(libm::log(norm) + log_unit)
    }
}
