//! Penalties: what keeps f simple.
//!
//! | spec | penalty | of |
//! |---|---|---|
//! | `norm-power` | λ‖f‖ᵐ, m the exponent | any kernel, any loss |
//! | `none` | 0: least squares of least norm | linear functions |
//! | `lasso` | λ‖w‖₁ | linear functions |
//! | `elastic-net(ratio=0.5)` | λ(ratio‖w‖₁ + (1 − ratio)‖w‖²) | linear functions |
//! | `tikhonov(gamma=first-differences)` | λ‖Γw‖² | linear functions |
//! | `kernel-lasso` | λ‖α‖₁ | kernel expansions Σ αᵢk(·, xᵢ) |

mod gamma;

pub use gamma::Gamma;

use crate::base::error::Result;
use crate::base::table::{self, Entry, Parameter, Value};

/// One of the penalties.
#[derive(Debug, Clone, PartialEq)]
pub enum Penalty {
    /// λ‖f‖ᵐ.
    NormPower,
    /// 0.
    None,
    /// λ‖w‖₁.
    Lasso,
    /// λ(ratio‖w‖₁ + (1 − ratio)‖w‖²).
    ElasticNet {
        /// Above 0, at most 1.
        ratio: f64,
    },
    /// λ‖Γw‖².
    Tikhonov {
        /// Γ.
        gamma: Gamma,
    },
    /// λ‖α‖₁.
    KernelLasso,
}

const ENTRIES: &[Entry<Penalty>] = &[
    Entry {
        name: "norm-power",
        formula: "λ‖f‖ᵐ with --exponent m: ridge at m = 2",
        parameters: &[],
        build: |_| Ok(Penalty::NormPower),
    },
    Entry {
        name: "none",
        formula: "0: least squares, of all minimisers the one of least norm",
        parameters: &[],
        build: |_| Ok(Penalty::None),
    },
    Entry { name: "lasso", formula: "λ‖w‖₁", parameters: &[], build: |_| Ok(Penalty::Lasso) },
    Entry {
        name: "elastic-net",
        formula: "λ(ratio·‖w‖₁ + (1 − ratio)·‖w‖²)",
        parameters: &[Parameter { name: "ratio", default: "0.5", about: "above 0, at most 1" }],
        build: |arguments| {
            let ratio = arguments.number("ratio", 0.5, "above 0 and at most 1", |x| x > 0.0 && x <= 1.0)?;
            Ok(Penalty::ElasticNet { ratio })
        },
    },
    Entry {
        name: "tikhonov",
        formula: "λ‖Γw‖²",
        parameters: &[Parameter {
            name: "gamma",
            default: "identity",
            about: "identity, first-differences or second-differences (or a file, with --gamma)",
        }],
        build: |arguments| {
            let must = "identity, first-differences or second-differences (a file: --gamma FILE)";
            let gamma = match arguments.get("gamma") {
                None => Gamma::Identity,
                Some(Value::Word(word)) if word == "identity" => Gamma::Identity,
                Some(Value::Word(word)) if word == "first-differences" => Gamma::FirstDifferences,
                Some(Value::Word(word)) if word == "second-differences" => Gamma::SecondDifferences,
                Some(other) => return Err(arguments.refuse("gamma", must, other)),
            };
            Ok(Penalty::Tikhonov { gamma })
        },
    },
    Entry {
        name: "kernel-lasso",
        formula: "λ‖α‖₁ of f = Σ αᵢk(·, xᵢ): few kernel functions",
        parameters: &[],
        build: |_| Ok(Penalty::KernelLasso),
    },
];

/// All penalties, in the order in which they are listed to a person.
pub fn all() -> Vec<&'static Entry<Penalty>> {
    ENTRIES.iter().collect()
}

impl Penalty {
    /// Reads a spec: `lasso`, `elastic-net(ratio=0.5)`, `tikhonov(gamma=first-differences)`, ….
    pub fn parse(spec: &str) -> Result<Self> {
        table::parse("penalty", &all(), spec)
    }

    /// The spec that [`parse`](Self::parse) reads back as this penalty (but for a Γ that is a matrix).
    pub fn spec(&self) -> String {
        match self {
            Penalty::NormPower => "norm-power".into(),
            Penalty::None => "none".into(),
            Penalty::Lasso => "lasso".into(),
            Penalty::ElasticNet { ratio } => format!("elastic-net(ratio={ratio})"),
            Penalty::Tikhonov { gamma } => {
                let gamma = match gamma {
                    Gamma::Identity => "identity",
                    Gamma::FirstDifferences => "first-differences",
                    Gamma::SecondDifferences => "second-differences",
                    Gamma::Matrix(_) => "given",
                };
                format!("tikhonov(gamma={gamma})")
            }
            Penalty::KernelLasso => "kernel-lasso".into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn specs_come_back() {
        for spec in [
            "norm-power",
            "none",
            "lasso",
            "elastic-net(ratio=0.3)",
            "tikhonov(gamma=second-differences)",
            "kernel-lasso",
        ] {
            assert_eq!(Penalty::parse(spec).unwrap().spec(), spec);
        }
        for wrong in ["elastic-net(ratio=0)", "tikhonov(gamma=thirds)", "laso", "lasso(x=1)"] {
            assert!(Penalty::parse(wrong).is_err(), "{wrong}");
        }
    }
}
