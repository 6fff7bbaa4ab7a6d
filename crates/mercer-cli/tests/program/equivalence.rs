//! `mercer equivalence` and `mercer distance`

use serde_json::Value;

use crate::lab::{Lab, close, error, line, number, text};
use crate::paths::check_svg;

fn converted(report: &Value, name: &str) -> f64 {
    let all = report["conversions"].as_array().unwrap();
    let found = all.iter().find(|c| c["algorithm"] == name).unwrap_or_else(|| panic!("{name}: {report}"));
    number(found, "value")
}

#[test]
fn a_power_told_as_a_ridge_fits_the_same() {
    let lab = Lab::with_table("friedman1", 80);
    let to = ["equivalence", "t.csv", "--target", "y", "--from", "power(exponent=1.5)", "--to", "ridge"];
    let given = line(&[&to, &["--lambda", "0.01"]]);
    let report = lab.json(&line(&[&given, &["--json", "--svg", "p.svg", "--output", "p.csv"]]));
    assert_eq!(report["equivalence"], "weak");
    assert!(number(&report, "relative_distance") < 1e-12 && number(&report, "back_error") < 1e-12);
    // Both fits by the front door predict the same.
    let fit = |exponent: &str, lambda: &str, file: &str| {
        let options = ["fit", "t.csv", "--target", "y", "--kernel", "gaussian", "--json", "--output", "m.mercer"];
        let report = lab.json(&line(&[&options, &["--exponent", exponent, "--lambda", lambda]]));
        lab.ok(&["predict", "m.mercer", "t.csv", "--output", file]);
        report
    };
    let first = fit("1.5", "0.01", "a.csv");
    let value = number(&report["to"], "value");
    assert!(close(number(&first, "effective_ridge"), value, 1e-12));
    fit("2", &value.to_string(), "b.csv");
    let (a, b) = (lab.numbers("a.csv", "prediction"), lab.numbers("b.csv", "prediction"));
    assert!(a.iter().zip(&b).all(|(a, b)| close(*a, *b, 1e-10)), "{a:?} {b:?}");
    // Sets of the sizes that were asked for, and a move that is the largest of the deletions.
    let list = |key: &str| report[key].as_array().unwrap().iter().map(|x| x.as_f64().unwrap()).collect::<Vec<f64>>();
    assert_eq!((list("parts").len(), list("bootstrap").len(), list("deletions").len()), (4, 20, 80));
    let most = list("deletions").iter().map(|v| (v - value).abs()).fold(0.0, f64::max);
    assert_eq!(number(&report, "largest_change"), most);
    // One path: at Φ both have one training error, at the same number they have not.
    let errors = |name: &str| lab.numbers("p.csv", name);
    let (own, moved, same) =
        (errors("from_train_rmse"), errors("to_train_rmse"), errors("to_train_rmse_at_same_number"));
    assert!(own.len() > 60 && own.iter().zip(&moved).all(|(a, b)| close(*a, *b, 1e-9)), "{own:?} {moved:?}");
    assert!(own.iter().zip(&same).any(|(a, b)| !close(*a, *b, 0.1)));
    assert!(lab.numbers("p.csv", "from_parameter").is_sorted());
    let svg = String::from_utf8(lab.bytes("p.svg")).unwrap();
    check_svg(&svg);
    assert!(svg.matches("<polyline").count() >= 4 && svg.contains("Φ: λ of ridge"), "{svg}");

    let page = text(&lab.ok(&given));
    for part in ["Weakly, not strongly", "disjoint parts", "all rows but one", "falling like", "on top of it"] {
        assert!(page.contains(part), "{part}: {page}");
    }
    assert_eq!(text(&lab.ok(&given)), page, "the same seed, the same page");
    assert!(text(&lab.ok(&line(&[&given, &["--quiet"]]))).is_empty());
}

#[test]
fn verdicts_of_pairs_that_are_known() {
    let lab = Lab::with_table("friedman1", 60);
    let run = |from: &str, to: &str| {
        lab.json(&["equivalence", "t.csv", "--target", "y", "--from", from, "--to", to, "--lambda", "0.5", "--json"])
    };
    let strong = run("scikit-learn", "libsvm");
    assert_eq!((&strong["equivalence"], &strong["formula"]), (&"strong".into(), &"1/(2·alpha)".into()));
    assert!(close(number(&strong["to"], "value"), 1.0, 1e-14) && strong["decay"].is_null());
    let size = run("ridge", "ridge-per-row");
    assert_eq!((&size["equivalence"], &size["formula"]), (&"size-only".into(), &"n·λ".into()));
    assert!(close(number(&size["to"], "value"), 30.0, 1e-14) && size["decay"]["falls"] == false);
    assert!(size["verdict"].as_str().unwrap().contains("is in doubt"), "{size}");
    let back = run("ridge-per-row", "ridge");
    assert!(back["decay"]["falls"] == true && back["verdict"].as_str().unwrap().contains("looks satisfied"));
    // Exponents of at most 1 may give the zero function: said, not refused.
    let zero = ["equivalence", "t.csv", "--target", "y", "--from", "power(exponent=0.5)", "--lambda", "1e6"];
    let report = lab.json(&line(&[&zero, &["--to", "ridge", "--json"]]));
    assert!(report["to"]["value"].is_null() && report["reason"].as_str().unwrap().contains("f = 0"), "{report}");
    assert!(text(&lab.ok(&line(&[&zero, &["--to", "ridge"]]))).contains("There is no Φ here"));
    assert!(text(&lab.ok(&zero)).contains("zero function"));
}

