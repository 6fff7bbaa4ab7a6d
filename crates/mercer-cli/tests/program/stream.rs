//! `mercer stream`

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Stdio};

use serde_json::Value;

use crate::lab::{Lab, close, error, line, number, text};
use crate::paths::check_svg;

const KERNEL: [&str; 6] = ["--kernel", "gaussian(lengthscale=0.8)", "--lambda", "1e-4", "--scale", "none"];

#[test]
fn the_model_of_a_stream_is_the_fit_of_its_rows() {
    let lab = Lab::with_table("friedman1", 140);
    for exponent in ["0.7", "1", "1.5", "2"] {
        let model = line(&[&["t.csv", "-t", "y", "-m", exponent], &KERNEL]);
        let report = lab.json(&line(&[&["stream"], &model, &["--output", "s.mercer", "--json", "--warm-up", "20"]]));
        lab.ok(&line(&[&["fit"], &model, &["--output", "f.mercer", "-q"]]));
        for name in ["s", "f"] {
            lab.ok(&["predict", &format!("{name}.mercer"), "t.csv", "-q", "--output", &format!("{name}.csv")]);
        }
        let (streamed, fitted) = (lab.numbers("s.csv", "prediction"), lab.numbers("f.csv", "prediction"));
        let apart = streamed.iter().zip(&fitted).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        assert!(apart < 1e-8, "m = {exponent}: {apart:.1e}");
        assert!(number(&report, "batch_difference") < 1e-9, "{report}");
        assert_eq!((report["rows"].as_u64(), report["scored"].as_u64()), (Some(140), Some(120)));
        assert_eq!(report["landmarks"], Value::Null);
        assert_eq!(report["lambda"].as_f64(), Some(1e-4));
        assert_eq!(report["certificate"]["holds"], true);
    }
}

#[test]
fn every_prediction_comes_before_its_row() {
    let lab = Lab::with_table("friedman1", 90);
    let stream =
        line(&[&["stream", "t.csv", "-t", "y", "--warm-up", "30", "--json", "--predictions", "p.csv"], &KERNEL]);
    let report = lab.json(&stream);
    let (y, predicted) = (lab.numbers("p.csv", "y"), lab.numbers("p.csv", "prediction"));
    assert_eq!(y, lab.numbers("t.csv", "y"));
    assert!(predicted[..30].iter().all(|v| v.is_nan()) && predicted[30..].iter().all(|v| v.is_finite()));
    let squares = |value: &dyn Fn(usize) -> f64| (30..90).map(|i| (value(i) - y[i]).powi(2)).sum::<f64>();
    let rmse = (squares(&|i| predicted[i]) / 60.0).sqrt();
    assert!(close(rmse, number(&report, "rmse"), 1e-12));
    let mean = (squares(&|i| y[..i].iter().sum::<f64>() / i as f64) / 60.0).sqrt();
    assert!(close(mean, number(&report, "mean_rmse"), 1e-12));
    assert!(rmse < 0.7 * mean);
    // The 71st row, predicted by a fit of the first 70.
    let rows: Vec<String> = String::from_utf8(lab.bytes("t.csv")).unwrap().lines().map(str::to_owned).collect();
    lab.file("first.csv", &(rows[..71].join("\n") + "\n"));
    lab.file("next.csv", &format!("{}\n{}\n", rows[0], rows[71]));
    lab.ok(&line(&[&["fit", "first.csv", "-t", "y", "--output", "f.mercer", "-q"], &KERNEL]));
    lab.ok(&["predict", "f.mercer", "next.csv", "-q", "--output", "n.csv"]);
    assert!(close(lab.numbers("n.csv", "prediction")[0], predicted[70], 1e-9));
}

