//! Exact held-out errors for every exponent: nothing is approximated, since each deletion finds its own effective ridge. Rows and
//! folds are deleted from the decomposition of all rows; folds of many rows are decomposed anew where that is less work.

use rayon::prelude::*;

use crate::base::error::{Error, Result};
use crate::linalg::Matrix;
use crate::path::interpolation::Lanes;
use crate::path::power;
use crate::path::row_tables::MANY_ROWS;
use crate::path::{
    DeletedGroup, FormTarget, Grid, PartOfRows, Remembered, RowTables, Spectrum, Tabulated, Target, TridiagonalForm,
};
use crate::term::criterion::Folds;

/// Leave-one-out residuals yᵢ − f₋ᵢ(xᵢ) − b₋ᵢ and their weighted mean square; where rows have groups, leave-one-group-out.
#[derive(Debug, Clone, PartialEq)]
pub struct LeaveOneOut {
    /// One per training row.
    pub residuals: Vec<f64>,
    /// (1/W) Σ w e².
    pub mse: f64,
    /// Where rows have groups: their number. Every row is then left out together with its group.
    pub groups: Option<usize>,
}

impl LeaveOneOut {
    pub(crate) fn new(residuals: Vec<f64>, weights: Option<&[f64]>) -> Self {
        let root = |i: usize| weights.map_or(1.0, |w| w[i].sqrt());
        let scaled: Vec<f64> = residuals.iter().enumerate().map(|(i, e)| root(i) * e).collect();
        let total = weights.map_or(residuals.len() as f64, |w| w.iter().sum());
        let size = crate::linalg::norm(&scaled) / total.sqrt();
        LeaveOneOut { mse: size * size, residuals, groups: None }
    }

    /// The same for residuals of fits without whole groups.
    pub(crate) fn of_groups(residuals: Vec<f64>, weights: Option<&[f64]>, groups: usize) -> Self {
        LeaveOneOut { groups: Some(groups), ..LeaveOneOut::new(residuals, weights) }
    }

    /// The distance within which this share of the rows is predicted by the fits without them.
    pub fn within(&self, share: f64) -> f64 {
        within_share(&self.residuals, share)
    }

    /// The root of the mean square.
    pub fn rmse(&self) -> f64 {
        self.mse.sqrt()
    }
}

fn within_share(residuals: &[f64], share: f64) -> f64 {
    let mut sizes: Vec<f64> = residuals.iter().map(|e| e.abs()).collect();
    sizes.sort_unstable_by(f64::total_cmp);
    let place = (share * sizes.len() as f64 - 1e-9).ceil().max(1.0) as usize;
    sizes.get(place - 1).or(sizes.last()).copied().unwrap_or(f64::NAN)
}

/// Leave-one-out residuals of the m-power problem, for each of several λ (best in rising order: each row's
/// ridge is then a good guess for its next one) and each of the targets, which share one effective ridge.
/// `None` with a single row and an offset: nothing would be left to learn from.
///
/// Result: `[λ][target][row]`.
pub fn leave_one_out(
    spectrum: &Spectrum,
    targets: &[&Target],
    exponent: f64,
    log_lambdas: &[f64],
) -> Option<Vec<Vec<Vec<f64>>>> {
    let mut found = leave_one_out_unclipped(spectrum, targets, exponent, log_lambdas)?;
    for (target, residuals) in found.iter_mut().flat_map(|one| targets.iter().zip(one)) {
        if let Some(clip) = &target.clip {
            clip.keep_rows(residuals);
        }
    }
    Some(found)
}

fn leave_one_out_unclipped(
    spectrum: &Spectrum,
    targets: &[&Target],
    exponent: f64,
    log_lambdas: &[f64],
) -> Option<Vec<Vec<Vec<f64>>>> {
    // A deletion moves the ridge a little: that of all rows is where to begin.
    let start = log_lambdas
        .first()
        .and_then(|log_lambda| power::minimise(&mut spectrum.path(targets), exponent, *log_lambda, None).log_ridge);
    if let ([log_lambda], Some(start)) = (log_lambdas, start)
        && let Some(found) = leave_one_out_of_many(spectrum, targets, exponent, *log_lambda, start)
    {
        return Some(vec![found]);
    }
    let rows = spectrum.for_each_deleted_row(targets, |mut row| {
        if !row.has_others() {
            return vec![row.residuals(None); log_lambdas.len()];
        }
        let mut guess = start;
        let mut remembered = Remembered::new(&mut row);
        log_lambdas
            .iter()
            .map(|log_lambda| {
                let minimum = power::minimise(&mut remembered, exponent, *log_lambda, guess);
                guess = minimum.log_ridge;
                remembered.curve().residuals(minimum.log_ridge)
            })
            .collect::<Vec<Vec<f64>>>()
    })?;
    let by_lambda = (0..log_lambdas.len())
        .map(|l| (0..targets.len()).map(|t| rows.iter().map(|row| row[l][t]).collect()).collect());
    Some(by_lambda.collect())
}

