//! Penalties of linear functions, constraints in the place of λ, and what does not go together.

use crate::lab::{Lab, close, error, line, number, text};

fn fit<'a>(rest: &[&'a str]) -> Vec<&'a str> {
    line(&[&["fit", "t.csv", "--target", "y"], rest])
}

#[test]
fn least_squares_in_the_units_of_the_table() {
    let lab = Lab::new();
    lab.file("t.csv", "a,b,y\n1,0,5\n2,1,6\n3,5,1\n4,2,9\n5,9,-1\n");
    let report = lab.json(&fit(&["--method", "ols", "--json"]));
    assert_eq!(report["penalty"], "none");
    assert_eq!(report["scale"], "none");
    let (a, b) = (number(&report["coefficients"], "a"), number(&report["coefficients"], "b"));
    let rows = [[1.0, 0.0, 5.0], [2.0, 1.0, 6.0], [3.0, 5.0, 1.0], [4.0, 2.0, 9.0], [5.0, 9.0, -1.0]];
    let intercept = number(&report, "intercept");
    let residuals: Vec<f64> = rows.iter().map(|[x, z, y]| y - a * x - b * z - intercept).collect();
    // The normal equations hold.
    for column in 0..3 {
        let sum: f64 = rows.iter().zip(&residuals).map(|(row, r)| if column == 2 { *r } else { row[column] * r }).sum();
        assert!(sum.abs() < 1e-12, "{column}: {sum}");
    }
    assert!(number(&report["certificate"], "digits") > 12.0);
    assert_eq!(report["least_squares"][0]["rank"], 2);
    let page = text(&lab.ok(&fit(&["--method", "ols"])));
    for part in ["least squares", "standard error", "residual deviation", "2 of 2 coefficients"] {
        assert!(page.contains(part), "{part}: {page}");
    }
}

#[test]
fn polynomial_features() {
    let lab = Lab::new();
    let rows: Vec<String> = (-6..=6).map(|x| format!("{x},{}\n", 1 + 2 * x - x * x * x)).collect();
    lab.file("t.csv", &format!("x,y\n{}", rows.concat()));
    let report = lab.json(&fit(&["--method", "ols", "--features", "poly:3", "--json", "--output", "m.mercer"]));
    let of = |name: &str| number(&report["coefficients"], name);
    assert!(close(of("x"), 2.0, 1e-12) && of("x^2").abs() < 1e-12 && close(of("x^3"), -1.0, 1e-12));
    lab.file("new.csv", "x\n10\n");
    let predicted = lab.json(&["predict", "m.mercer", "new.csv", "--json"]);
    assert!(close(predicted["predictions"]["prediction"][0].as_f64().unwrap(), -979.0, 1e-9));
    let refused =
        error(&lab.fails(&["fit", "t.csv", "--target", "y", "--kernel", "gaussian", "--features", "poly:2"], 2));
    assert!(refused.contains("polynomial"), "{refused}");
}

#[test]
fn sparse_fits_choose_and_explain() {
    let lab = Lab::with_table("friedman1", 120);
    for penalty in ["lasso", "elastic-net(ratio=0.3)", "tikhonov(gamma=first-differences)", "kernel-lasso"] {
        let report =
            lab.json(&fit(&["--penalty", penalty, "--criterion", "kfold:5", "--json", "--table", "tried.csv"]));
        assert_eq!(report["penalty"], penalty);
        assert!(number(&report, "duality_gap") <= 1e-8, "{penalty}");
        assert!(report["support"].as_u64().unwrap() > 0);
        assert!(number(&report["held_out"], "value") > 0.0);
        assert!(lab.numbers("tried.csv", "is_chosen").iter().sum::<f64>() == 1.0);
        let page = text(&lab.ok(&fit(&["--penalty", penalty, "--lambda", "0.1"])));
        assert!(page.contains(penalty) && page.contains("duality gap"), "{page}");
    }
    let lasso = lab.json(&fit(&["--method", "lasso", "--lambda", "0.4", "--json"]));
    assert!(close(number(&lasso["conversions"], "alpha"), 0.2, 1e-12));
    let bic = lab.json(&fit(&["--method", "lasso", "--criterion", "bic", "--json"]));
    let aic = lab.json(&fit(&["--method", "lasso", "--criterion", "aic", "--json"]));
    assert!(bic["support"].as_u64() <= aic["support"].as_u64());
    let assessed = lab.json(&fit(&["--method", "lasso", "--assess", "kfold:4", "--json"]));
    assert!(number(&assessed["assessment"]["rmse"], "mean") > 0.0);
    let compared = lab.json(&["compare", "t.csv", "--target", "y", "--methods", "lasso,least-squares,ridge", "--json"]);
    assert!(compared["methods"].as_array().unwrap().iter().all(|method| number(method, "mean") > 0.0));
}

