//! What columns can be: weights, several targets, texts.

use serde_json::Value;

use crate::lab::{Lab, close, error, line, number, text};

#[test]
fn a_weight_of_two_is_the_row_twice() {
    let lab = Lab::new();
    let row = |i: i32| {
        let x = f64::from(i);
        format!("{},{},{}", (0.7 * x).sin(), (1.3 * x).cos(), (0.4 * x).sin() + 0.1 * (5.0 * x).cos())
    };
    let (mut weighted, mut repeated) = (String::from("a,b,y,w\n"), String::from("a,b,y\n"));
    for i in 0..40 {
        let weight = [1, 2, 3, 0][i as usize % 4];
        weighted.push_str(&format!("{},{weight}\n", row(i)));
        (0..weight).for_each(|_| repeated.push_str(&(row(i) + "\n")));
    }
    lab.file("weighted.csv", &weighted);
    lab.file("repeated.csv", &repeated);
    lab.file("new.csv", &(String::from("a,b,y\n") + &(100..130).map(|i| row(i) + "\n").collect::<String>()));
    let (mut tried, mut tight) = (0, 0);
    for kernel in ["gaussian", "gaussian(lengthscale=0.8)", "linear", "polynomial", "additive-spline", "matern32"] {
        for exponent in ["0.5", "1", "1.5", "2", "3"] {
            for offset in [&[][..], &["--no-offset"]] {
                // The smaller the exponent, the smaller the ridge that a λ stands for.
                let lambda = if exponent == "0.5" { "0.05" } else { "1e-3" };
                let more = line(&[&["--kernel", kernel, "--exponent", exponent, "--lambda", lambda, "--json"], offset]);
                let one = lab.json(&line(&[
                    &["fit", "weighted.csv", "--target", "y", "--weight", "w", "--output", "one.mercer"],
                    &more,
                ]));
                let two =
                    lab.json(&line(&[&["fit", "repeated.csv", "--target", "y", "--output", "two.mercer"], &more]));
                assert_eq!((&one["n"], &two["n"]), (&Value::from(30), &Value::from(60)));
                assert_eq!(one["rows_dropped_weightless"], 10);
                // Small exponents find small ridges, and rounding counts as often as the condition number says.
                let allowed = (1e-15 * number(&one["certificate"], "condition")).max(1e-10);
                assert!(allowed < 1e-6, "{kernel}, exponent {exponent}: too near to singular to say anything");
                for key in ["objective", "norm", "train_rmse", "dof"] {
                    let (a, b) = (number(&one, key), number(&two, key));
                    assert!(close(a, b, allowed), "{kernel}, exponent {exponent}, {offset:?}: {key} {a} against {b}");
                }
                lab.ok(&["predict", "one.mercer", "new.csv", "--output", "one.csv", "-q"]);
                lab.ok(&["predict", "two.mercer", "new.csv", "--output", "two.csv", "-q"]);
                let (a, b) = (lab.numbers("one.csv", "prediction"), lab.numbers("two.csv", "prediction"));
                for (a, b) in a.into_iter().zip(b) {
                    assert!((a - b).abs() < allowed, "{kernel}, exponent {exponent}: {a} against {b}");
                    tight += usize::from(allowed == 1e-10);
                }
                tried += 1;
            }
        }
    }
    assert_eq!(tried, 60);
    assert!(tight >= 40 * 30, "only {tight} predictions were held to 1e-10");
}

