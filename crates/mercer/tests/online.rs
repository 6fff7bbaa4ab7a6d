//! Row by row must be what all at once is.

use mercer::data::{Column, Frame, Roles, Scale};
use mercer::kernel::parse;
use mercer::online::{Method, Online};
use mercer::prelude::*;

/// Deterministic numbers in [0, 1).
fn uniform(index: usize, salt: usize) -> f64 {
    let mut state =
        (index as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ (salt as u64).wrapping_mul(0xD134_2543_DE82_EF95);
    for _ in 0..3 {
        state ^= state >> 29;
        state = state.wrapping_mul(0xBF58_476D_1CE4_E5B9);
    }
    (state >> 11) as f64 / (1_u64 << 53) as f64
}

/// Rows of three features and a noisy target.
fn rows(count: usize) -> (Vec<[f64; 3]>, Vec<f64>) {
    let x: Vec<[f64; 3]> = (0..count).map(|i| [uniform(i, 1), uniform(i, 2), uniform(i, 3)]).collect();
    let y = (0..count).map(|i| 3.0 + (5.0 * x[i][0]).sin() + x[i][1] * x[i][2] + 0.2 * (uniform(i, 4) - 0.5)).collect();
    (x, y)
}

fn matrix(x: &[[f64; 3]]) -> Matrix {
    Matrix::from_rows(x).unwrap()
}

/// Points that no row has, as a matrix and as a table.
fn fresh() -> (Matrix, Frame) {
    let x: Vec<[f64; 3]> = (0..25).map(|i| [uniform(i, 11), uniform(i, 12), uniform(i, 13)]).collect();
    let x = matrix(&x);
    let mut frame = Frame::new(25);
    for j in 0..3 {
        frame.push(format!("x{}", j + 1), Column::Number(x.col(j).to_vec())).unwrap();
    }
    (x, frame)
}

fn spread(y: &[f64]) -> f64 {
    let mean = y.iter().sum::<f64>() / y.len() as f64;
    (y.iter().map(|v| (v - mean) * (v - mean)).sum::<f64>() / y.len() as f64).sqrt()
}

fn predicted(online: &Online) -> Vec<f64> {
    online.predict(&fresh().1).unwrap().into_iter().map(Option::unwrap).collect()
}

/// The largest difference, in units of the target's spread.
fn apart(a: &[f64], b: &[f64], y: &[f64]) -> f64 {
    assert_eq!(a.len(), b.len());
    a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max) / spread(y)
}

fn fit_of(kernel: &str, exponent: f64, lambda: f64, offset: bool) -> Fit {
    let fit = Fit::with_shared(parse(kernel).unwrap()).exponent(exponent).lambda(lambda);
    if offset { fit } else { fit.without_offset() }
}

#[test]
fn every_row_leaves_the_exact_minimiser() {
    let (x, y) = rows(150);
    let mut compared = 0;
    let mut worst: f64 = 0.0;
    for (kernel, lambdas) in [("gaussian(lengthscale=0.5)", [1e-3, 3e-6]), ("laplace(lengthscale=1)", [1e-2, 1e-5])] {
        for exponent in [0.5, 1.0, 1.5, 2.0, 3.0] {
            for lambda in lambdas {
                for offset in [true, false] {
                    let fit = fit_of(kernel, exponent, lambda, offset);
                    let mut online = Online::of_numbers(fit.clone(), 3).unwrap().warm_up(10).unwrap();
                    for i in 0..150 {
                        online.observe_row(&x[i], y[i]).unwrap();
                        if [10, 11, 29, 40, 41, 62, 97, 149].contains(&i) {
                            let batch = fit.fit(&matrix(&x[..=i]), &y[..=i]).unwrap();
                            let expected = batch.model.predict(&fresh().0).unwrap();
                            let difference = apart(&predicted(&online), expected.col(0), &y);
                            let case = format!("{kernel} m = {exponent} λ = {lambda} offset {offset} n = {}", i + 1);
                            assert!(difference < 1e-9, "{case}: {difference:.1e}");
                            worst = worst.max(difference);
                            let state = online.state().unwrap();
                            assert_eq!((state.rows, state.method), (i + 1, Method::Exact));
                            match (state.effective_ridge, batch.summary().effective_ridge) {
                                (Some(a), Some(b)) => assert!((a / b - 1.0).abs() < 1e-8, "{case}: {a} {b}"),
                                (a, b) => assert_eq!(a.is_none(), b.is_none(), "{case}: {a:?} {b:?}"),
                            }
                            compared += 1;
                        }
                    }
                    // From 41 rows on the factor serves for many rows.
                    let state = online.state().unwrap();
                    assert!(state.factors < 60 && (exponent <= 1.0 || state.decompositions == 0), "{state:?}");
                }
            }
        }
    }
    println!("{compared} models, at most {worst:.1e} of the spread apart");
    assert_eq!(compared, 2 * 5 * 2 * 2 * 8);
}

