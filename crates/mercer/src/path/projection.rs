//! New rows in the coordinates of a decomposition, where every function of its path is a vector.
//!
//! With an offset a new row x stands for the contrast f(x) − (1/W) Σ wᵢf(xᵢ): its inner products with the basis are
//! M(x) = [k(x, xⱼ) − k̄ⱼ] sⱼ · Q, and its own length in the space is k(x, x) − 2k̄(x) + k̄, bars being weighted means.

use super::{Kind, Spectrum};
use crate::linalg::{Matrix, multiply, multiply_transposed};
use crate::space;
use crate::term::kernel::{Kernel, Points};

/// Projects rows that the decomposition has not seen.
pub(crate) struct Projector<'a> {
    spectrum: &'a Spectrum,
    kernel: &'a dyn Kernel,
    points: &'a Points,
    weights: Option<&'a [f64]>,
    /// k̄ⱼ of every training row; empty for linear features, which are centred themselves.
    mean: Vec<f64>,
}

impl<'a> Projector<'a> {
    /// For the kernel and the rows (with their weights) of which the spectrum is.
    pub fn new(spectrum: &'a Spectrum, kernel: &'a dyn Kernel, points: &'a Points, weights: Option<&'a [f64]>) -> Self {
        let mean = match &spectrum.kind {
            Kind::Gram { .. } if spectrum.offset => space::mean_column(kernel, points, weights),
            Kind::Gram { .. } => vec![0.0; points.rows()],
            Kind::Linear { .. } => Vec::new(),
        };
        Projector { spectrum, kernel, points, weights, mean }
    }

    /// M(x) of every new row, u × r: f − b = M z/(d + γ).
    pub fn rows(&self, new: &Points) -> Matrix {
        if let Kind::Linear { back, mean_features, .. } = &self.spectrum.kind {
            // √scale (x − x̄) V σ; `back` is √scale V/σ.
            let mut rows = multiply(&centred(new, mean_features), back);
            for (k, d) in self.spectrum.eigenvalues.iter().enumerate() {
                rows.col_mut(k).iter_mut().for_each(|m| *m *= d);
            }
            return rows;
        }
        self.spectrum.project(self.cross(new), &self.mean)
    }

    /// k(x, x), or with an offset k(x, x) − 2k̄(x) + k̄, of every new row. Nothing that a precomputed kernel could tell.
    pub fn diagonal(&self, new: &Points) -> Vec<f64> {
        if let Kind::Linear { mean_features, scale, .. } = &self.spectrum.kind {
            let centred = centred(new, mean_features);
            let square = |i: usize| (0..centred.cols()).map(|j| centred.get(i, j) * centred.get(i, j)).sum::<f64>();
            return (0..new.rows()).map(|i| scale * square(i)).collect();
        }
        let mut own = vec![0.0; new.rows()];
        self.kernel.diagonal(new, 0, &mut own);
        if self.spectrum.offset {
            let share = |j: usize| self.weights.map_or(1.0, |w| w[j]) / self.spectrum.weight_sum;
            let grand: f64 = self.mean.iter().enumerate().map(|(j, k)| share(j) * k).sum();
            let cross = self.cross(new);
            for j in 0..cross.cols() {
                own.iter_mut().zip(cross.col(j)).for_each(|(own, k)| *own -= 2.0 * share(j) * k);
            }
            own.iter_mut().for_each(|own| *own += grand);
        }
        own
    }

    /// k(new, training).
    fn cross(&self, new: &Points) -> Matrix {
        // The features of a row of a precomputed kernel are these values.
        if self.kernel.is_precomputed() { new.to_matrix() } else { space::cross(self.kernel, self.points, new) }
    }
}

impl Spectrum {
    /// The squared length of the vector a with gᵀα = aᵀ(s∘y), α the ridge solution at γ (for a primal spectrum: gᵀw, w its
    /// coefficients): the variance of that number in units of the noise of s∘y.
    pub(crate) fn response(&self, g: &[f64], gamma: f64) -> f64 {
        if !gamma.is_finite() {
            return 0.0;
        }
        match &self.kind {
            Kind::Gram { .. } => {
                let root = |i: usize| self.root_weights.as_ref().map_or(1.0, |s| s[i]);
                let scaled: Vec<f64> = g.iter().enumerate().map(|(i, g)| root(i) * g).collect();
                self.solve_scaled(&scaled, gamma).iter().map(|a| a * a).sum()
            }
            Kind::Linear { back, .. } => {
                let coordinates = multiply_transposed(back, &Matrix::column_vector(g.to_vec())).into_vec();
                let shrunk = coordinates.iter().zip(&self.eigenvalues).map(|(c, d)| c * (d / (d + gamma)));
                shrunk.map(|a| a * a).sum()
            }
        }
    }
}

fn centred(new: &Points, mean: &[f64]) -> Matrix {
    Matrix::from_fn(new.rows(), new.features(), |i, j| new.feature(j)[i] - mean[j])
}
