//! Requests that are refused, and fits without a certificate. Of these only the exit code counts: messages may be reworded.

use super::Cases;

pub fn add(cases: &mut Cases) {
    for (name, step) in [
        ("unknown-kernel", "fit reg-20.csv --target y --kernel gauss"),
        ("unknown-column", "fit reg-20.csv --target nothing --kernel gaussian"),
        ("no-target", "fit reg-20.csv --kernel gaussian"),
        ("no-file", "fit nothing.csv --target y --kernel gaussian"),
        ("gaps", "fit reg-100-gaps.csv --target y --kernel gaussian"),
        ("exponent-zero", "fit reg-20.csv --target y --kernel gaussian --exponent 0"),
        ("loss-and-exponent", "fit reg-20.csv --target y --kernel gaussian --loss absolute --exponent 0.5"),
        ("penalty-and-loss", "fit reg-20.csv --target y --penalty lasso --loss absolute"),
        ("penalty-and-kernel", "fit reg-20.csv --target y --penalty lasso --kernel gaussian"),
        ("scale-and-automatic", "fit reg-20.csv --target y --scale unit"),
        ("rank-and-exact", "fit reg-20.csv --target y --kernel gaussian --rank 5 --exact"),
        ("hinge-of-numbers", "fit reg-20.csv --target y --kernel gaussian --loss hinge"),
        ("squared-of-text", "fit cls-20.csv --target kind --kernel gaussian"),
        ("too-many-folds", "fit reg-20.csv --target y --kernel gaussian --criterion kfold:50"),
        ("memory", "fit reg-2000.csv --target y --kernel gaussian --exact --exponent 0.5 --lambda 1 --memory 1M"),
        (
            "gradients-below-one",
            "fit reg-20.csv --target y --kernel gaussian --exponent 0.5 --lambda 1 --solver conjugate-gradients",
        ),
        ("no-model", "predict nothing.mercer reg-20.csv"),
        ("tri-without-rows", "fit reg-20.csv --target y --kernel gaussian --criterion tri"),
        ("clip-and-loss", "fit reg-20.csv --target y --kernel gaussian --loss absolute --clip"),
        ("tolerance-and-squared", "fit reg-20.csv --target y --kernel gaussian --lambda 1 --tolerance 1e-9"),
        ("polynomial-and-kernel", "fit reg-20.csv --target y --method ridge --features poly:2"),
        ("tikhonov-and-loo", "fit reg-20.csv --target y --penalty tikhonov --criterion loo"),
        ("metric-and-groups", "fit reg-40-g.csv --target y --kernel gaussian --metric each --group g"),
        ("stream-and-weights", "stream reg-60-w.csv --target y --weight w"),
        ("one-row", "fit reg-1.csv --target y --kernel gaussian"),
        ("unknown-option", "fit reg-20.csv --target y --what"),
    ] {
        cases.run(format!("refused/{name}"), step);
    }
    cases
        .run("refused/export-text", "fit reg-40-t.csv --target y --kernel gaussian --lambda 1e-2 --output m.mercer")
        .then("export m.mercer --output m.onnx");
    cases
        .run("refused/interval-without-rows", "fit reg-40.csv --target y --kernel linear --output m.mercer")
        .then("predict m.mercer reg-23-new.csv --interval 0.9 --output p.csv");
    cases
        .run("refused/predict-without-column", "fit reg-40.csv --target y --kernel gaussian --output m.mercer")
        .then("predict m.mercer wide-20-p2.csv --output p.csv");
}
