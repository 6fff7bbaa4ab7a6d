//! Tables for people: aligned text, Markdown, LaTeX or CSV (`--style`).

use serde_json::{Map, Value, json};

use crate::args::Style;
use crate::report::short;

/// One cell.
#[derive(Debug, Clone, PartialEq)]
pub enum Cell {
    Text(String),
    /// Four digits where people read, all of them where programs do.
    Number(f64),
    /// A number that stands out: the least of its column.
    Best(f64),
    /// Mean and deviation.
    Spread(f64, f64),
    /// There is no value.
    Nothing,
}

impl From<&str> for Cell {
    fn from(text: &str) -> Self {
        Cell::Text(text.to_owned())
    }
}

/// A table with named columns.
pub struct Grid {
    columns: Vec<String>,
    rows: Vec<Vec<Cell>>,
}

impl Grid {
    pub fn new(columns: Vec<String>) -> Self {
        Grid { columns, rows: Vec::new() }
    }

    pub fn row(&mut self, cells: Vec<Cell>) {
        self.rows.push(cells);
    }

    pub fn render(&self, style: Style) -> String {
        match style {
            Style::Text => self.text(),
            Style::Markdown => self.markdown(),
            Style::Latex => self.latex(),
            Style::Csv => self.csv(),
        }
    }

    /// Text stands left, numbers right.
    fn is_text(&self, column: usize) -> bool {
        self.rows.iter().any(|row| matches!(row.get(column), Some(Cell::Text(_))))
    }

    fn text(&self) -> String {
        let header = |(c, name): (usize, &String)| if self.has_numbers(c) { format!("{name} ") } else { name.clone() };
        let mut shown: Vec<Vec<String>> = vec![self.columns.iter().enumerate().map(header).collect()];
        shown.extend(self.rows.iter().map(|row| row.iter().map(plain).collect()));
        let length = |text: &String| text.chars().count();
        let widths: Vec<usize> =
            (0..self.columns.len()).map(|c| shown.iter().map(|row| length(&row[c])).max().unwrap_or(0)).collect();
        let line = |cells: &[String]| {
            let mut text = String::from(" ");
            for (c, cell) in cells.iter().enumerate() {
                let gap = " ".repeat(widths[c] - length(cell));
                text += &if self.is_text(c) { format!(" {cell}{gap} ") } else { format!(" {gap}{cell} ") };
            }
            format!("{}\n", text.trim_end())
        };
        shown.iter().map(|row| line(row)).collect()
    }

    /// Numbers have a place behind them, in which the best are marked; then so must their header.
    fn has_numbers(&self, column: usize) -> bool {
        self.rows.iter().any(|row| matches!(row.get(column), Some(Cell::Best(_) | Cell::Number(_))))
    }

    fn markdown(&self) -> String {
        let escape = |text: &str| text.replace('|', "\\|");
        let line = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
        let mut text = line(self.columns.iter().map(|name| escape(name)).collect());
        text += &line((0..self.columns.len()).map(|c| if self.is_text(c) { "---" } else { "---:" }.into()).collect());
        for row in &self.rows {
            let cell = |cell: &Cell| match cell {
                Cell::Best(x) => format!("**{}**", short(*x)),
                other => escape(plain(other).trim()),
            };
            text += &line(row.iter().map(cell).collect());
        }
        text
    }

    fn latex(&self) -> String {
        let alignment: String = (0..self.columns.len()).map(|c| if self.is_text(c) { 'l' } else { 'r' }).collect();
        let line = |cells: Vec<String>| format!("{} \\\\\n", cells.join(" & "));
        let header = line(self.columns.iter().map(|name| latex(name)).collect());
        let mut text = format!("\\begin{{tabular}}{{{alignment}}}\n\\hline\n{header}\\hline\n");
        for row in &self.rows {
            let cell = |cell: &Cell| match cell {
                Cell::Best(x) => format!("\\textbf{{{}}}", latex(&short(*x))),
                other => latex(plain(other).trim()),
            };
            text += &line(row.iter().map(cell).collect());
        }
        text + "\\hline\n\\end{tabular}\n"
    }

    /// A column of means with deviations becomes two columns of numbers.
    fn csv(&self) -> String {
        let mut header: Vec<String> = Vec::new();
        for (c, name) in self.columns.iter().enumerate() {
            header.push(quoted(name));
            if self.has_spreads(c) {
                header.push(quoted(&format!("{name} sd")));
            }
        }
        let mut text = header.join(",") + "\n";
        let number = |x: f64| if x.is_finite() { x.to_string() } else { String::new() };
        for row in &self.rows {
            let mut cells: Vec<String> = Vec::new();
            for (c, cell) in row.iter().enumerate() {
                cells.push(match cell {
                    Cell::Text(text) => quoted(text),
                    Cell::Number(x) | Cell::Best(x) | Cell::Spread(x, _) => number(*x),
                    Cell::Nothing => String::new(),
                });
                if self.has_spreads(c) {
                    cells.push(if let Cell::Spread(_, deviation) = cell { number(*deviation) } else { String::new() });
                }
            }
            text += &(cells.join(",") + "\n");
        }
        text
    }

