//! What turns a table's columns into numbers, learned from the training rows and kept inside the model.

use std::borrow::Cow;

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::Points;
use super::facts::{Fact, Facts, LeftOut, counts_rows, is_identifier};
use super::frame::{Column, Frame, as_text};
use super::logarithm::Logarithm;
use super::reading::{self, Marks, Reading};
use crate::base::error::{Error, Result, abbreviated};
use crate::data::monomials;
use crate::linalg::{Matrix, exponent_of};

/// How numeric features are scaled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scale {
    /// Mean 0 and standard deviation 1 (weighted like the rows).
    Standard,
    /// From 0 to 1 on the training rows.
    Unit,
    /// As they are.
    None,
    /// As `Standard`, and skewed columns once more as logarithms (see [`Logarithm`]).
    Log,
}

/// What is done about missing cells of features.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Missing {
    /// Refused, naming row and column.
    Error,
    /// The row is left out (in prediction: gets no prediction).
    Drop,
    /// The column's training mean takes their place (for text: no category).
    Mean,
}

/// How text columns are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TextAs {
    /// One feature of 0 and 1 per category.
    OneHot,
    /// A code that only the `equality` kernel reads.
    Equality,
}

/// The choices that an [`Encoder`] is learned with.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Encoding {
    /// Scaling of numbers.
    pub scale: Scale,
    /// Missing cells.
    pub missing: Missing,
    /// Text columns.
    pub text_as: TextAs,
    /// Whether the kernel needs features that are not negative.
    pub nonnegative: bool,
}

/// One column of the table, as the model reads it.
#[derive(Debug, Clone, PartialEq)]
pub enum Feature {
    /// (x − shift)/scale; missing cells become `fill` first. With a logarithm, of that instead of x.
    Number {
        /// The column's name.
        name: String,
        /// What is done to the cell first.
        log: Option<Logarithm>,
        /// Subtracted.
        shift: f64,
        /// Divided by.
        scale: f64,
        /// The training mean.
        fill: f64,
    },
    /// One of these categories, or none of them.
    Text {
        /// The column's name.
        name: String,
        /// The training rows' categories, sorted.
        categories: Vec<String>,
        /// How they are read.
        text_as: TextAs,
    },
}

impl Feature {
    /// The column's name.
    pub fn name(&self) -> &str {
        match self {
            Feature::Number { name, .. } | Feature::Text { name, .. } => name,
        }
    }

    /// Whether all training rows had the same number here, so that it is 0 in every row.
    pub fn is_constant(&self) -> bool {
        matches!(self, Feature::Number { log: None, scale, .. } if *scale == CONSTANT)
    }
}

/// All that is needed to read a new table as the training table was read.
#[derive(Debug, Clone, PartialEq)]
pub struct Encoder {
    /// The columns, in order; one that is read as its logarithm, too, stands here twice.
    pub features: Vec<Feature>,
    /// How missing cells are treated.
    pub missing: Missing,
    /// How numbers were scaled.
    pub scale: Scale,
    /// Whether values below 0 (after scaling) are clamped to it.
    pub nonnegative: bool,
    /// All monomials of the scaled features up to this degree are features; 1 means the features themselves.
    pub degree: usize,
    /// A learned metric: the scaled features (a row) times this matrix are what the kernel sees.
    pub projection: Option<Matrix>,
    /// What else is known of the columns.
    pub facts: Facts,
}

/// The scale of a column that is constant: nothing can be learned from it, and a new row that differs there is no
/// farther away. A power of two that no other scale is.
const CONSTANT: f64 = f64::from_bits(0x7e70_0000_0000_0000);

/// The code of a category that training did not know; it equals no other.
const UNKNOWN: u32 = u32::MAX;
/// Cells from which columns are learned side by side.
const MANY_CELLS: usize = 8192;
/// Rows of a column, at most, that are copied to learn from it.
const GATHERED: usize = 1 << 16;

