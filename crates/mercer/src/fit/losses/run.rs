//! The way of a fit: targets, kernels, choice. What comes of the choice is made in [`finish`](super::finish).

use super::landmarks::{LINEAR, Landmarks};
use super::measure::Measure;
use super::select::{Curve, Selection};
use super::solve::{OTHER_UNITS, Rows, Solved, preconditioner};
use super::targets::{Group, Kind, Targets};
use super::{LossFit, usual_folds};
use crate::base::error::{Error, Result};
use crate::data::{Design, Frame, Roles};
use crate::fit::plan::{self, Method, Plan};
use crate::fit::{Curve as Tested, Fitted, Judged, Tried};
use crate::linalg::Matrix;
use crate::solve::convex::Problem;
use crate::solve::dual::{SINGLE_PRECISION_GAP, SingleGram};
use crate::solve::linear::softmax;
use crate::space;
use crate::term::criterion::{Criterion, Folds, group_count};
use crate::term::kernel::kernel_for;
use crate::term::kernel::{Kernel, Points, SharedKernel};
use crate::term::loss::{Loss, Shape};

/// A kernel with its matrix, or what stands for it.
pub(super) struct Ground {
    pub kernel: SharedKernel,
    pub gram: Option<Matrix>,
    /// The matrix in single precision in its place, while choosing.
    pub single: Option<SingleGram>,
    pub factor: Option<Matrix>,
    /// Landmarks in the place of the matrix.
    pub landmarks: Option<Landmarks>,
}

/// A kernel with what was chosen on it, one curve per group.
pub(super) struct Candidate {
    pub ground: Ground,
    pub chosen: Vec<Curve>,
    pub score: f64,
    /// A solution near the one on all rows, where choosing has found one.
    pub near: Option<Solved>,
}

/// Rows from which a single problem does without the whole kernel matrix: with rows in single precision, and with rows in double.
const ON_DEMAND_FROM: (usize, usize) = (1000, 6000);

impl LossFit {
    pub(super) fn run(&self, frame: &Frame, roles: &Roles) -> Result<Fitted> {
        let targets = self.targets(frame, roles)?;
        match self.for_groups(&targets.design) {
            Some(meant) => meant.run_on(targets),
            None => self.run_on(targets),
        }
    }

    /// These settings as rows with groups mean them: leave-one-out leaves out whole groups, and the usual folds are as many as there are
    /// groups where those are fewer.
    pub(super) fn for_groups(&self, design: &Design) -> Option<LossFit> {
        let groups = group_count(design.whole_groups()?);
        let criterion = match &self.criterion {
            Criterion::KFold(rule) if *rule == usual_folds() && groups < rule.folds => {
                Criterion::LeaveOneOut.for_groups()
            }
            other => other.for_groups(),
        };
        (criterion != self.criterion).then(|| LossFit { criterion, ..self.clone() })
    }

    fn run_on(&self, targets: Targets) -> Result<Fitted> {
        let design = &targets.design;
        let kernels: Vec<SharedKernel> =
            self.kernels.iter().map(|kernel| kernel_for(kernel, design)).collect::<Result<_>>()?;
        let memory = self.memory.unwrap_or_else(plan::available_memory);
        let plan = self.planned(&targets, &kernels, memory)?;
        let folds = self.folds(&targets)?;
        if let Some(folds) = folds.as_ref().filter(|folds| self.races(&targets, folds)) {
            let (best, tried) = self.race(&kernels, &targets, &plan, folds, memory)?;
            return self.finish(targets, best, plan, memory, Some(folds), tried);
        }
        let mut tried = Vec::new();
        let mut best: Option<Candidate> = None;
        for kernel in &kernels {
            let candidate = self.candidate(kernel, &targets, &plan, folds.as_ref(), memory, &mut tried)?;
            if best.as_ref().is_none_or(|best| candidate.score < best.score * (1.0 - 1e-9)) {
                best = Some(candidate);
            }
        }
        let best = best.ok_or_else(|| Error::Empty("there must be at least one kernel".into()))?;
        mark_chosen(&mut tried, &best, &targets.groups);
        self.finish(targets, best, plan, memory, folds.as_ref(), tried)
    }

    pub(super) fn go_on(&self, stage: &'static str) -> bool {
        self.observer.as_ref().is_none_or(|observer| observer(stage))
    }

    pub(super) fn stage(&self, name: &'static str) -> Result<()> {
        if self.go_on(name) { Ok(()) } else { Err(Error::Interrupted) }
    }

