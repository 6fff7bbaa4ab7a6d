//! min (1/W) Σ w(y − f(x) − b)² + λ‖f‖ᵐ: which point of the ridge path is it?
//!
//! Every stationary point is a ridge solution whose μ solves μ = (λm/2) N(μ)^(m/2−1). In t = log μ:
//! h(t) = t − log(λm/2) + (1 − m/2) log N(eᵗ), with slope h′ = 1 − (2−m)s, s ∈ (0, 1), and |h″| ≤ (2−m)/2.
//!
//! * m > 1: h rises with a slope between min(1, m−1) and max(1, m−1); one value brackets the only root.
//! * m = 1: h rises to a limit; the root exists only if the limit is positive, else f = 0 is the minimiser.
//! * m < 1: f = 0 is always a local minimum and h may have any number of roots. The bounds of h′ and h″ prove,
//!   interval by interval, that there is no root or that h is monotone, so that all roots are found and
//!   counted. The best of those where h rises, and f = 0, is the global minimiser.

use crate::path::{Curve, CurvePoint, Path, Remembered};

/// A stationary point of the m-power problem other than f = 0.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Stationary {
    /// log μ.
    pub log_ridge: f64,
    /// Whether it is a local minimum of the objective (h rises there); otherwise a local maximum along the path.
    pub is_minimum: bool,
}

impl Stationary {
    /// The effective ridge μ; the largest number there is where it lies beyond.
    pub fn ridge(&self) -> f64 {
        libm::exp(self.log_ridge).min(f64::MAX)
    }
}

/// All stationary points, and the one that is the global minimum.
#[derive(Debug, Clone, PartialEq)]
pub struct Minimum {
    /// log μ of the minimiser; `None` when it is the zero function.
    pub log_ridge: Option<f64>,
    /// All stationary points other than f = 0, in the order of their ridges.
    pub stationary: Vec<Stationary>,
    /// The relative error of μ in its equation, |h/h′|.
    pub root_residual: f64,
    /// h′ at the minimiser: how firmly μ is determined.
    pub firmness: f64,
    /// Whether the count of stationary points is proved (it is not where two of them meet to rounding).
    pub is_counted: bool,
}

/// The minimiser of the m-power problem on a ridge path, for any exponent m > 0 and λ > 0.
///
/// ```
/// use mercer::spectrum::power::minimum;
/// use mercer::spectrum::Path;
///
/// // One eigenvalue 1 with z = 2, W = 1, exponent 1: μ = λ/(4 − λ), and f = 0 from λ = 4 on.
/// let path = Path::from_parts(&[1.0], &[2.0], 1.0);
/// assert!((minimum(&path, 1.0, 1.0).log_ridge.unwrap().exp() - 1.0 / 3.0).abs() < 1e-14);
/// assert_eq!(minimum(&path, 1.0, 5.0).log_ridge, None);
/// ```
pub fn minimum(path: &Path, exponent: f64, lambda: f64) -> Minimum {
    minimise(&mut path.clone(), exponent, libm::log(lambda), None)
}

/// The same on any ridge path, such as that of the rows without one of them, from the logarithm of λ.
#[doc(hidden)]
pub fn minimum_on(curve: &mut impl Curve, exponent: f64, log_lambda: f64) -> Minimum {
    minimise(&mut Remembered::new(curve), exponent, log_lambda, None)
}

/// How far the minimiser may move, as a share of ‖f‖ + δ, because its ridge belongs to a norm that is only known to within δ:
/// e^Δ − 1, Δ ≤ (|2 − m|·|log(1 − δ/‖f‖)| + r)/min(1, m − 1), for m > 1, with the share δ/‖f‖ and r the residual of the ridge in its
/// equation. With several targets that share a ridge, f is all of them: ‖f‖² = Σ‖f_t‖², δ² = Σδ_t².
pub(crate) fn shift_of_ridge(exponent: f64, share: f64, root_residual: f64) -> f64 {
    if exponent == 2.0 {
        0.0
    } else if share < 1.0 {
        let open = (2.0 - exponent).abs() * -libm::log1p(-share) + root_residual;
        libm::expm1(open / (exponent - 1.0).min(1.0))
    } else {
        f64::INFINITY
    }
}

