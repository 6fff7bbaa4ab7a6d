//! Losses other than the square: regression, quantiles and classes.

use super::Cases;

pub fn add(cases: &mut Cases) {
    numbers(cases);
    classes(cases);
    sizes(cases);
}

fn numbers(cases: &mut Cases) {
    for (name, loss) in [
        ("absolute", "absolute"),
        ("huber", "huber(threshold=0.3)"),
        ("epsilon-insensitive", "epsilon-insensitive(epsilon=0.1)"),
        ("squared-epsilon-insensitive", "squared-epsilon-insensitive(epsilon=0.1)"),
        ("pinball", "pinball(quantile=0.8)"),
        ("squared", "squared"),
    ] {
        let mut fit = |case: &str, table: &str, options: &str| {
            let options = format!("--loss {loss} --kernel gaussian {options}");
            cases.fit(format!("loss/{name}/{case}"), table, &options).on_threads = case == "m2";
        };
        fit("m2", "reg-120.csv", "");
        fit("m2/fixed", "reg-120.csv", "--lambda 1e-2");
        fit("m1/fixed", "reg-120.csv", "--lambda 0.05 --exponent 1");
        fit("m1.5", "reg-120.csv", "--exponent 1.5 --lambda 1e-3..1:4");
        fit("m3/fixed", "reg-120.csv", "--exponent 3 --lambda 1e-2");
        fit("no-offset", "reg-120.csv", "--no-offset --lambda 1e-2");
        fit("weights", "reg-120-w.csv", "--weight w --lambda 1e-2");
        fit("loo", "reg-120.csv", "--criterion loo");
        if name != "squared" {
            fit("tolerance", "reg-120.csv", "--lambda 1e-2 --tolerance 1e-9");
        }
    }
    for (name, options) in [
        ("range", "--loss epsilon-insensitive(epsilon=0.01..1:3) --kernel gaussian(lengthscale=1..4:2)"),
        ("quantiles", "--loss pinball(quantile=[0.1,0.5,0.9]) --kernel gaussian --lambda 1e-3..1e-1:3"),
        ("non-crossing", "--loss pinball(quantile=[0.1,0.5,0.9]) --kernel gaussian --lambda 1e-3 --non-crossing"),
        ("linear/huber", "--loss huber --kernel linear"),
        ("linear/absolute", "--loss absolute --kernel linear --lambda 1e-2"),
        ("linear/svr", "--loss epsilon-insensitive --kernel linear --lambda 1e-2"),
        ("linear/squared-svr", "--loss squared-epsilon-insensitive --kernel linear"),
        ("every-point", "--loss huber(threshold=0.3) --kernel gaussian --every-point"),
        ("measure", "--loss huber(threshold=0.3) --kernel gaussian --measure absolute"),
        ("assess", "--loss huber(threshold=0.3) --kernel gaussian --lambda 1e-3..1e-1:3 --assess kfold:3"),
        ("forward", "--loss absolute --kernel gaussian --criterion forward:4 --lambda 1e-3..1e-1:3"),
        ("one-standard-error", "--loss absolute --kernel gaussian --one-standard-error --lambda 1e-3..1e-1:5"),
        ("method/svr", "--method svr --lambda 1e-2"),
        ("method/quantile", "--method quantile --lambda 1e-2"),
        ("method/ridge", "--method ridge"),
        ("method/krr", "--method krr"),
        ("rank", "--loss huber(threshold=0.3) --kernel gaussian --rank 30 --lambda 1e-3"),
    ] {
        cases.fit(format!("losses/{name}"), "reg-120.csv", options);
    }
    cases.fit("losses/groups", "reg-120-g.csv", "--loss absolute --kernel gaussian --group g --lambda 1e-3..1e-1:3");
    cases.fit(
        "losses/two-targets",
        "two-120.csv",
        "--loss huber(threshold=0.3) --kernel gaussian --lambda 1e-3..1e-1:3",
    );
}

