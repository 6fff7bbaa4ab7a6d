//! The spectrum of features that are made some rows at a time and kept in single precision: for leave-one-out of many rows.
//!
//! FᵀF is summed in double precision around the means of the first rows, so that nothing cancels when it is centred; what is kept of F becomes the
//! basis in its place, after the decomposition. Coordinates of targets come from double sums too: only what leave-one-out reads off the basis is
//! single, and that is compared with double numbers at some rows.

use std::ops::Range;

use rayon::prelude::*;

use super::basis::Basis;
use super::build::Turned;
use super::row_tables::MANY_ROWS;
use super::target::Centred;
use super::{Spectrum, Target};
use crate::base::error::Result;
use crate::linalg::simd::vectorize;
use crate::linalg::{self, Matrix, SingleTiles, add_lower_square, multiply, multiply_transposed};

/// Numbers that are made at a time.
const PART: usize = 1 << 22;
/// Rows that are looked at.
const SAMPLE: usize = 256;

/// Rows times squared directions from which a basis in single precision saves time.
const LONG_PRODUCT: f64 = 1e10;

/// Whether leave-one-out of so many rows goes by tables, and making their basis takes long enough for single precision to matter.
pub(crate) fn is_long(rows: f64, width: f64) -> bool {
    rows >= MANY_ROWS as f64 && rows * width * width >= LONG_PRODUCT
}

/// What is known of rows beside their features.
#[derive(Clone, Copy)]
pub(crate) struct Rows<'a> {
    pub weights: Option<&'a [f64]>,
    pub offset: bool,
    /// Targets, by columns.
    pub y: &'a Matrix,
}

impl Spectrum {
    /// The spectrum of n × `width` features, and the targets in its coordinates; `features` is asked for those of some rows, all rows in their
    /// order. `None` where single precision is not enough.
    pub(crate) fn of_parts(
        rows: Rows<'_>,
        width: usize,
        features: &mut dyn FnMut(Range<usize>) -> Matrix,
    ) -> Result<Option<(Self, Vec<Target>)>> {
        Spectrum::of_parts_of(PART, rows, width, features)
    }

    /// The same with so many numbers at a time.
    fn of_parts_of(
        part: usize,
        rows: Rows<'_>,
        width: usize,
        features: &mut dyn FnMut(Range<usize>) -> Matrix,
    ) -> Result<Option<(Self, Vec<Target>)>> {
        let n = rows.y.rows();
        let root_weights: Option<Vec<f64>> = rows.weights.map(|w| w.iter().map(|x| x.sqrt()).collect());
        let weight_sum = rows.weights.map_or(n as f64, |w| w.iter().sum());
        let roots = root_weights.as_deref();
        let centred: Vec<Centred> =
            (0..rows.y.cols()).map(|t| Centred::of(rows.y.col(t), roots, weight_sum, rows.offset)).collect();
        let mut sums = PartSums::new(n, width, centred.len(), rows.offset);
        // An odd number of tiles: columns a power of two apart would share a few places of the caches.
        let tiles = ((part / width.max(1) / SingleTiles::TILE).max(1) - 1) / 2 * 2 + 1;
        let height = tiles * SingleTiles::TILE;
        for start in (0..n).step_by(height) {
            let range = start..(start + height).min(n);
            sums.add(features(range.clone()), range, roots, &centred);
        }
        let PartSums { shift, mut gram, pulls, mut kept, unit, sample, exact, .. } = sums;
        let totals = pulls.col(centred.len());
        // The mean of all rows, seen from that of the first ones.
        let mean: Vec<f64> = totals.iter().map(|sum| if rows.offset { sum / weight_sum } else { 0.0 }).collect();
        for j in 0..width {
            let column = &mut gram.col_mut(j)[j..];
            column.iter_mut().zip(&mean[j..]).for_each(|(g, m)| *g -= weight_sum * m * mean[j]);
        }
        let turned = Turned::of(gram, n)?;
        let turn = &turned.turn;
        let root = |i: usize| roots.map_or(1.0, |s| s[i]);
        let raised = Matrix::from_fn(width, turn.cols(), |i, k| turn.get(i, k) / unit);
        let moved: Vec<f64> = mean.iter().map(|mean| mean * unit).collect();
        if rows.offset {
            let ones = vec![1.0; if roots.is_some() { 0 } else { n }];
            kept.subtract_outer(roots.unwrap_or(&ones), &moved);
        }
        let exact = Matrix::from_columns(width, sample.len(), exact)?;
        let exact = Matrix::from_fn(sample.len(), width, |i, j| exact.get(j, i) - root(sample[i]) * mean[j]);
        let exact = multiply(&exact, turn);
        let basis = Basis::Single(kept.multiply_in_place(&raised));
        let coordinates = multiply_transposed(turn, &pulls);
        let targets: Vec<Target> = centred
            .into_iter()
            .enumerate()
            .map(|(t, centred)| {
                let z = Matrix::column_vector(coordinates.col(t).to_vec());
                let inside = basis.apply(&z);
                centred.target(z.into_vec(), inside.as_slice())
            })
            .collect();
        if !basis.is_enough(&sample, &exact, &targets) {
            return Ok(None);
        }
        let mean_features = shift.iter().zip(&mean).map(|(shift, mean)| shift + mean).collect();
        let spectrum = Spectrum::of_features(turned, basis, mean_features, root_weights, weight_sum, rows.offset);
        Ok(Some((spectrum, targets)))
    }
}

