//! The median and how well it is known, without any assumption on how times are distributed.

/// A median and an interval that holds the true one with a probability of 95 %, as far as the sample is large enough: from six
/// numbers on. Of fewer it is all that was seen.
#[derive(Debug, PartialEq)]
pub struct Spread {
    pub middle: f64,
    pub low: f64,
    pub high: f64,
}

pub fn median(sample: &[f64]) -> f64 {
    let sorted = sorted(sample);
    let n = sorted.len();
    (sorted[(n - 1) / 2] + sorted[n / 2]) / 2.0
}

impl Spread {
    /// The interval from the k-th smallest to the k-th largest number, with the largest k for which
    /// P(B < k) ≤ 0.025, B binomial(n, 1/2).
    pub fn of(sample: &[f64]) -> Spread {
        let sorted = sorted(sample);
        let n = sorted.len();
        let (mut k, mut below, mut term) = (0, 0.0, 0.5_f64.powi(n as i32));
        while below + term <= 0.025 {
            below += term;
            term *= (n - k) as f64 / (k + 1) as f64;
            k += 1;
        }
        let k = k.max(1);
        Spread { middle: median(sample), low: sorted[k - 1], high: sorted[n - k] }
    }
}

fn sorted(sample: &[f64]) -> Vec<f64> {
    let mut sorted = sample.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interval_is_that_of_the_sign_test() {
        let sample: Vec<f64> = (1..=11).rev().map(f64::from).collect();
        // P(B < 2) = 12/2048, P(B < 3) = 67/2048
        assert_eq!(Spread::of(&sample), Spread { middle: 6.0, low: 2.0, high: 10.0 });
        assert_eq!(Spread::of(&[2.0, 1.0]), Spread { middle: 1.5, low: 1.0, high: 2.0 });
    }
}
