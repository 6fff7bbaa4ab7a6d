//! The other commands: generated data, lists, completions, manual, help, demo.

use std::fs;
use std::time::{Duration, Instant};

use mercer::{criterion, kernel};

use crate::lab::{Lab, error, line, text};

#[test]
fn generated_data_depend_on_the_seed_alone() {
    let lab = Lab::new();
    for name in ["friedman1", "friedman2", "friedman3", "sinc", "quadratic", "square"] {
        let generate = |seed: &str, threads: &str| {
            lab.ok(&["generate", name, "--rows", "50", "--noise", "1", "--seed", seed, "--threads", threads]).stdout
        };
        let first = generate("1", "1");
        assert_eq!(first, generate("1", "4"));
        assert_ne!(first, generate("2", "1"));
        assert_eq!(first, lab.ok(&["generate", name, "--rows", "50", "--noise", "1"]).stdout);
        let text = String::from_utf8(first).unwrap();
        assert_eq!(text.lines().count(), 51);
        assert!(text.starts_with("x1,") && text.lines().next().unwrap().ends_with(",y"));
    }
}

#[test]
fn kernels_lists_every_kernel_and_parameter() {
    let lab = Lab::new();
    let page = text(&lab.ok(&["list", "kernels"]));
    let all = kernel::all();
    assert!(all.len() >= 14);
    for entry in all {
        assert!(page.contains(entry.name) && page.contains(entry.formula), "{}", entry.name);
        for parameter in entry.parameters {
            assert!(page.contains(&format!("{} ({}): {}", parameter.name, parameter.default, parameter.about)));
        }
    }
    assert!(page.contains("normalized-"));
}

#[test]
fn criteria_lists_every_criterion_and_parameter() {
    let lab = Lab::new();
    let page = text(&lab.ok(&["list", "criteria"]));
    for entry in criterion::all() {
        assert!(page.contains(entry.name) && page.contains(entry.formula), "{}", entry.name);
        for parameter in entry.parameters {
            assert!(page.contains(&format!("{} ({}): {}", parameter.name, parameter.default, parameter.about)));
        }
    }
}

#[test]
fn completions_and_manual() {
    let lab = Lab::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = text(&lab.ok(&["completions", shell]));
        for word in ["fit", "predict", "inspect", "generate", "demo", "list", "lambda", "exponent", "missing"] {
            assert!(script.contains(word), "{shell}: {word}");
        }
        lab.file(&format!("c.{shell}"), &script);
    }
    let checked = lab.shell("bash -n c.bash");
    assert!(checked.status.success(), "{}", error(&checked));
    // What bash itself makes of it.
    let completed = lab.shell(
        "source c.bash; COMP_WORDS=(mercer fit --lam); COMP_CWORD=2; _mercer mercer --lam fit; echo ${COMPREPLY[@]}",
    );
    assert!(text(&completed).contains("--lambda"), "{} {}", text(&completed), error(&completed));

    fs::create_dir(lab.path("man")).unwrap();
    let listed = text(&lab.ok(&["man", "man"]));
    let commands = [
        "fit",
        "predict",
        "effects",
        "path",
        "plan",
        "compare",
        "stream",
        "moments",
        "merge",
        "update",
        "equivalence",
        "distance",
        "experiment",
        "certify",
        "export",
        "inspect",
        "generate",
        "demo",
        "list",
        "completions",
        "man",
    ];
    for name in commands.iter().map(|name| format!("mercer-{name}.1")).chain(["mercer.1".to_owned()]) {
        let page = String::from_utf8(lab.bytes(&format!("man/{name}"))).unwrap();
        assert!(page.contains(".TH") && page.contains(".SH NAME") && page.contains("mercer"), "{name}");
        assert!(listed.contains(&name), "{listed}");
    }
    assert!(String::from_utf8(lab.bytes("man/mercer-fit.1")).unwrap().contains("lambda"));
    assert_eq!(fs::read_dir(lab.path("man")).unwrap().count(), commands.len() + 1);
}

