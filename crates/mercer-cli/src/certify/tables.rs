//! The tables of a certificate: for a paper, as one list of numbers, and as JSON.

use mercer::data::{Column, Frame};
use mercer::solver::deletion::Divisor;
use mercer_lab::bounds::Verdict;
use mercer_lab::stability::{Power, ScalePoint};
use serde_json::{Value, json};

use super::study::{Found, Stability};
use crate::grid::{Cell, Grid};

const KEPT: &str = "1/n kept";
const REFITTED: &str = "refitted";

/// One number: part, what, variant, value.
type Entry = (&'static str, String, String, f64);

/// Tables for a page or a paper, each with its heading.
pub fn grids(found: &Found) -> Vec<(String, Grid)> {
    let mut grids = Vec::new();
    if let Some(stability) = &found.stability {
        let heading = "Stability: the largest change of the squared loss when one row is left out";
        grids.push((heading.to_owned(), stability_grid(found, stability)));
        if let Some(grid) = scaling_grid(found, stability) {
            grids.push(("Nested subsets of the rows at the same λ, means over the draws".into(), grid));
        }
        if let Some(grid) = transfer_grid(found, stability) {
            let heading = "Stability lent by ridge regression at the effective ridge (estimates, not a proof)";
            grids.push((heading.into(), grid));
        }
    }
    let heading = format!("Bounds of the risk, each with probability {}", found.confidence);
    grids.push((heading, bounds_grid(found)));
    grids
}

fn stability_grid(found: &Found, stability: &Stability) -> Grid {
    let [kept, refitted] = &stability.observed;
    let assume = &found.subject.assume;
    let mut grid = Grid::new(vec!["largest change".into(), KEPT.into(), REFITTED.into()]);
    let number = |value: Option<f64>| value.map_or(Cell::Nothing, Cell::Number);
    let mut row = |name: &str, a: Option<f64>, b: Option<f64>| grid.row(vec![name.into(), number(a), number(b)]);
    row("observed at the rows", Some(kept.at_rows), Some(refitted.at_rows));
    row("observed at the rows, any target within its bound", Some(kept.any_target), Some(refitted.any_target));
    row("observed, any point and target", Some(kept.anywhere), Some(refitted.anywhere));
    row("proved for every table", assume.bound(Divisor::All), assume.bound(Divisor::Remaining));
    if let Some(published) = assume.published_bound() {
        row("proved, as published (m at least 2)", Some(published), Some(published));
    }
    grid
}

fn scaling_grid(found: &Found, stability: &Stability) -> Option<Grid> {
    let scaling = stability.scaling.as_ref()?;
    let mut columns = vec!["rows", "observed at the rows", "proved", "change of the effective ridge"];
    // At exponent 2 it is rounding.
    columns.truncate(if found.subject.assume.exponent == 2.0 { 3 } else { 4 });
    let mut grid = Grid::new(columns.iter().map(|name| (*name).to_owned()).collect());
    let mut sizes: Vec<usize> = scaling.points.iter().map(|point| point.rows).collect();
    sizes.sort_unstable();
    sizes.dedup();
    for rows in sizes {
        let of: Vec<&ScalePoint> = scaling.points.iter().filter(|point| point.rows == rows).collect();
        let mean = |value: &dyn Fn(&ScalePoint) -> f64| of.iter().map(|p| value(p)).sum::<f64>() / of.len() as f64;
        let bound = found.subject.assume.with_rows(rows).bound(Divisor::All);
        let mut cells = vec![
            Cell::Number(rows as f64),
            Cell::Number(mean(&|point| point.observed)),
            bound.map_or(Cell::Nothing, Cell::Number),
            Cell::Number(mean(&|point| point.ridge_change)),
        ];
        cells.truncate(columns.len());
        grid.row(cells);
    }
    Some(grid)
}

fn transfer_grid(found: &Found, stability: &Stability) -> Option<Grid> {
    let transfer = stability.transfer.as_ref().filter(|_| found.subject.assume.exponent != 2.0)?;
    let mut grid = Grid::new(vec!["constant".into(), "value".into()]);
    for (name, value) in [
        ("effective ridge μ", transfer.ridge),
        ("its largest change C(n) when a row is left out", transfer.ridge_change),
        ("proved for ridge regression at μ", transfer.ridge_bound),
        ("slope of that in μ", transfer.ridge_bound_slope),
        ("slope of the ridge path, norm of df/dμ", transfer.path_slope),
        ("largest move along the path of n – 1 rows", transfer.path_move),
        ("slope of the loss", transfer.lipschitz),
        ("stability so transferred", transfer.transferred),
    ] {
        grid.row(vec![name.into(), Cell::Number(value)]);
    }
    Some(grid)
}

fn bounds_grid(found: &Found) -> Grid {
    let columns = ["loss", "bound", "value", "complexity", "deviation", "verdict", "rows needed"];
    let mut grid = Grid::new(columns.map(String::from).to_vec());
    for judged in &found.judged {
        for bound in &judged.bounds {
            grid.row(vec![
                Cell::Text(judged.loss.spec()),
                bound.kind.name().into(),
                Cell::Number(bound.value),
                Cell::Number(bound.complexity),
                Cell::Number(bound.deviation),
                verdict(bound.verdict).into(),
                bound.rows_needed.map_or(Cell::Text("never".into()), |n| Cell::Text(rows(n))),
            ]);
        }
    }
    grid
}

/// As many as can be counted.
pub fn rows(n: f64) -> String {
    if n < 1e9 { crate::report::integer(n as usize) } else { crate::report::short(n) }
}

fn verdict(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Vacuous => "vacuous",
        Verdict::AboveMean => "above the loss of the mean",
        Verdict::Informative => "informative",
    }
}

