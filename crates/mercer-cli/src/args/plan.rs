//! The options of `mercer plan`.

use clap::{Args, Parser};
use mercer::criterion::Criterion;

use super::FitOptions;
use super::loss::LossOptions;
use super::table::{ColumnOptions, OutputOptions, RowOptions, TableOptions};
use super::values::{
    KernelArgument, Numbers, ScaleArgument, SolverArgument, criterion, exponents, kernels, lambdas, positive, row_count,
};

/// Show what every method would take on this machine: memory, time and certificate
///
/// Nothing is fitted. The machine is measured for less than half a second, with the kernel and the width of this table; times are
/// counts of operations over those rates, and right to about a factor of two on an idle machine. The method that `mercer fit`
/// would choose with the same options is marked, with the reason.
///
/// Examples:
///
///   mercer plan big.csv --target y
///   mercer plan big.csv --target y --kernel matern52 --lambda 1e-4 --memory 2G
///   mercer plan big.csv --target y --kernel gaussian --exponent 1.5 --lambda 1e-4 --exact
///   mercer plan big.csv --target kind --loss hinge --style markdown
///   mercer plan big.csv --target y --json
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub struct PlanOptions {
    /// The table: CSV (any separator, also gzipped), Parquet, Arrow IPC or LIBSVM text; - is standard input
    pub table: String,
    #[command(flatten)]
    pub columns: ColumnOptions,

    /// A kernel, as for `mercer fit`; several: all are tried (default: the Gaussian one)
    #[arg(long, short, value_name = "SPEC", value_parser = kernels, help_heading = "The model")]
    pub kernel: Vec<KernelArgument>,
    /// m in the penalty λ‖f‖ᵐ, or a range with a step
    #[arg(long, short = 'm', value_name = "M", value_parser = exponents, allow_negative_numbers = true, help_heading = "The model")]
    pub exponent: Option<Numbers>,
    /// λ in the penalty, or a range with a number of points (default: chosen from all)
    #[arg(long, short, value_name = "L", value_parser = lambdas, allow_negative_numbers = true, help_heading = "The model")]
    pub lambda: Option<Numbers>,
    /// How numbers are scaled (default: standard; unit for splines; none for precomputed)
    #[arg(long, value_name = "HOW", help_heading = "The model")]
    pub scale: Option<ScaleArgument>,
    #[command(flatten)]
    pub losses: LossOptions,
    #[command(flatten)]
    pub rows: RowOptions,
    /// At most this many landmarks
    #[arg(long, value_name = "R", value_parser = row_count, help_heading = "The model")]
    pub rank: Option<usize>,
    /// As many landmarks as a proved accuracy takes
    #[arg(long, value_name = "A", value_parser = positive, conflicts_with = "rank", help_heading = "The model")]
    pub accuracy: Option<f64>,
    /// All rows, however long it takes
    #[arg(long, conflicts_with_all = ["rank", "accuracy"], help_heading = "The model")]
    pub exact: bool,
    /// How the problem on all rows is solved
    #[arg(long, value_name = "HOW", conflicts_with_all = ["rank", "accuracy"], help_heading = "The model")]
    pub solver: Option<SolverArgument>,
    /// What is minimised: loo, kfold:10, gcv, …; see `mercer list criteria`
    #[arg(long, value_name = "SPEC", value_parser = criterion, help_heading = "Choosing")]
    pub criterion: Option<Criterion>,
    #[command(flatten)]
    pub shown: OutputOptions,
    #[command(flatten)]
    pub reading: TableOptions,
}

/// A command line of nothing but a fit's options.
#[derive(Debug, Parser)]
struct Line {
    #[command(flatten)]
    fit: FitOptions,
}

impl PlanOptions {
    /// The same options as `mercer fit` would have them.
    pub fn to_fit_options(&self) -> FitOptions {
        let defaults = Line::parse_from(["fit", "-"]).fit;
        FitOptions {
            table: self.table.clone(),
            columns: self.columns.clone(),
            kernel: self.kernel.clone(),
            exponent: self.exponent.clone(),
            lambda: self.lambda.clone(),
            scale: self.scale,
            losses: self.losses.clone(),
            rows: self.rows.clone(),
            rank: self.rank,
            accuracy: self.accuracy,
            exact: self.exact,
            solver: self.solver,
            criterion: self.criterion.clone(),
            ..defaults
        }
    }
}
