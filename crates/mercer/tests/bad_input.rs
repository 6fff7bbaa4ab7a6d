//! Bad and extreme inputs (C1): each is either refused in a sentence that names the reason and the place, or
//! fitted to finite numbers. Nothing panics, nothing takes over ten seconds, and what is certified is never worse
//! than the zero function.

use std::collections::{BTreeMap, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use mercer::data::Column;
use mercer::format;
use mercer::kernel::combine::Scaled;
use mercer::kernel::radial::{Lengthscale, Radial, RationalQuadraticProfile};
use mercer::kernel::special::{Equality, Precomputed};
use mercer::kernel::{self, SharedKernel};
use mercer::prelude::*;

// ---- what is asked of every input -----------------------------------------------------------------------------

/// What must come out.
#[derive(Clone, Copy)]
enum Expect {
    /// Refused, with all of these in the message.
    Refused(&'static [&'static str]),
    /// A fit.
    Finishes,
    /// A fit, or a refusal with one of these in the message.
    FinishesOr(&'static [&'static str]),
}
use Expect::{Finishes, FinishesOr, Refused};

/// Reasons that belong to kernel values or features beyond what f64 can hold.
const TOO_LARGE: &[&str] = &["kernel values reach", "scale the features", "which f64 cannot scale"];

/// The effective ridge of such a λ and exponent may itself be beyond what f64 can hold.
const OUT_OF_RANGE: Expect = FinishesOr(&["λ", "lambda", "exponent", "ridge"]);

/// Weights whose sizes differ by more than the digits of f64 may be refused, for that reason.
const WEIGHTS: &[&str] = &["weight"];

#[derive(Default)]
struct Tally {
    tried: usize,
    finished: usize,
    refused: usize,
    wrong: Vec<String>,
    seconds: f64,
}

impl Tally {
    fn add(&mut self, name: &str, expect: Expect, outcome: Result<Outcome, String>) {
        self.tried += 1;
        let problem = match (expect, outcome) {
            (_, Err(problem)) => Some(problem),
            (Finishes | FinishesOr(_), Ok(Outcome::Finished)) => {
                self.finished += 1;
                None
            }
            (Refused(_), Ok(Outcome::Finished)) => Some("was accepted".into()),
            (Finishes, Ok(Outcome::Refused(message))) => Some(format!("was refused: {message}")),
            (Refused(parts), Ok(Outcome::Refused(message))) => {
                self.refused += 1;
                let absent: Vec<&&str> = parts.iter().filter(|part| !message.contains(**part)).collect();
                (!absent.is_empty()).then(|| format!("the refusal lacks {absent:?}: {message}"))
            }
            (FinishesOr(reasons), Ok(Outcome::Refused(message))) => {
                self.refused += 1;
                let named = reasons.iter().any(|reason| message.contains(reason));
                (!named).then(|| format!("the refusal names no reason: {message}"))
            }
        };
        self.wrong.extend(problem.map(|problem| format!("{name}: {problem}")));
    }

    fn finish(&self, tried: usize) {
        let seconds = self.seconds;
        println!("{} tried, {} finished, {} refused, {seconds:.1} s", self.tried, self.finished, self.refused);
        // The same trouble of many estimators is one trouble.
        let mut kinds: BTreeMap<String, (usize, &String)> = BTreeMap::new();
        for line in &self.wrong {
            let (case, rest) = line.split_once(" | ").unwrap_or((line, ""));
            let problem = rest.split_once(": ").map_or("", |(_, problem)| problem);
            let problem: String = problem.chars().filter(|c| !c.is_ascii_digit()).take(90).collect();
            kinds.entry(format!("{case} | {problem}")).or_insert((0, line)).0 += 1;
        }
        let shown: Vec<String> = kinds.values().map(|(count, first)| format!("{count} × such as {first}")).collect();
        assert!(self.wrong.is_empty(), "{} of {} are wrong: {shown:#?}", self.wrong.len(), self.tried);
        assert_eq!(self.tried, tried, "the number of cases changed");
        assert_eq!(self.finished + self.refused, tried);
    }
}

/// How a case ended, if nothing is wrong with that by itself.
enum Outcome {
    Finished,
    Refused(String),
}

type Job = Box<dyn FnOnce() -> Result<Outcome, String> + Send>;

/// Runs the jobs one after the other; none may panic or take over ten seconds.
fn run_all(jobs: Vec<(String, Expect, Job)>) -> Tally {
    let queue = Arc::new(Mutex::new(VecDeque::from_iter(jobs)));
    let started = Instant::now();
    let mut tally = Tally::default();
    let mut hung = 0;
    while hung < 6 {
        let (send, receive) = mpsc::channel();
        let mine = Arc::clone(&queue);
        // Not joined: a hung job must not hang the test.
        thread::spawn(move || {
            loop {
                let Some((name, expect, job)) = mine.lock().unwrap().pop_front() else { return };
                let _ = send.send((name.clone(), expect, None));
                let outcome = catch_unwind(AssertUnwindSafe(job)).unwrap_or_else(|_| Err("panicked".into()));
                if send.send((name, expect, Some(outcome))).is_err() {
                    return;
                }
            }
        });
        let mut current = None;
        loop {
            match receive.recv_timeout(Duration::from_secs(10)) {
                Ok((name, expect, None)) => current = Some((name, expect)),
                Ok((name, expect, Some(outcome))) => tally.add(&name, expect, outcome),
                Err(RecvTimeoutError::Disconnected) => {
                    tally.seconds = started.elapsed().as_secs_f64();
                    return tally;
                }
                Err(RecvTimeoutError::Timeout) => break,
            }
        }
        let (name, expect) = current.expect("a job that hangs has begun");
        tally.add(&name, expect, Err("no answer within ten seconds".into()));
        hung += 1;
        // One hung estimator is enough of one input.
        let case = |name: &str| name.split(" | ").next().map(str::to_owned);
        let mut left = queue.lock().unwrap();
        let (same, others): (Vec<_>, Vec<_>) = left.drain(..).partition(|(other, ..)| case(other) == case(&name));
        left.extend(others);
        for (other, expect, _) in same {
            tally.add(&other, expect, Err("not tried: another estimator hangs on this input".into()));
        }
    }
    panic!("no answer within ten seconds, {hung} times: {:#?}", tally.wrong);
}

// ---- judging a fit --------------------------------------------------------------------------------------------

/// Whether a message is a sentence for a person.
fn is_sentence(message: &str) -> bool {
    let words = message.split_whitespace().count();
    words >= 4
        && message.len() < 1000
        && !["Err(", "Some(", "None", "unwrap", "panicked"].iter().any(|w| message.contains(w))
}

fn refusal(error: &Error) -> Result<Outcome, String> {
    let message = error.to_string();
    if is_sentence(&message) { Ok(Outcome::Refused(message)) } else { Err(format!("not a sentence: {message:?}")) }
}

/// Every number of a summary, with its name.
fn numbers(summary: &Summary) -> Vec<(&'static str, f64)> {
    let certificate = &summary.certificate;
    let mut all = vec![
        ("lambda", summary.lambda),
        ("exponent", summary.exponent),
        ("norm", summary.norm),
        ("objective", summary.objective),
        ("intercept", summary.intercept),
        ("train_rmse", summary.train_rmse),
        ("target_range", summary.target_range[0]),
        ("target_range", summary.target_range[1]),
        ("root_residual", certificate.root_residual),
        ("solve_residual", certificate.solve_residual),
        ("condition", certificate.condition),
        ("digits", certificate.digits),
    ];
    all.extend(summary.stationary_ridges.iter().map(|ridge| ("stationary_ridges", *ridge)));
    let optional = [
        ("effective_ridge", summary.effective_ridge),
        ("dof", summary.dof),
        ("train_r2", summary.train_r2),
        ("loo_rmse", summary.loo_rmse),
        ("loo_r2", summary.loo_r2),
        ("decomposition_residual", certificate.decomposition_residual),
        ("orthogonality", certificate.orthogonality),
    ];
    all.extend(optional.into_iter().filter_map(|(name, number)| Some((name, number?))));
    all
}

/// Root mean square of y − b (weighted) for the b that suits the zero function best.
fn zero_rms(y: &[f64], weights: Option<&[f64]>, offset: bool) -> f64 {
    let size = y.iter().fold(0.0, |max: f64, v| max.max(v.abs()));
    if size == 0.0 {
        return 0.0;
    }
    let total: f64 = weights.map_or(y.len() as f64, |w| w.iter().sum());
    let share = |i: usize| weights.map_or(1.0, |w| w[i]) / total;
    let scaled: Vec<f64> = y.iter().map(|v| v / size).collect();
    let mean = if offset { scaled.iter().enumerate().map(|(i, v)| share(i) * v).sum::<f64>() } else { 0.0 };
    size * scaled.iter().enumerate().map(|(i, v)| share(i) * (v - mean) * (v - mean)).sum::<f64>().sqrt()
}

