//! ∂f/∂xⱼ at every row, and the averages of ∂k(·, xᵢ)/∂xⱼ.

use rayon::prelude::*;

use super::chain::Chain;
use super::rows::Rows;
use super::{Basis, Found, Function};
use crate::base::error::Result;
use crate::linalg::{Matrix, multiply_by_transposed, multiply_transposed};
use crate::term::kernel::{Kernel, Points};

/// Into how many shares the rows are cut, whatever the number of threads: sums are added in one order.
const SHARES: usize = 16;

/// Effects at some rows, columns × rows for every target, and the sum of the basis' derivatives, basis × columns.
struct Share {
    values: Vec<Vec<Vec<f64>>>,
    sum: Matrix,
}

/// The derivatives by every column of numbers.
pub(super) fn of(function: &Function<'_>, rows: &Rows<'_>) -> Result<Vec<Found>> {
    let chain = Chain::new(&function.model.encoder)?;
    let count = rows.used();
    let share = |index: usize| index * count / SHARES..(index + 1) * count / SHARES;
    let shares: Vec<Share> = (0..SHARES)
        .into_par_iter()
        .map(|index| match &function.basis {
            Basis::Kernel { points, alpha } => of_kernel(
                &chain,
                &**function.model.kernel(),
                points,
                alpha,
                rows,
                share(index),
                function.wants_averages,
            ),
            Basis::Linear { coefficients } => of_linear(&chain, coefficients, rows, share(index)),
        })
        .collect();
    let targets = function.model.summaries.len();
    let effect = |c: usize| {
        let of_target = |t: usize| shares.iter().flat_map(|share| share.values[t][c].iter().copied()).collect();
        let basis = shares[0].sum.rows();
        let mut average = vec![0.0; basis];
        for share in &shares {
            average.iter_mut().zip(share.sum.col(c)).for_each(|(total, part)| *total += part / count as f64);
        }
        Found {
            column: chain.columns[c].clone(),
            versus: None,
            values: (0..targets).map(of_target).collect(),
            average: if function.wants_averages { average } else { Vec::new() },
        }
    };
    Ok((0..chain.columns.len()).map(effect).collect())
}

fn of_kernel(
    chain: &Chain<'_>,
    kernel: &dyn Kernel,
    points: &Points,
    alpha: &Matrix,
    rows: &Rows<'_>,
    share: std::ops::Range<usize>,
    wants_averages: bool,
) -> Share {
    let columns = chain.columns.len();
    let mut values = vec![vec![Vec::with_capacity(share.len()); columns]; alpha.cols()];
    let mut gradients = Matrix::zeros(points.rows(), points.features());
    // With one chain for all rows, what the kernel sees is summed, and the chain comes last.
    let mut seen = Matrix::zeros(points.rows(), if chain.is_constant() { points.features() } else { 0 });
    let mut sum = Matrix::zeros(points.rows(), columns);
    for row in share {
        rows.points.with_point(row, |x| kernel.gradients(x, points, &mut gradients));
        let link = chain.at(rows.scaled_row(row).as_deref());
        let by_target = multiply_transposed(&gradients, alpha);
        for (t, of_target) in values.iter_mut().enumerate() {
            for (c, of_column) in of_target.iter_mut().enumerate() {
                of_column.push((0..link.cols()).map(|k| link.get(c, k) * by_target.get(k, t)).sum());
            }
        }
        if wants_averages && chain.is_constant() {
            seen.as_mut_slice().iter_mut().zip(gradients.as_slice()).for_each(|(s, g)| *s += g);
        } else if wants_averages {
            for c in 0..columns {
                for k in (0..link.cols()).filter(|k| link.get(c, *k) != 0.0) {
                    let factor = link.get(c, k);
                    sum.col_mut(c).iter_mut().zip(gradients.col(k)).for_each(|(s, g)| *s += factor * g);
                }
            }
        }
    }
    if wants_averages && chain.is_constant() {
        sum = multiply_by_transposed(&seen, &chain.at(None));
    }
    Share { values, sum }
}

/// For xᵀw the derivatives are those of x itself.
fn of_linear(chain: &Chain<'_>, coefficients: &Matrix, rows: &Rows<'_>, share: std::ops::Range<usize>) -> Share {
    let columns = chain.columns.len();
    let mut values = vec![vec![Vec::with_capacity(share.len()); columns]; coefficients.cols()];
    let mut sum = Matrix::zeros(coefficients.rows(), columns);
    for row in share {
        let link = chain.at(rows.scaled_row(row).as_deref());
        for (t, of_target) in values.iter_mut().enumerate() {
            for (c, of_column) in of_target.iter_mut().enumerate() {
                of_column.push((0..link.cols()).map(|k| link.get(c, k) * coefficients.get(k, t)).sum());
            }
        }
        for c in 0..columns {
            sum.col_mut(c).iter_mut().enumerate().for_each(|(k, s)| *s += link.get(c, k));
        }
    }
    Share { values, sum }
}
