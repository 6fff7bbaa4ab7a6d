//! Φ, the distance of both functions, how Φ moves, and what that means.

use mercer_lab::equivalence::{Comparison, Deleted, Image, Mapped};
use serde_json::{Value, json};

use super::{Found, named_value, picture, verdict};
use crate::args::Style;
use crate::grid::{Cell, Grid};
use crate::report::{rows, short};

/// A line of this many characters is still read with ease.
const WIDTH: usize = 100;

pub fn page(found: &Found) -> String {
    let comparison = &found.comparison;
    let fitted = &found.fitted;
    let mut text = format!(
        "  {}, target {}, {}\n\n",
        rows(fitted.design.rows()),
        fitted.summary().target,
        fitted.model.kernel().spec()
    );
    let whole = comparison.deletions.whole.image;
    let value = whole.parameter().map_or_else(|| "does not exist".to_owned(), short);
    text += &format!("  from  {}\n", named_value(comparison.from, &short(comparison.parameter)));
    text += &format!("  to    {}\n", named_value(comparison.to, &value));
    text += &format!("  {}\n\n", agreement(comparison));
    if whole.parameter().is_some() {
        text += &grid(comparison).render(Style::Text);
        text += "\n";
    }
    text += &wrapped(&verdict::sentences(comparison));
    let drawn = picture::text(found);
    if !drawn.is_empty() {
        text += &format!("\n{drawn}");
    }
    text
}

fn agreement(comparison: &Comparison) -> String {
    match (&comparison.agreement, comparison.deletions.whole.image) {
        (Some(found), _) => {
            let apart = match found.distance / found.norm {
                0.0 => "both solutions agree exactly".to_owned(),
                share => format!("both solutions agree to {} of ‖f‖", short(share)),
            };
            let symbol = comparison.from.symbol();
            let back = match found.back {
                0.0 => format!("mapping back recovers {symbol} exactly"),
                error => format!("mapping back recovers {symbol} to {}", short(error)),
            };
            let (ridge, norm) = (short(found.log_ridges[0].exp()), short(found.norm));
            format!("effective ridge {ridge}, ‖f‖ = {norm}; {apart};\n  {back}")
        }
        (None, Image::At(_)) => "that is the end of the other's range to the last digit: its parameter no longer says \
                                 which point is meant"
            .into(),
        (None, image) => image.reason().unwrap_or_default().to_owned(),
    }
}

/// One line per kind of training set.
pub fn grid(comparison: &Comparison) -> Grid {
    let names =
        ["training sets", "rows", "sets", "Φ least", "Φ median", "Φ largest", "largest move", "of Φ", "without Φ"];
    let mut grid = Grid::new(names.iter().map(|name| (*name).to_owned()).collect());
    let whole = comparison.deletions.whole;
    let mut line = |name: String, sets: &[Mapped], change: Option<f64>, beside: Option<f64>| {
        let mut values: Vec<f64> = sets.iter().filter_map(|set| set.image.parameter()).collect();
        values.sort_by(f64::total_cmp);
        let cell = |value: Option<f64>| value.map_or(Cell::Nothing, Cell::Number);
        grid.row(vec![
            Cell::Text(name),
            cell(sets.first().map(|set| set.examples)),
            Cell::Number(sets.len() as f64),
            cell(values.first().copied()),
            cell(median(&values)),
            cell(values.last().copied()),
            cell(change),
            cell(change.zip(beside).map(|(change, beside)| change / beside)),
            Cell::Number((sets.len() - values.len()) as f64),
        ]);
    };
    let own = whole.image.parameter();
    let moved = |sets: &[Mapped]| {
        let moves = sets.iter().filter_map(|set| Some((set.image.parameter()? - own?).abs()));
        moves.fold(None, |most: Option<f64>, m| Some(most.map_or(m, |known| known.max(m))))
    };
    line("all rows".into(), &[whole], None, None);
    line("disjoint parts".into(), &comparison.parts, moved(&comparison.parts), own);
    line("bootstrap samples".into(), &comparison.bootstrap, moved(&comparison.bootstrap), own);
    line("all rows but one".into(), &comparison.deletions.mapped(), comparison.deletions.change(), own);
    for draws in sizes(&comparison.growth) {
        let sets: Vec<Mapped> = draws.iter().map(|set| set.whole).collect();
        // The draw that moves most, beside its own Φ.
        let most = draws.iter().filter_map(|set| Some((set.change()?, set.whole.image.parameter()?)));
        let most = most.max_by(|a, b| a.0.total_cmp(&b.0));
        line("subsets (move: one row)".into(), &sets, most.map(|m| m.0), most.map(|m| m.1));
    }
    grid
}

