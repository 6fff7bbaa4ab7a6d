//! Which points stand for all rows, and the features φ(x) = L⁻¹k(x) that they span, LLᵀ their Gram matrix.
//!
//! Landmarks need not be rows: K − FFᵀ is positive semidefinite for any points, and its diagonal k(x, x) − ‖φ(x)‖² is known.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;
use rayon::prelude::*;

use super::centres::{centres, sample};
use super::factor;
use crate::linalg::simd::vectorize;
use crate::linalg::{Cholesky, Matrix, solve_lower_for_rows};
use crate::space;
use crate::term::kernel::{Kernel, Points, SharedKernel};

/// How landmarks are chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Landmarks {
    /// Rows, drawn by what earlier ones leave of them: randomly pivoted Cholesky.
    Pivots,
    /// Centres of clusters of rows: k-means.
    #[default]
    Centres,
    /// Rows, all of them alike.
    Uniform,
}

/// A residual of this share of the diagonal is rounding.
const ROUNDING: f64 = 1e-14;
/// The same among points that were chosen without a look at the kernel: what is left of the last of them divides what
/// rounding made of kernel values.
const DEPENDENT: f64 = 1e-12;
/// What must be left of each of those beside the others, as a share of its own k(x, x).
const LEAST_LEFT: f64 = 1e-10;
/// If so much is left of each beside those before it, their order does not matter; else pivots grade them, and with them the features.
const INDEPENDENT: f64 = 1e-5;
/// With fewer rows for each landmark than this, means say nothing that rows do not.
const ROWS_EACH: usize = 3;

impl Landmarks {
    /// Every choice.
    pub const ALL: [Landmarks; 3] = [Landmarks::Centres, Landmarks::Pivots, Landmarks::Uniform];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Landmarks::Pivots => "pivots",
            Landmarks::Centres => "kmeans",
            Landmarks::Uniform => "uniform",
        }
    }

    /// This choice; pivots where points have no mean (text that is compared) or there are few rows for each landmark.
    pub(crate) fn suited_to(self, points: &Points, rank: usize) -> Self {
        let has_means = points.code_columns() == 0 && points.features() > 0;
        match self {
            Landmarks::Pivots => Landmarks::Pivots,
            _ if rank.saturating_mul(ROWS_EACH) > points.rows() => Landmarks::Pivots,
            Landmarks::Centres if !has_means => Landmarks::Pivots,
            other => other,
        }
    }
}

/// Landmarks, and what all rows are in terms of them.
pub(crate) struct Spanned {
    pub landmarks: Points,
    /// L.
    pub lower: Matrix,
    /// F, n × r: φ of every row.
    pub features: Matrix,
    /// The diagonal of K − FFᵀ.
    pub residual: Vec<f64>,
}

/// Landmarks and L, by which any point has features.
#[derive(Debug, Clone)]
pub(crate) struct Basis {
    kernel: SharedKernel,
    pub landmarks: Points,
    pub lower: Matrix,
}

impl Basis {
    /// At most `rank` landmarks of these points.
    pub fn choose(by: Landmarks, kernel: &SharedKernel, points: &Points, rank: usize, seed: u64) -> Self {
        let (candidates, tolerance) = candidates(by, &**kernel, points, rank, seed);
        if let Some(found) = candidates.as_ref().and_then(|candidates| Basis::of_independent(kernel, candidates)) {
            return found;
        }
        let found = Basis::among(kernel, candidates.as_ref().unwrap_or(points), tolerance, rank, seed);
        if by == Landmarks::Pivots { found } else { found.without_dependent() }
    }

    /// On these landmarks in their order, if none of them depends much on those before it: then they need no pivots.
    fn of_independent(kernel: &SharedKernel, landmarks: &Points) -> Option<Self> {
        let mut heights = vec![0.0; landmarks.rows()];
        kernel.diagonal(landmarks, 0, &mut heights);
        let mut lower = Cholesky::new(space::gram_lower(&**kernel, landmarks))?.into_lower();
        let is_kept = |k: usize| lower.get(k, k) * lower.get(k, k) > INDEPENDENT * heights[k];
        if !(0..landmarks.rows()).all(is_kept) {
            return None;
        }
        (1..lower.cols()).for_each(|k| lower.col_mut(k)[..k].fill(0.0));
        Some(Basis { kernel: kernel.clone(), landmarks: landmarks.clone(), lower })
    }

    /// Without landmarks of which others leave next to nothing: what rounding makes of them would outweigh a small ridge.
    fn without_dependent(self) -> Self {
        let mut heights = vec![0.0; self.width()];
        self.kernel.diagonal(&self.landmarks, 0, &mut heights);
        let is_kept = |k: &usize| self.lower.get(*k, *k) * self.lower.get(*k, *k) > LEAST_LEFT * heights[*k];
        let kept: Vec<usize> = (0..self.width()).filter(is_kept).collect();
        if kept.len() == self.width() {
            return self;
        }
        let landmarks = self.landmarks.subset(&kept);
        Basis::among(&self.kernel, &landmarks, 0.0, kept.len(), 1)
    }

    /// On landmarks that are known: all of them, but for what depends on others to rounding.
    pub fn of(kernel: &SharedKernel, landmarks: &Points) -> Self {
        Basis::among(kernel, landmarks, ROUNDING, landmarks.rows(), 1)
    }

