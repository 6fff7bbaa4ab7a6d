//! Signals that end a run: Ctrl-C, and on Unix SIGTERM and SIGHUP.

use std::sync::{Mutex, PoisonError};

/// Called with the exit code of the signal.
type Handler = Box<dyn FnOnce(u8) + Send>;

/// Takes the next signal, where a command ends in its own way.
static HANDLER: Mutex<Option<Handler>> = Mutex::new(None);

/// The first signal goes to `handler`, together with the exit code that tells it; the second ends the program at once.
pub fn hand_to(handler: impl FnOnce(u8) + Send + 'static) {
    *HANDLER.lock().unwrap_or_else(PoisonError::into_inner) = Some(Box::new(handler));
}

/// Saves are atomic and nothing but their temporary files is left behind, so stopping at once is safe.
fn arrived(code: u8) {
    let handler = HANDLER.lock().unwrap_or_else(PoisonError::into_inner).take();
    match handler {
        Some(handler) => handler(code),
        None => {
            mercer_io::atomic::remove_unfinished();
            say!("interrupted");
            std::process::exit(code.into());
        }
    }
}

/// Begins to wait for signals. All threads begun later leave them to the one that is begun here; where there can be none,
/// signals keep their usual effect.
#[cfg(unix)]
pub fn install() {
    use nix::sys::signal::{SigSet, Signal};

    let mut signals = SigSet::empty();
    signals.add(Signal::SIGINT);
    signals.add(Signal::SIGTERM);
    // `nohup` ignores it.
    if !is_ignored(Signal::SIGHUP as u32) {
        signals.add(Signal::SIGHUP);
    }
    if signals.thread_block().is_err() {
        return;
    }
    let wait = move || {
        while let Ok(signal) = signals.wait() {
            arrived(128 + signal as u8);
        }
    };
    if std::thread::Builder::new().name("signals".into()).spawn(wait).is_err() {
        let _ = signals.thread_unblock();
    }
}

#[cfg(not(unix))]
pub fn install() {
    let _ = ctrlc::set_handler(|| arrived(130));
}

/// Whether the program was started with this signal ignored, where the system tells.
#[cfg(unix)]
fn is_ignored(signal: u32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask >> (signal - 1) & 1 == 1)
}
