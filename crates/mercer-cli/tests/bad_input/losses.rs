//! Every loss on the list of bad inputs: refused in a sentence that names reason and place, or finite predictions.

use serde_json::Value;

use crate::lab::{DATA, DONE, Lab, UNCERTIFIED, unclear};
use crate::tables::{good, with_cell, with_classes, with_column};

const FOR_NUMBERS: [&str; 5] = [
    "absolute",
    "huber(threshold=0.3)",
    "epsilon-insensitive",
    "squared-epsilon-insensitive",
    "pinball(quantile=[0.2,0.8])",
];
const FOR_CLASSES: [&str; 4] = ["hinge", "squared-hinge", "logistic", "squared"];

/// What must come out.
enum Expect {
    Refused(&'static [&'static str]),
    Finite,
    /// A fit, or a refusal with one of these in it.
    FiniteOr(&'static [&'static str]),
}
use Expect::{Finite, FiniteOr, Refused};

/// Tables of which no loss minds the target; then those of numbers only.
fn inputs() -> Vec<(String, &'static [&'static str], Expect)> {
    const NONE: &[&str] = &[];
    const TOO_LARGE: Expect = FiniteOr(&["kernel values reach", "which f64 cannot scale", "beyond what scaling"]);
    let scaled = |size: f64| {
        let row = |i: i32| {
            format!("{},{},p,1,{}\n", f64::from(i).sin() * size, f64::from(i * i).cos() * size, 0.1 * f64::from(i))
        };
        format!("a,b,c,w,y\n{}", (0..10).map(row).collect::<String>())
    };
    let rows = |count: i32| {
        let row = |i: i32| format!("{i},{},{},1,{}\n", i * i % 7, ["p", "q"][i as usize % 2], 0.1 + 0.5 * f64::from(i));
        format!("a,b,c,w,y\n{}", (0..count).map(row).collect::<String>())
    };
    let mut all: Vec<(String, &'static [&'static str], Expect)> = vec![
        (good(), NONE, Finite),
        (with_cell(7, 1, "inf"), NONE, Refused(&["row 7", "\"b\"", "not a finite number"])),
        (with_cell(7, 1, "1e400"), NONE, Refused(&["row 7", "\"b\"", "not a finite number"])),
        (with_cell(4, 0, "four"), NONE, Refused(&["row 4", "\"a\"", "not a number"])),
        (with_cell(3, 1, ""), NONE, Refused(&["row 3", "\"b\"", "missing"])),
        (with_cell(3, 4, ""), NONE, Refused(&["row 3", "\"y\"", "missing"])),
        (with_cell(3, 1, ""), &["--missing", "drop"], Finite),
        (with_cell(3, 1, ""), &["--missing", "mean"], Finite),
        (with_cell(3, 4, ""), &["--missing", "drop"], Finite),
        (with_column(0, ""), &["--missing", "mean"], Refused(&["\"a\"", "no value in any row"])),
        (with_cell(6, 3, "-1"), &["--weight", "w"], Refused(&["row 6", "\"w\"", "-1 is not a weight"])),
        (with_cell(6, 3, ""), &["--weight", "w"], Refused(&["row 6", "\"w\"", "missing"])),
        (with_column(3, "0"), &["--weight", "w"], Refused(&["\"w\"", "every row", "weight 0"])),
        (with_cell(6, 3, "0"), &["--weight", "w"], Finite),
        (with_cell(6, 3, "1e12"), &["--weight", "w"], Finite),
        (with_column(0, "7.5"), NONE, Finite),
        (with_column(2, "p"), NONE, Finite),
        ("a,b,c,w,y\n".into(), NONE, Refused(&["no rows"])),
        (with_cell(5, 1, "1e200"), NONE, TOO_LARGE),
        (with_cell(5, 1, "1e-320"), NONE, TOO_LARGE),
        (scaled(1e-320), NONE, TOO_LARGE),
        (scaled(1e-100), NONE, TOO_LARGE),
        (scaled(1e15), NONE, TOO_LARGE),
        (scaled(1e300), NONE, TOO_LARGE),
        (scaled(1e300), &["--kernel", "linear", "--scale", "none"], FiniteOr(&["kernel", "row "])),
        (good().replace("\n0,", "\n9007199254740993,"), NONE, Finite),
        (rows(3), NONE, FiniteOr(&["folds"])),
        (rows(2), &["--lambda", "0.1"], Finite),
        (rows(10), &["--lambda", "1e-90"], Finite),
        (rows(10), &["--lambda", "1e90"], Finite),
        (rows(10), &["--lambda", "0.1", "--exponent", "1"], Finite),
        (rows(10), &["--lambda", "0.1", "--exponent", "1000"], FiniteOr(&["λ", "exponent", "ridge"])),
        (rows(10), &["--kernel", "linear", "--no-offset"], Finite),
        (rows(10), &["--kernel", "additive-spline"], Finite),
        (rows(10), &["--kernel", "equality", "--text", "equality"], Finite),
        (rows(10), &["--criterion", "loo"], Finite),
    ];
    // All rows equal, with the targets that they had; and every row twice, with another target.
    let equal: String = (0..10).map(|i| format!("1,2,p,1,{}\n", 0.1 * f64::from(i))).collect();
    all.push((format!("a,b,c,w,y\n{equal}"), NONE, Finite));
    let twice: String = (0..12).map(|i| format!("{},2,p,1,{}\n", i % 6, f64::from(i / 6))).collect();
    all.push((format!("a,b,c,w,y\n{twice}"), NONE, Finite));
    all
}

