//! The table, read in every way that candidates need.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;

use super::candidates::Candidate;
use super::search::learning_rows;
use crate::base::error::Result;
use crate::choose::metric::learn::Learned;
use crate::data::{Design, Scale};
use crate::term::criterion::folds::shuffle;

/// The same rows, read for kernels that are and are not confined to numbers above 0; and, where columns are skewed, with
/// their logarithms, too.
pub(super) struct Designs {
    pub standard: Design,
    pub unit: Design,
    pub logarithms: Option<Design>,
}

impl Designs {
    pub fn read(read: &impl Fn(Scale) -> Result<Design>) -> Result<Designs> {
        // Where logarithms cannot be scaled, there are none.
        let logarithms = read(Scale::Log).ok().filter(|design| design.encoder.has_logarithms());
        Ok(Designs { standard: read(Scale::Standard)?, unit: read(Scale::Unit)?, logarithms })
    }

    pub fn rows(&self) -> usize {
        self.standard.rows()
    }

    pub fn of(&self, candidate: &Candidate) -> &Design {
        match (candidate.scale, &self.logarithms) {
            (Scale::Unit, _) => &self.unit,
            (Scale::Log, Some(logarithms)) => logarithms,
            _ => &self.standard,
        }
    }

    pub fn take(self, candidate: &Candidate) -> Design {
        match (candidate.scale, self.logarithms) {
            (Scale::Unit, _) => self.unit,
            (Scale::Log, Some(logarithms)) => logarithms,
            _ => self.standard,
        }
    }

    /// The rows to learn from, drawn at random if they are a part, equal ones merged.
    pub fn part(&self, seed: u64) -> Designs {
        self.some(learning_rows(self.rows()), seed)
    }

    /// So many of the latest rows, in their order; equal ones stay apart, since their targets belong to different times.
    pub fn latest(&self, count: usize) -> Designs {
        let rows: Vec<usize> = (self.rows().saturating_sub(count)..self.rows()).collect();
        Designs {
            standard: self.standard.subset(&rows),
            unit: self.unit.subset(&rows),
            logarithms: self.logarithms.as_ref().map(|design| design.subset(&rows)),
        }
    }

    /// At most so many rows, drawn at random if they are a part, equal ones merged.
    pub fn some(&self, count: usize, seed: u64) -> Designs {
        let mut order: Vec<usize> = (0..self.rows()).collect();
        if order.len() > count {
            shuffle(&mut order, &mut ChaCha8Rng::seed_from_u64(seed));
            order.truncate(count);
            order.sort_unstable();
        }
        let merged = |design: &Design| design.subset(&order).without_duplicates();
        Designs {
            standard: merged(&self.standard),
            unit: merged(&self.unit),
            logarithms: self.logarithms.as_ref().map(merged),
        }
    }
}

impl Design {
    pub(super) fn with_map(&self, learned: &Learned) -> Design {
        match &learned.map {
            Some(map) => self.projected(map),
            None => self.clone(),
        }
    }
}
