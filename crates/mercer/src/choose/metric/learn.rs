//! From a family of kernels to one with its metric learned.

use super::descent::{Limits, minimise};
use super::objective::{Goal, Objective, lengthscale_places};
use super::outer::{average_outer_product, map_of};
use super::ridge::{LeftOut, ridge_fit};
use crate::base::error::Result;
use crate::data::project;
use crate::linalg::Matrix;
use crate::term::kernel::combine::{Combined, Scaled};
use crate::term::kernel::{Points, SharedKernel};
use std::sync::Arc;

/// A kernel with its numbers, the map of the features that goes before it, and the ridge that was found with it.
#[derive(Debug, Clone)]
pub struct Learned {
    /// The kernel on the mapped features.
    pub kernel: SharedKernel,
    /// Features × new features; `None` for the features as they are.
    pub map: Option<Matrix>,
    /// γ = Wμ.
    pub gamma: f64,
    /// Minus the logarithm of the restricted likelihood that was reached; comparable between kernels on the same rows.
    pub objective: f64,
    /// How many numbers were learned.
    pub parameters: usize,
    /// The numbers themselves, as the objective takes them.
    pub(crate) point: Vec<f64>,
}

impl Learned {
    /// As plain numbers, for a journal.
    pub(crate) fn to_numbers(&self) -> Vec<f64> {
        let mut out = vec![self.gamma, self.objective, self.parameters as f64, self.point.len() as f64];
        out.extend(&self.point);
        if let Some(map) = &self.map {
            out.extend(map.as_slice());
        }
        out
    }

    /// The same with all lengthscales multiplied by exp(`by`).
    pub(crate) fn stretched(&self, families: &[SharedKernel], features: usize, tied: bool, by: f64) -> Self {
        let mut point = self.point.clone();
        for part in 0..families.len() {
            point[lengthscale_places(features, part)].iter_mut().for_each(|log| *log += by);
        }
        Learned { kernel: kernel_at(families, features, &point, tied), point, ..self.clone() }
    }

    /// Mean squares of the derivatives of f with respect to each feature, for f = Σ αⱼ k(·, xⱼ) on mapped rows `x`.
    pub(crate) fn squared_slopes(&self, families: &[SharedKernel], x: &Matrix, alpha: &[f64]) -> Vec<f64> {
        let (n, d) = (x.rows(), x.cols());
        let mut total = Matrix::zeros(n, d);
        for (c, family) in families.iter().enumerate() {
            let places = lengthscale_places(d, c);
            let amplitude = if c == 0 { 1.0 } else { libm::exp(self.point[places.start - 1]) };
            let Some(unit) = family.with_lengthscales(&[1.0]) else { return Vec::new() };
            let inverse: Vec<f64> = self.point[places].iter().map(|log| libm::exp(-log)).collect();
            let scaled = Matrix::from_fn(n, d, |i, j| x.get(i, j) * inverse[j]);
            let part = super::outer::gradients(&*unit, &scaled, alpha);
            for j in 0..d {
                let factor = amplitude * inverse[j];
                total.col_mut(j).iter_mut().zip(part.col(j)).for_each(|(g, p)| *g += factor * p);
            }
        }
        let total = match &self.map {
            Some(map) => crate::linalg::multiply_by_transposed(&total, map),
            None => total,
        };
        (0..total.cols()).map(|j| total.col(j).iter().map(|g| g * g).sum::<f64>() / n as f64).collect()
    }

    /// Back from [`to_numbers`](Self::to_numbers), for the same families and number of features.
    pub(crate) fn from_numbers(
        families: &[SharedKernel],
        features: usize,
        tied: bool,
        numbers: &[f64],
    ) -> Option<Self> {
        let [gamma, objective, parameters, length, rest @ ..] = numbers else { return None };
        let length = (*length == (families.len() * (features + 1)) as f64).then_some(*length as usize)?;
        let (point, map) = (rest.get(..length)?, rest.get(length..)?);
        let map = match map.len() {
            0 => None,
            _ => Some(Matrix::from_columns(features, features, map.to_vec()).ok()?),
        };
        Some(Learned {
            kernel: kernel_at(families, features, point, tied),
            map,
            gamma: *gamma,
            objective: *objective,
            parameters: *parameters as usize,
            point: point.to_vec(),
        })
    }
}

