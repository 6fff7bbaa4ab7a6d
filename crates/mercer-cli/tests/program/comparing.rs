//! `mercer compare`

use serde_json::Value;

use crate::lab::{Lab, close, error, line, number, text};
use crate::paths::check_svg;

const QUICK: &str = "mean,ridge,gaussian,gaussian-tuned,matern52,laplace,additive-spline,additive-spline-fpe,\
                     multiplicative-spline,m-power";

fn without_seconds(mut report: Value) -> Value {
    for method in report["methods"].as_array_mut().unwrap() {
        method.as_object_mut().unwrap().remove("seconds");
    }
    report
}

#[test]
fn methods_side_by_side() {
    let lab = Lab::with_table("friedman1", 80);
    let compare = ["compare", "t.csv", "--target", "y", "--methods", QUICK, "--folds", "4"];
    let report = lab.json(&line(&[&compare, &["--json", "--svg", "c.svg", "--output", "c.csv"]]));
    let methods = report["methods"].as_array().unwrap();
    let names: Vec<&str> = methods.iter().map(|method| method["method"].as_str().unwrap()).collect();
    assert_eq!(names.len(), 10);
    assert!(QUICK.split(',').all(|name| names.contains(&name)), "{names:?}");
    let means: Vec<f64> = methods.iter().map(|method| number(method, "mean")).collect();
    assert!(means.is_sorted(), "{means:?}");
    assert_eq!(names[9], "mean", "everything is better than the mean");
    let ranks: f64 = methods.iter().map(|method| number(method, "mean_rank")).sum();
    assert!(close(ranks, 55.0, 1e-12));
    assert!(methods.iter().all(|method| method["rmse"].as_array().unwrap().len() == 4));
    assert!(number(&methods[0], "r2") > 0.5 && number(&methods[9], "r2") <= 0.0);
    // One of them is what `fit --assess` says on the same folds.
    let fit = ["fit", "t.csv", "--target", "y", "--kernel", "matern52", "--assess", "kfold:4", "--json"];
    let matern = methods.iter().find(|method| method["method"] == "matern52").unwrap();
    assert_eq!(lab.json(&fit)["assessment"]["rmse"], matern["rmse"]);

    let again = lab.json(&line(&[&compare, &["--json", "--threads", "1"]]));
    assert_eq!(without_seconds(report.clone()), without_seconds(again));
    let other = lab.json(&line(&[&compare, &["--json", "--seed", "2"]]));
    assert_ne!(without_seconds(report.clone()), without_seconds(other));
    let svg = String::from_utf8(lab.bytes("c.svg")).unwrap();
    check_svg(&svg);
    assert_eq!(svg.matches("<circle").count(), 10);
    assert_eq!(lab.numbers("c.csv", "rmse"), means);

    let page = text(&lab.ok(&compare));
    for part in ["80 rows", "4 folds", "RMSE ± sd", "mean rank", "gaussian-tuned", "█"] {
        assert!(page.contains(part), "{part}: {page}");
    }
    let csv = text(&lab.ok(&line(&[&compare, &["--style", "csv"]])));
    assert!(csv.starts_with("method,RMSE,sd,R²,mean rank,seconds per fit\n") && csv.lines().count() == 11, "{csv}");
    let output = lab.ok(&line(&[&compare, &["--style", "markdown", "--verbose"]]));
    assert!(text(&output).lines().all(|line| line.starts_with('|')), "{}", text(&output));
    assert!(error(&output).contains("ridge, fold 2 of 4"), "{}", error(&output));
}

#[test]
fn the_automatic_method_and_repeats() {
    let lab = Lab::with_table("friedman1", 60);
    let compare = ["compare", "t.csv", "--target", "y", "--folds", "2", "--methods", "mean,automatic", "--json"];
    let report = lab.json(&line(&[&compare, &["--budget", "5s", "--repeats", "2"]]));
    let methods = report["methods"].as_array().unwrap();
    assert_eq!((&methods[0]["method"], &report["repeats"]), (&Value::from("automatic"), &Value::from(2)));
    assert_eq!(methods[0]["rmse"].as_array().unwrap().len(), 4);
    let help = text(&lab.ok(&["compare", "--help"]));
    for method in QUICK.split(',').chain(["automatic"]) {
        assert!(help.contains(method), "{method}: {help}");
    }
}

