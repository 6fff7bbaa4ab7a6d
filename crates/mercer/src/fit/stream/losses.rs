//! Running losses: every prediction is made before its row is learned, so that their mean is an honest error.

use std::collections::VecDeque;

/// Squared errors of predictions made before their rows were learned, beside those of the running mean.
#[derive(Debug, Clone)]
pub struct Losses {
    /// Rows that count as recent.
    window: usize,
    scored: usize,
    /// Σ e² of the model and of the running mean.
    sums: [f64; 2],
    recent: VecDeque<[f64; 2]>,
    /// Rows seen, the mean of their targets, and a power of two near the first target that is not 0.
    seen: usize,
    mean: f64,
    unit: Option<f64>,
}

impl Losses {
    pub(super) fn new(window: usize) -> Self {
        Losses { window, scored: 0, sums: [0.0; 2], recent: VecDeque::new(), seen: 0, mean: 0.0, unit: None }
    }

    /// A row with the prediction that was made for it, if one was.
    pub(super) fn add(&mut self, target: f64, prediction: Option<f64>) {
        if self.unit.is_none() && target != 0.0 {
            self.unit = Some(libm::ldexp(1.0, crate::linalg::exponent_of(target)));
        }
        let unit = self.unit.unwrap_or(1.0);
        if let Some(prediction) = prediction {
            let square = |error: f64| (error / unit) * (error / unit);
            let both = [square(target - prediction), square(target - self.mean)];
            self.sums.iter_mut().zip(both).for_each(|(sum, e)| *sum += e);
            self.recent.push_back(both);
            if self.recent.len() > self.window {
                self.recent.pop_front();
            }
            self.scored += 1;
        }
        self.seen += 1;
        self.mean += (target - self.mean) / self.seen as f64;
    }

    fn root(&self, sum: f64, count: usize) -> Option<f64> {
        (count > 0).then(|| (sum.max(0.0) / count as f64).sqrt() * self.unit.unwrap_or(1.0))
    }

    /// Rows that were predicted before they were learned.
    pub fn scored(&self) -> usize {
        self.scored
    }

    /// Rows that count as recent.
    pub fn window(&self) -> usize {
        self.window
    }

    /// Root of the mean squared error of all predictions; `None` before the first.
    pub fn rmse(&self) -> Option<f64> {
        self.root(self.sums[0], self.scored)
    }

    /// The same of predicting the mean of the targets so far.
    pub fn mean_rmse(&self) -> Option<f64> {
        self.root(self.sums[1], self.scored)
    }

    /// Root of the mean squared error of the last rows.
    pub fn recent_rmse(&self) -> Option<f64> {
        self.root(self.recent.iter().map(|pair| pair[0]).sum(), self.recent.len())
    }

    /// The same of predicting the mean of the targets so far.
    pub fn recent_mean_rmse(&self) -> Option<f64> {
        self.root(self.recent.iter().map(|pair| pair[1]).sum(), self.recent.len())
    }
}
