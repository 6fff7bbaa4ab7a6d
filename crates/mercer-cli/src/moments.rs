//! `mercer moments`, `merge`, `update`, and `fit` on a file of moments: tables larger than memory.

mod sample;

use std::io::Write;
use std::time::Instant;

use anyhow::Context;
use mercer::data::{Column, Frame, Scale};
use mercer::low_rank::Landmarks;
use mercer::moments::{MomentFit, Moments, Pilot, Solved};
use mercer::{DataFile, Model};
use serde_json::{Value, json};

use crate::args::{
    Common, FitOptions, MergeOptions, MissingArgument, MomentsOptions, TableOptions, TextArgument, UpdateOptions,
};
use crate::fit::{Results, certified, conclude};
use crate::outcome::{Done, Usage};
use crate::progress::Progress;
use crate::report::{Page, certificate_line, integer, low_rank_line, penalty_line, short};
use crate::{files, json as reports, learn, provenance, report};

/// Rows that are read at a time.
const PART: usize = 1 << 16;

/// What was done, and what it took.
struct Gathered {
    /// Rows that were added; none when moments were only read.
    rows: u64,
    left_out: usize,
    /// All of it.
    seconds: f64,
    /// Adding rows, reading excepted.
    adding: f64,
}

pub fn run(options: &MomentsOptions, common: &Common) -> anyhow::Result<Done> {
    let started = Instant::now();
    check_place(&options.output)?;
    let by_content = "cannot be kept: rows go to folds by their content, so that parts gathered elsewhere agree; leave it out, \
                      or use `mercer fit --rank R --group`";
    learn::refuse(&[("--group", by_content, options.columns.group.is_some())])?;
    let tables = files_of(&options.tables)?;
    let progress = Progress::start(common.quiet);
    let reading = options.reading.to_read_options();
    let weight = options.columns.weight.as_deref();
    let mut known = None;
    let mut moments = match &options.like {
        Some(path) => {
            let (like, model) = load(path)?;
            let like = like.emptied();
            check_weight(path, &like, weight)?;
            known = Some(model);
            like
        }
        None => {
            progress.show("drawing a sample".into());
            let sample = sample::draw(&tables, &reading, options.sample, PART, common.seed)?;
            let roles = options.columns.to_roles(&sample)?;
            let kernel = one_kernel(options)?;
            let default = if kernel.needs_nonnegative() { Scale::Unit } else { Scale::Standard };
            let pilot = Pilot {
                kernel,
                scale: options.scale.map_or(default, Scale::from),
                missing: options.missing.into(),
                landmarks: options.fourier.unwrap_or(options.landmarks),
                waves: options.fourier.is_some(),
                landmarks_by: options.landmarks_by.map(Landmarks::from),
                folds: options.folds,
                seed: common.seed,
            };
            progress.show(if pilot.waves { "drawing waves" } else { "choosing landmarks" }.into());
            pilot.start(&sample, &roles)?
        }
    };
    let (left_out, adding) = absorb(&mut moments, &tables, &options.reading, &progress)?;
    progress.show("solving".into());
    let solved = match (MomentFit::new().fit(&moments), known) {
        (Err(mercer::Error::Empty(_)), Some(model)) if moments.rows() > 0 => {
            // A part may be too small for a fit of its own; its sums are what is wanted.
            Solved { model, surfaces: Vec::new() }
        }
        (solved, _) => solved?,
    };
    drop(progress);
    let gathered = Gathered { rows: moments.rows(), left_out, seconds: started.elapsed().as_secs_f64(), adding };
    finish(&moments, &solved, &gathered, &options.output, options.json, common)
}

pub fn merge(options: &MergeOptions, common: &Common) -> anyhow::Result<Done> {
    let started = Instant::now();
    check_place(&options.output)?;
    let (mut sum, _) = load(&options.files[0])?;
    for path in &options.files[1..] {
        let (other, _) = load(path)?;
        sum.merge(&other).map_err(|error| anyhow::anyhow!("{path}: {error}"))?;
    }
    let solved = MomentFit::new().fit(&sum)?;
    let gathered = Gathered { rows: 0, left_out: 0, seconds: started.elapsed().as_secs_f64(), adding: 0.0 };
    finish(&sum, &solved, &gathered, &options.output, options.json, common)
}

