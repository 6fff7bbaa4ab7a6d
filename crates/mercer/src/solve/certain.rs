//! What rounding leaves of an answer: K is known to within E, ‖E‖ ≤ ε, and everything that is claimed must hold for every such
//! matrix.
//!
//! With G = K + γ and α the solution at K + E, the exact solution is α + G⁻¹Eα, whatever the size of E. Hence
//!
//! * ‖δf‖ ≤ ε‖α‖ max √d/(d + γ), the maximum over the eigenvalues that K may have: 1/(2√γ) where some may hide below rounding;
//! * |δN| ≤ ε‖α‖² + ε²‖α‖²/(4γ) for N = ‖f‖²;
//! * |δ‖r‖| ≤ ε‖α‖ for the residual r = γα on the rows.
//!
//! Directions without eigenvalue are left out of α only where K is proved to have none there: where the rank that is seen is the
//! largest that the kernel can have on these rows. The range of K turns by sin θ ≤ 2ε/d in that case, d the smallest eigenvalue.

use std::collections::HashSet;

use crate::path::power::Minimum;
use crate::path::{Curve, Remembered, Spectrum};
use crate::term::kernel::{Kernel, Points};

/// How far a kernel value can be off, in units of epsilon and of √(k(x, x)k(x′, x′)): a few operations and the
/// function itself, and half a unit for each term of a distance, of which x·exp(−x) ≤ 0.37 is left in the value. With 4 in the
/// place of 8, one claim in 2,000 problems (`checks/digits.py`) was 0.2 digits above the truth.
pub(crate) fn rounding_of_values(kernel: &dyn Kernel, points: &Points) -> f64 {
    // Values that are given are as they are.
    let features = if kernel.is_precomputed() { 0 } else { points.features() };
    8.0 + features as f64 / 6.0
}

/// Intervals that a proof of the global minimum may look at.
const MOST_INTERVALS: usize = 20_000;

/// What is known of K's small eigenvalues.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Floor {
    /// ε: how far the decomposition can be from that of K.
    pub noise: f64,
    /// K has no eigenvalue between 0 and this one; 0 if that is not known.
    pub smallest: f64,
    /// None is above this one.
    pub largest: f64,
}

impl Default for Floor {
    /// Nothing is known.
    fn default() -> Self {
        Floor { noise: 0.0, smallest: 0.0, largest: f64::INFINITY }
    }
}

impl Floor {
    /// That of a decomposition.
    pub fn of(spectrum: &Spectrum, kernel: &dyn Kernel, points: &Points) -> Self {
        let seen = spectrum.eigenvalues().iter().take_while(|d| **d > 0.0).count();
        let is_whole = seen > 0 && seen >= largest_rank(kernel, points, spectrum.has_offset(), seen);
        Floor::seen(spectrum, rounding_of_values(kernel, points), is_whole)
    }

    /// That of a factor with so many columns: FFᵀ has no more eigenvalues.
    pub fn of_factor(spectrum: &Spectrum, kernel: &dyn Kernel, points: &Points, rank: usize) -> Self {
        Floor::seen(spectrum, rounding_of_values(kernel, points), spectrum.eigenvalues().len() >= rank)
    }

    fn seen(spectrum: &Spectrum, of_values: f64, is_whole: bool) -> Self {
        let noise = spectrum.rounding(of_values);
        let smallest = if is_whole { spectrum.smallest_positive() - 2.0 * noise } else { 0.0 };
        Floor { noise, smallest: if smallest > noise { smallest } else { 0.0 }, largest: spectrum.largest() + noise }
    }

    /// Whether every direction in which no eigenvalue was seen is proved to have none.
    pub fn is_known(&self) -> bool {
        self.smallest > 0.0
    }

    /// max √d/(d + γ) over the eigenvalues that K may have.
    pub fn steepness(&self, gamma: f64) -> f64 {
        // It rises up to d = γ.
        let steepest = gamma.max(self.smallest).min(self.largest);
        steepest.sqrt() / (steepest + gamma)
    }

    /// By how much K's range may be turned, as a sine.
    pub fn turn(&self) -> f64 {
        if self.is_known() { (2.0 * self.noise / self.smallest).min(1.0) } else { 1.0 }
    }
}

/// The largest rank that K (centred, with an offset) can have: as many distinct rows, and no more than the kernel's space has
/// dimensions. At least `enough`, which need not be counted beyond.
fn largest_rank(kernel: &dyn Kernel, points: &Points, offset: bool, enough: usize) -> usize {
    let taken = usize::from(offset);
    if points.rows() <= enough + taken {
        return enough;
    }
    let bits = |x: f64| (x + 0.0).to_bits();
    let row = |i: usize| {
        let numbers = (0..points.features()).map(|j| bits(points.feature(j)[i]));
        numbers.chain((0..points.code_columns()).map(|j| u64::from(points.codes(j)[i]))).collect::<Vec<u64>>()
    };
    let distinct = if kernel.is_precomputed() {
        points.rows()
    } else {
        (0..points.rows()).map(row).collect::<HashSet<Vec<u64>>>().len()
    };
    // Columns of zeros count for nothing; nor do constant ones for a linear function with an offset.
    let moves = |j: &usize| {
        let column = points.feature(*j);
        let base = if offset && kernel.linear_scale().is_some() { column[0] } else { 0.0 };
        column.iter().any(|x| *x != base)
    };
    let features = (0..points.features()).filter(moves).count();
    let all = kernel.span(features);
    let dimension = all.map_or(usize::MAX, |all| all.dimension - usize::from(offset && all.has_constant));
    dimension.min(distinct - taken)
}

