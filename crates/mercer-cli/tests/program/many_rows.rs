//! Many rows (C3).

use std::time::{Duration, Instant};

use crate::lab::{Lab, error, line, number};

#[test]
fn two_hundred_thousand_rows() {
    let lab = Lab::new();
    lab.ok(&["generate", "friedman2", "--rows", "200000", "--noise", "1", "--output", "t.csv"]);
    for (arguments, needed) in [
        (&["--memory", "2G", "--kernel", "gaussian"][..], "B (exact, "),
        (&["--memory", "2G", "--lambda", "0.1"], "320 GB"),
        (&["--memory", "2G", "--lambda", "0.1", "--exponent", "1.5"], "B (exact, "),
        (&["--memory", "2G", "--kernel", "additive-spline"], "B (exact, "),
        // With whatever memory this machine has.
        (&["--kernel", "gaussian"], "B (exact, "),
        // Also a search knows its end before it begins.
        (&[], "B (exact, "),
        (&["--lambda", "0.1"], "320 GB"),
    ] {
        let all = line(&[&["fit", "t.csv", "--target", "y", "--exact", "--output", "m.mercer"], arguments]);
        // The least of three, because others may be using the machine.
        let timed = || {
            let started = Instant::now();
            (lab.command(&all).output().unwrap(), started.elapsed())
        };
        let (output, elapsed) = (0..3).map(|_| timed()).min_by_key(|(_, elapsed)| *elapsed).unwrap();
        let message = error(&output);
        assert_eq!(output.status.code(), Some(1), "{message}");
        assert!(message.contains("200000 rows need") && message.contains(needed), "{message}");
        assert!(message.contains("may be used") && message.contains("--kernel linear"), "{message}");
        assert!(message.contains("rows would fit") && message.contains("a factor of rank"), "{message}");
        assert!(elapsed < Duration::from_secs(1), "{arguments:?} took {elapsed:?}");
        assert!(output.stdout.is_empty() && !lab.path("m.mercer").exists());
    }
    // Without --exact, landmarks stand for all rows.
    let report = lab
        .json(&["fit", "t.csv", "--target", "y", "--kernel", "gaussian", "--rank", "50", "--memory", "1G", "--json"]);
    assert_eq!(report["certificate"]["low_rank"]["rank"], 50);
    assert!(number(&report, "loo_r2") > 0.8, "{report}");
    assert!(report["method"].as_str().unwrap().contains("k-means"), "{}", report["method"]);
    let report = lab.json(&[
        "fit", "t.csv", "--target", "y", "--kernel", "linear", "--memory", "2G", "--json", "--output", "m.mercer",
    ]);
    assert_eq!(report["n"], 200_000);
    assert!(number(&report, "train_r2") > 0.8, "{report}");
    lab.ok(&["predict", "m.mercer", "t.csv", "--output", "p.csv", "-q"]);
    assert_eq!(lab.column("p.csv", "prediction").len(), 200_000);
    let report = lab.json(&[
        "fit",
        "t.csv",
        "--target",
        "y",
        "--kernel",
        "linear",
        "--lambda",
        "0.1",
        "--exponent",
        "1.5",
        "--json",
    ]);
    assert_eq!(report["certificate"]["holds"], true);
}

/// What is too large is told from the size of the file, before it is read.
#[test]
fn a_table_beyond_the_memory_is_refused_before_it_is_read() {
    let lab = Lab::new();
    let row = "0.123456789,".repeat(40) + "1\n";
    let names: Vec<String> = (0..40).map(|j| format!("x{j}")).collect();
    lab.file("t.csv", &(names.join(",") + ",y\n" + &row.repeat(60_000)));
    let said = error(&lab.fails(&["fit", "t.csv", "-t", "y", "--memory", "70M"], 1));
    assert!(said.contains("the table and its features") && said.contains("`mercer moments t.csv --target"), "{said}");
    // Monomials are counted before they are made: 40 features have 1,221,758 of degree 5.
    lab.file("s.csv", &(names.join(",") + ",y\n" + &row.repeat(200)));
    let poly = ["fit", "s.csv", "-t", "y", "--penalty", "lasso", "--features", "poly:5", "--memory", "200M"];
    let said = error(&lab.fails(&poly, 1));
    assert!(said.contains("200 rows need 11.7 GB"), "{said}");
}
