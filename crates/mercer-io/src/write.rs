//! Tables into files.

use std::io::{self, Write};
use std::path::Path;

use csv::{QuoteStyle, Terminator, WriterBuilder};
use flate2::Compression;
use flate2::write::GzEncoder;
use mercer::data::{Column, Frame};

use crate::atomic;
use crate::csv::{CsvSource, is_tsv};
use crate::error::{Error, Result};
use crate::number;
use crate::{Format, Table};

/// What standard output is called in messages.
pub(crate) const STDOUT: &str = "standard output";

/// Columns that stand at the right of a table.
pub(crate) type Extra = [(String, Column)];

/// Writes a table with extra columns at its right to the file at `path`, or to standard output for `-`.
///
/// Without a `format` the path's extension decides (`.json` is a list of objects, one for each row, `.jsonl` has one on each line), and CSV where
/// there is none; an unknown extension is refused. `.gz` after a text format packs it. A table that came from CSV keeps its cells letter for letter, and its separator
/// unless the extension promises another. A table that came without a header gets one, because the
/// extra columns have names. A missing cell is empty in CSV and null elsewhere. The file is replaced in
/// one step or not at all.
pub fn write(path: &str, table: &Table, extra: &[(String, Vec<Option<f64>>)], format: Option<Format>) -> Result<()> {
    let number = |cell: &Option<f64>| cell.unwrap_or(f64::NAN);
    let column =
        |(name, cells): &(String, Vec<Option<f64>>)| (name.clone(), Column::Number(cells.iter().map(number).collect()));
    write_with(path, table, &extra.iter().map(column).collect::<Vec<_>>(), format)
}

/// The same with extra columns of numbers or text.
pub fn write_with(path: &str, table: &Table, extra: &Extra, format: Option<Format>) -> Result<()> {
    let source = table.source.as_ref().filter(|source| source.fits(&table.frame));
    write_parts(path, &table.frame, source, extra, format)
}

/// Writes a frame to the file at `path`, or as CSV to standard output for `-`; the extension decides the
/// format.
pub fn write_frame(path: &str, frame: &Frame) -> Result<()> {
    write_parts(path, frame, None, &[], None)
}

/// Whether a table with this name is written as text (CSV), in which a number has the digits that it is given.
pub fn is_text(path: &str) -> bool {
    path == "-" || (Json::of(path).is_none() && Format::from_path(path).unwrap_or(Format::Csv) == Format::Csv)
}

fn write_parts(
    path: &str,
    frame: &Frame,
    source: Option<&CsvSource>,
    extra: &Extra,
    format: Option<Format>,
) -> Result<()> {
    let name = if path == "-" { STDOUT } else { path };
    check(frame, extra)?;
    if format.is_none() {
        check_name(path)?;
        if let Some(json) = Json::of(path) {
            let text = json.text(frame, extra);
            let bytes = if is_gz(path) { gzip(&text).map_err(|cause| Error::write(name, cause))? } else { text };
            return atomic::save(Path::new(path), &bytes);
        }
    }
    let bytes = match format.or_else(|| Format::from_path(path)).unwrap_or(Format::Csv) {
        Format::Csv => {
            refuse_binary_name(path, format)?;
            let dialect = Dialect::new(path, source);
            let text = to_csv(&dialect, frame, source, extra, true).map_err(|cause| Error::write(name, cause))?;
            if is_gz(path) { gzip(&text).map_err(|cause| Error::write(name, cause))? } else { text }
        }
        binary @ (Format::Parquet | Format::Arrow) => crate::to_columnar(frame, extra, binary, name)?,
        Format::Libsvm => {
            return Err(Error::format(name, "tables can be written as csv, parquet or arrow, not as libsvm"));
        }
    };
    if path == "-" {
        let mut out = io::stdout().lock();
        return out.write_all(&bytes).and_then(|()| out.flush()).map_err(|cause| Error::write(STDOUT, cause));
    }
    atomic::save(Path::new(path), &bytes)
}

