//! [`Fitted`]: a model with everything that was found out on the way.

use super::automatic::Found as SearchFound;
use super::losses::LeftOut;
use super::plan::Plan;
use crate::base::error::{Error, Result};
use crate::base::watch::Observer;
use crate::choose::select::Surface;
use crate::data::Design;
use crate::model::notes::{self, Note};
use crate::model::{HeldOut, Meaning, Model, Summary};
use crate::path::{HeldOutRows, LeaveOneOut, Spectrum};
use crate::solve::Solution;
use crate::solve::linear::{Features, LeastSquares, LinearSolution};
use crate::term::kernel::SharedKernel;
use crate::term::penalty::Penalty;

/// A model with everything that was found out on the way.
///
/// Fields that an engine does not fill are empty: `solutions`, `leave_one_out`, `forward` and `spectrum` are of the squared loss
/// with λ‖f‖ᵐ, `coefficients` and `held_out` of other losses, `least_squares` of fits without penalty, `search` of automatic
/// fits.
#[derive(Debug, Clone)]
pub struct Fitted {
    /// Predicts; can be saved.
    pub model: Model,
    /// The method that was used, and the memory it was expected to take.
    pub plan: Plan,
    /// The rows that were used: targets and weights; for classes the targets are their codes.
    pub design: Design,
    /// What was tried, in the order in which it was. Empty when nothing was to be chosen.
    pub tried: Vec<Tried>,
    /// f(xᵢ) + b on the training rows, one vector per model.
    pub fitted: Vec<Vec<f64>>,
    /// One per target: coefficients, fitted values, stationary points.
    pub solutions: Vec<Solution>,
    /// Leave-one-out residuals of each target, where they exist; of rows with groups, leave-one-group-out.
    pub leave_one_out: Vec<Option<LeaveOneOut>>,
    /// Where the criterion is forward chaining ([`Forward`](crate::criterion::Forward)): the residuals of the predicted rows of
    /// each target, instead of leave-one-out residuals.
    pub forward: Vec<Option<HeldOutRows>>,
    /// The decomposition, if one was made ([`Fit::keep_spectrum`](super::Fit::keep_spectrum) sees to it): any other λ or
    /// exponent follows from it without a new one.
    pub spectrum: Option<Spectrum>,
    /// αᵢ of every training row, one vector per model.
    pub coefficients: Vec<Vec<f64>>,
    /// The values of every row by a model that was fitted without it (approximately, with the criterion `loo`), one vector per
    /// model.
    pub held_out: Vec<Vec<f64>>,
    /// Statistics of least squares, one per target.
    pub least_squares: Vec<LeastSquares>,
    /// The names of a linear function's coefficients.
    pub names: Vec<String>,
    /// What the automatic search did.
    pub search: Option<SearchFound>,
    pub(crate) engaged: Engaged,
}

/// What an engine keeps of a fit, for leaving out its rows.
#[derive(Debug, Clone)]
pub(crate) enum Engaged {
    Squared,
    Loss {
        /// What each model was fitted to: numbers, or 1 for its class and −1 for the others.
        outputs: Vec<Vec<f64>>,
        /// Row weights times class weights.
        row_weights: Option<Vec<f64>>,
    },
    Penalty {
        /// What the coefficients stand before: the features of the rows, or the kernel's values.
        x: Features,
        solutions: Vec<LinearSolution>,
        penalty: Penalty,
    },
}

/// One kernel (with other losses: one loss and exponent; with other penalties: one target) with the criterion that judged it.
#[derive(Debug, Clone)]
pub struct Tried {
    /// The kernel, with its numbers.
    pub kernel: SharedKernel,
    /// The criterion over its points.
    pub judged: Judged,
    /// The sum of the best scores.
    pub score: f64,
    /// The rank of the factor on which surfaces were computed, and the mean of what it leaves of the kernel's diagonal; `None`
    /// when they were computed on all of the matrix.
    pub low_rank: Option<(usize, f64)>,
    /// Whether it became the model.
    pub is_chosen: bool,
}

/// A criterion over the points of a trial.
#[derive(Debug, Clone)]
pub enum Judged {
    /// Over exponents and λ: one surface per target (one in all if they share their ridge).
    Surfaces(Vec<Surface>),
    /// Along λ.
    Curve(Curve),
}

/// A criterion along λ.
#[derive(Debug, Clone)]
pub struct Curve {
    /// The kernel, with its numbers.
    pub kernel: SharedKernel,
    /// The target (or class, or quantile) that it is about.
    pub target: String,
    /// The loss, with its numbers.
    pub loss: String,
    /// m of λ‖f‖ᵐ; 2 for other penalties.
    pub exponent: f64,
    /// Rising.
    pub lambdas: Vec<f64>,
    /// The measure on held-out rows at each λ, or AIC, BIC.
    pub scores: Vec<f64>,
    /// Its standard error over the rows; `None` where rows were not held out.
    pub standard_errors: Option<Vec<f64>>,
    /// After how many folds a λ was dropped because others were clearly better on the same rows: its score is the mean over
    /// those folds; after 0 folds, over the rows of the first by a model of some of its training rows. All folds: it was judged
    /// on them at a loose gap, and not within reach of the best. `None` for a λ that all folds judged closely.
    pub dropped: Vec<Option<usize>>,
    /// Coefficients of a linear function that are not 0 at each λ; empty for other losses.
    pub support: Vec<usize>,
    /// Which λ became the model's, if this trial did.
    pub chosen: Option<usize>,
    /// Of other penalties with folds: the mean squared error of the mean of each fold's training rows.
    pub mse_of_means: Option<f64>,
}

