//! Held-out errors without refits against refits, on random problems (TRUST B7).

use mercer::criterion::{Criterion, FoldRule, Folds, Order};
use mercer::kernel::{self, Points, SharedKernel};
use mercer::path::power;
use mercer::path::{k_fold, leave_one_out};
use mercer::prelude::*;
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
    let rule = FoldRule {
        folds: 3,
        repeats: 1 + (seed % 2) as usize,
        order: if seed % 5 == 4 { Order::Blocks } else { Order::Random },
    };
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
    let (mut worst, mut worst_fold): (f64, f64) = (0.0, 0.0);
    for seed in 0..60 {
        let Problem { kernel, x, y, weights, offset, .. } = problem(seed);
        let spectrum =
            Spectrum::from_gram(mercer::space::gram(&*kernel, &Points::new(&x)), weights.as_deref(), offset).unwrap();
        let target = spectrum.target(&y).unwrap();
        let base = Fit::with_shared(kernel).exponents(&exponents).lambdas(&lambdas).on_grid();
        let base = if offset { base } else { base.without_offset() };
        let fitted = base.clone().fit_weighted(&x, &Matrix::column_vector(y.clone()), weights.as_deref()).unwrap();
        let surface = &fitted.tried[0].surfaces()[0];
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
        // Folds, drawn as the fit draws them.
        let rule = FoldRule { folds: 3, repeats: 2, order: Order::Random };
        let folds = Folds::draw(&rule, y.len(), None, 1).unwrap();
        let held_out = base.criterion(Criterion::KFold(rule)).fit_weighted(
            &x,
            &Matrix::column_vector(y.clone()),
            weights.as_deref(),
        );
        let held_out = held_out.unwrap();
        for (e, exponent) in exponents.iter().enumerate() {
            for (l, lambda) in lambdas.iter().enumerate() {
                let residuals = k_fold(&spectrum, &[&target], *exponent, *lambda, &folds).unwrap();
                let squares = folds.groups.iter().zip(&residuals).flat_map(|(rows, r)| rows.iter().zip(&r[0]));
                let mse = squares.map(|(row, e)| w(*row) * e * e).sum::<f64>() / (2.0 * total);
                let error = (held_out.tried[0].surfaces()[0].scores[e][l].value / mse - 1.0).abs();
                let ridge = power::minimum(&path, *exponent, *lambda).log_ridge;
                let share = ridge.map_or(1.0, |t| t.exp() * spectrum.weight_sum() / spectrum.largest());
                // Without a third of so few rows the ridge may be far smaller; what is determined must agree.
                if share > 1e-5 {
                    worst_fold = worst_fold.max(error);
                    assert!(
                        error < 1e-6,
                        "seed {seed}, m = {exponent}, λ = {lambda}: folds {error:.1e}, share {share:.1e}"
                    );
                }
            }
        }
    }
    println!("surfaces within {worst:.1e}, of folds {worst_fold:.1e}");
}

/// The band form and the eigendecomposition see the same surface, and choose the same model.
#[test]
fn band_form_and_spectrum_agree() {
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
            let [a, b] = [&banded, &spectral].map(|fitted| &fitted.tried[0].surfaces()[t]);
            for (a, b) in a.scores[0].iter().zip(&b.scores[0]) {
                assert!((a.value / b.value - 1.0).abs() < 1e-8, "{criterion}: {a:?} {b:?}");
            }
            assert!((a.best.lambda / b.best.lambda).ln().abs() < 2e-3, "{criterion}: {:?} {:?}", a.best, b.best);
            let [a, b] = [&banded, &spectral].map(|fitted| fitted.leave_one_out[t].as_ref().unwrap().rmse());
            assert!((a / b - 1.0).abs() < 1e-5, "{criterion}: {a} {b}");
        }
    }
}

/// Solves A x = b by elimination with pivoting: slow, and nothing of the library's.
fn eliminate(mut a: Vec<Vec<f64>>, mut b: Vec<Vec<f64>>) -> Vec<Vec<f64>> {
    let n = a.len();
    for k in 0..n {
        let pivot = (k..n).max_by(|i, j| a[*i][k].abs().total_cmp(&a[*j][k].abs())).unwrap();
        a.swap(k, pivot);
        b.swap(k, pivot);
        for i in (0..n).filter(|i| *i != k) {
            let share = a[i][k] / a[k][k];
            for j in 0..n {
                a[i][j] -= share * a[k][j];
            }
            for j in 0..b[0].len() {
                b[i][j] -= share * b[k][j];
            }
        }
    }
    (0..n).map(|i| b[i].iter().map(|v| v / a[i][i]).collect()).collect()
}

/// ln |det A| by elimination.
fn log_det(mut a: Vec<Vec<f64>>) -> f64 {
    let n = a.len();
    let mut sum = 0.0;
    for k in 0..n {
        sum += a[k][k].ln();
        for i in k + 1..n {
            let share = a[i][k] / a[k][k];
            (0..n).for_each(|j| a[i][j] -= share * a[k][j]);
        }
    }
    sum
}

