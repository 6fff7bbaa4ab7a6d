//! Cross-validation of many kernels and many λ: one Gram matrix per kernel, all folds on it, each fold's λ path warm-started.
//!
//! A fold is the whole problem with the boxes of its held-out rows shut: α is 0 there, and the values of f on these rows,
//! which the score needs, come out of the gradient that the solver keeps anyway. Nothing is copied.

use rayon::prelude::*;

use super::decompose::{self, Limits};
use super::store::Single;
use super::{BoxProblem, terms};
use crate::error::{Error, Result};
use crate::kernel::{Points, SharedKernel};
use crate::linalg::Matrix;
use crate::space::GramSource;

/// A [`BoxProblem`] that owns its lists, one entry per row.
#[derive(Debug, Clone, PartialEq)]
pub struct OwnedProblem {
    /// t.
    pub target: Vec<f64>,
    /// Lower bounds.
    pub lower: Vec<f64>,
    /// Upper bounds.
    pub upper: Vec<f64>,
    /// ε.
    pub epsilon: Vec<f64>,
    /// q.
    pub curvature: Vec<f64>,
    /// Whether Σ α = 0.
    pub has_offset: bool,
}

impl OwnedProblem {
    /// As the solvers take it.
    pub fn as_ref(&self) -> BoxProblem<'_> {
        BoxProblem {
            target: &self.target,
            lower: &self.lower,
            upper: &self.upper,
            epsilon: &self.epsilon,
            curvature: &self.curvature,
            has_offset: self.has_offset,
        }
    }
}

/// What is crossed with what.
pub struct Grid<'a> {
    /// Training rows.
    pub points: &'a Points,
    /// Kernels, fitted to the points. Those of one distance share its matrix.
    pub kernels: &'a [SharedKernel],
    /// The fold that holds out each row.
    pub fold_of: &'a [usize],
    /// Number of λ. Each starts from the solution of the one before, so they should fall.
    pub lambdas: usize,
    /// The problem of these training rows (one entry per row in the list) at a λ, given by its index.
    pub problem: &'a (dyn Fn(&[usize], usize) -> OwnedProblem + Sync),
    /// The loss of a row at a value f + b.
    pub loss: &'a (dyn Fn(usize, f64) -> f64 + Sync),
    /// Relative duality gap at which a fit is good enough to be compared.
    pub tolerance: f64,
    /// False cancels.
    pub go_on: &'a (dyn Fn() -> bool + Sync),
}

impl std::fmt::Debug for Grid<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Grid")
            .field("kernels", &self.kernels)
            .field("lambdas", &self.lambdas)
            .finish_non_exhaustive()
    }
}

/// One point of the grid.
#[derive(Debug, Clone, PartialEq)]
pub struct Held {
    /// f + b at every row, from the fit that did not see it.
    pub values: Vec<f64>,
    /// The mean loss of these.
    pub mean_loss: f64,
    /// The largest relative gap among the folds.
    pub worst_gap: f64,
}

/// Kernels whose Gram matrices are in memory together, so that cores do not wait for a last fold.
const TOGETHER: usize = 2;
/// Working sets per fit.
const MAX_ITERATIONS: usize = 400;

/// Fits every fold at every point of the grid: `result[kernel][lambda]`.
pub fn cross_validate(grid: &Grid<'_>) -> Result<Vec<Vec<Held>>> {
    let n = grid.points.rows();
    if grid.fold_of.len() != n {
        return Err(Error::shape("fold_of", format!("{n} numbers, one per row"), grid.fold_of.len()));
    }
    let folds = grid.fold_of.iter().map(|fold| fold + 1).max().unwrap_or(0);
    let source = GramSource::new(grid.points, grid.kernels);
    let mut out = Vec::with_capacity(grid.kernels.len());
    for kernels in grid.kernels.chunks(TOGETHER) {
        let grams: Vec<(Vec<f32>, Vec<f64>)> = kernels.iter().map(|kernel| single(source.lower(&**kernel))).collect();
        let tasks: Vec<(usize, usize)> =
            (0..kernels.len()).flat_map(|kernel| (0..folds).map(move |fold| (kernel, fold))).collect();
        let paths: Vec<Vec<Fold>> = tasks
            .par_iter()
            .with_max_len(1)
            .map(|(kernel, fold)| {
                let (gram, diagonal) = &grams[*kernel];
                fold_path(grid, &mut Single { gram, diagonal }, *fold)
            })
            .collect::<Result<_>>()?;
        for kernel in 0..kernels.len() {
            let paths = &paths[kernel * folds..(kernel + 1) * folds];
            out.push((0..grid.lambdas).map(|lambda| join(grid, paths, lambda)).collect());
        }
    }
    Ok(out)
}

/// What one fit of a fold gives.
struct Fold {
    values: Vec<f64>,
    gap: f64,
}

