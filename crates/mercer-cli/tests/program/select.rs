//! Choosing among exponents, λ and kernels.

use serde_json::Value;

use crate::lab::{Lab, close, error, line, number, text};

fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().unwrap().iter().map(|v| v.as_f64().unwrap()).collect()
}

#[test]
fn a_surface_has_all_its_points_and_the_best_is_the_least() {
    let lab = Lab::with_table("friedman1", 60);
    let fit = ["fit", "t.csv", "--target", "y", "--exponent", "0.1..2.9:0.1", "--lambda", "1e-7..1e3:25"];
    for (more, is_on_grid) in [(&["--on-grid"][..], true), (&[], false)] {
        let report = lab.json(&line(&[&fit, more, &["--json", "--table", "s.csv"]]));
        let tried = report["tried"].as_array().unwrap();
        assert_eq!((tried.len(), &report["criterion"]), (1, &Value::from("loo")));
        assert!(tried[0]["is_chosen"] == true && tried[0]["surfaces"].as_array().unwrap().len() == 1);
        let surface = &tried[0]["surfaces"][0];
        let (exponents, lambdas) = (numbers(&surface["exponents"]), surface["lambdas"].as_array().unwrap());
        assert_eq!((exponents.len(), exponents[0], exponents[28]), (29, 0.1, 2.9));
        let values: Vec<Vec<f64>> = surface["values"].as_array().unwrap().iter().map(numbers).collect();
        assert!(values.len() == 29 && values.iter().all(|row| row.len() == 25));
        assert_eq!(surface["standard_errors"].as_array().unwrap().len(), 29);
        let least = values.iter().flatten().copied().fold(f64::INFINITY, f64::min);
        let best = number(&surface["best"], "value");
        assert!(if is_on_grid { close(best, least, 1e-8) } else { best <= least }, "{best} against {least}");
        for (key, place) in [("exponent", &report["exponent"]), ("lambda", &report["lambda"])] {
            assert_eq!(&surface["best"][key], place);
            assert_eq!(&tried[0][key], place);
        }
        assert!(close(number(&report, "loo_rmse").powi(2), best, 1e-6));
        if is_on_grid {
            let e = exponents.iter().position(|m| *m == number(&report, "exponent")).expect("an exponent of the grid");
            let known = numbers(&lambdas[e]);
            assert!(known.contains(&number(&report, "lambda")));
        }

        // The same in the table.
        assert_eq!(lab.frame("s.csv").names(), ["kernel", "exponent", "lambda", "value", "root", "standard_error"]);
        assert_eq!(lab.numbers("s.csv", "value"), values.concat());
        let roots = lab.numbers("s.csv", "root");
        assert!(roots.iter().zip(values.iter().flatten()).all(|(root, value)| close(root * root, *value, 1e-12)));
    }
    lab.ok(&line(&[&fit, &["--table", "s.parquet", "-q"]]));
    assert_eq!(lab.frame("s.parquet").rows(), 29 * 25);
}

#[test]
fn the_surface_is_drawn() {
    let lab = Lab::with_table("friedman1", 60);
    let fit = ["fit", "t.csv", "--target", "y"];
    let page = text(&lab.ok(&line(&[&fit, &["-m", "0.1..2.9:0.1", "--lambda", "1e-7..1e3:25"]])));
    for part in ["over exponent and λ; darker is better", "◆", "best of 725 points", "1e-7", "1000", "2.9 ┤", "█ 1 %"]
    {
        assert!(page.contains(part), "{part}: {page}");
    }
    let rows = page.lines().filter(|line| line.contains('┤')).count();
    assert_eq!(rows, 29, "{page}");
    assert!(page.lines().all(|line| line.chars().count() <= 140), "{page}");
    // Exponents without λ have λ of their own; criteria that are no errors have other steps.
    let page = text(&lab.ok(&line(&[&fit, &["-m", "1..2:0.5", "--criterion", "aicc"]])));
    assert!(page.contains("◆") && page.contains("█ 2 ") && page.contains("aicc"), "{page}");
    assert!(page.contains("by aicc") && !page.contains("by exact leave-one-out"), "{page}");
    // One exponent is no surface.
    let page = text(&lab.ok(&line(&[&fit, &["-m", "1.5", "--lambda", "1e-7..1e3:25"]])));
    assert!(!page.contains("darker is better"), "{page}");
    let page = text(&lab.ok(&line(&[&fit, &["--kernel", "gaussian", "--criterion", "kfold:5"]])));
    assert!(page.contains("by exact 5-fold cross-validation"), "{page}");
}

