//! `mercer compare`: methods side by side, every choice made again inside every fold.

mod classes;
mod losses;
pub mod methods;
mod score;

use std::io::Write;

use mercer::Note;
use mercer::assess::{assess, outer_folds};
use mercer::criterion::{FoldRule, Folds, Order};
use mercer::data::{Classes, Column, Frame, Roles, rows_in_use};
use serde_json::{Value, json};

use crate::args::{Common, CompareOptions, Style};
use crate::chart::bars::bars;
use crate::files;
use crate::grid::{Cell, Grid};
use crate::outcome::{Done, Usage};
use crate::progress::Progress;
use crate::report::notes::said;
use crate::report::{rows, short};
use crate::svg::dots::{self, Dot};
use methods::{Learns, Method, Task};
use score::{Score, ranks};

/// What is measured: of numbers, or of classes.
struct Words {
    error: &'static str,
    key: &'static str,
    second: &'static str,
    second_key: &'static str,
    title: &'static str,
}

const OF_NUMBERS: Words = Words {
    error: "RMSE",
    key: "rmse",
    second: "R²",
    second_key: "r2",
    title: "RMSE on rows that were held out, all choices made without them",
};
const OF_CLASSES: Words = Words {
    error: "error rate",
    key: "error",
    second: "log loss",
    second_key: "log_loss",
    title: "share of wrong classes on rows that were held out, all choices made without them",
};

/// A method and how it did; or why it could not.
struct Entry {
    method: &'static Method,
    result: Result<Score, String>,
}

/// What all methods were compared on.
struct Compared<'a> {
    roles: &'a Roles,
    folds: &'a Folds,
    rows: usize,
    /// Rows with a missing cell.
    left_out: usize,
    notes: Vec<String>,
}

pub fn run(options: &CompareOptions, common: &Common) -> anyhow::Result<Done> {
    options.svg.as_deref().map_or(Ok(()), files::check_folder)?;
    options.shown.output.as_deref().map_or(Ok(()), files::check_table_place)?;
    let mut table = files::read_table(&options.table, &options.reading.to_read_options())?;
    let roles = options.columns.to_roles_of_one_target(&table.frame)?;
    table.keep_labels(&roles.targets[0]);
    let frame = table.frame;
    let is_text = matches!(frame.column(&roles.targets[0]), Ok(Column::Text(_)));
    let of_classes = options.classify || is_text || options.methods.iter().any(|method| method.is_of_classes());
    let words = if of_classes { &OF_CLASSES } else { &OF_NUMBERS };
    if let Some(other) = options.methods.iter().find(|method| method.is_of_classes() != of_classes) {
        let (wants, has) = if of_classes { ("numbers", "classes") } else { ("classes", "numbers") };
        let text = format!("--methods: {} is for {wants}, but here {has} are to be predicted", other.name);
        return Err(Usage(format!("{text}; mercer compare --help lists the methods of both")).into());
    }
    if of_classes {
        Classes::read(&frame, &roles.targets[0])?;
    }
    // All methods are compared on the same rows, so rows are left out before folds are drawn.
    let used = rows_in_use(&frame, &roles, options.rows.missing.into())?;
    let left_out = frame.rows() - used.len();
    let frame = if left_out > 0 { frame.select_rows(&used) } else { frame };
    if of_classes && left_out > 0 {
        Classes::read(&frame, &roles.targets[0])?;
    }
    if options.repeats > 1 && options.folds.order != Order::Random {
        let text = "--repeats draws random folds anew; the blocks of --folds have nothing to draw";
        return Err(Usage(text.to_owned()).into());
    }
    let rule = FoldRule { repeats: options.repeats.max(options.folds.repeats), ..options.folds };
    let folds = outer_folds(&frame, &roles, &rule, common.seed)?;
    let notes = match frame.runs_backwards().filter(|_| folds.is_forward()) {
        Some(column) => vec![said(&Note::BackInTime { column: column.to_owned() })],
        None => Vec::new(),
    };
    let progress = Progress::start(common.quiet);
    let bench = Bench { options, common, frame: &frame, roles: &roles, folds: &folds, progress };
    let chosen: Vec<&'static Method> =
        if options.methods.is_empty() { methods::all(of_classes).collect() } else { options.methods.clone() };
    let mut entries = Vec::new();
    for method in chosen {
        let result = bench.run(method);
        if let (Err(reason), true) = (&result, common.verbose) {
            say!("{}: {reason}", method.name);
        }
        entries.push(Entry { method, result });
    }
    drop(bench);
    if let [Entry { result: Err(reason), .. }, rest @ ..] = &entries[..]
        && rest.iter().all(|entry| entry.result.is_err())
    {
        anyhow::bail!("{reason}");
    }
    rank_and_sort(&mut entries);

    if let Some(path) = &options.svg {
        files::save(path, svg(&entries, words, &roles, &folds).as_bytes())?;
    }
    if let Some(path) = &options.shown.output {
        mercer_io::write_frame(path, &to_frame(&entries, words)?)?;
    }
    let table = Compared { roles: &roles, folds: &folds, rows: frame.rows(), left_out, notes };
    let text = match (options.shown.json, options.shown.style) {
        (true, _) => format!("{}\n", to_json(&entries, words, &table, common)),
        (false, Style::Text) => page(&entries, words, &table),
        (false, style) => grid(&entries, words, style).render(style),
    };
    let to_stderr = [&options.shown.output, &options.svg].into_iter().flatten().any(|path| path == "-");
    if !common.quiet || options.shown.json {
        if to_stderr { say!("{}", text.trim_end()) } else { write!(std::io::stdout(), "{text}")? }
    }
    Ok(Done::Certified)
}

