//! Places that cannot be written, and results of doubtful worth.

use std::fs;

use crate::lab::{DATA, DONE, Lab, UNCERTIFIED, unclear};
use crate::tables::good;

#[test]
fn places_that_cannot_be_written() {
    let mut lab = Lab::new();
    fs::create_dir(lab.path("folder")).unwrap();
    let fit = ["fit", "good.csv", "--target", "y", "--output"];
    let mut refused = |place: &str, parts: &[&str]| {
        lab.fails(&[&fit[..], &[place]].concat(), DATA, parts);
        lab.fails(&["generate", "sinc", "--output", place], DATA, parts);
    };
    refused("nosuch/m.mercer", &["cannot write nosuch/m.mercer"]);
    refused("good.csv/m.mercer", &["cannot write good.csv/m.mercer"]);
    refused("folder", &["folder"]);
    refused("/proc/nosuch/m.mercer", &["cannot write /proc/nosuch/m.mercer"]);
    refused("", &["file"]);
    let long = "n".repeat(300);
    refused(&long, &["cannot write"]);
    lab.fails(&["generate", "sinc", "--output", "t.libsvm"], DATA, &["t.libsvm", "csv, parquet or arrow"]);
    lab.fails(&["generate", "sinc", "--output", "t.parquet.gz"], DATA, &["t.parquet.gz", ".gz"]);
    lab.fails(&["man", "nosuch"], DATA, &["cannot write nosuch/mercer.1"]);
    lab.fails(&["man", "good.csv"], DATA, &["cannot write good.csv/mercer.1"]);
    assert_eq!(fs::read_to_string(lab.path("good.csv")).unwrap(), good());
    lab.finish(16);
}

/// A ridge at the rounding level: there is an answer, it is saved, and the exit code says what it is worth.
#[test]
fn finished_without_certificate() {
    let mut lab = Lab::new();
    lab.works(&["generate", "sinc", "--rows", "80", "--output", "t.csv"], DONE);
    let fit = ["fit", "t.csv", "--target", "y", "--lambda", "1e-40", "--kernel", "gaussian(lengthscale=5)"];
    let output = lab.works(&[&fit[..], &["--json", "--output", "m.mercer"]].concat(), UNCERTIFIED);
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["certificate"]["holds"], false);
    let reason = report["certificate"]["reason"].as_str().unwrap();
    let error = String::from_utf8(output.stderr).unwrap();
    assert_eq!(error.trim_end(), format!("without certificate (y): {reason}"));
    assert!(reason.contains("larger λ"), "{reason}");
    lab.works(&["predict", "m.mercer", "t.csv", "--output", "p.csv"], DONE);
    lab.works(&["inspect", "m.mercer"], DONE);
    // --quiet does not hide it.
    let quiet = lab.works(&[&fit[..], &["--quiet"]].concat(), UNCERTIFIED);
    assert!(quiet.stdout.is_empty() && !quiet.stderr.is_empty());
    lab.finish(5);
}

/// Whatever was fitted and saved can be used: exponents near 1, tiny exponents, tiny and huge targets.
#[test]
fn what_is_saved_can_be_used() {
    let mut lab = Lab::new();
    let mut failures = Vec::new();
    for scale in [1e-300, 1.0, 1e100, 1e149] {
        let mut table = String::from("a,y\n");
        (0..12).for_each(|i| table.push_str(&format!("{i},{:e}\n", scale * (0.5 * f64::from(i)).sin())));
        lab.file("t.csv", table);
        for exponent in ["0.05", "0.5", "0.9", "0.999", "0.9999999", "1", "1.0000001", "1.5", "2", "3", "100", "1000"] {
            for kernel in ["gaussian", "linear"] {
                let mut arguments = vec!["fit", "t.csv", "--target", "y", "--kernel", kernel, "--exponent", exponent];
                arguments.extend(["--quiet", "--output", "m.mercer"]);
                lab.tried += 1;
                let (output, _) = lab.run(&arguments, b"");
                match output.status.code() {
                    Some(DONE | UNCERTIFIED) => {}
                    Some(DATA) if unclear(&String::from_utf8_lossy(&output.stderr), DATA).is_none() => continue,
                    code => lab.note(&arguments, &output, &format!("exit code {code:?}")),
                }
                lab.tried += 1;
                let (output, _) = lab.run(&["predict", "m.mercer", "t.csv", "--quiet"], b"");
                let text = String::from_utf8_lossy(&output.stdout).into_owned();
                let predicted = text
                    .lines()
                    .skip(1)
                    .filter(|line| line.rsplit(',').next().is_some_and(|cell| cell.parse().is_ok_and(f64::is_finite)));
                if output.status.code() != Some(DONE) || predicted.count() != 12 {
                    let error = String::from_utf8_lossy(&output.stderr).into_owned();
                    failures.push(format!("y of {scale:e}, {kernel}, exponent {exponent}: {}", error.trim_end()));
                }
                fs::remove_file(lab.path("m.mercer")).unwrap();
            }
        }
    }
    assert!(failures.is_empty(), "{} models cannot be used: {failures:#?}", failures.len());
    lab.finish(150);
}

