//! Bad files and bad options (C1, through the program): each ends with the exit code that says what kind of
//! trouble it was and one sentence that says which; nothing is half-written, nothing that was there is touched.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;
use std::time::{Duration, Instant};

use assert_cmd::Command;
use tempfile::TempDir;

const DONE: i32 = 0;
const DATA: i32 = 1;
const USAGE: i32 = 2;
const UNCERTIFIED: i32 = 3;

/// What an existing output file holds before a run; a failed run must leave it so.
const SENTINEL: &[u8] = b"an older file that someone still needs\n";

struct Lab {
    folder: TempDir,
    tried: usize,
    wrong: Vec<String>,
}

impl Lab {
    fn new() -> Self {
        let lab = Lab { folder: tempfile::tempdir().unwrap(), tried: 0, wrong: Vec::new() };
        lab.file("good.csv", good());
        lab
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn file(&self, name: &str, bytes: impl AsRef<[u8]>) {
        fs::write(self.path(name), bytes).unwrap();
    }

    /// Runs the program in the folder.
    fn run(&self, arguments: &[&str], input: &[u8]) -> (Output, Duration) {
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

    fn note(&mut self, arguments: &[&str], output: &Output, problem: &str) {
        let error = String::from_utf8_lossy(&output.stderr);
        let cut: String = error.chars().take(500).collect();
        self.wrong.push(format!("mercer {}: {problem}\n      {}", arguments.join(" "), cut.replace('\n', "\n      ")));
    }

    /// A run that must fail with this code and all of these in its message.
    fn fails(&mut self, arguments: &[&str], code: i32, parts: &[&str]) {
        self.fails_on(arguments, b"", code, parts);
    }

    fn fails_on(&mut self, arguments: &[&str], input: &[u8], code: i32, parts: &[&str]) {
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
    fn works(&mut self, arguments: &[&str], code: i32) -> Output {
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

    fn finish(self, at_least: usize) {
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
fn unclear(error: &str, code: i32) -> Option<&'static str> {
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

/// Ten rows of two numbers, a text, a weight and a target.
fn good() -> String {
    let mut text = String::from("a,b,c,w,y\n");
    for i in 0..10 {
        let x = f64::from(i);
        let c = ["p", "q", "r"][i as usize % 3];
        text.push_str(&format!("{},{},{c},{},{}\n", (0.7 * x).sin(), (1.9 * x).cos(), 1 + i % 3, (0.5 * x).sin()));
    }
    text
}

/// The good table with one cell changed; rows count from 1.
fn with_cell(row: usize, column: usize, cell: &str) -> String {
    let table = good();
    let lines = table.lines().enumerate().map(|(index, line)| {
        let mut cells: Vec<&str> = line.split(',').collect();
        if index == row {
            cells[column] = cell;
        }
        cells.join(",")
    });
    lines.collect::<Vec<String>>().join("\n") + "\n"
}

/// The good table with a whole column changed.
fn with_column(column: usize, cell: &str) -> String {
    let table = good();
    let lines = table.lines().enumerate().map(|(index, line)| {
        let mut cells: Vec<&str> = line.split(',').collect();
        if index > 0 {
            cells[column] = cell;
        }
        cells.join(",")
    });
    lines.collect::<Vec<String>>().join("\n") + "\n"
}

const FIT: &[&str] = &["fit", "t.csv", "--target", "y", "--drop", "w"];

fn fit_with<'a>(more: &[&'a str]) -> Vec<&'a str> {
    FIT.iter().copied().chain(more.iter().copied()).collect()
}

// ---- files ----------------------------------------------------------------------------------------------------

#[test]
fn files_that_are_no_tables() {
    let mut lab = Lab::new();
    let fit = |name: &'static str| ["fit", name, "--target", "y"];
    let cases: Vec<(&'static str, Vec<u8>, &[&str])> = vec![
        ("empty.csv", vec![], &["empty.csv", "is empty"]),
        ("newlines.csv", b"\n\n\n\n".to_vec(), &["newlines.csv", "is empty"]),
        ("blanks.csv", b"   \n".to_vec(), &["blanks.csv"]),
        ("bom.csv", b"\xef\xbb\xbf".to_vec(), &["bom.csv", "is empty"]),
        ("header.csv", b"a,b,y\n".to_vec(), &["no rows"]),
        ("header_no_newline.csv", b"a,b,y".to_vec(), &["no rows"]),
        (
            "short.csv",
            b"a,b,y\n1,2,3\n4,5\n6,7,8\n".to_vec(),
            &["short.csv", "row 2", "line 3", "2 cells", "header has 3"],
        ),
        ("long.csv", b"a,b,y\n1,2,3\n4,5,6\n6,7,8,9\n".to_vec(), &["long.csv", "row 3", "line 4", "4 cells"]),
        ("twice.csv", b"a,b,a,y\n1,2,3,4\n".to_vec(), &["twice.csv", "\"a\"", "twice"]),
        ("nameless.csv", b"a,,y\n1,2,3\n".to_vec(), &["nameless.csv", "column 2", "name"]),
        ("quote.csv", b"a,b,y\n1,\"2,3\n4,5,6\n".to_vec(), &["quote.csv", "quote", "row 1"]),
        ("latin1_header.csv", b"a,gr\xf6\xdfe,y\n1,2,3\n".to_vec(), &["latin1_header.csv", "column 2", "UTF-8"]),
        ("latin1.csv", b"a,b,y\n1,gr\xf6n,3\n2,rot,4\n".to_vec(), &["row 1", "\"b\"", "UTF-8"]),
        ("utf16.csv", b"\xff\xfea\0,\0y\0\n\0".to_vec(), &["utf16.csv", "UTF-16"]),
        ("garbage.csv", (0..5000_u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 13) as u8).collect(), &["garbage.csv"]),
        ("zeros.csv", vec![0; 5000], &[]),
        ("nul.csv", b"a,b,y\n1,2,3\n2,\0,4\n3,1,9\n4,2,2\n".to_vec(), &["row 2", "\"b\"", "not a number"]),
        ("gzip.csv.gz", b"\x1f\x8b\x08\0\0\0\0\0\0\0not deflated".to_vec(), &["gzip.csv.gz", "gzip"]),
        ("gzip_cut.csv.gz", b"\x1f\x8b\x08".to_vec(), &["gzip_cut.csv.gz", "gzip"]),
        ("t.parquet", b"PAR1 not really PAR1".to_vec(), &["t.parquet"]),
        ("empty.parquet", vec![], &["empty.parquet"]),
        ("t.arrow", b"ARROW1\0\0nothing".to_vec(), &["t.arrow"]),
        ("empty.arrow", vec![], &["empty.arrow"]),
        ("stream.arrow", [vec![0xff; 4], vec![0xff; 4], vec![1; 100]].concat(), &["stream.arrow"]),
        ("empty.svm", vec![], &["empty.svm", "is empty"]),
        (
            "index.svm",
            b"1 1:2 3:4\n2 4000000000:1\n".to_vec(),
            &["index.svm", "2 rows and 4000000000 features", "memory"],
        ),
        ("wide.svm", b"1 500000:1\n".to_vec(), &["wide.svm", "columns", "at most"]),
        ("overflow.svm", b"1 18446744073709551615:1\n".to_vec(), &["overflow.svm", "memory"]),
        ("too_big.svm", b"1 1:2\n1 99999999999999999999999:1\n".to_vec(), &["too_big.svm", "row 2", "index:value"]),
        ("zero.svm", b"1 1:2\n2 0:1\n".to_vec(), &["zero.svm", "row 2", "start at 1"]),
        ("order.svm", b"1 3:2 2:1\n".to_vec(), &["order.svm", "row 1", "increase"]),
        ("qid.svm", b"1 qid:3 2:1\n".to_vec(), &["qid.svm", "row 1", "qid"]),
        ("label.svm", b"one 2:1\n".to_vec(), &["label.svm", "row 1", "label"]),
        ("nan.svm", b"1 1:1 2:2\n2 1:nan 2:3\n".to_vec(), &["row 2", "\"x1\"", "missing"]),
        ("inf.svm", b"1 1:1 2:2\n2 1:1 2:-inf\n".to_vec(), &["row 2", "\"x2\"", "not a finite number"]),
    ];
    let count = cases.len();
    for (name, bytes, parts) in &cases {
        lab.file(name, bytes);
        lab.fails(&fit(name), DATA, parts);
    }
    // Separators without end: refused by their number, not by filling the memory.
    lab.file("commas.csv", ",".repeat(3_000_000));
    lab.fails(&fit("commas.csv"), DATA, &["commas.csv", "columns", "at most"]);
    // A field of five megabytes where a number should be; the message must not repeat it.
    lab.file("huge.csv", format!("a,y\n1,1\n2,2\n{},3\n4,5\n", "9x".repeat(2_500_000)));
    lab.fails(&fit("huge.csv"), DATA, &["row 3", "\"a\"", "not a number"]);
    lab.file("huge_name.csv", format!("{},{},y\n1,2,3\n2,3,4\n", "n".repeat(1_000_000), "m".repeat(1_000_000)));
    lab.fails(&["fit", "huge_name.csv", "--target", "z"], DATA, &["no column \"z\""]);
    let digits = format!("a,y\n1,1\n0.{},2\n4,5\n7,1\n", "1".repeat(1_000_000));
    lab.file("digits.csv", digits);
    lab.works(&["fit", "digits.csv", "--target", "y", "--json"], DONE);

    lab.fails(&fit("nosuch.csv"), DATA, &["cannot read nosuch.csv", "No such file"]);
    lab.fails(&fit("."), DATA, &["folder"]);
    lab.fails(&fit("nosuch/t.csv"), DATA, &["cannot read nosuch/t.csv"]);
    lab.fails(&fit("good.csv/t.csv"), DATA, &["cannot read good.csv/t.csv"]);
    lab.fails_on(&fit("-"), b"", DATA, &["standard input", "is empty"]);
    lab.fails_on(&fit("-"), b"a,y\n1\n", DATA, &["standard input", "row 1"]);
    lab.fails(&["fit", "", "--target", "y"], DATA, &["cannot read"]);
    assert_eq!(count, 35);
    lab.finish(2 * 35 + 20);
}

#[test]
fn the_wrong_format() {
    let mut lab = Lab::new();
    let generated = lab.run(&["generate", "sinc", "--rows", "20", "--output", "t.parquet"], b"").0;
    assert!(generated.status.success());
    let generated = lab.run(&["generate", "sinc", "--rows", "20", "--output", "t.arrow"], b"").0;
    assert!(generated.status.success());
    let fit = |name: &'static str, format: &'static str| ["fit", name, "--target", "y", "--format", format];
    lab.fails(&fit("good.csv", "parquet"), DATA, &["good.csv", "Parquet"]);
    lab.fails(&fit("good.csv", "arrow"), DATA, &["good.csv"]);
    lab.fails(&fit("good.csv", "libsvm"), DATA, &["good.csv", "row 1", "label"]);
    lab.fails(&fit("t.parquet", "csv"), DATA, &["t.parquet"]);
    lab.fails(&fit("t.parquet", "arrow"), DATA, &["t.parquet"]);
    lab.fails(&fit("t.parquet", "libsvm"), DATA, &["t.parquet", "row 1"]);
    lab.fails(&fit("t.arrow", "csv"), DATA, &["t.arrow"]);
    lab.fails(&fit("t.arrow", "parquet"), DATA, &["t.arrow"]);
    lab.fails(&fit("good.csv", "excel"), USAGE, &["--format", "csv, parquet, arrow, libsvm"]);
    lab.fails(&fit("good.csv", ""), USAGE, &["--format"]);
    // Cut short anywhere.
    let whole = fs::read(lab.path("t.parquet")).unwrap();
    for cut in [4, 8, 100, whole.len() / 2, whole.len() - 9, whole.len() - 1] {
        lab.file("cut.parquet", &whole[..cut]);
        lab.fails(&["fit", "cut.parquet", "--target", "y"], DATA, &["cut.parquet"]);
    }
    let whole = fs::read(lab.path("t.arrow")).unwrap();
    for cut in [8, 100, whole.len() / 2, whole.len() - 1] {
        lab.file("cut.arrow", &whole[..cut]);
        lab.fails(&["fit", "cut.arrow", "--target", "y"], DATA, &["cut.arrow"]);
    }
    lab.finish(40);
}

// ---- cells ----------------------------------------------------------------------------------------------------

#[test]
fn cells_that_cannot_be_used() {
    let mut lab = Lab::new();
    let mut refused = |table: String, more: &[&str], parts: &[&str]| {
        lab.file("t.csv", table);
        lab.fails(&fit_with(more), DATA, parts);
    };
    refused(with_cell(4, 0, "four"), &[], &["row 4", "\"a\"", "\"four\" is not a number", "--categorical"]);
    refused(with_cell(4, 4, "four"), &[], &["row 4", "\"y\"", "\"four\" is not a number"]);
    refused(with_cell(10, 0, "1,5"), &[], &["row 10", "6 cells"]);
    refused(with_cell(10, 0, "\"1,5\""), &[], &["row 10", "\"a\"", "not a number", "--decimal comma"]);
    refused(with_cell(7, 1, "inf"), &[], &["row 7", "\"b\"", "inf is not a finite number"]);
    refused(with_cell(7, 1, "-Infinity"), &[], &["row 7", "\"b\"", "-inf is not a finite number"]);
    refused(with_cell(7, 1, "1e400"), &[], &["row 7", "\"b\"", "not a finite number"]);
    refused(with_cell(1, 4, "inf"), &[], &["row 1", "\"y\"", "not a finite number"]);
    refused(with_cell(1, 4, "1e200"), &[], &["row 1", "\"y\"", "too large for a target"]);
    refused(with_column(2, "inf"), &[], &["row 1", "\"c\"", "not a finite number"]);
    for cell in ["", "NaN", "nan", "NA", "N/A", "null", "?"] {
        refused(with_cell(3, 1, cell), &[], &["row 3", "\"b\"", "missing", "--missing drop", "--missing mean"]);
        refused(with_cell(3, 1, cell), &["--missing", "error"], &["row 3", "\"b\"", "missing"]);
        refused(with_cell(3, 4, cell), &[], &["row 3", "\"y\"", "missing"]);
        refused(with_cell(3, 4, cell), &["--missing", "mean"], &["row 3", "\"y\"", "missing"]);
    }
    refused(with_cell(5, 2, ""), &[], &["row 5", "\"c\"", "missing"]);
    for column in [0, 2] {
        let name = ["\"a\"", "", "\"c\""][column];
        refused(with_column(column, ""), &["--missing", "error"], &["row 1", name, "missing"]);
        refused(with_column(column, ""), &["--missing", "drop"], &["all 10 rows", "missing"]);
        refused(with_column(column, ""), &["--missing", "mean"], &[name, "no value in any row"]);
    }
    let weighted = |cell: &str| with_cell(6, 3, cell);
    let mut weights = |table: String, parts: &[&str]| {
        lab.file("t.csv", table);
        lab.fails(&["fit", "t.csv", "--target", "y", "--weight", "w"], DATA, parts);
    };
    weights(weighted("-1"), &["row 6", "\"w\"", "-1 is not a weight"]);
    weights(weighted("inf"), &["row 6", "\"w\"", "finite"]);
    weights(weighted(""), &["row 6", "\"w\"", "missing"]);
    weights(weighted("heavy"), &["row 6", "\"w\"", "\"heavy\" is not a number"]);
    weights(weighted("1e200"), &["row 6", "\"w\""]);
    weights(with_column(3, "0"), &["\"w\"", "every row", "weight 0"]);

    // The same cells where something can be done about them.
    for cell in ["", "NaN", "NA"] {
        for how in ["drop", "mean"] {
            lab.file("t.csv", with_cell(3, 1, cell));
            lab.works(&fit_with(&["--missing", how, "--json"]), DONE);
            lab.file("t.csv", with_cell(5, 2, cell));
            lab.works(&fit_with(&["--missing", how, "--json"]), DONE);
        }
        lab.file("t.csv", with_cell(3, 4, cell));
        lab.works(&fit_with(&["--missing", "drop", "--json"]), DONE);
    }
    for (row, column, cell) in [(7, 1, "1e300"), (7, 1, "-1e300"), (7, 1, "1e-320"), (2, 4, "1e150"), (2, 4, "-0")] {
        lab.file("t.csv", with_cell(row, column, cell));
        lab.works(&fit_with(&["--json"]), DONE);
    }
    lab.file("t.csv", with_column(0, "7.5"));
    lab.works(&fit_with(&["--json"]), DONE);
    lab.file("t.csv", with_column(4, "7.5"));
    lab.works(&fit_with(&["--json"]), DONE);
    lab.file("t.csv", with_column(4, "7.5"));
    lab.works(&fit_with(&["--json", "--exponent", "0.5"]), DONE);
    lab.file("t.csv", "a,b,w,y\n1,2,1,3\n");
    for exponent in ["0.5", "1", "1.5", "2", "3"] {
        lab.works(&fit_with(&["--json", "--exponent", exponent]), DONE);
    }
    lab.finish(130);
}

#[test]
fn two_rows() {
    let mut lab = Lab::new();
    lab.file("t.csv", "a,b,w,y\n1,2,1,3\n2,1,1,4\n");
    for exponent in ["0.5", "1", "1.5", "2", "3"] {
        for kernel in ["gaussian", "linear", "additive-spline"] {
            lab.works(&fit_with(&["--json", "--exponent", exponent, "--kernel", kernel]), DONE);
        }
    }
    lab.finish(15);
}

#[test]
fn columns_that_are_not_there() {
    let mut lab = Lab::new();
    let mut refused = |arguments: &[&str], parts: &[&str]| {
        let all: Vec<&str> = ["fit", "good.csv"].into_iter().chain(arguments.iter().copied()).collect();
        lab.fails(&all, DATA, parts);
    };
    refused(&["--target", "z"], &["no column \"z\"", "it has: a, b, c, w, y"]);
    refused(&["--target", "Y"], &["no column \"Y\"", "did you mean y?"]);
    refused(&["--target", ""], &["target"]);
    refused(&["--target", "y,z"], &["no column \"z\""]);
    refused(&["--target", "c"], &["row 1", "\"c\"", "\"p\" is not a number"]);
    refused(&["--target", "y,y"], &["\"y\"", "twice"]);
    refused(&["--target", "y", "--features", "a,aa"], &["no column \"aa\"", "did you mean a?"]);
    refused(&["--target", "y", "--features", "a,a"], &["\"a\"", "twice"]);
    refused(&["--target", "y", "--features", "a,y"], &["\"y\"", "feature"]);
    refused(&["--target", "y", "--drop", "id"], &["no column \"id\""]);
    refused(&["--target", "y", "--drop", "a,b,c,w"], &["at least one feature"]);
    refused(&["--target", "y", "--weight", "weights"], &["no column \"weights\""]);
    refused(&["--target", "y", "--weight", "c"], &["row 1", "\"c\"", "not a number"]);
    refused(&["--target", "y", "--weight", "y"], &["\"y\"", "weight"]);
    refused(&["--target", "y", "--categorical", "id"], &["no column \"id\""]);
    refused(&["--target", "y", "--memory", "1"], &["10 rows need", "1 bytes may be used"]);
    refused(&["--target", "y", "--memory", "100", "--kernel", "linear"], &["10 rows need"]);
    refused(&["--target", "y", "--kernel", "equality", "--features", "a,b"], &["equality", "text"]);
    refused(
        &["--target", "y", "--features", "a,b", "--kernel", "gaussian(lengthscale=[1,2,3])"],
        &["lengthscales", "(2)", "got 3"],
    );
    refused(
        &["--target", "y", "--features", "a,b", "--kernel", "additive-spline", "--scale", "standard"],
        &["row ", "column", "negative", "--scale unit"],
    );
    refused(&["--target", "y", "--separator", ";"], &["no column \"y\""]);
    refused(&["--target", "y", "--separator", ",", "--decimal", "comma"], &["separator", "comma"]);
    refused(&["--target", "y", "--no-header"], &["no column \"y\"", "x1"]);
    // An identifier, and a table of texts.
    let mut ids = String::from("id,y\n");
    (0..150).for_each(|i| ids.push_str(&format!("id{i},{i}\n")));
    lab.file("t.csv", &ids);
    lab.fails(&["fit", "t.csv", "--target", "y"], DATA, &["\"id\"", "150 different texts", "--drop", "--categorical"]);
    lab.works(&["fit", "t.csv", "--target", "y", "--categorical", "id", "--json"], DONE);
    lab.file("one.csv", "y\n1\n2\n");
    lab.fails(&["fit", "one.csv", "--target", "y"], DATA, &["at least one feature"]);
    lab.finish(50);
}

#[test]
fn precomputed_kernels() {
    let mut lab = Lab::new();
    let gram = |change: &dyn Fn(usize, usize) -> f64, columns: usize| {
        let mut text = (1..=columns).map(|j| format!("k{j},")).collect::<String>() + "y\n";
        for i in 0..6 {
            (0..columns).for_each(|j| text.push_str(&format!("{},", change(i, j))));
            text.push_str(&format!("{}\n", (i as f64).sin()));
        }
        text
    };
    let good = |i: usize, j: usize| (-0.5 * (i as f64 - j as f64).powi(2)).exp();
    let fit = ["fit", "t.csv", "--target", "y", "--kernel", "precomputed"];
    lab.file("t.csv", gram(&good, 5));
    lab.fails(&fit, DATA, &["precomputed kernel", "as many columns as rows (6)", "got 5"]);
    lab.file("t.csv", gram(&good, 7));
    lab.fails(&fit, DATA, &["precomputed kernel", "(6)", "got 7"]);
    lab.file("t.csv", gram(&|i, j| if (i, j) == (1, 4) { 0.75 } else { good(i, j) }, 6));
    lab.fails(&fit, DATA, &["symmetric", "row 2, column 5 is 0.75", "row 5, column 2"]);
    lab.file("t.csv", gram(&|i, j| if i == j { 0.1 } else { 1.0 }, 6));
    lab.fails(&fit, DATA, &["negative eigenvalue", "positive semidefinite"]);
    lab.file("t.csv", gram(&|i, j| 1e300 * good(i, j), 6));
    lab.fails(&fit, DATA, &["kernel values reach"]);
    lab.file("t.csv", gram(&good, 6));
    let once =
        lab.works(&["fit", "t.csv", "--target", "y", "--kernel", "precomputed", "--lambda", "0.1", "--json"], DONE);
    // Twice the kernel at twice λ is the same function.
    let spec = ["fit", "t.csv", "--target", "y", "--kernel", "2*precomputed", "--lambda", "0.2", "--json"];
    let twice = lab.works(&spec, DONE);
    let number = |output: &Output| {
        let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
        report["train_rmse"].as_f64().unwrap_or(f64::NAN)
    };
    if !((number(&once) - number(&twice)).abs() < 1e-12) {
        lab.note(&spec, &twice, &format!("train_rmse {} instead of {}", number(&twice), number(&once)));
    }
    lab.finish(12);
}

// ---- options --------------------------------------------------------------------------------------------------

#[test]
fn options_that_are_none() {
    let mut lab = Lab::new();
    let mut refused = |arguments: &[&str], parts: &[&str]| {
        let all: Vec<&str> =
            ["fit", "good.csv", "--target", "y"].into_iter().chain(arguments.iter().copied()).collect();
        lab.fails(&all, USAGE, parts);
    };
    refused(
        &["--kernel", "gauss"],
        &["--kernel", "unknown kernel \"gauss\"", "linear, polynomial, gaussian", "did you mean gaussian?"],
    );
    refused(&["--kernel", "sigmoid"], &["unknown kernel \"sigmoid\"", "additive-spline"]);
    refused(&["--kernel", "gaussian(width=1)"], &["gaussian has no parameter \"width\"", "it has: lengthscale"]);
    refused(&["--kernel", "gaussian(lengthscale=0)"], &["lengthscale of gaussian must be positive", "got 0"]);
    refused(&["--kernel", "gaussian(lengthscale=-1)"], &["got -1"]);
    refused(&["--kernel", "polynomial(degree=2.5)"], &["whole number", "got 2.5"]);
    refused(&["--kernel", "gaussian(lengthscale=1"], &["cannot read", "character"]);
    refused(&["--kernel", ""], &["--kernel"]);
    refused(&["--kernel", "2*"], &["cannot read"]);
    refused(&["--kernel", "linear + precomputed"], &["precomputed kernel stands alone"]);
    for value in ["0", "-1", "nan", "inf", "abc", "1001", ""] {
        refused(&[&format!("--exponent={value}")], &["--exponent", "above 0", "1000"]);
    }
    for value in ["0", "-1", "nan", "inf", "abc", "1e-300", "1e300", ""] {
        refused(&[&format!("--lambda={value}")], &["--lambda", "above 0"]);
    }
    for value in ["0", "-1", "abc", "1.5", "100000"] {
        refused(&[&format!("--threads={value}")], &["--threads", "whole number"]);
    }
    for value in ["many", "-1G", "0", "1X", ""] {
        refused(&[&format!("--memory={value}")], &["--memory", "bytes"]);
    }
    for value in ["ab", "1", "\"", ""] {
        refused(&[&format!("--separator={value}")], &["--separator"]);
    }
    refused(&["--scale", "log"], &["--scale", "standard, unit, none"]);
    refused(&["--missing", "ignore"], &["--missing", "error, drop, mean"]);
    refused(&["--text", "hash"], &["--text", "one-hot, equality"]);
    refused(&["--decimal", "dot"], &["--decimal", "point, comma"]);
    refused(&["--seed=-1"], &["--seed"]);
    refused(&["--nosuch"], &["--nosuch"]);
    refused(&["--features", "a", "--drop", "b"], &["--features", "--drop"]);
    refused(&["--no-diagnostics"], &["--lambda"]);
    refused(&["--quiet", "--verbose"], &["--verbose"]);
    refused(&["more.csv"], &["more.csv"]);
    lab.fails(&["fit", "good.csv"], USAGE, &["--target"]);
    lab.fails(&["fit", "--target", "y"], USAGE, &["TABLE"]);
    lab.fails(&["predict"], USAGE, &["MODEL"]);
    lab.fails(&["predict", "m.mercer", "good.csv", "--json", "--output", "p.csv"], USAGE, &["--output"]);
    lab.fails(&["inspect"], USAGE, &["MODEL"]);
    lab.fails(&["fitt"], USAGE, &["fitt", "'fit'"]);
    lab.fails(&["completions", "tcsh"], USAGE, &["tcsh", "bash"]);
    lab.fails(&["man"], USAGE, &["FOLDER"]);
    lab.fails(&["generate", "friedmann1"], USAGE, &["friedmann1", "friedman1, friedman2", "did you mean friedman1?"]);
    lab.fails(&["generate", "sinc", "--rows", "0"], USAGE, &["--rows", "whole number"]);
    lab.fails(&["generate", "sinc", "--rows", "1000000000"], USAGE, &["--rows", "whole number"]);
    lab.fails(&["generate", "sinc", "--noise=-1"], USAGE, &["--noise", "at least 0"]);
    lab.fails(&["generate", "sinc", "--noise=nan"], USAGE, &["--noise", "at least 0"]);
    // Nothing at all: the help, on standard error.
    lab.tried += 1;
    let nothing = lab.run(&[], b"").0;
    assert_eq!(nothing.status.code(), Some(USAGE));
    assert!(nothing.stdout.is_empty() && String::from_utf8_lossy(&nothing.stderr).contains("Usage:"));
    lab.finish(95);
}

#[test]
fn places_that_cannot_be_written() {
    let mut lab = Lab::new();
    fs::create_dir(lab.path("folder")).unwrap();
    let fit = ["fit", "good.csv", "--target", "y", "--output"];
    let mut refused = |place: &str, parts: &[&str]| {
        let all: Vec<&str> = fit.into_iter().chain([place]).collect();
        lab.fails(&all, DATA, parts);
        lab.fails(&["generate", "sinc", "--output", place], DATA, parts);
    };
    refused("nosuch/m.mercer", &["cannot write nosuch/m.mercer"]);
    refused("good.csv/m.mercer", &["cannot write good.csv/m.mercer"]);
    refused("folder", &["folder"]);
    refused("/proc/nosuch/m.mercer", &["cannot write /proc/nosuch/m.mercer"]);
    refused("/dev/null", &["/dev/null", "regular file"]);
    refused("", &["file"]);
    let long = "n".repeat(300);
    refused(&long, &["cannot write"]);
    lab.fails(&["generate", "sinc", "--output", "t.libsvm"], DATA, &["t.libsvm", "csv, parquet or arrow"]);
    lab.fails(&["generate", "sinc", "--output", "t.parquet.gz"], DATA, &["t.parquet.gz", ".gz"]);
    lab.fails(&["man", "nosuch"], DATA, &["cannot write nosuch/mercer.1"]);
    lab.fails(&["man", "good.csv"], DATA, &["cannot write good.csv/mercer.1"]);
    assert_eq!(fs::read_to_string(lab.path("good.csv")).unwrap(), good());
    lab.finish(18);
}

/// A ridge at the rounding level: there is an answer, it is saved, and the exit code says what it is worth.
#[test]
fn finished_without_certificate() {
    let mut lab = Lab::new();
    lab.works(&["generate", "sinc", "--rows", "80", "--output", "t.csv"], DONE);
    let fit = ["fit", "t.csv", "--target", "y", "--lambda", "1e-40", "--kernel", "gaussian(lengthscale=5)"];
    let output = lab.works(&[&fit[..], &["--json", "--output", "m.mercer"]].concat(), UNCERTIFIED);
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["certificate"]["holds"], false);
    let reason = report["certificate"]["reason"].as_str().unwrap();
    let error = String::from_utf8(output.stderr).unwrap();
    assert_eq!(error.trim_end(), format!("without certificate (y): {reason}"));
    assert!(reason.contains("larger λ"), "{reason}");
    lab.works(&["predict", "m.mercer", "t.csv", "--output", "p.csv"], DONE);
    lab.works(&["inspect", "m.mercer"], DONE);
    // --quiet does not hide it.
    let quiet = lab.works(&[&fit[..], &["--quiet"]].concat(), UNCERTIFIED);
    assert!(quiet.stdout.is_empty() && !quiet.stderr.is_empty());
    lab.finish(5);
}

/// Whatever was fitted and saved can be used: exponents near 1, tiny exponents, tiny and huge targets.
#[test]
fn what_is_saved_can_be_used() {
    let mut lab = Lab::new();
    let mut failures = Vec::new();
    for scale in [1e-300, 1.0, 1e100, 1e149] {
        let mut table = String::from("a,y\n");
        (0..12).for_each(|i| table.push_str(&format!("{i},{:e}\n", scale * (0.5 * f64::from(i)).sin())));
        lab.file("t.csv", table);
        for exponent in ["0.05", "0.5", "0.9", "0.999", "0.9999999", "1", "1.0000001", "1.5", "2", "3", "100", "1000"] {
            for kernel in ["gaussian", "linear"] {
                let mut arguments = vec!["fit", "t.csv", "--target", "y", "--kernel", kernel, "--exponent", exponent];
                arguments.extend(["--quiet", "--output", "m.mercer"]);
                lab.tried += 1;
                let (output, _) = lab.run(&arguments, b"");
                match output.status.code() {
                    Some(DONE | UNCERTIFIED) => {}
                    Some(DATA) if unclear(&String::from_utf8_lossy(&output.stderr), DATA).is_none() => continue,
                    code => lab.note(&arguments, &output, &format!("exit code {code:?}")),
                }
                lab.tried += 1;
                let (output, _) = lab.run(&["predict", "m.mercer", "t.csv", "--quiet"], b"");
                let text = String::from_utf8_lossy(&output.stdout).into_owned();
                let predicted = text
                    .lines()
                    .skip(1)
                    .filter(|line| line.rsplit(',').next().is_some_and(|cell| cell.parse().is_ok_and(f64::is_finite)));
                if output.status.code() != Some(DONE) || predicted.count() != 12 {
                    let error = String::from_utf8_lossy(&output.stderr).into_owned();
                    failures.push(format!("y of {scale:e}, {kernel}, exponent {exponent}: {}", error.trim_end()));
                }
                fs::remove_file(lab.path("m.mercer")).unwrap();
            }
        }
    }
    assert!(failures.is_empty(), "{} models cannot be used: {failures:#?}", failures.len());
    lab.finish(150);
}

// ---- models ---------------------------------------------------------------------------------------------------

fn lab_with_model() -> Lab {
    let lab = Lab::new();
    let (output, _) = lab.run(&["fit", "good.csv", "--target", "y", "--drop", "w", "--output", "m.mercer", "-q"], b"");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    lab
}

#[test]
fn models_that_are_none() {
    let mut lab = lab_with_model();
    let model = fs::read(lab.path("m.mercer")).unwrap();
    let mut files: Vec<(&str, Vec<u8>, &str)> = vec![
        ("empty", vec![], "not a Mercer model file"),
        (
            "garbage",
            (0..3000_u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 11) as u8).collect(),
            "not a Mercer model file",
        ),
        ("table", good().into_bytes(), "not a Mercer model file"),
        ("magic only", model[..8].to_vec(), "not a Mercer model file"),
        ("cut at 40", model[..40].to_vec(), "not a Mercer model file"),
        ("cut in the middle", model[..model.len() / 2].to_vec(), "damaged"),
        ("one byte less", model[..model.len() - 1].to_vec(), "damaged"),
        ("one byte more", [model.clone(), vec![0]].concat(), "damaged"),
        ("twice", [model.clone(), model.clone()].concat(), "damaged"),
    ];
    for (name, at, expected) in [
        ("flipped in the magic", 3, "not a Mercer model file"),
        ("flipped in the version", 8, "version"),
        ("flipped in a length", 20, "damaged"),
        ("flipped in the header", 60, "checksum"),
        ("flipped in the middle", model.len() / 2, "checksum"),
        ("flipped in the checksum", model.len() - 1, "checksum"),
    ] {
        let mut bytes = model.clone();
        bytes[at] ^= 1;
        files.push((name, bytes, expected));
    }
    let count = files.len();
    for (_, bytes, expected) in &files {
        lab.file("bad.mercer", bytes);
        lab.fails(&["predict", "bad.mercer", "good.csv"], DATA, &["bad.mercer", expected]);
        lab.fails(&["inspect", "bad.mercer"], DATA, &["bad.mercer", expected]);
        lab.fails(&["inspect", "bad.mercer", "--json"], DATA, &["bad.mercer", expected]);
        lab.fails_on(&["predict", "-", "good.csv"], bytes, DATA, &[expected]);
    }
    lab.fails(&["predict", "nosuch.mercer", "good.csv"], DATA, &["cannot read nosuch.mercer"]);
    lab.fails(&["predict", ".", "good.csv"], DATA, &["folder"]);
    lab.fails(&["inspect", "nosuch.mercer"], DATA, &["cannot read nosuch.mercer"]);
    lab.fails(&["inspect", "."], DATA, &["folder"]);
    lab.fails(&["predict", "/dev/zero", "good.csv"], DATA, &["/dev/zero", "regular file"]);
    // Model and table the wrong way round.
    lab.fails(&["predict", "good.csv", "m.mercer"], DATA, &["good.csv", "not a Mercer model file"]);
    lab.fails(&["fit", "m.mercer", "--target", "y"], DATA, &["m.mercer"]);
    assert_eq!(count, 15);
    lab.finish(15 * 6 + 10);
}

