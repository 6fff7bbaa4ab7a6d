//! Held-out errors without refits against refits, on random problems (TRUST B7).

use mercer::criterion::{FoldRule, Folds, k_fold, leave_one_out};
use mercer::kernel::{self, Points, SharedKernel};
use mercer::prelude::*;
use mercer::solver::power;
use mercer::spectrum::Spectrum;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

struct Problem {
    kernel: SharedKernel,
    x: Matrix,
    y: Vec<f64>,
    weights: Option<Vec<f64>>,
    offset: bool,
    exponent: f64,
    lambda: f64,
    folds: Folds,
}

fn uniform(random: &mut ChaCha8Rng) -> f64 {
    random.next_u32() as f64 / u32::MAX as f64
}

fn pick<T: Copy>(random: &mut ChaCha8Rng, from: &[T]) -> T {
    from[random.next_u32() as usize % from.len()]
}

/// Few rows, so that a deletion matters; some repeated, some far from 0, some with more features than rows.
fn problem(seed: u64) -> Problem {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let rows = 5 + random.next_u32() as usize % 14;
    let features = pick(&mut random, &[1, 2, 3, 25]);
    let spec =
        pick(&mut random, &["gaussian(lengthscale=0.7)", "linear", "polynomial(degree=2,constant=1)", "matern32"]);
    let shift = if spec.starts_with("gauss") { pick(&mut random, &[0.0, 1e8]) } else { 0.0 };
    let mut x = Matrix::from_fn(rows, features, |_, _| shift + 2.0 * uniform(&mut random) - 1.0);
    let mut y: Vec<f64> = (0..rows).map(|_| 3.0 * uniform(&mut random) + 2.0).collect();
    if seed.is_multiple_of(3) {
        // A row twice, once with another target.
        for j in 0..features {
            x.set(1, j, x.get(0, j));
            x.set(2, j, x.get(0, j));
        }
        y[1] = y[0];
    }
    let weights = (seed % 4 == 1).then(|| (0..rows).map(|_| 0.2 + 3.0 * uniform(&mut random)).collect());
    let group: Vec<u32> = (0..rows).map(|row| (row % 4) as u32).collect();
    let by_group = seed.is_multiple_of(2);
    let rule = FoldRule { folds: 3, repeats: 1 + (seed % 2) as usize, in_order: seed % 5 == 4 };
    let folds = Folds::draw(&rule, rows, by_group.then_some(&group[..]), seed).unwrap();
    let points = Points::new(&x);
    Problem {
        kernel: kernel::parse(spec).unwrap().fitted_to(&points, None).unwrap(),
        x,
        y,
        weights,
        offset: pick(&mut random, &[true, false]),
        exponent: pick(&mut random, &[0.5, 1.0, 1.5, 2.0, 3.0, 0.1, 2.9, 0.8]),
        lambda: 10f64.powf(-4.0 + 4.0 * uniform(&mut random)),
        folds,
    }
}

impl Problem {
    /// Residuals of `out`, predicted by a fit to all other rows; and how far rounding may be magnified in it: by
    /// the condition of K + γI, and by how firmly γ is determined.
    fn refit(&self, out: &[usize]) -> (Vec<f64>, f64) {
        let kept: Vec<usize> = (0..self.y.len()).filter(|row| !out.contains(row)).collect();
        let select = |rows: &[usize]| Matrix::from_fn(rows.len(), self.x.cols(), |i, j| self.x.get(rows[i], j));
        let gram = mercer::space::gram(&*self.kernel, &Points::new(&self.x));
        let inner = Matrix::from_fn(kept.len(), kept.len(), |i, j| gram.get(kept[i], kept[j]));
        let y: Vec<f64> = kept.iter().map(|row| self.y[*row]).collect();
        let weights: Option<Vec<f64>> = self.weights.as_ref().map(|w| kept.iter().map(|row| w[*row]).collect());
        let spectrum = Spectrum::from_gram(inner, weights.as_deref(), self.offset).unwrap();
        let path = spectrum.path(&[&spectrum.target(&y).unwrap()]);
        let mean = |values: &[f64]| -> f64 {
            let w = |i: usize| weights.as_ref().map_or(1.0, |w| w[i]);
            (0..values.len()).map(|i| w(i) * values[i]).sum::<f64>() / spectrum.weight_sum()
        };
        let minimum = power::minimum(&path, self.exponent, self.lambda);
        let Some(t) = minimum.log_ridge else {
            let b = if self.offset { mean(&y) } else { 0.0 };
            return (out.iter().map(|row| self.y[*row] - b).collect(), 1.0);
        };
        let magnified = 1.0 + spectrum.largest() / (spectrum.weight_sum() * t.exp() * minimum.firmness);
        // A ridge fit at that μ, by the front door.
        let fit = Fit::with_shared(self.kernel.clone()).lambda(t.exp());
        let fit = if self.offset { fit } else { fit.without_offset() };
        let fitted = fit.fit_weighted(&select(&kept), &Matrix::column_vector(y), weights.as_deref()).unwrap();
        let predicted = fitted.model.predict(&select(out)).unwrap();
        (out.iter().enumerate().map(|(i, row)| self.y[*row] - predicted.get(i, 0)).collect(), magnified)
    }

