//! The ridge path of the data without a group of rows, from the decomposition of all rows.
//!
//! As for a single row (see `deleted`): at fixed γ the fit without the rows B equals the fit of all rows to
//! targets in which y_B is replaced by y_B − c, c = (G⁻¹_BB)⁻¹ (G⁻¹y)_B, and c is the held-out residual.
//! With z̃ = z − Q_Bᵀc the norm is N₋B = Σ d z̃²/(d + γ)². γ = (W − W_B)μ.
//!
//! γG⁻¹_BB = P_BB + Q_B diag(γ/(d + γ)) Q_Bᵀ, P the projection on the directions without eigenvalue, costs |B|²r to make and |B|³/3 to factor for each γ. Of a
//! group with more rows than there are directions (landmarks) it is I − U diag(d/(d + γ), 1) Uᵀ, U = [Q_B, s_B/√W], and its inverse
//! I + U (diag(1 + γ/d, 1) − UᵀU)⁻¹ Uᵀ: |B|r² once, then r³/3 for each γ, and nothing of the size |B|².

use super::curve::{Curve, CurvePoint};
use super::{Spectrum, Target};
use crate::linalg::{Cholesky, Matrix, multiply, multiply_by_transposed, multiply_transposed, weighted_square};

/// How far, in logarithms, γ is kept from the largest eigenvalue: G⁻¹_BB must have a Cholesky factor.
const LOWEST_LOG: f64 = 29.0;
const HIGHEST_LOG: f64 = 184.0;

/// The problem without a group of rows.
pub(crate) struct DeletedGroup<'a> {
    eigenvalues: &'a [f64],
    /// Q_B of the directions with an eigenvalue, |B| × r.
    basis_rows: Matrix,
    null: Null,
    roots: Vec<f64>,
    weight_left: f64,
    targets: Vec<GroupTarget>,
    power: i32,
}

/// The block BB of the projection on the directions without eigenvalue.
enum Null {
    Block(Matrix),
    /// I − UUᵀ, of which this is UᵀU; and s_B/√W, where there is an offset.
    Outside {
        gram: Matrix,
        constant: Option<Vec<f64>>,
    },
}

struct GroupTarget {
    z: Vec<f64>,
    /// The part of s∘y without eigenvalue: the group's rows, and the energy of all.
    null_rows: Vec<f64>,
    null_energy: f64,
    /// What the zero function leaves, for the group and for the rest.
    zero_residuals: Vec<f64>,
    zero_energy: f64,
    rounding: f64,
}

/// One solve at one γ.
struct AtGamma {
    inverse: Vec<f64>,
    factor: Option<Cholesky>,
}

