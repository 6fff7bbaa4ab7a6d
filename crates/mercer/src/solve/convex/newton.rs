//! Newton's method for twice differentiable losses.
//!
//! At the values v = f + b with slopes a = −ℓ′ and curvatures ω = ℓ″, a step solves the weighted ridge problem with the
//! working targets z = v + a/ω: (K + D)α + b = z, 1ᵀα = 0, D = diag(2Wμ/(wω)). With S = D^(−1/2) the matrix I + SKS has all
//! eigenvalues at 1 or above, however small a curvature is. Small problems factor it; large ones use conjugate gradients
//! with a low-rank factor of K as preconditioner, (I + SFFᵀS)⁻¹ by Woodbury's identity.

use super::{Problem, RidgePoint, RidgeSolver};
use crate::base::error::{Error, Result};
use crate::linalg::Cholesky;
use crate::linalg::{Matrix, multiply, multiply_transposed};
use crate::term::loss::Smooth;

/// Newton's method on a Gram matrix (both triangles).
pub(crate) struct Newton<'a> {
    pub problem: Problem<'a>,
    pub gram: &'a Matrix,
    /// F with K ≈ FFᵀ, to precondition conjugate gradients; without it every step factors I + SKS.
    pub factor: Option<&'a Matrix>,
    /// Whether to go on.
    pub go_on: &'a (dyn Fn() -> bool + Sync),
}

const MOST_STEPS: usize = 100;

impl RidgeSolver for Newton<'_> {
    fn at(&self, ridge: f64, tolerance: f64, start: Option<&RidgePoint>) -> Result<RidgePoint> {
        let Some(smooth) = self.problem.loss.shape().smooth() else {
            return Err(Error::argument("the loss", "smooth for Newton's method", self.problem.loss.spec()));
        };
        let n = self.problem.rows();
        let zero =
            RidgePoint::zero(n, ridge, if self.problem.has_offset { self.problem.best_constant().0 } else { 0.0 });
        // From a neighbour on the path α ≈ (its slopes)/(2Wμ): bring it to this ridge's scale.
        let mut point = match start {
            Some(near) => RidgePoint { ridge, ..near.clone() },
            None => zero.clone(),
        };
        if self.objective(&point) > self.objective(&zero) {
            point = zero;
        }
        point.converged = false;
        for iterations in 0..MOST_STEPS {
            if !(self.go_on)() {
                return Err(Error::Interrupted);
            }
            point.iterations = iterations;
            let (gap, objective) = self.gap(&point, &smooth);
            // The zero function may be good enough and is still no point of the path.
            let moved = point.squared_norm > 0.0 || iterations > 0;
            if moved && gap <= tolerance * objective.abs().max(f64::MIN_POSITIVE) * 0.5 {
                point.converged = true;
                break;
            }
            let Some(target) = self.step(&point, &smooth, gap / objective.abs().max(f64::MIN_POSITIVE))? else { break };
            let Some(next) = self.along(&point, &target) else { break };
            point = next;
        }
        Ok(point)
    }
}

