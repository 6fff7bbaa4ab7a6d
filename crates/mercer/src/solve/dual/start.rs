//! Where a search starts.

use super::{BoxProblem, BoxSettings, KernelRows, PLAIN_GAP, store, terms, working_set};

/// α and Kα to start from: what is given, moved into the bounds, times the number that gives the least objective.
pub(super) fn start(
    rows: &dyn KernelRows,
    problem: &BoxProblem<'_>,
    settings: &BoxSettings<'_>,
) -> (Vec<f64>, Vec<f64>) {
    let n = rows.len();
    let Some(given) = settings.start else { return (vec![0.0; n], vec![0.0; n]) };
    let mut alpha = given.to_vec();
    terms::project(problem, &mut alpha);
    for (i, a) in alpha.iter_mut().enumerate() {
        // As good as at a bound is at it: one variable less to solve for.
        let bound = if *a > 0.0 { problem.upper[i] } else { problem.lower[i] };
        *a = if bound.is_finite() && (bound - *a).abs() <= 1e-12 * bound.abs() { bound } else { *a };
    }
    let size = alpha.iter().fold(0.0, |most: f64, a| most.max(a.abs()));
    if size == 0.0 {
        return (alpha, vec![0.0; n]);
    }
    let is_moved = alpha.iter().zip(given).any(|(a, b)| (a - b).abs() > 1e-12 * size);
    let mut fitted = match settings.start_fitted {
        Some(fitted) if !is_moved => fitted.to_vec(),
        _ if settings.tolerance >= PLAIN_GAP => plain_product(rows, &alpha),
        _ => rows.product(&alpha),
    };
    let (mut slope, mut curvature, mut room) = (0.0, 0.0, f64::INFINITY);
    for i in (0..n).filter(|i| alpha[*i] != 0.0) {
        let a = alpha[i];
        slope += a * problem.target[i] - problem.epsilon[i] * a.abs();
        curvature += a * fitted[i] + problem.curvature[i] * a * a;
        room = f64::min(room, if a > 0.0 { problem.upper[i] / a } else { problem.lower[i] / a });
    }
    let best = (slope / curvature).clamp(0.0, room);
    if best.is_finite() && best > 0.0 {
        let scaled = |i: usize| (best * alpha[i]).clamp(problem.lower[i], problem.upper[i]);
        alpha = (0..n).map(scaled).collect();
        fitted.iter_mut().for_each(|f| *f *= best);
    }
    (alpha, fitted)
}

/// Kα from the rows that are in memory, where they are.
fn plain_product(rows: &dyn KernelRows, alpha: &[f64]) -> Vec<f64> {
    let terms: Vec<(usize, f64)> = alpha.iter().copied().enumerate().filter(|(_, a)| *a != 0.0).collect();
    let mut product = vec![0.0; alpha.len()];
    if rows.row(0).is_some() {
        working_set::add_rows(&store::Borrowed::<f64>::new(rows), &terms, &mut product);
    } else if rows.row_single(0).is_some() {
        working_set::add_rows(&store::Borrowed::<f32>::new(rows), &terms, &mut product);
    } else {
        product = rows.product(alpha);
    }
    product
}
