//! Features, targets and weights of every size that f64 knows.

use mercer::prelude::*;

use crate::battery::Expect::{Finishes, FinishesOr, Refused};
use crate::battery::{TOO_LARGE, WEIGHTS, run_all};
use crate::estimators::{ESTIMATORS, KERNELS, cross, fit_of, job};
use crate::tables::smooth;

#[test]
fn features_of_every_size() {
    let base = || smooth(12, 2);
    let scaled = |size: f64| base().x(move |_, _, x| x * size);
    let inputs = [
        ("features of 1e-320", FinishesOr(TOO_LARGE), scaled(1e-320)),
        ("features of 1e-300", FinishesOr(TOO_LARGE), scaled(1e-300)),
        ("features of 1e-160", FinishesOr(TOO_LARGE), scaled(1e-160)),
        ("features of 1e-100", FinishesOr(TOO_LARGE), scaled(1e-100)),
        ("features of 1e-25", Finishes, scaled(1e-25)),
        ("features of 1e6", Finishes, scaled(1e6)),
        ("features of 1e25", FinishesOr(TOO_LARGE), scaled(1e25)),
        ("features of 1e100", FinishesOr(TOO_LARGE), scaled(1e100)),
        ("features of 1e160", FinishesOr(TOO_LARGE), scaled(1e160)),
        ("features of 1e300", FinishesOr(TOO_LARGE), scaled(1e300)),
        ("columns of 1e-320 and 1e300", FinishesOr(TOO_LARGE), base().x(|_, j, x| x * [1e-320, 1e300][j])),
        ("columns of 1e-15 and 1e15", FinishesOr(TOO_LARGE), base().x(|_, j, x| x * [1e-15, 1e15][j])),
        ("features shifted by 1e15", FinishesOr(TOO_LARGE), base().x(|_, _, x| x * 100.0 + 1e15)),
        ("features shifted by −1e15", FinishesOr(TOO_LARGE), base().x(|_, _, x| x * 100.0 - 1e15)),
        ("one outlier of 1e200", FinishesOr(TOO_LARGE), base().x(|i, j, x| if (i, j) == (5, 0) { 1e200 } else { x })),
        ("one outlier of −1e200", FinishesOr(TOO_LARGE), base().x(|i, j, x| if (i, j) == (5, 0) { -1e200 } else { x })),
        ("one outlier of 1e25", FinishesOr(TOO_LARGE), base().x(|i, j, x| if (i, j) == (5, 0) { 1e25 } else { x })),
        ("f64::MAX", FinishesOr(TOO_LARGE), base().x(|i, j, x| if (i, j) == (0, 1) { f64::MAX } else { x })),
        (
            "f64::MAX and f64::MIN",
            FinishesOr(TOO_LARGE),
            base().x(|i, j, x| if j == 0 { [f64::MAX, f64::MIN][i % 2] } else { x }),
        ),
        ("f64::MAX everywhere", FinishesOr(TOO_LARGE), base().x(|_, _, _| f64::MAX)),
        ("0 and −0", Finishes, base().x(|i, j, x| if j == 1 { [0.0, -0.0][i % 2] } else { x })),
        ("subnormal features", FinishesOr(TOO_LARGE), base().x(|i, j, _| 5e-324 * (i + j) as f64)),
        ("one subnormal column", FinishesOr(TOO_LARGE), base().x(|i, j, x| if j == 1 { 5e-324 * i as f64 } else { x })),
        (
            "huge integers",
            FinishesOr(TOO_LARGE),
            base().x(|i, j, _| 9_007_199_254_740_993.0 + (2 * i * (j + 1)) as f64),
        ),
    ];
    let jobs = cross(&inputs);
    run_all(jobs).finish(24 * ESTIMATORS);
    // Scaling takes nearly all of these away: only what f64 itself cannot hold is left.
    let mut jobs = Vec::new();
    for (name, _, data) in &inputs {
        for spec in KERNELS {
            for scale in [Scale::Standard, Scale::Unit] {
                let nonnegative = spec == "additive-spline" && scale == Scale::Standard;
                let fit = fit_of(spec).scale(scale).lambda(0.01).exponent(1.5);
                let expect = if nonnegative {
                    Refused(&["row ", "column", "negative after scaling"])
                } else {
                    FinishesOr(&["which f64 cannot scale; divide it by a constant"])
                };
                // A column that does not vary is 0 after either scaling, so nothing is negative.
                let flat = (0..2).all(|j| data.x.col(j).iter().all(|v| *v == data.x.get(0, j)));
                let expect = match expect {
                    Refused(_) if flat => Finishes,
                    Refused(_) => FinishesOr(&["negative after scaling", "which f64 cannot scale"]),
                    other => other,
                };
                jobs.push((format!("{name} | {spec}, {scale:?}"), expect, job(fit, data)));
            }
        }
    }
    let tally = run_all(jobs);
    tally.finish(24 * 7 * 2);
    assert!(tally.finished > 24 * 7, "scaling helped only {} times", tally.finished);
}

