//! Both paths against A's parameter: B told the same number, and B told Φ, where the curves must coincide.

use mercer_lab::equivalence::Algorithm;

use super::Found;
use super::aligned::Aligned;
use crate::chart::lines::{self, Curve, Window};
use crate::report::{abbreviated, short};
use crate::svg::curves::{self, Panel};
use crate::svg::powers_of_ten;

pub fn text(found: &Found) -> String {
    let Some(window) = window(&found.paths) else { return String::new() };
    let (from, to) = (found.comparison.from, found.comparison.to);
    let all = [
        curve(found, format!("{} there", to.spec()), 2),
        curve(found, from.spec(), 0),
        curve(found, format!("{} at Φ, on top of it", to.spec()), 1),
    ];
    lines::draw(&all, &window, "training RMSE", &format!("{} of {}", from.symbol(), from.spec()))
}

pub fn svg(found: &Found) -> String {
    let (from, to) = (found.comparison.from, found.comparison.to);
    let window = window(&found.paths).unwrap_or(Window { x: (0.1, 10.0), y: (0.0, 1.0), log_y: false });
    let x_name = format!("{} of {}", from.symbol(), from.spec());
    let second_name = format!("Φ: {} of {}", to.symbol(), to.spec());
    let (first, same) = (curve(found, legend(from), 0), curve(found, legend(to), 2));
    let (again, moved) = (curve(found, legend(from), 0), curve(found, legend(to), 1));
    let summary = found.fitted.summary();
    let title = format!("{}: {} and {}", summary.target, from.spec(), to.spec());
    let title = abbreviated(&title, 90);
    let names = (x_name.as_str(), "training RMSE");
    let apart = Panel {
        title: "The same number given to both",
        curves: &[first, same],
        marks: &[],
        window: &window,
        names,
        second: None,
        is_overlay: false,
    };
    let together = Panel {
        title: "The second told Φ of that number: one path",
        curves: &[again, moved],
        marks: &[],
        window: &window,
        names,
        second: Some((second_scale(&found.paths, &window), &second_name)),
        is_overlay: true,
    };
    curves::stack(&[apart, together], &title)
}

fn curve(found: &Found, name: String, which: usize) -> Curve {
    let points = found.paths.iter().map(|point| (point.from, point.errors[which])).collect();
    Curve { name, points, chosen: None }
}

/// As long as there is room for beside a drawing.
fn legend(algorithm: Algorithm) -> String {
    abbreviated(&algorithm.spec(), 22)
}

/// What Φ is at the powers of ten of the first axis, between the points of the path.
fn second_scale(points: &[Aligned], window: &Window) -> Vec<(f64, String)> {
    let image = |x: f64| -> Option<f64> {
        let pair = points.windows(2).find(|pair| pair[0].from <= x && x <= pair[1].from)?;
        let share = (x / pair[0].from).ln() / (pair[1].from / pair[0].from).ln();
        let log = pair[0].to.ln() + share * (pair[1].to / pair[0].to).ln();
        Some(log.exp()).filter(|value| value.is_finite())
    };
    powers_of_ten(window.x.0, window.x.1)
        .into_iter()
        .map(|power| 10_f64.powi(power))
        .filter_map(|x| Some((x, rough(image(x)?))))
        .collect()
}

/// Two digits: labels stand close.
fn rough(value: f64) -> String {
    let rounded: f64 = format!("{value:.1e}").parse().unwrap_or(value);
    short(rounded)
}

fn window(points: &[Aligned]) -> Option<Window> {
    let (first, last) = (points.first()?, points.last()?);
    let errors = || points.iter().map(|point| point.errors[0]).filter(|v| v.is_finite());
    let (low, high) = (errors().fold(f64::INFINITY, f64::min), errors().fold(0.0, f64::max));
    let is_usable = first.from < last.from && high > 0.0 && high.is_finite();
    let log_y = high > 20.0 * low;
    let bottom = if log_y { 0.8 * low.max(1e-6 * high) } else { 0.0_f64.max(low - 0.1 * (high - low)) };
    is_usable.then_some(Window { x: (first.from, last.from), y: (bottom, 1.05 * high), log_y })
}
