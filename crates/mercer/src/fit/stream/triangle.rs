//! A Cholesky factor that grows by rows: stored row after row, so that a new row is appended and both solves run along
//! memory.

use crate::linalg::simd::vectorize;
use crate::linalg::{Matrix, Parts};

/// A lower triangular matrix L with a positive diagonal; row i has i + 1 entries.
#[derive(Debug, Clone, Default)]
pub(super) struct Triangle {
    rows: usize,
    entries: Vec<f64>,
}

impl Triangle {
    /// The lower triangle of a matrix.
    pub fn of_lower(matrix: &Matrix) -> Self {
        let rows = matrix.rows();
        let mut entries = vec![0.0; rows * (rows + 1) / 2];
        for j in 0..rows {
            for (i, value) in matrix.col(j).iter().enumerate().skip(j) {
                entries[i * (i + 1) / 2 + j] = *value;
            }
        }
        Triangle { rows, entries }
    }

    fn row(&self, i: usize) -> &[f64] {
        &self.entries[i * (i + 1) / 2..(i + 1) * (i + 2) / 2]
    }

    /// L becomes the factor of the matrix bordered by a column a and a corner: its last row is ℓ = L⁻¹a and
    /// √(corner − ‖ℓ‖²). Refused, and nothing changed, when less than `least` of the corner is left.
    pub fn border(&mut self, column: &[f64], corner: f64, least: f64) -> bool {
        let mut last = column.to_vec();
        self.solve_lower(&mut last);
        let left = corner - dot(&last, &last);
        if !(left > least * corner) {
            return false;
        }
        self.entries.extend_from_slice(&last);
        self.entries.push(left.sqrt());
        self.rows += 1;
        true
    }

    /// L⁻¹ v, in the place of v.
    pub fn solve_lower(&self, v: &mut [f64]) {
        for i in 0..self.rows {
            let row = self.row(i);
            v[i] = (v[i] - dot(&row[..i], &v[..i])) / row[i];
        }
    }

    /// L⁻ᵀ v, in the place of v.
    pub fn solve_upper(&self, v: &mut [f64]) {
        for i in (0..self.rows).rev() {
            let row = self.row(i);
            let value = v[i] / row[i];
            v[i] = value;
            add_multiple(&mut v[..i], -value, &row[..i]);
        }
    }

    /// (L Lᵀ)⁻¹ v.
    pub fn solve(&self, v: &[f64]) -> Vec<f64> {
        let mut out = v.to_vec();
        self.solve_lower(&mut out);
        self.solve_upper(&mut out);
        out
    }

    /// L becomes the factor of L Lᵀ + q qᵀ: one rotation per column, applied row by row.
    pub fn add_square(&mut self, q: &[f64]) {
        // Rotation k takes (L_kk, q_k) to (hypot, 0).
        let mut rotations: Vec<(f64, f64)> = Vec::with_capacity(self.rows);
        for i in 0..self.rows {
            let row = &mut self.entries[i * (i + 1) / 2..(i + 1) * (i + 2) / 2];
            let mut rest = q[i];
            for (entry, (cosine, sine)) in row[..i].iter_mut().zip(&rotations) {
                let before = *entry;
                *entry = cosine * before + sine * rest;
                rest = cosine * rest - sine * before;
            }
            let length = libm::hypot(row[i], rest);
            rotations.push((row[i] / length, rest / length));
            row[i] = length;
        }
    }
}

/// Σ aᵢbᵢ in lanes.
pub(super) fn dot(a: &[f64], b: &[f64]) -> f64 {
    let mut sum = Parts::default();
    sum.add_products(a, b);
    sum.total()
}

/// target += factor · v.
pub(super) fn add_multiple(target: &mut [f64], factor: f64, v: &[f64]) {
    vectorize(
        #[inline(always)]
        || target.iter_mut().zip(v).for_each(|(t, x)| *t += factor * x),
    );
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::{Cholesky, multiply_by_transposed};

    fn positive(n: usize) -> Matrix {
        let x = Matrix::from_fn(n, n, |i, j| ((i * 7 + j * 13) % 11) as f64 / 11.0 - 0.4);
        let mut a = multiply_by_transposed(&x, &x);
        (0..n).for_each(|i| a.set(i, i, a.get(i, i) + 0.5));
        a
    }

    /// The backend's factor of the whole matrix is what rows and squares, added one at a time, must lead to.
    #[test]
    fn rows_and_squares_lead_to_the_factor_of_the_whole() {
        let n = 45;
        let a = positive(n);
        let whole = Triangle::of_lower(Cholesky::new(a.clone()).unwrap().lower());
        let mut grown = Triangle::default();
        for i in 0..n {
            assert!(grown.border(&a.col(i)[..i], a.get(i, i), 1e-12));
        }
        let difference = |x: &Triangle, y: &Triangle| {
            x.entries.iter().zip(&y.entries).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
        };
        assert!(difference(&whole, &grown) < 1e-13, "{}", difference(&whole, &grown));
        let q: Vec<f64> = (0..n).map(|i| (i as f64).sin()).collect();
        let mut more = a.clone();
        for j in 0..n {
            (0..n).for_each(|i| more.set(i, j, more.get(i, j) + q[i] * q[j]));
        }
        grown.add_square(&q);
        let again = Triangle::of_lower(Cholesky::new(more.clone()).unwrap().lower());
        assert!(difference(&again, &grown) < 1e-13, "{}", difference(&again, &grown));
        let solved = grown.solve(&q);
        for i in 0..n {
            assert!((dot(more.col(i), &solved) - q[i]).abs() < 1e-12);
        }
        // A row that is there already leaves nothing of its corner.
        let twice: Vec<f64> = more.col(3).to_vec();
        assert!(!grown.border(&twice, more.get(3, 3), 1e-12) && grown.rows == n);
    }
}
