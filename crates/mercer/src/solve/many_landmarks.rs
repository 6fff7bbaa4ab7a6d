//! Landmark models with thousands of landmarks: ‖y − K_nm β − b‖²_w + γ βᵀK_mm β by conjugate gradients, K_nm in rows that are
//! computed when they are needed and never kept (after Rudi, Carratino and Rosasco's Falkon).
//!
//! Landmarks are random pivots among a sample of twice as many rows, which gives K_mm = LLᵀ and the features φ(x) = L⁻¹k(x) of the
//! sample. In v = Lᵀβ the system is (ΦᵀWPΦ + γI)v = ΦᵀWPy, P the projection on what the offset leaves, and the sample's own
//! ΦᵀΦ, times the rows it stands for, preconditions it. An answer v̂ whose gradient is g is within ‖g‖/γ of v, and its
//! predictions within κ‖g‖/γ: by that iterations end, and by the same from kernel values made afresh the answer is judged.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;
use rayon::prelude::*;

use super::Solution;
use super::conjugate_gradient::{Goal, RootSearch, Watch, descend, unit};
use crate::base::error::{Error, Result};
use crate::linalg::norm;
use crate::linalg::{Cholesky, Matrix, Parts, double, lower_square, solve_lower, solve_lower_transposed};
use crate::path::check_size;
use crate::path::power::{Minimum, Stationary, shift_of_ridge};
use crate::solve::certificate::LowRank;
use crate::space;
use crate::space::low_rank;
use crate::term::criterion::folds::drawn;
use crate::term::kernel::{Kernel, Points};

/// Rows of the sample for every landmark.
const SAMPLE: usize = 2;
/// Shares of the rows, each with sums of its own.
const SHARES: usize = 8;
/// Runs on what the one before left.
const MOST_RUNS: usize = 5;
/// Ridges that are tried for an exponent other than 2.
const MOST_RIDGES: usize = 40;
/// Units of rounding that a product with the system's matrix may be off by.
const ROUNDING_UNITS: f64 = 8.0;
/// A residual of this share of the diagonal is rounding.
const ROUNDING: f64 = 1e-14;

/// The rows, and how closely they are to be solved for.
pub(crate) struct ManyLandmarks<'a> {
    pub kernel: &'a dyn Kernel,
    pub points: &'a Points,
    pub weights: Option<&'a [f64]>,
    pub offset: bool,
    /// The error of a prediction, in units of the target's spread, at which iterations end.
    pub accuracy: f64,
    pub rank: usize,
    pub seed: u64,
    pub watch: &'a Watch<'a>,
}

/// Landmarks with what one pass over the rows told.
pub(crate) struct System<'a> {
    settings: &'a ManyLandmarks<'a>,
    /// Rows of the table.
    pub landmarks: Vec<usize>,
    centres: Points,
    /// L.
    lower: Matrix,
    /// ΦᵀWPΦ of the sample, times the rows that it stands for; lower triangle.
    sample_square: Matrix,
    /// tr(K − ΦΦᵀ)/tr K of the sample.
    residual_share: f64,
    weight_sum: f64,
    /// K_mn w, for the offset.
    means: Vec<f64>,
    /// The largest √k(x, x).
    height: f64,
}

impl<'a> System<'a> {
    pub fn new(settings: &'a ManyLandmarks<'a>) -> Result<Self> {
        let (kernel, points) = (settings.kernel, settings.points);
        let n = points.rows();
        let mut diagonal = vec![0.0; n];
        kernel.diagonal(points, 0, &mut diagonal);
        let largest = Matrix::column_vector(diagonal.clone()).max_abs();
        check_size(largest)?;
        settings.watch.enter("pivoting")?;
        let mut random = ChaCha8Rng::seed_from_u64(settings.seed);
        let mut sample: Vec<usize> = drawn(n, &mut random).take(SAMPLE * settings.rank).collect();
        sample.sort_unstable();
        let factor = low_rank::factor(kernel, &points.subset(&sample), ROUNDING, settings.rank, settings.seed);
        let lower = factor.at_pivots();
        let landmarks: Vec<usize> = factor.pivots.iter().map(|pivot| sample[*pivot]).collect();
        let of_sample: f64 = sample.iter().map(|row| diagonal[*row]).sum();
        let residual_share = factor.residual.iter().sum::<f64>() / of_sample.max(f64::MIN_POSITIVE);
        let weight = |i: usize| settings.weights.map_or(1.0, |w| w[i]);
        let weight_sum: f64 = (0..n).map(weight).sum();
        settings.watch.enter("preconditioning")?;
        let mut features = factor.matrix;
        let share = weight_sum / sample.iter().map(|row| weight(*row)).sum::<f64>();
        for k in 0..features.cols() {
            let column = features.col_mut(k);
            let total: f64 = sample.iter().map(|row| weight(*row)).sum();
            let mean = column.iter().zip(&sample).map(|(f, row)| weight(*row) * f).sum::<f64>() / total;
            let mean = if settings.offset { mean } else { 0.0 };
            column.iter_mut().zip(&sample).for_each(|(f, row)| *f = (share * weight(*row)).sqrt() * (*f - mean));
        }
        let sample_square = lower_square(&features);
        drop(features);
        let centres = points.subset(&landmarks);
        let mut system = System {
            settings,
            landmarks,
            centres,
            lower,
            sample_square,
            residual_share,
            weight_sum,
            means: Vec::new(),
            height: largest.sqrt(),
        };
        let weights = Matrix::column_vector((0..n).map(weight).collect());
        system.means = system.gathered(&weights)?.into_vec();
        Ok(system)
    }

