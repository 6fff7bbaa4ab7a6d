//! A tridiagonal form K = V T Vᵀ of a symmetric matrix, and what it makes cheap for every shift γ: solves with K + γI and the
//! diagonals of its first two inverse powers.
//!
//! It is where an eigendecomposition begins. T's eigenvectors, and V times them, take as long again; a shift of T costs a few
//! operations per entry of V. V has fewer columns than rows where K has no more than rounding in other directions.

mod reduction;
mod rows;
mod shifts;
mod triangle;

pub(crate) use rows::SumsOfRows;

use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::evd;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

use super::band::form_vectors;
use super::{
    DecompositionCheck, Eigen, Matrix, exponent_of, multiply, multiply_lower, multiply_transposed,
    scale_by_power_of_two, shares,
};
use crate::base::error::{Error, Result};

/// Vectors of random signs with which a form is checked.
const PROBES: usize = 2;

/// T of K = V T Vᵀ.
#[derive(Debug, Clone)]
pub(crate) struct Tridiagonal {
    pub diagonal: Vec<f64>,
    /// What is below the diagonal (and above it); one number less.
    pub below: Vec<f64>,
    /// What was found of K − V T Vᵀ and VᵀV.
    pub check: DecompositionCheck,
}

/// What counts as rounding of a matrix.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rounding {
    /// A share of the largest eigenvalue,
    pub share: f64,
    /// and no less than this.
    pub least: f64,
}

impl Rounding {
    /// Below this eigenvalues are rounding, given the largest one.
    pub fn level(&self, largest: f64) -> f64 {
        (self.share * largest).max(self.least)
    }
}

/// T + γI = L D Lᵀ.
pub(crate) struct Factored<'a> {
    form: &'a Tridiagonal,
    gamma: f64,
    /// Below the diagonal of L; the last one is 0.
    lower: Vec<f64>,
    /// 1/D.
    inverse: Vec<f64>,
}

impl Tridiagonal {
    /// Reduces a symmetric matrix, of which only the lower triangle is read, and returns V too. Directions in which it has no more
    /// than rounding are left out.
    pub fn reduce(mut a: Matrix, rounding: Rounding) -> Result<(Tridiagonal, Matrix)> {
        let n = a.rows;
        let size = a.max_abs();
        if !size.is_finite() {
            return Err(Error::Decomposition("the matrix has entries that are not finite".into()));
        }
        let power = if size > 0.0 { exponent_of(size) } else { 0 };
        scale_by_power_of_two(&mut a.data, -power);
        let mut random = ChaCha8Rng::seed_from_u64(0);
        let probes = Matrix::from_fn(n, PROBES, |_, _| if random.next_u32() & 1 == 0 { 1.0 } else { -1.0 });
        let direct = multiply_lower(&a, &probes);
        let (diagonal, below) =
            reduction::reduce(&mut a, Rounding { least: libm::ldexp(rounding.least, -power), ..rounding });
        form_vectors(&mut a, 1, diagonal.len());
        let nothing_yet = DecompositionCheck { residual: 0.0, orthogonality: 0.0 };
        let mut form = Tridiagonal { diagonal, below, check: nothing_yet };
        form.check = form.compare(&a, &probes, &direct);
        if !form.check.passed() {
            return Err(Error::Decomposition(format!(
                "the tridiagonal form leaves a residual of {:.1e} and misses orthogonality by {:.1e} (units of n·eps)",
                form.check.residual, form.check.orthogonality
            )));
        }
        scale_by_power_of_two(&mut form.diagonal, power);
        scale_by_power_of_two(&mut form.below, power);
        Ok((form, a))
    }

    pub fn size(&self) -> usize {
        self.diagonal.len()
    }

    /// ‖A − V T Vᵀ‖ and ‖I − VᵀV‖ as random signs see them, given A's products with these.
    fn compare(&self, vectors: &Matrix, probes: &Matrix, direct: &Matrix) -> DecompositionCheck {
        let coordinates = multiply_transposed(vectors, probes);
        let images: Vec<f64> = (0..probes.cols).flat_map(|t| self.times(coordinates.col(t))).collect();
        let both = [&images[..], coordinates.as_slice()].concat();
        let both = multiply(vectors, &Matrix { rows: vectors.cols, cols: 2 * probes.cols, data: both });
        let (image, back) = both.data.split_at(probes.data.len());
        let back = Matrix { rows: vectors.rows, cols: probes.cols, data: back.to_vec() };
        let orthogonality = difference(&coordinates.data, &multiply_transposed(vectors, &back).data);
        let (unit, size) = (vectors.rows.max(1) as f64 * f64::EPSILON, self.bounds().1);
        let residual = difference(&direct.data, image);
        DecompositionCheck {
            residual: if size > 0.0 { residual / (size * unit) } else { residual },
            orthogonality: orthogonality / unit,
        }
    }