#[test]
fn several_targets_are_several_single_fits() {
    let lab = Lab::new();
    let mut table = String::from("a,b,y1,y2,y3\n");
    for i in 0..50 {
        let x = f64::from(i) * 0.21;
        let noise = |k: f64| 0.2 * ((x + 1.0) * k * 1000.0).sin();
        let [y1, y2, y3] = [x.sin() + noise(3.1), 1e6 * (x.cos() + noise(5.7)), 1e-6 * ((0.5 * x).sin() + noise(7.9))];
        table.push_str(&format!("{},{},{y1},{y2},{y3}\n", x.sin(), (2.0 * x).cos()));
    }
    lab.file("t.csv", &table);
    let mut tried = 0;
    for (kernel, exponent) in
        [("gaussian", "2"), ("gaussian", "1.5"), ("linear", "2"), ("linear", "0.5"), ("additive-spline", "3")]
    {
        for lambda in [&[][..], &["--lambda", "0.01"]] {
            let more = line(&[&["--kernel", kernel, "--exponent", exponent, "--json"], lambda]);
            let features = ["--features", "a,b"];
            let all = lab.json(&line(&[
                &["fit", "t.csv", "--target", "y1,y2,y3", "--output", "all.mercer"],
                &features,
                &more,
            ]));
            lab.ok(&["predict", "all.mercer", "t.csv", "--output", "all.csv", "-q"]);
            for (t, target) in ["y1", "y2", "y3"].into_iter().enumerate() {
                let one = lab.json(&line(&[
                    &["fit", "t.csv", "--target", target, "--output", "one.mercer"],
                    &features,
                    &more,
                ]));
                let of_all = &all["targets"][t];
                assert_eq!(of_all["target"], target);
                for key in ["lambda", "norm", "objective", "intercept", "dof", "train_rmse", "loo_rmse"] {
                    let (a, b) = (number(of_all, key), number(&one, key));
                    assert!(close(a, b, 1e-10), "{kernel}, exponent {exponent}, {target}: {key} {a} against {b}");
                }
                lab.ok(&["predict", "one.mercer", "t.csv", "--output", "one.csv", "-q"]);
                let (a, b) =
                    (lab.numbers("all.csv", &format!("prediction_{target}")), lab.numbers("one.csv", "prediction"));
                let scale = [1.0, 1e6, 1e-5][t];
                for (a, b) in a.into_iter().zip(b) {
                    assert!((a - b).abs() < 1e-10 * scale, "{kernel}, exponent {exponent}, {target}: {a} against {b}");
                }
                tried += 1;
            }
        }
    }
    assert_eq!(tried, 30);
    let shared =
        lab.json(&["fit", "t.csv", "--target", "y1,y2", "--features", "a,b", "--shared-ridge", "--json", "-m", "1.5"]);
    let ridges: Vec<&Value> = shared["targets"].as_array().unwrap().iter().map(|t| &t["effective_ridge"]).collect();
    assert!(ridges.len() == 2 && ridges[0] == ridges[1] && ridges[0].is_number(), "{ridges:?}");
}

#[test]
fn texts_and_categories() {
    let lab = Lab::new();
    let mut table = String::from("size,colour,code,y\n");
    for i in 0..60 {
        let colour = ["red", "green", "\"light, blue\""][i % 3];
        table.push_str(&format!(
            "{},{colour},{},{}\n",
            (i as f64 * 0.3).sin(),
            i % 4,
            (i % 3) as f64 + (i as f64 * 0.3).sin()
        ));
    }
    lab.file("t.csv", &table);
    for arguments in [
        &[][..],
        &["--kernel", "gaussian"],
        &["--kernel", "gaussian", "--text", "equality"],
        &["--categorical", "code"],
        &["--categorical", "code", "--text", "equality", "--exponent", "1.5"],
        &["--kernel", "linear"],
        &["--kernel", "gaussian * equality(similarity=0.1)"],
    ] {
        let report =
            lab.json(&line(&[&["fit", "t.csv", "--target", "y", "--json", "--output", "m.mercer"], arguments]));
        assert!(number(&report, "loo_rmse") < 0.3, "{arguments:?}: {}", report["loo_rmse"]);
        lab.ok(&["predict", "m.mercer", "t.csv", "--output", "p.csv", "-q"]);
        assert_eq!(lab.column("p.csv", "prediction").len(), 60);
    }
    // Rows without a prediction are left empty where missing cells mean "drop".
    lab.ok(&["fit", "t.csv", "--target", "y", "--missing", "drop", "--output", "m.mercer", "-q"]);
    lab.file("new.csv", "size,colour,code\n0.5,red,1\n,red,2\n0.1,never seen,3\n");
    let output = lab.ok(&["predict", "m.mercer", "new.csv"]);
    let page = text(&output);
    let cells: Vec<&str> = page.lines().map(|line| line.rsplit(',').next().unwrap()).collect();
    assert!(cells[0] == "prediction" && cells[1].parse::<f64>().is_ok() && cells[2].is_empty(), "{page}");
    assert!(cells[3].parse::<f64>().is_ok(), "{page}");
    assert!(error(&output).contains("2 rows predicted") && error(&output).contains("1 without prediction"));
}