pub fn update(options: &UpdateOptions, common: &Common) -> anyhow::Result<Done> {
    let started = Instant::now();
    let output = options.output.as_deref().unwrap_or(&options.moments);
    check_place(output)?;
    let (mut moments, _) = load(&options.moments)?;
    check_weight(&options.moments, &moments, options.weight.as_deref())?;
    let before = moments.rows();
    let progress = Progress::start(common.quiet);
    let tables = files_of(&options.tables)?;
    let (left_out, adding) = absorb(&mut moments, &tables, &options.reading, &progress)?;
    let solved = MomentFit::new().fit(&moments)?;
    drop(progress);
    let seconds = started.elapsed().as_secs_f64();
    let gathered = Gathered { rows: moments.rows() - before, left_out, seconds, adding };
    finish(&moments, &solved, &gathered, output, options.json, common)
}

/// `mercer fit` on a file of moments.
pub fn fit(options: &FitOptions, common: &Common, path: &str) -> anyhow::Result<Done> {
    let started = Instant::now();
    refuse_options(options)?;
    let (moments, _) = load(path)?;
    let file = DataFile::of_bytes(path, &std::fs::read(path)?);
    fit_loaded(options, common, &moments, file, started)
}

/// Refuses whatever says something about rows, kernels or losses: moments were gathered with their own.
fn refuse_options(options: &FitOptions) -> anyhow::Result<()> {
    let no_rows = "is fixed by the moments file; drop the option";
    let squared = "is for other losses; moments are for the squared one";
    let (columns, losses, penalties) = (&options.columns, &options.losses, &options.penalties);
    learn::refuse(&[
        ("--kernel", no_rows, !options.kernel.is_empty()),
        ("--target", no_rows, !columns.target.is_empty()),
        ("--features", no_rows, columns.features.is_some()),
        ("--scale", no_rows, options.scale.is_some()),
        ("--metric", no_rows, options.metric.is_some()),
        ("--drop", no_rows, !columns.drop.is_empty()),
        ("--weight", no_rows, columns.weight.is_some()),
        ("--group", no_rows, columns.group.is_some()),
        ("--categorical", no_rows, !columns.categorical.is_empty()),
        ("--text", no_rows, options.rows.text != TextArgument::OneHot),
        ("--missing", no_rows, options.rows.missing != MissingArgument::Error),
        ("--criterion", "is k-fold, by the folds of the moments", options.criterion.is_some()),
        ("--assess", "needs the rows themselves", options.assess.is_some()),
        ("--unlabelled", "is for criteria that need the rows themselves", options.unlabelled.is_some()),
        ("--loss", "is the squared one for moments", !losses.is_squared()),
        ("--method", squared, losses.method.is_some()),
        ("--classify", squared, losses.classify),
        ("--many-classes", squared, losses.many_classes.is_some()),
        ("--class-weight", squared, losses.class_weight.is_some()),
        ("--probability", squared, losses.probability),
        ("--non-crossing", squared, losses.non_crossing),
        ("--tolerance", squared, losses.tolerance.is_some()),
        ("--measure", squared, losses.measure.is_some()),
        ("--every-point", squared, losses.every_point),
        ("--penalty", "is λ‖f‖ᵐ for moments", penalties.penalty.is_some()),
        ("--gamma", "is the matrix of --penalty tikhonov", penalties.gamma.is_some()),
        ("--norm-at-most", "needs a fit to rows; λ is what moments are fitted with", penalties.norm_at_most.is_some()),
        (
            "--train-error-at-most",
            "needs a fit to rows; λ is what moments are fitted with",
            penalties.train_error_at_most.is_some(),
        ),
        ("--shared-ridge", "is for fits to rows; every target has its own here", options.shared_ridge),
        ("--clip", "needs rows: sums do not say how far predictions go beyond the targets", options.clip),
        ("--memory", "has nothing to limit: moments are as large as they are", options.rows.memory.is_some()),
        ("--budget", "is the time of the automatic search, which needs rows", options.budget.is_some()),
        ("--no-diagnostics", "has nothing to leave out here", options.no_diagnostics),
        ("--journal", "has nothing to remember here", options.journal.is_some()),
        (options.reduction().unwrap_or_default(), no_rows, options.reduction().is_some()),
        ("--solver", no_rows, options.solver.is_some()),
    ])
}

