//! The options of `mercer compare`.

use std::time::Duration;

use clap::Args;
use mercer::criterion::FoldRule;

use super::table::{ColumnOptions, OutputOptions, RowOptions, TableOptions};
use super::values::{compared_folds, duration, repeat_count};

/// Compare methods on the same folds, all their choices made inside the folds
///
/// Examples:
///
///   mercer compare concrete.csv --target strength
///   mercer compare concrete.csv --target strength --methods mean,ridge,gaussian-tuned --folds 10
///   mercer compare t.csv --target kind                          classes, if the column holds text
///   mercer compare t.csv --target y --classify                  classes that are numbers
///   mercer compare sales.csv --target units --folds 'forward(folds=5,gap=7)'     rows in order of time
///   mercer compare t.csv --target y --repeats 3 --svg compare.svg --style markdown
#[derive(Debug, Args)]
#[command(verbatim_doc_comment, after_long_help = crate::compare::methods::list())]
pub struct CompareOptions {
    /// The table: CSV (any separator, also gzipped), Parquet, Arrow IPC or LIBSVM text; - is standard input
    pub table: String,
    #[command(flatten)]
    pub columns: ColumnOptions,

    /// Methods, separated by commas (default: all that suit the target); --help lists them
    #[arg(long, value_name = "NAMES", value_delimiter = ',', value_parser = crate::compare::methods::find)]
    pub methods: Vec<&'static crate::compare::methods::Method>,
    /// Read the target as classes also if it holds numbers
    #[arg(long)]
    pub classify: bool,
    /// Number of folds; or, with rows in order of time, blocks that earlier rows predict: forward(folds=5,gap=0,window=all)
    #[arg(long, value_name = "FOLDS", default_value = "5", value_parser = compared_folds)]
    pub folds: FoldRule,
    /// How often the folds are drawn anew
    #[arg(long, value_name = "R", default_value_t = 1, value_parser = repeat_count)]
    pub repeats: usize,
    /// Time of `automatic` in each fold, such as 20s or 1m
    #[arg(long, value_name = "TIME", default_value = "20s", value_parser = duration)]
    pub budget: Duration,
    #[command(flatten)]
    pub rows: RowOptions,

    /// Draw means and deviations into this file
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub svg: Option<String>,
    #[command(flatten)]
    pub shown: OutputOptions,
    #[command(flatten)]
    pub reading: TableOptions,
}
