//! One decomposition and one criterion: the value of any (exponent, λ).

use std::cell::OnceCell;

use crate::base::error::{Error, Result};
use crate::linalg::{Matrix, multiply};
use crate::path::held_out::{HeldOut, HeldOutError, leave_one_out_at};
use crate::path::power;
use crate::path::{Path, Spectrum, Target};
use crate::term::criterion::formula::{Facts, Formula};
use crate::term::criterion::metric::MetricRule;
use crate::term::criterion::{Criterion, Folds};

/// The value of a criterion at one (m, λ); smaller is better.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Score {
    /// With several targets: their sum, each in units of its variance.
    pub value: f64,
    /// Its standard error, where the criterion has one.
    pub standard_error: Option<f64>,
}

/// What some criteria need beside the training rows.
#[derive(Debug, Clone, Default)]
pub(crate) struct Extras {
    pub folds: Option<Folds>,
    /// Rows without target, in the coordinates of the spectrum: f = M z/(d + γ), u × r.
    pub unlabelled: Option<Matrix>,
}

/// γ of tables and searches, as logarithms relative to the largest eigenvalue: 1e-13 … 1e6.
pub(super) const LOWEST: f64 = -30.0;
pub(super) const HIGHEST: f64 = 13.9;

pub(crate) struct Judge<'a> {
    criterion: &'a Criterion,
    spectrum: &'a Spectrum,
    targets: Vec<&'a Target>,
    path: Path,
    single: Vec<Path>,
    /// What each target's error is divided by when there are several.
    units: Vec<f64>,
    kind: Kind<'a>,
    /// The part of the path that grids cover: γ as logarithms relative to the largest eigenvalue.
    useful: (f64, f64),
    /// Whether that is what tables cover too, so that all exponents are read from them.
    is_narrowed: bool,
}

/// How far beyond the grids tables go: deletions move the ridge.
const BEYOND: f64 = 2.0;

enum Kind<'a> {
    /// Leave-one-out; tables are made when something asks for them that does not follow without, the first of them for exponents
    /// from 1 on.
    Rows {
        tables: [OnceCell<Option<HeldOut>>; 2],
        range: (f64, f64),
    },
    HeldOut(HeldOut),
    Formula {
        formula: Formula,
        noise: Vec<f64>,
        spread: Option<Vec<f64>>,
    },
    Metric {
        rule: MetricRule,
        unlabelled: &'a Matrix,
    },
}

