//! Tables read part by part, as their rows arrive.

use std::fs::File;
use std::io::{self, BufRead, BufReader};

use mercer::data::{Column, Frame, Reading};

use crate::csv::{self, Before};
use crate::error::{Error, Result};
use crate::preamble::{self, Above, read_record};
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
    /// What the numbers of each column stand for, once a cell of it was seen.
    readings: Vec<Option<Reading>>,
    notes: Vec<String>,
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
        return Ok(Parts::new(name, options.clone(), rest));
    }
    let is_text =
        !input::is_gzip(start) && options.format.unwrap_or_else(|| Format::detect(name, start)) == Format::Csv;
    let (mut options, mut above) = (options.clone(), Above::default());
    let rest = match is_text {
        true => {
            let (from, found) = preamble::skip(from, &options, name)?;
            above = found;
            options.separator = options.separator.or(above.separator);
            Rest::Lines { from, header: Vec::new(), held: Vec::new() }
        }
        false => {
            let bytes = input::read_limited(from, name, "the input", options.memory_limit)?;
            Rest::Table(read_bytes(bytes, name, &options)?)
        }
    };
    let mut parts = Parts::new(name, options, rest);
    parts.before.lines = above.lines;
    Ok(parts)
}

impl Parts {
    fn new(name: &str, options: ReadOptions, rest: Rest) -> Self {
        let (before, width, texts, readings) = (Before::default(), None, Vec::new(), Vec::new());
        let notes = Vec::new();
        Parts { name: name.to_owned(), options, rest, before, width, texts, readings, notes }
    }

    /// The next rows, at most `most` of them (of Parquet files up to a batch more); `None` when there are no more. Waits for
    /// input until `most` rows are there or the input has ended.
    pub fn next(&mut self, most: usize) -> Result<Option<Frame>> {
        let frame = self.next_table(most)?.frame;
        Ok((frame.rows() > 0).then_some(frame))
    }

    /// The same, with the cells of CSV as they were written; without rows when there are no more.
    pub fn next_table(&mut self, most: usize) -> Result<Table> {
        let mut table = match &mut self.rest {
            Rest::Table(Table { frame, .. }) => {
                let end = frame.rows().min(self.before.rows + most);
                frame.select_rows(&(self.before.rows..end).collect::<Vec<usize>>()).into()
            }
            Rest::Lines { .. } => self.next_lines(most)?,
            #[cfg(feature = "arrow")]
            Rest::Batches(batches) => {
                let mut frame = batches.next(most, &self.name)?;
                frame.read_texts(self.options.marks(), |place| self.texts.get(place).copied().unwrap_or(false));
                frame.into()
            }
        };
        self.settle(&mut table.frame)?;
        self.before.rows += table.frame.rows();
        Ok(table)
    }

    /// Reads the columns of a part as those of the parts before it: where the cells of a column stand for something else
    /// now, they are texts, as they would be in the whole table.
    fn settle(&mut self, frame: &mut Frame) -> Result<()> {
        self.readings.resize(frame.names().len(), None);
        let names = frame.names().to_vec();
        for (place, (name, known)) in names.iter().zip(&mut self.readings).enumerate() {
            let Column::Number(cells) = frame.column(name)? else { continue };
            let Some(row) = cells.iter().position(|cell| !cell.is_nan()) else { continue };
            let own = frame.reading(name);
            match known {
                None => *known = Some(own),
                Some(known) if *known == own => {}
                Some(_) if frame.texts(name).is_some() => frame.unread(place),
                Some(known) => {
                    let problem = format!(
                        "is a plain number, and the cells of the rows before were {}; write all cells alike",
                        known.describe()
                    );
                    return Err(mercer::Error::cell(self.before.rows + row + 1, name, problem).into());
                }
            }
        }
        Ok(())
    }

