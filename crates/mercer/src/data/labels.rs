//! Columns whose entries are names of classes.
//!
//! A column of text names classes by its cells. A column of plain numbers names them by number, and [`Frame::set_labels`] adds
//! how the table wrote them: a class whose cells are all written alike (`1.0`, `+1`, `1e3`) has that text as its name, and one
//! that is written in several ways (`1` and `1.0`) the number in its shortest form. One cell with leading zeros (`007`) makes
//! texts of all cells, so that `007` and `7` are two classes.

use std::borrow::Cow;
use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use super::{Column, Frame};
use crate::base::error::{Error, Result};

/// The classes of a target, in the order of their codes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Classes {
    /// Their names: text in alphabetical order, numbers in rising order, as the training table wrote them.
    pub names: Vec<String>,
    /// Whether the names are numbers (each parses as one), to be written back as numbers where a format has them.
    pub are_numbers: bool,
}

/// How the cells of a column of plain numbers were written.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Labels {
    /// The names of numbers that are written alike in all of their cells and not in the shortest form.
    Numbers(HashMap<u64, String>),
    /// A cell has leading zeros: all cells are texts.
    Texts(Vec<Option<String>>),
}

impl Labels {
    /// From the different texts of the cells, and which of them each row has.
    fn new(numbers: &[f64], texts: &[String], codes: &[Option<usize>]) -> Self {
        let code = |row: usize| codes.get(row).copied().flatten().filter(|code| *code < texts.len());
        if (0..numbers.len()).any(|row| !numbers[row].is_nan() && code(row).is_some_and(|c| is_padded(&texts[c]))) {
            let text = |row: usize| code(row).filter(|_| !numbers[row].is_nan()).map(|c| texts[c].clone());
            return Labels::Texts((0..numbers.len()).map(text).collect());
        }
        // `None`: written in several ways.
        let mut found: HashMap<u64, Option<usize>> = HashMap::new();
        for (row, x) in numbers.iter().enumerate().filter(|(_, x)| !x.is_nan()) {
            let own = code(row);
            found
                .entry((x + 0.0).to_bits())
                .and_modify(|known| *known = known.filter(|known| own.is_some_and(|own| texts[*known] == texts[own])))
                .or_insert(own);
        }
        let name = |(bits, code): (u64, Option<usize>)| {
            let (number, text) = (f64::from_bits(bits), &texts[code?]);
            let is_it = text.parse() == Ok(number) && *text != number.to_string();
            is_it.then(|| (bits, text.clone()))
        };
        Labels::Numbers(found.into_iter().filter_map(name).collect())
    }

    /// These rows, in this order.
    pub(super) fn select_rows(&self, rows: &[usize]) -> Self {
        match self {
            Labels::Numbers(names) => Labels::Numbers(names.clone()),
            Labels::Texts(cells) => Labels::Texts(rows.iter().map(|row| cells[*row].clone()).collect()),
        }
    }
}

impl Frame {
    /// Records how the cells of the column of plain numbers that names classes were written: the different texts, and which of
    /// them each row has. Nothing changes for a column that is not plain numbers. One column has such texts: the last that got some.
    pub fn set_labels(&mut self, name: &str, texts: &[String], codes: &[Option<usize>]) -> Result<()> {
        if let (Column::Number(cells), None) = (self.column(name)?, self.texts(name)) {
            let labels = Labels::new(cells, texts, codes);
            self.keep_labels(name, labels);
        }
        Ok(())
    }

    /// A column as the names of classes: its texts where numbers were read from texts, or where numbers have leading zeros.
    pub fn as_labels(&self, name: &str) -> Result<Cow<'_, Column>> {
        match self.labels(name) {
            Some(Labels::Texts(cells)) => Ok(Cow::Owned(Column::Text(cells.clone()))),
            _ => self.as_written(name),
        }
    }
}

/// Whether a number is written with zeros before its first digit: `007`, `-01`.
fn is_padded(text: &str) -> bool {
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text).as_bytes();
    matches!(digits, [b'0', next, ..] if next.is_ascii_digit())
}

