//! What is tried, in which order: what is quick or usually wins comes first, so that a short budget is well spent.

use super::Metric;
use crate::base::error::Result;
use crate::data::Scale;
use crate::term::kernel::{SharedKernel, parse};

/// One thing to try.
#[derive(Debug, Clone, Copy)]
pub(super) struct Candidate {
    /// The families whose sum it is.
    pub families: &'static [&'static str],
    /// Shown while it is tried, and in the report.
    pub name: &'static str,
    pub metric: Metric,
    /// How its features are scaled.
    pub scale: Scale,
    /// Whether lengthscales are learned; otherwise the kernel has none, and λ alone is chosen.
    pub is_learned: bool,
}

const fn fixed(families: &'static [&'static str], name: &'static str, scale: Scale) -> Candidate {
    Candidate { families, name, metric: Metric::One, scale, is_learned: false }
}

const fn learned(families: &'static [&'static str], name: &'static str, metric: Metric) -> Candidate {
    Candidate { families, name, metric, scale: Scale::Standard, is_learned: true }
}

const ALL: &[Candidate] = &[
    fixed(&["linear"], "linear", Scale::Standard),
    learned(&["gaussian"], "gaussian", Metric::One),
    learned(&["matern52"], "matern52", Metric::Each),
    learned(&["matern12"], "matern12", Metric::Each),
    fixed(&["additive-spline"], "additive-spline", Scale::Unit),
    learned(&["gaussian"], "gaussian", Metric::Each),
    learned(&["matern32"], "matern32", Metric::Each),
    learned(&["matern52", "matern12"], "matern52 + matern12", Metric::Each),
    learned(&["matern52", "matern32"], "matern52 + matern32", Metric::Each),
    learned(&["matern52"], "matern52", Metric::Full),
    fixed(&["multiplicative-spline"], "multiplicative-spline", Scale::Unit),
    learned(&["gaussian", "matern12"], "gaussian + matern12", Metric::Each),
    learned(&["matern52", "matern52"], "matern52 + matern52", Metric::Each),
];

/// More features than this have one lengthscale in common: one each would be more numbers than the rows can tell.
const MOST_FEATURES: usize = 100;

/// The candidates that suit a table.
pub(super) fn suitable(rows: usize, features: usize) -> Vec<Candidate> {
    ALL.iter()
        .copied()
        .map(|candidate| match candidate.metric {
            // One feature has one lengthscale.
            Metric::Each if features == 1 => Candidate { metric: Metric::One, ..candidate },
            _ => candidate,
        })
        .filter(|candidate| candidate.suits(rows, features))
        .collect()
}

impl Candidate {
    /// Whether so many rows can tell what it learns.
    pub fn suits(&self, rows: usize, features: usize) -> bool {
        let can_learn_each = features > 1 && features <= MOST_FEATURES && rows >= 30 && rows >= 2 * features;
        match self.metric {
            Metric::Each => can_learn_each,
            Metric::Full => can_learn_each && rows >= 10 * features,
            Metric::One => true,
        }
    }

    pub fn kernels(&self) -> Result<Vec<SharedKernel>> {
        self.families.iter().map(|family| parse(family)).collect()
    }

    pub fn is_tied(&self) -> bool {
        self.metric != Metric::Each
    }

    /// The same with logarithms of skewed columns among the features.
    pub fn with_logarithms(self) -> Candidate {
        Candidate { scale: Scale::Log, ..self }
    }

    /// Whether it is one of the plain models that others are compared with: linear, and Gaussian with one lengthscale.
    pub fn is_baseline(&self) -> bool {
        self.metric == Metric::One && self.scale == Scale::Standard && matches!(self.name, "linear" | "gaussian")
    }

    /// Its name for a person.
    pub fn title(&self) -> String {
        match self.metric {
            Metric::One => self.name.to_owned(),
            other => format!("{}, {}", self.name, other.name()),
        }
    }

    /// What a journal knows it by.
    pub fn key(&self) -> String {
        let of = if self.scale == Scale::Log { ", with logarithms" } else { "" };
        format!("{}, {}{of}", self.name, self.metric.name())
    }
}
