//! Leave-one-out values without refits, to first order.
//!
//! Near its solution every loss here behaves like a weighted least squares problem on its *active* rows: those where it is
//! curved (ω = ℓ″), and the support vectors that sit on a kink (ω = ∞). With G = K_AA + diag(2Wμ/(wω)) (bordered by the
//! offset) the value of an active row without itself is v + αd − α/(G⁻¹)ᵢᵢ, d its diagonal addend; a row at a bound loses
//! αᵢ(kᵢᵢ − kᵢₐᵀG⁻¹kₐᵢ); a row without coefficient loses nothing. For the squared loss this is exact; for others it is the
//! approximate leave-one-out of smooth losses and the span estimate of support vectors. μ is held where it is.

pub(super) mod multinomial;

use super::select::HeldOutValues;
use super::solve::{Penalty, Rows, Solved};
use super::targets::Group;
use crate::base::error::{Error, Result};
use crate::linalg::{Cholesky, Matrix};
use crate::solve::convex::{Problem, RidgePoint};
use crate::term::loss::{Loss, Shape};

/// For every λ the approximate leave-one-out values, rows × models, as one repeat.
pub(super) fn values(
    rows: &Rows<'_>,
    group: &Group,
    losses: &[&dyn Loss],
    exponent: f64,
    lambdas: &[f64],
    tolerance: f64,
) -> Result<HeldOutValues> {
    let Some(gram) = rows.gram else {
        return Err(Error::argument("the criterion", "kfold: loo needs the whole kernel matrix in memory", "loo"));
    };
    let mut order: Vec<usize> = (0..lambdas.len()).collect();
    order.sort_by(|a, b| lambdas[*b].total_cmp(&lambdas[*a]));
    let mut out: HeldOutValues = vec![None; lambdas.len()];
    let mut last: Option<Solved> = None;
    for l in order {
        // The active rows must be told apart from the others: closer than selection by folds needs.
        let penalty = Penalty { exponent, lambda: lambdas[l], tolerance: tolerance.min(1e-5) };
        let solved = rows.solve(group, losses, penalty, last.as_ref())?;
        let mut values = Matrix::zeros(rows.points.rows(), losses.len());
        for (t, model) in solved.models.iter().enumerate() {
            let problem =
                Problem { loss: losses[t], y: &group.outputs[t].y, weights: rows.weights, has_offset: rows.has_offset };
            let found = of_model(&problem, gram, &model.point)?;
            values.col_mut(t).copy_from_slice(&found);
        }
        out[l] = Some(vec![values]);
        last = Some(solved);
    }
    Ok(out)
}

/// How a row takes part.
enum Part {
    /// Curved, with the diagonal addend 2Wμ/(wω).
    Active(f64),
    /// At a bound of its interval.
    Bound,
    /// Without coefficient.
    Idle,
}

/// The values of one model.
pub(super) fn of_model(problem: &Problem<'_>, gram: &Matrix, point: &RidgePoint) -> Result<Vec<f64>> {
    let Problem { loss, y, .. } = *problem;
    let n = y.len();
    let weight = |i: usize| problem.weight(i);
    let total = problem.total();
    let part = |i: usize| -> Part {
        let unit = 2.0 * total * point.ridge / weight(i);
        let tube = match loss.shape() {
            Shape::Smooth(smooth) => {
                let curvature = smooth.curvature(y[i], point.fitted[i] + point.offset);
                return Part::Active(unit / curvature.max(1e-14));
            }
            shape => match shape.tube() {
                Some(tube) => tube,
                None => return Part::Idle,
            },
        };
        let a = point.alpha[i] * unit;
        let [lower, upper] = tube.interval(loss.reads(), y[i]);
        // Coefficients are exact to the solver's tolerance only.
        let room = 1e-6 * if upper.is_finite() { upper - lower } else { 1.0 };
        if a.abs() <= room {
            Part::Idle
        } else if a <= lower + room || a >= upper - room {
            Part::Bound
        } else {
            Part::Active(unit * tube.curvature)
        }
    };
    let parts: Vec<Part> = (0..n).map(part).collect();
    let active: Vec<(usize, f64)> = parts
        .iter()
        .enumerate()
        .filter_map(|(i, part)| if let Part::Active(d) = part { Some((i, *d)) } else { None })
        .collect();
    let inverse = active_inverse(gram, &active, problem.has_offset)?;
    let mut values: Vec<f64> = (0..n).map(|i| point.fitted[i] + point.offset).collect();
    for (place, (i, addend)) in active.iter().enumerate() {
        let corner = inverse.get(place, place);
        if corner > 0.0 {
            values[*i] += point.alpha[*i] * (addend - 1.0 / corner);
        }
    }
    for (i, part) in parts.iter().enumerate() {
        if !matches!(part, Part::Bound) {
            continue;
        }
        let column: Vec<f64> = active.iter().map(|(j, _)| gram.get(*j, i)).collect();
        let mut explained = 0.0;
        for (p, k) in column.iter().enumerate() {
            explained += k * inverse.col(p).iter().zip(&column).map(|(g, k)| g * k).sum::<f64>();
        }
        values[i] -= point.alpha[i] * (gram.get(i, i) - explained).max(0.0);
    }
    Ok(values)
}

/// G⁻¹, less what the offset takes of it.
fn active_inverse(gram: &Matrix, active: &[(usize, f64)], has_offset: bool) -> Result<Matrix> {
    // A kernel of nothing but 0 (all features 0) has an inverse too: one that moves no value.
    let size = active.iter().fold(1e-90, |max: f64, (i, _)| max.max(gram.get(*i, *i)));
    let matrix = Matrix::from_fn(active.len(), active.len(), |p, q| {
        let ((i, addend), (j, _)) = (active[p], active[q]);
        // Support vectors on a kink have no addend; equal rows among them need a little.
        gram.get(i, j) + if p == q { addend + 1e-10 * size } else { 0.0 }
    });
    let factor = Cholesky::new(matrix)
        .ok_or_else(|| Error::Decomposition("the active rows' kernel matrix is not positive definite".into()))?;
    let mut inverse = factor.inverse()?;
    if has_offset && !active.is_empty() {
        let sums: Vec<f64> = (0..active.len()).map(|p| inverse.col(p).iter().sum()).collect();
        let all: f64 = sums.iter().sum();
        for q in 0..active.len() {
            inverse.col_mut(q).iter_mut().zip(&sums).for_each(|(g, s)| *g -= s * sums[q] / all);
        }
    }
    Ok(inverse)
}
