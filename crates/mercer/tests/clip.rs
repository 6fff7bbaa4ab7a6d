//! Predictions kept within the range of the targets: held-out errors are those of refits whose predictions are kept so, and the model does
//! what its errors say.

use mercer::criterion::{Criterion, FoldRule};
use mercer::prelude::*;

/// A function with plateaus, at whose edges smooth ones overshoot, and a few rows far out.
fn problem(rows: usize) -> (Matrix, Vec<f64>, Vec<f64>) {
    let place = |i: usize| ((i * 7919) % 1009) as f64 / 1009.0;
    let far = |i: usize| if i.is_multiple_of(9) { 2.5 } else { 1.0 };
    let x = Matrix::from_fn(rows, 2, |i, j| far(i) * (4.0 * place(3 * i + 17 * j + 1) - 2.0));
    let noise = |i: usize| 0.1 * (((i * 104_729) % 1013) as f64 / 1013.0 - 0.5);
    let plain = |i: usize| 1.5 * libm::sin(2.0 * x.get(i, 0)) + 0.5 * x.get(i, 1) + noise(i);
    let y = (0..rows).map(|i| plain(i).clamp(-0.7, 0.7)).collect();
    let weights = (0..rows).map(|i| 0.5 + (i % 4) as f64).collect();
    (x, y, weights)
}

fn without(x: &Matrix, y: &[f64], weights: Option<&[f64]>, held_out: &[usize]) -> (Matrix, Vec<f64>, Option<Vec<f64>>) {
    let kept: Vec<usize> = (0..y.len()).filter(|row| !held_out.contains(row)).collect();
    let part = |v: &[f64]| kept.iter().map(|row| v[*row]).collect::<Vec<f64>>();
    (Matrix::from_fn(kept.len(), x.cols(), |i, j| x.get(kept[i], j)), part(y), weights.map(part))
}

/// y − prediction of held-out rows, by a fit to the others whose predictions are kept within their range.
fn refitted(fit: &Fit, x: &Matrix, y: &[f64], weights: Option<&[f64]>, held_out: &[usize]) -> (Vec<f64>, bool) {
    let (x_left, y_left, w_left) = without(x, y, weights, held_out);
    let model = fit.fit_weighted(&x_left, &Matrix::column_vector(y_left.clone()), w_left.as_deref()).unwrap().model;
    let new = Matrix::from_fn(held_out.len(), x.cols(), |i, j| x.get(held_out[i], j));
    let predicted = model.predict(&new).unwrap();
    let low = y_left.iter().copied().fold(f64::INFINITY, f64::min);
    let high = y_left.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let raw: Vec<f64> = (0..held_out.len()).map(|i| predicted.get(i, 0)).collect();
    let is_cut = raw.iter().any(|v| *v < low || *v > high);
    (raw.iter().zip(held_out).map(|(v, row)| y[*row] - v.clamp(low, high)).collect(), is_cut)
}

fn mean_square(errors: &[f64], weights: Option<&[f64]>) -> f64 {
    let weight = |i: usize| weights.map_or(1.0, |w| w[i]);
    let total: f64 = (0..errors.len()).map(weight).sum();
    errors.iter().enumerate().map(|(i, e)| weight(i) * e * e).sum::<f64>() / total
}

#[test]
fn held_out_errors_are_those_of_clipped_refits() {
    let (x, y, weights) = problem(60);
    let mut cut = 0;
    for weights in [None, Some(&weights[..])] {
        for exponent in [0.5, 1.0, 1.5, 2.0, 3.0] {
            let lambdas = if exponent < 1.0 { [1e-3, 1e-2, 3e-2] } else { [1e-6, 1e-4, 1e-2] };
            let fit = Fit::new(Gaussian::lengthscale(1.5)).exponent(exponent).lambdas(&lambdas).on_grid();
            let column = Matrix::column_vector(y.clone());
            let found = fit.clone().clip().fit_weighted(&x, &column, weights).unwrap();
            let scores = &found.tried[0].surfaces()[0].scores[0];
            let mut least = f64::INFINITY;
            for (lambda, score) in lambdas.iter().zip(scores) {
                let at = Fit::new(Gaussian::lengthscale(1.5)).exponent(exponent).lambda(*lambda);
                let each: Vec<(Vec<f64>, bool)> = (0..60).map(|i| refitted(&at, &x, &y, weights, &[i])).collect();
                cut += each.iter().filter(|(_, is_cut)| *is_cut).count();
                let errors: Vec<f64> = each.iter().map(|(e, _)| e[0]).collect();
                let wanted = mean_square(&errors, weights);
                assert!((score.value / wanted - 1.0).abs() < 1e-6, "{exponent} {lambda}: {} {wanted}", score.value);
                if found.summary().lambda == *lambda {
                    let loo = found.leave_one_out[0].as_ref().unwrap();
                    let worst = loo.residuals.iter().zip(&errors).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
                    assert!(worst < 1e-7, "{exponent} {lambda}: {worst:e}");
                }
                least = least.min(wanted);
            }
            assert!((found.summary().loo_rmse.unwrap().powi(2) / least - 1.0).abs() < 1e-6);
        }
    }
    assert!(cut > 100, "only {cut} predictions were beyond the range");
}

