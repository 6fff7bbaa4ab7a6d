//! The options of `mercer effects`.

use clap::{Args, ValueEnum};

use super::table::{OutputOptions, TableOptions};
use super::training::TrainingOptions;

/// Show what each column does to the prediction: average derivatives and standard errors
///
/// The effect of a column of numbers is the derivative of the prediction, in the units of the table; that of a category
/// is the difference to the first category of its column. For a model of classes the prediction is the log-odds or the decision value of the
/// class that is named; --of probability takes its probability. Averages are taken over the rows of TABLE, or over the rows that
/// the model was fitted to. --output writes the effects at every row. Standard errors hold at fixed λ; see docs/effects.md.
///
/// Examples:
///
///   mercer effects m.mercer
///   mercer effects m.mercer new.csv --output effects.csv
///   mercer effects m.mercer --style latex > table.tex
///   mercer effects classes.mercer new.csv --of probability
///   mercer effects linear.mercer --data training.csv --json
///   mercer effects m.mercer --importance --data training.csv
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub struct EffectsOptions {
    /// The model file
    pub model: String,
    /// The table at whose rows effects are taken (default: the rows of the fit); - is standard input
    pub table: Option<String>,
    /// For models of classes: effects on the decision value (log-odds with the logistic loss) or on the probability of a class
    #[arg(long, value_enum, value_name = "WHAT", default_value = "decision", conflicts_with = "importance")]
    pub of: EffectsOn,
    /// Show importance instead: how much the error of held-out rows rises when a column is permuted (needs --data)
    #[arg(long, conflicts_with = "table")]
    pub importance: bool,
    #[command(flatten)]
    pub training: TrainingOptions,
    #[command(flatten)]
    pub shown: OutputOptions,
    #[command(flatten)]
    pub reading: TableOptions,
}

/// What effects are effects on, for models of classes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum EffectsOn {
    Decision,
    Probability,
}
