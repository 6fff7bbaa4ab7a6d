//! Where a model comes from: program, command, seed and data. No date and no folders: the same command on the same data gives the
//! same bytes, wherever and whenever it runs.

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::Model;

/// How a model was made. A model that a library fitted knows the program only.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Provenance {
    /// Name and version of the program that fitted it, such as `mercer 0.1.0`.
    pub program: String,
    /// The command line, files by their names only, without options that leave the model as it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// The seed of everything that was drawn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
    /// The files that were read.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub data: Vec<DataFile>,
}

/// A file that a model was fitted to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DataFile {
    /// Its name without folders; `-` is standard input.
    pub name: String,
    /// SHA-256 of its bytes, in hexadecimal digits, as `sha256sum` prints it.
    pub sha256: String,
}

impl Provenance {
    /// Of this version of the program, with nothing more known.
    pub fn of_this_version() -> Self {
        Provenance::of_program(concat!("mercer ", env!("CARGO_PKG_VERSION")))
    }

    pub(crate) fn of_program(program: &str) -> Self {
        Provenance { program: program.to_owned(), command: None, seed: None, data: Vec::new() }
    }

    /// Whether there is more than the program's name.
    pub(crate) fn says_more(&self) -> bool {
        self.command.is_some() || self.seed.is_some() || !self.data.is_empty()
    }
}

impl DataFile {
    /// A file by its name without folders and its bytes.
    pub fn of_bytes(name: &str, bytes: &[u8]) -> Self {
        let name = name.rsplit(['/', '\\']).next().unwrap_or(name).to_owned();
        let sha256 = Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect();
        DataFile { name, sha256 }
    }
}

impl Model {
    /// How the model was made.
    pub fn provenance(&self) -> &Provenance {
        &self.provenance
    }

    /// Writes down how the model was made; it is saved with it.
    pub fn set_provenance(&mut self, provenance: Provenance) {
        self.provenance = provenance;
    }
}
