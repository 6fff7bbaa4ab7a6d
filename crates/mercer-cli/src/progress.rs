//! Tells a person at a terminal what a long run is doing; silent for the first second and everywhere else.

use std::fmt::Write;
use std::io::IsTerminal;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};
use mercer::Observer;
use mercer::auto::{SearchObserver, Standing};

use crate::report::{integer, short};

/// A line on standard error that goes away when dropped.
pub struct Progress {
    bar: ProgressBar,
    /// How far an automatic search is, said behind every stage.
    standing: Arc<Mutex<String>>,
}

impl Progress {
    pub fn start(quiet: bool) -> Self {
        Progress::within(quiet, None)
    }

    /// The same where the time is limited: what is left of it is shown.
    pub fn within(quiet: bool, budget: Option<Duration>) -> Self {
        let bar = ProgressBar::hidden();
        if !quiet && std::io::stderr().is_terminal() {
            if let Ok(style) = ProgressStyle::with_template("  {spinner} {msg} {time}") {
                let time = move |state: &ProgressState, text: &mut dyn Write| {
                    let _ = text.write_str(&time(state.elapsed(), budget));
                };
                bar.set_style(style.with_key("time", time));
            }
            let late = bar.clone();
            let show = move || {
                std::thread::sleep(Duration::from_secs(1));
                if !late.is_finished() {
                    late.set_draw_target(ProgressDrawTarget::stderr());
                    late.enable_steady_tick(Duration::from_millis(120));
                }
            };
            // Without a thread there is no line.
            let _ = std::thread::Builder::new().spawn(show);
        }
        Progress { bar, standing: Arc::default() }
    }

    /// Passes the library's stages on to the line.
    pub fn observer(&self) -> Observer {
        let (bar, standing) = (self.bar.clone(), self.standing.clone());
        Arc::new(move |stage| {
            bar.set_message(format!("{stage}{}", standing.lock().unwrap_or_else(PoisonError::into_inner)));
            true
        })
    }

    /// Follows an automatic search.
    pub fn search_observer(&self) -> SearchObserver {
        let standing = self.standing.clone();
        Arc::new(move |now| {
            *standing.lock().unwrap_or_else(PoisonError::into_inner) = in_words(now);
        })
    }

    /// Takes the line away.
    pub fn clear(&self) {
        self.bar.finish_and_clear();
    }

    /// Says how far a run is that the program itself drives.
    pub fn show(&self, text: String) {
        self.bar.set_message(text);
    }

    /// The same for one part of a run: `assessing, fold 2 of 5: decomposing`.
    pub fn observer_of(&self, part: String) -> Observer {
        let (bar, standing) = (self.bar.clone(), self.standing.clone());
        bar.set_message(part.clone());
        Arc::new(move |stage| {
            bar.set_message(format!("{part}: {stage}{}", standing.lock().unwrap_or_else(PoisonError::into_inner)));
            true
        })
    }
}

/// Rows of how many, if that is known, and how fast.
pub fn rows(done: usize, total: Option<usize>, elapsed: Duration) -> String {
    let of = total.map_or_else(String::new, |total| format!(" of {}", integer(total)));
    let rate = integer((done as f64 / elapsed.as_secs_f64().max(1e-3)) as usize);
    format!("{}{of} rows, {rate} a second", integer(done))
}

/// The time so far, and what is left of the budget.
fn time(elapsed: Duration, budget: Option<Duration>) -> String {
    let spent = format!("{}s", elapsed.as_secs());
    match budget {
        None => spent,
        Some(budget) if elapsed < budget => {
            format!("{spent}, {}s of the budget left", (budget - elapsed).as_secs_f64().ceil())
        }
        Some(_) => format!("{spent}, budget used up"),
    }
}

/// What a search has done, and the best model so far.
fn in_words(now: &Standing) -> String {
    let done = match now.judged {
        0 => format!("{} of {} candidates learned", now.learned, now.candidates),
        judged => format!("{judged} candidates judged"),
    };
    let best = now
        .best
        .as_ref()
        .map_or_else(String::new, |(name, rmse)| format!(", best so far {name}, RMSE {}", short(*rmse)));
    format!(" · {done}{best} ·")
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_says_best_so_far_budget_and_rows() {
        let mut now = Standing { candidates: 13, learned: 4, judged: 0, best: None };
        assert_eq!(in_words(&now), " · 4 of 13 candidates learned ·");
        (now.judged, now.best) = (2, Some(("matern52, per feature".into(), 4.2126)));
        assert_eq!(in_words(&now), " · 2 candidates judged, best so far matern52, per feature, RMSE 4.213 ·");
        let seconds = Duration::from_secs_f64;
        assert_eq!(time(seconds(9.4), None), "9s");
        assert_eq!(time(seconds(9.4), Some(seconds(25.0))), "9s, 16s of the budget left");
        assert_eq!(time(seconds(26.0), Some(seconds(25.0))), "26s, budget used up");
        assert_eq!(rows(1_024_000, Some(5_000_000), seconds(10.0)), "1,024,000 of 5,000,000 rows, 102,400 a second");
        assert_eq!(rows(50, None, seconds(1.0)), "50 rows, 50 a second");
    }
}
