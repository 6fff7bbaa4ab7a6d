//! Parquet and Arrow IPC.
//!
//! Both come as batches of typed columns; [`table`] turns those into numbers and text and back, and the
//! two formats' modules say how their bytes are packed.

mod ipc;
mod parquet;
mod table;

use std::panic::{AssertUnwindSafe, catch_unwind};

use mercer::data::{Column, Frame};

use crate::atomic::Pending;
use crate::error::{Error, Result};
use crate::{DENSE_LIMIT, Format, ReadOptions};

/// Reads a table; `format` is one of the two.
pub(crate) fn read(bytes: Vec<u8>, format: Format, name: &str, options: &ReadOptions) -> Result<Frame> {
    let limit = options.memory_limit.unwrap_or(DENSE_LIMIT);
    guard(name, || match format {
        Format::Parquet => parquet::read(bytes, name, limit),
        _ => ipc::read(bytes, name, limit),
    })
}

/// The rows and columns that a Parquet file promises.
pub(crate) fn size(file: std::fs::File, name: &str) -> Result<(u64, u64)> {
    guard(name, || parquet::size(file, name))
}

/// A Parquet file, read a few rows at a time.
pub(crate) struct Batches(parquet::Batches);

impl Batches {
    /// Rows that the file promises.
    pub(crate) fn total_rows(&self) -> Option<usize> {
        self.0.total_rows()
    }

    pub(crate) fn open(file: std::fs::File, name: &str, options: &ReadOptions) -> Result<Self> {
        let limit = options.memory_limit.unwrap_or(DENSE_LIMIT);
        guard(name, || parquet::Batches::open(file, name, limit)).map(Batches)
    }

    /// About so many rows; none at the end.
    pub(crate) fn next(&mut self, most: usize, name: &str) -> Result<Frame> {
        guard(name, || self.0.next(most, name))
    }
}

/// A Parquet file that is written part by part.
pub(crate) struct PartWriter(parquet::PartWriter);

impl PartWriter {
    /// Begins with the columns of a first part, which is yet to be written.
    pub(crate) fn start(to: Pending, frame: &Frame, extra: &[(String, Column)], name: &str) -> Result<Self> {
        let batch = table::batch(frame, extra).map_err(|error| failed(name, &error))?;
        parquet::PartWriter::start(to, batch.schema()).map(PartWriter).map_err(|error| failed(name, &error))
    }

    pub(crate) fn write(&mut self, frame: &Frame, extra: &[(String, Column)], name: &str) -> Result<()> {
        let batch = table::batch(frame, extra).map_err(|error| failed(name, &error))?;
        self.0.write(&batch).map_err(|error| failed(name, &error))
    }

    pub(crate) fn finish(self, name: &str) -> Result<()> {
        self.0.finish().map_err(|error| failed(name, &error))?.commit()
    }
}

/// The bytes of a table with extra columns; `format` is one of the two.
pub(crate) fn write(frame: &Frame, extra: &[(String, Column)], format: Format, name: &str) -> Result<Vec<u8>> {
    guard(name, || {
        let batch = table::batch(frame, extra).map_err(|error| failed(name, &error))?;
        match format {
            Format::Parquet => parquet::write(&batch).map_err(|error| failed(name, &error)),
            _ => ipc::write(&batch).map_err(|error| failed(name, &error)),
        }
    })
}

/// Runs a decoder, and makes an error of a panic.
///
/// The decoders check their input and return errors, but over the years damaged files have been found
/// that reach an assertion or an index out of bounds deep inside them. To whoever reads the file that
/// is the same thing: it is damaged. Nothing of a half-read table survives the unwinding, so nothing
/// can be seen in a broken state.
fn guard<T>(name: &str, decode: impl FnOnce() -> Result<T>) -> Result<T> {
    catch_unwind(AssertUnwindSafe(decode)).unwrap_or_else(|_| Err(damaged(name, "the decoder gave up on it")))
}

fn damaged(name: &str, why: impl std::fmt::Display) -> Error {
    Error::format(name, format!("is damaged or not what its name says ({why}); fetch or write it again"))
}

fn failed(name: &str, why: impl std::fmt::Display) -> Error {
    Error::format(name, format!("cannot be written ({why})"))
}
