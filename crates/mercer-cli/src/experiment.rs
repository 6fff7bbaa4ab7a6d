//! `mercer experiment`: what the papers report, done again, with their figures beside ours and the reason where they differ.

mod error_curves;
mod figure1;
mod figure2;
mod findings;
mod lasso_geometry;
mod losses;
mod overfitting;
mod root_search;
mod setting;
mod small_sample;
mod table1;

use std::io::Write;

use serde_json::{Value, json};

use crate::args::{Chosen, Common, ExperimentOptions};
use crate::outcome::Done;
use findings::Findings;
use setting::Setting;

/// One of the experiments.
#[derive(Debug)]
pub struct Experiment {
    pub name: &'static str,
    /// One sentence.
    pub about: &'static str,
    run: fn(&Setting) -> anyhow::Result<Findings>,
}

pub const ALL: &[Experiment] = &[
    Experiment {
        name: "table1",
        about: "Test errors of M-RLSR and kernel ridge on eight sets: by the paper's protocol, by ours, and the floor.",
        run: table1::run,
    },
    Experiment {
        name: "figure1",
        about: "Weak, not strong equivalence: a ridge that agrees with M-RLSR on one part of a set differs on the others.",
        run: figure1::run,
    },
    Experiment {
        name: "figure2",
        about: "Learning curves of M-RLSR below exponent 1 and of the ridge that is equivalent to it on all rows.",
        run: figure2::run,
    },
    Experiment {
        name: "error-curves",
        about: "Test error along λ for ridge, ridge with λ/n and exponent 1.5: one curve, moved.",
        run: error_curves::run,
    },
    Experiment {
        name: "root-search",
        about: "How often the published ten-start Newton method misses the global minimum at exponents up to 1.",
        run: root_search::run,
    },
    Experiment {
        name: "overfitting",
        about: "Many polynomials through five and through fifty points, with and without ridge.",
        run: overfitting::run,
    },
    Experiment {
        name: "lasso-geometry",
        about: "The balls of both norms under the ellipses of the error, and the coefficients along λ.",
        run: lasso_geometry::run,
    },
    Experiment {
        name: "losses",
        about: "The losses drawn, and what each makes of a line with outliers.",
        run: losses::run,
    },
    Experiment {
        name: "small-sample",
        about: "Additive splines against the Gaussian kernel on 30 to 100 rows.",
        run: small_sample::run,
    },
];

pub fn find(name: &str) -> mercer::Result<&'static Experiment> {
    ALL.iter().find(|experiment| experiment.name == name).ok_or_else(|| mercer::Error::UnknownName {
        axis: "experiment",
        name: name.to_owned(),
        known: ALL.iter().map(|experiment| experiment.name.to_owned()).chain(["all".to_owned()]).collect(),
        suggestion: mercer::error::nearest(name, ALL.iter().map(|experiment| experiment.name)),
    })
}

pub fn run(options: &ExperimentOptions, common: &Common) -> anyhow::Result<Done> {
    let chosen: Vec<&Experiment> = match options.name {
        None => return list(),
        Some(Chosen::All) => ALL.iter().collect(),
        Some(Chosen::One(experiment)) => vec![experiment],
    };
    if let Some(folder) = &options.output {
        std::fs::create_dir_all(folder)
            .map_err(|error| anyhow::anyhow!("the folder {folder} cannot be made: {error}"))?;
    }
    if let Some(folder) = options.data.as_ref().filter(|folder| !std::path::Path::new(folder).is_dir()) {
        anyhow::bail!("--data must name a folder with CSV files; there is no folder {folder}");
    }
    let mut objects: Vec<Value> = Vec::new();
    for experiment in chosen {
        let setting = Setting::new(options, common);
        let findings = (experiment.run)(&setting)?;
        let skipped = setting.skipped();
        drop(setting);
        if let Some(folder) = &options.output {
            findings.save(folder, experiment.name, &skipped)?;
        }
        match options.json {
            true => objects.push(findings.to_json(experiment.name, &skipped)),
            false if !common.quiet => {
                let text = findings.page(options.style, &skipped);
                write!(std::io::stdout(), "{text}")?;
            }
            false => {}
        }
    }
    if options.json {
        writeln!(std::io::stdout(), "{}", json!({ "seed": common.seed, "experiments": objects }))?;
    }
    Ok(Done::Certified)
}

fn list() -> anyhow::Result<Done> {
    let width = ALL.iter().map(|experiment| experiment.name.len()).max().unwrap_or(0);
    let lines: String =
        ALL.iter().map(|experiment| format!("  {:width$}  {}\n", experiment.name, experiment.about)).collect();
    write!(
        std::io::stdout(),
        "Experiments, as they are named after `mercer experiment` (or all of them: all):\n\n{lines}"
    )?;
    Ok(Done::Certified)
}
