//! Norms and sums that neither overflow nor cancel.

use super::{double, exponent_of};

/// ‖v‖ without overflow, summed in twice the precision.
pub(crate) fn norm(values: &[f64]) -> f64 {
    let largest = values.iter().fold(0.0, |max: f64, v| if v.is_nan() { f64::NAN } else { max.max(v.abs()) });
    if largest == 0.0 || !largest.is_finite() {
        return largest;
    }
    let power = exponent_of(largest);
    let scaled: Vec<f64> = values.iter().map(|v| libm::ldexp(*v, -power)).collect();
    libm::ldexp(double::dot(&scaled, &scaled).value().sqrt(), power)
}

/// ln Σ exp vₜ, without overflow.
pub fn log_sum_exp(values: &[f64]) -> f64 {
    let largest = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    largest + libm::log(values.iter().map(|v| libm::exp(v - largest)).sum::<f64>())
}
