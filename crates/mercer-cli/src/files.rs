//! Files that a run writes: their place is checked before any work, and each is replaced in one step or not at all.

use std::io::{Read, Write};
use std::path::Path;

use mercer::base::bytes::bytes;
use mercer::{format, plan};
use mercer_io::{ReadOptions, Table};

use crate::outcome::Advised;

/// The place must exist.
pub fn check_folder(path: &str) -> anyhow::Result<()> {
    let folder = Path::new(path).parent().filter(|folder| !folder.as_os_str().is_empty());
    match folder.filter(|folder| path != "-" && !folder.is_dir()) {
        Some(folder) => anyhow::bail!("cannot write {path}: there is no folder {}", folder.display()),
        None => Ok(()),
    }
}

/// The place for a table must exist, and its name must say a format that is written.
pub fn check_table_place(path: &str) -> anyhow::Result<()> {
    check_folder(path)?;
    if path != "-" {
        mercer_io::check_name(path)?;
    }
    Ok(())
}

/// The place for a model must exist, and hold nothing but a model.
pub fn check_model_place(path: &str) -> anyhow::Result<()> {
    check_folder(path)?;
    // Reading from a pipe would wait for somebody to write.
    let is_file = path != "-" && Path::new(path).is_file();
    let is_other = is_file && start(path).is_ok_and(|start| !start.is_empty() && !format::is_model(&start));
    if is_other {
        anyhow::bail!("{path} exists and is not a model file; it is left as it is (remove it, or choose another name)");
    }
    Ok(())
}

/// Reads a table, and says on standard error what should be known about how it was read.
pub fn read_table(path: &str, options: &ReadOptions) -> mercer_io::Result<Table> {
    let table = mercer_io::read(path, options)?;
    notes(path, &table.notes);
    Ok(table)
}

/// A table beyond this is measured before it is read, and what it holds is taken off the memory that may be used.
const LARGE: u64 = 64 << 20;

/// Refuses a table that would not fit into memory together with the features made of it, before it is read. Returns the bytes
/// that it will hold, where that is worth counting.
pub fn check_size(path: &str, options: &ReadOptions, limit: Option<u64>) -> anyhow::Result<u64> {
    let Some(size) = mercer_io::measure(path, options) else { return Ok(0) };
    let available = limit.unwrap_or_else(plan::available_memory);
    // The file while it is read, its cells, and the features with the copy they are made of.
    let needed = size.bytes.saturating_add(3 * size.cells());
    if needed > available && needed > LARGE {
        let what = "the table and its features";
        let rows = usize::try_from(size.rows).unwrap_or(usize::MAX);
        let hint = if size.is_text { " (estimated from the size of the file)".into() } else { String::new() };
        let cause = mercer::Error::Memory { rows, needed, available, what, hint };
        let remedy = format!(
            "`mercer moments {path} --target …` reads the table in parts and needs about 100 MB; `mercer fit` then takes its \
             file; --memory {} allows this fit",
            bytes(needed.saturating_mul(2)).replace([' ', 'B'], "")
        );
        return Err(Advised { cause, remedy }.into());
    }
    Ok(if size.held() > LARGE { size.held() } else { 0 })
}

/// What should be known about how a table was read.
pub fn notes(path: &str, notes: &[String]) {
    notes.iter().for_each(|note| say!("note: {path}: {note}"));
}

/// Whether a file is a model, told by its first bytes.
pub fn is_model(path: &str) -> bool {
    path != "-" && start(path).is_ok_and(|start| format::is_model(&start))
}

/// The first bytes of a file.
pub fn start(path: &str) -> std::io::Result<Vec<u8>> {
    let mut start = vec![0; 8];
    let read = std::fs::File::open(path)?.read(&mut start)?;
    start.truncate(read);
    Ok(start)
}

/// Bytes to a file, or to standard output for `-`.
pub fn save(path: &str, bytes: &[u8]) -> anyhow::Result<()> {
    if path == "-" {
        let mut stdout = std::io::stdout().lock();
        stdout.write_all(bytes)?;
        stdout.flush()?;
    } else {
        mercer_io::atomic::save(Path::new(path), bytes)?;
    }
    Ok(())
}
