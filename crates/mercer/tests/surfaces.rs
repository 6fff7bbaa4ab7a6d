//! Surfaces of several kernels on one table against fits of one kernel, and against refits.

use mercer::prelude::*;

/// Rows in a plane, one in nine at a point that was there before, with another target.
fn table(rows: usize) -> (Matrix, Vec<f64>) {
    let place = |i: usize, j: usize| {
        let i = if i % 9 == 8 { i / 2 } else { i };
        libm::cos((j as f64 + 1.3) * (i as f64) * 0.731)
    };
    let x = Matrix::from_fn(rows, 2, place);
    let noise = |i: usize| ((i * 7919) % 211) as f64 / 211.0 - 0.5;
    let y = (0..rows).map(|i| 40.0 + 9.0 * libm::sin(2.0 * x.get(i, 0)) * x.get(i, 1) + 2.0 * noise(i)).collect();
    (x, y)
}

fn fit(lengthscales: &[f64]) -> Fit {
    let kernels = lengthscales.iter().map(|l| format!("gaussian(lengthscale={l})"));
    let kernels = kernels.flat_map(|spec| mercer::range::kernels(&spec).unwrap()).collect::<Vec<_>>();
    let exponents = [0.5, 1.0, 1.5, 2.0, 3.0];
    Fit::new(Gaussian::lengthscale(1.0)).kernels(kernels).exponents(&exponents)
}

/// With several kernels surfaces come from tridiagonal forms, with one from an eigendecomposition: the same numbers, with and without an
/// offset, and with weights, which both leave to eigendecompositions.
#[test]
fn several_kernels_have_the_surfaces_of_each() {
    let (x, y) = table(230);
    let weights: Vec<f64> = (0..230).map(|i| 0.5 + (i % 3) as f64).collect();
    let lambdas = [1e-4, 1e-3, 1e-2, 0.1, 1.0];
    let lengthscales = [0.05, 0.15, 0.4];
    for (offset, weighted) in [(true, false), (false, false), (true, true)] {
        let with = |fit: Fit| {
            let fit = if offset { fit } else { fit.without_offset() };
            let fit = fit.lambdas(&lambdas).on_grid();
            let y = Matrix::column_vector(y.clone());
            fit.fit_weighted(&x, &y, weighted.then_some(&weights[..])).unwrap()
        };
        let together = with(fit(&lengthscales));
        assert_eq!(together.tried.len(), 3);
        for (lengthscale, tried) in lengthscales.iter().zip(&together.tried) {
            let alone = with(fit(&[*lengthscale]));
            let (found, wanted) = (&tried.surfaces()[0].scores, &alone.tried[0].surfaces()[0].scores);
            for (m, (found, wanted)) in found.iter().zip(wanted).enumerate() {
                // Below exponent 1 a small λ leads to ridges that rounding cannot tell from none.
                let first = if m == 0 { 2 } else { 0 };
                for (l, (found, wanted)) in found.iter().zip(wanted).enumerate().skip(first) {
                    let off = (found.value / wanted.value - 1.0).abs();
                    assert!(off < 1e-7, "{lengthscale} {offset} {weighted}: exponent {m}, λ {l}: {off:e}");
                    let (found, wanted) = (found.standard_error.unwrap(), wanted.standard_error.unwrap());
                    assert!((found / wanted - 1.0).abs() < 1e-6);
                }
            }
            if tried.is_chosen {
                // The model is that of the kernel alone: the decomposition that a form becomes is a decomposition.
                let (a, b) = (together.model.predict(&x).unwrap(), alone.model.predict(&x).unwrap());
                let off = a.as_slice().iter().zip(b.as_slice()).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
                assert!(off < 1e-8, "{off:e}");
                let error = |fitted: &Fitted| fitted.summary().loo_rmse.unwrap();
                assert!((error(&together) / error(&alone) - 1.0).abs() < 1e-9);
                assert!((error(&together).powi(2) / tried.score - 1.0).abs() < 1e-7);
            }
        }
        assert!(together.summary().certificate.holds);
    }
}

