//! The automatic mode: kernel families, their metric, exponent and λ, within a time budget.
//!
//! Lengthscales are learned by restricted likelihood. The candidates with the most evidence are then judged by the same
//! folds, inside which the metric is learned again: leave-one-out after a metric was learned on the same rows is too
//! optimistic. Where folds cannot tell candidates apart, evidence decides. λ and the exponent of the best one are chosen
//! by exact leave-one-out on all rows.
//!
//! | chapter | |
//! |---|---|
//! | `candidates` | what is tried, in which order |
//! | `designs` | the table, read in every way that candidates need |
//! | `grouped` | the ridge of a learned kernel where rows have groups |
//! | `trial` | learning and judging one candidate |
//! | `polish` | what was learned from a part of the rows, set right on all |
//! | `ranking` | which candidate is best, and where that cannot be told |
//! | `search` | the whole search, the budget, the final fit |

mod candidates;
mod designs;
mod grouped;
mod polish;
mod ranking;
mod search;
mod trial;

pub use search::MANY_ROWS;

pub(crate) use search::DECOMPOSED_ROWS;

use std::sync::Arc;
use std::time::Duration;

use crate::base::journal::SharedJournal;
use crate::base::watch::Observer;
use crate::data::{Missing, Scale, TextAs};
use crate::fit::Reduce;
use crate::fit::after::importance::Importance;
use crate::space::low_rank::Landmarks;
use crate::term::criterion::FoldRule;

/// The time that a search may take where nothing is said.
pub const BUDGET: Duration = Duration::from_secs(60);

/// How far a search is.
#[derive(Debug, Clone, PartialEq)]
pub struct Standing {
    /// Candidates that suit the table.
    pub candidates: usize,
    /// How many of them have learned their metric.
    pub learned: usize,
    /// How many were judged on held-out rows.
    pub judged: usize,
    /// The name of the one with the least held-out error so far, and its RMSE in units of the first target.
    pub best: Option<(String, f64)>,
}

/// Follows a search.
pub type SearchObserver = Arc<dyn Fn(&Standing) + Send + Sync>;

/// What the front door knows of an automatic fit; [`Fit`](super::Fit) says what each setting means.
#[derive(Clone)]
pub(crate) struct Automatic {
    pub(crate) budget: Duration,
    pub(crate) exponents: Vec<f64>,
    pub(crate) offset: bool,
    pub(crate) missing: Missing,
    pub(crate) text_as: TextAs,
    pub(crate) memory: Option<u64>,
    pub(crate) reduce: Reduce,
    pub(crate) landmarks_by: Option<Landmarks>,
    pub(crate) clip: bool,
    pub(crate) forward: Option<FoldRule>,
    pub(crate) seed: u64,
    pub(crate) observer: Option<Observer>,
    pub(crate) search_observer: Option<SearchObserver>,
    pub(crate) journal: Option<SharedJournal>,
}

/// What an automatic search did.
#[derive(Debug, Clone, Default)]
pub struct Found {
    /// What was tried, in order.
    pub trials: Vec<Trial>,
    /// Whether the budget ended the search before everything was tried.
    pub ran_out: bool,
    /// How much the held-out squared error of the first target rises when a column is permuted; `None` where it could not be measured (a
    /// constant target, or too few rows).
    pub importance: Option<Importance>,
    /// The share of each feature in the mean square of the derivatives of f, scaled to sum to 1; empty for kernels without gradient. Of rough
    /// kernels it says how steep f is between neighbours, not which columns matter.
    pub mean_gradient: Vec<(String, f64)>,
}

/// One candidate of the automatic search.
#[derive(Debug, Clone, PartialEq)]
pub struct Trial {
    /// The family's name, such as `matern52`.
    pub family: String,
    /// Its metric.
    pub metric: Metric,
    /// How features were scaled for it: `Log` where skewed columns were read as logarithms, too.
    pub scale: Scale,
    /// Root mean squared error, left out or by folds inside which the metric was learned again, in the units of the first
    /// target (with several targets: of all of them, each in units of its deviation); `None` if it was not computed.
    pub rmse: Option<f64>,
    /// How the error was found, in a few words: `leave-one-out` or `5 folds`.
    pub judged_by: String,
    /// Minus the logarithm of its restricted likelihood, and half a log n for every number that was learned (as BIC);
    /// smaller is better.
    pub evidence: f64,
    /// Seconds it took.
    pub seconds: f64,
    /// Whether it became the model.
    pub is_chosen: bool,
}

/// How distances are measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Metric {
    /// One lengthscale for all features.
    One,
    /// One per feature.
    Each,
    /// A linear map of the features.
    Full,
}

impl Metric {
    /// In a word.
    pub fn name(self) -> &'static str {
        match self {
            Metric::One => "one lengthscale",
            Metric::Each => "per feature",
            Metric::Full => "full",
        }
    }
}
