//! Forward chaining beside fits to the earlier rows by the public interface.

use mercer::assess::{assess, outer_folds};
use mercer::criterion::{Criterion, FoldRule, Folds};
use mercer::data::{Column, Frame, Roles};
use mercer::penalty::Penalty;
use mercer::prelude::*;

const ROWS: usize = 60;

fn rule(spec: &str) -> FoldRule {
    match Criterion::parse(spec).unwrap() {
        Criterion::KFold(rule) => rule,
        other => panic!("{} is not folds", other.spec()),
    }
}

fn folds(spec: &str) -> Folds {
    Folds::draw(&rule(spec), ROWS, None, 1).unwrap()
}

/// A trend, a season and noise.
fn table() -> (Matrix, Vec<f64>, Vec<f64>) {
    let noise = |i: usize, k: usize| ((i * 7919 + k * 104_729) % 1009) as f64 / 1009.0 - 0.5;
    let x = Matrix::from_fn(ROWS, 3, |i, j| if j == 0 { i as f64 / 10.0 } else { 2.0 * noise(i, j) });
    let y = (0..ROWS).map(|i| 5.0 + 0.3 * x.get(i, 0) + (0.9 * x.get(i, 0)).sin() + x.get(i, 1) + 0.4 * noise(i, 5));
    let y = y.collect();
    (x, y, (0..ROWS).map(|i| 0.5 + (i % 4) as f64).collect())
}

fn pick(x: &Matrix, rows: &[usize]) -> Matrix {
    Matrix::from_fn(rows.len(), x.cols(), |i, j| x.get(rows[i], j))
}

fn some(values: &[f64], rows: &[usize]) -> Vec<f64> {
    rows.iter().map(|row| values[*row]).collect()
}

/// Residuals of all predicted rows by one fit for each fold.
fn refitted(fit: &Fit, x: &Matrix, y: &[f64], weights: Option<&[f64]>, folds: &Folds) -> Vec<f64> {
    let mut residuals = Vec::new();
    for (fold, held) in folds.groups.iter().enumerate() {
        let kept = folds.kept(fold, ROWS);
        let weights = weights.map(|w| some(w, &kept));
        let own = Matrix::column_vector(some(y, &kept));
        let model = fit.fit_weighted(&pick(x, &kept), &own, weights.as_deref()).unwrap().model;
        let predicted = model.predict(&pick(x, held)).unwrap();
        residuals.extend(held.iter().enumerate().map(|(i, row)| y[*row] - predicted.get(i, 0)));
    }
    residuals
}

const SPECS: [&str; 4] = [
    "forward(folds=4)",
    "forward(folds=5,gap=3)",
    "forward(folds=6,window=14)",
    "forward(folds=3,gap=2,window=21,block=5)",
];

#[test]
fn forward_chaining_is_that_of_refits_to_earlier_rows() {
    let (x, y, weights) = table();
    let kernels = ["gaussian(lengthscale=1.5)", "laplace(lengthscale=2)", "linear"];
    let mut worst: f64 = 0.0;
    let mut count = 0;
    for (spec, kernel) in SPECS.iter().flat_map(|spec| kernels.iter().map(move |kernel| (spec, kernel))) {
        for exponent in [0.7, 1.0, 1.5, 2.0, 2.5] {
            for weights in [None, Some(&weights[..])] {
                for has_offset in [true, false] {
                    let fit = Fit::with_shared(mercer::kernel::parse(kernel).unwrap()).exponent(exponent).lambda(1e-2);
                    let fit = if has_offset { fit } else { fit.without_offset() };
                    let expected = refitted(&fit, &x, &y, weights, &folds(spec));
                    let fit = fit.criterion(Criterion::parse(spec).unwrap());
                    let found = fit.fit_weighted(&x, &Matrix::column_vector(y.clone()), weights).unwrap();
                    let forward = found.forward[0].as_ref().unwrap();
                    assert_eq!(forward.rows, folds(spec).held_out_rows());
                    let w = |row: usize| weights.map_or(1.0, |w| w[row]);
                    let total: f64 = forward.rows.iter().map(|row| w(*row)).sum();
                    let mse = forward.rows.iter().zip(&expected).map(|(row, e)| w(*row) * e * e).sum::<f64>() / total;
                    let pairs = forward.residuals.iter().zip(&expected);
                    worst = pairs.map(|(a, b)| (a - b).abs()).fold(worst, f64::max);
                    worst = worst.max((forward.mse - mse).abs());
                    count += 1;
                    // Nothing beside it speaks of rows that were predicted from later ones.
                    assert!(found.leave_one_out[0].is_none() && found.summary().loo_rmse.is_none());
                    assert_eq!(found.summary().held_out.as_ref().unwrap().value, forward.mse);
                }
            }
        }
    }
    assert_eq!(count, 240);
    assert!(worst < 1e-9, "{worst:e}");
}

