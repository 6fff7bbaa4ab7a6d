//! Fits on a factor, K ≈ FFᵀ: f is a sum over the factor's landmarks, everything is read off the spectrum of FFᵀ, and a bound
//! says how far the predictions can be from those on K.
//!
//! With E = K − FFᵀ (positive semidefinite, its diagonal known exactly), γ = Wμ and α̂ = w∘(y − f̂ − b̂)/γ, the dual of the answer,
//! the exact dual differs by (K + γ)⁻¹Eα̂ on the directions that the offset leaves. Since σ/(σ² + γ) ≤ 1/(2√γ),
//!
//! > ‖f − f̂‖ ≤ ½√(‖E‖a/γ) + √a,   |f(x) + b − f̂(x) − b̂| ≤ ½κ√(‖E‖a/γ) + ρ(x)√a,   a = α̂ᵀEα̂, ‖E‖ ≤ tr E,
//!
//! at this kernel, λ and exponent, where κ bounds the length of the (centred) features and ρ(x) of what the landmarks do not explain of them. For an exponent
//! m > 1 other than 2 the exact problem picks another ridge: with δ the bound of ‖f − f̂‖, its equation changes by at most
//! |2 − m|·|log(1 − δ/‖f̂‖)|, its slope is at least min(1, m − 1), and a step Δ in log μ moves f by at most (e^Δ − 1)‖f‖.
//!
//! How far the answer is from the minimum on its own landmarks is another matter: see `accuracy`.

mod accuracy;
#[cfg(test)]
mod tests;

use crate::data::Design;
use crate::linalg::double::Double;
use crate::linalg::norm;
use crate::linalg::{Matrix, double, solve_lower, solve_lower_transposed};
use crate::path::power::{self, Minimum};
use crate::path::{Spectrum, Target};
use crate::solve::certain::{Floor, is_global};
use crate::solve::certificate::LowRank;
use crate::solve::refine::Problem;
use crate::solve::{Solution, spectral};
use crate::space;
use crate::space::low_rank::{Basis, Spanned};
use crate::term::kernel::{Kernel, Points};
use accuracy::Triangle;

/// Rows up to which a is computed; above it is bounded.
const EXACT_FORM: usize = 10_000;
/// Corrections of the coefficients: the triangular factor may be ill-conditioned.
const REFINEMENTS: usize = 2;
/// If more than this is uncertain after them, in units of the target's spread, sums are made in twice the precision.
const UNCERTAIN: f64 = 1e-6;
/// With many kernel values, nothing is corrected of which so much is certain.
const ENOUGH: f64 = 1e-7;
/// From so many.
const MANY_VALUES: usize = 10_000_000;

/// The landmarks of a factor, and what they leave.
pub(super) struct Reduction {
    landmarks: Points,
    /// L, lower triangular: the features of a point are L⁻¹k(x).
    lower: Matrix,
    /// The diagonal of E.
    residual: Vec<f64>,
}

impl Reduction {
    /// F, and the rest.
    pub fn of(spanned: Spanned) -> (Matrix, Self) {
        let Spanned { landmarks, lower, features, residual } = spanned;
        (features, Reduction { landmarks, lower, residual })
    }

    /// Of landmarks that leave this of the rows.
    pub fn on(basis: Basis, residual: Vec<f64>) -> Self {
        Reduction { landmarks: basis.landmarks, lower: basis.lower, residual }
    }

    pub fn rank(&self) -> usize {
        self.landmarks.rows()
    }

    pub fn mean_residual(&self) -> f64 {
        self.residual.iter().sum::<f64>() / self.residual.len().max(1) as f64
    }

    pub fn into_landmarks(self) -> Points {
        self.landmarks
    }

