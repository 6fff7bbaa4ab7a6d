//! Forward chaining: rows in order of time, each block of later rows predicted from earlier rows only.
//!
//! n rows (or, with groups, n groups of consecutive rows, such as the rows of one date) and K folds: the held-out blocks are the
//! last K·b of them, b each (⌊n/(K+1)⌋ if it is not given). The block that begins at s is predicted from the rows
//! s − gap − window … s − gap − 1: with a window it slides, without one it begins at the first row and expands.

use super::{Criterion, FoldRule, Folds, Order};
use crate::base::error::{Error, Result};
use crate::base::table::{Arguments, Parameter, Value};

/// Which earlier rows predict a block, and how long it is. Everything is counted in rows, or in groups if there are any.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Forward {
    /// Rows between the last training row and the first held-out one, which neither has.
    pub gap: usize,
    /// The number of training rows at most; `None`: all earlier ones.
    pub window: Option<usize>,
    /// The number of rows of a block; `None`: ⌊n/(folds + 1)⌋.
    pub block: Option<usize>,
}

pub(super) const PARAMETERS: &[Parameter] = &[
    Parameter { name: "folds", default: "5", about: "number of blocks; forward:8 is forward(folds=8)" },
    Parameter { name: "gap", default: "0", about: "rows left out between training rows and block" },
    Parameter {
        name: "window",
        default: "all",
        about: "number of training rows: a window that slides; all: it expands",
    },
    Parameter { name: "block", default: "auto", about: "rows of a block; auto: rows/(folds + 1), rounded down" },
];

pub(super) fn build(arguments: &Arguments) -> Result<Criterion> {
    let folds = arguments.number("folds", 5.0, "a whole number of at least 2", |x| x >= 2.0 && is_whole(x))?;
    let gap = arguments.number("gap", 0.0, "a whole number of at least 0", |x| x >= 0.0 && is_whole(x))?;
    let window = count(arguments, "window", "all", 2.0)?;
    let block = count(arguments, "block", "auto", 1.0)?;
    let order = Order::Forward(Forward { gap: gap as usize, window, block });
    Ok(Criterion::KFold(FoldRule { folds: folds as usize, repeats: 1, order }))
}

fn is_whole(x: f64) -> bool {
    x.fract() == 0.0 && x < 1e9
}

/// A whole number, or the word that stands for what is usual.
fn count(arguments: &Arguments, name: &str, usual: &str, least: f64) -> Result<Option<usize>> {
    match arguments.get(name) {
        None => Ok(None),
        Some(Value::Word(word)) if word == usual => Ok(None),
        Some(Value::Number(x)) if *x >= least && is_whole(*x) => Ok(Some(*x as usize)),
        Some(other) => Err(arguments.refuse(name, &format!("{usual}, or a whole number of at least {least}"), other)),
    }
}

impl Forward {
    pub(super) fn spec(&self, folds: usize) -> String {
        let mut spec = format!("forward(folds={folds}");
        if self.gap > 0 {
            spec.push_str(&format!(",gap={}", self.gap));
        }
        if let Some(window) = self.window {
            spec.push_str(&format!(",window={window}"));
        }
        if let Some(block) = self.block {
            spec.push_str(&format!(",block={block}"));
        }
        spec.push(')');
        spec
    }

    /// The folds of rows in order of time; `units` are single rows, or groups in the order of their first row.
    pub(super) fn folds(&self, count: usize, units: &[Vec<usize>], are_groups: bool) -> Result<Folds> {
        let what = if are_groups { "groups" } else { "rows" };
        let n = units.len();
        if let Some(unit) = units.iter().find(|unit| unit.windows(2).any(|pair| pair[1] != pair[0] + 1)) {
            let must = "of consecutive rows for forward chaining, which predicts groups from earlier ones";
            let found = format!("one whose rows {} and {} are not", unit[0] + 1, unit[unit.len() - 1] + 1);
            return Err(Error::argument("each group", must, found));
        }
        let block = self.block.unwrap_or(n / (count + 1)).max(1);
        let held_out = count.saturating_mul(block);
        // The first block needs something to be predicted from: two rows, so that a fit has anything to follow.
        let least = if are_groups { 1 } else { 2 };
        if count < 1 || held_out.saturating_add(self.gap).saturating_add(least) > n {
            let must = format!(
                "short enough to leave the first block {least} earlier {what}: folds × block + gap + {least} ≤ {n}, \
                 the number of {what}"
            );
            let found = format!("{count} × {block} + {} + {least}", self.gap);
            return Err(Error::argument("forward chaining", must, found));
        }
        let rows = |from: usize, to: usize| units[from..to].iter().flatten().copied().collect::<Vec<usize>>();
        let (mut groups, mut training) = (Vec::new(), Vec::new());
        for fold in 0..count {
            let start = n - held_out + fold * block;
            let end = start - self.gap;
            groups.push(rows(start, start + block));
            training.push(rows(self.window.map_or(0, |window| end.saturating_sub(window)), end));
        }
        Ok(Folds { groups, repeats: 1, training: Some(training) })
    }
}
