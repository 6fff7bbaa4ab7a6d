//! Which λ a search begins with: those of evenly spaced ridges.

use super::judge::{HIGHEST, LOWEST};
use crate::path::{CurvePoint, Path};

/// Points over the whole useful part of a path: about three per factor of ten.
const GRID: usize = 58;

/// log μ at even steps over the useful part of a path.
pub fn useful_ridges(largest: f64, weight_sum: f64, count: usize) -> Vec<f64> {
    ridges_between(largest, weight_sum, (LOWEST, HIGHEST), count)
}

/// log μ at even steps over a part of a path: γ as logarithms relative to the largest eigenvalue.
fn ridges_between(largest: f64, weight_sum: f64, (low, high): (f64, f64), count: usize) -> Vec<f64> {
    let unit = libm::log(largest / weight_sum);
    let last = count.saturating_sub(1).max(1) as f64;
    (0..count).map(|i| unit + low + (high - low) * i as f64 / last).collect()
}

/// log λ at evenly spaced ridges; for m < 1 only where the stationary point is a minimum (λ rises with μ).
pub(crate) fn lambdas_along(path: &Path, largest: f64, weight_sum: f64, exponent: f64) -> Vec<f64> {
    lambdas_between(&mut |t| path.point(t), largest, weight_sum, exponent, (LOWEST, HIGHEST))
}

/// The same over a part of a path, of which points are asked for, as densely.
pub(super) fn lambdas_between(
    point: &mut dyn FnMut(f64) -> CurvePoint,
    largest: f64,
    weight_sum: f64,
    exponent: f64,
    (low, high): (f64, f64),
) -> Vec<f64> {
    let count = ((GRID - 1) as f64 * (high - low) / (HIGHEST - LOWEST)).ceil() as usize + 1;
    let mut grid: Vec<f64> = ridges_between(largest, weight_sum, (low, high), count)
        .into_iter()
        .map(|t| (t, point(t)))
        .filter(|(_, point)| 1.0 - (2.0 - exponent) * point.slope > 0.0)
        .map(|(t, point)| point.log_lambda(t, exponent))
        // λ itself must be a number that can be written down and passed back.
        .filter(|log_lambda| log_lambda.abs() < 700.0)
        .collect();
    grid.sort_by(f64::total_cmp);
    grid.dedup();
    if let (true, Some(last)) = (exponent < 1.5 && high >= HIGHEST, grid.last().copied()) {
        // Beyond the last of them f vanishes: for m ≤ 1 all at once, row by row; for m little above 1 a factor
        // of λ is a high power of it in μ.
        grid.extend([0.1, 0.3, 0.7, 1.5, 3.0, 5.0].map(|step| last + step));
    }
    without_gaps(&grid)
}

/// Even steps in μ may be long ones in λ, with more than one valley of the curve between them.
fn without_gaps(grid: &[f64]) -> Vec<f64> {
    const LONGEST: f64 = 0.8;
    let mut filled = Vec::new();
    for pair in grid.windows(2) {
        let steps = ((pair[1] - pair[0]) / LONGEST).ceil().clamp(1.0, 8.0) as usize;
        filled.extend((0..steps).map(|i| pair[0] + (pair[1] - pair[0]) * i as f64 / steps as f64));
    }
    filled.extend(grid.last());
    filled
}
