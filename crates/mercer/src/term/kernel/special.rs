//! Kernels that do not read plain features: equality of text, given Gram matrices, and normalisation.

use std::sync::Arc;

use super::combine::has_at_top;
use super::{Formula, Kernel, Point, Points, SharedKernel, Span};
use crate::base::error::{Error, Result};
use crate::base::table::{Entry, Parameter};
use crate::linalg::Matrix;

pub(super) const ENTRIES: &[Entry<SharedKernel>] = &[
    Entry {
        name: "equality",
        formula: "Π over text columns: 1 if equal, else similarity",
        parameters: &[Parameter { name: "similarity", default: "0.5", about: "from 0 to below 1" }],
        build: |arguments| {
            let similarity = arguments.number("similarity", 0.5, "from 0 to below 1", |x| (0.0..1.0).contains(&x))?;
            Ok(Arc::new(Equality { similarity }))
        },
    },
    Entry {
        name: "precomputed",
        formula: "the features of a row are its kernel values with the training rows",
        parameters: &[],
        build: |_| Ok(Arc::new(Precomputed)),
    },
];

/// Compares text columns: the product over them of 1 where they are equal and `similarity` where not.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Equality {
    similarity: f64,
}

impl Equality {
    /// Equality with this value (0 ≤ similarity < 1) for two different categories.
    pub fn new(similarity: f64) -> Self {
        Equality { similarity }
    }
}

impl Kernel for Equality {
    fn spec(&self) -> String {
        format!("equality(similarity={})", self.similarity)
    }

    fn values(&self, x: Point<'_>, points: &Points, start: usize, out: &mut [f64]) {
        out.fill(1.0);
        for (j, code) in x.codes.iter().enumerate() {
            for (value, other) in out.iter_mut().zip(&points.codes(j)[start..]) {
                if code != other {
                    *value *= self.similarity;
                }
            }
        }
    }

    fn diagonal(&self, _: &Points, _: usize, out: &mut [f64]) {
        out.fill(1.0);
    }

    fn largest_diagonal(&self) -> Option<f64> {
        Some(1.0)
    }

    fn formula(&self) -> Option<Formula> {
        Some(Formula::Equality { similarity: self.similarity })
    }

    fn fitted_to(&self, points: &Points, _: Option<&[f64]>) -> Result<SharedKernel> {
        self.check(points.features(), points.code_columns())?;
        Ok(Arc::new(*self))
    }

    fn check(&self, _: usize, code_columns: usize) -> Result<()> {
        if !(0.0..1.0).contains(&self.similarity) {
            return Err(Error::argument("similarity of equality", "from 0 to below 1", self.similarity));
        }
        if code_columns == 0 {
            return Err(Error::NotAKernel(
                "the equality kernel compares text columns, but there is none that is kept as text".into(),
            ));
        }
        Ok(())
    }

    fn gradients(&self, _: Point<'_>, _: &Points, out: &mut Matrix) {
        out.as_mut_slice().fill(0.0);
    }

    fn uses_codes(&self) -> bool {
        true
    }
}

/// The table is the Gram matrix itself: column j of a row is its kernel value with training row j.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Precomputed;

impl Kernel for Precomputed {
    fn spec(&self) -> String {
        "precomputed".into()
    }

    fn values(&self, x: Point<'_>, _: &Points, start: usize, out: &mut [f64]) {
        let end = start + out.len();
        out.copy_from_slice(&x.numbers[start..end]);
    }

    fn diagonal(&self, points: &Points, start: usize, out: &mut [f64]) {
        for (offset, value) in out.iter_mut().enumerate() {
            *value = points.feature(start + offset)[start + offset];
        }
    }

    fn fitted_to(&self, points: &Points, _: Option<&[f64]>) -> Result<SharedKernel> {
        let n = points.rows();
        if points.features() != n {
            return Err(Error::shape(
                "a precomputed kernel",
                format!("as many columns as rows ({n})"),
                points.features(),
            ));
        }
        for j in 0..n {
            for i in 0..j {
                let (upper, lower) = (points.feature(j)[i], points.feature(i)[j]);
                if (upper - lower).abs() > 1e-12 * upper.abs().max(lower.abs()) {
                    return Err(Error::NotAKernel(format!(
                        "a precomputed kernel must be symmetric; row {}, column {} is {upper} but row {}, \
                         column {} is {lower}",
                        i + 1,
                        j + 1,
                        j + 1,
                        i + 1
                    )));
                }
            }
        }
        Ok(Arc::new(*self))
    }

