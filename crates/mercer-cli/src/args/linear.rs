//! The options of penalties other than a power of the norm, and of constraints in the place of a penalty.

use clap::Args;
use mercer::penalty::Penalty;

/// What keeps f simple.
#[derive(Debug, Clone, Args)]
pub struct PenaltyOptions {
    /// norm-power (the default: λ‖f‖ᵐ with --exponent m), none, lasso, elastic-net(ratio=0.5),
    /// tikhonov(gamma=first-differences) or kernel-lasso; all but the first for the squared loss. See `mercer list penalties`
    #[arg(long, value_name = "SPEC", value_parser = penalty, help_heading = "Penalties")]
    pub penalty: Option<Penalty>,
    /// The matrix Γ of a tikhonov penalty λ‖Γw‖²: a table of numbers with one column per coefficient
    #[arg(long, value_name = "FILE", help_heading = "Penalties")]
    pub gamma: Option<String>,
    /// In the place of λ: the least training error among functions with ‖f‖ of at most this (Ivanov's form)
    #[arg(long, value_name = "T", value_parser = bound, allow_negative_numbers = true, conflicts_with = "lambda", help_heading = "Penalties")]
    pub norm_at_most: Option<f64>,
    /// In the place of λ: the least ‖f‖ among functions whose training RMSE is at most this (Morozov's form)
    #[arg(long, value_name = "D", value_parser = bound, allow_negative_numbers = true, conflicts_with_all = ["lambda", "norm_at_most"], help_heading = "Penalties")]
    pub train_error_at_most: Option<f64>,
}

fn penalty(spec: &str) -> Result<Penalty, mercer::Error> {
    Penalty::parse(spec)
}

fn bound(text: &str) -> Result<f64, String> {
    let number = text.parse().ok().filter(|x: &f64| *x > 0.0 && x.is_finite());
    number.ok_or_else(|| "it must be a number above 0".into())
}

impl PenaltyOptions {
    /// A penalty that only a linear fit has.
    pub fn of_linear_fit(&self) -> Option<&Penalty> {
        self.penalty.as_ref().filter(|penalty| **penalty != Penalty::NormPower)
    }
}