/// Finds the minimiser of the m-power problem on a path. `guess` may be any number; a good one saves steps.
pub(crate) fn minimise(curve: &mut impl Curve, exponent: f64, log_lambda: f64, guess: Option<f64>) -> Minimum {
    let none =
        || Minimum { log_ridge: None, stationary: Vec::new(), root_residual: 0.0, firmness: 1.0, is_counted: true };
    // Nothing in the target that any f of the space could follow.
    if curve.log_energy() == f64::NEG_INFINITY {
        return none();
    }
    if exponent == 2.0 {
        let only = Stationary { log_ridge: log_lambda, is_minimum: true };
        return Minimum { log_ridge: Some(log_lambda), stationary: vec![only], ..none() };
    }
    let mut search = Search { curve, exponent, constant: log_lambda + libm::log(exponent / 2.0) };
    let mut is_counted = true;
    let roots = if exponent > 1.0 {
        search.single_root(guess.unwrap_or(log_lambda)).into_iter().collect()
    } else if exponent == 1.0 {
        search.root_below_limit(guess).into_iter().collect()
    } else {
        let found = search.all_roots();
        is_counted = found.is_complete;
        found.roots
    };
    let stationary: Vec<Stationary> =
        roots.iter().map(|root| Stationary { log_ridge: root.t, is_minimum: root.slope > 0.0 }).collect();
    let mut best: Option<(f64, &Root)> = None;
    for root in roots.iter().filter(|root| root.slope > 0.0) {
        // For m > 1 there is one root, and nothing to compare it with.
        let objective = if exponent > 1.0 { 0.0 } else { search.objective(root.t) };
        if best.is_none_or(|(lowest, _)| objective < lowest) {
            best = Some((objective, root));
        }
    }
    // For m > 1 a root is the minimiser: the penalty is flat at 0.
    let zero = if exponent > 1.0 { f64::INFINITY } else { search.curve.zero_train() };
    match best {
        Some((objective, root)) if objective < zero => Minimum {
            log_ridge: Some(root.t),
            root_residual: root.residual,
            firmness: root.slope,
            stationary,
            is_counted,
        },
        _ => Minimum { stationary, is_counted, ..none() },
    }
}

/// A root of h.
#[derive(Debug, Clone, Copy)]
struct Root {
    t: f64,
    slope: f64,
    residual: f64,
}

struct AllRoots {
    roots: Vec<Root>,
    is_complete: bool,
}

struct Search<'a, C: Curve> {
    curve: &'a mut C,
    exponent: f64,
    /// log(λm/2).
    constant: f64,
}

