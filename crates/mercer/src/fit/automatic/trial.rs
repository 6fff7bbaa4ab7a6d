//! Learning one candidate on some rows, and judging it on others.

use super::Metric;
use super::candidates::Candidate;
use crate::base::clip;
use crate::base::error::{Error, Result};
use crate::choose::metric::learn::{Learned, Rows, by_outer_products, per_feature};
use crate::choose::metric::objective::Goal;
use crate::choose::metric::ridge::{LeftOut, ridge_fit};
use crate::choose::select::{Extras, Judge, Scorer, Search};
use crate::data::Points;
use crate::data::{Design, project};
use crate::linalg::Matrix;
use crate::path::Spectrum;
use crate::term::criterion::formula::Formula;
use crate::term::criterion::{Criterion, whole_groups};

/// Steps of the average outer product.
const STEPS: usize = 4;

/// Learns the candidate from all rows of a design; `None` when it cannot be computed.
pub(super) fn learn(
    candidate: &Candidate,
    design: &Design,
    offset: bool,
    keep_on: &dyn Fn() -> bool,
) -> Result<Option<Learned>> {
    let families = candidate.kernels()?;
    if !candidate.is_learned {
        return by_leave_one_out(candidate, design, offset);
    }
    let x = design.points.to_matrix();
    let root_weights: Option<Vec<f64>> = design.weights.as_ref().map(|w| w.iter().map(|w| w.sqrt()).collect());
    let rows = Rows { x: &x, y: &design.y, root_weights: root_weights.as_deref(), offset };
    match candidate.metric {
        Metric::Full => by_outer_products(&rows, &families[0], false, STEPS, keep_on),
        _ => per_feature(&rows, &families, candidate.is_tied(), Goal::Likelihood, keep_on),
    }
}

/// A kernel without lengthscales: only the ridge is chosen.
fn by_leave_one_out(candidate: &Candidate, design: &Design, offset: bool) -> Result<Option<Learned>> {
    let kernel = candidate.kernels()?[0].fitted_to(&design.points, design.weights.as_deref())?;
    let weights = design.weights.as_deref();
    let spectrum = match Spectrum::of_kernel(&*kernel, &design.points, weights, offset) {
        // Products over hundreds of features leave the range of numbers; other candidates do not.
        Err(Error::NotAKernel(_)) => return Ok(None),
        found => found?,
    };
    let targets = (0..design.y.cols()).map(|t| spectrum.target(design.y.col(t))).collect::<Result<Vec<_>>>()?;
    let members: Vec<_> = targets.iter().collect();
    let folds = design.groups.as_deref().and_then(whole_groups);
    let criterion = if folds.is_some() { Criterion::LeaveOneOut.for_groups() } else { Criterion::LeaveOneOut };
    let extras = Extras { folds, unlabelled: None };
    let search =
        Search { exponents: vec![2.0], lambdas: None, refine: true, preferred: None, one_standard_error: false };
    let Some(judge) = Judge::new(&spectrum, &members, &criterion, &extras, None)? else { return Ok(None) };
    let Some(surface) = search.run(&judge, &[]) else { return Ok(None) };
    let gamma = surface.best.lambda * spectrum.weight_sum();
    // The likelihood of targets in units of their deviation, as a learned metric's is.
    let restricted = Criterion::Formula(Formula::Restricted);
    let Some(judge) = Judge::new(&spectrum, &members, &restricted, &extras, None)? else { return Ok(None) };
    let directions = design.rows() as f64 - f64::from(offset);
    let sizes: f64 = members.iter().map(|t| spectrum.path(&[t]).zero_mse()).map(libm::log).sum();
    let likelihood = 0.5 * (judge.scores_at(2.0, &[libm::log(surface.best.lambda)])[0].value - directions * sizes);
    let point = vec![libm::log(gamma)];
    Ok(Some(Learned { kernel, map: None, gamma, objective: likelihood, parameters: 1, point }))
}

/// Learned from the rows `kept`, which are none of the fold's: the weighted square of each of its rows' errors, targets in units of `units`.
/// `None` when nothing could be learned.
pub(super) fn held_out_errors(
    candidate: &Candidate,
    design: &Design,
    (kept, fold): (&[usize], &[usize]),
    units: &[f64],
    (offset, clip): (bool, bool),
    keep_on: &dyn Fn() -> bool,
) -> Result<Option<Vec<f64>>> {
    let (training, held_out) = (design.subset(kept), design.subset(fold));
    let Some(learned) = learn(candidate, &training, offset, keep_on)? else { return Ok(None) };
    let map = |points: &Points| match &learned.map {
        Some(map) => Points::new(&project(&points.to_matrix(), map)),
        None => points.clone(),
    };
    let points = map(&training.points);
    let root_weights: Option<Vec<f64>> = training.weights.as_ref().map(|w| w.iter().map(|w| w.sqrt()).collect());
    let gamma = match training.groups.as_deref().and_then(whole_groups) {
        Some(groups) => super::grouped::ridge(&*learned.kernel, &points, &training, offset, &groups, learned.gamma)?,
        None => learned.gamma,
    };
    let (roots, nothing) = (root_weights.as_deref(), LeftOut::Nothing);
    let fit = ridge_fit(&*learned.kernel, &points, &training.y, roots, offset, gamma, nothing);
    let Some(fit) = fit else { return Ok(None) };
    let mut predicted: Matrix = fit.predict(&*learned.kernel, &points, &map(&held_out.points));
    for t in (0..predicted.cols()).filter(|_| clip) {
        let Some(range) = clip::range(training.y.col(t).iter().copied()) else { continue };
        predicted.col_mut(t).iter_mut().for_each(|value| *value = clip::within(*value, range));
    }
    let squares: Vec<f64> = (0..fold.len())
        .map(|i| {
            let weight = held_out.weights.as_ref().map_or(1.0, |w| w[i]);
            let square = |(t, unit): (usize, &f64)| ((predicted.get(i, t) - held_out.y.get(i, t)) / unit).powi(2);
            weight * units.iter().enumerate().map(square).sum::<f64>()
        })
        .collect();
    Ok(squares.iter().all(|s| s.is_finite()).then_some(squares))
}
