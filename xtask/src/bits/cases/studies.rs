//! Commands whose result is a table: path, compare, equivalence, certify, distance, generate, experiment.

use super::Cases;

pub fn add(cases: &mut Cases) {
    paths(cases);
    compare(cases);
    equivalence(cases);
    certify(cases);
    others(cases);
}

fn paths(cases: &mut Cases) {
    for (name, table, options) in [
        ("m2", "reg-150.csv", ""),
        ("m1.5", "reg-150.csv", "--exponent 1.5"),
        ("m0.5", "reg-150.csv", "--exponent 0.5"),
        ("m3", "reg-150.csv", "--exponent 3"),
        ("criteria", "reg-150.csv", "--criterion loo,kfold:5,gcv,aic,aicc,bic,likelihood --lambda 1e-6..1:9"),
        ("weights", "reg-150-w.csv", "--weight w"),
        ("groups", "reg-150-g.csv", "--group g --criterion loo"),
        ("no-offset", "reg-150.csv", "--no-offset --kernel matern52"),
        ("linear", "wide-200-p20.csv", "--kernel linear"),
        ("600", "reg-600.csv", "--kernel gaussian"),
    ] {
        let step = format!("path {table} --target y {options} --output path.csv --json");
        cases.run(format!("path/{name}"), step).on_threads = name == "600";
    }
}

fn compare(cases: &mut Cases) {
    for (name, line) in [
        (
            "numbers",
            "reg-100.csv --target y --methods mean,ridge,least-squares,lasso,gaussian,gaussian-tuned,matern52,laplace",
        ),
        (
            "splines",
            "reg-100.csv --target y --methods additive-spline,additive-spline-fpe,multiplicative-spline,m-power",
        ),
        ("losses", "reg-60.csv --target y --methods svr,huber,absolute,quantile --folds 3"),
        ("forward", "reg-100.csv --target y --methods mean,ridge,gaussian --folds forward(folds=4,gap=2)"),
        ("repeats", "reg-100.csv --target y --methods mean,ridge,gaussian --repeats 3 --seed 5"),
        (
            "classes",
            "cls-80.csv --target kind --methods majority,ridge-classifier,linear-logistic,logistic,svm,svm-squared --folds 3",
        ),
        ("groups", "reg-100-g.csv --target y --methods mean,gaussian --group g"),
        ("weights", "reg-100-w.csv --target y --methods mean,gaussian --weight w"),
    ] {
        let case = cases.run(format!("compare/{name}"), format!("compare {line} --output c.csv --json"));
        case.on_threads = name == "numbers";
    }
}

fn equivalence(cases: &mut Cases) {
    for (name, options) in [
        ("all", "--lambda 0.01"),
        ("all/power", "--from power(exponent=1.5) --lambda 0.05"),
        ("power-ridge", "--from power(exponent=1.5) --to ridge --lambda 0.01"),
        ("ridge-power", "--from ridge --to power(exponent=1) --lambda 0.01"),
        ("ivanov-morozov", "--from ivanov --to morozov --lambda 3"),
        ("per-row", "--from ridge-per-row --to ridge --lambda 1"),
        ("scikit-learn", "--from scikit-learn --to libsvm --lambda 0.5 --no-offset"),
        ("glmnet", "--from glmnet --to ridge --lambda 0.1 --kernel linear"),
        ("chosen", "--from ridge --to power(exponent=3)"),
    ] {
        let case =
            cases.run(format!("equivalence/{name}"), format!("equivalence reg-100.csv --target y {options} --json"));
        case.on_threads = name == "power-ridge";
    }
    // Tables are nudged by their names: these two would have no row in common.
    cases.run("distance", "distance reg-30.csv reg-40.csv --json").tolerance = Some(1e-6);
}

fn certify(cases: &mut Cases) {
    for (name, options) in [
        ("default", ""),
        ("m3", "--exponent 3 --lambda 1e-2 --target-at-most 10"),
        ("m1.5", "--exponent 1.5 --lambda 1e-1"),
        ("epsilon", "--epsilon 0.2 --center 1"),
        ("svr", "--loss epsilon-insensitive(epsilon=0.5) --lambda 1e-2"),
        ("absolute", "--loss absolute --lambda 1e-2 --exponent 3"),
        ("confidence", "--kernel matern32 --confidence 0.99"),
    ] {
        let case = cases.run(format!("certify/{name}"), format!("certify reg-80.csv --target y {options} --json"));
        case.on_threads = name == "default";
    }
    cases
        .run(
            "certify/model",
            "fit reg-80.csv --target y --kernel gaussian --exponent 1.5 --no-offset --output m.mercer",
        )
        .then("certify m.mercer --json");
}

fn others(cases: &mut Cases) {
    for name in ["friedman1", "friedman2", "friedman3", "sinc", "quadratic", "square"] {
        cases.run(format!("generate/{name}"), format!("generate {name} --rows 50 --noise 0.5 --seed 4 --output g.csv"));
    }
    for name in ["overfitting", "lasso-geometry", "losses"] {
        let case = cases.run(format!("experiment/{name}"), format!("experiment {name} --quick --json"));
        case.slow();
    }
}
