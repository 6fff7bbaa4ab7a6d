//! A band form K = V B Vᵀ of a symmetric matrix, V orthogonal and B with few subdiagonals, and what it makes
//! cheap for every shift γ: solves with K + γI, its determinant, and the diagonal of its inverse.
//!
//! It is what an eigendecomposition does first. Stopping there leaves out everything that is not a product of
//! large matrices, and a band is as good as a diagonal when few shifts are wanted.
//!
//! Tasks never share a sum: the same bits come out with any number of threads.

mod reduction;
mod rows;

use super::{Accum, MatMut, MatRef, Par, matmul};
use super::{DecompositionCheck, Matrix, dot, exponent_of, multiply_lower, scale_by_power_of_two};
use crate::base::error::{Error, Result};
use crate::linalg::simd::{LANES, vectorize};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
pub(super) use reduction::form_vectors;
use reduction::reduce_to_band;
pub(crate) use rows::{RowsAtShift, Shift};

/// Subdiagonals of B. Wider reduces faster (longer products) and makes every shift dearer.
const BANDWIDTH: usize = 32;
/// Coordinates that a solve with many right-hand sides eliminates together, to stay in registers.
const STEP: usize = 4;

/// Vectors of random signs with which a form is checked.
const PROBES: usize = 4;

/// K = V B Vᵀ.
pub(crate) struct BandForm {
    /// B/2ᵖ by diagonals: entry (d, j) is that in row j + d and column j.
    band: Matrix,
    power: i32,
    /// V.
    pub vectors: Matrix,
}

impl BandForm {
    /// Reduces a symmetric matrix, of which only the lower triangle is read; V takes its storage.
    pub fn reduce(mut a: Matrix) -> Result<BandForm> {
        let size = (0..a.cols)
            .flat_map(|j| &a.col(j)[j..])
            .fold(0.0, |max: f64, x| if x.is_finite() { max.max(x.abs()) } else { f64::INFINITY });
        if size == f64::INFINITY {
            return Err(Error::Decomposition("the matrix has entries that are not finite".into()));
        }
        let power = if size > 0.0 { exponent_of(size) } else { 0 };
        scale_by_power_of_two(&mut a.data, -power);
        let mut random = ChaCha8Rng::seed_from_u64(0);
        let probes = Matrix::from_fn(a.rows, PROBES, |_, _| if random.next_u32() & 1 == 0 { 1.0 } else { -1.0 });
        let direct = multiply_lower(&a, &probes);
        let band = reduce_to_band(&mut a, BANDWIDTH);
        let n = a.rows;
        form_vectors(&mut a, band.rows - 1, n);
        let form = BandForm { band, power, vectors: a };
        let check = form.compare(&probes, &direct);
        if !check.passed() {
            return Err(Error::Decomposition(format!(
                "the band form leaves a residual of {:.1e} and misses orthogonality by {:.1e} (units of n·eps)",
                check.residual, check.orthogonality
            )));
        }
        Ok(form)
    }

    /// ‖K/2ᵖ − VBVᵀ/2ᵖ‖ and ‖I − VVᵀ‖ as random signs see them, given K/2ᵖ's products with these.
    fn compare(&self, probes: &Matrix, direct: &Matrix) -> DecompositionCheck {
        let (n, b) = (self.vectors.rows, self.band.rows - 1);
        let mut coordinates = Matrix::zeros(n, probes.cols);
        product(coordinates.view_mut(), Accum::Replace, self.vectors.view().transpose(), probes.view(), 1.0);
        let mut difference = probes.clone();
        product(difference.view_mut(), Accum::Add, self.vectors.view(), coordinates.view(), -1.0);
        let frobenius = |m: &Matrix| (m.data.iter().map(|x| x * x).sum::<f64>() / m.cols as f64).sqrt();
        let unit = n.max(1) as f64 * f64::EPSILON;
        let orthogonality = frobenius(&difference) / unit;
        let mut banded = Matrix::zeros(n, probes.cols);
        for t in 0..probes.cols {
            let (x, y) = (coordinates.col(t), banded.col_mut(t));
            for j in 0..n {
                y[j] += self.band.get(0, j) * x[j];
                for d in 1..=b.min(n - 1 - j) {
                    y[j + d] += self.band.get(d, j) * x[j];
                    y[j] += self.band.get(d, j) * x[j + d];
                }
            }
        }
        difference.data.copy_from_slice(&direct.data);
        product(difference.view_mut(), Accum::Add, self.vectors.view(), banded.view(), -1.0);
        // The largest column of B is no larger than B.
        let size = (0..n).map(|j| dot(self.band.col(j), self.band.col(j)).sqrt()).fold(0.0, f64::max);
        let residual = frobenius(&difference);
        DecompositionCheck { residual: if size > 0.0 { residual / (size * unit) } else { residual }, orthogonality }
    }