#[test]
fn predictions_know_nothing_of_their_row() {
    let (x, y) = rows(60);
    let fit = fit_of("gaussian(lengthscale=0.7)", 1.3, 1e-4, true);
    let mut online = Online::of_numbers(fit.clone(), 3).unwrap().warm_up(20).unwrap();
    let (mut errors, mut of_mean) = (0.0, 0.0);
    for i in 0..60 {
        let mut other = online.clone();
        let prediction = online.observe_row(&x[i], y[i]).unwrap();
        let blind = other.observe_row(&x[i], 1e6).unwrap();
        assert_eq!(prediction, blind);
        assert_eq!(prediction.is_some(), i >= 20);
        if let Some(value) = prediction {
            let batch = fit.fit(&matrix(&x[..i]), &y[..i]).unwrap();
            let expected = batch.model.predict(&matrix(&x[i..=i])).unwrap().get(0, 0);
            assert!((value - expected).abs() < 1e-9);
            errors += (value - y[i]) * (value - y[i]);
            let mean = y[..i].iter().sum::<f64>() / i as f64;
            of_mean += (mean - y[i]) * (mean - y[i]);
        }
    }
    let losses = online.losses();
    assert_eq!(losses.scored(), 40);
    assert!((losses.rmse().unwrap() - (errors / 40.0_f64).sqrt()).abs() < 1e-9);
    assert!((losses.mean_rmse().unwrap() - (of_mean / 40.0_f64).sqrt()).abs() < 1e-9);
    assert_eq!(losses.recent_rmse(), losses.rmse(), "fewer rows than the window");
}

fn table(x: &[[f64; 3]], y: &[f64]) -> Frame {
    let mut frame = Frame::new(x.len());
    for j in 0..3 {
        frame.push(format!("x{}", j + 1), Column::Number(x.iter().map(|row| row[j]).collect())).unwrap();
    }
    frame.push("y", Column::Number(y.to_vec())).unwrap();
    frame
}

#[test]
fn batches_are_rows_one_at_a_time() {
    let (x, y) = rows(130);
    for exponent in [0.5, 1.0, 1.7, 2.0] {
        let fit = fit_of("matern32(lengthscale=0.8)", exponent, 1e-4, true);
        let start = || {
            let online = Online::of_numbers(fit.clone(), 3).unwrap();
            online.warm_up(15).unwrap().exact_rows(80).landmarks(30).unwrap()
        };
        let mut single = start();
        let one_by_one: Vec<Option<f64>> = (0..130).map(|i| single.observe_row(&x[i], y[i]).unwrap()).collect();
        for size in [7, 50, 130] {
            let mut batches = start();
            let mut all = Vec::new();
            for (x, y) in x.chunks(size).zip(y.chunks(size)) {
                all.extend(batches.observe(&table(x, y)).unwrap());
            }
            assert_eq!(all, one_by_one);
            assert_eq!(batches.losses().rmse(), single.losses().rmse());
            assert_eq!(predicted(&batches), predicted(&single));
        }
        // Without predictions the problem is solved less often, and comes out the same.
        let mut quick = start();
        for (x, y) in x.chunks(33).zip(y.chunks(33)) {
            quick.learn(&table(x, y)).unwrap();
        }
        assert!(quick.losses().scored() == 0);
        let difference = apart(&predicted(&quick), &predicted(&single), &y);
        assert!(difference < 1e-9, "m = {exponent}: {difference:.1e}");
    }
}

