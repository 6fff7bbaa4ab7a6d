//! The methods that `mercer compare` knows: one line each.

use std::time::Duration;

use mercer::assess::Predicts;
use mercer::data::{Design, Encoding, Frame, Roles, Scale};
use mercer::penalty::Penalty;
use mercer::{Fit, Model, Observer, Result, kernel, range};

use super::classes::{self, Classifier};
use super::losses;
use crate::args::RowOptions;
use crate::fit::{by_itself, named};
use crate::linear;

/// A way to learn from a table.
pub struct Method {
    pub name: &'static str,
    pub about: &'static str,
    pub learn: Learns,
}

/// What it predicts, and how.
pub enum Learns {
    Numbers(fn(&Task<'_>) -> Result<Learned>),
    /// The same, but only if it is asked for.
    OnRequest(fn(&Task<'_>) -> Result<Learned>),
    Classes(fn(&Task<'_>) -> Result<Classifier>),
}
use Learns::{Classes, Numbers, OnRequest};

impl std::fmt::Debug for Method {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

/// What is learned from.
pub struct Task<'a> {
    pub training: &'a Frame,
    pub roles: &'a Roles,
    pub rows: &'a RowOptions,
    pub seed: u64,
    /// Time of the automatic search.
    pub budget: Duration,
    pub observer: Observer,
}

/// What was learned.
pub enum Learned {
    Model(Box<Model>),
    Constant(f64),
}

const METHODS: &[Method] = &[
    Method { name: "mean", about: "the training mean, for every row", learn: Numbers(mean) },
    Method { name: "ridge", about: "linear kernel", learn: Numbers(|t| by_kernel(t, "linear")) },
    Method {
        name: "least-squares",
        about: "a linear function without penalty",
        learn: Numbers(|t| t.linear(Penalty::None)),
    },
    Method { name: "lasso", about: "few coefficients, λ by ten folds", learn: Numbers(|t| t.linear(Penalty::Lasso)) },
    Method {
        name: "gaussian",
        about: "Gaussian kernel, mean-rule lengthscale",
        learn: Numbers(|t| by_kernel(t, "gaussian")),
    },
    Method { name: "gaussian-tuned", about: "the best of ten lengthscales", learn: Numbers(tuned) },
    Method { name: "matern52", about: "Matérn kernel, ν = 5/2", learn: Numbers(|t| by_kernel(t, "matern52")) },
    Method { name: "laplace", about: "Laplace kernel", learn: Numbers(|t| by_kernel(t, "laplace")) },
    Method {
        name: "additive-spline",
        about: "splines, one per feature",
        learn: Numbers(|t| by_kernel(t, "additive-spline")),
    },
    Method {
        name: "additive-spline-fpe",
        about: "the same, λ by the final prediction error",
        learn: Numbers(|t| t.finish(t.fit("additive-spline")?.criterion(mercer::criterion::Criterion::parse("fpe")?))),
    },
    Method {
        name: "multiplicative-spline",
        about: "splines with all interactions",
        learn: Numbers(|t| by_kernel(t, "multiplicative-spline")),
    },
    Method {
        name: "m-power",
        about: "Gaussian kernel, exponent from 0.5 to 2.5 by leave-one-out",
        learn: Numbers(|t| t.finish(t.fit("gaussian")?.exponents(&range::stepped("exponent", "0.5..2.5:0.5")?))),
    },
    Method { name: "svr", about: "support vector regression, three ε, λ by five folds", learn: Numbers(losses::svr) },
    Method { name: "huber", about: "Huber's loss, three thresholds, λ by five folds", learn: Numbers(losses::huber) },
    Method {
        name: "absolute",
        about: "absolute loss (the median), λ by five folds",
        learn: Numbers(|t| losses::single(t, "absolute")),
    },
    Method {
        name: "quantile",
        about: "the same median as a quantile: pinball loss, λ by five folds",
        learn: OnRequest(|t| losses::single(t, "pinball(quantile=0.5)")),
    },
    Method { name: "automatic", about: "kernel, metric, exponent and λ within --budget", learn: Numbers(automatic) },
    Method { name: "majority", about: "the most frequent class, for every row", learn: Classes(classes::majority) },
    Method {
        name: "ridge-classifier",
        about: "squared loss on labels ±1",
        learn: Classes(|t| classes::by(t, "squared", "gaussian")),
    },
    Method {
        name: "linear-logistic",
        about: "logistic loss, a linear function",
        learn: Classes(|t| classes::by(t, "logistic", "linear")),
    },
    Method { name: "logistic", about: "logistic loss", learn: Classes(|t| classes::by(t, "logistic", "gaussian")) },
    Method {
        name: "svm",
        about: "hinge loss: the support vector machine",
        learn: Classes(|t| classes::by(t, "hinge", "gaussian")),
    },
    Method {
        name: "svm-squared",
        about: "squared hinge loss",
        learn: Classes(|t| classes::by(t, "squared-hinge", "gaussian")),
    },
];

/// All for numbers or all for classes, in the order of the list, but those that must be asked for.
pub fn all(of_classes: bool) -> impl Iterator<Item = &'static Method> {
    METHODS.iter().filter(move |method| match method.learn {
        Numbers(_) => !of_classes,
        Classes(_) => of_classes,
        OnRequest(_) => false,
    })
}

pub fn find(name: &str) -> std::result::Result<&'static Method, String> {
    let known = || METHODS.iter().map(|method| method.name).collect::<Vec<_>>().join(", ");
    METHODS.iter().find(|method| method.name == name.trim()).ok_or_else(|| format!("known methods: {}", known()))
}

/// For the help.
pub fn list() -> String {
    let lines = |of_classes: bool| -> String {
        let own = METHODS.iter().filter(|method| method.is_of_classes() == of_classes);
        own.map(|method| format!("  {:<24}{}\n", method.name, method.about)).collect()
    };
    format!(
        "Methods for numbers (λ by exact leave-one-out unless something else is said):\n{}\n\
         Methods for classes (Gaussian kernel unless something else is said, λ by five folds):\n{}",
        lines(false),
        lines(true).trim_end()
    )
}

impl Method {
    pub fn is_of_classes(&self) -> bool {
        matches!(self.learn, Classes(_))
    }
}

impl Predicts for Learned {
    fn predict_frame(&self, frame: &Frame) -> Result<Vec<Vec<Option<f64>>>> {
        match self {
            Learned::Model(model) => model.predict_frame(frame),
            Learned::Constant(value) => Ok(vec![vec![Some(*value); frame.rows()]]),
        }
    }
}

impl Task<'_> {
    fn fit(&self, spec: &str) -> Result<Fit> {
        Ok(named(vec![kernel::parse(spec)?], None, self.rows).seed(self.seed).observer(self.observer.clone()))
    }

    /// The training rows as a fit reads them, with all that it would refuse.
    pub fn design(&self) -> Result<Design> {
        let encoding = Encoding {
            scale: Scale::Standard,
            missing: self.rows.missing.into(),
            text_as: self.rows.text.into(),
            nonnegative: false,
        };
        Design::new(self.training, self.roles, encoding)
    }

    fn linear(&self, penalty: Penalty) -> Result<Learned> {
        let fit = linear::with(penalty, Scale::Standard, self.rows).seed(self.seed).observer(self.observer.clone());
        Ok(Learned::Model(Box::new(fit.fit_frame(self.training, self.roles)?.model)))
    }

    fn finish(&self, fit: Fit) -> Result<Learned> {
        Ok(Learned::Model(Box::new(fit.fit_frame(self.training, self.roles)?.model)))
    }
}

fn by_kernel(task: &Task<'_>, spec: &str) -> Result<Learned> {
    task.finish(task.fit(spec)?)
}

fn mean(task: &Task<'_>) -> Result<Learned> {
    let design = task.design()?;
    let weight = |row: usize| design.weights.as_ref().map_or(1.0, |weights| weights[row]);
    let total = (0..design.rows()).map(weight).sum::<f64>();
    let mean = design.y.col(0).iter().enumerate().map(|(row, y)| weight(row) / total * y).sum();
    Ok(Learned::Constant(mean))
}

/// Lengthscales from 0.25 to 8 times √features: distances between standardised rows grow like that.
fn tuned(task: &Task<'_>) -> Result<Learned> {
    let features = task.design()?.points.features().max(1) as f64;
    let factors = range::log_spaced("lengthscale", "0.25..8:10")?;
    let kernels = factors
        .iter()
        .map(|factor| kernel::parse(&format!("gaussian(lengthscale={})", factor * features.sqrt())))
        .collect::<Result<_>>()?;
    task.finish(task.fit("gaussian")?.kernels(kernels))
}

fn automatic(task: &Task<'_>) -> Result<Learned> {
    let automatic = by_itself(task.rows, task.seed).budget(task.budget).observer(task.observer.clone());
    Ok(Learned::Model(Box::new(automatic.fit_frame(task.training, task.roles)?.model)))
}
