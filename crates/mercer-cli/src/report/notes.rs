//! What is odd about the targets of a fit, above everything else that is said of it.

use mercer::Note;
use serde_json::{Value, json};

use super::Page;

/// Characters of a line, at most.
const WIDTH: usize = 112;

/// The first lines of a report.
pub fn lines(page: &mut Page, notes: &[Note]) {
    for note in notes {
        for (index, line) in wrapped(&said(note)).into_iter().enumerate() {
            page.line(if index == 0 { "note" } else { "" }, &line);
        }
    }
    if !notes.is_empty() {
        page.blank();
    }
}

pub fn to_json(notes: &[Note]) -> Value {
    json!(notes.iter().map(said).collect::<Vec<String>>())
}

/// The note with the option that helps.
fn said(note: &Note) -> String {
    let remedy = match note {
        Note::LikeClasses { .. } => " (--loss logistic or --loss hinge)",
        Note::Outlier { .. } => "; check the cell, leave the row out, or fit by --loss huber or --loss absolute",
        Note::OutlyingCell { .. } => {
            "; check the cell, leave the row out, or use --na MARK if the number marks missing cells"
        }
        Note::OneClass { .. } => " (--class-weight balanced gives rare classes more weight)",
        Note::ReweightedProbabilities { .. } => {
            " (probabilities of the table: leave out --class-weight, or calibrate by --loss hinge --probability)"
        }
        Note::NoBetterThanOneClass { .. } => "",
        Note::Constant { .. } | Note::NoBetterThanTheMean { .. } | Note::Undetermined { .. } => "",
    };
    format!("{note}{remedy}")
}

/// A text in lines of this width.
pub fn wrapped(text: &str) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split(' ') {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= WIDTH => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}
