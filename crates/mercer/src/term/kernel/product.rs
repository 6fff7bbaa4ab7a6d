//! Kernels of the scalar product xᵀx′.

use std::sync::Arc;

use super::{Formula, Kernel, Point, Points, SharedKernel, Span};
use crate::base::error::{Error, Result};
use crate::base::table::{Entry, Parameter};
use crate::data::fill_blocks;
use crate::linalg::Matrix;
use crate::linalg::simd::{LANES, vectorize};

pub(super) const ENTRIES: &[Entry<SharedKernel>] = &[
    Entry { name: "linear", formula: "xᵀx′", parameters: &[], build: |_| Ok(Arc::new(Linear)) },
    Entry {
        name: "polynomial",
        formula: "(xᵀx′ + constant)^degree",
        parameters: &[
            Parameter { name: "degree", default: "3", about: "a whole number from 1 to 64" },
            Parameter { name: "constant", default: "1", about: "at least 0" },
        ],
        build: |arguments| {
            let whole = |x: f64| x.fract() == 0.0 && (1.0..=64.0).contains(&x);
            let degree = arguments.number("degree", 3.0, "a whole number from 1 to 64", whole)?;
            let constant = arguments.number("constant", 1.0, "at least 0", |x| x >= 0.0)?;
            Ok(Arc::new(Polynomial { degree: degree as u32, constant }))
        },
    },
];

/// Scalar products of x with a block of points.
#[inline(always)]
fn dots(x: &[f64], points: &Points, at: usize) -> [f64; LANES] {
    let mut sum = [0.0; LANES];
    for (j, xj) in x.iter().enumerate() {
        let column = points.block(j, at);
        for l in 0..LANES {
            sum[l] += column[l] * xj;
        }
    }
    sum
}

/// Squared lengths of a block of points; the same bits as `dots` of a point with itself.
#[inline(always)]
fn squares(points: &Points, at: usize) -> [f64; LANES] {
    let mut sum = [0.0; LANES];
    for j in 0..points.features() {
        let column = points.block(j, at);
        for l in 0..LANES {
            sum[l] += column[l] * column[l];
        }
    }
    sum
}

/// xᵀx′: f is a linear function of the features.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Linear;

impl Kernel for Linear {
    fn spec(&self) -> String {
        "linear".into()
    }

    fn values(&self, x: Point<'_>, points: &Points, start: usize, out: &mut [f64]) {
        vectorize(
            #[inline(always)]
            || fill_blocks(start, out, |at| dots(x.numbers, points, at)),
        );
    }

    fn diagonal(&self, points: &Points, start: usize, out: &mut [f64]) {
        fill_blocks(start, out, |at| squares(points, at));
    }

    fn fitted_to(&self, _: &Points, _: Option<&[f64]>) -> Result<SharedKernel> {
        Ok(Arc::new(*self))
    }

    fn gradients(&self, _: Point<'_>, points: &Points, out: &mut Matrix) {
        (0..points.features()).for_each(|k| out.col_mut(k).copy_from_slice(points.feature(k)));
    }

    fn linear_scale(&self) -> Option<f64> {
        Some(1.0)
    }

    fn span(&self, features: usize) -> Option<Span> {
        Some(Span { dimension: features, has_constant: false })
    }

    fn formula(&self) -> Option<Formula> {
        Some(Formula::Linear)
    }
}

/// (xᵀx′ + constant)^degree: f is a polynomial of all features.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Polynomial {
    degree: u32,
    constant: f64,
}

impl Polynomial {
    /// (xᵀx′ + constant)^degree.
    pub fn new(degree: u32, constant: f64) -> Self {
        Polynomial { degree, constant }
    }

    /// By repeated multiplication in a fixed order: `powi` may differ between platforms.
    #[inline(always)]
    fn raise(&self, mut value: [f64; LANES]) -> [f64; LANES] {
        value.iter_mut().for_each(|v| *v += self.constant);
        let base = value;
        for _ in 1..self.degree {
            for l in 0..LANES {
                value[l] *= base[l];
            }
        }
        value
    }
}

impl Kernel for Polynomial {
    fn spec(&self) -> String {
        format!("polynomial(degree={},constant={})", self.degree, self.constant)
    }

    fn values(&self, x: Point<'_>, points: &Points, start: usize, out: &mut [f64]) {
        vectorize(
            #[inline(always)]
            || fill_blocks(start, out, |at| self.raise(dots(x.numbers, points, at))),
        );
    }

    fn diagonal(&self, points: &Points, start: usize, out: &mut [f64]) {
        fill_blocks(start, out, |at| self.raise(squares(points, at)));
    }

    fn gradients(&self, x: Point<'_>, points: &Points, out: &mut Matrix) {
        let mut slopes = vec![1.0; points.rows()];
        if self.degree > 1 {
            let lower = Polynomial { degree: self.degree - 1, constant: self.constant };
            lower.values(x, points, 0, &mut slopes);
        }
        let degree = f64::from(self.degree);
        for k in 0..points.features() {
            let terms = out.col_mut(k).iter_mut().zip(&slopes).zip(points.feature(k));
            terms.for_each(|((value, slope), p)| *value = degree * slope * p);
        }
    }

    fn formula(&self) -> Option<Formula> {
        Some(Formula::Polynomial { degree: self.degree, constant: self.constant })
    }

    /// Polynomials of the degree in so many variables; without a constant all their terms have that degree.
    fn span(&self, features: usize) -> Option<Span> {
        let variables = if self.constant > 0.0 { features } else { features.saturating_sub(1) };
        // C(variables + degree, degree), each step of which is a whole number.
        let mut dimension: usize = 1;
        for k in 1..=self.degree as usize {
            dimension = dimension.checked_mul(variables + k)? / k;
        }
        Some(Span { dimension: if features == 0 { 1 } else { dimension }, has_constant: self.constant > 0.0 })
    }

    fn fitted_to(&self, points: &Points, _: Option<&[f64]>) -> Result<SharedKernel> {
        self.check(points.features(), 0)?;
        Ok(Arc::new(*self))
    }

    fn check(&self, _: usize, _: usize) -> Result<()> {
        if self.degree == 0 {
            return Err(Error::argument("degree of polynomial", "at least 1", 0));
        }
        if !(self.constant >= 0.0 && self.constant.is_finite()) {
            return Err(Error::argument("constant of polynomial", "finite and at least 0", self.constant));
        }
        Ok(())
    }
}
