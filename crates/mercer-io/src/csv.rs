//! Tables of separated cells.
//!
//! The file is read twice at most: first every cell as a number, in place and without a copy; then the
//! columns that turned out to be text, as strings. Numbers, the common case, never become strings.

use std::collections::HashSet;
use std::io::Read;

use csv::ByteRecord;
use mercer::data::{Column, Frame};

use crate::error::{Error, Result};
use crate::number::{self, Cell};
use crate::sniff;
use crate::{MAX_COLUMNS, ReadOptions};

/// The bytes a table came from, so that its cells can be written again letter for letter.
#[derive(Debug, Clone)]
pub(crate) struct CsvSource {
    bytes: Vec<u8>,
    pub(crate) header: bool,
    rows: usize,
    columns: usize,
    /// The separator between cells.
    pub(crate) separator: u8,
    /// Whether numbers have a decimal comma.
    pub(crate) decimal_comma: bool,
    /// Whether lines end as on Windows.
    pub(crate) crlf: bool,
}

impl CsvSource {
    /// Whether `frame` can be the table that was read from this source.
    pub(crate) fn fits(&self, frame: &Frame) -> bool {
        self.rows == frame.rows() && self.columns == frame.names().len()
    }

    /// Hands the header's cells, if there is a header, and then every row's to `take`.
    ///
    /// The flag says whether it is the header.
    pub(crate) fn for_each<E>(&self, mut take: impl FnMut(bool, &ByteRecord) -> Result<(), E>) -> Result<(), E> {
        let mut reader = sniff::reader(&self.bytes, self.separator);
        let mut record = ByteRecord::new();
        let mut header = self.header;
        // The same bytes were read before without an error.
        while reader.read_byte_record(&mut record).unwrap_or(false) {
            take(std::mem::take(&mut header), &record)?;
        }
        Ok(())
    }
}

/// Rows and lines of a file that stand before a part of it, for messages.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Before {
    pub rows: usize,
    pub lines: u64,
}

/// Reads a table.
pub(crate) fn read(bytes: Vec<u8>, name: &str, options: &ReadOptions) -> Result<(Frame, CsvSource)> {
    read_part(bytes, name, options, Before::default(), &[])
}

/// Reads a part of a table: its header, if it has one, and some of its rows.
pub(crate) fn read_part(
    bytes: Vec<u8>,
    name: &str,
    options: &ReadOptions,
    before: Before,
    texts: &[bool],
) -> Result<(Frame, CsvSource)> {
    let bytes = as_utf8(bytes, name)?;
    let separator = separator(&bytes, name, options)?;
    let bytes = if separator == b' ' { sniff::collapse(&bytes).into_owned() } else { bytes };
    let crlf = bytes.iter().position(|&byte| byte == b'\n').is_some_and(|end| bytes[..end].ends_with(b"\r"));
    let decimal_comma = options.decimal_comma;
    let mut source = CsvSource { bytes, header: true, rows: 0, columns: 0, separator, decimal_comma, crlf };

    let mut first = ByteRecord::new();
    let found = sniff::reader(&source.bytes, separator).read_byte_record(&mut first);
    if !found.map_err(|error| trouble(name, &error))? {
        return Err(Error::format(name, "is empty; a table needs a header and at least one row"));
    }
    if first.len() > MAX_COLUMNS {
        return Err(Error::format(name, too_wide(first.len())));
    }
    source.header = options.header.unwrap_or_else(|| !is_data(&first, decimal_comma));
    let names = if source.header {
        header_names(&first, name)?
    } else {
        (1..=first.len()).map(|index| format!("x{index}")).collect()
    };

    let mut numbers = Pass { source: &source, name, names: &names, before }.numbers()?;
    // What was text in an earlier part stays text: 007 is a name there, not 7.
    numbers.columns.iter_mut().zip(texts).filter(|(_, is_text)| **is_text).for_each(|(column, _)| *column = None);
    let rows = numbers.rows;
    let columns = Pass { source: &source, name, names: &names, before }.text(numbers)?;
    (source.rows, source.columns) = (rows, columns.len());
    let mut frame = Frame::new(rows);
    for (name, column) in names.into_iter().zip(columns) {
        frame.push(name, column)?;
    }
    Ok((frame, source))
}

/// What is wrong with a table of `columns` columns.
pub(crate) fn too_wide(columns: usize) -> String {
    format!("has {columns} columns; a table may have at most {MAX_COLUMNS}")
}

