//! Every option, with the sentence that explains it.

mod certify;
mod compare;
mod effects;
mod equivalence;
mod experiment;
mod export;
mod fit;
pub mod help;
pub mod line;
mod linear;
mod loss;
mod moments;
mod path;
mod plan;
mod stream;
mod table;
mod training;
mod values;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

pub use certify::CertifyOptions;
pub use compare::CompareOptions;
pub use effects::{EffectsOn, EffectsOptions};
pub use equivalence::{DistanceOptions, EquivalenceOptions};
pub use experiment::{Chosen, ExperimentOptions};
pub use export::{ExportOptions, PrecisionArgument};
pub use fit::FitOptions;
pub use loss::{ClassWeightArgument, LossArgument, ManyClassesArgument};
pub use moments::{MergeOptions, MomentsOptions, UpdateOptions};
pub use path::PathOptions;
pub use plan::PlanOptions;
pub use stream::StreamOptions;
pub use table::{ColumnOptions, RowOptions, TableOptions};
pub use training::{IntervalMethod, IntervalOptions, TrainingOptions};
pub use values::{KernelArgument, MissingArgument, ScaleArgument, SolverArgument, Style, TextArgument};

use values::{noise, row_count, thread_count};

/// Regularised regression and classification in kernel spaces, with a certificate on every answer.
///
/// Mercer minimises (1/n) Σ (y − f(x) − b)² + λ‖f‖ᵐ over the functions f of a kernel's space and an offset b, exactly.
/// Exponent m = 2 is kernel ridge regression. What you do not give is chosen: kernel, metric, exponent and λ.
/// With --loss the square may be any loss of `mercer list losses`: support vectors, quantiles, classes.
///
///   mercer demo                                             see it work
///   mercer fit table.csv --target y --output m.mercer       fit and keep the model
///   mercer predict m.mercer new.csv > predicted.csv         use it
///   mercer fit table.csv --target kind --loss logistic      classes and their probabilities
///   mercer path table.csv --target y                        everything along λ
///   mercer plan table.csv --target y                        what every method would take here
///   mercer compare table.csv --target y                     methods side by side on the same folds
///   mercer experiment                                       the papers' experiments, done again
///   mercer certify table.csv --target y                     how much one row matters; what is proved of the risk
#[derive(Debug, Parser)]
#[command(name = "mercer", version, verbatim_doc_comment, propagate_version = true, subcommand_required = true, after_help = EXIT_CODES)]
pub struct Arguments {
    #[command(flatten)]
    pub common: Common,
    #[command(subcommand)]
    pub command: Command,
}

const EXIT_CODES: &str = "Exit codes: 0 done, 1 data or model error, 2 usage, 3 finished without certificate, 130 interrupted, 143 by SIGTERM.";

/// Options of every command.
#[derive(Debug, Args)]
pub struct Common {
    /// Threads to use (default: all cores); the results are the same bits for any number
    #[arg(long, global = true, value_parser = thread_count, value_name = "N", help_heading = "Every command")]
    pub threads: Option<usize>,
    /// Seed of all random draws
    #[arg(long, global = true, default_value_t = 1, value_name = "K", help_heading = "Every command")]
    pub seed: u64,
    /// Print nothing but errors and the output that was asked for
    #[arg(long, short, global = true, help_heading = "Every command")]
    pub quiet: bool,
    /// Print details: the method, its memory and times
    #[arg(long, short, global = true, conflicts_with = "quiet", help_heading = "Every command")]
    pub verbose: bool,
}

// Commands with options of their own are explained there: a comment here would hide the examples.
#[derive(Debug, Subcommand)]
pub enum Command {
    Fit(Box<FitOptions>),
    Predict(PredictOptions),
    Effects(EffectsOptions),
    Path(Box<PathOptions>),
    Plan(Box<PlanOptions>),
    Compare(Box<CompareOptions>),
    Stream(Box<StreamOptions>),
    Moments(Box<MomentsOptions>),
    Merge(MergeOptions),
    Update(UpdateOptions),
    Equivalence(Box<EquivalenceOptions>),
    Distance(DistanceOptions),
    Experiment(ExperimentOptions),
    Certify(Box<CertifyOptions>),
    Export(ExportOptions),
    Inspect(InspectOptions),
    Generate(GenerateOptions),
    /// Generate data, fit, predict and draw: everything in a few seconds
    Demo,
    List(ListOptions),
    // The four lists under the names that they had as commands of their own.
    #[command(hide = true)]
    Kernels,
    #[command(hide = true)]
    Losses,
    #[command(hide = true)]
    Penalties,
    #[command(hide = true)]
    Criteria,
    /// Print a completion script for your shell
    Completions {
        /// bash, zsh, fish, elvish or powershell
        shell: clap_complete::Shell,
    },
    /// Write man pages into a folder
    Man {
        /// The folder, which must exist
        folder: PathBuf,
    },
}

