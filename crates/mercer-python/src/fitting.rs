//! The front door: the settings of a class become one [`Fit`].

use std::sync::Arc;
use std::time::Duration;

use mercer::learn::{ClassWeights, ManyClasses};
use mercer::linear::Sparse;
use mercer::penalty::Gamma;
use mercer::penalty::Penalty;
use mercer::{Error, Fit, Matrix, Result, range};
use numpy::{PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;

use crate::model::Model;
use crate::refusal::refused;
use crate::settings::{Choosing, Columns, LossSettings, Reading, Size};
use crate::source::{Source, SparseRows};
use crate::table::Table;
use crate::work::run;

/// What a class minimises, with the settings that only such a problem has.
enum Problem {
    /// (1/W) Σ w (y − f(x) − b)² + λ‖f‖ᵐ.
    Power { diagnostics: bool },
    /// (1/W) Σ w ℓ(y, f(x) + b) + λ‖f‖ᵐ.
    Loss(LossSettings),
    /// Linear functions and kernel expansions with another penalty, to a relative duality gap.
    Penalty(Penalty, f64),
    /// Kernel families, metric, exponent and λ within a number of seconds.
    Search { budget: f64 },
}

/// A switch of a fit.
type Switch = fn(Fit) -> Fit;

fn switched(fit: Fit, switches: &[(bool, Switch)]) -> Fit {
    switches.iter().filter(|(is_on, _)| *is_on).fold(fit, |fit, (_, switch)| switch(fit))
}

fn set<T>(fit: Fit, value: Option<T>, setting: impl FnOnce(Fit, T) -> Fit) -> Fit {
    match value {
        Some(value) => setting(fit, value),
        None => fit,
    }
}

/// The fit that a class asks for.
fn fit_of(problem: Problem, reading: &Reading, choosing: &Choosing, size: &Size) -> Result<Fit> {
    let in_kernels =
        || -> Result<Fit> { Ok(Fit::linear().kernels(choosing.kernels()?).exponents(&choosing.exponents)) };
    // The search standardises by itself.
    let is_search = matches!(problem, Problem::Search { .. });
    let scale = reading.scale()?.filter(|_| !is_search);
    let fit = match problem {
        Problem::Power { diagnostics } => switched(in_kernels()?, &[(!diagnostics, Fit::without_diagnostics)]),
        Problem::Loss(loss) => {
            let losses: Vec<_> = loss.losses.iter().map(|spec| range::losses(spec)).collect::<Result<_>>()?;
            let fit = in_kernels()?.losses(losses.concat()).tolerance(loss.tolerance);
            let multinomial: Switch = |fit| fit.many_classes(ManyClasses::Multinomial);
            let fit = match &loss.class_weights[..] {
                [] => fit,
                weights => fit.class_weights(ClassWeights::Named(weights.to_vec())),
            };
            let switches = [
                (loss.multinomial, multinomial),
                (loss.probabilities, Fit::with_probabilities),
                (loss.non_crossing, Fit::non_crossing),
            ];
            switched(fit, &switches)
        }
        Problem::Penalty(penalty, tolerance) => {
            let fit = match penalty {
                Penalty::KernelLasso => Fit::with_shared(choosing.only_kernel()?),
                _ => Fit::linear(),
            };
            fit.penalty(penalty).tolerance(tolerance)
        }
        Problem::Search { budget } => {
            let time = Duration::try_from_secs_f64(budget).ok().filter(|time| !time.is_zero());
            let time = time.ok_or_else(|| Error::argument("budget", "a number of seconds above 0", budget))?;
            Fit::automatic().budget(time).exponents(&choosing.exponents)
        }
    };
    let fit = fit.missing(reading.missing()?).text_as(reading.text_as()?).seed(reading.seed);
    let fit = set(fit, choosing.lambdas.as_deref(), Fit::lambdas);
    let fit = set(fit, choosing.criterion()?, Fit::criterion);
    let fit = set(fit, scale, Fit::scale);
    let fit = set(fit, reading.memory, Fit::memory);
    let switches: [(bool, Switch); 4] = [
        (!reading.offset, Fit::without_offset),
        (choosing.on_grid, Fit::on_grid),
        (choosing.one_standard_error, Fit::one_standard_error),
        (choosing.clip, Fit::clip),
    ];
    size.told_to(switched(fit, &switches))
}

/// Fits a table.
fn fit_table(py: Python<'_>, table: &Table, columns: &Columns, fit: Result<Fit>) -> PyResult<Model> {
    let (fit, frame, roles) = (fit.map_err(refused)?, table.frame(), columns.to_roles());
    run(py, move |observer| {
        let fitted = fit.clone().observer(observer).fit_frame(&frame, &roles)?;
        Ok(Model::new(fitted, Source::Table(frame, roles, Box::new(fit))))
    })
}

/// The squared loss in kernel spaces.
#[pyfunction]
pub fn fit_power(
    py: Python<'_>,
    table: &Table,
    columns: Columns,
    reading: Reading,
    choosing: Choosing,
    size: Size,
    diagnostics: bool,
) -> PyResult<Model> {
    fit_table(py, table, &columns, fit_of(Problem::Power { diagnostics }, &reading, &choosing, &size))
}

/// Other losses.
#[pyfunction]
pub fn fit_loss(
    py: Python<'_>,
    table: &Table,
    columns: Columns,
    reading: Reading,
    choosing: Choosing,
    loss: LossSettings,
) -> PyResult<Model> {
    fit_table(py, table, &columns, fit_of(Problem::Loss(loss), &reading, &choosing, &Size::default()))
}

/// Other penalties.
#[pyfunction]
#[pyo3(signature = (table, columns, reading, choosing, penalty, gamma, tolerance))]
#[expect(clippy::too_many_arguments, reason = "one for each part of the problem")]
pub fn fit_linear(
    py: Python<'_>,
    table: &Table,
    columns: Columns,
    reading: Reading,
    choosing: Choosing,
    penalty: &str,
    gamma: Option<PyReadonlyArray2<'_, f64>>,
    tolerance: f64,
) -> PyResult<Model> {
    fit_table(py, table, &columns, linear(&reading, &choosing, penalty, gamma, tolerance))
}

/// The same for rows of which only what is not zero is stored: `starts`, `places` and `values` of a CSR matrix.
#[pyfunction]
#[pyo3(signature = (width, starts, places, values, y, weights, groups, reading, choosing, penalty, gamma, tolerance))]
#[expect(clippy::too_many_arguments, reason = "a CSR matrix is three arrays and a width")]
pub fn fit_sparse(
    py: Python<'_>,
    width: usize,
    starts: PyReadonlyArray1<'_, i64>,
    places: PyReadonlyArray1<'_, i64>,
    values: PyReadonlyArray1<'_, f64>,
    y: PyReadonlyArray2<'_, f64>,
    weights: Option<PyReadonlyArray1<'_, f64>>,
    groups: Option<Vec<u32>>,
    reading: Reading,
    choosing: Choosing,
    penalty: &str,
    gamma: Option<PyReadonlyArray2<'_, f64>>,
    tolerance: f64,
) -> PyResult<Model> {
    let fit = linear(&reading, &choosing, penalty, gamma, tolerance).map_err(refused)?;
    let numbers = |array: &PyReadonlyArray1<'_, i64>| -> Result<Vec<usize>> {
        let place = |x: &i64| usize::try_from(*x).map_err(|_| Error::argument("a place", "at least 0", *x));
        array.as_array().iter().map(place).collect()
    };
    let (starts, places) = (numbers(&starts).map_err(refused)?, numbers(&places).map_err(refused)?);
    let values: Vec<f64> = values.as_array().iter().copied().collect();
    let y = matrix(&y);
    let weights: Option<Vec<f64>> = weights.map(|weights| weights.as_array().iter().copied().collect());
    run(py, move |observer| {
        let rows = SparseRows { x: sparse(width, &starts, &places, &values)?, y, weights, groups };
        let fitted = rows.fit(&fit.clone().observer(observer))?;
        Ok(Model::new(fitted, Source::Sparse(Arc::new(rows), Box::new(fit))))
    })
}

