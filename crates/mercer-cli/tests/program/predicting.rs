//! Predictions of large tables: part by part, and the same as in one piece.

use std::fmt::Write as _;
use std::io::Write as _;
use std::process::{Command, Stdio};
use std::time::Duration;

use mercer::data::Column;

use crate::lab::{Lab, error, text};

/// Enough for three parts.
const ROWS: usize = 40_000;

/// Rows with a number that has many digits, text with quotes, separators and line breaks in it, categories, and a target. From
/// `texts_from` on, the column `code` is text; a cell of `a` is missing in every row that `is_missing` names.
fn table(rows: usize, texts_from: usize, is_missing: impl Fn(usize) -> bool) -> String {
    let mut out = String::from("id,a,b,kind,code,y,note\n");
    for i in 0..rows {
        let a = ((i * 7919) % 1009) as f64 / 97.0;
        let b = ((i * 104_729) % 577) as f64 / 31.0;
        let kind = ["red", "green", "\"blue, dark\"", "007"][(i / 3) % 4];
        let code = if i >= texts_from { ["x", "007", "7"][i % 3] } else { ["007", "7", "3.50"][i % 3] };
        let shown = if is_missing(i) { String::new() } else { a.to_string() };
        let note = if i % 1000 == 7 { "\"two\nlines and \"\"quotes\"\"\"" } else { "-" };
        let y = a.sin() + 0.1 * b + 0.05 * ((i * 31) % 17) as f64;
        writeln!(out, "{i},{shown},{b},{kind},{code},{y},{note}").unwrap();
    }
    out
}

/// A folder with a training table and models of it.
fn lab() -> Lab {
    let lab = Lab::new();
    lab.file("t.csv", &table(60, 0, |_| false));
    let fit = |name: &str, options: &[&str]| {
        let fixed =
            ["fit", "t.csv", "--kernel", "gaussian(lengthscale=1.5)", "--lambda", "0.01", "--output", name, "--quiet"];
        lab.ok(&[&fixed, options].concat());
    };
    fit("numbers.mercer", &["--target", "y", "--features", "a,b"]);
    fit(
        "texts.mercer",
        &["--target", "y", "--features", "a,b,kind,code", "--categorical", "code", "--missing", "drop"],
    );
    fit("quantiles.mercer", &["--target", "y", "--features", "a,b", "--loss", "pinball(quantile=[0.1,0.5,0.9])"]);
    fit("classes.mercer", &["--target", "kind", "--features", "a,b", "--loss", "logistic"]);
    lab
}

/// Part by part into a file and to standard output, and packed, which is done in one piece: the same letters.
fn assert_same(lab: &Lab, what: &str, options: &[&str]) {
    let whole = [&["predict"], options, &["--output", "whole.csv.gz", "--quiet"]].concat();
    let parts = [&["predict"], options, &["--output", "parts.csv", "--quiet"]].concat();
    lab.ok(&whole);
    lab.ok(&parts);
    let same = lab.shell("zcat whole.csv.gz | cmp - parts.csv");
    assert!(same.status.success(), "{what}: {}", text(&same));
    let stdout = lab.ok(&[&["predict"], options, &["--quiet"]].concat());
    assert!(stdout.stdout == lab.bytes("parts.csv"), "{what}: standard output");
    lab.ok(&[&["predict"], options, &["--output", "whole.arrow", "--quiet"]].concat());
    lab.ok(&[&["predict"], options, &["--output", "parts.parquet", "--quiet"]].concat());
    assert!(cells(lab, "parts.parquet") == cells(lab, "whole.arrow"), "{what}: Parquet");
}

/// All cells of a table, numbers as bits: missing ones are equal, too.
fn cells(lab: &Lab, file: &str) -> Vec<(String, Vec<u64>, Vec<Option<String>>)> {
    let frame = lab.frame(file);
    let columns = frame.iter().map(|(name, column)| match column {
        Column::Number(cells) => (name.to_owned(), cells.iter().map(|cell| cell.to_bits()).collect(), Vec::new()),
        Column::Text(cells) => (name.to_owned(), Vec::new(), cells.clone()),
    });
    columns.collect()
}

