//! Models in half the space: points and coefficients rounded to single precision, and what that costs.

use super::{Expansion, Model, Precision};
use crate::certificate::Rounding;
use crate::error::{Error, Result};
use crate::kernel::{Formula, Points};
use crate::linalg::Matrix;

/// Points on which the difference is measured, at most; spread evenly over the model's own.
const MOST_MEASURED: usize = 4096;

impl Model {
    /// The model with points and coefficients rounded to f32. Each target's certificate then says how far predictions are
    /// from this model's: the largest difference seen on its own points, and for bounded kernels a bound that holds
    /// everywhere,
    ///
    /// > |f̃(x) − f(x)| ≤ sup k · Σⱼ |α̃ⱼ − αⱼ| + Σⱼ |αⱼ| sup_x |k(x, x̃ⱼ) − k(x, xⱼ)|.
    ///
    /// The targets that intervals are made from are left out: without the exact points they would be those of another fit.
    pub fn to_single(&self) -> Result<Model> {
        if self.precision == Precision::Single {
            return Ok(self.clone());
        }
        let expansion = match &self.expansion {
            Expansion::Kernel { points, alpha } => {
                Expansion::Kernel { points: rounded_points(points)?, alpha: rounded(alpha, "a coefficient")? }
            }
            Expansion::Linear { coefficients } => {
                Expansion::Linear { coefficients: rounded(coefficients, "a coefficient")? }
            }
        };
        let mut single = Model { expansion, kept: None, precision: Precision::Single, ..self.clone() };
        let (differences, points) = self.largest_differences(&single)?;
        for t in 0..single.summaries.len() {
            let bound = self.bound_of_difference(&single, t);
            let largest_difference = differences.as_ref().map(|all| all[t]);
            let summary = &mut single.summaries[t];
            let certificate = &mut summary.certificate;
            certificate.rounding = Some(Rounding { largest_difference, points, bound });
            // Digits of a duality gap are about the objective, which is that of the fit.
            let spread = summary.target_range[1] - summary.target_range[0];
            if let Some(error) = bound.or(largest_difference).filter(|_| certificate.duality_gap.is_none()) {
                let digits = if error > 0.0 { -libm::log10(error / spread) } else { certificate.digits };
                certificate.digits = certificate.digits.min((digits.max(0.0) * 10.0).floor() / 10.0);
            }
        }
        Ok(single)
    }

    /// max |f̃(x) − f(x)| over this model's points, for each target, and how many points that were.
    fn largest_differences(&self, other: &Model) -> Result<(Option<Vec<f64>>, usize)> {
        let Some(points) = self.centres().filter(|_| !self.kernel.is_precomputed()) else { return Ok((None, 0)) };
        let step = points.rows().div_ceil(MOST_MEASURED).max(1);
        let chosen = points.subset(&(0..points.rows()).step_by(step).collect::<Vec<usize>>());
        let (own, others) = (self.predict_points(&chosen)?, other.predict_points(&chosen)?);
        let largest = |t: usize| own.col(t).iter().zip(others.col(t)).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        Ok((Some((0..own.cols()).map(largest).collect()), chosen.rows()))
    }

    fn bound_of_difference(&self, other: &Model, t: usize) -> Option<f64> {
        let (before, after) = (self.centres()?, other.centres()?);
        let largest_value = self.kernel.largest_diagonal()?;
        let formula: Formula = self.kernel.formula()?;
        let mut bound = 0.0;
        for (j, (alpha, rounded)) in self.coefficients(t).iter().zip(other.coefficients(t)).enumerate() {
            let change = before.with_point(j, |a| after.with_point(j, |b| formula.largest_change(a, b)))?;
            bound += largest_value * (rounded - alpha).abs() + alpha.abs() * change;
        }
        // Rounded up past the rounding of the sum itself.
        Some(bound * (1.0 + 1e-12))
    }
}

fn rounded(matrix: &Matrix, what: &str) -> Result<Matrix> {
    let number = |x: &f64| match *x as f32 {
        single if single.is_finite() => Ok(f64::from(single)),
        _ => Err(Error::argument(what, "at most 3.4e38 to be stored in single precision", x)),
    };
    let data = matrix.as_slice().iter().map(number).collect::<Result<_>>()?;
    Matrix::from_columns(matrix.rows(), matrix.cols(), data)
}

fn rounded_points(points: &Points) -> Result<Points> {
    let codes = (0..points.code_columns()).map(|j| points.codes(j).to_vec()).collect();
    Ok(Points::with_codes(&rounded(&points.to_matrix(), "a feature of a point")?, codes))
}
