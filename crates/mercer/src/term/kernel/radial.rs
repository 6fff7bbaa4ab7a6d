//! Kernels of a distance, k(x, x′) = φ(‖(x − x′)/ℓ‖) with one lengthscale ℓ or one per feature.
//!
//! A new one is a profile φ (a struct with one method) and its line in `ENTRIES`.

mod profile;

use std::sync::Arc;

pub use profile::{
    CauchyProfile, GaussianProfile, LaplaceProfile, Matern12Profile, Matern32Profile, Matern52Profile, Profile,
    RationalQuadraticProfile,
};

use super::{Distance, Formula, Kernel, Point, Points, SharedKernel};
use crate::base::error::{Error, Result};
use crate::base::table::{Arguments, Entry, Parameter, Value};
use crate::data::fill_blocks;
use crate::linalg::Matrix;
use crate::linalg::simd::{LANES, WIDE, vectorize};

const LENGTHSCALE: Parameter = Parameter {
    name: "lengthscale",
    default: "mean",
    about: "a number, one per feature [a,b,…], or a rule: mean (its square is half the mean squared distance; \
            for laplace the sum of the deviations) or median (of the distances)",
};

pub(super) const ENTRIES: &[Entry<SharedKernel>] = &[
    Entry {
        name: "gaussian",
        formula: "exp(−r²/2), r = ‖(x−x′)/lengthscale‖",
        parameters: &[LENGTHSCALE],
        build: |arguments| build(arguments, GaussianProfile),
    },
    Entry {
        name: "laplace",
        formula: "exp(−r), r = Σⱼ |xⱼ−x′ⱼ|/lengthscale",
        parameters: &[LENGTHSCALE],
        build: |arguments| build(arguments, LaplaceProfile),
    },
    Entry {
        name: "matern12",
        formula: "exp(−r)",
        parameters: &[LENGTHSCALE],
        build: |arguments| build(arguments, Matern12Profile),
    },
    Entry {
        name: "matern32",
        formula: "(1 + √3 r) exp(−√3 r)",
        parameters: &[LENGTHSCALE],
        build: |arguments| build(arguments, Matern32Profile),
    },
    Entry {
        name: "matern52",
        formula: "(1 + √5 r + 5r²/3) exp(−√5 r)",
        parameters: &[LENGTHSCALE],
        build: |arguments| build(arguments, Matern52Profile),
    },
    Entry {
        name: "rational-quadratic",
        formula: "(1 + r²/(2·shape))^(−shape)",
        parameters: &[LENGTHSCALE, Parameter { name: "shape", default: "1", about: "above 0" }],
        build: |arguments| {
            let shape = arguments.number("shape", 1.0, "above 0", |x| x > 0.0)?;
            build(arguments, RationalQuadraticProfile::new(shape))
        },
    },
    Entry {
        name: "cauchy",
        formula: "1/(1 + r²)",
        parameters: &[LENGTHSCALE],
        build: |arguments| build(arguments, CauchyProfile),
    },
];

/// ℓ, or the rule that finds it.
#[derive(Debug, Clone, PartialEq)]
pub enum Lengthscale {
    /// ℓ² = half the mean squared distance between rows (the rule of the m-power papers).
    Mean,
    /// ℓ = the median distance between rows.
    Median,
    /// One for all features.
    One(f64),
    /// One per feature.
    Each(Vec<f64>),
}

/// exp(−‖x − x′‖²/(2ℓ²))
pub type Gaussian = Radial<GaussianProfile>;
/// exp(−Σⱼ |xⱼ − x′ⱼ|/ℓ)
pub type Laplace = Radial<LaplaceProfile>;
/// exp(−‖x − x′‖/ℓ)
pub type Matern12 = Radial<Matern12Profile>;
/// (1 + √3 r) exp(−√3 r), r = ‖x − x′‖/ℓ
pub type Matern32 = Radial<Matern32Profile>;
/// (1 + √5 r + 5r²/3) exp(−√5 r), r = ‖x − x′‖/ℓ
pub type Matern52 = Radial<Matern52Profile>;

