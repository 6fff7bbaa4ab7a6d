//! From options to a decided run.

use std::time::Duration;

use mercer::auto::{BUDGET, SearchObserver};
use mercer::criterion::Criterion;
use mercer::data::{Frame, Roles, Scale};
use mercer::journal::SharedJournal;
use mercer::kernel::{self, SharedKernel};
use mercer::solver::constrained::Constraint;
use mercer::{Fit, Fitted, Observer};

use super::Search;
use crate::args::{Common, FitOptions, RowOptions, ScaleArgument, TextArgument};
use crate::journal::Fingerprint;
use crate::outcome::Usage;

/// A fit that can be carried out on any rows of a table.
#[derive(Clone)]
pub struct Settings {
    pub fit: Fit,
    /// The time of the automatic search, if there is one.
    pub budget: Option<Duration>,
}

/// Refuses options that do not go together, before anything is read.
pub fn check(options: &FitOptions) -> anyhow::Result<()> {
    let refuse = |text: &str| Err(Usage(text.to_owned()).into());
    if let (Some(criterion), Some(_)) = (&options.criterion, options.budget)
        && !criterion.is_forward()
    {
        let spec = criterion.spec();
        return refuse(&format!(
            "--budget cannot be used with --criterion {spec}: an automatic fit chooses by folds and leave-one-out, or with rows in \
             order of time by --criterion forward:5; name a --kernel to use {spec}"
        ));
    }
    if options.is_automatic() {
        let only_named = [
            ("--scale", "which standardises the features itself", options.scale.is_some()),
            ("--on-grid", "which has no grid", options.on_grid),
            ("--one-standard-error", "which takes the least error", options.one_standard_error),
            ("--unlabelled", "which chooses by held-out rows", options.unlabelled.is_some()),
            ("--shared-ridge", "which gives every target its own ridge", options.shared_ridge),
            ("--solver", "which chooses the solver of every candidate itself", options.solver.is_some()),
            (
                "--text equality",
                "which makes one feature of every category",
                options.rows.text == TextArgument::Equality,
            ),
        ];
        if let Some((option, why, _)) = only_named.into_iter().find(|(_, _, is_given)| *is_given) {
            return refuse(&format!(
                "{option} cannot be combined with an automatic fit, {why}; name a --kernel to use it"
            ));
        }
    }
    if let Some(exponent) = options.exponent.iter().flat_map(|numbers| &numbers.0).find(|m| **m <= 1.0)
        && options.by_gradients()
    {
        let why = "others may have several minima, which only a spectrum tells apart";
        return refuse(&format!("--solver conjugate-gradients needs an --exponent above 1; got {exponent}: {why}"));
    }
    let needs_more = options.criterion.as_ref().filter(|criterion| criterion.needs_unlabelled());
    if let (Some(criterion), None) = (needs_more, &options.unlabelled) {
        return refuse(&format!("the criterion {} needs rows without target: --unlabelled FILE", criterion.spec()));
    }
    if options.is_fixed() && !options.is_automatic() {
        let choosing = [
            ("--table", options.surface.is_some()),
            ("--one-standard-error", options.one_standard_error),
            ("--on-grid", options.on_grid),
        ];
        if let Some((option, _)) = choosing.into_iter().find(|(_, is_given)| *is_given) {
            let text = "needs something to choose: leave --lambda out or give it a range such as 1e-7..1e3:25";
            return refuse(&format!("{option} {text}"));
        }
    }
    match (options.output.as_deref(), options.surface.as_deref()) {
        (Some("-"), Some("-")) => refuse("--output and --table cannot both be standard output"),
        _ => Ok(()),
    }
}

impl Settings {
    pub fn new(options: &FitOptions, common: &Common, unlabelled: Option<&Frame>) -> Self {
        if options.is_automatic() {
            let mut automatic = by_itself(&options.rows, common.seed);
            if let Some(exponents) = &options.exponent {
                automatic = automatic.exponents(&exponents.0);
            }
            automatic = match (options.rank, options.accuracy, options.exact) {
                (Some(rank), _, _) => automatic.rank(rank),
                (_, Some(accuracy), _) => automatic.accuracy(accuracy),
                (_, _, true) => automatic.exact(),
                _ => automatic,
            };
            if options.clip {
                automatic = automatic.clip();
            }
            // Forward chaining; others were refused.
            if let Some(criterion) = &options.criterion {
                automatic = automatic.criterion(criterion.clone());
            }
            if let Some(by) = options.landmarks_by {
                automatic = automatic.landmarks_by(by.into());
            }
            return Settings { fit: automatic, budget: Some(options.budget.unwrap_or(BUDGET)) };
        }
        let mut fit = named(kernels(options), options.scale, &options.rows).seed(common.seed);
        if let Some(exponents) = &options.exponent {
            fit = fit.exponents(&exponents.0);
        }
        if let Some(lambdas) = &options.lambda {
            fit = fit.lambdas(&lambdas.0);
        }
        if let Some(criterion) = &options.criterion {
            fit = fit.criterion(criterion.clone());
        }
        if let Some(frame) = unlabelled {
            fit = fit.unlabelled(frame.clone());
        }
        if let Some(rule) = options.metric {
            fit = fit.learn_metric(rule);
        }
        if options.on_grid {
            fit = fit.on_grid();
        }
        if options.one_standard_error {
            fit = fit.one_standard_error();
        }
        if options.shared_ridge {
            fit = fit.shared_ridge();
        }
        if options.clip {
            fit = fit.clip();
        }
        if let Some(bound) = options.penalties.norm_at_most {
            fit = fit.subject_to(Constraint::NormAtMost(bound));
        }
        if let Some(bound) = options.penalties.train_error_at_most {
            fit = fit.subject_to(Constraint::TrainErrorAtMost(bound));
        }
        if options.no_diagnostics {
            fit = fit.without_diagnostics();
        }
        fit = match (options.rank, options.accuracy, options.exact) {
            (Some(rank), _, _) => fit.rank(rank),
            (_, Some(accuracy), _) => fit.accuracy(accuracy),
            (_, _, true) => fit.exact(),
            _ => fit,
        };
        if options.by_gradients() {
            fit = fit.conjugate_gradients();
        }
        if let Some(accuracy) = options.losses.tolerance {
            fit = fit.accuracy_of_gradients(accuracy);
        }
        if let Some(by) = options.landmarks_by {
            fit = fit.landmarks_by(by.into());
        }
        Settings { fit, budget: None }
    }