/// Predict with a saved model: adds a column `prediction` to a table
///
/// A model of classes adds the class as the training table wrote it, a model of several quantiles one column for each
/// (`prediction_q0.1`, …). If the table has the target, the error is printed too. With --interval every prediction gets the
/// two ends of an interval; see docs/intervals.md for what they promise. Rows outside the range of the training rows are
/// counted and named (models of moments and of streams do not know that range).
///
/// Tables of any size: CSV and Parquet are read, predicted and written part by part, in memory that does not grow with the
/// table (see docs/prediction.md).
///
/// Examples:
///
///   mercer predict m.mercer new.csv > predicted.csv
///   mercer predict m.mercer new.parquet --output predicted.parquet
///   zcat huge.csv.gz | mercer predict m.mercer - | gzip > predicted.csv.gz
///   mercer predict m.mercer new.csv --json
///   mercer predict m.mercer new.csv --interval 0.9
///   mercer predict linear.mercer new.csv --interval 0.95 --interval-method cv+ --folds 5 --data training.csv
///   mercer predict classes.mercer new.csv --probability --decision
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub struct PredictOptions {
    /// The model file
    pub model: String,
    /// The table with the model's feature columns; - is standard input
    pub table: String,
    /// Where the table with predictions goes; the name tells the format: .csv, .tsv, .json, .jsonl, .parquet or .arrow (default: CSV to standard output)
    #[arg(long, short, value_name = "FILE", default_value = "-", help_heading = "Output")]
    pub output: String,
    /// The name of the added column (with several targets: followed by _TARGET)
    #[arg(long, value_name = "NAME", default_value = "prediction", help_heading = "Output")]
    pub name: String,
    /// Add the probability of every class: `probability_CLASS`
    #[arg(long, help_heading = "Output")]
    pub probability: bool,
    /// Add the values by which classes are told apart: `decision`, or `decision_CLASS` for each of more than two
    #[arg(long, help_heading = "Output")]
    pub decision: bool,
    #[command(flatten)]
    pub intervals: IntervalOptions,
    /// Print one JSON object with the predictions instead of a table
    #[arg(long, conflicts_with = "output", help_heading = "Output")]
    pub json: bool,
    #[command(flatten)]
    pub reading: TableOptions,
}

/// Show what a model file holds
///
/// Example:
///
///   mercer inspect m.mercer
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub struct InspectOptions {
    /// The model file
    pub model: String,
    /// Print one JSON object
    #[arg(long, help_heading = "Output")]
    pub json: bool,
}

/// List kernels, losses, penalties or criteria with their formulas and parameters
///
/// Without a name, all four lists are printed.
///
/// Examples:
///
///   mercer list kernels
///   mercer list losses
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub struct ListOptions {
    /// The list
    pub what: Option<Listed>,
}

/// What `mercer list` knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Listed {
    /// Kernels k(x, x′), for --kernel
    Kernels,
    /// Losses, for --loss, and the names of methods, for --method
    Losses,
    /// Penalties of linear functions, for --penalty
    Penalties,
    /// What kernel, exponent and λ are chosen by, for --criterion
    Criteria,
}

/// Generate a data set from a formula
///
/// Examples:
///
///   mercer generate friedman1 --rows 500 --noise 1 --output t.csv
///   mercer generate sinc --seed 7 | mercer fit - --target y
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub struct GenerateOptions {
    /// friedman1, friedman2, friedman3, sinc, quadratic or square
    #[arg(value_parser = generator)]
    pub name: &'static mercer_lab::synthetic::Generator,
    /// Number of rows
    #[arg(long, value_name = "N", default_value_t = 200, value_parser = row_count)]
    pub rows: usize,
    /// Standard deviation of the noise added to y
    #[arg(long, value_name = "S", default_value_t = 0.0, value_parser = noise)]
    pub noise: f64,
    /// Where the table goes; the name tells the format (default: CSV to standard output)
    #[arg(long, short, value_name = "FILE", default_value = "-", help_heading = "Output")]
    pub output: String,
}

fn generator(name: &str) -> Result<&'static mercer_lab::synthetic::Generator, mercer::Error> {
    mercer_lab::synthetic::generator(name)
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_command_line_is_consistent() {
        super::help::command().debug_assert();
    }
}
