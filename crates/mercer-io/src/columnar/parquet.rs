//! Parquet's packing.

use ::parquet::arrow::ArrowWriter;
use ::parquet::arrow::arrow_reader::{ArrowReaderOptions, ParquetRecordBatchReaderBuilder};
use ::parquet::basic::Compression;
use ::parquet::errors::ParquetError;
use ::parquet::file::metadata::ParquetMetaData;
use ::parquet::file::properties::WriterProperties;
use arrow_array::RecordBatch;
use bytes::Bytes;
use mercer::data::Frame;

use super::damaged;
use super::table::Table;
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

pub(super) fn write(batch: &RecordBatch) -> Result<Vec<u8>, ParquetError> {
    let properties = WriterProperties::builder().set_compression(Compression::SNAPPY).build();
    let mut writer = ArrowWriter::try_new(Vec::new(), batch.schema(), Some(properties))?;
    writer.write(batch)?;
    writer.into_inner()
}
