//! Linear functions and their penalties.

use super::Cases;

pub fn add(cases: &mut Cases) {
    for (name, penalty) in [
        ("none", "none"),
        ("lasso", "lasso"),
        ("elastic-net", "elastic-net(ratio=0.5)"),
        ("tikhonov", "tikhonov"),
        ("tikhonov-first", "tikhonov(gamma=first-differences)"),
        ("tikhonov-second", "tikhonov(gamma=second-differences)"),
        ("kernel-lasso", "kernel-lasso"),
    ] {
        let kernel = if name == "kernel-lasso" { "--kernel gaussian" } else { "" };
        let mut fit = |case: &str, table: &str, options: &str| {
            let options = format!("--penalty {penalty} {kernel} {options}");
            cases.fit(format!("penalty/{name}/{case}"), table, &options).on_threads = case == "tall";
        };
        fit("tall", "wide-200-p20.csv", "");
        if name != "none" {
            fit("fixed", "wide-200-p20.csv", "--lambda 1e-2");
            fit("wide/fixed", "wide-60-p150.csv", "--lambda 5e-2");
            fit("weights/fixed", "reg-200-w.csv", "--weight w --lambda 1e-2");
            fit("range", "wide-200-p20.csv", "--lambda 1e-4..1:6 --criterion kfold:5");
        }
        fit("no-offset", "wide-200-p20.csv", if name == "none" { "--no-offset" } else { "--no-offset --lambda 1e-2" });
    }
    for criterion in ["aic", "bic"] {
        let options = format!("--penalty lasso --criterion {criterion}");
        cases.fit(format!("penalty/lasso/{criterion}"), "wide-200-p20.csv", &options);
    }
    for (name, table, options) in [
        ("lasso/wide", "wide-80-p300.csv", "--penalty lasso"),
        ("lasso/groups", "reg-200-g.csv", "--penalty lasso --group g"),
        ("lasso/one-standard-error", "wide-200-p20.csv", "--penalty lasso --one-standard-error"),
        ("lasso/polynomial", "reg-200.csv", "--penalty lasso --features poly:3"),
        ("lasso/two-targets", "two-200.csv", "--penalty lasso"),
        ("none/wide", "wide-30-p50.csv", "--penalty none"),
        ("none/weights", "reg-200-w.csv", "--penalty none --weight w"),
        ("none/polynomial", "reg-200.csv", "--method ols --features poly:2"),
        ("tikhonov/polynomial", "reg-200.csv", "--method tikhonov --features poly:4"),
        ("ridge/wide", "wide-80-p300.csv", "--kernel linear"),
        ("ridge/wide/m1.5", "wide-80-p300.csv", "--kernel linear --exponent 1.5"),
        ("ridge/tall", "wide-3000-p20.csv", "--kernel linear"),
        ("ridge/tall/m1.5", "wide-3000-p20.csv", "--kernel linear --exponent 1.5"),
        ("ridge/tall/exponents", "wide-3000-p20.csv", "--kernel linear --exponent 0.5..3:0.5"),
        ("ridge/tall/kfold", "wide-3000-p20.csv", "--kernel linear --criterion kfold:5"),
        ("tikhonov/file", "reg-200.csv", "--penalty tikhonov --gamma gamma-3.csv --lambda 1e-2"),
        ("method/elastic-net", "wide-200-p20.csv", "--method elastic-net --lambda 1e-2"),
        ("assess", "wide-200-p20.csv", "--penalty lasso --assess kfold:3"),
    ] {
        cases.fit(format!("linear/{name}"), table, options);
    }
    cases.run(
        "linear/libsvm/lasso",
        "fit wide-200-p20.libsvm --target y --penalty lasso --lambda 1e-2 --output m.mercer --json",
    );
    cases.run(
        "linear/libsvm/ridge",
        "fit wide-200-p20.libsvm --target y --kernel linear --lambda 1e-2 --output m.mercer --json",
    );
    cases.run("linear/libsvm/logistic", "fit bin-200.libsvm --target y --loss logistic --kernel linear --classify --lambda 1e-2 --output m.mercer --json");
    cases.fit("linear/lasso/large", "wide-1000-p800.csv", "--penalty lasso --lambda 1e-3..1:10").slow().threads();
}
