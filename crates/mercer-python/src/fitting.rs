//! The front doors.

use std::sync::Arc;
use std::time::Duration;

use mercer::learn::{ClassWeights, ManyClasses};
use mercer::linear::Sparse;
use mercer::penalty::Gamma;
use mercer::penalty::Penalty;
use mercer::{Automatic, Error, Fit, Learn, LinearFit, Matrix, Result, kernel, range};
use numpy::{PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;

use crate::found::Found;
use crate::model::Model;
use crate::refusal::refused;
use crate::settings::{Choosing, Columns, LossSettings, Reading, Size};
use crate::source::{Source, SparseRows};
use crate::table::Table;
use crate::work::run;

/// (1/W) Σ w (y − f(x) − b)² + λ‖f‖ᵐ.
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
    let fit = power(&reading, &choosing, &size, diagnostics).map_err(refused)?;
    let (frame, roles) = (table.frame(), columns.to_roles());
    run(py, move |observer| {
        let fitted = fit.observer(observer).fit_frame(&frame, &roles)?;
        let found = Found::of_power(&fitted);
        Ok(Model::new(fitted.model, found, Source::Power(frame, roles)))
    })
}

fn power(reading: &Reading, choosing: &Choosing, size: &Size, diagnostics: bool) -> Result<Fit> {
    let mut fit = Fit::new(kernel::product::Linear)
        .kernels(choosing.kernels()?)
        .exponents(&choosing.exponents)
        .missing(reading.missing()?)
        .text_as(reading.text_as()?)
        .seed(reading.seed);
    if let Some(lambdas) = &choosing.lambdas {
        fit = fit.lambdas(lambdas);
    }
    if let Some(criterion) = choosing.criterion()? {
        fit = fit.criterion(criterion);
    }
    if let Some(scale) = reading.scale()? {
        fit = fit.scale(scale);
    }
    if let Some(memory) = reading.memory {
        fit = fit.memory(memory);
    }
    fit = size.told_to(fit, Fit::rank, Fit::accuracy, Fit::exact)?;
    type Switch = fn(Fit) -> Fit;
    let switches: [(bool, Switch); 5] = [
        (!reading.offset, Fit::without_offset),
        (choosing.on_grid, Fit::on_grid),
        (choosing.one_standard_error, Fit::one_standard_error),
        (choosing.clip, Fit::clip),
        (!diagnostics, Fit::without_diagnostics),
    ];
    Ok(switches.into_iter().filter(|(is_on, _)| *is_on).fold(fit, |fit, (_, switch)| switch(fit)))
}

/// (1/W) Σ w ℓ(y, f(x) + b) + λ‖f‖ᵐ.
#[pyfunction]
pub fn fit_loss(
    py: Python<'_>,
    table: &Table,
    columns: Columns,
    reading: Reading,
    choosing: Choosing,
    loss: LossSettings,
) -> PyResult<Model> {
    let learn = learner(&reading, &choosing, &loss).map_err(refused)?;
    let (frame, roles) = (table.frame(), columns.to_roles());
    run(py, move |observer| {
        let learned = learn.clone().observer(observer).fit_frame(&frame, &roles)?;
        let found = Found::of_loss(&learned);
        Ok(Model::new(learned.model, found, Source::Loss(frame, roles, Box::new(learn))))
    })
}

fn learner(reading: &Reading, choosing: &Choosing, loss: &LossSettings) -> Result<Learn> {
    let mut losses = Vec::new();
    for spec in &loss.losses {
        losses.extend(range::losses(spec)?);
    }
    let mut learn = Learn::new(Vec::new(), kernel::product::Linear)
        .losses(losses)
        .kernels(choosing.kernels()?)
        .exponents(&choosing.exponents)
        .tolerance(loss.tolerance)
        .missing(reading.missing()?)
        .text_as(reading.text_as()?)
        .seed(reading.seed);
    if let Some(lambdas) = &choosing.lambdas {
        learn = learn.lambdas(lambdas);
    }
    if let Some(criterion) = choosing.criterion()? {
        learn = learn.criterion(criterion);
    }
    if let Some(scale) = reading.scale()? {
        learn = learn.scale(scale);
    }
    if let Some(memory) = reading.memory {
        learn = learn.memory(memory);
    }
    if !loss.class_weights.is_empty() {
        learn = learn.class_weights(ClassWeights::Named(loss.class_weights.clone()));
    }
    if loss.multinomial {
        learn = learn.many_classes(ManyClasses::Multinomial);
    }
    type Switch = fn(Learn) -> Learn;
    let switches: [(bool, Switch); 5] = [
        (!reading.offset, Learn::without_offset),
        (choosing.on_grid, Learn::on_grid),
        (choosing.one_standard_error, Learn::one_standard_error),
        (loss.probabilities, Learn::with_probabilities),
        (loss.non_crossing, Learn::non_crossing),
    ];
    Ok(switches.into_iter().filter(|(is_on, _)| *is_on).fold(learn, |learn, (_, switch)| switch(learn)))
}