/// The same for many rows at one λ and an exponent from 1 on, by products: `[target][row]`. Deletions have ridges near that of all rows, and are read from
/// tables that are dense there. `None` where that is not so.
fn leave_one_out_of_many(
    spectrum: &Spectrum,
    targets: &[&Target],
    exponent: f64,
    log_lambda: f64,
    log_ridge: f64,
) -> Option<Vec<Vec<f64>>> {
    if spectrum.rows() < MANY_ROWS || exponent < 1.0 {
        return None;
    }
    let log_gamma = log_ridge + libm::log(spectrum.weight_sum());
    residuals_near(&spectrum.tabulate_rows_near(targets, log_gamma)?, exponent, log_lambda)
}

/// Residuals `[target][row]` of all deletions from tables around the ridge of all rows. `None` where a deletion's ridge lies beyond them.
fn residuals_near(tables: &RowTables, exponent: f64, log_lambda: f64) -> Option<Vec<Vec<f64>>> {
    let blocks: Vec<Vec<Lanes>> =
        tables.blocks.par_iter().map(|block| tables.errors_inside(block, exponent, log_lambda)).collect();
    let mut residuals = vec![Vec::new(); tables.targets];
    for (block, errors) in tables.blocks.iter().zip(&blocks) {
        for (residuals, errors) in residuals.iter_mut().zip(errors) {
            residuals.extend((0..block.rows).map(|l| errors[l] / block.weight[l].sqrt()));
        }
    }
    residuals.iter().flatten().all(|e| e.is_finite()).then_some(residuals)
}

/// Held-out residuals of some of the rows: of those that forward chaining predicts.
#[derive(Debug, Clone, PartialEq)]
pub struct HeldOutRows {
    /// The rows, rising.
    pub rows: Vec<usize>,
    /// yᵢ less the prediction from earlier rows, one per row.
    pub residuals: Vec<f64>,
    /// (1/W) Σ w e² over these rows.
    pub mse: f64,
    /// Its standard error over the folds.
    pub standard_error: f64,
    /// 1 − mse/variance, the variance being that of these rows; `None` if the target does not vary there.
    pub r2: Option<f64>,
    /// The same mean square of the simplest forecast: each block by the mean of the rows that predict it.
    pub mse_of_means: f64,
    /// Number of folds.
    pub folds: usize,
}

impl HeldOutRows {
    /// From residuals `[fold][row of the fold]`.
    pub(crate) fn new(folds: &Folds, residuals: &[Vec<f64>], y: &[f64], weights: Option<&[f64]>) -> Self {
        let weight = |row: usize| weights.map_or(1.0, |w| w[row]);
        let mut all: Vec<(usize, f64)> = Vec::new();
        let (mut sum, mut total, mut first, mut squares) = (0.0, 0.0, 0.0, 0.0);
        for (held, residuals) in folds.groups.iter().zip(residuals) {
            let own: f64 = held.iter().zip(residuals).map(|(row, e)| weight(*row) * e * e).sum();
            let own_weight: f64 = held.iter().map(|row| weight(*row)).sum();
            sum += own;
            total += own_weight;
            squares += own / own_weight * own;
            first += held.iter().map(|row| weight(*row) * y[*row]).sum::<f64>();
            all.extend(held.iter().copied().zip(residuals.iter().copied()));
        }
        let (mse, mean, count) = (sum / total, first / total, folds.groups.len());
        let around = all.iter().map(|(row, _)| weight(*row) * (y[*row] - mean).powi(2)).sum::<f64>() / total;
        let standard_error = ((squares / total - mse * mse).max(0.0) / (count as f64 - 1.0).max(1.0)).sqrt();
        let r2 = (around > 1e-12 * mean * mean && around > 0.0).then(|| 1.0 - mse / around);
        all.sort_by_key(|(row, _)| *row);
        let (rows, residuals) = all.into_iter().unzip();
        let mse_of_means = folds.mse_of_means(y, weights);
        HeldOutRows { rows, residuals, mse, standard_error, r2, mse_of_means, folds: count }
    }

