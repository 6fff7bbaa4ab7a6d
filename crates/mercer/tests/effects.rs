//! Effects against differences of predictions, their standard errors against repeated draws and textbook formulas.

use std::sync::Arc;

use mercer::data::Column;
use mercer::effects::Effect;
use mercer::kernel::{Kernel, Point, Points, SharedKernel};
use mercer::metric::Rule;
use mercer::penalty::Penalty;
use mercer::prelude::*;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

fn uniform(random: &mut ChaCha8Rng) -> f64 {
    (random.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
}

fn normal(random: &mut ChaCha8Rng) -> f64 {
    let radius = (-2.0 * (1.0 - uniform(random)).ln()).sqrt();
    radius * (std::f64::consts::TAU * uniform(random)).cos()
}

/// Two columns of numbers in odd units, one of them skewed, and a column of text.
fn table(rows: usize, seed: u64, with_text: bool) -> Frame {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let a: Vec<f64> = (0..rows).map(|_| 40.0 + 8.0 * uniform(&mut random)).collect();
    let b: Vec<f64> = (0..rows).map(|_| (1.2 * normal(&mut random)).exp()).collect();
    let kinds = ["flat", "steep", "tall"];
    let kind: Vec<usize> = (0..rows).map(|_| (3.0 * uniform(&mut random)) as usize).collect();
    let y =
        (0..rows).map(|i| (a[i] / 3.0).sin() + (1.0 + b[i]).ln() * (1.0 + kind[i] as f64) + 0.1 * normal(&mut random));
    let mut frame = Frame::new(rows);
    let y = y.collect();
    frame.push("a", Column::Number(a)).unwrap();
    frame.push("b", Column::Number(b)).unwrap();
    if with_text {
        frame.push("kind", Column::Text(kind.iter().map(|k| Some(kinds[*k].to_owned())).collect())).unwrap();
    }
    frame.push("y", Column::Number(y)).unwrap();
    frame
}

fn roles() -> Roles {
    Roles { targets: vec!["y".into()], ..Roles::default() }
}

fn numbers(frame: &Frame, name: &str) -> Vec<f64> {
    match frame.column(name).unwrap() {
        Column::Number(cells) => cells.clone(),
        Column::Text(_) => panic!("{name} is text"),
    }
}

/// The same table with another column in the place of one.
fn with(frame: &Frame, name: &str, column: &Column) -> Frame {
    let mut changed = Frame::new(frame.rows());
    for known in frame.names() {
        let cells = if known == name { column.clone() } else { frame.column(known).unwrap().clone() };
        changed.push(known, cells).unwrap();
    }
    changed
}

fn predicted(model: &Model, frame: &Frame) -> Vec<f64> {
    model.predict_frame(frame).unwrap()[0].iter().map(|cell| cell.unwrap()).collect()
}

fn effects(model: &Model, frame: Option<&Frame>) -> Vec<Effect> {
    model.effects(frame, None, None).unwrap().targets.swap_remove(0).effects
}

fn assert_derivatives(model: &Model, frame: &Frame, what: &str) {
    let found = effects(model, Some(frame));
    for effect in &found {
        let differences: Vec<f64> = match &effect.versus {
            None => {
                let cells = numbers(frame, &effect.column);
                // Of fourth order, so that the difference itself is good to 1e-8.
                let spread = cells.iter().fold(0.0, |max: f64, x| max.max((x - cells[0]).abs()));
                let h = 1e-4 * spread;
                let at = |k: f64| {
                    let moved = Column::Number(cells.iter().map(|x| x + k * h).collect());
                    predicted(model, &with(frame, &effect.column, &moved))
                };
                let (p1, m1, p2, m2) = (at(1.0), at(-1.0), at(2.0), at(-2.0));
                (0..cells.len()).map(|i| (8.0 * (p1[i] - m1[i]) - (p2[i] - m2[i])) / (12.0 * h)).collect()
            }
            Some((category, base)) => {
                let at = |text: &str| {
                    let all = Column::Text(vec![Some(text.to_owned()); frame.rows()]);
                    predicted(model, &with(frame, &effect.column, &all))
                };
                at(category).iter().zip(at(base)).map(|(a, b)| a - b).collect()
            }
        };
        let size = differences.iter().fold(1e-3, |max: f64, d| max.max(d.abs()));
        for (i, (value, difference)) in effect.values.iter().zip(&differences).enumerate() {
            let wrong = (value - difference).abs();
            assert!(wrong < 1e-6 * size, "{what}, {} at row {i}: {value} against {difference}", effect.column);
        }
        let mean = differences.iter().sum::<f64>() / differences.len() as f64;
        assert!((effect.mean - mean).abs() < 1e-6 * size, "{what}");
    }
}

#[test]
fn effects_are_derivatives_of_predictions() {
    let (training, new) = (table(40, 1, true), table(15, 2, true));
    let smooth = [
        "gaussian(lengthscale=1.3)",
        "matern32(lengthscale=2)",
        "matern52(lengthscale=1.5)",
        "rational-quadratic(lengthscale=1.5,shape=0.7)",
        "polynomial(degree=3,constant=0.5)",
        "0.5*linear + gaussian(lengthscale=2)*matern52(lengthscale=3)",
        "normalized-polynomial(degree=2)",
        "linear",
    ];
    for spec in smooth {
        for scale in [Scale::Standard, Scale::Log] {
            for text_as in [TextAs::OneHot, TextAs::Equality] {
                let fit = Fit::with_shared(mercer::kernel::parse(spec).unwrap()).scale(scale).text_as(text_as);
                let model = fit.lambda(1e-3).fit_frame(&training, &roles()).unwrap().model;
                let what = format!("{spec}, {scale:?}, {text_as:?}");
                assert_derivatives(&model, &new, &what);
                let names: Vec<String> = effects(&model, Some(&new)).iter().map(|e| e.column.clone()).collect();
                assert_eq!(names, ["a", "b", "kind", "kind"], "{what}");
                // Without a table: the training rows, read back from the points.
                if !model.encoder().columns().is_empty() && model.points() > 0 {
                    let (own, given) = (effects(&model, None), effects(&model, Some(&training)));
                    for (own, given) in own.iter().zip(&given) {
                        assert!((own.mean - given.mean).abs() < 1e-9 * (1.0 + given.mean.abs()), "{what}");
                        let (a, b) = (own.standard_error.unwrap(), given.standard_error.unwrap());
                        assert!((a - b).abs() < 1e-9 * b, "{what}");
                    }
                }
            }
        }
    }
}

/// Kernels with kinks where a training row stands are differentiated between them.
#[test]
fn rough_kernels_and_splines_have_derivatives_between_their_kinks() {
    let (training, mut new) = (table(30, 3, false), table(12, 4, false));
    let inside: Vec<f64> = numbers(&new, "b").iter().map(|x| x.clamp(0.3, 4.0)).collect();
    new = with(&new, "b", &Column::Number(inside));
    for spec in ["additive-spline", "multiplicative-spline", "normalized-additive-spline"] {
        let fit = Fit::with_shared(mercer::kernel::parse(spec).unwrap()).lambda(1e-3);
        let model = fit.fit_frame(&training, &roles()).unwrap().model;
        // Slopes of second derivatives jump at rows, so differences are only of second order.
        let found = effects(&model, Some(&new));
        let h = 1e-5;
        for effect in &found {
            let cells = numbers(&new, &effect.column);
            let at = |k: f64| {
                let moved = Column::Number(cells.iter().map(|x| x + k * h).collect());
                predicted(&model, &with(&new, &effect.column, &moved))
            };
            let (above, below) = (at(1.0), at(-1.0));
            for i in 0..cells.len() {
                let difference = (above[i] - below[i]) / (2.0 * h);
                assert!((effect.values[i] - difference).abs() < 1e-5 * (1.0 + difference.abs()), "{spec}");
            }
        }
    }
    for spec in ["laplace(lengthscale=2)", "matern12(lengthscale=2)", "spline0"] {
        let fit = Fit::with_shared(mercer::kernel::parse(spec).unwrap()).lambda(1e-3);
        let fit = if spec == "spline0" { fit } else { fit.scale(Scale::Standard) };
        let model = fit.fit_frame(&training, &roles()).unwrap().model;
        for effect in effects(&model, Some(&new)) {
            let cells = numbers(&new, &effect.column);
            let at = |h: f64| {
                let moved = Column::Number(cells.iter().map(|x| x + h).collect());
                predicted(&model, &with(&new, &effect.column, &moved))
            };
            let (above, below) = (at(1e-7), at(-1e-7));
            for i in 0..cells.len() {
                let difference = (above[i] - below[i]) / 2e-7;
                assert!((effect.values[i] - difference).abs() < 1e-4 * (1.0 + difference.abs()), "{spec} {i}");
            }
        }
    }
    // Below the training range a spline holds its features; then nothing changes.
    let model = Fit::new(Spline::additive()).lambda(1e-3).fit_frame(&training, &roles()).unwrap().model;
    let low = with(&new, "a", &Column::Number(vec![10.0; new.rows()]));
    assert!(effects(&model, Some(&low))[0].values.iter().all(|value| *value == 0.0));
}

#[test]
fn a_learned_metric_and_monomials_are_seen_through() {
    let (training, new) = (table(60, 5, false), table(10, 6, false));
    for rule in [Rule::Full, Rule::Diagonal] {
        let fit = Fit::new(Matern52::lengthscale(1.5)).scale(Scale::Standard).learn_metric(rule);
        let model = fit.fit_frame(&training, &roles()).unwrap().model;
        assert_derivatives(&model, &new, &format!("{rule:?}"));
        assert_eq!(effects(&model, None).len(), 2);
    }
    let logs = Fit::new(Matern52::lengthscale(1.5)).scale(Scale::Log).learn_metric(Rule::Full);
    let model = logs.fit_frame(&training, &roles()).unwrap().model;
    assert_derivatives(&model, &new, "logarithms in a learned metric");
    if model.encoder().projection.is_some() {
        assert!(model.effects(None, None, None).unwrap_err().to_string().contains("learned metric"));
    }
    let cubic = Fit::linear()
        .penalty(Penalty::None)
        .scale(Scale::Standard)
        .degree(3)
        .fit_frame(&training, &roles())
        .unwrap()
        .model;
    assert_derivatives(&cubic, &new, "monomials");
    assert!(cubic.effects(Some(&new), None, None).unwrap().without_errors.unwrap().contains("its penalty is none"));
}

/// Values only: what someone writes who knows no derivative.
#[derive(Debug)]
struct Bump;

impl Kernel for Bump {
    fn spec(&self) -> String {
        "gaussian(lengthscale=1.5)".into()
    }
    fn values(&self, x: Point<'_>, points: &Points, start: usize, out: &mut [f64]) {
        Gaussian::lengthscale(1.5).values(x, points, start, out);
    }
    fn diagonal(&self, _: &Points, _: usize, out: &mut [f64]) {
        out.fill(1.0);
    }
    fn fitted_to(&self, _: &Points, _: Option<&[f64]>) -> Result<SharedKernel> {
        Ok(Arc::new(Bump))
    }
}

#[test]
fn a_kernel_without_a_formula_has_differences() {
    let training = table(40, 14, false);
    let of = |fit: Fit| {
        effects(&fit.scale(Scale::Standard).lambda(1e-2).fit_frame(&training, &roles()).unwrap().model, None)
    };
    for (rough, exact) in of(Fit::new(Bump)).iter().zip(of(Fit::new(Gaussian::lengthscale(1.5)))) {
        let size = exact.values.iter().fold(0.0, |max: f64, v| max.max(v.abs()));
        for (a, b) in rough.values.iter().zip(&exact.values) {
            assert!((a - b).abs() < 1e-8 * size, "{a} against {b}");
        }
        let (a, b) = (rough.standard_error.unwrap(), exact.standard_error.unwrap());
        assert!((a - b).abs() < 1e-6 * b, "{a} against {b}");
    }
}

/// The textbook's ridge: w = (XᵀX + γI)⁻¹Xᵀy, its covariance σ²(XᵀX + γI)⁻¹XᵀX(XᵀX + γI)⁻¹, centred.
#[test]
fn a_linear_function_has_its_coefficients_and_the_classical_errors() {
    let mut random = ChaCha8Rng::seed_from_u64(7);
    let n = 50;
    let x = Matrix::from_fn(n, 2, |_, j| normal(&mut random) * [1.0, 3.0][j]);
    let y: Vec<f64> = (0..n).map(|i| 1.0 + 2.0 * x.get(i, 0) - 0.5 * x.get(i, 1) + normal(&mut random)).collect();
    let lambda = 0.05;
    let fitted = Fit::new(Linear).lambda(lambda).fit(&x, &y).unwrap();
    let model = fitted.model;
    let mut frame = Frame::new(n);
    frame.push("x1", Column::Number(x.col(0).to_vec())).unwrap();
    frame.push("x2", Column::Number(x.col(1).to_vec())).unwrap();
    frame.push("y", Column::Number(y.clone())).unwrap();
    assert!(model.effects(None, None, None).unwrap_err().to_string().contains("holds no rows"));
    let bare = model.effects(Some(&frame), None, None).unwrap();
    assert!(bare.without_errors.unwrap().contains("does not hold its training rows"));
    let training = model.training_from(&frame, None).unwrap();
    let found = model.effects(None, Some(training), None).unwrap();
    assert!(found.without_errors.is_none() && found.rows == n);

    let mean = |values: &mut dyn Iterator<Item = f64>| values.sum::<f64>() / n as f64;
    let centre: Vec<f64> = (0..2).map(|j| mean(&mut x.col(j).iter().copied())).collect();
    let gamma = n as f64 * lambda;
    let s = |a: usize, b: usize| (0..n).map(|i| (x.get(i, a) - centre[a]) * (x.get(i, b) - centre[b])).sum::<f64>();
    let gram = [[s(0, 0), s(0, 1)], [s(1, 0), s(1, 1)]];
    let inverse = |m: [[f64; 2]; 2]| {
        let det = m[0][0] * m[1][1] - m[0][1] * m[1][0];
        [[m[1][1] / det, -m[0][1] / det], [-m[1][0] / det, m[0][0] / det]]
    };
    let times = |a: [[f64; 2]; 2], b: [[f64; 2]; 2]| {
        let entry = |i: usize, j: usize| a[i][0] * b[0][j] + a[i][1] * b[1][j];
        [[entry(0, 0), entry(0, 1)], [entry(1, 0), entry(1, 1)]]
    };
    let shifted = inverse([[gram[0][0] + gamma, gram[0][1]], [gram[1][0], gram[1][1] + gamma]]);
    let hat = times(gram, shifted);
    let hat_square = times(hat, hat);
    let left = n as f64 - 1.0 - 2.0 * (hat[0][0] + hat[1][1]) + (hat_square[0][0] + hat_square[1][1]);
    let fitted_values = model.predict(&x).unwrap();
    let squares: f64 = (0..n).map(|i| (y[i] - fitted_values.get(i, 0)).powi(2)).sum();
    let covariance = times(times(shifted, gram), shifted);
    for (j, effect) in found.targets[0].effects.iter().enumerate() {
        assert!((effect.mean - model.coefficients(0)[j]).abs() < 1e-14);
        assert!(effect.values.iter().all(|value| *value == effect.values[0]));
        let expected = (squares / left * covariance[j][j]).sqrt();
        let error = effect.standard_error.unwrap();
        assert!((error - expected).abs() < 1e-10 * expected, "{error} against {expected}");
    }
    assert!((found.targets[0].noise.unwrap() - (squares / left).sqrt()).abs() < 1e-12);

    // The same function as a kernel expansion on more features than rows knows no other errors.
    let wide = Fit::with_shared(mercer::kernel::parse("linear + 0.000000000001*gaussian(lengthscale=1)").unwrap());
    let model = wide.lambda(lambda).fit(&x, &y).unwrap().model;
    for (j, effect) in model.effects(None, None, None).unwrap().targets[0].effects.iter().enumerate() {
        let expected = (squares / left * covariance[j][j]).sqrt();
        assert!((effect.standard_error.unwrap() - expected).abs() < 1e-6 * expected, "column {j}");
    }
}

/// Targets drawn again and again with known noise: the spread of the average effects is what the standard errors say.
#[test]
fn standard_errors_are_the_spread_over_repeated_draws() {
    let mut random = ChaCha8Rng::seed_from_u64(9);
    // Noise that is large beside the bias of λ, which the errors do not contain.
    let (n, draws, noise) = (80, 600, 1.0);
    let mut frame = table(n, 8, true);
    let x = numbers(&frame, "a");
    let b = numbers(&frame, "b");
    let weights: Vec<f64> = (0..n).map(|i| [1.0, 4.0][i % 2]).collect();
    frame.push("w", Column::Number(weights.clone())).unwrap();
    for weighted in [false, true] {
        let mut roles = roles();
        if weighted {
            roles.weight = Some("w".into());
        } else {
            roles.drop = vec!["w".into()];
        }
        let fit = Fit::new(Gaussian::lengthscale(2.0)).scale(Scale::Standard).lambda(2e-3);
        let (mut means, mut errors) = (vec![Vec::new(); 4], [0.0; 4]);
        for _ in 0..draws {
            let target = |i: usize| {
                let deviation = if weighted { noise / weights[i].sqrt() } else { noise };
                0.3 * x[i] + (1.0 + b[i]).ln() + deviation * normal(&mut random)
            };
            let drawn = with(&frame, "y", &Column::Number((0..n).map(target).collect()));
            let model = fit.fit_frame(&drawn, &roles).unwrap().model;
            for (j, effect) in effects(&model, None).iter().enumerate() {
                means[j].push(effect.mean);
                errors[j] += effect.standard_error.unwrap() / f64::from(draws);
            }
        }
        for (j, means) in means.iter().enumerate() {
            let mean = means.iter().sum::<f64>() / f64::from(draws);
            let spread = (means.iter().map(|m| (m - mean).powi(2)).sum::<f64>() / f64::from(draws - 1)).sqrt();
            let ratio = errors[j] / spread;
            println!("weighted {weighted}, effect {j}: standard error {:.4}, spread {spread:.4}", errors[j]);
            assert!((0.87..1.15).contains(&ratio), "weighted {weighted}, effect {j}: {ratio}");
        }
    }
}

#[test]
fn other_losses_have_effects_without_errors() {
    let training = table(40, 11, false);
    let loss = mercer::loss::parse("huber").unwrap();
    let fit = Fit::new(Gaussian::lengthscale(1.5)).loss(loss).scale(Scale::Standard).lambda(1e-3);
    let model = fit.fit_frame(&training, &roles()).unwrap().model;
    assert_derivatives(&model, &table(9, 12, false), "huber");
    let found = model.effects(Some(&training), None, None).unwrap();
    assert!(found.without_errors.unwrap().contains("huber"));
    assert!(found.targets[0].effects.iter().all(|effect| effect.standard_error.is_none()));
}

#[test]
fn rows_with_missing_cells_are_left_out_and_keep_their_place() {
    let training = table(30, 13, false);
    let model = Fit::new(Gaussian::lengthscale(1.5)).scale(Scale::Standard).missing(Missing::Drop).lambda(1e-3);
    let model = model.fit_frame(&training, &roles()).unwrap().model;
    let mut cells = numbers(&training, "b");
    cells[4] = f64::NAN;
    let holes = with(&training, "b", &Column::Number(cells));
    let found = model.effects(Some(&holes), None, None).unwrap();
    assert_eq!(found.rows, 29);
    let (whole, holed) = (effects(&model, Some(&training)), &found.targets[0].effects);
    assert!(holed[0].values[4].is_nan() && holed[0].values[5] == whole[0].values[5]);
    let mean = (0..30).filter(|i| *i != 4).map(|i| whole[0].values[i]).sum::<f64>() / 29.0;
    assert!((holed[0].mean - mean).abs() < 1e-12);
}

#[test]
fn effects_on_probabilities_are_derivatives_of_probabilities() {
    use mercer::effects::Quantity;
    use mercer::learn::ManyClasses;
    use mercer::loss::margin::{Hinge, Logistic};
    let frame = table(60, 5, true);
    let y = numbers(&frame, "y");
    let mut sorted = y.clone();
    sorted.sort_unstable_by(f64::total_cmp);
    let classes = |cuts: &[usize]| -> Frame {
        let class = |v: &f64| cuts.iter().filter(|cut| *v > sorted[**cut]).count();
        let names = ["low", "middle", "top"];
        with(&frame, "y", &Column::Text(y.iter().map(|v| Some(names[class(v)].to_owned())).collect()))
    };
    let gaussian = || Gaussian::lengthscale(1.5);
    let logistic = || Fit::new(gaussian()).loss(vec![Arc::new(Logistic)]).scale(Scale::Standard).lambda(1e-2);
    let hinge = || Fit::new(gaussian()).loss(vec![Arc::new(Hinge)]).scale(Scale::Standard).lambda(1e-2);
    let (two, three) = (classes(&[30]), classes(&[20, 40]));
    let cases = [
        (logistic(), &two, Quantity::LogOdds, vec!["middle"]),
        (logistic(), &three, Quantity::LogOdds, vec!["low", "middle", "top"]),
        (logistic().many_classes(ManyClasses::Multinomial), &three, Quantity::Score, vec!["low", "middle", "top"]),
        (hinge().with_probabilities(), &two, Quantity::DecisionValue, vec!["middle"]),
    ];
    for (learn, training, quantity, names) in cases {
        let model = learn.fit_frame(training, &roles()).unwrap().model;
        let said = model.effects(Some(&frame), None, None).unwrap();
        let named: Vec<&str> = said.targets.iter().filter_map(|target| target.class.as_deref()).collect();
        assert_eq!(named, names);
        assert!(said.targets.iter().all(|target| target.of == quantity));
        let found = model.effects_on_probabilities(Some(&frame), None).unwrap();
        assert!(found.without_errors.is_some() && found.targets.len() == names.len());
        let place = |class: &str| model.classes().unwrap().names.iter().position(|name| name == class).unwrap();
        let shares = |frame: &Frame, class: &str| -> Vec<f64> {
            model.probabilities_of_frame(frame).unwrap()[place(class)].iter().map(|cell| cell.unwrap()).collect()
        };
        for (target, class) in found.targets.iter().zip(&names) {
            assert_eq!((target.of, target.class.as_deref()), (Quantity::Probability, Some(*class)));
            for effect in &target.effects {
                let changed = |column: Column| shares(&with(&frame, &effect.column, &column), class);
                let (high, low, unit) = match &effect.versus {
                    None => {
                        let cells = numbers(&frame, &effect.column);
                        let moved = |by: f64| changed(Column::Number(cells.iter().map(|x| x + by).collect()));
                        (moved(1e-5), moved(-1e-5), 2e-5)
                    }
                    Some((category, base)) => {
                        let all = |name: &str| changed(Column::Text(vec![Some(name.to_owned()); 60]));
                        (all(category), all(base), 1.0)
                    }
                };
                for (i, value) in effect.values.iter().enumerate() {
                    let difference = (high[i] - low[i]) / unit;
                    assert!((value - difference).abs() < 1e-6, "{class}, {}: {value}, {difference}", effect.column);
                }
            }
        }
    }
    // Without probabilities, and of numbers, there is nothing to take effects on.
    let bare = hinge().fit_frame(&two, &roles()).unwrap().model;
    assert!(bare.effects_on_probabilities(Some(&frame), None).unwrap_err().to_string().contains("to state them"));
    let numbers = Fit::new(gaussian()).scale(Scale::Standard).fit_frame(&frame, &roles()).unwrap().model;
    assert!(numbers.effects_on_probabilities(Some(&frame), None).unwrap_err().to_string().contains("classes"));
}
