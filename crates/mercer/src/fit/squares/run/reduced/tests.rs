//! Answers on landmarks beside the same problem solved in twice the precision: the digits that are claimed are there.

use super::*;
use crate::fit::Fit;
use crate::model::Expansion;
use crate::space::low_rank::Landmarks;
use crate::term::kernel::{Point, parse};

/// Rows around a few centres: landmarks that are means of clusters lie close to each other.
fn clusters(rows: usize) -> (Matrix, Vec<f64>) {
    let number = |i: usize, j: usize| ((i * 7919 + j * 104_729 + (i * j) % 613) % 10_007) as f64 / 10_007.0 - 0.5;
    let x = Matrix::from_fn(rows, 3, |i, j| 2.0 * libm::sin((i % 5) as f64 * 1.3 + 2.1 * j as f64) + number(i, j));
    let y = (0..rows)
        .map(|i| 5.0 + 2.0 * libm::sin(3.0 * x.get(i, 0)) + libm::cos(2.0 * x.get(i, 1) * x.get(i, 2)) + number(i, 9))
        .collect();
    (x, y)
}

/// The normal equations (K_cᵀK_c + γK_mm)β = K_cᵀy in twice the precision, kernel values taken as they are.
struct Oracle {
    square: Vec<Vec<Double>>,
    right: Vec<Double>,
    own: Matrix,
    means: Vec<Double>,
    mean_target: Double,
}

impl Oracle {
    fn new(kernel: &dyn Kernel, landmarks: &Points, points: &Points, y: &[f64]) -> Self {
        let (n, rank) = (points.rows(), landmarks.rows());
        let values = space::cross(kernel, landmarks, points);
        let divisor = Double::new(n as f64);
        let mean = |numbers: &[f64]| double::sum(numbers.iter().copied()).normalised().divided_by(divisor);
        let means: Vec<Double> = (0..rank).map(|j| mean(values.col(j))).collect();
        let mean_target = mean(y);
        let entry = |a: &[f64], b: &[f64], mean_a: Double, mean_b: Double| {
            double::dot(a, b).normalised().minus(mean_a.times(mean_b).scaled(n as f64)).normalised()
        };
        let square = (0..rank)
            .map(|j| (0..=j).map(|k| entry(values.col(j), values.col(k), means[j], means[k])).collect())
            .collect();
        let right = (0..rank).map(|j| entry(values.col(j), y, means[j], mean_target)).collect();
        Oracle { square, right, own: space::gram(kernel, landmarks), means, mean_target }
    }

    /// β, b and ‖f‖², by LDLᵀ.
    fn solve(&self, gamma: f64) -> (Vec<Double>, Double, f64) {
        let rank = self.right.len();
        let mut lower: Vec<Vec<Double>> = Vec::with_capacity(rank);
        let mut pivots: Vec<Double> = Vec::with_capacity(rank);
        for i in 0..rank {
            let mut row: Vec<Double> = Vec::with_capacity(i);
            for j in 0..=i {
                let mut left = self.square[i][j].plus(Double::new(self.own.get(i, j)).scaled(gamma)).normalised();
                for k in 0..j {
                    let other = if j < i { lower[j][k] } else { row[k] };
                    left = left.minus(row[k].times(pivots[k]).times(other)).normalised();
                }
                if j < i {
                    row.push(left.divided_by(pivots[j]));
                } else {
                    pivots.push(left);
                }
            }
            lower.push(row);
        }
        let mut beta = self.right.clone();
        for i in 0..rank {
            for k in 0..i {
                beta[i] = beta[i].minus(lower[i][k].times(beta[k])).normalised();
            }
        }
        beta.iter_mut().zip(&pivots).for_each(|(b, pivot)| *b = b.divided_by(*pivot));
        for i in (0..rank).rev() {
            for k in i + 1..rank {
                beta[i] = beta[i].minus(lower[k][i].times(beta[k])).normalised();
            }
        }
        let along = |weights: &[Double]| {
            weights.iter().zip(&beta).fold(Double::default(), |sum, (w, b)| sum.plus(w.times(*b)).normalised())
        };
        let offset = self.mean_target.minus(along(&self.means)).normalised();
        let image: Vec<Double> = (0..rank)
            .map(|i| {
                (0..rank).fold(Double::default(), |sum, j| sum.plus(beta[j].scaled(self.own.get(i, j))).normalised())
            })
            .collect();
        let square = along(&image).value();
        (beta, offset, square)
    }

