//! Any loss with many rows: landmarks stand for the kernel.
//!
//! Randomly pivoted Cholesky gives K ≈ FFᵀ with the features φ(x) = L⁻¹k(x), L lower triangular. In them the problem is a
//! linear one, f = vᵀφ with ‖f‖ = ‖v‖, for which there are Newton's method and an interior point: n r² operations a step.
//! What comes of it is a sum over the landmarks, f = Σ βⱼk(·, zⱼ) with β = L⁻ᵀv. Its duality gap is that of the problem
//! over such sums, recomputed like all others.

use super::LossFit;
use super::targets::{Group, Targets};
use crate::base::error::{Error, Result};
use crate::fit::Reduce;
use crate::fit::plan::{self, Method, Plan};
use crate::linalg::{Matrix, solve_lower_transposed};
use crate::model::Expansion;
use crate::solve::certificate::LowRank;
use crate::solve::convex::multinomial::exact;
use crate::solve::linear::softmax;
use crate::space::low_rank;
use crate::term::criterion::Criterion;
use crate::term::kernel::product::Linear;
use crate::term::kernel::{Kernel, Points, SharedKernel};

/// The kernel of the landmarks' features.
pub(super) static LINEAR: Linear = Linear;

/// A residual of this share of the diagonal is rounding.
const ROUNDING: f64 = 1e-14;
/// Rows beyond which choosing on the whole matrix takes longer than people wait.
const CHOOSING_ROWS: usize = plan::EXACT_ROWS;
/// Rows beyond which even one problem does.
const SINGLE_ROWS: usize = 100_000;

/// The features of all rows, and the way back.
pub(super) struct Landmarks {
    /// F, n × r.
    pub features: Points,
    /// Which rows the landmarks are.
    pivots: Vec<usize>,
    /// L.
    lower: Matrix,
    /// tr(K − FFᵀ)/tr K.
    residual_share: f64,
}

impl Landmarks {
    pub fn new(kernel: &dyn Kernel, points: &Points, rank: usize, seed: u64) -> Self {
        let factor = low_rank::factor(kernel, points, ROUNDING, rank, seed);
        let mut diagonal = vec![0.0; points.rows()];
        kernel.diagonal(points, 0, &mut diagonal);
        let total = diagonal.iter().sum::<f64>().max(f64::MIN_POSITIVE);
        Landmarks {
            residual_share: factor.residual.iter().sum::<f64>() / total,
            lower: factor.at_pivots(),
            features: Points::new(&factor.matrix),
            pivots: factor.pivots,
        }
    }

    pub fn rank(&self) -> usize {
        self.pivots.len()
    }

    /// What is certain: nothing is proved of the distance from the fit on all rows.
    pub fn certificate(&self) -> LowRank {
        LowRank { rank: self.rank(), residual_share: self.residual_share, bound_at_rows: None, bound_anywhere: None }
    }

    /// Σ βⱼk(·, zⱼ), β = L⁻ᵀv, from v where the solver found it; otherwise from the coefficients of all rows, v = Fᵀα.
    pub fn expansion(&self, points: &Points, columns: &[Vec<f64>], found: &[Vec<f64>]) -> Result<Expansion> {
        let of_rows = |alpha: &Vec<f64>| -> Vec<f64> {
            let along = |k: usize| self.features.feature(k).iter().zip(alpha).map(|(f, a)| f * a).sum::<f64>();
            (0..self.rank()).map(along).collect()
        };
        let computed: Vec<Vec<f64>>;
        let features = if found.len() == columns.len() {
            found
        } else {
            computed = columns.iter().map(of_rows).collect();
            &computed
        };
        let all: Vec<f64> = features.iter().flat_map(|v| solve_lower_transposed(&self.lower, v)).collect();
        if all.iter().any(|c| !c.is_finite()) {
            return Err(Error::Decomposition("the coefficients are not finite; a larger λ is needed".into()));
        }
        let alpha = Matrix::from_columns(self.rank(), columns.len(), all)?;
        Ok(Expansion::Kernel { points: points.subset(&self.pivots), alpha })
    }
}

/// With what a multinomial model's steps need beside that, where several folds are fitted at a time.
fn with_classes(plan: Plan, targets: &Targets, memory: u64) -> Result<Plan> {
    let classes = targets.groups.iter().filter(|g| g.is_multinomial()).map(|g| g.outputs.len()).max();
    let Some(classes) = classes else { return Ok(plan) };
    let (rows, features) = (targets.design.rows(), targets.design.points.features());
    let step = if plan.method == Method::Features {
        let values = (rows as u64).saturating_mul(classes as u64).saturating_mul(8 * 8);
        softmax::bytes(features, classes).saturating_add(values)
    } else {
        exact::bytes(rows, classes)
    };
    let needed = plan.bytes.saturating_add(step.saturating_mul(rayon::current_num_threads() as u64));
    if needed <= memory {
        return Ok(Plan { bytes: needed, ..plan });
    }
    let (what, hint) = (plan.method.describe(), String::new());
    Err(Error::Memory { rows, needed, available: memory, what, hint })
}

impl LossFit {
    /// The method and its memory: what the loss asks for, or landmarks where they are asked for or there are too many rows.
    pub(super) fn planned(&self, targets: &Targets, kernels: &[SharedKernel], memory: u64) -> Result<Plan> {
        let (rows, features) = (targets.design.rows(), targets.design.points.features());
        let method = self.method(targets, kernels);
        let whole = plan::convex(rows, features, self.needs_gram(), method, memory);
        let whole = whole.and_then(|plan| with_classes(plan, targets, memory));
        // A linear kernel with few features has no need of landmarks: they would be the features again.
        if method == Method::Features || self.reduce == Reduce::Never {
            return whole;
        }
        let is_chosen = self.fixed().is_none();
        let needs_matrix = kernels.iter().any(|kernel| kernel.is_precomputed())
            || targets.groups.iter().any(Group::is_multinomial)
            || (is_chosen && self.criterion == Criterion::LeaveOneOut);
        let landmarks = |rank: Option<usize>| plan::landmarks_of_loss(rows, features, is_chosen, rank, memory);
        match self.reduce {
            Reduce::ToRank(_) if needs_matrix => {
                let must = "used with a kernel that has a formula, folds, and one model per class";
                Err(Error::argument("a rank", must, "another criterion, a precomputed kernel or a multinomial model"))
            }
            Reduce::ToRank(rank) => landmarks(Some(rank)),
            _ => {
                let is_slow = rows > if is_chosen { CHOOSING_ROWS } else { SINGLE_ROWS };
                match whole {
                    Ok(plan) if needs_matrix || !is_slow => Ok(plan),
                    Err(error) if needs_matrix => Err(error),
                    _ => landmarks(None),
                }
            }
        }
    }
}
