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

#[test]
fn importance_takes_the_training_table_and_no_other() {
    let lab = Lab::with_table("friedman1", 60);
    let table = String::from_utf8(lab.bytes("t.csv")).unwrap();
    let (header, rows) = table.split_once('\n').unwrap();
    let cells: Vec<Vec<&str>> = rows.lines().map(|row| row.split(',').collect()).collect();
    let place = header.split(',').position(|name| name == "y").unwrap();
    let with = |y: &dyn Fn(usize) -> String, kept: usize| {
        let row = |i: usize| {
            let cell = |(j, cell): (usize, &&str)| if j == place { y(i) } else { (*cell).to_owned() };
            let cells: Vec<String> = cells[i].iter().enumerate().map(cell).collect();
            format!("{},{},s{}\n", cells.join(","), 1 + i % 4, i / 5)
        };
        format!("{header},w,who\n{}", (0..kept).map(row).collect::<String>())
    };
    lab.file("t.csv", &with(&|i| cells[i][place].into(), 60));
    lab.file("shuffled.csv", &with(&|i| cells[(i + 7) % 60][place].into(), 60));
    lab.file("times.csv", &with(&|i| format!("{}", 1000.0 * cells[i][place].parse::<f64>().unwrap()), 60));
    lab.file("fewer.csv", &with(&|i| cells[i][place].into(), 50));
    let fit = ["fit", "t.csv", "--target", "y", "--kernel", "gaussian", "-q"];
    lab.ok(&line(&[&fit, &["--drop", "w,who", "-o", "m.mercer"]]));
    lab.ok(&line(&[&fit, &["--drop", "w,who", "--clip", "-o", "clip.mercer"]]));
    lab.ok(&line(&[&fit, &["--drop", "w", "--group", "who", "-o", "groups.mercer"]]));
    lab.ok(&line(&[&fit, &["--drop", "who", "--weight", "w", "-o", "weights.mercer"]]));
    let effects =
        |model, data, more: &[&'static str]| line(&[&["effects", model, "--importance", "--data", data], more]);
    for fine in [
        effects("m.mercer", "t.csv", &[]),
        effects("clip.mercer", "t.csv", &[]),
        effects("m.mercer", "t.csv", &["--group", "who"]),
        effects("groups.mercer", "t.csv", &["--group", "who"]),
        effects("weights.mercer", "t.csv", &["--weight", "w"]),
    ] {
        lab.ok(&fine);
    }
    for data in ["shuffled.csv", "times.csv", "fewer.csv"] {
        let refused = error(&lab.fails(&effects("m.mercer", data, &[]), 1));
        assert!(refused.contains("the training rows must be those of the fit"), "{data}: {refused}");
    }
    let refused = error(&lab.fails(&effects("weights.mercer", "t.csv", &[]), 1));
    assert!(refused.contains("with their weights"), "{refused}");
    let refused = error(&lab.fails(&effects("groups.mercer", "t.csv", &[]), 1));
    assert!(refused.contains("12 groups") && refused.contains("--group NAME"), "{refused}");
    let refused = error(&lab.fails(&effects("groups.mercer", "t.csv", &["--group", "w"]), 1));
    assert!(refused.contains("12 groups, which the fit had"), "{refused}");
}

/// Rows of a series with a trend, the first date first, or last.
fn series(runs_backwards: bool) -> String {
    let rows: Vec<String> = (0..56)
        .map(|i| {
            let (x, wave) = ((i * 7919 % 101) as f64 / 50.0, (i * 31 % 17) as f64 / 8.0);
            format!("2021-{:02}-{:02},{x},{}\n", 1 + i / 28, 1 + i % 28, 0.2 * i as f64 + x + 0.3 * wave)
        })
        .collect();
    let rows: String = if runs_backwards { rows.into_iter().rev().collect() } else { rows.concat() };
    format!("date,x,y\n{rows}")
}

fn notes(report: &serde_json::Value) -> String {
    report["notes"].as_array().unwrap().iter().map(|note| note.as_str().unwrap()).collect::<Vec<_>>().join(" ")
}

#[test]
fn a_table_that_runs_backwards_in_time_is_named() {
    let lab = Lab::new();
    lab.file("back.csv", &series(true));
    lab.file("t.csv", &series(false));
    let fit = ["--target", "y", "--json"];
    for more in [
        &["--kernel", "matern52", "--criterion", "forward:4"][..],
        &["--kernel", "linear", "--criterion", "forward:4", "--drop", "date"],
        &["--kernel", "linear", "--lambda", "0.1", "--assess", "forward:4"],
        &["--loss", "huber", "--kernel", "linear", "--lambda", "0.01..0.1:3", "--criterion", "forward:4"],
        &["--penalty", "lasso", "--criterion", "forward:4"],
    ] {
        let said = notes(&lab.json(&line(&[&["fit", "back.csv"], &fit, more])));
        assert!(said.contains("date falls from row to row, so the rows run backwards in time"), "{more:?}: {said}");
        assert_eq!(said.matches("falls").count(), 1, "{said}");
        let said = notes(&lab.json(&line(&[&["fit", "t.csv"], &fit, more])));
        assert!(!said.contains("falls"), "{more:?}: {said}");
    }
    let compare = ["compare", "back.csv", "--target", "y", "--methods", "mean", "--folds"];
    let page = text(&lab.ok(&line(&[&compare, &["forward:4"]])));
    assert!(page.contains("date falls from row to row"), "{page}");
    assert!(!text(&lab.ok(&line(&[&compare, &["4"]]))).contains("falls"));
    let path = ["path", "back.csv", "--target", "y", "--criterion", "forward:4"];
    assert!(error(&lab.ok(&path)).contains("date falls from row to row"));
}

#[test]
fn an_assessment_that_predicts_earlier_rows_from_later_ones_is_named() {
    let lab = Lab::new();
    lab.file("t.csv", &series(false));
    for model in [
        &["--kernel", "linear"][..],
        &["--penalty", "lasso"],
        &["--loss", "huber", "--kernel", "linear", "--lambda", "0.01..0.1:3"],
    ] {
        let fit = line(&[&["fit", "t.csv", "--target", "y", "--criterion", "forward:4", "--assess"], model]);
        let (before, after) = fit.split_at(7);
        let said = |assess: &str| line(&[before, &[assess], after]).iter().map(|s| (*s).to_owned()).collect::<Vec<_>>();
        let run = |assess: &str, more: &[&str]| {
            let arguments = said(assess);
            let arguments: Vec<&str> = arguments.iter().map(String::as_str).chain(more.iter().copied()).collect();
            lab.ok(&arguments)
        };
        let page = text(&run("kfold:5", &[]));
        assert!(page.contains("--assess predicts rows from later ones"), "{model:?}: {page}");
        let report: serde_json::Value = serde_json::from_slice(&run("kfold:5", &["--json"]).stdout).unwrap();
        assert!(notes(&report).contains("--assess predicts rows from later ones"), "{report}");
        assert!(!text(&run("forward:4", &[])).contains("later ones"), "{model:?}");
    }
}

#[test]
fn a_model_is_compared_with_the_mean_of_the_rows_before() {
    let lab = Lab::new();
    // With a trend the mean of earlier rows is worse than a model whose R² on the later rows is below 0.
    lab.file("t.csv", &series(false));
    let fit = ["fit", "t.csv", "--target", "y", "--drop", "date", "--json", "--criterion", "forward:5"];
    for model in [&["--kernel", "linear"][..], &["--penalty", "lasso"]] {
        let report = lab.json(&line(&[&fit, model]));
        assert!(!notes(&report).contains("no better"), "{report}");
        assert!(!model.contains(&"linear") || number(&report["forward"], "r2") < 0.0, "{report}");
    }
    // Of numbers that follow nothing nothing is learned.
    let noise: String = (0..60).map(|i| format!("{},{}\n", i * 31 % 17, i * 7919 % 1009)).collect();
    lab.file("t.csv", &format!("x,y\n{noise}"));
    let fit = ["fit", "t.csv", "--target", "y", "--kernel", "laplace", "--lambda", "1e-9", "--json"];
    let report = lab.json(&line(&[&fit, &["--criterion", "forward:5"]]));
    let said = notes(&report);
    assert!(said.contains("later rows are predicted no better than by the mean of the earlier rows"), "{said}");
}

#[test]
fn groups_are_compared_with_the_mean_of_the_other_groups() {
    let lab = Lab::new();
    // Two levels: without a group the mean of the others is far from it.
    let row = |i: usize| {
        format!("{},g{},{}\n", (i % 10) as f64 * 0.1, i / 10, if i < 20 { 0.0 } else { 10.0 } + (i % 10) as f64)
    };
    lab.file("t.csv", &format!("x,who,y\n{}", (0..30).map(row).collect::<String>()));
    let fit = ["fit", "t.csv", "--target", "y", "--group", "who", "--kernel", "linear", "--json"];
    let report = lab.json(&fit);
    assert!(number(&report, "logo_r2") < 0.0, "{report}");
    assert!(!notes(&report).contains("no better"), "{report}");
}
