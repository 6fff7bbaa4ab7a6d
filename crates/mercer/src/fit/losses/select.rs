//! Choosing λ, exponent and loss by what held-out rows say.

use rayon::prelude::*;

use super::measure::Measure;
use super::part::Part;
use super::solve::{Penalty, Rows};
use super::targets::Group;
use super::{LossFit, approximate};
use crate::base::error::{Error, Result};
use crate::linalg::Matrix;
use crate::term::criterion::{Criterion, Folds};
use crate::term::loss::{Loss, Reads, Shape};

/// The relative duality gap that selection asks for.
const TOLERANCE: f64 = 1e-4;

/// The criterion along λ for one loss and exponent.
#[derive(Debug, Clone)]
pub(super) struct Curve {
    pub choice: usize,
    pub exponent: f64,
    /// Rising.
    pub lambdas: Vec<f64>,
    pub scores: Vec<f64>,
    pub standard_errors: Vec<f64>,
    /// Held-out values at each λ, rows × models (the mean over repeats).
    values: Vec<Matrix>,
    /// After how many folds a λ was dropped, where it was.
    pub dropped: Vec<Option<usize>>,
    /// Which λ is chosen.
    pub best: usize,
}

impl Curve {
    /// A single point, given and not measured.
    pub fn fixed(exponent: f64, lambda: f64) -> Self {
        let (lambdas, scores, standard_errors) = (vec![lambda], vec![0.0], vec![0.0]);
        let (values, dropped) = (vec![Matrix::default()], vec![None]);
        Curve { choice: 0, exponent, lambdas, scores, standard_errors, values, dropped, best: 0 }
    }

    /// Without any λ yet.
    pub fn empty(choice: usize, exponent: f64) -> Self {
        let (lambdas, scores, standard_errors) = (Vec::new(), Vec::new(), Vec::new());
        Curve { choice, exponent, lambdas, scores, standard_errors, values: Vec::new(), dropped: Vec::new(), best: 0 }
    }

    /// One more λ with its score, standard error, held-out values, and the folds after which it was dropped, if it was.
    pub fn insert(&mut self, lambda: f64, score: (f64, f64), values: Matrix, dropped: Option<usize>) {
        let place = self.lambdas.partition_point(|known| *known < lambda);
        self.lambdas.insert(place, lambda);
        self.scores.insert(place, score.0);
        self.standard_errors.insert(place, score.1);
        self.values.insert(place, values);
        self.dropped.insert(place, dropped);
    }

    pub fn score(&self) -> f64 {
        self.scores[self.best]
    }

    pub fn lambda(&self) -> f64 {
        self.lambdas[self.best]
    }

    /// Held-out values at the chosen λ, one vector per model.
    pub fn held_out(&self) -> Vec<Vec<f64>> {
        let values = &self.values[self.best];
        (0..values.cols()).map(|t| values.col(t).to_vec()).collect()
    }

    /// The share of held-out rows whose class was not predicted at the chosen λ, every row counted once.
    pub fn share(&self, group: &Group, losses: &[&dyn Loss]) -> f64 {
        Measure::Error.of_rows(group, losses, &self.values[self.best], None).0
    }
}

/// What a group is chosen by.
pub(super) struct Selection<'a> {
    pub learn: &'a LossFit,
    pub folds: Option<&'a Folds>,
    pub measure: Measure,
}

impl Selection<'_> {
    /// The curve of every loss and exponent, and which is the best.
    pub fn run(&self, rows: &Rows<'_>, group: &Group) -> Result<(Vec<Curve>, usize)> {
        let mut curves = Vec::new();
        for choice in 0..self.learn.losses.len() {
            for exponent in &self.learn.exponents {
                curves.push(self.curve(rows, group, choice, *exponent)?);
            }
        }
        // Equal to nine digits is not better: the first stays.
        let mut best = 0;
        for (index, curve) in curves.iter().enumerate() {
            if curve.score() < curves[best].score() * (1.0 - 1e-9) || !curves[best].score().is_finite() {
                best = index;
            }
        }
        Ok((curves, best))
    }

    fn curve(&self, rows: &Rows<'_>, group: &Group, choice: usize, exponent: f64) -> Result<Curve> {
        let losses: Vec<&dyn Loss> = group.outputs.iter().map(|output| &*output.losses[choice]).collect();
        let lambdas = match &self.learn.lambdas {
            Some(lambdas) => lambdas.clone(),
            None => default_lambdas(rows, group, losses[0], exponent),
        };
        let mut curve = Curve::empty(choice, exponent);
        self.extend(&mut curve, rows, group, &losses, &lambdas)?;
        if self.learn.refine && lambdas.len() > 1 {
            // Between the best λ and its neighbours, once.
            let log = |l: usize| libm::log(curve.lambdas[l]);
            let mut between = Vec::new();
            if curve.best > 0 {
                between.push(libm::exp(0.5 * (log(curve.best - 1) + log(curve.best))));
            }
            if curve.best + 1 < curve.lambdas.len() {
                between.push(libm::exp(0.5 * (log(curve.best) + log(curve.best + 1))));
            }
            self.extend(&mut curve, rows, group, &losses, &between)?;
        }
        Ok(curve)
    }

    /// Measures more λ and chooses again.
    fn extend(
        &self,
        curve: &mut Curve,
        rows: &Rows<'_>,
        group: &Group,
        losses: &[&dyn Loss],
        lambdas: &[f64],
    ) -> Result<()> {
        let values = match self.folds {
            Some(folds) => held_out(rows, group, losses, curve.exponent, lambdas, folds, self.measure)?,
            None => approximate::values(rows, group, losses, curve.exponent, lambdas, TOLERANCE)?,
        };
        for (lambda, repeats) in lambdas.iter().zip(values) {
            let Some(repeats) = repeats else { continue };
            let measured: Vec<(f64, f64)> =
                repeats.iter().map(|values| self.measure.of_rows(group, losses, values, rows.weights)).collect();
            let count = measured.len().max(1) as f64;
            let mean = |part: fn(&(f64, f64)) -> f64| measured.iter().map(part).sum::<f64>() / count;
            curve.insert(*lambda, (mean(|m| m.0), mean(|m| m.1)), mean_of(&repeats), None);
        }
        curve.best = self.choice(curve)?;
        Ok(())
    }

    fn choice(&self, curve: &Curve) -> Result<usize> {
        let best = Criterion::LeaveOneOut.choice(&curve.scores).ok_or_else(|| {
            Error::Decomposition(
                "no λ gave a finite error on held-out rows (scale the features if they are huge)".into(),
            )
        })?;
        if !self.learn.one_standard_error {
            return Ok(best);
        }
        let allowed = curve.scores[best] + curve.standard_errors[best];
        Ok((best..curve.scores.len()).rev().find(|l| curve.scores[*l] <= allowed).unwrap_or(best))
    }
}

