//! λ from moments: generalised cross-validation along the ridge path of the landmarks.

use crate::path::Path;
use crate::path::power;

/// The λ whose minimiser has the least GCV = R/(1 − tr H/n)² on a path; `None` if the path explains nothing. For m < 1
/// only points of the path count that are the minimisers of their λ.
pub(super) fn by_cross_validation(path: &Path, exponent: f64, rows: usize, largest: f64) -> Option<f64> {
    const POINTS: usize = 81;
    if !(largest > 0.0) {
        return None;
    }
    let n = rows as f64;
    let (low, high) = (libm::log(1e-12 * largest / n), libm::log(1e2 * largest / n));
    let score = |i: usize| {
        let t = low + (high - low) * i as f64 / (POINTS - 1) as f64;
        let ridge = libm::exp(t);
        let share = (1.0 - path.dof(ridge) / n).max(1e-12);
        (path.train_mse(ridge) / (share * share), t)
    };
    let lambda = |t: f64| libm::exp(path.log_lambda(t, exponent));
    let is_minimiser = |t: f64| {
        exponent > 1.0
            || power::minimum(path, exponent, lambda(t)).log_ridge.is_some_and(|found| (found - t).abs() < 1e-6)
    };
    let mut scores: Vec<(f64, f64)> = (0..POINTS).map(score).filter(|(value, _)| value.is_finite()).collect();
    scores.sort_by(|a, b| a.0.total_cmp(&b.0));
    let best = scores.into_iter().map(|(_, t)| t).find(|t| is_minimiser(*t)).map(lambda);
    best.filter(|lambda| (1e-290..=1e290).contains(lambda))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Against the formula on a fine grid, sums written out.
    #[test]
    fn the_least_gcv_is_found_for_every_exponent() {
        let n = 40.0;
        let d: Vec<f64> = (0..30).map(|i| 20.0 * 0.6_f64.powi(i)).collect();
        let z: Vec<f64> = (0..30).map(|i| 3.0 * 0.7_f64.powi(i) + 0.1 * (3.0 * i as f64).sin()).collect();
        let path = Path::from_parts(&d, &z, n);
        let gcv = |ridge: f64| {
            let gamma = n * ridge;
            let error: f64 = d.iter().zip(&z).map(|(d, z)| (gamma * z / (d + gamma)).powi(2)).sum::<f64>() / n;
            let share: f64 = d.iter().map(|d| d / (d + gamma)).sum::<f64>() / n;
            error / ((1.0 - share) * (1.0 - share))
        };
        let least = (0..2000).map(|i| gcv(10.0_f64.powf(-12.0 + i as f64 / 140.0))).fold(f64::INFINITY, f64::min);
        for exponent in [0.7, 1.0, 1.5, 2.0, 3.0] {
            let lambda = by_cross_validation(&path, exponent, 40, path.largest()).unwrap();
            let ridge = libm::exp(power::minimum(&path, exponent, lambda).log_ridge.unwrap());
            assert!(gcv(ridge) < 1.02 * least, "m = {exponent}: {} {least}", gcv(ridge));
        }
        assert_eq!(by_cross_validation(&Path::from_parts(&[], &[], n), 2.0, 40, 0.0), None);
    }
}