impl<'a> DeletedGroup<'a> {
    /// `rows` must leave at least one other row.
    pub fn new(spectrum: &'a Spectrum, targets: &[&Target], rows: &[usize]) -> Self {
        let visible = spectrum.eigenvalues.iter().take_while(|d| **d > 0.0).count();
        let basis = &spectrum.basis;
        let all = Matrix::from_fn(rows.len(), basis.cols(), |i, k| basis.get(rows[i], k));
        let basis_rows = Matrix::from_fn(rows.len(), visible, |i, k| all.get(i, k));
        let root = |row: usize| spectrum.root_weights.as_ref().map_or(1.0, |s| s[row]);
        let roots: Vec<f64> = rows.iter().map(|row| root(*row)).collect();
        let weight: f64 = roots.iter().map(|s| s * s).sum();
        let weight_left = spectrum.weight_sum - weight;
        let is_full = basis.cols() + usize::from(spectrum.offset) == spectrum.rows();
        let constant = || {
            let size = spectrum.weight_sum.sqrt();
            spectrum.offset.then(|| roots.iter().map(|s| s / size).collect::<Vec<f64>>())
        };
        let null = if !is_full && rows.len() > visible {
            let constant = constant();
            Null::Outside { gram: outer_gram(&basis_rows, constant.as_deref()), constant }
        } else if is_full {
            let directions = Matrix::from_fn(rows.len(), basis.cols() - visible, |i, k| all.get(i, visible + k));
            Null::Block(multiply_by_transposed(&directions, &directions))
        } else {
            // Everything but the basis and, with an offset, the constant.
            let inside = multiply_by_transposed(&basis_rows, &basis_rows);
            Null::Block(Matrix::from_fn(rows.len(), rows.len(), |i, j| {
                let constant = if spectrum.offset { roots[i] * roots[j] / spectrum.weight_sum } else { 0.0 };
                f64::from(i == j) - constant - inside.get(i, j)
            }))
        };
        let power = targets.iter().map(|target| target.power).max().unwrap_or(0);
        let targets = targets
            .iter()
            .map(|target| {
                let by = target.power - power;
                let scaled = |v: f64| libm::ldexp(v, by);
                let z: Vec<f64> = target.z.iter().map(|v| scaled(*v)).collect();
                let null_rows: Vec<f64> = if is_full {
                    (0..rows.len()).map(|i| (visible..basis.cols()).map(|k| all.get(i, k) * z[k]).sum()).collect()
                } else {
                    rows.iter().map(|row| scaled(target.outside[*row])).collect()
                };
                let square = |values: &[f64]| values.iter().map(|v| scaled(*v) * scaled(*v)).sum::<f64>();
                let null_energy = z[visible..].iter().map(|v| v * v).sum::<f64>() + square(&target.outside);
                let centred: Vec<f64> = rows.iter().map(|row| scaled(target.centred[*row])).collect();
                // (I − ssᵀ/W)⁻¹ on the group.
                let sum: f64 = centred.iter().zip(&roots).map(|(c, s)| c * s).sum();
                let share = if spectrum.offset { sum / weight_left } else { 0.0 };
                let zero_residuals: Vec<f64> = centred.iter().zip(&roots).map(|(c, s)| c + share * s).collect();
                let energy = square(&target.centred);
                let removed: f64 = centred.iter().zip(&zero_residuals).map(|(a, b)| a * b).sum();
                let mean = 16.0 * f64::EPSILON * libm::ldexp(target.mean, -power);
                GroupTarget {
                    z,
                    null_rows,
                    null_energy,
                    zero_residuals,
                    zero_energy: (energy - removed).max(0.0),
                    rounding: 1e-28 * energy + mean * mean,
                }
            })
            .collect();
        DeletedGroup {
            eigenvalues: &spectrum.eigenvalues[..visible],
            basis_rows,
            null,
            roots,
            weight_left,
            targets,
            power,
        }
    }

    /// Residuals y − f₋B(x) of the group's rows, `[target][row]` in the targets' own units, of the fit with this
    /// log μ; `None` stands for the zero function.
    pub fn residuals(&self, log_ridge: Option<f64>) -> Vec<Vec<f64>> {
        match log_ridge {
            Some(t) => {
                let gamma = self.gamma(t);
                let at = self.factor(gamma);
                (0..self.targets.len()).map(|t| self.own_units(&self.residual(t, gamma, &at))).collect()
            }
            None => self.targets.iter().map(|target| self.own_units(&target.zero_residuals)).collect(),
        }
    }

    /// z̃/(d + γ) of the first target, in units of 2ᵏ: what f₋B is in the directions with an eigenvalue. Zeros for the zero
    /// function.
    pub fn fit(&self, log_ridge: Option<f64>) -> Vec<f64> {
        let Some(gamma) = log_ridge.map(|t| self.gamma(t)) else { return vec![0.0; self.eigenvalues.len()] };
        let at = self.factor(gamma);
        let c = self.residual(0, gamma, &at);
        let moved = multiply_transposed(&self.basis_rows, &Matrix::column_vector(c)).into_vec();
        let z = &self.targets[0].z;
        moved.iter().enumerate().map(|(k, moved)| (z[k] - moved) * at.inverse[k]).collect()
    }

    fn gamma(&self, t: f64) -> f64 {
        let log_largest = libm::log(self.largest());
        libm::exp((t + libm::log(self.weight_left)).clamp(log_largest - LOWEST_LOG, log_largest + HIGHEST_LOG))
    }

    fn largest(&self) -> f64 {
        self.eigenvalues.first().copied().unwrap_or(0.0).max(f64::MIN_POSITIVE)
    }

