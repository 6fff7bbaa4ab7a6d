//! Typed columns into numbers and text, and back.

use std::borrow::Cow;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Float64Type;
use arrow_array::{Array, ArrayRef, Float64Array, LargeStringArray, RecordBatch, StringArray, StringViewArray};
use arrow_cast::{CastOptions, can_cast_types, cast_with_options};
use arrow_schema::{ArrowError, DataType, Field, Schema};
use mercer::data::{Column, Frame};

use super::damaged;
use crate::MAX_COLUMNS;
use crate::csv::too_wide;
use crate::error::{Error, Result};

/// A cell that does not fit its new type is an error, never quietly a missing one.
const STRICT: CastOptions<'static> =
    CastOptions { safe: false, format_options: arrow_cast::display::FormatOptions::new() };

/// Bytes that a text cell takes besides its letters: the string and its share of the allocator.
const TEXT_CELL: u64 = 40;

/// A table as it grows, batch by batch, within its limit.
pub(super) struct Table<'a> {
    file: &'a str,
    names: Vec<String>,
    columns: Vec<Column>,
    rows: usize,
    used: u64,
    limit: u64,
}

impl<'a> Table<'a> {
    /// An empty table with the columns of `schema`.
    pub(super) fn new(schema: &Schema, file: &'a str, limit: u64) -> Result<Self> {
        let fields = schema.fields();
        if fields.is_empty() {
            return Err(Error::format(file, "has no columns; a table needs at least one"));
        }
        if fields.len() > MAX_COLUMNS {
            return Err(Error::format(file, too_wide(fields.len())));
        }
        let columns = fields
            .iter()
            .map(|field| {
                empty_column(field.data_type()).ok_or_else(|| mercer::Error::Column {
                    column: field.name().clone(),
                    problem: format!(
                        "must hold numbers or text and holds {}; drop it or spread it over several columns",
                        field.data_type()
                    ),
                })
            })
            .collect::<Result<_, _>>()?;
        let names = fields.iter().map(|field| field.name().clone()).collect();
        Ok(Table { file, names, columns, rows: 0, used: 0, limit })
    }

    /// Refuses `rows` rows if they cannot fit.
    pub(super) fn expect(&self, rows: u64) -> Result<()> {
        let cells = rows.saturating_mul(self.columns.len() as u64).saturating_mul(8);
        self.refuse_beyond(self.used.saturating_add(cells), self.rows as u64 + rows)
    }

    /// Number of rows so far.
    pub(super) fn rows(&self) -> usize {
        self.rows
    }

    /// Adds the rows of a batch.
    pub(super) fn append(&mut self, batch: &RecordBatch) -> Result<()> {
        // A batch can claim any number of rows when nothing is stored for them, as for a column of
        // nothing but missing cells.
        self.expect(batch.num_rows() as u64)?;
        if batch.num_columns() != self.columns.len() {
            return Err(damaged(self.file, "its batches differ in their columns"));
        }
        let mut columns = std::mem::take(&mut self.columns);
        for ((column, array), name) in columns.iter_mut().zip(batch.columns()).zip(&self.names) {
            let broken = |error: ArrowError| {
                Error::Data(mercer::Error::Column {
                    column: name.clone(),
                    problem: format!("holds {} and cannot be read as {error}", array.data_type()),
                })
            };
            let (values, keys) = split(array);
            match column {
                Column::Number(cells) => {
                    let values = cast_with_options(values, &DataType::Float64, &STRICT).map_err(broken)?;
                    let values = values.as_primitive::<Float64Type>();
                    for row in 0..array.len() {
                        let at = keys.at(row).filter(|&at| at < values.len() && values.is_valid(at));
                        cells.push(at.map_or(f64::NAN, |at| values.value(at)));
                    }
                    self.used += 8 * array.len() as u64;
                }
                Column::Text(cells) => {
                    let values = Strings::new(values).map_err(broken)?;
                    for row in 0..array.len() {
                        let text = keys.at(row).and_then(|at| values.get(at));
                        self.used += TEXT_CELL + text.map_or(0, str::len) as u64;
                        if self.used > self.limit {
                            return self.refuse_beyond(self.used, (self.rows + row) as u64);
                        }
                        cells.push(text.map(str::to_owned));
                    }
                }
            }
        }
        self.columns = columns;
        self.rows += batch.num_rows();
        Ok(())
    }

    /// The finished table.
    pub(super) fn finish(self) -> Result<Frame> {
        let mut frame = Frame::new(self.rows);
        for (name, column) in self.names.into_iter().zip(self.columns) {
            frame.push(name, column)?;
        }
        Ok(frame)
    }

    fn refuse_beyond(&self, needed: u64, rows: u64) -> Result<()> {
        if needed <= self.limit {
            return Ok(());
        }
        let what = format!("a table of {rows} rows and {} columns", self.names.len());
        Err(Error::memory(self.file, what, needed, self.limit))
    }
}