    /// T x.
    pub fn times(&self, x: &[f64]) -> Vec<f64> {
        let mut out: Vec<f64> = self.diagonal.iter().zip(x).map(|(d, x)| d * x).collect();
        for (k, e) in self.below.iter().enumerate() {
            out[k] += e * x[k + 1];
            out[k + 1] += e * x[k];
        }
        out
    }

    /// Numbers between which all eigenvalues lie (Gershgorin).
    fn bounds(&self) -> (f64, f64) {
        let radius = |k: usize| {
            let above = if k > 0 { self.below[k - 1].abs() } else { 0.0 };
            above + self.below.get(k).map_or(0.0, |e| e.abs())
        };
        let ends = self.diagonal.iter().enumerate().map(|(k, d)| (d - radius(k), d + radius(k)));
        ends.fold((0.0, 0.0), |(low, high): (f64, f64), (l, h)| (low.min(l), high.max(h)))
    }

    /// How many eigenvalues are below x: the negative pivots of T − xI.
    pub fn eigenvalues_below(&self, x: f64) -> usize {
        let tiny = f64::MIN_POSITIVE.sqrt() * (1.0 + self.bounds().1);
        let (mut count, mut pivot) = (0, 1.0_f64);
        for (k, d) in self.diagonal.iter().enumerate() {
            let e = if k > 0 { self.below[k - 1] } else { 0.0 };
            pivot = d - x - e * (e / pivot);
            pivot = if pivot.abs() < tiny { -tiny } else { pivot };
            count += usize::from(pivot < 0.0);
        }
        count
    }

    /// The largest eigenvalue, by halving.
    pub fn largest(&self) -> f64 {
        let (_, mut high) = self.bounds();
        let mut low = self.diagonal.iter().fold(0.0, |max: f64, d| max.max(*d));
        while high - low > 4.0 * f64::EPSILON * high {
            let middle = 0.5 * (low + high);
            if middle <= low || middle >= high {
                break;
            }
            if self.eigenvalues_below(middle) < self.size() { low = middle } else { high = middle }
        }
        high
    }

    /// The lowest eigenvalue if it is between two numbers, by halving.
    pub fn lowest_between(&self, mut low: f64, mut high: f64) -> Option<f64> {
        if self.eigenvalues_below(high) == 0 {
            return None;
        }
        for _ in 0..40 {
            let middle = 0.5 * (low + high);
            if self.eigenvalues_below(middle) == 0 { low = middle } else { high = middle }
        }
        Some(low)
    }

