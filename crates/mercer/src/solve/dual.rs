//! Piecewise linear and quadratic losses with a kernel: absolute, Huber, ε-insensitive, pinball, hinge and their squares.
//!
//! Each is, at exponent 2, the same problem in its dual form, one variable per row:
//!
//! > minimise ½ αᵀKα − tᵀα + Σ εᵢ|αᵢ| + ½ Σ qᵢαᵢ²  over  lowerᵢ ≤ αᵢ ≤ upperᵢ, and Σ αᵢ = 0 if there is an offset.
//!
//! f = Σ αᵢ k(·, xᵢ). Its primal is ½‖f‖² + Σ ℓᵢ(f(xᵢ) + b) with ℓᵢ(v) = max over lowerᵢ ≤ a ≤ upperᵢ of
//! a(tᵢ − v) − εᵢ|a| − ½qᵢa², and the sum of the two objectives is the duality gap, on which everything here stops.
//!
//! | chapter | |
//! |---|---|
//! | `terms`, `lanes` | ℓᵢ, the best offset, the gap; many rows at once |
//! | `rows` | where rows of K come from |
//! | `shifted`, `singles`, `single_gram` | distances by way of products, and in single precision; a whole K of those |
//! | `store` | rows that are kept, in single or double precision |
//! | `start` | from where, and how far along it |
//! | `pairs` | a thousand variables: the pair (or the one) that gains most, over and over |
//! | `grown` | few support vectors among thousands of rows: a set that grows until it has them all |
//! | `decompose`, `working_set` | many variables: the worst thousand at a time |
//! | `subspace` | a Newton step over all variables inside their boxes |
//! | `interior` | an interior point, for what first-order steps do not finish |

mod decompose;
mod grown;
mod interior;
mod lanes;
mod pairs;
mod rows;
mod shifted;
mod single_gram;
mod singles;
mod start;
mod store;
mod subspace;
mod terms;
mod working_set;

use crate::base::error::{Error, Result};

pub use rows::{GramRows, KernelPoints, KernelRows, PartRows};
pub use single_gram::SingleGram;
use terms::Judgement;

/// The terms of the problem beside K, one entry per row of K in each list.
#[derive(Debug, Clone, Copy)]
pub struct BoxProblem<'a> {
    /// t.
    pub target: &'a [f64],
    /// Not above 0; −∞ where the curvature is positive, if need be.
    pub lower: &'a [f64],
    /// Not below 0; ∞ where the curvature is positive, if need be.
    pub upper: &'a [f64],
    /// ε, not negative.
    pub epsilon: &'a [f64],
    /// q, not negative.
    pub curvature: &'a [f64],
    /// Whether there is an offset, that is Σ αᵢ = 0.
    pub has_offset: bool,
}

/// A minimiser, and how far from it at most.
#[derive(Debug, Clone, PartialEq)]
pub struct BoxSolution {
    /// α.
    pub alpha: Vec<f64>,
    /// b: the middle of those that minimise the primal, or, where the answer is measured anew, one at which its gap is small enough.
    pub offset: f64,
    /// Kα, without the offset.
    pub fitted: Vec<f64>,
    /// ½‖f‖² + Σ ℓᵢ(f(xᵢ) + b).
    pub primal: f64,
    /// The objective that α minimises; its negative bounds the primal from below.
    pub dual: f64,
    /// (primal + dual)/|primal|.
    pub relative_gap: f64,
    /// Whether the gap is within the tolerance.
    pub converged: bool,
    /// Working sets plus steps of the interior point.
    pub iterations: usize,
}

