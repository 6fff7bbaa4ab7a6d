//! Kernel ridge regression on all rows without the matrix: conjugate gradients, K in tiles that are computed when they are
//! needed, as many of them kept as memory allows.
//!
//! In scaled coordinates (s = √w, β = α/s) the system is A β = b with A = P(SKS)P + γI and b = P(s∘y), P the projection on
//! what the offset leaves. It is preconditioned by (F̃F̃ᵀ + γI)⁻¹, F̃ = PSF from randomly pivoted Cholesky, so that the first
//! iterate *is* the fit on those landmarks and the others take away what it lacks.
//!
//! Every answer is measured by its true residual r, from kernel values made afresh and sums in twice the precision. With
//! f̂ = Σ α̂ᵢk(·, xᵢ) and M = P(SKS)P,
//!
//! > ‖f − f̂‖² = rᵀA⁻¹MA⁻¹r ≤ ‖r‖²/(4γ),   since d/(d + γ)² ≤ 1/(4γ) for every eigenvalue d,
//!
//! and a prediction is off by at most κ‖f − f̂‖, κ the length of the (centred) features: that bound is what the iterations
//! stop by and what becomes digits. For an exponent m > 1 other than 2 the ridge is the root of h (see
//! [`power`](crate::path::power)), found from the landmarks' own root by a few more solutions, each from the one before.

mod descent;
mod judged;
mod preconditioner;
mod root;
mod tiles;
mod watch;

use super::Solution;
use super::refine::refine;
use crate::base::error::{Error, Result};
use crate::linalg::norm;
use crate::linalg::{Matrix, exponent_of};
use crate::path::check_size;
use crate::path::power::{self, Minimum, Stationary};
use crate::space::low_rank;
use crate::term::kernel::{Kernel, Points};
pub(crate) use descent::{Goal, descend};
use preconditioner::Preconditioner;
pub(crate) use root::RootSearch;
pub(crate) use tiles::KernelTiles;
pub(crate) use watch::Watch;

/// Runs of conjugate gradients, each on the true residual of the one before.
const MOST_RUNS: usize = 6;
/// Ridges that are tried for an exponent other than 2.
const MOST_RIDGES: usize = 40;
/// How often a solution is made again more closely so that its ridge belongs to its norm.
const MOST_ROUNDS: usize = 4;
/// The residual of the landmarks at which more of them would only follow rounding.
const ROUNDING: f64 = 1e-14;

/// The rows, and how closely they are to be solved for.
pub(crate) struct Gradients<'a> {
    pub kernel: &'a dyn Kernel,
    pub points: &'a Points,
    pub weights: Option<&'a [f64]>,
    pub offset: bool,
    /// The error of a prediction, in units of the target's spread, at which iterations end.
    pub accuracy: f64,
    /// Landmarks of the preconditioner.
    pub rank: usize,
    /// Bytes that kept tiles may take.
    pub memory: u64,
    pub seed: u64,
    pub watch: &'a Watch<'a>,
}

/// Targets that share one effective ridge, and their penalty λ‖f‖ᵐ.
pub(crate) struct Group<'a> {
    pub targets: Vec<&'a [f64]>,
    pub exponent: f64,
    pub lambda: f64,
}

/// The solutions of a group.
pub(crate) struct Solved {
    pub solutions: Vec<Solution>,
    /// Whether the residual of each is as small as the accuracy asks for.
    pub are_reached: Vec<bool>,
}

/// P(s∘y), one column per target, each in its own unit 2ᵏ.
struct RightSide {
    columns: Matrix,
    units: Vec<i32>,
}

/// A prepared system: landmarks drawn, tiles laid out.
pub(crate) struct System<'a> {
    settings: &'a Gradients<'a>,
    root_weights: Option<Vec<f64>>,
    weight_sum: f64,
    tiles: KernelTiles<'a>,
    preconditioner: Preconditioner,
    /// The largest √k(x, x) of the rows.
    height: f64,
    /// ‖P(SKS)P‖ ≤ ‖F̃F̃ᵀ‖ + tr of what F leaves.
    size: f64,
}