/// Rows to learn from.
pub struct Rows<'a> {
    /// n × d, standardised.
    pub x: &'a Matrix,
    /// n × targets.
    pub y: &'a Matrix,
    /// √w.
    pub root_weights: Option<&'a [f64]>,
    /// Whether the model has an offset.
    pub offset: bool,
}

/// Evaluations of the objective in one search.
const EVALUATIONS: usize = 60;
/// A search ends when three steps together gain less than this much log likelihood per row.
const GAIN: f64 = 3e-7;
/// Bounds of log ℓ, of log amplitudes and of log γ for standardised features and targets.
const LENGTHSCALES: (f64, f64) = (-3.5, 5.0);
const AMPLITUDES: (f64, f64) = (-12.0, 12.0);
const RIDGE: (f64, f64) = (-14.0, 5.0);

/// How far log ℓ strays from its start: the standard deviation of a prior that keeps few rows from deciding too much.
const PRIOR: f64 = 1.5;

/// Learns one lengthscale per feature of every part of a sum of families (or one for all, with `tied`), and the ridge,
/// by the gradient of a goal. `None` when nothing can be computed.
pub fn per_feature(
    rows: &Rows<'_>,
    families: &[SharedKernel],
    tied: bool,
    goal: Goal,
    keep_on: &dyn Fn() -> bool,
) -> Result<Option<Learned>> {
    let objective = Objective::new(families, rows.x.clone(), rows.y, rows.root_weights, rows.offset, goal)?;
    let d = rows.x.cols();
    let ties = Ties { features: d, parts: families.len(), tied };
    let (start, low, high) = ties.start_and_box();
    // Log likelihood grows with the rows; the logarithm of a sum of squares counts half of itself for each row.
    let scale = match goal {
        Goal::Likelihood => 1.0 / rows.x.rows() as f64,
        Goal::LeaveOneOut => 0.5,
    };
    let limits = Limits { evaluations: EVALUATIONS, gain: GAIN, longest_step: 2.0 };
    let found = minimise(&start, &low, &high, &limits, |point| {
        if !keep_on() {
            return None;
        }
        let value = objective.at(&ties.spread(point))?;
        let mut gradient = ties.gather(&value.gradient);
        let mut penalty = 0.0;
        let mut pulls = std::collections::HashMap::new();
        for place in ties.lengthscales() {
            let away = (point[place] - start[place]) / PRIOR;
            penalty += 0.5 * away * away;
            pulls.insert(place, away / PRIOR);
        }
        let per_row = 1.0 / rows.x.rows() as f64;
        for (place, g) in gradient.iter_mut().enumerate() {
            let pull = pulls.get(&place).copied().unwrap_or(0.0);
            *g = *g * scale + pull * per_row;
        }
        Some((value.value * scale + penalty * per_row, gradient))
    });
    let Some(found) = found else { return Ok(None) };
    let point = ties.spread(&found.at);
    let Some(plain) = objective.at(&point) else { return Ok(None) };
    let kernel = kernel_at(families, d, &point, tied);
    let parameters = found.at.len();
    let (gamma, objective) = (libm::exp(point[0]), plain.value);
    Ok(Some(Learned { kernel, map: None, gamma, objective, parameters, point }))
}

