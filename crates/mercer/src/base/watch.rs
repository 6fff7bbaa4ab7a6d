//! Following and stopping long work.

use std::sync::Arc;

/// Called with the name of each stage of a long fit; returns whether to go on.
pub type Observer = Arc<dyn Fn(&'static str) -> bool + Send + Sync>;
