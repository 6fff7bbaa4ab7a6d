//! What a long selection has found so far, so that it can go on where it was stopped.
//!
//! The library keeps no files. Whoever calls it may: every finished piece of work is handed over as a key and a few
//! numbers, and asked for again before it would be done a second time. A resumed run ends with the same bits as one that
//! was never stopped, because it computes with the same numbers.

use std::fmt::Debug;
use std::sync::Arc;

/// A memory of finished pieces of work.
pub trait Journal: Debug + Send + Sync {
    /// The numbers that were recorded under this key.
    fn recall(&self, key: &str) -> Option<Vec<f64>>;
    /// Remembers numbers under a key.
    fn record(&self, key: &str, numbers: &[f64]);
}

/// A journal that several parts of a run share.
pub type SharedJournal = Arc<dyn Journal>;

/// The numbers under `key`, computed only if no journal knows them.
pub(crate) fn remembered<E>(
    journal: Option<&SharedJournal>,
    key: &str,
    compute: impl FnOnce() -> Result<Vec<f64>, E>,
) -> Result<Vec<f64>, E> {
    if let Some(known) = journal.and_then(|journal| journal.recall(key)) {
        return Ok(known);
    }
    let found = compute()?;
    if let Some(journal) = journal {
        journal.record(key, &found);
    }
    Ok(found)
}
