//! Where rows of K come from: a Gram matrix, or a kernel and its points.

mod plain;

use rayon::prelude::*;

use super::shifted::Shifted;
use super::singles::Singles;
use crate::linalg::simd::vectorize;
use crate::linalg::{Matrix, double};
use crate::term::kernel::{Kernel, Points};

/// Fills a slice with the k-th row of a part of K in single precision.
pub type PartRows<'a> = Box<dyn Fn(usize, &mut [f32]) + 'a>;

/// Rows of a symmetric positive semidefinite K.
pub trait KernelRows: Sync {
    /// Number of rows.
    fn len(&self) -> usize;

    /// Whether there are no rows.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Kᵢᵢ.
    fn diagonal(&self) -> Vec<f64>;

    /// Row `i`, if rows are in memory as they are; then for all rows.
    fn row(&self, i: usize) -> Option<&[f64]> {
        let _ = i;
        None
    }

    /// Row `i` in single precision, if rows are in memory like that; then for all rows.
    fn row_single(&self, i: usize) -> Option<&[f32]> {
        let _ = i;
        None
    }

    /// Fills each slice of `out`, which are as long as K is wide, with the row of that place.
    fn fill(&self, rows: &[usize], out: &mut [&mut [f64]]);

    /// The same in single precision.
    fn fill_single(&self, rows: &[usize], out: &mut [&mut [f32]]) {
        let n = self.len();
        rows.par_iter().zip(out).for_each_init(
            || vec![0.0; n],
            |buffer, (row, out)| {
                self.fill(&[*row], &mut [buffer]);
                out.iter_mut().zip(buffer).for_each(|(single, value)| *single = *value as f32);
            },
        );
    }

    /// Whether values in single precision cost so little that computing them again is better than keeping them; then
    /// [`part_single`](Self::part_single) and [`add_single`](Self::add_single) are quick.
    fn has_quick_singles(&self) -> bool {
        false
    }

    /// What fills a slice, which is at least as long as the set, with the values of the set's k-th row in the set's columns.
    fn part_single<'a>(&'a self, set: &'a [usize]) -> PartRows<'a> {
        gathered(self, set)
    }

    /// sums += Σ change · row over these rows and changes, values being in single precision and sums in double.
    fn add_single(&self, changes: &[(usize, f64)], sums: &mut [f64]) {
        let mut row = vec![0.0; self.len()];
        for (i, change) in changes {
            self.fill_single(&[*i], &mut [&mut row]);
            sums.iter_mut().zip(&row).for_each(|(sum, x)| *sum += change * f64::from(*x));
        }
    }

    /// K restricted to these rows and columns, one column of the result per entry of `rows`.
    fn block(&self, rows: &[usize], columns: &[usize]) -> Matrix {
        let n = self.len();
        let mut out = Matrix::zeros(columns.len(), rows.len());
        out.as_mut_slice().par_chunks_mut(columns.len().max(1)).zip(rows).for_each_init(
            || vec![0.0; n],
            |buffer, (out, row)| {
                if let Some(row) = self.row(*row) {
                    out.iter_mut().zip(columns).for_each(|(x, c)| *x = row[*c]);
                } else {
                    self.fill(&[*row], &mut [buffer]);
                    out.iter_mut().zip(columns).for_each(|(x, c)| *x = buffer[*c]);
                }
            },
        );
        out
    }

    /// Kα, each entry as if summed in twice the precision.
    fn product(&self, alpha: &[f64]) -> Vec<f64> {
        let n = self.len();
        (0..n)
            .into_par_iter()
            .map_init(
                || vec![0.0; n],
                |buffer, i| {
                    if let Some(row) = self.row(i) {
                        double::dot(row, alpha).value()
                    } else {
                        self.fill(&[i], &mut [buffer]);
                        double::dot(buffer, alpha).value()
                    }
                },
            )
            .collect()
    }
}

/// Rows of a set in its own columns, from whole rows.
fn gathered<'a, R: KernelRows + ?Sized>(rows: &'a R, set: &'a [usize]) -> PartRows<'a> {
    Box::new(move |k, out| {
        let mut row = vec![0.0; rows.len()];
        rows.fill_single(&[set[k]], &mut [&mut row]);
        out.iter_mut().zip(set).for_each(|(x, j)| *x = row[*j]);
    })
}

/// A Gram matrix, both triangles.
#[derive(Debug, Clone, Copy)]
pub struct GramRows<'a>(pub &'a Matrix);

impl KernelRows for GramRows<'_> {
    fn len(&self) -> usize {
        self.0.rows()
    }

    fn diagonal(&self) -> Vec<f64> {
        (0..self.len()).map(|i| self.0.get(i, i)).collect()
    }

    fn row(&self, i: usize) -> Option<&[f64]> {
        Some(self.0.col(i))
    }

    fn fill(&self, rows: &[usize], out: &mut [&mut [f64]]) {
        rows.iter().zip(out).for_each(|(row, out)| out.copy_from_slice(self.0.col(*row)));
    }
}

/// A kernel and its points; values are computed when they are needed.
#[derive(Debug)]
pub struct KernelPoints<'a> {
    kernel: &'a dyn Kernel,
    points: &'a Points,
    shifted: Option<Shifted>,
    singles: Option<Singles>,
}

/// Rows that one task fills together.
const GROUP: usize = 32;
/// Columns that one task fills at a time.
const SPAN: usize = 1536;

impl<'a> KernelPoints<'a> {
    /// For this kernel on these points.
    pub fn new(kernel: &'a dyn Kernel, points: &'a Points) -> Self {
        KernelPoints {
            kernel,
            points,
            shifted: Shifted::if_accurate(kernel, points),
            singles: Singles::if_possible(kernel, points),
        }
    }