/// φ(‖(x − x′)/ℓ‖).
#[derive(Debug, Clone, PartialEq)]
pub struct Radial<P> {
    profile: P,
    lengthscale: Lengthscale,
    /// 1/ℓ (squared for Euclidean distances when there is one ℓ), ready for the inner loop.
    inverse: Vec<f64>,
}

impl<P: Profile> Radial<P> {
    /// A kernel with this profile.
    pub fn with_profile(profile: P, lengthscale: Lengthscale) -> Self {
        let inverse = match &lengthscale {
            Lengthscale::Mean | Lengthscale::Median => vec![1.0],
            Lengthscale::One(scale) if P::ABSOLUTE => vec![1.0 / scale],
            Lengthscale::One(scale) => vec![1.0 / (scale * scale)],
            Lengthscale::Each(scales) => scales.iter().map(|scale| 1.0 / scale).collect(),
        };
        Radial { profile, lengthscale, inverse }
    }

    /// Distances q to a block of points: r², or r if the profile wants absolute differences.
    #[inline(always)]
    fn distances(&self, x: &[f64], points: &Points, at: usize) -> [f64; LANES] {
        let mut q = [0.0; LANES];
        let each = matches!(self.lengthscale, Lengthscale::Each(_));
        for (j, xj) in x.iter().enumerate() {
            let column = points.block(j, at);
            let inverse = if each { self.inverse[j] } else { 1.0 };
            for l in 0..LANES {
                let difference = if each { (column[l] - xj) * inverse } else { column[l] - xj };
                q[l] += if P::ABSOLUTE { difference.abs() } else { difference * difference };
            }
        }
        if !each {
            q.iter_mut().for_each(|q| *q *= self.inverse[0]);
        }
        q
    }

    /// sums += Σ weight · φ at the distances of N points from those whose numbers stand one after the other.
    #[inline(always)]
    fn add_block<const N: usize>(
        &self,
        numbers: &[f64],
        width: usize,
        weights: &[f64],
        points: &Points,
        at: usize,
        sums: &mut [f64; N],
    ) {
        let each = matches!(self.lengthscale, Lengthscale::Each(_));
        let scale = if each { 1.0 } else { self.inverse[0] };
        // A copy: what is written is then known to be none of what is read.
        let mut own = *sums;
        for (x, weight) in numbers.chunks_exact(width).zip(weights) {
            let mut q = [0.0; N];
            for (j, xj) in x.iter().enumerate().take(points.features()) {
                let column = points.run::<N>(j, at);
                let inverse = if each { self.inverse[j] } else { 1.0 };
                for l in 0..N {
                    let difference = if each { (column[l] - xj) * inverse } else { column[l] - xj };
                    q[l] = if P::ABSOLUTE { q[l] + difference.abs() } else { difference.mul_add(difference, q[l]) };
                }
            }
            let values = self.profile.fused(q, scale);
            for l in 0..N {
                own[l] = weight.mul_add(values[l], own[l]);
            }
        }
        *sums = own;
    }

    /// φ in the place of distances. Many at a time, in a pass of its own: beside the distances there are not enough registers.
    #[inline(always)]
    fn decay(&self, distances: &mut [f64]) {
        let (wide, rest) = distances.as_chunks_mut::<WIDE>();
        for q in wide {
            *q = self.profile.at_lanes(*q);
        }
        for rest in rest.chunks_mut(LANES) {
            let mut q = [0.0; LANES];
            q[..rest.len()].copy_from_slice(rest);
            rest.copy_from_slice(&self.profile.at_lanes(q)[..rest.len()]);
        }
    }
}

macro_rules! constructors {
    ($($profile:ident),*) => { $(
        impl Radial<$profile> {
            /// With one lengthscale for all features.
            pub fn lengthscale(lengthscale: f64) -> Self {
                Radial::with_profile($profile, Lengthscale::One(lengthscale))
            }
            /// With one lengthscale per feature.
            pub fn lengthscales(lengthscales: &[f64]) -> Self {
                Radial::with_profile($profile, Lengthscale::Each(lengthscales.to_vec()))
            }
        }
    )* };
}
constructors!(GaussianProfile, LaplaceProfile, Matern12Profile, Matern32Profile, Matern52Profile);

