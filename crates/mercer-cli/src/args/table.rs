//! Options that several commands share: how a table is read and what its columns are.

use clap::Args;
use mercer::data::{Frame, Roles, Thousands};
use mercer_io::{Format, ReadOptions};

use super::values::{
    Decimal, MissingArgument, Style, TextArgument, byte_count, comment, file_format, separator, thousands,
};
use crate::outcome::Usage;

/// How the cells of a CSV file are read.
#[derive(Debug, Clone, Args)]
pub struct CellOptions {
    /// The character between cells of a CSV file, or "tab" (default: found by itself)
    #[arg(long, value_name = "CHAR", value_parser = separator, help_heading = "Reading the table")]
    pub separator: Option<u8>,
    /// The decimal mark of a CSV file
    #[arg(long, value_name = "MARK", default_value = "point", help_heading = "Reading the table")]
    pub decimal: Decimal,
    /// What separates thousands: comma, point, blank, apostrophe, another character, or none (default: understood where
    /// nothing else can be meant); a point makes the comma the decimal mark
    #[arg(long, value_name = "MARK", value_parser = thousands, help_heading = "Reading the table")]
    pub thousands: Option<Thousands>,
    /// The CSV file has no header; its columns are called x1, x2, …
    #[arg(long, help_heading = "Reading the table")]
    pub no_header: bool,
    /// The first row of the CSV file names the columns, even if it is numbers
    #[arg(long, conflicts_with = "no_header", help_heading = "Reading the table")]
    pub header: bool,
    /// Marks of missing cells, separated by commas, besides the usual ones (empty, NA, n/a, null, ?, #N/A, …)
    #[arg(
        long,
        value_name = "MARKS",
        value_delimiter = ',',
        allow_hyphen_values = true,
        help_heading = "Reading the table"
    )]
    pub na: Vec<String>,
    /// Lines above the header of a CSV file that are passed over
    #[arg(long, value_name = "N", default_value_t = 0, help_heading = "Reading the table")]
    pub skip_rows: usize,
    /// Lines of a CSV file that begin with this character are passed over
    #[arg(long, value_name = "CHAR", value_parser = comment, help_heading = "Reading the table")]
    pub comment: Option<u8>,
}

impl CellOptions {
    pub fn to_read_options(&self, format: Option<Format>) -> ReadOptions {
        ReadOptions {
            format,
            separator: self.separator,
            decimal_comma: self.decimal == Decimal::Comma || self.thousands == Some(Thousands::Mark('.')),
            thousands: self.thousands.unwrap_or_default(),
            header: if self.header { Some(true) } else { self.no_header.then_some(false) },
            missing: self.na.clone(),
            skip_rows: self.skip_rows,
            comment: self.comment,
            memory_limit: Some(mercer::plan::available_memory()),
        }
    }
}

/// How a table file is read.
#[derive(Debug, Clone, Args)]
pub struct TableOptions {
    /// csv, parquet, arrow or libsvm (default: by name and content)
    #[arg(long, alias = "input-format", value_name = "FORMAT", value_parser = file_format, help_heading = "Reading the table")]
    pub format: Option<Format>,
    #[command(flatten)]
    pub cells: CellOptions,
}

impl TableOptions {
    pub fn to_read_options(&self) -> ReadOptions {
        self.cells.to_read_options(self.format)
    }
}

/// Which column is what.
#[derive(Debug, Clone, Args)]
pub struct ColumnOptions {
    /// The column to predict; several, separated by commas, share one decomposition
    #[arg(long, short, value_name = "NAME", help_heading = "Columns")]
    pub target: Vec<String>,
    /// Columns to predict from, separated by commas (default: all others); poly:3 makes all their monomials up to degree 3
    /// the features of a linear fit
    #[arg(long, value_name = "NAMES", conflicts_with = "drop", help_heading = "Columns")]
    pub features: Option<Vec<String>>,
    /// Columns to leave out, separated by commas
    #[arg(long, value_name = "NAMES", help_heading = "Columns")]
    pub drop: Vec<String>,
    /// Column of row weights, at least 0: the inverse of each row's noise variance, up to a factor. At a given λ a row of
    /// weight 2 fits like two equal rows
    #[arg(long, value_name = "NAME", help_heading = "Columns")]
    pub weight: Option<String>,
    /// Column whose equal entries belong together: whatever is held out (leave-one-out, folds, intervals) holds out whole groups
    #[arg(long, value_name = "NAME", help_heading = "Columns")]
    pub group: Option<String>,
    /// Columns of numbers that are names of categories
    #[arg(long, value_name = "NAMES", help_heading = "Columns")]
    pub categorical: Vec<String>,
}

