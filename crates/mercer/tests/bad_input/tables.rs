//! Tables without anything wrong with them, to be changed.

use mercer::data::Column;
use mercer::prelude::*;

#[derive(Clone)]
pub struct Data {
    pub x: Matrix,
    pub y: Matrix,
    pub weights: Option<Vec<f64>>,
}

/// n rows of p features without anything wrong with them.
pub fn smooth(n: usize, p: usize) -> Data {
    // Weyl sequences: spread out, and the same everywhere.
    let x = Matrix::from_fn(n, p, |i, j| (0.618_033_988_75 * (i + 1) as f64 * (1.0 + 0.37 * j as f64)).fract());
    let y = (0..n).map(|i| (0..p.min(3)).map(|j| (3.0 * x.get(i, j)).sin()).sum::<f64>()).collect();
    Data { x, y: Matrix::column_vector(y), weights: None }
}

impl Data {
    pub fn x(mut self, change: impl Fn(usize, usize, f64) -> f64) -> Self {
        self.x = Matrix::from_fn(self.x.rows(), self.x.cols(), |i, j| change(i, j, self.x.get(i, j)));
        self
    }

    pub fn y(mut self, change: impl Fn(usize, f64) -> f64) -> Self {
        self.y = Matrix::from_fn(self.y.rows(), self.y.cols(), |i, j| change(i, self.y.get(i, j)));
        self
    }

    pub fn weights(mut self, weight: impl Fn(usize) -> f64) -> Self {
        self.weights = Some((0..self.x.rows()).map(weight).collect());
        self
    }
}

pub fn frame(x: &Matrix) -> Frame {
    let mut frame = Frame::new(x.rows());
    for j in 0..x.cols() {
        frame.push(format!("x{}", j + 1), Column::Number(x.col(j).to_vec())).unwrap();
    }
    frame
}

/// Rows that are not in training: between two rows, beyond one, at the origin, far out.
pub fn new_rows(x: &Matrix) -> Vec<Frame> {
    if x.rows() == 0 {
        return Vec::new();
    }
    let last = x.rows() - 1;
    let row = |value: &dyn Fn(usize) -> f64| frame(&Matrix::from_fn(1, x.cols(), |_, j| value(j)));
    vec![
        row(&|j| x.get(0, j) / 2.0 + x.get(last, j) / 2.0),
        row(&|j| 1.5 * x.get(0, j)),
        row(&|_| 0.0),
        row(&|j| x.get(0, j) + 1e6),
    ]
}

pub fn texts(cells: &[Option<&str>]) -> Column {
    Column::Text(cells.iter().map(|cell| cell.map(str::to_owned)).collect())
}

/// Ten rows: numbers a and b, text c, weights w, target y.
pub fn named() -> Frame {
    let mut table = Frame::new(10);
    let wave = |k: f64| Column::Number((0..10).map(|i| (i as f64 * k).sin()).collect());
    table.push("a", wave(0.7)).unwrap();
    table.push("b", wave(1.9)).unwrap();
    table.push("c", texts(&["p", "q", "r", "p", "q", "p", "r", "r", "p", "q"].map(Some))).unwrap();
    table.push("w", Column::Number((0..10).map(|i| 1.0 + (i % 3) as f64).collect())).unwrap();
    table.push("y", wave(0.5)).unwrap();
    table
}

pub fn with(name: &str, column: Column) -> Frame {
    let mut table = Frame::new(10);
    let base = named();
    let mut column = Some(column);
    for (known, old) in base.iter() {
        let cells = if known == name { column.take().unwrap() } else { old.clone() };
        table.push(known, cells).unwrap();
    }
    if let Some(column) = column {
        table.push(name, column).unwrap();
    }
    table
}

pub fn strings(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}