/// Every number, one a row.
fn entries(found: &Found) -> Vec<Entry> {
    let assume = &found.subject.assume;
    let mut all: Vec<Entry> = Vec::new();
    let mut add = |part, what: &str, variant: &str, value: f64| all.push((part, what.into(), variant.into(), value));
    add("assumed", "rows", "", assume.rows as f64);
    add("assumed", "exponent", "", assume.exponent);
    add("assumed", "lambda", "", assume.lambda);
    add("assumed", "target bound", "", assume.target_bound);
    add("assumed", "kernel bound", "", assume.kernel_bound);
    add("assumed", "norm bound", "", assume.norm_bound());
    add("assumed", "residual bound", "", assume.residual_bound());
    if let Some(stability) = &found.stability {
        for (observed, variant) in stability.observed.iter().zip([KEPT, REFITTED]) {
            add("stability", "observed at rows", variant, observed.at_rows);
            add("stability", "observed at rows, any target", variant, observed.any_target);
            add("stability", "observed anywhere", variant, observed.anywhere);
            add("stability", "proved", variant, assume.bound(observed.divisor).unwrap_or(f64::NAN));
        }
        add("stability", "published", KEPT, assume.published_bound().unwrap_or(f64::NAN));
        if let Some(transfer) = &stability.transfer {
            add("transfer", "effective ridge", "", transfer.ridge);
            add("transfer", "ridge change", "", transfer.ridge_change);
            add("transfer", "transferred", "", transfer.transferred);
        }
        for point in stability.scaling.iter().flat_map(|scaling| &scaling.points) {
            let variant = format!("{} rows, draw {}", point.rows, point.draw + 1);
            add("scaling", "observed at rows", &variant, point.observed);
            add("scaling", "ridge change", &variant, point.ridge_change);
        }
    }
    for judged in &found.judged {
        let loss = judged.loss.spec();
        add("risk", "train", &loss, judged.train);
        add("risk", "held out", &loss, judged.held_out.unwrap_or(f64::NAN));
        add("risk", "mean predicted", &loss, judged.baseline);
        for bound in &judged.bounds {
            add("bound", bound.kind.name(), &loss, bound.value);
        }
    }
    all
}

pub fn listed(found: &Found) -> Grid {
    let mut grid = Grid::new(["part", "what", "variant", "value"].map(String::from).to_vec());
    for (part, what, variant, value) in entries(found) {
        let value = if value.is_finite() { Cell::Number(value) } else { Cell::Nothing };
        grid.row(vec![part.into(), Cell::Text(what), Cell::Text(variant), value]);
    }
    grid
}

