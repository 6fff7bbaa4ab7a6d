//! What a model is chosen by: one axis, read off one decomposition.
//!
//! | chapter | criteria |
//! |---|---|
//! | `held_out` | `loo` and `kfold`: exact for every exponent, since each deletion finds its own effective ridge |
//! | [`formula`] | `gcv`, `fpe`, `aic`, … , `dee`: functions of the training error and the degrees of freedom |
//! | [`metric`] | `tri`, `adj`: distances between the fits themselves, on rows without target |
//! | [`folds`] | which rows are held out together |
//! | [`forward`] | blocks of later rows, predicted from earlier ones |
//! | `grouped` | leave-one-group-out |

pub mod folds;
pub mod formula;
pub mod forward;
mod grouped;
pub mod metric;

pub use folds::Folds;
pub use forward::Forward;
pub(crate) use grouped::{count as group_count, folds_of_groups, whole_groups};

use crate::base::error::{Error, Result};
use crate::base::table::{self, Arguments, Entry, Parameter, Value};
use formula::Formula;
use metric::MetricRule;

/// What a model is chosen by; smaller is better.
#[derive(Debug, Clone, PartialEq)]
pub enum Criterion {
    /// Exact leave-one-out mean square.
    LeaveOneOut,
    /// Exact mean square over held-out folds.
    KFold(FoldRule),
    /// A function of training error and degrees of freedom.
    Formula(Formula),
    /// A rule on distances between fits.
    Metric(MetricRule),
}

/// How folds are drawn.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FoldRule {
    /// Number of folds; all groups, each a fold, when it is 0 and there are groups.
    pub folds: usize,
    /// How often they are drawn anew.
    pub repeats: usize,
    /// Which rows a fold has, and which rows predict it.
    pub order: Order,
}

/// Which rows a fold has, and which rows predict it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// Rows drawn at random, predicted from all others.
    Random,
    /// Blocks of consecutive rows, predicted from all others: later rows predict earlier ones, too.
    Blocks,
    /// Blocks of consecutive rows in order of time, predicted from earlier rows only.
    Forward(Forward),
}

impl FoldRule {
    /// So many random folds, drawn once; all groups, each a fold, for 0.
    pub fn random(folds: usize) -> Self {
        FoldRule { folds, repeats: 1, order: Order::Random }
    }

    /// Whether rows are in order of time, so that nothing may be learned from later ones.
    pub fn is_forward(&self) -> bool {
        matches!(self.order, Order::Forward(_))
    }
}

const ENTRIES: &[Entry<Criterion>] = &[
    Entry {
        name: "loo",
        formula: "mean square of the exact leave-one-out residuals, every deletion at its own effective ridge",
        parameters: &[],
        build: |_| Ok(Criterion::LeaveOneOut),
    },
    Entry {
        name: "kfold",
        formula: "mean square of the exact held-out residuals; folds are deleted from one decomposition, or decomposed if that is less",
        parameters: &[
            Parameter { name: "folds", default: "10", about: "at least 2; kfold:5 is kfold(folds=5)" },
            Parameter { name: "repeats", default: "1", about: "how often the folds are drawn" },
            Parameter {
                name: "order",
                default: "random",
                about: "random; blocks: of consecutive rows, each predicted from all others; time: forward(folds=…)",
            },
        ],
        build: build_k_fold,
    },
    Entry {
        name: "logo",
        formula: "mean square of the exact residuals of each group's rows, by the fit without the group; needs groups, and is what loo \
                  means where rows have them",
        parameters: &[],
        build: |_| Ok(Criterion::KFold(FoldRule::each_group())),
    },
    Entry {
        name: "forward",
        formula: "mean square of the residuals of blocks of later rows, each predicted from earlier rows; rows in order of time",
        parameters: forward::PARAMETERS,
        build: forward::build,
    },
    formula_entry("gcv", "R/(1−p)²", |_| Ok(Criterion::Formula(Formula::Gcv))),
    formula_entry("fpe", "R(1+p)/(1−p)", |_| Ok(Criterion::Formula(Formula::Fpe))),
    formula_entry("aic", "n ln R + 2 tr H", |_| Ok(Criterion::Formula(Formula::Aic))),
    formula_entry("aicc", "aic + 2 tr H (tr H + 1)/(n − tr H − 1)", |_| Ok(Criterion::Formula(Formula::Aicc))),
    formula_entry("bic", "n ln R + ln n · tr H", |_| Ok(Criterion::Formula(Formula::Bic))),
    formula_entry("schwarz", "R(1 + (ln n/2)·p/(1−p))", |_| Ok(Criterion::Formula(Formula::Schwarz))),
    formula_entry("shibata", "R(1+2p)", |_| Ok(Criterion::Formula(Formula::Shibata))),
    formula_entry("vapnik", "R/[1 − √(p − p ln p + ln n/(2n))]₊", |_| Ok(Criterion::Formula(Formula::Vapnik))),
    formula_entry("mallows", "R + 2σ²p, σ² = R/(1−p) where gcv is least", |_| {
        Ok(Criterion::Formula(Formula::Mallows))
    }),
    formula_entry("likelihood", "n ln(yᵀG⁻¹y/n) + ln det G, G = K + γI: the Gaussian process's evidence", |_| {
        Ok(Criterion::Formula(Formula::Likelihood))
    }),
    formula_entry("reml", "the same on the directions that the offset leaves: restricted likelihood", |_| {
        Ok(Criterion::Formula(Formula::Restricted))
    }),
    formula_entry(
        "dee",
        "R(1 + tr SᵀS/u)/(tr (I−H)²/n), S the fit on the rows without target (or the training rows)",
        |_| Ok(Criterion::Formula(Formula::Dee)),
    ),
    formula_entry("tri", "the least regularised fit that keeps the triangle inequality with all simpler ones", |_| {
        Ok(Criterion::Metric(MetricRule::Triangle))
    }),
    formula_entry("adj", "training error times the largest ratio of distances on rows without and with target", |_| {
        Ok(Criterion::Metric(MetricRule::Adjusted))
    }),
];