/// How far log μ of the exact minimiser can be from the one that was found, when log N is known to within `share` there: the root
/// of h moves by what its value may be off, over its slope. `None` where that says nothing.
pub(crate) fn shift_of_root(minimum: &Minimum, exponent: f64, share: f64) -> Option<f64> {
    if exponent == 2.0 {
        return Some(0.0);
    }
    if !(share < 0.5) {
        return None;
    }
    let half = 0.5 * (2.0 - exponent).abs();
    let open = half * -libm::log1p(-share) + minimum.root_residual * minimum.firmness.abs();
    // s in h′ = 1 − (2 − m)s changes by at most 2.5 times as much as log N, to first order.
    let firm = minimum.firmness - 6.0 * half * share;
    // |h″| = |2 − m|·|s′|, |s′| ≤ ½ and ≤ 2 min(s, 1 − s), which grows by e at most within a half of t.
    let s = slope_share(minimum, exponent);
    let bend = 2.0 * half * (2.0 * std::f64::consts::E * s.min(1.0 - s)).min(0.5);
    let room = firm * firm - 2.0 * bend * open;
    let near = (firm > 0.0 && room >= 0.0).then(|| 2.0 * open / (firm + room.sqrt())).filter(|shift| *shift <= 0.5);
    // For m > 1 the slope is nowhere less than this.
    let far = (exponent > 1.0).then(|| open / (exponent - 1.0).min(1.0));
    near.into_iter().chain(far).reduce(f64::min)
}

/// s of h′ = 1 − (2 − m)s, the mean of γ/(d + γ) over the parts of f.
fn slope_share(minimum: &Minimum, exponent: f64) -> f64 {
    ((1.0 - minimum.firmness) / (2.0 - exponent)).clamp(0.0, 1.0)
}

/// ‖f_μ − f_ν‖/‖f‖ for ridges whose logarithms differ by at most this: ‖∂f/∂t‖² = Σ p² d z²/(d + γ)² ≤ s‖f‖².
pub(crate) fn movement(minimum: &Minimum, exponent: f64, shift: f64) -> f64 {
    if shift == 0.0 {
        return 0.0;
    }
    (slope_share(minimum, exponent) + 0.5 * shift).min(1.0).sqrt() * libm::expm1(shift)
}

/// Whether the minimum that was found is proved to be the global one for every matrix that K can be.
///
/// For m > 1 there is one stationary point, and for m = 1 at most one. For m < 1 every interval of log μ away from the root must
/// be shown to have none, or only such with a larger objective: on [a, b] it is at least R(a) + λN(b)^(m/2), as R rises and N falls.
pub(crate) fn is_global(
    curve: &mut impl Curve,
    exponent: f64,
    log_lambda: f64,
    minimum: &Minimum,
    floor: &Floor,
) -> bool {
    if exponent > 1.0 || curve.log_energy() == f64::NEG_INFINITY {
        return true;
    }
    let null_train = curve.at(LEAST_LOG_RIDGE).train;
    let mut proof = Proof { curve: Remembered::new(curve), exponent, log_lambda, floor: *floor, null_train };
    if exponent == 1.0 { proof.of_one(minimum) } else { proof.of_all(minimum) }
}

/// Below this log μ nothing of a function is held back.
const LEAST_LOG_RIDGE: f64 = -600.0;

struct Proof<'a, C> {
    curve: Remembered<'a, C>,
    exponent: f64,
    log_lambda: f64,
    floor: Floor,
    /// R where nothing is held back.
    null_train: f64,
}

/// What the path can be at one ridge.
#[derive(Debug, Clone, Copy)]
struct Bounds {
    h: f64,
    slope: f64,
    /// How far log N may be off; infinite where N may be 0.
    log_norm_error: f64,
    /// Smallest and largest R, and smallest and largest λN^(m/2), in the curve's units.
    train: [f64; 2],
    penalty: [f64; 2],
}

