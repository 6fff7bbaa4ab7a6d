//! What is saved comes back bit for bit.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use mercer::format::{from_bytes, to_bytes};
use mercer::kernel::combine::{Combined, Scaled};
use mercer::kernel::special::Normalized;
use mercer::kernel::{self, SharedKernel};
use mercer::prelude::*;

use crate::samples::{Sample, bits, sample, small_samples};

fn assert_same_after_saving(sample: &Sample) {
    let name = &sample.name;
    let bytes = to_bytes(&sample.model).unwrap_or_else(|error| panic!("{name}: cannot be saved: {error}"));
    let again = from_bytes(&bytes).unwrap_or_else(|error| panic!("{name}: saved, does not load: {error}"));
    for table in &sample.tables {
        let (before, after) = (bits(&sample.model, table), bits(&again, table));
        assert!(before.iter().flatten().flatten().count() > 0, "{name}: nothing was predicted");
        let differ = before.iter().flatten().zip(after.iter().flatten()).filter(|(a, b)| a != b).count();
        assert!(before == after, "{name}: {differ} predictions have other bits after saving");
    }
    assert_eq!(again.summaries(), sample.model.summaries(), "{name}");
    assert_eq!(again.encoder(), sample.model.encoder(), "{name}");
    assert_eq!(again.points(), sample.model.points(), "{name}");
    assert_eq!(to_bytes(&again).unwrap(), bytes, "{name}: other bytes when saved again");
}

/// How the kernel is saved of a model that does not come back as it was.
fn other_after_saving(sample: &Sample) -> Option<String> {
    let outcome = catch_unwind(AssertUnwindSafe(|| assert_same_after_saving(sample)));
    outcome.err().map(|_| format!("{} is saved as {}", sample.name, sample.model.kernel().spec()))
}

#[test]
fn predictions_come_back_bit_for_bit() {
    let mut tried = 0;
    let mut check = |sample: Sample| {
        assert_same_after_saving(&sample);
        tried += 1;
    };
    small_samples().into_iter().for_each(&mut check);
    // Every kernel that can be named, with numbers, with text as features, and with text compared.
    for entry in kernel::all() {
        let normalized = format!("normalized-{}", entry.name);
        for spec in [entry.name, &normalized] {
            if entry.name == "precomputed" {
                continue;
            }
            let parsed = kernel::parse(spec).unwrap();
            let fit = || Fit::with_shared(parsed.clone()).missing(Missing::Mean);
            if !parsed.uses_codes() {
                check(sample(spec, fit().scale(Scale::Unit), 20, &["y"], false));
                check(sample(&format!("{spec}, one-hot"), fit().scale(Scale::Unit), 20, &["y"], true));
            }
            let compared = fit().scale(Scale::Unit).text_as(TextAs::Equality);
            check(sample(&format!("{spec}, equality"), compared, 20, &["y"], true));
        }
    }
    for exponent in [0.5, 1.0, 1.5, 3.0] {
        let fit = Fit::new(Gaussian::lengthscale(1.1)).exponent(exponent);
        check(sample(&format!("exponent {exponent}"), fit.clone(), 25, &["y"], false));
        check(sample(&format!("exponent {exponent}, two targets"), fit.shared_ridge(), 25, &["y", "z"], false));
    }
    check(sample("one lengthscale each", Fit::new(Gaussian::lengthscales(&[0.1, 3.3])), 25, &["y"], false));
    check(sample("linear, many targets", Fit::new(Linear), 30, &["y", "z"], false));
    check(sample("linear, wide", Fit::new(Linear).scale(Scale::Standard), 2, &["y"], false));
    check(sample("without offset", Fit::new(Linear).without_offset(), 30, &["y"], false));
    println!("{tried} models came back");
    assert!(tried >= 60, "{tried} models were tried");
}

/// A spec must be read back as the same sum in the same order, or the last bits differ.
#[test]
fn nested_sums_and_products_come_back_bit_for_bit() {
    let specs = [
        "linear + (gaussian(lengthscale=0.7) + matern32(lengthscale=0.3))",
        "gaussian(lengthscale=0.7)*(matern32(lengthscale=0.3)*laplace(lengthscale=0.9))",
        "0.3*linear + (0.1*gaussian(lengthscale=0.7) + 0.7*(matern32(lengthscale=0.3) + linear))",
        "0.1*(0.7*gaussian(lengthscale=0.7))",
        "0.1*0.7*gaussian(lengthscale=0.7)",
        "(linear + 1e-3*linear)*(gaussian(lengthscale=0.7) + 0.3*matern32(lengthscale=2))",
        "0.1*gaussian(lengthscale=0.7)*0.7*matern32(lengthscale=2)",
        "(0.1*gaussian(lengthscale=0.7))*(0.7*matern32(lengthscale=2))",
    ];
    let mut wrong = Vec::new();
    for spec in specs {
        let fit = Fit::with_shared(kernel::parse(spec).unwrap()).lambda(1e-3);
        wrong.extend(other_after_saving(&sample(spec, fit, 40, &["y"], false)));
    }
    assert!(wrong.is_empty(), "{} of {}: {wrong:#?}", wrong.len(), specs.len());
}

