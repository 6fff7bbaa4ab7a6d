//! Every loss with the inputs that every fit by the squared loss meets.

use mercer::criterion::Criterion;
use mercer::loss::{self, Reads};
use mercer::prelude::*;

use crate::battery::Expect::{self, Finishes, FinishesOr, Refused};
use crate::battery::{Job, OUT_OF_RANGE, TOO_LARGE, WEIGHTS, run_all};
use crate::judging::judge_learned;
use crate::tables::{Data, frame, new_rows, smooth};

/// Losses with two derivatives everywhere: Newton's method.
const SMOOTH: &[&str] = &["squared", "logistic"];
/// Losses that are quadratic where they are curved: the dual with a diagonal.
const CURVED: &[&str] = &["huber(threshold=0.3)", "squared-epsilon-insensitive(epsilon=0.1)", "squared-hinge"];
/// Losses that are linear in pieces: the dual in a box.
const STRAIGHT: &[&str] =
    &["absolute", "epsilon-insensitive(epsilon=0.1)", "pinball(quantile=0.9)", "pinball(quantile=[0.2,0.8])", "hinge"];
const KERNELS: [&str; 2] = ["gaussian(lengthscale=0.8)", "linear"];
const PER_LOSS: usize = 2 * (3 * 2 + 2);

/// The squared loss is one for classes here: numbers with it are what every other file is about.
fn learn(spec: &str, kernel: &str) -> Fit {
    let fit = Fit::with_shared(mercer::kernel::parse(kernel).unwrap()).loss(loss::parse(spec).unwrap());
    if spec == "squared" { fit.classify() } else { fit }
}

/// Both kernels with exponents, with and without offset, λ given, by folds and by approximate leave-one-out.
fn estimators(spec: &str) -> Vec<(String, Fit)> {
    let mut all = Vec::new();
    for kernel in KERNELS {
        for exponent in [1.0, 1.5, 2.0] {
            for offset in [true, false] {
                let learn = learn(spec, kernel).exponent(exponent).lambda(0.01);
                let learn = if offset { learn } else { learn.without_offset() };
                all.push((format!("{spec}, {kernel}, exponent {exponent}, offset {offset}"), learn));
            }
        }
        let folds = learn(spec, kernel).lambdas(&[1e-4, 1e-2, 1.0]).on_grid();
        all.push((format!("{spec}, {kernel}, by folds"), folds.clone()));
        all.push((format!("{spec}, {kernel}, left out"), folds.criterion(Criterion::LeaveOneOut)));
    }
    all
}

fn is_of_classes(spec: &str) -> bool {
    spec == "squared" || loss::parse(spec).unwrap()[0].reads() == Reads::Label
}

/// Labels ±1 in the place of finite targets.
fn labelled(data: &Data) -> Data {
    data.clone().y(|_, y| {
        if !y.is_finite() {
            y
        } else if y > 1.0 {
            1.0
        } else {
            -1.0
        }
    })
}

fn job(learn: Fit, data: &Data) -> Job {
    let data = data.clone();
    Box::new(move || {
        let result = learn.fit_weighted(&data.x, &data.y, data.weights.as_deref());
        judge_learned(result, &frame(&data.x), &new_rows(&data.x))
    })
}

