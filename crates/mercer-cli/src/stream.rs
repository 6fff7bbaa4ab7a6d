//! `mercer stream`: every row is predicted, scored, and then learned.

mod page;
mod picture;
mod predictions;
mod source;

use std::io::Write;
use std::time::Instant;

use mercer::data::Frame;
use mercer::online::{Losses, Online, Revision, State};
use mercer::{Model, format};

use crate::args::{Common, StreamOptions, Style};
use crate::fit::{certified, named};
use crate::outcome::{Done, Usage};
use crate::progress::Progress;
use crate::report::{integer, short};
use crate::{files, provenance};
use predictions::Predictions;
use source::{Event, Source};

/// Rows that are read at a time from a file.
const PART: usize = 256;

/// The stream at one moment.
struct Report {
    state: State,
    losses: Losses,
}

/// What a run found.
struct Found {
    target: String,
    dropped: usize,
    warm_up: usize,
    /// At the rows that were asked for, and at the last.
    reports: Vec<Report>,
    /// Rows, and the errors so far, of the recent rows, and of the running mean: what is drawn.
    curve: Vec<(usize, [f64; 3])>,
    /// The largest difference from the fit of all rows at once, in units of the target's spread, where rows are kept.
    batch_difference: Option<f64>,
    model: Model,
    /// Where the scaling was revised.
    revisions: Vec<Revision>,
    /// Rows that were read.
    read: usize,
    /// The exit code of the signal that ended the stream.
    interrupted: Option<u8>,
    seconds: f64,
}

pub fn run(options: &StreamOptions, common: &Common) -> anyhow::Result<Done> {
    let started = Instant::now();
    if let Some(path) = &options.output {
        files::check_model_place(path)?;
    }
    for path in [&options.predictions, &options.svg].into_iter().flatten() {
        files::check_folder(path)?;
    }
    check(options)?;
    let source = Source::open(options)?;
    if options.table == "-" && !common.quiet && !options.json {
        let rows = integer(options.warm_up);
        say!("waiting for the first {rows} rows (--warm-up), which are not predicted");
    }
    let first = match source.next(options.warm_up)? {
        Event::Rows(Some(rows)) => rows,
        Event::Rows(None) => anyhow::bail!("the table has no rows; at least one is needed"),
        Event::Signal(code) => {
            say!("interrupted before the first {} rows were there; nothing is saved", integer(options.warm_up));
            return Ok(Done::Interrupted(code));
        }
    };
    let progress = Progress::start(common.quiet);
    let mut run = Run::new(options, common, &first, progress)?;
    run.learn(&first)?;
    let mut go_on = || -> anyhow::Result<Option<u8>> {
        loop {
            match source.next(run.next_part())? {
                Event::Rows(Some(rows)) => run.learn(&rows)?,
                Event::Rows(None) => return Ok(None),
                Event::Signal(code) => return Ok(Some(code)),
            }
        }
    };
    // What was learned before a row that cannot be read is kept, as it is when a signal comes.
    let (interrupted, failure) = match go_on() {
        Ok(interrupted) => (interrupted, None),
        Err(error) if options.output.is_some() => (None, Some(error)),
        Err(error) => return Err(error),
    };
    let (mut found, predictions) = run.end(started, interrupted)?;
    found.model.set_provenance(provenance::of_run(common, Vec::new()));
    let bytes = options.output.as_ref().map(|_| format::to_bytes(&found.model)).transpose()?;
    if let (Some(path), Some(bytes)) = (&options.output, &bytes) {
        files::save(path, bytes)?;
    }
    if let Some(predictions) = predictions {
        predictions.finish()?;
    }
    if let Some(path) = &options.svg {
        files::save(path, picture::svg(&found).as_bytes())?;
    }
    let text = match (options.json, options.style) {
        (true, _) => format!("{}\n", page::json(&found)),
        (false, Style::Text) => page::text(&found, options.output.as_deref().zip(bytes.as_ref().map(Vec::len))),
        (false, style) => page::grid(&found).render(style),
    };
    let to_stderr = [&options.output, &options.predictions, &options.svg].into_iter().flatten().any(|p| p == "-");
    if !common.quiet || options.json {
        if to_stderr { say!("{}", text.trim_end()) } else { write!(std::io::stdout(), "{text}")? }
    }
    let done = certified(&found.model, common);
    if let (Some(error), Some(path)) = (failure, &options.output) {
        say!(
            "the stream ends at a row that cannot be read; the model of the {} rows before it is saved in {path}",
            integer(found.read)
        );
        return Err(error);
    }
    let Some(code) = interrupted else { return Ok(done) };
    let saved = options.output.as_ref().map_or_else(String::new, |path| format!("; the model is saved in {path}"));
    say!("interrupted after {} rows{saved}", integer(found.read));
    Ok(Done::Interrupted(code))
}

/// Refuses what has no meaning row by row.
fn check(options: &StreamOptions) -> anyhow::Result<()> {
    let columns = &options.columns;
    let place = |path: &String| std::fs::canonicalize(path).ok();
    if let Some(path) = options.predictions.as_ref().filter(|path| *path != "-" && options.table != "-")
        && place(path).is_some_and(|file| Some(file) == place(&options.table))
    {
        return Err(Usage(format!("--predictions cannot be {path}, the table that is read")).into());
    }
    for (name, is_given) in [
        ("--weight", columns.weight.is_some()),
        ("--group", columns.group.is_some()),
        ("--features poly", columns.degree().is_some()),
    ] {
        if is_given {
            return Err(Usage(format!("{name} is not for `mercer stream`, whose rows count the same")).into());
        }
    }
    match options.exact_rows < options.warm_up {
        true => Err(Usage(format!(
            "--exact-rows must be at least the rows of --warm-up ({}); got {}",
            options.warm_up, options.exact_rows
        ))
        .into()),
        false => Ok(()),
    }
}

