//! Fits on landmarks: their bounds hold, all landmarks are the exact fit, and the model is what it says.

use mercer::criterion::Criterion;
use mercer::low_rank::Landmarks;
use mercer::plan::Method;
use mercer::prelude::*;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

/// Uniform numbers between 0 and 1.
struct Draws(ChaCha8Rng);

impl Draws {
    fn new(seed: u64) -> Self {
        Draws(ChaCha8Rng::seed_from_u64(seed))
    }

    fn next(&mut self) -> f64 {
        (self.0.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
    }

    fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.next()
    }

    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[((self.next() * from.len() as f64) as usize).min(from.len() - 1)]
    }
}

fn problem(draws: &mut Draws, rows: usize, features: usize) -> (Matrix, Vec<f64>) {
    let x = Matrix::from_fn(rows, features, |_, _| draws.between(-2.0, 2.0));
    let shift = draws.pick(&[0.0, 3.0, 100.0]);
    let y = (0..rows)
        .map(|i| shift + libm::sin(2.0 * x.get(i, 0)) + 0.3 * x.get(i, features - 1) + draws.between(-0.2, 0.2))
        .collect();
    (x, y)
}

#[test]
fn predictions_keep_to_the_bound() {
    let mut draws = Draws::new(11);
    let (mut at_rows, mut anywhere, mut useful) = (0, 0, 0);
    let mut index = 0;
    while at_rows < 200 {
        index += 1;
        assert!(index < 500, "too few problems have a bound: {at_rows} of {index}");
        let rows = draws.pick(&[30, 80, 200, 400]);
        let features = draws.pick(&[1, 2, 4]);
        let (x, y) = problem(&mut draws, rows, features);
        let rank = 1 + (draws.next() * draws.pick(&[0.05, 0.3, 1.0]) * rows as f64) as usize;
        let exponent = draws.pick(&[2.0, 2.0, 1.2, 1.5, 3.0]);
        let lambda = libm::pow(10.0, draws.between(-6.0, 0.0));
        let kernel = draws.pick(&[
            "gaussian(lengthscale=1)",
            "matern32(lengthscale=2)",
            "laplace(lengthscale=1)",
            "gaussian(lengthscale=3)",
        ]);
        let mut fit =
            Fit::with_shared(mercer::kernel::parse(kernel).unwrap()).exponent(exponent).lambda(lambda).seed(index);
        if draws.next() < 0.4 {
            fit = fit.without_offset();
        }
        let weights: Option<Vec<f64>> =
            (draws.next() < 0.3).then(|| (0..rows).map(|_| draws.between(0.2, 3.0)).collect());
        let targets = Matrix::column_vector(y.clone());
        let exact = fit.clone().exact().fit_weighted(&x, &targets, weights.as_deref()).unwrap();
        let by = draws.pick(&Landmarks::ALL);
        let reduced = fit.rank(rank).landmarks_by(by).fit_weighted(&x, &targets, weights.as_deref()).unwrap();
        assert!(matches!(reduced.plan.method, Method::LowRank { .. }));
        assert!(reduced.model.points() <= rank);
        let weight = |i: usize| weights.as_ref().map_or(1.0, |w| w[i]);
        let total: f64 = (0..rows).map(weight).sum();
        let mean = (0..rows).map(|i| weight(i) * y[i]).sum::<f64>() / total;
        let centre = if reduced.summary().has_offset { mean } else { 0.0 };
        let spread = ((0..rows).map(|i| weight(i) * (y[i] - centre) * (y[i] - centre)).sum::<f64>() / total).sqrt();
        let difference = |new: &Matrix| {
            let (a, b) = (exact.model.predict(new).unwrap(), reduced.model.predict(new).unwrap());
            a.as_slice().iter().zip(b.as_slice()).map(|(a, b)| (a - b).abs() / spread).fold(0.0, f64::max)
        };
        let low_rank = reduced.summary().certificate.low_rank.clone().unwrap();
        // The exact predictions have rounding of their own.
        let rounding = 1e-9;
        if let Some(bound) = low_rank.bound_at_rows {
            let found = difference(&x);
            assert!(
                found <= bound + rounding,
                "problem {index}: {found} above {bound} ({kernel}, rank {rank} by {by:?}, m {exponent}, λ {lambda})"
            );
            at_rows += 1;
            useful += usize::from(bound < 1.0);
        }
        if let Some(bound) = low_rank.bound_anywhere {
            let new = Matrix::from_fn(50, features, |_, _| draws.between(-4.0, 4.0));
            let found = difference(&new);
            assert!(found <= bound + rounding, "problem {index}: {found} above {bound} anywhere");
            anywhere += 1;
        }
    }
    println!("{at_rows} bounds at the rows, {anywhere} anywhere, {useful} below the target's spread");
    assert!(anywhere >= 200 && useful > 50, "{anywhere} {useful}");
}