    pub fn rank(&self) -> usize {
        self.landmarks.len()
    }

    /// What landmarks leave, on the sample; no bound of the distance from all rows is computed.
    pub fn certificate(&self) -> LowRank {
        LowRank { rank: self.rank(), residual_share: self.residual_share, bound_at_rows: None, bound_anywhere: None }
    }

    /// The minimiser for one target, m > 1, and whether its gradient is as small as was asked for.
    pub fn solve(&self, y: &[f64], exponent: f64, lambda: f64) -> Result<(Solution, bool)> {
        if !(exponent > 1.0) {
            return Err(Error::argument("the exponent", "above 1 for conjugate gradients", exponent));
        }
        // Beyond 1e±150 squares would leave the range of numbers: in units of 2ᵏ they do not.
        let power = unit(y);
        let y: &[f64] = &y.iter().map(|v| libm::ldexp(*v, -power)).collect::<Vec<f64>>();
        let weight = |i: usize| self.settings.weights.map_or(1.0, |w| w[i]);
        let n = y.len();
        let mean = if self.settings.offset {
            double::sum((0..n).map(|i| weight(i) * y[i])).value() / self.weight_sum
        } else {
            0.0
        };
        let centred: Vec<f64> = y.iter().map(|v| v - mean).collect();
        let spread =
            norm(&(0..n).map(|i| weight(i).sqrt() * centred[i]).collect::<Vec<f64>>()) / self.weight_sum.sqrt();
        let mut rhs = self.gathered(&Matrix::column_vector((0..n).map(|i| weight(i) * centred[i]).collect()))?;
        solve_lower(&self.lower, &mut rhs);
        let minimum = |t: Option<f64>, residual: f64| Minimum {
            log_ridge: t,
            stationary: t.map(|log_ridge| Stationary { log_ridge, is_minimum: true }).into_iter().collect(),
            root_residual: residual,
            firmness: if exponent == 2.0 { 1.0 } else { (exponent - 1.0).min(1.0) },
            is_counted: true,
        };
        if norm(rhs.as_slice()) == 0.0 {
            let v = vec![0.0; self.rank()];
            let measured = self.measure(&v, y, 1.0)?;
            let solution = self.solution(&v, measured, minimum(None, 0.0), spread, 1.0, exponent);
            return Ok((solution.in_units(power), true));
        }
        let mut search = RootSearch::new(exponent, lambda).in_units(power);
        let mut t = search.start();
        let mut v = Matrix::zeros(self.rank(), 1);
        let mut residual = f64::INFINITY;
        let (mut solved, mut gamma) = (None, 0.0);
        // The ridge follows the norm, and needs it more closely than predictions do.
        let tightness = if exponent == 2.0 { 1.0 } else { 0.1 / (1.0 + (exponent - 2.0).abs()) };
        for step in 0..MOST_RIDGES {
            gamma = libm::exp(t) * self.weight_sum;
            if !(gamma > 0.0 && gamma.is_finite()) {
                return Err(Error::Decomposition("the effective ridge leaves the range of numbers".into()));
            }
            let inverse = self.preconditioner(gamma)?;
            let enough = tightness * self.enough(gamma, spread);
            let warm = (step > 0).then(|| v.clone());
            v = self.run(&rhs, warm, gamma, &inverse, 0.5 * enough / norm(rhs.as_slice()))?;
            // What is left is measured with kernel values made afresh, and solved for once more.
            let mut measured = self.measure(v.as_slice(), y, gamma)?;
            for _ in 0..MOST_RUNS {
                if norm(&measured.gradient) <= enough {
                    break;
                }
                let rest = Matrix::column_vector(measured.gradient.clone());
                let change = self.run(&rest, None, gamma, &inverse, 1e-3)?;
                let next: Vec<f64> = v.as_slice().iter().zip(change.as_slice()).map(|(v, c)| v + c).collect();
                let after = self.measure(&next, y, gamma)?;
                if norm(&after.gradient) >= 0.5 * norm(&measured.gradient) {
                    break;
                }
                (v, measured) = (Matrix::column_vector(next), after);
            }
            let squared_norm = double::dot(v.as_slice(), v.as_slice()).value();
            let h = search.height(t, squared_norm);
            let is_last = step + 1 == MOST_RIDGES || !h.is_finite();
            if exponent != 2.0 && (is_last || h.abs() * gamma * squared_norm.sqrt() <= 0.5 * self.enough(gamma, spread))
            {
                // The ridge that belongs to this norm; what the step leaves is part of the gradient.
                t -= h;
                let moved = libm::exp(t) * self.weight_sum;
                measured.gradient.iter_mut().zip(v.as_slice()).for_each(|(g, v)| *g -= (moved - gamma) * v);
                gamma = moved;
                residual = search.height(t, squared_norm).abs();
            }
            let is_found = exponent == 2.0 || residual < f64::INFINITY;
            solved = Some(measured);
            if is_found {
                break;
            }
            t = search.next(t, h);
        }
        let residual = if exponent == 2.0 { 0.0 } else { residual };
        let Some(measured) = solved else { return Err(Error::Decomposition("the ridge was not found".into())) };
        let enough = (1.5 * self.enough(gamma, spread)).max(self.rounding(v.as_slice(), &measured));
        let is_reached = norm(&measured.gradient) <= enough;
        let solution = self.solution(v.as_slice(), measured, minimum(Some(t), residual), spread, gamma, exponent);
        Ok((solution.in_units(power), is_reached))
    }