#[test]
fn the_help_of_every_command_mentions_its_options() {
    let lab = Lab::new();
    let common = ["--threads", "--seed", "--quiet", "--verbose", "--help"];
    let reading = ["--format", "--separator", "--decimal", "--no-header"];
    let cells = ["--separator", "--decimal", "--no-header"];
    let columns = ["--target", "--features", "--drop", "--weight", "--group", "--categorical"];
    let rows = ["--no-offset", "--text", "--missing", "--memory"];
    let fit = [
        "--kernel",
        "--exponent",
        "--lambda",
        "--scale",
        "--shared-ridge",
        "--criterion",
        "--unlabelled",
        "--one-standard-error",
        "--on-grid",
        "--budget",
        "--assess",
        "--journal",
        "--table",
        "--output",
        "--json",
        "--no-diagnostics",
    ];
    let path = ["--kernel", "--exponent", "--lambda", "--criterion", "--svg", "--output", "--json", "--format"];
    let compare = ["--methods", "--folds", "--repeats", "--budget", "--svg", "--output", "--json", "--format"];
    let predict = ["--output", "--name", "--json"];
    let equivalence =
        ["--from", "--to", "--lambda", "--parts", "--bootstrap", "--kernel", "--svg", "--output", "--json"];
    let expected: [(&str, Vec<&str>); 12] = [
        ("fit", [&fit[..], &columns, &rows, &reading].concat()),
        ("path", [&path[..], &columns, &rows, &cells, &["--style"]].concat()),
        ("compare", [&compare[..], &columns, &rows, &cells, &["--style"]].concat()),
        ("equivalence", [&equivalence[..], &columns, &rows, &cells, &["--style", "--format"]].concat()),
        ("distance", [&["--json"][..], &reading].concat()),
        ("predict", [&predict[..], &reading].concat()),
        ("inspect", vec!["--json"]),
        ("generate", vec!["--rows", "--noise", "--output", "friedman1", "sinc"]),
        ("demo", vec![]),
        ("list", vec!["kernels", "losses", "penalties", "criteria"]),
        ("completions", vec!["bash", "zsh", "fish"]),
        ("man", vec!["FOLDER"]),
    ];
    let top = text(&lab.ok(&["--help"]));
    for (command, options) in &expected {
        assert!(top.contains(command), "{command} is not in the help");
        for flag in ["--help", "-h"] {
            let page = text(&lab.ok(&[command, flag]));
            for option in options.iter().chain(&common) {
                assert!(page.contains(option), "mercer {command} {flag} does not mention {option}");
            }
        }
        if matches!(
            *command,
            "fit" | "predict" | "path" | "compare" | "equivalence" | "distance" | "inspect" | "generate"
        ) {
            let page = text(&lab.ok(&[command, "--help"]));
            assert!(page.contains(&format!("  mercer {command} ")), "no example: {page}");
        }
        let page = text(&lab.ok(&["help", command]));
        assert!(page.contains("Usage:"), "{command}");
        assert!(text(&lab.ok(&[command, "--version"])).contains(env!("CARGO_PKG_VERSION")));
    }
    assert!(text(&lab.ok(&["--version"])).starts_with("mercer "));
}

