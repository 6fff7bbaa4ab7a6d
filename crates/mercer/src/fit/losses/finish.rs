//! From a choice to a model: the final solution, its certificate, probabilities, summaries.

use super::measure::Measure;
use super::run::Candidate;
use super::select::{Curve, held_out};
use super::solve::{Penalty, Rows, Solved};
use super::targets::{Group, Kind, Targets};
use super::{LossFit, calibrate};
use crate::base::error::{Error, Result};
use crate::fit::plan::{Method, Plan};
use crate::fit::{Engaged, Fitted, Tried};
use crate::linalg::Matrix;
use crate::model::{Expansion, HeldOut, Meaning, Model, Precision, Probability, Provenance, Summary};
use crate::solve::certificate::Certificate;
use crate::solve::certificate::gap::{Answer, Gap, duality_gap, multinomial_gap};
use crate::solve::convex::exponent::PowerPoint;
use crate::solve::convex::{Problem, RidgePoint};
use crate::term::criterion::{Criterion, FoldRule, Folds, group_count};
use crate::term::loss::{Loss, Shape};

/// Gaps from which on a matrix in single precision, where choosing has left one, serves for the model too.
const IN_SINGLE: f64 = 1e-4;

impl LossFit {
    pub(super) fn finish(
        &self,
        targets: Targets,
        best: Candidate,
        plan: Plan,
        memory: u64,
        folds: Option<&Folds>,
        tried: Vec<Tried>,
    ) -> Result<Fitted> {
        let go_on = || self.go_on("solving");
        let in_features = plan.method == Method::Features;
        let landmarks = best.ground.landmarks.as_ref();
        let rows =
            self.rows(&best.ground.kernel, &targets, best.ground.gram.as_ref(), landmarks, memory, in_features, &go_on);
        let rows = Rows { factor: best.ground.factor.as_ref(), ..rows };
        let mut summaries = Vec::new();
        let mut columns: Vec<Vec<f64>> = Vec::new();
        let mut linear: Vec<Vec<f64>> = Vec::new();
        let (mut fitted, mut held, mut calibration) = (Vec::new(), Vec::new(), Vec::new());
        for (group, curve) in targets.groups.iter().zip(&best.chosen) {
            self.stage("solving")?;
            let losses: Vec<&dyn Loss> = group.outputs.iter().map(|output| &*output.losses[curve.choice]).collect();
            let penalty = Penalty { exponent: curve.exponent, lambda: curve.lambda(), tolerance: self.tolerance };
            let single = best.ground.single.as_ref().filter(|_| penalty.tolerance >= IN_SINGLE);
            let quick = Rows { is_measured_after: true, single, ..rows };
            let (solved, gaps) = self.certified(&rows, &quick, group, &losses, penalty, best.near.as_ref())?;
            let first = summaries.len();
            summaries.extend(self.summaries(&rows, group, &losses, curve, &solved, &gaps));
            if let Some(wrong) = summaries[first..].iter().find(|summary| !is_finite(summary)) {
                let found = format!("λ = {}, exponent {} for {}", wrong.lambda, wrong.exponent, wrong.target);
                let must = "such that the objective is a finite number (scale the features if they are huge)";
                return Err(Error::argument("λ and the exponent", must, found));
            }
            for (t, model) in solved.models.iter().enumerate() {
                columns.push(model.point.alpha.clone());
                linear.extend(model.point.coefficients.clone());
                let values: Vec<f64> = model.point.fitted.iter().map(|f| f + summaries[first + t].intercept).collect();
                fitted.push(values);
            }
            held.extend(if tried.is_empty() { Vec::new() } else { curve.held_out() });
            if self.probabilities && matches!(group.kind, Kind::Classes { .. }) {
                let together = targets.design.groups.as_deref();
                let by_folds = folds.is_some() && !tried.is_empty();
                let values = self.values_to_calibrate(&rows, group, &losses, curve, together, by_folds)?;
                // The values are those of fits with class weights; the sigmoids count every row by its own weight, so that
                // probabilities are those of the table.
                let own = targets.design.weights.as_deref();
                let models = values.iter().zip(&group.outputs).zip(&fitted[first..]);
                calibration = models.map(|((v, o), fitted)| calibrate::calibrate(v, &o.y, own, fitted)).collect();
            }
        }
        let count = targets.design.whole_groups().map(group_count);
        summaries.iter_mut().for_each(|summary| summary.groups = count);
        let meaning = self.meaning(&targets, calibration);
        let expansion = match landmarks {
            Some(landmarks) => {
                for summary in &mut summaries {
                    summary.support = Some(landmarks.rank());
                    summary.certificate.low_rank = Some(landmarks.certificate());
                }
                landmarks.expansion(&targets.design.points, &columns, &linear)?
            }
            None if linear.len() == columns.len() => Expansion::Linear {
                coefficients: Matrix::from_columns(targets.design.points.features(), linear.len(), linear.concat())?,
            },
            None => expansion(&targets, &best, &columns)?,
        };
        let encoder = targets.design.encoder.clone();
        let (kernel, precision, provenance) = (best.ground.kernel, Precision::Double, Provenance::of_this_version());
        let model = Model { encoder, kernel, expansion, summaries, meaning, kept: None, precision, provenance };
        let outputs = targets.groups.into_iter().flat_map(|group| group.outputs).map(|output| output.y).collect();
        let engaged = Engaged::Loss { outputs, row_weights: targets.weights };
        let found = Fitted::new(model, plan, targets.design, tried, engaged);
        Ok(Fitted { coefficients: columns, fitted, held_out: held, ..found })
    }