    fn has_spreads(&self, column: usize) -> bool {
        self.rows.iter().any(|row| matches!(row.get(column), Some(Cell::Spread(..))))
    }

    /// One object per row.
    pub fn to_json(&self) -> Value {
        let value = |cell: &Cell| match cell {
            Cell::Text(text) => json!(text),
            Cell::Number(x) | Cell::Best(x) => json!(x),
            Cell::Spread(mean, deviation) => json!({ "mean": mean, "sd": deviation }),
            Cell::Nothing => Value::Null,
        };
        let object = |row: &Vec<Cell>| -> Value {
            self.columns.iter().zip(row).map(|(name, cell)| (name.clone(), value(cell))).collect::<Map<_, _>>().into()
        };
        self.rows.iter().map(object).collect()
    }
}

fn plain(cell: &Cell) -> String {
    match cell {
        Cell::Text(text) => text.clone(),
        Cell::Number(x) if x.is_infinite() => "– ".into(),
        Cell::Number(x) => format!("{} ", short(*x)),
        Cell::Best(x) => format!("{}*", short(*x)),
        Cell::Spread(mean, deviation) => format!("{} ± {}", short(*mean), short(*deviation)),
        Cell::Nothing => "–".into(),
    }
}

fn quoted(text: &str) -> String {
    if text.contains([',', '"', '\n', '\r']) { format!("\"{}\"", text.replace('"', "\"\"")) } else { text.to_owned() }
}

/// Text as LaTeX shows it.
fn latex(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        match c {
            '&' | '%' | '$' | '#' | '_' | '{' | '}' => out.extend(['\\', c]),
            '\\' => out.push_str("\\textbackslash{}"),
            '~' => out.push_str("\\textasciitilde{}"),
            '^' => out.push_str("\\textasciicircum{}"),
            '<' | '>' | '|' => out.push_str(&format!("${c}$")),
            'λ' => out.push_str("$\\lambda$"),
            'μ' => out.push_str("$\\mu$"),
            'Φ' => out.push_str("$\\Phi$"),
            'Σ' => out.push_str("$\\sum$"),
            'τ' => out.push_str("$\\tau$"),
            'δ' => out.push_str("$\\delta$"),
            'α' => out.push_str("$\\alpha$"),
            '≤' => out.push_str("$\\le$"),
            '√' => out.push_str("$\\surd$"),
            '½' => out.push_str("$\\frac12$"),
            '·' => out.push_str("$\\cdot$"),
            '−' => out.push_str("$-$"),
            'ᵐ' => out.push_str("$^m$"),
            '±' => out.push_str("$\\pm$"),
            '²' => out.push_str("$^2$"),
            '‖' => out.push_str("$\\|$"),
            '–' => out.push_str("--"),
            other => out.push(other),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grid() -> Grid {
        let mut grid = Grid::new(vec!["method, name".into(), "λ".into(), "RMSE".into()]);
        grid.row(vec!["a|b_c".into(), Cell::Number(1e-5), Cell::Best(0.123456)]);
        grid.row(vec!["long, \"quoted\"".into(), Cell::Number(f64::INFINITY), Cell::Nothing]);
        grid
    }

    #[test]
    fn every_style_says_the_same() {
        let text = grid().render(Style::Text);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 3);
        assert!(lines[1].contains("1e-5") && lines[1].contains("0.1235*"), "{text}");
        let markdown = grid().render(Style::Markdown);
        assert!(markdown.contains("| a\\|b_c | 1e-5 | **0.1235** |"), "{markdown}");
        assert!(markdown.contains("| --- | ---: | ---: |"), "{markdown}");
        let latex = grid().render(Style::Latex);
        assert!(latex.contains("a$|$b\\_c & 1e-5 & \\textbf{0.1235} \\\\") && latex.contains("{lrr}"), "{latex}");
        let csv = grid().render(Style::Csv);
        assert_eq!(csv.lines().nth(1), Some("a|b_c,0.00001,0.123456"), "{csv}");
        assert_eq!(csv.lines().nth(2), Some("\"long, \"\"quoted\"\"\",,"), "{csv}");
        let mut spread = Grid::new(vec!["set".into(), "error".into()]);
        spread.row(vec!["a".into(), Cell::Spread(0.5, 0.1)]);
        spread.row(vec!["b".into(), Cell::Nothing]);
        assert_eq!(spread.render(Style::Csv), "set,error,error sd\na,0.5,0.1\nb,,\n");
        assert_eq!(spread.to_json()[0]["error"]["sd"], 0.1);
    }
}
