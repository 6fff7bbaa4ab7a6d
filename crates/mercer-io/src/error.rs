//! Everything that reading and writing can refuse.

use std::io;

use thiserror::Error;

/// The result of everything in this crate that can be refused.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a file could not be read or written.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Error {
    /// The operating system refused.
    // The cause is part of the sentence and therefore not also the error's `source`: whoever prints
    // the chain would print it twice.
    #[error("cannot {action} {path}: {cause}")]
    Io {
        /// `read` or `write`.
        action: &'static str,
        /// The file, or `standard input`, `standard output`.
        path: String,
        /// What the operating system said.
        cause: io::Error,
    },

    /// The bytes are not what they should be, or cannot be what was asked for.
    #[error("{name}: {problem}")]
    Format {
        /// The file.
        name: String,
        /// What must hold, what was found, and the remedy.
        problem: String,
    },

    /// The table would need more memory than may be used.
    #[error("{name}: {what} takes {} of memory; {} may be used; give a higher limit or a smaller table",
        bytes(*needed), bytes(*limit))]
    Memory {
        /// The file.
        name: String,
        /// What takes the memory.
        what: String,
        /// How many bytes it takes, or has taken so far.
        needed: u64,
        /// How many bytes it may take.
        limit: u64,
    },

    /// The table itself cannot be used.
    #[error(transparent)]
    Data(#[from] mercer::Error),
}

impl Error {
    /// A file that could not be read.
    pub(crate) fn read(path: &str, cause: io::Error) -> Self {
        Error::Io { action: "read", path: path.to_owned(), cause }
    }

    /// A file that could not be written.
    pub(crate) fn write(path: impl Into<String>, cause: io::Error) -> Self {
        Error::Io { action: "write", path: path.into(), cause }
    }

    /// Bytes that are not what they should be.
    pub(crate) fn format(name: &str, problem: impl Into<String>) -> Self {
        Error::Format { name: name.to_owned(), problem: problem.into() }
    }

    /// A size beyond its limit.
    pub(crate) fn memory(name: &str, what: impl Into<String>, needed: u64, limit: u64) -> Self {
        Error::Memory { name: name.to_owned(), what: what.into(), needed, limit }
    }

    /// Whether whoever read our output stopped reading, as `head` does: a reason to end quietly.
    pub fn is_broken_pipe(&self) -> bool {
        matches!(self, Error::Io { cause, .. } if cause.kind() == io::ErrorKind::BrokenPipe)
    }
}

/// `count` bytes in the unit people think in, and exactly when that rounds.
fn bytes(count: u64) -> String {
    const UNITS: [(&str, u64); 4] = [("TiB", 1 << 40), ("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)];
    match UNITS.iter().find(|(_, unit)| count >= *unit) {
        Some((name, unit)) if count.is_multiple_of(*unit) => format!("{} {name}", count / unit),
        Some((name, unit)) => format!("{:.1} {name} ({count} bytes)", count as f64 / *unit as f64),
        None => format!("{count} bytes"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_read_well() {
        assert_eq!(bytes(12), "12 bytes");
        assert_eq!(bytes(4 << 30), "4 GiB");
        assert_eq!(bytes(1536), "1.5 KiB (1536 bytes)");
    }

    #[test]
    fn a_broken_pipe_is_recognised() {
        let error = |kind| Error::write("standard output", io::Error::from(kind));
        assert!(error(io::ErrorKind::BrokenPipe).is_broken_pipe());
        assert!(!error(io::ErrorKind::NotFound).is_broken_pipe());
    }
}
