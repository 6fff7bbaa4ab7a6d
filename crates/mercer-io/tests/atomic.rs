//! Saving: the old file or the new one, never half of either.

use std::fs;
use std::path::Path;

use mercer_io::atomic::save;
use mercer_io::model::load;

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn files_are_made_and_replaced_and_nothing_is_left() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("m");
    save(&path, b"one").unwrap();
    save(&path, b"two").unwrap();
    assert_eq!(load(path.to_str().unwrap()).unwrap(), b"two");
    assert_eq!(names(folder.path()), ["m"]);
}

#[test]
fn a_missing_folder_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("no/m");
    let error = save(&path, b"x").unwrap_err().to_string();
    assert!(error.starts_with(&format!("cannot write {}: No such file", path.display())), "{error}");
    assert!(names(folder.path()).is_empty());
}

#[test]
fn folders_and_devices_are_not_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let inner = folder.path().join("d");
    fs::create_dir(&inner).unwrap();
    assert!(save(&inner, b"x").unwrap_err().to_string().contains("this is a folder"));
    assert!(load(inner.to_str().unwrap()).unwrap_err().to_string().contains("this is a folder"));
    assert!(save(Path::new("/"), b"x").is_err());
    assert!(save(Path::new(""), b"x").is_err());
    assert!(save(&folder.path().join(".."), b"x").is_err());
    assert_eq!(names(folder.path()), ["d"]);
}

#[test]
fn other_files_are_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let kept = [".tmp-m-1-999999999-0", ".tmp-m-x-0", ".tmp-other-999999999-0", "m-999999999-0"];
    for name in kept {
        fs::write(folder.path().join(name), "").unwrap();
    }
    save(&folder.path().join("m"), b"x").unwrap();
    for name in kept {
        assert!(folder.path().join(name).exists(), "{name}");
    }
}

#[test]
fn many_at_once_leave_one_whole_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("m");
    std::thread::scope(|scope| {
        for byte in 0..4_u8 {
            let path = &path;
            scope.spawn(move || (0..20).for_each(|_| save(path, &[byte; 10_000]).unwrap()));
        }
    });
    let bytes = fs::read(&path).unwrap();
    assert!(bytes.len() == 10_000 && bytes.iter().all(|byte| *byte == bytes[0]));
    assert_eq!(names(folder.path()), ["m"]);
}

#[test]
#[cfg(target_os = "linux")]
fn what_crashed_saves_left_is_removed() {
    let folder = tempfile::tempdir().unwrap();
    let old = std::time::SystemTime::now() - std::time::Duration::from_secs(25 * 3600);
    let own = std::process::id();
    for name in [".tmp-m-999999999-0".to_owned(), format!(".tmp-m-{own}-999"), format!(".tmp-m-{own}-998")] {
        fs::write(folder.path().join(name), "half").unwrap();
    }
    let aged = fs::File::options().write(true).open(folder.path().join(format!(".tmp-m-{own}-999"))).unwrap();
    aged.set_modified(old).unwrap();
    save(&folder.path().join("m"), b"x").unwrap();
    // The one of a process that runs, and recent, may be in use.
    assert_eq!(names(folder.path()), [format!(".tmp-m-{own}-998"), "m".to_owned()]);
}

#[cfg(unix)]
mod unix {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    #[test]
    fn permissions_are_kept() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("m");
        for mode in [0o600, 0o666, 0o755] {
            fs::write(&path, "old").unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            save(&path, b"new").unwrap();
            assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, mode);
        }
    }

    #[test]
    fn links_stay_and_what_they_point_at_is_replaced() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("there")).unwrap();
        fs::write(folder.path().join("there/m"), "old").unwrap();
        symlink("there/m", folder.path().join("one")).unwrap();
        symlink("one", folder.path().join("two")).unwrap();
        save(&folder.path().join("two"), b"new").unwrap();
        assert_eq!(fs::read(folder.path().join("there/m")).unwrap(), b"new");
        for link in ["one", "two"] {
            assert!(fs::symlink_metadata(folder.path().join(link)).unwrap().is_symlink());
        }

        symlink("there/yet to be", folder.path().join("dangling")).unwrap();
        save(&folder.path().join("dangling"), b"new").unwrap();
        assert_eq!(fs::read(folder.path().join("there/yet to be")).unwrap(), b"new");

        symlink("loop", folder.path().join("loop")).unwrap();
        assert!(save(&folder.path().join("loop"), b"new").is_err());
    }

    #[test]
    fn a_folder_that_cannot_be_written_leaves_the_target_intact() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("m");
        fs::write(&path, "old").unwrap();
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o555)).unwrap();
        // Permissions do not hold for root, who then simply succeeds.
        let bound = fs::write(folder.path().join("probe"), "").is_err();
        let result = save(&path, b"new");
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
        assert_eq!(result.is_err(), bound);
        assert_eq!(fs::read(&path).unwrap(), if bound { b"old" } else { b"new" });
    }

    #[test]
    fn devices_and_pipes_are_written_to_directly() {
        save(Path::new("/dev/null"), b"x").unwrap();
        assert!(load("/dev/null").unwrap_err().to_string().contains("a device or pipe"));

        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("p");
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        let reader = std::thread::spawn({
            let pipe = pipe.clone();
            move || fs::read(pipe).unwrap()
        });
        save(&pipe, b"through").unwrap();
        assert_eq!(reader.join().unwrap(), b"through");
        assert_eq!(names(folder.path()), ["p"]);
    }
}
