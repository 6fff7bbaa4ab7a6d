//! The reduction itself: Householder reflections, a panel of columns at a time.
//!
//! Each reflection needs one product of the matrix with a vector, and going through the matrix is what takes time: it is read once, by its
//! lower triangle, and written once per panel, when the reflections of the panel are applied together.

use faer::linalg::matmul::triangular::{self, BlockStructure};
use faer::{Accum, MatMut, MatRef};

use super::super::{Matrix, shares};
use crate::simd::vectorize;

/// Columns of a panel.
const PANEL: usize = 32;
/// Numbers of a register; columns begin at multiples of it in memory.
const WIDTH: usize = 8;
/// Sums of squares below this (the matrix is of size 1) have lost digits to underflow: they count as zero.
const NEGLIGIBLE: f64 = 1e-280;

type Lanes = [f64; WIDTH];

/// Columns whose beginnings lie at the beginnings of cache lines, each padded with zeros.
struct Columns {
    data: Vec<f64>,
    offset: usize,
    stride: usize,
    cols: usize,
}

impl Columns {
    fn zeros(rows: usize, cols: usize) -> Self {
        let stride = rows.next_multiple_of(WIDTH);
        let data = vec![0.0; stride * cols + WIDTH];
        let offset = data.as_ptr().align_offset(WIDTH * size_of::<f64>()).min(WIDTH);
        Columns { data, offset, stride, cols }
    }

    fn col(&self, j: usize) -> &[f64] {
        &self.data[self.offset + j * self.stride..][..self.stride]
    }

    fn col_mut(&mut self, j: usize) -> &mut [f64] {
        &mut self.data[self.offset + j * self.stride..][..self.stride]
    }

    fn view(&self) -> MatRef<'_, f64> {
        let data = &self.data[self.offset..][..self.stride * self.cols];
        MatRef::from_column_major_slice_with_stride(data, self.stride, self.cols, self.stride)
    }

    fn view_mut(&mut self) -> MatMut<'_, f64> {
        let data = &mut self.data[self.offset..][..self.stride * self.cols];
        MatMut::from_column_major_slice_with_stride_mut(data, self.stride, self.cols, self.stride)
    }
}

/// Diagonal and subdiagonal of a tridiagonal matrix orthogonally similar to `a`, of which the lower triangle is read and whose
/// columns are left holding the reflectors: column c's begins with its 1 in row c + 1.
pub(super) fn reduce(a: &mut Matrix) -> (Vec<f64>, Vec<f64>) {
    let n = a.rows;
    // The diagonal is kept apart, and what is on and above it is zero: then whole registers can be taken anywhere.
    // Three columns of zeros more: four can be read together wherever one begins.
    let mut below = Columns::zeros(n + 3, n + 3);
    let mut diagonal: Vec<f64> = (0..n).map(|k| a.get(k, k)).collect();
    for j in 0..n {
        below.col_mut(j)[j + 1..n].copy_from_slice(&a.col(j)[j + 1..]);
    }
    diagonal.resize(below.stride, 0.0);
    let mut subdiagonal = vec![0.0; n.saturating_sub(1)];
    let mut start = 0;
    // V beside W; each column is zero up to the row of its reflection.
    let mut panel = Columns::zeros(n + 3, 2 * PANEL);
    while start < subdiagonal.len() {
        let width = PANEL.min(subdiagonal.len() - start);
        for j in 0..2 * PANEL {
            panel.col_mut(j).fill(0.0);
        }
        for j in 0..width {
            let c = start + j;
            apply_to_column(below.col_mut(c), &mut diagonal[c], &panel, j, c);
            let column = below.col_mut(c);
            // Without its head, the column is its tail and zeros.
            let head = std::mem::take(&mut column[c + 1]);
            let tail = &column[floor(c + 1)..];
            let squares = dot(tail, tail);
            let has_tail = squares > NEGLIGIBLE;
            let norm = if has_tail { head.hypot(squares.sqrt()) } else { head.abs() };
            let scale = if has_tail { 1.0 / (head + norm.copysign(head)) } else { 0.0 };
            let v = &mut panel.col_mut(j)[floor(c + 1)..];
            vectorize(
                #[inline(always)]
                || {
                    for (v, x) in v.iter_mut().zip(tail) {
                        *v = x * scale;
                    }
                },
            );
            panel.col_mut(j)[c + 1] = 1.0;
            subdiagonal[c] = -norm.copysign(head);
            a.col_mut(c)[c + 1..].copy_from_slice(&panel.col(j)[c + 1..n]);
            let image = image_of(&below, &diagonal, &panel, j, c + 1);
            panel.col_mut(PANEL + j).copy_from_slice(&image);
        }
        start += width;
        apply_panel(&mut below, &mut diagonal, &panel, start);
    }
    diagonal.truncate(n);
    (diagonal, subdiagonal)
}

