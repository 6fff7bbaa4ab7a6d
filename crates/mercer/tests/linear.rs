//! Linear models against reference files, slow obvious oracles, laws, and gaps recomputed in twice the precision.

mod reference;

use mercer::linear::features::Features;
use mercer::linear::gap::lasso_gap;
use mercer::linear::lasso::{lambda_grid, to_alpha_and_l1_ratio};
use mercer::linear::{
    LassoSettings, LinearSolution, MarginLoss, MarginSettings, Sparse, aic_bic, cross_validate, kernel_lasso_path,
    lambda_max, lasso, lasso_path, least_squares, margin, tikhonov,
};
use mercer::penalty::Gamma;
use mercer::prelude::*;

use reference::{ALL_LOSSES, Random, load, matrix, numbers};

fn largest_difference(a: &[f64], b: &[f64]) -> f64 {
    assert_eq!(a.len(), b.len());
    a.iter().zip(b).fold(0.0, |max: f64, (a, b)| max.max((a - b).abs()))
}

const PRECISE: f64 = 1e-10;

fn precise() -> LassoSettings<'static> {
    LassoSettings { tolerance: PRECISE, ..LassoSettings::default() }
}

/// (1/W) Σ w(y − xᵀw − b)² + λ(ratio‖w‖₁ + (1 − ratio)‖w‖²), written out.
fn objective(x: &Matrix, y: &[f64], weights: &[f64], lambda: f64, ratio: f64, w: &[f64], b: f64) -> f64 {
    let total: f64 = weights.iter().sum();
    let loss: f64 = (0..x.rows())
        .map(|i| weights[i] * (y[i] - b - (0..x.cols()).map(|j| x.get(i, j) * w[j]).sum::<f64>()).powi(2))
        .sum();
    let one: f64 = w.iter().map(|w| w.abs()).sum();
    let two: f64 = w.iter().map(|w| w * w).sum();
    loss / total + lambda * (ratio * one + (1.0 - ratio) * two)
}

#[test]
fn golden_lasso_ridge_tikhonov_and_least_squares() {
    for name in ["linear-tall", "linear-wide"] {
        let file = load(name);
        let plain = matrix(&file["X"]);
        let y = numbers(&file["y"]);
        let ones = vec![1.0; y.len()];
        for x in [Features::from(plain.clone()), Features::from(Sparse::from_dense(&plain).unwrap())] {
            let largest = lambda_max(&x, &y, None, &precise()).unwrap();
            assert!((largest / file["lambda_max"].as_f64().unwrap() - 1.0).abs() < 1e-12);
            for case in file["cases"].as_array().unwrap() {
                let method = case["method"].as_str().unwrap();
                let lambda = case["lambda"].as_f64().unwrap_or(0.0);
                let want = numbers(&case["coefficients"]);
                let label = format!("{name} {method} {lambda}");
                let (w, b, allowed) = match method {
                    "lasso" => {
                        let got = lasso(&x, &y, None, lambda, &precise()).unwrap();
                        let value = case["objective"].as_f64().unwrap();
                        assert!((got.objective / value - 1.0).abs() < 1e-9, "{label}: {} {value}", got.objective);
                        assert_eq!(got.nonzero as u64, case["nonzero"].as_u64().unwrap(), "{label}");
                        assert!(got.converged && got.relative_gap <= PRECISE);
                        (got.coefficients, got.intercept, 1e-5)
                    }
                    "ridge" | "tikhonov" => {
                        let gamma = if method == "ridge" { Gamma::Identity } else { Gamma::FirstDifferences };
                        let got = tikhonov(&x, &y, None, lambda, &gamma, true).unwrap();
                        assert!(got.converged, "{label}: gap {}", got.relative_gap);
                        (got.coefficients, got.intercept, 1e-9)
                    }
                    _ => {
                        let got = least_squares(&x, &y, None, true).unwrap();
                        assert_eq!(got.rank, plain.cols().min(plain.rows() - 1));
                        assert!(got.gradient < 1e-13 && got.digits > 8.0, "{label}: {} {}", got.gradient, got.digits);
                        (got.coefficients, got.intercept, 1e-9)
                    }
                };
                assert!(largest_difference(&w, &want) < allowed, "{label}: {}", largest_difference(&w, &want));
                assert!((b - case["intercept"].as_f64().unwrap()).abs() < allowed, "{label}");
                let ours = objective(&plain, &y, &ones, lambda, 1.0, &w, b);
                let theirs = objective(&plain, &y, &ones, lambda, 1.0, &want, case["intercept"].as_f64().unwrap());
                if method == "lasso" {
                    assert!(ours <= theirs * (1.0 + 1e-9), "{label}: {ours} {theirs}");
                }
            }
        }
    }
}