    /// Whether the method cannot do without the whole kernel matrix.
    pub(super) fn needs_gram(&self) -> bool {
        let is_tube = |loss: &crate::term::loss::SharedLoss| matches!(loss.shape(), Shape::Tube(_));
        let approximate = self.fixed().is_none() && self.criterion == Criterion::LeaveOneOut;
        approximate || !self.losses.iter().flatten().all(is_tube)
    }

    pub(super) fn method(&self, targets: &Targets, kernels: &[SharedKernel]) -> Method {
        let is_linear = kernels.iter().all(|kernel| kernel.linear_scale().is_some());
        let is_approximate = self.fixed().is_none() && self.criterion == Criterion::LeaveOneOut;
        let is_tall = targets.design.points.features() < targets.design.rows();
        let is_multinomial = targets.groups.iter().any(Group::is_multinomial);
        let is_few = !is_multinomial
            || targets.groups.iter().all(|g| softmax::suits(targets.design.points.features(), g.outputs.len()));
        if is_linear && is_tall && !is_approximate && is_few && is_tame(targets) {
            return Method::Features;
        }
        let is_tube = matches!(self.losses[0][0].shape(), Shape::Tube(_));
        let in_single = OTHER_UNITS * self.tolerance >= SINGLE_PRECISION_GAP;
        let on_demand_from = if in_single { ON_DEMAND_FROM.0 } else { ON_DEMAND_FROM.1 };
        let models: usize = targets.groups.iter().map(|group| group.outputs.len()).sum();
        if is_multinomial {
            Method::Multinomial
        } else if is_tube
            && self.fixed().is_some_and(|(exponent, _)| exponent == 2.0)
            && models == 1
            && targets.design.rows() >= on_demand_from
        {
            // One problem reads few rows of the matrix; those that are needed are cheaper than all.
            Method::DualOnDemand
        } else if is_tube {
            Method::Dual
        } else {
            Method::Newton
        }
    }

    fn folds(&self, targets: &Targets) -> Result<Option<Folds>> {
        let rows = targets.design.rows();
        let rule = match (&self.criterion, self.fixed()) {
            (_, Some(_)) => return Ok(None),
            (Criterion::KFold(rule), None) => *rule,
            _ => return Ok(None),
        };
        self.criterion.check(rows)?;
        Folds::draw(&rule, rows, targets.design.groups.as_deref(), self.seed).map(Some)
    }

    pub(super) fn ground(&self, kernel: &SharedKernel, targets: &Targets, plan: &Plan) -> Result<Ground> {
        self.stage("kernel matrix")?;
        let points = &targets.design.points;
        let gram = plan.keeps_gram().then(|| space::gram(&**kernel, points));
        let mut diagonal = vec![0.0; points.rows()];
        kernel.diagonal(points, 0, &mut diagonal);
        let largest = Matrix::column_vector(diagonal).max_abs();
        crate::path::check_size(gram.as_ref().map_or(largest, Matrix::max_abs))?;
        let landmarks = match plan.method {
            Method::LowRank { rank, .. } => {
                self.stage("pivoting")?;
                Some(Landmarks::new(&**kernel, points, rank, self.seed))
            }
            _ => None,
        };
        let needs_factor = plan.method == Method::Newton;
        let factor = needs_factor.then(|| preconditioner(&**kernel, points, &*self.losses[0][0])).flatten();
        Ok(Ground { kernel: kernel.clone(), gram, single: None, factor, landmarks })
    }

    fn candidate(
        &self,
        kernel: &SharedKernel,
        targets: &Targets,
        plan: &Plan,
        folds: Option<&Folds>,
        memory: u64,
        tried: &mut Vec<Tried>,
    ) -> Result<Candidate> {
        let ground = self.ground(kernel, targets, plan)?;
        if let Some((exponent, lambda)) = self.fixed() {
            let curve = Curve::fixed(exponent, lambda);
            return Ok(Candidate { ground, chosen: vec![curve; targets.groups.len()], score: 0.0, near: None });
        }
        let go_on = || self.go_on("choosing");
        let in_features = plan.method == Method::Features;
        let (gram, landmarks) = (ground.gram.as_ref(), ground.landmarks.as_ref());
        let rows = self.rows(kernel, targets, gram, landmarks, memory, in_features, &go_on);
        let rows = Rows { factor: ground.factor.as_ref(), ..rows };
        let (mut chosen, mut score) = (Vec::new(), 0.0);
        for group in &targets.groups {
            self.stage("choosing")?;
            let choices = self.losses.len();
            let measure = self.measure.unwrap_or_else(|| Measure::default_for(group, choices));
            measure.check(group)?;
            let selection = Selection { learn: self, folds, measure };
            let (curves, best) = selection.run(&rows, group)?;
            tried.extend(curves.iter().map(|curve| tested(group, kernel, curve, None)));
            // Several targets are added up in units of what a constant would score.
            let unit = if targets.groups.len() > 1 { constant_score(group, measure, rows.weights) } else { 1.0 };
            score += curves[best].score() / if unit > 0.0 { unit } else { 1.0 };
            chosen.extend(curves.into_iter().nth(best));
        }
        Ok(Candidate { ground, chosen, score, near: None })
    }

