//! The reduction itself: Householder reflections in panels, everything in large products.

use std::ops::Range;

use rayon::prelude::*;

use super::super::{Accum, MatMut, MatRef, Matrix, Par, add_multiple, dot, shares, triangular_solve};
use super::product;

/// Side of the tiles in which the matrix is updated: one (half a megabyte) stays in a core's own cache while
/// three products use it.
const TILE: usize = 256;
/// Columns of a panel that are reduced one by one, before the rest of the panel hears of them.
const SUBPANEL: usize = 8;
/// Reflectors that are applied together when V is formed, and columns of V a task treats.
const GROUP: usize = 64;
const STRIP: usize = 256;
/// The same for a task that is alone on its core: it has no use for strips, each of which would pack the reflectors again, and with
/// fewer reflectors together less is spent on what they do to each other (29 ms instead of 32 for 991 columns).
const GROUP_ALONE: usize = 32;
/// Sums of squares below this (the matrix is of size 1) have lost digits to underflow: they count as zero.
const NEGLIGIBLE: f64 = 1e-280;

/// The lower band (entry (d, j): row j + d, column j) of a matrix orthogonally similar to `a`, whose columns are
/// left holding the reflectors: column c's begins with its 1 in row c + bandwidth.
pub(super) fn reduce_to_band(a: &mut Matrix, bandwidth: usize) -> Matrix {
    let n = a.rows;
    let b = bandwidth.min(n.saturating_sub(1)).max(1);
    let mut band = Matrix::zeros(b + 1, n);
    // Tiles on the diagonal are kept in full, so that products with them need no second form.
    for start in (0..n).step_by(TILE) {
        for j in start..(start + TILE).min(n) {
            for i in j + 1..(start + TILE).min(n) {
                a.data[i * n + j] = a.data[j * n + i];
            }
        }
    }
    // The matrix of the moment is A − L Rᵀ, L = [W Y] and R = [Y W] of the last panel: the difference is taken
    // when the next panel's product with A passes by, because going through A is what takes time.
    let (mut left, mut right) = (Matrix::zeros(n, 0), Matrix::zeros(n, 0));
    let mut k = 0;
    while k + b < n {
        let m = n - k - b;
        let mut panel = block_of(a, k, k..k + b);
        product(panel.view_mut(), Accum::Add, left.view(), right.view().subrows(0, b).transpose(), -1.0);
        let mut below = block_of(&panel, b, 0..b);
        let y = triangularize(&mut below);
        for j in 0..b {
            band.col_mut(k + j)[..b - j].copy_from_slice(&panel.col(j)[j..b]);
            let height = m.min(j + 1);
            band.col_mut(k + j)[b - j..][..height].copy_from_slice(&below.col(j)[..height]);
        }
        for j in 0..y.cols {
            a.col_mut(k + j)[k + b..].copy_from_slice(y.col(j));
        }
        let pending = (left.view().subrows(b, m), right.view().subrows(b, m));
        let mut w = update_and_multiply(a.view_mut().submatrix_mut(k + b, k + b, m, m), k + b, pending, y.view());
        // QᵀAQ = A − WYᵀ − YWᵀ with W = X − Y (S⁻ᵀYᵀX)/2 and X = AYS⁻¹.
        let s = triangle_of(y.view());
        triangular_solve::solve_lower_triangular_in_place(s.view().transpose(), w.view_mut().transpose_mut(), Par::Seq);
        let mut middle = Matrix::zeros(y.cols, y.cols);
        product(middle.view_mut(), Accum::Replace, y.view().transpose(), w.view(), 1.0);
        triangular_solve::solve_lower_triangular_in_place(s.view().transpose(), middle.view_mut(), Par::Seq);
        product(w.view_mut(), Accum::Add, y.view(), middle.view(), -0.5);
        left = Matrix { rows: m, cols: 2 * y.cols, data: [&w.data[..], &y.data].concat() };
        right = Matrix { rows: m, cols: 2 * y.cols, data: [y.data, w.data].concat() };
        k += b;
    }
    let mut last = block_of(a, k, k..n);
    product(last.view_mut(), Accum::Add, left.view(), right.view().transpose(), -1.0);
    for j in 0..n - k {
        band.col_mut(k + j)[..n - k - j].copy_from_slice(&last.col(j)[j..]);
    }
    band
}

/// A ← A − L Rᵀ in the lower triangle, and A Y of the new A, in one pass through A. Its first row is row `origin`
/// of the whole matrix, on whose grid the tiles lie.
fn update_and_multiply(
    mut a: MatMut<'_, f64>,
    origin: usize,
    (left, right): (MatRef<'_, f64>, MatRef<'_, f64>),
    y: MatRef<'_, f64>,
) -> Matrix {
    let m = a.nrows();
    let span = |start: usize| (TILE - (origin + start) % TILE).min(m - start);
    let mut columns = Vec::new();
    let mut start = 0;
    while start < m {
        let (column, rest) = a.split_at_col_mut(span(start));
        columns.push((start, column));
        a = rest;
        start += span(start);
    }
    // One task per column of tiles. What it adds to A Y begins at its diagonal tile.
    let parts: Vec<(usize, Matrix)> = columns
        .into_par_iter()
        .with_max_len(1)
        .map(|(start, mut column)| {
            let mut part = Matrix::zeros(m - start, y.ncols());
            let mut mirrored = Matrix::zeros(span(start), y.ncols());
            let across = right.subrows(start, span(start)).transpose();
            let mut row = start;
            while row < m {
                let mut tile = column.as_mut().subrows_mut(row, span(row));
                product(tile.as_mut(), Accum::Add, left.subrows(row, span(row)), across, -1.0);
                let target = part.view_mut().subrows_mut(row - start, span(row));
                product(target, Accum::Add, tile.as_ref(), y.subrows(start, span(start)), 1.0);
                if row > start {
                    let transposed = tile.as_ref().transpose();
                    product(mirrored.view_mut(), Accum::Add, transposed, y.subrows(row, span(row)), 1.0);
                }
                row += span(row);
            }
            for j in 0..part.cols {
                part.col_mut(j).iter_mut().zip(mirrored.col(j)).for_each(|(x, y)| *x += y);
            }
            (start, part)
        })
        .collect();
    let mut out = Matrix::zeros(m, y.ncols());
    out.data.par_chunks_mut(m).enumerate().for_each(|(j, column)| {
        for (start, part) in &parts {
            column[*start..].iter_mut().zip(part.col(j)).for_each(|(x, y)| *x += y);
        }
    });
    out
}

