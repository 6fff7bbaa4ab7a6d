//! Profiles φ: what a kernel makes of a distance.

use std::fmt::Debug;

use super::super::Decay;
use crate::base::error::{Error, Result};
use crate::linalg::simd::{each, exp, exp_lanes, exp_single, exp2_lanes};

/// φ, as a function of the squared Euclidean distance (or of the sum of absolute differences).
pub trait Profile: Copy + Debug + Send + Sync + 'static {
    /// The kernel's name in a spec.
    const NAME: &'static str;
    /// Whether distances are sums of absolute differences instead of squared Euclidean ones.
    const ABSOLUTE: bool = false;
    /// φ at q = r² (or at q = r, if [`ABSOLUTE`](Self::ABSOLUTE)).
    fn at(&self, q: f64) -> f64;
    /// φ of several at once; the same bits.
    #[inline(always)]
    fn at_lanes<const N: usize>(&self, q: [f64; N]) -> [f64; N] {
        each(q, |q| self.at(q))
    }
    /// φ at scale · q, up to rounding: for sums that no saved model repeats.
    #[inline(always)]
    fn fused<const N: usize>(&self, q: [f64; N], scale: f64) -> [f64; N] {
        self.at_lanes(each(q, |q| scale * q))
    }
    /// φ in single precision.
    #[inline(always)]
    fn at_single(&self, q: f32) -> f32 {
        self.at(f64::from(q)) as f32
    }
    /// dφ/dq, for squared Euclidean distances q > 0.
    fn slope(&self, q: f64) -> f64;
    /// φ by its name, for those who evaluate it elsewhere.
    fn decay(&self) -> Option<Decay> {
        None
    }
    /// Refuses parameters that no kernel can have.
    fn check(&self) -> Result<()> {
        Ok(())
    }
    /// Parameters other than the lengthscale, as they stand in a spec.
    fn others(&self) -> String {
        String::new()
    }
}

/// factor(u) exp(−u). Past the underflow of exp the product would be ∞ · 0.
#[inline(always)]
fn times_decay<const N: usize>(u: [f64; N], factor: impl Fn(f64) -> f64) -> [f64; N] {
    let mut out = exp_lanes(each(u, |u| -u));
    for l in 0..N {
        out[l] = if u[l] > 708.0 { 0.0 } else { factor(u[l]) * out[l] };
    }
    out
}

/// exp(−r²/2)
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GaussianProfile;
impl Profile for GaussianProfile {
    const NAME: &'static str = "gaussian";
    fn decay(&self) -> Option<Decay> {
        Some(Decay::Gaussian)
    }
    #[inline(always)]
    fn at(&self, q: f64) -> f64 {
        self.at_lanes([q])[0]
    }
    #[inline(always)]
    fn at_lanes<const N: usize>(&self, q: [f64; N]) -> [f64; N] {
        exp_lanes(each(q, |q| -0.5 * q))
    }
    #[inline(always)]
    fn fused<const N: usize>(&self, q: [f64; N], scale: f64) -> [f64; N] {
        let factor = -0.5 * std::f64::consts::LOG2_E * scale;
        exp2_lanes(each(q, |q| factor * q))
    }
    #[inline(always)]
    fn at_single(&self, q: f32) -> f32 {
        exp_single(-0.5 * q)
    }
    #[inline(always)]
    fn slope(&self, q: f64) -> f64 {
        -0.5 * exp(-0.5 * q)
    }
}

/// exp(−Σⱼ |xⱼ − x′ⱼ|/ℓ)
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LaplaceProfile;
impl Profile for LaplaceProfile {
    const NAME: &'static str = "laplace";
    const ABSOLUTE: bool = true;
    fn decay(&self) -> Option<Decay> {
        Some(Decay::Laplace)
    }
    #[inline(always)]
    fn at(&self, q: f64) -> f64 {
        self.at_lanes([q])[0]
    }
    #[inline(always)]
    fn at_lanes<const N: usize>(&self, q: [f64; N]) -> [f64; N] {
        exp_lanes(each(q, |q| -q))
    }
    #[inline(always)]
    fn slope(&self, q: f64) -> f64 {
        // Of the sum of absolute differences.
        -exp(-q)
    }
}