/// Targets that only numbers can be.
fn numbers_only() -> Vec<(String, &'static [&'static str], Expect)> {
    const NONE: &[&str] = &[];
    vec![
        (with_cell(1, 4, "inf"), NONE, Refused(&["row 1", "\"y\"", "not a finite number"])),
        (with_cell(1, 4, "1e200"), NONE, Refused(&["row 1", "\"y\"", "too large for a target"])),
        (with_cell(4, 4, "four"), NONE, Refused(&["row 4", "\"y\"", "not a number", "--loss logistic"])),
        (with_column(4, "7.5"), NONE, Finite),
        (with_column(4, "0"), NONE, Finite),
        (with_cell(2, 4, "1e149"), NONE, Finite),
        (with_cell(2, 4, "1e12"), NONE, Finite),
        (with_cell(2, 4, "1e-300"), NONE, Finite),
        ("a,b,c,w,y\n1,2,p,1,3\n".into(), &["--lambda", "0.1"], Finite),
    ]
}

fn classes_only() -> Vec<(String, &'static [&'static str], Expect)> {
    const NONE: &[&str] = &[];
    vec![
        (with_column(4, "yes"), NONE, Refused(&["\"y\"", "at least two classes"])),
        (with_column(4, ""), NONE, Refused(&["\"y\"", "missing"])),
        (with_cell(4, 4, "maybe"), NONE, Finite),
        (with_cell(4, 4, "\"a, b\""), NONE, Finite),
        ("a,b,c,w,y\n1,2,p,1,yes\n".into(), &["--lambda", "0.1"], Refused(&["\"y\"", "at least two classes"])),
        (with_cell(4, 4, "gr\u{fc}n"), &["--class-weight", "balanced", "--probability"], Finite),
    ]
}

fn check(lab: &mut Lab, loss: &str, table: &str, options: &[&str], expect: &Expect) {
    lab.file("t.csv", table);
    let dropped: &[&str] = if options.contains(&"--weight") { &[] } else { &["--drop", "w"] };
    let fit = [&["fit", "t.csv", "--target", "y", "--loss", loss], dropped, options].concat();
    if let Refused(parts) = expect {
        return lab.fails(&fit, DATA, parts);
    }
    lab.tried += 1;
    let arguments = [&fit[..], &["--json", "--output", "m.mercer"]].concat();
    let (output, _) = lab.run(&arguments, b"");
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    match (output.status.code(), expect) {
        (Some(DONE | UNCERTIFIED), _) => {}
        (Some(DATA), FiniteOr(reasons)) => {
            let is_named = reasons.iter().any(|reason| error.contains(reason));
            if let Some(problem) = unclear(&error, DATA).or((!is_named).then_some("names no reason")) {
                lab.note(&arguments, &output, problem);
            }
            return;
        }
        (code, _) => return lab.note(&arguments, &output, &format!("exit code {code:?}\n{table}")),
    }
    if error.contains("panicked") || error.contains("internal error") {
        lab.note(&arguments, &output, "panicked");
    }
    let report: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
    let models = report["targets"].as_array().cloned().unwrap_or_else(|| vec![report.clone()]);
    for model in &models {
        for key in ["lambda", "norm", "objective", "intercept", "train_loss", "duality_gap"] {
            if !model[key].is_number() {
                lab.note(&arguments, &output, &format!("{key} is {}\n{table}", model[key]));
            }
        }
    }
    let predict = ["predict", "m.mercer", "t.csv", "--json"];
    let (output, _) = lab.run(&predict, b"");
    let report: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
    let columns: Vec<&Value> = report["predictions"].as_object().map(|map| map.values().collect()).unwrap_or_default();
    let cells: Vec<&Value> = columns.iter().filter_map(|column| column.as_array()).flatten().collect();
    let missing =
        if options.contains(&"drop") && !table.contains(",,p") && !table.contains(",,q") && !table.contains(",,r") {
            0
        } else {
            usize::from(options.contains(&"drop")) * columns.len()
        };
    if output.status.code() != Some(DONE)
        || cells.is_empty()
        || cells.iter().filter(|cell| cell.is_null()).count() > missing
    {
        lab.note(&arguments, &output, &format!("the predictions are {}\n{table}", report["predictions"]));
    }
}

#[test]
fn every_loss_for_numbers_meets_every_bad_input() {
    let mut lab = Lab::new();
    for loss in FOR_NUMBERS {
        for (table, options, expect) in inputs().iter().chain(&numbers_only()) {
            check(&mut lab, loss, table, options, expect);
        }
    }
    lab.finish(5 * 60);
}

#[test]
fn every_loss_for_classes_meets_every_bad_input() {
    let mut lab = Lab::new();
    for loss in FOR_CLASSES {
        for (table, options, expect) in &inputs() {
            check(&mut lab, loss, &with_classes(table), options, expect);
        }
        for (table, options, expect) in &classes_only() {
            check(&mut lab, loss, &with_classes(table), options, expect);
        }
    }
    lab.finish(4 * 57);
}