#[test]
fn what_cannot_be_fitted_is_said_and_the_rest_goes_on() {
    let lab = Lab::with_table("friedman1", 60);
    // Too little memory for a Gram matrix, enough for a linear fit.
    let compare = ["compare", "t.csv", "--target", "y", "--methods", "mean,gaussian", "--memory", "1K"];
    let page = text(&lab.ok(&compare));
    assert!(page.contains("gaussian could not be fitted: ") && page.contains("rows need"), "{page}");
    let report = lab.json(&line(&[&compare, &["--json"]]));
    assert!(report["methods"][1]["error"].is_string(), "{report}");
    let alone = lab.command(&["compare", "t.csv", "--target", "y", "--methods", "gaussian", "--memory", "1K"]).output();
    let alone = alone.unwrap();
    assert_eq!(alone.status.code(), Some(1));
    assert!(error(&alone).starts_with("error: ") && error(&alone).contains("rows need"), "{}", error(&alone));
}

/// Numbers, groups and classes; every fifth row lacks a cell of `a`, and rows 3 and 4 their targets.
fn with_gaps() -> String {
    (0..60).fold("a,b,who,kind,y\n".to_owned(), |table, i| {
        let cell = |is_missing: bool, text: String| if is_missing { String::new() } else { text };
        let a = (i * 37 % 19) as f64;
        // Rows with a gap are far off and of one class: they must not count.
        let (kind, y) =
            if i % 5 == 0 { ("odd", 1e4) } else { (["no", "yes"][usize::from(a > 9.0)], a + (i % 7) as f64) };
        let (a, kind, y) = (cell(i % 5 == 0, a.to_string()), cell(i == 3, kind.into()), cell(i == 3, y.to_string()));
        table + &format!("{a},{},s{},{kind},{y}\n", i % 7, i / 4)
    })
}

#[test]
fn all_methods_are_compared_on_the_rows_without_missing_cells() {
    let lab = Lab::new();
    lab.file("t.csv", &with_gaps());
    let of_numbers = ["compare", "t.csv", "--target", "y", "--drop", "kind,who", "--methods", "mean,ridge,gaussian"];
    let of_classes =
        ["compare", "t.csv", "--target", "kind", "--drop", "y,who", "--methods", "majority,linear-logistic"];
    for compare in [&of_numbers[..], &of_classes[..]] {
        let refused = error(&lab.fails(compare, 1));
        assert!(refused.contains("the cell is missing") && refused.contains("--missing drop"), "{refused}");
        let dropped = line(&[compare, &["--missing", "drop", "--folds", "4"]]);
        let report = lab.json(&line(&[&dropped, &["--json"]]));
        assert_eq!((&report["rows"], &report["rows_dropped_missing"]), (&47.into(), &13.into()), "{report}");
        let page = text(&lab.ok(&dropped));
        assert!(page.contains("47 rows, target") && page.contains("13 rows left out: a cell is missing"), "{page}");
        // As without those rows from the start.
        let complete: Vec<String> =
            with_gaps().lines().map(str::to_owned).filter(|line| !line.starts_with(',')).collect();
        let complete: Vec<String> = complete.into_iter().filter(|line| !line.ends_with(",,")).collect();
        lab.file("c.csv", &(complete.join("\n") + "\n"));
        let again = line(&[&["compare", "c.csv"], &compare[2..], &["--folds", "4", "--json"]]);
        assert_eq!(without_seconds(report)["methods"], without_seconds(lab.json(&again))["methods"]);
    }
    // A mean takes the place of a feature, and of nothing else.
    let mean = line(&[&of_numbers, &["--missing", "mean"]]);
    assert!(error(&lab.fails(&mean, 1)).contains("a mean cannot take its place"));
}

#[test]
fn the_heading_names_groups() {
    let lab = Lab::new();
    lab.file("t.csv", &with_gaps());
    let compare = ["compare", "t.csv", "--target", "y", "--drop", "kind", "--methods", "mean", "--missing", "drop"];
    let page = text(&lab.ok(&line(&[&compare, &["--group", "who"]])));
    assert!(page.contains("5 folds of whole groups (column who), the same for all methods"), "{page}");
    let report = lab.json(&line(&[&compare, &["--group", "who", "--json"]]));
    assert_eq!(report["group"], "who");
    assert!(!text(&lab.ok(&compare)).contains("groups"));
}
