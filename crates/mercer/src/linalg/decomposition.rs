//! Eigenvalues and singular values, checked when they are made: backends have returned wrong results silently.

use faer::Accum;
use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::{evd, matmul, svd};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

use super::{Matrix, exponent_of, multiply, multiply_lower, multiply_transposed, scale_by_power_of_two, shares};
use crate::base::error::{Error, Result};

/// What the run-time check of a decomposition found, in units of (dimension × machine epsilon).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DecompositionCheck {
    /// ‖A − Q D Qᵀ‖ / ‖A‖.
    pub residual: f64,
    /// ‖I − QᵀQ‖.
    pub orthogonality: f64,
}

impl DecompositionCheck {
    /// Whether both are at rounding level (LAPACK's own tests ask for less than 30 to 60).
    pub fn passed(&self) -> bool {
        self.residual < 60.0 && self.orthogonality < 60.0
    }
}

/// A = Q D Qᵀ of a symmetric matrix.
pub(crate) struct Eigen {
    /// Ascending.
    pub values: Vec<f64>,
    pub vectors: Matrix,
    pub check: DecompositionCheck,
}

/// Eigenvalues and eigenvectors of a symmetric matrix, of which only the lower triangle is read.
/// `a` is scaled by a power of two first: backends fail silently near overflow and underflow.
pub(crate) fn eigen(mut a: Matrix) -> Result<Eigen> {
    let n = a.rows;
    let size = a.max_abs();
    if !size.is_finite() {
        return Err(Error::Decomposition("the matrix has entries that are not finite".into()));
    }
    let power = if size > 0.0 { -exponent_of(size) } else { 0 };
    scale_by_power_of_two(&mut a.data, power);
    let mut values = vec![0.0; n];
    let mut vectors = Matrix::zeros(n, n);
    let params = Default::default();
    let scratch = evd::self_adjoint_evd_scratch::<f64>(n, evd::ComputeEigenvectors::Yes, shares(), params);
    let mut buffer = MemBuffer::try_new(scratch)
        .map_err(|_| Error::Decomposition("no memory for the eigendecomposition's workspace".into()))?;
    evd::self_adjoint_evd(
        a.view(),
        faer::diag::DiagMut::from_slice_mut(&mut values),
        Some(vectors.view_mut()),
        shares(),
        MemStack::new(&mut buffer),
        params,
    )
    .map_err(|error| Error::Decomposition(format!("{error:?}")))?;
    drop(buffer);
    let check = check_eigen(&a, &values, &vectors);
    if !check.passed() {
        return Err(Error::Decomposition(format!(
            "eigenvectors leave a residual of {:.1e} and miss orthogonality by {:.1e} (units of n·eps)",
            check.residual, check.orthogonality
        )));
    }
    scale_by_power_of_two(&mut values, -power);
    Ok(Eigen { values, vectors, check })
}

/// Frobenius norms of A − QDQᵀ and I − QQᵀ, estimated with random signs: E‖Ev‖² = ‖E‖²_F, so a few
/// products of cost n² find what a check of cost n³ would.
fn check_eigen(a: &Matrix, values: &[f64], q: &Matrix) -> DecompositionCheck {
    const PROBES: usize = 4;
    let n = a.rows;
    if n == 0 {
        return DecompositionCheck { residual: 0.0, orthogonality: 0.0 };
    }
    let mut random = ChaCha8Rng::seed_from_u64(0);
    let probes = Matrix::from_fn(n, PROBES, |_, _| if random.next_u32() & 1 == 0 { 1.0 } else { -1.0 });
    let mut coordinates = multiply_transposed(q, &probes);
    let back = multiply(q, &coordinates);
    for j in 0..PROBES {
        coordinates.col_mut(j).iter_mut().zip(values).for_each(|(c, d)| *c *= d);
    }
    let decomposed = multiply(q, &coordinates);
    let direct = multiply_lower(a, &probes);
    let difference = |x: &Matrix, y: &Matrix| -> f64 {
        let sum: f64 = x.data.iter().zip(&y.data).map(|(a, b)| (a - b) * (a - b)).sum();
        (sum / PROBES as f64).sqrt()
    };
    let size = values.iter().fold(0.0, |max: f64, d| max.max(d.abs()));
    let unit = n as f64 * f64::EPSILON;
    let residual = difference(&direct, &decomposed);
    DecompositionCheck {
        residual: if size > 0.0 { residual / (size * unit) } else { residual },
        orthogonality: difference(&probes, &back) / unit,
    }
}

/// Thin decomposition A = U diag(s) Vᵀ of a matrix with at least as many rows as columns.
pub(crate) struct ThinSvd {
    pub left: Matrix,
    /// Descending.
    pub singular: Vec<f64>,
    pub right: Matrix,
    pub check: DecompositionCheck,
}

