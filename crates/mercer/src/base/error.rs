//! Everything that can be refused, in one place.
//!
//! A message says what must hold and what was found, with row and column where there is one. Rows are
//! counted from 1 and do not count a header, so that "row 417" is the same row in every file format.

use thiserror::Error;

use crate::base::format_error::FormatError;

/// The result of everything in this library that can be refused.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why something was refused.
#[derive(Debug, Clone, PartialEq, Error)]
#[non_exhaustive]
pub enum Error {
    /// A kernel (or another member of a table) of this name does not exist.
    #[error("unknown {axis} {name:?}; known: {}{}", known.join(", "), did_you_mean(suggestion))]
    UnknownName {
        /// Which table was asked: `kernel`, ...
        axis: &'static str,
        /// The name that was asked for.
        name: String,
        /// All names of that table.
        known: Vec<String>,
        /// The nearest known name, if one is near.
        suggestion: Option<String>,
    },

    /// A member of a table has no parameter of this name.
    #[error("{of} has no parameter {name:?}; it has: {}{}", list_or_none(known), after_semicolon(hint))]
    UnknownParameter {
        /// The member.
        of: String,
        /// The parameter that was given.
        name: String,
        /// The parameters it has.
        known: Vec<String>,
        /// What is likely meant, if that can be told.
        hint: Option<String>,
    },

    /// A parameter or argument is outside the values it may take.
    #[error("{name} must be {must}; got {got}")]
    Argument {
        /// The argument's name.
        name: String,
        /// What must hold.
        must: String,
        /// What was found.
        got: String,
    },

    /// A setting that has no meaning together with the others.
    #[error("{setting} cannot be combined with {with}: {because}")]
    Combination {
        /// The setting.
        setting: String,
        /// What it was combined with.
        with: String,
        /// The reason.
        because: String,
    },

    /// A spec such as `0.5*linear + gaussian` could not be read.
    #[error("cannot read {spec:?}: expected {expected} at character {at}")]
    Syntax {
        /// The whole spec.
        spec: String,
        /// What would have been fine there.
        expected: String,
        /// Position of the trouble, counted from 1.
        at: usize,
    },

    /// One cell of a table cannot be used.
    #[error("row {row}, column {:?}: {problem}", abbreviated(column))]
    Cell {
        /// Row, counted from 1 without the header.
        row: usize,
        /// The column's name.
        column: String,
        /// What is wrong with it, and the remedy.
        problem: String,
    },

    /// A cell that is needed is empty (or NaN).
    #[error("row {row}, column {:?}: the cell is missing", abbreviated(column))]
    MissingCell {
        /// Row, counted from 1 without the header.
        row: usize,
        /// The column's name.
        column: String,
    },

    /// A whole column cannot be used.
    #[error("column {:?} {problem}", abbreviated(column))]
    Column {
        /// The column's name.
        column: String,
        /// What is wrong with it, and the remedy.
        problem: String,
    },

    /// A column that is needed is not in the table.
    #[error(
        "no column {:?} in the table; it has: {}{}",
        abbreviated(name),
        list_or_none(known),
        did_you_mean(suggestion)
    )]
    MissingColumn {
        /// The column that was asked for.
        name: String,
        /// The columns there are.
        known: Vec<String>,
        /// The nearest name, if one is near.
        suggestion: Option<String>,
    },

    /// Two things that must have the same size do not.
    #[error("{what} must have {expected}; got {got}")]
    Shape {
        /// Which thing.
        what: String,
        /// The size it must have.
        expected: String,
        /// The size it has.
        got: String,
    },

    /// There is nothing to learn from.
    #[error("{0}")]
    Empty(String),

    /// The exact method would need more memory than there is.
    #[error(
        "{rows} rows need {} ({what}); {} may be used{}",
        crate::base::bytes::bytes(*needed), crate::base::bytes::bytes(*available), hint
    )]
    Memory {
        /// Number of rows.
        rows: usize,
        /// Bytes the exact method needs at its peak.
        needed: u64,
        /// Bytes that may be used.
        available: u64,
        /// What takes the bytes.
        what: &'static str,
        /// What to do instead.
        hint: String,
    },

    /// The Gram matrix is not one a kernel can have.
    #[error("{0}")]
    NotAKernel(String),

    /// The linear algebra gave an answer that failed its own check.
    #[error("the decomposition failed its check: {0}")]
    Decomposition(String),

    /// Cancelled by the caller.
    #[error("interrupted")]
    Interrupted,

    /// Bytes that are not a model file.
    #[error(transparent)]
    Format(#[from] FormatError),
}