/// Solves a small system by elimination with pivots.
fn eliminate(mut a: Vec<Vec<f64>>, mut b: Vec<f64>) -> Vec<f64> {
    let n = b.len();
    for k in 0..n {
        let pivot = (k..n).max_by(|i, j| a[*i][k].abs().total_cmp(&a[*j][k].abs())).unwrap();
        a.swap(k, pivot);
        b.swap(k, pivot);
        for i in k + 1..n {
            let factor = a[i][k] / a[k][k];
            for j in k..n {
                a[i][j] -= factor * a[k][j];
            }
            b[i] -= factor * b[k];
        }
    }
    for k in (0..n).rev() {
        for j in k + 1..n {
            b[k] -= a[k][j] * b[j];
        }
        b[k] /= a[k][k];
    }
    b
}

fn laplace(a: &[f64; 3], b: &[f64; 3]) -> f64 {
    (-a.iter().zip(b).map(|(a, b)| (a - b).abs()).sum::<f64>()).exp()
}

/// The greedy rule, by its definition: the row with the largest k(x, x) − k_Lᵀ K_LL⁻¹ k_L.
fn greedy(x: &[[f64; 3]], count: usize) -> Vec<[f64; 3]> {
    let mut chosen: Vec<[f64; 3]> = Vec::new();
    for _ in 0..count {
        let left = |row: &[f64; 3]| {
            let k: Vec<f64> = chosen.iter().map(|c| laplace(row, c)).collect();
            let gram = chosen.iter().map(|a| chosen.iter().map(|b| laplace(a, b)).collect()).collect();
            1.0 - eliminate(gram, k.clone()).iter().zip(&k).map(|(a, b)| a * b).sum::<f64>()
        };
        // The first of equals, as at the beginning.
        let best =
            x.iter().map(left).enumerate().fold((0, f64::NEG_INFINITY), |best, (i, value)| {
                if value > best.1 + 1e-12 { (i, value) } else { best }
            });
        chosen.push(x[best.0]);
    }
    chosen
}

/// min (1/n)‖y − K_nL α − b‖² + μ αᵀK_LL α by its normal equations; also ‖f‖.
fn landmark_ridge(x: &[[f64; 3]], y: &[f64], marks: &[[f64; 3]], ridge: f64, offset: bool) -> (Vec<f64>, f64, f64) {
    let (n, r) = (x.len(), marks.len());
    let k: Vec<Vec<f64>> = marks.iter().map(|mark| x.iter().map(|row| laplace(row, mark)).collect()).collect();
    let mean = |v: &[f64]| if offset { v.iter().sum::<f64>() / n as f64 } else { 0.0 };
    let means: Vec<f64> = k.iter().map(|column| mean(column)).collect();
    let y_mean = mean(y);
    let mut a = vec![vec![0.0; r]; r];
    let mut right = vec![0.0; r];
    for i in 0..r {
        for j in 0..r {
            let product: f64 = (0..n).map(|row| (k[i][row] - means[i]) * (k[j][row] - means[j])).sum();
            a[i][j] = product + n as f64 * ridge * laplace(&marks[i], &marks[j]);
        }
        right[i] = (0..n).map(|row| (k[i][row] - means[i]) * (y[row] - y_mean)).sum();
    }
    let alpha = eliminate(a, right);
    let b = y_mean - alpha.iter().zip(&means).map(|(a, m)| a * m).sum::<f64>();
    let mut square = 0.0;
    for i in 0..r {
        for j in 0..r {
            square += alpha[i] * alpha[j] * laplace(&marks[i], &marks[j]);
        }
    }
    (alpha, b, square.sqrt())
}

