//! How a [`Spectrum`] is made: from a Gram matrix, from the features of a linear kernel, or from a factor.

use rayon::prelude::*;

use super::basis::Basis;
use super::{Kind, Spectrum, check_size};
use crate::base::error::{Error, Result};
use crate::linalg::{self, DecompositionCheck, Matrix, double, multiply, multiply_transposed};
use crate::space;
use crate::term::kernel::{Kernel, Points};

impl Spectrum {
    /// From a Gram matrix (its lower triangle is read) with positive row weights.
    pub fn from_gram(mut gram: Matrix, weights: Option<&[f64]>, offset: bool) -> Result<Self> {
        let n = gram.rows();
        check_size(gram.max_abs())?;
        let weight_sum = weights.map_or(n as f64, |w| w.iter().sum());
        let root_weights: Option<Vec<f64>> = weights.map(|w| w.iter().map(|x| x.sqrt()).collect());
        if let Some(s) = &root_weights {
            for j in 0..n {
                gram.col_mut(j).iter_mut().zip(s).for_each(|(k, si)| *k *= si * s[j]);
            }
        }
        let size = linalg::largest_row_sum(&gram);
        let ones = vec![1.0; n];
        let direction = root_weights.as_deref().unwrap_or(&ones);
        let reflection = offset.then(|| Reflection::to_first_axis(direction));
        let constant_image = offset.then(|| constant_image(&gram, direction));
        let reduced = match &reflection {
            Some(reflection) => reflection.reduce(gram),
            None => gram,
        };
        let eigen = linalg::eigen(reduced)?;
        let mut eigenvalues = eigen.values;
        let largest = eigenvalues.iter().fold(0.0, |max: f64, d| max.max(d.abs()));
        // Rounding of the decomposition, and of K itself, which centring may have left as all there is.
        let noise = (noise_level(n) * largest).max(4.0 * f64::EPSILON * size);
        if let Some(lowest) = eigenvalues.first().filter(|d| **d < -(1e-7 * largest).max(16.0 * noise)) {
            return Err(Error::NotAKernel(format!(
                "the kernel matrix has a negative eigenvalue ({lowest:.3e}, the largest is {largest:.3e}); \
                 a kernel must be positive semidefinite"
            )));
        }
        eigenvalues.iter_mut().for_each(|d| *d = if *d <= noise { 0.0 } else { *d });
        eigenvalues.reverse();
        let basis = match &reflection {
            Some(reflection) => reflection.expand_reversed(eigen.vectors),
            None => {
                let mut basis = eigen.vectors;
                reverse_columns(&mut basis);
                basis
            }
        };
        let constant = constant_image
            .map(|(own, image)| (own, multiply_transposed(&basis, &Matrix::column_vector(image)).into_vec()));
        Ok(Spectrum {
            constant,
            eigenvalues,
            basis: Basis::Double(basis),
            root_weights,
            weight_sum,
            offset,
            outside: vec![0.0; n],
            check: eigen.check,
            kind: Kind::Gram { size },
        })
    }

    /// The primal form for k(x, x′) = scale · xᵀx′ with fewer features than rows: the singular values of the
    /// centred features instead of an n × n matrix.
    pub fn from_linear(x: &Matrix, scale: f64, weights: Option<&[f64]>, offset: bool) -> Result<Self> {
        let (n, p) = (x.rows(), x.cols());
        check_size(scale * x.max_abs() * x.max_abs())?;
        let weight_sum = weights.map_or(n as f64, |w| w.iter().sum());
        let root_weights: Option<Vec<f64>> = weights.map(|w| w.iter().map(|x| x.sqrt()).collect());
        let weight = |i: usize| weights.map_or(1.0, |w| w[i]);
        let mean_features: Vec<f64> =
            (0..p)
                .map(|j| {
                    if offset { double::sum((0..n).map(|i| weight(i) * x.get(i, j))).value() / weight_sum } else { 0.0 }
                })
                .collect();
        let root = scale.sqrt();
        let scaled = Matrix::from_fn(n, p, |i, j| {
            root * (x.get(i, j) - mean_features[j]) * root_weights.as_ref().map_or(1.0, |s| s[i])
        });
        let constant_weights: Vec<f64> = mean_features.iter().map(|mean| root * weight_sum.sqrt() * mean).collect();
        let constant_own = constant_weights.iter().map(|v| v * v).sum::<f64>();
        let constant_image = multiply(&scaled, &Matrix::column_vector(constant_weights));
        let svd = linalg::thin_svd(scaled)?;
        let largest = svd.singular.first().copied().unwrap_or(0.0);
        // Directions that are rounding noise are left out: they carry no part of any f.
        let rank = svd.singular.iter().take_while(|s| **s > noise_level(n) * largest).count();
        let truncate = |m: &Matrix| Matrix::from_fn(m.rows(), rank, |i, j| m.get(i, j));
        let basis = truncate(&svd.left);
        let mut back = truncate(&svd.right);
        for j in 0..rank {
            let factor = root / svd.singular[j];
            back.col_mut(j).iter_mut().for_each(|v| *v *= factor);
        }
        let eigenvalues: Vec<f64> = svd.singular[..rank].iter().map(|s| s * s).collect();
        let outside = (0..n)
            .map(|i| {
                let inside: f64 = (0..rank).map(|k| basis.get(i, k) * basis.get(i, k)).sum();
                let whole = if offset { 1.0 - weight(i) / weight_sum } else { 1.0 };
                // The difference is only known to rounding; what is that small is nothing.
                if whole - inside > 1e-12 { whole - inside } else { 0.0 }
            })
            .collect();
        let kind = Kind::Linear { back, mean_features, scale };
        let constant = offset.then(|| (constant_own, multiply_transposed(&basis, &constant_image).into_vec()));
        let (basis, check) = (Basis::Double(basis), svd.check);
        Ok(Spectrum { constant, eigenvalues, basis, root_weights, weight_sum, offset, outside, check, kind })
    }

