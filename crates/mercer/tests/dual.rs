//! The dual solver against references of other origin: golden files, all active sets enumerated, and the duality gap
//! computed here from its definition.

mod reference;

use std::sync::atomic::{AtomicUsize, Ordering};

use mercer::kernel::{self, Points};
use mercer::prelude::*;
use mercer::solver::dual::{BoxProblem, BoxSettings, BoxSolution, GramRows, KernelPoints, solve};
use rand::{Rng, RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde_json::Value;

use reference::{load, matrix, numbers};

/// A [`BoxProblem`] that owns its lists.
#[derive(Debug, Clone)]
struct OwnedProblem {
    target: Vec<f64>,
    lower: Vec<f64>,
    upper: Vec<f64>,
    epsilon: Vec<f64>,
    curvature: Vec<f64>,
    has_offset: bool,
}

impl OwnedProblem {
    fn as_ref(&self) -> BoxProblem<'_> {
        BoxProblem {
            target: &self.target,
            lower: &self.lower,
            upper: &self.upper,
            epsilon: &self.epsilon,
            curvature: &self.curvature,
            has_offset: self.has_offset,
        }
    }
}

/// The dual of a loss at C = 1/(2nλ); `None` for losses that have another form.
fn of_loss(loss: &str, y: &[f64], c: f64, case: &Value, has_offset: bool) -> Option<OwnedProblem> {
    let n = y.len();
    let (infinite, none) = (vec![f64::INFINITY; n], vec![0.0; n]);
    let minus = |list: &[f64]| -> Vec<f64> { list.iter().map(|x| -x).collect() };
    let sided = |bound: f64| -> (Vec<f64>, Vec<f64>) {
        y.iter().map(|y| if *y > 0.0 { (0.0, bound) } else { (-bound, 0.0) }).unzip()
    };
    let number = |name: &str| case[name].as_f64().unwrap_or(f64::NAN);
    let (lower, upper, epsilon, curvature) = match loss {
        "absolute" => (vec![-c; n], vec![c; n], none.clone(), none),
        "huber" => {
            let bound = vec![c * number("threshold"); n];
            (minus(&bound), bound, none, vec![1.0 / c; n])
        }
        "epsilon-insensitive" => (vec![-c; n], vec![c; n], vec![number("epsilon"); n], none),
        "squared-epsilon-insensitive" => (minus(&infinite), infinite, vec![number("epsilon"); n], vec![0.5 / c; n]),
        "hinge" => (sided(c).0, sided(c).1, none.clone(), none),
        "squared-hinge" => (sided(f64::INFINITY).0, sided(f64::INFINITY).1, none, vec![0.5 / c; n]),
        _ => return None,
    };
    Some(OwnedProblem { target: y.to_vec(), lower, upper, epsilon, curvature, has_offset })
}

