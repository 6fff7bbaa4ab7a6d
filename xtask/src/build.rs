//! Builds of the program: of this working tree and of other revisions.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};

/// The root of the workspace.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().map(Path::to_path_buf).unwrap_or_default()
}

/// The folder of build products: `CARGO_TARGET_DIR`, or `target`.
pub fn target() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), |folder| root().join(folder))
}

/// The program at `path`, or a release build of the working tree.
pub fn program(path: Option<&str>) -> Result<PathBuf> {
    match path {
        Some(path) => executable(Path::new(path)),
        None => {
            eprintln!("building the program");
            build(&root(), &target())
        }
    }
}

/// An existing program, as an absolute path.
pub fn executable(path: &Path) -> Result<PathBuf> {
    path.canonicalize().with_context(|| format!("there is no program {}", path.display()))
}

/// A release build of another revision, kept in the target folder with the build products: the next time it is there, and a
/// revision nearby takes less.
pub fn revision(name: &str) -> Result<PathBuf> {
    let commit = git(["rev-parse", "--verify", &format!("{name}^{{commit}}")])?;
    let kept = target().join("xtask").join(format!("mercer-{}{}", &commit[..12], std::env::consts::EXE_SUFFIX));
    if kept.exists() {
        return Ok(kept);
    }
    let tree = target().join("xtask").join("worktree");
    if tree.exists() {
        git([OsStr::new("worktree"), "remove".as_ref(), "--force".as_ref(), tree.as_os_str()])?;
    }
    // --force: an interrupted build may have left its entry without its folder.
    git([
        OsStr::new("worktree"),
        "add".as_ref(),
        "--force".as_ref(),
        "--detach".as_ref(),
        tree.as_os_str(),
        commit.as_ref(),
    ])?;
    eprintln!("building {name} ({})", &commit[..9]);
    let built = build(&tree, &target().join("xtask").join("build"));
    git([OsStr::new("worktree"), "remove".as_ref(), "--force".as_ref(), tree.as_os_str()])?;
    std::fs::copy(built?, &kept)?;
    Ok(kept)
}

fn build(tree: &Path, target: &Path) -> Result<PathBuf> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let status = Command::new(cargo)
        .args(["build", "--release", "--package", "mercer-cli", "--locked", "--target-dir"])
        .arg(target)
        .current_dir(tree)
        .status()?;
    ensure!(status.success(), "the build in {} failed", tree.display());
    executable(&target.join("release").join(format!("mercer{}", std::env::consts::EXE_SUFFIX)))
}

fn git<I: IntoIterator<Item: AsRef<OsStr>>>(words: I) -> Result<String> {
    let done = Command::new("git").args(words).current_dir(root()).output()?;
    if !done.status.success() {
        bail!("git: {}", String::from_utf8_lossy(&done.stderr).trim());
    }
    Ok(String::from_utf8_lossy(&done.stdout).trim().to_owned())
}