#[test]
fn all_landmarks_are_the_exact_fit() {
    let mut draws = Draws::new(5);
    let (x, y) = problem(&mut draws, 150, 3);
    for exponent in [0.7, 1.0, 1.5, 2.0, 3.0] {
        for has_offset in [true, false] {
            let fit = Fit::new(Matern32::lengthscale(1.5)).exponent(exponent);
            let fit = if has_offset { fit } else { fit.without_offset() };
            let exact = fit.clone().fit(&x, &y).unwrap();
            let reduced = fit.rank(150).fit(&x, &y).unwrap();
            let (a, b) = (exact.summary(), reduced.summary());
            assert!((a.lambda / b.lambda - 1.0).abs() < 1e-6, "{} {}", a.lambda, b.lambda);
            assert!((a.loo_rmse.unwrap() / b.loo_rmse.unwrap() - 1.0).abs() < 1e-8);
            let fixed = |rank: Option<usize>| {
                let fit = Fit::new(Matern32::lengthscale(1.5)).exponent(exponent).lambda(a.lambda);
                let fit = if has_offset { fit } else { fit.without_offset() };
                let fit = if let Some(rank) = rank { fit.rank(rank) } else { fit };
                fit.fit(&x, &y).unwrap().model.predict(&x).unwrap()
            };
            let (a, b) = (fixed(None), fixed(Some(150)));
            let worst = a.as_slice().iter().zip(b.as_slice()).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
            assert!(worst < 1e-8, "exponent {exponent}, offset {has_offset}: {worst}");
        }
    }
}

/// Leave-one-out of the model with its landmarks held: a refit without the row on the same landmarks.
#[test]
fn leave_one_out_is_a_refit_on_the_same_landmarks() {
    let mut draws = Draws::new(8);
    let (x, y) = problem(&mut draws, 60, 2);
    let fit = Fit::new(Gaussian::lengthscale(0.9)).lambda(1e-3);
    let whole = fit.clone().rank(12).landmarks_by(Landmarks::Pivots).fit(&x, &y).unwrap();
    let landmarks = whole.model.points();
    let residuals = &whole.leave_one_out[0].as_ref().unwrap().residuals;
    // φ(x) = L⁻¹k(x): any other root of the landmarks' matrix gives the same functions, so ridge on k(x) with the penalty βᵀK_LLβ.
    let factor = mercer::low_rank::factor(&Gaussian::lengthscale(0.9), &mercer::kernel::Points::new(&x), 1e-14, 12, 1);
    assert_eq!(factor.pivots.len(), landmarks);
    let features = factor.matrix;
    for row in [0, 7, 31, 59] {
        let kept: Vec<usize> = (0..60).filter(|i| *i != row).collect();
        let part = Matrix::from_fn(59, landmarks, |i, k| features.get(kept[i], k));
        let values: Vec<f64> = kept.iter().map(|i| y[*i]).collect();
        let linear = Fit::new(Linear).lambda(1e-3).fit(&part, &values).unwrap();
        let new = Matrix::from_fn(1, landmarks, |_, k| features.get(row, k));
        let expected = y[row] - linear.model.predict(&new).unwrap().get(0, 0);
        assert!((residuals[row] - expected).abs() < 1e-9, "row {row}: {} {expected}", residuals[row]);
    }
}

