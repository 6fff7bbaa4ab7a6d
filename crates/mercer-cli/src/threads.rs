//! The threads that all work is shared among.

use std::sync::mpsc::{Sender, channel};

/// Begins as many threads as were asked for, or as there are processors; where the system allows fewer (`ulimit -u`), as many as
/// it allows, and a note says so.
pub fn start(asked: Option<usize>) {
    let said = || std::env::var("RAYON_NUM_THREADS").ok()?.parse().ok().filter(|count| *count > 0);
    let processors = || std::thread::available_parallelism().map_or(1, usize::from);
    let wanted = asked.or_else(said).unwrap_or_else(processors);
    // They are begun before the pool, which could not be made a second time.
    let waiting: Vec<Sender<rayon::ThreadBuilder>> = (0..wanted).map_while(|_| begin()).collect();
    if waiting.len() < wanted {
        say!("note: the system allows {} of {wanted} threads", waiting.len().max(1));
    }
    let builder = rayon::ThreadPoolBuilder::new();
    let made = match waiting.len() {
        0 => builder.num_threads(1).use_current_thread().build_global(),
        count => {
            let mut waiting = waiting.into_iter();
            let hand_over = |thread: rayon::ThreadBuilder| {
                let next = waiting.next().ok_or_else(|| std::io::Error::other("no thread is waiting"))?;
                next.send(thread).map_err(|_| std::io::Error::other("a thread has ended"))
            };
            builder.num_threads(count).spawn_handler(hand_over).build_global()
        }
    };
    if let Err(error) = made {
        say!("note: the threads cannot be used: {error}");
    }
}

/// A thread that waits for what it is to do.
fn begin() -> Option<Sender<rayon::ThreadBuilder>> {
    let (sender, work) = channel::<rayon::ThreadBuilder>();
    let run = move || {
        if let Ok(thread) = work.recv() {
            thread.run();
        }
    };
    std::thread::Builder::new().spawn(run).ok().map(|_| sender)
}
