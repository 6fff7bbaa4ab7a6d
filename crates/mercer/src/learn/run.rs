//! The way of a fit: targets, kernels, choice, solution, certificate, model.

use super::measure::Measure;
use super::select::{Curve, Selection, held_out};
use super::solve::{Penalty, Rows, Solved, preconditioner};
use super::targets::{Group, Kind, Targets};
use super::{Learn, LearnTrial, Learned, calibrate};
use crate::certificate::Certificate;
use crate::certificate::gap::{Answer, Gap, duality_gap};
use crate::criterion::{Criterion, FoldRule, Folds};
use crate::data::{Frame, Roles};
use crate::error::{Error, Result};
use crate::fit::kernel_for;
use crate::kernel::SharedKernel;
use crate::linalg::Matrix;
use crate::loss::{Loss, Shape};
use crate::model::{Expansion, HeldOut, Meaning, Model, Probability, Summary};
use crate::plan::{self, Method, Plan};
use crate::solver::convex::Problem;
use crate::solver::convex::linear::margin_loss;
use crate::space;

/// A kernel with what was chosen on it, one curve per group.
struct Candidate {
    kernel: SharedKernel,
    gram: Option<Matrix>,
    factor: Option<Matrix>,
    chosen: Vec<Curve>,
    score: f64,
}

