//! Kx without K: tiles of the lower triangle, each used for its own place and for its mirror image.
//!
//! Tiles are kept as long as there is room for them and computed afresh otherwise. Rows are cut into a constant number of
//! shares with sums of their own, added in order, so that the result does not depend on the number of threads.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use rayon::prelude::*;

use crate::base::error::{Error, Result};
use crate::linalg::Matrix;
use crate::linalg::simd::{LANES, vectorize};
use crate::solve::dual::KernelPoints;
use crate::term::kernel::{Kernel, Points};

/// Rows and columns of a tile.
const SIDE: usize = 256;
/// Shares of the work, each with sums of its own.
const SHARES: usize = 8;

/// K, half of it in memory as far as there is room.
pub(crate) struct KernelTiles<'a> {
    values: KernelPoints<'a>,
    rows: usize,
    /// A strip of tiles per block of rows, up to the diagonal; those for which there is room.
    kept: Vec<OnceLock<Vec<f64>>>,
}

impl<'a> KernelTiles<'a> {
    /// `memory` is what kept tiles may take, in bytes.
    pub fn new(kernel: &'a dyn Kernel, points: &'a Points, memory: u64) -> Self {
        let rows = points.rows();
        let mut room = memory;
        let mut kept = Vec::new();
        for block in 0..rows.div_ceil(SIDE) {
            let (start, end) = (block * SIDE, ((block + 1) * SIDE).min(rows));
            let bytes = 8 * (end - start) as u64 * end as u64;
            if bytes > room {
                break;
            }
            room -= bytes;
            kept.push(OnceLock::new());
        }
        KernelTiles { values: KernelPoints::new(kernel, points), rows, kept }
    }

    /// K x for the columns of x.
    pub fn multiply(&self, x: &Matrix, go_on: &(dyn Fn() -> bool + Sync)) -> Result<Matrix> {
        let is_stopped = AtomicBool::new(false);
        let parts: Vec<Matrix> = (0..SHARES)
            .into_par_iter()
            .map(|share| {
                let mut sums = Matrix::zeros(self.rows, x.cols());
                let mut buffer = Vec::new();
                for block in (share..self.rows.div_ceil(SIDE)).step_by(SHARES) {
                    if is_stopped.load(Ordering::Relaxed) || !go_on() {
                        is_stopped.store(true, Ordering::Relaxed);
                        break;
                    }
                    self.add_block(block, x, &mut sums, &mut buffer);
                }
                sums
            })
            .collect();
        if is_stopped.into_inner() {
            return Err(Error::Interrupted);
        }
        let mut out = Matrix::zeros(self.rows, x.cols());
        for part in &parts {
            out.as_mut_slice().iter_mut().zip(part.as_slice()).for_each(|(sum, part)| *sum += part);
        }
        Ok(out)
    }

    /// A strip of tiles: those left of the diagonal count twice.
    fn add_block(&self, block: usize, x: &Matrix, sums: &mut Matrix, buffer: &mut Vec<f64>) {
        let (start, end) = (block * SIDE, ((block + 1) * SIDE).min(self.rows));
        let strip = self.kept.get(block).map(|kept| kept.get_or_init(|| self.strip(start, end)));
        let height = end - start;
        for column in (0..end).step_by(SIDE) {
            let width = SIDE.min(end - column);
            let tile = match strip {
                Some(strip) => &strip[column * height..column * height + width * height],
                None => {
                    buffer.resize(width * height, 0.0);
                    self.fill(start, end, column, width, buffer);
                    &buffer[..width * height]
                }
            };
            for t in 0..x.cols() {
                let (before, own) = sums.col_mut(t).split_at_mut(start);
                let (near, far) = (&x.col(t)[start..end], &x.col(t)[column..column + width]);
                if column == start {
                    add_rows(tile, far, &mut own[..height]);
                } else {
                    add_both(tile, near, far, &mut own[..height], &mut before[column..column + width]);
                }
            }
        }
    }

    /// All tiles of a block of rows, one after the other.
    fn strip(&self, start: usize, end: usize) -> Vec<f64> {
        let mut out = vec![0.0; (end - start) * end];
        for column in (0..end).step_by(SIDE) {
            let width = SIDE.min(end - column);
            let from = column * (end - start);
            self.fill(start, end, column, width, &mut out[from..from + width * (end - start)]);
        }
        out
    }

    fn fill(&self, start: usize, end: usize, column: usize, width: usize, out: &mut [f64]) {
        let rows: Vec<usize> = (start..end).collect();
        self.values.tile(&rows, column, width, out);
    }
}

/// y += Tᵀx, with one column of T per entry of y.
fn add_rows(tile: &[f64], x: &[f64], y: &mut [f64]) {
    vectorize(
        #[inline(always)]
        || {
            for (column, y) in tile.chunks_exact(x.len()).zip(y) {
                *y += column.iter().zip(x).map(|(k, x)| k * x).sum::<f64>();
            }
        },
    );
}

/// own += Tᵀ far and other += T near, in one pass over the tile.
fn add_both(tile: &[f64], near: &[f64], far: &[f64], own: &mut [f64], other: &mut [f64]) {
    let width = far.len();
    vectorize(
        #[inline(always)]
        || {
            let whole = width - width % LANES;
            for ((column, near), own) in tile.chunks_exact(width).zip(near).zip(own) {
                let mut lanes = [0.0; LANES];
                let blocks = column[..whole].chunks_exact(LANES).zip(far[..whole].chunks_exact(LANES));
                for ((k, x), y) in blocks.zip(other[..whole].chunks_exact_mut(LANES)) {
                    for l in 0..LANES {
                        lanes[l] += k[l] * x[l];
                        y[l] += k[l] * near;
                    }
                }
                let mut sum: f64 = lanes.iter().sum();
                for i in whole..width {
                    sum += column[i] * far[i];
                    other[i] += column[i] * near;
                }
                *own += sum;
            }
        },
    );
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::multiply;
    use crate::space;
    use crate::term::kernel::parse;

    #[test]
    fn products_are_those_of_the_whole_matrix_however_many_tiles_are_kept() {
        for (rows, features) in [(1, 1), (255, 2), (700, 3), (600, 20)] {
            let x = Matrix::from_fn(rows, features, |i, j| ((i * 7919 + j * 104_729) % 1009) as f64 / 500.0);
            let points = Points::new(&x);
            let kernel = parse("gaussian(lengthscale=1.3)").unwrap();
            let v = Matrix::from_fn(rows, 2, |i, t| ((i * 31 + t * 17) % 13) as f64 - 6.0);
            let wanted = multiply(&space::gram(&*kernel, &points), &v);
            let mut first: Option<Matrix> = None;
            for memory in [0, 2_000_000, u64::MAX] {
                let tiles = KernelTiles::new(&*kernel, &points, memory);
                for _ in 0..2 {
                    let got = tiles.multiply(&v, &|| true).unwrap();
                    for (a, b) in got.as_slice().iter().zip(wanted.as_slice()) {
                        assert!((a - b).abs() <= 1e-11 * rows as f64, "{a} {b}");
                    }
                    // Bit for bit, kept or not.
                    assert_eq!(*first.get_or_insert_with(|| got.clone()), got);
                }
                assert!(matches!(tiles.multiply(&v, &|| false), Err(Error::Interrupted)));
            }
        }
    }
}