impl Encoder {
    /// Learns from `rows` (indices into the frame) of the columns `names`, weighted by `weights`. Columns that nobody named
    /// (`named` is false) are left out where their texts are names of rows.
    pub(super) fn learn(
        frame: &Frame,
        (names, named): (&[String], bool),
        categorical: &[String],
        rows: &[usize],
        weights: Option<&[f64]>,
        encoding: Encoding,
    ) -> Result<Self> {
        let of_column = |name: &String| -> Result<Vec<Feature>> {
            let forced = categorical.contains(name);
            frame.refuse_doubt(name)?;
            match frame.column(name)? {
                Column::Number(cells) if !forced => {
                    let learn = |as_logarithm| learn_number(name, cells, rows, weights, encoding.scale, as_logarithm);
                    let as_it_is = learn(false)?;
                    let logarithm = if encoding.scale == Scale::Log { learn(true)? } else { None };
                    Ok(as_it_is.into_iter().chain(logarithm).collect())
                }
                column => {
                    let texts = frame.texts(name).map_or_else(|| as_texts(column), Into::into);
                    let found = reading::doubt(&texts, frame.marks()).filter(|_| !forced);
                    if let Some((row, problem)) = found {
                        return Err(Error::cell(row + 1, name, problem));
                    }
                    Ok(vec![learn_text(name, &texts, rows, forced, (encoding.text_as, frame.marks()))?])
                }
            }
        };
        // The first column with something wrong is the one that is named.
        let columns: Vec<Result<Vec<Feature>>> = if rows.len() * names.len() >= MANY_CELLS {
            names.par_iter().map(of_column).collect()
        } else {
            names.iter().map(of_column).collect()
        };
        let mut facts = Facts::default();
        let mut features = Vec::new();
        let mut identifier = None;
        for (name, of_column) in names.iter().zip(columns) {
            let of_column = of_column?;
            match (&of_column[..], Encoder::identifier(frame, &of_column, rows)?) {
                ([Feature::Text { .. }], Some(why)) if !categorical.contains(name) => {
                    identifier = identifier.or(Some((name, why)));
                    facts.left_out.push((name.clone(), why));
                    if named {
                        return Err(like_an_identifier(name, why));
                    }
                }
                _ => {
                    facts.add(name, fact(frame, name, rows)?);
                    if let ([Feature::Number { .. }, ..], Column::Number(cells)) = (&of_column[..], frame.column(name)?)
                    {
                        facts.ranges.insert(name.clone(), range(rows.iter().map(|row| cells[*row])));
                    }
                    features.extend(of_column);
                }
            }
        }
        if let (Some((name, why)), true) = (identifier, features.is_empty()) {
            return Err(like_an_identifier(name, why));
        }
        let Encoding { missing, scale, nonnegative, .. } = encoding;
        Ok(Encoder { features, missing, scale, nonnegative, degree: 1, projection: None, facts })
    }

    /// Whether a column of text names the rows.
    fn identifier(frame: &Frame, features: &[Feature], rows: &[usize]) -> Result<Option<LeftOut>> {
        let [Feature::Text { name, categories, .. }] = features else { return Ok(None) };
        // Of numbers nobody makes categories who has not said so.
        let column = frame.column(name)?;
        let filled = rows.iter().filter(|row| !column.is_missing(**row)).count();
        let why = LeftOut::Identifier { texts: categories.len(), rows: filled };
        Ok(is_identifier(categories.len(), filled).then_some(why))
    }

    /// The columns that are read, each once, in order.
    pub fn columns(&self) -> Vec<&str> {
        let mut known = std::collections::HashSet::new();
        self.features.iter().map(Feature::name).filter(|name| known.insert(*name)).collect()
    }

    /// Whether any column is read as its logarithm, too.
    pub fn has_logarithms(&self) -> bool {
        self.features.iter().any(|feature| matches!(feature, Feature::Number { log: Some(_), .. }))
    }

    /// Number of numeric features that the kernel sees.
    pub fn points_width(&self) -> usize {
        match &self.projection {
            Some(projection) => projection.cols(),
            None if self.degree > 1 => {
                monomials::monomials(self.width(), self.degree, usize::MAX).map_or(usize::MAX, |all| all.len())
            }
            None => self.width(),
        }
    }

    /// The names of what a linear function has coefficients for: features, or their monomials.
    pub fn column_names(&self) -> Vec<String> {
        let names = self.feature_names();
        if self.degree <= 1 {
            return names;
        }
        let nothing = Matrix::zeros(0, names.len());
        monomials::polynomial(&nothing, self.degree, Some(&names)).map_or(names, |all| all.names)
    }

