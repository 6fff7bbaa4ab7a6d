//! `mercer inspect`

use std::io::Write;

use mercer::data::{Feature, Missing, Reading, TextAs};
use mercer::{Meaning, Model, Probability, Provenance, Summary};

use crate::args::InspectOptions;
use crate::outcome::Done;
use crate::predict::load;
use crate::report::learn::leaves_rows_out;
use crate::report::{
    Page, certificate_line, columns, errors_line, integer, low_rank_line, notes, penalty_line, rounding_line, rows,
    scale_name, short,
};
use crate::{coefficients, conversions, json};

pub fn run(options: &InspectOptions) -> anyhow::Result<Done> {
    let model = load(&options.model)?;
    if options.json {
        writeln!(std::io::stdout(), "{}", json::model(&model))?;
        return Ok(Done::Certified);
    }
    let mut page = Page::new();
    let encoder = model.encoder();
    page.line("kernel", &model.kernel().spec());
    if let Some(map) = &model.encoder().projection {
        page.line("metric", &format!("a learned linear map of the {} features comes before it", map.rows()));
    }
    page.line("features", &format!("{}, {}", encoder.columns().len(), scale_name(encoder.scale)));
    for feature in &encoder.features {
        page.line("", &describe(feature, encoder.facts.reading(feature.name())));
    }
    columns::lines(&mut page, encoder, false);
    page.line(
        "missing",
        match encoder.missing {
            Missing::Error => "refused",
            Missing::Drop => "rows without prediction",
            Missing::Mean => "the training mean takes their place",
        },
    );
    page.line(
        "stores",
        &match model.points() {
            0 => "the coefficients of a linear function".to_owned(),
            n if model.holds_training() => format!("{} training points with their targets", integer(n)),
            n => format!("{} {}", integer(n), model.points_are_not_its_rows(n).unwrap_or("training points")),
        },
    );
    if let Some(line) = meaning(&model) {
        page.line("predicts", &line);
    }
    if let Meaning::Classes { classes, class_weights: Some(weights), .. } = model.meaning() {
        let shown =
            classes.names.iter().zip(weights).take(8).map(|(name, weight)| format!("{name} {}", short(*weight)));
        let more = if classes.len() > 8 { ", …" } else { "" };
        page.line("", &format!("fitted with class weights {}{more}", shown.collect::<Vec<_>>().join(", ")));
    }
    for (t, summary) in model.summaries().iter().enumerate() {
        page.blank();
        let [low, high] = summary.target_range;
        let range = match model.classes() {
            Some(_) => String::new(),
            None => format!(", {} … {}", short(low), short(high)),
        };
        let unit = columns::unit(encoder, &summary.target);
        page.line("target", &format!("{}{unit} ({}{range})", summary.target, rows(summary.rows)));
        if let Some([low, high]) = summary.clip {
            page.line("", &format!("predictions are kept within {} … {}", short(low), short(high)));
        }
        if summary.train_loss.is_some() {
            let count = summary.support.filter(|_| summary.penalty != "norm-power" || leaves_rows_out(&summary.loss));
            let support = count.map_or_else(String::new, |n| format!(", {}", support(summary, n)));
            page.line("loss", &format!("{}{support}", summary.loss));
        }
        page.line("penalty", &penalty_line(summary));
        if let Some(line) = conversions::line(&conversions::of(&model, summary)) {
            notes::wrapped(&line).iter().for_each(|part| page.line("", part));
        }
        page.line("error", &errors_line(summary));
        page.line(
            "norm",
            &format!(
                "‖f‖ = {}, objective {}, offset {}",
                short(summary.norm),
                short(summary.objective),
                short(summary.intercept)
            ),
        );
        if let Some(linear) = coefficients::of(&model, t, summary) {
            coefficient_lines(&mut page, &linear);
        }
        page.line("certain", &certificate_line(&summary.certificate, summary.is_zero));
        if let Some(low_rank) = &summary.certificate.low_rank {
            page.line("", &low_rank_line(low_rank));
        }
        if let Some(rounding) = &summary.certificate.rounding {
            page.line("rounded", &format!("to single precision: {}", rounding_line(rounding)));
        }
    }
    origin(&mut page, &model);
    write!(std::io::stdout(), "{page}")?;
    Ok(Done::Certified)
}

/// What is not 0: rows of a kernel expansion, or coefficients of features.
fn support(summary: &Summary, count: usize) -> String {
    let count_text = integer(count);
    match summary.penalty.split('(').next() {
        Some("norm-power" | "kernel-lasso") => format!("{count_text} support vectors"),
        _ if count == 1 => "1 coefficient is not 0".into(),
        _ => format!("{count_text} coefficients are not 0"),
    }
}

