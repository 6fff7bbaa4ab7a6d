//! The program when everything is in order: reports, files, pipes, formats, threads, and the promises of its help.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use std::process::{Output, Stdio};
use std::time::{Duration, Instant};

use assert_cmd::Command;
use mercer::data::{Column, Frame, Roles, Scale};
use mercer::{Fit, kernel};
use mercer_io::ReadOptions;
use serde_json::Value;
use sha2::{Digest, Sha256};
use tempfile::TempDir;

struct Lab {
    folder: TempDir,
}

impl Lab {
    fn new() -> Self {
        Lab { folder: tempfile::tempdir().unwrap() }
    }

    /// A folder with `t.csv`, generated.
    fn with_table(name: &str, rows: usize) -> Self {
        let lab = Lab::new();
        lab.ok(&["generate", name, "--rows", &rows.to_string(), "--noise", "0.3", "--output", "t.csv"]);
        lab
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn file(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).unwrap();
    }

    fn bytes(&self, name: &str) -> Vec<u8> {
        fs::read(self.path(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_mercer"));
        command.args(arguments).current_dir(self.folder.path()).timeout(Duration::from_secs(60));
        command
    }

    /// A run that must end with 0.
    fn ok(&self, arguments: &[&str]) -> Output {
        self.ok_on(arguments, &[])
    }

    fn ok_on(&self, arguments: &[&str], input: &[u8]) -> Output {
        let output = self.command(arguments).write_stdin(input.to_vec()).output().unwrap();
        let error = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "mercer {}: {error}", arguments.join(" "));
        output
    }

    fn json(&self, arguments: &[&str]) -> Value {
        let output = self.ok(arguments);
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(text.ends_with("}\n") && text.lines().count() == 1, "one object on one line: {text}");
        serde_json::from_str(&text).unwrap()
    }

    /// Runs a line of shell with `mercer` in it; the exit code is that of the first command that failed.
    fn shell(&self, line: &str) -> Output {
        let program = env!("CARGO_BIN_EXE_mercer");
        std::process::Command::new("bash")
            .args(["-o", "pipefail", "-c", &format!("mercer() {{ {program:?} \"$@\"; }}; {line}")])
            .current_dir(self.folder.path())
            .stdin(Stdio::null())
            .output()
            .expect("bash")
    }

    /// The cells of a column of a file, as bits.
    fn column(&self, file: &str, name: &str) -> Vec<u64> {
        let path = self.path(file);
        let table = mercer_io::read(path.to_str().unwrap(), &ReadOptions::default()).unwrap();
        bits(&table.frame, name)
    }
}

fn bits(frame: &Frame, name: &str) -> Vec<u64> {
    match frame.column(name).unwrap() {
        Column::Number(cells) => cells.iter().map(|cell| cell.to_bits()).collect(),
        Column::Text(_) => panic!("{name} is text"),
    }
}

fn text(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn error(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn hash(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

fn number(report: &Value, key: &str) -> f64 {
    report[key].as_f64().unwrap_or_else(|| panic!("{key} is {}", report[key]))
}

fn close(a: f64, b: f64, tolerance: f64) -> bool {
    (a - b).abs() <= tolerance * a.abs().max(b.abs())
}

/// Every string of a command line.
fn line<'a>(parts: &[&[&'a str]]) -> Vec<&'a str> {
    parts.concat()
}

// ---- reports --------------------------------------------------------------------------------------------------

#[test]
fn the_report_as_json_has_every_fact() {
    let lab = Lab::with_table("friedman1", 60);
    let mut tried = 0;
    for (kernel, exponent, lambda) in [
        ("gaussian", "2", None),
        ("gaussian", "1.5", Some("0.01")),
        ("linear", "0.5", Some("0.001")),
        ("additive-spline", "1", None),
        ("polynomial", "3", None),
        ("matern32", "0.5", Some("1e9")),
    ] {
        let mut arguments = vec!["fit", "t.csv", "--target", "y", "--json", "--kernel", kernel, "--exponent", exponent];
        arguments.extend(lambda.iter().flat_map(|lambda| ["--lambda", lambda]));
        let report = lab.json(&arguments);
        for key in [
            "n",
            "kernel",
            "lambda",
            "exponent",
            "effective_ridge",
            "norm",
            "objective",
            "intercept",
            "dof",
            "train_rmse",
            "loo_rmse",
            "stationary_points",
            "is_zero",
            "certificate",
        ] {
            assert!(report.get(key).is_some(), "{kernel}, exponent {exponent}: no {key}");
        }
        assert_eq!(report["n"], 60);
        assert_eq!(number(&report, "exponent"), exponent.parse::<f64>().unwrap());
        assert!(report["kernel"].as_str().unwrap().starts_with(kernel));
        assert_eq!(report["lambda_was_chosen"], lambda.is_none());
        if let Some(lambda) = lambda {
            assert_eq!(number(&report, "lambda"), lambda.parse::<f64>().unwrap());
        }
        assert_eq!(report["certificate"]["holds"], true);
        assert_eq!(
            report["stationary_points"].as_u64(),
            report["stationary_ridges"].as_array().map(|r| r.len() as u64)
        );
        let (norm, rmse) = (number(&report, "norm"), number(&report, "train_rmse"));
        let penalty = number(&report, "lambda") * norm.powf(number(&report, "exponent"));
        assert!(
            close(number(&report, "objective"), rmse * rmse + penalty, 1e-9),
            "{kernel}, exponent {exponent}: {report}"
        );
        if report["is_zero"] == true {
            assert!(report["effective_ridge"].is_null() && norm == 0.0);
        } else {
            assert!(number(&report, "effective_ridge") > 0.0 && norm > 0.0);
            let loo = number(&report, "loo_rmse");
            assert!(loo > rmse, "left out, {loo}, must be worse than trained on, {rmse}");
        }
        tried += 1;
    }
    // λ of 1e9 at exponent 0.5 leaves the zero function; a report must say so.
    let zero = lab.json(&["fit", "t.csv", "--target", "y", "--json", "-m", "0.5", "--lambda", "1e9"]);
    assert_eq!(zero["is_zero"], true);
    assert_eq!(tried, 6);
}

