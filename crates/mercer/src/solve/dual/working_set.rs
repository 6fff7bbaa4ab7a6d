//! Which variables move next, what belongs to them, and what their change does to all the others.

use rayon::prelude::*;

use super::BoxProblem;
use super::pairs::{Block, padded, rates};
use super::store::Store;
use crate::linalg::simd::vectorize;

/// Variables whose gradient one task updates.
const CHUNK: usize = 2048;
/// Rows of a block that are mirrored together: as many as share a line of memory.
const STRIP: usize = 16;
/// Numbers that are gone through before a second thread would have woken up.
const FEW: usize = 200_000;

/// How every variable wants to move.
pub(super) struct View {
    up: Vec<f64>,
    down: Vec<f64>,
    has_offset: bool,
    /// How far the worst pair (or variable) is from optimal.
    pub violation: f64,
    /// An offset between those that the worst two ask for.
    pub offset: f64,
}

impl View {
    pub fn new(problem: &BoxProblem<'_>, alpha: &[f64], gradient: &[f64]) -> Self {
        let n = alpha.len();
        let (mut up, mut down) = (vec![0.0; n], vec![0.0; n]);
        vectorize(
            #[inline(always)]
            || {
                let (lower, upper) = (&problem.lower[..n], &problem.upper[..n]);
                let (epsilon, curvature, gradient) = (&problem.epsilon[..n], &problem.curvature[..n], &gradient[..n]);
                let (up, down) = (&mut up[..n], &mut down[..n]);
                for i in 0..n {
                    let (rise, fall) = rates(alpha[i], lower[i], upper[i], epsilon[i], curvature[i]);
                    up[i] = gradient[i] + rise;
                    down[i] = gradient[i] + fall;
                }
            },
        );
        let lowest = up.iter().copied().fold(f64::INFINITY, f64::min);
        let highest = down.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let violation = if problem.has_offset { highest - lowest } else { highest.max(-lowest).max(0.0) };
        View { up, down, has_offset: problem.has_offset, violation, offset: -0.5 * (lowest + highest) }
    }

    /// Up to `size` variables: the later half of the last set, then those that want to move most; and how many are of the last.
    pub fn choose(&self, last: &[usize], size: usize) -> (Vec<usize>, usize) {
        let n = self.up.len();
        let mut is_taken = vec![false; n];
        // A set has the variables that were chosen longest ago first.
        let keep = last.len().min(size / 2);
        let mut next: Vec<usize> = last[last.len() - keep..].to_vec();
        next.iter().for_each(|i| is_taken[*i] = true);
        if self.has_offset {
            let rising = least(n, &is_taken, (size - next.len()) / 2, |i| self.up[i]);
            rising.iter().for_each(|i| is_taken[*i] = true);
            next.extend(rising);
            let falling = least(n, &is_taken, size - next.len(), |i| -self.down[i]);
            next.extend(falling);
        } else {
            next.extend(least(n, &is_taken, size - next.len(), |i| self.up[i].min(-self.down[i])));
        }
        // In the order of memory, so that their part of K is read line by line.
        next[keep..].sort_unstable();
        (next, keep)
    }
}

