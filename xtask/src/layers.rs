//! `cargo xtask layers`: every file of the library imports from lower floors and from its own, nothing else.
//!
//! A path `crate::FLOOR::…` must name a floor that is not above the file's own; `crate::Name` is refused, since the names of
//! lib.rs hide their floor. Comments, strings and unit tests do not count.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};

use crate::build;

/// From the lowest to the highest.
const FLOORS: [&str; 10] = ["base", "linalg", "data", "term", "space", "path", "solve", "choose", "model", "fit"];

const HELP: &str = "\
Check that imports of crate mercer point downwards

Usage: cargo xtask layers

The floors, from the lowest: base, linalg, data, term, space, path, solve, choose, model, fit.
";

pub fn run(words: Vec<String>) -> anyhow::Result<bool> {
    match words.first().map(String::as_str) {
        None => {}
        Some("--help" | "-h") => {
            print!("{HELP}");
            return Ok(true);
        }
        Some(other) => bail!("cargo xtask layers takes no {other:?}"),
    }
    let root = build::root().join("crates/mercer/src");
    let mut files = Vec::new();
    collect(&root, &mut files)?;
    files.sort();
    let mut found = Vec::new();
    for path in &files {
        let inside = path.strip_prefix(&root)?;
        let text = fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
        found.extend(upward(inside, &text));
    }
    for line in &found {
        eprintln!("{line}");
    }
    println!("{} files, {} upward imports", files.len(), found.len());
    Ok(found.is_empty())
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> anyhow::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            collect(&path, files)?;
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    Ok(())
}

/// One line for each path of a file that does not point to its own floor or below.
fn upward(file: &Path, text: &str) -> Vec<String> {
    let first = file.components().next().map(|part| part.as_os_str().to_string_lossy().into_owned());
    let name = first.unwrap_or_default();
    let name = name.strip_suffix(".rs").unwrap_or(&name);
    if name == "lib" || is_test(file) {
        return Vec::new();
    }
    let Some(own) = floor(name) else {
        return vec![format!("{}: {name} is not a floor", file.display())];
    };
    let mut found = Vec::new();
    for (number, line) in code(text).lines().enumerate() {
        for target in roots(line) {
            let problem = match floor(target) {
                Some(other) if other <= own => continue,
                Some(_) => format!("{name} imports from {target}, which is above it"),
                None => format!("crate::{target} hides its floor; name the floor"),
            };
            found.push(format!("{}:{}: {problem}", file.display(), number + 1));
        }
    }
    found
}

/// Unit tests in a file of their own may use everything.
fn is_test(file: &Path) -> bool {
    file.file_stem().is_some_and(|stem| stem == "tests")
}

fn floor(name: &str) -> Option<usize> {
    FLOORS.iter().position(|floor| *floor == name)
}

/// The names that follow `crate::`, those in braces included.
fn roots(line: &str) -> Vec<&str> {
    let mut found = Vec::new();
    for (at, _) in line.match_indices("crate::") {
        let is_whole = line[..at].chars().next_back().is_none_or(|c| !c.is_alphanumeric() && c != '_');
        if !is_whole {
            continue;
        }
        let rest = &line[at + "crate::".len()..];
        let names = rest.strip_prefix('{').map_or(rest, |inner| inner.split('}').next().unwrap_or(inner));
        let names: Vec<&str> = if rest.starts_with('{') { names.split(',').collect() } else { vec![names] };
        for name in names {
            let name = name.trim_start();
            let end = name.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(name.len());
            if end > 0 {
                found.push(&name[..end]);
            }
        }
    }
    found
}

/// The text with comments, strings and everything from the first unit test on left blank.
fn code(text: &str) -> String {
    let text = text.find("#[cfg(test)]\nmod tests").map_or(text, |at| &text[..at]);
    let mut out = String::with_capacity(text.len());
    for line in text.lines() {
        let mut quoted = false;
        let mut previous = ' ';
        let mut chars = line.chars().peekable();
        while let Some(c) = chars.next() {
            if !quoted && c == '/' && chars.peek() == Some(&'/') {
                break;
            }
            if c == '"' && previous != '\\' && previous != '\'' {
                quoted = !quoted;
            } else if !quoted {
                out.push(c);
            }
            previous = c;
        }
        out.push('\n');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(file: &str, text: &str) -> Vec<String> {
        upward(Path::new(file), text)
    }

    #[test]
    fn a_planted_upward_import_is_found() {
        let planted = found("linalg/qr.rs", "use super::Matrix;\nuse crate::fit::Fit;\n");
        assert_eq!(planted, ["linalg/qr.rs:2: linalg imports from fit, which is above it"]);
        assert_eq!(found("path.rs", "fn f() { crate::solve::refine::norm(&[]) }\n").len(), 1);
        assert_eq!(found("term/loss.rs", "use crate::{base::error::Error, model::Model};\n").len(), 1);
    }

    #[test]
    fn names_of_the_front_page_and_folders_without_a_floor_are_found() {
        assert_eq!(found("fit/run.rs", "use crate::Error;\n").len(), 1);
        assert_eq!(found("extra/one.rs", "").len(), 1);
    }

    #[test]
    fn lower_floors_comments_and_tests_are_fine() {
        let text = "use crate::base::error::Error;\n// see crate::fit\nlet s = \"crate::fit\";\n#[cfg(test)]\nmod tests {\n    use crate::fit::Fit;\n}\n";
        assert!(found("solve/refine.rs", text).is_empty());
        assert!(
            found("solve/refine.rs", "use crate::solve::certain::Floor;\npub(in crate::solve) fn f() {}\n").is_empty()
        );
    }
}
