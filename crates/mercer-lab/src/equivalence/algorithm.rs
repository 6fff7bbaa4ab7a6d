//! The axis of algorithms: ways to say which point of the ridge path is meant.

use super::convention::{self, Convention};
use mercer::kernel::Kernel;
use mercer::table::{self, Entry, Parameter};
use mercer::{Error, Result};

/// A regularised least-squares algorithm with one parameter. Its solutions are points of the ridge path.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Algorithm {
    /// (1/n) Σ r² + λ‖f‖ᵐ.
    Power {
        /// m.
        exponent: f64,
    },
    /// min Σ r² subject to ‖f‖ ≤ τ.
    Ivanov,
    /// min ‖f‖ subject to a root mean squared training error of at most δ.
    Morozov,
    /// The ridge under another name.
    Scaled(&'static Convention),
    /// The ridge times the standard deviation of the target.
    Glmnet,
}

const GLMNET: &str =
    "(1/2n) Σ (r/s)² + (lambda/2s)‖w/s‖², s the deviation of y: glmnet with alpha = 0, standardize = FALSE";

const ENTRIES: &[Entry<Algorithm>] = &[
    Entry {
        name: "power",
        formula: "(1/n) Σ r² + λ‖f‖ᵐ",
        parameters: &[Parameter { name: "exponent", default: "2", about: "m, above 0 (from 0.001 to 1000)" }],
        build: |arguments| {
            let must = "above 0 (from 0.001 to 1000)";
            let exponent = arguments.number("exponent", 2.0, must, |x| (1e-3..=1000.0).contains(&x))?;
            Ok(Algorithm::Power { exponent })
        },
    },
    // Under the name of its own, so that there is one value for one algorithm.
    Entry {
        name: convention::RIDGE.name,
        formula: convention::RIDGE.problem,
        parameters: &[],
        build: |_| Ok(Algorithm::RIDGE),
    },
    scaled(&convention::RIDGE_PER_ROW, |_| Ok(Algorithm::Scaled(&convention::RIDGE_PER_ROW))),
    Entry {
        name: "ivanov", formula: "min Σ r² subject to ‖f‖ ≤ τ", parameters: &[], build: |_| Ok(Algorithm::Ivanov)
    },
    Entry {
        name: "morozov",
        formula: "min ‖f‖ subject to √((1/n) Σ r²) ≤ δ",
        parameters: &[],
        build: |_| Ok(Algorithm::Morozov),
    },
    scaled(&convention::SCIKIT_LEARN, |_| Ok(Algorithm::Scaled(&convention::SCIKIT_LEARN))),
    scaled(&convention::LIBSVM, |_| Ok(Algorithm::Scaled(&convention::LIBSVM))),
    scaled(&convention::LS_SVM, |_| Ok(Algorithm::Scaled(&convention::LS_SVM))),
    scaled(&convention::GAUSSIAN_PROCESS, |_| Ok(Algorithm::Scaled(&convention::GAUSSIAN_PROCESS))),
    scaled(&convention::GURLS, |_| Ok(Algorithm::Scaled(&convention::GURLS))),
    scaled(&convention::FALKON, |_| Ok(Algorithm::Scaled(&convention::FALKON))),
    Entry { name: "glmnet", formula: GLMNET, parameters: &[], build: |_| Ok(Algorithm::Glmnet) },
];

type Build = fn(&table::Arguments) -> Result<Algorithm>;

const fn scaled(convention: &'static Convention, build: Build) -> Entry<Algorithm> {
    Entry { name: convention.name, formula: convention.problem, parameters: &[], build }
}

/// All algorithms, in the order in which they are listed to a person.
pub fn all() -> Vec<&'static Entry<Algorithm>> {
    ENTRIES.iter().collect()
}

impl Algorithm {
    /// Kernel ridge regression.
    pub const RIDGE: Algorithm = Algorithm::Power { exponent: 2.0 };

    /// Reads a spec: `power(exponent=1.5)`, `ridge`, `ivanov`, `scikit-learn`, ….
    pub fn parse(spec: &str) -> Result<Self> {
        table::parse("algorithm", &all(), spec)
    }

    /// The spec that [`parse`](Self::parse) reads back as this algorithm.
    pub fn spec(&self) -> String {
        match self {
            Algorithm::Power { .. } if *self == Algorithm::RIDGE => convention::RIDGE.name.into(),
            Algorithm::Power { exponent } => format!("power(exponent={exponent})"),
            Algorithm::Ivanov => "ivanov".into(),
            Algorithm::Morozov => "morozov".into(),
            Algorithm::Scaled(convention) => convention.name.into(),
            Algorithm::Glmnet => "glmnet".into(),
        }
    }

    /// What its parameter is called.
    pub fn symbol(&self) -> &'static str {
        match self {
            Algorithm::Power { .. } => "λ",
            Algorithm::Ivanov => "τ",
            Algorithm::Morozov => "δ",
            Algorithm::Scaled(convention) => convention.symbol,
            Algorithm::Glmnet => "lambda",
        }
    }

    /// The problem it solves, in one line.
    pub fn problem(&self) -> &'static str {
        let name = self.spec();
        let name = name.split('(').next().unwrap_or_default();
        ENTRIES.iter().find(|entry| entry.name == name).map_or("", |entry| entry.formula)
    }

    /// The factors, where the parameter is a multiple of the ridge that does not look at the rows.
    pub(crate) fn convention(&self) -> Option<&'static Convention> {
        match self {
            Algorithm::Power { .. } if *self == Algorithm::RIDGE => Some(&convention::RIDGE),
            Algorithm::Scaled(convention) => Some(convention),
            _ => None,
        }
    }

    /// Refuses a kernel that the algorithm does not know.
    pub fn check_kernel(&self, kernel: &dyn Kernel) -> Result<()> {
        match self {
            Algorithm::Glmnet if kernel.linear_scale() != Some(1.0) => {
                Err(Error::argument("the kernel", "linear for glmnet, which fits linear functions only", kernel.spec()))
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn specs_come_back_and_slips_are_named() {
        for entry in all() {
            let algorithm = Algorithm::parse(entry.name).unwrap();
            assert_eq!(Algorithm::parse(&algorithm.spec()).unwrap(), algorithm);
            assert!(!algorithm.symbol().is_empty() && !algorithm.problem().is_empty());
        }
        assert_eq!(Algorithm::parse("power(exponent=2)").unwrap().spec(), "ridge");
        assert_eq!(Algorithm::parse("power(exponent=1.5)").unwrap().spec(), "power(exponent=1.5)");
        let error = |spec: &str| Algorithm::parse(spec).unwrap_err().to_string();
        assert!(error("ivanof").contains("did you mean ivanov?"), "{}", error("ivanof"));
        assert!(error("power(exponent=0)").contains("above 0"));
        assert!(error("power(m=1)").contains("exponent"));
    }
}
