//! `mercer predict --interval`.

use mercer::criterion::Folds;
use mercer::interval::{Intervals, Method};

use crate::lab::{Lab, close, error, number};

/// A model of a generated table, and new rows.
fn lab(fit: &[&str]) -> Lab {
    let lab = Lab::with_table("friedman1", 120);
    lab.ok(&["generate", "friedman1", "--rows", "200", "--noise", "0.3", "--seed", "9", "--output", "new.csv"]);
    lab.ok(&[&["fit", "t.csv", "--target", "y", "--quiet", "--output", "m.mercer"], fit].concat());
    lab
}

const FIXED: [&str; 6] = ["--kernel", "gaussian(lengthscale=3)", "--lambda", "1e-4", "--exponent", "1.5"];

#[test]
fn columns_hold_what_the_library_finds() {
    let lab = lab(&FIXED);
    let model = mercer::format::from_bytes(&lab.bytes("m.mercer")).unwrap();
    let new = lab.frame("new.csv");
    for (name, method) in [
        ("jackknife+", Method::JackknifePlus),
        ("cv+", Method::CvPlus(Folds::random(120, 5, 3).unwrap())),
        ("gaussian-process", Method::GaussianProcess),
    ] {
        let run = [
            "predict",
            "m.mercer",
            "new.csv",
            "--interval",
            "0.9",
            "--interval-method",
            name,
            "--folds",
            "5",
            "--seed",
            "3",
        ];
        let output = lab.ok(&[&run[..], &["--output", "p.csv", "--name", "f"]].concat());
        let wanted = Intervals::new(&model, model.training().unwrap(), &method, 0.9, None).unwrap();
        let wanted = wanted.at_frame(&new, None).unwrap().swap_remove(0);
        let (lower, upper) = (lab.numbers("p.csv", "f_lower"), lab.numbers("p.csv", "f_upper"));
        let middle = lab.numbers("p.csv", "f");
        for i in 0..200 {
            assert_eq!(Some(lower[i]), wanted.lower[i]);
            assert_eq!(Some(upper[i]), wanted.upper[i]);
            assert!(lower[i] < middle[i] && middle[i] < upper[i]);
        }
        let said = error(&output);
        let y = lab.numbers("new.csv", "y");
        let inside = (0..200).filter(|i| lower[*i] <= y[*i] && y[*i] <= upper[*i]).count();
        let share = four_digits(inside as f64 / 200.0);
        assert!(said.contains(&format!("coverage {share} on 200 rows, mean width")), "{name}: {said}");
        assert!(said.contains(name) && said.contains("drawn alike") != (name == "gaussian-process"), "{said}");
        let report = lab.json(&[&run[..], &["--json"]].concat());
        assert_eq!(report["predictions"]["prediction_lower"][7].as_f64(), Some(lower[7]));
        let coverage = &report["interval"]["coverage"]["prediction"];
        assert!(close(number(coverage, "share"), inside as f64 / 200.0, 1e-12), "{coverage}");
    }
}

