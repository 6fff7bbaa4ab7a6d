//! Tables of separated cells.
//!
//! The file is read twice at most: first every cell as a number, in place and without a copy; then the
//! columns that turned out to be text, as strings. Numbers, the common case, never become strings.

use std::collections::HashMap;
use std::io::Read;

use csv::ByteRecord;
use mercer::data::{Column, Frame, Thousands};

use crate::error::{Error, Result};
use crate::grouping::{Decimals, Meaning};
use crate::number::{Cell, Words};
use crate::{MAX_COLUMNS, ReadOptions};
use crate::{header, preamble, sniff};

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

    /// The different texts of a column, and which of them each row has; `None` where there are more than `most`.
    pub(crate) fn texts(&self, place: usize, most: usize) -> Option<(Vec<String>, Vec<Option<usize>>)> {
        let mut known: HashMap<Vec<u8>, usize> = HashMap::new();
        let (mut texts, mut codes) = (Vec::new(), Vec::with_capacity(self.rows));
        let see = |header: bool, record: &ByteRecord| {
            if header {
                return Ok(());
            }
            let cell = record.get(place).unwrap_or_default().trim_ascii();
            let code = match known.get(cell) {
                Some(code) => *code,
                None if texts.len() == most => return Err(()),
                None => {
                    texts.push(String::from_utf8_lossy(cell).into_owned());
                    known.insert(cell.to_vec(), texts.len() - 1);
                    texts.len() - 1
                }
            };
            codes.push(Some(code));
            Ok(())
        };
        self.for_each(see).ok()?;
        Some((texts, codes))
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
pub(crate) fn read(bytes: Vec<u8>, name: &str, options: &ReadOptions) -> Result<(Frame, CsvSource, Vec<String>)> {
    let (bytes, above) = preamble::skip_bytes(bytes, options, name)?;
    let options = ReadOptions { separator: options.separator.or(above.separator), ..options.clone() };
    read_part(bytes, name, &options, Before { lines: above.lines, rows: 0 }, &[])
}

/// Reads a part of a table: its header, if it has one, and some of its rows.
pub(crate) fn read_part(
    bytes: Vec<u8>,
    name: &str,
    options: &ReadOptions,
    before: Before,
    texts: &[bool],
) -> Result<(Frame, CsvSource, Vec<String>)> {
    let bytes = as_utf8(bytes, name)?;
    let decimal_mark = if options.decimal_comma { ',' } else { '.' };
    if options.thousands == Thousands::Mark(decimal_mark) {
        let problem =
            format!("thousands and decimals cannot both be marked by {decimal_mark:?}; name another mark for one");
        return Err(Error::format(name, problem));
    }
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
    let marks = options.marks();
    let words = Words::new(marks, &options.missing);
    let (has_header, note) = match options.header {
        Some(given) => (given, None),
        None => header::is_there(&first, &source, &words),
    };
    source.header = has_header;
    let mut notes: Vec<String> = note.into_iter().collect();
    let names = if source.header {
        header::names(&first, name)?
    } else {
        (1..=first.len()).map(|index| format!("x{index}")).collect()
    };

    let pass = Pass { source: &source, name, names: &names, before, words: &words };
    let mut numbers = pass.numbers(marks.thousands == Thousands::Unknown)?;
    // What was text in an earlier part stays text: 007 is a name there, not 7.
    numbers.columns.iter_mut().zip(texts).filter(|(_, is_text)| **is_text).for_each(|(column, _)| *column = None);
    let rows = numbers.rows;
    let decimals = std::mem::take(&mut numbers.decimals);
    let columns = pass.text(numbers)?;
    (source.rows, source.columns) = (rows, columns.len());
    let mut frame = Frame::new(rows);
    for (place, ((name, column), decimals)) in names.into_iter().zip(columns).zip(decimals).enumerate() {
        let is_number = matches!(column, Column::Number(_));
        let meaning = decimals.meaning(&name).filter(|_| is_number);
        frame.push(name, column)?;
        match meaning {
            Some(Meaning::Doubt(row, problem)) => frame.add_doubt(place, row, problem),
            Some(Meaning::Note(note)) => notes.push(note),
            None => {}
        }
    }
    frame.read_texts(marks, |place| texts.get(place).copied().unwrap_or(false));
    Ok((frame, source, notes))
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
        Some(b',') if options.decimal_comma && !sniff::has_quoted_commas(bytes) => Err(Error::format(
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
            if options.decimal_comma && !sniff::separates(bytes, &candidates) && sniff::has_quoted_commas(bytes) {
                return Ok(b',');
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

/// The columns after the first pass: numbers, or `None` where a cell was no number.
struct Numbers {
    rows: usize,
    columns: Vec<Option<Vec<f64>>>,
    decimals: Vec<Decimals>,
}

/// One reading of the whole file.
struct Pass<'a> {
    source: &'a CsvSource,
    name: &'a str,
    names: &'a [String],
    before: Before,
    words: &'a Words,
}

impl Pass<'_> {
    fn numbers(&self, may_be_grouped: bool) -> Result<Numbers> {
        let mut columns: Vec<Option<Vec<f64>>> = vec![Some(Vec::new()); self.names.len()];
        let mut decimals = vec![Decimals::default(); self.names.len()];
        let mark = if self.source.decimal_comma { b',' } else { b'.' };
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
            for ((cell, column), decimals) in record.iter().zip(&mut columns).zip(&mut decimals) {
                if let Some(numbers) = column {
                    match self.words.cell(cell) {
                        Cell::Number(number) => {
                            numbers.push(number);
                            if may_be_grouped {
                                decimals.see(cell, mark, rows - 1);
                            }
                        }
                        Cell::Text => *column = None,
                    }
                }
            }
            Ok(())
        })?;
        self.refuse_open_quote(rows, last)?;
        Ok(Numbers { rows, columns, decimals })
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
                    cells.push(text(cell, self.words).map_err(|problem| mercer::Error::cell(row, name, problem))?);
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
        let title = if self.source.header && record.len() > self.names.len() && row == 1 {
            "; lines above the header need --skip-rows or --comment"
        } else {
            ""
        };
        Error::format(
            self.name,
            format!(
                "row {row} (line {line}) has {}, {whole} has {}; \
                 with the separator {separator:?} every row must have as many; \
                 cells that contain the separator need quotes{comma}{title}",
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
fn text(cell: &[u8], words: &Words) -> Result<Option<String>, &'static str> {
    let cell = cell.trim_ascii();
    // Excel writes ="007" to keep a text a text.
    let cell = cell.strip_prefix(b"=\"").and_then(|cell| cell.strip_suffix(b"\"")).unwrap_or(cell);
    if words.is_missing(cell) || matches!(words.cell(cell), Cell::Number(x) if x.is_nan()) {
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
        read(text.to_vec(), "t.csv", &ReadOptions::default()).map(|(frame, ..)| frame)
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
