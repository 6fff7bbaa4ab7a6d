//! What is known of Φ without looking at any rows.

use super::algorithm::Algorithm;

/// How the map between two algorithms depends on the training set.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Relation {
    /// Φ(p) = factor · p^±1 for every set: strong equivalence.
    Strong {
        /// The factor.
        factor: f64,
        /// ±1.
        power: i32,
    },
    /// Φ(p, Z) = factor · |Z|^rows_power · p^±1: only the number of rows matters.
    SizeOnly {
        /// The factor.
        factor: f64,
        /// The power of the number of rows, not 0.
        rows_power: i32,
        /// ±1.
        power: i32,
    },
    /// Φ depends on the rows themselves: weak equivalence.
    SetDependent,
}

impl Relation {
    /// Of two algorithms.
    pub fn of(from: Algorithm, to: Algorithm) -> Self {
        if from == to {
            return Relation::Strong { factor: 1.0, power: 1 };
        }
        let (Some(a), Some(b)) = (from.convention(), to.convention()) else { return Relation::SetDependent };
        let power = a.ridge_power * b.ridge_power;
        let factor = b.constant / a.constant.powi(power);
        match b.rows_power - power * a.rows_power {
            0 => Relation::Strong { factor, power },
            rows_power => Relation::SizeOnly { factor, rows_power, power },
        }
    }

    /// Φ by this formula, if there is one.
    pub fn predict(&self, parameter: f64, examples: f64) -> Option<f64> {
        match self {
            Relation::Strong { factor, power } => Some(factor * parameter.powi(*power)),
            Relation::SizeOnly { factor, rows_power, power } => {
                Some(factor * examples.powi(*rows_power) * parameter.powi(*power))
            }
            Relation::SetDependent => None,
        }
    }

    /// `λ`, `λ·n`, `1/(2·n·λ)`: the formula with the parameter's own name.
    pub fn formula(&self, symbol: &str) -> Option<String> {
        let (factor, rows_power, power) = match *self {
            Relation::Strong { factor, power } => (factor, 0, power),
            Relation::SizeOnly { factor, rows_power, power } => (factor, rows_power, power),
            Relation::SetDependent => return None,
        };
        let (mut above, mut below) = (Vec::new(), Vec::new());
        match factor {
            1.0 => {}
            f if f < 1.0 => below.push((1.0 / f).to_string()),
            f => above.push(f.to_string()),
        }
        let rows = if rows_power.abs() == 1 { "n".to_owned() } else { format!("n^{}", rows_power.abs()) };
        match rows_power.signum() {
            1 => above.push(rows),
            -1 => below.push(rows),
            _ => {}
        }
        if power > 0 { &mut above } else { &mut below }.push(symbol.to_owned());
        let above = if above.is_empty() { "1".to_owned() } else { above.join("·") };
        Some(match below.len() {
            0 => above,
            1 => format!("{above}/{}", below[0]),
            _ => format!("{above}/({})", below.join("·")),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formulas_by_hand() {
        let relation = |a: &str, b: &str| Relation::of(Algorithm::parse(a).unwrap(), Algorithm::parse(b).unwrap());
        let formula = |a: &str, b: &str| relation(a, b).formula("p").unwrap();
        assert_eq!(formula("ridge", "gurls"), "p");
        assert_eq!(formula("ridge", "scikit-learn"), "n·p");
        assert_eq!(formula("scikit-learn", "ridge"), "p/n");
        assert_eq!(formula("scikit-learn", "gaussian-process"), "p");
        assert_eq!(formula("ridge", "libsvm"), "1/(2·n·p)");
        assert_eq!(formula("libsvm", "ridge"), "1/(2·n·p)");
        assert_eq!(formula("libsvm", "ls-svm"), "2·p");
        assert_eq!(formula("scikit-learn", "libsvm"), "1/(2·p)");
        assert!(matches!(relation("scikit-learn", "libsvm"), Relation::Strong { .. }));
        assert!(matches!(relation("ridge", "libsvm"), Relation::SizeOnly { .. }));
        assert_eq!(relation("power(exponent=1.5)", "ridge"), Relation::SetDependent);
        assert_eq!(relation("ridge", "glmnet"), Relation::SetDependent);
        assert_eq!(relation("ivanov", "ivanov"), Relation::Strong { factor: 1.0, power: 1 });
        assert_eq!(relation("ridge", "libsvm").predict(0.2, 10.0), Some(0.25));
    }
}
