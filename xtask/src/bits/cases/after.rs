//! What is made of a model: predictions in other formats, intervals, effects, importance, export.

use super::Cases;

pub fn add(cases: &mut Cases) {
    intervals(cases);
    predictions(cases);
    effects(cases);
    exports(cases);
}

fn intervals(cases: &mut Cases) {
    for method in ["jackknife+", "cv+", "gaussian-process"] {
        for m in ["1.5", "2"] {
            cases.fit_predict(
                format!("interval/{method}/m{m}"),
                "reg-120.csv",
                &format!("--kernel gaussian --exponent {m}"),
                &format!("--interval 0.9 --interval-method {method}"),
            );
        }
        let case = cases.fit_predict(
            format!("interval/{method}/weights"),
            "reg-120-w.csv",
            "--kernel matern52 --weight w",
            &format!("--interval 0.8 --interval-method {method}"),
        );
        case.threads();
        cases.fit_predict(
            format!("interval/{method}/linear"),
            "reg-120.csv",
            "--kernel linear",
            &format!("--interval 0.9 --interval-method {method} --data reg-120.csv"),
        );
        cases.fit_predict(
            format!("interval/{method}/landmarks"),
            "reg-300.csv",
            "--kernel gaussian --rank 30",
            &format!("--interval 0.9 --interval-method {method} --data reg-300.csv"),
        );
    }
    cases.fit_predict("interval/groups", "reg-120-g.csv", "--kernel gaussian --group g", "--interval 0.9");
    cases.fit_predict("interval/clip", "reg-120.csv", "--kernel gaussian --clip", "--interval 0.9");
    cases.fit_predict(
        "interval/folds",
        "reg-120.csv",
        "--kernel gaussian",
        "--interval 0.9 --interval-method cv+ --folds 5 --seed 3",
    );
}

fn predictions(cases: &mut Cases) {
    let fit = "fit reg-150.csv --target y --kernel gaussian --lambda 1e-3 --output m.mercer";
    for ending in ["csv", "tsv", "json", "jsonl", "parquet", "arrow"] {
        cases
            .run(format!("predict/{ending}"), fit)
            .then(format!("predict m.mercer reg-23-new.csv --output p.{ending}"));
    }
    cases.run("predict/to-json", fit).then("predict m.mercer reg-23-new.csv --json");
    cases.run("predict/name", fit).then("predict m.mercer reg-23-new.csv --name guess --output p.csv");
    cases.run("predict/many", fit).then("predict m.mercer reg-9000-new.csv --output p.csv").threads();
    cases.run("predict/inspect", fit).then("inspect m.mercer --json");
}

fn effects(cases: &mut Cases) {
    for (name, table, options, more) in [
        ("gaussian", "reg-120.csv", "--kernel gaussian", ""),
        ("matern12", "reg-120.csv", "--kernel matern12", ""),
        ("additive-spline", "reg-120.csv", "--kernel additive-spline", ""),
        ("product", "reg-120.csv", "--kernel gaussian*linear", ""),
        ("m1.5", "reg-120.csv", "--kernel matern52 --exponent 1.5", ""),
        ("text", "reg-120-t.csv", "--kernel gaussian", ""),
        ("linear", "reg-120.csv", "--kernel linear", "--data reg-120.csv"),
        ("weights", "reg-120-w.csv", "--kernel gaussian --weight w", ""),
        ("landmarks", "reg-300.csv", "--kernel gaussian --rank 30", "--data reg-300.csv"),
        ("lasso", "reg-120.csv", "--penalty lasso --lambda 1e-2", "--data reg-120.csv"),
    ] {
        let fit = format!("fit {table} --target y {options} --output m.mercer");
        cases.run(format!("effects/{name}"), fit).then(format!("effects m.mercer {more} --output e.csv --json"));
    }
    cases
        .run("effects/new-rows", "fit reg-120.csv --target y --kernel gaussian --output m.mercer")
        .then("effects m.mercer reg-23-new.csv --output e.csv --json");
    for of in ["decision", "probability"] {
        cases
            .run(
                format!("effects/of-{of}"),
                "fit cls-120.csv --target kind --loss logistic --kernel gaussian --lambda 1e-2 --output m.mercer",
            )
            .then(format!("effects m.mercer cls-23-new.csv --of {of} --json"));
    }
    for (name, fit, data) in [
        ("gaussian", "fit reg-120.csv --target y --kernel gaussian", "reg-120.csv"),
        ("text", "fit reg-120-t.csv --target y --kernel matern52", "reg-120-t.csv"),
        ("m1.5", "fit reg-120.csv --target y --kernel gaussian --exponent 1.5", "reg-120.csv"),
    ] {
        let case = cases.run(format!("importance/{name}"), format!("{fit} --output m.mercer"));
        case.then(format!("effects m.mercer --importance --data {data} --json")).threads();
    }
}

fn exports(cases: &mut Cases) {
    for (name, table, options) in [
        ("gaussian", "reg-80.csv", "--target y --kernel gaussian"),
        ("laplace", "reg-80.csv", "--target y --kernel laplace"),
        ("matern", "reg-80.csv", "--target y --kernel matern12+matern32*matern52"),
        ("polynomial", "reg-80.csv", "--target y --kernel polynomial"),
        ("rational-quadratic", "reg-80.csv", "--target y --kernel rational-quadratic"),
        ("linear", "reg-80.csv", "--target y --kernel linear"),
        ("metric", "reg-80.csv", "--target y --kernel gaussian --metric full"),
        ("gaps", "reg-80-gaps.csv", "--target y --kernel gaussian --missing mean"),
        ("quantiles", "reg-80.csv", "--target y --loss pinball(quantile=[0.2,0.8]) --kernel gaussian --lambda 1e-2"),
        ("logistic", "cls-80.csv", "--target kind --loss logistic --kernel gaussian --lambda 1e-2"),
        (
            "multinomial",
            "three-80.csv",
            "--target kind --loss logistic --kernel gaussian --many-classes multinomial --lambda 1e-2",
        ),
    ] {
        let fit = format!("fit {table} {options} --output m.mercer");
        cases
            .run(format!("export/{name}"), fit)
            .then("export m.mercer --output m.onnx --json")
            .then("export m.mercer --precision f32 --output small.mercer --json")
            .then(format!("predict small.mercer {} --output p.csv", super::new_rows(table)));
    }
}