#[test]
fn golden_kernel_lasso() {
    let file = load("kernel-lasso");
    let (x, y) = (matrix(&file["X"]), numbers(&file["y"]));
    let kernel = Gaussian::lengthscale(file["kernel"]["lengthscale"].as_f64().unwrap());
    let settings = LassoSettings { offset: false, ..precise() };
    for case in file["cases"].as_array().unwrap() {
        let lambda = case["lambda"].as_f64().unwrap();
        let path = kernel_lasso_path(&kernel, &x, &y, None, Some(&[lambda]), &settings).unwrap();
        let got = &path.solutions[0];
        let want = case["objective"].as_f64().unwrap();
        assert!((got.objective / want - 1.0).abs() < 1e-8, "{lambda}: {} {want}", got.objective);
        assert_eq!(got.nonzero as u64, case["nonzero"].as_u64().unwrap(), "{lambda}");
    }
}

/// B6: 200 random problems of every kind; the gap, recomputed in twice the precision by code that shares nothing with
/// the solver, is at most what was asked for.
#[test]
fn two_hundred_gaps_recomputed() {
    let mut random = Random::new(6);
    let mut checked = 0;
    for problem in 0..200 {
        let (n, p) = (1 + random.below(60), 1 + random.below(120));
        let mut x = random.matrix(n, p);
        match problem % 5 {
            1 => (0..n * p).for_each(|k| {
                if random.uniform() < 0.8 {
                    x.as_mut_slice()[k] = 0.0;
                }
            }),
            // Nearly the same columns, far from centred.
            2 => (0..p).for_each(|j| (0..n).for_each(|i| x.set(i, j, 100.0 + 0.01 * x.get(i, j) + x.get(i, 0)))),
            // Columns twice, columns constant.
            3 => (0..p).filter(|j| j % 3 > 0).for_each(|j| {
                let (source, constant) = (x.col(j - 1).to_vec(), j % 3 == 2);
                x.col_mut(j).iter_mut().zip(source).for_each(|(v, s)| *v = if constant { 7.0 } else { s });
            }),
            // Units of any size.
            4 => (0..p).for_each(|j| {
                let unit = 10f64.powi(random.below(13) as i32 - 6);
                x.col_mut(j).iter_mut().for_each(|v| *v *= unit);
            }),
            _ => {}
        }
        let truth = random.vector(p);
        let y: Vec<f64> = (0..n)
            .map(|i| (0..p.min(5)).map(|j| x.get(i, j) * truth[j]).sum::<f64>() + 0.5 * random.normal())
            .collect();
        let weights: Option<Vec<f64>> = (problem % 3 == 0).then(|| (0..n).map(|_| 0.1 + random.uniform()).collect());
        let offset = problem % 2 == 0;
        let ratio = if problem % 7 == 0 { 0.5 } else { 1.0 };
        let tolerance = if problem % 4 == 0 { 1e-10 } else { 1e-6 };
        let settings = LassoSettings { offset, ratio, tolerance, points: 12, ..LassoSettings::default() };
        let features: Features =
            if problem % 5 == 1 { Sparse::from_dense(&x).unwrap().into() } else { x.clone().into() };
        let path = lasso_path(&features, &y, weights.as_deref(), None, &settings).unwrap();
        for (lambda, solution) in path.lambdas.iter().zip(&path.solutions) {
            let gap = lasso_gap(
                &features,
                &y,
                weights.as_deref(),
                offset,
                *lambda,
                ratio,
                &solution.coefficients,
                solution.intercept,
            )
            .unwrap();
            assert!(solution.converged, "problem {problem} λ {lambda}: {}", solution.relative_gap);
            // Rounding of P itself: 1e-14 relative.
            assert!(gap.relative() <= tolerance, "problem {problem} λ {lambda}: {:e}", gap.relative());
            assert!((gap.primal - solution.objective).abs() <= 1e-9 * gap.primal, "problem {problem}");
            let ones = vec![1.0; n];
            let plain = objective(
                &x,
                &y,
                weights.as_deref().unwrap_or(&ones),
                *lambda,
                ratio,
                &solution.coefficients,
                solution.intercept,
            );
            assert!((gap.primal - plain).abs() <= 1e-8 * plain, "problem {problem}");
            checked += 1;
        }
    }
    assert!(checked > 2000);
}

