//! Dense least squares of data in twice the precision: QR with column pivoting, finished by refinement.

use rayon::prelude::*;

use crate::base::error::Result;
use crate::linalg::double::Double;
use crate::linalg::simd::vectorize;
use crate::linalg::{Matrix, PivotedQr, exponent_of, thin_svd};

/// A, rows × columns, as high + low parts, and b likewise.
pub(crate) struct Precise {
    pub high: Matrix,
    pub low: Matrix,
    pub target: Vec<Double>,
}

/// The minimiser of ‖b − A x‖, of least norm if there are many.
pub(crate) struct Solved {
    pub x: Vec<Double>,
    /// The size of the last correction of every entry.
    pub corrections: Vec<f64>,
    /// ‖row of A⁺‖ for every entry, and ‖row combination‖ for the functional given.
    pub sensitivities: Vec<f64>,
    pub functional_sensitivity: f64,
    pub rank: usize,
    /// An upper bound of the condition number, columns scaled alike; of the part that was kept when rank deficient.
    pub condition: f64,
}

const MOST_STEPS: usize = 20;

impl Precise {
    fn rows(&self) -> usize {
        self.high.rows()
    }

    /// b − extra − A x, rounded once.
    pub fn residual(&self, x: &[Double], extra: Option<&[Double]>) -> Vec<f64> {
        let mut sums = self.target.clone();
        if let Some(extra) = extra {
            for (sum, e) in sums.iter_mut().zip(extra) {
                *sum = sum.minus(*e).normalised();
            }
        }
        sums.par_chunks_mut(256).enumerate().for_each(|(chunk, sums)| {
            for (j, x) in x.iter().enumerate() {
                let range = chunk * 256..chunk * 256 + sums.len();
                let (high, low) = (&self.high.col(j)[range.clone()], &self.low.col(j)[range]);
                let minus = x.negated();
                vectorize(
                    #[inline(always)]
                    || {
                        for ((sum, h), l) in sums.iter_mut().zip(high).zip(low) {
                            *sum = sum.plus(Double { high: *h, low: *l }.times(minus)).normalised();
                        }
                    },
                );
            }
        });
        sums.into_iter().map(Double::value).collect()
    }

    /// Aᵀ r, rounded once.
    fn transposed(&self, r: &[Double]) -> Vec<f64> {
        (0..self.high.cols())
            .into_par_iter()
            .map(|j| {
                let (high, low) = (self.high.col(j), self.low.col(j));
                vectorize(
                    #[inline(always)]
                    || {
                        let mut sum = Double::default();
                        for i in 0..r.len() {
                            sum = sum.plus(Double { high: high[i], low: low[i] }.times(r[i])).normalised();
                        }
                        sum.value()
                    },
                )
            })
            .collect()
    }

    /// Minimises ‖b − A x‖. `functional` is a vector c: the sensitivity of cᵀx is wanted too.
    pub fn solve(mut self, functional: &[f64]) -> Result<Solved> {
        let (rows, cols) = (self.rows(), self.high.cols());
        // Columns are scaled by powers of two, without error: their units must not decide about the rank.
        let powers: Vec<i32> = (0..cols)
            .map(|j| {
                let largest = self.high.col(j).iter().fold(0.0, |max: f64, v| max.max(v.abs()));
                if largest > 0.0 { -exponent_of(largest) } else { 0 }
            })
            .collect();
        let scale = |matrix: &mut Matrix, sign: i32| {
            for (j, power) in powers.iter().enumerate() {
                crate::linalg::scale_by_power_of_two(matrix.col_mut(j), sign * power);
            }
        };
        scale(&mut self.high, 1);
        scale(&mut self.low, 1);
        if rows >= cols {
            let qr = PivotedQr::new(self.high.clone())?;
            let diagonal = qr.diagonal();
            let tolerance = rows as f64 * f64::EPSILON * diagonal.first().copied().unwrap_or(0.0);
            if diagonal.iter().all(|d| *d > tolerance) {
                let scaled: Vec<f64> =
                    functional.iter().zip(&powers).map(|(c, power)| libm::ldexp(*c, *power)).collect();
                let mut solved = self.refine(&qr, &scaled)?;
                for (j, power) in powers.iter().enumerate() {
                    let x = &mut solved.x[j];
                    *x = Double { high: libm::ldexp(x.high, *power), low: libm::ldexp(x.low, *power) };
                    solved.corrections[j] = libm::ldexp(solved.corrections[j], *power);
                    solved.sensitivities[j] = libm::ldexp(solved.sensitivities[j], *power);
                }
                return Ok(solved);
            }
        }
        scale(&mut self.high, -1);
        scale(&mut self.low, -1);
        self.least_norm(functional)
    }

