//! The options of losses other than the squared one, and of classes.

use clap::{Args, ValueEnum};
use mercer::learn::{ClassWeights, ManyClasses, Measure};
use mercer::loss::SharedLoss;
use mercer::range;

use crate::learn::aliases::{self, Alias};

/// The losses that one spec stands for: choices if it has ranges, each with one loss per model.
#[derive(Debug, Clone)]
pub struct LossArgument(pub Vec<Vec<SharedLoss>>);

/// Weights of classes, by rule or by name.
#[derive(Debug, Clone, PartialEq)]
pub struct ClassWeightArgument(pub ClassWeights);

/// What a prediction costs, and classes.
#[derive(Debug, Clone, Args)]
pub struct LossOptions {
    /// What a prediction costs: squared, absolute, huber(threshold=0.5), pinball(quantile=0.9), hinge, logistic, …; see
    /// `mercer list losses`. Numbers may be ranges: epsilon-insensitive(epsilon=0.01..1:5)
    #[arg(long, value_name = "SPEC", value_parser = losses, help_heading = "Losses and classes")]
    pub loss: Option<LossArgument>,
    /// A method by the name it goes by, short for --loss, --kernel and --penalty: ridge, krr, svr, huber, quantile,
    /// svm, logistic, ols, lasso, elastic-net, tikhonov
    #[arg(long, value_name = "NAME", value_parser = aliases::find, help_heading = "Losses and classes")]
    pub method: Option<&'static Alias>,
    /// Read the target as classes also with a loss for numbers (on labels −1 and 1)
    #[arg(long, help_heading = "Losses and classes")]
    pub classify: bool,
    /// What is done about more than two classes
    #[arg(long, value_name = "HOW", help_heading = "Losses and classes")]
    pub many_classes: Option<ManyClassesArgument>,
    /// balanced, or weights by name such as "yes=3,no=1" (not named: 1)
    #[arg(long, value_name = "WEIGHTS", value_parser = class_weights, allow_hyphen_values = true, help_heading = "Losses and classes")]
    pub class_weight: Option<ClassWeightArgument>,
    /// Calibrate probabilities on held-out rows, for losses that state none (all but logistic)
    #[arg(long, help_heading = "Losses and classes")]
    pub probability: bool,
    /// Sort the quantiles of every prediction, so that they never cross
    #[arg(long, help_heading = "Losses and classes")]
    pub non_crossing: bool,
    /// The duality gap of the answer, as a share of its objective (default: 1e-6); where conjugate gradients solve (--solver
    /// conjugate-gradients, --exact beyond memory, thousands of landmarks) the error of predictions, as a share of the target's spread
    /// (default: 1e-8)
    #[arg(long, value_name = "GAP", value_parser = tolerance, allow_negative_numbers = true, help_heading = "Losses and classes")]
    pub tolerance: Option<f64>,
    /// What held-out rows are judged by: loss, error (share of wrong classes), absolute or squared
    #[arg(long, value_name = "NAME", value_parser = measure, help_heading = "Losses and classes")]
    pub measure: Option<Measure>,
    /// Judge every point on every fold. Without it, points that are clearly worse than the best on the same held-out rows are
    /// dropped before all folds have judged them, where there are rows enough to tell; --table and --json say which
    #[arg(long, help_heading = "Losses and classes")]
    pub every_point: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ManyClassesArgument {
    /// One model per class against all others
    OneVsRest,
    /// One model for all, with the logistic loss
    Multinomial,
}

impl From<ManyClassesArgument> for ManyClasses {
    fn from(argument: ManyClassesArgument) -> Self {
        match argument {
            ManyClassesArgument::OneVsRest => ManyClasses::OneVersusRest,
            ManyClassesArgument::Multinomial => ManyClasses::Multinomial,
        }
    }
}

fn losses(spec: &str) -> Result<LossArgument, mercer::Error> {
    range::losses(spec).map(LossArgument)
}

fn measure(name: &str) -> Result<Measure, mercer::Error> {
    Measure::parse(name)
}

fn tolerance(text: &str) -> Result<f64, String> {
    let gap = text.parse().ok().filter(|gap| (1e-13..=0.1).contains(gap));
    gap.ok_or_else(|| "it must be a number from 1e-13 to 0.1".into())
}

/// `balanced`, or `yes=3,no=1`; names may have "=" in them, the last one counts.
fn class_weights(text: &str) -> Result<ClassWeightArgument, String> {
    if text == "balanced" {
        return Ok(ClassWeightArgument(ClassWeights::Balanced));
    }
    let must = || "it must be balanced, or weights above 0 by name such as yes=3,no=1".to_owned();
    let mut named: Vec<(String, f64)> = Vec::new();
    for part in text.split(',') {
        let (name, weight) = part.rsplit_once('=').ok_or_else(must)?;
        let weight = weight.trim().parse().ok().filter(|w: &f64| *w > 0.0 && *w <= 1e30).ok_or_else(must)?;
        let name = name.trim().to_owned();
        if named.iter().any(|(known, _)| *known == name) {
            return Err(format!("the class {name:?} stands twice in it"));
        }
        named.push((name, weight));
    }
    Ok(ClassWeightArgument(ClassWeights::Named(named)))
}

impl LossOptions {
    /// Whether the loss is (r²), said or not.
    pub fn is_squared(&self) -> bool {
        self.loss.as_ref().is_none_or(|argument| argument.0.iter().flatten().all(|loss| loss.spec() == "squared"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn class_weights_are_read_as_people_write_them() {
        assert_eq!(class_weights("balanced").unwrap().0, ClassWeights::Balanced);
        let named = class_weights("yes=3, a=b=0.5").unwrap().0;
        assert_eq!(named, ClassWeights::Named(vec![("yes".into(), 3.0), ("a=b".into(), 0.5)]));
        for wrong in ["", "yes", "yes=", "yes=0", "yes=-1", "yes=nan", "yes=1,", "yes=1,yes=2", "yes=1e99"] {
            assert!(class_weights(wrong).is_err(), "{wrong}");
        }
        assert!(tolerance("1e-8").is_ok() && tolerance("0").is_err() && tolerance("x").is_err());
    }
}