    /// The factor of T + γI; `None` when a pivot is not positive.
    pub fn factored(&self, gamma: f64) -> Option<Factored<'_>> {
        let n = self.size();
        let (mut lower, mut inverse) = (vec![0.0; n], vec![0.0; n]);
        let mut taken = 0.0;
        for k in 0..n {
            let pivot = self.diagonal[k] + gamma - taken;
            if !(pivot > 0.0 && pivot.is_finite()) {
                return None;
            }
            inverse[k] = 1.0 / pivot;
            if let Some(e) = self.below.get(k) {
                lower[k] = e * inverse[k];
                taken = e * lower[k];
            }
        }
        Some(Factored { form: self, gamma, lower, inverse })
    }

    /// The factors of several shifts; `None` when one of them has a pivot that is not positive.
    pub fn factored_at(&self, gammas: &[f64]) -> Option<Vec<Factored<'_>>> {
        let parts: Option<Vec<Vec<Factored<'_>>>> =
            gammas.chunks(shifts::TOGETHER).map(|some| shifts::factored(self, some)).collect();
        Some(parts?.into_iter().flatten().collect())
    }

    /// The trace of (T + γI)⁻¹: what the logarithms of the pivots of T + γI change by, sums of positive numbers.
    pub fn inverse_trace(&self, gamma: f64) -> f64 {
        let (mut sum, mut pivot, mut slope) = (0.0, 1.0, 0.0);
        for (k, d) in self.diagonal.iter().enumerate() {
            let share = if k > 0 { self.below[k - 1] / pivot } else { 0.0 };
            slope = 1.0 + share * share * slope;
            pivot = d + gamma - if k > 0 { share * self.below[k - 1] } else { 0.0 };
            sum += slope / pivot;
        }
        sum
    }

    /// Eigenvalues, ascending, and `vectors` times T's eigenvectors.
    pub fn eigen(&self, vectors: &Matrix) -> Result<Eigen> {
        let n = self.size();
        let (mut values, mut own) = (vec![0.0; n], Matrix::zeros(n, n));
        let size = self.bounds().1;
        let power = if size > 0.0 { exponent_of(size) } else { 0 };
        let (mut diagonal, mut below) = (self.diagonal.clone(), self.below.clone());
        scale_by_power_of_two(&mut diagonal, -power);
        scale_by_power_of_two(&mut below, -power);
        let params = Default::default();
        let scratch = evd::self_adjoint_evd_scratch::<f64>(n, evd::ComputeEigenvectors::Yes, shares(), params);
        let mut buffer = MemBuffer::try_new(scratch).map_err(no_memory)?;
        evd::tridiagonal_self_adjoint_evd(
            faer::diag::DiagRef::from_slice(&diagonal),
            faer::diag::DiagRef::from_slice(&below),
            faer::diag::DiagMut::from_slice_mut(&mut values),
            Some(own.view_mut()),
            shares(),
            MemStack::new(&mut buffer),
            params,
        )
        .map_err(|error| Error::Decomposition(format!("{error:?}")))?;
        scale_by_power_of_two(&mut values, power);
        let check = self.check_eigen(&values, &own);
        if !check.passed() {
            return Err(Error::Decomposition(format!(
                "eigenvectors leave a residual of {:.1e} and miss orthogonality by {:.1e} (units of n·eps)",
                check.residual, check.orthogonality
            )));
        }
        Ok(Eigen { values, vectors: multiply(vectors, &own), check })
    }

    /// What the eigenvectors of T leave, and T of what it stands for.
    fn check_eigen(&self, values: &[f64], own: &Matrix) -> DecompositionCheck {
        let mut random = ChaCha8Rng::seed_from_u64(0);
        let n = self.size();
        let probes = Matrix::from_fn(n, PROBES, |_, _| if random.next_u32() & 1 == 0 { 1.0 } else { -1.0 });
        let direct: Vec<f64> = (0..PROBES).flat_map(|t| self.times(probes.col(t))).collect();
        let mut coordinates = multiply_transposed(own, &probes);
        let back = multiply(own, &coordinates);
        for t in 0..PROBES {
            coordinates.col_mut(t).iter_mut().zip(values).for_each(|(c, d)| *c *= d);
        }
        let image = multiply(own, &coordinates);
        let size = values.iter().fold(0.0, |max: f64, d| max.max(d.abs()));
        let unit = n.max(1) as f64 * f64::EPSILON;
        let residual = difference(&direct, &image.data) / if size > 0.0 { size * unit } else { 1.0 };
        DecompositionCheck {
            residual: self.check.residual + residual,
            orthogonality: self.check.orthogonality + difference(&probes.data, &back.data) / unit,
        }
    }
}

impl Factored<'_> {
    /// (T + γI)⁻¹x for each of several shifts.
    pub fn solve_each(factors: &[Factored<'_>], x: &[f64]) -> Vec<Vec<f64>> {
        factors.chunks(shifts::TOGETHER).flat_map(|some| shifts::solve(some, x)).collect()
    }

    /// (T + γI)⁻¹x.
    pub fn solve(&self, x: &[f64]) -> Vec<f64> {
        let mut out = x.to_vec();
        for k in 1..out.len() {
            out[k] -= self.lower[k - 1] * out[k - 1];
        }
        let mut after = 0.0;
        for k in (0..out.len()).rev() {
            out[k] = out[k] * self.inverse[k] - self.lower[k] * after;
            after = out[k];
        }
        out
    }

    /// T(T + γI)⁻¹x, given (T + γI)⁻¹x: by T or by x − γ(T + γI)⁻¹x, whichever has the smaller numbers in it.
    pub fn image(&self, x: &[f64], solved: &[f64], largest: f64) -> Vec<f64> {
        if self.gamma > largest {
            return self.form.times(solved);
        }
        x.iter().zip(solved).map(|(x, a)| x - self.gamma * a).collect()
    }
}

/// The mean length of the differences between the columns of probes.
fn difference(x: &[f64], y: &[f64]) -> f64 {
    (x.iter().zip(y).map(|(a, b)| (a - b) * (a - b)).sum::<f64>() / PROBES as f64).sqrt()
}

