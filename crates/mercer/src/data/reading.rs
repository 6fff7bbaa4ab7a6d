//! Texts that say numbers: percent, currency, units, grouped thousands, dates and times of day.
//!
//! A column is read as numbers only if every cell that is there says a number of one kind. What is ambiguous stays text,
//! and [`doubt`] says why when a model needs the column.

mod doubt;
mod moment;
mod number;

use std::fmt;
use std::str::FromStr;

pub(crate) use doubt::{doubt, missing_mark};
use moment::{Moment, moment};
use number::{Groups, scan};

/// What the numbers of a column stand for.
#[derive(Debug, Clone, PartialEq, Eq, Default, Hash)]
pub enum Reading {
    /// Themselves.
    #[default]
    Number,
    /// Multiples of a unit: `%`, `$`, `kg`.
    Unit(String),
    /// Dates or date-times without a zone: days since 1970-01-01.
    Date,
    /// Date-times with a zone: days since 1970-01-01 00:00 UTC.
    Instant,
    /// Times of day: hours since midnight.
    Time,
}

/// How numbers are written in a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Marks {
    /// The decimal mark is a comma.
    pub decimal_comma: bool,
    /// What separates groups of three digits.
    pub thousands: Thousands,
}

/// What separates groups of three digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Thousands {
    /// Not known: every usual mark is understood where it cannot mean anything else.
    #[default]
    Unknown,
    /// Nothing does.
    None,
    /// This character.
    Mark(char),
}

/// A text that says a number.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Value {
    pub number: f64,
    pub reading: Reading,
    pub groups: Groups,
}

impl Reading {
    /// The number that a text says; NaN where it says that there is none, and `None` where it says something else.
    pub(crate) fn number_in(&self, text: &str, marks: Marks) -> Option<f64> {
        if is_missing(text) {
            return Some(f64::NAN);
        }
        let value = value(text, marks).filter(|value| value.reading == *self)?;
        (value.groups != Groups::Ambiguous).then_some(value.number)
    }

    /// The unit as one says it: `in kg`, `days since 1970-01-01`; nothing for plain numbers.
    pub fn describe(&self) -> String {
        match self {
            Reading::Number => String::new(),
            Reading::Unit(unit) => format!("in {unit}"),
            Reading::Date => "dates, in days since 1970-01-01".into(),
            Reading::Instant => "times, in days since 1970-01-01 UTC".into(),
            Reading::Time => "times of day, in hours".into(),
        }
    }

    /// The unit, for programs; `None` for plain numbers.
    pub fn unit(&self) -> Option<&str> {
        match self {
            Reading::Number => None,
            Reading::Unit(unit) => Some(unit),
            Reading::Date => Some("days since 1970-01-01"),
            Reading::Instant => Some("days since 1970-01-01 UTC"),
            Reading::Time => Some("hours since midnight"),
        }
    }

    /// A number as the table writes it: `2021-04-04`, `2021-04-04 13:30`, `13:30`, or the number itself.
    pub fn shown(&self, value: f64) -> String {
        let written = match self {
            Reading::Number | Reading::Unit(_) => None,
            Reading::Date => moment::date_and_time(value),
            Reading::Instant => moment::date_and_time(value).map(|text| text + "Z"),
            Reading::Time => moment::clock(value),
        };
        written.unwrap_or_else(|| match value.abs() {
            size if size == 0.0 || (1e-4..1e15).contains(&size) => value.to_string(),
            _ => format!("{value:e}"),
        })
    }

    /// Why a text cannot be read in this way.
    pub(crate) fn refusal(&self, text: &str, marks: Marks) -> String {
        let shown = crate::base::error::abbreviated(text);
        let found = value(text, marks);
        match (self, found.map(|value| (value.reading, value.groups))) {
            (_, Some((reading, Groups::Ambiguous))) if reading == *self => doubt::ambiguous(text),
            (Reading::Number, Some((Reading::Unit(unit), _))) => {
                format!("{shown:?} is in {unit}, and the training rows had no unit; convert it, or leave the unit out")
            }
            (Reading::Number, _) => format!("{shown:?} is not a number"),
            (Reading::Unit(own), Some((Reading::Unit(unit), _))) => {
                format!("{shown:?} is in {unit}, and the training rows were in {own}; convert it to {own}")
            }
            (Reading::Date, Some((Reading::Instant, _))) => {
                format!("{shown:?} has a time zone, and the times of the training rows had none; write it as they were")
            }
            (Reading::Instant, Some((Reading::Date, _))) => {
                format!("{shown:?} has no time zone, and the times of the training rows had one; add it")
            }
            (Reading::Date | Reading::Instant, _) => {
                format!(
                    "{shown:?} is not a date as the training rows had it; write dates as 2020-01-31, times as 2020-01-31T09:30"
                )
            }
            (own, _) => {
                format!("{shown:?} cannot be read like the training rows, which were {}", own.describe())
            }
        }
    }
}

/// As it stands in model files: `number`, `unit:kg`, `date`, `instant`, `time`.
impl fmt::Display for Reading {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reading::Number => f.write_str("number"),
            Reading::Unit(unit) => write!(f, "unit:{unit}"),
            Reading::Date => f.write_str("date"),
            Reading::Instant => f.write_str("instant"),
            Reading::Time => f.write_str("time"),
        }
    }
}

