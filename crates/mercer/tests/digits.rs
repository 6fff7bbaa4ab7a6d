//! What certificates claim beside solutions in 60 digits (`tests/golden/digits.json`, made by `checks/digits.py --only`): the last
//! four predictions are at new rows. `checks/digits.py` does the same with thousands of problems.

mod reference;

use mercer::kernel;
use mercer::prelude::*;
use reference::{Random, load, matrix, numbers};
use serde_json::Value;

struct Found {
    holds: bool,
    claimed: f64,
    /// What is true at the training rows, and at new rows whose k(x, x) is not above that of the training rows.
    there: f64,
    reason: String,
}

fn found(case: &Value) -> Found {
    let (x, new) = (matrix(&case["x"]), matrix(&case["new"]));
    let y = numbers(&case["y"]);
    let kernel = kernel::parse(case["kernel"].as_str().unwrap()).unwrap();
    let heights = |rows: &Matrix| {
        let points = kernel::Points::new(rows);
        let mut out = vec![0.0; points.rows()];
        kernel.diagonal(&points, 0, &mut out);
        out
    };
    let highest = heights(&x).into_iter().fold(0.0, f64::max);
    let fit = Fit::with_shared(kernel.clone()).scale(Scale::None);
    let fit = fit.exponent(case["exponent"].as_f64().unwrap()).lambda(case["lambda"].as_f64().unwrap());
    let has_offset = case["offset"].as_bool().unwrap();
    let fit = if has_offset { fit } else { fit.without_offset() };
    let fitted = fit.fit(&x, &y).unwrap();
    let n = y.len() as f64;
    let mean = if has_offset { y.iter().sum::<f64>() / n } else { 0.0 };
    let spread = (y.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / n).sqrt();
    let truth = numbers(&case["predictions"]);
    let mut predicted = fitted.model.predict(&x).unwrap().col(0).to_vec();
    predicted.extend_from_slice(fitted.model.predict(&new).unwrap().col(0));
    let within: Vec<bool> = heights(&x).iter().chain(&heights(&new)).map(|height| *height <= highest).collect();
    let errors = (0..truth.len()).filter(|i| within[*i]).map(|i| (predicted[i] - truth[i]).abs() / spread);
    let certificate = &fitted.summary().certificate;
    Found {
        holds: certificate.holds,
        claimed: certificate.digits,
        there: -errors.fold(1e-17, f64::max).log10(),
        reason: certificate.reason.clone().unwrap_or_default(),
    }
}

#[test]
fn no_claim_is_above_the_truth() {
    let golden = load("digits");
    let cases = golden.as_array().unwrap();
    for case in cases {
        let Found { holds, claimed, there, reason } = found(case);
        println!("{}: {holds}, {claimed} claimed, {there:.1} there {reason}", case["case"]);
        // 0 is no claim.
        assert!(claimed <= there.max(0.0), "{}: {claimed} digits are claimed, {there} are there", case["case"]);
        assert!(holds || !reason.contains("0.0 digits"), "{reason}");
    }
    assert_eq!(cases.len(), 15);
}

/// What is far from the rounding of the kernel matrix keeps its digits.
#[test]
fn ordinary_problems_keep_their_digits() {
    let mut random = Random::new(5);
    let x = random.matrix(150, 4);
    let y: Vec<f64> =
        (0..150).map(|i| (2.0 * x.get(i, 0)).sin() + x.get(i, 1) * x.get(i, 2) + 0.2 * random.normal()).collect();
    for spec in ["gaussian(lengthscale=2)", "matern52(lengthscale=2)", "laplace(lengthscale=3)", "linear"] {
        // Below exponent 2 the effective ridge is the smaller the smaller λ is: here it reaches a condition number of 1e8.
        for (exponent, fewest, smallest) in [(2.0, 6.0, 1e-6), (1.5, 4.0, 1e-6), (1.0, 3.0, 1e-6), (0.7, 3.0, 1e-4)] {
            for lambda in [1e-2, 1e-4, 1e-6].into_iter().filter(|lambda| *lambda >= smallest) {
                let fit = Fit::with_shared(kernel::parse(spec).unwrap()).exponent(exponent).lambda(lambda);
                let certificate = fit.fit(&x, &y).unwrap().summary().certificate.clone();
                println!("{spec}, m {exponent}, λ {lambda:.0e}: {} digits", certificate.digits);
                assert!(certificate.holds, "{spec} {exponent} {lambda}: {:?}", certificate.reason);
                assert!(certificate.digits >= fewest, "{spec} {exponent} {lambda}: {}", certificate.digits);
            }
        }
    }
}
