//! The squared loss: kernels, exponents, offset, weights, criteria, metrics, folds.

use super::Cases;

const NUMERIC: [&str; 12] = [
    "linear",
    "polynomial",
    "gaussian",
    "laplace",
    "matern12",
    "matern32",
    "matern52",
    "rational-quadratic",
    "additive-spline",
    "multiplicative-spline",
    "spline0",
    "spline1",
];

pub fn add(cases: &mut Cases) {
    kernels(cases);
    exponents(cases);
    criteria(cases);
    folds(cases);
    metrics(cases);
    options(cases);
}

fn kernels(cases: &mut Cases) {
    for kernel in NUMERIC {
        let mut fit = |name: &str, options: &str| {
            let case =
                cases.fit(format!("kernel/{kernel}/{name}"), "reg-120.csv", &format!("--kernel {kernel} {options}"));
            case.on_threads = name == "m2";
        };
        fit("m2", "");
        fit("m1.5", "--exponent 1.5");
        fit("m2/no-offset", "--no-offset --lambda 1e-2");
    }
    for (name, spec) in [
        ("polynomial-2", "polynomial(degree=2,constant=0.5)"),
        ("rational-quadratic-shape", "rational-quadratic(shape=2.5,lengthscale=1.5)"),
        ("additive-spline-rough", "additive-spline(order=0)"),
        ("normalized", "normalized-additive-spline"),
        ("normalized-polynomial", "normalized-polynomial(degree=3)"),
        ("each", "gaussian(lengthscale=[1,2,0.5,4])"),
        ("median", "matern32(lengthscale=median)"),
        ("sum", "0.5*linear+gaussian(lengthscale=2)"),
        ("product", "gaussian(lengthscale=2)*spline0"),
        ("sum-of-products", "linear*matern52+0.1*laplace"),
    ] {
        cases.fit(format!("kernel/{name}"), "reg-120.csv", &format!("--kernel {spec}"));
    }
    let equality = "--kernel gaussian*equality(similarity=0.3) --text equality";
    cases.fit("kernel/equality", "reg-120-t.csv", equality);
    cases.fit("kernel/equality/m1.5", "reg-120-t.csv", &format!("{equality} --exponent 1.5"));
    cases.run("kernel/precomputed", "fit pre-60.csv --target y --kernel precomputed --output m.mercer --json");
    cases.run(
        "kernel/precomputed/m1.5",
        "fit pre-60.csv --target y --kernel precomputed --exponent 1.5 --lambda 1e-2 --output m.mercer --json",
    );
}

fn exponents(cases: &mut Cases) {
    for m in ["0.3", "0.5", "1", "1.5", "2", "2.5", "3", "4"] {
        let mut fit = |name: &str, table: &str, options: &str| {
            let options = format!("--kernel gaussian --exponent {m} {options}");
            let case = cases.fit(format!("exponent/{m}/{name}"), table, &options);
            case.on_threads = name == "loo";
        };
        fit("loo", "reg-150.csv", "");
        fit("fixed", "reg-150.csv", "--lambda 0.05");
        fit("no-offset", "reg-150.csv", "--no-offset");
        fit("weights", "reg-150-w.csv", "--weight w");
        fit("weights/no-offset/fixed", "reg-150-w.csv", "--weight w --no-offset --lambda 0.05");
        fit("gcv", "reg-150.csv", "--criterion gcv");
        fit("kfold", "reg-150.csv", "--criterion kfold:5");
        fit("groups", "reg-150-g.csv", "--group g");
    }
    cases.fit("exponent/several", "reg-250.csv", "--kernel gaussian --exponent 0.1..2.9:0.2").threads();
    cases.fit(
        "exponent/several/grid",
        "reg-250.csv",
        "--kernel matern52 --exponent 0.5..3:0.5 --lambda 1e-7..1e3:15 --on-grid",
    );
    cases.fit("exponent/several/weights", "reg-250-w.csv", "--kernel gaussian --exponent 0.5..3:0.5 --weight w");
    cases.fit("exponent/several/surface", "reg-100.csv", "--kernel gaussian --exponent 0.5..3:0.5 --table s.csv");
    cases.fit("exponent/large-ridge", "reg-100.csv", "--kernel gaussian --exponent 0.4 --lambda 100");
}

fn criteria(cases: &mut Cases) {
    for criterion in [
        "gcv",
        "fpe",
        "aic",
        "aicc",
        "bic",
        "schwarz",
        "shibata",
        "vapnik",
        "mallows",
        "likelihood",
        "reml",
        "dee",
        "tri",
        "adj",
    ] {
        let more = if matches!(criterion, "tri" | "adj" | "dee") { "--unlabelled reg-40-new.csv" } else { "" };
        for m in ["1.5", "2"] {
            let options = format!("--kernel gaussian --exponent {m} --criterion {criterion} {more}");
            cases.fit(format!("criterion/{criterion}/m{m}"), "reg-150.csv", &options);
        }
    }
    cases.fit("criterion/gcv/weights", "reg-150-w.csv", "--kernel gaussian --criterion gcv --weight w");
    cases.fit("criterion/reml/no-offset", "reg-150.csv", "--kernel gaussian --criterion reml --no-offset");
    cases.fit("criterion/gcv/linear", "wide-80-p120.csv", "--kernel linear --criterion gcv");
}