#[test]
fn the_report_for_people() {
    let lab = Lab::with_table("sinc", 50);
    let output = lab.ok(&["fit", "t.csv", "--target", "y"]);
    let page = text(&output);
    for part in [
        "50 rows, 1 feature",
        "gaussian(lengthscale=",
        "target",
        "by exact leave-one-out",
        "RMSE",
        "global minimum",
        "not saved",
        "t.mercer",
    ] {
        assert!(page.contains(part), "{part}: {page}");
    }
    assert!(page.lines().count() < 40 && page.lines().all(|line| line.chars().count() <= 140), "{page}");
    let page = text(&lab.ok(&["fit", "t.csv", "--target", "y", "--verbose", "--output", "m.mercer"]));
    assert!(page.contains("eigendecomposition") && page.contains("forecast") && page.contains("m.mercer"), "{page}");
    let output = lab.ok(&["fit", "t.csv", "--target", "y", "--quiet", "--output", "m.mercer"]);
    assert!(output.stdout.is_empty() && output.stderr.is_empty());
    let output = lab.ok(&["predict", "m.mercer", "t.csv", "--quiet", "--output", "p.csv"]);
    assert!(output.stdout.is_empty() && output.stderr.is_empty());
}

#[test]
fn inspect_tells_what_fit_found() {
    let lab = Lab::with_table("friedman2", 40);
    let fitted = lab.json(&["fit", "t.csv", "--target", "y", "--json", "--output", "m.mercer", "--exponent", "1.3"]);
    let inspected = lab.json(&["inspect", "m.mercer", "--json"]);
    let facts = inspected.as_object().unwrap();
    assert!(facts.len() >= 18, "{inspected}");
    for (key, value) in facts {
        assert_eq!(Some(value), fitted.get(key), "{key}");
    }
    let page = text(&lab.ok(&["inspect", "m.mercer"]));
    for part in
        ["gaussian(lengthscale=", "features 4", "x1: (x", "40 training points", "target", "‖f‖", "global minimum"]
    {
        assert!(page.contains(part), "{part}: {page}");
    }
    lab.ok(&["fit", "t.csv", "--target", "y", "--kernel", "linear", "--output", "m.mercer", "--quiet"]);
    let page = text(&lab.ok(&["inspect", "m.mercer"]));
    assert!(page.contains("coefficients of a linear function"), "{page}");
}

// ---- the same numbers everywhere ------------------------------------------------------------------------------

#[test]
fn the_prediction_column_is_the_library_s_bit_for_bit() {
    let lab = Lab::with_table("friedman1", 90);
    lab.ok(&["generate", "friedman1", "--rows", "130", "--seed", "9", "--output", "new.csv"]);
    let read = |name: &str| mercer_io::read(lab.path(name).to_str().unwrap(), &ReadOptions::default()).unwrap().frame;
    let (training, new) = (read("t.csv"), read("new.csv"));
    let roles = Roles { targets: vec!["y".into()], ..Roles::default() };
    let mut tried = 0;
    for (spec, exponent, lambda, scale) in [
        ("gaussian", 2.0, None, Scale::Standard),
        ("gaussian(lengthscale=median)", 1.3, None, Scale::Standard),
        ("matern52(lengthscale=2.5)", 0.5, Some(1e-3), Scale::Standard),
        ("additive-spline", 2.0, Some(1e-4), Scale::Unit),
        ("linear", 2.0, None, Scale::Standard),
        ("0.5*linear + gaussian(lengthscale=3)*spline0", 1.5, Some(0.01), Scale::Unit),
        ("normalized-polynomial(degree=2)", 3.0, None, Scale::Standard),
    ] {
        let mut fit = Fit::with_shared(kernel::parse(spec).unwrap()).exponent(exponent).scale(scale);
        let (exponent, given) = (exponent.to_string(), lambda.map(|lambda: f64| lambda.to_string()));
        let mut arguments = vec!["fit", "t.csv", "--target", "y", "--kernel", spec, "--exponent", &exponent, "--quiet"];
        arguments.extend(["--output", "m.mercer"]);
        if let (Some(lambda), Some(given)) = (lambda, &given) {
            fit = fit.lambda(lambda);
            arguments.extend(["--lambda", given]);
        }
        lab.ok(&arguments);
        let model = fit.fit_frame(&training, &roles).unwrap().model;
        assert_eq!(lab.bytes("m.mercer"), mercer::format::to_bytes(&model).unwrap(), "{spec}: another model");
        let want: Vec<u64> = model.predict_frame(&new).unwrap()[0].iter().map(|v| v.unwrap().to_bits()).collect();

        lab.ok(&["predict", "m.mercer", "new.csv", "--output", "p.csv", "--quiet"]);
        assert_eq!(lab.column("p.csv", "prediction"), want, "{spec}");
        let report = lab.json(&["predict", "m.mercer", "new.csv", "--json"]);
        let listed = report["predictions"]["prediction"].as_array().unwrap();
        let listed: Vec<u64> = listed.iter().map(|v| v.as_f64().unwrap().to_bits()).collect();
        assert_eq!(listed, want, "{spec}, as JSON");
        assert_eq!(report["n"], 130);
        tried += 1;
    }
    assert_eq!(tried, 7);
    // The table's own cells come back letter for letter.
    let before = String::from_utf8(lab.bytes("new.csv")).unwrap();
    let after = String::from_utf8(lab.bytes("p.csv")).unwrap();
    for (before, after) in before.lines().zip(after.lines()) {
        assert_eq!(after.rsplit_once(',').unwrap().0, before);
    }
}

