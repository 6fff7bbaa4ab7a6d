//! The options of `mercer moments`, `mercer merge` and `mercer update`.

use clap::Args;

use super::table::{ColumnOptions, TableOptions};
use super::values::{
    KernelArgument, LandmarksArgument, MissingArgument, ScaleArgument, fold_count, kernels, row_count,
};

/// Gather what a fit needs of tables that are larger than memory
///
/// A first pass over the tables draws a sample, which decides the scaling, the kernel's numbers and the landmarks; a second pass
/// adds up the sums of every fold. What comes out has the size of landmarks², whatever the number of rows, and merges with what
/// other machines gathered with the same landmarks (--like). CSV and Parquet files are never in memory as a whole.
///
/// Examples:
///
///   mercer moments big.parquet --target y --landmarks 500 --output all.moments
///   mercer fit all.moments --exponent 0.1..2.9:0.1 --lambda 1e-7..1e3:25 --output m.mercer
///
/// Random waves in the place of landmarks:
///
///   mercer moments big.parquet --target y --kernel matern32 --fourier 1000 --output all.moments
///
/// On two machines:
///
///   mercer moments first.csv --target y --output first.moments
///   mercer moments second.csv --like first.moments --output second.moments
///   mercer merge first.moments second.moments --output all.moments
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub struct MomentsOptions {
    /// The tables: files of the same columns, or folders of them
    #[arg(required = true)]
    pub tables: Vec<String>,
    #[command(flatten)]
    pub columns: ColumnOptions,

    /// Landmarks, scaling, folds and targets of these moments, so that both can be merged
    #[arg(long, value_name = "MOMENTS", conflicts_with_all = ["target", "features", "drop", "categorical", "kernel", "landmarks", "landmarks_by", "fourier", "folds", "sample", "scale", "missing"])]
    pub like: Option<String>,
    /// The kernel, as a spec such as gaussian(lengthscale=1.5); see `mercer list kernels`
    #[arg(long, short, value_name = "SPEC", default_value = "gaussian", value_parser = kernels, help_heading = "The model")]
    pub kernel: KernelArgument,
    /// Landmarks: f is a sum over them
    #[arg(long, value_name = "R", default_value_t = 500, value_parser = row_count, help_heading = "The model")]
    pub landmarks: usize,
    /// How landmarks are chosen from the sample (default: kmeans, unless another is clearly better on a part of it)
    #[arg(long, value_name = "HOW", help_heading = "The model")]
    pub landmarks_by: Option<LandmarksArgument>,
    /// Random Fourier features in the place of landmarks: this many waves, for radial kernels
    ///
    /// They need no sample to choose from and say nothing of what they leave of the kernel; at the same number landmarks are
    /// nearly always the better choice.
    #[arg(long, value_name = "R", value_parser = row_count, conflicts_with_all = ["landmarks", "landmarks_by"], help_heading = "The model")]
    pub fourier: Option<usize>,
    /// Folds by which exponent and λ can be chosen
    #[arg(long, value_name = "K", default_value_t = 5, value_parser = fold_count, help_heading = "The model")]
    pub folds: usize,
    /// Rows of the sample
    #[arg(long, value_name = "N", default_value_t = 20_000, value_parser = row_count, help_heading = "The model")]
    pub sample: usize,
    /// How numbers are scaled, by the sample (default: standard; unit for splines)
    #[arg(long, value_name = "HOW", help_heading = "The model")]
    pub scale: Option<ScaleArgument>,
    /// What is done about missing cells
    #[arg(long, value_name = "HOW", default_value = "error", help_heading = "The model")]
    pub missing: MissingArgument,

    /// Save the moments to this file
    #[arg(long, short, value_name = "FILE", help_heading = "Output")]
    pub output: String,
    /// Print one JSON object instead of a report
    #[arg(long, help_heading = "Output")]
    pub json: bool,
    #[command(flatten)]
    pub reading: TableOptions,
}

/// Add up moments that were gathered with the same landmarks
///
/// Example:
///
///   mercer merge first.moments second.moments third.moments --output all.moments
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub struct MergeOptions {
    /// Files of moments
    #[arg(required = true, num_args = 2..)]
    pub files: Vec<String>,
    /// Save the sum to this file
    #[arg(long, short, value_name = "FILE", help_heading = "Output")]
    pub output: String,
    /// Print one JSON object instead of a report
    #[arg(long, help_heading = "Output")]
    pub json: bool,
}

/// Add new rows to saved moments, without rereading the old rows
///
/// Adds the rows of tables to moments and chooses λ again. `mercer predict` takes a file of moments as it takes a model.
///
/// Examples:
///
///   mercer update all.moments today.csv
///   mercer update all.moments today.csv --output tomorrow.moments
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub struct UpdateOptions {
    /// The file of moments
    pub moments: String,
    /// The tables with the new rows
    #[arg(required = true)]
    pub tables: Vec<String>,
    /// Column of row weights (default: the one that the moments were gathered with)
    #[arg(long, value_name = "NAME")]
    pub weight: Option<String>,
    /// Save the result to this file (default: in the place of the old one)
    #[arg(long, short, value_name = "FILE", help_heading = "Output")]
    pub output: Option<String>,
    /// Print one JSON object instead of a report
    #[arg(long, help_heading = "Output")]
    pub json: bool,
    #[command(flatten)]
    pub reading: TableOptions,
}