/// What all methods have in common.
struct Bench<'a> {
    options: &'a CompareOptions,
    common: &'a Common,
    frame: &'a Frame,
    roles: &'a Roles,
    folds: &'a Folds,
    progress: Progress,
}

impl Bench<'_> {
    /// One method on all folds.
    fn run(&self, method: &'static Method) -> Result<Score, String> {
        let Bench { frame, roles, folds, .. } = self;
        let score = match method.learn {
            Learns::Numbers(learn) | Learns::OnRequest(learn) => {
                assess(frame, roles, folds, |training, fold| learn(&self.task(method, training, fold)))
                    .map(|assessment| Score::of_numbers(&assessment))
            }
            Learns::Classes(learn) => {
                classes::assess(frame, roles, folds, |training, fold| learn(&self.task(method, training, fold)))
            }
        };
        score.map_err(|error| error.to_string())
    }

    fn task<'t>(&'t self, method: &Method, training: &'t Frame, fold: usize) -> Task<'t> {
        let stage = format!("{}, fold {} of {}", method.name, fold + 1, self.folds.groups.len());
        if self.common.verbose {
            say!("{stage}");
        }
        Task {
            training,
            roles: self.roles,
            rows: &self.options.rows,
            seed: self.common.seed,
            budget: self.options.budget,
            observer: self.progress.observer_of(stage),
        }
    }
}

/// Ranks within each fold, among the methods that have a result; the least error first.
fn rank_and_sort(entries: &mut [Entry]) {
    let mut scores: Vec<&mut Score> = entries.iter_mut().filter_map(|entry| entry.result.as_mut().ok()).collect();
    let folds = scores.first().map_or(0, |score| score.errors.len());
    for fold in 0..folds {
        let errors: Vec<f64> = scores.iter().map(|score| score.errors[fold]).collect();
        for (score, rank) in scores.iter_mut().zip(ranks(&errors)) {
            score.rank += rank / folds as f64;
        }
    }
    let key = |entry: &Entry| entry.result.as_ref().map_or(f64::INFINITY, Score::mean);
    entries.sort_by(|a, b| key(a).total_cmp(&key(b)));
}

/// Mean and deviation share a column where people read it.
fn grid(entries: &[Entry], words: &Words, style: Style) -> Grid {
    let errors = match style {
        Style::Csv => vec![words.error.to_owned(), "sd".into()],
        _ => vec![format!("{} ± sd", words.error)],
    };
    let rest = [words.second, "mean rank", "seconds per fit"].map(str::to_owned);
    let columns: Vec<String> = [vec!["method".to_owned()], errors, rest.to_vec()].concat();
    let count = columns.len();
    let mut grid = Grid::new(columns);
    for entry in entries {
        let mut cells = vec![Cell::Text(entry.method.name.into())];
        match &entry.result {
            Ok(score) => {
                let (mean, deviation) = (score.mean(), score.deviation());
                match style {
                    Style::Csv => cells.extend([Cell::Number(mean), Cell::Number(deviation)]),
                    _ => cells.push(Cell::Spread(mean, deviation)),
                }
                cells.push(score.second.map_or(Cell::Nothing, Cell::Number));
                cells.push(Cell::Number(score.rank));
                // To the millisecond: the rest is chance.
                cells.push(Cell::Number((1000.0 * score.seconds).round() / 1000.0));
            }
            Err(_) => cells.resize(count, Cell::Nothing),
        }
        grid.row(cells);
    }
    grid
}

