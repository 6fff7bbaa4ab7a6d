//! Stability that one algorithm lends to another: the exponent m is ridge regression at a ridge μ = Φ(λ, Z) that moves
//! with the training set, so ridge's stability at μ and the movement of μ together bound that of the exponent.
//!
//! With μ = Φ(λ, Z), μᵢ = Φ(λ, Zⁱ) and B the ridge algorithm, f_Z = B(μ, Z) and f_Zⁱ = B(μᵢ, Zⁱ), hence
//!
//! > |c(y, f_Z, x) − c(y, f_Zⁱ, x)| ≤ β_B(n, μ) + σκ‖B(μ, Zⁱ) − B(μᵢ, Zⁱ)‖ ≤ β_B(n, μ) + σκγC(n)
//!
//! with C(n) ≥ |μ − μᵢ|, γ the Lipschitz constant of μ ↦ B(μ, Zⁱ) between the two, and σ that of the loss. The constants
//! here belong to one training set. They are estimates of what the proposition asks for over all of them, not a proof.

use super::Sample;
use super::observed::Observed;
use super::theorem::Assumptions;
use mercer::Result;
use mercer::solver::deletion::Divisor;

/// The constants of the transfer from ridge regression, measured on one training set (1/n kept at deletions).
#[derive(Debug, Clone, PartialEq)]
pub struct Transfer {
    /// μ = Φ(λ, Z).
    pub ridge: f64,
    /// C(n) = max |Φ(λ, Z) − Φ(λ, Zⁱ)|.
    pub ridge_change: f64,
    /// The smallest and the largest of all these ridges.
    pub ridges: [f64; 2],
    /// β_B(n, μ), the bound for ridge regression at μ.
    pub ridge_bound: f64,
    /// The largest |∂β_B/∂μ| over the ridges.
    pub ridge_bound_slope: f64,
    /// σ = 2(C_y + κ(C_y²/μ)^½) at the smallest ridge.
    pub lipschitz: f64,
    /// γ: the largest ‖df_μ/dμ‖ over the ridges, on the path of all rows.
    pub path_slope: f64,
    /// max ‖B(μ, Zⁱ) − B(μᵢ, Zⁱ)‖, exactly; γC(n) estimates it.
    pub path_move: f64,
    /// What is observed of ridge regression at μ itself.
    pub ridge_observed: Observed,
    /// β′ = β_B(n, μ) + σκγC(n).
    pub transferred: f64,
}

impl Sample {
    /// The transfer of stability from ridge regression; nothing where f or a deletion's f is the zero function, which is no
    /// point of the ridge path.
    pub fn transfer(&self, assume: &Assumptions) -> Result<Option<Transfer>> {
        let deletions = self.deletions(assume, Divisor::All)?;
        let observed = self.observed(&deletions, Divisor::All, assume);
        let all: Option<Vec<f64>> = observed.ridges.iter().copied().collect();
        let (Some(ridge), Some(all)) = (observed.ridge, all) else { return Ok(None) };
        let lowest = all.iter().copied().fold(ridge, f64::min);
        let highest = all.iter().copied().fold(ridge, f64::max);
        let at = |ridge: f64| Assumptions { exponent: 2.0, lambda: ridge, ..assume.clone() };
        let [at_ridge, at_lowest] = [at(ridge), at(lowest)];
        let ridge_bound = at_ridge.bound(Divisor::All).unwrap_or(f64::INFINITY);
        let ridge_deletions = self.deletions(&at_ridge, Divisor::All)?;
        let eigenvalues = self.spectrum.eigenvalues();
        let path_move = (0..self.rows()).map(|i| {
            let pairs = ridge_deletions.coordinates().col(i).iter().zip(deletions.coordinates().col(i));
            let squares = pairs.zip(eigenvalues).map(|((a, b), d)| d * (a - b) * (a - b));
            squares.sum::<f64>().sqrt()
        });
        let path_move = path_move.fold(0.0, f64::max);
        let (ridge_change, path_slope) = (observed.ridge_change(), self.path_slope(lowest));
        let lipschitz = at_lowest.lipschitz();
        Ok(Some(Transfer {
            ridge,
            ridge_change,
            ridges: [lowest, highest],
            ridge_bound,
            ridge_bound_slope: bound_slope(&at_lowest),
            lipschitz,
            path_slope,
            path_move,
            ridge_observed: self.observed(&ridge_deletions, Divisor::All, &at_ridge),
            transferred: ridge_bound + lipschitz * assume.kernel_bound * path_slope * ridge_change,
        }))
    }

    /// ‖df_μ/dμ‖ = (Σ d (n z/(d + nμ)²)²)^½, which falls with μ.
    fn path_slope(&self, ridge: f64) -> f64 {
        let (n, (z, power)) = (self.rows() as f64, self.target.scaled());
        let each = z.iter().zip(self.spectrum.eigenvalues()).map(|(z, d)| {
            let slope = n * z / ((d + n * ridge) * (d + n * ridge));
            d * slope * slope
        });
        libm::ldexp(each.sum::<f64>().sqrt(), power)
    }
}

/// |∂β/∂μ| of β = C(μ)²κ²/(2μn) with C = 2(C_y + κC_yμ^(−½)); it falls with μ.
fn bound_slope(at: &Assumptions) -> f64 {
    let Some(bound) = at.bound(Divisor::All) else { return f64::INFINITY };
    let falls = at.kernel_bound * at.norm_bound() / at.lambda;
    bound * (2.0 * falls / at.lipschitz() + 1.0 / at.lambda)
}

#[cfg(test)]
mod tests {
    use super::*;
    use mercer::loss::residual::Squared;
    use std::sync::Arc;

    #[test]
    fn the_bounds_slope_is_its_derivative() {
        let at = |lambda: f64| Assumptions {
            rows: 30,
            exponent: 2.0,
            lambda,
            target_bound: 3.0,
            kernel_bound: 0.7,
            loss: Arc::new(Squared),
        };
        let bound = |lambda: f64| at(lambda).bound(Divisor::All).unwrap();
        let difference = (bound(0.2 - 1e-6) - bound(0.2 + 1e-6)) / 2e-6;
        assert!((bound_slope(&at(0.2)) - difference).abs() < 1e-6 * difference, "{difference}");
    }
}
