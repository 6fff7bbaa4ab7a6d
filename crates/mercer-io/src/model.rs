//! The bytes of model files. What they mean is the core's business.

use std::fs;

use crate::error::{Error, Result};
use crate::input;

/// No model is this large; something that is would only fill the memory before it is refused.
const LARGEST: u64 = 64 << 30;

/// Reads the bytes of the model file at `path`, or of standard input for `-`.
///
/// Errors: the file cannot be read, is no regular file, or is larger than any model.
pub fn load(path: &str) -> Result<Vec<u8>> {
    if path != "-" {
        let about = fs::metadata(path).map_err(|cause| Error::read(path, cause))?;
        if !about.is_file() {
            let kind = if about.is_dir() { "a folder" } else { "a device or pipe" };
            return Err(Error::format(
                path,
                format!("a model must be a regular file and this is {kind}; use - to read standard input"),
            ));
        }
    }
    input::read(path, Some(LARGEST))
}
