//! Rows of a multinomial problem. With p = softmax(v) a row's loss is −ln p_y and its negated slope a = e_y − p. A slope keeps
//! 1 − p_y as the sum of the other shares: neither losses nor entropies of rows that are all but certain cancel.

use crate::linalg::{Matrix, double};
use crate::term::loss::margin::entropy_term;

/// −ln p_y of a row; its values become the slopes e_y − p.
pub(crate) fn loss_and_slopes(row: &mut [f64], code: usize) -> f64 {
    let own = row[code];
    let above = row.iter().fold(0.0, |max: f64, v| max.max(v - own));
    let mut others = 0.0;
    for (c, v) in row.iter_mut().enumerate() {
        *v = if c == code { 0.0 } else { libm::exp(*v - own - above) };
        others += *v;
    }
    let sum = libm::exp(-above) + others;
    row.iter_mut().for_each(|v| *v /= -sum);
    row[code] = others / sum;
    if above == 0.0 { libm::log1p(others) } else { above + libm::log(sum) }
}

/// −Σ p ln p of the shares e_y − a.
pub(crate) fn entropy(slopes: &[f64], code: usize) -> f64 {
    let others: f64 = slopes.iter().enumerate().filter(|(c, _)| *c != code).map(|(_, a)| entropy_term(-a)).sum();
    let missing = slopes[code];
    let own = if missing < 1.0 { (1.0 - missing) * libm::log1p(-missing) } else { 0.0 };
    -(others + own)
}

/// Mixes the shares of every row with as little as possible of one distribution, so that Σ w a is 0 in every class: the dual point
/// that an offset asks for. A class without weight must have no row.
pub(crate) fn make_feasible(slopes: &mut Matrix, codes: &[usize], weights: Option<&[f64]>) {
    let weight = |i: usize| weights.map_or(1.0, |w| w[i]);
    let classes = slopes.cols();
    let surplus: Vec<f64> = (0..classes)
        .map(|c| double::sum(slopes.col(c).iter().enumerate().map(|(i, a)| weight(i) * a)).value())
        .collect();
    let mut counts = vec![0.0; classes];
    codes.iter().enumerate().for_each(|(i, code)| counts[*code] += weight(i));
    let total: f64 = counts.iter().sum();
    let theta = surplus.iter().zip(&counts).map(|(s, n)| if *s < 0.0 { -s / (n - s) } else { 0.0 }).fold(0.0, f64::max);
    if !(theta > 0.0) {
        return;
    }
    let mixed: Vec<f64> =
        surplus.iter().zip(&counts).map(|(s, n)| ((theta * n + (1.0 - theta) * s) / total).max(0.0)).collect();
    for (c, own) in mixed.iter().enumerate() {
        let others: f64 = mixed.iter().enumerate().filter(|(d, _)| *d != c).map(|(_, m)| m).sum();
        for (a, code) in slopes.col_mut(c).iter_mut().zip(codes) {
            *a = (1.0 - theta) * *a + if *code == c { others } else { -own };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn losses_slopes_and_entropies_are_those_of_softmax() {
        for values in [[0.3, -1.2, 2.0], [50.0, 0.0, -3.0], [-800.0, 0.0, 800.0]] {
            for code in 0..3 {
                let largest = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                let shares: Vec<f64> = values.iter().map(|v| (v - largest).exp()).collect();
                let sum: f64 = shares.iter().sum();
                let mut row = values;
                let loss = loss_and_slopes(&mut row, code);
                let expected = largest + sum.ln() - values[code];
                assert!((loss - expected).abs() <= 1e-14 * expected.max(1.0), "{values:?} {code}: {loss} {expected}");
                let mut plain = 0.0;
                for c in 0..3 {
                    let p = shares[c] / sum;
                    assert!((row[c] - (f64::from(c == code) - p)).abs() < 1e-15);
                    plain -= if p > 0.0 { p * p.ln() } else { 0.0 };
                }
                assert!((entropy(&row, code) - plain).abs() < 1e-14, "{values:?} {code}");
            }
        }
        // The loss of a certain row is e⁻⁴⁰, which 1 − p cannot tell from 0.
        assert!((loss_and_slopes(&mut [40.0, 0.0], 0) / (-40.0_f64).exp() - 1.0).abs() < 1e-15);
    }

    #[test]
    fn mixed_shares_are_distributions_with_sums_of_zero() {
        let codes = [0, 1, 2, 1, 0, 2, 2];
        let weights = [1.0, 2.0, 0.5, 1.0, 3.0, 1.0, 1.0];
        let mut slopes = Matrix::zeros(7, 3);
        for (i, code) in codes.iter().enumerate() {
            let mut row = [0.3 * i as f64, 1.0, -0.2 * i as f64];
            loss_and_slopes(&mut row, *code);
            (0..3).for_each(|c| slopes.set(i, c, row[c]));
        }
        make_feasible(&mut slopes, &codes, Some(&weights));
        for c in 0..3 {
            let sum: f64 = (0..7).map(|i| weights[i] * slopes.get(i, c)).sum();
            assert!(sum.abs() < 1e-14, "{c}: {sum}");
        }
        for (i, code) in codes.iter().enumerate() {
            let shares: Vec<f64> = (0..3).map(|c| f64::from(c == *code) - slopes.get(i, c)).collect();
            assert!(shares.iter().all(|p| (-1e-15..=1.0).contains(p)));
            assert!((shares.iter().sum::<f64>() - 1.0).abs() < 1e-14);
        }
    }
}
