//! How good lengthscales and a ridge are, with the gradient in their logarithms.
//!
//! With A = G⁻¹ (on the directions that the offset leaves), α = Ay and a matrix of weights Ω,
//! the change of the objective under a change dK of the Gram matrix is ⟨Ω, dK⟩:
//!
//! * leave-one-out, log Σ e², e = α/diag A: Ω = A diag(v) A − sym(Au αᵀ), u = 2e/diag A, v = u·e, divided by Σ e²;
//! * restricted likelihood, ½(n′ log yᵀα + log det): Ω = ½(A − n′ ααᵀ/yᵀα), n′ the number of directions.
//!
//! For a radial kernel dK = φ′(q) dq, and a change of log ℓⱼ changes q by −2(xⱼ − x′ⱼ)²/ℓⱼ², so that with P = Ω∘φ′ all
//! derivatives are one product P X.

use crate::base::error::{Error, Result};
use crate::linalg::{Cholesky, Matrix, mirror_lower, multiply, weighted_square};
use crate::space::distances_lower;
use crate::term::kernel::{Distance, Points, SharedKernel};

/// Kernel values below this count as 0 while a metric is learned.
const NOTHING: f64 = 1e-20;

/// What is minimised.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Goal {
    /// The logarithm of the leave-one-out sum of squares.
    LeaveOneOut,
    /// Minus the logarithm of the restricted likelihood of a Gaussian process.
    Likelihood,
}

/// Training data for a search over lengthscales, amplitudes and the ridge of K = k₁ + a₂k₂ + ….
///
/// A point is (log γ, log ℓ of k₁, log a₂, log ℓ of k₂, …), with one lengthscale per feature in each part.
pub struct Objective<'a> {
    /// The parts, with lengthscale 1.
    parts: Vec<SharedKernel>,
    /// n × d.
    x: Matrix,
    /// Targets without their (weighted) mean, times √w, in units of their size.
    y: Matrix,
    root_weights: Option<&'a [f64]>,
    offset: bool,
    goal: Goal,
}

/// The objective at one point.
#[derive(Debug, Clone, PartialEq)]
pub struct Value {
    /// What is minimised.
    pub value: f64,
    /// Its derivatives.
    pub gradient: Vec<f64>,
}

impl<'a> Objective<'a> {
    /// For radial families (their own lengthscales do not matter), added.
    pub fn new(
        families: &[SharedKernel],
        x: Matrix,
        y: &Matrix,
        root_weights: Option<&'a [f64]>,
        offset: bool,
        goal: Goal,
    ) -> Result<Self> {
        let unit = |family: &SharedKernel| {
            let unit = family.with_lengthscales(&[1.0]);
            unit.filter(|unit| unit.distance() == Some(Distance::SquaredEuclidean)).ok_or_else(|| {
                Error::argument("the kernel whose metric is learned", "a function of a distance", family.spec())
            })
        };
        let root = |i: usize| root_weights.map_or(1.0, |s| s[i]);
        let mut scaled = y.clone();
        for t in 0..y.cols() {
            let column = scaled.col_mut(t);
            let total: f64 = (0..column.len()).map(|i| root(i) * root(i)).sum();
            let mean = if offset {
                (0..column.len()).map(|i| root(i) * root(i) * column[i]).sum::<f64>() / total
            } else {
                0.0
            };
            column.iter_mut().enumerate().for_each(|(i, v)| *v = root(i) * (*v - mean));
            let size = (column.iter().map(|v| v * v).sum::<f64>() / total).sqrt();
            if size > 0.0 {
                column.iter_mut().for_each(|v| *v /= size);
            }
        }
        let parts = families.iter().map(unit).collect::<Result<_>>()?;
        Ok(Objective { parts, x, y: scaled, root_weights, offset, goal })
    }

    /// Number of coordinates of a point.
    pub fn dimensions(&self) -> usize {
        self.parts.len() * (self.x.cols() + 1)
    }

