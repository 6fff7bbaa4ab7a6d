//! Reference solutions in 60-digit arithmetic (tests/golden), made without this library.
//!
//! Where nμ is at least 1e-6 of the largest eigenvalue, objective and predictions must agree to 1e-9; elsewhere
//! as closely as the condition number of K + nμI allows. The digits that a certificate claims must be there
//! in every case.

mod reference;

use mercer::criterion::Folds;
use mercer::kernel::{self, Points};
use mercer::path::k_fold;
use mercer::prelude::*;
use serde_json::Value;

use reference::{load, matrix, numbers};

fn spec(kernel: &Value) -> String {
    let kind = kernel["kind"].as_str().expect("kind");
    match kind {
        "gaussian" => format!("gaussian(lengthscale={})", kernel["lengthscale"]),
        "polynomial" => format!("polynomial(degree={},constant={})", kernel["degree"], kernel["constant"]),
        other => other.to_owned(),
    }
}

/// Largest difference, relative to the largest reference value.
fn relative(got: &[f64], want: &[f64]) -> f64 {
    let size = want.iter().fold(0.0, |max: f64, x| max.max(x.abs()));
    let worst = got.iter().zip(want).fold(0.0, |max: f64, (a, b)| max.max((a - b).abs()));
    if size > 0.0 { worst / size } else { worst }
}

struct Case<'a> {
    file: &'a Value,
    case: &'a Value,
    fitted: Fitted,
    lambda: f64,
    exponent: f64,
    /// nμ / largest eigenvalue.
    share: f64,
    condition: f64,
}

impl Case<'_> {
    /// 1e-9 (or `tight`) where the proviso holds, else what the condition number leaves.
    fn allowed(&self, tight: f64) -> f64 {
        if self.share >= 1e-6 { tight } else { tight.max(1e-15 * self.condition) }
    }

    fn label(&self) -> String {
        format!("offset {} exponent {} lambda {}", self.case["offset"], self.exponent, self.lambda)
    }
}