/// Every criterion without held-out rows against its definition, from dense matrices made without the spectrum.
#[test]
fn criteria_equal_their_definitions() {
    use mercer::data::{Column, Frame};
    let mut random = ChaCha8Rng::seed_from_u64(77);
    let (n, u) = (18, 7);
    let x = Matrix::from_fn(n, 2, |_, _| 2.0 * uniform(&mut random));
    let new = Matrix::from_fn(u, 2, |_, _| 2.0 * uniform(&mut random));
    let y: Vec<f64> = (0..n).map(|i| (2.0 * x.get(i, 0)).sin() + 3.0 + 0.3 * uniform(&mut random)).collect();
    let kernel = kernel::parse("matern32(lengthscale=1.2)").unwrap();
    let lambdas = [1e-4, 1e-3, 1e-2, 1e-1];
    let mut frame = Frame::new(u);
    (0..2).for_each(|j| frame.push(format!("x{}", j + 1), Column::Number(new.col(j).to_vec())).unwrap());

    let both = Matrix::from_fn(n + u, 2, |i, j| if i < n { x.get(i, j) } else { new.get(i - n, j) });
    let gram = mercer::space::gram(&*kernel, &Points::new(&both));
    // The fit as a matrix: (α; b) from the bordered system, then hat matrices on both sets of rows.
    let hats = |lambda: f64| {
        let gamma = n as f64 * lambda;
        let entry = |i: usize, j: usize| match (i < n, j < n) {
            (true, true) => gram.get(i, j) + if i == j { gamma } else { 0.0 },
            (false, false) => 0.0,
            _ => 1.0,
        };
        let bordered: Vec<Vec<f64>> = (0..=n).map(|i| (0..=n).map(|j| entry(i, j)).collect()).collect();
        let right: Vec<Vec<f64>> = (0..=n).map(|i| (0..n).map(|j| f64::from(i == j)).collect()).collect();
        let solved = eliminate(bordered, right);
        let hat = |row: usize| -> Vec<f64> {
            (0..n).map(|j| solved[n][j] + (0..n).map(|k| gram.get(row, k) * solved[k][j]).sum::<f64>()).collect()
        };
        let dual: Vec<f64> = (0..n).map(|i| (0..n).map(|j| solved[i][j] * y[j]).sum()).collect();
        ((0..n).map(hat).collect::<Vec<_>>(), (n..n + u).map(hat).collect::<Vec<_>>(), dual)
    };
    let apply =
        |hat: &[Vec<f64>]| hat.iter().map(|row| row.iter().zip(&y).map(|(h, y)| h * y).sum()).collect::<Vec<f64>>();
    let distance =
        |a: &[f64], b: &[f64]| (a.iter().zip(b).map(|(a, b)| (a - b).powi(2)).sum::<f64>() / a.len() as f64).sqrt();
    let all: Vec<_> = lambdas.iter().map(|lambda| hats(*lambda)).collect();
    let mse: Vec<f64> = all.iter().map(|(hat, ..)| distance(&apply(hat), &y).powi(2)).collect();
    let share: Vec<f64> = all.iter().map(|(hat, ..)| (0..n).map(|i| hat[i][i]).sum::<f64>() / n as f64).collect();
    let (rows, ln) = (n as f64, (n as f64).ln());
    let definition = |name: &str, l: usize| -> f64 {
        let (r, p, dof) = (mse[l], share[l], rows * share[l]);
        let (hat, on_new, dual) = &all[l];
        let shifted = |i: usize, j: usize| gram.get(i, j) + if i == j { rows * lambdas[l] } else { 0.0 };
        let g: Vec<Vec<f64>> = (0..n).map(|i| (0..n).map(|j| shifted(i, j)).collect()).collect();
        let quadratic: f64 = dual.iter().zip(&y).map(|(a, y)| a * y).sum();
        let ones = eliminate(g.clone(), vec![vec![1.0]; n]).iter().map(|v| v[0]).sum::<f64>();
        match name {
            "gcv" => r / (1.0 - p).powi(2),
            "fpe" => r * (1.0 + p) / (1.0 - p),
            "aicc" => rows * r.ln() + 2.0 * dof + 2.0 * dof * (dof + 1.0) / (rows - dof - 1.0),
            "bic" => rows * r.ln() + ln * dof,
            "likelihood" => rows * (quadratic / rows).ln() + log_det(g),
            "reml" => (rows - 1.0) * (quadratic / (rows - 1.0)).ln() + log_det(g) + (ones / rows).ln(),
            "dee" => {
                let new_trace: f64 = on_new.iter().flatten().map(|s| s * s).sum::<f64>() / u as f64;
                let left = |i: usize, j: usize| f64::from(i == j) - hat[i][j];
                let left: f64 = (0..n).flat_map(|i| (0..n).map(move |j| (i, j))).map(|(i, j)| left(i, j).powi(2)).sum();
                r * (1.0 + new_trace) / (left / rows)
            }
            "tri" => {
                let keeps = (l + 1..lambdas.len())
                    .all(|k| distance(&apply(on_new), &apply(&all[k].1)) <= mse[k].sqrt() + r.sqrt());
                if keeps { r } else { f64::INFINITY }
            }
            "adj" => {
                let ratio =
                    |k: usize| distance(&apply(on_new), &apply(&all[k].1)) / distance(&apply(hat), &apply(&all[k].0));
                r * (l + 1..lambdas.len()).map(ratio).fold(1.0, f64::max).powi(2)
            }
            other => panic!("{other}"),
        }
    };
    for name in ["gcv", "fpe", "aicc", "bic", "likelihood", "reml", "dee", "tri", "adj"] {
        let fit = Fit::with_shared(kernel.clone())
            .lambdas(&lambdas)
            .on_grid()
            .unlabelled(frame.clone())
            .criterion(Criterion::parse(name).unwrap());
        let fitted = fit.fit(&x, &y).unwrap();
        for l in 0..lambdas.len() {
            let (got, want) = (fitted.tried[0].surfaces()[0].scores[0][l].value, definition(name, l));
            let agrees = got == want || (got - want).abs() < 1e-8 * (1.0 + want.abs());
            assert!(agrees, "{name} at λ = {}: {got} for {want}", lambdas[l]);
        }
    }
}
