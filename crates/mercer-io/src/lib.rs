//! Tables and models as files.
//!
//! [`read`] turns CSV, LIBSVM, Parquet and Arrow IPC into a [`mercer::data::Frame`], and [`write()`]
//! turns one back; [`parts::open`] reads a table a few rows at a time, and [`TableWriter`] writes one so. [`onnx::bytes`] makes a model
//! readable elsewhere. [`atomic::save`] replaces a file in one step and [`model::load`] reads a model's
//! bytes. No input makes these functions panic; what they refuse they refuse in a sentence.

pub mod atomic;
pub mod model;
pub mod onnx;
pub mod parts;

#[cfg(feature = "arrow")]
mod columnar;
mod csv;
mod detect;
mod error;
mod grouping;
mod header;
mod input;
mod libsvm;
mod measure;
mod number;
mod preamble;
mod sniff;
mod write;
mod writer;

use mercer::data::{Column, Frame, Marks, Thousands};

pub use crate::detect::Format;
pub use crate::error::{Error, Result};
pub use crate::measure::{Size, measure};
pub use crate::write::{check_name, is_text, write, write_frame, write_with};
pub use crate::writer::TableWriter;

/// Bytes that a table may take when no limit was given and a small file can make a large table.
pub const DENSE_LIMIT: u64 = 4 << 30;

/// Columns that a table may have. Far beyond any table that makes sense here, and low enough that a
/// file of nothing but separators does not keep the machine busy.
pub const MAX_COLUMNS: usize = 100_000;

/// How to read a table. The default finds everything out by itself.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReadOptions {
    /// The format; otherwise it is told from the name and the bytes.
    pub format: Option<Format>,
    /// CSV: the separator between cells; otherwise it is told from the first lines. A blank stands for
    /// any run of blanks.
    pub separator: Option<u8>,
    /// CSV: numbers are written with a decimal comma.
    pub decimal_comma: bool,
    /// What separates groups of three digits.
    pub thousands: Thousands,
    /// CSV: whether the first row names the columns; otherwise it does unless it is all numbers.
    pub header: Option<bool>,
    /// CSV: marks of missing cells besides the usual ones.
    pub missing: Vec<String>,
    /// CSV: lines above the header that are passed over.
    pub skip_rows: usize,
    /// CSV: lines that begin with this character are passed over.
    pub comment: Option<u8>,
    /// Bytes that the file, unpacked, and for LIBSVM, Parquet and Arrow the table may take. Without it
    /// the file may have any size, and those tables [`DENSE_LIMIT`].
    pub memory_limit: Option<u64>,
}

impl ReadOptions {
    /// How texts write numbers.
    pub(crate) fn marks(&self) -> Marks {
        Marks { decimal_comma: self.decimal_comma, thousands: self.thousands }
    }
}

/// A table, and for CSV the file it came from, so that its cells can be written again letter for letter.
#[derive(Debug, Clone)]
pub struct Table {
    /// The table.
    ///
    /// To write a changed one, make a new table of it with [`Table::from`]: this one's source would
    /// still be the old file.
    pub frame: Frame,
    /// What should be known about how it was read.
    pub notes: Vec<String>,
    source: Option<csv::CsvSource>,
}

impl From<Frame> for Table {
    fn from(frame: Frame) -> Self {
        Table { frame, notes: Vec::new(), source: None }
    }
}

/// Different texts of a column, at most, that may name classes.
const MOST_LABELS: usize = 4096;

impl Table {
    /// Records how a column of plain numbers is written in the file, so that classes have the names that the table gives them
    /// (see [`Frame::set_labels`]). Only CSV has such texts; nothing changes for other formats and columns.
    pub fn keep_labels(&mut self, name: &str) {
        let place = self.frame.names().iter().position(|known| known == name);
        let source = self.source.as_ref().filter(|source| source.fits(&self.frame));
        let (Some(place), Some(source), Ok(Column::Number(_))) = (place, source, self.frame.column(name)) else {
            return;
        };
        if let Some((texts, codes)) = source.texts(place, MOST_LABELS) {
            // The column is there.
            let _ = self.frame.set_labels(name, &texts, &codes);
        }
    }
}

/// Reads the table in the file at `path`, or on standard input for `-`.
pub fn read(path: &str, options: &ReadOptions) -> Result<Table> {
    let bytes = input::read(path, options.memory_limit)?;
    let name = if path == "-" { input::STDIN } else { path };
    read_bytes(bytes, name, options)
}

/// The same, with what `of_bytes` makes of the bytes as they stand in the file.
pub fn read_and<T>(path: &str, options: &ReadOptions, of_bytes: impl FnOnce(&[u8]) -> T) -> Result<(Table, T)> {
    let bytes = input::read(path, options.memory_limit)?;
    let made = of_bytes(&bytes);
    let name = if path == "-" { input::STDIN } else { path };
    Ok((read_bytes(bytes, name, options)?, made))
}

/// Reads the table in `bytes`. The name's extension helps to tell the format, and messages contain it.
pub fn read_bytes(bytes: Vec<u8>, name: &str, options: &ReadOptions) -> Result<Table> {
    let bytes = if input::is_gzip(&bytes) { input::gunzip(&bytes, name, options.memory_limit)? } else { bytes };
    match options.format.unwrap_or_else(|| Format::detect(name, &bytes)) {
        Format::Csv => {
            let (frame, source, mut notes) = csv::read(bytes, name, options)?;
            let marked = frame.missing_marks().into_iter();
            notes.extend(marked.map(|what| format!("{what}; --na MARK if that number marks missing cells")));
            Ok(Table { frame, notes, source: Some(source) })
        }
        Format::Libsvm => libsvm::read(&bytes, name, options).map(Table::from),
        binary @ (Format::Parquet | Format::Arrow) => {
            let mut frame = from_columnar(bytes, binary, name, options)?;
            frame.read_texts(options.marks(), |_| false);
            Ok(frame.into())
        }
    }
}

#[cfg(feature = "arrow")]
use columnar::{read as from_columnar, write as to_columnar};

#[cfg(not(feature = "arrow"))]
fn from_columnar(_: Vec<u8>, format: Format, name: &str, _: &ReadOptions) -> Result<Frame> {
    Err(not_built(format, name))
}

#[cfg(not(feature = "arrow"))]
fn to_columnar(_: &Frame, _: &[(String, Column)], format: Format, name: &str) -> Result<Vec<u8>> {
    Err(not_built(format, name))
}

#[cfg(not(feature = "arrow"))]
fn not_built(format: Format, name: &str) -> Error {
    Error::format(name, format!("this program was built without {format}; build it with the feature `arrow`"))
}
