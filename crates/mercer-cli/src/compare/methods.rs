//! The methods that `mercer compare` knows: one line each.

use std::time::Duration;

use mercer::assess::Predicts;
use mercer::data::{Design, Encoding, Frame, Roles, Scale};
use mercer::{Fit, Model, Observer, Result, kernel, range};

use crate::args::RowOptions;
use crate::fit::{by_itself, named};

/// A way to learn from a table.
pub struct Method {
    pub name: &'static str,
    pub about: &'static str,
    learn: fn(&Task<'_>) -> Result<Learned>,
}

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
    Method { name: "mean", about: "the training mean, for every row", learn: mean },
    Method { name: "ridge", about: "linear kernel, λ by leave-one-out", learn: |t| by_kernel(t, "linear") },
    Method { name: "gaussian", about: "Gaussian kernel, mean-rule lengthscale", learn: |t| by_kernel(t, "gaussian") },
    Method { name: "gaussian-tuned", about: "the best of ten lengthscales", learn: tuned },
    Method { name: "matern52", about: "Matérn kernel, ν = 5/2", learn: |t| by_kernel(t, "matern52") },
    Method { name: "laplace", about: "Laplace kernel", learn: |t| by_kernel(t, "laplace") },
    Method { name: "additive-spline", about: "splines, one per feature", learn: |t| by_kernel(t, "additive-spline") },
    Method {
        name: "additive-spline-fpe",
        about: "the same, λ by the final prediction error",
        learn: |t| t.finish(t.fit("additive-spline")?.criterion(mercer::criterion::Criterion::parse("fpe")?)),
    },
    Method {
        name: "multiplicative-spline",
        about: "splines with all interactions",
        learn: |t| by_kernel(t, "multiplicative-spline"),
    },
    Method {
        name: "m-power",
        about: "Gaussian kernel, exponent from 0.5 to 2.5 by leave-one-out",
        learn: |t| t.finish(t.fit("gaussian")?.exponents(&range::stepped("exponent", "0.5..2.5:0.5")?)),
    },
    Method { name: "automatic", about: "kernel, metric, exponent and λ within --budget", learn: automatic },
];

/// All of them, in the order of the list.
pub fn all() -> impl Iterator<Item = &'static Method> {
    METHODS.iter()
}

pub fn find(name: &str) -> std::result::Result<&'static Method, String> {
    let known = || METHODS.iter().map(|method| method.name).collect::<Vec<_>>().join(", ");
    all().find(|method| method.name == name.trim()).ok_or_else(|| format!("known methods: {}", known()))
}

/// For the help.
pub fn list() -> String {
    let lines: Vec<String> = all().map(|method| format!("  {:<24}{}", method.name, method.about)).collect();
    format!("Methods (λ by exact leave-one-out unless something else is said):\n{}", lines.join("\n"))
}

impl Method {
    pub fn learn(&self, task: &Task<'_>) -> Result<Learned> {
        (self.learn)(task)
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
    fn design(&self) -> Result<Design> {
        let encoding = Encoding {
            scale: Scale::Standard,
            missing: self.rows.missing.into(),
            text_as: self.rows.text.into(),
            nonnegative: false,
        };
        Design::new(self.training, self.roles, encoding)
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
    Ok(Learned::Model(Box::new(automatic.fit_frame(task.training, task.roles)?.fitted.model)))
}
