//! `mercer predict`

pub mod intervals;
mod scores;

use std::io::Write;

use anyhow::Context;
use mercer::data::{Classes, Column, Frame};
use mercer::moments::Moments;
use mercer::{Error, Meaning, Model, Probability, format};
use serde_json::{Map, Value, json};

use self::scores::{Score, scores};
use crate::args::{Common, PredictOptions};
use crate::outcome::{Done, Usage};
use crate::report::integer;
use crate::score::{Predicted, quantile_of};

pub fn run(options: &PredictOptions, common: &Common) -> anyhow::Result<Done> {
    let model = load(&options.model)?;
    check(options, &model)?;
    let table = mercer_io::read(&options.table, &options.reading.to_read_options())?;
    let mut added = columns(&model, &table.frame, options)?;
    let intervals = intervals::of(&model, &table.frame, options, common)?;
    added.extend(intervals.iter().flat_map(|intervals| intervals.columns()));
    for (column, count) in model.encoder().unknown_categories(&table.frame)? {
        say!("note: column {column:?} has a category that training did not know in {} rows", integer(count));
    }
    let scores = scores(&model, &table.frame, &options.name, options.probability)?;
    if options.json {
        let predictions: Map<String, Value> =
            added.iter().map(|(name, column)| (name.clone(), cells(column))).collect();
        let errors: Map<String, Value> = scores.iter().map(|score| (score.name.clone(), score.to_json())).collect();
        let mut object = json!({ "n": table.frame.rows(), "predictions": predictions, "errors": errors });
        if let Some(intervals) = &intervals {
            object["interval"] = intervals.to_json();
        }
        writeln!(std::io::stdout(), "{object}")?;
        return Ok(Done::Certified);
    }
    mercer_io::write_with(&options.output, &table, &added, None)?;
    if !common.quiet {
        report(options, table.frame.rows(), &added, &scores);
        if let Some(intervals) = &intervals {
            say!("{intervals}");
        }
    }
    Ok(Done::Certified)
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

/// The columns that are added to the table.
fn columns(model: &Model, frame: &Frame, options: &PredictOptions) -> mercer::Result<Vec<(String, Column)>> {
    let Some(predicted) = Predicted::by(model, frame)? else {
        return Ok(names(model, &options.name)
            .into_iter()
            .zip(model.predict_frame(frame)?.iter().map(|cells| numbers(cells)))
            .collect());
    };
    let classes = &predicted.classes;
    let mut added = vec![(options.name.clone(), classes.column(&predicted.codes))];
    if options.probability {
        let shares = predicted.probabilities.as_ref().ok_or_else(|| Error::Empty("no probabilities".into()))?;
        added.extend(with_classes("probability", classes).zip(shares.iter().map(|cells| numbers(cells))));
    }
    if options.decision {
        let values = model.predict_frame(frame)?;
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

/// On standard error: standard output may be the table.
fn report(options: &PredictOptions, rows: usize, added: &[(String, Column)], scores: &[Score]) {
    let place = if options.output == "-" { "standard output" } else { &options.output };
    let first = added.first().map(|(_, column)| column);
    let left_out = first.map_or(0, |column| (0..rows).filter(|row| column.is_missing(*row)).count());
    let without = if left_out > 0 {
        format!("; {} without prediction (a cell is missing)", integer(left_out))
    } else {
        String::new()
    };
    say!("{} rows predicted, to {place}{without}", integer(rows - left_out));
    for score in scores {
        say!("{score}");
        if let Some(note) = score.note() {
            say!("{note}");
        }
    }
}
