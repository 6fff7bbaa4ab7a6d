//! `mercer certify`

use serde_json::Value;

use crate::lab::{Lab, close, error, line, number, text};

fn bound<'a>(risk: &'a Value, name: &str) -> &'a Value {
    let bounds = risk["bounds"].as_array().unwrap();
    bounds.iter().find(|bound| bound["name"].as_str().unwrap().contains(name)).unwrap_or_else(|| panic!("{name}"))
}

#[test]
fn a_table_is_certified() {
    let lab = Lab::with_table("friedman1", 80);
    let certify = ["certify", "t.csv", "--target", "y", "--target-at-most", "40"];
    let report = lab.json(&line(&[&certify, &["--json"]]));
    let fitted = lab.json(&["fit", "t.csv", "--target", "y", "--kernel", "gaussian", "--no-offset", "--json"]);
    assert!(close(number(&report, "lambda"), number(&fitted, "lambda"), 1e-9));
    assert!(close(number(&report, "norm"), number(&fitted, "norm"), 1e-9));
    let risk = &report["risks"][0];
    assert!(close(number(risk, "held_out"), number(&fitted, "loo_rmse").powi(2), 1e-9), "{report}");
    assert!(close(number(risk, "train"), number(&fitted, "train_rmse").powi(2), 1e-6), "{report}");
    // Each level is over more than the one before it.
    for deletion in report["stability"]["deletions"].as_array().unwrap() {
        let levels = ["at_rows", "any_target", "anywhere", "bound"].map(|key| number(deletion, key));
        assert!(levels.is_sorted(), "{levels:?}");
    }
    let kept = &report["stability"]["deletions"][0];
    let (m, lambda) = (40.0 + 40.0 / number(&report, "lambda").sqrt(), number(&report, "lambda"));
    assert!(close(number(&report, "residual_bound"), m, 1e-12));
    assert!(close(number(&report["stability"], "published_bound"), 4.0 * m * m / (lambda * 80.0), 1e-12));
    assert!(close(2.0 * number(kept, "bound"), number(&report["stability"], "published_bound"), 1e-12));
    let expected =
        number(risk, "train") + 4.0 * m * (1600.0 / lambda / 80.0).sqrt() + m * m * (20_f64.ln() / 160.0).sqrt();
    assert!(close(number(bound(risk, "radius"), "value"), expected, 1e-9));
    assert_eq!(bound(risk, "optimistic")["is_bound"], false);
    assert!(number(&report["stability"]["scaling"]["observed"], "rate") > 0.0);

    let page = text(&lab.ok(&certify));
    for part in [
        "as given",
        "1/n kept",
        "refitted",
        "as published",
        "above the loss of the mean",
        "Rademacher, trace",
        "doubling balls",
        "rows needed",
        "λ was chosen on these rows",
        "held out",
        "the number to go by",
    ] {
        assert!(page.contains(part), "{part}: {page}");
    }
    // The same bits whatever the threads.
    let again = lab.json(&line(&[&certify, &["--json", "--threads", "1"]]));
    assert_eq!(again, report);
}

#[test]
fn a_model_is_certified_by_the_rows_it_holds() {
    let lab = Lab::with_table("friedman1", 50);
    let fit = ["fit", "t.csv", "--target", "y", "--kernel", "matern52", "-m", "3", "--lambda", "1e-3", "-q"];
    lab.ok(&line(&[&fit, &["--output", "offset.mercer"]]));
    lab.ok(&line(&[&fit, &["--no-offset", "--output", "plain.mercer"]]));
    let table = ["certify", "t.csv", "--target", "y", "--kernel", "matern52", "-m", "3", "--lambda", "1e-3", "--json"];
    let expected = lab.json(&table);
    for (model, had_offset) in [("plain.mercer", false), ("offset.mercer", true)] {
        let report = lab.json(&["certify", model, "--json"]);
        assert_eq!(report["had_offset"], had_offset);
        for key in ["norm", "target_bound", "lambda", "norm_bound"] {
            assert!(close(number(&report, key), number(&expected, key), 1e-7), "{model}, {key}: {report}");
        }
        let observed = |report: &Value| number(&report["stability"]["deletions"][1], "at_rows");
        assert!(close(observed(&report), observed(&expected), 1e-6));
    }
    let page = text(&lab.ok(&["certify", "offset.mercer"]));
    assert!(page.contains("the model has an offset") && page.contains("lent by ridge regression"), "{page}");
    let centred = lab.json(&["certify", "offset.mercer", "--centre", "14", "--json"]);
    let also = lab.json(&line(&[&table, &["--center", "14"]]));
    assert!(close(number(&centred, "norm"), number(&also, "norm"), 1e-7));
    assert!(number(&centred, "target_bound") < number(&expected, "target_bound"));
    let refused = error(&lab.fails(&["certify", "plain.mercer", "--lambda", "1"], 2));
    assert!(refused.contains("--lambda is decided by the model"), "{refused}");
    lab.ok(&["fit", "t.csv", "--target", "y", "--kernel", "linear", "--output", "linear.mercer", "-q"]);
    let refused = error(&lab.fails(&["certify", "linear.mercer"], 1));
    assert!(refused.contains("does not hold its rows") && refused.contains("certify the table instead"), "{refused}");
}

