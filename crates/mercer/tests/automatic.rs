//! The automatic mode: it finds what is there, says what it tried, resumes, and survives tables that give it nothing.

mod reference;

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use mercer::auto::Metric;
use mercer::data::{Column, Frame, Roles};
use mercer::journal::Journal;
use mercer::prelude::*;
use mercer::{Fit, Fitted};
use reference::generated;

fn roles() -> Roles {
    Roles { targets: vec!["y".into()], ..Roles::default() }
}

fn friedman(rows: usize, noise: f64) -> Frame {
    generated("friedman1", rows, noise, 3)
}

fn search(found: &Fitted) -> &mercer::auto::Found {
    found.search.as_ref().unwrap()
}

fn chosen(found: &Fitted) -> &mercer::auto::Trial {
    search(found).trials.iter().find(|trial| trial.is_chosen).unwrap()
}

#[test]
fn friedman_is_learned_and_the_irrelevant_features_are_seen_to_be() {
    let found = Fit::automatic().fit_frame(&friedman(150, 0.5), &roles()).unwrap();
    assert!(search(&found).trials.len() >= 10 && !search(&found).ran_out);
    let best = chosen(&found);
    assert_eq!(best.metric, Metric::Each, "{best:?}");
    let least = search(&found).trials.iter().filter_map(|trial| trial.rmse).fold(f64::INFINITY, f64::min);
    assert!(best.rmse.unwrap() < 1.3 * least);
    // x6 … x10 are noise.
    let is_noise = |name: &str| ["x6", "x7", "x8", "x9", "x10"].contains(&name);
    let noise: f64 = search(&found).mean_gradient.iter().filter(|(name, _)| is_noise(name)).map(|(_, s)| s).sum();
    assert!(noise < 0.1, "{:?}", search(&found).mean_gradient);
    let columns = search(&found).importance.clone().unwrap().columns;
    let noise: f64 = columns.iter().filter(|column| is_noise(&column.column)).map(|column| column.share).sum();
    assert!(noise < 0.05 && columns.len() == 10, "{columns:?}");
    assert!(
        columns[..5].iter().all(|column| !is_noise(&column.column) && column.increase > 2.0 * column.standard_error)
    );
    let fresh = generated("friedman1", 500, 0.0, 99);
    let Column::Number(truth) = fresh.column("y").unwrap() else { panic!("numbers") };
    let predicted = found.model.predict_frame(&fresh).unwrap();
    let mse = truth.iter().zip(&predicted[0]).map(|(y, f)| (y - f.unwrap()).powi(2)).sum::<f64>() / 500.0;
    assert!(mse.sqrt() < 0.9, "{}", mse.sqrt());
}

/// Remembers in memory, and stops the run after a number of records.
#[derive(Debug, Default)]
struct Memory {
    known: Mutex<HashMap<String, Vec<f64>>>,
    recalled: AtomicUsize,
}

impl Journal for Memory {
    fn recall(&self, key: &str) -> Option<Vec<f64>> {
        let known = self.known.lock().unwrap().get(key).cloned();
        self.recalled.fetch_add(usize::from(known.is_some()), Ordering::Relaxed);
        known
    }
    fn record(&self, key: &str, numbers: &[f64]) {
        self.known.lock().unwrap().insert(key.to_owned(), numbers.to_vec());
    }
}

#[test]
fn a_stopped_search_goes_on_and_ends_with_the_same_bits() {
    let frame = friedman(60, 1.0);
    let bytes = |found: &Fitted| mercer::format::to_bytes(&found.model).unwrap();
    let whole = bytes(&Fit::automatic().fit_frame(&frame, &roles()).unwrap());
    for stop_after in [0, 3, 7, 12, 20] {
        let memory = Arc::new(Memory::default());
        let watched = memory.clone();
        let stopping: mercer::Observer = Arc::new(move |_| watched.known.lock().unwrap().len() < stop_after);
        let stopped = Fit::automatic().journal(memory.clone()).observer(stopping).fit_frame(&frame, &roles());
        assert!(matches!(stopped, Err(Error::Interrupted)) || memory.known.lock().unwrap().len() < stop_after);
        let resumed = Fit::automatic().journal(memory.clone()).fit_frame(&frame, &roles()).unwrap();
        assert!(stop_after == 0 || memory.recalled.load(Ordering::Relaxed) > 0);
        assert_eq!(bytes(&resumed), whole, "stopped after {stop_after} records");
    }
}

#[test]
fn the_same_bits_with_any_number_of_threads() {
    let frame = friedman(50, 1.0);
    let run = || mercer::format::to_bytes(&Fit::automatic().fit_frame(&frame, &roles()).unwrap().model).unwrap();
    let pools =
        [1, 2, 3].map(|threads| rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap().install(run));
    assert!(pools.iter().all(|bytes| *bytes == pools[0]));
}