#[test]
fn rows_on_standard_input_are_learned_as_they_arrive() {
    let lab = Lab::with_table("friedman1", 130);
    let table = lab.bytes("t.csv");
    let options = ["-t", "y", "--warm-up", "25", "--exact-rows", "80", "--landmarks", "20", "--report-every", "30"];
    let without_time = |mut report: Value| {
        report.as_object_mut().unwrap().remove("seconds");
        report
    };
    let from_file = without_time(lab.json(&line(&[&["stream", "t.csv", "--json"], &options])));
    let output = lab.ok_on(&line(&[&["stream", "-", "--json"], &options]), &table);
    assert_eq!(without_time(serde_json::from_slice(&output.stdout).unwrap()), from_file);
    assert!(output.stderr.is_empty(), "{}", error(&output));
    let rows: Vec<u64> = from_file["reports"].as_array().unwrap().iter().map(|r| r["rows"].as_u64().unwrap()).collect();
    assert_eq!(rows, [30, 60, 90, 120, 130]);
    assert_eq!(from_file["landmarks"]["count"], 20);
    let missed = number(&from_file["landmarks"], "mean_missed");
    assert!(missed > 0.0 && missed < number(&from_file["landmarks"], "mean_diagonal"));
    assert_eq!(from_file["batch_difference"], Value::Null);
    assert!(from_file["lambda_was_chosen"] == true && from_file["reports"][0]["lambda"] != from_file["lambda"]);

    let live = lab.ok_on(&line(&[&["stream", "-"], &options]), &table);
    assert_eq!(error(&live).lines().count(), 6, "{}", error(&live));
    assert!(error(&live).starts_with("waiting for the first 25 rows (--warm-up)"), "{}", error(&live));
    assert!(error(&live).contains("30 rows  RMSE") && error(&live).contains("20 landmarks"), "{}", error(&live));
    let page = text(&live);
    for part in ["running mean", "20 landmarks, which miss", "predicted before it was learned", "effective ridge"] {
        assert!(page.contains(part), "{part}: {page}");
    }
    assert!(page.contains("+ so far") && page.contains("105 of them predicted first"), "{page}");
    let quiet = lab.ok_on(&line(&[&["stream", "-", "--quiet", "--svg", "l.svg"], &options]), &table);
    assert!(quiet.stdout.is_empty() && quiet.stderr.is_empty());
    let picture = String::from_utf8(lab.bytes("l.svg")).unwrap();
    check_svg(&picture);
    assert!(!picture.contains("<circle"), "the least error so far means nothing");
}

#[test]
fn reports_in_every_style() {
    let lab = Lab::with_table("sinc", 120);
    let stream = ["stream", "t.csv", "-t", "y", "--report-every", "25", "-m", "1.4"];
    let page = text(&lab.ok(&stream));
    for part in
        ["exact: the minimiser", "the fit of all rows at once differs by at most", "standardised by the first 50 rows"]
    {
        assert!(page.contains(part), "{part}: {page}");
    }
    let csv = text(&lab.ok(&line(&[&stream, &["--style", "csv"]])));
    assert!(csv.starts_with("rows,RMSE,last 100,running mean,λ,effective ridge,norm,method\n75,"), "{csv}");
    assert_eq!(csv.lines().count(), 4, "{csv}");
    let markdown = text(&lab.ok(&line(&[&stream, &["--style", "markdown"]])));
    assert!(markdown.lines().count() == 5 && markdown.lines().all(|line| line.starts_with('|')), "{markdown}");
    let latex = text(&lab.ok(&line(&[&stream, &["--style", "latex"]])));
    assert!(latex.starts_with("\\begin{tabular}{rrrrrrrl}"), "{latex}");
    // Fewer rows than the warm-up asks for, a model that is 0, other kernels, a packed table.
    let short =
        text(&lab.ok(&["stream", "t.csv", "-t", "y", "--warm-up", "500", "--exact-rows", "500", "-o", "m.mercer"]));
    assert!(short.contains("120 learned, 0 of them predicted first") && short.contains("m.mercer"), "{short}");
    lab.ok(&["predict", "m.mercer", "t.csv", "-q", "--output", "p.csv"]);
    let nothing = text(&lab.ok(&["stream", "t.csv", "-t", "y", "-m", "0.5", "--lambda", "1e6"]));
    assert!(nothing.contains("f = 0"), "{nothing}");
    lab.shell("gzip -k t.csv");
    let packed = lab.json(&["stream", "t.csv.gz", "-t", "y", "--json", "-k", "additive-spline"]);
    assert_eq!(packed["rows"], 120);
    let help = text(&lab.ok(&["stream", "--help"]));
    assert!(help.contains("Examples:") && help.contains("tail -f sensor.csv"), "{help}");
}

