//! Where the program runs: folders for temporary files, with generated tables in them.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result};

use crate::table;

/// A folder in the system's folder for temporary files. It is removed in the end.
pub struct Place {
    folder: PathBuf,
    pub nudged: bool,
}

impl Place {
    pub fn new(name: &str, nudged: bool) -> Result<Place> {
        let folder = std::env::temp_dir().join(format!("mercer-xtask-{}-{name}", std::process::id()));
        fs::create_dir_all(folder.join("tables"))?;
        Ok(Place { folder, nudged })
    }

    /// The path of a generated table, which is written once.
    fn table(&self, name: &str) -> Result<PathBuf> {
        let path = self.folder.join("tables").join(name);
        if !path.exists() {
            // Other jobs may want the same table: it appears whole.
            let part = path.with_extension(format!("part-{:?}", std::thread::current().id()));
            fs::write(&part, table::make(name, self.nudged)?)?;
            fs::rename(part, &path)?;
        }
        Ok(path)
    }

    /// An empty folder for the command lines of one case.
    pub fn room(&self, name: &str) -> Result<Room<'_>> {
        let folder = self.folder.join(name.replace('/', "."));
        fs::create_dir_all(&folder)?;
        Ok(Room { place: self, folder })
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// The folder of one case. It is removed in the end.
pub struct Room<'p> {
    place: &'p Place,
    pub folder: PathBuf,
}

impl Room<'_> {
    /// A command line of the program in this folder. Tables that it names are put there.
    pub fn command(&self, step: &str, program: &Path, threads: usize) -> Result<Command> {
        let mut command = Command::new(program);
        command.current_dir(&self.folder).env_remove("RAYON_NUM_THREADS").env("NO_COLOR", "1").stdin(Stdio::null());
        // To see why a case ends as it does.
        let is_shown = std::env::var_os("XTASK_STDERR").is_some();
        command.stdout(Stdio::null()).stderr(if is_shown { Stdio::inherit() } else { Stdio::null() });
        for word in step.split_whitespace() {
            let name = word.trim_start_matches('<');
            let path = self.folder.join(name);
            if is_table(name) && !path.exists() {
                let from = self.place.table(name)?;
                fs::hard_link(&from, &path)
                    .or_else(|_| fs::copy(&from, &path).map(|_| ()))
                    .context(from.display().to_string())?;
            }
            if word.starts_with('<') {
                command.stdin(File::open(path)?);
            } else {
                command.arg(word);
            }
        }
        command.args(["--threads", &threads.to_string()]);
        Ok(command)
    }
}

impl Drop for Room<'_> {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// Whether a word names a generated table.
pub fn is_table(word: &str) -> bool {
    let kind = word.split('-').next().unwrap_or_default();
    table::KINDS.contains(&kind) && word.contains('.')
}
