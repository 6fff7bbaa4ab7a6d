//! How far an answer on landmarks is from the minimum on them.
//!
//! With A = FᵀF (centred), the measured gradient g and δ = (A + γ)⁻¹g, predictions are off by at most κ‖δ‖. ‖g‖/γ bounds ‖δ‖, but counts what lies
//! along the large eigenvalues of A as if it lay along the smallest: stored coefficients are rounded, a rounding ε of the function is Aε in
//! the gradient, and ‖A‖/γ may be 1e8. The decomposition gives δ̂ = (Â + γ)⁻¹g instead. Rounding made Â of A; if it did so within
//! ±η(A + γ), then (A + γ)(δ − δ̂) = (Â − A)δ̂ gives, in the norm of A + γ,
//!
//! > ‖δ − δ̂‖_{A+γ} ≤ η‖δ̂‖_{A+γ} ≤ η(1 + η)√(gᵀδ̂),   ‖δ‖ ≤ ‖δ̂‖ + η(1 + η)√(gᵀδ̂/γ).
//!
//! η has two parts. F = K_nm L⁻ᵀ is known to about eps·cond(L)‖F‖, and 2‖ΔF‖/√γ of it is seen beside A + γ, not ‖F‖‖ΔF‖/γ; the sums in A and its
//! decomposition add a few eps·‖A‖/γ. What rounding does to g itself is counted beside: errors e of the rows enter as Fᵀe, of which δ sees
//! ‖e‖/(2√γ), and those of the sums over rows as L⁻¹, which the smallest singular value of L bounds.

use super::Reduced;
use crate::linalg::norm;
use crate::linalg::{Matrix, solve_lower, solve_lower_transposed};
use crate::path::power::Minimum;

/// Units of rounding that a bound counts where one is expected.
const UNITS: f64 = 4.0;
/// Steps of inverse iteration.
const STEPS: usize = 8;
/// What is measured of δ is multiplied by this: g has rounding of its own size.
const SAFETY: f64 = 2.0;

/// What is known of L.
pub(super) struct Triangle {
    /// At most its smallest singular value.
    smallest: f64,
    /// At least its condition number.
    condition: f64,
}

impl Triangle {
    /// By inverse iteration on LLᵀ, halved.
    pub fn of(lower: &Matrix) -> Self {
        let rank = lower.rows();
        let largest = norm(lower.as_slice());
        // Any start will do that is not orthogonal to what is sought.
        let mut x: Vec<f64> = (0..rank).map(|k| 1.0 + ((k * 37) % 101) as f64 / 50.0).collect();
        let mut growth = 0.0;
        for _ in 0..STEPS {
            let length = norm(&x).max(f64::MIN_POSITIVE);
            let mut column = Matrix::column_vector(x.iter().map(|x| x / length).collect());
            solve_lower(lower, &mut column);
            x = solve_lower_transposed(lower, column.as_slice());
            growth = norm(&x);
        }
        let smallest = if growth > 0.0 { 0.5 / growth.sqrt() } else { 1.0 };
        Triangle { smallest, condition: (largest / smallest).max(1.0) }
    }
}

impl Reduced<'_> {
    /// How far predictions can be from those of the minimum, given the gradient, w∘(y − f − b) and the coefficients.
    pub(super) fn unfinished(&self, gradient: &[f64], pulls: &[f64], beta: &[f64], precisely: bool) -> f64 {
        let (gamma, height) = (self.problem.gamma, self.height);
        let missing = self.spectrum.missing(gradient, gamma);
        let plainly = norm(gradient) / gamma;
        let eta = self.rounding_of_features();
        let distance = if eta < 0.5 {
            (SAFETY * missing.distance + eta * (1.0 + eta) * (missing.energy / gamma).sqrt()).min(SAFETY * plainly)
        } else {
            SAFETY * plainly
        };
        let of_errors = match precisely {
            true => norm(pulls),
            false => self.spectrum.weight_sum().sqrt() * height * height * norm(beta),
        };
        let of_sums = if precisely { 0.0 } else { self.noise_of_sums(norm(pulls)) };
        let of_solve = self.triangle.condition * plainly;
        let noise = UNITS * f64::EPSILON * (of_errors / (2.0 * gamma.sqrt()) + of_solve) + of_sums;
        self.reach() * (distance + noise) + pulls.iter().sum::<f64>().abs() / self.spectrum.weight_sum()
    }

    /// What plain sums over the rows leave uncertain of predictions, with errors as large as the target's spread.
    pub(super) fn plain_noise(&self, spread: f64) -> f64 {
        self.reach() * self.noise_of_sums(spread * self.spectrum.weight_sum().sqrt())
    }

    /// ‖L⁻¹ε‖/γ for the rounding ε of Σᵢ pullᵢ k(xᵢ, ·) at all landmarks.
    fn noise_of_sums(&self, pulls: f64) -> f64 {
        let rank = self.reduction.rank() as f64;
        let rounding = UNITS * f64::EPSILON * rank.sqrt() * self.height * self.height * pulls;
        rounding / (self.triangle.smallest * self.problem.gamma)
    }

    /// η: by how much rounding may have changed FᵀF + γ, relative to itself.
    fn rounding_of_features(&self) -> f64 {
        let condition = (self.spectrum.largest() + self.problem.gamma) / self.problem.gamma;
        let (rows, rank) = (self.points.rows() as f64, self.reduction.rank() as f64);
        let of_features = 2.0 * self.triangle.condition * condition.sqrt();
        let of_decomposition = (self.spectrum.check().residual * rank + rows.sqrt()) * condition;
        UNITS * f64::EPSILON * (of_features + of_decomposition)
    }

    /// The sum b + Σ βⱼ k(x, zⱼ) is rounded itself, here and wherever the model predicts.
    pub(super) fn rounding_of_sums(&self, beta: &[f64]) -> f64 {
        let rank = self.reduction.rank() as f64;
        UNITS * f64::EPSILON * self.height * self.height * rank.sqrt() * norm(beta)
    }

    /// For exponents other than 2 the ridge was found with the norm on the path: where the answer has another one, or it is uncertain,
    /// the ridge moves, and f by γ(A + γ)⁻¹v for each unit of its logarithm.
    pub(super) fn shift_of_ridge(
        &self,
        v: &[f64],
        norm_on_path: f64,
        unfinished: f64,
        minimum: &Minimum,
        exponent: f64,
    ) -> f64 {
        let size = norm(v);
        if exponent == 2.0 || size == 0.0 || norm_on_path == 0.0 {
            return 0.0;
        }
        let uncertain = unfinished / (self.reach() * size).max(f64::MIN_POSITIVE);
        let open = (2.0 - exponent).abs() * (libm::log(size / norm_on_path).abs() + uncertain);
        let moved = (open / minimum.firmness.abs().max(f64::MIN_POSITIVE)).min(1.0);
        self.reach() * self.problem.gamma * norm(&self.spectrum.solve_features(v, self.problem.gamma)) * moved
    }

    /// The length of the (centred) features of a point, at most.
    pub(super) fn reach(&self) -> f64 {
        if self.spectrum.has_offset() { 2.0 * self.height } else { self.height }
    }
}
