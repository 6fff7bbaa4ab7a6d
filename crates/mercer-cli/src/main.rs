//! The `mercer` program: typed arguments, a decision, a run, a report.

/// A line on standard error. Unlike `eprintln!` it does not mind that nobody reads it.
macro_rules! say {
    ($($part:tt)*) => {{
        use std::io::Write as _;
        let _ = writeln!(std::io::stderr(), $($part)*);
    }};
}

mod again;
mod args;
mod certify;
mod chart;
mod coefficients;
mod compare;
mod conversions;
mod demo;
mod distance;
mod effects;
mod equivalence;
mod experiment;
mod export;
mod files;
mod fit;
mod generate;
mod grid;
mod inspect;
mod journal;
mod json;
mod learn;
mod linear;
mod manual;
mod moments;
mod outcome;
mod path;
mod plan;
mod predict;
mod progress;
mod provenance;
mod report;
mod score;
mod signals;
mod stream;
mod surface;
mod svg;
mod threads;

use std::process::ExitCode;

use args::{Arguments, Command, Listed};
use outcome::Outcome;

fn main() -> ExitCode {
    let arguments = args::line::parse();
    // Decoders of damaged files may panic and are caught; only a panic that nobody caught is reported.
    std::panic::set_hook(Box::new(|_| ()));
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| run(&arguments))).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().cloned();
        let text = text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
        say!("internal error, please report it: {}", text.unwrap_or_default());
        ExitCode::from(1)
    })
}

fn run(arguments: &Arguments) -> ExitCode {
    signals::install();
    threads::start(arguments.common.threads);
    let common = &arguments.common;
    let result = match &arguments.command {
        Command::Fit(options) => fit::run(options, common),
        Command::Predict(options) => predict::run(options, common),
        Command::Effects(options) => effects::run(options, common),
        Command::Path(options) => path::run(options, common),
        Command::Plan(options) => plan::run(options, common),
        Command::Compare(options) => compare::run(options, common),
        Command::Stream(options) => stream::run(options, common),
        Command::Moments(options) => moments::run(options, common),
        Command::Merge(options) => moments::merge(options, common),
        Command::Update(options) => moments::update(options, common),
        Command::Equivalence(options) => equivalence::run(options, common),
        Command::Distance(options) => distance::run(options, common),
        Command::Experiment(options) => experiment::run(options, common),
        Command::Certify(options) => certify::run(options, common),
        Command::Export(options) => export::run(options, common),
        Command::Inspect(options) => inspect::run(options),
        Command::Generate(options) => generate::run(options, common),
        Command::Demo => demo::run(common),
        Command::List(options) => manual::list(options.what),
        Command::Kernels => manual::list(Some(Listed::Kernels)),
        Command::Losses => manual::list(Some(Listed::Losses)),
        Command::Penalties => manual::list(Some(Listed::Penalties)),
        Command::Criteria => manual::list(Some(Listed::Criteria)),
        Command::Completions { shell } => manual::completions(*shell),
        Command::Man { folder } => manual::pages(folder),
    };
    Outcome::of(result).exit_code(&arguments.command)
}
