//! Every row's residual by the fit without it, from one decomposition.
//!
//! Without row i the problem Σ w r² + λW(ℓ·signsᵀv + ‖Γv‖²), times 1/W, has the total weight W − wᵢ in the place of W. At that weight the fit to
//! *all* rows has residual r and leverage h at row i, and the residual without the row is r/(1 − h). One decomposition serves all rows: in
//! coordinates in which XᵀwX is diag(c) and λW·ΓᵀΓ is diag(1 − c), the problem of every total weight is diagonal, with entries from 1 − wᵢ/W to 1.
//!
//! For λ‖Γw‖² this is exact. For the Lasso and the elastic net it is exact if the row does not change which coefficients are 0 and the signs of the
//! others (Rahnama Rad and Maleki 2020): that is checked, and where it does not hold, or a kernel function leaves with its row, the fit is made
//! again. Where all of this would take too long the formula stands unchecked.

use rayon::prelude::*;

use super::{Features, LassoSettings, LinearSolution, check, lasso, least_squares, observed_tikhonov};
use crate::base::error::{Error, Result};
use crate::linalg::{Eigen, Matrix, eigen, multiply, multiply_by_transposed, multiply_transposed, side_by_side};
use crate::term::criterion::Folds;
use crate::term::penalty::Gamma;
use crate::term::penalty::Penalty;

/// A problem and its solution at λ.
pub(crate) struct Solved<'a> {
    pub x: &'a Features,
    pub y: &'a [f64],
    pub weights: Option<&'a [f64]>,
    pub offset: bool,
    pub penalty: &'a Penalty,
    pub lambda: f64,
    pub solution: &'a LinearSolution,
}

/// Rows × columns of the matrices that are decomposed, at most.
const MOST: usize = 1 << 27;
/// Eigenvalues that are rounding, as a share of the largest.
const ROUNDING: f64 = 1e-13;

/// Multiplications of all checks together, at most.
const MOST_WORK: usize = 1 << 31;
/// What a correlation may exceed λ by, as a share of it: solutions are not closer.
const ROOM: f64 = 1e-6;

/// Residuals without the row, and whether all of them are those of refits.
pub(crate) struct LeftOut {
    pub residuals: Vec<f64>,
    pub is_exact: bool,
}

/// The penalty on the columns that take part: ℓ₁ share with its signs, ℓ₂ share with ΓᵀΓ.
struct Part {
    /// The columns, and one of ones for an offset, which nothing penalises.
    x: Matrix,
    /// ℓ·signs, 0 for the offset.
    pull: Vec<f64>,
    /// ΓᵀΓ, bordered by zeros for the offset.
    square: Matrix,
}

