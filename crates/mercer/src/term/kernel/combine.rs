//! Sums, products and positive multiples of kernels are kernels.

use std::sync::Arc;

use super::{Formula, Kernel, Point, Points, SharedKernel, Span};
use crate::base::error::{Error, Result};
use crate::linalg::Matrix;

/// Points treated at a time, so that the parts' values stay in the cache.
const CHUNK: usize = 512;

/// factor · k, factor > 0.
#[derive(Debug, Clone)]
pub struct Scaled {
    factor: f64,
    inner: SharedKernel,
}

impl Scaled {
    /// A multiple of a kernel; the factor must be positive.
    pub fn new(factor: f64, inner: SharedKernel) -> Self {
        Scaled { factor, inner }
    }
}

impl Kernel for Scaled {
    fn spec(&self) -> String {
        format!("{}*{}", self.factor, part(&self.inner, false))
    }

    fn values(&self, x: Point<'_>, points: &Points, start: usize, out: &mut [f64]) {
        self.inner.values(x, points, start, out);
        out.iter_mut().for_each(|value| *value *= self.factor);
    }

    fn diagonal(&self, points: &Points, start: usize, out: &mut [f64]) {
        self.inner.diagonal(points, start, out);
        out.iter_mut().for_each(|value| *value *= self.factor);
    }

    fn gradients(&self, x: Point<'_>, points: &Points, out: &mut Matrix) {
        self.inner.gradients(x, points, out);
        out.as_mut_slice().iter_mut().for_each(|value| *value *= self.factor);
    }

    fn largest_diagonal(&self) -> Option<f64> {
        self.inner.largest_diagonal().map(|largest| largest * self.factor)
    }

    fn fitted_to(&self, points: &Points, weights: Option<&[f64]>) -> Result<SharedKernel> {
        let fitted = Scaled { factor: self.factor, inner: self.inner.fitted_to(points, weights)? };
        fitted.check(points.features(), points.code_columns())?;
        Ok(Arc::new(fitted))
    }

    fn check(&self, features: usize, code_columns: usize) -> Result<()> {
        if !(self.factor > 0.0 && self.factor.is_finite()) {
            return Err(Error::argument("the factor of a kernel", "positive and finite", self.factor));
        }
        self.inner.check(features, code_columns)
    }

    fn needs_nonnegative(&self) -> bool {
        self.inner.needs_nonnegative()
    }

    fn is_precomputed(&self) -> bool {
        self.inner.is_precomputed()
    }

    fn span(&self, features: usize) -> Option<Span> {
        self.inner.span(features)
    }

    fn linear_scale(&self) -> Option<f64> {
        self.inner.linear_scale().map(|scale| scale * self.factor)
    }

    fn lengthscales(&self) -> Option<Vec<f64>> {
        self.inner.lengthscales()
    }

    fn formula(&self) -> Option<Formula> {
        self.inner.formula().map(|inner| Formula::Scaled(self.factor, Box::new(inner)))
    }

    fn uses_codes(&self) -> bool {
        self.inner.uses_codes()
    }
}

/// How the parts of a [`Combined`] kernel are put together.
#[derive(Debug, Clone, Copy, PartialEq)]
enum How {
    Sum,
    Product,
}

/// k₁ + k₂ + … or k₁ · k₂ · …
#[derive(Debug, Clone)]
pub struct Combined {
    how: How,
    parts: Vec<SharedKernel>,
}

impl Combined {
    /// k₁ + k₂ + … (at least one part).
    pub fn sum(parts: Vec<SharedKernel>) -> Self {
        Combined { how: How::Sum, parts }
    }

    /// k₁ · k₂ · … (at least one part).
    pub fn product(parts: Vec<SharedKernel>) -> Self {
        Combined { how: How::Product, parts }
    }

    fn combine(&self, out: &mut [f64], values: impl Fn(&SharedKernel, usize, &mut [f64])) {
        let mut buffer = [0.0; CHUNK];
        for (index, chunk) in out.chunks_mut(CHUNK).enumerate() {
            let offset = index * CHUNK;
            chunk.fill(if self.how == How::Sum { 0.0 } else { 1.0 });
            for part in &self.parts {
                let part_values = &mut buffer[..chunk.len()];
                values(part, offset, part_values);
                for (value, term) in chunk.iter_mut().zip(part_values) {
                    *value = if self.how == How::Sum { *value + *term } else { *value * *term };
                }
            }
        }
    }
}

impl Kernel for Combined {
    fn spec(&self) -> String {
        let (separator, parts): (&str, Vec<String>) = match self.how {
            How::Sum => (" + ", self.parts.iter().map(|kernel| part(kernel, true)).collect()),
            How::Product => ("*", self.parts.iter().map(|kernel| part(kernel, false)).collect()),
        };
        parts.join(separator)
    }

