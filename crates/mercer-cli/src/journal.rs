//! Finished work in a file, so that a run that was killed goes on where it was (`--journal`).
//!
//! The first line names the format and the run: a fingerprint of the data and of all settings that matter. Every
//! further line is one finished piece of work:
//!
//! ```text
//! key<TAB>numbers, each as the 16 hexadecimal digits of its bits<TAB>checksum of what stands before
//! ```
//!
//! Lines are appended in one write and forced to disk. A line that was torn by the end of a process or of the power
//! fails its checksum and is cut away at the next start; what it held is computed again.

use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use mercer::data::{Column, Frame};
use mercer::journal::{Journal, SharedJournal};
use sha2::{Digest, Sha256};

const FORMAT: &str = "mercer-journal 1";

/// What identifies a run: a digest over everything that its numbers depend on.
pub struct Fingerprint(Sha256);

impl Fingerprint {
    pub fn new() -> Self {
        Fingerprint(Sha256::new()).text(env!("CARGO_PKG_VERSION"))
    }

    /// With its length, so that two texts are not one.
    pub fn text(mut self, text: &str) -> Self {
        self.0.update((text.len() as u64).to_le_bytes());
        self.0.update(text);
        self
    }

    pub fn frame(self, frame: &Frame) -> Self {
        let mut all = self.text(&format!("{} rows", frame.rows()));
        for (name, column) in frame.iter() {
            all = all.text(name);
            match column {
                Column::Number(cells) => {
                    all.0.update(b"n");
                    // A missing cell is a missing cell, whatever the bits of its NaN.
                    cells.iter().for_each(|x| {
                        let bits = if x.is_nan() { u64::MAX } else { x.to_bits() };
                        all.0.update(bits.to_le_bytes());
                    });
                }
                Column::Text(cells) => {
                    all.0.update(b"t");
                    for cell in cells {
                        all = match cell {
                            Some(text) => all.text(text),
                            None => all.text("\u{0}missing"),
                        };
                    }
                }
            }
        }
        all
    }