    /// The models of a group, and the gap of each by values that are computed anew.
    fn certified(
        &self,
        rows: &Rows<'_>,
        quick: &Rows<'_>,
        group: &Group,
        losses: &[&dyn Loss],
        penalty: Penalty,
        near: Option<&Solved>,
    ) -> Result<(Solved, Vec<Gap>)> {
        let mut solved = self.snapped(rows, group, losses, penalty, quick.solve(group, losses, penalty, near)?);
        self.stage("certificate")?;
        let mut gaps = measure(rows, group, losses, penalty, &mut solved);
        let is_wrong = |(model, gap): (&PowerPoint, &Gap)| model.point.converged && gap.relative() > penalty.tolerance;
        if rows.gram.is_none() && solved.models.iter().zip(&gaps).any(is_wrong) {
            // Sums that were updated step by step told the solver too much: on from what they really are.
            solved = self.snapped(rows, group, losses, penalty, rows.solve(group, losses, penalty, Some(&solved))?);
            gaps = measure(rows, group, losses, penalty, &mut solved);
        }
        Ok((solved, gaps))
    }

    /// The solution with coefficients that are next to nothing set to nothing, where its gap allows it: interior points end
    /// near their bounds, not on them, and a row without coefficient need not be kept.
    fn snapped(
        &self,
        rows: &Rows<'_>,
        group: &Group,
        losses: &[&dyn Loss],
        penalty: Penalty,
        solved: Solved,
    ) -> Solved {
        let mut out = solved.clone();
        for (t, model) in out.models.iter_mut().enumerate() {
            if !matches!(losses[t].shape(), Shape::Tube(_)) || model.is_zero {
                continue;
            }
            let largest = model.point.alpha.iter().fold(0.0, |max: f64, a| max.max(a.abs()));
            let kept: Vec<f64> =
                model.point.alpha.iter().map(|a| if a.abs() <= 1e-7 * largest { 0.0 } else { *a }).collect();
            if kept == model.point.alpha {
                continue;
            }
            let y = &group.outputs[t].y;
            let problem = Problem { loss: losses[t], y, weights: rows.weights, has_offset: rows.has_offset };
            let (offset, ridge) = (model.point.offset, model.point.ridge);
            let (coefficients, tolerance) = (model.point.coefficients.as_deref(), penalty.tolerance);
            let answer = Answer { alpha: &kept, coefficients, offset, ridge, tolerance, witness: None };
            let (gap, _) = duality_gap(&problem, rows.kernel, rows.points, &answer, penalty.exponent, penalty.lambda);
            if gap.relative() <= penalty.tolerance {
                model.point.alpha = kept;
            }
        }
        out
    }

