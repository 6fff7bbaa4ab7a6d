//! Choosing λ: a grid over the whole useful part of the path, then a search between its best points.

use crate::criterion::{LeaveOneOut, leave_one_out};
use crate::spectrum::{Spectrum, Target};

/// The chosen λ and what it was chosen by.
#[derive(Debug, Clone)]
pub(crate) struct Chosen {
    pub lambda: f64,
    /// Leave-one-out of each target.
    pub leave_one_out: Vec<LeaveOneOut>,
}

/// Points of the first grid: about three per factor of ten.
const GRID: usize = 58;
/// Points of the second grid, between the neighbours of the best point of the first.
const FINE: usize = 15;
/// The grid's ends, as γ relative to the largest eigenvalue.
const LOWEST: f64 = 1e-13;
const HIGHEST: f64 = 1e6;
/// Steps of the search between grid points; each narrows the bracket by 0.62.
const STEPS: usize = 14;

/// The λ with the least leave-one-out error, summed over the targets (each in units of its variance).
/// `None` when leave-one-out does not exist (a single row) or no λ matters (constant targets).
pub(crate) fn choose_lambda(
    spectrum: &Spectrum,
    targets: &[&Target],
    weights: Option<&[f64]>,
    exponent: f64,
) -> Option<Chosen> {
    let path = spectrum.path(targets);
    if path.zero_mse() == 0.0 || spectrum.largest() == 0.0 || spectrum.rows() < 2 {
        return None;
    }
    let units: Vec<f64> =
        targets.iter().map(|target| spectrum.path(&[target]).zero_mse().max(f64::MIN_POSITIVE)).collect();
    let score = |log_lambdas: &[f64]| -> Option<Vec<(f64, Vec<LeaveOneOut>)>> {
        let residuals = leave_one_out(spectrum, targets, exponent, log_lambdas)?;
        let scored = residuals.into_iter().map(|by_target| {
            let loo: Vec<LeaveOneOut> = by_target.into_iter().map(|e| LeaveOneOut::new(e, weights)).collect();
            (loo.iter().zip(&units).map(|(loo, unit)| loo.mse / unit).sum(), loo)
        });
        Some(scored.collect())
    };

    let coarse = grid(spectrum, &path, exponent);
    let best = best_index(&score(&coarse)?)?;
    // Once more, finer: for m ≤ 1 the curve jumps where a row's minimiser becomes the zero function.
    let (low, high) = (coarse[best.saturating_sub(1)], coarse[(best + 1).min(coarse.len() - 1)]);
    let mut fine: Vec<f64> = (1..=FINE).map(|i| low + (high - low) * i as f64 / (FINE + 1) as f64).collect();
    fine.extend([low, coarse[best], high]);
    fine.sort_by(f64::total_cmp);
    fine.dedup();
    let mut scored = score(&fine)?;
    let best = best_index(&scored)?;
    let (mut low, mut high) = (fine[best.saturating_sub(1)], fine[(best + 1).min(fine.len() - 1)]);
    let single = |t: f64| score(&[t]).map(|mut scored| scored.swap_remove(0));

    // Golden section; the grid point itself stays a candidate, as the curve need not be unimodal.
    let mut champion = (fine[best], scored.swap_remove(best));
    let ratio = (5.0_f64.sqrt() - 1.0) / 2.0;
    let mut inner = [high - ratio * (high - low), low + ratio * (high - low)];
    let mut values = [single(inner[0])?, single(inner[1])?];
    for _ in 0..STEPS {
        for (t, value) in inner.iter().zip(&values) {
            if value.0 < champion.1.0 {
                champion = (*t, value.clone());
            }
        }
        if values[0].0 < values[1].0 {
            high = inner[1];
            inner = [high - ratio * (high - low), inner[0]];
            let first = single(inner[0])?;
            values.swap(0, 1);
            values[0] = first;
        } else {
            low = inner[0];
            inner = [inner[1], low + ratio * (high - low)];
            let second = single(inner[1])?;
            values.swap(0, 1);
            values[1] = second;
        }
        if high - low < 1e-4 {
            break;
        }
    }
    Some(Chosen { lambda: libm::exp(champion.0), leave_one_out: champion.1.1 })
}

/// log λ at evenly spaced ridges; for m < 1 only where the stationary point is a minimum (λ rises with μ).
fn grid(spectrum: &Spectrum, path: &crate::spectrum::Path, exponent: f64) -> Vec<f64> {
    let unit = libm::log(spectrum.largest() / spectrum.weight_sum());
    let (low, high) = (libm::log(LOWEST), libm::log(HIGHEST));
    let mut grid: Vec<f64> = (0..GRID)
        .map(|i| unit + low + (high - low) * i as f64 / (GRID - 1) as f64)
        .filter(|t| 1.0 - (2.0 - exponent) * path.point(*t).slope > 0.0)
        .map(|t| path.log_lambda(t, exponent))
        // λ itself must be a number that can be written down and passed back.
        .filter(|log_lambda| log_lambda.abs() < 700.0)
        .collect();
    grid.sort_by(f64::total_cmp);
    grid.dedup();
    if let (true, Some(last)) = (exponent < 1.5, grid.last().copied()) {
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

/// The smallest score; among those that equal it to nine digits, the one with the largest λ.
fn best_index<T>(scores: &[(f64, T)]) -> Option<usize> {
    let least = scores.iter().map(|(score, _)| *score).filter(|s| s.is_finite()).fold(f64::INFINITY, f64::min);
    scores.iter().rposition(|(score, _)| *score <= least * (1.0 + 1e-9))
}
