//! `mercer fit`

mod settings;

use std::io::Write;
use std::sync::Arc;
use std::time::Instant;

use mercer::assess::{self, Assessment};
use mercer::auto::{BUDGET, Trial};
use mercer::criterion::FoldRule;
use mercer::data::{Frame, Roles};
use mercer::importance::Importance;
use mercer::journal::SharedJournal;
use mercer::{DataFile, Fitted, Model, format};
use mercer_io::Table;

use crate::args::{Common, FitOptions};
use crate::journal::{self, FileJournal};
use crate::outcome::Done;
use crate::progress::Progress;
use crate::{files, json, learn, linear, moments, provenance, report, surface};
pub use settings::{Settings, by_itself, kernels, named};

/// What a run found.
pub struct Found {
    pub fitted: Fitted,
    /// What an automatic search did.
    pub search: Option<Search>,
    pub assessment: Option<(FoldRule, Assessment)>,
    /// All of it, reading included.
    pub seconds: f64,
}

impl Found {
    /// What is odd about the table, the fit or its assessment.
    pub fn notes(&self) -> Vec<String> {
        let rule = self.assessment.as_ref().map(|(rule, _)| rule);
        let fitted = &self.fitted;
        report::notes::of(&fitted.notes(), &fitted.design, fitted.model.summaries(), rule)
    }
}

/// What an automatic search did.
pub struct Search {
    pub trials: Vec<Trial>,
    pub ran_out: bool,
    pub importance: Option<Importance>,
    /// The share of each feature in the mean squared gradient.
    pub mean_gradient: Vec<(String, f64)>,
    /// Seconds that it was given.
    pub budget: f64,
    /// Seconds of `--budget`, which the searches of an assessment share.
    pub total: f64,
}

pub fn run(options: &FitOptions, common: &Common) -> anyhow::Result<Done> {
    let started = Instant::now();
    if let Some(path) =
        options.from_moments.as_ref().or_else(|| Some(&options.table).filter(|path| moments::is_here(path)))
    {
        check_places(options)?;
        return moments::fit(options, common, path);
    }
    let mut options = learn::aliases::spelled_out(options)?;
    // Whether --loss squared is for numbers or classes only the table can tell.
    let linear = options.penalties.of_linear_fit().cloned();
    if let Some(penalty) = &linear {
        linear::check(&options, penalty)?;
    } else {
        refuse_without_penalty(&options)?;
    }
    let is_learned = linear.is_none() && learn::is_asked_for(&options);
    let is_open = linear.is_none() && !is_learned && options.losses.loss.is_some();
    if is_learned {
        learn::check(&options)?;
    } else if !is_open && linear.is_none() {
        check(&options)?;
    }
    check_places(&options)?;
    let held = files::check_size(&options.table, &options.reading.to_read_options(), options.rows.memory)?;
    let (mut table, file) = read(&options, &options.table)?;
    if let Some(memory) = &mut options.rows.memory {
        *memory = memory.saturating_sub(held).max(1);
    }
    let mut origin = provenance::of_run(common, file.into_iter().collect());
    let roles = options.columns.to_roles(&table.frame)?;
    if linear.is_some() {
        return linear::run(&options, common, &table.frame, &roles, &origin, started);
    }
    if is_open && learn::is_meant(&options, &table.frame, &roles) {
        options.losses.classify = true;
        learn::check(&options)?;
    } else if is_open {
        check(&options)?;
    }
    if is_learned || options.losses.classify {
        if let [target] = &roles.targets[..] {
            table.keep_labels(target);
        }
        return learn::run(&options, common, &table.frame, &roles, &origin, started);
    }
    let options = &options;
    let more = options.unlabelled.as_ref().map(|path| read(options, path)).transpose()?;
    let unlabelled = more.map(|(table, file)| {
        origin.data.extend(file);
        table.frame
    });

    let settings = Settings::new(options, common, unlabelled.as_ref());
    let journal = match &options.journal {
        Some(path) => {
            let run = settings::fingerprint(options, common, &table.frame, &roles, unlabelled.as_ref());
            Some(Arc::new(FileJournal::open(path, run)?))
        }
        None => None,
    };
    if let Some(journal) = journal.as_ref().filter(|journal| journal.found > 0 && !common.quiet) {
        say!("note: going on with {} finished pieces of work from the journal", journal.found);
    }
    let mut found = carry_out(options, common, &settings, &table.frame, &roles, journal.clone())
        .map_err(|error| learn::advised(error, options, common, &table.frame, &roles))?;
    found.seconds = started.elapsed().as_secs_f64();
    if let (Some(search), Some(budget)) = (&mut found.search, options.budget) {
        search.total = budget.as_secs_f64();
    }
    found.fitted.model.set_provenance(origin);
    if let Some(failure) = journal.and_then(|journal| journal.failure()) {
        say!("warning: {failure}");
    }

    conclude(
        options,
        common,
        &found.fitted.model,
        &Results {
            tried: &|| surface::frame(&found),
            json: &|| json::fit(&found),
            page: &|saved| report::fit::page(&found, options, common, saved),
        },
    )
}