/// Cyclic coordinate descent with nothing clever, for many rounds.
fn slow_lasso(x: &Matrix, y: &[f64], weights: &[f64], lambda: f64, ratio: f64, offset: bool) -> (Vec<f64>, f64) {
    let total: f64 = weights.iter().sum();
    let (n, p) = (x.rows(), x.cols());
    let (mut w, mut b) = (vec![0.0; p], 0.0);
    for _ in 0..20_000 {
        let mut r: Vec<f64> = (0..n).map(|i| y[i] - b - (0..p).map(|j| x.get(i, j) * w[j]).sum::<f64>()).collect();
        let mut moved = 0.0_f64;
        for j in 0..p {
            let square: f64 = (0..n).map(|i| weights[i] * x.get(i, j).powi(2)).sum::<f64>() / total;
            if square == 0.0 {
                continue;
            }
            let c = (0..n).map(|i| weights[i] * x.get(i, j) * r[i]).sum::<f64>() / total + square * w[j];
            let new = c.signum() * (c.abs() - lambda * ratio / 2.0).max(0.0) / (square + lambda * (1.0 - ratio));
            (0..n).for_each(|i| r[i] -= (new - w[j]) * x.get(i, j));
            moved = moved.max((new - w[j]).abs());
            w[j] = new;
        }
        if offset {
            let shift = (0..n).map(|i| weights[i] * r[i]).sum::<f64>() / total;
            b += shift;
            moved = moved.max(shift.abs());
        }
        if moved < 1e-14 {
            break;
        }
    }
    (w, b)
}

#[test]
fn lasso_and_elastic_net_agree_with_plain_coordinate_descent() {
    let mut random = Random::new(1);
    for round in 0..8 {
        let (n, p) = (30, 12);
        let x = random.matrix(n, p);
        let y = random.vector(n);
        let weights: Vec<f64> = (0..n).map(|_| random.uniform() + 0.2).collect();
        let ratio = [1.0, 0.7, 0.2, 1.0][round % 4];
        let offset = round % 2 == 0;
        let lambda = 0.15;
        let settings = LassoSettings { ratio, offset, ..precise() };
        let got = lasso(&x.clone().into(), &y, Some(&weights), lambda, &settings).unwrap();
        let (w, b) = slow_lasso(&x, &y, &weights, lambda, ratio, offset);
        assert!(largest_difference(&got.coefficients, &w) < 1e-6, "{round}");
        assert!((got.intercept - b).abs() < 1e-6);
        let slow = objective(&x, &y, &weights, lambda, ratio, &w, b);
        assert!((got.objective - slow).abs() < 1e-9 * slow);
    }
}

