//! Saving a file so that at every moment the old or the new one is there, whole.
//!
//! The bytes go to a temporary file in the same folder, are forced to the disk, and then take the
//! target's name in one step. A crash before that step leaves the old file untouched and at worst a
//! temporary file, which the next save to the same target removes.

use std::ffi::OsStr;
use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use crate::error::{Error, Result};

/// A temporary file older than this is nobody's, whatever process has its number by now.
const STALE: Duration = Duration::from_secs(24 * 60 * 60);

/// Symbolic links are followed this far, as the kernel does.
const MOST_LINKS: usize = 40;

/// Tells apart the saves of one process.
static COUNTER: AtomicU64 = AtomicU64::new(0);

/// Temporary files of this process.
static UNFINISHED: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// Removes the temporary files of saves under way, for a program that is about to end without finishing them. No save can
/// begin or end afterwards.
pub fn remove_unfinished() {
    let unfinished = UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner);
    for path in unfinished.iter() {
        let _ = fs::remove_file(path);
    }
    std::mem::forget(unfinished);
}

/// Writes `bytes` to the file at `path`, replacing it in one step.
///
/// An existing file keeps its permissions where the system allows it; a symbolic link stays and what it
/// points at is replaced. On any error the old file is as it was and no temporary file is left. A character device or a
/// pipe, such as `/dev/null`, is written to directly.
pub fn save(path: &Path, bytes: &[u8]) -> Result<()> {
    let mut pending = Pending::create(path)?;
    pending.write_all(bytes).map_err(|cause| Error::write(pending.shown.as_str(), cause))?;
    pending.commit()
}

/// A file that is written beside the one at its path and takes its place in one step, as [`save`] does; dropped before that,
/// it goes away and the old file is as it was.
pub struct Pending {
    shown: String,
    place: Place,
}

enum Place {
    Beside {
        target: PathBuf,
        temporary: Temporary,
    },
    /// A character device or a pipe cannot be replaced.
    Direct(File),
}

impl Pending {
    /// Begins a file that is to stand at `path`.
    pub fn create(path: &Path) -> Result<Self> {
        let shown = path.display().to_string();
        if is_written_directly(path) {
            let file =
                OpenOptions::new().write(true).open(path).map_err(|cause| Error::write(shown.as_str(), cause))?;
            return Ok(Pending { shown, place: Place::Direct(file) });
        }
        let target = target_of(path, &shown)?;
        let (Some(folder), Some(name)) = (folder(&target), target.file_name()) else {
            return Err(Error::format(&shown, "is not the name of a file; name a file to write to"));
        };
        let failed = |cause| Error::write(shown.as_str(), cause);
        let existing = existing(&target).map_err(failed)?;
        let prefix = prefix(name);
        remove_stale(folder, &prefix);
        let temporary = Temporary::create(folder, &prefix, existing.as_ref()).map_err(failed)?;
        Ok(Pending { shown, place: Place::Beside { target, temporary } })
    }

    /// Puts the file in its place, on the disk.
    pub fn commit(self) -> Result<()> {
        let failed = |cause| Error::write(self.shown.as_str(), cause);
        let Place::Beside { target, mut temporary } = self.place else { return Ok(()) };
        temporary.file.sync_all().map_err(failed)?;
        fs::rename(&temporary.path, &target).map_err(failed)?;
        temporary.taken = true;
        folder(&target).map_or(Ok(()), sync_folder).map_err(failed)
    }

    fn file(&mut self) -> &mut File {
        match &mut self.place {
            Place::Beside { temporary, .. } => &mut temporary.file,
            Place::Direct(file) => file,
        }
    }
}

impl Write for Pending {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file().flush()
    }
}

/// Whether the path is a character device or a pipe, such as `/dev/null`, `/dev/stdout` in a pipeline, or `>(…)` of a shell.
#[cfg(unix)]
fn is_written_directly(path: &Path) -> bool {
    use std::os::unix::fs::FileTypeExt;
    fs::metadata(path).is_ok_and(|about| about.file_type().is_char_device() || about.file_type().is_fifo())
}

#[cfg(not(unix))]
fn is_written_directly(_path: &Path) -> bool {
    false
}