#[test]
fn golden_losses_at_exponent_2() {
    let mut seen = 0;
    for name in ["regression", "classification"] {
        let file = load(&format!("losses-{name}"));
        let (x, y, test) = (matrix(&file["X"]), numbers(&file["y"]), matrix(&file["X_test"]));
        let n = y.len();
        let kernel = kernel::parse(&format!("gaussian(lengthscale={})", file["kernel"]["lengthscale"])).unwrap();
        let points = Points::new(&x);
        for case in file["cases"].as_array().unwrap() {
            if case["exponent"].as_f64() != Some(2.0) {
                continue;
            }
            let (loss, lambda) = (case["loss"].as_str().unwrap(), case["lambda"].as_f64().unwrap());
            let c = 1.0 / (2.0 * n as f64 * lambda);
            let Some(problem) = of_loss(loss, &y, c, case, case["offset"].as_bool().unwrap()) else { continue };
            seen += 1;
            for tolerance in [1e-8, 1e-9] {
                let settings = BoxSettings { tolerance, ..BoxSettings::default() };
                let found = solve(&KernelPoints::new(&*kernel, &points), &problem.as_ref(), &settings).unwrap();
                assert!(found.converged, "{loss} {lambda}: gap {}", found.relative_gap);
                // P = C·Σ loss + ½‖f‖² = (1/(2λ))·(mean loss + λ‖f‖²).
                let objective = 2.0 * lambda * found.primal;
                let want = case["objective"].as_f64().unwrap();
                assert!((objective / want - 1.0).abs() < 1e-7, "{loss} {lambda}: {objective} for {want}");
                let mut row = vec![0.0; n];
                let want = numbers(&case["predict"]);
                for (i, want) in want.iter().enumerate() {
                    Points::new(&test).with_point(i, |x| kernel.values(x, &points, 0, &mut row));
                    let value: f64 = row.iter().zip(&found.alpha).map(|(k, a)| k * a).sum::<f64>() + found.offset;
                    assert!((value - want).abs() < 1e-4 * want.abs().max(1.0), "{loss} {lambda}: {value} for {want}");
                }
            }
        }
    }
    assert_eq!(seen, 24);
}

/// Primal plus dual objective from their definitions, relative to the primal: an upper bound of the error of both. The
/// loss is maximised over its candidates one by one, not by the formula of the library.
fn true_gap(gram: &Matrix, problem: &OwnedProblem, alpha: &[f64], offset: f64) -> f64 {
    let n = alpha.len();
    let fitted: Vec<f64> = (0..n).map(|i| (0..n).map(|j| gram.get(i, j) * alpha[j]).sum()).collect();
    let norm: f64 = alpha.iter().zip(&fitted).map(|(a, f)| a * f).sum();
    let (mut losses, mut dual) = (0.0, 0.5 * norm);
    for i in 0..n {
        let (t, e, q) = (problem.target[i], problem.epsilon[i], problem.curvature[i]);
        assert!(alpha[i] >= problem.lower[i] && alpha[i] <= problem.upper[i], "row {i} outside its box");
        let v = fitted[i] + offset;
        let value = |a: f64| a * (t - v) - e * a.abs() - 0.5 * q * a * a;
        let candidates = [problem.lower[i], problem.upper[i], 0.0, (t - v - e) / q, (t - v + e) / q];
        losses += candidates
            .into_iter()
            .filter(|a| a.is_finite() && *a >= problem.lower[i] && *a <= problem.upper[i])
            .map(value)
            .fold(0.0, f64::max);
        dual += -t * alpha[i] + e * alpha[i].abs() + 0.5 * q * alpha[i] * alpha[i];
    }
    if problem.has_offset {
        let size: f64 = alpha.iter().map(|a| a.abs()).sum();
        assert!(alpha.iter().sum::<f64>().abs() <= 1e-12 * size, "Σ α = {}", alpha.iter().sum::<f64>());
    }
    let primal = 0.5 * norm + losses;
    (primal + dual) / primal.abs().max(f64::MIN_POSITIVE)
}

/// The least dual objective over all ways in which variables can be at a bound, at 0, or inside on either side: the
/// minimiser is the stationary point of its own way, and no feasible point is lower.
fn enumerated(gram: &Matrix, problem: &OwnedProblem) -> f64 {
    let n = gram.rows();
    let mut least = f64::INFINITY;
    let mut ways = vec![0usize; n];
    loop {
        if let Some(alpha) = stationary(gram, problem, &ways) {
            let value = dual_objective(gram, problem, &alpha);
            least = least.min(value);
        }
        let Some(next) = ways.iter().position(|way| *way < 4) else { return least };
        ways[next] += 1;
        ways[..next].fill(0);
    }
}

