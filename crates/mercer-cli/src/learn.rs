//! `mercer fit` with a loss: any of `mercer list losses`, for numbers, quantiles and classes.

pub mod aliases;
pub mod assess;
mod settings;

use std::time::Instant;

use mercer::criterion::FoldRule;
use mercer::data::{Classes, Frame, Roles};
use mercer::{Error, Fitted, Provenance, assess as folds};

use self::assess::Assessment;
use crate::args::{Common, FitOptions};
use crate::fit::{Results, conclude};
use crate::outcome::{Advised, Done};
use crate::progress::Progress;
use crate::{json, report, surface};
pub use settings::{check, is_asked_for, is_meant, learner, refuse, refuse_without_loss, with};

/// What a run found.
pub struct Found {
    pub learned: Fitted,
    /// For classes: the class of every row that was used, as a place among the model's.
    pub codes: Option<Vec<usize>>,
    pub assessment: Option<(FoldRule, Assessment)>,
    /// All of it, reading included.
    pub seconds: f64,
}

impl Found {
    /// What is odd about the table, the fit or its assessment.
    pub fn notes(&self) -> Vec<String> {
        let rule = self.assessment.as_ref().map(|(rule, _)| rule);
        let fitted = &self.learned;
        report::notes::of(&fitted.notes(), &fitted.design, fitted.model.summaries(), rule)
    }

    /// Values of each model for the rows: by models that had not seen them where there are such, else by the model.
    pub fn values(&self) -> (&[Vec<f64>], bool) {
        match self.learned.held_out.is_empty() {
            true => (&self.learned.fitted, false),
            false => (&self.learned.held_out, true),
        }
    }
}

pub fn run(
    options: &FitOptions,
    common: &Common,
    frame: &Frame,
    roles: &Roles,
    origin: &Provenance,
    started: Instant,
) -> anyhow::Result<Done> {
    let mut found = carry_out(options, common, frame, roles)
        .map_err(|error| advised(error.into(), options, common, frame, roles))?;
    found.seconds = started.elapsed().as_secs_f64();
    let separated = found.learned.separated();
    if !separated.is_empty() && !common.quiet {
        let what = match found.learned.model.classes() {
            Some(classes) if classes.names.len() == 2 => format!("the two classes of {}", separated.join(", ")),
            _ => format!("all rows of {} from the others", separated.join(", ")),
        };
        say!(
            "note: a linear function separates {what}; without a penalty the coefficients would grow without bound, and their size is \
             set by λ alone"
        );
    }
    found.learned.model.set_provenance(origin.clone());
    conclude(
        options,
        common,
        &found.learned.model,
        &Results {
            tried: &|| surface::learned(&found.learned),
            json: &|| json::learn::fit(&found),
            page: &|saved| report::learn::page(&found, options, common, saved),
        },
    )
}

/// The fit on all rows, and if asked for once more without each fold.
fn carry_out(options: &FitOptions, common: &Common, frame: &Frame, roles: &Roles) -> mercer::Result<Found> {
    let progress = Progress::start(common.quiet);
    // Folds come first: whether they can be drawn is known before any work.
    let rule = options.assess;
    let outer = rule.map(|rule| folds::outer_folds(frame, roles, &rule, common.seed)).transpose()?;
    let learn = learner(options, common);
    let learned = learn.clone().observer(progress.observer()).fit_frame(frame, roles)?;
    let codes = learned.model.classes().map(|classes| codes(frame, roles, &learned, classes)).transpose()?;
    let assessment = match rule.zip(outer) {
        Some((rule, outer)) => {
            let parts = outer.groups.len();
            let assessment = assess::assess(frame, roles, &outer, |training, fold| {
                let stage = format!("assessing, fold {} of {parts}", fold + 1);
                if common.verbose {
                    say!("{stage}");
                }
                Ok(learn.clone().observer(progress.observer_of(stage)).fit_frame(training, roles)?.model)
            })?;
            Some((rule, assessment))
        }
        None => None,
    };
    Ok(Found { learned, codes, assessment, seconds: 0.0 })
}

/// The table's classes, of which the rows in use may lack some, as places among the model's.
fn codes(frame: &Frame, roles: &Roles, learned: &Fitted, classes: &Classes) -> mercer::Result<Vec<usize>> {
    let (all, _) = Classes::read(frame, &roles.targets[0])?;
    let place = |code: &f64| classes.names.iter().position(|name| all.names.get(*code as usize) == Some(name));
    Ok(learned.design.y.col(0).iter().map(|code| place(code).unwrap_or(0)).collect())
}

/// Whether the cells of a column that are no numbers of one kind may be names.
fn may_name_classes(problem: &str) -> bool {
    ["as a mark of missing cells", "as other cells are", "write dates as", "of different kinds", "give every cell"]
        .iter()
        .any(|phrase| problem.contains(phrase))
}

/// Errors of which a fit knows the remedy.
pub fn advised(
    error: anyhow::Error,
    options: &FitOptions,
    common: &Common,
    frame: &Frame,
    roles: &Roles,
) -> anyhow::Error {
    let cause = match error.downcast::<Error>() {
        Ok(cause) => cause,
        Err(other) => return other,
    };
    let penalty = options.penalties.of_linear_fit();
    let for_classes = match penalty {
        Some(penalty) => format!(
            "the penalty {} is for numbers; if the column names classes: --loss logistic or --loss hinge in its place",
            penalty.spec()
        ),
        None => {
            let classify = if is_asked_for(options) { ", or --classify with this loss" } else { "" };
            format!("if the column names classes: --loss logistic or --loss hinge{classify}")
        }
    };
    let remedy = match &cause {
        Error::Cell { column, problem, .. }
            if problem.ends_with("is not a number") && roles.targets.contains(column) =>
        {
            Some(format!("{for_classes}; --decimal comma if \",\" is the decimal mark"))
        }
        Error::Cell { column, problem, .. } if roles.targets.contains(column) && may_name_classes(problem) => {
            Some(format!("{for_classes}; --na MARK if a word marks missing cells"))
        }
        Error::Memory { needed, .. } if penalty.is_some() => Some(match *needed <= mercer::plan::available_memory() {
            true => format!("--memory {}M allows it", needed.div_ceil(1 << 20)),
            false => "--features or --drop leave columns out".into(),
        }),
        Error::Memory { needed, .. } => Some(crate::plan::ways_out(options, common, frame, roles, *needed)),
        _ => None,
    };
    match remedy {
        Some(remedy) => Advised { cause, remedy }.into(),
        None => cause.into(),
    }
}
