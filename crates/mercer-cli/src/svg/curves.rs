//! Curves over a logarithmic axis.

use super::panels::Axis;
use super::{Anchor, Canvas, colour};
use crate::chart::lines::{Curve, Window};

const WIDTH: f64 = 760.0;
const HEIGHT: f64 = 440.0;
const LEFT: f64 = 70.0;
const RIGHT: f64 = 180.0;
const TOP: f64 = 40.0;
const BOTTOM: f64 = 50.0;

/// A place on the x axis that a dashed line marks.
pub struct Mark {
    pub name: String,
    pub x: f64,
}

/// Curves with a dot at the minimum of each but the first, and marks.
pub fn draw(curves: &[Curve], marks: &[Mark], window: &Window, title: &str, names: (&str, &str)) -> String {
    let mut canvas = Canvas::new(WIDTH, HEIGHT);
    let at = |(x, y): (f64, f64)| (LEFT + x * (WIDTH - LEFT - RIGHT), TOP + (1.0 - y) * (HEIGHT - TOP - BOTTOM));
    canvas.text((LEFT, TOP - 16.0), Anchor::Start, title);
    axes(&mut canvas, window, &at, names);
    let mut legend = TOP + 8.0;
    let mut entry = |canvas: &mut Canvas, index: usize, name: &str, is_dashed: bool| {
        let x = WIDTH - RIGHT + 14.0;
        canvas.stroke(colour(index), (x, legend - 4.0), (x + 20.0, legend - 4.0), is_dashed);
        canvas.text((x + 26.0, legend), Anchor::Start, name);
        legend += 20.0;
    };
    for (index, curve) in curves.iter().enumerate() {
        // Outside the window a curve is interrupted.
        let places: Vec<Option<(f64, f64)>> = curve.points.iter().map(|(x, y)| window.place(*x, *y).map(at)).collect();
        for run in places.split(Option::is_none).filter(|run| run.len() > 1) {
            let points: Vec<(f64, f64)> = run.iter().flatten().copied().collect();
            canvas.polyline(colour(index), &points);
        }
        let least = curve.points.iter().filter(|(_, y)| y.is_finite()).min_by(|a, b| a.1.total_cmp(&b.1));
        if let Some(place) = least.filter(|_| index > 0).and_then(|(x, y)| window.place(*x, *y)) {
            canvas.dot(colour(index), at(place));
        }
        entry(&mut canvas, index, &curve.name, false);
    }
    for (index, mark) in marks.iter().enumerate().map(|(i, mark)| (i + curves.len(), mark)) {
        if let Some((x, _)) = window.place(mark.x, window.y.0) {
            canvas.stroke(colour(index), at((x, 0.0)), at((x, 1.0)), true);
        }
        entry(&mut canvas, index, &mark.name, true);
    }
    canvas.finish(title)
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
    canvas.text((left - 60.0, top - 16.0), Anchor::Start, y_name);
}
