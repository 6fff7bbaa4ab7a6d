//! Floor 7: which kernel, exponent and λ: surfaces of a criterion, and learned metrics.

pub mod metric;
pub mod select;