    /// The solution of the m-power problem, m > 1: log μ by secants.
    fn minimum(&self, rows: usize, exponent: f64, lambda: f64) -> (Vec<Double>, Double) {
        let height = |t: f64| {
            let (beta, offset, square) = self.solve(libm::exp(t) * rows as f64);
            let h = t - libm::log(lambda * exponent / 2.0) + (1.0 - exponent / 2.0) * libm::log(square);
            (h, beta, offset)
        };
        let (mut before, mut t) = (libm::log(lambda), libm::log(lambda) + 0.1);
        let mut known = height(before).0;
        loop {
            let (h, beta, offset) = height(t);
            if exponent == 2.0 || h.abs() < 4e-15 * (1.0 + t.abs()) || t == before || h == known {
                return if exponent == 2.0 {
                    (height(libm::log(lambda)).1, height(libm::log(lambda)).2)
                } else {
                    (beta, offset)
                };
            }
            let next = t - h * (t - before) / (h - known);
            (before, known, t) = (t, h, next);
        }
    }
}

#[test]
fn digits_hold_for_centres_of_clusters_and_broad_kernels() {
    let (x, y) = clusters(1100);
    let points = Points::new(&x);
    let mean = y.iter().sum::<f64>() / y.len() as f64;
    let spread = (y.iter().map(|v| (v - mean) * (v - mean)).sum::<f64>() / y.len() as f64).sqrt();
    let new = Matrix::from_fn(100, 3, |i, j| x.get(7 * i, j) + 0.3 * libm::sin((i + 3 * j) as f64));
    let mut fewest = f64::INFINITY;
    for spec in ["gaussian(lengthscale=6)", "gaussian(lengthscale=1.5)", "matern52(lengthscale=4)"] {
        let kernel = parse(spec).unwrap();
        for (exponent, lambda) in [(2.0, 1e-9), (2.0, 1e-5), (2.5, 1e-11), (1.5, 1e-6), (3.0, 1e-9)] {
            let fit = Fit::with_shared(kernel.clone()).exponent(exponent).lambda(lambda).rank(90);
            let fitted = fit.landmarks_by(Landmarks::Centres).fit(&x, &y).unwrap();
            let Expansion::Kernel { points: landmarks, .. } = &fitted.model.expansion else { panic!("no landmarks") };
            let oracle = Oracle::new(&*kernel, landmarks, &points, &y);
            let (beta, offset) = oracle.minimum(x.rows(), exponent, lambda);
            let exact = |at: Point<'_>| {
                let mut values = vec![0.0; landmarks.rows()];
                kernel.values(at, landmarks, 0, &mut values);
                values.iter().zip(&beta).fold(offset, |sum, (k, b)| sum.plus(b.scaled(*k)).normalised()).value()
            };
            let mut worst = 0.0_f64;
            for rows in [&x, &new] {
                let predicted = fitted.model.predict(rows).unwrap();
                let at = Points::new(rows);
                for i in 0..rows.rows() {
                    worst = worst.max((predicted.get(i, 0) - at.with_point(i, exact)).abs() / spread);
                }
            }
            let digits = fitted.summary().certificate.digits;
            println!("{spec}, m {exponent}, λ {lambda:.0e}: {digits} claimed, {:.1} there", -libm::log10(worst));
            assert!(
                worst <= libm::pow(10.0, -digits),
                "{spec} m {exponent} λ {lambda}: {digits} claimed, off by {worst:e}"
            );
            fewest = fewest.min(digits);
        }
    }
    assert!(fewest >= 3.0, "only {fewest} digits are claimed");
}