/// More classes than this are a mistake: a column of numbers or of names that differ in every row.
const MOST: usize = 1000;
/// A column of numbers that are not whole has at most this many classes.
const MOST_FRACTIONS: usize = 10;

impl Classes {
    /// The classes of a column and the code of each row, NaN where the cell is missing.
    pub fn read(frame: &Frame, name: &str) -> Result<(Self, Vec<f64>)> {
        let refuse = |problem: String| Err(Error::Column { column: name.to_owned(), problem });
        let written = match frame.labels(name) {
            Some(Labels::Numbers(names)) => Some(names),
            _ => None,
        };
        let (names, codes, are_numbers) = match &*frame.as_labels(name)? {
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
                let name = |x: &f64| written.and_then(|names| names.get(&x.to_bits())).cloned();
                (values.iter().map(|x| name(x).unwrap_or_else(|| x.to_string())).collect(), codes, true)
            }
        };
        if names.is_empty() && frame.rows() == 0 {
            return Err(Error::Empty("the table has no rows".into()));
        }
        let missing = codes.iter().filter(|code| code.is_nan()).count();
        check_count(&names, name, (codes.len() - missing, missing))?;
        Ok((Classes { names, are_numbers }, codes))
    }

    /// The classes that these codes use, and the codes among them. `column` is the target that errors name.
    pub(crate) fn in_use(&self, codes: &[usize], column: &str) -> Result<(Self, Vec<usize>)> {
        let mut used = codes.to_vec();
        used.sort_unstable();
        used.dedup();
        let names: Vec<String> = used.iter().map(|code| self.names[*code].clone()).collect();
        check_count(&names, column, (codes.len(), 0))?;
        let codes = codes.iter().map(|code| used.partition_point(|known| known < code)).collect();
        Ok((Classes { names, are_numbers: self.are_numbers }, codes))
    }

    /// The class that a label names, by its text or by its number: `1.0` and `+1` name the class `1`, and `1` the class `001` if
    /// no other class is 1. Where classes are text, a label with leading zeros names the class of the same text only.
    pub fn place(&self, label: &str) -> Option<usize> {
        let label = label.trim();
        let by_text = self.names.iter().position(|name| name == label);
        let number = || label.parse::<f64>().ok().filter(|_| self.are_numbers || !is_padded(label));
        by_text.or_else(|| number().and_then(|number| self.place_of_number(number)))
    }

    /// The class that a number names.
    pub fn place_of_number(&self, number: f64) -> Option<usize> {
        let number = Some(number + 0.0).filter(|number| number.is_finite())?;
        let text = number.to_string();
        self.names.iter().position(|name| *name == text).or_else(|| {
            let is_it = |name: &String| name.parse::<f64>().is_ok_and(|own| own == number);
            let mut all = (0..self.len()).filter(|place| is_it(&self.names[*place]));
            all.next().filter(|_| all.next().is_none())
        })
    }

    /// Number of classes.
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// Whether there are none; never true of classes that were read.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// Whether the names are numbers in their shortest form.
    pub fn are_plain(&self) -> bool {
        let is_short = |name: &String| name.parse::<f64>().is_ok_and(|number| number.to_string() == *name);
        self.are_numbers && self.names.iter().all(is_short)
    }

    /// The names of these classes, as the training table wrote them.
    pub fn texts(&self, codes: &[Option<usize>]) -> Column {
        Column::Text(codes.iter().map(|code| code.map(|c| self.names[c].clone())).collect())
    }

    /// A column of these classes: numbers where they are numbers.
    pub fn column(&self, codes: &[Option<usize>]) -> Column {
        if self.are_numbers {
            let numbers: Vec<f64> = self.names.iter().map(|name| name.parse().unwrap_or(f64::NAN)).collect();
            Column::Number(codes.iter().map(|code| code.map_or(f64::NAN, |c| numbers[c])).collect())
        } else {
            self.texts(codes)
        }
    }
}

