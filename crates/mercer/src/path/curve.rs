//! The ridge path as functions of one number: the squared norm N(μ), the training error R(μ) and the degrees
//! of freedom, each a sum over the spectrum.

use std::collections::HashMap;

use crate::linalg::exponent_of;

/// What the search for stationary points needs to know of a path at t = log μ.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CurvePoint {
    /// log N(μ), in the target's own units.
    pub log_norm: f64,
    /// s = −½ d log N / d t, between 0 and 1.
    pub slope: f64,
    /// R(μ), in units of 4ᵏ (see [`Curve::log_unit`]).
    pub train: f64,
}

impl CurvePoint {
    /// log of the λ whose m-power problem has a stationary point here, at t = log μ: λ = (2/m) μ N^(1−m/2).
    pub fn log_lambda(&self, t: f64, exponent: f64) -> f64 {
        t + (2.0 / exponent).ln() + (1.0 - exponent / 2.0) * self.log_norm
    }
}

/// A ridge path on which stationary points are sought: the whole data's, or that of the data without a row.
pub trait Curve {
    /// N, its slope and R at t = log μ.
    fn at(&mut self, t: f64) -> CurvePoint;
    /// W: γ = W eᵗ.
    fn weight_sum(&self) -> f64;
    /// 2k·log 2: squares of the target's own units are 4ᵏ times those used inside.
    fn log_unit(&self) -> f64;
    /// R of the zero function, in units of 4ᵏ.
    fn zero_train(&self) -> f64;
    /// log of ‖y‖² as used in N(μ) ≤ ‖y‖²/(4Wμ), in the target's own units; −∞ when f = 0 for every λ.
    fn log_energy(&self) -> f64 {
        match self.log_tail() > f64::NEG_INFINITY {
            true => libm::log(self.zero_train() * self.weight_sum()) + self.log_unit(),
            false => f64::NEG_INFINITY,
        }
    }
    /// log of A in N → A/γ² for large γ, in the target's own units.
    fn log_tail(&self) -> f64;
    /// Logs of an upper bound of the eigenvalues, and of a lower bound of those that carry energy (−∞ if none
    /// is known).
    fn log_spread(&self) -> (f64, f64);
    /// How closely roots are asked for, in units of rounding; `None` as closely as rounding lets them be known.
    fn resolution(&self) -> Option<f64> {
        None
    }
}

/// A curve that remembers its values. Proofs that an interval has no root ask for the same points at every λ.
pub(crate) struct Remembered<'a, C> {
    curve: &'a mut C,
    known: HashMap<u64, CurvePoint>,
}

impl<'a, C: Curve> Remembered<'a, C> {
    pub fn new(curve: &'a mut C) -> Self {
        Remembered { curve, known: HashMap::new() }
    }

    pub fn curve(&mut self) -> &mut C {
        self.curve
    }
}

impl<C: Curve> Curve for Remembered<'_, C> {
    fn at(&mut self, t: f64) -> CurvePoint {
        *self.known.entry(t.to_bits()).or_insert_with(|| self.curve.at(t))
    }

    fn weight_sum(&self) -> f64 {
        self.curve.weight_sum()
    }

    fn log_unit(&self) -> f64 {
        self.curve.log_unit()
    }

    fn zero_train(&self) -> f64 {
        self.curve.zero_train()
    }

    fn log_energy(&self) -> f64 {
        self.curve.log_energy()
    }

    fn log_tail(&self) -> f64 {
        self.curve.log_tail()
    }

    fn log_spread(&self) -> (f64, f64) {
        self.curve.log_spread()
    }

    fn resolution(&self) -> Option<f64> {
        self.curve.resolution()
    }
}

/// The ridge path μ ↦ f_μ of one target (or of several that share μ).
#[derive(Debug, Clone)]
pub struct Path {
    /// Positive eigenvalues.
    eigenvalues: Vec<f64>,
    /// Σ z² of each positive eigenvalue, in units of 4ᵏ.
    energies: Vec<f64>,
    /// Energy that no eigenvalue reaches.
    null: f64,
    centred: f64,
    weight_sum: f64,
    offset: bool,
    power: i32,
}

