//! A table of named columns, as it came from a file and before anything is decided about it.

use std::borrow::Cow;
use std::collections::HashMap;

use super::labels::Labels;
use super::reading::{self, Marks, Reading};
use crate::base::error::{Error, Result, nearest};

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
    /// How its texts write numbers.
    marks: Marks,
    /// For each column of numbers that was read from texts like `12 kg`: what they stand for, and the texts.
    written: Vec<Option<Written>>,
    /// For columns whose numbers may mean something else: the row (from 0), and what they may mean.
    doubts: HashMap<usize, (usize, String)>,
    /// For the column of plain numbers that names classes: its place, and how the numbers were written.
    labels: Option<Box<(usize, Labels)>>,
}

/// Numbers as they were written.
#[derive(Debug, Clone, PartialEq)]
struct Written {
    reading: Reading,
    texts: Vec<Option<String>>,
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
        self.written.push(None);
        Ok(())
    }

    /// Reads columns of texts as numbers where all cells say numbers of one kind: percent, currency, a unit, grouped
    /// thousands, dates, times of day. Columns for which `is_text` holds (by place) stay texts.
    pub fn read_texts(&mut self, marks: Marks, is_text: impl Fn(usize) -> bool) {
        self.marks = marks;
        for (place, column) in self.columns.iter_mut().enumerate().filter(|(place, _)| !is_text(*place)) {
            let Column::Text(texts) = column else { continue };
            if let Some((reading, numbers)) = reading::numbers(texts, marks) {
                self.written[place] = Some(Written { reading, texts: std::mem::take(texts) });
                *column = Column::Number(numbers);
            }
        }
    }

    /// The columns of texts whose cells are plain numbers, as they may be names too: codes, years.
    pub fn numbers_as_texts(&self) -> Vec<&str> {
        let is_number = |text: &String| text.trim().parse::<f64>().is_ok();
        let all =
            |cells: &[Option<String>]| cells.iter().flatten().next().is_some() && cells.iter().flatten().all(is_number);
        let is_plain = |column: &Column| matches!(column, Column::Text(cells) if all(cells));
        self.names
            .iter()
            .zip(&self.columns)
            .filter(|(_, column)| is_plain(column))
            .map(|(name, _)| name.as_str())
            .collect()
    }

    /// Sentences about columns of numbers in which one number, such as -999, may mark missing cells.
    pub fn missing_marks(&self) -> Vec<String> {
        let sentence = |(name, column): (&str, &Column)| {
            let Column::Number(cells) = column else { return None };
            let (mark, first, rows, [low, high]) = reading::missing_mark(cells)?;
            Some(format!(
                "column {name:?}: {rows} cells are {mark} (first in row {}), and all others are within {low} … {high}",
                first + 1
            ))
        };
        self.iter().filter_map(sentence).collect()
    }

    /// Makes texts again of a column that was read as numbers.
    pub fn unread(&mut self, place: usize) {
        if let Some(written) = self.written.get_mut(place).and_then(Option::take) {
            self.columns[place] = Column::Text(written.texts);
        }
    }

    /// The same table with other cells in the column called `name`.
    pub fn with_column(&self, name: &str, column: Column) -> Result<Self> {
        self.column(name)?;
        if column.len() != self.rows {
            return Err(Error::shape(format!("column {name:?}"), format!("{} rows", self.rows), column.len()));
        }
        let mut frame = self.clone();
        if let Some(place) = self.places.get(name) {
            frame.columns[*place] = column;
            frame.written[*place] = None;
            frame.doubts.remove(place);
            frame.labels = frame.labels.filter(|labels| labels.0 != *place);
        }
        Ok(frame)
    }

    /// How the numbers of a column were written, if that is known.
    pub(super) fn labels(&self, name: &str) -> Option<&Labels> {
        let place = self.places.get(name)?;
        self.labels.as_ref().filter(|labels| labels.0 == *place).map(|labels| &labels.1)
    }

    pub(super) fn keep_labels(&mut self, name: &str, labels: Labels) {
        self.labels = self.places.get(name).map(|place| Box::new((*place, labels)));
    }

    /// How its texts write numbers.
    pub fn marks(&self) -> Marks {
        self.marks
    }

    /// What the numbers of a column stand for.
    pub fn reading(&self, name: &str) -> Reading {
        let written = self.places.get(name).and_then(|place| self.written[*place].as_ref());
        written.map_or(Reading::Number, |written| written.reading.clone())
    }

    /// Whether the cells of the column at this place are texts, whatever was read from them.
    pub fn is_text(&self, place: usize) -> bool {
        self.written[place].is_some() || matches!(self.columns[place], Column::Text(_))
    }

    /// The column called `name` as it was written: texts where numbers were read from texts.
    pub fn as_written(&self, name: &str) -> Result<Cow<'_, Column>> {
        let column = self.column(name)?;
        let written = self.places.get(name).and_then(|place| self.written[*place].as_ref());
        Ok(match written {
            Some(written) => Cow::Owned(Column::Text(written.texts.clone())),
            None => Cow::Borrowed(column),
        })
    }

    /// The texts that numbers were read from.
    pub fn texts(&self, name: &str) -> Option<&[Option<String>]> {
        let written = self.places.get(name).and_then(|place| self.written[*place].as_ref())?;
        Some(&written.texts)
    }

    /// A column of dates that falls from row to row, where no other rises: the table runs backwards in time.
    pub fn runs_backwards(&self) -> Option<&str> {
        /// Two rows have an order by chance.
        const FEWEST: usize = 3;
        let mut found = None;
        for (name, column) in
            self.iter().filter(|(name, _)| matches!(self.reading(name), Reading::Date | Reading::Instant))
        {
            let Column::Number(cells) = column else { continue };
            let cells: Vec<f64> = cells.iter().copied().filter(|cell| !cell.is_nan()).collect();
            if cells.len() < FEWEST || cells.first() == cells.last() {
                continue;
            }
            if cells.is_sorted() {
                return None;
            }
            if found.is_none() && cells.is_sorted_by(|a, b| a >= b) {
                found = Some(name);
            }
        }
        found
    }

    /// Records that the numbers of the column at this place may mean something else, at this row (from 0).
    pub fn add_doubt(&mut self, place: usize, row: usize, problem: String) {
        self.doubts.insert(place, (row, problem));
    }

    /// Refuses a column whose numbers may mean something else.
    pub(crate) fn refuse_doubt(&self, name: &str) -> Result<()> {
        match self.places.get(name).and_then(|place| self.doubts.get(place)) {
            Some((row, problem)) => Err(Error::cell(row + 1, name, problem.clone())),
            None => Ok(()),
        }
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
        for name in &self.names {
            other.column(name)?;
        }
        for (place, name) in self.names.iter().enumerate() {
            let there = other.places[name];
            let mut added = Cow::Borrowed(&other.columns[there]);
            if let Some((row, problem)) = other.doubts.get(&there) {
                self.doubts.entry(place).or_insert((self.rows + row, problem.clone()));
            }
            let column = &mut self.columns[place];
            match (&mut self.written[place], &other.written[there]) {
                (None, None) => {}
                (Some(own), Some(more)) if own.reading == more.reading => own.texts.extend_from_slice(&more.texts),
                (own, more) => {
                    let is_empty = |column: &Column| (0..column.len()).all(|row| column.is_missing(row));
                    let is_number = |column: &Column| matches!(column, Column::Number(_));
                    match (own.is_some(), more) {
                        // A column without any cell so far has no kind yet, and one without any more keeps its own.
                        (false, Some(more)) if is_empty(column) => {
                            let texts = std::iter::repeat_n(None, self.rows).chain(more.texts.iter().cloned());
                            *own = Some(Written { reading: more.reading.clone(), texts: texts.collect() });
                        }
                        (true, None) if is_empty(&added) => {
                            own.iter_mut().for_each(|own| own.texts.extend(std::iter::repeat_n(None, other.rows)));
                        }
                        // 1,234 is a plain number that is written with a mark.
                        (false, Some(more)) if more.reading == Reading::Number && is_number(column) => {
                            let texts = plain(column).chain(more.texts.iter().cloned()).collect();
                            *own = Some(Written { reading: Reading::Number, texts });
                        }
                        (true, None)
                            if own.as_ref().is_some_and(|own| own.reading == Reading::Number) && is_number(&added) =>
                        {
                            own.iter_mut().for_each(|own| own.texts.extend(plain(&added)));
                        }
                        _ => {
                            if let Some(own) = own.take() {
                                *column = Column::Text(own.texts);
                            }
                            if let Some(more) = more {
                                added = Cow::Owned(Column::Text(more.texts.clone()));
                            }
                        }
                    }
                }
            }
            match (&mut *column, &*added) {
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
        self.labels = None;
        Ok(())
    }

    /// These rows, in this order.
    pub fn select_rows(&self, rows: &[usize]) -> Self {
        let columns = self.columns.iter().map(|column| match column {
            Column::Number(cells) => Column::Number(rows.iter().map(|row| cells[*row]).collect()),
            Column::Text(cells) => Column::Text(rows.iter().map(|row| cells[*row].clone()).collect()),
        });
        let texts = |written: &Written| rows.iter().map(|row| written.texts[*row].clone()).collect();
        let selected = |written: &Written| Written { reading: written.reading.clone(), texts: texts(written) };
        Frame {
            names: self.names.clone(),
            columns: columns.collect(),
            places: self.places.clone(),
            rows: rows.len(),
            marks: self.marks,
            written: self.written.iter().map(|written| written.as_ref().map(selected)).collect(),
            doubts: self.doubts.clone(),
            labels: self.labels.as_ref().map(|labels| Box::new((labels.0, labels.1.select_rows(rows)))),
        }
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
                known: self.names.iter().filter(|name| !name.is_empty()).cloned().collect(),
                suggestion: nearest(name, self.names.iter().map(String::as_str)),
            }),
        }
    }
}

/// The cells of a column as texts.
fn plain(column: &Column) -> impl Iterator<Item = Option<String>> + '_ {
    (0..column.len()).map(move |row| match column {
        Column::Number(cells) => as_text(cells[row]),
        Column::Text(cells) => cells[row].clone(),
    })
}

/// A number as a category; a missing cell has none.
pub(super) fn as_text(number: f64) -> Option<String> {
    (!number.is_nan()).then(|| number.to_string())
}
