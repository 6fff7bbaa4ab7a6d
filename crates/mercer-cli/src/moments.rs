//! `mercer moments`, `merge`, `update`, and `fit` on a file of moments: tables larger than memory.

mod sample;

use std::io::Write;
use std::time::Instant;

use mercer::data::{Column, Frame, Scale};
use mercer::moments::{MomentFit, Moments, Pilot, Solved};
use mercer::{Model, plan};
use serde_json::{Value, json};

use crate::args::{Common, FitOptions, MergeOptions, MomentsOptions, TableOptions, UpdateOptions};
use crate::fit::{Results, certified, conclude};
use crate::outcome::{Done, Usage};
use crate::progress::Progress;
use crate::report::{Page, certificate_line, integer, low_rank_line, penalty_line, short};
use crate::{files, json as reports, learn, report};

/// Rows that are read at a time.
const PART: usize = 1 << 16;

/// What was gathered, and what it took.
struct Gathered {
    rows: u64,
    left_out: usize,
    seconds: f64,
}

pub fn run(options: &MomentsOptions, common: &Common) -> anyhow::Result<Done> {
    let started = Instant::now();
    check_place(&options.output)?;
    let tables = files_of(&options.tables)?;
    let progress = Progress::start(common.quiet);
    let reading = options.reading.to_read_options();
    let mut moments = match &options.like {
        Some(path) => load(path)?.0.emptied(),
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
                landmarks: options.landmarks,
                folds: options.folds,
                seed: common.seed,
            };
            progress.show("choosing landmarks".into());
            pilot.start(&sample, &roles)?
        }
    };
    let weight = options.columns.weight.as_deref();
    let left_out = absorb(&mut moments, &tables, &options.reading, weight, &progress)?;
    progress.show("solving".into());
    let solved = MomentFit::new().fit(&moments)?;
    drop(progress);
    let gathered = Gathered { rows: moments.rows(), left_out, seconds: started.elapsed().as_secs_f64() };
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
    let gathered = Gathered { rows: sum.rows(), left_out: 0, seconds: started.elapsed().as_secs_f64() };
    finish(&sum, &solved, &gathered, &options.output, options.json, common)
}

pub fn update(options: &UpdateOptions, common: &Common) -> anyhow::Result<Done> {
    let started = Instant::now();
    let output = options.output.as_deref().unwrap_or(&options.moments);
    check_place(output)?;
    let (mut moments, _) = load(&options.moments)?;
    let before = moments.rows();
    let progress = Progress::start(common.quiet);
    let tables = files_of(&options.tables)?;
    let left_out = absorb(&mut moments, &tables, &options.reading, options.weight.as_deref(), &progress)?;
    let solved = MomentFit::new().fit(&moments)?;
    drop(progress);
    let gathered = Gathered { rows: moments.rows() - before, left_out, seconds: started.elapsed().as_secs_f64() };
    finish(&moments, &solved, &gathered, output, options.json, common)
}

/// `mercer fit` on a file of moments.
pub fn fit(options: &FitOptions, common: &Common, path: &str) -> anyhow::Result<Done> {
    let started = Instant::now();
    let no_rows = "cannot be changed any more: moments were gathered with a kernel, columns and folds of their own";
    let columns = &options.columns;
    learn::refuse(&[
        ("--kernel", no_rows, !options.kernel.is_empty()),
        ("--target", no_rows, !columns.target.is_empty()),
        ("--features", no_rows, columns.features.is_some()),
        ("--scale", no_rows, options.scale.is_some()),
        ("--metric", no_rows, options.metric.is_some()),
        ("--criterion", "is k-fold, by the folds of the moments", options.criterion.is_some()),
        ("--assess", "needs the rows themselves", options.assess.is_some()),
        ("--loss", "is the squared one for moments", !options.losses.is_squared()),
        ("--journal", "has nothing to remember here", options.journal.is_some()),
        (options.reduction().unwrap_or_default(), no_rows, options.reduction().is_some()),
        ("--solver", no_rows, options.solver.is_some()),
    ])?;
    let (moments, _) = load(path)?;
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
    let solved = settings.fit(&moments)?;
    let gathered = Gathered { rows: moments.rows(), left_out: 0, seconds: started.elapsed().as_secs_f64() };
    conclude(
        options,
        common,
        &solved.model,
        &Results {
            tried: &|| surface(&solved),
            json: &|| format!("{}\n", to_json(&moments, &solved, &gathered)),
            page: &|saved| {
                let mut page = page(&moments, &solved, &gathered);
                page.blank();
                report::fit::saved_line(&mut page, saved, path, "");
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

/// Adds the rows of all tables; returns how many were left out.
fn absorb(
    moments: &mut Moments,
    tables: &[String],
    reading: &TableOptions,
    weight: Option<&str>,
    progress: &Progress,
) -> anyhow::Result<usize> {
    let mut left_out = 0;
    for table in tables {
        let mut parts = mercer_io::parts::open(table, &reading.to_read_options())?;
        let mut read = 0;
        while let Some(frame) = parts.next(PART)? {
            let first = read + 1;
            read += frame.rows();
            let added = moments.absorb_frame(&frame, weight);
            left_out += added.map_err(|error| anyhow::anyhow!("{table}, rows {first} to {read}: {error}"))?;
            progress.show(format!("{} rows", integer(usize::try_from(moments.rows()).unwrap_or(usize::MAX))));
        }
    }
    Ok(left_out)
}

fn finish(
    moments: &Moments,
    solved: &Solved,
    gathered: &Gathered,
    output: &str,
    as_json: bool,
    common: &Common,
) -> anyhow::Result<Done> {
    let bytes = moments.to_bytes(&solved.model)?;
    files::save(output, &bytes)?;
    let text = if as_json {
        format!("{}\n", to_json(moments, solved, gathered))
    } else {
        let mut page = page(moments, solved, gathered);
        page.blank();
        let size = plan::bytes(bytes.len() as u64);
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
    let added = if gathered.rows < moments.rows() { format!(", {} of them new", gathered.rows) } else { String::new() };
    let rate = if gathered.seconds > 0.0 { gathered.rows as f64 / gathered.seconds } else { 0.0 };
    let rows = usize::try_from(moments.rows()).unwrap_or(usize::MAX);
    page.line("rows", &format!("{}{added} ({:.1} s, {} rows a second)", integer(rows), gathered.seconds, short(rate)));
    if gathered.left_out > 0 {
        page.line(
            "",
            &format!("{} rows left out: a cell is missing, or their weight is 0", integer(gathered.left_out)),
        );
    }
    page.line("kernel", &solved.model.kernel().spec());
    page.line("method", &format!("landmarks, by the moments of {} folds", moments.folds()));
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