fn join(grid: &Grid<'_>, paths: &[Vec<Fold>], lambda: usize) -> Held {
    let n = grid.fold_of.len();
    let mut values = vec![0.0; n];
    for (fold, path) in paths.iter().enumerate() {
        let held: Vec<usize> = (0..n).filter(|i| grid.fold_of[*i] == fold).collect();
        held.iter().zip(&path[lambda].values).for_each(|(i, value)| values[*i] = *value);
    }
    let mean_loss = values.iter().enumerate().map(|(i, value)| (grid.loss)(i, *value)).sum::<f64>() / n.max(1) as f64;
    let worst_gap = paths.iter().map(|path| path[lambda].gap).fold(0.0, f64::max);
    Held { values, mean_loss, worst_gap }
}

/// All λ of one fold.
fn fold_path(grid: &Grid<'_>, store: &mut Single<'_>, fold: usize) -> Result<Vec<Fold>> {
    let n = grid.fold_of.len();
    let training: Vec<usize> = (0..n).filter(|i| grid.fold_of[*i] != fold).collect();
    let limits = Limits {
        tolerance: grid.tolerance,
        max_iterations: MAX_ITERATIONS,
        most_work: f64::INFINITY,
        newton_after: usize::MAX / 4,
        is_sequential: true,
        go_on: grid.go_on,
    };
    let mut alpha = vec![0.0; n];
    let mut fitted = vec![0.0; n];
    let mut before: Option<OwnedProblem> = None;
    let mut path = Vec::with_capacity(grid.lambdas);
    for lambda in 0..grid.lambdas {
        let problem = shut((grid.problem)(&training, lambda), &training, n);
        if let Some(before) = &before {
            // A variable at its bound stays there, and Kα follows without a product.
            let growth = growth(before, &problem);
            alpha.iter_mut().chain(&mut fitted).for_each(|x| *x *= growth);
            let was = alpha.clone();
            terms::project(&problem.as_ref(), &mut alpha);
            if was.iter().zip(&alpha).any(|(a, b)| (a - b).abs() > 1e-6 * b.abs()) {
                // The bounds did not grow alike: start over.
                alpha.fill(0.0);
                fitted.fill(0.0);
            }
        }
        let ending = decompose::run(store, &problem.as_ref(), &mut alpha, &mut fitted, &limits)?;
        let offset = ending.judgement.offset;
        let values = (0..n).filter(|i| grid.fold_of[*i] == fold).map(|i| fitted[i] + offset).collect();
        path.push(Fold { values, gap: ending.judgement.relative_gap() });
        before = Some(problem);
    }
    Ok(path)
}

/// The problem of all rows in which only the training rows may move.
fn shut(problem: OwnedProblem, training: &[usize], n: usize) -> OwnedProblem {
    let spread = |list: &[f64]| {
        let mut out = vec![0.0; n];
        training.iter().zip(list).for_each(|(i, x)| out[*i] = *x);
        out
    };
    OwnedProblem {
        target: spread(&problem.target),
        lower: spread(&problem.lower),
        upper: spread(&problem.upper),
        epsilon: spread(&problem.epsilon),
        curvature: spread(&problem.curvature),
        has_offset: problem.has_offset,
    }
}

/// By how much bounds grow from one problem to the next; where there are none, by how much curvatures fall.
fn growth(before: &OwnedProblem, now: &OwnedProblem) -> f64 {
    let width = |problem: &OwnedProblem| -> f64 {
        problem.upper.iter().zip(&problem.lower).map(|(u, l)| u - l).filter(|w| w.is_finite()).sum()
    };
    let bend = |problem: &OwnedProblem| -> f64 { problem.curvature.iter().sum() };
    let ratio = if width(before) > 0.0 { width(now) / width(before) } else { bend(before) / bend(now) };
    if ratio.is_finite() && ratio > 0.0 { ratio } else { 1.0 }
}

/// A Gram matrix in single precision with both triangles, from its lower triangle; and its diagonal.
fn single(lower: Matrix) -> (Vec<f32>, Vec<f64>) {
    const TILE: usize = 64;
    let n = lower.rows();
    let mut out = vec![0.0_f32; n * n];
    out.par_chunks_mut((n * TILE).max(1)).enumerate().for_each(|(strip, columns)| {
        let first = strip * TILE;
        let width = columns.len() / n;
        // Above the diagonal tile: transposed from the columns to the left, a tile at a time.
        for row in (0..first).step_by(TILE) {
            for i in row..(row + TILE).min(first) {
                let source = &lower.col(i)[first..first + width];
                source.iter().enumerate().for_each(|(k, x)| columns[k * n + i] = *x as f32);
            }
        }
        for k in 0..width {
            for i in 0..width {
                let (low, high) = (i.min(k), i.max(k));
                columns[k * n + first + i] = lower.get(first + high, first + low) as f32;
            }
            let source = &lower.col(first + k)[first + width..];
            columns[k * n + first + width..(k + 1) * n].iter_mut().zip(source).for_each(|(x, y)| *x = *y as f32);
        }
    });
    let diagonal = (0..n).map(|i| lower.get(i, i)).collect();
    (out, diagonal)
}