    /// The same for one of several parts of a run, which share its time.
    pub fn shared_among(&self, parts: usize) -> Self {
        Settings { fit: self.fit.clone(), budget: self.budget.map(|budget| budget / parts.max(1) as u32) }
    }

    pub fn fit(
        &self,
        frame: &Frame,
        roles: &Roles,
        journal: Option<SharedJournal>,
        observer: Observer,
        search: SearchObserver,
    ) -> mercer::Result<(Fitted, Option<Search>)> {
        let mut fit = self.fit.clone().observer(observer);
        if let Some(journal) = journal {
            fit = fit.journal(journal);
        }
        let Some(budget) = self.budget else { return Ok((fit.fit_frame(frame, roles)?, None)) };
        let mut fitted = fit.budget(budget).search_observer(search).fit_frame(frame, roles)?;
        let found = fitted.search.take().unwrap_or_default();
        let search = Search {
            trials: found.trials,
            ran_out: found.ran_out,
            importance: found.importance,
            mean_gradient: found.mean_gradient,
            budget: budget.as_secs_f64(),
            total: budget.as_secs_f64(),
        };
        Ok((fitted, Some(search)))
    }
}

/// A fit with named kernels, and what a person with a table expects.
pub fn named(kernels: Vec<SharedKernel>, scale: Option<ScaleArgument>, rows: &RowOptions) -> Fit {
    // The library takes features as they are; a person with a table is better served by standardising. Splines need
    // features of at least 0, also among other kernels.
    let is_spline = kernels.iter().any(|kernel| kernel.needs_nonnegative());
    let default = if is_spline { Scale::Unit } else { Scale::Standard };
    let mut fit = Fit::new(kernel::radial::Gaussian::lengthscale(1.0))
        .kernels(kernels)
        .scale(scale.map_or(default, Scale::from))
        .missing(rows.missing.into())
        .text_as(rows.text.into());
    if rows.no_offset {
        fit = fit.without_offset();
    }
    if let Some(memory) = rows.memory {
        fit = fit.memory(memory);
    }
    fit
}

/// An automatic search on rows that are read like this.
pub fn by_itself(rows: &RowOptions, seed: u64) -> Fit {
    let mut automatic = Fit::automatic().missing(rows.missing.into()).text_as(rows.text.into()).seed(seed);
    if rows.no_offset {
        automatic = automatic.without_offset();
    }
    if let Some(memory) = rows.memory {
        automatic = automatic.memory(memory);
    }
    automatic
}

/// The kernels to choose from; the Gaussian one if none is named.
pub fn kernels(options: &FitOptions) -> Vec<SharedKernel> {
    let named: Vec<SharedKernel> = options.kernel.iter().flat_map(|argument| argument.0.clone()).collect();
    match named.is_empty() {
        true => kernel::parse("gaussian").into_iter().collect(),
        false => named,
    }
}

/// Everything that the numbers of a run depend on: data, roles and settings, but neither threads nor file names.
pub fn fingerprint(
    options: &FitOptions,
    common: &Common,
    frame: &Frame,
    roles: &Roles,
    unlabelled: Option<&Frame>,
) -> Fingerprint {
    let kernels: Vec<String> = match options.is_automatic() {
        true => vec!["automatic".into()],
        false => kernels(options).iter().map(|kernel| kernel.spec()).collect(),
    };
    let criterion = options.criterion.as_ref().map(Criterion::spec);
    let named = format!(
        "{kernels:?} {:?} {:?} {:?} {criterion:?} {:?} {} {} {} {} {:?}{}",
        options.metric,
        options.exponent,
        options.lambda,
        options.scale,
        options.on_grid,
        options.one_standard_error,
        options.shared_ridge,
        options.no_diagnostics,
        (options.penalties.norm_at_most, options.penalties.train_error_at_most),
        match options.reduction() {
            Some(option) => {
                let tolerance =
                    options.losses.tolerance.map_or_else(String::new, |tolerance| format!(" {tolerance:?}"));
                format!(" {option} {:?} {:?} {:?}{tolerance}", options.rank, options.accuracy, options.landmarks_by)
            }
            None if options.by_gradients() => format!(" --solver {:?}", options.losses.tolerance),
            None => String::new(),
        }
    );
    let clip = if options.clip { " clipped" } else { "" };
    let rows = format!("{} {:?} {:?}{clip}", options.rows.no_offset, options.rows.text, options.rows.missing);
    let run = format!("{} {:?} {:?}", common.seed, options.budget, options.assess);
    let settings = Fingerprint::new().text(&named).text(&rows).text(&run).text(&format!("{roles:?}"));
    let data = settings.frame(frame);
    match unlabelled {
        Some(more) => data.text("unlabelled").frame(more),
        None => data,
    }
}
