//! The matrix X of a linear model, dense or sparse, and its products on all cores.
//!
//! Work is cut into chunks of fixed size whose results are put together in one order: the same bits come out
//! with any number of threads.

use rayon::prelude::*;

use crate::base::error::{Error, Result};
use crate::linalg::simd::vectorize;
use crate::linalg::{Matrix, Parts};

pub use super::sparse::Sparse;

/// Columns that one task multiplies with a vector.
const COLUMNS: usize = 64;
/// Rows that one task sums up.
const ROWS: usize = 512;
/// Below so many multiplications a product is not worth a second thread.
const SMALL: usize = 1 << 15;

/// X, rows × columns.
#[derive(Debug, Clone)]
pub enum Features {
    /// Every entry stored.
    Dense(Matrix),
    /// Only what is not zero stored.
    Sparse(Sparse),
}

impl From<Matrix> for Features {
    fn from(matrix: Matrix) -> Self {
        Features::Dense(matrix)
    }
}

impl From<Sparse> for Features {
    fn from(sparse: Sparse) -> Self {
        Features::Sparse(sparse)
    }
}

impl Features {
    /// Number of rows.
    pub fn rows(&self) -> usize {
        match self {
            Features::Dense(x) => x.rows(),
            Features::Sparse(x) => x.rows(),
        }
    }

    /// Whether the entries of a column differ.
    pub(crate) fn varies(&self, j: usize) -> bool {
        match self {
            Features::Dense(matrix) => matrix.col(j).iter().any(|x| *x != matrix.get(0, j)),
            Features::Sparse(sparse) => {
                let stored = sparse.col(j).1;
                stored.iter().any(|x| *x != stored[0]) || (!stored.is_empty() && stored.len() < sparse.rows())
            }
        }
    }

    /// Number of columns.
    pub fn cols(&self) -> usize {
        match self {
            Features::Dense(x) => x.cols(),
            Features::Sparse(x) => x.cols(),
        }
    }

    /// Stored entries.
    pub fn stored(&self) -> usize {
        match self {
            Features::Dense(x) => x.as_slice().len(),
            Features::Sparse(x) => x.stored(),
        }
    }

    /// Refuses entries that are not finite, naming the first of them.
    pub fn check_finite(&self) -> Result<()> {
        let Features::Dense(x) = self else { return Ok(()) };
        let rows = x.rows().max(1);
        match x.as_slice().iter().position(|value| !value.is_finite()) {
            None => Ok(()),
            Some(place) => Err(Error::cell(
                place % rows + 1,
                format!("{}", place / rows + 1),
                format!("must be a finite number; got {}", x.as_slice()[place]),
            )),
        }
    }

    /// X v.
    pub fn multiply(&self, v: &[f64]) -> Vec<f64> {
        match self {
            Features::Dense(x) => dense_product(x, v),
            Features::Sparse(x) => x.multiply(v),
        }
    }

    /// Xᵀ u.
    pub fn multiply_transposed(&self, u: &[f64]) -> Vec<f64> {
        match self {
            Features::Dense(x) => dense_transposed(x, u),
            Features::Sparse(x) => x.multiply_transposed(u),
        }
    }

    /// ‖xⱼ‖² for every column.
    pub fn squared_norms(&self) -> Vec<f64> {
        let one = |j: usize| match self {
            Features::Dense(x) => dot(x.col(j), x.col(j)),
            Features::Sparse(x) => x.col(j).1.iter().map(|v| v * v).sum(),
        };
        (0..self.cols()).into_par_iter().with_min_len(COLUMNS).map(one).collect()
    }

    /// (1/W) Σ wᵢ xᵢⱼ for every column.
    pub fn means(&self, weights: Option<&[f64]>) -> Vec<f64> {
        let (u, total) = match weights {
            Some(w) => (w.to_vec(), w.iter().sum()),
            None => (vec![1.0; self.rows()], self.rows() as f64),
        };
        let mut sums = self.multiply_transposed(&u);
        sums.iter_mut().for_each(|s| *s /= total);
        sums
    }

    /// The rows `keep`, in that order.
    pub fn select_rows(&self, keep: &[usize]) -> Features {
        match self {
            Features::Dense(x) => Features::Dense(Matrix::from_fn(keep.len(), x.cols(), |i, j| x.get(keep[i], j))),
            Features::Sparse(x) => Features::Sparse(x.select_rows(keep)),
        }
    }

    /// All entries stored.
    pub fn to_dense(&self) -> Matrix {
        match self {
            Features::Dense(x) => x.clone(),
            Features::Sparse(x) => x.to_dense(),
        }
    }
}

/// Σ aᵢbᵢ in lanes, the same bits everywhere.
pub(crate) fn dot(a: &[f64], b: &[f64]) -> f64 {
    let mut parts = Parts::default();
    parts.add_products(a, b);
    parts.total()
}

/// y + a x, in the place of y.
pub(crate) fn add_scaled(y: &mut [f64], a: f64, x: &[f64]) {
    vectorize(
        #[inline(always)]
        || {
            for (y, x) in y.iter_mut().zip(x) {
                *y += a * x;
            }
        },
    );
}

fn dense_product(x: &Matrix, v: &[f64]) -> Vec<f64> {
    let rows = x.rows();
    let mut out = vec![0.0; rows];
    let fill = |(chunk, out): (usize, &mut [f64])| {
        let range = chunk * ROWS..chunk * ROWS + out.len();
        for (j, v) in v.iter().enumerate().filter(|(_, v)| **v != 0.0) {
            add_scaled(out, *v, &x.col(j)[range.clone()]);
        }
    };
    if rows * x.cols() < SMALL {
        out.chunks_mut(ROWS).enumerate().for_each(fill);
    } else {
        out.par_chunks_mut(ROWS).enumerate().for_each(fill);
    }
    out
}

fn dense_transposed(x: &Matrix, u: &[f64]) -> Vec<f64> {
    let mut out = vec![0.0; x.cols()];
    let fill = |(chunk, out): (usize, &mut [f64])| {
        for (k, out) in out.iter_mut().enumerate() {
            *out = dot(x.col(chunk * COLUMNS + k), u);
        }
    };
    if x.rows() * x.cols() < SMALL {
        out.chunks_mut(COLUMNS).enumerate().for_each(fill);
    } else {
        out.par_chunks_mut(COLUMNS).enumerate().for_each(fill);
    }
    out
}
