//! Splines with infinitely many knots, on features that are not negative.
//!
//! One feature, order 0: 1 + min(u, v) (f is a step function's limit: continuous, rough); order 1:
//! 1 + uv + |u − v|·w²/2 + w³/3 with w = min(u, v) (f has a continuous slope). Over several features the
//! terms are added (f is a sum of functions of one feature each) or multiplied (all interactions).

use std::sync::Arc;

use super::{Kernel, Point, Points, SharedKernel};
use crate::base::error::Result;
use crate::base::table::{Arguments, Entry, Parameter};
use crate::data::fill_blocks;
use crate::linalg::Matrix;
use crate::linalg::simd::{LANES, vectorize};

const ORDER: &[Parameter] = &[Parameter { name: "order", default: "1", about: "0 (rough) or 1 (smooth)" }];

pub(super) const ENTRIES: &[Entry<SharedKernel>] = &[
    Entry {
        name: "additive-spline",
        formula: "Σⱼ s(uⱼ, vⱼ), s of order 1: 1 + uv + |u−v| min²/2 + min³/3",
        parameters: ORDER,
        build: |arguments| build(arguments, Over::Sum),
    },
    Entry {
        name: "multiplicative-spline",
        formula: "Πⱼ s(uⱼ, vⱼ)",
        parameters: ORDER,
        build: |arguments| build(arguments, Over::Product),
    },
    Entry {
        name: "spline0",
        formula: "Σⱼ 1 + min(uⱼ, vⱼ): the additive spline of order 0",
        parameters: &[],
        build: |_| Ok(Arc::new(Spline { order: 0, over: Over::Sum })),
    },
    Entry {
        name: "spline1",
        formula: "another name of additive-spline(order=1)",
        parameters: &[],
        build: |_| Ok(Arc::new(Spline { order: 1, over: Over::Sum })),
    },
];

fn build(arguments: &Arguments, over: Over) -> Result<SharedKernel> {
    let order = arguments.number("order", 1.0, "0 or 1", |x| x == 0.0 || x == 1.0)?;
    Ok(Arc::new(Spline { order: order as u8, over }))
}

/// How the features' terms are put together.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Over {
    Sum,
    Product,
}

/// A spline kernel of order 0 or 1, additive or multiplicative over the features.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Spline {
    order: u8,
    over: Over,
}

impl Spline {
    /// Σⱼ s(uⱼ, vⱼ), order 1.
    pub fn additive() -> Self {
        Spline { order: 1, over: Over::Sum }
    }

    /// Πⱼ s(uⱼ, vⱼ), order 1.
    pub fn multiplicative() -> Self {
        Spline { order: 1, over: Over::Product }
    }

    /// The rougher kernel built on 1 + min(u, v).
    pub fn of_order_zero(self) -> Self {
        Spline { order: 0, ..self }
    }

    #[inline(always)]
    fn term(&self, u: f64, v: f64) -> f64 {
        let low = if u < v { u } else { v };
        if self.order == 0 {
            1.0 + low
        } else {
            1.0 + u * v + (u - v).abs() * (low * low) * 0.5 + low * low * low * (1.0 / 3.0)
        }
    }

    /// ∂s(u, v)/∂u; where order 0 has a kink, the mean of both sides.
    fn slope(&self, u: f64, v: f64) -> f64 {
        match (self.order, u < v) {
            (0, true) => 1.0,
            (0, false) => 0.5 * f64::from(u == v),
            (_, true) => v + u * v - 0.5 * u * u,
            (_, false) => v + 0.5 * v * v,
        }
    }

    /// Terms of all features combined; `other(j, l)` is feature j of the point that lane l is compared with.
    #[inline(always)]
    fn combine(&self, points: &Points, at: usize, other: impl Fn(usize, usize) -> f64) -> [f64; LANES] {
        let mut value = [if self.over == Over::Sum { 0.0 } else { 1.0 }; LANES];
        for j in 0..points.features() {
            let column = points.block(j, at);
            for l in 0..LANES {
                let term = self.term(column[l], other(j, l));
                value[l] = if self.over == Over::Sum { value[l] + term } else { value[l] * term };
            }
        }
        value
    }
}

impl Kernel for Spline {
    fn spec(&self) -> String {
        let name = if self.over == Over::Sum { "additive-spline" } else { "multiplicative-spline" };
        if self.order == 1 { name.into() } else { format!("{name}(order=0)") }
    }

    fn values(&self, x: Point<'_>, points: &Points, start: usize, out: &mut [f64]) {
        vectorize(
            #[inline(always)]
            || fill_blocks(start, out, |at| self.combine(points, at, |j, _| x.numbers[j])),
        );
    }

    fn diagonal(&self, points: &Points, start: usize, out: &mut [f64]) {
        fill_blocks(start, out, |at| self.combine(points, at, |j, l| points.block(j, at)[l]));
    }

    fn gradients(&self, x: Point<'_>, points: &Points, out: &mut Matrix) {
        let mut values = vec![1.0; points.rows()];
        if self.over == Over::Product {
            self.values(x, points, 0, &mut values);
        }
        for (k, u) in x.numbers.iter().enumerate() {
            for ((value, whole), v) in out.col_mut(k).iter_mut().zip(&values).zip(points.feature(k)) {
                // A term is at least 1, so the product without it is a quotient.
                let others = if self.over == Over::Product { whole / self.term(*u, *v) } else { 1.0 };
                *value = others * self.slope(*u, *v);
            }
        }
    }

    fn fitted_to(&self, _: &Points, _: Option<&[f64]>) -> Result<SharedKernel> {
        Ok(Arc::new(*self))
    }

    fn needs_nonnegative(&self) -> bool {
        true
    }
}