/// exp(−r)
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Matern12Profile;
impl Profile for Matern12Profile {
    const NAME: &'static str = "matern12";
    fn decay(&self) -> Option<Decay> {
        Some(Decay::Matern12)
    }
    #[inline(always)]
    fn at(&self, q: f64) -> f64 {
        self.at_lanes([q])[0]
    }
    #[inline(always)]
    fn at_lanes<const N: usize>(&self, q: [f64; N]) -> [f64; N] {
        exp_lanes(each(q, |q| -q.sqrt()))
    }
    #[inline(always)]
    fn slope(&self, q: f64) -> f64 {
        let u = q.sqrt();
        -0.5 * exp(-u) / u
    }
}

/// (1 + √3 r) exp(−√3 r)
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Matern32Profile;
impl Profile for Matern32Profile {
    const NAME: &'static str = "matern32";
    fn decay(&self) -> Option<Decay> {
        Some(Decay::Matern32)
    }
    #[inline(always)]
    fn at(&self, q: f64) -> f64 {
        self.at_lanes([q])[0]
    }
    #[inline(always)]
    fn at_lanes<const N: usize>(&self, q: [f64; N]) -> [f64; N] {
        times_decay(each(q, |q| (3.0 * q).sqrt()), |u| 1.0 + u)
    }
    #[inline(always)]
    fn slope(&self, q: f64) -> f64 {
        -1.5 * exp(-(3.0 * q).sqrt())
    }
}

/// (1 + √5 r + 5r²/3) exp(−√5 r)
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Matern52Profile;
impl Profile for Matern52Profile {
    const NAME: &'static str = "matern52";
    fn decay(&self) -> Option<Decay> {
        Some(Decay::Matern52)
    }
    #[inline(always)]
    fn at(&self, q: f64) -> f64 {
        self.at_lanes([q])[0]
    }
    #[inline(always)]
    fn at_lanes<const N: usize>(&self, q: [f64; N]) -> [f64; N] {
        times_decay(each(q, |q| (5.0 * q).sqrt()), |u| 1.0 + u + u * u * (1.0 / 3.0))
    }
    #[inline(always)]
    fn slope(&self, q: f64) -> f64 {
        let u = (5.0 * q).sqrt();
        if u > 708.0 { 0.0 } else { -(5.0 / 6.0) * (1.0 + u) * exp(-u) }
    }
}

/// 1/(1 + r²): the characteristic function of Laplace's distribution, with tails that a Gaussian does not have.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CauchyProfile;
impl Profile for CauchyProfile {
    const NAME: &'static str = "cauchy";
    #[inline(always)]
    fn at(&self, q: f64) -> f64 {
        1.0 / (1.0 + q)
    }
    #[inline(always)]
    fn slope(&self, q: f64) -> f64 {
        -1.0 / ((1.0 + q) * (1.0 + q))
    }
}

/// (1 + r²/(2·shape))^(−shape): a mixture of Gaussians of many lengthscales.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RationalQuadraticProfile {
    shape: f64,
}
impl RationalQuadraticProfile {
    /// With this shape, above 0; large shapes approach the Gaussian.
    pub fn new(shape: f64) -> Self {
        RationalQuadraticProfile { shape }
    }
}
impl Profile for RationalQuadraticProfile {
    const NAME: &'static str = "rational-quadratic";
    fn decay(&self) -> Option<Decay> {
        Some(Decay::RationalQuadratic { shape: self.shape })
    }
    #[inline(always)]
    fn at(&self, q: f64) -> f64 {
        let base = 1.0 + q / (2.0 * self.shape);
        if self.shape == 1.0 { 1.0 / base } else { libm::exp(-self.shape * libm::log(base)) }
    }
    fn check(&self) -> Result<()> {
        if self.shape > 0.0 && self.shape.is_finite() {
            return Ok(());
        }
        Err(Error::argument("shape of rational-quadratic", "above 0 and finite", self.shape))
    }
    fn others(&self) -> String {
        format!(",shape={}", self.shape)
    }
    #[inline(always)]
    fn slope(&self, q: f64) -> f64 {
        let base = 1.0 + q / (2.0 * self.shape);
        -0.5 * libm::exp(-(self.shape + 1.0) * libm::log(base))
    }
}