/// Linear functions and kernel expansions with penalties of their own.
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
    let gamma = gamma.map(|gamma| matrix(&gamma));
    let fit = linear(&reading, &choosing, penalty, gamma, tolerance).map_err(refused)?;
    let (frame, roles) = (table.frame(), columns.to_roles());
    run(py, move |observer| {
        let fitted = fit.clone().observer(observer).fit_frame(&frame, &roles)?;
        let found = Found::of_linear(&fitted);
        Ok(Model::new(fitted.model, found, Source::Linear(frame, roles, Box::new(fit))))
    })
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
    let gamma = gamma.map(|gamma| matrix(&gamma));
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
        let found = Found::of_linear(&fitted);
        Ok(Model::new(fitted.model, found, Source::Sparse(Arc::new(rows), Box::new(fit))))
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
    gamma: Option<Matrix>,
    tolerance: f64,
) -> Result<LinearFit> {
    let penalty = match gamma {
        Some(gamma) => Penalty::Tikhonov { gamma: Gamma::Matrix(gamma) },
        None => Penalty::parse(penalty)?,
    };
    let is_kernel = penalty == Penalty::KernelLasso;
    let mut fit = LinearFit::new(penalty)
        .tolerance(tolerance)
        .missing(reading.missing()?)
        .text_as(reading.text_as()?)
        .seed(reading.seed);
    if let Some(scale) = reading.scale()? {
        fit = fit.scale(scale);
    }
    if is_kernel {
        let kernels = choosing.kernels()?;
        let [kernel] = &kernels[..] else {
            return Err(Error::argument(
                "the kernel of a kernel Lasso",
                "one kernel",
                format!("{} of them", kernels.len()),
            ));
        };
        fit = fit.kernel(kernel.clone());
    }
    if let Some(lambdas) = &choosing.lambdas {
        fit = fit.lambdas(lambdas);
    }
    if let Some(criterion) = choosing.criterion()? {
        fit = fit.criterion(criterion);
    }
    if choosing.one_standard_error {
        fit = fit.one_standard_error();
    }
    if let Some(memory) = reading.memory {
        fit = fit.memory(memory);
    }
    Ok(if reading.offset { fit } else { fit.without_offset() })
}

/// Kernel families, metric, exponent and λ within a number of seconds.
#[pyfunction]
#[allow(clippy::too_many_arguments)]
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
    let prepare = || -> Result<Automatic> {
        let budget = Duration::try_from_secs_f64(budget)
            .ok()
            .filter(|budget| !budget.is_zero())
            .ok_or_else(|| Error::argument("budget", "a number of seconds above 0", budget))?;
        let mut automatic = Automatic::new()
            .budget(budget)
            .exponents(&exponents)
            .missing(reading.missing()?)
            .text_as(reading.text_as()?)
            .seed(reading.seed);
        if let Some(memory) = reading.memory {
            automatic = automatic.memory(memory);
        }
        automatic = size.told_to(automatic, Automatic::rank, Automatic::accuracy, Automatic::exact)?;
        if clip {
            automatic = automatic.clip();
        }
        Ok(if reading.offset { automatic } else { automatic.without_offset() })
    };
    let automatic = prepare().map_err(refused)?;
    let (frame, roles) = (table.frame(), columns.to_roles());
    run(py, move |observer| {
        let automated = automatic.observer(observer).fit_frame(&frame, &roles)?;
        let found = Found::of_automatic(&automated);
        Ok(Model::new(automated.fitted.model, found, Source::Power(frame, roles)))
    })
}

/// An array as a matrix of the core.
pub fn matrix(array: &PyReadonlyArray2<'_, f64>) -> Matrix {
    let x = array.as_array();
    Matrix::from_fn(x.nrows(), x.ncols(), |i, j| x[[i, j]])
}
