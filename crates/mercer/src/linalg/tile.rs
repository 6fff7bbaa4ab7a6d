//! Small products inside one task.

use faer::linalg::matmul;
use faer::{Accum, MatMut, MatRef, Par};

/// Aᵀ B into `out`, m × k by columns, for A (depth × m) and B (depth × k) by columns; on the calling thread only.
pub(crate) fn products(depth: usize, a: &[f64], b: &[f64], out: &mut [f64]) {
    let (m, k) = (a.len() / depth.max(1), b.len() / depth.max(1));
    let a = MatRef::from_column_major_slice(a, depth, m);
    let b = MatRef::from_column_major_slice(b, depth, k);
    let out = MatMut::from_column_major_slice_mut(out, m, k);
    matmul::matmul(out, Accum::Replace, a.transpose(), b, 1.0, Par::Seq);
}
