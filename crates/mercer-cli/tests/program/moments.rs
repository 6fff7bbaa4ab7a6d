//! Tables larger than memory: moments, merged, updated, and fitted.

use crate::lab::{Lab, error, number, text};

fn content(lab: &Lab, name: &str) -> String {
    String::from_utf8(lab.bytes(name)).unwrap()
}

#[test]
fn parts_merge_to_the_model_of_the_whole() {
    let lab = Lab::new();
    lab.ok(&["generate", "friedman1", "--rows", "6000", "--noise", "1", "--output", "t.csv"]);
    let lines: Vec<String> = content(&lab, "t.csv").lines().map(str::to_owned).collect();
    for part in 0..3 {
        let rows = &lines[1 + 2000 * part..1 + 2000 * (part + 1)];
        lab.file(&format!("p{part}.csv"), &format!("{}\n{}\n", lines[0], rows.join("\n")));
    }
    let whole =
        lab.json(&["moments", "t.csv", "--target", "y", "--landmarks", "80", "--output", "all.moments", "--json"]);
    assert_eq!(whole["n"], 6000);
    assert_eq!(whole["certificate"]["low_rank"]["rank"], 80);
    for part in 0..3 {
        let (table, out) = (format!("p{part}.csv"), format!("p{part}.moments"));
        lab.ok(&["moments", &table, "--like", "all.moments", "--output", &out]);
    }
    lab.ok(&["merge", "p0.moments", "p1.moments", "p2.moments", "--output", "merged.moments"]);
    // The same two thirds, and the last third learned later.
    lab.ok(&["merge", "p0.moments", "p1.moments", "--output", "grown.moments"]);
    let text = text(&lab.ok(&["update", "grown.moments", "p2.csv"]));
    assert!(text.contains("6,000, 2,000 of them from this run"), "{text}");
    // No row counts twice.
    let refused = error(&lab.fails(&["update", "grown.moments", "p2.csv"], 1));
    assert!(refused.contains("p2.csv: ") && refused.contains("got the same 2000 rows again"), "{refused}");
    for twice in [["p0.moments", "p0.moments"], ["p1.moments", "grown.moments"]] {
        let refused = error(&lab.fails(&["merge", twice[0], twice[1], "--output", "twice.moments"], 1));
        assert!(refused.contains("2000 rows that are in both"), "{refused}");
    }
    let refused = error(&lab.fails(&["moments", "p0.csv", "p0.csv", "-t", "y", "--output", "twice.moments"], 1));
    assert!(refused.contains("again") && !lab.path("twice.moments").exists(), "{refused}");
    let surface = ["--exponent", "1..2:0.5", "--lambda", "1e-7..1:15"];
    for name in ["all", "merged", "grown"] {
        let (from, to) = (format!("{name}.moments"), format!("{name}.mercer"));
        let mut arguments = vec!["fit", &from, "--output", &to];
        arguments.extend(surface);
        lab.ok(&arguments);
        lab.ok(&["predict", &to, "t.csv", "--output", &format!("{name}.csv"), "-q"]);
    }
    let all = lab.numbers("all.csv", "prediction");
    for name in ["merged", "grown"] {
        let other = lab.numbers(&format!("{name}.csv"), "prediction");
        let worst = all.iter().zip(other).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        // The target's spread is about 5.
        assert!(worst < 5e-12, "{name}: {worst}");
    }
    // A file of moments predicts like a model; --from-moments is the same as naming it.
    lab.ok(&["predict", "all.moments", "t.csv", "--output", "direct.csv", "-q"]);
    let report = lab.json(&["fit", "--from-moments", "all.moments", "--json"]);
    let held_out = number(&report["held_out"], "value").sqrt();
    assert!((1.0..2.2).contains(&held_out), "{held_out}");
    // Close to the fit on as many landmarks that had all rows in memory.
    let in_memory = lab.json(&["fit", "t.csv", "--target", "y", "--kernel", "gaussian", "--rank", "80", "--json"]);
    assert!((held_out / number(&in_memory, "loo_rmse") - 1.0).abs() < 0.05, "{held_out} {}", in_memory["loo_rmse"]);
}

