//! What other programs call the members of an axis and their parameters. They are not accepted, since the same name often stands for
//! another scaling; the error names ours.

use super::Value;
use crate::base::error::nearest;

/// Axis, the name elsewhere (lower case, `_` written as `-`), our spec.
const NAMES: &[(&str, &str, &str)] = &[
    ("kernel", "rbf", "gaussian"),
    ("kernel", "radial", "gaussian"),
    ("kernel", "squared-exponential", "gaussian"),
    ("kernel", "se", "gaussian"),
    ("kernel", "exponential", "matern12"),
    ("kernel", "laplacian", "laplace"),
    ("kernel", "laplacedot", "laplace"),
    ("kernel", "rbfdot", "gaussian"),
    ("kernel", "poly", "polynomial"),
    ("kernel", "polydot", "polynomial"),
    ("kernel", "vanilladot", "linear"),
    ("kernel", "dot", "linear"),
    ("kernel", "matern", "matern52"),
    ("kernel", "rq", "rational-quadratic"),
    ("kernel", "spline", "additive-spline"),
    ("loss", "mae", "absolute"),
    ("loss", "l1", "absolute"),
    ("loss", "lad", "absolute"),
    ("loss", "absolute-error", "absolute"),
    ("loss", "mse", "squared"),
    ("loss", "l2", "squared"),
    ("loss", "squared-error", "squared"),
    ("loss", "log", "logistic"),
    ("loss", "logloss", "logistic"),
    ("loss", "log-loss", "logistic"),
    ("loss", "cross-entropy", "logistic"),
    ("loss", "binomial", "logistic"),
    ("loss", "deviance", "logistic"),
    ("loss", "svm", "hinge"),
    ("loss", "svc", "hinge"),
    ("loss", "svr", "epsilon-insensitive"),
    ("loss", "quantile", "pinball"),
    ("criterion", "cv", "kfold"),
    ("criterion", "loocv", "loo"),
    ("criterion", "press", "loo"),
    ("penalty", "l1", "lasso"),
    ("penalty", "l2", "norm-power"),
    ("penalty", "ridge", "norm-power"),
    ("penalty", "elasticnet", "elastic-net"),
    ("penalty", "enet", "elastic-net"),
    ("penalty", "ols", "none"),
];

fn lower(name: &str) -> String {
    name.to_lowercase().replace('_', "-")
}

/// What an unknown name is likely to mean: the same thing under our name, with the arguments that can be translated, or a name that
/// differs by a slip.
pub(super) fn meant<'a>(
    axis: &str,
    name: &str,
    known: impl Iterator<Item = &'a str>,
    values: &[(String, Value)],
) -> Option<String> {
    let other = lower(name);
    let Some((.., own)) = NAMES.iter().find(|(of, theirs, _)| *of == axis && *theirs == other) else {
        return nearest(name, known);
    };
    let translated: Vec<String> = values.iter().filter_map(|(name, value)| lengthscale(own, name, value)).collect();
    Some(if translated.is_empty() { (*own).to_owned() } else { format!("{own}({})", translated.join(",")) })
}

/// The lengthscale that a `gamma` stands for: the formula, and the spec with its value.
fn parameter(of: &str, name: &str, value: &Value) -> Option<String> {
    let formula = match (of, lower(name).as_str()) {
        ("gaussian", "gamma") => "1/√(2·gamma)",
        ("laplace", "gamma") => "1/gamma",
        ("gaussian" | "laplace", "sigma" | "bandwidth" | "length-scale" | "scale") => {
            return Some("its width is lengthscale".into());
        }
        _ => return None,
    };
    let spec = lengthscale(of, name, value).map_or_else(String::new, |value| format!(": {of}({value})"));
    Some(format!("lengthscale = {formula}{spec}"))
}

/// `lengthscale=…` for a gamma of exp(−gamma‖x−x′‖²) or exp(−gamma Σ|xⱼ−x′ⱼ|).
fn lengthscale(kernel: &str, name: &str, value: &Value) -> Option<String> {
    let Value::Number(gamma) = value else { return None };
    let scale = match (kernel, lower(name).as_str()) {
        ("gaussian", "gamma") => 1.0 / (2.0 * gamma).sqrt(),
        ("laplace", "gamma") => 1.0 / gamma,
        _ => return None,
    };
    scale.is_finite().then(|| format!("lengthscale={scale}"))
}

/// What to say of a parameter that a member does not have.
pub(super) fn hint<'a>(of: &str, name: &str, value: &Value, known: impl Iterator<Item = &'a str>) -> Option<String> {
    parameter(of, name, value).or_else(|| nearest(name, known).map(|guess| format!("did you mean {guess}?")))
}

#[cfg(test)]
mod tests {
    use super::NAMES;
    use crate::{Matrix, criterion::Criterion, kernel, loss, penalty::Penalty};

    #[test]
    fn every_other_name_is_unknown_and_ours_is_known() {
        for (axis, theirs, own) in NAMES {
            let reads = |spec: &str| match *axis {
                "kernel" => kernel::parse(spec).is_ok(),
                "loss" => loss::parse(spec).is_ok(),
                "criterion" => Criterion::parse(spec).is_ok(),
                _ => Penalty::parse(spec).is_ok(),
            };
            assert!(!reads(theirs) && reads(own), "{axis} {theirs}");
        }
    }

    #[test]
    fn gamma_is_translated() {
        let error = |spec: &str| kernel::parse(spec).unwrap_err().to_string();
        assert!(error("rbf").ends_with("did you mean gaussian?"));
        assert!(error("RBF(gamma=0.5)").ends_with("did you mean gaussian(lengthscale=1)?"));
        let gamma = error("gaussian(gamma=2)");
        assert!(gamma.ends_with("lengthscale = 1/√(2·gamma): gaussian(lengthscale=0.5)"), "{gamma}");
        assert!(error("laplace(gamma=4)").ends_with("lengthscale = 1/gamma: laplace(lengthscale=0.25)"));
        assert!(error("gaussian(gamma=0)").ends_with("lengthscale = 1/√(2·gamma)"));
        assert!(error("gaussian(lenghtscale=2)").ends_with("did you mean lengthscale?"));
        assert!(error("2*rbf(gamma=8)+linear").contains("gaussian(lengthscale=0.25)"));
        // The same function: k(0, 1) = exp(−gamma).
        let kernel = kernel::parse("gaussian(lengthscale=0.5)").unwrap();
        let points = kernel::Points::new(&Matrix::from_rows(&[[0.0], [1.0]]).unwrap());
        assert!((crate::space::gram(&*kernel, &points).get(0, 1) - (-2.0_f64).exp()).abs() < 1e-15);
        assert!(loss::parse("mae").unwrap_err().to_string().ends_with("did you mean absolute?"));
    }
}