#[test]
fn standard_input_and_output() {
    let lab = Lab::with_table("sinc", 40);
    let table = lab.bytes("t.csv");
    lab.ok(&["fit", "t.csv", "--target", "y", "--output", "m.mercer", "--quiet"]);
    let model = lab.bytes("m.mercer");
    // The table from standard input, the model to standard output, the report beside it.
    let piped = lab.ok_on(&["fit", "-", "--target", "y", "--output", "-"], &table);
    assert_eq!(piped.stdout, model);
    assert!(error(&piped).contains("leave-one-out RMSE"), "{}", error(&piped));
    let piped = lab.ok_on(&["fit", "-", "--target", "y", "--output", "-", "--json"], &table);
    assert_eq!(piped.stdout, model);
    assert!(serde_json::from_str::<Value>(&error(&piped)).unwrap()["n"] == 40);
    let quiet = lab.ok_on(&["fit", "-", "--target", "y", "--output", "-", "--quiet"], &table);
    assert!(quiet.stdout == model && quiet.stderr.is_empty());

    lab.ok(&["predict", "m.mercer", "t.csv", "--output", "p.csv", "--quiet"]);
    let predicted = lab.bytes("p.csv");
    let to_stdout = lab.ok(&["predict", "m.mercer", "t.csv"]);
    assert_eq!(to_stdout.stdout, predicted);
    assert!(error(&to_stdout).contains("40 rows predicted") && error(&to_stdout).contains("RMSE"));
    assert_eq!(lab.ok(&["predict", "m.mercer", "t.csv", "--output", "-"]).stdout, predicted);
    assert_eq!(lab.ok_on(&["predict", "m.mercer", "-"], &table).stdout, predicted);
    assert_eq!(lab.ok_on(&["predict", "-", "t.csv"], &model).stdout, predicted);
    assert_eq!(lab.ok_on(&["inspect", "-"], &model).stdout, lab.ok(&["inspect", "m.mercer"]).stdout);
    // A whole pipeline.
    let line = "mercer generate sinc --rows 40 --noise 0.3 | mercer fit - --target y --output - -q | mercer predict - t.csv -q";
    let pipeline = lab.shell(line);
    assert!(pipeline.status.success(), "{}", error(&pipeline));
    assert_eq!(pipeline.stdout, predicted);
}

