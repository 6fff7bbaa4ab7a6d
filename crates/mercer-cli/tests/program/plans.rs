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
        // Conjugate gradients on landmarks.
        &["--lambda", "1e-3", "--rank", "60", "--memory", "2M", "--tolerance", "1e-6"],
        // As many as it takes: some, and all of them.
        &["--lambda", "1", "--accuracy", "0.5"],
        &["--lambda", "1e-3", "--accuracy", "1e-6"],
    ] {
        planned_and_done(&lab, &FIT, options);
    }
    // A precomputed kernel has no values but those of its table.
    lab.file("gram.csv", &gram(30));
    for options in [&[][..], &["--lambda", "1e-2", "--exponent", "1.5"], &["--loss", "huber", "--lambda", "1e-2"]] {
        planned_and_done(&lab, &["gram.csv", "--target", "y", "--kernel", "precomputed"], options);
    }
}

fn planned_and_done(lab: &Lab, problem: &[&str], options: &[&str]) {
    let plan = lab.json(&line(&[&["plan"], problem, options, &["--json"]]));
    let fit = lab.json(&line(&[&["fit"], problem, options, &["--json"]]));
    let taken = chosen(&plan);
    assert_eq!(taken.len(), 1, "{options:?}: {plan}");
    assert_eq!(taken[0]["method"], fit["method"], "{options:?}");
    assert_eq!(taken[0]["fits"], true);
    let (said, used) = (number(&taken[0], "bytes"), number(&fit, "memory_forecast"));
    let is_most = taken[0]["is_most"] == true;
    assert_eq!(is_most, options.contains(&"--accuracy"), "{options:?}");
    assert!(close(said, used, 0.1) || (is_most && used < said), "{options:?}: {said}, {used}");
    if let Some(rank) = fit["certificate"]["low_rank"]["rank"].as_u64() {
        assert!(rank <= taken[0]["landmarks"].as_u64().unwrap(), "{options:?}");
    }
    for method in plan["methods"].as_array().unwrap() {
        let seconds = method["seconds"].as_f64().unwrap();
        assert!(seconds > 0.0 && seconds < 60.0, "{options:?}: {method}");
    }
}

/// A table whose columns are the kernel matrix of a line.
fn gram(rows: usize) -> String {
    let at = |i: usize| 3.0 * ((i * 17) % rows) as f64 / rows as f64;
    let mut text = (1..=rows).map(|j| format!("k{j},")).collect::<String>() + "y\n";
    for i in 0..rows {
        (0..rows).for_each(|j| text.push_str(&format!("{},", (-(at(i) - at(j)).powi(2)).exp())));
        text.push_str(&format!("{}\n", (2.0 * at(i)).sin() + 0.1 * at(i * 7)));
    }
    text
}

/// Beyond 8,000 rows an automatic search ends on landmarks, and the mark says so.
#[test]
fn automatic_fits_do_what_was_planned() {
    let lab = Lab::with_table("sinc", 120);
    let plan = lab.json(&["plan", "t.csv", "--target", "y", "--json"]);
    let fit = lab.json(&["fit", "t.csv", "--target", "y", "--budget", "1s", "--json"]);
    assert_eq!(chosen(&plan)[0]["method"], fit["method"]);
    for (rows, method) in [("7990", "Cholesky"), ("8010", "low rank")] {
        lab.ok(&["generate", "sinc", "--rows", rows, "--noise", "0.3", "--output", "many.csv"]);
        let plan = lab.json(&["plan", "many.csv", "--target", "y", "--json"]);
        let taken = chosen(&plan);
        assert!(taken[0]["method"].as_str().unwrap().contains(method) && plan["is_automatic"] == true, "{plan}");
    }
    let page = text(&lab.ok(&["plan", "many.csv", "--target", "y"]));
    assert!(page.contains("--budget (60 s)") && page.contains("beyond 8,000 rows"), "{page}");
}

/// What a certificate of landmarks can say depends on the exponent.
#[test]
fn plans_promise_no_bound_where_there_is_none() {
    let lab = Lab::with_table("friedman1", 700);
    for (exponent, bound) in [
        ("2", "a bound of its distance from all rows"),
        ("0.5", "no bound of its distance from all rows"),
        ("0.5..2:0.5", "a bound of its distance from all rows for exponents above 1"),
    ] {
        let plan = lab.json(&line(&[&["plan"], &FIT, &["--exponent", exponent, "--rank", "50", "--json"]]));
        let said = chosen(&plan)[0]["certificate"].as_str().unwrap().to_owned();
        assert!(said.ends_with(bound), "{exponent}: {said}");
        let fit = lab.json(&line(&[&["fit"], &FIT, &["--exponent", exponent, "--rank", "50", "--json"]]));
        let has_bound = !fit["certificate"]["low_rank"]["bound_at_rows"].is_null();
        assert_eq!(has_bound, number(&fit, "exponent") > 1.0, "{exponent}");
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
    let markdown = text(&lab.ok(&["plan", "t.csv", "--target", "y", "--kernel", "matern52", "--style", "markdown"]));
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
        (
            &["--loss", "huber", "--rank", "50", "--landmarks-by", "kmeans"],
            "landmarks of other losses are random pivots",
        ),
    ] {
        assert!(error(&lab.fails(&line(&[&["fit"], &FIT, options]), 2)).contains(said), "{options:?}");
    }
    for (options, said) in [
        (&["--rank", "50", "--tolerance", "1e-8"][..], "got low rank"),
        (&["--rank", "60", "--memory", "1M", "--landmarks-by", "uniform"], "60 landmarks"),
        (&["--solver", "conjugate-gradients", "--lambda", "1e-3", "--landmarks-by", "kmeans"], "where λ is given"),
        (&["--solver", "conjugate-gradients", "--criterion", "likelihood"], "got the criterion likelihood"),
        (&["--solver", "conjugate-gradients", "--norm-at-most", "3"], "got norm at most 3"),
    ] {
        let said_here = error(&lab.fails(&line(&[&["fit"], &FIT, options]), 1));
        assert!(said_here.contains(said) && !said_here.contains("Fit("), "{options:?}: {said_here}");
    }
    let linear = ["fit", "t.csv", "--target", "y", "--kernel", "linear", "--solver", "conjugate-gradients"];
    assert!(error(&lab.fails(&linear, 1)).contains("got 10 features and 900 rows"));
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
