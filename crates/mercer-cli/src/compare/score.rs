//! How well a method did on held-out rows, and among others.

use mercer::assess::Assessment;

/// On all folds, of the only target.
pub struct Score {
    assessment: Assessment,
    /// The mean over the folds of the place among all methods; filled in when all are known.
    pub rank: f64,
}

impl Score {
    pub fn new(assessment: Assessment) -> Self {
        Score { assessment, rank: 0.0 }
    }

    /// The error of each fold.
    pub fn errors(&self) -> &[f64] {
        &self.assessment.rmse[0]
    }

    pub fn mean(&self) -> f64 {
        self.assessment.mean(0)
    }

    pub fn deviation(&self) -> f64 {
        self.assessment.deviation(0)
    }

    pub fn r2(&self) -> Option<f64> {
        self.assessment.r2(0)
    }

    pub fn seconds(&self) -> f64 {
        self.assessment.mean_seconds()
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
