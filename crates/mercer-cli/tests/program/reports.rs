//! What a fit and a model say about themselves.

use crate::lab::{Lab, close, number, text};

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
    let output = lab.ok(&["fit", "t.csv", "--target", "y", "--kernel", "gaussian"]);
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
    let page = text(&lab.ok(&["fit", "t.csv", "--target", "y", "-k", "gaussian", "--verbose", "--output", "m.mercer"]));
    assert!(page.contains("eigendecomposition") && page.contains("forecast") && page.contains("m.mercer"), "{page}");
    let output = lab.ok(&["fit", "t.csv", "--target", "y", "-k", "gaussian", "--quiet", "--output", "m.mercer"]);
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
    assert!(facts.len() >= 19, "{inspected}");
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

#[test]
fn the_method_is_the_one_that_was_used() {
    let lab = Lab::with_table("friedman1", 250);
    // Several kernels on a small table are judged on such forms.
    let kernels = ["--kernel", "gaussian", "--kernel", "matern32", "--exponent", "1.5..2:0.5"];
    let fit = [&["fit", "t.csv", "--target", "y"], &kernels[..]].concat();
    let page = text(&lab.ok(&fit));
    assert!(page.contains("exact, tridiagonal form of the Gram matrix"), "{page}");
    // With weights the eigenvectors are needed.
    let page = text(&lab.ok(&[&fit[..], &["--weight", "x5"]].concat()));
    assert!(page.contains("exact, eigendecomposition of the Gram matrix"), "{page}");
}

#[test]
fn a_ridge_that_landmarks_chose_says_so() {
    let lab = Lab::with_table("friedman1", 500);
    let fit = ["fit", "t.csv", "--target", "y", "--kernel", "gaussian", "--solver", "conjugate-gradients"];
    let page = text(&lab.ok(&[&fit[..], &["--output", "m.mercer"]].concat()));
    let report = lab.json(&[&fit[..], &["--json"]].concat());
    let rank = report["chosen_on_landmarks"].as_u64().unwrap();
    let said = format!("by exact leave-one-out of the model on {rank} landmarks");
    assert!(page.contains(&said) && text(&lab.ok(&["inspect", "m.mercer"])).contains(&said), "{page}");
    let given = lab.json(&[&fit[..], &["--lambda", "1e-4", "--json"]].concat());
    assert!(given["chosen_on_landmarks"].is_null(), "{given}");
}
