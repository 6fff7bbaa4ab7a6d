//! Running a case and reading what it left.

use std::fs;
use std::io::Read;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::cases::Case;
use super::digest;
use crate::place::{Place, is_table};

/// No case takes longer than this on an idle machine.
const LIMIT: Duration = Duration::from_secs(600);
/// Finished, and finished without a certificate: what follows is run.
const GOES_ON: [&str; 2] = ["0", "3"];

/// What a case left.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Outcome {
    /// The exit codes of the command lines, separated by commas.
    pub exit: String,
    /// SHA-256 of model files without provenance, of predicted rows, of all numbers in JSON, and of all JSON with names and texts.
    pub model: String,
    pub predictions: String,
    pub numbers: String,
    pub json: String,
    pub figures: [Option<f64>; FIGURES.len()],
}

/// What is compared on other machines: λ, what λ was chosen by, the norm of f or what a command has in its place, and a sum over
/// the predictions, or over the numbers of JSON if there are none.
pub const FIGURES: [&str; 4] = ["lambda", "criterion", "norm", "sum"];
const LAMBDA: [&str; 3] = ["lambda", "effective_ridge", "value"];
const CRITERION: [&str; 6] = ["criterion_value", "loo_rmse", "score", "rmse", "recent_rmse", "mean"];
const NORM: [&str; 4] = ["norm", "train_rmse", "objective", "dof"];
/// Measures of rounding: they say nothing on another machine.
const OF_ROUNDING: [&str; 3] = ["certificate", "duality_gap", "rounding"];

/// Runs the command lines of a case in a folder of their own.
pub fn run(place: &Place, case: &Case, program: &Path, threads: usize) -> Result<Outcome> {
    let room = place.room(&case.name)?;
    let (mut printed, mut codes) = (Vec::new(), Vec::new());
    for step in &case.steps {
        let (code, text) = finish(room.command(step, program, threads)?, step).with_context(|| case.name.clone())?;
        let is_end = !GOES_ON.contains(&code.as_str());
        codes.push(code);
        if is_end {
            break;
        }
        if step.split_whitespace().any(|word| word == "--json") {
            printed.push(serde_json::from_str::<Value>(&text).with_context(|| format!("the JSON of {step}"))?);
        }
    }
    read(&room.folder, &printed, codes.join(",")).with_context(|| case.name.clone())
}

/// The exit code, or that it was ended by a signal, and the standard output.
fn finish(mut command: Command, step: &str) -> Result<(String, String)> {
    let mut child = command.stdout(Stdio::piped()).spawn().context("the program cannot be run")?;
    let mut output = child.stdout.take().context("no standard output")?;
    let reader = std::thread::spawn(move || {
        let mut bytes = Vec::new();
        output.read_to_end(&mut bytes).map(|_| bytes)
    });
    let started = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break status;
        }
        if started.elapsed() > LIMIT {
            child.kill()?;
            child.wait()?;
            bail!("{step} took more than {} s", LIMIT.as_secs());
        }
        std::thread::sleep(Duration::from_millis(1));
    };
    let bytes = reader.join().map_err(|_| anyhow::anyhow!("the output could not be read"))??;
    let code = status.code().map_or_else(|| "signal".to_owned(), |code| code.to_string());
    Ok((code, String::from_utf8_lossy(&bytes).into_owned()))
}

/// Reads the files that the command lines wrote.
fn read(folder: &Path, printed: &[Value], exit: String) -> Result<Outcome> {
    let (mut model, mut predictions, mut json) = (Sum::default(), Sum::default(), Sum::default());
    let mut predicted = None;
    let mut names: Vec<String> = Vec::new();
    for entry in fs::read_dir(folder)? {
        names.push(entry?.file_name().to_string_lossy().into_owned());
    }
    names.sort();
    for name in names.iter().filter(|name| !is_table(name)) {
        let bytes = fs::read(folder.join(name))?;
        match name.rsplit('.').next().unwrap_or_default() {
            "mercer" | "moments" => model.add(name, &digest::model(&bytes).with_context(|| name.clone())?.bytes),
            "onnx" => model.add(name, &digest::onnx(&bytes).with_context(|| name.clone())?),
            "csv" | "tsv" => {
                let table = digest::csv(&String::from_utf8_lossy(&bytes));
                json.add(name, table.names.as_bytes());
                predictions.add(name, table.rows.as_bytes());
                predicted = predicted.or_else(|| table.sum());
            }
            "json" | "jsonl" | "parquet" | "arrow" => predictions.add(name, &bytes),
            _ => {}
        }
    }
    let values: Vec<Value> = printed.iter().map(digest::unmeasured).collect();
    let mut numbers = Vec::new();
    values.iter().for_each(|value| digest::numbers(value, &[], &mut numbers));
    numbers.sort_by(f64::total_cmp);
    let mut of_numbers = Sum::default();
    if !values.is_empty() {
        of_numbers.add("", &numbers.iter().flat_map(|x| x.to_bits().to_le_bytes()).collect::<Vec<u8>>());
        values.iter().for_each(|value| json.add("", value.to_string().as_bytes()));
    }
    let mut lasting = Vec::new();
    values.iter().for_each(|value| digest::numbers(value, &OF_ROUNDING, &mut lasting));
    // Bounded terms: no number outweighs the others.
    let of_json = (!lasting.is_empty()).then(|| lasting.iter().map(|x| x / (1.0 + x.abs())).sum());
    let all = Value::Array(values);
    let first = |names: &[&str]| digest::first(&all, names);
    let figures =
        [first(&LAMBDA), first(&CRITERION), first(&NORM), predicted.or(of_json)].map(|x| x.filter(|x| x.is_finite()));
    Ok(Outcome {
        exit,
        model: model.end(),
        predictions: predictions.end(),
        numbers: of_numbers.end(),
        json: json.end(),
        figures,
    })
}

/// SHA-256 of named parts.
#[derive(Default)]
struct Sum(Option<Sha256>);

impl Sum {
    fn add(&mut self, name: &str, bytes: &[u8]) {
        let hash = self.0.get_or_insert_default();
        hash.update(format!("{name} {}\n", bytes.len()));
        hash.update(bytes);
    }

    fn end(self) -> String {
        self.0.map_or_else(|| "-".to_owned(), digest::short)
    }
}