    fn spectrum(&self) -> Spectrum {
        let gram = mercer::space::gram(&*self.kernel, &Points::new(&self.x));
        Spectrum::from_gram(gram, self.weights.as_deref(), self.offset).unwrap()
    }
}

/// The largest difference, in units of the targets.
fn difference(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max) / 5.0
}

/// Differences beyond what rounding allows, counted and measured.
#[derive(Default)]
struct Comparison {
    compared: usize,
    in_doubt: usize,
    worst: f64,
    worst_at: u64,
}

impl Comparison {
    fn add(&mut self, seed: u64, got: &[f64], (want, magnified): &(Vec<f64>, f64)) {
        self.compared += 1;
        // 1e-10, unless the problem itself magnifies rounding beyond that; past 1e11 it determines nothing.
        self.in_doubt += usize::from(*magnified > 1e5);
        let error = if *magnified > 1e11 { 0.0 } else { difference(got, want) * (3e4 / magnified).min(1.0) };
        if error > self.worst {
            (self.worst, self.worst_at) = (error, seed);
        }
    }
}

#[test]
fn shortcuts_equal_refits_on_three_hundred_problems() {
    let (mut rows, mut folds, mut planted) = (Comparison::default(), Comparison::default(), Comparison::default());
    for seed in 0..300 {
        let problem = problem(seed);
        let spectrum = problem.spectrum();
        let target = spectrum.target(&problem.y).unwrap();
        let got = leave_one_out(&spectrum, &[&target], problem.exponent, &[problem.lambda.ln()]).unwrap();
        // The bug that everybody plants: leverages of the fit to all rows, at its own ridge.
        let minimum = power::minimum(&spectrum.path(&[&target]), problem.exponent, problem.lambda);
        let wrong = minimum.log_ridge.map(|t| leave_one_out(&spectrum, &[&target], 2.0, &[t]).unwrap());
        for row in 0..problem.y.len() {
            let refit = problem.refit(&[row]);
            rows.add(seed, &got[0][0][row..=row], &refit);
            if let Some(wrong) = wrong.as_ref().filter(|_| problem.exponent != 2.0) {
                planted.add(seed, &wrong[0][0][row..=row], &refit);
            }
        }
        let got = k_fold(&spectrum, &[&target], problem.exponent, problem.lambda, &problem.folds).unwrap();
        for (fold, residuals) in problem.folds.groups.iter().zip(&got) {
            folds.add(seed, &residuals[0], &problem.refit(fold));
        }
    }
    for (what, result) in [("rows", &rows), ("folds", &folds)] {
        println!("{} {what} within {:.1e}, {} ill-conditioned", result.compared, result.worst, result.in_doubt);
        assert!(result.worst < 1e-10, "{what} differ by {:.1e} at seed {}", result.worst, result.worst_at);
        assert!(result.in_doubt * 8 < result.compared, "too many problems are ill-conditioned");
    }
    assert!(rows.compared > 3000 && folds.compared > 900);
    assert!(planted.worst > 1e-3, "the planted bug was not noticed");
}

