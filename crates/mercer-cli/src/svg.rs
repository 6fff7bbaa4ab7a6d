//! Drawings as SVG: plain shapes and text, no script, nothing loaded from elsewhere, readable on light and dark.

pub mod curves;
pub mod dots;
pub mod panels;

use std::fmt::Write;

/// Colours that stand out from white and from black.
const COLOURS: [&str; 8] = ["#8a8a8a", "#3f87cf", "#d9822b", "#2a9d6f", "#c7508a", "#8a6fd1", "#a8832c", "#3fa3a3"];

const STYLE: &str = "svg{color:#222;background:#fff;font:13px sans-serif}\
    @media(prefers-color-scheme:dark){svg{color:#ddd;background:#181818}}\
    text{fill:currentColor}.axis{stroke:currentColor;fill:none}.tick{stroke:currentColor;opacity:.15}";

pub fn colour(index: usize) -> &'static str {
    COLOURS[index % COLOURS.len()]
}

/// Where a text is held.
#[derive(Clone, Copy)]
pub enum Anchor {
    Start,
    Middle,
    End,
}

pub struct Canvas {
    width: f64,
    height: f64,
    body: String,
    /// From where to where texts reach: the picture is as wide as they need.
    texts: (f64, f64),
}

impl Canvas {
    pub fn new(width: f64, height: f64) -> Self {
        Canvas { width, height, body: String::new(), texts: (0.0, width) }
    }

    pub fn line(&mut self, class: &str, from: (f64, f64), to: (f64, f64)) {
        let _ = writeln!(
            self.body,
            r#"<line class="{class}" x1="{:.1}" y1="{:.1}" x2="{:.1}" y2="{:.1}"/>"#,
            from.0, from.1, to.0, to.1
        );
    }

