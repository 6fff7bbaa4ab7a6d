//! Surfaces as plain numbers, for a journal, and back.

use crate::choose::select::{Choice, Score, Surface};

/// Counts first, then the numbers; a missing standard error is NaN.
pub fn write(surfaces: &[Surface], score: f64) -> Vec<f64> {
    let pair = |score: &Score| [score.value, score.standard_error.unwrap_or(f64::NAN)];
    let mut out = vec![score, surfaces.len() as f64];
    for surface in surfaces {
        out.push(surface.targets.len() as f64);
        out.extend(surface.targets.iter().map(|target| *target as f64));
        out.push(surface.exponents.len() as f64);
        out.extend([surface.best.exponent, surface.best.lambda]);
        out.extend(pair(&surface.best.score));
        for (e, exponent) in surface.exponents.iter().enumerate() {
            out.extend([*exponent, surface.lambdas[e].len() as f64]);
            out.extend(&surface.lambdas[e]);
            out.extend(surface.scores[e].iter().flat_map(pair));
        }
    }
    out
}

/// `None` if the numbers are not what [`write`] wrote.
pub fn read(numbers: &[f64]) -> Option<(Vec<Surface>, f64)> {
    let mut rest = numbers.iter().copied();
    let count = |x: f64| (x >= 0.0 && x.fract() == 0.0 && x <= numbers.len() as f64).then_some(x as usize);
    let score_of = |value: f64, error: f64| Score { value, standard_error: (!error.is_nan()).then_some(error) };
    let total = rest.next()?;
    let mut surfaces = Vec::new();
    for _ in 0..count(rest.next()?)? {
        let shared = count(rest.next()?)?;
        let targets = (0..shared).map(|_| count(rest.next()?)).collect::<Option<Vec<usize>>>()?;
        let exponents = count(rest.next()?)?;
        let best = Choice { exponent: rest.next()?, lambda: rest.next()?, score: score_of(rest.next()?, rest.next()?) };
        let mut surface = Surface { targets, exponents: Vec::new(), lambdas: Vec::new(), scores: Vec::new(), best };
        for _ in 0..exponents {
            surface.exponents.push(rest.next()?);
            let lambdas = count(rest.next()?)?;
            surface.lambdas.push((0..lambdas).map(|_| rest.next()).collect::<Option<_>>()?);
            let scores = (0..lambdas).map(|_| Some(score_of(rest.next()?, rest.next()?)));
            surface.scores.push(scores.collect::<Option<_>>()?);
        }
        surfaces.push(surface);
    }
    rest.next().is_none().then_some((surfaces, total))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_is_read_and_nothing_else() {
        let score = |value: f64, standard_error: Option<f64>| Score { value, standard_error };
        let surface = Surface {
            targets: vec![0, 2],
            exponents: vec![1.5, 2.0],
            lambdas: vec![vec![0.1, 1.0], vec![0.5]],
            scores: vec![vec![score(3.0, Some(0.1)), score(2.0, None)], vec![score(f64::INFINITY, None)]],
            best: Choice { exponent: 1.5, lambda: 1.0, score: score(2.0, None) },
        };
        let numbers = write(std::slice::from_ref(&surface), 2.0);
        assert_eq!(read(&numbers), Some((vec![surface], 2.0)));
        assert_eq!(read(&numbers[..numbers.len() - 1]), None);
        assert_eq!(read(&[1.0, -1.0]), None);
        assert_eq!(read(&[1.0, 1e300]), None);
    }
}
