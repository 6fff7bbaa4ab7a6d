//! What is asked of every input, and running thousands of them so that none can hang or bring down the rest.

use std::collections::{BTreeMap, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

/// What must come out.
#[derive(Clone, Copy)]
pub enum Expect {
    /// Refused, with all of these in the message.
    Refused(&'static [&'static str]),
    /// A fit.
    Finishes,
    /// A fit, or a refusal with one of these in the message.
    FinishesOr(&'static [&'static str]),
}
use Expect::{Finishes, FinishesOr, Refused};

/// Reasons that belong to kernel values or features beyond what f64 can hold.
pub const TOO_LARGE: &[&str] = &["kernel values reach", "scale the features", "which f64 cannot scale"];

/// The effective ridge of such a λ and exponent may itself be beyond what f64 can hold.
pub const OUT_OF_RANGE: Expect = FinishesOr(&["λ", "lambda", "exponent", "ridge"]);

/// Weights whose sizes differ by more than the digits of f64 may be refused, for that reason.
pub const WEIGHTS: &[&str] = &["weight"];

#[derive(Default)]
pub struct Tally {
    tried: usize,
    pub finished: usize,
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

    pub fn finish(&self, tried: usize) {
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
pub enum Outcome {
    Finished,
    Refused(String),
}

pub type Job = Box<dyn FnOnce() -> Result<Outcome, String> + Send>;

/// Runs the jobs one after the other; none may panic or take over ten seconds.
pub fn run_all(jobs: Vec<(String, Expect, Job)>) -> Tally {
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
