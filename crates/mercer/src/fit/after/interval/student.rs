//! Quantiles of Student's distribution.

/// Degrees of freedom from which it is the normal distribution to rounding.
const NORMAL: f64 = 1e12;

/// t with P(|T| ≤ t) = level for ν > 0 degrees of freedom, by bisection.
pub(super) fn two_sided(level: f64, freedom: f64) -> f64 {
    let outside = |t: f64| match freedom < NORMAL {
        // P(|T| > t) = I_x(ν/2, ½) at x = ν/(ν + t²).
        true => incomplete_beta(freedom / 2.0, 0.5, freedom / (freedom + t * t), t * t / (freedom + t * t)),
        false => libm::erfc(t / std::f64::consts::SQRT_2),
    };
    let (mut low, mut high) = (0.0, 1.0);
    while outside(high) > 1.0 - level && high < 1e300 {
        (low, high) = (high, 2.0 * high);
    }
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        if outside(middle) > 1.0 - level {
            low = middle;
        } else {
            high = middle;
        }
    }
    0.5 * (low + high)
}

/// I_x(a, b), the regularised incomplete beta function, with y = 1 − x: the continued fraction of Didonato and Morris on the side of
/// the mean where it converges fast.
fn incomplete_beta(a: f64, b: f64, x: f64, y: f64) -> f64 {
    if x <= 0.0 || y <= 0.0 {
        return if x <= 0.0 { 0.0 } else { 1.0 };
    }
    let log_front = a * libm::log(x) + b * libm::log(y) - log_beta(a, b);
    if x < (a + 1.0) / (a + b + 2.0) {
        libm::exp(log_front) * fraction(a, b, x) / a
    } else {
        1.0 - libm::exp(log_front) * fraction(b, a, y) / b
    }
}

/// log B(a, b); for large a, log Γ(a) − log Γ(a + b) without the difference of large numbers.
fn log_beta(a: f64, b: f64) -> f64 {
    if a < 100.0 {
        return libm::lgamma(a) + libm::lgamma(b) - libm::lgamma(a + b);
    }
    // Stirling's series of both, the leading terms combined.
    let rest = |x: f64| 1.0 / (12.0 * x) - 1.0 / (360.0 * x * x * x) + 1.0 / (1260.0 * x.powi(5));
    let c = a + b;
    libm::lgamma(b) - (a - 0.5) * libm::log1p(b / a) - b * libm::log(c) + b + rest(a) - rest(c)
}

/// The continued fraction of I_x(a, b), by Lentz's method.
fn fraction(a: f64, b: f64, x: f64) -> f64 {
    let away = |v: f64| if v.abs() < 1e-300 { 1e-300 } else { v };
    let mut c = 1.0;
    let mut d = 1.0 / away(1.0 - (a + b) * x / (a + 1.0));
    let mut h = d;
    for m in 1..10_000 {
        let m = f64::from(m);
        for step in [
            m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0)),
        ] {
            d = 1.0 / away(1.0 + step * d);
            c = away(1.0 + step / c);
            h *= c * d;
        }
        if (c * d - 1.0).abs() < 4.0 * f64::EPSILON {
            break;
        }
    }
    h
}

#[cfg(test)]
mod tests {
    use super::two_sided;

    #[test]
    fn quantiles_are_those_of_tables() {
        let infinity = f64::INFINITY;
        for (level, freedom, t) in [
            (0.9, infinity, 1.644_853_626_951_472_7),
            (0.95, infinity, 1.959_963_984_540_054),
            (0.5, infinity, 0.674_489_750_196_081_7),
            // tan(0.45π) and 0.9·√(2/(1 − 0.81)) are the closed forms at 1 and 2 degrees of freedom.
            (0.9, 1.0, 6.313_751_514_675_041),
            (0.9, 2.0, 0.9 * (2.0_f64 / 0.19).sqrt()),
            (0.95, 10.0, 2.228_138_851_986_275),
            (0.99, 30.0, 2.749_995_653_567_230_7),
        ] {
            let found = two_sided(level, freedom);
            assert!((found / t - 1.0).abs() < 1e-12, "{level} {freedom}: {found}");
        }
        // Close to the normal one, from which it differs by z(z² + 1)/(4ν).
        let (z, freedom) = (1.959_963_984_540_054_f64, 1e6);
        let expected = z + z * (z * z + 1.0) / (4.0 * freedom);
        assert!((two_sided(0.95, freedom) - expected).abs() < 1e-11);
    }
}
