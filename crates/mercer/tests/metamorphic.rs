//! Answers that must agree with each other whatever they are: 2,000 random problems (TRUST B8).

use mercer::loss;
use mercer::penalty::Gamma;
use mercer::penalty::Penalty;
use mercer::prelude::*;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

struct Problem {
    x: Matrix,
    y: Vec<f64>,
    lambda: f64,
    exponent: f64,
    offset: bool,
    random: ChaCha8Rng,
}

impl Problem {
    fn draw(seed: u64) -> Self {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let mut unit = || f64::from(random.next_u32()) / f64::from(u32::MAX);
        let n = 6 + (unit() * 20.0) as usize;
        let p = 1 + (unit() * 3.0) as usize;
        let x = Matrix::from_fn(n, p, |_, _| 3.0 * unit());
        let y = (0..n).map(|i| (2.0 * x.get(i, 0)).sin() + unit()).collect();
        let lambda = 10f64.powf(-4.0 + 4.0 * unit());
        let exponent = [1.2, 1.5, 2.0, 3.0][(unit() * 3.99) as usize];
        let offset = unit() < 0.5;
        Problem { x, y, lambda, exponent, offset, random }
    }

    fn fit(&self) -> Fit {
        let fit = Fit::new(Gaussian::lengthscale(1.0)).exponent(self.exponent).lambda(self.lambda);
        if self.offset { fit } else { fit.without_offset() }
    }

    fn learn(&self, spec: &str) -> Fit {
        let learn = Fit::new(Gaussian::lengthscale(1.0)).loss(loss::parse(spec).unwrap());
        let learn = learn.exponent(self.exponent).lambda(self.lambda).tolerance(1e-8);
        if self.offset { learn } else { learn.without_offset() }
    }

    fn order(&mut self) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.y.len()).collect();
        for i in (1..order.len()).rev() {
            order.swap(i, self.random.next_u32() as usize % (i + 1));
        }
        order
    }
}

fn rows(x: &Matrix, order: &[usize]) -> Matrix {
    Matrix::from_fn(order.len(), x.cols(), |i, j| x.get(order[i], j))
}

fn pick(y: &[f64], order: &[usize]) -> Vec<f64> {
    order.iter().map(|i| y[*i]).collect()
}

fn differ(a: &Matrix, b: &Matrix) -> f64 {
    let size = a.max_abs().max(f64::MIN_POSITIVE);
    a.as_slice().iter().zip(b.as_slice()).fold(0.0, |max: f64, (a, b)| max.max((a - b).abs())) / size
}

/// y·2ᵏ with λ·2^(k(2−m)) is the same problem: at m = 2 the answer has the same bits but for its exponent.
#[test]
fn targets_times_powers_of_two() {
    for seed in 0..400 {
        let problem = Problem::draw(seed);
        let k = (seed % 41) as i32 - 20;
        let scaled: Vec<f64> = problem.y.iter().map(|y| y * 2f64.powi(k)).collect();
        let plain = problem.fit().fit(&problem.x, &problem.y).unwrap().model.predict(&problem.x).unwrap();
        let lambda = problem.lambda * 2f64.powf(f64::from(k) * (2.0 - problem.exponent));
        let other = problem.fit().lambda(lambda).fit(&problem.x, &scaled).unwrap().model.predict(&problem.x).unwrap();
        let back = Matrix::from_fn(other.rows(), 1, |i, _| other.get(i, 0) / 2f64.powi(k));
        if problem.exponent == 2.0 {
            assert_eq!(plain, back, "seed {seed}");
        } else {
            assert!(differ(&plain, &back) < 1e-11, "seed {seed}: {}", differ(&plain, &back));
        }
    }
}

