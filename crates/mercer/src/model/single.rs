//! Models in half the space: points and coefficients rounded to single precision, and what that costs.

use super::{Expansion, Model, Precision};
use crate::base::error::{Error, Result};
use crate::data::Scale;
use crate::linalg::Matrix;
use crate::linalg::norm;
use crate::solve::certificate::Rounding;
use crate::term::kernel::{Formula, Points};

/// Points on which the difference is measured, at most; spread evenly over the model's own.
const MOST_MEASURED: usize = 4096;
/// The largest relative change of a number that is rounded to single precision: 2⁻²⁴.
const UNIT: f64 = f32::EPSILON as f64 / 2.0;
/// The share 1 − R² below which it tells the variance of rounding.
const LEAST_UNEXPLAINED: f64 = 1e-13;

impl Model {
    /// The model with points and coefficients rounded to f32. Each target's certificate then says how far predictions are
    /// from this model's: the largest difference seen on its own points, and for bounded kernels a bound that holds
    /// everywhere,
    ///
    /// > |f̃(x) − f(x)| ≤ sup k · Σⱼ |α̃ⱼ − αⱼ| + Σⱼ |αⱼ| sup_x |k(x, x̃ⱼ) − k(x, xⱼ)|.
    ///
    /// Digits count the bound, or else the difference that was measured, or else (linear functions and precomputed kernels, which
    /// have no points) what rounding may do at rows like those of the training table.
    /// The targets that intervals are made from are left out: without the exact points they would be those of another fit.
    /// Refused where numbers are beyond the range of single precision.
    pub fn to_single(&self) -> Result<Model> {
        if self.precision == Precision::Single {
            return Ok(self.clone());
        }
        let is_measured = self.is_measurable();
        let expansion = match &self.expansion {
            Expansion::Kernel { points, alpha } => {
                Expansion::Kernel { points: rounded_points(points)?, alpha: rounded_coefficients(alpha, is_measured)? }
            }
            Expansion::Linear { coefficients } => {
                Expansion::Linear { coefficients: rounded_coefficients(coefficients, is_measured)? }
            }
        };
        let mut single = Model { expansion, kept: None, precision: Precision::Single, ..self.clone() };
        let (differences, points) = self.largest_differences(&single)?;
        for t in 0..single.summaries.len() {
            let bound = self.bound_of_difference(&single, t);
            let largest_difference = differences.as_ref().map(|all| all[t]);
            let error = bound.or(largest_difference).or_else(|| self.expected_difference(&single, t));
            let spread = self.spread(t);
            let certificate = &mut single.summaries[t].certificate;
            certificate.rounding = Some(Rounding { largest_difference, points, bound });
            // Digits of a duality gap are about the objective, which is that of the fit.
            if let Some(error) = error.filter(|error| *error > 0.0 && certificate.duality_gap.is_none()) {
                let in_all = libm::pow(10.0, -certificate.digits) + error / spread;
                let digits = (-libm::log10(in_all)).max(0.0);
                certificate.digits = certificate.digits.min((digits * 10.0).floor() / 10.0);
            }
        }
        Ok(single)
    }

    /// Whether the model has points of its own to predict at.
    fn is_measurable(&self) -> bool {
        self.centres().is_some() && !self.kernel.is_precomputed()
    }

    /// max |f̃(x) − f(x)| over this model's points, for each target, and how many points that were.
    fn largest_differences(&self, other: &Model) -> Result<(Option<Vec<f64>>, usize)> {
        let Some(points) = self.centres().filter(|_| self.is_measurable()) else { return Ok((None, 0)) };
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

    /// What rounding may do to predictions at rows like the training ones, by what the model knows of those rows; `None` if that is
    /// nothing.
    fn expected_difference(&self, other: &Model, t: usize) -> Option<f64> {
        let summary = &self.summaries[t];
        let pairs = self.coefficients(t).iter().zip(other.coefficients(t));
        let changes: Vec<f64> = pairs.map(|(before, after)| (after - before).abs()).collect();
        if let Expansion::Kernel { .. } = self.expansion {
            // ‖K‖ = (condition − 1)·γ.
            let gamma = summary.effective_ridge.unwrap_or(0.0) * summary.rows as f64;
            return Some((summary.certificate.condition? - 1.0) * gamma * norm(&changes));
        }
        let largest = match self.encoder.scale {
            _ if self.encoder.projection.is_some() => None,
            Scale::Unit => Some(1.0),
            // With mean 0 and variance 1 no row (of a usual weight) is further than √n.
            Scale::Standard | Scale::Log => Some(libm::pow((summary.rows as f64).sqrt(), self.encoder.degree as f64)),
            Scale::None => None,
        };
        Some(match largest {
            Some(largest) => largest * changes.iter().sum::<f64>(),
            // Without the features' range: f is at most what the targets and the offset leave, and every term of it may be.
            None => {
                let [low, high] = summary.target_range;
                UNIT * (low.abs().max(high.abs()) + summary.intercept.abs()) * changes.len() as f64
            }
        })
    }

    /// Root mean square of y − b, or less: the unit of a certificate's digits.
    fn spread(&self, t: usize) -> f64 {
        let summary = &self.summaries[t];
        if let Some(kept) = &self.kept {
            let weight = |i: usize| kept.weights.as_ref().map_or(1.0, |w| w[i]);
            let y = kept.y.col(t);
            let total: f64 = (0..y.len()).map(weight).sum();
            let scaled: Vec<f64> = (0..y.len()).map(|i| weight(i).sqrt() * (y[i] - summary.intercept)).collect();
            return norm(&scaled) / total.sqrt();
        }
        match summary.train_r2.map(|r2| 1.0 - r2).filter(|share| *share > LEAST_UNEXPLAINED) {
            // Around the mean, which is nearer to the targets than any other number.
            Some(share) => summary.train_rmse / share.sqrt(),
            // No deviation is less than what two rows at the ends of the range make.
            None => (summary.target_range[1] - summary.target_range[0]) / (2.0 * summary.rows as f64).sqrt(),
        }
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

/// Refuses what single precision has no digits for: the largest coefficient of a target, or where differences are not measured any
/// of them. (A small one beside a large one changes by less than the large one does.)
fn rounded_coefficients(coefficients: &Matrix, is_measured: bool) -> Result<Matrix> {
    for t in 0..coefficients.cols() {
        let sizes = coefficients.col(t).iter().map(|c| c.abs()).filter(|c| *c > 0.0);
        let decisive = if is_measured { sizes.reduce(f64::max) } else { sizes.reduce(f64::min) };
        if let Some(size) = decisive.filter(|size| *size < f64::from(f32::MIN_POSITIVE)) {
            return Err(Error::argument(
                "a coefficient",
                "at least 1.2e-38, or 0, to be stored in single precision",
                size,
            ));
        }
    }
    rounded(coefficients, "a coefficient")
}

fn rounded_points(points: &Points) -> Result<Points> {
    let codes = (0..points.code_columns()).map(|j| points.codes(j).to_vec()).collect();
    Ok(Points::with_codes(&rounded(&points.to_matrix(), "a feature of a point")?, codes))
}
