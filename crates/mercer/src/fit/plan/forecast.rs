//! What every method would take on this machine, before any of it is done: bytes, seconds, and what it could certify.
//!
//! Seconds are counts of operations divided by rates ([`Calibration`]) that are measured when they are asked for, within half
//! a second and with the kernel and the width of the table at hand. [`Fit::forecast`](crate::Fit::forecast) makes the
//! list; a fit follows the same plan.

mod automatic;
mod calibration;
pub(crate) mod cost;

pub use calibration::Calibration;

/// One way to a model.
#[derive(Debug, Clone, PartialEq)]
pub struct Forecast {
    /// In words.
    pub method: String,
    /// Landmarks, where some stand for all rows.
    pub landmarks: Option<usize>,
    /// Bytes at the peak.
    pub bytes: u64,
    /// Seconds, choices included.
    pub seconds: f64,
    /// What its answer would come with.
    pub certificate: &'static str,
    /// Whether it fits into memory.
    pub fits: bool,
    /// Whether a fit with these settings would take it.
    pub is_chosen: bool,
    /// Whether landmarks, bytes and seconds are the most that it can come to, where how far it goes is found out on the way.
    pub is_most: bool,
}

/// All ways to a model, and which would be taken.
#[derive(Debug, Clone, PartialEq)]
pub struct Outlook {
    /// Training rows.
    pub rows: usize,
    /// Numeric features after encoding.
    pub features: usize,
    /// The (first) kernel, with its numbers.
    pub kernel: String,
    /// Bytes that may be used.
    pub limit: u64,
    /// What was measured.
    pub calibration: Calibration,
    /// In the order of the method that is the most exact first.
    pub methods: Vec<Forecast>,
    /// Why the chosen one is chosen, or none is.
    pub reason: String,
}

impl Outlook {
    /// The one that a fit would take; `None` where it would refuse.
    pub fn chosen(&self) -> Option<&Forecast> {
        self.methods.iter().find(|forecast| forecast.is_chosen)
    }
}

/// What the methods can certify.
pub(crate) mod certificates {
    pub const SPECTRUM: &str = "digits of predictions, all stationary points counted, exact leave-one-out";
    pub const FACTORED: &str = "digits of predictions, exact leave-one-out";
    pub const GRADIENTS: &str = "digits of predictions from the true residual; no leave-one-out";
    pub const LANDMARKS: &str = "exact leave-one-out of the landmarks' model, a bound of its distance from all rows";
    pub const LANDMARKS_PARTLY: &str =
        "exact leave-one-out of the landmarks' model; a bound of its distance from all rows for exponents above 1";
    pub const LANDMARKS_UNBOUNDED: &str =
        "exact leave-one-out of the landmarks' model; no bound of its distance from all rows";
    pub const MANY_LANDMARKS: &str = "digits of the landmarks' model from its gradient; no leave-one-out";
    pub const MOMENTS: &str = "exact k-fold of the landmarks' model; no bound of its distance from all rows";
    pub const GAP: &str = "duality gap of the objective";
    pub const GAP_ON_LANDMARKS: &str =
        "duality gap of the landmarks' objective; no bound of its distance from all rows";
}