/// Old spellings: the lists as commands of their own, the style of tables as `--format`, intervals by `--method`.
#[test]
fn old_spellings_still_work() {
    let lab = Lab::with_table("friedman1", 40);
    for name in ["kernels", "losses", "penalties", "criteria"] {
        assert_eq!(lab.ok(&[name]).stdout, lab.ok(&["list", name]).stdout, "{name}");
    }
    let all = text(&lab.ok(&["list"]));
    assert!(["rational-quadratic", "pinball", "elastic-net", "kfold"].iter().all(|name| all.contains(name)), "{all}");
    let path = ["path", "t.csv", "--target", "y", "--lambda", "1e-3..1:4"];
    let with = |more: &[&'static str]| lab.ok(&line(&[&path, more]));
    assert_eq!(with(&["--format", "latex"]).stdout, with(&["--style", "latex"]).stdout);
    assert_eq!(with(&["--input-format", "csv"]).stdout, with(&[]).stdout);
    let table = with(&["--format", "csv"]);
    assert!(error(&table).contains("--style csv prints CSV") && table.stdout == with(&[]).stdout, "{}", error(&table));
    lab.ok(&["fit", "t.csv", "--target", "y", "-k", "gaussian", "-qo", "m.mercer"]);
    let predict = ["predict", "m.mercer", "t.csv", "--interval", "0.9", "--quiet"];
    let by = |option: &'static str| lab.ok(&line(&[&predict, &[option, "gaussian-process"]])).stdout;
    assert_eq!(by("--method"), by("--interval-method"));
}

#[test]
fn mistakes_are_answered_with_what_was_meant() {
    let lab = Lab::with_table("friedman1", 20);
    let said = |arguments: &[&str]| error(&lab.fails(arguments, 2));
    for (arguments, expected) in [
        (&["ft", "t.csv"][..], "fit"),
        (&["train", "t.csv"], "fit"),
        (&["predikt", "t.csv"], "predict"),
        (
            &["path", "t.csv", "-t", "y", "--method", "lasso"],
            "--method is an option of these commands: fit, plan; not of path",
        ),
        (&["fit", "t.csv", "--alpha", "1"], "the option for this is --lambda"),
        (&["fit", "t.csv", "--taget", "y"], "--target"),
        (&["fit", "t.csv", "-t", "y", "--kernel", "rbf"], "did you mean gaussian?"),
        (&["fit", "t.csv", "-t", "y", "--kernel", "rbf(gamma=0.5)"], "did you mean gaussian(lengthscale=1)?"),
        (&["fit", "t.csv", "-t", "y", "--kernel", "gaussian(gamma=2)"], "1/√(2·gamma): gaussian(lengthscale=0.5)"),
        (&["fit", "t.csv", "-t", "y", "--loss", "mae"], "did you mean absolute?"),
        (&["fit", "t.csv", "-t", "y", "--penalty", "l1"], "did you mean lasso?"),
        (&["fit", "t.csv", "-t", "y", "--criterion", "loocv"], "did you mean loo?"),
    ] {
        let said = said(arguments);
        assert!(said.contains(expected), "{arguments:?}: {said}");
        assert!(!said.contains("as a value, use"), "{arguments:?}: {said}");
    }
}

/// Prose is wrapped once, by the program; examples stay as they were written, on the screen and in the manual.
#[test]
fn examples_can_be_copied() {
    let lab = Lab::new();
    let help = text(&lab.ok(&["fit", "--help"]));
    let example = r#"  mercer fit t.csv --target y --loss "epsilon-insensitive(epsilon=0.01..1:5)" --kernel "gaussian(lengthscale=1..8:4)""#;
    assert!(example.len() > 100 && help.lines().any(|line| line == example), "{help}");
    assert!(!help.contains('\u{a0}'));
    // A paragraph fills its lines.
    let start = "Without --kernel, --exponent, --lambda and --criterion everything is chosen: the";
    assert!(help.lines().any(|line| line.starts_with(start) && line.len() > start.len()), "{help}");
    let lists = text(&lab.ok(&["help"]));
    assert_eq!(lists, text(&lab.ok(&["--help"])));
    for heading in ["Everyday:", "Large data:", "Theory:", "Reference:"] {
        assert!(lists.lines().any(|line| line == heading), "{heading}: {lists}");
    }
    fs::create_dir(lab.path("man")).unwrap();
    lab.ok(&["man", "man"]);
    let page = String::from_utf8(lab.bytes("man/mercer-fit.1")).unwrap();
    let lines: Vec<&str> = page.lines().collect();
    let at = lines.iter().position(|line| line.contains("epsilon=0.01..1:5") && line.contains("mercer fit")).unwrap();
    let last = |what: &str| lines[..at].iter().rposition(|line| *line == what);
    assert!(last(".EX").is_some() && last(".EX") > last(".EE"), "{page}");
    assert_eq!(
        lines.iter().filter(|line| **line == ".EX").count(),
        lines.iter().filter(|line| **line == ".EE").count()
    );
    assert!(!page.contains('\u{a0}'));
}

#[test]
fn the_demo_is_quick() {
    let lab = Lab::new();
    let started = Instant::now();
    let output = lab.ok(&["demo"]);
    assert!(started.elapsed() < Duration::from_secs(10), "{:?}", started.elapsed());
    let page = text(&output);
    for part in ["friedman1", "leave-one-out RMSE", "global minimum", "mercer fit TABLE.csv"] {
        assert!(page.contains(part), "{part}: {page}");
    }
    assert!(output.stderr.is_empty());
    assert_eq!(fs::read_dir(lab.folder.path()).unwrap().count(), 0, "the demo leaves nothing behind");
}