    /// What rounding may leave of a gradient: of ΦᵀWΦv, whose matrix has at most the size Wκ², and of the sums K_mn(w(y − f − b)), of
    /// which L⁻¹ makes up to 1/min Lₖₖ as much.
    fn rounding(&self, v: &[f64], measured: &Measured) -> f64 {
        let height = self.height * self.height;
        let least = (0..self.rank()).map(|k| self.lower.get(k, k)).fold(f64::INFINITY, f64::min);
        let sums = (self.rank() as f64 * self.weight_sum * measured.train_mse).sqrt() * height / least;
        ROUNDING_UNITS * f64::EPSILON * (self.weight_sum * height * norm(v) + sums)
    }

    fn reach(&self) -> f64 {
        if self.settings.offset { 2.0 * self.height } else { self.height }
    }

    /// ‖g‖ at which κ‖g‖/γ is the accuracy.
    fn enough(&self, gamma: f64, spread: f64) -> f64 {
        self.settings.accuracy * spread * gamma / self.reach().max(f64::MIN_POSITIVE)
    }

    /// The sample's system at the ridge γ, factored; the ridge is raised where rounding asks for it.
    fn preconditioner(&self, gamma: f64) -> Result<Cholesky> {
        let trace: f64 = (0..self.rank()).map(|k| self.sample_square.get(k, k)).sum();
        let factored = Cholesky::with_ridge(&self.sample_square, gamma.max(4.0 * f64::EPSILON * trace));
        let problem = || Error::Decomposition("the landmarks' matrix is not positive definite".into());
        factored.map(|(factor, _)| factor).ok_or_else(problem)
    }

    fn run(&self, rhs: &Matrix, start: Option<Matrix>, gamma: f64, inverse: &Cholesky, share: f64) -> Result<Matrix> {
        let precondition = |r: &Matrix| {
            let mut out = r.clone();
            inverse.solve(&mut out);
            out
        };
        let goal = Goal::share(rhs, share);
        let (v, _) = descend(|v| self.apply(v, gamma), precondition, rhs, start, &goal, self.settings.watch)?;
        Ok(v)
    }

    /// (ΦᵀWPΦ + γ)v in one pass over the rows.
    fn apply(&self, v: &Matrix, gamma: f64) -> Result<Matrix> {
        let u = solve_lower_transposed(&self.lower, v.as_slice());
        let (mut sums, total) = self.both_ways(&u)?;
        if self.settings.offset {
            let mean = total / self.weight_sum;
            sums.iter_mut().zip(&self.means).for_each(|(s, m)| *s -= mean * m);
        }
        let mut out = Matrix::column_vector(sums);
        solve_lower(&self.lower, &mut out);
        out.as_mut_slice().iter_mut().zip(v.as_slice()).for_each(|(o, v)| *o += gamma * v);
        Ok(out)
    }

    /// K_mn W K_nm u and wᵀK_nm u.
    fn both_ways(&self, u: &[f64]) -> Result<(Vec<f64>, f64)> {
        let weight = |i: usize| self.settings.weights.map_or(1.0, |w| w[i]);
        self.over_rows(|row, values, sums| {
            let mut product = Parts::default();
            product.add_products(values, u);
            let pull = weight(row) * product.total();
            add_scaled(sums, pull, values);
            pull
        })
    }

