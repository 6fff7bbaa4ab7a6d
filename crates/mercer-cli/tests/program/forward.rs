//! Rows in order of time: what is said of new rows comes from forward chaining.

use crate::lab::{Lab, close, error, line, number, text};

const FIT: [&str; 6] = ["fit", "t.csv", "--target", "y", "--kernel", "matern52"];

#[test]
fn reports_speak_of_forward_chaining_and_not_of_leave_one_out() {
    let lab = Lab::with_table("friedman1", 90);
    for lambda in [&[][..], &["--lambda", "0.01"]] {
        let chained = line(&[&FIT, lambda, &["--criterion", "forward(folds=4,gap=2)"]]);
        let report = lab.json(&line(&[&chained, &["--json"]]));
        for key in ["loo_rmse", "loo_r2", "loo_within_90"] {
            assert!(report[key].is_null(), "{key}: {report}");
        }
        let (held_out, forward) = (&report["held_out"], &report["forward"]);
        assert_eq!(held_out["measure"], "squared");
        assert!(close(number(held_out, "value").sqrt(), number(forward, "rmse"), 1e-12));
        assert!(number(held_out, "standard_error") > 0.0 && number(forward, "within_90") > 0.0);
        assert_eq!((&forward["rows"], &forward["folds"]), (&72.into(), &4.into()));
        if lambda.is_empty() {
            assert_eq!(report["criterion"], "forward(folds=4,gap=2)");
            assert!(close(number(&report["tried"][0], "score"), number(held_out, "value"), 1e-9));
        }
        let page = text(&lab.ok(&chained));
        for part in [
            "forward-chained RMSE",
            "over 4 blocks",
            "90 % of the 72 predicted rows",
            "each block of rows from earlier rows",
        ] {
            assert!(page.contains(part), "{part}: {page}");
        }
        assert!(!page.contains("leave-one-out") && !page.contains("left out"), "{page}");
    }
    // order=time is forward chaining, and blocks have a name of their own.
    let by = |criterion: &str| lab.json(&line(&[&FIT, &["--json", "--criterion", criterion]]));
    let (chained, by_time, blocks) =
        (by("forward:4"), by("kfold(folds=4,order=time)"), by("kfold(folds=4,order=blocks)"));
    assert_eq!(by_time["criterion"], "forward(folds=4)");
    assert_eq!((&chained["lambda"], &chained["held_out"]), (&by_time["lambda"], &by_time["held_out"]));
    assert_ne!(blocks["lambda"], chained["lambda"]);
    // The exact number of rows decides what is possible.
    let impossible = error(&lab.fails(&line(&[&FIT, &["--criterion", "forward(folds=5,block=20)"]]), 1));
    assert!(impossible.contains("forward chaining") && impossible.contains("90"), "{impossible}");
}

#[test]
fn assessments_comparisons_paths_and_other_fits_chain_forward() {
    let lab = Lab::with_table("friedman1", 80);
    let assessed = lab.json(&line(&[&FIT, &["--assess", "forward(folds=3,window=30)", "--json"]]));
    let compare =
        ["compare", "t.csv", "--target", "y", "--folds", "forward(folds=3,window=30)", "--methods", "mean,matern52"];
    let compared = lab.json(&line(&[&compare, &["--json"]]));
    let matern = compared["methods"].as_array().unwrap().iter().find(|method| method["method"] == "matern52").unwrap();
    assert_eq!(assessed["assessment"]["rmse"], matern["rmse"]);
    assert!(compared["is_forward"] == true && compared["folds"] == 3);
    assert!(text(&lab.ok(&compare)).contains("3 blocks, each predicted from earlier rows"));
    assert!(error(&lab.fails(&line(&[&compare, &["--repeats", "2"]]), 2)).contains("--repeats"));
    let page = text(&lab.ok(&line(&[&FIT, &["--assess", "forward:3"]])));
    assert!(page.contains("three blocks, each from earlier rows, selection inside"), "{page}");

    // Along λ, the value at the λ of `fit` is its value.
    let fit = lab.json(&line(&[&FIT, &["--json", "--criterion", "forward:4"]]));
    let lambda = fit["lambda"].to_string();
    let path = [
        "path",
        "t.csv",
        "--target",
        "y",
        "--kernel",
        "matern52",
        "--criterion",
        "forward:4",
        "--json",
        "--lambda",
        &lambda,
    ];
    let path = lab.json(&path).to_string();
    let root = number(&fit["forward"], "rmse");
    assert!(path.contains(&format!("{root:.8}")[..8]), "{root}: {path}");

    for more in [&["--loss", "huber"][..], &["--method", "lasso"], &["--method", "svr"]] {
        let fit = line(&[&["fit", "t.csv", "--target", "y", "--criterion", "forward(folds=4)"], more]);
        let report = lab.json(&line(&[&fit, &["--json"]]));
        assert_eq!(report["criterion"], "forward(folds=4)");
        assert!(number(&report["held_out"], "value") > 0.0);
        assert!(text(&lab.ok(&fit)).contains("forward chaining over 4 blocks"), "{more:?}");
    }
}