    /// From a factor, K = F Fᵀ with n × r numbers: the spectrum of the r × r matrix FᵀF. What it loses of the small
    /// eigenvalues is as small beside γ as the rounding of K. f is a linear function of F's columns.
    #[doc(hidden)]
    pub fn from_factor(factor: Matrix, weights: Option<&[f64]>, offset: bool) -> Result<Self> {
        let (n, r) = (factor.rows(), factor.cols());
        let weight_sum = weights.map_or(n as f64, |w| w.iter().sum());
        let root_weights: Option<Vec<f64>> = weights.map(|w| w.iter().map(|x| x.sqrt()).collect());
        let mut scaled = factor;
        let mut mean_features = vec![0.0; r];
        scaled.as_mut_slice().par_chunks_mut(n.max(1)).zip(&mut mean_features).for_each(|(column, mean)| {
            if offset {
                let sum: f64 = match weights {
                    Some(w) => column.iter().zip(w).map(|(f, w)| w * f).sum(),
                    None => column.iter().sum(),
                };
                *mean = sum / weight_sum;
                column.iter_mut().for_each(|f| *f -= *mean);
            }
            if let Some(s) = &root_weights {
                column.iter_mut().zip(s).for_each(|(f, s)| *f *= s);
            }
        });
        let turned = Turned::of(linalg::lower_square(&scaled), n)?;
        let basis = Basis::Double(linalg::multiply_in_place(scaled, &turned.turn));
        Ok(Spectrum::of_features(turned, basis, mean_features, root_weights, weight_sum, offset))
    }

    /// Of centred features with these means, whose basis is known.
    pub(super) fn of_features(
        turned: Turned,
        basis: Basis,
        mean_features: Vec<f64>,
        root_weights: Option<Vec<f64>>,
        weight_sum: f64,
        offset: bool,
    ) -> Self {
        let Turned { eigenvalues, turn, check } = turned;
        let mut outside = basis.row_squares();
        for (i, inside) in outside.iter_mut().enumerate() {
            let weight = root_weights.as_ref().map_or(1.0, |s| s[i] * s[i]);
            let whole = if offset { 1.0 - weight / weight_sum } else { 1.0 };
            *inside = if whole - *inside > 1e-12 { whole - *inside } else { 0.0 };
        }
        let kind = Kind::Linear { back: turn, mean_features, scale: 1.0 };
        Spectrum { eigenvalues, basis, root_weights, weight_sum, offset, outside, check, kind, constant: None }
    }

    /// Of a kernel on some points: in primal form for linear kernels with fewer features than rows.
    #[doc(hidden)]
    pub fn of_kernel(kernel: &dyn Kernel, points: &Points, weights: Option<&[f64]>, offset: bool) -> Result<Self> {
        match kernel.linear_scale().filter(|_| points.features() < points.rows()) {
            Some(scale) => Spectrum::from_linear(&points.to_matrix(), scale, weights, offset),
            None => Spectrum::from_gram(space::gram_lower(kernel, points), weights, offset),
        }
    }
}

/// FᵀF = V D Vᵀ for centred features F of n rows.
pub(super) struct Turned {
    /// D, descending, without what is rounding.
    pub eigenvalues: Vec<f64>,
    /// V D^(−½): the basis is F times this.
    pub turn: Matrix,
    pub check: DecompositionCheck,
}