#[test]
fn landmarks_solve_their_least_squares_problem() {
    let (x, y) = rows(400);
    let marks = greedy(&x[..60], 12);
    for offset in [true, false] {
        for (exponent, lambda) in [(2.0, 1e-3), (1.5, 2e-3), (3.0, 1e-4), (1.0, 1e-2)] {
            let fit = fit_of("laplace(lengthscale=1)", exponent, lambda, offset);
            let mut online =
                Online::of_numbers(fit, 3).unwrap().warm_up(20).unwrap().exact_rows(60).landmarks(12).unwrap();
            for n in 1..=400 {
                online.observe_row(&x[n - 1], y[n - 1]).unwrap();
                if ![61, 62, 100, 400].contains(&n) {
                    continue;
                }
                // The fixed point μ = (λm/2)‖f‖^(m−2) by bisection: the difference rises with μ for m ≥ 1.
                let (mut low, mut high) = (1e-12_f64.ln(), 1e3_f64.ln());
                for _ in 0..80 {
                    let t = 0.5 * (low + high);
                    let (_, _, norm) = landmark_ridge(&x[..n], &y[..n], &marks, t.exp(), offset);
                    let wanted = (lambda * exponent / 2.0).ln() + (exponent - 2.0) * norm.ln();
                    if t > wanted { high = t } else { low = t }
                }
                let (alpha, b, norm) = landmark_ridge(&x[..n], &y[..n], &marks, high.exp(), offset);
                let (points, _) = fresh();
                let expected: Vec<f64> = (0..25)
                    .map(|i| {
                        let row = [points.get(i, 0), points.get(i, 1), points.get(i, 2)];
                        b + alpha.iter().zip(&marks).map(|(a, mark)| a * laplace(&row, mark)).sum::<f64>()
                    })
                    .collect();
                let difference = apart(&predicted(&online), &expected, &y);
                assert!(difference < 1e-9, "m = {exponent} offset {offset} n = {n}: {difference:.1e}");
                let state = online.state().unwrap();
                assert!((state.norm / norm - 1.0).abs() < 1e-8, "{} {norm}", state.norm);
                let Method::Landmarks { count, mean_missed, mean_diagonal } = state.method else {
                    panic!("{state:?}");
                };
                assert_eq!(count, 12);
                let missed: f64 = x[..n]
                    .iter()
                    .map(|row| {
                        let k: Vec<f64> = marks.iter().map(|mark| laplace(row, mark)).collect();
                        let gram = marks.iter().map(|a| marks.iter().map(|b| laplace(a, b)).collect()).collect();
                        1.0 - eliminate(gram, k.clone()).iter().zip(&k).map(|(a, b)| a * b).sum::<f64>()
                    })
                    .sum();
                assert!((mean_missed - missed / n as f64).abs() < 1e-10 && (mean_diagonal - 1.0).abs() < 1e-12);
            }
        }
    }
}

#[test]
fn landmarks_that_span_everything_are_exact() {
    // 40 places, and later rows at the same places: the minimiser lies in the span of the landmarks.
    let (places, _) = rows(40);
    let x: Vec<[f64; 3]> = (0..160).map(|i| places[i % 40]).collect();
    let y: Vec<f64> = (0..160).map(|i| (4.0 * x[i][0]).cos() + x[i][1] + uniform(i, 9)).collect();
    for exponent in [0.5, 1.0, 1.5, 2.0, 3.0] {
        for offset in [true, false] {
            let fit = fit_of("matern32(lengthscale=0.5)", exponent, 1e-3, offset);
            let online = Online::of_numbers(fit.clone(), 3).unwrap().warm_up(10).unwrap();
            let mut online = online.exact_rows(40).landmarks(200).unwrap();
            for i in 0..160 {
                online.observe_row(&x[i], y[i]).unwrap();
                if [40, 41, 90, 159].contains(&i) {
                    let batch = fit.fit(&matrix(&x[..=i]), &y[..=i]).unwrap();
                    let expected = batch.model.predict(&fresh().0).unwrap();
                    let difference = apart(&predicted(&online), expected.col(0), &y);
                    assert!(difference < 1e-9, "m = {exponent} n = {}: {difference:.1e}", i + 1);
                    let Method::Landmarks { count, mean_missed, .. } = online.state().unwrap().method else {
                        panic!("not on landmarks");
                    };
                    assert!(count == 40 && mean_missed < 1e-12, "{count} {mean_missed}");
                }
            }
        }
    }
}

