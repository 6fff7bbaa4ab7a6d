//! What `mercer fit` prints of a linear fit.

use mercer::Summary;

use super::fit::{saved_line, table_lines};
use super::learn::assessed;
use super::{Page, abbreviated, certificate_line, edge, errors_line, integer, judged_by, notes, short};
use crate::args::{FitOptions, Style};
use crate::grid::{Cell, Grid};
use crate::linear::Found;
use crate::{chart, coefficients, conversions};

/// Coefficients that a screen has room for.
const MOST: usize = 15;

pub fn page(found: &Found, options: &FitOptions, saved: Option<(&str, usize)>) -> String {
    let mut page = Page::new();
    let fitted = &found.fitted;
    let model = &fitted.model;
    notes::lines(&mut page, &found.notes());
    table_lines(&mut page, &fitted.design, model.encoder(), false);
    if model.encoder().degree > 1 {
        let count = integer(fitted.names.len());
        page.line("", &format!("{count} monomials of them up to degree {}", model.encoder().degree));
    }
    let penalty = &fitted.summary().penalty;
    let name = penalty.split('(').next().unwrap_or_default();
    let formula = mercer::penalty::all().into_iter().find(|entry| entry.name == name).map_or("", |entry| entry.formula);
    page.line("penalty", &format!("{penalty}, {formula}"));
    if name == "kernel-lasso" {
        page.line("kernel", &model.kernel().spec());
    }
    for (t, summary) in model.summaries().iter().enumerate() {
        page.blank();
        target(&mut page, found, t, summary);
    }
    page.blank();
    page.block(&chart::predicted_against_observed(
        fitted.design.y.col(0),
        &fitted.fitted[0],
        "predicted, on the training rows",
    ));
    page.blank();
    saved_line(&mut page, saved, &options.table, "");
    page.to_string()
}

fn target(page: &mut Page, found: &Found, t: usize, summary: &Summary) {
    let model = &found.fitted.model;
    let [low, high] = summary.target_range;
    page.line("target", &format!("{}, {} … {}", summary.target, short(low), short(high)));
    let dof = summary.dof.map_or_else(String::new, |dof| format!(", {} degrees of freedom", short(dof)));
    if summary.penalty != "none" {
        let by = judged_by(summary).map_or_else(String::new, |by| format!(" by {by}"));
        page.line("λ", &format!("{}{by}{dof}", short(summary.lambda)));
        if let Some(edge) = found.fitted.curves().nth(t).and_then(|curve| edge(&curve.lambdas, curve.chosen?)) {
            page.line("", &edge);
        }
        if let Some(line) = conversions::line(&conversions::of(model, summary)) {
            page.line("", &line);
        }
    }
    page.line("error", &errors_line(summary));
    if let Some(line) = assessed(found.assessment.as_ref(), t) {
        page.line("", &line);
    }
    if let Some(statistics) = found.fitted.least_squares.get(t) {
        let deviation = statistics.residual_deviation.map_or_else(|| "–".into(), short);
        page.line("", &format!("residual deviation {deviation}, rank {}{dof}", statistics.rank));
        // extractAIC leaves out Σ ln w.
        let whose = if found.fitted.design.weights.is_some() { "" } else { " (R's extractAIC)" };
        let text = format!(
            "AIC {}, BIC {} without the likelihood's constants{whose}; with them {}, {} (R's AIC, BIC)",
            short(statistics.aic),
            short(statistics.bic),
            short(statistics.full_aic),
            short(statistics.full_bic)
        );
        page.line("", &text);
    }
    let support = summary.support.unwrap_or(0);
    let (all, what) = match found.fitted.names.len() {
        0 => (summary.rows, "rows are support vectors"),
        n => (n, "coefficients are not 0"),
    };
    page.line("support", &format!("{} of {} {what}", integer(support), integer(all)));
    page.line("certain", &certificate_line(&summary.certificate, summary.is_zero));
    if let Some(linear) = coefficients::of(model, t, summary) {
        page.blank();
        page.block(&table(&linear, found, t));
    }
}

/// The largest coefficients: on scaled features, in the units of the table, and for least squares with standard errors.
fn table(linear: &coefficients::Linear, found: &Found, t: usize) -> String {
    let errors = found.fitted.least_squares.get(t).and_then(|statistics| statistics.deviations.as_ref());
    let is_scaled = linear.raw.as_ref().is_some_and(|(raw, _)| *raw != linear.scaled);
    let mut names = vec!["feature".to_owned(), "coefficient".into()];
    names.extend(is_scaled.then(|| "per unit of the table".to_owned()));
    names.extend(errors.map(|_| "standard error".to_owned()));
    let mut grid = Grid::new(names);
    let mut order: Vec<usize> = (0..linear.scaled.len()).filter(|j| linear.scaled[*j].1 != 0.0).collect();
    order.sort_by(|a, b| linear.scaled[*b].1.abs().total_cmp(&linear.scaled[*a].1.abs()));
    let hidden = order.len().saturating_sub(MOST);
    for j in order.into_iter().take(MOST) {
        let (name, weight) = &linear.scaled[j];
        let mut cells = vec![Cell::Text(abbreviated(name, 40)), Cell::Number(*weight)];
        if let (true, Some((raw, _))) = (is_scaled, &linear.raw) {
            cells.push(Cell::Number(raw[j].1));
        }
        cells.extend(errors.map(|errors| Cell::Number(errors[j])));
        grid.row(cells);
    }
    let more = if hidden > 0 { format!("  … {hidden} more; --json has all\n") } else { String::new() };
    format!("{}{more}", grid.render(Style::Text))
}
