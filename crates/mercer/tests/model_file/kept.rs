//! Targets and weights behind the points: files without them are as good as ever for prediction, and forged ones are refused.

use mercer::format::{from_bytes, to_bytes};
use mercer::prelude::*;
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