/// Learns a linear map of the features, or one scale for each: the average outer product of the gradients of f, to the power ½, iterated; the
/// lengthscale and the ridge are found again at every step, and the step with the least leave-one-out error is kept.
pub fn by_outer_products(
    rows: &Rows<'_>,
    family: &SharedKernel,
    diagonal: bool,
    steps: usize,
    keep_on: &dyn Fn() -> bool,
) -> Result<Option<Learned>> {
    let d = rows.x.cols();
    let mut map = Matrix::from_fn(d, d, |i, j| f64::from(i == j));
    let mut best: Option<(f64, Learned)> = None;
    for step in 0..=steps {
        if !keep_on() {
            break;
        }
        let x = project(rows.x, &map);
        let here = Rows { x: &x, ..*rows };
        let Some(learned) = per_feature(&here, std::slice::from_ref(family), true, Goal::Likelihood, keep_on)? else {
            break;
        };
        let points = Points::new(&x);
        let fit =
            ridge_fit(&*learned.kernel, &points, rows.y, rows.root_weights, rows.offset, learned.gamma, LeftOut::Rows);
        let Some(fit) = fit else { break };
        let error: f64 = fit.residuals.as_ref().map_or(f64::INFINITY, |e| e.as_slice().iter().map(|e| e * e).sum());
        let parameters = 2 + if diagonal { d } else { d * (d + 1) / 2 };
        if best.as_ref().is_none_or(|(least, _)| error < *least) {
            best = Some((error, Learned { map: Some(map.clone()), parameters, ..learned.clone() }));
        }
        if step == steps {
            break;
        }
        // Gradients in the coordinates of the features: the map's transpose (it is symmetric) comes before.
        let inner = average_outer_product(&*learned.kernel, &x, &fit.alpha);
        let outer = crate::linalg::multiply(&crate::linalg::multiply(&map, &inner), &map);
        match map_of(&outer, 0.5, diagonal)? {
            Some(next) => map = next,
            None => break,
        }
    }
    Ok(best.map(|(_, learned)| learned))
}

/// One number for all lengthscales of a part, or one for each.
struct Ties {
    features: usize,
    parts: usize,
    tied: bool,
}

impl Ties {
    /// √d for the first part; later ones follow what is shorter.
    fn start_and_box(&self) -> (Vec<f64>, Vec<f64>, Vec<f64>) {
        let (mut start, mut low, mut high) = (vec![-4.0], vec![RIDGE.0], vec![RIDGE.1]);
        let usual = 0.5 * libm::log(self.features.max(1) as f64);
        for part in 0..self.parts {
            if part > 0 {
                start.push(-2.0);
                low.push(AMPLITUDES.0);
                high.push(AMPLITUDES.1);
            }
            let count = if self.tied { 1 } else { self.features };
            start.extend(vec![usual - part as f64; count]);
            low.extend(vec![LENGTHSCALES.0; count]);
            high.extend(vec![LENGTHSCALES.1; count]);
        }
        (start, low, high)
    }

    /// Where lengthscales stand in a point that is not spread out.
    fn lengthscales(&self) -> Vec<usize> {
        let count = if self.tied { 1 } else { self.features };
        (0..self.parts).flat_map(|part| (0..count).map(move |j| 1 + part * (count + 1) + j)).collect()
    }

    fn spread(&self, point: &[f64]) -> Vec<f64> {
        if !self.tied {
            return point.to_vec();
        }
        let mut out = vec![point[0]];
        for part in 0..self.parts {
            let at = 1 + 2 * part;
            if part > 0 {
                out.push(point[at - 1]);
            }
            out.extend(vec![point[at]; self.features]);
        }
        out
    }

    fn gather(&self, gradient: &[f64]) -> Vec<f64> {
        if !self.tied {
            return gradient.to_vec();
        }
        let mut out = vec![gradient[0]];
        for part in 0..self.parts {
            let places = lengthscale_places(self.features, part);
            if part > 0 {
                out.push(gradient[places.start - 1]);
            }
            out.push(gradient[places].iter().sum());
        }
        out
    }
}

/// The kernel with the lengthscales and amplitudes of a point.
fn kernel_at(families: &[SharedKernel], features: usize, point: &[f64], tied: bool) -> SharedKernel {
    let parts: Vec<SharedKernel> = families
        .iter()
        .enumerate()
        .map(|(c, family)| {
            let places = lengthscale_places(features, c);
            // Six digits: more would be noise, and a person reads them.
            let scales: Vec<f64> = point[places.clone()].iter().map(|log| six_digits(libm::exp(*log))).collect();
            let scales = if tied { &scales[..scales.len().min(1)] } else { &scales[..] };
            let kernel = family.with_lengthscales(scales).unwrap_or_else(|| family.clone());
            if c == 0 {
                return kernel;
            }
            let scaled: SharedKernel = Arc::new(Scaled::new(six_digits(libm::exp(point[places.start - 1])), kernel));
            scaled
        })
        .collect();
    match parts.len() {
        1 => parts[0].clone(),
        _ => Arc::new(Combined::sum(parts)),
    }
}

fn six_digits(x: f64) -> f64 {
    format!("{x:.5e}").parse().unwrap_or(x)
}
