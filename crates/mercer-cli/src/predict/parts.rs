//! Large tables, part by part: one part is read and another written while a third is predicted, so that memory does not grow with
//! the table. The predictions are those of the whole table, bit for bit.

use std::time::Instant;

use mercer::Model;
use mercer::data::{Feature, Frame};
use mercer_io::parts::{Parts, open};
use mercer_io::{Table, TableWriter};

use super::tally::Tally;
use super::{Answer, intervals, keep_labels};
use crate::args::{Common, PredictOptions};
use crate::progress::{self, Progress};

/// Rows of the first part; a table that has no more is done in one piece.
const FIRST: usize = 4096;

/// Cells of later parts, about.
const CELLS: usize = 1 << 20;

/// Whether the table was done part by part.
pub enum Streamed {
    Done,
    /// It is to be done in one piece, which is here if it was read already.
    No(Option<Box<Table>>),
}

/// A column that was numbers in the parts so far is text in this one, and so it is in the whole table: these are its text columns.
struct Contradicted(Vec<bool>);

pub fn run(
    model: &Model,
    options: &PredictOptions,
    common: &Common,
    progress: &Progress,
    started: Instant,
) -> anyhow::Result<Streamed> {
    let is_typed = TableWriter::is_typed(&options.output);
    let reads_text = model.classes().is_some()
        || model.encoder().features.iter().any(|feature| matches!(feature, Feature::Text { .. }));
    // A later part may tell that a column is text, which its numbers so far must then be, too.
    let needs_types = is_typed || reads_text;
    let can_be_read_again =
        options.table != "-" && std::fs::metadata(&options.table).is_ok_and(|about| about.is_file());
    if options.json || !TableWriter::writes(&options.output) || (needs_types && !can_be_read_again) {
        return Ok(Streamed::No(None));
    }
    let mut texts = Vec::new();
    // A file appears when it is done, so that one can begin again; what is on standard output stays there.
    if needs_types && options.output == "-" {
        progress.show("reading".into());
        texts = text_columns(model, options)?;
    }
    loop {
        let mut parts = open(&options.table, &options.reading.to_read_options())?.with_text_columns(texts);
        if let Some(table) = parts.take_whole() {
            return Ok(Streamed::No(Some(Box::new(table))));
        }
        let mut first = parts.next_table(FIRST)?;
        keep_labels(model, &mut first);
        crate::files::notes(&options.table, parts.notes());
        if first.frame.rows() < FIRST {
            return Ok(Streamed::No(Some(Box::new(first))));
        }
        let run = Run { model, options, progress, started, stops: needs_types };
        match run.all(parts, first, common)? {
            Ok(tally) => {
                progress.clear();
                tally.notes(common.quiet);
                if !common.quiet {
                    tally.report(options, Some(started.elapsed()));
                }
                return Ok(Streamed::Done);
            }
            Err(Contradicted(found)) => texts = found,
        }
    }
}

/// Which columns of the whole table are text, other than those that must be numbers.
fn text_columns(model: &Model, options: &PredictOptions) -> anyhow::Result<Vec<bool>> {
    let mut parts = open(&options.table, &options.reading.to_read_options())?;
    let mut texts = Vec::new();
    let mut size = FIRST;
    while let Some(frame) = parts.next(size)? {
        texts = with_texts(&texts, &frame);
        let numbers = frame.names().iter().map(|name| needs_numbers(model, name));
        texts.iter_mut().zip(numbers).for_each(|(is_text, is_number)| *is_text &= !is_number);
        size = part_size(&frame);
    }
    Ok(texts)
}

fn needs_numbers(model: &Model, column: &str) -> bool {
    let features = &model.encoder().features;
    features.iter().any(|feature| matches!(feature, Feature::Number { name, .. } if name == column))
}

fn with_texts(known: &[bool], frame: &Frame) -> Vec<bool> {
    let is_text = (0..frame.names().len()).map(|place| frame.is_text(place));
    is_text.enumerate().map(|(j, is_text)| is_text || known.get(j).copied().unwrap_or(false)).collect()
}

/// A power of two, so that intervals are made in the same blocks of rows as in one piece.
fn part_size(frame: &Frame) -> usize {
    1 << (CELLS / frame.names().len().max(1)).clamp(512, 1 << 15).ilog2()
}

struct Run<'a> {
    model: &'a Model,
    options: &'a PredictOptions,
    progress: &'a Progress,
    started: Instant,
    /// Whether text in a column of numbers means to begin again.
    stops: bool,
}

impl Run<'_> {
    fn all(&self, mut parts: Parts, first: Table, common: &Common) -> anyhow::Result<Result<Tally, Contradicted>> {
        let Run { model, options, .. } = *self;
        let size = part_size(&first.frame);
        let total = parts.total_rows();
        let mut texts = with_texts(&[], &first.frame);
        let mut answer = Answer::of(model, &first.frame, options)?;
        let maker = intervals::maker(model, options, common, self.progress)?;
        if let Some(maker) = &maker {
            answer.add_intervals(maker, &first.frame, None)?;
        }
        let Some(mut writer) = TableWriter::open(&options.output)? else {
            anyhow::bail!("{} is written in one piece only", options.output);
        };
        let Answer { added, mut tally } = answer;
        let mut to_write = (first, added);
        let read = |parts: &mut Parts| {
            let mut table = parts.next_table(size)?;
            keep_labels(model, &mut table);
            Ok::<Table, mercer_io::Error>(table)
        };
        let mut next = read(&mut parts)?;
        let mut not_numbers: Vec<String> = Vec::new();
        while next.frame.rows() > 0 {
            let frame = &next.frame;
            let known = with_texts(&texts, frame);
            if known != texts {
                let names = frame.names().iter().zip(known.iter().zip(&texts));
                let new: Vec<&String> =
                    names.filter(|(_, (now, before))| now != before).map(|(name, _)| name).collect();
                // Where the model needs a number, the prediction names the cell that is none.
                if self.stops && !new.iter().any(|name| needs_numbers(model, name)) {
                    return Ok(Err(Contradicted(known)));
                }
                not_numbers.extend(new.into_iter().cloned());
                texts = known;
            }
            let before = tally.rows;
            let ((written, read), answer) = rayon::join(
                || (writer.write(&to_write.0, &to_write.1), read(&mut parts)),
                || {
                    let mut answer = Answer::of(model, frame, options)?;
                    maker.as_ref().map_or(Ok(()), |maker| answer.add_intervals(maker, frame, None))?;
                    Ok(answer)
                },
            );
            written?;
            let Answer { added, tally: part } = answer.map_err(|error: mercer::Error| error.below(before))?;
            tally = tally.joined(part);
            to_write = (std::mem::replace(&mut next, read?), added);
            self.progress.show(progress::rows(tally.rows, total, self.started.elapsed()));
        }
        writer.write(&to_write.0, &to_write.1)?;
        writer.finish()?;
        tally.without(&not_numbers);
        Ok(Ok(tally))
    }
}
