//! Moments as bytes: a model that says how tables are read and which landmarks there are, then all sums.
//!
//! ```text
//! 0   magic 93 4D 4F 4D 45 4E 54 0A     8   version (u32)        12  folds (u16), 14 length of the weight column's name (u16)
//! 16  length of the model (u64)         24  count of numbers (u64)
//! 32  the model, the numbers (f64), the name of the weight column, three numbers (u64) for each part that was added,
//!     the count of parts (u64), SHA-256 of everything before it
//! ```
//! Version 1 had no such name (its length is 0) and did not keep the largest k(x, x); version 2 knew no parts.
//! All little-endian. Every length is checked against the bytes that are there before anything is reserved.

use sha2::{Digest, Sha256};

use super::parts::Part;
use super::sums::Sums;
use super::{LandmarkMap, Moments};
use crate::linalg::Matrix;
use crate::model::format::{self, CHECKSUM, FIXED, FormatError, verified};
use crate::model::{Expansion, Model};

const MAGIC: [u8; 8] = [0x93, b'M', b'O', b'M', b'E', b'N', b'T', b'\n'];
const VERSION: u32 = 3;
/// Bytes of a part.
const PART: u64 = 24;

impl Moments {
    /// The bytes of moments and of a model that was fitted to them.
    pub fn to_bytes(&self, model: &Model) -> Result<Vec<u8>, FormatError> {
        let model = format::to_bytes(model)?;
        let mut numbers = self.map.lower.as_slice().to_vec();
        numbers.extend_from_slice(&self.pilot.0);
        numbers.extend_from_slice(&self.pilot.1);
        numbers.extend(self.ranges.iter().flatten());
        numbers.push(self.height);
        self.folds.iter().for_each(|fold| numbers.extend(fold.numbers()));
        if numbers.iter().any(|x| !x.is_finite()) {
            return Err(FormatError::NotFinite);
        }
        let name = self.weight.as_deref().unwrap_or_default().as_bytes();
        let short = |length: usize, what: &str| {
            u16::try_from(length).map_err(|_| FormatError::Contradiction(format!("{what} ({length})")))
        };
        let folds = short(self.folds.len(), "too many folds")?;
        let name_length = short(name.len(), "the name of the weight column is too long")?;
        let mut bytes = Vec::with_capacity(FIXED + model.len() + 8 * numbers.len() + CHECKSUM);
        bytes.extend(MAGIC);
        bytes.extend(VERSION.to_le_bytes());
        bytes.extend(folds.to_le_bytes());
        bytes.extend(name_length.to_le_bytes());
        bytes.extend((model.len() as u64).to_le_bytes());
        bytes.extend((numbers.len() as u64).to_le_bytes());
        bytes.extend(model);
        numbers.iter().for_each(|number| bytes.extend(number.to_le_bytes()));
        bytes.extend(name);
        let mut parts = 0_u64;
        for part in self.all_parts() {
            [part.rows, part.first, part.second].iter().for_each(|number| bytes.extend(number.to_le_bytes()));
            parts += 1;
        }
        bytes.extend(parts.to_le_bytes());
        let checksum = Sha256::digest(&bytes);
        bytes.extend_from_slice(&checksum);
        Ok(bytes)
    }

    /// Whether bytes begin like a file of moments.
    pub fn are_in(bytes: &[u8]) -> bool {
        bytes.len() >= MAGIC.len() && bytes[..MAGIC.len()] == MAGIC
    }

