//! What is odd about a target stands above everything else.

use std::fmt::Write;

use serde_json::Value;

use crate::lab::{Lab, error, text};

/// A table whose target is made from the row's number and a smooth feature.
fn table(target: impl Fn(usize, f64) -> String) -> String {
    (0..60).fold("a,b,y\n".to_owned(), |mut table, i| {
        let a = (i as f64 * 0.7).sin();
        writeln!(table, "{a},{},{}", (i * 7 % 11) as f64, target(i, a)).unwrap();
        table
    })
}

fn notes(report: &Value) -> Vec<String> {
    report["notes"].as_array().unwrap().iter().map(|note| note.as_str().unwrap().to_owned()).collect()
}

/// The report's first lines and the notes of `--json` say the same.
fn said(lab: &Lab, more: &[&str], parts: &[&str]) {
    let arguments = [&["fit", "t.csv", "--target", "y"], more].concat();
    let output = lab.ok(&arguments);
    let page = text(&output);
    assert!(page.starts_with("  note "), "{more:?}: {page}");
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let first = words(page.split("\n\n").next().unwrap());
    let json = words(&notes(&lab.json(&[&arguments[..], &["--json"]].concat())).join(" "));
    for part in parts {
        assert!(first.contains(part) && json.contains(part), "{more:?}, {part}: {first}\n{json}");
    }
    assert!(page.lines().all(|line| line.chars().count() <= 140), "{page}");
}

#[test]
fn targets_that_look_like_classes() {
    let lab = Lab::new();
    lab.file("t.csv", &table(|_, a| format!("{}", 100 + 150 * usize::from(a > 0.0))));
    for more in [&["--kernel", "gaussian"][..], &["--budget", "5s"], &["--method", "lasso"], &["--loss", "huber"]] {
        said(&lab, more, &["y has only the values 100 and 250", "--loss logistic or --loss hinge"]);
    }
    lab.file("t.csv", &table(|i, _| format!("{}", 1 + i % 3)));
    said(&lab, &["-k", "gaussian"], &["3 different values, whole numbers from 1 to 3", "--loss logistic"]);
    // Classes that are fitted as classes, and numbers, need no word.
    for (column, more) in [(0, &["--loss", "logistic"][..]), (1, &["--kernel", "gaussian"])] {
        let noisy = |i: usize, a: f64| a + 0.1 * (i * i % 13) as f64;
        let target =
            |i: usize, a: f64| if column == 0 { format!("{}", u8::from(a > 0.0)) } else { format!("{}", noisy(i, a)) };
        lab.file("t.csv", &table(target));
        let report = lab.json(&[&["fit", "t.csv", "--target", "y", "--json"], more].concat());
        assert!(notes(&report).is_empty(), "{report}");
    }
}

#[test]
fn a_constant_target_is_called_constant() {
    let lab = Lab::new();
    lab.file("t.csv", &table(|_, _| "5".into()));
    for more in [&["--kernel", "gaussian"][..], &["--budget", "5s"], &["--method", "ols"]] {
        said(&lab, more, &["y is 5 in every row: there is nothing to learn, and the model predicts 5"]);
        let output = lab.ok(&[&["fit", "t.csv", "--target", "y"], more].concat());
        assert!(!error(&output).contains("exponent"), "{}", error(&output));
        assert!(!text(&output).contains("exponent 2.5") && !text(&output).contains("λ 1 "), "{}", text(&output));
    }
}

#[test]
fn one_absurd_target_is_named_with_its_row() {
    let lab = Lab::new();
    lab.file("t.csv", &table(|i, a| if i == 40 { "9999999".into() } else { format!("{}", 20.0 + 3.0 * a) }));
    for more in [&["--kernel", "gaussian"][..], &["--budget", "5s"]] {
        said(&lab, more, &["y is 9999999 in row 41", "98.33 % of the variance", "--loss huber"]);
    }
    said(&lab, &["--budget", "5s"], &["new rows are predicted no better than by the mean of the target"]);
    // The row's number is that of the table, also below rows that are left out.
    let row = |i: usize, a: f64| match i {
        3 => String::new(),
        40 => "-9999999".into(),
        _ => format!("{}", 20.0 + 3.0 * a),
    };
    lab.file("t.csv", &table(row));
    said(&lab, &["-k", "gaussian", "--missing", "drop"], &["y is -9999999 in row 41"]);
}