#[test]
fn many_rows_are_represented_by_landmarks_and_accuracy_is_reached_or_said_not_to_be() {
    let mut draws = Draws::new(21);
    let (x, y) = problem(&mut draws, 3000, 2);
    let fit = Fit::new(Gaussian::lengthscale(2.0)).lambda(1e-3).exponent(1.5);
    // Little memory: landmarks.
    let small = fit.clone().memory(40 << 20).fit(&x, &y).unwrap();
    assert!(matches!(small.plan.method, Method::LowRank { .. }));
    // All rows without the matrix: for exponents above 1 only.
    let refused = fit.clone().exponent(0.9).exact().memory(40 << 20).fit(&x, &y).unwrap_err().to_string();
    assert!(refused.contains("a factor of rank"), "{refused}");
    let accurate = fit.clone().accuracy(1e-2).fit(&x, &y).unwrap();
    let low_rank = accurate.summary().certificate.low_rank.clone().unwrap();
    assert!(accurate.summary().certificate.holds && low_rank.bound_at_rows.unwrap() <= 1e-2, "{low_rank:?}");
    assert!(low_rank.rank < 1000, "{low_rank:?}");
    // A kernel of full rank with little memory cannot be that accurate.
    let rough = Fit::new(Matern12::lengthscale(0.1)).lambda(1e-6).memory(20 << 20).accuracy(1e-9).fit(&x, &y).unwrap();
    let certificate = &rough.summary().certificate;
    assert!(!certificate.holds && certificate.reason.as_ref().unwrap().contains("landmarks"), "{certificate:?}");
    assert!(fit.clone().rank(0).fit(&x, &y).is_err());
    assert!(fit.clone().accuracy(f64::NAN).fit(&x, &y).is_err());
}

/// Whatever the landmarks: along f itself the objective has no slope, (1/n)Σ(y − f)f = λ‖f‖², with ‖f‖ that of a sum over them.
#[test]
fn a_fit_on_any_landmarks_is_stationary_and_says_how_they_were_chosen() {
    let mut draws = Draws::new(14);
    let (x, y) = problem(&mut draws, 150, 2);
    let lambda = 1e-2;
    for (by, words) in
        [(Landmarks::Pivots, "pivoted"), (Landmarks::Centres, "k-means"), (Landmarks::Uniform, "drawn alike")]
    {
        let fit = Fit::new(Gaussian::lengthscale(0.8)).lambda(lambda).without_offset();
        let fitted = fit.rank(10).landmarks_by(by).fit(&x, &y).unwrap();
        assert!(fitted.plan.method.describe().contains(words), "{by:?}");
        assert_eq!(fitted.model.points(), 10);
        let f = fitted.model.predict(&x).unwrap();
        let slope = y.iter().zip(f.col(0)).map(|(y, f)| (y - f) * f).sum::<f64>() / 150.0;
        let pull = lambda * fitted.summary().norm * fitted.summary().norm;
        assert!((slope / pull - 1.0).abs() < 1e-9, "{by:?}: {slope} {pull}");
    }
}

#[test]
fn every_criterion_and_several_kernels_work_on_landmarks() {
    let mut draws = Draws::new(3);
    let (x, y) = problem(&mut draws, 300, 2);
    for spec in ["loo", "kfold:5", "gcv", "fpe", "bic", "reml"] {
        let criterion = Criterion::parse(spec).unwrap();
        let kernels = ["gaussian(lengthscale=0.5)", "gaussian(lengthscale=1)", "gaussian(lengthscale=2)"]
            .map(|kernel| mercer::kernel::parse(kernel).unwrap());
        let fitted = Fit::with_shared(kernels[0].clone())
            .kernels(kernels.to_vec())
            .exponents(&[1.0, 1.5, 2.0])
            .criterion(criterion)
            .rank(60)
            .fit(&x, &y)
            .unwrap();
        assert!(fitted.tried.iter().all(|tried| tried.low_rank.is_some()));
        assert!(fitted.summary().train_r2.unwrap() > 0.7, "{spec}: {:?}", fitted.summary().train_r2);
    }
}
