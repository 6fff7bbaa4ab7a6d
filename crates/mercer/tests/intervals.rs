//! Intervals against refits, against the formulas of Gaussian processes written out, and against how often they hold.

use mercer::criterion::Folds;
use mercer::data::Column;
use mercer::format::{from_bytes, to_bytes};
use mercer::interval::{Intervals, Method, rows_needed};
use mercer::low_rank::Landmarks;
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

/// y = 2 + sin(2x₁) + x₁x₂ + noise.
fn draw(rows: usize, noise: f64, random: &mut ChaCha8Rng) -> (Matrix, Vec<f64>) {
    let x = Matrix::from_fn(rows, 2, |_, _| 3.0 * uniform(random));
    let y = (0..rows).map(|i| 2.0 + (2.0 * x.get(i, 0)).sin() + x.get(i, 0) * x.get(i, 1) + noise * normal(random));
    let y = y.collect();
    (x, y)
}

fn rows_of(x: &Matrix, rows: &[usize]) -> Matrix {
    Matrix::from_fn(rows.len(), x.cols(), |i, j| x.get(rows[i], j))
}

/// The definition, with a refit for every group of rows.
fn brute_force(
    fit: &Fit,
    x: &Matrix,
    y: &[f64],
    weights: Option<&[f64]>,
    groups: &[Vec<usize>],
    new: &Matrix,
    level: f64,
) -> Vec<(f64, f64)> {
    let n = y.len();
    let (mut low, mut high) = (vec![Vec::new(); new.rows()], vec![Vec::new(); new.rows()]);
    for group in groups {
        let kept: Vec<usize> = (0..n).filter(|i| !group.contains(i)).collect();
        let target = Matrix::column_vector(kept.iter().map(|i| y[*i]).collect());
        let weights: Option<Vec<f64>> = weights.map(|w| kept.iter().map(|i| w[*i]).collect());
        let model = fit.fit_weighted(&rows_of(x, &kept), &target, weights.as_deref()).unwrap().model;
        let (left_out, predicted) = (model.predict(&rows_of(x, group)).unwrap(), model.predict(new).unwrap());
        for (place, row) in group.iter().enumerate() {
            let e = (y[*row] - left_out.get(place, 0)).abs();
            for i in 0..new.rows() {
                low[i].push(predicted.get(i, 0) - e);
                high[i].push(predicted.get(i, 0) + e);
            }
        }
    }
    let alpha = 1.0 - level;
    let first = (alpha * (n as f64 + 1.0) + 1e-9).floor() as usize;
    let last = ((1.0 - alpha) * (n as f64 + 1.0) - 1e-9).ceil() as usize;
    low.iter_mut().zip(&mut high).for_each(|(l, h)| [l, h].into_iter().for_each(|v| v.sort_by(f64::total_cmp)));
    low.iter().zip(&high).map(|(l, h)| (l[first - 1], h[last - 1])).collect()
}

fn largest_difference(found: &mercer::interval::Bounds, wanted: &[(f64, f64)]) -> f64 {
    let ends = found.lower.iter().zip(&found.upper).zip(wanted);
    ends.map(|((l, h), w)| (l.unwrap() - w.0).abs().max((h.unwrap() - w.1).abs())).fold(0.0, f64::max)
}

#[test]
fn intervals_are_those_of_refits() {
    let mut random = ChaCha8Rng::seed_from_u64(5);
    let (x, y) = draw(41, 0.3, &mut random);
    let (new, _) = draw(23, 0.0, &mut random);
    let weights: Vec<f64> = (0..41).map(|_| 0.5 + uniform(&mut random)).collect();
    let singles: Vec<Vec<usize>> = (0..41).map(|i| vec![i]).collect();
    let folds = Folds::random(41, 6, 3).unwrap();
    let mut compared = 0;
    for exponent in [0.8, 1.5, 2.0, 3.0] {
        for offset in [true, false] {
            for weights in [None, Some(&weights[..])] {
                let fit = Fit::new(Gaussian::lengthscale(1.2)).exponent(exponent).lambda(3e-3);
                let fit = if offset { fit } else { fit.without_offset() };
                let target = Matrix::column_vector(y.clone());
                let model = fit.fit_weighted(&x, &target, weights).unwrap().model;
                for (method, groups) in
                    [(Method::JackknifePlus, &singles), (Method::CvPlus(folds.clone()), &folds.groups)]
                {
                    let training = model.training().unwrap();
                    let found = Intervals::new(&model, training, &method, 0.9, None).unwrap().at(&new).unwrap();
                    let wanted = brute_force(&fit, &x, &y, weights, groups, &new, 0.9);
                    let difference = largest_difference(&found[0], &wanted);
                    assert!(difference < 1e-9, "{method:?}, exponent {exponent}, offset {offset}: {difference:e}");
                    compared += wanted.len();
                }
            }
        }
    }
    println!("{compared} intervals compared with refits");
}

