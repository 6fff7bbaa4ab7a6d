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