    /// Where the lengthscales of part `c` stand in a point; its amplitude, for all but the first, stands before them.
    pub fn lengthscales(&self, c: usize) -> std::ops::Range<usize> {
        lengthscale_places(self.x.cols(), c)
    }

    /// Value and gradient at a point; `None` where G is singular to rounding.
    pub fn at(&self, point: &[f64]) -> Option<Value> {
        let (n, d) = (self.x.rows(), self.x.cols());
        let gamma = libm::exp(point[0]);
        let mut gram = Matrix::zeros(n, n);
        // Scaled features and distances of each part; its Gram matrix is made again where its amplitude is learned.
        let mut made: Vec<(Matrix, Matrix, f64)> = Vec::with_capacity(self.parts.len());
        for (c, part) in self.parts.iter().enumerate() {
            let places = self.lengthscales(c);
            let amplitude = if c == 0 { 1.0 } else { libm::exp(point[places.start - 1]) };
            let scaled = Matrix::from_fn(n, d, |i, j| self.x.get(i, j) * libm::exp(-point[places.start + j]));
            let distances = distances_lower(Distance::SquaredEuclidean, &Points::new(&scaled));
            on_columns(&mut gram, |j, column| {
                let mut values = distances.col(j)[j..].to_vec();
                part.of_distances(&mut values);
                // What is nothing beside the diagonal is nothing: products of such numbers would be denormal, and slow.
                values.iter_mut().for_each(|k| *k = if *k < NOTHING { 0.0 } else { *k });
                column[j..].iter_mut().zip(values).for_each(|(k, value)| *k += amplitude * value);
            });
            made.push((scaled, distances, amplitude));
        }
        on_columns(&mut gram, |j, column| {
            self.weigh(j, column);
            column[j] += gamma;
        });
        let factor = Cholesky::new(gram)?;
        let mut inverse = factor.inverse().ok()?;
        let mut log_det = factor.log_det();
        drop(factor);
        if self.offset {
            log_det += self.remove_constant(&mut inverse);
        }
        let (value, mut omega) = match self.goal {
            Goal::LeaveOneOut => self.leave_one_out(&inverse)?,
            Goal::Likelihood => self.likelihood(inverse, log_det)?,
        };
        let mut gradient = vec![0.0; self.dimensions()];
        gradient[0] = (0..n).map(|i| omega.get(i, i)).sum::<f64>() * gamma;
        on_columns(&mut omega, |j, column| self.weigh(j, column));
        for (c, (scaled, distances, amplitude)) in made.into_iter().enumerate() {
            let places = self.lengthscales(c);
            if c > 0 {
                gradient[places.start - 1] = amplitude * self.inner_product(&omega, &distances, c);
            }
            // P = Ω∘φ′, both triangles.
            let mut weighted = distances;
            on_columns(&mut weighted, |j, column| {
                self.parts[c].slopes_of_distances(&mut column[j..]);
                column[j..].iter_mut().for_each(|s| *s = if s.abs() < NOTHING { 0.0 } else { *s });
                column[j..].iter_mut().zip(&omega.col(j)[j..]).for_each(|(s, o)| *s *= amplitude * o);
            });
            mirror_lower(&mut weighted);
            let products = multiply(&weighted, &scaled);
            let sums: Vec<f64> = (0..n).map(|j| weighted.col(j).iter().sum()).collect();
            for (j, place) in places.enumerate() {
                let (x, px) = (scaled.col(j), products.col(j));
                // Σ P (xᵢ − x_k)² = 2 Σ xᵢ² (P1)ᵢ − 2 xᵀPx.
                gradient[place] = -4.0 * (0..n).map(|i| x[i] * (x[i] * sums[i] - px[i])).sum::<f64>();
            }
        }
        (value.is_finite() && gradient.iter().all(|g| g.is_finite())).then_some(Value { value, gradient })
    }

