//! What a spectrum of features knows beside that of a matrix: the coefficients of linear functions, and how far from the best a gradient
//! shows them to be.

use super::{Kind, Spectrum, Target};
use crate::linalg::norm;
use crate::linalg::{Matrix, double, multiply, multiply_transposed};

/// What is missing of a solution whose gradient is g: δ = (FᵀF + γ)⁻¹g, with F the centred features.
pub(crate) struct Missing {
    /// ‖δ‖.
    pub distance: f64,
    /// gᵀδ = ‖Fδ‖² + γ‖δ‖².
    pub energy: f64,
}

impl Spectrum {
    /// Coefficients and offset of the linear function at γ = Wμ, in the target's own units; nothing when this
    /// spectrum came from a Gram matrix.
    pub(crate) fn linear_coefficients(&self, target: &Target, gamma: f64) -> (Vec<f64>, f64) {
        let Kind::Linear { back, mean_features, .. } = &self.kind else { return (Vec::new(), 0.0) };
        let coordinates: Vec<f64> =
            target.z.iter().zip(&self.eigenvalues).map(|(z, d)| z * (d / (d + gamma))).collect();
        let mut coefficients = multiply(back, &Matrix::column_vector(coordinates)).as_slice().to_vec();
        coefficients.iter_mut().for_each(|c| *c = libm::ldexp(*c, target.power));
        let offset =
            if self.offset { -double::dot(mean_features, &coefficients).add(-target.mean).value() } else { 0.0 };
        (coefficients, offset)
    }

    /// (FᵀF + γ)⁻¹ b for the centred features F of a primal spectrum, on the directions that they span.
    pub(crate) fn solve_features(&self, b: &[f64], gamma: f64) -> Vec<f64> {
        let Kind::Linear { back, .. } = &self.kind else { return vec![0.0; b.len()] };
        let mut coordinates = multiply_transposed(back, &Matrix::column_vector(b.to_vec()));
        for (c, d) in coordinates.as_mut_slice().iter_mut().zip(&self.eigenvalues) {
            *c *= d / (d + gamma);
        }
        multiply(back, &coordinates).into_vec()
    }

    /// What a gradient in the features of a primal spectrum leaves to be done, directions without eigenvalue included.
    pub(crate) fn missing(&self, gradient: &[f64], gamma: f64) -> Missing {
        let Kind::Linear { back, .. } = &self.kind else { return Missing { distance: 0.0, energy: 0.0 } };
        // The columns of `back` are those of V, divided by √d.
        let mut along = multiply_transposed(back, &Matrix::column_vector(gradient.to_vec())).into_vec();
        along.iter_mut().zip(&self.eigenvalues).for_each(|(c, d)| *c *= d.sqrt());
        let beside = if back.cols() == back.rows() {
            0.0
        } else {
            let scaled = along.iter().zip(&self.eigenvalues).map(|(c, d)| c * d.sqrt()).collect();
            let inside = multiply(back, &Matrix::column_vector(scaled)).into_vec();
            norm(&gradient.iter().zip(&inside).map(|(g, v)| g - v).collect::<Vec<f64>>())
        };
        let (mut square, mut energy) = ((beside / gamma) * (beside / gamma), beside * beside / gamma);
        for (c, d) in along.iter().zip(&self.eigenvalues) {
            let step = c / (d + gamma);
            square += step * step;
            energy += c * step;
        }
        Missing { distance: square.sqrt(), energy }
    }

    /// The weighted means of the features of a primal spectrum (zeros without an offset).
    pub(crate) fn mean_features(&self) -> &[f64] {
        match &self.kind {
            Kind::Linear { mean_features, .. } => mean_features,
            Kind::Gram { .. } => &[],
        }
    }

    /// The mean of a linear function of the features of a primal spectrum (0 without an offset).
    pub(crate) fn mean_of_features(&self, coefficients: &[f64]) -> f64 {
        double::dot(self.mean_features(), coefficients).value()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::{Cholesky, lower_square};

    /// Against (FᵀF + γ)⁻¹g by a Cholesky factor, with a direction in which the features are 0.
    #[test]
    fn what_is_missing_is_the_solution_of_the_system() {
        let (rows, gamma) = (40, 0.3);
        let column = |j: usize| if j == 4 { 3 } else { j };
        let x = Matrix::from_fn(rows, 5, |i, j| libm::sin((i * (column(j) + 2)) as f64) + 0.1 * column(j) as f64);
        let spectrum = Spectrum::from_factor(x.clone(), None, true).unwrap();
        let mean = |j: usize| x.col(j).iter().sum::<f64>() / rows as f64;
        let mut system = lower_square(&Matrix::from_fn(rows, 5, |i, j| x.get(i, j) - mean(j)));
        (0..5).for_each(|j| system.set(j, j, system.get(j, j) + gamma));
        let gradient = [0.3, -1.0, 2.0, 0.7, -0.4];
        let mut solved = Matrix::column_vector(gradient.to_vec());
        Cholesky::new(system).unwrap().solve(&mut solved);
        let energy: f64 = solved.as_slice().iter().zip(&gradient).map(|(a, b)| a * b).sum();
        let found = spectrum.missing(&gradient, gamma);
        assert!(spectrum.eigenvalues().len() == 4, "{:?}", spectrum.eigenvalues());
        assert!((found.distance / norm(solved.as_slice()) - 1.0).abs() < 1e-10, "{}", found.distance);
        assert!((found.energy / energy - 1.0).abs() < 1e-10, "{} {energy}", found.energy);
    }
}
