//! Fits that choose everything themselves.

use serde_json::Value;

use crate::lab::{Lab, close, line, number, text};

#[test]
fn a_bare_fit_chooses_everything_and_says_why() {
    let lab = Lab::with_table("friedman1", 90);
    let fit = ["fit", "t.csv", "--target", "y"];
    let report = lab.json(&line(&[&fit, &["--json", "--output", "m.mercer"]]));
    let trials = report["trials"].as_array().unwrap();
    assert!(trials.len() > 3, "{report}");
    let chosen: Vec<&Value> = trials.iter().filter(|trial| trial["is_chosen"] == true).collect();
    assert_eq!(chosen.len(), 1);
    for key in ["family", "metric", "judged_by"] {
        assert!(chosen[0][key].is_string(), "{key}: {}", chosen[0]);
    }
    assert!(number(chosen[0], "rmse") > 0.0 && number(chosen[0], "seconds") >= 0.0);
    assert_eq!((&report["ran_out"], &report["is_reproducible"]), (&Value::Bool(false), &Value::Bool(true)));
    let shares = report["importance"].as_array().unwrap();
    let sum: f64 = shares.iter().map(|item| number(item, "share")).sum();
    assert!(shares.is_empty() || (sum - 1.0).abs() < 1e-9, "{shares:?}");
    // Kernel ridge with one lengthscale is far behind on this function.
    let plain = lab.json(&line(&[&fit, &["--json", "--kernel", "gaussian"]]));
    assert!(plain.get("trials").is_none());
    assert!(number(chosen[0], "rmse") < number(&plain, "loo_rmse"));

    let page = text(&lab.ok(&fit));
    for part in ["trying", "chosen", "error", "what matters", "everything was tried"] {
        assert!(page.contains(part), "{part}: {page}");
    }
    assert!(page.lines().count() < 50 && page.lines().all(|line| line.chars().count() <= 140), "{page}");
    lab.ok(&["predict", "m.mercer", "t.csv", "--output", "p.csv", "-q"]);
    assert_eq!(lab.column("p.csv", "prediction").len(), 90);
    lab.ok(&line(&[&fit, &["--table", "trials.csv", "-q"]]));
    assert_eq!(lab.frame("trials.csv").rows(), trials.len());
}

#[test]
fn a_budget_is_kept_and_may_run_out() {
    let lab = Lab::with_table("friedman1", 300);
    let fit = ["fit", "t.csv", "--target", "y", "--budget", "0.02s"];
    let report = lab.json(&line(&[&fit, &["--json"]]));
    assert_eq!(report["ran_out"], true, "{}", report["trials"]);
    assert!(number(&report, "budget") == 0.02 && number(&report, "seconds") < 20.0);
    let page = text(&lab.ok(&fit));
    assert!(page.contains("the budget of 0.02 s ran out before everything was tried; "), "{page}");
    assert!(page.contains(" s in all; --budget gives more"), "{page}");
    assert!(page.contains("depends on the speed and load of this machine"), "{page}");
    assert_eq!(report["is_reproducible"], false);
    // The baselines are judged first, however short the time is.
    let trials = report["trials"].as_array().unwrap();
    assert!(trials.iter().any(|trial| trial["family"] == "linear" && trial["rmse"].is_number()), "{trials:?}");
    // The options that are named fit the same model.
    let again = report["fit_again"].as_str().unwrap();
    let output = lab.shell(&format!("mercer fit t.csv --target y {again} --json"));
    let output: Value = serde_json::from_slice(&output.stdout).unwrap();
    for key in ["loo_rmse", "norm", "objective"] {
        assert!(close(number(&output, key), number(&report, key), 1e-6), "{key}: {again}");
    }
    // An exponent can be asked for in both modes.
    let small = Lab::with_table("friedman1", 60);
    let named = small.json(&["fit", "t.csv", "--target", "y", "--exponent", "1.5", "--json"]);
    assert!(named.get("trials").is_none() && named["kernel"].as_str().unwrap().starts_with("gaussian("));
    let found = small.json(&["fit", "t.csv", "--target", "y", "--exponent", "1.5", "--budget", "1m", "--json"]);
    assert!(found.get("trials").is_some() && number(&found, "exponent") == 1.5);
}

#[test]
fn an_assessment_shares_the_budget() {
    let lab = Lab::with_table("friedman1", 60);
    let report = lab.json(&["fit", "t.csv", "--target", "y", "--budget", "30s", "--assess", "kfold:2", "--json"]);
    assert_eq!((number(&report, "budget"), number(&report, "budget_in_all")), (10.0, 30.0));
    let page = text(&lab.ok(&["fit", "t.csv", "--target", "y", "--budget", "0.3s", "--assess", "kfold:2"]));
    let said = "the budget of 0.3 s, of which this search had 0.1 s and --assess the rest, ran out";
    assert!(page.contains(said), "{page}");
    assert_eq!(report["assessment"]["rmse"].as_array().unwrap().len(), 2);
}