impl Tried {
    /// The surfaces; none for other losses and penalties.
    pub fn surfaces(&self) -> &[Surface] {
        match &self.judged {
            Judged::Surfaces(surfaces) => surfaces,
            Judged::Curve(_) => &[],
        }
    }

    /// The curve of other losses and penalties.
    pub fn curve(&self) -> Option<&Curve> {
        match &self.judged {
            Judged::Surfaces(_) => None,
            Judged::Curve(curve) => Some(curve),
        }
    }

    pub(crate) fn on_surfaces(
        kernel: SharedKernel,
        surfaces: Vec<Surface>,
        score: f64,
        low_rank: Option<(usize, f64)>,
    ) -> Self {
        Tried { kernel, judged: Judged::Surfaces(surfaces), score, low_rank, is_chosen: false }
    }

    pub(crate) fn along(curve: Curve) -> Self {
        let kernel = curve.kernel.clone();
        let score = curve.scores.iter().copied().fold(f64::INFINITY, f64::min);
        let is_chosen = curve.chosen.is_some();
        Tried { kernel, judged: Judged::Curve(curve), score, low_rank: None, is_chosen }
    }
}

impl Fitted {
    /// With everything that only some engines have left empty.
    pub(crate) fn new(model: Model, plan: Plan, design: Design, tried: Vec<Tried>, engaged: Engaged) -> Self {
        Fitted {
            model,
            plan,
            design,
            tried,
            fitted: Vec::new(),
            solutions: Vec::new(),
            leave_one_out: Vec::new(),
            forward: Vec::new(),
            spectrum: None,
            coefficients: Vec::new(),
            held_out: Vec::new(),
            least_squares: Vec::new(),
            names: Vec::new(),
            search: None,
            engaged,
        }
    }

    /// What was found for the (first) model.
    pub fn summary(&self) -> &Summary {
        &self.model.summaries[0]
    }

    /// The curves of other losses and penalties that were tried.
    pub fn curves(&self) -> impl Iterator<Item = &Curve> {
        self.tried.iter().filter_map(Tried::curve)
    }

    /// What is odd about the targets, or about the model's errors.
    pub fn notes(&self) -> Vec<Note> {
        let summaries = &self.model.summaries;
        let mut notes = match self.model.meaning() {
            Meaning::Classes { .. } => self.notes_of_classes(),
            Meaning::Numbers | Meaning::Quantiles { .. } => notes::of_targets(&self.design, summaries),
        };
        notes.extend(notes::of_features(&self.design));
        notes.extend(notes::of_order(&self.design, summaries));
        match &self.engaged {
            Engaged::Squared => notes.extend(notes::of_errors(&self.design, summaries, &self.forward)),
            Engaged::Loss { .. } => {}
            Engaged::Penalty { x, .. } => self.add_notes_of_penalties(x, &mut notes),
        }
        notes
    }

    fn add_notes_of_penalties(&self, x: &Features, notes: &mut Vec<Note>) {
        let summaries = &self.model.summaries;
        for (summary, deviation) in summaries.iter().zip(self.design.deviations()) {
            let squared = |held_out: &HeldOut| (held_out.measure == "squared").then_some(held_out.value);
            let curve = self.curves().find(|curve| curve.target == summary.target);
            let of_means = curve.and_then(|curve| curve.mse_of_means).filter(|_| deviation > 0.0);
            if let Some((value, of_means)) = summary.held_out.as_ref().and_then(squared).zip(of_means) {
                let is_forward = summary.chosen_by.as_deref().is_some_and(|spec| spec.starts_with("forward"));
                let held_out = if is_forward { notes::FORWARD } else { "cross-validation" };
                let r2 = 1.0 - value / (deviation * deviation);
                notes.extend(notes::no_better(summary, r2, (value, of_means), held_out));
            }
        }
        // A column of categories has one feature for each, of which one is too many beside the offset.
        let columns = (0..x.cols()).filter(|j| x.varies(*j)).count();
        for (found, summary) in self.least_squares.iter().zip(summaries).filter(|(found, _)| found.rank < columns) {
            notes.push(Note::Undetermined { target: summary.target.clone(), rank: found.rank, columns });
        }
    }

    /// f₋ᵢ(xᵢ) + b₋ᵢ of the fits without row i (of rows with groups: without its group), λ, class weights and the scaling of the
    /// features held.
    pub fn left_out(&self, observer: Option<&Observer>) -> Result<LeftOut> {
        match &self.engaged {
            Engaged::Squared => {
                let residuals = |loo: &Option<LeaveOneOut>| {
                    let loo = loo.as_ref().ok_or_else(|| {
                        let must = "one with leave-one-out residuals: at least two rows, not in order of time, with diagnostics";
                        Error::argument("the fit", must, "one without")
                    })?;
                    Ok(loo.residuals.clone())
                };
                let residuals = self.leave_one_out.iter().map(residuals).collect::<Result<Vec<_>>>()?;
                Ok(LeftOut::of_residuals(&self.design, residuals, true))
            }
            Engaged::Loss { .. } => self.left_out_of_loss(observer),
            Engaged::Penalty { .. } => self.left_out_of_penalty(observer),
        }
    }
}
