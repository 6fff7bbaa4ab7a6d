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

/// The sums of a block of rows, as products give them.
pub(super) struct BlockSums {
    rows: u64,
    weight: f64,
    height: f64,
    features: Matrix,
    gram: Matrix,
    cross: Matrix,
    targets: Matrix,
    squares: Vec<f64>,
    /// The largest k(x, x).
    pub largest_height: f64,
}

impl BlockSums {
    /// Of rows given as √w(φ − pilot) and √w(y − pilot) in columns, √w, and k(x, x).
    pub fn new(features: &Matrix, values: &Matrix, roots: &[f64], heights: &[f64]) -> Self {
        let root = Matrix::from_columns(1, roots.len(), roots.to_vec()).unwrap_or_default();
        let square = |t: usize| (0..roots.len()).map(|i| values.get(t, i) * values.get(t, i)).sum();
        BlockSums {
            rows: roots.len() as u64,
            weight: roots.iter().map(|s| s * s).sum(),
            height: heights.iter().zip(roots).map(|(k, s)| k * s * s).sum(),
            features: multiply_by_transposed(features, &root),
            gram: lower_square_of_rows(features),
            cross: multiply_by_transposed(features, values),
            targets: multiply_by_transposed(values, &root),
            squares: (0..values.rows()).map(square).collect(),
            largest_height: heights.iter().fold(0.0, |max: f64, k| max.max(*k)),
        }
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

    /// Adds the sums of some rows.
    pub fn add(&mut self, block: &BlockSums) {
        self.rows += block.rows;
        self.weight.add(&[block.weight]);
        self.height.add(&[block.height]);
        self.features.add(block.features.as_slice());
        self.gram.add(block.gram.as_slice());
        self.cross.add(block.cross.as_slice());
        self.targets.add(block.targets.as_slice());
        self.squares.add(&block.squares);
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