impl Path {
    pub(crate) fn new(
        eigenvalues: &[f64],
        energies: &[f64],
        outside: f64,
        centred: f64,
        weight_sum: f64,
        offset: bool,
        power: i32,
    ) -> Self {
        let positive = eigenvalues.iter().take_while(|d| **d > 0.0).count();
        Path {
            eigenvalues: eigenvalues[..positive].to_vec(),
            energies: energies[..positive].to_vec(),
            null: outside + energies[positive..].iter().sum::<f64>(),
            centred,
            weight_sum,
            offset,
            power,
        }
    }

    /// A path from its parts: eigenvalues (descending, at least 0), the target's coordinates z, and W. For
    /// experiments and tests; the ordinary way is [`Spectrum::path`](super::Spectrum::path).
    pub fn from_parts(eigenvalues: &[f64], z: &[f64], weight_sum: f64) -> Self {
        let size = z.iter().fold(0.0, |max: f64, v| max.max(v.abs()));
        let power = if size > 0.0 { exponent_of(size) } else { 0 };
        let energies: Vec<f64> = z.iter().map(|v| libm::ldexp(*v, -power)).map(|v| v * v).collect();
        let total = energies.iter().sum();
        Path::new(eigenvalues, &energies, 0.0, total, weight_sum, false, power)
    }

    /// The same with energy `rest` that no eigenvalue reaches.
    pub(crate) fn with_rest(eigenvalues: &[f64], z: &[f64], rest: f64, weight_sum: f64, offset: bool) -> Self {
        let size = z.iter().fold(rest.sqrt(), |max: f64, v| max.max(v.abs()));
        let power = if size > 0.0 { exponent_of(size) } else { 0 };
        let energies: Vec<f64> = z.iter().map(|v| libm::ldexp(*v, -power)).map(|v| v * v).collect();
        let rest = libm::ldexp(rest, -2 * power);
        let total = energies.iter().sum::<f64>() + rest;
        Path::new(eigenvalues, &energies, rest, total, weight_sum, offset, power)
    }

    /// ‖f_μ‖, where ‖f_μ‖² = Σ d z²/(d + Wμ)².
    pub fn norm(&self, ridge: f64) -> f64 {
        let gamma = self.weight_sum * ridge;
        let sum: f64 = self.terms().map(|(d, e)| d * (e / (d + gamma)) / (d + gamma)).sum();
        libm::ldexp(sum.sqrt(), self.power)
    }

    /// ‖f_μ − f_ν‖ = |γ_ν − γ_μ| √(Σ d z²/((d + γ_μ)(d + γ_ν))²); `None` stands for the zero function. No difference of
    /// nearly equal numbers is formed but that of the ridges.
    ///
    /// ```
    /// use mercer::spectrum::Path;
    ///
    /// // d = 1, z = 2, W = 1: f_μ has the norm 2/(1 + μ).
    /// let path = Path::from_parts(&[1.0], &[2.0], 1.0);
    /// assert!((path.distance(Some(1.0), Some(3.0)) - 0.5).abs() < 1e-15);
    /// assert!((path.distance(Some(1.0), None) - 1.0).abs() < 1e-15);
    /// ```
    pub fn distance(&self, ridge: Option<f64>, other: Option<f64>) -> f64 {
        let (ridge, other) = match (ridge, other) {
            (Some(ridge), Some(other)) => (ridge, other),
            (Some(ridge), None) | (None, Some(ridge)) => return self.norm(ridge),
            (None, None) => return 0.0,
        };
        let (a, b) = (self.weight_sum * ridge, self.weight_sum * other);
        let sum: f64 = self.terms().map(|(d, e)| d / (d + a) * (e / (d + a)) / (d + b) / (d + b)).sum();
        libm::ldexp((b - a).abs() * sum.sqrt(), self.power)
    }

    /// (1/W) Σ w(y − f_μ)².
    pub fn train_mse(&self, ridge: f64) -> f64 {
        let gamma = self.weight_sum * ridge;
        libm::ldexp(self.scaled_train(gamma), 2 * self.power)
    }