fn dual_objective(gram: &Matrix, problem: &OwnedProblem, alpha: &[f64]) -> f64 {
    let n = alpha.len();
    (0..n)
        .map(|i| {
            let fitted: f64 = (0..n).map(|j| gram.get(i, j) * alpha[j]).sum();
            alpha[i] * (0.5 * fitted - problem.target[i] + 0.5 * problem.curvature[i] * alpha[i])
                + problem.epsilon[i] * alpha[i].abs()
        })
        .sum()
}

/// Solves for the variables that are inside (3: above 0, 4: below 0) with the others at 0, lower and upper (0, 1, 2).
fn stationary(gram: &Matrix, problem: &OwnedProblem, ways: &[usize]) -> Option<Vec<f64>> {
    let n = ways.len();
    let mut alpha: Vec<f64> = (0..n)
        .map(|i| match ways[i] {
            1 => problem.lower[i],
            2 => problem.upper[i],
            _ => 0.0,
        })
        .collect();
    if alpha.iter().any(|a| !a.is_finite()) {
        return None;
    }
    let inside: Vec<usize> = (0..n).filter(|i| ways[*i] >= 3).collect();
    let size = inside.len() + usize::from(problem.has_offset);
    let mut system = vec![vec![0.0; size + 1]; size];
    for (r, i) in inside.iter().enumerate() {
        for (c, j) in inside.iter().enumerate() {
            // A hair of curvature makes duplicates harmless: the value is a bound from above all the same.
            system[r][c] = gram.get(*i, *j) + if i == j { problem.curvature[*i] + 1e-12 } else { 0.0 };
        }
        let sign = if ways[*i] == 3 { 1.0 } else { -1.0 };
        let fixed: f64 = (0..n).map(|j| gram.get(*i, j) * alpha[j]).sum();
        system[r][size] = problem.target[*i] - sign * problem.epsilon[*i] - fixed;
        if problem.has_offset {
            system[r][size - 1] = 1.0;
            system[size - 1][r] = 1.0;
        }
    }
    if problem.has_offset {
        system[size - 1][size] = -alpha.iter().sum::<f64>();
    }
    let solved = eliminate(system)?;
    for (r, i) in inside.iter().enumerate() {
        let is_on_side = if ways[*i] == 3 { solved[r] >= 0.0 } else { solved[r] <= 0.0 };
        if !is_on_side || solved[r] < problem.lower[*i] || solved[r] > problem.upper[*i] {
            return None;
        }
        alpha[*i] = solved[r];
    }
    let is_balanced = !problem.has_offset || alpha.iter().sum::<f64>().abs() < 1e-9;
    is_balanced.then_some(alpha)
}

/// Gauss with pivots.
fn eliminate(mut a: Vec<Vec<f64>>) -> Option<Vec<f64>> {
    let n = a.len();
    for k in 0..n {
        let pivot = (k..n).max_by(|x, y| a[*x][k].abs().total_cmp(&a[*y][k].abs()))?;
        a.swap(k, pivot);
        if a[k][k].abs() < 1e-14 {
            return None;
        }
        for r in 0..n {
            if r != k {
                let factor = a[r][k] / a[k][k];
                for c in k..=n {
                    a[r][c] -= factor * a[k][c];
                }
            }
        }
    }
    Some((0..n).map(|k| a[k][n] / a[k][k]).collect())
}

fn random_problem(random: &mut ChaCha8Rng, n: usize) -> OwnedProblem {
    let mut problem = OwnedProblem {
        target: Vec::new(),
        lower: Vec::new(),
        upper: Vec::new(),
        epsilon: Vec::new(),
        curvature: Vec::new(),
        has_offset: random.random::<bool>(),
    };
    let is_constant = random.random_range(0..8) == 0;
    for _ in 0..n {
        let has_curvature = random.random_range(0..3) == 0;
        let mut bound = || match random.random_range(0..6) {
            0 => 0.0,
            1 if has_curvature => f64::INFINITY,
            _ => 2.0 * random.random::<f64>() + 0.01,
        };
        let (lower, upper) = (-bound(), bound());
        problem.lower.push(lower);
        problem.upper.push(upper);
        problem.target.push(if is_constant { 1.0 } else { 4.0 * random.random::<f64>() - 2.0 });
        problem.epsilon.push(if random.random::<bool>() { 0.5 * random.random::<f64>() } else { 0.0 });
        problem.curvature.push(if has_curvature { random.random::<f64>() + 0.01 } else { 0.0 });
    }
    problem
}

