//! Small products inside one task.

use faer::linalg::matmul;
use faer::{Accum, MatMut, MatRef, Par};

/// A B into `out`, m × k by columns. A is m × depth by columns that are `stride` apart, B is depth × k by columns. On the
/// calling thread only.
pub(crate) fn product(m: usize, depth: usize, a: &[f64], stride: usize, b: &[f64], out: &mut [f64]) {
    let k = b.len() / depth.max(1);
    let a = MatRef::from_column_major_slice_with_stride(a, m, depth, stride);
    let b = MatRef::from_column_major_slice(b, depth, k);
    let out = MatMut::from_column_major_slice_mut(out, m, k);
    matmul::matmul(out, Accum::Replace, a, b, 1.0, Par::Seq);
}
