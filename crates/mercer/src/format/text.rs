//! The names and categories of a model file: for each feature a byte (0 number, 1 one-hot, 2 equality, 3 number
//! read as its logarithm), its name, and for text the number of categories and each of them. Strings have a u32 length before them.

use super::FormatError;
use crate::data::{Feature, Logarithm, TextAs};

pub(super) fn write(features: &[Feature]) -> Result<Vec<u8>, FormatError> {
    let mut bytes = Vec::new();
    for feature in features {
        match feature {
            Feature::Number { name, log, .. } => {
                bytes.push(if log.is_some() { 3 } else { 0 });
                push(&mut bytes, name)?;
            }
            Feature::Text { name, categories, text_as } => {
                bytes.push(if *text_as == TextAs::OneHot { 1 } else { 2 });
                push(&mut bytes, name)?;
                bytes.extend(length(categories.len())?);
                for category in categories {
                    push(&mut bytes, category)?;
                }
            }
        }
    }
    Ok(bytes)
}

fn length(len: usize) -> Result<[u8; 4], FormatError> {
    match u32::try_from(len) {
        Ok(len) => Ok(len.to_le_bytes()),
        Err(_) => Err(FormatError::TooLarge("a text has over 4 GB".into())),
    }
}

fn push(bytes: &mut Vec<u8>, text: &str) -> Result<(), FormatError> {
    bytes.extend(length(text.len())?);
    bytes.extend(text.as_bytes());
    Ok(())
}

/// The features, with numbers still to be filled in; refused when there are more of them, or more categories
/// in one of them, than the rest of the file has room for.
pub(super) fn read(bytes: &[u8], most_features: usize, most_categories: usize) -> Result<Vec<Feature>, FormatError> {
    let mut reader = Reader { bytes };
    let mut features = Vec::new();
    while let Some((kind, rest)) = reader.bytes.split_first() {
        reader.bytes = rest;
        if features.len() == most_features {
            return Err(FormatError::Text);
        }
        let name = reader.string()?;
        features.push(match kind {
            0 | 3 => {
                let log = (*kind == 3).then_some(Logarithm { origin: 0.0, unit: 1.0 });
                Feature::Number { name, log, shift: 0.0, scale: 1.0, fill: 0.0 }
            }
            1 | 2 => {
                let count = reader.length()?;
                // Each category takes at least the four bytes of its length.
                if count > most_categories || count > reader.bytes.len() / 4 {
                    return Err(FormatError::Text);
                }
                let categories = (0..count).map(|_| reader.string()).collect::<Result<Vec<String>, _>>()?;
                if !categories.is_sorted() {
                    return Err(FormatError::Text);
                }
                Feature::Text { name, categories, text_as: if *kind == 1 { TextAs::OneHot } else { TextAs::Equality } }
            }
            _ => return Err(FormatError::Text),
        });
    }
    Ok(features)
}

struct Reader<'a> {
    bytes: &'a [u8],
}

impl Reader<'_> {
    fn length(&mut self) -> Result<usize, FormatError> {
        let (length, rest) = self.bytes.split_first_chunk().ok_or(FormatError::Text)?;
        self.bytes = rest;
        usize::try_from(u32::from_le_bytes(*length)).map_err(|_| FormatError::Text)
    }

    fn string(&mut self) -> Result<String, FormatError> {
        let length = self.length()?;
        let (text, rest) = self.bytes.split_at_checked(length).ok_or(FormatError::Text)?;
        self.bytes = rest;
        String::from_utf8(text.to_vec()).map_err(|_| FormatError::Text)
    }
}
