//! Columns that are not there or not what they should be.

use std::process::Output;

use crate::lab::{DATA, DONE, Lab};

#[test]
fn columns_that_are_not_there() {
    let mut lab = Lab::new();
    let mut refused = |arguments: &[&str], parts: &[&str]| {
        lab.fails(&[&["fit", "good.csv"], arguments].concat(), DATA, parts);
    };
    refused(&["--target", "z"], &["no column \"z\"", "it has: a, b, c, w, y"]);
    refused(&["--target", "Y"], &["no column \"Y\"", "did you mean y?"]);
    refused(&["--target", ""], &["target"]);
    refused(&["--target", "y,z"], &["no column \"z\""]);
    refused(&["--target", "c"], &["row 1", "\"c\"", "\"p\" is not a number"]);
    refused(&["--target", "y,y"], &["\"y\"", "twice"]);
    refused(&["--target", "y", "--features", "a,aa"], &["no column \"aa\"", "did you mean a?"]);
    refused(&["--target", "y", "--features", "a,a"], &["\"a\"", "twice"]);
    refused(&["--target", "y", "--features", "a,y"], &["\"y\"", "feature"]);
    refused(&["--target", "y", "--drop", "id"], &["no column \"id\""]);
    refused(&["--target", "y", "--drop", "a,b,c,w"], &["at least one feature"]);
    refused(&["--target", "y", "--weight", "weights"], &["no column \"weights\""]);
    refused(&["--target", "y", "--weight", "c"], &["row 1", "\"c\"", "not a number"]);
    refused(&["--target", "y", "--weight", "y"], &["\"y\"", "weight"]);
    refused(&["--target", "y", "--categorical", "id"], &["no column \"id\""]);
    refused(&["--target", "y", "--memory", "1"], &["10 rows need", "1 bytes may be used"]);
    refused(&["--target", "y", "--memory", "100", "--kernel", "linear"], &["10 rows need"]);
    refused(&["--target", "y", "--kernel", "equality", "--features", "a,b"], &["equality", "text"]);
    refused(
        &["--target", "y", "--features", "a,b", "--kernel", "gaussian(lengthscale=[1,2,3])"],
        &["lengthscales", "(2)", "got 3"],
    );
    refused(
        &["--target", "y", "--features", "a,b", "--kernel", "additive-spline", "--scale", "standard"],
        &["row ", "column", "negative", "--scale unit"],
    );
    refused(&["--target", "y", "--separator", ";"], &["no column \"y\""]);
    refused(&["--target", "y", "--separator", ",", "--decimal", "comma"], &["separator", "comma"]);
    refused(&["--target", "y", "--no-header"], &["no column \"y\"", "x1"]);
    // An identifier, and a table of texts.
    let mut ids = String::from("id,y\n");
    (0..150).for_each(|i| ids.push_str(&format!("id{i},{i}\n")));
    lab.file("t.csv", &ids);
    lab.fails(&["fit", "t.csv", "--target", "y"], DATA, &["\"id\"", "150 different texts", "--drop", "--categorical"]);
    lab.works(&["fit", "t.csv", "--target", "y", "--categorical", "id", "--json"], DONE);
    lab.file("one.csv", "y\n1\n2\n");
    lab.fails(&["fit", "one.csv", "--target", "y"], DATA, &["at least one feature"]);
    lab.finish(50);
}

#[test]
fn precomputed_kernels() {
    let mut lab = Lab::new();
    let gram = |change: &dyn Fn(usize, usize) -> f64, columns: usize| {
        let mut text = (1..=columns).map(|j| format!("k{j},")).collect::<String>() + "y\n";
        for i in 0..6 {
            (0..columns).for_each(|j| text.push_str(&format!("{},", change(i, j))));
            text.push_str(&format!("{}\n", (i as f64).sin()));
        }
        text
    };
    let good = |i: usize, j: usize| (-0.5 * (i as f64 - j as f64).powi(2)).exp();
    let fit = ["fit", "t.csv", "--target", "y", "--kernel", "precomputed"];
    lab.file("t.csv", gram(&good, 5));
    lab.fails(&fit, DATA, &["precomputed kernel", "as many columns as rows (6)", "got 5"]);
    lab.file("t.csv", gram(&good, 7));
    lab.fails(&fit, DATA, &["precomputed kernel", "(6)", "got 7"]);
    lab.file("t.csv", gram(&|i, j| if (i, j) == (1, 4) { 0.75 } else { good(i, j) }, 6));
    lab.fails(&fit, DATA, &["symmetric", "row 2, column 5 is 0.75", "row 5, column 2"]);
    lab.file("t.csv", gram(&|i, j| if i == j { 0.1 } else { 1.0 }, 6));
    lab.fails(&fit, DATA, &["negative eigenvalue", "positive semidefinite"]);
    lab.file("t.csv", gram(&|i, j| 1e300 * good(i, j), 6));
    lab.fails(&fit, DATA, &["kernel values reach"]);
    lab.file("t.csv", gram(&good, 6));
    let once =
        lab.works(&["fit", "t.csv", "--target", "y", "--kernel", "precomputed", "--lambda", "0.1", "--json"], DONE);
    // Twice the kernel at twice λ is the same function.
    let spec = ["fit", "t.csv", "--target", "y", "--kernel", "2*precomputed", "--lambda", "0.2", "--json"];
    let twice = lab.works(&spec, DONE);
    let number = |output: &Output| {
        let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
        report["train_rmse"].as_f64().unwrap_or(f64::NAN)
    };
    if !((number(&once) - number(&twice)).abs() < 1e-12) {
        lab.note(&spec, &twice, &format!("train_rmse {} instead of {}", number(&twice), number(&once)));
    }
    lab.finish(12);
}
