//! `mercer experiment`

use std::fs;

use crate::lab::{Lab, error, text};
use crate::paths::check_svg;

const NAMES: [&str; 9] = [
    "table1",
    "figure1",
    "figure2",
    "error-curves",
    "root-search",
    "overfitting",
    "lasso-geometry",
    "losses",
    "small-sample",
];

/// A folder `sets` with a small generated set under the name of one of the paper's.
fn with_set(name: &str, rows: usize) -> Lab {
    let lab = Lab::new();
    fs::create_dir(lab.path("sets")).unwrap();
    let file = format!("sets/{name}.csv");
    lab.ok(&["generate", "friedman2", "--rows", &rows.to_string(), "--noise", "20", "--output", &file]);
    lab
}

#[test]
fn experiments_are_listed_and_unknown_names_refused() {
    let lab = Lab::new();
    let page = text(&lab.ok(&["experiment"]));
    for name in NAMES {
        assert!(page.contains(&format!("  {name} ")), "{name}: {page}");
    }
    let refused = error(&lab.fails(&["experiment", "figure3"], 2));
    assert!(refused.contains("unknown experiment") && refused.contains("figure1"), "{refused}");
    let refused = error(&lab.fails(&["experiment", "figure1", "--data", "nowhere"], 1));
    assert!(refused.contains("there is no folder nowhere"), "{refused}");
}

#[test]
fn all_write_their_tables_and_pictures_without_any_data() {
    let lab = Lab::new();
    let printed = text(&lab.ok(&["experiment", "all", "--quick", "--output", "out"]));
    for name in NAMES {
        let page = String::from_utf8(lab.bytes(&format!("out/{name}.md"))).unwrap();
        assert!(page.starts_with("# ") && page.contains("| ---"), "{name}: {page}");
        assert!(page.contains(&format!("![{name}]({name}.svg)")), "{name}: {page}");
        check_svg(&String::from_utf8(lab.bytes(&format!("out/{name}.svg"))).unwrap());
        assert!(lab.frame(&format!("out/{name}.csv")).rows() > 0, "{name}");
    }
    assert!(printed.contains("concrete, concrete_slump, yacht") && printed.contains("left out"), "{printed}");
}

#[test]
fn the_same_seed_writes_the_same_bytes() {
    let lab = with_set("concrete", 120);
    let run = |folder: &str, seed: &str, threads: &str| {
        let arguments = ["experiment", "table1", "--quick", "--data", "sets", "--output", folder];
        lab.ok(&[&arguments[..], &["--seed", seed, "--threads", threads, "--quiet"]].concat());
        ["md", "csv", "svg"].map(|ending| lab.bytes(&format!("{folder}/table1.{ending}")))
    };
    let first = run("a", "1", "1");
    assert_eq!(first, run("b", "1", "4"));
    assert_ne!(first[1], run("c", "2", "1")[1]);
}

/// The table of errors keeps its own laws: nobody is below the floor, and the paper's figures stand beside ours.
#[test]
fn nothing_that_is_chosen_beats_the_floor() {
    let lab = with_set("concrete", 150);
    let report =
        lab.json(&["experiment", "table1", "--quick", "--runs", "3", "--data", "sets", "--json"])["experiments"][0]
            .clone();
    let rows = report["tables"][0]["rows"].as_array().unwrap();
    let sets: Vec<&str> = rows.iter().map(|row| row["set"].as_str().unwrap()).collect();
    assert_eq!(sets, ["concrete", "friedman1", "friedman1_noise_free"]);
    assert!(report["skipped"].as_array().unwrap().iter().any(|name| name == "yacht"));
    for row in rows {
        let mean = |column: &str| row[column]["mean"].as_f64().unwrap();
        let floor = |column: &str| row[column].as_f64().unwrap() * (1.0 - 1e-3);
        assert!(mean("KRR") >= floor("floor") && mean("M-RLSR") >= floor("floor"), "{row}");
        assert!(mean("ours: KRR") >= floor("ours: floor") && mean("ours: M-RLSR") >= floor("ours: floor"), "{row}");
    }
    assert_eq!(rows[0]["paper: KRR"]["mean"], 0.0804);
    assert_eq!(rows[0]["paper: m"], 1.6);
}

/// Zero on the part that defined the ridge, positive on the others; and the ridge is the one of an ordinary fit.
#[test]
fn equivalence_is_weak_and_not_strong() {
    let lab = with_set("concrete", 160);
    let report = lab.json(&["experiment", "figure1", "--quick", "--data", "sets", "--json"])["experiments"][0].clone();
    let rows = report["tables"][0]["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 4);
    for row in rows {
        let number = |column: &str| row[column].as_f64().unwrap();
        assert!(number("on Z₁") <= 1e-12 * number("‖f‖ on Z₁"), "{row}");
        for part in ["on Z₂", "on Z₃", "on Z₄"] {
            assert!(number(part) > 1e-9 * number("‖f‖ on Z₁"), "{row}");
        }
        let (m, lambda) = (number("m"), number("λ"));
        let expected = 0.5 * m * lambda * number("‖f‖ on Z₁").powf(m - 2.0);
        assert!((number("λ₂ = Φ(λ, Z₁)") / expected - 1.0).abs() < 1e-9, "{row}");
    }
}

/// The three error curves have one minimum, and with all rows the two learning curves meet.
#[test]
fn equivalent_algorithms_meet_where_they_must() {
    let lab = with_set("concrete", 160);
    let of = |name: &str| {
        let report = lab.json(&["experiment", name, "--quick", "--data", "sets", "--json"]);
        report["experiments"][0]["tables"][0]["rows"].as_array().unwrap().clone()
    };
    let least: Vec<f64> = of("error-curves").iter().map(|row| row["least error"].as_f64().unwrap()).collect();
    assert!(least.len() == 3 && least.iter().all(|v| (v / least[0] - 1.0).abs() < 2e-3), "{least:?}");
    let curves = of("figure2");
    for row in curves.iter().filter(|row| row["share"] == 1.0) {
        let mean = |column: &str| row[column]["mean"].as_f64().unwrap();
        assert!((mean("M-RLSR") / mean("KRR at λ₂") - 1.0).abs() < 1e-9, "{row}");
    }
    assert!(curves.iter().any(|row| row["M-RLSR"]["mean"] != row["KRR at λ₂"]["mean"]));
}

#[test]
fn the_published_search_misses_minima() {
    let lab = Lab::new();
    let report = lab.json(&["experiment", "root-search", "--quick", "--json"]);
    let rows = report["experiments"][0]["tables"][0]["rows"].as_array().unwrap().clone();
    assert_eq!(rows.len(), 2);
    for row in &rows {
        let count = |column: &str| row[column].as_f64().unwrap();
        assert_eq!(count("problems"), 150.0);
        assert!(count("f = 0 is better") > 0.0 && count("worst excess") > 0.0, "{row}");
    }
}
