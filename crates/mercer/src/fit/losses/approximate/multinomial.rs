//! The same for all classes at once.
//!
//! Row i's loss −ln softmax has gradient gᵢ = p − e and Hessian Hᵢ = diag(p) − ppᵀ in its values. With ρ = 2Wμ and Aᵢ the classes × classes block of
//! (Σ wⱼxⱼHⱼxⱼᵀ + ρ)⁻¹ that row i sees, its values without itself are vᵢ + Aᵢ(1 − wᵢHᵢAᵢ)⁻¹wᵢgᵢ to first order. With Hⱼ = RⱼRⱼᵀ all blocks come of one
//! factor, that of ρ + RᵀKR. An offset is a constant that is next to not penalised.

use crate::base::error::{Error, Result};
use crate::base::watch::Observer;
use crate::fit::after::training::told;
use crate::linalg::log_sum_exp;
use crate::linalg::{Cholesky, Matrix, multiply, multiply_transposed, solve_lower};
use crate::solve::convex::RidgePoint;

/// How much larger than the kernel's own values that of the constant is.
const FREE: f64 = 1e7;

/// One vector per class. `outputs` are 1 for the rows of a class, −1 for the others.
pub(in crate::fit::losses) fn values(
    gram: &Matrix,
    weights: Option<&[f64]>,
    has_offset: bool,
    points: &[RidgePoint],
    outputs: &[Vec<f64>],
    observer: Option<&Observer>,
) -> Result<Vec<Vec<f64>>> {
    let (n, classes) = (gram.rows(), points.len());
    let weight = |i: usize| weights.map_or(1.0, |w| w[i]);
    let total: f64 = (0..n).map(weight).sum();
    let ridge = 2.0 * total * points[0].ridge;
    let size = (0..n).map(|i| gram.get(i, i)).fold(f64::MIN_POSITIVE, f64::max);
    let constant = if has_offset { FREE * size } else { 0.0 };
    let kernel = |i: usize, j: usize| gram.get(i, j) + constant;
    let rows: Vec<Row> = (0..n).map(|i| Row::new(i, weight(i), points, outputs)).collect();

    let place = |k: usize| (k / classes, k % classes);
    let inner = Matrix::from_fn(n * classes, n * classes, |k, l| {
        let ((i, a), (j, b)) = (place(k), place(l));
        let product: f64 = (0..classes).map(|c| rows[i].root.get(c, a) * rows[j].root.get(c, b)).sum();
        kernel(i, j) * product + if k == l { ridge } else { 0.0 }
    });
    let factor = Cholesky::new(inner).ok_or_else(|| {
        Error::Decomposition("the rows' kernel matrix is not positive definite; a larger λ is needed".into())
    })?;
    let mut out = vec![vec![0.0; n]; classes];
    for (i, row) in rows.iter().enumerate() {
        told(observer, "leaving out")?;
        // What row i sees of all others, a column per class.
        let mut seen = Matrix::from_fn(n * classes, classes, |k, c| {
            let (j, a) = place(k);
            kernel(j, i) * rows[j].root.get(c, a)
        });
        solve_lower(factor.lower(), &mut seen);
        let block = Matrix::from_fn(classes, classes, |c, d| {
            let explained: f64 = seen.col(c).iter().zip(seen.col(d)).map(|(x, y)| x * y).sum();
            (if c == d { kernel(i, i) } else { 0.0 } - explained) / ridge
        });
        let Some(step) = row.without_itself(&block) else {
            let must = "determined without any one of its rows, for leave-one-out";
            return Err(Error::argument("the fit", must, format!("row {}, which alone determines its values", i + 1)));
        };
        for c in 0..classes {
            out[c][i] = row.values[c] + (0..classes).map(|d| block.get(c, d) * step[d]).sum::<f64>();
        }
    }
    Ok(out)
}

/// One row's values, weighted gradient, and R with w·H = RRᵀ.
struct Row {
    values: Vec<f64>,
    gradient: Vec<f64>,
    root: Matrix,
}

impl Row {
    fn new(i: usize, weight: f64, points: &[RidgePoint], outputs: &[Vec<f64>]) -> Self {
        let values: Vec<f64> = points.iter().map(|point| point.fitted[i] + point.offset).collect();
        let level = log_sum_exp(&values);
        let shares: Vec<f64> = values.iter().map(|v| libm::exp(v - level)).collect();
        let gradient =
            shares.iter().zip(outputs).map(|(p, output)| weight * (p - f64::from(output[i] > 0.0))).collect();
        // diag(p) − ppᵀ = SSᵀ for S = diag(√p) − p√pᵀ, because Σ p = 1.
        let root = Matrix::from_fn(shares.len(), shares.len(), |c, a| {
            let own = if c == a { shares[c].sqrt() } else { 0.0 };
            weight.sqrt() * (own - shares[c] * shares[a].sqrt())
        });
        Row { values, gradient, root }
    }

    /// (1 − wHA)⁻¹·w·gradient = g + R(1 − RᵀAR)⁻¹RᵀA g; `None` if the row alone holds its values.
    fn without_itself(&self, block: &Matrix) -> Option<Vec<f64>> {
        let size = self.values.len();
        let seen = multiply(block, &self.root);
        let bent = multiply_transposed(&self.root, &seen);
        let mut inner = multiply_transposed(&seen, &Matrix::column_vector(self.gradient.clone()));
        Cholesky::new(Matrix::from_fn(size, size, |c, d| f64::from(c == d) - bent.get(c, d)))?.solve(&mut inner);
        let more = multiply(&self.root, &inner);
        Some(self.gradient.iter().zip(more.col(0)).map(|(g, more)| g + more).collect())
    }
}
