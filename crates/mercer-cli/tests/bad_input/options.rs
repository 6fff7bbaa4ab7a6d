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
    refused(&["--scale", "log"], &["--scale", "standard, unit, none"]);
    refused(&["--missing", "ignore"], &["--missing", "error, drop, mean"]);
    refused(&["--text", "hash"], &["--text", "one-hot, equality"]);
    refused(&["--decimal", "dot"], &["--decimal", "point, comma"]);
    refused(&["--seed=-1"], &["--seed"]);
    refused(&["--nosuch"], &["--nosuch"]);
    refused(&["--features", "a", "--drop", "b"], &["--features", "--drop"]);
    refused(&["--no-diagnostics"], &["--lambda"]);
    refused(&["--quiet", "--verbose"], &["--verbose"]);
    refused(&["more.csv"], &["more.csv"]);
    lab.fails(&["fit", "good.csv"], USAGE, &["--target"]);
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
    lab.finish(95);
}
