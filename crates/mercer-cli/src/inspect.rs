//! `mercer inspect`

use std::io::Write;

use mercer::data::{Feature, Missing, TextAs};

use crate::args::InspectOptions;
use crate::json;
use crate::outcome::Done;
use crate::predict::load;
use crate::report::{Page, certificate_line, errors_line, integer, penalty_line, scale_name, short};

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
        page.line("", &describe(feature));
    }
    page.line(
        "missing",
        match encoder.missing {
            Missing::Error => "refused",
            Missing::Drop => "rows without prediction",
            Missing::Mean => "the training mean takes their place",
        },
    );
    page.line(
        "carries",
        &match model.points() {
            0 => "the coefficients of a linear function".to_owned(),
            n => format!("{} training points", integer(n)),
        },
    );
    for summary in model.summaries() {
        page.blank();
        let [low, high] = summary.target_range;
        page.line(
            "target",
            &format!("{} ({} rows, {} … {})", summary.target, integer(summary.rows), short(low), short(high)),
        );
        page.line("penalty", &penalty_line(summary));
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
        page.line("certain", &certificate_line(&summary.certificate, summary.is_zero));
    }
    write!(std::io::stdout(), "{page}")?;
    Ok(Done::Certified)
}

fn describe(feature: &Feature) -> String {
    match feature {
        Feature::Number { name, log: None, shift, scale, .. } => {
            format!("{name}: (x − {}) / {}", short(*shift), short(*scale))
        }
        Feature::Number { name, log: Some(log), shift, scale, .. } => {
            let sign = if log.unit < 0.0 { "−" } else { "" };
            let inner = format!("{sign}log(1 + (x − {}) / {})", short(log.origin), short(log.unit));
            format!("{name} again: ({inner} − {}) / {}", short(*shift), short(*scale))
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