#[test]
fn parquet_weights_and_folders() {
    let lab = Lab::new();
    lab.ok(&["generate", "sinc", "--rows", "3000", "--noise", "0.1", "--output", "t.csv"]);
    let weighted: Vec<String> = content(&lab, "t.csv")
        .lines()
        .enumerate()
        .map(|(i, line)| if i == 0 { format!("{line},w") } else { format!("{line},{}", 1 + i % 2) })
        .collect();
    lab.file("w.csv", &(weighted.join("\n") + "\n"));
    let twice: Vec<String> = content(&lab, "t.csv")
        .lines()
        .enumerate()
        .flat_map(|(i, line)| {
            let line = if i == 0 { format!("{line},w") } else { format!("{line},1") };
            vec![line; if i > 0 && i % 2 == 1 { 2 } else { 1 }]
        })
        .collect();
    lab.file("twice.csv", &(twice.join("\n") + "\n"));
    let gather = |table: &str, more: &[&str], out: &str| {
        let mut arguments = vec!["moments", table, "--output", out, "--json"];
        arguments.extend(more);
        lab.json(&arguments)
    };
    gather("w.csv", &["--target", "y", "--drop", "w", "--weight", "w", "--landmarks", "20"], "w.moments");
    // Weight 2 is the row twice, with the same landmarks.
    let report = gather("twice.csv", &["--like", "w.moments"], "twice.moments");
    assert!(number(&report["adding"], "rows_per_second") > 0.0 && number(&report["adding"], "gigaflops") > 0.0);
    // The column of weights is remembered, and no other is taken.
    let refused = error(&lab.command(&["update", "w.moments", "w.csv", "--weight", "x1"]).output().unwrap());
    assert!(refused.contains("column \"w\""), "{refused}");
    let refused = error(&lab.command(&["update", "w.moments", "t.csv"]).output().unwrap());
    assert!(refused.contains("\"w\""), "{refused}");
    let at = |file: &str| {
        let report = lab.json(&["fit", file, "--lambda", "1e-3", "--exponent", "1.5", "--json"]);
        (number(&report, "train_rmse"), number(&report, "norm"))
    };
    let (a, b) = (at("w.moments"), at("twice.moments"));
    assert!((a.0 / b.0 - 1.0).abs() < 1e-9 && (a.1 / b.1 - 1.0).abs() < 1e-9, "{a:?} {b:?}");
    std::fs::create_dir(lab.path("folder")).unwrap();
    std::fs::copy(lab.path("t.csv"), lab.path("folder/a.csv")).unwrap();
    lab.ok(&["generate", "sinc", "--rows", "3000", "--noise", "0.1", "--seed", "5", "--output", "folder/b.csv"]);
    let report = gather("folder", &["--target", "y", "--landmarks", "20"], "folder.moments");
    assert_eq!(report["n"], 6000);
}