#[test]
fn the_optimum_satisfies_its_conditions_and_its_subset_is_least_squares() {
    let mut random = Random::new(2);
    let x = random.matrix(40, 200);
    let y: Vec<f64> = (0..40).map(|i| x.get(i, 3) - 2.0 * x.get(i, 7) + 0.1 * random.normal()).collect();
    let features = Features::from(x.clone());
    let lambda = 0.05;
    let got = lasso(&features, &y, None, lambda, &LassoSettings { tolerance: 1e-13, ..precise() }).unwrap();
    let r: Vec<f64> = got.predict(&features).unwrap().iter().zip(&y).map(|(f, y)| y - f).collect();
    assert!(r.iter().sum::<f64>().abs() < 1e-10);
    for j in 0..200 {
        let slope = 2.0 / 40.0 * x.col(j).iter().zip(&r).map(|(x, r)| x * r).sum::<f64>();
        match got.coefficients[j] {
            0.0 => assert!(slope.abs() <= lambda * (1.0 + 1e-6)),
            w => assert!((slope - lambda * w.signum()).abs() < 1e-6 * lambda),
        }
    }
    assert_eq!(got.dof, Some(got.nonzero as f64 + 1.0));
    let path = lasso_path(&features, &y, None, Some(&[lambda]), &precise()).unwrap();
    let (aic, bic) = path.aic_bic(&features, &y, None).unwrap()[0].unwrap();
    let fit = 40.0 * (r.iter().map(|r| r * r).sum::<f64>() / 40.0).ln();
    let dof = got.nonzero as f64 + 1.0;
    assert!((aic - fit - 2.0 * dof).abs() < 1e-6 && (bic - fit - 40f64.ln() * dof).abs() < 1e-6);
}

#[test]
fn weight_two_is_the_row_twice_and_scale_of_weights_is_nothing() {
    let mut random = Random::new(3);
    let x = random.matrix(20, 6);
    let y = random.vector(20);
    let labels: Vec<f64> = y.iter().map(|y| y.signum()).collect();
    let weights: Vec<f64> = (0..20).map(|i| if i % 3 == 0 { 2.0 } else { 1.0 }).collect();
    let rows: Vec<usize> = (0..20).flat_map(|i| vec![i; weights[i] as usize]).collect();
    let features = Features::from(x);
    let twice = features.select_rows(&rows);
    let pick = |v: &[f64]| rows.iter().map(|i| v[*i]).collect::<Vec<f64>>();
    let scaled: Vec<f64> = weights.iter().map(|w| 8.0 * w).collect();
    let close = |a: &LinearSolution, b: &LinearSolution, allowed: f64| {
        assert!(largest_difference(&a.coefficients, &b.coefficients) < allowed);
        assert!((a.intercept - b.intercept).abs() < allowed && (a.objective - b.objective).abs() < allowed);
    };
    for ratio in [1.0, 0.5] {
        let settings = LassoSettings { ratio, tolerance: 1e-13, ..precise() };
        let a = lasso(&features, &y, Some(&weights), 0.1, &settings).unwrap();
        close(&a, &lasso(&twice, &pick(&y), None, 0.1, &settings).unwrap(), 1e-7);
        close(&a, &lasso(&features, &y, Some(&scaled), 0.1, &settings).unwrap(), 1e-7);
    }
    for gamma in [Gamma::Identity, Gamma::SecondDifferences] {
        let a = tikhonov(&features, &y, Some(&weights), 0.1, &gamma, true).unwrap();
        close(&a, &tikhonov(&twice, &pick(&y), None, 0.1, &gamma, true).unwrap(), 1e-12);
    }
    let a = least_squares(&features, &y, Some(&weights), true).unwrap();
    let b = least_squares(&twice, &pick(&y), None, true).unwrap();
    assert!(largest_difference(&a.coefficients, &b.coefficients) < 1e-13);
    // A weight is an inverse variance: the same fit as of the repeated rows, but not as many observations.
    assert!(a.residual_deviation.unwrap() > b.residual_deviation.unwrap());
    let settings = MarginSettings { tolerance: 1e-10, ..MarginSettings::default() };
    for loss in ALL_LOSSES {
        let target = if loss.is_classification() { &labels } else { &y };
        let a = margin(&features, target, Some(&weights), 0.02, loss, &settings).unwrap();
        let b = margin(&twice, &pick(target), None, 0.02, loss, &settings).unwrap();
        assert!((a.objective - b.objective).abs() < 1e-9, "{loss:?}");
        assert!(largest_difference(&a.coefficients, &b.coefficients) < 1e-3, "{loss:?}");
    }
}