/// Takes the byte order mark off, and refuses the encodings that it gives away.
fn as_utf8(mut bytes: Vec<u8>, name: &str) -> Result<Vec<u8>> {
    if bytes.starts_with(b"\xef\xbb\xbf") {
        bytes.drain(..3);
    } else if bytes.starts_with(b"\xff\xfe") || bytes.starts_with(b"\xfe\xff") {
        return Err(Error::format(name, "must be UTF-8 text and is UTF-16; save it as UTF-8"));
    }
    Ok(bytes)
}

/// The separator that was asked for, or the one the file shows.
fn separator(bytes: &[u8], name: &str, options: &ReadOptions) -> Result<u8> {
    match options.separator {
        Some(b',') if options.decimal_comma => Err(Error::format(
            name,
            "the separator cannot be a comma when the decimal sign is one; name another separator",
        )),
        Some(given) if given.is_ascii_alphanumeric() || !given.is_ascii() || b"\"\r\n.+-".contains(&given) => {
            Err(Error::format(
                name,
                format!("the separator must be a character that is in no number or word; got {:?}", given as char),
            ))
        }
        Some(given) => Ok(given),
        None => {
            let mut candidates = sniff::SEPARATORS.to_vec();
            candidates.retain(|&candidate| !(candidate == b',' && options.decimal_comma));
            if is_tsv(name) {
                // The extension says which of two possible separators is meant.
                candidates.sort_by_key(|&candidate| candidate != b'\t');
            }
            Ok(sniff::separator(bytes, &candidates))
        }
    }
}

/// Whether the name promises tabs.
pub(crate) fn is_tsv(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    lower.strip_suffix(".gz").unwrap_or(&lower).ends_with(".tsv")
}

/// Whether a first row is data: all its cells are numbers, where some but not all may be missing.
fn is_data(first: &ByteRecord, decimal_comma: bool) -> bool {
    let mut any = false;
    first.iter().all(|cell| match number::cell(cell, decimal_comma) {
        Cell::Number(number) => {
            any |= !number.is_nan();
            true
        }
        Cell::Text => false,
    }) && any
}

/// The header's names: there must be one for every column, and no two the same.
fn header_names(first: &ByteRecord, file: &str) -> Result<Vec<String>> {
    let mut seen = HashSet::new();
    let mut names = Vec::with_capacity(first.len());
    for (index, cell) in first.iter().enumerate() {
        let column = index + 1;
        let Ok(name) = std::str::from_utf8(cell.trim_ascii()) else {
            return Err(Error::format(
                file,
                format!("the name of column {column} is not UTF-8 text; save the file as UTF-8"),
            ));
        };
        if name.is_empty() {
            return Err(Error::format(
                file,
                format!(
                    "every column must have a name; column {column} of the header has none; \
                     name it, or say that the file has no header"
                ),
            ));
        }
        if !seen.insert(name) {
            return Err(Error::format(
                file,
                format!("column names must differ; {name:?} stands twice in the header; rename one"),
            ));
        }
        names.push(name.to_owned());
    }
    Ok(names)
}

/// The columns after the first pass: numbers, or `None` where a cell was no number.
struct Numbers {
    rows: usize,
    columns: Vec<Option<Vec<f64>>>,
}

/// One reading of the whole file.
struct Pass<'a> {
    source: &'a CsvSource,
    name: &'a str,
    names: &'a [String],
    before: Before,
}

