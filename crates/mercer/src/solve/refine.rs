//! Corrects a solution of (K + γ/w)α + b = y by its own residuals, and measures what came out.
//!
//! Residuals are computed in twice the precision from kernel values made afresh, so that neither the result
//! nor what is said about it rests on the factorisation alone.

use super::Solution;
use super::certain::{Floor, movement, rounding_of_values, shift_of_root};
use crate::linalg::double::Double;
use crate::linalg::norm;
use crate::linalg::{Matrix, exponent_of};
use crate::path::Spectrum;
use crate::path::power::Minimum;
use crate::space;
use crate::term::kernel::{Kernel, Points};

/// The problem at a fixed γ.
pub(crate) struct Problem<'a> {
    pub kernel: &'a dyn Kernel,
    pub points: &'a Points,
    /// s = √w, `None` without weights.
    pub root_weights: Option<&'a [f64]>,
    pub weight_sum: f64,
    pub offset: bool,
    pub gamma: f64,
    /// A bound of ‖K‖ in scaled coordinates.
    pub size: f64,
    /// What is known of the small eigenvalues.
    pub floor: Floor,
    /// The spectrum whose directions without eigenvalue are left out of α, if they are.
    pub truncated_by: Option<&'a Spectrum>,
}

impl<'a> Problem<'a> {
    /// The problem that a spectrum is the decomposition of, at the ridge γ.
    pub fn of(spectrum: &'a Spectrum, kernel: &'a dyn Kernel, points: &'a Points, gamma: f64, floor: Floor) -> Self {
        // Directions without eigenvalue are part of no function, but α would carry the rounding of K there into predictions, ε/γ of what y
        // has in them. Leaving them out costs the turn of K's range, 2ε/d, where it is known that K has no eigenvalue there; where that is
        // not known it is the greater error unless γ is below rounding itself.
        let is_truncated = spectrum.is_truncated_at(gamma)
            && if floor.is_known() { gamma < 0.5 * floor.smallest } else { gamma <= 2.0 * floor.noise };
        Problem {
            kernel,
            points,
            root_weights: spectrum.root_weights(),
            weight_sum: spectrum.weight_sum(),
            offset: spectrum.has_offset(),
            gamma,
            size: spectrum.size(),
            floor,
            truncated_by: is_truncated.then_some(spectrum),
        }
    }
}

/// One α with what was measured on it.
pub(crate) struct Measured {
    alpha: Vec<f64>,
    offset: f64,
    /// Kα.
    products: Vec<Double>,
    /// y − b − Kα.
    errors: Vec<Double>,
    /// s∘(y − b − Kα) − γβ.
    residual: Vec<f64>,
    residual_size: f64,
    right_size: f64,
    /// ‖β‖, β = α/s.
    dual_size: f64,
}

/// Refines α (n × targets) with `solve`, which applies the factorised inverse to a residual in scaled
/// coordinates and returns the change of α; until the residual is `enough` of the right-hand side.
pub(crate) fn refine(
    problem: &Problem<'_>,
    mut alpha: Matrix,
    y: &[&[f64]],
    most_steps: usize,
    enough: f64,
    solve: impl Fn(&[f64]) -> Vec<f64>,
) -> Vec<Measured> {
    let mut best: Vec<Option<Measured>> = y.iter().map(|_| None).collect();
    for step in 0..=most_steps {
        let products = space::apply_precisely(problem.kernel, problem.points, &alpha);
        let mut is_improving = false;
        for (t, products) in products.into_iter().enumerate() {
            let measured = problem.measure(alpha.col(t), products, y[t]);
            let before = best[t].as_ref().map_or(f64::INFINITY, |best| best.residual_size);
            if measured.residual_size >= before {
                continue;
            }
            let is_open = measured.relative_residual() > enough;
            is_improving |= measured.residual_size < 0.5 * before && is_open;
            if step < most_steps && is_open {
                let change = solve(&measured.residual);
                alpha.col_mut(t).iter_mut().zip(&change).for_each(|(a, c)| *a += c);
            }
            best[t] = Some(measured);
        }
        if !is_improving {
            break;
        }
    }
    // The first step always beats infinity, unless α is not finite; then there is nothing better to return.
    best.into_iter().flatten().collect()
}

