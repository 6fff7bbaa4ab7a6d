//! What `mercer fit` prints.

use mercer::base::bytes::bytes;
use mercer::criterion::FoldRule;
use mercer::data::{Design, Encoder};
use mercer::path::HeldOutRows;
use mercer::plan::Method;
use mercer::{Fitted, Summary};

use super::{
    Page, automatic, certificate_line, columns, errors_line, integer, landmarks_hint, left_out, low_rank_line, notes,
    penalty_line, rows, scale_name, search, short,
};
use crate::args::{Common, FitOptions};
use crate::chart;
use crate::fit::Found;

pub fn page(found: &Found, options: &FitOptions, common: &Common, saved: Option<(&str, usize)>) -> String {
    let mut page = Page::new();
    let fitted = &found.fitted;
    notes::lines(&mut page, &found.notes());
    table_lines(&mut page, &fitted.design, fitted.model.encoder(), common.verbose);
    match &found.search {
        Some(search) => automatic::lines(&mut page, search, fitted, found.seconds),
        None => page.line("kernel", &fitted.model.kernel().spec()),
    }
    if let (Some(map), None) = (&fitted.model.encoder().projection, &found.search) {
        page.line("metric", &format!("a learned linear map of the {} features comes before it", map.rows()));
    }
    if common.verbose && found.search.is_some() {
        page.line("kernel", &fitted.model.kernel().spec());
    }
    let method = match fitted.plan.method {
        by_gradients @ Method::ConjugateGradients { .. } if !fitted.tried.is_empty() => {
            format!("{} at what landmarks chose", by_gradients.describe())
        }
        other => other.describe().to_owned(),
    };
    let forecast = format!("; {} forecast, {:.2} s", bytes(fitted.plan.bytes), found.seconds);
    page.line("method", &format!("{method}{}", if common.verbose { &forecast } else { "" }));
    let map = search::lines(&mut page, fitted, found.search.is_none());
    for (t, summary) in fitted.model.summaries().iter().enumerate() {
        page.blank();
        let [low, high] = summary.target_range;
        let clipped = if summary.clip.is_some() { ", within which predictions are kept" } else { "" };
        let unit = columns::unit(fitted.model.encoder(), &summary.target);
        page.line("target", &format!("{}{unit}, {} … {}{clipped}", summary.target, short(low), short(high)));
        // An automatic fit of one target has said it with the kernel.
        if found.search.is_none() || fitted.model.summaries().len() > 1 {
            page.line("penalty", &penalty_line(summary));
        }
        let forward = fitted.forward[t].as_ref();
        page.line("error", &forward.map_or_else(|| errors_line(summary), |forward| forward_line(forward, summary)));
        if let Some(forward) = forward {
            let within = short(forward.within(0.9));
            page.line("", &format!("90 % of the {} predicted rows are within ± {within}", integer(forward.rows.len())));
        }
        if let Some(loo) = &fitted.leave_one_out[t] {
            let how = if loo.groups.is_some() { "each left out with its group" } else { "each left out" };
            page.line("", &format!("90 % of the rows, {how}, are within ± {}", short(loo.within(0.9))));
        }
        if let Some(line) = assessed(found, t) {
            page.line("", &line);
        } else if let Some(line) =
            found.search.as_ref().and_then(|search| automatic::caution(search, left_out(summary)))
        {
            page.line("", &line);
        }
        page.line("certain", &certificate_line(&summary.certificate, summary.is_zero));
        if let Some(low_rank) = &summary.certificate.low_rank {
            page.line("", &low_rank_line(low_rank));
        }
        if let Some(hint) = landmarks_hint(summary) {
            page.line("", &hint);
        }
        if let Some(hint) = few_directions(fitted.plan.method, summary) {
            page.line("", &hint);
        }
        if t == 0 {
            picture(&mut page, fitted, map.as_deref(), common.verbose);
        }
    }
    if let Some(search) = &found.search {
        automatic::importance(&mut page, search, common.verbose);
    }
    page.blank();
    // Linear functions hold no rows, from which both are read.
    let more = match (fitted.model.holds_training(), fitted.forward.iter().any(Option::is_some)) {
        (true, false) => " --interval 0.9 · mercer effects",
        // Jackknife+ predicts rows from later ones.
        (true, true) => " --interval 0.9 --method gaussian-process · mercer effects",
        _ => "",
    };
    saved_line(&mut page, saved, &options.table, more);
    page.to_string()
}

/// Where the model is, or how to keep it.
pub fn saved_line(page: &mut Page, saved: Option<(&str, usize)>, table: &str, more: &str) {
    match saved {
        Some((path, size)) => {
            let more = more.replace("mercer effects", &format!("mercer effects {path}"));
            let size = bytes(size as u64);
            page.line("saved", &format!("{path} ({size}). Next: mercer predict {path} NEW.csv{more}"));
        }
        None => page.line("", &format!("not saved; --output {} keeps the model", model_name(table))),
    }
}