impl<'a> System<'a> {
    pub fn new(settings: &'a Gradients<'a>) -> Result<Self> {
        let (kernel, points) = (settings.kernel, settings.points);
        let mut diagonal = vec![0.0; points.rows()];
        kernel.diagonal(points, 0, &mut diagonal);
        let largest = Matrix::column_vector(diagonal).max_abs();
        check_size(largest)?;
        settings.watch.enter("pivoting")?;
        let factor = low_rank::factor(kernel, points, ROUNDING, settings.rank, settings.seed);
        let weight = |i: usize| settings.weights.map_or(1.0, |w| w[i]);
        let left: f64 = factor.residual.iter().enumerate().map(|(i, e)| weight(i) * e).sum();
        let root_weights: Option<Vec<f64>> = settings.weights.map(|w| w.iter().map(|w| w.sqrt()).collect());
        settings.watch.enter("preconditioning")?;
        let preconditioner = Preconditioner::new(factor.matrix, root_weights.as_deref(), settings.offset);
        Ok(System {
            tiles: KernelTiles::new(kernel, points, settings.memory),
            weight_sum: (0..points.rows()).map(weight).sum(),
            size: preconditioner.size() + left,
            height: largest.sqrt(),
            preconditioner,
            root_weights,
            settings,
        })
    }

    /// The minimiser for the targets of a group; m > 1.
    pub fn solve(&mut self, group: &Group<'_>) -> Result<Solved> {
        if !(group.exponent > 1.0) {
            let must =
                "above 1 for conjugate gradients: others may have several minima, which only a spectrum tells apart";
            return Err(Error::argument("the exponent", must, group.exponent));
        }
        let right = self.right_side(&group.targets);
        let (rows, columns) = (right.columns.rows(), right.columns.cols());
        let sizes: Vec<f64> = (0..columns).map(|t| norm(right.columns.col(t))).collect();
        let mut search = RootSearch::new(group.exponent, group.lambda);
        // Nothing to follow, or a ridge beside which the kernel vanishes: f = 0.
        let is_empty = sizes.iter().all(|size| *size <= 1e-14 * (rows as f64).sqrt());
        let only = |t: f64| Stationary { log_ridge: t, is_minimum: true };
        let minimum = |t: Option<f64>, residual: f64| Minimum {
            log_ridge: t,
            stationary: t.map(only).into_iter().collect(),
            root_residual: residual,
            firmness: if group.exponent == 2.0 { 1.0 } else { (group.exponent - 1.0).min(1.0) },
            is_counted: true,
        };
        let start = if group.exponent == 2.0 {
            Some(libm::log(group.lambda))
        } else {
            let mut path = self.preconditioner.path(&right.columns, &right.units, self.weight_sum);
            power::minimise(&mut path, group.exponent, libm::log(group.lambda), None).log_ridge
        };
        let Some(mut t) = start.filter(|t| !is_empty && self.gamma(*t) <= 1e250 * self.size.max(1e-50)) else {
            let t = if is_empty { None } else { start };
            let solutions = group.targets.iter().map(|y| self.constant(y, &minimum(t, 0.0))).collect();
            return Ok(Solved { solutions, are_reached: vec![true; group.targets.len()] });
        };
        let mut beta = Matrix::zeros(rows, columns);
        // The ridge follows the norm, and needs it more closely than predictions do.
        let tightness = 0.05 / (1.0 + (group.exponent - 2.0).abs());
        if group.exponent != 2.0 {
            t = self.root(&mut search, &right, t, tightness, &mut beta)?;
        }
        // α in the targets' own units, measured; with another exponent the ridge follows the norm that was measured.
        let mut tightness = if group.exponent == 2.0 { 1.0 } else { tightness };
        for round in 0.. {
            let solutions = self.measured(group, &right, &mut beta, t, Some(tightness), &minimum(Some(t), 0.0))?;
            if group.exponent == 2.0 {
                let are_reached = self.are_reached(&solutions, group, t);
                return Ok(Solved { solutions, are_reached });
            }
            let norm_of = |solutions: &[Solution]| solutions.iter().map(|s| s.norm * s.norm).sum::<f64>();
            // The ridge that belongs to the norm that was measured; what the step leaves is part of the residual there.
            t -= search.height(t, norm_of(&solutions));
            let solutions = self.measured(group, &right, &mut beta, t, None, &minimum(Some(t), 0.0))?;
            let are_reached = self.are_reached(&solutions, group, t);
            if are_reached.iter().all(|is_reached| *is_reached) || round >= MOST_ROUNDS || !t.is_finite() {
                let found = minimum(Some(t), search.height(t, norm_of(&solutions)).abs());
                let solutions = self.certified(solutions, group, &found);
                return Ok(Solved { solutions, are_reached });
            }
            tightness /= 30.0;
            t = self.root(&mut search, &right, t, tightness, &mut beta)?;
        }
        Err(Error::Decomposition("the effective ridge was not found".into()))
    }

