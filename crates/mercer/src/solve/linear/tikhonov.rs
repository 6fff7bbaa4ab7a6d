//! λ‖Γw‖²: ridge and its relatives, by QR of the stacked matrix.

use super::least_squares::{Centred, centre, dense, intercept, plain_residuals};
use super::solve::{Precise, norm, transposed};
use super::sparse_ridge::sparse_tikhonov;
use super::{Features, LinearSolution, check, check_lambda};
use crate::base::error::Result;
use crate::linalg::double::Double;
use crate::linalg::{Matrix, PivotedQr, multiply};
use crate::term::penalty::Gamma;

/// Entries that are stored with all zeros if that helps.
const FEW: usize = 1 << 20;

/// Minimises (1/W) Σ wᵢ(yᵢ − xᵢᵀw − b)² + λ‖Γw‖²; of all minimisers the one of least ‖w‖.
///
/// The normal equations of dense rows are never formed; sparse rows stay sparse. The relative gap bounds the decrease that is left
/// through the gradient, recomputed in twice the precision.
pub fn tikhonov(
    x: &Features,
    y: &[f64],
    weights: Option<&[f64]>,
    lambda: f64,
    gamma: &Gamma,
    offset: bool,
) -> Result<LinearSolution> {
    observed_tikhonov(x, y, weights, lambda, gamma, offset, &|| true)
}

/// The same; `go_on` is asked now and then, and ends it with [`Error::Interrupted`].
pub(crate) fn observed_tikhonov(
    x: &Features,
    y: &[f64],
    weights: Option<&[f64]>,
    lambda: f64,
    gamma: &Gamma,
    offset: bool,
    go_on: &(dyn Fn() -> bool + Sync),
) -> Result<LinearSolution> {
    let total = check(x, y, weights)?;
    check_lambda(lambda)?;
    if lambda > 0.0
        && let Some(found) = sparse_tikhonov(x, y, weights, lambda, gamma, offset, go_on)?
        // Where even refinement does not help, few zeros may be stored.
        && (found.converged || x.rows().saturating_mul(x.cols()) > FEW)
    {
        return Ok(found);
    }
    let high = dense(x)?;
    let rows = high.rows();
    let root = (lambda * total).sqrt();
    let is_wide_ridge = matches!(gamma, Gamma::Identity) && high.cols() > rows && lambda > 0.0;
    let penalty = if is_wide_ridge { Matrix::zeros(0, high.cols()) } else { gamma.matrix(high.cols())? };
    let extra = if lambda > 0.0 { penalty.rows() } else { 0 };
    let Centred { mut problem, means, target_mean } = centre(&high, None, y, weights, offset, extra);
    let (solution, sensitivities) = if is_wide_ridge {
        (dual_ridge(&problem, root)?, Vec::new())
    } else {
        for j in 0..high.cols() {
            for i in 0..extra {
                let entry = Double::new(penalty.get(i, j)).scaled(root);
                problem.high.set(rows + i, j, entry.high);
                problem.low.set(rows + i, j, entry.low);
            }
        }
        let solved = problem.solve(&vec![0.0; high.cols()])?;
        (solved.x, solved.sensitivities)
    };
    let b = if offset { intercept(&means, target_mean, &solution).value() } else { 0.0 };
    let coefficients: Vec<f64> = solution.iter().map(|x| x.value()).collect();

    let weight = |i: usize| weights.map_or(1.0, |w| w[i]);
    let residuals = plain_residuals(&high, None, y, &coefficients, b);
    let loss: f64 = (0..rows).map(|i| weight(i) * residuals[i].value().powi(2)).sum::<f64>() / total;
    let bent = if is_wide_ridge {
        coefficients.clone()
    } else {
        multiply(&penalty, &Matrix::column_vector(coefficients.clone())).into_vec()
    };
    let objective = loss + lambda * norm(&bent).powi(2);
    let weighted: Vec<Double> = residuals.iter().enumerate().map(|(i, r)| r.scaled(weight(i) / total)).collect();
    let gradient = half_gradient(&high, &weighted, lambda, (!is_wide_ridge).then_some(&penalty), &bent);
    // P(w) − P* = W‖(A⁺)ᵀ gradient/2‖² for the stacked matrix A, at most W(Σ ‖row of A⁺‖·|gradient/2|)²; for ridge also
    // ‖gradient/2‖²/λ by strong convexity.
    let gap = if is_wide_ridge {
        norm(&gradient).powi(2) / lambda
    } else {
        total * sensitivities.iter().zip(&gradient).map(|(s, g)| s * g.abs()).sum::<f64>().powi(2)
    };
    let relative_gap = if objective > 0.0 { gap / objective } else { 0.0 };
    Ok(LinearSolution {
        nonzero: coefficients.iter().filter(|w| **w != 0.0).count(),
        coefficients,
        intercept: b,
        objective,
        relative_gap,
        dof: None,
        converged: relative_gap <= 1e-9,
        iterations: 1,
    })
}

/// Half the gradient, −(1/W) Xᵀ(w∘r) + λΓᵀΓw, in twice the precision from the rounded answer.
fn half_gradient(
    x: &Matrix,
    weighted_residuals: &[Double],
    lambda: f64,
    penalty: Option<&Matrix>,
    bent: &[f64],
) -> Vec<f64> {
    (0..x.cols())
        .map(|j| {
            let mut sum = Double::default();
            for (r, x) in weighted_residuals.iter().zip(x.col(j)) {
                sum = sum.plus(r.scaled(-x)).normalised();
            }
            match penalty {
                None => sum = sum.add_product(lambda, bent[j]),
                Some(penalty) => {
                    for (g, b) in penalty.col(j).iter().zip(bent) {
                        sum = sum.plus(Double::new(lambda).scaled(*b).scaled(*g));
                    }
                }
            }
            sum.value()
        })
        .collect()
}

/// Ridge with more columns than rows: (w, v) of least norm with A w + root·v = b, by QR of [Aᵀ; root·I], refined.
fn dual_ridge(problem: &Precise, root: f64) -> Result<Vec<Double>> {
    let (rows, cols) = (problem.high.rows(), problem.high.cols());
    let top = transposed(&problem.high);
    let stacked =
        Matrix::from_fn(
            cols + rows,
            rows,
            |i, j| if i < cols { top.get(i, j) } else { root * f64::from(i - cols == j) },
        );
    let qr = PivotedQr::new(stacked)?;
    let mut w = vec![Double::default(); cols];
    let mut v = vec![Double::default(); rows];
    for _ in 0..4 {
        let scaled: Vec<Double> = v.iter().map(|v| v.scaled(root)).collect();
        let residual = problem.residual(&w, Some(&scaled));
        let mut z = qr.solve_upper_transposed(&residual);
        z.resize(cols + rows, 0.0);
        qr.apply_q(&mut z)?;
        for (x, step) in w.iter_mut().chain(v.iter_mut()).zip(&z) {
            *x = x.add(*step).normalised();
        }
    }
    Ok(w)
}
