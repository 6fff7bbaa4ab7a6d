//! Dictionaries of settings, as the Python classes send them. Every key is there; the classes know the defaults.

use mercer::criterion::Criterion;
use mercer::data::{Missing, Roles, Scale, TextAs};
use mercer::kernel::SharedKernel;
use mercer::{Error, Fit, Result, range};
use pyo3::FromPyObject;

/// Which column is what.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Columns {
    targets: Vec<String>,
    weight: Option<String>,
    group: Option<String>,
    /// Whether groups are the folds of `cv`; otherwise rows of one group are not new to each other.
    groups_are_folds: bool,
    /// Text, which is a category even where it reads like a number.
    categorical: Vec<String>,
}

impl Columns {
    /// The same for the core: every column without another role is a feature.
    pub fn to_roles(&self) -> Roles {
        Roles {
            targets: self.targets.clone(),
            weight: self.weight.clone(),
            group: self.group.clone(),
            groups_are_folds: self.groups_are_folds,
            categorical: self.categorical.clone(),
            ..Roles::default()
        }
    }
}

/// How a table is read, and what may be used.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Reading {
    scale: Option<String>,
    missing: String,
    text: String,
    /// Whether there is an offset b.
    pub offset: bool,
    /// Bytes.
    pub memory: Option<u64>,
    /// The seed of folds.
    pub seed: u64,
}

impl Reading {
    /// How features are scaled; `None` leaves it to the kernel.
    pub fn scale(&self) -> Result<Option<Scale>> {
        match self.scale.as_deref() {
            None => Ok(None),
            Some("none") => Ok(Some(Scale::None)),
            Some("standard") => Ok(Some(Scale::Standard)),
            Some("unit") => Ok(Some(Scale::Unit)),
            Some("log") => Ok(Some(Scale::Log)),
            Some(other) => Err(Error::argument("scale", "none, standard, unit or log", other)),
        }
    }

    /// What is done about missing cells.
    pub fn missing(&self) -> Result<Missing> {
        match self.missing.as_str() {
            "error" => Ok(Missing::Error),
            "mean" => Ok(Missing::Mean),
            other => Err(Error::argument("missing", "error or mean", other)),
        }
    }

    /// How text columns are read.
    pub fn text_as(&self) -> Result<TextAs> {
        match self.text.as_str() {
            "onehot" => Ok(TextAs::OneHot),
            "equality" => Ok(TextAs::Equality),
            other => Err(Error::argument("text", "onehot or equality", other)),
        }
    }
}

/// What λ, exponent and kernel are chosen from, and by what.
#[derive(Default, FromPyObject)]
#[pyo3(from_item_all)]
pub struct Choosing {
    /// Specs, which may have ranges.
    pub kernels: Vec<String>,
    /// m.
    pub exponents: Vec<f64>,
    /// λ; `None` is the whole path.
    pub lambdas: Option<Vec<f64>>,
    /// What chooses.
    pub criterion: Option<String>,
    /// Only the given numbers, not those between them.
    pub on_grid: bool,
    /// The largest λ within one standard error.
    pub one_standard_error: bool,
    /// Predictions within the range of the targets, for the squared loss.
    pub clip: bool,
}

impl Choosing {
    /// Every kernel of every spec.
    pub fn kernels(&self) -> Result<Vec<SharedKernel>> {
        let mut all = Vec::new();
        for spec in &self.kernels {
            all.extend(range::kernels(spec)?);
        }
        Ok(all)
    }

    /// The kernel of a kernel Lasso.
    pub fn only_kernel(&self) -> Result<SharedKernel> {
        let mut kernels = self.kernels()?;
        if kernels.len() != 1 {
            let got = format!("{} of them", kernels.len());
            return Err(Error::argument("the kernel of a kernel Lasso", "one kernel", got));
        }
        Ok(kernels.remove(0))
    }

    /// The criterion, if one is named.
    pub fn criterion(&self) -> Result<Option<Criterion>> {
        self.criterion.as_deref().map(Criterion::parse).transpose()
    }
}

/// Whether landmarks stand for all rows.
#[derive(Default, FromPyObject)]
#[pyo3(from_item_all)]
pub struct Size {
    /// At most this many.
    rank: Option<usize>,
    /// As many as this accuracy needs.
    accuracy: Option<f64>,
    /// Never.
    exact: bool,
}

impl Size {
    /// The fit with this setting.
    pub fn told_to(&self, fit: Fit) -> Result<Fit> {
        match (self.rank, self.accuracy, self.exact) {
            (Some(most), None, false) => Ok(fit.rank(most)),
            (None, Some(share), false) => Ok(fit.accuracy(share)),
            (None, None, true) => Ok(fit.exact()),
            (None, None, false) => Ok(fit),
            _ => Err(Error::argument("rank, accuracy and exact", "used one at a time", "several")),
        }
    }
}

/// What belongs to a loss.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct LossSettings {
    /// One spec, or several to choose from.
    pub losses: Vec<String>,
    /// A relative duality gap.
    pub tolerance: f64,
    /// One model for all classes.
    pub multinomial: bool,
    /// Whether probabilities are calibrated.
    pub probabilities: bool,
    /// Whether quantiles are sorted.
    pub non_crossing: bool,
    /// Weights of classes by name or number, times the weights of the rows.
    pub class_weights: Vec<(String, f64)>,
}
