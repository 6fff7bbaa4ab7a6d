//! Numbers as they stand in text files.

use std::fmt::Write;

use mercer::data::{Marks, says_number};

/// What a cell of a text file says, if it says a number.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Cell {
    /// A number, or NaN where the cell is missing.
    Number(f64),
    /// Anything else.
    Text,
}

/// How the cells of a file say numbers, and that there is none.
#[derive(Debug, Clone, Default)]
pub(crate) struct Words {
    marks: Marks,
    /// Marks of missing cells besides the usual ones, and those of them that are numbers.
    missing: Vec<Vec<u8>>,
    numbers: Vec<f64>,
}

impl Words {
    pub(crate) fn new(marks: Marks, missing: &[String]) -> Self {
        let missing: Vec<Vec<u8>> = missing.iter().map(|mark| mark.trim().as_bytes().to_vec()).collect();
        let number = |mark: &Vec<u8>| if marks.decimal_comma { with_comma(mark) } else { plain(mark) };
        Words { marks, numbers: missing.iter().filter_map(number).collect(), missing }
    }

    /// Reads a cell; blanks around it do not count.
    pub(crate) fn cell(&self, cell: &[u8]) -> Cell {
        let cell = cell.trim_ascii();
        match if self.marks.decimal_comma { with_comma(cell) } else { plain(cell) } {
            Some(number) if self.numbers.contains(&number) => Cell::Number(f64::NAN),
            Some(number) => Cell::Number(number),
            None if self.is_missing(cell) => Cell::Number(f64::NAN),
            None => Cell::Text,
        }
    }

    /// Whether a trimmed cell says that there is no value.
    pub(crate) fn is_missing(&self, cell: &[u8]) -> bool {
        is_missing(cell) || self.missing.iter().any(|mark| mark == cell)
    }

    /// Whether a cell says a number, a date or a time, perhaps with a unit.
    pub(crate) fn says_number(&self, cell: &[u8]) -> bool {
        matches!(self.cell(cell), Cell::Number(_))
            || std::str::from_utf8(cell).is_ok_and(|text| says_number(text, self.marks))
    }
}

/// Whether a trimmed cell is one of the usual ways to say that there is no value.
///
/// Every spelling of NaN is among them, because those parse as numbers: a column must not change
/// which of its cells are missing when another cell turns it from numbers into text.
pub(crate) fn is_missing(cell: &[u8]) -> bool {
    const WORDS: [&[u8]; 20] = [
        b"", b"NA", b"N/A", b"n/a", b"N/a", b"null", b"NULL", b"None", b"?", b".", b"<NA>", b"#N/A", b"#NA", b"#NULL!",
        b"#DIV/0!", b"#VALUE!", b"#REF!", b"#NAME?", b"#NUM!", b"=\"\"",
    ];
    WORDS.contains(&cell)
        || cell.strip_prefix(b"-").or(cell.strip_prefix(b"+")).unwrap_or(cell).eq_ignore_ascii_case(b"nan")
}

/// A number with a decimal point.
pub(crate) fn plain(cell: &[u8]) -> Option<f64> {
    std::str::from_utf8(cell).ok()?.parse().ok()
}

/// A number with a decimal comma. A point is refused: where commas are decimal, `1.234` may well mean
/// one thousand two hundred thirty-four.
fn with_comma(cell: &[u8]) -> Option<f64> {
    // Longer than any number worth writing down (f64's longest exact decimal is no use to anyone).
    let mut pointed = [0_u8; 64];
    let pointed = pointed.get_mut(..cell.len())?;
    for (to, &from) in pointed.iter_mut().zip(cell) {
        *to = match from {
            b'.' => return None,
            b',' => b'.',
            other => other,
        };
    }
    plain(pointed)
}

/// Appends the shortest digits that read back as the same number.
pub(crate) fn write(into: &mut String, number: f64, decimal_comma: bool) {
    let start = into.len();
    let size = number.abs();
    // `{}` never uses an exponent: without this, 1e300 would be three hundred zeros.
    let result = if size == 0.0 || (1e-5..1e17).contains(&size) || !size.is_finite() {
        write!(into, "{number}")
    } else {
        write!(into, "{number:e}")
    };
    debug_assert!(result.is_ok(), "writing to a string cannot fail");
    if decimal_comma && let Some(point) = into[start..].find('.') {
        into.replace_range(start + point..=start + point, ",");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cell(cell: &[u8], decimal_comma: bool) -> Cell {
        Words::new(Marks { decimal_comma, ..Marks::default() }, &[]).cell(cell)
    }

    fn number(text: &str) -> Option<f64> {
        match cell(text.as_bytes(), false) {
            Cell::Number(number) => Some(number),
            Cell::Text => None,
        }
    }

    #[test]
    fn numbers_are_read_as_people_write_them() {
        for (text, expected) in
            [(" 1.50 ", 1.5), ("+3", 3.0), ("007", 7.0), ("1e5", 1e5), ("-.5E-1", -0.05), ("5.", 5.0)]
        {
            assert_eq!(number(text), Some(expected), "{text:?}");
        }
        assert_eq!(number("inf"), Some(f64::INFINITY));
        assert_eq!(number("-Infinity"), Some(f64::NEG_INFINITY));
        for text in ["1_000", "1,5", "0x10", "1 2", "a", "--1", "1e", "ＮＡ", "na"] {
            assert_eq!(number(text), None, "{text:?}");
        }
    }

    #[test]
    fn missing_cells() {
        for text in ["", "  ", "NA", "N/A", "NaN", "nan", "NAN", "-nan", "null", "NULL", "None", "?", ".", " NA "] {
            assert!(number(text).is_some_and(f64::is_nan), "{text:?}");
            assert!(is_missing(text.trim().as_bytes()), "{text:?}");
        }
    }

    #[test]
    fn further_marks_of_missing_cells() {
        let words = Words::new(Marks::default(), &["-999".into(), "x".into()]);
        for cell in ["-999", "-999.0", " -999 ", "x"] {
            assert!(matches!(words.cell(cell.as_bytes()), Cell::Number(n) if n.is_nan()), "{cell}");
        }
        assert_eq!(words.cell(b"999"), Cell::Number(999.0));
        assert_eq!(words.cell(b"y"), Cell::Text);
    }

    #[test]
    fn decimal_commas() {
        assert_eq!(cell(b"-1,25e2", true), Cell::Number(-125.0));
        assert_eq!(cell(b"3", true), Cell::Number(3.0));
        for text in ["1.5", "1,2,3", "1.234,5"] {
            assert_eq!(cell(text.as_bytes(), true), Cell::Text, "{text:?}");
        }
        assert!(matches!(cell(b".", true), Cell::Number(n) if n.is_nan()));
        assert_eq!(cell(&[b'1'; 100], true), Cell::Text);
    }

    #[test]
    fn numbers_are_written_shortest_and_come_back() {
        let text = |number, comma| {
            let mut text = String::new();
            write(&mut text, number, comma);
            text
        };
        assert_eq!(text(0.1, false), "0.1");
        assert_eq!(text(3.0, false), "3");
        assert_eq!(text(1.5e300, false), "1.5e300");
        assert_eq!(text(1.5e-7, true), "1,5e-7");
        for bits in (0..20_000_u64).map(|i| i.wrapping_mul(0x9E37_79B9_7F4A_7C15)) {
            let number = f64::from_bits(bits);
            if !number.is_nan() {
                let back: f64 = text(number, false).parse().unwrap();
                assert_eq!(back.to_bits(), bits);
            }
        }
    }
}