#[test]
fn the_zero_function_comes_and_goes() {
    // Noise first, for which a large λ leaves nothing; then a signal that grows.
    let (x, _) = rows(200);
    let y: Vec<f64> = (0..200).map(|i| 0.01 * uniform(i, 5) + if i < 60 { 0.0 } else { 4.0 * x[i][0] }).collect();
    for exponent in [0.5, 1.0] {
        let fit = fit_of("gaussian(lengthscale=0.6)", exponent, 0.3, true);
        let mut online = Online::of_numbers(fit.clone(), 3).unwrap().warm_up(10).unwrap();
        let (mut zeros, mut others) = (0, 0);
        for i in 0..200 {
            online.observe_row(&x[i], y[i]).unwrap();
            if i >= 10 && (i % 15 == 0 || i == 199) {
                let batch = fit.fit(&matrix(&x[..=i]), &y[..=i]).unwrap();
                let is_zero = online.state().unwrap().effective_ridge.is_none();
                if is_zero {
                    zeros += 1;
                } else {
                    others += 1;
                }
                assert_eq!(is_zero, batch.summary().is_zero, "m = {exponent} n = {}", i + 1);
                let expected = batch.model.predict(&fresh().0).unwrap();
                let difference = apart(&predicted(&online), expected.col(0), &y);
                assert!(difference < 1e-9, "m = {exponent} n = {}: {difference:.1e}", i + 1);
            }
        }
        assert!(zeros > 2 && others > 2, "m = {exponent}: {zeros} {others}");
    }
}

#[test]
fn lambda_is_chosen_at_doublings_as_a_fit_would() {
    let (x, y) = rows(170);
    let fit = Fit::with_shared(parse("gaussian(lengthscale=0.6)").unwrap()).exponent(1.4);
    let mut online =
        Online::of_numbers(fit.clone(), 3).unwrap().warm_up(20).unwrap().exact_rows(100).landmarks(25).unwrap();
    let mut lambdas = Vec::new();
    for i in 0..170 {
        online.observe_row(&x[i], y[i]).unwrap();
        if let Some(state) = online.state() {
            lambdas.push((state.rows, state.lambda));
        }
    }
    for n in [20, 40, 80] {
        let expected = fit.fit(&matrix(&x[..n]), &y[..n]).unwrap().summary().lambda;
        for rows in [n, n + 1, 2 * n - 1] {
            let lambda = lambdas.iter().find(|(count, _)| *count == rows).unwrap().1;
            assert!((lambda / expected - 1.0).abs() < 1e-12, "{rows} rows: {lambda} {expected}");
        }
    }
    // On landmarks by GCV: a λ that predicts, not the one before.
    assert!(lambdas.last().unwrap().1 != lambdas[lambdas.len() - 30].1);
    assert!(online.losses().recent_rmse().unwrap() < 0.3 * online.losses().recent_mean_rmse().unwrap());
}

