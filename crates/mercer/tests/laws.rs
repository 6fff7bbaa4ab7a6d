//! Laws that hold whatever the data: two ways to the same answer must agree.

use mercer::kernel::{self, Points};
use mercer::path::leave_one_out;
use mercer::plan::Method;
use mercer::prelude::*;
use mercer::spectrum::Spectrum;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

struct Data {
    x: Matrix,
    y: Vec<f64>,
}

/// Rows in [0, 1]ᵖ with a curved target and noise.
fn data(n: usize, p: usize, seed: u64) -> Data {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut uniform = move || (random.next_u64() >> 11) as f64 / (1_u64 << 53) as f64;
    let x = Matrix::from_fn(n, p, |_, _| uniform());
    let y = (0..n).map(|i| 3.0 + (5.0 * x.get(i, 0)).sin() + x.get(i, p - 1) + 0.3 * uniform()).collect();
    Data { x, y }
}

fn without(values: &[f64], row: usize) -> Vec<f64> {
    values.iter().enumerate().filter(|(i, _)| *i != row).map(|(_, v)| *v).collect()
}

fn rows_without(x: &Matrix, row: usize) -> Matrix {
    Matrix::from_fn(x.rows() - 1, x.cols(), |i, j| x.get(if i < row { i } else { i + 1 }, j))
}

fn close(a: f64, b: f64, tolerance: f64, label: &str) {
    assert!((a - b).abs() <= tolerance * (1.0 + a.abs().max(b.abs())), "{label}: {a} and {b}");
}

const KERNELS: &[&str] = &[
    "linear",
    "polynomial(degree=2,constant=0.5)",
    "gaussian(lengthscale=0.4)",
    "gaussian(lengthscale=[0.3,0.9])",
    "laplace(lengthscale=0.7)",
    "matern12(lengthscale=0.5)",
    "matern32(lengthscale=0.5)",
    "matern52(lengthscale=0.5)",
    "rational-quadratic(lengthscale=0.5,shape=0.7)",
    "cauchy(lengthscale=0.5)",
    "periodic(period=0.7,lengthscale=0.9)",
    "additive-spline",
    "multiplicative-spline",
    "additive-spline(order=0)",
    "normalized-additive-spline",
    "normalized-polynomial(degree=3,constant=1)",
    "0.5*linear + gaussian(lengthscale=0.3)",
    "matern32(lengthscale=1)*(linear + 2*additive-spline)",
];

#[test]
fn specs_are_read_back_as_they_are_printed_and_gram_matrices_are_kernels() {
    let Data { x, .. } = data(40, 2, 1);
    let points = Points::new(&x);
    for spec in KERNELS {
        let kernel = kernel::parse(spec).unwrap();
        assert_eq!(kernel::parse(&kernel.spec()).unwrap().spec(), kernel.spec(), "{spec}");
        let gram = mercer::space::gram(&*kernel, &points);
        let mut diagonal = vec![0.0; 40];
        kernel.diagonal(&points, 0, &mut diagonal);
        for i in 0..40 {
            close(gram.get(i, i), diagonal[i], 1e-14, spec);
            for j in 0..i {
                assert_eq!(gram.get(i, j).to_bits(), gram.get(j, i).to_bits(), "{spec}: symmetric bit by bit");
            }
        }
        // Positive semidefinite: otherwise this is refused.
        Spectrum::from_gram(gram, None, false).unwrap_or_else(|error| panic!("{spec}: {error}"));
    }
}

