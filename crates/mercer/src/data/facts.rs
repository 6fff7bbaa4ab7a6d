//! How every column of the training table was read, beyond what its features say.

use std::collections::BTreeMap;

use serde::ser::{Serialize, SerializeMap, Serializer};

use super::encoder::{Encoder, Feature};
use super::reading::Reading;

/// What an [`Encoder`] knows of the columns it was learned from. Columns of which there is nothing to say are not in it.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Facts {
    pub(crate) columns: BTreeMap<String, Fact>,
    /// The least and the largest number of each column of numbers in the training rows; empty where they are not known.
    pub(crate) ranges: BTreeMap<String, [f64; 2]>,
    /// Columns that are no features although nobody left them out, in the order of the table.
    pub(crate) left_out: Vec<(String, LeftOut)>,
}

/// What is known of one column.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Fact {
    /// What its numbers stand for.
    pub reading: Reading,
    /// Training rows in which the cell is missing.
    pub missing: usize,
    /// Its cells are 0, 1, 2, … or 1, 2, 3, … in the order of the training rows.
    pub counts_rows: bool,
}

/// Why a column is no feature.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LeftOut {
    /// The first column has no name: names of rows, as R and pandas write them.
    RowNames,
    /// Nearly every row has a text of its own.
    Identifier {
        /// Different texts.
        texts: usize,
        /// Rows that have one.
        rows: usize,
    },
}

/// What a column was taken for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kind {
    /// Numbers.
    Number,
    /// The same number in every training row; ignored.
    Constant,
    /// One of so many categories.
    Categories(usize),
    /// No feature.
    LeftOut(LeftOut),
}

/// How one column of the training table was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ColumnRead {
    /// Its name.
    pub name: String,
    /// What it was taken for.
    pub kind: Kind,
    /// What its numbers stand for.
    pub reading: Reading,
    /// Training rows in which the cell is missing.
    pub missing: usize,
    /// Whether its cells count the training rows, as an index does.
    pub counts_rows: bool,
    /// Whether it is a feature once more, as its logarithm.
    pub has_logarithm: bool,
}

/// An object: name, kind, whether it is used, unit, missing cells, whether it counts the rows, and categories where it has some.
impl Serialize for ColumnRead {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (kind, categories) = match self.kind {
            Kind::Number => ("number", None),
            Kind::Constant => ("constant", None),
            Kind::Categories(count) => ("categories", Some(count)),
            Kind::LeftOut(LeftOut::RowNames) => ("row names", None),
            Kind::LeftOut(LeftOut::Identifier { texts, .. }) => ("identifier", Some(texts)),
        };
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("name", &self.name)?;
        map.serialize_entry("kind", kind)?;
        map.serialize_entry("is_used", &!matches!(self.kind, Kind::Constant | Kind::LeftOut(_)))?;
        map.serialize_entry("unit", &self.reading.unit())?;
        map.serialize_entry("missing", &self.missing)?;
        map.serialize_entry("counts_rows", &self.counts_rows)?;
        if let Some(categories) = categories {
            map.serialize_entry("categories", &categories)?;
        }
        map.end()
    }
}

impl Facts {
    /// What the numbers of a column stand for.
    pub fn reading(&self, column: &str) -> &Reading {
        const NUMBER: &Reading = &Reading::Number;
        self.columns.get(column).map_or(NUMBER, |fact| &fact.reading)
    }

    /// Columns that are no features although nobody left them out.
    pub fn left_out(&self) -> &[(String, LeftOut)] {
        &self.left_out
    }

    /// The facts of a column that has some.
    pub(crate) fn add(&mut self, column: &str, fact: Fact) {
        if fact != Fact::default() {
            self.columns.insert(column.to_owned(), fact);
        }
    }
}

impl Encoder {
    /// How every column was read that is a feature or might have been one.
    pub fn columns_read(&self) -> Vec<ColumnRead> {
        let mut all: Vec<ColumnRead> = Vec::new();
        let blank = Fact::default();
        for feature in &self.features {
            if matches!(feature, Feature::Number { log: Some(_), .. })
                && let Some(own) = all.iter_mut().rev().find(|own| own.name == feature.name())
            {
                own.has_logarithm = true;
                continue;
            }
            let kind = match feature {
                Feature::Number { .. } if feature.is_constant() => Kind::Constant,
                Feature::Number { .. } => Kind::Number,
                Feature::Text { categories, .. } => Kind::Categories(categories.len()),
            };
            let fact = self.facts.columns.get(feature.name()).unwrap_or(&blank);
            let reading = if matches!(kind, Kind::Categories(_)) { Reading::Number } else { fact.reading.clone() };
            let (missing, counts_rows) = (fact.missing, fact.counts_rows);
            let name = feature.name().to_owned();
            all.push(ColumnRead { name, kind, reading, missing, counts_rows, has_logarithm: false });
        }
        all.extend(self.facts.left_out.iter().map(|(name, why)| ColumnRead {
            name: name.clone(),
            kind: Kind::LeftOut(*why),
            reading: Reading::Number,
            missing: 0,
            counts_rows: false,
            has_logarithm: false,
        }));
        all
    }

    /// The same encoder, for rows that go on: a column that was constant so far may vary in later ones, which then differ
    /// by as much as they do; and the range of the rows so far is not that of all.
    pub(crate) fn with_constants_read(mut self) -> Self {
        self.facts.ranges.clear();
        for feature in &mut self.features {
            if feature.is_constant()
                && let Feature::Number { scale, .. } = feature
            {
                *scale = 1.0;
            }
        }
        self
    }

    /// Columns of numbers whose cells in this table are plain numbers although the training rows had a unit, a date or a time.
    pub fn without_unit(&self, frame: &super::Frame) -> Vec<(&str, &Reading)> {
        let is_plain = |name: &str| match frame.column(name) {
            Ok(super::Column::Number(cells)) => {
                frame.reading(name) == Reading::Number && cells.iter().any(|cell| !cell.is_nan())
            }
            _ => false,
        };
        let numbers = self.features.iter().filter(|feature| matches!(feature, Feature::Number { log: None, .. }));
        numbers
            .map(|feature| (feature.name(), self.facts.reading(feature.name())))
            .filter(|(name, reading)| **reading != Reading::Number && is_plain(name))
            .collect()
    }
}

/// Of a text column with so many different texts in so many rows that have one: whether it names the rows.
pub(super) fn is_identifier(texts: usize, rows: usize) -> bool {
    rows >= 10 && 10 * texts >= 9 * rows
}

/// Whether cells are 0, 1, 2, … or 1, 2, 3, …
pub(super) fn counts_rows(mut cells: impl Iterator<Item = f64>) -> bool {
    let Some(first) = cells.next().filter(|first| *first == 0.0 || *first == 1.0) else { return false };
    let mut count = 1_usize;
    for cell in cells {
        if cell != first + count as f64 {
            return false;
        }
        count += 1;
    }
    count >= 10
}
