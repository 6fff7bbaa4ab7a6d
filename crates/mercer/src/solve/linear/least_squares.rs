//! Least squares, with as many digits as the numbers given can bear.

use super::solve::{Precise, norm};
use super::{Features, Likelihood, check};
use crate::base::error::{Error, Result};
use crate::linalg::Matrix;
use crate::linalg::double::{self, Double};

/// The most entries of X for which a dense decomposition is made of a sparse matrix: 1 GiB.
const MOST_DENSE: usize = 1 << 27;

/// A least squares fit, its statistics and its certificate.
#[derive(Debug, Clone, PartialEq)]
pub struct LeastSquares {
    /// w.
    pub coefficients: Vec<f64>,
    /// b; 0 without an offset.
    pub intercept: f64,
    /// The rank of X, centred if there is an offset.
    pub rank: usize,
    /// An upper bound of the condition number of X, its columns centred and scaled; of the part that the rank counts.
    pub condition: f64,
    /// Σ wᵢ rᵢ².
    pub residual_sum: f64,
    /// √(n/(n − rank − 1) · Σ w r²/W), without the 1 if there is no offset: the noise of a row of mean weight W/n, when a weight is the
    /// inverse of a variance up to a factor and n counts the rows with a positive one; `None` where nothing is left over.
    pub residual_deviation: Option<f64>,
    /// n ln(Σ w r²/n) − Σ ln w + 2 dof: without the constants of the likelihood, as R's `extractAIC` has it where all weights are 1.
    pub aic: f64,
    /// n ln(Σ w r²/n) − Σ ln w + ln n · dof.
    pub bic: f64,
    /// ln L = −(n/2)(ln(2π Σ w r²/n) + 1) + ½ Σ ln w, the logarithm of the greatest likelihood of normal noise.
    pub log_likelihood: f64,
    /// −2 ln L + 2(dof + 1), the noise counted as a parameter, as R's `AIC` has it; statsmodels' is less by 2.
    pub full_aic: f64,
    /// −2 ln L + ln n (dof + 1), as R's `BIC` has it; statsmodels' is less by ln n.
    pub full_bic: f64,
    /// max over columns of |x̃ⱼᵀr|/(‖x̃ⱼ‖‖y‖), recomputed in twice the precision from the rounded answer: 0 at a minimum.
    pub gradient: f64,
    /// Correct decimal digits of every coefficient, at least: what is left after the last correction of the solver and
    /// after half a unit in the last place of every given number that is not an integer.
    pub digits: f64,
    /// Standard deviations of the coefficients, for a noise of [`LeastSquares::residual_deviation`].
    pub deviations: Option<Vec<f64>>,
    /// The same of the offset.
    pub intercept_deviation: Option<f64>,
}

/// Minimises (1/W) Σ wᵢ(yᵢ − xᵢᵀw − b)²; of all minimisers the one of least ‖w‖.
pub fn least_squares(x: &Features, y: &[f64], weights: Option<&[f64]>, offset: bool) -> Result<LeastSquares> {
    match x {
        Features::Dense(matrix) => fit(x, matrix, None, y, weights, offset),
        Features::Sparse(_) => fit(x, &dense(x)?, None, y, weights, offset),
    }
}

/// [`least_squares`] for X = high + low, so that columns such as powers need not be rounded to f64
/// ([`polynomial`](crate::data::monomials::polynomial) makes them).
pub fn least_squares_precise(
    high: &Matrix,
    low: &Matrix,
    y: &[f64],
    weights: Option<&[f64]>,
    offset: bool,
) -> Result<LeastSquares> {
    if (low.rows(), low.cols()) != (high.rows(), high.cols()) {
        let size = |m: &Matrix| format!("{} × {} entries", m.rows(), m.cols());
        return Err(Error::shape("the low part of X", size(high), size(low)));
    }
    if !low.max_abs().is_finite() {
        return Err(Error::argument("the low part of X", "finite", low.max_abs()));
    }
    fit(&Features::Dense(high.clone()), high, Some(low), y, weights, offset)
}

