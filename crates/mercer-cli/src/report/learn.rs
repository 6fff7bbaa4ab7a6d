//! What `mercer fit` prints of a fit with a loss.

use mercer::base::bytes::bytes;
use mercer::criterion::FoldRule;
use mercer::learn::Measure;
use mercer::loss::Shape;
use mercer::{Curve, Fitted, Meaning, Probability, Summary};

use super::fit::{fold_words, saved_line, table_lines};
use super::{
    Page, abbreviated, certificate_line, columns, confusion, edge, errors_line, integer, judged_by, low_rank_line,
    notes, penalty_line, rows, short,
};
use crate::args::{Common, FitOptions, Style};
use crate::chart;
use crate::conversions;
use crate::grid::{Cell, Grid};
use crate::learn::Found;
use crate::learn::assess::Assessment;
use crate::score::{QuantileScore, quantile_of, spread};

const MOST_TRIALS: usize = 8;
/// Classes, at most, whose support vectors are counted one by one.
const MOST_SUPPORTS: usize = 6;

pub fn page(found: &Found, options: &FitOptions, common: &Common, saved: Option<(&str, usize)>) -> String {
    let mut page = Page::new();
    let learned = &found.learned;
    let model = &learned.model;
    notes::lines(&mut page, &found.notes());
    table_lines(&mut page, &learned.design, model.encoder(), common.verbose);
    page.line("loss", &loss_line(learned));
    page.line("kernel", &model.kernel().spec());
    let forecast = format!("; {} forecast, {:.2} s", bytes(learned.plan.bytes), found.seconds);
    let method = learned.plan.method.describe();
    page.line("method", &format!("{method}{}", if common.verbose { &forecast } else { "" }));
    trials(&mut page, learned);
    page.blank();
    match model.meaning() {
        Meaning::Classes { .. } => classes(&mut page, found),
        Meaning::Quantiles { per_target, sorted } => quantiles(&mut page, found, *per_target, *sorted),
        Meaning::Numbers => numbers(&mut page, found),
    }
    page.blank();
    saved_line(&mut page, saved, &options.table, "");
    page.to_string()
}

/// The spec with its formula; with several quantiles the formula is said once.
fn loss_line(learned: &Fitted) -> String {
    let specs: Vec<&str> = learned.model.summaries().iter().map(|summary| summary.loss.as_str()).collect();
    let first = specs.first().copied().unwrap_or_default();
    let name = first.split('(').next().unwrap_or_default();
    let formula = mercer::loss::all().into_iter().find(|entry| entry.name == name).map_or("", |entry| entry.formula);
    let is_joint = matches!(learned.model.meaning(), Meaning::Classes { probability: Probability::Softmax, .. });
    if is_joint {
        return format!("{first}, multinomial: −ln of the class's share of Σ exp(v), a value v for each class");
    }
    let shown = if specs.iter().all(|spec| *spec == first) { first } else { name };
    format!("{shown}, {formula}")
}

