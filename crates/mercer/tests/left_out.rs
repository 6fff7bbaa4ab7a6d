//! Leave-one-out without refits against refits, for penalties and losses that have no spectrum; CV+ by refits against its definition.

use mercer::criterion::Folds;
use mercer::data::{Design, Frame, Roles};
use mercer::interval::{Bounds, RefittedIntervals};
use mercer::learn::ManyClasses;
use mercer::linear::Sparse;
use mercer::loss;
use mercer::penalty::Gamma;
use mercer::penalty::Penalty;
use mercer::prelude::*;

const ROWS: usize = 40;

fn rows(columns: usize) -> (Matrix, Vec<f64>, Vec<f64>) {
    let noise = |i: usize, k: usize| ((i * (37 + 12 * k) + 5 * k) % 101) as f64 / 50.0 - 1.0;
    let x = Matrix::from_fn(ROWS, columns, |i, j| 30.0 * f64::from(j == 1) + noise(i, j));
    let y = (0..ROWS).map(|i| 2.0 * x.get(i, 0) - x.get(i, 1) + 0.3 * noise(i, 31)).collect();
    let weights = (0..ROWS).map(|i| 1.0 + (i % 3) as f64).collect();
    (x, y, weights)
}

fn without(x: &Matrix, values: &[f64], row: usize) -> (Matrix, Vec<f64>) {
    let kept: Vec<usize> = (0..values.len()).filter(|i| *i != row).collect();
    let part = Matrix::from_fn(kept.len(), x.cols(), |i, j| x.get(kept[i], j));
    (part, kept.iter().map(|i| values[*i]).collect())
}

fn row_of(x: &Matrix, row: usize) -> Matrix {
    Matrix::from_fn(1, x.cols(), |_, j| x.get(row, j))
}

/// The residual of every row by a fit that was made without it.
fn refitted(fit: &Fit, x: &Matrix, y: &[f64], weights: Option<&[f64]>) -> Vec<f64> {
    let one = |row: usize| {
        let (part, y_part) = without(x, y, row);
        let weights = weights.map(|w| without(x, w, row).1);
        let model = fit.fit_weighted(&part, &Matrix::column_vector(y_part), weights.as_deref()).unwrap().model;
        y[row] - model.predict(&row_of(x, row)).unwrap().get(0, 0)
    };
    (0..y.len()).map(one).collect()
}

#[test]
fn leave_one_out_of_tikhonov_is_that_of_refits() {
    let any = Matrix::from_fn(4, 6, |i, j| if i == j { 2.0 } else { 0.3 * (i + j) as f64 - 1.0 });
    for (gamma, columns) in [
        (Gamma::Identity, 6),
        (Gamma::Identity, 60),
        (Gamma::FirstDifferences, 6),
        (Gamma::SecondDifferences, 6),
        (Gamma::Matrix(any), 6),
    ] {
        let (x, y, weights) = rows(columns);
        for lambda in [1e-3, 0.5] {
            for offset in [true, false] {
                for weights in [None, Some(&weights[..])] {
                    let fit = Fit::linear().penalty(Penalty::Tikhonov { gamma: gamma.clone() }).lambda(lambda);
                    let fit = if offset { fit } else { fit.without_offset() };
                    let fitted = fit.fit_weighted(&x, &Matrix::column_vector(y.clone()), weights).unwrap();
                    let known = fitted.left_out(None).unwrap().residuals.remove(0);
                    for (row, (known, true_one)) in known.iter().zip(refitted(&fit, &x, &y, weights)).enumerate() {
                        let off = (known - true_one).abs();
                        assert!(off <= 1e-8 * (1.0 + true_one.abs()), "{gamma:?} {lambda} {offset} row {row}: {off}");
                    }
                }
            }
        }
    }
}

/// Columns of very different sizes, and rows that share a large mean.
#[test]
fn leave_one_out_of_tikhonov_bears_large_numbers() {
    for (columns, gamma) in [(4, Gamma::Identity), (4, Gamma::FirstDifferences), (60, Gamma::Identity)] {
        let (mut x, y, _) = rows(columns);
        let large = if columns == 4 { 1e7 } else { 1.0 };
        x.col_mut(2).iter_mut().for_each(|x| *x *= large);
        if columns == 60 {
            x.as_mut_slice().iter_mut().for_each(|x| *x += 1e5);
        }
        let fit = Fit::linear().penalty(Penalty::Tikhonov { gamma: gamma.clone() }).lambda(1e-3);
        let known = fit.fit(&x, &y).unwrap().left_out(None).unwrap().residuals.remove(0);
        for (known, true_one) in known.iter().zip(refitted(&fit, &x, &y, None)) {
            assert!((known - true_one).abs() < 1e-6, "{columns} {gamma:?}: {known} {true_one}");
        }
    }
}