    /// ⟨Ω, K_c⟩ from the lower triangles.
    fn inner_product(&self, omega: &Matrix, distances: &Matrix, c: usize) -> f64 {
        use rayon::prelude::*;
        let n = omega.rows();
        let columns: Vec<f64> = (0..n)
            .into_par_iter()
            .map(|j| {
                let mut values = distances.col(j)[j..].to_vec();
                self.parts[c].of_distances(&mut values);
                let column = &omega.col(j)[j..];
                2.0 * column.iter().zip(&values).map(|(o, k)| o * k).sum::<f64>() - column[0] * values[0]
            })
            .collect();
        columns.iter().sum()
    }

    fn weigh(&self, j: usize, column: &mut [f64]) {
        if let Some(s) = self.root_weights {
            column[j..].iter_mut().zip(&s[j..]).for_each(|(k, si)| *k *= si * s[j]);
        }
    }

    /// G⁻¹ − G⁻¹s(sᵀG⁻¹s)⁻¹sᵀG⁻¹, and log(sᵀG⁻¹s/sᵀs), by which the determinant changes.
    fn remove_constant(&self, inverse: &mut Matrix) -> f64 {
        let n = inverse.rows();
        let root: Vec<f64> = self.root_weights.map_or_else(|| vec![1.0; n], <[f64]>::to_vec);
        let image = multiply(inverse, &Matrix::column_vector(root.clone())).into_vec();
        let sum: f64 = image.iter().zip(&root).map(|(a, b)| a * b).sum();
        on_columns(inverse, |j, column| {
            let share = image[j] / sum;
            column.iter_mut().zip(&image).for_each(|(a, b)| *a -= share * b);
        });
        libm::log(sum / root.iter().map(|s| s * s).sum::<f64>())
    }

    fn leave_one_out(&self, inverse: &Matrix) -> Option<(f64, Matrix)> {
        let n = inverse.rows();
        let dual = multiply(inverse, &self.y);
        let diagonal: Vec<f64> = (0..n).map(|i| inverse.get(i, i)).collect();
        if diagonal.iter().any(|g| *g <= 0.0) {
            return None;
        }
        let mut total = 0.0;
        let mut v = vec![0.0; n];
        let mut u = Matrix::zeros(n, self.y.cols());
        for t in 0..self.y.cols() {
            for i in 0..n {
                let residual = dual.get(i, t) / diagonal[i];
                total += residual * residual;
                u.set(i, t, 2.0 * residual / diagonal[i]);
                v[i] += 2.0 * residual * residual / diagonal[i];
            }
        }
        let mut omega = weighted_square(inverse, &v);
        let pulled = multiply(inverse, &u);
        on_columns(&mut omega, |j, column| {
            for t in 0..dual.cols() {
                let (alpha, pull) = (dual.col(t), pulled.col(t));
                for (i, o) in column.iter_mut().enumerate() {
                    *o -= 0.5 * (pull[i] * alpha[j] + alpha[i] * pull[j]);
                }
            }
            column.iter_mut().for_each(|o| *o /= total);
        });
        Some((libm::log(total), omega))
    }

    fn likelihood(&self, inverse: Matrix, log_det: f64) -> Option<(f64, Matrix)> {
        let n = inverse.rows();
        let targets = self.y.cols() as f64;
        let directions = n as f64 - f64::from(self.offset);
        let dual = multiply(&inverse, &self.y);
        let mut value = 0.5 * targets * log_det;
        let mut quadratics = Vec::new();
        for t in 0..self.y.cols() {
            let quadratic: f64 = dual.col(t).iter().zip(self.y.col(t)).map(|(a, b)| a * b).sum();
            if !(quadratic > 0.0) {
                return None;
            }
            value += 0.5 * directions * libm::log(quadratic / directions);
            quadratics.push(quadratic);
        }
        let mut omega = inverse;
        on_columns(&mut omega, |j, column| {
            column.iter_mut().for_each(|o| *o *= 0.5 * targets);
            for (t, quadratic) in quadratics.iter().enumerate() {
                let alpha = dual.col(t);
                let share = 0.5 * directions * alpha[j] / quadratic;
                column.iter_mut().zip(alpha).for_each(|(o, a)| *o -= share * a);
            }
        });
        Some((value, omega))
    }
}