/// Kernels that are put together in Rust instead of being read from a spec.
#[test]
fn kernels_made_in_rust_come_back_bit_for_bit() {
    let gaussian: SharedKernel = Arc::new(Gaussian::lengthscale(0.7));
    let matern: SharedKernel = Arc::new(Matern32::lengthscale(0.3));
    let linear: SharedKernel = Arc::new(Linear);
    let polynomial: SharedKernel = Arc::new(Polynomial::new(3, 0.5));
    let sum: SharedKernel = Arc::new(Combined::sum(vec![linear.clone(), gaussian.clone()]));
    let twice: SharedKernel = Arc::new(Scaled::new(2.5, polynomial.clone()));
    let made: Vec<(&str, SharedKernel)> = vec![
        ("a sum", sum.clone()),
        ("a multiple", twice.clone()),
        ("a multiple of a multiple", Arc::new(Scaled::new(0.1, twice.clone()))),
        ("a sum of one", Arc::new(Combined::sum(vec![gaussian.clone()]))),
        ("a product of a sum", Arc::new(Combined::product(vec![matern.clone(), sum.clone()]))),
        ("a sum in a sum", Arc::new(Combined::sum(vec![matern.clone(), sum.clone()]))),
        ("a normalised sum", Arc::new(Normalized::new(sum.clone()))),
        ("a normalised multiple", Arc::new(Normalized::new(twice.clone()))),
        (
            "a normalised product",
            Arc::new(Normalized::new(Arc::new(Combined::product(vec![matern, polynomial.clone()])))),
        ),
        ("normalised twice", Arc::new(Normalized::new(Arc::new(Normalized::new(polynomial))))),
        ("a multiple with many digits", Arc::new(Scaled::new(std::f64::consts::PI * 1e-9, linear))),
    ];
    let mut wrong = Vec::new();
    let tried = made.len();
    for (name, kernel) in made {
        let fit = Fit::with_shared(kernel).lambda(1e-3);
        wrong.extend(other_after_saving(&sample(name, fit, 40, &["y"], false)));
    }
    assert_eq!(tried, 11);
    assert!(wrong.is_empty(), "{} of {tried}: {wrong:#?}", wrong.len());
}

/// Long enough for the Cholesky path and for several chunks of training points.
#[test]
fn a_longer_model_comes_back_bit_for_bit() {
    for (name, fit) in [
        ("cholesky", Fit::new(Gaussian::lengthscale(0.5)).lambda(1e-3)),
        ("spline", Fit::new(Spline::multiplicative()).lambda(1e-3)),
    ] {
        let sample = sample(name, fit, 1100, &["y"], false);
        assert_eq!(sample.model.points(), 1100);
        assert_same_after_saving(&sample);
    }
}

/// A skewed column is read twice, as it is and as its logarithm; plain numbers name it once.
#[test]
fn logarithms_of_skewed_columns_come_back() {
    let x = Matrix::from_fn(60, 2, |i, j| if j == 0 { (0.1 * i as f64).exp() } else { ((i * 7) % 13) as f64 });
    let y: Vec<f64> = (0..60).map(|i| (0.1 * i as f64).sin() + 0.1 * x.get(i, 1)).collect();
    let fit = Fit::new(Gaussian::lengthscale(1.0)).lambda(1e-3);
    let model = fit.clone().scale(Scale::Log).fit(&x, &y).unwrap().model;
    assert_eq!(model.encoder().feature_names(), ["x1", "log(x1)", "x2"]);
    let again = from_bytes(&to_bytes(&model).unwrap()).unwrap();
    assert_eq!(again.encoder(), model.encoder());
    // Beyond the training range on both sides, too.
    let new = Matrix::from_fn(5, 2, |i, j| if j == 0 { 200.0 * i as f64 - 300.0 } else { i as f64 });
    assert_eq!(again.predict(&new).unwrap(), model.predict(&new).unwrap());
    // The features are what their description says: standardised x, log(1 + (x − low)/(median − low)), x2.
    let log = |v: f64| ((v - 1.0) / ((2.9_f64).exp() - 1.0)).ln_1p();
    let standardised = |values: &[f64]| -> Vec<f64> {
        let mean = values.iter().sum::<f64>() / 60.0;
        let deviation = (values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / 60.0).sqrt();
        values.iter().map(|v| (v - mean) / deviation).collect()
    };
    let logs: Vec<f64> = x.col(0).iter().map(|v| log(*v)).collect();
    let columns = [standardised(x.col(0)), standardised(&logs), standardised(x.col(1))].concat();
    let by_hand = fit.fit(&Matrix::from_columns(60, 3, columns).unwrap(), &y).unwrap();
    let (got, want) = (model.predict(&x).unwrap(), by_hand.solutions[0].fitted.clone());
    got.col(0).iter().zip(&want).for_each(|(a, b)| assert!((a - b).abs() < 1e-9, "{a} {b}"));
}
