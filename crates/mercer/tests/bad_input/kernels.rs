//! Kernels that are none: made in Rust, written as a spec, or computed beforehand.

use std::panic::catch_unwind;
use std::sync::Arc;

use mercer::kernel::combine::Scaled;
use mercer::kernel::radial::{Lengthscale, Radial, RationalQuadraticProfile};
use mercer::kernel::special::{Equality, Precomputed};
use mercer::kernel::{self, SharedKernel};
use mercer::prelude::*;

use crate::battery::Expect::{self, Finishes, FinishesOr, Refused};
use crate::battery::{Job, TOO_LARGE, run_all};
use crate::estimators::{EXPONENTS, job, with_options};
use crate::judging::{is_sentence, judge};
use crate::tables::{frame, new_rows, smooth};

/// A kernel made in Rust is not checked until it meets data.
#[test]
fn kernels_that_are_none() {
    let lengthscale = |scale: f64| -> SharedKernel { Arc::new(Gaussian::lengthscale(scale)) };
    let lengthscales = |scales: &[f64]| -> SharedKernel { Arc::new(Matern32::lengthscales(scales)) };
    let polynomial = |degree: u32, constant: f64| -> SharedKernel { Arc::new(Polynomial::new(degree, constant)) };
    let rational = |shape: f64| -> SharedKernel {
        Arc::new(Radial::with_profile(RationalQuadraticProfile::new(shape), Lengthscale::One(1.0)))
    };
    let scaled = |factor: f64| -> SharedKernel { Arc::new(Scaled::new(factor, lengthscale(1.0))) };
    let bad_scale = Refused(&["lengthscale of gaussian", "positive", "got"]);
    let kernels: Vec<(&str, Expect, SharedKernel)> = vec![
        ("lengthscale 0", bad_scale, lengthscale(0.0)),
        ("lengthscale −1", bad_scale, lengthscale(-1.0)),
        ("lengthscale NaN", bad_scale, lengthscale(f64::NAN)),
        ("lengthscale ∞", bad_scale, lengthscale(f64::INFINITY)),
        ("lengthscale 1e-200", bad_scale, lengthscale(1e-200)),
        ("lengthscale 1e200", bad_scale, lengthscale(1e200)),
        ("lengthscale 1e-150", Finishes, lengthscale(1e-150)),
        ("lengthscale 1e150", Finishes, lengthscale(1e150)),
        (
            "no lengthscales",
            Refused(&["lengthscales of matern32", "one number per feature (2)", "got 0"]),
            lengthscales(&[]),
        ),
        ("one lengthscale too few", Refused(&["lengthscales of matern32", "(2)", "got 1"]), lengthscales(&[1.0])),
        ("one lengthscale too many", Refused(&["(2)", "got 3"]), lengthscales(&[1.0, 2.0, 3.0])),
        ("one lengthscale of 0", Refused(&["lengthscale of matern32", "positive", "got 0"]), lengthscales(&[1.0, 0.0])),
        (
            "one lengthscale of NaN",
            Refused(&["lengthscale of matern32", "positive", "NaN"]),
            lengthscales(&[f64::NAN, 1.0]),
        ),
        ("lengthscales 1e-150 and 1e150", Finishes, lengthscales(&[1e-150, 1e150])),
        ("degree 0", Refused(&["degree of polynomial", "at least 1", "got 0"]), polynomial(0, 1.0)),
        ("constant −1", Refused(&["constant of polynomial", "at least 0", "got -1"]), polynomial(2, -1.0)),
        ("constant NaN", Refused(&["constant of polynomial", "NaN"]), polynomial(2, f64::NAN)),
        ("constant ∞", Refused(&["constant of polynomial", "inf"]), polynomial(2, f64::INFINITY)),
        ("constant 1e100", FinishesOr(TOO_LARGE), polynomial(2, 1e100)),
        ("degree 64", Finishes, polynomial(64, 1.0)),
        ("degree 1000", FinishesOr(TOO_LARGE), polynomial(1000, 1.0)),
        ("shape 0", Refused(&["shape", "above 0"]), rational(0.0)),
        ("shape −1", Refused(&["shape", "above 0"]), rational(-1.0)),
        ("shape NaN", Refused(&["shape", "above 0"]), rational(f64::NAN)),
        ("shape ∞", Refused(&["shape"]), rational(f64::INFINITY)),
        ("shape 1e-300", Finishes, rational(1e-300)),
        ("shape 5e-324", Finishes, rational(5e-324)),
        ("shape 1e300", Finishes, rational(1e300)),
        ("factor 0", Refused(&["factor of a kernel", "positive", "got 0"]), scaled(0.0)),
        ("factor −1", Refused(&["factor of a kernel", "positive", "got -1"]), scaled(-1.0)),
        ("factor NaN", Refused(&["factor of a kernel", "NaN"]), scaled(f64::NAN)),
        ("factor ∞", Refused(&["factor of a kernel", "inf"]), scaled(f64::INFINITY)),
        ("factor 1e-50", Finishes, scaled(1e-50)),
        ("factor 1e50", Finishes, scaled(1e50)),
        ("factor 1e-300", FinishesOr(TOO_LARGE), scaled(1e-300)),
        ("factor 1e300", FinishesOr(TOO_LARGE), scaled(1e300)),
        ("equality without text", Refused(&["equality kernel", "text"]), Arc::new(Equality::new(0.5))),
        ("similarity 1", Refused(&["similarity of equality", "below 1", "got 1"]), Arc::new(Equality::new(1.0))),
        ("similarity NaN", Refused(&["similarity of equality", "NaN"]), Arc::new(Equality::new(f64::NAN))),
        ("a factor of 1e40 on linear", Finishes, kernel::parse("1e40*linear").unwrap()),
        ("a factor of 1e-40 on linear", Finishes, kernel::parse("1e-40*linear").unwrap()),
        ("normalised linear", Finishes, kernel::parse("normalized-linear").unwrap()),
        ("a product of four", Finishes, kernel::parse("1e10*linear*linear*spline0*gaussian").unwrap()),
    ];
    let mut jobs = Vec::new();
    let count = kernels.len();
    for (name, expect, kernel) in kernels {
        for exponent in [0.5, 2.0, 3.0] {
            for lambda in [None, Some(0.01)] {
                let fit = with_options(Fit::with_shared(kernel.clone()).exponent(exponent), lambda, true);
                let name = format!("{name} | exponent {exponent}, λ {lambda:?}");
                jobs.push((name, expect, job(fit, &smooth(12, 2))));
            }
        }
    }
    assert_eq!(count, 43);
    run_all(jobs).finish(43 * 6);
}