fn for_each_case(name: &str, mut check: impl FnMut(&Case<'_>)) -> usize {
    let file = load(&format!("power-{name}"));
    let x = matrix(&file["X"]);
    let y = numbers(&file["y"]);
    let weights = file.get("weight").map(numbers);
    let kernel = kernel::parse(&spec(&file["kernel"])).expect("spec");
    if let Some(row) = file.get("gram_first_row") {
        let gram = mercer::space::gram(&*kernel, &Points::new(&x));
        assert!(relative(gram.col(0), &numbers(row)) < 1e-14, "{name}: the Gram matrix differs");
    }
    let cases = file["cases"].as_array().expect("cases");
    for case in cases {
        let lambda = case["lambda"].as_f64().expect("lambda");
        let exponent = case["exponent"].as_f64().expect("exponent");
        let mut fit = Fit::with_shared(kernel.clone()).scale(Scale::None).exponent(exponent).lambda(lambda);
        if case["offset"] == false {
            fit = fit.without_offset();
        }
        let fitted = fit.fit_weighted(&x, &Matrix::column_vector(y.clone()), weights.as_deref()).expect("a fit");
        let spectrum = fitted.spectrum.as_ref().expect("small problems are decomposed");
        let ridge = fitted.summary().effective_ridge.unwrap_or(f64::INFINITY);
        let share = spectrum.weight_sum() * ridge / spectrum.largest();
        let condition = fitted.summary().certificate.condition.expect("a linear system was solved");
        check(&Case { file: &file, case, lambda, exponent, share, condition, fitted });
    }
    cases.len()
}

fn check_solution(case: &Case<'_>) {
    let summary = case.fitted.summary();
    let label = case.label();
    assert_eq!(summary.is_zero, case.case["effective_ridge"].is_null(), "{label}: zero function");
    let objective = case.case["objective"].as_f64().expect("objective");
    let objective_error = (summary.objective - objective).abs() / objective;
    assert!(objective_error <= case.allowed(1e-9), "{label}: objective off by {objective_error:.1e}");
    let predicted = case.fitted.model.predict(&matrix(&case.file["X_test"])).expect("predictions");
    let error = relative(predicted.col(0), &numbers(&case.case["predict"]));
    assert!(error <= case.allowed(1e-9), "{label}: predictions off by {error:.1e}, share {:.1e}", case.share);
    // Digits are claimed in units of the target's spread (around the offset).
    let want = numbers(&case.case["predict"]);
    let worst = predicted.col(0).iter().zip(&want).fold(0.0, |max: f64, (a, b)| max.max((a - b).abs()));
    let y = numbers(&case.file["y"]);
    let spread = (y.iter().map(|v| (v - summary.intercept).powi(2)).sum::<f64>() / y.len() as f64).sqrt();
    if worst > 0.0 {
        let true_digits = -(worst / spread).log10();
        let claimed = summary.certificate.digits;
        assert!(claimed <= true_digits, "{label}: {claimed} digits claimed, {true_digits:.1} are there");
        println!("{label}: claimed {claimed} true {true_digits:.1} share {:.1e}", case.share);
    }
    if let Some(ridge) = case.case["effective_ridge"].as_f64() {
        let got = summary.effective_ridge.expect("not the zero function");
        assert!((got / ridge - 1.0).abs() <= case.allowed(1e-9), "{label}: ridge {got} for {ridge}");
        let norm = case.case.get("norm").and_then(Value::as_f64);
        assert!(norm.is_none_or(|norm| (summary.norm / norm - 1.0).abs() <= case.allowed(1e-9)), "{label}: norm");
        let dof = case.case.get("degrees_of_freedom").and_then(Value::as_f64);
        assert!(dof.is_none_or(|dof| (summary.dof.unwrap() / dof - 1.0).abs() <= case.allowed(1e-9)), "{label}: dof");
    }
    if let Some(stationary) = case.case.get("stationary") {
        let want = numbers(stationary);
        let got = &summary.stationary_ridges;
        assert_eq!(got.len(), want.len(), "{label}: stationary points {got:?} for {want:?}");
        for (a, b) in got.iter().zip(&want) {
            let share = case.fitted.spectrum.as_ref().unwrap().weight_sum() * b
                / case.fitted.spectrum.as_ref().unwrap().largest();
            let allowed = if share >= 1e-6 { 1e-9 } else { 1e-15 / share };
            assert!((a / b - 1.0).abs() <= allowed, "{label}: stationary point {a} for {b}");
        }
    }
}

fn check_leave_one_out(case: &Case<'_>) {
    let want = numbers(&case.case["loo_residuals"]);
    let got = &case.fitted.leave_one_out[0].as_ref().expect("leave-one-out").residuals;
    let error = relative(got, &want);
    // A row left out finds a smaller ridge of its own where f is near the zero function or m is small.
    assert!(error <= case.allowed(1e-8), "{}: leave-one-out off by {error:.1e}", case.label());
}

/// Row i is in fold i mod 4.
fn check_folds(case: &Case<'_>) {
    let want = numbers(&case.case["fold_residuals"]);
    let spectrum = case.fitted.spectrum.as_ref().expect("a spectrum");
    let target = spectrum.target(&numbers(&case.file["y"])).expect("a target");
    let groups: Vec<Vec<usize>> = (0..4).map(|fold| (fold..want.len()).step_by(4).collect()).collect();
    let folds = Folds::of(groups, 1);
    let residuals = k_fold(spectrum, &[&target], case.exponent, case.lambda, &folds).expect("residuals");
    let mut got = vec![0.0; want.len()];
    for (rows, residuals) in folds.groups.iter().zip(&residuals) {
        rows.iter().zip(&residuals[0]).for_each(|(row, e)| got[*row] = *e);
    }
    let error = relative(&got, &want);
    assert!(error <= case.allowed(1e-8), "{}: folds off by {error:.1e}, share {:.1e}", case.label(), case.share);
}

#[test]
fn gaussian() {
    assert_eq!(for_each_case("gaussian", check_solution), 110);
}

#[test]
fn polynomial() {
    assert_eq!(for_each_case("polynomial", check_solution), 12);
}

#[test]
fn additive_spline() {
    assert_eq!(for_each_case("additive-spline", check_solution), 16);
}

#[test]
fn multiplicative_spline() {
    assert_eq!(for_each_case("multiplicative-spline", check_solution), 6);
}

#[test]
fn leave_one_out_and_folds_of_every_exponent() {
    let count = for_each_case("cross-validation", |case| {
        check_solution(case);
        check_leave_one_out(case);
        check_folds(case);
    });
    assert_eq!(count, 30);
}

#[test]
fn row_weights_with_offset_and_leave_one_out() {
    let count = for_each_case("weighted", |case| {
        check_solution(case);
        check_leave_one_out(case);
    });
    assert_eq!(count, 16);
}
