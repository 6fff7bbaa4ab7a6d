//! The names and categories of a model file: for each feature a byte (0 number, 1 one-hot, 2 equality, 3 number
//! read as its logarithm), its name, and for text the number of categories and each of them. Strings have a u32 length before them.
//!
//! What else is known of columns stands before the features, if there is any: a byte 4, the column's name, what its numbers
//! stand for, a u64 of missing cells and a byte that is 1 if the column counts rows; and for columns that are no features a
//! byte 5, the name, a byte (0 row names, 1 identifier), and two u64: different texts and rows. A byte 6, the name of a column of numbers,
//! and its least and largest number in the training rows, as two f64.

use super::FormatError;
use crate::data::{Fact, Facts, Feature, LeftOut, Logarithm, TextAs};

const FACT: u8 = 4;
const LEFT_OUT: u8 = 5;
const RANGE: u8 = 6;

pub(super) fn write(features: &[Feature], facts: &Facts) -> Result<Vec<u8>, FormatError> {
    let mut bytes = Vec::new();
    for (name, fact) in &facts.columns {
        bytes.push(FACT);
        push(&mut bytes, name)?;
        push(&mut bytes, &fact.reading.to_string())?;
        bytes.extend((fact.missing as u64).to_le_bytes());
        bytes.push(u8::from(fact.counts_rows));
    }
    for (name, why) in &facts.left_out {
        bytes.push(LEFT_OUT);
        push(&mut bytes, name)?;
        let (kind, texts, rows) = match why {
            LeftOut::RowNames => (0, 0, 0),
            LeftOut::Identifier { texts, rows } => (1, *texts, *rows),
        };
        bytes.push(kind);
        bytes.extend((texts as u64).to_le_bytes());
        bytes.extend((rows as u64).to_le_bytes());
    }
    for (name, range) in &facts.ranges {
        bytes.push(RANGE);
        push(&mut bytes, name)?;
        bytes.extend(range.iter().flat_map(|end| end.to_le_bytes()));
    }
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
pub(super) fn read(
    bytes: &[u8],
    most_features: usize,
    most_categories: usize,
) -> Result<(Vec<Feature>, Facts), FormatError> {
    let mut reader = Reader { bytes };
    let mut features = Vec::new();
    let mut facts = Facts::default();
    while let Some((kind, rest)) = reader.bytes.split_first() {
        reader.bytes = rest;
        if matches!(*kind, FACT | LEFT_OUT | RANGE) && features.is_empty() {
            reader.fact(*kind, &mut facts)?;
            continue;
        }
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
    Ok((features, facts))
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

    fn fact(&mut self, kind: u8, facts: &mut Facts) -> Result<(), FormatError> {
        let name = self.string()?;
        if kind == FACT {
            let reading = self.string()?.parse().map_err(|()| FormatError::Text)?;
            let (missing, counts) = (self.count()?, self.byte()?);
            if counts > 1 || facts.columns.contains_key(&name) {
                return Err(FormatError::Text);
            }
            facts.columns.insert(name, Fact { reading, missing, counts_rows: counts == 1 });
            return Ok(());
        }
        if kind == RANGE {
            let range = [self.number()?, self.number()?];
            let is_range = range[0] <= range[1] && range.iter().all(|end| end.is_finite());
            if !is_range || facts.ranges.insert(name, range).is_some() {
                return Err(FormatError::Text);
            }
            return Ok(());
        }
        let (why, texts, rows) = (self.byte()?, self.count()?, self.count()?);
        let why = match (why, texts, rows) {
            (0, 0, 0) => LeftOut::RowNames,
            (1, texts, rows) => LeftOut::Identifier { texts, rows },
            _ => return Err(FormatError::Text),
        };
        facts.left_out.push((name, why));
        Ok(())
    }

    fn byte(&mut self) -> Result<u8, FormatError> {
        let (byte, rest) = self.bytes.split_first().ok_or(FormatError::Text)?;
        self.bytes = rest;
        Ok(*byte)
    }

    fn number(&mut self) -> Result<f64, FormatError> {
        let (number, rest) = self.bytes.split_first_chunk().ok_or(FormatError::Text)?;
        self.bytes = rest;
        Ok(f64::from_le_bytes(*number))
    }

    fn count(&mut self) -> Result<usize, FormatError> {
        let (count, rest) = self.bytes.split_first_chunk().ok_or(FormatError::Text)?;
        self.bytes = rest;
        usize::try_from(u64::from_le_bytes(*count)).map_err(|_| FormatError::Text)
    }

    fn string(&mut self) -> Result<String, FormatError> {
        let length = self.length()?;
        let (text, rest) = self.bytes.split_at_checked(length).ok_or(FormatError::Text)?;
        self.bytes = rest;
        String::from_utf8(text.to_vec()).map_err(|_| FormatError::Text)
    }
}
