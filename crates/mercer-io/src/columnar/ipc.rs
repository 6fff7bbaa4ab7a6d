//! Arrow IPC's packing, as a file and as a stream.
//!
//! Both are decoded from the bytes in memory, never through a reader, so that no length in them is
//! believed beyond the bytes that are there.

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_buffer::Buffer;
use arrow_ipc::convert::try_fb_to_schema;
use arrow_ipc::reader::{FileDecoder, StreamDecoder};
use arrow_ipc::writer::FileWriter;
use arrow_ipc::{Block, Endianness, Footer, Message, root_as_footer, root_as_message};
use arrow_schema::ArrowError;
use mercer::data::Frame;

use super::damaged;
use super::table::Table;
use crate::error::{Error, Result};

/// What a file starts and ends with.
const MAGIC: &[u8] = b"ARROW1";

/// What ends a stream: the mark of a message, and no message.
const END: [u8; 8] = [0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0];

pub(super) fn read(bytes: Vec<u8>, name: &str, limit: u64) -> Result<Frame> {
    if bytes.starts_with(b"FEA1") {
        return Err(Error::format(name, "is Feather version 1, which is no Arrow file; write it as version 2"));
    }
    let reader = Reader { name, limit };
    if bytes.starts_with(MAGIC) { reader.file(bytes) } else { reader.stream(bytes) }
}

struct Reader<'a> {
    name: &'a str,
    limit: u64,
}

impl Reader<'_> {
    fn damaged(&self, why: impl std::fmt::Display) -> Error {
        damaged(self.name, why)
    }

    /// Follows the footer at the end of a file to its messages.
    fn file(&self, bytes: Vec<u8>) -> Result<Frame> {
        let buffer = Buffer::from_vec(bytes);
        let footer = footer(&buffer).map_err(|why| self.damaged(why))?;
        let schema = footer.schema().ok_or_else(|| self.damaged("it has no schema"))?;
        self.check_order(schema.endianness())?;
        let schema = Arc::new(try_fb_to_schema(schema).map_err(|error| self.damaged(error))?);
        let mut table = Table::new(&schema, self.name, self.limit)?;
        let mut decoder = FileDecoder::new(schema, footer.version());
        let mut unpacked = 0;
        for block in footer.dictionaries().into_iter().flatten() {
            let data = self.block(&buffer, block, &mut unpacked)?;
            decoder.read_dictionary(block, &data).map_err(|error| self.damaged(error))?;
        }
        for block in footer.recordBatches().into_iter().flatten() {
            let data = self.block(&buffer, block, &mut unpacked)?;
            if let Some(batch) = decoder.read_record_batch(block, &data).map_err(|error| self.damaged(error))? {
                table.append(&batch)?;
            }
        }
        table.finish()
    }

    /// The bytes of one message of a file, after checking what they unpack to.
    fn block(&self, file: &Buffer, block: &Block, unpacked: &mut u64) -> Result<Buffer> {
        let (start, header, length) = range(block, file.len()).ok_or_else(|| self.damaged(CUT))?;
        let data = file.slice_with_length(start, length);
        let (message, _) = message(&data).map_err(|why| self.damaged(why))?;
        let body = data.get(header..).unwrap_or_default();
        self.count(unpacked, unpacked_size(&message, body))?;
        Ok(data)
    }

    /// Reads message after message.
    fn stream(&self, bytes: Vec<u8>) -> Result<Frame> {
        let length = self.measure(&bytes)?;
        let mut decoder = StreamDecoder::new();
        let mut table: Option<Table> = None;
        let messages = Buffer::from_vec(bytes).slice_with_length(0, length);
        // The decoder finishes a message without a body only when it sees what follows; the end does.
        for mut part in [messages, Buffer::from(END)] {
            while let Some(batch) = decoder.decode(&mut part).map_err(|error| self.damaged(error))? {
                let table = match &mut table {
                    Some(table) => table,
                    none => none.insert(Table::new(batch.schema_ref(), self.name, self.limit)?),
                };
                table.append(&batch)?;
            }
        }
        match (table, decoder.schema()) {
            (Some(table), _) => table.finish(),
            (None, Some(schema)) => Table::new(&schema, self.name, self.limit)?.finish(),
            (None, None) => Err(self.damaged("it has no schema")),
        }
    }

    /// The length of a stream's messages without its end mark, after checking that they are whole and
    /// what they unpack to.
    fn measure(&self, stream: &[u8]) -> Result<usize> {
        let mut rest = stream;
        let mut unpacked = 0;
        // The end mark is optional.
        while !rest.is_empty() && !rest.starts_with(&END) && !rest.starts_with(&[0; 4]) {
            let (message, header) = message(rest).map_err(|why| self.damaged(why))?;
            if let Some(schema) = message.header_as_schema() {
                self.check_order(schema.endianness())?;
            }
            let (body, next) = usize::try_from(message.bodyLength())
                .ok()
                .and_then(|length| rest.get(header..)?.split_at_checked(length))
                .ok_or_else(|| self.damaged(CUT))?;
            self.count(&mut unpacked, unpacked_size(&message, body))?;
            rest = next;
        }
        Ok(stream.len() - rest.len())
    }

    fn count(&self, unpacked: &mut u64, more: Result<u64, &str>) -> Result<()> {
        *unpacked = unpacked.saturating_add(more.map_err(|why| self.damaged(why))?);
        if *unpacked > self.limit {
            return Err(Error::memory(self.name, "the unpacked file", *unpacked, self.limit));
        }
        Ok(())
    }

    /// The decoder takes numbers as they lie.
    fn check_order(&self, order: Endianness) -> Result<()> {
        if order.equals_to_target_endianness() {
            return Ok(());
        }
        Err(Error::format(self.name, "was written on a machine with the other byte order; write it as CSV there"))
    }
}

