//! `mercer predict`

use std::io::Write;

use anyhow::Context;
use mercer::data::{Column, Frame};
use mercer::{Model, format};
use serde_json::json;

use crate::args::{Common, PredictOptions};
use crate::outcome::Done;
use crate::report::{integer, short};

pub fn run(options: &PredictOptions, common: &Common) -> anyhow::Result<Done> {
    let model = load(&options.model)?;
    let table = mercer_io::read(&options.table, &options.reading.to_read_options())?;
    let columns = model.predict_frame(&table.frame)?;
    for (column, count) in model.encoder().unknown_categories(&table.frame)? {
        say!("note: column {column:?} has a category that training did not know in {} rows", integer(count));
    }
    let names = column_names(&model, &options.name);
    let scores: Vec<Option<Score>> = model
        .summaries()
        .iter()
        .zip(&columns)
        .map(|(summary, values)| Score::against(&table.frame, &summary.target, values))
        .collect();

    if options.json {
        let predictions: serde_json::Map<String, serde_json::Value> =
            names.iter().zip(&columns).map(|(name, values)| (name.clone(), json!(values))).collect();
        let errors: serde_json::Map<String, serde_json::Value> = names
            .iter()
            .zip(&scores)
            .filter_map(|(name, score)| Some((name.clone(), score.as_ref()?.to_json())))
            .collect();
        let object = json!({ "n": table.frame.rows(), "predictions": predictions, "errors": errors });
        writeln!(std::io::stdout(), "{object}")?;
        return Ok(Done::Certified);
    }
    let extra: Vec<(String, Vec<Option<f64>>)> = names.into_iter().zip(columns).collect();
    mercer_io::write(&options.output, &table, &extra, None)?;
    if !common.quiet {
        report(options, table.frame.rows(), &extra, &scores, &model);
    }
    Ok(Done::Certified)
}

/// The model in a file; errors name the file.
pub fn load(path: &str) -> anyhow::Result<Model> {
    let bytes = mercer_io::model::load(path)?;
    format::from_bytes(&bytes).with_context(|| format!("cannot use {path}"))
}

fn column_names(model: &Model, name: &str) -> Vec<String> {
    match model.summaries() {
        [_] => vec![name.to_owned()],
        several => several.iter().map(|summary| format!("{name}_{}", summary.target)).collect(),
    }
}

/// On standard error: standard output may be the table.
fn report(
    options: &PredictOptions,
    rows: usize,
    extra: &[(String, Vec<Option<f64>>)],
    scores: &[Option<Score>],
    model: &Model,
) {
    let place = if options.output == "-" { "standard output" } else { &options.output };
    let left_out = extra.first().map_or(0, |(_, values)| values.iter().filter(|value| value.is_none()).count());
    let without = if left_out > 0 {
        format!("; {} without prediction (a cell is missing)", integer(left_out))
    } else {
        String::new()
    };
    say!("{} rows predicted, to {place}{without}", integer(rows - left_out));
    for (summary, score) in model.summaries().iter().zip(scores) {
        if let Some(score) = score {
            let r2 = score.r2.map_or_else(String::new, |r2| format!(", R² {}", short(r2)));
            say!("against column {:?}: RMSE {}{r2}", summary.target, short(score.rmse));
        }
    }
}

/// How far predictions are from the column they predict, when the table has it.
struct Score {
    rmse: f64,
    r2: Option<f64>,
    rows: usize,
}

impl Score {
    fn against(frame: &Frame, target: &str, values: &[Option<f64>]) -> Option<Self> {
        let Ok(Column::Number(truth)) = frame.column(target) else { return None };
        let pairs: Vec<(f64, f64)> = truth
            .iter()
            .zip(values)
            .filter_map(|(y, value)| Some((*y, (*value)?)))
            .filter(|(y, _)| y.is_finite())
            .collect();
        let n = pairs.len() as f64;
        if pairs.is_empty() {
            return None;
        }
        let mean = pairs.iter().map(|(y, _)| y / n).sum::<f64>();
        let error = pairs.iter().map(|(y, f)| (y - f) * (y - f) / n).sum::<f64>();
        let variance = pairs.iter().map(|(y, _)| (y - mean) * (y - mean) / n).sum::<f64>();
        Some(Score { rmse: error.sqrt(), r2: (variance > 0.0).then(|| 1.0 - error / variance), rows: pairs.len() })
    }

    fn to_json(&self) -> serde_json::Value {
        json!({ "rmse": self.rmse, "r2": self.r2, "rows": self.rows })
    }
}