pub fn table_lines(page: &mut Page, design: &Design, encoder: &Encoder, is_verbose: bool) {
    let features = encoder.width() + design.points.code_columns();
    page.line(
        "table",
        &format!(
            "{}, {features} {} ({}){}",
            rows(design.rows()),
            if features == 1 { "feature" } else { "features" },
            scale_name(encoder.scale),
            if design.weights.is_some() { ", weighted" } else { "" }
        ),
    );
    if design.dropped_missing > 0 {
        page.line("", &format!("{} left out: a cell is missing", rows(design.dropped_missing)));
    }
    if design.dropped_weightless > 0 {
        page.line("", &format!("{} left out: weight 0", rows(design.dropped_weightless)));
    }
    columns::lines(page, encoder, is_verbose);
}

/// With rows in order of time: no row is predicted from later ones.
fn forward_line(forward: &HeldOutRows, summary: &Summary) -> String {
    let r2 = |value: Option<f64>| value.map_or_else(String::new, |r2| format!(" (R² {})", short(r2)));
    format!(
        "forward-chained RMSE {}{} over {} blocks, on the training rows {}{}",
        short(forward.rmse()),
        r2(forward.r2),
        forward.folds,
        short(summary.train_rmse),
        r2(summary.train_r2)
    )
}

/// The error on rows that no choice has seen.
fn assessed(found: &Found, t: usize) -> Option<String> {
    let (rule, assessment) = found.assessment.as_ref()?;
    let (mean, deviation) = (assessment.mean(t), assessment.deviation(t));
    let pooled = assessment.pooled(t);
    let folds = assessment.rmse[t].len() / rule.repeats.max(1);
    let times = if rule.repeats > 1 { format!(", {} times", rule.repeats) } else { String::new() };
    let r2 = assessment.r2(t).map_or_else(String::new, |r2| format!(" (R² {})", short(r2)));
    let how = fold_words(rule, folds);
    Some(format!(
        "{how}{times}, selection inside: RMSE {}{r2}; of single folds {} ± {} (sd)",
        short(pooled),
        short(mean),
        short(deviation)
    ))
}

/// `five-fold`, or what forward chaining does.
pub fn fold_words(rule: &FoldRule, folds: usize) -> String {
    match rule.is_forward() {
        true => format!("{} blocks, each from earlier rows", in_words(folds)),
        false => format!("{}-fold", in_words(folds)),
    }
}

pub fn in_words(n: usize) -> String {
    const WORDS: [&str; 9] = ["two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"];
    n.checked_sub(2).and_then(|i| WORDS.get(i)).map_or_else(|| n.to_string(), |word| (*word).to_owned())
}

/// The surface where one was searched, else predictions; both only for those who asked for more than a screen.
fn picture(page: &mut Page, fitted: &Fitted, map: Option<&str>, both: bool) {
    if let Some(map) = map {
        page.blank();
        page.block(map);
    }
    if map.is_some() && !both {
        return;
    }
    let observed = fitted.design.y.col(0);
    if let Some(forward) = &fitted.forward[0] {
        let observed: Vec<f64> = forward.rows.iter().map(|row| observed[*row]).collect();
        let predicted: Vec<f64> = observed.iter().zip(&forward.residuals).map(|(y, e)| y - e).collect();
        page.blank();
        let title = "predicted, each block of rows from earlier rows";
        page.block(&chart::predicted_against_observed(&observed, &predicted, title));
        return;
    }
    let (predicted, title) = match &fitted.leave_one_out[0] {
        Some(loo) => (
            observed.iter().zip(&loo.residuals).map(|(y, e)| y - e).collect::<Vec<f64>>(),
            match loo.groups {
                Some(_) => "predicted, each row by the model fitted without its group",
                None => "predicted, each row by the model fitted without it",
            },
        ),
        None => (fitted.solutions[0].fitted.clone(), "predicted, on the training rows"),
    };
    page.blank();
    page.block(&chart::predicted_against_observed(observed, &predicted, title));
}

/// A file name for the model of a table.
fn model_name(table: &str) -> String {
    let name = table.rsplit(['/', '\\']).next().unwrap_or(table);
    let stem = name.split('.').next().filter(|stem| !stem.is_empty() && *stem != "-").unwrap_or("model");
    format!("{stem}.mercer")
}

/// Rows from which an exact fit takes so long that a quicker one is worth knowing.
const MANY_ROWS: usize = 5000;

/// Where few directions of a large matrix count: landmarks would do.
fn few_directions(method: Method, summary: &Summary) -> Option<String> {
    let dof = summary.dof?;
    let is_whole = matches!(method, Method::Spectral | Method::Band | Method::Cholesky);
    let rank = ((6.0 * dof / 100.0).ceil() * 100.0).max(300.0);
    (is_whole && summary.rows >= MANY_ROWS && 10.0 * rank <= summary.rows as f64).then(|| {
        format!(
            "{} degrees of freedom of {} rows: --rank {} gives nearly the same fit in a small part of the time",
            short(dof),
            integer(summary.rows),
            integer(rank as usize)
        )
    })
}

#[cfg(test)]
mod tests {
    use super::{in_words, model_name};

    #[test]
    fn names_and_numbers_read_well() {
        assert_eq!(model_name("data/concrete.csv.gz"), "concrete.mercer");
        assert_eq!(model_name("-"), "model.mercer");
        assert_eq!((in_words(5), in_words(10), in_words(20)), ("five".into(), "ten".into(), "20".into()));
    }
}