#[test]
fn models_leave_the_stream_whole() {
    let (x, y) = rows(120);
    for (exponent, exact_rows) in [(2.0, 500), (1.2, 500), (0.6, 500), (2.0, 60), (1.2, 60), (0.6, 60)] {
        let fit = fit_of("gaussian(lengthscale=0.6)", exponent, 1e-4, true).scale(Scale::Standard);
        let mut online =
            Online::of_numbers(fit, 3).unwrap().warm_up(30).unwrap().exact_rows(exact_rows).landmarks(40).unwrap();
        online.observe(&table(&x, &y)).unwrap();
        let model = online.model().unwrap();
        let bytes = mercer::format::to_bytes(&model).unwrap();
        let again = mercer::format::from_bytes(&bytes).unwrap();
        let expected = again.predict(&fresh().0).unwrap();
        let difference = apart(&predicted(&online), expected.col(0), &y);
        assert!(difference < 1e-9, "m = {exponent}: {difference:.1e}");
        let summary = &again.summaries()[0];
        assert!(summary.certificate.holds && summary.rows == 120, "{summary:?}");
        assert!(summary.certificate.digits > 6.0, "{}", summary.certificate.digits);
        let fitted = again.predict(&matrix(&x)).unwrap();
        let squares: f64 = fitted.col(0).iter().zip(&y).map(|(f, y)| (f - y) * (f - y)).sum();
        assert!((summary.train_rmse - (squares / 120.0).sqrt()).abs() < 1e-9);
        // All rows at once, as long as they are kept.
        assert_eq!(online.batch().is_some(), exact_rows == 500);
        if let Some(batch) = online.batch() {
            let batch = batch.unwrap();
            assert!((batch.summary().objective / summary.objective - 1.0).abs() < 1e-9);
            assert!(online.difference_from_batch().unwrap().unwrap() < 1e-9);
            assert!(apart(batch.model.predict(&fresh().0).unwrap().col(0), expected.col(0), &y) < 1e-9);
        }
    }
    // A warm-up that did not end is ended by asking for the model.
    let fit = fit_of("gaussian(lengthscale=0.6)", 2.0, 1e-4, true);
    let mut short = Online::of_numbers(fit.clone(), 3).unwrap();
    short.observe(&table(&x[..12], &y[..12])).unwrap();
    let expected = fit.fit(&matrix(&x[..12]), &y[..12]).unwrap().model.predict(&fresh().0).unwrap();
    let found = short.model().unwrap().predict(&fresh().0).unwrap();
    assert!(apart(found.col(0), expected.col(0), &y) < 1e-9);
    assert!(Online::of_numbers(fit, 3).unwrap().model().is_err(), "no rows at all");
}

#[test]
fn units_change_nothing() {
    let (x, y) = rows(90);
    for power in [-400, 300] {
        let unit = 2.0_f64.powi(power);
        let scaled: Vec<f64> = y.iter().map(|v| v * unit).collect();
        let run = |y: &[f64]| {
            let fit = fit_of("gaussian(lengthscale=0.6)", 2.0, 1e-4, true);
            let mut online =
                Online::of_numbers(fit, 3).unwrap().warm_up(10).unwrap().exact_rows(50).landmarks(20).unwrap();
            online.observe(&table(&x, y)).unwrap();
            online
        };
        let (plain, other) = (run(&y), run(&scaled));
        for (a, b) in predicted(&plain).iter().zip(predicted(&other)) {
            assert_eq!((a * unit).to_bits(), b.to_bits());
        }
        let ratio = other.losses().rmse().unwrap() / unit / plain.losses().rmse().unwrap();
        assert!((ratio - 1.0).abs() < 1e-14);
    }
}

#[test]
fn awkward_rows_are_learned() {
    let (x, y) = rows(100);
    // Rows twice, a constant target at first, a ridge at the rounding level of K, a linear kernel.
    let twice: Vec<[f64; 3]> = (0..100).map(|i| x[i / 2]).collect();
    let flat: Vec<f64> = (0..100).map(|i| if i < 70 { 7.0 } else { y[i] }).collect();
    for (kernel, x, y, lambda) in [
        ("gaussian(lengthscale=0.6)", &twice, &y, 1e-5),
        ("gaussian(lengthscale=0.6)", &x, &flat, 1e-3),
        ("gaussian(lengthscale=2)", &x, &y, 1e-13),
        ("linear", &x, &y, 1e-4),
        ("additive-spline", &x, &y, 1e-4),
    ] {
        for exponent in [0.7, 1.0, 1.5, 2.0] {
            let fit = fit_of(kernel, exponent, lambda, true);
            let mut online = Online::of_numbers(fit.clone(), 3).unwrap().warm_up(100).unwrap();
            if kernel != "additive-spline" {
                online = online.warm_up(10).unwrap();
            }
            online.observe(&table(x, y)).unwrap();
            let expected = fit.fit(&matrix(x), y).unwrap().model.predict(&fresh().0).unwrap();
            let difference = apart(&predicted(&online), expected.col(0), y);
            assert!(difference < 1e-7, "{kernel} λ = {lambda} m = {exponent}: {difference:.1e}");
        }
    }
}

