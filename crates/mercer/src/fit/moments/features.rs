//! φ(x) = L⁻¹k(x): the functions that landmarks span, in an orthonormal basis; or random waves.

use sha2::{Digest, Sha256};

use std::sync::Arc;

use crate::base::error::{Error, Result};
use crate::data::Encoder;
use crate::linalg::{Matrix, solve_lower, solve_lower_transposed};
use crate::space::low_rank::{Basis, Landmarks};
use crate::term::kernel::waves::{Waves, frequencies};
use crate::term::kernel::{Points, SharedKernel};

/// Landmarks of a kernel, how tables are read for it, and L with LLᵀ their Gram matrix; or frequencies in the place of landmarks,
/// waves in that of the kernel, and a multiple of I in that of L.
#[derive(Debug, Clone)]
pub struct LandmarkMap {
    pub(crate) encoder: Encoder,
    pub(crate) kernel: SharedKernel,
    pub(crate) landmarks: Points,
    pub(crate) lower: Matrix,
    /// What L is a multiple of I by, if it is one.
    multiple: Option<f64>,
    fingerprint: [u8; 32],
}

impl LandmarkMap {
    /// Landmarks of rows that were read by `encoder`.
    pub fn choose(
        by: Landmarks,
        kernel: &SharedKernel,
        encoder: Encoder,
        sample: &Points,
        rank: usize,
        seed: u64,
    ) -> Result<Self> {
        if kernel.is_precomputed() {
            return Err(Error::argument("the kernel", "one with a formula", "precomputed"));
        }
        let kernel = kernel.fitted_to(sample, None)?;
        let Basis { landmarks, lower, .. } = Basis::choose(by.suited_to(sample, rank), &kernel, sample, rank, seed);
        if landmarks.rows() == 0 {
            return Err(Error::NotAKernel("the kernel is 0 on all rows of the sample".into()));
        }
        Ok(LandmarkMap::new(encoder, kernel, landmarks, lower))
    }

    /// Random waves with the mean product k, for a radial kernel on rows that were read by `encoder`.
    pub fn waves(kernel: &SharedKernel, encoder: Encoder, sample: &Points, count: usize, seed: u64) -> Result<Self> {
        let kernel = kernel.fitted_to(sample, None)?;
        let (frequencies, factor) = frequencies(&*kernel, sample.features(), count, seed)?;
        let length = (count as f64 / factor).sqrt();
        let lower = Matrix::from_fn(count, count, |i, k| if i == k { length } else { 0.0 });
        Ok(LandmarkMap::new(encoder, Arc::new(Waves::new(kernel)), Points::new(&frequencies), lower))
    }

    pub(crate) fn new(encoder: Encoder, kernel: SharedKernel, landmarks: Points, lower: Matrix) -> Self {
        let mut hash = Sha256::new();
        hash.update(kernel.spec());
        hash.update(format!("{encoder:?}"));
        for j in 0..landmarks.features() {
            landmarks.feature(j).iter().for_each(|value| hash.update(value.to_le_bytes()));
        }
        for j in 0..landmarks.code_columns() {
            landmarks.codes(j).iter().for_each(|code| hash.update(code.to_le_bytes()));
        }
        let width = lower.rows();
        let length = if width > 0 { lower.get(0, 0) } else { 1.0 };
        let wanted = |i: usize, k: usize| if i == k { length } else { 0.0 };
        let is_multiple = (0..width).all(|k| lower.col(k).iter().enumerate().all(|(i, v)| *v == wanted(i, k)));
        let multiple = is_multiple.then_some(length);
        LandmarkMap { encoder, kernel, landmarks, lower, multiple, fingerprint: hash.finalize().into() }
    }

    /// Whether the features are random waves.
    pub fn is_waves(&self) -> bool {
        self.kernel.is_waves()
    }

    /// Number of features.
    pub fn width(&self) -> usize {
        self.landmarks.rows()
    }

    /// How tables are read.
    pub fn encoder(&self) -> &Encoder {
        &self.encoder
    }

    /// The kernel, with its numbers.
    pub fn kernel(&self) -> &SharedKernel {
        &self.kernel
    }

    /// A hash of everything that φ depends on.
    pub fn fingerprint(&self) -> [u8; 32] {
        self.fingerprint
    }

    /// φ of every point, one column each; without help from other threads.
    pub(crate) fn features(&self, points: &Points) -> Matrix {
        let width = self.width();
        let mut out = Matrix::zeros(width, points.rows());
        for (i, column) in out.as_mut_slice().chunks_mut(width).enumerate() {
            points.with_point(i, |x| self.kernel.values(x, &self.landmarks, 0, column));
        }
        match self.multiple {
            Some(length) => out.as_mut_slice().iter_mut().for_each(|value| *value /= length),
            None => solve_lower(&self.lower, &mut out),
        }
        out
    }

    /// How far rounding can move vᵀφ(x): that of kernel values (at most `height`) through φ = L⁻¹k, and that of the sum of β.
    pub(crate) fn rounding(&self, v: &[f64], coefficients: &[f64], height: f64) -> f64 {
        let least = (0..self.width()).map(|k| self.lower.get(k, k)).fold(f64::INFINITY, f64::min);
        let length = v.iter().map(|v| v * v).sum::<f64>().sqrt();
        let through = (self.width() as f64).sqrt() * length / least;
        f64::EPSILON * height * (through + coefficients.iter().map(|c| c.abs()).sum::<f64>())
    }

    /// β with f(x) = Σ βⱼ k(x, lⱼ) = vᵀφ(x): L⁻ᵀv.
    pub(crate) fn coefficients(&self, v: &[f64]) -> Vec<f64> {
        solve_lower_transposed(&self.lower, v)
    }
}