#[test]
fn ends_and_oddities() {
    let mut random = Random::new(8);
    let x = random.matrix(15, 4);
    let y = random.vector(15);
    let features = Features::from(x.clone());
    // λ = 0 is least squares; a tiny λ is close to it.
    let exact = least_squares(&features, &y, None, true).unwrap();
    let zero = lasso(&features, &y, None, 0.0, &precise()).unwrap();
    assert_eq!(zero.coefficients, exact.coefficients);
    let tiny = lasso(&features, &y, None, 1e-9, &precise()).unwrap();
    assert!(largest_difference(&tiny.coefficients, &exact.coefficients) < 1e-7);
    // From λmax on w is 0 exactly, just below it is not.
    let largest = lambda_max(&features, &y, None, &precise()).unwrap();
    assert_eq!(lasso(&features, &y, None, largest * (1.0 + 1e-12), &precise()).unwrap().nonzero, 0);
    assert_eq!(lasso(&features, &y, None, 0.99 * largest, &precise()).unwrap().nonzero, 1);
    // One row, no columns, constant columns, constant target.
    for (rows, cols) in [(1, 3), (5, 0), (1, 0)] {
        let x = Features::from(random.matrix(rows, cols));
        let y = random.vector(rows);
        let path = lasso_path(&x, &y, None, None, &precise()).unwrap();
        assert!(path.solutions.iter().all(|s| s.converged && s.nonzero == 0));
        assert!(least_squares(&x, &y, None, true).is_ok() && least_squares(&x, &y, None, false).is_ok());
        assert!(tikhonov(&x, &y, None, 0.1, &Gamma::SecondDifferences, true).is_ok());
    }
    let constant = Features::from(Matrix::from_fn(15, 2, |_, j| 3.0 + j as f64));
    assert!(lasso_path(&constant, &y, None, None, &precise()).unwrap().solutions.iter().all(|s| s.nonzero == 0));
    let fit = least_squares(&constant, &y, None, true).unwrap();
    assert_eq!((fit.rank, fit.coefficients), (0, vec![0.0, 0.0]));
    let same = lasso_path(&features, &[2.0; 15], None, None, &precise()).unwrap();
    assert!(same.solutions.iter().all(|s| s.nonzero == 0 && s.intercept == 2.0 && s.objective == 0.0));
    // Columns twice: the same objective as once.
    let doubled = Features::from(Matrix::from_fn(15, 8, |i, j| x.get(i, j % 4)));
    let (once, twice) =
        (lasso(&features, &y, None, 0.05, &precise()).unwrap(), lasso(&doubled, &y, None, 0.05, &precise()).unwrap());
    assert!((once.objective - twice.objective).abs() < 1e-9 * once.objective);
    let fit = least_squares(&doubled, &y, None, true).unwrap();
    assert_eq!(fit.rank, 4);
    assert!(largest_difference(&fit.coefficients[..4], &fit.coefficients[4..]) < 1e-12);
    // Huge and tiny units: the answer scales.
    for unit in [1e-100, 1e100] {
        let scaled = Features::from(Matrix::from_fn(15, 4, |i, j| unit * x.get(i, j)));
        let fit = least_squares(&scaled, &y, None, true).unwrap();
        let back: Vec<f64> = fit.coefficients.iter().map(|w| w * unit).collect();
        assert!(largest_difference(&back, &exact.coefficients) < 1e-12);
        let path = lasso_path(&scaled, &y, None, None, &precise()).unwrap();
        assert!(path.solutions.iter().all(|s| s.converged));
    }
    // Refusals.
    let wrong = Gamma::Matrix(Matrix::zeros(2, 3));
    let message = tikhonov(&features, &y, None, 1.0, &wrong, true).unwrap_err().to_string();
    assert!(message.contains('3') && message.contains('4'), "{message}");
    assert!(lasso(&features, &y[1..], None, 1.0, &precise()).is_err());
    assert!(lasso(&features, &y, None, f64::NAN, &precise()).is_err());
    assert!(lasso(&features, &y, Some(&[-1.0; 15]), 1.0, &precise()).is_err());
    assert!(margin(&features, &y, None, 1.0, MarginLoss::Hinge, &MarginSettings::default()).is_err());
    assert!(Sparse::from_rows(2, &[vec![(1, 1.0), (0, 1.0)]]).is_err());
    assert!(Sparse::from_rows(2, &[vec![(2, 1.0)]]).is_err());
    assert!(Sparse::from_triplets(1, 2, &[(0, 1, f64::NAN)]).is_err());
    assert!(Sparse::from_triplets(1, 2, &[(0, 1, 1.0), (0, 1, 2.0)]).is_err());
    // Cancelled.
    let cancelled = LassoSettings { go_on: &|| false, ..precise() };
    assert_eq!(lasso(&features, &y, None, 0.01, &cancelled).unwrap_err(), Error::Interrupted);
}