struct Run<'a> {
    options: &'a StreamOptions,
    common: &'a Common,
    is_live: bool,
    online: Online,
    target: String,
    progress: Progress,
    /// Rows that were read.
    read: usize,
    next_report: usize,
    reports: Vec<Report>,
    curve: Vec<(usize, [f64; 3])>,
    predictions: Option<Predictions>,
    /// The row at which the model is saved next.
    next_save: Option<usize>,
    /// Revisions that were said.
    said: usize,
}

impl<'a> Run<'a> {
    fn new(options: &'a StreamOptions, common: &'a Common, first: &Frame, progress: Progress) -> anyhow::Result<Self> {
        let roles = options.columns.to_roles_of_one_target(first)?;
        let target = roles.targets[0].clone();
        let mut fit = named(options.kernel.0.clone(), options.scale, &options.rows)
            .exponent(options.exponent)
            .seed(common.seed)
            .observer(progress.observer());
        if let Some(lambda) = options.lambda {
            fit = fit.lambda(lambda);
        }
        let online = Online::new(fit, roles)?
            .warm_up(options.warm_up)?
            .exact_rows(options.exact_rows)
            .landmarks(options.landmarks)?
            .recent(options.recent);
        let mut run = Run {
            options,
            common,
            is_live: options.table == "-" && !common.quiet && !options.json && options.style == Style::Text,
            online,
            target,
            progress,
            read: 0,
            next_report: 0,
            reports: Vec::new(),
            curve: Vec::new(),
            predictions: options.predictions.as_deref().map(Predictions::to),
            next_save: options.save_every.map(|every| (options.warm_up / every + 1) * every),
            said: 0,
        };
        run.next_report = run.report_after(options.warm_up);
        Ok(run)
    }

    /// The next row at which there is a report.
    fn report_after(&self, row: usize) -> usize {
        match self.options.report_every {
            Some(step) => (row / step + 1) * step,
            None => {
                let steps = (2..10).flat_map(|power| [1, 2, 5].map(|step| step * 10_usize.pow(power)));
                steps.into_iter().find(|step| *step > row).unwrap_or(usize::MAX)
            }
        }
    }

    /// How many rows are read next: up to the next report or point of the curve, and one by one as they arrive on standard
    /// input.
    fn next_part(&self) -> usize {
        let most = if self.options.table == "-" { 1 } else { PART.min(self.read / 50) };
        let next = self.next_save.map_or(self.next_report, |row| row.min(self.next_report));
        most.min(next - self.read).max(1)
    }

    fn learn(&mut self, rows: &Frame) -> anyhow::Result<()> {
        let predictions = self.online.observe(rows)?;
        self.read += rows.rows();
        if let Some(to) = &mut self.predictions {
            to.add(rows, &self.target, predictions)?;
        }
        for revision in self.online.revisions().iter().skip(self.said).filter(|_| !self.common.quiet) {
            say!("note: {}", page::revision(revision));
        }
        self.said = self.online.revisions().len();
        self.trace();
        if self.read >= self.next_report {
            self.report();
            self.next_report = self.report_after(self.read);
        }
        if let (Some(path), Some(every), Some(row)) = (&self.options.output, self.options.save_every, self.next_save)
            && self.read >= row
        {
            self.next_save = Some((self.read / every + 1) * every);
            // A copy, so that a run that is saved on the way ends as one that is not.
            let mut model = self.online.clone().model()?;
            model.set_provenance(provenance::of_run(self.common, Vec::new()));
            files::save(path, &format::to_bytes(&model)?)?;
        }
        Ok(())
    }

    /// A point of the curve when there are a fiftieth more rows than at the last.
    fn trace(&mut self) {
        let losses = self.online.losses();
        let last = self.curve.last().map_or(0, |(rows, _)| *rows);
        let Some(rmse) = losses.rmse() else { return };
        if self.read as f64 >= 1.02 * last as f64 {
            let others = [losses.recent_rmse(), losses.mean_rmse()].map(|value| value.unwrap_or(f64::NAN));
            self.curve.push((self.read, [rmse, others[0], others[1]]));
            self.progress.show(format!("{} rows, RMSE so far {}", integer(self.read), short(rmse)));
        }
    }

    fn report(&mut self) {
        let Some(state) = self.online.state() else { return };
        let report = Report { state, losses: self.online.losses().clone() };
        if self.is_live {
            say!("{}", page::line(&report));
        }
        self.reports.push(report);
    }

    fn end(mut self, started: Instant, interrupted: Option<u8>) -> anyhow::Result<(Found, Option<Predictions>)> {
        self.online.end_warm_up()?;
        let rows = |reports: &[Report]| reports.last().map(|report| report.state.rows);
        if rows(&self.reports) != self.online.state().map(|state| state.rows) {
            self.report();
        }
        let mut batch_difference = None;
        if interrupted.is_none() {
            self.progress.show("comparing with all rows at once".into());
            batch_difference = self.online.difference_from_batch().transpose()?;
        }
        let found = Found {
            target: self.target,
            dropped: self.online.dropped(),
            warm_up: self.options.warm_up.min(self.read),
            reports: self.reports,
            curve: self.curve,
            batch_difference,
            revisions: self.online.revisions().to_vec(),
            read: self.read,
            interrupted,
            model: self.online.model()?,
            seconds: started.elapsed().as_secs_f64(),
        };
        Ok((found, self.predictions))
    }
}
