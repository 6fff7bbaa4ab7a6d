//! `mercer effects --importance`: how much worse held-out predictions are when a column is permuted.

use std::io::Write;

use mercer::Model;
use mercer::data::{Column, Frame, Roles};
use mercer::importance::{ColumnImportance, Importance, Permutation};
use serde_json::{Value, json};

use crate::args::{Common, EffectsOptions, Style};
use crate::files;
use crate::grid::{Cell, Grid};
use crate::outcome::{Done, Usage};
use crate::progress::Progress;
use crate::report::{integer, short};

pub fn run(model: &Model, options: &EffectsOptions, common: &Common) -> anyhow::Result<Done> {
    let training = &options.training;
    let Some(data) = &training.data else {
        let text = "--importance fits the model again on parts of its training table: --data TRAINING gives it";
        return Err(Usage(text.to_owned()).into());
    };
    let frame = files::read_table(data, &options.reading.to_read_options())?.frame;
    let roles = Roles {
        targets: model.summaries().iter().map(|summary| summary.target.clone()).collect(),
        weight: training.weight.clone(),
        group: training.group.clone(),
        ..Roles::default()
    };
    if let (Some(count), None) = (model.summaries().iter().find_map(|summary| summary.groups), &roles.group) {
        anyhow::bail!(
            "{} was fitted to {} groups of rows, which are held out as wholes; --group NAME names their column in the table of --data",
            options.model,
            integer(count)
        );
    }
    let progress = Progress::start(common.quiet);
    let settings = Permutation { seed: common.seed, ..Permutation::for_model(model) };
    let found = settings.of_model(model, &frame, &roles, Some(&progress.observer()))?;
    drop(progress);
    if let Some(path) = &options.shown.output {
        mercer_io::write_frame(path, &to_frame(&found)?)?;
    }
    let text = match (options.shown.json, options.shown.style) {
        (true, _) => format!("{}\n", to_json(&found)),
        (false, Style::Text) => page(&found),
        (false, style) => grid(&found).render(style),
    };
    let to_stderr = options.shown.output.as_deref() == Some("-");
    if !common.quiet || options.shown.json {
        if to_stderr { say!("{}", text.trim_end()) } else { write!(std::io::stdout(), "{text}")? }
    }
    Ok(Done::Certified)
}

fn grid(found: &[Importance]) -> Grid {
    let several = found.len() > 1;
    let mut columns: Vec<String> = if several { vec!["target".into()] } else { Vec::new() };
    columns.extend(["column", "rise", "std. error", "share %"].map(String::from));
    let mut grid = Grid::new(columns);
    for (target, column) in all(found) {
        let mut cells: Vec<Cell> = if several { vec![target.target.as_str().into()] } else { Vec::new() };
        cells.push(Cell::Text(column.column.clone()));
        cells.extend([column.increase, column.standard_error, 100.0 * column.share].map(Cell::Number));
        grid.row(cells);
    }
    grid
}

fn all(found: &[Importance]) -> impl Iterator<Item = (&Importance, &ColumnImportance)> {
    found.iter().flat_map(|target| target.columns.iter().map(move |column| (target, column)))
}

fn page(found: &[Importance]) -> String {
    let mut text = String::new();
    for target in found {
        text.push_str(&format!(
            "  importance for {}: {} held-out rows, mean squared error {}\n",
            target.target,
            integer(target.rows.len()),
            short(target.mse)
        ));
    }
    text.push('\n');
    text.push_str(&grid(found).render(Style::Text));
    text.push_str(
        "\n  Rise of the held-out mean squared error when a column is permuted, and its standard error; columns that say the same\n  \
         replace each other, and each then rises less. See docs/effects.md.\n",
    );
    text
}

fn to_frame(found: &[Importance]) -> mercer::Result<Frame> {
    let rows: Vec<(&Importance, &ColumnImportance)> = all(found).collect();
    let text = |read: &dyn Fn(&(&Importance, &ColumnImportance)) -> String| {
        Column::Text(rows.iter().map(|row| Some(read(row))).collect())
    };
    let number = |read: &dyn Fn(&ColumnImportance) -> f64| Column::Number(rows.iter().map(|row| read(row.1)).collect());
    let mut frame = Frame::new(rows.len());
    frame.push("target", text(&|row| row.0.target.clone()))?;
    frame.push("column", text(&|row| row.1.column.clone()))?;
    frame.push("increase", number(&|column| column.increase))?;
    frame.push("standard_error", number(&|column| column.standard_error))?;
    frame.push("share", number(&|column| column.share))?;
    Ok(frame)
}

fn to_json(found: &[Importance]) -> Value {
    let targets: Vec<Value> = found
        .iter()
        .map(|target| {
            json!({
                "target": target.target,
                "mse": target.mse,
                "rows": target.rows.len(),
                "permutations": target.partners.len(),
                "columns": target.columns.iter().map(column).collect::<Vec<Value>>(),
            })
        })
        .collect();
    json!({ "targets": targets })
}

/// One column, as `fit --json` has it, too.
pub fn column(column: &ColumnImportance) -> Value {
    json!({
        "column": column.column,
        "share": column.share,
        "share_error": column.share_error,
        "increase": column.increase,
        "standard_error": column.standard_error,
    })
}
