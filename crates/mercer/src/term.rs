//! Floor 3: the terms of the problem, their names and formulas: kernels, losses, penalties and criteria.

pub mod criterion;
pub mod kernel;
pub mod loss;
pub mod penalty;
pub mod ranges;
