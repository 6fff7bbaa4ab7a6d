//! H⁻¹ for H = AᵀA + μΓᵀΓ, well enough for a step: by a factor of H, by one of AAᵀ + μ, or by conjugate gradients.

use std::sync::OnceLock;

use super::{Centred, bend_twice};
use crate::linalg::{Cholesky, Matrix, multiply_transposed};
use crate::term::penalty::Gamma;

/// Rows and columns up to which a matrix is factored.
const MOST_FACTORED: usize = 2048;
/// Multiplications that a matrix may cost.
const MOST_WORK: f64 = 2e9;
/// Iterations of one solution by conjugate gradients, and the share of the right side at which it ends.
const MOST_ITERATIONS: usize = 3000;
const ENOUGH: f64 = 1e-8;

pub(super) struct Inverse<'a> {
    rows: &'a Centred<'a>,
    gamma: &'a Gamma,
    ridge: f64,
    way: Way,
}

enum Way {
    /// A factor of H, and √(H⁻¹)ⱼⱼ once it was asked for.
    Columns(Cholesky, OnceLock<Vec<f64>>),
    /// A factor of AAᵀ + μ, for Γ = 1.
    Rows(Cholesky),
    /// Conjugate gradients, preconditioned by the diagonal of H.
    Iterate(Vec<f64>),
}

impl<'a> Inverse<'a> {
    /// `None` if Γ is any matrix and H has no factor, or too large a one.
    pub fn new(rows: &'a Centred<'a>, gamma: &'a Gamma, ridge: f64) -> Option<Self> {
        let (n, p) = (rows.x.rows(), rows.x.cols());
        let squares = |counts: &mut dyn Iterator<Item = usize>| counts.map(|count| (count as f64).powi(2)).sum::<f64>();
        let work_of_columns = squares(&mut (0..n).map(|i| rows.x.row(i).0.len()));
        let work_of_rows = squares(&mut (0..p).map(|j| rows.x.col(j).0.len()));
        let is_any = matches!(gamma, Gamma::Matrix(_));
        let by_columns =
            || Cholesky::new(square_of_columns(rows, gamma, ridge)).map(|factor| Way::Columns(factor, OnceLock::new()));
        let by_rows = || Cholesky::new(square_of_rows(rows, ridge)).map(Way::Rows);
        let has_factor = p <= MOST_FACTORED && work_of_columns <= MOST_WORK;
        let way = if is_any {
            has_factor.then(by_columns)??
        } else if *gamma == Gamma::Identity && n < p && n <= MOST_FACTORED && work_of_rows <= MOST_WORK {
            by_rows().unwrap_or_else(|| Way::Iterate(diagonal(rows, gamma, ridge)))
        } else if has_factor {
            by_columns().unwrap_or_else(|| Way::Iterate(diagonal(rows, gamma, ridge)))
        } else {
            Way::Iterate(diagonal(rows, gamma, ridge))
        };
        Some(Inverse { rows, gamma, ridge, way })
    }

    /// H⁻¹ v, nearly.
    pub fn apply(&self, v: &[f64], go_on: &(dyn Fn() -> bool + Sync)) -> Vec<f64> {
        match &self.way {
            Way::Columns(factor, _) => {
                let mut out = Matrix::column_vector(v.to_vec());
                factor.solve(&mut out);
                out.into_vec()
            }
            Way::Rows(factor) => {
                let mut inner = Matrix::column_vector(self.rows.multiply(v));
                factor.solve(&mut inner);
                let back = self.rows.multiply_transposed(inner.col(0));
                v.iter().zip(&back).map(|(v, back)| (v - back) / self.ridge).collect()
            }
            Way::Iterate(diagonal) => self.conjugate_gradients(v, diagonal, go_on),
        }
    }

    /// √(H⁻¹)ⱼⱼ, where a factor of H is at hand.
    pub fn deviations(&self) -> Option<&[f64]> {
        match &self.way {
            Way::Columns(factor, known) => {
                Some(known.get_or_init(|| factor.inverse_diagonal().into_iter().map(f64::sqrt).collect()))
            }
            _ => None,
        }
    }

    fn multiply(&self, v: &[f64]) -> Vec<f64> {
        let mut out = self.rows.multiply_transposed(&self.rows.multiply(v));
        out.iter_mut().zip(bend_twice(self.gamma, v)).for_each(|(out, bent)| *out += self.ridge * bent);
        out
    }

