//! `mercer equivalence`: the parameter of one algorithm in terms of another's, and how that moves with the rows.

mod aligned;
mod conversions;
mod picture;
mod report;
mod verdict;

use std::fmt::Write as _;
use std::io::Write as _;

use mercer::{Error, Fitted};
use mercer_lab::equivalence::{Algorithm, Comparison, Place, Study, TrainingSet};

use crate::args::{Common, EquivalenceOptions, Style};
use crate::fit::named;
use crate::outcome::Done;
use crate::progress::Progress;
use crate::{files, moments};
use aligned::Aligned;

/// Two algorithms side by side on one table.
struct Found {
    fitted: Fitted,
    comparison: Comparison,
    paths: Vec<Aligned>,
}

pub fn run(options: &EquivalenceOptions, common: &Common) -> anyhow::Result<Done> {
    options.svg.as_deref().map_or(Ok(()), files::check_folder)?;
    options.shown.output.as_deref().map_or(Ok(()), files::check_table_place)?;
    moments::refuse_file(&options.table, "equivalence")?;
    let table = files::read_table(&options.table, &options.reading.to_read_options())?;
    let roles = options.columns.to_roles_of_one_target(&table.frame)?;
    let progress = Progress::start(common.quiet);
    let fitted = named(options.kernel.0.clone(), options.scale, &options.rows)
        .exact()
        .keep_spectrum()
        .seed(common.seed)
        .observer(progress.observer())
        .fit_frame(&table.frame, &roles)?;
    let parameter = parameter(&fitted, options)?;
    let Some(to) = options.to else {
        let all = conversions::Conversions::new(fitted, options.from, parameter)?;
        drop(progress);
        return all.show(options, common);
    };
    let study = Study {
        parts: options.parts,
        bootstrap: options.bootstrap,
        seed: common.seed,
        observer: Some(progress.observer()),
        ..Study::new(options.from, to, parameter)
    };
    let comparison = study.run(&fitted)?;
    let paths = aligned::along(&fitted, options.from, to)?;
    drop(progress);
    let found = Found { fitted, comparison, paths };

    if let Some(path) = &options.svg {
        files::save(path, picture::svg(&found).as_bytes())?;
    }
    if let Some(path) = &options.shown.output {
        mercer_io::write_frame(path, &aligned::frame(&found.paths)?)?;
    }
    let text = match (options.shown.json, options.shown.style) {
        (true, _) => format!("{}\n", report::to_json(&found)),
        (false, Style::Text) => report::page(&found),
        (false, style) => report::grid(&found.comparison).render(style),
    };
    show(&text, options, common)?;
    Ok(Done::Certified)
}

/// To standard output, unless a file goes there.
fn show(text: &str, options: &EquivalenceOptions, common: &Common) -> anyhow::Result<()> {
    let to_stderr = [&options.shown.output, &options.svg].into_iter().flatten().any(|path| path == "-");
    if !common.quiet || options.shown.json {
        if to_stderr { say!("{}", text.trim_end()) } else { write!(std::io::stdout(), "{text}")? }
    }
    Ok(())
}

/// The rows of a fit as a training set.
fn training_set(fitted: &Fitted) -> mercer::Result<TrainingSet<'_>> {
    let must = "one that kept its decomposition";
    let spectrum = fitted.spectrum.as_ref().ok_or_else(|| Error::argument("the fit", must, "one without"))?;
    TrainingSet::new(spectrum, fitted.design.y.col(0), fitted.design.rows() as f64)
}

/// What was given, or the parameter whose ridge leave-one-out chose.
fn parameter(fitted: &Fitted, options: &EquivalenceOptions) -> mercer::Result<f64> {
    if let Some(parameter) = options.lambda {
        return Ok(parameter);
    }
    let Some(ridge) = fitted.summary().effective_ridge else {
        return Err(Error::argument("the target", "one that varies, in at least two rows", "a constant"));
    };
    let image = training_set(fitted)?.image(options.from, Place::Ridge(ridge.ln()));
    image.parameter().ok_or_else(|| {
        let must = "given, since the ridge that leave-one-out chooses has none";
        Error::argument(format!("--lambda of {}", options.from.spec()), must, image.reason().unwrap_or_default())
    })
}

/// `power(exponent=1.5), λ = 0.01`
fn named_value(algorithm: Algorithm, value: &str) -> String {
    format!("{}, {} = {value}", algorithm.spec(), algorithm.symbol())
}

/// The algorithms, for the help.
pub fn list() -> String {
    let mut text = String::from("Algorithms, as they are written after --from and --to; r = y − f(x) − b:\n\n");
    for entry in mercer_lab::equivalence::all() {
        let _ = writeln!(text, "  {:<18}{}", entry.name, entry.formula);
        for parameter in entry.parameters {
            let _ = writeln!(text, "  {:<18}  {} ({}): {}", "", parameter.name, parameter.default, parameter.about);
        }
    }
    text
}