const fn formula_entry(
    name: &'static str,
    formula: &'static str,
    build: fn(&Arguments) -> Result<Criterion>,
) -> Entry<Criterion> {
    Entry { name, formula, parameters: &[], build }
}

fn build_k_fold(arguments: &Arguments) -> Result<Criterion> {
    let whole = |x: f64| x.fract() == 0.0 && x < 1e6;
    let folds = arguments.number("folds", 10.0, "a whole number of at least 2", |x| x >= 2.0)?;
    let repeats = arguments.number("repeats", 1.0, "a whole number from 1 to 1000", |x| (1.0..=1000.0).contains(&x))?;
    for (name, value) in [("folds", folds), ("repeats", repeats)] {
        if !whole(value) {
            return Err(arguments.refuse(name, "a whole number", &Value::Number(value)));
        }
    }
    let order = match arguments.get("order") {
        None => Order::Random,
        Some(Value::Word(word)) if word == "random" => Order::Random,
        Some(Value::Word(word)) if word == "blocks" => Order::Blocks,
        Some(Value::Word(word)) if word == "time" => Order::Forward(Forward::default()),
        Some(other) => return Err(arguments.refuse("order", "random, blocks or time", other)),
    };
    if order != Order::Random && repeats != 1.0 {
        let must = "1 with order=blocks or order=time, which leave nothing to draw";
        return Err(arguments.refuse("repeats", must, &Value::Number(repeats)));
    }
    Ok(Criterion::KFold(FoldRule { folds: folds as usize, repeats: repeats as usize, order }))
}

/// All criteria, in the order in which they are listed to a person.
pub fn all() -> Vec<&'static Entry<Criterion>> {
    ENTRIES.iter().collect()
}

impl Criterion {
    /// Reads a spec: `loo`, `kfold:5`, `kfold(folds=10,repeats=3)`, `forward(folds=5,gap=2)`, `gcv`, ….
    pub fn parse(spec: &str) -> Result<Self> {
        let trimmed = spec.trim();
        // People write the number of folds after a colon.
        for name in ["kfold", "forward"] {
            if let Some(folds) = trimmed.strip_prefix(name).and_then(|rest| rest.strip_prefix(':')) {
                // `kfold:5(order=blocks)` is read as well.
                let spec = match folds.split_once('(') {
                    Some((folds, rest)) => format!("{name}(folds={folds},{rest}"),
                    None => format!("{name}(folds={folds})"),
                };
                return Criterion::parse(&spec);
            }
        }
        let trimmed = match trimmed {
            "sc" => "schwarz",
            "sms" => "shibata",
            "vm" => "vapnik",
            other => other,
        };
        table::parse("criterion", &all(), trimmed)
    }

    /// The spec that [`parse`](Self::parse) reads back as this criterion.
    pub fn spec(&self) -> String {
        match self {
            Criterion::LeaveOneOut => "loo".into(),
            Criterion::KFold(rule) if rule.is_each_group() => "logo".into(),
            Criterion::KFold(rule) => match &rule.order {
                Order::Random => format!("kfold(folds={},repeats={})", rule.folds, rule.repeats),
                Order::Blocks => format!("kfold(folds={},repeats={},order=blocks)", rule.folds, rule.repeats),
                Order::Forward(forward) => forward.spec(rule.folds),
            },
            Criterion::Formula(formula) => formula.name().into(),
            Criterion::Metric(rule) => rule.name().into(),
        }
    }