#[test]
fn parts_are_the_whole_letter_for_letter() {
    let lab = lab();
    lab.file("full.csv", &table(ROWS, 0, |_| false));
    lab.file("holes.csv", &table(ROWS, 0, |i| i % 4999 == 17));
    assert_same(&lab, "numbers", &["numbers.mercer", "full.csv"]);
    assert_same(&lab, "categories and missing cells", &["texts.mercer", "holes.csv"]);
    assert_same(&lab, "quantiles", &["quantiles.mercer", "full.csv"]);
    assert_same(&lab, "classes", &["classes.mercer", "full.csv", "--probability", "--decision"]);
}

#[test]
fn intervals_are_the_same_bits() {
    let lab = lab();
    lab.file("full.csv", &table(ROWS / 2, 0, |_| false));
    for method in ["jackknife+", "cv+", "gaussian-process"] {
        assert_same(&lab, method, &["numbers.mercer", "full.csv", "--interval", "0.9", "--interval-method", method]);
    }
    lab.ok(&["predict", "numbers.mercer", "full.csv", "--output", "in.parquet", "--quiet", "--name", "before"]);
    lab.ok(&["generate", "sinc", "--rows", "20000", "--noise", "0.1", "--output", "sinc.csv"]);
    lab.shell("tail -n +2 sinc.csv > bare.csv");
    let fit = ["fit", "bare.csv", "--target", "x2", "--kernel", "gaussian(lengthscale=1.5)", "--rank", "50"];
    lab.ok(&[&fit[..], &["--lambda", "0.01", "--output", "bare.mercer", "-q"]].concat());
    assert_same(&lab, "without a header", &["bare.mercer", "bare.csv", "--interval", "0.9", "--data", "bare.csv"]);
    assert_same(&lab, "from Parquet", &["numbers.mercer", "in.parquet", "--interval", "0.9"]);
}

#[test]
fn a_column_whose_text_comes_late_is_text_from_the_beginning() {
    let lab = lab();
    lab.file("late.csv", &table(ROWS, ROWS - 100, |_| false));
    // Read as numbers, 007 would be the category 7.
    assert_same(&lab, "late text", &["texts.mercer", "late.csv"]);
    assert_same(&lab, "late text that is not read", &["numbers.mercer", "late.csv"]);
    lab.ok(&["predict", "texts.mercer", "late.csv", "--output", "parts.csv", "--quiet"]);
    let pipe = lab.shell("cat late.csv | mercer predict texts.mercer - --quiet | cmp - parts.csv");
    assert!(pipe.status.success(), "{}", text(&pipe));
    let pipe = lab.shell("mercer predict texts.mercer <(cat late.csv) --quiet | cmp - parts.csv");
    assert!(pipe.status.success(), "{}", text(&pipe));
}

#[test]
fn what_is_said_is_said_of_the_whole_table() {
    let lab = lab();
    lab.file("full.csv", &table(ROWS, 0, |_| false));
    let score = |line: &str, key: &str| -> f64 {
        let start = line.find(key).unwrap_or_else(|| panic!("no {key} in {line}")) + key.len();
        line[start..].trim_start().split([',', '\n', ' ']).next().unwrap().parse().unwrap()
    };
    let interval = ["--interval", "0.9"];
    for (model, key, options) in [
        ("numbers.mercer", "RMSE", &interval[..]),
        ("numbers.mercer", "R² ", &[]),
        ("numbers.mercer", "coverage", &interval),
        ("numbers.mercer", "mean width", &interval),
        ("quantiles.mercer", "mean pinball loss", &[]),
        ("classes.mercer", "accuracy", &["--probability"]),
        ("classes.mercer", "log loss", &["--probability"]),
    ] {
        let base = ["predict", model, "full.csv", "--output"];
        let parts = error(&lab.ok(&[&base[..], &["p.csv"], options].concat()));
        let whole = error(&lab.ok(&[&base[..], &["p.csv.gz"], options].concat()));
        assert!(parts.contains("40,000 rows predicted, to p.csv (") && parts.contains("rows a second)"), "{parts}");
        assert_eq!(score(&parts, key), score(&whole, key), "{key}: {parts}{whole}");
    }
    lab.file("holes.csv", &table(ROWS, 0, |i| i % 4000 == 17));
    let output = error(&lab.ok(&["predict", "texts.mercer", "holes.csv", "--output", "p.csv"]));
    assert!(output.contains("39,990 rows predicted") && output.contains("10 without prediction"), "{output}");
    let quiet = lab.ok(&["predict", "numbers.mercer", "full.csv", "--output", "p.csv", "--quiet"]);
    assert_eq!((text(&quiet), error(&quiet)), (String::new(), String::new()));
    // A column of the target's name that turns out to be text is nothing to compare with.
    let mut odd = table(ROWS, 0, |_| false);
    odd.push_str("40000,1,1,red,7,unknown,-\n");
    lab.file("odd.csv", &odd);
    let output = error(&lab.ok(&["predict", "numbers.mercer", "odd.csv", "--output", "p.csv"]));
    assert!(output.contains("40,001 rows") && !output.contains("RMSE"), "{output}");
    lab.file("strange.csv", &table(ROWS, 0, |_| false).replace("\n39999,", "\n39999,1,1,violet,7,0,-\n40000,"));
    let output = error(&lab.ok(&["predict", "texts.mercer", "strange.csv", "--output", "p.csv"]));
    assert!(output.contains("\"kind\" has a category that training did not know in 1 row\n"), "{output}");
}

