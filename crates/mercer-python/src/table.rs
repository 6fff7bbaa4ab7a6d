//! Arrays and columns of Python as a table of the core.

use std::sync::Arc;

use mercer::data::{Column, Frame, Marks};
use numpy::{PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;

use crate::refusal::{internal, refused};

/// A table of named columns. Cells are copied once, into the columns that the core reads.
#[pyclass(module = "mercer._core")]
pub struct Table {
    frame: Arc<Frame>,
    /// The rows above it in the table that it is a part of: errors count them.
    above: usize,
}

impl Table {
    /// The table itself.
    pub fn frame(&self) -> Arc<Frame> {
        Arc::clone(&self.frame)
    }

    /// The table, and how many rows are above it.
    pub fn part(&self) -> (Arc<Frame>, usize) {
        (self.frame(), self.above)
    }

    fn push(&mut self, name: String, column: Column) -> PyResult<()> {
        let frame = Arc::get_mut(&mut self.frame).ok_or_else(|| internal("a table in use cannot grow"))?;
        frame.push(name, column).map_err(refused)
    }
}

#[pymethods]
impl Table {
    /// A table of `rows` rows and no columns; `above` rows of a larger table are above it.
    #[new]
    #[pyo3(signature = (rows, above=0))]
    fn new(rows: usize, above: usize) -> Self {
        Table { frame: Arc::new(Frame::new(rows)), above }
    }

    /// The columns of an array of any layout.
    #[staticmethod]
    #[pyo3(signature = (x, names, above=0))]
    fn from_array(x: PyReadonlyArray2<'_, f64>, names: Vec<String>, above: usize) -> PyResult<Self> {
        let x = x.as_array();
        if names.len() != x.ncols() {
            return Err(refused(mercer::Error::shape("the names", format!("{} entries", x.ncols()), names.len())));
        }
        let mut table = Table::new(x.nrows(), above);
        for (j, name) in names.into_iter().enumerate() {
            table.push(name, Column::Number(x.column(j).iter().copied().collect()))?;
        }
        Ok(table)
    }

    /// Adds a column of numbers; NaN is a missing cell.
    fn add_numbers(&mut self, name: String, cells: PyReadonlyArray1<'_, f64>) -> PyResult<()> {
        self.push(name, Column::Number(cells.as_array().iter().copied().collect()))
    }

    /// Adds a column of text; `None` is a missing cell.
    fn add_texts(&mut self, name: String, cells: Vec<Option<String>>) -> PyResult<()> {
        self.push(name, Column::Text(cells))
    }

    /// Reads texts such as `12 kg`, `3,000` or `2020-01-05` as numbers where a whole column says numbers of one kind, but for the columns
    /// of categories. Texts that are plain numbers stay texts, because a table of Python would hold numbers where it means them; their
    /// names are returned.
    fn read_texts(&mut self, categories: Vec<String>) -> PyResult<Vec<String>> {
        let frame = Arc::get_mut(&mut self.frame).ok_or_else(|| internal("a table in use cannot change"))?;
        let mut kept: Vec<String> = frame.numbers_as_texts().into_iter().map(str::to_owned).collect();
        kept.retain(|name| !categories.contains(name));
        let is_text: Vec<bool> =
            frame.names().iter().map(|name| categories.contains(name) || kept.contains(name)).collect();
        frame.read_texts(Marks::default(), |place| is_text[place]);
        Ok(kept)
    }

    /// The columns' names.
    #[getter]
    fn names(&self) -> Vec<String> {
        self.frame.names().to_vec()
    }

    /// The number of rows.
    #[getter]
    fn rows(&self) -> usize {
        self.frame.rows()
    }
}
