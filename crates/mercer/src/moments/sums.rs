//! Sums over the rows of one fold, each kept as a number and what rounding left of it.

use crate::linalg::{Matrix, lower_square_of_rows, multiply_by_transposed};

/// Σw, Σwφ, Σwφφᵀ (lower triangle), Σwφyᵀ, Σwy, Σwy² around the pilot's means.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Sums {
    pub rows: u64,
    weight: Split,
    /// Σ w k(x, x).
    height: Split,
    features: Split,
    gram: Split,
    cross: Split,
    targets: Split,
    squares: Split,
    width: usize,
}

/// Numbers and the rest that belongs to them.
#[derive(Debug, Clone, PartialEq)]
struct Split {
    high: Vec<f64>,
    low: Vec<f64>,
}

impl Split {
    fn zeros(length: usize) -> Self {
        Split { high: vec![0.0; length], low: vec![0.0; length] }
    }

    fn add(&mut self, values: &[f64]) {
        for ((high, low), value) in self.high.iter_mut().zip(&mut self.low).zip(values) {
            let sum = *high + value;
            let part = sum - *high;
            *low += (*high - (sum - part)) + (value - part);
            *high = sum;
        }
    }

    fn merge(&mut self, other: &Split) {
        self.add(&other.high);
        self.add(&other.low);
    }

    fn values(&self) -> Vec<f64> {
        self.high.iter().zip(&self.low).map(|(high, low)| high + low).collect()
    }
}

/// The sums as plain numbers.
#[derive(Debug, Clone)]
pub(super) struct Totals {
    pub weight: f64,
    pub height: f64,
    pub features: Vec<f64>,
    /// Lower triangle.
    pub gram: Matrix,
    /// Features × targets.
    pub cross: Matrix,
    pub targets: Vec<f64>,
    pub squares: Vec<f64>,
}

impl Sums {
    pub fn new(width: usize, targets: usize) -> Self {
        Sums {
            rows: 0,
            weight: Split::zeros(1),
            height: Split::zeros(1),
            features: Split::zeros(width),
            gram: Split::zeros(width * width),
            cross: Split::zeros(width * targets),
            targets: Split::zeros(targets),
            squares: Split::zeros(targets),
            width,
        }
    }

    /// Adds rows, given √w(φ − pilot) and √w(y − pilot) as columns, √w, and Σ w k(x, x).
    pub fn add_block(&mut self, features: &Matrix, values: &Matrix, roots: &[f64], height: f64) {
        self.rows += roots.len() as u64;
        self.weight.add(&[roots.iter().map(|s| s * s).sum()]);
        self.height.add(&[height]);
        let root = Matrix::from_columns(1, roots.len(), roots.to_vec()).unwrap_or_default();
        self.features.add(multiply_by_transposed(features, &root).as_slice());
        self.gram.add(lower_square_of_rows(features).as_slice());
        self.cross.add(multiply_by_transposed(features, values).as_slice());
        self.targets.add(multiply_by_transposed(values, &root).as_slice());
        let squares: Vec<f64> =
            (0..values.rows()).map(|t| (0..roots.len()).map(|i| values.get(t, i) * values.get(t, i)).sum()).collect();
        self.squares.add(&squares);
    }

    pub fn merge(&mut self, other: &Sums) {
        self.rows += other.rows;
        self.weight.merge(&other.weight);
        self.height.merge(&other.height);
        self.features.merge(&other.features);
        self.gram.merge(&other.gram);
        self.cross.merge(&other.cross);
        self.targets.merge(&other.targets);
        self.squares.merge(&other.squares);
    }

    pub fn totals(&self) -> Totals {
        let matrix = |split: &Split, rows: usize| {
            let cols = split.high.len() / rows.max(1);
            Matrix::from_columns(rows, cols, split.values()).unwrap_or_default()
        };
        Totals {
            weight: self.weight.values()[0],
            height: self.height.values()[0],
            features: self.features.values(),
            gram: matrix(&self.gram, self.width),
            cross: matrix(&self.cross, self.width),
            targets: self.targets.values(),
            squares: self.squares.values(),
        }
    }

    /// All numbers in one fixed order.
    pub fn numbers(&self) -> Vec<f64> {
        let mut out = vec![self.rows as f64];
        for split in [&self.weight, &self.height, &self.features, &self.gram, &self.cross, &self.targets, &self.squares]
        {
            out.extend_from_slice(&split.high);
            out.extend_from_slice(&split.low);
        }
        out
    }

    /// How many numbers there are.
    pub fn length(width: usize, targets: usize) -> Option<usize> {
        let square = width.checked_mul(width)?;
        let all = width.checked_add(square)?.checked_add(width.checked_mul(targets)?)?.checked_add(2 * targets)?;
        all.checked_mul(2)?.checked_add(5)
    }

    /// Back from [`numbers`](Self::numbers); `None` where their count differs.
    pub fn from_numbers(width: usize, targets: usize, numbers: &[f64]) -> Option<Self> {
        if Some(numbers.len()) != Sums::length(width, targets) {
            return None;
        }
        let mut sums = Sums::new(width, targets);
        sums.rows = numbers[0] as u64;
        let mut rest = &numbers[1..];
        for split in [
            &mut sums.weight,
            &mut sums.height,
            &mut sums.features,
            &mut sums.gram,
            &mut sums.cross,
            &mut sums.targets,
            &mut sums.squares,
        ] {
            for part in [&mut split.high, &mut split.low] {
                let (own, more) = rest.split_at(part.len());
                part.copy_from_slice(own);
                rest = more;
            }
        }
        Some(sums)
    }
}
