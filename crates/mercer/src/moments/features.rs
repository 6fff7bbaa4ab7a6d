//! φ(x) = L⁻¹k(x): the functions that landmarks span, in an orthonormal basis.

use sha2::{Digest, Sha256};

use crate::data::Encoder;
use crate::error::{Error, Result};
use crate::kernel::{Points, SharedKernel};
use crate::linalg::{Matrix, solve_lower, solve_lower_transposed};
use crate::low_rank::{Basis, Landmarks};

/// Landmarks of a kernel, how tables are read for it, and L with LLᵀ their Gram matrix.
#[derive(Debug, Clone)]
pub struct LandmarkMap {
    pub(crate) encoder: Encoder,
    pub(crate) kernel: SharedKernel,
    pub(crate) landmarks: Points,
    pub(crate) lower: Matrix,
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
        LandmarkMap { encoder, kernel, landmarks, lower, fingerprint: hash.finalize().into() }
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
        solve_lower(&self.lower, &mut out);
        out
    }

    /// β with f(x) = Σ βⱼ k(x, lⱼ) = vᵀφ(x): L⁻ᵀv.
    pub(crate) fn coefficients(&self, v: &[f64]) -> Vec<f64> {
        solve_lower_transposed(&self.lower, v)
    }
}