/// Sums over rows, which come part by part.
struct PartSums {
    offset: bool,
    /// The means of the first part (0 without an offset), around which everything is summed.
    shift: Vec<f64>,
    /// ΣwΦΦᵀ, its lower triangle, Φ = φ − shift.
    gram: Matrix,
    /// Σ√wΦ·target of each target, and ΣwΦ.
    pulls: Matrix,
    /// √wΦ · unit, in single precision.
    kept: SingleTiles,
    unit: f64,
    /// Some rows, and √wΦ of these, one after another.
    sample: Vec<usize>,
    exact: Vec<f64>,
}

impl PartSums {
    fn new(n: usize, width: usize, targets: usize, offset: bool) -> Self {
        PartSums {
            offset,
            shift: Vec::new(),
            gram: Matrix::zeros(width, width),
            pulls: Matrix::zeros(width, targets + 1),
            kept: SingleTiles::zeros(n, width),
            unit: 0.0,
            sample: (0..n).step_by(n.div_ceil(SAMPLE).max(1)).collect(),
            exact: Vec::new(),
        }
    }

    fn add(&mut self, mut part: Matrix, range: Range<usize>, roots: Option<&[f64]>, centred: &[Centred]) {
        let height = part.rows().max(1);
        if self.shift.is_empty() {
            let mean = |column: &[f64]| if self.offset { column.iter().sum::<f64>() / height as f64 } else { 0.0 };
            self.shift = part.as_slice().par_chunks(height).map(mean).collect();
            // A power of two: nothing is rounded.
            self.unit = libm::ldexp(1.0, -linalg::exponent_of(part.max_abs().max(f64::MIN_POSITIVE)));
        }
        let own: Option<&[f64]> = roots.map(|s| &s[range.clone()]);
        part.as_mut_slice().par_chunks_mut(height).zip(&self.shift).for_each(|(column, shift)| match own {
            None => vectorize(
                #[inline(always)]
                || {
                    for f in column {
                        *f -= shift;
                    }
                },
            ),
            Some(s) => column.iter_mut().zip(s).for_each(|(f, s)| *f = (*f - shift) * s),
        });
        add_lower_square(&mut self.gram, &part);
        let mut data: Vec<f64> = centred.iter().flat_map(|target| &target.values[range.clone()]).copied().collect();
        match own {
            None => data.resize(data.len() + part.rows(), 1.0),
            Some(s) => data.extend_from_slice(s),
        }
        let own = Matrix::from_columns(part.rows(), centred.len() + 1, data).unwrap_or_default();
        let pulls = multiply_transposed(&part, &own);
        self.pulls.as_mut_slice().iter_mut().zip(pulls.as_slice()).for_each(|(sum, pull)| *sum += pull);
        for row in self.sample.iter().filter(|row| range.contains(row)) {
            self.exact.extend((0..part.cols()).map(|j| part.get(row - range.start, j)));
        }
        self.kept.fill(range.start, &part, self.unit);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Parts around a shift, weights and all, give the spectrum of the whole matrix.
    #[test]
    fn parts_give_the_spectrum_of_the_whole() {
        let (rows, width) = (4 * SingleTiles::TILE + 91, 12);
        let place = |i: usize| ((i * 7919) % rows) as f64 / rows as f64;
        let x =
            Matrix::from_fn(rows, width, |i, j| 0.7 + libm::cos(3.1 * (j + 1) as f64 * place(i)) / (1 + j * j) as f64);
        let noise = |i: usize| ((i * 104_729) % 1009) as f64 / 1009.0 - 0.5;
        let y = Matrix::from_fn(rows, 2, |i, t| 5.0 + libm::sin((9 + t) as f64 * place(i)) + noise(i));
        let weights: Vec<f64> = (0..rows).map(|i| 0.5 + (i % 7) as f64).collect();
        for (weights, offset) in [(None, true), (Some(&weights[..]), true), (Some(&weights[..]), false)] {
            let whole = Spectrum::from_factor(x.clone(), weights, offset).unwrap();
            let mut asked = Vec::new();
            let mut features = |range: Range<usize>| {
                asked.push(range.clone());
                Matrix::from_fn(range.len(), width, |i, j| x.get(range.start + i, j))
            };
            let part = 4 * SingleTiles::TILE * width;
            let found = Spectrum::of_parts_of(part, Rows { weights, offset, y: &y }, width, &mut features).unwrap();
            let (parts, targets) = found.unwrap();
            assert!(asked.len() == 2 && asked.iter().map(|range| range.len()).sum::<usize>() == rows);
            for (a, b) in whole.eigenvalues().iter().zip(parts.eigenvalues()) {
                assert!((a - b).abs() < 1e-12 * whole.largest(), "{a} {b}");
            }
            for (t, target) in targets.iter().enumerate() {
                let known = whole.target(y.col(t)).unwrap();
                let gamma = 1e-3 * whole.largest();
                let (a, b) = (whole.linear_coefficients(&known, gamma), parts.linear_coefficients(target, gamma));
                assert!(a.0.iter().zip(&b.0).all(|(a, b)| (a - b).abs() < 1e-9) && (a.1 - b.1).abs() < 1e-9);
                assert_eq!((known.power, known.centred == target.centred), (target.power, true));
                let worst = known.outside.iter().zip(&target.outside).map(|(a, b)| (a - b).abs());
                assert!(worst.fold(0.0, f64::max) < 1e-5);
            }
            for i in 0..rows {
                assert!((whole.outside[i] - parts.outside[i]).abs() < 1e-6);
            }
        }
    }

    /// Features of which rounding to single precision leaves nothing: a tiny direction beside a large one.
    #[test]
    fn single_precision_is_refused_where_it_is_not_enough() {
        let rows = 2000;
        let x = Matrix::from_fn(rows, 2, |i, j| {
            let small = 1e-6 * libm::sin(i as f64);
            libm::cos(0.1 * i as f64) + if j == 0 { small } else { -small }
        });
        let y = Matrix::from_fn(rows, 1, |i, _| libm::sin(i as f64));
        let mut features = |range: Range<usize>| Matrix::from_fn(range.len(), 2, |i, j| x.get(range.start + i, j));
        let found = Spectrum::of_parts(Rows { weights: None, offset: true, y: &y }, 2, &mut features).unwrap();
        assert!(found.is_none());
    }
}
