//! A training set with everything that maps between algorithms need, and the fits that they choose on it.

use super::algorithm::Algorithm;
use super::map::{self, Facts, Image, Place};
use mercer::spectrum::{Curve, Path, Spectrum, Target};
use mercer::{Error, Result};

/// Training rows in the coordinates of their decomposition.
#[derive(Debug)]
pub struct TrainingSet<'a> {
    spectrum: &'a Spectrum,
    y: &'a [f64],
    target: Target,
    path: Path,
    facts: Facts,
}

/// How well two algorithms agree where one was told the image of the other's parameter.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Agreement {
    /// Both log ridges, each from a root search of its own.
    pub log_ridges: [f64; 2],
    /// ‖f_A‖.
    pub norm: f64,
    /// ‖f_A − f_B‖ in the Hilbert norm. Where B is a ridge there is no root to search and this says little; `back` does.
    pub distance: f64,
    /// |λ′/λ − 1|, λ′ the parameter of A that belongs to B's solution by A's formula, which no root search of A enters.
    pub back: f64,
    /// ‖α_A − α_B‖/‖α_A‖.
    pub coefficients: f64,
    /// A bound for what rounding makes of the distance, relative to the norm; large where a parameter hardly says which point
    /// is meant.
    pub rounding: f64,
}

impl<'a> TrainingSet<'a> {
    /// The rows of a decomposition with their target; `examples` is their number, repeated rows counted.
    pub fn new(spectrum: &'a Spectrum, y: &'a [f64], examples: f64) -> Result<Self> {
        let target = spectrum.target(y)?;
        let path = spectrum.path(&[&target]);
        let facts = Facts { examples, deviation: deviation(spectrum, y, None) };
        Ok(TrainingSet { spectrum, y, target, path, facts })
    }

    /// |Z|.
    pub fn examples(&self) -> f64 {
        self.facts.examples
    }

    /// The ridge path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The point of the path that an algorithm chooses at its parameter.
    pub fn place(&self, algorithm: Algorithm, parameter: f64) -> Result<Place> {
        map::place(algorithm, checked_log(algorithm, parameter)?, &mut self.path.clone(), self.facts)
    }

    /// The parameter at which an algorithm chooses this point.
    pub fn image(&self, algorithm: Algorithm, place: Place) -> Image {
        map::image(algorithm, place, &mut self.path.clone(), self.facts)
    }

    /// Φ: the parameter at which `to` gives the function that `from` gives at `parameter`.
    ///
    /// ```
    /// use mercer_lab::equivalence::{Algorithm, TrainingSet};
    /// use mercer::spectrum::Spectrum;
    /// use mercer::Matrix;
    ///
    /// // One row, k = 1, y = 2: exponent 1 at λ = 1 is the ridge λ/(4 − λ).
    /// let spectrum = Spectrum::from_gram(Matrix::from_fn(1, 1, |_, _| 1.0), None, false)?;
    /// let set = TrainingSet::new(&spectrum, &[2.0], 1.0)?;
    /// let image = set.map(Algorithm::parse("power(exponent=1)")?, Algorithm::RIDGE, 1.0)?;
    /// assert!((image.parameter().unwrap() - 1.0 / 3.0).abs() < 1e-14);
    /// # Ok::<(), mercer::Error>(())
    /// ```
    pub fn map(&self, from: Algorithm, to: Algorithm, parameter: f64) -> Result<Image> {
        Ok(self.image(to, self.place(from, parameter)?))
    }

    /// d log parameter/d log μ of an algorithm at a point.
    pub fn slope(&self, algorithm: Algorithm, log_ridge: f64) -> f64 {
        map::slope(algorithm, log_ridge, &mut self.path.clone())
    }

    /// Φ on the set without each of its rows, exactly and without refits.
    pub fn map_deletions(&self, from: Algorithm, to: Algorithm, parameter: f64) -> Result<Vec<Image>> {
        let log_parameter = checked_log(from, parameter)?;
        let rows = self.spectrum.for_each_deleted_row(&[&self.target], |mut row| {
            if !row.has_others() {
                return Ok(Image::Zero);
            }
            let left = row.row();
            let facts =
                Facts { examples: self.facts.examples - 1.0, deviation: deviation(self.spectrum, self.y, Some(left)) };
            let place = match map::place(from, log_parameter, &mut row, facts) {
                Ok(place) => place,
                // Morozov's bound is below every error without this row: no ridge is small enough.
                Err(_) => Place::Unbound,
            };
            Ok(map::image(to, place, &mut row, facts))
        });
        let rows = rows.filter(|rows| rows.len() > 1);
        let must = "at least two, so that something is left when one is deleted";
        rows.ok_or_else(|| Error::argument("the number of rows", must, self.spectrum.rows()))?.into_iter().collect()
    }

