//! Which rows moments are of, so that none are added twice.
//!
//! A part is what was added between two calls of [`Moments::end_part`](super::Moments::end_part), usually a table. It is known
//! by two sums over hashes of its rows, which do not depend on the order of the rows or on how they were read.

/// Some rows: how many, and the sums that tell them from others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(super) struct Part {
    pub rows: u64,
    pub first: u64,
    pub second: u64,
}

impl Part {
    /// Takes in a row with this hash and weight.
    pub fn add(&mut self, hash: u64, weight: f64) {
        self.rows += 1;
        self.first = self.first.wrapping_add(hash);
        self.second = self.second.wrapping_add(mixed(hash, weight.to_bits()));
    }

    /// What is known of rows that were gathered before parts were: their sums.
    pub fn of_sums(rows: u64, numbers: &[f64]) -> Self {
        let hash = |start: u64| numbers.iter().fold(start, |state, x| mixed(state, x.to_bits()));
        Part { rows, first: hash(1), second: hash(2) }
    }
}

/// Splitmix64 of a state and further bits.
pub(super) fn mixed(state: u64, bits: u64) -> u64 {
    let mut state = (state ^ bits).wrapping_add(0x9E37_79B9_7F4A_7C15);
    state = (state ^ (state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    state = (state ^ (state >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    state ^ (state >> 31)
}