    /// Held-out values of each model, for losses that state no probabilities.
    fn values_to_calibrate(
        &self,
        rows: &Rows<'_>,
        group: &Group,
        losses: &[&dyn Loss],
        curve: &Curve,
        groups: Option<&[u32]>,
        by_folds: bool,
    ) -> Result<Vec<Vec<f64>>> {
        if losses[0].probability(0.0).is_some() {
            return Ok(Vec::new());
        }
        self.stage("calibrating")?;
        Ok(match by_folds {
            true => curve.held_out(),
            false => {
                let n = rows.points.rows();
                let rule = match &self.criterion {
                    Criterion::KFold(rule) if rule.is_forward() => *rule,
                    _ => FoldRule::random(groups.map_or(n, group_count).min(5)),
                };
                let folds = Folds::draw(&rule, n, groups, self.seed)?;
                let lambdas = [curve.lambda()];
                let mut found = held_out(rows, group, losses, curve.exponent, &lambdas, &folds, Measure::Loss)?;
                let values = found.swap_remove(0).map(|mut repeats| repeats.swap_remove(0)).unwrap_or_default();
                (0..values.cols()).map(|t| values.col(t).to_vec()).collect()
            }
        })
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
        let (target, class_weights) = (targets.design.targets[0].clone(), targets.class_weights.clone());
        Meaning::Classes { target, classes: classes.clone(), probability, class_weights }
    }

    fn summaries(
        &self,
        rows: &Rows<'_>,
        group: &Group,
        losses: &[&dyn Loss],
        curve: &Curve,
        solved: &Solved,
        gaps: &[Gap],
    ) -> Vec<Summary> {
        let (exponent, lambda) = (curve.exponent, curve.lambda());
        let is_fixed = self.fixed().is_some();
        let measure = self.measure.unwrap_or_else(|| Measure::default_for(group, self.losses.len()));
        let wrong = match &group.kind {
            Kind::Classes { codes, .. } => Some(training_error(group, codes, solved, None)),
            Kind::Numbers => None,
        };
        let weighted_wrong = match (&group.kind, rows.weights) {
            (Kind::Classes { codes, .. }, Some(weights)) => Some(training_error(group, codes, solved, Some(weights))),
            _ => None,
        };
        let unweighted =
            (rows.weights.is_some() && measure == Measure::Error && !is_fixed).then(|| curve.share(group, losses));
        let mut out = Vec::new();
        for (t, (model, gap)) in solved.models.iter().zip(gaps).enumerate() {
            let y = &group.outputs[t].y;
            let problem = Problem { loss: losses[t], y, weights: rows.weights, has_offset: rows.has_offset };
            let point = &model.point;
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
                chosen_on_landmarks: None,
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
                groups: None,
                criterion_value: None,
                is_zero: model.is_zero,
                target_range: y.iter().fold([f64::INFINITY, f64::NEG_INFINITY], |[l, h], v| [l.min(*v), h.max(*v)]),
                clip: None,
                certificate: Certificate::of_gap(gap, self.tolerance, model.root_residual, model.is_zero),
                loss: losses[t].spec(),
                penalty: "norm-power".into(),
                support: Some(point.alpha.iter().filter(|a| **a != 0.0).count()),
                train_loss: Some(gap.mean_loss),
                train_error: wrong,
                weighted_train_error: weighted_wrong,
                held_out: (!is_fixed).then(|| HeldOut {
                    measure: measure.name().into(),
                    value: curve.score(),
                    standard_error: curve.standard_errors[curve.best],
                    unweighted,
                }),
            });
        }
        out
    }
}

