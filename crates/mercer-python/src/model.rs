//! A fitted model.

use std::path::Path;
use std::sync::Arc;

use mercer::criterion::{Criterion, Folds};
use mercer::data::{Frame, TextAs};
use mercer::effects::{Effect, TargetEffects};
use mercer::importance::{Importance, Permutation};
use mercer::interval::{Intervals, Method};
use mercer::{Error, Fitted, Matrix, Meaning, Result, Training, format};
use numpy::{PyArray1, PyArray2, PyArray3, PyArrayMethods};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::found::{Found, SearchFacts, Trial};
use crate::outside::Outside;
use crate::refusal::{internal, refused, unreadable};
use crate::settings::Columns;
use crate::source::Source;
use crate::table::Table;
use crate::work::run;

/// The rows of a table that are predicted between two looks at the cancel flag.
const BLOCK: usize = 1 << 14;

/// A model of the core, and what its fit found.
#[pyclass(frozen, module = "mercer._core")]
pub struct Model {
    model: Arc<mercer::Model>,
    found: Found,
    /// What the fit was made of: for what needs rows that the model does not hold.
    source: Option<Arc<Source>>,
}

/// A point of a path.
#[derive(IntoPyObject)]
pub struct PathPoint {
    lambda: f64,
    effective_ridge: Option<f64>,
    norm: f64,
    dof: f64,
    train_rmse: f64,
    criteria: Vec<f64>,
}

/// The effect of one column, or of one category against another.
#[derive(IntoPyObject)]
pub struct EffectFacts {
    target: String,
    /// What the effect is on: `prediction`, `log-odds`, `decision value`, `probability`; and of which class.
    of: &'static str,
    class: Option<String>,
    column: String,
    category: Option<String>,
    base: Option<String>,
    values: Vec<f64>,
    mean: f64,
    standard_error: Option<f64>,
    quartiles: [f64; 3],
    positive: f64,
}

/// The importance of one column.
#[derive(IntoPyObject)]
pub struct ImportanceFacts {
    target: String,
    column: String,
    increase: f64,
    standard_error: f64,
    share: f64,
    share_error: f64,
}

impl Model {
    /// A model with what its fit found, and what it was made of.
    pub fn new(fitted: Fitted, source: Source) -> Self {
        let (found, model) = (Found::of(&fitted), fitted.model);
        // A kernel expansion over all rows holds them.
        let holds_rows = model.holds_training();
        Model { model: Arc::new(model), found, source: (!holds_rows).then(|| Arc::new(source)) }
    }

    fn of_bytes(bytes: &[u8]) -> PyResult<Self> {
        let model = format::from_bytes(bytes).map_err(|error| refused(error.into()))?;
        Ok(Model { model: Arc::new(model), found: Found::default(), source: None })
    }

    /// What folds are fitted again from, for a model that has no decomposition.
    fn source_for_refits(&self, reason: &str, method: Option<&str>) -> Result<Arc<Source>> {
        if let Meaning::Classes { .. } = self.model.meaning() {
            let must = "one of numbers for an interval: classes have no order (predict_proba has their probabilities)";
            return Err(Error::argument("the model", must, reason));
        }
        if let Some(other) = method.filter(|method| *method != "cv+") {
            let must = format!("cv+, from fits without each fold, because {reason}");
            return Err(Error::argument("the method of an interval", must, other));
        }
        match &self.source {
            Some(source) => Ok(Arc::clone(source)),
            None => self.rows_of_fit().and(Err(Error::argument("the model", "fitted in this process", reason))),
        }
    }

    /// The rows of the fit, from the model or from the table.
    fn rows_of_fit(&self) -> Result<Training> {
        match (self.model.training(), self.source.as_ref().and_then(|source| source.table())) {
            (Some(training), _) => Ok(training),
            (None, Some((frame, weight))) => self.model.training_from(frame, weight),
            (None, None) => {
                let got = "one that was loaded or unpickled, or fitted to sparse rows";
                Err(Error::argument("the model", "one that holds the rows of its fit", got))
            }
        }
    }
}