    /// γ G⁻¹_BB, factored; scaled by γ so that its entries stay near 1. Of a large group, what its inverse needs.
    fn factor(&self, gamma: f64) -> AtGamma {
        let inverse: Vec<f64> = self.eigenvalues.iter().map(|d| 1.0 / (d + gamma)).collect();
        let block = match &self.null {
            Null::Block(null) => {
                let weights: Vec<f64> = inverse.iter().map(|inverse| gamma * inverse).collect();
                let mut block = weighted_square(&self.basis_rows, &weights);
                block.as_mut_slice().iter_mut().zip(null.as_slice()).for_each(|(b, n)| *b += n);
                block
            }
            Null::Outside { gram, .. } => {
                let own = |k: usize| self.eigenvalues.get(k).map_or(1.0, |d| 1.0 + gamma / d);
                Matrix::from_fn(gram.rows(), gram.cols(), |i, j| if i == j { own(i) } else { 0.0 } - gram.get(i, j))
            }
        };
        AtGamma { inverse, factor: Cholesky::new(block) }
    }

    /// The projection on the directions without eigenvalue, of a vector of the group's rows, read at them.
    fn null_part(&self, v: &[f64]) -> Vec<f64> {
        match &self.null {
            Null::Block(null) => multiply(null, &Matrix::column_vector(v.to_vec())).into_vec(),
            Null::Outside { constant, .. } => {
                let inside = self.outer(self.outer_transposed(v, constant.as_deref()), constant.as_deref());
                v.iter().zip(inside).map(|(v, inside)| v - inside).collect()
            }
        }
    }

    /// Uᵀv.
    fn outer_transposed(&self, v: &[f64], constant: Option<&[f64]>) -> Vec<f64> {
        let mut coordinates = multiply_transposed(&self.basis_rows, &Matrix::column_vector(v.to_vec())).into_vec();
        coordinates.extend(constant.map(|s| s.iter().zip(v).map(|(s, v)| s * v).sum::<f64>()));
        coordinates
    }

    /// Ux.
    fn outer(&self, mut x: Vec<f64>, constant: Option<&[f64]>) -> Vec<f64> {
        let share = constant.and_then(|_| x.pop()).unwrap_or(0.0);
        let mut values = multiply(&self.basis_rows, &Matrix::column_vector(x)).into_vec();
        values.iter_mut().zip(constant.into_iter().flatten()).for_each(|(value, s)| *value += share * s);
        values
    }

    /// (G⁻¹_BB)⁻¹ v; NaN where G⁻¹_BB is singular to rounding.
    fn solve(&self, v: Vec<f64>, gamma: f64, at: &AtGamma) -> Vec<f64> {
        let Some(factor) = &at.factor else { return vec![f64::NAN; v.len()] };
        let mut column = match &self.null {
            Null::Block(_) => Matrix::column_vector(v.clone()),
            Null::Outside { constant, .. } => Matrix::column_vector(self.outer_transposed(&v, constant.as_deref())),
        };
        factor.solve(&mut column);
        if let Null::Outside { constant, .. } = &self.null {
            let more = self.outer(column.into_vec(), constant.as_deref());
            column = Matrix::column_vector(v.iter().zip(more).map(|(v, more)| v + more).collect());
        }
        column.as_mut_slice().iter_mut().for_each(|x| *x *= gamma);
        column.into_vec()
    }

    /// c of target `t` in scaled coordinates.
    fn residual(&self, t: usize, gamma: f64, at: &AtGamma) -> Vec<f64> {
        let target = &self.targets[t];
        let coordinates: Vec<f64> = target.z.iter().zip(&at.inverse).map(|(z, inverse)| z * inverse).collect();
        let mut dual = multiply(&self.basis_rows, &Matrix::column_vector(coordinates)).into_vec();
        dual.iter_mut().zip(&target.null_rows).for_each(|(a, n)| *a += n / gamma);
        self.solve(dual, gamma, at)
    }
}

/// UᵀU of U = [Q_B, s_B/√W].
fn outer_gram(basis_rows: &Matrix, constant: Option<&[f64]>) -> Matrix {
    let own = multiply_transposed(basis_rows, basis_rows);
    let Some(constant) = constant else { return own };
    let cross = multiply_transposed(basis_rows, &Matrix::column_vector(constant.to_vec())).into_vec();
    let square = constant.iter().map(|s| s * s).sum();
    let r = own.rows();
    Matrix::from_fn(r + 1, r + 1, |i, j| match (i < r, j < r) {
        (true, true) => own.get(i, j),
        (true, false) => cross[i],
        (false, true) => cross[j],
        (false, false) => square,
    })
}

