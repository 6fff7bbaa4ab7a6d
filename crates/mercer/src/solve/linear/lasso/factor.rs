//! A Cholesky factor that columns enter and leave one by one, in O(k²) each.

use super::super::features::{add_scaled, dot};
use crate::linalg::simd::vectorize;
use crate::linalg::{Cholesky, Matrix};

/// L of G_AA + βI = L Lᵀ for a changing list A of members.
#[derive(Default)]
pub(super) struct Factor {
    /// Who stands where, in the order of L.
    pub members: Vec<usize>,
    /// Column j of L from its diagonal down.
    columns: Vec<Vec<f64>>,
    /// Whether no member depended on those before it, so that nothing was added to the diagonal.
    pub is_plain: bool,
    /// Changes since L was last computed afresh.
    pub changes: usize,
}

/// What is left of a column after the others must be this share of its square, or more.
const LEAST: f64 = 1e-13;

impl Factor {
    /// From a whole matrix, of which the lower triangle is read; `None` when it is not positive definite.
    pub fn new(members: Vec<usize>, matrix: Matrix) -> Option<Self> {
        let factor = Cholesky::new(matrix)?;
        let lower = factor.lower();
        let columns = (0..members.len()).map(|j| lower.col(j)[j..].to_vec()).collect();
        Some(Factor { members, columns, is_plain: true, changes: 0 })
    }

    /// Adds a member with its products with those there are, in their order, and with itself.
    pub fn append(&mut self, member: usize, mut products: Vec<f64>, own: f64) {
        self.forward(&mut products);
        let left = own - dot(&products, &products);
        if !(left > LEAST * own) {
            self.is_plain = false;
        }
        for (column, entry) in self.columns.iter_mut().zip(&products) {
            column.push(*entry);
        }
        self.columns.push(vec![left.max(LEAST * own).max(f64::MIN_POSITIVE).sqrt()]);
        self.members.push(member);
        self.changes += 1;
    }

    /// Takes the member at a position out: what its column explained goes back to those after it.
    pub fn remove(&mut self, position: usize) {
        for (j, column) in self.columns.iter_mut().enumerate().take(position) {
            column.remove(position - j);
        }
        let mut v = self.columns.remove(position)[1..].to_vec();
        self.members.remove(position);
        for (j, column) in self.columns[position..].iter_mut().enumerate() {
            let (diagonal, rest) = column.split_at_mut(1);
            let root = diagonal[0].hypot(v[j]);
            let (cosine, sine) = (root / diagonal[0], v[j] / diagonal[0]);
            diagonal[0] = root;
            let inverse = 1.0 / cosine;
            let tail = &mut v[j + 1..];
            vectorize(
                #[inline(always)]
                || {
                    for (l, v) in rest.iter_mut().zip(tail.iter_mut()) {
                        let new = (*l + sine * *v) * inverse;
                        *v = cosine * *v - sine * new;
                        *l = new;
                    }
                },
            );
        }
        self.changes += 1;
    }

    /// L⁻¹ b, in the place of b.
    fn forward(&self, b: &mut [f64]) {
        for (j, column) in self.columns.iter().enumerate() {
            b[j] /= column[0];
            let x = b[j];
            add_scaled(&mut b[j + 1..], -x, &column[1..]);
        }
    }

    /// (L Lᵀ)⁻¹ b, in the place of b.
    pub fn solve(&self, b: &mut [f64]) {
        self.forward(b);
        for (j, column) in self.columns.iter().enumerate().rev() {
            let sum = dot(&column[1..], &b[j + 1..]);
            b[j] = (b[j] - sum) / column[0];
        }
    }

    /// Lᵀ s.
    pub fn half(&self, s: &[f64]) -> Vec<f64> {
        self.columns.iter().enumerate().map(|(j, column)| dot(column, &s[j..])).collect()
    }

    /// L h.
    pub fn other_half(&self, h: &[f64]) -> Vec<f64> {
        let mut out = vec![0.0; h.len()];
        for (j, column) in self.columns.iter().enumerate() {
            add_scaled(&mut out[j..], h[j], column);
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_come_and_go() {
        let g = |i: usize, j: usize| {
            let x = |k: usize, t: usize| ((k * 31 + t * 17) % 13) as f64 / 6.0 - 1.0;
            (0..20).map(|t| x(i, t) * x(j, t)).sum::<f64>() + f64::from(i == j)
        };
        let start: Vec<usize> = (0..6).collect();
        let mut factor = Factor::new(start, Matrix::from_fn(6, 6, g)).unwrap();
        factor.remove(2);
        factor.append(9, factor.members.iter().map(|k| g(*k, 9)).collect(), g(9, 9));
        factor.remove(0);
        factor.append(2, factor.members.iter().map(|k| g(*k, 2)).collect(), g(2, 2));
        assert_eq!(factor.members, [1, 3, 4, 5, 9, 2]);
        let members = factor.members.clone();
        let want: Vec<f64> = (0..6).map(|k| k as f64 - 2.2).collect();
        let mut b: Vec<f64> =
            members.iter().map(|i| members.iter().zip(&want).map(|(j, x)| g(*i, *j) * x).sum()).collect();
        let product = factor.other_half(&factor.half(&want));
        for (got, want) in product.iter().zip(&b) {
            assert!((got - want).abs() < 1e-12);
        }
        factor.solve(&mut b);
        for (got, want) in b.iter().zip(&want) {
            assert!((got - want).abs() < 1e-12);
        }
        assert!(factor.is_plain);
        factor.append(2, factor.members.iter().map(|k| g(*k, 2)).collect(), g(2, 2));
        assert!(!factor.is_plain);
    }
}
