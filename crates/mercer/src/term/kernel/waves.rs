//! Random Fourier features: waves whose mean product is a radial kernel.
//!
//! k(x − x′) = E[cos ωᵀ(x − x′)] for frequencies ω from the kernel's spectral density (Bochner). With the wave
//! c(t) = cos t + sin t, c(s)c(t) = cos(s − t) + sin(s + t), and the second term has the mean 0 because ω and −ω are equally
//! likely: (1/R) Σ c(ωᵣᵀx) c(ωᵣᵀx′) has the mean k(x − x′), without random phases to remember.

use std::sync::Arc;

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;
use rand_distr::{Distribution, Gamma, StandardNormal};

use super::{Decay, Formula, Kernel, Point, Points, SharedKernel};
use crate::base::error::{Error, Result};
use crate::linalg::Matrix;

/// c(ωᵀx), with frequencies in the place of points: what a function that was fitted to waves is a sum of. Not a kernel to fit with.
#[derive(Debug, Clone)]
pub struct Waves {
    /// The kernel that they stand for.
    of: SharedKernel,
}

impl Waves {
    /// Waves that stand for a kernel.
    pub fn new(of: SharedKernel) -> Self {
        Waves { of }
    }
}

/// Frequencies of a kernel, one row each, and the factor of the kernel: k(x, x′) ≈ factor/R Σ c(ωᵀx) c(ωᵀx′).
pub(crate) fn frequencies(kernel: &dyn Kernel, features: usize, count: usize, seed: u64) -> Result<(Matrix, f64)> {
    let (factor, Some(Formula::Radial { decay, lengthscales })) = without_factor(kernel) else {
        let must = "radial (gaussian, laplace, matern12, matern32, matern52, rational-quadratic), or a multiple of such a kernel, \
                    for random waves";
        return Err(Error::argument("the kernel", must, kernel.spec()));
    };
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut out = Matrix::zeros(count, features);
    for r in 0..count {
        let stretch = stretch(decay, &mut random)?;
        for j in 0..features {
            let scale = if lengthscales.len() == 1 { lengthscales[0] } else { lengthscales[j] };
            let normal: f64 = StandardNormal.sample(&mut random);
            let own = if decay == Decay::Laplace { cauchy_width(&mut random) } else { stretch };
            out.set(r, j, normal * own / scale);
        }
    }
    Ok((out, factor))
}

/// The factor of a kernel, and what it is a multiple of.
fn without_factor(kernel: &dyn Kernel) -> (f64, Option<Formula>) {
    let mut factor = 1.0;
    let mut formula = kernel.formula();
    while let Some(Formula::Scaled(by, inner)) = formula {
        factor *= by;
        formula = Some(*inner);
    }
    (factor, formula)
}

/// What a normal vector is multiplied by: every radial decay but Laplace's is a mixture of Gaussians of different widths.
fn stretch(decay: Decay, random: &mut ChaCha8Rng) -> Result<f64> {
    // Matérn: a t distribution of 2ν degrees of freedom. Rational quadratic: precisions from a gamma distribution.
    let gamma = |shape: f64, random: &mut ChaCha8Rng| {
        let found = Gamma::new(shape, 1.0 / shape).map(|gamma| gamma.sample(random));
        found.map_err(|_| Error::argument("the shape of the kernel", "positive and finite", shape))
    };
    Ok(match decay {
        Decay::Gaussian | Decay::Laplace => 1.0,
        Decay::Matern12 => 1.0 / gamma(0.5, random)?.sqrt(),
        Decay::Matern32 => 1.0 / gamma(1.5, random)?.sqrt(),
        Decay::Matern52 => 1.0 / gamma(2.5, random)?.sqrt(),
        Decay::RationalQuadratic { shape } => gamma(shape, random)?.sqrt(),
    })
}

/// A normal number times this one has Cauchy's distribution, the spectrum of exp(−|t|).
fn cauchy_width(random: &mut ChaCha8Rng) -> f64 {
    let normal: f64 = StandardNormal.sample(random);
    1.0 / normal.abs().max(1e-300)
}

fn wave(t: f64) -> f64 {
    let (sine, cosine) = libm::sincos(t);
    cosine + sine
}

impl Kernel for Waves {
    fn spec(&self) -> String {
        format!("waves({})", self.of.spec())
    }

    fn values(&self, x: Point<'_>, points: &Points, start: usize, out: &mut [f64]) {
        out.fill(0.0);
        let end = start + out.len();
        for (j, own) in x.numbers.iter().enumerate() {
            out.iter_mut().zip(&points.feature(j)[start..end]).for_each(|(sum, other)| *sum += own * other);
        }
        out.iter_mut().for_each(|value| *value = wave(*value));
    }

    fn is_waves(&self) -> bool {
        true
    }