/// A CSR matrix whose parts are checked against each other.
fn sparse(width: usize, starts: &[usize], places: &[usize], values: &[f64]) -> Result<Sparse> {
    let is_whole = starts.first() == Some(&0)
        && starts.last() == Some(&places.len())
        && places.len() == values.len()
        && starts.is_sorted();
    if !is_whole {
        return Err(Error::argument("a CSR matrix", "one whose parts fit together", "parts of other lengths"));
    }
    let row = |ends: &[usize]| -> Vec<(usize, f64)> { (ends[0]..ends[1]).map(|at| (places[at], values[at])).collect() };
    let rows: Vec<Vec<(usize, f64)>> = starts.windows(2).map(row).collect();
    Sparse::from_rows(width, &rows)
}

fn linear(
    reading: &Reading,
    choosing: &Choosing,
    penalty: &str,
    gamma: Option<PyReadonlyArray2<'_, f64>>,
    tolerance: f64,
) -> Result<Fit> {
    let penalty = match gamma {
        Some(gamma) => Penalty::Tikhonov { gamma: Gamma::Matrix(matrix(&gamma)) },
        None => Penalty::parse(penalty)?,
    };
    fit_of(Problem::Penalty(penalty, tolerance), reading, choosing, &Size::default())
}

/// Everything searched.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "one for each part of the problem")]
pub fn fit_automatic(
    py: Python<'_>,
    table: &Table,
    columns: Columns,
    reading: Reading,
    exponents: Vec<f64>,
    size: Size,
    budget: f64,
    clip: bool,
) -> PyResult<Model> {
    let choosing = Choosing { exponents, clip, ..Choosing::default() };
    fit_table(py, table, &columns, fit_of(Problem::Search { budget }, &reading, &choosing, &size))
}

/// An array as a matrix of the core.
pub fn matrix(array: &PyReadonlyArray2<'_, f64>) -> Matrix {
    let x = array.as_array();
    Matrix::from_fn(x.nrows(), x.ncols(), |i, j| x[[i, j]])
}