/// What is read off a tridiagonal form, α, leave-one-out, norm and degrees of freedom, is what eigenvectors give; with equal rows, with and without an
/// offset, for one target, two with a ridge each, and two that share one; on a kernel of full rank and one whose form ends early.
#[test]
fn a_model_without_eigenvectors_is_the_one_with_them() {
    let (x, y) = table(230);
    let other: Vec<f64> = (0..230).map(|i| 90.0 * libm::cos(3.0 * x.get(i, 1)) + 5.0 * (i % 5) as f64).collect();
    let both = Matrix::from_columns(230, 2, [&y[..], &other].concat()).unwrap();
    let (one, mut solved) = (Matrix::column_vector(y.clone()), 0);
    for (lengthscales, exponent) in [([0.08, 0.11], 1.0), ([0.08, 0.11], 1.5), ([0.3, 0.35], 2.6), ([0.3, 0.35], 2.0)] {
        for (targets, offset, shared) in
            [(&one, true, false), (&one, false, false), (&both, true, false), (&both, true, true)]
        {
            // At exponent 2 with another one beside it, which is never better.
            let exponents = if exponent == 2.0 { vec![2.0, 2.0 + 1e-9] } else { vec![exponent] };
            let fit = fit(&lengthscales).exponents(&exponents).lambdas(&[1e-3, 1e-2, 0.1]).on_grid();
            let fit = if offset { fit } else { fit.without_offset() };
            let fit = if shared { fit.shared_ridge() } else { fit };
            let without = fit.fit_weighted(&x, targets, None).unwrap();
            let with = fit.keep_spectrum().fit_weighted(&x, targets, None).unwrap();
            assert!(with.spectrum.is_some());
            solved += usize::from(without.spectrum.is_none());
            for t in 0..targets.cols() {
                let (a, b) = (&without.solutions[t], &with.solutions[t]);
                let close = |a: f64, b: f64, what: &str| {
                    assert!((a / b - 1.0).abs() < 1e-8, "{exponent} {offset} {t}, {what}: {a} {b}");
                };
                close(a.norm, b.norm, "norm");
                close(a.dof.unwrap(), b.dof.unwrap(), "degrees of freedom");
                close(a.train_mse, b.train_mse, "error");
                close(a.effective_ridge().unwrap(), b.effective_ridge().unwrap(), "ridge");
                let [a, b] = [&without, &with].map(|fitted| fitted.leave_one_out[t].as_ref().unwrap());
                for (a, b) in a.residuals.iter().zip(&b.residuals) {
                    assert!((a - b).abs() < 1e-9 * with.leave_one_out[t].as_ref().unwrap().rmse(), "{a} {b}");
                }
                assert!(without.model.summaries()[t].certificate.holds);
                assert!(without.model.summaries()[t].certificate.decomposition_residual.is_some());
            }
            let [a, b] = [&without, &with].map(|fitted| fitted.model.predict(&x).unwrap());
            for t in 0..targets.cols() {
                let size = targets.col(t).iter().fold(0.0, |max: f64, y| max.max(y.abs()));
                assert!(a.col(t).iter().zip(b.col(t)).all(|(a, b)| (a - b).abs() < 1e-11 * size));
            }
        }
    }
    assert_eq!(solved, 16);
}

/// The same over the whole path and between the points of the grid.
#[test]
fn what_is_found_between_the_points_is_what_one_kernel_finds() {
    let (x, y) = table(230);
    let together = fit(&[0.1, 0.3, 0.9]).fit(&x, &y).unwrap();
    let chosen = together.tried.iter().find(|tried| tried.is_chosen).unwrap();
    let alone = Fit::new(Gaussian::lengthscale(1.0))
        .kernels(vec![chosen.kernel.clone()])
        .exponents(&[0.5, 1.0, 1.5, 2.0, 3.0])
        .fit(&x, &y)
        .unwrap();
    let (a, b) = (chosen.score, alone.tried[0].score);
    assert!((a / b - 1.0).abs() < 1e-5, "{a} {b}");
}

/// Leave-one-out of a surface against a refit without each of some rows.
#[test]
fn a_surface_is_what_refits_say() {
    let (x, y) = table(210);
    let (exponent, lambda) = (1.5, 0.01);
    let search = fit(&[0.15, 0.5]).exponents(&[exponent]).lambdas(&[lambda]).on_grid();
    let fitted = search.fit(&x, &y).unwrap();
    for (tried, lengthscale) in fitted.tried.iter().zip([0.15, 0.5]) {
        let mut sum = 0.0;
        for row in 0..210 {
            let others: Vec<usize> = (0..210).filter(|i| *i != row).collect();
            let rest = Matrix::from_fn(209, 2, |i, j| x.get(others[i], j));
            let targets: Vec<f64> = others.iter().map(|i| y[*i]).collect();
            // Features as the table is scaled with all of its rows.
            let alone = Fit::new(Gaussian::lengthscale(lengthscale)).exponent(exponent).lambda(lambda);
            let one = Matrix::from_fn(1, 2, |_, j| x.get(row, j));
            let model = alone.without_diagnostics().fit(&rest, &targets).unwrap().model;
            sum += (model.predict(&one).unwrap().get(0, 0) - y[row]).powi(2);
        }
        let found = tried.surfaces()[0].scores[0][0].value;
        assert!((found / (sum / 210.0) - 1.0).abs() < 1e-6, "{lengthscale}: {found} {}", sum / 210.0);
    }
}

#[test]
fn threads_change_no_bit() {
    let (x, y) = table(230);
    let run = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let fitted = pool.install(|| fit(&[0.05, 0.15, 0.4, 3.0]).on_grid().fit(&x, &y).unwrap());
        let scores = fitted.tried.iter().flat_map(|tried| tried.surfaces()[0].scores.concat());
        let bits: Vec<u64> = scores.map(|score| score.value.to_bits()).collect();
        (bits, fitted.model.coefficients(0).iter().map(|c| c.to_bits()).collect::<Vec<u64>>())
    };
    let one = run(1);
    for threads in [2, 3, 8] {
        assert!(run(threads) == one, "{threads} threads give other bits than one");
    }
}
