//! Numbers that are none, tables of other shapes, and tables from which nothing can be learnt.

use mercer::prelude::*;

use crate::battery::Expect::{Finishes, Refused};
use crate::battery::run_all;
use crate::estimators::{ESTIMATORS, cross};
use crate::tables::{Data, smooth};

#[test]
fn numbers_that_are_not() {
    let base = || smooth(12, 2);
    let at = |row: usize, column: usize, value: f64| {
        base().x(move |i, j, x| if (i, j) == (row, column) { value } else { x })
    };
    let inputs = [
        ("NaN in x", Refused(&["row 3", "\"x2\"", "missing"]), at(2, 1, f64::NAN)),
        ("∞ in x", Refused(&["row 5", "\"x1\"", "inf is not a finite number"]), at(4, 0, f64::INFINITY)),
        ("−∞ in x", Refused(&["row 12", "\"x2\"", "-inf is not a finite number"]), at(11, 1, f64::NEG_INFINITY)),
        ("NaN everywhere in x", Refused(&["row 1", "\"x1\"", "missing"]), base().x(|_, _, _| f64::NAN)),
        ("NaN in y", Refused(&["row 4", "\"y\"", "missing"]), base().y(|i, y| if i == 3 { f64::NAN } else { y })),
        (
            "∞ in y",
            Refused(&["row 2", "\"y\"", "not a finite number"]),
            base().y(|i, y| if i == 1 { f64::INFINITY } else { y }),
        ),
        (
            "−∞ in y",
            Refused(&["row 1", "\"y\"", "not a finite number"]),
            base().y(|i, y| if i == 0 { f64::NEG_INFINITY } else { y }),
        ),
        (
            "NaN in the weights",
            Refused(&["row 7", "\"weight\"", "missing"]),
            base().weights(|i| if i == 6 { f64::NAN } else { 1.0 }),
        ),
        (
            "∞ in the weights",
            Refused(&["row 7", "\"weight\"", "finite"]),
            base().weights(|i| if i == 6 { f64::INFINITY } else { 1.0 }),
        ),
        (
            "−∞ in the weights",
            Refused(&["row 1", "\"weight\"", "finite"]),
            base().weights(|i| if i == 0 { f64::NEG_INFINITY } else { 1.0 }),
        ),
    ];
    run_all(cross(&inputs)).finish(10 * ESTIMATORS);
}

#[test]
fn shapes() {
    let base = || smooth(12, 2);
    let shaped = |n: usize, p: usize, rows: usize, targets: usize| Data {
        x: Matrix::from_fn(n, p, |i, j| i as f64 + 0.1 * j as f64),
        y: Matrix::from_fn(rows, targets, |i, t| (i * (t + 1)) as f64),
        weights: None,
    };
    let mut short_weights = base();
    short_weights.weights = Some(vec![1.0; 11]);
    let mut long_weights = base();
    long_weights.weights = Some(vec![1.0; 13]);
    let inputs = [
        ("no rows", Refused(&["no rows"]), shaped(0, 2, 0, 1)),
        ("no rows, no columns", Refused(&["at least one feature"]), shaped(0, 0, 0, 1)),
        ("no columns", Refused(&["at least one feature column"]), shaped(5, 0, 5, 1)),
        ("no target", Refused(&["must be a target"]), shaped(5, 2, 5, 0)),
        ("y too short", Refused(&["y must have", "(6)", "got 5"]), shaped(6, 2, 5, 1)),
        ("y too long", Refused(&["y must have", "(6)", "got 7"]), shaped(6, 2, 7, 1)),
        ("y empty", Refused(&["y must have", "got 0"]), shaped(6, 2, 0, 1)),
        ("too few weights", Refused(&["weights must have", "(12)", "got 11"]), short_weights),
        ("too many weights", Refused(&["weights must have", "(12)", "got 13"]), long_weights),
        ("one row", Finishes, smooth(1, 2)),
        ("two rows", Finishes, smooth(2, 2)),
        ("three rows", Finishes, smooth(3, 1)),
        ("one row, weighted", Finishes, smooth(1, 2).weights(|_| 3.0)),
        ("two rows, weighted", Finishes, smooth(2, 2).weights(|i| 0.5 + i as f64)),
        ("one row with weight, one without", Finishes, smooth(2, 2).weights(|i| i as f64)),
        ("many more columns than rows", Finishes, smooth(6, 500)),
        ("two targets", Finishes, shaped(8, 2, 8, 2)),
        (
            "two targets, one of them constant",
            Finishes,
            Data { y: Matrix::from_fn(12, 2, |i, t| (i * t) as f64 + 1.0), ..smooth(12, 2) },
        ),
        (
            "targets of 1e-150 and 1e150",
            Finishes,
            Data { y: Matrix::from_fn(12, 2, |i, t| (i as f64).sin() * [1e-150, 1e150][t]), ..smooth(12, 2) },
        ),
    ];
    run_all(cross(&inputs)).finish(19 * ESTIMATORS);
}

#[test]
fn tables_with_nothing_to_learn() {
    let base = || smooth(12, 2);
    let inputs = [
        ("a constant column", Finishes, base().x(|_, j, x| if j == 1 { 7.5 } else { x })),
        ("a column of 0", Finishes, base().x(|_, j, x| if j == 1 { 0.0 } else { x })),
        ("all rows equal", Finishes, base().x(|_, j, _| 0.25 + j as f64)),
        ("all x 0", Finishes, base().x(|_, _, _| 0.0)),
        ("all x −0", Finishes, base().x(|_, _, _| -0.0)),
        ("all rows equal, weighted", Finishes, base().x(|_, _, _| 2.0).weights(|i| 1.0 + i as f64)),
        ("constant y", Finishes, base().y(|_, _| 3.25)),
        ("constant y that is no binary fraction", Finishes, base().y(|_, _| 0.1)),
        ("y of 0", Finishes, base().y(|_, _| 0.0)),
        ("y of −0", Finishes, base().y(|_, _| -0.0)),
        ("constant y of 1e150", Finishes, base().y(|_, _| 1e150)),
        ("constant y of 1e-300", Finishes, base().y(|_, _| 1e-300)),
        ("all rows equal and constant y", Finishes, base().x(|_, _, _| 1.0).y(|_, _| 3.0)),
        ("every row twice, with other y", Finishes, {
            let half = smooth(6, 2);
            base().x(move |i, j, _| half.x.get(i % 6, j)).y(|i, _| if i < 6 { i as f64 } else { -(i as f64) })
        }),
        ("rows closer than rounding", Finishes, base().x(|i, _, _| 1.0 + i as f64 * f64::EPSILON)),
        ("rows 1e-12 apart", Finishes, base().x(|i, j, _| 1.0 + (i * (j + 1)) as f64 * 1e-12)),
        ("two columns that are the same", Finishes, base().x(|i, _, _| (i as f64 * 0.7).sin() + 1.0)),
        ("x is y", Finishes, smooth(12, 1).x(|i, _, _| i as f64).y(|i, _| i as f64)),
        ("one row unlike all others", Finishes, base().x(|i, _, _| f64::from(i == 11)).y(|i, _| f64::from(i == 11))),
    ];
    run_all(cross(&inputs)).finish(19 * ESTIMATORS);
}