pub fn frame(found: &Found) -> mercer::Result<Frame> {
    let all = entries(found);
    let text = |value: &dyn Fn(&Entry) -> String| Column::Text(all.iter().map(|entry| Some(value(entry))).collect());
    let mut frame = Frame::new(all.len());
    frame.push("part", text(&|entry| entry.0.to_owned()))?;
    frame.push("what", text(&|entry| entry.1.clone()))?;
    frame.push("variant", text(&|entry| entry.2.clone()))?;
    let finite = |value: f64| if value.is_finite() { value } else { f64::NAN };
    frame.push("value", Column::Number(all.iter().map(|entry| finite(entry.3)).collect()))?;
    Ok(frame)
}

pub fn json(found: &Found) -> Value {
    let (subject, assume) = (&found.subject, &found.subject.assume);
    let power = |power: Option<Power>| power.map(|p| json!({"rate": p.rate, "standard_error": p.standard_error}));
    let stability = found.stability.as_ref().map(|stability| {
        let observed = stability.observed.iter().map(|observed| {
            json!({
                "deletion": if observed.divisor == Divisor::All { "divisor-kept" } else { "refitted" },
                "at_rows": observed.at_rows,
                "row": observed.row + 1,
                "any_target": observed.any_target,
                "anywhere": observed.anywhere,
                "norm_change": observed.norm_change,
                "norm_change_bound": assume.norm_change_bound(observed.divisor),
                "bound": assume.bound(observed.divisor),
            })
        });
        let scaling = stability.scaling.as_ref().map(|scaling| {
            let point = |p: &ScalePoint| {
                json!({"rows": p.rows, "draw": p.draw, "observed": p.observed, "ridge_change": p.ridge_change})
            };
            json!({
                "observed": power(scaling.observed),
                "ridge_change": power(scaling.ridge_change),
                "rate_proved": assume.rate(),
                "points": scaling.points.iter().map(point).collect::<Vec<Value>>(),
            })
        });
        let transfer = stability.transfer.as_ref().map(|transfer| {
            json!({
                "effective_ridge": transfer.ridge,
                "ridge_change": transfer.ridge_change,
                "ridges": transfer.ridges,
                "ridge_bound": transfer.ridge_bound,
                "ridge_bound_slope": transfer.ridge_bound_slope,
                "loss_slope": transfer.lipschitz,
                "path_slope": transfer.path_slope,
                "path_move": transfer.path_move,
                "ridge_observed": transfer.ridge_observed.at_rows,
                "transferred": transfer.transferred,
            })
        });
        json!({
            "deletions": observed.collect::<Vec<Value>>(),
            "published_bound": assume.published_bound(),
            "scaling": scaling,
            "transfer": transfer,
        })
    });
    let risks: Vec<Value> = found.judged.iter().map(|judged| risk(found, judged)).collect();
    json!({
        "n": assume.rows,
        "target": subject.target,
        "kernel": subject.kernel.spec(),
        "loss": assume.loss.spec(),
        "exponent": assume.exponent,
        "lambda": assume.lambda,
        "lambda_was_chosen": subject.chosen_by.is_some(),
        "center": found.centre,
        "had_offset": subject.had_offset,
        "certificate_holds": subject.certificate.holds,
        "confidence": found.confidence,
        "target_bound": assume.target_bound,
        "target_bound_is_given": found.target_bound_is_given,
        "kernel_bound": assume.kernel_bound,
        "kernel_bound_is_known": subject.kernel_is_known,
        "norm": subject.norm,
        "norm_bound": assume.norm_bound(),
        "residual_bound": assume.residual_bound(),
        "stability": stability,
        "risks": risks,
    })
}

fn risk(found: &Found, judged: &super::study::Judged) -> Value {
    let bounds = judged.bounds.iter().map(|bound| {
        json!({
            "name": bound.kind.name(),
            "is_bound": found.holds(bound),
            "value": bound.value,
            "radius": bound.radius,
            "complexity": bound.complexity,
            "deviation": bound.deviation,
            "largest_loss": bound.largest,
            "is_vacuous": bound.verdict == Verdict::Vacuous,
            "is_informative": found.holds(bound) && bound.verdict == Verdict::Informative,
            "rows_needed": bound.rows_needed,
        })
    });
    json!({
        "loss": judged.loss.spec(),
        "train": judged.train,
        "held_out": judged.held_out,
        "mean_predicted": judged.baseline,
        "bounds": bounds.collect::<Vec<Value>>(),
    })
}
