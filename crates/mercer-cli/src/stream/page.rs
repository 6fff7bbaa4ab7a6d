//! What a stream leaves behind, for people and for programs.

use mercer::online::{Method, Revision};
use serde_json::{Value, json};

use super::{Found, Report, picture};
use crate::args::Style;
use crate::fit::Saved;
use crate::grid::{Cell, Grid};
use crate::report::{Page, abbreviated, criterion_name, integer, scale_name, short};

fn method(report: &Report) -> String {
    match report.state.method {
        Method::Exact => "exact".into(),
        Method::Landmarks { count, .. } => format!("{} landmarks", integer(count)),
    }
}

fn value(number: Option<f64>) -> String {
    number.map_or_else(|| "–".into(), short)
}

/// One report as it happens.
pub fn line(report: &Report) -> String {
    let losses = &report.losses;
    format!(
        "  {:>9} rows  RMSE {} (last {}: {}, running mean: {})  effective ridge {}, {}",
        integer(report.state.rows),
        value(losses.rmse()),
        integer(losses.window()),
        value(losses.recent_rmse()),
        value(losses.mean_rmse()),
        report.state.effective_ridge.map_or_else(|| "none: f = 0".into(), short),
        method(report)
    )
}

pub fn grid(found: &Found) -> Grid {
    let window = found.reports.first().map_or(0, |report| report.losses.window());
    let recent = format!("last {}", integer(window));
    let names = ["rows", "RMSE", &recent, "running mean", "λ", "effective ridge", "norm", "method"];
    let mut grid = Grid::new(names.iter().map(|name| (*name).to_owned()).collect());
    for report in &found.reports {
        let (state, losses) = (&report.state, &report.losses);
        let number = |value: Option<f64>| value.map_or(Cell::Nothing, Cell::Number);
        grid.row(vec![
            Cell::Number(state.rows as f64),
            number(losses.rmse()),
            number(losses.recent_rmse()),
            number(losses.mean_rmse()),
            Cell::Number(state.lambda),
            state.effective_ridge.map_or(Cell::Text("f = 0".into()), Cell::Number),
            Cell::Number(state.norm),
            Cell::Text(method(report)),
        ]);
    }
    grid
}

pub fn text(found: &Found, saved: Saved<'_>) -> String {
    let mut page = Page::new();
    let Some(last) = found.reports.last() else { return String::new() };
    let (state, losses) = (&last.state, &last.losses);
    let encoder = found.model.encoder();
    page.block(&grid(found).render(Style::Text));
    page.block(
        "  Every row was predicted before it was learned: these are errors on rows that the model did not know.\n",
    );
    let chart = picture::text(found);
    if !chart.is_empty() {
        page.blank();
        page.block(&chart);
    }
    page.blank();
    let dropped = match found.dropped {
        0 => String::new(),
        count => format!(", {} left out for a missing cell", integer(count)),
    };
    let features = encoder.points_width();
    page.line(
        "rows",
        &format!(
            "{} learned, {} of them predicted first{dropped}; target {}",
            integer(state.rows),
            integer(losses.scored()),
            found.target
        ),
    );
    let by = match found.revisions.last() {
        Some(revision) => format!("row {}, where the scaling was revised", integer(revision.row)),
        None => format!("the first {} rows", integer(found.warm_up)),
    };
    let until = if found.revisions.is_empty() { "by" } else { "by the rows up to" };
    page.line("features", &format!("{}, {} {until} {by}", integer(features), scale_name(encoder.scale)));
    page.line("kernel", &abbreviated(&state.kernel, 100));
    let summary = &found.model.summaries()[0];
    let chosen = match &summary.chosen_by {
        Some(criterion) if summary.lambda_was_chosen => {
            format!(" (chosen anew at every doubling; last by {})", criterion_name(criterion))
        }
        _ => String::new(),
    };
    page.line("penalty", &format!("λ = {}{chosen}, exponent {}", short(state.lambda), short(state.exponent)));
    page.line("ridge", &ridges(found));
    page.line("method", &method_line(found));
    if let (Some(rmse), Some(mean)) = (losses.rmse(), losses.mean_rmse()) {
        let share = if mean > 0.0 { format!(", {}", share(rmse, mean)) } else { String::new() };
        page.line("error", &format!("RMSE {} on rows before they were learned{share}", short(rmse)));
    }
    if let Some(difference) = found.batch_difference {
        let text = format!("the fit of all rows at once differs by at most {difference:.0e} of the target's spread");
        page.line("batch", &text);
    }
    page.line(
        "work",
        &format!(
            "{} factors and {} decompositions for {} rows, {:.1} s in all",
            integer(state.factors),
            integer(state.decompositions),
            integer(state.rows),
            found.seconds
        ),
    );
    if let Some((path, bytes)) = saved {
        page.line("saved", &format!("{path} ({} bytes)", integer(bytes)));
    }
    page.to_string()
}

