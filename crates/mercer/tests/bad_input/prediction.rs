//! Rows and tables that a good model cannot predict, and strange ones that it can.

use mercer::data::Column;
use mercer::prelude::*;

use crate::battery::Expect::{self, Finishes, FinishesOr, Refused};
use crate::battery::{Job, Outcome, run_all};
use crate::estimators::{ESTIMATORS, KERNELS, estimators, fit_of};
use crate::judging::refusal;
use crate::tables::{named, smooth, strings, texts};

#[test]
fn rows_that_cannot_be_predicted() {
    let data = smooth(12, 2);
    let rows: Vec<(&str, Expect, Matrix)> = vec![
        ("a row", Finishes, Matrix::from_rows(&[[0.5, 0.5]]).unwrap()),
        ("no rows", Finishes, Matrix::zeros(0, 2)),
        ("one column too few", Refused(&["2 columns, as in training", "got 1"]), Matrix::zeros(3, 1)),
        ("one column too many", Refused(&["2 columns, as in training", "got 3"]), Matrix::zeros(3, 3)),
        ("no columns", Refused(&["2 columns, as in training", "got 0"]), Matrix::zeros(3, 0)),
        ("NaN", Refused(&["row 2", "\"x1\"", "missing"]), Matrix::from_rows(&[[0.5, 0.5], [f64::NAN, 0.5]]).unwrap()),
        (
            "∞",
            Refused(&["row 2", "\"x2\"", "inf is not a finite number"]),
            Matrix::from_rows(&[[0.5, 0.5], [0.5, f64::INFINITY]]).unwrap(),
        ),
        (
            "−∞",
            Refused(&["row 1", "\"x1\"", "-inf is not a finite number"]),
            Matrix::from_rows(&[[f64::NEG_INFINITY, 0.5]]).unwrap(),
        ),
        ("f64::MAX", FinishesOr(&["row 1, column"]), Matrix::from_rows(&[[f64::MAX, f64::MAX]]).unwrap()),
        ("f64::MIN", FinishesOr(&["row 1, column"]), Matrix::from_rows(&[[f64::MIN, f64::MIN]]).unwrap()),
        ("f64::MAX and f64::MIN", FinishesOr(&["row 1, column"]), Matrix::from_rows(&[[f64::MAX, f64::MIN]]).unwrap()),
        ("1e200", FinishesOr(&["row 2, column"]), Matrix::from_rows(&[[0.1, 0.2], [1e200, -1e200]]).unwrap()),
        ("1e150", FinishesOr(&["row 1, column"]), Matrix::from_rows(&[[1e150, 0.0]]).unwrap()),
        ("1e50", Finishes, Matrix::from_rows(&[[1e50, -1e50]]).unwrap()),
        ("subnormal", Finishes, Matrix::from_rows(&[[5e-324, -5e-324]]).unwrap()),
        ("−0", Finishes, Matrix::from_rows(&[[-0.0, -0.0]]).unwrap()),
        ("−1", Finishes, Matrix::from_rows(&[[-1.0, -1.0]]).unwrap()),
    ];
    let count = rows.len();
    let mut jobs: Vec<(String, Expect, Job)> = Vec::new();
    for (estimator, fit) in estimators() {
        for scale in [Scale::None, Scale::Unit] {
            let model = fit.clone().scale(scale).fit(&data.x, data.y.col(0)).expect("a good table").model;
            for (name, expect, x) in &rows {
                let (model, x) = (model.clone(), x.clone());
                let run: Job = Box::new(move || match model.predict(&x) {
                    Err(error) => refusal(&error),
                    Ok(values) if values.rows() != x.rows() || values.cols() != 1 => Err("another shape".into()),
                    Ok(values) => match values.as_slice().iter().find(|value| !value.is_finite()) {
                        Some(value) => Err(format!("predicts {value}")),
                        None => Ok(Outcome::Finished),
                    },
                });
                jobs.push((format!("{name} | {estimator}, {scale:?}"), *expect, run));
            }
        }
    }
    assert_eq!(count, 17);
    run_all(jobs).finish(17 * 2 * ESTIMATORS);
}

#[test]
fn tables_that_cannot_be_predicted() {
    let roles = Roles { targets: strings(&["y"]), drop: strings(&["w"]), ..Roles::default() };
    let mut without_b = Frame::new(2);
    without_b.push("a", Column::Number(vec![0.0, 1.0])).unwrap();
    without_b.push("c", texts(&[Some("p"), Some("q")])).unwrap();
    let mut extra = without_b.clone();
    extra.push("b", Column::Number(vec![0.0, 1.0])).unwrap();
    extra.push("unheard of", Column::Text(vec![None, None])).unwrap();
    let mut renamed = without_b.clone();
    renamed.push("B", Column::Number(vec![0.0, 1.0])).unwrap();
    let mut text = without_b.clone();
    text.push("b", texts(&[Some("1.5"), Some("two")])).unwrap();
    let mut gap = without_b.clone();
    gap.push("b", Column::Number(vec![0.0, f64::NAN])).unwrap();
    let mut infinite = without_b.clone();
    infinite.push("b", Column::Number(vec![0.0, f64::INFINITY])).unwrap();
    let mut unknown = Frame::new(2);
    unknown.push("a", Column::Number(vec![0.0, 1.0])).unwrap();
    unknown.push("b", Column::Number(vec![0.0, 1.0])).unwrap();
    unknown.push("c", texts(&[Some("never seen"), Some("")])).unwrap();
    let mut number = Frame::new(2);
    number.push("a", Column::Number(vec![0.0, 1.0])).unwrap();
    number.push("b", Column::Number(vec![0.0, 1.0])).unwrap();
    number.push("c", Column::Number(vec![4.0, 5.0])).unwrap();
    let mut tried = 0;
    for text_as in [TextAs::OneHot, TextAs::Equality] {
        for spec in KERNELS {
            let fit = fit_of(spec).text_as(text_as);
            let model = |missing| fit.clone().missing(missing).fit_frame(&named(), &roles).expect("a model").model;
            let strict = model(Missing::Error);
            let refused = |table: &Frame, parts: &[&str]| {
                let error = strict.predict_frame(table).unwrap_err().to_string();
                assert!(parts.iter().all(|part| error.contains(part)), "{spec}: {error}");
            };
            refused(&without_b, &["no column \"b\"", "it has: a, c"]);
            refused(&renamed, &["no column \"b\"", "did you mean B?"]);
            refused(&text, &["row 2", "\"b\"", "\"two\" is not a number"]);
            refused(&gap, &["row 2", "\"b\"", "missing"]);
            refused(&infinite, &["row 2", "\"b\"", "not a finite number"]);
            for table in [&extra, &unknown, &number] {
                let values = strict.predict_frame(table).unwrap();
                assert!(values[0].iter().all(|value| value.is_some_and(f64::is_finite)), "{spec}");
            }
            let dropped = model(Missing::Drop).predict_frame(&gap).unwrap();
            assert!(dropped[0][0].is_some_and(f64::is_finite) && dropped[0][1].is_none(), "{spec}");
            let filled = model(Missing::Mean).predict_frame(&gap).unwrap();
            assert!(filled[0].iter().all(|value| value.is_some_and(f64::is_finite)), "{spec}");
            let error = strict.predict(&Matrix::zeros(2, 3)).unwrap_err().to_string();
            assert!(error.contains("\"c\"") && error.contains("is text"), "{spec}: {error}");
            tried += 11;
        }
    }
    assert_eq!(tried, 2 * 7 * 11);
}
