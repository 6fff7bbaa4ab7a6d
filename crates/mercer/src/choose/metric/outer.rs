//! The average outer product of the gradients of a fitted f: which directions matter, and how much.

use crate::base::error::Result;
use crate::linalg::{self, Matrix, mirror_lower, multiply, multiply_by_transposed, multiply_transposed};
use crate::space::distances_lower;
use crate::term::kernel::{Distance, Kernel, Points};

/// C = (1/n) Σ ∇f(xᵢ) ∇f(xᵢ)ᵀ for f = Σ αⱼ k(·, xⱼ), summed over the columns of α; d × d. The kernel must be a function of
/// the squared Euclidean distance.
pub fn average_outer_product(kernel: &dyn Kernel, x: &Matrix, alpha: &Matrix) -> Matrix {
    let d = x.cols();
    let mut sum = Matrix::zeros(d, d);
    for t in 0..alpha.cols() {
        let gradients = gradients(kernel, x, alpha.col(t));
        let part = multiply_transposed(&gradients, &gradients);
        sum.as_mut_slice().iter_mut().zip(part.as_slice()).for_each(|(s, p)| *s += p / x.rows() as f64);
    }
    sum
}

/// ∇f(xᵢ) = 2 Σⱼ αⱼ φ′(qᵢⱼ)(xᵢ − xⱼ) at every row; n × d.
pub fn gradients(kernel: &dyn Kernel, x: &Matrix, alpha: &[f64]) -> Matrix {
    let (n, d) = (x.rows(), x.cols());
    let mut slopes = distances_lower(Distance::SquaredEuclidean, &Points::new(x));
    for j in 0..n {
        kernel.slopes_of_distances(&mut slopes.col_mut(j)[j..]);
    }
    mirror_lower(&mut slopes);
    let weighted = Matrix::from_fn(n, d, |j, k| alpha[j] * x.get(j, k));
    let pulls = multiply(&slopes, &weighted);
    let sums = multiply(&slopes, &Matrix::column_vector(alpha.to_vec()));
    Matrix::from_fn(n, d, |i, k| 2.0 * (x.get(i, k) * sums.get(i, 0) - pulls.get(i, k)))
}

/// From a positive semidefinite C to the symmetric map L = (C^power)^(½), scaled so that the trace of L² is d. Rows times
/// L have the learned metric. `None` when C is 0.
pub fn map_of(c: &Matrix, power: f64, diagonal: bool) -> Result<Option<Matrix>> {
    let d = c.rows();
    let size = (0..d).map(|i| c.get(i, i)).fold(0.0, f64::max);
    if !(size > 0.0 && size.is_finite()) {
        return Ok(None);
    }
    let (values, vectors) = if diagonal {
        let identity = Matrix::from_fn(d, d, |i, j| f64::from(i == j));
        ((0..d).map(|i| c.get(i, i) / size).collect::<Vec<f64>>(), identity)
    } else {
        let eigen = linalg::eigen(Matrix::from_fn(d, d, |i, j| c.get(i, j) / size))?;
        (eigen.values, eigen.vectors)
    };
    // M = C^power; its trace is made d.
    let metric: Vec<f64> = values.iter().map(|v| libm::pow(v.max(0.0), power)).collect();
    let scale = d as f64 / metric.iter().sum::<f64>();
    let mut scaled = vectors.clone();
    for (j, m) in metric.iter().enumerate() {
        let root = (scale * m).sqrt();
        scaled.col_mut(j).iter_mut().for_each(|v| *v *= root);
    }
    Ok(Some(multiply_by_transposed(&scaled, &vectors)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::term::kernel::parse;

    #[test]
    fn gradients_are_those_of_differences() {
        let x = Matrix::from_fn(12, 2, |i, j| ((i * 5 + j * 3) % 7) as f64 / 3.0 + 0.1 * i as f64);
        let alpha = Matrix::from_fn(12, 1, |i, _| (i as f64).sin());
        for spec in ["gaussian(lengthscale=1.3)", "matern32(lengthscale=0.8)", "matern52(lengthscale=2)"] {
            let kernel = parse(spec).unwrap();
            let c = average_outer_product(&*kernel, &x, &alpha);
            let value = |p: [f64; 2]| {
                let mut row = vec![0.0; 12];
                let points = Points::new(&x);
                kernel.values(crate::term::kernel::Point { numbers: &p, codes: &[] }, &points, 0, &mut row);
                row.iter().zip(alpha.col(0)).map(|(k, a)| k * a).sum::<f64>()
            };
            let mut want = [[0.0; 2]; 2];
            for i in 0..12 {
                let p = [x.get(i, 0), x.get(i, 1)];
                let h = 1e-6;
                let g = [
                    (value([p[0] + h, p[1]]) - value([p[0] - h, p[1]])) / (2.0 * h),
                    (value([p[0], p[1] + h]) - value([p[0], p[1] - h])) / (2.0 * h),
                ];
                for a in 0..2 {
                    for b in 0..2 {
                        want[a][b] += g[a] * g[b] / 12.0;
                    }
                }
            }
            for a in 0..2 {
                for b in 0..2 {
                    assert!((c.get(a, b) - want[a][b]).abs() < 1e-6 * (1.0 + want[a][b].abs()), "{spec}");
                }
            }
        }
    }

    #[test]
    fn maps_have_the_metric_of_the_power() {
        let c = Matrix::from_rows(&[[4.0, 0.0], [0.0, 1.0]]).unwrap();
        let map = map_of(&c, 0.5, true).unwrap().unwrap();
        // M ∝ (2, 1), trace 2: (4/3, 2/3).
        assert!((map.get(0, 0).powi(2) - 4.0 / 3.0).abs() < 1e-14 && (map.get(1, 1).powi(2) - 2.0 / 3.0).abs() < 1e-14);
        let full = map_of(&c, 0.5, false).unwrap().unwrap();
        assert!((full.get(0, 0) - map.get(0, 0)).abs() < 1e-14 && full.get(0, 1).abs() < 1e-14);
        assert!(map_of(&Matrix::zeros(2, 2), 0.5, false).unwrap().is_none());
    }
}