#[test]
fn text_is_read_as_the_warm_up_read_it() {
    let (x, y) = rows(80);
    let kinds = ["red", "green", "blue"];
    let mut frame = table(&x, &y);
    frame.push("kind", Column::Text((0..80).map(|i| Some(kinds[i % 3].to_owned())).collect())).unwrap();
    let roles = Roles { targets: vec!["y".into()], ..Roles::default() };
    for text_as in [TextAs::OneHot, TextAs::Equality] {
        let fit = fit_of("gaussian(lengthscale=0.8)", 1.5, 1e-3, true).text_as(text_as);
        let mut online = Online::new(fit.clone(), roles.clone()).unwrap().warm_up(12).unwrap();
        for start in (0..80).step_by(9) {
            let part: Vec<usize> = (start..(start + 9).min(80)).collect();
            online.observe(&frame.select_rows(&part)).unwrap();
        }
        let expected = fit.fit_frame(&frame, &roles).unwrap().model.predict_frame(&frame).unwrap();
        let found = online.predict(&frame).unwrap();
        for (a, b) in found.iter().zip(&expected[0]) {
            assert!((a.unwrap() - b.unwrap()).abs() < 1e-9);
        }
    }
}

#[test]
fn what_cannot_be_learned_is_refused_with_its_place() {
    let (x, y) = rows(40);
    let fit = || fit_of("gaussian(lengthscale=0.6)", 1.5, 1e-3, true);
    let roles = Roles { targets: vec!["y".into()], ..Roles::default() };
    let text = |result: Result<Online>| result.unwrap_err().to_string();
    assert!(text(Online::new(fit(), Roles::default())).contains("targets"));
    assert!(text(Online::new(fit(), Roles { weight: Some("x1".into()), ..roles.clone() })).contains("weight"));
    assert!(text(Online::new(fit().lambdas(&[1.0, 2.0]), roles.clone())).contains("one number"));
    assert!(text(Online::new(fit().exponent(-1.0), roles.clone())).contains("exponent"));
    let precomputed = Fit::with_shared(parse("precomputed").unwrap());
    assert!(text(Online::new(precomputed, roles.clone())).contains("function of two rows"));
    assert!(text(Online::of_numbers(fit(), 3).unwrap().warm_up(1)).contains("at least 2"));
    assert!(text(Online::of_numbers(fit(), 3).unwrap().landmarks(0)).contains("at least 1"));
    let crowded = Online::of_numbers(fit().memory(1 << 20), 3).unwrap().warm_up(5).unwrap().exact_rows(100_000);
    assert!(crowded.clone().observe(&table(&x, &y)).unwrap_err().to_string().contains("100000 rows"));

    let mut online = Online::of_numbers(fit(), 3).unwrap().warm_up(10).unwrap();
    assert!(online.observe_row(&[1.0], 2.0).unwrap_err().to_string().contains("3 numbers"));
    online.observe(&table(&x[..20], &y[..20])).unwrap();
    let before = predicted(&online);
    for (column, value, part) in [
        (3, f64::NAN, "row 23, column \"y\": the cell is missing"),
        (3, f64::INFINITY, "row 23, column \"y\": inf is not a finite number"),
        (3, 1e200, "row 23, column \"y\": 1e200 is too large"),
        (0, f64::NAN, "row 23, column \"x1\": the cell is missing"),
        (1, f64::NEG_INFINITY, "row 23, column \"x2\": -inf is not a finite number"),
    ] {
        let (mut worse_x, mut worse_y) = (x[20..25].to_vec(), y[20..25].to_vec());
        if column == 3 {
            worse_y[2] = value;
        } else {
            worse_x[2][column] = value;
        }
        let error = online.observe(&table(&worse_x, &worse_y)).unwrap_err().to_string();
        assert!(error.contains(part), "{error}");
        assert_eq!(predicted(&online), before, "nothing of the table was learned");
        assert_eq!(online.state().unwrap().rows, 20);
    }
    let mut without = Frame::new(1);
    without.push("x1", Column::Number(vec![1.0])).unwrap();
    assert!(online.observe(&without).unwrap_err().to_string().contains("no column \"x2\""));
    // A bad row among those that end the warm-up.
    let mut waiting = Online::of_numbers(fit(), 3).unwrap().warm_up(10).unwrap();
    waiting.observe(&table(&x[..4], &y[..4])).unwrap();
    let mut worse = y[4..20].to_vec();
    worse[10] = f64::NAN;
    let error = waiting.observe(&table(&x[4..20], &worse)).unwrap_err().to_string();
    assert!(error.contains("row 15, column \"y\""), "{error}");
    assert!(waiting.state().is_none());
    waiting.observe(&table(&x[4..20], &y[4..20])).unwrap();
    assert_eq!(waiting.state().unwrap().rows, 20);
    // Missing cells may be left out instead.
    let mut patient = Online::of_numbers(fit().missing(Missing::Drop), 3).unwrap().warm_up(10).unwrap();
    let mut holes = y.clone();
    (holes[3], holes[30]) = (f64::NAN, f64::NAN);
    let predictions = patient.observe(&table(&x, &holes)).unwrap();
    assert_eq!((patient.state().unwrap().rows, patient.dropped()), (38, 2));
    assert!(predictions[30].is_none() && predictions[31].is_some());
}