    fn conjugate_gradients(&self, v: &[f64], diagonal: &[f64], go_on: &(dyn Fn() -> bool + Sync)) -> Vec<f64> {
        let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
        let precondition = |r: &[f64]| r.iter().zip(diagonal).map(|(r, d)| r / d).collect::<Vec<f64>>();
        let mut solution = vec![0.0; v.len()];
        let mut residual = v.to_vec();
        let mut nearer = precondition(&residual);
        let mut direction = nearer.clone();
        let mut size = dot(&residual, &nearer);
        let enough = ENOUGH * ENOUGH * size;
        for _ in 0..MOST_ITERATIONS {
            if !(size > enough) || !go_on() {
                break;
            }
            let image = self.multiply(&direction);
            let step = size / dot(&direction, &image);
            if !step.is_finite() {
                break;
            }
            for k in 0..v.len() {
                solution[k] += step * direction[k];
                residual[k] -= step * image[k];
            }
            nearer = precondition(&residual);
            let next = dot(&residual, &nearer);
            let share = next / size;
            size = next;
            direction.iter_mut().zip(&nearer).for_each(|(d, near)| *d = near + share * *d);
        }
        solution
    }
}

/// AᵀA + μΓᵀΓ, lower triangle.
fn square_of_columns(rows: &Centred<'_>, gamma: &Gamma, ridge: f64) -> Matrix {
    let p = rows.x.cols();
    let mut out = rows.x.square_of_columns();
    let penalty = penalty_square(gamma, p);
    for j in 0..p {
        for i in j..p {
            let centring = rows.total * rows.means[i] * rows.means[j];
            out.set(i, j, out.get(i, j) - centring + ridge * penalty.get(i, j));
        }
    }
    out
}

/// ΓᵀΓ.
fn penalty_square(gamma: &Gamma, p: usize) -> Matrix {
    if let Gamma::Matrix(matrix) = gamma {
        return multiply_transposed(matrix, matrix);
    }
    let mut out = Matrix::zeros(p, p);
    let mut unit = vec![0.0; p];
    for j in 0..p {
        unit[j] = 1.0;
        out.col_mut(j).copy_from_slice(&bend_twice(gamma, &unit));
        unit[j] = 0.0;
    }
    out
}

/// AAᵀ + μ, lower triangle.
fn square_of_rows(rows: &Centred<'_>, ridge: f64) -> Matrix {
    let n = rows.x.rows();
    let mut out = rows.x.square_of_rows();
    let along = rows.x.multiply(&rows.means);
    let own: f64 = rows.means.iter().map(|mean| mean * mean).sum();
    for j in 0..n {
        for i in j..n {
            let centring = rows.roots[i] * (own * rows.roots[j] - along[j]) - along[i] * rows.roots[j];
            out.set(i, j, out.get(i, j) + centring + if i == j { ridge } else { 0.0 });
        }
    }
    out
}

/// The diagonal of H, nowhere 0.
fn diagonal(rows: &Centred<'_>, gamma: &Gamma, ridge: f64) -> Vec<f64> {
    let p = rows.x.cols();
    let of_penalty = |j: usize| match gamma {
        Gamma::Identity | Gamma::Matrix(_) => 1.0,
        Gamma::FirstDifferences => f64::from(u8::from(j > 0) + u8::from(j + 1 < p)),
        Gamma::SecondDifferences => {
            let has = |start: Option<usize>| start.is_some_and(|start| start + 2 < p);
            f64::from(u8::from(has(Some(j))) + 4 * u8::from(has(j.checked_sub(1))) + u8::from(has(j.checked_sub(2))))
        }
    };
    let of_rows = |j: usize| {
        rows.x.col(j).1.iter().map(|value| value * value).sum::<f64>() - rows.total * rows.means[j] * rows.means[j]
    };
    let mut out: Vec<f64> = (0..p).map(|j| of_rows(j).max(0.0) + ridge * of_penalty(j)).collect();
    let least = 1e-14 * out.iter().fold(f64::MIN_POSITIVE, |max: f64, d| max.max(*d));
    out.iter_mut().for_each(|d| *d = d.max(least));
    out
}