#[test]
fn small_problems_agree_with_all_active_sets() {
    let mut random = ChaCha8Rng::seed_from_u64(7);
    for round in 0..400 {
        let n = 1 + round % 5;
        // Every third problem has duplicate rows.
        let x = Matrix::from_fn(
            n,
            2,
            |_, _| if round % 3 == 0 { f64::from(random.next_u32() % 2) } else { random.random() },
        );
        let kernel = kernel::parse("gaussian(lengthscale=0.7)").unwrap();
        let gram = mercer::space::gram(&*kernel, &Points::new(&x));
        let problem = random_problem(&mut random, n);
        let want = enumerated(&gram, &problem);
        for tolerance in [1e-6, 1e-9] {
            let settings = BoxSettings { tolerance, ..BoxSettings::default() };
            let found = solve(&GramRows(&gram), &problem.as_ref(), &settings).unwrap();
            let size = want.abs().max(1e-3);
            assert!(
                (found.dual - want).abs() < 2.0 * tolerance * size + 1e-9,
                "{round}: {} for {want}, {problem:?}",
                found.dual
            );
            let gap = true_gap(&gram, &problem, &found.alpha, found.offset);
            let is_zero = want.abs() < 1e-12;
            assert!(
                found.converged && (is_zero || gap <= tolerance + 1e-12),
                "{round}: gap {gap}, said {}",
                found.relative_gap
            );
        }
    }
}

struct Sample {
    x: Matrix,
    gram: Matrix,
    curve: Vec<f64>,
    labels: Vec<f64>,
}

/// Rows of which every tenth repeats an earlier one with another target.
fn sample(n: usize, seed: u64) -> Sample {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let fresh = Matrix::from_fn(n, 3, |_, _| random.random::<f64>() * 2.0);
    let x = Matrix::from_fn(n, 3, |i, j| if i % 10 == 9 { fresh.get(i / 2, j) } else { fresh.get(i, j) });
    let kernel = kernel::parse("gaussian(lengthscale=0.8)").unwrap();
    let gram = mercer::space::gram(&*kernel, &Points::new(&x));
    let curve: Vec<f64> =
        (0..n).map(|i| (3.0 * x.get(i, 0)).sin() + x.get(i, 1) + 0.4 * (random.random::<f64>() - 0.5)).collect();
    let labels = curve.iter().map(|y| if *y > 1.0 { 1.0 } else { -1.0 }).collect();
    Sample { x, gram, curve, labels }
}

fn settings(tolerance: f64) -> BoxSettings<'static> {
    BoxSettings { tolerance, ..BoxSettings::default() }
}

#[test]
fn gaps_of_1e_minus_8_up_to_a_million() {
    let case = serde_json::json!({ "epsilon": 0.1, "threshold": 0.5 });
    for n in [150, 700] {
        let sample = sample(n, 3);
        for c in [1.0, 1e3, 1e6] {
            for loss in ["hinge", "epsilon-insensitive", "absolute", "huber", "squared-hinge"] {
                for has_offset in [true, false] {
                    let y = if loss.contains("hinge") { &sample.labels } else { &sample.curve };
                    let problem = of_loss(loss, y, c, &case, has_offset).unwrap();
                    let found = solve(&GramRows(&sample.gram), &problem.as_ref(), &settings(1e-8)).unwrap();
                    assert!(found.converged, "{loss} n {n} C {c} offset {has_offset}: gap {}", found.relative_gap);
                    // Plain sums lose digits to cancellation at the largest C; the gap is still there to see.
                    let gap = true_gap(&sample.gram, &problem, &found.alpha, found.offset);
                    assert!(gap <= 1e-8 + 1e-13 * c, "{loss} n {n} C {c} offset {has_offset}: gap {gap}");
                }
            }
        }
    }
}