#[test]
fn constraints_in_the_place_of_lambda() {
    let lab = Lab::with_table("friedman1", 60);
    let bounded = lab.json(&fit(&["--kernel", "gaussian", "--norm-at-most", "3", "--json"]));
    assert!(close(number(&bounded, "norm"), 3.0, 1e-9));
    let near = lab.json(&fit(&["--train-error-at-most", "1.5", "--json"]));
    assert!(close(number(&near, "train_rmse"), 1.5, 1e-9));
    let page = text(&lab.ok(&fit(&["--norm-at-most", "3"])));
    assert!(page.contains("norm at most 3"), "{page}");
}

#[test]
fn a_matrix_of_the_users_own() {
    let lab = Lab::with_table("friedman1", 60);
    let identity: Vec<String> =
        (0..10).map(|i| (0..10).map(|j| if i == j { "1" } else { "0" }).collect::<Vec<_>>().join(",")).collect();
    let header = (0..10).map(|j| format!("g{j}")).collect::<Vec<_>>().join(",");
    lab.file("gamma.csv", &format!("{header}\n{}\n", identity.join("\n")));
    let given = lab.json(&fit(&["--penalty", "tikhonov", "--gamma", "gamma.csv", "--lambda", "0.3", "--json"]));
    let named = lab.json(&fit(&["--penalty", "tikhonov", "--lambda", "0.3", "--json"]));
    let ridge = lab.json(&fit(&["--method", "ridge", "--lambda", "0.3", "--json"]));
    for other in [&named, &ridge] {
        assert!(close(number(&given, "objective"), number(other, "objective"), 1e-10));
    }
    lab.file("narrow.csv", "g0,g1\n1,0\n0,1\n");
    let refused = error(&lab.fails(&fit(&["--penalty", "tikhonov", "--gamma", "narrow.csv", "--lambda", "1"]), 1));
    assert!(refused.contains("10 columns") && refused.contains("got 2"), "{refused}");
}

#[test]
fn what_does_not_go_together() {
    let lab = Lab::with_table("friedman1", 30);
    for (rest, why) in [
        (vec!["--penalty", "lasso", "--exponent", "1.5"], "norm-power"),
        (vec!["--penalty", "lasso", "--loss", "hinge"], "squared"),
        (vec!["--penalty", "lasso", "--kernel", "gaussian"], "linear functions"),
        (vec!["--penalty", "lasso", "--criterion", "gcv"], "aic"),
        (vec!["--penalty", "lasso", "--gamma", "x.csv"], "tikhonov"),
        (vec!["--gamma", "x.csv", "--kernel", "linear"], "tikhonov"),
        (vec!["--method", "ols", "--lambda", "1"], "without a penalty"),
        (vec!["--method", "lasso", "--penalty", "none"], "leave one of them out"),
        (vec!["--norm-at-most", "2", "--exponent", "1.5"], "exponent 2"),
        (vec!["--norm-at-most", "-2"], "above 0"),
        (vec!["--norm-at-most", "2", "--loss", "absolute"], "squared loss"),
        (vec!["--penalty", "laso"], "did you mean lasso"),
        (vec!["--penalty", "elastic-net(ratio=2)"], "at most 1"),
    ] {
        let refused = error(&lab.fails(&fit(&rest), 2));
        assert!(refused.contains(why), "{rest:?}: {refused}");
    }
    let listed = text(&lab.ok(&["penalties"]));
    assert!(listed.contains("elastic-net") && listed.contains("--norm-at-most"), "{listed}");
}

