//! `mercer distance`: how many rows apart two tables are.

use std::io::Write;

use anyhow::Context;
use mercer::data::Frame;
use mercer_lab::equivalence::{hamming, refuse_missing};
use serde_json::json;

use crate::args::{Common, DistanceOptions};
use crate::outcome::{Done, Usage};
use crate::report::integer;

pub fn run(options: &DistanceOptions, common: &Common) -> anyhow::Result<Done> {
    if options.first == "-" && options.second == "-" {
        return Err(Usage("standard input can be one of the tables, not both".into()).into());
    }
    let read = |path: &String| -> anyhow::Result<Frame> {
        let frame = crate::files::read_table(path, &options.reading.to_read_options())?.frame;
        refuse_missing(&frame).with_context(|| path.clone())?;
        Ok(frame)
    };
    let (first, second) = (read(&options.first)?, read(&options.second)?);
    let found = hamming(&first, &second)?;
    if options.json {
        let report = json!({
            "distance": found.distance(),
            "added": found.added(),
            "removed": found.removed(),
            "changed": found.changed(),
            "common": found.common,
            "rows": [found.first_rows, found.second_rows],
        });
        writeln!(std::io::stdout(), "{report}")?;
    } else if !common.quiet {
        writeln!(
            std::io::stdout(),
            "  distance {}: {} added, {} removed, {} changed\n  {} and {} rows, of which {} stand in both.",
            integer(found.distance()),
            integer(found.added()),
            integer(found.removed()),
            integer(found.changed()),
            integer(found.first_rows),
            integer(found.second_rows),
            integer(found.common),
        )?;
    }
    Ok(Done::Certified)
}
