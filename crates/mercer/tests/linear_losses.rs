//! Losses other than the squared one with a linear kernel, solved in the features: against references that know nothing of this
//! library, and without a penalty to speak of.

mod reference;

use mercer::learn::ManyClasses;
use mercer::plan::Method;
use mercer::prelude::*;
use mercer::{kernel, loss};

use reference::Random;

/// Fisher's iris flowers, standardised (deviation with the divisor n), and their species 0, 1, 2.
fn iris() -> (Matrix, Vec<f64>) {
    let text = include_str!("reference/iris.csv");
    let rows: Vec<Vec<&str>> = text.lines().skip(1).map(|line| line.split(',').collect()).collect();
    let mut x = Matrix::from_fn(rows.len(), 4, |i, j| rows[i][j].parse().expect("a number"));
    for j in 0..4 {
        let mean = x.col(j).iter().sum::<f64>() / 150.0;
        let deviation = (x.col(j).iter().map(|v| (v - mean).powi(2)).sum::<f64>() / 150.0).sqrt();
        x.col_mut(j).iter_mut().for_each(|v| *v = (*v - mean) / deviation);
    }
    let species = ["setosa", "versicolor", "virginica"];
    (x, rows.iter().map(|row| species.iter().position(|s| *s == row[4]).expect("a species") as f64).collect())
}

fn learn(spec: &str, kernel: &str) -> Fit {
    Fit::with_shared(kernel::parse(kernel).unwrap()).loss(loss::parse(spec).unwrap()).scale(Scale::None)
}

fn multinomial(kernel: &str) -> Fit {
    learn("logistic", kernel).many_classes(ManyClasses::Multinomial)
}

/// Least objectives by scipy 1.17.1: minimize(method="BFGS", gtol=1e-10) on (1/n) Σ (ln Σ exp v − v_y) + λ‖W‖² with the gradient
/// written out, V = XW + 1bᵀ.
const IRIS: [(f64, f64); 4] = [
    (1e-2, 0.3123146737714899),
    (1e-3, 0.13192370140732562),
    (1e-4, 0.06278580025410871),
    (1e-5, 0.043757094853346855),
];

#[test]
fn multinomial_iris_has_the_least_objective() {
    let (x, y) = iris();
    for (lambda, want) in IRIS {
        let learned = multinomial("linear").lambda(lambda).fit(&x, &y).unwrap();
        let summary = learned.summary();
        assert!(summary.certificate.holds && !summary.is_zero, "{lambda}: {:?}", summary.certificate);
        assert!((summary.objective - want).abs() <= 1e-9 * want, "{lambda}: {} not {want}", summary.objective);
        // The bound is one: no function is below the reference by more than its rounding.
        let bound = summary.objective * (1.0 - summary.certificate.duality_gap.unwrap());
        assert!(bound <= want * (1.0 + 1e-12), "{lambda}: {bound} above {want}");
        // The kernel 4·xᵀx′ at 4λ is the same problem.
        let scaled = multinomial("4*linear").lambda(4.0 * lambda).fit(&x, &y).unwrap();
        assert!((scaled.summary().objective - want).abs() <= 1e-9 * want, "{lambda}");
        for (a, b) in learned.fitted.concat().iter().zip(scaled.fitted.concat()) {
            assert!((a - b).abs() < 1e-3, "{a} {b}");
        }
    }
}

#[test]
fn multinomial_iris_is_certified_at_defaults() {
    let (x, y) = iris();
    for kernel in ["linear", "gaussian", "polynomial(degree=2)", "gaussian(lengthscale=5)"] {
        let learned = multinomial(kernel).fit(&x, &y).unwrap();
        for summary in learned.model.summaries() {
            let certificate = &summary.certificate;
            assert!(certificate.holds && !summary.is_zero, "{kernel} {}: {certificate:?}", summary.target);
        }
        let right =
            learned.model.classes_of(&x).unwrap().iter().zip(&y).filter(|(c, y)| **c == Some(**y as usize)).count();
        assert!(right >= 144, "{kernel}: {right}");
    }
    assert_eq!(multinomial("linear").fit(&x, &y).unwrap().plan.method, Method::Features);
}