#[test]
fn kernels_compete() {
    let lab = Lab::with_table("friedman1", 80);
    let kernels = ["--kernel", "gaussian(lengthscale=0.5..50:13)", "--kernel", "additive-spline", "-k", "linear"];
    let fit = line(&[&["fit", "t.csv", "--target", "y"], &kernels]);
    let report = lab.json(&line(&[&fit, &["--json", "--table", "s.csv"]]));
    let tried = report["tried"].as_array().unwrap();
    assert_eq!(tried.len(), 15);
    assert_eq!(report["scale"], "unit", "splines among the candidates");
    let scores: Vec<f64> = tried.iter().map(|kernel| number(kernel, "score")).collect();
    let best = (0..15).min_by(|a, b| scores[*a].total_cmp(&scores[*b])).unwrap();
    let chosen: Vec<usize> = (0..15).filter(|k| tried[*k]["is_chosen"] == true).collect();
    assert_eq!(chosen, [best]);
    assert_eq!(tried[best]["kernel"], report["kernel"]);
    let page = text(&lab.ok(&fit));
    assert!(page.contains("15 kernels") && page.contains("… 3 more"), "{page}");
    assert_eq!(
        page.lines().filter(|line| line.contains("gaussian(") || line.contains("linear ")).count(),
        11,
        "{page}"
    );
    // The chosen one alone, with the same scaling, is the same model.
    let kernel = report["kernel"].as_str().unwrap();
    let alone = lab.json(&["fit", "t.csv", "--target", "y", "--kernel", kernel, "--scale", "unit", "--json"]);
    for key in ["lambda", "loo_rmse", "objective"] {
        let (a, b) = (number(&alone, key), number(&report, key));
        assert!(close(a, b, 1e-9), "{key}: {a} against {b}");
    }
    // With more rows kernels may be screened; then it is said.
    let many = Lab::with_table("friedman1", 400);
    let page = text(&many.ok(&fit));
    let report = many.json(&line(&[&fit, &["--json", "--table", "s.csv"]]));
    let screened = report["tried"].as_array().unwrap().iter().filter(|kernel| !kernel["low_rank"].is_null()).count();
    assert_eq!(page.contains("judged on a low-rank factor"), screened > 0, "{page}");
    assert_eq!(many.frame("s.csv").names().contains(&"rank".to_owned()), screened > 0);
    // A range in a kernel and nothing else is also a search.
    let standard = lab.json(&["fit", "t.csv", "--target", "y", "-k", "matern32(lengthscale=1..4:3)", "--json"]);
    assert_eq!((standard["tried"].as_array().unwrap().len(), &standard["scale"]), (3, &Value::from("standard")));
}

#[test]
fn every_criterion_chooses() {
    let lab = Lab::with_table("friedman1", 60);
    lab.ok(&["generate", "friedman1", "--rows", "90", "--seed", "5", "--output", "more.csv"]);
    let fit = ["fit", "t.csv", "--target", "y", "--kernel", "additive-spline", "--json", "--criterion"];
    let mut tried = 0;
    // Leave-one-group-out needs groups.
    for entry in mercer::criterion::all().into_iter().filter(|entry| entry.name != "logo") {
        let needs = matches!(entry.name, "tri" | "adj");
        if needs {
            let refused = lab.command(&line(&[&fit, &[entry.name]])).output().unwrap();
            assert_eq!(refused.status.code(), Some(2));
            assert!(error(&refused).contains("--unlabelled"), "{}", error(&refused));
        }
        let more: &[&str] = if needs || entry.name == "dee" { &["--unlabelled", "more.csv"] } else { &[] };
        let report = lab.json(&line(&[&fit, &[entry.name], more]));
        let known = mercer::criterion::Criterion::parse(entry.name).unwrap().spec();
        assert_eq!(report["criterion"], Value::from(known));
        assert!(number(&report, "lambda") > 0.0 && report["lambda_was_chosen"] == true, "{report}");
        tried += 1;
    }
    assert!(tried >= 16);
    let report = lab.json(&line(&[&fit, &["kfold(folds=4,repeats=3,order=random)", "--seed", "3"]]));
    assert_eq!(report["criterion"], "kfold(folds=4,repeats=3)");
    let given = lab.json(&["fit", "t.csv", "--target", "y", "--lambda", "0.01", "--json"]);
    assert!(given["criterion"].is_null() && given["tried"].as_array().unwrap().is_empty(), "{given}");
    assert!(given["kernel"].as_str().unwrap().starts_with("gaussian("));
}