#[test]
fn every_table_format_gives_the_same_model() {
    let lab = Lab::new();
    let formats = ["csv", "tsv", "csv.gz", "tsv.gz", "parquet", "arrow", "feather"];
    let mut models = BTreeSet::new();
    let mut predictions = BTreeSet::new();
    for format in formats {
        let (table, predicted) = (format!("t.{format}"), format!("p.{format}"));
        lab.ok(&["generate", "friedman3", "--rows", "70", "--noise", "0.1", "--output", &table]);
        lab.ok(&["fit", &table, "--target", "y", "--output", "m.mercer", "--quiet"]);
        models.insert(hash(&lab.bytes("m.mercer")));
        lab.ok(&["predict", "m.mercer", &table, "--output", &predicted, "--quiet"]);
        let column = lab.column(&predicted, "prediction");
        assert_eq!(column.len(), 70, "{format}");
        // The table is all there, too.
        assert_eq!(lab.column(&predicted, "y"), lab.column(&table, "y"), "{format}");
        predictions.insert(column);
        // From standard input the format must be found in the bytes.
        lab.ok_on(&["fit", "-", "--target", "y", "--output", "m.mercer", "--quiet"], &lab.bytes(&table));
        models.insert(hash(&lab.bytes("m.mercer")));
    }
    assert_eq!((models.len(), predictions.len()), (1, 1), "{models:?}");
    // From one format to another.
    for format in formats {
        let (table, predicted) = (format!("t.{format}"), format!("q.{}", formats[(format.len() * 3) % formats.len()]));
        lab.ok(&["predict", "m.mercer", &table, "--output", &predicted, "--quiet"]);
        predictions.insert(lab.column(&predicted, "prediction"));
    }
    assert_eq!(predictions.len(), 1);

    // LIBSVM and text tables in other dialects.
    let rows: Vec<[f64; 3]> =
        (0..30).map(|i| f64::from(i) * 0.37).map(|x| [x.sin(), x.cos() * 2.0, x.sin() * x]).collect();
    let numbers = |row: &[f64; 3], separator: &str| row.map(|x| x.to_string()).join(separator);
    let csv: String = rows.iter().map(|row| numbers(row, ",") + "\n").collect();
    let comma: String = rows.iter().map(|row| numbers(row, ";").replace('.', ",") + "\r\n").collect();
    let blank: String = rows.iter().map(|row| format!("  {}\n", numbers(row, "   "))).collect();
    let svm: String = rows.iter().map(|[a, b, y]| format!("{y} 1:{a} 2:{b} # row\n")).collect();
    lab.file("plain.csv", &format!("x1,x2,y\n{csv}"));
    lab.file("comma.csv", &format!("x1;x2;y\r\n{comma}"));
    lab.file("blank.txt", &format!("x1 x2 y\n{blank}"));
    lab.file("bare.csv", &csv);
    lab.file("t.svm", &svm);
    lab.file("svm.txt", &svm);
    let mut models = BTreeSet::new();
    for arguments in [
        &["plain.csv", "--target", "y"][..],
        &["comma.csv", "--target", "y", "--decimal", "comma"],
        &["comma.csv", "--target", "y", "--decimal", "comma", "--separator", ";"],
        &["blank.txt", "--target", "y"],
        &["t.svm", "--target", "y"],
        &["svm.txt", "--target", "y"],
        &["svm.txt", "--target", "y", "--format", "libsvm"],
    ] {
        lab.ok(&line(&[&["fit", "--output", "m.mercer", "--quiet"], arguments]));
        models.insert(hash(&lab.bytes("m.mercer")));
    }
    assert_eq!(models.len(), 1, "{models:?}");
    // Without a header the columns are x1, x2, x3.
    let named = lab.json(&["fit", "plain.csv", "--target", "y", "--json"]);
    let bare = lab.json(&["fit", "bare.csv", "--target", "x3", "--json"]);
    let told = lab.json(&["fit", "bare.csv", "--target", "x3", "--no-header", "--json"]);
    assert_eq!(named["objective"], bare["objective"]);
    assert_eq!(named["objective"], told["objective"]);
}

#[test]
fn a_weight_of_two_is_the_row_twice() {
    let lab = Lab::new();
    let row = |i: i32| {
        let x = f64::from(i);
        format!("{},{},{}", (0.7 * x).sin(), (1.3 * x).cos(), (0.4 * x).sin() + 0.1 * (5.0 * x).cos())
    };
    let (mut weighted, mut repeated) = (String::from("a,b,y,w\n"), String::from("a,b,y\n"));
    for i in 0..40 {
        let weight = [1, 2, 3, 0][i as usize % 4];
        weighted.push_str(&format!("{},{weight}\n", row(i)));
        (0..weight).for_each(|_| repeated.push_str(&(row(i) + "\n")));
    }
    lab.file("weighted.csv", &weighted);
    lab.file("repeated.csv", &repeated);
    lab.file("new.csv", &(String::from("a,b,y\n") + &(100..130).map(|i| row(i) + "\n").collect::<String>()));
    let (mut tried, mut tight) = (0, 0);
    for kernel in ["gaussian", "gaussian(lengthscale=0.8)", "linear", "polynomial", "additive-spline", "matern32"] {
        for exponent in ["0.5", "1", "1.5", "2", "3"] {
            for offset in [&[][..], &["--no-offset"]] {
                // The smaller the exponent, the smaller the ridge that a λ stands for.
                let lambda = if exponent == "0.5" { "0.05" } else { "1e-3" };
                let more = line(&[&["--kernel", kernel, "--exponent", exponent, "--lambda", lambda, "--json"], offset]);
                let one = lab.json(&line(&[
                    &["fit", "weighted.csv", "--target", "y", "--weight", "w", "--output", "one.mercer"],
                    &more,
                ]));
                let two =
                    lab.json(&line(&[&["fit", "repeated.csv", "--target", "y", "--output", "two.mercer"], &more]));
                assert_eq!((&one["n"], &two["n"]), (&Value::from(30), &Value::from(60)));
                assert_eq!(one["rows_dropped_weightless"], 10);
                // Small exponents find small ridges, and rounding counts as often as the condition number says.
                let allowed = (1e-15 * number(&one["certificate"], "condition")).max(1e-10);
                assert!(allowed < 1e-6, "{kernel}, exponent {exponent}: too near to singular to say anything");
                for key in ["objective", "norm", "train_rmse", "dof"] {
                    let (a, b) = (number(&one, key), number(&two, key));
                    assert!(close(a, b, allowed), "{kernel}, exponent {exponent}, {offset:?}: {key} {a} against {b}");
                }
                lab.ok(&["predict", "one.mercer", "new.csv", "--output", "one.csv", "-q"]);
                lab.ok(&["predict", "two.mercer", "new.csv", "--output", "two.csv", "-q"]);
                let (a, b) = (lab.column("one.csv", "prediction"), lab.column("two.csv", "prediction"));
                for (a, b) in a.into_iter().zip(b).map(|(a, b)| (f64::from_bits(a), f64::from_bits(b))) {
                    assert!((a - b).abs() < allowed, "{kernel}, exponent {exponent}: {a} against {b}");
                    tight += usize::from(allowed == 1e-10);
                }
                tried += 1;
            }
        }
    }
    assert_eq!(tried, 60);
    assert!(tight >= 40 * 30, "only {tight} predictions were held to 1e-10");
}

