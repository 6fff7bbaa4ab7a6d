//! Smooth losses of numbers, beside what they must satisfy: an expectile is a weighted mean, and slopes are coefficients.

use mercer::prelude::*;
use mercer::{kernel, loss};

const N: usize = 60;

fn data() -> (Matrix, Vec<f64>) {
    let x = Matrix::from_fn(N, 2, |i, j| ((i * (7 + 6 * j)) % 23) as f64 / 5.0);
    let y = (0..N).map(|i| x.get(i, 0).sin() + 0.2 * x.get(i, 1) + ((i * 37) % 11) as f64 / 8.0).collect();
    (x, y)
}

fn spaces() -> [(&'static str, Fit); 2] {
    let gaussian = kernel::parse("gaussian(lengthscale=1.5)").unwrap();
    [("gaussian", Fit::with_shared(gaussian)), ("linear", Fit::linear())]
}

/// With the weights that its own residuals give, the fit by squares is the same function.
#[test]
fn an_expectile_is_the_weighted_mean_of_its_own_residuals() {
    let (x, y) = data();
    for level in [0.1, 0.5, 0.9] {
        for (name, fit) in spaces() {
            let lambda = 0.01;
            let losses = loss::parse(&format!("expectile(level={level})")).unwrap();
            let found = fit.clone().loss(losses).lambda(lambda).tolerance(1e-12).fit(&x, &y).unwrap();
            assert!(found.summary().certificate.holds, "{name} {level}");
            let side = |i: usize| if y[i] >= found.fitted[0][i] { level } else { 1.0 - level };
            let weights: Vec<f64> = (0..N).map(side).collect();
            let total: f64 = weights.iter().sum();
            let squares = fit.clone().lambda(lambda * N as f64 / total);
            let same = squares.fit_weighted(&x, &Matrix::column_vector(y.clone()), Some(&weights)).unwrap();
            for i in 0..N {
                let difference = found.fitted[0][i] - same.fitted[0][i];
                assert!(difference.abs() < 1e-5, "{name} {level}, row {i}: {difference}");
            }
            let below = (0..N).filter(|i| y[*i] < found.fitted[0][*i]).count();
            assert!(level != 0.9 || below > N / 2, "{name}: a high expectile lies above most rows");
        }
    }
}

/// Where the objective is least, every row pulls with the slope of its loss.
#[test]
fn rows_pull_with_the_slopes_of_log_cosh() {
    let (x, y) = data();
    for (name, fit) in spaces() {
        // Targets far from the start, where the loss is straight, too.
        for shift in [0.0, 40.0] {
            let y: Vec<f64> = y.iter().map(|y| 3.0 * y + shift).collect();
            let lambda = 0.01;
            let fit = fit.clone().loss(loss::parse("log-cosh").unwrap()).lambda(lambda).tolerance(1e-12);
            let found = fit.fit(&x, &y).unwrap();
            assert!(found.summary().certificate.holds, "{name} {shift}");
            let slope = |i: usize| (y[i] - found.fitted[0][i]).tanh();
            let push: f64 = (0..N).map(slope).sum();
            assert!(push.abs() < 1e-4, "{name}: the offset balances the slopes, {push}");
            for i in 0..N {
                let pull = slope(i) / (2.0 * lambda * N as f64);
                assert!((found.coefficients[0][i] - pull).abs() < 1e-4, "{name} {shift}, row {i}");
            }
        }
    }
}

#[test]
fn landmarks_at_every_row_give_the_fit_on_all_rows() {
    let (x, y) = data();
    for spec in ["expectile(level=0.8)", "log-cosh"] {
        let kernel = kernel::parse("matern32(lengthscale=1.5)").unwrap();
        let fit = Fit::with_shared(kernel).loss(loss::parse(spec).unwrap()).lambda(1e-3).tolerance(1e-10);
        let exact = fit.clone().fit(&x, &y).unwrap();
        let reduced = fit.rank(N).fit(&x, &y).unwrap();
        for i in 0..N {
            assert!((exact.fitted[0][i] - reduced.fitted[0][i]).abs() < 1e-4, "{spec}, row {i}");
        }
    }
}