    fn among(kernel: &SharedKernel, candidates: &Points, tolerance: f64, rank: usize, seed: u64) -> Self {
        let found = factor(&**kernel, candidates, tolerance, rank, seed);
        Basis { kernel: kernel.clone(), landmarks: candidates.subset(&found.pivots), lower: found.at_pivots() }
    }

    /// Number of features.
    pub fn width(&self) -> usize {
        self.landmarks.rows()
    }

    /// φ of points, F = k(x, landmarks) L⁻ᵀ, n × r.
    pub fn features(&self, points: &Points) -> Matrix {
        let mut features = space::cross(&*self.kernel, &self.landmarks, points);
        solve_lower_for_rows(&self.lower, &mut features);
        features
    }

    /// With the features of all rows.
    pub fn span(self, rows: &Points) -> Spanned {
        let features = self.features(rows);
        let residual = self.residual(rows, &features);
        Spanned { landmarks: self.landmarks, lower: self.lower, features, residual }
    }

    /// k(x, x) − ‖φ(x)‖², at least what rounding may hide of it.
    pub fn residual(&self, points: &Points, features: &Matrix) -> Vec<f64> {
        const TILE: usize = 1024;
        let mut left = vec![0.0; points.rows()];
        self.kernel.diagonal(points, 0, &mut left);
        left.par_chunks_mut(TILE).enumerate().for_each(|(tile, left)| {
            let start = tile * TILE;
            let mut explained = vec![0.0; left.len()];
            vectorize(
                #[inline(always)]
                || {
                    for k in 0..features.cols() {
                        let column = &features.col(k)[start..start + left.len()];
                        for (sum, f) in explained.iter_mut().zip(column) {
                            *sum += f * f;
                        }
                    }
                },
            );
            left.iter_mut().zip(&explained).for_each(|(k, sum)| *k = (*k - sum).max(4.0 * f64::EPSILON * *k));
        });
        left
    }
}

/// At most `rank` landmarks of these rows, and the rows' features.
pub(crate) fn span(by: Landmarks, kernel: &SharedKernel, points: &Points, rank: usize, seed: u64) -> Spanned {
    if by == Landmarks::Pivots {
        // The factor of the landmarks is that of all rows.
        let found = factor(&**kernel, points, ROUNDING, rank, seed);
        let (landmarks, lower) = (points.subset(&found.pivots), found.at_pivots());
        return Spanned { landmarks, lower, features: found.matrix, residual: found.residual };
    }
    Basis::choose(by, kernel, points, rank, seed).span(points)
}

/// Points that are not rows, or not chosen by the kernel; `None` if all rows are candidates.
fn candidates(by: Landmarks, kernel: &dyn Kernel, points: &Points, rank: usize, seed: u64) -> (Option<Points>, f64) {
    match by {
        Landmarks::Pivots => (None, ROUNDING),
        Landmarks::Centres => (Some(centres(points, kernel.lengthscales().as_deref(), rank, seed)), DEPENDENT),
        Landmarks::Uniform => {
            let rows = sample(points.rows(), rank, &mut ChaCha8Rng::seed_from_u64(seed));
            (Some(points.subset(&rows)), DEPENDENT)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::multiply_by_transposed;
    use crate::term::kernel::parse;

    #[test]
    fn features_explain_what_is_said_whatever_the_landmarks() {
        let x = Matrix::from_fn(300, 2, |i, j| ((i * 37 + j * 11) % 101) as f64 / 50.0 + 0.001 * i as f64);
        let points = Points::new(&x);
        for spec in ["gaussian(lengthscale=1.5)", "matern32(lengthscale=[0.5,2])", "additive-spline"] {
            let kernel = parse(spec).unwrap().fitted_to(&points, None).unwrap();
            let gram = space::gram(&*kernel, &points);
            for by in Landmarks::ALL {
                let found = span(by, &kernel, &points, 40, 7);
                assert!(found.landmarks.rows() <= 40 && found.features.cols() == found.landmarks.rows());
                let product = multiply_by_transposed(&found.features, &found.features);
                for i in 0..300 {
                    let left = gram.get(i, i) - product.get(i, i);
                    assert!((left - found.residual[i]).abs() < 1e-11 * gram.get(i, i), "{spec} {by:?} row {i}: {left}");
                    // K − FFᵀ is positive semidefinite: no entry exceeds those of the diagonal.
                    let other = (i * 131 + 17) % 300;
                    let entry = gram.get(i, other) - product.get(i, other);
                    let most = (found.residual[i] * found.residual[other]).sqrt();
                    assert!(entry.abs() <= most + 1e-11 * gram.get(i, i), "{spec} {by:?}: {entry} {most}");
                }
                let small = multiply_by_transposed(&found.lower, &found.lower);
                let own = space::gram(&*kernel, &found.landmarks);
                let worst = small.as_slice().iter().zip(own.as_slice()).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
                assert!(worst < 1e-11 * own.max_abs(), "{spec} {by:?}: {worst}");
            }
        }
    }

    #[test]
    fn centres_leave_less_than_rows_drawn_alike() {
        let x = Matrix::from_fn(900, 2, |i, j| ((i * 379 + j * 97) % 907) as f64 / 300.0 + 0.0003 * i as f64);
        let points = Points::new(&x);
        let kernel = parse("matern32(lengthscale=1)").unwrap();
        let left = |by| span(by, &kernel, &points, 60, 5).residual.iter().sum::<f64>();
        assert!(left(Landmarks::Centres) < 0.9 * left(Landmarks::Uniform));
    }
}
