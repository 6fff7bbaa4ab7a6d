//! E2: mutants with the right checksum are refused, or are models that can be used.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use mercer::data::{Column, Feature};
use mercer::format::{from_bytes, to_bytes};
use mercer::prelude::*;

use crate::mutator::Mutator;
use crate::parts::{FIXED, Parts};
use crate::samples::small_samples;

/// A table that has the columns this very model asks for.
fn asked_for(model: &Model) -> Option<Frame> {
    let mut frame = Frame::new(3);
    for feature in &model.encoder().features {
        let column = match feature {
            Feature::Number { .. } => Column::Number(vec![0.3, -2.0, 1e6]),
            Feature::Text { categories, .. } => {
                Column::Text(vec![categories.first().cloned(), None, Some("a category nobody knows".into())])
            }
        };
        frame.push(feature.name(), column).ok()?;
    }
    Some(frame)
}

/// Predicts in every way; the number of finite predictions, or what is wrong.
fn use_it(model: &Model, tables: &[Frame]) -> Result<usize, String> {
    let mut finite = 0;
    let own = asked_for(model);
    for table in tables.iter().chain(&own) {
        if let Ok(columns) = model.predict_frame(table) {
            for cell in columns.iter().flatten().flatten() {
                if !cell.is_finite() {
                    return Err(format!("a prediction is {cell}"));
                }
                finite += 1;
            }
        }
    }
    for width in [0, 2, model.encoder().features.len()] {
        let x = Matrix::from_fn(4, width, |i, j| 0.25 * i as f64 - j as f64);
        if let Ok(values) = model.predict(&x) {
            let wrong = values.as_slice().iter().find(|v| !v.is_finite());
            // Without training rows for the missing rule "drop" nothing is NaN here: no cell is missing.
            if let Some(wrong) = wrong {
                return Err(format!("a prediction is {wrong}"));
            }
            finite += values.as_slice().len();
        }
    }
    // What loads can be saved again and is the same model then.
    let again = to_bytes(model).map_err(|error| format!("it loads but cannot be saved: {error}"))?;
    let again = from_bytes(&again).map_err(|error| format!("it loads, is saved, and does not load: {error}"))?;
    if let Some(table) = &own
        && let (Ok(a), Ok(b)) = (model.predict_frame(table), again.predict_frame(table))
        && a != b
    {
        return Err("saved again, it predicts other numbers".into());
    }
    let _ = (model.summaries().len(), model.points(), model.coefficients(0), model.kernel().spec());
    Ok(finite)
}

#[test]
fn twenty_thousand_mutants_with_the_right_checksum() {
    const MUTANTS: usize = 20_000;
    let samples = small_samples();
    let files: Vec<Parts> = samples.iter().map(Parts::of_sample).collect();
    let mut mutator = Mutator::new(20_000);
    let (mut tried, mut loaded, mut finite) = (0, 0, 0);
    let mut wrong: Vec<String> = Vec::new();
    let mut slowest = Duration::ZERO;
    for index in 0..MUTANTS {
        let which = index % samples.len();
        let bytes = mutator.mutant(&files[which]);
        let started = Instant::now();
        let outcome = catch_unwind(AssertUnwindSafe(|| match from_bytes(&bytes) {
            Ok(model) => use_it(&model, &samples[which].tables).map(Some),
            Err(error) => {
                let text = error.to_string();
                if text.len() < 10 || text.len() > 4000 { Err(format!("not a sentence: {text}")) } else { Ok(None) }
            }
        }));
        slowest = slowest.max(started.elapsed());
        tried += 1;
        match outcome {
            Ok(Ok(Some(count))) => {
                loaded += 1;
                finite += count;
            }
            Ok(Ok(None)) => {}
            Ok(Err(problem)) => {
                wrong.push(format!("mutant {index} of {}: {problem}\n{}", samples[which].name, shown(&bytes)));
            }
            Err(_) => {
                wrong.push(format!("mutant {index} of {} panicked\n{}", samples[which].name, shown(&bytes)));
            }
        }
    }
    println!("{tried} mutants, {loaded} loaded, {finite} finite predictions, the slowest took {slowest:?}");
    let few: Vec<&String> = wrong.iter().take(8).collect();
    assert!(wrong.is_empty(), "{} of {tried}: {few:#?}", wrong.len());
    assert_eq!(tried, MUTANTS);
    assert!(loaded > 2000, "only {loaded} mutants loaded: the mutations are too rough to test prediction");
    assert!(finite > 20_000, "only {finite} predictions were made");
    assert!(slowest < Duration::from_secs(2), "{slowest:?}");
}

/// The header of a file, for a message.
fn shown(bytes: &[u8]) -> String {
    let length = bytes.get(12..16).map_or(0, |b| u32::from_le_bytes(b.try_into().unwrap()) as usize);
    String::from_utf8_lossy(&bytes[FIXED.min(bytes.len())..(FIXED + length.min(600)).min(bytes.len())]).into_owned()
}
