//! A whole stretch of a ridge path from one factor: Lanczos' method on A = (M + γ₀)⁻¹.
//!
//! With A V = V T + β v eᵀ (V orthonormal, started at c) the solution at another γ = γ₀ + δ is
//! (M + γ)⁻¹c ≈ A V w, w = ‖c‖(1 + δT)⁻¹e₁, and its residual is −δ β wⱼ v: known without a product. 1 + δA has its
//! eigenvalues between 1 and γ/γ₀, so that a step gains a factor (√ρ + 1)/(√ρ − 1), ρ the larger of γ/γ₀ and its
//! inverse: 40 for ρ = 1.1. The same steps are a Gauss quadrature of c's energy over M's spectrum: sums such as
//! N(γ) = Σ d z²/(d + γ)² come out with twice as many digits as the solution, for every γ near γ₀.

use super::triangle::{add_multiple, dot};
use crate::base::error::Result;
use crate::linalg::{Matrix, eigen};

/// The steps made so far.
pub(super) struct Krylov {
    /// ‖c‖.
    size: f64,
    /// v₁, …, vⱼ, and the next one unless the space is exhausted.
    basis: Vec<Vec<f64>>,
    /// The diagonal of T.
    diagonal: Vec<f64>,
    /// Beside the diagonal; the last entry belongs to the next vector.
    beside: Vec<f64>,
    /// Eigenvalues of T and the first and last components of its eigenvectors.
    values: Vec<f64>,
    vectors: Matrix,
    is_exhausted: bool,
}

/// An eigenvalue of M as these steps see it, and the energy of c that it carries.
pub(super) type Node = (f64, f64);

impl Krylov {
    /// Starts at c, which must not be 0.
    pub fn new(start: &[f64]) -> Self {
        let size = dot(start, start).sqrt();
        Krylov {
            size,
            basis: vec![start.iter().map(|v| v / size).collect()],
            diagonal: Vec::new(),
            beside: Vec::new(),
            values: Vec::new(),
            vectors: Matrix::default(),
            is_exhausted: false,
        }
    }

    /// One more step with v ↦ A v.
    pub fn step(&mut self, apply: impl Fn(&[f64]) -> Vec<f64>) -> Result<()> {
        if self.is_exhausted {
            return Ok(());
        }
        let last = &self.basis[self.diagonal.len()];
        let mut next = apply(last);
        let entry = dot(&next, last);
        let scale = dot(&next, &next).sqrt();
        // Against all vectors, twice: the steps are few, and orthogonality is what the formulas rest on.
        for _ in 0..2 {
            for known in &self.basis {
                let share = dot(&next, known);
                add_multiple(&mut next, -share, known);
            }
        }
        let rest = dot(&next, &next).sqrt();
        self.diagonal.push(entry);
        if rest <= 1e-14 * scale || self.basis.len() >= next.len() {
            self.is_exhausted = true;
            self.beside.push(0.0);
        } else {
            next.iter_mut().for_each(|v| *v /= rest);
            self.basis.push(next);
            self.beside.push(rest);
        }
        let steps = self.diagonal.len();
        let tridiagonal = Matrix::from_fn(steps, steps, |i, j| match i.abs_diff(j) {
            0 => self.diagonal[i],
            1 => self.beside[i.min(j)],
            _ => 0.0,
        });
        let found = eigen(tridiagonal)?;
        (self.values, self.vectors) = (found.values, found.vectors);
        Ok(())
    }

    pub fn steps(&self) -> usize {
        self.diagonal.len()
    }

    /// Whether the space holds the whole solution.
    pub fn is_exhausted(&self) -> bool {
        self.is_exhausted
    }

    /// Eigenvalues d = 1/θ − γ₀ of M, descending, with their shares of ‖c‖².
    pub fn nodes(&self, shift: f64) -> Vec<Node> {
        let node = |i: usize| {
            let eigenvalue = (1.0 / self.values[i].max(f64::MIN_POSITIVE) - shift).clamp(0.0, 1e300);
            let component = self.size * self.vectors.get(0, i);
            (eigenvalue, component * component)
        };
        // A's eigenvalues ascend.
        (0..self.values.len()).map(node).collect()
    }