#[test]
fn groups_stay_together() {
    // Every row three times, and a kernel that knows little but copies: folds that part them know the answer.
    const SHARP: &str = "gaussian(lengthscale=0.05)";
    let lab = Lab::new();
    let mut table = String::from("a,b,patient,y\n");
    for i in 0..40 {
        let x = f64::from(i);
        for _ in 0..3 {
            table.push_str(&format!("{},{},p{i},{}\n", (0.7 * x).sin(), (1.3 * x).cos(), (7.1 * x).sin()));
        }
    }
    lab.file("t.csv", &table);
    let fit = ["fit", "t.csv", "--target", "y", "--kernel", SHARP, "--criterion", "kfold:5", "--json"];
    let apart = lab.json(&line(&[&fit, &["--drop", "patient"]]));
    let together = lab.json(&line(&[&fit, &["--group", "patient"]]));
    assert_eq!(apart["features"], together["features"], "a group is no feature");
    let score = |report: &Value| number(&report["tried"][0], "score");
    assert!(score(&together) > 2.0 * score(&apart), "{} against {}", score(&together), score(&apart));
    let assessed = |more: &[&str]| {
        let fit = ["fit", "t.csv", "--target", "y", "--kernel", SHARP, "--assess", "kfold:4", "--json"];
        number(&lab.json(&line(&[&fit, more]))["assessment"], "mean")
    };
    assert!(assessed(&["--group", "patient"]) > 2.0 * assessed(&["--drop", "patient"]));
}

#[test]
fn one_standard_error_is_simpler() {
    let lab = Lab::with_table("friedman1", 80);
    let fit = ["fit", "t.csv", "--target", "y", "--kernel", "gaussian", "--json"];
    let (best, simple) = (lab.json(&fit), lab.json(&line(&[&fit, &["--one-standard-error"]])));
    assert!(number(&simple, "lambda") > number(&best, "lambda"));
    assert!(number(&simple, "dof") < number(&best, "dof"));
}

#[test]
fn an_assessment_has_a_number_for_every_fold() {
    let lab = Lab::with_table("friedman1", 80);
    let fit = ["fit", "t.csv", "--target", "y", "--kernel", "additive-spline", "--assess"];
    let report = lab.json(&line(&[&fit, &["kfold:5", "--json"]]));
    let found = &report["assessment"];
    let rmse = numbers(&found["rmse"]);
    assert_eq!((rmse.len(), &found["folds"]), (5, &Value::from(5)));
    let mean = rmse.iter().sum::<f64>() / 5.0;
    assert!(close(number(found, "mean"), mean, 1e-12) && number(found, "standard_deviation") > 0.0);
    assert!(number(found, "mean") > number(&report, "train_rmse"));
    assert_eq!(lab.json(&line(&[&fit, &["5", "--json"]]))["assessment"]["rmse"], found["rmse"]);
    assert_ne!(lab.json(&line(&[&fit, &["5", "--json", "--seed", "2"]]))["assessment"]["rmse"], found["rmse"]);
    let repeated = lab.json(&line(&[&fit, &["kfold(folds=4,repeats=2)", "--json"]]));
    assert_eq!(numbers(&repeated["assessment"]["rmse"]).len(), 8);
    let output = lab.ok(&line(&[&fit, &["5", "--verbose"]]));
    assert!(text(&output).contains("five-fold, selection inside: "), "{}", text(&output));
    assert!(error(&output).contains("assessing, fold 2 of 5"), "{}", error(&output));
    let two = lab.json(&["fit", "t.csv", "--target", "y,x1", "-k", "linear", "--assess", "3", "--json"]);
    let list = two["assessment"].as_array().unwrap();
    assert!(list.len() == 2 && list[1]["target"] == "x1" && numbers(&list[1]["rmse"]).len() == 3, "{two}");
}