fn no_memory<E>(_: E) -> Error {
    Error::Decomposition("no memory for the workspace of a decomposition".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// exp(−|i − j|/width) and a little noise, of rank `rank` if that is less.
    fn example(n: usize, rank: usize) -> Matrix {
        let factor = Matrix::from_fn(n, rank, |i, k| libm::cos((i * (k + 1)) as f64 * 0.37) / (1 + k) as f64);
        let mut a = super::super::multiply_by_transposed(&factor, &factor);
        for i in 0..n.min(rank) {
            a.set(i, i, a.get(i, i) + 1e-3 * i as f64);
        }
        a
    }

    /// V T Vᵀ is the matrix and V is orthogonal, entry by entry; sizes around those of panels and registers, and matrices that are
    /// diagonal, zero or of low rank.
    #[test]
    fn a_form_is_the_matrix() {
        let mut cases: Vec<Matrix> = [1, 2, 3, 7, 8, 9, 31, 33, 34, 65, 130].iter().map(|n| example(*n, *n)).collect();
        let mut is_shorter = Vec::new();
        cases.push(example(70, 3));
        cases.push(Matrix::zeros(40, 40));
        cases.push(Matrix::from_fn(37, 37, |i, j| if i == j { 1.0 + i as f64 } else { 0.0 }));
        for a in cases {
            let n = a.rows();
            let (form, v) = Tridiagonal::reduce(a.clone(), Rounding { share: 1e-15, least: 0.0 }).unwrap();
            let size = form.size();
            is_shorter.push(size < n);
            let mut t = Matrix::zeros(size, size);
            for k in 0..size {
                t.set(k, k, form.diagonal[k]);
                if k + 1 < size {
                    t.set(k + 1, k, form.below[k]);
                    t.set(k, k + 1, form.below[k]);
                }
            }
            let back = super::super::multiply_by_transposed(&multiply(&v, &t), &v);
            let unit = multiply_transposed(&v, &v);
            let largest = a.max_abs().max(1e-300);
            for j in 0..n {
                for i in 0..n {
                    assert!((back.get(i, j) - a.get(i, j)).abs() < 1e-13 * n as f64 * largest, "{n}: {i} {j}");
                }
            }
            for j in 0..size {
                for i in 0..size {
                    assert!((unit.get(i, j) - f64::from(u8::from(i == j))).abs() < 1e-13, "{n}: {i} {j}");
                }
            }
        }
        // That of rank 3, and zero.
        assert_eq!(is_shorter.iter().filter(|shorter| **shorter).count(), 2);
    }

    /// Against the eigendecomposition of the whole matrix: eigenvalues, their count, and sums over them at several shifts.
    #[test]
    fn shifts_are_those_of_the_spectrum() {
        let a = example(203, 203);
        let n = a.rows();
        let eigen = super::super::eigen(a.clone()).unwrap();
        let (form, v) = Tridiagonal::reduce(a, Rounding { share: 0.0, least: 0.0 }).unwrap();
        let own = form.eigen(&v).unwrap();
        let largest = eigen.values[n - 1];
        assert!((form.largest() / largest - 1.0).abs() < 1e-13);
        for (a, b) in own.values.iter().zip(&eigen.values) {
            assert!((a - b).abs() < 1e-13 * largest, "{a} {b}");
        }
        let between = 0.5 * (eigen.values[50] + eigen.values[51]);
        assert_eq!(form.eigenvalues_below(between), 51);
        let gammas: Vec<f64> = (0..11).map(|g| largest * libm::exp(f64::from(g) - 9.0)).collect();
        let factors: Vec<Factored<'_>> = gammas.iter().map(|gamma| form.factored(*gamma).unwrap()).collect();
        let factors: Vec<&Factored<'_>> = factors.iter().collect();
        let SumsOfRows { first_alone, first, second } = Factored::sums_of_rows(&factors, &factors, &v);
        assert_eq!(first_alone, first);
        let x: Vec<f64> = (0..n).map(|k| libm::sin(k as f64)).collect();
        let together = form.factored_at(&gammas).unwrap();
        let solved_together = Factored::solve_each(&together, &x);
        for (g, gamma) in gammas.iter().enumerate() {
            for i in 0..n {
                let sum = |power: i32| -> f64 {
                    let term = |k: usize| eigen.vectors.get(i, k).powi(2) / (eigen.values[k] + gamma).powi(power);
                    (0..n).map(term).sum()
                };
                assert!((first.get(i, g) / sum(1) - 1.0).abs() < 1e-10, "{i} {g}");
                assert!((second.get(i, g) / sum(2) - 1.0).abs() < 1e-10, "{i} {g}");
            }
            let trace: f64 = eigen.values.iter().map(|d| 1.0 / (d + gamma)).sum();
            assert!((form.inverse_trace(*gamma) / trace - 1.0).abs() < 1e-10, "{g}");
            let solved = factors[g].solve(&x);
            assert_eq!((&together[g].lower, &together[g].inverse), (&factors[g].lower, &factors[g].inverse));
            assert!(solved_together[g].iter().zip(&solved).all(|(a, b)| (a - b).abs() < 1e-13 * b.abs().max(1e-3)));
            let back = form.times(&solved);
            let image = factors[g].image(&x, &solved, largest);
            for k in 0..n {
                assert!((back[k] + gamma * solved[k] - x[k]).abs() < 1e-11, "{k} {g}");
                assert!((image[k] - back[k]).abs() < 1e-11 * (1.0 + back[k].abs()), "{k} {g}");
            }
        }
    }
}
