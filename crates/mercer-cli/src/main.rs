//! The `mercer` program: typed arguments, a decision, a run, a report.

mod args;
mod chart;
mod demo;
mod fit;
mod generate;
mod inspect;
mod json;
mod manual;
mod outcome;
mod predict;
mod progress;
mod report;

use std::process::ExitCode;

use clap::Parser;

use args::{Arguments, Command};
use outcome::Outcome;

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    // Saves are atomic and nothing else is left behind, so stopping at once is safe.
    let _ = ctrlc::set_handler(|| {
        eprintln!("interrupted");
        std::process::exit(130);
    });
    if let Some(threads) = arguments.common.threads {
        // Only fails if a pool exists already, and none does yet.
        let _ = rayon::ThreadPoolBuilder::new().num_threads(threads).build_global();
    }
    let common = &arguments.common;
    let result = match &arguments.command {
        Command::Fit(options) => fit::run(options, common),
        Command::Predict(options) => predict::run(options, common),
        Command::Inspect(options) => inspect::run(options),
        Command::Generate(options) => generate::run(options, common),
        Command::Demo => demo::run(common),
        Command::Kernels => manual::kernels(),
        Command::Completions { shell } => manual::completions(*shell),
        Command::Man { folder } => manual::pages(folder),
    };
    Outcome::of(result).exit_code()
}