/// What is at the path now, if anything is.
fn existing(target: &Path) -> io::Result<Option<Metadata>> {
    match fs::symlink_metadata(target) {
        Ok(about) => Ok(Some(about)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Where writing to `path` ends up, if a file may be put there.
fn target_of(path: &Path, shown: &str) -> Result<PathBuf> {
    let failed = |cause| Error::write(shown, cause);
    let target = follow(path).map_err(failed)?;
    let existing = existing(&target).map_err(failed)?;
    if let Some(about) = &existing
        && !about.is_file()
    {
        let kind = if about.is_dir() { "a folder" } else { "a device" };
        return Err(Error::format(
            shown,
            format!(
                "only a regular file can be replaced and this is {kind}; \
                 name a file, or - for standard output"
            ),
        ));
    }
    Ok(target)
}

/// Where writing to `path` ends up. By hand, because the last link may point at a file that is yet to
/// be written, which `canonicalize` refuses.
fn follow(path: &Path) -> io::Result<PathBuf> {
    let mut path = path.to_owned();
    for _ in 0..MOST_LINKS {
        match fs::read_link(&path) {
            // A relative link counts from the folder it is in; joining an absolute one replaces it.
            Ok(next) => path = path.parent().unwrap_or(Path::new("")).join(next),
            // Not a link, or not there: whoever uses the path will see which.
            Err(_) => return Ok(path),
        }
    }
    Err(io::Error::other("too many symbolic links"))
}

fn folder(target: &Path) -> Option<&Path> {
    match target.parent()? {
        here if here.as_os_str().is_empty() => Some(Path::new(".")),
        folder => Some(folder),
    }
}

/// How the names of a target's temporary files start.
fn prefix(name: &OsStr) -> String {
    let name = name.to_string_lossy();
    // File systems allow 255 bytes, and the numbers need some of them.
    let end = (0..=name.len().min(200)).rev().find(|&end| name.is_char_boundary(end)).unwrap_or(0);
    format!(".tmp-{}-", &name[..end])
}

/// A temporary file that goes away unless it took the target's name.
struct Temporary {
    path: PathBuf,
    file: File,
    taken: bool,
}

impl Temporary {
    fn create(folder: &Path, prefix: &str, existing: Option<&Metadata>) -> io::Result<Self> {
        loop {
            let count = COUNTER.fetch_add(1, Ordering::Relaxed);
            let path = folder.join(format!("{prefix}{}-{count}", process::id()));
            let mut unfinished = UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner);
            match options(existing).open(&path) {
                Ok(file) => {
                    if let Some(about) = existing {
                        // Exactly the old permissions, which the umask may have narrowed. A file
                        // system without permissions refuses, and the bytes matter more.
                        let _ = file.set_permissions(about.permissions());
                    }
                    unfinished.push(path.clone());
                    return Ok(Temporary { path, file, taken: false });
                }
                // A crashed process that had our number left it.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        if !self.taken {
            // There is already an error to report, or a panic under way.
            let _ = fs::remove_file(&self.path);
        }
        if let Ok(mut unfinished) = UNFINISHED.lock() {
            unfinished.retain(|path| *path != self.path);
        }
    }
}

/// Never an existing file, and from the start no one may read it who may not read the target.
fn options(existing: Option<&Metadata>) -> OpenOptions {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    if let Some(about) = existing {
        use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
        options.mode(about.permissions().mode() & 0o777);
    }
    #[cfg(not(unix))]
    let _ = existing;
    options
}

/// Removes what crashed saves to the same target left. That nothing is removed is no reason not to
/// save, so errors are passed over.
fn remove_stale(folder: &Path, prefix: &str) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| owner(name, prefix)) else { continue };
        let Ok(about) = entry.metadata() else { continue };
        let old = about
            .modified()
            .is_ok_and(|modified| SystemTime::now().duration_since(modified).is_ok_and(|age| age > STALE));
        if about.is_file() && (old || has_ended(pid)) {
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// The process that a temporary file of this target belongs to. The rest must be exactly two numbers:
/// the temporary files of `a-1` also start like those of `a`.
fn owner(name: &str, prefix: &str) -> Option<u32> {
    let (pid, count) = name.strip_prefix(prefix)?.split_once('-')?;
    let _: u64 = count.parse().ok()?;
    pid.parse().ok()
}

/// Whether the process is known to be gone; where that cannot be asked, age alone decides.
fn has_ended(pid: u32) -> bool {
    cfg!(target_os = "linux") && Path::new("/proc/self").exists() && !Path::new(&format!("/proc/{pid}")).exists()
}

/// Forces the new name to the disk; without it a power cut may bring the old file back.
fn sync_folder(folder: &Path) -> io::Result<()> {
    // Only Unix opens folders as files.
    if !cfg!(unix) {
        return Ok(());
    }
    match File::open(folder).and_then(|folder| folder.sync_all()) {
        // Some network file systems cannot, and some folders may be written to but not read. The file
        // itself is saved.
        Err(error)
            if matches!(
                error.kind(),
                io::ErrorKind::InvalidInput | io::ErrorKind::Unsupported | io::ErrorKind::PermissionDenied
            ) =>
        {
            Ok(())
        }
        result => result,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn owners_are_read_from_exact_names_only() {
        assert_eq!(owner(".tmp-a-12-3", ".tmp-a-"), Some(12));
        assert_eq!(owner(".tmp-a-1-12-3", ".tmp-a-"), None);
        assert_eq!(owner(".tmp-a-x-3", ".tmp-a-"), None);
        assert_eq!(owner(".tmp-b-12-3", ".tmp-a-"), None);
    }

    #[test]
    fn long_names_leave_room_for_the_numbers() {
        let prefix = prefix(OsStr::new(&"ä".repeat(127)));
        assert!(prefix.len() <= 206);
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn this_process_has_not_ended() {
        assert!(!has_ended(process::id()));
        assert!(has_ended(u32::MAX));
    }
}