impl Error {
    /// An argument outside the values it may take.
    pub fn argument(name: impl Into<String>, must: impl Into<String>, got: impl ToString) -> Self {
        Error::Argument { name: name.into(), must: must.into(), got: got.to_string() }
    }

    /// A cell that cannot be used; `row` counts from 1.
    pub fn cell(row: usize, column: impl Into<String>, problem: impl Into<String>) -> Self {
        Error::Cell { row, column: column.into(), problem: problem.into() }
    }

    /// The same error where this many rows stand before the table in which it was found: parts of a table count from 1, too.
    #[must_use]
    pub fn below(mut self, rows: usize) -> Self {
        if let Error::Cell { row, .. } | Error::MissingCell { row, .. } = &mut self {
            *row += rows;
        }
        self
    }

    /// A size that differs from what it must be.
    pub fn shape(what: impl Into<String>, expected: impl ToString, got: impl ToString) -> Self {
        Error::Shape { what: what.into(), expected: expected.to_string(), got: got.to_string() }
    }
}

fn did_you_mean(suggestion: &Option<String>) -> String {
    suggestion.as_ref().map_or_else(String::new, |name| format!("; did you mean {name}?"))
}

fn after_semicolon(hint: &Option<String>) -> String {
    hint.as_ref().map_or_else(String::new, |hint| format!("; {hint}"))
}

fn list_or_none(names: &[String]) -> String {
    const MOST: usize = 40;
    if names.is_empty() {
        return "none".to_owned();
    }
    let shown: Vec<String> = names.iter().take(MOST).map(|name| abbreviated(name)).collect();
    let more = if names.len() > MOST { format!(", … ({} in all)", names.len()) } else { String::new() };
    shown.join(", ") + &more
}

/// A text short and plain enough for a sentence: what is long is cut, what cannot be printed is written out.
pub(crate) fn abbreviated(text: &str) -> String {
    const LONGEST: usize = 60;
    let mut short: String = text.chars().take(LONGEST).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    if short.contains(char::is_control) { short.escape_debug().to_string() } else { short }
}

/// The known name nearest to `name`, if it is near enough to be a slip of the keyboard.
pub fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<String> {
    // Nobody mistypes that much, and the distance is quadratic.
    if name.len() > 100 {
        return None;
    }
    let lower = name.to_lowercase();
    known
        .into_iter()
        .filter_map(|candidate| {
            let other = candidate.to_lowercase();
            let distance =
                if lower.len() >= 3 && other.starts_with(&lower) { 1 } else { edit_distance(&lower, &other) };
            (distance * 3 <= other.chars().count().max(3)).then_some((distance, candidate))
        })
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate.to_owned())
}

/// Levenshtein's distance; names are short, so the plain quadratic table serves.
fn edit_distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut previous: Vec<usize> = (0..=b.len()).collect();
    for (i, ca) in a.chars().enumerate() {
        let mut current = vec![i + 1];
        for (j, cb) in b.iter().enumerate() {
            let substitute = previous[j] + usize::from(ca != *cb);
            current.push(substitute.min(previous[j + 1] + 1).min(current[j] + 1));
        }
        previous = current;
    }
    previous[b.len()]
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn slips_are_recognised_and_strangers_are_not() {
        let known = ["linear", "gaussian", "matern32"];
        assert_eq!(nearest("gauss", known).as_deref(), Some("gaussian"));
        assert_eq!(nearest("gausian", known).as_deref(), Some("gaussian"));
        assert_eq!(nearest("matern23", known).as_deref(), Some("matern32"));
        assert_eq!(nearest("sigmoid", known), None);
    }
}
