//! What experiments have in common: data sets, divisions of them, and how many.

use std::cell::RefCell;
use std::path::Path;
use std::time::Instant;

use mercer::Fit;
use mercer::criterion::Criterion;
use mercer::data::{Column, Frame, Roles, Scale};
use mercer::range;
use mercer_lab::split::{Split, divide};
use mercer_lab::synthetic::generator;

use crate::args::{Common, ExperimentOptions};
use crate::progress::Progress;

/// Share of the rows that are learned from.
pub const TRAINING: f64 = 0.7;
/// Rows of each set with --quick.
const QUICK_ROWS: usize = 160;
const SYNTHETIC_ROWS: usize = 2000;
/// friedman1 whose targets have no noise.
pub const NOISE_FREE: &str = "friedman1_noise_free";

pub struct Setting {
    data: Option<String>,
    pub seed: u64,
    runs: Option<usize>,
    pub is_quick: bool,
    is_verbose: bool,
    progress: Progress,
    skipped: RefCell<Vec<String>>,
}

/// A table of numbers whose last column is predicted.
pub struct Set {
    pub name: String,
    pub frame: Frame,
    pub roles: Roles,
    /// The largest target: errors are divided by it.
    pub largest: f64,
}

impl Setting {
    pub fn new(options: &ExperimentOptions, common: &Common) -> Self {
        let ExperimentOptions { data, runs, quick, .. } = options;
        Setting {
            data: data.clone(),
            seed: common.seed,
            runs: *runs,
            is_quick: *quick,
            is_verbose: common.verbose,
            progress: Progress::start(common.quiet),
            skipped: RefCell::default(),
        }
    }

    /// How often, where the paper says `usual`.
    pub fn runs(&self, usual: usize) -> usize {
        self.runs.unwrap_or(if self.is_quick { usual.min(2) } else { usual })
    }

    /// The seed of a run.
    pub fn seed_of(&self, run: usize) -> u64 {
        self.seed.wrapping_mul(1000).wrapping_add(run as u64)
    }

    /// What is being done, for whoever waits.
    pub fn say(&self, text: String) {
        let _ = self.progress.observer_of(text);
    }

    /// With --verbose: what was done and how long it took.
    pub fn note(&self, text: &str, since: Instant) {
        if self.is_verbose {
            say!("{text}: {:.1} s", since.elapsed().as_secs_f64());
        }
    }

    pub fn skipped(&self) -> Vec<String> {
        self.skipped.borrow().clone()
    }

    /// Those of the sets that are there.
    pub fn sets(&self, names: &[&str]) -> anyhow::Result<Vec<Set>> {
        let mut found = Vec::new();
        for name in names {
            found.extend(self.set(name)?);
        }
        Ok(found)
    }

    /// A set from the folder, or `friedman1` from its formula; `None` is remembered as skipped.
    pub fn set(&self, name: &str) -> anyhow::Result<Option<Set>> {
        let frame = if name == "friedman1" || name == NOISE_FREE {
            let rows = if self.is_quick { QUICK_ROWS } else { SYNTHETIC_ROWS };
            let noise = if name == NOISE_FREE { 0.0 } else { 1.0 };
            generator("friedman1")?.frame(rows, noise, self.seed)?
        } else {
            let path = self.data.as_ref().map(|folder| format!("{folder}/{name}.csv"));
            let Some(path) = path.filter(|path| Path::new(path).is_file()) else {
                let mut skipped = self.skipped.borrow_mut();
                if !skipped.iter().any(|known| known == name) {
                    skipped.push(name.to_owned());
                }
                return Ok(None);
            };
            let frame = mercer_io::read(&path, &mercer_io::ReadOptions::default())?.frame;
            match self.is_quick {
                true => frame.select_rows(&divide(frame.rows(), 1.0, self.seed).0[..QUICK_ROWS.min(frame.rows())]),
                false => frame,
            }
        };
        Set::new(name, frame).map(Some)
    }
}

impl Set {
    pub fn new(name: &str, frame: Frame) -> anyhow::Result<Self> {
        let Some(target) = frame.names().last().cloned() else { anyhow::bail!("{name}: the table has no columns") };
        let Column::Number(y) = frame.column(&target)? else {
            anyhow::bail!("{name}: the last column, {target}, must hold numbers");
        };
        let largest = y.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        anyhow::ensure!(largest > 0.0, "{name}: the largest {target} must be above 0, as errors are divided by it");
        anyhow::ensure!(frame.rows() >= 20, "{name}: at least 20 rows are needed; got {}", frame.rows());
        let roles = Roles { targets: vec![target], ..Roles::default() };
        Ok(Set { name: name.to_owned(), frame, roles, largest })
    }

    pub fn rows(&self) -> usize {
        self.frame.rows()
    }

    /// The targets of some rows.
    pub fn targets(&self, rows: &[usize]) -> Vec<f64> {
        match self.frame.column(&self.roles.targets[0]) {
            Ok(Column::Number(y)) => rows.iter().map(|row| y[*row]).collect(),
            _ => Vec::new(),
        }
    }

    /// Rows to learn from and rows to test on, decomposed once.
    pub fn split(&self, fit: &Fit, (training, test): (&[usize], &[usize])) -> mercer::Result<Split> {
        Split::of(fit, &self.frame.select_rows(training), &self.frame.select_rows(test), &self.roles)
    }
}

/// The Gaussian kernel whose ℓ² is half the mean squared distance.
fn gaussian() -> Fit {
    Fit::new(mercer::kernel::radial::Gaussian::with_profile(
        mercer::kernel::radial::GaussianProfile,
        mercer::kernel::radial::Lengthscale::Mean,
    ))
}

/// The paper's model: features as they are, no offset.
pub fn published() -> Fit {
    gaussian().scale(Scale::None).without_offset()
}

/// Ours: standardised, with offset.
pub fn standardised() -> Fit {
    gaussian().scale(Scale::Standard)
}

pub fn ten_folds() -> mercer::Result<Criterion> {
    Criterion::parse("kfold:10")
}

/// The paper's seven λ for M-RLSR.
pub fn seven_lambdas() -> mercer::Result<Vec<f64>> {
    range::log_spaced("lambda", "1e-5..1e2:7")
}