#[pymethods]
impl Model {
    /// Reads the bytes of a model file; every length, number and the checksum are checked.
    #[staticmethod]
    fn from_bytes(bytes: &[u8]) -> PyResult<Self> {
        Model::of_bytes(bytes)
    }

    /// Reads a model file.
    #[staticmethod]
    fn load(py: Python<'_>, path: &str) -> PyResult<Self> {
        py.detach(|| Model::of_bytes(&mercer_io::model::load(path).map_err(unreadable)?))
    }

    /// The bytes of the model file.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = py.detach(|| format::to_bytes(&self.model)).map_err(|error| refused(error.into()))?;
        Ok(PyBytes::new(py, &bytes))
    }

    /// The bytes of an ONNX file that predicts as the model does.
    fn to_onnx<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = py.detach(|| mercer_io::onnx::bytes(&self.model)).map_err(unreadable)?;
        Ok(PyBytes::new(py, &bytes))
    }

    /// Writes bytes as a model file is written.
    #[staticmethod]
    fn save_bytes(path: &str, bytes: &[u8]) -> PyResult<()> {
        mercer_io::atomic::save(Path::new(path), bytes).map_err(unreadable)
    }

    /// Writes the model file: the old one or the new one is there, whole, whatever happens.
    fn save(&self, py: Python<'_>, path: &str) -> PyResult<()> {
        py.detach(|| {
            let bytes = format::to_bytes(&self.model).map_err(|error| refused(error.into()))?;
            mercer_io::atomic::save(Path::new(path), &bytes).map_err(unreadable)
        })
    }

    /// Every target (or decision value) of every row; NaN where a missing cell leaves a row without.
    fn predict<'py>(&self, py: Python<'py>, table: &Table) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let (model, part) = (Arc::clone(&self.model), table.part());
        let values = run(py, move |observer| in_parts(&part, &observer, |rows| model.predict_frame(rows)))?;
        to_array(py, values)
    }

    /// The class of every row, as a place among the classes; −1 where there is none.
    fn classes_of<'py>(&self, py: Python<'py>, table: &Table) -> PyResult<Bound<'py, PyArray1<i64>>> {
        let (model, part) = (Arc::clone(&self.model), table.part());
        let codes = run(py, move |observer| {
            let number = |code: Option<usize>| code.map(|code| code as f64);
            let codes = |rows: &Frame| Ok(vec![model.classes_of_frame(rows)?.into_iter().map(number).collect()]);
            in_parts(&part, &observer, codes)
        })?;
        let code = |code: &f64| if code.is_nan() { -1 } else { *code as i64 };
        Ok(PyArray1::from_iter(py, codes.as_slice().iter().map(code)))
    }

    /// The probability of every class for every row.
    fn probabilities<'py>(&self, py: Python<'py>, table: &Table) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let (model, part) = (Arc::clone(&self.model), table.part());
        let values = run(py, move |observer| in_parts(&part, &observer, |rows| model.probabilities_of_frame(rows)))?;
        to_array(py, values)
    }

    /// Lower and upper ends for every row and target: rows × targets × 2. Without a method, the one that suits the model.
    #[pyo3(signature = (table, level, method, folds, seed))]
    fn intervals<'py>(
        &self,
        py: Python<'py>,
        table: &Table,
        level: f64,
        method: Option<&str>,
        folds: usize,
        seed: u64,
    ) -> PyResult<Bound<'py, PyArray3<f64>>> {
        let (model, frame) = (Arc::clone(&self.model), table.frame());
        let (targets, rows) = (model.summaries().len(), frame.rows());
        let bounds = match self.model.is_not_spectral() {
            Some(reason) => {
                let source = self.source_for_refits(&reason, method).map_err(refused)?;
                run(py, move |observer| source.intervals(&model, (level, folds, seed), &frame, &observer))?
            }
            None => {
                let training = self.rows_of_fit().map_err(refused)?;
                let method = match method.unwrap_or("jackknife+") {
                    "jackknife+" => Method::JackknifePlus,
                    "cv+" => Method::CvPlus(Folds::random(training.rows(), folds, seed).map_err(refused)?),
                    "gaussian-process" => Method::GaussianProcess,
                    other => {
                        let must = "jackknife+, cv+ or gaussian-process";
                        return Err(refused(Error::argument("the method of an interval", must, other)));
                    }
                };
                run(py, move |observer| {
                    Intervals::new(&model, training, &method, level, Some(&observer))?.at_frame(&frame, Some(&observer))
                })?
            }
        };
        let mut cells = Vec::with_capacity(rows * targets * 2);
        for row in 0..rows {
            for target in &bounds {
                cells.push(target.lower[row].unwrap_or(f64::NAN));
                cells.push(target.upper[row].unwrap_or(f64::NAN));
            }
        }
        PyArray1::from_vec(py, cells).reshape([rows, targets, 2])
    }

    /// The rows of a table that are outside the range of the training rows, with those of the blocks above it; `None` where the range is not known.
    #[pyo3(signature = (table, above=None))]
    fn outside(&self, table: &Table, above: Option<&Outside>) -> PyResult<Option<Outside>> {
        let found = self.model.outside(&table.frame()).map_err(refused)?;
        Ok(found.map(|found| Outside {
            found: match above {
                Some(above) => above.found.clone().joined(found),
                None => found,
            },
        }))
    }

    /// What each column does to the predictions, or to the probabilities of classes, at the rows of a table or of the fit.
    #[pyo3(signature = (table=None, probabilities=false))]
    fn effects(
        &self,
        py: Python<'_>,
        table: Option<&Table>,
        probabilities: bool,
    ) -> PyResult<(Vec<EffectFacts>, Option<String>)> {
        // Without a table at the rows of the fit, which support vectors and landmarks are not.
        let rows_of_fit = || self.source.as_ref()?.table().map(|(frame, _)| Arc::clone(frame));
        let (model, frame) = (Arc::clone(&self.model), table.map(Table::frame).or_else(rows_of_fit));
        let training = match self.source.as_ref().and_then(|source| source.table()) {
            Some(_) if self.model.is_not_a_sum_over_rows().is_none() => Some(self.rows_of_fit().map_err(refused)?),
            _ => None,
        };
        let found = run(py, move |observer| match probabilities {
            true => model.effects_on_probabilities(frame.as_deref(), Some(&observer)),
            false => model.effects(frame.as_deref(), training, Some(&observer)),
        })?;
        let facts = |target: &TargetEffects| -> Vec<EffectFacts> {
            target.effects.iter().map(|effect| effect_facts(target, effect)).collect()
        };
        Ok((found.targets.iter().flat_map(facts).collect(), found.without_errors))
    }

    /// The rise of the held-out squared error when a column is permuted, for every target and column.
    fn importance(&self, py: Python<'_>, table: &Table, columns: Columns, seed: u64) -> PyResult<Vec<ImportanceFacts>> {
        let (model, frame, roles) = (Arc::clone(&self.model), table.frame(), columns.to_roles());
        let settings = Permutation { seed, ..Permutation::for_model(&model) };
        let found = run(py, move |observer| settings.of_model(&model, &frame, &roles, Some(&observer)))?;
        let facts = |found: Importance| {
            let target = found.target;
            let of = |column: mercer::importance::ColumnImportance| ImportanceFacts {
                target: target.clone(),
                column: column.column,
                increase: column.increase,
                standard_error: column.standard_error,
                share: column.share,
                share_error: column.share_error,
            };
            found.columns.into_iter().map(of).collect::<Vec<ImportanceFacts>>()
        };
        Ok(found.into_iter().flat_map(facts).collect())
    }

    /// How every column was read, as JSON.
    fn columns_read(&self) -> PyResult<String> {
        serde_json::to_string(&self.model.encoder().columns_read()).map_err(|error| internal(&error.to_string()))
    }

    /// How the model was made, as JSON.
    fn provenance(&self) -> PyResult<String> {
        serde_json::to_string(self.model.provenance()).map_err(|error| internal(&error.to_string()))
    }

    /// Everything along λ at one exponent, with leave-one-out.
    #[pyo3(signature = (target, exponent, lambdas, criteria, seed))]
    fn path(
        &self,
        py: Python<'_>,
        target: usize,
        exponent: f64,
        lambdas: Option<Vec<f64>>,
        criteria: Vec<String>,
        seed: u64,
    ) -> PyResult<Vec<PathPoint>> {
        let criteria: Vec<Criterion> =
            criteria.iter().map(|spec| Criterion::parse(spec)).collect::<Result<_>>().map_err(refused)?;
        let (model, training) = (Arc::clone(&self.model), self.rows_of_fit().map_err(refused)?);
        let points = run(py, move |_| model.path(training, target, exponent, lambdas.as_deref(), &criteria, seed))?;
        let facts = |point: mercer::PathPoint| PathPoint {
            lambda: point.lambda,
            effective_ridge: point.effective_ridge,
            norm: point.norm,
            dof: point.dof,
            train_rmse: point.train_rmse,
            criteria: point.criteria,
        };
        Ok(points.into_iter().map(facts).collect())
    }

    /// The leave-one-out residuals, for classes decision values: rows × targets. And whether they are exact, or right to first order.
    fn leave_one_out<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyArray2<f64>>, bool)> {
        let (columns, is_exact) = match (&self.found.leave_one_out, &self.source) {
            (Some(known), _) => (known.clone(), true),
            (None, Some(source)) => {
                let (model, source) = (Arc::clone(&self.model), Arc::clone(source));
                run(py, move |observer| source.leave_one_out(&model, &observer))?
            }
            (None, None) => {
                let (model, training) = (Arc::clone(&self.model), self.rows_of_fit().map_err(refused)?);
                (run(py, move |_| model.leave_one_out(training))?, true)
            }
        };
        Ok((columns_to_array(py, &columns)?, is_exact))
    }

    /// The criterion wherever it was computed.
    fn trials(&self) -> Vec<Trial> {
        self.found.trials.clone()
    }

    /// The criterion along λ: where it was computed, else on a path that is tried now.
    fn tried_path(&self, py: Python<'_>) -> PyResult<Vec<Trial>> {
        match &self.source {
            Some(source) if self.found.trials.is_empty() => {
                let (model, source) = (Arc::clone(&self.model), Arc::clone(source));
                run(py, move |observer| source.path(&model, observer))
            }
            _ => Ok(self.found.trials.clone()),
        }
    }

    /// What is odd about the targets, or about the errors; nothing for a model that came from bytes.
    fn notes(&self) -> Vec<String> {
        self.found.notes.clone()
    }

    /// What the automatic search tried; `None` for a model that came from bytes.
    fn search(&self) -> Option<SearchFacts> {
        self.found.search.clone()
    }

    /// What was found for every target, as JSON.
    fn summaries(&self) -> PyResult<String> {
        serde_json::to_string(self.model.summaries()).map_err(|error| internal(&error.to_string()))
    }

    /// The kernel, with its numbers.
    #[getter]
    fn kernel(&self) -> String {
        self.model.kernel().spec()
    }

    /// The columns that are read, in order.
    #[getter]
    fn columns(&self) -> Vec<String> {
        self.model.encoder().columns().into_iter().map(str::to_owned).collect()
    }

    /// The names of the classes, and whether they are numbers.
    #[getter]
    fn classes(&self) -> Option<(Vec<String>, bool)> {
        self.model.classes().map(|classes| (classes.names.clone(), classes.are_numbers))
    }

    /// The name of the column that was predicted, or of the first of them.
    #[getter]
    fn target(&self) -> String {
        match self.model.meaning() {
            Meaning::Classes { target, .. } => target.clone(),
            _ => self.model.summaries().first().map(|summary| summary.target.clone()).unwrap_or_default(),
        }
    }

    /// The number of training points that the model carries.
    #[getter]
    fn points(&self) -> usize {
        self.model.points()
    }

    /// α of a kernel expansion, or w of a linear function: entries × targets.
    fn coefficients<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let columns: Vec<Vec<f64>> =
            (0..self.model.summaries().len()).map(|t| self.model.coefficients(t).to_vec()).collect();
        columns_to_array(py, &columns)
    }

    /// Shift and scale of every feature of a linear function, one-hot columns among them; `None` for other functions.
    fn scaling(&self) -> Option<Vec<(String, f64, f64)>> {
        use mercer::data::Feature;
        let encoder = self.model.encoder();
        let is_plain = self.model.points() == 0 && encoder.degree == 1 && encoder.projection.is_none();
        if !is_plain || encoder.has_logarithms() || encoder.nonnegative {
            return None;
        }
        let of = |feature: &Feature| match feature {
            Feature::Number { name, shift, scale, .. } => vec![(name.clone(), *shift, *scale)],
            Feature::Text { name, categories, text_as: TextAs::OneHot } => {
                categories.iter().map(|category| (format!("{name}={category}"), 0.0, 1.0)).collect()
            }
            Feature::Text { .. } => Vec::new(),
        };
        Some(encoder.features.iter().flat_map(of).collect())
    }
}