impl Solved<'_> {
    /// yᵢ − f₋ᵢ(xᵢ) − b₋ᵢ for every row.
    pub fn residuals(&self, go_on: &(dyn Fn() -> bool + Sync)) -> Result<LeftOut> {
        let part = self.part()?;
        let formula = Formula::new(self, &part)?;
        let is_lasso = matches!(self.penalty, Penalty::Lasso | Penalty::ElasticNet { .. } | Penalty::KernelLasso);
        let work = self.y.len().saturating_mul(self.x.stored());
        if !is_lasso || work > MOST_WORK {
            let residuals = (0..self.y.len()).map(|row| Ok(formula.without(row)?.residual)).collect::<Result<_>>()?;
            return Ok(LeftOut { residuals, is_exact: !is_lasso });
        }
        let one = |row: usize| match formula.without(row) {
            _ if !go_on() => Err(Error::Interrupted),
            Ok(found) if self.still_holds(&part, &found, row) => Ok(found.residual),
            _ => side_by_side(|| self.refitted(row, go_on)),
        };
        let residuals = (0..self.y.len()).into_par_iter().map(one).collect::<Result<_>>()?;
        Ok(LeftOut { residuals, is_exact: true })
    }

    /// Whether coefficients that were found on the active columns minimise over all columns without the row.
    fn still_holds(&self, part: &Part, found: &Without, row: usize) -> bool {
        if *self.penalty == Penalty::KernelLasso && self.solution.coefficients[row] != 0.0 {
            return false;
        }
        let keeps_signs = part.pull.iter().zip(&found.coefficients).all(|(pull, w)| pull * w >= 0.0);
        if !keeps_signs {
            return false;
        }
        let weight = |i: usize| if i == row { 0.0 } else { self.weights.map_or(1.0, |w| w[i]) };
        let value = |i: usize| -> f64 { (0..part.x.cols()).map(|k| part.x.get(i, k) * found.coefficients[k]).sum() };
        let pulls: Vec<f64> = (0..self.y.len()).map(|i| weight(i) * (self.y[i] - value(i))).collect();
        let left: f64 = (0..self.y.len()).map(weight).sum();
        let ratio = if let Penalty::ElasticNet { ratio } = self.penalty { *ratio } else { 1.0 };
        let most = self.lambda * ratio * left * (1.0 + ROOM);
        let is_kernel = *self.penalty == Penalty::KernelLasso;
        let correlations = self.x.multiply_transposed(&pulls);
        let mut inactive = correlations.iter().zip(&self.solution.coefficients).enumerate();
        // A kernel function that leaves with its row has no say.
        inactive.all(|(j, (pull, w))| *w != 0.0 || is_kernel && j == row || 2.0 * pull.abs() <= most)
    }

    /// The same by fits without each fold.
    pub fn residuals_without(&self, folds: &Folds, go_on: &(dyn Fn() -> bool + Sync)) -> Result<LeftOut> {
        let of_fold = |held: &Vec<usize>| match go_on() {
            true => side_by_side(|| self.without(held, go_on)),
            false => Err(Error::Interrupted),
        };
        let found: Vec<Vec<f64>> = folds.groups.par_iter().map(of_fold).collect::<Result<_>>()?;
        let mut residuals = vec![0.0; self.y.len()];
        for (held, found) in folds.groups.iter().zip(found) {
            held.iter().zip(found).for_each(|(row, e)| residuals[*row] = e);
        }
        Ok(LeftOut { residuals, is_exact: true })
    }

    fn refitted(&self, row: usize, go_on: &(dyn Fn() -> bool + Sync)) -> Result<f64> {
        Ok(self.without(&[row], go_on)?[0])
    }

    /// Residuals of some rows by the fit to the others.
    fn without(&self, held: &[usize], go_on: &(dyn Fn() -> bool + Sync)) -> Result<Vec<f64>> {
        let mut is_held = vec![false; self.y.len()];
        held.iter().for_each(|row| is_held[*row] = true);
        let kept: Vec<usize> = (0..self.y.len()).filter(|row| !is_held[*row]).collect();
        let (x, own) = (self.x.select_rows(&kept), self.x.select_rows(held));
        let (x, own) = match (self.penalty, x, own) {
            (Penalty::KernelLasso, Features::Dense(x), Features::Dense(own)) => {
                let columns =
                    |x: &Matrix| Features::Dense(Matrix::from_fn(x.rows(), kept.len(), |i, k| x.get(i, kept[k])));
                (columns(&x), columns(&own))
            }
            (_, x, own) => (x, own),
        };
        let pick = |values: &[f64]| kept.iter().map(|i| values[*i]).collect::<Vec<f64>>();
        let weights = self.weights.map(pick);
        let ratio = if let Penalty::ElasticNet { ratio } = self.penalty { *ratio } else { 1.0 };
        let (offset, dof) = (self.offset, false);
        let settings = LassoSettings { offset, ratio, tolerance: 1e-10, dof, go_on, ..LassoSettings::default() };
        let y = pick(self.y);
        let predicted = match self.penalty {
            Penalty::None => {
                let fit = least_squares(&x, &y, weights.as_deref(), offset)?;
                own.multiply(&fit.coefficients).into_iter().map(|value| value + fit.intercept).collect()
            }
            Penalty::Tikhonov { gamma } => {
                observed_tikhonov(&x, &y, weights.as_deref(), self.lambda, gamma, offset, go_on)?.predict(&own)?
            }
            _ => lasso(&x, &y, weights.as_deref(), self.lambda, &settings)?.predict(&own)?,
        };
        Ok(held.iter().zip(predicted).map(|(row, value)| self.y[*row] - value).collect())
    }

    fn part(&self) -> Result<Part> {
        let p = self.x.cols();
        let (columns, absolute, squared) = match self.penalty {
            Penalty::Lasso | Penalty::KernelLasso => (self.active(), 1.0, 0.0),
            Penalty::ElasticNet { ratio } => (self.active(), *ratio, 1.0 - ratio),
            Penalty::Tikhonov { gamma: Gamma::Identity } if p > self.x.rows() => return self.wide_ridge(),
            _ => ((0..p).collect(), 0.0, 1.0),
        };
        let count = columns.len();
        check_size(self.y.len(), count + 1)?;
        check_size(count + 1, count + 1)?;
        let chosen = match self.x {
            Features::Dense(x) => Matrix::from_fn(x.rows(), count, |i, k| x.get(i, columns[k])),
            Features::Sparse(x) => x.select_cols(&columns).to_dense(),
        };
        let square = match self.penalty {
            Penalty::Tikhonov { gamma } => {
                let gamma = gamma.matrix(p)?;
                multiply_transposed(&gamma, &gamma)
            }
            _ => Matrix::from_fn(count, count, |k, l| if k == l { squared } else { 0.0 }),
        };
        let pull = columns.iter().map(|j| absolute * self.solution.coefficients[*j].signum()).collect();
        Ok(self.with_offset(chosen, pull, &square))
    }

    fn active(&self) -> Vec<usize> {
        let w = &self.solution.coefficients;
        (0..w.len()).filter(|j| w[*j] != 0.0).collect()
    }

    /// Ridge with more columns than rows: XXᵀ = U S Uᵀ, so U√S are as good as X, and n columns.
    fn wide_ridge(&self) -> Result<Part> {
        let n = self.x.rows();
        check_size(n, n)?;
        // Centred first, where there is an offset: what all rows share would drown the rest.
        let means = if self.offset { self.x.means(self.weights) } else { vec![0.0; self.x.cols()] };
        let square = match self.x {
            Features::Dense(x) => {
                let centred = Matrix::from_fn(n, x.cols(), |i, j| x.get(i, j) - means[j]);
                multiply_by_transposed(&centred, &centred)
            }
            Features::Sparse(x) => {
                let (along, own) = (x.multiply(&means), means.iter().map(|mean| mean * mean).sum::<f64>());
                let square = x.square_of_rows();
                Matrix::from_fn(n, n, |i, j| if i >= j { square.get(i, j) - along[i] - along[j] + own } else { 0.0 })
            }
        };
        let Eigen { values, vectors, .. } = eigen(square)?;
        let columns = Matrix::from_fn(n, n, |i, k| vectors.get(i, k) * values[k].max(0.0).sqrt());
        let one = Matrix::from_fn(n, n, |k, l| f64::from(k == l));
        Ok(self.with_offset(columns, vec![0.0; n], &one))
    }

    fn with_offset(&self, x: Matrix, mut pull: Vec<f64>, square: &Matrix) -> Part {
        if !self.offset {
            return Part { x, pull, square: square.clone() };
        }
        // Centred, which the offset makes up for: large means would drown the rest.
        let count = x.cols();
        let weight = |i: usize| self.weights.map_or(1.0, |w| w[i]);
        let total: f64 = (0..x.rows()).map(weight).sum();
        let mean = |k: usize| x.col(k).iter().enumerate().map(|(i, x)| weight(i) * x).sum::<f64>() / total;
        let means: Vec<f64> = (0..count).map(mean).collect();
        pull.push(0.0);
        let bordered = |k: usize, l: usize| if k.max(l) < count { square.get(k, l) } else { 0.0 };
        Part {
            square: Matrix::from_fn(count + 1, count + 1, bordered),
            x: Matrix::from_fn(x.rows(), count + 1, |i, k| if k < count { x.get(i, k) - means[k] } else { 1.0 }),
            pull,
        }
    }
}

