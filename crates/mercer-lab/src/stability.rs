//! How much one row matters: bounds of uniform stability, and what exact deletions show.
//!
//! An algorithm Z ↦ f is β-stable if leaving out any row of any training set changes the squared loss at any point by at
//! most β. Two things are called "leaving out": the row's term vanishes and 1/n stays ([`Divisor::All`], of which the
//! published theorem speaks), or the others are fitted anew with 1/(n − 1) ([`Divisor::Remaining`]). Both are bounded by
//! [`Assumptions::bound`] for every m > 1 and observed without refits by [`Sample::observe`]. There is no offset anywhere
//! here: the theorems bound f by its norm, and no norm holds an offset.
//!
//! ```
//! use mercer::kernel::{Points, radial::Gaussian};
//! use mercer::prelude::*;
//! use mercer::solver::deletion::Divisor;
//! use mercer_lab::stability::Sample;
//!
//! let x = Matrix::from_fn(30, 1, |i, _| 0.2 * i as f64);
//! let y: Vec<f64> = (0..30).map(|i| (0.2 * i as f64).sin()).collect();
//! let sample = Sample::new(&Gaussian::lengthscale(1.0), &Points::new(&x), &y)?;
//! let assume = sample.assumptions(2.0, 0.01, Some(1.0))?;
//! let observed = sample.observe(&assume, Divisor::All)?;
//! assert!(observed.at_rows <= observed.any_target && observed.any_target <= observed.anywhere);
//! assert!(observed.anywhere <= assume.bound(Divisor::All).unwrap());
//! assert!(assume.bound(Divisor::All) < assume.published_bound());
//! # Ok::<(), mercer::Error>(())
//! ```
//!
//! Derivations and traps: `docs/stability.md`.

mod observed;
mod recovered;
mod scaling;
mod theorem;
mod transfer;

use std::sync::Arc;

pub use observed::Observed;
pub use scaling::{Power, ScalePoint, Scaling};
pub use theorem::Assumptions;
pub use transfer::Transfer;

use mercer::kernel::{Kernel, Points};
use mercer::loss::residual::Squared;
use mercer::plan::available_memory;
use mercer::solver::deletion::{Deletions, Divisor};
use mercer::space;
use mercer::spectrum::{Spectrum, Target, power};
use mercer::{Error, Matrix, Result};
use observed::{Evaluation, coordinates, values};

/// Rows and targets, decomposed without an offset.
#[derive(Debug, Clone)]
pub struct Sample {
    gram: Matrix,
    y: Vec<f64>,
    known_diagonal: Option<f64>,
    spectrum: Spectrum,
    target: Target,
}

impl Sample {
    /// Decomposes the rows' Gram matrix; the kernel's parameters must be numbers.
    pub fn new(kernel: &dyn Kernel, points: &Points, y: &[f64]) -> Result<Self> {
        kernel.check(points.features(), points.code_columns())?;
        let n = points.rows() as u64;
        // Gram matrix and basis, one more pair while they are made; coordinates and values of two sets of deletions.
        let (needed, available) = (8 * 8 * n * n, available_memory());
        if needed > available {
            let hint = "; certify fewer rows".to_owned();
            let what = "eight n × n matrices for all deletions";
            return Err(Error::Memory { rows: points.rows(), needed, available, what, hint });
        }
        if y.len() != points.rows() {
            return Err(Error::shape("y", format!("one number per row ({n})"), y.len()));
        }
        Sample::from_gram(space::gram(kernel, points), y.to_vec(), kernel.largest_diagonal())
    }

    /// From a Gram matrix, both triangles, and a bound of k(x, x) over all x if one is known.
    pub fn from_gram(gram: Matrix, y: Vec<f64>, known_diagonal: Option<f64>) -> Result<Self> {
        if gram.rows() < 2 {
            let must = "at least two, so that something is left when one is deleted";
            return Err(Error::argument("the number of rows", must, gram.rows()));
        }
        if let Some(row) = y.iter().position(|y| !y.is_finite()) {
            return Err(Error::argument(format!("the target of row {}", row + 1), "finite", y[row]));
        }
        let spectrum = Spectrum::from_gram(gram.clone(), None, false)?;
        let target = spectrum.target(&y)?;
        Ok(Sample { gram, y, known_diagonal, spectrum, target })
    }

    /// The same rows with a number, fixed before they were seen, subtracted from every target.
    pub fn centred(self, centre: f64) -> Result<Self> {
        let y = self.y.iter().map(|y| y - centre).collect();
        Sample::from_gram(self.gram, y, self.known_diagonal)
    }

    /// K.
    pub fn gram(&self) -> &Matrix {
        &self.gram
    }

