//! From sums to a model: the spectrum of the features' covariance, every exponent and λ on its path, folds from their own sums.

use super::Moments;
use super::sums::{Sums, Totals};
use crate::base::error::{Error, Result};
use crate::base::range::check_powers;
use crate::choose::select::{Choice, Score, Scorer, Search, Surface, lambdas_along};
use crate::linalg::norm;
use crate::linalg::{self, DecompositionCheck, Matrix, mirror_lower, multiply, multiply_transposed};
use crate::model::{Expansion, HeldOut, Meaning, Model, Precision, Provenance, Summary};
use crate::path::Path;
use crate::path::power;
use crate::solve::Solution;
use crate::solve::certificate::{Certificate, LowRank};
use crate::term::criterion::{Criterion, FoldRule};

/// Settings of a fit to moments.
#[derive(Debug, Clone)]
pub struct MomentFit {
    exponents: Vec<f64>,
    lambdas: Option<Vec<f64>>,
    offset: bool,
    refine: bool,
    one_standard_error: bool,
}

/// A model, and the surface on which it was chosen, one per target.
#[derive(Debug, Clone)]
pub struct Solved {
    /// The model.
    pub model: Model,
    /// k-fold mean squared errors; empty when exponent and λ were given.
    pub surfaces: Vec<Surface>,
}

impl Default for MomentFit {
    fn default() -> Self {
        MomentFit::new()
    }
}

impl MomentFit {
    /// Exponent 2 and λ by the folds, with an offset.
    pub fn new() -> Self {
        MomentFit { exponents: vec![2.0], lambdas: None, offset: true, refine: true, one_standard_error: false }
    }

    /// Exponents to choose from, rising.
    pub fn exponents(self, exponents: &[f64]) -> Self {
        MomentFit { exponents: exponents.to_vec(), ..self }
    }

    /// λ to choose from, rising.
    pub fn lambdas(self, lambdas: &[f64]) -> Self {
        MomentFit { lambdas: Some(lambdas.to_vec()), ..self }
    }

    /// Without the offset b.
    pub fn without_offset(self) -> Self {
        MomentFit { offset: false, ..self }
    }

    /// Chooses among the given exponents and λ only.
    pub fn on_grid(self) -> Self {
        MomentFit { refine: false, ..self }
    }

    /// Takes the largest λ within one standard error of the best.
    pub fn one_standard_error(self) -> Self {
        MomentFit { one_standard_error: true, ..self }
    }

    /// The model of all rows, each target with the exponent and λ of the least error on held-out folds.
    pub fn fit(&self, moments: &Moments) -> Result<Solved> {
        let lambdas = self.lambdas.as_deref().unwrap_or(&[1.0]);
        check_powers(&self.exponents, lambdas)?;
        if self.exponents.is_empty() || lambdas.is_empty() {
            return Err(Error::Empty("there must be at least one exponent and one λ to choose from".into()));
        }
        if moments.rows < 2 {
            return Err(Error::Empty(format!("there are {} rows; at least two are needed", moments.rows)));
        }
        let everything: Vec<&Sums> = moments.folds.iter().collect();
        let whole = Normal::of(moments, &everything, self.offset)?;
        let is_fixed = self.exponents.len() == 1 && self.lambdas.as_ref().is_some_and(|lambdas| lambdas.len() == 1);
        let folds = if is_fixed { Vec::new() } else { held_out_folds(moments, self.offset)? };
        let search = Search {
            exponents: self.exponents.clone(),
            lambdas: self.lambdas.clone(),
            refine: self.refine,
            preferred: None,
            one_standard_error: self.one_standard_error,
        };
        let rule = FoldRule::random(moments.folds());
        let criterion = Criterion::KFold(rule);
        let (mut surfaces, mut summaries, mut coefficients) = (Vec::new(), Vec::new(), Vec::new());
        for t in 0..moments.targets.len() {
            let judge =
                FoldJudge { whole: &whole, folds: &folds, target: t, criterion: &criterion, path: whole.path(t) };
            let surface = if is_fixed { None } else { search.run(&judge, &[t]) };
            let surface = surface.map(|surface| if self.refine { rounded(&judge, surface) } else { surface });
            let (exponent, lambda) = match &surface {
                Some(surface) => (surface.best.exponent, surface.best.lambda),
                None => (self.exponents[self.exponents.len() - 1], lambdas[lambdas.len() - 1]),
            };
            let held_out = surface.as_ref().map(|surface| surface.best.score);
            let solution = whole.solve(moments, t, exponent, lambda);
            coefficients.extend_from_slice(&solution.coefficients);
            summaries.push(self.summary(moments, &whole, t, (exponent, lambda), &solution, held_out, &criterion));
            surfaces.extend(surface);
        }
        let map = &moments.map;
        let alpha = Matrix::from_columns(map.width(), moments.targets.len(), coefficients)?;
        if alpha.as_slice().iter().any(|c| !c.is_finite()) {
            return Err(Error::Decomposition("the coefficients are not finite; a larger λ is needed".into()));
        }
        let model = Model {
            encoder: map.encoder.clone(),
            kernel: map.kernel.clone(),
            expansion: Expansion::Kernel { points: map.landmarks.clone(), alpha },
            summaries,
            meaning: Meaning::Numbers,
            kept: None,
            precision: Precision::Double,
            provenance: Provenance::of_this_version(),
        };
        Ok(Solved { model, surfaces })
    }

