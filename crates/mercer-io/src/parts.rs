//! Tables read part by part, as their rows arrive.

use std::fs::File;
use std::io::{self, BufRead, BufReader};

use mercer::data::{Column, Frame};

use crate::csv::{self, Before};
use crate::error::{Error, Result};
use crate::sniff::SEPARATORS;
use crate::{Format, ReadOptions, Table, input, read_bytes};

/// A table of which the rows are read a few at a time. CSV that is not packed is read from the file (or standard input)
/// as far as it is asked for, and so is a Parquet file; all other formats are read whole at once.
pub struct Parts {
    name: String,
    options: ReadOptions,
    rest: Rest,
    before: Before,
    /// Cells of every row, once one was read.
    width: Option<usize>,
    /// Which columns of the first part were text.
    texts: Vec<bool>,
}

enum Rest {
    /// Lines to come, the header that belongs to all of them, and a record that was read already.
    Lines { from: Box<dyn BufRead + Send>, header: Vec<u8>, held: Vec<u8> },
    /// The whole table.
    Table(Table),
    /// A Parquet file.
    #[cfg(feature = "arrow")]
    Batches(crate::columnar::Batches),
}

/// Opens the table in the file at `path`, or on standard input for `-`. Separator, header and columns are told from the
/// first part.
pub fn open(path: &str, options: &ReadOptions) -> Result<Parts> {
    let (name, mut from): (&str, Box<dyn BufRead + Send>) = if path == "-" {
        (input::STDIN, Box::new(BufReader::new(io::stdin())))
    } else {
        let file = File::open(path).map_err(|cause| Error::read(path, cause))?;
        if file.metadata().map_err(|cause| Error::read(path, cause))?.is_dir() {
            return Err(Error::format(path, "is a folder; name a file in it"));
        }
        (path, Box::new(BufReader::with_capacity(1 << 16, file)))
    };
    let start = from.fill_buf().map_err(|cause| Error::read(name, cause))?;
    #[cfg(feature = "arrow")]
    if path != "-" && options.format.unwrap_or_else(|| Format::detect(name, start)) == Format::Parquet {
        let file = File::open(path).map_err(|cause| Error::read(path, cause))?;
        let rest = Rest::Batches(crate::columnar::Batches::open(file, name, options)?);
        let (before, width, texts) = (Before::default(), None, Vec::new());
        return Ok(Parts { name: name.to_owned(), options: options.clone(), rest, before, width, texts });
    }
    let is_text =
        !input::is_gzip(start) && options.format.unwrap_or_else(|| Format::detect(name, start)) == Format::Csv;
    let rest = match is_text {
        true => Rest::Lines { from, header: Vec::new(), held: Vec::new() },
        false => {
            let bytes = input::read_limited(from, name, "the input", options.memory_limit)?;
            Rest::Table(read_bytes(bytes, name, options)?)
        }
    };
    let (before, width, texts) = (Before::default(), None, Vec::new());
    Ok(Parts { name: name.to_owned(), options: options.clone(), rest, before, width, texts })
}

impl Parts {
    /// The next rows, at most `most` of them (of Parquet files up to a batch more); `None` when there are no more. Waits for
    /// input until `most` rows are there or the input has ended.
    pub fn next(&mut self, most: usize) -> Result<Option<Frame>> {
        let frame = self.next_table(most)?.frame;
        Ok((frame.rows() > 0).then_some(frame))
    }

    /// The same, with the cells of CSV as they were written; without rows when there are no more.
    pub fn next_table(&mut self, most: usize) -> Result<Table> {
        let table = match &mut self.rest {
            Rest::Table(Table { frame, .. }) => {
                let end = frame.rows().min(self.before.rows + most);
                frame.select_rows(&(self.before.rows..end).collect::<Vec<usize>>()).into()
            }
            Rest::Lines { .. } => self.next_lines(most)?,
            #[cfg(feature = "arrow")]
            Rest::Batches(batches) => batches.next(most, &self.name)?.into(),
        };
        self.before.rows += table.frame.rows();
        Ok(table)
    }