/// The beginning of the register that holds this row.
fn floor(row: usize) -> usize {
    row / WIDTH * WIDTH
}

/// Column c of A − VWᵀ − WVᵀ, with the first `known` columns of V and W.
fn apply_to_column(column: &mut [f64], diagonal: &mut f64, panel: &Columns, known: usize, c: usize) {
    let from = floor(c + 1);
    for q in 0..known {
        *diagonal -= 2.0 * panel.col(q)[c] * panel.col(PANEL + q)[c];
    }
    subtract(&mut column[from..], panel, known, from, |q| [panel.col(PANEL + q)[c], panel.col(q)[c]]);
    column[from..=c].fill(0.0);
}

/// W's column for the reflection by V's column `j`, which begins in row `from`: (A v − (vᵀAv/2τ) v)/τ, A with the panel applied so far.
fn image_of(below: &Columns, diagonal: &[f64], panel: &Columns, j: usize, from: usize) -> Vec<f64> {
    let n = below.stride;
    let (v, first) = (panel.col(j), floor(from));
    let mut image: Vec<f64> = vec![0.0; n];
    vectorize(
        #[inline(always)]
        || {
            for (x, (v, d)) in image[first..].iter_mut().zip(v[first..].iter().zip(&diagonal[first..])) {
                *x = v * d;
            }
        },
    );
    // Forwards and backwards in turn: what was read last is still near.
    let groups = (from..below.cols - 3).step_by(4);
    if from.is_multiple_of(2) {
        groups.for_each(|c| add_symmetric(&mut image, below, v, c));
    } else {
        groups.rev().for_each(|c| add_symmetric(&mut image, below, v, c));
    }
    let shares: Vec<[f64; 2]> = (0..j)
        .map(|q| {
            let with = |column: &[f64]| dot(&column[first..], &v[first..]);
            [with(panel.col(PANEL + q)), with(panel.col(q))]
        })
        .collect();
    subtract(&mut image[first..], panel, j, first, |q| shares[q]);
    image[..from].fill(0.0);
    let tau = 0.5 * dot(&v[first..], &v[first..]);
    let middle = 0.5 * dot(&image[first..], &v[first..]) / tau;
    let scale = 1.0 / tau;
    vectorize(
        #[inline(always)]
        || {
            for (x, v) in image[first..].iter_mut().zip(&v[first..]) {
                *x = (*x - middle * v) * scale;
            }
        },
    );
    image
}

/// Adds what four columns below the diagonal, and the rows that they are on the other side, give with v.
fn add_symmetric(image: &mut [f64], below: &Columns, v: &[f64], c: usize) {
    let from = floor(c);
    let columns: [&[Lanes]; 4] = std::array::from_fn(|i| registers(&below.col(c + i)[from..]));
    let factors: [f64; 4] = std::array::from_fn(|i| v[c + i]);
    let (own, v) = (image[from..].as_chunks_mut::<WIDTH>().0, registers(&v[from..]));
    let sums = vectorize(
        #[inline(always)]
        || {
            let [mut p, mut q, mut r, mut s] = [[0.0; WIDTH]; 4];
            let entries = columns[0].iter().zip(columns[1]).zip(columns[2]).zip(columns[3]);
            for ((((a, b), c), d), (image, v)) in entries.zip(own.iter_mut().zip(v)) {
                let mut sum = *image;
                for l in 0..WIDTH {
                    sum[l] = a[l].mul_add(factors[0], sum[l]);
                }
                for l in 0..WIDTH {
                    p[l] = a[l].mul_add(v[l], p[l]);
                }
                for l in 0..WIDTH {
                    sum[l] = b[l].mul_add(factors[1], sum[l]);
                }
                for l in 0..WIDTH {
                    q[l] = b[l].mul_add(v[l], q[l]);
                }
                for l in 0..WIDTH {
                    sum[l] = c[l].mul_add(factors[2], sum[l]);
                }
                for l in 0..WIDTH {
                    r[l] = c[l].mul_add(v[l], r[l]);
                }
                for l in 0..WIDTH {
                    sum[l] = d[l].mul_add(factors[3], sum[l]);
                }
                for l in 0..WIDTH {
                    s[l] = d[l].mul_add(v[l], s[l]);
                }
                *image = sum;
            }
            [p, q, r, s]
        },
    );
    for (i, sums) in sums.iter().enumerate() {
        image[c + i] += total(sums);
    }
}

