//! The running error against the number of rows.

use super::Found;
use crate::chart::lines::{self, Curve, Window};
use crate::report::{abbreviated, integer};
use crate::svg::curves::{self, Panel};

pub fn text(found: &Found) -> String {
    match window(found) {
        Some(window) => lines::draw(&errors(found), &window, "RMSE of predictions made before learning", "rows"),
        None => String::new(),
    }
}

pub fn svg(found: &Found) -> String {
    let window = window(found).unwrap_or(Window { x: (1.0, 10.0), y: (0.0, 1.0), log_y: false });
    let title = format!("{}: {}", found.target, found.model.kernel().spec());
    let title = abbreviated(&title, 90);
    // Errors so far have no minimum that means anything.
    let panel = Panel {
        title: &title,
        curves: &errors(found),
        marks: &[],
        window: &window,
        names: ("rows", "RMSE"),
        second: None,
        is_overlay: false,
    };
    curves::stack(&[panel], &title)
}

/// The running mean below, the model above it.
fn errors(found: &Found) -> Vec<Curve> {
    let recent = found.reports.first().map_or(0, |report| report.losses.window());
    let names = [(2, "running mean".to_owned()), (1, format!("last {}", integer(recent))), (0, "so far".to_owned())];
    let curve = |(index, name): (usize, String)| Curve {
        name,
        points: found.curve.iter().map(|(rows, errors)| (*rows as f64, errors[index])).collect(),
        chosen: None,
    };
    names.into_iter().map(curve).collect()
}

/// All errors but those of the very first rows, which are of few predictions.
fn window(found: &Found) -> Option<Window> {
    let (first, last) = (found.curve.first()?, found.curve.last()?);
    let late = |(rows, _): &&(usize, [f64; 3])| *rows >= first.0 + 10 || *rows == last.0;
    let values: Vec<f64> =
        found.curve.iter().filter(late).flat_map(|(_, errors)| *errors).filter(|e| e.is_finite() && *e > 0.0).collect();
    let (low, high) = values.iter().fold((f64::INFINITY, 0.0_f64), |(low, high), e| (low.min(*e), high.max(*e)));
    let is_usable = first.0 < last.0 && low < high && high.is_finite();
    let log_y = high / low > 20.0;
    let y = if log_y { (0.8 * low, 1.2 * high) } else { (0.0, 1.05 * high) };
    is_usable.then_some(Window { x: (first.0 as f64, last.0 as f64), y, log_y })
}
