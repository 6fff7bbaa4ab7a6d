//! `mercer plan`, and fits that follow it: conjugate gradients and losses on landmarks.

use crate::lab::{Lab, close, error, line, number, text};

const FIT: [&str; 5] = ["t.csv", "--target", "y", "--kernel", "gaussian"];

fn chosen(report: &serde_json::Value) -> Vec<serde_json::Value> {
    let methods = report["methods"].as_array().unwrap();
    methods.iter().filter(|method| method["is_chosen"] == true).cloned().collect()
}

/// Whatever is planned is what a fit with the same options does, in the memory that was said.
#[test]
fn fits_do_what_was_planned() {
    let lab = Lab::with_table("friedman1", 1200);
    for options in [
        &[][..],
        &["--lambda", "1e-3"],
        &["--lambda", "1e-3", "--exponent", "1.5"],
        &["--exponent", "1.5..2:0.5"],
        &["--rank", "60"],
        &["--lambda", "1e-3", "--solver", "conjugate-gradients"],
        &["--lambda", "1e-3", "--memory", "10M", "--exact"],
        &["--memory", "10M"],
        &["--loss", "huber", "--lambda", "1e-3"],
        &["--loss", "huber", "--lambda", "1e-3", "--rank", "50"],
    ] {
        let plan = lab.json(&line(&[&["plan"], &FIT, options, &["--json"]]));
        let fit = lab.json(&line(&[&["fit"], &FIT, options, &["--json"]]));
        let taken = chosen(&plan);
        assert_eq!(taken.len(), 1, "{options:?}: {plan}");
        assert_eq!(taken[0]["method"], fit["method"], "{options:?}");
        assert_eq!(taken[0]["fits"], true);
        assert!(close(taken[0]["bytes"].as_f64().unwrap(), number(&fit, "memory_forecast"), 0.1), "{options:?}");
        if let Some(rank) = fit["certificate"]["low_rank"]["rank"].as_u64() {
            assert!(rank <= taken[0]["landmarks"].as_u64().unwrap(), "{options:?}");
        }
        for method in plan["methods"].as_array().unwrap() {
            let seconds = method["seconds"].as_f64().unwrap();
            assert!(seconds > 0.0 && seconds < 60.0, "{options:?}: {method}");
        }
    }
}

/// Times are of the right size: checked loosely here, since other programs may run; `checks/forecast.py` is strict.
#[test]
fn times_grow_as_they_should_and_are_not_absurd() {
    let lab = Lab::with_table("friedman1", 3000);
    let options = ["--lambda", "1e-3"];
    let plan = lab.json(&line(&[&["plan"], &FIT, &options, &["--json"]]));
    let fit = lab.json(&line(&[&["fit"], &FIT, &options, &["--json"]]));
    let said = chosen(&plan)[0]["seconds"].as_f64().unwrap();
    let ratio = said / number(&fit, "seconds");
    assert!((0.05..20.0).contains(&ratio), "said {said}, took {}", number(&fit, "seconds"));
    let seconds = |part: &str| {
        let methods = plan["methods"].as_array().unwrap();
        let found = methods.iter().find(|method| method["method"].as_str().unwrap().contains(part)).unwrap();
        found["seconds"].as_f64().unwrap()
    };
    assert!(seconds("Cholesky") < seconds("eigendecomposition"));
}

