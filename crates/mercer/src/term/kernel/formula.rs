//! Kernels as formulas that others can evaluate (exporters), and how much a kernel value can change when a point moves.

use super::{Point, radial::Lengthscale};

/// What a kernel computes, put together from a few parts. Kernels that have no such form give none.
#[derive(Debug, Clone, PartialEq)]
pub enum Formula {
    /// φ of a distance.
    Radial {
        /// φ.
        decay: Decay,
        /// One lengthscale for all features, or one for each.
        lengthscales: Vec<f64>,
    },
    /// xᵀx′.
    Linear,
    /// (xᵀx′ + constant)^degree.
    Polynomial {
        /// The power.
        degree: u32,
        /// What is added before.
        constant: f64,
    },
    /// The product over text columns of 1 where they are equal and `similarity` where not.
    Equality {
        /// The value of a difference.
        similarity: f64,
    },
    /// A multiple.
    Scaled(f64, Box<Formula>),
    /// k₁ + k₂ + …
    Sum(Vec<Formula>),
    /// k₁ · k₂ · …
    Product(Vec<Formula>),
}

/// φ(r), with r = ‖(x − x′)/ℓ‖, or Σⱼ |xⱼ − x′ⱼ|/ℓ for [`Laplace`](Decay::Laplace).
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Decay {
    /// exp(−r²/2).
    Gaussian,
    /// exp(−r), r the sum of absolute differences.
    Laplace,
    /// exp(−r).
    Matern12,
    /// (1 + √3 r) exp(−√3 r).
    Matern32,
    /// (1 + √5 r + 5r²/3) exp(−√5 r).
    Matern52,
    /// (1 + r²/(2·shape))^(−shape).
    RationalQuadratic {
        /// The shape.
        shape: f64,
    },
}

impl Decay {
    /// The largest |φ′(r)|, rounded up.
    fn steepest(self) -> f64 {
        match self {
            // At r = 1: e^(−½).
            Decay::Gaussian => 0.606_531,
            Decay::Laplace | Decay::Matern12 => 1.0,
            // At r = 1/√3: √3/e.
            Decay::Matern32 => 0.637_187,
            // At √5 r = (1 + √5)/2.
            Decay::Matern52 => 0.626_071,
            // r(1 + r²/2s)^(−s−1), at r² = 2s/(2s + 1).
            Decay::RationalQuadratic { shape } => {
                let square = 2.0 * shape / (2.0 * shape + 1.0);
                let base = 1.0 + square / (2.0 * shape);
                1.000_001 * square.sqrt() * libm::exp(-(shape + 1.0) * libm::log(base))
            }
        }
    }

    /// Whether distances are sums of absolute differences.
    pub fn is_absolute(self) -> bool {
        self == Decay::Laplace
    }
}

impl Formula {
    /// The formula of a radial kernel whose lengthscale is a number by now.
    pub(super) fn radial(decay: Decay, lengthscale: &Lengthscale) -> Option<Self> {
        let lengthscales = match lengthscale {
            Lengthscale::One(scale) => vec![*scale],
            Lengthscale::Each(scales) => scales.clone(),
            Lengthscale::Mean | Lengthscale::Median => return None,
        };
        Some(Formula::Radial { decay, lengthscales })
    }

    /// A bound of |k(x, a) − k(x, b)| over every x; `None` where there is none (kernels that grow with x).
    ///
    /// A radial kernel changes by at most max|φ′| times the distance of a and b, because distances to x do not differ by
    /// more; sums add, and products of bounded kernels follow the product rule.
    pub fn largest_change(&self, a: Point<'_>, b: Point<'_>) -> Option<f64> {
        match self {
            Formula::Radial { decay, lengthscales } => {
                let scale = |j: usize| if lengthscales.len() == 1 { lengthscales[0] } else { lengthscales[j] };
                let moved = a.numbers.iter().zip(b.numbers).enumerate().map(|(j, (a, b))| (a - b).abs() / scale(j));
                let distance = if decay.is_absolute() { moved.sum() } else { moved.map(|d| d * d).sum::<f64>().sqrt() };
                Some(decay.steepest() * distance)
            }
            Formula::Linear | Formula::Polynomial { .. } => None,
            Formula::Equality { .. } => (a.codes == b.codes).then_some(0.0),
            Formula::Scaled(factor, inner) => inner.largest_change(a, b).map(|change| factor * change),
            Formula::Sum(parts) => parts.iter().map(|part| part.largest_change(a, b)).sum(),
            Formula::Product(parts) => {
                let all: Option<f64> = parts.iter().map(Formula::largest).product();
                let all = all?;
                // Σᵢ |changeᵢ| Π_{j≠i} largestⱼ.
                parts.iter().map(|part| Some(part.largest_change(a, b)? * (all / part.largest()?))).sum()
            }
        }
    }

    /// The largest |k(x, x′)|, where there is one.
    fn largest(&self) -> Option<f64> {
        match self {
            Formula::Radial { .. } | Formula::Equality { .. } => Some(1.0),
            Formula::Linear | Formula::Polynomial { .. } => None,
            Formula::Scaled(factor, inner) => inner.largest().map(|largest| factor * largest),
            Formula::Sum(parts) => parts.iter().map(Formula::largest).sum(),
            Formula::Product(parts) => parts.iter().map(Formula::largest).product(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::Matrix;
    use crate::term::kernel::{Points, parse};

    #[test]
    fn no_value_changes_by_more_than_the_bound_and_the_bound_is_not_far_off() {
        let specs = [
            "gaussian(lengthscale=0.7)",
            "laplace(lengthscale=1.3)",
            "matern12(lengthscale=0.5)",
            "matern32(lengthscale=2)",
            "matern52(lengthscale=0.9)",
            "rational-quadratic(lengthscale=0.8,shape=0.5)",
            "rational-quadratic(lengthscale=0.8,shape=4)",
            "0.3*gaussian(lengthscale=1) + 2*matern32(lengthscale=0.4)",
            "gaussian(lengthscale=1)*matern52(lengthscale=0.5)",
        ];
        for spec in specs {
            let kernel = parse(spec).unwrap();
            let formula = kernel.formula().unwrap();
            let (a, b) = ([0.1], [0.1003]);
            let [a, b] = [&a, &b].map(|numbers| Point { numbers, codes: &[] });
            let bound = formula.largest_change(a, b).unwrap();
            let grid = Points::new(&Matrix::from_fn(8001, 1, |i, _| -4.0 + 0.001 * i as f64));
            let [mut at_a, mut at_b] = [vec![0.0; 8001], vec![0.0; 8001]];
            kernel.values(a, &grid, 0, &mut at_a);
            kernel.values(b, &grid, 0, &mut at_b);
            let seen = at_a.iter().zip(&at_b).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
            assert!(seen <= bound, "{spec}: {seen} above {bound}");
            // Products are the loosest: their factors are not steepest at the same place.
            assert!(seen >= 0.4 * bound, "{spec}: {seen} far below {bound}");
        }
    }

    #[test]
    fn kernels_that_grow_have_no_bound() {
        let [a, b] = [&[0.0], &[1e-3]].map(|numbers| Point { numbers, codes: &[] });
        for spec in ["linear", "polynomial(degree=2)", "linear + gaussian(lengthscale=1)"] {
            assert_eq!(parse(spec).unwrap().formula().unwrap().largest_change(a, b), None, "{spec}");
        }
        assert_eq!(parse("additive-spline").unwrap().formula(), None);
        assert_eq!(parse("gaussian").unwrap().formula(), None);
    }
}
