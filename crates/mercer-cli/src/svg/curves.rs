//! Curves over a logarithmic axis.

use super::panels::Axis;
use super::{Anchor, Canvas, colour};
use crate::chart::lines::{Curve, Window};

const WIDTH: f64 = 790.0;
const HEIGHT: f64 = 440.0;
const LEFT: f64 = 70.0;
const RIGHT: f64 = 210.0;
const TOP: f64 = 40.0;
const BOTTOM: f64 = 50.0;
/// Room for a second scale.
const SECOND: f64 = 44.0;

/// A place on the x axis that a dashed line marks.
pub struct Mark {
    pub name: String,
    pub x: f64,
}

/// One picture of a stack.
pub struct Panel<'a> {
    pub title: &'a str,
    pub curves: &'a [Curve],
    pub marks: &'a [Mark],
    pub window: &'a Window,
    /// Of the x and the y axis.
    pub names: (&'a str, &'a str),
    /// A second scale under the first: places on the x axis, what stands there, and its name.
    pub second: Option<(Vec<(f64, String)>, &'a str)>,
    /// Whether curves are expected to coincide: the first is broad.
    pub is_overlay: bool,
}

impl Panel<'_> {
    fn height(&self) -> f64 {
        HEIGHT + if self.second.is_some() { SECOND } else { 0.0 }
    }
}

/// Curves with a dot where a point is chosen, and marks.
pub fn draw(curves: &[Curve], marks: &[Mark], window: &Window, title: &str, names: (&str, &str)) -> String {
    stack(&[Panel { title, curves, marks, window, names, second: None, is_overlay: false }], title)
}

/// Panels, one below the other.
pub fn stack(panels: &[Panel], title: &str) -> String {
    let mut canvas = Canvas::new(WIDTH, panels.iter().map(Panel::height).sum());
    let mut top = 0.0;
    for panel in panels {
        draw_panel(&mut canvas, panel, top);
        top += panel.height();
    }
    canvas.finish(title)
}

fn draw_panel(canvas: &mut Canvas, panel: &Panel, start: f64) {
    let (window, top) = (panel.window, start + TOP);
    let at = |(x, y): (f64, f64)| (LEFT + x * (WIDTH - LEFT - RIGHT), top + (1.0 - y) * (HEIGHT - TOP - BOTTOM));
    canvas.text((LEFT - 60.0, top - 24.0), Anchor::Start, panel.title);
    axes(canvas, window, &at, panel.names);
    if let Some((places, name)) = &panel.second {
        second_axis(canvas, window, &at, places, name);
    }
    let mut legend = top + 8.0;
    let mut entry = |canvas: &mut Canvas, index: usize, name: &str, is_dashed: bool| {
        let x = WIDTH - RIGHT + 14.0;
        canvas.stroke(colour(index), (x, legend - 4.0), (x + 20.0, legend - 4.0), is_dashed);
        canvas.text((x + 26.0, legend), Anchor::Start, name);
        legend += 20.0;
    };
    for (index, curve) in panel.curves.iter().enumerate() {
        // Outside the window a curve is interrupted.
        let places: Vec<Option<(f64, f64)>> = curve.points.iter().map(|(x, y)| window.place(*x, *y).map(at)).collect();
        for run in places.split(Option::is_none).filter(|run| run.len() > 1) {
            let points: Vec<(f64, f64)> = run.iter().flatten().copied().collect();
            let width = if panel.is_overlay && index == 0 { 7.0 } else { 2.0 };
            canvas.polyline(width, colour(index), &points);
        }
        let chosen = curve.chosen.and_then(|place| curve.points.get(place));
        if let Some(place) = chosen.and_then(|(x, y)| window.place(*x, *y)) {
            canvas.dot(colour(index), at(place));
        }
        entry(canvas, index, &curve.name, false);
    }
    for (index, mark) in panel.marks.iter().enumerate().map(|(i, mark)| (i + panel.curves.len(), mark)) {
        if let Some((x, _)) = window.place(mark.x, window.y.0) {
            canvas.stroke(colour(index), at((x, 0.0)), at((x, 1.0)), true);
        }
        entry(canvas, index, &mark.name, true);
    }
}

fn second_axis(
    canvas: &mut Canvas,
    window: &Window,
    at: &dyn Fn((f64, f64)) -> (f64, f64),
    places: &[(f64, String)],
    name: &str,
) {
    let (left, bottom) = at((0.0, 0.0));
    let (right, _) = at((1.0, 0.0));
    for (x, word) in places {
        let Some((share, _)) = window.place(*x, window.y.0) else { continue };
        canvas.text((at((share, 0.0)).0, bottom + 58.0), Anchor::Middle, word);
    }
    canvas.text((f64::midpoint(left, right), bottom + 78.0), Anchor::Middle, name);
}

fn axes(canvas: &mut Canvas, window: &Window, at: &dyn Fn((f64, f64)) -> (f64, f64), (x_name, y_name): (&str, &str)) {
    let (left, bottom) = at((0.0, 0.0));
    let (right, top) = at((1.0, 1.0));
    let horizontal = Axis::logarithmic(x_name, window.x);
    let vertical = Axis { is_log: window.log_y, ..Axis::linear(y_name, window.y) };
    let inside = |axis: &Axis, (value, label): (f64, String)| {
        let share = axis.share(value);
        (-1e-9..=1.0 + 1e-9).contains(&share).then_some((share, label))
    };
    for (share, label) in horizontal.ticks().into_iter().filter_map(|tick| inside(&horizontal, tick)) {
        let (x, _) = at((share, 0.0));
        canvas.line("tick", (x, top), (x, bottom));
        canvas.text((x, bottom + 18.0), Anchor::Middle, &label);
    }
    for (share, label) in vertical.ticks().into_iter().filter_map(|tick| inside(&vertical, tick)) {
        let (_, y) = at((0.0, share));
        canvas.line("tick", (left, y), (right, y));
        canvas.text((left - 8.0, y + 4.0), Anchor::End, &label);
    }
    canvas.line("axis", (left, bottom), (right, bottom));
    canvas.line("axis", (left, bottom), (left, top));
    canvas.text((f64::midpoint(left, right), bottom + 38.0), Anchor::Middle, x_name);
    canvas.text((left - 60.0, top - 8.0), Anchor::Start, y_name);
}