/// The best of what was tried, if there was more than λ to choose.
fn trials(page: &mut Page, learned: &Fitted) {
    let Some(first) = learned.curves().next().map(|trial| trial.target.clone()) else { return };
    let mut own: Vec<&Curve> = learned.curves().filter(|trial| trial.target == first).collect();
    let race = race(&own);
    own.retain(|trial| !trial.lambdas.is_empty());
    if own.len() < 2 {
        if let Some(sentence) = race {
            page.blank();
            page.block(&sentence);
        }
        return;
    }
    // What all folds have judged comes before what was dropped on the way.
    let rank = |trial: &Curve, l: usize| (trial.chosen != Some(l), trial.dropped[l].is_some(), trial.scores[l]);
    let order = |a: &(bool, bool, f64), b: &(bool, bool, f64)| (a.0, a.1).cmp(&(b.0, b.1)).then(a.2.total_cmp(&b.2));
    let best =
        |trial: &Curve| (0..trial.scores.len()).min_by(|a, b| order(&rank(trial, *a), &rank(trial, *b))).unwrap_or(0);
    let score = |trial: &Curve| trial.scores[best(trial)];
    own.sort_by(|a, b| order(&rank(a, best(a)), &rank(b, best(b))));
    let held_out = learned.summary().held_out.as_ref();
    let measure = held_out.map_or("", |held_out| measure_name(&held_out.measure));
    // Only what differs is worth a column.
    let differs = |read: &dyn Fn(&Curve) -> String| own.iter().any(|trial| read(trial) != read(own[0]));
    let kernel = |trial: &Curve| trial.kernel.spec();
    let loss = |trial: &Curve| trial.loss.clone();
    let exponent = |trial: &Curve| short(trial.exponent);
    let shown = [differs(&kernel), differs(&loss), differs(&exponent), true, true, race.is_some()];
    let only = |cells: Vec<Cell>| cells.into_iter().zip(shown).filter(|(_, is)| *is).map(|(cell, _)| cell).collect();
    let names = ["kernel", "loss", "exponent", "λ", measure, "judged on"];
    let mut grid =
        Grid::new(names.iter().zip(shown).filter(|(_, is)| *is).map(|(name, _)| (*name).to_owned()).collect());
    for trial in own.iter().take(MOST_TRIALS) {
        let value = score(trial);
        grid.row(only(vec![
            Cell::Text(abbreviated(&kernel(trial), 50)),
            Cell::Text(abbreviated(&loss(trial), 50)),
            Cell::Number(trial.exponent),
            Cell::Number(trial.lambdas[best(trial)]),
            if trial.chosen.is_some() { Cell::Best(value) } else { Cell::Number(value) },
            Cell::Text(match trial.dropped[best(trial)] {
                None => "all folds".into(),
                Some(0) => "part of a fold".into(),
                Some(1) => "1 fold".into(),
                Some(folds) => format!("{folds} folds"),
            }),
        ]));
    }
    page.blank();
    if learned.model.summaries().len() > 1 && learned.model.classes().is_none() {
        page.block(&format!("  tried for {first}\n"));
    }
    page.block(&grid.render(Style::Text));
    if own.len() > MOST_TRIALS {
        page.block(&format!("  … {} more\n", own.len() - MOST_TRIALS));
    }
    if let Some(sentence) = race {
        page.block(&sentence);
    }
}

/// How many points were dropped on the way, if some were.
fn race(trials: &[&Curve]) -> Option<String> {
    let points: usize = trials.iter().map(|trial| trial.lambdas.len()).sum();
    let dropped = trials.iter().flat_map(|trial| &trial.dropped).filter(|dropped| dropped.is_some()).count();
    (dropped > 0).then(|| {
        format!(
            "  {} of {} points were dropped before all folds had judged them closely: clearly worse than the best on the same rows\n  \
             (--table lists them; --every-point judges them all)\n",
            integer(dropped),
            integer(points)
        )
    })
}

pub fn measure_name(name: &str) -> &'static str {
    Measure::parse(name).map_or("", Measure::describe)
}

/// One block per target.
fn numbers(page: &mut Page, found: &Found) {
    let learned = &found.learned;
    for (t, summary) in learned.model.summaries().iter().enumerate() {
        if t > 0 {
            page.blank();
        }
        let [low, high] = summary.target_range;
        let unit = columns::unit(learned.model.encoder(), &summary.target);
        page.line("target", &format!("{}{unit}, {} … {}", summary.target, short(low), short(high)));
        facts(page, found, t, summary);
    }
    let (values, is_held_out) = found.values();
    let title = if is_held_out { rows_in_words(learned) } else { "on the training rows".into() };
    // In order of time the first rows are not predicted.
    let pairs = learned.design.y.col(0).iter().zip(&values[0]).filter(|(_, value)| !value.is_nan());
    let (observed, predicted): (Vec<f64>, Vec<f64>) = pairs.unzip();
    page.blank();
    page.block(&chart::predicted_against_observed(&observed, &predicted, &format!("predicted, {title}")));
}