#[test]
fn specs_that_cannot_be_read() {
    let long_name = "k".repeat(5000);
    let deep = "(".repeat(40) + "linear";
    let specs: Vec<(&str, &[&str])> = vec![
        ("", &["expected a kernel's name", "character 1"]),
        ("   ", &["expected a kernel's name"]),
        ("gauss", &["unknown kernel \"gauss\"", "known: linear, polynomial", "did you mean gaussian?"]),
        ("matern33", &["did you mean matern32?"]),
        ("Linear", &["did you mean linear?"]),
        ("sigmoid", &["unknown kernel \"sigmoid\"", "known:"]),
        // Names and parameters of other programs, with the value where it can be translated.
        ("rbf", &["unknown kernel \"rbf\"", "did you mean gaussian?"]),
        ("2*RBF(gamma=8) + linear", &["did you mean gaussian(lengthscale=0.25)?"]),
        ("gaussian(gamma=2)", &["no parameter \"gamma\"", "lengthscale = 1/√(2·gamma): gaussian(lengthscale=0.5)"]),
        ("gaussian(gamma=0)", &["lengthscale = 1/√(2·gamma)"]),
        ("laplace(gamma=4)", &["lengthscale = 1/gamma: laplace(lengthscale=0.25)"]),
        ("gaussian(lenghtscale=2)", &["did you mean lengthscale?"]),
        ("normalized-", &["unknown kernel"]),
        ("normalized-sigmoid", &["unknown kernel \"sigmoid\""]),
        ("gaussian(width=1)", &["gaussian has no parameter \"width\"", "it has: lengthscale"]),
        ("linear(width=1)", &["linear has no parameter \"width\"", "it has: none"]),
        ("gaussian(lengthscale=1,lengthscale=2)", &["lengthscale of gaussian", "once"]),
        ("gaussian(lengthscale=0)", &["lengthscale of gaussian must be positive", "got 0"]),
        ("gaussian(lengthscale=-1)", &["got -1"]),
        ("gaussian(lengthscale=1e400)", &["cannot read"]),
        ("gaussian(lengthscale=nan)", &["got nan"]),
        ("gaussian(lengthscale=mode)", &["mean or median", "got mode"]),
        ("gaussian(lengthscale=[1,0])", &["got [1,0]"]),
        ("gaussian(lengthscale=[])", &["expected a number", "character 23"]),
        ("gaussian(lengthscale=[1,])", &["expected a number"]),
        ("gaussian(lengthscale=", &["expected a number, a list"]),
        ("gaussian(lengthscale=1", &["expected ',' or ')'"]),
        ("gaussian(1)", &["expected a parameter's name"]),
        ("polynomial(degree=0)", &["degree of polynomial", "from 1 to 64", "got 0"]),
        ("polynomial(degree=2.5)", &["whole number", "got 2.5"]),
        ("polynomial(degree=65)", &["from 1 to 64", "got 65"]),
        ("polynomial(constant=-1)", &["at least 0", "got -1"]),
        ("additive-spline(order=2)", &["order of additive-spline", "0 or 1", "got 2"]),
        ("rational-quadratic(shape=0)", &["shape of rational-quadratic", "above 0"]),
        ("equality(similarity=1)", &["similarity of equality", "below 1"]),
        ("0*linear", &["factor of a kernel", "positive", "got 0"]),
        ("-2*linear", &["factor of a kernel", "got -2"]),
        ("1e200*1e200*linear", &["factor of a kernel", "got inf"]),
        ("2", &["expected '*' and a kernel"]),
        ("linear +", &["expected a kernel's name"]),
        ("linear linear", &["expected '+', '*' or the end", "character 8"]),
        ("linear)", &["expected '+', '*' or the end"]),
        ("(linear", &["expected ')'"]),
        ("linear + precomputed", &["precomputed kernel stands alone"]),
        ("normalized-precomputed", &["precomputed kernel cannot be normalised"]),
        ("línear", &["unknown kernel"]),
        ("💥", &["expected a kernel's name", "character 1"]),
        ("linear\0", &["expected '+', '*' or the end"]),
        (&deep, &["fewer parentheses"]),
        (&long_name, &["unknown kernel"]),
    ];
    let mut wrong = Vec::new();
    for (spec, parts) in &specs {
        let shown: String = spec.chars().take(60).collect();
        match catch_unwind(|| kernel::parse(spec).map(drop)) {
            Err(_) => wrong.push(format!("{shown}: panicked")),
            Ok(Ok(())) => wrong.push(format!("{shown}: was accepted")),
            Ok(Err(error)) => {
                let message = error.to_string();
                if !is_sentence(&message) || parts.iter().any(|part| !message.contains(part)) {
                    let cut: String = message.chars().take(300).collect();
                    wrong.push(format!("{shown}: {cut} ({} bytes)", message.len()));
                }
            }
        }
    }
    assert_eq!(specs.len(), 50);
    assert!(wrong.is_empty(), "{} of {}: {wrong:#?}", wrong.len(), specs.len());
}

