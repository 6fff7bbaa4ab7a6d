//! `mercer fit --loss` on numbers: every loss, quantiles, choices, reports.

use serde_json::Value;

use crate::lab::{Lab, close, line, number, text};

const FOR_NUMBERS: [&str; 6] = [
    "absolute",
    "huber(threshold=0.5)",
    "epsilon-insensitive(epsilon=0.2)",
    "squared-epsilon-insensitive(epsilon=0.2)",
    "pinball(quantile=0.9)",
    "squared",
];

#[test]
fn every_loss_for_numbers() {
    let lab = Lab::with_table("sinc", 50);
    for spec in FOR_NUMBERS {
        let report = lab.json(&["fit", "t.csv", "--target", "y", "--loss", spec, "--json", "-k", "gaussian"]);
        assert_eq!(report["loss"], spec);
        assert_eq!(report["penalty"], "norm-power");
        assert_eq!(report["certificate"]["holds"], true, "{report}");
        if spec == "squared" {
            // The fit by its spectrum, as without --loss.
            let plain = lab.json(&["fit", "t.csv", "--target", "y", "--json", "-k", "gaussian"]);
            assert_eq!((&report["lambda"], &report["loo_rmse"]), (&plain["lambda"], &plain["loo_rmse"]));
            assert!(report["duality_gap"].is_null() && report["held_out"]["measure"] == "squared");
            continue;
        }
        assert!(number(&report, "duality_gap") <= 1e-6, "{report}");
        assert!(number(&report["held_out"], "value") > 0.0 && number(&report["held_out"], "standard_error") > 0.0);
        assert_eq!(report["held_out"]["measure"], "loss");
        assert!((1..=50).contains(&report["support"].as_u64().unwrap()));
        let penalty = number(&report, "lambda") * number(&report, "norm").powi(2);
        assert!(close(number(&report, "objective"), number(&report, "train_loss") + penalty, 1e-6), "{spec}: {report}");
        assert!(number(&report["conversions"], "gamma") > 0.0);
        let page = text(&lab.ok(&["fit", "t.csv", "--target", "y", "--loss", spec]));
        let by = "by 5-fold cross-validation";
        for part in ["50 rows", spec, "kernel", by, "held-out mean loss", "duality gap", "support", "had not seen it"] {
            assert!(page.contains(part), "{part}: {page}");
        }
        assert!(page.lines().count() < 45 && page.lines().all(|line| line.chars().count() <= 140), "{page}");
    }
}

#[test]
fn choices_are_made_and_written_down() {
    let lab = Lab::with_table("friedman1", 60);
    let fit = ["fit", "t.csv", "--target", "y", "--method", "svr", "--loss", "epsilon-insensitive(epsilon=0.1..1:3)"];
    let more = ["--kernel", "gaussian(lengthscale=2..8:2)", "--exponent", "1..2:1", "--lambda", "1e-5..1e-1:3"];
    let report = lab.json(&line(&[&fit, &more, &["--on-grid", "--json", "--table", "points.csv"]]));
    let tried = report["tried"].as_array().unwrap();
    assert_eq!(tried.len(), 3 * 2 * 2);
    assert_eq!(tried.iter().filter(|trial| trial["is_chosen"] == true).count(), 1);
    let points = lab.numbers("points.csv", "value");
    assert_eq!(points.len(), 36);
    let least = points.iter().copied().fold(f64::INFINITY, f64::min);
    assert_eq!(number(&report["held_out"], "value"), least);
    assert_eq!(report["held_out"]["measure"], "absolute");
    let chosen = lab.numbers("points.csv", "is_chosen").iter().position(|x| *x == 1.0).unwrap();
    assert_eq!(lab.numbers("points.csv", "lambda")[chosen], number(&report, "lambda"));
    // The largest λ within a standard error is no smaller than the best.
    let simple = lab.json(&line(&[&fit, &more, &["--on-grid", "--json", "--one-standard-error"]]));
    assert!(number(&simple["held_out"], "value") >= least);
    let page = text(&lab.ok(&line(&[&fit, &more])));
    assert!(page.contains("mean absolute error") && page.contains('*') && page.contains("… 4 more"), "{page}");
    // Another measure, and approximate leave-one-out, which says what it is.
    let squared = lab.json(&line(&[&fit, &["--measure", "squared", "--json"]]));
    assert_eq!(squared["held_out"]["measure"], "squared");
    let loo = ["fit", "t.csv", "--target", "y", "--loss", "huber", "--criterion", "loo"];
    let page = text(&lab.ok(&loo));
    assert!(page.contains("by approximate leave-one-out") && page.contains("as if it had been left out"), "{page}");
    assert_eq!(lab.json(&line(&[&loo, &["--json"]]))["criterion"], "loo");
}