/// How closely, from where, and with what.
#[derive(Clone, Copy)]
pub struct BoxSettings<'a> {
    /// The relative duality gap that ends it.
    pub tolerance: f64,
    /// α to start from; moved into the bounds and to the sum 0, and multiplied by what is best.
    pub start: Option<&'a [f64]>,
    /// Kα of the start where it is known, for rows that can move.
    pub start_fitted: Option<&'a [f64]>,
    /// Whether whoever asks measures the answer anew: then sums Kα that were updated step by step may end the search.
    pub is_measured_after: bool,
    /// Bytes that rows of K may take.
    pub memory: u64,
    /// Asked every few milliseconds; false ends with [`Error::Interrupted`].
    pub go_on: &'a (dyn Fn() -> bool + Sync),
    /// Working sets at most.
    pub max_iterations: usize,
}

impl std::fmt::Debug for BoxSettings<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("BoxSettings")
            .field("tolerance", &self.tolerance)
            .field("memory", &self.memory)
            .field("max_iterations", &self.max_iterations)
            .finish_non_exhaustive()
    }
}

impl Default for BoxSettings<'_> {
    fn default() -> Self {
        BoxSettings {
            tolerance: 1e-6,
            start: None,
            start_fitted: None,
            is_measured_after: false,
            memory: 4 << 30,
            go_on: &|| true,
            max_iterations: 20_000,
        }
    }
}

/// Rows up to which an interior point is affordable: one factorisation of this many rows takes about a second.
const INTERIOR_ROWS: usize = 6_000;
/// What an interior point costs per cubed row, in the scalar operations of a decomposition: about fifteen factorisations,
/// which run twenty times as fast.
const INTERIOR_WORK: f64 = 0.25;
/// How much longer than an interior point may be polished what it leaves.
const POLISH: f64 = 2.0;
/// Problems that go to the interior point at once.
const MANY_DIGITS: f64 = 1e-7;
const FEW_ROWS: usize = 500;
/// Gaps above this do not notice the rounding of products that were updated step by step.
const PLAIN_GAP: f64 = 1e-5;
/// Gaps below this are asked of a method that keeps K in double precision.
pub(crate) const SINGLE_PRECISION_GAP: f64 = 1.5e-6;

/// Minimises. See the head of this chapter for the problem.
pub fn solve(rows: &dyn KernelRows, problem: &BoxProblem<'_>, settings: &BoxSettings<'_>) -> Result<BoxSolution> {
    check(rows.len(), problem, settings)?;
    let n = rows.len();
    let (mut alpha, fitted) = start::start(rows, problem, settings);
    let mut fitted = Some(fitted);
    let movable = (0..n).filter(|i| problem.lower[*i] < problem.upper[*i]).count();
    let mut search = Search { rows, problem, settings, movable, iterations: 0, best: None };
    if alpha.iter().all(|a| *a == 0.0) && (terms::is_constant_enough(problem) || settings.tolerance >= 1.0) {
        // The zero function is it: elsewhere its gap is all of its objective.
        search.keep(&alpha, vec![0.0; n]);
    }
    if search.is_done() {
        return search.finish();
    }
    if settings.tolerance < MANY_DIGITS && movable <= FEW_ROWS && search.can_go_inside() {
        // Straight to the method that gives them.
        search.interior(&mut alpha)?;
        fitted = None;
    }
    if !search.is_done() {
        let most_work = if search.can_go_inside() { search.interior_work() } else { f64::INFINITY };
        search.decomposition(&mut alpha, fitted, false, most_work)?;
    }
    if !search.is_done() && search.can_go_inside() {
        search.interior(&mut alpha)?;
    }
    search.finish()
}

/// What is known while methods take turns.
struct Search<'a> {
    rows: &'a dyn KernelRows,
    problem: &'a BoxProblem<'a>,
    settings: &'a BoxSettings<'a>,
    movable: usize,
    iterations: usize,
    best: Option<Found>,
}

struct Found {
    alpha: Vec<f64>,
    fitted: Vec<f64>,
    judgement: Judgement,
}

