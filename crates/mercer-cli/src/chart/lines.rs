//! Curves over a logarithmic axis, in characters.

use crate::report::short;

const WIDTH: usize = 68;
const HEIGHT: usize = 15;
const SYMBOLS: [char; 8] = ['·', 'o', '+', 'x', '*', '#', '%', '@'];

/// One curve.
pub struct Curve {
    pub name: String,
    pub points: Vec<(f64, f64)>,
    /// The place of the point that is chosen on it, if one is.
    pub chosen: Option<usize>,
}

/// The part of the plane that is shown.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Window {
    pub x: (f64, f64),
    pub y: (f64, f64),
    /// Whether y is shown in logarithms.
    pub log_y: bool,
}

impl Window {
    /// Where a point stands, from 0 to 1 in both directions; nothing outside.
    pub fn place(&self, x: f64, y: f64) -> Option<(f64, f64)> {
        let share = |v: f64, (low, high): (f64, f64), log: bool| match log {
            true => (v.ln() - low.ln()) / (high.ln() - low.ln()),
            false => (v - low) / (high - low),
        };
        let place = (share(x, self.x, true), share(y, self.y, self.log_y));
        let inside = |s: f64| (-1e-9..=1.0 + 1e-9).contains(&s);
        (inside(place.0) && inside(place.1)).then_some(place)
    }
}

/// The first curve is drawn below the others.
pub fn draw(curves: &[Curve], window: &Window, title: &str, x_name: &str) -> String {
    let mut cells = vec![[' '; WIDTH]; HEIGHT];
    for (curve, symbol) in curves.iter().zip(SYMBOLS.iter().cycle()) {
        for column in 0..WIDTH {
            let share = column as f64 / (WIDTH - 1) as f64;
            let x = (window.x.0.ln() + share * (window.x.1.ln() - window.x.0.ln())).exp();
            let Some((_, height)) = at(&curve.points, x).and_then(|y| window.place(x, y)) else { continue };
            let row = ((1.0 - height) * (HEIGHT - 1) as f64).round() as usize;
            cells[row.min(HEIGHT - 1)][column] = *symbol;
        }
    }
    let mut text = format!("  {title}\n");
    for (row, line) in cells.iter().enumerate() {
        let share = 1.0 - row as f64 / (HEIGHT - 1) as f64;
        let (low, high) = window.y;
        let value = match window.log_y {
            true => (low.ln() + share * (high.ln() - low.ln())).exp(),
            false => low + share * (high - low),
        };
        let label = if row % 7 == 0 { short(value) } else { String::new() };
        text.push_str(&format!("  {label:>9} ┤{}\n", line.iter().collect::<String>().trim_end()));
    }
    text.push_str(&format!("  {:>9} └{}\n", "", "─".repeat(WIDTH)));
    let (left, right) = (short(window.x.0), short(window.x.1));
    let gap = WIDTH.saturating_sub(left.chars().count() + right.chars().count() + x_name.chars().count());
    let (before, after) = (" ".repeat(gap / 2), " ".repeat(gap - gap / 2));
    text.push_str(&format!("  {:>9}  {left}{before}{x_name}{after}{right}\n", ""));
    let names: Vec<String> =
        curves.iter().zip(SYMBOLS.iter().cycle()).map(|(curve, symbol)| format!("{symbol} {}", curve.name)).collect();
    text.push_str(&format!("  {:>9}  {}\n", "", names.join("   ")));
    text
}

/// The curve at x, straight between its points (x in logarithms).
fn at(points: &[(f64, f64)], x: f64) -> Option<f64> {
    let pair = points.windows(2).find(|pair| x >= pair[0].0 * (1.0 - 1e-9) && x <= pair[1].0 * (1.0 + 1e-9))?;
    let ((x0, y0), (x1, y1)) = (pair[0], pair[1]);
    let share = ((x.ln() - x0.ln()) / (x1.ln() - x0.ln())).clamp(0.0, 1.0);
    Some(y0 + share * (y1 - y0)).filter(|y| y.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn curves_stay_in_their_window() {
        let points = |f: fn(f64) -> f64| (0..20).map(|i| 10_f64.powi(i - 10)).map(|x| (x, f(x))).collect();
        let curves = [
            Curve { name: "one".into(), points: points(|_| 1.0), chosen: None },
            Curve { name: "log".into(), points: points(|x| 2.0 + x.ln() / 20.0), chosen: None },
            Curve { name: "never".into(), points: points(|_| f64::INFINITY), chosen: None },
        ];
        let window = Window { x: (1e-10, 1e9), y: (0.5, 3.0), log_y: false };
        let picture = draw(&curves, &window, "test", "λ");
        assert_eq!(picture.lines().count(), HEIGHT + 4);
        assert!(picture.lines().all(|line| line.chars().count() <= 90), "{picture}");
        assert!(picture.contains("o log"), "{picture}");
    }
}