/// Where the lengthscales of part `c` stand in a point, with d features.
pub(crate) fn lengthscale_places(features: usize, c: usize) -> std::ops::Range<usize> {
    let start = 1 + c * (features + 1);
    start..start + features
}

/// Runs `body` on every column, on all cores.
fn on_columns(matrix: &mut Matrix, body: impl Fn(usize, &mut [f64]) + Sync) {
    use rayon::prelude::*;
    let n = matrix.rows().max(1);
    matrix.as_mut_slice().par_chunks_mut(n).enumerate().for_each(|(j, column)| body(j, column));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::term::kernel::parse;

    fn data(n: usize) -> (Matrix, Matrix) {
        let x = Matrix::from_fn(n, 3, |i, j| ((i * 7 + j * 13) % 17) as f64 / 5.0 + (i as f64 * 0.37).sin());
        let y =
            Matrix::from_fn(n, 2, |i, t| (x.get(i, 0) + 0.3 * x.get(i, 1 + t)).sin() + 0.1 * (i as f64 * 1.7).cos());
        (x, y)
    }

    /// The gradient against differences, for every family, goal, offset and weights.
    #[test]
    fn gradients_are_those_of_differences() {
        let (x, y) = data(25);
        let weights: Vec<f64> = (0..25).map(|i| (0.5 + (i % 3) as f64).sqrt()).collect();
        for spec in ["gaussian", "matern12", "matern32", "matern52", "rational-quadratic(shape=0.7)"] {
            for goal in [Goal::LeaveOneOut, Goal::Likelihood] {
                for (offset, weighted) in [(true, false), (false, false), (true, true)] {
                    let weights = weighted.then_some(&weights[..]);
                    let families = [parse(spec).unwrap(), parse("matern12").unwrap()];
                    let objective = Objective::new(&families, x.clone(), &y, weights, offset, goal).unwrap();
                    let point = vec![-1.5, 0.2, 0.5, -0.1, -0.7, 0.4, 0.9, 0.3];
                    let value = objective.at(&point).unwrap();
                    for k in 0..point.len() {
                        let moved = |by: f64| {
                            let mut point = point.clone();
                            point[k] += by;
                            objective.at(&point).unwrap().value
                        };
                        let difference = (moved(1e-5) - moved(-1e-5)) / 2e-5;
                        let scale = 1e-3 + value.gradient[k].abs();
                        assert!(
                            (difference - value.gradient[k]).abs() < 2e-6 * scale.max(1.0),
                            "{spec} {goal:?} {k}: {difference} {}",
                            value.gradient[k]
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn the_value_is_that_of_leave_one_out() {
        let (x, y) = data(25);
        let family = parse("matern52").unwrap();
        let one = Matrix::column_vector(y.col(0).to_vec());
        let objective =
            Objective::new(std::slice::from_ref(&family), x.clone(), &one, None, true, Goal::LeaveOneOut).unwrap();
        let value = objective.at(&[-2.0, 0.5, 0.5, 0.5]).unwrap().value;
        let kernel = family.with_lengthscales(&[libm::exp(0.5)]).unwrap();
        let spectrum =
            crate::path::Spectrum::from_gram(crate::space::gram(&*kernel, &Points::new(&x)), None, true).unwrap();
        let target = spectrum.target(one.col(0)).unwrap();
        let log_lambda = -2.0 - 24.0_f64.ln();
        let residuals = crate::path::leave_one_out(&spectrum, &[&target], 2.0, &[log_lambda]).unwrap();
        let sum: f64 = residuals[0][0].iter().map(|e| e * e).sum();
        let mean = one.col(0).iter().sum::<f64>() / 25.0;
        let variance = one.col(0).iter().map(|v| (v - mean).powi(2)).sum::<f64>() / 25.0;
        assert!((value - (sum / variance).ln()).abs() < 1e-9);
        assert!(Objective::new(&[parse("linear").unwrap()], x, &y, None, true, Goal::LeaveOneOut).is_err());
    }
}
