//! Losses on landmarks: all landmarks are the exact problem, gaps are recomputed here, models carry landmarks only.

mod reference;

use mercer::kernel::Points;
use mercer::plan::Method;
use mercer::prelude::*;
use mercer::{loss, low_rank};
use reference::Random;

const NUMBERS: [&str; 5] = [
    "absolute",
    "huber(threshold=0.3)",
    "epsilon-insensitive(epsilon=0.1)",
    "squared-epsilon-insensitive(epsilon=0.1)",
    "pinball(quantile=0.8)",
];
/// The squared loss among them: numbers with it are solved by a decomposition.
const LABELS: [&str; 4] = ["squared", "hinge", "squared-hinge", "logistic"];

fn with(fit: Fit, spec: &str) -> Fit {
    let fit = fit.loss(loss::parse(spec).unwrap());
    if spec == "squared" { fit.classify() } else { fit }
}

fn rows(n: usize, seed: u64) -> (Matrix, Vec<f64>, Vec<f64>) {
    let mut random = Random::new(seed);
    let x = Matrix::from_fn(n, 2, |_, _| 4.0 * random.uniform() - 2.0);
    let y: Vec<f64> =
        (0..n).map(|i| 5.0 + libm::sin(2.0 * x.get(i, 0)) + x.get(i, 1) + 0.3 * random.normal()).collect();
    let labels = y.iter().map(|y| if *y > 5.2 { 1.0 } else { -1.0 }).collect();
    (x, y, labels)
}

#[test]
fn all_landmarks_are_the_exact_problem() {
    let (x, y, labels) = rows(150, 3);
    let weights: Vec<f64> = (0..150).map(|i| 0.5 + (i % 4) as f64 / 3.0).collect();
    let mut checked = 0;
    for spec in NUMBERS.iter().chain(&LABELS) {
        let target = if LABELS.contains(spec) { &labels } else { &y };
        let target = Matrix::column_vector(target.clone());
        for (exponent, weights) in [(2.0, None), (1.5, Some(&weights[..])), (3.0, None)] {
            let learn = with(Fit::with_shared(mercer::kernel::parse("matern32(lengthscale=1)").unwrap()), spec);
            let learn = learn.exponent(exponent).lambda(0.01).tolerance(1e-8);
            let exact = learn.clone().exact().fit_weighted(&x, &target, weights).unwrap();
            let found = learn.rank(150).fit_weighted(&x, &target, weights).unwrap();
            assert!(
                matches!(found.plan.method, Method::LowRank { .. })
                    && !matches!(exact.plan.method, Method::LowRank { .. })
            );
            let (a, b) = (exact.summary(), found.summary());
            let label = format!("{spec} m = {exponent}");
            assert!(
                (a.objective - b.objective).abs() <= 1e-6 * a.objective,
                "{label}: {} {}",
                a.objective,
                b.objective
            );
            assert!(b.certificate.holds && b.certificate.duality_gap.unwrap() <= 1e-8, "{label}: {:?}", b.certificate);
            // The model is the function that was solved for.
            let values = found.model.predict(&x).unwrap();
            let worst = values.as_slice().iter().zip(&found.fitted[0]).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
            assert!(worst <= 1e-6, "{label}: {worst}");
            checked += 1;
        }
    }
    assert_eq!(checked, 27);
}