#[test]
fn errors_name_the_row_of_the_whole_table_and_leave_no_file() {
    let lab = lab();
    for (what, table, expected) in [
        ("missing", table(ROWS, 0, |i| i == 35_123), "row 35124, column \"a\": the cell is missing"),
        (
            "text",
            table(ROWS, 0, |_| false).replace("\n38000,", "\n38000,oops,1,red,7,0,-\n38001,"),
            "row 38001, column \"a\"",
        ),
        ("ragged", table(ROWS, 0, |_| false) + "1,2\n", "row 40001"),
        ("quote", table(ROWS, 0, |_| false) + "1,2,3,\"red", "row 40001"),
    ] {
        lab.file("bad.csv", &table);
        for output in ["p.csv", "p.parquet"] {
            lab.file(output, "the old file");
            let failed = lab.fails(&["predict", "numbers.mercer", "bad.csv", "--output", output], 1);
            assert!(error(&failed).contains(expected), "{what}: {}", error(&failed));
            assert_eq!(lab.bytes(output), b"the old file", "{what}");
        }
        let failed = lab.fails(&["predict", "numbers.mercer", "bad.csv"], 1);
        assert!(error(&failed).contains(expected), "{what}, to standard output: {}", error(&failed));
        assert_eq!(temporary(&lab), 0, "{what}: temporary files are left");
    }
}

#[test]
fn a_table_may_be_replaced_by_itself_with_predictions() {
    let lab = lab();
    lab.file("full.csv", &table(ROWS, ROWS - 5, |_| false));
    lab.ok(&["predict", "texts.mercer", "full.csv", "--output", "other.csv", "--quiet"]);
    lab.ok(&["predict", "texts.mercer", "full.csv", "--output", "full.csv", "--quiet"]);
    assert!(lab.bytes("full.csv") == lab.bytes("other.csv"));
}

/// Temporary files in the folder.
fn temporary(lab: &Lab) -> usize {
    let names = std::fs::read_dir(lab.folder.path()).unwrap().map(|entry| entry.unwrap().file_name());
    names.filter(|name| name.to_string_lossy().starts_with(".tmp")).count()
}

