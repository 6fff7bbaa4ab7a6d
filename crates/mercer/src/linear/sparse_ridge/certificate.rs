//! How far the objective is above its minimum, from the gradient alone.

use super::inverse::Inverse;
use super::{Centred, Gamma};
use crate::linalg::{Cholesky, Matrix};
use crate::linear::solve::norm;

/// A bound of P(w, b) − min P. `gradient` is half of that in w at the best b, `slope` half of that in b.
///
/// In the coordinates z = Γw the objective is λ‖z‖² and something convex, so ‖½∂P/∂z‖²/λ bounds what is left. Directions c that Γ does not
/// see (constants for first differences, straight lines for second ones) are minimised over first: that takes a system of one or
/// two unknowns. For any other Γ it is W·gᵀH⁻¹g, at most W(Σ √(H⁻¹)ⱼⱼ·|gⱼ|)².
pub(super) fn bound(
    rows: &Centred<'_>,
    inverse: &Inverse<'_>,
    gamma: &Gamma,
    lambda: f64,
    gradient: &[f64],
    slope: f64,
) -> f64 {
    let order = match gamma {
        Gamma::Identity => 0,
        Gamma::FirstDifferences => 1,
        Gamma::SecondDifferences => 2,
        Gamma::Matrix(_) => {
            let Some(deviations) = inverse.deviations() else { return f64::INFINITY };
            let along: f64 = deviations.iter().zip(gradient).map(|(s, g)| s * g.abs()).sum();
            return rows.total * along * along + slope * slope;
        }
    };
    let Some((unseen, rest)) = without_unseen(rows, gradient, order.min(gradient.len())) else { return f64::INFINITY };
    let steep = (0..order).fold(rest, |g, _| later_sums(&g));
    norm(&steep).powi(2) / lambda + unseen + slope * slope
}

/// ∂/∂z of a function of w = the sums of the z before it: gᵢ becomes Σ gⱼ over j > i.
fn later_sums(gradient: &[f64]) -> Vec<f64> {
    let mut sum = 0.0;
    let so_far = |g: &f64| {
        sum += g;
        sum
    };
    let mut out: Vec<f64> = gradient.iter().skip(1).rev().map(so_far).collect();
    out.reverse();
    out
}

/// What minimising over the first `order` powers of the column's number gains, and the gradient that is left.
fn without_unseen(rows: &Centred<'_>, gradient: &[f64], order: usize) -> Option<(f64, Vec<f64>)> {
    if order == 0 {
        return Some((0.0, gradient.to_vec()));
    }
    let columns = gradient.len();
    let middle = (columns as f64 - 1.0) / 2.0;
    let power = |k: usize| -> Vec<f64> {
        (0..columns).map(|j| if k == 0 { 1.0 } else { (j as f64 - middle) / middle.max(1.0) }).collect()
    };
    let directions: Vec<Vec<f64>> = (0..order).map(power).collect();
    let images: Vec<Vec<f64>> = directions.iter().map(|direction| rows.multiply(direction)).collect();
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    let curvature = Matrix::from_fn(order, order, |k, l| dot(&images[k], &images[l]) / rows.total);
    let slopes: Vec<f64> = directions.iter().map(|direction| dot(direction, gradient)).collect();
    let mut step = Matrix::column_vector(slopes.clone());
    Cholesky::new(curvature)?.solve(&mut step);
    let mut moved = vec![0.0; rows.roots.len()];
    for (k, image) in images.iter().enumerate() {
        moved.iter_mut().zip(image).for_each(|(moved, image)| *moved += step.get(k, 0) * image / rows.total);
    }
    let back = rows.multiply_transposed(&moved);
    let rest = gradient.iter().zip(&back).map(|(g, back)| g - back).collect();
    Some((dot(&slopes, step.col(0)), rest))
}
