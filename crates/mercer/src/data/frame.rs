//! A table of named columns, as it came from a file and before anything is decided about it.

use std::collections::HashMap;

use crate::error::{Error, Result, nearest};

/// One column of a [`Frame`].
#[derive(Debug, Clone, PartialEq)]
pub enum Column {
    /// Numbers; a missing cell is NaN.
    Number(Vec<f64>),
    /// Text; a missing cell is `None`.
    Text(Vec<Option<String>>),
}

impl Column {
    /// Number of cells.
    pub fn len(&self) -> usize {
        match self {
            Column::Number(cells) => cells.len(),
            Column::Text(cells) => cells.len(),
        }
    }

    /// Whether there are no cells.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether the cell at `row` (from 0) is missing.
    pub fn is_missing(&self, row: usize) -> bool {
        match self {
            Column::Number(cells) => cells[row].is_nan(),
            Column::Text(cells) => cells[row].is_none(),
        }
    }
}

/// A table of named columns of one length.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Frame {
    names: Vec<String>,
    columns: Vec<Column>,
    /// Where each name stands; tables may have many thousand columns.
    places: HashMap<String, usize>,
    rows: usize,
}

impl Frame {
    /// A table of `rows` rows and no columns.
    pub fn new(rows: usize) -> Self {
        Frame { rows, ..Frame::default() }
    }

    /// Adds a column at the right. Its name must be new and its length the table's.
    pub fn push(&mut self, name: impl Into<String>, column: Column) -> Result<()> {
        let name = name.into();
        if column.len() != self.rows {
            return Err(Error::shape(
                format!("column {name:?}"),
                format!("{} rows", self.rows),
                format!("{}", column.len()),
            ));
        }
        if self.places.contains_key(&name) {
            return Err(Error::Column { column: name, problem: "stands twice in the table".into() });
        }
        self.places.insert(name.clone(), self.names.len());
        self.names.push(name);
        self.columns.push(column);
        Ok(())
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Adds the rows of another table below. It must have the same columns; a column that is text in one of the two is
    /// text afterwards.
    pub fn append(&mut self, other: &Frame) -> Result<()> {
        if other.names.len() != self.names.len() {
            let expected = format!("{} columns, as the rows before", self.names.len());
            return Err(Error::shape("the added rows", expected, other.names.len()));
        }
        let added: Vec<&Column> = self.names.iter().map(|name| other.column(name)).collect::<Result<_>>()?;
        for (column, added) in self.columns.iter_mut().zip(added) {
            match (&mut *column, added) {
                (Column::Number(cells), Column::Number(more)) => cells.extend_from_slice(more),
                (Column::Text(cells), Column::Text(more)) => cells.extend_from_slice(more),
                (Column::Text(cells), Column::Number(more)) => cells.extend(more.iter().map(|x| as_text(*x))),
                (Column::Number(cells), Column::Text(more)) => {
                    let texts = cells.iter().map(|x| as_text(*x)).chain(more.iter().cloned());
                    *column = Column::Text(texts.collect());
                }
            }
        }
        self.rows += other.rows;
        Ok(())
    }

    /// These rows, in this order.
    pub fn select_rows(&self, rows: &[usize]) -> Self {
        let columns = self.columns.iter().map(|column| match column {
            Column::Number(cells) => Column::Number(rows.iter().map(|row| cells[*row]).collect()),
            Column::Text(cells) => Column::Text(rows.iter().map(|row| cells[*row].clone()).collect()),
        });
        Frame { names: self.names.clone(), columns: columns.collect(), places: self.places.clone(), rows: rows.len() }
    }

    /// The columns' names, in order.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Names and columns, in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Column)> {
        self.names.iter().map(String::as_str).zip(&self.columns)
    }

    /// The column called `name`; the error lists the ones there are.
    pub fn column(&self, name: &str) -> Result<&Column> {
        match self.places.get(name) {
            Some(index) => Ok(&self.columns[*index]),
            None => Err(Error::MissingColumn {
                name: name.to_owned(),
                known: self.names.clone(),
                suggestion: nearest(name, self.names.iter().map(String::as_str)),
            }),
        }
    }
}

/// A number as a category; a missing cell has none.
pub(super) fn as_text(number: f64) -> Option<String> {
    (!number.is_nan()).then(|| number.to_string())
}