/// Subsets of one size together; all rows, the last, stand elsewhere.
fn sizes(growth: &[Deleted]) -> Vec<&[Deleted]> {
    let subsets = &growth[..growth.len().saturating_sub(1)];
    subsets.chunk_by(|a, b| a.whole.examples == b.whole.examples).collect()
}

fn median(sorted: &[f64]) -> Option<f64> {
    let (low, high) = (sorted.get(sorted.len().saturating_sub(1) / 2)?, sorted.get(sorted.len() / 2)?);
    Some(f64::midpoint(*low, *high))
}

/// Lines of a few words, indented.
fn wrapped(text: &str) -> String {
    let mut lines = vec![String::from(" ")];
    for word in text.split_whitespace() {
        let is_full = lines.last().is_some_and(|line| line.chars().count() + 1 + word.chars().count() > WIDTH);
        if is_full {
            lines.push(String::from(" "));
        }
        if let Some(line) = lines.last_mut() {
            *line += " ";
            *line += word;
        }
    }
    lines.join("\n") + "\n"
}

pub fn to_json(found: &Found) -> Value {
    let comparison = &found.comparison;
    let whole = comparison.deletions.whole.image;
    let values = |sets: &[Mapped]| sets.iter().map(|set| set.image.parameter()).collect::<Vec<Option<f64>>>();
    let growth: Vec<Value> = comparison
        .growth
        .iter()
        .map(|set| {
            json!({
                "rows": set.whole.examples, "value": set.whole.image.parameter(), "change": set.change(),
                "relative_change": set.change().zip(set.whole.image.parameter()).map(|(c, p)| c / p),
            })
        })
        .collect();
    json!({
        "n": found.fitted.design.rows(),
        "target": found.fitted.summary().target,
        "kernel": found.fitted.model.kernel().spec(),
        "from": {"algorithm": comparison.from.spec(), "name": comparison.from.symbol(), "value": comparison.parameter},
        "to": {"algorithm": comparison.to.spec(), "name": comparison.to.symbol(), "value": whole.parameter()},
        "reason": whole.reason(),
        "effective_ridge": comparison.agreement.map(|found| found.log_ridges[0].exp()),
        "norm": comparison.agreement.map(|found| found.norm),
        "distance": comparison.agreement.map(|found| found.distance),
        "relative_distance": comparison.agreement.map(|found| found.distance / found.norm),
        "back_error": comparison.agreement.map(|found| found.back),
        "coefficient_difference": comparison.agreement.map(|found| found.coefficients),
        "equivalence": verdict::word(&comparison.relation),
        "formula": comparison.relation.formula(comparison.from.symbol()),
        "formula_error": comparison.formula_error(),
        "parts": values(&comparison.parts),
        "bootstrap": values(&comparison.bootstrap),
        "deletions": values(&comparison.deletions.mapped()),
        "largest_change": comparison.deletions.change(),
        "growth": growth,
        "decay": comparison.decay.map(|decay| json!({
            "exponent": decay.exponent, "standard_error": decay.standard_error, "falls": decay.falls(),
        })),
        "verdict": verdict::sentences(comparison),
    })
}
