//! Many numbers in one word: `0.1..2.9:0.1` (a step) for exponents, `1e-7..1e3:25` (a number of points, evenly spaced in
//! logarithms) for λ and for the numbers in the spec of a kernel or loss.

use crate::base::error::{Error, Result};

/// The most values that one range may have.
pub(crate) const MOST: usize = 10_000;

/// A number, or `low..high:step`, both ends included.
///
/// ```
/// assert_eq!(mercer::range::stepped("exponent", "1..2:0.5")?, vec![1.0, 1.5, 2.0]);
/// # Ok::<(), mercer::Error>(())
/// ```
pub fn stepped(what: &str, text: &str) -> Result<Vec<f64>> {
    let must = "a number or a range low..high:step such as 0.1..2.9:0.1";
    let refuse = || Error::argument(what, must, text);
    let Some((low, high, step)) = parts(text) else { return Ok(vec![number(text).ok_or_else(refuse)?]) };
    let (low, high, step) = match (number(low), number(high), number(step)) {
        (Some(low), Some(high), Some(step)) if low <= high && step > 0.0 => (low, high, step),
        _ => return Err(refuse()),
    };
    // A last step that misses `high` by rounding still counts.
    let count = ((high - low) / step + 1e-9).floor();
    if !(count < MOST as f64) {
        return Err(Error::argument(what, format!("a range of at most {MOST} values"), text));
    }
    // Values as a person would write them: 0.1 + 0.2 is 0.3.
    let digits = decimals(step).max(decimals(low)).min(15);
    Ok((0..=count as usize).map(|i| low + step * i as f64).map(|v| rounded(v, digits)).collect())
}

/// A number, or `low..high:points`, evenly spaced in logarithms, both ends included.
///
/// ```
/// assert_eq!(mercer::range::log_spaced("lambda", "0.01..1:3")?, vec![0.01, 0.1, 1.0]);
/// # Ok::<(), mercer::Error>(())
/// ```
pub fn log_spaced(what: &str, text: &str) -> Result<Vec<f64>> {
    let must = "a positive number or a range low..high:points such as 1e-7..1e3:25";
    let refuse = || Error::argument(what, must, text);
    let Some((low, high, points)) = parts(text) else { return Ok(vec![number(text).ok_or_else(refuse)?]) };
    let (low, high, points) = match (number(low), number(high), points.trim().parse::<usize>()) {
        (Some(low), Some(high), Ok(points)) if low > 0.0 && low < high && (2..=MOST).contains(&points) => {
            (low, high, points)
        }
        _ => return Err(refuse()),
    };
    let (from, to) = (libm::log10(low), libm::log10(high));
    let inner = |i: usize| libm::pow(10.0, from + (to - from) * i as f64 / (points - 1) as f64);
    Ok((0..points)
        .map(|i| {
            if i == 0 {
                low
            } else if i + 1 == points {
                high
            } else {
                significant(inner(i))
            }
        })
        .collect())
}

/// Refuses lists that do not rise.
pub(crate) fn check_rising(what: &str, values: &[f64]) -> Result<()> {
    match values.windows(2).find(|pair| pair[0] >= pair[1]) {
        Some(pair) => Err(Error::argument(what, "in rising order", format!("{} before {}", pair[0], pair[1]))),
        None => Ok(()),
    }
}

/// Refuses exponents and λ that are out of range, or do not rise.
pub(crate) fn check_powers(exponents: &[f64], lambdas: &[f64]) -> Result<()> {
    check_rising("exponents", exponents)?;
    if let Some(exponent) = exponents.iter().find(|m| !(1e-3..=1000.0).contains(*m)) {
        return Err(Error::argument("exponent", "above 0 (from 0.001 to 1000)", exponent));
    }
    // Below and above, λ n or its inverse leaves the range of f64.
    check_lambdas(lambdas, 1e-290..=1e290)
}

/// Refuses λ beyond what can be solved, or that do not rise.
pub(crate) fn check_lambdas(lambdas: &[f64], possible: std::ops::RangeInclusive<f64>) -> Result<()> {
    check_rising("lambdas", lambdas)?;
    match lambdas.iter().find(|lambda| !possible.contains(*lambda)) {
        Some(lambda) => {
            let must = format!("above 0 (from {:e} to {:e})", possible.start(), possible.end());
            Err(Error::argument("lambda", must, lambda))
        }
        None => Ok(()),
    }
}

fn parts(text: &str) -> Option<(&str, &str, &str)> {
    let (low, rest) = text.split_once("..")?;
    let (high, step) = rest.split_once(':').unwrap_or((rest, ""));
    Some((low, high, step))
}

fn number(text: &str) -> Option<f64> {
    text.trim().parse().ok().filter(|x: &f64| x.is_finite())
}

/// Digits after the point when written out.
fn decimals(x: f64) -> usize {
    x.to_string().split_once('.').map_or(0, |(_, digits)| digits.len())
}

fn rounded(x: f64, digits: usize) -> f64 {
    format!("{x:.digits$}").parse().unwrap_or(x)
}

/// Twelve significant digits: 0.1 instead of 0.09999999999999999.
fn significant(x: f64) -> f64 {
    format!("{x:.11e}").parse().unwrap_or(x)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_what_a_person_means() {
        let exponents = stepped("exponent", "0.1..2.9:0.1").unwrap();
        assert_eq!(exponents.len(), 29);
        assert_eq!((exponents[2], exponents[28]), (0.3, 2.9));
        assert_eq!(stepped("exponent", "1.5").unwrap(), vec![1.5]);
        let lambdas = log_spaced("lambda", "1e-7..1e3:25").unwrap();
        assert_eq!((lambdas.len(), lambdas[0], lambdas[24]), (25, 1e-7, 1e3));
        assert_eq!(log_spaced("lambda", "1e-2..1e2:5").unwrap(), vec![0.01, 0.1, 1.0, 10.0, 100.0]);
        for wrong in ["", "a..b:1", "1..2", "2..1:0.1", "1..2:0", "1..2:-1", "0..1e9:1e-9", "nan"] {
            assert!(stepped("exponent", wrong).is_err(), "{wrong}");
        }
        for wrong in ["0..1:3", "1..2:1", "1..2:x", "1..1e999:3"] {
            assert!(log_spaced("lambda", wrong).is_err(), "{wrong}");
        }
    }
}