impl Problem<'_> {
    fn root(&self, i: usize) -> f64 {
        self.root_weights.map_or(1.0, |s| s[i])
    }

    fn measure(&self, alpha: &[f64], products: Vec<Double>, y: &[f64]) -> Measured {
        let n = y.len();
        let open: Vec<Double> = (0..n).map(|i| products[i].negated().add(y[i])).collect();
        let offset = if self.offset {
            let sum = open.iter().enumerate().fold(Double::default(), |sum, (i, error)| {
                let weight = self.root(i) * self.root(i);
                sum.add_product(weight, error.high).add_product(weight, error.low)
            });
            sum.value() / self.weight_sum
        } else {
            0.0
        };
        let errors: Vec<Double> = open.into_iter().map(|error| error.add(-offset)).collect();
        let residual: Vec<f64> = (0..n)
            .map(|i| {
                let root = self.root(i);
                errors[i].add_product(-self.gamma / (root * root), alpha[i]).value() * root
            })
            .collect();
        let residual = self.truncated_by.map_or(residual.clone(), |spectrum| spectrum.visible_part(&residual));
        Measured {
            residual_size: norm(&residual),
            right_size: norm(&(0..n).map(|i| self.root(i) * (y[i] - offset)).collect::<Vec<f64>>()),
            dual_size: norm(&(0..n).map(|i| alpha[i] / self.root(i)).collect::<Vec<f64>>()),
            alpha: alpha.to_vec(),
            offset,
            products,
            errors,
            residual,
        }
    }

    /// (1/W) Σ w e².
    pub fn mean_square(&self, errors: &[Double]) -> f64 {
        let scaled: Vec<f64> = errors.iter().enumerate().map(|(i, e)| self.root(i) * e.value()).collect();
        let size = norm(&scaled) / self.weight_sum.sqrt();
        size * size
    }

    /// Completes a measured α to a solution.
    pub fn solution(
        &self,
        measured: Measured,
        minimum: &Minimum,
        exponent: f64,
        dof: Option<f64>,
        condition: f64,
    ) -> Solution {
        let share = self.uncertainty(&measured, None).share();
        self.solution_where(measured, share, minimum, exponent, dof, condition)
    }

    /// The same where N, of all targets that share the ridge, is known to within a share.
    pub fn solution_where(
        &self,
        measured: Measured,
        share: f64,
        minimum: &Minimum,
        exponent: f64,
        dof: Option<f64>,
        condition: f64,
    ) -> Solution {
        let norm = measured.function_norm();
        let fitted: Vec<f64> = measured.products.iter().map(|p| p.add(measured.offset).value()).collect();
        let spread = measured.right_size / self.weight_sum.sqrt();
        Solution {
            relative_error: self.error_bound(&measured, norm, share, minimum, exponent) / spread,
            train_mse: self.mean_square(&measured.errors),
            solve_residual: measured.relative_residual(),
            coefficients: measured.alpha,
            offset: measured.offset,
            fitted,
            minimum: minimum.clone(),
            norm,
            dof,
            condition,
        }
        .with_finite_error()
    }

    /// ‖δK‖ of the rounding of kernel values.
    fn noise(&self) -> f64 {
        rounding_of_values(self.kernel, self.points) * f64::EPSILON * self.size
    }

    /// ‖δK β + r‖: what the equation may be off, with the part of y that K's range may have turned away from.
    fn disturbance(&self, measured: &Measured) -> f64 {
        let turned = if self.truncated_by.is_some() { self.floor.turn() * measured.right_size } else { 0.0 };
        self.noise() * measured.dual_size + measured.residual_size + turned
    }

    /// A bound of ‖f̂ − f‖ at this ridge.
    fn norm_error(&self, measured: &Measured) -> f64 {
        if self.truncated_by.is_some() && !self.floor.is_known() {
            return f64::INFINITY;
        }
        self.disturbance(measured) * self.floor.steepness(self.gamma)
    }

    /// N = ‖f‖² and how far it may be off, given what the search for the ridge took for ‖f‖ if that is known.
    pub fn uncertainty(&self, measured: &Measured, taken: Option<f64>) -> Uncertainty {
        let norm = measured.function_norm();
        let disturbance = self.disturbance(measured);
        let error = if self.truncated_by.is_some() {
            let moved = self.norm_error(measured);
            disturbance * measured.dual_size + (2.0 * norm + moved) * moved
        } else {
            (disturbance + measured.residual_size) * measured.dual_size + 0.25 * disturbance * disturbance / self.gamma
        };
        let taken = taken.unwrap_or(norm);
        Uncertainty { square: norm * norm, error: error + (norm * norm - taken * taken).abs() }
    }

    /// Bounds the error of a prediction at rows where k(x, x) is not above its largest value on the training rows.
    ///
    /// |δf(x)| ≤ √k(x, x)·‖δf‖, and f moves with its ridge for m ≠ 2. An offset follows the mean of f: then it is the distance from
    /// the mean of the features that counts, at most twice as much. Last, the sum b + Σ αⱼ k(x, xⱼ) is rounded itself.
    fn error_bound(&self, measured: &Measured, norm: f64, share: f64, minimum: &Minimum, exponent: f64) -> f64 {
        let mut diagonal = vec![0.0; self.points.rows()];
        self.kernel.diagonal(self.points, 0, &mut diagonal);
        let height = diagonal.iter().fold(0.0, |max: f64, k| max.max(*k)).sqrt();
        let reach = if self.offset { 2.0 * height } else { height };
        let n = diagonal.len() as f64;
        let norm_error = self.norm_error(measured);
        let moved = match shift_of_root(minimum, exponent, share) {
            Some(shift) => movement(minimum, exponent, shift) * (norm + norm_error),
            None => f64::INFINITY,
        };
        let of_mean = if self.offset { self.disturbance(measured) / self.weight_sum.sqrt() } else { 0.0 };
        let sum_error = 4.0 * f64::EPSILON * height * height * n.sqrt() * measured.dual_size;
        let spread = measured.right_size / self.weight_sum.sqrt();
        let rounded = 4.0 * f64::EPSILON * (measured.offset.abs() + spread);
        reach * (norm_error + moved) + of_mean + sum_error + rounded
    }
}