/// Refuses a name whose extension promises something that is not written: CSV in `p.xlsx` would be a surprise. Names without extension are
/// those of CSV.
pub fn check_name(path: &str) -> Result<()> {
    const TEXTS: [&str; 5] = ["csv", "tsv", "txt", "dat", "data"];
    let lower = path.to_ascii_lowercase();
    let inner = lower.strip_suffix(".gz").unwrap_or(&lower);
    let Some(extension) = Path::new(inner).extension().and_then(|extension| extension.to_str()) else { return Ok(()) };
    if TEXTS.contains(&extension) || Format::from_path(path).is_some() || Json::of(path).is_some() {
        return Ok(());
    }
    refuse_binary_name(path, None)?;
    Err(Error::format(
        path,
        format!(
            "no table is written as .{extension}; the extension must be .csv, .tsv, .json, .jsonl, .parquet or .arrow"
        ),
    ))
}

/// A table as JSON: one object for each row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Json {
    /// In a list.
    List,
    /// Each on a line of its own.
    Lines,
}

impl Json {
    /// Whether a name asks for it.
    pub(crate) fn of(path: &str) -> Option<Self> {
        let lower = path.to_ascii_lowercase();
        match Path::new(lower.strip_suffix(".gz").unwrap_or(&lower)).extension()?.to_str()? {
            "json" => Some(Json::List),
            "jsonl" | "ndjson" => Some(Json::Lines),
            _ => None,
        }
    }

    /// Numbers as in CSV; missing cells, and numbers that are not finite, are null.
    fn text(self, frame: &Frame, extra: &Extra) -> Vec<u8> {
        let written: Vec<_> = frame.names().iter().filter_map(|name| frame.as_written(name).ok()).collect();
        let columns: Vec<&Column> =
            written.iter().map(|column| &**column).chain(extra.iter().map(|(_, c)| c)).collect();
        let names = frame.names().iter().chain(extra.iter().map(|(name, _)| name));
        let names: Vec<String> = names.map(|name| serde_json::Value::from(name.as_str()).to_string()).collect();
        let mut text = String::from(if self == Json::List { "[" } else { "" });
        for row in 0..frame.rows() {
            text.push_str(match (self, row) {
                (Json::List, 0) => "\n{",
                (Json::List, _) => ",\n{",
                (Json::Lines, _) => "{",
            });
            for (place, (name, column)) in names.iter().zip(&columns).enumerate() {
                text.push_str(if place > 0 { ", " } else { "" });
                text.push_str(name);
                text.push_str(": ");
                match column {
                    Column::Number(cells) if cells[row].is_finite() => number::write(&mut text, cells[row], false),
                    Column::Text(cells) => {
                        text.push_str(&serde_json::Value::from(cells[row].as_deref()).to_string());
                    }
                    Column::Number(_) => text.push_str("null"),
                }
            }
            text.push_str(if self == Json::Lines { "}\n" } else { "}" });
        }
        text.push_str(if self == Json::List { "\n]\n" } else { "" });
        text.into_bytes()
    }
}

/// Extra columns must be as long as the table and have names of their own.
pub(crate) fn check(frame: &Frame, extra: &Extra) -> Result<()> {
    for (index, (name, cells)) in extra.iter().enumerate() {
        if cells.len() != frame.rows() {
            let expected = format!("{} rows", frame.rows());
            return Err(mercer::Error::shape(format!("column {name:?}"), expected, cells.len()).into());
        }
        let before = extra.iter().take(index).map(|(name, _)| name);
        if frame.names().iter().chain(before).any(|known| known == name) {
            return Err(mercer::Error::Column {
                column: name.clone(),
                problem: "is to be added and is in the table already; rename it there".into(),
            }
            .into());
        }
    }
    Ok(())
}

pub(crate) fn is_gz(path: &str) -> bool {
    path.to_ascii_lowercase().ends_with(".gz")
}

/// `table.parquet.gz` promises what nothing would read; CSV in it would be worse still.
fn refuse_binary_name(path: &str, format: Option<Format>) -> Result<()> {
    let inner = path.get(..path.len().saturating_sub(3)).filter(|_| is_gz(path)).and_then(Format::from_path);
    match inner {
        Some(Format::Parquet | Format::Arrow) if format.is_none() => {
            Err(Error::format(path, "Parquet and Arrow are not packed with gzip; leave .gz off the name"))
        }
        _ => Ok(()),
    }
}