#[test]
fn refusals() {
    let lab = Lab::new();
    lab.ok(&["generate", "sinc", "--rows", "300", "--noise", "0.1", "--output", "t.csv"]);
    lab.ok(&["moments", "t.csv", "--target", "y", "--landmarks", "10", "--output", "a.moments"]);
    lab.ok(&["moments", "t.csv", "--target", "y", "--landmarks", "12", "--output", "b.moments"]);
    let message = |arguments: &[&str]| error(&lab.command(arguments).output().unwrap());
    assert!(message(&["merge", "a.moments", "b.moments", "--output", "c.moments"]).contains("same landmarks"));
    assert!(message(&["merge", "a.moments", "t.csv", "--output", "c.moments"]).contains("not a file of moments"));
    assert!(message(&["moments", "t.csv", "--target", "y", "--output", "t.csv"]).contains("left as it is"));
    assert!(message(&["fit", "a.moments", "--kernel", "linear"]).contains("--kernel"));
    for (option, value) in [
        ("--method", Some("svr")),
        ("--penalty", Some("lasso")),
        ("--classify", None),
        ("--probability", None),
        ("--norm-at-most", Some("1")),
        ("--train-error-at-most", Some("1")),
        ("--shared-ridge", None),
        ("--weight", Some("w")),
        ("--group", Some("g")),
        ("--drop", Some("x1")),
        ("--unlabelled", Some("t.csv")),
        ("--missing", Some("drop")),
        ("--text", Some("equality")),
        ("--memory", Some("1G")),
        ("--budget", Some("5s")),
        ("--rank", Some("5")),
        ("--landmarks-by", Some("uniform")),
    ] {
        let mut arguments = vec!["fit", "a.moments", option];
        arguments.extend(value);
        let text = message(&arguments);
        assert!(text.contains(option), "{option}: {text}");
    }
    for command in ["path", "certify", "equivalence"] {
        let text = message(&[command, "a.moments", "--target", "y"]);
        assert!(text.contains("mercer fit a.moments") && text.contains("name the table"), "{command}: {text}");
    }
    let page = text(&lab.ok(&["fit", "a.moments"]));
    assert!(!page.contains("rows a second"), "{page}");
    assert!(message(&["moments", "-", "--target", "y", "--output", "c.moments"]).contains("only once"));
    lab.file("bad.csv", "x1,y\n1,2\n3,oops\n");
    let said = message(&["update", "a.moments", "bad.csv"]);
    assert!(said.contains("bad.csv") && said.contains("row 2, column \"y\""), "{said}");
    lab.file("one.csv", "x1,y\n1,2\n");
    lab.ok(&["moments", "one.csv", "--like", "a.moments", "--output", "one.moments"]);
    lab.ok(&["merge", "a.moments", "one.moments", "--output", "more.moments"]);
    assert_eq!(lab.json(&["fit", "more.moments", "--json"])["n"], 301);
    // An exponent that was given is not rounded.
    let report = lab.json(&["fit", "a.moments", "--exponent", "1.2345", "--json"]);
    assert_eq!(report["exponent"], 1.2345);
    let start = |more: &[&str]| message(&[&["moments", "t.csv", "-t", "y", "--output", "c.moments"], more].concat());
    assert!(start(&["--folds", "70000", "--landmarks", "5"]).contains("from 2 to 65,535"));
    assert!(start(&["--fourier", "100000000"]).contains("fit into memory"));
    assert!(start(&["--group", "x1"]).contains("--group"));
    let said = message(&["moments", "t.csv", "--like", "a.moments", "--categorical", "x1", "--output", "c.moments"]);
    assert!(said.contains("--categorical"), "{said}");
    assert!(!lab.path("c.moments").exists());
}

#[test]
fn random_waves_in_the_place_of_landmarks() {
    let lab = Lab::new();
    lab.ok(&["generate", "friedman1", "--rows", "4000", "--noise", "1", "--output", "t.csv"]);
    let page = text(&lab.ok(&["moments", "t.csv", "-t", "y", "--fourier", "300", "--output", "w.moments"]));
    assert!(page.contains("300 random waves stand for the kernel") && page.contains("waves(gaussian("), "{page}");
    let report = lab.json(&["fit", "w.moments", "--json", "--output", "m.mercer"]);
    assert!(report["certificate"]["low_rank"].is_null(), "{report}");
    // Frequencies are no rows.
    let message = |arguments: &[&str]| error(&lab.command(arguments).output().unwrap());
    assert!(message(&["effects", "m.mercer"]).contains("random waves"));
    let said = message(&["predict", "m.mercer", "t.csv", "--interval", "0.9", "--data", "t.csv"]);
    assert!(said.contains("random waves"), "{said}");
    assert!(text(&lab.ok(&["inspect", "m.mercer"])).contains("300 random waves"));
    let held_out = number(&report["held_out"], "value").sqrt();
    assert!((1.0..2.5).contains(&held_out), "{held_out}");
    lab.ok(&["predict", "m.mercer", "t.csv", "--output", "p.csv", "-q"]);
    lab.ok(&["generate", "friedman1", "--rows", "500", "--noise", "1", "--seed", "9", "--output", "u.csv"]);
    lab.ok(&["moments", "u.csv", "--like", "w.moments", "--output", "again.moments"]);
    lab.ok(&["merge", "w.moments", "again.moments", "--output", "both.moments"]);
    lab.ok(&["effects", "m.mercer", "t.csv"]);
    let refused =
        lab.command(&["moments", "t.csv", "-t", "y", "-k", "spline1", "--fourier", "30", "--output", "x.moments"]);
    let message = error(&{ refused }.output().unwrap());
    assert!(message.contains("radial") && !lab.path("x.moments").exists(), "{message}");
    let refused = lab.command(&["fit", "t.csv", "-t", "y", "-k", "waves(gaussian(lengthscale=1))"]).output().unwrap();
    assert!(error(&refused).contains("--fourier"), "{}", error(&refused));
}
