//! What an experiment found: tables, pictures and sentences; printed, or written into a folder.

use std::fmt::Write;

use serde_json::{Value, json};

use crate::args::Style;
use crate::files;
use crate::grid::Grid;

pub struct Findings {
    pub title: String,
    /// Each with the name of its file, without ending.
    pub tables: Vec<(String, Grid)>,
    /// The same: SVG.
    pub pictures: Vec<(String, String)>,
    /// What the paper says, what we get and why they differ: one paragraph each.
    pub remarks: Vec<String>,
}

impl Findings {
    pub fn new(title: &str) -> Self {
        Findings { title: title.into(), tables: Vec::new(), pictures: Vec::new(), remarks: Vec::new() }
    }

    pub fn table(&mut self, name: &str, grid: Grid) {
        self.tables.push((name.into(), grid));
    }

    pub fn picture(&mut self, name: &str, svg: String) {
        self.pictures.push((name.into(), svg));
    }

    pub fn remark(&mut self, text: impl Into<String>) {
        self.remarks.push(text.into());
    }

    /// As it is printed.
    pub fn page(&self, style: Style, skipped: &[String]) -> String {
        let mut text = match style {
            Style::Text => format!("  {}\n\n", self.title),
            Style::Markdown => format!("# {}\n\n", self.title),
            Style::Latex | Style::Csv => String::new(),
        };
        for (_, grid) in &self.tables {
            let _ = writeln!(text, "{}", grid.render(style));
        }
        if matches!(style, Style::Latex | Style::Csv) {
            return text;
        }
        for remark in self.remarks.iter().cloned().chain(said(skipped)) {
            match style {
                Style::Text => wrapped(&mut text, &remark),
                _ => text.push_str(&remark),
            }
            text.push_str("\n\n");
        }
        text
    }

    /// A Markdown page, a CSV file for each table, an SVG file for each picture.
    pub fn save(&self, folder: &str, name: &str, skipped: &[String]) -> anyhow::Result<()> {
        let place = |file: &str, ending: &str| format!("{folder}/{file}.{ending}");
        let mut page = self.page(Style::Markdown, skipped);
        for (file, svg) in &self.pictures {
            files::save(&place(file, "svg"), svg.as_bytes())?;
            let _ = write!(page, "![{file}]({file}.svg)\n\n");
        }
        for (file, grid) in &self.tables {
            files::save(&place(file, "csv"), grid.render(Style::Csv).as_bytes())?;
        }
        files::save(&place(name, "md"), format!("{}\n", page.trim_end()).as_bytes())
    }

    pub fn to_json(&self, name: &str, skipped: &[String]) -> Value {
        let tables: Vec<Value> =
            self.tables.iter().map(|(file, grid)| json!({ "name": file, "rows": grid.to_json() })).collect();
        json!({ "experiment": name, "title": self.title, "tables": tables, "remarks": self.remarks, "skipped": skipped })
    }
}

fn said(skipped: &[String]) -> Option<String> {
    let text = "left out, since there is no such file in the folder --data";
    (!skipped.is_empty()).then(|| format!("{}: {text}.", skipped.join(", ")))
}

/// Words in lines of about a hundred characters.
fn wrapped(text: &mut String, remark: &str) {
    let mut length = 0;
    text.push(' ');
    for word in remark.split_whitespace() {
        if length + word.chars().count() > 100 {
            text.push_str("\n ");
            length = 0;
        }
        text.push(' ');
        text.push_str(word);
        length += word.chars().count() + 1;
    }
}

/// Mean and standard deviation (n − 1).
pub fn spread(values: &[f64]) -> (f64, f64) {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let squares: f64 = values.iter().map(|v| (v - mean) * (v - mean)).sum();
    (mean, (squares / (n - 1.0).max(1.0)).sqrt())
}

/// Which is least.
pub fn least(values: impl IntoIterator<Item = f64>) -> usize {
    let found = values.into_iter().enumerate().filter(|(_, v)| !v.is_nan()).min_by(|a, b| a.1.total_cmp(&b.1));
    found.map_or(0, |(index, _)| index)
}