    /// Björck's refinement of r + A x = b, Aᵀ r = 0: residual and solution are corrected together, so that the digits
    /// depend on the condition number once, not squared.
    fn refine(&self, qr: &PivotedQr, functional: &[f64]) -> Result<Solved> {
        let (rows, cols) = (self.rows(), self.high.cols());
        let mut x = vec![Double::default(); cols];
        let mut r = vec![Double::default(); rows];
        let mut corrections = vec![f64::INFINITY; cols];
        let mut last = f64::INFINITY;
        for _ in 0..MOST_STEPS {
            let mut f = self.residual(&x, Some(&r));
            let g: Vec<f64> = self.transposed(&r).into_iter().map(|v| -v).collect();
            qr.apply_transposed(&mut f)?;
            let h = qr.solve_upper_transposed(&g);
            let difference: Vec<f64> = f.iter().zip(&h).map(|(c, h)| c - h).collect();
            let step = qr.solve_upper(&difference);
            f[..cols].copy_from_slice(&h);
            qr.apply_q(&mut f)?;
            let size = step
                .iter()
                .zip(&x)
                .map(|(s, x)| if *s == 0.0 { 0.0 } else { s.abs() / (x.value() + s).abs().max(f64::MIN_POSITIVE) })
                .fold(0.0, f64::max);
            // Corrections that no longer shrink are rounding: taking them would not help.
            if !(size < last) {
                break;
            }
            last = size;
            for j in 0..cols {
                x[j] = x[j].add(step[j]).normalised();
                corrections[j] = step[j].abs();
            }
            for (r, d) in r.iter_mut().zip(&f) {
                *r = r.add(*d).normalised();
            }
            if size < 1e-24 {
                break;
            }
        }
        let sensitivities = qr.pseudo_inverse_row_norms();
        let through = qr.solve_upper_transposed(functional);
        let norms: Vec<f64> = (0..cols).map(|j| norm(self.high.col(j))).collect();
        let inverse_norm = norm(&sensitivities);
        Ok(Solved {
            x,
            corrections,
            sensitivities,
            functional_sensitivity: norm(&through),
            rank: cols,
            condition: if cols == 0 { 1.0 } else { norm(&norms) * inverse_norm },
        })
    }

    /// By the singular value decomposition, which alone finds the minimiser of least norm.
    fn least_norm(&self, functional: &[f64]) -> Result<Solved> {
        let (rows, cols) = (self.rows(), self.high.cols());
        let wide = rows < cols;
        let svd = thin_svd(if wide { transposed(&self.high) } else { self.high.clone() })?;
        let (left, right) = if wide { (&svd.right, &svd.left) } else { (&svd.left, &svd.right) };
        let largest = svd.singular.first().copied().unwrap_or(0.0);
        let tolerance = rows.max(cols) as f64 * f64::EPSILON * largest;
        let rank = svd.singular.iter().filter(|s| **s > tolerance).count();
        let mut x = vec![Double::default(); cols];
        let mut corrections = vec![0.0; cols];
        for _ in 0..4 {
            let r = self.residual(&x, None);
            let mut step = vec![0.0; cols];
            for k in 0..rank {
                let share: f64 = left.col(k).iter().zip(&r).map(|(u, r)| u * r).sum::<f64>() / svd.singular[k];
                for (s, v) in step.iter_mut().zip(right.col(k)) {
                    *s += share * v;
                }
            }
            for j in 0..cols {
                x[j] = x[j].add(step[j]).normalised();
                corrections[j] = step[j].abs();
            }
        }
        let mut sensitivities = vec![0.0; cols];
        let mut through = 0.0;
        for k in 0..rank {
            let v = right.col(k);
            for (s, v) in sensitivities.iter_mut().zip(v) {
                *s += (v / svd.singular[k]).powi(2);
            }
            through += (functional.iter().zip(v).map(|(c, v)| c * v).sum::<f64>() / svd.singular[k]).powi(2);
        }
        let smallest = if rank == 0 { largest } else { svd.singular[rank - 1] };
        Ok(Solved {
            x,
            corrections,
            sensitivities: sensitivities.into_iter().map(f64::sqrt).collect(),
            functional_sensitivity: through.sqrt(),
            rank,
            condition: if largest > 0.0 { largest / smallest } else { 1.0 },
        })
    }
}

pub(crate) fn norm(v: &[f64]) -> f64 {
    let largest = v.iter().fold(0.0, |max: f64, x| max.max(x.abs()));
    if largest == 0.0 || !largest.is_finite() {
        return largest;
    }
    largest * v.iter().map(|x| (x / largest).powi(2)).sum::<f64>().sqrt()
}

pub(crate) fn transposed(a: &Matrix) -> Matrix {
    Matrix::from_fn(a.cols(), a.rows(), |i, j| a.get(j, i))
}
