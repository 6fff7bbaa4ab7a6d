//! Which format a file has.

use std::fmt;
use std::str::FromStr;

use crate::error::Error;
use crate::libsvm;

/// The formats of tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Format {
    /// Rows of separated cells: comma, semicolon, tab, bar or blanks.
    Csv,
    /// Apache Parquet.
    Parquet,
    /// Apache Arrow IPC, as a file (Feather version 2) or a stream.
    Arrow,
    /// Sparse rows `label index:value ...`.
    Libsvm,
}

impl Format {
    /// All formats.
    pub const ALL: [Format; 4] = [Format::Csv, Format::Parquet, Format::Arrow, Format::Libsvm];

    /// The name by which a user asks for the format; [`FromStr`] reads it back.
    pub fn name(self) -> &'static str {
        match self {
            Format::Csv => "csv",
            Format::Parquet => "parquet",
            Format::Arrow => "arrow",
            Format::Libsvm => "libsvm",
        }
    }

    /// The format that a file's extension promises, in any case of letters; text formats may be
    /// followed by `.gz`.
    ///
    /// `.txt` promises nothing but text and is not here: it reads as CSV unless it looks like LIBSVM.
    pub fn from_path(path: &str) -> Option<Format> {
        let lower = path.to_ascii_lowercase();
        let packed = lower.strip_suffix(".gz");
        match packed.unwrap_or(&lower).rsplit_once('.')?.1 {
            "csv" | "tsv" => Some(Format::Csv),
            "libsvm" | "svm" | "svmlight" => Some(Format::Libsvm),
            "parquet" | "pq" if packed.is_none() => Some(Format::Parquet),
            "arrow" | "feather" | "ipc" if packed.is_none() => Some(Format::Arrow),
            _ => None,
        }
    }

    /// The format of a file, from unmistakable bytes first, then its extension, then its looks.
    pub(crate) fn detect(name: &str, bytes: &[u8]) -> Format {
        from_magic(bytes)
            .or_else(|| Format::from_path(name))
            .unwrap_or_else(|| if libsvm::looks_like(bytes) { Format::Libsvm } else { Format::Csv })
    }
}

/// The format that the bytes themselves announce.
fn from_magic(bytes: &[u8]) -> Option<Format> {
    // Either may also be a column's name, so that letters alone do not settle it: what follows in a
    // binary file is never text.
    let binary = |magic: &[u8]| {
        bytes
            .strip_prefix(magic)
            .is_some_and(|rest| rest.first().is_none_or(|next| next.is_ascii_control() && !b"\t\r\n".contains(next)))
    };
    if binary(b"PAR1") || (bytes.starts_with(b"PAR1") && bytes.ends_with(b"PAR1") && bytes.contains(&0)) {
        Some(Format::Parquet)
    } else if binary(b"ARROW1") || bytes.starts_with(&[0xff; 4]) {
        Some(Format::Arrow)
    } else {
        None
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Format {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self, Error> {
        Format::ALL.into_iter().find(|format| format.name() == name).ok_or_else(|| {
            let known = Format::ALL.map(Format::name).map(String::from);
            Error::Data(mercer::Error::UnknownName {
                axis: "format",
                name: name.to_owned(),
                suggestion: None,
                known: known.into(),
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extensions() {
        for (path, expected) in [
            ("a.csv", Some(Format::Csv)),
            ("dir.parquet/A.CSV.GZ", Some(Format::Csv)),
            ("a.tsv", Some(Format::Csv)),
            ("a.txt", None),
            ("a.pq", Some(Format::Parquet)),
            ("a.parquet.gz", None),
            ("a.feather", Some(Format::Arrow)),
            ("a.ipc", Some(Format::Arrow)),
            ("a.svmlight.gz", Some(Format::Libsvm)),
            ("csv", None),
            ("-", None),
        ] {
            assert_eq!(Format::from_path(path), expected, "{path}");
        }
    }

    #[test]
    fn contents() {
        for (name, bytes, expected) in [
            ("-", &b"PAR1\x15\x04"[..], Format::Parquet),
            ("a.csv", b"PAR1\x15\x04", Format::Parquet),
            ("-", b"PAR1,PAR2\n1,2\n", Format::Csv),
            ("-", b"ARROW1\0\0", Format::Arrow),
            ("-", b"\xff\xff\xff\xff\x10\0\0\0", Format::Arrow),
            ("a.txt", b"# data\n+1 1:0.5 3:2\n-1 2:1\n", Format::Libsvm),
            ("a.csv", b"+1 1:0.5 3:2\n", Format::Csv),
            ("a.txt", b"a b\n1 2\n", Format::Csv),
            ("a.svm", b"1 2\n", Format::Libsvm),
            ("-", b"", Format::Csv),
        ] {
            assert_eq!(Format::detect(name, bytes), expected, "{name} {bytes:?}");
        }
    }

    #[test]
    fn names_read_back() {
        for format in Format::ALL {
            assert_eq!(format.to_string().parse::<Format>().unwrap(), format);
        }
        assert!("excel".parse::<Format>().unwrap_err().to_string().contains("csv, parquet, arrow, libsvm"));
    }
}