#[test]
fn sparse_and_dense_products_agree() {
    let mut random = Random::new(9);
    let mut x = random.matrix(700, 300);
    (0..700 * 300).for_each(|k| {
        if random.uniform() < 0.9 {
            x.as_mut_slice()[k] = 0.0;
        }
    });
    let (dense, sparse) = (Features::from(x.clone()), Features::from(Sparse::from_dense(&x).unwrap()));
    let (v, u) = (random.vector(300), random.vector(700));
    assert!(largest_difference(&dense.multiply(&v), &sparse.multiply(&v)) < 1e-12);
    assert!(largest_difference(&dense.multiply_transposed(&u), &sparse.multiply_transposed(&u)) < 1e-12);
    assert!(largest_difference(&dense.means(Some(&vec![0.5; 700])), &sparse.means(None)) < 1e-14);
    assert!(largest_difference(&dense.squared_norms(), &sparse.squared_norms()) < 1e-12);
    let y: Vec<f64> = (0..700).map(|i| 3.0 * x.get(i, 1) - x.get(i, 5) + random.normal() + 4.0).collect();
    let a = lasso_path(&dense, &y, None, None, &precise()).unwrap();
    let b = lasso_path(&sparse, &y, None, None, &precise()).unwrap();
    for (a, b) in a.solutions.iter().zip(&b.solutions) {
        assert!(largest_difference(&a.coefficients, &b.coefficients) < 1e-5);
        assert!((a.objective - b.objective).abs() < 1e-9 * a.objective && (a.intercept - b.intercept).abs() < 1e-5);
    }
}

#[test]
fn cross_validation_refits_every_fold() {
    let mut random = Random::new(10);
    let x = random.matrix(50, 20);
    let y: Vec<f64> = (0..50).map(|i| x.get(i, 0) - x.get(i, 1) + 0.5 * random.normal()).collect();
    let folds: Vec<Vec<usize>> = (0..5).map(|k| (0..50).filter(|i| i % 5 == k).collect()).collect();
    let features = Features::from(x);
    let got = cross_validate(&features, &y, None, None, &folds, &precise()).unwrap();
    let k = 40;
    let lambda = got.path.lambdas[k];
    let errors: Vec<f64> = folds
        .iter()
        .map(|fold| {
            let training: Vec<usize> = (0..50).filter(|i| !fold.contains(i)).collect();
            let target: Vec<f64> = training.iter().map(|i| y[*i]).collect();
            let fit = lasso(&features.select_rows(&training), &target, None, lambda, &precise()).unwrap();
            let predicted = fit.predict(&features.select_rows(fold)).unwrap();
            fold.iter().zip(&predicted).map(|(i, f)| (y[*i] - f).powi(2)).sum::<f64>() / fold.len() as f64
        })
        .collect();
    let mean = errors.iter().sum::<f64>() / 5.0;
    let spread = errors.iter().map(|e| (e - mean).powi(2)).sum::<f64>() / 4.0;
    assert!((got.mean[k] - mean).abs() < 1e-6 * mean);
    assert!((got.standard_error[k] - (spread / 5.0).sqrt()).abs() < 1e-5 * mean);
    assert!(got.one_standard_error <= got.best && got.mean.iter().all(|m| *m >= got.mean[got.best]));
    assert!(got.mean[got.one_standard_error] <= got.mean[got.best] + got.standard_error[got.best]);
    assert!(cross_validate(&features, &y, None, None, &folds[..1], &precise()).is_err());
    assert!(cross_validate(&features, &y, None, None, &[vec![0], vec![50]], &precise()).is_err());
}