#[test]
fn kernel_values_by_hand() {
    let x = Matrix::from_rows(&[[0.0, 0.0], [3.0, 4.0]]).unwrap();
    let value = |spec: &str| mercer::space::gram(&*kernel::parse(spec).unwrap(), &Points::new(&x)).get(0, 1);
    let e = |x: f64| x.exp();
    close(value("gaussian(lengthscale=5)"), e(-0.5), 1e-15, "gaussian");
    close(value("gaussian(lengthscale=[3,4])"), e(-1.0), 1e-15, "gaussian, one per feature");
    close(value("laplace(lengthscale=7)"), e(-1.0), 1e-15, "laplace");
    close(value("matern12(lengthscale=5)"), e(-1.0), 1e-15, "matern12");
    let (s3, s5) = (3_f64.sqrt(), 5_f64.sqrt());
    close(value("matern32(lengthscale=5)"), (1.0 + s3) * e(-s3), 1e-15, "matern32");
    close(value("matern52(lengthscale=5)"), (1.0 + s5 + 5.0 / 3.0) * e(-s5), 1e-15, "matern52");
    close(value("rational-quadratic(lengthscale=5,shape=2)"), 1.25_f64.powi(-2), 1e-15, "rational quadratic");
    close(value("cauchy(lengthscale=5)"), 0.5, 1e-15, "cauchy");
    let x = Matrix::from_rows(&[[0.5, 1.0], [1.0, 0.25]]).unwrap();
    let value = |spec: &str| mercer::space::gram(&*kernel::parse(spec).unwrap(), &Points::new(&x)).get(0, 1);
    close(value("linear"), 0.75, 1e-15, "linear");
    close(value("polynomial(degree=3,constant=1)"), 1.75_f64.powi(3), 1e-15, "polynomial");
    // s(½, 1) = 1 + ½ + ½·¼/2 + ⅛/3, s(1, ¼) = 1 + ¼ + ¾·(1/16)/2 + (1/64)/3
    let (a, b) = (1.5 + 0.0625 + 0.125 / 3.0, 1.25 + 0.0234375 + 0.015625 / 3.0);
    close(value("additive-spline"), a + b, 1e-15, "additive spline");
    close(value("multiplicative-spline"), a * b, 1e-15, "multiplicative spline");
    close(value("spline0"), 1.5 + 1.25, 1e-15, "spline of order 0");
    close(value("2*linear + linear*linear"), 1.5 + 0.5625, 1e-15, "sum and product");
}

#[test]
fn leave_one_out_equals_refitting_without_each_row() {
    let mut compared = 0;
    for (index, exponent) in [0.5, 0.8, 1.0, 1.3, 2.0, 3.0].into_iter().cycle().take(48).enumerate() {
        let n = 6 + index % 7;
        let Data { mut x, mut y } = data(n, 2, 100 + index as u64);
        // Duplicates, with conflicting targets, and columns far from the origin.
        if index % 3 == 0 {
            for j in 0..2 {
                x.set(1, j, x.get(0, j));
            }
        }
        if index % 4 == 1 {
            x.as_mut_slice().iter_mut().for_each(|v| *v += 1e8);
        }
        if index % 5 == 2 {
            y.iter_mut().for_each(|v| *v = 1e6 * *v + 1e9);
        }
        let weights: Option<Vec<f64>> = (index % 2 == 1).then(|| (0..n).map(|i| 0.5 + (i % 4) as f64).collect());
        let kernel = kernel::parse(["gaussian(lengthscale=0.4)", "matern32(lengthscale=0.6)"][index % 2]).unwrap();
        let size = if index % 5 == 2 { 1e12_f64.powf(1.0 - exponent / 2.0) } else { 1.0 };
        let mut fit = Fit::with_shared(kernel).exponent(exponent).lambda(0.003 * size);
        if index % 8 >= 5 {
            fit = fit.without_offset();
        }
        let whole = fit.fit_weighted(&x, &Matrix::column_vector(y.clone()), weights.as_deref()).unwrap();
        let residuals = &whole.leave_one_out[0].as_ref().unwrap().residuals;
        let spread = residuals.iter().fold(0.0, |max: f64, e| max.max(e.abs()));
        for row in 0..n {
            let less = weights.as_ref().map(|w| without(w, row));
            let refit = fit
                .fit_weighted(&rows_without(&x, row), &Matrix::column_vector(without(&y, row)), less.as_deref())
                .unwrap();
            let left_out = Matrix::from_fn(1, 2, |_, j| x.get(row, j));
            let residual = y[row] - refit.model.predict(&left_out).unwrap().get(0, 0);
            let error = (residual - residuals[row]).abs() / spread;
            assert!(error < 1e-9, "problem {index}, exponent {exponent}, row {row}: off by {error:.1e}");
            compared += 1;
        }
    }
    assert!(compared > 400, "{compared}");
}