fn classes(cases: &mut Cases) {
    for loss in ["hinge", "squared-hinge", "logistic"] {
        let mut fit = |case: &str, table: &str, options: &str| {
            let options = format!("--loss {loss} {options}");
            let case_name = format!("loss/{loss}/{case}");
            cases.fit_predict(case_name, table, &options, "--decision").on_threads = case == "m2";
        };
        fit("m2", "cls-150.csv", "--kernel gaussian");
        fit("m2/fixed", "cls-150.csv", "--kernel gaussian --lambda 1e-2");
        fit("m1/fixed", "cls-150.csv", "--kernel gaussian --lambda 0.05 --exponent 1");
        fit("m1.5", "cls-150.csv", "--kernel gaussian --exponent 1.5 --lambda 1e-3..1:4");
        fit("m3/fixed", "cls-150.csv", "--kernel gaussian --exponent 3 --lambda 1e-2");
        fit("no-offset", "cls-150.csv", "--kernel gaussian --no-offset --lambda 1e-2");
        fit("weights", "cls-150-w.csv", "--kernel gaussian --weight w --lambda 1e-2");
        fit("loo", "cls-150.csv", "--kernel gaussian --criterion loo");
        fit("linear", "cls-150.csv", "--kernel linear");
        fit("three", "three-150.csv", "--kernel matern32 --lambda 1e-3..1:4");
        fit("balanced", "cls-150.csv", "--kernel gaussian --lambda 1e-2 --class-weight balanced");
        fit("error", "cls-150.csv", "--kernel gaussian --measure error --lambda 1e-3..1:4");
        fit("rank", "cls-150.csv", "--kernel gaussian --rank 40 --lambda 1e-2");
        fit("bin", "bin-150.csv", "--kernel gaussian --lambda 1e-2");
    }
    for (name, table, options, predict) in [
        (
            "multinomial",
            "three-150.csv",
            "--loss logistic --kernel gaussian --many-classes multinomial",
            "--probability",
        ),
        (
            "multinomial/fixed",
            "three-150.csv",
            "--loss logistic --kernel gaussian --many-classes multinomial --lambda 1e-2",
            "",
        ),
        (
            "multinomial/linear",
            "three-150.csv",
            "--loss logistic --kernel linear --many-classes multinomial --lambda 1e-2",
            "--probability",
        ),
        (
            "one-vs-rest",
            "three-150.csv",
            "--loss logistic --kernel gaussian --many-classes one-vs-rest --lambda 1e-2",
            "--probability",
        ),
        ("probability", "cls-150.csv", "--method svm --probability --lambda 1e-2", "--probability --decision"),
        ("class-weight", "cls-150.csv", "--loss hinge --kernel gaussian --class-weight yes=3,no=1 --lambda 1e-2", ""),
        ("classify/squared", "bin-150.csv", "--loss squared --classify --kernel gaussian", ""),
        ("classify/huber", "cls-150.csv", "--loss huber --classify --kernel gaussian --lambda 1e-2", ""),
        ("assess", "cls-150.csv", "--loss logistic --kernel gaussian --lambda 1e-3..1:3 --assess kfold:3", ""),
        ("method/svm", "cls-150.csv", "--method svm", ""),
        ("method/logistic", "cls-150.csv", "--method logistic", "--probability"),
        ("groups", "cls-150-g.csv", "--loss logistic --kernel gaussian --group g --lambda 1e-3..1:3", ""),
    ] {
        cases.fit_predict(format!("classes/{name}"), table, options, predict);
    }
}

/// Solvers change with the number of rows: interior points, working sets, races.
fn sizes(cases: &mut Cases) {
    for n in [499, 501, 1100] {
        let reg = format!("reg-{n}.csv");
        let cls = format!("cls-{n}.csv");
        cases
            .fit(
                format!("losses/size/{n}/svr"),
                &reg,
                "--loss epsilon-insensitive(epsilon=0.2) --kernel gaussian --lambda 1e-3",
            )
            .slow();
        cases.fit(format!("losses/size/{n}/svm"), &cls, "--loss hinge --kernel gaussian --lambda 1e-3").slow();
        cases.fit(format!("losses/size/{n}/logistic"), &cls, "--loss logistic --kernel gaussian --lambda 1e-3").slow();
        cases
            .fit(
                format!("losses/size/{n}/quantile"),
                &reg,
                "--loss pinball(quantile=0.3) --kernel matern32 --lambda 1e-3",
            )
            .slow();
    }
    cases
        .fit("losses/size/600/race", "cls-600.csv", "--loss hinge --kernel gaussian(lengthscale=1..4:2)")
        .slow()
        .threads();
    cases.fit("losses/size/3000/svm", "cls-3000.csv", "--loss hinge --kernel gaussian --lambda 1e-3").slow();
    cases
        .fit("losses/size/3000/svm/weights", "cls-3000-w.csv", "--loss hinge --kernel laplace --lambda 1e-3 --weight w")
        .slow();
    cases
        .fit(
            "losses/size/6500/svr",
            "reg-6500.csv",
            "--loss epsilon-insensitive(epsilon=0.5) --kernel gaussian --lambda 1e-2",
        )
        .slow();
    cases.fit("losses/size/20000/linear", "cls-20000.csv", "--loss logistic --kernel linear --lambda 1e-3").slow();
    cases
        .fit("losses/size/16000/landmarks", "cls-16000.csv", "--loss hinge --kernel gaussian --rank 50 --lambda 1e-3")
        .slow();
}
