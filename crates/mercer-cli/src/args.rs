//! Every option, with the sentence that explains it.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use mercer::data::{Missing, Scale, TextAs};
use mercer::kernel::{self, SharedKernel};
use mercer_io::{Format, ReadOptions};

/// Regularised regression in kernel spaces: exact, for every exponent, with a certificate on every answer.
///
/// Mercer minimises (1/n) Σ (y − f(x) − b)² + λ‖f‖ᵐ over the functions f of a kernel's space and an offset b.
/// Exponent m = 2 is kernel ridge regression. λ is chosen by exact leave-one-out unless you give one.
///
///   mercer demo                                             see it work
///   mercer fit table.csv --target y --output m.mercer       fit and keep the model
///   mercer predict m.mercer new.csv > predicted.csv         use it
#[derive(Debug, Parser)]
#[command(name = "mercer", version, verbatim_doc_comment, propagate_version = true, subcommand_required = true, after_help = EXIT_CODES)]
pub struct Arguments {
    #[command(flatten)]
    pub common: Common,
    #[command(subcommand)]
    pub command: Command,
}

const EXIT_CODES: &str =
    "Exit codes: 0 done, 1 data or model error, 2 usage, 3 finished without certificate, 130 interrupted.";

/// Options of every command.
#[derive(Debug, Args)]
pub struct Common {
    /// Threads to use (default: all cores); the results are the same bits for any number
    #[arg(long, global = true, value_parser = at_least_one, value_name = "N")]
    pub threads: Option<usize>,
    /// Seed of everything that draws random numbers
    #[arg(long, global = true, default_value_t = 1, value_name = "K")]
    pub seed: u64,
    /// Say nothing but errors (and what was asked for)
    #[arg(long, short, global = true)]
    pub quiet: bool,
    /// Say more: the method, its memory and times
    #[arg(long, short, global = true, conflicts_with = "quiet")]
    pub verbose: bool,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Fit a model to a table
    Fit(Box<FitOptions>),
    /// Predict with a saved model: adds a column `prediction` to a table
    Predict(PredictOptions),
    /// Show what a model file holds
    Inspect(InspectOptions),
    /// Generate a data set from a formula
    Generate(GenerateOptions),
    /// Generate data, fit, predict and draw: everything in a few seconds
    Demo,
    /// List the kernels with their formulas and parameters
    Kernels,
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

/// How a table file is read.
#[derive(Debug, Args)]
#[command(next_help_heading = "Reading the table")]
pub struct TableOptions {
    /// csv, parquet, arrow or libsvm (default: by name and content)
    #[arg(long, value_name = "FORMAT", value_parser = file_format)]
    pub format: Option<Format>,
    /// The character between cells of a CSV file, or "tab" (default: found by itself)
    #[arg(long, value_name = "CHAR", value_parser = separator)]
    pub separator: Option<u8>,
    /// The decimal mark of a CSV file
    #[arg(long, value_name = "MARK", default_value = "point")]
    pub decimal: Decimal,
    /// The CSV file has no header; its columns are called x1, x2, …
    #[arg(long)]
    pub no_header: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Decimal {
    Point,
    Comma,
}

impl TableOptions {
    pub fn to_read_options(&self) -> ReadOptions {
        ReadOptions {
            format: self.format,
            separator: self.separator,
            decimal_comma: self.decimal == Decimal::Comma,
            header: self.no_header.then_some(false),
            memory_limit: Some(mercer::plan::available_memory()),
        }
    }
}

/// Fit a model to a table.
///
/// Examples:
///
///   mercer fit concrete.csv --target strength
///   mercer fit concrete.csv --target strength --exponent 1.5 --lambda 0.01 --json
///   mercer fit concrete.csv --target strength --kernel "0.5*linear + gaussian(lengthscale=median)"
///   mercer fit concrete.csv --target strength --kernel additive-spline --output concrete.mercer
///   cat table.csv | mercer fit - --target y
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub struct FitOptions {
    /// The table: CSV (any separator, also gzipped), Parquet, Arrow IPC or LIBSVM text; - is standard input
    pub table: String,
    /// The column to predict; several, separated by commas, share one decomposition
    #[arg(long, short, value_name = "NAME", required = true)]
    pub target: Vec<String>,
    /// Columns to predict from, separated by commas (default: all others)
    #[arg(long, value_name = "NAMES", conflicts_with = "drop")]
    pub features: Option<Vec<String>>,
    /// Columns to leave out, separated by commas
    #[arg(long, value_name = "NAMES")]
    pub drop: Vec<String>,
    /// Column of row weights, at least 0: weight 2 counts like the row twice
    #[arg(long, value_name = "NAME")]
    pub weight: Option<String>,
    /// Columns of numbers that are names of categories
    #[arg(long, value_name = "NAMES")]
    pub categorical: Vec<String>,

    /// The kernel, as a spec such as gaussian(lengthscale=1.5); see `mercer kernels`
    #[arg(long, short, value_name = "SPEC", default_value = "gaussian", value_parser = parse_kernel, help_heading = "The model")]
    pub kernel: KernelArgument,
    /// m in the penalty λ‖f‖ᵐ, any number above 0
    #[arg(long, short = 'm', value_name = "M", default_value_t = 2.0, value_parser = exponent, allow_negative_numbers = true, help_heading = "The model")]
    pub exponent: f64,
    /// λ in the penalty (default: the λ with the least exact leave-one-out error)
    #[arg(long, short, value_name = "L", value_parser = positive, allow_negative_numbers = true, help_heading = "The model")]
    pub lambda: Option<f64>,
    /// Without the offset b
    #[arg(long, help_heading = "The model")]
    pub no_offset: bool,
    /// How numbers are scaled (default: standard; unit for splines; none for precomputed)
    #[arg(long, value_name = "HOW", help_heading = "The model")]
    pub scale: Option<ScaleArgument>,
    /// How text columns are read
    #[arg(long, value_name = "HOW", default_value = "one-hot", help_heading = "The model")]
    pub text: TextArgument,
    /// With several targets: one effective ridge for all instead of one each
    #[arg(long, help_heading = "The model")]
    pub shared_ridge: bool,
    /// What is done about missing cells
    #[arg(long, value_name = "HOW", default_value = "error", help_heading = "The model")]
    pub missing: MissingArgument,

    /// Save the model to this file (- is standard output)
    #[arg(long, short, value_name = "MODEL")]
    pub output: Option<String>,
    /// Print one JSON object instead of a report
    #[arg(long)]
    pub json: bool,
    /// Coefficients only: no leave-one-out, no degrees of freedom (saves time with many rows and a given λ)
    #[arg(long, requires = "lambda")]
    pub no_diagnostics: bool,
    /// Memory that may be used, such as 2G or 500M (default: what is available)
    #[arg(long, value_name = "BYTES", value_parser = byte_count)]
    pub memory: Option<u64>,
    #[command(flatten)]
    pub reading: TableOptions,
}

/// Predict with a saved model.
#[derive(Debug, Args)]
pub struct PredictOptions {
    /// The model file
    pub model: String,
    /// The table with the model's feature columns; - is standard input
    pub table: String,
    /// Where the table with predictions goes; the name tells the format (default: CSV to standard output)
    #[arg(long, short, value_name = "FILE", default_value = "-")]
    pub output: String,
    /// The name of the added column (with several targets: followed by _TARGET)
    #[arg(long, value_name = "NAME", default_value = "prediction")]
    pub name: String,
    /// Print one JSON object with the predictions instead of a table
    #[arg(long, conflicts_with = "output")]
    pub json: bool,
    #[command(flatten)]
    pub reading: TableOptions,
}

/// Show what a model file holds.
#[derive(Debug, Args)]
pub struct InspectOptions {
    /// The model file
    pub model: String,
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
}

/// Generate a data set from a formula.
#[derive(Debug, Args)]
pub struct GenerateOptions {
    /// friedman1, friedman2, friedman3, sinc or quadratic
    #[arg(value_parser = generator)]
    pub name: &'static mercer::synthetic::Generator,
    /// Number of rows
    #[arg(long, value_name = "N", default_value_t = 200, value_parser = row_count)]
    pub rows: usize,
    /// Standard deviation of the noise added to y
    #[arg(long, value_name = "S", default_value_t = 0.0, value_parser = noise)]
    pub noise: f64,
    /// Where the table goes; the name tells the format (default: CSV to standard output)
    #[arg(long, short, value_name = "FILE", default_value = "-")]
    pub output: String,
}

/// A kernel that clap can carry.
#[derive(Debug, Clone)]
pub struct KernelArgument(pub SharedKernel);

fn parse_kernel(spec: &str) -> Result<KernelArgument, mercer::Error> {
    kernel::parse(spec).map(KernelArgument)
}

fn generator(name: &str) -> Result<&'static mercer::synthetic::Generator, mercer::Error> {
    mercer::synthetic::generator(name)
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum ScaleArgument {
    /// Mean 0, standard deviation 1
    Standard,
    /// From 0 to 1 on the training rows
    Unit,
    /// As they are
    None,
}

impl From<ScaleArgument> for Scale {
    fn from(argument: ScaleArgument) -> Self {
        match argument {
            ScaleArgument::Standard => Scale::Standard,
            ScaleArgument::Unit => Scale::Unit,
            ScaleArgument::None => Scale::None,
        }
    }
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum MissingArgument {
    /// Refuse, naming row and column
    Error,
    /// Leave the row out
    Drop,
    /// Put the column's mean in their place
    Mean,
}

impl From<MissingArgument> for Missing {
    fn from(argument: MissingArgument) -> Self {
        match argument {
            MissingArgument::Error => Missing::Error,
            MissingArgument::Drop => Missing::Drop,
            MissingArgument::Mean => Missing::Mean,
        }
    }
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum TextArgument {
    /// One feature of 0 and 1 per category
    OneHot,
    /// Compared by the kernel `equality`
    Equality,
}

impl From<TextArgument> for TextAs {
    fn from(argument: TextArgument) -> Self {
        match argument {
            TextArgument::OneHot => TextAs::OneHot,
            TextArgument::Equality => TextAs::Equality,
        }
    }
}

fn number(text: &str, must: &str, holds: impl Fn(f64) -> bool) -> Result<f64, String> {
    text.parse().ok().filter(|x| holds(*x)).ok_or_else(|| format!("it must be {must}"))
}

fn exponent(text: &str) -> Result<f64, String> {
    number(text, "a number above 0 (from 0.001 to 1000)", |x| (1e-3..=1000.0).contains(&x))
}

fn positive(text: &str) -> Result<f64, String> {
    number(text, "a number above 0 (from 1e-290 to 1e290)", |x| (1e-290..=1e290).contains(&x))
}

fn noise(text: &str) -> Result<f64, String> {
    number(text, "a number of at least 0", |x| x >= 0.0 && x.is_finite())
}

fn at_least_one(text: &str) -> Result<usize, String> {
    text.parse()
        .ok()
        .filter(|n| (1..=1024).contains(n))
        .ok_or_else(|| "it must be a whole number from 1 to 1024".into())
}

fn row_count(text: &str) -> Result<usize, String> {
    text.parse()
        .ok()
        .filter(|n| (1..=100_000_000).contains(n))
        .ok_or_else(|| "it must be a whole number from 1 to 100,000,000".into())
}

fn separator(text: &str) -> Result<u8, String> {
    match text.as_bytes() {
        b"tab" | b"\\t" => Ok(b'\t'),
        [byte] if byte.is_ascii() && !byte.is_ascii_alphanumeric() && *byte != b'"' => Ok(*byte),
        _ => Err("it must be one character that is no letter, digit or quote, or \"tab\"".into()),
    }
}

fn file_format(text: &str) -> Result<Format, String> {
    match text {
        "csv" | "tsv" => Ok(Format::Csv),
        "parquet" => Ok(Format::Parquet),
        "arrow" => Ok(Format::Arrow),
        "libsvm" => Ok(Format::Libsvm),
        _ => Err("known formats: csv, parquet, arrow, libsvm".into()),
    }
}

/// `2G`, `500M`, `1.5GiB` or plain bytes.
fn byte_count(text: &str) -> Result<u64, String> {
    let trimmed = text.trim_end_matches(['B', 'b']).trim_end_matches('i');
    let (digits, unit) = match trimmed.chars().last() {
        Some(c) if c.is_ascii_alphabetic() => (&trimmed[..trimmed.len() - 1], c.to_ascii_uppercase()),
        _ => (trimmed, ' '),
    };
    let factor = match unit {
        ' ' => 1.0,
        'K' => 1024.0,
        'M' => 1024.0 * 1024.0,
        'G' => 1024.0 * 1024.0 * 1024.0,
        'T' => 1024.0 * 1024.0 * 1024.0 * 1024.0,
        _ => f64::NAN,
    };
    let bytes = digits.trim().parse::<f64>().map_or(f64::NAN, |x| x * factor);
    if bytes >= 1.0 { Ok(bytes as u64) } else { Err("it must be a number of bytes such as 2G or 500M".into()) }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        super::Arguments::command().debug_assert();
    }

    #[test]
    fn bytes_are_read_as_people_write_them() {
        assert_eq!(super::byte_count("2G"), Ok(2 << 30));
        assert_eq!(super::byte_count("500MiB"), Ok(500 << 20));
        assert_eq!(super::byte_count("1000"), Ok(1000));
        assert!(super::byte_count("many").is_err() && super::byte_count("-1G").is_err());
    }
}
