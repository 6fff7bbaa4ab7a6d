//! Tells a person at a terminal what a long run is doing; silent for the first second and everywhere else.

use std::io::IsTerminal;
use std::sync::Arc;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use mercer::Observer;

/// A line on standard error that goes away when dropped.
pub struct Progress {
    bar: ProgressBar,
}

impl Progress {
    pub fn start(quiet: bool) -> Self {
        let bar = ProgressBar::hidden();
        if !quiet && std::io::stderr().is_terminal() {
            if let Ok(style) = ProgressStyle::with_template("  {spinner} {msg} {elapsed}") {
                bar.set_style(style);
            }
            let late = bar.clone();
            std::thread::spawn(move || {
                std::thread::sleep(Duration::from_secs(1));
                if !late.is_finished() {
                    late.set_draw_target(ProgressDrawTarget::stderr());
                    late.enable_steady_tick(Duration::from_millis(120));
                }
            });
        }
        Progress { bar }
    }

    /// Passes the library's stages on to the line.
    pub fn observer(&self) -> Observer {
        let bar = self.bar.clone();
        Arc::new(move |stage| {
            bar.set_message(stage);
            true
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
        let bar = self.bar.clone();
        bar.set_message(part.clone());
        Arc::new(move |stage| {
            bar.set_message(format!("{part}: {stage}"));
            true
        })
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.clear();
    }
}
