//! Several small pictures side by side: lines, bands, bars and dots over axes that are linear or logarithmic.

use super::{Anchor, Canvas, colour, powers_of_ten, round_ticks};
use crate::report::short;

const WIDTH: f64 = 380.0;
const HEIGHT: f64 = 280.0;
const LEFT: f64 = 62.0;
const RIGHT: f64 = 18.0;
const TOP: f64 = 44.0;
const BOTTOM: f64 = 50.0;
const TITLE: f64 = 30.0;
const LEGEND: f64 = 20.0;
/// Numbers that have room below a panel.
const MOST_TICKS: usize = 7;
/// Room for a legend entry: its line, and so much for each character.
const CHARACTER: f64 = 7.2;

/// One direction of a panel.
#[derive(Debug, Clone)]
pub struct Axis {
    pub name: String,
    pub range: (f64, f64),
    pub is_log: bool,
    /// In the place of numbers.
    pub labels: Vec<(f64, String)>,
}

impl Axis {
    pub fn linear(name: &str, range: (f64, f64)) -> Self {
        Axis { name: name.into(), range, is_log: false, labels: Vec::new() }
    }

    pub fn logarithmic(name: &str, range: (f64, f64)) -> Self {
        Axis { is_log: true, ..Axis::linear(name, range) }
    }

    /// 0 at the low end, 1 at the high one.
    pub fn share(&self, value: f64) -> f64 {
        let (low, high) = self.range;
        match self.is_log {
            true => (value.ln() - low.ln()) / (high.ln() - low.ln()),
            false => (value - low) / (high - low),
        }
    }

    pub fn ticks(&self) -> Vec<(f64, String)> {
        let (low, high) = self.range;
        match (self.labels.is_empty(), self.is_log) {
            (false, _) => self.labels.clone(),
            (true, true) => {
                let powers = powers_of_ten(low, high);
                if powers.len() > 2 {
                    return powers.into_iter().map(|power| (10_f64.powi(power), format!("1e{power}"))).collect();
                }
                // Few powers of ten: their double and their half, too.
                let (first, last) = (low.log10().floor() as i32, high.log10().ceil() as i32);
                let steps = (first..=last).flat_map(|power| [1.0, 2.0, 5.0].map(|m| m * 10_f64.powi(power)));
                steps.filter(|v| (low..=high).contains(v)).map(|v| (v, short(v))).collect()
            }
            (true, false) => round_ticks(low, high).into_iter().map(|v| (v, short(v))).collect(),
        }
    }
}

