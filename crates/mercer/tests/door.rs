//! The front door: the engine that a problem reaches, what is refused and why, the defaults of every engine, and one problem by
//! every method that can solve it.

use std::sync::Arc;
use std::time::Duration;

use mercer::criterion::Criterion;
use mercer::data::{Column, Design};
use mercer::journal::Journal;
use mercer::learn::{ClassWeights, ManyClasses, Measure};
use mercer::linear::Sparse;
use mercer::low_rank::Landmarks;
use mercer::metric::Rule;
use mercer::penalty::{Gamma, Penalty};
use mercer::plan::Method;
use mercer::prelude::*;
use mercer::solver::constrained::Constraint;
use mercer::{Engine, kernel, loss};

const ENGINES: [Engine; 4] = [Engine::Squared, Engine::Loss, Engine::Penalty, Engine::Automatic];

/// A plain problem of each engine.
fn problem_of(engine: Engine) -> Fit {
    let kernel = Gaussian::lengthscale(1.0);
    match engine {
        Engine::Squared => Fit::new(kernel),
        Engine::Loss => Fit::new(kernel).loss(loss::parse("absolute").unwrap()),
        Engine::Penalty => Fit::linear().penalty(Penalty::Lasso),
        Engine::Automatic => Fit::automatic(),
    }
}

#[test]
fn every_problem_reaches_the_engine_that_is_for_it() {
    let gaussian = || Fit::new(Gaussian::lengthscale(1.0));
    let of = |fit: Fit, spec: &str| fit.loss(loss::parse(spec).unwrap());
    let with = |fit: Fit, spec: &str| fit.penalty(Penalty::parse(spec).unwrap());
    let choices = ["epsilon-insensitive(epsilon=0.1)", "absolute"].map(|spec| loss::parse(spec).unwrap());
    for (name, fit, engine) in [
        ("a kernel", gaussian(), Engine::Squared),
        ("several kernels", gaussian().kernels(vec![Arc::new(Linear), Arc::new(Linear)]), Engine::Squared),
        ("a linear function", Fit::linear(), Engine::Squared),
        ("the squared loss by name", of(gaussian(), "squared"), Engine::Squared),
        ("the penalty by name", with(gaussian(), "norm-power"), Engine::Squared),
        ("a kernel and the squared loss for classes", gaussian().classify(), Engine::Loss),
        ("the squared loss by name, for classes", of(gaussian(), "squared").classify(), Engine::Loss),
        ("the absolute loss", of(gaussian(), "absolute"), Engine::Loss),
        ("the Huber loss", of(gaussian(), "huber(threshold=1e9)"), Engine::Loss),
        ("several quantiles", of(gaussian(), "pinball(quantile=[0.1,0.9])"), Engine::Loss),
        ("the hinge", of(Fit::linear(), "hinge"), Engine::Loss),
        ("the squared hinge", of(Fit::linear(), "squared-hinge"), Engine::Loss),
        ("losses to choose from", gaussian().losses(choices.to_vec()), Engine::Loss),
        ("least squares", with(Fit::linear(), "none"), Engine::Penalty),
        ("the Lasso", with(Fit::linear(), "lasso"), Engine::Penalty),
        ("the Lasso, its loss by name", of(with(Fit::linear(), "lasso"), "squared"), Engine::Penalty),
        ("the elastic net of monomials", with(Fit::linear(), "elastic-net(ratio=0.5)").degree(3), Engine::Penalty),
        ("Tikhonov", with(Fit::linear(), "tikhonov(gamma=first-differences)"), Engine::Penalty),
        ("the Lasso of a linear kernel", with(Fit::new(Linear), "lasso"), Engine::Penalty),
        ("the kernel Lasso", with(gaussian(), "kernel-lasso"), Engine::Penalty),
        ("a search", Fit::automatic(), Engine::Automatic),
        ("a search in order of time", Fit::automatic().criterion(folds("forward(folds=3)")), Engine::Automatic),
    ] {
        assert_eq!(fit.engine().unwrap(), engine, "{name}");
    }
}

fn folds(spec: &str) -> Criterion {
    Criterion::parse(spec).unwrap()
}

#[derive(Debug)]
struct Forgets;

impl Journal for Forgets {
    fn recall(&self, _: &str) -> Option<Vec<f64>> {
        None
    }
    fn record(&self, _: &str, _: &[f64]) {}
}

