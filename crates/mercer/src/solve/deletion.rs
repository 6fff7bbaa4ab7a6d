//! The fits of all rows but one: their effective ridges, residuals, norms, distances from the fit of all rows, and
//! predictions. Exact for every exponent, from one decomposition, without refits.
//!
//! At the ridge γᵢ of its own, the fit without row i is the fit of all rows to targets in which yᵢ lies on the fitted function
//! (see `path/deleted.rs`): in the basis of the decomposition f₋ᵢ has the coordinates uᵢ = (z − c qᵢ)/(d + γᵢ), so that
//! ‖f₋ᵢ‖² = Σ d uᵢ², ‖f − f₋ᵢ‖² = Σ d (u − uᵢ)², and f₋ᵢ(x) is a product of uᵢ with the new row's coordinates.

mod groups;

pub use groups::GroupDeletions;

use crate::base::error::{Error, Result};
use crate::linalg::{Matrix, multiply};
use crate::path::power;
use crate::path::{Remembered, Spectrum, Target};

/// What the mean of the losses is divided by after a row is left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Divisor {
    /// By what is left, W − wᵢ: the problem that a refit on the other rows solves.
    Remaining,
    /// By W as before, so that the row's term vanishes and nothing else changes: what theorems on stability speak of.
    All,
}

/// The fit without one row.
#[derive(Debug, Clone, PartialEq)]
pub struct DeletedFit {
    /// log μ with γ = (W − wᵢ)μ; `None` for the zero function.
    pub log_ridge: Option<f64>,
    /// yᵢ − f₋ᵢ(xᵢ) − b₋ᵢ.
    pub residual: f64,
    /// ‖f₋ᵢ‖.
    pub norm: f64,
    /// ‖f − f₋ᵢ‖, f the fit of all rows.
    pub distance: f64,
}

/// All fits without one row.
#[derive(Debug, Clone)]
pub struct Deletions {
    /// log μ of the fit of all rows; `None` for the zero function.
    pub log_ridge: Option<f64>,
    /// ‖f‖.
    pub norm: f64,
    /// One per row.
    pub fits: Vec<DeletedFit>,
    functions: Functions,
}

/// Functions in the basis of a decomposition, one for each deletion.
#[derive(Debug, Clone)]
struct Functions {
    /// u in the target's own units, r × deletions.
    coordinates: Matrix,
    /// mean(y) + b's change: the constant of each in centred coordinates.
    constants: Vec<f64>,
}

impl Spectrum {
    /// The fits of one target without each of its rows, at the exponent and λ of the whole.
    pub fn deletions(&self, target: &Target, exponent: f64, lambda: f64, divisor: Divisor) -> Result<Deletions> {
        let log_lambda = libm::log(lambda);
        let mut path = self.path(&[target]);
        let log_ridge = power::minimise(&mut path, exponent, log_lambda, None).log_ridge;
        let unit = libm::ldexp(1.0, target.power);
        let whole: Vec<f64> = match log_ridge {
            Some(t) => {
                let gamma = libm::exp(t + libm::log(self.weight_sum()));
                target.z.iter().zip(self.eigenvalues()).map(|(z, d)| z / (d + gamma)).collect()
            }
            None => vec![0.0; target.z.len()],
        };
        let norm_of = |u: &dyn Fn(usize) -> f64| {
            let squares = self.eigenvalues().iter().enumerate().map(|(k, d)| d * u(k) * u(k));
            unit * squares.sum::<f64>().sqrt()
        };
        let rows = self.for_each_deleted_row(&[target], |mut row| {
            let (left, weight) = row.weights();
            let minimum = if row.has_others() {
                let log_lambda = match divisor {
                    Divisor::Remaining => log_lambda,
                    // Divided by W instead of W − wᵢ, the losses weigh less and λ more.
                    Divisor::All => log_lambda + libm::log((left + weight) / left),
                };
                power::minimise(&mut Remembered::new(&mut row), exponent, log_lambda, log_ridge).log_ridge
            } else {
                None
            };
            let u = row.fit(minimum);
            let fit = DeletedFit {
                log_ridge: minimum,
                residual: row.residuals(minimum)[0],
                norm: norm_of(&|k| u[k]),
                distance: norm_of(&|k| u[k] - whole[k]),
            };
            (fit, u, weight)
        });
        let must = "at least two, so that something is left when one is deleted";
        let rows = rows.filter(|rows| rows.len() > 1);
        let rows = rows.ok_or_else(|| Error::argument("the number of rows", must, self.rows()))?;
        let mut functions = Functions::none(self, rows.len());
        let mut fits = Vec::with_capacity(rows.len());
        for (i, (fit, u, weight)) in rows.into_iter().enumerate() {
            functions.add(self, target, i, &u, weight * fit.residual);
            fits.push(fit);
        }
        Ok(Deletions { log_ridge, norm: norm_of(&|k| whole[k]), fits, functions })
    }
}

impl Deletions {
    /// uᵢ, one column per deleted row: f₋ᵢ in the basis of the spectrum, in which ‖g‖² = Σ d g².
    #[doc(hidden)]
    pub fn coordinates(&self) -> &Matrix {
        &self.functions.coordinates
    }

    /// f₋ᵢ(x) + b₋ᵢ for every new row (rows of the result) and every deleted one (its columns). `projected` are the new rows
    /// in the coordinates of the spectrum.
    #[doc(hidden)]
    pub fn predict(&self, projected: &Matrix) -> Matrix {
        self.functions.at(projected)
    }
}

impl Functions {
    fn none(spectrum: &Spectrum, count: usize) -> Self {
        Functions {
            coordinates: Matrix::zeros(spectrum.eigenvalues().len(), count),
            constants: Vec::with_capacity(count),
        }
    }