    #[expect(clippy::too_many_arguments, reason = "the facts of one target, written down in one place")]
    fn summary(
        &self,
        moments: &Moments,
        whole: &Normal,
        t: usize,
        (exponent, lambda): (f64, f64),
        solution: &Solution,
        held_out: Option<Score>,
        criterion: &Criterion,
    ) -> Summary {
        let variance = whole.variance(t);
        // What waves leave of the kernel is not known.
        let low_rank = (!moments.map.is_waves()).then(|| LowRank {
            rank: moments.map.width(),
            residual_share: whole.residual_share,
            bound_at_rows: None,
            bound_anywhere: None,
        });
        Summary {
            rows: usize::try_from(moments.rows).unwrap_or(usize::MAX),
            lambda_was_chosen: held_out.is_some(),
            chosen_by: held_out.map(|_| criterion.spec()),
            has_offset: self.offset,
            train_r2: (variance > 0.0).then(|| 1.0 - solution.train_mse / variance),
            target_range: moments.ranges[t],
            certificate: Certificate { low_rank, ..Certificate::new(solution, Some(whole.check)) },
            held_out: held_out.map(|score| HeldOut {
                measure: "squared".into(),
                value: score.value,
                standard_error: score.standard_error.unwrap_or(0.0),
                unweighted: None,
            }),
            ..Summary::of_solution(&moments.targets[t], exponent, lambda, solution)
        }
    }
}

/// What was found between the points of a grid, to three digits: what the folds say is not known better, and parts that were added in
/// another order then give the same numbers.
fn rounded(judge: &FoldJudge<'_>, surface: Surface) -> Surface {
    let digits = |x: f64| format!("{x:.2e}").parse().unwrap_or(x);
    // What was given stays as it was given.
    let at = surface.exponents.iter().position(|m| *m == surface.best.exponent);
    if at.is_some_and(|e| surface.lambdas[e].contains(&surface.best.lambda)) {
        return surface;
    }
    let exponent = if at.is_some() { surface.best.exponent } else { digits(surface.best.exponent) };
    let lambda = digits(surface.best.lambda);
    let score = judge.scores_at(exponent, &[libm::log(lambda)])[0];
    Surface { best: Choice { exponent, lambda, score }, ..surface }
}

/// Sums around another centre than the pilot's means.
struct Centred {
    gram: Matrix,
    cross: Matrix,
    squares: Vec<f64>,
}