/// Held-out values along λ, one matrix (rows × models) per repeat of the folds; `None` from where it was not worth going on.
pub(super) type HeldOutValues = Vec<Option<Vec<Matrix>>>;

/// All folds at every λ, from the largest down: small λ are dear, and once held-out rows have said twice in a row that a λ is
/// too small, by three hundredths of the best measure, no smaller one is tried.
pub(super) fn held_out(
    rows: &Rows<'_>,
    group: &Group,
    losses: &[&dyn Loss],
    exponent: f64,
    lambdas: &[f64],
    folds: &Folds,
    measure: Measure,
) -> Result<HeldOutValues> {
    let n = rows.points.rows();
    let per_repeat = folds.groups.len() / folds.repeats.max(1);
    let of_fold = |fold: usize| Part::of(rows, group, &folds.groups[fold], folds.kept(fold, n));
    let mut parts: Vec<Part> = (0..folds.groups.len()).map(of_fold).collect();
    let mut order: Vec<usize> = (0..lambdas.len()).collect();
    order.sort_by(|a, b| lambdas[*b].total_cmp(&lambdas[*a]));
    let mut out: HeldOutValues = vec![None; lambdas.len()];
    let (mut best, mut worse) = (f64::INFINITY, 0);
    for l in order {
        let penalty = Penalty { exponent, lambda: lambdas[l], tolerance: TOLERANCE };
        let found: Vec<Matrix> =
            parts.par_iter_mut().map(|part| part.advance(rows, losses, penalty)).collect::<Result<_>>()?;
        let mut repeats = vec![Matrix::from_fn(n, losses.len(), |_, _| f64::NAN); folds.repeats.max(1)];
        for (index, (held, values)) in folds.groups.iter().zip(&found).enumerate() {
            for (place, row) in held.iter().enumerate() {
                (0..losses.len()).for_each(|t| repeats[index / per_repeat].set(*row, t, values.get(place, t)));
            }
        }
        let (score, _) = measure.of_rows(group, losses, &repeats[0], rows.weights);
        out[l] = Some(repeats);
        best = best.min(score);
        worse = if score > 1.03 * best { worse + 1 } else { 0 };
        if worse >= 2 {
            break;
        }
    }
    Ok(out)
}

fn mean_of(repeats: &[Matrix]) -> Matrix {
    let mut out = repeats[0].clone();
    for other in &repeats[1..] {
        out.as_mut_slice().iter_mut().zip(other.as_slice()).for_each(|(a, b)| *a += b);
    }
    let count = repeats.len() as f64;
    out.as_mut_slice().iter_mut().for_each(|a| *a /= count);
    out
}

/// λ from where f hardly moves to where it follows every row: the coefficients' scale 1/(2Wμ), times the kernel's, from
/// 1/100 to 10,000 times what the target's spread asks for.
pub(super) fn default_lambdas(rows: &Rows<'_>, group: &Group, loss: &dyn Loss, exponent: f64) -> Vec<f64> {
    const POINTS: usize = 13;
    let n = rows.points.rows();
    let mut diagonal = vec![0.0; n];
    rows.kernel.diagonal(rows.points, 0, &mut diagonal);
    let height = (diagonal.iter().sum::<f64>() / n as f64).max(f64::MIN_POSITIVE);
    let y = &group.outputs[0].y;
    let mean = y.iter().sum::<f64>() / n as f64;
    let spread = (y.iter().map(|v| (v - mean) * (v - mean)).sum::<f64>() / n as f64).sqrt();
    let spread = if spread > 0.0 { spread } else { 1.0 };
    let total = rows.weights.map_or(n as f64, |w| w.iter().sum());
    // The force of one row: bounded slopes pull alike however far they are, others in proportion.
    let force = match loss.shape() {
        Shape::Tube(tube) if tube.curvature == 0.0 => tube.upper.max(-tube.lower) / spread,
        Shape::Tube(tube) => 1.0 / tube.curvature,
        Shape::Smooth(smooth) if loss.reads() == Reads::Number && smooth.slopes[1].is_finite() => {
            smooth.slopes[1].max(-smooth.slopes[0]) / spread
        }
        Shape::Smooth(_) if loss.reads() == Reads::Label => 1.0,
        Shape::Smooth(_) | Shape::Quadratic => 2.0,
    };
    let middle = height * force / (2.0 * total);
    let squared_norm = spread * spread / height;
    let of_ridge = |ridge: f64| ridge * 2.0 / exponent * libm::pow(squared_norm, 1.0 - exponent / 2.0);
    (0..POINTS).map(|p| of_ridge(middle * libm::pow(10.0, -4.0 + p as f64 / 2.0))).collect()
}
