//! Whether the first row of a table names its columns, and those names.

use std::collections::HashSet;

use csv::ByteRecord;

use crate::csv::CsvSource;
use crate::error::{Error, Result};
use crate::number::{Cell, Words};

/// Rows that are looked at.
const ROWS: usize = 100;

/// Whether the first row names the columns, and what is to be said about that.
pub(crate) fn is_there(first: &ByteRecord, source: &CsvSource, words: &Words) -> (bool, Option<String>) {
    if !is_data(first, words) {
        return (true, None);
    }
    let mut rows: Vec<ByteRecord> = Vec::new();
    let mut is_first = true;
    // Ends after some rows; there is no other error.
    let _ = source.for_each(|_, record| {
        if !std::mem::take(&mut is_first) {
            rows.push(record.clone());
        }
        if rows.len() < ROWS { Ok(()) } else { Err(()) }
    });
    let shown: Vec<_> = first.iter().take(4).map(|cell| String::from_utf8_lossy(cell.trim_ascii())).collect();
    let shown = format!("{}{}", shown.join(", "), if first.len() > 4 { ", …" } else { "" });
    let counts = first.iter().enumerate().all(|(j, cell)| cell.trim_ascii() == j.to_string().as_bytes());
    let is_fraction = |cell: &[u8]| matches!(words.cell(cell), Cell::Number(x) if x.is_finite() && x.fract() != 0.0);
    let is_counted = counts && first.len() > 2 && rows.iter().flatten().any(is_fraction);
    if is_counted || (0..first.len()).any(|j| is_above_texts(&rows, j, words)) {
        let note = format!("the first row ({shown}) is read as the names of the columns; --no-header if it is data");
        return (true, Some(note));
    }
    let note =
        format!("the first row ({shown}) is read as data, and columns are called x1, x2, …; --header if it names them");
    (false, Some(note))
}

/// Whether the column holds texts only, below a first row of numbers.
fn is_above_texts(rows: &[ByteRecord], column: usize, words: &Words) -> bool {
    let cells = rows.iter().filter_map(|row| row.get(column)).filter(|cell| !words.is_missing(cell.trim_ascii()));
    let mut count = 0;
    for cell in cells {
        if words.says_number(cell) {
            return false;
        }
        count += 1;
    }
    count > 1
}

/// Whether a first row is data: all its cells are numbers (or dates, or have units), where some but not all may be missing.
fn is_data(first: &ByteRecord, words: &Words) -> bool {
    let mut any = false;
    first.iter().all(|cell| {
        let is_missing = words.is_missing(cell.trim_ascii());
        any |= !is_missing;
        is_missing || words.says_number(cell)
    }) && any
}

/// The header's names: there must be one for every column but the first, which holds the names of the rows then, and no two
/// the same.
pub(crate) fn names(first: &ByteRecord, file: &str) -> Result<Vec<String>> {
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
        if name.is_empty() && (index > 0 || first.len() == 1) {
            return Err(Error::format(
                file,
                format!(
                    "every column but one of row names at the left must have a name; column {column} of the header has none; \
                     name it"
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
