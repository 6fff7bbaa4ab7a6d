//! The front door of the linear family: references made without this library, the model file, and refusals.

mod reference;

use mercer::criterion::Criterion;
use mercer::kernel;
use mercer::penalty::Gamma;
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
            let mut fit = Fit::linear().penalty(penalty(method)).tolerance(1e-11);
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
        let fit = Fit::with_shared(kernel.clone()).penalty(Penalty::KernelLasso).lambda(lambda).without_offset();
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
            let fit = Fit::linear()
                .penalty(Penalty::parse(spec).unwrap())
                .criterion(Criterion::parse(criterion).unwrap())
                .fit(&x, &y);
            if spec.starts_with("tikhonov") && criterion != "kfold:5" {
                assert!(fit.unwrap_err().to_string().contains("kfold"));
                continue;
            }
            let fitted = fit.unwrap();
            let trial = fitted.tried[0].curve().unwrap();
            assert!(trial.lambdas.windows(2).all(|pair| pair[0] < pair[1]));
            assert_eq!(trial.lambdas[trial.chosen.unwrap()], fitted.summary().lambda);
            assert!(fitted.summary().certificate.holds && fitted.summary().train_rmse < 0.5, "{spec} {criterion}");
        }
    }
    let wide = Fit::linear().penalty(Penalty::Lasso).one_standard_error().fit(&x, &y).unwrap();
    let best = Fit::linear().penalty(Penalty::Lasso).fit(&x, &y).unwrap();
    assert!(wide.summary().lambda >= best.summary().lambda);
}

#[test]
fn monomials_are_features_that_a_model_file_remembers() {
    let x = Matrix::from_fn(30, 2, |i, j| ((i * i * (3 + 4 * j) + i) % 29) as f64 / 14.0 - 1.0);
    let y: Vec<f64> = (0..30).map(|i| 1.0 + 2.0 * x.get(i, 0) * x.get(i, 1) - x.get(i, 1).powi(3)).collect();
    let fitted = Fit::linear().penalty(Penalty::None).degree(3).fit(&x, &y).unwrap();
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
    let error = |fit: Fit| fit.fit(&x, &y).unwrap_err().to_string();
    let wrong = Gamma::Matrix(Matrix::zeros(2, 3));
    let message = error(Fit::linear().penalty(Penalty::Tikhonov { gamma: wrong }).lambda(1.0));
    assert!(message.contains('5') && message.contains('3'), "{message}");
    assert!(error(Fit::linear().penalty(Penalty::KernelLasso).lambda(1.0)).contains("kernel"));
    assert!(error(Fit::linear().penalty(Penalty::Lasso).lambda(-1.0)).contains("above 0"));
    assert!(error(Fit::linear().penalty(Penalty::None).lambda(1.0)).contains("without a penalty"));
    assert!(error(Fit::linear().penalty(Penalty::NormPower).degree(2)).contains("polynomial kernel"));
    assert!(error(Fit::linear().penalty(Penalty::Lasso).degree(99)).contains("degree"));
}

/// Rows without their zeros give the fit of the same rows with them, folds of groups included.
#[test]
fn sparse_rows_are_dense_rows() {
    let x = Matrix::from_fn(60, 5, |i, j| match (i * 7 + j * 3) % 4 {
        0 => ((i + 1) as f64 * (j as f64 + 0.5)).sin(),
        _ => 0.0,
    });
    let y = Matrix::from_fn(60, 1, |i, _| 2.0 * x.get(i, 1) - x.get(i, 3) + 0.1 * (5.0 * i as f64).sin());
    let weights: Vec<f64> = (0..60).map(|i| 1.0 + (i % 3) as f64).collect();
    let groups: Vec<u32> = (0..60).map(|i| i % 6).collect();
    let sparse = mercer::linear::Sparse::from_dense(&x).unwrap();
    let fits = [
        Fit::linear().penalty(Penalty::Lasso).tolerance(1e-12).lambda(0.01),
        Fit::linear().penalty(Penalty::Lasso).tolerance(1e-12).criterion(Criterion::parse("kfold:6").unwrap()),
        Fit::linear().penalty(Penalty::Tikhonov { gamma: Gamma::SecondDifferences }).lambda(0.01),
    ];
    for fit in fits {
        let mut frame = Frame::new(60);
        for j in 0..5 {
            frame.push(format!("x{}", j + 1), mercer::data::Column::Number(x.col(j).to_vec())).unwrap();
        }
        frame.push("y", mercer::data::Column::Number(y.col(0).to_vec())).unwrap();
        frame.push("w", mercer::data::Column::Number(weights.clone())).unwrap();
        frame.push("g", mercer::data::Column::Number(groups.iter().map(|g| f64::from(*g)).collect())).unwrap();
        let (weight, group) = (Some("w".into()), Some("g".into()));
        let roles = Roles { targets: vec!["y".into()], weight, group, ..Roles::default() };
        let dense = fit.fit_frame(&frame, &roles).unwrap();
        let same = fit.fit_sparse(&sparse, &y, Some(&weights), Some(&groups)).unwrap();
        assert!((same.summary().lambda / dense.summary().lambda - 1.0).abs() < 1e-12);
        let difference = same.model.coefficients(0).iter().zip(dense.model.coefficients(0));
        assert!(difference.map(|(a, b)| (a - b).abs()).fold(0.0, f64::max) < 1e-9);
        // The model reads dense rows and comes back from its bytes.
        let again = mercer::format::from_bytes(&mercer::format::to_bytes(&same.model).unwrap()).unwrap();
        let predicted = dense.model.predict_frame(&frame).unwrap();
        for (a, b) in again.predict_frame(&frame).unwrap()[0].iter().zip(&predicted[0]) {
            assert!((a.unwrap() - b.unwrap()).abs() < 1e-9);
        }
    }
    let refused =
        Fit::linear().penalty(Penalty::Lasso).scale(Scale::Standard).lambda(1.0).fit_sparse(&sparse, &y, None, None);
    assert!(refused.unwrap_err().to_string().contains("fill in the zeros"));
    let none = Fit::linear().penalty(Penalty::Lasso).lambda(1.0).fit_sparse(&sparse, &y, Some(&[0.0; 60]), None);
    assert!(none.unwrap_err().to_string().contains("weight"));
}

