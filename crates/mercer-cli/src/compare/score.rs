//! How well a method did on held-out rows, and among others.

use mercer::assess::Assessment;

use crate::score::spread;

/// On all folds, of the only target.
pub struct Score {
    /// The error of each fold: RMSE, or the share of wrong classes.
    pub errors: Vec<f64>,
    /// Of all together: R², or the log loss.
    pub second: Option<f64>,
    /// Mean seconds of a fit.
    pub seconds: f64,
    /// The mean over the folds of the place among all methods; filled in when all are known.
    pub rank: f64,
}

impl Score {
    pub fn of_numbers(assessment: &Assessment) -> Self {
        Score {
            errors: assessment.rmse[0].clone(),
            second: assessment.r2(0),
            seconds: assessment.mean_seconds(),
            rank: 0.0,
        }
    }

    pub fn mean(&self) -> f64 {
        spread(&self.errors).0
    }

    pub fn deviation(&self) -> f64 {
        spread(&self.errors).1
    }
}

/// The place of each, from 1; equal errors share the mean of their places.
pub fn ranks(errors: &[f64]) -> Vec<f64> {
    let count = |holds: &dyn Fn(f64) -> bool| errors.iter().filter(|error| holds(**error)).count() as f64;
    errors.iter().map(|e| count(&|other| other < *e) + (count(&|other| other == *e) + 1.0) / 2.0).collect()
}

#[cfg(test)]
mod tests {
    use super::ranks;

    #[test]
    fn ranks_are_shared_among_equals() {
        assert_eq!(ranks(&[2.0, 1.0, 2.0, 5.0]), vec![2.5, 1.0, 2.5, 4.0]);
    }
}
