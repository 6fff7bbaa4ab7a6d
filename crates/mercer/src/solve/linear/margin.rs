//! Linear classifiers and support vector regression: (1/W) Σ wᵢ loss(yᵢ, xᵢᵀw + b) + λ‖w‖².
//!
//! | columns (or rows) | smooth loss | loss with corners |
//! |---|---|---|
//! | few | Newton in the primal | primal-dual interior point (and Huber's loss) |
//! | many | Newton with conjugate gradients | dual coordinate descent |
//!
//! With more columns than rows, w = Qv for an orthogonal Q and as many v as rows: the problem is solved in v.

mod descent;
pub(super) mod hessian;
mod interior;
mod newton;

use rayon::prelude::*;

use super::gap::{Gap, margin_gap};
use super::{Features, LinearSolution, check};
use crate::base::error::{Error, Result};
use crate::linalg::{Matrix, PivotedQr};

pub use crate::term::loss::pieces::MarginLoss;

/// How a linear classifier or support vector machine is solved.
#[derive(Clone, Copy)]
pub struct MarginSettings<'a> {
    /// Whether there is an offset b.
    pub offset: bool,
    /// The relative duality gap at which a solution is good enough.
    pub tolerance: f64,
    /// Iterations (Newton, interior point) or passes over the rows (dual descent) before giving up.
    pub most_iterations: usize,
    /// Asked every few milliseconds; `false` ends with [`Error::Interrupted`].
    pub go_on: &'a (dyn Fn() -> bool + Sync),
}

impl Default for MarginSettings<'_> {
    fn default() -> Self {
        MarginSettings { offset: true, tolerance: 1e-8, most_iterations: 1000, go_on: &|| true }
    }
}

/// What the solvers are given.
pub(crate) struct Problem<'a> {
    pub x: &'a Features,
    pub y: &'a [f64],
    pub weights: Option<&'a [f64]>,
    /// W.
    pub total: f64,
    pub lambda: f64,
    pub loss: MarginLoss,
}

impl Problem<'_> {
    pub fn weight(&self, i: usize) -> f64 {
        self.weights.map_or(1.0, |w| w[i])
    }

    /// Whether an objective is nothing beside that of f = 0: rows that can all be met leave no unit to measure a gap in.
    fn is_nothing(&self, objective: f64) -> bool {
        let zero = row_sum(self.y.len(), |i| self.weight(i) * self.loss.value(self.y[i], 0.0)) / self.total;
        objective <= 1e-14 * zero
    }

    /// The gap in twice the precision, kept in the state; relative.
    fn judge(&self, state: &mut State, offset: bool) -> Result<f64> {
        let gap =
            margin_gap(self.x, self.y, self.weights, offset, self.lambda, self.loss, &state.w, state.b, &state.dual)?;
        state.gap = Some(gap);
        Ok(gap.relative())
    }

    /// A relative gap cheap enough for every iteration: from the sums of the losses at f = Xw + b and of −loss*(−u), and
    /// g = Xᵀ(weights∘u).
    fn rough_gap(&self, losses: f64, conjugates: f64, g: &[f64], w: &[f64]) -> f64 {
        let square = |v: &[f64]| v.iter().map(|v| v * v).sum::<f64>();
        let primal = losses / self.total + self.lambda * square(w);
        let dual = conjugates / self.total - square(g) / (4.0 * self.lambda * self.total * self.total);
        if primal > 0.0 { (primal - dual) / primal } else { 0.0 }
    }
}

/// Σ over rows on all cores, in chunks that are added in order.
pub(crate) fn row_sum(rows: usize, term: impl Fn(usize) -> f64 + Sync) -> f64 {
    const CHUNK: usize = 2048;
    let sum = |chunk: usize| (chunk * CHUNK..((chunk + 1) * CHUNK).min(rows)).map(&term).sum::<f64>();
    let parts: Vec<f64> = (0..rows.div_ceil(CHUNK)).into_par_iter().map(sum).collect();
    parts.iter().sum()
}

/// Where a solver stands.
pub(crate) struct State {
    pub w: Vec<f64>,
    pub b: f64,
    /// The negated slopes of the losses, or what the dual solver has for them.
    pub dual: Vec<f64>,
    pub iterations: usize,
    /// The gap of this very state, once it was computed.
    pub gap: Option<Gap>,
}

