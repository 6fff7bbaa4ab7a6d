//! `mercer plan`: what every method would take, and which one `mercer fit` would choose.

use std::io::Write;
use std::time::Duration;

use mercer::auto;
use mercer::base::bytes::bytes;
use mercer::data::{Column, Design, Encoding, Frame, Roles, Scale};
use mercer::forecast::{Forecast, Outlook};
use mercer::kernel;
use serde_json::{Value, json};

use crate::args::{Common, FitOptions, KernelArgument, PlanOptions, SolverArgument, Style};
use crate::fit::{self, Settings};
use crate::grid::{Cell, Grid};
use crate::outcome::{Done, Usage};
use crate::progress::Progress;
use crate::report::{integer, rows, short};
use crate::{files, learn};

/// An outlook, and the time of the automatic search whose last fit it is about.
struct Found {
    outlook: Outlook,
    budget: Option<Duration>,
}

pub fn run(options: &PlanOptions, common: &Common) -> anyhow::Result<Done> {
    if let Some(path) = &options.shown.output {
        files::check_table_place(path)?;
    }
    let fit = learn::aliases::spelled_out(&options.to_fit_options())?;
    if fit.penalties.of_linear_fit().is_some() {
        let text = "is for kernels: penalties of linear functions are solved in memory of a few copies of the table";
        return Err(Usage(format!("mercer plan {text}")).into());
    }
    let table = files::read_table(&options.table, &options.reading.to_read_options())?;
    let roles = fit.columns.to_roles(&table.frame)?;
    let progress = Progress::start(common.quiet);
    progress.show("measuring this machine".into());
    let found = forecast(fit, common, &table.frame, &roles)?;
    drop(progress);
    if let Some(path) = &options.shown.output {
        mercer_io::write_frame(path, &frame(&found.outlook)?)?;
    }
    let text = match (options.shown.json, options.shown.style) {
        (true, _) => format!("{}\n", to_json(&found)),
        (false, Style::Text) => page(&found),
        (false, style) => grid(&found.outlook).render(style),
    };
    let to_stderr = options.shown.output.as_deref() == Some("-");
    if !common.quiet || options.shown.json {
        if to_stderr { say!("{}", text.trim_end()) } else { write!(std::io::stdout(), "{text}")? }
    }
    Ok(Done::Certified)
}

fn forecast(mut options: FitOptions, common: &Common, frame: &Frame, roles: &Roles) -> anyhow::Result<Found> {
    if learn::is_meant(&options, frame, roles) {
        options.losses.classify = true;
    }
    if learn::is_asked_for(&options) {
        learn::check(&options)?;
        let outlook = learn::learner(&options, common).forecast(frame, roles)?;
        return Ok(Found { outlook, budget: None });
    }
    fit::check(&options)?;
    let Settings { fit, budget } = Settings::new(&options, common, None);
    Ok(Found { outlook: fit.forecast(frame, roles)?, budget })
}