/// All columns of a one-hot code add up to what the offset is: constants are seen by nobody, and the shortest w is asked for.
#[test]
fn differences_of_a_one_hot_code_with_an_offset() {
    let (n, columns) = (5000, 2500);
    let lines: Vec<Vec<(usize, f64)>> = (0..n).map(|i| vec![((i * 7) % columns, 1.0)]).collect();
    let x = Sparse::from_rows(columns, &lines).unwrap();
    let y = Matrix::from_fn(n, 1, |i, _| (((i * 7) % columns) as f64 / 300.0).sin() + 0.1 * ((i * 13) % 7) as f64);
    for gamma in [Gamma::FirstDifferences, Gamma::SecondDifferences] {
        let fit = Fit::linear().penalty(Penalty::Tikhonov { gamma: gamma.clone() }).lambda(1e-4);
        let found = fit.fit_sparse(&x, &y, None, None).unwrap();
        assert!(found.summary().train_r2.unwrap() > 0.8, "{gamma:?}: {:?}", found.summary().train_r2);
        let w = found.model.coefficients(0);
        assert!(w.iter().sum::<f64>().abs() < 1e-6, "{gamma:?}: {}", w.iter().sum::<f64>());
        if gamma == Gamma::FirstDifferences {
            assert!(found.summary().certificate.holds, "{:?}", found.summary().certificate);
        }
    }
}

/// A matrix Γ with more columns than are factored is no reason to allocate its square.
#[test]
fn a_wide_matrix_of_a_penalty_takes_the_dense_way() {
    let lines: Vec<Vec<(usize, f64)>> = (0..10).map(|i| vec![(i * 300, 1.0), (i * 300 + 7, 2.0)]).collect();
    let x = Sparse::from_rows(3000, &lines).unwrap();
    let y = Matrix::from_fn(10, 1, |i, _| i as f64);
    let gamma = Gamma::Matrix(Matrix::from_fn(1, 3000, |_, _| 1.0));
    let found = Fit::linear().penalty(Penalty::Tikhonov { gamma }).lambda(1e-2).fit_sparse(&x, &y, None, None).unwrap();
    assert!(found.summary().train_r2.unwrap() > 0.99);
}

#[test]
fn leave_one_out_of_least_squares_is_that_of_refits() {
    let (x, y, weights) = rows(5);
    let fit = Fit::linear().penalty(Penalty::None);
    let fitted = fit.fit_weighted(&x, &Matrix::column_vector(y.clone()), Some(&weights)).unwrap();
    let known = fitted.left_out(None).unwrap().residuals.remove(0);
    let true_ones = refitted(&fit, &x, &y, Some(&weights));
    assert!(known.iter().zip(&true_ones).all(|(a, b)| (a - b).abs() < 1e-9), "{known:?} {true_ones:?}");
}

/// Whether or not a row changes which coefficients are 0; rows that do exist here.
#[test]
fn leave_one_out_of_the_lasso_is_that_of_refits() {
    let (x, y, weights) = rows(12);
    let kernel: mercer::kernel::SharedKernel = std::sync::Arc::new(Gaussian::lengthscale(2.0));
    for (penalty, lambda) in
        [(Penalty::Lasso, 0.05), (Penalty::ElasticNet { ratio: 0.6 }, 0.05), (Penalty::KernelLasso, 0.01)]
    {
        for (weights, offset) in [(None, true), (Some(&weights[..]), true), (None, false)] {
            let fit = Fit::linear().penalty(penalty.clone()).lambda(lambda).tolerance(1e-13);
            let fit = if penalty == Penalty::KernelLasso { fit.kernels(vec![kernel.clone()]) } else { fit };
            let fit = if offset { fit } else { fit.without_offset() };
            let fitted = fit.fit_weighted(&x, &Matrix::column_vector(y.clone()), weights).unwrap();
            let known = fitted.left_out(None).unwrap();
            let true_ones = refitted(&fit, &x, &y, weights);
            assert!(known.is_exact);
            for row in 0..ROWS {
                let off = (known.residuals[0][row] - true_ones[row]).abs();
                assert!(
                    off < 2e-5,
                    "{penalty:?} {offset} row {row}: {} for {}",
                    known.residuals[0][row],
                    true_ones[row]
                );
            }
        }
    }
}

