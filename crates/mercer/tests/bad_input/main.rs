//! Bad and extreme inputs (C1): each is either refused in a sentence that names the reason and the place, or
//! fitted to finite numbers. Nothing panics, nothing takes over ten seconds, and what is certified is never worse
//! than the zero function.

mod battery;
mod columns;
mod degenerate;
mod estimators;
mod judging;
mod kernels;
mod losses;
mod many_rows;
mod prediction;
mod settings;
mod sizes;
mod tables;