fn share(rmse: f64, mean: f64) -> String {
    let explained = 1.0 - (rmse / mean) * (rmse / mean);
    format!("R² {} against predicting the running mean", short(explained))
}

/// The effective ridge at the first and the last report.
fn ridges(found: &Found) -> String {
    let at = |report: &Report| {
        let ridge = report.state.effective_ridge.map_or_else(|| "none (f = 0)".into(), short);
        format!("{ridge} at {} rows", integer(report.state.rows))
    };
    match (found.reports.first(), found.reports.last()) {
        (Some(first), Some(last)) if found.reports.len() > 1 => format!("{} → {}", at(first), at(last)),
        (_, Some(last)) => at(last),
        _ => String::new(),
    }
}

fn method_line(found: &Found) -> String {
    match found.reports.last().map(|report| report.state.method) {
        Some(Method::Landmarks { count, mean_missed, mean_diagonal }) => format!(
            "exact in the span of {} landmarks, which miss {} of a mean k(x, x) of {}",
            integer(count),
            short(mean_missed),
            short(mean_diagonal)
        ),
        _ => "exact: the minimiser over all rows so far".into(),
    }
}

fn report_json(report: &Report) -> Value {
    let (state, losses) = (&report.state, &report.losses);
    let landmarks = match state.method {
        Method::Exact => Value::Null,
        Method::Landmarks { count, mean_missed, mean_diagonal } => {
            json!({ "count": count, "mean_missed": mean_missed, "mean_diagonal": mean_diagonal })
        }
    };
    json!({
        "rows": state.rows,
        "scored": losses.scored(),
        "rmse": losses.rmse(),
        "recent_rmse": losses.recent_rmse(),
        "mean_rmse": losses.mean_rmse(),
        "recent_mean_rmse": losses.recent_mean_rmse(),
        "lambda": state.lambda,
        "effective_ridge": state.effective_ridge,
        "norm": state.norm,
        "landmarks": landmarks,
        "factors": state.factors,
        "decompositions": state.decompositions,
    })
}

fn revision_json(revision: &Revision) -> Value {
    json!({ "row": revision.row, "columns": revision.columns, "learned": revision.learned, "rows": revision.rows })
}

/// What is said when the scaling was revised.
pub fn revision(revision: &Revision) -> String {
    let from = match revision.rows < revision.learned {
        true => format!("{} of {} rows, a uniform sample", integer(revision.rows), integer(revision.learned)),
        false => format!("all {} rows", integer(revision.rows)),
    };
    let columns = abbreviated(&revision.columns.join(", "), 80);
    format!(
        "row {}: the scaling by the rows before does not fit {columns} any more; features are rescaled and the model is fitted \
         anew to {from}",
        integer(revision.row)
    )
}

pub fn json(found: &Found) -> Value {
    let summary = &found.model.summaries()[0];
    let mut object = json!({
        "target": found.target,
        "kernel": found.model.kernel().spec(),
        "exponent": summary.exponent,
        "warm_up": found.warm_up,
        "rows_dropped_missing": found.dropped,
        "interrupted": found.interrupted.is_some(),
        "rescaled": found.revisions.iter().map(revision_json).collect::<Vec<Value>>(),
        "lambda_was_chosen": summary.lambda_was_chosen,
        "chosen_by": summary.chosen_by,
        "batch_difference": found.batch_difference,
        "certificate": summary.certificate,
        "seconds": found.seconds,
    });
    if let (Some(map), Some(Value::Object(last))) = (object.as_object_mut(), found.reports.last().map(report_json)) {
        map.extend(last);
        map.insert("reports".into(), found.reports.iter().map(report_json).collect());
    }
    object
}