    /// Number of numeric features after encoding (one-hot columns counted), before a learned metric.
    pub fn width(&self) -> usize {
        self.features
            .iter()
            .map(|feature| match feature {
                Feature::Number { .. } => 1,
                Feature::Text { categories, text_as: TextAs::OneHot, .. } => categories.len(),
                Feature::Text { text_as: TextAs::Equality, .. } => 0,
            })
            .sum()
    }

    /// The names of the numeric features after encoding: `column`, `log(column)` or `column=category`.
    pub fn feature_names(&self) -> Vec<String> {
        self.features
            .iter()
            .flat_map(|feature| match feature {
                Feature::Number { name, log: None, .. } => vec![name.clone()],
                Feature::Number { name, .. } => vec![format!("log({name})")],
                Feature::Text { name, categories, text_as: TextAs::OneHot } => {
                    categories.iter().map(|category| format!("{name}={category}")).collect()
                }
                Feature::Text { text_as: TextAs::Equality, .. } => Vec::new(),
            })
            .collect()
    }

    /// Encodes new rows. The second part says which rows are complete; it is all true unless missing cells
    /// mean "drop" in this model. Values below the training range are clamped to it where the kernel needs it.
    pub fn encode(&self, frame: &Frame) -> Result<(Points, Vec<bool>)> {
        let rows: Vec<usize> = (0..frame.rows()).collect();
        let mut complete = vec![true; rows.len()];
        if self.missing != Missing::Mean {
            for feature in self.features.iter().filter(|feature| !feature.is_constant()) {
                let is_missing: Box<dyn Fn(usize) -> bool> = match (feature, frame.column(feature.name())?) {
                    (Feature::Number { name, .. }, Column::Text(_)) => {
                        let cells = self.numbers(frame, name)?;
                        Box::new(move |row| cells[row].is_nan())
                    }
                    (_, column) => Box::new(|row| column.is_missing(row)),
                };
                for &row in &rows {
                    if is_missing(row) {
                        if self.missing == Missing::Error {
                            return Err(Error::MissingCell { row: row + 1, column: feature.name().to_owned() });
                        }
                        complete[row] = false;
                    }
                }
            }
        }
        Ok((self.encode_rows(frame, &rows, true)?, complete))
    }

    /// For each text column, how many rows have a category that training did not know (they count as none).
    pub fn unknown_categories(&self, frame: &Frame) -> Result<Vec<(&str, usize)>> {
        let mut counts = Vec::new();
        for feature in &self.features {
            if let Feature::Text { name, categories, .. } = feature {
                let texts = texts(frame, name, categories)?;
                let unknown =
                    texts.iter().filter(|text| text.is_some() && code(categories, text.as_deref()) == UNKNOWN);
                counts.push((name.as_str(), unknown.count()));
            }
        }
        counts.retain(|(_, count)| *count > 0);
        Ok(counts)
    }

    /// Encodes `rows`; `clamp` moves values that are too low into the range instead of refusing them.
    pub(super) fn encode_rows(&self, frame: &Frame, rows: &[usize], clamp: bool) -> Result<Points> {
        let low = self.nonnegative.then_some(clamp);
        let (matrix, codes) = self.scaled_rows(frame, rows, low)?;
        self.to_points(matrix, codes)
    }