/// Moves sums to a centre, given as the way from the pilot's means.
fn centred(totals: &Totals, features: &[f64], targets: &[f64]) -> Centred {
    let mut gram = totals.gram.clone();
    for j in 0..gram.cols() {
        for i in j..gram.rows() {
            let moved = totals.features[i] * features[j] + features[i] * totals.features[j]
                - totals.weight * features[i] * features[j];
            gram.set(i, j, gram.get(i, j) - moved);
        }
    }
    mirror_lower(&mut gram);
    let cross = Matrix::from_fn(gram.rows(), targets.len(), |i, t| {
        totals.cross.get(i, t) - totals.features[i] * targets[t] - features[i] * totals.targets[t]
            + totals.weight * features[i] * targets[t]
    });
    let squares = (0..targets.len())
        .map(|t| totals.squares[t] - 2.0 * targets[t] * totals.targets[t] + totals.weight * targets[t] * targets[t])
        .collect();
    Centred { gram, cross, squares }
}

/// The normal equations of some folds, decomposed.
struct Normal {
    /// Descending.
    eigenvalues: Vec<f64>,
    /// V, features × directions.
    vectors: Matrix,
    /// z = D^(−½)VᵀX, directions × targets.
    z: Matrix,
    /// All eigenvectors with their eigenvalues, those at rounding level too: what corrections are made with.
    all: (Vec<f64>, Matrix),
    /// What was decomposed.
    sums: Centred,
    /// The way from the pilot's means to the centre.
    centre: (Vec<f64>, Vec<f64>),
    weight: f64,
    offset: bool,
    check: DecompositionCheck,
    /// tr(K − FFᵀ)/tr K of the rows.
    residual_share: f64,
}

impl Normal {
    fn of(moments: &Moments, parts: &[&Sums], offset: bool) -> Result<Self> {
        let mut sums = Sums::new(moments.map.width(), moments.targets.len());
        parts.iter().for_each(|part| sums.merge(part));
        let totals = sums.totals();
        if !(totals.weight > 0.0) {
            return Err(Error::Empty("a fold has all rows; more rows or fewer folds are needed".into()));
        }
        let centre: (Vec<f64>, Vec<f64>) = if offset {
            let mean = |values: &[f64]| values.iter().map(|v| v / totals.weight).collect();
            (mean(&totals.features), mean(&totals.targets))
        } else {
            let back = |values: &[f64]| values.iter().map(|v| -v).collect();
            (back(&moments.pilot.0), back(&moments.pilot.1))
        };
        let sums = centred(&totals, &centre.0, &centre.1);
        let eigen = linalg::eigen(sums.gram.clone())?;
        let largest = eigen.values.last().copied().unwrap_or(0.0).max(0.0);
        let noise = 4.0 * f64::EPSILON * moments.map.width() as f64 * largest;
        let kept: Vec<usize> = (0..eigen.values.len()).rev().filter(|k| eigen.values[*k] > noise).collect();
        let eigenvalues: Vec<f64> = kept.iter().map(|k| eigen.values[*k]).collect();
        let vectors = Matrix::from_fn(moments.map.width(), kept.len(), |i, k| eigen.vectors.get(i, kept[k]));
        let mut z = multiply_transposed(&vectors, &sums.cross);
        for t in 0..z.cols() {
            z.col_mut(t).iter_mut().zip(&eigenvalues).for_each(|(z, d)| *z /= d.sqrt());
        }
        // Σ w‖φ‖², around 0.
        let pilot = &moments.pilot.0;
        let explained: f64 = (0..pilot.len())
            .map(|i| totals.gram.get(i, i) + 2.0 * pilot[i] * totals.features[i] + totals.weight * pilot[i] * pilot[i])
            .sum();
        let residual_share = ((totals.height - explained) / totals.height.max(f64::MIN_POSITIVE)).max(0.0);
        let (weight, check) = (totals.weight, eigen.check);
        let all = (eigen.values.iter().map(|d| d.max(0.0)).collect(), eigen.vectors);
        Ok(Normal { eigenvalues, vectors, z, all, sums, centre, weight, offset, check, residual_share })
    }

    fn path(&self, t: usize) -> Path {
        let z = self.z.col(t);
        let inside: f64 = z.iter().map(|z| z * z).sum();
        Path::with_rest(&self.eigenvalues, z, (self.sums.squares[t] - inside).max(0.0), self.weight, self.offset)
    }