/// The fits without a row as if nothing else changed.
struct Formula<'a> {
    solved: &'a Solved<'a>,
    basis: Basis,
    z: Matrix,
    towards: Vec<f64>,
    against: Vec<f64>,
    total: f64,
}

/// One of them.
struct Without {
    residual: f64,
    /// Of the columns of the part, the offset last.
    coefficients: Vec<f64>,
}

impl<'a> Formula<'a> {
    fn new(solved: &'a Solved<'a>, part: &Part) -> Result<Self> {
        let total = check(solved.x, solved.y, solved.weights)?;
        let weight = |i: usize| solved.weights.map_or(1.0, |w| w[i]);
        let weighted = Matrix::from_fn(part.x.rows(), part.x.cols(), |i, k| weight(i) * part.x.get(i, k));
        let rows_square = multiply_transposed(&weighted, &part.x);
        let basis = common_basis(&rows_square, &part.square, solved.lambda * total)?;
        let pulled = multiply_transposed(&weighted, &column(solved.y));
        Ok(Formula {
            z: multiply(&part.x, &basis.vectors),
            towards: multiply_transposed(&basis.vectors, &pulled).into_vec(),
            against: multiply_transposed(&basis.vectors, &column(&part.pull)).into_vec(),
            solved,
            basis,
            total,
        })
    }