    /// Solves for one target, or for several that share one effective ridge.
    pub fn solve(
        &self,
        spectrum: &Spectrum,
        kernel: &dyn Kernel,
        design: &Design,
        targets: &[(&Target, &[f64])],
        exponent: f64,
        lambda: f64,
    ) -> Vec<(Solution, LowRank)> {
        let parts: Vec<&Target> = targets.iter().map(|(target, _)| *target).collect();
        let mut path = spectrum.path(&parts);
        let mut minimum = power::minimise(&mut path, exponent, libm::log(lambda), None);
        // On its own landmarks, that is: FFᵀ has the eigenvalues that were seen.
        let floor = Floor::of_factor(spectrum, kernel, &design.points, self.rank());
        minimum.is_counted &= is_global(&mut path, exponent, libm::log(lambda), &minimum, &floor);
        let gamma = minimum.log_ridge.map_or(f64::INFINITY, |t| libm::exp(t + libm::log(spectrum.weight_sum())));
        let problem = Problem::of(spectrum, kernel, &design.points, gamma, floor);
        let mut diagonal = vec![0.0; design.rows()];
        kernel.diagonal(&design.points, 0, &mut diagonal);
        let share = self.residual.iter().sum::<f64>() / diagonal.iter().sum::<f64>().max(f64::MIN_POSITIVE);
        let is_negligible = gamma > 1e250 * spectrum.largest().max(1e-50);
        let reduced = Reduced {
            reduction: self,
            triangle: Triangle::of(&self.lower),
            spectrum,
            kernel,
            points: &design.points,
            height: diagonal.iter().fold(0.0, |max: f64, k| max.max(*k)).sqrt(),
            problem,
        };
        targets
            .iter()
            .map(|(target, y)| {
                if minimum.log_ridge.is_none() || is_negligible {
                    let solution = spectral::zero_function(&reduced.problem, self.rank(), target, y, &minimum);
                    let bound = (exponent > 1.0).then_some(0.0);
                    let (bound_at_rows, bound_anywhere) = (bound, bound);
                    return (
                        solution,
                        LowRank { rank: self.rank(), residual_share: share, bound_at_rows, bound_anywhere },
                    );
                }
                let dof = path.dof(gamma / spectrum.weight_sum());
                let (solution, bounds) = reduced.one(target, y, &minimum, exponent, dof);
                // A ridge that several targets share is decided by all their norms: nothing is proved of its shift.
                let bounds = if targets.len() > 1 && exponent != 2.0 { [None, None] } else { bounds };
                let [bound_at_rows, bound_anywhere] = bounds;
                (solution, LowRank { rank: self.rank(), residual_share: share, bound_at_rows, bound_anywhere })
            })
            .collect()
    }
}

/// One problem on a factor.
struct Reduced<'a> {
    reduction: &'a Reduction,
    triangle: Triangle,
    spectrum: &'a Spectrum,
    kernel: &'a dyn Kernel,
    points: &'a Points,
    /// The largest √k(x, x) of the rows.
    height: f64,
    problem: Problem<'a>,
}

/// A model on the rows: f + b, its errors, and how far it is from stationary.
struct Measured {
    fitted: Vec<f64>,
    /// w(y − f − b).
    pulls: Vec<f64>,
    errors: Vec<Double>,
    /// Fᵀ(w(y − f − b)) − γv, with F centred.
    gradient: Vec<f64>,
    /// Fᵀ(w(y − f − b)).
    features: Vec<f64>,
    /// How far predictions can be from those of the minimum, as far as the gradient tells.
    unfinished: f64,
}