#[test]
fn the_chosen_lambda_has_the_least_error_of_refits() {
    let (x, y, weights) = table();
    let lambdas = [1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1.0];
    for (spec, exponent, clip) in
        [(SPECS[0], 2.0, false), (SPECS[1], 1.5, false), (SPECS[2], 1.0, false), (SPECS[3], 2.0, true)]
    {
        let base = Fit::new(Gaussian::lengthscale(1.5)).exponent(exponent).on_grid();
        let base = if clip { base.clip() } else { base };
        let (y_matrix, criterion) = (Matrix::column_vector(y.clone()), Criterion::parse(spec).unwrap());
        let found =
            base.clone().lambdas(&lambdas).criterion(criterion).fit_weighted(&x, &y_matrix, Some(&weights)).unwrap();
        let scores = &found.tried[0].surfaces()[0].scores[0];
        let drawn = folds(spec);
        let rows = drawn.held_out_rows();
        let total: f64 = rows.iter().map(|row| weights[*row]).sum();
        let mut least = (f64::INFINITY, 0.0);
        for (lambda, score) in lambdas.iter().zip(scores) {
            let residuals = refitted(&base.clone().lambda(*lambda), &x, &y, Some(&weights), &drawn);
            let mse = rows.iter().zip(&residuals).map(|(row, e)| weights[*row] * e * e).sum::<f64>() / total;
            assert!((score.value - mse).abs() < 1e-9 * mse.max(1.0), "{spec} {lambda}: {} and {mse}", score.value);
            if mse < least.0 {
                least = (mse, *lambda);
            }
        }
        assert_eq!(found.summary().lambda, least.1);
        let held_out = found.summary().held_out.as_ref().unwrap();
        assert!((held_out.value - least.0).abs() < 1e-9 && held_out.standard_error > 0.0);
        assert_eq!(found.summary().chosen_by.as_deref(), Some(spec));
    }
}

#[test]
fn later_rows_change_nothing_before_them() {
    let (x, y, _) = table();
    let fit = Fit::new(Matern52::lengthscale(2.0)).exponent(1.5).lambda(1e-3);
    let fit = fit.criterion(Criterion::parse("forward(folds=5)").unwrap());
    let before = fit.fit(&x, &y).unwrap().forward[0].clone().unwrap();
    let mut changed = y.clone();
    changed[50..].iter_mut().for_each(|y| *y = 100.0 - *y);
    let after = fit.fit(&x, &changed).unwrap().forward[0].clone().unwrap();
    // The rows before 50 are predicted alike, to rounding.
    let early = before.rows.iter().position(|row| *row >= 50).unwrap();
    assert!(early >= 30);
    for (a, b) in before.residuals[..early].iter().zip(&after.residuals) {
        assert!((a - b).abs() < 1e-9);
    }
    assert!((before.residuals[early] - after.residuals[early]).abs() > 1.0);
}

#[test]
fn other_losses_and_penalties_predict_blocks_from_earlier_rows() {
    let (x, y, _) = table();
    let spec = "forward(folds=4,gap=1)";
    let (criterion, drawn) = (Criterion::parse(spec).unwrap(), folds(spec));
    let rows = drawn.held_out_rows();
    // The Lasso: its trial is the mean square of refits.
    let lambdas = [0.02, 0.1, 0.5];
    let fit = Fit::linear().penalty(Penalty::Lasso).tolerance(1e-12);
    let found = fit.clone().lambdas(&lambdas).criterion(criterion.clone()).fit(&x, &y).unwrap();
    for (lambda, score) in lambdas.iter().zip(&found.tried[0].curve().unwrap().scores) {
        let mut sum = 0.0;
        for (fold, held) in drawn.groups.iter().enumerate() {
            let kept = drawn.kept(fold, ROWS);
            let model = fit.clone().lambda(*lambda).fit(&pick(&x, &kept), &some(&y, &kept)).unwrap().model;
            let predicted = model.predict(&pick(&x, held)).unwrap();
            sum += held.iter().enumerate().map(|(i, row)| (y[*row] - predicted.get(i, 0)).powi(2)).sum::<f64>();
        }
        let mse = sum / rows.len() as f64;
        assert!((score - mse).abs() < 2e-4 * mse, "{lambda}: {score} and {mse}");
    }
    // Absolute errors: rows that no earlier row predicts have no held-out value.
    let learn = Fit::new(Gaussian::lengthscale(1.5)).loss(mercer::loss::parse("absolute").unwrap());
    let found = learn.clone().lambdas(&[1e-3, 1e-2]).on_grid().criterion(criterion).fit(&x, &y).unwrap();
    let held_out = &found.held_out[0];
    assert!((0..ROWS).all(|row| held_out[row].is_nan() != rows.contains(&row)));
    let lambda = found.summary().lambda;
    let mut worst: f64 = 0.0;
    for (fold, held) in drawn.groups.iter().enumerate() {
        let kept = drawn.kept(fold, ROWS);
        let model = learn.clone().lambda(lambda).fit(&pick(&x, &kept), &some(&y, &kept)).unwrap().model;
        let predicted = model.predict(&pick(&x, held)).unwrap();
        for (i, row) in held.iter().enumerate() {
            worst = worst.max((held_out[*row] - predicted.get(i, 0)).abs());
        }
    }
    // While choosing, problems are solved to a relative gap of 1e-4.
    assert!(worst < 0.05, "{worst}");
}

