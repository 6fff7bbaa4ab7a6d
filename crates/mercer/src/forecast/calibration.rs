//! A short measurement of this machine: rates of the operations that fits are made of.

use std::time::{Duration, Instant};

use crate::kernel::{Kernel, Points};
use crate::linalg::{Matrix, eigen, multiply};
use crate::solver::conjugate_gradient::KernelTiles;
use crate::space;

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

/// Rows of the sample for kernel values, for sums in twice the precision, and for tiles that are kept.
const ROWS: usize = 1000;
const PRECISE_ROWS: usize = 500;
const KEPT_ROWS: usize = 2000;
/// Rows of the matrices that are multiplied and decomposed.
const SIDE: usize = 640;
const DECOMPOSED: usize = 320;
/// How long each is repeated.
const AT_LEAST: Duration = Duration::from_millis(40);

impl Calibration {
    /// Measures with this kernel on some of these points; less than half a second on an idle machine.
    pub fn measure(kernel: &dyn Kernel, points: &Points) -> Self {
        let sample = |rows: usize| {
            let n = points.rows().max(1);
            points.subset(&(0..rows).map(|i| i * n / rows % n).collect::<Vec<usize>>())
        };
        let number = |i: usize, j: usize| ((i * 7919 + j * 104_729) % 1009) as f64 / 1009.0 - 0.5;
        let square = Matrix::from_fn(SIDE, SIDE, number);
        let products = rate(2.0 * (SIDE as f64).powi(3), || {
            multiply(&square, &square);
        });
        let few = sample(ROWS);
        let values = rate(0.5 * (ROWS as f64).powi(2), || {
            space::gram_lower(kernel, &few);
        });
        let fewer = sample(PRECISE_ROWS);
        let ones = Matrix::column_vector(vec![1.0; PRECISE_ROWS]);
        let precise_values = rate((PRECISE_ROWS as f64).powi(2), || {
            space::apply_precisely(kernel, &fewer, &ones);
        });
        let many = sample(KEPT_ROWS);
        let tiles = KernelTiles::new(kernel, &many, u64::MAX);
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