    /// The targets.
    pub fn targets(&self) -> &[f64] {
        &self.y
    }

    /// n.
    pub fn rows(&self) -> usize {
        self.y.len()
    }

    /// tr K/n.
    pub fn mean_diagonal(&self) -> f64 {
        (0..self.rows()).map(|i| self.gram.get(i, i)).sum::<f64>() / self.rows() as f64
    }

    /// κ², and whether it is known for every x there can be rather than the largest k(x, x) of the rows.
    pub fn largest_diagonal(&self) -> (f64, bool) {
        let of_rows = || (0..self.rows()).map(|i| self.gram.get(i, i)).fold(0.0, f64::max);
        self.known_diagonal.map_or_else(|| (of_rows(), false), |known| (known, true))
    }

    /// The largest |y| of the rows, and where (counted from 0).
    pub fn largest_target(&self) -> (f64, usize) {
        let larger = |a: (f64, usize), b: (f64, usize)| if b.0 > a.0 { b } else { a };
        self.y.iter().enumerate().map(|(i, y)| (y.abs(), i)).fold((0.0, 0), larger)
    }

    /// The squared loss with this exponent and λ. Without a bound of |y| the rows' largest stands for it.
    pub fn assumptions(&self, exponent: f64, lambda: f64, target_bound: Option<f64>) -> Result<Assumptions> {
        let (largest, row) = self.largest_target();
        if let Some(bound) = target_bound.filter(|bound| *bound < largest) {
            let must = format!("at least the |y| of every row; row {} has {largest}", row + 1);
            return Err(Error::argument("the bound of |y|", must, bound));
        }
        let assume = Assumptions {
            rows: self.rows(),
            exponent,
            lambda,
            target_bound: target_bound.unwrap_or(largest),
            kernel_bound: self.largest_diagonal().0.sqrt(),
            loss: Arc::new(Squared),
        };
        assume.check()?;
        Ok(assume)
    }

    /// The fit of all rows: ‖f‖ and its values at the rows.
    pub fn fit(&self, assume: &Assumptions) -> (f64, Vec<f64>) {
        let path = self.spectrum.path(&[&self.target]);
        let found = power::minimum(&path, assume.exponent, assume.lambda);
        let norm = found.log_ridge.map_or(0.0, |t| path.norm(libm::exp(t)));
        (norm, values(&self.projected(), coordinates(&self.spectrum, &self.target, found.log_ridge)))
    }

    /// What leaving out each row changes, exactly.
    pub fn observe(&self, assume: &Assumptions, divisor: Divisor) -> Result<Observed> {
        Ok(self.observed(&self.deletions(assume, divisor)?, divisor, assume))
    }

    fn deletions(&self, assume: &Assumptions, divisor: Divisor) -> Result<Deletions> {
        self.spectrum.deletions(&self.target, assume.exponent, assume.lambda, divisor)
    }

    fn observed(&self, deletions: &Deletions, divisor: Divisor, assume: &Assumptions) -> Observed {
        let projected = self.projected();
        let fitted = values(&projected, coordinates(&self.spectrum, &self.target, deletions.log_ridge));
        let at = Evaluation { projected: &projected, targets: &self.y };
        Observed::new(deletions, divisor, &at, &fitted, assume)
    }

    /// The rows in the coordinates of their own spectrum: KQ = QD.
    fn projected(&self) -> Matrix {
        let mut projected = self.spectrum.basis();
        for (k, d) in self.spectrum.eigenvalues().iter().enumerate() {
            projected.col_mut(k).iter_mut().for_each(|q| *q *= d);
        }
        projected
    }

    /// The same for a fit of some of the rows, with losses compared at all of them.
    fn observe_subset(&self, rows: &[usize], assume: &Assumptions, divisor: Divisor) -> Result<Observed> {
        let gram = Matrix::from_fn(rows.len(), rows.len(), |i, j| self.gram.get(rows[i], rows[j]));
        let cross = Matrix::from_fn(self.rows(), rows.len(), |i, j| self.gram.get(i, rows[j]));
        let y: Vec<f64> = rows.iter().map(|row| self.y[*row]).collect();
        let spectrum = Spectrum::from_gram(gram, None, false)?;
        let target = spectrum.target(&y)?;
        let deletions = spectrum.deletions(&target, assume.exponent, assume.lambda, divisor)?;
        let projected = spectrum.project(cross, &[]);
        let fitted = values(&projected, coordinates(&spectrum, &target, deletions.log_ridge));
        let at = Evaluation { projected: &projected, targets: &self.y };
        Ok(Observed::new(&deletions, divisor, &at, &fitted, &assume.with_rows(rows.len())))
    }
}
