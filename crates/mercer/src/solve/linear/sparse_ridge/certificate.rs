//! How far the objective is above its minimum, from the gradient alone.

use super::Centred;
use super::inverse::Inverse;
use crate::solve::linear::solve::norm;
use crate::term::penalty::Gamma;

/// A bound of P(w, b) − min P. `gradient` is half of that in w at the best b, `slope` half of that in b.
///
/// In the coordinates z = Γw the objective is λ‖z‖² and something convex, so ‖½∂P/∂z‖²/λ bounds what is left. Directions c that Γ does not
/// see (constants for first differences, straight lines for second ones) are minimised over first. For any other Γ it is W·gᵀH⁻¹g, at most W(Σ √(H⁻¹)ⱼⱼ·|gⱼ|)².
pub(super) fn bound(
    rows: &Centred<'_>,
    (inverse, unseen): (&Inverse<'_>, &Unseen),
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
    let (gain, rest) = unseen.taken_out(rows, gradient);
    let steep = (0..order).fold(rest, |g, _| later_sums(&g));
    norm(&steep).powi(2) / lambda + gain + slope * slope
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

/// Directions that Γ does not see, with what A makes of them; and those that neither sees: along them nothing changes.
pub(super) struct Unseen {
    seen_by_rows: Vec<(Vec<f64>, Vec<f64>)>,
    flat: Vec<Vec<f64>>,
}

impl Unseen {
    /// Powers of the column's number below the order of differences, with images that are orthogonal.
    pub fn new(rows: &Centred<'_>, gamma: &Gamma) -> Self {
        let columns = rows.means.len();
        let order = match gamma {
            Gamma::Identity | Gamma::Matrix(_) => 0,
            Gamma::FirstDifferences => 1,
            Gamma::SecondDifferences => 2,
        };
        let middle = (columns as f64 - 1.0) / 2.0;
        let power = |k: usize| -> Vec<f64> {
            (0..columns).map(|j| if k == 0 { 1.0 } else { (j as f64 - middle) / middle.max(1.0) }).collect()
        };
        let lengths: Vec<f64> = (0..columns).map(|j| norm(rows.x.col(j).1)).collect();
        let mut out = Unseen { seen_by_rows: Vec::new(), flat: Vec::new() };
        for mut direction in (0..order.min(columns)).map(power) {
            let mut image = rows.multiply(&direction);
            for (other, its_image) in &out.seen_by_rows {
                let share = dot(its_image, &image) / dot(its_image, its_image);
                direction.iter_mut().zip(other).for_each(|(d, o)| *d -= share * o);
                image.iter_mut().zip(its_image).for_each(|(d, o)| *d -= share * o);
            }
            // What rounding leaves of nothing is of this size.
            let size: f64 = direction.iter().zip(&lengths).map(|(d, length)| d.abs() * length).sum();
            if norm(&image) <= 1e-12 * size {
                out.flat.push(direction);
            } else {
                out.seen_by_rows.push((direction, image));
            }
        }
        out
    }

    /// What minimising over these directions gains, and the gradient that is left.
    fn taken_out(&self, rows: &Centred<'_>, gradient: &[f64]) -> (f64, Vec<f64>) {
        let (mut gain, mut rest) = (0.0, gradient.to_vec());
        for (direction, image) in &self.seen_by_rows {
            let curvature = dot(image, image) / rows.total;
            let step = dot(direction, gradient) / curvature;
            gain += curvature * step * step;
            let back = rows.multiply_transposed(image);
            rest.iter_mut().zip(&back).for_each(|(g, back)| *g -= step * back / rows.total);
        }
        // Along these the gradient is 0, up to rounding that would add up over all columns.
        for direction in &self.flat {
            remove(&mut rest, direction);
        }
        (gain, rest)
    }

    /// The shortest of all coefficients that are as good.
    pub fn shortest(&self, mut w: Vec<f64>) -> Vec<f64> {
        for direction in &self.flat {
            remove(&mut w, direction);
        }
        w
    }
}

/// Takes out of a vector what it has of a direction.
fn remove(vector: &mut [f64], direction: &[f64]) {
    let share = dot(vector, direction) / dot(direction, direction);
    vector.iter_mut().zip(direction).for_each(|(v, d)| *v -= share * d);
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}