    #[allow(clippy::too_many_arguments)]
    pub(super) fn rows<'a>(
        &self,
        kernel: &'a SharedKernel,
        targets: &'a Targets,
        gram: Option<&'a Matrix>,
        landmarks: Option<&'a Landmarks>,
        memory: u64,
        in_features: bool,
        go_on: &'a (dyn Fn() -> bool + Sync),
    ) -> Rows<'a> {
        let whole: (&dyn Kernel, &Points) = (&**kernel, &targets.design.points);
        let (kernel, points) = landmarks.map_or(whole, |landmarks| (&LINEAR, &landmarks.features));
        Rows {
            kernel,
            points,
            gram,
            single: None,
            of_gram: None,
            factor: None,
            weights: targets.weights.as_deref(),
            has_offset: self.offset,
            is_measured_after: false,
            memory: memory / 2,
            in_features: in_features || landmarks.is_some(),
            go_on,
        }
    }
}

/// Whether features and targets have sizes that solvers on the features themselves can take: a kernel matrix forgives more.
fn is_tame(targets: &Targets) -> bool {
    let design = &targets.design;
    let sizes = |x: &[f64]| x.iter().fold(0.0, |max: f64, v| max.max(v.abs()));
    let features = (0..design.points.features()).map(|j| sizes(design.points.feature(j))).fold(0.0, f64::max);
    let is_tame = |output: &super::targets::Output| {
        let n = output.y.len() as f64;
        let mean = output.y.iter().map(|y| y / n).sum::<f64>();
        let spread = output.y.iter().fold(0.0, |max: f64, y| max.max((y - mean).abs()));
        (1e-6..1e9).contains(&spread) && mean.abs() <= 1e6 * spread
    };
    (1e-6..1e6).contains(&features) && targets.groups.iter().flat_map(|group| &group.outputs).all(is_tame)
}

/// A curve as the result shows it.
pub(super) fn tested(group: &Group, kernel: &SharedKernel, curve: &Curve, chosen: Option<usize>) -> Tried {
    let shown = Tested {
        kernel: kernel.clone(),
        target: group_name(group),
        loss: group.outputs[0].losses[curve.choice].spec(),
        exponent: curve.exponent,
        lambdas: curve.lambdas.clone(),
        scores: curve.scores.clone(),
        standard_errors: Some(curve.standard_errors.clone()),
        dropped: curve.dropped.clone(),
        support: Vec::new(),
        chosen,
        mse_of_means: None,
    };
    Tried::along(shown)
}

fn group_name(group: &Group) -> String {
    match (&group.kind, &group.outputs[..]) {
        (Kind::Classes { .. }, [_, _, ..]) => "all classes".into(),
        (_, outputs) => outputs[0].name.clone(),
    }
}

/// The measure of the best constant prediction.
fn constant_score(group: &Group, measure: Measure, weights: Option<&[f64]>) -> f64 {
    let losses: Vec<&dyn Loss> = group.outputs.iter().map(|output| &*output.losses[0]).collect();
    let n = group.outputs[0].y.len();
    let constant =
        |t: usize| Problem { loss: losses[t], y: &group.outputs[t].y, weights, has_offset: true }.best_constant().0;
    let constants: Vec<f64> = (0..losses.len()).map(constant).collect();
    measure.of_rows(group, &losses, &Matrix::from_fn(n, losses.len(), |_, t| constants[t]), weights).0
}

fn mark_chosen(tried: &mut [Tried], best: &Candidate, groups: &[Group]) {
    for (group, chosen) in groups.iter().zip(&best.chosen) {
        let loss = group.outputs[0].losses[chosen.choice].spec();
        for trial in tried.iter_mut().filter(|trial| trial.kernel.spec() == best.ground.kernel.spec()) {
            let Judged::Curve(curve) = &mut trial.judged else { continue };
            if curve.target == group_name(group) && curve.loss == loss && curve.exponent == chosen.exponent {
                curve.chosen = Some(chosen.best);
                trial.is_chosen = true;
                break;
            }
        }
    }
}
