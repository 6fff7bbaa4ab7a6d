//! The ways in which bytes can fail to be a model.

use thiserror::Error;

/// The newest version of model files that is read.
pub(crate) const NEWEST: u32 = 2;

/// The ways in which bytes can fail to be a model.
#[derive(Debug, Clone, PartialEq, Error)]
#[non_exhaustive]
pub enum FormatError {
    /// Too few bytes to hold anything, or another kind of file.
    #[error("this is not a Mercer model file")]
    NotAModel,
    /// Written by a later version.
    #[error("the model file has version {0}; this program reads up to version {NEWEST}")]
    Version(u32),
    /// The lengths in the file do not add up to its size.
    #[error("the model file is damaged: it says {said} bytes and has {found}")]
    Length {
        /// What its lengths add up to.
        said: u64,
        /// What is there.
        found: u64,
    },
    /// The checksum differs.
    #[error("the model file is damaged: its checksum differs")]
    Checksum,
    /// The header is longer than it may be, or cannot be read.
    #[error("the model file's header cannot be read: {0}")]
    Header(String),
    /// The names cannot be read.
    #[error("the model file's names cannot be read")]
    Text,
    /// Parts that must agree do not.
    #[error("the model file contradicts itself: {0}")]
    Contradiction(String),
    /// A number that is not finite.
    #[error("the model file holds a number that is not finite")]
    NotFinite,
    /// The model has more names or facts than the format can hold.
    #[error("the model is too large to be saved: {0}")]
    TooLarge(String),
}