impl Search<'_> {
    /// Measures α with products in twice the precision and keeps it if it is the best so far; returns Kα.
    fn judge(&mut self, alpha: &[f64]) -> Vec<f64> {
        let fitted = self.rows.product(alpha);
        self.keep(alpha, fitted.clone());
        fitted
    }

    /// Measures α, given Kα, and keeps it if it is the best so far.
    fn keep(&mut self, alpha: &[f64], fitted: Vec<f64>) {
        let judgement = terms::judge(self.problem, alpha, &fitted);
        self.keep_as(alpha, fitted, judgement);
    }

    /// Keeps α, as it was judged, if it is the best so far.
    fn keep_as(&mut self, alpha: &[f64], fitted: Vec<f64>, judgement: Judgement) {
        let is_better = self.best.as_ref().is_none_or(|best| {
            !best.judgement.relative_gap().is_finite() || judgement.relative_gap() < best.judgement.relative_gap()
        });
        if is_better {
            self.best = Some(Found { alpha: alpha.to_vec(), fitted, judgement });
        }
    }

    /// Whether an interior point can be had in time and memory: K of the rows that can move, and its factor.
    fn can_go_inside(&self) -> bool {
        let needed = 2 * 8 * (self.movable as u64).pow(2);
        self.movable > 0 && self.movable <= INTERIOR_ROWS && needed <= self.settings.memory
    }

    fn is_done(&self) -> bool {
        self.best.as_ref().is_some_and(|best| best.judgement.relative_gap() <= self.settings.tolerance)
    }

    /// Working sets with rows in single precision as far as that goes, each round starting again from gradients in
    /// double precision; then in double precision.
    fn decomposition(
        &mut self,
        alpha: &mut [f64],
        fitted: Option<Vec<f64>>,
        newton_at_once: bool,
        most_work: f64,
    ) -> Result<()> {
        let mut fitted = fitted.unwrap_or_else(|| self.rows.product(alpha));
        let (stored, stored_single) = (self.rows.row(0).is_some(), self.rows.row_single(0).is_some());
        let limits = decompose::Limits {
            tolerance: self.settings.tolerance,
            max_iterations: self.settings.max_iterations,
            most_work,
            newton_at_once,
            go_on: self.settings.go_on,
        };
        let rounds: &[bool] = if stored {
            &[false, false]
        } else if stored_single {
            &[true, true]
        } else if self.settings.tolerance >= SINGLE_PRECISION_GAP {
            &[true, true, false]
        } else {
            &[false, false]
        };
        // What is measured afterwards is taken up again if this was too much trust.
        let is_plain = self.settings.tolerance >= PLAIN_GAP && (stored || stored_single)
            || self.settings.tolerance >= SINGLE_PRECISION_GAP && self.settings.is_measured_after;
        if !stored && rounds[0] && !newton_at_once {
            let ended = grown::run(self.rows, self.problem, alpha, &mut fitted, &limits)?;
            self.iterations += ended.as_ref().map_or(0, |ended| ended.sets);
            if let Some(judgement) = ended.and_then(|ended| ended.judgement) {
                if is_plain {
                    // Moves α by rounding at most.
                    terms::project(self.problem, alpha);
                    self.keep_as(alpha, fitted.clone(), judgement);
                } else {
                    self.measure(alpha, &mut fitted, false);
                }
                if self.is_done() {
                    return Ok(());
                }
            }
        }
        for is_single in rounds {
            let iterations = if stored_single {
                let mut store = store::Borrowed::<f32>::new(self.rows);
                decompose::run(&mut store, self.problem, alpha, &mut fitted, &limits)?
            } else if *is_single {
                let mut store = store::Kept::<f32>::new(self.rows, self.settings.memory);
                decompose::run(&mut store, self.problem, alpha, &mut fitted, &limits)?
            } else if stored {
                let mut store = store::Borrowed::<f64>::new(self.rows);
                decompose::run(&mut store, self.problem, alpha, &mut fitted, &limits)?
            } else {
                let mut store = store::Kept::<f64>::new(self.rows, self.settings.memory);
                decompose::run(&mut store, self.problem, alpha, &mut fitted, &limits)?
            };
            self.iterations += iterations;
            self.measure(alpha, &mut fitted, is_plain);
            if self.is_done() {
                break;
            }
        }
        Ok(())
    }

    /// Measures what a method left: by its own sums, or anew.
    fn measure(&mut self, alpha: &mut [f64], fitted: &mut Vec<f64>, is_plain: bool) {
        terms::project(self.problem, alpha);
        if is_plain {
            self.keep(alpha, fitted.clone());
        } else {
            *fitted = self.judge(alpha);
        }
    }

    fn interior_work(&self) -> f64 {
        INTERIOR_WORK * (self.movable as f64).powi(3)
    }

    /// The interior point, and Newton steps from where it ends if rounding ended it.
    fn interior(&mut self, alpha: &mut Vec<f64>) -> Result<()> {
        let goal = self.settings.tolerance;
        let mut found = interior::run(self.rows, self.problem, goal, self.settings.go_on)?;
        self.iterations += found.steps;
        terms::project(self.problem, &mut found.alpha);
        self.judge(&found.alpha);
        if self.is_done() {
            return Ok(());
        }
        // K was singular to rounding. The part of it that belongs to variables inside their boxes seldom is.
        *alpha = found.snapped;
        self.decomposition(alpha, None, true, POLISH * self.interior_work())
    }

    fn finish(mut self) -> Result<BoxSolution> {
        if self.best.as_ref().is_none_or(|best| !(best.judgement.relative_gap() <= 1.0)) {
            // No better than nothing.
            self.judge(&vec![0.0; self.rows.len()]);
        }
        let Some(Found { alpha, fitted, judgement }) = self.best else {
            return Err(Error::Empty("no rows".into()));
        };
        Ok(BoxSolution {
            offset: judgement.offset,
            primal: judgement.primal,
            dual: judgement.gap - judgement.primal,
            relative_gap: judgement.relative_gap(),
            converged: judgement.relative_gap() <= self.settings.tolerance,
            iterations: self.iterations,
            alpha,
            fitted,
        })
    }
}