    /// There are no features to derive by.
    fn gradients(&self, _: Point<'_>, _: &Points, out: &mut Matrix) {
        out.as_mut_slice().fill(0.0);
    }

    fn is_precomputed(&self) -> bool {
        true
    }
}

/// k(x, x′) / √(k(x, x) k(x′, x′)): every point has length one in the space.
#[derive(Debug, Clone)]
pub struct Normalized {
    inner: SharedKernel,
}

impl Normalized {
    /// The normalised form of a kernel.
    pub fn new(inner: SharedKernel) -> Self {
        Normalized { inner }
    }
}

impl Kernel for Normalized {
    fn spec(&self) -> String {
        let inner = self.inner.spec();
        let is_plain = !inner.starts_with("normalized") && !has_at_top(&inner, '+') && !has_at_top(&inner, '*');
        if is_plain { format!("normalized-{inner}") } else { format!("normalized({inner})") }
    }

    fn values(&self, x: Point<'_>, points: &Points, start: usize, out: &mut [f64]) {
        let own = Points::of_one(x);
        let mut length = [0.0];
        self.inner.diagonal(&own, 0, &mut length);
        self.inner.values(x, points, start, out);
        let mut lengths = vec![0.0; out.len()];
        self.inner.diagonal(points, start, &mut lengths);
        for (value, other) in out.iter_mut().zip(&lengths) {
            let product = length[0] * other;
            // The zero vector of the space has no direction; it stays where it is.
            *value = if product > 0.0 { *value / product.sqrt() } else { 0.0 };
        }
    }

    fn diagonal(&self, points: &Points, start: usize, out: &mut [f64]) {
        self.inner.diagonal(points, start, out);
        for value in out {
            *value = f64::from(*value > 0.0);
        }
    }

    /// With g = k/√(k(x,x) k(p,p)): ∂g = ∂k/√(…) − g ∂k(x, x′)/k(x, x) at x′ = x, since k is symmetric.
    fn gradients(&self, x: Point<'_>, points: &Points, out: &mut Matrix) {
        let own = Points::of_one(x);
        let mut length = [0.0];
        self.inner.diagonal(&own, 0, &mut length);
        let mut own_gradient = Matrix::zeros(1, x.numbers.len());
        self.inner.gradients(x, &own, &mut own_gradient);
        let (mut values, mut lengths) = (vec![0.0; points.rows()], vec![0.0; points.rows()]);
        self.values(x, points, 0, &mut values);
        self.inner.diagonal(points, 0, &mut lengths);
        self.inner.gradients(x, points, out);
        for k in 0..x.numbers.len() {
            let pull = own_gradient.get(0, k) / length[0];
            for ((value, other), g) in out.col_mut(k).iter_mut().zip(&lengths).zip(&values) {
                let product = length[0] * other;
                *value = if product > 0.0 { *value / product.sqrt() - g * pull } else { 0.0 };
            }
        }
    }

    fn largest_diagonal(&self) -> Option<f64> {
        Some(1.0)
    }

    /// Functions of the inner kernel's space, each divided by the same √k(x, x).
    fn span(&self, features: usize) -> Option<Span> {
        self.inner.span(features).map(|span| Span { has_constant: false, ..span })
    }

    fn fitted_to(&self, points: &Points, weights: Option<&[f64]>) -> Result<SharedKernel> {
        let fitted = Normalized { inner: self.inner.fitted_to(points, weights)? };
        fitted.check(points.features(), points.code_columns())?;
        Ok(Arc::new(fitted))
    }

    fn check(&self, features: usize, code_columns: usize) -> Result<()> {
        if self.inner.is_precomputed() {
            return Err(Error::NotAKernel("a precomputed kernel cannot be normalised: pass it normalised".into()));
        }
        self.inner.check(features, code_columns)
    }

    fn needs_nonnegative(&self) -> bool {
        self.inner.needs_nonnegative()
    }

    fn uses_codes(&self) -> bool {
        self.inner.uses_codes()
    }
}