fn fit_loaded(
    options: &FitOptions,
    common: &Common,
    moments: &Moments,
    file: DataFile,
    started: Instant,
) -> anyhow::Result<Done> {
    let mut settings = MomentFit::new();
    if let Some(exponents) = &options.exponent {
        settings = settings.exponents(&exponents.0);
    }
    if let Some(lambdas) = &options.lambda {
        settings = settings.lambdas(&lambdas.0);
    }
    if options.rows.no_offset {
        settings = settings.without_offset();
    }
    if options.on_grid {
        settings = settings.on_grid();
    }
    if options.one_standard_error {
        settings = settings.one_standard_error();
    }
    let mut solved = settings.fit(moments)?;
    let name = file.name.clone();
    solved.model.set_provenance(provenance::of_run(common, vec![file]));
    let gathered = Gathered { rows: 0, left_out: 0, seconds: started.elapsed().as_secs_f64(), adding: 0.0 };
    conclude(
        options,
        common,
        &solved.model,
        &Results {
            tried: &|| surface(&solved),
            json: &|| format!("{}\n", to_json(moments, &solved, &gathered)),
            page: &|saved| {
                let mut page = page(moments, &solved, &gathered);
                page.blank();
                report::fit::saved_line(&mut page, saved, &name, "");
                page.to_string()
            },
        },
    )
}

/// The moments in a file, and the model beside them.
fn load(path: &str) -> anyhow::Result<(Moments, Model)> {
    let bytes = mercer_io::model::load(path)?;
    if !Moments::are_in(&bytes) {
        anyhow::bail!("{path} is not a file of moments; `mercer moments TABLE --output {path}` makes one");
    }
    Moments::from_bytes(&bytes).map_err(|error| anyhow::anyhow!("{path}: {error}"))
}

/// Whether the file at `path` holds moments.
pub fn is_here(path: &str) -> bool {
    path != "-" && files::start(path).is_ok_and(|start| Moments::are_in(&start))
}

/// For commands that need rows: refuses a file of moments, and says what it is good for.
pub fn refuse_file(path: &str, command: &str) -> anyhow::Result<()> {
    if is_here(path) {
        anyhow::bail!(
            "{path} holds moments, sums over rows, and mercer {command} needs the rows themselves: name the table. (`mercer fit \
             {path} --exponent 1..2.5:0.5 --lambda 1e-7..1e3:25 --table surface.csv` gives the errors of all exponents and λ)"
        );
    }
    Ok(())
}

/// Moments know the column of row weights; another one would add what does not belong together.
fn check_weight(path: &str, moments: &Moments, given: Option<&str>) -> anyhow::Result<()> {
    match (moments.weight(), given) {
        (own, Some(given)) if own != Some(given) => {
            let own = own.map_or("without weights".to_owned(), |name| format!("with the weights in column {name:?}"));
            Err(Usage(format!("--weight {given}: {path} was gathered {own}, and all rows must be weighted alike"))
                .into())
        }
        _ => Ok(()),
    }
}

fn check_place(path: &str) -> anyhow::Result<()> {
    files::check_folder(path)?;
    let is_other = path != "-" && files::start(path).is_ok_and(|start| !start.is_empty() && !Moments::are_in(&start));
    if is_other {
        anyhow::bail!("{path} exists and holds no moments; it is left as it is (remove it, or choose another name)");
    }
    Ok(())
}

/// Files, and the files of folders in the order of their names.
fn files_of(paths: &[String]) -> anyhow::Result<Vec<String>> {
    let mut out = Vec::new();
    for path in paths {
        if path == "-" {
            return Err(Usage("standard input can be read only once; name a file".into()).into());
        }
        if !std::path::Path::new(path).is_dir() {
            out.push(path.clone());
            continue;
        }
        let mut inside: Vec<String> = std::fs::read_dir(path)?
            .filter_map(|entry| Some(entry.ok()?.path()))
            .filter(|entry| entry.is_file())
            .filter_map(|entry| entry.to_str().map(str::to_owned))
            .collect();
        if inside.is_empty() {
            anyhow::bail!("the folder {path} has no files");
        }
        inside.sort();
        out.extend(inside);
    }
    Ok(out)
}