#[test]
fn conversions_and_criteria() {
    // Half of our objective is theirs: ½(λ·ratio) = alpha·l1_ratio and ½λ(1 − ratio) = alpha(1 − l1_ratio)/2.
    let (alpha, l1_ratio) = to_alpha_and_l1_ratio(0.6, 0.25);
    assert!((alpha * l1_ratio - 0.5 * 0.6 * 0.25).abs() < 1e-15);
    assert!((0.5 * alpha * (1.0 - l1_ratio) - 0.5 * 0.6 * 0.75).abs() < 1e-15);
    assert_eq!(to_alpha_and_l1_ratio(0.6, 1.0), (0.3, 1.0));
    let grid = lambda_grid(2.0, 3, 0.01);
    assert!((grid[1] - 0.2).abs() < 1e-15 && (grid[2] - 0.02).abs() < 1e-15 && grid[0] == 2.0);
    let (aic, bic) = aic_bic(1.0, 100.0, 3.0);
    assert!(aic == 6.0 && (bic - 3.0 * 100f64.ln()).abs() < 1e-12);
}

#[test]
fn threads_change_no_bit() {
    let mut random = Random::new(11);
    let x = random.matrix(300, 600);
    let y: Vec<f64> = (0..300).map(|i| x.get(i, 0) + x.get(i, 9) + random.normal()).collect();
    let labels: Vec<f64> = y.iter().map(|y| y.signum()).collect();
    let tall = Features::from(random.matrix(3000, 12));
    let tall_labels: Vec<f64> = (0..3000).map(|_| random.normal().signum()).collect();
    let folds: Vec<Vec<usize>> = (0..3).map(|k| (0..300).filter(|i| i % 3 == k).collect()).collect();
    let features = Features::from(x);
    let settings = LassoSettings { points: 20, smallest: 0.02, ..LassoSettings::default() };
    let all = |threads: usize| {
        rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap().install(|| {
            let mut bits: Vec<u64> = Vec::new();
            let cross = cross_validate(&features, &y, None, None, &folds, &settings).unwrap();
            bits.extend(cross.mean.iter().map(|v| v.to_bits()));
            for solution in cross.path.solutions {
                bits.extend(solution.coefficients.iter().map(|v| v.to_bits()));
            }
            for loss in ALL_LOSSES {
                let wide = margin(
                    &features,
                    if loss.is_classification() { &labels } else { &y },
                    None,
                    0.01,
                    loss,
                    &MarginSettings::default(),
                );
                let tall = margin(&tall, &tall_labels, None, 0.01, loss, &MarginSettings::default());
                for solution in [wide.unwrap(), tall.unwrap()] {
                    bits.extend(solution.coefficients.iter().map(|v| v.to_bits()));
                }
            }
            bits
        })
    };
    let one = all(1);
    assert!(one == all(2) && one == all(3));
}

/// Columns so sparse, and so many of them active, that residuals are carried instead of products.
#[test]
fn large_sparse_supports_reach_the_gap_too() {
    let mut random = Random::new(12);
    let (n, p) = (1500, 4000);
    let entries: Vec<Vec<(usize, f64)>> = (0..n)
        .map(|_| {
            let mut row: Vec<(usize, f64)> = (0..12).map(|_| (random.below(p), 1.0 + random.normal())).collect();
            row.sort_by_key(|e| e.0);
            row.dedup_by_key(|e| e.0);
            row
        })
        .collect();
    let y: Vec<f64> = (0..n).map(|i| entries[i][0].1 + random.normal() + 2.0).collect();
    let x = Features::from(Sparse::from_rows(p, &entries).unwrap());
    for (offset, ratio) in [(true, 1.0), (false, 0.9)] {
        let settings = LassoSettings { offset, ratio, points: 10, smallest: 0.05, ..precise() };
        let path = lasso_path(&x, &y, None, None, &settings).unwrap();
        assert!(path.solutions[9].nonzero > 900, "{}", path.solutions[9].nonzero);
        for (lambda, s) in path.lambdas.iter().zip(&path.solutions) {
            let gap = lasso_gap(&x, &y, None, offset, *lambda, ratio, &s.coefficients, s.intercept).unwrap();
            assert!(gap.relative() <= PRECISE, "λ {lambda}: {:e}", gap.relative());
        }
    }
}