/// N = ‖f‖² of one target, or of several, and how far it may be off.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Uncertainty {
    pub square: f64,
    pub error: f64,
}

impl std::iter::Sum for Uncertainty {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        let none = Uncertainty { square: 0.0, error: 0.0 };
        all.fold(none, |a, b| Uncertainty { square: a.square + b.square, error: a.error + b.error })
    }
}

impl Uncertainty {
    pub fn share(&self) -> f64 {
        if self.error > 0.0 { self.error / self.square } else { 0.0 }
    }
}

impl Measured {
    fn relative_residual(&self) -> f64 {
        if self.right_size > 0.0 { self.residual_size / self.right_size } else { 0.0 }
    }

    /// ‖f‖ = √(αᵀKα), with α brought near 1 first.
    fn function_norm(&self) -> f64 {
        let largest = self.alpha.iter().fold(0.0, |max: f64, a| max.max(a.abs()));
        if largest == 0.0 {
            return 0.0;
        }
        let power = exponent_of(largest);
        let square = self.alpha.iter().zip(&self.products).fold(Double::default(), |sum, (a, p)| {
            let a = libm::ldexp(*a, -power);
            sum.add_product(a, libm::ldexp(p.high, -power)).add_product(a, libm::ldexp(p.low, -power))
        });
        libm::ldexp(square.value().max(0.0).sqrt(), power)
    }
}