#[test]
fn linear_functions_have_intervals_once_their_rows_are_given() {
    let mut random = ChaCha8Rng::seed_from_u64(6);
    let (x, y) = draw(30, 0.4, &mut random);
    let (new, _) = draw(7, 0.0, &mut random);
    for (exponent, offset) in [(2.0, true), (1.5, true), (2.0, false)] {
        let fit = Fit::new(Linear).exponent(exponent).lambda(0.02);
        let fit = if offset { fit } else { fit.without_offset() };
        let model = fit.fit(&x, &y).unwrap().model;
        assert!(model.training().is_none());
        let mut frame = Frame::new(30);
        frame.push("x1", Column::Number(x.col(0).to_vec())).unwrap();
        frame.push("x2", Column::Number(x.col(1).to_vec())).unwrap();
        frame.push("y", Column::Number(y.clone())).unwrap();
        let folds = Folds::random(30, 5, 1).unwrap();
        let singles: Vec<Vec<usize>> = (0..30).map(|i| vec![i]).collect();
        for (method, groups) in [(Method::JackknifePlus, &singles), (Method::CvPlus(folds.clone()), &folds.groups)] {
            let training = model.training_from(&frame, None).unwrap();
            let found = Intervals::new(&model, training, &method, 0.8, None).unwrap().at(&new).unwrap();
            let wanted = brute_force(&fit, &x, &y, None, groups, &new, 0.8);
            let difference = largest_difference(&found[0], &wanted);
            assert!(difference < 1e-9, "{method:?}, exponent {exponent}, offset {offset}: {difference:e}");
        }
    }
}

/// Solves a small symmetric system by elimination.
fn solve(a: &Matrix, b: &[f64]) -> Vec<f64> {
    let n = b.len();
    let mut rows: Vec<Vec<f64>> =
        (0..n).map(|i| (0..n).map(|j| a.get(i, j)).chain([b[i]]).collect::<Vec<f64>>()).collect();
    for k in 0..n {
        let pivot = (k..n).max_by(|p, q| rows[*p][k].abs().total_cmp(&rows[*q][k].abs())).unwrap();
        rows.swap(k, pivot);
        for i in k + 1..n {
            let factor = rows[i][k] / rows[k][k];
            for j in k..=n {
                let above = rows[k][j];
                rows[i][j] -= factor * above;
            }
        }
    }
    let mut solution = vec![0.0; n];
    for i in (0..n).rev() {
        let known: f64 = (i + 1..n).map(|j| rows[i][j] * solution[j]).sum();
        solution[i] = (rows[i][n] - known) / rows[i][i];
    }
    solution
}