#[test]
fn several_targets_are_several_single_fits() {
    let lab = Lab::new();
    let mut table = String::from("a,b,y1,y2,y3\n");
    for i in 0..50 {
        let x = f64::from(i) * 0.21;
        let noise = |k: f64| 0.2 * ((x + 1.0) * k * 1000.0).sin();
        let [y1, y2, y3] = [x.sin() + noise(3.1), 1e6 * (x.cos() + noise(5.7)), 1e-6 * ((0.5 * x).sin() + noise(7.9))];
        table.push_str(&format!("{},{},{y1},{y2},{y3}\n", x.sin(), (2.0 * x).cos()));
    }
    lab.file("t.csv", &table);
    let mut tried = 0;
    for (kernel, exponent) in
        [("gaussian", "2"), ("gaussian", "1.5"), ("linear", "2"), ("linear", "0.5"), ("additive-spline", "3")]
    {
        for lambda in [&[][..], &["--lambda", "0.01"]] {
            let more = line(&[&["--kernel", kernel, "--exponent", exponent, "--json"], lambda]);
            let features = ["--features", "a,b"];
            let all = lab.json(&line(&[
                &["fit", "t.csv", "--target", "y1,y2,y3", "--output", "all.mercer"],
                &features,
                &more,
            ]));
            lab.ok(&["predict", "all.mercer", "t.csv", "--output", "all.csv", "-q"]);
            for (t, target) in ["y1", "y2", "y3"].into_iter().enumerate() {
                let one = lab.json(&line(&[
                    &["fit", "t.csv", "--target", target, "--output", "one.mercer"],
                    &features,
                    &more,
                ]));
                let of_all = &all["targets"][t];
                assert_eq!(of_all["target"], target);
                for key in ["lambda", "norm", "objective", "intercept", "dof", "train_rmse", "loo_rmse"] {
                    let (a, b) = (number(of_all, key), number(&one, key));
                    assert!(close(a, b, 1e-10), "{kernel}, exponent {exponent}, {target}: {key} {a} against {b}");
                }
                lab.ok(&["predict", "one.mercer", "t.csv", "--output", "one.csv", "-q"]);
                let (a, b) =
                    (lab.column("all.csv", &format!("prediction_{target}")), lab.column("one.csv", "prediction"));
                let scale = [1.0, 1e6, 1e-5][t];
                for (a, b) in a.into_iter().zip(b).map(|(a, b)| (f64::from_bits(a), f64::from_bits(b))) {
                    assert!((a - b).abs() < 1e-10 * scale, "{kernel}, exponent {exponent}, {target}: {a} against {b}");
                }
                tried += 1;
            }
        }
    }
    assert_eq!(tried, 30);
    let shared =
        lab.json(&["fit", "t.csv", "--target", "y1,y2", "--features", "a,b", "--shared-ridge", "--json", "-m", "1.5"]);
    let ridges: Vec<&Value> = shared["targets"].as_array().unwrap().iter().map(|t| &t["effective_ridge"]).collect();
    assert!(ridges.len() == 2 && ridges[0] == ridges[1] && ridges[0].is_number(), "{ridges:?}");
}

#[test]
fn texts_and_categories() {
    let lab = Lab::new();
    let mut table = String::from("size,colour,code,y\n");
    for i in 0..60 {
        let colour = ["red", "green", "\"light, blue\""][i % 3];
        table.push_str(&format!(
            "{},{colour},{},{}\n",
            (i as f64 * 0.3).sin(),
            i % 4,
            (i % 3) as f64 + (i as f64 * 0.3).sin()
        ));
    }
    lab.file("t.csv", &table);
    for arguments in [
        &[][..],
        &["--text", "equality"],
        &["--categorical", "code"],
        &["--categorical", "code", "--text", "equality", "--exponent", "1.5"],
        &["--kernel", "linear"],
        &["--kernel", "gaussian * equality(similarity=0.1)"],
    ] {
        let report =
            lab.json(&line(&[&["fit", "t.csv", "--target", "y", "--json", "--output", "m.mercer"], arguments]));
        assert!(number(&report, "loo_rmse") < 0.3, "{arguments:?}: {}", report["loo_rmse"]);
        lab.ok(&["predict", "m.mercer", "t.csv", "--output", "p.csv", "-q"]);
        assert_eq!(lab.column("p.csv", "prediction").len(), 60);
    }
    // Rows without a prediction are left empty where missing cells mean "drop".
    lab.ok(&["fit", "t.csv", "--target", "y", "--missing", "drop", "--output", "m.mercer", "-q"]);
    lab.file("new.csv", "size,colour,code\n0.5,red,1\n,red,2\n0.1,never seen,3\n");
    let output = lab.ok(&["predict", "m.mercer", "new.csv"]);
    let page = text(&output);
    let cells: Vec<&str> = page.lines().map(|line| line.rsplit(',').next().unwrap()).collect();
    assert!(cells[0] == "prediction" && cells[1].parse::<f64>().is_ok() && cells[2].is_empty(), "{page}");
    assert!(cells[3].parse::<f64>().is_ok(), "{page}");
    assert!(error(&output).contains("2 rows predicted") && error(&output).contains("1 without prediction"));
}

