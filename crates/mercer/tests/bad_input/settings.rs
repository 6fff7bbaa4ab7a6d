//! λ, exponents and memory that cannot be, or only just can.

use mercer::prelude::*;

use crate::battery::Expect::Refused;
use crate::battery::{OUT_OF_RANGE, run_all};
use crate::estimators::{EXPONENTS, KERNELS, fit_of, job, with_options};
use crate::tables::smooth;

#[test]
fn lambdas_and_exponents() {
    let data = smooth(12, 2);
    let sizes = [("1", 1.0), ("1e-150", 1e-150), ("1e150", 5e149)];
    let mut jobs = Vec::new();
    for spec in KERNELS {
        for offset in [true, false] {
            let fit = || with_options(fit_of(spec), None, offset);
            for exponent in EXPONENTS {
                for lambda in
                    [0.0, -0.0, -1.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1e-291, 1e291, f64::MIN_POSITIVE]
                {
                    let name = format!("λ {lambda:e} | {spec}, exponent {exponent}, offset {offset}");
                    let expect = Refused(&["lambda must be above 0", "got"]);
                    jobs.push((name, expect, job(fit().exponent(exponent).lambda(lambda), &data)));
                }
                for lambda in [1e-290, 1e-200, 1e-100, 1e-30, 1e30, 1e100, 1e200, 1e290] {
                    for (size, y) in sizes {
                        let data = data.clone().y(|_, v| v * y / 3.0);
                        let name = format!("λ {lambda:e} | y of {size}, {spec}, exponent {exponent}, offset {offset}");
                        jobs.push((name, OUT_OF_RANGE, job(fit().exponent(exponent).lambda(lambda), &data)));
                    }
                }
            }
            for exponent in [0.0, -1.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 5e-324, 1000.1, f64::MAX] {
                for fit in [fit(), fit().lambda(0.1)] {
                    let name = format!("exponent {exponent} | {spec}, offset {offset}");
                    let expect = Refused(&["exponent must be above 0 (from 0.001 to 1000)", "got"]);
                    jobs.push((name, expect, job(fit.exponent(exponent), &data)));
                }
            }
            for exponent in [1e-3, 0.05, 0.99, 0.9999999, 1.0000001, 1.9999999, 2.0000001, 100.0, 1000.0] {
                for lambda in [None, Some(1e-3), Some(1e3)] {
                    for (size, y) in sizes {
                        let data = data.clone().y(|_, v| v * y / 3.0);
                        let fit = with_options(fit().exponent(exponent), lambda, offset);
                        let name =
                            format!("exponent {exponent:e} | y of {size}, λ {lambda:?}, {spec}, offset {offset}");
                        jobs.push((name, OUT_OF_RANGE, job(fit, &data)));
                    }
                }
            }
        }
    }
    let expected = 7 * 2 * (5 * 9 + 5 * 8 * 3 + 8 * 2 + 9 * 3 * 3);
    run_all(jobs).finish(expected);
}

#[test]
fn memory_that_is_not_there() {
    let data = smooth(300, 2);
    let y = data.y.col(0);
    let error = Fit::new(Gaussian::lengthscale(1.0)).exact().memory(100_000).fit(&data.x, y).unwrap_err().to_string();
    assert!(error.contains("300 rows need") && error.contains("100 kB may be used"), "{error}");
    // Landmarks need some memory, too.
    let few = Fit::new(Gaussian::lengthscale(1.0)).memory(100_000).fit(&data.x, y).unwrap_err().to_string();
    assert!(few.contains("300 rows need") && few.contains("100 kB may be used"), "{few}");
    assert!(Fit::new(Gaussian::lengthscale(1.0)).memory(1_200_000).fit(&data.x, y).is_ok());
    assert!(error.contains("rows would fit") || error.contains("suffice"), "{error}");
    let error = Fit::new(Linear).memory(1000).fit(&data.x, y).unwrap_err().to_string();
    assert!(error.contains("300 rows need"), "{error}");
    assert!(Fit::new(Linear).memory(200_000).fit(&data.x, y).is_ok());
    let error = Fit::new(Linear).memory(0).fit(&data.x, y).unwrap_err().to_string();
    assert!(error.contains("300 rows need"), "{error}");
    // The gate stands before anything is allocated: a matrix of 10⁸ rows and no columns costs nothing to make.
    let huge = Matrix::zeros(100_000_000, 0);
    let error = Fit::new(Gaussian::lengthscale(1.0)).fit_weighted(&huge, &Matrix::zeros(100_000_000, 0), None);
    let error = error.unwrap_err().to_string();
    assert!(error.contains("100000000 rows need"), "{error}");
}