#[test]
fn other_losses_have_bounds_but_no_stability() {
    let lab = Lab::with_table("sinc", 60);
    let loss = "squared-epsilon-insensitive(epsilon=0.1)";
    let report = lab.json(&["certify", "t.csv", "--target", "y", "--loss", loss, "--lambda", "0.01", "--json"]);
    assert!(report["stability"].is_null());
    let names: Vec<&str> =
        report["risks"][0]["bounds"].as_array().unwrap().iter().map(|b| b["name"].as_str().unwrap()).collect();
    assert_eq!(names.len(), 4, "{names:?}");
    // Λ = (C_y − ε)/√λ, M = C_y + Λ.
    let largest = number(&report, "target_bound");
    assert!(close(number(&report, "norm_bound"), (largest - 0.1) / 0.1, 1e-12));
    let with = lab.json(&["certify", "t.csv", "--target", "y", "--lambda", "0.01", "--epsilon", "0.2", "--json"]);
    let losses: Vec<&str> =
        with["risks"].as_array().unwrap().iter().map(|risk| risk["loss"].as_str().unwrap()).collect();
    assert_eq!(losses, ["squared", "epsilon-insensitive(epsilon=0.2)", "squared-epsilon-insensitive(epsilon=0.2)"]);
    let page = text(&lab.ok(&["certify", "t.csv", "--target", "y", "--loss", "epsilon-insensitive(epsilon=0.1)"]));
    assert!(page.contains("Rademacher") && !page.contains("1/n kept"), "{page}");
}

#[test]
fn certificates_in_every_style() {
    let lab = Lab::with_table("sinc", 40);
    let certify = ["certify", "t.csv", "--target", "y", "-m", "1.5", "--lambda", "0.01"];
    let csv = text(&lab.ok(&line(&[&certify, &["--style", "csv"]])));
    assert!(csv.starts_with("part,what,variant,value\n") && csv.contains("stability,proved,1/n kept,"), "{csv}");
    let markdown = text(&lab.ok(&line(&[&certify, &["--style", "markdown"]])));
    assert!(markdown.lines().all(|line| line.is_empty() || line.starts_with('|')), "{markdown}");
    let latex = text(&lab.ok(&line(&[&certify, &["--style", "latex"]])));
    assert_eq!(latex.matches("\\begin{tabular}").count(), 4, "{latex}");
    lab.ok(&line(&[&certify, &["--output", "c.csv", "-q"]]));
    assert!(lab.numbers("c.csv", "value").len() > 60);
    assert!(lab.ok(&line(&[&certify, &["-q"]])).stdout.is_empty());
    let low = text(&lab.ok(&["certify", "t.csv", "--target", "y", "-m", "0.7", "--lambda", "0.01"]));
    assert!(low.contains("Nothing is proved for exponents up to 1"), "{low}");
    let help = text(&lab.ok(&["certify", "--help"]));
    assert!(help.contains("mercer certify m.mercer --confidence 0.99"), "{help}");
}

#[test]
fn what_cannot_be_certified_is_refused() {
    let lab = Lab::new();
    lab.file("t.csv", "x,w,y\n1,1,3\n2,1,-5\n3,2,1\n");
    let says = |arguments: &[&str], code: i32| error(&lab.fails(&line(&[&["certify", "t.csv"], arguments]), code));
    assert!(says(&[], 2).contains("--target is needed"));
    assert!(says(&["--target", "y", "--target-at-most", "4"], 1).contains("row 2 has 5"));
    assert!(says(&["--target", "y", "--weight", "w"], 2).contains("count alike"));
    assert!(says(&["--target", "y", "--confidence", "1"], 2).contains("between 0 and 1"));
    assert!(says(&["--target", "y", "--loss", "hinge"], 2).contains("one loss of numbers"));
    lab.file("one.csv", "x,y\n1,3\n");
    let refused = error(&lab.fails(&["certify", "one.csv", "--target", "y", "--lambda", "1"], 1));
    assert!(refused.contains("at least two"), "{refused}");
    // Few rows are enough for all but the subsets.
    lab.ok(&["certify", "t.csv", "--target", "y", "--drop", "w"]);
}