/// R's `cars`: `AIC(lm(dist ~ speed))` is 419.1569, `BIC` 424.8929.
#[test]
fn aic_and_bic_are_named_and_those_of_r() {
    const SPEED: [(u32, usize); 19] = [
        (4, 2),
        (7, 2),
        (8, 1),
        (9, 1),
        (10, 3),
        (11, 2),
        (12, 4),
        (13, 4),
        (14, 4),
        (15, 3),
        (16, 2),
        (17, 3),
        (18, 4),
        (19, 3),
        (20, 5),
        (22, 1),
        (23, 1),
        (24, 4),
        (25, 1),
    ];
    const DISTANCE: [u32; 50] = [
        2, 10, 4, 22, 16, 10, 18, 26, 34, 17, 28, 14, 20, 24, 28, 26, 34, 34, 46, 26, 36, 60, 80, 20, 26, 54, 32, 40,
        32, 40, 50, 42, 56, 76, 84, 36, 46, 68, 32, 48, 52, 56, 64, 66, 54, 70, 92, 93, 120, 85,
    ];
    let lab = Lab::new();
    let speeds = SPEED.iter().flat_map(|(speed, times)| std::iter::repeat_n(speed, *times));
    let rows: Vec<String> = speeds.zip(DISTANCE).map(|(speed, distance)| format!("{speed},{distance}\n")).collect();
    lab.file("cars.csv", &format!("speed,dist\n{}", rows.concat()));
    let fit = ["fit", "cars.csv", "--target", "dist", "--method", "ols"];
    let found = &lab.json(&line(&[&fit, &["--json"]]))["least_squares"][0];
    assert!((number(found, "full_aic") - 419.1569).abs() < 1e-4, "{found}");
    assert!((number(found, "full_bic") - 424.8929).abs() < 1e-4, "{found}");
    let constants = 50.0 * ((2.0 * std::f64::consts::PI).ln() + 1.0);
    assert!((number(found, "full_aic") - number(found, "aic") - constants - 2.0).abs() < 1e-9, "{found}");
    let page = text(&lab.ok(&fit));
    assert!(page.contains("R's extractAIC") && page.contains("419.2, 424.9 (R's AIC, BIC)"), "{page}");
}

#[test]
fn the_last_of_a_grid_and_what_a_lasso_keeps_are_said() {
    let lab = Lab::with_table("friedman1", 80);
    let fit = ["fit", "t.csv", "--target", "y", "--method", "lasso", "--output", "m.mercer"];
    let page = text(&lab.ok(&line(&[&fit, &["--lambda", "1..2:5"]])));
    assert!(page.contains("the smallest of the 5 λ that were tried: a smaller one may be better"), "{page}");
    let inspected = text(&lab.ok(&["inspect", "m.mercer"]));
    assert!(!inspected.contains("f = 0") && !inspected.contains("support vector"), "{inspected}");
    assert!(inspected.contains("coefficients are not 0") && inspected.contains("lasso, λ = 1"), "{inspected}");
    let report = lab.json(&line(&[&fit, &["--lambda", "1..2:5", "--json"]]));
    assert_eq!(report["tried"][0]["chosen_at_the_edge"], true);
    let page = text(&lab.ok(&line(&[&fit, &["--lambda", "1e-4..2:30"]])));
    assert!(!page.contains("that were tried"), "{page}");
    lab.ok(&["fit", "t.csv", "--target", "y", "--method", "ols", "--output", "o.mercer", "--quiet"]);
    let inspected = text(&lab.ok(&["inspect", "o.mercer"]));
    assert!(inspected.contains("no penalty") && !inspected.contains("f = 0"), "{inspected}");
}
