//! Linear kernels with fewer features than rows: solved in the features, see [`linear::margin`](crate::solve::linear::margin()).

use super::{Problem, RidgePoint, RidgeSolver};
use crate::base::error::Result;
use crate::linalg::{Matrix, multiply, multiply_transposed};
use crate::solve::linear::features::add_scaled;
use crate::solve::linear::margin::with_dual;
use crate::solve::linear::{Features, MarginLoss, MarginSettings};
use crate::term::kernel::{Kernel, Points};

/// The solver on the features themselves.
pub(crate) struct Primal<'a> {
    pub problem: Problem<'a>,
    pub x: &'a Features,
    /// s of the kernel s·xᵀx′.
    pub scale: f64,
    pub loss: MarginLoss,
    pub go_on: &'a (dyn Fn() -> bool + Sync),
}

impl RidgeSolver for Primal<'_> {
    fn at(&self, ridge: f64, tolerance: f64, _: Option<&RidgePoint>) -> Result<RidgePoint> {
        let problem = &self.problem;
        let settings = MarginSettings {
            offset: problem.has_offset,
            // The gap is measured again with another feasible dual point.
            tolerance: 0.1 * tolerance,
            go_on: self.go_on,
            ..MarginSettings::default()
        };
        // ‖f‖² = ‖w‖²/s.
        let (found, slopes) = with_dual(self.x, problem.y, problem.weights, ridge / self.scale, self.loss, &settings)?;
        let unit = 2.0 * problem.total() * ridge;
        let alpha: Vec<f64> = slopes.iter().enumerate().map(|(i, a)| problem.weight(i) * a / unit).collect();
        let w = found.coefficients;
        let fitted = self.x.multiply(&w);
        let squared_norm = w.iter().map(|w| w * w).sum::<f64>() / self.scale;
        let (converged, iterations) = (found.converged, found.iterations);
        Ok(RidgePoint {
            ridge,
            alpha,
            offset: found.intercept,
            fitted,
            elsewhere: Vec::new(),
            coefficients: Some(w),
            squared_norm,
            converged,
            iterations,
        })
    }
}

/// xᵀw for every point.
pub(crate) fn linear_values(points: &Points, w: &[f64]) -> Vec<f64> {
    let mut values = vec![0.0; points.rows()];
    w.iter().enumerate().for_each(|(j, w)| add_scaled(&mut values, *w, points.feature(j)));
    values
}

/// Σ αⱼk(x, xⱼ) for new points: for a linear kernel through its coefficients.
pub(crate) fn values(kernel: &dyn Kernel, points: &Points, alpha: &Matrix, new: &Points) -> Matrix {
    match kernel.linear_scale() {
        Some(scale) => {
            let mut w = multiply_transposed(&points.to_matrix(), alpha);
            w.as_mut_slice().iter_mut().for_each(|w| *w *= scale);
            multiply(&new.to_matrix(), &w)
        }
        None => crate::space::evaluate(kernel, points, alpha, new),
    }
}