/// Columns of numbers for every row, block after block; NaN where there is none.
fn in_parts(
    (frame, above): &(Arc<Frame>, usize),
    observer: &mercer::Observer,
    of: impl Fn(&Frame) -> Result<Vec<Vec<Option<f64>>>>,
) -> Result<Matrix> {
    let mut columns: Vec<Vec<f64>> = Vec::new();
    for (start, rows) in blocks(frame) {
        if !observer("predicting") {
            return Err(Error::Interrupted);
        }
        let found = of(rows.as_ref().unwrap_or(frame)).map_err(|error| error.below(above + start))?;
        columns.resize_with(found.len(), || Vec::with_capacity(frame.rows()));
        for (column, values) in columns.iter_mut().zip(found) {
            column.extend(values.into_iter().map(|value| value.unwrap_or(f64::NAN)));
        }
    }
    Matrix::from_columns(frame.rows(), columns.len(), columns.concat())
}

/// The table in blocks of rows, each with the row it starts at; one block is the table itself.
fn blocks(frame: &Frame) -> impl Iterator<Item = (usize, Option<Frame>)> + '_ {
    let rows = frame.rows();
    (0..rows.max(1)).step_by(BLOCK).map(move |start| {
        let part = || frame.select_rows(&(start..(start + BLOCK).min(rows)).collect::<Vec<usize>>());
        (start, (rows > BLOCK).then(part))
    })
}

fn effect_facts(target: &TargetEffects, effect: &Effect) -> EffectFacts {
    let (category, base) = effect.versus.clone().unzip();
    EffectFacts {
        target: target.target.clone(),
        of: target.of.name(),
        class: target.class.clone(),
        column: effect.column.clone(),
        category,
        base,
        values: effect.values.clone(),
        mean: effect.mean,
        standard_error: effect.standard_error,
        quartiles: effect.quartiles,
        positive: effect.positive,
    }
}

/// A matrix as an array in Fortran order, without a copy.
pub fn to_array(py: Python<'_>, matrix: Matrix) -> PyResult<Bound<'_, PyArray2<f64>>> {
    let shape = [matrix.cols(), matrix.rows()];
    PyArray1::from_vec(py, matrix.into_vec()).reshape(shape)?.transpose()
}

fn columns_to_array<'py>(py: Python<'py>, columns: &[Vec<f64>]) -> PyResult<Bound<'py, PyArray2<f64>>> {
    let rows = columns.first().map_or(0, Vec::len);
    to_array(py, Matrix::from_columns(rows, columns.len(), columns.concat()).map_err(refused)?)
}
