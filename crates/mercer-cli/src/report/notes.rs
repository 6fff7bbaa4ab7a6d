//! What is odd about the targets of a fit, above everything else that is said of it.

use super::Page;
use mercer::criterion::FoldRule;
use mercer::data::Design;
use mercer::{Note, Summary};

/// Characters of a line, at most.
const WIDTH: usize = 112;

/// The notes of a fit, and those of its assessment on these folds.
pub fn of(notes: &[Note], design: &Design, summaries: &[Summary], assessed_by: Option<&FoldRule>) -> Vec<String> {
    let mut all: Vec<String> = notes.iter().map(said).collect();
    let Some(rule) = assessed_by else { return all };
    let forward =
        summaries.iter().filter_map(|summary| summary.chosen_by.as_deref()).find(|s| s.starts_with("forward"));
    match (forward, rule.is_forward(), &design.runs_backwards) {
        (Some(_), false, _) => all.push(
            "--assess predicts rows from later ones, which the choice by forward chaining never does; --assess forward:5 \
             predicts later rows from earlier ones"
                .into(),
        ),
        // Otherwise the fit has said it.
        (None, true, Some(column)) => all.push(said(&Note::BackInTime { column: column.clone() })),
        _ => {}
    }
    all
}

/// The first lines of a report.
pub fn lines(page: &mut Page, notes: &[String]) {
    for note in notes {
        for (index, line) in wrapped(note).into_iter().enumerate() {
            page.line(if index == 0 { "note" } else { "" }, &line);
        }
    }
    if !notes.is_empty() {
        page.blank();
    }
}

/// The note with the option that helps.
pub fn said(note: &Note) -> String {
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
        Note::Constant { .. }
        | Note::NoBetterThanOneClass { .. }
        | Note::NoBetterThanTheMean { .. }
        | Note::Undetermined { .. }
        | Note::BackInTime { .. } => "",
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