#[test]
#[cfg(unix)]
fn an_interrupted_run_leaves_nothing_behind() {
    let lab = lab();
    let mut child = Command::new(env!("CARGO_BIN_EXE_mercer"))
        .args(["predict", "numbers.mercer", "-", "--output", "p.csv", "--quiet"])
        .current_dir(lab.folder.path())
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    // Some parts, and then it waits for more.
    input.write_all(table(ROWS, 0, |_| false).as_bytes()).unwrap();
    for _ in 0..600 {
        if temporary(&lab) > 0 {
            break;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    assert_eq!(temporary(&lab), 1, "it is being written");
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert_eq!(temporary(&lab), 0);
    assert!(!lab.path("p.csv").exists());
}

/// The most memory a run of the program held, in kilobytes.
#[cfg(target_os = "linux")]
fn peak(lab: &Lab, arguments: &[&str]) -> u64 {
    let mut child = Command::new(env!("CARGO_BIN_EXE_mercer"))
        .args(arguments)
        .current_dir(lab.folder.path())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let mut peak = 0;
    while child.try_wait().unwrap().is_none() {
        // A mark that only rises: the last look before the end is what counts.
        let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap_or_default();
        let mark =
            status.lines().find_map(|line| line.strip_prefix("VmHWM:")?.trim().strip_suffix(" kB")?.parse().ok());
        peak = peak.max(mark.unwrap_or(0));
        std::thread::sleep(Duration::from_millis(2));
    }
    assert!(child.wait().unwrap().success());
    peak
}

#[test]
#[cfg(target_os = "linux")]
fn memory_does_not_grow_with_the_table() {
    let lab = lab();
    lab.file("short.csv", &table(100_000, 0, |_| false));
    lab.file("long.csv", &table(600_000, 0, |_| false));
    for output in ["p.csv", "p.parquet"] {
        let run = |table: &str| peak(&lab, &["predict", "numbers.mercer", table, "--output", output, "--quiet"]);
        let (short, long) = (run("short.csv"), run("long.csv"));
        // The table alone has 30 MB, and as numbers and text several times that.
        assert!(long < short + 40_000, "{output}: {short} kB for 100,000 rows, {long} kB for 600,000");
        assert!(long < 300_000, "{output}: {long} kB");
    }
}

/// Weights of cars in pounds, 1613 … 5140, and one other column.
fn cars(weights: &[f64]) -> String {
    let row = |(i, w): (usize, &f64)| format!("{w},{},{}\n", i % 7, 40.0 - w / 200.0 + (i % 5) as f64);
    format!("weight,age,mpg\n{}", weights.iter().enumerate().map(row).collect::<String>())
}

#[test]
fn rows_outside_the_training_range_are_counted_and_named() {
    let lab = Lab::new();
    let pounds: Vec<f64> = (0..60).map(|i| 1613.0 + 3527.0 * f64::from(i * 37 % 60) / 59.0).collect();
    lab.file("t.csv", &cars(&pounds));
    let kilograms: Vec<f64> = pounds.iter().map(|w| 0.4536 * w).collect();
    lab.file("kg.csv", &cars(&kilograms));
    let one: Vec<f64> = pounds.iter().enumerate().map(|(i, w)| if i == 6 { 1e9 } else { *w }).collect();
    lab.file("one.csv", &cars(&one));
    // A little beyond what training had is usual.
    let near: Vec<f64> = pounds.iter().map(|w| 1.02 * w).collect();
    lab.file("near.csv", &cars(&near));
    for (kernel, more) in [("gaussian", &[][..]), ("linear", &["--method", "ols"]), ("gaussian", &["--loss", "huber"])]
    {
        let fit = ["fit", "t.csv", "--target", "mpg", "--kernel", kernel, "--quiet", "--output", "m.mercer"];
        let fit = if more.contains(&"ols") { [&fit[..4], &fit[6..], more].concat() } else { [&fit[..], more].concat() };
        lab.ok(&fit);
        let said = |table: &str| error(&lab.ok(&["predict", "m.mercer", table, "--output", "p.csv"]));
        let note = said("kg.csv");
        assert!(note.contains(" of 60 rows are outside the range of the training rows"), "{note}");
        assert!(note.contains("weight is 731.6568 in row 1, training had 1613 … 5140"), "{note}");
        let note = said("one.csv");
        assert!(note.contains("1 of 60 rows is outside"), "{note}");
        assert!(note.contains("weight is 1000000000 in row 7"), "{note}");
        for inside in ["t.csv", "near.csv"] {
            assert!(!said(inside).contains("outside"), "{inside}");
        }
        let report = lab.json(&["predict", "m.mercer", "one.csv", "--json"]);
        assert_eq!(report["outside"]["rows"], serde_json::json!([7]));
        assert_eq!(report["outside"]["columns"][0]["column"], "weight");
        assert_eq!(report["outside"]["columns"][0]["range"], serde_json::json!([1613.0, 5140.0]));
        assert_eq!(report["outside"]["columns"][0]["farthest"], serde_json::json!({ "row": 7, "value": 1e9 }));
    }
    let fit = ["fit", "t.csv", "--target", "mpg", "--kernel", "gaussian", "--quiet", "--output", "m.mercer"];
    lab.ok(&fit);
    let output = lab.ok(&["predict", "m.mercer", "one.csv", "--interval", "0.9", "--output", "p.csv"]);
    assert!(error(&output).contains("intervals promise nothing there"), "{}", error(&output));
    // Part by part it is what it is in one piece.
    let many: Vec<f64> = (0..9000).map(|i| if i % 1000 == 17 { 9e5 } else { pounds[i % 60] }).collect();
    lab.file("many.csv", &cars(&many));
    let note = error(&lab.ok(&["predict", "m.mercer", "many.csv", "--output", "p.csv"]));
    assert!(
        note.contains("9 of 9000 rows are outside") && note.contains("rows 18, 1018, 2018, 3018, 4018, …"),
        "{note}"
    );
}

#[test]
fn names_of_tables_keep_their_promise() {
    let lab = Lab::with_table("sinc", 30);
    lab.ok(&["fit", "t.csv", "--target", "y", "--quiet", "--kernel", "gaussian", "--output", "m.mercer"]);
    lab.ok(&["predict", "m.mercer", "t.csv", "--quiet", "--output", "p.csv"]);
    lab.ok(&["predict", "m.mercer", "t.csv", "--quiet", "--output", "p.json"]);
    let rows: serde_json::Value = serde_json::from_slice(&lab.bytes("p.json")).unwrap();
    let predicted: Vec<f64> = rows.as_array().unwrap().iter().map(|row| row["prediction"].as_f64().unwrap()).collect();
    assert_eq!(predicted, lab.numbers("p.csv", "prediction"));
    let output = lab.fails(&["predict", "m.mercer", "t.csv", "--output", "p.xlsx"], 1);
    assert!(error(&output).contains("no table is written as .xlsx") && error(&output).contains(".parquet"));
    assert!(!lab.path("p.xlsx").exists());
    // No extension promises nothing.
    lab.ok(&["predict", "m.mercer", "t.csv", "--quiet", "--output", "plain"]);
    assert_eq!(lab.bytes("plain"), lab.bytes("p.csv"));
    for command in
        [&["path", "t.csv", "--target", "y"][..], &["plan", "t.csv", "--target", "y"], &["effects", "m.mercer"]]
    {
        let output = lab.fails(&[command, &["--output", "o.xyz"]].concat(), 1);
        assert!(error(&output).contains("no table is written as .xyz"), "{command:?}: {}", error(&output));
    }
}

#[test]
fn the_tolerance_of_the_range_is_said_and_dates_have_none() {
    let lab = Lab::new();
    let row = |i: usize, x: f64| format!("2021-{:02}-{:02},{x},{}\n", 1 + i / 28, 1 + i % 28, x + i as f64);
    lab.file("t.csv", &format!("date,x,y\n{}", (0..40).map(|i| row(i, (i * 7 % 11) as f64)).collect::<String>()));
    lab.ok(&["fit", "t.csv", "--target", "y", "--kernel", "gaussian", "-q", "-o", "m.mercer"]);
    let note = |rows: &str| {
        lab.file("n.csv", &format!("date,x,y\n{rows}"));
        error(&lab.ok(&["predict", "m.mercer", "n.csv", "-o", "p.csv"]))
    };
    // x is 0 … 10 in training, and a tenth of that range is 1.
    let said = note(&[row(0, 12.0), row(1, 10.5), row(2, 10.9), row(3, 5.0)].concat());
    assert!(
        said.contains("1 of 4 rows is outside the range of the training rows by more than a tenth of it"),
        "{said}"
    );
    assert!(said.contains("; 2 more rows are outside by less"), "{said}");
    // The last training day is 2021-02-12.
    let said = note(&[row(40, 5.0), row(30, 10.5), row(44, 5.0)].concat());
    assert!(said.contains("2 of 3 rows are outside the range of the training rows, where"), "{said}");
    assert!(said.contains("date is 2021-02-17 in row 3, training had 2021-01-01 … 2021-02-12"), "{said}");
    assert!(said.contains("; 1 more row is outside by less"), "{said}");
    let said = note(&[row(40, 5.0), row(3, 15.0)].concat());
    assert!(said.contains("outside the range of the training rows (numbers by more than a tenth of it)"), "{said}");
    let report = lab.json(&["predict", "m.mercer", "n.csv", "--json"]);
    assert_eq!(report["outside"]["rows"], serde_json::json!([1, 2]));
    assert_eq!(report["outside"]["columns"][0]["unit"], "days since 1970-01-01");
    assert_eq!(report["outside"]["within_tolerance"], 0);
}

#[test]
fn a_target_that_cannot_be_scored_is_named() {
    let lab = Lab::new();
    let table = |rows: usize, y: &dyn Fn(usize) -> String| {
        format!("x,y\n{}", (0..rows).map(|i| format!("{},{}\n", i % 50, y(i))).collect::<String>())
    };
    let number = |i: usize| format!("{}", 2 * (i % 50) + i % 3);
    lab.file("t.csv", &table(50, &number));
    lab.ok(&["fit", "t.csv", "--target", "y", "--kernel", "linear", "-q", "-o", "m.mercer"]);
    let predict = |name: &str| error(&lab.ok(&["predict", "m.mercer", name, "-o", "p.csv"]));
    lab.file("oops.csv", &table(50, &|i| if i == 1 { "oops".into() } else { number(i) }));
    let said = predict("oops.csv");
    assert!(said.contains("note: y is not scored: row 2, \"oops\" is not a number"), "{said}");
    assert!(!said.contains("RMSE"), "{said}");
    let report = lab.json(&["predict", "m.mercer", "oops.csv", "--json"]);
    assert_eq!(report["not_scored"], serde_json::json!(["y is not scored: row 2, \"oops\" is not a number"]));
    // In a table that is read in parts, wherever the cell is.
    for place in [1, 9_000, 39_000] {
        lab.file("long.csv", &table(40_000, &|i| if i == place { "oops".into() } else { number(i) }));
        let said = predict("long.csv");
        assert!(said.contains(&format!("y is not scored: row {}, \"oops\"", place + 1)), "{said}");
        assert!(!said.contains("RMSE"), "{said}");
    }
    lab.file("gap.csv", &table(50, &|i| if i == 1 { String::new() } else { number(i) }));
    let said = predict("gap.csv");
    assert!(said.contains("RMSE") && said.contains("(on 49 of 50 rows)"), "{said}");
    assert!(!predict("t.csv").contains("(on "));
    // Kilograms are no pounds, and no target is no trouble.
    lab.file("kg.csv", &table(50, &|i| number(i) + " kg"));
    assert!(predict("kg.csv").contains("y is not scored: its numbers are in kg here, and training had plain numbers"));
    lab.file("none.csv", &table(50, &|_| String::new()));
    assert!(!predict("none.csv").contains("scored"));
}

#[test]
#[cfg(unix)]
fn results_can_go_to_devices_and_pipes() {
    let lab = Lab::with_table("sinc", 30);
    lab.ok(&["fit", "t.csv", "--target", "y", "--kernel", "gaussian", "-q", "-o", "/dev/null"]);
    lab.ok(&["fit", "t.csv", "--target", "y", "--kernel", "gaussian", "-q", "-o", "m.mercer"]);
    lab.ok(&["predict", "m.mercer", "t.csv", "-q", "-o", "/dev/null"]);
    lab.ok(&["compare", "t.csv", "--target", "y", "--methods", "mean", "-q", "-o", "/dev/null"]);
    lab.ok(&["predict", "m.mercer", "t.csv", "-q", "-o", "p.csv"]);
    let piped = lab.shell("mercer predict m.mercer t.csv -q -o /dev/stdout | cmp - p.csv");
    assert!(piped.status.success(), "{}", text(&piped));
    let piped = lab.shell("mercer predict m.mercer t.csv -q -o >(cat > q.csv); wait $!; cmp q.csv p.csv");
    assert!(piped.status.success(), "{} {}", text(&piped), error(&piped));
}