/// Penalty, error, support and certificate of one model.
fn facts(page: &mut Page, found: &Found, t: usize, summary: &Summary) {
    page.line("penalty", &penalty_line(summary));
    let tried = found.learned.curves().filter(|trial| found.codes.is_some() || trial.target == summary.target);
    if let Some(edge) = tried.filter_map(|trial| edge(&trial.lambdas, trial.chosen?)).next() {
        page.line("", &edge);
    }
    let models = found.learned.model.summaries();
    let of_classes = found.codes.is_some() && models.len() > 1;
    let all = conversions::of(&found.learned.model, summary);
    if of_classes && models.iter().any(|other| conversions::of(&found.learned.model, other) != all) {
        page.line("", "the ridge of each class differs; --json has C or alpha of all");
    } else if let Some(line) = conversions::line(&all) {
        let is_weighted = found.learned.design.weights.is_some() || summary.weighted_train_error.is_some();
        let line = format!("{line}{}", if is_weighted { " (there with weights of mean 1)" } else { "" });
        notes::wrapped(&line).iter().for_each(|part| page.line("", part));
    }
    let losses: Vec<f64> = models.iter().filter_map(|summary| summary.train_loss).collect();
    let shared = Summary { train_loss: Some(spread(&losses).0), ..summary.clone() };
    page.line("error", &errors_line(if of_classes { &shared } else { summary }));
    if let Some(line) = assessed(found.assessment.as_ref(), t) {
        page.line("", &line);
    }
    let all: Vec<usize> =
        if of_classes { models.iter() } else { models[t..=t].iter() }.filter_map(|s| s.support).collect();
    if summary.certificate.low_rank.is_none() && leaves_rows_out(&summary.loss) {
        let counts = match (all.iter().min(), all.iter().max()) {
            (Some(least), Some(most)) if all.len() > MOST_SUPPORTS => {
                format!("for each class from {} to {}", integer(*least), integer(*most))
            }
            _ => all.iter().map(|count| integer(*count)).collect::<Vec<_>>().join(", "),
        };
        page.line("support", &format!("{counts} of {} are support vectors", rows(summary.rows)));
    }
    let worst =
        if of_classes { models.iter().max_by(|a, b| gap(a).total_cmp(&gap(b))).unwrap_or(summary) } else { summary };
    page.line("certain", &certificate_line(&worst.certificate, worst.is_zero));
    if let Some(low_rank) = &worst.certificate.low_rank {
        page.line("", &low_rank_line(low_rank));
    }
}

/// Whether a loss has rows without a coefficient: not where it is smooth, as the logistic and the squared one are.
pub fn leaves_rows_out(loss: &str) -> bool {
    mercer::loss::parse(loss).is_ok_and(|losses| losses.iter().all(|loss| matches!(loss.shape(), Shape::Tube(_))))
}

fn gap(summary: &Summary) -> f64 {
    summary.certificate.duality_gap.unwrap_or(0.0)
}

fn classes(page: &mut Page, found: &Found) {
    let learned = &found.learned;
    let (Some(classes), Some(codes)) = (learned.model.classes(), &found.codes) else { return };
    let Meaning::Classes { target, .. } = learned.model.meaning() else { return };
    let count = |class: usize| codes.iter().filter(|code| **code == class).count();
    let named: Vec<String> = (0..classes.len().min(8))
        .map(|class| format!("{} {}", abbreviated(&classes.names[class], 24), integer(count(class))))
        .collect();
    let more = if classes.len() > 8 { format!(" · … {} in all", classes.len()) } else { String::new() };
    page.line("target", &format!("{target}: {}{more}", named.join(" · ")));
    facts(page, found, 0, learned.summary());
    let (values, is_held_out) = found.values();
    let title = if is_held_out { rows_in_words(learned) } else { "on the training rows".into() };
    page.blank();
    page.block(&confusion::block(classes, codes, values, &title));
}