/// A sparse matrix with all its zeros, if that is small enough.
pub(crate) fn dense(x: &Features) -> Result<Matrix> {
    let is_small = x.rows().checked_mul(x.cols()).is_some_and(|entries| entries <= MOST_DENSE);
    if is_small || matches!(x, Features::Dense(_)) {
        return Ok(x.to_dense());
    }
    Err(Error::argument(
        "a sparse matrix for a dense decomposition",
        format!("of at most {MOST_DENSE} entries"),
        format!("{} × {}", x.rows(), x.cols()),
    ))
}

/// X and y, centred and scaled by the roots of the weights, in twice the precision.
pub(crate) struct Centred {
    pub problem: Precise,
    pub means: Vec<Double>,
    pub target_mean: Double,
}

pub(crate) fn centre(
    high: &Matrix,
    low: Option<&Matrix>,
    y: &[f64],
    weights: Option<&[f64]>,
    offset: bool,
    extra_rows: usize,
) -> Centred {
    let rows = high.rows();
    let weight = |i: usize| weights.map_or(1.0, |w| w[i]);
    let total = double::sum((0..rows).map(weight));
    let entry = |i: usize, j: usize| Double { high: high.get(i, j), low: low.map_or(0.0, |low| low.get(i, j)) };
    let mean = |value: &dyn Fn(usize) -> Double| {
        if !offset {
            return Double::default();
        }
        let sum = (0..rows).fold(Double::default(), |sum, i| sum.plus(value(i).scaled(weight(i))).normalised());
        sum.divided_by(total)
    };
    let means: Vec<Double> = (0..high.cols()).map(|j| mean(&|i| entry(i, j))).collect();
    let target_mean = mean(&|i| Double::new(y[i]));
    let roots: Vec<f64> = (0..rows).map(|i| weight(i).sqrt()).collect();
    let mut problem = Precise {
        high: Matrix::zeros(rows + extra_rows, high.cols()),
        low: Matrix::zeros(rows + extra_rows, high.cols()),
        target: vec![Double::default(); rows + extra_rows],
    };
    for (j, mean) in means.iter().enumerate() {
        for i in 0..rows {
            let centred = entry(i, j).minus(*mean).normalised().scaled(roots[i]);
            problem.high.set(i, j, centred.high);
            problem.low.set(i, j, centred.low);
        }
    }
    for i in 0..rows {
        problem.target[i] = Double::new(y[i]).minus(target_mean).normalised().scaled(roots[i]);
    }
    Centred { problem, means, target_mean }
}

/// ȳ − Σ x̄ⱼwⱼ.
pub(crate) fn intercept(means: &[Double], target_mean: Double, x: &[Double]) -> Double {
    means.iter().zip(x).fold(target_mean, |sum, (mean, x)| sum.minus(mean.times(*x)).normalised())
}

/// yᵢ − b − Σ xᵢⱼwⱼ for numbers as they are given back.
pub(crate) fn plain_residuals(high: &Matrix, low: Option<&Matrix>, y: &[f64], w: &[f64], b: f64) -> Vec<Double> {
    let mut out: Vec<Double> = y.iter().map(|y| Double::new(*y).add(-b)).collect();
    for (j, w) in w.iter().enumerate().filter(|(_, w)| **w != 0.0) {
        for (i, out) in out.iter_mut().enumerate() {
            *out = out.add_product(high.get(i, j), -w);
            if let Some(low) = low {
                *out = out.add_product(low.get(i, j), -w);
            }
        }
    }
    out.into_iter().map(Double::normalised).collect()
}