    /// The factor of B + γI; `None` when a pivot is not positive.
    pub fn shifted(&self, gamma: f64) -> Option<ShiftedBand<'_>> {
        let (n, b) = (self.vectors.rows, self.band.rows - 1);
        if !gamma.is_finite() {
            return None;
        }
        // Whichever of B and γ is larger gets the size 1.
        let exponent = |x: f64| if x == 0.0 { i32::MIN / 2 } else { exponent_of(x) };
        let power = (self.power + exponent(self.band.max_abs())).max(exponent(gamma));
        let gamma = libm::ldexp(gamma, -power);
        let mut lower = Triangle::zeros(n, b);
        for (column, band) in lower.columns.chunks_exact_mut(lower.height).zip(self.band.data.chunks_exact(b + 1)) {
            column[..=b].copy_from_slice(band);
            scale_by_power_of_two(&mut column[..=b], self.power - power);
            column[0] += gamma;
        }
        for j in 0..n {
            let (column, later) = lower.columns[j * lower.height..].split_at_mut(lower.height);
            if !(column[0] > 0.0) {
                return None;
            }
            column[0] = column[0].sqrt();
            lower.inverse_pivots[j] = 1.0 / column[0];
            vectorize(
                #[inline(always)]
                || {
                    for entry in &mut column[1..=b] {
                        *entry *= lower.inverse_pivots[j];
                    }
                    for (d, other) in (1..=b).zip(later.chunks_exact_mut(lower.height)) {
                        for (target, entry) in other[..=b - d].iter_mut().zip(&column[d..=b]) {
                            *target -= column[d] * entry;
                        }
                    }
                },
            );
        }
        Some(ShiftedBand { form: self, lower, power })
    }
}

/// target ← factor · a b, added or instead. One thread: the backend's own threads wait for each other so often that
/// flat products lose by them; here tasks are large and independent.
fn product(target: MatMut<'_, f64>, add: Accum, a: MatRef<'_, f64>, b: MatRef<'_, f64>, factor: f64) {
    matmul::matmul(target, add, a, b, factor, Par::Seq);
}

/// A lower triangle within a band, of as many rows as whole steps need.
struct Triangle {
    /// By diagonals like B, every column followed by zeros for steps that look beyond the band.
    columns: Vec<f64>,
    height: usize,
    inverse_pivots: Vec<f64>,
}

impl Triangle {
    fn zeros(rows: usize, bandwidth: usize) -> Self {
        let (rows, height) = (rows.next_multiple_of(STEP), bandwidth + STEP);
        Triangle { columns: vec![0.0; rows * height], height, inverse_pivots: vec![0.0; rows] }
    }

    /// x ← L⁻¹ b in every lane; returns the sums of squares.
    #[inline(always)]
    fn solve(&self, b: &[[f64; LANES]], x: &mut [[f64; LANES]]) -> [f64; LANES] {
        let (columns, height, pivots) = (&self.columns[..], self.height, &self.inverse_pivots[..]);
        let mut squares = [0.0; LANES];
        for k in (0..x.len()).step_by(STEP) {
            let (done, rest) = x.split_at_mut(k);
            // Four names and no array, or the compiler leaves them in memory.
            let (mut x0, mut x1, mut x2, mut x3) = (b[k], b[k + 1], b[k + 2], b[k + 3]);
            for j in k.saturating_sub(height - STEP)..k {
                let l = &columns[j * height + k - j..][..STEP];
                x0 = minus(x0, l[0], &done[j]);
                x1 = minus(x1, l[1], &done[j]);
                x2 = minus(x2, l[2], &done[j]);
                x3 = minus(x3, l[3], &done[j]);
            }
            rest[0] = x0;
            rest[1] = x1;
            rest[2] = x2;
            rest[3] = x3;
            let triangle = &columns[k * height..];
            finish::<0>(triangle, height, pivots[k], rest, &mut squares);
            finish::<1>(triangle, height, pivots[k + 1], rest, &mut squares);
            finish::<2>(triangle, height, pivots[k + 2], rest, &mut squares);
            finish::<3>(triangle, height, pivots[k + 3], rest, &mut squares);
        }
        squares
    }
}