    /// The distance within which this share of the rows is predicted.
    pub fn within(&self, share: f64) -> f64 {
        within_share(&self.residuals, share)
    }

    /// The root of the mean square.
    pub fn rmse(&self) -> f64 {
        self.mse.sqrt()
    }
}

/// Residuals of the rows of each fold, predicted by the fit without that fold (of rows in order of time: by the fit to the earlier ones):
/// `[fold][target][row of the fold]`.
pub fn k_fold(
    spectrum: &Spectrum,
    targets: &[&Target],
    exponent: f64,
    lambda: f64,
    folds: &Folds,
) -> Result<Vec<Vec<Vec<f64>>>> {
    check(folds, spectrum.rows())?;
    if folds.is_forward() {
        let log_lambda = [libm::log(lambda)];
        let parts = parts(spectrum, targets, folds)?;
        return Ok(parts.iter().map(|part| part.residuals(exponent, &log_lambda).swap_remove(0)).collect());
    }
    let residuals = folds.groups.iter().map(|rows| {
        let mut group = DeletedGroup::new(spectrum, targets, rows);
        let minimum = power::minimise(&mut group, exponent, libm::log(lambda), None);
        let mut residuals = group.residuals(minimum.log_ridge);
        keep_group(targets, rows, &mut residuals);
        residuals
    });
    Ok(residuals.collect())
}

/// The fits to the training rows of every fold, where most rows are in none of them.
fn parts(spectrum: &Spectrum, targets: &[&Target], folds: &Folds) -> Result<Vec<PartOfRows>> {
    let part = |fold: usize| spectrum.part(targets, &folds.kept(fold, spectrum.rows()), &folds.groups[fold]);
    (0..folds.groups.len()).map(part).collect()
}

/// What a decomposition of n rows takes, in units of n³ operations of a product.
const DECOMPOSITION: f64 = 22.0;

/// Whether it is less work to decompose the rows that each fold leaves than to delete its rows at every γ of a table: a·a·r for the
/// Gram matrix of a rows and its decomposition, against b·b·r and a factorisation of b rows at every γ. Where there are fewer
/// directions than rows left, as with landmarks, deleting is cheap.
fn refits_are_cheaper(spectrum: &Spectrum, folds: &Folds, points: usize) -> bool {
    let directions = spectrum.eigenvalues().iter().take_while(|d| **d > 0.0).count() as f64;
    let (mut refits, mut deletions) = (0.0, 0.0);
    for fold in &folds.groups {
        let (held, left) = (fold.len() as f64, (spectrum.rows() - fold.len()) as f64);
        if directions < left {
            return false;
        }
        refits += left * left * (DECOMPOSITION * left + 2.0 * directions);
        deletions += points as f64 * held * held * (directions + held / 3.0);
    }
    refits < deletions
}

/// Residuals of a group's rows, `[target][row]`, with predictions kept within the range of the other rows where that is asked for.
pub(super) fn keep_group(targets: &[&Target], rows: &[usize], residuals: &mut [Vec<f64>]) {
    for (target, residuals) in targets.iter().zip(residuals) {
        if let Some(clip) = &target.clip {
            clip.keep_group(rows, residuals);
        }
    }
}

fn check(folds: &Folds, rows: usize) -> Result<()> {
    for fold in &folds.groups {
        if fold.len() >= rows || fold.is_empty() || fold.iter().any(|row| *row >= rows) {
            return Err(Error::argument(
                "a fold",
                format!("from 1 to {} of the {rows} rows, so that something is left", rows.saturating_sub(1)),
                fold.len(),
            ));
        }
    }
    Ok(())
}

/// Mean squared errors at one (m, λ).
#[derive(Debug, Clone, PartialEq)]
pub struct HeldOutError {
    /// (1/W) Σ w e², one per target.
    pub mse: Vec<f64>,
    /// Its standard error over the deletions (rows, or folds).
    pub standard_error: Vec<f64>,
}

/// Leave-one-out at exponent 2 without weights, where every deletion has the ridge (n − 1)λ.
pub(crate) fn leave_one_out_at(spectrum: &Spectrum, targets: &[&Target], log_lambdas: &[f64]) -> Vec<HeldOutError> {
    leave_one_out_of_some(spectrum, 1, targets, log_lambdas)
}

