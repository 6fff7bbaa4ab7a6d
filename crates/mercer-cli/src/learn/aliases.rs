//! Methods by the names they go by. Each is only a shorthand for `--loss` and `--kernel`, one line in a table.

use mercer::error::nearest;
use mercer::penalty::Penalty;
use mercer::{kernel, range};

use crate::args::{FitOptions, KernelArgument, LossArgument};
use crate::outcome::Usage;

/// A name, and the options it stands for.
pub struct Alias {
    pub name: &'static str,
    about: &'static str,
    /// Names of losses that go with it; the first is the one it stands for.
    losses: &'static [&'static str],
    kernel: KernelOf,
    penalty: Option<&'static str>,
}

/// Which kernel a method has.
enum KernelOf {
    /// This and no other.
    Always(&'static str),
    /// This unless another is named.
    Unless(&'static str),
}
use KernelOf::{Always, Unless};

const ALIASES: &[Alias] = &[
    Alias { name: "ridge", about: "a linear function", losses: &["squared"], kernel: Always("linear"), penalty: None },
    Alias {
        name: "krr",
        about: "kernel ridge regression",
        losses: &["squared"],
        kernel: Unless("gaussian"),
        penalty: None,
    },
    Alias {
        name: "svr",
        about: "support vector regression",
        losses: &["epsilon-insensitive", "squared-epsilon-insensitive"],
        kernel: Unless("gaussian"),
        penalty: None,
    },
    Alias { name: "huber", about: "robust regression", losses: &["huber"], kernel: Unless("gaussian"), penalty: None },
    Alias {
        name: "quantile",
        about: "quantiles; the median",
        losses: &["pinball"],
        kernel: Unless("gaussian"),
        penalty: None,
    },
    Alias {
        name: "svm",
        about: "the support vector machine",
        losses: &["hinge", "squared-hinge"],
        kernel: Unless("gaussian"),
        penalty: None,
    },
    Alias {
        name: "ols",
        about: "least squares",
        losses: &["squared"],
        kernel: Always("linear"),
        penalty: Some("none"),
    },
    Alias {
        name: "lasso",
        about: "few coefficients",
        losses: &["squared"],
        kernel: Always("linear"),
        penalty: Some("lasso"),
    },
    Alias {
        name: "elastic-net",
        about: "few coefficients, together",
        losses: &["squared"],
        kernel: Always("linear"),
        penalty: Some("elastic-net"),
    },
    Alias {
        name: "tikhonov",
        about: "a quadratic penalty",
        losses: &["squared"],
        kernel: Always("linear"),
        penalty: Some("tikhonov"),
    },
    Alias {
        name: "logistic",
        about: "logistic regression",
        losses: &["logistic"],
        kernel: Unless("gaussian"),
        penalty: None,
    },
];

impl std::fmt::Debug for Alias {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

pub fn find(name: &str) -> Result<&'static Alias, String> {
    let names = || ALIASES.iter().map(|alias| alias.name);
    ALIASES.iter().find(|alias| alias.name == name).ok_or_else(|| {
        let guess = nearest(name, names()).map_or_else(String::new, |guess| format!("; did you mean {guess}?"));
        format!("known methods: {}{guess}", names().collect::<Vec<_>>().join(", "))
    })
}

/// For the list of losses.
pub fn list() -> String {
    let line = |alias: &Alias| {
        let (kernel, may) = match alias.kernel {
            Always(kernel) => (kernel, ""),
            Unless(kernel) => (kernel, " unless another is named"),
        };
        let penalty = alias.penalty.map_or_else(String::new, |penalty| format!(" --penalty {penalty}"));
        format!("  {:<29}{}: --loss {} --kernel {kernel}{may}{penalty}\n", alias.name, alias.about, alias.losses[0])
    };
    ALIASES.iter().map(line).collect()
}

/// The options with `--method` replaced by what it stands for. What contradicts it is refused.
pub fn spelled_out(options: &FitOptions) -> anyhow::Result<FitOptions> {
    let mut options = options.clone();
    let Some(alias) = options.losses.method else { return Ok(options) };
    if options.budget.is_some() {
        let text = format!("--budget is the time of the automatic search; --method {} names the model", alias.name);
        return Err(Usage(format!("{text}: leave one of them out")).into());
    }
    match &options.losses.loss {
        None => options.losses.loss = Some(LossArgument(range::losses(alias.losses[0])?)),
        Some(LossArgument(choices)) => {
            let is_own = |spec: String| alias.losses.contains(&spec.split('(').next().unwrap_or_default());
            if let Some(other) = choices.iter().flatten().find(|loss| !is_own(loss.spec())) {
                let own = alias.losses.join(" or ");
                let text = format!("--method {} is the loss {own}; it cannot have --loss {}", alias.name, other.spec());
                return Err(Usage(format!("{text}: leave one of them out")).into());
            }
        }
    }
    match (alias.penalty, &options.penalties.penalty) {
        (Some(own), None) => options.penalties.penalty = Some(Penalty::parse(own)?),
        (own, Some(other)) if !other.spec().starts_with(own.unwrap_or("norm-power")) => {
            let own = own.unwrap_or("norm-power");
            let text =
                format!("--method {} has the penalty {own}; it cannot have --penalty {}", alias.name, other.spec());
            return Err(Usage(format!("{text}: leave one of them out")).into());
        }
        _ => {}
    }
    let named = options.kernel.iter().flat_map(|argument| &argument.0);
    if let Always(own) = alias.kernel
        && let Some(other) = named.clone().find(|kernel| kernel.spec() != own)
    {
        let text = format!("--method {} has the kernel {own}; it cannot have --kernel {}", alias.name, other.spec());
        return Err(Usage(format!("{text}: leave one of them out")).into());
    }
    if named.count() == 0 {
        let (Always(spec) | Unless(spec)) = alias.kernel;
        options.kernel = vec![KernelArgument(vec![kernel::parse(spec)?])];
    }
    Ok(options)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_alias_stands_for_something_that_exists() {
        for alias in ALIASES {
            assert!(alias.losses.iter().all(|spec| range::losses(spec).is_ok()), "{}", alias.name);
            let (Always(spec) | Unless(spec)) = alias.kernel;
            assert!(kernel::parse(spec).is_ok(), "{}", alias.name);
            assert!(alias.penalty.is_none_or(|spec| Penalty::parse(spec).is_ok()), "{}", alias.name);
        }
        assert!(find("logistik").unwrap_err().contains("did you mean logistic?"));
    }
}