impl State {
    fn new(columns: usize, rows: usize) -> Self {
        State { w: vec![0.0; columns], b: 0.0, dual: vec![0.0; rows], iterations: 0, gap: None }
    }
}

/// Columns up to which p × p matrices are formed and factored.
const MOST_DENSE: usize = 2000;
/// n·p² beyond which that is too slow for an interior point.
const MOST_WORK: f64 = 4e11;

/// Minimises (1/W) Σ wᵢ loss(yᵢ, xᵢᵀw + b) + λ‖w‖², λ > 0. Labels of a classifier are 1 and −1.
///
/// The relative gap that is given back was recomputed in twice the precision by [`margin_gap`].
pub fn margin(
    x: &Features,
    y: &[f64],
    weights: Option<&[f64]>,
    lambda: f64,
    loss: MarginLoss,
    settings: &MarginSettings<'_>,
) -> Result<LinearSolution> {
    with_dual(x, y, weights, lambda, loss, settings).map(|(solution, _)| solution)
}

/// [`margin`](fn@margin) with the point of the dual problem that proves it: the negated slope of every row's loss.
pub(crate) fn with_dual(
    x: &Features,
    y: &[f64],
    weights: Option<&[f64]>,
    lambda: f64,
    loss: MarginLoss,
    settings: &MarginSettings<'_>,
) -> Result<(LinearSolution, Vec<f64>)> {
    let total = check(x, y, weights)?;
    if !(lambda > 0.0 && lambda.is_finite()) {
        return Err(Error::argument("lambda", "positive", lambda));
    }
    loss.check(y)?;
    let problem = Problem { x, y, weights, total, lambda, loss };
    let mut state = if x.cols() > x.rows() && x.rows() <= MOST_DENSE && x.rows() * x.cols() <= 1 << 27 {
        reduced(&problem, settings)?
    } else {
        solve(&problem, settings)?
    };
    let relative_gap = match state.gap {
        Some(gap) => gap.relative(),
        None => problem.judge(&mut state, settings.offset)?,
    };
    // A gap that is no number proves nothing.
    let relative_gap = if relative_gap.is_nan() { f64::INFINITY } else { relative_gap.max(0.0) };
    let is_nothing = state.gap.is_some_and(|gap| problem.is_nothing(gap.primal));
    let dual = std::mem::take(&mut state.dual);
    let solution = LinearSolution {
        nonzero: state.w.iter().filter(|w| **w != 0.0).count(),
        coefficients: state.w,
        intercept: state.b,
        objective: state.gap.map_or(f64::NAN, |gap| gap.primal),
        relative_gap,
        dof: None,
        converged: relative_gap <= settings.tolerance || is_nothing,
        iterations: state.iterations,
    };
    Ok((solution, dual))
}

fn solve(problem: &Problem<'_>, settings: &MarginSettings<'_>) -> Result<State> {
    let (n, p) = (problem.x.rows() as f64, problem.x.cols());
    let is_inner = p <= MOST_DENSE && n * (p as f64).powi(2) <= MOST_WORK;
    if problem.loss.is_smooth() && !(is_inner && matches!(problem.loss, MarginLoss::Huber(_))) {
        return newton::solve(problem, settings, p <= MOST_DENSE);
    }
    if is_inner {
        return interior::solve(problem, settings);
    }
    descent::solve(problem, settings)
}

/// Xᵀ = Q R: the problem in v = Qᵀw, with the rows of Rᵀ for features.
fn reduced(problem: &Problem<'_>, settings: &MarginSettings<'_>) -> Result<State> {
    let (rows, cols) = (problem.x.rows(), problem.x.cols());
    let x = problem.x.to_dense();
    let qr = PivotedQr::new(Matrix::from_fn(cols, rows, |i, j| x.get(j, i)))?;
    let small = Features::Dense(qr.transposed_triangle());
    let mut state = solve(&Problem { x: &small, ..*problem }, settings)?;
    state.w.resize(cols, 0.0);
    qr.apply_q(&mut state.w)?;
    // Judged again in the features that were given.
    state.gap = None;
    Ok(state)
}