    /// The moments that bytes hold, and the model beside them.
    pub fn from_bytes(bytes: &[u8]) -> Result<(Self, Model), FormatError> {
        let fixed: &[u8; FIXED] = bytes.first_chunk().ok_or(FormatError::NotAModel)?;
        if fixed[..8] != MAGIC || bytes.len() < FIXED + CHECKSUM {
            return Err(FormatError::NotAModel);
        }
        let u32_at = |at: usize| u32::from_le_bytes(std::array::from_fn(|i| fixed[at + i]));
        let u64_at = |at: usize| u64::from_le_bytes(std::array::from_fn(|i| fixed[at + i]));
        let version = u32_at(8);
        if !(1..=VERSION).contains(&version) {
            return Err(FormatError::Version(version));
        }
        let (folds, name_length) = (u32_at(12) as usize & 0xFFFF, u32_at(12) >> 16);
        let (length, count) = (u64_at(16), u64_at(24));
        // The count of parts stands at the end.
        let parts = match version {
            1 | 2 => None,
            _ => bytes[..bytes.len() - CHECKSUM].last_chunk().map(|count| u64::from_le_bytes(*count)),
        };
        let parts_length = parts.map_or(Some(0), |parts| parts.checked_mul(PART)?.checked_add(8));
        let said = count.checked_mul(8).and_then(|numbers| numbers.checked_add(length));
        let said = said.and_then(|said| said.checked_add(u64::from(name_length))?.checked_add(parts_length?));
        let content = verified(bytes, said)?;
        let (model, rest) = content.split_at(length as usize);
        let (numbers, rest) = rest.split_at(8 * count as usize);
        let (name, rest) = rest.split_at(name_length as usize);
        let u64_in = |bytes: &[u8], at: usize| u64::from_le_bytes(std::array::from_fn(|i| bytes[8 * at + i]));
        let parts = parts.map(|parts| {
            let part =
                |bytes: &[u8]| Part { rows: u64_in(bytes, 0), first: u64_in(bytes, 1), second: u64_in(bytes, 2) };
            rest.chunks_exact(PART as usize).take(parts as usize).map(part).collect::<Vec<Part>>()
        });
        let model = format::from_bytes(model)?;
        let contradiction = |what: &str| FormatError::Contradiction(what.to_owned());
        let Expansion::Kernel { points, .. } = &model.expansion else {
            return Err(contradiction("moments without landmarks"));
        };
        let (width, targets) = (points.rows(), model.summaries.len());
        let per_fold = Sums::length(width, targets);
        let has_height = usize::from(version > 1);
        let before = width.checked_mul(width).and_then(|square| square.checked_add(width + 3 * targets + has_height));
        let expected = per_fold
            .and_then(|per_fold| per_fold.checked_mul(folds)?.checked_add(before?))
            .filter(|expected| *expected as u64 == count && folds >= 2);
        let (Some(_), Some(per_fold)) = (expected, per_fold) else {
            return Err(contradiction("its sizes do not fit its numbers"));
        };
        let numbers: Vec<f64> =
            numbers.chunks_exact(8).map(|b| f64::from_le_bytes(std::array::from_fn(|i| b[i]))).collect();
        if numbers.iter().any(|x| !x.is_finite()) {
            return Err(FormatError::NotFinite);
        }
        let (lower, rest) = numbers.split_at(width * width);
        let (features, rest) = rest.split_at(width);
        let (values, rest) = rest.split_at(targets);
        let (ranges, rest) = rest.split_at(2 * targets);
        let (height, rest) = rest.split_at(has_height);
        let lower = Matrix::from_columns(width, width, lower.to_vec())
            .map_err(|_| contradiction("its sizes do not fit its numbers"))?;
        if (0..width).any(|k| !(lower.get(k, k) > 0.0)) {
            return Err(contradiction("landmarks that depend on each other"));
        }
        let folds: Option<Vec<Sums>> =
            rest.chunks_exact(per_fold).map(|part| Sums::from_numbers(width, targets, part)).collect();
        let folds = folds.ok_or_else(|| contradiction("its sizes do not fit its numbers"))?;
        let weight = String::from_utf8(name.to_vec()).map_err(|_| contradiction("a column's name that is no text"))?;
        // Landmarks are rows, or means of rows: the best that version 1 says.
        let mut heights = vec![0.0; width];
        model.kernel.diagonal(points, 0, &mut heights);
        let height = height.first().copied().unwrap_or_else(|| heights.iter().fold(0.0, |max: f64, k| max.max(*k)));
        let map = LandmarkMap::new(model.encoder.clone(), model.kernel.clone(), points.clone(), lower);
        let rows = folds.iter().map(|fold| fold.rows).sum();
        let sums = || folds.iter().flat_map(Sums::numbers).collect::<Vec<f64>>();
        let parts = parts.unwrap_or_else(|| vec![Part::of_sums(rows, &sums())]);
        let moments = Moments {
            targets: model.summaries.iter().map(|summary| summary.target.clone()).collect(),
            pilot: (features.to_vec(), values.to_vec()),
            ranges: ranges.chunks_exact(2).map(|pair| [pair[0], pair[1]]).collect(),
            height,
            weight: Some(weight).filter(|name| !name.is_empty()),
            rows,
            parts,
            open: Part::default(),
            folds,
            map,
        };
        Ok((moments, model))
    }
}
