//! The same problem in the words of other programs.
//!
//! With μ the effective ridge (λ itself at exponent 2) a model minimises (1/W) Σ w ℓ + μ‖f‖². Divided by 2μ that is
//! ½‖f‖² + C Σ w ℓ, the form of LIBSVM, kernlab and scikit-learn's support vector machines and logistic regression; times W
//! it is Σ w r² + α‖f‖², that of `KernelRidge` and `Ridge`. Those factors stand in `mercer_lab::equivalence::convention`. Row
//! weights are scaled to mean 1 first, so that W is the number of rows. More than two classes are one model each against the
//! others here, which other programs do only when they are told to; all classes at once (multinomial) are the same everywhere.

use mercer::kernel::Kernel;
use mercer::linear::lasso::to_glmnet;
use mercer::penalty::Penalty;
use mercer::{Meaning, Model, Probability, Summary};
use mercer_lab::equivalence::convention::{LIBSVM, SCIKIT_LEARN};
use serde_json::{Map, Value, json};

use crate::report::short;

/// A number of another program.
#[derive(Debug, Clone, PartialEq)]
pub struct Conversion {
    /// What it is called there.
    pub name: &'static str,
    pub value: f64,
    /// Where.
    pub of: &'static str,
}

/// All that are known for a model of one target; none for the zero function, which has no ridge.
pub fn of(model: &Model, summary: &Summary) -> Vec<Conversion> {
    if let Some(all) = sparse(summary) {
        return all;
    }
    let Some(ridge) = summary.effective_ridge else { return Vec::new() };
    let n = summary.rows as f64;
    let is_linear = model.kernel().linear_scale() == Some(1.0);
    let loss = summary.loss.split('(').next().unwrap_or_default();
    let by_class = model.classes().is_some_and(|classes| classes.len() > 2)
        && !matches!(model.meaning(), Meaning::Classes { probability: Probability::Softmax, .. });
    let mut all = penalty(loss, n, ridge, (is_linear, by_class), deviation(summary));
    all.extend(width(&**model.kernel(), loss));
    all.retain(|conversion| conversion.value.is_finite());
    all
}

/// s, the standard deviation of y with the divisor n, from R² and the training error. glmnet divides y by it; without an offset by
/// another number, which the model does not hold.
fn deviation(summary: &Summary) -> Option<f64> {
    let left = 1.0 - summary.train_r2?;
    (summary.has_offset && left > 1e-9).then(|| summary.train_rmse / left.sqrt())
}

/// Penalties of linear functions: others halve the squared error.
fn sparse(summary: &Summary) -> Option<Vec<Conversion>> {
    let name = summary.penalty.split('(').next().unwrap_or_default();
    let (lambda, n) = (summary.lambda, summary.rows as f64);
    let alpha = |value, of| Conversion { name: "alpha", value, of };
    match name {
        "lasso" => {
            let glmnet = Conversion { name: "glmnet_lambda", value: lambda / 2.0, of: "glmnet with alpha = 1" };
            Some(vec![alpha(lambda / 2.0, "scikit-learn's Lasso"), glmnet])
        }
        "kernel-lasso" => Some(vec![alpha(lambda / 2.0, "scikit-learn's Lasso on the kernel matrix")]),
        "elastic-net" => {
            let Ok(Penalty::ElasticNet { ratio }) = Penalty::parse(&summary.penalty) else { return Some(Vec::new()) };
            let (value, share) = mercer::linear::lasso::to_alpha_and_l1_ratio(lambda, ratio);
            let l1_ratio = Conversion { name: "l1_ratio", value: share, of: "the same" };
            let mut all = vec![alpha(value, "scikit-learn's ElasticNet"), l1_ratio];
            if let Some((value, share)) = deviation(summary).map(|s| to_glmnet(lambda, ratio, s)) {
                all.push(Conversion { name: "glmnet_lambda", value, of: "glmnet" });
                all.push(Conversion { name: "glmnet_alpha", value: share, of: "the same" });
            }
            Some(all)
        }
        "tikhonov" if summary.penalty.contains("identity") => Some(vec![alpha(n * lambda, "scikit-learn's Ridge")]),
        "tikhonov" | "none" => Some(Vec::new()),
        _ => None,
    }
}