fn build<P: Profile>(arguments: &Arguments, profile: P) -> Result<SharedKernel> {
    let must = "positive, a list of positive numbers, mean or median";
    // 1e-150 … 1e150: beyond, its square leaves the range of f64.
    let fine = |x: f64| (1e-150..=1e150).contains(&x);
    let lengthscale = match arguments.get("lengthscale") {
        None => Lengthscale::Mean,
        Some(Value::Word(word)) if word == "mean" => Lengthscale::Mean,
        Some(Value::Word(word)) if word == "median" => Lengthscale::Median,
        Some(Value::Number(x)) if fine(*x) => Lengthscale::One(*x),
        Some(Value::List(items)) if items.iter().all(|x| fine(*x)) => Lengthscale::Each(items.clone()),
        Some(other) => return Err(arguments.refuse("lengthscale", must, other)),
    };
    Ok(Arc::new(Radial::with_profile(profile, lengthscale)))
}

impl<P: Profile> Kernel for Radial<P> {
    fn spec(&self) -> String {
        let lengthscale = match &self.lengthscale {
            Lengthscale::Mean => "mean".into(),
            Lengthscale::Median => "median".into(),
            Lengthscale::One(scale) => Value::Number(*scale).to_string(),
            Lengthscale::Each(scales) => Value::List(scales.clone()).to_string(),
        };
        format!("{}(lengthscale={lengthscale}{})", P::NAME, self.profile.others())
    }

    fn values(&self, x: Point<'_>, points: &Points, start: usize, out: &mut [f64]) {
        vectorize(
            #[inline(always)]
            || {
                fill_blocks(
                    start,
                    out,
                    #[inline(always)]
                    |at| self.distances(x.numbers, points, at),
                );
                self.decay(out);
            },
        );
    }

    /// Without a pass for distances and one for values.
    fn add_sums(&self, terms: &Points, weights: &[f64], points: &Points, start: usize, sums: &mut [f64]) {
        let width = terms.features().max(1);
        let mut numbers = vec![0.0; width * weights.len()];
        let columns: Vec<&[f64]> = (0..terms.features()).map(|j| terms.feature(j)).collect();
        for (i, own) in numbers.chunks_exact_mut(width).enumerate() {
            own.iter_mut().zip(&columns).for_each(|(x, column)| *x = column[i]);
        }
        vectorize(
            #[inline(always)]
            || {
                let (whole, rest) = sums.as_chunks_mut::<WIDE>();
                let mut at = start;
                for sums in whole {
                    self.add_block(&numbers, width, weights, points, at, sums);
                    at += WIDE;
                }
                for rest in rest.chunks_mut(LANES) {
                    let mut sums = [0.0; LANES];
                    self.add_block(&numbers, width, weights, points, at, &mut sums);
                    rest.iter_mut().zip(&sums).for_each(|(rest, sum)| *rest += sum);
                    at += LANES;
                }
            },
        );
    }

    fn diagonal(&self, _: &Points, _: usize, out: &mut [f64]) {
        out.fill(1.0);
    }

    fn largest_diagonal(&self) -> Option<f64> {
        Some(1.0)
    }

    fn distance(&self) -> Option<Distance> {
        let kind = if P::ABSOLUTE { Distance::Absolute } else { Distance::SquaredEuclidean };
        matches!(self.lengthscale, Lengthscale::One(_)).then_some(kind)
    }

    fn of_distances(&self, distances: &mut [f64]) {
        let inverse = self.inverse[0];
        vectorize(
            #[inline(always)]
            || {
                for q in distances.iter_mut() {
                    *q *= inverse;
                }
                self.decay(distances);
            },
        );
    }

    fn of_distances_single(&self, distances: &mut [f32]) {
        let inverse = self.inverse[0] as f32;
        vectorize(
            #[inline(always)]
            || {
                for q in distances.iter_mut() {
                    *q = self.profile.at_single(*q * inverse);
                }
            },
        );
    }