fn folds(cases: &mut Cases) {
    for (name, criterion) in [
        ("kfold-10", "kfold"),
        ("kfold-repeats", "kfold(folds=4,repeats=3)"),
        ("blocks", "kfold(folds=6,order=blocks)"),
        ("forward", "forward:5"),
        ("forward-gap", "forward(folds=4,gap=3)"),
        ("forward-window", "forward(folds=4,gap=0,window=60)"),
    ] {
        cases
            .fit(format!("folds/{name}"), "reg-250.csv", &format!("--kernel gaussian --criterion {criterion}"))
            .threads();
        let options = format!("--kernel matern32 --exponent 1.5 --criterion {criterion}");
        cases.fit(format!("folds/{name}/m1.5"), "reg-120.csv", &options);
    }
    cases.fit("folds/logo", "reg-250-g.csv", "--kernel gaussian --criterion logo --group g");
    cases.fit("folds/groups/kfold", "reg-250-g.csv", "--kernel gaussian --criterion kfold:5 --group g");
    cases.fit("folds/seed", "reg-250.csv", "--kernel gaussian --criterion kfold:5 --seed 7");
    cases.fit("folds/assess", "reg-150.csv", "--kernel gaussian --assess kfold:4");
    cases.fit("folds/assess/forward", "reg-150.csv", "--kernel gaussian --criterion forward:4 --assess forward:4");
    cases.fit("folds/forward/linear", "reg-250.csv", "--kernel linear --criterion forward:5");
}

fn metrics(cases: &mut Cases) {
    for metric in ["each", "each-likelihood", "diagonal", "full"] {
        cases.fit(format!("metric/{metric}"), "reg-150.csv", &format!("--kernel matern52 --metric {metric}")).threads();
    }
    cases.fit("metric/each/m1.5", "reg-150.csv", "--kernel gaussian --metric each --exponent 1.5");
    cases.fit("metric/each-likelihood/groups", "reg-150-g.csv", "--kernel gaussian --metric each-likelihood --group g");
}

fn options(cases: &mut Cases) {
    cases.fit("option/clip", "reg-150.csv", "--kernel gaussian --clip");
    cases.fit("option/clip/m1.5", "reg-150.csv", "--kernel gaussian --clip --exponent 1.5");
    cases.fit("option/clip/kfold", "reg-150.csv", "--kernel polynomial --clip --criterion kfold:5");
    cases.fit("option/one-standard-error", "reg-150.csv", "--kernel gaussian --one-standard-error");
    cases.fit("option/on-grid", "reg-150.csv", "--kernel gaussian --on-grid --lambda 1e-6..1:7");
    cases.fit("option/two-targets", "two-150.csv", "--kernel gaussian");
    cases.fit("option/two-targets/m1.5", "two-150.csv", "--kernel gaussian --exponent 1.5");
    cases.fit("option/shared-ridge", "two-150.csv", "--kernel gaussian --shared-ridge");
    for scale in ["standard", "unit", "none", "log"] {
        cases.fit(format!("option/scale-{scale}"), "reg-150-skew.csv", &format!("--kernel gaussian --scale {scale}"));
    }
    cases.fit("option/ties", "reg-250-ties.csv", "--kernel gaussian");
    cases.fit("option/norm-at-most", "reg-150.csv", "--kernel gaussian --norm-at-most 3");
    cases.fit("option/train-error-at-most", "reg-150.csv", "--kernel gaussian --train-error-at-most 0.3");
    cases.fit("option/norm-at-most/weights", "reg-150-w.csv", "--kernel gaussian --norm-at-most 3 --weight w");
    cases.fit("option/weights/loo", "reg-250-w.csv", "--kernel matern52 --weight w").threads();
    cases.fit(
        "option/weights/kfold",
        "reg-250-w.csv",
        "--kernel matern52 --weight w --criterion kfold:5 --exponent 1.5",
    );
    cases.fit("option/groups-and-weights", "reg-250-w-g.csv", "--kernel matern52 --weight w --group g");
    let range = "--kernel laplace(lengthscale=0.1..100:12)";
    cases.fit("option/kernels/12", "reg-250.csv", range).threads();
    let journal = format!("fit reg-150.csv --target y {range} --journal run.journal --output m.mercer --json");
    cases.run("option/journal", &journal).then(&journal);
    cases.fit("option/many-features", "wide-100-p300.csv", "--kernel gaussian");
    cases.fit("option/few-rows", "reg-7.csv", "--kernel gaussian");
}