    /// Whether the value is a mean squared error, so that its root is in the target's units.
    pub fn is_squared_error(&self) -> bool {
        match self {
            Criterion::LeaveOneOut | Criterion::KFold(_) => true,
            Criterion::Formula(formula) => formula.is_squared_error(),
            Criterion::Metric(_) => true,
        }
    }

    /// Which of several values, by rising λ, the criterion chooses: the least one (among equals to nine digits the largest
    /// λ); of a criterion that falls without end towards interpolation the lowest valley, if there is one. `None` when it
    /// excludes all of them.
    pub fn choice(&self, values: &[f64]) -> Option<usize> {
        let falls = matches!(self, Criterion::Formula(formula) if formula.favours_interpolation());
        let valley = if falls { lowest_valley(values) } else { None };
        valley.or_else(|| {
            let least = values.iter().copied().filter(|value| value.is_finite()).fold(f64::INFINITY, f64::min);
            values.iter().rposition(|value| *value <= least + least.abs() * 1e-9 && value.is_finite())
        })
    }

    /// Whether rows are in order of time, so that nothing may be learned from later ones.
    pub fn is_forward(&self) -> bool {
        matches!(self, Criterion::KFold(rule) if rule.is_forward())
    }

    /// Whether it is the mean squared error of rows that were held out.
    pub fn holds_out(&self) -> bool {
        matches!(self, Criterion::LeaveOneOut | Criterion::KFold(_))
    }

    /// Whether rows without target are needed.
    pub fn needs_unlabelled(&self) -> bool {
        matches!(self, Criterion::Metric(_))
    }

    /// Refuses what the number of rows does not allow.
    pub fn check(&self, rows: usize) -> Result<()> {
        match self {
            Criterion::KFold(rule) if rule.folds > rows => {
                Err(Error::argument("the number of folds", format!("at most the number of rows, {rows}"), rule.folds))
            }
            _ => Ok(()),
        }
    }
}

/// The lowest value that is below both its neighbours (at the end of large λ, below the one).
fn lowest_valley(values: &[f64]) -> Option<usize> {
    let value = |l: usize| values.get(l).copied().unwrap_or(f64::INFINITY);
    (1..values.len())
        .filter(|l| value(*l).is_finite() && value(*l) < value(l - 1) && value(*l) <= value(l + 1))
        .min_by(|a, b| value(*a).total_cmp(&value(*b)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn criteria_that_fall_towards_interpolation_choose_their_valley() {
        let values = [0.1, 3.0, 2.0, 5.0, f64::INFINITY];
        assert_eq!(Criterion::parse("fpe").unwrap().choice(&values), Some(2));
        assert_eq!(Criterion::parse("gcv").unwrap().choice(&values), Some(0));
        assert_eq!(Criterion::parse("fpe").unwrap().choice(&[1.0, 2.0, 3.0]), Some(0));
        assert_eq!(Criterion::LeaveOneOut.choice(&[1.0, 1.0, 2.0]), Some(1));
        assert_eq!(Criterion::LeaveOneOut.choice(&[f64::INFINITY, f64::NAN]), None);
    }

    #[test]
    fn specs_are_read_back_and_unknown_names_are_answered_with_the_known_ones() {
        for entry in all() {
            let criterion = Criterion::parse(entry.name).unwrap();
            assert_eq!(Criterion::parse(&criterion.spec()).unwrap(), criterion);
        }
        let folds = Criterion::parse("kfold(folds=5, order=blocks)").unwrap();
        assert_eq!(folds, Criterion::KFold(FoldRule { folds: 5, repeats: 1, order: Order::Blocks }));
        assert_eq!(folds.spec(), "kfold(folds=5,repeats=1,order=blocks)");
        assert_eq!(Criterion::parse("kfold:5(order=blocks)").unwrap(), folds);
        assert!(Criterion::parse("kfold(folds=5, repeats=3, order=blocks)").is_err());
        assert_eq!(Criterion::parse("kfold:7").unwrap().spec(), "kfold(folds=7,repeats=1)");
        assert!(Criterion::parse("lou").unwrap_err().to_string().contains("did you mean loo"));
        assert!(Criterion::parse("kfold:1").is_err() && Criterion::parse("kfold:2.5").is_err());
        assert!(Criterion::parse("kfold(order=zigzag)").is_err());
    }
}