/// Four digits, as reports show them.
fn four_digits(share: f64) -> String {
    format!("{share:.4}").trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[test]
fn every_format_takes_them_and_quiet_is_quiet() {
    let lab = lab(&FIXED);
    for file in ["p.csv", "p.parquet", "p.arrow"] {
        let run = ["predict", "m.mercer", "new.csv", "--interval", "0.8", "--quiet", "--output", file];
        let output = lab.ok(&run);
        assert!(output.stdout.is_empty() && output.stderr.is_empty(), "{}", error(&output));
        assert_eq!(lab.column(file, "prediction_upper"), lab.column("p.csv", "prediction_upper"), "{file}");
    }
}

#[test]
fn choices_on_the_same_rows_are_not_covered_and_said_so() {
    let lab = lab(&["--kernel", "gaussian(lengthscale=3)"]);
    let output = lab.ok(&["predict", "m.mercer", "new.csv", "--interval", "0.9", "--output", "p.csv"]);
    assert!(error(&output).contains("chosen on the same rows"), "{}", error(&output));
    let fixed = lab_said(&FIXED);
    assert!(!fixed.contains("chosen on the same rows"), "{fixed}");
}

fn lab_said(fit: &[&str]) -> String {
    let lab = lab(fit);
    error(&lab.ok(&["predict", "m.mercer", "new.csv", "--interval", "0.9", "--output", "p.csv"]))
}

#[test]
fn linear_models_need_their_training_table() {
    let lab = lab(&["--kernel", "linear", "--lambda", "1e-3"]);
    let refused = lab.fails(&["predict", "m.mercer", "new.csv", "--interval", "0.9"], 1);
    assert!(error(&refused).contains("--data TRAINING"), "{}", error(&refused));
    let run = ["predict", "m.mercer", "new.csv", "--interval", "0.9", "--data"];
    let report = lab.json(&[&run[..], &["t.csv", "--json"]].concat());
    let share = number(&report["interval"]["coverage"]["prediction"], "share");
    assert!((0.8..1.0).contains(&share), "{share}");
    let wrong = lab.fails(&[&run[..], &["new.csv"]].concat(), 1);
    assert!(error(&wrong).contains("the training rows must be those of the fit"), "{}", error(&wrong));
    let pointless = lab.fails(&["predict", "m.mercer", "new.csv", "--data", "t.csv"], 2);
    assert!(error(&pointless).contains("--interval"), "{}", error(&pointless));
}

#[test]
fn weights_and_several_targets_are_kept_with_the_model() {
    let lab = Lab::new();
    let mut text = String::from("x,w,a,b\n");
    for i in 0..60 {
        let x = 0.1 * f64::from(i);
        let (a, b) = (x.sin() + 0.2 * (7.0 * x).cos(), 50.0 * x + 9.0 * (5.0 * x).sin());
        text += &format!("{x},{},{a},{b}\n", 1 + i % 3);
    }
    lab.file("t.csv", &text);
    let fit = ["fit", "t.csv", "--target", "a,b", "--weight", "w", "--kernel", "matern52(lengthscale=1)"];
    lab.ok(&[&fit[..], &["--lambda", "1e-3", "--quiet", "--output", "m.mercer"]].concat());
    let own = ["predict", "m.mercer", "t.csv", "--interval", "0.9", "--output"];
    let said = error(&lab.ok(&[&own[..], &["own.csv"]].concat()));
    assert!(said.contains("every row counts alike"), "{said}");
    lab.ok(&[&own[..], &["given.csv", "--data", "t.csv", "--weight", "w"]].concat());
    for column in ["prediction_a_lower", "prediction_a_upper", "prediction_b_lower", "prediction_b_upper"] {
        assert_eq!(lab.column("own.csv", column), lab.column("given.csv", column), "{column}");
    }
    let without = lab.fails(&[&own[..], &["given.csv", "--data", "t.csv"]].concat(), 1);
    assert!(error(&without).contains("with their weights"), "{}", error(&without));
}

#[test]
fn what_cannot_have_an_interval_is_told_why() {
    let lab = lab(&FIXED);
    let few = "x,y\n1,2\n2,3\n3,5\n4,4\n5,6\n";
    lab.file("few.csv", few);
    lab.ok(&[
        "fit",
        "few.csv",
        "--target",
        "y",
        "--kernel",
        "gaussian",
        "--lambda",
        "0.1",
        "-q",
        "--output",
        "few.mercer",
    ]);
    let refused = lab.fails(&["predict", "few.mercer", "few.csv", "--interval", "0.9"], 1);
    assert!(error(&refused).contains("at least 9 for an interval of level 0.9"), "{}", error(&refused));
    let fit = ["fit", "t.csv", "--target", "y", "--loss", "huber", "--kernel", "gaussian", "--lambda", "0.01"];
    lab.ok(&[&fit[..], &["-q", "--output", "h.mercer"]].concat());
    let refused = lab.fails(&["predict", "h.mercer", "new.csv", "--interval", "0.9"], 1);
    assert!(error(&refused).contains("pinball"), "{}", error(&refused));
    for level in ["0", "1", "1.5", "nan", "ninety"] {
        lab.fails(&["predict", "m.mercer", "new.csv", "--interval", level], 2);
    }
    lab.fails(&["predict", "m.mercer", "new.csv", "--interval-method", "cv+"], 2);
}

#[test]
fn a_fit_says_how_far_left_out_rows_are_and_what_comes_next() {
    let lab = Lab::with_table("friedman1", 80);
    let fit = ["fit", "t.csv", "--target", "y", "--kernel", "gaussian", "--output", "m.mercer"];
    let said = String::from_utf8(lab.ok(&fit).stdout).unwrap();
    assert!(said.contains("90 % of the rows, each left out, are within ± "), "{said}");
    assert!(said.contains("Next: mercer predict m.mercer NEW.csv --interval 0.9 · mercer effects m.mercer"), "{said}");
    let within =
        number(&lab.json(&["fit", "t.csv", "--target", "y", "--kernel", "gaussian", "--json"]), "loo_within_90");
    assert!(said.contains(&format!("± {}", &within.to_string()[..4])), "{said} {within}");
}

#[test]
fn models_on_landmarks_have_intervals_from_their_table() {
    let lab = lab(&["--kernel", "gaussian(lengthscale=3)", "--rank", "20", "--lambda", "1e-4"]);
    let run = ["predict", "m.mercer", "new.csv", "--interval", "0.9", "--json"];
    let refused = error(&lab.fails(&run, 1));
    assert!(refused.contains("--data"), "{refused}");
    for method in ["jackknife+", "cv+", "gaussian-process"] {
        let report = lab.json(&[&run[..], &["--data", "t.csv", "--interval-method", method]].concat());
        let share = number(&report["interval"]["coverage"]["prediction"], "share");
        assert!((0.8..=1.0).contains(&share), "{method}: {share}");
    }
    // Rows that the model was not fitted to are noticed.
    assert!(error(&lab.fails(&[&run[..], &["--data", "new.csv"]].concat(), 1)).contains("those of the fit"));
}
