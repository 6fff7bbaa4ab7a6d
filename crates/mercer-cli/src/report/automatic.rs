//! What an automatic search did: what it tried, what it took and why, and which features matter.

use mercer::Fitted;
use mercer::auto::{Metric, Trial};
use mercer::data::Scale;

use super::{Page, complexity, is_constant, short};
use crate::again;
use crate::chart::bars::bars;
use crate::fit::Search;

/// Widest line of a list.
const WIDTH: usize = 100;
/// Features that are shown.
const SHOWN: usize = 6;

pub fn lines(page: &mut Page, search: &Search, fitted: &Fitted, seconds: f64) {
    trials(page, search);
    let chosen = search.trials.iter().find(|trial| trial.is_chosen);
    let kernel = chosen.map_or_else(|| fitted.model.kernel().spec(), name);
    page.line(
        "chosen",
        &match fitted.model.summaries() {
            [only] if is_constant(only) => "nothing to choose: the target is constant".into(),
            [only] => {
                let (exponent, lambda) = (short(only.exponent), short(only.lambda));
                format!("{kernel}, exponent {exponent}, λ {lambda} ({})", complexity(only))
            }
            _ => kernel,
        },
    );
    let end = if search.ran_out {
        let share = match search.budget < 0.999 * search.total {
            true => format!(", of which this search had {} s and --assess the rest,", short(search.budget)),
            false => String::new(),
        };
        format!(
            "the budget of {} s{share} ran out before everything was tried; {seconds:.1} s in all; --budget gives more",
            short(search.total)
        )
    } else {
        format!("everything was tried; {seconds:.1} s in all")
    };
    let again = search.ran_out.then(|| match again::options(fitted) {
        Some(options) if options.chars().count() <= WIDTH => format!("this model again: {options}"),
        Some(_) => "--json has the options that fit this model again (fit_again)".to_owned(),
        None => "a larger budget that does not run out gives the same model every time".to_owned(),
    });
    if let Some(chosen) = chosen {
        let all = match fitted.model.summaries() {
            [first, _, ..] => format!(" (all targets together, in units of {})", first.target),
            _ => String::new(),
        };
        page.line("", &format!("{}{all}", reason(chosen, &search.trials)));
    }
    // With a constant target or a few rows there was nothing to try.
    if !search.trials.is_empty() {
        page.line("", &end);
    }
    if let Some(again) = again {
        page.line(
            "",
            "which candidates were tried depends on the speed and load of this machine; another run may choose another",
        );
        page.line("", &again);
    }
}

/// Those that were judged, the best first; then those that were not.
fn trials(page: &mut Page, search: &Search) {
    let (mut judged, rest): (Vec<&Trial>, Vec<&Trial>) = search.trials.iter().partition(|trial| trial.rmse.is_some());
    judged.sort_by(|a, b| a.rmse.unwrap_or(f64::NAN).total_cmp(&b.rmse.unwrap_or(f64::NAN)));
    let items: Vec<String> =
        judged.iter().map(|trial| format!("{} {}", name(trial), trial.rmse.map_or_else(String::new, short))).collect();
    let mut lines = wrapped(&items);
    if !rest.is_empty() {
        let names: Vec<String> = rest.iter().map(|trial| name(trial)).collect();
        let why = if search.ran_out { "no time to judge" } else { "left aside, their likelihood being far lower" };
        let list = names.join(" · ");
        lines.extend(wrapped(&format!("{why}: {list}").split(" · ").map(str::to_owned).collect::<Vec<_>>()));
    }
    for (index, line) in lines.iter().enumerate() {
        page.line(if index == 0 { "trying" } else { "" }, line);
    }
}

