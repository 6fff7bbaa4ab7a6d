//! Lines above a table that are no part of it.

use std::io::{BufRead, Cursor, Read};

use crate::ReadOptions;
use crate::error::{Error, Result};
use crate::sniff::SEPARATORS;

/// What stood above the header.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Above {
    /// How many lines.
    pub lines: u64,
    /// The separator that a line `sep=;` names, as Excel writes and reads it.
    pub separator: Option<u8>,
}

/// Takes the lines off that are to be skipped, and Excel's line `sep=;`.
pub(crate) fn skip<'a>(
    mut from: Box<dyn BufRead + Send + 'a>,
    options: &ReadOptions,
    name: &str,
) -> Result<(Box<dyn BufRead + Send + 'a>, Above)> {
    let mut above = Above::default();
    let mut line = Vec::new();
    for _ in 0..options.skip_rows {
        line.clear();
        if read_line(from.as_mut(), &mut line, name)? == 0 {
            break;
        }
        above.lines += 1;
    }
    line.clear();
    read_line(from.as_mut(), &mut line, name)?;
    if let Some(separator) = named_separator(&line) {
        above.lines += 1;
        above.separator = Some(separator);
        return Ok((from, above));
    }
    Ok((Box::new(Cursor::new(line).chain(from)), above))
}

/// The same for a table that is in memory, without its comments.
pub(crate) fn skip_bytes(bytes: Vec<u8>, options: &ReadOptions, name: &str) -> Result<(Vec<u8>, Above)> {
    let start = bytes.get(..bytes.len().min(16)).unwrap_or_default();
    if options.skip_rows == 0 && options.comment.is_none() && named_separator(&[start, b"\n"].concat()).is_none() {
        // `sep=;` and the end of its line fit into sixteen bytes.
        let first = start.split_inclusive(|byte| *byte == b'\n').next().unwrap_or_default();
        if named_separator(first).is_none() {
            return Ok((bytes, Above::default()));
        }
    }
    let (mut from, above) = skip(Box::new(&bytes[..]), options, name)?;
    let mut rest = Vec::with_capacity(bytes.len());
    let separator = options.separator.or(above.separator);
    while read_record(from.as_mut(), &mut rest, separator, options.comment, name, None)? > 0 {}
    drop(from);
    Ok((rest, above))
}

fn read_line(from: &mut dyn BufRead, line: &mut Vec<u8>, name: &str) -> Result<usize> {
    from.read_until(b'\n', line).map_err(|cause| Error::read(name, cause))
}

/// `sep=;`, also in quotes.
fn named_separator(line: &[u8]) -> Option<u8> {
    let line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line);
    let end = line.iter().rposition(|byte| !b"\r\n".contains(byte))?;
    let line = &line[..=end];
    let line = line.strip_prefix(b"\"").and_then(|line| line.strip_suffix(b"\"")).unwrap_or(line);
    match line {
        [b's' | b'S', b'e' | b'E', b'p' | b'P', b'=', separator] if !separator.is_ascii_alphanumeric() => {
            Some(*separator)
        }
        _ => None,
    }
}

/// Adds the next line to `bytes`, and those that a quote joins to it; nothing at the end of the input. Of a comment only the
/// end of its line is added.
pub(crate) fn read_record(
    from: &mut dyn BufRead,
    bytes: &mut Vec<u8>,
    separator: Option<u8>,
    comment: Option<u8>,
    name: &str,
    limit: Option<u64>,
) -> Result<usize> {
    let is_separator = |byte: u8| separator.map_or_else(|| SEPARATORS.contains(&byte), |known| byte == known);
    let start = bytes.len();
    let (mut open, mut may_open) = (false, true);
    loop {
        let scanned = bytes.len();
        let read = read_line(from, bytes, name)?;
        let is_comment = comment.is_some() && bytes[start..].trim_ascii_start().first() == comment.as_ref();
        if scanned == start && is_comment {
            let end = usize::from(bytes.ends_with(b"\n"));
            bytes.drain(start..bytes.len() - end);
            return Ok(read);
        }
        for &byte in &bytes[scanned..] {
            match byte {
                // A quote opens at the start of a cell, or right after one that closed: two stand for one.
                b'"' if open || may_open => {
                    open = !open;
                    may_open = true;
                }
                _ => may_open = !open && is_separator(byte),
            }
        }
        if read == 0 || !open {
            return Ok(bytes.len() - start);
        }
        if let Some(limit) = limit.filter(|limit| (bytes.len() - start) as u64 > *limit) {
            return Err(Error::memory(name, "a single row (read so far)", (bytes.len() - start) as u64, limit));
        }
    }
}
