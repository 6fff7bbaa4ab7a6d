//! Landmarks, conjugate gradients, moments and streams.

use super::Cases;

pub fn add(cases: &mut Cases) {
    landmarks(cases);
    moments(cases);
    streams(cases);
}

fn landmarks(cases: &mut Cases) {
    for by in ["kmeans", "pivots", "uniform"] {
        let options = format!("--kernel gaussian --rank 30 --landmarks-by {by}");
        cases.fit(format!("landmarks/{by}"), "reg-400.csv", &options).threads();
        cases.fit(format!("landmarks/{by}/fixed"), "reg-400.csv", &format!("{options} --lambda 1e-4 --exponent 1.5"));
    }
    for (name, table, options) in [
        ("default", "reg-400.csv", "--kernel matern32 --rank 40"),
        ("m1.5", "reg-400.csv", "--kernel gaussian --rank 40 --exponent 1.5"),
        ("exponents", "reg-400.csv", "--kernel gaussian --rank 40 --exponent 0.5..3:0.5"),
        ("kfold", "reg-400.csv", "--kernel gaussian --rank 40 --criterion kfold:5"),
        ("forward", "reg-400.csv", "--kernel gaussian --rank 40 --criterion forward:4"),
        ("gcv", "reg-400.csv", "--kernel gaussian --rank 40 --criterion gcv"),
        ("weights", "reg-400-w.csv", "--kernel gaussian --rank 40 --weight w"),
        ("groups", "reg-400-g.csv", "--kernel gaussian --rank 40 --group g"),
        ("no-offset", "reg-400.csv", "--kernel gaussian --rank 40 --no-offset"),
        ("accuracy", "reg-400.csv", "--kernel gaussian --accuracy 0.05 --lambda 1e-2"),
        ("two-targets", "two-400.csv", "--kernel gaussian --rank 40"),
        ("kernels", "reg-400.csv", "--kernel gaussian(lengthscale=0.5..4:4) --rank 40"),
        ("seed", "reg-400.csv", "--kernel gaussian --rank 40 --seed 5"),
    ] {
        cases.fit(format!("landmarks/{name}"), table, options);
    }
    cases.fit("landmarks/20000", "reg-20000.csv", "--kernel gaussian --rank 100").slow().threads();
    for (name, options) in [
        ("m2", "--kernel gaussian --lambda 1e-3"),
        ("m1.5", "--kernel gaussian --exponent 1.5 --lambda 1e-2"),
        ("m3", "--kernel matern32 --exponent 3 --lambda 1e-3"),
        ("no-offset", "--kernel gaussian --lambda 1e-3 --no-offset"),
        ("chosen", "--kernel gaussian"),
    ] {
        let options = format!("{options} --solver conjugate-gradients");
        cases.fit(format!("gradients/{name}"), "reg-700.csv", &options).on_threads = name == "m2";
    }
    cases.fit(
        "gradients/weights",
        "reg-700-w.csv",
        "--kernel gaussian --lambda 1e-3 --weight w --solver conjugate-gradients",
    );
}

fn moments(cases: &mut Cases) {
    let fit = "fit a.moments --output m.mercer --json";
    let predict = "predict m.mercer reg-23-new.csv --output p.csv";
    for (name, gather, options) in [
        ("gaussian", "--landmarks 30", ""),
        ("exponents", "--landmarks 30", "--exponent 0.5..3:0.5 --lambda 1e-6..1:7"),
        ("matern32", "--kernel matern32 --landmarks 20", "--exponent 1.5"),
        ("pivots", "--landmarks 30 --landmarks-by pivots", "--lambda 1e-3"),
        ("uniform", "--landmarks 30 --landmarks-by uniform --seed 3", ""),
        ("fourier", "--kernel matern32 --fourier 40", ""),
        ("folds", "--landmarks 30 --folds 3 --scale unit", ""),
        ("sample", "--landmarks 30 --sample 100", "--exponent 3 --lambda 1e-2"),
    ] {
        let case = cases.run(
            format!("moments/{name}"),
            format!("moments reg-600.csv --target y {gather} --output a.moments --json"),
        );
        case.then(format!("{fit} {options}")).then(predict).on_threads = name == "gaussian";
    }
    cases
        .run("moments/weights", "moments reg-600-w.csv --target y --weight w --landmarks 20 --output a.moments --json")
        .then(fit);
    cases
        .run("moments/merge", "moments reg-600.csv --target y --landmarks 20 --output b.moments --json")
        .then("moments reg-400-new.csv --like b.moments --output c.moments --json")
        .then("merge b.moments c.moments --output a.moments --json")
        .then(fit)
        .then(predict);
    cases
        .run("moments/update", "moments reg-600.csv --target y --landmarks 20 --output b.moments --json")
        .then("update b.moments reg-400-new.csv --output a.moments --json")
        .then("predict a.moments reg-23-new.csv --output p.csv");
    cases
        .run("moments/two-targets", "moments two-600.csv --target y,z --landmarks 20 --output a.moments --json")
        .then("fit --from-moments a.moments --output m.mercer --json");
    cases
        .run("moments/30000", "moments reg-30000.csv --target y --landmarks 60 --output a.moments --json")
        .then(fit)
        .then(predict)
        .slow()
        .threads();
}

fn streams(cases: &mut Cases) {
    for (name, table, options) in [
        ("exact", "reg-150.csv", ""),
        ("exact/fixed", "reg-150.csv", "--lambda 1e-3 --kernel matern52"),
        ("exact/m1.5", "reg-120.csv", "--exponent 1.5"),
        ("landmarks", "reg-300.csv", "--exact-rows 80 --landmarks 40"),
        (
            "landmarks/m1.5",
            "reg-300.csv",
            "--exact-rows 80 --landmarks 40 --exponent 1.5 --kernel laplace(lengthscale=median)",
        ),
        ("landmarks/m3", "reg-300.csv", "--exact-rows 80 --landmarks 40 --exponent 3 --lambda 1e-2"),
        ("warm-up", "reg-150.csv", "--warm-up 20 --no-offset"),
        ("text", "reg-150-t.csv", ""),
    ] {
        let case = cases.run(
            format!("stream/{name}"),
            format!("stream {table} --target y {options} --output m.mercer --predictions p.csv --json"),
        );
        case.on_threads = name == "landmarks";
    }
    cases.run(
        "stream/linear",
        "stream reg-200.csv --target y --kernel linear --output m.mercer --predictions p.csv --json",
    );
}
