//! A folder to run the program in, and what is asked of every run.

use std::fs;
use std::path::PathBuf;
use std::process::Output;
use std::time::{Duration, Instant};

use assert_cmd::Command;
use tempfile::TempDir;

use crate::tables::good;

pub const DONE: i32 = 0;
pub const DATA: i32 = 1;
pub const USAGE: i32 = 2;
pub const UNCERTIFIED: i32 = 3;

/// What an existing output file holds before a run; a failed run must leave it so. It begins like a model:
/// anything else is refused before the work starts.
const SENTINEL: &[u8] = b"\x93MERCER\nan older file that someone still needs\n";

pub struct Lab {
    pub folder: TempDir,
    pub tried: usize,
    wrong: Vec<String>,
}

impl Lab {
    pub fn new() -> Self {
        let lab = Lab { folder: tempfile::tempdir().unwrap(), tried: 0, wrong: Vec::new() };
        lab.file("good.csv", good());
        lab
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn file(&self, name: &str, bytes: impl AsRef<[u8]>) {
        fs::write(self.path(name), bytes).unwrap();
    }

    /// Runs the program in the folder.
    pub fn run(&self, arguments: &[&str], input: &[u8]) -> (Output, Duration) {
        let started = Instant::now();
        let output = Command::new(env!("CARGO_BIN_EXE_mercer"))
            .args(arguments)
            .current_dir(self.folder.path())
            .env("RUST_BACKTRACE", "0")
            .write_stdin(input.to_vec())
            .timeout(Duration::from_secs(10))
            .output()
            .unwrap();
        (output, started.elapsed())
    }

    pub fn note(&mut self, arguments: &[&str], output: &Output, problem: &str) {
        let error = String::from_utf8_lossy(&output.stderr);
        let cut: String = error.chars().take(500).collect();
        self.wrong.push(format!("mercer {}: {problem}\n      {}", arguments.join(" "), cut.replace('\n', "\n      ")));
    }

    /// A run that must fail with this code and all of these in its message.
    pub fn fails(&mut self, arguments: &[&str], code: i32, parts: &[&str]) {
        self.fails_on(arguments, b"", code, parts);
    }

    pub fn fails_on(&mut self, arguments: &[&str], input: &[u8], code: i32, parts: &[&str]) {
        // Once as it is, and where the command writes a file once more over an older one.
        let writes = matches!(arguments.first(), Some(&("fit" | "predict" | "generate")));
        let has_output = arguments.iter().any(|a| matches!(*a, "--output" | "-o" | "--json"));
        self.fails_once(arguments, input, code, parts);
        if writes && !has_output {
            self.file("older", SENTINEL);
            let mut over: Vec<&str> = arguments.to_vec();
            over.extend(["--output", "older"]);
            self.fails_once(&over, input, code, parts);
            let after = fs::read(self.path("older"));
            if after.ok().as_deref() != Some(SENTINEL) {
                self.wrong.push(format!("mercer {}: the older output file is not what it was", arguments.join(" ")));
            }
            fs::remove_file(self.path("older")).unwrap();
        }
        for entry in fs::read_dir(self.folder.path()).unwrap() {
            let name = entry.unwrap().file_name();
            if name.to_string_lossy().starts_with(".tmp") {
                self.wrong.push(format!("mercer {}: {} is left behind", arguments.join(" "), name.to_string_lossy()));
                fs::remove_file(self.path(&name.to_string_lossy())).unwrap();
            }
        }
    }

    fn fails_once(&mut self, arguments: &[&str], input: &[u8], code: i32, parts: &[&str]) {
        self.tried += 1;
        let (output, elapsed) = self.run(arguments, input);
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        if output.status.code() != Some(code) {
            self.note(arguments, &output, &format!("exit code {:?} instead of {code}", output.status.code()));
            return;
        }
        if elapsed > Duration::from_secs(10) {
            self.note(arguments, &output, &format!("took {elapsed:?}"));
        }
        if !output.stdout.is_empty() {
            self.note(arguments, &output, &format!("{} bytes on standard output", output.stdout.len()));
        }
        let absent: Vec<&&str> = parts.iter().filter(|part| !error.contains(**part)).collect();
        if !absent.is_empty() {
            self.note(arguments, &output, &format!("the message lacks {absent:?}"));
        }
        if let Some(problem) = unclear(&error, code) {
            self.note(arguments, &output, problem);
        }
    }

    /// A run that must end well, with a finite JSON report if it is a fit.
    pub fn works(&mut self, arguments: &[&str], code: i32) -> Output {
        self.works_on(arguments, b"", code)
    }

    fn works_on(&mut self, arguments: &[&str], input: &[u8], code: i32) -> Output {
        self.tried += 1;
        let (output, _) = self.run(arguments, input);
        if output.status.code() != Some(code) {
            self.note(arguments, &output, &format!("exit code {:?} instead of {code}", output.status.code()));
        } else if arguments.first() == Some(&"fit") && arguments.contains(&"--json") {
            match serde_json::from_slice::<serde_json::Value>(&output.stdout) {
                Ok(report) => {
                    // JSON has no infinity: a number that is not finite would be null.
                    for key in ["lambda", "norm", "objective", "intercept", "train_rmse"] {
                        if !report[key].is_number() {
                            self.note(arguments, &output, &format!("{key} is {}", report[key]));
                        }
                    }
                }
                Err(error) => self.note(arguments, &output, &format!("no JSON: {error}")),
            }
        }
        let error = String::from_utf8_lossy(&output.stderr);
        if error.contains("panicked") || error.contains("internal error") {
            self.note(arguments, &output, "panicked");
        }
        output
    }

    pub fn finish(self, at_least: usize) {
        println!("{} runs", self.tried);
        assert!(
            self.wrong.is_empty(),
            "{} problems in {} runs:\n{}",
            self.wrong.len(),
            self.tried,
            self.wrong.join("\n")
        );
        assert!(self.tried >= at_least, "only {} runs", self.tried);
    }
}

/// What is wrong with the form of an error message, if anything is.
pub fn unclear(error: &str, code: i32) -> Option<&'static str> {
    let lines: Vec<&str> = error.lines().filter(|line| line.starts_with("error:")).collect();
    let sentence = lines.first().copied().unwrap_or_default();
    if error.contains("panicked") || error.contains("RUST_BACKTRACE") || error.contains("internal error") {
        Some("panicked")
    } else if lines.len() != 1 || !error.starts_with("error:") {
        Some("not exactly one line that says error")
    } else if sentence.split_whitespace().count() < 4 {
        Some("too short for a sentence")
    } else if sentence.chars().count() > 700 {
        Some("too long for a sentence")
    } else if code == DATA && error.lines().any(|line| !line.starts_with("error:") && !line.starts_with("  ")) {
        Some("more than the sentence and its remedy")
    } else if ["Err(", "Some(", "Os {", "unwrap"].iter().any(|word| error.contains(word)) {
        Some("words of a programmer")
    } else if twice(sentence) {
        Some("says the same twice")
    } else {
        None
    }
}

/// Whether a part between colons stands twice in a sentence.
fn twice(sentence: &str) -> bool {
    let parts: Vec<&str> = sentence.split(": ").collect();
    parts.iter().enumerate().any(|(i, part)| part.len() > 8 && parts[..i].contains(part))
}

pub fn lab_with_model() -> Lab {
    let lab = Lab::new();
    let (output, _) = lab.run(&["fit", "good.csv", "--target", "y", "--drop", "w", "--output", "m.mercer", "-q"], b"");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    lab
}
