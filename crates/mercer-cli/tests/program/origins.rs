//! What a model file says of its making.

use serde_json::json;

use crate::lab::{Lab, hash, line, text};

#[test]
fn a_model_knows_command_seed_and_data() {
    let lab = Lab::with_table("friedman1", 40);
    std::fs::create_dir(lab.path("data")).unwrap();
    std::fs::copy(lab.path("t.csv"), lab.path("data/train.csv")).unwrap();
    let fit = ["fit", "data/train.csv", "-t", "y", "--kernel", "gaussian(lengthscale=2)", "--seed", "7"];
    let report = lab.json(&line(&[&fit, &["--output", "data/m.mercer", "--json", "--threads", "2"]]));
    let expected = json!({
        "program": concat!("mercer ", env!("CARGO_PKG_VERSION")),
        "command": "mercer fit train.csv --target y --kernel 'gaussian(lengthscale=2)' --seed 7",
        "seed": 7,
        "data": [{ "name": "train.csv", "sha256": hash(&lab.bytes("t.csv")) }],
    });
    assert_eq!(report["provenance"], expected);
    assert_eq!(lab.json(&["inspect", "data/m.mercer", "--json"])["provenance"], expected);
    let page = text(&lab.ok(&["inspect", "data/m.mercer"]));
    for part in ["seed 7", "mercer fit train.csv --target y", &hash(&lab.bytes("t.csv"))] {
        assert!(page.contains(part), "{part}: {page}");
    }
    // No folder, no clock, no thread: the same bytes from elsewhere, later, on one thread.
    lab.ok(&line(&[&fit, &["--output", "other.mercer", "--quiet", "--threads", "1"]]));
    assert_eq!(lab.bytes("other.mercer"), lab.bytes("data/m.mercer"));
    // The function is that of a model without a word of it; single precision keeps the words.
    assert!(lab.model("other.mercer").len() < lab.bytes("other.mercer").len());
    lab.ok(&["export", "other.mercer", "--precision", "f32", "--output", "small.mercer"]);
    assert_eq!(lab.json(&["inspect", "small.mercer", "--json"])["provenance"], expected);

    // From standard input, with another loss, with a penalty, and from moments.
    let table = lab.bytes("t.csv");
    let piped = lab.ok_on(&["fit", "-", "-t", "y", "--loss", "absolute", "--lambda", "0.1", "--json"], &table);
    let piped: serde_json::Value = serde_json::from_slice(&piped.stdout).unwrap();
    assert_eq!(piped["provenance"]["data"], json!([{ "name": "-", "sha256": hash(&table) }]));
    let lasso = lab.json(&["fit", "t.csv", "-t", "y", "--method", "lasso", "--json"]);
    assert_eq!(lasso["provenance"]["command"], "mercer fit t.csv --target y --method lasso");
    lab.ok(&["moments", "t.csv", "-t", "y", "--landmarks", "10", "--output", "all.moments", "--quiet"]);
    lab.ok(&["fit", "all.moments", "--output", "of.mercer", "--quiet"]);
    let of = lab.json(&["inspect", "of.mercer", "--json"]);
    assert_eq!(of["provenance"]["data"], json!([{ "name": "all.moments", "sha256": hash(&lab.bytes("all.moments")) }]));
    lab.ok(&["stream", "t.csv", "-t", "y", "--warm-up", "20", "--output", "s.mercer", "--quiet"]);
    assert_eq!(
        lab.json(&["inspect", "s.mercer", "--json"])["provenance"]["command"],
        "mercer stream t.csv --target y --warm-up 20"
    );
}
