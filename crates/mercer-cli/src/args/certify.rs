//! The options of `mercer certify`.

use clap::Args;
use mercer::loss::{self, Reads, SharedLoss};

use super::table::{ColumnOptions, OutputOptions, RowOptions, TableOptions};
use super::values::{KernelArgument, ScaleArgument, exponent, kernels, noise, number};

/// Show how stable a fit is and what can be said of its risk with a confidence
///
/// The fit is made without an offset, since no theorem here covers one; --center subtracts a number instead. Stability:
/// how much the squared loss at a point changes when one row is left out, observed by exact deletions beside what is
/// proved for every exponent above 1. Bounds: Rademacher's and stability's, each with a word on whether it says anything.
/// Given a model of `mercer fit`, its own rows, kernel, exponent and λ are certified.
///
/// Examples:
///
///   mercer certify concrete.csv --target strength
///   mercer certify concrete.csv --target strength --exponent 3 --lambda 1e-3 --target-at-most 100
///   mercer certify m.mercer --confidence 0.99
///   mercer certify t.csv --target y --loss "epsilon-insensitive(epsilon=0.5)"
///   mercer certify t.csv --target y --style latex > table.tex
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub struct CertifyOptions {
    /// The table (CSV, Parquet, Arrow IPC or LIBSVM text; - is standard input), or a model file
    pub file: String,
    #[command(flatten)]
    pub columns: ColumnOptions,

    /// The kernel, as a spec such as gaussian(lengthscale=1.5); with ranges: the best; see `mercer list kernels`
    #[arg(long, short, value_name = "SPEC", value_parser = kernels, help_heading = "The model")]
    pub kernel: Option<KernelArgument>,
    /// m in the penalty λ‖f‖ᵐ, any number above 0 (default: 2)
    #[arg(long, short = 'm', value_name = "M", value_parser = exponent, allow_negative_numbers = true, help_heading = "The model")]
    pub exponent: Option<f64>,
    /// λ (default: chosen by held-out rows, exact leave-one-out for the squared loss)
    #[arg(long, short, value_name = "NUMBER", value_parser = lambda, allow_negative_numbers = true, help_heading = "The model")]
    pub lambda: Option<f64>,
    /// What a prediction costs: squared (default), epsilon-insensitive(epsilon=0.1), squared-epsilon-insensitive, absolute, …
    #[arg(long, value_name = "SPEC", value_parser = one_loss, help_heading = "Losses and classes")]
    pub loss: Option<SharedLoss>,
    /// How numbers are scaled (default: standard; unit for splines; none for precomputed)
    #[arg(long, value_name = "HOW", help_heading = "The model")]
    pub scale: Option<ScaleArgument>,
    #[command(flatten)]
    pub rows: RowOptions,

    /// The probability with which each bound holds
    #[arg(long, value_name = "P", default_value_t = 0.95, value_parser = probability, allow_negative_numbers = true)]
    pub confidence: f64,
    /// Bound the ε-insensitive loss of the same function and its square too, with this ε in units of the target
    #[arg(long, value_name = "E", value_parser = noise, allow_negative_numbers = true)]
    pub epsilon: Option<f64>,
    /// |y| never exceeds this, for any row there can be, after --center (default: the largest of the table stands for it)
    #[arg(long, value_name = "NUMBER", value_parser = noise, allow_negative_numbers = true)]
    pub target_at_most: Option<f64>,
    /// Subtract this number from the target; it must not come from the table
    #[arg(long, visible_alias = "centre", value_name = "NUMBER", default_value_t = 0.0, value_parser = finite, allow_negative_numbers = true)]
    pub center: f64,
    #[command(flatten)]
    pub shown: OutputOptions,
    #[command(flatten)]
    pub reading: TableOptions,
}

fn lambda(text: &str) -> Result<f64, String> {
    number(text, "a number above 0 (from 1e-290 to 1e290)", |x| (1e-290..=1e290).contains(&x))
}

fn probability(text: &str) -> Result<f64, String> {
    number(text, "a number between 0 and 1, such as 0.95", |x| x > 0.0 && x < 1.0)
}

fn finite(text: &str) -> Result<f64, String> {
    number(text, "a finite number", f64::is_finite)
}

fn one_loss(spec: &str) -> Result<SharedLoss, String> {
    let losses = loss::parse(spec).map_err(|error| error.to_string())?;
    match &losses[..] {
        [loss] if loss.reads() == Reads::Number => Ok(loss.clone()),
        _ => Err("it must be one loss of numbers, such as squared or epsilon-insensitive(epsilon=0.1)".into()),
    }
}