#[test]
fn tables_that_cannot_be_predicted() {
    let mut lab = lab_with_model();
    let cases: Vec<(&str, &[&str])> = vec![
        ("b,c\n1,p\n", &["no column \"a\"", "it has: b, c"]),
        ("A,b,c\n1,2,p\n", &["no column \"a\"", "did you mean A?"]),
        ("x\n1\n", &["no column \"a\""]),
        ("a,b,c\n1,2,p\n2,two,q\n", &["row 2", "\"b\"", "\"two\" is not a number"]),
        ("a,b,c\n1,2,p\n2,,q\n", &["row 2", "\"b\"", "missing"]),
        ("a,b,c\n1,2,p\n2,nan,q\n", &["row 2", "\"b\"", "missing"]),
        ("a,b,c\n1,2,p\n2,3,\n", &["row 2", "\"c\"", "missing"]),
        ("a,b,c\n1,2,p\n2,inf,q\n", &["row 2", "\"b\"", "not a finite number"]),
        ("a,b,c\n1,2,p\n2,1e400,q\n", &["row 2", "\"b\"", "not a finite number"]),
        ("a,b,c\n1,2\n", &["row 1", "2 cells"]),
        ("a,b,c,prediction\n1,2,p,7\n", &["\"prediction\"", "already"]),
        ("", &["is empty"]),
        ("a,b,c\n1,2,p\n\"2,3,q\n", &["quote"]),
    ];
    let count = cases.len();
    for (table, parts) in &cases {
        lab.file("t.csv", table);
        lab.fails(&["predict", "m.mercer", "t.csv"], DATA, parts);
        lab.fails_on(&["predict", "m.mercer", "-"], table.as_bytes(), DATA, parts);
        if !table.contains("prediction") {
            lab.fails(&["predict", "m.mercer", "t.csv", "--json"], DATA, parts);
        }
    }
    lab.fails(&["predict", "m.mercer", "good.csv", "--name", "a"], DATA, &["\"a\"", "already"]);
    lab.fails(&["predict", "m.mercer", "good.csv", "--name", "y"], DATA, &["\"y\"", "already"]);
    lab.fails(&["predict", "m.mercer", "nosuch.csv"], DATA, &["cannot read nosuch.csv"]);
    lab.fails(&["predict", "m.mercer", "."], DATA, &["folder"]);
    lab.fails(&["predict", "m.mercer", "good.csv", "--output", "nosuch/p.csv"], DATA, &["cannot write nosuch/p.csv"]);
    lab.fails(&["predict", "m.mercer", "good.csv", "--output", "."], DATA, &["folder"]);
    lab.fails(&["predict", "m.mercer", "good.csv", "--output", "p.svm"], DATA, &["p.svm", "csv, parquet or arrow"]);
    lab.fails(&["predict", "m.mercer", "good.csv", "--format", "parquet"], DATA, &["good.csv"]);

    // Strange, but fine.
    lab.file("t.csv", "a,b,c\n");
    let output = lab.works(&["predict", "m.mercer", "t.csv"], DONE);
    assert_eq!(String::from_utf8_lossy(&output.stdout), "a,b,c,prediction\n");
    lab.file("t.csv", "c,extra,b,a\nnever seen,x,2,1e300\np,,-0,5e-324\n");
    let output = lab.works(&["predict", "m.mercer", "t.csv"], DONE);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(
        text.lines().skip(1).all(|line| line.rsplit(',').next().unwrap().parse::<f64>().unwrap().is_finite()),
        "{text}"
    );
    lab.file("t.csv", "a,b,c,prediction\n1,2,p,7\n");
    lab.works(&["predict", "m.mercer", "t.csv", "--name", "again"], DONE);
    assert_eq!(count, 13);
    lab.finish(13 * 4 + 12);
}

/// What a table's own cells look like when a prediction is added: as they were, letter for letter.
#[test]
fn a_failed_prediction_leaves_its_input_alone() {
    let mut lab = lab_with_model();
    let before = fs::read(lab.path("good.csv")).unwrap();
    // Onto itself, and it fails: the table is still there.
    lab.file("t.csv", "a,b,c\n1,2,p\n2,two,q\n");
    lab.fails(&["predict", "m.mercer", "t.csv", "--output", "t.csv"], DATA, &["row 2"]);
    assert_eq!(fs::read_to_string(lab.path("t.csv")).unwrap(), "a,b,c\n1,2,p\n2,two,q\n");
    // Onto the model, and it fails.
    let model = fs::read(lab.path("m.mercer")).unwrap();
    lab.fails(&["predict", "m.mercer", "t.csv", "--output", "m.mercer"], DATA, &["row 2"]);
    assert_eq!(fs::read(lab.path("m.mercer")).unwrap(), model);
    assert_eq!(fs::read(lab.path("good.csv")).unwrap(), before);
    let left: Vec<_> = fs::read_dir(lab.folder.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(left.len(), 3, "{left:?}");
    assert!(Path::new(&lab.path("t.csv")).exists());
    lab.finish(2);
}