impl Turned {
    /// From the lower triangle of FᵀF.
    pub fn of(square: Matrix, n: usize) -> Result<Self> {
        let r = square.rows();
        let eigen = linalg::eigen(square)?;
        let largest = eigen.values.last().copied().unwrap_or(0.0).max(0.0);
        let kept: Vec<usize> = (0..r).rev().filter(|k| eigen.values[*k] > noise_level(n) * largest).collect();
        let eigenvalues: Vec<f64> = kept.iter().map(|k| eigen.values[*k]).collect();
        let turn = Matrix::from_fn(r, kept.len(), |i, k| eigen.vectors.get(i, kept[k]) / eigenvalues[k].sqrt());
        Ok(Turned { eigenvalues, turn, check: eigen.check })
    }
}

/// ŝᵀAŝ and Aŝ for the unit vector along `direction`; the lower triangle of A is read.
pub(super) fn constant_image(a: &Matrix, direction: &[f64]) -> (f64, Vec<f64>) {
    let length = direction.iter().map(|x| x * x).sum::<f64>().sqrt();
    let unit: Vec<f64> = direction.iter().map(|x| x / length).collect();
    let image = linalg::multiply_lower(a, &Matrix::column_vector(unit.clone())).into_vec();
    (unit.iter().zip(&image).map(|(u, v)| u * v).sum(), image)
}

/// Eigenvalues below this share of the largest are rounding noise of the decomposition.
pub(super) fn noise_level(n: usize) -> f64 {
    (n as f64).sqrt().max(10.0) * f64::EPSILON
}

fn reverse_columns(matrix: &mut Matrix) {
    let (rows, cols) = (matrix.rows(), matrix.cols());
    let data = matrix.as_mut_slice();
    for j in 0..cols / 2 {
        let (left, right) = data.split_at_mut((cols - 1 - j) * rows);
        left[j * rows..(j + 1) * rows].swap_with_slice(&mut right[..rows]);
    }
}

/// I − 2uuᵀ, the reflection that maps a direction to the first axis. Its other columns are an orthonormal
/// basis of what is orthogonal to that direction.
pub(super) struct Reflection {
    u: Vec<f64>,
}

impl Reflection {
    pub fn to_first_axis(direction: &[f64]) -> Self {
        let length = direction.iter().map(|x| x * x).sum::<f64>().sqrt();
        let mut u: Vec<f64> = direction.iter().map(|x| x / length).collect();
        // All entries are positive, so adding has no cancellation: the image is −e₁.
        u[0] += 1.0;
        let length = u.iter().map(|x| x * x).sum::<f64>().sqrt();
        u.iter_mut().for_each(|x| *x /= length);
        Reflection { u }
    }

    /// The (n−1) × (n−1) block of (I − 2uuᵀ) A (I − 2uuᵀ) without first row and column; lower triangles.
    pub fn reduce(&self, a: Matrix) -> Matrix {
        let n = a.rows();
        let u = &self.u;
        let au = linalg::multiply_lower(&a, &Matrix::column_vector(u.clone())).into_vec();
        let uau: f64 = u.iter().zip(&au).map(|(a, b)| a * b).sum();
        let w: Vec<f64> = u.iter().zip(&au).map(|(u, au)| 2.0 * au - 2.0 * uau * u).collect();
        let mut data = a.into_vec();
        // Compact in place: column j + 1 without its first entry becomes column j.
        for j in 0..n - 1 {
            let (start, length) = (j * (n - 1) + j, n - 1 - j);
            data.copy_within((j + 1) * n + j + 1..(j + 2) * n, start);
            let column = &mut data[start..start + length];
            linalg::add_multiple(column, -w[j + 1], &u[j + 1..]);
            linalg::add_multiple(column, -u[j + 1], &w[j + 1..]);
        }
        data.truncate((n - 1) * (n - 1));
        Matrix::from_columns(n - 1, n - 1, data).expect("the size was just set")
    }

    /// Columns of the smaller space, written in the larger one, the last one first.
    fn expand_reversed(&self, small: Matrix) -> Matrix {
        let mut out = self.expand(small);
        reverse_columns(&mut out);
        out
    }

    /// The same in their order.
    pub fn expand(&self, small: Matrix) -> Matrix {
        let (n, cols) = (self.u.len(), small.cols());
        let mut data = small.into_vec();
        data.resize(n * cols, 0.0);
        // From the last one on each has its place beyond those that are still to be moved.
        for k in (0..cols).rev() {
            data.copy_within(k * (n - 1)..(k + 1) * (n - 1), k * n + 1);
            let column = &mut data[k * n..(k + 1) * n];
            let inner = linalg::dot(&self.u[1..], &column[1..]);
            column[0] = -2.0 * self.u[0] * inner;
            linalg::add_multiple(&mut column[1..], -2.0 * inner, &self.u[1..]);
        }
        Matrix::from_columns(n, cols, data).expect("the size was just set")
    }
}
