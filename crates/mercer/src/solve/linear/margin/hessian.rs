//! XᵀDX + ridge, with a row and column for the offset: what Newton's method and interior points factor.

use rayon::prelude::*;

use super::super::Features;
use crate::linalg::{Cholesky, Matrix, add_gram_lower};

/// Rows that are scaled and multiplied at a time.
const ROWS: usize = 512;
/// Shares of the rows, each with a matrix of its own, added in order.
const SHARES: usize = 2;

/// Σ dᵢ(xᵢ, 1)(xᵢ, 1)ᵀ + ridge·diag(1, …, 1, 0), lower triangle; without the last row if there is no offset.
pub(in crate::solve::linear) fn normal_matrix(x: &Features, d: &[f64], ridge: f64, offset: bool) -> Matrix {
    let (rows, p) = (x.rows(), x.cols());
    let size = p + usize::from(offset);
    let used: Vec<usize> = (0..rows).filter(|i| d[*i] > 0.0).collect();
    let share = used.len().div_ceil(SHARES).max(1);
    let mut parts: Vec<Matrix> = used
        .par_chunks(share)
        .map(|used| {
            let mut part = Matrix::zeros(size, size);
            match x {
                Features::Dense(x) => dense_part(x, d, used, offset, &mut part),
                Features::Sparse(x) => {
                    for &i in used {
                        let (columns, values) = x.row(i);
                        for (k, (j, v)) in columns.iter().zip(values).enumerate() {
                            let factor = d[i] * v;
                            let column = part.col_mut(*j as usize);
                            for (l, w) in columns[k..].iter().zip(&values[k..]) {
                                column[*l as usize] += factor * w;
                            }
                            if offset {
                                column[p] += factor;
                            }
                        }
                        if offset {
                            part.col_mut(p)[p] += d[i];
                        }
                    }
                }
            }
            part
        })
        .collect();
    let mut sum = if parts.is_empty() { Matrix::zeros(size, size) } else { parts.remove(0) };
    for part in parts {
        sum.as_mut_slice().iter_mut().zip(part.as_slice()).for_each(|(s, p)| *s += p);
    }
    for j in 0..p {
        sum.col_mut(j)[j] += ridge;
    }
    sum
}

fn dense_part(x: &Matrix, d: &[f64], used: &[usize], offset: bool, part: &mut Matrix) {
    let size = part.rows();
    let mut block = vec![0.0; ROWS * size];
    for chunk in used.chunks(ROWS) {
        let height = chunk.len();
        let roots: Vec<f64> = chunk.iter().map(|i| d[*i].sqrt()).collect();
        // Rows that follow each other are copied without looking each of them up.
        let whole = chunk[height - 1] - chunk[0] + 1 == height;
        for j in 0..x.cols() {
            let target = &mut block[j * height..(j + 1) * height];
            if whole {
                let source = &x.col(j)[chunk[0]..chunk[0] + height];
                for ((t, s), r) in target.iter_mut().zip(source).zip(&roots) {
                    *t = s * r;
                }
            } else {
                let source = x.col(j);
                for ((t, i), r) in target.iter_mut().zip(chunk).zip(&roots) {
                    *t = source[*i] * r;
                }
            }
        }
        if offset {
            block[x.cols() * height..size * height].copy_from_slice(&roots);
        }
        add_gram_lower(&block[..size * height], height, part, true);
    }
}

/// Factors, with a little more on the diagonal where that is needed (an offset that no row holds).
pub(in crate::solve::linear) fn factor(matrix: Matrix) -> Option<Cholesky> {
    let size = matrix.rows();
    let largest = (0..size).map(|j| matrix.get(j, j)).fold(0.0, f64::max);
    let mut extra = 0.0;
    loop {
        let mut attempt = matrix.clone();
        (0..size).for_each(|j| attempt.col_mut(j)[j] += extra);
        if let Some(factor) = Cholesky::new(attempt) {
            return Some(factor);
        }
        extra = if extra == 0.0 { 1e-14 * largest.max(f64::MIN_POSITIVE) } else { 100.0 * extra };
        if !(extra <= largest) {
            return None;
        }
    }
}
