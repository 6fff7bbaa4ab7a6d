//! `mercer predict`

pub mod intervals;
mod parts;
mod scores;
mod tally;

use std::io::Write;
use std::time::Instant;

use anyhow::Context;
use mercer::data::{Classes, Column, Frame};
use mercer::moments::Moments;
use mercer::{Error, Meaning, Model, Observer, Probability, format};
use mercer_io::Table;
use serde_json::{Map, Value, json};

use self::intervals::Maker;
use self::parts::Streamed;
use self::tally::Tally;
use crate::args::{Common, PredictOptions};
use crate::outcome::{Done, Usage};
use crate::progress::Progress;
use crate::score::{Predicted, quantile_of};

pub fn run(options: &PredictOptions, common: &Common) -> anyhow::Result<Done> {
    let model = load(&options.model)?;
    check(options, &model)?;
    crate::files::check_table_place(&options.output)?;
    let started = Instant::now();
    let progress = Progress::start(common.quiet);
    let reading = options.reading.to_read_options();
    let mut table = match parts::run(&model, options, common, &progress, started)? {
        Streamed::Done => return Ok(Done::Certified),
        Streamed::No(None) => crate::files::read_table(&options.table, &reading)?,
        Streamed::No(Some(table)) => *table,
    };
    keep_labels(&model, &mut table);
    let mut answer = Answer::of(&model, &table.frame, options)?;
    if let Some(maker) = intervals::maker(&model, options, common, &progress)? {
        answer.add_intervals(&maker, &table.frame, Some(&progress.observer()))?;
    }
    drop(progress);
    if options.json {
        let predictions: Map<String, Value> =
            answer.added.iter().map(|(name, column)| (name.clone(), cells(column))).collect();
        let errors: Map<String, Value> =
            answer.tally.scores.iter().map(|score| (score.name.clone(), score.to_json())).collect();
        let mut object = json!({ "n": table.frame.rows(), "predictions": predictions, "errors": errors });
        object["not_scored"] = json!(answer.tally.unscored.iter().map(ToString::to_string).collect::<Vec<String>>());
        object["outside"] = answer.tally.outside_to_json();
        if let Some(intervals) = &answer.tally.intervals {
            object["interval"] = intervals.to_json();
        }
        answer.tally.notes(common.quiet);
        writeln!(std::io::stdout(), "{object}")?;
        return Ok(Done::Certified);
    }
    mercer_io::write_with(&options.output, &table, &answer.added, None)?;
    answer.tally.notes(common.quiet);
    if !common.quiet {
        answer.tally.report(options, None);
    }
    Ok(Done::Certified)
}

/// Where classes are text, the target's cells as they were written: `01` and `1` may be two classes.
fn keep_labels(model: &Model, table: &mut Table) {
    match model.meaning() {
        Meaning::Classes { target, classes, .. } if !classes.are_numbers => table.keep_labels(target),
        _ => {}
    }
}

/// The model in a file; errors name the file.
pub fn load(path: &str) -> anyhow::Result<Model> {
    let bytes = mercer_io::model::load(path)?;
    if Moments::are_in(&bytes) {
        return Moments::from_bytes(&bytes).map(|(_, model)| model).with_context(|| format!("cannot use {path}"));
    }
    format::from_bytes(&bytes).with_context(|| format!("cannot use {path}"))
}

/// Refuses to add what the model does not know.
fn check(options: &PredictOptions, model: &Model) -> anyhow::Result<()> {
    if options.intervals.training.data.is_some() && options.intervals.interval.is_none() {
        return Err(Usage("--data gives the training rows that --interval needs; name its level, too".into()).into());
    }
    let asked = if options.probability { "--probability" } else { "--decision" };
    match model.meaning() {
        Meaning::Numbers | Meaning::Quantiles { .. } if options.probability || options.decision => {
            anyhow::bail!("{asked} is for models of classes; {} predicts numbers", options.model)
        }
        Meaning::Classes { probability: Probability::Unknown, .. } if options.probability => anyhow::bail!(
            "{} knows no probabilities: its loss is {}; fit it with --probability (calibrated on held-out rows) or with \
             --loss logistic (which states them)",
            options.model,
            model.summaries()[0].loss
        ),
        _ => Ok(()),
    }
}

/// What is added to a table or a part of one, and what is said of it.
struct Answer {
    added: Vec<(String, Column)>,
    tally: Tally,
}