#[test]
fn precomputed_kernels() {
    let good = |i: usize, j: usize| (-0.5 * (i as f64 - j as f64).powi(2)).exp();
    let square = |change: &dyn Fn(usize, usize) -> f64| Matrix::from_fn(8, 8, change);
    let matrices: Vec<(&str, Expect, Matrix)> = vec![
        ("as it should be", Finishes, square(&good)),
        (
            "one column too few",
            Refused(&["precomputed kernel", "as many columns as rows (8)", "got 7"]),
            Matrix::from_fn(8, 7, good),
        ),
        ("one column too many", Refused(&["precomputed kernel", "(8)", "got 9"]), Matrix::from_fn(8, 9, good)),
        (
            "not symmetric",
            Refused(&["must be symmetric", "row 2, column 6 is 0.75", "row 6, column 2"]),
            square(&|i, j| if (i, j) == (1, 5) { 0.75 } else { good(i, j) }),
        ),
        ("antisymmetric", Refused(&["must be symmetric"]), square(&|i, j| i as f64 - j as f64)),
        (
            "not positive semidefinite",
            Refused(&["negative eigenvalue", "positive semidefinite"]),
            square(&|i, j| if i == j { 0.1 } else { 1.0 }),
        ),
        (
            "minus the identity",
            Refused(&["negative eigenvalue", "positive semidefinite"]),
            square(&|i, j| -f64::from(i == j)),
        ),
        (
            "NaN",
            Refused(&["row 3", "\"x3\"", "missing"]),
            square(&|i, j| if i == 2 && j == 2 { f64::NAN } else { good(i, j) }),
        ),
        (
            "∞",
            Refused(&["row 3", "\"x3\"", "finite"]),
            square(&|i, j| if i == 2 && j == 2 { f64::INFINITY } else { good(i, j) }),
        ),
        ("zero", Finishes, square(&|_, _| 0.0)),
        ("all ones", Finishes, square(&|_, _| 1.0)),
        ("the identity", Finishes, square(&|i, j| f64::from(i == j))),
        ("1e50 times too large", Finishes, square(&|i, j| 1e50 * good(i, j))),
        ("1e-50 times too small", Finishes, square(&|i, j| 1e-50 * good(i, j))),
        ("1e300 times too large", Refused(&["kernel values reach", "1e60"]), square(&|i, j| 1e300 * good(i, j))),
        ("1e-300 times too small", Refused(&["kernel values reach", "1e-60"]), square(&|i, j| 1e-300 * good(i, j))),
        ("f64::MAX on the diagonal", Refused(&["kernel values reach"]), square(&|i, j| f64::MAX * f64::from(i == j))),
        ("of rank one", Finishes, square(&|i, j| ((i + 1) * (j + 1)) as f64)),
        (
            "symmetric up to rounding",
            Finishes,
            square(&|i, j| good(i, j) * (1.0 + if i < j { f64::EPSILON } else { 0.0 })),
        ),
    ];
    let count = matrices.len();
    let mut jobs = Vec::new();
    for (name, expect, matrix) in matrices {
        for exponent in EXPONENTS {
            for lambda in [None, Some(0.01)] {
                for offset in [true, false] {
                    let fit = with_options(Fit::new(Precomputed).exponent(exponent), lambda, offset);
                    let matrix = matrix.clone();
                    let run: Job = Box::new(move || {
                        let y: Vec<f64> = (0..matrix.rows()).map(|i| (i as f64).cos()).collect();
                        judge(fit.fit(&matrix, &y), &frame(&matrix), &new_rows(&matrix))
                    });
                    jobs.push((format!("{name} | exponent {exponent}, λ {lambda:?}, offset {offset}"), expect, run));
                }
            }
        }
    }
    // Where the offset direction carries all that is wrong, nothing wrong is left: −1·1ᵀ centred is 0.
    assert_eq!(count, 19);
    run_all(jobs).finish(19 * 5 * 2 * 2);
}