fn penalty(
    loss: &str,
    n: f64,
    ridge: f64,
    (is_linear, by_class): (bool, bool),
    deviation: Option<f64>,
) -> Vec<Conversion> {
    let cost = |of| Conversion { name: "C", value: LIBSVM.parameter(ridge, n), of };
    // Programs of linear functions: with another kernel they need its features.
    let linear = |plain, mapped| cost(if is_linear { plain } else { mapped });

    let alpha = |value, of| Conversion { name: "alpha", value, of };
    let glmnet = |value, of| Conversion { name: "glmnet_lambda", value, of };
    let mut all = match loss {
        "squared" => {
            let value = SCIKIT_LEARN.parameter(ridge, n);
            vec![alpha(value, if is_linear { "scikit-learn's Ridge" } else { "scikit-learn's KernelRidge" })]
        }
        "hinge" if by_class => vec![cost("scikit-learn's OneVsRestClassifier(SVC)")],
        "hinge" => vec![cost("LIBSVM and scikit-learn's SVC")],
        "epsilon-insensitive" => vec![cost("LIBSVM and scikit-learn's SVR")],
        "absolute" => vec![cost("LIBSVM and scikit-learn's SVR with epsilon = 0")],
        "pinball" => vec![cost("kernlab's kqr")],
        "squared-hinge" => {
            vec![linear("scikit-learn's LinearSVC", "scikit-learn's LinearSVC on features of the kernel")]
        }
        "squared-epsilon-insensitive" => {
            vec![linear("scikit-learn's LinearSVR", "scikit-learn's LinearSVR on features of the kernel")]
        }
        "logistic" if by_class => vec![linear(
            "scikit-learn's OneVsRestClassifier(LogisticRegression)",
            "scikit-learn's OneVsRestClassifier(LogisticRegression) on features of the kernel",
        )],
        "logistic" => vec![linear(
            "scikit-learn's LogisticRegression",
            "scikit-learn's LogisticRegression on features of the kernel",
        )],
        // Its loss is twice ours over its scale, its epsilon our threshold over its scale.
        "huber" => {
            let of = match is_linear {
                true => "scikit-learn's HuberRegressor (epsilon · scale_ = threshold)",
                false => "scikit-learn's HuberRegressor (epsilon · scale_ = threshold) on features of the kernel",
            };
            vec![Conversion { name: "alpha_times_scale", value: 2.0 * n * ridge, of }]
        }
        _ => Vec::new(),
    };
    match (loss, is_linear) {
        // It divides y by its deviation s first, so that its ridge is lambda/s.
        ("squared", true) => all.extend(deviation.map(|s| glmnet(s * ridge, "glmnet with alpha = 0"))),
        ("logistic", true) if by_class => {
            all.push(glmnet(2.0 * ridge, "glmnet with alpha = 0 for each class against the others"));
        }
        ("logistic", true) => all.push(glmnet(2.0 * ridge, "glmnet with alpha = 0")),
        _ => {}
    }
    all
}

/// The width of a kernel, on the features as the model scales them: of the program that has this loss, where it has kernels.
fn width(kernel: &dyn Kernel, loss: &str) -> Option<Conversion> {
    let lengthscale = kernel.single_lengthscale()?;
    let spec = kernel.spec();
    let (value, of) = match (spec.split('(').next()?, loss) {
        ("gaussian", "squared" | "hinge" | "epsilon-insensitive" | "absolute") => {
            (0.5 / (lengthscale * lengthscale), "the same")
        }
        ("gaussian", "pinball") => (0.5 / (lengthscale * lengthscale), "kernlab's rbfdot (its sigma)"),
        ("gaussian", _) => (0.5 / (lengthscale * lengthscale), "scikit-learn's rbf_kernel"),
        ("laplace", "squared") => (1.0 / lengthscale, "the same"),
        // kernlab's laplacedot has the Euclidean distance.
        ("laplace", loss) if loss != "pinball" => (1.0 / lengthscale, "scikit-learn's laplacian_kernel"),
        _ => return None,
    };
    Some(Conversion { name: "gamma", value, of })
}

/// `C = 2.08 in LIBSVM and scikit-learn's SVC, gamma = 0.25`
pub fn line(all: &[Conversion]) -> Option<String> {
    let part = |conversion: &Conversion| match conversion.of {
        "the same" => format!("{} = {}", conversion.name.replace("glmnet_", ""), short(conversion.value)),
        of => {
            let name = conversion.name.replace("glmnet_", "").replace("_times_scale", " · scale_");
            format!("{name} = {} in {of}", short(conversion.value))
        }
    };
    (!all.is_empty()).then(|| all.iter().map(part).collect::<Vec<_>>().join(", "))
}

pub fn to_json(all: &[Conversion]) -> Value {
    let map: Map<String, Value> = all.iter().map(|c| (c.name.to_owned(), json!(c.value))).collect();
    Value::Object(map)
}