/// Duplicate rows make K singular; what rounding leaves in its null directions must not pass for a fit. The
/// reference values come from brute-force refits in 60-digit arithmetic.
#[test]
fn leave_one_out_survives_duplicate_rows_below_exponent_one() {
    let x = Matrix::from_rows(&[[0.0], [0.0], [1.0], [2.0], [3.0]]).unwrap();
    let y = [0.0, 1.0, 2.0, 3.0, 1.0];
    let fit = Fit::new(Gaussian::lengthscale(1.0)).exponent(0.1).lambda(1e-4).fit(&x, &y).unwrap();
    close(fit.summary().loo_rmse.unwrap(), 1.0417074982028, 1e-9, "leave-one-out");
}

#[test]
fn several_targets_share_a_decomposition_and_may_share_a_ridge() {
    let Data { x, y } = data(30, 2, 5);
    let other: Vec<f64> = (0..30).map(|i| 100.0 * (x.get(i, 1) * 4.0).cos()).collect();
    let both = Matrix::from_fn(30, 2, |i, t| if t == 0 { y[i] } else { other[i] });
    for exponent in [0.7, 1.4, 2.0] {
        let fit = Fit::new(Gaussian::lengthscale(0.5)).exponent(exponent).lambda(0.01);
        let together = fit.fit_weighted(&x, &both, None).unwrap();
        for (t, single) in [&y, &other].into_iter().enumerate() {
            let alone = fit.fit(&x, single).unwrap();
            assert_eq!(alone.model.coefficients(0), together.model.coefficients(t));
            assert_eq!(alone.leave_one_out[0], together.leave_one_out[t]);
        }
        let shared = fit.clone().shared_ridge().fit_weighted(&x, &both, None).unwrap();
        let ridges: Vec<Option<f64>> = shared.model.summaries().iter().map(|s| s.effective_ridge).collect();
        assert_eq!(ridges[0], ridges[1]);
        // ‖f‖² = Σ‖f_t‖² in the equation of the shared ridge.
        let norm = shared.model.summaries().iter().map(|s| s.norm * s.norm).sum::<f64>();
        let ridge = ridges[0].unwrap();
        close(ridge.ln(), (0.01 * exponent / 2.0_f64).ln() + (exponent / 2.0 - 1.0) * norm.ln(), 1e-10, "shared ridge");
        // Its leave-one-out is exact too.
        let residuals = &shared.leave_one_out[1].as_ref().unwrap().residuals;
        let refit = fit
            .clone()
            .shared_ridge()
            .fit_weighted(
                &rows_without(&x, 4),
                &Matrix::from_fn(29, 2, |i, t| both.get(if i < 4 { i } else { i + 1 }, t)),
                None,
            )
            .unwrap();
        let predicted = refit.model.predict(&Matrix::from_fn(1, 2, |_, j| x.get(4, j))).unwrap().get(0, 1);
        close(other[4] - predicted, residuals[4], 1e-9, "leave-one-out with a shared ridge");
    }
}

