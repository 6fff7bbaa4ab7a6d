//! Targets, around their means and in the coordinates of a spectrum.

use super::Spectrum;
use crate::base::clip::Clip;
use crate::base::error::{Error, Result};
use crate::linalg::{self, Matrix, double};

/// A target in the coordinates of a [`Spectrum`].
#[derive(Debug, Clone)]
pub struct Target {
    /// z = Qᵀ(s∘y)·2⁻ᵏ.
    pub(crate) z: Vec<f64>,
    /// The part of s∘y·2⁻ᵏ outside the basis (and orthogonal to s if there is an offset), row by row.
    pub(crate) outside: Vec<f64>,
    /// P(s∘y)·2⁻ᵏ, row by row: what the zero function leaves.
    pub(crate) centred: Vec<f64>,
    /// k: targets are divided by a power of two near their largest value, so that squares stay in range.
    pub(crate) power: i32,
    /// Weighted mean of y (0 without an offset).
    pub(crate) mean: f64,
    /// Where predictions are kept within the range of y: what that makes of residuals.
    pub(crate) clip: Option<Clip>,
}

impl Target {
    /// z = Qᵀ(s∘y), in the target's own units.
    pub fn coordinates(&self) -> Vec<f64> {
        self.z.iter().map(|z| libm::ldexp(*z, self.power)).collect()
    }

    /// z in units of 2ᵏ, and k.
    #[doc(hidden)]
    pub fn scaled(&self) -> (&[f64], i32) {
        (&self.z, self.power)
    }

    /// The weighted mean of y; 0 without an offset.
    #[doc(hidden)]
    pub fn mean(&self) -> f64 {
        self.mean
    }

    /// y, as it was before it was centred and scaled.
    pub(crate) fn observed(&self, spectrum: &Spectrum) -> Vec<f64> {
        (0..self.centred.len()).map(|row| self.observed_at(spectrum, row)).collect()
    }

    pub(crate) fn observed_at(&self, spectrum: &Spectrum, row: usize) -> f64 {
        let root = spectrum.root_weights.as_ref().map_or(1.0, |s| s[row]);
        self.mean + libm::ldexp(self.centred[row] / root, self.power)
    }

    /// The same, with predictions kept within the range of y, which it was made of.
    pub(crate) fn clipped(self, y: &[f64]) -> Self {
        Target { clip: Some(Clip::of(y)), ..self }
    }
}

/// A target around its mean.
pub(super) struct Centred {
    /// P(s∘y)·2⁻ᵏ.
    pub values: Vec<f64>,
    pub power: i32,
    /// Of y·2⁻ᵏ.
    pub mean: f64,
}

impl Centred {
    /// For rows with s = √w, or all alike, whose weights sum to W.
    pub fn of(y: &[f64], root_weights: Option<&[f64]>, weight_sum: f64, offset: bool) -> Self {
        let size = y.iter().fold(0.0, |max: f64, v| max.max(v.abs()));
        let power = if size > 0.0 { linalg::exponent_of(size) } else { 0 };
        let root = |i: usize| root_weights.map_or(1.0, |s| s[i]);
        let scaled: Vec<f64> = y.iter().map(|v| libm::ldexp(*v, -power)).collect();
        let mean = if offset {
            let weighted = scaled.iter().enumerate().map(|(i, v)| root(i) * root(i) * v);
            double::sum(weighted).value() / weight_sum
        } else {
            0.0
        };
        // y − mean before any product: with a large offset the products would lose its digits.
        let mut values: Vec<f64> = scaled.iter().enumerate().map(|(i, v)| root(i) * (v - mean)).collect();
        // A constant target leaves rounding, not energy.
        if offset && scaled.iter().all(|v| (v - mean).abs() <= 16.0 * f64::EPSILON) {
            values.fill(0.0);
        }
        Centred { values, power, mean }
    }

    /// With z = Qᵀ of it, and what Qz is, row by row.
    pub fn target(self, z: Vec<f64>, inside: &[f64]) -> Target {
        let outside = self.values.iter().zip(inside).map(|(a, b)| a - b).collect();
        let mean = libm::ldexp(self.mean, self.power);
        Target { z, outside, centred: self.values, power: self.power, mean, clip: None }
    }
}

impl Spectrum {
    /// A target in the coordinates of this decomposition.
    pub fn target(&self, y: &[f64]) -> Result<Target> {
        let n = self.rows();
        if y.len() != n {
            return Err(Error::shape("y", format!("one number per row ({n})"), y.len()));
        }
        let centred = Centred::of(y, self.root_weights.as_deref(), self.weight_sum, self.offset);
        let z = self.basis.apply_transposed(&Matrix::column_vector(centred.values.clone()));
        let full = self.basis.cols() + usize::from(self.offset) == n;
        let inside = if full { centred.values.clone() } else { self.basis.apply(&z).into_vec() };
        Ok(centred.target(z.into_vec(), &inside))
    }

    /// Those of all columns.
    pub(crate) fn targets(&self, y: &Matrix) -> Result<Vec<Target>> {
        (0..y.cols()).map(|t| self.target(y.col(t))).collect()
    }
}