/// Thin singular value decomposition; scaled by a power of two like [`eigen`].
pub(crate) fn thin_svd(mut a: Matrix) -> Result<ThinSvd> {
    let (rows, cols) = (a.rows, a.cols);
    let size = a.max_abs();
    if !size.is_finite() {
        return Err(Error::Decomposition("the matrix has entries that are not finite".into()));
    }
    let power = if size > 0.0 { -exponent_of(size) } else { 0 };
    scale_by_power_of_two(&mut a.data, power);
    let mut singular = vec![0.0; cols];
    let mut left = Matrix::zeros(rows, cols);
    let mut right = Matrix::zeros(cols, cols);
    let params = Default::default();
    let thin = svd::ComputeSvdVectors::Thin;
    let scratch = svd::svd_scratch::<f64>(rows, cols, thin, thin, shares(), params);
    let mut buffer = MemBuffer::try_new(scratch)
        .map_err(|_| Error::Decomposition("no memory for the singular value decomposition".into()))?;
    svd::svd(
        a.view(),
        faer::diag::DiagMut::from_slice_mut(&mut singular),
        Some(left.view_mut()),
        Some(right.view_mut()),
        shares(),
        MemStack::new(&mut buffer),
        params,
    )
    .map_err(|error| Error::Decomposition(format!("{error:?}")))?;
    let check = check_svd(&a, &left, &singular, &right);
    if !check.passed() {
        return Err(Error::Decomposition(format!(
            "singular vectors leave a residual of {:.1e} and miss orthogonality by {:.1e} (units of n·eps)",
            check.residual, check.orthogonality
        )));
    }
    scale_by_power_of_two(&mut singular, -power);
    Ok(ThinSvd { left, singular, right, check })
}

/// ‖A − USVᵀ‖ and ‖I − UᵀU‖; the matrices are thin, so this is done in full.
fn check_svd(a: &Matrix, left: &Matrix, singular: &[f64], right: &Matrix) -> DecompositionCheck {
    let mut scaled = right.clone();
    for (j, s) in singular.iter().enumerate() {
        scaled.col_mut(j).iter_mut().for_each(|v| *v *= s);
    }
    let mut residual = a.clone();
    matmul::matmul(residual.view_mut(), Accum::Add, left.view(), scaled.view().transpose(), -1.0, shares());
    let mut products = multiply_transposed(left, left);
    for j in 0..products.cols {
        products.data[j * products.rows + j] -= 1.0;
    }
    let frobenius = |m: &Matrix| m.data.iter().map(|x| x * x).sum::<f64>().sqrt();
    let size = singular.first().copied().unwrap_or(0.0);
    let unit = a.rows.max(1) as f64 * f64::EPSILON;
    let residual = frobenius(&residual);
    DecompositionCheck {
        residual: if size > 0.0 { residual / (size * unit) } else { residual },
        orthogonality: frobenius(&products) / unit,
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub(in crate::linalg) fn random_symmetric(n: usize, seed: u64) -> Matrix {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let x = Matrix::from_fn(n, n, |_, _| f64::from(random.next_u32()) / f64::from(u32::MAX) - 0.5);
        multiply_transposed(&x, &x)
    }

    #[test]
    fn eigen_of_a_matrix_known_by_hand() {
        let a = Matrix::from_rows(&[[2.0, 1.0], [1.0, 2.0]]).unwrap();
        let eigen = eigen(a).unwrap();
        assert!((eigen.values[0] - 1.0).abs() < 1e-15 && (eigen.values[1] - 3.0).abs() < 1e-15);
    }

    #[test]
    fn eigen_survives_scales_near_overflow_and_underflow() {
        for power in [-1000, 0, 1000] {
            let mut a = random_symmetric(40, 1);
            scale_by_power_of_two(a.as_mut_slice(), power);
            let plain = eigen(random_symmetric(40, 1)).unwrap();
            let scaled = eigen(a).unwrap();
            for (x, y) in plain.values.iter().zip(&scaled.values) {
                assert_eq!(libm::ldexp(*x, power), *y);
            }
        }
        assert!(eigen(Matrix::from_fn(3, 3, |_, _| f64::NAN)).is_err());
    }

    #[test]
    fn a_wrong_decomposition_is_noticed() {
        let a = random_symmetric(30, 2);
        let good = eigen(a.clone()).unwrap();
        let mut wrong = good.values.clone();
        wrong[29] *= 1.0 + 1e-9;
        assert!(!check_eigen(&a, &wrong, &good.vectors).passed());
    }
}
