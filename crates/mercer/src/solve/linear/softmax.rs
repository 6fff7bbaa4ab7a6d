//! Several classes at once, linear in the features: min (1/W) Σ wᵢ (ln Σ_c exp v_c − v_y) + λ Σ_c ‖w_c‖², v_c = xᵀw_c + b_c.
//!
//! Newton's method on all (p + 1)k coefficients. With p_c the softmax shares the Hessian's blocks are B_cd = −Xᵀdiag(w p_c p_d)X and
//! B_cc = −Σ_d B_cd: every entry is a sum of terms of one sign. A function common to all classes changes no loss; Σ_c w_c = 0 and
//! Σ_c b_c = 0 hold throughout, and the Hessian gets curvature along such functions so that it can be factored. A step costs
//! k(k − 1)/2 products XᵀDX and one Cholesky factor. It ends when the duality gap is small enough, with the dual point of
//! [`make_feasible`].

use super::Features;
use super::features::add_scaled;
use super::margin::hessian::{factor, normal_matrix};
use crate::base::error::{Error, Result};
use crate::linalg::Matrix;
use crate::solve::convex::multinomial::shares::{entropy, loss_and_slopes, make_feasible};

/// Most coefficients of all classes together: the Hessian is a square matrix of so many rows.
const MOST_COEFFICIENTS: usize = 2000;
const MOST_STEPS: usize = 300;

/// Whether the coefficients are few enough for this solver.
pub(crate) fn suits(features: usize, classes: usize) -> bool {
    (features + 1).saturating_mul(classes) <= MOST_COEFFICIENTS
}

/// Bytes beside the features and the values: the Hessian, its factor and a copy.
pub(crate) fn bytes(features: usize, classes: usize) -> u64 {
    let size = (features as u64 + 1).saturating_mul(classes as u64);
    size.saturating_mul(size).saturating_mul(24)
}

pub(crate) struct Softmax<'a> {
    pub x: &'a Features,
    pub codes: &'a [usize],
    pub classes: usize,
    pub weights: Option<&'a [f64]>,
    pub has_offset: bool,
    /// λ, above 0.
    pub lambda: f64,
    /// The relative duality gap at which a solution is good enough.
    pub tolerance: f64,
    pub go_on: &'a (dyn Fn() -> bool + Sync),
}

/// A solution, a column per class.
pub(crate) struct SoftmaxPoint {
    /// p × k.
    pub w: Matrix,
    pub b: Vec<f64>,
    /// xᵢᵀw_c, n × k.
    pub fitted: Matrix,
    /// e_y − p, n × k.
    pub slopes: Matrix,
    pub converged: bool,
    pub iterations: usize,
}

