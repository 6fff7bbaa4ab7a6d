//! vᵀ(T + γI)⁻¹v and vᵀ(T + γI)⁻²v of many rows v for many shifts: eight rows side by side, four shifts in turn, so that no step
//! waits for the one before.
//!
//! Coordinates are scaled first so that what is beside T's diagonal is 1, S(T + γI)S with S diagonal and Sv in the place of v: a step of the
//! way forward is then a difference, a product and a product that is added, and the difference has a place of its own in a processor.

use rayon::prelude::*;

use super::{Factored, Matrix};
use crate::linalg::simd::vectorize;

/// Rows side by side: a register.
const ROWS: usize = 8;
/// Shifts that are treated together.
const SHIFTS: usize = 4;
/// Rows of a task.
const TASK: usize = 64;
/// Coordinates of a segment: what is kept of one fits a core's nearest cache.
const SEGMENT: usize = 96;
/// Logarithms of scales, at most: squares of them, and quotients, are still numbers.
const MOST_LOG: f64 = 150.0;

/// One number of every row, where a cache line begins.
#[derive(Clone, Copy)]
#[repr(align(64))]
struct Lanes([f64; ROWS]);

const NOTHING: Lanes = Lanes([0.0; ROWS]);

/// S, and what S(T + γI)S then has beside its diagonal.
struct Scales {
    /// By coordinates.
    own: Vec<f64>,
    /// Before each coordinate; 1 throughout where `is_unit`.
    beside: Vec<f64>,
    is_unit: bool,
}

impl Scales {
    fn of(below: &[f64]) -> Self {
        // sₖ₊₁ = 1/(sₖ eₖ): scales of even and odd numbers go their ways, which the first one decides.
        let mut logarithms = vec![0.0];
        for e in below {
            logarithms.push(-(logarithms[logarithms.len() - 1] + libm::log(e.abs())));
        }
        let signed = |k: usize| if k.is_multiple_of(2) { logarithms[k] } else { -logarithms[k] };
        let (low, high) = (0..logarithms.len())
            .map(signed)
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), x| (low.min(x), high.max(x)));
        let middle = 0.5 * (low + high);
        if !(high - low <= 2.0 * MOST_LOG && middle.is_finite()) {
            // Zeros, or numbers of very different sizes: T as it is.
            let beside = [0.0].into_iter().chain(below.iter().copied()).collect();
            return Scales { own: vec![1.0; below.len() + 1], beside, is_unit: false };
        }
        let mut own = vec![libm::exp(-middle)];
        for e in below {
            own.push(1.0 / (own[own.len() - 1] * e));
        }
        Scales { beside: vec![1.0; own.len()], own, is_unit: true }
    }
}

/// Factors of some shifts, coordinate by coordinate, scaled.
struct Together<'a> {
    scales: &'a Scales,
    /// 1/D.
    inverse: Vec<[f64; SHIFTS]>,
}

