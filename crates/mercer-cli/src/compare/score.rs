//! How well a method did on held-out rows.

use mercer::data::{Column, Frame, Roles};

/// On one fold.
pub struct FoldError {
    pub rmse: f64,
    /// Sums over its rows, weighted: squared errors, weights, w·y and w·y².
    sums: [f64; 4],
    seconds: f64,
}

impl FoldError {
    /// Nothing if no row could be predicted.
    pub fn of(frame: &Frame, roles: &Roles, rows: &[usize], predicted: &[Option<f64>], seconds: f64) -> Option<Self> {
        let numbers = |name: &String| match frame.column(name) {
            Ok(Column::Number(cells)) => Some(cells),
            _ => None,
        };
        let truth = roles.targets.first().and_then(numbers)?;
        let weights = roles.weight.as_ref().and_then(numbers);
        let mut sums = [0.0; 4];
        for (row, value) in rows.iter().zip(predicted) {
            let (y, weight) = (truth[*row], weights.map_or(1.0, |cells| cells[*row]));
            if let Some(value) = value.filter(|_| weight > 0.0) {
                let terms = [weight * (y - value) * (y - value), weight, weight * y, weight * y * y];
                sums.iter_mut().zip(terms).for_each(|(sum, term)| *sum += term);
            }
        }
        (sums[1] > 0.0).then(|| FoldError { rmse: (sums[0] / sums[1]).sqrt(), sums, seconds })
    }
}

/// On all folds.
pub struct Score {
    pub folds: Vec<FoldError>,
    /// The mean over the folds of the place among all methods; filled in when all are known.
    pub rank: f64,
}

impl Score {
    pub fn new(folds: Vec<FoldError>) -> Self {
        Score { folds, rank: 0.0 }
    }

    fn average(&self, value: impl Fn(&FoldError) -> f64) -> f64 {
        self.folds.iter().map(value).sum::<f64>() / self.folds.len().max(1) as f64
    }

    pub fn mean(&self) -> f64 {
        self.average(|fold| fold.rmse)
    }

    /// Over the folds; 0 with a single one.
    pub fn deviation(&self) -> f64 {
        let (mean, n) = (self.mean(), self.folds.len() as f64);
        let square = |fold: &FoldError| (fold.rmse - mean) * (fold.rmse - mean);
        if n > 1.0 { (self.average(square) * n / (n - 1.0)).sqrt() } else { 0.0 }
    }

    /// Share of the variance explained, all held-out rows together; nothing if the target does not vary.
    pub fn r2(&self) -> Option<f64> {
        let [errors, weight, sum, squares] =
            [0, 1, 2, 3].map(|i| self.folds.iter().map(|fold| fold.sums[i]).sum::<f64>());
        let variation = squares - sum * sum / weight;
        (variation > 1e-12 * squares).then(|| 1.0 - errors / variation)
    }

    pub fn seconds(&self) -> f64 {
        self.average(|fold| fold.seconds)
    }
}

/// The place of each, from 1; equal errors share the mean of their places.
pub fn ranks(errors: &[f64]) -> Vec<f64> {
    let count = |holds: &dyn Fn(f64) -> bool| errors.iter().filter(|error| holds(**error)).count() as f64;
    errors.iter().map(|e| count(&|other| other < *e) + (count(&|other| other == *e) + 1.0) / 2.0).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_are_shared_among_equals() {
        assert_eq!(ranks(&[2.0, 1.0, 2.0, 5.0]), vec![2.5, 1.0, 2.5, 4.0]);
    }

    #[test]
    fn errors_by_hand() {
        let mut frame = Frame::new(4);
        frame.push("y", Column::Number(vec![1.0, 2.0, 3.0, 4.0])).unwrap();
        let roles = Roles { targets: vec!["y".into()], ..Roles::default() };
        let fold =
            |rows: &[usize], value: f64| FoldError::of(&frame, &roles, rows, &[Some(value), Some(value)], 1.0).unwrap();
        let score = Score::new(vec![fold(&[0, 1], 1.0), fold(&[2, 3], 3.0)]);
        // Errors 0, 1, 0, 1.
        assert!((score.mean() - 0.5_f64.sqrt()).abs() < 1e-15 && score.deviation() < 1e-12);
        assert!((score.r2().unwrap() - (1.0 - 2.0 / 5.0)).abs() < 1e-12);
        assert!(FoldError::of(&frame, &roles, &[0], &[None], 1.0).is_none());
    }
}