/// The `count` variables with the least finite score among those not taken.
fn least(n: usize, is_taken: &[bool], count: usize, score: impl Fn(usize) -> f64) -> Vec<usize> {
    let mut scored: Vec<(f64, usize)> =
        (0..n).filter(|i| !is_taken[*i]).map(|i| (score(i), i)).filter(|(score, _)| *score < f64::INFINITY).collect();
    // Equal scores, as labels have them in the beginning: from everywhere, for neighbours in a table may be alike.
    let mixed = |i: usize| (i as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let order = |a: &(f64, usize), b: &(f64, usize)| a.0.total_cmp(&b.0).then_with(|| mixed(a.1).cmp(&mixed(b.1)));
    if scored.len() > count {
        if count == 0 {
            return Vec::new();
        }
        scored.select_nth_unstable_by(count - 1, order);
        scored.truncate(count);
    }
    scored.into_iter().map(|(_, i)| i).collect()
}

/// Fills the block with what belongs to the chosen variables, of which the first `keep` were the last of the `before` that
/// the block had.
#[allow(clippy::too_many_arguments)]
pub(super) fn gather<S: Store>(
    store: &S,
    problem: &BoxProblem<'_>,
    chosen: &[usize],
    (before, keep): (usize, usize),
    diagonal: &[f64],
    alpha: &[f64],
    gradient: &[f64],
    block: &mut Block<S::Element>,
) {
    let size = block.resize(chosen.len());
    let (width, skipped) = (padded(before), before - keep);
    // Rows of K are long; those of variables that stay are not read again.
    let (top, bottom) = block.gram.split_at_mut(keep * size);
    let fill = |(k, row): (usize, &mut [S::Element])| {
        let whole = store.row(chosen[keep + k]);
        row.iter_mut().zip(chosen).for_each(|(x, j)| *x = whole[*j]);
    };
    let fresh = chosen.len() - keep;
    if chosen.len() * fresh < FEW {
        bottom.chunks_mut(size).enumerate().take(fresh).for_each(fill);
    } else {
        bottom.par_chunks_mut(size).enumerate().take(fresh).for_each(fill);
    }
    let (old, bottom) = (&block.last_gram, &*bottom);
    let copy = |(strip, rows): (usize, &mut [S::Element])| {
        let first = strip * STRIP;
        for (k, row) in rows.chunks_mut(size).enumerate() {
            let from = (skipped + first + k) * width + skipped;
            row[..keep].copy_from_slice(&old[from..from + keep]);
        }
        let count = rows.len() / size;
        for (column, fresh) in bottom.chunks(size).take(fresh).enumerate() {
            for k in 0..count {
                rows[k * size + keep + column] = fresh[first + k];
            }
        }
    };
    if keep * chosen.len() < FEW {
        top.chunks_mut(STRIP * size).enumerate().for_each(copy);
    } else {
        top.par_chunks_mut(STRIP * size).enumerate().for_each(copy);
    }
    for k in 0..size {
        let from = |list: &[f64], padding: f64| chosen.get(k).map_or(padding, |i| list[*i]);
        block.diagonal[k] = from(diagonal, 1.0);
        block.alpha[k] = from(alpha, 0.0);
        block.gradient[k] = from(gradient, 0.0);
        block.lower[k] = from(problem.lower, 0.0);
        block.upper[k] = from(problem.upper, 0.0);
        block.epsilon[k] = from(problem.epsilon, 0.0);
        block.curvature[k] = from(problem.curvature, 0.0);
    }
}

/// g += Σ change · row.
pub(super) fn add_rows<S: Store>(store: &S, changes: &[(usize, f64)], gradient: &mut [f64]) {
    let one = |(chunk, out): (usize, &mut [f64])| {
        let from = chunk * CHUNK;
        vectorize(
            #[inline(always)]
            || add_to_chunk(store, changes, from, out),
        );
    };
    if changes.len() * gradient.len() < FEW {
        gradient.chunks_mut(CHUNK).enumerate().for_each(one);
    } else {
        gradient.par_chunks_mut(CHUNK).enumerate().for_each(one);
    }
}

/// Four rows at a time, so that the sums are read and written a quarter as often.
#[inline(always)]
fn add_to_chunk<S: Store>(store: &S, changes: &[(usize, f64)], from: usize, out: &mut [f64]) {
    let length = out.len();
    let part = |i: usize| &store.row(i)[from..from + length];
    let fours = changes.chunks_exact(4);
    for (i, change) in fours.remainder() {
        let row = part(*i);
        for k in 0..length {
            let x: f64 = row[k].into();
            out[k] += change * x;
        }
    }
    for four in fours {
        let [(a, s), (b, t), (c, u), (d, v)] = four else { continue };
        let (a, b, c, d) = (part(*a), part(*b), part(*c), part(*d));
        for k in 0..length {
            let (w, x, y, z): (f64, f64, f64, f64) = (a[k].into(), b[k].into(), c[k].into(), d[k].into());
            out[k] += (s * w + t * x) + (u * y + v * z);
        }
    }
}
