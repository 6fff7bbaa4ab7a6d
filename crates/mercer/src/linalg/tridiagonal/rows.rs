//! vᵀ(T + γI)⁻¹v and vᵀ(T + γI)⁻²v of many rows v for many shifts: eight rows side by side, four shifts in turn, so that no step
//! waits for the one before.

use rayon::prelude::*;

use super::{Factored, Matrix};
use crate::simd::vectorize;

/// Rows side by side: a register.
const ROWS: usize = 8;
/// Shifts that are treated together.
const SHIFTS: usize = 4;
/// Rows of a task.
const TASK: usize = 64;
/// Coordinates of a segment: what is kept of one fits a core's nearest cache.
const SEGMENT: usize = 96;

/// One number of every row, where a cache line begins.
#[derive(Clone, Copy)]
#[repr(align(64))]
struct Lanes([f64; ROWS]);

const NOTHING: Lanes = Lanes([0.0; ROWS]);

/// Factors of some shifts, coordinate by coordinate.
struct Together {
    /// L before this coordinate (of the last step) and 1/D.
    forward: Vec<[[f64; SHIFTS]; 2]>,
    /// L after it.
    lower: Vec<[f64; SHIFTS]>,
}

impl Together {
    /// Shifts that are missing repeat the first.
    fn of(factors: &[&Factored<'_>]) -> Self {
        let shift = |s: usize| factors[if s < factors.len() { s } else { 0 }];
        let n = factors[0].inverse.len();
        let lower: [&[f64]; SHIFTS] = std::array::from_fn(|s| &shift(s).lower[..n]);
        let inverse: [&[f64]; SHIFTS] = std::array::from_fn(|s| &shift(s).inverse[..n]);
        let lower: Vec<[f64; SHIFTS]> = (0..n).map(|k| std::array::from_fn(|s| lower[s][k])).collect();
        let before = [[0.0; SHIFTS]].into_iter().chain(lower.iter().copied());
        let forward = (0..n).zip(before).map(|(k, before)| [before, std::array::from_fn(|s| inverse[s][k])]);
        Together { forward: forward.collect(), lower }
    }

    /// L⁻¹v from coordinate to coordinate, given the last one before: adds its squares over D.
    #[inline(always)]
    fn forward(
        rows: &[Lanes],
        forward: &[[[f64; SHIFTS]; 2]],
        last: &mut [Lanes; SHIFTS],
        first: &mut [Lanes; SHIFTS],
    ) {
        for (row, [before, inverse]) in rows.iter().zip(forward) {
            for s in 0..SHIFTS {
                let mut own = last[s];
                for l in 0..ROWS {
                    own.0[l] = (-before[s]).mul_add(own.0[l], row.0[l]);
                }
                for l in 0..ROWS {
                    first[s].0[l] = own.0[l].mul_add(own.0[l] * inverse[s], first[s].0[l]);
                }
                last[s] = own;
            }
        }
    }

    /// The first sums of some rows.
    #[inline(always)]
    fn first_sums(&self, rows: &[Lanes]) -> [Lanes; SHIFTS] {
        let (mut last, mut first) = ([NOTHING; SHIFTS], [NOTHING; SHIFTS]);
        Self::forward(rows, &self.forward, &mut last, &mut first);
        first
    }

    /// Both sums of some rows. What the way forward leaves is needed on the way back: it is made again, segment by segment, which is
    /// less than to write it down and read it from a cache that is further away.
    #[inline(always)]
    fn sums(&self, rows: &[Lanes], workspace: &mut Workspace) -> [[Lanes; SHIFTS]; 2] {
        let (mut last, mut first) = ([NOTHING; SHIFTS], [NOTHING; SHIFTS]);
        let segments = rows.chunks(SEGMENT).zip(self.forward.chunks(SEGMENT));
        for ((rows, forward), start) in segments.zip(&mut workspace.starts) {
            *start = last;
            Self::forward(rows, forward, &mut last, &mut first);
        }
        let (mut solved, mut second) = ([NOTHING; SHIFTS], [NOTHING; SHIFTS]);
        let segments = rows.chunks(SEGMENT).zip(self.forward.chunks(SEGMENT)).zip(self.lower.chunks(SEGMENT));
        for (((rows, forward), lower), start) in segments.zip(&workspace.starts).rev() {
            let mut last = *start;
            for ((row, [before, inverse]), kept) in rows.iter().zip(forward).zip(workspace.kept.iter_mut()) {
                let mut divided = [NOTHING; SHIFTS];
                for s in 0..SHIFTS {
                    let mut own = last[s];
                    for l in 0..ROWS {
                        own.0[l] = (-before[s]).mul_add(own.0[l], row.0[l]);
                    }
                    for l in 0..ROWS {
                        divided[s].0[l] = own.0[l] * inverse[s];
                    }
                    last[s] = own;
                }
                *kept = divided;
            }
            for (kept, lower) in workspace.kept[..rows.len()].iter().zip(lower).rev() {
                for s in 0..SHIFTS {
                    for l in 0..ROWS {
                        solved[s].0[l] = (-lower[s]).mul_add(solved[s].0[l], kept[s].0[l]);
                        second[s].0[l] = solved[s].0[l].mul_add(solved[s].0[l], second[s].0[l]);
                    }
                }
            }
        }
        [first, second]
    }
}

/// What a task writes down on its way.
struct Workspace {
    /// The forward step before each segment.
    starts: Vec<[Lanes; SHIFTS]>,
    /// Forward steps of one segment, over D.
    kept: Vec<[Lanes; SHIFTS]>,
}

/// Sums of many rows, rows × shifts.
pub(crate) struct SumsOfRows {
    /// vᵀ(T + γI)⁻¹v at the shifts of which nothing else is asked.
    pub first_alone: Matrix,
    /// The same at the others.
    pub first: Matrix,
    /// vᵀ(T + γI)⁻²v at those.
    pub second: Matrix,
}

impl Factored<'_> {
    /// Sums over the rows v of a matrix: of first powers at some shifts, of first and second powers at others.
    pub fn sums_of_rows(first_alone: &[&Factored<'_>], both: &[&Factored<'_>], vectors: &Matrix) -> SumsOfRows {
        let (n, size) = (vectors.rows, vectors.cols);
        let [alone, together] = [first_alone, both].map(|f| f.chunks(SHIFTS).map(Together::of).collect::<Vec<_>>());
        let starts: Vec<usize> = (0..n).step_by(TASK).collect();
        let parts: Vec<[Matrix; 3]> = starts
            .par_iter()
            .map(|start| {
                let height = TASK.min(n - start);
                let mut found = [first_alone, both, both].map(|factors| Matrix::zeros(height, factors.len()));
                let groups = height.div_ceil(ROWS);
                // Eight rows one after the other: columns are read once, some way down, for all of the task.
                let mut rows = vec![NOTHING; groups * size];
                for k in 0..size {
                    let (whole, rest) = vectors.col(k)[*start..][..height].as_chunks::<ROWS>();
                    for (group, part) in whole.iter().enumerate() {
                        rows[group * size + k] = Lanes(*part);
                    }
                    if !rest.is_empty() {
                        rows[whole.len() * size + k].0[..rest.len()].copy_from_slice(rest);
                    }
                }
                let nothing = [NOTHING; SHIFTS];
                let mut workspace =
                    Workspace { starts: vec![nothing; size.div_ceil(SEGMENT)], kept: vec![nothing; SEGMENT] };
                for (rows, from) in rows.chunks(size.max(1)).zip((0..height).step_by(ROWS)) {
                    let mut keep = |which: usize, g: usize, sums: &[Lanes; SHIFTS]| {
                        let out = &mut found[which];
                        let count = ROWS.min(height - from);
                        for s in 0..SHIFTS.min(out.cols - g * SHIFTS) {
                            out.col_mut(g * SHIFTS + s)[from..from + count].copy_from_slice(&sums[s].0[..count]);
                        }
                    };
                    for (g, group) in alone.iter().enumerate() {
                        let first = vectorize(
                            #[inline(always)]
                            || group.first_sums(rows),
                        );
                        keep(0, g, &first);
                    }
                    for (g, group) in together.iter().enumerate() {
                        let [first, second] = vectorize(
                            #[inline(always)]
                            || group.sums(rows, &mut workspace),
                        );
                        keep(1, g, &first);
                        keep(2, g, &second);
                    }
                }
                found
            })
            .collect();
        let [first_alone, first, second] =
            [0, 1, 2].map(|which| Matrix::stacked(&parts.iter().map(|part| &part[which]).collect::<Vec<&Matrix>>()));
        SumsOfRows { first_alone, first, second }
    }
}