    fn hex(self) -> String {
        hex(&self.0.finalize())
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A journal in a file.
#[derive(Debug)]
pub struct FileJournal {
    path: String,
    /// Records found when the file was opened.
    pub found: usize,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    file: File,
    known: HashMap<String, Vec<f64>>,
    /// The first failure; after it nothing more is written.
    failure: Option<std::io::Error>,
}

impl FileJournal {
    /// Opens or begins the journal of one run; that of another run is refused and left as it is.
    pub fn open(path: &str, fingerprint: Fingerprint) -> anyhow::Result<Self> {
        let header = format!("{FORMAT} {}\n", fingerprint.hex());
        let explain = |cause: std::io::Error| anyhow::anyhow!("cannot use the journal {path}: {cause}");
        let bytes = match std::fs::read(path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Vec::new(),
            Err(error) => return Err(explain(error)),
        };
        let begins_anew = header.as_bytes().starts_with(&bytes) && bytes.len() < header.len();
        if !begins_anew && !bytes.starts_with(header.as_bytes()) {
            match bytes.starts_with(FORMAT.as_bytes()) {
                true => anyhow::bail!(
                    "{path} is the journal of another run (other data or settings); remove it or choose another name"
                ),
                false => anyhow::bail!("{path} exists and is not a journal; it is left as it is (choose another name)"),
            }
        }
        let (known, whole) = if begins_anew { (HashMap::new(), 0) } else { read(&bytes, header.len()) };
        let mut file = OpenOptions::new().create(true).append(true).open(path).map_err(explain)?;
        if whole < bytes.len() {
            file.set_len(whole as u64).map_err(explain)?;
        }
        if begins_anew {
            file.write_all(header.as_bytes()).map_err(explain)?;
        }
        file.sync_data().map_err(explain)?;
        let found = known.len();
        Ok(FileJournal { path: path.to_owned(), found, state: Mutex::new(State { file, known, failure: None }) })
    }

    /// Why the journal could not be kept, if it could not.
    pub fn failure(&self) -> Option<String> {
        let state = self.state();
        let cause = state.failure.as_ref()?;
        Some(format!("the journal {} could not be written: {cause}; a stopped run would start anew", self.path))
    }

    /// A thread that panicked has not left half a record: the rest may go on.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Journal for FileJournal {
    fn recall(&self, key: &str) -> Option<Vec<f64>> {
        self.state().known.get(&clean(key)).cloned()
    }

    fn record(&self, key: &str, numbers: &[f64]) {
        let (key, mut state) = (clean(key), self.state());
        if state.failure.is_none() {
            let line = line(&key, numbers);
            state.failure = state.file.write_all(line.as_bytes()).and_then(|()| state.file.sync_data()).err();
        }
        // A key that is asked for again finds the same answer now as after a restart.
        state.known.insert(key, numbers.to_vec());
    }
}

/// A key on one line, without the character that ends it.
fn clean(key: &str) -> String {
    key.replace(['\t', '\n', '\r'], " ")
}

fn line(key: &str, numbers: &[f64]) -> String {
    let numbers: Vec<String> = numbers.iter().map(|x| format!("{:016x}", x.to_bits())).collect();
    let content = format!("{key}\t{}", numbers.join(" "));
    format!("{content}\t{}\n", checksum(&content))
}

fn checksum(content: &str) -> String {
    hex(&Sha256::digest(content)[..8])
}

/// The records after the header, and the length of the file up to the last whole one.
fn read(bytes: &[u8], header: usize) -> (HashMap<String, Vec<f64>>, usize) {
    let mut known = HashMap::new();
    let mut whole = header;
    for line in bytes[header..].split_inclusive(|byte| *byte == b'\n') {
        let Some((key, numbers)) = read_line(line) else { break };
        known.insert(key, numbers);
        whole += line.len();
    }
    (known, whole)
}

fn read_line(line: &[u8]) -> Option<(String, Vec<f64>)> {
    let text = std::str::from_utf8(line).ok()?.strip_suffix('\n')?;
    let (content, sum) = text.rsplit_once('\t')?;
    let (key, numbers) = content.split_once('\t')?;
    let number = |digits: &str| u64::from_str_radix(digits, 16).ok().map(f64::from_bits);
    let numbers = numbers.split(' ').filter(|part| !part.is_empty()).map(number).collect::<Option<_>>()?;
    (sum == checksum(content)).then(|| (key.to_owned(), numbers))
}

/// Part of a run that has a journal of its own inside another's.
#[derive(Debug)]
struct Prefixed {
    prefix: String,
    inner: SharedJournal,
}

impl Journal for Prefixed {
    fn recall(&self, key: &str) -> Option<Vec<f64>> {
        self.inner.recall(&format!("{}{key}", self.prefix))
    }

    fn record(&self, key: &str, numbers: &[f64]) {
        self.inner.record(&format!("{}{key}", self.prefix), numbers);
    }
}

/// The journal of one part; its keys do not meet those of other parts.
pub fn part(inner: &SharedJournal, name: &str) -> SharedJournal {
    Arc::new(Prefixed { prefix: format!("{name}: "), inner: inner.clone() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(value: f64) -> Frame {
        let mut frame = Frame::new(1);
        frame.push("a", Column::Number(vec![value])).unwrap();
        frame
    }

    #[test]
    fn what_was_recorded_comes_back_and_a_torn_line_does_not() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("j").to_str().unwrap().to_owned();
        let open = || FileJournal::open(&path, Fingerprint::new().frame(&frame(1.0)));
        let numbers = vec![0.1, -0.0, f64::INFINITY, f64::MIN_POSITIVE, f64::NAN];
        {
            let shared: SharedJournal = Arc::new(open().unwrap());
            shared.record("first\tkey", &numbers);
            part(&shared, "fold 1").record("second", &[]);
            assert_eq!(shared.recall("first\tkey").map(|read| read.len()), Some(5));
        }
        let whole = std::fs::read(&path).unwrap();
        for cut in 0..=whole.len() {
            std::fs::write(&path, &whole[..cut]).unwrap();
            let journal = open().unwrap();
            if let Some(read) = journal.recall("first\tkey") {
                assert!(read.iter().zip(&numbers).all(|(a, b)| a.to_bits() == b.to_bits()) && read.len() == 5);
            }
            let expected = whole[..cut].iter().filter(|byte| **byte == b'\n').count().saturating_sub(1);
            assert_eq!(journal.found, expected, "cut at {cut}");
            // It can be written on from any cut.
            journal.record("third", &[1.0]);
            drop(journal);
            assert_eq!(open().unwrap().found, expected + 1, "cut at {cut}");
        }
        std::fs::write(&path, &whole).unwrap();
        let shared: SharedJournal = Arc::new(open().unwrap());
        assert_eq!(part(&shared, "fold 1").recall("second"), Some(vec![]));
        assert!(shared.recall("second").is_none());
        // A changed digit is found.
        let mut wrong = whole.clone();
        let at = whole.len() - 30;
        wrong[at] ^= 1;
        std::fs::write(&path, &wrong).unwrap();
        assert_eq!(open().unwrap().found, 1);
    }

    #[test]
    fn other_runs_and_other_files_are_refused_and_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("j").to_str().unwrap().to_owned();
        FileJournal::open(&path, Fingerprint::new().frame(&frame(1.0))).unwrap().record("k", &[1.0]);
        let before = std::fs::read(&path).unwrap();
        let error = FileJournal::open(&path, Fingerprint::new().frame(&frame(2.0))).unwrap_err().to_string();
        assert!(error.contains("journal of another run"), "{error}");
        assert_eq!(std::fs::read(&path).unwrap(), before);
        std::fs::write(&path, "a,b\n1,2\n").unwrap();
        let error = FileJournal::open(&path, Fingerprint::new()).unwrap_err().to_string();
        assert!(error.contains("not a journal"), "{error}");
        assert_eq!(std::fs::read(&path).unwrap(), b"a,b\n1,2\n");
    }
}