/// What would fit into memory where a fit does not, by the forecast of each way. Nothing is measured: a refusal is quick.
pub fn ways_out(options: &FitOptions, common: &Common, frame: &Frame, roles: &Roles, needed: u64) -> String {
    // The memory of the squared loss depends on the shape of the design alone, which is read once.
    let encoding = Encoding {
        scale: options.scale.map_or(Scale::Standard, Scale::from),
        missing: options.rows.missing.into(),
        text_as: options.rows.text.into(),
        nonnegative: false,
    };
    let design = if learn::is_asked_for(options) { None } else { Design::new(frame, roles, encoding).ok() };
    let settled = |options: &FitOptions| -> anyhow::Result<bool> {
        let Some(design) = &design else {
            learn::check(options)?;
            return Ok(learn::learner(options, common).fits_into_memory(frame, roles)?);
        };
        fit::check(options)?;
        Ok(Settings::new(options, common, None).fit.design_fits_into_memory(design)?)
    };
    let fits = |change: &dyn Fn(&mut FitOptions)| {
        let mut changed = options.clone();
        change(&mut changed);
        settled(&changed).unwrap_or(false)
    };
    let kernel =
        |spec: &str| kernel::parse(spec).map_or_else(|_| Vec::new(), |kernel| vec![KernelArgument(vec![kernel])]);
    let mut ways: Vec<String> = Vec::new();
    // An exact fit was asked for where landmarks are refused.
    if !options.exact && options.accuracy.is_none() && !options.by_gradients() {
        let smaller = |rank: &usize| options.rank.is_none_or(|given| *rank < given);
        let rank = [1000, 300, 100, 30].into_iter().filter(smaller).find(|rank| fits(&|o| o.rank = Some(*rank)));
        ways.extend(rank.map(|rank| format!("--rank {rank}")));
    }
    let by_gradients = Some(SolverArgument::ConjugateGradients);
    // A budget is that of the automatic search, which chooses kernel and solver itself.
    if options.is_automatic() && options.budget.is_none() {
        if fits(&|o| o.kernel = kernel("gaussian")) {
            ways.push("--kernel gaussian".into());
        }
        if options.rank.is_none() && fits(&|o| (o.kernel, o.solver) = (kernel("gaussian"), by_gradients)) {
            ways.push("--kernel gaussian --solver conjugate-gradients".into());
        }
    } else if options.budget.is_none() && options.rank.is_none() && fits(&|o| o.solver = by_gradients) {
        ways.push("--solver conjugate-gradients".into());
    }
    if options.budget.is_none() && fits(&|o| o.kernel = kernel("linear")) {
        ways.push("--kernel linear".into());
    }
    // A little more than what is needed, in units that the option reads.
    let memory = needed / 20 * 21 + (1 << 20);
    if memory <= mercer::plan::available_memory() && fits(&|o| o.rows.memory = Some(memory)) {
        ways.push(format!("--memory {}M", memory.div_ceil(1 << 20)));
    }
    if let (Some(design), Settings { fit, budget: None }) = (&design, Settings::new(options, common, None))
        && fit.moments_fit_into_memory(design)
    {
        ways.push("`mercer moments`, which reads the table in parts".into());
    }
    match &ways[..] {
        [] => "no other way fits into this memory; `mercer plan` shows what each needs".into(),
        ways => format!("by their forecasts these fit: {}; `mercer plan` shows what each way needs", ways.join(" · ")),
    }
}

fn page(found: &Found) -> String {
    let outlook = &found.outlook;
    let mut text = format!(
        "  {}, {} {}, {}; {} may be used\n\n",
        rows(outlook.rows),
        integer(outlook.features),
        if outlook.features == 1 { "feature" } else { "features" },
        outlook.kernel,
        bytes(outlook.limit)
    );
    text.push_str(&grid(outlook).render(Style::Text));
    let rates = &outlook.calibration;
    text.push_str(&format!(
        "\n  Measured here: {} million values of this kernel a second, {} billion operations in products of matrices.\n",
        short(rates.values / 1e6),
        short(rates.products / 1e9)
    ));
    text.push_str(&format!("  {}\n", sentence(outlook)));
    if let Some(budget) = found.budget {
        text.push_str(&format!(
            "  Without --kernel a fit is an automatic search within its --budget ({} s); this is the fit that it ends with,\n  on landmarks beyond {} rows.\n",
            short(budget.as_secs_f64()),
            integer(auto::MANY_ROWS)
        ));
    }
    text
}

/// What a fit would do, and why.
fn sentence(outlook: &Outlook) -> String {
    match outlook.chosen() {
        Some(chosen) => {
            let most = if chosen.is_most { "at most " } else { "" };
            let landmarks = chosen.landmarks.map_or_else(String::new, |r| format!(" ({most}{} landmarks)", integer(r)));
            format!("* mercer fit takes this one: {}{landmarks}; {}.", chosen.method, outlook.reason)
        }
        None => format!("mercer fit would refuse: {}.", outlook.reason),
    }
}