#[test]
fn weight_2_is_the_row_twice() {
    let sample = sample(120, 5);
    let case = serde_json::json!({ "epsilon": 0.1 });
    for c in [1.0, 1e4] {
        let mut weighted = of_loss("epsilon-insensitive", &sample.curve, c, &case, true).unwrap();
        (0..30).for_each(|i| (weighted.lower[i], weighted.upper[i]) = (-2.0 * c, 2.0 * c));
        let once = solve(&GramRows(&sample.gram), &weighted.as_ref(), &settings(1e-9)).unwrap();
        let rows: Vec<usize> = (0..120).chain(0..30).collect();
        let y: Vec<f64> = rows.iter().map(|i| sample.curve[*i]).collect();
        let twice = of_loss("epsilon-insensitive", &y, c, &case, true).unwrap();
        let gram = Matrix::from_fn(150, 150, |i, j| sample.gram.get(rows[i], rows[j]));
        let twice = solve(&GramRows(&gram), &twice.as_ref(), &settings(1e-9)).unwrap();
        assert!(once.converged && twice.converged);
        assert!((once.primal / twice.primal - 1.0).abs() < 3e-9, "{} {}", once.primal, twice.primal);
    }
}

#[test]
fn where_rows_come_from_and_where_one_starts_do_not_matter() {
    let sample = sample(2500, 11);
    let case = serde_json::json!({ "epsilon": 0.1 });
    let kernel = kernel::parse("gaussian(lengthscale=0.8)").unwrap();
    let points = Points::new(&sample.x);
    for loss in ["epsilon-insensitive", "squared-epsilon-insensitive"] {
        let problem = of_loss(loss, &sample.curve, 10.0, &case, true).unwrap();
        let cold = solve(&GramRows(&sample.gram), &problem.as_ref(), &settings(1e-6)).unwrap();
        let close = |other: &BoxSolution, what: &str| {
            assert!(other.converged, "{loss}, {what}: {}", other.relative_gap);
            assert!(
                (other.primal / cold.primal - 1.0).abs() < 2e-6,
                "{loss}, {what}: {} {}",
                other.primal,
                cold.primal
            );
        };
        close(&cold, "cold");
        // Outside the box, off balance, and from the solution itself.
        let wild: Vec<f64> = (0..2500).map(|i| 100.0 * (i as f64).sin()).collect();
        for (start, what) in [(&wild, "wild"), (&cold.alpha, "the solution")] {
            let warm = BoxSettings { start: Some(start), ..settings(1e-6) };
            let found = solve(&GramRows(&sample.gram), &problem.as_ref(), &warm).unwrap();
            close(&found, what);
            assert!(
                what == "wild" || found.iterations <= cold.iterations / 2 + 1,
                "{} {}",
                found.iterations,
                cold.iterations
            );
        }
        let rows = KernelPoints::new(&*kernel, &points);
        close(&solve(&rows, &problem.as_ref(), &settings(1e-6)).unwrap(), "computed rows");
        // 300 kept rows in single precision.
        let little = BoxSettings { memory: 300 * 2500 * 4, ..settings(1e-4) };
        let found = solve(&rows, &problem.as_ref(), &little).unwrap();
        assert!(found.converged && (found.primal / cold.primal - 1.0).abs() < 1e-4);
    }
}