#[test]
fn a_row_that_alone_determines_a_coefficient_is_named() {
    let (mut x, y, _) = rows(3);
    x.col_mut(2).iter_mut().enumerate().for_each(|(i, x)| *x = f64::from(i == 7));
    let fitted = Fit::linear().penalty(Penalty::None).fit(&x, &y).unwrap();
    assert!(fitted.left_out(None).unwrap_err().to_string().contains("row 8"));
}

/// Sparse rows against the same rows with their zeros stored: ridge and differences, more and fewer columns than rows, by every way there is.
#[test]
fn sparse_tikhonov_is_that_of_dense_rows() {
    for columns in [7, 90] {
        let x = Matrix::from_fn(ROWS, columns, |i, j| {
            let value = ((i * 31 + j * 17) % 23) as f64 - 11.0;
            if (i * 7 + j * 3) % 5 < 2 { value } else { 0.0 }
        });
        let (_, y, weights) = rows(2);
        let y = Matrix::column_vector(y);
        let sparse = Sparse::from_dense(&x).unwrap();
        let any = Matrix::from_fn(columns, columns, |i, j| if i == j { 1.5 } else { 0.2 / (1 + i + j) as f64 });
        for gamma in [Gamma::Identity, Gamma::FirstDifferences, Gamma::SecondDifferences, Gamma::Matrix(any)] {
            for lambda in [1e-6, 1e-2, 10.0] {
                for offset in [true, false] {
                    for weights in [None, Some(&weights[..])] {
                        let fit = Fit::linear().penalty(Penalty::Tikhonov { gamma: gamma.clone() }).lambda(lambda);
                        let fit = if offset { fit } else { fit.without_offset() };
                        let dense = fit.fit_weighted(&x, &y, weights).unwrap();
                        let found = fit.fit_sparse(&sparse, &y, weights, None).unwrap();
                        let name = format!("{columns} {gamma:?} {lambda} {offset} {}", weights.is_some());
                        let certificate = &found.summary().certificate;
                        assert!(certificate.holds, "{name}: {certificate:?}");
                        let size = dense.fitted[0].iter().fold(0.0, |max: f64, f| max.max(f.abs()));
                        for (a, b) in found.fitted[0].iter().zip(&dense.fitted[0]) {
                            assert!((a - b).abs() < 1e-9 * size, "{name}: {a} {b}");
                        }
                        let (a, b) = (found.summary().objective, dense.summary().objective);
                        assert!((a - b).abs() <= 1e-12 * b, "{name}: {a} {b}");
                        // The zeros do not matter to what is left out either.
                        let (a, b) = (found.left_out(None).unwrap().residuals, dense.left_out(None).unwrap().residuals);
                        assert!(a[0].iter().zip(&b[0]).all(|(a, b)| (a - b).abs() < 1e-6 * (1.0 + b.abs())), "{name}");
                    }
                }
            }
        }
    }
}

/// Far more columns than a factor is made of: conjugate gradients, and 10¹⁰ entries that nobody stores.
#[test]
fn wide_sparse_rows_are_never_made_dense() {
    for (gamma, columns) in [(Gamma::Identity, 500_000), (Gamma::FirstDifferences, 6_000)] {
        let (x, y) = long_lines(20_000, columns);
        let fit = Fit::linear().penalty(Penalty::Tikhonov { gamma: gamma.clone() }).lambda(1e-2);
        let found = fit.fit_sparse(&x, &y, None, None).unwrap();
        assert!(found.summary().certificate.holds, "{gamma:?}: {:?}", found.summary().certificate);
        assert!(found.summary().train_r2.unwrap() > 0.3, "{gamma:?}");
    }
}