/// Any sum over the landmarks has an objective of at least what the gap proves, and the model's own is what is said: written out.
#[test]
fn no_other_sum_over_the_landmarks_is_better_than_the_gap_allows() {
    let (x, y, labels) = rows(300, 5);
    let mut random = Random::new(9);
    for spec in NUMBERS.iter().chain(&LABELS) {
        let target = if LABELS.contains(spec) { &labels } else { &y };
        let own = loss::parse(spec).unwrap().remove(0);
        let learn = with(Fit::new(Gaussian::lengthscale(1.0)), spec).lambda(0.003).rank(25);
        let learned = learn.fit(&x, target).unwrap();
        let model = &learned.model;
        assert_eq!(model.points(), 25);
        let summary = learned.summary();
        assert_eq!(summary.certificate.low_rank.as_ref().unwrap().rank, 25);
        // f of each landmark alone at the rows: the model with one coefficient; ‖f‖² = βᵀK_mm β.
        let beta = model.coefficients(0);
        let pivots = low_rank::factor(&Gaussian::lengthscale(1.0), &Points::new(&x), 1e-14, 25, 1).pivots;
        let kernel =
            |a: &[f64], b: &[f64]| libm::exp(-0.5 * a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum::<f64>());
        let row = |i: usize| [x.get(i, 0), x.get(i, 1)];
        let landmark = |j: usize| row(pivots[j]);
        let objective = |beta: &[f64], b: f64| {
            let value = |i: usize| b + (0..25).map(|j| beta[j] * kernel(&row(i), &landmark(j))).sum::<f64>();
            let norm: f64 = (0..25)
                .flat_map(|j| (0..25).map(move |k| (j, k)))
                .map(|(j, k)| beta[j] * beta[k] * kernel(&landmark(j), &landmark(k)))
                .sum();
            (0..300).map(|i| own.value(target[i], value(i))).sum::<f64>() / 300.0 + 0.003 * norm
        };
        let least = objective(beta, summary.intercept);
        assert!((least - summary.objective).abs() <= 1e-7 * least, "{spec}: {least} {}", summary.objective);
        let bound = least * (1.0 - summary.certificate.duality_gap.unwrap() - 1e-9);
        for size in [1e-3, 1e-1, 1.0] {
            for _ in 0..20 {
                let moved: Vec<f64> = beta.iter().map(|b| b + size * random.normal()).collect();
                let other = objective(&moved, summary.intercept + size * random.normal());
                assert!(other >= bound, "{spec}: {other} below {bound}");
            }
        }
    }
}

#[test]
fn folds_quantiles_and_classes_on_landmarks() {
    let (x, y, labels) = rows(400, 7);
    let kernel = || Gaussian::lengthscale(1.0);
    let exact = Fit::new(kernel()).loss(loss::parse("logistic").unwrap()).exact().fit(&x, &labels).unwrap();
    let found = Fit::new(kernel()).loss(loss::parse("logistic").unwrap()).rank(60).fit(&x, &labels).unwrap();
    let (a, b) = (exact.summary().held_out.clone().unwrap(), found.summary().held_out.clone().unwrap());
    assert!((a.value - b.value).abs() <= 0.02 * a.value, "{} {}", a.value, b.value);
    assert!(found.summary().certificate.holds && found.summary().lambda_was_chosen && found.model.points() == 60);
    let quantiles = Fit::new(kernel()).loss(loss::parse("pinball(quantile=[0.2,0.8])").unwrap()).lambda(1e-3).rank(40);
    let learned = quantiles.fit(&x, &y).unwrap();
    for (t, share) in [(0, 0.2), (1, 0.8)] {
        let below = (0..400).filter(|i| y[*i] <= learned.fitted[t][*i]).count() as f64 / 400.0;
        assert!((below - share).abs() <= 0.1, "{below} of {share}");
    }
    let three: Vec<f64> = y
        .iter()
        .map(|y| {
            if *y < 4.5 {
                0.0
            } else if *y < 5.5 {
                1.0
            } else {
                2.0
            }
        })
        .collect();
    let classes = Fit::new(kernel()).loss(loss::parse("hinge").unwrap()).lambda(1e-3).rank(50).fit(&x, &three).unwrap();
    assert!(classes.summary().train_error.unwrap() < 0.25 && classes.model.points() == 50);
    // Files hold landmarks only, and give the same.
    let bytes = mercer::format::to_bytes(&classes.model).unwrap();
    let again = mercer::format::from_bytes(&bytes).unwrap();
    assert_eq!(again.classes_of(&x).unwrap(), classes.model.classes_of(&x).unwrap());
    assert!(bytes.len() < 8 * 400 * 2 + 4000, "{}", bytes.len());
    let refused = Fit::new(kernel())
        .loss(loss::parse("hinge").unwrap())
        .criterion(mercer::criterion::Criterion::LeaveOneOut)
        .rank(50)
        .fit(&x, &labels);
    assert!(refused.unwrap_err().to_string().contains("a rank must be used with"));
}

#[test]
fn where_memory_does_not_suffice_landmarks_step_in_by_themselves() {
    let (x, _, labels) = rows(2500, 11);
    let learn =
        Fit::new(Gaussian::lengthscale(1.0)).loss(loss::parse("logistic").unwrap()).lambda(1e-3).memory(100 << 20);
    let found = learn.clone().fit(&x, &labels).unwrap();
    assert!(matches!(found.plan.method, Method::LowRank { .. }) && found.plan.bytes <= 100 << 20);
    assert!(matches!(learn.exact().fit(&x, &labels), Err(Error::Memory { .. })));
}
