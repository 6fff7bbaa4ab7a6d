//! The options by which an automatic search's model is fitted again, whatever the time there is.

use mercer::Fitted;
use mercer::data::Scale;

/// Kernel, exponent, λ and scaling with all their digits. `None` where no options say it: a learned map of the features, landmarks,
/// several targets.
pub fn options(fitted: &Fitted) -> Option<String> {
    let model = &fitted.model;
    let [summary] = model.summaries() else { return None };
    if model.encoder().projection.is_some() || summary.certificate.low_rank.is_some() {
        return None;
    }
    // Standardising is what a named kernel gets, and splines the unit range.
    let scale = match (model.encoder().scale, model.kernel().needs_nonnegative()) {
        (Scale::Standard, false) | (Scale::Unit, true) => "",
        (Scale::Standard, true) => " --scale standard",
        (Scale::Unit, false) => " --scale unit",
        (Scale::Log, _) => " --scale log",
        (Scale::None, _) => " --scale none",
    };
    let kernel = model.kernel().spec();
    Some(format!("--kernel '{kernel}' --exponent {} --lambda {:?}{scale}", summary.exponent, summary.lambda))
}