// ---- threads (F1) ---------------------------------------------------------------------------------------------

#[test]
fn any_number_of_threads_gives_the_same_bits() {
    let lab = Lab::new();
    let mut weighted = String::from("x1,x2,w,y,z\n");
    for i in 0..250 {
        let x = f64::from(i) * 0.61;
        weighted.push_str(&format!("{},{},{},{},{}\n", x.sin(), (1.7 * x).cos(), 1 + i % 4, (x * 0.3).sin(), x.cos()));
    }
    lab.file("w.csv", &weighted);
    lab.ok(&["generate", "friedman1", "--rows", "70", "--noise", "1", "--output", "small.csv"]);
    lab.ok(&["generate", "friedman1", "--rows", "720", "--noise", "1", "--output", "large.csv"]);
    lab.ok(&["generate", "friedman1", "--rows", "3000", "--noise", "1", "--output", "long.csv"]);
    let configurations: [(&str, &[&str]); 11] = [
        ("λ chosen", &["small.csv", "--target", "y"]),
        ("λ chosen, exponent 1.3", &["small.csv", "--target", "y", "-m", "1.3", "--kernel", "matern32"]),
        ("λ chosen, exponent 0.5", &["small.csv", "--target", "y", "-m", "0.5", "--kernel", "polynomial(degree=2)"]),
        (
            "splines, exponent 3",
            &["small.csv", "--target", "y", "-m", "3", "--kernel", "additive-spline", "--lambda", "1e-3"],
        ),
        ("a sum", &["small.csv", "--target", "y", "-m", "1", "--kernel", "0.5*linear + laplace*multiplicative-spline"]),
        ("linear, chosen", &["long.csv", "--target", "y", "--kernel", "linear"]),
        ("linear, given", &["long.csv", "--target", "y", "--kernel", "linear", "--lambda", "0.1", "-m", "1.5"]),
        ("Cholesky", &["large.csv", "--target", "y", "--lambda", "1e-3"]),
        (
            "Cholesky, spline, no offset",
            &["large.csv", "--target", "y", "--lambda", "1e-3", "--kernel", "additive-spline", "--no-offset"],
        ),
        ("700 rows, exponent 1.5", &["large.csv", "--target", "y", "--lambda", "1e-3", "-m", "1.5"]),
        ("weighted, two targets", &["w.csv", "--target", "y,z", "--weight", "w", "--lambda", "1e-3"]),
    ];
    let mut runs = 0;
    let mut wrong = Vec::new();
    for (name, arguments) in configurations {
        let mut models = BTreeSet::new();
        let mut reports = BTreeSet::new();
        let mut predictions = BTreeSet::new();
        for threads in ["1", "2", "3", "4", "8"] {
            for repeat in 0..5 {
                let output = ["--output", "m.mercer", "--json", "--threads", threads];
                let mut report = lab.json(&line(&[&["fit"], arguments, &output]));
                report.as_object_mut().unwrap().remove("seconds");
                reports.insert(report.to_string());
                models.insert(hash(&lab.bytes("m.mercer")));
                runs += 1;
                if repeat == 0 {
                    let predict = ["predict", "m.mercer", arguments[0], "--threads", threads, "--quiet"];
                    predictions.insert(hash(&lab.ok(&predict).stdout));
                }
            }
        }
        if (models.len(), reports.len(), predictions.len()) != (1, 1, 1) {
            wrong.push(format!(
                "{name}: {} models, {} reports, {} predictions",
                models.len(),
                reports.len(),
                predictions.len()
            ));
        }
    }
    println!("{runs} fits");
    assert_eq!(runs, 11 * 25);
    assert!(wrong.is_empty(), "{wrong:#?}");
    // The Cholesky path is what was meant.
    let report = lab.json(&["fit", "large.csv", "--target", "y", "--lambda", "1e-3", "--json"]);
    assert!(report["method"].as_str().unwrap().contains("Cholesky"), "{}", report["method"]);
}

// ---- many rows (C3) -------------------------------------------------------------------------------------------