#[test]
fn targets_of_every_size() {
    let base = || smooth(12, 2);
    let scaled = |size: f64| base().y(move |_, y| y * size);
    let inputs = [
        ("y of 5e-324", FinishesOr(&["\"y\""]), base().y(|i, _| 5e-324 * i as f64)),
        ("y of 1e-310", FinishesOr(&["\"y\""]), scaled(1e-310)),
        ("y of 1e-300", Finishes, scaled(1e-300)),
        ("y of 1e-150", Finishes, scaled(1e-150)),
        ("y of 1e-20", Finishes, scaled(1e-20)),
        ("y of 1e20", Finishes, scaled(1e20)),
        ("y of 1e100", Finishes, scaled(1e100)),
        ("y up to 1e150", Finishes, base().y(|i, _| [1e150, -1e150, 3e149][i % 3])),
        ("y of 1.1e150", Refused(&["row 1", "\"y\"", "too large for a target"]), base().y(|_, _| 1.1e150)),
        ("y of 1e200", Refused(&["\"y\"", "row ", "too large for a target"]), scaled(1e200)),
        (
            "one y of 1e200",
            Refused(&["row 9", "\"y\"", "too large for a target"]),
            base().y(|i, y| if i == 8 { 1e200 } else { y }),
        ),
        (
            "one y of f64::MAX",
            Refused(&["row 9", "\"y\"", "too large for a target"]),
            base().y(|i, y| if i == 8 { f64::MAX } else { y }),
        ),
        ("one y of 1e100", Finishes, base().y(|i, y| if i == 8 { 1e100 } else { y })),
        ("one y of 1e100, others 1e-100", Finishes, base().y(|i, y| if i == 8 { 1e100 } else { y * 1e-100 })),
        ("y shifted by 1e15", Finishes, base().y(|_, y| y * 10.0 + 1e15)),
        ("y shifted by 1e150", Finishes, base().y(|i, _| -1e150 + i as f64 * 1e140)),
        ("y of ±0", Finishes, base().y(|i, _| [0.0, -0.0][i % 2])),
        ("y is one spike", Finishes, base().y(|i, _| f64::from(i == 3))),
        ("y alternates", Finishes, base().y(|i, _| [1.0, -1.0][i % 2])),
    ];
    run_all(cross(&inputs)).finish(19 * ESTIMATORS);
}

#[test]
fn weights_of_every_size() {
    let base = || smooth(12, 2);
    let inputs = [
        (
            "one negative weight",
            Refused(&["row 4", "\"weight\"", "-1", "at least 0"]),
            base().weights(|i| if i == 3 { -1.0 } else { 1.0 }),
        ),
        (
            "a weight of −1e-300",
            Refused(&["row 4", "\"weight\"", "at least 0"]),
            base().weights(|i| if i == 3 { -1e-300 } else { 1.0 }),
        ),
        ("all weights 0", Refused(&["\"weight\"", "every row", "weight 0"]), base().weights(|_| 0.0)),
        ("all weights −0", Refused(&["\"weight\"", "every row", "weight 0"]), base().weights(|_| -0.0)),
        ("a weight of 1e200", Refused(&["row 4", "\"weight\""]), base().weights(|i| if i == 3 { 1e200 } else { 1.0 })),
        (
            "a weight of f64::MAX",
            Refused(&["row 4", "\"weight\""]),
            base().weights(|i| if i == 3 { f64::MAX } else { 1.0 }),
        ),
        ("half of the weights 0", Finishes, base().weights(|i| (i % 2) as f64)),
        ("one weight that is not 0", Finishes, base().weights(|i| f64::from(i == 5))),
        (
            "two weights that are not 0",
            Finishes,
            base().weights(|i| [0.0, 0.5, 2.0][(i == 5) as usize + 2 * (i == 7) as usize]),
        ),
        ("all weights 1e-300", Finishes, base().weights(|_| 1e-300)),
        ("all weights 1e150", Finishes, base().weights(|_| 1e150)),
        ("weights near 1e-300", FinishesOr(WEIGHTS), base().weights(|i| 1e-300 * (1 + i) as f64)),
        ("weights near 1e149", FinishesOr(WEIGHTS), base().weights(|i| 1e148 * (1 + i) as f64)),
        ("one weight of 1e-300", FinishesOr(WEIGHTS), base().weights(|i| if i == 3 { 1e-300 } else { 1.0 })),
        ("one weight of 5e-324", FinishesOr(WEIGHTS), base().weights(|i| if i == 3 { 5e-324 } else { 1.0 })),
        ("one weight of 1e150", FinishesOr(WEIGHTS), base().weights(|i| if i == 3 { 1e150 } else { 1.0 })),
        ("weights from 1e-300 to 1e150", FinishesOr(WEIGHTS), base().weights(|i| 10_f64.powi(-300 + 40 * i as i32))),
        ("weights from 1e-12 to 1e10", Finishes, base().weights(|i| 10_f64.powi(-12 + 2 * i as i32))),
        (
            "y of 1e150 with weights of 1e-100",
            Finishes,
            base().y(|_, y| y * 1e149).weights(|i| 1e-100 * (1 + i) as f64),
        ),
    ];
    run_all(cross(&inputs)).finish(19 * ESTIMATORS);
}
