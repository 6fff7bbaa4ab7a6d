//! The recorded outcomes, one line each, and what differs from them.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::PathBuf;

use anyhow::{Context, Result};

use super::run::{FIGURES, Outcome};

/// An outcome with how far its figures may be off on another machine.
#[derive(Debug, Clone, PartialEq)]
pub struct Recorded {
    pub outcome: Outcome,
    pub tolerance: f64,
}

/// Figures agree to this, unless rounding weighs more.
pub const TOLERANCE: f64 = 1e-6;
/// From here on figures are not compared: they are decided by rounding.
const HOPELESS: f64 = 0.1;

#[derive(Debug, Default)]
pub struct Reference {
    pub machine: String,
    pub cases: BTreeMap<String, Recorded>,
}

/// What must agree bit for bit.
pub const PARTS: [&str; 5] = ["exit", "model", "predictions", "numbers", "json"];

pub fn path() -> PathBuf {
    crate::build::root().join("xtask").join("bits.tsv")
}

impl Reference {
    /// Reads the file; `None` if there is none.
    pub fn read() -> Result<Option<Reference>> {
        match std::fs::read_to_string(path()) {
            Ok(text) => Reference::parse(&text).map(Some),
            Err(_) => Ok(None),
        }
    }

    fn parse(text: &str) -> Result<Reference> {
        let mut reference = Reference::default();
        for line in text.lines() {
            if let Some(machine) = line.strip_prefix("# machine: ") {
                machine.clone_into(&mut reference.machine);
            }
            if line.starts_with('#') || line.starts_with("name\t") {
                continue;
            }
            let mut cells = line.split('\t');
            let mut cell =
                || cells.next().map(str::to_owned).with_context(|| format!("bits.tsv: a cell is missing in {line:?}"));
            let name = cell()?;
            let (exit, model, predictions, numbers, json) = (cell()?, cell()?, cell()?, cell()?, cell()?);
            let tolerance = cell()?.parse()?;
            let mut figures = [None; FIGURES.len()];
            for figure in &mut figures {
                *figure = cell()?.parse().ok();
            }
            let outcome = Outcome { exit, model, predictions, numbers, json, figures };
            reference.cases.insert(name, Recorded { outcome, tolerance });
        }
        Ok(reference)
    }

    /// Writes the file, cases in the order of `names`.
    pub fn write(&self, names: &[&str]) -> Result<()> {
        let mut text = format!(
            "# Written by `cargo xtask bits --record`; `cargo xtask bits --help` explains the columns.\n# machine: {}\n",
            self.machine
        );
        let _ = writeln!(text, "name\t{}\ttolerance\t{}", PARTS.join("\t"), FIGURES.join("\t"));
        for name in names {
            let Some(Recorded { outcome, tolerance }) = self.cases.get(*name) else { continue };
            let Outcome { exit, model, predictions, numbers, json, figures } = outcome;
            let figures: Vec<String> = figures.iter().map(|figure| shown(*figure)).collect();
            let _ = writeln!(
                text,
                "{name}\t{exit}\t{model}\t{predictions}\t{numbers}\t{json}\t{tolerance:e}\t{}",
                figures.join("\t")
            );
        }
        std::fs::write(path(), text).with_context(|| path().display().to_string())
    }
}

/// Seven significant digits.
pub fn shown(figure: Option<f64>) -> String {
    figure.map_or_else(|| "-".to_owned(), |x| format!("{x:.6e}"))
}

/// How far the figures of a run may be off elsewhere, from a run on nudged tables: a hundred times as far as those are.
pub fn tolerance(run: &Outcome, nudged: &Outcome) -> f64 {
    let change = run.figures.iter().zip(&nudged.figures).map(|(a, b)| distance(*a, *b)).fold(0.0, f64::max);
    if run.exit != nudged.exit {
        return 1.0;
    }
    // One digit is enough.
    let rounded = format!("{:.0e}", (100.0 * change).clamp(TOLERANCE, 1.0));
    rounded.parse().unwrap_or(1.0)
}

fn distance(a: Option<f64>, b: Option<f64>) -> f64 {
    match (a, b) {
        (Some(a), Some(b)) if a == b => 0.0,
        (Some(a), Some(b)) => (a - b).abs() / a.abs().max(b.abs()),
        (None, None) => 0.0,
        _ => 1.0,
    }
}

/// The parts that differ when every bit must agree.
pub fn differing_bits(old: &Outcome, new: &Outcome) -> Vec<&'static str> {
    let all = |outcome: &Outcome| {
        let Outcome { exit, model, predictions, numbers, json, .. } = outcome.clone();
        [exit, model, predictions, numbers, json]
    };
    PARTS
        .into_iter()
        .zip(all(old).iter().zip(&all(new)))
        .filter(|(_, (old, new))| old != new)
        .map(|(part, _)| part)
        .collect()
}

/// The figures that differ by more than the case's tolerance.
pub fn differing_figures(old: &Recorded, new: &Outcome) -> Vec<&'static str> {
    if old.outcome.exit != new.exit {
        return vec!["exit"];
    }
    if old.tolerance >= HOPELESS {
        return Vec::new();
    }
    let pairs = old.outcome.figures.iter().zip(&new.figures).zip(FIGURES);
    pairs
        .filter(|((old_figure, figure), _)| distance(**old_figure, **figure) > old.tolerance)
        .map(|(_, name)| name)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_compared_by_the_tolerance_of_their_case() {
        let outcome =
            |lambda: f64| Outcome { exit: "0".into(), figures: [Some(lambda), None, None, None], ..Outcome::default() };
        let old = Recorded { outcome: outcome(1.0), tolerance: 1e-6 };
        assert!(differing_figures(&old, &outcome(1.000_000_5)).is_empty());
        assert_eq!(differing_figures(&old, &outcome(1.000_005)), ["lambda"]);
        assert_eq!(tolerance(&outcome(1.0), &outcome(1.0)), TOLERANCE);
        assert_eq!(tolerance(&outcome(1.0), &outcome(1.0 + 2.1e-6)), 2e-4);
    }

    #[test]
    fn every_changed_bit_is_named() {
        let old = Outcome { model: "a".into(), ..Outcome::default() };
        let new = Outcome { model: "b".into(), json: "c".into(), ..Outcome::default() };
        assert_eq!(differing_bits(&old, &new), ["model", "json"]);
    }
}
