//! Floor 9: the front door. One builder for every problem, one result.
//!
//! A [`Fit`] says five things: what is minimised ([`Problem`]), what chooses among candidates, how a table is read, the
//! limits on memory and time, and how progress is reported. [`Fit::engine`] selects the engine and refuses settings that
//! have no effect on it, before any row is read.
//!
//! | engine | problem | folder |
//! |---|---|---|
//! | [`Engine::Squared`] | squared loss, λ‖f‖ᵐ: everything read off one decomposition | `squares/` |
//! | [`Engine::Loss`] | any other convex loss, λ‖f‖ᵐ: solvers with a duality gap | `losses/` |
//! | [`Engine::Penalty`] | squared loss, any other penalty: linear functions and the kernel Lasso | `penalties/` |
//! | [`Engine::Automatic`] | kernel, metric, exponent and λ searched within a budget | `automatic/` |

pub mod after;
pub mod automatic;
mod builder;
mod engine;
mod fitted;
pub mod losses;
pub mod moments;
mod penalties;
pub mod plan;
mod squares;
pub mod stream;

pub use builder::{Fit, Problem, Space};
pub use engine::Engine;
pub(crate) use fitted::Engaged;
pub use fitted::{Curve, Fitted, Judged, Tried};

/// Whether landmarks stand for all rows.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Reduce {
    /// Where there are too many rows for memory or patience.
    IfNeeded,
    Never,
    /// As many as are usual and fit into memory.
    Always,
    ToRank(usize),
    ToAccuracy(f64),
}

/// Landmarks with which the search for an accuracy begins.
pub(crate) const FIRST_RANK: usize = 64;

impl Reduce {
    /// The rank that a plan can be made for, if one is known.
    pub(crate) fn rank(self) -> Option<usize> {
        match self {
            Reduce::ToRank(rank) => Some(rank),
            Reduce::ToAccuracy(_) => Some(FIRST_RANK),
            Reduce::IfNeeded | Reduce::Never | Reduce::Always => None,
        }
    }
}