impl<'a> Judge<'a> {
    /// `None` when there is nothing to judge: a single row, or targets that are constant.
    pub fn new(
        spectrum: &'a Spectrum,
        targets: &[&'a Target],
        criterion: &'a Criterion,
        extras: &'a Extras,
        range: Option<(f64, f64)>,
    ) -> Result<Option<Self>> {
        let path = spectrum.path(targets);
        if path.zero_mse() == 0.0 || spectrum.largest() == 0.0 || spectrum.rows() < 2 {
            return Ok(None);
        }
        let single: Vec<Path> = targets.iter().map(|target| spectrum.path(&[target])).collect();
        let units = match targets.len() {
            1 => vec![1.0],
            _ => single.iter().map(|path| path.zero_mse().max(f64::MIN_POSITIVE)).collect(),
        };
        let (low, high) = range.unwrap_or((LOWEST, HIGHEST));
        let kind = match criterion {
            Criterion::LeaveOneOut => Kind::Rows { tables: Default::default(), range: (low, high) },
            Criterion::KFold(_) => {
                let folds = extras.folds.as_ref().ok_or_else(|| Error::Empty("folds must have been drawn".into()))?;
                Kind::HeldOut(HeldOut::folds(spectrum, targets, folds, low, high)?)
            }
            Criterion::Formula(formula) => {
                let spread = extras.unlabelled.as_ref().map(mean_squares);
                Kind::Formula { formula: *formula, noise: Vec::new(), spread }
            }
            Criterion::Metric(rule) => {
                let unlabelled = extras.unlabelled.as_ref().ok_or_else(|| {
                    Error::argument("the criterion", "given rows without target", format!("{} and none", rule.name()))
                })?;
                Kind::Metric { rule: *rule, unlabelled }
            }
        };
        let targets = targets.to_vec();
        let (useful, is_narrowed) = ((LOWEST, HIGHEST), false);
        let mut judge = Judge { criterion, spectrum, targets, path, single, units, kind, useful, is_narrowed };
        let noise = (0..judge.targets.len()).map(|t| judge.noise(t)).collect();
        if let Kind::Formula { noise: place, .. } = &mut judge.kind {
            *place = noise;
        }
        Ok(Some(judge))
    }

    pub fn criterion(&self) -> &Criterion {
        self.criterion
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn spectrum(&self) -> &Spectrum {
        self.spectrum
    }

    pub fn targets(&self) -> &[&'a Target] {
        &self.targets
    }

    pub fn useful(&self) -> (f64, f64) {
        self.useful
    }

    pub fn is_narrowed(&self) -> bool {
        self.is_narrowed
    }

    /// Whether the criterion is leave-one-out of rows without weights, which two products give at exponent 2.
    pub fn has_plain_rows(&self) -> bool {
        matches!(self.kind, Kind::Rows { .. }) && self.spectrum.root_weights().is_none()
    }

    /// The same for a part of the path.
    pub fn within(mut self, low: f64, high: f64) -> Self {
        if let Kind::Rows { tables, range } = &mut self.kind {
            *tables = Default::default();
            *range = ((low - BEYOND).max(LOWEST), (high + BEYOND).min(HIGHEST));
            self.useful = (low, high);
            self.is_narrowed = true;
        }
        self
    }

    /// Errors of the targets, added in their units.
    pub fn totals(&self, errors: &[HeldOutError]) -> Vec<f64> {
        errors.iter().map(|error| self.add(&error.mse)).collect()
    }

    fn add(&self, values: &[f64]) -> f64 {
        values.iter().zip(&self.units).map(|(value, unit)| value / unit).sum()
    }

    /// The criterion for several exponents, each with several log λ in rising order: what is read from one table is read
    /// together.
    pub fn scores(&self, asked: &[(f64, Vec<f64>)]) -> Vec<Vec<Score>> {
        let errors = match &self.kind {
            Kind::Rows { tables, range: (low, high) } => {
                // At exponent 2 and without weights every deletion has the same ridge: two products, unless tables are there anyway.
                let has_tables = tables.iter().any(|table| table.get().is_some());
                let needs_tables = has_tables || asked.iter().any(|(exponent, _)| *exponent != 2.0);
                let is_tabulated = self.is_narrowed && needs_tables;
                let is_plain = |exponent: f64| exponent == 2.0 && self.has_plain_rows() && !is_tabulated;
                let others: Vec<(f64, Vec<f64>)> = asked.iter().filter(|(m, _)| !is_plain(*m)).cloned().collect();
                let mut found = Vec::new();
                if !others.is_empty() {
                    let below_one = others.iter().any(|(m, _)| *m < 1.0) || tables[1].get().is_some();
                    let make = || HeldOut::rows(self.spectrum, &self.targets, *low, *high, below_one);
                    let table = tables[usize::from(below_one)].get_or_init(make);
                    found = table.as_ref().map_or_else(Vec::new, |held_out| held_out.errors(&others));
                }
                let mut found = found.into_iter();
                let one = |(exponent, log_lambdas): &(f64, Vec<f64>)| match is_plain(*exponent) {
                    true => leave_one_out_at(self.spectrum, &self.targets, log_lambdas),
                    false => found.next().unwrap_or_default(),
                };
                asked.iter().map(one).collect()
            }
            Kind::HeldOut(held_out) => held_out.errors(asked),
            _ => return asked.iter().map(|(exponent, log_lambdas)| self.on_path(*exponent, log_lambdas)).collect(),
        };
        let score = |error: &HeldOutError| {
            let standard_error = Some(self.add(&error.standard_error));
            Score { value: self.add(&error.mse), standard_error }
        };
        errors.iter().map(|errors| errors.iter().map(score).collect()).collect()
    }

    /// Criteria that are read off the path of all rows.
    fn on_path(&self, exponent: f64, log_lambdas: &[f64]) -> Vec<Score> {
        let mut path = self.path.clone();
        let ridges: Vec<Option<f64>> = log_lambdas
            .iter()
            .map(|log_lambda| power::minimise(&mut path, exponent, *log_lambda, None).log_ridge)
            .collect();
        let values = match &self.kind {
            Kind::Metric { rule, unlabelled } => self.metric(*rule, unlabelled, &ridges),
            Kind::Formula { formula, noise, spread } => ridges
                .iter()
                .map(|t| {
                    (0..self.targets.len())
                        .map(|index| {
                            let facts = self.facts(index, *t, noise[index], spread.as_deref());
                            let value = formula.value(&facts);
                            if formula.is_squared_error() { value / self.units[index] } else { value }
                        })
                        .sum()
                })
                .collect(),
            Kind::HeldOut(_) | Kind::Rows { .. } => Vec::new(),
        };
        values.into_iter().map(|value| Score { value, standard_error: None }).collect()
    }

    /// γ; far beyond the spectrum for the zero function.
    fn gamma(&self, log_ridge: Option<f64>) -> f64 {
        let most = libm::log(self.spectrum.largest()) + 60.0;
        let log_gamma = log_ridge.map_or(most, |t| (t + libm::log(self.spectrum.weight_sum())).min(most));
        libm::exp(log_gamma)
    }

    fn facts(&self, target: usize, log_ridge: Option<f64>, noise: f64, spread: Option<&[f64]>) -> Facts {
        let (spectrum, path) = (self.spectrum, &self.single[target]);
        let gamma = self.gamma(log_ridge);
        let ridge = gamma / spectrum.weight_sum();
        let rows = spectrum.rows() as f64;
        let offset = f64::from(spectrum.has_offset());
        let unseen = rows - offset - spectrum.eigenvalues().len() as f64;
        let sum = |term: &dyn Fn(f64) -> f64| spectrum.eigenvalues().iter().map(|d| term(*d)).sum::<f64>();
        let log_det_reduced = sum(&|d| libm::log(d + gamma)) + unseen * libm::log(gamma);
        let spread_new = match spread {
            Some(squares) => {
                let terms = squares.iter().zip(spectrum.eigenvalues());
                offset / rows + terms.map(|(s, d)| s / ((d + gamma) * (d + gamma))).sum::<f64>()
            }
            None => (offset + sum(&|d| (d / (d + gamma)) * (d / (d + gamma)))) / rows,
        };
        Facts {
            rows,
            train_mse: path.train_mse(ridge),
            dof: path.dof(ridge),
            noise,
            quadratic: path.quadratic(ridge),
            log_det: log_det_reduced + spectrum.log_constant_pivot(gamma),
            log_det_reduced,
            offset: spectrum.has_offset(),
            spread_new,
            left_train: (sum(&|d| (gamma / (d + gamma)) * (gamma / (d + gamma))) + unseen) / rows,
        }
    }

    /// σ² = R/(1 − p) where gcv is least.
    fn noise(&self, target: usize) -> f64 {
        if !matches!(self.kind, Kind::Formula { formula: Formula::Mallows, .. }) {
            return 0.0;
        }
        let unit = libm::log(self.spectrum.largest() / self.spectrum.weight_sum());
        (0..=120)
            .map(|i| unit + LOWEST + (HIGHEST - LOWEST) * f64::from(i) / 120.0)
            .map(|t| self.facts(target, Some(t), 0.0, None))
            .map(|facts| (Formula::Gcv.value(&facts), facts.train_mse / (1.0 - facts.dof / facts.rows)))
            .fold((f64::INFINITY, 0.0), |best, next| if next.0 < best.0 { next } else { best })
            .1
    }

    fn metric(&self, rule: MetricRule, unlabelled: &Matrix, ridges: &[Option<f64>]) -> Vec<f64> {
        let mut values = vec![0.0; ridges.len()];
        for (t, target) in self.targets.iter().enumerate() {
            // The simplest fit comes first: the largest ridge.
            let order: Vec<usize> = (0..ridges.len()).rev().collect();
            let mut errors = Vec::new();
            let (mut on_training, mut on_new) = (Vec::new(), Vec::new());
            for index in &order {
                let gamma = self.gamma(ridges[*index]);
                errors.push(self.single[t].train_mse(gamma / self.spectrum.weight_sum()));
                let (training, new) = self.spectrum.values_at(target, gamma, unlabelled);
                on_training.push(training);
                on_new.push(new);
            }
            let found = rule.values(&errors, &on_training, &on_new);
            for (index, value) in order.iter().zip(found) {
                values[*index] += value / self.units[t];
            }
        }
        values
    }
}

/// Mean over the rows of the squares in each column.
fn mean_squares(m: &Matrix) -> Vec<f64> {
    (0..m.cols()).map(|k| m.col(k).iter().map(|v| v * v).sum::<f64>() / m.rows().max(1) as f64).collect()
}

impl Spectrum {
    /// f − b at the training rows and at rows without target (given as M of [`Extras`]), in own units.
    fn values_at(&self, target: &Target, gamma: f64, unlabelled: &Matrix) -> (Vec<f64>, Vec<f64>) {
        let coordinates: Vec<f64> =
            target.z.iter().zip(self.eigenvalues()).map(|(z, d)| libm::ldexp(z / (d + gamma), target.power)).collect();
        let shrunk: Vec<f64> = coordinates.iter().zip(self.eigenvalues()).map(|(c, d)| c * d).collect();
        let training = self.at_rows(&Matrix::column_vector(shrunk)).into_vec();
        let training = match self.root_weights() {
            Some(s) => training.iter().zip(s).map(|(f, s)| f / s).collect(),
            None => training,
        };
        (training, multiply(unlabelled, &Matrix::column_vector(coordinates)).into_vec())
    }
}
