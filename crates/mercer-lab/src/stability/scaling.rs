//! How stability changes with the number of rows: deletions on nested subsets at the same λ.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;

use super::Sample;
use super::theorem::Assumptions;
use mercer::Result;
use mercer::criterion::folds::shuffle;
use mercer::solver::deletion::Divisor;

/// Numbers of rows that are tried.
const SIZES: usize = 6;

/// The largest subset that is decomposed.
const LARGEST: usize = 1000;

/// The fewest rows of a subset, and half of the fewest of a table that can be subdivided.
const SMALLEST: usize = 6;

/// What deletions showed on one subset.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ScalePoint {
    /// Rows of the subset.
    pub rows: usize,
    /// Which draw it belongs to; the subsets of one draw contain each other.
    pub draw: usize,
    /// [`Observed::at_rows`](super::Observed::at_rows), over the rows of the whole table.
    pub observed: f64,
    /// C(n), [`Observed::ridge_change`](super::Observed::ridge_change).
    pub ridge_change: f64,
}

/// q ≈ exp(a)·n^(−s), from each draw by least squares on logarithms.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Power {
    /// s, the mean over the draws.
    pub rate: f64,
    /// Its standard error over the draws. They share rows of one table, so it is rather too small.
    pub standard_error: f64,
}

/// Observed stability on subsets of a table.
#[derive(Debug, Clone, PartialEq)]
pub struct Scaling {
    /// All subsets, draw by draw, rising.
    pub points: Vec<ScalePoint>,
    /// How the observed stability falls; `None` where it is 0 somewhere.
    pub observed: Option<Power>,
    /// How C(n) falls; `None` where it is 0 (exponent 2) or infinite somewhere.
    pub ridge_change: Option<Power>,
}

impl Sample {
    /// Deletions that keep 1/n on nested subsets, for two or more random orders of the rows; nothing for tables of fewer than 12
    /// rows. `go_on` is asked before every subset.
    pub fn scaling(
        &self,
        assume: &Assumptions,
        draws: usize,
        seed: u64,
        go_on: &dyn Fn() -> Result<()>,
    ) -> Result<Option<Scaling>> {
        let sizes = sizes(self.rows());
        if sizes.len() < 3 || draws < 2 {
            return Ok(None);
        }
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let mut points = Vec::with_capacity(draws * sizes.len());
        for draw in 0..draws {
            let mut order: Vec<usize> = (0..self.rows()).collect();
            shuffle(&mut order, &mut random);
            for rows in &sizes {
                go_on()?;
                let observed = self.observe_subset(&order[..*rows], assume, Divisor::All)?;
                let ridge_change = observed.ridge_change();
                points.push(ScalePoint { rows: *rows, draw, observed: observed.at_rows, ridge_change });
            }
        }
        let power = |value: &dyn Fn(&ScalePoint) -> f64| {
            let slopes: Option<Vec<f64>> = points.chunks(sizes.len()).map(|draw| slope(draw, value)).collect();
            slopes.map(|slopes| Power::over(&slopes))
        };
        let (observed, ridge_change) = (power(&|point| point.observed), power(&|point| point.ridge_change));
        Ok(Some(Scaling { points, observed, ridge_change }))
    }
}

impl Power {
    fn over(slopes: &[f64]) -> Self {
        let count = slopes.len() as f64;
        let mean = slopes.iter().sum::<f64>() / count;
        let squares: f64 = slopes.iter().map(|s| (s - mean) * (s - mean)).sum();
        Power { rate: -mean, standard_error: (squares / (count - 1.0) / count).sqrt() }
    }
}

/// From a sixteenth to all of three quarters of the rows, in equal steps of the logarithm.
fn sizes(rows: usize) -> Vec<usize> {
    if rows < 2 * SMALLEST {
        return Vec::new();
    }
    let top = (rows * 3 / 4).min(LARGEST);
    let bottom = (top / 16).max(SMALLEST);
    let step = (top as f64 / bottom as f64).ln() / (SIZES as f64 - 1.0);
    let mut sizes: Vec<usize> =
        (0..SIZES).map(|k| (bottom as f64 * (step * k as f64).exp()).round() as usize).collect();
    sizes.dedup();
    sizes
}

/// d ln q / d ln n by least squares; nothing if q is somewhere 0 or infinite.
fn slope(points: &[ScalePoint], value: &dyn Fn(&ScalePoint) -> f64) -> Option<f64> {
    if points.iter().any(|point| !(value(point) > 0.0 && value(point).is_finite())) {
        return None;
    }
    let count = points.len() as f64;
    let x = |point: &ScalePoint| libm::log(point.rows as f64);
    let y = |point: &ScalePoint| libm::log(value(point));
    let (mean_x, mean_y) = (points.iter().map(x).sum::<f64>() / count, points.iter().map(y).sum::<f64>() / count);
    let products: f64 = points.iter().map(|point| (x(point) - mean_x) * (y(point) - mean_y)).sum();
    let squares: f64 = points.iter().map(|point| (x(point) - mean_x) * (x(point) - mean_x)).sum();
    Some(products / squares)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_rise_and_a_power_is_recognised() {
        assert_eq!(sizes(11), Vec::<usize>::new());
        for rows in [12, 40, 300, 20_000] {
            let sizes = sizes(rows);
            assert!(sizes.len() >= 3 && sizes.is_sorted() && sizes[0] >= SMALLEST, "{sizes:?}");
            assert!(sizes[sizes.len() - 1] <= (rows * 3 / 4).min(LARGEST), "{sizes:?}");
        }
        let point =
            |rows: usize| ScalePoint { rows, draw: 0, observed: 3.0 / (rows as f64).powi(2), ridge_change: 0.0 };
        let points: Vec<ScalePoint> = [10, 20, 50, 90].map(point).to_vec();
        assert!((slope(&points, &|p| p.observed).unwrap() + 2.0).abs() < 1e-12);
        assert_eq!(slope(&points, &|p| p.ridge_change), None);
        let power = Power::over(&[-1.0, -2.0, -3.0]);
        assert!(power.rate == 2.0 && (power.standard_error - (1.0_f64 / 3.0).sqrt()).abs() < 1e-15);
    }
}