#[test]
fn what_cannot_be_streamed_is_refused() {
    let lab = Lab::with_table("friedman1", 80);
    let table = String::from_utf8(lab.bytes("t.csv")).unwrap();
    let said = |arguments: &[&str], code: i32| error(&lab.fails(arguments, code));
    assert!(said(&["stream", "t.csv"], 2).contains("--target is needed"));
    assert!(said(&["stream", "t.csv", "-t", "nope"], 1).contains("no column \"nope\""));
    assert!(said(&["stream", "t.csv", "-t", "y,x1"], 2).contains("one column"));
    assert!(said(&["stream", "t.csv", "-t", "y", "--weight", "x1"], 2).contains("--weight is not for"));
    assert!(said(&["stream", "t.csv", "-t", "y", "--exact-rows", "10"], 2).contains("--exact-rows must be at least"));
    assert!(said(&["stream", "t.csv", "-t", "y", "--landmarks", "0"], 2).contains("1 to 100,000,000"));
    assert!(said(&["stream", "t.csv", "-t", "y", "--lambda", "0"], 2).contains("above 0"));
    assert!(said(&["stream", "t.csv", "-t", "y", "--output", "t.csv"], 1).contains("not a model file"));
    assert!(said(&["stream", "t.csv", "-t", "y", "--predictions", "no/p.csv"], 1).contains("no folder"));
    lab.file("empty.csv", "x1,y\n");
    assert!(said(&["stream", "empty.csv", "-t", "y"], 1).contains("no rows"));
    // Row 66 of the file, whatever part it is read in.
    let mut lines: Vec<String> = table.lines().map(str::to_owned).collect();
    for (cells, part) in [
        ("1,2,3,4,5,6,7,8,9,10,", "row 66, column \"y\": the cell is missing"),
        ("1,2,3,oops,5,6,7,8,9,10,11", "row 66, column \"x4\": \"oops\" is not a number"),
        ("1,2,3", "row 66 (line 67)"),
    ] {
        lines[66] = cells.into();
        lab.file("bad.csv", &(lines.join("\n") + "\n"));
        assert!(
            said(&["stream", "bad.csv", "-t", "y"], 1).contains(part),
            "{}",
            said(&["stream", "bad.csv", "-t", "y"], 1)
        );
    }
    lines[66] = "1,2,3,4,5,6,7,8,9,10,".into();
    lab.file("hole.csv", &(lines.join("\n") + "\n"));
    let report = lab.json(&["stream", "hole.csv", "-t", "y", "--missing", "drop", "--json"]);
    assert_eq!((report["rows"].as_u64(), report["rows_dropped_missing"].as_u64()), (Some(79), Some(1)));
}

/// A stream that is fed row by row.
struct Fed {
    child: Child,
    to: ChildStdin,
}