/// Every point of a surface equals the exact value at that point.
#[test]
fn surfaces_equal_single_evaluations() {
    let exponents = [0.1, 0.5, 0.9, 1.0, 1.1, 1.5, 2.0, 2.9];
    let lambdas: Vec<f64> = (0..7).map(|i| 10f64.powf(-6.0 + 1.2 * f64::from(i))).collect();
    let mut worst: f64 = 0.0;
    for seed in 0..60 {
        let Problem { kernel, x, y, weights, offset, folds, .. } = problem(seed);
        let spectrum =
            Spectrum::from_gram(mercer::space::gram(&*kernel, &Points::new(&x)), weights.as_deref(), offset).unwrap();
        let target = spectrum.target(&y).unwrap();
        let base = Fit::with_shared(kernel).exponents(&exponents).lambdas(&lambdas).on_grid();
        let base = if offset { base } else { base.without_offset() };
        let fitted = base.fit_weighted(&x, &Matrix::column_vector(y.clone()), weights.as_deref()).unwrap();
        let surface = &fitted.tried[0].surfaces[0];
        let w = |i: usize| weights.as_ref().map_or(1.0, |w| w[i]);
        let total: f64 = (0..y.len()).map(w).sum();
        let path = spectrum.path(&[&target]);
        for (e, exponent) in exponents.iter().enumerate() {
            let logs: Vec<f64> = lambdas.iter().map(|l| l.ln()).collect();
            let exact = leave_one_out(&spectrum, &[&target], *exponent, &logs).unwrap();
            for l in 0..lambdas.len() {
                let mse = exact[l][0].iter().enumerate().map(|(i, e)| w(i) * e * e).sum::<f64>() / total;
                let error = (surface.scores[e][l].value / mse - 1.0).abs();
                // Tiny ridges magnify rounding, and single evaluations are no better there.
                let ridge = power::minimum(&path, *exponent, lambdas[l]).log_ridge;
                let share = ridge.map_or(1.0, |t| t.exp() * spectrum.weight_sum() / spectrum.largest());
                let allowed = 1e-7 + 1e-16 / share;
                worst = worst.max(if share > 1e-6 { error } else { 0.0 });
                assert!(
                    error < allowed,
                    "seed {seed}, m = {exponent}, λ = {}: {error:.1e}, share {share:.1e}",
                    lambdas[l]
                );
            }
        }
        assert!(folds.groups.len() >= 3);
    }
    println!("surfaces within {worst:.1e}");
}

/// The band form and the eigendecomposition see the same surface, and choose the same model.
#[test]
fn band_form_and_spectrum_agree() {
    use mercer::criterion::Criterion;
    use mercer::plan::Method;
    let mut random = ChaCha8Rng::seed_from_u64(5);
    let x = Matrix::from_fn(920, 3, |_, _| uniform(&mut random));
    let noise: Vec<f64> = (0..920).map(|_| 0.1 * uniform(&mut random)).collect();
    let y = Matrix::from_fn(920, 2, |i, t| 1e3 * ((4.0 * x.get(i, 0) + t as f64).sin() + x.get(i, 1) + noise[i]));
    let lambdas: Vec<f64> = (0..9).map(|i| 10f64.powi(i - 8)).collect();
    for (criterion, offset) in [("loo", true), ("loo", false), ("gcv", true), ("reml", true), ("likelihood", true)] {
        let fit = Fit::with_shared(kernel::parse("matern32(lengthscale=0.5)").unwrap())
            .lambdas(&lambdas)
            .criterion(Criterion::parse(criterion).unwrap());
        let fit = if offset { fit } else { fit.without_offset() };
        let banded = fit.fit_weighted(&x, &y, None).unwrap();
        let spectral = fit.keep_spectrum().fit_weighted(&x, &y, None).unwrap();
        assert_eq!((banded.plan.method, spectral.plan.method), (Method::Band, Method::Spectral));
        for t in 0..2 {
            let [a, b] = [&banded, &spectral].map(|fitted| &fitted.tried[0].surfaces[t]);
            for (a, b) in a.scores[0].iter().zip(&b.scores[0]) {
                assert!((a.value / b.value - 1.0).abs() < 1e-8, "{criterion}: {a:?} {b:?}");
            }
            assert!((a.best.lambda / b.best.lambda).ln().abs() < 2e-3, "{criterion}: {:?} {:?}", a.best, b.best);
            let [a, b] = [&banded, &spectral].map(|fitted| fitted.leave_one_out[t].as_ref().unwrap().rmse());
            assert!((a / b - 1.0).abs() < 1e-5, "{criterion}: {a} {b}");
        }
    }
}
