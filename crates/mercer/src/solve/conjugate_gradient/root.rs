//! The only root of h(t) = t − log(λm/2) + (1 − m/2) log N(eᵗ) for m > 1, from values that are dear: its slope lies between
//! min(1, m − 1) and max(1, m − 1), so that every value narrows the bracket.

pub(crate) struct RootSearch {
    exponent: f64,
    log_constant: f64,
    low: f64,
    high: f64,
    last: Option<(f64, f64)>,
}

impl RootSearch {
    pub fn new(exponent: f64, lambda: f64) -> Self {
        let log_constant = libm::log(lambda) + libm::log(exponent / 2.0);
        RootSearch { exponent, log_constant, low: f64::NEG_INFINITY, high: f64::INFINITY, last: None }
    }

    /// The same search where N is told in units of 2²ᵏ: that of a target in units of 2ᵏ.
    pub fn in_units(self, power: i32) -> Self {
        let log_unit = 2.0 * f64::from(power) * std::f64::consts::LN_2;
        RootSearch { log_constant: self.log_constant - (1.0 - self.exponent / 2.0) * log_unit, ..self }
    }

    /// The root if N were 1.
    pub fn start(&self) -> f64 {
        self.log_constant
    }

    /// h at t = log μ, given N.
    pub fn height(&self, t: f64, squared_norm: f64) -> f64 {
        t - self.log_constant + (1.0 - self.exponent / 2.0) * libm::log(squared_norm)
    }

    /// Where to look next.
    pub fn next(&mut self, t: f64, h: f64) -> f64 {
        let (flat, steep) = ((self.exponent - 1.0).min(1.0), (self.exponent - 1.0).max(1.0));
        let (near, far) = (t - h / steep, t - h / flat);
        self.low = self.low.max(near.min(far));
        self.high = self.high.min(near.max(far));
        let secant = self.last.filter(|(s, g)| *s != t && *g != h).map(|(s, g)| t - h * (t - s) / (h - g));
        let next = secant.filter(|n| *n > self.low && *n < self.high).unwrap_or(t - h / (0.5 * (flat + steep)));
        self.last = Some((t, h));
        if next >= self.low && next <= self.high { next } else { 0.5 * (self.low + self.high) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::path::Path;
    use crate::path::power;

    #[test]
    fn it_finds_what_the_spectrum_finds() {
        let path = Path::from_parts(&[3.0, 1.0, 0.01], &[1.0, -2.0, 0.7], 5.0);
        for exponent in [1.05, 1.5, 3.0, 20.0] {
            for lambda in [1e-6, 0.1, 100.0] {
                let wanted = power::minimum(&path, exponent, lambda).log_ridge.unwrap();
                let mut search = RootSearch::new(exponent, lambda);
                let mut t = libm::log(lambda);
                let mut steps = 0;
                loop {
                    let h = search.height(t, path.norm(libm::exp(t)).powi(2));
                    if h.abs() < 1e-12 || steps > 60 {
                        break;
                    }
                    t = search.next(t, h);
                    steps += 1;
                }
                assert!((t - wanted).abs() < 1e-9 && steps <= 60, "{exponent} {lambda}: {t} {wanted}");
                let in_units = RootSearch::new(exponent, lambda).in_units(-7);
                let square = path.norm(libm::exp(t)).powi(2);
                let (plain, scaled) = (search.height(t, square), in_units.height(t, libm::ldexp(square, 14)));
                assert!((plain - scaled).abs() < 1e-12, "{exponent} {lambda}: {plain} {scaled}");
            }
        }
    }
}