impl Learn {
    pub(super) fn run(&self, frame: &Frame, roles: &Roles) -> Result<Learned> {
        let targets = self.targets(frame, roles)?;
        let design = &targets.design;
        let kernels: Vec<SharedKernel> =
            self.kernels.iter().map(|kernel| kernel_for(kernel, design)).collect::<Result<_>>()?;
        let memory = self.memory.unwrap_or_else(plan::available_memory);
        let needs_gram = self.needs_gram();
        let method = self.method(&targets, &kernels);
        let plan = plan::convex(design.rows(), design.points.features(), needs_gram, method, memory)?;
        let folds = self.folds(&targets)?;
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

    fn go_on(&self, stage: &'static str) -> bool {
        self.observer.as_ref().is_none_or(|observer| observer(stage))
    }

    fn stage(&self, name: &'static str) -> Result<()> {
        if self.go_on(name) { Ok(()) } else { Err(Error::Interrupted) }
    }

    /// Whether the method cannot do without the whole kernel matrix.
    fn needs_gram(&self) -> bool {
        let is_tube = |loss: &crate::loss::SharedLoss| matches!(loss.shape(), Shape::Tube(_));
        let approximate = self.fixed().is_none() && self.criterion == Criterion::LeaveOneOut;
        approximate || !self.losses.iter().flatten().all(is_tube)
    }

    fn method(&self, targets: &Targets, kernels: &[SharedKernel]) -> Method {
        let is_linear = kernels.iter().all(|kernel| kernel.linear_scale().is_some());
        let is_margin = self.losses.iter().flatten().all(|loss| margin_loss(&**loss).is_some());
        let is_approximate = self.fixed().is_none() && self.criterion == Criterion::LeaveOneOut;
        let is_tall = targets.design.points.features() < targets.design.rows();
        let is_multinomial = targets.groups.iter().any(Group::is_multinomial);
        if is_linear && is_margin && is_tall && !is_approximate && !is_multinomial {
            return Method::Features;
        }
        if targets.groups.iter().any(Group::is_multinomial) {
            Method::Multinomial
        } else if matches!(self.losses[0][0].shape(), Shape::Tube(_)) {
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

    fn candidate(
        &self,
        kernel: &SharedKernel,
        targets: &Targets,
        plan: &Plan,
        folds: Option<&Folds>,
        memory: u64,
        tried: &mut Vec<LearnTrial>,
    ) -> Result<Candidate> {
        self.stage("kernel matrix")?;
        let points = &targets.design.points;
        let gram = plan.keeps_gram().then(|| space::gram(&**kernel, points));
        if let Some(gram) = &gram {
            crate::spectrum::check_size(gram.max_abs())?;
        }
        let needs_factor = plan.method == Method::Newton;
        let factor = needs_factor.then(|| preconditioner(&**kernel, points, &*self.losses[0][0])).flatten();
        if let Some((exponent, lambda)) = self.fixed() {
            let curve = Curve::fixed(exponent, lambda);
            let chosen = vec![curve; targets.groups.len()];
            return Ok(Candidate { kernel: kernel.clone(), gram, factor, chosen, score: 0.0 });
        }
        let go_on = || self.go_on("choosing");
        let in_features = plan.method == Method::Features;
        let rows =
            Rows { factor: factor.as_ref(), ..self.rows(kernel, targets, gram.as_ref(), memory, in_features, &go_on) };
        let (mut chosen, mut score) = (Vec::new(), 0.0);
        for group in &targets.groups {
            self.stage("choosing")?;
            let choices = self.losses.len();
            let measure = self.measure.unwrap_or_else(|| Measure::default_for(group, choices));
            measure.check(group)?;
            let selection = Selection { learn: self, folds, measure };
            let (curves, best) = selection.run(&rows, group)?;
            for curve in &curves {
                tried.push(LearnTrial {
                    target: group_name(group),
                    kernel: kernel.clone(),
                    loss: group.outputs[0].losses[curve.choice].spec(),
                    exponent: curve.exponent,
                    lambdas: curve.lambdas.clone(),
                    scores: curve.scores.clone(),
                    standard_errors: curve.standard_errors.clone(),
                    chosen: None,
                });
            }
            // Several targets are added up in units of what a constant would score.
            let unit = if targets.groups.len() > 1 { constant_score(group, measure, rows.weights) } else { 1.0 };
            score += curves[best].score() / if unit > 0.0 { unit } else { 1.0 };
            chosen.extend(curves.into_iter().nth(best));
        }
        Ok(Candidate { kernel: kernel.clone(), gram, factor, chosen, score })
    }

    fn rows<'a>(
        &self,
        kernel: &'a SharedKernel,
        targets: &'a Targets,
        gram: Option<&'a Matrix>,
        memory: u64,
        in_features: bool,
        go_on: &'a (dyn Fn() -> bool + Sync),
    ) -> Rows<'a> {
        Rows {
            kernel: &**kernel,
            points: &targets.design.points,
            gram,
            of_gram: None,
            factor: None,
            weights: targets.weights.as_deref(),
            has_offset: self.offset,
            memory: memory / 2,
            in_features,
            go_on,
        }
    }

    fn finish(
        &self,
        targets: Targets,
        best: Candidate,
        plan: Plan,
        memory: u64,
        folds: Option<&Folds>,
        tried: Vec<LearnTrial>,
    ) -> Result<Learned> {
        let go_on = || self.go_on("solving");
        let in_features = plan.method == Method::Features;
        let rows = self.rows(&best.kernel, &targets, best.gram.as_ref(), memory, in_features, &go_on);
        let rows = Rows { factor: best.factor.as_ref(), ..rows };
        let mut summaries = Vec::new();
        let mut columns: Vec<Vec<f64>> = Vec::new();
        let (mut fitted, mut held, mut calibration) = (Vec::new(), Vec::new(), Vec::new());
        for (group, curve) in targets.groups.iter().zip(&best.chosen) {
            self.stage("solving")?;
            let losses: Vec<&dyn Loss> = group.outputs.iter().map(|output| &*output.losses[curve.choice]).collect();
            let penalty = Penalty { exponent: curve.exponent, lambda: curve.lambda(), tolerance: self.tolerance };
            let solved = rows.solve(group, &losses, penalty, None)?;
            self.stage("certificate")?;
            let first = summaries.len();
            summaries.extend(self.summaries(&rows, group, &losses, curve, &solved));
            for (t, model) in solved.models.iter().enumerate() {
                columns.push(model.point.alpha.clone());
                let values: Vec<f64> = model.point.fitted.iter().map(|f| f + summaries[first + t].intercept).collect();
                fitted.push(values);
            }
            held.extend(if tried.is_empty() { Vec::new() } else { curve.held_out() });
            if self.probabilities && matches!(group.kind, Kind::Classes { .. }) {
                calibration = self.calibration(&rows, group, &losses, curve, folds, &tried)?;
            }
        }
        let meaning = self.meaning(&targets, calibration);
        let expansion = expansion(&targets, &best, columns)?;
        let encoder = targets.design.encoder.clone();
        let model = Model { encoder, kernel: best.kernel, expansion, summaries, meaning };
        Ok(Learned { model, fitted, held_out: held, tried, plan, design: targets.design })
    }

    /// Sigmoids on held-out values, for losses that state no probabilities.
    fn calibration(
        &self,
        rows: &Rows<'_>,
        group: &Group,
        losses: &[&dyn Loss],
        curve: &Curve,
        folds: Option<&Folds>,
        tried: &[LearnTrial],
    ) -> Result<Vec<[f64; 2]>> {
        if losses[0].probability(0.0).is_some() {
            return Ok(Vec::new());
        }
        self.stage("calibrating")?;
        let values = match (folds, tried.is_empty()) {
            (Some(_), false) => curve.held_out(),
            _ => {
                let n = rows.points.rows();
                let rule = FoldRule { folds: 5.min(n), repeats: 1, in_order: false };
                let folds = Folds::draw(&rule, n, None, self.seed)?;
                let lambdas = [curve.lambda()];
                let mut found = held_out(rows, group, losses, curve.exponent, &lambdas, &folds, Measure::Loss)?;
                let values = found.swap_remove(0).map(|mut repeats| repeats.swap_remove(0)).unwrap_or_default();
                (0..values.cols()).map(|t| values.col(t).to_vec()).collect()
            }
        };
        Ok(values.iter().zip(&group.outputs).map(|(v, o)| calibrate::calibrate(v, &o.y, rows.weights)).collect())
    }

    fn meaning(&self, targets: &Targets, calibration: Vec<[f64; 2]>) -> Meaning {
        let Some(classes) = &targets.classes else {
            return if self.losses[0].len() > 1 {
                Meaning::Quantiles { per_target: self.losses[0].len(), sorted: self.non_crossing }
            } else {
                Meaning::Numbers
            };
        };
        let probability = if targets.groups[0].is_multinomial() {
            Probability::Softmax
        } else if self.losses[0][0].probability(0.0).is_some() {
            Probability::Stated
        } else if calibration.is_empty() {
            Probability::Unknown
        } else {
            Probability::Calibrated { sigmoids: calibration }
        };
        Meaning::Classes { target: targets.design.targets[0].clone(), classes: classes.clone(), probability }
    }

    fn summaries(
        &self,
        rows: &Rows<'_>,
        group: &Group,
        losses: &[&dyn Loss],
        curve: &Curve,
        solved: &Solved,
    ) -> Vec<Summary> {
        let (exponent, lambda) = (curve.exponent, curve.lambda());
        let is_fixed = self.fixed().is_some();
        let measure = self.measure.unwrap_or_else(|| Measure::default_for(group, self.losses.len()));
        let wrong = match &group.kind {
            Kind::Classes { codes, .. } => Some(training_error(rows, group, codes, solved)),
            Kind::Numbers => None,
        };
        let mut out = Vec::new();
        for (t, model) in solved.models.iter().enumerate() {
            let y = &group.outputs[t].y;
            let problem = Problem { loss: losses[t], y, weights: rows.weights, has_offset: rows.has_offset };
            let point = &model.point;
            let witness = model.witness.as_deref();
            let answer = Answer { alpha: &point.alpha, offset: point.offset, ridge: point.ridge, witness };
            let mut gap = duality_gap(&problem, rows.kernel, rows.points, &answer, exponent, lambda);
            if let Some((primal, dual)) = solved.joint_bounds() {
                // The loss is −ln of a probability that all models share.
                let penalty = lambda * solved.models.iter().map(|model| model.point.squared_norm).sum::<f64>();
                gap = Gap { primal, dual, mean_loss: (primal - penalty).max(0.0), ..gap };
            }
            let squared: f64 =
                (0..y.len()).map(|i| problem.weight(i) * (y[i] - point.fitted[i] - point.offset).powi(2)).sum::<f64>()
                    / problem.total();
            let variance = variance(&problem);
            let explained = (wrong.is_none() && variance > 0.0).then(|| 1.0 - squared / variance);
            out.push(Summary {
                target: group.outputs[t].name.clone(),
                rows: y.len(),
                lambda,
                lambda_was_chosen: self.lambdas.as_ref().is_none_or(|lambdas| lambdas.len() > 1),
                chosen_by: (!is_fixed).then(|| self.criterion.spec()),
                exponent,
                effective_ridge: (!model.is_zero).then_some(point.ridge),
                stationary_ridges: if model.is_zero { Vec::new() } else { vec![point.ridge] },
                norm: gap.norm,
                objective: gap.primal,
                intercept: point.offset,
                has_offset: self.offset,
                dof: None,
                train_rmse: squared.sqrt(),
                train_r2: explained,
                loo_rmse: None,
                loo_r2: None,
                is_zero: model.is_zero,
                target_range: y.iter().fold([f64::INFINITY, f64::NEG_INFINITY], |[l, h], v| [l.min(*v), h.max(*v)]),
                certificate: Certificate::of_gap(&gap, self.tolerance, model.root_residual, model.is_zero),
                loss: losses[t].spec(),
                penalty: "norm-power".into(),
                support: Some(point.alpha.iter().filter(|a| **a != 0.0).count()),
                train_loss: Some(gap.mean_loss),
                train_error: wrong,
                held_out: (!is_fixed).then(|| HeldOut {
                    measure: measure.name().into(),
                    value: curve.score(),
                    standard_error: curve.standard_errors[curve.best],
                }),
            });
        }
        out
    }
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

fn mark_chosen(tried: &mut [LearnTrial], best: &Candidate, groups: &[Group]) {
    for (group, curve) in groups.iter().zip(&best.chosen) {
        let loss = group.outputs[0].losses[curve.choice].spec();
        let is_it = |trial: &&mut LearnTrial| {
            trial.kernel.spec() == best.kernel.spec()
                && trial.target == group_name(group)
                && trial.loss == loss
                && trial.exponent == curve.exponent
        };
        if let Some(trial) = tried.iter_mut().find(is_it) {
            trial.chosen = Some(curve.best);
        }
    }
}

/// The share of training rows whose class is not predicted.
fn training_error(rows: &Rows<'_>, group: &Group, codes: &[usize], solved: &Solved) -> f64 {
    let weight = |i: usize| rows.weights.map_or(1.0, |w| w[i]);
    let (mut wrong, mut total) = (0.0, 0.0);
    for (i, code) in codes.iter().enumerate() {
        let values: Vec<f64> = solved.models.iter().map(|model| model.point.fitted[i] + model.point.offset).collect();
        total += weight(i);
        if group.class_of(&values) != *code {
            wrong += weight(i);
        }
    }
    wrong / total
}

fn variance(problem: &Problem<'_>) -> f64 {
    let total = problem.total();
    let mean = (0..problem.rows()).map(|i| problem.weight(i) * problem.y[i]).sum::<f64>() / total;
    (0..problem.rows()).map(|i| problem.weight(i) * (problem.y[i] - mean).powi(2)).sum::<f64>() / total
}

/// The function of all models; rows without a coefficient are left out.
fn expansion(targets: &Targets, best: &Candidate, columns: Vec<Vec<f64>>) -> Result<Expansion> {
    let design = &targets.design;
    let (n, models) = (design.rows(), columns.len());
    if columns.iter().flatten().any(|c| !c.is_finite()) {
        return Err(Error::Decomposition("the coefficients are not finite; a larger λ is needed".into()));
    }
    if let Some(scale) = best.kernel.linear_scale() {
        let weight = |j: usize, t: usize| {
            scale * design.points.feature(j).iter().zip(&columns[t]).map(|(x, a)| x * a).sum::<f64>()
        };
        return Ok(Expansion::Linear { coefficients: Matrix::from_fn(design.points.features(), models, weight) });
    }
    let alpha = Matrix::from_columns(n, models, columns.concat())?;
    if best.kernel.is_precomputed() {
        return Ok(Expansion::Kernel { points: crate::kernel::Points::new(&Matrix::zeros(n, 0)), alpha });
    }
    let used: Vec<usize> = (0..n).filter(|i| (0..models).any(|t| alpha.get(*i, t) != 0.0)).collect();
    let alpha = Matrix::from_fn(used.len(), models, |p, t| alpha.get(used[p], t));
    Ok(Expansion::Kernel { points: design.points.subset(&used), alpha })
}
