//! The training rows of a model that still has them: y = (K + nμ)α + b.

use super::Sample;
use crate::error::{Error, Result};
use crate::linalg::double::Double;
use crate::model::{Expansion, Model};
use crate::space;

impl Sample {
    /// The rows that a kernel model of one target by the squared loss was fitted to, from its points and α. What comes out
    /// must have the error and the range of targets that the model remembers; weights, or an α without the directions that
    /// belong to no function, show there and are refused.
    pub fn from_model(model: &Model) -> Result<Self> {
        let refuse = |why: &str| Err(Error::argument("the model", MUST, why));
        let [summary] = model.summaries() else { return refuse("one of several targets") };
        if summary.loss != "squared" || summary.penalty != "norm-power" || model.classes().is_some() {
            return refuse("one of another loss or penalty");
        }
        let Expansion::Kernel { points, alpha } = &model.expansion else {
            return refuse("a linear function, which keeps no rows");
        };
        let Some(ridge) = summary.effective_ridge else {
            return refuse("the zero function, which remembers no target");
        };
        let n = points.rows();
        if n != summary.rows {
            return refuse("one that keeps only some of its rows");
        }
        let gamma = n as f64 * ridge;
        let applied = space::apply_precisely(&*model.kernel, points, alpha);
        let y: Vec<f64> = applied[0]
            .iter()
            .zip(alpha.col(0))
            .map(|(value, a): (&Double, &f64)| value.value() + gamma * a + summary.intercept)
            .collect();
        let [low, high] = summary.target_range;
        let size = low.abs().max(high.abs());
        let rmse = gamma * (alpha.col(0).iter().map(|a| a * a).sum::<f64>() / n as f64).sqrt();
        let lowest = y.iter().copied().fold(f64::INFINITY, f64::min);
        let highest = y.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let agree = |a: f64, b: f64| (a - b).abs() <= 1e-6 * size;
        if !(agree(rmse, summary.train_rmse) && agree(lowest, low) && agree(highest, high)) {
            return refuse("one whose points and coefficients do not give back its targets (weights, or a tiny ridge)");
        }
        Sample::new(&*model.kernel, points, &y)
    }
}

const MUST: &str = "a kernel model of one target by the squared loss, without weights, that keeps all its rows";
