//! Quantiles of the normal distribution.

/// z with P(|N(0, 1)| ≤ z) = level: erfc(z/√2) = 1 − level, by bisection.
pub(super) fn two_sided(level: f64) -> f64 {
    let (mut low, mut high) = (0.0, 40.0);
    // Halved until nothing lies between.
    for _ in 0..80 {
        let middle = 0.5 * (low + high);
        if libm::erfc(middle / std::f64::consts::SQRT_2) > 1.0 - level {
            low = middle;
        } else {
            high = middle;
        }
    }
    0.5 * (low + high)
}

#[cfg(test)]
mod tests {
    use super::two_sided;

    #[test]
    fn quantiles_are_those_of_tables() {
        for (level, z) in
            [(0.9, 1.644_853_626_951_472_7), (0.95, 1.959_963_984_540_054), (0.5, 0.674_489_750_196_081_7)]
        {
            assert!((two_sided(level) - z).abs() < 1e-12, "{level}");
        }
    }
}