impl Fed {
    fn start(lab: &Lab, arguments: &[&str]) -> Fed {
        let mut child = std::process::Command::new(env!("CARGO_BIN_EXE_mercer"))
            .args(["stream", "-", "-t", "y"])
            .args(arguments)
            .current_dir(lab.folder.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let to = child.stdin.take().unwrap();
        Fed { child, to }
    }

    fn send(&mut self, line: &str) {
        writeln!(self.to, "{line}").unwrap();
    }

    #[cfg(unix)]
    fn signal(&self, name: &str) {
        let id = self.child.id().to_string();
        assert!(std::process::Command::new("kill").args([name, &id]).status().unwrap().success());
    }
}

#[test]
fn every_row_is_answered_before_the_next_is_sent() {
    let lab = Lab::with_table("friedman1", 80);
    let table = String::from_utf8(lab.bytes("t.csv")).unwrap();
    let mut lines = table.lines();
    let mut stream = Fed::start(&lab, &["--warm-up", "20", "--predictions", "-", "-q", "-o", "m.mercer"]);
    let mut answers = BufReader::new(stream.child.stdout.take().unwrap()).lines();
    for _ in 0..=20 {
        stream.send(lines.next().unwrap());
    }
    assert_eq!(answers.next().unwrap().unwrap(), "row,y,prediction");
    for row in 1..=20 {
        let answer = answers.next().unwrap().unwrap();
        assert!(answer.starts_with(&format!("{row},")) && answer.ends_with(','), "{answer}");
    }
    for (row, line) in (21..).zip(lines) {
        stream.send(line);
        let answer = answers.next().unwrap().unwrap();
        let cells: Vec<&str> = answer.split(',').collect();
        assert!(cells[0] == row.to_string() && cells[2].parse::<f64>().is_ok(), "{answer}");
    }
    drop(stream.to);
    assert!(stream.child.wait().unwrap().success() && answers.next().is_none());
    // A row that is answered at once has the answer that a table gives.
    lab.ok(&["stream", "t.csv", "-t", "y", "--warm-up", "20", "-q", "-o", "n.mercer", "--predictions", "p.csv"]);
    assert_eq!(lab.model("m.mercer"), lab.model("n.mercer"));
}

#[test]
#[cfg(unix)]
fn a_signal_ends_the_stream_and_keeps_what_there_is() {
    let lab = Lab::with_table("friedman1", 80);
    let table = String::from_utf8(lab.bytes("t.csv")).unwrap();
    let options = ["--warm-up", "20", "-o", "m.mercer", "--svg", "s.svg"];
    for (signal, code, to) in [("-INT", 130, "p.csv"), ("-TERM", 143, "p.csv"), ("-TERM", 143, "p.parquet")] {
        let mut stream = Fed::start(&lab, &line(&[&options, &["--predictions", to, "--report-every", "60"]]));
        table.lines().take(61).for_each(|line| stream.send(line));
        // All rows are learned when the report says so.
        let mut said = BufReader::new(stream.child.stderr.take().unwrap()).lines();
        assert!(said.any(|line| line.unwrap().contains("60 rows  RMSE")));
        if to == "p.csv" {
            assert_eq!(lab.numbers(to, "prediction").len(), 60, "rows are there at once");
        }
        stream.signal(signal);
        assert_eq!(stream.child.wait().unwrap().code(), Some(code));
        let said: Vec<String> = said.map(Result::unwrap).collect();
        assert!(
            said.iter().any(|line| line == "interrupted after 60 rows; the model is saved in m.mercer"),
            "{said:?}"
        );
        assert_eq!(lab.numbers(to, "prediction").len(), 60);
        lab.ok(&["predict", "m.mercer", "t.csv", "-q", "--output", "o.csv"]);
        for name in ["m.mercer", "s.svg", to] {
            std::fs::remove_file(lab.path(name)).unwrap();
        }
    }
    // Before the warm-up is over there is nothing to keep.
    let mut stream = Fed::start(&lab, &options);
    table.lines().take(10).for_each(|line| stream.send(line));
    let mut said = BufReader::new(stream.child.stderr.take().unwrap()).lines();
    assert!(said.next().unwrap().unwrap().contains("waiting for the first 20 rows"));
    stream.signal("-TERM");
    assert_eq!(stream.child.wait().unwrap().code(), Some(143));
    assert!(said.next().unwrap().unwrap().contains("nothing is saved") && !lab.path("m.mercer").exists());
}

#[test]
fn the_model_is_saved_on_the_way() {
    let lab = Lab::with_table("friedman1", 100);
    let table = String::from_utf8(lab.bytes("t.csv")).unwrap();
    let options = ["--warm-up", "20", "-q", "-o", "m.mercer", "--save-every", "25", "--predictions", "-"];
    let mut stream = Fed::start(&lab, &options);
    let mut answers = BufReader::new(stream.child.stdout.take().unwrap()).lines();
    table.lines().take(78).for_each(|line| stream.send(line));
    assert!(answers.any(|line| line.unwrap().starts_with("77,")));
    // The rows after 75 are not in it.
    lab.file("first.csv", &table.lines().take(76).collect::<Vec<&str>>().join("\n"));
    lab.ok(&["stream", "first.csv", "-t", "y", "--warm-up", "20", "-q", "-o", "n.mercer"]);
    assert_eq!(lab.model("m.mercer"), lab.model("n.mercer"));
    drop(stream.to);
    assert!(stream.child.wait().unwrap().success());
    let refused = error(&lab.fails(&["stream", "t.csv", "-t", "y", "--save-every", "5"], 2));
    assert!(refused.contains("--output"), "{refused}");
    let refused = error(&lab.fails(&["stream", "t.csv", "-t", "y", "--predictions", "./t.csv"], 2));
    assert!(refused.contains("the table that is read"), "{refused}");
}

#[test]
fn a_wrong_scale_is_revised() {
    let lab = Lab::new();
    let mut table = "x1,x2,y\n".to_owned();
    for i in 0..300_usize {
        let noise = |salt: usize| ((i * 7919 + salt * 104_729) % 1000) as f64 / 1000.0 - 0.5;
        let (x1, x2) = (noise(1), if i < 60 { 5000.0 } else { 5000.0 + 4000.0 * noise(2) });
        table.push_str(&format!("{x1},{x2},{}\n", x1 + (x2 - 5000.0) / 1000.0 + 0.1 * noise(3)));
    }
    lab.file("t.csv", &table);
    let output = lab.ok(&["stream", "t.csv", "-t", "y", "--lambda", "1e-4", "--json", "--predictions", "p.csv"]);
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(number(&report, "recent_rmse") < 0.2, "{report}");
    let first = &report["rescaled"][0];
    assert_eq!((first["row"].as_u64(), first["rows"].as_u64()), (Some(61), Some(61)), "{report}");
    assert_eq!((&first["columns"][0], report["rows"].as_u64()), (&Value::from("x2"), Some(300)));
    let said = error(&output);
    assert!(said.contains("note: row 61: the scaling") && said.contains("does not fit x2 any more"), "{said}");
    assert_eq!(lab.numbers("p.csv", "prediction").iter().filter(|value| value.is_finite()).count(), 250);
}
