//! The band form in the place of a spectrum: when λ is chosen at exponent 2, a few dozen ridges are wanted and no
//! eigenvector is. K = V B Vᵀ costs a third of an eigendecomposition, and each ridge then a hundredth of a factorisation.

use crate::base::error::Result;
use crate::linalg::band::{BandForm, RowsAtShift, Shift, ShiftedBand};
use crate::linalg::{Matrix, multiply_transposed};

/// Shifts whose factors are held at a time.
const AT_ONCE: usize = 16;

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
    pub fn at(&self, gamma: f64) -> Option<BandedFit> {
        let (n, count) = (self.rows(), self.targets());
        let shifted = self.form.shifted(gamma)?;
        let mut trace = shifted.trace_inverse();
        let log_det = shifted.log_det();
        let mut log_det_reduced = log_det;
        let Duals { targets: dual, constant } = self.duals(&shifted);
        if let Some((image, sum)) = constant {
            trace -= dot(&image, &image) / sum;
            log_det_reduced += libm::log(sum / n as f64);
        }
        let quadratics = (0..count).map(|t| dot(self.targets.col(t), dual.col(t))).collect();
        let squares = (0..count).map(|t| dual.col(t).iter().map(|a| gamma * a).map(|r| r * r).sum()).collect();
        Some(BandedFit { quadratics, squares, trace, log_det, log_det_reduced })
    }

    /// Leave-one-out residuals at each γ, n × targets, in units of 2ᵏ; `None` where K + γI is singular to rounding.
    pub fn residuals_at(&self, gammas: &[f64]) -> Vec<Option<Matrix>> {
        gammas.chunks(AT_ONCE).flat_map(|gammas| self.some_residuals(gammas)).collect()
    }

    fn some_residuals(&self, gammas: &[f64]) -> Vec<Option<Matrix>> {
        let (n, count) = (self.rows(), self.targets());
        let mut sums: Vec<Option<f64>> = Vec::with_capacity(gammas.len());
        let mut shifts = Vec::with_capacity(gammas.len());
        for gamma in gammas {
            let Some(factor) = self.form.shifted(*gamma) else {
                sums.push(None);
                continue;
            };
            let Duals { targets, constant } = self.duals(&factor);
            // The constant goes through V with the targets: what takes time is reading V.
            let mut coordinates = targets.into_vec();
            sums.push(Some(constant.as_ref().map_or(0.0, |(_, sum)| *sum)));
            coordinates.extend(constant.iter().flat_map(|(image, _)| image));
            let columns = coordinates.len() / n.max(1);
            let coordinates = Matrix::from_columns(n, columns, coordinates).unwrap_or_default();
            shifts.push(Shift { factor, coordinates });
        }
        let mut found = self.form.rows_at(&shifts).into_iter();
        let mut residuals = |sum: f64| {
            let RowsAtShift { mut diagonal, products } = found.next()?;
            if self.has_offset() {
                diagonal.iter_mut().zip(products.col(count)).for_each(|(g, c)| *g -= c * c / sum);
            }
            Some(Matrix::from_fn(n, count, |i, t| products.get(i, t) / diagonal[i]))
        };
        sums.into_iter().map(|sum| sum.and_then(&mut residuals)).collect()
    }

    /// (B + γI)⁻¹ of the targets, orthogonal to the constant if there is an offset; and of the constant, with its product
    /// with the constant.
    fn duals(&self, shifted: &ShiftedBand<'_>) -> Duals {
        let mut targets = self.targets.clone();
        for t in 0..self.targets() {
            shifted.solve(targets.col_mut(t));
        }
        let constant = self.constant.as_ref().map(|constant| {
            let mut image = constant.clone();
            shifted.solve(&mut image);
            let sum = dot(constant, &image);
            for t in 0..self.targets() {
                let share = dot(constant, targets.col(t)) / sum;
                targets.col_mut(t).iter_mut().zip(&image).for_each(|(a, c)| *a -= share * c);
            }
            (image, sum)
        });
        Duals { targets, constant }
    }
}

struct Duals {
    targets: Matrix,
    constant: Option<(Vec<f64>, f64)>,
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}
