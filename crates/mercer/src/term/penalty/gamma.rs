//! The matrix of a Tikhonov penalty.

use crate::base::error::{Error, Result};
use crate::linalg::Matrix;

/// The matrix Γ of a penalty λ‖Γw‖².
#[derive(Debug, Clone, PartialEq)]
pub enum Gamma {
    /// ‖w‖²: ridge regression.
    Identity,
    /// Σ (wⱼ₊₁ − wⱼ)².
    FirstDifferences,
    /// Σ (wⱼ₊₂ − 2wⱼ₊₁ + wⱼ)².
    SecondDifferences,
    /// Any matrix with a column for every coefficient.
    Matrix(Matrix),
}

impl Gamma {
    /// Γ for `columns` coefficients.
    pub fn matrix(&self, columns: usize) -> Result<Matrix> {
        let banded = |row: &[f64]| {
            let rows = (columns + 1).saturating_sub(row.len());
            Matrix::from_fn(rows, columns, |i, j| j.checked_sub(i).and_then(|k| row.get(k)).copied().unwrap_or(0.0))
        };
        match self {
            Gamma::Identity => Ok(banded(&[1.0])),
            Gamma::FirstDifferences => Ok(banded(&[-1.0, 1.0])),
            Gamma::SecondDifferences => Ok(banded(&[1.0, -2.0, 1.0])),
            Gamma::Matrix(matrix) if matrix.cols() != columns => {
                Err(Error::shape("Γ", format!("{columns} columns, one a coefficient"), matrix.cols()))
            }
            Gamma::Matrix(matrix) if !matrix.max_abs().is_finite() => {
                Err(Error::argument("Γ", "finite", matrix.max_abs()))
            }
            Gamma::Matrix(matrix) => Ok(matrix.clone()),
        }
    }
}
