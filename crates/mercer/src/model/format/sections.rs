//! A file's bytes, taken apart: lengths and checksum first, then numbers one after the other.

use sha2::{Digest, Sha256};

use super::FormatError;
use crate::linalg::Matrix;

pub(super) const MAGIC: [u8; 8] = [0x93, b'M', b'E', b'R', b'C', b'E', b'R', b'\n'];
/// Of models in double precision.
pub(super) const VERSION: u32 = 1;
/// Of models in single precision.
pub(super) const SINGLE_VERSION: u32 = 2;
/// Bytes before the parts of a file, and of its checksum behind them.
pub(crate) const FIXED: usize = 32;
pub(crate) const CHECKSUM: usize = 32;
/// A header is a page of facts; more than this is a lie or a mistake.
pub(super) const LONGEST_HEADER: usize = 1 << 20;

/// The parts of a file whose lengths and checksum are right.
pub(super) struct Sections<'a> {
    pub header: &'a [u8],
    pub text: &'a [u8],
    pub numbers: &'a [u8],
    /// The numbers of the function, where they are stored in single precision.
    pub singles: Option<&'a [u8]>,
}

impl<'a> Sections<'a> {
    pub fn split(bytes: &'a [u8]) -> Result<Self, FormatError> {
        let fixed: &[u8; FIXED] = bytes.first_chunk().ok_or(FormatError::NotAModel)?;
        if fixed[..8] != MAGIC || bytes.len() < FIXED + CHECKSUM {
            return Err(FormatError::NotAModel);
        }
        let u32_at = |at: usize| u32::from_le_bytes(std::array::from_fn(|i| fixed[at + i]));
        let u64_at = |at: usize| u64::from_le_bytes(std::array::from_fn(|i| fixed[at + i]));
        let version = u32_at(8);
        if version != VERSION && version != SINGLE_VERSION {
            return Err(FormatError::Version(version));
        }
        let singles = match version {
            SINGLE_VERSION => Some(bytes.get(FIXED..).and_then(<[u8]>::first_chunk).ok_or(FormatError::NotAModel)?),
            _ => None,
        };
        let singles = singles.map(|count| u64::from_le_bytes(*count));
        let (header, text, numbers) = (u64::from(u32_at(12)), u64_at(16), u64_at(24));
        if header > LONGEST_HEADER as u64 {
            return Err(FormatError::Header(format!("it has {header} bytes, more than {LONGEST_HEADER}")));
        }
        let of_singles = singles.map_or(Some(0), |count| count.checked_mul(4)?.checked_add(8));
        let said = numbers.checked_mul(8).and_then(|numbers| numbers.checked_add(text)?.checked_add(header));
        let said = said.and_then(|said| said.checked_add(of_singles?));
        let content = verified(bytes, said)?;
        let content = if singles.is_some() { &content[8..] } else { content };
        let (header, rest) = content.split_at(header as usize);
        let (text, rest) = rest.split_at(text as usize);
        let (numbers, rest) = rest.split_at(8 * numbers as usize);
        Ok(Sections { header, text, numbers, singles: singles.map(|_| rest) })
    }
}

/// What stands between the fixed head of a file and its checksum, once its length is the one that is said and the checksum is right.
pub(crate) fn verified(bytes: &[u8], said: Option<u64>) -> Result<&[u8], FormatError> {
    let said = said.and_then(|said| said.checked_add((FIXED + CHECKSUM) as u64)).unwrap_or(u64::MAX);
    if said != bytes.len() as u64 {
        return Err(FormatError::Length { said, found: bytes.len() as u64 });
    }
    let (content, checksum) = bytes.split_at(bytes.len() - CHECKSUM);
    if Sha256::digest(content).as_slice() != checksum {
        return Err(FormatError::Checksum);
    }
    Ok(&content[FIXED..])
}

/// Reads numbers one after the other.
pub(super) struct Numbers<'a> {
    pub bytes: &'a [u8],
}

impl Numbers<'_> {
    pub fn one(&mut self) -> Result<f64, FormatError> {
        let (number, rest) = self.bytes.split_first_chunk().ok_or(FormatError::NotAModel)?;
        self.bytes = rest;
        let number = f64::from_le_bytes(*number);
        if number.is_finite() { Ok(number) } else { Err(FormatError::NotFinite) }
    }

    pub fn code(&mut self) -> Result<u32, FormatError> {
        let number = self.one()?;
        if number.fract() == 0.0 && (0.0..=f64::from(u32::MAX)).contains(&number) {
            Ok(number as u32)
        } else {
            Err(FormatError::Contradiction("a category's code is not a whole number".into()))
        }
    }

    pub fn matrix(&mut self, rows: usize, cols: usize) -> Result<Matrix, FormatError> {
        // The sizes were checked against the numbers that are there.
        let data = (0..rows * cols).map(|_| self.one()).collect::<Result<Vec<f64>, _>>()?;
        Matrix::from_columns(rows, cols, data).map_err(|error| FormatError::Contradiction(error.to_string()))
    }
}

/// The same for numbers in single precision.
pub(super) struct Singles<'a> {
    pub bytes: &'a [u8],
}

impl Singles<'_> {
    pub fn matrix(&mut self, rows: usize, cols: usize) -> Result<Matrix, FormatError> {
        let (own, rest) = self.bytes.split_at_checked(4 * rows * cols).ok_or(FormatError::NotAModel)?;
        self.bytes = rest;
        let (chunks, _) = own.as_chunks::<4>();
        let data: Vec<f64> = chunks.iter().map(|number| f64::from(f32::from_le_bytes(*number))).collect();
        if data.iter().any(|x| !x.is_finite()) {
            return Err(FormatError::NotFinite);
        }
        Matrix::from_columns(rows, cols, data).map_err(|error| FormatError::Contradiction(error.to_string()))
    }
}