/// Kriging as the textbooks write it: with noise γ/w on the diagonal, and an unknown mean as a generalised least squares.
#[test]
fn the_variance_of_a_gaussian_process_is_that_of_kriging() {
    let mut random = ChaCha8Rng::seed_from_u64(8);
    let (x, y) = draw(25, 0.3, &mut random);
    let (new, _) = draw(9, 0.0, &mut random);
    let weights: Vec<f64> = (0..25).map(|i| [1.0, 2.0, 0.5][i % 3]).collect();
    let k = |a: &Matrix, i: usize, b: &Matrix, j: usize| {
        let square = |c: usize| (a.get(i, c) - b.get(j, c)).powi(2);
        (-(square(0) + square(1)) / (2.0 * 1.1 * 1.1)).exp()
    };
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    for offset in [true, false] {
        for weighted in [false, true] {
            let w = |i: usize| if weighted { weights[i] } else { 1.0 };
            let fit = Fit::new(Gaussian::lengthscale(1.1)).exponent(1.5).lambda(0.01);
            let fit = if offset { fit } else { fit.without_offset() };
            let given = weighted.then_some(&weights[..]);
            let fitted = fit.fit_weighted(&x, &Matrix::column_vector(y.clone()), given).unwrap();
            let total: f64 = (0..25).map(w).sum();
            let gamma = fitted.summary().effective_ridge.unwrap() * total;
            let g = Matrix::from_fn(25, 25, |i, j| k(&x, i, &x, j) + f64::from(u8::from(i == j)) * gamma / w(i));
            let ones = vec![1.0; 25];
            let (from_y, from_ones) = (solve(&g, &y), solve(&g, &ones));
            let mean = if offset { dot(&ones, &from_y) / dot(&ones, &from_ones) } else { 0.0 };
            let centred: Vec<f64> = y.iter().map(|v| v - mean).collect();
            // The residuals are γα/w, and with A the matrix from y to α the noise is Σ w r²/(γ tr A), its degrees of freedom
            // (tr A)²/tr A², all in scaled coordinates.
            let alpha = solve(&g, &centred);
            let squares: f64 = (0..25).map(|i| gamma * gamma * alpha[i] * alpha[i] / w(i)).sum();
            let residual_maker = Matrix::from_fn(25, 25, |i, j| {
                let unit: Vec<f64> = (0..25).map(|l| f64::from(u8::from(l == j))).collect();
                let from_unit = solve(&g, &unit);
                let mean = if offset { from_ones[j] / dot(&ones, &from_ones) } else { 0.0 };
                gamma * (from_unit[i] - mean * from_ones[i]) / (w(i) * w(j)).sqrt()
            });
            let trace: f64 = (0..25).map(|i| residual_maker.get(i, i)).sum();
            let squared: f64 = residual_maker.as_slice().iter().map(|q| q * q).sum();
            let scale = squares / trace / gamma;
            let freedom = trace * trace / squared;
            let training = fitted.model.training().unwrap();
            let intervals = Intervals::new(&fitted.model, training, &Method::GaussianProcess, 0.95, None).unwrap();
            let found = intervals.at(&new).unwrap();
            for i in 0..9 {
                let kx: Vec<f64> = (0..25).map(|j| k(&new, i, &x, j)).collect();
                let from_k = solve(&g, &kx);
                let left = if offset { (1.0 - dot(&ones, &from_k)).powi(2) / dot(&ones, &from_ones) } else { 0.0 };
                let variance = scale * (1.0 - dot(&kx, &from_k) + left + gamma * 25.0 / total);
                let expected = mean + dot(&from_k, &centred);
                // Cornish and Fisher's expansion of Student's quantile.
                let z = 1.959_963_984_540_054_f64;
                let t = z
                    + (z.powi(3) + z) / (4.0 * freedom)
                    + (5.0 * z.powi(5) + 16.0 * z.powi(3) + 3.0 * z) / (96.0 * freedom.powi(2))
                    + (3.0 * z.powi(7) + 19.0 * z.powi(5) + 17.0 * z.powi(3) - 15.0 * z) / (384.0 * freedom.powi(3));
                let half = t * variance.sqrt();
                let (lower, upper) = (found[0].lower[i].unwrap(), found[0].upper[i].unwrap());
                assert!((0.5 * (lower + upper) - expected).abs() < 1e-9, "the middle, offset {offset}");
                assert!((0.5 * (upper - lower) - half).abs() < 1e-4 * half, "offset {offset}, weighted {weighted}");
            }
        }
    }
}