#[test]
fn intervals_that_need_exchangeable_rows_are_refused() {
    let lab = Lab::with_table("friedman1", 80);
    lab.ok(&line(&[&FIT, &["--criterion", "forward:4", "--output", "m.mercer", "-q"]]));
    let predict = ["predict", "m.mercer", "t.csv", "--interval", "0.9", "--output", "p.csv", "-q"];
    for method in ["jackknife+", "cv+"] {
        let refused = error(&lab.fails(&line(&[&predict, &["--method", method]]), 1));
        assert!(refused.contains("order of time") && refused.contains("gaussian-process"), "{refused}");
    }
    lab.ok(&line(&[&predict, &["--method", "gaussian-process"]]));
    let page = text(&lab.ok(&["inspect", "m.mercer"]));
    assert!(page.contains("forward-chained RMSE") && !page.contains("leave-one-out"), "{page}");
}

#[test]
fn an_automatic_fit_keeps_the_order_of_time() {
    let lab = Lab::with_table("friedman1", 90);
    let fit = ["fit", "t.csv", "--target", "y", "--budget", "20s", "--criterion", "forward(folds=4)"];
    let report = lab.json(&line(&[&fit, &["--json"]]));
    let chosen = report["trials"].as_array().unwrap().iter().find(|trial| trial["is_chosen"] == true).unwrap();
    assert_eq!(
        (&chosen["judged_by"], &report["criterion"]),
        (&"4 blocks of later rows".into(), &"forward(folds=4)".into())
    );
    assert!(report["loo_rmse"].is_null() && number(&report["forward"], "rmse") > 0.0);
    assert!(report["importance"].as_array().unwrap().len() == 10);
    let page = text(&lab.ok(&fit));
    assert!(page.contains("blocks of later rows") && page.contains("forward-chained RMSE"), "{page}");
    assert!(!page.contains("leave-one-out"), "{page}");
    let refused = error(&lab.fails(&["fit", "t.csv", "--target", "y", "--budget", "5s", "--criterion", "gcv"], 2));
    assert!(refused.contains("--budget") && refused.contains("gcv"), "{refused}");
}

#[test]
fn effects_show_importance_from_the_training_table() {
    let lab = Lab::with_table("friedman1", 90);
    lab.ok(&line(&[&FIT, &["--output", "m.mercer", "-q"]]));
    let effects = ["effects", "m.mercer", "--importance", "--data", "t.csv"];
    let report = lab.json(&line(&[&effects, &["--json", "--output", "i.csv"]]));
    let columns = report["targets"][0]["columns"].as_array().unwrap();
    let increases: Vec<f64> = columns.iter().map(|column| number(column, "increase")).collect();
    assert!(columns.len() == 10 && increases.is_sorted_by(|a, b| a >= b) && increases[0] > 0.0, "{report}");
    assert_eq!(lab.numbers("i.csv", "increase"), increases);
    let page = text(&lab.ok(&effects));
    assert!(page.contains("90 held-out rows") && page.contains("std. error"), "{page}");
    let refused = error(&lab.fails(&["effects", "m.mercer", "--importance"], 2));
    assert!(refused.contains("--data"), "{refused}");
}