/// Coordinate Q of a step, once those before it are known: known to the compiler, or it would pass registers through memory.
#[inline(always)]
fn finish<const Q: usize>(
    triangle: &[f64],
    height: usize,
    pivot: f64,
    step: &mut [[f64; LANES]],
    squares: &mut [f64; LANES],
) {
    let mut x = step[Q];
    for p in 0..Q {
        x = minus(x, triangle[p * height + Q - p], &step[p]);
    }
    for lane in 0..LANES {
        x[lane] *= pivot;
        squares[lane] += x[lane] * x[lane];
    }
    step[Q] = x;
}

/// x − l y in every lane, fused: whether a processor has the instruction or not, it rounds alike.
#[inline(always)]
fn minus(mut x: [f64; LANES], l: f64, y: &[f64; LANES]) -> [f64; LANES] {
    for lane in 0..LANES {
        x[lane] = (-l).mul_add(y[lane], x[lane]);
    }
    x
}

/// B + γI = 2ᵖ L Lᵀ.
pub(crate) struct ShiftedBand<'a> {
    form: &'a BandForm,
    lower: Triangle,
    power: i32,
}

impl ShiftedBand<'_> {
    /// Column j of L from its diagonal on, without what is outside the matrix.
    fn column(&self, j: usize) -> &[f64] {
        let length = self.form.band.rows.min(self.form.vectors.rows - j);
        &self.lower.columns[j * self.lower.height..][..length]
    }

    /// (B + γI)⁻¹ b in the place of b: (K + γI)⁻¹ = V (B + γI)⁻¹ Vᵀ.
    pub fn solve(&self, rhs: &mut [f64]) {
        for j in 0..rhs.len() {
            let (x, later) = rhs[j..].split_first_mut().expect("not empty");
            *x *= self.lower.inverse_pivots[j];
            later.iter_mut().zip(&self.column(j)[1..]).for_each(|(y, l)| *y -= *x * l);
        }
        for j in (0..rhs.len()).rev() {
            let (x, later) = rhs[j..].split_first_mut().expect("not empty");
            let column = &self.column(j)[1..];
            *x = (*x - dot(column, &later[..column.len()])) * self.lower.inverse_pivots[j];
        }
        scale_by_power_of_two(rhs, -self.power);
    }

    /// ln det(K + γI).
    pub fn log_det(&self) -> f64 {
        let n = self.form.vectors.rows;
        let scaled: f64 = (0..n).map(|j| libm::log(self.column(j)[0])).sum();
        2.0 * scaled + n as f64 * f64::from(self.power) * std::f64::consts::LN_2
    }

    /// tr (K + γI)⁻¹, from the entries of the inverse inside the band: from L's last column to its first, each
    /// needs only those that are known by then (Takahashi, Fagan and Chin).
    pub fn trace_inverse(&self) -> f64 {
        let (n, b) = (self.form.vectors.rows, self.form.band.rows - 1);
        // Both triangles, so that columns are added up and not searched: row i, column j in place (b + i − j, j).
        let mut inverse = Matrix::zeros(2 * b + 1, n);
        let mut trace = 0.0;
        for j in (0..n).rev() {
            let column = &self.column(j)[1..];
            let width = column.len();
            let mut known = vec![0.0; width];
            vectorize(
                #[inline(always)]
                || {
                    for (d, l) in (1..).zip(column) {
                        let l = l * self.lower.inverse_pivots[j];
                        let entries = &inverse.col(j + d)[b + 1 - d..][..width];
                        known.iter_mut().zip(entries).for_each(|(x, z)| *x -= l * z);
                    }
                },
            );
            let pivot = self.lower.inverse_pivots[j];
            let diagonal = pivot * (pivot - dot(column, &known));
            trace += diagonal;
            inverse.set(b, j, diagonal);
            for (d, x) in (1..).zip(&known) {
                inverse.set(b + d, j, *x);
                inverse.set(b - d, j + d, *x);
            }
        }
        libm::ldexp(trace, -self.power)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::{Cholesky, eigen, largest_row_sum, multiply, multiply_transposed};

    fn random(rows: usize, cols: usize) -> Matrix {
        let mut source = ChaCha8Rng::seed_from_u64(rows as u64);
        Matrix::from_fn(rows, cols, |_, _| f64::from(source.next_u32()) / f64::from(u32::MAX) - 0.5)
    }

    fn transposed(a: &Matrix) -> Matrix {
        Matrix::from_fn(a.cols, a.rows, |i, j| a.get(j, i))
    }

    /// V D Vᵀ with the V of a random matrix.
    fn with_eigenvalues(n: usize, value: impl Fn(usize) -> f64) -> Matrix {
        let v = BandForm::reduce(multiply_transposed(&random(n, n), &random(n, n))).unwrap().vectors;
        multiply(&Matrix::from_fn(n, n, |i, j| v.get(i, j) * value(j)), &transposed(&v))
    }

    /// The norms (largest row sums) of VBVᵀ − A, relative to A's, and of VᵀV − I, in units of n·eps.
    fn errors(a: &Matrix) -> (f64, f64) {
        let form = BandForm::reduce(a.clone()).unwrap();
        let (n, b) = (a.rows, form.band.rows - 1);
        let entry = |i: usize, j: usize| {
            if i.abs_diff(j) <= b { form.band.get(i.abs_diff(j), i.min(j)) * 2.0_f64.powi(form.power) } else { 0.0 }
        };
        let back = multiply(&multiply(&form.vectors, &Matrix::from_fn(n, n, entry)), &transposed(&form.vectors));
        let products = multiply_transposed(&form.vectors, &form.vectors);
        let unit = n.max(1) as f64 * f64::EPSILON;
        let residual = Matrix::from_fn(n, n, |i, j| back.get(i, j) - a.get(i.max(j), i.min(j)));
        let identity = Matrix::from_fn(n, n, |i, j| products.get(i, j) - f64::from(i == j));
        let size = largest_row_sum(a).max(f64::MIN_POSITIVE);
        (largest_row_sum(&residual) / (size * unit), largest_row_sum(&identity) / unit)
    }

    /// The diagonal of (K + γI)⁻¹; beside it, V times two columns and another shift, as leave-one-out asks.
    fn diagonal(form: &BandForm, gamma: f64) -> Vec<f64> {
        let n = form.vectors.rows;
        let at = |gamma: f64| Shift { factor: form.shifted(gamma).unwrap(), coordinates: random(n, 2) };
        let found = form.rows_at(&[at(2.0 * gamma + 1.0), at(gamma)]).swap_remove(1);
        let products = multiply(&form.vectors, &random(n, 2));
        for (got, want) in found.products.as_slice().iter().zip(products.as_slice()) {
            assert!((got - want).abs() < 1e-12 * n as f64, "{got} {want}");
        }
        found.diagonal
    }

    #[test]
    fn the_form_is_the_matrix_and_its_vectors_are_orthogonal() {
        const B: usize = BANDWIDTH;
        let mut worst = (0.0_f64, 0.0_f64);
        for n in [0, 1, 2, 3, B - 1, B, B + 1, B + 2, 2 * B, 2 * B + 1, 257, 600] {
            let low_rank = random(3, n);
            let one = random(1, n);
            for (name, a) in [
                ("random", multiply_transposed(&random(n, n), &random(n, n))),
                ("indefinite", with_eigenvalues(n, |j| if j % 2 == 0 { 1.0 } else { -1.0 / (j as f64) })),
                ("low rank", multiply_transposed(&low_rank, &low_rank)),
                ("rank one", multiply_transposed(&one, &one)),
                ("graded", with_eigenvalues(n, |j| 10.0_f64.powf(-16.0 * j as f64 / n as f64))),
                ("diagonal", Matrix::from_fn(n, n, |i, j| if i == j { i as f64 - 5.0 } else { 0.0 })),
                ("ones", Matrix::from_fn(n, n, |_, _| 1.0)),
                ("zero", Matrix::zeros(n, n)),
                ("tiny beside large", Matrix::from_fn(n, n, |i, j| if i + j == 0 { 1.0 } else { 1e-160 })),
            ] {
                let (residual, orthogonality) = errors(&a);
                worst = (worst.0.max(residual), worst.1.max(orthogonality));
                assert!(residual < 15.0 && orthogonality < 15.0, "{name} {n}: {residual} {orthogonality}");
            }
        }
        println!("largest errors in n·eps: {worst:?}");
    }

    #[test]
    fn shifted_solves_agree_with_dense_ones() {
        for (n, gamma) in [(1, 0.5), (2, 0.5), (3, 1e-3), (33, 1e-3), (70, 0.0), (257, 1e-3), (301, 10.0)] {
            let a = with_eigenvalues(n, |j| 1.0 / (1.0 + j as f64));
            let mut dense = a.clone();
            (0..n).for_each(|i| dense.set(i, i, a.get(i, i) + gamma));
            let decomposed = eigen(dense.clone()).unwrap();
            let form = BandForm::reduce(a).unwrap();
            let shifted = form.shifted(gamma).unwrap();
            let close = |x: f64, y: f64| assert!((x - y).abs() <= 1e-11 * y.abs(), "{n}: {x} {y}");
            close(shifted.log_det() + 1.0, decomposed.values.iter().map(|d| d.ln()).sum::<f64>() + 1.0);
            close(shifted.trace_inverse(), decomposed.values.iter().map(|d| 1.0 / d).sum());
            let inverse = diagonal(&form, gamma);
            let factor = Cholesky::new(dense).unwrap();
            let mut columns = Matrix::from_fn(n, n, |i, j| f64::from(i == j));
            factor.solve(&mut columns);
            for i in 0..n {
                close(inverse[i], columns.get(i, i));
            }
            let mut coordinates = multiply_transposed(&form.vectors, &random(n, 1));
            shifted.solve(coordinates.col_mut(0));
            let (mut direct, back) = (random(n, 1), multiply(&form.vectors, &coordinates));
            factor.solve(&mut direct);
            let difference = Matrix::from_fn(n, 1, |i, _| direct.get(i, 0) - back.get(i, 0)).max_abs();
            assert!(difference <= 1e-11 * direct.max_abs());
        }
    }

    #[test]
    fn scales_near_overflow_and_underflow_change_exponents_only() {
        let a = with_eigenvalues(100, |j| 1.0 / (1.0 + j as f64));
        let plain = BandForm::reduce(a.clone()).unwrap();
        for power in [-1000, 1000, 1022] {
            let mut scaled = a.clone();
            scale_by_power_of_two(&mut scaled.data, power);
            let scaled = BandForm::reduce(scaled).unwrap();
            assert_eq!(plain.vectors, scaled.vectors);
            let (one, other) = (plain.shifted(0.25).unwrap(), scaled.shifted(libm::ldexp(0.25, power)).unwrap());
            assert_eq!(libm::ldexp(one.trace_inverse(), -power), other.trace_inverse());
            assert_eq!(diagonal(&plain, 0.25)[7], libm::ldexp(diagonal(&scaled, libm::ldexp(0.25, power))[7], power));
            let exponents = 100.0 * f64::from(power) * std::f64::consts::LN_2;
            assert!((one.log_det() + exponents - other.log_det()).abs() < 1e-9);
            // A shift of quite another size.
            let far = scaled.shifted(1.0).map(|shifted| shifted.trace_inverse());
            assert!(far.is_some_and(|trace| if power < 0 { trace == 100.0 } else { trace.is_finite() }));
        }
    }

    #[test]
    fn what_has_no_form_or_no_factor_is_refused() {
        assert!(BandForm::reduce(Matrix::from_fn(3, 3, |_, _| f64::NAN)).is_err());
        assert!(BandForm::reduce(Matrix::from_fn(3, 3, |i, j| if i == j { f64::INFINITY } else { 0.0 })).is_err());
        // Only the lower triangle is read.
        let half = BandForm::reduce(Matrix::from_fn(300, 300, |i, j| if i < j { f64::NAN } else { 1.0 })).unwrap();
        assert!(half.shifted(-1.0).is_none() && half.shifted(f64::NAN).is_none());
        let zero = BandForm::reduce(Matrix::zeros(4, 4)).unwrap();
        assert!(zero.shifted(0.0).is_none() && zero.shifted(f64::INFINITY).is_none());
        assert!((zero.shifted(1e-300).unwrap().trace_inverse() / 4e300 - 1.0).abs() < 1e-15);
        let wrong = BandForm { band: Matrix::zeros(2, 300), power: 0, vectors: half.vectors };
        let probes = Matrix::from_fn(300, 1, |_, _| 1.0);
        assert!(!wrong.compare(&probes, &multiply(&Matrix::from_fn(300, 300, |_, _| 1.0), &probes)).passed());
    }

    #[test]
    fn any_number_of_threads_gives_the_same_bits() {
        let a = multiply_transposed(&random(700, 700), &random(700, 700));
        let run = |threads: usize| {
            rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap().install(|| {
                let form = BandForm::reduce(a.clone()).unwrap();
                let diagonal = diagonal(&form, 1.0);
                (form.band, form.vectors, diagonal)
            })
        };
        let one = run(1);
        assert!(one == run(2) && one == run(5));
    }
}
