//! `mercer effects`.

use crate::lab::{Lab, close, error, number, text};

/// y = 3a + log b and a category, without noise to speak of.
fn lab() -> Lab {
    let lab = Lab::new();
    let mut rows = String::from("a,b,kind,y\n");
    for i in 0..90 {
        let (a, b) = (f64::from(i % 9), 1.0 + f64::from((i * 7) % 30));
        let kind = ["flat", "steep", "tall"][i as usize % 3];
        let y = 3.0 * a + f64::ln(b) + f64::from(i % 3) * 10.0 + 0.01 * f64::sin(f64::from(i * i));
        rows += &format!("{a},{b},{kind},{y}\n");
    }
    lab.file("t.csv", &rows);
    let fit = ["fit", "t.csv", "--target", "y", "--kernel", "gaussian(lengthscale=4)", "--lambda", "1e-7"];
    lab.ok(&[&fit[..], &["--quiet", "--output", "m.mercer"]].concat());
    lab
}

#[test]
fn tables_say_what_the_formula_does() {
    let lab = lab();
    let report = lab.json(&["effects", "m.mercer", "--json"]);
    let effects = &report["targets"][0]["effects"];
    assert_eq!(report["n"], 90);
    let names: Vec<_> = (0..4).map(|i| (effects[i]["column"].as_str(), effects[i]["category"].as_str())).collect();
    assert_eq!(
        names,
        [(Some("a"), None), (Some("b"), None), (Some("kind"), Some("steep")), (Some("kind"), Some("tall"))]
    );
    assert!(close(number(&effects[0], "mean"), 3.0, 0.02), "{effects}");
    assert!(close(number(&effects[3], "mean"), 20.0, 0.02) && effects[3]["base"] == "flat", "{effects}");
    assert!(number(&effects[0], "positive") == 1.0 && number(&effects[0], "standard_error") > 0.0);
    let page = text(&lab.ok(&["effects", "m.mercer"]));
    assert!(page.contains("std. error") && page.contains("kind: tall − flat") && page.contains("fixed λ"), "{page}");
    let latex = text(&lab.ok(&["effects", "m.mercer", "--style", "latex"]));
    assert!(
        latex.starts_with("\\begin{tabular}{lrrrrrr}")
            && latex.contains("tall $-$ flat")
            && latex.lines().count() == 10,
        "{latex}"
    );
    let csv = text(&lab.ok(&["effects", "m.mercer", "--style", "csv"]));
    assert_eq!(csv.lines().count(), 5);
    assert!(lab.ok(&["effects", "m.mercer", "--quiet"]).stdout.is_empty());
}

#[test]
fn effects_at_every_row_go_to_a_file_and_agree_with_the_averages() {
    let lab = lab();
    lab.ok(&["effects", "m.mercer", "t.csv", "--quiet", "--output", "e.parquet"]);
    let report = lab.json(&["effects", "m.mercer", "t.csv", "--json"]);
    for (i, column) in ["effect_a", "effect_b", "effect_kind=steep", "effect_kind=tall"].iter().enumerate() {
        let values = lab.numbers("e.parquet", column);
        assert_eq!(values.len(), 90);
        let mean = values.iter().sum::<f64>() / 90.0;
        assert!(close(mean, number(&report["targets"][0]["effects"][i], "mean"), 1e-12), "{column}");
    }
    // The model's own rows are those of its table.
    let own = lab.json(&["effects", "m.mercer", "--json"]);
    for i in 0..4 {
        let mean = |report: &serde_json::Value| number(&report["targets"][0]["effects"][i], "mean");
        assert!(close(mean(&own), mean(&report), 1e-9), "{i}");
    }
}

