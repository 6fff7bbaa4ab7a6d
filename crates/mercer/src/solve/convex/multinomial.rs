//! Several classes at once: min (1/W) Σ w (ln Σ_c exp v_c − v_y) + μ Σ_c ‖f_c‖², v_c = f_c + b_c.
//!
//! Newton's method; each step is solved by conjugate gradients in the function space itself. With an offset f_c is written
//! with the centred kernel HKH and a constant b̃_c = b_c + mean f_c, so that the two are orthogonal. In the inner product
//! Σ_c (αᵀHKHα′ + b̃b̃′) the step's operator (α, b̃) ↦ (2μα + (1/W) H∘Ω v, (1/W) 1ᵀΩ v), v = HKHα + b̃, Ω the rows' weighted
//! Hessians diag p − ppᵀ, is self-adjoint; ½ bounds Ω, so (2μ + ½K/W)⁻¹ is its preconditioner. Where that is not enough
//! ([`exact`]) the step's matrices are factored.

pub(crate) mod exact;
pub(crate) mod shares;

use self::shares::{entropy, loss_and_slopes, make_feasible};
use crate::base::error::{Error, Result};
use crate::linalg::{Cholesky, Matrix, multiply};

/// The rows: their classes and weights.
pub(crate) struct Multinomial<'a> {
    pub codes: &'a [usize],
    pub classes: usize,
    pub weights: Option<&'a [f64]>,
    pub has_offset: bool,
    /// K, both triangles.
    pub gram: &'a Matrix,
    pub go_on: &'a (dyn Fn() -> bool + Sync),
}

/// A solution: one column per class.
#[derive(Debug, Clone)]
pub(crate) struct MultinomialPoint {
    pub alpha: Matrix,
    pub offsets: Vec<f64>,
    /// Kα, without offsets.
    pub fitted: Matrix,
    pub converged: bool,
    pub iterations: usize,
}

const MOST_STEPS: usize = 60;

/// α and b̃, or their changes, and the values that they give.
#[derive(Clone)]
struct Pair {
    alpha: Matrix,
    constants: Vec<f64>,
}