#[test]
fn a_scaling_that_is_wrong_is_revised() {
    let (mut x, _) = rows(400);
    for (i, row) in x.iter_mut().enumerate() {
        // Constant at first, then far wider than it was.
        row[1] = if i < 30 { 5.0 } else { 5.0 + 100.0 * (row[1] - 0.5) };
        row[2] = if i < 200 { row[2] } else { 1000.0 * row[2] };
    }
    let y: Vec<f64> = x.iter().map(|row| row[0] + row[1] / 20.0 + row[2] / 500.0).collect();
    let fit = Fit::with_shared(parse("gaussian(lengthscale=2)").unwrap()).scale(Scale::Standard);
    for (exact_rows, kept) in [(1000, [31, 201]), (60, [31, 60])] {
        let start = || {
            let online = Online::of_numbers(fit.clone(), 3).unwrap();
            online.warm_up(20).unwrap().exact_rows(exact_rows).landmarks(40).unwrap()
        };
        let mut online = start();
        let predictions = online.observe(&table(&x, &y)).unwrap();
        let revisions = online.revisions();
        assert_eq!((revisions[0].row, revisions[0].rows, &revisions[0].columns[0][..]), (31, kept[0], "x2"));
        let second = revisions.iter().find(|revision| revision.row > 200).unwrap();
        assert!(second.columns.contains(&"x3".to_owned()) && second.rows == kept[1].min(second.row), "{revisions:?}");
        assert!(revisions.len() < 8, "{revisions:?}");
        let late = (300..400).map(|i| (predictions[i].unwrap() - y[i]).powi(2)).sum::<f64>() / 100.0;
        // Landmarks among 60 rows see little of what is new.
        let share = if exact_rows == 1000 { 0.15 } else { 0.7 };
        assert!(late.sqrt() < share * spread(&y[300..]), "{exact_rows}: {}", late.sqrt());
        // One row at a time does the same.
        let mut single = start();
        for i in 0..400 {
            let one = single.observe(&table(&x[i..=i], &y[i..=i])).unwrap()[0];
            match (one, predictions[i]) {
                (Some(a), Some(b)) => assert!((a - b).abs() < 1e-9 * spread(&y), "{i}: {a} {b}"),
                (a, b) => assert_eq!(a, b),
            }
        }
        assert_eq!(single.revisions(), online.revisions());
        if exact_rows == 1000 {
            assert_eq!(online.state().unwrap().rows, 400);
            assert!(online.difference_from_batch().unwrap().unwrap() < 1e-9);
        }
    }
    // What is not scaled is not revised, and what fits stays.
    let (x, y) = rows(300);
    let mut online = Online::of_numbers(fit, 3).unwrap().warm_up(20).unwrap();
    online.observe(&table(&x, &y)).unwrap();
    assert!(online.revisions().is_empty(), "{:?}", online.revisions());
}
