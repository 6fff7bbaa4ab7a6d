//! The generalised Hamming distance of two training sets: the fewest rows that must be added, removed or changed to make one
//! of the other, whatever the order. It is max(|Z₁|, |Z₂|) − |Z₁ ∩ Z₂|, the intersection counting repeated rows.

use std::collections::HashMap;
use std::hash::Hash;

use mercer::data::{Column, Frame, Reading};
use mercer::{Error, Result};

/// How two training sets differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HammingDistance {
    /// Rows of the first.
    pub first_rows: usize,
    /// Rows of the second.
    pub second_rows: usize,
    /// Rows that stand in both, repeated ones counted as often as in both.
    pub common: usize,
}

impl HammingDistance {
    /// The distance.
    pub fn distance(&self) -> usize {
        self.first_rows.max(self.second_rows) - self.common
    }

    /// Rows that the second has more.
    pub fn added(&self) -> usize {
        self.second_rows.saturating_sub(self.first_rows)
    }

    /// Rows that the second has less.
    pub fn removed(&self) -> usize {
        self.first_rows.saturating_sub(self.second_rows)
    }

    /// Rows that are other ones in the second.
    pub fn changed(&self) -> usize {
        self.first_rows.min(self.second_rows) - self.common
    }
}

/// Of two lists of anything that can be compared, whatever their order.
///
/// ```
/// use mercer_lab::equivalence::hamming_of_lists;
///
/// assert_eq!(hamming_of_lists(&["a", "b", "b"], &["b", "c"]).distance(), 2);
/// ```
pub fn hamming_of_lists<T: Eq + Hash>(first: &[T], second: &[T]) -> HammingDistance {
    let mut counts: HashMap<&T, usize> = HashMap::with_capacity(first.len());
    first.iter().for_each(|row| *counts.entry(row).or_default() += 1);
    let mut common = 0;
    for row in second {
        if let Some(count) = counts.get_mut(row).filter(|count| **count > 0) {
            *count -= 1;
            common += 1;
        }
    }
    HammingDistance { first_rows: first.len(), second_rows: second.len(), common }
}

/// Of two tables. Cells are equal when their numbers or texts are; columns are found by name; missing cells are refused.
pub fn hamming(first: &Frame, second: &Frame) -> Result<HammingDistance> {
    check_columns(first, second)?;
    refuse_missing(first)?;
    refuse_missing(second)?;
    let mut texts = HashMap::new();
    let (a, b) = (keys(first, first, &mut texts), keys(first, second, &mut texts));
    Ok(hamming_of_lists(&a?, &b?))
}

/// Refuses a missing cell: whether it equals another cannot be said.
pub fn refuse_missing(frame: &Frame) -> Result<()> {
    for (name, column) in frame.iter() {
        if let Some(row) = (0..column.len()).find(|row| column.is_missing(*row)) {
            let problem = "the cell is missing, so it cannot be compared; fill it in or remove the row";
            return Err(Error::cell(row + 1, name, problem));
        }
    }
    Ok(())
}

fn check_columns(first: &Frame, second: &Frame) -> Result<()> {
    let missing_in = |other: &Frame, names: &Frame| -> Vec<String> {
        names.names().iter().filter(|name| other.column(name).is_err()).map(|name| format!("{name:?}")).collect()
    };
    let (only_first, only_second) = (missing_in(second, first), missing_in(first, second));
    if !only_first.is_empty() || !only_second.is_empty() {
        let part = |names: Vec<String>, which: &str| match names.len() {
            0 => None,
            _ => Some(format!("{} in the {which} table only", abridged(&names))),
        };
        let parts: Vec<String> =
            [part(only_first, "first"), part(only_second, "second")].into_iter().flatten().collect();
        return Err(Error::argument("the columns of both tables", "the same, by name", parts.join(", ")));
    }
    for (name, column) in first.iter() {
        let kind = |frame: &Frame, column: &Column| match (column, frame.reading(name)) {
            (Column::Text(_), _) => "text".to_owned(),
            (Column::Number(_), Reading::Number) => "numbers".to_owned(),
            (Column::Number(_), Reading::Unit(unit)) => format!("numbers in {unit}"),
            (Column::Number(_), reading) => reading.describe(),
        };
        let (a, b) = (kind(first, column), kind(second, second.column(name)?));
        // A table without rows has no cells to disagree.
        if a != b && first.rows() > 0 && second.rows() > 0 {
            let problem = format!("holds {a} in the first table and {b} in the second; it must be the same in both");
            return Err(Error::Column { column: name.to_owned(), problem });
        }
    }
    Ok(())
}

fn abridged(names: &[String]) -> String {
    const MOST: usize = 20;
    let more = if names.len() > MOST { format!(", … ({} in all)", names.len()) } else { String::new() };
    names[..names.len().min(MOST)].join(", ") + &more
}

/// Each row as numbers that are equal when its cells are; columns in the order of `order`.
fn keys(order: &Frame, frame: &Frame, texts: &mut HashMap<String, u64>) -> Result<Vec<Vec<u64>>> {
    let mut keys = vec![Vec::with_capacity(order.names().len()); frame.rows()];
    for name in order.names() {
        match frame.column(name)? {
            // −0 + 0 is 0.
            Column::Number(cells) => keys.iter_mut().zip(cells).for_each(|(key, x)| key.push((x + 0.0).to_bits())),
            Column::Text(cells) => {
                for (key, cell) in keys.iter_mut().zip(cells) {
                    let next = texts.len() as u64;
                    let text = cell.as_deref().unwrap_or_default();
                    let code = match texts.get(text) {
                        Some(code) => *code,
                        None => *texts.entry(text.to_owned()).or_insert(next),
                    };
                    key.push(code);
                }
            }
        }
    }
    Ok(keys)
}