#[test]
fn files_keep_what_intervals_need() {
    let mut random = ChaCha8Rng::seed_from_u64(9);
    let (x, y) = draw(40, 0.2, &mut random);
    let targets = Matrix::from_fn(40, 2, |i, t| if t == 0 { y[i] } else { 100.0 - y[i] * y[i] });
    let weights: Vec<f64> = (0..40).map(|i| 1.0 + (i % 3) as f64).collect();
    for weights in [None, Some(&weights[..])] {
        let model =
            Fit::new(Matern52::lengthscale(1.0)).exponent(1.4).fit_weighted(&x, &targets, weights).unwrap().model;
        let again = from_bytes(&to_bytes(&model).unwrap()).unwrap();
        let of = |model: &Model| {
            let training = model.training().unwrap();
            assert_eq!(training.is_weighted(), weights.is_some());
            Intervals::new(model, training, &Method::JackknifePlus, 0.9, None).unwrap().at(&x).unwrap()
        };
        assert_eq!(of(&model), of(&again));
        assert_eq!(of(&model).len(), 2);
        let share = of(&model)[1].coverage(targets.col(1)).unwrap().share;
        assert!(share > 0.85, "{share}");
    }
}

#[test]
fn what_has_no_interval_is_refused_with_what_must_hold() {
    let mut random = ChaCha8Rng::seed_from_u64(10);
    let (x, y) = draw(12, 0.2, &mut random);
    let fit = Fit::new(Gaussian::lengthscale(1.0)).lambda(0.01);
    let model = fit.fit(&x, &y).unwrap().model;
    let refused = |model: &Model, training: mercer::Training, method: &Method, level: f64| {
        Intervals::new(model, training, method, level, None).err().expect("refused").to_string()
    };
    let own = || model.training().unwrap();
    let text = refused(&model, own(), &Method::JackknifePlus, 0.95);
    assert!(text.contains("at least 19 ") && text.ends_with("got 12"), "{text}");
    assert_eq!(rows_needed(0.95), 19);
    assert!(refused(&model, own(), &Method::JackknifePlus, 1.0).contains("below 1"));
    let broken = Method::CvPlus(Folds::of(vec![(0..6).collect(), (5..12).collect()], 1));
    assert!(refused(&model, own(), &broken, 0.9).contains("each of the 12 rows"));
    // Other rows than those of the fit.
    let (other, other_y) = draw(12, 0.2, &mut random);
    let stranger = fit.fit(&other, &other_y).unwrap().model;
    let text = refused(&model, stranger.training().unwrap(), &Method::JackknifePlus, 0.9);
    assert!(text.contains("the training rows must be those of the fit"), "{text}");
    // Targets that share a ridge at another exponent than 2.
    let two = Matrix::from_fn(12, 2, |i, t| if t == 0 { y[i] } else { 10.0 * y[i] * y[i] });
    let shared = fit.clone().exponent(1.5).shared_ridge().fit_weighted(&x, &two, None).unwrap().model;
    assert!(refused(&shared, shared.training().unwrap(), &Method::JackknifePlus, 0.9).contains("share one ridge"));
    let loss = mercer::loss::parse("huber").unwrap();
    let robust = Fit::new(Gaussian::lengthscale(1.0)).loss(loss).lambda(0.01).fit(&x, &y).unwrap().model;
    assert!(robust.training().is_none());
    let text = refused(&robust, own(), &Method::JackknifePlus, 0.9);
    assert!(text.contains("squared loss") && text.contains("huber"), "{text}");
}

/// The zero function's intervals are those of a mean.
#[test]
fn the_zero_function_has_intervals_too() {
    let mut random = ChaCha8Rng::seed_from_u64(12);
    let (x, y) = draw(20, 0.2, &mut random);
    let fit = Fit::new(Gaussian::lengthscale(1.0)).exponent(0.5).lambda(1e4);
    let model = fit.fit(&x, &y).unwrap().model;
    assert!(model.summaries()[0].is_zero);
    let singles: Vec<Vec<usize>> = (0..20).map(|i| vec![i]).collect();
    let wanted = brute_force(&fit, &x, &y, None, &singles, &x, 0.9);
    let of = |method: &Method| {
        Intervals::new(&model, model.training().unwrap(), method, 0.9, None).unwrap().at(&x).unwrap().swap_remove(0)
    };
    assert!(largest_difference(&of(&Method::JackknifePlus), &wanted) < 1e-12);
    let mean = y.iter().sum::<f64>() / 20.0;
    let variance = y.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / 19.0;
    // Student's quantile with 19 degrees of freedom.
    let half = 1.729_132_811_521_367 * (variance * (1.0 + 1.0 / 20.0)).sqrt();
    let process = of(&Method::GaussianProcess);
    assert!((process.upper[3].unwrap() - mean - half).abs() < 1e-10);
}

