//! Columns whose entries are names of classes.

use serde::{Deserialize, Serialize};

use super::{Column, Frame};
use crate::base::error::{Error, Result};

/// The classes of a target, in the order of their codes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Classes {
    /// Their names: text in alphabetical order, numbers in rising order.
    pub names: Vec<String>,
    /// Whether the names are numbers, to be written back as numbers.
    pub are_numbers: bool,
}

/// More classes than this are a mistake: a column of numbers or of names that differ in every row.
const MOST: usize = 1000;
/// A column of numbers that are not whole has at most this many classes.
const MOST_FRACTIONS: usize = 10;

impl Classes {
    /// The classes of a column and the code of each row, NaN where the cell is missing.
    pub fn read(frame: &Frame, name: &str) -> Result<(Self, Vec<f64>)> {
        let refuse = |problem: String| Err(Error::Column { column: name.to_owned(), problem });
        let (names, codes, are_numbers) = match &*frame.as_written(name)? {
            Column::Text(cells) => {
                let mut names: Vec<&String> = cells.iter().flatten().collect();
                names.sort_unstable();
                names.dedup();
                let code = |cell: &Option<String>| match cell {
                    Some(text) => names.binary_search(&text).map_or(f64::NAN, |code| code as f64),
                    None => f64::NAN,
                };
                let codes: Vec<f64> = cells.iter().map(code).collect();
                (names.into_iter().cloned().collect::<Vec<String>>(), codes, false)
            }
            Column::Number(cells) => {
                if let Some(row) = cells.iter().position(|x| x.is_infinite()) {
                    return Err(Error::cell(row + 1, name, "infinity is not the name of a class"));
                }
                let values = different(cells);
                let are_whole = values.iter().all(|x| x.fract() == 0.0);
                if values.len() > MOST || (!are_whole && values.len() > MOST_FRACTIONS) {
                    return refuse(format!(
                        "must name classes for this loss; it has {} different numbers, which look like measurements. A loss \
                         for numbers (squared, absolute, huber, …) may be meant",
                        values.len()
                    ));
                }
                let code = |x: &f64| {
                    values.binary_search_by(|known| known.total_cmp(&(x + 0.0))).map_or(f64::NAN, |c| c as f64)
                };
                let codes = cells.iter().map(code).collect();
                (values.iter().map(f64::to_string).collect(), codes, true)
            }
        };
        match names.len() {
            0 if frame.rows() == 0 => Err(Error::Empty("the table has no rows".into())),
            0 => refuse("must name classes; every cell is missing".into()),
            1 => {
                let name = crate::base::error::abbreviated(&names[0]);
                let all = match codes.iter().filter(|code| code.is_nan()).count() {
                    0 => format!("all rows are {name:?}"),
                    missing => {
                        let (rows, cells) = (codes.len() - missing, if missing == 1 { "cell is" } else { "cells are" });
                        let of = if rows == 1 {
                            "the row with a class is".into()
                        } else {
                            format!("all {rows} rows with a class are")
                        };
                        format!(
                            "{of} {name:?}, and {missing} {cells} missing (empty, or a mark such as NA, which cannot name a class)"
                        )
                    }
                };
                refuse(format!("must have at least two classes; {all}"))
            }
            n if n > MOST => refuse(format!("must name at most {MOST} classes; it has {n} different entries")),
            _ => Ok((Classes { names, are_numbers }, codes)),
        }
    }

    /// Number of classes.
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// Whether there are none; never true of classes that were read.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// A column of these classes, as the training table wrote them.
    pub fn column(&self, codes: &[Option<usize>]) -> Column {
        if self.are_numbers {
            let numbers: Vec<f64> = self.names.iter().map(|name| name.parse().unwrap_or(f64::NAN)).collect();
            Column::Number(codes.iter().map(|code| code.map_or(f64::NAN, |c| numbers[c])).collect())
        } else {
            Column::Text(codes.iter().map(|code| code.map(|c| self.names[c].clone())).collect())
        }
    }
}

/// The different numbers of a column, rising; −0 is 0.
fn different(cells: &[f64]) -> Vec<f64> {
    /// So few are looked through one by one.
    const FEW: usize = 16;
    let mut values: Vec<f64> = Vec::new();
    for x in cells.iter().filter(|x| !x.is_nan()) {
        if !values.contains(x) {
            values.push(x + 0.0);
        }
        if values.len() > FEW {
            values = cells.iter().copied().filter(|x| !x.is_nan()).map(|x| x + 0.0).collect();
            break;
        }
    }
    values.sort_unstable_by(f64::total_cmp);
    values.dedup();
    values
}

/// The class of decision values: the sign of a single one, else the largest (the first of equals).
pub(crate) fn class_of(values: &[f64]) -> usize {
    if let [value] = values {
        return usize::from(*value > 0.0);
    }
    let mut best = 0;
    for (code, value) in values.iter().enumerate() {
        if *value > values[best] {
            best = code;
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(column: Column) -> Frame {
        let mut frame = Frame::new(column.len());
        frame.push("y", column).unwrap();
        frame
    }

    #[test]
    fn classes_have_an_order_that_does_not_depend_on_the_rows() {
        let text = Column::Text(["b", "a", "c", "a"].iter().map(|s| Some((*s).to_owned())).chain([None]).collect());
        let (classes, codes) = Classes::read(&frame(text), "y").unwrap();
        assert_eq!(classes.names, ["a", "b", "c"]);
        assert_eq!(&codes[..4], [1.0, 0.0, 2.0, 0.0]);
        assert!(codes[4].is_nan());
        let (classes, codes) = Classes::read(&frame(Column::Number(vec![1.0, -1.0, 1.0])), "y").unwrap();
        assert_eq!((classes.names.clone(), codes), (vec!["-1".to_owned(), "1".to_owned()], vec![1.0, 0.0, 1.0]));
        assert_eq!(classes.column(&[Some(1), None, Some(0)]).len(), 3);
    }

    #[test]
    fn different_numbers_are_found_whether_few_or_many() {
        let few = [2.0, -0.0, f64::NAN, 0.0, 2.0, -1.5];
        assert_eq!(different(&few), [-1.5, 0.0, 2.0]);
        assert!(different(&few)[1].is_sign_positive());
        let many: Vec<f64> = (0..100).map(|i| f64::from((i * 37) % 40) - 3.0).chain([-0.0, f64::NAN]).collect();
        assert_eq!(different(&many), (0..40).map(|i| f64::from(i) - 3.0).collect::<Vec<f64>>());
    }

    #[test]
    fn what_is_no_class_is_refused() {
        let message = |column| Classes::read(&frame(column), "y").unwrap_err().to_string();
        assert!(message(Column::Number(vec![1.0, 1.0])).contains("at least two classes"));
        assert!(message(Column::Number(vec![f64::NAN])).contains("every cell is missing"));
        assert!(message(Column::Number((0..30).map(|i| f64::from(i) + 0.5).collect())).contains("measurements"));
        assert!(message(Column::Number(vec![0.0, f64::INFINITY])).contains("row 2"));
    }
}