#[test]
fn folds_are_those_of_clipped_refits() {
    let (x, y, _) = problem(60);
    let rule = FoldRule { folds: 5, repeats: 1, order: mercer::criterion::Order::Blocks };
    for exponent in [0.5, 1.5, 2.0] {
        let lambdas = if exponent < 1.0 { [1e-3, 1e-2] } else { [1e-6, 1e-4] };
        let fit = Fit::new(Gaussian::lengthscale(1.5)).exponent(exponent).lambdas(&lambdas).on_grid();
        let found = fit.criterion(Criterion::KFold(rule)).clip().fit(&x, &y).unwrap();
        for (lambda, score) in lambdas.iter().zip(&found.tried[0].surfaces()[0].scores[0]) {
            let at = Fit::new(Gaussian::lengthscale(1.5)).exponent(exponent).lambda(*lambda);
            // Folds in the order of the rows: blocks.
            let folds = mercer::criterion::Folds::draw(&rule, 60, None, 1).unwrap();
            let mut errors = vec![0.0; 60];
            for fold in &folds.groups {
                let (held_out, _) = refitted(&at, &x, &y, None, fold);
                fold.iter().zip(held_out).for_each(|(row, e)| errors[*row] = e);
            }
            let wanted = mean_square(&errors, None);
            assert!((score.value / wanted - 1.0).abs() < 1e-6, "{exponent} {lambda}: {} {wanted}", score.value);
        }
    }
}

#[test]
fn models_predict_within_the_range_and_keep_it_in_their_file() {
    let (x, y, _) = problem(300);
    let far = Matrix::from_fn(50, 2, |i, j| 6.0 * libm::sin((3 * i + j) as f64));
    let settings = Fit::new(Gaussian::lengthscale(1.5)).lambda(1e-6);
    let plain = settings.fit(&x, &y).unwrap().model;
    let model = settings.clone().clip().fit(&x, &y).unwrap().model;
    let [low, high] = model.summaries()[0].clip.unwrap();
    assert_eq!(plain.summaries()[0].clip, None);
    let (raw, kept) = (plain.predict(&far).unwrap(), model.predict(&far).unwrap());
    assert!((0..50).any(|i| raw.get(i, 0) > high) && (0..50).any(|i| raw.get(i, 0) < low));
    assert!((0..50).all(|i| kept.get(i, 0) == raw.get(i, 0).clamp(low, high)));
    let bytes = mercer::format::to_bytes(&model).unwrap();
    let again = mercer::format::from_bytes(&bytes).unwrap();
    assert_eq!(again.predict(&far).unwrap(), kept);
    // The deletions of a model that was read from its file are clipped as those of its fit.
    let fitted = settings.clip().fit(&x, &y).unwrap();
    let loo = again.leave_one_out(again.training().unwrap()).unwrap();
    let own = &fitted.leave_one_out[0].as_ref().unwrap().residuals;
    assert!(loo[0].iter().zip(own).all(|(a, b)| (a - b).abs() < 1e-7));
}

/// Other ways to the same numbers: band form, landmarks, kernels side by side.
#[test]
fn every_route_counts_clipped_errors() {
    let (x, y, _) = problem(900);
    let lambdas = [1e-7, 1e-5, 1e-3];
    let fit = || Fit::new(Gaussian::lengthscale(1.0)).lambdas(&lambdas).on_grid().clip();
    let exact = fit().keep_spectrum().fit(&x, &y).unwrap();
    let scores = |fitted: &Fitted| -> Vec<f64> {
        fitted.tried[0].surfaces()[0].scores[0].iter().map(|score| score.value).collect()
    };
    let wanted = scores(&exact);
    let unclipped = scores(&Fit::new(Gaussian::lengthscale(1.0)).lambdas(&lambdas).on_grid().fit(&x, &y).unwrap());
    assert!(wanted.iter().zip(&unclipped).any(|(a, b)| a < &(0.99 * b)), "{wanted:?} {unclipped:?}");
    for (name, fitted) in [
        ("by itself", fit().fit(&x, &y).unwrap()),
        ("all landmarks", fit().rank(900).fit(&x, &y).unwrap()),
        ("with exponents", fit().exponents(&[2.0, 2.5]).fit(&x, &y).unwrap()),
    ] {
        for (a, b) in scores(&fitted).iter().zip(&wanted) {
            assert!((a / b - 1.0).abs() < 1e-5, "{name}: {a} {b}");
        }
    }
}