    /// Deletion `i`, which must be the next one: its coordinates in units of 2ᵏ, and Σ wᵢeᵢ over the rows left out.
    fn add(&mut self, spectrum: &Spectrum, target: &Target, i: usize, u: &[f64], weighted_residuals: f64) {
        let unit = libm::ldexp(1.0, target.power);
        for (k, (to, from)) in self.coordinates.col_mut(i).iter_mut().zip(u).enumerate() {
            // Directions without eigenvalue are part of no function; their coordinates are rounding.
            *to = if spectrum.eigenvalues()[k] > 0.0 { unit * from } else { 0.0 };
        }
        let moved = if spectrum.has_offset() { weighted_residuals / spectrum.weight_sum() } else { 0.0 };
        self.constants.push(target.mean - moved);
    }

    /// Their values (columns) at new rows in the coordinates of the spectrum.
    fn at(&self, projected: &Matrix) -> Matrix {
        let mut predicted = multiply(projected, &self.coordinates);
        for (i, constant) in self.constants.iter().enumerate() {
            predicted.col_mut(i).iter_mut().for_each(|value| *value += constant);
        }
        predicted
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Points;
    use crate::space;
    use crate::term::kernel::radial::Gaussian;

    /// The fit to some rows by a decomposition of their own: α on all rows (0 where left out), b, and μ.
    fn refit(
        gram: &Matrix,
        y: &[f64],
        kept: &[usize],
        exponent: f64,
        lambda: f64,
        offset: bool,
    ) -> (Vec<f64>, f64, f64) {
        let part = Matrix::from_fn(kept.len(), kept.len(), |i, j| gram.get(kept[i], kept[j]));
        let spectrum = Spectrum::from_gram(part, None, offset).unwrap();
        let values: Vec<f64> = kept.iter().map(|i| y[*i]).collect();
        let target = spectrum.target(&values).unwrap();
        let ridge = libm::exp(power::minimum(&spectrum.path(&[&target]), exponent, lambda).log_ridge.unwrap());
        let dual = spectrum.dual(&target, ridge * kept.len() as f64);
        let mut alpha = vec![0.0; y.len()];
        kept.iter().zip(&dual).for_each(|(i, a)| alpha[*i] = *a);
        let mean = |values: &mut dyn Iterator<Item = f64>| values.sum::<f64>() / kept.len() as f64;
        let b = mean(&mut kept.iter().map(|i| y[*i] - (0..y.len()).map(|j| gram.get(*i, j) * alpha[j]).sum::<f64>()));
        (alpha, if offset { b } else { 0.0 }, ridge)
    }

    #[test]
    fn deletions_are_refits() {
        let n = 24;
        let x = Matrix::from_fn(n, 2, |i, j| libm::sin(1.7 * (i * (j + 2)) as f64));
        let y: Vec<f64> = (0..n)
            .map(|i| 3.0 + libm::cos(2.0 * x.get(i, 0)) * x.get(i, 1) + 0.1 * libm::sin(9.0 * i as f64))
            .collect();
        let points = Points::new(&x);
        let kernel = Gaussian::lengthscale(0.8);
        let gram = space::gram(&kernel, &points);
        let all: Vec<usize> = (0..n).collect();
        for offset in [true, false] {
            let spectrum = Spectrum::from_gram(gram.clone(), None, offset).unwrap();
            let target = spectrum.target(&y).unwrap();
            let projected = spectrum.project(gram.clone(), &space::mean_column(&kernel, &points, None));
            for (exponent, divisor) in
                [(1.5, Divisor::Remaining), (2.0, Divisor::Remaining), (3.0, Divisor::All), (0.7, Divisor::Remaining)]
            {
                let lambda = 1e-3;
                let found = spectrum.deletions(&target, exponent, lambda, divisor).unwrap();
                let predicted = found.predict(&projected);
                let (whole, _, _) = refit(&gram, &y, &all, exponent, lambda, offset);
                for (i, fit) in found.fits.iter().enumerate() {
                    let kept: Vec<usize> = all.iter().copied().filter(|j| *j != i).collect();
                    let share = n as f64 / (n as f64 - 1.0);
                    let lambda = if divisor == Divisor::All { lambda * share } else { lambda };
                    let (alpha, b, ridge) = refit(&gram, &y, &kept, exponent, lambda, offset);
                    let difference: Vec<f64> = whole.iter().zip(&alpha).map(|(a, b)| a - b).collect();
                    let quadratic = |a: &[f64]| {
                        let products = (0..n).map(|j| a[j] * (0..n).map(|k| gram.get(j, k) * a[k]).sum::<f64>());
                        products.sum::<f64>().max(0.0).sqrt()
                    };
                    let close = |a: f64, b: f64, what: &str| {
                        assert!(
                            (a - b).abs() < 1e-9 * (1.0 + b.abs()),
                            "{what}, row {i}, exponent {exponent}: {a} against {b}"
                        );
                    };
                    close(libm::exp(fit.log_ridge.unwrap()) / ridge, 1.0, "ridge");
                    close(fit.norm, quadratic(&alpha), "norm");
                    // A square root of a difference of squares: half the digits where the row hardly matters.
                    assert!((fit.distance - quadratic(&difference)).abs() < 1e-7 * found.norm, "distance");
                    for j in 0..n {
                        let value = (0..n).map(|k| gram.get(j, k) * alpha[k]).sum::<f64>() + b;
                        close(predicted.get(j, i), value, "prediction");
                    }
                    close(fit.residual, y[i] - predicted.get(i, i), "residual");
                }
            }
        }
    }
}
