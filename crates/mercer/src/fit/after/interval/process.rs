//! The Gaussian process whose posterior mean the ridge solution is.
//!
//! f has covariance σ²k, every y has independent noise of variance σ²γ/w, and b a flat prior. Then the posterior mean of f + b
//! is the fit at γ, and with G = K + γI (without offset) the variance of f(x) is σ²(k(x, x) − kₓᵀG⁻¹kₓ). With an offset the
//! contrast f(x) − f̄ has the variance σ²(k(x, x) − 2k̄(x) + k̄ − Σ M²/(d + γ)), M the new row in the basis, and f̄ + b that of
//! the mean's noise, σ²γ/W; the two are independent. A new y adds σ²γn/W, the noise of a row of mean
//! weight: scaling all weights changes nothing.
//!
//! The noise is judged by the residuals: Σ w r² = Σ q²z² has the mean σ²γ Σ q over the directions that the offset leaves, q = γ/(d + γ),
//! and Σ q is n less the degrees of freedom of the fit. It is distributed about as σ²γ(Σ q/ν) χ²_ν with ν = (Σ q)²/Σ q² (Satterthwaite),
//! so that quantiles are Student's with ν degrees of freedom. With a linear kernel and γ → 0 all of this is the prediction interval of
//! least squares, with ν = n − p.

use crate::fit::after::training::Refitted;
use crate::linalg::{Matrix, multiply};
use crate::path::Spectrum;

/// The posterior of one target.
pub(super) struct Process {
    /// z/(d + γ) in the target's own units.
    coordinates: Vec<f64>,
    constant: f64,
    /// σ²; 0 for the zero function, whose γ is infinite.
    variance: f64,
    gamma: f64,
    /// σ²γ/W, the variance of the mean's noise.
    noise_of_mean: f64,
    /// ν.
    pub freedom: f64,
}

impl Process {
    pub fn new(refitted: &Refitted<'_>, t: usize) -> Self {
        let Refitted { spectrum, targets, log_ridges, .. } = refitted;
        let target = &targets[t];
        let path = spectrum.path(&[target]);
        let total = spectrum.weight_sum();
        let directions = spectrum.rows() as f64 - f64::from(u8::from(spectrum.has_offset()));
        let gamma = refitted.gamma(t);
        let (variance, noise_of_mean, freedom) = match log_ridges[t] {
            Some(log_ridge) => {
                let shares = || spectrum.eigenvalues().iter().map(|d| gamma / (d + gamma));
                let unseen = directions - spectrum.eigenvalues().len() as f64;
                let left = unseen + shares().sum::<f64>();
                let noise = path.train_mse(libm::exp(log_ridge)) * total / left;
                (noise / gamma, noise / total, left * left / (unseen + shares().map(|q| q * q).sum::<f64>()))
            }
            // The limit of large γ: all of y is noise.
            None => (0.0, path.zero_mse() / directions, directions),
        };
        let unit = libm::ldexp(1.0, target.power);
        let coordinates = target.z.iter().zip(spectrum.eigenvalues());
        let coordinates = coordinates.map(|(z, d)| if *d > 0.0 { unit * z / (d + gamma) } else { 0.0 }).collect();
        Process { coordinates, constant: target.mean, variance, gamma, noise_of_mean, freedom }
    }

    /// Mean and standard deviation of y at new rows, from their coordinates and their own (centred) kernel values.
    pub fn at(&self, spectrum: &Spectrum, projected: &Matrix, diagonal: &[f64]) -> Vec<(f64, f64)> {
        let means = multiply(projected, &Matrix::column_vector(self.coordinates.clone())).into_vec();
        let count = spectrum.rows() as f64 + f64::from(u8::from(spectrum.has_offset()));
        let noise = count * self.noise_of_mean;
        // k(x, x) − Σ M²/(d + γ) as what no direction explains, and Σ M²γ/(d(d + γ)): of a linear function the first is 0 but for
        // rounding, of which γ → 0 would leave nothing else.
        let is_linear = spectrum.linear_scale().is_some();
        let (mut explained, mut left) = (vec![0.0; projected.rows()], vec![0.0; projected.rows()]);
        for (k, d) in spectrum.eigenvalues().iter().enumerate().filter(|(_, d)| **d > 0.0) {
            let within = if is_linear { *d } else { d + self.gamma };
            for (row, m) in projected.col(k).iter().enumerate() {
                explained[row] += m / within * m;
                left[row] += if is_linear { m / within * m * (self.gamma / (d + self.gamma)) } else { 0.0 };
            }
        }
        means
            .iter()
            .enumerate()
            .map(|(row, mean)| {
                let beyond = (diagonal[row] - explained[row]).max(0.0);
                let beyond = if is_linear && beyond < 1e-12 * diagonal[row] { 0.0 } else { beyond };
                (mean + self.constant, (self.variance * (beyond + left[row]) + noise).sqrt())
            })
            .collect()
    }
}
