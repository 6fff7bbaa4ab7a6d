//! What a run costs.

use std::process::{Command, ExitStatus};
use std::time::Instant;

use anyhow::Result;

/// How runs are timed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Clock {
    /// By the processor time of the program: it hardly depends on what else the machine does. Meant for one thread.
    Processor,
    /// By the clock on the wall: with several threads what they wait for each other counts.
    Wall,
}

impl Clock {
    pub fn suitable(threads: usize) -> Clock {
        if threads == 1 && cfg!(unix) { Clock::Processor } else { Clock::Wall }
    }

    pub fn name(self) -> &'static str {
        match self {
            Clock::Processor => "processor time",
            Clock::Wall => "wall-clock time",
        }
    }

    /// Runs a command to its end.
    pub fn time(self, command: &mut Command) -> Result<(ExitStatus, f64)> {
        let (started, before) = (Instant::now(), of_children()?);
        let status = command.status()?;
        let seconds = match self {
            Clock::Processor => of_children()? - before,
            Clock::Wall => started.elapsed().as_secs_f64(),
        };
        Ok((status, seconds))
    }
}

/// Seconds of processor time of all runs that have ended.
#[cfg(unix)]
fn of_children() -> Result<f64> {
    use nix::sys::resource::{UsageWho, getrusage};
    use nix::sys::time::TimeValLike;
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN)?;
    Ok(1e-6 * (usage.user_time().num_microseconds() + usage.system_time().num_microseconds()) as f64)
}

#[cfg(not(unix))]
fn of_children() -> Result<f64> {
    Ok(0.0)
}