/// The same of one of `every` parts of the rows, without each of them.
pub(crate) fn leave_one_out_of_some(
    spectrum: &Spectrum,
    every: usize,
    targets: &[&Target],
    log_lambdas: &[f64],
) -> Vec<HeldOutError> {
    // With many rows some λ at a time: residuals of all would take more memory than the basis.
    let together = (RESIDUALS / spectrum.rows().max(1)).max(1);
    log_lambdas.chunks(together).flat_map(|some| leave_one_out_together(spectrum, every, targets, some)).collect()
}

/// Residuals of one target that are in memory at a time.
const RESIDUALS: usize = 1 << 22;

fn leave_one_out_together(
    spectrum: &Spectrum,
    every: usize,
    targets: &[&Target],
    log_lambdas: &[f64],
) -> Vec<HeldOutError> {
    let others = spectrum.rows() as f64 - 1.0;
    let gammas: Vec<f64> = log_lambdas.iter().map(|log_lambda| libm::exp(*log_lambda) * others).collect();
    errors_of(&spectrum.residuals_at(every, targets, &gammas))
}

/// The same on a tridiagonal form.
pub(crate) fn leave_one_out_on_form(
    form: &TridiagonalForm,
    targets: &[&FormTarget],
    log_lambdas: &[f64],
) -> Option<Vec<HeldOutError>> {
    let others = form.rows() as f64 - 1.0;
    let gammas: Vec<f64> = log_lambdas.iter().map(|log_lambda| libm::exp(*log_lambda) * others).collect();
    Some(errors_of(&form.residuals_at(targets, &gammas)?))
}

/// Residuals `[target][row]` of all single deletions at one λ and an exponent from 1 on, on a tridiagonal form, given the ridge of all
/// rows. `None` where a deletion's ridge is far from it.
pub(crate) fn leave_one_out_at_form(
    form: &TridiagonalForm,
    targets: &[&FormTarget],
    exponent: f64,
    log_lambda: f64,
    log_ridge: f64,
) -> Option<Vec<Vec<f64>>> {
    if exponent == 2.0 {
        let gamma = libm::exp(log_lambda) * (form.rows() as f64 - 1.0);
        return Some(form.residuals_at(targets, &[gamma])?.into_iter().map(Matrix::into_vec).collect());
    }
    let log_gamma = log_ridge + libm::log(form.rows() as f64);
    residuals_near(&form.tabulate_rows_near(targets, log_gamma)?, exponent, log_lambda)
}

/// Mean squares of residuals, rows × λ for every target.
fn errors_of(residuals: &[Matrix]) -> Vec<HeldOutError> {
    let n = residuals.first().map_or(0, Matrix::rows) as f64;
    (0..residuals.first().map_or(0, Matrix::cols))
        .map(|l| {
            let of = |residuals: &Matrix| {
                let squares = residuals.col(l).iter().map(|e| e * e);
                let (sum, square) = squares.fold((0.0, 0.0), |(sum, square), e| (sum + e, square + e * e));
                let mean = sum / n;
                (mean, ((square / n - mean * mean).max(0.0) / (n - 1.0).max(1.0)).sqrt())
            };
            let (mse, standard_error) = residuals.iter().map(of).unzip();
            HeldOutError { mse, standard_error }
        })
        .collect()
}

/// The curves of all deletions, from which any (m, λ) is read.
pub(crate) struct HeldOut {
    deletions: Deletions,
    /// The weight of the rows of each deletion.
    weights: Vec<f64>,
    targets: usize,
}

enum Deletions {
    Rows(Box<RowTables>),
    Groups {
        grid: Grid,
        tables: Vec<Tabulated>,
    },
    /// Fits to the training rows of each fold.
    Parts(Vec<PartOfRows>),
}

/// Sums over some deletions, one number per (m, λ) and target: of errors, and of their squares per weight.
type Sums = (Vec<f64>, Vec<f64>);

/// Spacing of the tables of folds.
const FOLD_STEP: f64 = 0.2;

impl HeldOut {
    /// All single deletions; γ from `low` to `high`, logarithms relative to the largest eigenvalue.
    /// Exponents below 1 may be asked for only if they are `below_one`.
    pub fn rows(spectrum: &Spectrum, targets: &[&Target], low: f64, high: f64, below_one: bool) -> Option<Self> {
        let deletions = Deletions::Rows(Box::new(spectrum.tabulate_rows(targets, low, high, below_one)?));
        let weights = (0..spectrum.rows()).map(|row| spectrum.weight(row)).collect();
        Some(HeldOut { deletions, weights, targets: targets.len() })
    }