    fn without(&self, row: usize) -> Result<Without> {
        let own = self.solved.weights.map_or(1.0, |w| w[row]);
        let (left, lambda) = (self.total - own, self.solved.lambda);
        let sizes: Vec<f64> = self.basis.shares.iter().map(|c| c + left / self.total * (1.0 - c)).collect();
        let along = |k: usize, v: f64| if sizes[k] > 0.0 { v / sizes[k] } else { 0.0 };
        let mut turned: Vec<f64> =
            (0..sizes.len()).map(|k| along(k, self.towards[k] - 0.5 * lambda * left * self.against[k])).collect();
        let (mut value, mut leverage) = (0.0, 0.0);
        for (k, share) in turned.iter().enumerate() {
            let z = self.z.get(row, k);
            value += z * share;
            leverage += along(k, own * z * z);
        }
        if left <= 0.0 || leverage > 1.0 - 1e-9 {
            let must = "determined without any one of its rows, for leave-one-out in double precision";
            let got = format!("row {}, which alone determines a part of it: a larger λ is needed", row + 1);
            return Err(Error::argument("the fit", must, got));
        }
        let residual = (self.solved.y[row] - value) / (1.0 - leverage);
        turned.iter_mut().enumerate().for_each(|(k, share)| *share -= along(k, own * residual * self.z.get(row, k)));
        Ok(Without { residual, coefficients: multiply(&self.basis.vectors, &column(&turned)).into_vec() })
    }
}

/// Coordinates in which one square is diag(shares) and the other, times its unit, diag(1 − shares). Without a unit all shares are 1.
struct Basis {
    vectors: Matrix,
    shares: Vec<f64>,
}

fn common_basis(first: &Matrix, second: &Matrix, unit: f64) -> Result<Basis> {
    let size = first.rows();
    let sum = |k: usize, l: usize| first.get(k, l) + unit * second.get(k, l);
    // Columns of one length: those of small numbers count as much as those of large ones.
    let length = |k: usize| Some(sum(k, k).sqrt()).filter(|length| *length > 0.0).unwrap_or(1.0);
    let lengths: Vec<f64> = (0..size).map(length).collect();
    let Eigen { values, vectors, .. } = eigen(Matrix::from_fn(size, size, |k, l| sum(k, l) / lengths[k] / lengths[l]))?;
    let largest = values.iter().fold(0.0, |max: f64, v| max.max(*v));
    // Directions that neither square sees move nothing.
    let kept: Vec<usize> = (0..size).filter(|k| values[*k] > ROUNDING * largest).collect();
    let scaled =
        Matrix::from_fn(size, kept.len(), |i, k| vectors.get(i, kept[k]) / values[kept[k]].sqrt() / lengths[i]);
    let inner = multiply_transposed(&scaled, &multiply(first, &scaled));
    let Eigen { values: shares, vectors: turned, .. } = eigen(inner)?;
    Ok(Basis { vectors: multiply(&scaled, &turned), shares: shares.into_iter().map(|c| c.clamp(0.0, 1.0)).collect() })
}

fn column(values: &[f64]) -> Matrix {
    Matrix::column_vector(values.to_vec())
}

fn check_size(rows: usize, columns: usize) -> Result<()> {
    if rows.saturating_mul(columns) <= MOST {
        return Ok(());
    }
    let must = format!("one that is decomposed, of at most {MOST} entries, for leave-one-out");
    Err(Error::argument("the matrix", must, format!("{rows} × {columns}")))
}