impl Answer {
    /// One pass over the rows, whatever is asked of it.
    fn of(model: &Model, frame: &Frame, options: &PredictOptions) -> mercer::Result<Self> {
        let values = model.predict_frame(frame)?;
        let mut added = Vec::new();
        let scores = match (model.meaning(), Predicted::from_values(model, &values)?) {
            (Meaning::Classes { target, .. }, Some(mut predicted)) => {
                added = class_columns(&predicted, &values, options)?;
                if !options.probability {
                    predicted.probabilities = None;
                }
                scores::of_classes(&predicted, target, frame, &options.name).into_iter().collect()
            }
            _ => {
                let columns = values.iter().map(|cells| numbers(cells));
                added.extend(names(model, &options.name).into_iter().zip(columns));
                scores::of_numbers(model, &values, frame, &options.name)
            }
        };
        let unknown = model.encoder().unknown_categories(frame)?;
        let unknown = unknown.into_iter().map(|(column, count)| (column.to_owned(), count)).collect();
        let first = added.first().map(|(_, column)| column);
        let left_out = first.map_or(0, |column| (0..frame.rows()).filter(|row| column.is_missing(*row)).count());
        let plain = model.encoder().without_unit(frame);
        let plain = plain.into_iter().map(|(column, reading)| (column.to_owned(), reading.describe())).collect();
        let (rows, outside, intervals) = (frame.rows(), model.outside(frame)?, None);
        let is_of_classes = matches!(model.meaning(), Meaning::Classes { .. });
        let unscored = if is_of_classes { Vec::new() } else { scores::unscored(model, frame) };
        Ok(Answer { added, tally: Tally { rows, left_out, scores, unscored, unknown, plain, outside, intervals } })
    }

    fn add_intervals(&mut self, maker: &Maker<'_>, frame: &Frame, observer: Option<&Observer>) -> mercer::Result<()> {
        let intervals = maker.at(frame, observer)?;
        self.added.extend(intervals.columns());
        self.tally.intervals = Some(intervals);
        Ok(())
    }
}

/// The class, its probabilities and decision values.
fn class_columns(
    predicted: &Predicted,
    values: &[Vec<Option<f64>>],
    options: &PredictOptions,
) -> mercer::Result<Vec<(String, Column)>> {
    let classes = &predicted.classes;
    let is_text = !options.json && mercer_io::is_text(&options.output);
    let own = if is_text && !classes.are_plain() {
        classes.texts(&predicted.codes)
    } else {
        classes.column(&predicted.codes)
    };
    let mut added = vec![(options.name.clone(), own)];
    if options.probability {
        let shares = predicted.probabilities.as_ref().ok_or_else(|| Error::Empty("no probabilities".into()))?;
        added.extend(with_classes("probability", classes).zip(shares.iter().map(|cells| numbers(cells))));
    }
    if options.decision {
        let names: Vec<String> =
            if values.len() == 1 { vec!["decision".into()] } else { with_classes("decision", classes).collect() };
        added.extend(names.into_iter().zip(values.iter().map(|cells| numbers(cells))));
    }
    Ok(added)
}

fn with_classes<'a>(what: &'a str, classes: &'a Classes) -> impl Iterator<Item = String> + 'a {
    classes.names.iter().map(move |name| format!("{what}_{name}"))
}

pub fn numbers(cells: &[Option<f64>]) -> Column {
    Column::Number(cells.iter().map(|cell| cell.unwrap_or(f64::NAN)).collect())
}

/// One name for each model of numbers: followed by the target if there are several, and by the quantile.
pub fn names(model: &Model, name: &str) -> Vec<String> {
    let of_quantiles = matches!(model.meaning(), Meaning::Quantiles { .. });
    let targets: Vec<&str> =
        model.summaries().iter().map(|summary| plain_target(&summary.target, &summary.loss)).collect();
    let several = targets.iter().any(|target| *target != targets[0]);
    let mut names = Vec::new();
    for (summary, target) in model.summaries().iter().zip(&targets) {
        let target = if several { format!("_{target}") } else { String::new() };
        let quantile = quantile_of(&summary.loss).filter(|_| of_quantiles);
        names.push(format!("{name}{target}{}", quantile.map_or_else(String::new, |q| format!("_q{q}"))));
    }
    names
}

/// The target's own name: models of several quantiles carry their loss behind it.
pub fn plain_target<'a>(target: &'a str, loss: &str) -> &'a str {
    target.strip_suffix(loss).and_then(|rest| rest.strip_suffix(' ')).unwrap_or(target)
}

fn cells(column: &Column) -> Value {
    match column {
        Column::Number(cells) => json!(cells),
        Column::Text(cells) => json!(cells),
    }
}
