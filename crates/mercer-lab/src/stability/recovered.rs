//! The training rows of a model that still has them.

use super::Sample;
use mercer::{Error, Model, Result};

const MUST: &str = "a kernel model of one target by the squared loss, without weights, that keeps all its rows";

impl Sample {
    /// The rows that a kernel model of one target by the squared loss was fitted to.
    pub fn from_model(model: &Model) -> Result<Self> {
        let refuse = |why: &str| Err(Error::argument("the model", MUST, why));
        if model.summaries().len() > 1 {
            return refuse("one of several targets");
        }
        if let Some(why) = model.is_not_a_sum_over_rows() {
            return refuse(&format!("another: {why}"));
        }
        match model.training() {
            None => refuse("one that does not hold its rows with their targets"),
            Some(training) if training.is_weighted() => refuse("one whose rows have weights"),
            Some(training) => Sample::new(&**model.kernel(), training.points(), training.targets().col(0)),
        }
    }
}
