//! How a run ended, and what the shell is told about it.

use std::process::ExitCode;

use mercer::Error;

use crate::args::{ColumnOptions, Command};

/// A run that came to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Done {
    /// Everything in order.
    Certified,
    /// There is an answer, but its certificate does not hold; the reason was printed.
    Uncertified,
    /// A signal ended it; what there was is kept. The exit code tells the signal.
    Interrupted(u8),
}

/// A command line that cannot be meant so, found out after it was read.
#[derive(Debug)]
pub struct Usage(pub String);

impl std::fmt::Display for Usage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Usage {}

/// An error of which the command knows the remedy better than this module does.
#[derive(Debug)]
pub struct Advised {
    pub cause: Error,
    pub remedy: String,
}

impl std::fmt::Display for Advised {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.cause.fmt(f)
    }
}

impl std::error::Error for Advised {}

/// The end of a run, error or not.
pub enum Outcome {
    Done(Done),
    Failed(anyhow::Error),
}

impl Outcome {
    pub fn of(result: anyhow::Result<Done>) -> Self {
        match result {
            Ok(done) => Outcome::Done(done),
            Err(error) => Outcome::Failed(error),
        }
    }

    /// 0 done, 1 data or model error, 2 usage (most of it found by clap), 3 finished without certificate, 128 and its number
    /// for a signal. Options that help are only named for commands that have them.
    pub fn exit_code(self, command: &Command) -> ExitCode {
        match self {
            Outcome::Done(Done::Certified) => ExitCode::SUCCESS,
            Outcome::Done(Done::Uncertified) => ExitCode::from(3),
            Outcome::Done(Done::Interrupted(code)) => ExitCode::from(code),
            Outcome::Failed(error) => {
                if is_broken_pipe(&error) {
                    // Whoever read our output has seen enough.
                    return ExitCode::SUCCESS;
                }
                say!("error: {error:#}");
                // Prediction has none of the options of a fit.
                let found = if learns(command) { remedy(&error, command) } else { remedy_at_prediction(&error) };
                if let Some(remedy) = found {
                    say!("  {remedy}");
                }
                ExitCode::from(if error.is::<Usage>() { 2 } else { 1 })
            }
        }
    }
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        cause.downcast_ref::<std::io::Error>().is_some_and(|io| io.kind() == std::io::ErrorKind::BrokenPipe)
            || cause.downcast_ref::<mercer_io::Error>().is_some_and(mercer_io::Error::is_broken_pipe)
    })
}

/// The library's error at the bottom of another.
fn core(error: &anyhow::Error) -> Option<&Error> {
    error.chain().find_map(|cause| {
        cause.downcast_ref::<Error>().or_else(|| match cause.downcast_ref::<mercer_io::Error>() {
            Some(mercer_io::Error::Data(core)) => Some(core),
            _ => None,
        })
    })
}

/// What helps where a table is read as another one was.
fn remedy_at_prediction(error: &anyhow::Error) -> Option<String> {
    match core(error)? {
        Error::MissingCell { column, .. } => Some(format!(
            "fill the cell, or fit the model with --missing mean (the mean of {column:?} takes its place) or --missing drop (such \
             rows get no prediction)"
        )),
        Error::Cell { problem, column, .. } if problem.contains(" may be ") => Some(grouping_remedy(problem, column)),
        Error::Cell { problem, .. } if problem.ends_with("is not a number") => Some(
            "--na MARK if it marks missing cells; --decimal comma if \",\" is the decimal mark; --thousands MARK for marks \
             between digits"
                .into(),
        ),
        _ => None,
    }
}

/// Whether a command reads a table to learn from it.
fn learns(command: &Command) -> bool {
    columns(command).is_some() || matches!(command, Command::Merge(_) | Command::Update(_))
}

/// The columns that were named for it.
fn columns(command: &Command) -> Option<&ColumnOptions> {
    match command {
        Command::Fit(options) => Some(&options.columns),
        Command::Path(options) => Some(&options.columns),
        Command::Plan(options) => Some(&options.columns),
        Command::Compare(options) => Some(&options.columns),
        Command::Stream(options) => Some(&options.columns),
        Command::Moments(options) => Some(&options.columns),
        Command::Equivalence(options) => Some(&options.columns),
        Command::Certify(options) => Some(&options.columns),
        _ => None,
    }
}

/// Whether a cell's problem is that it is no number of the kind that the others are.
fn is_no_number(problem: &str) -> bool {
    const PHRASES: [&str; 6] = [
        "as a mark of missing cells",
        "as other cells are",
        "write dates as",
        "convert the column",
        "give every cell",
        "of different kinds",
    ];
    problem.ends_with("is not a number") || PHRASES.iter().any(|phrase| problem.contains(phrase))
}

