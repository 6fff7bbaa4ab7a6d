//! Specs of kernels and losses in which every number may be a range.

use super::kernel::{self, SharedKernel};
use super::loss::{self, SharedLoss};
use crate::base::error::{Error, Result};
use crate::base::range::{MOST, log_spaced};

/// A kernel's spec, in which every number may be a range: all kernels that it stands for.
///
/// ```
/// let kernels = mercer::range::kernels("gaussian(lengthscale=1..4:3)")?;
/// let specs: Vec<String> = kernels.iter().map(|kernel| kernel.spec()).collect();
/// assert_eq!(specs, ["gaussian(lengthscale=1)", "gaussian(lengthscale=2)", "gaussian(lengthscale=4)"]);
/// # Ok::<(), mercer::Error>(())
/// ```
pub fn kernels(spec: &str) -> Result<Vec<SharedKernel>> {
    expanded("kernel", spec)?.iter().map(|spec| kernel::parse(spec)).collect()
}

/// A loss's spec, in which every number may be a range: all losses that it stands for, each with one loss per model (see
/// [`loss::parse`]). Quantiles are asked for and not chosen, so a range of them is refused.
///
/// ```
/// let choices = mercer::range::losses("epsilon-insensitive(epsilon=0.01..1:3)")?;
/// let specs: Vec<String> = choices.iter().map(|losses| losses[0].spec()).collect();
/// assert_eq!(specs[1], "epsilon-insensitive(epsilon=0.1)");
/// # Ok::<(), mercer::Error>(())
/// ```
pub fn losses(spec: &str) -> Result<Vec<Vec<SharedLoss>>> {
    let choices = expanded("loss", spec)?.iter().map(|spec| loss::parse(spec)).collect::<Result<Vec<_>>>()?;
    if choices.len() > 1 && spec.trim_start().starts_with("pinball") {
        let must = "a number or a list such as [0.1,0.5,0.9], one model each: quantiles are not chosen from a range";
        return Err(Error::argument("quantile of pinball", must, spec));
    }
    Ok(choices)
}

/// A spec with each of its ranges replaced by each of its numbers: all combinations, the leftmost range slowest.
fn expanded(axis: &str, spec: &str) -> Result<Vec<String>> {
    let Some((start, end)) = find(spec) else { return Ok(vec![spec.to_owned()]) };
    let mut all = Vec::new();
    for value in log_spaced(&format!("the range in the {axis}"), &spec[start..end])? {
        // The number holds no range itself, so the rest may be expanded as if it were all there is.
        for rest in expanded(axis, &spec[end..])? {
            all.push(format!("{}{value}{rest}", &spec[..start]));
        }
        if all.len() > MOST {
            return Err(Error::argument(
                format!("the ranges in the {axis}"),
                format!("those of at most {MOST} specs"),
                spec,
            ));
        }
    }
    Ok(all)
}

/// Where the first `low..high:points` stands.
fn find(spec: &str) -> Option<(usize, usize)> {
    let dots = spec.find("..")?;
    let belongs = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | ':' | '-' | '+');
    let start =
        spec[..dots].rfind(|c: char| !belongs(c)).map_or(0, |i| i + spec[i..].chars().next().map_or(1, char::len_utf8));
    let end = spec[dots..].find(|c: char| !belongs(c)).map_or(spec.len(), |i| dots + i);
    Some((start, end))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn several_ranges_give_all_pairs() {
        let found = kernels("0.5*gaussian(lengthscale=1..100:3) + polynomial(degree=2,constant=1..2:2)").unwrap();
        let specs: Vec<String> = found.iter().map(|kernel| kernel.spec()).collect();
        assert_eq!(specs.len(), 6);
        assert!(specs.iter().any(|spec| spec.contains("lengthscale=10)") && spec.contains("constant=2")), "{specs:?}");
        assert_eq!(kernels("linear").unwrap().len(), 1);
        assert!(kernels("gaussian(lengthscale=0..1:3)").is_err());
        let many = "gaussian(lengthscale=1..2:200)*laplace(lengthscale=1..2:200)";
        assert!(kernels(many).unwrap_err().to_string().contains("at most 10000"));
    }

    #[test]
    fn losses_are_expanded_like_kernels() {
        assert_eq!(losses("hinge").unwrap().len(), 1);
        let found = losses("huber(threshold=0.1..10:3)").unwrap();
        let specs: Vec<String> = found.iter().map(|losses| losses[0].spec()).collect();
        assert_eq!(specs, ["huber(threshold=0.1)", "huber(threshold=1)", "huber(threshold=10)"]);
        assert_eq!(losses("pinball(quantile=[0.1,0.9])").unwrap()[0].len(), 2);
        let error = losses("pinball(quantile=0.1..0.9:3)").unwrap_err().to_string();
        assert!(error.contains("not chosen"), "{error}");
        let error = losses("huber(threshold=0..1:3)").unwrap_err().to_string();
        assert!(error.contains("range in the loss"), "{error}");
        assert!(losses("hinge(margin=1..2:2)").is_err());
    }
}