fn one_kernel(options: &MomentsOptions) -> anyhow::Result<mercer::kernel::SharedKernel> {
    match &options.kernel.0[..] {
        [kernel] => Ok(kernel.clone()),
        several => Err(Usage(format!("--kernel must be a single one here; got {}", several.len())).into()),
    }
}

/// Rows of a table, and where they stand in it.
struct Part {
    /// Which table it is, from 0.
    place: usize,
    table: String,
    rows: (usize, usize),
    frame: Frame,
}

/// Adds the rows of all tables, which another thread reads in the meantime; returns how many were left out, and the seconds that
/// adding took.
fn absorb(
    moments: &mut Moments,
    tables: &[String],
    reading: &TableOptions,
    progress: &Progress,
) -> anyhow::Result<(usize, f64)> {
    let options = reading.to_read_options();
    let (mut left_out, mut seconds) = (0, 0.0);
    let mut current = (0, String::new());
    let end_of =
        |moments: &mut Moments, table: &str| moments.end_part().map_err(|error| anyhow::anyhow!("{table}: {error}"));
    std::thread::scope(|scope| {
        let (sender, receiver) = std::sync::mpsc::sync_channel::<anyhow::Result<Part>>(1);
        let read = move || {
            if let Err(error) = read_parts(tables, &options, &|part| sender.send(Ok(part)).is_ok()) {
                // Nobody listens any more once something else was wrong.
                let _ = sender.send(Err(error));
            }
        };
        std::thread::Builder::new().spawn_scoped(scope, read).context("cannot start a thread that reads")?;
        for part in receiver {
            let Part { place, table, rows: (first, last), frame } = part?;
            if place != current.0 {
                end_of(moments, &current.1)?;
            }
            current = (place, table.clone());
            let started = Instant::now();
            let added = moments.absorb_frame(&frame);
            left_out += added.map_err(|error| anyhow::anyhow!("{table}, rows {first} to {last}: {error}"))?;
            seconds += started.elapsed().as_secs_f64();
            progress.show(format!("{} rows", integer(usize::try_from(moments.rows()).unwrap_or(usize::MAX))));
        }
        end_of(moments, &current.1)?;
        Ok((left_out, seconds))
    })
}

/// Reads all tables part by part, as long as parts are wanted.
fn read_parts(
    tables: &[String],
    options: &mercer_io::ReadOptions,
    is_wanted: &dyn Fn(Part) -> bool,
) -> anyhow::Result<()> {
    for (place, table) in tables.iter().enumerate() {
        let mut parts = mercer_io::parts::open(table, options)?;
        let mut read = 0;
        while let Some(frame) = parts.next(PART)? {
            let rows = (read + 1, read + frame.rows());
            read = rows.1;
            if !is_wanted(Part { place, table: table.clone(), rows, frame }) {
                return Ok(());
            }
        }
    }
    Ok(())
}

fn finish(
    moments: &Moments,
    solved: &Solved,
    gathered: &Gathered,
    output: &str,
    as_json: bool,
    common: &Common,
) -> anyhow::Result<Done> {
    let mut model = solved.model.clone();
    model.set_provenance(provenance::of_run(common, Vec::new()));
    let bytes = moments.to_bytes(&model)?;
    files::save(output, &bytes)?;
    let text = if as_json {
        format!("{}\n", to_json(moments, solved, gathered))
    } else {
        let mut page = page(moments, solved, gathered);
        page.blank();
        let size = mercer::base::bytes::bytes(bytes.len() as u64);
        page.line(
            "saved",
            &format!("{output} ({size}). Next: mercer fit {output} --exponent 1..2.5:0.5 --output m.mercer"),
        );
        page.to_string()
    };
    if !common.quiet || as_json {
        if output == "-" { say!("{}", text.trim_end()) } else { write!(std::io::stdout(), "{text}")? }
    }
    Ok(certified(&solved.model, common))
}

