//! Sparse rows `label index:value ...`, read into a dense table.
//!
//! One line with a large index makes a small file a huge table. The file is therefore read twice: first
//! to check it and to learn how large the table is, and only then, if that fits, to fill it.

use mercer::data::{Column, Frame};

use crate::csv::too_wide;
use crate::error::{Error, Result};
use crate::number;
use crate::{DENSE_LIMIT, MAX_COLUMNS, ReadOptions};

/// How many bytes are looked at.
const SAMPLE: usize = 1 << 16;

/// Whether the first lines look like sparse rows.
pub(crate) fn looks_like(bytes: &[u8]) -> bool {
    let sample = match bytes.get(..SAMPLE) {
        // Not to stumble over a word that the end of the sample cuts.
        Some(start) => {
            let end = start.iter().rposition(u8::is_ascii_whitespace).unwrap_or(0);
            start.get(..end).unwrap_or_default()
        }
        None => bytes,
    };
    let mut pairs = 0;
    for line in sample.split(|&byte| byte == b'\n').map(content).filter(|line| !line.is_empty()).take(20) {
        let mut words = words(line);
        if words.next().and_then(number::plain).is_none() {
            return false;
        }
        for word in words {
            // `qid` looks like it too, so that it is refused in words instead of read as CSV.
            let known = split(word).is_some_and(|(index, value)| {
                (index == b"qid" || index.iter().all(u8::is_ascii_digit)) && number::plain(value).is_some()
            });
            if !known {
                return false;
            }
            pairs += 1;
        }
    }
    pairs > 0
}

/// Reads a table with the columns `y`, `x1`, `x2`, ...; features that a row does not name are 0.
pub(crate) fn read(bytes: &[u8], name: &str, options: &ReadOptions) -> Result<Frame> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let mut width: u64 = 0;
    let mut count: usize = 0;
    for (row, line) in rows(bytes) {
        parse(line, |index, _| width = width.max(index))
            .map_err(|problem| Error::format(name, format!("row {row}: {problem}")))?;
        count = row;
    }
    if count == 0 {
        return Err(Error::format(name, "is empty; a LIBSVM file needs at least one row `label index:value ...`"));
    }
    let limit = options.memory_limit.unwrap_or(DENSE_LIMIT);
    let needed = (count as u64).saturating_mul(width.saturating_add(1)).saturating_mul(8);
    if needed > limit {
        let what = format!("a dense table of {count} rows and {width} features");
        return Err(Error::memory(name, what, needed, limit));
    }
    let width = usize::try_from(width).unwrap_or(usize::MAX);
    if width >= MAX_COLUMNS {
        return Err(Error::format(name, too_wide(width)));
    }

    let mut label = Vec::with_capacity(count);
    let mut features = vec![vec![0.0; count]; width];
    for (row, line) in rows(bytes) {
        let y = parse(line, |index, value| {
            let column = usize::try_from(index).ok().and_then(|index| features.get_mut(index.checked_sub(1)?));
            if let Some(cell) = column.and_then(|column| column.get_mut(row - 1)) {
                *cell = value;
            }
        });
        label.push(y.unwrap_or(f64::NAN));
    }
    let mut frame = Frame::new(count);
    frame.push("y", Column::Number(label))?;
    for (index, column) in features.into_iter().enumerate() {
        frame.push(format!("x{}", index + 1), Column::Number(column))?;
    }
    Ok(frame)
}

/// The rows that say something, numbered from 1.
fn rows(bytes: &[u8]) -> impl Iterator<Item = (usize, &[u8])> {
    let lines = bytes.split(|&byte| byte == b'\n').map(content).filter(|line| !line.is_empty());
    lines.zip(1..).map(|(line, row)| (row, line))
}

/// A line without its comment and the blanks around it.
fn content(line: &[u8]) -> &[u8] {
    line.split(|&byte| byte == b'#').next().unwrap_or_default().trim_ascii()
}

fn words(line: &[u8]) -> impl Iterator<Item = &[u8]> {
    line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty())
}

fn split(word: &[u8]) -> Option<(&[u8], &[u8])> {
    let colon = word.iter().position(|&byte| byte == b':')?;
    Some((word.get(..colon)?, word.get(colon + 1..)?))
}