    fn largest(&self) -> f64 {
        self.eigenvalues.first().copied().unwrap_or(0.0)
    }

    /// Around the mean, or around 0 without an offset.
    fn variance(&self, t: usize) -> f64 {
        self.sums.squares[t] / self.weight
    }

    /// Coordinates √d z/(d + γ) in the directions V.
    fn coordinates(&self, t: usize, log_ridge: Option<f64>) -> Vec<f64> {
        match log_ridge {
            None => vec![0.0; self.eigenvalues.len()],
            Some(log) => {
                let gamma = libm::exp(log + libm::log(self.weight));
                self.z.col(t).iter().zip(&self.eigenvalues).map(|(z, d)| z * d.sqrt() / (d + gamma)).collect()
            }
        }
    }

    fn solve(&self, moments: &Moments, t: usize, exponent: f64, lambda: f64) -> Solution {
        let path = self.path(t);
        let minimum = power::minimum(&path, exponent, lambda);
        let u = self.coordinates(t, minimum.log_ridge);
        let mut v = multiply(&self.vectors, &Matrix::column_vector(u.clone())).into_vec();
        let cross = self.sums.cross.col(t);
        let dot = |a: &[f64], b: &[f64]| linalg::double::dot(a, b).value();
        let ridge = minimum.log_ridge.map_or(0.0, libm::exp);
        let gamma = ridge * self.weight;
        let is_zero = minimum.log_ridge.is_none();
        let apply = |v: &[f64]| -> Vec<f64> { (0..v.len()).map(|i| dot(self.sums.gram.col(i), v)).collect() };
        let rest = |v: &[f64], applied: &[f64]| -> Vec<f64> {
            (0..v.len()).map(|i| cross[i] - applied[i] - gamma * v[i]).collect()
        };
        let mut applied = apply(&v);
        let mut left = rest(&v, &applied);
        if !is_zero && gamma > 0.0 {
            let mut change = multiply_transposed(&self.all.1, &Matrix::column_vector(left.clone()));
            change.as_mut_slice().iter_mut().zip(&self.all.0).for_each(|(c, d)| *c /= d + gamma);
            let change = multiply(&self.all.1, &change).into_vec();
            let next: Vec<f64> = v.iter().zip(&change).map(|(v, c)| v + c).collect();
            let next_applied = apply(&next);
            let next_left = rest(&next, &next_applied);
            if norm(&next_left) < norm(&left) {
                (v, applied, left) = (next, next_applied, next_left);
            }
        }
        let squared_error = self.sums.squares[t] - 2.0 * dot(&v, cross) + dot(&v, &applied);
        let spread = self.variance(t).sqrt();
        // ‖φ(x)‖ ≤ √k(x, x), for waves √(2 k(x, x)), and an offset centres it.
        let height = if moments.map.is_waves() { 2.0 } else { 1.0 } * moments.height;
        let reach = if self.offset { 2.0 } else { 1.0 } * height.sqrt();
        let coefficients = moments.map.coefficients(&v);
        let uncertain = if is_zero || gamma == 0.0 || spread == 0.0 {
            0.0
        } else {
            (reach * norm(&left) / gamma + moments.map.rounding(&v, &coefficients, height)) / spread
        };
        let shift: Vec<f64> =
            moments.pilot.0.iter().zip(&self.centre.0).map(|(pilot, centre)| pilot + centre).collect();
        let offset = if self.offset { moments.pilot.1[t] + self.centre.1[t] - dot(&shift, &v) } else { 0.0 };
        Solution {
            coefficients,
            offset,
            fitted: Vec::new(),
            norm: norm(&v),
            train_mse: (squared_error / self.weight).max(0.0),
            dof: Some(if is_zero { f64::from(self.offset) } else { path.dof(ridge) }),
            solve_residual: if is_zero { 0.0 } else { norm(&left) / norm(cross).max(f64::MIN_POSITIVE) },
            relative_error: uncertain.max(f64::EPSILON),
            condition: if gamma > 0.0 { (self.largest() + gamma) / gamma } else { 1.0 },
            minimum,
        }
    }
}