fn gzip(bytes: &[u8]) -> io::Result<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::new(3));
    encoder.write_all(bytes)?;
    encoder.finish()
}

/// How a CSV file is written.
pub(crate) struct Dialect {
    separator: u8,
    decimal_comma: bool,
    crlf: bool,
}

impl Dialect {
    /// The source's, unless the extension promises another separator.
    pub(crate) fn new(path: &str, source: Option<&CsvSource>) -> Self {
        let decimal_comma = source.is_some_and(|source| source.decimal_comma);
        let usual = if decimal_comma { b';' } else { b',' };
        let separator = match source.map(|source| source.separator) {
            _ if is_tsv(path) => b'\t',
            Some(b'\t' | b' ') if Format::from_path(path) == Some(Format::Csv) => usual,
            Some(separator) => separator,
            None => usual,
        };
        Dialect { separator, decimal_comma, crlf: source.is_some_and(|source| source.crlf) }
    }

    /// What an empty cell is written as. Between blanks it would not be seen.
    fn cell<'a>(&self, cell: &'a [u8]) -> &'a [u8] {
        if cell.is_empty() && self.separator == b' ' { b"NA" } else { cell }
    }
}

/// The table as CSV; the source's cells where there is a source, the frame's otherwise.
pub(crate) fn to_csv(
    dialect: &Dialect,
    frame: &Frame,
    source: Option<&CsvSource>,
    extra: &Extra,
    with_names: bool,
) -> io::Result<Vec<u8>> {
    let mut writer = WriterBuilder::new()
        .delimiter(dialect.separator)
        .quote_style(QuoteStyle::Necessary)
        .terminator(if dialect.crlf { Terminator::CRLF } else { Terminator::Any(b'\n') })
        .from_writer(Vec::new());
    if with_names {
        writer.write_record(frame.names().iter().chain(extra.iter().map(|(name, _)| name)))?;
    }

    let mut number = String::new();
    match source {
        Some(source) => {
            let mut row = 0;
            source.for_each(|header, record| {
                if header {
                    return Ok(());
                }
                for cell in record {
                    writer.write_field(dialect.cell(cell))?;
                }
                write_extra(&mut writer, extra, row, dialect, &mut number)?;
                row += 1;
                writer.write_record(None::<&[u8]>)
            })?;
        }
        None => {
            let columns: Vec<_> = frame.names().iter().filter_map(|name| frame.as_written(name).ok()).collect();
            for row in 0..frame.rows() {
                for column in &columns {
                    let cell = cell_text(column, row, dialect, &mut number);
                    writer.write_field(dialect.cell(cell.as_bytes()))?;
                }
                write_extra(&mut writer, extra, row, dialect, &mut number)?;
                writer.write_record(None::<&[u8]>)?;
            }
        }
    }
    writer.into_inner().map_err(csv::IntoInnerError::into_error)
}

fn write_extra(
    writer: &mut csv::Writer<Vec<u8>>,
    extra: &Extra,
    row: usize,
    dialect: &Dialect,
    number: &mut String,
) -> csv::Result<()> {
    for (_, cells) in extra {
        writer.write_field(dialect.cell(cell_text(cells, row, dialect, number).as_bytes()))?;
    }
    Ok(())
}

/// One cell as it is written; nothing where it is missing.
fn cell_text<'a>(column: &'a Column, row: usize, dialect: &Dialect, number: &'a mut String) -> &'a str {
    match column {
        Column::Number(cells) => as_text(cells.get(row).copied().filter(|cell| !cell.is_nan()), dialect, number),
        Column::Text(cells) => cells.get(row).and_then(Option::as_deref).unwrap_or(""),
    }
}

fn as_text<'a>(cell: Option<f64>, dialect: &Dialect, text: &'a mut String) -> &'a str {
    text.clear();
    if let Some(cell) = cell {
        number::write(text, cell, dialect.decimal_comma);
    }
    text
}