impl Softmax<'_> {
    fn weight(&self, i: usize) -> f64 {
        self.weights.map_or(1.0, |w| w[i])
    }

    fn total(&self) -> f64 {
        self.weights.map_or(self.codes.len() as f64, |w| w.iter().sum())
    }

    /// The minimiser, from coefficients and offsets near it if there are some.
    pub fn solve(&self, start: Option<(Matrix, Vec<f64>)>) -> Result<SoftmaxPoint> {
        let (p, k) = (self.x.cols(), self.classes);
        let (mut w, mut b) = start.unwrap_or_else(|| (Matrix::zeros(p, k), vec![0.0; k]));
        self.centre(&mut w, &mut b);
        let mut fitted = self.images(&w);
        let (mut losses, mut slopes) = self.rows(&fitted, &b);
        let (mut converged, mut iterations) = (false, 0);
        while iterations < MOST_STEPS {
            if !(self.go_on)() {
                return Err(Error::Interrupted);
            }
            if self.relative_gap(&w, &losses, &slopes) <= 0.5 * self.tolerance {
                converged = true;
                break;
            }
            iterations += 1;
            let rhs = self.descent(&w, &slopes);
            let Some(factor) = factor(self.hessian(&slopes)) else { break };
            let mut step = Matrix::column_vector(rhs.clone());
            factor.solve(&mut step);
            let decrease: f64 = step.col(0).iter().zip(&rhs).map(|(s, r)| s * r).sum();
            let (dw, db) = self.split(step.col(0));
            let change = self.images(&dw);
            let Some(t) = self.line_search((&fitted, &b, &losses), (&change, &db), (&w, &dw), decrease) else { break };
            add_scaled(w.as_mut_slice(), t, dw.as_slice());
            add_scaled(&mut b, t, &db);
            self.centre(&mut w, &mut b);
            // Carried along, f would drift.
            fitted = self.images(&w);
            (losses, slopes) = self.rows(&fitted, &b);
        }
        if !converged {
            converged = self.relative_gap(&w, &losses, &slopes) <= self.tolerance;
        }
        Ok(SoftmaxPoint { w, b, fitted, slopes, converged, iterations })
    }

    /// Takes the mean over the classes from every coefficient.
    fn centre(&self, w: &mut Matrix, b: &mut [f64]) {
        let k = self.classes;
        for j in 0..w.rows() {
            let mean = (0..k).map(|c| w.get(j, c)).sum::<f64>() / k as f64;
            (0..k).for_each(|c| w.set(j, c, w.get(j, c) - mean));
        }
        let mean = b.iter().sum::<f64>() / k as f64;
        b.iter_mut().for_each(|b| *b = if self.has_offset { *b - mean } else { 0.0 });
    }

    fn images(&self, w: &Matrix) -> Matrix {
        let values = (0..self.classes).flat_map(|c| self.x.multiply(w.col(c))).collect();
        Matrix::from_columns(self.codes.len(), self.classes, values).unwrap_or_default()
    }

    /// The loss of every row, and its slopes.
    fn rows(&self, fitted: &Matrix, b: &[f64]) -> (Vec<f64>, Matrix) {
        let mut slopes = Matrix::zeros(self.codes.len(), self.classes);
        let mut row = vec![0.0; self.classes];
        let mut losses = Vec::with_capacity(self.codes.len());
        for (i, code) in self.codes.iter().enumerate() {
            row.iter_mut().enumerate().for_each(|(c, v)| *v = fitted.get(i, c) + b[c]);
            losses.push(loss_and_slopes(&mut row, *code));
            row.iter().enumerate().for_each(|(c, a)| slopes.set(i, c, *a));
        }
        (losses, slopes)
    }

    /// Xᵀ(w∘a), a column per class.
    fn through(&self, slopes: &Matrix) -> Matrix {
        let column = |c: usize| {
            let weighted: Vec<f64> = slopes.col(c).iter().enumerate().map(|(i, a)| self.weight(i) * a).collect();
            self.x.multiply_transposed(&weighted)
        };
        Matrix::from_columns(self.x.cols(), self.classes, (0..self.classes).flat_map(column).collect())
            .unwrap_or_default()
    }

    fn relative_gap(&self, w: &Matrix, losses: &[f64], slopes: &Matrix) -> f64 {
        let total = self.total();
        let mut dual = slopes.clone();
        if self.has_offset {
            make_feasible(&mut dual, self.codes, self.weights);
        }
        let mut row = vec![0.0; self.classes];
        let mut entropies = 0.0;
        for (i, code) in self.codes.iter().enumerate() {
            row.iter_mut().enumerate().for_each(|(c, a)| *a = dual.get(i, c));
            entropies += self.weight(i) * entropy(&row, *code);
        }
        let loss: f64 = losses.iter().enumerate().map(|(i, l)| self.weight(i) * l).sum();
        let primal = loss / total + self.lambda * squares(w);
        let bound = entropies / total - squares(&self.through(&dual)) / (4.0 * self.lambda * total * total);
        if primal > 0.0 { (primal - bound) / primal } else { 0.0 }
    }

    /// −gradient of the objective times W, class by class.
    fn descent(&self, w: &Matrix, slopes: &Matrix) -> Vec<f64> {
        let (p, k) = (self.x.cols(), self.classes);
        let through = self.through(slopes);
        let ridge = 2.0 * self.lambda * self.total();
        let pull = |j: usize, c: usize| match j < p {
            true => through.get(j, c) - ridge * w.get(j, c),
            false => slopes.col(c).iter().enumerate().map(|(i, a)| self.weight(i) * a).sum(),
        };
        let size = p + usize::from(self.has_offset);
        let mut rest = Matrix::from_fn(size, k, pull);
        for j in 0..size {
            let mean = (0..k).map(|c| rest.get(j, c)).sum::<f64>() / k as f64;
            (0..k).for_each(|c| rest.set(j, c, rest.get(j, c) - mean));
        }
        rest.into_vec()
    }

    fn split(&self, step: &[f64]) -> (Matrix, Vec<f64>) {
        let p = self.x.cols();
        let size = p + usize::from(self.has_offset);
        let w = Matrix::from_fn(p, self.classes, |j, c| step[c * size + j]);
        let b = (0..self.classes).map(|c| if self.has_offset { step[c * size + p] } else { 0.0 }).collect();
        (w, b)
    }

    /// The lower triangle.
    fn hessian(&self, slopes: &Matrix) -> Matrix {
        let (p, k) = (self.x.cols(), self.classes);
        let size = p + usize::from(self.has_offset);
        let mut out = Matrix::zeros(size * k, size * k);
        let share = |i: usize, c: usize| f64::from(self.codes[i] == c) - slopes.get(i, c);
        for c in 0..k {
            for d in c + 1..k {
                let both = |i: usize| self.weight(i) * share(i, c) * share(i, d);
                let curvatures: Vec<f64> = (0..self.codes.len()).map(both).collect();
                let block = normal_matrix(self.x, &curvatures, 0.0, self.has_offset);
                for j in 0..size {
                    for i in 0..size {
                        let value = block.get(i.max(j), i.min(j));
                        out.col_mut(c * size + j)[d * size + i] = -value;
                        if i >= j {
                            out.col_mut(c * size + j)[c * size + i] += value;
                            out.col_mut(d * size + j)[d * size + i] += value;
                        }
                    }
                }
            }
        }
        let ridge = 2.0 * self.lambda * self.total();
        for j in 0..size {
            let height = (0..k).map(|c| out.get(c * size + j, c * size + j)).sum::<f64>() / (k * k) as f64;
            for c in 0..k {
                (c..k).for_each(|d| out.col_mut(c * size + j)[d * size + j] += height);
                if j < p {
                    out.col_mut(c * size + j)[c * size + j] += ridge;
                }
            }
        }
        out
    }

    /// The longest of 1, ½, ¼, … with a sufficient decrease, by differences row by row.
    fn line_search(
        &self,
        (fitted, b, losses): (&Matrix, &[f64], &[f64]),
        (change, shift): (&Matrix, &[f64]),
        (w, dw): (&Matrix, &Matrix),
        decrease: f64,
    ) -> Option<f64> {
        let ridge = self.lambda * self.total();
        let along: f64 = w.as_slice().iter().zip(dw.as_slice()).map(|(w, d)| w * d).sum();
        let own = squares(dw);
        let mut row = vec![0.0; self.classes];
        let mut difference = |t: f64| {
            let mut sum = ridge * (2.0 * t * along + t * t * own);
            for (i, code) in self.codes.iter().enumerate() {
                row.iter_mut()
                    .enumerate()
                    .for_each(|(c, v)| *v = fitted.get(i, c) + b[c] + t * (change.get(i, c) + shift[c]));
                sum += self.weight(i) * (loss_and_slopes(&mut row, *code) - losses[i]);
            }
            sum
        };
        let size: f64 = losses.iter().enumerate().map(|(i, l)| self.weight(i) * l).sum();
        let rounding = 1e-15 * (size + ridge * squares(w));
        let mut t = 1.0;
        for _ in 0..40 {
            if difference(t) <= -1e-4 * t * decrease + rounding {
                // A step that is nothing but rounding leads nowhere.
                return (t * decrease > 0.0).then_some(t);
            }
            t *= 0.5;
        }
        None
    }
}

fn squares(w: &Matrix) -> f64 {
    w.as_slice().iter().map(|w| w * w).sum()
}
