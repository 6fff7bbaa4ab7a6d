//! The front door of the linear family: references made without this library, the model file, and refusals.

mod reference;

use mercer::criterion::Criterion;
use mercer::kernel;
use mercer::linear::Gamma;
use mercer::penalty::Penalty;
use mercer::prelude::*;

use reference::{load, matrix, numbers};

fn penalty(method: &str) -> Penalty {
    match method {
        "lasso" => Penalty::Lasso,
        "ridge" => Penalty::Tikhonov { gamma: Gamma::Identity },
        "tikhonov" => Penalty::Tikhonov { gamma: Gamma::FirstDifferences },
        "least-squares, minimum norm" => Penalty::None,
        other => panic!("{other}"),
    }
}

#[test]
fn linear_references() {
    for name in ["linear-tall", "linear-wide"] {
        let file = load(name);
        let (x, y) = (matrix(&file["X"]), numbers(&file["y"]));
        for case in file["cases"].as_array().expect("cases") {
            let method = case["method"].as_str().expect("method");
            let mut fit = LinearFit::new(penalty(method)).tolerance(1e-11);
            if let (Some(lambda), true) = (case["lambda"].as_f64(), penalty(method) != Penalty::None) {
                fit = fit.lambda(lambda);
            }
            let fitted = fit.fit(&x, &y).unwrap();
            let summary = fitted.summary();
            if let Some(want) = case["objective"].as_f64() {
                assert!(
                    (summary.objective - want).abs() <= 1e-8 * want,
                    "{name} {method}: {} not {want}",
                    summary.objective
                );
            }
            assert!(summary.certificate.holds, "{name} {method}: {:?}", summary.certificate);
            let largest = numbers(&case["coefficients"]).iter().fold(1.0, |max: f64, w| max.max(w.abs()));
            for (got, want) in fitted.model.coefficients(0).iter().zip(numbers(&case["coefficients"])) {
                let allowed = if method == "lasso" { 1e-4 } else { 1e-9 };
                assert!((got - want).abs() <= allowed * largest, "{name} {method}: {got} not {want}");
            }
            let again = mercer::format::from_bytes(&mercer::format::to_bytes(&fitted.model).unwrap()).unwrap();
            assert_eq!(again.predict(&x).unwrap(), fitted.model.predict(&x).unwrap());
        }
    }
}

#[test]
fn kernel_lasso_references() {
    let file = load("kernel-lasso");
    let (x, y) = (matrix(&file["X"]), numbers(&file["y"]));
    let kernel = kernel::parse(&format!("gaussian(lengthscale={})", file["kernel"]["lengthscale"])).unwrap();
    for case in file["cases"].as_array().expect("cases") {
        let lambda = case["lambda"].as_f64().expect("lambda");
        let fit = LinearFit::new(Penalty::KernelLasso).kernel(kernel.clone()).lambda(lambda).without_offset();
        let fitted = fit.tolerance(1e-10).fit(&x, &y).unwrap();
        let want = case["objective"].as_f64().expect("objective");
        assert!((fitted.summary().objective - want).abs() <= 1e-7 * want);
        assert_eq!(fitted.model.points(), fitted.summary().support.unwrap());
        let predicted = fitted.model.predict(&x).unwrap();
        for (got, want) in predicted.as_slice().iter().zip(numbers(&case["fitted"])) {
            assert!((got - want).abs() < 1e-4, "{got} not {want}");
        }
    }
}

fn problem(n: usize) -> (Matrix, Vec<f64>) {
    let x = Matrix::from_fn(n, 5, |i, j| (((i + 3) * (11 + 6 * j)) % 37) as f64 / 10.0);
    let noise = |i: usize| ((i * 31 % 23) as f64 - 11.0) / 20.0;
    let y = (0..n).map(|i| 1.5 * x.get(i, 0) - 0.7 * x.get(i, 3) + 4.0 + noise(i)).collect();
    (x, y)
}

#[test]
fn lambda_is_chosen_by_folds_aic_and_bic() {
    let (x, y) = problem(80);
    for spec in ["lasso", "elastic-net(ratio=0.4)", "tikhonov(gamma=first-differences)"] {
        for criterion in ["kfold:5", "aic", "bic"] {
            let fit = LinearFit::new(Penalty::parse(spec).unwrap())
                .criterion(Criterion::parse(criterion).unwrap())
                .fit(&x, &y);
            if spec.starts_with("tikhonov") && criterion != "kfold:5" {
                assert!(fit.unwrap_err().to_string().contains("kfold"));
                continue;
            }
            let fitted = fit.unwrap();
            let trial = &fitted.tried[0];
            assert!(trial.lambdas.windows(2).all(|pair| pair[0] < pair[1]));
            assert_eq!(trial.lambdas[trial.chosen], fitted.summary().lambda);
            assert!(fitted.summary().certificate.holds && fitted.summary().train_rmse < 0.5, "{spec} {criterion}");
        }
    }
    let wide = LinearFit::new(Penalty::Lasso).one_standard_error().fit(&x, &y).unwrap();
    let best = LinearFit::new(Penalty::Lasso).fit(&x, &y).unwrap();
    assert!(wide.summary().lambda >= best.summary().lambda);
}

#[test]
fn monomials_are_features_that_a_model_file_remembers() {
    let x = Matrix::from_fn(30, 2, |i, j| ((i * i * (3 + 4 * j) + i) % 29) as f64 / 14.0 - 1.0);
    let y: Vec<f64> = (0..30).map(|i| 1.0 + 2.0 * x.get(i, 0) * x.get(i, 1) - x.get(i, 1).powi(3)).collect();
    let fitted = LinearFit::new(Penalty::None).degree(3).fit(&x, &y).unwrap();
    assert_eq!(fitted.names.len(), 9);
    assert!(fitted.summary().train_rmse < 1e-12, "{}", fitted.summary().train_rmse);
    let place = fitted.names.iter().position(|name| name == "x1*x2").unwrap();
    assert!((fitted.model.coefficients(0)[place] - 2.0).abs() < 1e-12);
    let bytes = mercer::format::to_bytes(&fitted.model).unwrap();
    let again = mercer::format::from_bytes(&bytes).unwrap();
    assert_eq!(again.predict(&x).unwrap(), fitted.model.predict(&x).unwrap());
}

#[test]
fn what_cannot_be_done_is_refused() {
    let (x, y) = problem(20);
    let error = |fit: LinearFit| fit.fit(&x, &y).unwrap_err().to_string();
    let wrong = Gamma::Matrix(Matrix::zeros(2, 3));
    let message = error(LinearFit::new(Penalty::Tikhonov { gamma: wrong }).lambda(1.0));
    assert!(message.contains('5') && message.contains('3'), "{message}");
    assert!(error(LinearFit::new(Penalty::KernelLasso).lambda(1.0)).contains("kernel"));
    assert!(error(LinearFit::new(Penalty::Lasso).lambda(-1.0)).contains("above 0"));
    assert!(error(LinearFit::new(Penalty::None).lambda(1.0)).contains("without a penalty"));
    assert!(error(LinearFit::new(Penalty::NormPower)).contains("Fit"));
    assert!(error(LinearFit::new(Penalty::Lasso).degree(99)).contains("degree"));
}