    fn gamma(&self, log_ridge: f64) -> f64 {
        libm::exp(log_ridge + libm::log(self.weight_sum))
    }

    fn root_weight(&self, i: usize) -> f64 {
        self.root_weights.as_ref().map_or(1.0, |s| s[i])
    }

    /// P(s∘y) in units of 2ᵏ, one column per target.
    fn right_side(&self, targets: &[&[f64]]) -> RightSide {
        let units: Vec<i32> = targets.iter().map(|y| unit(y)).collect();
        let n = self.settings.points.rows();
        let mut out = Matrix::zeros(n, targets.len());
        for (t, y) in targets.iter().enumerate() {
            let column = out.col_mut(t);
            for i in 0..n {
                column[i] = self.root_weight(i) * libm::ldexp(y[i], -units[t]);
            }
            self.project(column);
            // Once more: the mean may be large beside the spread.
            self.project(column);
        }
        RightSide { columns: out, units }
    }

    /// What is left of a vector without its part along s.
    fn project(&self, v: &mut [f64]) {
        if !self.settings.offset {
            return;
        }
        let sum: f64 = v.iter().enumerate().map(|(i, x)| self.root_weight(i) * x).sum();
        let mean = sum / self.weight_sum;
        v.iter_mut().enumerate().for_each(|(i, x)| *x -= self.root_weight(i) * mean);
    }

    /// A x at the ridge γ.
    fn apply(&self, x: &Matrix, gamma: f64) -> Result<Matrix> {
        let mut scaled = x.clone();
        if let Some(s) = &self.root_weights {
            scaled.as_mut_slice().chunks_exact_mut(s.len()).for_each(|column| multiply_by(column, s));
        }
        let mut out = self.tiles.multiply(&scaled, &|| self.settings.watch.poll().is_ok())?;
        for t in 0..x.cols() {
            let column = out.col_mut(t);
            if let Some(s) = &self.root_weights {
                multiply_by(column, s);
            }
            self.project(column);
            column.iter_mut().zip(x.col(t)).for_each(|(a, x)| *a += gamma * x);
        }
        Ok(out)
    }

    /// A⁻¹ rhs from a start, until ‖r‖ is at most `shares` of `sizes`; also what is left.
    fn run(&self, rhs: &Matrix, start: Option<Matrix>, gamma: f64, goal: &Goal<'_>) -> Result<(Matrix, Matrix)> {
        descend(|x| self.apply(x, gamma), |r| self.preconditioner.apply(r), rhs, start, goal, self.settings.watch)
    }

    /// The share of ‖b‖ = spread·√W at which κ‖r‖/(2√γ) is the accuracy; an offset doubles κ.
    fn enough(&self, gamma: f64) -> f64 {
        let reach = if self.settings.offset { 2.0 * self.height } else { self.height };
        (self.settings.accuracy * 2.0 * (gamma / self.weight_sum).sqrt() / reach.max(1e-300)).min(1e-2)
    }