    fn values(&self, x: Point<'_>, points: &Points, start: usize, out: &mut [f64]) {
        self.combine(out, |part, offset, chunk| part.values(x, points, start + offset, chunk));
    }

    fn diagonal(&self, points: &Points, start: usize, out: &mut [f64]) {
        self.combine(out, |part, offset, chunk| part.diagonal(points, start + offset, chunk));
    }

    /// Sum rule, or product rule.
    fn gradients(&self, x: Point<'_>, points: &Points, out: &mut Matrix) {
        out.as_mut_slice().fill(0.0);
        let mut own = Matrix::zeros(points.rows(), x.numbers.len());
        let mut buffer = vec![0.0; points.rows()];
        for (index, part) in self.parts.iter().enumerate() {
            let mut others = vec![1.0; points.rows()];
            if self.how == How::Product {
                for (_, other) in self.parts.iter().enumerate().filter(|(other, _)| *other != index) {
                    other.values(x, points, 0, &mut buffer);
                    others.iter_mut().zip(&buffer).for_each(|(product, value)| *product *= value);
                }
            }
            part.gradients(x, points, &mut own);
            for k in 0..x.numbers.len() {
                let terms = out.col_mut(k).iter_mut().zip(own.col(k)).zip(&others);
                terms.for_each(|((sum, gradient), others)| *sum += gradient * others);
            }
        }
    }

    /// An upper bound of the supremum: the parts may reach theirs at different points.
    fn largest_diagonal(&self) -> Option<f64> {
        let parts: Option<Vec<f64>> = self.parts.iter().map(|part| part.largest_diagonal()).collect();
        parts.map(|parts| if self.how == How::Sum { parts.iter().sum() } else { parts.iter().product() })
    }

    fn fitted_to(&self, points: &Points, weights: Option<&[f64]>) -> Result<SharedKernel> {
        let parts = self.parts.iter().map(|part| part.fitted_to(points, weights)).collect::<Result<_>>()?;
        let fitted = Combined { how: self.how, parts };
        fitted.check(points.features(), points.code_columns())?;
        Ok(Arc::new(fitted))
    }

    fn check(&self, features: usize, code_columns: usize) -> Result<()> {
        if self.parts.is_empty() {
            return Err(Error::Empty("a sum or product of kernels needs at least one".into()));
        }
        if self.parts.iter().any(|part| part.is_precomputed()) {
            return Err(Error::NotAKernel("a precomputed kernel stands alone: it has no other features".into()));
        }
        self.parts.iter().try_for_each(|part| part.check(features, code_columns))
    }

    /// Sums of functions of the parts, or of their products.
    fn span(&self, features: usize) -> Option<Span> {
        let parts: Option<Vec<Span>> = self.parts.iter().map(|part| part.span(features)).collect();
        parts?.into_iter().reduce(|a, b| match self.how {
            How::Sum => Span {
                // The constant is counted once.
                dimension: (a.dimension + b.dimension).saturating_sub(usize::from(a.has_constant && b.has_constant)),
                has_constant: a.has_constant || b.has_constant,
            },
            How::Product => Span {
                dimension: a.dimension.saturating_mul(b.dimension),
                has_constant: a.has_constant && b.has_constant,
            },
        })
    }

    /// Those of the first part that has some: sums of distances in different units have none of their own.
    fn lengthscales(&self) -> Option<Vec<f64>> {
        self.parts.iter().find_map(|part| part.lengthscales())
    }

    fn needs_nonnegative(&self) -> bool {
        self.parts.iter().any(|part| part.needs_nonnegative())
    }

    fn formula(&self) -> Option<Formula> {
        let parts = self.parts.iter().map(|part| part.formula()).collect::<Option<_>>()?;
        Some(if self.how == How::Sum { Formula::Sum(parts) } else { Formula::Product(parts) })
    }

    fn uses_codes(&self) -> bool {
        self.parts.iter().any(|part| part.uses_codes())
    }
}

/// The spec of a part: what would be read differently without parentheses gets them.
fn part(kernel: &SharedKernel, in_sum: bool) -> String {
    let spec = kernel.spec();
    let needs = has_at_top(&spec, '+') || (!in_sum && has_at_top(&spec, '*'));
    if needs { format!("({spec})") } else { spec }
}

/// Whether a symbol stands outside all parentheses and lists.
pub(super) fn has_at_top(spec: &str, symbol: char) -> bool {
    let mut depth = 0;
    // A '+' may also be part of an exponent, as in 1e+5, but numbers are never printed like that.
    spec.chars().any(|c| {
        depth += i32::from(c == '(' || c == '[') - i32::from(c == ')' || c == ']');
        depth == 0 && c == symbol
    })
}