/// A λ far below rounding is no reason to try every λ above it; subnormal targets have no path.
#[test]
fn extremes_of_lambda_end() {
    let x = Matrix::from_fn(12, 2, |i, j| (0.618 * (i + 1) as f64 * (1.0 + 0.37 * j as f64)).fract());
    let y: Vec<f64> = (0..12).map(|i| 1e149 * (3.0 * x.get(i, 0)).sin()).collect();
    let started = std::time::Instant::now();
    let fit = Fit::with_shared(kernel::parse("gaussian").unwrap()).penalty(Penalty::KernelLasso).lambda(0.01);
    let fitted = fit.fit(&x, &y).unwrap();
    assert!(started.elapsed().as_secs() < 8 && fitted.fitted[0].iter().all(|v| v.is_finite()));
    let tiny: Vec<f64> = y.iter().map(|y| y * 1e-300 * 1e-169).collect();
    assert!(tiny.iter().all(|y| *y != 0.0 && y.is_subnormal()));
    assert!(Fit::linear().penalty(Penalty::Lasso).fit(&x, &tiny).is_ok());
}

/// sigma, standard errors, AIC() and BIC() of R's lm(y ~ a + b, weights = w), computed in 40 digits from their formulas, as the weight of
/// the first row passes a power of two; and times any constant.
#[test]
fn weights_are_inverse_variances_in_any_unit() {
    let a = [0.5, 1.2, -0.7, 2.1, 0.3, -1.4, 0.9, 1.7, -0.2, 0.6];
    let b = [1.1, -0.4, 0.8, 0.2, -1.3, 0.5, 1.9, -0.6, 0.1, -0.9];
    let y = Matrix::column_vector(vec![1.3, 3.9, -1.0, 4.8, 3.1, -2.6, 0.6, 5.3, 0.4, 3.2]);
    let x = Matrix::from_fn(10, 2, |i, j| if j == 0 { a[i] } else { b[i] });
    let to_r = 10.0 * (1.0 + (2.0 * std::f64::consts::PI).ln());
    for (first, sigma, errors, aic, bic) in [
        (
            1.99,
            0.3043482667276417,
            [0.1080353579352913, 0.0966205108364619, 0.100769178741493],
            8.332234204859926,
            9.54257457683611,
        ),
        (
            2.0,
            0.3046656533140222,
            [0.1081319673988024, 0.09672001684420274, 0.1008321394753411],
            8.348067598058184,
            9.558407970034367,
        ),
        (
            63.0,
            0.4404410146025179,
            [0.1436605934005886, 0.1388717739128825, 0.1093349321900919],
            12.26931153575064,
            13.47965190772683,
        ),
    ] {
        for factor in [1.0, 0.013, 512.0] {
            let weights: Vec<f64> = (0..10).map(|i| factor * if i == 0 { first } else { 1.0 }).collect();
            let mean = weights.iter().sum::<f64>() / 10.0;
            let fit = Fit::linear().penalty(Penalty::None).scale(Scale::None);
            let found = &fit.fit_weighted(&x, &y, Some(&weights)).unwrap().least_squares[0];
            let near =
                |got: f64, want: f64| assert!((got / want - 1.0).abs() < 1e-12, "{first} {factor}: {got}, {want}");
            near(found.residual_deviation.unwrap() * mean.sqrt(), sigma * factor.sqrt());
            near(found.intercept_deviation.unwrap(), errors[0]);
            near(found.deviations.as_ref().unwrap()[0], errors[1]);
            near(found.deviations.as_ref().unwrap()[1], errors[2]);
            near(found.aic + to_r + 2.0, aic);
            near(found.bic + to_r + 10f64.ln(), bic);
        }
    }
}

/// The Lasso by BIC keeps the same columns whatever the unit of the weights.
#[test]
fn criteria_do_not_know_the_unit_of_weights() {
    let (x, y) = problem(60);
    let y = Matrix::column_vector(y);
    let kept = |first: f64, factor: f64| {
        let weights: Vec<f64> = (0..60).map(|i| factor * if i == 0 { first } else { 1.0 }).collect();
        let fit = Fit::linear().penalty(Penalty::Lasso).criterion(Criterion::parse("bic").unwrap());
        let found = fit.fit_weighted(&x, &y, Some(&weights)).unwrap();
        (found.model.summaries()[0].support, found.model.summaries()[0].lambda)
    };
    let (support, lambda) = kept(1.99, 1.0);
    for (first, factor) in [(2.0, 1.0), (1.99, 8.0), (1.99, 0.3)] {
        let (other, at) = kept(first, factor);
        assert_eq!(other, support, "{first} {factor}");
        assert!((at / lambda - 1.0).abs() < 0.1, "{first} {factor}");
    }
}
