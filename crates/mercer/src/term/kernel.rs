//! Kernels k(x, x′): the space in which f is sought.
//!
//! A kernel is written as a spec and printed as one: `gaussian(lengthscale=1.5)`, `0.5*linear + gaussian`,
//! `matern32(lengthscale=[1,2,0.5]) * equality`. [`parse`] reads it, [`Kernel::spec`] prints it, and the two
//! are inverse to each other bit for bit.
//!
//! | chapter | members |
//! |---|---|
//! | [`radial`] | functions of a distance: `gaussian`, `laplace`, `matern12`, `matern32`, `matern52`, `rational-quadratic`, `cauchy` |
//! | [`periodic`] | functions that repeat: `periodic` |
//! | [`product`] | functions of xᵀx′: `linear`, `polynomial` |
//! | [`spline`] | splines with infinitely many knots, added or multiplied over the features |
//! | [`special`] | `equality` for text columns, `precomputed`, and `normalized-…` or `normalized(…)` of any other |
//! | [`combine`] | sums, products and scalings |
//! | `waves` | random Fourier features of a radial kernel, for moments |

pub mod combine;
mod expression;
mod formula;
pub mod periodic;
pub mod product;
pub mod radial;
mod reading;
pub mod special;
pub mod spline;
pub(crate) mod waves;

use std::fmt::Debug;
use std::sync::Arc;

use crate::base::error::Result;
use crate::base::table::Entry;
use crate::linalg::Matrix;

pub use crate::data::{Point, Points};
pub use expression::parse;
pub use formula::{Decay, Formula};
pub(crate) use reading::kernel_for;

/// A kernel that can be shared between threads and models.
pub type SharedKernel = Arc<dyn Kernel>;

/// A symmetric positive semidefinite function k(x, x′) of two rows of a table.
pub trait Kernel: Debug + Send + Sync {
    /// The spec that [`parse`] reads back as this kernel.
    fn spec(&self) -> String;