impl ColumnOptions {
    /// The roles in this table. Without a target the table's columns are named: one of them is meant.
    pub fn to_roles(&self, frame: &Frame) -> anyhow::Result<Roles> {
        if self.target.is_empty() {
            return Err(Usage(format!("--target is needed; the columns are {}", listed(frame.names()))).into());
        }
        let names = |given: &[String]| column_names(frame, given);
        Ok(Roles {
            targets: names(&self.target),
            features: self.features.as_deref().map(without_degree).filter(|g| !g.is_empty()).map(|g| names(&g)),
            drop: names(&self.drop),
            weight: self.weight.clone(),
            group: self.group.clone(),
            groups_are_folds: false,
            categorical: names(&self.categorical),
        })
    }

    /// Whether a column of the table is a target.
    pub fn is_target(&self, column: &str) -> bool {
        self.target.iter().any(|text| text == column || text.split(',').any(|name| name.trim() == column))
    }

    /// The degree of `--features poly:3`.
    pub fn degree(&self) -> Option<usize> {
        self.features.iter().flatten().flat_map(|text| text.split(',')).find_map(degree)
    }

    /// For commands that show one target.
    pub fn to_roles_of_one_target(&self, frame: &Frame) -> anyhow::Result<Roles> {
        let roles = self.to_roles(frame)?;
        match roles.targets.len() {
            0 | 1 => Ok(roles),
            n => {
                Err(Usage(format!("--target must name one column here; got {n}: {}", roles.targets.join(", "))).into())
            }
        }
    }
}

/// What is made of text, missing cells and memory, whatever the model is.
#[derive(Debug, Clone, Args)]
pub struct RowOptions {
    /// Without the offset b
    #[arg(long, help_heading = "The model")]
    pub no_offset: bool,
    /// How text columns are read
    #[arg(long, value_name = "HOW", default_value = "one-hot", help_heading = "The model")]
    pub text: TextArgument,
    /// What is done about missing cells
    #[arg(long, value_name = "HOW", default_value = "error", help_heading = "The model")]
    pub missing: MissingArgument,
    /// Memory that may be used, such as 2G or 500M (default: what is available)
    #[arg(long, value_name = "BYTES", value_parser = byte_count, help_heading = "The model")]
    pub memory: Option<u64>,
}

fn degree(text: &str) -> Option<usize> {
    text.trim().strip_prefix("poly:").and_then(|degree| degree.parse().ok())
}

/// The names without `poly:3`.
fn without_degree(given: &[String]) -> Vec<String> {
    let rest = |text: &String| text.split(',').filter(|part| degree(part).is_none()).collect::<Vec<_>>().join(",");
    given.iter().map(rest).filter(|text| !text.is_empty()).collect()
}

/// The first names, and how many more there are.
fn listed(names: &[String]) -> String {
    const SHOWN: usize = 30;
    let short = |name: &String| name.chars().take(40).collect::<String>();
    let shown = names.iter().take(SHOWN).map(short).collect::<Vec<_>>().join(", ");
    let more = names.len().saturating_sub(SHOWN);
    if more > 0 { format!("{shown}, … ({more} more)") } else { shown }
}

/// Names separated by commas; a name that has a comma itself is taken whole if the table knows it.
fn column_names(frame: &Frame, given: &[String]) -> Vec<String> {
    let split = |text: &String| -> Vec<String> {
        if frame.column(text).is_ok() {
            return vec![text.clone()];
        }
        text.split(',').map(|name| name.trim().to_owned()).filter(|name| !name.is_empty()).collect()
    };
    given.iter().flat_map(split).collect()
}

/// Where a table that was computed goes, and how it looks.
#[derive(Debug, Args)]
pub struct OutputOptions {
    /// Write the whole table to this file; the name tells the format: .csv, .tsv, .json, .jsonl, .parquet or .arrow (- is CSV to standard output)
    #[arg(long, short, value_name = "FILE", help_heading = "Output")]
    pub output: Option<String>,
    /// How the table is printed
    #[arg(long, value_name = "STYLE", default_value = "text", help_heading = "Output")]
    pub style: Style,
    /// Print one JSON object instead of a report
    #[arg(long, conflicts_with = "style", help_heading = "Output")]
    pub json: bool,
}
