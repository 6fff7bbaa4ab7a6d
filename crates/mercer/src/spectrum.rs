//! One decomposition, from which every λ, every exponent, norms, degrees of freedom and leave-one-out follow.
//!
//! With row weights w, s = √w and W = Σw (n without weights), everything lives in scaled coordinates: the
//! matrix diag(s) K diag(s), the targets s∘y, and γ = Wμ in the place of nμ. An offset that no penalty touches
//! confines the problem to the directions orthogonal to s; the reduction to those is done *before* the
//! decomposition, since afterwards the constant direction's eigenvalue 0 mixes with K's own tiny ones.

mod banded;
mod deleted;
mod deleted_group;
pub(crate) mod interpolation;
mod path;
mod projection;
pub(crate) mod row_tables;
mod tabulated;

pub(crate) use banded::Banded;
pub(crate) use deleted::DeletedRow;
pub(crate) use deleted_group::DeletedGroup;
pub use path::Path;
pub(crate) use path::{Curve, CurvePoint, Remembered};
pub(crate) use projection::Projector;
pub(crate) use row_tables::RowTables;
pub(crate) use tabulated::{Grid, Tabulated};

use rayon::prelude::*;

use crate::error::{Error, Result};
use crate::kernel::{Kernel, Points};
use crate::linalg::{self, DecompositionCheck, Matrix, double, multiply, multiply_transposed};
use crate::space;

/// The decomposition diag(s) K diag(s) = Q D Qᵀ on the directions that the offset leaves.
#[derive(Debug, Clone)]
pub struct Spectrum {
    /// d, descending; rounding noise around 0 is set to 0.
    eigenvalues: Vec<f64>,
    /// Q, n × r.
    basis: Matrix,
    /// s = √w, or `None` for all ones.
    root_weights: Option<Vec<f64>>,
    weight_sum: f64,
    offset: bool,
    /// ‖P_null eᵢ‖²: the share of row i outside the basis (0 throughout when r is full).
    outside: Vec<f64>,
    check: DecompositionCheck,
    kind: Kind,
    /// With an offset: the constant direction's own entry of the matrix, and its entries with the basis.
    constant: Option<(f64, Vec<f64>)>,
}

/// What else is needed to come back from the basis to a function.
#[derive(Debug, Clone)]
enum Kind {
    /// A bound of the norm of the matrix before centring.
    Gram { size: f64 },
    /// V/σ, p × r: coefficients = V σ⁻¹ d/(d+γ) z; and the weighted mean of each feature.
    Linear { back: Matrix, mean_features: Vec<f64>, scale: f64 },
}

/// A target in the coordinates of a [`Spectrum`].
#[derive(Debug, Clone)]
pub struct Target {
    /// z = Qᵀ(s∘y)·2⁻ᵏ.
    pub(crate) z: Vec<f64>,
    /// The part of s∘y·2⁻ᵏ outside the basis (and orthogonal to s if there is an offset), row by row.
    pub(crate) outside: Vec<f64>,
    /// P(s∘y)·2⁻ᵏ, row by row: what the zero function leaves.
    pub(crate) centred: Vec<f64>,
    /// k: targets are divided by a power of two near their largest value, so that squares stay in range.
    pub(crate) power: i32,
    /// Weighted mean of y (0 without an offset).
    pub(crate) mean: f64,
}

