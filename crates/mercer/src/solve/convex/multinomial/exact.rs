//! Newton's step of a multinomial problem by factoring, where conjugate gradients need too many iterations: at small ridges most
//! rows are all but certain, and the bound ½ of their Hessians, which preconditions them, is far from what they are.
//!
//! With D_c = diag(w p_c/(2Wμ)) the step is δα = ρ − B(Kρ + 1δbᵀ), ρ the gradient over 2μ, B = E − E R M⁻¹RᵀE, E_c = (D_c⁻¹ + K)⁻¹,
//! M = Σ_c E_c, R the sum over classes (Rasmussen & Williams 2006, algorithm 3.3). E_c = S(I + SKS)⁻¹S, S = √D_c, has no trouble with
//! shares that vanish or a K that is singular. δb follows from 1ᵀδα = 0. Cost: k + 1 factors and k inverses of n × n.

use crate::linalg::{Cholesky, Matrix, multiply};

/// Numbers that all E_c may have: 320 MB.
const MOST_NUMBERS: usize = 40_000_000;

/// Whether the matrices of a step fit.
pub(super) fn suits(rows: usize, classes: usize) -> bool {
    rows.saturating_mul(rows).saturating_mul(classes + 3) <= MOST_NUMBERS
}

/// Bytes of a step's matrices.
pub(crate) fn bytes(rows: usize, classes: usize) -> u64 {
    if suits(rows, classes) { 8 * (rows * rows * (classes + 3)) as u64 } else { 0 }
}

struct Curved {
    /// E_c.
    covers: Vec<Matrix>,
    /// M.
    sum: Cholesky,
}

/// δα and δb for a gradient over 2μ that is not centred; `scale` is w/(2Wμ) of each row, `p` its shares, K centred if there is an
/// offset. `None` where a factor fails.
pub(super) fn step(
    gram: &Matrix,
    p: &Matrix,
    scale: &[f64],
    gradient: &Matrix,
    has_offset: bool,
) -> Option<(Matrix, Vec<f64>)> {
    let (n, k) = (p.rows(), p.cols());
    let curved = Curved::new(gram, p, scale)?;
    let mut alpha = gradient.clone();
    subtract(&mut alpha, &curved.apply(&multiply(gram, gradient)));
    if !has_offset {
        return Some((alpha, vec![0.0; k]));
    }
    // 1ᵀB1 δb = 1ᵀ(ρ − BKρ); what is common to all classes is in B's null space.
    let ones = |d: usize| curved.apply(&Matrix::from_fn(n, k, |_, c| f64::from(c == d)));
    let moved: Vec<Matrix> = (0..k).map(ones).collect();
    let sums = |matrix: &Matrix| -> Vec<f64> { (0..k).map(|c| matrix.col(c).iter().sum()).collect() };
    let held: Vec<Vec<f64>> = moved.iter().map(sums).collect();
    let height = (0..k).map(|c| held[c][c]).sum::<f64>() / k as f64;
    let factor = Cholesky::new(Matrix::from_fn(k, k, |c, d| 0.5 * (held[c][d] + held[d][c]) + height / k as f64))?;
    let mut shift = Matrix::column_vector(sums(&alpha));
    let mean = shift.col(0).iter().sum::<f64>() / k as f64;
    shift.col_mut(0).iter_mut().for_each(|s| *s -= mean);
    factor.solve(&mut shift);
    let shift = shift.into_vec();
    for (moved, shift) in moved.iter().zip(&shift) {
        alpha.as_mut_slice().iter_mut().zip(moved.as_slice()).for_each(|(a, m)| *a -= shift * m);
    }
    Some((alpha, shift))
}

impl Curved {
    fn new(gram: &Matrix, p: &Matrix, scale: &[f64]) -> Option<Self> {
        let (n, k) = (p.rows(), p.cols());
        let mut sum = Matrix::zeros(n, n);
        let mut covers = Vec::with_capacity(k);
        for c in 0..k {
            let root: Vec<f64> = p.col(c).iter().zip(scale).map(|(p, s)| (p * s).max(0.0).sqrt()).collect();
            let inner = Matrix::from_fn(n, n, |i, j| root[i] * gram.get(i, j) * root[j] + f64::from(i == j));
            let mut cover = Cholesky::new(inner)?.inverse().ok()?;
            for j in 0..n {
                cover.col_mut(j).iter_mut().zip(&root).for_each(|(e, s)| *e *= s * root[j]);
            }
            sum.as_mut_slice().iter_mut().zip(cover.as_slice()).for_each(|(s, e)| *s += e);
            covers.push(cover);
        }
        Some(Curved { covers, sum: Cholesky::new(sum)? })
    }

    /// Bx.
    fn apply(&self, x: &Matrix) -> Matrix {
        let (n, k) = (x.rows(), x.cols());
        let product = |c: usize, x: &[f64]| multiply(&self.covers[c], &Matrix::column_vector(x.to_vec())).into_vec();
        let mut out = Matrix::zeros(n, k);
        let mut common = Matrix::zeros(n, 1);
        for c in 0..k {
            out.col_mut(c).copy_from_slice(&product(c, x.col(c)));
            common.col_mut(0).iter_mut().zip(out.col(c)).for_each(|(s, e)| *s += e);
        }
        self.sum.solve(&mut common);
        for c in 0..k {
            let explained = product(c, common.col(0));
            out.col_mut(c).iter_mut().zip(&explained).for_each(|(o, e)| *o -= e);
        }
        out
    }
}

fn subtract(a: &mut Matrix, b: &Matrix) {
    a.as_mut_slice().iter_mut().zip(b.as_slice()).for_each(|(a, b)| *a -= b);
}
