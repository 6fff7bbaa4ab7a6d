//! The automatic mode: kernel families, their metric, exponent and λ, within a time budget.

use std::time::Duration;

use crate::data::{Frame, Missing, Roles, Scale, TextAs};
use crate::error::Result;
use crate::fit::{Fitted, Observer};
use crate::journal::SharedJournal;

/// Settings of an automatic fit.
#[derive(Clone)]
pub struct Automatic {
    pub(crate) budget: Duration,
    pub(crate) exponents: Vec<f64>,
    pub(crate) offset: bool,
    pub(crate) missing: Missing,
    pub(crate) text_as: TextAs,
    pub(crate) memory: Option<u64>,
    pub(crate) seed: u64,
    pub(crate) observer: Option<Observer>,
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
    /// The share of each feature in what f follows: the diagonal of the average gradient outer product, scaled to sum to
    /// 1; empty for kernels without gradient.
    pub importance: Vec<(String, f64)>,
}

/// One candidate of the automatic search.
#[derive(Debug, Clone, PartialEq)]
pub struct Trial {
    /// The family's name, such as `matern52`.
    pub family: String,
    /// Its metric.
    pub metric: Metric,
    /// Root mean squared error, left out or by folds inside which the metric was learned again; `None` if it could not
    /// be computed.
    pub rmse: Option<f64>,
    /// How the error was found, in a few words: `leave-one-out` or `5 folds`.
    pub judged_by: String,
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
            budget: Duration::from_secs(60),
            exponents: vec![1.0, 1.5, 2.0, 2.5],
            offset: true,
            missing: Missing::Error,
            text_as: TextAs::OneHot,
            memory: None,
            seed: 1,
            observer: None,
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

    /// The seed of folds and subsets.
    pub fn seed(self, seed: u64) -> Self {
        Automatic { seed, ..self }
    }

    /// Told of every stage; may stop the search.
    pub fn observer(self, observer: Observer) -> Self {
        Automatic { observer: Some(observer), ..self }
    }

    /// Remembers finished pieces of work.
    pub fn journal(self, journal: SharedJournal) -> Self {
        Automatic { journal: Some(journal), ..self }
    }

    /// Fits a table.
    pub fn fit_frame(&self, frame: &Frame, roles: &Roles) -> Result<Automated> {
        let fit = crate::Fit::with_shared(crate::kernel::parse("gaussian")?)
            .scale(Scale::Standard)
            .missing(self.missing)
            .text_as(self.text_as);
        let fitted = fit.fit_frame(frame, roles)?;
        Ok(Automated { fitted, trials: Vec::new(), ran_out: false, importance: Vec::new() })
    }
}