/// With kernel and λ fixed beforehand, rows that are drawn alike are covered as promised.
#[test]
fn coverage_is_what_the_level_says() {
    let mut random = ChaCha8Rng::seed_from_u64(11);
    let (mut inside, mut rows) = ([0.0; 3], 0.0);
    for draws in 0..60 {
        let (x, y) = draw(60, 0.5, &mut random);
        let (new, truth) = draw(60, 0.5, &mut random);
        let model = Fit::new(Gaussian::lengthscale(1.0)).exponent(1.5).lambda(0.01).fit(&x, &y).unwrap().model;
        let folds = Folds::random(60, 10, draws).unwrap();
        let methods = [Method::JackknifePlus, Method::CvPlus(folds), Method::GaussianProcess];
        for (method, inside) in methods.iter().zip(&mut inside) {
            let found = Intervals::new(&model, model.training().unwrap(), method, 0.9, None).unwrap();
            *inside += found.at(&new).unwrap()[0].coverage(&truth).unwrap().share;
        }
        rows += 1.0;
    }
    let shares = inside.map(|inside| inside / rows);
    println!("coverage at 0.9: jackknife+ {:.3}, CV+ {:.3}, Gaussian process {:.3}", shares[0], shares[1], shares[2]);
    assert!((0.88..0.93).contains(&shares[0]), "jackknife+ {}", shares[0]);
    assert!((0.88..0.94).contains(&shares[1]), "CV+ {}", shares[1]);
}

/// predict.lm(interval = "prediction") of R: ŷ ± t(n − p) s √(1 + xᵀ(XᵀX)⁻¹x), here with X = (1, x) by hand.
#[test]
fn without_a_ridge_the_interval_is_that_of_least_squares() {
    let x = [0.0, 1.0, 2.0, 4.0, 7.0, 9.0];
    let y = [1.2, 1.9, 3.4, 4.8, 8.1, 9.7];
    let new = [-1.0, 3.0, 12.0];
    let n = x.len() as f64;
    let (mx, my) = (x.iter().sum::<f64>() / n, y.iter().sum::<f64>() / n);
    let sxx: f64 = x.iter().map(|v| (v - mx).powi(2)).sum();
    let slope = x.iter().zip(&y).map(|(a, b)| (a - mx) * (b - my)).sum::<f64>() / sxx;
    let squares: f64 = x.iter().zip(&y).map(|(a, b)| (b - my - slope * (a - mx)).powi(2)).sum();
    // Student's quantile of 90 % with 4 degrees of freedom.
    let (s, t) = ((squares / (n - 2.0)).sqrt(), 2.131_846_786_326_649);
    let fit = Fit::with_shared(mercer::kernel::parse("linear").unwrap()).scale(Scale::None).lambda(1e-11);
    let model = fit.fit(&Matrix::column_vector(x.to_vec()), &y).unwrap().model;
    let mut frame = Frame::new(6);
    frame.push(model.encoder().columns()[0].to_string(), Column::Number(x.to_vec())).unwrap();
    frame.push(model.summaries()[0].target.clone(), Column::Number(y.to_vec())).unwrap();
    let training = model.training_from(&frame, None).unwrap();
    let intervals = Intervals::new(&model, training, &Method::GaussianProcess, 0.9, None).unwrap();
    let found = intervals.at(&Matrix::column_vector(new.to_vec())).unwrap();
    for (i, v) in new.iter().enumerate() {
        let half = t * s * (1.0 + 1.0 / n + (v - mx).powi(2) / sxx).sqrt();
        let middle = my + slope * (v - mx);
        assert!((found[0].lower[i].unwrap() - (middle - half)).abs() < 1e-6);
        assert!((found[0].upper[i].unwrap() - (middle + half)).abs() < 1e-6);
    }
}

