//! Why a column of texts is not read as numbers although it nearly could be.

use std::collections::HashSet;

use super::number::Groups;
use super::{Marks, Reading, Value, is_missing, value};
use crate::base::error::abbreviated;

/// Different words among numbers, at most, that are taken for marks of missing cells.
const FEW: usize = 2;
/// Different numbers, at least, that are no names of categories.
const MANY: usize = 5;

/// The row (from 0) of a cell that makes a column ambiguous, and what is ambiguous about it.
pub(crate) fn doubt(texts: &[Option<String>], marks: Marks) -> Option<(usize, String)> {
    let cells = || texts.iter().enumerate().filter_map(|(row, cell)| Some((row, cell.as_deref()?)));
    let cells = || cells().filter(|(_, text)| !is_missing(text));
    let filled = cells().count();
    let mut values: Vec<(usize, &str, Value)> = Vec::new();
    let mut words: Vec<(usize, &str)> = Vec::new();
    let mut different: HashSet<&str> = HashSet::new();
    let mut dates = None;
    let mut count_of_dates = 0;
    for (row, text) in cells() {
        match value(text, marks) {
            Some(value) => values.push((row, text, value)),
            None => {
                if is_date(text) {
                    dates = dates.or(Some((row, text)));
                    count_of_dates += 1;
                }
                if words.len() <= FEW && !words.iter().any(|(_, known)| *known == text) {
                    words.push((row, text));
                }
            }
        }
    }
    if let Some((row, text)) = dates.filter(|_| 2 * count_of_dates > filled) {
        let problem = format!("{:?} is a date whose order of day and month is not known", abbreviated(text));
        return Some((row, format!("{problem}; write dates as 2020-01-31")));
    }
    if let Some(found) = words.first().and_then(|(row, text)| other_mark(texts, marks, (*row, text))) {
        return Some(found);
    }
    if values.is_empty() {
        return None;
    }
    if words.is_empty() {
        return of_values(&values);
    }
    different.extend(values.iter().map(|(_, text, _)| *text));
    let (row, word) = words[0];
    let shown = abbreviated(word);
    if words.len() <= FEW && different.len() >= MANY && 2 * values.len() <= filled {
        let problem = format!("{shown:?} stands among {} different numbers", different.len());
        return Some((row, format!("{problem}: as a mark of missing cells, or as a category")));
    }
    // Plain numbers with a word among them are refused where they are looked at; 4wd, 2wd and rwd are categories.
    let reading = &values[0].2.reading;
    let is_many = !matches!(reading, Reading::Unit(_)) || different.len() >= MANY;
    let like = match reading {
        Reading::Number => return None,
        Reading::Unit(unit) => format!("a number in {unit}"),
        Reading::Date | Reading::Instant => "a date".into(),
        Reading::Time => "a time of day".into(),
    };
    (is_many && 2 * values.len() > filled).then(|| (row, format!("{shown:?} is not {like}, as other cells are")))
}

/// All cells say numbers if the decimal mark is the other one.
fn other_mark(texts: &[Option<String>], marks: Marks, (row, text): (usize, &str)) -> Option<(usize, String)> {
    let other = Marks { decimal_comma: !marks.decimal_comma, ..marks };
    let mark = if other.decimal_comma { "comma" } else { "point" };
    value(text, other)?;
    super::numbers(texts, other)?;
    Some((row, format!("{:?} has a decimal {mark}", abbreviated(text))))
}

/// All cells say numbers.
fn of_values(values: &[(usize, &str, Value)]) -> Option<(usize, String)> {
    let (_, first, own) = &values[0];
    let other = values.iter().find(|(_, _, value)| value.reading != own.reading);
    match other {
        Some((row, text, other)) => Some((*row, differing(text, &other.reading, first, &own.reading))),
        None => {
            let found = values.iter().find(|(_, _, value)| value.groups == Groups::Ambiguous);
            found.map(|(row, text, _)| (*row, ambiguous(text)))
        }
    }
}

/// Numbers that programs write for missing cells.
const MARKS: [f64; 11] = [-9.0, -99.0, -999.0, -9999.0, -99999.0, 99.0, 999.0, 9999.0, 99999.0, 999_999.0, -1e20];

/// A number that several rows have and that is farther from all others than these are from each other: its first row (from 0), how
/// many rows have it, and the range of the others.
pub(crate) fn missing_mark(cells: &[f64]) -> Option<(f64, usize, usize, [f64; 2])> {
    let ends =
        cells.iter().fold([f64::INFINITY, f64::NEG_INFINITY], |[low, high], cell| [low.min(*cell), high.max(*cell)]);
    MARKS.iter().filter(|mark| ends.contains(mark)).find_map(|mark| {
        let first = cells.iter().position(|cell| cell == mark)?;
        let (mut low, mut high, mut own, mut others) = (f64::INFINITY, f64::NEG_INFINITY, 0, 0);
        for cell in cells.iter().filter(|cell| !cell.is_nan()) {
            if cell == mark {
                own += 1;
            } else {
                (low, high, others) = (low.min(*cell), high.max(*cell), others + 1);
            }
        }
        let distance = (mark - high).max(low - mark);
        (own >= 2 && others >= 10 && own <= others && distance > high - low).then_some((*mark, first, own, [low, high]))
    })
}

/// `"3,000" may be 3000 or 3`
pub(super) fn ambiguous(text: &str) -> String {
    let grouped: String = text.chars().filter(|c| *c != ',').collect();
    let pointed = text.replace(',', ".");
    let pointed = pointed.trim_end_matches('0').trim_end_matches('.');
    let shown = |text: &str| text.chars().filter(|c| c.is_ascii_digit() || ".-".contains(*c)).collect::<String>();
    format!("{:?} may be {} or {}", abbreviated(text), shown(&grouped), shown(pointed))
}

fn differing(text: &str, reading: &Reading, first: &str, own: &Reading) -> String {
    let (text, first) = (abbreviated(text), abbreviated(first));
    match (reading, own) {
        (Reading::Unit(unit), Reading::Unit(own)) => {
            format!("{text:?} is in {unit} and {first:?} is in {own}; convert the column to one unit")
        }
        (Reading::Number, Reading::Unit(unit)) | (Reading::Unit(unit), Reading::Number) => {
            let (with, without) = if *reading == Reading::Number { (first, text) } else { (text, first) };
            format!("{with:?} is in {unit} and {without:?} has no unit; give every cell the same unit, or none")
        }
        (Reading::Instant, Reading::Date) | (Reading::Date, Reading::Instant) => {
            format!("{text:?} and {first:?} differ in having a time zone; give every cell one, or none")
        }
        _ => {
            format!("{text:?} and {first:?} are of different kinds; a column needs numbers, dates or times of one kind")
        }
    }
}

/// 31.12.2020, 12/31/20, 5-1-2020: days, months and years in an order that is not ISO's.
fn is_date(text: &str) -> bool {
    let day = text.split([' ', 'T']).next().unwrap_or_default();
    let Some(mark) = day.chars().find(|c| !c.is_ascii_digit()).filter(|c| "./-".contains(*c)) else { return false };
    let parts: Vec<&str> = day.split(mark).collect();
    let is_number = |part: &&str| part.bytes().all(|byte| byte.is_ascii_digit());
    let lengths: Vec<usize> = parts.iter().filter(|part| is_number(part)).map(|part| part.len()).collect();
    matches!(lengths[..], [1 | 2, 1 | 2, 2 | 4]) && parts.len() == 3
}
