//! Rows outside the range of the training rows.

use pyo3::prelude::*;

/// What is outside in the blocks of a table that were looked at.
#[pyclass(frozen, module = "mercer._core")]
pub struct Outside {
    pub found: mercer::data::Outside,
}

#[pymethods]
impl Outside {
    /// Places of the rows, from 0.
    #[getter]
    fn rows(&self) -> Vec<usize> {
        self.found.rows.clone()
    }

    /// What is said of them; `None` where every row is within.
    fn text(&self) -> Option<String> {
        (!self.found.is_empty()).then(|| self.found.to_string())
    }
}