/// Reads one row: hands its features to `take` and gives its label.
fn parse(line: &[u8], mut take: impl FnMut(u64, f64)) -> Result<f64, String> {
    let mut words = words(line);
    let first = words.next().unwrap_or_default();
    let label = number::plain(first)
        .ok_or_else(|| format!("a row must start with its label, a number; found {}", shown(first)))?;
    let mut previous = 0;
    for word in words {
        let must = || format!("after the label must come index:value; found {}", shown(word));
        let (index, value) = split(word).ok_or_else(must)?;
        if index == b"qid" {
            return Err("qid: groups rows for ranking, which this is not; remove the qid: entries".to_owned());
        }
        let index: u64 = std::str::from_utf8(index).ok().and_then(|text| text.parse().ok()).ok_or_else(must)?;
        let value = number::plain(value).ok_or_else(must)?;
        if index == 0 {
            return Err(format!("indices must start at 1; found {}; add 1 to every index", shown(word)));
        }
        if index <= previous {
            return Err(format!("indices must increase; found {index} after {previous}; sort the row"));
        }
        previous = index;
        take(index, value);
    }
    Ok(label)
}

/// A word in a message, cut where it would drown the sentence.
fn shown(word: &[u8]) -> String {
    let text = String::from_utf8_lossy(word);
    let cut: String = text.chars().take(40).collect();
    if cut.len() < text.len() { format!("{cut:?}...") } else { format!("{cut:?}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(text: &str) -> Result<Frame> {
        read(text.as_bytes(), "t.svm", &ReadOptions::default())
    }

    fn problem(text: &str) -> String {
        frame(text).unwrap_err().to_string()
    }

    #[test]
    fn absent_features_are_zero() {
        let frame = frame("# made by hand\n+1 1:0.5 3:2 # first\n\n-1.5\t2:1e2\r\n0\n").unwrap();
        assert_eq!(frame.names(), ["y", "x1", "x2", "x3"]);
        assert_eq!(frame.column("y").unwrap(), &Column::Number(vec![1.0, -1.5, 0.0]));
        assert_eq!(frame.column("x1").unwrap(), &Column::Number(vec![0.5, 0.0, 0.0]));
        assert_eq!(frame.column("x2").unwrap(), &Column::Number(vec![0.0, 100.0, 0.0]));
        assert_eq!(frame.column("x3").unwrap(), &Column::Number(vec![2.0, 0.0, 0.0]));
    }

    #[test]
    fn what_is_wrong_is_said_with_its_row() {
        assert_eq!(
            problem("1 1:1\n1 0:1\n"),
            "t.svm: row 2: indices must start at 1; found \"0:1\"; add 1 to every index"
        );
        assert_eq!(problem("1 2:1 2:1"), "t.svm: row 1: indices must increase; found 2 after 2; sort the row");
        assert!(problem("1 qid:3 1:1").contains("remove the qid: entries"));
        assert!(problem("a 1:1").contains("must start with its label"));
        for bad in ["1 1", "1 1:", "1 :1", "1 -1:1", "1 1:x", "1 99999999999999999999:1"] {
            assert!(problem(bad).contains("must come index:value"), "{bad}");
        }
        assert!(problem("\n# nothing\n").contains("is empty"));
    }

    #[test]
    fn a_huge_index_is_refused_before_anything_is_allocated() {
        let error = frame("1 4000000000:1\n").unwrap_err();
        assert!(matches!(error, Error::Memory { needed: 32_000_000_008, limit: DENSE_LIMIT, .. }), "{error}");
        assert!(problem(&format!("1 {}:1\n", u64::MAX)).contains("of memory"));
        assert!(problem("1 500000:1\n").contains("at most"));
    }

    #[test]
    fn looks() {
        assert!(looks_like(b"1 1:2\n"));
        assert!(looks_like(b"\n# c\n-1\n2 qid:1 1:2\n"));
        assert!(!looks_like(b"1 2\n"));
        assert!(!looks_like(b"a 1:2\n"));
        assert!(!looks_like(b"1 10:30:00\n"));
        assert!(!looks_like(b""));
        let long = format!("1{}\n", (1..20_000).map(|i| format!(" {i}:1.5")).collect::<String>());
        assert!(looks_like(long.as_bytes()));
    }
}