/// A table, and its name and fingerprint where a model is kept that says what it was fitted to.
fn read(options: &FitOptions, path: &str) -> anyhow::Result<(Table, Option<DataFile>)> {
    let keeps = options.output.is_some() || options.json;
    let of_bytes = |bytes: &[u8]| keeps.then(|| DataFile::of_bytes(path, bytes));
    let (table, file) = mercer_io::read_and(path, &options.reading.to_read_options(), of_bytes)?;
    files::notes(path, &table.notes);
    Ok((table, file))
}

/// The place and size of a model that was saved.
pub type Saved<'a> = Option<(&'a str, usize)>;

/// What is made of a fit, each only if it is asked for.
pub struct Results<'a> {
    /// Every point that was tried, as a table.
    pub tried: &'a dyn Fn() -> mercer::Result<Frame>,
    pub json: &'a dyn Fn() -> String,
    /// The report.
    pub page: &'a dyn Fn(Saved<'_>) -> String,
}

/// Saves, writes and prints what was asked for, and says whether the certificates hold.
pub fn conclude(options: &FitOptions, common: &Common, model: &Model, results: &Results<'_>) -> anyhow::Result<Done> {
    let bytes = options.output.as_ref().map(|_| format::to_bytes(model)).transpose()?;
    if let (Some(path), Some(bytes)) = (&options.output, &bytes) {
        files::save(path, bytes)?;
    }
    if let Some(path) = &options.surface {
        mercer_io::write_frame(path, &(results.tried)()?)?;
    }
    let saved = options.output.as_deref().zip(bytes.as_ref().map(Vec::len));
    let text = if options.json { (results.json)() } else { (results.page)(saved) };
    print(&text, options, common)?;
    Ok(certified(model, common))
}

/// A model or a table on standard output leaves no room for a report there.
fn print(text: &str, options: &FitOptions, common: &Common) -> anyhow::Result<()> {
    let to_stderr = [&options.output, &options.surface].into_iter().flatten().any(|path| path == "-");
    if !common.quiet || options.json {
        if to_stderr { say!("{}", text.trim_end()) } else { write!(std::io::stdout(), "{text}")? }
    }
    Ok(())
}

