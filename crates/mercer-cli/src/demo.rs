//! `mercer demo`: data from a formula, two fits, predictions on fresh rows, a picture.

use std::io::Write;
use std::time::Instant;

use mercer::data::{Column, Frame, Roles, Scale};
use mercer::kernel;
use mercer::{Fit, Fitted, format};
use mercer_lab::synthetic::generator;

use crate::args::Common;
use crate::chart;
use crate::outcome::Done;
use crate::report::{Page, certificate_line, errors_line, penalty_line, short};

const ROWS: usize = 300;
const FRESH: usize = 2000;

pub fn run(common: &Common) -> anyhow::Result<Done> {
    let started = Instant::now();
    let friedman = generator("friedman1")?;
    let training = friedman.frame(ROWS, 1.0, common.seed)?;
    // Another seed, and no noise: the function itself.
    let fresh = friedman.frame(FRESH, 0.0, common.seed.wrapping_add(1))?;

    let mut page = Page::new();
    page.line("data", &format!("friedman1: {}", friedman.about));
    page.line(
        "",
        &format!("{ROWS} rows to learn from, with noise of standard deviation 1; {FRESH} fresh ones without noise"),
    );
    let mut last = None;
    for (spec, exponent) in [
        ("gaussian(lengthscale=mean)", 2.0),
        ("gaussian(lengthscale=mean)", 1.3),
        ("additive-spline + 0.2*gaussian", 2.0),
    ] {
        let fitted = fit(&training, spec, exponent)?;
        // Through the file format, as another program would read it.
        let model = format::from_bytes(&format::to_bytes(&fitted.model)?)?;
        let predicted: Vec<f64> = model.predict_frame(&fresh)?.swap_remove(0).into_iter().flatten().collect();
        let Column::Number(truth) = fresh.column("y")? else { continue };
        let error = (truth.iter().zip(&predicted).map(|(y, f)| (y - f) * (y - f)).sum::<f64>() / FRESH as f64).sqrt();
        let summary = fitted.summary();
        page.blank();
        page.line("kernel", spec);
        page.line("penalty", &penalty_line(summary));
        page.line("error", &errors_line(summary));
        page.line("fresh", &format!("RMSE {} against the noise-free function", short(error)));
        page.line("certain", &certificate_line(&summary.certificate, summary.is_zero));
        last = Some((truth.clone(), predicted, fitted));
    }
    if let Some((truth, predicted, fitted)) = last {
        page.blank();
        page.block(&chart::predicted_against_observed(
            &truth,
            &predicted,
            "the last model on the fresh rows: predicted",
        ));
        page.blank();
        page.line("", &format!("{:.1} s. The same with your own table:", started.elapsed().as_secs_f64()));
        page.line("", "  mercer fit TABLE.csv --target COLUMN --output MODEL.mercer");
        page.line("", "  mercer predict MODEL.mercer NEW.csv");
        write!(std::io::stdout(), "{page}")?;
        if !fitted.summary().certificate.holds {
            return Ok(Done::Uncertified);
        }
    }
    Ok(Done::Certified)
}

fn fit(training: &Frame, spec: &str, exponent: f64) -> anyhow::Result<Fitted> {
    let kernel = kernel::parse(spec)?;
    let scale = if kernel.needs_nonnegative() { Scale::Unit } else { Scale::Standard };
    let roles = Roles { targets: vec!["y".into()], ..Roles::default() };
    Ok(Fit::with_shared(kernel).exponent(exponent).scale(scale).fit_frame(training, &roles)?)
}
