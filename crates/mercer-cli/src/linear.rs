//! `mercer fit` with a penalty of its own: least squares, Tikhonov, Lasso, elastic net, kernel Lasso.

mod settings;

use std::time::Instant;

use mercer::criterion::FoldRule;
use mercer::data::{Frame, Roles};
use mercer::{Fit, Fitted, Provenance, assess as folds};

use crate::args::{Common, FitOptions};
use crate::fit::{Results, conclude};
use crate::learn::assess::{self, Assessment};
use crate::outcome::Done;
use crate::progress::Progress;
use crate::{json, learn, report, surface};
pub use settings::{check, with};

/// What a run found.
pub struct Found {
    pub fitted: Fitted,
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

pub fn run(
    options: &FitOptions,
    common: &Common,
    frame: &Frame,
    roles: &Roles,
    origin: &Provenance,
    started: Instant,
) -> anyhow::Result<Done> {
    let fit = settings::fit(options, common)?;
    let mut found = carry_out(&fit, options, common, frame, roles)
        .map_err(|error| learn::advised(error.into(), options, common, frame, roles))?;
    found.seconds = started.elapsed().as_secs_f64();
    found.fitted.model.set_provenance(origin.clone());
    conclude(
        options,
        common,
        &found.fitted.model,
        &Results {
            tried: &|| surface::linear(&found.fitted),
            json: &|| json::linear::fit(&found),
            page: &|saved| report::linear::page(&found, options, saved),
        },
    )
}

/// The fit on all rows, and if asked for once more without each fold.
fn carry_out(fit: &Fit, options: &FitOptions, common: &Common, frame: &Frame, roles: &Roles) -> mercer::Result<Found> {
    let progress = Progress::start(common.quiet);
    let outer = options.assess.map(|rule| folds::outer_folds(frame, roles, &rule, common.seed)).transpose()?;
    let fitted = fit.clone().observer(progress.observer()).fit_frame(frame, roles)?;
    let assessment = match options.assess.zip(outer) {
        Some((rule, outer)) => {
            let parts = outer.groups.len();
            let assessment = assess::assess(frame, roles, &outer, |training, fold| {
                let stage = format!("assessing, fold {} of {parts}", fold + 1);
                Ok(fit.clone().observer(progress.observer_of(stage)).fit_frame(training, roles)?.model)
            })?;
            Some((rule, assessment))
        }
        None => None,
    };
    Ok(Found { fitted, assessment, seconds: 0.0 })
}