/// Why it was chosen: the least error, or the most evidence where the folds cannot tell.
fn reason(chosen: &Trial, trials: &[Trial]) -> String {
    let least = trials.iter().filter_map(|trial| trial.rmse).fold(f64::INFINITY, f64::min);
    let judged = trials.iter().filter(|trial| trial.rmse.is_some()).count();
    match chosen.rmse {
        Some(rmse) if rmse <= least && judged > 1 => {
            format!("the lowest error of {judged} that were judged by {}: RMSE {}", chosen.judged_by, short(rmse))
        }
        Some(rmse) if rmse <= least => format!("RMSE {} by {}", short(rmse), chosen.judged_by),
        Some(rmse) => format!(
            "RMSE {} by {}; not significantly worse than the best ({}), so the higher likelihood decided",
            short(rmse),
            chosen.judged_by,
            short(least)
        ),
        None => "by its likelihood: there was no time to hold out rows".to_owned(),
    }
}

/// Neither leave-one-out nor forward chaining learns the metric again.
pub fn caution(search: &Search, left_out: &str) -> Option<String> {
    let chosen = search.trials.iter().find(|trial| trial.is_chosen && trial.metric != Metric::One)?;
    if let Some(blocks) = chosen.judged_by.strip_suffix(" of later rows") {
        let rmse = chosen.rmse.map_or_else(String::new, |rmse| {
            format!("; learned on earlier rows only: RMSE {} by {blocks}", short(rmse))
        });
        return Some(format!("the metric was learned from all of these rows, so this is optimistic{rmse}"));
    }
    let is_other = !chosen.judged_by.starts_with("leave-one-");
    let than = |rmse: f64| format!(" than {}, {}", chosen.judged_by, short(rmse));
    let other = chosen.rmse.filter(|_| is_other).map_or_else(String::new, than);
    let more = if is_other { "more " } else { "" };
    Some(format!("{left_out} keeps the learned metric, so it is {more}optimistic{other}; --assess kfold:5 is not"))
}

/// `matern52, per feature metric, with logarithms`
fn name(trial: &Trial) -> String {
    let of = if trial.scale == Scale::Log { ", with logarithms" } else { "" };
    match trial.metric {
        Metric::One => format!("{}{of}", trial.family),
        other => format!("{}, {} metric{of}", trial.family, other.name()),
    }
}

fn wrapped(items: &[String]) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for item in items {
        match lines.last_mut() {
            Some(line) if line.chars().count() + item.chars().count() + 3 <= WIDTH => {
                line.push_str(" · ");
                line.push_str(item);
            }
            _ => lines.push(item.clone()),
        }
    }
    lines
}

/// How much worse held-out predictions are when a column is permuted; the gradient for those who ask for more.
pub fn importance(page: &mut Page, search: &Search, is_verbose: bool) {
    if let Some(importance) = &search.importance {
        let percent = |x: f64| format!("{:.0}", 100.0 * x);
        let label = |share: f64, error: f64| format!("{} % ± {}", percent(share), percent(error));
        let all: Vec<(String, f64, String)> = importance
            .columns
            .iter()
            .map(|column| (column.column.clone(), column.share, label(column.share, column.share_error)))
            .collect();
        shares(
            page,
            "what matters (share of the rise in held-out squared error when permuted, ± its standard error)",
            &all,
        );
    }
    if is_verbose {
        let mut ranked = search.mean_gradient.clone();
        ranked.sort_by(|a, b| b.1.total_cmp(&a.1));
        let of = |(name, share): &(String, f64)| (name.clone(), *share, format!("{:.0} %", 100.0 * share));
        shares(
            page,
            "mean gradient (share of the mean squared derivative)",
            &ranked.iter().map(of).collect::<Vec<_>>(),
        );
    }
}

/// The largest of some shares.
fn shares(page: &mut Page, title: &str, ranked: &[(String, f64, String)]) {
    if ranked.is_empty() {
        return;
    }
    page.blank();
    page.block(&format!("  {title}\n"));
    page.block(&bars(&ranked[..ranked.len().min(SHOWN)], 24));
    if ranked.len() > SHOWN {
        page.block(&format!("  … {} more\n", ranked.len() - SHOWN));
    }
}
