//! Probabilities for decision values: P(y = +1 | v) = 1/(1 + exp(−(slope·v + shift))), fitted to held-out values.
//!
//! Maximum likelihood with Platt's targets, (n₊+1)/(n₊+2) and 1/(n₋+2) instead of 1 and 0, so that no probability is
//! certain; two parameters, Newton's method with halved steps. Values that do not tell the labels apart get the slope 0, and every
//! row the share of label +1: values that differ by less than the solver leaves undetermined, or that fall where the label rises.
//! A slope of such noise would be huge, and meaningless for the model's own values.

use super::race::STATED;
use crate::term::loss::margin::sigmoid;

/// The slope and shift that fit held-out values `v` of labels ±1 best; rows with NaN do not count. `fitted` are the values of the
/// model itself.
pub(super) fn calibrate(values: &[f64], y: &[f64], weights: Option<&[f64]>, fitted: &[f64]) -> [f64; 2] {
    let weight = |i: usize| weights.map_or(1.0, |w| w[i]);
    let rows: Vec<(f64, f64, f64)> =
        (0..y.len()).filter(|i| values[*i].is_finite()).map(|i| (values[i], y[i], weight(i))).collect();
    let sum = |positive: bool| rows.iter().filter(|row| (row.1 > 0.0) == positive).map(|row| row.2).sum::<f64>();
    let (positive, negative) = (sum(true), sum(false));
    let goal = |y: f64| if y > 0.0 { (positive + 1.0) / (positive + 2.0) } else { 1.0 / (negative + 2.0) };
    let cost = |[slope, shift]: [f64; 2]| -> f64 {
        rows.iter()
            .map(|(v, y, w)| {
                let z = slope * v + shift;
                // −t ln p − (1−t) ln(1−p) = ln(1 + e⁻|z|) + max(z, 0) − t z.
                w * (libm::log1p(libm::exp(-z.abs())) + z.max(0.0) - goal(*y) * z)
            })
            .sum()
    };
    // Values are measured in units of their size, so that one step size suits both parameters.
    let size = rows.iter().fold(0.0, |max: f64, row| max.max(row.0.abs())).max(f64::MIN_POSITIVE);
    let total = positive + negative;
    let has_both = positive > 0.0 && negative > 0.0;
    let share =
        if has_both { positive / total } else { rows.iter().map(|(_, y, w)| w * goal(*y)).sum::<f64>() / total };
    let flat = [0.0, if total > 0.0 { libm::log(share / (1.0 - share)) } else { 0.0 }];
    if are_alike(values) || are_alike(fitted) {
        return flat;
    }
    let mut now = [1.0 / size, libm::log((positive + 1.0) / (negative + 1.0))];
    let mut current = cost(now);
    for _ in 0..100 {
        let (mut g, mut h) = ([0.0; 2], [[0.0; 2]; 2]);
        for (v, y, w) in &rows {
            let p = sigmoid(now[0] * v + now[1]);
            let x = [*v, 1.0];
            for a in 0..2 {
                g[a] += w * (p - goal(*y)) * x[a];
                for b in 0..2 {
                    h[a][b] += w * p * (1.0 - p) * x[a] * x[b];
                }
            }
        }
        let damping = 1e-12 * (h[0][0] / (size * size) + h[1][1]) + f64::MIN_POSITIVE;
        h[0][0] += damping * size * size;
        h[1][1] += damping;
        let det = h[0][0] * h[1][1] - h[0][1] * h[1][0];
        if !(det > 0.0) {
            break;
        }
        let step = [(h[1][1] * g[0] - h[0][1] * g[1]) / det, (h[0][0] * g[1] - h[1][0] * g[0]) / det];
        let mut share = 1.0;
        let mut moved = false;
        while share > 1e-10 {
            let next = [now[0] - share * step[0], now[1] - share * step[1]];
            let value = cost(next);
            if value < current {
                moved = current - value > 1e-13 * current.abs();
                (now, current) = (next, value);
                break;
            }
            share *= 0.5;
        }
        if !moved {
            break;
        }
    }
    if now[0] > 0.0 { now } else { flat }
}

/// Whether values are equal as far as the relative duality gap determines them at which points are judged.
fn are_alike(values: &[f64]) -> bool {
    let finite = values.iter().filter(|v| v.is_finite());
    let [low, high] = finite.fold([f64::INFINITY, f64::NEG_INFINITY], |[l, h], v| [l.min(*v), h.max(*v)]);
    !(high - low > 2.0 * STATED * high.abs().max(low.abs()))
}

#[cfg(test)]
mod tests {
    use super::calibrate;

    #[test]
    fn the_fitted_probabilities_balance() {
        // Labels with odds e^v: the likelihood equations Σ(p − t) = 0 and Σ(p − t)v = 0 hold at the answer.
        let values: Vec<f64> = (0..400).map(|i| f64::from(i % 40) / 5.0 - 4.0).collect();
        let y: Vec<f64> = (0..400)
            .map(|i| {
                let p = 1.0 / (1.0 + (-values[i]).exp());
                if ((i / 40) as f64 + 0.5) / 10.0 < p { 1.0 } else { -1.0 }
            })
            .collect();
        let [slope, shift] = calibrate(&values, &y, None, &values);
        assert!((slope - 1.0).abs() < 0.1 && shift.abs() < 0.1, "{slope} {shift}");
        let positive = y.iter().filter(|y| **y > 0.0).count() as f64;
        let negative = 400.0 - positive;
        let goal = |y: f64| if y > 0.0 { (positive + 1.0) / (positive + 2.0) } else { 1.0 / (negative + 2.0) };
        let off = |x: fn(f64) -> f64| -> f64 {
            values.iter().zip(&y).map(|(v, y)| (1.0 / (1.0 + (-(slope * v + shift)).exp()) - goal(*y)) * x(*v)).sum()
        };
        assert!(off(|_| 1.0).abs() < 1e-6 && off(|v| v).abs() < 1e-6);
        // One class only on one side: still finite.
        assert!(calibrate(&[1.0, 2.0], &[1.0, 1.0], None, &[1.0, 2.0]).iter().all(|x| x.is_finite()));
    }

    #[test]
    fn values_that_tell_nothing_give_the_share_of_the_labels() {
        let y: Vec<f64> = (0..200).map(|i| if i % 10 == 0 { 1.0 } else { -1.0 }).collect();
        // Noise of a solver about −1, of held-out rows or of the model; and values that fall where the label rises.
        let noise: Vec<f64> = (0..200).map(|i| -1.0 + 1e-6 * f64::from(i * 37 % 101)).collect();
        let falling: Vec<f64> = y.iter().enumerate().map(|(i, y)| -y + (i % 7) as f64).collect();
        let rising: Vec<f64> = y.iter().enumerate().map(|(i, y)| y + (i % 7) as f64).collect();
        for (values, fitted) in [(&noise, &rising), (&falling, &rising), (&rising, &noise)] {
            let [slope, shift] = calibrate(values, &y, None, fitted);
            let share = 1.0 / (1.0 + (-shift).exp());
            assert!(slope == 0.0 && (share - 0.1).abs() < 1e-12, "{slope} {share}");
        }
        assert!(calibrate(&rising, &y, None, &rising)[0] > 0.0);
        assert_eq!(calibrate(&[], &[], None, &[]), [0.0, 0.0]);
    }
}
