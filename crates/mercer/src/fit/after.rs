//! What follows a fit: its training rows again, intervals, effects, importance, the path along λ, and an honest error.

mod along;
pub mod assess;
pub mod effects;
pub mod importance;
pub mod interval;
pub(crate) mod training;

pub use along::PathPoint;
