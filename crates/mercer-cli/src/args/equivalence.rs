//! The options of `mercer equivalence` and `mercer distance`.

use clap::Args;
use mercer_lab::equivalence::Algorithm;

use super::table::{ColumnOptions, OutputOptions, RowOptions, TableOptions};
use super::values::{KernelArgument, ScaleArgument, algorithm, kernels, parameter, part_count, sample_count};

/// Translate the parameter of one algorithm into that of another
///
/// Shows whether the translation depends on the rows. Every algorithm here gives a point of the same ridge path, so that for each parameter of one there is a parameter Φ of
/// another with the same function on this table. Two algorithms are strongly equivalent if Φ is the same for every table,
/// else weakly. Φ is computed on parts of the rows, on bootstrap samples and without each single row (exactly).
/// Without --to: Φ for every algorithm.
///
/// Examples:
///
///   mercer equivalence t.csv --target y --from "power(exponent=1.5)" --to ridge --lambda 0.01
///   mercer equivalence t.csv --target y --from scikit-learn --lambda 0.5         what it is called elsewhere
///   mercer equivalence t.csv --target y --from ivanov --to morozov --lambda 3 --svg paths.svg
///   mercer equivalence t.csv --target y --from ridge --to "power(exponent=1)" --style latex > table.tex
#[derive(Debug, Args)]
#[command(verbatim_doc_comment, after_long_help = crate::equivalence::list())]
pub struct EquivalenceOptions {
    /// The table: CSV (any separator, also gzipped), Parquet, Arrow IPC or LIBSVM text; - is standard input
    pub table: String,
    #[command(flatten)]
    pub columns: ColumnOptions,

    /// The algorithm whose parameter is given, as a spec such as power(exponent=1.5); --help lists them
    #[arg(long, value_name = "SPEC", default_value = "ridge", value_parser = algorithm)]
    pub from: Algorithm,
    /// The algorithm whose parameter is sought (default: all of them)
    #[arg(long, value_name = "SPEC", value_parser = algorithm)]
    pub to: Option<Algorithm>,
    /// The parameter of --from (default: the one whose ridge exact leave-one-out chooses)
    #[arg(long, short, value_name = "X", value_parser = parameter, allow_negative_numbers = true)]
    pub lambda: Option<f64>,
    /// Disjoint parts of the rows on which Φ is computed
    #[arg(long, value_name = "K", default_value_t = 4, value_parser = part_count)]
    pub parts: usize,
    /// Bootstrap samples on which Φ is computed
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = sample_count)]
    pub bootstrap: usize,

    /// The kernel, as a spec such as gaussian(lengthscale=1.5); with ranges: the best; see `mercer list kernels`
    #[arg(long, short, value_name = "SPEC", default_value = "gaussian", value_parser = kernels, help_heading = "The model")]
    pub kernel: KernelArgument,
    /// How numbers are scaled (default: standard; unit for splines; none for precomputed)
    #[arg(long, value_name = "HOW", help_heading = "The model")]
    pub scale: Option<ScaleArgument>,
    #[command(flatten)]
    pub rows: RowOptions,

    /// Draw the paths of both algorithms into this file, at the same numbers and through Φ
    #[arg(long, value_name = "FILE", requires = "to", help_heading = "Output")]
    pub svg: Option<String>,
    #[command(flatten)]
    pub shown: OutputOptions,
    #[command(flatten)]
    pub reading: TableOptions,
}

/// Count the rows that must be added, removed or changed to turn one table into another
///
/// The generalised Hamming distance of two training sets: rows may stand in any order and columns are found by name; cells
/// are equal when their numbers or texts are.
///
/// Examples:
///
///   mercer distance monday.csv tuesday.csv
///   mercer distance old.parquet new.csv --json
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub struct DistanceOptions {
    /// The first table
    pub first: String,
    /// The second table
    pub second: String,
    /// Print one JSON object
    #[arg(long, help_heading = "Output")]
    pub json: bool,
    #[command(flatten)]
    pub reading: TableOptions,
}
