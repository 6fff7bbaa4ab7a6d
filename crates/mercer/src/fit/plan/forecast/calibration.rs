//! A short measurement of this machine: rates of the operations that fits are made of.

use std::time::{Duration, Instant};

use crate::linalg::{Matrix, eigen, multiply};
use crate::solve::conjugate_gradient::KernelTiles;
use crate::space;
use crate::term::kernel::product::Linear;
use crate::term::kernel::{Kernel, Points};

/// Operations a second, with all threads.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Calibration {
    /// Additions and multiplications in products of matrices.
    pub products: f64,
    /// Values of the kernel, written to memory.
    pub values: f64,
    /// Values of the kernel that are multiplied and summed in twice the precision.
    pub precise_values: f64,
    /// Entries of a symmetric matrix, half of it in memory, in its product with a vector.
    pub kept_values: f64,
    /// n³ of an eigendecomposition.
    pub decomposed: f64,
}

/// Rows of the sample for kernel values and for sums in twice the precision, where the table has as many.
const ROWS: usize = 1000;
const PRECISE_ROWS: usize = 500;
/// Features beyond which fewer rows serve, so that rows² × features, the work, does not grow.
const USUAL_FEATURES: f64 = 64.0;
/// Fewer rows would measure how work begins.
const FEWEST_ROWS: usize = 32;
/// Rows of the tiles that are kept, whatever the table.
const KEPT_ROWS: usize = 2000;
/// Rows of the matrices that are multiplied and decomposed.
const SIDE: usize = 640;
const DECOMPOSED: usize = 320;
/// How long each is repeated.
const AT_LEAST: Duration = Duration::from_millis(40);

impl Calibration {
    /// Measures with this kernel on some of these points; less than half a second on an idle machine.
    pub fn measure(kernel: &dyn Kernel, points: &Points) -> Self {
        let sample = |wanted: usize| {
            let rows = rows_of_sample(wanted, points.rows(), points.features());
            points.subset(&(0..rows).map(|i| i * points.rows() / rows).collect::<Vec<usize>>())
        };
        let number = |i: usize, j: usize| ((i * 7919 + j * 104_729) % 1009) as f64 / 1009.0 - 0.5;
        let square = Matrix::from_fn(SIDE, SIDE, number);
        let products = rate(2.0 * (SIDE as f64).powi(3), || {
            multiply(&square, &square);
        });
        let few = sample(ROWS);
        let values = rate(0.5 * (few.rows() as f64).powi(2), || {
            space::gram_lower(kernel, &few);
        });
        let fewer = sample(PRECISE_ROWS);
        let ones = Matrix::column_vector(vec![1.0; fewer.rows()]);
        let precise_values = rate((fewer.rows() as f64).powi(2), || {
            space::apply_precisely(kernel, &fewer, &ones);
        });
        // What is kept does not depend on what it came from.
        let many = Points::new(&Matrix::from_fn(KEPT_ROWS, 1, number));
        let tiles = KernelTiles::new(&Linear, &many, u64::MAX);
        let ones = Matrix::column_vector(vec![1.0; KEPT_ROWS]);
        // The first product fills them.
        let _ = tiles.multiply(&ones, &|| true);
        let kept_values = rate((KEPT_ROWS as f64).powi(2), || {
            let _ = tiles.multiply(&ones, &|| true);
        });
        let symmetric = Matrix::from_fn(DECOMPOSED, DECOMPOSED, |i, j| number(i.max(j), i.min(j)));
        let decomposed = rate((DECOMPOSED as f64).powi(3), || {
            let _ = eigen(symmetric.clone());
        });
        Calibration { products, values, precise_values, kept_values, decomposed }
    }
}

/// Rows of a table's sample: never one of them twice.
fn rows_of_sample(wanted: usize, rows: usize, features: usize) -> usize {
    let share = (USUAL_FEATURES / features.max(1) as f64).sqrt().min(1.0);
    ((wanted as f64 * share) as usize).max(FEWEST_ROWS).min(rows)
}

/// Operations a second, from repetitions after a first one that warms up.
fn rate(operations: f64, mut work: impl FnMut()) -> f64 {
    work();
    let started = Instant::now();
    let mut rounds = 0.0;
    while started.elapsed() < AT_LEAST {
        work();
        rounds += 1.0;
    }
    operations * rounds / started.elapsed().as_secs_f64().max(1e-9)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::term::kernel::special::Precomputed;

    /// A precomputed kernel has values for the rows that there are, and for no others.
    #[test]
    fn a_sample_has_no_more_rows_than_the_table() {
        let gram = Points::new(&Matrix::from_fn(30, 30, |i, j| 1.0 / (1.0 + i.abs_diff(j) as f64)));
        let found = Calibration::measure(&Precomputed, &gram);
        assert!(found.values > 0.0 && found.precise_values > 0.0 && found.kept_values > 0.0, "{found:?}");
        assert_eq!(rows_of_sample(ROWS, 30, 30), 30);
        assert_eq!(rows_of_sample(ROWS, 1_000_000, 8), ROWS);
    }

    #[test]
    fn wide_tables_take_no_longer_to_measure() {
        let work = |features: usize| (rows_of_sample(ROWS, 1_000_000, features).pow(2) * features) as f64;
        let usual = work(USUAL_FEATURES as usize);
        for features in [1, 10, 100, 5000, 50_000] {
            assert!(work(features) <= 1.01 * usual, "{features} features: {} of {usual}", work(features));
        }
    }
}