    /// The scaled features of `rows`, and the codes of text columns; `low` is `None` where negative values are fine, else
    /// whether they are clamped.
    pub(crate) fn scaled_rows(
        &self,
        frame: &Frame,
        rows: &[usize],
        low: Option<bool>,
    ) -> Result<(Matrix, Vec<Vec<u32>>)> {
        let mut matrix = Matrix::zeros(rows.len(), self.width());
        let mut codes = Vec::new();
        let mut at = 0;
        for feature in &self.features {
            match feature {
                // All 0, whatever a new table has there.
                Feature::Number { .. } if feature.is_constant() => at += 1,
                Feature::Number { name, log, shift, scale, fill } => {
                    let cells = self.numbers(frame, name)?;
                    for (out, &row) in matrix.col_mut(at).iter_mut().zip(rows) {
                        let cell = if cells[row].is_nan() { *fill } else { cells[row] };
                        // What is not finite is refused under its own name.
                        let seen = log.filter(|_| cell.is_finite()).map_or(cell, |log| log.of(cell));
                        *out = encode_number(seen, *shift, *scale, low)
                            .map_err(|problem| Error::cell(row + 1, name, problem))?;
                    }
                    at += 1;
                }
                Feature::Text { name, categories, text_as } => {
                    let texts = texts(frame, name, categories)?;
                    let coded: Vec<u32> = rows.iter().map(|&row| code(categories, texts[row].as_deref())).collect();
                    if *text_as == TextAs::Equality {
                        codes.push(coded);
                        continue;
                    }
                    for (row, code) in coded.into_iter().enumerate() {
                        if code != UNKNOWN {
                            matrix.set(row, at + code as usize, 1.0);
                        }
                    }
                    at += categories.len();
                }
            }
        }
        Ok((matrix, codes))
    }

    /// From scaled features to what the kernel sees.
    pub(crate) fn to_points(&self, scaled: Matrix, codes: Vec<Vec<u32>>) -> Result<Points> {
        let matrix = match &self.projection {
            Some(projection) => project(&scaled, projection),
            None if self.degree > 1 => monomials::polynomial(&scaled, self.degree, Some(&self.feature_names()))?.high,
            None => scaled,
        };
        Ok(Points::with_codes(&matrix, codes))
    }
}

/// X P, every entry summed in one order: a row has the same bits alone and among others.
pub(crate) fn project(x: &Matrix, projection: &Matrix) -> Matrix {
    let mut out = Matrix::zeros(x.rows(), projection.cols());
    for k in 0..projection.cols() {
        let column = out.col_mut(k);
        for j in 0..x.cols() {
            let factor = projection.get(j, k);
            column.iter_mut().zip(x.col(j)).for_each(|(sum, x)| *sum += x * factor);
        }
    }
    out
}

/// One cell, scaled; `low` is `None` where negative values are fine, else whether they are clamped.
fn encode_number(cell: f64, shift: f64, scale: f64, low: Option<bool>) -> Result<f64, String> {
    if cell.is_infinite() {
        return Err(format!("{cell} is not a finite number"));
    }
    let difference = cell - shift;
    // The difference of two huge numbers may overflow where their scaled difference does not.
    let value = if difference.is_finite() { difference / scale } else { cell / scale - shift / scale };
    if !value.is_finite() {
        return Err(format!("{cell} is beyond what scaling to the training rows can express"));
    }
    match low {
        Some(false) if value < 0.0 => Err(format!(
            "{cell} is negative after scaling; spline kernels need features that are at least 0 \
             (scale to the unit range)"
        )),
        Some(true) => Ok(value.max(0.0)),
        _ => Ok(value),
    }
}

impl Encoder {
    /// The numbers of a column, read as the training rows were read: text there is refused at its first cell that cannot
    /// be, and so is another unit. Plain numbers are taken to be in the unit of the training rows.
    pub(crate) fn numbers<'a>(&self, frame: &'a Frame, name: &str) -> Result<Cow<'a, [f64]>> {
        let own = self.facts.reading(name);
        frame.refuse_doubt(name)?;
        let refused = |texts: &[Option<String>]| {
            let bad = |(row, text): (usize, &Option<String>)| {
                let text = text.as_deref()?;
                own.number_in(text, frame.marks()).is_none().then(|| (row, own.refusal(text, frame.marks())))
            };
            let found = texts.iter().enumerate().find_map(bad);
            let (row, problem) = found.unwrap_or_else(|| (0, "cannot be read like the training rows".into()));
            Error::cell(row + 1, name, problem)
        };
        match (frame.column(name)?, frame.texts(name)) {
            (Column::Number(cells), None) => Ok(cells.into()),
            (Column::Number(cells), Some(_)) if frame.reading(name) == *own => Ok(cells.into()),
            (Column::Number(_), Some(texts)) => Err(refused(texts)),
            (Column::Text(texts), _) if *own == Reading::Number && texts.iter().all(|text| text.is_none()) => {
                Ok(vec![f64::NAN; texts.len()].into())
            }
            (Column::Text(texts), _) => {
                let number = |text: &Option<String>| match text {
                    Some(text) => own.number_in(text, frame.marks()),
                    None => Some(f64::NAN),
                };
                let numbers: Option<Vec<f64>> = texts.iter().map(number).collect();
                numbers.map(Cow::Owned).ok_or_else(|| refused(texts))
            }
        }
    }
}