/// Targets that are drawn from the process itself are covered as promised.
#[test]
fn a_process_covers_its_own_draws() {
    let mut random = ChaCha8Rng::seed_from_u64(13);
    let (rows, gamma, noise) = (60, 0.25_f64, 0.5);
    let kernel = Gaussian::lengthscale(1.0);
    let (mut shares, draws) = (0.0, 60);
    for _ in 0..draws {
        let (x, _) = draw(2 * rows, 0.0, &mut random);
        // y = Lz with LLᵀ = K + γI.
        let mut covariance = mercer::space::gram(&kernel, &mercer::kernel::Points::new(&x));
        (0..2 * rows).for_each(|i| covariance.set(i, i, covariance.get(i, i) + gamma));
        let l = lower_factor(&covariance);
        let z: Vec<f64> = (0..2 * rows).map(|_| normal(&mut random)).collect();
        let y: Vec<f64> =
            (0..2 * rows).map(|i| 3.0 + noise * (0..=i).map(|j| l.get(i, j) * z[j]).sum::<f64>()).collect();
        let (known, new): (Vec<usize>, Vec<usize>) = ((0..rows).collect(), (rows..2 * rows).collect());
        let fit = Fit::new(Gaussian::lengthscale(1.0)).scale(Scale::None).lambda(gamma / rows as f64);
        let model = fit.fit(&rows_of(&x, &known), &y[..rows]).unwrap().model;
        let method = Method::GaussianProcess;
        let found = Intervals::new(&model, model.training().unwrap(), &method, 0.9, None).unwrap();
        shares += found.at(&rows_of(&x, &new)).unwrap()[0].coverage(&y[rows..]).unwrap().share;
    }
    let share = shares / f64::from(draws);
    println!("Gaussian process at 0.9: {share:.3}");
    assert!((0.88..0.915).contains(&share), "{share}");
}

/// L with LLᵀ = A, by the definition.
fn lower_factor(a: &Matrix) -> Matrix {
    let n = a.rows();
    let mut l = Matrix::from_fn(n, n, |_, _| 0.0);
    for j in 0..n {
        for i in j..n {
            let known: f64 = (0..j).map(|k| l.get(i, k) * l.get(j, k)).sum();
            let left = a.get(i, j) - known;
            l.set(i, j, if i == j { left.sqrt() } else { left / l.get(j, j) });
        }
    }
    l
}

/// A level so small that no row is needed has an interval all the same.
#[test]
fn the_least_levels_have_an_interval() {
    let mut random = ChaCha8Rng::seed_from_u64(14);
    let (x, y) = draw(12, 0.2, &mut random);
    let model = Fit::new(Gaussian::lengthscale(1.0)).lambda(0.01).fit(&x, &y).unwrap().model;
    for method in [Method::JackknifePlus, Method::CvPlus(Folds::random(12, 3, 1).unwrap()), Method::GaussianProcess] {
        let found = Intervals::new(&model, model.training().unwrap(), &method, 1e-12, None).unwrap();
        assert!(found.at(&x).unwrap()[0].lower.iter().all(|end| end.unwrap().is_finite()));
    }
}

/// A table of numbers, the last column the target.
fn table(name: &str) -> Option<Vec<Vec<f64>>> {
    let path = format!("{}/../../../shared/data/{name}.csv", env!("CARGO_MANIFEST_DIR"));
    let Ok(text) = std::fs::read_to_string(&path) else {
        println!("skipped: {name}.csv is not there");
        return None;
    };
    Some(text.lines().skip(1).map(|line| line.split(',').map(|cell| cell.parse().unwrap()).collect()).collect())
}

