//! Data sets from formulas, the same on every machine for a given seed (ChaCha8).

use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;
use rand_distr::{Distribution, StandardNormal};

use mercer::data::{Column, Frame};
use mercer::error::{Error, Result, nearest};

/// A data set that can be generated.
#[derive(Debug, Clone, Copy)]
pub struct Generator {
    /// Its name.
    pub name: &'static str,
    /// What it is, in a line.
    pub about: &'static str,
    features: usize,
    draw: fn(&mut dyn FnMut() -> f64, &mut [f64]),
    value: fn(&[f64]) -> f64,
}

/// All generators.
pub const GENERATORS: &[Generator] = &[
    Generator {
        name: "friedman1",
        about: "10 sin(π x1 x2) + 20 (x3 − ½)² + 10 x4 + 5 x5; ten features, uniform on [0, 1], five of no use",
        features: 10,
        draw: |uniform, x| x.iter_mut().for_each(|v| *v = uniform()),
        value: |x| {
            10.0 * libm::sin(std::f64::consts::PI * x[0] * x[1])
                + 20.0 * (x[2] - 0.5) * (x[2] - 0.5)
                + 10.0 * x[3]
                + 5.0 * x[4]
        },
    },
    Generator {
        name: "friedman2",
        about: "√(x1² + (x2 x3 − 1/(x2 x4))²); the impedance of a circuit, four features",
        features: 4,
        draw: circuit,
        value: |x| libm::sqrt(x[0] * x[0] + reactance(x) * reactance(x)),
    },
    Generator {
        name: "friedman3",
        about: "atan((x2 x3 − 1/(x2 x4))/x1); the phase of a circuit, four features",
        features: 4,
        draw: circuit,
        value: |x| libm::atan(reactance(x) / x[0]),
    },
    Generator {
        name: "sinc",
        about: "sin(x)/x on [−10, 10], one feature",
        features: 1,
        draw: |uniform, x| x[0] = 20.0 * uniform() - 10.0,
        value: |x| if x[0] == 0.0 { 1.0 } else { libm::sin(x[0]) / x[0] },
    },
    Generator {
        name: "quadratic",
        about: "1 − 2x + 3x² on [−1, 1], one feature",
        features: 1,
        draw: |uniform, x| x[0] = 2.0 * uniform() - 1.0,
        value: |x| 1.0 + x[0] * (-2.0 + 3.0 * x[0]),
    },
    Generator {
        name: "square",
        about: "x² on [−1, 1], one feature",
        features: 1,
        draw: |uniform, x| x[0] = 2.0 * uniform() - 1.0,
        value: |x| x[0] * x[0],
    },
];

/// Friedman's ranges of resistance, frequency, inductance and capacitance.
fn circuit(uniform: &mut dyn FnMut() -> f64, x: &mut [f64]) {
    let pi = std::f64::consts::PI;
    x[0] = 100.0 * uniform();
    x[1] = pi * (40.0 + 520.0 * uniform());
    x[2] = uniform();
    x[3] = 1.0 + 10.0 * uniform();
}

fn reactance(x: &[f64]) -> f64 {
    x[1] * x[2] - 1.0 / (x[1] * x[3])
}

/// The generator of this name.
pub fn generator(name: &str) -> Result<&'static Generator> {
    GENERATORS.iter().find(|generator| generator.name == name).ok_or_else(|| Error::UnknownName {
        axis: "data set",
        name: name.to_owned(),
        known: GENERATORS.iter().map(|generator| generator.name.to_owned()).collect(),
        suggestion: nearest(name, GENERATORS.iter().map(|generator| generator.name)),
    })
}

impl Generator {
    /// A table of `rows` rows with columns `x1`, `x2`, … and `y` = value + `noise` · standard normal.
    pub fn frame(&self, rows: usize, noise: f64, seed: u64) -> Result<Frame> {
        if !(noise >= 0.0 && noise.is_finite()) {
            return Err(Error::argument("noise", "finite and at least 0", noise));
        }
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let mut columns = vec![Vec::with_capacity(rows); self.features];
        let mut y = Vec::with_capacity(rows);
        let mut x = vec![0.0; self.features];
        for _ in 0..rows {
            (self.draw)(&mut || random.random::<f64>(), &mut x);
            let error: f64 = StandardNormal.sample(&mut random);
            y.push((self.value)(&x) + noise * error);
            columns.iter_mut().zip(&x).for_each(|(column, v)| column.push(*v));
        }
        let mut frame = Frame::new(rows);
        for (j, column) in columns.into_iter().enumerate() {
            frame.push(format!("x{}", j + 1), Column::Number(column))?;
        }
        frame.push("y", Column::Number(y))?;
        Ok(frame)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_by_hand() {
        let value = |name: &str, x: &[f64]| (generator(name).unwrap().value)(x);
        let mut x = [0.5; 10];
        x[1] = 1.0;
        assert!((value("friedman1", &x) - 17.5).abs() < 1e-12);
        assert_eq!(value("sinc", &[0.0]), 1.0);
        assert_eq!(value("quadratic", &[1.0]), 2.0);
        assert!((value("friedman3", &[1.0, 1.0, 2.0, 1.0]) - std::f64::consts::FRAC_PI_4).abs() < 1e-15);
        assert!(generator("friedman").is_err());
    }

    #[test]
    fn a_seed_gives_the_same_numbers_for_ever() {
        let frame = generator("sinc").unwrap().frame(2, 0.1, 7).unwrap();
        let Column::Number(x) = frame.column("x1").unwrap() else { panic!("numbers") };
        let again = generator("sinc").unwrap().frame(2, 0.1, 7).unwrap();
        assert_eq!(&frame, &again);
        assert!(x.iter().all(|v| (-10.0..10.0).contains(v)));
    }
}
