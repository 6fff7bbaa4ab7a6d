//! Schuurmans and Southey's rules: fits f₁, f₂, … from the simplest on are compared with each other on many rows
//! without target, and with the targets on the training rows.

/// A rule on distances between fits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MetricRule {
    /// TRI: the last fit for which d(f_k, f_l) ≤ d̂(f_k, y) + d̂(f_l, y) with every simpler f_k.
    Triangle,
    /// ADJ: d̂(f_l, y) · max_k d(f_k, f_l)/d̂(f_k, f_l), over the simpler f_k.
    Adjusted,
}

impl MetricRule {
    /// Its name in a spec.
    pub fn name(self) -> &'static str {
        match self {
            MetricRule::Triangle => "tri",
            MetricRule::Adjusted => "adj",
        }
    }

    /// The values of a sequence of fits, the simplest first: squared errors, infinite for those that TRI excludes.
    ///
    /// `on_training` and `on_new` are the fits' values, one vector per fit; `errors` their training mean squares.
    pub fn values(self, errors: &[f64], on_training: &[Vec<f64>], on_new: &[Vec<f64>]) -> Vec<f64> {
        let roots: Vec<f64> = errors.iter().map(|mse| mse.sqrt()).collect();
        (0..errors.len())
            .map(|l| {
                let distances = (0..l).map(|k| (k, distance(&on_new[k], &on_new[l])));
                match self {
                    MetricRule::Triangle => {
                        // Equality to rounding is no violation.
                        let keeps = distances.into_iter().all(|(k, d)| d <= (roots[k] + roots[l]) * (1.0 + 1e-9));
                        if keeps { errors[l] } else { f64::INFINITY }
                    }
                    MetricRule::Adjusted => {
                        let ratio = distances
                            .map(|(k, d)| (d, distance(&on_training[k], &on_training[l])))
                            // Fits that agree on the training rows tell nothing.
                            .filter(|(_, known)| *known > 1e-12 * (roots[0] + roots[l]))
                            .map(|(d, known)| d / known)
                            .fold(1.0, f64::max);
                        errors[l] * ratio * ratio
                    }
                }
            })
            .collect()
    }
}

/// Root of the mean squared difference.
fn distance(a: &[f64], b: &[f64]) -> f64 {
    let sum: f64 = a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum();
    (sum / a.len().max(1) as f64).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn by_hand_on_three_fits() {
        // On the training rows the fits come closer to y; on new rows the third runs away.
        let errors = [4.0, 1.0, 0.0];
        let training = [vec![0.0, 0.0], vec![1.0, 1.0], vec![2.0, 2.0]];
        let new = [vec![0.0; 3], vec![2.0; 3], vec![9.0; 3]];
        let tri = MetricRule::Triangle.values(&errors, &training, &new);
        assert_eq!(tri, vec![4.0, 1.0, f64::INFINITY]);
        let adj = MetricRule::Adjusted.values(&errors, &training, &new);
        assert_eq!(adj, vec![4.0, 4.0, 0.0]);
    }
}