/// What is drawn, in order.
#[derive(Debug, Clone)]
pub enum Layer {
    /// Interrupted where it leaves the panel.
    Line {
        colour: usize,
        points: Vec<(f64, f64)>,
        style: Stroke,
    },
    /// Between two curves: x, low, high.
    Band {
        colour: usize,
        points: Vec<(f64, f64, f64)>,
    },
    /// From the foot of the panel up.
    Bars {
        colour: usize,
        points: Vec<(f64, f64)>,
    },
    Dots {
        colour: usize,
        points: Vec<(f64, f64)>,
    },
    /// Words at a place, to the right of it.
    Words {
        at: (f64, f64),
        text: String,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stroke {
    Full,
    Thin,
    Dashed,
}

pub struct Panel {
    pub title: String,
    pub x: Axis,
    pub y: Axis,
    pub layers: Vec<Layer>,
}

/// All panels, `across` in each line of them, with one legend (colour, words, dashed) for all.
pub fn draw(title: &str, panels: &[Panel], across: usize, legend: &[(usize, &str, Stroke)]) -> String {
    let across = across.clamp(1, panels.len().max(1));
    let lines = panels.len().div_ceil(across);
    let width = WIDTH * across as f64;
    let rows = legend_places(legend, width);
    let below = rows.last().map_or(0.0, |place| place.1 + LEGEND + 8.0);
    let mut canvas = Canvas::new(width, TITLE + HEIGHT * lines as f64 + below);
    canvas.text((12.0, 22.0), Anchor::Start, title);
    for (index, panel) in panels.iter().enumerate() {
        let corner = (WIDTH * (index % across) as f64, TITLE + HEIGHT * (index / across) as f64);
        panel.draw(&mut canvas, corner);
    }
    let foot = TITLE + HEIGHT * lines as f64;
    for ((index, words, style), (x, y)) in legend.iter().zip(rows) {
        let y = foot + y;
        canvas.stroke(colour(*index), (x, y + 4.0), (x + 20.0, y + 4.0), *style == Stroke::Dashed);
        canvas.text((x + 26.0, y + 8.0), Anchor::Start, words);
    }
    canvas.finish(title)
}

/// Where the entries of a legend stand, from left to right and line after line.
fn legend_places(legend: &[(usize, &str, Stroke)], width: f64) -> Vec<(f64, f64)> {
    let (mut x, mut y) = (LEFT, 0.0);
    legend
        .iter()
        .map(|(_, words, _)| {
            let length = 44.0 + CHARACTER * words.chars().count() as f64;
            if x > LEFT && x + length > width {
                (x, y) = (LEFT, y + LEGEND);
            }
            let place = (x, y);
            x += length;
            place
        })
        .collect()
}

impl Panel {
    fn draw(&self, canvas: &mut Canvas, corner: (f64, f64)) {
        let (left, right) = (corner.0 + LEFT, corner.0 + WIDTH - RIGHT);
        let (top, bottom) = (corner.1 + TOP, corner.1 + HEIGHT - BOTTOM);
        let x = |value: f64| left + self.x.share(value) * (right - left);
        let y = |value: f64| bottom - self.y.share(value) * (bottom - top);
        let at = |(a, b): (f64, f64)| (x(a), y(b));
        let is_inside = |value: f64, axis: &Axis| (-1e-9..=1.0 + 1e-9).contains(&axis.share(value));
        canvas.text((left, corner.1 + TOP - 26.0), Anchor::Start, &self.title);
        let ticks: Vec<(f64, String)> = self.x.ticks().into_iter().filter(|(v, _)| is_inside(*v, &self.x)).collect();
        let every = ticks.len().div_ceil(MOST_TICKS).max(1);
        for (value, label) in ticks.into_iter().step_by(every) {
            canvas.line("tick", (x(value), top), (x(value), bottom));
            canvas.text((x(value), bottom + 17.0), Anchor::Middle, &label);
        }
        for (value, label) in self.y.ticks().into_iter().filter(|(value, _)| is_inside(*value, &self.y)) {
            canvas.line("tick", (left, y(value)), (right, y(value)));
            canvas.text((left - 6.0, y(value) + 4.0), Anchor::End, &label);
        }
        for layer in &self.layers {
            let visible = |point: &(f64, f64)| is_inside(point.0, &self.x) && is_inside(point.1, &self.y);
            match layer {
                Layer::Line { colour: index, points, style } => {
                    for run in points.split(|point| !visible(point)).filter(|run| run.len() > 1) {
                        let places: Vec<(f64, f64)> = run.iter().map(|point| at(*point)).collect();
                        canvas.path(colour(*index), &places, *style == Stroke::Thin, *style == Stroke::Dashed);
                    }
                }
                Layer::Band { colour: index, points } => {
                    let into = |v: f64| v.clamp(self.y.range.0, self.y.range.1);
                    let up = points.iter().map(|(a, low, _)| at((*a, into(*low))));
                    let down = points.iter().rev().map(|(a, _, high)| at((*a, into(*high))));
                    canvas.area(colour(*index), &up.chain(down).collect::<Vec<_>>());
                }
                Layer::Bars { colour: index, points } => {
                    for (a, b) in points {
                        canvas.bar(colour(*index), (x(*a) - 12.0, y(*b).min(bottom)), (x(*a) + 12.0, bottom));
                    }
                }
                Layer::Dots { colour: index, points } => {
                    points.iter().filter(|point| visible(point)).for_each(|p| canvas.small_dot(colour(*index), at(*p)));
                }
                Layer::Words { at: place, text } => {
                    let (a, b) = at(*place);
                    canvas.text((a, b), Anchor::Middle, text);
                }
            }
        }
        canvas.line("axis", (left, bottom), (right, bottom));
        canvas.line("axis", (left, bottom), (left, top));
        canvas.text((f64::midpoint(left, right), bottom + 37.0), Anchor::Middle, &self.x.name);
        canvas.text((corner.0 + 8.0, corner.1 + TOP - 9.0), Anchor::Start, &self.y.name);
    }
}

/// A range that holds all these numbers, with a little room.
pub fn range_of(values: impl IntoIterator<Item = f64>, is_log: bool) -> (f64, f64) {
    let usable = values.into_iter().filter(|v| v.is_finite() && (!is_log || *v > 0.0));
    let (low, high) = usable.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), v| (low.min(v), high.max(v)));
    match (low <= high, is_log) {
        (false, true) => (0.1, 10.0),
        (false, false) => (0.0, 1.0),
        (true, true) => (low / 1.15, high * 1.15),
        (true, false) => {
            let room = 0.05 * (high - low).max(1e-12 + 0.1 * high.abs());
            (low - room, high + room)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_and_ranges() {
        let axis = Axis::logarithmic("λ", (1e-4, 1.0));
        assert!((axis.share(1e-2) - 0.5).abs() < 1e-12);
        assert_eq!(axis.ticks().len(), 5);
        let labels = |axis: Axis| axis.ticks().into_iter().map(|(_, label)| label).collect::<Vec<String>>();
        assert_eq!(labels(Axis::logarithmic("y", (0.015, 0.3))), ["0.02", "0.05", "0.1", "0.2"]);
        let (low, high) = range_of([1.0, f64::NAN, 3.0], false);
        assert!(low < 1.0 && high > 3.0 && high < 3.2);
        assert_eq!(range_of([], true), (0.1, 10.0));
    }

    #[test]
    fn legends_break_into_lines() {
        let entries = [(0, "a rather long entry", Stroke::Full); 5];
        let places = legend_places(&entries, 400.0);
        assert!(places[0].1 == 0.0 && places[4].1 > 0.0);
        assert!(places.iter().all(|(x, _)| *x + 44.0 + 19.0 * CHARACTER <= 400.0));
    }
}