    /// A straight line in a colour; broken into dashes if `is_dashed`.
    pub fn stroke(&mut self, colour: &str, from: (f64, f64), to: (f64, f64), is_dashed: bool) {
        let dashes = if is_dashed { r#" stroke-dasharray="4 3""# } else { "" };
        let _ = writeln!(
            self.body,
            r#"<line stroke="{colour}" stroke-width="2"{dashes} x1="{:.1}" y1="{:.1}" x2="{:.1}" y2="{:.1}"/>"#,
            from.0, from.1, to.0, to.1
        );
    }

    pub fn polyline(&mut self, width: f64, colour: &str, points: &[(f64, f64)]) {
        let _ = writeln!(
            self.body,
            r#"<polyline fill="none" stroke="{colour}" stroke-width="{width}" points="{}"/>"#,
            list(points)
        );
    }

    /// A curve; thin and pale if it is one of many, or broken into dashes.
    pub fn path(&mut self, colour: &str, points: &[(f64, f64)], is_thin: bool, is_dashed: bool) {
        let width = if is_thin { r#"stroke-width="1" opacity=".55""# } else { r#"stroke-width="2""# };
        let dashes = if is_dashed { r#" stroke-dasharray="5 3""# } else { "" };
        let _ = writeln!(
            self.body,
            r#"<polyline fill="none" stroke="{colour}" {width}{dashes} points="{}"/>"#,
            list(points)
        );
    }

    /// A closed shape, filled palely.
    pub fn area(&mut self, colour: &str, points: &[(f64, f64)]) {
        let _ = writeln!(self.body, r#"<polygon fill="{colour}" opacity=".22" points="{}"/>"#, list(points));
    }

    /// A rectangle between two corners.
    pub fn bar(&mut self, colour: &str, from: (f64, f64), to: (f64, f64)) {
        let _ = writeln!(
            self.body,
            r#"<rect fill="{colour}" x="{:.1}" y="{:.1}" width="{:.1}" height="{:.1}"/>"#,
            from.0,
            from.1,
            to.0 - from.0,
            (to.1 - from.1).max(0.0)
        );
    }

    pub fn small_dot(&mut self, colour: &str, at: (f64, f64)) {
        let _ = writeln!(self.body, r#"<circle fill="{colour}" r="2.6" cx="{:.1}" cy="{:.1}"/>"#, at.0, at.1);
    }

    pub fn dot(&mut self, colour: &str, at: (f64, f64)) {
        let _ = writeln!(self.body, r#"<circle fill="{colour}" r="4.5" cx="{:.1}" cy="{:.1}"/>"#, at.0, at.1);
    }

    pub fn text(&mut self, at: (f64, f64), anchor: Anchor, text: &str) {
        let width = text_width(text);
        let (anchor, start) = match anchor {
            Anchor::Start => ("start", at.0),
            Anchor::Middle => ("middle", at.0 - 0.5 * width),
            Anchor::End => ("end", at.0 - width),
        };
        self.texts = (self.texts.0.min(start - MARGIN), self.texts.1.max(start + width + MARGIN));
        let _ = writeln!(
            self.body,
            r#"<text text-anchor="{anchor}" x="{:.1}" y="{:.1}">{}</text>"#,
            at.0,
            at.1,
            escaped(text)
        );
    }

    pub fn finish(self, title: &str) -> String {
        let (left, right) = (self.texts.0.min(0.0).floor(), self.texts.1.max(self.width).ceil());
        let (width, height) = (right - left, self.height);
        format!(
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
             <svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"{left} 0 {width} {height}\" width=\"{width}\" \
             height=\"{height}\" role=\"img\">\n<title>{}</title>\n<style>{STYLE}</style>\n{}</svg>\n",
            escaped(title),
            self.body
        )
    }
}

/// Free space beside a text at the edge of a picture.
const MARGIN: f64 = 4.0;

/// The width of a text of 13 pixels, in a wide font: a little more than DejaVu Sans takes, which is wider than Arial, Helvetica and Verdana's
/// digits.
fn text_width(text: &str) -> f64 {
    const SIZE: f64 = 13.0;
    let of = |c: char| match c {
        'i' | 'j' | 'l' | '\'' | '|' | '.' | ',' | ':' | ';' | ' ' | 'I' => 0.34,
        'f' | 't' | 'r' | '(' | ')' | '[' | ']' | '!' | '/' | '\\' | '-' | '"' => 0.47,
        'm' | 'M' | 'w' | 'W' | '@' | '%' | '…' | '—' => 1.01,
        'A'..='Z' | '+' | '=' | '<' | '>' | '~' | '^' | '#' | '&' => 0.84,
        c if c.is_ascii() => 0.65,
        // Greek, accents, ±, −, ‖.
        c if c < '\u{2e80}' => 0.87,
        _ => 1.05,
    };
    SIZE * text.chars().map(of).sum::<f64>()
}

fn list(points: &[(f64, f64)]) -> String {
    points.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect::<Vec<String>>().join(" ")
}

/// Text as XML takes it; characters that XML does not know at all are left out.
fn escaped(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&apos;"),
            c if (c < ' ' && c != '\t') || matches!(c, '\u{fffe}' | '\u{ffff}') => {}
            c => out.push(c),
        }
    }
    out
}

/// Round numbers that divide a range into about five parts.
pub fn round_ticks(low: f64, high: f64) -> Vec<f64> {
    let raw = (high - low) / 5.0;
    if !(raw > 0.0 && raw.is_finite()) {
        return Vec::new();
    }
    let power = 10_f64.powf(raw.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0].map(|m| m * power).into_iter().find(|step| *step >= raw).unwrap_or(raw);
    let first = (low / step - 1e-9).ceil() as i64;
    let last = (high / step + 1e-9).floor() as i64;
    (first..=last).take(20).map(|i| i as f64 * step).collect()
}

/// Powers of ten in a range, at most about ten of them.
pub fn powers_of_ten(low: f64, high: f64) -> Vec<i32> {
    let (first, last) = ((low.log10() - 1e-9).ceil() as i32, (high.log10() + 1e-9).floor() as i32);
    let step = ((last - first) / 10 + 1).max(1);
    (first..=last).filter(|power| power.rem_euclid(step) == 0).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_escaped_and_ticks_are_round() {
        assert_eq!(escaped("a<b & \"c\"\u{1}"), "a&lt;b &amp; &quot;c&quot;");
        assert_eq!(round_ticks(0.0, 10.0), vec![0.0, 2.0, 4.0, 6.0, 8.0, 10.0]);
        assert_eq!(powers_of_ten(1e-3, 1e2), vec![-3, -2, -1, 0, 1, 2]);
        assert!(powers_of_ten(1e-30, 1e30).len() <= 12);
        assert!(round_ticks(1.0, 1.0).is_empty());
    }
}