/// A polynomial kernel is factored as a Gram matrix of low rank; its features written out are solved in the features.
#[test]
fn multinomial_models_of_a_singular_matrix_are_those_of_its_features() {
    let (x, y) = iris();
    let two = Matrix::from_fn(150, 2, |i, j| x.get(i, 2 + j));
    // (xᵀx′ + 1)² = Σ φφ′ with φ = (√2 x₁, √2 x₂, x₁², x₂², √2 x₁x₂) and a constant, which the offset takes.
    let root = std::f64::consts::SQRT_2;
    let features = Matrix::from_fn(150, 5, |i, j| {
        let (a, b) = (two.get(i, 0), two.get(i, 1));
        [root * a, root * b, a * a, b * b, root * a * b][j]
    });
    let weights: Vec<f64> = (0..150).map(|i| 0.5 + (i % 4) as f64).collect();
    let target = Matrix::column_vector(y);
    // Below, coefficients of 1/λ cancel in a singular matrix, and the gap is found to fewer digits.
    for (lambda, tolerance) in [(1e-2, 1e-8), (1e-4, 1e-8), (1e-6, 1e-6)] {
        for weights in [None, Some(&weights[..])] {
            let fit = |kernel: &str, x: &Matrix| {
                multinomial(kernel).lambda(lambda).tolerance(tolerance).fit_weighted(x, &target, weights).unwrap()
            };
            let (a, b) = (fit("polynomial(degree=2,constant=1)", &two), fit("linear", &features));
            let (p, q) = (a.summary(), b.summary());
            let is_weighted = weights.is_some();
            assert!(
                p.certificate.holds && q.certificate.holds,
                "{lambda}, weighted {is_weighted}: {:?} {:?}",
                p.certificate,
                q.certificate
            );
            assert!((p.objective - q.objective).abs() <= 2.0 * tolerance * q.objective, "{lambda}: {p:?} {q:?}");
        }
    }
}

/// Two classes that overlap, with coefficients by iteratively reweighted least squares: glm() as textbooks have it.
fn overlapping() -> (Matrix, Vec<f64>, Vec<f64>) {
    let mut random = Random::new(22);
    let (n, p) = (300, 6);
    let x = random.matrix(n, p);
    let y: Vec<f64> = (0..n)
        .map(|i| if x.get(i, 0) - 0.7 * x.get(i, 3) + 0.4 + 1.2 * random.normal() > 0.0 { 1.0 } else { -1.0 })
        .collect();
    let mut w = vec![0.0; p + 1];
    let column = |i: usize, j: usize| if j < p { x.get(i, j) } else { 1.0 };
    for _ in 0..40 {
        let (mut a, mut rhs) = (vec![vec![0.0; p + 1]; p + 1], vec![0.0; p + 1]);
        for i in 0..n {
            let v: f64 = (0..=p).map(|j| column(i, j) * w[j]).sum();
            let mu = 1.0 / (1.0 + (-v).exp());
            for j in 0..=p {
                rhs[j] += column(i, j) * (f64::from(y[i] > 0.0) - mu);
                (0..=p).for_each(|k| a[j][k] += column(i, j) * column(i, k) * mu * (1.0 - mu));
            }
        }
        let step = eliminate(a, rhs);
        w.iter_mut().zip(&step).for_each(|(w, s)| *w += s);
    }
    (x, y, w)
}

fn eliminate(mut a: Vec<Vec<f64>>, mut b: Vec<f64>) -> Vec<f64> {
    let n = b.len();
    for k in 0..n {
        for i in k + 1..n {
            let factor = a[i][k] / a[k][k];
            (k..n).for_each(|j| a[i][j] -= factor * a[k][j]);
            b[i] -= factor * b[k];
        }
    }
    for k in (0..n).rev() {
        b[k] = (b[k] - (k + 1..n).map(|j| a[k][j] * b[j]).sum::<f64>()) / a[k][k];
    }
    b
}

