//! The page for a person.

use mercer_lab::stability::Power;

use super::study::{Found, Stability};
use super::tables::{grids, rows};
use crate::args::Style;
use crate::report::{Page, certificate_line, integer, short};

pub fn page(found: &Found) -> String {
    let (subject, assume) = (&found.subject, &found.subject.assume);
    let mut page = Page::new();
    let centre = if found.centre == 0.0 { String::new() } else { format!(" – {}", short(found.centre)) };
    page.line("rows", &format!("{}, target {}{centre}", integer(assume.rows), subject.target));
    page.line("kernel", &subject.kernel.spec());
    let chosen = subject.chosen_by.as_ref().map_or_else(String::new, |by| format!(" by {by}"));
    let penalty = format!("λ = {}{chosen}, exponent {}, no offset", short(assume.lambda), short(assume.exponent));
    page.line("penalty", &format!("{penalty}, loss {}", assume.loss.spec()));
    page.line("certain", &certificate_line(&subject.certificate, subject.is_zero));
    let target = if found.target_bound_is_given { "as given" } else { "the largest of the table" };
    let kernel = if subject.kernel_is_known { "for every x" } else { "the largest of the table" };
    let square = assume.kernel_bound * assume.kernel_bound;
    page.line(
        "assumed",
        &format!("|y| ≤ {} ({target}), k(x, x) ≤ {} ({kernel})", short(assume.target_bound), short(square)),
    );
    page.line(
        "hence",
        &format!(
            "‖f‖ ≤ {} (it is {}), |y – f| ≤ {}",
            short(assume.norm_bound()),
            short(subject.norm),
            short(assume.residual_bound())
        ),
    );
    for (heading, grid) in grids(found) {
        page.blank();
        page.block(&format!("  {heading}\n{}", grid.render(Style::Text)));
        if heading.starts_with("Stability:") {
            page.block(&note(found));
        }
    }
    if let Some(text) = found.stability.as_ref().and_then(|stability| scaling(found, stability)) {
        page.blank();
        page.block(&text);
    }
    page.blank();
    for judged in &found.judged {
        let held_out = judged.held_out.map_or_else(String::new, |loss| format!(", held out {}", short(loss)));
        let text = format!(
            "{}: on the training rows {}{held_out}, by predicting the mean {}",
            judged.loss.spec(),
            short(judged.train),
            short(judged.baseline)
        );
        page.line("losses", &text);
    }
    for caution in cautions(found) {
        page.line("mind", &caution);
    }
    page.blank();
    page.block(&format!("  {}\n", sentence(found)));
    page.to_string()
}

/// What the two columns are, and what is missing.
fn note(found: &Found) -> String {
    let mut text =
        "  \"1/n kept\": the row's loss is struck out, which is what theorems are about; \"refitted\": a fit to \
                    the other rows.\n"
            .to_owned();
    if found.subject.assume.exponent <= 1.0 {
        text += "  Nothing is proved for exponents up to 1, where one row may decide whether f is 0.\n";
    }
    text
}

/// How fast stability and the effective ridge settle.
fn scaling(found: &Found, stability: &Stability) -> Option<String> {
    let scaling = stability.scaling.as_ref()?;
    let rate = |power: Power| format!("n^{} ± {}", short(-power.rate), short(power.standard_error));
    let proved = found.subject.assume.rate().map_or_else(String::new, |rate| {
        format!("; the bound falls like n^{}, which it need not follow while λ is small", short(-rate))
    });
    let observed = scaling
        .observed
        .map_or("cannot be fitted: it is 0 somewhere".into(), |p| format!("falls like {}{proved}", rate(p)));
    let mut text = format!("  Observed stability {observed}.\n");
    if found.subject.assume.exponent == 2.0 {
        text += "  Exponent 2 is ridge regression itself: the effective ridge is λ for every table.\n";
        return Some(text);
    }
    text += &match scaling.ridge_change {
        Some(power) if power.rate > 2.0 * power.standard_error => format!(
            "  The effective ridge moves by C(n), which falls like {}: on these rows the first assumption of the transfer\n  \
             looks satisfied. The second, one slope of the path for all λ and tables, cannot hold near λ = 0; the slope\n  \
             shown belongs to the ridges that occur.\n",
            rate(power)
        ),
        Some(power) => format!(
            "  The effective ridge moves by C(n), which goes like {}: that it falls is not visible on these rows, so the first\n  \
             assumption of the transfer is in doubt.\n",
            rate(power)
        ),
        None => "  In some subset a deletion turns f into the zero function or back, so that the effective ridge jumps: how C(n) \
                 falls cannot be fitted.\n"
            .into(),
    };
    Some(text)
}

/// What the numbers rest on.
fn cautions(found: &Found) -> Vec<String> {
    let mut all = Vec::new();
    if found.subject.had_offset {
        all.push("the model has an offset, of which no theorem here speaks; its rows were fitted without one".into());
    }
    if !found.target_bound_is_given {
        all.push("C_y comes from the table; --target-at-most states a bound that holds for every row".into());
    }
    if found.subject.chosen_by.is_some() {
        all.push("λ was chosen on these rows; of the bounds only that of doubling balls allows for it".into());
    }
    all.push("kernel and scaling are taken as fixed before the rows were seen".into());
    all
}

/// What it all comes to.
fn sentence(found: &Found) -> String {
    let judged = &found.judged[0];
    let held_out = judged.held_out.map_or_else(
        || "rows held out would estimate it".to_owned(),
        |loss| format!("held-out rows estimate {}", short(loss)),
    );
    let Some((best, count)) = found.best() else { return format!("No bound applies to this loss; {held_out}.") };
    if found.is_informative() {
        // The least of several bounds fails whenever one of them does.
        let percent = short(100.0 * (1.0 - count as f64 * (1.0 - found.confidence)).max(0.0));
        let least = if count > 1 { format!(", the least of {count} bounds") } else { String::new() };
        return format!(
            "With {percent} % confidence the expected loss is below {} ({}{least}); {held_out}, which is likely but not proved.",
            short(best.value),
            best.kind.name()
        );
    }
    let more = best.rows_needed.map_or_else(
        || "and more rows would not change that".to_owned(),
        |n| format!("and it would take about {} rows for more", rows(n)),
    );
    format!(
        "The best bound ({}: {}) says {}, {more};\n  {held_out}: that is the number to go by, though it is an estimate and \
         no guarantee.",
        best.kind.name(),
        short(best.value),
        match best.verdict {
            mercer_lab::bounds::Verdict::Vacuous => "nothing, not being below the largest loss there can be",
            _ => "no more than predicting the mean would",
        }
    )
}