#[test]
fn coverage_on_open_sets() {
    for name in ["concrete_slump", "yacht"] {
        let Some(table) = table(name) else { continue };
        let features = table[0].len() - 1;
        let (mut share, mut least, splits) = (0.0, f64::INFINITY, 50);
        for split in 0..splits {
            let mut random = ChaCha8Rng::seed_from_u64(split);
            let mut order: Vec<usize> = (0..table.len()).collect();
            for i in (1..order.len()).rev() {
                order.swap(i, (random.next_u64() % (i as u64 + 1)) as usize);
            }
            order.truncate(300);
            let (training, test) = order.split_at(order.len() * 7 / 10);
            let x = |rows: &[usize]| Matrix::from_fn(rows.len(), features, |i, j| table[rows[i]][j]);
            let y = |rows: &[usize]| rows.iter().map(|row| table[*row][features]).collect::<Vec<f64>>();
            let fit = Fit::with_shared(mercer::kernel::parse("gaussian").unwrap()).scale(Scale::Standard);
            let model = fit.exponent(1.5).lambda(1e-4).fit(&x(training), &y(training)).unwrap().model;
            let intervals =
                Intervals::new(&model, model.training().unwrap(), &Method::JackknifePlus, 0.9, None).unwrap();
            let found = intervals.at(&x(test)).unwrap()[0].coverage(&y(test)).unwrap().share;
            share += found / splits as f64;
            least = least.min(found);
        }
        println!("{name}: jackknife+ at 0.9 covers {share:.3} (least {least:.3}) over {splits} splits");
        assert!((0.87..0.95).contains(&share), "{name}: {share}");
    }
}

/// On landmarks the refits have the same ones: linear fits to the rows of F.
#[test]
fn intervals_on_landmarks_are_those_of_refits_on_the_same_landmarks() {
    let mut random = ChaCha8Rng::seed_from_u64(15);
    let (x, y) = draw(45, 0.3, &mut random);
    let weights: Vec<f64> = (0..45).map(|_| 0.5 + uniform(&mut random)).collect();
    let kernel = Gaussian::lengthscale(1.2);
    let factor = mercer::low_rank::factor(&kernel, &mercer::kernel::Points::new(&x), 1e-14, 9, 1);
    let new: Vec<usize> = (0..45).step_by(4).collect();
    let singles: Vec<Vec<usize>> = (0..45).map(|i| vec![i]).collect();
    let folds = Folds::random(45, 6, 3).unwrap();
    let target = Matrix::column_vector(y.clone());
    for (exponent, weights) in [(2.0, None), (1.5, None), (1.5, Some(&weights[..]))] {
        let fit = Fit::new(kernel.clone()).exponent(exponent).lambda(1e-3).rank(9).landmarks_by(Landmarks::Pivots);
        let fitted = fit.fit_weighted(&x, &target, weights).unwrap();
        let model = from_bytes(&to_bytes(&fitted.model).unwrap()).unwrap();
        assert!(model.training().is_none() && model.is_on_landmarks());
        let mut frame = Frame::new(45);
        for (name, cells) in [("x1", x.col(0)), ("x2", x.col(1)), ("y", &y[..]), ("w", weights.unwrap_or(&y))] {
            frame.push(name, Column::Number(cells.to_vec())).unwrap();
        }
        let training = || model.training_from(&frame, weights.map(|_| "w")).unwrap();
        let linear = Fit::new(Linear).exponent(exponent).lambda(1e-3);
        for (method, groups) in [(Method::JackknifePlus, &singles), (Method::CvPlus(folds.clone()), &folds.groups)] {
            let intervals = Intervals::new(&model, training(), &method, 0.8, None).unwrap();
            let found = intervals.at(&rows_of(&x, &new)).unwrap().swap_remove(0);
            let features = &factor.matrix;
            let wanted = brute_force(&linear, features, &y, weights, groups, &rows_of(features, &new), 0.8);
            let worst = largest_difference(&found, &wanted);
            assert!(worst < 1e-7, "exponent {exponent}, {method:?}: {worst}");
        }
        // A Gaussian process is wider where landmarks say little.
        let process = Intervals::new(&model, training(), &Method::GaussianProcess, 0.9, None).unwrap();
        let far = process.at(&Matrix::from_rows(&[[1.5, 1.5], [9.0, 9.0]]).unwrap()).unwrap().swap_remove(0);
        let width = |i: usize| far.upper[i].unwrap() - far.lower[i].unwrap();
        assert!(width(1) > 1.2 * width(0), "{} {}", width(0), width(1));
        // Other rows are refused.
        let mut wrong = frame.clone();
        wrong = wrong.select_rows(&(0..44).collect::<Vec<usize>>());
        let wrong = model.training_from(&wrong, weights.map(|_| "w")).unwrap();
        assert!(Intervals::new(&model, wrong, &Method::JackknifePlus, 0.8, None).is_err());
    }
}