impl<C: Curve> Proof<'_, C> {
    fn at(&mut self, t: f64) -> Bounds {
        let point = self.curve.at(t);
        let total = self.curve.weight_sum();
        let gamma = libm::exp(t) * total;
        let norm = libm::exp(0.5 * (point.log_norm - self.curve.log_unit()));
        let residual = (point.train * total).sqrt();
        let Floor { noise, smallest, .. } = self.floor;
        // Whatever K's small eigenvalues are.
        let dual = residual / gamma;
        let (mut norm_error, mut residual_error) = (noise * dual * dual * (1.0 + 0.25 * noise / gamma), noise * dual);
        if self.floor.is_known() {
            let whole = (self.curve.zero_train() * total).sqrt();
            // Two bounds of ‖α‖ where K has eigenvalues: the first is a difference that rounding may spoil.
            let dual = ((point.train - self.null_train).max(0.0) * total).sqrt() / gamma;
            let dual = dual.min(norm / smallest.sqrt());
            let turned = if self.null_train > 0.0 { self.floor.turn() * whole } else { 0.0 };
            let disturbance = noise * dual + turned;
            let moved = disturbance * self.floor.steepness(gamma);
            norm_error = norm_error.min(noise * dual * dual + (2.0 * norm + moved) * moved);
            residual_error = residual_error.min(disturbance * gamma / (smallest + gamma) + turned);
        }
        let square = norm * norm;
        let share = norm_error / square;
        let half = self.exponent / 2.0;
        let log_unit = self.curve.log_unit();
        let penalty = |square: f64| libm::exp(self.log_lambda + half * (libm::log(square) + log_unit) - log_unit);
        let train = |size: f64| size * size / total;
        Bounds {
            h: t - self.log_lambda - libm::log(half) + (1.0 - half) * point.log_norm,
            slope: 1.0 - (2.0 - self.exponent) * point.slope,
            log_norm_error: if share < 1.0 { -libm::log1p(-share) + 1e-13 } else { f64::INFINITY },
            train: [train((residual - residual_error).max(0.0)), train(residual + residual_error)],
            penalty: [if share < 1.0 { penalty(square - norm_error) } else { 0.0 }, penalty(square + norm_error)],
        }
    }

    /// m = 1: h rises to a limit, and f = 0 exactly where that is not positive.
    fn of_one(&mut self, minimum: &Minimum) -> bool {
        let log_weight = libm::log(self.curve.weight_sum());
        let limit = 0.5 * self.curve.log_tail() - self.log_lambda - libm::log(0.5) - log_weight;
        let share = self.floor.noise * libm::exp(self.curve.log_energy() - self.curve.log_tail());
        if minimum.log_ridge.is_none() { limit < -share - 1e-13 } else { limit > share + 1e-13 }
    }

    fn of_all(&mut self, minimum: &Minimum) -> bool {
        let zero = self.curve.zero_train();
        let (least, near) = match minimum.log_ridge {
            None => (zero, None),
            Some(t) => {
                let own = self.at(t);
                let Some(shift) = shift_of_root(minimum, self.exponent, own.log_norm_error) else { return false };
                let least = own.train[1] + own.penalty[1];
                if least >= zero {
                    return false;
                }
                let width = 4.0 * shift + 1e-12 * (1.0 + t.abs());
                (least, Some([t - width, t + width]))
            }
        };
        let least = least * (1.0 + 1e-13);
        let Some([low, high]) = self.window() else { return false };
        let parts = match near {
            Some([left, right]) => vec![(right.max(low), high), (low, left.min(high))],
            None => vec![(low, high)],
        };
        self.excludes(parts, least)
    }

    /// Outside of this interval h is negative, whatever K is: N ≤ ‖y‖²/(4γ) to the left, and to the right h falls from a negative
    /// value on.
    fn window(&mut self) -> Option<[f64; 2]> {
        let m = self.exponent;
        let total = self.curve.weight_sum();
        let constant = self.log_lambda + libm::log(m / 2.0);
        let log_energy = libm::log(self.curve.zero_train() * total) + self.curve.log_unit();
        let low = 2.0 / m * (constant - (1.0 - m / 2.0) * (log_energy - libm::log(4.0 * total)));
        let low = low - 1e-6 * (1.0 + low.abs());
        let (log_largest, _) = self.curve.log_spread();
        let mut high = (log_largest - libm::log(total) + libm::log((2.0 - m) / (1.0 - m)) + 1e-6).max(low + 1.0);
        for _ in 0..64 {
            let own = self.at(high);
            if own.h + (1.0 - m / 2.0) * own.log_norm_error < 0.0 {
                return Some([low, high]);
            }
            high += (own.h / (1.0 - m)).max(1.0) * 1.1;
        }
        None
    }

    fn excludes(&mut self, mut parts: Vec<(f64, f64)>, least: f64) -> bool {
        let half = 1.0 - self.exponent / 2.0;
        for _ in 0..MOST_INTERVALS {
            let Some((a, b)) = parts.pop() else { return true };
            if a >= b {
                continue;
            }
            let (centre, radius) = (0.5 * (a + b), 0.5 * (b - a));
            let own = self.at(centre);
            let rounding = 16.0 * f64::EPSILON * (1.0 + centre.abs() + self.log_lambda.abs() + own.h.abs());
            let reach = (own.slope.abs() + 6.0 * half * own.log_norm_error) * radius
                + 0.5 * half * radius * radius
                + half * own.log_norm_error
                + rounding;
            if own.h.abs() > reach || self.at(a).train[0] + self.at(b).penalty[0] > least {
                continue;
            }
            // What is left is too narrow to be told apart.
            if radius <= 1e-13 * (1.0 + centre.abs()) {
                return false;
            }
            parts.extend([(centre, b), (a, centre)]);
        }
        parts.is_empty()
    }
}
