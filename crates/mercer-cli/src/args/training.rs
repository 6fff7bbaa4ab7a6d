//! Options of what is read off the training rows once more: intervals and standard errors.

use clap::{Args, ValueEnum};

use super::values::{fold_count, level};

/// Where the training rows come from, if the model does not hold them.
#[derive(Debug, Args)]
pub struct TrainingOptions {
    /// The training table, for models that do not hold their rows (linear ones, those on landmarks, and files of older versions)
    #[arg(long, value_name = "FILE", help_heading = "The training rows")]
    pub data: Option<String>,
    /// The column of row weights in the training table, if the fit had some
    #[arg(long, value_name = "NAME", requires = "data", help_heading = "The training rows")]
    pub weight: Option<String>,
    /// The column of groups in the training table, if the fit had some
    #[arg(long, value_name = "NAME", requires = "data", help_heading = "The training rows")]
    pub group: Option<String>,
}

/// Prediction intervals.
#[derive(Debug, Args)]
pub struct IntervalOptions {
    /// Add the interval that holds this share of new rows, such as 0.9: `prediction_lower`, `prediction_upper`
    #[arg(long, value_name = "LEVEL", value_parser = level, help_heading = "Intervals")]
    pub interval: Option<f64>,
    /// How intervals are made: from the fits without each row, from the fits without each fold, or by a Gaussian process
    #[arg(
        long,
        alias = "method",
        value_name = "METHOD",
        default_value = "jackknife+",
        requires = "interval",
        help_heading = "Intervals"
    )]
    pub interval_method: IntervalMethod,
    /// Folds of cv+, drawn with --seed
    #[arg(long, value_name = "K", default_value_t = 10, value_parser = fold_count, requires = "interval", help_heading = "Intervals")]
    pub folds: usize,
    #[command(flatten)]
    pub training: TrainingOptions,
}

/// How intervals are made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum IntervalMethod {
    /// From the fits without each row
    #[value(name = "jackknife+")]
    Jackknife,
    /// From the fits without each fold
    #[value(name = "cv+")]
    CrossValidation,
    /// From the posterior of a Gaussian process
    GaussianProcess,
}
