//! Sums over the spectrum far beyond it: Σ q²/(d + γ) for γ well above every d is 1/γ times a polynomial in 1/γ, so that its
//! values at a few Chebyshev nodes give it at every γ out there.

use std::ops::Range;

use super::envelope;
use crate::linalg::{Matrix, multiply};

/// Nodes beyond the spectrum.
const NODES: usize = 8;
/// log γ, relative to the largest eigenvalue, from which on they serve: 1/(1 + d/γ) is then within 1e-13 of its polynomial.
const FAR: f64 = 2.5;

/// The γ at which sums over the spectrum are made, and how those at all points of a grid follow.
pub(super) struct Samples {
    /// Points of the grid, then nodes.
    gammas: Vec<f64>,
    /// How many of them are points.
    near: usize,
    /// Points without sums of second powers: what those are for follows from differences there.
    derived: Range<usize>,
    /// From the nodes to the other points: of Σ a/(d + γ) and of Σ a/(d + γ)².
    first: Matrix,
    second: Matrix,
}

impl Samples {
    /// For rising `gammas` and the largest eigenvalue.
    pub fn of(gammas: &[f64], largest: f64) -> Self {
        let near = gammas.partition_point(|gamma| *gamma < largest * libm::exp(FAR));
        if gammas.len() - near <= NODES {
            return Samples {
                gammas: gammas.to_vec(),
                near: gammas.len(),
                derived: 0..0,
                first: Matrix::default(),
                second: Matrix::default(),
            };
        }
        let far = &gammas[near..];
        // 1/γ from 0 to its largest value.
        let nodes: [f64; NODES] = std::array::from_fn(|j| {
            let angle = std::f64::consts::PI * (2 * j + 1) as f64 / (2 * NODES) as f64;
            0.5 * (1.0 - libm::cos(angle)) / far[0]
        });
        // Lagrange's polynomial of a node, times 1/γ relative to the node's: that is how the first sums fall.
        let share = |j: usize, u: f64| -> f64 {
            let others = (0..NODES).filter(|i| *i != j);
            others.map(|i| (u - nodes[i]) / (nodes[j] - nodes[i])).product::<f64>() * (u / nodes[j])
        };
        Samples {
            gammas: gammas[..near].iter().copied().chain(nodes.map(|u| 1.0 / u)).collect(),
            near,
            derived: 0..0,
            first: Matrix::from_fn(NODES, far.len(), |j, g| share(j, 1.0 / far[g])),
            second: Matrix::from_fn(NODES, far.len(), |j, g| share(j, 1.0 / far[g]) / (far[g] * nodes[j])),
        }
    }

    /// The same, with second powers only where differences do not reach: at the upper end of a grid with this spacing.
    pub fn with_differences(self, step: f64) -> Self {
        let points = self.near + self.first.cols();
        let high = self.near.min(points.saturating_sub(envelope::values_above(step)));
        Samples { derived: 0..high, ..self }
    }

    pub fn gammas(&self) -> &[f64] {
        &self.gammas
    }

    /// The points of the grid at which there are no sums of second powers.
    pub fn derived(&self) -> &Range<usize> {
        &self.derived
    }

    /// Those of some samples that have second powers, in their order.
    pub fn with_seconds<'s, T>(&'s self, samples: impl Iterator<Item = T> + 's) -> impl Iterator<Item = T> + 's {
        samples.enumerate().filter(|(sample, _)| !self.derived.contains(sample)).map(|(_, value)| value)
    }

    /// Σ a/(d + γ) of many rows at all points, from their values at the samples.
    pub fn first_at_all(&self, at_samples: Matrix) -> Matrix {
        self.at_all(at_samples, self.near, &self.first)
    }

    /// The same for Σ a/(d + γ)², at the points (and from the samples) that have them.
    pub fn second_at_all(&self, at_samples: Matrix) -> Matrix {
        self.at_all(at_samples, self.near - self.derived.len(), &self.second)
    }

    fn at_all(&self, at_samples: Matrix, near: usize, from_nodes: &Matrix) -> Matrix {
        if from_nodes.cols() == 0 {
            return at_samples;
        }
        let rows = at_samples.rows();
        let mut data = at_samples.into_vec();
        let at_nodes = Matrix::from_columns(rows, NODES, data.split_off(rows * near)).unwrap_or_default();
        data.extend_from_slice(multiply(&at_nodes, from_nodes).as_slice());
        Matrix::from_columns(rows, near + from_nodes.cols(), data).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Against the sums themselves, from far below the spectrum to e¹⁴ above it.
    #[test]
    fn sums_at_samples_give_those_at_all_points() {
        let d = [3.0, 1.0, 1e-2, 1e-6];
        let gammas: Vec<f64> = (0..120).map(|g| libm::exp(-15.0 + 0.25 * g as f64)).collect();
        let samples = Samples::of(&gammas, d[0]);
        assert!(samples.gammas().len() + 20 < gammas.len());
        let weights = [[0.3, 0.2, 0.4, 0.1], [0.0, 0.0, 0.0, 1.0], [1.0, -0.5, 0.25, 3.0]];
        let sums = |gammas: &[f64], power: i32| {
            let sum = |i: usize, gamma: f64| -> f64 {
                weights[i].iter().zip(d).map(|(a, d)| a / (d + gamma).powi(power)).sum()
            };
            Matrix::from_fn(weights.len(), gammas.len(), |i, g| sum(i, gammas[g]))
        };
        for power in [1, 2] {
            let at_samples = sums(samples.gammas(), power);
            let found = if power == 1 { samples.first_at_all(at_samples) } else { samples.second_at_all(at_samples) };
            let wanted = sums(&gammas, power);
            assert_eq!(found.cols(), gammas.len());
            for (found, wanted) in found.as_slice().iter().zip(wanted.as_slice()) {
                assert!((found / wanted - 1.0).abs() < 1e-12, "{found} {wanted}");
            }
        }
    }
}