#[test]
fn plans_are_tables() {
    let lab = Lab::with_table("friedman1", 700);
    let page = text(&lab.ok(&["plan", "t.csv", "--target", "y"]));
    assert!(page.contains("mercer fit takes this one") && page.contains("automatic search"), "{page}");
    assert!(
        page.contains("eigendecomposition") && page.contains("mercer moments") && page.contains("certificate"),
        "{page}"
    );
    let markdown = text(&lab.ok(&["plan", "t.csv", "--target", "y", "--kernel", "matern52", "--format", "markdown"]));
    assert!(markdown.starts_with("|  | method | landmarks | memory | time | certificate |"), "{markdown}");
    let quiet = lab.ok(&["plan", "t.csv", "--target", "y", "--quiet", "--output", "p.csv"]);
    assert!(quiet.stdout.is_empty());
    assert!(lab.numbers("p.csv", "seconds").iter().all(|s| *s > 0.0));
    let linear = lab.json(&["plan", "t.csv", "--target", "y", "--kernel", "linear", "--json"]);
    assert!(chosen(&linear)[0]["method"].as_str().unwrap().contains("singular values"));
    // What would be refused is said to be, with the reason.
    let tight = lab.json(&[
        "plan",
        "t.csv",
        "--target",
        "y",
        "--kernel",
        "gaussian",
        "--exponent",
        "0.5",
        "--memory",
        "3M",
        "--exact",
        "--json",
    ]);
    assert!(chosen(&tight).is_empty() && tight["reason"].as_str().unwrap().contains("may be used"), "{tight}");
    let refused = lab.fails(&["plan", "t.csv", "--target", "y", "--method", "lasso"], 2);
    assert!(error(&refused).contains("is for kernels"));
}

#[test]
fn conjugate_gradients_give_what_a_factorisation_gives() {
    let lab = Lab::with_table("friedman1", 900);
    let fixed = ["--lambda", "1e-4", "--json"];
    let exact = lab.json(&line(&[&["fit"], &FIT, &fixed, &["--output", "a.mercer"]]));
    let gradients = ["--solver", "conjugate-gradients", "--tolerance", "1e-9", "--output", "b.mercer"];
    let found = lab.json(&line(&[&["fit"], &FIT, &fixed, &gradients]));
    assert!(found["method"].as_str().unwrap().contains("conjugate gradients") && found["loo_rmse"].is_null());
    for key in ["norm", "objective", "train_rmse", "intercept"] {
        assert!(close(number(&exact, key), number(&found, key), 1e-7), "{key}");
    }
    lab.ok(&["predict", "a.mercer", "t.csv", "--output", "a.csv", "-q"]);
    lab.ok(&["predict", "b.mercer", "t.csv", "--output", "b.csv", "-q"]);
    let (a, b) = (lab.numbers("a.csv", "prediction"), lab.numbers("b.csv", "prediction"));
    assert!(a.iter().zip(&b).all(|(a, b)| (a - b).abs() < 1e-7));
    let page = text(&lab.ok(&line(&[&["fit"], &FIT, &["--solver", "conjugate-gradients"]])));
    assert!(page.contains("at what landmarks chose") && page.contains("digits"), "{page}");
    for (options, said) in [
        (&["--solver", "conjugate-gradients", "--exponent", "1"][..], "--exponent above 1"),
        (&["--solver", "conjugate-gradients", "--loss", "hinge"], "squared loss"),
        (&["--tolerance", "1e-8"], "--solver conjugate-gradients"),
    ] {
        assert!(error(&lab.fails(&line(&[&["fit"], &FIT, options]), 2)).contains(said), "{options:?}");
    }
    assert!(
        error(&lab.fails(&["fit", "t.csv", "--target", "y", "--solver", "conjugate-gradients"], 2))
            .contains("automatic")
    );
}

#[test]
fn losses_on_landmarks() {
    let lab = Lab::with_table("friedman1", 600);
    let options = ["--loss", "huber(threshold=0.5)", "--rank", "80"];
    let report = lab.json(&line(&[&["fit"], &FIT, &options, &["--json", "--output", "m.mercer"]]));
    assert_eq!(report["certificate"]["low_rank"]["rank"], 80);
    assert!(number(&report, "duality_gap") <= 1e-6 && number(&report, "train_r2") > 0.8, "{report}");
    let page = text(&lab.ok(&line(&[&["fit"], &FIT, &options])));
    assert!(page.contains("80 landmarks leave") && page.contains("duality gap") && !page.contains("support"), "{page}");
    let shown = text(&lab.ok(&["inspect", "m.mercer"]));
    assert!(shown.contains("80 landmarks"), "{shown}");
    let refused = lab.fails(&line(&[&["fit"], &FIT, &["--loss", "huber", "--accuracy", "0.1"]]), 2);
    assert!(error(&refused).contains("--rank says how many"));
}