/// Refuses fewer than two classes, and more than are meant. Of the rows some have a class, others a missing cell.
fn check_count(names: &[String], column: &str, (rows, missing): (usize, usize)) -> Result<()> {
    let problem = match names {
        [] => "must name classes; every cell is missing".into(),
        [only] => {
            let name = crate::base::error::abbreviated(only);
            let all = match (rows, missing) {
                (_, 0) => format!("all rows are {name:?}"),
                (1, _) => format!("the row with a class is {name:?}"),
                _ => format!("all {rows} rows with a class are {name:?}"),
            };
            let rest = match missing {
                0 => String::new(),
                1 => ", and 1 cell is missing (empty, or a mark such as NA, which cannot name a class)".into(),
                n => format!(", and {n} cells are missing (empty, or a mark such as NA, which cannot name a class)"),
            };
            format!("must have at least two classes; {all}{rest}")
        }
        names if names.len() > MOST => {
            format!("must name at most {MOST} classes; it has {} different entries", names.len())
        }
        _ => return Ok(()),
    };
    Err(Error::Column { column: column.to_owned(), problem })
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

    /// A column of numbers with the texts that they were read from.
    fn written(texts: &[&str]) -> Frame {
        let numbers = texts.iter().map(|text| text.parse().unwrap_or(f64::NAN)).collect();
        let mut frame = frame(Column::Number(numbers));
        let texts: Vec<String> = texts.iter().map(|text| (*text).to_owned()).collect();
        frame.set_labels("y", &texts, &(0..texts.len()).map(Some).collect::<Vec<_>>()).unwrap();
        frame
    }

    #[test]
    fn numbers_are_named_as_they_were_written() {
        let names = |texts: &[&str]| {
            let (classes, codes) = Classes::read(&written(texts), "y").unwrap();
            (classes.names, classes.are_numbers, codes.iter().map(|code| *code as i32).collect::<Vec<i32>>())
        };
        let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<String>>();
        assert_eq!(names(&["1.0", "+2", "1e3", "1.0"]), (owned(&["1.0", "+2", "1e3"]), true, vec![0, 1, 2, 0]));
        // Written in two ways: the number.
        assert_eq!(names(&["1.0", "2.0", "1"]), (owned(&["1", "2.0"]), true, vec![0, 1, 0]));
        // Leading zeros make texts of all.
        assert_eq!(names(&["001", "1", "010", "001"]), (owned(&["001", "010", "1"]), false, vec![0, 2, 1, 0]));
        assert_eq!(names(&["0", "0.5", "0"]), (owned(&["0", "0.5"]), true, vec![0, 1, 0]));
        // Rows keep their names when others go.
        let (classes, codes) =
            Classes::read(&written(&["001", "1", "010", "", "1"]).select_rows(&[1, 2, 3]), "y").unwrap();
        assert_eq!((&classes.names[..], codes[0], codes[2].is_nan()), (&owned(&["010", "1"])[..], 1.0, true));
        let (kept, codes) =
            Classes { names: owned(&["1.0", "2.0", "3.0"]), are_numbers: true }.in_use(&[2, 0, 2], "y").unwrap();
        assert_eq!((kept.names, codes), (owned(&["1.0", "3.0"]), vec![1, 0, 1]));
    }

    #[test]
    fn labels_match_by_text_or_by_number() {
        let classes =
            |names: &[&str], are_numbers| Classes { names: names.iter().map(|n| (*n).into()).collect(), are_numbers };
        let numbers = classes(&["-1", "1.0"], true);
        for label in ["1.0", "1", "+1", "1e0", "01", " 1 "] {
            assert_eq!(numbers.place(label), Some(1), "{label}");
        }
        assert_eq!((numbers.place("2"), numbers.place("one"), numbers.place("nan")), (None, None, None));
        let padded = classes(&["001", "010", "1"], false);
        assert_eq!(
            ["001", "1", "1.0", "10", "01"].map(|label| padded.place(label)),
            [Some(0), Some(2), Some(2), Some(1), None]
        );
        assert_eq!(classes(&["01", "001"], false).place_of_number(1.0), None);
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
