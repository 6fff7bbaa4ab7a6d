//! A folder to run the program in, and what to read off its answers.

use std::fs;
use std::path::PathBuf;
use std::process::{Output, Stdio};
use std::time::Duration;

use assert_cmd::Command;
use mercer::data::{Column, Frame};
use mercer_io::ReadOptions;
use serde_json::Value;
use sha2::{Digest, Sha256};
use tempfile::TempDir;

pub struct Lab {
    pub folder: TempDir,
}

impl Lab {
    pub fn new() -> Self {
        Lab { folder: tempfile::tempdir().unwrap() }
    }

    /// A folder with `t.csv`, generated.
    pub fn with_table(name: &str, rows: usize) -> Self {
        let lab = Lab::new();
        lab.ok(&["generate", name, "--rows", &rows.to_string(), "--noise", "0.3", "--output", "t.csv"]);
        lab
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn file(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).unwrap();
    }

    pub fn bytes(&self, name: &str) -> Vec<u8> {
        fs::read(self.path(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_mercer"));
        command.args(arguments).current_dir(self.folder.path()).timeout(Duration::from_secs(60));
        command
    }

    /// The bytes of a model without what they say of its making: the same function is the same bytes, however it was asked for.
    pub fn model(&self, name: &str) -> Vec<u8> {
        bare(&self.bytes(name))
    }

    /// A run that must end with 0.
    pub fn ok(&self, arguments: &[&str]) -> Output {
        self.ok_on(arguments, &[])
    }

    pub fn ok_on(&self, arguments: &[&str], input: &[u8]) -> Output {
        let output = self.command(arguments).write_stdin(input.to_vec()).output().unwrap();
        let error = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "mercer {}: {error}", arguments.join(" "));
        output
    }

    /// A run that must end with this code.
    pub fn fails(&self, arguments: &[&str], code: i32) -> Output {
        let output = self.command(arguments).output().unwrap();
        let error = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "mercer {}: {error}", arguments.join(" "));
        output
    }

    pub fn json(&self, arguments: &[&str]) -> Value {
        let output = self.ok(arguments);
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(text.ends_with("}\n") && text.lines().count() == 1, "one object on one line: {text}");
        serde_json::from_str(&text).unwrap()
    }

    /// Runs a line of shell with `mercer` in it; the exit code is that of the first command that failed.
    pub fn shell(&self, line: &str) -> Output {
        let program = env!("CARGO_BIN_EXE_mercer");
        std::process::Command::new("bash")
            .args(["-o", "pipefail", "-c", &format!("mercer() {{ {program:?} \"$@\"; }}; {line}")])
            .current_dir(self.folder.path())
            .stdin(Stdio::null())
            .output()
            .expect("bash")
    }

    pub fn frame(&self, file: &str) -> Frame {
        mercer_io::read(self.path(file).to_str().unwrap(), &ReadOptions::default()).unwrap().frame
    }

    /// The cells of a column of a file.
    pub fn numbers(&self, file: &str, name: &str) -> Vec<f64> {
        match self.frame(file).column(name).unwrap() {
            Column::Number(cells) => cells.clone(),
            Column::Text(_) => panic!("{name} is text"),
        }
    }

    /// The same as bits.
    pub fn column(&self, file: &str, name: &str) -> Vec<u64> {
        self.numbers(file, name).into_iter().map(f64::to_bits).collect()
    }
}

/// See [`Lab::model`].
pub fn bare(bytes: &[u8]) -> Vec<u8> {
    let mut model = mercer::format::from_bytes(bytes).unwrap();
    model.set_provenance(mercer::Provenance::of_this_version());
    mercer::format::to_bytes(&model).unwrap()
}

pub fn text(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

pub fn error(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

pub fn hash(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

pub fn number(report: &Value, key: &str) -> f64 {
    report[key].as_f64().unwrap_or_else(|| panic!("{key} is {}", report[key]))
}

pub fn close(a: f64, b: f64, tolerance: f64) -> bool {
    (a - b).abs() <= tolerance * a.abs().max(b.abs())
}

/// Every string of a command line.
pub fn line<'a>(parts: &[&[&'a str]]) -> Vec<&'a str> {
    parts.concat()
}
