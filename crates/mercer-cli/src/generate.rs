//! `mercer generate`

use crate::args::{Common, GenerateOptions};
use crate::outcome::Done;

pub fn run(options: &GenerateOptions, common: &Common) -> anyhow::Result<Done> {
    crate::files::check_table_place(&options.output)?;
    let frame = options.name.frame(options.rows, options.noise, common.seed)?;
    mercer_io::write_frame(&options.output, &frame)?;
    Ok(Done::Certified)
}