/// The least and the largest of numbers, of which some may be missing.
fn range(cells: impl Iterator<Item = f64>) -> [f64; 2] {
    cells.fold([f64::INFINITY, f64::NEG_INFINITY], |[low, high], x| [low.min(x), high.max(x)])
}

/// What there is to say of a column, beyond its features.
fn fact(frame: &Frame, name: &str, rows: &[usize]) -> Result<Fact> {
    let column = frame.column(name)?;
    let missing = rows.iter().filter(|row| column.is_missing(**row)).count();
    let counts_rows = match column {
        Column::Number(cells) => counts_rows(rows.iter().map(|row| cells[*row])),
        Column::Text(_) => false,
    };
    Ok(Fact { reading: frame.reading(name), missing, counts_rows })
}

/// The texts of a column that has these categories: as they were written, unless the categories are numbers.
fn texts<'a>(frame: &'a Frame, name: &str, categories: &[String]) -> Result<Cow<'a, [Option<String>]>> {
    let column = frame.column(name)?;
    match frame.texts(name) {
        Some(texts) if !categories.iter().all(|text| text.parse::<f64>().is_ok()) => Ok(texts.into()),
        _ => Ok(as_texts(column)),
    }
}

/// The error for the first cell of a text column that is not a number.
pub(super) fn not_a_number(name: &str, cells: &[Option<String>], marks: Marks) -> Error {
    if let Some((row, problem)) = reading::doubt(cells, marks) {
        return Error::cell(row + 1, name, problem);
    }
    let found = cells.iter().enumerate().find_map(|(row, cell)| {
        let text = cell.as_deref().filter(|text| !reading::is_missing(text))?;
        (text.trim().parse::<f64>().is_err() && reading::value(text, marks).is_none()).then_some((row, text))
    });
    match found {
        Some((row, text)) => Error::cell(row + 1, name, format!("{:?} is not a number", abbreviated(text))),
        None => Error::Column { column: name.to_owned(), problem: "is text where numbers are needed".into() },
    }
}

fn as_texts(column: &Column) -> Cow<'_, [Option<String>]> {
    match column {
        Column::Text(cells) => cells.into(),
        Column::Number(cells) => cells.iter().map(|x| as_text(*x)).collect::<Vec<_>>().into(),
    }
}

fn code(categories: &[String], text: Option<&str>) -> u32 {
    text.and_then(|text| categories.binary_search_by(|known| known.as_str().cmp(text)).ok())
        .map_or(UNKNOWN, |index| index as u32)
}

/// A column as it is or as its logarithm; `None` for the logarithm of one that is not skewed.
fn learn_number(
    name: &str,
    cells: &[f64],
    rows: &[usize],
    weights: Option<&[f64]>,
    scale: Scale,
    as_logarithm: bool,
) -> Result<Option<Feature>> {
    let known = || rows.iter().enumerate().filter(|(_, row)| !cells[**row].is_nan());
    if let Some((_, row)) = known().find(|(_, row)| cells[**row].is_infinite()) {
        return Err(Error::cell(row + 1, name, format!("{} is not a finite number", cells[*row])));
    }
    if known().next().is_none() {
        return Err(Error::Column { column: name.to_owned(), problem: "has no value in any row".into() });
    }
    let weighted = |(index, row): (usize, &usize)| (cells[*row], weights.map_or(1.0, |w| w[index]));
    // They are gone through several times: one after the other in memory, unless that is a large part of it.
    let gathered: Vec<(f64, f64)> = if rows.len() <= GATHERED { known().map(weighted).collect() } else { Vec::new() };
    let elsewhere = if gathered.is_empty() { usize::MAX } else { 0 };
    let values = || gathered.iter().copied().chain(known().take(elsewhere).map(weighted));
    let (fill, plain_deviation) = mean_and_deviation(values);
    let log = if as_logarithm { Logarithm::for_skewed(&values().collect::<Vec<_>>()) } else { None };
    if as_logarithm && log.is_none() {
        return Ok(None);
    }
    let values = || values().map(|(x, w)| (log.map_or(x, |log| log.of(x)), w));
    let (mean, deviation) = if log.is_some() { mean_and_deviation(values) } else { (fill, plain_deviation) };
    let (low, high) = values().fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), (x, _)| (l.min(x), h.max(x)));
    let (shift, factor) = match scale {
        Scale::None => (0.0, 1.0),
        // A constant column carries nothing; it is 0 in every row.
        _ if low == high => (low, CONSTANT),
        Scale::Standard | Scale::Log => (mean, deviation),
        Scale::Unit => (low, high - low),
    };
    let usable = factor.is_finite() && factor >= f64::MIN_POSITIVE;
    if !usable {
        return Err(Error::Column {
            column: name.to_owned(),
            problem: format!("spreads from {low:e} to {high:e}, which f64 cannot scale; divide it by a constant"),
        });
    }
    Ok(Some(Feature::Number { name: name.to_owned(), log, shift, scale: factor, fill }))
}

