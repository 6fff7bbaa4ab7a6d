//! Rows as they arrive, and signals between them.

use std::sync::mpsc::{Receiver, Sender, channel};

use anyhow::Context;
use mercer::data::Frame;
use mercer_io::parts::{self, Parts};

use crate::args::StreamOptions;
use crate::{files, signals};

/// What comes next.
pub enum Event {
    /// The rows that were asked for; `None` at the end of the table.
    Rows(Option<Frame>),
    /// A signal, with the exit code that tells it.
    Signal(u8),
}

type Message = anyhow::Result<Event>;

/// A thread that waits for rows, so that a signal is heard while there are none.
pub struct Source {
    requests: Sender<usize>,
    messages: Receiver<Message>,
}

impl Source {
    pub fn open(options: &StreamOptions) -> anyhow::Result<Self> {
        let (requests, asked) = channel();
        let (sender, messages) = channel();
        let to = sender.clone();
        signals::hand_to(move |code| {
            let _ = to.send(Ok(Event::Signal(code)));
        });
        let (table, reading) = (options.table.clone(), options.reading.to_read_options());
        let read = move || {
            // The first bytes may be long in coming, too.
            match parts::open(&table, &reading) {
                Ok(parts) => answer(parts, &table, &asked, &sender),
                Err(error) => {
                    let _ = sender.send(Err(error.into()));
                }
            }
        };
        std::thread::Builder::new().name("reader".into()).spawn(read).context("cannot start a thread that reads")?;
        Ok(Source { requests, messages })
    }

    /// Waits for at most `most` rows, or a signal.
    pub fn next(&self, most: usize) -> Message {
        // Where the reader has ended it has left an error.
        let _ = self.requests.send(most);
        self.messages.recv().context("the reader of the table has stopped")?
    }
}

fn answer(mut parts: Parts, table: &str, asked: &Receiver<usize>, to: &Sender<Message>) {
    let mut is_first = true;
    for most in asked {
        let rows = parts.next(most);
        if std::mem::take(&mut is_first) {
            files::notes(table, parts.notes());
        }
        if to.send(rows.map(Event::Rows).map_err(Into::into)).is_err() {
            return;
        }
    }
}