impl<'a> Together<'a> {
    /// Shifts that are missing repeat the first.
    fn of(factors: &[&Factored<'_>], scales: &'a Scales) -> Self {
        let shift = |s: usize| factors[if s < factors.len() { s } else { 0 }];
        let n = scales.own.len();
        let inverse: [&[f64]; SHIFTS] = std::array::from_fn(|s| &shift(s).inverse[..n]);
        let scaled = |(k, own): (usize, &f64)| {
            let square = own * own;
            std::array::from_fn(|s| inverse[s][k] / square)
        };
        Together { scales, inverse: scales.own.iter().enumerate().map(scaled).collect() }
    }

    /// L⁻¹v from coordinate to coordinate, given the last one before over its D: adds its squares over D.
    #[inline(always)]
    fn forward<const IS_UNIT: bool>(
        rows: &[Lanes],
        inverse: &[[f64; SHIFTS]],
        beside: &[f64],
        last: &mut [Lanes; SHIFTS],
        first: &mut [Lanes; SHIFTS],
    ) {
        for ((row, inverse), beside) in rows.iter().zip(inverse).zip(beside) {
            for s in 0..SHIFTS {
                let (mut own, mut over) = (last[s], last[s]);
                for l in 0..ROWS {
                    own.0[l] = if IS_UNIT { row.0[l] - own.0[l] } else { (-beside).mul_add(own.0[l], row.0[l]) };
                }
                for l in 0..ROWS {
                    over.0[l] = own.0[l] * inverse[s];
                }
                for l in 0..ROWS {
                    first[s].0[l] = own.0[l].mul_add(over.0[l], first[s].0[l]);
                }
                last[s] = over;
            }
        }
    }

    /// The first sums of some rows.
    #[inline(always)]
    fn first_sums(&self, rows: &[Lanes]) -> [Lanes; SHIFTS] {
        let (mut last, mut first) = ([NOTHING; SHIFTS], [NOTHING; SHIFTS]);
        if self.scales.is_unit {
            Self::forward::<true>(rows, &self.inverse, &self.scales.beside, &mut last, &mut first);
        } else {
            Self::forward::<false>(rows, &self.inverse, &self.scales.beside, &mut last, &mut first);
        }
        first
    }

    /// Both sums of some rows. What the way forward leaves is needed on the way back: it is made again, segment by segment, which is
    /// less than to write it down and read it from a cache that is further away.
    #[inline(always)]
    fn sums(&self, rows: &[Lanes], workspace: &mut Workspace) -> [[Lanes; SHIFTS]; 2] {
        let (mut last, mut first) = ([NOTHING; SHIFTS], [NOTHING; SHIFTS]);
        let Scales { own, beside, .. } = self.scales;
        let segments = || rows.chunks(SEGMENT).zip(self.inverse.chunks(SEGMENT)).zip(beside.chunks(SEGMENT));
        for (((rows, inverse), beside), start) in segments().zip(&mut workspace.starts) {
            *start = last;
            Self::forward::<false>(rows, inverse, beside, &mut last, &mut first);
        }
        let (mut solved, mut second) = ([NOTHING; SHIFTS], [NOTHING; SHIFTS]);
        // What is beside the diagonal after the last coordinate of a segment.
        let mut after = 0.0;
        for ((((rows, inverse), beside), start), own) in
            segments().zip(&workspace.starts).zip(own.chunks(SEGMENT)).rev()
        {
            let mut last = *start;
            for (((row, inverse), beside), kept) in rows.iter().zip(inverse).zip(beside).zip(&mut workspace.kept) {
                for s in 0..SHIFTS {
                    for l in 0..ROWS {
                        let own = (-beside).mul_add(last[s].0[l], row.0[l]);
                        last[s].0[l] = own * inverse[s];
                    }
                }
                *kept = last;
            }
            let steps = workspace.kept[..rows.len()].iter().zip(inverse).zip(beside).zip(own);
            for (((kept, inverse), beside), own) in steps.rev() {
                for s in 0..SHIFTS {
                    let lower = -after * inverse[s];
                    for l in 0..ROWS {
                        solved[s].0[l] = lower.mul_add(solved[s].0[l], kept[s].0[l]);
                        let unscaled = own * solved[s].0[l];
                        second[s].0[l] = unscaled.mul_add(unscaled, second[s].0[l]);
                    }
                }
                after = *beside;
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
        let below = first_alone.first().or(both.first()).map_or(&[][..], |factor| &factor.form.below);
        let scales = Scales::of(below);
        let [alone, together] = [first_alone, both]
            .map(|factors| factors.chunks(SHIFTS).map(|some| Together::of(some, &scales)).collect::<Vec<_>>());
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
                    let scale = scales.own[k];
                    for (group, part) in whole.iter().enumerate() {
                        rows[group * size + k] = Lanes(part.map(|v| v * scale));
                    }
                    if !rest.is_empty() {
                        let part = &mut rows[whole.len() * size + k].0;
                        part.iter_mut().zip(rest).for_each(|(x, v)| *x = v * scale);
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
