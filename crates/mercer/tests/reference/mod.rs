//! What several tests need: reference files, and random numbers that are the same everywhere.

// Every test takes its own part of it.
#![allow(dead_code)]

use mercer::Matrix;
use mercer::linear::MarginLoss;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
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