    /// yᵀG⁻¹y = Σ z²/(d + Wμ) on the directions that the offset leaves.
    pub fn quadratic(&self, ridge: f64) -> f64 {
        let gamma = self.weight_sum * ridge;
        let sum: f64 = self.terms().map(|(d, e)| e / (d + gamma)).sum();
        libm::ldexp(sum + self.null / gamma, 2 * self.power)
    }

    /// tr H = Σ d/(d + Wμ), and one more for an offset.
    pub fn dof(&self, ridge: f64) -> f64 {
        let gamma = self.weight_sum * ridge;
        f64::from(self.offset) + self.eigenvalues.iter().map(|d| d / (d + gamma)).sum::<f64>()
    }

    /// (1/W) Σ w y² (around the mean, with an offset): the error of the zero function.
    pub fn zero_mse(&self) -> f64 {
        libm::ldexp(self.centred / self.weight_sum, 2 * self.power)
    }

    /// The λ whose m-power problem has a stationary point at this ridge: λ = (2/m) μ N^(1−m/2); as logarithm.
    pub fn log_lambda(&self, log_ridge: f64, exponent: f64) -> f64 {
        self.point(log_ridge).log_lambda(log_ridge, exponent)
    }

    fn terms(&self) -> impl Iterator<Item = (f64, f64)> + '_ {
        self.eigenvalues.iter().copied().zip(self.energies.iter().copied())
    }

    fn scaled_train(&self, gamma: f64) -> f64 {
        let sum: f64 = self
            .terms()
            .map(|(d, e)| {
                let shrink = if gamma.is_finite() { gamma / (d + gamma) } else { 1.0 };
                shrink * shrink * e
            })
            .sum();
        (sum + self.null) / self.weight_sum
    }

    /// The largest eigenvalue.
    pub(crate) fn largest(&self) -> f64 {
        self.eigenvalues.first().copied().unwrap_or(0.0)
    }

    /// Σ d z², so that N → tail/γ².
    fn tail(&self) -> f64 {
        self.terms().map(|(d, e)| d * e).sum()
    }

    pub(crate) fn point(&self, t: f64) -> CurvePoint {
        let log_gamma = t + libm::log(self.weight_sum);
        // Far above the spectrum N is A/γ² to the last digit, and γ itself may overflow.
        if log_gamma > libm::log(self.largest()) + 45.0 {
            let log_norm = libm::log(self.tail()) - 2.0 * log_gamma + self.log_unit();
            return CurvePoint { log_norm, slope: 1.0, train: self.scaled_train(f64::INFINITY) };
        }
        let gamma = libm::exp(log_gamma);
        let (mut norm, mut shrunk) = (0.0, 0.0);
        for (d, e) in self.terms() {
            let inverse = 1.0 / (d + gamma);
            let term = d * inverse * (e * inverse);
            norm += term;
            shrunk += term * (gamma * inverse);
        }
        CurvePoint {
            log_norm: libm::log(norm) + self.log_unit(),
            slope: shrunk / norm,
            train: self.scaled_train(gamma),
        }
    }
}

impl Curve for Path {
    fn at(&mut self, t: f64) -> CurvePoint {
        self.point(t)
    }

    fn weight_sum(&self) -> f64 {
        self.weight_sum
    }

    fn log_unit(&self) -> f64 {
        2.0 * f64::from(self.power) * std::f64::consts::LN_2
    }

    fn zero_train(&self) -> f64 {
        self.centred / self.weight_sum
    }

    fn log_energy(&self) -> f64 {
        if self.tail() > 0.0 { libm::log(self.energies.iter().sum()) + self.log_unit() } else { f64::NEG_INFINITY }
    }

    fn log_tail(&self) -> f64 {
        libm::log(self.tail()) + self.log_unit()
    }

    fn log_spread(&self) -> (f64, f64) {
        let carrying = self.terms().filter(|(_, e)| *e > 0.0).map(|(d, _)| d);
        let lowest = carrying.fold(f64::INFINITY, f64::min);
        (libm::log(self.largest()), libm::log(lowest))
    }
}