#[test]
fn assessments_fit_on_earlier_rows_only() {
    let (x, y, _) = table();
    let mut frame = Frame::new(ROWS);
    frame.push("x", Column::Number(x.col(0).to_vec())).unwrap();
    // A row without target is in no fold; the others keep their order.
    let targets = (0..ROWS).map(|i| if i == 30 { f64::NAN } else { y[i] }).collect();
    frame.push("y", Column::Number(targets)).unwrap();
    let roles = Roles { targets: vec!["y".into()], ..Roles::default() };
    let drawn = outer_folds(&frame, &roles, &rule("forward(folds=4,gap=2,window=20)"), 1).unwrap();
    assert!(drawn.is_forward() && !drawn.held_out_rows().contains(&30));
    let mut sizes = Vec::new();
    let found = assess(&frame, &roles, &drawn, |training, fold| {
        let Column::Number(x) = training.column("x")? else { panic!("x is a number") };
        let first = drawn.groups[fold][0];
        // In tenths: row i has the feature i/10.
        assert!(x.iter().all(|x| x * 10.0 < first as f64 - 1.5));
        sizes.push(training.rows());
        Ok(Fit::new(Linear).lambda(1e-3).fit_frame(training, &roles)?.model)
    });
    let found = found.unwrap();
    assert!(sizes.iter().all(|size| (9..=20).contains(size)), "{sizes:?}");
    assert_eq!(found.rmse[0].len(), 4);
    assert_eq!(found.predicted[0].iter().flatten().count(), drawn.held_out_rows().len());
}

fn drawn(spec: &str, rows: usize, group: Option<&[u32]>) -> Result<Folds> {
    let Criterion::KFold(rule) = Criterion::parse(spec)? else { panic!("{spec} is not folds") };
    Folds::draw(&rule, rows, group, 1)
}

/// What scikit-learn 1.9's TimeSeriesSplit(n_splits, max_train_size, test_size, gap) gives.
#[test]
fn blocks_and_training_rows_are_those_of_time_series_split() {
    let found = drawn("forward(folds=3)", 10, None).unwrap();
    assert_eq!(found.groups, [[4, 5], [6, 7], [8, 9]]);
    assert_eq!(found.kept(0, 10), [0, 1, 2, 3]);
    assert_eq!(found.kept(2, 10), [0, 1, 2, 3, 4, 5, 6, 7]);
    let found = drawn("forward(folds=2,gap=1,window=3,block=2)", 9, None).unwrap();
    assert_eq!(found.groups, [[5, 6], [7, 8]]);
    assert_eq!([found.kept(0, 9), found.kept(1, 9)], [[1, 2, 3], [3, 4, 5]]);
    assert_eq!(found.held_out_rows(), [5, 6, 7, 8]);
    let by_time = drawn("kfold(folds=3,order=time)", 10, None).unwrap();
    assert_eq!(by_time, drawn("forward:3", 10, None).unwrap());
}

#[test]
fn no_training_row_is_later_than_the_gap_before_its_block() {
    for (spec, rows, gap) in [("forward", 31, 0), ("forward(folds=4,gap=3,window=7)", 40, 3)] {
        let found = drawn(spec, rows, None).unwrap();
        for (fold, held) in found.groups.iter().enumerate() {
            let kept = found.kept(fold, rows);
            assert!(kept.len() >= 2 && kept.iter().all(|row| row + gap < held[0]));
        }
    }
}

#[test]
fn groups_are_counted_in_groups_and_must_be_consecutive() {
    let date = [1, 1, 1, 2, 3, 3, 4, 4, 4, 5];
    let found = drawn("forward(folds=2,gap=1)", 10, Some(&date)).unwrap();
    assert_eq!(found.groups, [vec![6, 7, 8], vec![9]]);
    assert_eq!([found.kept(0, 10), found.kept(1, 10)], [vec![0, 1, 2, 3], vec![0, 1, 2, 3, 4, 5]]);
    let error = drawn("forward(folds=2)", 4, Some(&[1, 2, 1, 3])).unwrap_err().to_string();
    assert!(error.contains("consecutive rows") && error.contains("rows 1 and 3"), "{error}");
}

#[test]
fn specs_are_read_back_and_impossible_rules_refused() {
    for spec in ["forward(folds=5)", "forward(folds=3,gap=2)", "forward(folds=2,gap=1,window=30,block=4)"] {
        assert_eq!(Criterion::parse(spec).unwrap().spec(), spec);
    }
    assert_eq!(Criterion::parse("kfold(folds=4,order=time)").unwrap().spec(), "forward(folds=4)");
    assert_eq!(Criterion::parse("forward:8(gap=2)").unwrap().spec(), "forward(folds=8,gap=2)");
    for spec in ["forward:1", "forward(gap=-1)", "forward(window=1)", "forward(block=0)", "forward(window=some)"] {
        assert!(Criterion::parse(spec).is_err(), "{spec}");
    }
    let error = drawn("forward(folds=5,gap=9)", 12, None).unwrap_err().to_string();
    assert!(error.contains("≤ 12") && error.contains("5 × 2 + 9"), "{error}");
}