/// Each input with each estimator; what is asked of numbers and of classes may differ.
fn cross(losses: &[&str], inputs: &[(&'static str, Expect, Expect, Data)]) -> Vec<(String, Expect, Job)> {
    let mut jobs = Vec::new();
    for spec in losses {
        let of_classes = is_of_classes(spec);
        for (estimator, learn) in estimators(spec) {
            for (name, numbers, classes, data) in inputs {
                let (expect, data) = if of_classes { (*classes, labelled(data)) } else { (*numbers, data.clone()) };
                jobs.push((format!("{name} | {estimator}"), expect, job(learn.clone(), &data)));
            }
        }
    }
    jobs
}

const ONE_CLASS: Expect = Refused(&["\"y\"", "at least two classes"]);
const SIZES: Expect = FinishesOr(TOO_LARGE);

fn degenerate(losses: &[&str]) {
    let base = || smooth(12, 2);
    let at = |row: usize, column: usize, value: f64| {
        base().x(move |i, j, x| if (i, j) == (row, column) { value } else { x })
    };
    let both = |name, expect: Expect, data| (name, expect, expect, data);
    let few = FinishesOr(&["folds", "at least two classes", "rows"]);
    let shaped = |n: usize| Data { x: Matrix::zeros(n, 2), y: Matrix::zeros(n, 1), weights: None };
    let inputs = [
        both("NaN in x", Refused(&["row 3", "\"x2\"", "missing"]), at(2, 1, f64::NAN)),
        both("∞ in x", Refused(&["row 5", "\"x1\"", "inf is not a finite number"]), at(4, 0, f64::INFINITY)),
        both("−∞ in x", Refused(&["row 12", "\"x2\"", "-inf is not a finite number"]), at(11, 1, f64::NEG_INFINITY)),
        both("NaN in y", Refused(&["row 4", "\"y\"", "missing"]), base().y(|i, y| if i == 3 { f64::NAN } else { y })),
        (
            "∞ in y",
            Refused(&["row 2", "\"y\"", "not a finite number"]),
            Refused(&["row 2", "\"y\"", "not the name of a class"]),
            base().y(|i, y| if i == 1 { f64::INFINITY } else { y }),
        ),
        both(
            "NaN in the weights",
            Refused(&["row 7", "\"weight\"", "missing"]),
            base().weights(|i| if i == 6 { f64::NAN } else { 1.0 }),
        ),
        both(
            "∞ in the weights",
            Refused(&["row 7", "\"weight\"", "finite"]),
            base().weights(|i| if i == 6 { f64::INFINITY } else { 1.0 }),
        ),
        both("no rows", Refused(&["no rows"]), shaped(0)),
        ("one row", few, ONE_CLASS, smooth(1, 2)),
        both("two rows", few, smooth(2, 2)),
        both("three rows", few, smooth(3, 2)),
        both("many more columns than rows", Finishes, smooth(8, 300).y(|i, y| y + 2.0 * (i % 2) as f64 - 2.0)),
        both("a constant column", Finishes, base().x(|_, j, x| if j == 1 { 7.5 } else { x })),
        both("all rows equal", Finishes, base().x(|_, j, _| 0.25 + j as f64)),
        both("all x 0", Finishes, base().x(|_, _, _| 0.0)),
        ("constant y", Finishes, ONE_CLASS, base().y(|_, _| 3.25)),
        ("y of 0", Finishes, ONE_CLASS, base().y(|_, _| 0.0)),
        both("every row twice, with other y", Finishes, {
            let half = smooth(6, 2);
            base().x(move |i, j, _| half.x.get(i % 6, j)).y(|i, _| if i < 6 { 2.0 } else { -1.0 })
        }),
        both("rows closer than rounding", Finishes, base().x(|i, _, _| 1.0 + i as f64 * f64::EPSILON)),
        both("one row unlike all others", Finishes, base().y(|i, _| if i == 11 { 2.0 } else { 0.0 })),
    ];
    run_all(cross(losses, &inputs)).finish(20 * PER_LOSS * losses.len());
}

fn sizes(losses: &[&str]) {
    let base = || smooth(12, 2);
    let scaled = |size: f64| base().x(move |_, _, x| x * size);
    let both = |name, expect: Expect, data| (name, expect, expect, data);
    let inputs = [
        both("features of 1e-320", SIZES, scaled(1e-320)),
        both("features of 1e-100", SIZES, scaled(1e-100)),
        both("features of 1e6", SIZES, scaled(1e6)),
        both("features of 1e25", SIZES, scaled(1e25)),
        both("features of 1e160", SIZES, scaled(1e160)),
        both("features of 1e300", SIZES, scaled(1e300)),
        both("features shifted by 1e15", SIZES, base().x(|_, _, x| x * 100.0 + 1e15)),
        both("one outlier of 1e200", SIZES, base().x(|i, j, x| if (i, j) == (5, 0) { 1e200 } else { x })),
        both("f64::MAX", SIZES, base().x(|i, j, x| if (i, j) == (0, 1) { f64::MAX } else { x })),
        both("huge integers", SIZES, base().x(|i, j, _| 9_007_199_254_740_993.0 + (2 * i * (j + 1)) as f64)),
        ("y of 1e-300", Finishes, ONE_CLASS, base().y(|_, y| y * 1e-300)),
        ("y of 1e-150", Finishes, ONE_CLASS, base().y(|_, y| y * 1e-150)),
        both("y of 1e149", Finishes, base().y(|_, y| (y - 1.0) * 1e149)),
        both("y shifted by 1e12", FinishesOr(&["at least two classes"]), base().y(|_, y| y + 1e12)),
        both("one y of 1e100", FinishesOr(&["at least two classes"]), base().y(|i, y| if i == 3 { 1e100 } else { y })),
        both("weights from 1e-20 to 1", FinishesOr(WEIGHTS), base().weights(|i| if i % 2 == 0 { 1e-20 } else { 1.0 })),
        both("weights of 1e-200", FinishesOr(WEIGHTS), base().weights(|_| 1e-200)),
        both("a weight of 1e12", FinishesOr(WEIGHTS), base().weights(|i| if i == 4 { 1e12 } else { 1.0 })),
    ];
    run_all(cross(losses, &inputs)).finish(18 * PER_LOSS * losses.len());
}

fn settings(losses: &[&str]) {
    let data = smooth(12, 2);
    let mut jobs = Vec::new();
    for spec in losses {
        let data = if is_of_classes(spec) { labelled(&data) } else { data.clone() };
        for kernel in KERNELS {
            for lambda in [0.0, -1.0, f64::NAN, f64::INFINITY, 1e-291] {
                let expect = Refused(&["lambda must be above 0", "got"]);
                jobs.push((
                    format!("λ {lambda:e} | {spec}, {kernel}"),
                    expect,
                    job(learn(spec, kernel).lambda(lambda), &data),
                ));
            }
            for exponent in [0.0, 0.5, 0.999, -1.0, f64::NAN, f64::INFINITY, 1e9] {
                let expect = Refused(&["exponent must be at least 1", "got"]);
                let learn = learn(spec, kernel).exponent(exponent).lambda(0.1);
                jobs.push((format!("exponent {exponent} | {spec}, {kernel}"), expect, job(learn, &data)));
            }
            for tolerance in [0.0, -1.0, 1.0, f64::NAN] {
                let expect = Refused(&["tolerance must be from 1e-13 to 0.1", "got"]);
                let learn = learn(spec, kernel).tolerance(tolerance).lambda(0.1);
                jobs.push((format!("tolerance {tolerance} | {spec}, {kernel}"), expect, job(learn, &data)));
            }
            for lambda in [1e-100, 1e-30, 1e-12, 1e12, 1e30, 1e100] {
                for exponent in [1.0, 1.0000001, 1.5, 2.0, 100.0, 1000.0] {
                    let learn = learn(spec, kernel).exponent(exponent).lambda(lambda);
                    jobs.push((
                        format!("λ {lambda:e}, exponent {exponent} | {spec}, {kernel}"),
                        OUT_OF_RANGE,
                        job(learn, &data),
                    ));
                }
            }
            let learn = learn(spec, kernel).lambda(0.1).memory(100);
            jobs.push((
                format!("no memory | {spec}, {kernel}"),
                Refused(&["12 rows need", "may be used"]),
                job(learn, &data),
            ));
        }
    }
    run_all(jobs).finish(losses.len() * 2 * (5 + 7 + 4 + 36 + 1));
}

mod smooth {
    use super::*;

    #[test]
    fn numbers_that_are_not_and_tables_with_nothing_to_learn() {
        degenerate(SMOOTH);
    }

    #[test]
    fn features_targets_and_weights_of_every_size() {
        sizes(SMOOTH);
    }

    #[test]
    fn settings_that_cannot_be_or_only_just_can() {
        settings(SMOOTH);
    }
}

mod curved {
    use super::*;

    #[test]
    fn numbers_that_are_not_and_tables_with_nothing_to_learn() {
        degenerate(CURVED);
    }

    #[test]
    fn features_targets_and_weights_of_every_size() {
        sizes(CURVED);
    }

    #[test]
    fn settings_that_cannot_be_or_only_just_can() {
        settings(CURVED);
    }
}

mod straight {
    use super::*;

    #[test]
    fn numbers_that_are_not_and_tables_with_nothing_to_learn() {
        degenerate(STRAIGHT);
    }

    #[test]
    fn features_targets_and_weights_of_every_size() {
        sizes(STRAIGHT);
    }

    #[test]
    fn settings_that_cannot_be_or_only_just_can() {
        settings(STRAIGHT);
    }
}