#[test]
fn weight_two_is_the_row_twice() {
    let Data { x, y } = data(20, 2, 6);
    let weights: Vec<f64> = (0..20).map(|i| 1.0 + f64::from(i % 3 == 0)).collect();
    let index: Vec<usize> = (0..20).flat_map(|i| vec![i; weights[i] as usize]).collect();
    let repeated = Matrix::from_fn(index.len(), 2, |i, j| x.get(index[i], j));
    let repeated_y: Vec<f64> = index.iter().map(|i| y[*i]).collect();
    for exponent in [0.6, 1.0, 1.7, 2.0, 4.0] {
        for scale in [Scale::None, Scale::Standard] {
            let fit = Fit::with_shared(kernel::parse("gaussian").unwrap()).exponent(exponent).lambda(0.02).scale(scale);
            let weighted = fit.fit_weighted(&x, &Matrix::column_vector(y.clone()), Some(&weights)).unwrap();
            let doubled = fit.fit(&repeated, &repeated_y).unwrap();
            close(weighted.summary().objective, doubled.summary().objective, 1e-11, "objective");
            close(weighted.summary().dof.unwrap(), doubled.summary().dof.unwrap(), 1e-10, "degrees of freedom");
            let (a, b) = (weighted.model.predict(&x).unwrap(), doubled.model.predict(&x).unwrap());
            for i in 0..20 {
                close(a.get(i, 0), b.get(i, 0), 1e-10, "prediction");
            }
            // Multiplying all weights changes nothing at all for powers of two.
            let scaled: Vec<f64> = weights.iter().map(|w| 8.0 * w).collect();
            let again = fit.fit_weighted(&x, &Matrix::column_vector(y.clone()), Some(&scaled)).unwrap();
            close(again.summary().objective, weighted.summary().objective, 1e-12, "scaled weights");
        }
    }
}

#[test]
fn primal_and_dual_agree() {
    for (n, p, offset) in [(30, 3, true), (30, 3, false), (4, 3, true), (12, 2, true)] {
        let Data { x, y } = data(n, p, 7);
        let weights: Vec<f64> = (0..n).map(|i| 1.0 + (i % 3) as f64).collect();
        for exponent in [0.5, 1.5, 2.0] {
            let with = |spec: &str| {
                let fit = Fit::with_shared(kernel::parse(spec).unwrap()).exponent(exponent).lambda(0.01);
                let fit = if offset { fit } else { fit.without_offset() };
                fit.fit_weighted(&x, &Matrix::column_vector(y.clone()), Some(&weights)).unwrap()
            };
            let primal = with("2*linear");
            let dual = with("2*polynomial(degree=1,constant=0)");
            assert_eq!((primal.plan.method, dual.plan.method), (Method::Primal, Method::Spectral));
            close(primal.summary().objective, dual.summary().objective, 1e-10, "objective");
            close(primal.summary().loo_rmse.unwrap(), dual.summary().loo_rmse.unwrap(), 1e-8, "leave-one-out");
            close(primal.summary().dof.unwrap(), dual.summary().dof.unwrap(), 1e-9, "degrees of freedom");
            let (a, b) = (primal.model.predict(&x).unwrap(), dual.model.predict(&x).unwrap());
            (0..n).for_each(|i| close(a.get(i, 0), b.get(i, 0), 1e-9, "prediction"));
        }
    }
}

#[test]
fn cholesky_and_spectrum_agree() {
    let Data { x, y } = data(700, 3, 8);
    let kernel = kernel::parse("matern32(lengthscale=0.5)").unwrap();
    for offset in [true, false] {
        let fit = Fit::with_shared(kernel.clone()).lambda(1e-4);
        let fit = if offset { fit } else { fit.without_offset() };
        let fitted = fit.fit(&x, &y).unwrap();
        assert_eq!(fitted.plan.method, Method::Cholesky);
        let gram = mercer::space::gram(&*kernel, &Points::new(&x));
        let spectrum = Spectrum::from_gram(gram, None, offset).unwrap();
        let target = spectrum.target(&y).unwrap();
        let path = spectrum.path(&[&target]);
        let summary = fitted.summary();
        // Their part of order 1/n is estimated.
        close(summary.dof.unwrap(), path.dof(1e-4), 3e-6, "degrees of freedom");
        close(summary.norm, path.norm(1e-4), 1e-10, "norm");
        close(summary.train_rmse.powi(2), path.train_mse(1e-4), 1e-10, "error");
        let residuals = leave_one_out(&spectrum, &[&target], 2.0, &[1e-4_f64.ln()]).unwrap();
        let got = &fitted.leave_one_out[0].as_ref().unwrap().residuals;
        got.iter().zip(&residuals[0][0]).for_each(|(a, b)| close(*a, *b, 1e-9, "leave-one-out"));
        let quick = fit.without_diagnostics().fit(&x, &y).unwrap();
        let size = fitted.model.coefficients(0).iter().fold(0.0, |max: f64, a| max.max(a.abs()));
        for (a, b) in quick.model.coefficients(0).iter().zip(fitted.model.coefficients(0)) {
            assert!((a - b).abs() <= 1e-11 * size, "{a} and {b} by two factorisations");
        }
        assert!(quick.summary().loo_rmse.is_none());
    }
}