impl Target {
    /// z = Qᵀ(s∘y), in the target's own units.
    pub fn coordinates(&self) -> Vec<f64> {
        self.z.iter().map(|z| libm::ldexp(*z, self.power)).collect()
    }
}

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
        let mut basis = match &reflection {
            Some(reflection) => reflection.expand(&eigen.vectors),
            None => eigen.vectors,
        };
        eigenvalues.reverse();
        reverse_columns(&mut basis);
        let constant = constant_image
            .map(|(own, image)| (own, multiply_transposed(&basis, &Matrix::column_vector(image)).into_vec()));
        Ok(Spectrum {
            constant,
            eigenvalues,
            basis,
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
        Ok(Spectrum { constant, eigenvalues, basis, root_weights, weight_sum, offset, outside, check: svd.check, kind })
    }

    /// From a factor, K = F Fᵀ with n × r numbers: the spectrum of the r × r matrix FᵀF. What it loses of the small
    /// eigenvalues is as small beside γ as the rounding of K. f is a linear function of F's columns.
    pub(crate) fn from_factor(factor: Matrix, weights: Option<&[f64]>, offset: bool) -> Result<Self> {
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
        let eigen = linalg::eigen(linalg::lower_square(&scaled))?;
        let largest = eigen.values.last().copied().unwrap_or(0.0).max(0.0);
        let kept: Vec<usize> = (0..r).rev().filter(|k| eigen.values[*k] > noise_level(n) * largest).collect();
        let eigenvalues: Vec<f64> = kept.iter().map(|k| eigen.values[*k]).collect();
        let turn = Matrix::from_fn(r, kept.len(), |i, k| eigen.vectors.get(i, kept[k]) / eigenvalues[k].sqrt());
        let basis = linalg::multiply_in_place(scaled, &turn);
        let mut outside = vec![0.0; n];
        outside.par_chunks_mut(ROW_TILE).enumerate().for_each(|(tile, outside)| {
            let start = tile * ROW_TILE;
            // Column by column, as they lie in memory.
            for k in 0..basis.cols() {
                let column = &basis.col(k)[start..start + outside.len()];
                outside.iter_mut().zip(column).for_each(|(inside, q)| *inside += q * q);
            }
            for (i, inside) in outside.iter_mut().enumerate() {
                let weight = weights.map_or(1.0, |w| w[start + i]);
                let whole = if offset { 1.0 - weight / weight_sum } else { 1.0 };
                *inside = if whole - *inside > 1e-12 { whole - *inside } else { 0.0 };
            }
        });
        let kind = Kind::Linear { back: turn, mean_features, scale: 1.0 };
        let check = eigen.check;
        Ok(Spectrum { eigenvalues, basis, root_weights, weight_sum, offset, outside, check, kind, constant: None })
    }

    /// Of a kernel on some points: in primal form for linear kernels with fewer features than rows.
    pub(crate) fn of_kernel(
        kernel: &dyn Kernel,
        points: &Points,
        weights: Option<&[f64]>,
        offset: bool,
    ) -> Result<Self> {
        match kernel.linear_scale().filter(|_| points.features() < points.rows()) {
            Some(scale) => Spectrum::from_linear(&points.to_matrix(), scale, weights, offset),
            None => Spectrum::from_gram(space::gram_lower(kernel, points), weights, offset),
        }
    }

    /// The eigenvalues d of the (weighted, centred) Gram matrix, descending.
    pub fn eigenvalues(&self) -> &[f64] {
        &self.eigenvalues
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.basis.rows()
    }

    /// W = Σ wᵢ (n without weights).
    pub fn weight_sum(&self) -> f64 {
        self.weight_sum
    }

    /// Whether the model has an offset that no penalty touches.
    pub fn has_offset(&self) -> bool {
        self.offset
    }

    /// What the run-time check of the decomposition found.
    pub fn check(&self) -> DecompositionCheck {
        self.check
    }

    /// The largest eigenvalue.
    pub fn largest(&self) -> f64 {
        self.eigenvalues.first().copied().unwrap_or(0.0)
    }

    /// A target in the coordinates of this decomposition.
    pub fn target(&self, y: &[f64]) -> Result<Target> {
        let n = self.rows();
        if y.len() != n {
            return Err(Error::shape("y", format!("one number per row ({n})"), y.len()));
        }
        let size = y.iter().fold(0.0, |max: f64, v| max.max(v.abs()));
        let power = if size > 0.0 { linalg::exponent_of(size) } else { 0 };
        let root = |i: usize| self.root_weights.as_ref().map_or(1.0, |s| s[i]);
        let scaled: Vec<f64> = y.iter().map(|v| libm::ldexp(*v, -power)).collect();
        let mean = if self.offset {
            let weighted = scaled.iter().enumerate().map(|(i, v)| root(i) * root(i) * v);
            double::sum(weighted).value() / self.weight_sum
        } else {
            0.0
        };
        // y − mean before any product: with a large offset the products would lose its digits.
        let mut centred: Vec<f64> = scaled.iter().enumerate().map(|(i, v)| root(i) * (v - mean)).collect();
        // A constant target leaves rounding, not energy.
        if self.offset && scaled.iter().all(|v| (v - mean).abs() <= 16.0 * f64::EPSILON) {
            centred.fill(0.0);
        }
        let column = Matrix::column_vector(centred.clone());
        let z = multiply_transposed(&self.basis, &column);
        let full = self.basis.cols() + usize::from(self.offset) == n;
        let outside = if full {
            vec![0.0; n]
        } else {
            let inside = multiply(&self.basis, &z);
            centred.iter().zip(inside.as_slice()).map(|(a, b)| a - b).collect()
        };
        Ok(Target { z: z.as_slice().to_vec(), outside, centred, power, mean: libm::ldexp(mean, power) })
    }

    /// The ridge path of one target, or of several that share one effective ridge.
    pub fn path(&self, targets: &[&Target]) -> Path {
        let mut energies = vec![0.0; self.eigenvalues.len()];
        // Targets of different size are brought to the largest one's unit.
        let power = targets.iter().map(|target| target.power).max().unwrap_or(0);
        let mut outside = 0.0;
        let mut centred = 0.0;
        for target in targets {
            let unit = libm::ldexp(1.0, target.power - power);
            for (energy, z) in energies.iter_mut().zip(&target.z) {
                *energy += (unit * z) * (unit * z);
            }
            outside += target.outside.iter().map(|v| (unit * v) * (unit * v)).sum::<f64>();
            centred += target.centred.iter().map(|v| (unit * v) * (unit * v)).sum::<f64>();
        }
        Path::new(&self.eigenvalues, &energies, outside, centred, self.weight_sum, self.offset, power)
    }

    /// G⁻¹ of a vector in scaled coordinates, restricted to the basis: Q (D + γ)⁻¹ Qᵀ v + (v outside)/γ.
    pub(crate) fn solve_scaled(&self, v: &[f64], gamma: f64) -> Vec<f64> {
        let column = Matrix::column_vector(v.to_vec());
        let mut coordinates = multiply_transposed(&self.basis, &column);
        let full = self.basis.cols() + usize::from(self.offset) == self.rows();
        let outside: Option<Vec<f64>> = (!full).then(|| {
            let inside = multiply(&self.basis, &coordinates);
            v.iter().zip(inside.as_slice()).map(|(a, b)| (a - b) / gamma).collect()
        });
        for (c, d) in coordinates.as_mut_slice().iter_mut().zip(&self.eigenvalues) {
            *c = self.divide(*c, *d, gamma);
        }
        let mut solved = multiply(&self.basis, &coordinates).as_slice().to_vec();
        if let Some(outside) = outside {
            solved.iter_mut().zip(outside).for_each(|(a, b)| *a += b);
        }
        solved
    }

    /// α of the ridge solution at γ = Wμ (in the target's own units), original coordinates.
    pub(crate) fn dual(&self, target: &Target, gamma: f64) -> Vec<f64> {
        let coordinates: Vec<f64> =
            target.z.iter().zip(&self.eigenvalues).map(|(z, d)| self.divide(*z, *d, gamma)).collect();
        let mut beta = multiply(&self.basis, &Matrix::column_vector(coordinates)).as_slice().to_vec();
        if !self.is_truncated_at(gamma) {
            beta.iter_mut().zip(&target.outside).for_each(|(b, o)| *b += o / gamma);
        }
        self.unscale(&mut beta);
        beta.iter_mut().for_each(|b| *b = libm::ldexp(*b, target.power));
        beta
    }

    /// α at several γ (none stands for the zero function), n × γ, without row weights: one product for all.
    pub(crate) fn duals(&self, target: &Target, gammas: &[Option<f64>]) -> Matrix {
        let coordinates = Matrix::from_fn(self.eigenvalues.len(), gammas.len(), |k, l| {
            gammas[l].map_or(0.0, |gamma| self.divide(target.z[k], self.eigenvalues[k], gamma))
        });
        let mut alpha = multiply(&self.basis, &coordinates);
        for (l, gamma) in gammas.iter().enumerate() {
            let outside = gamma.filter(|gamma| !self.is_truncated_at(*gamma)).map_or(0.0, |gamma| 1.0 / gamma);
            for (a, o) in alpha.col_mut(l).iter_mut().zip(&target.outside) {
                *a = libm::ldexp(*a + o * outside, target.power);
            }
        }
        alpha
    }

    /// The smallest positive eigenvalue; 0 if there is none.
    pub(crate) fn smallest_positive(&self) -> f64 {
        self.eigenvalues.iter().rev().copied().find(|d| *d > 0.0).unwrap_or(0.0)
    }

    /// ‖z/(d + γ)‖ over the directions with an eigenvalue, in the target's own units.
    pub(crate) fn visible_dual_size(&self, target: &Target, gamma: f64) -> f64 {
        let terms = target.z.iter().zip(&self.eigenvalues).filter(|(_, d)| **d > 0.0);
        let sum: f64 = terms.map(|(z, d)| z / (d + gamma)).map(|v| v * v).sum();
        libm::ldexp(sum.sqrt(), target.power)
    }

    /// Whether γ is so small that directions without eigenvalue are left out of α. They are part of no
    /// function, but their coefficients z/γ would carry the rounding of K into the predictions.
    pub(crate) fn is_truncated_at(&self, gamma: f64) -> bool {
        gamma <= 1e-8 * self.largest()
    }

    /// c/(d + γ), or 0 in a direction that is left out.
    fn divide(&self, c: f64, d: f64, gamma: f64) -> f64 {
        if d == 0.0 && self.is_truncated_at(gamma) { 0.0 } else { c / (d + gamma) }
    }

    /// The part of a vector in scaled coordinates that lies in directions with an eigenvalue.
    pub(crate) fn visible_part(&self, v: &[f64]) -> Vec<f64> {
        let mut coordinates = multiply_transposed(&self.basis, &Matrix::column_vector(v.to_vec()));
        for (c, d) in coordinates.as_mut_slice().iter_mut().zip(&self.eigenvalues) {
            *c = if *d == 0.0 { 0.0 } else { *c };
        }
        multiply(&self.basis, &coordinates).into_vec()
    }

    /// From scaled coordinates β to α = s∘β.
    pub(crate) fn unscale(&self, beta: &mut [f64]) {
        if let Some(s) = &self.root_weights {
            beta.iter_mut().zip(s).for_each(|(b, si)| *b *= si);
        }
    }

    /// Coefficients and offset of the linear function at γ = Wμ, in the target's own units; nothing when this
    /// spectrum came from a Gram matrix.
    pub(crate) fn linear_coefficients(&self, target: &Target, gamma: f64) -> (Vec<f64>, f64) {
        let Kind::Linear { back, mean_features, .. } = &self.kind else { return (Vec::new(), 0.0) };
        let coordinates: Vec<f64> =
            target.z.iter().zip(&self.eigenvalues).map(|(z, d)| z * (d / (d + gamma))).collect();
        let mut coefficients = multiply(back, &Matrix::column_vector(coordinates)).as_slice().to_vec();
        coefficients.iter_mut().for_each(|c| *c = libm::ldexp(*c, target.power));
        let offset =
            if self.offset { -double::dot(mean_features, &coefficients).add(-target.mean).value() } else { 0.0 };
        (coefficients, offset)
    }

    /// (FᵀF + γ)⁻¹ b for the centred features F of a primal spectrum, on the directions that they span.
    pub(crate) fn solve_features(&self, b: &[f64], gamma: f64) -> Vec<f64> {
        let Kind::Linear { back, .. } = &self.kind else { return vec![0.0; b.len()] };
        let mut coordinates = multiply_transposed(back, &Matrix::column_vector(b.to_vec()));
        for (c, d) in coordinates.as_mut_slice().iter_mut().zip(&self.eigenvalues) {
            *c *= d / (d + gamma);
        }
        multiply(back, &coordinates).into_vec()
    }

    /// The mean of a linear function of the features of a primal spectrum (0 without an offset).
    pub(crate) fn mean_of_features(&self, coefficients: &[f64]) -> f64 {
        match &self.kind {
            Kind::Linear { mean_features, .. } => double::dot(mean_features, coefficients).value(),
            Kind::Gram { .. } => 0.0,
        }
    }

    /// The factor in k = factor · xᵀx′, for a primal spectrum.
    pub(crate) fn linear_scale(&self) -> Option<f64> {
        match &self.kind {
            Kind::Linear { scale, .. } => Some(*scale),
            Kind::Gram { .. } => None,
        }
    }

    /// A bound of ‖K‖ in scaled coordinates, before centring: what rounding is measured against.
    pub(crate) fn size(&self) -> f64 {
        match &self.kind {
            Kind::Gram { size } => *size,
            Kind::Linear { .. } => self.largest(),
        }
    }

    /// Q, n × r.
    pub(crate) fn basis(&self) -> &Matrix {
        &self.basis
    }

    /// wᵢ.
    pub(crate) fn weight(&self, row: usize) -> f64 {
        self.root_weights.as_ref().map_or(1.0, |s| s[row] * s[row])
    }

    /// With an offset: ln det G − ln det of G on the directions that it leaves, the logarithm of a Schur complement.
    pub(crate) fn log_constant_pivot(&self, gamma: f64) -> f64 {
        let Some((own, with_basis)) = &self.constant else { return 0.0 };
        let taken: f64 = with_basis.iter().zip(&self.eigenvalues).map(|(c, d)| c * c / (d + gamma)).sum();
        libm::log((own + gamma - taken).max(gamma))
    }

    /// New rows in the coordinates of this spectrum: f − b = M z/(d + γ), from k(new, training) (u × n) and the
    /// training rows' own matrix, or from the features of a linear kernel.
    pub(crate) fn project(&self, cross: Matrix, training_mean: &[f64]) -> Matrix {
        let mut cross = cross;
        for j in 0..cross.cols() {
            let (mean, root) =
                (if self.offset { training_mean[j] } else { 0.0 }, self.root_weights.as_ref().map_or(1.0, |s| s[j]));
            cross.col_mut(j).iter_mut().for_each(|k| *k = (*k - mean) * root);
        }
        multiply(&cross, &self.basis)
    }

    /// s = √w, or `None` without weights.
    pub(crate) fn root_weights(&self) -> Option<&[f64]> {
        self.root_weights.as_deref()
    }

    /// Calls `body` once per row with that row left out; rows go in blocks, in parallel, and the results come
    /// back in the rows' order. `None` where nothing would be left to learn an offset from.
    pub(crate) fn for_each_deleted_row<R: Send>(
        &self,
        targets: &[&Target],
        body: impl Fn(DeletedRow<'_>) -> R + Sync,
    ) -> Option<Vec<R>> {
        const BLOCK: usize = 32;
        let n = self.rows();
        if n < 2 && self.offset {
            return None;
        }
        let power = targets.iter().map(|target| target.power).max().unwrap_or(0);
        let totals = deleted::Totals::new(targets, power);
        let rank = self.eigenvalues.len();
        let starts: Vec<usize> = (0..n).step_by(BLOCK).collect();
        let blocks: Vec<Vec<R>> = starts
            .into_par_iter()
            .map(|start| {
                let height = BLOCK.min(n - start);
                let mut rows = vec![0.0; height * rank];
                for k in 0..rank {
                    let column = &self.basis.col(k)[start..start + height];
                    for (i, q) in column.iter().enumerate() {
                        rows[i * rank + k] = *q;
                    }
                }
                let visible = self.eigenvalues.iter().take_while(|d| **d > 0.0).count();
                for row in rows.chunks_mut(rank.max(1)) {
                    forget_rounding(&mut row[visible..]);
                }
                (0..height)
                    .map(|i| {
                        let row = start + i;
                        let weight = self.root_weights.as_ref().map_or(1.0, |s| s[row] * s[row]);
                        body(DeletedRow::new(
                            row,
                            &self.eigenvalues,
                            &rows[i * rank..(i + 1) * rank],
                            self.outside[row],
                            weight,
                            self.weight_sum,
                            self.offset,
                            &totals,
                        ))
                    })
                    .collect()
            })
            .collect();
        Some(blocks.into_iter().flatten().collect())
    }
}

/// A row that has no part in the directions without eigenvalue has rounding there; divided by a tiny γ, that
/// would outweigh everything else.
fn forget_rounding(null_part: &mut [f64]) {
    if forget_rounding_squares(null_part) == 0.0 {
        null_part.fill(0.0);
    }
}

/// Its sum of squares, 0 where that is rounding.
fn forget_rounding_squares(null_part: &[f64]) -> f64 {
    let sum: f64 = null_part.iter().map(|q| q * q).sum();
    if sum < 1e-26 { 0.0 } else { sum }
}

/// ŝᵀAŝ and Aŝ for the unit vector along `direction`; the lower triangle of A is read.
fn constant_image(a: &Matrix, direction: &[f64]) -> (f64, Vec<f64>) {
    let length = direction.iter().map(|x| x * x).sum::<f64>().sqrt();
    let unit: Vec<f64> = direction.iter().map(|x| x / length).collect();
    let image = linalg::multiply_lower(a, &Matrix::column_vector(unit.clone())).into_vec();
    (unit.iter().zip(&image).map(|(u, v)| u * v).sum(), image)
}

/// Rows that a task treats together.
const ROW_TILE: usize = 1024;

/// Eigenvalues below this share of the largest are rounding noise of the decomposition.
fn noise_level(n: usize) -> f64 {
    (n as f64).sqrt().max(10.0) * f64::EPSILON
}

/// The spectrum squares what it is given; sizes must leave room for that.
pub(crate) fn check_size(size: f64) -> Result<()> {
    if size.is_finite() && (size == 0.0 || (1e-60..=1e60).contains(&size)) {
        return Ok(());
    }
    Err(Error::NotAKernel(format!(
        "kernel values reach {size:e}; they must stay between 1e-60 and 1e60 (scale the features)"
    )))
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
struct Reflection {
    u: Vec<f64>,
}

impl Reflection {
    fn to_first_axis(direction: &[f64]) -> Self {
        let length = direction.iter().map(|x| x * x).sum::<f64>().sqrt();
        let mut u: Vec<f64> = direction.iter().map(|x| x / length).collect();
        // All entries are positive, so adding has no cancellation: the image is −e₁.
        u[0] += 1.0;
        let length = u.iter().map(|x| x * x).sum::<f64>().sqrt();
        u.iter_mut().for_each(|x| *x /= length);
        Reflection { u }
    }

    /// The (n−1) × (n−1) block of (I − 2uuᵀ) A (I − 2uuᵀ) without first row and column; lower triangles.
    fn reduce(&self, a: Matrix) -> Matrix {
        let n = a.rows();
        let u = &self.u;
        let au = linalg::multiply_lower(&a, &Matrix::column_vector(u.clone())).into_vec();
        let uau: f64 = u.iter().zip(&au).map(|(a, b)| a * b).sum();
        let w: Vec<f64> = u.iter().zip(&au).map(|(u, au)| 2.0 * au - 2.0 * uau * u).collect();
        let mut data = a.into_vec();
        // Compact in place: column j + 1 without its first entry becomes column j.
        for j in 0..n - 1 {
            for i in j..n - 1 {
                let (row, col) = (i + 1, j + 1);
                data[j * (n - 1) + i] = data[col * n + row] - u[row] * w[col] - w[row] * u[col];
            }
        }
        data.truncate((n - 1) * (n - 1));
        Matrix::from_columns(n - 1, n - 1, data).expect("the size was just set")
    }

    /// Columns of the smaller space, written in the larger one.
    fn expand(&self, small: &Matrix) -> Matrix {
        let n = self.u.len();
        let mut out = Matrix::zeros(n, small.cols());
        for k in 0..small.cols() {
            let source = small.col(k);
            let inner: f64 = self.u[1..].iter().zip(source).map(|(u, v)| u * v).sum();
            let column = out.col_mut(k);
            column[0] = -2.0 * self.u[0] * inner;
            for i in 1..n {
                column[i] = source[i - 1] - 2.0 * self.u[i] * inner;
            }
        }
        out
    }
}