    /// Takes the table, if it had to be read whole because its format does not come in parts.
    pub fn take_whole(&mut self) -> Option<Table> {
        match &mut self.rest {
            Rest::Table(table) => Some(std::mem::replace(table, Frame::default().into())),
            _ => None,
        }
    }

    /// The number of rows of the whole table where the file says it before they are read.
    pub fn total_rows(&self) -> Option<usize> {
        match &self.rest {
            Rest::Table(table) => Some(table.frame.rows()),
            Rest::Lines { .. } => None,
            #[cfg(feature = "arrow")]
            Rest::Batches(batches) => batches.total_rows(),
        }
    }

    /// Columns that are text in every part, as they are in the whole table, even where a part has only numbers in them. To be
    /// called before the first part is read.
    #[must_use]
    pub fn with_text_columns(mut self, texts: Vec<bool>) -> Self {
        self.texts = texts;
        self
    }

    fn next_lines(&mut self, most: usize) -> Result<Table> {
        let Rest::Lines { from, header, held } = &mut self.rest else { return Ok(Frame::default().into()) };
        let is_first = self.width.is_none();
        let mut bytes = header.clone();
        let header_lines = count_lines(header);
        let mut first_record = 0;
        let mut found = usize::from(!held.is_empty());
        let mut last_record = bytes.len();
        bytes.append(held);
        // The first part has one record more: the header, if there is one.
        while found < most + usize::from(is_first) {
            let before = bytes.len();
            read_record(from.as_mut(), &mut bytes, self.options.separator, &self.name, self.options.memory_limit)?;
            if bytes.len() == before {
                break;
            }
            if !is_blank(&bytes[before..]) {
                found += 1;
                last_record = before;
                first_record = if found == 1 { bytes.len() } else { first_record };
            }
        }
        let lines = count_lines(&bytes) - header_lines;
        if found == 0 && !is_first {
            return Ok(Frame::default().into());
        }
        let start = bytes[..first_record].to_vec();
        let before = Before { lines: self.before.lines.saturating_sub(header_lines), ..self.before };
        let read = |bytes: Vec<u8>| csv::read_part(bytes, &self.name, &self.options, before, &self.texts);
        // Without a header the record more belongs to the next part, so that every part has the same number of rows.
        let surplus = (is_first && found > most).then(|| bytes.clone());
        let (mut frame, mut source) = read(bytes)?;
        if let Some(mut bytes) = surplus.filter(|_| !source.header) {
            *held = bytes.split_off(last_record);
            (frame, source) = read(bytes)?;
        }
        self.before.lines += lines - count_lines(held);
        if is_first {
            (self.options.separator, self.options.header) = (Some(source.separator), Some(source.header));
            self.width = Some(frame.names().len());
            self.texts = frame.iter().map(|(_, column)| matches!(column, Column::Text(_))).collect();
            if source.header {
                *header = start.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&start).to_vec();
            }
        } else if self.width != Some(frame.names().len()) {
            let (row, width) = (self.before.rows + 1, self.width.unwrap_or(0));
            let problem = format!("row {row} has {} cells, the first row has {width}", frame.names().len());
            return Err(Error::format(&self.name, problem));
        }
        Ok(Table { frame, source: Some(source) })
    }
}

fn count_lines(bytes: &[u8]) -> u64 {
    bytes.iter().filter(|byte| **byte == b'\n').count() as u64
}

fn is_blank(bytes: &[u8]) -> bool {
    bytes.iter().all(|byte| b"\r\n".contains(byte))
}