fn page(moments: &Moments, solved: &Solved, gathered: &Gathered) -> Page {
    let mut page = Page::new();
    let rows = integer(usize::try_from(moments.rows()).unwrap_or(usize::MAX));
    let added = if gathered.rows < moments.rows() {
        format!(", {} of them from this run", integer(usize::try_from(gathered.rows).unwrap_or(usize::MAX)))
    } else {
        String::new()
    };
    let rate = gathered.rows as f64 / gathered.seconds.max(1e-9);
    page.line(
        "rows",
        &match gathered.rows {
            0 => rows,
            _ => format!("{rows}{added} ({:.1} s, {} rows a second)", gathered.seconds, short(rate)),
        },
    );
    if gathered.left_out > 0 {
        page.line("", &format!("{} left out: a cell is missing, or the weight is 0", report::rows(gathered.left_out)));
    }
    page.line("kernel", &solved.model.kernel().spec());
    let (features, accuracy) = if moments.map().is_waves() {
        let count = moments.map().width();
        let off = moments.map().kernel().largest_diagonal().unwrap_or(1.0) / (count as f64).sqrt();
        let said = format!(
            "{} random waves stand for the kernel: each value is met to about {} (a standard deviation, not a bound)",
            integer(count),
            short(off)
        );
        ("random waves", Some(said))
    } else {
        ("landmarks", None)
    };
    page.line("method", &format!("{features}, by the moments of {} folds", moments.folds()));
    if let Some(said) = accuracy {
        page.line("", &said);
    }
    for summary in solved.model.summaries() {
        page.blank();
        let [low, high] = summary.target_range;
        page.line("target", &format!("{}, {} … {}", summary.target, short(low), short(high)));
        page.line("penalty", &penalty_line(summary));
        let train = format!("on the training rows {}", short(summary.train_rmse));
        page.line(
            "error",
            &match &summary.held_out {
                Some(held) => format!("held-out RMSE {}, {train}", short(held.value.sqrt())),
                None => format!("RMSE {train}"),
            },
        );
        page.line("certain", &certificate_line(&summary.certificate, summary.is_zero));
        if let Some(low_rank) = &summary.certificate.low_rank {
            page.line("", &low_rank_line(low_rank));
        }
        if let Some(hint) = report::landmarks_hint(summary) {
            page.line("", &hint);
        }
    }
    page
}

fn to_json(moments: &Moments, solved: &Solved, gathered: &Gathered) -> Value {
    let mut object = reports::model(&solved.model);
    if let Some(map) = object.as_object_mut() {
        map.insert("folds".into(), json!(moments.folds()));
        map.insert("seconds".into(), json!(gathered.seconds));
        map.insert("rows_added".into(), json!(gathered.rows));
        map.insert("rows_left_out".into(), json!(gathered.left_out));
        if gathered.rows > 0 {
            // φ is a triangular solve and its square half a product: 2r² operations a row.
            let width = moments.map().width() as f64;
            let rate = gathered.rows as f64 / gathered.adding.max(1e-9);
            let facts = json!({ "seconds": gathered.adding, "rows_per_second": rate, "gigaflops": 2e-9 * width * width * rate });
            map.insert("adding".into(), facts);
        }
        map.insert("surfaces".into(), solved.surfaces.iter().map(reports::surface).collect());
    }
    object
}

/// Every point of the surfaces.
fn surface(solved: &Solved) -> mercer::Result<Frame> {
    let mut cells: [Vec<f64>; 4] = Default::default();
    let mut targets = Vec::new();
    for (surface, summary) in solved.surfaces.iter().zip(solved.model.summaries()) {
        for (e, exponent) in surface.exponents.iter().enumerate() {
            for (lambda, score) in surface.lambdas[e].iter().zip(&surface.scores[e]) {
                targets.push(Some(summary.target.clone()));
                let values = [*exponent, *lambda, score.value, score.standard_error.unwrap_or(f64::NAN)];
                cells.iter_mut().zip(values).for_each(|(column, value)| column.push(value));
            }
        }
    }
    let mut frame = Frame::new(targets.len());
    frame.push("target", Column::Text(targets))?;
    for (name, column) in ["exponent", "lambda", "value", "standard_error"].into_iter().zip(cells) {
        frame.push(name, Column::Number(column))?;
    }
    Ok(frame)
}