fn page(entries: &[Entry], words: &Words, table: &Compared<'_>) -> String {
    let target = table.roles.targets.first().map_or("", String::as_str);
    let mut text: String = table.notes.iter().map(|note| format!("  note: {note}\n\n")).collect();
    text.push_str(&format!("  {}, target {target}, {}\n", rows(table.rows), in_words(table.folds, table.roles)));
    if table.left_out > 0 {
        text.push_str(&format!("  {} left out: a cell is missing\n", rows(table.left_out)));
    }
    text.push('\n');
    text.push_str(&grid(entries, words, Style::Text).render(Style::Text));
    for entry in entries {
        if let Err(reason) = &entry.result {
            text.push_str(&format!("  {} could not be fitted: {reason}\n", entry.method.name));
        }
    }
    let lengths: Vec<(String, f64, String)> = entries
        .iter()
        .filter_map(|entry| {
            let mean = entry.result.as_ref().ok()?.mean();
            Some((entry.method.name.to_owned(), mean, short(mean)))
        })
        .collect();
    text.push_str(&format!("\n  {}\n", words.title));
    text.push_str(&bars(&lengths, 48));
    text
}

fn in_words(folds: &Folds, roles: &Roles) -> String {
    let whole = match &roles.group {
        Some(group) => format!(" of whole groups (column {group})"),
        None => String::new(),
    };
    let count = folds.groups.len();
    match folds.repeats {
        _ if folds.is_forward() => {
            format!("{count} blocks{whole}, each predicted from earlier rows, the same for all methods")
        }
        0 | 1 => format!("{count} folds{whole}, the same for all methods"),
        n => format!("{} folds{whole}, drawn {n} times, the same for all methods", count / n),
    }
}

fn svg(entries: &[Entry], words: &Words, roles: &Roles, folds: &Folds) -> String {
    let dots: Vec<Dot> = entries
        .iter()
        .filter_map(|entry| {
            let score = entry.result.as_ref().ok()?;
            Some(Dot { name: entry.method.name.into(), mean: score.mean(), deviation: score.deviation() })
        })
        .collect();
    let target = roles.targets.first().map_or("", String::as_str);
    dots::draw(
        &dots,
        &format!("{target}: {}", in_words(folds, roles)),
        &format!("{} on held-out rows: mean ± standard deviation", words.error),
    )
}

fn to_frame(entries: &[Entry], words: &Words) -> mercer::Result<Frame> {
    let number = |value: &dyn Fn(&Score) -> Option<f64>| {
        let cell = |entry: &Entry| entry.result.as_ref().ok().and_then(value).unwrap_or(f64::NAN);
        Column::Number(entries.iter().map(cell).collect())
    };
    let mut frame = Frame::new(entries.len());
    frame.push("method", Column::Text(entries.iter().map(|entry| Some(entry.method.name.to_owned())).collect()))?;
    frame.push(words.key, number(&|score| Some(score.mean())))?;
    frame.push("standard_deviation", number(&|score| Some(score.deviation())))?;
    frame.push(words.second_key, number(&|score| score.second))?;
    frame.push("mean_rank", number(&|score| Some(score.rank)))?;
    frame.push("seconds", number(&|score| Some(score.seconds)))?;
    Ok(frame)
}

fn to_json(entries: &[Entry], words: &Words, table: &Compared<'_>, common: &Common) -> Value {
    let Compared { roles, folds, .. } = table;
    let methods: Vec<Value> = entries
        .iter()
        .map(|entry| match &entry.result {
            Ok(score) => json!({
                "method": entry.method.name,
                "about": entry.method.about,
                words.key: score.errors,
                "mean": score.mean(),
                "standard_deviation": score.deviation(),
                words.second_key: score.second,
                "mean_rank": score.rank,
                "seconds": score.seconds,
            }),
            Err(reason) => json!({ "method": entry.method.name, "about": entry.method.about, "error": reason }),
        })
        .collect();
    json!({
        "target": roles.targets.first(),
        "group": roles.group,
        "rows": table.rows,
        "rows_dropped_missing": table.left_out,
        "folds": folds.groups.len() / folds.repeats.max(1),
        "repeats": folds.repeats,
        "is_forward": folds.is_forward(),
        "seed": common.seed,
        "notes": table.notes,
        "methods": methods,
    })
}