fn long_lines(n: usize, columns: usize) -> (Sparse, Matrix) {
    let line = |i: usize| -> Vec<(usize, f64)> {
        let mut line: Vec<(usize, f64)> =
            (0..6).map(|k| ((i * 7919 + k * 104_729 * (1 + i % 13)) % columns, 1.0 + ((i + k) % 5) as f64)).collect();
        line.sort_by_key(|(column, _)| *column);
        line.dedup_by_key(|(column, _)| *column);
        line
    };
    let lines: Vec<Vec<(usize, f64)>> = (0..n).map(line).collect();
    let x = Sparse::from_rows(columns, &lines).unwrap();
    let y = Matrix::from_fn(n, 1, |i, _| lines[i].iter().map(|(j, v)| v * (j % 3) as f64).sum::<f64>());
    (x, y)
}

/// Few rows are fitted again, with kinks and without, with weights, for classes one against the rest and all at once.
#[test]
fn leave_one_out_of_losses_is_that_of_refits() {
    let (x, y, weights) = rows(2);
    let labels: Vec<f64> = y.iter().map(|y| f64::from(u8::from(*y > -30.5) + u8::from(*y > -29.5))).collect();
    let many_weights: Vec<f64> = (0..ROWS).map(|i| 1.0 + 0.01 * i as f64).collect();
    for (spec, is_joint) in [
        ("absolute", false),
        ("huber(threshold=0.3)", false),
        ("epsilon-insensitive(epsilon=0.1)", false),
        ("pinball(quantile=0.3)", false),
        ("hinge", false),
        ("logistic", false),
        ("logistic", true),
    ] {
        let reads_classes = ["hinge", "logistic"].contains(&spec);
        let y = Matrix::column_vector(if reads_classes { labels.clone() } else { y.clone() });
        for (weights, offset) in [(None, true), (Some(&weights), true), (Some(&many_weights), false)] {
            let learn =
                Fit::new(Gaussian::lengthscale(1.0)).loss(loss::parse(spec).unwrap()).lambda(3e-3).tolerance(1e-10);
            let learn = if offset { learn } else { learn.without_offset() };
            let learn = if is_joint { learn.many_classes(ManyClasses::Multinomial) } else { learn };
            let fitted = learn.fit_weighted(&x, &y, weights.map(|w| &w[..])).unwrap();
            let known = fitted.left_out(None).unwrap();
            assert!(known.is_exact);
            for row in 0..ROWS {
                let (part, y_part) = without(&x, y.col(0), row);
                let part_weights = weights.map(|w| without(&x, w, row).1);
                let refit = learn.fit_weighted(&part, &Matrix::column_vector(y_part), part_weights.as_deref()).unwrap();
                let true_ones = refit.model.predict(&row_of(&x, row)).unwrap();
                for (t, values) in known.values.iter().enumerate() {
                    let (a, b) = (values[row], true_ones.get(0, t));
                    assert!((a - b).abs() < 2e-3, "{spec} {is_joint} {offset} row {row} model {t}: {a} for {b}");
                }
            }
        }
    }
}

/// Beyond a few hundred rows smooth losses have first order, which is then near refits: two classes, and three at once.
#[test]
fn leave_one_out_of_many_rows_is_near_refits() {
    let n = 300;
    let x = Matrix::from_fn(n, 2, |i, j| ((i * (129 + 14 * j)) % 301) as f64 / 100.0);
    let level = |i: usize| u8::from(x.get(i, 0) > 1.0) + u8::from(x.get(i, 1) + 0.2 * (i % 3) as f64 > 1.8);
    for classes in [2, 3] {
        let y: Vec<f64> = (0..n).map(|i| f64::from(level(i).min(classes - 1))).collect();
        for offset in [true, false] {
            let learn = |lambda: f64| {
                let learn = Fit::new(Gaussian::lengthscale(1.0))
                    .loss(loss::parse("logistic").unwrap())
                    .many_classes(ManyClasses::Multinomial)
                    .tolerance(1e-10)
                    .lambda(lambda);
                if offset { learn } else { learn.without_offset() }
            };
            let fitted = learn(1e-3).fit(&x, &y).unwrap();
            let known = fitted.left_out(None).unwrap();
            assert!(!known.is_exact);
            let (mut off, mut moved) = (0.0, 0.0);
            for row in (0..n).step_by(17) {
                let (part, y_part) = without(&x, &y, row);
                // The ridge W·λ is held where it is.
                let lambda = 1e-3 * n as f64 / (n as f64 - 1.0);
                let refit = learn(lambda).fit(&part, &y_part).unwrap().model.predict(&row_of(&x, row)).unwrap();
                // Softmax does not see what all classes share.
                let models = known.values.len();
                let centred = |value: &dyn Fn(usize) -> f64| {
                    let mean = if models == 1 { 0.0 } else { (0..models).map(value).sum::<f64>() / models as f64 };
                    (0..models).map(|c| value(c) - mean).collect::<Vec<f64>>()
                };
                let true_ones = centred(&|c| refit.get(0, c));
                let (found, trained) = (centred(&|c| known.values[c][row]), centred(&|c| fitted.fitted[c][row]));
                for c in 0..models {
                    off += (found[c] - true_ones[c]).abs();
                    moved += (trained[c] - true_ones[c]).abs();
                }
            }
            assert!(off < 0.2 * moved, "{classes} {offset}: off by {off}, moved by {moved}");
        }
    }
}

