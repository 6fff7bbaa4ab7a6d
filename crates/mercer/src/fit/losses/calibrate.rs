//! Probabilities for decision values: P(y = +1 | v) = 1/(1 + exp(−(slope·v + shift))), fitted to held-out values.
//!
//! Maximum likelihood with Platt's targets, (n₊+1)/(n₊+2) and 1/(n₋+2) instead of 1 and 0, so that no probability is
//! certain; two parameters, Newton's method with halved steps.

use crate::term::loss::margin::sigmoid;

/// The slope and shift that fit held-out values `v` of labels ±1 best; rows with NaN do not count.
pub(super) fn calibrate(values: &[f64], y: &[f64], weights: Option<&[f64]>) -> [f64; 2] {
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
    now
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
        let [slope, shift] = calibrate(&values, &y, None);
        assert!((slope - 1.0).abs() < 0.1 && shift.abs() < 0.1, "{slope} {shift}");
        let positive = y.iter().filter(|y| **y > 0.0).count() as f64;
        let negative = 400.0 - positive;
        let goal = |y: f64| if y > 0.0 { (positive + 1.0) / (positive + 2.0) } else { 1.0 / (negative + 2.0) };
        let off = |x: fn(f64) -> f64| -> f64 {
            values.iter().zip(&y).map(|(v, y)| (1.0 / (1.0 + (-(slope * v + shift)).exp()) - goal(*y)) * x(*v)).sum()
        };
        assert!(off(|_| 1.0).abs() < 1e-6 && off(|v| v).abs() < 1e-6);
        // One class only on one side: still finite.
        assert!(calibrate(&[1.0, 2.0], &[1.0, 1.0], None).iter().all(|x| x.is_finite()));
    }
}
