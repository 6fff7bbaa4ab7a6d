use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use mercer::prelude::*;
use mercer_lab::equivalence::{Algorithm, Comparison, Relation, Study};

fn fitted(rows: usize, kernel: &str, features: usize) -> Fitted {
    let x = Matrix::from_fn(rows, features, |i, j| libm::sin(1.0 + 12.9898 * (i * features + j) as f64 * 1.7) * 2.0);
    let noise = |i: usize| libm::sin(78.233 * i as f64 * i as f64);
    let y: Vec<f64> = (0..rows).map(|i| libm::sin(2.0 * x.get(i, 0)) + 0.3 * x.get(i, 1) + 0.2 * noise(i)).collect();
    let kernel = mercer::kernel::parse(kernel).unwrap();
    Fit::with_shared(kernel).keep_spectrum().fit(&x, &y).unwrap()
}

fn study(fitted: &Fitted, from: &str, to: &str, parameter: f64) -> Comparison {
    let parse = |spec: &str| Algorithm::parse(spec).unwrap();
    Study::new(parse(from), parse(to), parameter).run(fitted).unwrap()
}

#[test]
fn what_is_known_beforehand_is_measured() {
    let fitted = fitted(120, "gaussian(lengthscale=1)", 2);
    let strong = study(&fitted, "scikit-learn", "libsvm", 0.5);
    assert!(matches!(strong.relation, Relation::Strong { .. }));
    assert!(strong.formula_error().unwrap() < 1e-12 && strong.decay.is_none());
    assert!(strong.parts.len() == 4 && strong.bootstrap.len() == 20 && strong.deletions.without.len() == 120);

    // Φ = λ n: a deletion moves it by λ whatever n is. Back, Φ = α/n moves by α/(n(n−1)).
    let rising = study(&fitted, "ridge", "ridge-per-row", 0.5);
    assert!(matches!(rising.relation, Relation::SizeOnly { .. }));
    assert!(rising.formula_error().unwrap() < 1e-12);
    assert!(rising.growth.iter().all(|set| (set.change().unwrap() - 0.5).abs() < 1e-10));
    assert!(!rising.decay.unwrap().falls() && rising.decay.unwrap().exponent.abs() < 1e-9);
    let falling = study(&fitted, "ridge-per-row", "ridge", 0.5);
    let decay = falling.decay.unwrap();
    assert!((decay.exponent - 2.0).abs() < 0.1 && decay.falls(), "{decay:?}");
}

#[test]
fn powers_move_with_the_rows_and_less_with_more_of_them() {
    let fitted = fitted(300, "gaussian(lengthscale=1)", 2);
    let found = study(&fitted, "power(exponent=1.5)", "ridge", 1e-2);
    assert_eq!(found.relation, Relation::SetDependent);
    assert!(found.formula_error().is_none());
    let agreement = found.agreement.unwrap();
    assert!(agreement.distance < 1e-12 * agreement.norm && agreement.coefficients < 1e-12);
    assert!(agreement.back < 1e-13, "{agreement:?}");
    let decay = found.decay.unwrap();
    println!("{decay:?}");
    assert!(decay.falls() && (0.6..1.6).contains(&decay.exponent), "{decay:?}");
    // Parts of other rows have another Φ, by more than rounding.
    let values: Vec<f64> = found.parts.iter().map(|set| set.image.parameter().unwrap()).collect();
    assert!(values.iter().any(|v| (v / values[0] - 1.0).abs() > 1e-3), "{values:?}");
    // C(n) of all rows is the largest of the single deletions.
    let whole = found.deletions.whole.image.parameter().unwrap();
    let by_hand = found.deletions.without.iter().map(|i| (i.parameter().unwrap() - whole).abs()).fold(0.0, f64::max);
    assert_eq!(found.growth.last().unwrap().change(), Some(by_hand));
}

#[test]
fn linear_kernels_weights_and_refusals() {
    let fitted = fitted(60, "linear", 3);
    let found = study(&fitted, "glmnet", "ridge", 0.1);
    assert_eq!(found.relation, Relation::SetDependent);
    // λ/s, s the deviation of y.
    let y = fitted.design.y.col(0);
    let mean = y.iter().sum::<f64>() / 60.0;
    let s = (y.iter().map(|v| (v - mean) * (v - mean)).sum::<f64>() / 60.0).sqrt();
    assert!((found.deletions.whole.image.parameter().unwrap() - 0.1 / s).abs() < 1e-14);
    let gaussian = self::fitted(20, "gaussian(lengthscale=1)", 2);
    let error = Study::new(Algorithm::Glmnet, Algorithm::RIDGE, 1.0).run(&gaussian).unwrap_err().to_string();
    assert!(error.contains("linear for glmnet"), "{error}");
    let study = Study { parts: 11, ..Study::new(Algorithm::RIDGE, Algorithm::Ivanov, 1.0) };
    assert!(study.run(&gaussian).unwrap_err().to_string().contains("at most half"));
    let error = Study::new(Algorithm::RIDGE, Algorithm::Ivanov, f64::INFINITY).run(&gaussian).unwrap_err();
    assert!(error.to_string().contains("above 0"), "{error}");
}

#[test]
fn the_same_seed_gives_the_same_bits_and_an_observer_may_stop() {
    let fitted = fitted(50, "matern32(lengthscale=1)", 2);
    let run = |seed: u64| {
        let study = Study { seed, ..Study::new(Algorithm::RIDGE, Algorithm::Ivanov, 0.1) };
        let found = study.run(&fitted).unwrap();
        (found.parts, found.bootstrap, found.growth)
    };
    assert_eq!(run(3), run(3));
    assert_ne!(run(3).0, run(4).0);
    let count = Arc::new(AtomicUsize::new(0));
    let seen = count.clone();
    let study = Study {
        observer: Some(Arc::new(move |_| seen.fetch_add(1, Ordering::Relaxed) < 5)),
        ..Study::new(Algorithm::RIDGE, Algorithm::Ivanov, 0.1)
    };
    assert_eq!(study.run(&fitted).unwrap_err(), Error::Interrupted);
    assert_eq!(count.load(Ordering::Relaxed), 6);
}

/// A precomputed kernel and the kernel it was computed from are one.
#[test]
fn precomputed_kernels_are_divided_too() {
    let fitted = fitted(40, "gaussian(lengthscale=1)", 2);
    let gram = mercer::space::gram(&**fitted.model.kernel(), &fitted.design.points);
    let kernel = mercer::kernel::parse("precomputed").unwrap();
    let other = Fit::with_shared(kernel).keep_spectrum().fit(&gram, fitted.design.y.col(0)).unwrap();
    let (a, b) =
        (study(&fitted, "power(exponent=1.5)", "ridge", 1e-2), study(&other, "power(exponent=1.5)", "ridge", 1e-2));
    for (a, b) in a.parts.iter().chain(&a.bootstrap).zip(b.parts.iter().chain(&b.bootstrap)) {
        let (a, b) = (a.image.parameter().unwrap(), b.image.parameter().unwrap());
        assert!((a / b - 1.0).abs() < 1e-12, "{a} {b}");
    }
}