/// The gap of each model; those of tubes without a kernel matrix get the values that are computed for it.
fn measure(rows: &Rows<'_>, group: &Group, losses: &[&dyn Loss], penalty: Penalty, solved: &mut Solved) -> Vec<Gap> {
    let joint = joint_gap(rows, group, solved, penalty.lambda);
    let Penalty { exponent, lambda, tolerance } = penalty;
    let mut gaps = Vec::new();
    for (t, model) in solved.models.iter_mut().enumerate() {
        let y = &group.outputs[t].y;
        let problem = Problem { loss: losses[t], y, weights: rows.weights, has_offset: rows.has_offset };
        let point = &model.point;
        if let Some(joint) = joint {
            // One problem gave all models; each has a norm of its own.
            gaps.push(Gap { norm: point.squared_norm.sqrt(), ..joint });
            continue;
        }
        let witness = model.witness.as_deref();
        let (alpha, coefficients) = (&point.alpha[..], point.coefficients.as_deref());
        let (offset, ridge) = (point.offset, point.ridge);
        let answer = Answer { alpha, coefficients, offset, ridge, tolerance, witness };
        let (gap, values) = duality_gap(&problem, rows.kernel, rows.points, &answer, exponent, lambda);
        if rows.gram.is_none() && !rows.in_features && matches!(losses[t].shape(), Shape::Tube(_)) && !model.is_zero {
            model.point.squared_norm = gap.norm * gap.norm;
            model.point.fitted = values;
        }
        gaps.push(gap);
    }
    gaps
}

/// The gap of a multinomial problem.
fn joint_gap(rows: &Rows<'_>, group: &Group, solved: &Solved, lambda: f64) -> Option<Gap> {
    let Kind::Classes { codes, is_multinomial: true } = &group.kind else { return None };
    let points: Vec<&RidgePoint> = solved.models.iter().map(|model| &model.point).collect();
    Some(multinomial_gap(codes, rows.weights, (rows.kernel, rows.points), &points, rows.has_offset, lambda))
}

fn is_finite(summary: &Summary) -> bool {
    let facts = [summary.objective, summary.norm, summary.train_rmse, summary.intercept];
    facts.iter().all(|x| x.is_finite()) && summary.train_loss.is_none_or(f64::is_finite)
}

/// The share of training rows whose class is not predicted.
fn training_error(group: &Group, codes: &[usize], solved: &Solved, weights: Option<&[f64]>) -> f64 {
    let weight = |i: usize| weights.map_or(1.0, |w| w[i]);
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
fn expansion(targets: &Targets, best: &Candidate, columns: &[Vec<f64>]) -> Result<Expansion> {
    let design = &targets.design;
    let (n, models) = (design.rows(), columns.len());
    if columns.iter().flatten().any(|c| !c.is_finite()) {
        return Err(Error::Decomposition("the coefficients are not finite; a larger λ is needed".into()));
    }
    if let Some(scale) = best.ground.kernel.linear_scale() {
        let weight = |j: usize, t: usize| {
            scale * design.points.feature(j).iter().zip(&columns[t]).map(|(x, a)| x * a).sum::<f64>()
        };
        return Ok(Expansion::Linear { coefficients: Matrix::from_fn(design.points.features(), models, weight) });
    }
    let alpha = Matrix::from_columns(n, models, columns.concat())?;
    if best.ground.kernel.is_precomputed() {
        return Ok(Expansion::Kernel { points: crate::data::Points::new(&Matrix::zeros(n, 0)), alpha });
    }
    let used: Vec<usize> = (0..n).filter(|i| (0..models).any(|t| alpha.get(*i, t) != 0.0)).collect();
    let alpha = Matrix::from_fn(used.len(), models, |p, t| alpha.get(used[p], t));
    Ok(Expansion::Kernel { points: design.points.subset(&used), alpha })
}