impl<C: Curve> Search<'_, C> {
    fn h(&self, t: f64, point: &CurvePoint) -> f64 {
        t - self.constant + (1.0 - self.exponent / 2.0) * point.log_norm
    }

    /// h and h′.
    fn at(&mut self, t: f64) -> (f64, f64) {
        let point = self.curve.at(t);
        (self.h(t, &point), 1.0 - (2.0 - self.exponent) * point.slope)
    }

    /// Size of the terms that h is made of: its rounding error in units of epsilon.
    fn rounding(&self, t: f64, h: f64) -> f64 {
        let third = h - t + self.constant;
        4.0 * f64::EPSILON * (1.0 + t.abs() + self.constant.abs() + third.abs())
    }

    /// R + λ‖f‖ᵐ at a stationary point, where λ‖f‖ᵐ = (2/m) μ N; in the curve's units.
    fn objective(&mut self, t: f64) -> f64 {
        let point = self.curve.at(t);
        point.train + 2.0 / self.exponent * libm::exp(t + point.log_norm - self.curve.log_unit())
    }

    /// The root of a rising h, m > 1: h(t₀) and the bounds of the slope give the bracket.
    /// None if the norm is 0 to rounding on the whole path: then there is no f to penalise.
    fn single_root(&mut self, start: f64) -> Option<Root> {
        let (gentle, steep) = (1.0_f64.min(self.exponent - 1.0), 1.0_f64.max(self.exponent - 1.0));
        let (h, slope) = self.at(start);
        if !h.is_finite() {
            return None;
        }
        let slack = self.rounding(start, h);
        let (near, far) = (start - h / steep, start - h / gentle);
        let (low, high) = (near.min(far) - slack / gentle, near.max(far) + slack / gentle);
        Some(self.polish_rising(low, high, start - h / slope))
    }

    /// m = 1: h rises towards a limit, and has a root only if that is positive.
    fn root_below_limit(&mut self, guess: Option<f64>) -> Option<Root> {
        let log_weight = libm::log(self.curve.weight_sum());
        let limit = -self.constant + 0.5 * self.curve.log_tail() - log_weight;
        if limit <= 0.0 {
            return None;
        }
        let low = self.lowest();
        let mut high = guess.unwrap_or(low).max(low) + 1.0;
        if !self.at(high).0.is_finite() {
            return None;
        }
        let mut step = 1.0;
        while self.at(high).0 <= 0.0 {
            step *= 2.0;
            high += step;
            // The limit is positive, but by less than rounding: the root is out of reach and f is 0 there.
            if step > 1e4 {
                return None;
            }
        }
        Some(self.polish_rising(low, high, guess.unwrap_or(high)))
    }

    /// Below this t, h is negative for certain: N ≤ N(0), and N ≤ ‖y‖²/(4γ).
    fn lowest(&self) -> f64 {
        let half = 1.0 - self.exponent / 2.0;
        let bound = half * (self.curve.log_energy() - libm::log(4.0 * self.curve.weight_sum())) - self.constant;
        let general = -2.0 * bound / self.exponent;
        let (_, log_smallest) = self.curve.log_spread();
        // N(0) = Σ z²/d ≤ ‖y‖²/d_min.
        let from_norm = self.constant - half * (self.curve.log_energy() - log_smallest);
        let lowest = if log_smallest.is_finite() { general.max(from_norm) } else { general };
        lowest - 1e-6 * (1.0 + lowest.abs())
    }

    /// All roots for m < 1.
    fn all_roots(&mut self) -> AllRoots {
        let m = self.exponent;
        let log_weight = libm::log(self.curve.weight_sum());
        let (log_largest, log_smallest) = self.curve.log_spread();
        let low = self.lowest();
        // s ≥ 1 − d_max/γ: past this t, h falls for certain.
        let falling = log_largest - log_weight + libm::log((2.0 - m) / (1.0 - m)) + 1e-9;
        // s ≤ γ/(d_min + γ): before this t, h rises for certain (and starts negative). Like `falling` it does
        // not depend on λ, so that a search at another λ asks for the same points.
        let rising =
            if log_smallest.is_finite() { log_smallest - log_weight + libm::log(1.0 / (1.0 - m)) - 1e-9 } else { low };
        let mut found = AllRoots { roots: Vec::new(), is_complete: true };
        if falling <= low || !self.at(falling).0.is_finite() {
            // h < 0 at `low` and falls from there on; or the norm is 0 to rounding.
            return found;
        }
        let rising = rising.min(falling);
        if rising > low && self.at(rising).0 > 0.0 {
            found.roots.push(self.polish(low, rising, rising));
        }
        self.isolate(rising, falling, low, &mut found);
        let (h, slope) = self.at(falling);
        if h > 0.0 {
            // The slope out there is at most (1 − m) in size and at least what it is here.
            let mut high = falling + (h / (-slope).max(1e-300)).max(1.0);
            while self.at(high).0 > 0.0 {
                high += high - falling;
            }
            found.roots.push(self.polish(falling, high, high));
        }
        found
    }

    /// Roots in [low, high], by proof: an interval has none, or h is monotone on it, or it is halved. Below
    /// `negative`, h is known to be negative.
    fn isolate(&mut self, low: f64, high: f64, negative: f64, found: &mut AllRoots) {
        const NARROWEST: f64 = 1e-7;
        if high <= low {
            return;
        }
        let bend = (2.0 - self.exponent) / 2.0;
        let mut sign = low > negative && self.at(low).0 > 0.0;
        // Depth first, left to right, so that roots come in order; `sign` is that of h at the left end.
        let mut stack = vec![(low, high)];
        while let Some((a, b)) = stack.pop() {
            if b <= negative {
                continue;
            }
            let (centre, radius) = (0.5 * (a + b), 0.5 * (b - a));
            let (h, slope) = self.at(centre);
            let slack = self.rounding(centre, h);
            let reach = slope.abs() * radius + 0.5 * bend * radius * radius + slack;
            if h.abs() > reach {
                // The whole interval has the sign of its centre.
                sign = h > 0.0;
                continue;
            }
            let is_monotone = slope.abs() > bend * radius;
            if !is_monotone && radius > NARROWEST {
                stack.push((centre, b));
                stack.push((a, centre));
                continue;
            }
            let right = self.at(b).0 > 0.0;
            if right != sign {
                found.roots.push(self.polish(a, b, centre));
            } else if !is_monotone {
                // Two stationary points that meet to rounding, or miss each other by less.
                found.is_complete = false;
            }
            sign = right;
        }
    }

    /// Newton's method inside a bracket that shrinks; ends at rounding level.
    fn polish(&mut self, low: f64, high: f64, start: f64) -> Root {
        let rises = self.at(low).0 <= 0.0;
        self.polish_where(rises, low, high, start)
    }

    /// The same where h is known to rise.
    fn polish_rising(&mut self, low: f64, high: f64, start: f64) -> Root {
        self.polish_where(true, low, high, start)
    }

    fn polish_where(&mut self, rises: bool, mut low: f64, mut high: f64, start: f64) -> Root {
        let mut t = start.clamp(low, high);
        let mut best = Root { t, slope: 1.0, residual: f64::INFINITY };
        for step in 0..200 {
            let (h, slope) = self.at(t);
            let residual = (h / slope).abs();
            let better = residual < best.residual;
            if better {
                best = Root { t, slope, residual };
            }
            let wanted = self.curve.resolution();
            let resolution = wanted.unwrap_or(2.0) * f64::EPSILON * (1.0 + t.abs());
            let is_enough = residual <= resolution && (!better || wanted.is_some());
            if h == 0.0 || is_enough || high - low <= resolution {
                break;
            }
            if (h > 0.0) == rises {
                high = t;
            } else {
                low = t;
            }
            let newton = t - h / slope;
            // |h″| ≤ |2 − m|/2 bounds what a step of Newton's leaves: where that is enough, nobody need look.
            let left = 0.25 * (2.0 - self.exponent).abs() * residual * residual / slope.abs();
            if wanted.is_some() && newton > low && newton < high && left <= 0.25 * resolution {
                return Root { t: newton, slope, residual: left };
            }
            // Every fourth step halves the bracket if Newton has not settled, so that it must end.
            let inside = newton > low && newton < high;
            let next = if inside && (step % 4 != 3 || residual < 1e-3) { newton } else { 0.5 * (low + high) };
            if next == t {
                break;
            }
            t = next;
        }
        best
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One eigenvalue: N = d e/(d + γ)², everything by hand.
    #[test]
    fn a_single_direction_is_solved_as_by_hand() {
        // d = 1, e = 4, W = 1, m = 1: μ = (λ/2) N^(−1/2) = (λ/2)(1 + μ)/2 ⇒ μ = λ/(4 − λ), none for λ ≥ 4.
        let mut path = Path::from_parts(&[1.0], &[2.0], 1.0);
        let minimum = minimise(&mut path, 1.0, 1.0_f64.ln(), None);
        assert!((minimum.log_ridge.unwrap().exp() - 1.0 / 3.0).abs() < 1e-14);
        assert_eq!(minimum.stationary.len(), 1);
        let none = minimise(&mut path, 1.0, 4.5_f64.ln(), None);
        assert!(none.log_ridge.is_none() && none.stationary.is_empty());
        // m = 3: μ = (3λ/2) N^½ = (3λ/2)·2/(1 + μ) ⇒ μ² + μ = 3λ.
        let cubic = minimise(&mut path, 3.0, 4.0_f64.ln(), None);
        assert!((cubic.log_ridge.unwrap().exp() - 3.0).abs() < 1e-13);
    }

    #[test]
    fn two_stationary_points_below_exponent_one() {
        // m = ½ with a small λ: a local minimum at small μ and a local maximum at large μ.
        let mut path = Path::from_parts(&[1.0], &[2.0], 1.0);
        let minimum = minimise(&mut path, 0.5, 0.1_f64.ln(), None);
        assert_eq!(minimum.stationary.len(), 2);
        assert!(minimum.stationary[0].is_minimum && !minimum.stationary[1].is_minimum);
        assert!(minimum.log_ridge.is_some());
        let large = minimise(&mut path, 0.5, 100.0_f64.ln(), None);
        assert!(large.log_ridge.is_none());
    }

    #[test]
    fn an_empty_target_gives_the_zero_function() {
        for exponent in [0.5, 1.0, 1.5, 2.0, 3.0] {
            let mut path = Path::from_parts(&[1.0, 0.5], &[0.0, 0.0], 2.0);
            assert!(minimise(&mut path, exponent, 0.0, None).log_ridge.is_none());
        }
    }
}