const CUT: &str = "a message is cut off";

/// The list of a file's messages, which stands before its length and the magic word at the end.
fn footer(file: &[u8]) -> Result<Footer<'_>, String> {
    let missing = "its end is missing";
    let (rest, length) = file.strip_suffix(MAGIC).and_then(<[u8]>::split_last_chunk).ok_or(missing)?;
    let start = usize::try_from(i32::from_le_bytes(*length)).ok().and_then(|length| rest.len().checked_sub(length));
    root_as_footer(start.and_then(|start| rest.get(start..)).ok_or(missing)?).map_err(|error| error.to_string())
}

/// Where a message of a file is: its start, its header's length and the length of all of it.
fn range(block: &Block, file: usize) -> Option<(usize, usize, usize)> {
    let start = usize::try_from(block.offset()).ok()?;
    let header = usize::try_from(block.metaDataLength()).ok()?;
    let length = header.checked_add(usize::try_from(block.bodyLength()).ok()?)?;
    (start.checked_add(length)? <= file).then_some((start, header, length))
}

/// The message that starts here, and the length of its header.
fn message(bytes: &[u8]) -> Result<(Message<'_>, usize), String> {
    // Files from before 2019 have no mark before the length.
    let (unmarked, before) = match bytes.strip_prefix(&[0xff; 4]) {
        Some(rest) => (rest, 8),
        None => (bytes, 4),
    };
    let (length, rest) = unmarked.split_first_chunk().ok_or(CUT)?;
    let length = u32::from_le_bytes(*length) as usize;
    let message = root_as_message(rest.get(..length).ok_or(CUT)?).map_err(|error| error.to_string())?;
    Ok((message, before + length))
}

/// What a message's packed buffers say they unpack to, after checking that all buffers lie in its body.
///
/// The decoder panics where they do not, and allocates what they say without asking: an allocation that
/// fails ends the process.
fn unpacked_size(message: &Message, body: &[u8]) -> Result<u64, &'static str> {
    let dictionary = message.header_as_dictionary_batch().and_then(|dictionary| dictionary.data());
    let Some(batch) = message.header_as_record_batch().or(dictionary) else { return Ok(0) };
    let packed = batch.compression().is_some();
    let mut total = 0_u64;
    for buffer in batch.buffers().into_iter().flatten() {
        let bytes = usize::try_from(buffer.offset())
            .ok()
            .and_then(|start| body.get(start..)?.get(..usize::try_from(buffer.length()).ok()?))
            .ok_or("a column lies outside its message")?;
        if packed && let Some(size) = bytes.first_chunk() {
            // Negative where the buffer is not packed after all.
            total = total.saturating_add(u64::try_from(i64::from_le_bytes(*size)).unwrap_or(0));
        }
    }
    Ok(total)
}

pub(super) fn write(batch: &RecordBatch) -> Result<Vec<u8>, ArrowError> {
    let mut writer = FileWriter::try_new(Vec::new(), batch.schema_ref())?;
    writer.write(batch)?;
    writer.into_inner()
}