fn quantiles(page: &mut Page, found: &Found, per_target: usize, sorted: bool) {
    let learned = &found.learned;
    let (values, is_held_out) = found.values();
    let rows = if is_held_out { "held out" } else { "training rows" };
    let several = learned.design.targets.len() > 1;
    let mut columns = vec!["quantile".to_owned(), "λ".into(), "C".into(), format!("loss, {rows}")];
    columns.extend([format!("share below, {rows}"), "support".into(), "duality gap".into()]);
    if several {
        columns.insert(0, "target".into());
    }
    let mut grid = Grid::new(columns);
    let weights = learned.design.weights.as_deref();
    for (index, (summary, values)) in learned.model.summaries().iter().zip(values).enumerate() {
        let t = index / per_target.max(1);
        let quantile = quantile_of(&summary.loss).unwrap_or(f64::NAN);
        let values: Vec<Option<f64>> = values.iter().map(|v| (!v.is_nan()).then_some(*v)).collect();
        let score = QuantileScore::of(quantile, learned.design.y.col(t), &values, weights);
        let cost = conversions::of(&learned.model, summary).into_iter().find(|c| c.name == "C");
        let mut cells = vec![
            Cell::Number(quantile),
            Cell::Number(summary.lambda),
            cost.map_or(Cell::Nothing, |cost| Cell::Number(cost.value)),
            score.map_or(Cell::Nothing, |score| Cell::Number(score.loss)),
            score.map_or(Cell::Nothing, |score| Cell::Number(score.below)),
            summary.support.map_or(Cell::Nothing, |support| Cell::Number(support as f64)),
            Cell::Text(summary.certificate.duality_gap.map_or_else(String::new, |gap| format!("{gap:.0e}"))),
        ];
        if several {
            cells.insert(0, Cell::Text(learned.design.targets[t].clone()));
        }
        grid.row(cells);
    }
    let summary = learned.summary();
    page.line("target", &learned.design.targets.join(", "));
    if let Some(by) = judged_by(summary) {
        page.line("chosen", &format!("λ of each by {by}, exponent {}", short(summary.exponent)));
    }
    if sorted {
        page.line("", "the quantiles of each prediction are sorted, so that they never cross");
    }
    page.blank();
    page.block(&grid.render(Style::Text));
    page.line("", "C = 1/(2nλ) is the cost in kernlab's kqr");
    for (t, _) in learned.model.summaries().iter().enumerate() {
        if let Some(line) = assessed(found.assessment.as_ref(), t) {
            page.line(if t == 0 { "assessed" } else { "" }, &line);
        }
    }
}

/// Whose predictions a picture shows.
fn rows_in_words(learned: &Fitted) -> String {
    match learned.summary().chosen_by.as_deref() {
        Some(spec) if spec.starts_with("forward") => "each block of rows from earlier rows".into(),
        Some("loo") => "each row as if it had been left out (approximate)".into(),
        _ if learned.summary().groups.is_some() => "each row by a model that had not seen its group".into(),
        _ => "each row by a model that had not seen it".into(),
    }
}

/// What was measured on rows that no choice has seen.
pub fn assessed(found: Option<&(FoldRule, Assessment)>, t: usize) -> Option<String> {
    let (rule, assessment) = found?;
    let target = assessment.targets.get(t)?;
    let parts: Vec<String> = target
        .measures
        .iter()
        .map(|measure| {
            let (mean, deviation) = spread(&measure.folds);
            format!("{} {} ± {}", measure.name, short(mean), short(deviation))
        })
        .collect();
    let times = if rule.repeats > 1 { format!(", {} times", rule.repeats) } else { String::new() };
    let own = if assessment.targets.len() > 1 { format!("{}: ", target.target) } else { String::new() };
    let how = match rule.is_each_group() {
        true => "leave-one-group-out".to_owned(),
        false => format!("{}{times}", fold_words(rule, rule.folds)),
    };
    Some(format!("{own}{how}, selection inside: {} (± sd over folds)", parts.join(", ")))
}