#[test]
fn two_hundred_thousand_rows() {
    let lab = Lab::new();
    lab.ok(&["generate", "friedman2", "--rows", "200000", "--noise", "1", "--output", "t.csv"]);
    for (arguments, needed) in [
        (&["--memory", "2G"][..], "TB"),
        (&["--memory", "2G", "--lambda", "0.1"], "320 GB"),
        (&["--memory", "2G", "--lambda", "0.1", "--exponent", "1.5"], "TB"),
        (&["--memory", "2G", "--kernel", "additive-spline"], "TB"),
        // With whatever memory this machine has.
        (&[], "TB"),
        (&["--lambda", "0.1"], "320 GB"),
    ] {
        let all = line(&[&["fit", "t.csv", "--target", "y", "--output", "m.mercer"], arguments]);
        let started = Instant::now();
        let output = lab.command(&all).output().unwrap();
        let elapsed = started.elapsed();
        let message = error(&output);
        assert_eq!(output.status.code(), Some(1), "{message}");
        assert!(message.contains("200000 rows need") && message.contains(needed), "{message}");
        assert!(message.contains("may be used") && message.contains("--kernel linear"), "{message}");
        assert!(message.contains("rows would fit"), "{message}");
        assert!(elapsed < Duration::from_secs(1), "{arguments:?} took {elapsed:?}");
        assert!(output.stdout.is_empty() && !lab.path("m.mercer").exists());
    }
    let report = lab.json(&[
        "fit", "t.csv", "--target", "y", "--kernel", "linear", "--memory", "2G", "--json", "--output", "m.mercer",
    ]);
    assert_eq!(report["n"], 200_000);
    assert!(number(&report, "train_r2") > 0.8, "{report}");
    lab.ok(&["predict", "m.mercer", "t.csv", "--output", "p.csv", "-q"]);
    assert_eq!(lab.column("p.csv", "prediction").len(), 200_000);
    let report = lab.json(&[
        "fit",
        "t.csv",
        "--target",
        "y",
        "--kernel",
        "linear",
        "--lambda",
        "0.1",
        "--exponent",
        "1.5",
        "--json",
    ]);
    assert_eq!(report["certificate"]["holds"], true);
}

// ---- everything else ------------------------------------------------------------------------------------------

#[test]
fn generated_data_depend_on_the_seed_alone() {
    let lab = Lab::new();
    for name in ["friedman1", "friedman2", "friedman3", "sinc", "quadratic"] {
        let generate = |seed: &str, threads: &str| {
            lab.ok(&["generate", name, "--rows", "50", "--noise", "1", "--seed", seed, "--threads", threads]).stdout
        };
        let first = generate("1", "1");
        assert_eq!(first, generate("1", "4"));
        assert_ne!(first, generate("2", "1"));
        assert_eq!(first, lab.ok(&["generate", name, "--rows", "50", "--noise", "1"]).stdout);
        let text = String::from_utf8(first).unwrap();
        assert_eq!(text.lines().count(), 51);
        assert!(text.starts_with("x1,") && text.lines().next().unwrap().ends_with(",y"));
    }
}

#[test]
fn kernels_lists_every_kernel_and_parameter() {
    let lab = Lab::new();
    let page = text(&lab.ok(&["kernels"]));
    let all = kernel::all();
    assert!(all.len() >= 14);
    for entry in all {
        assert!(page.contains(entry.name) && page.contains(entry.formula), "{}", entry.name);
        for parameter in entry.parameters {
            assert!(page.contains(&format!("{} ({}): {}", parameter.name, parameter.default, parameter.about)));
        }
    }
    assert!(page.contains("normalized-"));
}

#[test]
fn completions_and_manual() {
    let lab = Lab::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = text(&lab.ok(&["completions", shell]));
        for word in ["fit", "predict", "inspect", "generate", "demo", "kernels", "lambda", "exponent", "missing"] {
            assert!(script.contains(word), "{shell}: {word}");
        }
        lab.file(&format!("c.{shell}"), &script);
    }
    let checked = lab.shell("bash -n c.bash");
    assert!(checked.status.success(), "{}", error(&checked));
    // What bash itself makes of it.
    let completed = lab.shell(
        "source c.bash; COMP_WORDS=(mercer fit --lam); COMP_CWORD=2; _mercer mercer --lam fit; echo ${COMPREPLY[@]}",
    );
    assert!(text(&completed).contains("--lambda"), "{} {}", text(&completed), error(&completed));

    fs::create_dir(lab.path("man")).unwrap();
    let listed = text(&lab.ok(&["man", "man"]));
    let commands = ["fit", "predict", "inspect", "generate", "demo", "kernels", "completions", "man"];
    for name in commands.iter().map(|name| format!("mercer-{name}.1")).chain(["mercer.1".to_owned()]) {
        let page = String::from_utf8(lab.bytes(&format!("man/{name}"))).unwrap();
        assert!(page.contains(".TH") && page.contains(".SH NAME") && page.contains("mercer"), "{name}");
        assert!(listed.contains(&name), "{listed}");
    }
    assert!(String::from_utf8(lab.bytes("man/mercer-fit.1")).unwrap().contains("lambda"));
    assert_eq!(fs::read_dir(lab.path("man")).unwrap().count(), commands.len() + 1);
}

