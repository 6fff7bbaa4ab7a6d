//! What a refusal advises must work.

use std::fmt::Write;

use crate::lab::{Lab, error, line};

/// Rows with a target, a class, a weight, and cells that stand in for some of them.
fn table(rows: usize, target: impl Fn(usize) -> String) -> String {
    (0..rows).fold("a,b,w,y\n".to_owned(), |mut table, i| {
        writeln!(table, "{},{},{},{}", (i * 7919 % 101) as f64 / 10.0, i * 31 % 17, 1 + i % 3, target(i)).unwrap();
        table
    })
}

#[test]
fn one_class_beside_missing_cells_is_counted() {
    let lab = Lab::new();
    lab.file("t.csv", &table(30, |i| if i % 3 == 0 { "B".into() } else { "NA".into() }));
    for command in [&["fit", "--loss", "logistic"][..], &["compare", "--methods", "majority"]] {
        let said = error(&lab.fails(&line(&[&command[..1], &["t.csv", "--target", "y"], &command[1..]]), 1));
        assert!(said.contains("all 10 rows with a class are \"B\", and 20 cells are missing"), "{said}");
    }
    lab.file("t.csv", &table(30, |_| "B".into()));
    let said = error(&lab.fails(&["fit", "t.csv", "--target", "y", "--loss", "logistic"], 1));
    assert!(said.contains("all rows are \"B\"") && !said.contains("missing"), "{said}");
}

#[test]
fn a_mean_is_not_advised_where_it_is_refused() {
    let lab = Lab::new();
    lab.file("t.csv", &table(30, |i| if i == 4 { String::new() } else { i.to_string() }));
    for command in ["fit", "path", "plan", "compare", "certify"] {
        // The second time the column is a weight.
        for columns in [&["--target", "y"][..], &["--target", "a", "--weight", "y"]] {
            if command == "certify" && columns.len() > 2 {
                continue;
            }
            let said = error(&lab.fails(&line(&[&[command, "t.csv"], columns]), 1));
            assert!(said.contains("row 5") && said.contains("--missing drop"), "{command}: {said}");
            assert!(!said.contains("--missing mean"), "{command}: {said}");
        }
        let said = error(&lab.fails(&[command, "t.csv", "--target", "a"], 1));
        assert!(said.contains("--missing mean fills in the column's mean"), "{command}: {said}");
    }
}

#[test]
fn a_text_target_gets_advice_for_targets() {
    let lab = Lab::new();
    lab.file("t.csv", &table(30, |i| if i % 2 == 0 { "no".into() } else { "yes".into() }));
    for command in ["path", "certify", "equivalence", "stream", "moments"] {
        let more: &[&str] = if command == "moments" { &["--kernel", "linear", "--output", "m"] } else { &[] };
        let said = error(&lab.fails(&line(&[&[command, "t.csv", "--target", "y"], more]), 1));
        assert!(said.contains("mercer fit --loss logistic, or mercer compare"), "{command}: {said}");
        assert!(!said.contains("--categorical") && !said.contains("--drop"), "{command}: {said}");
    }
    let said = error(&lab.fails(&["plan", "t.csv", "--target", "y"], 1));
    assert!(said.contains("--loss logistic or --loss hinge") && !said.contains("--drop"), "{said}");
    lab.ok(&["plan", "t.csv", "--target", "y", "--loss", "logistic"]);
    let said = error(&lab.fails(&["path", "t.csv", "--target", "a", "--weight", "y"], 1));
    assert!(said.contains("weights are numbers") && !said.contains("--drop"), "{said}");
    // The logistic loss has no such penalty.
    for penalty in [&["--penalty", "lasso"][..], &["--method", "elastic-net"]] {
        let said = error(&lab.fails(&line(&[&["fit", "t.csv", "--target", "y"], penalty]), 1));
        assert!(said.contains("is for numbers; if the column names classes: --loss logistic"), "{said}");
        assert!(said.contains("in its place"), "{said}");
    }
}

#[test]
fn what_is_said_to_fit_into_memory_fits() {
    let lab = Lab::new();
    lab.file("t.csv", &table(500, |i| format!("{}", (i as f64 * 0.37).sin())));
    for (fit, memory) in [
        (&["fit", "t.csv", "--target", "y"][..], "2500K"),
        (&["fit", "t.csv", "--target", "y", "--exact", "--kernel", "laplace", "--exponent", "0.9"], "2500K"),
        (&["fit", "t.csv", "--target", "y", "--loss", "huber", "--exact"], "500K"),
    ] {
        let said = error(&lab.fails(&line(&[fit, &["--memory", memory]]), 1));
        let advice = said.lines().last().unwrap();
        let (_, ways) = advice.split_once("these fit: ").unwrap_or_else(|| panic!("{said}"));
        let (ways, _) = ways.split_once(';').unwrap();
        for way in ways.split(" · ").filter(|way| way.starts_with("--")) {
            let way: Vec<&str> = way.split(' ').collect();
            let without = |option: &str| fit.iter().position(|word| *word == option);
            // One kernel takes the place of another, and landmarks that of all rows.
            let kept = match (way[0], without("--kernel")) {
                ("--kernel", Some(place)) => line(&[&fit[..place], &fit[place + 2..]]),
                _ => fit.to_vec(),
            };
            let limit: &[&str] = if way[0] == "--memory" { &[] } else { &["--memory", memory] };
            lab.ok(&line(&[&kept, &way, limit, &["--quiet"]]));
        }
        assert!(ways.contains("--memory"), "{said}");
    }
}