#[test]
fn places_and_tables_of_a_selection() {
    let mut lab = Lab::new();
    let fit = ["fit", "good.csv", "--target", "y", "--kernel", "gaussian"];
    let with = |more: &[&'static str]| [&fit[..], more].concat();
    for option in ["--table", "--journal"] {
        lab.fails(&with(&[option, "nowhere/s.csv"]), DATA, &["cannot write nowhere/s.csv", "no folder"]);
    }
    lab.fails(&with(&["--journal", "good.csv"]), DATA, &["good.csv exists and is not a journal"]);
    lab.fails(&with(&["--journal", "."]), DATA, &["cannot use the journal"]);
    lab.fails(&with(&["--unlabelled", "nosuch.csv"]), DATA, &["nosuch.csv"]);
    lab.fails(&with(&["--group", "patient"]), DATA, &["no column \"patient\""]);
    lab.fails(&with(&["--criterion", "kfold:11"]), DATA, &["number of folds", "at most", "11"]);
    lab.fails(&with(&["--assess", "kfold:11"]), DATA, &["number of folds", "11"]);
    lab.file("short.csv", "a\n1\n");
    lab.fails(&with(&["--criterion", "tri", "--unlabelled", "short.csv"]), DATA, &["no column"]);
    for command in ["path", "compare"] {
        let more = |option, file| [command, "good.csv", "--target", "y", option, file];
        lab.fails(&more("--svg", "nowhere/p.svg"), DATA, &["cannot write nowhere/p.svg", "no folder"]);
        lab.fails(&more("--output", "nowhere/p.csv"), DATA, &["cannot write nowhere/p.csv", "no folder"]);
        lab.fails(&[command, "nosuch.csv", "--target", "y"], DATA, &["nosuch.csv"]);
        lab.fails(&[command, "good.csv", "--target", "z"], DATA, &["no column \"z\""]);
    }
    lab.fails(&["compare", "good.csv", "--target", "y", "--folds", "11"], DATA, &["number of folds", "11"]);
    lab.fails(&["compare", "good.csv", "--target", "y", "--methods", "mean", "--weight", "c"], DATA, &["\"c\""]);
    lab.file("flat.csv", "a,y\n1,5\n2,5\n3,5\n4,5\n5,5\n6,5\n");
    lab.fails(&["path", "flat.csv", "--target", "y"], DATA, &["target", "varies"]);
    lab.works(&["compare", "flat.csv", "--target", "y", "--folds", "2", "--budget", "1s"], DONE);
    lab.works(&["fit", "flat.csv", "--target", "y", "--json"], DONE);
    lab.works(&["fit", "flat.csv", "--target", "y", "-m", "0.1..2.9:0.7", "--lambda", "1e-7..1e3:5", "--json"], DONE);
    lab.works(&["fit", "flat.csv", "--target", "y", "-m", "1..2:0.5", "--table", "s.csv"], DONE);
    lab.file("two.csv", "a,y\n1,5\n2,6\n");
    for more in [&["--kernel", "gaussian(lengthscale=1..4:3)"][..], &[], &["-m", "1..2:0.5"], &["--assess", "2"]] {
        lab.works(&[&["fit", "two.csv", "--target", "y", "--json"], more].concat(), DONE);
    }
    lab.works(&["path", "two.csv", "--target", "y", "--svg", "two.svg"], DONE);
    lab.finish(30);
}
