//! What an automatic search did: what it tried, what it took and why, and which features matter.

use mercer::Fitted;
use mercer::auto::Trial;

use super::{Page, short};
use crate::chart::bars::bars;
use crate::fit::Search;

/// Widest line of a list.
const WIDTH: usize = 100;
/// Features that are shown.
const SHOWN: usize = 6;

pub fn lines(page: &mut Page, search: &Search, fitted: &Fitted, seconds: f64) {
    let items: Vec<String> = search.trials.iter().map(|trial| format!("{} {}", name(trial), error(trial))).collect();
    for (index, line) in wrapped(&items).iter().enumerate() {
        page.line(if index == 0 { "trying" } else { "" }, line);
    }
    let chosen = search.trials.iter().find(|trial| trial.is_chosen);
    page.line("chosen", &chosen.map_or_else(|| fitted.model.kernel().spec(), name));
    let count = search.trials.len();
    let why = match chosen {
        Some(trial) if count > 1 => {
            format!("the lowest error of {count} trials, RMSE {}, judged by {}", error(trial), trial.judged_by)
        }
        Some(trial) => format!("the only trial, RMSE {}, judged by {}", error(trial), trial.judged_by),
        None => String::new(),
    };
    let end = if search.ran_out {
        format!("the budget of {} s ran out before everything was tried; --budget gives more", short(search.budget))
    } else {
        format!("{seconds:.1} s in all, everything was tried")
    };
    page.line("", &[why, end].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("; "));
}

/// `matern52, metric per feature`
fn name(trial: &Trial) -> String {
    match trial.metric {
        mercer::auto::Metric::One => trial.family.clone(),
        other => format!("{}, {} metric", trial.family, other.name()),
    }
}

fn error(trial: &Trial) -> String {
    trial.rmse.map_or_else(|| "–".to_owned(), short)
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

/// The share of each feature in what f follows.
pub fn importance(page: &mut Page, search: &Search) {
    let mut ranked = search.importance.clone();
    ranked.sort_by(|a, b| b.1.total_cmp(&a.1));
    let shown: Vec<(String, f64, String)> = ranked
        .iter()
        .take(SHOWN)
        .map(|(name, share)| (name.clone(), *share, format!("{:.0} %", 100.0 * share)))
        .collect();
    if !shown.is_empty() {
        page.blank();
        page.block("  what matters (share of the gradient)\n");
        page.block(&bars(&shown, 24));
        if ranked.len() > SHOWN {
            page.block(&format!("  … {} more\n", ranked.len() - SHOWN));
        }
    }
}