fn fit(
    x: &Features,
    high: &Matrix,
    low: Option<&Matrix>,
    y: &[f64],
    weights: Option<&[f64]>,
    offset: bool,
) -> Result<LeastSquares> {
    let total = check(x, y, weights)?;
    let Centred { problem, means, target_mean } = centre(high, low, y, weights, offset, 0);
    let mean_values: Vec<f64> = means.iter().map(|m| m.value()).collect();
    let (scaled_high, target_norm) =
        (problem.high.clone(), norm(&problem.target.iter().map(|t| t.value()).collect::<Vec<_>>()));
    let solved = problem.solve(&mean_values)?;
    let offset_value = intercept(&means, target_mean, &solved.x).value();
    let coefficients: Vec<f64> = solved.x.iter().map(|x| x.value()).collect();
    let b = if offset { offset_value } else { 0.0 };

    let residuals = plain_residuals(high, low, y, &coefficients, b);
    let weight = |i: usize| weights.map_or(1.0, |w| w[i]);
    let residual_sum =
        (0..y.len()).fold(Double::default(), |s, i| s.plus(residuals[i].times(residuals[i]).scaled(weight(i)))).value();
    let dof = solved.rank as f64 + f64::from(offset);
    // A fit that leaves nothing over leaves rounding, which is no estimate of noise.
    let likelihood = Likelihood::of(weights, y.len());
    let left = likelihood.rows - dof;
    let unit_deviation = (left > 0.5).then(|| (residual_sum / left).sqrt());
    let (aic, bic) = likelihood.aic_bic_of_sum(residual_sum, dof);
    let constants = likelihood.rows * (libm::log(std::f64::consts::TAU) + 1.0);
    let log_likelihood = -0.5 * (aic - 2.0 * dof + constants);
    let full_aic = -2.0 * log_likelihood + 2.0 * (dof + 1.0);
    let full_bic = -2.0 * log_likelihood + libm::log(likelihood.rows) * (dof + 1.0);
    let scaled_residuals: Vec<f64> = (0..y.len()).map(|i| residuals[i].value() * weight(i).sqrt()).collect();
    let gradient = (0..high.cols())
        .map(|j| {
            let column = scaled_high.col(j);
            let size = norm(column) * target_norm;
            if size > 0.0 { double::dot(column, &scaled_residuals).value().abs() / size } else { 0.0 }
        })
        .fold(0.0, f64::max);
    let noise = data_rounding(high, low, y, weights, &coefficients);
    let errors = solved.corrections.iter().zip(&solved.sensitivities).map(|(last, s)| last * 1e-3 + s * noise);
    let digits_of = |error: f64, value: f64| {
        let error = error + 0.5 * f64::EPSILON * value.abs();
        if value == 0.0 && error == 0.0 { 15.0 } else { -libm::log10(error / value.abs().max(f64::MIN_POSITIVE)) }
    };
    let mut digits = errors.zip(&coefficients).map(|(e, w)| digits_of(e, *w)).fold(15.0, f64::min);
    let mean_sensitivity = (1.0 / total + solved.functional_sensitivity.powi(2)).sqrt();
    if offset {
        let last: f64 = solved.corrections.iter().zip(&mean_values).map(|(c, m)| c * m.abs() * 1e-3).sum();
        digits = digits.min(digits_of(last + mean_sensitivity * noise, b));
    }
    Ok(LeastSquares {
        deviations: unit_deviation.map(|d| solved.sensitivities.iter().map(|s| s * d).collect()),
        intercept_deviation: unit_deviation.filter(|_| offset).map(|d| mean_sensitivity * d),
        coefficients,
        intercept: b,
        rank: solved.rank,
        condition: solved.condition,
        residual_sum,
        residual_deviation: unit_deviation.map(|d| d * (likelihood.rows / total).sqrt()),
        aic,
        bic,
        log_likelihood,
        full_aic,
        full_bic,
        gradient,
        digits: digits.max(0.0),
    })
}

/// ‖what half a unit in the last place of the given numbers can do to the residuals‖: integers are exact, and so is
/// what comes with a low part.
fn data_rounding(high: &Matrix, low: Option<&Matrix>, y: &[f64], weights: Option<&[f64]>, coefficients: &[f64]) -> f64 {
    let inexact = |values: &[f64]| values.iter().any(|v| v.fract() != 0.0 || v.abs() >= 9e15);
    let mut size: Vec<f64> = if inexact(y) { y.iter().map(|y| y.abs()).collect() } else { vec![0.0; y.len()] };
    if low.is_none() {
        for (j, w) in coefficients.iter().enumerate().filter(|(j, _)| inexact(high.col(*j))) {
            size.iter_mut().zip(high.col(j)).for_each(|(s, x)| *s += (x * w).abs());
        }
    } else if inexact(high.as_slice()) {
        // Powers of numbers that are themselves rounded: as far as the fit moves with them, about one unit of y.
        size.iter_mut().zip(y).for_each(|(s, y)| *s += 2.0 * y.abs());
    }
    size.iter_mut().enumerate().for_each(|(i, s)| *s *= weights.map_or(1.0, |w| w[i]).sqrt());
    0.5 * f64::EPSILON * norm(&size)
}
