//! Which character separates the cells of a text table.

use std::borrow::Cow;

use csv::{ByteRecord, ReaderBuilder};

/// The separators that are looked for; an earlier one wins a tie.
pub(crate) const SEPARATORS: [u8; 5] = [b',', b';', b'\t', b'|', b' '];

/// How many bytes and rows are looked at.
const SAMPLE: usize = 1 << 16;
const ROWS: usize = 100;

/// The separator of a table: the one that gives the rows as many cells as the header, and more than
/// one. Cells in quotes count as one whatever is in them.
pub(crate) fn separator(bytes: &[u8], candidates: &[u8]) -> u8 {
    let sample = sample(bytes);
    let mut best = (0.5, None);
    for &candidate in candidates {
        let share = agreement(sample, candidate);
        // Blanks stand in sentences too: they separate cells only if they do so everywhere and
        // nothing else separates at all.
        let wins = if candidate == b' ' { best.1.is_none() && share == 1.0 } else { share > best.0 };
        if wins {
            best = (share, Some(candidate));
        }
    }
    // A single column needs no separator; the first one does for a name.
    best.1.or(candidates.first().copied()).unwrap_or(b',')
}

/// Whether one of these separates cells.
pub(crate) fn separates(bytes: &[u8], candidates: &[u8]) -> bool {
    candidates.iter().any(|candidate| agreement(sample(bytes), *candidate) > 0.5)
}

/// Whether commas separate cells although numbers contain them: those are in quotes.
pub(crate) fn has_quoted_commas(bytes: &[u8]) -> bool {
    let sample = sample(bytes);
    sample.contains(&b'"') && agreement(sample, b',') == 1.0
}

/// The share of rows with as many cells as the first; 0 if the first has only one.
fn agreement(sample: &[u8], separator: u8) -> f64 {
    let sample = if separator == b' ' { collapse(sample) } else { Cow::Borrowed(sample) };
    let mut reader = reader(&sample, separator);
    let mut record = ByteRecord::new();
    let (mut width, mut same, mut rows) = (0, 0, 0);
    while rows < ROWS && reader.read_byte_record(&mut record).unwrap_or(false) {
        if rows == 0 {
            width = record.len();
        }
        rows += 1;
        same += usize::from(record.len() == width);
    }
    if width > 1 { same as f64 / rows as f64 } else { 0.0 }
}

/// The first lines, whole ones where possible.
fn sample(bytes: &[u8]) -> &[u8] {
    match bytes.get(..SAMPLE) {
        Some(start) => match start.iter().rposition(|byte| b"\r\n".contains(byte)) {
            Some(end) => start.get(..=end).unwrap_or(start),
            None => start,
        },
        None => bytes,
    }
}

/// A reader of rows that accepts every number of cells; whoever uses it says what is wrong in words
/// that fit.
pub(crate) fn reader(bytes: &[u8], separator: u8) -> csv::Reader<&[u8]> {
    ReaderBuilder::new()
        .delimiter(separator)
        .has_headers(false)
        .flexible(true)
        .buffer_capacity(1 << 17)
        .from_reader(bytes)
}

/// Makes one blank of every run of blanks and none at the ends of lines, outside quotes, because a
/// table set with blanks is usually set in columns.
pub(crate) fn collapse(bytes: &[u8]) -> Cow<'_, [u8]> {
    let mut out = Vec::with_capacity(bytes.len());
    let mut quoted = false;
    // Whether the byte before closed a quote; a second quote then stands for a quote in the cell.
    let mut closed = false;
    let mut blank = false;
    let mut line_start = true;
    for &byte in bytes {
        let doubled = std::mem::take(&mut closed);
        match byte {
            b' ' | b'\t' if !quoted => blank = true,
            b'\r' | b'\n' if !quoted => {
                out.push(byte);
                (blank, line_start) = (false, true);
            }
            _ => {
                if blank && !line_start {
                    out.push(b' ');
                }
                // As the reader does: a quote opens only at the start of a cell.
                if byte == b'"' && (quoted || blank || line_start || doubled) {
                    closed = quoted;
                    quoted = !quoted;
                }
                out.push(byte);
                (blank, line_start) = (false, false);
            }
        }
    }
    if out == bytes { Cow::Borrowed(bytes) } else { Cow::Owned(out) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sniff(text: &str) -> char {
        separator(text.as_bytes(), &SEPARATORS) as char
    }

    #[test]
    fn separators_are_found() {
        assert_eq!(sniff("a,b\n1,2\n"), ',');
        assert_eq!(sniff("a;b\n1,5;2,5\n"), ';');
        assert_eq!(sniff("a\tb\nx, y\t2\n"), '\t');
        assert_eq!(sniff("a|b\n1|2\n"), '|');
        assert_eq!(sniff("a b\n1 2\n"), ' ');
        assert_eq!(sniff("  a   b\n  1  20 \n"), ' ');
        assert_eq!(sniff("\"a,b,c\";d\n\"1,2,3\";4\n"), ';');
        assert_eq!(sniff("a b,c\n1 2,3\n"), ',');
    }

    #[test]
    fn single_columns_and_ragged_tables() {
        assert_eq!(sniff("a\n1\n"), ',');
        assert_eq!(sniff("a sentence\nof any length\n"), ',');
        assert_eq!(sniff("a;b\n1;2\n3;4\n5\n"), ';');
        assert_eq!(sniff(""), ',');
    }

    #[test]
    fn a_row_cut_off_by_the_sample_does_not_count() {
        let text = "aa;b\n".repeat(20_000);
        assert_eq!(sniff(&text), ';');
    }

    #[test]
    fn blanks_collapse_outside_quotes_only() {
        let collapsed = |text: &'static str| String::from_utf8(collapse(text.as_bytes()).into()).unwrap();
        assert_eq!(collapsed("  a  b \n 1 \t 2\r\n"), "a b\n1 2\r\n");
        assert_eq!(collapsed("\"x  y\"  2"), "\"x  y\" 2");
        assert_eq!(collapsed("\"x  \"\"  y\"  2"), "\"x  \"\"  y\" 2");
        assert_eq!(collapsed("5\"  2"), "5\" 2");
    }
}
