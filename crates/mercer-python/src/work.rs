//! Work on a pool of threads while the interpreter is free for others.
//!
//! The thread that called waits, looks for signals twenty times a second, and gives up at once when there is one; the work
//! itself ends at its next stage. A process that was forked makes itself a new pool: threads do not survive a fork.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use mercer::Observer;
use pyo3::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::refusal::{internal, refused};

/// How long a signal may wait.
const PATIENCE: Duration = Duration::from_millis(50);

/// The pool and the process it belongs to.
static POOL: Mutex<Option<(u32, Arc<ThreadPool>)>> = Mutex::new(None);
/// What `set_threads` said; 0 is nothing.
static ASKED: AtomicUsize = AtomicUsize::new(0);

/// Runs `work` and waits for it. The observer it is given says `false` once somebody pressed Ctrl-C.
pub fn run<T: Send + 'static>(
    py: Python<'_>,
    work: impl FnOnce(Observer) -> mercer::Result<T> + Send + 'static,
) -> PyResult<T> {
    let (send, receive) = mpsc::channel();
    let receive = Mutex::new(receive);
    let is_cancelled = Arc::new(AtomicBool::new(false));
    let seen = Arc::clone(&is_cancelled);
    let observer: Observer = Arc::new(move |_| !seen.load(Ordering::Relaxed));
    pool()?.spawn(move || {
        let result = catch_unwind(AssertUnwindSafe(|| work(observer)));
        // Nobody listens any more once the caller gave up.
        let _ = send.send(result);
    });
    loop {
        let answer = py.detach(|| receive.lock().unwrap_or_else(PoisonError::into_inner).recv_timeout(PATIENCE));
        match answer {
            Ok(Ok(result)) => return result.map_err(refused),
            Ok(Err(panic)) => {
                let text = panic.downcast_ref::<String>().cloned();
                let text = text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
                return Err(internal(&text.unwrap_or_default()));
            }
            Err(RecvTimeoutError::Disconnected) => return Err(internal("the work ended without an answer")),
            Err(RecvTimeoutError::Timeout) => {
                if let Err(signal) = py.check_signals() {
                    is_cancelled.store(true, Ordering::Relaxed);
                    return Err(signal);
                }
            }
        }
    }
}

fn pool() -> PyResult<Arc<ThreadPool>> {
    let own = std::process::id();
    let mut known = POOL.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, pool)) = known.as_ref().filter(|(process, _)| *process == own) {
        return Ok(Arc::clone(pool));
    }
    let made = ThreadPoolBuilder::new().num_threads(threads()).build().map_err(|error| internal(&error.to_string()))?;
    let made = Arc::new(made);
    // The pool of the parent has no threads here that could be told to end.
    std::mem::forget(known.replace((own, Arc::clone(&made))));
    Ok(made)
}

/// The number of threads that fits and predictions use: what `set_threads` said, else MERCER_THREADS, RAYON_NUM_THREADS or
/// OMP_NUM_THREADS (joblib sets the last one in its workers), else the number of processors.
#[pyfunction]
pub fn threads() -> usize {
    let said = |name: &str| std::env::var(name).ok()?.trim().parse::<usize>().ok().filter(|count| *count > 0);
    let available = || std::thread::available_parallelism().map_or(1, usize::from);
    match ASKED.load(Ordering::Relaxed) {
        0 => said("MERCER_THREADS")
            .or_else(|| said("RAYON_NUM_THREADS"))
            .or_else(|| said("OMP_NUM_THREADS"))
            .unwrap_or_else(available)
            .min(256),
        asked => asked,
    }
}

/// Sets the number of threads; results do not depend on it.
#[pyfunction]
pub fn set_threads(count: usize) -> PyResult<()> {
    if !(1..=256).contains(&count) {
        return Err(refused(mercer::Error::argument("the number of threads", "from 1 to 256", count)));
    }
    ASKED.store(count, Ordering::Relaxed);
    // Whoever is at work keeps the old pool until it is done.
    POOL.lock().unwrap_or_else(PoisonError::into_inner).take();
    Ok(())
}

/// Panics on purpose, so that a test can see what becomes of one.
#[pyfunction]
#[pyo3(name = "_panics")]
pub fn panics(py: Python<'_>) -> PyResult<()> {
    run(py, |_| panic!("on purpose"))
}