    /// That of the kernel they stand for.
    fn largest_diagonal(&self) -> Option<f64> {
        self.of.largest_diagonal()
    }

    /// That of the kernel they stand for.
    fn diagonal(&self, points: &Points, start: usize, out: &mut [f64]) {
        self.of.diagonal(points, start, out);
    }

    fn gradients(&self, x: Point<'_>, points: &Points, out: &mut Matrix) {
        let mut slopes = vec![0.0; points.rows()];
        for (j, own) in x.numbers.iter().enumerate() {
            slopes.iter_mut().zip(points.feature(j)).for_each(|(sum, other)| *sum += own * other);
        }
        slopes.iter_mut().for_each(|t| {
            let (sine, cosine) = libm::sincos(*t);
            *t = cosine - sine;
        });
        for j in 0..x.numbers.len() {
            out.col_mut(j)
                .iter_mut()
                .zip(points.feature(j))
                .zip(&slopes)
                .for_each(|((g, omega), slope)| *g = omega * slope);
        }
    }

    fn fitted_to(&self, _: &Points, _: Option<&[f64]>) -> Result<SharedKernel> {
        Err(Error::NotAKernel("waves are the features of `mercer moments --fourier`, not a kernel to fit with".into()))
    }

    fn check(&self, features: usize, code_columns: usize) -> Result<()> {
        self.of.check(features, code_columns)
    }
}

/// Reads back what [`Waves::spec`] printed.
pub(super) fn of(inner: SharedKernel) -> Result<SharedKernel> {
    match without_factor(&*inner) {
        (_, Some(Formula::Radial { .. })) => Ok(Arc::new(Waves::new(inner))),
        _ => Err(Error::NotAKernel(format!(
            "waves stand for radial kernels whose lengthscales are numbers; got {}",
            inner.spec()
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::term::kernel::parse;

    /// The mean product of many waves is the kernel, for every decay and with a lengthscale per feature.
    #[test]
    fn mean_products_are_the_kernel() {
        let x = Matrix::from_fn(6, 2, |i, j| 0.4 * i as f64 - 0.3 * (j * i * i) as f64 / 4.0);
        let points = Points::new(&x);
        let count = 200_000;
        for spec in [
            "gaussian(lengthscale=0.7)",
            "gaussian(lengthscale=[0.5,2])",
            "laplace(lengthscale=1.5)",
            "matern12(lengthscale=1)",
            "2.5*matern32(lengthscale=1)",
            "matern52(lengthscale=0.8)",
            "rational-quadratic(lengthscale=1,shape=0.7)",
        ] {
            let kernel = parse(spec).unwrap();
            let (omega, factor) = frequencies(&*kernel, 2, count, 5).unwrap();
            let all = Points::new(&omega);
            let waves = Waves::new(kernel.clone());
            let mut rows = Matrix::zeros(count, 6);
            for i in 0..6 {
                points.with_point(i, |p| waves.values(p, &all, 0, rows.col_mut(i)));
            }
            let gram = crate::space::gram(&*kernel, &points);
            for i in 0..6 {
                for j in 0..=i {
                    let product: f64 = rows.col(i).iter().zip(rows.col(j)).map(|(a, b)| a * b).sum::<f64>();
                    let off = (factor * product / count as f64 - gram.get(i, j)).abs();
                    // Five standard deviations of a mean of numbers between −2 and 2.
                    assert!(off < 5.0 * factor * 1.2 / (count as f64).sqrt(), "{spec} at {i}, {j}: {off}");
                }
            }
        }
    }

    #[test]
    fn specs_come_back_and_others_are_refused() {
        let kernel = parse("waves(gaussian(lengthscale=2))").unwrap();
        assert_eq!(kernel.spec(), "waves(gaussian(lengthscale=2))");
        assert!(parse("waves(linear)").is_err() && parse("waves(gaussian)").is_err());
        let points = Points::new(&Matrix::zeros(3, 1));
        assert!(kernel.fitted_to(&points, None).unwrap_err().to_string().contains("--fourier"));
        assert!(frequencies(&*parse("linear").unwrap(), 1, 10, 1).unwrap_err().to_string().contains("radial"));
    }

    #[test]
    fn slopes_are_those_of_differences() {
        let kernel = parse("waves(gaussian(lengthscale=1))").unwrap();
        let points = Points::new(&Matrix::from_fn(4, 2, |i, j| 0.3 * i as f64 - 0.8 * j as f64 + 0.1));
        let (mut own, mut wanted) = (Matrix::zeros(4, 2), Matrix::zeros(4, 2));
        let at = Point { numbers: &[0.7, -1.2], codes: &[] };
        kernel.gradients(at, &points, &mut own);
        super::super::central_differences(&*kernel, at, &points, &mut wanted);
        let worst = own.as_slice().iter().zip(wanted.as_slice()).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        assert!(worst < 1e-8, "{worst}");
    }
}
