//! The reduction itself: Householder reflections, a panel of columns at a time.
//!
//! Each reflection needs one product of the matrix with a vector, and going through the matrix is what takes time: it is read once, by its
//! lower triangle, and written once per panel, when the reflections of the panel are applied together. Reflections are Lanczos' steps from
//! the first axis: of a kernel whose eigenvalues fall fast nothing but rounding is left soon after they have reached rounding, and then
//! the reduction ends.

use super::super::Matrix;
use super::Rounding;
use super::triangle::{Lanes, Triangle, WIDTH, total};
use crate::linalg::simd::vectorize;

/// Columns of a panel.
const PANEL: usize = 32;
/// Sums of squares below this (the matrix is of size 1) have lost digits to underflow: they count as zero.
const NEGLIGIBLE: f64 = 1e-280;

/// Columns whose beginnings lie at the beginnings of cache lines, each padded with zeros.
struct Columns {
    data: Vec<f64>,
    offset: usize,
    stride: usize,
}

impl Columns {
    fn zeros(rows: usize, cols: usize) -> Self {
        let stride = rows.next_multiple_of(WIDTH);
        let data = vec![0.0; stride * cols + WIDTH];
        let offset = data.as_ptr().align_offset(WIDTH * size_of::<f64>()).min(WIDTH);
        Columns { data, offset, stride }
    }

    fn col(&self, j: usize) -> &[f64] {
        &self.data[self.offset + j * self.stride..][..self.stride]
    }

    fn col_mut(&mut self, j: usize) -> &mut [f64] {
        &mut self.data[self.offset + j * self.stride..][..self.stride]
    }
}

/// Diagonal and subdiagonal of a tridiagonal matrix T orthogonally similar to `a`, of which the lower triangle is read and whose
/// columns are left holding the reflectors: column c's begins with its 1 in row c + 1.
///
/// T has fewer rows than `a` where the rest is rounding in Frobenius' norm.
pub(super) fn reduce(a: &mut Matrix, rounding: Rounding) -> (Vec<f64>, Vec<f64>) {
    let n = a.rows;
    // The diagonal is kept apart, and what is on and above it is zero: then whole registers can be taken anywhere.
    let mut below = Triangle::of(a);
    let mut diagonal: Vec<f64> = (0..n).map(|k| a.get(k, k)).collect();
    diagonal.resize(below.rows(), 0.0);
    let mut subdiagonal = vec![0.0; n.saturating_sub(1)];
    let mut start = 0;
    // V beside W; each column is zero up to the row of its reflection.
    let mut panel = Columns::zeros(n, 2 * PANEL);
    let mut work = Columns::zeros(n, 2);
    while start < subdiagonal.len() {
        let width = PANEL.min(subdiagonal.len() - start);
        for j in 0..2 * PANEL {
            panel.col_mut(j).fill(0.0);
        }
        for j in 0..width {
            let c = start + j;
            let column = work.col_mut(0);
            below.column(c, column);
            apply_to_column(column, &mut diagonal[c], &panel, j, c);
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
            image_of(&below, &diagonal, &panel, j, c + 1, work.col_mut(1));
            panel.col_mut(PANEL + j).copy_from_slice(work.col(1));
        }
        start += width;
        apply_to_diagonal(&mut diagonal[start..], &panel, start);
        if start == subdiagonal.len() {
            break;
        }
        apply_panel(&mut below, &panel, start);
        let largest = diagonal[..start].iter().fold(0.0, |max: f64, d| max.max(d.abs()));
        if is_nothing_left(&below, &diagonal, start, rounding.level(largest)) {
            subdiagonal.truncate(start);
        }
    }
    diagonal.truncate(subdiagonal.len() + usize::from(n > 0));
    (diagonal, subdiagonal)
}

/// Whether Frobenius' norm of what is left from row and column `start` on is within this limit.
fn is_nothing_left(below: &Triangle, diagonal: &[f64], start: usize, limit: f64) -> bool {
    // What the diagonal says costs nothing to hear.
    let on_it: f64 = diagonal[start..].iter().map(|d| d * d).sum();
    let is_within = |squares: f64| squares <= limit * limit;
    is_within(on_it) && is_within(on_it + 2.0 * below.squares(start))
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
fn image_of(below: &Triangle, diagonal: &[f64], panel: &Columns, j: usize, from: usize, image: &mut [f64]) {
    let (v, first) = (panel.col(j), floor(from));
    vectorize(
        #[inline(always)]
        || {
            for (x, (v, d)) in image[first..].iter_mut().zip(v[first..].iter().zip(&diagonal[first..])) {
                *x = v * d;
            }
        },
    );
    below.add_product(v, from, image);
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

/// The diagonal of A − VWᵀ − WVᵀ from row `start` on.
fn apply_to_diagonal(diagonal: &mut [f64], panel: &Columns, start: usize) {
    for q in 0..PANEL {
        let entries = panel.col(q)[start..].iter().zip(&panel.col(PANEL + q)[start..]);
        vectorize(
            #[inline(always)]
            || {
                for (d, (v, w)) in diagonal.iter_mut().zip(entries) {
                    *d -= 2.0 * v * w;
                }
            },
        );
    }
}

/// What is below the diagonal of A − VWᵀ − WVᵀ from row and column `start` on.
fn apply_panel(below: &mut Triangle, panel: &Columns, start: usize) {
    let columns = |first: usize| (first..first + PANEL).map(|q| panel.col(q));
    let left: Vec<&[f64]> = columns(0).chain(columns(PANEL)).collect();
    let right: Vec<&[f64]> = columns(PANEL).chain(columns(0)).collect();
    below.subtract(start, &left, &right);
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
