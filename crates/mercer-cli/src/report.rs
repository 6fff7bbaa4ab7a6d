//! Reports for people: one screen, every number earned.

mod automatic;
pub mod columns;
mod confusion;
pub mod fit;
pub mod learn;
pub mod linear;
pub mod notes;
mod search;

use std::fmt;

use mercer::Summary;
use mercer::certificate::{Certificate, LowRank, Rounding};
use mercer::criterion::{Criterion, Order};
use mercer::data::Scale;

/// Labelled lines.
#[derive(Default)]
pub struct Page {
    text: String,
}

impl Page {
    pub fn new() -> Self {
        Page::default()
    }

    pub fn line(&mut self, label: &str, content: &str) {
        self.text.push_str(&format!("  {label:<9}{content}\n"));
    }

    pub fn blank(&mut self) {
        self.text.push('\n');
    }

    pub fn block(&mut self, text: &str) {
        self.text.push_str(text);
    }
}

impl fmt::Display for Page {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

pub fn penalty_line(summary: &Summary) -> String {
    if is_constant(summary) {
        return "none matters: the target is constant".into();
    }
    let on = summary.chosen_on_landmarks;
    let on = on.map_or_else(String::new, |rank| format!(" of the model on {} landmarks", integer(rank)));
    let chosen = match (summary.lambda_was_chosen, judged_by(summary)) {
        (true, Some(by)) => format!(" by {by}{on}{}", criterion_value(summary)),
        _ => String::new(),
    };
    let complexity = complexity(summary);
    // A penalty of its own has neither exponent nor effective ridge.
    if summary.penalty != "norm-power" {
        let complexity = if complexity.is_empty() { String::new() } else { format!(", {complexity}") };
        let lambda = if summary.penalty == "none" {
            "no penalty".into()
        } else {
            format!("{}, λ = {}{chosen}", summary.penalty, short(summary.lambda))
        };
        return format!("{lambda}{complexity}");
    }
    format!("λ = {}{chosen}, exponent {} ({complexity})", short(summary.lambda), short(summary.exponent))
}

/// Whether every row has the same target, and the model predicts just that.
fn is_constant(summary: &Summary) -> bool {
    let [low, high] = summary.target_range;
    summary.is_zero && low == high
}

/// What the criterion said of the choice, unless the line of errors begins with it.
fn criterion_value(summary: &Summary) -> String {
    let criterion = summary.chosen_by.as_deref().and_then(|spec| Criterion::parse(spec).ok());
    let is_shown = |criterion: &Criterion| *criterion == Criterion::LeaveOneOut || criterion.leaves_out_groups();
    match (summary.criterion_value, &summary.held_out) {
        (Some(_), _) if criterion.as_ref().is_some_and(is_shown) && summary.loo_rmse.is_some() => String::new(),
        (Some(_), Some(held_out)) => format!(" (RMSE {})", short(held_out.value.sqrt())),
        (Some(value), None) => format!(" ({})", short(value)),
        (None, _) => String::new(),
    }
}

/// What a model was chosen by: exact for the squared loss, where folds are deletions.
pub fn judged_by(summary: &Summary) -> Option<String> {
    let name = criterion_name(summary.chosen_by.as_deref()?);
    match (summary.train_loss, name.strip_prefix("exact ")) {
        (Some(_), Some("leave-one-out")) => Some("approximate leave-one-out".into()),
        (Some(_), Some(rest)) => Some(rest.to_owned()),
        _ => Some(name),
    }
}

/// How much of the data the model follows.
fn complexity(summary: &Summary) -> String {
    let ridge = match summary.effective_ridge {
        Some(ridge) => Some(format!("effective ridge {}", short(ridge))),
        None if summary.penalty != "norm-power" && !summary.is_zero => None,
        None => Some("effective ridge none: f = 0".into()),
    };
    let dof = summary.dof.map(|dof| format!("{} degrees of freedom", short(dof)));
    ridge.into_iter().chain(dof).collect::<Vec<String>>().join(", ")
}

/// A criterion as one says it.
pub fn criterion_name(spec: &str) -> String {
    match Criterion::parse(spec) {
        Ok(Criterion::LeaveOneOut) => "exact leave-one-out".into(),
        Ok(criterion) if criterion.leaves_out_groups() => "exact leave-one-group-out".into(),
        // Models of before forward chaining: blocks, of which later rows predicted earlier ones, too.
        _ if spec.contains("order=time") => "exact cross-validation over blocks of rows".into(),
        Ok(Criterion::KFold(rule)) if rule.is_forward() => format!("forward chaining over {} blocks", rule.folds),
        Ok(Criterion::KFold(rule)) if rule.order == Order::Blocks => {
            format!("exact {}-fold cross-validation over blocks of rows", rule.folds)
        }
        Ok(Criterion::KFold(rule)) if rule.repeats > 1 => {
            format!("exact {}-fold cross-validation, {} times", rule.folds, rule.repeats)
        }
        Ok(Criterion::KFold(rule)) => format!("exact {}-fold cross-validation", rule.folds),
        _ => spec.to_owned(),
    }
}

/// What the errors of a model leave out.
pub fn left_out(summary: &Summary) -> &'static str {
    if summary.groups.is_some() { "leave-one-group-out" } else { "leave-one-out" }
}

