//! `mercer fit`

use std::io::Write;
use std::path::Path;
use std::time::Instant;

use mercer::data::{Frame, Roles, Scale};
use mercer::{Fit, Fitted, format};

use crate::args::{Common, FitOptions};
use crate::outcome::Done;
use crate::progress::Progress;
use crate::{json, report};

pub fn run(options: &FitOptions, common: &Common) -> anyhow::Result<Done> {
    let started = Instant::now();
    if let Some(path) = &options.output {
        check_output(path)?;
    }
    let table = mercer_io::read(&options.table, &options.reading.to_read_options())?;
    let names = |given: &[String]| column_names(&table.frame, given);
    let roles = Roles {
        targets: names(&options.target),
        features: options.features.as_deref().map(names),
        drop: names(&options.drop),
        weight: options.weight.clone(),
        categorical: names(&options.categorical),
    };
    let progress = Progress::start(common.quiet);
    let fitted = settings(options, &progress).fit_frame(&table.frame, &roles)?;
    drop(progress);
    let seconds = started.elapsed().as_secs_f64();

    let bytes = options.output.as_ref().map(|_| format::to_bytes(&fitted.model)).transpose()?;
    if let (Some(path), Some(bytes)) = (&options.output, &bytes) {
        save(path, bytes)?;
    }
    // A model on standard output leaves no room for a report there.
    let to_stderr = options.output.as_deref() == Some("-");
    let text = if options.json {
        json::fit(&fitted, seconds)
    } else {
        let saved = options.output.as_deref().zip(bytes.as_ref().map(Vec::len));
        report::fit(&fitted, options, common, saved, seconds)
    };
    if !common.quiet || options.json {
        if to_stderr { say!("{}", text.trim_end()) } else { write!(std::io::stdout(), "{text}")? }
    }
    Ok(certified(&fitted, common))
}

/// Names separated by commas; a name that has a comma itself is taken whole if the table knows it.
fn column_names(frame: &Frame, given: &[String]) -> Vec<String> {
    let split = |text: &String| -> Vec<String> {
        if frame.column(text).is_ok() {
            return vec![text.clone()];
        }
        text.split(',').map(|name| name.trim().to_owned()).filter(|name| !name.is_empty()).collect()
    };
    given.iter().flat_map(split).collect()
}

fn settings(options: &FitOptions, progress: &Progress) -> Fit {
    let kernel = options.kernel.0.clone();
    // The library takes features as they are; a person with a table is better served by standardising.
    let default = if kernel.needs_nonnegative() { Scale::Unit } else { Scale::Standard };
    let mut fit = Fit::with_shared(kernel)
        .exponent(options.exponent)
        .scale(options.scale.map_or(default, Scale::from))
        .missing(options.missing.into())
        .text_as(options.text.into())
        .observer(progress.observer());
    if let Some(lambda) = options.lambda {
        fit = fit.lambda(lambda);
    }
    if options.no_offset {
        fit = fit.without_offset();
    }
    if options.shared_ridge {
        fit = fit.shared_ridge();
    }
    if options.no_diagnostics {
        fit = fit.without_diagnostics();
    }
    if let Some(memory) = options.memory {
        fit = fit.memory(memory);
    }
    fit
}

/// Before any work: the place for the model must exist, and hold nothing but a model.
fn check_output(path: &str) -> anyhow::Result<()> {
    let place = Path::new(path);
    if path == "-" {
        return Ok(());
    }
    let folder = place.parent().filter(|folder| !folder.as_os_str().is_empty());
    if let Some(folder) = folder.filter(|folder| !folder.is_dir()) {
        anyhow::bail!("cannot write {path}: there is no folder {}", folder.display());
    }
    let mut start = [0; 8];
    let is_other = std::fs::File::open(place)
        .and_then(|mut file| std::io::Read::read(&mut file, &mut start))
        .is_ok_and(|read| read > 0 && !format::is_model(&start[..read]));
    if is_other {
        anyhow::bail!("{path} exists and is not a model file; it is left as it is (remove it, or choose another name)");
    }
    Ok(())
}

fn save(path: &str, bytes: &[u8]) -> anyhow::Result<()> {
    if path == "-" {
        let mut stdout = std::io::stdout().lock();
        stdout.write_all(bytes)?;
        stdout.flush()?;
    } else {
        mercer_io::atomic::save(Path::new(path), bytes)?;
    }
    Ok(())
}

/// Says why, if a certificate does not hold.
fn certified(fitted: &Fitted, common: &Common) -> Done {
    let mut done = Done::Certified;
    for summary in fitted.model.summaries() {
        if let Some(reason) = &summary.certificate.reason {
            say!("without certificate ({}): {reason}", summary.target);
            done = Done::Uncertified;
        }
        if summary.is_zero && !common.quiet {
            let constant = if summary.has_offset { "the mean" } else { "0" };
            say!(
                "note: for {} at exponent {} and λ = {} the zero function has the lowest objective; the model predicts {constant}",
                summary.target,
                summary.exponent,
                summary.lambda
            );
        }
    }
    done
}
