//! `mercer certify`: stability and bounds of one fit.

mod page;
mod study;
mod subject;
mod tables;

use std::io::Write;

use crate::args::{CertifyOptions, Common, Style};
use crate::files;
use crate::outcome::Done;
use study::Found;
use subject::Subject;

pub fn run(options: &CertifyOptions, common: &Common) -> anyhow::Result<Done> {
    if let Some(path) = &options.shown.output {
        files::check_table_place(path)?;
    }
    let found = Found::of(Subject::read(options, common)?, options, common)?;
    if let Some(path) = &options.shown.output {
        mercer_io::write_frame(path, &tables::frame(&found)?)?;
    }
    let text = match (options.shown.json, options.shown.style) {
        (true, _) => format!("{}\n", tables::json(&found)),
        (false, Style::Text) => page::page(&found),
        (false, Style::Csv) => tables::listed(&found).render(Style::Csv),
        (false, style) => {
            let grids = tables::grids(&found);
            grids.iter().map(|(_, grid)| grid.render(style)).collect::<Vec<String>>().join("\n")
        }
    };
    if !common.quiet || options.shown.json {
        if options.shown.output.as_deref() == Some("-") {
            say!("{}", text.trim_end());
        } else {
            write!(std::io::stdout(), "{text}")?;
        }
    }
    match &found.subject.certificate.reason {
        Some(reason) if !found.subject.certificate.holds => {
            say!("warning: the fit itself is not certified: {reason}");
            Ok(Done::Uncertified)
        }
        _ => Ok(Done::Certified),
    }
}