#[test]
fn a_parameter_in_the_words_of_every_algorithm() {
    let lab = Lab::with_table("friedman1", 50);
    let run = ["equivalence", "t.csv", "--target", "y", "--from", "ridge", "--lambda", "0.02"];
    let report = lab.json(&line(&[&run, &["--json"]]));
    for (name, value) in [("scikit-learn", 1.0), ("libsvm", 0.5), ("ls-svm", 1.0), ("gurls", 0.02), ("ridge", 0.02)] {
        assert!(close(converted(&report, name), value, 1e-13), "{name}: {report}");
    }
    // What `fit` says about the same model.
    let fit =
        ["fit", "t.csv", "--target", "y", "--kernel", "gaussian", "--lambda", "0.02", "--json", "--output", "m.mercer"];
    let fitted = lab.json(&fit);
    assert!(close(converted(&report, "scikit-learn"), number(&fitted["conversions"], "alpha"), 1e-13));
    assert!(close(converted(&report, "ivanov"), number(&fitted, "norm"), 1e-10));
    assert!(close(converted(&report, "morozov"), number(&fitted, "train_rmse"), 1e-10));
    let names = report["conversions"].as_array().unwrap();
    assert!(names.iter().all(|c| c["algorithm"] != "glmnet"), "only linear functions");
    let linear = lab.json(&line(&[&run, &["--kernel", "linear", "--json"]]));
    let y = lab.numbers("t.csv", "y");
    let mean = y.iter().sum::<f64>() / 50.0;
    let deviation = (y.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / 50.0).sqrt();
    assert!(close(converted(&linear, "glmnet"), 0.02 * deviation, 1e-12));
    lab.ok(&line(&[&run, &["--output", "c.csv", "--quiet"]]));
    assert_eq!(lab.numbers("c.csv", "value").len(), names.len());
    for (style, part) in [("markdown", "| ivanov | τ |"), ("latex", "$\\tau$"), ("csv", "ivanov,τ,")] {
        let table = text(&lab.ok(&line(&[&run, &["--style", style]])));
        assert!(table.contains(part), "{table}");
    }
    let latex = text(&lab.ok(&line(&[&run, &["--to", "ivanov", "--style", "latex"]])));
    assert!(latex.contains("$\\Phi$ median") && latex.is_ascii(), "{latex}");
}

#[test]
fn refusals_say_what_must_hold() {
    let lab = Lab::with_table("friedman1", 40);
    let run = ["equivalence", "t.csv", "--target", "y"];
    for (options, code, part) in [
        (vec!["--from", "ivanof"], 2, "did you mean ivanov?"),
        (vec!["--from", "power(exponent=-1)"], 2, "above 0"),
        (vec!["--to", "ivanov", "--lambda", "-1"], 2, "above 0"),
        (vec!["--to", "ivanov", "--parts", "1"], 2, "2 to 1000"),
        (vec!["--to", "ivanov", "--parts", "21"], 1, "at most half"),
        (vec!["--to", "glmnet"], 1, "linear for glmnet"),
        (vec!["--from", "morozov", "--to", "ridge", "--lambda", "1e-30"], 1, "at least"),
        (vec!["--to", "ivanov", "--memory", "1K"], 1, "would fit"),
        (vec!["--svg", "p.svg"], 2, "--to"),
    ] {
        let found = error(&lab.fails(&line(&[&run, &options]), code));
        assert!(found.contains(part), "{options:?}: {found}");
    }
    lab.file("c.csv", "x,y\n1,2\n2,2\n3,2\n");
    let found = error(&lab.fails(&["equivalence", "c.csv", "--target", "y", "--to", "ivanov"], 1));
    assert!(found.contains("one that varies"), "{found}");
}

#[test]
fn a_distance_counts_edits() {
    let lab = Lab::new();
    lab.file("a.csv", "x,k,y\n1,a,2\n0,b,3\n0,b,3\n");
    lab.file("b.csv", "y,x,k\n3,-0.0,b\n2,1,a\n3,0,b\n");
    lab.file("c.csv", "x,k,y\n1,a,2\n0,b,4\n0,b,3\n7,c,1\n");
    let same = lab.json(&["distance", "a.csv", "b.csv", "--json"]);
    assert_eq!((&same["distance"], &same["common"]), (&0.into(), &3.into()));
    let other = lab.json(&["distance", "a.csv", "c.csv", "--json"]);
    let figures = ["distance", "added", "removed", "changed"].map(|key| other[key].as_u64().unwrap());
    assert_eq!(figures, [2, 1, 0, 1]);
    let page = text(&lab.ok(&["distance", "a.csv", "c.csv"]));
    assert!(page.contains("distance 2: 1 added, 0 removed, 1 changed"), "{page}");
    lab.file("d.csv", "x,z\n1,2\n");
    let found = error(&lab.fails(&["distance", "a.csv", "d.csv"], 1));
    assert!(found.contains("got \"k\", \"y\" in the first table only, \"z\" in the second table only"), "{found}");
    lab.file("e.csv", "x,k,y\n1,a,\n");
    let found = error(&lab.fails(&["distance", "a.csv", "e.csv"], 1));
    assert!(found.contains("e.csv") && found.contains("row 1, column \"y\": the cell is missing"), "{found}");
    assert!(error(&lab.fails(&["distance", "-", "-"], 2)).contains("not both"));
}