impl Reduced<'_> {
    fn one(
        &self,
        target: &Target,
        y: &[f64],
        minimum: &Minimum,
        exponent: f64,
        dof: f64,
    ) -> (Solution, [Option<f64>; 2]) {
        let gamma = self.problem.gamma;
        let (mut v, mut offset) = self.spectrum.linear_coefficients(target, gamma);
        let norm_on_path = norm(&v);
        let mut beta = solve_lower_transposed(&self.reduction.lower, &v);
        let unit = libm::ldexp(1.0, target.power);
        let spread = norm(&target.centred) / self.spectrum.weight_sum().sqrt() * unit;
        let in_spreads = |value: f64| if spread > 0.0 { value / spread } else { 0.0 };
        let is_cheap = self.points.rows() * self.reduction.rank() < MANY_VALUES;
        let enough = if is_cheap { 0.0 } else { ENOUGH };
        let mut measured: Option<Measured> = None;
        for precisely in [false, true] {
            // Plain sums say nothing where their own rounding is more than what may be uncertain.
            let is_needed = match &measured {
                Some(measured) => in_spreads(measured.unfinished) > UNCERTAIN,
                None => in_spreads(self.plain_noise(spread)) <= UNCERTAIN,
            };
            if !(is_needed || precisely && measured.is_none()) {
                continue;
            }
            let mut best = self.measure(&beta, offset, y, precisely);
            for _ in 0..REFINEMENTS {
                // Predictions are sums of these coefficients, and are rounded themselves.
                if in_spreads(best.unfinished) <= enough.max(in_spreads(self.rounding_of_sums(&beta))) {
                    break;
                }
                let change = self.spectrum.solve_features(&best.gradient, gamma);
                let shift = self.spectrum.mean_of_features(&change);
                let mean_error = best.pulls.iter().sum::<f64>() / self.spectrum.weight_sum();
                let next_v: Vec<f64> = v.iter().zip(&change).map(|(a, b)| a + b).collect();
                let next_beta = solve_lower_transposed(&self.reduction.lower, &next_v);
                let next_offset = if self.spectrum.has_offset() { offset + mean_error - shift } else { 0.0 };
                let next = self.measure(&next_beta, next_offset, y, precisely);
                let is_settled = next.unfinished >= 0.5 * best.unfinished;
                if next.unfinished < best.unfinished {
                    (v, beta, offset, best) = (next_v, next_beta, next_offset, next);
                }
                if is_settled {
                    break;
                }
            }
            measured = Some(best);
        }
        let measured = measured.unwrap_or_else(|| self.measure(&beta, offset, y, true));
        let energies = target.z.iter().zip(self.spectrum.eigenvalues()).map(|(z, d)| z * d.sqrt() * unit);
        let right_side = norm(&energies.collect::<Vec<f64>>()).max(f64::MIN_POSITIVE);
        let unfinished = measured.unfinished
            + self.rounding_of_sums(&beta)
            + self.shift_of_ridge(&v, norm_on_path, measured.unfinished, minimum, exponent);
        let bounds = self.bounds(&measured, norm(&v), exponent).map(|bound| {
            let relative = bound.map(|bound| in_spreads(bound + unfinished));
            relative.filter(|bound| bound.is_finite())
        });
        let solution = Solution {
            coefficients: beta,
            offset,
            train_mse: self.problem.mean_square(&measured.errors),
            fitted: measured.fitted,
            minimum: minimum.clone(),
            norm: norm(&v),
            dof: Some(dof),
            solve_residual: norm(&measured.gradient) / right_side,
            relative_error: in_spreads(unfinished).max(f64::EPSILON),
            condition: (self.spectrum.largest() + gamma) / gamma,
        };
        (solution, bounds)
    }

    /// f at the rows and the gradient there, from kernel values made afresh: L⁻¹(K_mn(w∘e) − γK_mm β), as the norm is βᵀK_mm β whatever
    /// rounding has made of L.
    fn measure(&self, beta: &[f64], offset: f64, y: &[f64], precisely: bool) -> Measured {
        let (landmarks, gamma) = (&self.reduction.landmarks, self.problem.gamma);
        let function = space::Function { kernel: self.kernel, landmarks, beta, offset };
        let weight = |i: usize| self.spectrum.weight(i);
        let space::BothWays { errors, forces } = function.both_ways(self.points, y, weight, precisely);
        let own = space::evaluate_precisely(self.kernel, landmarks, &Matrix::column_vector(beta.to_vec()), landmarks);
        let rank = beta.len();
        let mut columns: Vec<f64> = forces.iter().map(|force| force.value()).collect();
        columns.extend(forces.iter().zip(&own[0]).map(|(force, own)| force.minus(own.scaled(gamma)).value()));
        let mut columns = Matrix::from_columns(rank, 2, columns).unwrap_or_default();
        solve_lower(&self.reduction.lower, &mut columns);
        let pulls: Vec<f64> = errors.iter().enumerate().map(|(i, e)| weight(i) * e.value()).collect();
        let mut gradient = columns.col(1).to_vec();
        if self.spectrum.has_offset() {
            let total = pulls.iter().sum::<f64>();
            gradient.iter_mut().zip(self.spectrum.mean_features()).for_each(|(g, mean)| *g -= total * mean);
        }
        let fitted = y.iter().zip(&errors).map(|(y, e)| y - e.value()).collect();
        let unfinished = self.unfinished(&gradient, &pulls, beta, precisely);
        Measured { fitted, features: columns.col(0).to_vec(), pulls, errors, gradient, unfinished }
    }

    /// How far predictions can be from those on K: at the rows, and anywhere.
    fn bounds(&self, measured: &Measured, norm_of_f: f64, exponent: f64) -> [Option<f64>; 2] {
        if exponent <= 1.0 {
            return [None, None];
        }
        let gamma = self.problem.gamma;
        let residual = &self.reduction.residual;
        let weight = |i: usize| self.spectrum.weight(i);
        let dual: Vec<f64> = measured.pulls.iter().map(|pull| pull / gamma).collect();
        let trace: f64 = residual.iter().enumerate().map(|(i, e)| weight(i) * e).sum();
        let by_norm = trace * dual.iter().enumerate().map(|(i, a)| a * a / weight(i)).sum::<f64>();
        let by_rows = dual.iter().zip(residual).map(|(a, e)| a.abs() * e.sqrt()).sum::<f64>();
        let mut form = by_norm.min(by_rows * by_rows);
        if self.points.rows() <= EXACT_FORM && form > 0.0 {
            let alpha = Matrix::column_vector(dual.clone());
            let applied: Vec<f64> =
                space::apply_precisely(self.kernel, self.points, &alpha)[0].iter().map(|sum| sum.value()).collect();
            let whole = double::dot(&dual, &applied).value();
            let explained = double::dot(&measured.features, &measured.features).value() / (gamma * gamma);
            // A difference of nearly equal sums: what rounding may hide is added.
            form = form.min((whole - explained).max(0.0) + 1e-13 * whole.abs());
        }
        let has_offset = self.spectrum.has_offset();
        let mean = (trace / self.spectrum.weight_sum()).sqrt();
        let worst = residual.iter().fold(0.0, |max: f64, e| max.max(*e)).sqrt();
        let reach = self.reach();
        let unseen = if has_offset { worst + mean } else { worst };
        let drift = 0.5 * (trace * form / gamma).sqrt();
        let distance = drift + form.sqrt();
        let share = if distance == 0.0 { 0.0 } else { distance / norm_of_f };
        let shift = reach * power::shift_of_ridge(exponent, share, 0.0) * (norm_of_f + distance);
        let at = |unseen: f64| Some(reach * drift + unseen * form.sqrt() + shift);
        [at(unseen), at(reach)]
    }
}