/// How the model was made.
fn origin(page: &mut Page, model: &Model) {
    let Provenance { program, command, seed, data } = model.provenance();
    // A file may hold anything; a terminal is shown what can be printed.
    let plain = |text: &str| -> String { text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect() };
    page.blank();
    let seed = seed.map_or_else(String::new, |seed| format!(", seed {seed}"));
    page.line("made by", &format!("{}{seed}", plain(program)));
    if let Some(command) = command {
        page.line("", &plain(command));
    }
    for (index, file) in data.iter().enumerate() {
        page.line(
            if index == 0 { "data" } else { "" },
            &format!("{}, SHA-256 {}", plain(&file.name), plain(&file.sha256)),
        );
    }
}

/// What the values of a model stand for, unless they are the target itself.
fn meaning(model: &Model) -> Option<String> {
    match model.meaning() {
        Meaning::Numbers => None,
        Meaning::Quantiles { sorted, .. } => {
            Some(format!("quantiles{}", if *sorted { ", sorted so that they never cross" } else { "" }))
        }
        Meaning::Classes { target, classes, probability, class_weights } => {
            let shown = classes.names.iter().take(8).map(String::as_str).collect::<Vec<_>>().join(", ");
            let more = if classes.len() > 8 { format!(", … ({} in all)", classes.len()) } else { String::new() };
            let how = match probability {
                Probability::Unknown => "without probabilities",
                Probability::Stated => "probabilities stated by the loss",
                Probability::Softmax => "probabilities stated by the loss, all classes at once",
                Probability::Calibrated { .. } => "probabilities calibrated on held-out rows",
            };
            let of = match (class_weights, probability) {
                (Some(_), Probability::Stated | Probability::Softmax) => {
                    ", of classes with these weights, not of the table"
                }
                _ => "",
            };
            Some(format!("the class of {target}: {shown}{more}; {how}{of}"))
        }
    }
}

/// In the units of the table where that is possible, the largest effects first.
fn coefficient_lines(page: &mut Page, linear: &coefficients::Linear) {
    const MOST: usize = 12;
    let mut order: Vec<usize> = (0..linear.scaled.len()).collect();
    order.sort_by(|a, b| linear.scaled[*b].1.abs().total_cmp(&linear.scaled[*a].1.abs()));
    let shown = linear.raw.as_ref().map_or(&linear.scaled, |(raw, _)| raw);
    for (place, index) in order.iter().take(MOST).enumerate() {
        let (name, weight) = &shown[*index];
        let scaled = if linear.raw.is_some() {
            format!(" ({} on the scaled feature)", short(linear.scaled[*index].1))
        } else {
            String::new()
        };
        page.line(if place == 0 { "weights" } else { "" }, &format!("{name}: {}{scaled}", short(*weight)));
    }
    if order.len() > MOST {
        page.line("", &format!("… {} more; --json has all", order.len() - MOST));
    }
    if let Some((_, offset)) = &linear.raw {
        page.line("", &format!("offset {} in the units of the table", short(*offset)));
    }
}

/// `x − 2`, `x + 2` or `x`
fn minus(what: &str, number: f64) -> String {
    match number {
        0.0 => what.to_owned(),
        number if number < 0.0 => format!("{what} + {}", short(-number)),
        number => format!("{what} − {}", short(number)),
    }
}

fn describe(feature: &Feature, reading: &Reading) -> String {
    let unit = match reading {
        Reading::Number => String::new(),
        reading => format!(" ({})", reading.describe()),
    };
    match feature {
        Feature::Number { name, shift, .. } if feature.is_constant() => {
            format!("{name}{unit}: constant ({}), ignored", short(*shift))
        }
        Feature::Number { name, log: None, shift, scale, .. } => {
            format!("{name}{unit}: ({}) / {}", minus("x", *shift), short(*scale))
        }
        Feature::Number { name, log: Some(log), shift, scale, .. } => {
            let sign = if log.unit < 0.0 { "−" } else { "" };
            let inner = format!("{sign}log(1 + ({}) / {})", minus("x", log.origin), short(log.unit));
            format!("{name} again: ({}) / {}", minus(&inner, *shift), short(*scale))
        }
        Feature::Text { name, categories, text_as } => {
            let shown: Vec<&str> = categories.iter().take(6).map(String::as_str).collect();
            let more =
                if categories.len() > 6 { format!(", … ({} in all)", categories.len()) } else { String::new() };
            let how = if *text_as == TextAs::OneHot { "one feature each" } else { "compared by equality" };
            format!("{name}: {}{more}; {how}", shown.join(", "))
        }
    }
}