    /// All single deletions on a tridiagonal form.
    pub fn rows_of_form(
        form: &TridiagonalForm,
        targets: &[&FormTarget],
        (low, high): (f64, f64),
        below_one: bool,
    ) -> Option<Self> {
        let deletions = Deletions::Rows(Box::new(form.tabulate_rows(targets, low, high, below_one)?));
        Some(HeldOut { deletions, weights: vec![1.0; form.rows()], targets: targets.len() })
    }

    /// Folds.
    pub fn folds(spectrum: &Spectrum, targets: &[&Target], folds: &Folds, low: f64, high: f64) -> Result<Self> {
        check(folds, spectrum.rows())?;
        let weights =
            folds.groups.iter().map(|rows| rows.iter().map(|row| spectrum.weight(*row)).sum()).collect::<Vec<f64>>();
        let grid = Grid::around(spectrum.largest(), low, high, FOLD_STEP);
        if folds.is_forward() || refits_are_cheaper(spectrum, folds, grid.points) {
            let deletions = Deletions::Parts(parts(spectrum, targets, folds)?);
            return Ok(HeldOut { deletions, weights, targets: targets.len() });
        }
        let tables = spectrum.tabulate_groups(targets, &folds.groups, &grid);
        Ok(HeldOut { deletions: Deletions::Groups { grid, tables }, weights, targets: targets.len() })
    }

    /// Errors for several exponents, each with several log λ in rising order: `[exponent][λ]`.
    pub fn errors(&self, asked: &[(f64, Vec<f64>)]) -> Vec<Vec<HeldOutError>> {
        // Parts are added in their order, whoever made them.
        let parts: Vec<Sums> = match &self.deletions {
            Deletions::Rows(tables) => tables
                .blocks
                .par_iter()
                .map(|block| {
                    let sums = |squares: &Lanes| squares[..block.rows].iter().sum::<f64>();
                    let squares = |squares: &Lanes| {
                        squares
                            .iter()
                            .zip(&block.weight)
                            .take(block.rows)
                            .map(|(e, weight)| e / weight * e)
                            .sum::<f64>()
                    };
                    let found = tables.squared_errors(block, asked);
                    (found.iter().map(sums).collect(), found.iter().map(squares).collect())
                })
                .collect(),
            Deletions::Groups { grid, tables } => tables
                .par_iter()
                .zip(&self.weights)
                .map(|(table, weight)| self.group(grid, table, *weight, asked))
                .collect(),
            Deletions::Parts(parts) => parts
                .par_iter()
                .zip(&self.weights)
                .map(|(part, weight)| {
                    let of = |(exponent, log_lambdas): &(f64, Vec<f64>)| part.squared_errors(*exponent, log_lambdas);
                    let sums: Vec<f64> = asked.iter().flat_map(of).collect();
                    let squares = sums.iter().map(|sum| sum / weight * sum).collect();
                    (sums, squares)
                })
                .collect(),
        };
        let total: f64 = self.weights.iter().sum();
        let count = self.weights.len() as f64;
        let mut index = 0;
        let mut next = || {
            let mean = parts.iter().map(|(sums, _)| sums[index]).sum::<f64>() / total;
            let square = parts.iter().map(|(_, squares)| squares[index]).sum::<f64>() / total;
            index += 1;
            (mean, ((square - mean * mean).max(0.0) / (count - 1.0).max(1.0)).sqrt())
        };
        let mut error = |_: &f64| {
            let (mse, standard_error) = (0..self.targets).map(|_| next()).unzip();
            HeldOutError { mse, standard_error }
        };
        asked.iter().map(|(_, log_lambdas)| log_lambdas.iter().map(&mut error).collect()).collect()
    }