impl Multinomial<'_> {
    fn weight(&self, i: usize) -> f64 {
        self.weights.map_or(1.0, |w| w[i])
    }

    fn total(&self) -> f64 {
        self.weights.map_or(self.codes.len() as f64, |w| w.iter().sum())
    }

    /// The minimiser at the ridge μ, to a relative duality gap.
    pub fn at(&self, ridge: f64, tolerance: f64, start: Option<&MultinomialPoint>) -> Result<MultinomialPoint> {
        let (n, k) = (self.codes.len(), self.classes);
        let total = self.total();
        let preconditioner = self.preconditioner(ridge)?;
        let mut now = match start {
            Some(point) => Pair { alpha: point.alpha.clone(), constants: self.constants_of(point) },
            None => Pair { alpha: Matrix::zeros(n, k), constants: self.log_shares() },
        };
        let mut images = self.centred_product(&now.alpha);
        let (mut converged, mut iterations) = (false, 0);
        let (mut primal, mut dual) = self.bounds(&now, &images, ridge);
        let mut is_hard = false;
        for step in 0..MOST_STEPS {
            iterations = step;
            if primal - dual <= 0.5 * tolerance * primal.abs().max(f64::MIN_POSITIVE) {
                converged = true;
                break;
            }
            let relative = ((primal - dual) / primal.abs().max(f64::MIN_POSITIVE)).clamp(1e-14, 1.0);
            let (_, slopes) = self.rows(&now, &images);
            let p = Matrix::from_fn(n, k, |i, c| f64::from(self.codes[i] == c) - slopes.get(i, c));
            // −gradient: (slopes/W − 2μα, Σ slopes/W).
            let mut rest = Pair { alpha: Matrix::zeros(n, k), constants: vec![0.0; k] };
            for c in 0..k {
                for i in 0..n {
                    let slope = self.weight(i) * slopes.get(i, c) / total;
                    rest.alpha.set(i, c, slope);
                    rest.constants[c] += slope;
                }
            }
            self.centre(&mut rest);
            for (r, a) in rest.alpha.as_mut_slice().iter_mut().zip(now.alpha.as_slice()) {
                *r -= 2.0 * ridge * a;
            }
            let accuracy = (0.1 * relative.sqrt()).min(0.1);
            let mut direction = None;
            if !is_hard {
                let (found, is_solved) = self.solve_step(&p, ridge, rest.clone(), &preconditioner, accuracy)?;
                is_hard = !is_solved && exact::suits(n, k);
                direction = Some(found);
            }
            if is_hard {
                direction = self.factored_step(&p, ridge, &rest).or(direction);
            }
            let Some(direction) = direction else { break };
            let direction_images = self.centred_product(&direction.alpha);
            let mut share = 1.0;
            let mut moved = false;
            for _ in 0..40 {
                let next = Pair {
                    alpha: combined(&now.alpha, &direction.alpha, share),
                    constants: now.constants.iter().zip(&direction.constants).map(|(a, d)| a + share * d).collect(),
                };
                let next_images = combined(&images, &direction_images, share);
                let (next_primal, next_dual) = self.bounds(&next, &next_images, ridge);
                // Near the end the objective falls by less than its rounding, and the bound still rises.
                let gap = primal - dual;
                let is_closer = next_primal - next_dual < 0.5 * gap && next_primal - primal <= 0.01 * gap;
                if next_primal < primal || is_closer {
                    (now, images, primal, dual) = (next, next_images, next_primal, next_dual);
                    moved = true;
                    break;
                }
                share *= 0.5;
            }
            if !moved && !is_hard && exact::suits(n, k) {
                // A singular K hides from conjugate gradients what its null space rounds away.
                is_hard = true;
                continue;
            }
            if !moved {
                converged = primal - dual <= tolerance * primal.abs();
                break;
            }
        }
        let fitted = multiply(self.gram, &now.alpha);
        let mean = |c: usize| fitted.col(c).iter().sum::<f64>() / n as f64;
        let offsets = (0..k).map(|c| if self.has_offset { now.constants[c] - mean(c) } else { 0.0 }).collect();
        Ok(MultinomialPoint { alpha: now.alpha, offsets, fitted, converged, iterations })
    }

    fn constants_of(&self, point: &MultinomialPoint) -> Vec<f64> {
        let n = self.codes.len() as f64;
        let constant = |c: usize| point.offsets[c] + point.fitted.col(c).iter().sum::<f64>() / n;
        (0..self.classes).map(|c| if self.has_offset { constant(c) } else { 0.0 }).collect()
    }

    /// The constants that are best for f = 0.
    fn log_shares(&self) -> Vec<f64> {
        if !self.has_offset {
            return vec![0.0; self.classes];
        }
        let mut shares = vec![0.0; self.classes];
        self.codes.iter().enumerate().for_each(|(i, code)| shares[*code] += self.weight(i));
        let logs: Vec<f64> = shares.iter().map(|s| libm::log(s / self.total())).collect();
        let mean = logs.iter().sum::<f64>() / self.classes as f64;
        logs.iter().map(|l| l - mean).collect()
    }

    /// With an offset: columns of sum 0. Without: no constants.
    fn centre(&self, pair: &mut Pair) {
        if !self.has_offset {
            pair.constants.fill(0.0);
            return;
        }
        let n = pair.alpha.rows() as f64;
        for c in 0..pair.alpha.cols() {
            let mean = pair.alpha.col(c).iter().sum::<f64>() / n;
            pair.alpha.col_mut(c).iter_mut().for_each(|a| *a -= mean);
        }
    }

    /// HKα for columns of sum 0, or Kα without an offset.
    fn centred_product(&self, alpha: &Matrix) -> Matrix {
        let mut image = multiply(self.gram, alpha);
        if self.has_offset {
            let n = image.rows() as f64;
            for c in 0..image.cols() {
                let mean = image.col(c).iter().sum::<f64>() / n;
                image.col_mut(c).iter_mut().for_each(|v| *v -= mean);
            }
        }
        image
    }

    /// The loss of every row, and its slopes e_y − p.
    fn rows(&self, pair: &Pair, images: &Matrix) -> (Vec<f64>, Matrix) {
        let mut slopes = Matrix::zeros(self.codes.len(), self.classes);
        let mut row = vec![0.0; self.classes];
        let mut losses = Vec::with_capacity(self.codes.len());
        for (i, code) in self.codes.iter().enumerate() {
            row.iter_mut().enumerate().for_each(|(c, v)| *v = images.get(i, c) + pair.constants[c]);
            losses.push(loss_and_slopes(&mut row, *code));
            row.iter().enumerate().for_each(|(c, a)| slopes.set(i, c, *a));
        }
        (losses, slopes)
    }

    /// The objective, and the dual at a = e_y − p: the mean entropy of p less ‖(1/W) Σ w a k‖²/(4μ), summed over classes. With
    /// an offset p is first mixed so that Σ w a = 0.
    fn bounds(&self, pair: &Pair, images: &Matrix, ridge: f64) -> (f64, f64) {
        let (n, k, total) = (self.codes.len(), self.classes, self.total());
        let (losses, mut slopes) = self.rows(pair, images);
        let loss: f64 = losses.iter().enumerate().map(|(i, l)| self.weight(i) * l).sum();
        if self.has_offset {
            make_feasible(&mut slopes, self.codes, self.weights);
        }
        let mut entropies = 0.0;
        let mut row = vec![0.0; k];
        for i in 0..n {
            row.iter_mut().enumerate().for_each(|(c, a)| *a = slopes.get(i, c));
            entropies += self.weight(i) * entropy(&row, self.codes[i]);
            (0..k).for_each(|c| slopes.set(i, c, self.weight(i) * row[c]));
        }
        let length = inner_product(&slopes, &self.centred_product(&slopes));
        let norm = inner_product(&pair.alpha, images).max(0.0);
        let dual = entropies / total - length.max(0.0) / (4.0 * ridge * total * total);
        (loss / total + ridge * norm, dual)
    }

    /// The step by factoring its matrices.
    fn factored_step(&self, p: &Matrix, ridge: f64, rest: &Pair) -> Option<Pair> {
        let (n, total) = (self.codes.len(), self.total());
        let scale: Vec<f64> = (0..n).map(|i| self.weight(i) / (2.0 * total * ridge)).collect();
        // The gradient as it was before it was centred.
        let entry = |i: usize, c: usize| (rest.alpha.get(i, c) + rest.constants[c] / n as f64) / (2.0 * ridge);
        let gradient = Matrix::from_fn(n, self.classes, entry);
        let (alpha, constants) = exact::step(&self.centred_gram(), p, &scale, &gradient, self.has_offset)?;
        let mut step = Pair { alpha, constants };
        self.centre(&mut step);
        step.alpha.as_slice().iter().chain(&step.constants).all(|x| x.is_finite()).then_some(step)
    }

    /// HKH, or K without an offset.
    fn centred_gram(&self) -> Matrix {
        let n = self.codes.len();
        let mut matrix = self.gram.clone();
        if self.has_offset {
            let means: Vec<f64> = (0..n).map(|j| matrix.col(j).iter().sum::<f64>() / n as f64).collect();
            let mean = means.iter().sum::<f64>() / n as f64;
            for j in 0..n {
                matrix.col_mut(j).iter_mut().zip(&means).for_each(|(k, m)| *k += mean - m - means[j]);
            }
        }
        matrix
    }

    /// (2μ + ½ HKH/W)⁻¹, factored.
    fn preconditioner(&self, ridge: f64) -> Result<Cholesky> {
        let n = self.codes.len();
        let mut matrix = self.centred_gram();
        let share = 0.5 / self.total();
        matrix.as_mut_slice().iter_mut().for_each(|k| *k *= share);
        for j in 0..n {
            matrix.set(j, j, matrix.get(j, j) + 2.0 * ridge);
        }
        Cholesky::new(matrix)
            .ok_or_else(|| Error::Decomposition("the kernel matrix is not positive semidefinite".into()))
    }

    /// Ω v/W: rows' Hessians times values.
    fn curved(&self, p: &Matrix, values: &Matrix, constants: &[f64]) -> Pair {
        let (n, k, total) = (self.codes.len(), self.classes, self.total());
        let mut out = Pair { alpha: Matrix::zeros(n, k), constants: vec![0.0; k] };
        for i in 0..n {
            let mean: f64 = (0..k).map(|c| p.get(i, c) * (values.get(i, c) + constants[c])).sum();
            for c in 0..k {
                let value = self.weight(i) * p.get(i, c) * (values.get(i, c) + constants[c] - mean) / total;
                out.alpha.set(i, c, value);
                out.constants[c] += value;
            }
        }
        self.centre(&mut out);
        out
    }

    /// Conjugate gradients for the Newton step, and whether they got there.
    fn solve_step(
        &self,
        p: &Matrix,
        ridge: f64,
        rest: Pair,
        factor: &Cholesky,
        tolerance: f64,
    ) -> Result<(Pair, bool)> {
        let (n, k) = (self.codes.len(), self.classes);
        // A constant common to all classes changes nothing; a little weight keeps it where it is.
        let precondition = |r: &Pair| -> Pair {
            let mut alpha = r.alpha.clone();
            factor.solve(&mut alpha);
            let mut out = Pair { alpha, constants: r.constants.iter().map(|c| 4.0 * c).collect() };
            self.centre(&mut out);
            out
        };
        let inner = |a: &Pair, b: &Pair, b_images: &Matrix| -> f64 {
            inner_product(&a.alpha, b_images) + a.constants.iter().zip(&b.constants).map(|(a, b)| a * b).sum::<f64>()
        };
        let mut x = Pair { alpha: Matrix::zeros(n, k), constants: vec![0.0; k] };
        let mut r = rest;
        let mut z = precondition(&r);
        let mut z_images = self.centred_product(&z.alpha);
        let mut d = z.clone();
        let mut d_images = z_images.clone();
        let mut energy = inner(&r, &z, &z_images);
        let first = energy;
        // So many iterations cost half of what factoring does.
        let most = if exact::suits(n, k) { (n / 8).clamp(30, 300) } else { 300 };
        let is_enough = |energy: f64| !(energy > tolerance * tolerance * first);
        for _ in 0..most {
            if is_enough(energy) {
                break;
            }
            if !(self.go_on)() {
                return Err(Error::Interrupted);
            }
            let mut image = self.curved(p, &d_images, &d.constants);
            for (q, a) in image.alpha.as_mut_slice().iter_mut().zip(d.alpha.as_slice()) {
                *q += 2.0 * ridge * a;
            }
            let bent = inner(&image, &d, &d_images);
            if !(bent > 0.0) {
                break;
            }
            let step = energy / bent;
            add(&mut x, &d, step);
            add(&mut r, &image, -step);
            z = precondition(&r);
            z_images = self.centred_product(&z.alpha);
            let next = inner(&r, &z, &z_images);
            let ratio = next / energy;
            for (d, z) in d.alpha.as_mut_slice().iter_mut().zip(z.alpha.as_slice()) {
                *d = z + ratio * *d;
            }
            for (d, z) in d_images.as_mut_slice().iter_mut().zip(z_images.as_slice()) {
                *d = z + ratio * *d;
            }
            d.constants.iter_mut().zip(&z.constants).for_each(|(d, z)| *d = z + ratio * *d);
            energy = next;
        }
        Ok((x, is_enough(energy)))
    }
}

fn inner_product(a: &Matrix, b: &Matrix) -> f64 {
    a.as_slice().iter().zip(b.as_slice()).map(|(a, b)| a * b).sum()
}

fn add(target: &mut Pair, other: &Pair, share: f64) {
    target.alpha.as_mut_slice().iter_mut().zip(other.alpha.as_slice()).for_each(|(t, o)| *t += share * o);
    target.constants.iter_mut().zip(&other.constants).for_each(|(t, o)| *t += share * o);
}

fn combined(a: &Matrix, b: &Matrix, share: f64) -> Matrix {
    let mut out = a.clone();
    out.as_mut_slice().iter_mut().zip(b.as_slice()).for_each(|(a, b)| *a += share * b);
    out
}
