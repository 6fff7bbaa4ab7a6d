//! The file, taken apart and put together again.

use mercer::format::to_bytes;
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::samples::{Sample, small_samples};

pub const FIXED: usize = 32;
pub const CHECKSUM: usize = 32;

#[derive(Clone)]
pub struct Parts {
    pub header: Vec<u8>,
    pub text: Vec<u8>,
    pub numbers: Vec<u8>,
}

impl Parts {
    fn of(bytes: &[u8]) -> Parts {
        let header = u32::from_le_bytes(bytes[12..16].try_into().unwrap()) as usize;
        let text = u64::from_le_bytes(bytes[16..24].try_into().unwrap()) as usize;
        let at = FIXED + header;
        Parts {
            header: bytes[FIXED..at].to_vec(),
            text: bytes[at..at + text].to_vec(),
            numbers: bytes[at + text..bytes.len() - CHECKSUM].to_vec(),
        }
    }

    pub fn of_sample(sample: &Sample) -> Parts {
        Parts::of(&to_bytes(&sample.model).unwrap())
    }

    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.header).expect("the header is JSON")
    }

    pub fn with_json(&self, header: &Value) -> Parts {
        Parts { header: serde_json::to_vec(header).unwrap(), ..self.clone() }
    }

    /// A file whose lengths and checksum are right, whatever is in it.
    pub fn bytes(&self) -> Vec<u8> {
        self.with_lengths(self.lengths())
    }

    /// The true lengths of header, text and numbers.
    pub fn lengths(&self) -> [u64; 3] {
        [self.header.len() as u64, self.text.len() as u64, self.numbers.len() as u64 / 8]
    }

    /// The same with these lengths (header, text, numbers) instead.
    pub fn with_lengths(&self, [header, text, numbers]: [u64; 3]) -> Vec<u8> {
        let mut bytes = b"\x93MERCER\n".to_vec();
        bytes.extend(1_u32.to_le_bytes());
        bytes.extend((header as u32).to_le_bytes());
        bytes.extend(text.to_le_bytes());
        bytes.extend(numbers.to_le_bytes());
        bytes.extend(&self.header);
        bytes.extend(&self.text);
        bytes.extend(&self.numbers);
        seal(bytes)
    }
}

/// Adds the checksum.
pub fn seal(mut bytes: Vec<u8>) -> Vec<u8> {
    let checksum = Sha256::digest(&bytes);
    bytes.extend_from_slice(&checksum);
    bytes
}

#[test]
fn files_can_be_taken_apart_and_put_together() {
    for sample in small_samples() {
        let bytes = to_bytes(&sample.model).unwrap();
        assert_eq!(Parts::of(&bytes).bytes(), bytes, "{}", sample.name);
    }
}