    /// One group's errors.
    fn group(&self, grid: &Grid, table: &Tabulated, weight: f64, asked: &[(f64, Vec<f64>)]) -> Sums {
        let (mut sums, mut squares) = (Vec::new(), Vec::new());
        let mut errors = vec![0.0; self.targets];
        for (exponent, log_lambdas) in asked {
            let mut cell = 0;
            let ridges: Vec<Option<f64>> = if *exponent >= 1.0 {
                let near = |log_lambda: &f64| table.minimiser_near(grid, *exponent, *log_lambda, &mut cell);
                log_lambdas.iter().map(near).collect()
            } else {
                table.minimisers(grid, *exponent, log_lambdas)
            };
            for log_gamma in ridges {
                table.squared_errors(grid, log_gamma, &mut errors);
                sums.extend(&errors);
                squares.extend(errors.iter().map(|error| error / weight * error));
            }
        }
        (sums, squares)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Points;
    use crate::space;
    use crate::term::criterion::FoldRule;
    use crate::term::kernel::radial::Laplace;

    /// Few large folds are decomposed, many small ones deleted; both are refits.
    #[test]
    fn folds_that_are_decomposed_have_the_errors_of_deleted_ones() {
        let n = 90;
        let x = Matrix::from_fn(n, 2, |i, j| libm::sin(1.7 * (i * (j + 2)) as f64));
        let y: Vec<f64> = (0..n).map(|i| libm::cos(2.0 * x.get(i, 0)) + 0.3 * libm::sin(9.0 * i as f64)).collect();
        let gram = space::gram(&Laplace::lengthscale(0.8), &Points::new(&x));
        let spectrum = Spectrum::from_gram(gram, None, true).unwrap();
        let target = spectrum.target(&y).unwrap();
        let targets = [&target];
        for (count, is_refitted) in [(2, true), (3, true), (30, false)] {
            let folds = Folds::draw(&FoldRule::random(count), n, None, 1).unwrap();
            let found = HeldOut::folds(&spectrum, &targets, &folds, -25.0, 3.0).unwrap();
            assert_eq!(matches!(found.deletions, Deletions::Parts(_)), is_refitted, "{count}");
            let (low, high) = (-14.0, -2.0);
            let log_lambdas: Vec<f64> = (0..7).map(|l| low + (high - low) * f64::from(l) / 6.0).collect();
            let asked = [(1.0, log_lambdas.clone()), (1.5, log_lambdas.clone()), (2.0, log_lambdas.clone())];
            let errors = found.errors(&asked);
            for ((exponent, log_lambdas), errors) in asked.iter().zip(&errors) {
                for (log_lambda, error) in log_lambdas.iter().zip(errors) {
                    let one = k_fold(&spectrum, &targets, *exponent, libm::exp(*log_lambda), &folds).unwrap();
                    let mse = one.iter().flat_map(|fold| &fold[0]).map(|e| e * e).sum::<f64>() / n as f64;
                    assert!(
                        (error.mse[0] / mse - 1.0).abs() < 1e-8,
                        "{count} {exponent} {log_lambda}: {error:?} {mse}"
                    );
                }
            }
        }
    }

    /// Many rows go by tables around the chosen ridge; two λ at once go row by row.
    #[test]
    fn many_rows_have_the_residuals_of_deletions_one_by_one() {
        let rows = MANY_ROWS + 37;
        let place = |i: usize| ((i * 7919) % rows) as f64 / rows as f64;
        let x = Matrix::from_fn(rows, 8, |i, j| libm::cos(3.1 * (j + 1) as f64 * place(i)) / (1 + j * j) as f64);
        let noise = |i: usize| ((i * 104_729) % 1009) as f64 / 1009.0 - 0.5;
        let y: Vec<f64> = (0..rows).map(|i| libm::sin(9.0 * place(i)) + noise(i)).collect();
        let weights: Vec<f64> = (0..rows).map(|i| 0.5 + (i % 7) as f64).collect();
        for weights in [None, Some(&weights[..])] {
            let spectrum = Spectrum::from_factor(x.clone(), weights, true).unwrap();
            let target = spectrum.target(&y).unwrap();
            for (exponent, log_lambda) in [(1.0, -6.0), (1.5, -9.0), (2.0, -12.0), (2.5, -14.0)] {
                let together = leave_one_out(&spectrum, &[&target], exponent, &[log_lambda]).unwrap();
                let start = power::minimise(&mut spectrum.path(&[&target]), exponent, log_lambda, None).log_ridge;
                assert!(leave_one_out_of_many(&spectrum, &[&target], exponent, log_lambda, start.unwrap()).is_some());
                let one_by_one = leave_one_out(&spectrum, &[&target], exponent, &[log_lambda, 0.0]).unwrap();
                let worst =
                    together[0][0].iter().zip(&one_by_one[0][0]).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
                assert!(worst < 1e-11, "exponent {exponent}: {worst:e}");
            }
        }
    }
}