    /// What should be known about how the table is read; known once its first part was read.
    pub fn notes(&self) -> &[String] {
        &self.notes
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
            let (separator, comment) = (self.options.separator, self.options.comment);
            read_record(from.as_mut(), &mut bytes, separator, comment, &self.name, self.options.memory_limit)?;
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
        let (mut frame, mut source, mut notes) = read(bytes)?;
        if let Some(mut bytes) = surplus.filter(|_| !source.header) {
            *held = bytes.split_off(last_record);
            (frame, source, notes) = read(bytes)?;
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
        if is_first {
            self.notes = notes;
        }
        Ok(Table { frame, notes: Vec::new(), source: Some(source) })
    }
}

fn count_lines(bytes: &[u8]) -> u64 {
    bytes.iter().filter(|byte| **byte == b'\n').count() as u64
}

fn is_blank(bytes: &[u8]) -> bool {
    bytes.iter().all(|byte| b"\r\n".contains(byte))
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
        let units = "w,d,p\n12 kg,2020-01-05,5%\n,2020-01-06,\n13 kg,,7%\n14kg,2020-01-07,8%\n";
        let late = "w;k\n;1\n;2\n1,234,567;3\n5;4\n";
        let named = "sep=;\nx;y\n1;2\n3;4\n5;6\n";
        for text in [quoted, plain, blanks, codes, units, late, named, "\u{feff}a,b\n1,2\n3,4\n5,6\n"] {
            std::fs::write(path, text).unwrap();
            let whole = read(path, &ReadOptions::default()).unwrap().frame;
            assert!(whole.rows() >= 3, "{text:?}");
            for sizes in [&[1][..], &[2], &[3, 1], &[100]] {
                let parts = in_parts(path, sizes).unwrap();
                assert_eq!((parts.names(), parts.rows()), (whole.names(), whole.rows()), "{text:?} {sizes:?}");
                for name in whole.names() {
                    // Missing cells are NaN, which equals nothing.
                    let shown = |frame: &Frame| {
                        format!("{:?} {:?} {:?}", frame.column(name), frame.reading(name), frame.texts(name))
                    };
                    assert_eq!(shown(&parts), shown(&whole), "{text:?} {sizes:?}");
                }
            }
        }
    }

    #[test]
    fn lines_above_the_table_and_comments_are_passed_over() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.csv");
        let path = path.to_str().unwrap();
        std::fs::write(
            path,
            "Title, with \"quotes\n\n# c\na,b\n# it's, \"open\n1,2\n\n3,\"4\n# no comment\"\n#x\n5,6\n7\n",
        )
        .unwrap();
        let options = ReadOptions { skip_rows: 2, comment: Some(b'#'), ..ReadOptions::default() };
        let whole = read(path, &options).unwrap_err().to_string();
        assert!(whole.contains("row 4 (line 12) has 1 cell"), "{whole}");
        std::fs::write(path, "Title\n# c\na,b\n# it's, \"open\n1,2\n\n3,\"4\n# no comment\"\n#x\n5,6\n").unwrap();
        let options = ReadOptions { skip_rows: 1, ..options };
        let whole = read(path, &options).unwrap().frame;
        assert_eq!((whole.names(), whole.rows()), (&["a".to_owned(), "b".to_owned()][..], 3));
        for size in 1..5 {
            let mut parts = open(path, &options).unwrap();
            let mut all = parts.next(size).unwrap().unwrap();
            while let Some(more) = parts.next(size).unwrap() {
                all.append(&more).unwrap();
            }
            assert_eq!(all, whole, "{size}");
        }
    }

    #[test]
    fn parts_that_stand_for_something_else_are_text_or_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.csv");
        let path = path.to_str().unwrap();
        let second = |text: &str| {
            std::fs::write(path, text).unwrap();
            let mut parts = open(path, &ReadOptions::default()).unwrap();
            parts.next(1).unwrap();
            parts.next(1).map(|frame| frame.unwrap().column("a").unwrap().clone())
        };
        assert!(matches!(second("a,b\n12 kg,1\n13 lb,2\n").unwrap(), Column::Text(_)));
        assert!(matches!(second("a,b\n12,1\n13 lb,2\n").unwrap(), Column::Text(_)));
        let error = second("a,b\n12 kg,1\n13,2\n").unwrap_err().to_string();
        assert!(error.starts_with("row 2, column \"a\": is a plain number") && error.contains("in kg"), "{error}");
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
