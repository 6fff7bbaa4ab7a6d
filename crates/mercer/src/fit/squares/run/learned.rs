//! A kernel whose metric is learned first.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;

use crate::base::error::{Error, Result};
use crate::choose::metric::Rule;
use crate::choose::metric::learn::{Rows, by_outer_products, per_feature};
use crate::choose::metric::objective::Goal;
use crate::data::Design;
use crate::fit::squares::SquaredFit;
use crate::term::criterion::folds::shuffle;
use crate::term::kernel::SharedKernel;

/// Rows that are learned from at most.
const MOST: usize = 1500;
/// Steps of the average outer product.
const STEPS: usize = 5;

impl SquaredFit {
    /// The kernel with what was learned, and the rows as it sees them.
    pub(super) fn with_metric(&self, rule: Rule, design: Design) -> Result<(SharedKernel, Design)> {
        if design.points.code_columns() > 0 {
            return Err(Error::argument("text columns", "read one-hot where the metric is learned", "equality"));
        }
        if design.whole_groups().is_some() && rule != Rule::Each(Goal::Likelihood) {
            let must = "each-likelihood where rows have groups: the others are judged by leaving out single rows";
            return Err(Error::argument("the rule by which a metric is learned", must, rule.name()));
        }
        if self.criterion.is_forward() && rule != Rule::Each(Goal::Likelihood) {
            let must = "each-likelihood for rows in order of time: the others predict rows from later ones";
            return Err(Error::argument("the rule by which a metric is learned", must, rule.name()));
        }
        let mut order: Vec<usize> = (0..design.rows()).collect();
        if order.len() > MOST {
            shuffle(&mut order, &mut ChaCha8Rng::seed_from_u64(self.seed));
            order.truncate(MOST);
            order.sort_unstable();
        }
        let part = design.subset(&order).without_duplicates();
        let x = part.points.to_matrix();
        let root_weights: Option<Vec<f64>> = part.weights.as_ref().map(|w| w.iter().map(|w| w.sqrt()).collect());
        let rows = Rows { x: &x, y: &part.y, root_weights: root_weights.as_deref(), offset: self.offset };
        let keep_on = || self.observer.as_ref().is_none_or(|observer| observer("learning the metric"));
        let kernel = &self.kernels[0];
        let found = match rule {
            Rule::Each(goal) => per_feature(&rows, std::slice::from_ref(kernel), x.cols() < 2, goal, &keep_on)?,
            Rule::Diagonal => by_outer_products(&rows, kernel, true, STEPS, &keep_on)?,
            Rule::Full => by_outer_products(&rows, kernel, false, STEPS, &keep_on)?,
        };
        if !keep_on() {
            return Err(Error::Interrupted);
        }
        let learned = found.ok_or_else(|| {
            Error::Decomposition("the metric could not be learned: too few different rows, or a constant target".into())
        })?;
        let design = match &learned.map {
            Some(map) => design.projected(map),
            None => design,
        };
        Ok((learned.kernel, design))
    }
}