fn grid(outlook: &Outlook) -> Grid {
    let columns = ["", "method", "landmarks", "memory", "time", "certificate"];
    let mut grid = Grid::new(columns.iter().map(|name| (*name).to_owned()).collect());
    for forecast in &outlook.methods {
        let memory = bytes(forecast.bytes);
        grid.row(vec![
            (if forecast.is_chosen { "*" } else { "" }).into(),
            Cell::Text(forecast.method.clone()),
            Cell::Text(forecast.landmarks.map_or_else(String::new, integer)),
            Cell::Text(if forecast.fits { memory } else { format!("{memory}, too much") }),
            Cell::Text(if forecast.is_most { at_most(forecast.seconds) } else { time(forecast.seconds) }),
            forecast.certificate.into(),
        ]);
    }
    grid
}

/// `0.3 s`, `12 s`, `4 min`, `3 h`, `5 days`: no more digits than a forecast has.
fn time(seconds: f64) -> String {
    match seconds {
        s if s < 0.05 => "0.1 s at most".into(),
        s if s < 9.5 => format!("{s:.1} s"),
        s if s < 99.5 => format!("{s:.0} s"),
        s if s < 99.5 * 60.0 => format!("{:.0} min", s / 60.0),
        s if s < 48.0 * 3600.0 => format!("{:.0} h", s / 3600.0),
        s => format!("{:.0} days", s / 86_400.0),
    }
}

/// The same where less is possible.
fn at_most(seconds: f64) -> String {
    let time = time(seconds);
    if time.ends_with("at most") { time } else { format!("{time} at most") }
}

fn frame(outlook: &Outlook) -> mercer::Result<Frame> {
    let methods = &outlook.methods;
    let text = |read: &dyn Fn(&Forecast) -> String| Column::Text(methods.iter().map(|m| Some(read(m))).collect());
    let number = |read: &dyn Fn(&Forecast) -> f64| Column::Number(methods.iter().map(read).collect());
    let mut frame = Frame::new(methods.len());
    frame.push("method", text(&|m| m.method.clone()))?;
    frame.push("landmarks", number(&|m| m.landmarks.map_or(f64::NAN, |r| r as f64)))?;
    frame.push("bytes", number(&|m| m.bytes as f64))?;
    frame.push("seconds", number(&|m| m.seconds))?;
    frame.push("certificate", text(&|m| m.certificate.to_owned()))?;
    frame.push("fits", number(&|m| f64::from(u8::from(m.fits))))?;
    frame.push("is_chosen", number(&|m| f64::from(u8::from(m.is_chosen))))?;
    frame.push("is_most", number(&|m| f64::from(u8::from(m.is_most))))?;
    Ok(frame)
}

fn to_json(found: &Found) -> Value {
    let outlook = &found.outlook;
    let one = |forecast: &Forecast| {
        json!({
            "method": forecast.method,
            "landmarks": forecast.landmarks,
            "bytes": forecast.bytes,
            "seconds": forecast.seconds,
            "certificate": forecast.certificate,
            "fits": forecast.fits,
            "is_chosen": forecast.is_chosen,
            "is_most": forecast.is_most,
        })
    };
    let rates = &outlook.calibration;
    json!({
        "n": outlook.rows,
        "features": outlook.features,
        "kernel": outlook.kernel,
        "memory": outlook.limit,
        "is_automatic": found.budget.is_some(),
        "methods": outlook.methods.iter().map(one).collect::<Vec<Value>>(),
        "reason": outlook.reason,
        "rates": {
            "products": rates.products,
            "kernel_values": rates.values,
            "precise_kernel_values": rates.precise_values,
            "kept_kernel_values": rates.kept_values,
            "decomposed": rates.decomposed,
        },
    })
}

#[cfg(test)]
mod tests {
    use super::{at_most, time};

    #[test]
    fn times_have_the_digits_of_a_forecast() {
        let shown: Vec<String> = [0.01, 0.34, 12.3, 700.0, 20_000.0, 5e6].into_iter().map(time).collect();
        assert_eq!(shown, ["0.1 s at most", "0.3 s", "12 s", "12 min", "6 h", "58 days"]);
        assert_eq!([0.01, 12.3].map(at_most), ["0.1 s at most", "12 s at most"]);
    }
}
