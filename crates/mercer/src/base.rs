//! Floor 0: errors, tables of names, ranges of numbers, and what every other floor reports with.

pub mod bytes;
pub mod clip;
pub mod error;
pub mod format_error;
pub mod journal;
pub mod range;
pub mod table;
pub mod watch;