#[test]
fn linear_functions_and_other_losses_say_what_is_missing() {
    let lab = lab();
    let linear = ["fit", "t.csv", "--target", "y", "--kernel", "linear", "--lambda", "1e-3", "-q", "--output"];
    lab.ok(&[&linear[..], &["l.mercer"]].concat());
    let refused = lab.fails(&["effects", "l.mercer"], 1);
    assert!(error(&refused).contains("--data"), "{}", error(&refused));
    let bare = text(&lab.ok(&["effects", "l.mercer", "t.csv"]));
    assert!(bare.contains("No standard errors: the model does not hold") && !bare.contains("std. error"), "{bare}");
    let whole = lab.json(&["effects", "l.mercer", "--data", "t.csv", "--json"]);
    let effect = &whole["targets"][0]["effects"][0];
    assert!(number(effect, "standard_error") > 0.0 && close(number(effect, "mean"), 3.0, 0.05), "{effect}");
    let huber = ["fit", "t.csv", "--target", "y", "--loss", "huber", "--kernel", "gaussian", "--lambda", "1e-4"];
    lab.ok(&[&huber[..], &["-q", "--output", "h.mercer"]].concat());
    let page = text(&lab.ok(&["effects", "h.mercer", "t.csv"]));
    assert!(page.contains("No standard errors: they exist for the squared loss with the penalty λ‖f‖ᵐ only"), "{page}");
    assert!(page.contains("its loss is huber"), "{page}");
    let logistic =
        ["fit", "t.csv", "--target", "kind", "--loss", "logistic", "--kernel", "gaussian", "--lambda", "1e-2"];
    lab.ok(&[&logistic[..], &["-q", "--output", "c.mercer"]].concat());
    let page = text(&lab.ok(&["effects", "c.mercer", "t.csv"]));
    assert!(page.contains("it predicts classes") && page.contains("share > 0"), "{page}");
    // The training table gives the rows: its classes are no numbers.
    assert_eq!(text(&lab.ok(&["effects", "c.mercer", "--data", "t.csv"])), page);
}

#[test]
fn effects_on_classes_name_the_class() {
    let lab = Lab::new();
    let mut rows = String::from("a,b,y\n");
    for i in 0..90 {
        let (a, b) = (f64::from(i % 9), f64::from((i * 7) % 30));
        rows += &format!("{a},{b},{}\n", if a + 0.1 * b + f64::from(i % 4) > 6.0 { "good" } else { "bad" });
    }
    lab.file("t.csv", &rows);
    let fit = ["fit", "t.csv", "--target", "y", "--kernel", "gaussian(lengthscale=2)", "--lambda", "1e-2", "--quiet"];
    lab.ok(&[&fit[..], &["--loss", "logistic", "--output", "m.mercer"]].concat());
    let page = text(&lab.ok(&["effects", "m.mercer", "t.csv"]));
    assert!(page.contains("effects on log-odds of good at 90 rows"), "{page}");
    assert!(page.contains("derivative of the log-odds") && page.contains("--of probability"), "{page}");
    let odds = lab.json(&["effects", "m.mercer", "t.csv", "--json"]);
    assert_eq!((&odds["targets"][0]["of"], &odds["targets"][0]["class"]), (&"log-odds".into(), &"good".into()));
    let page = text(&lab.ok(&["effects", "m.mercer", "t.csv", "--of", "probability"]));
    assert!(page.contains("effects on probability of good at") && !page.contains("--of probability"), "{page}");
    let share = lab.json(&["effects", "m.mercer", "t.csv", "--of", "probability", "--json"]);
    assert_eq!(share["targets"][0]["of"], "probability");
    // p(1 − p) is at most a quarter.
    let mean = |report: &serde_json::Value| number(&report["targets"][0]["effects"][0], "mean");
    assert!(mean(&share) > 0.0 && mean(&share) < 0.25 * mean(&odds), "{share}");
    lab.ok(&[&fit[..], &["--loss", "hinge", "--output", "h.mercer"]].concat());
    let page = text(&lab.ok(&["effects", "h.mercer", "t.csv"]));
    assert!(page.contains("decision value of good") && !page.contains("--of"), "{page}");
    assert!(error(&lab.fails(&["effects", "h.mercer", "t.csv", "--of", "probability"], 1)).contains("--probability"));
}
