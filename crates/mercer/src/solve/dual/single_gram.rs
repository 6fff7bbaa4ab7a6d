//! A whole Gram matrix in single precision: half the memory, and half the time to read it, for gaps that do not notice.

use rayon::prelude::*;

use super::KernelRows;
use super::rows::KernelPoints;
use crate::term::kernel::{Kernel, Points};

/// K, both triangles, in single precision.
#[derive(Debug)]
pub struct SingleGram {
    rows: usize,
    values: Vec<f32>,
}

/// Rows that are filled together.
const STRIP: usize = 256;

impl SingleGram {
    /// K of these points.
    pub fn new(kernel: &dyn Kernel, points: &Points) -> Self {
        let rows = points.rows();
        let source = KernelPoints::new(kernel, points);
        let mut values = vec![0.0; rows * rows];
        for (strip, out) in values.chunks_mut((rows * STRIP).max(1)).enumerate() {
            let mut slices: Vec<&mut [f32]> = out.chunks_mut(rows.max(1)).collect();
            let places: Vec<usize> = (strip * STRIP..strip * STRIP + slices.len()).collect();
            source.fill_single(&places, &mut slices);
        }
        SingleGram { rows, values }
    }

    /// Row `i`.
    pub fn row(&self, i: usize) -> &[f32] {
        &self.values[i * self.rows..(i + 1) * self.rows]
    }
}

impl KernelRows for SingleGram {
    fn len(&self) -> usize {
        self.rows
    }

    fn diagonal(&self) -> Vec<f64> {
        (0..self.rows).map(|i| f64::from(self.row(i)[i])).collect()
    }

    fn row_single(&self, i: usize) -> Option<&[f32]> {
        Some(self.row(i))
    }

    fn fill(&self, rows: &[usize], out: &mut [&mut [f64]]) {
        rows.par_iter().zip(out).for_each(|(row, out)| {
            out.iter_mut().zip(self.row(*row)).for_each(|(x, value)| *x = f64::from(*value));
        });
    }

    fn fill_single(&self, rows: &[usize], out: &mut [&mut [f32]]) {
        rows.iter().zip(out).for_each(|(row, out)| out.copy_from_slice(self.row(*row)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::Matrix;
    use crate::term::kernel::radial::Gaussian;

    #[test]
    fn its_rows_are_the_kernels_to_six_digits() {
        let x = Matrix::from_fn(300, 3, |i, j| ((i * 7 + j * 13) % 29) as f64 / 10.0);
        let points = Points::new(&x);
        let kernel = Gaussian::lengthscale(1.3);
        let (single, gram) = (SingleGram::new(&kernel, &points), crate::space::gram(&kernel, &points));
        for i in 0..300 {
            assert!(single.row(i).iter().zip(gram.col(i)).all(|(a, b)| (f64::from(*a) - b).abs() < 3e-6));
        }
    }
}