/// Householder's QR: `panel` becomes R (what is below its diagonal means nothing), and the reflectors v come back
/// in full, 1 first and zeros before it. Every column gets one, a column of zeros too: there is no rank to guess.
fn triangularize(panel: &mut Matrix) -> Matrix {
    let (m, cols) = (panel.rows, panel.cols);
    let mut y = Matrix::zeros(m, m.min(cols));
    for start in (0..y.cols).step_by(SUBPANEL) {
        let end = (start + SUBPANEL).min(y.cols);
        for j in start..end {
            let (done, rest) = panel.data.split_at_mut((j + 1) * m);
            let (head, tail) = (done[j * m + j], &done[j * m + j + 1..]);
            let v = &mut y.col_mut(j)[j..];
            v[0] = 1.0;
            let squares = dot(tail, tail);
            let norm = if squares > NEGLIGIBLE { head.hypot(squares.sqrt()) } else { head.abs() };
            if squares > NEGLIGIBLE {
                let scale = 1.0 / (head + norm.copysign(head));
                v[1..].iter_mut().zip(tail).for_each(|(v, x)| *v = x * scale);
            }
            done[j * m + j] = -norm.copysign(head);
            let tau = 0.5 * dot(v, v);
            for other in rest.chunks_exact_mut(m).take(end - j - 1) {
                let other = &mut other[j..];
                let factor = dot(v, other) / tau;
                add_multiple(other, -factor, v);
            }
        }
        let part = y.view().submatrix(start, start, m - start, end - start);
        let others = panel.view_mut().submatrix_mut(start, end, m - start, cols - end);
        reflect(part, triangle_of(part).view(), true, others);
    }
    y
}

/// S of (I − v₁v₁ᵀ/τ₁)(I − v₂v₂ᵀ/τ₂)… = I − Y S⁻¹ Yᵀ in its upper triangle: that of YᵀY with the diagonal
/// halved, as τ = ‖v‖²/2.
fn triangle_of(y: MatRef<'_, f64>) -> Matrix {
    let mut s = Matrix::zeros(y.ncols(), y.ncols());
    product(s.view_mut(), Accum::Replace, y.transpose(), y, 1.0);
    for j in 0..s.cols {
        s.set(j, j, 0.5 * s.get(j, j));
    }
    s
}

/// M ← Q M with Q = I − Y S⁻¹ Yᵀ, or Qᵀ M.
fn reflect(y: MatRef<'_, f64>, s: MatRef<'_, f64>, transposed: bool, mut target: MatMut<'_, f64>) {
    let mut inner = Matrix::zeros(y.ncols(), target.ncols());
    product(inner.view_mut(), Accum::Replace, y.transpose(), target.as_ref(), 1.0);
    if transposed {
        triangular_solve::solve_lower_triangular_in_place(s.transpose(), inner.view_mut(), Par::Seq);
    } else {
        triangular_solve::solve_upper_triangular_in_place(s, inner.view_mut(), Par::Seq);
    }
    product(target.as_mut(), Accum::Add, y, inner.view(), -1.0);
}

/// The first columns of V from the reflectors that [`reduce_to_band`] left, in their place (τ = ‖v‖²/2, every v with its 1): the last
/// ones first, each group in the corner of V that is not the identity's yet.
pub(in crate::linalg) fn form_vectors(a: &mut Matrix, bandwidth: usize, columns: usize) {
    let n = a.rows;
    let reflectors = columns.saturating_sub(bandwidth);
    a.cols = columns;
    a.data.truncate(n * columns);
    let (group, strip) = match shares() {
        Par::Seq => (GROUP_ALONE, columns),
        _ => (GROUP, STRIP),
    };
    for first in (0..reflectors).step_by(group).rev() {
        let corner = first + bandwidth;
        let mut y = block_of(a, corner, first..(first + group).min(reflectors));
        for j in 0..y.cols {
            y.col_mut(j)[..j].fill(0.0);
            a.col_mut(corner + j).fill(0.0);
            a.set(corner + j, corner + j, 1.0);
        }
        let s = triangle_of(y.view());
        let mut strips = Vec::new();
        let mut rest = a.view_mut().submatrix_mut(corner, corner, n - corner, columns - corner);
        while rest.ncols() > 0 {
            let width = strip.min(rest.ncols());
            let (strip, others) = rest.split_at_col_mut(width);
            strips.push(strip);
            rest = others;
        }
        strips.into_par_iter().with_max_len(1).for_each(|strip| reflect(y.view(), s.view(), false, strip));
    }
    for j in 0..bandwidth.min(columns) {
        a.col_mut(j).fill(0.0);
        a.set(j, j, 1.0);
    }
}

/// Some columns, from some row on.
fn block_of(a: &Matrix, first_row: usize, columns: Range<usize>) -> Matrix {
    let data: Vec<&[f64]> = columns.clone().map(|j| &a.col(j)[first_row..]).collect();
    Matrix { rows: a.rows - first_row, cols: columns.len(), data: data.concat() }
}