    /// The functions that two algorithms give at their parameters, each found by itself, and how far they are apart.
    /// Nothing where one of them is the zero function or has no ridge.
    pub fn agreement(&self, first: (Algorithm, f64), second: (Algorithm, f64)) -> Result<Option<Agreement>> {
        let (Place::Ridge(a), Place::Ridge(b)) = (self.place(first.0, first.1)?, self.place(second.0, second.1)?)
        else {
            return Ok(None);
        };
        let gamma = |t: f64| libm::exp(t + libm::log(self.spectrum.weight_sum()));
        let ((z, power), d) = (self.target.scaled(), self.spectrum.eigenvalues());
        let unit = libm::ldexp(1.0, power);
        let fit = |t: f64| z.iter().zip(d).map(|(z, d)| z / (d + gamma(t))).collect::<Vec<f64>>();
        let (u, v) = (fit(a), fit(b));
        let norm = |of: &dyn Fn(usize) -> f64| unit * (0..d.len()).map(|k| d[k] * of(k) * of(k)).sum::<f64>().sqrt();
        let (alpha, beta) = (self.spectrum.dual(&self.target, gamma(a)), self.spectrum.dual(&self.target, gamma(b)));
        let length = |of: &dyn Fn(usize) -> f64| (0..alpha.len()).map(|i| of(i) * of(i)).sum::<f64>().sqrt();
        Ok(Some(Agreement {
            log_ridges: [a, b],
            norm: norm(&|k| u[k]),
            distance: norm(&|k| u[k] - v[k]),
            back: {
                let own = map::log_parameter(first.0, b, &mut self.path.clone(), self.facts);
                libm::expm1(own - checked_log(first.0, first.1)?).abs()
            },
            coefficients: length(&|i| alpha[i] - beta[i]) / length(&|i| alpha[i]).max(f64::MIN_POSITIVE),
            rounding: self.rounding(first.0, a) + self.rounding(second.0, a),
        }))
    }

    /// What rounding of a parameter, a few units in its last place, does to f, relative to ‖f‖: the error of t is that of
    /// log p over its slope, and ‖df/dt‖ ≤ √s ‖f‖.
    fn rounding(&self, algorithm: Algorithm, t: f64) -> f64 {
        let logs = 1.0 + t.abs() + map::log_parameter(algorithm, t, &mut self.path.clone(), self.facts).abs();
        let units = (self.y.len() as f64).sqrt() + logs;
        let s = self.path.clone().at(t).slope;
        8.0 * f64::EPSILON * units * (1.0 + s.sqrt() / self.slope(algorithm, t).abs())
    }
}

fn checked_log(algorithm: Algorithm, parameter: f64) -> Result<f64> {
    // Below and above, products with the number of rows leave the range of f64.
    if (1e-290..=1e290).contains(&parameter) {
        return Ok(libm::log(parameter));
    }
    let name = format!("{} of {}", algorithm.symbol(), algorithm.spec());
    Err(Error::argument(name, "above 0 (from 1e-290 to 1e290)", parameter))
}

/// √((1/W) Σ w(y − ȳ)²), without a row if one is named.
fn deviation(spectrum: &Spectrum, y: &[f64], without: Option<usize>) -> f64 {
    let rows = || (0..y.len()).filter(|i| Some(*i) != without);
    let total: f64 = rows().map(|i| spectrum.weight(i)).sum();
    let mean = rows().map(|i| spectrum.weight(i) / total * y[i]).sum::<f64>();
    let deviation = rows().map(|i| spectrum.weight(i) / total * (y[i] - mean) * (y[i] - mean)).sum::<f64>().sqrt();
    // What rounding leaves of a constant is no deviation.
    let largest = rows().fold(0.0, |max: f64, i| max.max(y[i].abs()));
    if deviation > 16.0 * f64::EPSILON * largest { deviation } else { 0.0 }
}
