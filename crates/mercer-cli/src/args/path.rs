//! The options of `mercer path`.

use clap::Args;

use super::table::{ColumnOptions, OutputOptions, RowOptions, TableOptions};
use super::values::{CriteriaArgument, KernelArgument, Numbers, ScaleArgument, criteria, exponent, kernels, lambdas};

/// Show error, criteria, norm and degrees of freedom along λ, from one decomposition
///
/// Examples:
///
///   mercer path concrete.csv --target strength
///   mercer path concrete.csv --target strength --exponent 1.5 --svg path.svg
///   mercer path t.csv --target y --kernel matern52 --criterion loo,kfold:10,gcv --lambda 1e-6..1:13
///   mercer path t.csv --target y --style latex > table.tex
///   mercer path t.csv --target y --quiet --output path.parquet
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub struct PathOptions {
    /// The table: CSV (any separator, also gzipped), Parquet, Arrow IPC or LIBSVM text; - is standard input
    pub table: String,
    #[command(flatten)]
    pub columns: ColumnOptions,

    /// The kernel, as a spec such as gaussian(lengthscale=1.5); with ranges: the best; see `mercer list kernels`
    #[arg(long, short, value_name = "SPEC", default_value = "gaussian", value_parser = kernels, help_heading = "The model")]
    pub kernel: KernelArgument,
    /// m in the penalty λ‖f‖ᵐ, any number above 0
    #[arg(long, short = 'm', value_name = "M", default_value_t = 2.0, value_parser = exponent, allow_negative_numbers = true, help_heading = "The model")]
    pub exponent: f64,
    /// λ to show, a number or a range such as 1e-6..1:13 (default: the whole useful part of the path)
    #[arg(long, short, value_name = "RANGE", value_parser = lambdas, allow_negative_numbers = true, help_heading = "The model")]
    pub lambda: Option<Numbers>,
    /// How numbers are scaled (default: standard; unit for splines; none for precomputed)
    #[arg(long, value_name = "HOW", help_heading = "The model")]
    pub scale: Option<ScaleArgument>,
    #[command(flatten)]
    pub rows: RowOptions,
    /// Criteria to show, separated by commas; see `mercer list criteria`
    #[arg(long, value_name = "SPECS", default_value = "loo,gcv,fpe,bic,reml", value_parser = criteria)]
    pub criterion: CriteriaArgument,

    /// Draw the curves into this file
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub svg: Option<String>,
    #[command(flatten)]
    pub shown: OutputOptions,
    #[command(flatten)]
    pub reading: TableOptions,
}