    /// The root of h, to what solutions that are not measured can tell; leaves the last of them in `beta`.
    fn root(
        &mut self,
        search: &mut RootSearch,
        right: &RightSide,
        start: f64,
        tightness: f64,
        beta: &mut Matrix,
    ) -> Result<f64> {
        let rhs = &right.columns;
        let (mut t, mut before) = (start, f64::INFINITY);
        for step in 0..MOST_RIDGES {
            let gamma = self.gamma(t);
            self.preconditioner.set_ridge(gamma);
            let is_warm = step > 0 || beta.as_slice().iter().any(|x| *x != 0.0);
            let (found, left) =
                self.run(rhs, is_warm.then(|| beta.clone()), gamma, &Goal::share(rhs, tightness * self.enough(gamma)))?;
            // N = βᵀ(b − r − γβ), each target in its own unit.
            let square = |c: usize| {
                let images = found.col(c).iter().zip(rhs.col(c)).zip(left.col(c));
                let sum: f64 = images.map(|((x, b), r)| x * (b - r - gamma * x)).sum();
                libm::ldexp(sum.max(0.0), 2 * right.units[c])
            };
            let squared_norm: f64 = (0..rhs.cols()).map(square).sum();
            *beta = found;
            let h = search.height(t, squared_norm);
            // A step of h changes the residual by γ|h|‖β‖, at most |h| of the right-hand side.
            let is_stuck = step > 1 && h.abs() > 0.5 * before;
            before = h.abs();
            if !h.is_finite() || is_stuck || h.abs() <= (0.1 * self.enough(gamma)).max(1e-13) {
                break;
            }
            t = search.next(t, h);
        }
        Ok(t)
    }

    /// Solves at log μ = t from `beta` on, with true residuals, to a share of what the accuracy asks for, and measures; without a
    /// share it only measures.
    fn measured(
        &mut self,
        group: &Group<'_>,
        right: &RightSide,
        beta: &mut Matrix,
        t: f64,
        tightness: Option<f64>,
        minimum: &Minimum,
    ) -> Result<Vec<Solution>> {
        let gamma = self.gamma(t);
        self.preconditioner.set_ridge(gamma);
        let (mut alpha, enough) = match tightness {
            Some(share) => {
                let enough = share * self.enough(gamma);
                let warm = beta.as_slice().iter().any(|x| *x != 0.0).then(|| beta.clone());
                (self.run(&right.columns, warm, gamma, &Goal::share(&right.columns, 0.5 * enough))?.0, enough)
            }
            None => (beta.clone(), f64::INFINITY),
        };
        for (c, power) in right.units.iter().enumerate() {
            let column = alpha.col_mut(c);
            column.iter_mut().enumerate().for_each(|(i, x)| *x = libm::ldexp(self.root_weight(i) * *x, *power));
        }
        let problem = self.problem(gamma);
        let failure = std::cell::RefCell::new(None);
        let measured = refine(&problem, alpha, &group.targets, MOST_RUNS, enough, |residual| {
            let power = unit(residual);
            let scaled: Vec<f64> = residual.iter().map(|r| libm::ldexp(*r, -power)).collect();
            let rest = Matrix::column_vector(scaled);
            match self.run(&rest, None, gamma, &Goal::share(&rest, 1e-3)) {
                Ok((change, _)) => {
                    let back = |(i, x): (usize, &f64)| libm::ldexp(self.root_weight(i) * x, power);
                    change.as_slice().iter().enumerate().map(back).collect()
                }
                Err(error) => {
                    *failure.borrow_mut() = Some(error);
                    vec![0.0; residual.len()]
                }
            }
        });
        if let Some(error) = failure.into_inner() {
            return Err(error);
        }
        let condition = (self.size + gamma) / gamma;
        let solutions: Vec<Solution> = measured
            .into_iter()
            .map(|measured| problem.solution(measured, minimum, group.exponent, None, condition))
            .collect();
        let solutions = self.certified(solutions, group, minimum);
        for (c, solution) in solutions.iter().enumerate() {
            let column = beta.col_mut(c);
            let alpha = &solution.coefficients;
            column
                .iter_mut()
                .enumerate()
                .for_each(|(i, x)| *x = libm::ldexp(alpha[i] / self.root_weight(i), -right.units[c]));
        }
        Ok(solutions)
    }
}

fn multiply_by(column: &mut [f64], s: &[f64]) {
    column.iter_mut().zip(s).for_each(|(x, s)| *x *= s);
}

/// k with 2ᵏ near the largest absolute value.
pub(crate) fn unit(y: &[f64]) -> i32 {
    let largest = y.iter().fold(0.0, |max: f64, v| max.max(v.abs()));
    if largest > 0.0 && largest.is_finite() { exponent_of(largest) } else { 0 }
}
