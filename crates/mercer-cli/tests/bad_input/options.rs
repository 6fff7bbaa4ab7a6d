//! Options that are none.

use crate::lab::{Lab, USAGE};

#[test]
fn options_that_are_none() {
    let mut lab = Lab::new();
    let mut refused = |arguments: &[&str], parts: &[&str]| {
        lab.fails(&[&["fit", "good.csv", "--target", "y"], arguments].concat(), USAGE, parts);
    };
    refused(
        &["--kernel", "gauss"],
        &["--kernel", "unknown kernel \"gauss\"", "linear, polynomial, gaussian", "did you mean gaussian?"],
    );
    refused(&["--kernel", "sigmoid"], &["unknown kernel \"sigmoid\"", "additive-spline"]);
    refused(&["--kernel", "gaussian(width=1)"], &["gaussian has no parameter \"width\"", "it has: lengthscale"]);
    refused(&["--kernel", "gaussian(lengthscale=0)"], &["lengthscale of gaussian must be positive", "got 0"]);
    refused(&["--kernel", "gaussian(lengthscale=-1)"], &["got -1"]);
    refused(&["--kernel", "polynomial(degree=2.5)"], &["whole number", "got 2.5"]);
    refused(&["--kernel", "gaussian(lengthscale=1"], &["cannot read", "character"]);
    refused(&["--kernel", ""], &["--kernel"]);
    refused(&["--kernel", "2*"], &["cannot read"]);
    refused(&["--kernel", "linear + precomputed"], &["precomputed kernel stands alone"]);
    for value in ["0", "-1", "nan", "inf", "abc", "1001", ""] {
        refused(&[&format!("--exponent={value}")], &["--exponent", "above 0", "1000"]);
    }
    for value in ["0", "-1", "nan", "inf", "abc", "1e-300", "1e300", ""] {
        refused(&[&format!("--lambda={value}")], &["--lambda", "above 0"]);
    }
    for value in ["0", "-1", "abc", "1.5", "100000"] {
        refused(&[&format!("--threads={value}")], &["--threads", "whole number"]);
    }
    for value in ["many", "-1G", "0", "1X", ""] {
        refused(&[&format!("--memory={value}")], &["--memory", "bytes"]);
    }
    for value in ["ab", "1", "\"", ""] {
        refused(&[&format!("--separator={value}")], &["--separator"]);
    }
    refused(&["--scale", "logs"], &["--scale", "standard, unit, none, log"]);
    refused(&["--missing", "ignore"], &["--missing", "error, drop, mean"]);
    refused(&["--text", "hash"], &["--text", "one-hot, equality"]);
    refused(&["--decimal", "dot"], &["--decimal", "point, comma"]);
    refused(&["--seed=-1"], &["--seed"]);
    refused(&["--nosuch"], &["--nosuch"]);
    // Ranges, criteria, folds and times.
    for value in ["1..2", "2..1:0.1", "0..2:0.5", "1..2:0", "1..2000:1", "a..b:c", "1..2:-1", "0.1..2.9:1e-9"] {
        refused(&[&format!("--exponent={value}")], &["--exponent", "low..high:step such as 0.1..2.9:0.1"]);
    }
    for value in ["1..2", "0..1:5", "1..2:1", "2..1:5", "1..1e300:5", "1..2:0.5", "-1..1:3"] {
        refused(&[&format!("--lambda={value}")], &["--lambda", "low..high:points such as 1e-7..1e3:25"]);
    }
    refused(&["--kernel", "gaussian(lengthscale=0..1:3)"], &["range in the kernel", "0..1:3"]);
    refused(&["--kernel", "gaussian(lengthscale=1..2)"], &["range in the kernel", "low..high:points"]);
    refused(&["--kernel", "gaussian", "--kernel", "gauss"], &["unknown kernel \"gauss\""]);
    refused(&["--criterion", "lou"], &["unknown criterion \"lou\"", "did you mean loo?"]);
    refused(&["--criterion", "kfold:1"], &["folds of kfold", "at least 2"]);
    refused(&["--criterion", "tri"], &["tri needs rows without target", "--unlabelled"]);
    refused(&["--assess", "loo"], &["--assess", "kfold:5"]);
    refused(&["--assess", "1"], &["--assess", "at least 2"]);
    for value in ["soon", "0", "-1s", "1d", ""] {
        refused(&[&format!("--budget={value}")], &["--budget", "a time such as 90s, 2m or 1.5m"]);
    }
    for (option, value) in [("--kernel", "linear"), ("--lambda", "1"), ("--criterion", "gcv")] {
        refused(&["--budget", "1s", option, value], &["--budget", option]);
    }
    // What an automatic fit decides by itself.
    for option in [
        &["--scale", "unit"][..],
        &["--on-grid"],
        &["--one-standard-error"],
        &["--unlabelled", "good.csv"],
        &["--shared-ridge"],
        &["--text", "equality"],
    ] {
        refused(option, &[option[0], "automatic fit", "name a --kernel"]);
    }
    for option in [&["--table", "s.csv"][..], &["--on-grid"], &["--one-standard-error"]] {
        refused(&[&["--lambda", "0.1"], option].concat(), &[option[0], "something to choose"]);
    }
    refused(&["--features", "a", "--drop", "b"], &["--features", "--drop"]);
    refused(&["--no-diagnostics"], &["--lambda"]);
    refused(&["--quiet", "--verbose"], &["--verbose"]);
    refused(&["more.csv"], &["more.csv"]);
    for command in ["fit", "path", "compare"] {
        lab.fails(&[command, "good.csv"], USAGE, &["--target is needed", "the columns are a, b, c, w, y"]);
        lab.fails(&[command, "good.csv", "--target"], USAGE, &["--target"]);
    }
    lab.fails(&["path", "good.csv", "--target", "y,a"], USAGE, &["--target must name one column", "got 2: y, a"]);
    lab.fails(&["compare", "good.csv", "--target", "y,a"], USAGE, &["--target must name one column"]);
    lab.fails(&["path", "good.csv", "--target", "y", "--criterion", "loo,tri"], USAGE, &["tri needs rows without"]);
    lab.fails(&["path", "good.csv", "--target", "y", "--criterion", "loo,,gcv"], USAGE, &["--criterion"]);
    lab.fails(&["path", "good.csv", "--target", "y", "--json", "--style", "csv"], USAGE, &["--json", "--style"]);
    lab.fails(&["path", "good.csv", "--target", "y", "--style", "pdf"], USAGE, &["text, markdown, latex, csv"]);
    lab.fails(
        &["compare", "good.csv", "--target", "y", "--methods", "mean,svrr"],
        USAGE,
        &["svrr", "known methods: mean"],
    );
    lab.fails(&["compare", "good.csv", "--target", "y", "--folds", "1"], USAGE, &["--folds", "whole number"]);
    lab.fails(&["compare", "good.csv", "--target", "y", "--repeats", "0"], USAGE, &["--repeats", "whole number"]);
    lab.fails(&["fit", "--target", "y"], USAGE, &["TABLE"]);
    lab.fails(&["predict"], USAGE, &["MODEL"]);
    lab.fails(&["predict", "m.mercer", "good.csv", "--json", "--output", "p.csv"], USAGE, &["--output"]);
    lab.fails(&["inspect"], USAGE, &["MODEL"]);
    lab.fails(&["fitt"], USAGE, &["fitt", "'fit'"]);
    lab.fails(&["completions", "tcsh"], USAGE, &["tcsh", "bash"]);
    lab.fails(&["man"], USAGE, &["FOLDER"]);
    lab.fails(&["generate", "friedmann1"], USAGE, &["friedmann1", "friedman1, friedman2", "did you mean friedman1?"]);
    lab.fails(&["generate", "sinc", "--rows", "0"], USAGE, &["--rows", "whole number"]);
    lab.fails(&["generate", "sinc", "--rows", "1000000000"], USAGE, &["--rows", "whole number"]);
    lab.fails(&["generate", "sinc", "--noise=-1"], USAGE, &["--noise", "at least 0"]);
    lab.fails(&["generate", "sinc", "--noise=nan"], USAGE, &["--noise", "at least 0"]);
    // Nothing at all: the help, on standard error.
    lab.tried += 1;
    let nothing = lab.run(&[], b"").0;
    assert_eq!(nothing.status.code(), Some(USAGE));
    assert!(nothing.stdout.is_empty() && String::from_utf8_lossy(&nothing.stderr).contains("Usage:"));
    lab.finish(160);
}