#[test]
fn logistic_coefficients_approach_those_without_penalty() {
    let (x, y, want) = overlapping();
    let mut last = f64::INFINITY;
    for lambda in [1e-6, 1e-8, 1e-10, 1e-12, 1e-14] {
        let learned = learn("logistic", "linear").lambda(lambda).fit(&x, &y).unwrap();
        let summary = learned.summary();
        assert!(summary.certificate.duality_gap.unwrap() <= 1e-7, "{lambda}: {:?}", summary.certificate);
        let found = learned.model.coefficients(0).iter().chain([&summary.intercept]);
        let error = found.zip(&want).fold(0.0, |max: f64, (w, v)| max.max((w - v).abs()));
        assert!(error <= (100.0 * lambda).max(1e-8) && error <= last.max(1e-8), "{lambda}: {error}");
        last = error;
    }
    assert!(learn("logistic", "linear").lambda(1e-12).fit(&x, &y).unwrap().separated().is_empty());
}

#[test]
fn separated_classes_are_named() {
    let (x, y) = iris();
    assert_eq!(multinomial("linear").lambda(1e-4).fit(&x, &y).unwrap().separated(), ["y 0"]);
    let against_rest = learn("logistic", "linear").lambda(1e-4).fit(&x, &y).unwrap();
    assert_eq!(against_rest.separated(), ["y 0"]);
    // What a kernel separates says nothing, and a support vector machine has a best separating function.
    assert!(learn("logistic", "gaussian").lambda(1e-6).fit(&x, &y).unwrap().separated().is_empty());
    assert!(learn("hinge", "linear").lambda(1e-4).fit(&x, &y).unwrap().separated().is_empty());
    // The objective falls to 0 with λ, and is met all the same.
    let setosa: Vec<f64> = y.iter().map(|y| if *y == 0.0 { 1.0 } else { -1.0 }).collect();
    for lambda in [1e-4, 1e-8, 1e-12] {
        let learned = learn("logistic", "linear").lambda(lambda).fit(&x, &setosa).unwrap();
        assert!(learned.summary().certificate.holds, "{lambda}: {:?}", learned.summary().certificate);
    }
}

fn heavy_tails(n: usize, p: usize) -> (Matrix, Vec<f64>, Vec<f64>) {
    let mut random = Random::new(7);
    let x = random.matrix(n, p);
    let y = (0..n)
        .map(|i| {
            let noise = random.normal() / (0.05 + random.uniform());
            3.0 + 2.0 * x.get(i, 0) - x.get(i, p - 1) + noise
        })
        .collect();
    (x, y, (0..n).map(|_| (1.5 * random.normal()).exp()).collect())
}

/// Quantiles of a line through 2 of 15 points: the linear programme has its optimum at such a line.
#[test]
fn quantiles_without_penalty_are_the_best_of_all_lines_through_points() {
    let (x, y, weights) = heavy_tails(15, 1);
    for quantile in [0.1, 0.5, 0.8] {
        for weights in [None, Some(&weights[..])] {
            let weight = |i: usize| weights.map_or(1.0, |w| w[i]);
            let total: f64 = (0..15).map(weight).sum();
            let loss = |slope: f64, start: f64| {
                let row = |i: usize| y[i] - start - slope * x.get(i, 0);
                (0..15).map(|i| weight(i) * (quantile * row(i)).max((quantile - 1.0) * row(i))).sum::<f64>() / total
            };
            let mut best = f64::INFINITY;
            for i in 0..15 {
                for j in 0..i {
                    let slope = (y[i] - y[j]) / (x.get(i, 0) - x.get(j, 0));
                    best = best.min(loss(slope, y[i] - slope * x.get(i, 0)));
                }
            }
            let learn = learn(&format!("pinball(quantile={quantile})"), "linear").lambda(1e-11).tolerance(1e-8);
            let learned = learn.fit_weighted(&x, &Matrix::column_vector(y.clone()), weights).unwrap();
            let found = loss(learned.model.coefficients(0)[0], learned.summary().intercept);
            assert!((found - best).abs() <= 2e-8 * best, "{quantile}: {found} not {best}");
            assert!(learned.summary().certificate.holds && learned.plan.method == Method::Features);
        }
    }
}

