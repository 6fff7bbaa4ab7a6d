//! The options of `mercer stream`.

use clap::Args;

use super::table::{ColumnOptions, RowOptions, TableOptions};
use super::values::{KernelArgument, ScaleArgument, Style, exponent, kernels, lambda, row_count, warm_up_count};

/// Learn a table row by row, predicting every row before it is learned
///
/// After each row the model minimises (1/n) Σ (y − f(x) − b)² + λ‖f‖ᵐ over all rows so far: exactly up to --exact-rows
/// (it is the model that `mercer fit` makes of them), then in the span of --landmarks rows chosen among those. Its error
/// is that of rows it did not know.
///
/// The first rows (--warm-up) decide the scaling, categories and the numbers of the kernel. They are decided anew, with a note,
/// when later rows prove the scaling wrong: a column that was constant varies, or spreads three times as much. Without --lambda it is chosen then, and again whenever the number of rows has doubled: by exact leave-one-out, on landmarks by
/// generalised cross-validation.
///
/// CSV is read as it arrives: each row of - is answered before the next is read, and --predictions has it at once. Ctrl-C and
/// SIGTERM end the stream as the end of the table does: the model, predictions and the report are written. Parquet is read in batches, other formats and gzipped
/// files whole first.
///
/// Examples:
///
///   mercer stream sensor.csv --target y --output m.mercer
///   tail -f sensor.csv | mercer stream - --target y --report-every 100 -o m.mercer --save-every 1000
///   tail -f sensor.csv | mercer stream - -t y --predictions - --quiet | consumer
///   mercer stream t.csv -t y -k 'laplace(lengthscale=median)' -m 1.5 --exact-rows 500 --landmarks 200
///   mercer stream t.csv -t y --predictions p.csv --svg loss.svg --quiet
///   mercer generate friedman1 --rows 3000 --noise 1 | mercer stream - -t y --style markdown
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub struct StreamOptions {
    /// The table, learned in the order of its rows: CSV (any separator, also gzipped), Parquet, Arrow IPC or LIBSVM text; -
    /// is standard input
    pub table: String,
    #[command(flatten)]
    pub columns: ColumnOptions,

    /// The kernel, as a spec such as gaussian(lengthscale=1.5); with ranges: the best on the warm-up; see `mercer list kernels`
    #[arg(long, short, value_name = "SPEC", default_value = "gaussian", value_parser = kernels, help_heading = "The model")]
    pub kernel: KernelArgument,
    /// m in the penalty λ‖f‖ᵐ, any number above 0
    #[arg(long, short = 'm', value_name = "M", default_value_t = 2.0, value_parser = exponent, allow_negative_numbers = true, help_heading = "The model")]
    pub exponent: f64,
    /// λ (default: chosen at the end of the warm-up and at every doubling of the rows)
    #[arg(long, short, value_name = "L", value_parser = lambda, allow_negative_numbers = true, help_heading = "The model")]
    pub lambda: Option<f64>,
    /// How numbers are scaled, by the warm-up (default: standard; unit for splines)
    #[arg(long, value_name = "HOW", help_heading = "The model")]
    pub scale: Option<ScaleArgument>,
    #[command(flatten)]
    pub rows: RowOptions,

    /// Rows that decide scaling, categories and the kernel's numbers; they are learned but not predicted
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = warm_up_count, help_heading = "The stream")]
    pub warm_up: usize,
    /// Up to how many rows the model is exact; a row costs O(n²) operations
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = row_count, help_heading = "The stream")]
    pub exact_rows: usize,
    /// How many landmarks there are at most afterwards; a row costs O(r²) operations
    #[arg(long, value_name = "R", default_value_t = 300, value_parser = row_count, help_heading = "The stream")]
    pub landmarks: usize,
    /// Rows that count as recent in the reported error
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = row_count, help_heading = "The stream")]
    pub recent: usize,
    /// Report whenever this many more rows were learned (default: at 100, 200, 500, 1000, …)
    #[arg(long, value_name = "N", value_parser = row_count, help_heading = "The stream")]
    pub report_every: Option<usize>,

    /// Save the model of all rows to this file, at the end and on Ctrl-C or SIGTERM
    #[arg(long, short, value_name = "FILE", help_heading = "Output")]
    pub output: Option<String>,
    /// Save the model whenever this many more rows were learned, too
    #[arg(long, value_name = "N", value_parser = row_count, requires = "output", help_heading = "Output")]
    pub save_every: Option<usize>,
    /// Write row, target and prediction of every row to this file: CSV as soon as they are known (- is standard output), other
    /// formats, told by the name, at the end
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub predictions: Option<String>,
    /// Draw the running error into this file
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub svg: Option<String>,
    /// How the table of reports is printed
    #[arg(long, value_name = "STYLE", default_value = "text", help_heading = "Output")]
    pub style: Style,
    /// Print one JSON object instead of a report
    #[arg(long, conflicts_with = "style", help_heading = "Output")]
    pub json: bool,
    #[command(flatten)]
    pub reading: TableOptions,
}
