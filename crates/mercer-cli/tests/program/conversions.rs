//! The numbers that are printed for other programs, against fits that scikit-learn made with them (`peers/conversions.py`).

use serde_json::Value;

use crate::lab::{Lab, close, line, number};

fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().unwrap().iter().map(|x| x.as_f64().unwrap()).collect()
}

fn golden() -> Value {
    let path = format!("{}/tests/golden/conversions.json", env!("CARGO_MANIFEST_DIR"));
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

fn table(golden: &Value) -> String {
    let names = ["a", "b", "w", "y", "label", "kind"];
    let columns: Vec<Vec<f64>> = names.iter().map(|name| numbers(&golden["table"][name])).collect();
    let mut text = names.join(",") + "\n";
    for row in 0..columns[0].len() {
        text += &(columns.iter().map(|column| column[row].to_string()).collect::<Vec<_>>().join(",") + "\n");
    }
    text
}

#[test]
fn scikit_learn_finds_the_same_with_the_numbers_that_are_printed() {
    let golden = golden();
    let lab = Lab::new();
    lab.file("t.csv", &table(&golden));
    let cases = golden["cases"].as_array().unwrap();
    for case in cases {
        let name = case["name"].as_str().unwrap();
        let target = case["target"].as_str().unwrap();
        let options: Vec<&str> = case["options"].as_array().unwrap().iter().map(|x| x.as_str().unwrap()).collect();
        let lambda = number(case, "lambda").to_string();
        let fit = ["fit", "t.csv", "--target", target, "--features", "a,b", "--scale", "none", "--lambda", &lambda];
        let tight: &[&str] = if options.contains(&"squared") { &[] } else { &["--tolerance", "1e-9"] };
        let report = lab.json(&line(&[&fit, &options, tight, &["--json", "--output", "m.mercer"]]));
        // Three classes have three models with the same numbers.
        let first = if report["targets"].is_array() { &report["targets"][0] } else { &report };
        for (key, want) in case["conversions"].as_object().unwrap() {
            let got = number(&first["conversions"], key);
            assert!(close(got, want.as_f64().unwrap(), 1e-10), "{name}: {key} is {got}, not {want}");
        }
        let values = if target == "kind" {
            let predicted = lab.json(&["predict", "m.mercer", "t.csv", "--probability", "--json"]);
            let of = |class: usize| numbers(&predicted["predictions"][format!("probability_{class}")]);
            let classes = [of(0), of(1), of(2)];
            (0..60).flat_map(|row| [0, 1, 2].map(|class: usize| classes[class][row])).collect()
        } else if target == "label" {
            numbers(&lab.json(&["predict", "m.mercer", "t.csv", "--decision", "--json"])["predictions"]["decision"])
        } else {
            numbers(&lab.json(&["predict", "m.mercer", "t.csv", "--json"])["predictions"]["prediction"])
        };
        let want: Vec<f64> = match case["values"][0] {
            Value::Array(_) => case["values"].as_array().unwrap().iter().flat_map(numbers).collect(),
            _ => numbers(&case["values"]),
        };
        assert_eq!(values.len(), want.len());
        let size = want.iter().fold(0.0, |max: f64, v| max.max(v.abs()));
        for (got, want) in values.iter().zip(&want) {
            assert!((got - want).abs() < 2e-4 * size, "{name}: {got}, not {want}");
        }
    }
    assert_eq!(cases.len(), 12);
}

/// At any other exponent the numbers belong to the effective ridge, whose function is the same.
#[test]
fn exponents_are_converted_by_their_effective_ridge() {
    let golden = golden();
    let lab = Lab::new();
    lab.file("t.csv", &table(&golden));
    let fit = ["fit", "t.csv", "--target", "label", "--features", "a,b", "--loss", "hinge", "--json"];
    let tight = ["--tolerance", "1e-8", "--output", "m.mercer"];
    let power = lab.json(&line(&[&fit, &tight, &["--exponent", "1.4", "--lambda", "0.05"]]));
    lab.ok(&["predict", "m.mercer", "t.csv", "--decision", "--output", "power.csv"]);
    let ridge = number(&power, "effective_ridge");
    assert!(close(number(&power["conversions"], "C"), 1.0 / (2.0 * 60.0 * ridge), 1e-12));
    let plain = lab.json(&line(&[&fit, &tight, &["--lambda", &ridge.to_string()]]));
    lab.ok(&["predict", "m.mercer", "t.csv", "--decision", "--output", "plain.csv"]);
    assert!(close(number(&plain["conversions"], "C"), number(&power["conversions"], "C"), 1e-12));
    let (a, b) = (lab.numbers("power.csv", "decision"), lab.numbers("plain.csv", "decision"));
    assert!(a.iter().zip(&b).all(|(a, b)| (a - b).abs() < 1e-3), "{a:?} {b:?}");
}

/// Coefficients in the units of the table predict what the model predicts.
#[test]
fn coefficients_are_those_of_the_table() {
    let lab = Lab::new();
    lab.file("t.csv", &table(&golden()));
    for (options, key) in [
        (&["--loss", "logistic"][..], "decision"),
        (&["--loss", "hinge"], "decision"),
        (&["--loss", "absolute", "--classify"], "decision"),
    ] {
        let fit =
            ["fit", "t.csv", "--target", "label", "--features", "a,b,y", "--kernel", "linear", "--output", "m.mercer"];
        let report = lab.json(&line(&[&fit, options, &["--json"]]));
        lab.ok(&["predict", "m.mercer", "t.csv", "--decision", "--output", "p.csv"]);
        check_linear(&lab, &report, key);
    }
    let fit =
        ["fit", "t.csv", "--target", "y", "--features", "a,b,label", "--kernel", "linear", "--output", "m.mercer"];
    let report = lab.json(&line(&[&fit, &["--method", "ridge", "--json"]]));
    lab.ok(&["predict", "m.mercer", "t.csv", "--output", "p.csv"]);
    check_linear(&lab, &report, "prediction");
}

fn check_linear(lab: &Lab, report: &Value, column: &str) {
    let weights = report["coefficients_raw"].as_object().expect("coefficients");
    assert_eq!(weights.len(), 3);
    assert_eq!(report["coefficients"].as_object().unwrap().len(), 3);
    let predicted = lab.numbers("p.csv", column);
    for (row, want) in predicted.iter().enumerate() {
        let term = |(name, weight): (&String, &Value)| weight.as_f64().unwrap() * lab.numbers("p.csv", name)[row];
        let value = number(report, "intercept_raw") + weights.iter().map(term).sum::<f64>();
        assert!((value - want).abs() < 1e-9, "{value}, not {want}");
    }
}