impl Newton<'_> {
    fn objective(&self, point: &RidgePoint) -> f64 {
        self.problem.mean_loss(&point.fitted, point.offset) + point.ridge * point.squared_norm
    }

    /// An estimate of the duality gap with the slopes as the dual point, and the objective. With an offset the slopes are
    /// taken less their mean, which is exact enough to stop by.
    fn gap(&self, point: &RidgePoint, smooth: &Smooth) -> (f64, f64) {
        let problem = &self.problem;
        let (n, total) = (problem.rows(), problem.total());
        let slope = |i: usize| smooth.slope(problem.y[i], point.fitted[i] + point.offset);
        let surplus = if problem.has_offset { (0..n).map(|i| problem.weight(i) * slope(i)).sum::<f64>() } else { 0.0 };
        let mut dual = 0.0;
        let mut scaled = Vec::with_capacity(n);
        for i in 0..n {
            let weight = problem.weight(i);
            let a = slope(i);
            dual += weight * smooth.dual(problem.y[i], a);
            scaled.push(weight * (a - surplus / total));
        }
        // ‖(1/W) Σ w a k‖² = uᵀKu/W²; its distance from 2μf is what is wrong with the point.
        let images = multiply(self.gram, &Matrix::column_vector(scaled.clone()));
        let square: f64 = scaled.iter().zip(images.col(0)).map(|(u, k)| u * k).sum::<f64>() / (total * total);
        let objective = self.objective(point);
        ((objective - (dual / total - square / (4.0 * point.ridge))).abs(), objective)
    }

    /// Where a full Newton step leads: α, b and the values Kα.
    fn step(&self, point: &RidgePoint, smooth: &Smooth, relative_gap: f64) -> Result<Option<RidgePoint>> {
        let problem = &self.problem;
        let (n, total) = (problem.rows(), problem.total());
        let mut root = vec![0.0; n];
        let mut rhs = Matrix::zeros(n, if problem.has_offset { 2 } else { 1 });
        for i in 0..n {
            let v = point.fitted[i] + point.offset;
            // A curvature that has vanished leaves its row to its slope alone.
            let curvature = smooth.curvature(problem.y[i], v).max(1e-14);
            root[i] = (problem.weight(i) * curvature / (2.0 * total * point.ridge)).sqrt();
            rhs.set(i, 0, root[i] * (v + smooth.slope(problem.y[i], v) / curvature));
            if problem.has_offset {
                rhs.set(i, 1, root[i]);
            }
        }
        let solved = match self.factor {
            None => {
                let mut matrix = self.gram.clone();
                for j in 0..n {
                    let sj = root[j];
                    matrix.col_mut(j).iter_mut().zip(&root).for_each(|(k, si)| *k *= si * sj);
                    matrix.set(j, j, matrix.get(j, j) + 1.0);
                }
                let Some(factor) = Cholesky::new(matrix) else { return Ok(None) };
                let mut solved = rhs;
                factor.solve(&mut solved);
                solved
            }
            Some(factor) => {
                let Some(solver) = Preconditioned::new(self, factor, &root) else { return Ok(None) };
                let mut solved = Matrix::zeros(n, rhs.cols());
                // From where α is: what is left to solve for is as small as the step.
                let mut guess: Vec<f64> = point.alpha.iter().zip(&root).map(|(a, s)| a / s).collect();
                if problem.has_offset {
                    let ones = solver.solve(rhs.col(1), vec![0.0; n], 1e-10)?;
                    guess.iter_mut().zip(&ones).for_each(|(g, o)| *g += point.offset * o);
                    solved.col_mut(1).copy_from_slice(&ones);
                }
                let tolerance = (0.1 * relative_gap.sqrt()).clamp(1e-6, 1e-2);
                solved.col_mut(0).copy_from_slice(&solver.solve(rhs.col(0), guess, tolerance)?);
                solved
            }
        };
        let sum = |t: usize| solved.col(t).iter().zip(&root).map(|(x, s)| x * s).sum::<f64>();
        let offset = if problem.has_offset { sum(0) / sum(1) } else { 0.0 };
        let coefficient = |i: usize| {
            let corrected = if problem.has_offset { offset * solved.get(i, 1) } else { 0.0 };
            root[i] * (solved.get(i, 0) - corrected)
        };
        let alpha: Vec<f64> = (0..n).map(coefficient).collect();
        if alpha.iter().any(|a| !a.is_finite()) {
            return Ok(None);
        }
        let fitted = multiply(self.gram, &Matrix::column_vector(alpha.clone())).into_vec();
        let squared_norm = dot(&alpha, &fitted).max(0.0);
        Ok(Some(RidgePoint { alpha, offset, fitted, squared_norm, ..point.clone() }))
    }

    /// The longest of the steps 1, ½, ¼, … towards the target that lowers the objective as it should.
    fn along(&self, point: &RidgePoint, target: &RidgePoint) -> Option<RidgePoint> {
        let before = self.objective(point);
        let between = |from: &[f64], to: &[f64], share: f64| -> Vec<f64> {
            from.iter().zip(to).map(|(a, b)| a + share * (b - a)).collect()
        };
        let mut share = 1.0;
        for _ in 0..40 {
            let alpha = between(&point.alpha, &target.alpha, share);
            let fitted = between(&point.fitted, &target.fitted, share);
            let squared_norm = dot(&alpha, &fitted).max(0.0);
            let offset = point.offset + share * (target.offset - point.offset);
            let next = RidgePoint { alpha, fitted, squared_norm, offset, ..point.clone() };
            // Away from zero a step may be too small to show in the objective.
            let after = self.objective(&next);
            if after < before || (point.squared_norm == 0.0 && after <= before * (1.0 + 1e-14)) {
                return Some(next);
            }
            share *= 0.5;
        }
        None
    }
}

