//! Cholesky factors of a few hundred rows by plain loops: the backend packs, splits and, the first time, reads what caches
//! there are from the system, which together takes longer than such a factor.

use super::{Cholesky, Matrix};
use crate::linalg::simd::{dot, vectorize};

/// Rows up to which plain loops are as fast.
const SMALL: usize = 448;
/// Columns that are finished before the others hear of them.
const PANEL: usize = 8;

/// A = L Lᵀ by whichever way is quick.
pub(crate) enum QuickCholesky {
    /// L in the lower triangle.
    Small(Matrix),
    Large(Cholesky),
}

impl QuickCholesky {
    /// Factors a symmetric positive definite matrix, of which only the lower triangle is read. `None` when a pivot is not positive.
    pub fn new(mut a: Matrix) -> Option<Self> {
        if a.rows > SMALL {
            return Cholesky::new(a).map(QuickCholesky::Large);
        }
        let is_positive = vectorize(
            #[inline(always)]
            || factor(&mut a.data, a.rows),
        );
        is_positive.then_some(QuickCholesky::Small(a))
    }

    /// A⁻¹ b, in the place of b.
    pub fn solve(&self, b: &mut Matrix) {
        match self {
            QuickCholesky::Large(factor) => factor.solve(b),
            QuickCholesky::Small(factor) => vectorize(
                #[inline(always)]
                || {
                    for column in b.data.chunks_exact_mut(factor.rows.max(1)) {
                        solve(factor, column);
                    }
                },
            ),
        }
    }
}

#[inline(always)]
fn factor(a: &mut [f64], n: usize) -> bool {
    for first in (0..n).step_by(PANEL) {
        let last = (first + PANEL).min(n);
        let (done, others) = a.split_at_mut(last * n);
        let panel = &mut done[first * n..];
        for k in first..last {
            let (before, own) = panel.split_at_mut((k - first) * n);
            let own = &mut own[..n];
            for column in before.chunks_exact(n) {
                subtract(&mut own[k..], &column[k..], column[k]);
            }
            // NaN is not positive either.
            if !(own[k] > 0.0) {
                return false;
            }
            let root = own[k].sqrt();
            own[k] = root;
            let inverse = 1.0 / root;
            for x in &mut own[k + 1..] {
                *x *= inverse;
            }
        }
        if last - first == PANEL {
            update(panel, others, last, n);
        }
    }
    true
}

/// x −= factor · y.
#[inline(always)]
fn subtract(x: &mut [f64], y: &[f64], factor: f64) {
    for (x, y) in x.iter_mut().zip(y) {
        *x = (-factor).mul_add(*y, *x);
    }
}

/// Takes what a whole panel explains from all columns after it, two at a time: what is read of the panel then serves twice.
#[inline(always)]
fn update(panel: &[f64], others: &mut [f64], last: usize, n: usize) {
    for (pair, columns) in others.chunks_mut(2 * n).enumerate() {
        let c = last + 2 * pair;
        let factors = |row: usize| -> [f64; PANEL] { std::array::from_fn(|k| -panel[k * n + row]) };
        let first_factors = factors(c);
        let (first, second) = columns.split_at_mut(n);
        first[c] = (0..PANEL).fold(first[c], |x, k| first_factors[k].mul_add(panel[k * n + c], x));
        if second.is_empty() {
            continue;
        }
        let second_factors = factors(c + 1);
        let length = n - c - 1;
        let (first, second) = (&mut first[c + 1..][..length], &mut second[c + 1..][..length]);
        let rows: [&[f64]; PANEL] = std::array::from_fn(|k| &panel[k * n + c + 1..][..length]);
        for i in 0..length {
            let (mut x, mut y) = (first[i], second[i]);
            for k in 0..PANEL {
                x = first_factors[k].mul_add(rows[k][i], x);
                y = second_factors[k].mul_add(rows[k][i], y);
            }
            first[i] = x;
            second[i] = y;
        }
    }
}

#[inline(always)]
fn solve(factor: &Matrix, b: &mut [f64]) {
    let n = b.len();
    let column = |k: usize| &factor.data[k * n..(k + 1) * n];
    for k in 0..n {
        let (own, below) = b[k..].split_at_mut(1);
        own[0] /= column(k)[k];
        // Much of the right-hand sides that belong to single variables is 0.
        if own[0] != 0.0 {
            subtract(below, &column(k)[k + 1..], own[0]);
        }
    }
    for k in (0..n).rev() {
        let rest = dot(&column(k)[k + 1..], &b[k + 1..]);
        b[k] = (b[k] - rest) / column(k)[k];
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::multiply;

    #[test]
    fn it_solves_and_refuses_as_the_backend_does() {
        for n in [1, 2, 7, 8, 9, 16, 31, 100, 201, SMALL, SMALL + 1] {
            let entry = |i: usize, j: usize| libm::exp(-0.02 * (i as f64 - j as f64).powi(2));
            let a = Matrix::from_fn(n, n, |i, j| entry(i, j) + if i == j { 0.1 } else { 0.0 });
            let right =
                Matrix::from_fn(n, 3, |i, j| if j == 2 { f64::from(i == n / 2) } else { libm::sin((i + j) as f64) });
            let (mut quick, mut known) = (right.clone(), right.clone());
            QuickCholesky::new(a.clone()).unwrap().solve(&mut quick);
            Cholesky::new(a.clone()).unwrap().solve(&mut known);
            let image = multiply(&a, &quick);
            for k in 0..3 * n {
                assert!((quick.data[k] - known.data[k]).abs() < 1e-11, "{n} rows");
                assert!((image.data[k] - right.data[k]).abs() < 1e-12, "{n} rows");
            }
            let mut indefinite = a;
            indefinite.set(n - 1, n - 1, if n == 1 { 0.0 } else { -1.0 });
            assert!(QuickCholesky::new(indefinite).is_none());
        }
        let nothing = Matrix::from_fn(9, 9, |_, _| f64::NAN);
        assert!(QuickCholesky::new(nothing).is_none());
    }
}