/// target − Σ (f₀ V + f₁ W) over the first `known` columns, from row `from` on.
fn subtract(target: &mut [f64], panel: &Columns, known: usize, from: usize, factors: impl Fn(usize) -> [f64; 2]) {
    let mut q = 0;
    while q < known {
        // An odd one is taken with a column of zeros.
        let columns: [&[f64]; 4] =
            [q, PANEL + q, q + 1, PANEL + q + 1].map(|column| &panel.col(column.min(2 * PANEL - 1))[from..]);
        let ([a, b], [c, d]) = (factors(q), if q + 1 < known { factors(q + 1) } else { [0.0; 2] });
        let factors = [-a, -b, -c, -d];
        let columns = columns.map(registers);
        let target = target.as_chunks_mut::<WIDTH>().0;
        vectorize(
            #[inline(always)]
            || {
                let entries = columns[0].iter().zip(columns[1]).zip(columns[2]).zip(columns[3]);
                for (target, (((a, b), c), d)) in target.iter_mut().zip(entries) {
                    let mut sum = *target;
                    for l in 0..WIDTH {
                        sum[l] = a[l].mul_add(factors[0], sum[l]);
                    }
                    for l in 0..WIDTH {
                        sum[l] = b[l].mul_add(factors[1], sum[l]);
                    }
                    for l in 0..WIDTH {
                        sum[l] = c[l].mul_add(factors[2], sum[l]);
                    }
                    for l in 0..WIDTH {
                        sum[l] = d[l].mul_add(factors[3], sum[l]);
                    }
                    *target = sum;
                }
            },
        );
        q += 2;
    }
}

/// A − VWᵀ − WVᵀ from row and column `start` on.
fn apply_panel(below: &mut Columns, diagonal: &mut [f64], panel: &Columns, start: usize) {
    for q in 0..PANEL {
        let entries = panel.col(q)[start..].iter().zip(&panel.col(PANEL + q)[start..]);
        vectorize(
            #[inline(always)]
            || {
                for (d, (v, w)) in diagonal[start..].iter_mut().zip(entries) {
                    *d -= 2.0 * v * w;
                }
            },
        );
    }
    let mut turned = Columns::zeros(below.stride, 2 * PANEL);
    for q in 0..PANEL {
        turned.col_mut(q)[start..].copy_from_slice(&panel.col(PANEL + q)[start..]);
        turned.col_mut(PANEL + q)[start..].copy_from_slice(&panel.col(q)[start..]);
    }
    let size = below.cols - 3 - start;
    let target = below.view_mut().submatrix_mut(start, start, size, size);
    triangular::matmul(
        target,
        BlockStructure::StrictTriangularLower,
        Accum::Add,
        panel.view().subrows(start, size),
        BlockStructure::Rectangular,
        turned.view().subrows(start, size).transpose(),
        BlockStructure::Rectangular,
        -1.0,
        shares(),
    );
}

/// Σ ab, of whole registers.
fn dot(a: &[f64], b: &[f64]) -> f64 {
    let sums = vectorize(
        #[inline(always)]
        || {
            let [mut p, mut q] = [[0.0; WIDTH]; 2];
            let (a, b) = (registers(a).chunks_exact(2), registers(b).chunks_exact(2));
            for (a, b) in a.remainder().iter().zip(b.remainder()) {
                for l in 0..WIDTH {
                    p[l] = a[l].mul_add(b[l], p[l]);
                }
            }
            for (a, b) in a.zip(b) {
                for l in 0..WIDTH {
                    p[l] = a[0][l].mul_add(b[0][l], p[l]);
                }
                for l in 0..WIDTH {
                    q[l] = a[1][l].mul_add(b[1][l], q[l]);
                }
            }
            [p, q]
        },
    );
    total(&sums[0]) + total(&sums[1])
}

/// Whole registers.
#[inline(always)]
fn registers(values: &[f64]) -> &[Lanes] {
    values.as_chunks().0
}

fn total(lanes: &Lanes) -> f64 {
    let halves: [f64; 4] = std::array::from_fn(|l| lanes[l] + lanes[l + 4]);
    (halves[0] + halves[2]) + (halves[1] + halves[3])
}