/// What helps where a target or a weight is no number: neither can be a category or be left out.
fn remedy_for_numbers(is_target: bool, command: &Command) -> String {
    const CELLS: &str = "--na MARK if it marks missing cells; --decimal comma if \",\" is the decimal mark";
    match command {
        _ if !is_target => format!("weights are numbers of at least 0; {CELLS}"),
        Command::Plan(_) => {
            format!("the target must be numbers; if it names classes: --loss logistic or --loss hinge; {CELLS}")
        }
        _ => format!(
            "the target must be numbers here; if it names classes: mercer fit --loss logistic, or mercer compare; {CELLS}"
        ),
    }
}

/// Which option helps; the library does not know the program's options.
fn remedy(error: &anyhow::Error, command: &Command) -> Option<String> {
    if let Some(advised) = error.downcast_ref::<Advised>() {
        return Some(advised.remedy.clone());
    }
    let core = core(error)?;
    let (is_target, is_weight) = match (core, columns(command)) {
        (Error::MissingCell { column, .. } | Error::Cell { column, .. }, Some(columns)) => {
            (columns.is_target(column), columns.weight.as_ref() == Some(column))
        }
        _ => (false, false),
    };
    match core {
        Error::MissingCell { .. } if is_target || is_weight => {
            Some("--missing drop leaves such rows out; a mean cannot take the place of a target or weight".into())
        }
        Error::Cell { problem, .. } if (is_target || is_weight) && is_no_number(problem) => {
            Some(remedy_for_numbers(is_target, command))
        }
        Error::MissingCell { .. } => {
            Some("--missing drop leaves such rows out; --missing mean fills in the column's mean".into())
        }
        Error::Cell { problem, .. } if problem.contains("a mean cannot take its place") => {
            Some("--missing drop leaves out every row with a missing cell".into())
        }
        Error::Cell { problem, column, .. } if problem.contains(" may be ") => Some(grouping_remedy(problem, column)),
        Error::Cell { problem, column, .. } if problem.contains("as a mark of missing cells") => {
            let mark = problem.split('"').nth(1).unwrap_or_default();
            Some(format!("--na {mark:?} if it marks missing cells; --categorical {column:?} if it is a category"))
        }
        Error::Cell { problem, .. } if problem.contains("has a decimal ") => {
            problem.rsplit(' ').next().map(|mark| format!("--decimal {mark}"))
        }
        Error::Cell { problem, column, .. } if problem.ends_with("as other cells are") => Some(format!(
            "--na MARK if it marks missing cells; --categorical {column:?} if the column holds names; --drop {column:?} to leave \
             it out"
        )),
        Error::Cell { problem, column, .. }
            if ["write dates as", "convert the column", "give every cell", "of different kinds"]
                .iter()
                .any(|phrase| problem.contains(phrase)) =>
        {
            Some(format!("--categorical {column:?} if the column holds names; --drop {column:?} to leave it out"))
        }
        Error::Cell { problem, column, .. } if problem.ends_with("is not a number") => Some(format!(
            "--na MARK if it marks missing cells; --decimal comma if \",\" is the decimal mark; --categorical {column:?} if the \
             column holds names; --drop {column:?} to leave it out"
        )),
        Error::Cell { problem, .. } if problem.contains("negative after scaling") => Some("--scale unit".into()),
        Error::Column { problem, column } if problem.contains("like an identifier") => {
            Some(format!("--drop {column:?} or --categorical {column:?}"))
        }
        Error::Memory { .. } => Some(match command {
            Command::Path(_) | Command::Equivalence(_) | Command::Certify(_) => {
                "--memory 8G sets the limit; --kernel linear needs no matrix".into()
            }
            _ => "--memory 8G sets the limit".into(),
        }),
        Error::NotAKernel(text) if text.contains("scale the features") => Some("--scale standard".into()),
        _ => None,
    }
}

/// The two ways in which `"3,000" may be 3000 or 3` can be read.
fn grouping_remedy(problem: &str, column: &str) -> String {
    let (found, values) = problem.split_once(" may be ").unwrap_or_default();
    let (grouped, decimal) = values.split_once(" or ").unwrap_or_default();
    let number = found.split('"').nth(1).unwrap_or_default();
    let is_beside = found.contains(" beside ");
    match (number.contains(','), is_beside) {
        (true, false) => format!("--thousands comma reads {grouped}; --decimal comma reads {decimal}"),
        (true, true) => {
            format!("--thousands comma (and not --decimal comma) reads {grouped}; --thousands none reads {decimal}")
        }
        _ => format!("--thousands point reads {grouped}; --thousands none reads {decimal} in {column:?}"),
    }
}