/// Huber's loss by iteratively reweighted ridge regression: weights min(1, c/|r|), as MASS::rlm does.
fn huber_by_reweighting(x: &Matrix, y: &[f64], weights: &[f64], threshold: f64, lambda: f64) -> f64 {
    let (n, p) = (x.rows(), x.cols());
    let total: f64 = weights.iter().sum();
    let column = |i: usize, j: usize| if j < p { x.get(i, j) } else { 1.0 };
    let mut w = vec![0.0; p + 1];
    let residual = |w: &[f64], i: usize| y[i] - (0..=p).map(|j| column(i, j) * w[j]).sum::<f64>();
    for _ in 0..3000 {
        let (mut a, mut rhs) = (vec![vec![0.0; p + 1]; p + 1], vec![0.0; p + 1]);
        for i in 0..n {
            let share = weights[i] * (threshold / residual(&w, i).abs()).min(1.0);
            for j in 0..=p {
                rhs[j] += share * column(i, j) * y[i];
                (0..=p).for_each(|k| a[j][k] += share * column(i, j) * column(i, k));
            }
        }
        (0..p).for_each(|j| a[j][j] += 2.0 * lambda * total);
        w = eliminate(a, rhs);
    }
    let value = |r: f64| if r <= threshold { 0.5 * r * r } else { threshold * (r - 0.5 * threshold) };
    let losses: f64 = (0..n).map(|i| weights[i] * value(residual(&w, i).abs())).sum();
    losses / total + lambda * w[..p].iter().map(|w| w * w).sum::<f64>()
}

#[test]
fn huber_is_that_of_reweighted_least_squares() {
    let (x, y, weights) = heavy_tails(80, 3);
    let ones = vec![1.0; 80];
    for threshold in [0.05, 1.0, 20.0] {
        for lambda in [1e-1, 1e-4, 1e-10] {
            for weights in [&ones, &weights] {
                let learn = learn(&format!("huber(threshold={threshold})"), "linear").lambda(lambda).tolerance(1e-9);
                let learned = learn.fit_weighted(&x, &Matrix::column_vector(y.clone()), Some(weights)).unwrap();
                let want = huber_by_reweighting(&x, &y, weights, threshold, lambda);
                let found = learned.summary().objective;
                assert!((found - want).abs() <= 1e-8 * want, "{threshold} {lambda}: {found} not {want}");
                assert!(learned.summary().certificate.holds && learned.plan.method == Method::Features);
            }
        }
    }
}

/// The features and the dual of the kernel matrix are different solvers of one problem; only one of them needs n² numbers.
#[test]
fn quantiles_and_huber_agree_with_the_dual_and_need_no_matrix() {
    let (x, y, weights) = heavy_tails(120, 3);
    let gram = Matrix::from_fn(120, 120, |i, j| (0..3).map(|k| x.get(i, k) * x.get(j, k)).sum());
    let target = Matrix::column_vector(y);
    for spec in ["pinball(quantile=0.9)", "pinball(quantile=0.02)", "huber(threshold=1)", "absolute"] {
        for weights in [None, Some(&weights[..])] {
            for (lambda, exponent) in [(1e-1, 2.0), (1e-4, 2.0), (1e-2, 1.5), (3e-2, 1.0)] {
                let with = |kernel: &str, x: &Matrix| {
                    let learn = learn(spec, kernel).lambda(lambda).exponent(exponent).tolerance(1e-7);
                    learn.fit_weighted(x, &target, weights).unwrap()
                };
                let (a, b) = (with("linear", &x), with("precomputed", &gram));
                let (p, q) = (a.summary(), b.summary());
                let label = format!("{spec} {lambda} {exponent} weighted {}", weights.is_some());
                assert!(p.certificate.holds && q.certificate.holds, "{label}: {:?} {:?}", p.certificate, q.certificate);
                assert!(
                    (p.objective - q.objective).abs() <= 3e-7 * q.objective,
                    "{label}: {} {}",
                    p.objective,
                    q.objective
                );
                assert_eq!(a.plan.method, Method::Features, "{label}");
            }
        }
    }
    let (x, y, _) = heavy_tails(5000, 4);
    let learned = learn("pinball(quantile=0.9)", "linear").lambda(1e-6).fit(&x, &y).unwrap();
    assert!(learned.plan.bytes < 8 * 5000 * 5000 / 4, "{}", learned.plan.bytes);
    let below = (0..5000).filter(|i| y[*i] < learned.fitted[0][*i]).count();
    assert!(below.abs_diff(4500) <= 5, "{below}");
}
