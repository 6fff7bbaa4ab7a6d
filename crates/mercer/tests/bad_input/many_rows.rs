//! Many rows: Cholesky instead of eigenvectors.

use crate::battery::Expect::{self, Finishes, FinishesOr, Refused};
use crate::battery::{TOO_LARGE, run_all};
use crate::estimators::{fit_of, job, with_options};
use crate::tables::{Data, smooth};

#[test]
fn the_same_with_many_rows() {
    let base = || smooth(640, 2);
    let inputs: Vec<(&str, Expect, f64, Data)> = vec![
        ("as it should be", Finishes, 0.01, base()),
        (
            "NaN in x",
            Refused(&["row 600", "\"x1\"", "missing"]),
            0.01,
            base().x(|i, j, x| if (i, j) == (599, 0) { f64::NAN } else { x }),
        ),
        ("all rows equal", Finishes, 0.01, base().x(|_, _, _| 0.5)),
        ("constant y", Finishes, 0.01, base().y(|_, _| 0.1)),
        ("y of 0", Finishes, 0.01, base().y(|_, _| 0.0)),
        ("y of 1e150", Finishes, 0.01, base().y(|_, y| y * 3e149)),
        ("y of 1e-300", Finishes, 0.01, base().y(|_, y| y * 1e-300)),
        ("y shifted by 1e15", Finishes, 0.01, base().y(|_, y| y * 10.0 + 1e15)),
        ("features of 1e-300", FinishesOr(TOO_LARGE), 0.01, base().x(|_, _, x| x * 1e-300)),
        ("features of 1e300", FinishesOr(TOO_LARGE), 0.01, base().x(|_, _, x| x * 1e300)),
        (
            "one outlier of 1e200",
            FinishesOr(TOO_LARGE),
            0.01,
            base().x(|i, j, x| if (i, j) == (5, 0) { 1e200 } else { x }),
        ),
        ("λ 1e-290", FinishesOr(&["a larger λ is needed"]), 1e-290, base()),
        ("λ 1e-100", FinishesOr(&["a larger λ is needed"]), 1e-100, base()),
        ("λ 1e-17", FinishesOr(&["a larger λ is needed"]), 1e-17, base()),
        ("λ 1e100", Finishes, 1e100, base()),
        ("λ 1e290", Finishes, 1e290, base()),
        ("λ 1e290, y of 1e150", Finishes, 1e290, base().y(|_, y| y * 3e149)),
        ("λ 1e-290, all rows equal", FinishesOr(&["a larger λ is needed"]), 1e-290, base().x(|_, _, _| 0.5)),
    ];
    let mut jobs = Vec::new();
    for (name, expect, lambda, data) in &inputs {
        for (spec, offset) in [
            ("gaussian(lengthscale=0.8)", true),
            ("gaussian(lengthscale=0.8)", false),
            ("polynomial", true),
            ("additive-spline", false),
            ("linear", true),
        ] {
            let fit = with_options(fit_of(spec), Some(*lambda), offset);
            jobs.push((format!("{name} | {spec}, offset {offset}"), *expect, job(fit, data)));
        }
    }
    assert_eq!(inputs.len(), 18);
    run_all(jobs).finish(18 * 5);
}