pub fn errors_line(summary: &Summary) -> String {
    if let Some(loss) = summary.train_loss {
        return learned_errors_line(summary, loss);
    }
    let r2 = |value: Option<f64>| value.map_or_else(String::new, |r2| format!(" (R² {})", short(r2)));
    let train = format!("on the training rows {}{}", short(summary.train_rmse), r2(summary.train_r2));
    let forward = summary.chosen_by.as_deref().is_some_and(|spec| spec.starts_with("forward"));
    if let (true, Some(held_out)) = (forward, &summary.held_out) {
        return format!("forward-chained RMSE {}, {train}", short(held_out.value.sqrt()));
    }
    match summary.loo_rmse {
        Some(rmse) => {
            let groups = summary.groups.map_or_else(String::new, |groups| format!(" over {} groups", integer(groups)));
            format!("{} RMSE {}{}{groups}, {train}", left_out(summary), short(rmse), r2(summary.loo_r2))
        }
        None => format!("RMSE {train}"),
    }
}

/// For losses other than the squared one: what held-out rows said, and the training rows.
fn learned_errors_line(summary: &Summary, train_loss: f64) -> String {
    // Of classes with weights the shares are said both ways.
    let weighted = if summary.weighted_train_error.is_some() { "weighted " } else { "" };
    let held_out = summary.held_out.as_ref().map_or_else(String::new, |held_out| {
        let (value, error) = (short(held_out.value), short(held_out.standard_error));
        let root = match held_out.measure.as_str() {
            "squared" => format!(" (root {})", short(held_out.value.sqrt())),
            _ => String::new(),
        };
        let name = learn::measure_name(&held_out.measure);
        match held_out.unweighted {
            Some(plain) => format!("held-out {name} {} (weighted {value} ± {error}), ", short(plain)),
            None => format!("held-out {weighted}{name} {value} ± {error}{root}, "),
        }
    });
    let rest = match (summary.train_error, summary.train_r2) {
        (Some(wrong), _) => {
            let weighted = summary.weighted_train_error;
            let weighted = weighted.map_or_else(String::new, |share| format!(" (weighted {})", short(share)));
            format!("share of wrong classes {}{weighted}", short(wrong))
        }
        (None, Some(r2)) => format!("RMSE {} (R² {})", short(summary.train_rmse), short(r2)),
        (None, None) => format!("RMSE {}", short(summary.train_rmse)),
    };
    format!("{held_out}on the training rows {weighted}mean loss {}, {rest}", short(train_loss))
}

pub fn certificate_line(certificate: &Certificate, is_zero: bool) -> String {
    if let Some(gap) = certificate.duality_gap {
        let zero = if is_zero { ", the zero function" } else { "" };
        let ridge = match certificate.root_residual {
            residual if residual > 0.0 => format!(", ridge to {residual:.0e}"),
            _ => String::new(),
        };
        return match gap {
            0.0 => format!("duality gap zero to rounding{zero}{ridge}"),
            gap => format!("within {gap:.0e} of the least objective{zero} (duality gap){ridge}"),
        };
    }
    let points = match certificate.stationary_points {
        1 => "1 stationary point".to_owned(),
        n => format!("{n} stationary points"),
    };
    let what = if certificate.is_global { "global minimum" } else { "minimum" };
    let zero = if is_zero { ", the zero function" } else { "" };
    let mut parts = vec![format!("{what}{zero} ({points})")];
    if certificate.root_residual > 0.0 {
        parts.push(format!("ridge to {:.0e}", certificate.root_residual));
    }
    if certificate.solve_residual > 0.0 {
        parts.push(format!("solved to {:.0e}", certificate.solve_residual));
    }
    if let Some(residual) = certificate.decomposition_residual {
        parts.push(format!("decomposed to {residual:.2} n·eps"));
    }
    let digits = certificate.digits;
    parts.push(match &certificate.rounding {
        Some(Rounding { bound: None, largest_difference: Some(_), points, .. }) => {
            format!("{digits} digits, measured on {} of its own points", integer(*points))
        }
        Some(Rounding { bound: None, .. }) => format!("about {digits} digits"),
        _ if digits <= 0.0 => "no digit of the predictions is certain".to_owned(),
        _ if !certificate.holds => format!("only {digits} digits are certain"),
        _ => format!("at least {digits} digits"),
    });
    parts.join(", ")
}

