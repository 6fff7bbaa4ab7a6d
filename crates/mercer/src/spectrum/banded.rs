//! The band form in the place of a spectrum: when λ is chosen at exponent 2, a few dozen ridges are wanted and no
//! eigenvector is. K = V B Vᵀ costs a third of an eigendecomposition, and each ridge then a hundredth of a factorisation.

use crate::error::Result;
use crate::linalg::band::BandForm;
use crate::linalg::{Matrix, multiply_transposed};
use crate::simd::vectorize;
use rayon::prelude::*;

/// K in band form, with targets and the constant in its coordinates. Rows have no weights.
pub(crate) struct Banded {
    form: BandForm,
    /// Vᵀy, centred first if there is an offset; in units of 2ᵏ.
    targets: Matrix,
    powers: Vec<i32>,
    /// Vᵀ1, with an offset.
    constant: Option<Vec<f64>>,
    /// A bound of the largest eigenvalue.
    size: f64,
    zero_mse: Vec<f64>,
}

/// Everything about the ridge fit at one γ.
pub(crate) struct BandedFit {
    /// Leave-one-out residuals at this γ, n × targets, in units of 2ᵏ; only if they were asked for.
    pub residuals: Option<Matrix>,
    /// yᵀG⁻¹y, in units of 4ᵏ, one per target.
    pub quadratics: Vec<f64>,
    /// γ²‖α‖² = Σ residual², in units of 4ᵏ.
    pub squares: Vec<f64>,
    /// tr G⁻¹ on the directions that the offset leaves.
    pub trace: f64,
    pub log_det: f64,
    /// ln det on the directions that the offset leaves.
    pub log_det_reduced: f64,
}

impl Banded {
    /// From the lower triangle of K.
    pub fn new(gram: Matrix, y: &Matrix, offset: bool) -> Result<Self> {
        let n = gram.rows();
        let size = crate::linalg::largest_row_sum(&gram);
        super::check_size(size)?;
        let form = BandForm::reduce(gram)?;
        let mut powers = Vec::new();
        let mut zero_mse = Vec::new();
        let mut scaled = y.clone();
        for t in 0..y.cols() {
            let column = scaled.col_mut(t);
            let largest = column.iter().fold(0.0, |max: f64, v| max.max(v.abs()));
            let power = if largest > 0.0 { crate::linalg::exponent_of(largest) } else { 0 };
            column.iter_mut().for_each(|v| *v = libm::ldexp(*v, -power));
            if offset {
                let mean = crate::linalg::double::sum(column.iter().copied()).value() / n as f64;
                column.iter_mut().for_each(|v| *v -= mean);
                if column.iter().all(|v| v.abs() <= 16.0 * f64::EPSILON) {
                    column.fill(0.0);
                }
            }
            zero_mse.push(column.iter().map(|v| v * v).sum::<f64>() / n as f64);
            powers.push(power);
        }
        let targets = multiply_transposed(&form.vectors, &scaled);
        let constant =
            offset.then(|| multiply_transposed(&form.vectors, &Matrix::column_vector(vec![1.0; n])).into_vec());
        Ok(Banded { form, targets, powers, constant, size, zero_mse })
    }

    pub fn rows(&self) -> usize {
        self.targets.rows()
    }

    pub fn size(&self) -> f64 {
        self.size
    }

    pub fn has_offset(&self) -> bool {
        self.constant.is_some()
    }

    pub fn targets(&self) -> usize {
        self.targets.cols()
    }

    /// k of a target: its numbers are in units of 2ᵏ.
    pub fn power(&self, target: usize) -> i32 {
        self.powers[target]
    }

    /// The mean square of a target (around its mean, with an offset), in units of 4ᵏ.
    pub fn zero_mse(&self, target: usize) -> f64 {
        self.zero_mse[target]
    }

    /// The ridge fit at γ; `None` where K + γI is singular to rounding.
    pub fn at(&self, gamma: f64, with_residuals: bool) -> Option<BandedFit> {
        let (n, count) = (self.rows(), self.targets());
        let shifted = self.form.shifted(gamma)?;
        let mut dual = self.targets.clone();
        for t in 0..count {
            shifted.solve(dual.col_mut(t));
        }
        // Leave-one-out needs no trace.
        let mut trace = if with_residuals { f64::NAN } else { shifted.trace_inverse() };
        let log_det = shifted.log_det();
        let mut log_det_reduced = log_det;
        let mut constant_rows = None;
        if let Some(constant) = &self.constant {
            let mut image = constant.clone();
            shifted.solve(&mut image);
            let sum = dot(constant, &image);
            for t in 0..count {
                let share = dot(constant, dual.col(t)) / sum;
                dual.col_mut(t).iter_mut().zip(&image).for_each(|(a, c)| *a -= share * c);
            }
            trace -= dot(&image, &image) / sum;
            log_det_reduced += libm::log(sum / n as f64);
            constant_rows = Some((image, sum));
        }
        let quadratics = (0..count).map(|t| dot(self.targets.col(t), dual.col(t))).collect();
        let squares = (0..count).map(|t| dual.col(t).iter().map(|a| gamma * a).map(|r| r * r).sum()).collect();
        let residuals = with_residuals.then(|| {
            let mut diagonal = shifted.diagonal();
            // The constant goes through V with the targets: what takes time is reading V.
            let mut coordinates = dual.into_vec();
            if let Some((image, _)) = &constant_rows {
                coordinates.extend(image);
            }
            let columns = coordinates.len() / n.max(1);
            let coordinates = Matrix::from_columns(n, columns, coordinates).unwrap_or_default();
            let rows = times_few(&self.form.vectors, &coordinates);
            if let Some((_, sum)) = constant_rows {
                diagonal.iter_mut().zip(rows.col(count)).for_each(|(g, c)| *g -= c * c / sum);
            }
            Matrix::from_fn(n, count, |i, t| rows.get(i, t) / diagonal[i])
        });
        Some(BandedFit { residuals, quadratics, squares, trace, log_det, log_det_reduced })
    }
}

/// A B for a B of few columns: strips of rows on all cores, A read once.
fn times_few(a: &Matrix, b: &Matrix) -> Matrix {
    const STRIP: usize = 256;
    let n = a.rows();
    let starts: Vec<usize> = (0..n).step_by(STRIP).collect();
    let strips: Vec<Vec<f64>> = starts
        .par_iter()
        .map(|start| {
            let height = STRIP.min(n - start);
            let mut sums = vec![0.0; height * b.cols()];
            for k in 0..a.cols() {
                let column = &a.col(k)[*start..start + height];
                for (t, sum) in sums.chunks_exact_mut(height).enumerate() {
                    let factor = b.get(k, t);
                    vectorize(
                        #[inline(always)]
                        || sum.iter_mut().zip(column).for_each(|(s, x)| *s += factor * x),
                    );
                }
            }
            sums
        })
        .collect();
    Matrix::from_fn(n, b.cols(), |i, t| {
        let (strip, row) = (i / STRIP, i % STRIP);
        strips[strip][t * STRIP.min(n - strip * STRIP) + row]
    })
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}
