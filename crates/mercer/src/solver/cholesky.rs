//! One λ, exponent 2, no weights: Cholesky factors instead of eigenvectors, in the memory of one matrix.
//!
//! α and the degrees of freedom need K + nλI; leave-one-out needs the diagonal of the inverse at (n−1)λ, since
//! a refit without a row has n − 1 of them. Two factorisations, one after the other, in the same storage.

use super::Solution;
use super::power::{Minimum, Stationary};
use super::refine::{Problem, refine};
use crate::error::{Error, Result};
use crate::kernel::{Kernel, Points};
use crate::linalg::{Cholesky, Matrix, largest_row_sum};
use crate::space;
use crate::spectrum::check_size;

/// Solutions, and leave-one-out residuals if they were asked for, one vector per target.
pub(crate) struct Solved {
    pub solutions: Vec<Solution>,
    pub residuals: Option<Vec<Vec<f64>>>,
}

/// Solves for all targets (at least two rows). Without `diagnostics` there are no degrees of freedom and no
/// leave-one-out, and half the work.
pub(crate) fn solve(
    kernel: &dyn Kernel,
    points: &Points,
    y: &Matrix,
    lambda: f64,
    offset: bool,
    diagnostics: bool,
    stage: &dyn Fn(&'static str) -> Result<()>,
) -> Result<Solved> {
    let n = points.rows();
    let gamma = n as f64 * lambda;
    stage("Gram matrix")?;
    let gram = space::gram_lower(kernel, points);
    let size = largest_row_sum(&gram);
    check_size(size)?;
    let diagonal: Vec<f64> = (0..n).map(|i| gram.get(i, i)).collect();
    stage("factorising")?;
    let factor = factorise(gram, &diagonal, gamma)?;
    let system = System::new(&factor, n, offset);

    stage("solving")?;
    let problem = Problem {
        kernel,
        points,
        root_weights: None,
        weight_sum: n as f64,
        offset,
        gamma,
        size,
        smallest: 0.0,
        truncated_by: None,
    };
    let columns: Vec<&[f64]> = (0..y.cols()).map(|t| y.col(t)).collect();
    let mut alpha = y.clone();
    system.solve(&mut alpha);
    let measured = refine(&problem, alpha, &columns, 2, |residual| {
        let mut change = Matrix::column_vector(residual.to_vec());
        system.solve(&mut change);
        change.into_vec()
    });
    let dof = if diagnostics {
        stage("degrees of freedom")?;
        Some(n as f64 - gamma * system.inverse_diagonal().iter().sum::<f64>())
    } else {
        None
    };
    // The smallest eigenvalue is not known here; 0 makes this an upper bound.
    let condition = (size + gamma) / gamma;
    let only = Stationary { log_ridge: libm::log(lambda), is_minimum: true };
    let minimum = Minimum {
        log_ridge: Some(only.log_ridge),
        stationary: vec![only],
        root_residual: 0.0,
        firmness: 1.0,
        is_counted: true,
    };
    let solutions: Vec<Solution> =
        measured.into_iter().map(|measured| problem.solution(measured, &minimum, 2.0, dof, condition)).collect();
    if !diagnostics {
        return Ok(Solved { solutions, residuals: None });
    }

    // The same storage again, for n − 1 rows.
    let mut storage = factor.into_storage();
    stage("leave-one-out")?;
    space::refill_lower(kernel, points, &mut storage);
    let factor = factorise(storage, &diagonal, (n - 1) as f64 * lambda)?;
    let system = System::new(&factor, n, offset);
    let inverse = system.inverse_diagonal();
    let mut dual = y.clone();
    system.solve(&mut dual);
    let residuals = (0..y.cols()).map(|t| dual.col(t).iter().zip(&inverse).map(|(a, g)| a / g).collect()).collect();
    Ok(Solved { solutions, residuals: Some(residuals) })
}

fn factorise(mut gram: Matrix, diagonal: &[f64], gamma: f64) -> Result<Cholesky> {
    for (i, k) in diagonal.iter().enumerate() {
        gram.set(i, i, k + gamma);
    }
    Cholesky::new(gram).ok_or_else(|| {
        Error::Decomposition(format!(
            "K + nλI with nλ = {gamma:.1e} is not positive definite to rounding; a larger λ is needed"
        ))
    })
}

/// G⁻¹ on the directions that the offset leaves: G⁻¹ − G⁻¹1(1ᵀG⁻¹1)⁻¹1ᵀG⁻¹.
struct System<'a> {
    factor: &'a Cholesky,
    /// G⁻¹1 and its sum, with an offset.
    constant: Option<(Vec<f64>, f64)>,
}

impl<'a> System<'a> {
    fn new(factor: &'a Cholesky, n: usize, offset: bool) -> Self {
        let constant = offset.then(|| {
            let mut ones = Matrix::column_vector(vec![1.0; n]);
            factor.solve(&mut ones);
            let sum = ones.as_slice().iter().sum();
            (ones.into_vec(), sum)
        });
        System { factor, constant }
    }

    fn solve(&self, b: &mut Matrix) {
        self.factor.solve(b);
        if let Some((constant, sum)) = &self.constant {
            for t in 0..b.cols() {
                let share = b.col(t).iter().sum::<f64>() / sum;
                b.col_mut(t).iter_mut().zip(constant).for_each(|(v, c)| *v -= share * c);
            }
        }
    }

    fn inverse_diagonal(&self) -> Vec<f64> {
        let mut diagonal = self.factor.inverse_diagonal();
        if let Some((constant, sum)) = &self.constant {
            diagonal.iter_mut().zip(constant).for_each(|(g, c)| *g -= c * c / sum);
        }
        diagonal
    }
}