impl Pass<'_> {
    fn numbers(&self) -> Result<Numbers> {
        let mut columns: Vec<Option<Vec<f64>>> = vec![Some(Vec::new()); self.names.len()];
        let mut rows = 0;
        let mut last = 0;
        self.source.for_each(|header, record| {
            last = record.position().map_or(0, csv::Position::byte);
            if header {
                return Ok(());
            }
            rows += 1;
            if record.len() != columns.len() {
                return Err(self.ragged(rows, record));
            }
            for (cell, column) in record.iter().zip(&mut columns) {
                if let Some(numbers) = column {
                    match number::cell(cell, self.source.decimal_comma) {
                        Cell::Number(number) => numbers.push(number),
                        Cell::Text => *column = None,
                    }
                }
            }
            Ok(())
        })?;
        self.refuse_open_quote(rows, last)?;
        Ok(Numbers { rows, columns })
    }

    fn text(&self, numbers: Numbers) -> Result<Vec<Column>> {
        let mut columns: Vec<Column> = numbers
            .columns
            .into_iter()
            .map(|column| column.map_or_else(|| Column::Text(Vec::with_capacity(numbers.rows)), Column::Number))
            .collect();
        if columns.iter().all(|column| matches!(column, Column::Number(_))) {
            return Ok(columns);
        }
        let mut row = 0;
        self.source.for_each(|header, record| {
            if header {
                return Ok(());
            }
            row += 1;
            for ((cell, column), name) in record.iter().zip(&mut columns).zip(self.names) {
                if let Column::Text(cells) = column {
                    let row = self.before.rows + row;
                    cells.push(text(cell).map_err(|problem| mercer::Error::cell(row, name, problem))?);
                }
            }
            Ok::<_, Error>(())
        })?;
        Ok(columns)
    }

    fn ragged(&self, row: usize, record: &ByteRecord) -> Error {
        let row = self.before.rows + row;
        let line = self.before.lines + self.line(record);
        let separator = self.source.separator as char;
        let whole = if self.source.header { "the header" } else { "the first row" };
        let comma = if separator == ',' { ", and numbers with a decimal comma need that option" } else { "" };
        Error::format(
            self.name,
            format!(
                "row {row} (line {line}) has {}, {whole} has {}; \
                 with the separator {separator:?} every row must have as many; \
                 cells that contain the separator need quotes{comma}",
                cells(record.len()),
                self.names.len(),
            ),
        )
    }

    /// The line a row starts in. The reader counts the blank lines before a row as part of it.
    fn line(&self, record: &ByteRecord) -> u64 {
        let Some(position) = record.position() else { return 0 };
        let start = usize::try_from(position.byte()).ok().and_then(|start| self.source.bytes.get(start..));
        let blank = start.unwrap_or_default().iter().take_while(|byte| b"\r\n".contains(byte));
        position.line() + blank.filter(|&&byte| byte == b'\n').count() as u64
    }

    /// A quote that is never closed swallows the rest of the file into one cell, silently. Only the
    /// last row can have one: if its quotes are closed, a line added after it is a row of its own.
    fn refuse_open_quote(&self, rows: usize, last: u64) -> Result<()> {
        let tail = usize::try_from(last).ok().and_then(|last| self.source.bytes.get(last..)).unwrap_or_default();
        if !tail.contains(&b'"') {
            return Ok(());
        }
        let mut reader = csv::ReaderBuilder::new()
            .delimiter(self.source.separator)
            .has_headers(false)
            .flexible(true)
            .from_reader(tail.chain(&b"\nx\n"[..]));
        let mut record = ByteRecord::new();
        let mut found = 0;
        while found < 2 && reader.read_byte_record(&mut record).unwrap_or(false) {
            found += 1;
        }
        if found == 2 {
            return Ok(());
        }
        let place = match self.before.rows + rows {
            0 => "the header".to_owned(),
            row => format!("row {row}"),
        };
        Err(Error::format(
            self.name,
            format!(
                "every quote must be closed; one in {place} is open to the end of the file; \
                 add the closing quote"
            ),
        ))
    }
}

/// A text cell without the blanks around it; `None` if it is missing.
fn text(cell: &[u8]) -> Result<Option<String>, &'static str> {
    let cell = cell.trim_ascii();
    if number::is_missing(cell) {
        return Ok(None);
    }
    match std::str::from_utf8(cell) {
        Ok(text) => Ok(Some(text.to_owned())),
        Err(_) => Err("must be UTF-8 text and is not; save the file as UTF-8"),
    }
}

fn cells(count: usize) -> String {
    if count == 1 { "1 cell".to_owned() } else { format!("{count} cells") }
}

fn trouble(name: &str, error: &csv::Error) -> Error {
    Error::format(name, format!("cannot be read as CSV ({error})"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(text: &[u8]) -> Result<Frame> {
        read(text.to_vec(), "t.csv", &ReadOptions::default()).map(|(frame, _)| frame)
    }

    fn problem(text: &[u8]) -> String {
        frame(text).unwrap_err().to_string()
    }

    #[test]
    fn a_first_row_of_numbers_is_data() {
        let frame = frame(b"1,,3\n4,5,6\n").unwrap();
        assert_eq!(frame.names(), ["x1", "x2", "x3"]);
        assert_eq!(frame.rows(), 2);
        assert_eq!(self::frame(b"1,a\n2,3\n").unwrap().names(), ["1", "a"]);
    }

    #[test]
    fn open_quotes_are_found_wherever_they_start() {
        assert!(problem(b"a,b\n1,\"2\n3,4\n").contains("one in row 1 is open"));
        assert!(problem(b"\"a,b\n1,2\n").contains("one in the header is open"));
        assert!(frame(b"a,b\n1,\"2\n3\"").is_ok());
        assert!(frame(b"a,b\n1,\"\"").is_ok());
        assert!(frame(b"a,b\n1,x\"y").is_ok());
    }

    #[test]
    fn separators_that_cannot_be_are_refused() {
        for separator in *b"\"\n1e.-" {
            let options = ReadOptions { separator: Some(separator), ..ReadOptions::default() };
            assert!(read(b"a\n".to_vec(), "t", &options).is_err());
        }
    }
}