#[test]
fn the_order_of_rows() {
    for seed in 400..800 {
        let mut problem = Problem::draw(seed);
        let order = problem.order();
        let a = problem.fit().fit(&problem.x, &problem.y).unwrap();
        let b = problem.fit().fit(&rows(&problem.x, &order), &pick(&problem.y, &order)).unwrap();
        let (p, q) = (a.model.predict(&problem.x).unwrap(), b.model.predict(&problem.x).unwrap());
        // As far as the certificate itself vouches for digits.
        let allowed = 1e-12f64.max(10f64.powf(-a.summary().certificate.digits));
        assert!(differ(&p, &q) <= allowed, "seed {seed}: {} {allowed}", differ(&p, &q));
    }
}

#[test]
fn a_row_twice_is_weight_two() {
    for seed in 800..1200 {
        let problem = Problem::draw(seed);
        let n = problem.y.len();
        let order: Vec<usize> = (0..n).flat_map(|i| vec![i; 1 + i % 2]).collect();
        let weights: Vec<f64> = (0..n).map(|i| 1.0 + (i % 2) as f64).collect();
        let y = Matrix::column_vector(problem.y.clone());
        let a = problem.fit().fit_weighted(&problem.x, &y, Some(&weights)).unwrap();
        let b = problem.fit().fit(&rows(&problem.x, &order), &pick(&problem.y, &order)).unwrap();
        let (p, q) = (a.summary().objective, b.summary().objective);
        assert!((p - q).abs() <= 1e-9 * p, "seed {seed}: {p} {q}");
    }
}

/// Kernel ridge with a linear kernel in its features, in its kernel matrix, and as Tikhonov's problem with Γ = I.
#[test]
fn primal_is_dual_is_tikhonov() {
    for seed in 1200..1600 {
        let problem = Problem::draw(seed);
        let x = &problem.x;
        let n = x.rows();
        let gram = Matrix::from_fn(n, n, |i, j| (0..x.cols()).map(|k| x.get(i, k) * x.get(j, k)).sum());
        let offset = |fit: Fit| if problem.offset { fit } else { fit.without_offset() };
        let fit =
            |kernel: &str| offset(Fit::with_shared(mercer::kernel::parse(kernel).unwrap()).lambda(problem.lambda));
        let primal = fit("linear").fit(x, &problem.y).unwrap();
        let dual = fit("precomputed").fit(&gram, &problem.y).unwrap();
        let mut linear = Fit::linear().penalty(Penalty::Tikhonov { gamma: Gamma::Identity }).lambda(problem.lambda);
        if !problem.offset {
            linear = linear.without_offset();
        }
        let tikhonov = linear.fit(x, &problem.y).unwrap();
        let values = primal.model.predict(x).unwrap();
        assert!(differ(&values, &dual.model.predict(&gram).unwrap()) < 1e-9, "seed {seed}");
        assert!(differ(&values, &tikhonov.model.predict(x).unwrap()) < 1e-10, "seed {seed}");
    }
}

/// Other losses: row order, rows twice and powers of two, by their objectives (which is what the gap is about).
#[test]
fn other_losses_keep_the_same_laws() {
    const LOSSES: [&str; 5] = [
        "absolute",
        "huber(threshold=0.25)",
        "epsilon-insensitive(epsilon=0.125)",
        "squared-epsilon-insensitive(epsilon=0.125)",
        "pinball(quantile=0.75)",
    ];
    for seed in 1600..2000 {
        let mut problem = Problem::draw(seed);
        let spec = LOSSES[seed as usize % LOSSES.len()];
        let n = problem.y.len();
        let order = problem.order();
        let learn = problem.learn(spec);
        let plain = learn.fit(&problem.x, &problem.y).unwrap();
        let summary = plain.summary();
        assert!(summary.certificate.holds, "seed {seed} {spec}: {:?}", summary.certificate);
        let other = match seed % 2 {
            0 => learn.fit(&rows(&problem.x, &order), &pick(&problem.y, &order)).unwrap(),
            _ => {
                let twice: Vec<usize> = (0..n).chain(0..n).collect();
                learn.fit(&rows(&problem.x, &twice), &pick(&problem.y, &twice)).unwrap()
            }
        };
        let (p, q) = (summary.objective, other.summary().objective);
        assert!((p - q).abs() <= 3e-8 * p, "seed {seed} {spec}: {p} {q}");
    }
}