    /// K_mn c.
    fn gathered(&self, c: &Matrix) -> Result<Matrix> {
        let (sums, _) = self.over_rows(|row, values, sums| {
            add_scaled(sums, c.get(row, 0), values);
            0.0
        })?;
        Ok(Matrix::column_vector(sums))
    }

    /// Sums over all rows, given each row's kernel values at the landmarks: in shares that are added in order.
    fn over_rows(&self, one: impl Fn(usize, &[f64], &mut [f64]) -> f64 + Sync) -> Result<(Vec<f64>, f64)> {
        let n = self.settings.points.rows();
        let share = n.div_ceil(SHARES);
        let parts: Vec<(Vec<f64>, f64)> = (0..SHARES)
            .into_par_iter()
            .map(|part| {
                let mut values = vec![0.0; self.rank()];
                let (mut sums, mut total) = (vec![0.0; self.rank()], 0.0);
                for row in part * share..((part + 1) * share).min(n) {
                    if row % 256 == 0 {
                        self.settings.watch.poll()?;
                    }
                    let at = |x: crate::term::kernel::Point<'_>| {
                        self.settings.kernel.values(x, &self.centres, 0, &mut values);
                    };
                    self.settings.points.with_point(row, at);
                    total += one(row, &values, &mut sums);
                }
                Ok((sums, total))
            })
            .collect::<Result<_>>()?;
        let (mut sums, mut total) = (vec![0.0; self.rank()], 0.0);
        for (part, sum) in &parts {
            sums.iter_mut().zip(part).for_each(|(s, p)| *s += p);
            total += sum;
        }
        Ok((sums, total))
    }

    /// f + b at the rows from kernel values made afresh, and the gradient there.
    fn measure(&self, v: &[f64], y: &[f64], gamma: f64) -> Result<Measured> {
        let weight = |i: usize| self.settings.weights.map_or(1.0, |w| w[i]);
        let beta = solve_lower_transposed(&self.lower, v);
        let points = self.settings.points;
        let values = space::evaluate(self.settings.kernel, &self.centres, &Matrix::column_vector(beta.clone()), points);
        let open: Vec<f64> = values.col(0).iter().zip(y).map(|(f, y)| y - f).collect();
        let offset = if self.settings.offset {
            double::sum((0..y.len()).map(|i| weight(i) * open[i])).value() / self.weight_sum
        } else {
            0.0
        };
        let pulls: Vec<f64> = (0..y.len()).map(|i| weight(i) * (open[i] - offset)).collect();
        let square = double::sum((0..y.len()).map(|i| pulls[i] * (open[i] - offset))).value();
        let mut forces = self.gathered(&Matrix::column_vector(pulls))?;
        solve_lower(&self.lower, &mut forces);
        let gradient = forces.as_slice().iter().zip(v).map(|(f, v)| f - gamma * v).collect();
        let fitted = values.col(0).iter().map(|f| f + offset).collect();
        Ok(Measured { beta, offset, fitted, gradient, train_mse: square / self.weight_sum })
    }

    fn solution(
        &self,
        v: &[f64],
        measured: Measured,
        minimum: Minimum,
        spread: f64,
        gamma: f64,
        exponent: f64,
    ) -> Solution {
        let size = norm(v);
        let distance = norm(&measured.gradient) / gamma;
        // ‖f‖ is off by at most that distance, and its ridge by what that leaves open.
        let shift = if size == 0.0 {
            0.0
        } else {
            shift_of_ridge(exponent, distance / size, minimum.root_residual) * (size + distance)
        };
        let error = self.reach() * (distance + shift) / spread;
        let trace: f64 = (0..self.rank()).map(|k| self.sample_square.get(k, k)).sum();
        let is_constant = minimum.log_ridge.is_none();
        Solution {
            coefficients: measured.beta,
            offset: measured.offset,
            fitted: measured.fitted,
            norm: size,
            train_mse: measured.train_mse,
            dof: None,
            solve_residual: if is_constant { 0.0 } else { norm(&measured.gradient) / (gamma * size) },
            relative_error: if is_constant {
                f64::EPSILON
            } else if error.is_finite() {
                error.max(f64::EPSILON)
            } else {
                1.0
            },
            condition: (trace + gamma) / gamma,
            minimum,
        }
    }
}

/// A model on the rows.
struct Measured {
    beta: Vec<f64>,
    offset: f64,
    fitted: Vec<f64>,
    /// Φᵀ(w(y − f − b)) − γv.
    gradient: Vec<f64>,
    train_mse: f64,
}

fn add_scaled(sums: &mut [f64], factor: f64, values: &[f64]) {
    crate::linalg::simd::vectorize(
        #[inline(always)]
        || sums.iter_mut().zip(values).for_each(|(s, v)| *s += factor * v),
    );
}
