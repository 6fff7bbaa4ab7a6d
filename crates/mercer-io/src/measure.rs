//! How large a table is, told without reading it.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};

use crate::sniff::SEPARATORS;
use crate::{Format, ReadOptions, input};

/// Bytes that are looked at in each place of a text file.
const SAMPLE: usize = 1 << 16;
/// Places that are looked at.
const PLACES: u64 = 8;

/// The size of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Size {
    /// Of the file.
    pub bytes: u64,
    /// Exact for Parquet, estimated from the length of some lines for CSV.
    pub rows: u64,
    /// Columns.
    pub columns: u64,
    /// Whether the file is CSV.
    pub is_text: bool,
}

impl Size {
    /// Bytes of the cells as numbers.
    pub fn cells(&self) -> u64 {
        self.rows.saturating_mul(self.columns).saturating_mul(8)
    }

    /// Bytes that are held once the table is read: its cells, and beside them the text of CSV.
    pub fn held(&self) -> u64 {
        self.cells().saturating_add(if self.is_text { self.bytes } else { 0 })
    }
}

/// The size of the table in the file at `path`, where that can be told: of CSV that is not packed, and of Parquet.
pub fn measure(path: &str, options: &ReadOptions) -> Option<Size> {
    if path == "-" {
        return None;
    }
    let mut file = File::open(path).ok()?;
    let about = file.metadata().ok()?;
    let bytes = Some(about.len()).filter(|_| about.is_file())?;
    let start = sample(&mut file, 0)?;
    if input::is_gzip(&start) {
        return None;
    }
    match options.format.unwrap_or_else(|| Format::detect(path, &start)) {
        Format::Csv => of_text(&mut file, &start, bytes, options.separator),
        #[cfg(feature = "arrow")]
        Format::Parquet => {
            let (rows, columns) = crate::columnar::size(file, path).ok()?;
            Some(Size { bytes, rows, columns, is_text: false })
        }
        _ => None,
    }
}

fn of_text(file: &mut File, start: &[u8], bytes: u64, separator: Option<u8>) -> Option<Size> {
    let line = start.split(|byte| *byte == b'\n').next()?;
    let count = |separator: u8| line.iter().filter(|byte| **byte == separator).count() as u64;
    let columns = 1 + separator.map_or_else(|| SEPARATORS.iter().map(|s| count(*s)).max().unwrap_or(0), count);
    let (mut seen, mut lines) = (0, 0);
    for place in 0..PLACES {
        let part = if place == 0 { start.to_vec() } else { sample(file, bytes / PLACES * place)? };
        seen += part.len() as u64;
        lines += part.iter().filter(|byte| **byte == b'\n').count() as u64;
        if part.len() as u64 == bytes {
            break;
        }
    }
    let rows = (lines.max(1) as f64 * (bytes as f64 / seen.max(1) as f64)) as u64;
    Some(Size { bytes, rows, columns, is_text: true })
}

fn sample(file: &mut File, from: u64) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    file.seek(SeekFrom::Start(from)).ok()?;
    file.take(SAMPLE as u64).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_told_from_a_part_of_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.csv");
        let path = path.to_str().unwrap();
        let mut text = "a;b;c\n".to_owned();
        (0..100_000).for_each(|i| text.push_str(&format!("{i};{};x\n", i * i)));
        std::fs::write(path, &text).unwrap();
        let size = measure(path, &ReadOptions::default()).unwrap();
        assert_eq!((size.bytes, size.columns), (text.len() as u64, 3));
        assert!((90_000..110_000).contains(&size.rows), "{size:?}");
        std::fs::write(path, "a\n1\n2").unwrap();
        assert_eq!(
            measure(path, &ReadOptions::default()).unwrap(),
            Size { bytes: 5, rows: 2, columns: 1, is_text: true }
        );
        assert_eq!(measure("-", &ReadOptions::default()), None);
        assert_eq!(measure("/no/such/file", &ReadOptions::default()), None);
    }
}
