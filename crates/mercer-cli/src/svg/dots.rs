//! One dot per line, with a bar from one deviation below to one above.

use super::{Anchor, Canvas, colour, round_ticks};
use crate::report::short;

const WIDTH: f64 = 760.0;
const LEFT: f64 = 190.0;
const RIGHT: f64 = 110.0;
const TOP: f64 = 50.0;
const LINE: f64 = 28.0;

/// A name, its mean and its deviation.
pub struct Dot {
    pub name: String,
    pub mean: f64,
    pub deviation: f64,
}

pub fn draw(dots: &[Dot], title: &str, axis: &str) -> String {
    let bottom = TOP + LINE * dots.len() as f64;
    let mut canvas = Canvas::new(WIDTH, bottom + 60.0);
    canvas.text((20.0, 26.0), Anchor::Start, title);
    // From 0, so that lengths can be compared.
    let high = dots.iter().map(|dot| dot.mean + dot.deviation).filter(|v| v.is_finite()).fold(0.0, f64::max);
    let high = if high > 0.0 { high * 1.02 } else { 1.0 };
    let x = |value: f64| LEFT + (value / high).clamp(0.0, 1.0) * (WIDTH - LEFT - RIGHT);
    for tick in round_ticks(0.0, high) {
        canvas.line("tick", (x(tick), TOP), (x(tick), bottom));
        canvas.text((x(tick), bottom + 18.0), Anchor::Middle, &short(tick));
    }
    canvas.line("axis", (x(0.0), bottom), (x(high), bottom));
    canvas.text((f64::midpoint(x(0.0), x(high)), bottom + 40.0), Anchor::Middle, axis);
    for (index, dot) in dots.iter().enumerate() {
        let y = TOP + LINE * (index as f64 + 0.5);
        canvas.text((LEFT - 12.0, y + 4.0), Anchor::End, &dot.name);
        canvas.stroke(colour(1), (x(dot.mean - dot.deviation), y), (x(dot.mean + dot.deviation), y), false);
        canvas.dot(colour(1), (x(dot.mean), y));
        let word = format!("{} ± {}", short(dot.mean), short(dot.deviation));
        canvas.text((WIDTH - RIGHT + 10.0, y + 4.0), Anchor::Start, &word);
    }
    canvas.finish(title)
}