    fn slopes_of_distances(&self, distances: &mut [f64]) {
        let inverse = self.inverse[0];
        vectorize(
            #[inline(always)]
            || {
                for q in distances.iter_mut() {
                    let slope = inverse * self.profile.slope(*q * inverse);
                    *q = if *q > 0.0 { slope } else { 0.0 };
                }
            },
        );
    }

    fn gradients(&self, x: Point<'_>, points: &Points, out: &mut Matrix) {
        let mut slopes = vec![0.0; points.rows()];
        fill_blocks(0, &mut slopes, |at| {
            // At distance 0 the differences below are 0, too, and some slopes are not finite.
            self.distances(x.numbers, points, at).map(|q| if q > 0.0 { self.profile.slope(q) } else { 0.0 })
        });
        for (k, xk) in x.numbers.iter().enumerate() {
            let inverse = match &self.lengthscale {
                Lengthscale::Each(_) if P::ABSOLUTE => self.inverse[k],
                Lengthscale::Each(_) => self.inverse[k] * self.inverse[k],
                _ => self.inverse[0],
            };
            for ((value, slope), p) in out.col_mut(k).iter_mut().zip(&slopes).zip(points.feature(k)) {
                let difference = xk - p;
                let of_distance = if !P::ABSOLUTE {
                    2.0 * difference
                } else if difference == 0.0 {
                    0.0
                } else {
                    difference.signum()
                };
                *value = slope * inverse * of_distance;
            }
        }
    }

    fn lengthscales(&self) -> Option<Vec<f64>> {
        match &self.lengthscale {
            Lengthscale::Each(scales) => Some(scales.clone()),
            _ => None,
        }
    }

    fn formula(&self) -> Option<Formula> {
        Formula::radial(self.profile.decay()?, &self.lengthscale)
    }

    fn single_lengthscale(&self) -> Option<f64> {
        match self.lengthscale {
            Lengthscale::One(scale) => Some(scale),
            _ => None,
        }
    }

    fn with_lengthscales(&self, lengthscales: &[f64]) -> Option<SharedKernel> {
        let lengthscale = match lengthscales {
            [one] => Lengthscale::One(*one),
            each => Lengthscale::Each(each.to_vec()),
        };
        Some(Arc::new(Radial::with_profile(self.profile, lengthscale)))
    }

    fn fitted_to(&self, points: &Points, weights: Option<&[f64]>) -> Result<SharedKernel> {
        let lengthscale = match &self.lengthscale {
            Lengthscale::Mean => Lengthscale::One(mean_rule(points, weights, P::ABSOLUTE)),
            Lengthscale::Median => Lengthscale::One(median_rule(points, weights, P::ABSOLUTE)),
            given => given.clone(),
        };
        let fitted = Radial::with_profile(self.profile, lengthscale);
        fitted.check(points.features(), points.code_columns())?;
        Ok(Arc::new(fitted))
    }

    fn check(&self, features: usize, _: usize) -> Result<()> {
        self.profile.check()?;
        match &self.lengthscale {
            Lengthscale::Each(scales) if scales.len() != features => Err(Error::shape(
                format!("the list of lengthscales of {}", P::NAME),
                format!("one number per feature ({features})"),
                scales.len(),
            )),
            Lengthscale::Mean | Lengthscale::Median => Err(Error::argument("lengthscale", "a number by now", "a rule")),
            Lengthscale::One(scale) => positive::<P>(*scale),
            Lengthscale::Each(scales) => scales.iter().try_for_each(|scale| positive::<P>(*scale)),
        }
    }
}

fn positive<P: Profile>(scale: f64) -> Result<()> {
    if (1e-150..=1e150).contains(&scale) {
        return Ok(());
    }
    Err(Error::argument(format!("lengthscale of {}", P::NAME), "positive, from 1e-150 to 1e150", scale))
}