/// (I + SKS)x = b by conjugate gradients, preconditioned by (I + SFFᵀS)⁻¹.
struct Preconditioned<'a> {
    newton: &'a Newton<'a>,
    root: &'a [f64],
    /// SF.
    scaled: Matrix,
    /// I + FᵀS²F, factored.
    small: Cholesky,
}

impl<'a> Preconditioned<'a> {
    fn new(newton: &'a Newton<'a>, factor: &Matrix, root: &'a [f64]) -> Option<Self> {
        let scaled = Matrix::from_fn(root.len(), factor.cols(), |i, j| root[i] * factor.get(i, j));
        let mut small = multiply_transposed(&scaled, &scaled);
        for j in 0..factor.cols() {
            small.set(j, j, small.get(j, j) + 1.0);
        }
        Cholesky::new(small).map(|small| Preconditioned { newton, root, scaled, small })
    }

    fn precondition(&self, r: &[f64]) -> Vec<f64> {
        let mut inner = multiply_transposed(&self.scaled, &Matrix::column_vector(r.to_vec()));
        self.small.solve(&mut inner);
        let back = multiply(&self.scaled, &inner);
        r.iter().zip(back.col(0)).map(|(r, b)| r - b).collect()
    }

    fn apply(&self, x: &[f64]) -> Vec<f64> {
        let inner: Vec<f64> = x.iter().zip(self.root).map(|(x, s)| x * s).collect();
        let image = multiply(self.newton.gram, &Matrix::column_vector(inner));
        (0..x.len()).map(|i| x[i] + self.root[i] * image.get(i, 0)).collect()
    }

    /// From a guess, until the residual is `tolerance` of what the guess left.
    fn solve(&self, rhs: &[f64], guess: Vec<f64>, tolerance: f64) -> Result<Vec<f64>> {
        let mut x = guess;
        let image = self.apply(&x);
        let mut residual: Vec<f64> = rhs.iter().zip(&image).map(|(b, a)| b - a).collect();
        let goal = tolerance * dot(&residual, &residual).sqrt();
        let mut direction = self.precondition(&residual);
        let mut energy = dot(&residual, &direction);
        for _ in 0..500 {
            if dot(&residual, &residual).sqrt() <= goal || !(energy > 0.0) {
                break;
            }
            if !(self.newton.go_on)() {
                return Err(Error::Interrupted);
            }
            let image = self.apply(&direction);
            let step = energy / dot(&direction, &image);
            for i in 0..x.len() {
                x[i] += step * direction[i];
                residual[i] -= step * image[i];
            }
            let next = self.precondition(&residual);
            let next_energy = dot(&residual, &next);
            let ratio = next_energy / energy;
            direction.iter_mut().zip(&next).for_each(|(d, r)| *d = r + ratio * *d);
            energy = next_energy;
        }
        Ok(x)
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(x, y)| x * y).sum()
}
