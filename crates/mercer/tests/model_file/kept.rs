//! Targets and weights behind the points: files without them are as good as ever for prediction, and forged ones are refused.

use mercer::format::{from_bytes, to_bytes};
use mercer::prelude::*;
use mercer::{DataFile, Provenance};
use serde_json::json;

use crate::parts::Parts;
use crate::samples::{bits, small_samples};

/// The file as it was written before targets were kept.
fn older(parts: &Parts, numbers: usize) -> Parts {
    let mut header = parts.json();
    let fields = header.as_object_mut().unwrap();
    fields.remove("keeps_targets");
    fields.remove("keeps_weights");
    let mut older = parts.with_json(&header);
    older.numbers.truncate(older.numbers.len() - 8 * numbers);
    older
}

#[test]
fn older_files_predict_the_same_bits() {
    let mut with_targets = 0;
    for sample in small_samples() {
        let parts = Parts::of_sample(&sample);
        let targets = sample.model.summaries().len();
        let keeps = parts.json()["keeps_targets"] == json!(true);
        assert_eq!(sample.model.training().is_some(), keeps, "{}", sample.name);
        if !keeps {
            continue;
        }
        with_targets += 1;
        let old = from_bytes(&older(&parts, targets * sample.model.points()).bytes()).unwrap();
        assert!(old.training().is_none());
        for table in &sample.tables {
            assert_eq!(bits(&old, table), bits(&sample.model, table), "{}", sample.name);
        }
    }
    assert!(with_targets >= 4);
}

#[test]
fn weights_come_back_and_forged_ones_do_not() {
    let x = Matrix::from_fn(6, 1, |i, _| i as f64);
    let y = Matrix::from_fn(6, 1, |i, _| (i as f64).sin());
    let weights = [1.0, 2.0, 1.0, 3.0, 1.0, 1.0];
    let fit = Fit::new(Gaussian::lengthscale(1.0)).lambda(0.1);
    let model = fit.fit_weighted(&x, &y, Some(&weights)).unwrap().model;
    let bytes = to_bytes(&model).unwrap();
    assert!(from_bytes(&bytes).unwrap().training().unwrap().is_weighted());
    let parts = Parts::of_sample(&crate::samples::Sample { name: "weighted".into(), model, tables: Vec::new() });
    let last = parts.numbers.len() - 8;
    for wrong in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        let mut forged = parts.clone();
        forged.numbers[last..].copy_from_slice(&wrong.to_le_bytes());
        assert!(from_bytes(&forged.bytes()).is_err(), "a weight of {wrong}");
    }
    for (targets, weights) in [(false, true), (true, false), (false, false)] {
        let mut header = parts.json();
        header["keeps_targets"] = json!(targets);
        header["keeps_weights"] = json!(weights);
        assert!(from_bytes(&parts.with_json(&header).bytes()).is_err(), "{targets} {weights}");
    }
}

/// Files of before, and of programs that say nothing of it, are read; what is said comes back and is not in the way of predictions.
#[test]
fn where_a_model_comes_from_is_kept() {
    let sample = &small_samples()[0];
    let plain = to_bytes(&sample.model).unwrap();
    assert!(Parts::of_sample(sample).json().get("provenance").is_none());
    let read = from_bytes(&plain).unwrap();
    assert_eq!(*read.provenance(), Provenance::of_this_version());
    let mut known = read.clone();
    let data = vec![DataFile::of_bytes("a/folder/t.csv", b"x,y\n1,2\n")];
    let command = Some("mercer fit t.csv --target y".to_owned());
    known.set_provenance(Provenance { command, seed: Some(3), data, ..Provenance::of_this_version() });
    let again = from_bytes(&to_bytes(&known).unwrap()).unwrap();
    assert_eq!(again.provenance(), known.provenance());
    assert_eq!(again.provenance().data[0].name, "t.csv");
    // printf 'x,y\n1,2\n' | sha256sum
    assert_eq!(again.provenance().data[0].sha256, "81bf9fa83c6f7f151bd491a98cd7d933de3965289e3ebd77c6c425f7eaa16392");
    for table in &sample.tables {
        assert_eq!(again.predict_frame(table).unwrap(), sample.model.predict_frame(table).unwrap());
    }
    // Without the words the bytes are those of before.
    known.set_provenance(Provenance::of_this_version());
    assert_eq!(to_bytes(&known).unwrap(), plain);
}