/// One fold: the normal equations of the others, and its own sums in their directions.
struct HeldOutFold {
    training: Normal,
    /// VᵀGV.
    gram: Matrix,
    /// VᵀX.
    cross: Matrix,
    squares: Vec<f64>,
    weight: f64,
}

fn held_out_folds(moments: &Moments, offset: bool) -> Result<Vec<HeldOutFold>> {
    let mut out = Vec::new();
    for (k, held) in moments.folds.iter().enumerate() {
        if held.rows == 0 {
            continue;
        }
        let others: Vec<&Sums> = moments.folds.iter().enumerate().filter(|(j, _)| *j != k).map(|(_, f)| f).collect();
        let training = Normal::of(moments, &others, offset)?;
        let totals = held.totals();
        let own = centred(&totals, &training.centre.0, &training.centre.1);
        let gram = multiply_transposed(&training.vectors, &multiply(&own.gram, &training.vectors));
        let cross = multiply_transposed(&training.vectors, &own.cross);
        out.push(HeldOutFold { training, gram, cross, squares: own.squares, weight: totals.weight });
    }
    Ok(out)
}

/// k-fold errors of one target.
struct FoldJudge<'a> {
    whole: &'a Normal,
    folds: &'a [HeldOutFold],
    target: usize,
    criterion: &'a Criterion,
    path: Path,
}

impl Scorer for FoldJudge<'_> {
    fn scores(&self, asked: &[(f64, Vec<f64>)]) -> Vec<Vec<Score>> {
        let count: usize = asked.iter().map(|(_, log_lambdas)| log_lambdas.len()).sum();
        let t = self.target;
        // [fold][point]: squared errors.
        let errors: Vec<Vec<f64>> = self
            .folds
            .iter()
            .map(|fold| {
                let path = fold.training.path(t);
                let mut points = Matrix::zeros(fold.training.eigenvalues.len(), count);
                let all = asked.iter().flat_map(|(m, logs)| logs.iter().map(move |log| (*m, *log)));
                for (p, (exponent, log_lambda)) in all.enumerate() {
                    let log_ridge = power::minimum(&path, exponent, libm::exp(log_lambda)).log_ridge;
                    points.col_mut(p).copy_from_slice(&fold.training.coordinates(t, log_ridge));
                }
                let applied = multiply(&fold.gram, &points);
                let error = |p: usize| {
                    let products = points.col(p).iter().zip(applied.col(p)).zip(fold.cross.col(t));
                    fold.squares[t] + products.map(|((u, a), x)| u * (a - 2.0 * x)).sum::<f64>()
                };
                (0..count).map(|p| error(p).max(0.0)).collect()
            })
            .collect();
        let weight: f64 = self.folds.iter().map(|fold| fold.weight).sum();
        let score = |p: usize| {
            let value = errors.iter().map(|fold| fold[p]).sum::<f64>() / weight;
            let k = self.folds.len() as f64;
            let deviations = self.folds.iter().zip(&errors).map(|(fold, errors)| errors[p] / fold.weight - value);
            let standard_error =
                (self.folds.len() > 1).then(|| (deviations.map(|d| d * d).sum::<f64>() / (k - 1.0) / k).sqrt());
            Score { value, standard_error }
        };
        let mut place = 0;
        asked
            .iter()
            .map(|(_, log_lambdas)| {
                let own = (place..place + log_lambdas.len()).map(score).collect();
                place += log_lambdas.len();
                own
            })
            .collect()
    }

    fn useful_lambdas(&self, exponent: f64) -> Vec<f64> {
        lambdas_along(&self.path, self.whole.largest(), self.whole.weight, exponent)
    }

    fn criterion(&self) -> &Criterion {
        self.criterion
    }

    fn same_ridge(&self, from: f64, lambda: f64, to: f64) -> f64 {
        let t = power::minimum(&self.path, from, lambda).log_ridge;
        t.map_or(libm::log(lambda), |t| self.path.log_lambda(t, to))
    }
}
