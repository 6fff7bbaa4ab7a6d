//! Kernel values, and landmarks that stand for many rows.

use mercer::kernel::{self, Points};
use mercer::{Error, Matrix, Result, low_rank, plan};
use numpy::{PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray2};
use pyo3::prelude::*;
use rayon::prelude::*;

use crate::fitting::matrix;
use crate::model::to_array;
use crate::refusal::refused;
use crate::work::run;

/// The spec as the core writes it, fitted to the rows of `x`: rules for lengthscales become numbers.
#[pyfunction]
pub fn kernel_spec(py: Python<'_>, spec: &str, x: PyReadonlyArray2<'_, f64>) -> PyResult<String> {
    let kernel = kernel::parse(spec).map_err(refused)?;
    let x = matrix(&x);
    run(py, move |_| Ok(kernel.fitted_to(&Points::new(&x), None)?.spec()))
}

/// Refuses what would not fit into memory.
fn check_memory(rows: usize, columns: usize, what: &'static str) -> Result<()> {
    let needed = 8 * rows as u64 * columns as u64;
    let available = plan::available_memory();
    match needed > available {
        true => Err(Error::Memory { rows, needed, available, what, hint: "fewer rows or columns are needed".into() }),
        false => Ok(()),
    }
}

/// k(xᵢ, zⱼ).
#[pyfunction]
pub fn kernel_matrix<'py>(
    py: Python<'py>,
    spec: &str,
    x: PyReadonlyArray2<'_, f64>,
    z: PyReadonlyArray2<'_, f64>,
) -> PyResult<Bound<'py, PyArray2<f64>>> {
    let kernel = kernel::parse(spec).map_err(refused)?;
    let (x, z) = (matrix(&x), matrix(&z));
    let values = run(py, move |_| {
        let (x, z) = (Points::new(&x), Points::new(&z));
        if x.features() != z.features() {
            let must = format!("as many columns as the first ({})", x.features());
            return Err(Error::shape("the second table", must, z.features()));
        }
        kernel.check(x.features(), 0)?;
        check_memory(x.rows(), z.rows(), "the kernel matrix")?;
        // Column i holds the values of row i: the transposed matrix.
        let mut values = Matrix::zeros(z.rows(), x.rows());
        values.as_mut_slice().par_chunks_mut(z.rows().max(1)).enumerate().for_each(|(i, column)| {
            x.with_point(i, |point| kernel.values(point, &z, 0, column));
        });
        Ok(values)
    })?;
    let shape = [values.cols(), values.rows()];
    PyArray1::from_vec(py, values.into_vec()).reshape(shape)
}

/// Rows that stand for all, by randomly pivoted Cholesky: their places, the lower triangular L with φ(x) = L⁻¹k(x), and the
/// share of the kernel's diagonal that is left.
#[pyfunction]
pub fn landmarks<'py>(
    py: Python<'py>,
    spec: &str,
    x: PyReadonlyArray2<'_, f64>,
    most: usize,
    tolerance: f64,
    seed: u64,
) -> PyResult<(Vec<usize>, Bound<'py, PyArray2<f64>>, f64)> {
    let kernel = kernel::parse(spec).map_err(refused)?;
    let x = matrix(&x);
    let (pivots, lower, left) = run(py, move |_| -> Result<_> {
        let points = Points::new(&x);
        kernel.check(points.features(), 0)?;
        check_memory(points.rows(), most.min(points.rows()), "the factor of the kernel matrix")?;
        let mut diagonal = vec![0.0; points.rows()];
        kernel.diagonal(&points, 0, &mut diagonal);
        let mean = diagonal.iter().sum::<f64>() / points.rows().max(1) as f64;
        let factor = low_rank::factor(&*kernel, &points, tolerance, most, seed);
        let at = |i: usize, k: usize| if k <= i { factor.matrix.get(factor.pivots[i], k) } else { 0.0 };
        let lower = Matrix::from_fn(factor.pivots.len(), factor.pivots.len(), at);
        let left = if mean > 0.0 { factor.mean_residual / mean } else { 0.0 };
        Ok((factor.pivots, lower, left))
    })?;
    Ok((pivots, to_array(py, lower)?, left))
}