/// Weighted mean and standard deviation, in units of a power of two near the largest value so that neither
/// overflows nor underflows.
pub(super) fn mean_and_deviation<I: Iterator<Item = (f64, f64)>>(values: impl Fn() -> I) -> (f64, f64) {
    let largest = values().fold(0.0, |max: f64, (x, _)| max.max(x.abs()));
    if largest == 0.0 {
        return (0.0, 0.0);
    }
    let power = exponent_of(largest) + 1;
    // A product with a power of two is the same number, sooner; only the least numbers have none that is finite.
    let unit = libm::ldexp(1.0, -power);
    let scale = |x: f64| if unit.is_finite() { x * unit } else { libm::ldexp(x, -power) };
    let scaled = || values().map(|(x, w)| (scale(x), w));
    let total: f64 = scaled().map(|(_, w)| w).sum();
    let first: f64 = scaled().map(|(x, w)| x * (w / total)).sum();
    // A second pass takes the rounding of the first mean out again.
    let mean = first + scaled().map(|(x, w)| (x - first) * (w / total)).sum::<f64>();
    let variance: f64 = scaled().map(|(x, w)| (x - mean) * (x - mean) * (w / total)).sum();
    (libm::ldexp(mean, power), libm::ldexp(variance.sqrt(), power))
}

/// Numbers, also with a decimal comma: a column of those was read with the wrong decimal mark.
fn is_like_a_number(text: &str) -> bool {
    let is_plain = |value: reading::Value| value.reading == Reading::Number;
    text.trim().replacen(',', ".", 1).parse::<f64>().is_ok()
        || reading::value(text, Marks::default()).is_some_and(is_plain)
}

fn like_an_identifier(name: &str, why: LeftOut) -> Error {
    let problem = match why {
        LeftOut::Identifier { texts, rows } => format!(
            "has {texts} different texts in {rows} rows, like an identifier; leave it out, or name it as categorical"
        ),
        LeftOut::RowNames => "holds the names of the rows; leave it out, or name it as categorical".into(),
    };
    Error::Column { column: name.to_owned(), problem }
}

fn learn_text(
    name: &str,
    texts: &[Option<String>],
    rows: &[usize],
    forced: bool,
    (text_as, marks): (TextAs, Marks),
) -> Result<Feature> {
    let mut categories: Vec<String> = rows.iter().filter_map(|&row| texts[row].clone()).collect();
    let filled = categories.len();
    let numeric = categories.iter().filter(|text| is_like_a_number(text)).count();
    if !forced && numeric * 2 > filled {
        return Err(not_a_number(name, texts, marks));
    }
    categories.sort_unstable();
    categories.dedup();
    let is_wide = categories.len() > 100 && categories.len() * 2 > rows.len();
    if !forced && is_wide && !is_identifier(categories.len(), filled) {
        return Err(like_an_identifier(name, LeftOut::Identifier { texts: categories.len(), rows: rows.len() }));
    }
    if categories.is_empty() {
        return Err(Error::Column { column: name.to_owned(), problem: "has no value in any row".into() });
    }
    Ok(Feature::Text { name: name.to_owned(), categories, text_as })
}