/// Refuses what only a penalty of linear functions gives a meaning, and constraints where λ is no ridge.
fn refuse_without_penalty(options: &FitOptions) -> anyhow::Result<()> {
    let bounds = &options.penalties;
    let is_bounded = bounds.norm_at_most.is_some() || bounds.train_error_at_most.is_some();
    let name = if bounds.norm_at_most.is_some() { "--norm-at-most" } else { "--train-error-at-most" };
    learn::refuse(&[
        ("--gamma", "is the matrix of --penalty tikhonov", bounds.gamma.is_some()),
        (
            "--features poly",
            "is for linear fits: --method ols, lasso, … (a kernel has monomials: --kernel polynomial)",
            options.columns.degree().is_some(),
        ),
        (name, "is for the squared loss on numbers", is_bounded && learn::is_asked_for(options)),
        (name, "is a ridge's twin: it has exponent 2", is_bounded && options.exponent.is_some()),
        (
            name,
            "decides λ itself; there is nothing to choose by --criterion",
            is_bounded && options.criterion.is_some(),
        ),
        (
            name,
            "decides λ itself; --budget is the time of the automatic search",
            is_bounded && options.budget.is_some(),
        ),
        (name, "takes one kernel", is_bounded && options.kernel.iter().map(|k| k.0.len()).sum::<usize>() > 1),
        (
            name,
            "decides λ itself; --one-standard-error, --on-grid and --table need something to choose",
            is_bounded && (options.one_standard_error || options.on_grid || options.surface.is_some()),
        ),
    ])
}

/// Refuses options that do not go with a fit by the squared loss to numbers.
pub fn check(options: &FitOptions) -> anyhow::Result<()> {
    settings::check(options)?;
    learn::refuse_without_loss(options)
}

/// The fit on all rows, and if asked for once more without each fold.
fn carry_out(
    options: &FitOptions,
    common: &Common,
    settings: &Settings,
    frame: &Frame,
    roles: &Roles,
    journal: Option<Arc<FileJournal>>,
) -> anyhow::Result<Found> {
    let journal = journal.map(|journal| -> SharedJournal { journal });
    let budget = options.is_automatic().then(|| options.budget.unwrap_or(BUDGET));
    let progress = Progress::within(common.quiet, budget);
    // Folds come first: whether they can be drawn is known before any work.
    let folds = match &options.assess {
        Some(rule) => Some((*rule, assess::outer_folds(frame, roles, rule, common.seed)?)),
        None => None,
    };
    let parts = folds.as_ref().map_or(0, |(_, folds)| folds.groups.len());
    let settings = settings.shared_among(parts + 1);
    let (fitted, search) =
        settings.fit(frame, roles, journal.clone(), progress.observer(), progress.search_observer())?;
    let assessment = match folds {
        Some((rule, folds)) => {
            let assessment = assess::assess(frame, roles, &folds, |training, fold| {
                let stage = format!("assessing, fold {} of {parts}", fold + 1);
                if common.verbose {
                    say!("{stage}");
                }
                let inner = journal.as_ref().map(|journal| journal::part(journal, &format!("fold {}", fold + 1)));
                let watched = (progress.observer_of(stage), progress.search_observer());
                Ok(settings.fit(training, roles, inner, watched.0, watched.1)?.0.model)
            })?;
            Some((rule, assessment))
        }
        None => None,
    };
    Ok(Found { fitted, search, assessment, seconds: 0.0 })
}

fn check_places(options: &FitOptions) -> anyhow::Result<()> {
    if let Some(path) = &options.output {
        files::check_model_place(path)?;
    }
    options.surface.as_deref().map_or(Ok(()), files::check_table_place)?;
    options.journal.as_deref().map_or(Ok(()), files::check_folder)?;
    Ok(())
}

/// Says why, if a certificate does not hold.
pub fn certified(model: &Model, common: &Common) -> Done {
    let mut done = Done::Certified;
    for summary in model.summaries() {
        if let Some(reason) = &summary.certificate.reason {
            say!("without certificate ({}): {reason}", summary.target);
            done = Done::Uncertified;
        }
        // Of a constant target the report has said so.
        let [low, high] = summary.target_range;
        if summary.is_zero && low < high && !common.quiet {
            let constant = match (summary.has_offset, summary.train_loss) {
                (true, None) => "the mean",
                (true, Some(_)) => "the best constant",
                (false, _) => "0",
            };
            say!(
                "note: for {} at exponent {} and λ = {} the zero function has the lowest objective; the model predicts {constant}",
                summary.target,
                summary.exponent,
                summary.lambda
            );
        }
    }
    done
}
