//! Errors of the core as exceptions: what was given is wrong (`ValueError`), there is not enough memory (`MemoryError`),
//! a file cannot be read (`OSError`).

use pyo3::PyErr;
use pyo3::exceptions::{PyFileNotFoundError, PyMemoryError, PyOSError, PyRuntimeError, PyValueError};

/// The exception that says what the core said.
pub fn refused(error: mercer::Error) -> PyErr {
    match error {
        mercer::Error::Memory { .. } => PyMemoryError::new_err(error.to_string()),
        _ => PyValueError::new_err(error.to_string()),
    }
}

/// The same for files.
pub fn unreadable(error: mercer_io::Error) -> PyErr {
    let is_absent =
        matches!(&error, mercer_io::Error::Io { cause, .. } if cause.kind() == std::io::ErrorKind::NotFound);
    match error {
        mercer_io::Error::Data(error) => refused(error),
        other if is_absent => PyFileNotFoundError::new_err(other.to_string()),
        other => PyOSError::new_err(other.to_string()),
    }
}

/// Something that cannot happen did.
pub fn internal(text: &str) -> PyErr {
    PyRuntimeError::new_err(format!("internal error, please report it: {text}"))
}