#[test]
fn scaling_the_target_by_a_power_of_two_scales_the_model_exactly() {
    let Data { x, y } = data(25, 2, 9);
    let large: Vec<f64> = y.iter().map(|v| v * 1024.0).collect();
    let fit = Fit::new(Gaussian::lengthscale(0.5)).lambda(0.01);
    let (a, b) = (fit.fit(&x, &y).unwrap(), fit.fit(&x, &large).unwrap());
    for (u, v) in a.model.coefficients(0).iter().zip(b.model.coefficients(0)) {
        assert_eq!(u * 1024.0, *v);
    }
}

#[test]
fn the_chosen_lambda_is_the_best_of_a_dense_grid() {
    let Data { x, y } = data(40, 2, 10);
    for exponent in [0.6, 1.0, 1.5, 2.0, 3.0] {
        let chosen = Fit::new(Matern32::lengthscale(0.8)).exponent(exponent).fit(&x, &y).unwrap();
        let spectrum = chosen.spectrum.as_ref().unwrap();
        let target = spectrum.target(&y).unwrap();
        let grid: Vec<f64> = (0..400).map(|i| -25.0 + 0.08 * f64::from(i)).collect();
        let residuals = leave_one_out(spectrum, &[&target], exponent, &grid).unwrap();
        let best = residuals
            .iter()
            .map(|by_target| (by_target[0].iter().map(|e| e * e).sum::<f64>() / 40.0).sqrt())
            .fold(f64::INFINITY, f64::min);
        let got = chosen.summary().loo_rmse.unwrap();
        assert!(got <= best * (1.0 + 1e-4), "exponent {exponent}: {got} but the grid has {best}");
        // What is reported belongs to the λ that is reported.
        let again = Fit::new(Matern32::lengthscale(0.8)).exponent(exponent).lambda(chosen.summary().lambda);
        close(again.fit(&x, &y).unwrap().summary().loo_rmse.unwrap(), got, 1e-12, "leave-one-out at the chosen λ");
    }
}

#[test]
fn the_same_bits_for_any_number_of_threads() {
    let Data { x, y } = data(720, 3, 11);
    let small = data(150, 3, 12);
    let hash = |threads: usize| -> Vec<Vec<u8>> {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let bytes =
                |fit: Fit, x: &Matrix, y: &[f64]| mercer::format::to_bytes(&fit.fit(x, y).unwrap().model).unwrap();
            vec![
                bytes(Fit::new(Gaussian::lengthscale(0.5)).lambda(1e-3), &x, &y),
                bytes(Fit::new(Gaussian::lengthscale(0.5)).exponent(1.5).lambda(1e-3), &x, &y),
                bytes(Fit::new(Linear), &x, &y),
                bytes(Fit::new(Spline::additive()).exponent(0.7), &small.x, &small.y),
                bytes(Fit::new(Matern52::lengthscale(0.7)), &small.x, &small.y),
            ]
        })
    };
    let one = hash(1);
    for threads in [2, 3, 4, 8] {
        for _ in 0..5 {
            assert!(hash(threads) == one, "{threads} threads give other bits than one");
        }
    }
}

