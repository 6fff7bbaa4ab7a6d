//! What several tests need: reference files, and random numbers that are the same everywhere.

// Every test takes its own part of it.
#![allow(dead_code)]

use mercer::Matrix;
use mercer::data::{Column, Frame};
use mercer::linear::MarginLoss;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use rand_distr::{Distribution, StandardNormal};
use serde_json::Value;

/// Every loss that linear solvers know.
pub const ALL_LOSSES: [MarginLoss; 7] = [
    MarginLoss::Logistic,
    MarginLoss::Hinge,
    MarginLoss::SquaredHinge,
    MarginLoss::EpsilonInsensitive(0.2),
    MarginLoss::SquaredEpsilonInsensitive(0.2),
    MarginLoss::Huber(0.5),
    MarginLoss::Pinball(0.7),
];

/// A file of tests/golden.
pub fn load(name: &str) -> Value {
    let path = format!("{}/tests/golden/{name}.json", env!("CARGO_MANIFEST_DIR"));
    serde_json::from_str(&std::fs::read_to_string(path).expect("golden file")).expect("JSON")
}

pub fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().expect("a list").iter().map(|x| x.as_f64().expect("a number")).collect()
}

pub fn matrix(value: &Value) -> Matrix {
    let rows: Vec<Vec<f64>> = value.as_array().expect("rows").iter().map(numbers).collect();
    Matrix::from_rows(&rows).expect("a matrix")
}

/// Columns x1, x2, … and y = value + `noise` · standard normal: `friedman1`, ten features of which five are of no use, or
/// `sinc`, one feature.
pub fn generated(name: &str, rows: usize, noise: f64, seed: u64) -> Frame {
    let mut random = Random::new(seed);
    let is_sinc = name == "sinc";
    let mut columns = vec![Vec::with_capacity(rows); if is_sinc { 2 } else { 11 }];
    let last = columns.len() - 1;
    for _ in 0..rows {
        let uniform = (0..last).map(|_| random.uniform());
        let x: Vec<f64> = if is_sinc { uniform.map(|v| 20.0 * v - 10.0).collect() } else { uniform.collect() };
        let value = match is_sinc {
            true if x[0] == 0.0 => 1.0,
            true => libm::sin(x[0]) / x[0],
            false => {
                10.0 * libm::sin(std::f64::consts::PI * x[0] * x[1])
                    + 20.0 * (x[2] - 0.5) * (x[2] - 0.5)
                    + 10.0 * x[3]
                    + 5.0 * x[4]
            }
        };
        let error: f64 = StandardNormal.sample(&mut random.0);
        columns.iter_mut().zip(x.into_iter().chain([value + noise * error])).for_each(|(column, v)| column.push(v));
    }
    let mut frame = Frame::new(rows);
    for (j, column) in columns.into_iter().enumerate() {
        let name = if j == last { "y".to_owned() } else { format!("x{}", j + 1) };
        frame.push(name, Column::Number(column)).unwrap();
    }
    frame
}

pub struct Random(ChaCha8Rng);

impl Random {
    pub fn new(seed: u64) -> Self {
        Random(ChaCha8Rng::seed_from_u64(seed))
    }
    pub fn uniform(&mut self) -> f64 {
        (self.0.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }
    pub fn normal(&mut self) -> f64 {
        (-2.0 * (1.0 - self.uniform()).ln()).sqrt() * (std::f64::consts::TAU * self.uniform()).cos()
    }
    pub fn below(&mut self, n: usize) -> usize {
        (self.0.next_u64() % n as u64) as usize
    }
    pub fn matrix(&mut self, rows: usize, cols: usize) -> Matrix {
        Matrix::from_fn(rows, cols, |_, _| self.normal())
    }
    pub fn vector(&mut self, n: usize) -> Vec<f64> {
        (0..n).map(|_| self.normal()).collect()
    }
}