/// The engines that refuse a setting, with its name and the reason.
type Refusal = (&'static [Engine], &'static str, &'static str);

type Setting = fn(Fit) -> Fit;

/// Every setting that not all engines have a use for, and every one that all of them have.
fn settings() -> Vec<(Setting, Vec<Refusal>)> {
    use Engine::{Automatic, Loss, Penalty, Squared};
    let of_losses = "it belongs to other losses and to classes";
    let of_squares = "it needs the decomposition of the squared loss with λ‖f‖ᵐ";
    let not_of_losses: &[Engine] = &[Squared, Penalty, Automatic];
    let not_of_squares: &[Engine] = &[Loss, Penalty, Automatic];
    let not_searched: &[Engine] = &[Squared, Loss, Penalty];
    vec![
        (|fit| fit.exponent(1.5), vec![(&[Penalty], "an exponent", "only λ‖f‖ᵐ has one")]),
        (|fit| fit.lambda(0.1), vec![(&[Automatic], "λ", "it is searched")]),
        (|fit| fit.lambdas(&[0.1, 1.0]), vec![(&[Automatic], "λ", "it is searched")]),
        (|fit| fit.scale(Scale::Unit), vec![(&[Automatic], "a scaling", "features are standardised")]),
        (|fit| fit.measure(Measure::Absolute), vec![(not_of_losses, "a measure", of_losses)]),
        (|fit| fit.every_point(), vec![(not_of_losses, "every point of the grid", of_losses)]),
        (|fit| fit.on_grid(), vec![(&[Penalty, Automatic], "the choice on the grid only", "a grid of their own")]),
        (|fit| fit.preferring(2.0), vec![(not_of_squares, "a preferred exponent", of_squares)]),
        (|fit| fit.one_standard_error(), vec![(&[Automatic], "one standard error", "it is searched")]),
        (|fit| fit.learn_metric(Rule::Full), vec![(not_of_squares, "a learned metric", of_squares)]),
        (|fit| fit.unlabelled(Frame::new(3)), vec![(not_of_squares, "rows without target", of_squares)]),
        (|fit| fit.shared_ridge(), vec![(not_of_squares, "a shared ridge", of_squares)]),
        (|fit| fit.subject_to(Constraint::NormAtMost(1.0)), vec![(not_of_squares, "a constraint", of_squares)]),
        (|fit| fit.clip(), vec![(&[Loss, Penalty], "clipping", of_squares)]),
        (
            |fit| fit.many_classes(ManyClasses::OneVersusRest),
            vec![(not_of_losses, "a way for many classes", of_losses)],
        ),
        (|fit| fit.class_weights(ClassWeights::Balanced), vec![(not_of_losses, "class weights", of_losses)]),
        (|fit| fit.with_probabilities(), vec![(not_of_losses, "calibrated probabilities", of_losses)]),
        (|fit| fit.non_crossing(), vec![(not_of_losses, "sorted quantiles", of_losses)]),
        (|fit| fit.tolerance(1e-9), vec![(&[Squared, Automatic], "a tolerance", "not a duality gap")]),
        (|fit| fit.conjugate_gradients(), vec![(not_of_squares, "conjugate gradients", of_squares)]),
        (|fit| fit.accuracy_of_gradients(1e-9), vec![(not_of_squares, "conjugate gradients", of_squares)]),
        (|fit| fit.exact(), vec![(&[Penalty], "a demand for all rows", "it always uses all of them")]),
        (|fit| fit.rank(50), vec![(&[Penalty], "landmarks", "it has none")]),
        (
            |fit| fit.accuracy(0.1),
            vec![
                (&[Penalty], "landmarks", "it has none"),
                (&[Loss], "an accuracy of landmarks", "nothing is proved of other losses"),
            ],
        ),
        (
            |fit| fit.landmarks_by(Landmarks::Pivots),
            vec![(&[Loss, Penalty], "a way to choose landmarks", "it has one only")],
        ),
        (|fit| fit.without_diagnostics(), vec![(not_of_squares, "a fit without diagnostics", of_squares)]),
        (|fit| fit.keep_spectrum(), vec![(not_of_squares, "a kept spectrum", of_squares)]),
        (
            |fit| fit.budget(Duration::from_secs(9)),
            vec![(not_searched, "a budget", "it is the time of the automatic search")],
        ),
        (|fit| fit.journal(Arc::new(Forgets)), vec![(&[Loss, Penalty], "a journal", "it remembers decompositions")]),
        (
            |fit| fit.search_observer(Arc::new(|_| ())),
            vec![(not_searched, "an observer of a search", "there is no search to follow")],
        ),
        (|fit| fit.criterion(folds("forward(folds=3)")), vec![]),
        (|fit| fit.without_offset(), vec![]),
        (|fit| fit.missing(Missing::Mean), vec![]),
        (|fit| fit.text_as(TextAs::OneHot), vec![]),
        (|fit| fit.memory(1 << 30), vec![]),
        (|fit| fit.seed(7), vec![]),
        (|fit| fit.observer(Arc::new(|_| true)), vec![]),
    ]
}

#[test]
fn settings_without_effect_are_refused_by_name_and_with_the_reason() {
    let mut refused = 0;
    for (k, (apply, refusals)) in settings().into_iter().enumerate() {
        for engine in ENGINES {
            let found = apply(problem_of(engine)).engine();
            let Some((_, setting, because)) = refusals.iter().find(|(engines, ..)| engines.contains(&engine)) else {
                assert_eq!(found.unwrap(), engine, "setting {k}");
                continue;
            };
            let message = found.unwrap_err().to_string();
            let start = format!("{setting} cannot be combined with {}: ", engine.describe());
            assert!(message.starts_with(&start) && message.ends_with(because), "{message}");
            // No row is looked at before.
            let fitted = apply(problem_of(engine)).fit(&Matrix::zeros(0, 0), &[]);
            assert_eq!(fitted.unwrap_err().to_string(), message);
            refused += 1;
        }
    }
    assert_eq!(refused, 70);
}

#[test]
fn problems_that_nobody_solves_are_refused_by_name_and_with_the_reason() {
    let gaussian = || Fit::new(Gaussian::lengthscale(1.0));
    let absolute = || loss::parse("absolute").unwrap();
    let automatic = Engine::Automatic.describe();
    for (fit, setting, with, because) in [
        (Fit::automatic().loss(absolute()), "the loss", automatic, "name a kernel"),
        (Fit::automatic().classify(), "the loss", automatic, "name a kernel"),
        (Fit::automatic().penalty(Penalty::Lasso), "the penalty", automatic, "name the function space"),
        (Fit::linear().degree(2), "polynomial features", "the penalty λ‖f‖ᵐ", "the polynomial kernel"),
        (Fit::linear().degree(2).loss(absolute()), "polynomial features", "the penalty λ‖f‖ᵐ", "the polynomial kernel"),
        (Fit::linear().penalty(Penalty::Lasso).loss(absolute()), "the loss", "this penalty", "the squared loss"),
        (Fit::linear().penalty(Penalty::None).classify(), "the loss", "this penalty", "the squared loss"),
        (
            gaussian().kernels(vec![Arc::new(Linear), Arc::new(Linear)]).penalty(Penalty::Lasso),
            "several kernels",
            "this penalty",
            "it takes one",
        ),
    ] {
        let message = fit.engine().unwrap_err().to_string();
        assert!(message.starts_with(&format!("{setting} cannot be combined with {with}: ")), "{message}");
        assert!(message.contains(because), "{message}");
    }
    // What only the fit of a table can refuse.
    let (x, y) = table(12);
    let error = |fit: Fit| fit.fit(&x, &y).unwrap_err().to_string();
    assert!(error(gaussian().penalty(Penalty::Lasso)).contains("linear for the penalty lasso"));
    assert!(error(Fit::linear().penalty(Penalty::KernelLasso)).contains("given a kernel"));
    assert!(error(Fit::automatic().criterion(folds("kfold:5"))).contains("forward chaining"));
    let sparse = Sparse::from_dense(&x).unwrap();
    let (frame, roles) = Design::frame_of(&x, &Matrix::column_vector(y.clone()), None).unwrap();
    for engine in ENGINES {
        let fit = problem_of(engine);
        if engine != Engine::Penalty {
            let refused = fit.fit_sparse(&sparse, &Matrix::column_vector(y.clone()), None, None);
            assert!(refused.unwrap_err().to_string().starts_with("sparse rows cannot be combined with"));
        }
        if engine != Engine::Squared {
            let refused = fit.prepared(&frame, &roles).unwrap_err().to_string();
            assert!(refused.starts_with("a split cannot be combined with"), "{refused}");
            assert!(mercer::online::Online::new(fit, roles.clone()).unwrap_err().to_string().contains("stream"));
        }
    }
    let refused = problem_of(Engine::Penalty).forecast(&frame, &roles).unwrap_err().to_string();
    assert!(refused.starts_with("a forecast cannot be combined with"), "{refused}");
}

/// Rows in the plane with a smooth target and noise.
fn table(rows: usize) -> (Matrix, Vec<f64>) {
    let x = Matrix::from_fn(rows, 2, |i, j| ((i + 1) as f64 * [0.754_877_666, 0.569_840_291][j]).fract());
    let noise = |i: usize| (43758.5453 * libm::sin(12.9898 * (i + 1) as f64)).rem_euclid(1.0) - 0.5;
    let value = |i: usize| (5.0 * x.get(i, 0)).sin() + 2.0 * x.get(i, 1) * x.get(i, 0) + 0.3 * noise(i);
    let y = (0..rows).map(value).collect();
    (x, y)
}

fn bytes(fit: &Fit, x: &Matrix, y: &[f64]) -> Vec<u8> {
    mercer::format::to_bytes(&fit.fit(x, y).unwrap().model).unwrap()
}

/// Every default, given by name, changes no bit; another value does.
#[test]
fn defaults_are_what_they_are_said_to_be() {
    let (x, y) = table(90);
    let grid = [1e-4, 1e-3, 1e-2];
    let kfold = |folds: usize| self::folds(&format!("kfold:{folds}"));
    let common = |fit: Fit| fit.seed(1).missing(Missing::Error).text_as(TextAs::OneHot);
    let squared = || problem_of(Engine::Squared);
    let of_loss = || problem_of(Engine::Loss).lambdas(&grid);
    let penalty = || problem_of(Engine::Penalty);
    let search = || Fit::automatic();
    let defaults = [
        (squared(), common(squared()).criterion(Criterion::LeaveOneOut).exponent(2.0).scale(Scale::None)),
        (of_loss(), common(of_loss()).criterion(kfold(5)).exponent(2.0).scale(Scale::None).tolerance(1e-6)),
        (penalty(), common(penalty()).criterion(kfold(10)).scale(Scale::None).tolerance(1e-8)),
        (
            search(),
            common(search())
                .criterion(Criterion::LeaveOneOut)
                .exponents(&[1.0, 1.5, 2.0, 2.5])
                .budget(mercer::auto::BUDGET),
        ),
    ];
    for (default, given) in &defaults {
        assert!(bytes(default, &x, &y) == bytes(given, &x, &y), "{:?}", default.engine());
    }
    let others = [
        squared().criterion(kfold(5)),
        squared().exponent(1.5),
        squared().scale(Scale::Standard),
        squared().without_offset(),
        of_loss().criterion(kfold(4)),
        of_loss().tolerance(1e-3),
        of_loss().scale(Scale::Unit),
        of_loss().seed(2),
        penalty().criterion(kfold(4)),
        penalty().scale(Scale::Standard),
        penalty().seed(2),
        search().exponents(&[1.0]),
    ];
    for other in &others {
        let (default, _) = &defaults[ENGINES.iter().position(|engine| *engine == other.engine().unwrap()).unwrap()];
        assert!(bytes(default, &x, &y) != bytes(other, &x, &y), "{other:?}");
    }
    // Two coefficients are exact at every tolerance; many are not.
    let many = || penalty().degree(6).lambda(1e-4);
    assert!(bytes(&many(), &x, &y) == bytes(&many().tolerance(1e-8), &x, &y));
    assert!(bytes(&many(), &x, &y) != bytes(&many().tolerance(1e-1), &x, &y));
    assert_eq!(mercer::auto::BUDGET, Duration::from_secs(60));
    let chosen_by = |fit: Fit| fit.fit(&x, &y).unwrap().summary().chosen_by.clone().unwrap();
    assert_eq!(
        [chosen_by(squared()), chosen_by(of_loss()), chosen_by(penalty())],
        ["loo", "kfold(folds=5,repeats=1)", "kfold(folds=10,repeats=1)"]
    );
    // Scaling that depends on the problem: splines read the unit range, a search standardises.
    let scale = |fit: Fit| fit.fit(&x, &y).unwrap().model.encoder().scale;
    let spline = || Fit::with_shared(kernel::parse("additive-spline").unwrap()).lambda(1e-3);
    assert_eq!(scale(spline()), Scale::Unit);
    assert_eq!(scale(spline().loss(loss::parse("absolute").unwrap())), Scale::Unit);
    assert_eq!(scale(search().budget(Duration::from_millis(50))), Scale::Standard);
    // The gap that is asked for.
    let gap = |fit: Fit| fit.fit(&x, &y).unwrap().summary().certificate.duality_gap.unwrap();
    assert!(gap(of_loss()) <= 1e-6 && gap(penalty()) <= 1e-8);
}

/// Labels ±1 with the squared loss where classes have no loss of their own.
#[test]
fn classes_without_a_loss_have_the_squared_one() {
    let (x, y) = table(60);
    let y: Vec<f64> = y.iter().map(|y| if *y > 1.0 { 1.0 } else { -1.0 }).collect();
    let fit = || Fit::new(Gaussian::lengthscale(0.5)).lambda(1e-3).tolerance(1e-12);
    let classes = fit().classify().fit(&x, &y).unwrap();
    assert_eq!(classes.plan.method, Method::Newton);
    assert_eq!(classes.summary().loss, "squared");
    let named = fit().classify().loss(loss::parse("squared").unwrap());
    assert_eq!(bytes(&fit().classify(), &x, &y), bytes(&named, &x, &y));
    let numbers = Fit::new(Gaussian::lengthscale(0.5)).lambda(1e-3).fit(&x, &y).unwrap();
    let (a, b) = (classes.model.predict(&x).unwrap(), numbers.model.predict(&x).unwrap());
    assert!(largest(&a, &b) < 1e-5, "{}", largest(&a, &b));
}

/// The whole path is tried whatever was given, and whenever it is asked for.
#[test]
fn along_the_path_every_lambda_is_judged() {
    let (x, y) = table(60);
    let huber = || loss::parse("huber").unwrap();
    let kernel = || Fit::new(Gaussian::lengthscale(0.5)).lambda(1e-3);
    for fit in [kernel().loss(huber()).along_path(), kernel().classify().along_path()] {
        let labels: Vec<f64> = y.iter().map(|y| if *y > 1.0 { 1.0 } else { -1.0 }).collect();
        let found = fit.fit(&x, &labels).unwrap();
        let curve = found.curves().next().unwrap();
        assert!(curve.lambdas.len() > 10 && curve.dropped.iter().all(Option::is_none));
        assert!(found.tried[0].surfaces().is_empty() && curve.support.is_empty());
    }
    let lasso = Fit::linear().penalty(Penalty::Lasso).lambda(1e-3).along_path().fit(&x, &y).unwrap();
    let curve = lasso.tried[0].curve().unwrap();
    assert!(curve.lambdas.len() == 60 && curve.support.len() == 60 && curve.chosen.is_some());
}

/// Rows left out are those of refits, by one method of the result for every engine.
#[test]
fn every_engine_leaves_rows_out() {
    let (x, y) = table(30);
    let kernel = Gaussian::lengthscale(0.5);
    for (fit, allowed) in [
        (Fit::new(kernel.clone()).lambda(1e-2), 1e-9),
        (Fit::new(kernel.clone()).loss(loss::parse("absolute").unwrap()).lambda(1e-2).tolerance(1e-10), 1e-3),
        (Fit::linear().penalty(Penalty::Tikhonov { gamma: Gamma::Identity }).lambda(1e-2), 1e-9),
    ] {
        let found = fit.fit(&x, &y).unwrap().left_out(None).unwrap();
        assert!(found.is_exact && found.values.len() == 1 && found.residuals.len() == 1);
        for row in 0..30 {
            let kept: Vec<usize> = (0..30).filter(|i| *i != row).collect();
            let part = Matrix::from_fn(29, 2, |i, j| x.get(kept[i], j));
            let targets: Vec<f64> = kept.iter().map(|i| y[*i]).collect();
            let model = fit.fit(&part, &targets).unwrap().model;
            let value = model.predict(&Matrix::from_fn(1, 2, |_, j| x.get(row, j))).unwrap().get(0, 0);
            assert!((found.values[0][row] - value).abs() < allowed, "{fit:?}: {} {value}", found.values[0][row]);
            assert!((found.residuals[0][row] - (y[row] - found.values[0][row])).abs() < 1e-12);
        }
    }
    let given = Fit::new(kernel).criterion(folds("forward(folds=3)")).fit(&x, &y).unwrap();
    assert!(given.left_out(None).unwrap_err().to_string().contains("not in order of time"));
}

/// A kept spectrum is there whatever method would be quicker.
#[test]
fn a_kept_spectrum_is_kept() {
    let (x, y) = table(620);
    let fit = Fit::new(Matern52::lengthscale(0.5)).keep_spectrum();
    for fit in [fit.clone(), fit.clone().lambda(1e-3), fit.exponent(1.5).lambda(1e-3)] {
        let fitted = fit.fit(&x, &y).unwrap();
        assert!(fitted.spectrum.is_some(), "{:?}", fitted.plan.method);
    }
}

fn largest(a: &Matrix, b: &Matrix) -> f64 {
    a.as_slice().iter().zip(b.as_slice()).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
}

fn deviation(y: &[f64]) -> f64 {
    let mean = y.iter().sum::<f64>() / y.len() as f64;
    (y.iter().map(|y| (y - mean).powi(2)).sum::<f64>() / y.len() as f64).sqrt()
}

/// Predictions of the squared loss at training rows, and how far they may be from the exact ones: what the certificate says.
fn certified(fitted: &Fitted, y: &[f64], x: &Matrix) -> (Matrix, f64) {
    let certificate = &fitted.summary().certificate;
    assert!(certificate.holds, "{:?}: {:?}", fitted.plan.method, certificate.reason);
    let of_landmarks = certificate.low_rank.as_ref().map_or(0.0, |low_rank| low_rank.bound_at_rows.unwrap());
    let allowed = deviation(y) * (libm::pow(10.0, -certificate.digits) + of_landmarks);
    (fitted.model.predict(x).unwrap(), allowed)
}

fn all_agree(found: &[Fitted], y: &[f64], x: &Matrix) {
    let (first, allowed) = certified(&found[0], y, x);
    assert!(allowed < 1e-7 * deviation(y), "{allowed}");
    for other in &found[1..] {
        let (values, own) = certified(other, y, x);
        let off = largest(&first, &values);
        println!("{:?}: off by {off:e}, allowed {:e}", other.plan.method, own + allowed);
        assert!(own < 1e-4 * deviation(y), "{:?} promises {own}", other.plan.method);
        assert!(off <= own + allowed, "{:?}: {off} for {}", other.plan.method, own + allowed);
        let (a, b) = (other.summary(), found[0].summary());
        assert!((a.objective / b.objective - 1.0).abs() < 1e-6, "{:?}", other.plan.method);
        assert_eq!(other.model.kernel().spec(), found[0].model.kernel().spec());
        assert_eq!((a.lambda, a.exponent), (b.lambda, b.exponent), "{:?}", other.plan.method);
    }
}

/// Forms are made where kernels are compared; the second one is never better.
fn two_kernels() -> Vec<kernel::SharedKernel> {
    vec![Arc::new(Matern32::lengthscale(0.7)), Arc::new(Matern32::lengthscale(0.01))]
}

fn is_on_landmarks(method: Method) -> bool {
    matches!(method, Method::LowRank { .. })
}

fn is_of_gradients(method: Method) -> bool {
    matches!(method, Method::ConjugateGradients { .. })
}

#[test]
fn ridge_regression_by_every_method_is_one_function() {
    let (x, y) = table(930);
    let fit = || Fit::new(Matern32::lengthscale(0.7));
    let spectral = fit().keep_spectrum().fit(&x, &y).unwrap();
    assert_eq!(spectral.plan.method, Method::Spectral);
    let lambda = spectral.summary().lambda;
    // Neighbours that leave-one-out does not choose.
    let around = [lambda / 100.0, lambda, lambda * 100.0];
    let band = fit().lambdas(&around).on_grid().fit(&x, &y).unwrap();
    assert_eq!(band.plan.method, Method::Band);
    let exponents = [2.0, 2.0 + 1e-9];
    let tridiagonal =
        fit().kernels(two_kernels()).exponents(&exponents).lambdas(&around).on_grid().fit(&x, &y).unwrap();
    assert_eq!(tridiagonal.plan.method, Method::Tridiagonal);
    let cholesky = fit().lambda(lambda).fit(&x, &y).unwrap();
    assert_eq!(cholesky.plan.method, Method::Cholesky);
    let gradients = fit().lambda(lambda).conjugate_gradients().accuracy_of_gradients(1e-10).fit(&x, &y).unwrap();
    assert!(is_of_gradients(gradients.plan.method));
    let landmarks = fit().lambda(lambda).rank(930).landmarks_by(Landmarks::Pivots).fit(&x, &y).unwrap();
    assert!(is_on_landmarks(landmarks.plan.method));
    all_agree(&[spectral, band, tridiagonal, cholesky, gradients, landmarks], &y, &x);
}

#[test]
fn another_exponent_by_every_method_is_one_function() {
    let (x, y) = table(400);
    let fit = || Fit::new(Matern32::lengthscale(0.7)).exponent(1.5);
    let spectral = fit().keep_spectrum().fit(&x, &y).unwrap();
    assert_eq!(spectral.plan.method, Method::Spectral);
    let lambda = spectral.summary().lambda;
    let around = [lambda / 100.0, lambda, lambda * 100.0];
    let tridiagonal = fit().kernels(two_kernels()).lambdas(&around).on_grid().fit(&x, &y).unwrap();
    assert_eq!(tridiagonal.plan.method, Method::Tridiagonal);
    let gradients = fit().lambda(lambda).conjugate_gradients().accuracy_of_gradients(1e-10).fit(&x, &y).unwrap();
    assert!(is_of_gradients(gradients.plan.method));
    let landmarks = fit().lambda(lambda).rank(400).landmarks_by(Landmarks::Pivots).fit(&x, &y).unwrap();
    assert!(is_on_landmarks(landmarks.plan.method));
    all_agree(&[spectral, tridiagonal, gradients, landmarks], &y, &x);
}

/// Linear functions: the features, a kernel that is a product of them, Tikhonov's penalty, and what is left of the Lasso.
#[test]
fn linear_functions_by_every_method_are_one_function() {
    let (x, y) = table(120);
    let lambda = 1e-2;
    let primal = Fit::linear().lambda(lambda).fit(&x, &y).unwrap();
    assert_eq!(primal.plan.method, Method::Primal);
    let of = |spec: &str| Fit::with_shared(kernel::parse(spec).unwrap()).lambda(lambda);
    let same = of("linear").fit(&x, &y).unwrap();
    assert_eq!(same.plan.method, Method::Primal);
    let product = || of("polynomial(degree=1,constant=0)");
    let spectral = product().fit(&x, &y).unwrap();
    assert_eq!(spectral.plan.method, Method::Spectral);
    all_agree(&[primal.clone(), same], &y, &x);
    let (a, own) = certified(&primal, &y, &x);
    let (b, other) = certified(&spectral, &y, &x);
    assert!(largest(&a, &b) <= own + other && own + other < 1e-7);
    // Penalties of their own, with the accuracy of a QR.
    let exact = primal.model.predict(&x).unwrap();
    let ridge = Penalty::Tikhonov { gamma: Gamma::Identity };
    let tikhonov = Fit::linear().penalty(ridge.clone()).lambda(lambda).fit(&x, &y).unwrap();
    assert_eq!(tikhonov.plan.method, Method::Tikhonov);
    assert!(largest(&tikhonov.model.predict(&x).unwrap(), &exact) < 1e-12);
    let sparse = Sparse::from_dense(&x).unwrap();
    let sparse =
        Fit::linear().penalty(ridge).lambda(lambda).fit_sparse(&sparse, &Matrix::column_vector(y.clone()), None, None);
    assert!(largest(&sparse.unwrap().model.predict(&x).unwrap(), &exact) < 1e-10);
    let net = Fit::linear().penalty(Penalty::ElasticNet { ratio: 1e-8 }).lambda(lambda).tolerance(1e-13).fit(&x, &y);
    let net = net.unwrap();
    assert_eq!(net.plan.method, Method::CoordinateDescent);
    assert!(largest(&net.model.predict(&x).unwrap(), &exact) < 1e-5);
    // Without a penalty.
    let least_squares = Fit::linear().penalty(Penalty::None).fit(&x, &y).unwrap();
    assert_eq!(least_squares.plan.method, Method::LeastSquares);
    let nearly = Fit::linear().lambda(1e-13).fit(&x, &y).unwrap().model.predict(&x).unwrap();
    assert!(largest(&least_squares.model.predict(&x).unwrap(), &nearly) < 1e-10);
}

/// f and how far its values may be from the solution's: the objective is at most gap·objective above the least, and within that
/// of a function whose objective is λ‖f − f*‖² above at least.
fn within_gap(fitted: &Fitted, x: &Matrix, largest_value_of_kernel: f64) -> (Matrix, f64) {
    let summary = fitted.summary();
    let gap = summary.certificate.duality_gap.unwrap();
    assert!(summary.certificate.holds && summary.norm > 0.1 && gap <= 1e-10, "{:?}: {gap}", fitted.plan.method);
    let norm = (gap * summary.objective / summary.lambda).sqrt();
    (fitted.model.predict(x).unwrap(), norm * largest_value_of_kernel.sqrt())
}

fn losses_agree(found: &[Fitted], x: &Matrix, largest_value_of_kernel: f64) {
    let (first, allowed) = within_gap(&found[0], x, largest_value_of_kernel);
    for other in &found[1..] {
        let (values, own) = within_gap(other, x, largest_value_of_kernel);
        let off = largest(&first, &values);
        println!("{:?}: off by {off:e}, allowed {:e}", other.plan.method, own + allowed);
        // Rounding of the kernel beside the gaps.
        assert!(own + allowed < 1e-2 && off <= own + allowed + 1e-9, "{:?}: {off}", other.plan.method);
    }
}

#[test]
fn another_loss_by_every_method_is_one_function() {
    let (x, y) = table(1200);
    let labels: Vec<f64> = y.iter().map(|y| if *y > 1.0 { 1.0 } else { -1.0 }).collect();
    let settings =
        |fit: Fit, spec: &str| fit.loss(loss::parse(spec).unwrap()).without_offset().lambda(1e-2).tolerance(1e-10);
    // Linear in pieces: the matrix, its rows when they are needed, and landmarks.
    let fit = || settings(Fit::new(Matern32::lengthscale(0.7)), "epsilon-insensitive(epsilon=0.1)");
    let dual = fit().fit(&x, &y).unwrap();
    assert_eq!(dual.plan.method, Method::Dual);
    let on_demand = fit().memory(11_500_000).exact().fit(&x, &y).unwrap();
    assert_eq!(on_demand.plan.method, Method::DualOnDemand);
    losses_agree(&[dual, on_demand], &x, 1.0);
    // Smooth.
    let newton = settings(Fit::new(Matern32::lengthscale(0.7)), "logistic").fit(&x, &labels).unwrap();
    assert_eq!(newton.plan.method, Method::Newton);
    let landmarks = settings(Fit::new(Matern32::lengthscale(0.7)), "logistic").rank(1200).fit(&x, &labels).unwrap();
    assert!(is_on_landmarks(landmarks.plan.method));
    losses_agree(&[newton, landmarks], &x, 1.0);
    // Linear functions: the features, and a kernel that is a product of them.
    let product = || Fit::with_shared(kernel::parse("polynomial(degree=1,constant=0)").unwrap());
    for (spec, method) in [
        ("epsilon-insensitive(epsilon=0.1)", Method::Dual),
        ("huber(threshold=0.2)", Method::Dual),
        ("pinball(quantile=0.3)", Method::Dual),
        ("hinge", Method::Dual),
        ("squared-hinge", Method::Dual),
        ("logistic", Method::Newton),
    ] {
        let y = if ["hinge", "squared-hinge", "logistic"].contains(&spec) { &labels } else { &y };
        let features = settings(Fit::linear(), spec).fit(&x, y).unwrap();
        assert_eq!(features.plan.method, Method::Features, "{spec}");
        let rows = settings(product(), spec).fit(&x, y).unwrap();
        assert_eq!(rows.plan.method, method, "{spec}");
        losses_agree(&[features, rows], &x, 2.0);
    }
}

/// A table and its columns as arrays are one problem for every engine.
#[test]
fn tables_and_matrices_are_one_problem() {
    let (x, y) = table(40);
    let mut frame = Frame::new(40);
    for j in 0..2 {
        frame.push(format!("x{}", j + 1), Column::Number(x.col(j).to_vec())).unwrap();
    }
    frame.push("y", Column::Number(y.clone())).unwrap();
    let roles = Roles { targets: vec!["y".into()], ..Roles::default() };
    for engine in ENGINES {
        let fit = problem_of(engine);
        let of_table = fit.fit_frame(&frame, &roles).unwrap();
        let of_arrays = fit.fit(&x, &y).unwrap();
        assert_eq!(of_table.model.predict(&x).unwrap(), of_arrays.model.predict(&x).unwrap(), "{engine:?}");
        assert_eq!(of_table.search.is_some(), engine == Engine::Automatic);
        assert_eq!(of_table.fitted[0].len(), 40, "{engine:?}");
        let predicted = of_table.model.predict(&x).unwrap();
        let off = (0..40).map(|i| (predicted.get(i, 0) - of_table.fitted[0][i]).abs()).fold(0.0, f64::max);
        assert!(off < 1e-9, "{engine:?}: {off}");
    }
}