/// ℓ² = half the mean squared distance over all pairs, which is the sum of the features' variances; for
/// absolute differences, the sum of their standard deviations. 1 when all rows are equal.
fn mean_rule(points: &Points, weights: Option<&[f64]>, absolute: bool) -> f64 {
    let total = weights.map_or(points.rows() as f64, |w| w.iter().sum());
    let weight = |i: usize| weights.map_or(1.0, |w| w[i]);
    let variances = (0..points.features()).map(|j| {
        let column = points.feature(j);
        let mean = column.iter().enumerate().map(|(i, x)| weight(i) / total * x).sum::<f64>();
        column.iter().enumerate().map(|(i, x)| weight(i) / total * (x - mean) * (x - mean)).sum::<f64>()
    });
    let scale = if absolute { variances.map(f64::sqrt).sum() } else { variances.sum::<f64>().sqrt() };
    usable(scale)
}

/// ℓ = the median distance between different rows, pairs weighted by the product of their weights; of at most
/// 1,000 rows spread evenly over the table.
fn median_rule(points: &Points, weights: Option<&[f64]>, absolute: bool) -> f64 {
    const MOST: usize = 1000;
    let step = points.rows().div_ceil(MOST).max(1);
    let rows: Vec<usize> = (0..points.rows()).step_by(step).collect();
    let weight = |i: usize| weights.map_or(1.0, |w| w[i]);
    let mut distances = Vec::with_capacity(rows.len() * rows.len().saturating_sub(1) / 2);
    for (index, &a) in rows.iter().enumerate() {
        for &b in &rows[..index] {
            let distance: f64 = (0..points.features())
                .map(|j| points.feature(j)[a] - points.feature(j)[b])
                .map(|difference| if absolute { difference.abs() } else { difference * difference })
                .sum();
            if distance > 0.0 {
                distances.push((if absolute { distance } else { distance.sqrt() }, weight(a) * weight(b)));
            }
        }
    }
    distances.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
    let half = distances.iter().map(|(_, w)| w).sum::<f64>() / 2.0;
    let mut passed = 0.0;
    for (index, (distance, weight)) in distances.iter().enumerate() {
        passed += weight;
        if passed > half * (1.0 + 1e-12) {
            return usable(*distance);
        }
        // Exactly half lies below: the middle of the two.
        if passed >= half * (1.0 - 1e-12) {
            let next = distances.get(index + 1).map_or(*distance, |(next, _)| *next);
            return usable(0.5 * (distance + next));
        }
    }
    1.0
}

/// A rule's result, if it can serve as a lengthscale (equal rows give 0).
fn usable(scale: f64) -> f64 {
    if (1e-150..=1e150).contains(&scale) { scale } else { 1.0 }
}

#[cfg(test)]
mod tests {
    use crate::linalg::Matrix;
    use crate::term::kernel::{Points, parse};

    /// Sums are those of values up to rounding, whatever the kernel and wherever a part of the points begins and ends.
    #[test]
    fn sums_are_those_of_values() {
        let points = Points::new(&Matrix::from_fn(150, 3, |i, j| libm::sin((3 * i + j) as f64)));
        for spec in [
            "gaussian(lengthscale=0.7)",
            "gaussian(lengthscale=[0.7, 1, 2])",
            "laplace(lengthscale=0.7)",
            "matern32(lengthscale=0.7)",
            "0.5*linear + matern52(lengthscale=2)",
        ] {
            let kernel = parse(spec).unwrap();
            for (start, length) in [(0, 150), (3, 129), (40, 70), (149, 1)] {
                let start_sums: Vec<f64> = (0..length).map(|i| libm::cos(i as f64)).collect();
                let (mut sums, mut want, mut values) = (start_sums.clone(), start_sums, vec![0.0; length]);
                let (terms, weights) = ([7, 99, 3], [1.7, -0.3, 11.0]);
                kernel.add_sums(&points.subset(&terms), &weights, &points, start, &mut sums);
                for (term, weight) in terms.iter().zip(weights) {
                    points.with_point(*term, |x| kernel.values(x, &points, start, &mut values));
                    want.iter_mut().zip(&values).for_each(|(sum, value)| *sum += weight * value);
                }
                for i in 0..length {
                    assert!((sums[i] - want[i]).abs() <= 1e-14, "{spec}, {start} + {i}: {} {}", sums[i], want[i]);
                }
            }
        }
    }
}