/// What landmarks leave, and how far their fit can be from the exact one.
pub fn low_rank_line(low_rank: &LowRank) -> String {
    let left =
        format!("{} landmarks leave {:.0e} of the kernel's diagonal", integer(low_rank.rank), low_rank.residual_share);
    match low_rank.bound_at_rows {
        Some(bound) if bound < 1.0 => {
            format!(
                "{left}; no prediction at a row is further than {bound:.0e} of the target's spread from that of all rows at \
                 this λ"
            )
        }
        Some(_) => format!("{left}: too few for a useful error bound; more landmarks give one"),
        None => format!("{left}; no bound is known for how far predictions are from those of all rows"),
    }
}

/// Where a fit uses landmarks up: a hint that more of them would be of use.
pub fn landmarks_hint(summary: &Summary) -> Option<String> {
    let rank = summary.certificate.low_rank.as_ref()?.rank;
    let dof = summary.dof?;
    let is_used_up = dof > 0.95 * rank as f64 && rank + 1 < summary.rows;
    is_used_up.then(|| {
        format!("{} degrees of freedom of {} landmarks: more landmarks may lower the error", short(dof), integer(rank))
    })
}

/// What is said where the chosen λ is the last of those that were tried, in either direction; `lambdas` rise.
pub fn edge(lambdas: &[f64], chosen: usize) -> Option<String> {
    let (first, last) = (*lambdas.first()?, *lambdas.last()?);
    match chosen {
        _ if lambdas.len() < 2 => None,
        0 => Some(format!(
            "the smallest of the {} λ that were tried: a smaller one may be better (--lambda {:.0e}..{:.0e}:60)",
            lambdas.len(),
            1e-3 * first,
            last
        )),
        place if place + 1 == lambdas.len() => {
            Some(format!("the largest of the {} λ that were tried: a larger one may be better", lambdas.len()))
        }
        _ => None,
    }
}

/// A bound to two digits, rounded up.
fn at_most(bound: f64) -> String {
    // Rounding to two digits takes off up to 5 %.
    format!("{:.1e}", 1.05 * bound)
}

/// What single precision cost.
pub fn rounding_line(rounding: &Rounding) -> String {
    let measured = rounding.largest_difference.map(|difference| {
        format!(
            "predictions differ by at most {} on {} of its own points",
            at_most(difference),
            integer(rounding.points)
        )
    });
    let bound = match rounding.bound {
        Some(bound) => format!("and by {} anywhere, which is proved", at_most(bound)),
        None => "without a bound for other points".to_owned(),
    };
    match measured {
        Some(measured) => format!("{measured}, {bound}"),
        None => "every coefficient differs by at most 6e-8 of itself".to_owned(),
    }
}

pub fn scale_name(scale: Scale) -> &'static str {
    match scale {
        Scale::Standard => "standardised",
        Scale::Unit => "scaled to the unit range",
        Scale::None => "as they are",
        Scale::Log => "standardised, skewed ones as logarithms too",
    }
}

/// Four significant digits, as a person would write them.
pub fn short(value: f64) -> String {
    if value == 0.0 {
        return "0".into();
    }
    if !value.is_finite() {
        return value.to_string();
    }
    let size = value.abs();
    if !(1e-3..1e7).contains(&size) {
        let text = format!("{value:.3e}");
        // 1.000e-5 → 1e-5
        return match text.split_once('e') {
            Some((digits, exponent)) if digits.contains('.') => {
                format!("{}e{exponent}", digits.trim_end_matches('0').trim_end_matches('.'))
            }
            _ => text,
        };
    }
    let decimals = (3 - size.log10().floor() as i32).max(0) as usize;
    let text = format!("{value:.decimals$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

/// Specs with a lengthscale for each of many features are long.
pub fn abbreviated(text: &str, longest: usize) -> String {
    if text.chars().count() <= longest {
        return text.to_owned();
    }
    text.chars().take(longest - 1).chain(['…']).collect()
}

/// `1 row`, `1,030 rows`
pub fn rows(count: usize) -> String {
    format!("{} {}", integer(count), if count == 1 { "row" } else { "rows" })
}

/// 1,030
pub fn integer(value: usize) -> String {
    let digits = value.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::{abbreviated, criterion_name, integer, rows, short};

    #[test]
    fn numbers_read_well() {
        assert_eq!(short(0.000012345), "1.234e-5");
        assert_eq!(short(1e-5), "1e-5");
        assert_eq!(short(5.4), "5.4");
        assert_eq!(short(82.6), "82.6");
        assert_eq!(short(312.456), "312.5");
        assert_eq!(short(-0.5), "-0.5");
        assert_eq!(short(123456.0), "123456");
        assert_eq!(integer(1030), "1,030");
        assert_eq!(integer(7), "7");
        assert_eq!((rows(1), rows(0), rows(1030)), ("1 row".into(), "0 rows".into(), "1,030 rows".into()));
        assert_eq!(abbreviated("linear", 6), "linear");
        assert_eq!(abbreviated("linear kernels", 6), "linea…");
        assert_eq!(criterion_name("kfold(folds=5,repeats=1)"), "exact 5-fold cross-validation");
        assert_eq!(criterion_name("gcv"), "gcv");
    }
}