#[test]
fn the_help_of_every_command_mentions_its_options() {
    let lab = Lab::new();
    let common = ["--threads", "--seed", "--quiet", "--verbose", "--help"];
    let reading = ["--format", "--separator", "--decimal", "--no-header"];
    let fit = [
        "--target",
        "--features",
        "--drop",
        "--weight",
        "--categorical",
        "--kernel",
        "--exponent",
        "--lambda",
        "--no-offset",
        "--scale",
        "--text",
        "--shared-ridge",
        "--missing",
        "--output",
        "--json",
        "--no-diagnostics",
        "--memory",
    ];
    let predict = ["--output", "--name", "--json"];
    let expected: [(&str, Vec<&str>); 8] = [
        ("fit", [&fit[..], &reading].concat()),
        ("predict", [&predict[..], &reading].concat()),
        ("inspect", vec!["--json"]),
        ("generate", vec!["--rows", "--noise", "--output", "friedman1", "sinc"]),
        ("demo", vec![]),
        ("kernels", vec![]),
        ("completions", vec!["bash", "zsh", "fish"]),
        ("man", vec!["FOLDER"]),
    ];
    let top = text(&lab.ok(&["--help"]));
    for (command, options) in &expected {
        assert!(top.contains(command), "{command} is not in the help");
        for flag in ["--help", "-h"] {
            let page = text(&lab.ok(&[command, flag]));
            for option in options.iter().chain(&common) {
                assert!(page.contains(option), "mercer {command} {flag} does not mention {option}");
            }
        }
        let page = text(&lab.ok(&["help", command]));
        assert!(page.contains("Usage:"), "{command}");
        assert!(text(&lab.ok(&[command, "--version"])).contains(env!("CARGO_PKG_VERSION")));
    }
    assert!(text(&lab.ok(&["--version"])).starts_with("mercer "));
}

#[test]
fn the_demo_is_quick() {
    let lab = Lab::new();
    let started = Instant::now();
    let output = lab.ok(&["demo"]);
    assert!(started.elapsed() < Duration::from_secs(10), "{:?}", started.elapsed());
    let page = text(&output);
    for part in ["friedman1", "leave-one-out RMSE", "global minimum", "mercer fit TABLE.csv"] {
        assert!(page.contains(part), "{part}: {page}");
    }
    assert!(output.stderr.is_empty());
    assert_eq!(fs::read_dir(lab.folder.path()).unwrap().count(), 0, "the demo leaves nothing behind");
}

#[test]
fn whoever_stops_reading_is_no_error() {
    let lab = Lab::with_table("sinc", 30);
    lab.ok(&["fit", "t.csv", "--target", "y", "--output", "m.mercer", "-q"]);
    lab.ok(&["generate", "friedman1", "--rows", "20000", "--output", "long.csv"]);
    lab.ok(&["fit", "long.csv", "--target", "y", "--kernel", "linear", "--output", "l.mercer", "-q"]);
    let mut tried = 0;
    for line in [
        "mercer generate friedman1 --rows 100000 | head -1",
        "mercer generate friedman1 --rows 100000 | true",
        "mercer predict l.mercer long.csv -q | head -1",
        "mercer predict l.mercer long.csv -q --json | head -c 1",
        "mercer fit t.csv --target y | head -1",
        "mercer fit t.csv --target y --json | true",
        "mercer fit t.csv --target y --output - -q | head -c 1",
        "mercer inspect m.mercer | head -1",
        "mercer inspect m.mercer --json | true",
        "mercer kernels | head -1",
        "mercer kernels | true",
        "mercer completions zsh | head -1",
        "mercer demo | head -1",
        "mercer fit --help | head -1",
        "mercer man . | head -1",
    ] {
        for _ in 0..3 {
            let output = lab.shell(line);
            assert!(output.status.success(), "{line}: {:?} {}", output.status, error(&output));
            assert!(output.stderr.is_empty(), "{line}: {}", error(&output));
            tried += 1;
        }
    }
    // Where the reader of messages is gone, the exit code still says what happened.
    for (line, code) in [
        ("mercer fit nosuch.csv --target y 2> >(exec true)", 1),
        ("mercer fit t.csv --target z 2> >(exec true)", 1),
        ("mercer fit t.csv 2> >(exec true)", 2),
        ("mercer predict m.mercer t.csv --output p.csv 2> >(exec true)", 0),
        ("mercer fit t.csv --target y --output - 2> >(exec true) > m2.mercer", 0),
    ] {
        for _ in 0..5 {
            let output = lab.shell(&format!("{line}; exit $?"));
            assert_eq!(output.status.code(), Some(code), "{line}");
            tried += 1;
        }
    }
    assert_eq!(tried, 15 * 3 + 5 * 5);
    assert_eq!(lab.bytes("m2.mercer"), lab.bytes("m.mercer"));
}

#[test]
fn a_full_disk_is_an_error() {
    let lab = Lab::with_table("sinc", 30);
    lab.ok(&["fit", "t.csv", "--target", "y", "--output", "m.mercer", "-q"]);
    if !std::path::Path::new("/dev/full").exists() {
        return;
    }
    let mut tried = 0;
    for line in [
        "mercer generate sinc > /dev/full",
        "mercer generate sinc --rows 100000 > /dev/full",
        "mercer predict m.mercer t.csv -q > /dev/full",
        "mercer predict m.mercer t.csv -q --json > /dev/full",
        "mercer fit t.csv --target y > /dev/full",
        "mercer fit t.csv --target y --json > /dev/full",
        "mercer fit t.csv --target y --output - -q > /dev/full",
        "mercer inspect m.mercer > /dev/full",
        "mercer inspect m.mercer --json > /dev/full",
        "mercer kernels > /dev/full",
        "mercer completions bash > /dev/full",
        "mercer demo > /dev/full",
    ] {
        let output = lab.shell(line);
        assert_eq!(output.status.code(), Some(1), "{line}: {}", error(&output));
        assert!(error(&output).contains("No space left"), "{line}: {}", error(&output));
        tried += 1;
    }
    assert_eq!(tried, 12);
}