/// Adds the next line to `bytes`, and those that a quote joins to it; nothing at the end of the input.
fn read_record(
    from: &mut dyn BufRead,
    bytes: &mut Vec<u8>,
    separator: Option<u8>,
    name: &str,
    limit: Option<u64>,
) -> Result<()> {
    let is_separator = |byte: u8| separator.map_or_else(|| SEPARATORS.contains(&byte), |known| byte == known);
    let start = bytes.len();
    let (mut open, mut may_open) = (false, true);
    loop {
        let scanned = bytes.len();
        let read = from.read_until(b'\n', bytes).map_err(|cause| Error::read(name, cause))?;
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
            return Ok(());
        }
        if let Some(limit) = limit.filter(|limit| (bytes.len() - start) as u64 > *limit) {
            return Err(Error::memory(name, "a single row (read so far)", (bytes.len() - start) as u64, limit));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read;

    fn in_parts(path: &str, sizes: &[usize]) -> Result<Frame> {
        let mut parts = open(path, &ReadOptions::default())?;
        let mut whole = Frame::default();
        let mut sizes = sizes.iter().cycle();
        while let Some(frame) = parts.next(*sizes.next().unwrap_or(&1))? {
            if whole.rows() == 0 {
                whole = frame;
            } else {
                whole.append(&frame).map_err(Error::from)?;
            }
        }
        Ok(whole)
    }

    #[test]
    fn parts_make_up_the_whole() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.csv");
        let path = path.to_str().unwrap();
        let quoted = "a;b;c\n1;\"x;\ny\"\"z\";3\n\n2;5\" pipe;4\r\n3;w;5\n4;v;6\n";
        let plain = "1,2\n3,4\n5,6\n7,8\n9,10";
        let blanks = "  a   b\n  1  20 \n 2   30\n 3  40\n";
        let codes = "k,v\na,1\n007,2\n3.0,3\n01,4\n";
        for text in [quoted, plain, blanks, codes, "\u{feff}a,b\n1,2\n3,4\n5,6\n"] {
            std::fs::write(path, text).unwrap();
            let whole = read(path, &ReadOptions::default()).unwrap().frame;
            assert!(whole.rows() >= 3, "{text:?}");
            for sizes in [&[1][..], &[2], &[3, 1], &[100]] {
                assert_eq!(in_parts(path, sizes).unwrap(), whole, "{text:?} {sizes:?}");
            }
        }
    }

    #[test]
    #[cfg(feature = "arrow")]
    fn parquet_comes_in_batches() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.parquet");
        let path = path.to_str().unwrap();
        let mut frame = Frame::new(10_000);
        frame.push("a", Column::Number((0..10_000).map(f64::from).collect())).unwrap();
        let texts = (0..10_000).map(|i| Some(format!("t{}", i % 7))).collect();
        frame.push("b", Column::Text(texts)).unwrap();
        crate::write_frame(path, &frame).unwrap();
        for sizes in [&[1][..], &[5000], &[100_000]] {
            assert_eq!(in_parts(path, sizes).unwrap(), frame, "{sizes:?}");
        }
        let mut parts = open(path, &ReadOptions::default()).unwrap();
        assert!(parts.next(1).unwrap().unwrap().rows() < 10_000);
        let bytes = std::fs::read(path).unwrap();
        std::fs::write(path, &bytes[..bytes.len() / 2]).unwrap();
        assert!(in_parts(path, &[100]).is_err());
    }

    #[test]
    fn messages_count_from_the_beginning_of_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.csv");
        let path = path.to_str().unwrap();
        std::fs::write(path, "a,b\n1,2\n3,4\n\n5,6\n7,8,9\n").unwrap();
        let whole = read(path, &ReadOptions::default()).unwrap_err().to_string();
        assert!(whole.contains("row 4 (line 6)"), "{whole}");
        for sizes in [&[1][..], &[2], &[3, 1], &[100]] {
            assert_eq!(in_parts(path, sizes).unwrap_err().to_string(), whole, "{sizes:?}");
        }
        std::fs::write(path, "").unwrap();
        assert!(in_parts(path, &[5]).unwrap_err().to_string().contains("is empty"));
        std::fs::write(path, "1,2\n3,4\n5\n").unwrap();
        assert!(in_parts(path, &[2]).unwrap_err().to_string().contains("row 3"));
        assert!(open("/no/such/file.csv", &ReadOptions::default()).is_err());
    }
}
