//! Learning the metric: one lengthscale per feature, or a full linear map of the features, from the data.
//!
//! | chapter | |
//! |---|---|
//! | [`objective`] | leave-one-out or restricted likelihood as a function of the lengthscales and the ridge, with its gradient |
//! | [`descent`] | a quasi-Newton search |
//! | [`learn`] | from a family of kernels to one with its metric learned |
//! | [`outer`] | the average outer product of the gradients of f, iterated |

pub mod descent;
pub mod learn;
pub mod objective;
pub mod outer;
pub(crate) mod ridge;

use crate::base::error::{Error, Result, nearest};
use objective::Goal;

/// How the metric of a radial kernel is learned before λ and the exponent are chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rule {
    /// One lengthscale per feature, by the gradient of a goal.
    Each(Goal),
    /// One scale per feature from the average outer product of the gradients of f.
    Diagonal,
    /// A linear map of the features from the same.
    Full,
}

const RULES: [(&str, Rule, &str); 4] = [
    ("each", Rule::Each(Goal::LeaveOneOut), "one lengthscale per feature, by the gradient of exact leave-one-out"),
    (
        "each-likelihood",
        Rule::Each(Goal::Likelihood),
        "one lengthscale per feature, by the gradient of restricted likelihood",
    ),
    (
        "diagonal",
        Rule::Diagonal,
        "one scale per feature, by average gradient outer products, each step judged by leave-one-out",
    ),
    ("full", Rule::Full, "a linear map of the features, by average gradient outer products"),
];

impl Rule {
    /// Reads a name.
    pub fn parse(name: &str) -> Result<Self> {
        let known = || RULES.iter().map(|(name, ..)| *name);
        RULES.iter().find(|(known, ..)| *known == name).map(|(_, rule, _)| *rule).ok_or_else(|| Error::UnknownName {
            axis: "metric",
            name: crate::base::error::abbreviated(name),
            known: known().map(str::to_owned).collect(),
            suggestion: nearest(name, known()),
        })
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        RULES.iter().find(|(_, rule, _)| *rule == self).map_or("", |(name, ..)| name)
    }

    /// Names and what they mean.
    pub fn all() -> impl Iterator<Item = (&'static str, &'static str)> {
        RULES.iter().map(|(name, _, about)| (*name, *about))
    }
}