/// A target that depends on one of five features: every way of learning the metric finds it, and the model is better for it.
#[test]
fn learned_metrics_find_the_feature_that_matters() {
    let Data { x, .. } = data(120, 5, 21);
    let y: Vec<f64> = (0..120).map(|i| (6.0 * x.get(i, 2)).sin()).collect();
    let plain = Fit::with_shared(kernel::parse("matern52").unwrap()).fit(&x, &y).unwrap();
    for (name, _) in mercer::metric::Rule::all() {
        let rule = mercer::metric::Rule::parse(name).unwrap();
        let fit = Fit::with_shared(kernel::parse("matern52").unwrap()).learn_metric(rule);
        let fitted = fit.fit(&x, &y).unwrap();
        let (better, before) = (fitted.summary().loo_rmse.unwrap(), plain.summary().loo_rmse.unwrap());
        assert!(better < 0.5 * before, "{name}: {better} against {before}");
        // The model predicts through its learned map, and comes back from bytes with it.
        let again = mercer::format::from_bytes(&mercer::format::to_bytes(&fitted.model).unwrap()).unwrap();
        assert_eq!(again.predict(&x).unwrap(), fitted.model.predict(&x).unwrap());
        close(fitted.model.predict(&x).unwrap().get(3, 0), fitted.solutions[0].fitted[3], 1e-9, name);
    }
    assert!(mercer::metric::Rule::parse("ful").unwrap_err().to_string().contains("did you mean full"));
    assert!(Fit::new(Linear).learn_metric(mercer::metric::Rule::Full).fit(&x, &y).is_err());
}

/// Between the lengthscales of a range the best one is found, unless only the range's own are wanted.
#[test]
fn lengthscales_between_those_of_a_range_are_tried() {
    let Data { x, y } = data(150, 2, 33);
    let fit = Fit::new(Linear).kernels(mercer::range::kernels("gaussian(lengthscale=0.05..20:6)").unwrap());
    let (refined, on_grid) = (fit.clone().fit(&x, &y).unwrap(), fit.on_grid().fit(&x, &y).unwrap());
    assert_eq!(on_grid.tried.len(), 6);
    assert!(refined.tried.len() > 6 && refined.tried.len() <= 9);
    let best = |fitted: &Fitted| fitted.tried.iter().map(|tried| tried.score).fold(f64::INFINITY, f64::min);
    assert!(best(&refined) <= best(&on_grid));
    let chosen = refined.tried.iter().find(|tried| tried.is_chosen).unwrap();
    assert_eq!(chosen.score, best(&refined));
    assert_eq!(refined.model.kernel().spec(), chosen.kernel.spec());
}

/// Ivanov's and Morozov's forms are points of the ridge path: their bounds are met with equality, and a ridge with the λ that
/// they found is the same function.
#[test]
fn constrained_forms_are_points_of_the_path() {
    use mercer::solver::constrained::Constraint;
    let x = Matrix::from_fn(60, 2, |i, j| ((i * (3 + 4 * j)) % 19) as f64 / 9.0);
    let y: Vec<f64> = (0..60).map(|i| (2.0 * x.get(i, 0)).sin() * x.get(i, 1) + 0.1 * ((i * 7 % 11) as f64)).collect();
    let fit = || Fit::new(Gaussian::lengthscale(0.7));
    let bounded = fit().subject_to(Constraint::NormAtMost(1.5)).fit(&x, &y).unwrap();
    assert!((bounded.summary().norm - 1.5).abs() < 1e-9, "{}", bounded.summary().norm);
    let close = fit().subject_to(Constraint::TrainErrorAtMost(0.3)).fit(&x, &y).unwrap();
    assert!((close.summary().train_rmse - 0.3).abs() < 1e-9, "{}", close.summary().train_rmse);
    for found in [&bounded, &close] {
        let ridge = fit().lambda(found.summary().lambda).fit(&x, &y).unwrap();
        let (a, b) = (ridge.model.predict(&x).unwrap(), found.model.predict(&x).unwrap());
        assert!(a.as_slice().iter().zip(b.as_slice()).all(|(a, b)| (a - b).abs() < 1e-9));
    }
    let error = fit().subject_to(Constraint::NormAtMost(-1.0)).fit(&x, &y).unwrap_err().to_string();
    assert!(error.contains("above 0"), "{error}");
    assert!(fit().lambda(1.0).subject_to(Constraint::NormAtMost(1.0)).fit(&x, &y).is_err());
}