#[test]
fn quantiles_have_a_column_each() {
    let lab = Lab::with_table("friedman1", 80);
    let fit = ["fit", "t.csv", "--target", "y", "--loss", "pinball(quantile=[0.1,0.5,0.9])", "--output", "m.mercer"];
    let page = text(&lab.ok(&line(&[&fit, &["--non-crossing", "--assess", "4"]])));
    for part in ["share below, held out", "0.9", "never cross", "kqr", "pinball loss", "four-fold"] {
        assert!(page.contains(part), "{part}: {page}");
    }
    let output = lab.ok(&["predict", "m.mercer", "t.csv", "--output", "p.csv"]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(said.matches("of the rows are below quantile").count(), 3, "{said}");
    let columns = ["prediction_q0.1", "prediction_q0.5", "prediction_q0.9"].map(|name| lab.numbers("p.csv", name));
    assert!((0..80).all(|row| columns[0][row] <= columns[1][row] && columns[1][row] <= columns[2][row]));
    // Several targets have their names too, and one quantile has the plain name.
    let two = ["fit", "t.csv", "--target", "y,x1", "--loss", "pinball(quantile=[0.2,0.8])", "--lambda", "0.01", "-q"];
    lab.ok(&line(&[&two, &["--output", "two.mercer"]]));
    let report = lab.json(&["predict", "two.mercer", "t.csv", "--json"]);
    let names: Vec<&String> = report["predictions"].as_object().unwrap().keys().collect();
    assert_eq!(names, ["prediction_y_q0.2", "prediction_y_q0.8", "prediction_x1_q0.2", "prediction_x1_q0.8"]);
    assert!(report["errors"]["prediction_y_q0.2"]["below"].as_f64().unwrap() < 0.4);
    let one = ["fit", "t.csv", "--target", "y", "--method", "quantile", "--lambda", "0.01", "--output", "one.mercer"];
    lab.ok(&one);
    assert!(lab.json(&["predict", "one.mercer", "t.csv", "--json"])["predictions"]["prediction"].is_array());
    let page = text(&lab.ok(&["inspect", "m.mercer"]));
    assert!(page.contains("quantiles, sorted") && page.contains("pinball(quantile=0.9)"), "{page}");
}

#[test]
fn names_that_methods_go_by_are_only_shorthand() {
    let lab = Lab::with_table("friedman1", 40);
    let quick = ["--lambda", "0.01", "--json"];
    let fit = |options: &[&str]| {
        let mut report = lab.json(&line(&[&["fit", "t.csv", "--target", "y"], options, &quick]));
        report.as_object_mut().unwrap().remove("seconds");
        // The command.
        report.as_object_mut().unwrap().remove("provenance");
        report
    };
    for (method, same) in [
        ("ridge", &["--loss", "squared", "--kernel", "linear"][..]),
        ("krr", &["--kernel", "gaussian"]),
        ("svr", &["--loss", "epsilon-insensitive"]),
        ("huber", &["--loss", "huber", "--kernel", "gaussian"]),
        ("quantile", &["--loss", "pinball"]),
    ] {
        assert_eq!(fit(&["--method", method]), fit(same), "{method}");
    }
    let refined = fit(&["--method", "svr", "--loss", "epsilon-insensitive(epsilon=0.5)", "--kernel", "matern52"]);
    assert_eq!(refined["loss"], "epsilon-insensitive(epsilon=0.5)");
    assert!(refined["kernel"].as_str().unwrap().starts_with("matern52"));
    // What is nothing for numbers.
    let page = text(&lab.ok(&["losses"]));
    for part in ["huber", "threshold (1)", "squared-epsilon-insensitive", "max(0, 1 − y·v)", "svm", "--classify"] {
        assert!(page.contains(part), "{part}: {page}");
    }
}

#[test]
fn assessment_and_threads() {
    let lab = Lab::with_table("friedman1", 60);
    let fit = ["fit", "t.csv", "--target", "y", "--loss", "huber", "--assess", "kfold:3", "--json"];
    let report = lab.json(&fit);
    for measure in ["rmse", "mae"] {
        let found = &report["assessment"][measure];
        assert_eq!(found["folds"].as_array().unwrap().len(), 3);
        assert!(number(found, "mean") > 0.0 && number(found, "standard_deviation") > 0.0);
    }
    assert!(number(&report["assessment"]["rmse"], "mean") >= number(&report["assessment"]["mae"], "mean"));
    let without_times = |mut report: Value| {
        report.as_object_mut().unwrap().remove("seconds");
        report["assessment"].as_object_mut().unwrap().remove("seconds");
        report
    };
    let again = lab.json(&line(&[&fit, &["--threads", "1"]]));
    assert_eq!(without_times(report.clone()), without_times(again));
    let page = text(&lab.ok(&["fit", "t.csv", "--target", "y", "--loss", "huber", "--assess", "3"]));
    assert!(page.contains("three-fold, selection inside: RMSE ") && page.contains("MAE "), "{page}");
}

#[test]
fn points_that_are_dropped_on_the_way_are_listed() {
    let lab = Lab::with_table("friedman1", 520);
    let fit = ["fit", "t.csv", "--target", "y", "--method", "svr", "--loss", "epsilon-insensitive(epsilon=0.3)"];
    let more = ["--kernel", "gaussian(lengthscale=0.3..3:3)", "--lambda", "1e-5..1e-1:4", "--tolerance", "1e-3"];
    let report = lab.json(&line(&[&fit, &more, &["--on-grid", "--json", "--table", "points.csv"]]));
    let after: Vec<&Value> =
        report["tried"].as_array().unwrap().iter().flat_map(|t| t["dropped_after_folds"].as_array().unwrap()).collect();
    let dropped = after.iter().filter(|folds| !folds.is_null()).count();
    assert!(dropped > 0 && dropped < after.len(), "{after:?}");
    // After all five: judged on each, but not closely.
    assert!(after.iter().filter_map(|folds| folds.as_u64()).all(|folds| folds <= 5));
    let listed = lab.numbers("points.csv", "dropped_after_folds");
    assert_eq!(listed.iter().filter(|folds| !folds.is_nan()).count(), dropped);
    let page = text(&lab.ok(&line(&[&fit, &more, &["--on-grid"]])));
    assert!(
        page.contains("points were dropped before all folds had judged them closely") && page.contains("judged on"),
        "{page}"
    );

    let all = lab.json(&line(&[&fit, &more, &["--on-grid", "--every-point", "--json"]]));
    let none = |trial: &Value| trial["dropped_after_folds"].as_array().unwrap().iter().all(Value::is_null);
    assert!(all["tried"].as_array().unwrap().iter().all(none));
    assert_eq!(all["lambda"], report["lambda"]);
    assert_eq!(all["kernel"], report["kernel"]);
}