    /// The same for those who never ask for single precision.
    pub(crate) fn in_double(kernel: &'a dyn Kernel, points: &'a Points) -> Self {
        KernelPoints { kernel, points, shifted: Shifted::if_accurate(kernel, points), singles: None }
    }

    /// k(row, point) for these rows and the points start … start + width − 1, row after row.
    pub(crate) fn tile(&self, rows: &[usize], start: usize, width: usize, out: &mut [f64]) {
        self.values(self.points, self.shifted.as_ref(), rows, start, width, out);
    }

    /// Fills slices with rows, converting each span of values as it comes.
    fn fill_as<T: Send>(
        &self,
        points: &Points,
        shifted: Option<&Shifted>,
        rows: &[usize],
        out: &mut [&mut [T]],
        convert: impl Fn(f64) -> T + Sync,
    ) {
        let n = points.rows();
        rows.par_chunks(GROUP).zip(out.par_chunks_mut(GROUP)).for_each_init(
            || vec![0.0; GROUP * SPAN],
            |buffer, (rows, out)| {
                for start in (0..n).step_by(SPAN) {
                    let width = SPAN.min(n - start);
                    let values = &mut buffer[..rows.len() * width];
                    self.values(points, shifted, rows, start, width, values);
                    for (out, values) in out.iter_mut().zip(values.chunks_exact(width)) {
                        vectorize(
                            #[inline(always)]
                            || out[start..start + width].iter_mut().zip(values).for_each(|(x, v)| *x = convert(*v)),
                        );
                    }
                }
            },
        );
    }

    /// k(row, point) for points start … start + width − 1 of `points`, which may be fewer than all.
    fn values(
        &self,
        points: &Points,
        shifted: Option<&Shifted>,
        rows: &[usize],
        start: usize,
        width: usize,
        out: &mut [f64],
    ) {
        let (Some(own), Some(shifted)) = (&self.shifted, shifted) else {
            for (row, out) in rows.iter().zip(out.chunks_exact_mut(width)) {
                self.points.with_point(*row, |x| self.kernel.values(x, points, start, out));
            }
            return;
        };
        own.distances(shifted, rows, start, width, out);
        out.chunks_exact_mut(width).for_each(|out| self.kernel.of_distances(out));
    }
}

impl KernelRows for KernelPoints<'_> {
    fn len(&self) -> usize {
        self.points.rows()
    }

    fn diagonal(&self) -> Vec<f64> {
        let mut out = vec![0.0; self.len()];
        self.kernel.diagonal(self.points, 0, &mut out);
        out
    }

    fn fill(&self, rows: &[usize], out: &mut [&mut [f64]]) {
        self.fill_as(self.points, self.shifted.as_ref(), rows, out, |x| x);
    }

    fn fill_single(&self, rows: &[usize], out: &mut [&mut [f32]]) {
        match &self.singles {
            Some(singles) => singles.fill(self.kernel, rows, out),
            None => self.fill_as(self.points, self.shifted.as_ref(), rows, out, |x| x as f32),
        }
    }

    fn has_quick_singles(&self) -> bool {
        self.singles.as_ref().is_some_and(Singles::are_few_numbers)
    }

    fn part_single<'a>(&'a self, set: &'a [usize]) -> PartRows<'a> {
        let Some(singles) = &self.singles else { return gathered(self, set) };
        let part = singles.subset(set);
        Box::new(move |k, out| part.row(self.kernel, k, out))
    }

    fn add_single(&self, changes: &[(usize, f64)], sums: &mut [f64]) {
        match &self.singles {
            Some(singles) => singles.add(self.kernel, changes, sums),
            None => {
                let mut row = vec![0.0; self.len()];
                for (i, change) in changes {
                    self.fill(&[*i], &mut [&mut row]);
                    sums.iter_mut().zip(&row).for_each(|(sum, x)| *sum += change * x);
                }
            }
        }
    }

    fn block(&self, rows: &[usize], columns: &[usize]) -> Matrix {
        let points = self.points.subset(columns);
        let shifted = self.shifted.as_ref().map(|shifted| shifted.subset(columns));
        let mut out = Matrix::zeros(columns.len(), rows.len());
        let mut slices: Vec<&mut [f64]> = out.as_mut_slice().chunks_mut(columns.len().max(1)).collect();
        self.fill_as(&points, shifted.as_ref(), rows, &mut slices, |x| x);
        out
    }

    /// Only columns with α ≠ 0 are computed.
    fn product(&self, alpha: &[f64]) -> Vec<f64> {
        let support: Vec<usize> = (0..alpha.len()).filter(|i| alpha[*i] != 0.0).collect();
        let weights: Vec<f64> = support.iter().map(|i| alpha[*i]).collect();
        let points = self.points.subset(&support);
        let shifted = self.shifted.as_ref().map(|shifted| shifted.subset(&support));
        let all: Vec<usize> = (0..self.len()).collect();
        let groups: Vec<Vec<f64>> = all
            .par_chunks(GROUP)
            .map_init(
                || vec![0.0; GROUP * SPAN],
                |buffer, rows| {
                    let mut sums = vec![double::Double::default(); rows.len()];
                    for start in (0..support.len()).step_by(SPAN) {
                        let width = SPAN.min(support.len() - start);
                        let values = &mut buffer[..rows.len() * width];
                        self.values(&points, shifted.as_ref(), rows, start, width, values);
                        for (sum, values) in sums.iter_mut().zip(values.chunks_exact(width)) {
                            *sum = sum.plus(double::dot(values, &weights[start..start + width]));
                        }
                    }
                    sums.into_iter().map(double::Double::value).collect()
                },
            )
            .collect();
        groups.concat()
    }
}
