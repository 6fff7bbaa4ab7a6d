//! Runs that are killed and go on (D5).
//!
//! `MERCER_KILLS=50 cargo test --release -p mercer-cli --test program journals` kills more often.

use std::fs;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::lab::{Lab, error, line};

/// Kills a run `kills` times on its way to the end, and lets the last one finish. Returns how often it was killed before
/// its end.
fn interrupted(lab: &Lab, arguments: &[&str], alone: Duration, kills: u32) -> u32 {
    let mut killed = 0;
    for attempt in 0..kills {
        let mut child = Command::new(env!("CARGO_BIN_EXE_mercer"))
            .args(arguments)
            .current_dir(lab.folder.path())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        // Each time after about its share of the way, anywhere: multiples of the golden ratio fall everywhere.
        let chance = (f64::from(attempt + 1) * 0.618_034).fract();
        std::thread::sleep(alone.mul_f64((0.2 + 1.2 * chance) / f64::from(kills)));
        if child.try_wait().unwrap().is_none() {
            child.kill().unwrap();
            killed += 1;
        }
        child.wait().unwrap();
    }
    lab.ok(arguments);
    killed
}

fn kills() -> u32 {
    std::env::var("MERCER_KILLS").ok().and_then(|text| text.parse().ok()).unwrap_or(10)
}

fn records(lab: &Lab) -> usize {
    String::from_utf8(lab.bytes("run.journal")).unwrap().lines().count() - 1
}

/// Kernels are tried side by side, so lines may stand in any order.
fn sorted(journal: &[u8]) -> Vec<&[u8]> {
    let mut lines: Vec<&[u8]> = journal.split(|byte| *byte == b'\n').collect();
    lines.sort_unstable();
    lines
}

#[test]
fn a_killed_selection_goes_on_and_ends_with_the_same_bits() {
    let lab = Lab::with_table("friedman1", 260);
    let fit = [
        "fit",
        "t.csv",
        "--target",
        "y",
        "--kernel",
        "gaussian(lengthscale=0.5..50:20)",
        "--kernel",
        "matern32(lengthscale=0.5..50:20)",
        "--exponent",
        "1..2.5:0.5",
        "--assess",
        "kfold:2",
    ];
    let started = Instant::now();
    let report = lab.json(&line(&[&fit, &["--json", "--output", "whole.mercer"]]));
    let alone = started.elapsed();
    let journal = line(&[&fit, &["--json", "--output", "m.mercer", "--journal", "run.journal"]]);
    let killed = interrupted(&lab, &journal, alone, kills());
    println!("{killed} kills of a run of {alone:?}");
    assert!(2 * killed >= kills(), "only {killed} runs were killed before their end");
    assert!(lab.bytes("m.mercer") == lab.bytes("whole.mercer"), "another model");
    // At least one record per kernel, for all rows and for each fold.
    let count = records(&lab);
    assert!(count >= 3 * 40, "{count}");
    let again = lab.json(&journal);
    for key in ["tried", "lambda", "objective"] {
        assert_eq!(again[key], report[key], "{key}");
    }
    assert_eq!(again["assessment"]["rmse"], report["assessment"]["rmse"]);
    assert_eq!(records(&lab), count, "nothing is computed twice");
    let note = error(&lab.ok(&line(&[&fit, &["--output", "m.mercer", "--journal", "run.journal"]])));
    assert!(note.contains(&format!("{count} finished pieces of work")), "{note}");

    // A torn line is computed again.
    let whole = lab.bytes("run.journal");
    for cut in [whole.len() - 1, whole.len() - 200, whole.len() / 2, 20, 1] {
        fs::write(lab.path("run.journal"), &whole[..cut]).unwrap();
        lab.ok(&line(&[&fit, &["-q", "--output", "m.mercer", "--journal", "run.journal"]]));
        assert!(lab.bytes("m.mercer") == lab.bytes("whole.mercer"), "cut at {cut}");
        assert!(sorted(&lab.bytes("run.journal")) == sorted(&whole), "cut at {cut}");
    }
}

#[test]
fn a_killed_automatic_search_goes_on() {
    let lab = Lab::with_table("friedman1", 120);
    let fit = ["fit", "t.csv", "--target", "y", "--budget", "10m", "-q"];
    let started = Instant::now();
    lab.ok(&line(&[&fit, &["--output", "whole.mercer"]]));
    let journal = line(&[&fit, &["--output", "m.mercer", "--journal", "run.journal"]]);
    let killed = interrupted(&lab, &journal, started.elapsed(), kills().min(5));
    println!("{killed} kills");
    assert!(killed > 0);
    assert!(lab.bytes("m.mercer") == lab.bytes("whole.mercer"), "another model");
}

#[test]
fn the_journal_of_another_run_is_refused() {
    let lab = Lab::with_table("friedman1", 40);
    lab.ok(&["generate", "friedman1", "--rows", "40", "--seed", "8", "--output", "other.csv"]);
    let fit = ["fit", "t.csv", "--target", "y", "--kernel", "gaussian(lengthscale=1..4:3)", "--journal", "run.journal"];
    lab.ok(&line(&[&fit, &["-q"]]));
    let before = lab.bytes("run.journal");
    let others: [&[&str]; 7] = [
        &["fit", "other.csv", "--target", "y", "--kernel", "gaussian(lengthscale=1..4:3)", "--journal", "run.journal"],
        &["fit", "t.csv", "--target", "y", "--kernel", "gaussian(lengthscale=1..5:3)", "--journal", "run.journal"],
        &["fit", "t.csv", "--target", "y", "--journal", "run.journal"],
        &line(&[&fit, &["--exponent", "1.5"]]),
        &line(&[&fit, &["--criterion", "gcv"]]),
        &line(&[&fit, &["--drop", "x1"]]),
        &line(&[&fit, &["--seed", "2"]]),
    ];
    for arguments in others {
        let refused = lab.command(arguments).output().unwrap();
        assert_eq!(refused.status.code(), Some(1), "{arguments:?}");
        assert!(
            error(&refused).contains("is the journal of another run (other data or settings)"),
            "{}",
            error(&refused)
        );
        assert!(lab.bytes("run.journal") == before);
    }
    // What does not matter may differ.
    lab.ok(&line(&[&fit, &["-q", "--threads", "1", "--output", "m.mercer"]]));
    let table = ["fit", "t.csv", "--target", "y", "--kernel", "gaussian", "--journal", "t.csv"];
    let refused = lab.command(&table).output().unwrap();
    assert!(refused.status.code() == Some(1) && error(&refused).contains("not a journal"), "{}", error(&refused));
}