impl FromStr for Reading {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        Ok(match text {
            "number" => Reading::Number,
            "date" => Reading::Date,
            "instant" => Reading::Instant,
            "time" => Reading::Time,
            other => Reading::Unit(other.strip_prefix("unit:").filter(|unit| !unit.is_empty()).ok_or(())?.to_owned()),
        })
    }
}

/// Texts that say that there is no number, in a column in which all others say one. In a column of categories they may
/// be a category.
pub(crate) fn is_missing(text: &str) -> bool {
    const MARKS: [&str; 14] =
        ["-", "--", "---", "–", "—", "na", "n.a.", "none", "nil", "missing", "unknown", "*", "..", ""];
    let text = text.trim();
    text.len() <= 8 && MARKS.iter().any(|mark| mark.eq_ignore_ascii_case(text))
}

/// Whether a text says a number, a date or a time.
pub fn says_number(text: &str, marks: Marks) -> bool {
    value(text, marks).is_some()
}

/// The numbers of a column of texts and what they stand for; `None` unless all cells say numbers of one kind without
/// ambiguity.
pub(crate) fn numbers(texts: &[Option<String>], marks: Marks) -> Option<(Reading, Vec<f64>)> {
    let mut reading: Option<Reading> = None;
    let (mut is_ambiguous, mut is_grouped) = (false, false);
    let mut numbers = Vec::new();
    for text in texts {
        let Some(text) = text.as_deref().filter(|text| !is_missing(text)) else {
            numbers.push(f64::NAN);
            continue;
        };
        let value = value(text, marks)?;
        match &reading {
            Some(known) if *known != value.reading => return None,
            Some(_) => {}
            None => {
                numbers.reserve_exact(texts.len() - numbers.len());
                reading = Some(value.reading);
            }
        }
        is_ambiguous |= value.groups == Groups::Ambiguous;
        is_grouped |= value.groups == Groups::Certain;
        numbers.push(value.number);
    }
    // 1,234,567 in one row tells what the comma in 3,000 means.
    let is_certain = !is_ambiguous || is_grouped;
    reading.filter(|_| is_certain).map(|reading| (reading, numbers))
}

/// What a text says, if it says a number.
pub(crate) fn value(text: &str, marks: Marks) -> Option<Value> {
    let text = without_formula(text.trim());
    if !text.chars().any(|c| c.is_ascii_digit()) {
        return None;
    }
    if let Some((moment, number)) = moment(text) {
        let reading = match moment {
            Moment::Date => Reading::Date,
            Moment::Instant => Reading::Instant,
            Moment::Time => Reading::Time,
        };
        return Some(Value { number, reading, groups: Groups::None });
    }
    let (sign, rest) = signed(text);
    let (currency, rest) = currency(rest);
    // −$5 and $−5.
    let (second, rest) = if currency.is_some() && sign > 0.0 { signed(rest.trim_start()) } else { (1.0, rest) };
    let (size, rest, groups) = scan(rest.trim_start(), marks)?;
    let rest = rest.trim_start();
    let reading = match (currency, rest) {
        (None, "") => Reading::Number,
        (Some(symbol), "") => Reading::Unit(symbol.to_owned()),
        (None, unit) if is_unit(unit) => Reading::Unit(unit.replace('µ', "μ")),
        _ => return None,
    };
    Some(Value { number: sign * second * size, reading, groups })
}

/// Excel writes `="007"` to keep a text a text.
fn without_formula(text: &str) -> &str {
    text.strip_prefix("=\"").and_then(|text| text.strip_suffix('"')).map_or(text, str::trim)
}

/// The sign and what follows it; − as typesetters write it, too.
fn signed(text: &str) -> (f64, &str) {
    for (mark, sign) in [('+', 1.0), ('-', -1.0), ('−', -1.0), ('–', -1.0)] {
        if let Some(rest) = text.strip_prefix(mark) {
            return (sign, rest);
        }
    }
    (1.0, text)
}

/// A currency before the number, and what follows it.
fn currency(text: &str) -> (Option<&str>, &str) {
    const NAMES: [&str; 24] = [
        "US$", "R$", "A$", "C$", "$", "€", "£", "¥", "₹", "₩", "₽", "₺", "₫", "₪", "¢", "USD", "EUR", "GBP", "CHF",
        "JPY", "CNY", "AUD", "CAD", "SEK",
    ];
    let found = NAMES.iter().find_map(|name| Some((*name, text.strip_prefix(name)?)));
    match found {
        Some((name, rest)) => (Some(name), rest),
        None => (None, text),
    }
}

/// One word that may stand behind a number: kg, %, °C, m/s, m², cm3.
fn is_unit(text: &str) -> bool {
    const LONGEST: usize = 12;
    /// What has squares and cubes.
    const LENGTHS: [&str; 10] = ["m", "cm", "mm", "dm", "km", "in", "ft", "yd", "mi", "s"];
    let mut word = 0;
    for (place, (at, c)) in text.char_indices().enumerate() {
        let is_letter = c.is_alphabetic() || "%‰°'\"$€£¥₹₩₽₺₫₪¢Ωµμ".contains(c);
        let is_power = "23".contains(c) && LENGTHS.contains(&text[word..at].trim_end_matches('^'));
        let is_within = "/·*^²³".contains(c) || is_power;
        if place >= LONGEST || !(is_letter || (place > 0 && is_within)) {
            return false;
        }
        if "/·*".contains(c) {
            word = at + c.len_utf8();
        }
    }
    !text.is_empty()
}

#[cfg(test)]
mod tests;