#[test]
fn threads_change_no_bit() {
    let sample = sample(1500, 13);
    let case = serde_json::json!({ "epsilon": 0.1 });
    let problem = of_loss("epsilon-insensitive", &sample.curve, 30.0, &case, true).unwrap();
    let kernel = kernel::parse("gaussian(lengthscale=0.8)").unwrap();
    let points = Points::new(&sample.x);
    for tolerance in [1e-4, 1e-8] {
        let with = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| {
                solve(&KernelPoints::new(&*kernel, &points), &problem.as_ref(), &settings(tolerance)).unwrap()
            })
        };
        assert_eq!(with(1), with(3));
    }
}

#[test]
fn many_sparse_features_give_the_same_gram() {
    // One-hot columns and a few numbers: the products' way; a wide one: the matrix product's.
    let mut random = ChaCha8Rng::seed_from_u64(17);
    let flags =
        Matrix::from_fn(200, 40, |_, j| if j < 36 { f64::from(random.next_u32() % 8 == 0) } else { random.random() });
    let dense = Matrix::from_fn(200, 20, |_, _| random.random());
    for x in [flags, dense] {
        let points = Points::new(&x);
        for spec in ["gaussian(lengthscale=2)", "matern12(lengthscale=2)", "matern52(lengthscale=2)"] {
            let kernel = kernel::parse(spec).unwrap();
            let gram = mercer::space::gram(&*kernel, &points);
            let rows = KernelPoints::new(&*kernel, &points);
            let alpha: Vec<f64> = (0..200).map(|i| if i % 3 == 0 { 0.0 } else { (i as f64).cos() }).collect();
            let product = mercer::solver::dual::KernelRows::product(&rows, &alpha);
            for i in 0..200 {
                let want: f64 = (0..200).map(|j| gram.get(i, j) * alpha[j]).sum();
                assert!((product[i] - want).abs() < 1e-11, "{spec}: {} for {want}", product[i]);
            }
        }
    }
}

#[test]
fn cancelling_and_bad_input() {
    let sample = sample(600, 19);
    let case = serde_json::json!({ "epsilon": 0.1 });
    let problem = of_loss("epsilon-insensitive", &sample.curve, 1e3, &case, true).unwrap();
    let asked = AtomicUsize::new(0);
    let stop = || asked.fetch_add(1, Ordering::Relaxed) < 3;
    let cancelled = BoxSettings { go_on: &stop, ..settings(1e-9) };
    assert_eq!(solve(&GramRows(&sample.gram), &problem.as_ref(), &cancelled), Err(Error::Interrupted));
    let refused = |change: &dyn Fn(&mut OwnedProblem)| {
        let mut wrong = problem.clone();
        change(&mut wrong);
        solve(&GramRows(&sample.gram), &wrong.as_ref(), &settings(1e-4)).unwrap_err().to_string()
    };
    assert_eq!(refused(&|p| p.target[3] = f64::NAN), "target of row 4 must be finite; got NaN");
    assert_eq!(refused(&|p| p.lower[0] = 0.5), "bounds of row 1 must be around 0; got 0.5 … 1000");
    assert_eq!(
        refused(&|p| p.upper[1] = f64::INFINITY),
        "bounds of row 2 must be finite where the curvature is 0; got -1000 … inf"
    );
    assert!(refused(&|p| p.epsilon.truncate(2)).contains("epsilon must have 600 numbers"));
}

#[test]
fn a_cap_ends_it_with_the_true_gap() {
    let sample = sample(600, 23);
    let case = serde_json::json!({ "epsilon": 0.01 });
    let problem = of_loss("epsilon-insensitive", &sample.curve, 1e5, &case, true).unwrap();
    // No memory for an interior point, and two working sets.
    let short = BoxSettings { max_iterations: 2, memory: 1000, ..settings(1e-9) };
    let found = solve(&GramRows(&sample.gram), &problem.as_ref(), &short).unwrap();
    assert!(!found.converged);
    let gap = true_gap(&sample.gram, &problem, &found.alpha, found.offset);
    assert!((gap / found.relative_gap - 1.0).abs() < 1e-6, "{gap} {}", found.relative_gap);
}