    /// k(x, pⱼ) for the points j = start, …, start + out.len() − 1.
    ///
    /// k(x, p) and k(p, x) must be the same bits: a Gram matrix is filled from one side.
    fn values(&self, x: Point<'_>, points: &Points, start: usize, out: &mut [f64]);

    /// sumsⱼ += Σ weight · k(x, pⱼ) over the points x of `terms`, for the points j = start, …, start + sums.len() − 1. What
    /// [`values`](Self::values) give up to rounding: a kernel may fuse the steps of which it is made.
    fn add_sums(&self, terms: &Points, weights: &[f64], points: &Points, start: usize, sums: &mut [f64]) {
        const PART: usize = 128;
        let mut values = [0.0; PART];
        for (part, sums) in sums.chunks_mut(PART).enumerate() {
            let values = &mut values[..sums.len()];
            for (i, weight) in weights.iter().enumerate() {
                terms.with_point(i, |x| self.values(x, points, start + part * PART, values));
                sums.iter_mut().zip(&*values).for_each(|(sum, value)| *sum += weight * *value);
            }
        }
    }

    /// k(pⱼ, pⱼ) for the points j = start, …, start + out.len() − 1.
    fn diagonal(&self, points: &Points, start: usize, out: &mut [f64]);

    /// A bound of k(x, x) over every x there can be (its supremum, for a kernel that is no combination), where one is known.
    fn largest_diagonal(&self) -> Option<f64> {
        None
    }

    /// Checks the parameters against the data (one lengthscale per feature, …) and replaces those that are
    /// rules (`lengthscale=median`) by numbers.
    fn fitted_to(&self, points: &Points, weights: Option<&[f64]>) -> Result<SharedKernel>;

    /// The dimension of the space of functions that this kernel spans, with so many features; `None` if it has no bound, or none
    /// that is known.
    fn span(&self, features: usize) -> Option<Span> {
        let _ = features;
        None
    }

    /// Refuses points of another shape than the kernel was made for, and parameters that are still rules. A
    /// kernel that came out of [`fitted_to`](Self::fitted_to) passes for the points it was fitted to.
    fn check(&self, features: usize, code_columns: usize) -> Result<()> {
        let _ = (features, code_columns);
        Ok(())
    }

    /// Whether the features must not be negative (splines).
    fn needs_nonnegative(&self) -> bool {
        false
    }

    /// Whether k(x, x′) = scale · xᵀx′, so that f is a linear function; then its scale.
    fn linear_scale(&self) -> Option<f64> {
        None
    }

    /// The distance of which this kernel is a function, if it is one of a single distance with one lengthscale; many
    /// lengthscales then share one matrix of distances.
    fn distance(&self) -> Option<Distance> {
        None
    }

    /// From distances, squared if Euclidean, to kernel values, in their place. Only for kernels with a
    /// [`distance`](Self::distance).
    fn of_distances(&self, distances: &mut [f64]) {
        let _ = distances;
    }

    /// [`of_distances`](Self::of_distances) in single precision, for those who will correct what that loses.
    fn of_distances_single(&self, distances: &mut [f32]) {
        let mut buffer = [0.0; 64];
        for chunk in distances.chunks_mut(64) {
            let buffer = &mut buffer[..chunk.len()];
            buffer.iter_mut().zip(&*chunk).for_each(|(b, q)| *b = f64::from(*q));
            self.of_distances(buffer);
            chunk.iter_mut().zip(&*buffer).for_each(|(q, b)| *q = *b as f32);
        }
    }

    /// The derivatives of the kernel values with respect to the distances that
    /// [`of_distances`](Self::of_distances) takes, in their place. Only for squared Euclidean distances; 0 at distance
    /// 0, where some kernels have a kink.
    fn slopes_of_distances(&self, distances: &mut [f64]) {
        let _ = distances;
    }

    /// ∂k(x, pⱼ)/∂xₖ in row j and column k of `out` (points × features). 0, or the mean of both sides, where there is a
    /// kink. Without a formula of its own a kernel has the central difference with steps of [`STEP`] times |xₖ|, at
    /// least that of 1.
    fn gradients(&self, x: Point<'_>, points: &Points, out: &mut Matrix) {
        central_differences(self, x, points, out);
    }

    /// The same kernel with one lengthscale per feature, or one for all if the list has one entry; `None` for a kernel
    /// that is not a function of a distance.
    fn with_lengthscales(&self, lengthscales: &[f64]) -> Option<SharedKernel> {
        let _ = lengthscales;
        None
    }

    /// Its lengthscales, if it has one per feature.
    fn lengthscales(&self) -> Option<Vec<f64>> {
        None
    }

    /// Its lengthscale, if it has one for all features.
    fn single_lengthscale(&self) -> Option<f64> {
        None
    }

    /// The kernel as a formula that others can evaluate, if it has one and its parameters are numbers by now.
    fn formula(&self) -> Option<Formula> {
        None
    }

    /// Whether this kernel reads the codes of text columns.
    fn uses_codes(&self) -> bool {
        false
    }

    /// Whether it is a wave of frequencies that stand in the place of points.
    fn is_waves(&self) -> bool {
        false
    }

    /// Whether the features of a row are its kernel values themselves.
    fn is_precomputed(&self) -> bool {
        false
    }
}

/// A space of functions with finitely many dimensions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// An upper bound of how many.
    pub dimension: usize,
    /// Whether constants are certain to be among them, and counted.
    pub has_constant: bool,
}

/// The step of central differences: the cube root of eps balances rounding against curvature.
pub const STEP: f64 = 6.055_454_452_393_343e-6;

fn central_differences<K: Kernel + ?Sized>(kernel: &K, x: Point<'_>, points: &Points, out: &mut Matrix) {
    let mut numbers = x.numbers.to_vec();
    let mut below = vec![0.0; points.rows()];
    for (k, own) in x.numbers.iter().enumerate() {
        let step = STEP * own.abs().max(1.0);
        let above = out.col_mut(k);
        numbers[k] = own + step;
        kernel.values(Point { numbers: &numbers, codes: x.codes }, points, 0, above);
        let high = numbers[k];
        numbers[k] = own - step;
        kernel.values(Point { numbers: &numbers, codes: x.codes }, points, 0, &mut below);
        let width = high - numbers[k];
        above.iter_mut().zip(&below).for_each(|(a, b)| *a = (*a - b) / width);
        numbers[k] = *own;
    }
}

/// Between two rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Distance {
    /// Σ (xⱼ − x′ⱼ)².
    SquaredEuclidean,
    /// Σ |xⱼ − x′ⱼ|.
    Absolute,
}

/// All kernels that can be named in a spec, in the order in which they are listed to a person.
/// Any of them may be preceded by `normalized-`.
pub fn all() -> Vec<&'static Entry<SharedKernel>> {
    [product::ENTRIES, radial::ENTRIES, periodic::ENTRIES, spline::ENTRIES, special::ENTRIES]
        .into_iter()
        .flatten()
        .collect()
}