/// CV+ by its definition, for a loss, several quantiles and the Lasso.
#[test]
fn intervals_by_refits_are_those_of_the_definition() {
    let (x, y, _) = rows(3);
    let (frame, roles) = Design::frame_of(&x, &Matrix::column_vector(y.clone()), None).unwrap();
    let folds = Folds::random(ROWS, 8, 3).unwrap();
    let new = Matrix::from_fn(5, 3, |i, j| 0.2 * i as f64 + 30.0 * f64::from(j == 1));
    let quantiles =
        Fit::new(Gaussian::lengthscale(3.0)).loss(loss::parse("pinball(quantile=[0.2,0.8])").unwrap()).lambda(1e-3);
    let lasso = Fit::linear().penalty(Penalty::Lasso).lambda(1e-2);
    type Way<'a> = &'a dyn Fn(&Frame, &Roles) -> Result<Model>;
    let ways: [(Way<'_>, usize); 2] = [
        (&|part, roles| Ok(quantiles.fit_frame(part, roles)?.model), 2),
        (&|part, roles| Ok(lasso.fit_frame(part, roles)?.model), 1),
    ];
    for (fit, outputs) in ways {
        let intervals =
            RefittedIntervals::new(&frame, &roles.targets, &folds, 0.8, None, |part| fit(part, &roles)).unwrap();
        let (at, _) = Design::frame_of(&new, &Matrix::zeros(5, 1), None).unwrap();
        let bounds: Vec<Bounds> = intervals.at_frame(&at, None).unwrap();
        assert_eq!(bounds.len(), outputs);
        for output in 0..outputs {
            for place in 0..5 {
                let (mut low, mut high) = (Vec::new(), Vec::new());
                for held in &folds.groups {
                    let kept: Vec<usize> = (0..ROWS).filter(|row| !held.contains(row)).collect();
                    let model = fit(&frame.select_rows(&kept), &roles).unwrap();
                    let there = model.predict(&row_of(&new, place)).unwrap().get(0, output);
                    for row in held {
                        let error = (y[*row] - model.predict(&row_of(&x, *row)).unwrap().get(0, output)).abs();
                        low.push(there - error);
                        high.push(there + error);
                    }
                }
                low.sort_by(f64::total_cmp);
                high.sort_by(f64::total_cmp);
                // ⌊0.2·41⌋ = 8 from below, and from above.
                assert_eq!(bounds[output].lower[place], Some(low[7]));
                assert_eq!(bounds[output].upper[place], Some(high[ROWS - 8]));
            }
        }
    }
    let other = Folds::random(ROWS + 1, 8, 3).unwrap();
    let wrong = RefittedIntervals::new(&frame, &roles.targets, &other, 0.8, None, |part| ways[1].0(part, &roles));
    assert!(wrong.err().unwrap().to_string().contains("each of the 40 rows once"));
    let wrong = RefittedIntervals::new(&frame, &[], &folds, 0.8, None, |part| ways[1].0(part, &roles));
    assert!(wrong.err().unwrap().to_string().contains("target columns"));
    let few = RefittedIntervals::new(&frame, &roles.targets, &folds, 0.99, None, |part| ways[1].0(part, &roles));
    assert!(few.err().unwrap().to_string().contains("at least 99"));
}