/// All that must hold for a fit, whatever went into it. `new` are rows it has not seen.
fn judge(result: Result<Fitted>, training: &Frame, new: &[Frame]) -> Result<Outcome, String> {
    let fitted = match result {
        Ok(fitted) => fitted,
        Err(error) => return refusal(&error),
    };
    for (t, summary) in fitted.model.summaries().iter().enumerate() {
        let infinite: Vec<(&str, f64)> = numbers(summary).into_iter().filter(|(_, v)| !v.is_finite()).collect();
        if !infinite.is_empty() {
            return Err(format!("summary of {} has {infinite:?}", summary.target));
        }
        if !summary.certificate.holds && summary.certificate.reason.as_ref().is_none_or(|reason| !is_sentence(reason)) {
            return Err(format!("without certificate and without reason: {:?}", summary.certificate));
        }
        if summary.certificate.holds {
            let (y, weights) = (fitted.design.y.col(t), fitted.design.weights.as_deref());
            let zero = zero_rms(y, weights, summary.has_offset);
            // Roots, because the squares of tiny targets underflow.
            let slack = 1.0 + 4.0 * 10_f64.powf(-summary.certificate.digits) + 1e-9;
            let largest = y.iter().fold(0.0, |max: f64, v| max.max(v.abs()));
            let reached = summary.objective.sqrt().max(summary.train_rmse);
            if reached > zero * slack + 1e-13 * largest {
                return Err(format!("certified, but worse than the zero function: {reached:e} against {zero:e}"));
            }
        }
    }
    let own = fitted.model.predict_frame(training);
    let own = own.map_err(|error| format!("fitted, but cannot predict its own rows: {error}"))?;
    let mut predicted = 0;
    for value in own.iter().flatten().flatten() {
        if !value.is_finite() {
            return Err(format!("predicts {value} for a training row"));
        }
        predicted += 1;
    }
    if predicted == 0 {
        return Err("predicts nothing for its training rows".into());
    }
    for table in new {
        match fitted.model.predict_frame(table) {
            Ok(columns) => {
                if let Some(value) = columns.iter().flatten().flatten().find(|value| !value.is_finite()) {
                    return Err(format!("predicts {value} for a new row"));
                }
            }
            Err(error) => {
                let message = error.to_string();
                if !(message.contains("row ") && message.contains("column") && is_sentence(&message)) {
                    return Err(format!("refuses a new row without saying which: {message}"));
                }
            }
        }
    }
    let bytes = format::to_bytes(&fitted.model).map_err(|error| format!("fitted, but cannot be saved: {error}"))?;
    let again = format::from_bytes(&bytes).map_err(|error| format!("saved, but does not load: {error}"))?;
    if again.predict_frame(training).ok().as_ref() != Some(&own) {
        return Err("predicts other numbers after saving".into());
    }
    Ok(Outcome::Finished)
}

// ---- tables ---------------------------------------------------------------------------------------------------

#[derive(Clone)]
struct Data {
    x: Matrix,
    y: Matrix,
    weights: Option<Vec<f64>>,
}

/// n rows of p features without anything wrong with them.
fn smooth(n: usize, p: usize) -> Data {
    // Weyl sequences: spread out, and the same everywhere.
    let x = Matrix::from_fn(n, p, |i, j| (0.618_033_988_75 * (i + 1) as f64 * (1.0 + 0.37 * j as f64)).fract());
    let y = (0..n).map(|i| (0..p.min(3)).map(|j| (3.0 * x.get(i, j)).sin()).sum::<f64>()).collect();
    Data { x, y: Matrix::column_vector(y), weights: None }
}

impl Data {
    fn x(mut self, change: impl Fn(usize, usize, f64) -> f64) -> Self {
        self.x = Matrix::from_fn(self.x.rows(), self.x.cols(), |i, j| change(i, j, self.x.get(i, j)));
        self
    }

    fn y(mut self, change: impl Fn(usize, f64) -> f64) -> Self {
        self.y = Matrix::from_fn(self.y.rows(), self.y.cols(), |i, j| change(i, self.y.get(i, j)));
        self
    }

    fn weights(mut self, weight: impl Fn(usize) -> f64) -> Self {
        self.weights = Some((0..self.x.rows()).map(weight).collect());
        self
    }
}

fn frame(x: &Matrix) -> Frame {
    let mut frame = Frame::new(x.rows());
    for j in 0..x.cols() {
        frame.push(format!("x{}", j + 1), Column::Number(x.col(j).to_vec())).unwrap();
    }
    frame
}

/// Rows that are not in training: between two rows, beyond one, at the origin, far out.
fn new_rows(x: &Matrix) -> Vec<Frame> {
    if x.rows() == 0 {
        return Vec::new();
    }
    let last = x.rows() - 1;
    let row = |value: &dyn Fn(usize) -> f64| frame(&Matrix::from_fn(1, x.cols(), |_, j| value(j)));
    vec![
        row(&|j| x.get(0, j) / 2.0 + x.get(last, j) / 2.0),
        row(&|j| 1.5 * x.get(0, j)),
        row(&|_| 0.0),
        row(&|j| x.get(0, j) + 1e6),
    ]
}

// ---- estimators -----------------------------------------------------------------------------------------------

const KERNELS: [&str; 7] = [
    "gaussian(lengthscale=0.8)",
    "gaussian(lengthscale=mean)",
    "gaussian(lengthscale=median)",
    "linear",
    "polynomial",
    "additive-spline",
    "matern32",
];
const EXPONENTS: [f64; 5] = [0.5, 1.0, 1.5, 2.0, 3.0];

/// Every kernel with every exponent, λ given or chosen, with and without offset.
fn estimators() -> Vec<(String, Fit)> {
    let mut all = Vec::new();
    for spec in KERNELS {
        for exponent in EXPONENTS {
            for lambda in [Some(0.01), None] {
                for offset in [true, false] {
                    let mut fit = Fit::with_shared(kernel::parse(spec).unwrap()).exponent(exponent);
                    if let Some(lambda) = lambda {
                        fit = fit.lambda(lambda);
                    }
                    if !offset {
                        fit = fit.without_offset();
                    }
                    let name = format!(
                        "{spec}, exponent {exponent}, λ {}, {} offset",
                        lambda.map_or("chosen".into(), |l: f64| l.to_string()),
                        if offset { "with" } else { "without" }
                    );
                    all.push((name, fit));
                }
            }
        }
    }
    all
}

fn job(fit: Fit, data: &Data) -> Job {
    let data = data.clone();
    Box::new(move || {
        let result = fit.fit_weighted(&data.x, &data.y, data.weights.as_deref());
        judge(result, &frame(&data.x), &new_rows(&data.x))
    })
}