#[test]
fn tables_that_give_little_still_give_a_model() {
    let numbers = |values: Vec<f64>| Column::Number(values);
    let table = |rows: usize, x: fn(usize) -> f64, y: fn(usize) -> f64| {
        let mut frame = Frame::new(rows);
        frame.push("x", numbers((0..rows).map(x).collect())).unwrap();
        frame.push("y", numbers((0..rows).map(y).collect())).unwrap();
        frame
    };
    let quick = || Fit::automatic().budget(Duration::from_millis(200));
    for (what, frame) in [
        ("one row", table(1, |_| 1.0, |_| 2.0)),
        ("two rows", table(2, |i| i as f64, |i| i as f64)),
        ("five rows", table(5, |i| i as f64, |i| (i * i) as f64)),
        ("constant y", table(30, |i| i as f64, |_| 5.0)),
        ("constant x", table(30, |_| 1.0, |i| i as f64)),
        ("all rows equal, y not", table(40, |_| 1.0, |i| (i % 2) as f64)),
        ("few different rows", table(40, |i| (i % 2) as f64, |i| (i % 2) as f64)),
        ("a line", table(200, |i| i as f64, |i| 3.0 * i as f64)),
        ("huge numbers", table(40, |i| 1e140 * i as f64, |i| 1e140 * (i as f64).sin())),
    ] {
        let found = quick().fit_frame(&frame, &roles()).unwrap_or_else(|error| panic!("{what}: {error}"));
        let predicted = found.model.predict_frame(&frame).unwrap();
        assert!(predicted[0].iter().all(|v| v.unwrap().is_finite()), "{what}");
    }
    let text = Fit::automatic().text_as(TextAs::Equality).fit_frame(&table(9, |i| i as f64, |i| i as f64), &roles());
    assert!(text.unwrap_err().to_string().contains("one-hot"));
}

#[test]
fn weights_groups_and_several_targets() {
    let mut frame = friedman(80, 0.5);
    let Column::Number(y) = frame.column("y").unwrap().clone() else { panic!("numbers") };
    frame.push("z", Column::Number(y.iter().map(|v| 1e6 * v.sin()).collect())).unwrap();
    frame.push("w", Column::Number((0..80).map(|i| 0.5 + f64::from(i % 3)).collect())).unwrap();
    frame.push("g", Column::Text((0..80).map(|i| Some(format!("group {}", i % 9))).collect())).unwrap();
    let roles = Roles {
        targets: vec!["y".into(), "z".into()],
        weight: Some("w".into()),
        group: Some("g".into()),
        ..Roles::default()
    };
    let found = Fit::automatic().fit_frame(&frame, &roles).unwrap();
    assert_eq!(found.model.summaries().len(), 2);
    assert!(found.model.summaries().iter().all(|summary| summary.certificate.holds));
}

/// y follows the logarithm of a skewed feature: a metric of the feature itself cannot fit both of its ends.
#[test]
fn logarithms_of_skewed_columns_are_tried_and_taken_where_they_help() {
    let x = Matrix::from_fn(120, 2, |i, j| if j == 0 { (0.08 * i as f64).exp() } else { ((i * 37) % 41) as f64 });
    let y = Matrix::from_fn(120, 1, |i, _| (0.24 * i as f64).sin() + 0.02 * x.get(i, 1) + 0.01 * ((i * i) % 7) as f64);
    let found = Fit::automatic().fit_weighted(&x, &y, None).unwrap();
    assert_eq!(chosen(&found).scale, Scale::Log, "{:?}", search(&found).trials);
    assert_eq!(found.model.encoder().scale, Scale::Log);
    // Without a skewed column there is nothing to try.
    let even = Fit::automatic().fit_frame(&friedman(60, 0.5), &roles()).unwrap();
    assert!(search(&even).trials.iter().all(|trial| trial.scale != Scale::Log));
}

/// A product over hundreds of features is no kernel of f64; the candidates that are compete without it.
#[test]
fn many_more_columns_than_rows() {
    let x = Matrix::from_fn(6, 500, |i, j| (0.618 * (i + 1) as f64 * (1.0 + 0.37 * j as f64)).fract());
    let y = Matrix::from_fn(6, 1, |i, _| (3.0 * x.get(i, 0)).sin());
    let automated = Fit::automatic().budget(Duration::from_secs(5)).fit_weighted(&x, &y, None).unwrap();
    assert!(search(&automated).trials.iter().any(|trial| trial.is_chosen));
}

/// The plain models that others are compared with are judged however short the time is, and a watcher hears how far the search is.
#[test]
fn baselines_come_first_and_the_best_so_far_is_told() {
    let heard: Arc<Mutex<Vec<mercer::auto::Standing>>> = Arc::default();
    let ear = heard.clone();
    let watch: mercer::auto::SearchObserver = Arc::new(move |now| ear.lock().unwrap().push(now.clone()));
    let watched = Fit::automatic().budget(Duration::from_millis(10)).search_observer(watch);
    let found = watched.fit_frame(&friedman(200, 0.5), &roles()).unwrap();
    assert!(search(&found).ran_out);
    let linear = search(&found).trials.iter().find(|trial| trial.family == "linear").unwrap();
    assert!(linear.rmse.is_some(), "{:?}", search(&found).trials);
    let heard = heard.lock().unwrap();
    assert!(heard[0].learned == 1 && heard[0].judged == 0 && heard[0].candidates > 4, "{heard:?}");
    let judged: Vec<_> = heard.iter().filter_map(|now| now.best.clone()).collect();
    assert!(judged[0].0 == "linear" && close(judged[0].1, linear.rmse.unwrap()), "{judged:?}");
    assert!(judged.windows(2).all(|pair| pair[1].1 <= pair[0].1));
    let least = search(&found).trials.iter().filter_map(|trial| trial.rmse).fold(f64::INFINITY, f64::min);
    assert!(close(judged.last().unwrap().1, least));
}

fn close(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-9 * a.abs()
}
