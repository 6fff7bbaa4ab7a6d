//! Strong or weak, in sentences with the numbers behind them.

use mercer_lab::equivalence::{Comparison, Decay, Mapped, Relation};

use crate::report::short;

/// One word for programs.
pub fn word(relation: &Relation) -> &'static str {
    match relation {
        Relation::Strong { .. } => "strong",
        Relation::SizeOnly { .. } => "size-only",
        Relation::SetDependent => "weak",
    }
}

/// What the tables mean.
pub fn sentences(found: &Comparison) -> String {
    let Some(whole) = found.deletions.whole.image.parameter() else {
        let reason = found.deletions.whole.image.reason().unwrap_or_default();
        return format!("There is no Φ here: {reason}.");
    };
    let formula = found.relation.formula(found.from.symbol()).unwrap_or_default();
    let checked = found.formula_error().map_or_else(String::new, |error| {
        format!(" (on all sets that were computed, to {})", short(error.max(f64::EPSILON)))
    });
    match found.relation {
        Relation::Strong { .. } => format!(
            "Strongly equivalent: Φ = {formula} for every training set{checked}. What holds for one algorithm at its \
             parameter holds for the other at Φ, stability included."
        ),
        Relation::SizeOnly { .. } => format!(
            "Weakly equivalent, with Φ depending on the number of rows only: Φ = {formula}{checked}. {}",
            deletions(found, whole)
        ),
        Relation::SetDependent => format!(
            "Weakly, not strongly equivalent: Φ depends on the rows. Over the parts it moves by up to {}, over the bootstrap \
             samples by up to {}. {}",
            largest_move(&found.parts, whole),
            largest_move(&found.bootstrap, whole),
            deletions(found, whole)
        ),
    }
}

fn deletions(found: &Comparison, whole: f64) -> String {
    let Some(change) = found.deletions.change() else {
        return "Without any one of the rows Φ has no value.".into();
    };
    if change.is_infinite() {
        let (count, all) = (found.deletions.without_image(), found.deletions.without.len());
        return format!(
            "Without each of {count} of the {all} rows, one at a time, Φ has no value: C(n) is not finite, and the first assumption \
             under which stability carries over (C(n) → 0) does not hold on this table."
        );
    }
    let moved =
        format!("Deleting one row moves it by at most C(n) = {} ({} of Φ)", short(change), percent(change / whole));
    let Some(decay) = found.decay else {
        return format!("{moved}; there are too few rows to see how that changes with n.");
    };
    let Decay { exponent, standard_error, .. } = decay;
    let law = format!("s = {:.2} ± {:.2}", exponent + 0.0, standard_error);
    match decay.falls() {
        true => format!(
            "{moved}, falling like n^-s with {law}; so the first assumption under which stability carries over \
             (C(n) → 0) looks satisfied on this table. It asks for every set, which no table can show."
        ),
        false => format!(
            "{moved}; that this falls with n is not visible on these rows (as n^-s: {law}), so the first assumption under which \
             stability carries over (C(n) → 0) is in doubt."
        ),
    }
}

fn largest_move(sets: &[Mapped], whole: f64) -> String {
    let moves = sets.iter().filter_map(|set| set.image.parameter()).map(|value| (value / whole - 1.0).abs());
    let most = moves.fold(f64::NAN, f64::max);
    if most.is_nan() { "nothing that could be computed".into() } else { percent(most) }
}

/// `3.2 %`
fn percent(share: f64) -> String {
    format!("{} %", short(100.0 * share))
}