#[test]
fn a_model_that_is_no_better_than_the_mean_says_so() {
    let lab = Lab::new();
    // Numbers that have nothing to do with the features.
    lab.file("t.csv", &table(|i, _| format!("{}", (i * 7919 % 1009) as f64 / 10.0)));
    said(
        &lab,
        &["--kernel", "laplace", "--lambda", "1e-9"],
        &["R² is -", "by leave-one-out, so new rows are predicted no better than by the mean"],
    );
}

#[test]
fn a_text_target_gets_advice_for_classes() {
    let lab = Lab::new();
    for (first, second) in [("good", "bad"), ("12 kg", "none of these"), ("a/b", "1/2/20"), ("1-5", "over 5")] {
        lab.file("t.csv", &table(|i, _| if i % 3 == 0 { second.into() } else { first.into() }));
        let output = lab.fails(&["fit", "t.csv", "--target", "y"], 1);
        let said = error(&output);
        let advice = said.lines().last().unwrap().trim();
        assert!(advice.starts_with("if the column names classes: --loss logistic or --loss hinge"), "{first}: {said}");
    }
}

#[test]
fn one_absurd_cell_of_a_feature_is_named_with_its_row() {
    let lab = Lab::new();
    let usual = table(|i, a| format!("{}", a + 0.1 * (i * i % 13) as f64));
    let cell = |row: usize, text: &str| {
        let lines = usual.lines().enumerate().map(|(i, line)| match line.rsplit_once(',') {
            Some((start, y)) if i == row => format!("{},{text},{y}\n", start.split(',').next().unwrap()),
            _ => format!("{line}\n"),
        });
        lines.collect::<String>()
    };
    lab.file("t.csv", &cell(33, "1e9"));
    for more in [
        &["--kernel", "gaussian"][..],
        &["--budget", "5s"],
        &["--method", "lasso"],
        &["--loss", "huber", "--lambda", "0.01"],
    ] {
        said(&lab, more, &["feature b is 1000000000 in row 33", "98.33 % of the column's variance", "--na MARK"]);
    }
    // Also where the target is classes, and below rows that are left out.
    let lines = cell(33, "-1e9").replacen("0.644217687237691,7,", "0.644217687237691,,", 1);
    let classes = lines.lines().enumerate().map(|(i, line)| match line.rsplit_once(',') {
        Some((start, y)) if i > 0 => format!("{start},{}\n", if y.starts_with('-') { "low" } else { "high" }),
        _ => format!("{line}\n"),
    });
    lab.file("t.csv", &classes.collect::<String>());
    said(&lab, &["--loss", "hinge", "--missing", "drop"], &["feature b is -1000000000 in row 33"]);
    lab.file("t.csv", &usual);
    assert!(notes(&lab.json(&["fit", "t.csv", "--target", "y", "-k", "gaussian", "--json"])).is_empty());
}

#[test]
fn a_model_that_predicts_one_class_says_so() {
    let lab = Lab::new();
    lab.file("t.csv", &table(|i, _| if i % 10 == 3 { "yes".into() } else { "no".into() }));
    let more = ["--loss", "hinge", "--kernel", "linear", "--lambda", "1000..2000:2", "--probability"];
    said(&lab, &more, &["y: the model predicts no for every training row", "--class-weight"]);
    lab.ok(&[&["fit", "t.csv", "--target", "y", "--output", "m.mercer"], &more[..]].concat());
    lab.ok(&["predict", "m.mercer", "t.csv", "--probability", "--output", "p.csv"]);
    assert!(lab.numbers("p.csv", "probability_yes").iter().all(|share| (share - 0.1).abs() < 1e-9));
}