fn check(n: usize, problem: &BoxProblem<'_>, settings: &BoxSettings<'_>) -> Result<()> {
    let lists = [
        ("target", problem.target),
        ("lower", problem.lower),
        ("upper", problem.upper),
        ("epsilon", problem.epsilon),
        ("curvature", problem.curvature),
        ("start", settings.start.unwrap_or(problem.target)),
    ];
    for (name, list) in lists {
        if list.len() != n {
            return Err(Error::shape(name, format!("{n} numbers, one per row"), list.len()));
        }
    }
    if !(settings.tolerance > 0.0) {
        return Err(Error::argument("tolerance", "above 0", settings.tolerance));
    }
    for i in 0..n {
        let (lower, upper, curvature) = (problem.lower[i], problem.upper[i], problem.curvature[i]);
        let row = i + 1;
        if !problem.target[i].is_finite() {
            return Err(Error::argument(format!("target of row {row}"), "finite", problem.target[i]));
        }
        if !(lower <= 0.0 && upper >= 0.0) {
            return Err(Error::argument(format!("bounds of row {row}"), "around 0", format!("{lower} … {upper}")));
        }
        if !(problem.epsilon[i] >= 0.0 && problem.epsilon[i].is_finite()) {
            return Err(Error::argument(format!("epsilon of row {row}"), "0 or more", problem.epsilon[i]));
        }
        if !(curvature >= 0.0 && curvature.is_finite()) {
            return Err(Error::argument(format!("curvature of row {row}"), "0 or more", curvature));
        }
        if curvature == 0.0 && !(lower.is_finite() && upper.is_finite()) {
            return Err(Error::argument(
                format!("bounds of row {row}"),
                "finite where the curvature is 0",
                format!("{lower} … {upper}"),
            ));
        }
    }
    Ok(())
}
