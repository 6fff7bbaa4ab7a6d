//! Tables written part by part, as [`write_with`](crate::write_with) writes them whole.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

use mercer::data::Column;

use crate::atomic::Pending;
use crate::error::{Error, Result};
use crate::write::{Dialect, Json, STDOUT, check, check_name, is_gz, to_csv};
use crate::{Format, Table};

/// A table of which the rows come a few at a time: CSV to a file or to standard output, Parquet to a file. A file appears
/// when it is [finished](Self::finish), in one step or not at all, unless it is [to grow](Self::growing).
pub struct TableWriter {
    path: String,
    kind: Kind,
}

enum Kind {
    /// The dialect is that of the first part.
    Csv { to: Place, dialect: Option<Dialect> },
    #[cfg(feature = "arrow")]
    Parquet(Parquet),
}

enum Place {
    Stdout,
    File(Pending),
    /// What is written can be read at once.
    Growing(File),
}

#[cfg(feature = "arrow")]
enum Parquet {
    /// The columns are those of the first part.
    Waiting(Pending),
    Begun(Box<crate::columnar::PartWriter>),
    /// Given up after an error.
    Broken,
}

impl TableWriter {
    /// Begins the table at `path`, or on standard output for `-`. `None` where the name asks for a format that is written
    /// whole.
    pub fn open(path: &str) -> Result<Option<Self>> {
        if path != "-" {
            check_name(path)?;
        }
        if !TableWriter::writes(path) {
            return Ok(None);
        }
        let file = || Pending::create(Path::new(path));
        let kind = match path {
            "-" => Kind::Csv { to: Place::Stdout, dialect: None },
            #[cfg(feature = "arrow")]
            typed if TableWriter::is_typed(typed) => Kind::Parquet(Parquet::Waiting(file()?)),
            _ => Kind::Csv { to: Place::File(file()?), dialect: None },
        };
        Ok(Some(TableWriter { path: path.to_owned(), kind }))
    }

    /// Begins a table of which every part can be read as soon as it is written: CSV, in a file that is replaced at once, or
    /// on standard output for `-`. `None` where the name asks for another format.
    pub fn growing(path: &str) -> Result<Option<Self>> {
        if path != "-" && (is_gz(path) || Format::from_path(path).unwrap_or(Format::Csv) != Format::Csv) {
            return Ok(None);
        }
        let to = match path {
            "-" => Place::Stdout,
            _ => Place::Growing(File::create(path).map_err(|cause| Error::write(path, cause))?),
        };
        Ok(Some(TableWriter { path: path.to_owned(), kind: Kind::Csv { to, dialect: None } }))
    }

    /// Whether a table with this name can be written part by part.
    pub fn writes(path: &str) -> bool {
        let is_json = path != "-" && Json::of(path).is_some();
        path == "-"
            || !is_json
                && match Format::from_path(path).unwrap_or(Format::Csv) {
                    Format::Csv => !is_gz(path),
                    Format::Parquet => cfg!(feature = "arrow"),
                    _ => false,
                }
    }

    /// Whether all parts of a table with this name must have the same types of columns.
    pub fn is_typed(path: &str) -> bool {
        path != "-" && Format::from_path(path) == Some(Format::Parquet)
    }

    /// Adds the rows of a part with extra columns at its right.
    pub fn write(&mut self, table: &Table, extra: &[(String, Column)]) -> Result<()> {
        check(&table.frame, extra)?;
        match &mut self.kind {
            Kind::Csv { to, dialect } => {
                let source = table.source.as_ref().filter(|source| source.fits(&table.frame));
                let is_first = dialect.is_none();
                let dialect = dialect.get_or_insert_with(|| Dialect::new(&self.path, source));
                let name = if matches!(to, Place::Stdout) { STDOUT } else { &self.path };
                let failed = |cause: io::Error| Error::write(name, cause);
                let bytes = to_csv(dialect, &table.frame, source, extra, is_first).map_err(failed)?;
                match to {
                    Place::Stdout => {
                        let mut out = io::stdout().lock();
                        out.write_all(&bytes).and_then(|()| out.flush()).map_err(failed)
                    }
                    Place::Growing(file) => file.write_all(&bytes).map_err(failed),
                    Place::File(pending) => pending.write_all(&bytes).map_err(failed),
                }
            }
            #[cfg(feature = "arrow")]
            Kind::Parquet(state) => {
                let mut writer = match std::mem::replace(state, Parquet::Broken) {
                    Parquet::Waiting(pending) => {
                        Box::new(crate::columnar::PartWriter::start(pending, &table.frame, extra, &self.path)?)
                    }
                    Parquet::Begun(writer) => writer,
                    Parquet::Broken => return Err(Error::format(&self.path, "was given up after an error")),
                };
                writer.write(&table.frame, extra, &self.path)?;
                *state = Parquet::Begun(writer);
                Ok(())
            }
        }
    }

    /// Ends the table and puts it in its place.
    pub fn finish(self) -> Result<()> {
        match self.kind {
            Kind::Csv { to: Place::Stdout, .. } => {
                io::stdout().lock().flush().map_err(|cause| Error::write(STDOUT, cause))
            }
            Kind::Csv { to: Place::File(pending), .. } => pending.commit(),
            Kind::Csv { to: Place::Growing(file), .. } => {
                // A pipe or device cannot be forced to the disk.
                let _ = file.sync_all();
                Ok(())
            }
            #[cfg(feature = "arrow")]
            Kind::Parquet(Parquet::Begun(writer)) => writer.finish(&self.path),
            #[cfg(feature = "arrow")]
            Kind::Parquet(_) => Err(Error::format(&self.path, "has no rows to write")),
        }
    }
}