impl DeletedGroup<'_> {
    /// The path at t = log μ and the residuals there, from one factorisation.
    pub fn at_with_residuals(&self, t: f64) -> (CurvePoint, Vec<Vec<f64>>) {
        let gamma = self.gamma(t);
        let at = self.factor(gamma);
        let (mut norm, mut shrunk, mut train) = (0.0, 0.0, 0.0);
        let mut residuals = Vec::with_capacity(self.targets.len());
        for (index, target) in self.targets.iter().enumerate() {
            let c = self.residual(index, gamma, &at);
            residuals.push(self.own_units(&c));
            let moved = multiply_transposed(&self.basis_rows, &Matrix::column_vector(c.clone())).into_vec();
            let u: Vec<f64> = (0..moved.len()).map(|k| (target.z[k] - moved[k]) * at.inverse[k]).collect();
            let null_change = self.null_part(&c);
            // The rows' own entries of G⁻¹ã must vanish too: their multiple of G⁻¹'s columns is taken out.
            let pulled: Vec<f64> = u.iter().zip(&at.inverse).map(|(u, inverse)| u * inverse).collect();
            let mut pull = multiply(&self.basis_rows, &Matrix::column_vector(pulled)).into_vec();
            for (i, p) in pull.iter_mut().enumerate() {
                *p += (target.null_rows[i] - null_change[i]) / gamma / gamma;
            }
            let kappa = self.solve(pull, gamma, &at);
            let back = multiply_transposed(&self.basis_rows, &Matrix::column_vector(kappa)).into_vec();
            for (k, d) in self.eigenvalues.iter().enumerate() {
                norm += d * u[k] * u[k];
                shrunk += gamma * d * u[k] * (u[k] - back[k]) * at.inverse[k];
                train += gamma * gamma * u[k] * u[k];
            }
            let cross: f64 = c.iter().zip(&target.null_rows).map(|(c, n)| c * n).sum();
            let square: f64 = c.iter().zip(&null_change).map(|(c, n)| c * n).sum();
            train += (target.null_energy - 2.0 * cross + square).max(0.0);
        }
        let log_gamma = t + libm::log(self.weight_left);
        let beyond = (libm::log(self.largest()) + HIGHEST_LOG - log_gamma).min(0.0);
        let point = CurvePoint {
            log_norm: libm::log(norm) + self.log_unit() + 2.0 * beyond,
            slope: (shrunk / norm).clamp(0.0, 1.0),
            train: train / self.weight_left,
        };
        (point, residuals)
    }

    fn own_units(&self, c: &[f64]) -> Vec<f64> {
        c.iter().zip(&self.roots).map(|(c, s)| libm::ldexp(c / s, self.power)).collect()
    }
}

impl Curve for DeletedGroup<'_> {
    fn at(&mut self, t: f64) -> CurvePoint {
        self.at_with_residuals(t).0
    }

    fn weight_sum(&self) -> f64 {
        self.weight_left
    }

    fn log_unit(&self) -> f64 {
        2.0 * f64::from(self.power) * std::f64::consts::LN_2
    }

    fn zero_train(&self) -> f64 {
        self.targets.iter().map(|target| target.zero_energy).sum::<f64>() / self.weight_left
    }

    fn log_tail(&self) -> f64 {
        let mut tail = 0.0;
        let mut rounding = 0.0;
        for target in &self.targets {
            let moved =
                multiply_transposed(&self.basis_rows, &Matrix::column_vector(target.zero_residuals.clone())).into_vec();
            let terms = self.eigenvalues.iter().zip(&target.z).zip(&moved);
            tail += terms.map(|((d, z), m)| d * (z - m) * (z - m)).sum::<f64>();
            rounding += target.rounding;
        }
        if tail <= self.largest() * rounding { f64::NEG_INFINITY } else { libm::log(tail) + self.log_unit() }
    }

    fn log_spread(&self) -> (f64, f64) {
        let log_largest = libm::log(self.largest());
        (log_largest, log_largest - LOWEST_LOG)
    }
}
