//! Every kind of fit, and each input with each of them.

use mercer::kernel;
use mercer::prelude::*;

use crate::battery::{Expect, Job};
use crate::judging::judge;
use crate::tables::{Data, frame, new_rows};

pub const KERNELS: [&str; 7] = [
    "gaussian(lengthscale=0.8)",
    "gaussian(lengthscale=mean)",
    "gaussian(lengthscale=median)",
    "linear",
    "polynomial",
    "additive-spline",
    "matern32",
];
pub const EXPONENTS: [f64; 5] = [0.5, 1.0, 1.5, 2.0, 3.0];

pub fn fit_of(spec: &str) -> Fit {
    Fit::with_shared(kernel::parse(spec).unwrap())
}

/// With this λ, if there is one, and with or without offset.
pub fn with_options(fit: Fit, lambda: Option<f64>, offset: bool) -> Fit {
    let fit = if let Some(lambda) = lambda { fit.lambda(lambda) } else { fit };
    if offset { fit } else { fit.without_offset() }
}

/// Every kernel with every exponent, λ given or chosen, with and without offset.
pub fn estimators() -> Vec<(String, Fit)> {
    let mut all = Vec::new();
    for spec in KERNELS {
        for exponent in EXPONENTS {
            for lambda in [Some(0.01), None] {
                for offset in [true, false] {
                    let fit = with_options(fit_of(spec).exponent(exponent), lambda, offset);
                    let name = format!(
                        "{spec}, exponent {exponent}, λ {}, {} offset",
                        lambda.map_or("chosen".into(), |l: f64| l.to_string()),
                        if offset { "with" } else { "without" }
                    );
                    all.push((name, fit));
                }
            }
        }
    }
    all
}

pub fn job(fit: Fit, data: &Data) -> Job {
    let data = data.clone();
    Box::new(move || {
        let result = fit.fit_weighted(&data.x, &data.y, data.weights.as_deref());
        judge(result, &frame(&data.x), &new_rows(&data.x))
    })
}

/// Each input with each estimator.
pub fn cross(inputs: &[(&'static str, Expect, Data)]) -> Vec<(String, Expect, Job)> {
    let estimators = estimators();
    let mut jobs = Vec::new();
    for (name, expect, data) in inputs {
        for (estimator, fit) in &estimators {
            jobs.push((format!("{name} | {estimator}"), *expect, job(fit.clone(), data)));
        }
    }
    jobs
}

pub const ESTIMATORS: usize = 7 * 5 * 2 * 2;
