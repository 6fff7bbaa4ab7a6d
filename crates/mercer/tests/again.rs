//! What follows from a model's own rows: paths and leave-one-out residuals, beside those of the fit itself.

use mercer::criterion::Criterion;
use mercer::prelude::*;

fn rows() -> (Matrix, Matrix, Vec<f64>) {
    let x = Matrix::from_fn(50, 2, |i, j| ((i * (j + 3)) as f64 * 0.7).sin());
    let y = Matrix::from_fn(50, 2, |i, t| x.get(i, t).powi(2) + 0.1 * (11.0 * (i + t) as f64).sin());
    (x, y, (0..50).map(|i| 1.0 + (i % 4) as f64).collect())
}

#[test]
fn paths_and_residuals_are_those_of_the_fit() {
    let (x, y, weights) = rows();
    let criteria = [Criterion::LeaveOneOut, Criterion::parse("kfold:5").unwrap()];
    for (exponent, weights) in [(2.0, None), (1.3, Some(&weights[..])), (0.7, None)] {
        let fit = Fit::new(Gaussian::lengthscale(0.8)).exponent(exponent).scale(Scale::Standard);
        let fitted = fit.keep_spectrum().fit_weighted(&x, &y, weights).unwrap();
        let bytes = mercer::format::to_bytes(&fitted.model).unwrap();
        let model = mercer::format::from_bytes(&bytes).unwrap();
        let training = || model.training().unwrap();
        for target in 0..2 {
            let expected = fitted.path(target, 1.7, None, &criteria, 3).unwrap();
            let found = model.path(training(), target, 1.7, None, &criteria, 3).unwrap();
            assert_eq!(expected.len(), found.len());
            for (a, b) in expected.iter().zip(&found) {
                let pairs = [(a.lambda, b.lambda), (a.norm, b.norm), (a.dof, b.dof), (a.train_rmse, b.train_rmse)];
                for (a, b) in pairs.into_iter().chain(a.criteria.iter().copied().zip(b.criteria.iter().copied())) {
                    assert!((a - b).abs() <= 1e-9 * a.abs().max(1e-9), "{a} {b}");
                }
            }
            let residuals = &fitted.leave_one_out[target].as_ref().unwrap().residuals;
            for (a, b) in residuals.iter().zip(&model.leave_one_out(training()).unwrap()[target]) {
                assert!((a - b).abs() < 1e-10, "{a} {b}");
            }
        }
        for (exponent, lambdas, reason) in [
            (1.5, vec![1e-2, 1e-3], "rising order"),
            (1.5, vec![-1.0], "lambda must be above 0"),
            (1.5, vec![0.0, 1.0], "lambda must be above 0"),
            (f64::NAN, vec![1.0], "exponent must be above 0"),
            (-1.0, vec![1.0], "exponent must be above 0"),
        ] {
            let refused = model.path(training(), 0, exponent, Some(&lambdas), &[], 1).unwrap_err().to_string();
            assert!(refused.contains(reason), "{refused}");
        }
        let beyond = model.path(training(), 2, 2.0, None, &[], 1).unwrap_err().to_string();
        assert!(beyond.contains("below the number of targets, 2; got 2"), "{beyond}");
    }
}

#[test]
fn linear_functions_follow_from_their_table() {
    let (x, y, _) = rows();
    let mut frame = Frame::new(50);
    for (name, cells) in [("a", x.col(0)), ("b", x.col(1)), ("y", y.col(0))] {
        frame.push(name, mercer::data::Column::Number(cells.to_vec())).unwrap();
    }
    let roles = Roles { targets: vec!["y".into()], ..Roles::default() };
    let fitted = Fit::new(Linear).fit_frame(&frame, &roles).unwrap();
    assert!(fitted.model.training().is_none());
    let training = fitted.model.training_from(&frame, None).unwrap();
    let residuals = &fitted.leave_one_out[0].as_ref().unwrap().residuals;
    for (a, b) in residuals.iter().zip(&fitted.model.leave_one_out(training).unwrap()[0]) {
        assert!((a - b).abs() < 1e-10);
    }
}

#[test]
fn other_losses_are_refused() {
    let (x, y, _) = rows();
    let learned = Fit::new(Gaussian::lengthscale(0.8))
        .loss(mercer::loss::parse("absolute").unwrap())
        .lambda(0.01)
        .fit(&x, y.col(0));
    assert!(learned.unwrap().model.training().is_none());
}
