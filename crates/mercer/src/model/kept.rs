//! What a kernel expansion keeps of its training rows beside the points.
//!
//! y = f + γα/w would give the targets back in theory; in floating point it loses the digits that K + γI has lost, and where
//! null directions were left out of α, or f = 0, it gives nothing. So they are kept.

use crate::base::error::{Error, Result};
use crate::linalg::Matrix;

/// Targets, weights and groups of the training rows, in the order of the model's points.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct KeptTargets {
    /// n × targets.
    pub y: Matrix,
    /// `None` when all are 1.
    pub weights: Option<Vec<f64>>,
    /// The number of each row's group, where rows have groups.
    pub groups: Option<Vec<u32>>,
}

impl KeptTargets {
    /// Refuses what no fit can have had.
    pub fn check(&self) -> Result<()> {
        let wrong = self.weights.iter().flatten().find(|w| !(**w > 0.0 && w.is_finite()));
        wrong.map_or(Ok(()), |w| Err(Error::argument("the weight of a training row", "positive and finite", w)))
    }
}
