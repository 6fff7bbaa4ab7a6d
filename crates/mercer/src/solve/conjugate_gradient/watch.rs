//! Stages by name, and questions in between that leave the name as it is.

use std::sync::{Mutex, PoisonError};

use crate::base::error::Result;

/// What a person at a terminal is shown of a solver, and by which it is stopped.
pub(crate) struct Watch<'a> {
    /// Told the stage; an error ends the solver.
    tell: &'a (dyn Fn(&'static str) -> Result<()> + Sync),
    shown: Mutex<&'static str>,
}

impl<'a> Watch<'a> {
    pub fn new(tell: &'a (dyn Fn(&'static str) -> Result<()> + Sync)) -> Self {
        Watch { tell, shown: Mutex::new("conjugate gradients") }
    }

    /// A stage begins.
    pub fn enter(&self, stage: &'static str) -> Result<()> {
        *self.shown.lock().unwrap_or_else(PoisonError::into_inner) = stage;
        (self.tell)(stage)
    }

    /// Whether to go on, in the stage that was entered last.
    pub fn poll(&self) -> Result<()> {
        let stage = *self.shown.lock().unwrap_or_else(PoisonError::into_inner);
        (self.tell)(stage)
    }
}
