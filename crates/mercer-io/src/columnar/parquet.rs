//! Parquet's packing.

use std::fs::File;

use ::parquet::arrow::ArrowWriter;
use ::parquet::arrow::arrow_reader::{ArrowReaderOptions, ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder};
use ::parquet::basic::Compression;
use ::parquet::errors::ParquetError;
use ::parquet::file::metadata::ParquetMetaData;
use ::parquet::file::properties::WriterProperties;
use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use bytes::Bytes;
use mercer::data::Frame;

use super::damaged;
use super::table::Table;
use crate::atomic::Pending;
use crate::error::{Error, Result};

/// Rows that are decoded at once: few, because text that is packed as a dictionary unpacks here.
const BATCH: usize = 4096;

pub(super) fn read(bytes: Vec<u8>, name: &str, limit: u64) -> Result<Frame> {
    // The schema that Arrow writers embed is passed over. It would only bring the same columns in other
    // clothes (large text, dictionaries), and it is one more thing that can be damaged.
    let options = ArrowReaderOptions::new().with_skip_arrow_metadata(true);
    let builder = ParquetRecordBatchReaderBuilder::try_new_with_options(Bytes::from(bytes), options)
        .map_err(|error| damaged(name, error))?;
    refuse_codecs(builder.metadata(), name)?;
    let mut table = Table::new(builder.schema(), name, limit)?;
    // A column of one value over and over packs to nothing, so the size is asked before unpacking.
    let rows = u64::try_from(builder.metadata().file_metadata().num_rows())
        .map_err(|_| damaged(name, "a negative number of rows"))?;
    table.expect(rows)?;
    let reader = builder.with_batch_size(BATCH).build().map_err(|error| damaged(name, error))?;
    for batch in reader {
        table.append(&batch.map_err(|error| damaged(name, error))?)?;
    }
    // Damaged counts can make the reader end early, and quietly.
    if table.rows() as u64 != rows {
        return Err(damaged(name, format!("it promises {rows} rows and has {}", table.rows())));
    }
    table.finish()
}

/// The rows and columns that a file promises.
pub(super) fn size(file: File, name: &str) -> Result<(u64, u64)> {
    let options = ArrowReaderOptions::new().with_skip_arrow_metadata(true);
    let builder =
        ParquetRecordBatchReaderBuilder::try_new_with_options(file, options).map_err(|error| damaged(name, error))?;
    let rows = u64::try_from(builder.metadata().file_metadata().num_rows())
        .map_err(|_| damaged(name, "a negative number of rows"))?;
    Ok((rows, builder.schema().fields().len() as u64))
}

/// A file whose rows are read a few at a time.
pub(crate) struct Batches {
    reader: ParquetRecordBatchReader,
    schema: SchemaRef,
    limit: u64,
    promised: u64,
    read: u64,
}

impl Batches {
    pub(super) fn open(file: File, name: &str, limit: u64) -> Result<Self> {
        let options = ArrowReaderOptions::new().with_skip_arrow_metadata(true);
        let builder = ParquetRecordBatchReaderBuilder::try_new_with_options(file, options)
            .map_err(|error| damaged(name, error))?;
        refuse_codecs(builder.metadata(), name)?;
        let promised = u64::try_from(builder.metadata().file_metadata().num_rows())
            .map_err(|_| damaged(name, "a negative number of rows"))?;
        let schema = builder.schema().clone();
        Table::new(&schema, name, limit)?;
        let reader = builder.with_batch_size(BATCH).build().map_err(|error| damaged(name, error))?;
        Ok(Batches { reader, schema, limit, promised, read: 0 })
    }

    /// Rows that the file promises.
    pub(crate) fn total_rows(&self) -> Option<usize> {
        self.promised.try_into().ok()
    }

    /// About `most` rows: whole batches, until there are at least that many.
    pub(super) fn next(&mut self, most: usize, name: &str) -> Result<Frame> {
        let mut table = Table::new(&self.schema, name, self.limit)?;
        while table.rows() < most {
            match self.reader.next() {
                Some(batch) => table.append(&batch.map_err(|error| damaged(name, error))?)?,
                None => break,
            }
        }
        self.read += table.rows() as u64;
        if table.rows() < most && self.read != self.promised {
            return Err(damaged(name, format!("it promises {} rows and has {}", self.promised, self.read)));
        }
        table.finish()
    }
}

/// Says what to do about the codecs that are left out, which the decoder would call damage.
fn refuse_codecs(metadata: &ParquetMetaData, name: &str) -> Result<()> {
    for column in metadata.row_groups().iter().flat_map(|group| group.columns()) {
        let codec = match column.compression() {
            Compression::BROTLI(_) => "brotli",
            Compression::LZO => "lzo",
            _ => continue,
        };
        let problem =
            format!("is packed with {codec}, which is not known here; pack it with snappy, zstd, gzip or lz4");
        return Err(Error::format(name, problem));
    }
    Ok(())
}

fn properties() -> Option<WriterProperties> {
    Some(WriterProperties::builder().set_compression(Compression::SNAPPY).build())
}

/// Bytes of a group of rows that are held before they go to the file.
const GROUP: usize = 32 << 20;

/// A file that is written part by part.
pub(super) struct PartWriter(ArrowWriter<Pending>);

impl PartWriter {
    pub(super) fn start(to: Pending, schema: SchemaRef) -> Result<Self, ParquetError> {
        ArrowWriter::try_new(to, schema, properties()).map(PartWriter)
    }

    pub(super) fn write(&mut self, batch: &RecordBatch) -> Result<(), ParquetError> {
        self.0.write(batch)?;
        if self.0.in_progress_size() > GROUP { self.0.flush() } else { Ok(()) }
    }

    pub(super) fn finish(self) -> Result<Pending, ParquetError> {
        self.0.into_inner()
    }
}

pub(super) fn write(batch: &RecordBatch) -> Result<Vec<u8>, ParquetError> {
    let mut writer = ArrowWriter::try_new(Vec::new(), batch.schema(), properties())?;
    writer.write(batch)?;
    writer.into_inner()
}