    /// w = ‖c‖(1 + δT)⁻¹e₁.
    fn weights(&self, difference: f64) -> Vec<f64> {
        let steps = self.steps();
        let shrunk: Vec<f64> =
            (0..steps).map(|i| self.size * self.vectors.get(0, i) / (1.0 + difference * self.values[i])).collect();
        (0..steps).map(|k| (0..steps).map(|i| self.vectors.get(k, i) * shrunk[i]).sum()).collect()
    }

    /// ‖c − (M + γ)α‖/‖c‖ of the solution at γ = γ₀ + δ.
    pub fn residual(&self, difference: f64) -> f64 {
        let steps = self.steps();
        if steps == 0 || self.is_exhausted {
            return if steps == 0 { f64::INFINITY } else { 0.0 };
        }
        (difference * self.beside[steps - 1] * self.weights(difference)[steps - 1] / self.size).abs()
    }

    /// α = A V w = V T w + β wⱼ v at γ = γ₀ + δ.
    pub fn solution(&self, difference: f64) -> Vec<f64> {
        let steps = self.steps();
        let weights = self.weights(difference);
        let mut out = vec![0.0; self.basis[0].len()];
        for (k, vector) in self.basis.iter().enumerate().take(steps + 1) {
            let mut factor = 0.0;
            if k < steps {
                factor += self.diagonal[k] * weights[k];
            }
            if k > 0 {
                factor += self.beside[k - 1] * weights[k - 1];
            }
            if k + 1 < steps {
                factor += self.beside[k] * weights[k + 1];
            }
            add_multiple(&mut out, factor, vector);
        }
        out
    }
}

/// (M + γ₀ + δ)⁻¹ c to a relative residual of `tolerance`.
pub(super) fn solve(
    start: &[f64],
    difference: f64,
    tolerance: f64,
    apply: impl Fn(&[f64]) -> Vec<f64>,
) -> Result<Vec<f64>> {
    if start.iter().all(|v| *v == 0.0) {
        return Ok(start.to_vec());
    }
    let mut krylov = Krylov::new(start);
    for _ in 0..40 {
        krylov.step(&apply)?;
        if krylov.residual(difference) <= tolerance {
            break;
        }
    }
    Ok(krylov.solution(difference))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A diagonal M: every quantity by its formula.
    #[test]
    fn a_stretch_of_the_path_comes_out_of_one_factor() {
        let d: Vec<f64> = (0..80).map(|i| 100.0 * 0.7_f64.powi(i)).collect();
        let c: Vec<f64> = (0..80).map(|i| 1.0 + (i as f64).cos()).collect();
        let shift = 0.01;
        let mut krylov = Krylov::new(&c);
        let apply = |v: &[f64]| v.iter().zip(&d).map(|(v, d)| v / (d + shift)).collect::<Vec<f64>>();
        for _ in 0..11 {
            krylov.step(apply).unwrap();
        }
        for gamma in [0.0092, 0.01, 0.0109] {
            assert!(krylov.residual(gamma - shift) < 1e-15, "{}", krylov.residual(gamma - shift));
            let solution = krylov.solution(gamma - shift);
            for i in 0..80 {
                let exact = c[i] / (d[i] + gamma);
                assert!((solution[i] - exact).abs() < 1e-12 * 2.0 / gamma, "{i}: {} {exact}", solution[i]);
            }
            let exact: f64 = (0..80).map(|i| d[i] * c[i] * c[i] / ((d[i] + gamma) * (d[i] + gamma))).sum();
            let seen: f64 = krylov.nodes(shift).iter().map(|(d, e)| d * e / ((d + gamma) * (d + gamma))).sum();
            assert!((seen / exact - 1.0).abs() < 1e-10, "{seen} {exact}");
        }
        // Few directions: the space is exhausted and the answer is exact for every γ.
        let flat = |v: &[f64]| v.iter().map(|v| v / 3.0).collect::<Vec<f64>>();
        let mut one = Krylov::new(&c);
        one.step(flat).unwrap();
        assert!(one.is_exhausted() && (one.nodes(1.0)[0].0 - 2.0).abs() < 1e-14);
        assert!((one.solution(7.0)[5] - c[5] / 10.0).abs() < 1e-14);
    }
}
