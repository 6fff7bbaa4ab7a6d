//! `cargo xtask`: the development commands of this repository.

mod arguments;
mod bench;
mod bits;
mod build;
mod layers;
mod licences;
mod place;
mod table;

use std::process::ExitCode;

const HELP: &str = "\
Development commands

Usage: cargo xtask COMMAND [OPTIONS]

Commands:
  bits      Compare the bits of about 700 runs of the program with the recorded ones
  bench     Time the program against another build of it
  layers    Check that imports of the library point downwards
  licences  Check licences and duplicate versions of the dependencies against deny.toml
  table     Print one of the generated tables of both
  help      Print this text

`cargo xtask COMMAND --help` lists the options.
";

fn main() -> ExitCode {
    let mut words = std::env::args().skip(1);
    let command = words.next().unwrap_or_else(|| "help".to_owned());
    let rest: Vec<String> = words.collect();
    let done = match command.as_str() {
        "bits" => bits::run(rest),
        "bench" => bench::run(rest),
        "layers" => layers::run(rest),
        "licences" => licences::run(rest),
        "table" => table::run(rest),
        "help" | "--help" | "-h" => {
            print!("{HELP}");
            Ok(true)
        }
        other => Err(anyhow::anyhow!("unknown command {other:?}; see cargo xtask help")),
    };
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::from(2)
        }
    }
}
