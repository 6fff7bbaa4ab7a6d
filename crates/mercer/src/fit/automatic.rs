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

use crate::base::error::{Error, Result};
use crate::base::journal::SharedJournal;
use crate::base::watch::Observer;
use crate::data::{Missing, Scale, TextAs};
use crate::fit::after::importance::Importance;
use crate::fit::{Fitted, Reduce};
use crate::space::low_rank::Landmarks;
use crate::term::criterion::{Criterion, FoldRule};

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

/// Settings of an automatic fit.
#[derive(Clone)]
pub struct Automatic {
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

/// What came out of it.
#[derive(Debug, Clone)]
pub struct Automated {
    /// The model with everything that was found out about it.
    pub fitted: Fitted,
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

impl Default for Automatic {
    fn default() -> Self {
        Automatic::new()
    }
}

impl Automatic {
    /// A budget of a minute, everything else as [`Fit`](crate::Fit) has it, features standardised.
    pub fn new() -> Self {
        Automatic {
            budget: BUDGET,
            exponents: vec![1.0, 1.5, 2.0, 2.5],
            offset: true,
            missing: Missing::Error,
            text_as: TextAs::OneHot,
            memory: None,
            reduce: Reduce::IfNeeded,
            landmarks_by: None,
            clip: false,
            forward: None,
            seed: 1,
            observer: None,
            search_observer: None,
            journal: None,
        }
    }

    /// The time that the search may take; the final fit may add a little.
    pub fn budget(self, budget: Duration) -> Self {
        Automatic { budget, ..self }
    }

    /// Exponents to choose from, rising.
    pub fn exponents(self, exponents: &[f64]) -> Self {
        Automatic { exponents: exponents.to_vec(), ..self }
    }

    /// Without the offset b.
    pub fn without_offset(self) -> Self {
        Automatic { offset: false, ..self }
    }

    /// What is done about missing cells.
    pub fn missing(self, missing: Missing) -> Self {
        Automatic { missing, ..self }
    }

    /// How text columns are read.
    pub fn text_as(self, text_as: TextAs) -> Self {
        Automatic { text_as, ..self }
    }

    /// Bytes that may be used.
    pub fn memory(self, bytes: u64) -> Self {
        Automatic { memory: Some(bytes), ..self }
    }

    /// At most this many landmarks in the place of all rows.
    pub fn rank(self, rank: usize) -> Self {
        Automatic { reduce: Reduce::ToRank(rank), ..self }
    }

    /// As many landmarks as predictions this close to the exact ones need; see [`Fit::accuracy`](crate::Fit::accuracy).
    pub fn accuracy(self, accuracy: f64) -> Self {
        Automatic { reduce: Reduce::ToAccuracy(accuracy), ..self }
    }

    /// All rows, however many there are.
    pub fn exact(self) -> Self {
        Automatic { reduce: Reduce::Never, ..self }
    }

    /// How landmarks are chosen; see [`Fit::landmarks_by`](crate::Fit::landmarks_by).
    pub fn landmarks_by(self, by: Landmarks) -> Self {
        Automatic { landmarks_by: Some(by), ..self }
    }

    /// Keeps predictions within the range of the targets; see [`Fit::clip`](crate::Fit::clip). All held-out errors count them so.
    pub fn clip(self) -> Self {
        Automatic { clip: true, ..self }
    }

    /// Rows are in order of time: candidates, the exponent and λ are judged by forward chaining, which predicts blocks of rows from earlier
    /// ones. Many candidates are compared on the latest rows; no row is held out by itself.
    ///
    /// Refused unless the rule is one of forward chaining.
    pub fn in_time_order(self, rule: FoldRule) -> Result<Self> {
        match rule.is_forward() {
            true => Ok(Automatic { forward: Some(rule), ..self }),
            false => {
                let must = "forward chaining, such as forward(folds=5)";
                Err(Error::argument("the order of time", must, Criterion::KFold(rule).spec()))
            }
        }
    }

    /// The seed of folds and subsets.
    pub fn seed(self, seed: u64) -> Self {
        Automatic { seed, ..self }
    }

    /// Told of every stage; may stop the search.
    pub fn observer(self, observer: Observer) -> Self {
        Automatic { observer: Some(observer), ..self }
    }

    /// Called whenever a candidate was learned or judged.
    pub fn search_observer(self, observer: SearchObserver) -> Self {
        Automatic { search_observer: Some(observer), ..self }
    }

    /// Remembers finished pieces of work.
    pub fn journal(self, journal: SharedJournal) -> Self {
        Automatic { journal: Some(journal), ..self }
    }
}