/// Each input with each estimator.
fn cross(inputs: &[(&'static str, Expect, Data)]) -> Vec<(String, Expect, Job)> {
    let estimators = estimators();
    let mut jobs = Vec::new();
    for (name, expect, data) in inputs {
        for (estimator, fit) in &estimators {
            jobs.push((format!("{name} | {estimator}"), *expect, job(fit.clone(), data)));
        }
    }
    jobs
}

const ESTIMATORS: usize = 7 * 5 * 2 * 2;

// ---- the inputs -----------------------------------------------------------------------------------------------

#[test]
fn numbers_that_are_not() {
    let base = || smooth(12, 2);
    let at = |row: usize, column: usize, value: f64| {
        base().x(move |i, j, x| if (i, j) == (row, column) { value } else { x })
    };
    let inputs = [
        ("NaN in x", Refused(&["row 3", "\"x2\"", "missing"]), at(2, 1, f64::NAN)),
        ("∞ in x", Refused(&["row 5", "\"x1\"", "inf is not a finite number"]), at(4, 0, f64::INFINITY)),
        ("−∞ in x", Refused(&["row 12", "\"x2\"", "-inf is not a finite number"]), at(11, 1, f64::NEG_INFINITY)),
        ("NaN everywhere in x", Refused(&["row 1", "\"x1\"", "missing"]), base().x(|_, _, _| f64::NAN)),
        ("NaN in y", Refused(&["row 4", "\"y\"", "missing"]), base().y(|i, y| if i == 3 { f64::NAN } else { y })),
        (
            "∞ in y",
            Refused(&["row 2", "\"y\"", "not a finite number"]),
            base().y(|i, y| if i == 1 { f64::INFINITY } else { y }),
        ),
        (
            "−∞ in y",
            Refused(&["row 1", "\"y\"", "not a finite number"]),
            base().y(|i, y| if i == 0 { f64::NEG_INFINITY } else { y }),
        ),
        (
            "NaN in the weights",
            Refused(&["row 7", "\"weight\"", "missing"]),
            base().weights(|i| if i == 6 { f64::NAN } else { 1.0 }),
        ),
        (
            "∞ in the weights",
            Refused(&["row 7", "\"weight\"", "finite"]),
            base().weights(|i| if i == 6 { f64::INFINITY } else { 1.0 }),
        ),
        (
            "−∞ in the weights",
            Refused(&["row 1", "\"weight\"", "finite"]),
            base().weights(|i| if i == 0 { f64::NEG_INFINITY } else { 1.0 }),
        ),
    ];
    run_all(cross(&inputs)).finish(10 * ESTIMATORS);
}

#[test]
fn shapes() {
    let base = || smooth(12, 2);
    let shaped = |n: usize, p: usize, rows: usize, targets: usize| Data {
        x: Matrix::from_fn(n, p, |i, j| i as f64 + 0.1 * j as f64),
        y: Matrix::from_fn(rows, targets, |i, t| (i * (t + 1)) as f64),
        weights: None,
    };
    let mut short_weights = base();
    short_weights.weights = Some(vec![1.0; 11]);
    let mut long_weights = base();
    long_weights.weights = Some(vec![1.0; 13]);
    let inputs = [
        ("no rows", Refused(&["no rows"]), shaped(0, 2, 0, 1)),
        ("no rows, no columns", Refused(&["at least one feature"]), shaped(0, 0, 0, 1)),
        ("no columns", Refused(&["at least one feature column"]), shaped(5, 0, 5, 1)),
        ("no target", Refused(&["must be a target"]), shaped(5, 2, 5, 0)),
        ("y too short", Refused(&["y must have", "(6)", "got 5"]), shaped(6, 2, 5, 1)),
        ("y too long", Refused(&["y must have", "(6)", "got 7"]), shaped(6, 2, 7, 1)),
        ("y empty", Refused(&["y must have", "got 0"]), shaped(6, 2, 0, 1)),
        ("too few weights", Refused(&["weights must have", "(12)", "got 11"]), short_weights),
        ("too many weights", Refused(&["weights must have", "(12)", "got 13"]), long_weights),
        ("one row", Finishes, smooth(1, 2)),
        ("two rows", Finishes, smooth(2, 2)),
        ("three rows", Finishes, smooth(3, 1)),
        ("one row, weighted", Finishes, smooth(1, 2).weights(|_| 3.0)),
        ("two rows, weighted", Finishes, smooth(2, 2).weights(|i| 0.5 + i as f64)),
        ("one row with weight, one without", Finishes, smooth(2, 2).weights(|i| i as f64)),
        ("many more columns than rows", Finishes, smooth(6, 500)),
        ("two targets", Finishes, shaped(8, 2, 8, 2)),
        (
            "two targets, one of them constant",
            Finishes,
            Data { y: Matrix::from_fn(12, 2, |i, t| (i * t) as f64 + 1.0), ..smooth(12, 2) },
        ),
        (
            "targets of 1e-150 and 1e150",
            Finishes,
            Data { y: Matrix::from_fn(12, 2, |i, t| (i as f64).sin() * [1e-150, 1e150][t]), ..smooth(12, 2) },
        ),
    ];
    run_all(cross(&inputs)).finish(19 * ESTIMATORS);
}

#[test]
fn tables_with_nothing_to_learn() {
    let base = || smooth(12, 2);
    let inputs = [
        ("a constant column", Finishes, base().x(|_, j, x| if j == 1 { 7.5 } else { x })),
        ("a column of 0", Finishes, base().x(|_, j, x| if j == 1 { 0.0 } else { x })),
        ("all rows equal", Finishes, base().x(|_, j, _| 0.25 + j as f64)),
        ("all x 0", Finishes, base().x(|_, _, _| 0.0)),
        ("all x −0", Finishes, base().x(|_, _, _| -0.0)),
        ("all rows equal, weighted", Finishes, base().x(|_, _, _| 2.0).weights(|i| 1.0 + i as f64)),
        ("constant y", Finishes, base().y(|_, _| 3.25)),
        ("constant y that is no binary fraction", Finishes, base().y(|_, _| 0.1)),
        ("y of 0", Finishes, base().y(|_, _| 0.0)),
        ("y of −0", Finishes, base().y(|_, _| -0.0)),
        ("constant y of 1e150", Finishes, base().y(|_, _| 1e150)),
        ("constant y of 1e-300", Finishes, base().y(|_, _| 1e-300)),
        ("all rows equal and constant y", Finishes, base().x(|_, _, _| 1.0).y(|_, _| 3.0)),
        ("every row twice, with other y", Finishes, {
            let half = smooth(6, 2);
            base().x(move |i, j, _| half.x.get(i % 6, j)).y(|i, _| if i < 6 { i as f64 } else { -(i as f64) })
        }),
        ("rows closer than rounding", Finishes, base().x(|i, _, _| 1.0 + i as f64 * f64::EPSILON)),
        ("rows 1e-12 apart", Finishes, base().x(|i, j, _| 1.0 + (i * (j + 1)) as f64 * 1e-12)),
        ("two columns that are the same", Finishes, base().x(|i, _, _| (i as f64 * 0.7).sin() + 1.0)),
        ("x is y", Finishes, smooth(12, 1).x(|i, _, _| i as f64).y(|i, _| i as f64)),
        ("one row unlike all others", Finishes, base().x(|i, _, _| f64::from(i == 11)).y(|i, _| f64::from(i == 11))),
    ];
    run_all(cross(&inputs)).finish(19 * ESTIMATORS);
}

#[test]
fn features_of_every_size() {
    let base = || smooth(12, 2);
    let scaled = |size: f64| base().x(move |_, _, x| x * size);
    let inputs = [
        ("features of 1e-320", FinishesOr(TOO_LARGE), scaled(1e-320)),
        ("features of 1e-300", FinishesOr(TOO_LARGE), scaled(1e-300)),
        ("features of 1e-160", FinishesOr(TOO_LARGE), scaled(1e-160)),
        ("features of 1e-100", FinishesOr(TOO_LARGE), scaled(1e-100)),
        ("features of 1e-25", Finishes, scaled(1e-25)),
        ("features of 1e6", Finishes, scaled(1e6)),
        ("features of 1e25", FinishesOr(TOO_LARGE), scaled(1e25)),
        ("features of 1e100", FinishesOr(TOO_LARGE), scaled(1e100)),
        ("features of 1e160", FinishesOr(TOO_LARGE), scaled(1e160)),
        ("features of 1e300", FinishesOr(TOO_LARGE), scaled(1e300)),
        ("columns of 1e-320 and 1e300", FinishesOr(TOO_LARGE), base().x(|_, j, x| x * [1e-320, 1e300][j])),
        ("columns of 1e-15 and 1e15", FinishesOr(TOO_LARGE), base().x(|_, j, x| x * [1e-15, 1e15][j])),
        ("features shifted by 1e15", FinishesOr(TOO_LARGE), base().x(|_, _, x| x * 100.0 + 1e15)),
        ("features shifted by −1e15", FinishesOr(TOO_LARGE), base().x(|_, _, x| x * 100.0 - 1e15)),
        ("one outlier of 1e200", FinishesOr(TOO_LARGE), base().x(|i, j, x| if (i, j) == (5, 0) { 1e200 } else { x })),
        ("one outlier of −1e200", FinishesOr(TOO_LARGE), base().x(|i, j, x| if (i, j) == (5, 0) { -1e200 } else { x })),
        ("one outlier of 1e25", FinishesOr(TOO_LARGE), base().x(|i, j, x| if (i, j) == (5, 0) { 1e25 } else { x })),
        ("f64::MAX", FinishesOr(TOO_LARGE), base().x(|i, j, x| if (i, j) == (0, 1) { f64::MAX } else { x })),
        (
            "f64::MAX and f64::MIN",
            FinishesOr(TOO_LARGE),
            base().x(|i, j, x| if j == 0 { [f64::MAX, f64::MIN][i % 2] } else { x }),
        ),
        ("f64::MAX everywhere", FinishesOr(TOO_LARGE), base().x(|_, _, _| f64::MAX)),
        ("0 and −0", Finishes, base().x(|i, j, x| if j == 1 { [0.0, -0.0][i % 2] } else { x })),
        ("subnormal features", FinishesOr(TOO_LARGE), base().x(|i, j, _| 5e-324 * (i + j) as f64)),
        ("one subnormal column", FinishesOr(TOO_LARGE), base().x(|i, j, x| if j == 1 { 5e-324 * i as f64 } else { x })),
        (
            "huge integers",
            FinishesOr(TOO_LARGE),
            base().x(|i, j, _| 9_007_199_254_740_993.0 + (2 * i * (j + 1)) as f64),
        ),
    ];
    let jobs = cross(&inputs);
    run_all(jobs).finish(24 * ESTIMATORS);
    // Scaling takes nearly all of these away: only what f64 itself cannot hold is left.
    let mut jobs = Vec::new();
    for (name, _, data) in &inputs {
        for spec in KERNELS {
            for scale in [Scale::Standard, Scale::Unit] {
                let nonnegative = spec == "additive-spline" && scale == Scale::Standard;
                let fit = Fit::with_shared(kernel::parse(spec).unwrap()).scale(scale).lambda(0.01).exponent(1.5);
                let expect = if nonnegative {
                    Refused(&["row ", "column", "negative after scaling"])
                } else {
                    FinishesOr(&["which f64 cannot scale; divide it by a constant"])
                };
                // A column that does not vary is 0 after either scaling, so nothing is negative.
                let flat = (0..2).all(|j| data.x.col(j).iter().all(|v| *v == data.x.get(0, j)));
                let expect = match expect {
                    Refused(_) if flat => Finishes,
                    Refused(_) => FinishesOr(&["negative after scaling", "which f64 cannot scale"]),
                    other => other,
                };
                jobs.push((format!("{name} | {spec}, {scale:?}"), expect, job(fit, data)));
            }
        }
    }
    let tally = run_all(jobs);
    tally.finish(24 * 7 * 2);
    assert!(tally.finished > 24 * 7, "scaling helped only {} times", tally.finished);
}

#[test]
fn targets_of_every_size() {
    let base = || smooth(12, 2);
    let scaled = |size: f64| base().y(move |_, y| y * size);
    let inputs = [
        ("y of 5e-324", FinishesOr(&["\"y\""]), base().y(|i, _| 5e-324 * i as f64)),
        ("y of 1e-310", FinishesOr(&["\"y\""]), scaled(1e-310)),
        ("y of 1e-300", Finishes, scaled(1e-300)),
        ("y of 1e-150", Finishes, scaled(1e-150)),
        ("y of 1e-20", Finishes, scaled(1e-20)),
        ("y of 1e20", Finishes, scaled(1e20)),
        ("y of 1e100", Finishes, scaled(1e100)),
        ("y up to 1e150", Finishes, base().y(|i, _| [1e150, -1e150, 3e149][i % 3])),
        ("y of 1.1e150", Refused(&["row 1", "\"y\"", "too large for a target"]), base().y(|_, _| 1.1e150)),
        ("y of 1e200", Refused(&["\"y\"", "row ", "too large for a target"]), scaled(1e200)),
        (
            "one y of 1e200",
            Refused(&["row 9", "\"y\"", "too large for a target"]),
            base().y(|i, y| if i == 8 { 1e200 } else { y }),
        ),
        (
            "one y of f64::MAX",
            Refused(&["row 9", "\"y\"", "too large for a target"]),
            base().y(|i, y| if i == 8 { f64::MAX } else { y }),
        ),
        ("one y of 1e100", Finishes, base().y(|i, y| if i == 8 { 1e100 } else { y })),
        ("one y of 1e100, others 1e-100", Finishes, base().y(|i, y| if i == 8 { 1e100 } else { y * 1e-100 })),
        ("y shifted by 1e15", Finishes, base().y(|_, y| y * 10.0 + 1e15)),
        ("y shifted by 1e150", Finishes, base().y(|i, _| -1e150 + i as f64 * 1e140)),
        ("y of ±0", Finishes, base().y(|i, _| [0.0, -0.0][i % 2])),
        ("y is one spike", Finishes, base().y(|i, _| f64::from(i == 3))),
        ("y alternates", Finishes, base().y(|i, _| [1.0, -1.0][i % 2])),
    ];
    run_all(cross(&inputs)).finish(19 * ESTIMATORS);
}

#[test]
fn weights_of_every_size() {
    let base = || smooth(12, 2);
    let inputs = [
        (
            "one negative weight",
            Refused(&["row 4", "\"weight\"", "-1", "at least 0"]),
            base().weights(|i| if i == 3 { -1.0 } else { 1.0 }),
        ),
        (
            "a weight of −1e-300",
            Refused(&["row 4", "\"weight\"", "at least 0"]),
            base().weights(|i| if i == 3 { -1e-300 } else { 1.0 }),
        ),
        ("all weights 0", Refused(&["\"weight\"", "every row", "weight 0"]), base().weights(|_| 0.0)),
        ("all weights −0", Refused(&["\"weight\"", "every row", "weight 0"]), base().weights(|_| -0.0)),
        ("a weight of 1e200", Refused(&["row 4", "\"weight\""]), base().weights(|i| if i == 3 { 1e200 } else { 1.0 })),
        (
            "a weight of f64::MAX",
            Refused(&["row 4", "\"weight\""]),
            base().weights(|i| if i == 3 { f64::MAX } else { 1.0 }),
        ),
        ("half of the weights 0", Finishes, base().weights(|i| (i % 2) as f64)),
        ("one weight that is not 0", Finishes, base().weights(|i| f64::from(i == 5))),
        (
            "two weights that are not 0",
            Finishes,
            base().weights(|i| [0.0, 0.5, 2.0][(i == 5) as usize + 2 * (i == 7) as usize]),
        ),
        ("all weights 1e-300", Finishes, base().weights(|_| 1e-300)),
        ("all weights 1e150", Finishes, base().weights(|_| 1e150)),
        ("weights near 1e-300", FinishesOr(WEIGHTS), base().weights(|i| 1e-300 * (1 + i) as f64)),
        ("weights near 1e149", FinishesOr(WEIGHTS), base().weights(|i| 1e148 * (1 + i) as f64)),
        ("one weight of 1e-300", FinishesOr(WEIGHTS), base().weights(|i| if i == 3 { 1e-300 } else { 1.0 })),
        ("one weight of 5e-324", FinishesOr(WEIGHTS), base().weights(|i| if i == 3 { 5e-324 } else { 1.0 })),
        ("one weight of 1e150", FinishesOr(WEIGHTS), base().weights(|i| if i == 3 { 1e150 } else { 1.0 })),
        ("weights from 1e-300 to 1e150", FinishesOr(WEIGHTS), base().weights(|i| 10_f64.powi(-300 + 40 * i as i32))),
        ("weights from 1e-12 to 1e10", Finishes, base().weights(|i| 10_f64.powi(-12 + 2 * i as i32))),
        (
            "y of 1e150 with weights of 1e-100",
            Finishes,
            base().y(|_, y| y * 1e149).weights(|i| 1e-100 * (1 + i) as f64),
        ),
    ];
    run_all(cross(&inputs)).finish(19 * ESTIMATORS);
}

// ---- settings -------------------------------------------------------------------------------------------------

#[test]
fn lambdas_and_exponents() {
    let data = smooth(12, 2);
    let mut jobs = Vec::new();
    for spec in KERNELS {
        for offset in [true, false] {
            let fit = || {
                let fit = Fit::with_shared(kernel::parse(spec).unwrap());
                if offset { fit } else { fit.without_offset() }
            };
            for exponent in EXPONENTS {
                for lambda in
                    [0.0, -0.0, -1.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1e-291, 1e291, f64::MIN_POSITIVE]
                {
                    let name = format!("λ {lambda:e} | {spec}, exponent {exponent}, offset {offset}");
                    let expect = Refused(&["lambda must be above 0", "got"]);
                    jobs.push((name, expect, job(fit().exponent(exponent).lambda(lambda), &data)));
                }
                for lambda in [1e-290, 1e-200, 1e-100, 1e-30, 1e30, 1e100, 1e200, 1e290] {
                    for (size, y) in [("1", 1.0), ("1e-150", 1e-150), ("1e150", 5e149)] {
                        let data = data.clone().y(|_, v| v * y / 3.0);
                        let name = format!("λ {lambda:e} | y of {size}, {spec}, exponent {exponent}, offset {offset}");
                        jobs.push((name, OUT_OF_RANGE, job(fit().exponent(exponent).lambda(lambda), &data)));
                    }
                }
            }
            for exponent in [0.0, -1.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 5e-324, 1000.1, f64::MAX] {
                for fit in [fit(), fit().lambda(0.1)] {
                    let name = format!("exponent {exponent} | {spec}, offset {offset}");
                    let expect = Refused(&["exponent must be above 0 (from 0.001 to 1000)", "got"]);
                    jobs.push((name, expect, job(fit.exponent(exponent), &data)));
                }
            }
            for exponent in [1e-3, 0.05, 0.99, 0.9999999, 1.0000001, 1.9999999, 2.0000001, 100.0, 1000.0] {
                for lambda in [None, Some(1e-3), Some(1e3)] {
                    for (size, y) in [("1", 1.0), ("1e-150", 1e-150), ("1e150", 5e149)] {
                        let data = data.clone().y(|_, v| v * y / 3.0);
                        let fit = lambda.map_or(fit(), |lambda| fit().lambda(lambda)).exponent(exponent);
                        let name =
                            format!("exponent {exponent:e} | y of {size}, λ {lambda:?}, {spec}, offset {offset}");
                        jobs.push((name, OUT_OF_RANGE, job(fit, &data)));
                    }
                }
            }
        }
    }
    let expected = 7 * 2 * (5 * 9 + 5 * 8 * 3 + 8 * 2 + 9 * 3 * 3);
    run_all(jobs).finish(expected);
}

/// A kernel made in Rust is not checked until it meets data.
#[test]
fn kernels_that_are_none() {
    let lengthscale = |scale: f64| -> SharedKernel { Arc::new(Gaussian::lengthscale(scale)) };
    let lengthscales = |scales: &[f64]| -> SharedKernel { Arc::new(Matern32::lengthscales(scales)) };
    let polynomial = |degree: u32, constant: f64| -> SharedKernel { Arc::new(Polynomial::new(degree, constant)) };
    let rational = |shape: f64| -> SharedKernel {
        Arc::new(Radial::with_profile(RationalQuadraticProfile::new(shape), Lengthscale::One(1.0)))
    };
    let scaled = |factor: f64| -> SharedKernel { Arc::new(Scaled::new(factor, lengthscale(1.0))) };
    let bad_scale = Refused(&["lengthscale of gaussian", "positive", "got"]);
    let kernels: Vec<(&str, Expect, SharedKernel)> = vec![
        ("lengthscale 0", bad_scale, lengthscale(0.0)),
        ("lengthscale −1", bad_scale, lengthscale(-1.0)),
        ("lengthscale NaN", bad_scale, lengthscale(f64::NAN)),
        ("lengthscale ∞", bad_scale, lengthscale(f64::INFINITY)),
        ("lengthscale 1e-200", bad_scale, lengthscale(1e-200)),
        ("lengthscale 1e200", bad_scale, lengthscale(1e200)),
        ("lengthscale 1e-150", Finishes, lengthscale(1e-150)),
        ("lengthscale 1e150", Finishes, lengthscale(1e150)),
        (
            "no lengthscales",
            Refused(&["lengthscales of matern32", "one number per feature (2)", "got 0"]),
            lengthscales(&[]),
        ),
        ("one lengthscale too few", Refused(&["lengthscales of matern32", "(2)", "got 1"]), lengthscales(&[1.0])),
        ("one lengthscale too many", Refused(&["(2)", "got 3"]), lengthscales(&[1.0, 2.0, 3.0])),
        ("one lengthscale of 0", Refused(&["lengthscale of matern32", "positive", "got 0"]), lengthscales(&[1.0, 0.0])),
        (
            "one lengthscale of NaN",
            Refused(&["lengthscale of matern32", "positive", "NaN"]),
            lengthscales(&[f64::NAN, 1.0]),
        ),
        ("lengthscales 1e-150 and 1e150", Finishes, lengthscales(&[1e-150, 1e150])),
        ("degree 0", Refused(&["degree of polynomial", "at least 1", "got 0"]), polynomial(0, 1.0)),
        ("constant −1", Refused(&["constant of polynomial", "at least 0", "got -1"]), polynomial(2, -1.0)),
        ("constant NaN", Refused(&["constant of polynomial", "NaN"]), polynomial(2, f64::NAN)),
        ("constant ∞", Refused(&["constant of polynomial", "inf"]), polynomial(2, f64::INFINITY)),
        ("constant 1e100", FinishesOr(TOO_LARGE), polynomial(2, 1e100)),
        ("degree 64", Finishes, polynomial(64, 1.0)),
        ("degree 1000", FinishesOr(TOO_LARGE), polynomial(1000, 1.0)),
        ("shape 0", Refused(&["shape", "above 0"]), rational(0.0)),
        ("shape −1", Refused(&["shape", "above 0"]), rational(-1.0)),
        ("shape NaN", Refused(&["shape", "above 0"]), rational(f64::NAN)),
        ("shape ∞", Refused(&["shape"]), rational(f64::INFINITY)),
        ("shape 1e-300", Finishes, rational(1e-300)),
        ("shape 5e-324", Finishes, rational(5e-324)),
        ("shape 1e300", Finishes, rational(1e300)),
        ("factor 0", Refused(&["factor of a kernel", "positive", "got 0"]), scaled(0.0)),
        ("factor −1", Refused(&["factor of a kernel", "positive", "got -1"]), scaled(-1.0)),
        ("factor NaN", Refused(&["factor of a kernel", "NaN"]), scaled(f64::NAN)),
        ("factor ∞", Refused(&["factor of a kernel", "inf"]), scaled(f64::INFINITY)),
        ("factor 1e-50", Finishes, scaled(1e-50)),
        ("factor 1e50", Finishes, scaled(1e50)),
        ("factor 1e-300", FinishesOr(TOO_LARGE), scaled(1e-300)),
        ("factor 1e300", FinishesOr(TOO_LARGE), scaled(1e300)),
        ("equality without text", Refused(&["equality kernel", "text"]), Arc::new(Equality::new(0.5))),
        ("similarity 1", Refused(&["similarity of equality", "below 1", "got 1"]), Arc::new(Equality::new(1.0))),
        ("similarity NaN", Refused(&["similarity of equality", "NaN"]), Arc::new(Equality::new(f64::NAN))),
        ("a factor of 1e40 on linear", Finishes, kernel::parse("1e40*linear").unwrap()),
        ("a factor of 1e-40 on linear", Finishes, kernel::parse("1e-40*linear").unwrap()),
        ("normalised linear", Finishes, kernel::parse("normalized-linear").unwrap()),
        ("a product of four", Finishes, kernel::parse("1e10*linear*linear*spline0*gaussian").unwrap()),
    ];
    let mut jobs = Vec::new();
    let count = kernels.len();
    for (name, expect, kernel) in kernels {
        for exponent in [0.5, 2.0, 3.0] {
            for lambda in [None, Some(0.01)] {
                let fit = Fit::with_shared(kernel.clone()).exponent(exponent);
                let fit = lambda.map_or(fit.clone(), |lambda| fit.lambda(lambda));
                let name = format!("{name} | exponent {exponent}, λ {lambda:?}");
                jobs.push((name, expect, job(fit, &smooth(12, 2))));
            }
        }
    }
    assert_eq!(count, 43);
    run_all(jobs).finish(43 * 6);
}

#[test]
fn specs_that_cannot_be_read() {
    let long_name = "k".repeat(5000);
    let deep = "(".repeat(40) + "linear";
    let specs: Vec<(&str, &[&str])> = vec![
        ("", &["expected a kernel's name", "character 1"]),
        ("   ", &["expected a kernel's name"]),
        ("gauss", &["unknown kernel \"gauss\"", "known: linear, polynomial", "did you mean gaussian?"]),
        ("matern33", &["did you mean matern32?"]),
        ("Linear", &["did you mean linear?"]),
        ("sigmoid", &["unknown kernel \"sigmoid\"", "known:"]),
        ("normalized-", &["unknown kernel"]),
        ("normalized-sigmoid", &["unknown kernel \"sigmoid\""]),
        ("gaussian(width=1)", &["gaussian has no parameter \"width\"", "it has: lengthscale"]),
        ("linear(width=1)", &["linear has no parameter \"width\"", "it has: none"]),
        ("gaussian(lengthscale=1,lengthscale=2)", &["lengthscale of gaussian", "once"]),
        ("gaussian(lengthscale=0)", &["lengthscale of gaussian must be positive", "got 0"]),
        ("gaussian(lengthscale=-1)", &["got -1"]),
        ("gaussian(lengthscale=1e400)", &["cannot read"]),
        ("gaussian(lengthscale=nan)", &["got nan"]),
        ("gaussian(lengthscale=mode)", &["mean or median", "got mode"]),
        ("gaussian(lengthscale=[1,0])", &["got [1,0]"]),
        ("gaussian(lengthscale=[])", &["expected a number", "character 23"]),
        ("gaussian(lengthscale=[1,])", &["expected a number"]),
        ("gaussian(lengthscale=", &["expected a number, a list"]),
        ("gaussian(lengthscale=1", &["expected ',' or ')'"]),
        ("gaussian(1)", &["expected a parameter's name"]),
        ("polynomial(degree=0)", &["degree of polynomial", "from 1 to 64", "got 0"]),
        ("polynomial(degree=2.5)", &["whole number", "got 2.5"]),
        ("polynomial(degree=65)", &["from 1 to 64", "got 65"]),
        ("polynomial(constant=-1)", &["at least 0", "got -1"]),
        ("additive-spline(order=2)", &["order of additive-spline", "0 or 1", "got 2"]),
        ("rational-quadratic(shape=0)", &["shape of rational-quadratic", "above 0"]),
        ("equality(similarity=1)", &["similarity of equality", "below 1"]),
        ("0*linear", &["factor of a kernel", "positive", "got 0"]),
        ("-2*linear", &["factor of a kernel", "got -2"]),
        ("1e200*1e200*linear", &["factor of a kernel", "got inf"]),
        ("2", &["expected '*' and a kernel"]),
        ("linear +", &["expected a kernel's name"]),
        ("linear linear", &["expected '+', '*' or the end", "character 8"]),
        ("linear)", &["expected '+', '*' or the end"]),
        ("(linear", &["expected ')'"]),
        ("linear + precomputed", &["precomputed kernel stands alone"]),
        ("normalized-precomputed", &["precomputed kernel cannot be normalised"]),
        ("línear", &["unknown kernel"]),
        ("💥", &["expected a kernel's name", "character 1"]),
        ("linear\0", &["expected '+', '*' or the end"]),
        (&deep, &["fewer parentheses"]),
        (&long_name, &["unknown kernel"]),
    ];
    let mut wrong = Vec::new();
    for (spec, parts) in &specs {
        let shown: String = spec.chars().take(60).collect();
        match catch_unwind(|| kernel::parse(spec).map(drop)) {
            Err(_) => wrong.push(format!("{shown}: panicked")),
            Ok(Ok(())) => wrong.push(format!("{shown}: was accepted")),
            Ok(Err(error)) => {
                let message = error.to_string();
                if !is_sentence(&message) || parts.iter().any(|part| !message.contains(part)) {
                    let cut: String = message.chars().take(300).collect();
                    wrong.push(format!("{shown}: {cut} ({} bytes)", message.len()));
                }
            }
        }
    }
    assert_eq!(specs.len(), 44);
    assert!(wrong.is_empty(), "{} of {}: {wrong:#?}", wrong.len(), specs.len());
}

// ---- precomputed kernels --------------------------------------------------------------------------------------

#[test]
fn precomputed_kernels() {
    let good = |i: usize, j: usize| (-0.5 * (i as f64 - j as f64).powi(2)).exp();
    let square = |change: &dyn Fn(usize, usize) -> f64| Matrix::from_fn(8, 8, change);
    let matrices: Vec<(&str, Expect, Matrix)> = vec![
        ("as it should be", Finishes, square(&good)),
        (
            "one column too few",
            Refused(&["precomputed kernel", "as many columns as rows (8)", "got 7"]),
            Matrix::from_fn(8, 7, good),
        ),
        ("one column too many", Refused(&["precomputed kernel", "(8)", "got 9"]), Matrix::from_fn(8, 9, good)),
        (
            "not symmetric",
            Refused(&["must be symmetric", "row 2, column 6 is 0.75", "row 6, column 2"]),
            square(&|i, j| if (i, j) == (1, 5) { 0.75 } else { good(i, j) }),
        ),
        ("antisymmetric", Refused(&["must be symmetric"]), square(&|i, j| i as f64 - j as f64)),
        (
            "not positive semidefinite",
            Refused(&["negative eigenvalue", "positive semidefinite"]),
            square(&|i, j| if i == j { 0.1 } else { 1.0 }),
        ),
        (
            "minus the identity",
            Refused(&["negative eigenvalue", "positive semidefinite"]),
            square(&|i, j| -f64::from(i == j)),
        ),
        (
            "NaN",
            Refused(&["row 3", "\"x3\"", "missing"]),
            square(&|i, j| if i == 2 && j == 2 { f64::NAN } else { good(i, j) }),
        ),
        (
            "∞",
            Refused(&["row 3", "\"x3\"", "finite"]),
            square(&|i, j| if i == 2 && j == 2 { f64::INFINITY } else { good(i, j) }),
        ),
        ("zero", Finishes, square(&|_, _| 0.0)),
        ("all ones", Finishes, square(&|_, _| 1.0)),
        ("the identity", Finishes, square(&|i, j| f64::from(i == j))),
        ("1e50 times too large", Finishes, square(&|i, j| 1e50 * good(i, j))),
        ("1e-50 times too small", Finishes, square(&|i, j| 1e-50 * good(i, j))),
        ("1e300 times too large", Refused(&["kernel values reach", "1e60"]), square(&|i, j| 1e300 * good(i, j))),
        ("1e-300 times too small", Refused(&["kernel values reach", "1e-60"]), square(&|i, j| 1e-300 * good(i, j))),
        ("f64::MAX on the diagonal", Refused(&["kernel values reach"]), square(&|i, j| f64::MAX * f64::from(i == j))),
        ("of rank one", Finishes, square(&|i, j| ((i + 1) * (j + 1)) as f64)),
        (
            "symmetric up to rounding",
            Finishes,
            square(&|i, j| good(i, j) * (1.0 + if i < j { f64::EPSILON } else { 0.0 })),
        ),
    ];
    let count = matrices.len();
    let mut jobs = Vec::new();
    for (name, expect, matrix) in matrices {
        for exponent in EXPONENTS {
            for lambda in [None, Some(0.01)] {
                for offset in [true, false] {
                    let mut fit = Fit::new(Precomputed).exponent(exponent);
                    if let Some(lambda) = lambda {
                        fit = fit.lambda(lambda);
                    }
                    if !offset {
                        fit = fit.without_offset();
                    }
                    let matrix = matrix.clone();
                    let run: Job = Box::new(move || {
                        let y: Vec<f64> = (0..matrix.rows()).map(|i| (i as f64).cos()).collect();
                        judge(fit.fit(&matrix, &y), &frame(&matrix), &new_rows(&matrix))
                    });
                    jobs.push((format!("{name} | exponent {exponent}, λ {lambda:?}, offset {offset}"), expect, run));
                }
            }
        }
    }
    // Where the offset direction carries all that is wrong, nothing wrong is left: −1·1ᵀ centred is 0.
    assert_eq!(count, 19);
    run_all(jobs).finish(19 * 5 * 2 * 2);
}

// ---- tables of named columns ----------------------------------------------------------------------------------

fn texts(cells: &[Option<&str>]) -> Column {
    Column::Text(cells.iter().map(|cell| cell.map(str::to_owned)).collect())
}

/// Ten rows: numbers a and b, text c, weights w, target y.
fn named() -> Frame {
    let mut table = Frame::new(10);
    let wave = |k: f64| Column::Number((0..10).map(|i| (i as f64 * k).sin()).collect());
    table.push("a", wave(0.7)).unwrap();
    table.push("b", wave(1.9)).unwrap();
    table.push("c", texts(&["p", "q", "r", "p", "q", "p", "r", "r", "p", "q"].map(Some))).unwrap();
    table.push("w", Column::Number((0..10).map(|i| 1.0 + (i % 3) as f64).collect())).unwrap();
    table.push("y", wave(0.5)).unwrap();
    table
}

fn with(name: &str, column: Column) -> Frame {
    let mut table = Frame::new(10);
    let base = named();
    let mut column = Some(column);
    for (known, old) in base.iter() {
        let cells = if known == name { column.take().unwrap() } else { old.clone() };
        table.push(known, cells).unwrap();
    }
    if let Some(column) = column {
        table.push(name, column).unwrap();
    }
    table
}

fn strings(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

#[test]
fn columns_and_roles() {
    let roles = || Roles { targets: strings(&["y"]), drop: strings(&["w"]), ..Roles::default() };
    let nan = || Column::Number(vec![f64::NAN; 10]);
    let none = || texts(&[None; 10]);
    let mut holes: Vec<f64> = (0..10).map(|i| i as f64).collect();
    holes[3] = f64::NAN;
    holes[7] = f64::NAN;
    let mut infinite = holes.clone();
    infinite[5] = f64::NEG_INFINITY;
    let many: Vec<Option<String>> = (0..10).map(|i| Some(format!("row {i}"))).collect();
    let nearly_numbers = texts(&["1", "2", "3", "four", "5", "6", "7", "8", "9", "10"].map(Some));
    let plain = Missing::Error;
    let cases: Vec<(&str, Expect, Frame, Roles, Missing)> = vec![
        ("as it should be", Finishes, named(), roles(), plain),
        (
            "text as target",
            Refused(&["row 1", "\"c\"", "\"p\" is not a number"]),
            named(),
            Roles { targets: strings(&["c"]), ..roles() },
            plain,
        ),
        (
            "text as weight",
            Refused(&["row 1", "\"c\"", "\"p\" is not a number"]),
            named(),
            Roles { weight: Some("c".into()), ..roles() },
            plain,
        ),
        (
            "numbers with one word",
            Refused(&["row 4", "\"a\"", "\"four\" is not a number"]),
            with("a", nearly_numbers.clone()),
            roles(),
            plain,
        ),
        (
            "target with one word",
            Refused(&["row 4", "\"y\"", "\"four\" is not a number"]),
            with("y", nearly_numbers),
            roles(),
            plain,
        ),
        ("different text in every row", Finishes, with("c", Column::Text(many)), roles(), plain),
        ("only one text", Finishes, with("c", texts(&[Some("p"); 10])), roles(), plain),
        ("empty text", Finishes, with("c", texts(&[Some(""); 10])), roles(), plain),
        (
            "a column of NaN, refused",
            Refused(&["row 1", "\"b\"", "missing"]),
            with("b", nan()),
            roles(),
            Missing::Error,
        ),
        ("a column of NaN, dropped", Refused(&["all 10 rows", "missing"]), with("b", nan()), roles(), Missing::Drop),
        ("a column of NaN, mean", Refused(&["\"b\"", "no value in any row"]), with("b", nan()), roles(), Missing::Mean),
        (
            "text without text, refused",
            Refused(&["row 1", "\"c\"", "missing"]),
            with("c", none()),
            roles(),
            Missing::Error,
        ),
        ("text without text, dropped", Refused(&["all 10 rows", "missing"]), with("c", none()), roles(), Missing::Drop),
        (
            "text without text, mean",
            Refused(&["\"c\"", "no value in any row"]),
            with("c", none()),
            roles(),
            Missing::Mean,
        ),
        (
            "holes, refused",
            Refused(&["row 4", "\"b\"", "missing"]),
            with("b", Column::Number(holes.clone())),
            roles(),
            Missing::Error,
        ),
        ("holes, dropped", Finishes, with("b", Column::Number(holes.clone())), roles(), Missing::Drop),
        ("holes, mean", Finishes, with("b", Column::Number(holes.clone())), roles(), Missing::Mean),
        (
            "holes in y, refused",
            Refused(&["row 4", "\"y\"", "missing"]),
            with("y", Column::Number(holes.clone())),
            roles(),
            Missing::Error,
        ),
        ("holes in y, dropped", Finishes, with("y", Column::Number(holes.clone())), roles(), Missing::Drop),
        (
            "holes in y, mean",
            Refused(&["row 4", "\"y\"", "missing"]),
            with("y", Column::Number(holes)),
            roles(),
            Missing::Mean,
        ),
        (
            "−∞ among holes, mean",
            Refused(&["row 6", "\"b\"", "-inf is not a finite number"]),
            with("b", Column::Number(infinite.clone())),
            roles(),
            Missing::Mean,
        ),
        (
            "−∞ among holes, dropped",
            Refused(&["row 6", "\"b\"", "-inf is not a finite number"]),
            with("b", Column::Number(infinite)),
            roles(),
            Missing::Drop,
        ),
        (
            "text with holes, mean",
            Finishes,
            with("c", texts(&[Some("p"), None, Some("q"), None, Some("p"), None, Some("q"), None, Some("p"), None])),
            roles(),
            Missing::Mean,
        ),
        (
            "one row left",
            Finishes,
            with("b", Column::Number((0..10).map(|i| if i == 4 { 1.0 } else { f64::NAN }).collect())),
            roles(),
            Missing::Drop,
        ),
        (
            "unknown target",
            Refused(&["no column \"z\"", "it has: a, b, c, w, y"]),
            named(),
            Roles { targets: strings(&["z"]), ..roles() },
            plain,
        ),
        ("no target", Refused(&["must be a target"]), named(), Roles { targets: vec![], ..roles() }, plain),
        (
            "target named twice",
            Refused(&["\"y\"", "twice"]),
            named(),
            Roles { targets: strings(&["y", "y"]), ..roles() },
            plain,
        ),
        (
            "unknown feature",
            Refused(&["no column \"aa\"", "did you mean a?"]),
            named(),
            Roles { features: Some(strings(&["aa"])), ..roles() },
            plain,
        ),
        (
            "no features",
            Refused(&["at least one feature"]),
            named(),
            Roles { features: Some(vec![]), ..roles() },
            plain,
        ),
        (
            "everything dropped",
            Refused(&["at least one feature"]),
            named(),
            Roles { drop: strings(&["a", "b", "c", "w"]), ..roles() },
            plain,
        ),
        (
            "feature named twice",
            Refused(&["\"a\"", "twice"]),
            named(),
            Roles { features: Some(strings(&["a", "b", "a"])), ..roles() },
            plain,
        ),
        (
            "feature is target",
            Refused(&["\"y\"", "cannot be a feature"]),
            named(),
            Roles { features: Some(strings(&["a", "y"])), ..roles() },
            plain,
        ),
        (
            "feature is weight",
            Refused(&["\"w\"", "cannot be a feature"]),
            named(),
            Roles { features: Some(strings(&["a", "w"])), weight: Some("w".into()), ..roles() },
            plain,
        ),
        (
            "weight is target",
            Refused(&["\"y\"", "weight"]),
            named(),
            Roles { weight: Some("y".into()), ..roles() },
            plain,
        ),
        (
            "unknown weight",
            Refused(&["no column \"weights\""]),
            named(),
            Roles { weight: Some("weights".into()), ..roles() },
            plain,
        ),
        (
            "unknown column to drop",
            Refused(&["no column \"id\""]),
            named(),
            Roles { drop: strings(&["id"]), ..roles() },
            plain,
        ),
        (
            "unknown categorical",
            Refused(&["no column \"id\""]),
            named(),
            Roles { categorical: strings(&["id"]), ..roles() },
            plain,
        ),
        (
            "numbers as categories",
            Finishes,
            named(),
            Roles { categorical: strings(&["w"]), drop: vec![], ..roles() },
            plain,
        ),
        (
            "all numbers as categories",
            Finishes,
            named(),
            Roles { categorical: strings(&["a", "b", "c"]), ..roles() },
            plain,
        ),
        ("weights", Finishes, named(), Roles { weight: Some("w".into()), drop: vec![], ..roles() }, plain),
        (
            "a table without columns",
            Refused(&["feature column"]),
            Frame::new(10),
            Roles { drop: vec![], ..roles() },
            plain,
        ),
        (
            "a table without rows and columns",
            Refused(&["feature column"]),
            Frame::new(0),
            Roles { drop: vec![], ..roles() },
            plain,
        ),
        (
            "strange names",
            Finishes,
            with("a,b \"c\"\n\u{0}💥", Column::Number((0..10).map(f64::from).collect())),
            roles(),
            plain,
        ),
        (
            "a name without letters",
            Finishes,
            with("", Column::Number((0..10).map(f64::from).collect())),
            roles(),
            plain,
        ),
    ];
    let count = cases.len();
    assert_eq!(count, 44);
    let mut jobs = Vec::new();
    for (name, expect, table, roles, missing) in cases {
        for spec in KERNELS {
            for (exponent, text_as) in [(2.0, TextAs::OneHot), (0.5, TextAs::OneHot), (1.5, TextAs::Equality)] {
                let fit =
                    Fit::with_shared(kernel::parse(spec).unwrap()).exponent(exponent).missing(missing).text_as(text_as);
                let (table, roles) = (table.clone(), roles.clone());
                let run: Job = Box::new(move || judge(fit.fit_frame(&table, &roles), &table, &[]));
                jobs.push((format!("{name} | {spec}, exponent {exponent}, text {text_as:?}"), expect, run));
            }
        }
    }
    run_all(jobs).finish(44 * 7 * 3);
}

#[test]
fn tables_that_cannot_be_made() {
    let mut table = named();
    let error = table.push("a", Column::Number(vec![0.0; 10])).unwrap_err().to_string();
    assert!(error.contains("\"a\"") && error.contains("twice"), "{error}");
    let error = table.push("d", Column::Number(vec![0.0; 9])).unwrap_err().to_string();
    assert!(error.contains("\"d\"") && error.contains("10 rows") && error.contains('9'), "{error}");
    let error = table.push("d", texts(&[None; 11])).unwrap_err().to_string();
    assert!(error.contains("\"d\"") && error.contains("11"), "{error}");
    assert_eq!(table, named());
    let error = Matrix::from_rows(&[vec![1.0, 2.0], vec![3.0]]).unwrap_err().to_string();
    assert!(error.contains("row 2") && error.contains("got 1"), "{error}");
    for (rows, cols, len) in [(2, 3, 5), (usize::MAX, 2, 0), (1 << 40, 1 << 40, 0), (0, 5, 1)] {
        let error = Matrix::from_columns(rows, cols, vec![0.0; len]).unwrap_err().to_string();
        assert!(error.contains("data of a matrix"), "{error}");
    }
    // A text column with more than a hundred different texts is an identifier, unless it is said to be none.
    let mut table = Frame::new(150);
    table.push("id", Column::Text((0..150).map(|i| Some(format!("id{i}"))).collect())).unwrap();
    table.push("y", Column::Number((0..150).map(f64::from).collect())).unwrap();
    let roles = Roles { targets: strings(&["y"]), ..Roles::default() };
    let error = Fit::new(Linear).fit_frame(&table, &roles).unwrap_err().to_string();
    assert!(
        error.contains("\"id\"") && error.contains("150 different texts") && error.contains("identifier"),
        "{error}"
    );
    let roles = Roles { categorical: strings(&["id"]), ..roles };
    assert!(Fit::new(Linear).fit_frame(&table, &roles).is_ok());
}

#[test]
fn memory_that_is_not_there() {
    let data = smooth(300, 2);
    let y = data.y.col(0);
    let error = Fit::new(Gaussian::lengthscale(1.0)).memory(100_000).fit(&data.x, y).unwrap_err().to_string();
    assert!(error.contains("300 rows need") && error.contains("100 kB may be used"), "{error}");
    assert!(error.contains("rows would fit") || error.contains("suffice"), "{error}");
    let error = Fit::new(Linear).memory(1000).fit(&data.x, y).unwrap_err().to_string();
    assert!(error.contains("300 rows need"), "{error}");
    assert!(Fit::new(Linear).memory(200_000).fit(&data.x, y).is_ok());
    let error = Fit::new(Linear).memory(0).fit(&data.x, y).unwrap_err().to_string();
    assert!(error.contains("300 rows need"), "{error}");
    // The gate stands before anything is allocated: a matrix of 10⁸ rows and no columns costs nothing to make.
    let huge = Matrix::zeros(100_000_000, 0);
    let error = Fit::new(Gaussian::lengthscale(1.0)).fit_weighted(&huge, &Matrix::zeros(100_000_000, 0), None);
    let error = error.unwrap_err().to_string();
    assert!(error.contains("100000000 rows need"), "{error}");
}

// ---- prediction -----------------------------------------------------------------------------------------------

#[test]
fn rows_that_cannot_be_predicted() {
    let data = smooth(12, 2);
    let rows: Vec<(&str, Expect, Matrix)> = vec![
        ("a row", Finishes, Matrix::from_rows(&[[0.5, 0.5]]).unwrap()),
        ("no rows", Finishes, Matrix::zeros(0, 2)),
        ("one column too few", Refused(&["2 columns, as in training", "got 1"]), Matrix::zeros(3, 1)),
        ("one column too many", Refused(&["2 columns, as in training", "got 3"]), Matrix::zeros(3, 3)),
        ("no columns", Refused(&["2 columns, as in training", "got 0"]), Matrix::zeros(3, 0)),
        ("NaN", Refused(&["row 2", "\"x1\"", "missing"]), Matrix::from_rows(&[[0.5, 0.5], [f64::NAN, 0.5]]).unwrap()),
        (
            "∞",
            Refused(&["row 2", "\"x2\"", "inf is not a finite number"]),
            Matrix::from_rows(&[[0.5, 0.5], [0.5, f64::INFINITY]]).unwrap(),
        ),
        (
            "−∞",
            Refused(&["row 1", "\"x1\"", "-inf is not a finite number"]),
            Matrix::from_rows(&[[f64::NEG_INFINITY, 0.5]]).unwrap(),
        ),
        ("f64::MAX", FinishesOr(&["row 1, column"]), Matrix::from_rows(&[[f64::MAX, f64::MAX]]).unwrap()),
        ("f64::MIN", FinishesOr(&["row 1, column"]), Matrix::from_rows(&[[f64::MIN, f64::MIN]]).unwrap()),
        ("f64::MAX and f64::MIN", FinishesOr(&["row 1, column"]), Matrix::from_rows(&[[f64::MAX, f64::MIN]]).unwrap()),
        ("1e200", FinishesOr(&["row 2, column"]), Matrix::from_rows(&[[0.1, 0.2], [1e200, -1e200]]).unwrap()),
        ("1e150", FinishesOr(&["row 1, column"]), Matrix::from_rows(&[[1e150, 0.0]]).unwrap()),
        ("1e50", Finishes, Matrix::from_rows(&[[1e50, -1e50]]).unwrap()),
        ("subnormal", Finishes, Matrix::from_rows(&[[5e-324, -5e-324]]).unwrap()),
        ("−0", Finishes, Matrix::from_rows(&[[-0.0, -0.0]]).unwrap()),
        ("−1", Finishes, Matrix::from_rows(&[[-1.0, -1.0]]).unwrap()),
    ];
    let count = rows.len();
    let mut jobs: Vec<(String, Expect, Job)> = Vec::new();
    for (estimator, fit) in estimators() {
        for scale in [Scale::None, Scale::Unit] {
            let model = fit.clone().scale(scale).fit(&data.x, data.y.col(0)).expect("a good table").model;
            for (name, expect, x) in &rows {
                let (model, x) = (model.clone(), x.clone());
                let run: Job = Box::new(move || match model.predict(&x) {
                    Err(error) => refusal(&error),
                    Ok(values) if values.rows() != x.rows() || values.cols() != 1 => Err("another shape".into()),
                    Ok(values) => match values.as_slice().iter().find(|value| !value.is_finite()) {
                        Some(value) => Err(format!("predicts {value}")),
                        None => Ok(Outcome::Finished),
                    },
                });
                jobs.push((format!("{name} | {estimator}, {scale:?}"), *expect, run));
            }
        }
    }
    assert_eq!(count, 17);
    run_all(jobs).finish(17 * 2 * ESTIMATORS);
}

#[test]
fn tables_that_cannot_be_predicted() {
    let roles = Roles { targets: strings(&["y"]), drop: strings(&["w"]), ..Roles::default() };
    let mut without_b = Frame::new(2);
    without_b.push("a", Column::Number(vec![0.0, 1.0])).unwrap();
    without_b.push("c", texts(&[Some("p"), Some("q")])).unwrap();
    let mut extra = without_b.clone();
    extra.push("b", Column::Number(vec![0.0, 1.0])).unwrap();
    extra.push("unheard of", Column::Text(vec![None, None])).unwrap();
    let mut renamed = without_b.clone();
    renamed.push("B", Column::Number(vec![0.0, 1.0])).unwrap();
    let mut text = without_b.clone();
    text.push("b", texts(&[Some("1.5"), Some("two")])).unwrap();
    let mut gap = without_b.clone();
    gap.push("b", Column::Number(vec![0.0, f64::NAN])).unwrap();
    let mut infinite = without_b.clone();
    infinite.push("b", Column::Number(vec![0.0, f64::INFINITY])).unwrap();
    let mut unknown = Frame::new(2);
    unknown.push("a", Column::Number(vec![0.0, 1.0])).unwrap();
    unknown.push("b", Column::Number(vec![0.0, 1.0])).unwrap();
    unknown.push("c", texts(&[Some("never seen"), Some("")])).unwrap();
    let mut number = Frame::new(2);
    number.push("a", Column::Number(vec![0.0, 1.0])).unwrap();
    number.push("b", Column::Number(vec![0.0, 1.0])).unwrap();
    number.push("c", Column::Number(vec![4.0, 5.0])).unwrap();
    let mut tried = 0;
    for text_as in [TextAs::OneHot, TextAs::Equality] {
        for spec in KERNELS {
            let fit = Fit::with_shared(kernel::parse(spec).unwrap()).text_as(text_as);
            let model = |missing| fit.clone().missing(missing).fit_frame(&named(), &roles).expect("a model").model;
            let strict = model(Missing::Error);
            let refused = |table: &Frame, parts: &[&str]| {
                let error = strict.predict_frame(table).unwrap_err().to_string();
                assert!(parts.iter().all(|part| error.contains(part)), "{spec}: {error}");
            };
            refused(&without_b, &["no column \"b\"", "it has: a, c"]);
            refused(&renamed, &["no column \"b\"", "did you mean B?"]);
            refused(&text, &["row 2", "\"b\"", "\"two\" is not a number"]);
            refused(&gap, &["row 2", "\"b\"", "missing"]);
            refused(&infinite, &["row 2", "\"b\"", "not a finite number"]);
            for table in [&extra, &unknown, &number] {
                let values = strict.predict_frame(table).unwrap();
                assert!(values[0].iter().all(|value| value.is_some_and(f64::is_finite)), "{spec}");
            }
            let dropped = model(Missing::Drop).predict_frame(&gap).unwrap();
            assert!(dropped[0][0].is_some_and(f64::is_finite) && dropped[0][1].is_none(), "{spec}");
            let filled = model(Missing::Mean).predict_frame(&gap).unwrap();
            assert!(filled[0].iter().all(|value| value.is_some_and(f64::is_finite)), "{spec}");
            let error = strict.predict(&Matrix::zeros(2, 3)).unwrap_err().to_string();
            assert!(error.contains("\"c\"") && error.contains("is text"), "{spec}: {error}");
            tried += 11;
        }
    }
    assert_eq!(tried, 2 * 7 * 11);
}

// ---- many rows: Cholesky instead of eigenvectors --------------------------------------------------------------

#[test]
fn the_same_with_many_rows() {
    let base = || smooth(640, 2);
    let inputs: Vec<(&str, Expect, f64, Data)> = vec![
        ("as it should be", Finishes, 0.01, base()),
        (
            "NaN in x",
            Refused(&["row 600", "\"x1\"", "missing"]),
            0.01,
            base().x(|i, j, x| if (i, j) == (599, 0) { f64::NAN } else { x }),
        ),
        ("all rows equal", Finishes, 0.01, base().x(|_, _, _| 0.5)),
        ("constant y", Finishes, 0.01, base().y(|_, _| 0.1)),
        ("y of 0", Finishes, 0.01, base().y(|_, _| 0.0)),
        ("y of 1e150", Finishes, 0.01, base().y(|_, y| y * 3e149)),
        ("y of 1e-300", Finishes, 0.01, base().y(|_, y| y * 1e-300)),
        ("y shifted by 1e15", Finishes, 0.01, base().y(|_, y| y * 10.0 + 1e15)),
        ("features of 1e-300", FinishesOr(TOO_LARGE), 0.01, base().x(|_, _, x| x * 1e-300)),
        ("features of 1e300", FinishesOr(TOO_LARGE), 0.01, base().x(|_, _, x| x * 1e300)),
        (
            "one outlier of 1e200",
            FinishesOr(TOO_LARGE),
            0.01,
            base().x(|i, j, x| if (i, j) == (5, 0) { 1e200 } else { x }),
        ),
        ("λ 1e-290", FinishesOr(&["a larger λ is needed"]), 1e-290, base()),
        ("λ 1e-100", FinishesOr(&["a larger λ is needed"]), 1e-100, base()),
        ("λ 1e-17", FinishesOr(&["a larger λ is needed"]), 1e-17, base()),
        ("λ 1e100", Finishes, 1e100, base()),
        ("λ 1e290", Finishes, 1e290, base()),
        ("λ 1e290, y of 1e150", Finishes, 1e290, base().y(|_, y| y * 3e149)),
        ("λ 1e-290, all rows equal", FinishesOr(&["a larger λ is needed"]), 1e-290, base().x(|_, _, _| 0.5)),
    ];
    let mut jobs = Vec::new();
    for (name, expect, lambda, data) in &inputs {
        for (spec, offset) in [
            ("gaussian(lengthscale=0.8)", true),
            ("gaussian(lengthscale=0.8)", false),
            ("polynomial", true),
            ("additive-spline", false),
            ("linear", true),
        ] {
            let fit = Fit::with_shared(kernel::parse(spec).unwrap()).lambda(*lambda);
            let fit = if offset { fit } else { fit.without_offset() };
            jobs.push((format!("{name} | {spec}, offset {offset}"), *expect, job(fit, data)));
        }
    }
    assert_eq!(inputs.len(), 18);
    run_all(jobs).finish(18 * 5);
}