/// What a column of this type becomes, yet without cells; `None` where there is no single number or
/// text for a cell.
fn empty_column(of: &DataType) -> Option<Column> {
    if let DataType::Dictionary(_, values) = of {
        return match values.as_ref() {
            DataType::Dictionary(..) => None,
            values => empty_column(values),
        };
    }
    // Runs are cast row by row, and a few bytes of runs can stand for any number of rows.
    if of.is_nested() || matches!(of, DataType::RunEndEncoded(..) | DataType::FixedSizeBinary(_)) {
        None
    } else if of.is_numeric() || matches!(of, DataType::Boolean | DataType::Null) {
        Some(Column::Number(Vec::new()))
    } else {
        can_cast_types(of, &DataType::Utf8).then(|| Column::Text(Vec::new()))
    }
}

/// Where the value of each row is found.
enum Keys<'a> {
    /// In its own row.
    Rows,
    /// Where the dictionary's key says.
    Dictionary(&'a dyn Array, Vec<usize>),
}

impl Keys<'_> {
    fn at(&self, row: usize) -> Option<usize> {
        match self {
            Keys::Rows => Some(row),
            Keys::Dictionary(keys, positions) => {
                if keys.is_null(row) {
                    None
                } else {
                    positions.get(row).copied()
                }
            }
        }
    }
}

/// A column's values and where each row finds its own. A dictionary stays packed: unpacked, a long
/// text that many rows share would be there once for every row.
fn split(array: &ArrayRef) -> (&ArrayRef, Keys<'_>) {
    match array.as_any_dictionary_opt() {
        // Without values all keys are null, and `normalized_keys` panics.
        Some(dictionary) if dictionary.values().is_empty() => {
            (dictionary.values(), Keys::Dictionary(dictionary.keys(), Vec::new()))
        }
        Some(dictionary) => (dictionary.values(), Keys::Dictionary(dictionary.keys(), dictionary.normalized_keys())),
        None => (array, Keys::Rows),
    }
}

/// Text of any of Arrow's three layouts, as it is.
enum Strings {
    Small(StringArray),
    Large(LargeStringArray),
    View(StringViewArray),
}

impl Strings {
    fn new(array: &ArrayRef) -> Result<Self, ArrowError> {
        let to = match array.data_type() {
            DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => array.data_type(),
            DataType::LargeBinary => &DataType::LargeUtf8,
            DataType::BinaryView => &DataType::Utf8View,
            DataType::Timestamp(unit, Some(_)) => {
                // In universal time: the zone's name would need a table of all the world's zones.
                let utc = DataType::Timestamp(*unit, Some("+00:00".into()));
                return Strings::new(&cast_with_options(
                    &cast_with_options(array, &utc, &STRICT)?,
                    &DataType::Utf8,
                    &STRICT,
                )?);
            }
            _ => &DataType::Utf8,
        };
        let array = cast_with_options(array, to, &STRICT)?;
        Ok(match to {
            DataType::LargeUtf8 => Strings::Large(array.as_string().clone()),
            DataType::Utf8View => Strings::View(array.as_string_view().clone()),
            _ => Strings::Small(array.as_string().clone()),
        })
    }

    fn get(&self, at: usize) -> Option<&str> {
        match self {
            Strings::Small(array) => (at < array.len() && array.is_valid(at)).then(|| array.value(at)),
            Strings::Large(array) => (at < array.len() && array.is_valid(at)).then(|| array.value(at)),
            Strings::View(array) => (at < array.len() && array.is_valid(at)).then(|| array.value(at)),
        }
    }
}

/// A table with extra columns as one batch.
pub(super) fn batch(frame: &Frame, extra: &[(String, Column)]) -> Result<RecordBatch, ArrowError> {
    let mut fields = Vec::new();
    let mut arrays: Vec<ArrayRef> = Vec::new();
    let number = |cell: f64| (!cell.is_nan()).then_some(cell);
    let extra = extra.iter().map(|(name, column)| (name, Cow::Borrowed(column)));
    let own = frame.names().iter().filter_map(|name| Some((name, frame.as_written(name).ok()?)));
    for (name, column) in own.chain(extra) {
        let (of, array): (_, ArrayRef) = match &*column {
            Column::Number(cells) => {
                (DataType::Float64, Arc::new(cells.iter().map(|&cell| number(cell)).collect::<Float64Array>()))
            }
            // Large: the small layout panics beyond 2 GiB of letters.
            Column::Text(cells) => (DataType::LargeUtf8, Arc::new(cells.iter().collect::<LargeStringArray>())),
        };
        fields.push(Field::new(name, of, true));
        arrays.push(array);
    }
    RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays)
}
